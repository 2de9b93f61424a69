"""The table of primitives that NumPy computes, and what a rule is told.

A *rule* is called once, when a program is built: it is given a `Call` (the parameters, and the shape and dtype of each
operand and result) and returns a function from arrays to the result, or to a sequence of results where there are
several. All that can be decided from shapes and parameters is decided in the rule; the function only computes.

What the functions keep to: operands may be read-only and are never written; a result has the dtype of its `Spec` and
its shape, except that a 0-d one may be a NumPy scalar; warnings of floating point are switched off around them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import ml_dtypes
import numpy as np


class Unsupported(Exception):
    """A primitive, or a form of one, that NumPy has no form of here; the message names it."""


class Spec:
    """Shape and dtype of a value. A key of a random generator is two words of uint32 on a trailing axis.

    A shape may have lengths that are symbols (`jax.export.symbolic_shape`). Its size is NaN then, which is neither
    small nor large: every comparison with it is false.
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
    """One use of a primitive: what its rule is told. A rule may set `cost`, the number of elements that are touched.

    ``known`` holds the value of each operand that is a constant of the program, and None for the others. ``inner``
    makes what runs a jaxpr that is a parameter.
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
        """Return the error that says which form of this primitive is missing."""
        return Unsupported(f"{self.name}: {what}")


Fn = Callable[..., Any]  # what runs a primitive: its arrays in, its results out
Rule = Callable[[Call], Fn]

RULES: dict[str, Rule] = {}
"""The rule of every primitive, by the primitive's name."""


def rule(*names: str) -> Callable[[Rule], Rule]:
    """Enter a function as the rule of the primitives of these names."""

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
    """Return whether `dtype` is one of floats or of complex numbers."""
    return dtype.kind in "fc" or dtype in LOW


def widened(fn: Callable[..., Any], dtype: np.dtype, out: np.dtype | None = None) -> Callable[..., Any]:
    """`fn` computed in the wider type of `dtype` and rounded to it, or to `out`."""
    wide = WIDER.get(dtype)
    if wide is None:
        return fn
    out = dtype if out is None else out

    def run(*arrays: Any) -> Any:
        return fn(*[x.astype(wide) for x in arrays]).astype(out)

    def run_one(x: Any) -> Any:
        return fn(x.astype(wide)).astype(out)

    return run_one if fn.__dict__.get("unary") else run
