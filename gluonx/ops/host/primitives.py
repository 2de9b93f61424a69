"""The table of primitives that NumPy computes, and the interface of a rule.

A *rule* is called once, when a program is built. It gets a `Call` (the parameters, and the shape and dtype of each
operand and result) and returns a function from arrays to the result, or to a sequence of results if there are several.
The rule decides everything that depends on shapes and parameters; the function only computes.

The functions follow these conventions: operands may be read-only and are never written; a result has the dtype and the
shape of its `Spec`, except that a 0-d result may be a NumPy scalar; floating-point warnings are switched off around
them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import ml_dtypes
import numpy as np


class Unsupported(Exception):
    """A primitive, or a variant of one, that is not implemented here; the message names it."""


class Spec:
    """Shape and dtype of a value. A key of a random generator is two words of uint32 on a trailing axis.

    A shape may have symbolic lengths (`jax.export.symbolic_shape`). Then its size is NaN, for which every comparison is
    False.
    """

    __slots__ = ("dtype", "key", "shape", "size")

    def __init__(self, shape: tuple[int, ...], dtype: np.dtype, key: bool = False) -> None:
        self.shape = (*shape, 2) if key else tuple(shape)
        self.dtype, self.key = dtype, key
        self.size: Any = math.prod(self.shape) if self.is_known else math.nan

    @property
    def is_known(self) -> bool:
        """True if all lengths are numbers."""
        return all(isinstance(n, (int, np.integer)) for n in self.shape)

    def __repr__(self) -> str:
        return f"{self.dtype}{list(self.shape)}"


class Call:
    """One use of a primitive, as its rule sees it. A rule may set `cost`, the number of elements touched.

    ``known`` holds the value of each operand that is a constant of the program, and None for the others. ``inner``
    makes a function that runs a jaxpr in the parameters.
    """

    __slots__ = ("cost", "inner", "ins", "known", "name", "outs", "params")

    def __init__(
        self,
        name: str,
        params: Mapping[str, Any],
        ins: Sequence[Spec],
        outs: Sequence[Spec],
        known: Sequence[Any] | None = None,
        inner: Callable[[Any], Any] | None = None,
    ) -> None:
        self.name, self.params, self.ins, self.outs = name, params, ins, outs
        self.inner: Any = inner
        self.known = known if known is not None else (None,) * len(ins)
        self.cost = float(sum(out.size for out in outs))

    @property
    def dtype(self) -> np.dtype:
        """The dtype of the first result."""
        return self.outs[0].dtype

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the first result."""
        return self.outs[0].shape

    def unsupported(self, what: str) -> Unsupported:
        """Return the error that says which variant of this primitive is missing."""
        return Unsupported(f"{self.name}: {what}")


Fn = Callable[..., Any]  # runs a primitive: takes its arrays, returns its results
Rule = Callable[[Call], Fn]

RULES: dict[str, Rule] = {}
"""The rule of every primitive, by the primitive's name."""


def rule(*names: str) -> Callable[[Rule], Rule]:
    """Register a function as the rule of the primitives with these names."""

    def enter(fn: Rule) -> Rule:
        for name in names:
            RULES[name] = fn
        return fn

    return enter


_F32, _F64 = np.dtype(np.float32), np.dtype(np.float64)

LOW = frozenset(
    np.dtype(getattr(ml_dtypes, name))
    for name in dir(ml_dtypes)
    if name == "bfloat16" or (name.startswith("float") and isinstance(getattr(ml_dtypes, name), type))
) | {np.dtype(np.float16)}
"""The floats of 16 bits and fewer."""

WIDER = {
    **dict.fromkeys(LOW, _F32),
    _F32: _F64,
    np.dtype(np.complex64): np.dtype(np.complex128),
}
"""The type that functions of a type are computed in, where that is another."""


def is_inexact(dtype: np.dtype) -> bool:
    """Return whether `dtype` is a floating-point or complex dtype."""
    return dtype.kind in "fc" or dtype in LOW


def widened(fn: Callable[..., Any], dtype: np.dtype, out: np.dtype | None = None) -> Callable[..., Any]:
    """Return `fn` computed in the wider type of `dtype` and rounded to that, or to `out`."""
    wide = WIDER.get(dtype)
    if wide is None:
        return fn
    out = dtype if out is None else out

    def run(*arrays: Any) -> Any:
        return fn(*[x.astype(wide) for x in arrays]).astype(out)

    def run_one(x: Any) -> Any:
        return fn(x.astype(wide)).astype(out)

    return run_one if fn.__dict__.get("unary") else run
