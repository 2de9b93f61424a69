"""Operators in another precision than their inputs: what :mod:`gluonx.amp` switches on.

A :class:`Policy` says for each operator, by its name, whether it runs in the low precision, in float32, or in its
inputs' precision. :func:`adapt` returns the operator that the engine then uses: the same function after casts of its
inputs, made once for each bound operator, so that recording needs no further node and a cast is part of the program
like any other arithmetic. Gradients have the dtype of the original inputs.

A process that never asks for a policy pays nothing: the first policy that names an operator marks it as special
(`gluonx.deferred.operators.derived.prepare`), and only special operators come here.

The policy in force is that of the innermost :func:`scope`, else the process's (:func:`set_policy`).
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

from gluonx.deferred.operators.derived import ADAPTED, DerivedOp
from gluonx.deferred.values.contracts import Operator
from gluonx.dtype import bfloat16
from gluonx.ops.registry import OPS

__all__ = ["Adapted", "Policy", "Switch", "adapt", "adaptable", "policy_in_force", "scope", "set_policy"]

_HALF = frozenset({np.dtype(np.float16), bfloat16})
_SINGLE = np.dtype(np.float32)
_made: weakref.WeakSet[Any] = weakref.WeakSet()
_UNSET: Any = object()
_scoped: contextvars.ContextVar[Any] = contextvars.ContextVar("gluonx_casting", default=_UNSET)


class Switch:
    """The casting state of the process: whether any policy was ever made, and the current one."""

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
        """Return the operator that runs instead of `op`; `op` itself if nothing is cast."""
        found = self._adapted.get(op)
        if found is None:
            wanted = self.precision(op)
            found = self._adapted[op] = op if wanted is None else Adapted(op, wanted)
        return found

    def precision(self, op: Operator) -> np.dtype | None:
        """Return the dtype that `op` is to run in; None if it takes its inputs unchanged."""
        name = _plain(op.name)
        if name in self.low:
            return self.target
        if name in self.single:
            return _SINGLE
        attribute, values = self.conditional.get(name, ("", ()))
        return _SINGLE if values and op.attrs.get(attribute) in values else None


class Adapted(DerivedOp):
    """An operator whose floating inputs are cast to `dtype` first: float32 to a half type, or half types to float32.

    Other inputs (integers, float64, random keys) are not cast, as in MXNet.
    """

    __slots__ = ("_infer", "_infer_weights", "dtype")
    promotes = True  # see `gluonx.deferred.operators.derived.needs_64_bits`

    def __init__(self, op: Operator, dtype: np.dtype) -> None:
        super().__init__(op.name, _casting(op.fn, dtype), n_live=op.n_live)
        self.random, self.attrs, self.dtype, self.wide = op.random, op.attrs, dtype, op.wide
        self._infer: Callable[[list[Any]], list[Any]] = op.infer
        self._infer_weights: Callable[[list[Any]], list[Any]] = op.infer_weights

    def infer(self, shapes: list[Any]) -> list[Any]:
        """Return the operator's own shapes."""
        return self._infer(shapes)

    def infer_weights(self, shapes: list[Any]) -> list[Any]:
        """Return the operator's own shapes."""
        return self._infer_weights(shapes)

    def __repr__(self) -> str:
        return f"{self.name} in {self.dtype.name}"


def _casting(fn: Callable[..., Any], dtype: np.dtype) -> Callable[..., Any]:
    from_dtypes = _HALF if dtype == _SINGLE else frozenset({_SINGLE})

    def run(*args: jax.Array) -> Any:
        return fn(*[jnp.asarray(a, dtype) if getattr(a, "dtype", None) in from_dtypes else a for a in args])

    return run


def _plain(name: str) -> str:
    """Return the name without bracket and namespace: ``power`` for ``power(3)``, ``matmul`` for ``np.matmul``."""
    return name.partition("(")[0].removeprefix("np.")


def adaptable(op: DerivedOp) -> DerivedOp:
    """Let policies apply to an operator that the engine made, by its name up to the bracket."""
    op.cache = None
    _made.add(op)
    return op


def _arm(names: set[str]) -> None:
    """Mark the operators with these names as special, also those that are made later."""
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
    """Return the policy in force here."""
    found = _scoped.get()
    return Switch.policy if found is _UNSET else found


def set_policy(policy: Policy | None) -> None:
    """Set the policy of the whole process, outside of scopes."""
    Switch.policy = policy


@contextmanager
def scope(policy: Policy | None) -> Generator[None]:
    """Within, use `policy` (None: no casts)."""
    token = _scoped.set(policy)
    try:
        yield
    finally:
        _scoped.reset(token)


def adapt(op: Operator) -> Any:
    """Return the operator that runs in place of `op` under the policy in force."""
    policy = policy_in_force()
    return op if policy is None else policy.adapted(op)
