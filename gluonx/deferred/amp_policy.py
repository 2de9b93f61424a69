"""Operators in another precision than their inputs: what :mod:`gluonx.amp` switches on.

A :class:`Policy` says of each operator by its name whether it runs in the low precision, in float32, or as its inputs
come. :func:`adapt` gives the operator that the engine takes in its place: the same function with casts in front of it,
made once for each bound operator, so that recording costs no further node and a cast is part of the program like
any other arithmetic. Gradients come back in the dtype that an input had.

A process that never asked for a policy pays nothing: operators that a policy names are marked as special
(`gluonx.deferred.derived.prepare`) when the first such policy is made, and only special operators come here.

The policy in force is the innermost :func:`scope`'s, else the process's (:func:`set_policy`).
"""

from __future__ import annotations

import contextvars
import weakref
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from gluonx.deferred.contracts import Operator
from gluonx.deferred.derived import ADAPTED, DerivedOp
from gluonx.dtype import bfloat16
from gluonx.ops.registry import OPS

__all__ = ["Adapted", "Policy", "Switch", "adapt", "adaptable", "policy_in_force", "scope", "set_policy"]

_HALF = frozenset({np.dtype(np.float16), bfloat16})
_SINGLE = np.dtype(np.float32)
_made: weakref.WeakSet[Any] = weakref.WeakSet()
_UNSET: Any = object()
_scoped: contextvars.ContextVar[Any] = contextvars.ContextVar("gluonx_casting", default=_UNSET)


class Switch:
    """Casting in the whole process: whether any policy was ever made, and the one that holds."""

    on = False
    policy: Policy | None = None


class Policy:
    """In which precision operators run.

    Parameters
    ----------
    target : numpy.dtype
        The low precision, float16 or bfloat16.
    low, single : frozenset of str
        Names of operators that run in `target`, and in float32.
    conditional : mapping of str to (str, tuple)
        Names of operators that run in float32 if an attribute has one of the given values.
    """

    def __init__(
        self,
        target: np.dtype,
        low: frozenset[str],
        single: frozenset[str],
        conditional: Mapping[str, tuple[str, tuple[Any, ...]]],
    ) -> None:
        self.target, self.low, self.single, self.conditional = target, low, single, dict(conditional)
        self._adapted: dict[Any, Any] = {}
        _arm({*low, *single, *conditional})

    def adapted(self, op: Operator) -> Any:
        """Return the operator that runs in place of `op`; `op` itself where nothing is to be cast."""
        found = self._adapted.get(op)
        if found is None:
            wanted = self.precision(op)
            found = self._adapted[op] = op if wanted is None else Adapted(op, wanted)
        return found

    def precision(self, op: Operator) -> np.dtype | None:
        """Return the dtype that `op` is to run in; None where it takes its inputs as they come."""
        name = _plain(op.name)
        if name in self.low:
            return self.target
        if name in self.single:
            return _SINGLE
        attribute, values = self.conditional.get(name, ("", ()))
        return _SINGLE if values and op.attrs.get(attribute) in values else None


class Adapted(DerivedOp):
    """An operator whose floating inputs are cast to `dtype` first: float32 ones to a half type, half ones to float32.

    Other inputs (integers, float64, random keys) come as they are, as in MXNet.
    """

    __slots__ = ("_infer", "_infer_weights", "dtype")
    promotes = True  # see `gluonx.deferred.derived.needs_64_bits`

    def __init__(self, op: Operator, dtype: np.dtype) -> None:
        super().__init__(op.name, _casting(op.fn, dtype), n_live=op.n_live)
        self.random, self.attrs, self.dtype, self.wide = op.random, op.attrs, dtype, op.wide
        self._infer: Callable[[list[Any]], list[Any]] = op.infer
        self._infer_weights: Callable[[list[Any]], list[Any]] = op.infer_weights

    def infer(self, shapes: list[Any]) -> list[Any]:
        """Shapes are those of the operator itself."""
        return self._infer(shapes)

    def infer_weights(self, shapes: list[Any]) -> list[Any]:
        """As those of the operator itself."""
        return self._infer_weights(shapes)

    def __repr__(self) -> str:
        return f"{self.name} in {self.dtype.name}"


def _casting(fn: Callable[..., Any], dtype: np.dtype) -> Callable[..., Any]:
    from_dtypes = _HALF if dtype == _SINGLE else frozenset({_SINGLE})

    def run(*args: jax.Array) -> Any:
        return fn(*[jnp.asarray(a, dtype) if getattr(a, "dtype", None) in from_dtypes else a for a in args])

    return run


def _plain(name: str) -> str:
    """``power`` for ``power(3)``, ``matmul`` for ``np.matmul``."""
    return name.partition("(")[0].removeprefix("np.")


def adaptable(op: DerivedOp) -> DerivedOp:
    """Have policies apply to an operator of the engine's making, by its name up to the bracket."""
    op.cache = None
    _made.add(op)
    return op


def _arm(names: set[str]) -> None:
    """Mark the operators of these names as special, those that are made later too."""
    if names <= ADAPTED:
        return
    ADAPTED.update(names)
    Switch.on = True
    for op in set(OPS.values()):
        for bound in op.bound():
            bound.cache = None
    for made in _made:
        made.cache = None


def policy_in_force() -> Policy | None:
    """Return the policy that holds here."""
    found = _scoped.get()
    return Switch.policy if found is _UNSET else found


def set_policy(policy: Policy | None) -> None:
    """Make `policy` hold in the whole process, outside of scopes."""
    Switch.policy = policy


@contextmanager
def scope(policy: Policy | None) -> Generator[None]:
    """Make `policy` (None: no casts) hold for a stretch of code."""
    token = _scoped.set(policy)
    try:
        yield
    finally:
        _scoped.reset(token)


def adapt(op: Operator) -> Any:
    """Return the operator that runs in place of `op` under the policy in force."""
    policy = policy_in_force()
    return op if policy is None else policy.adapted(op)
