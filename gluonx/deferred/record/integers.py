"""Gradients of integers, as MXNet computes them: ported programs may ask for them.

MXNet differentiates integer arrays like any others, each operator in the integers' own type: the slope of ``exp`` at 2
is 7. JAX has no such gradients, so elsewhere they are zero. After :func:`arm`, an operator that is recorded on an
integer array with a gradient runs at once, and leaves its own segment on the tape. Its pull-back is that of the same
operator in float64, truncated to integers; for an elementwise function the slope is truncated first, and then
multiplied. A cast, also to integers, passes the gradient on. If a floating array takes part in a floating result,
integers get no gradient from it, as in MXNet.

The first such array marks all operators as special, and only special ones come here, so steps of a process that never
asks take no longer.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp

from gluonx.deferred.operators.derived import DerivedOp, Integers, cuts_tape, out_avals, strong
from gluonx.deferred.operators.growth import BAD_CALLS, typed
from gluonx.deferred.operators.segments import OpSegment, attached
from gluonx.deferred.record.graph import settle, source_of
from gluonx.deferred.values.core import Handle, Pending, aval_of, state_with
from gluonx.dtype import as_array
from gluonx.errors import GluonxError

if TYPE_CHECKING:
    from collections.abc import Callable

    from gluonx.deferred.values.contracts import Args, Invoke, Operator, Source
    from gluonx.deferred.values.core import Aval, State

__all__ = ["arm", "disarm", "recorded"]


def arm() -> None:
    """Give integers with ``attach_grad()`` gradients from now on."""
    if Integers.move:
        return
    Integers.move = True
    for op in list(Integers.plain):
        op.cache = None
    Integers.plain.clear()


def disarm() -> None:
    """Undo :func:`arm`."""
    Integers.move = False


def _is_cast(op: Operator) -> bool:
    return op.name.partition("(")[0] == "cast"


def recorded(
    op: Operator, args: Args, run: Callable[[Operator, Args, State], Handle | tuple[Handle, ...]]
) -> Handle | tuple[Handle, ...] | None:
    """Run `op` by means of `run` and leave it on the tape, if integers with a gradient are among its inputs.

    Returns
    -------
    Handle, tuple of Handle or None
        None where the operator is one like any other.
    """
    if cuts_tape(op):
        return None
    cast = _is_cast(op)
    sources: list[Source | None] = []
    avals: list[Aval | None] = []
    for a in args:
        source = aval = None
        if isinstance(a, Handle):
            value = settle(a) if cast else a.value  # a view records its slice now
            source, aval = source_of(a), a.aval or aval_of(value)
        elif a is not None:
            aval = aval_of(as_array(typed(a, args, op) if isinstance(a, (int, float)) else a))
        sources.append(source)
        avals.append(aval)
    diff = tuple([i for i, source in enumerate(sources) if source is not None])
    kinds = [aval.dtype.kind for aval, source in zip(avals, sources, strict=True) if aval and source is not None]
    if not diff or not (cast or "i" in kinds or "u" in kinds):
        return None
    _, outs = out_avals(op, tuple(avals))
    if outs[0].inexact and any(map(_may_move, args, sources, avals)):
        return None
    inputs: list[Any] = []
    for a, source in zip(args, sources, strict=True):
        value = settle(a) if isinstance(a, Handle) else typed(a, args, op) if isinstance(a, (int, float)) else a
        inputs.append(None if value is None else attached(as_array(value), source))
    segment = _WholeSegment(op, inputs, diff, [sources[i] for i in diff], list(outs))
    result = run(op, args, state_with(recording=False))
    if segment.leads_back(avals):
        for i, out in enumerate((result if isinstance(result, tuple) else (result,))[: op.n_live]):
            out.tape = segment.outs[i]
    return result


def _may_move(arg: object, source: Source | None, aval: Aval | None) -> bool:
    """Return whether this is a floating input that a gradient may go on to; the usual tape has it."""
    return (
        isinstance(arg, Handle)
        and aval is not None
        and aval.inexact
        and (source is not None or type(arg.value) is Pending)
    )


class _WholeSegment(OpSegment):
    """One operator on integers."""

    __slots__ = ()

    def leads_back(self, given: list[Aval | None]) -> bool:
        """Return whether the operator takes floating numbers in place of the integers; `given` are its inputs."""
        mask = (True,) * len(self.outs)
        cotangents = [out.aval for out in self.outs.values()]
        try:
            out_avals(_pullback(self.op, self.diff, len(given), mask), (*given, *cotangents))
        except (GluonxError, *BAD_CALLS):
            return False
        return True

    def pull(self, invoke: Invoke, cotangents: dict[int, Handle], create_graph: bool) -> list[Handle | None]:
        """Pull back as :meth:`Segment.pull` does; the gradient of these gradients is zero."""
        mask = tuple([slot in cotangents for slot in self.outs])
        back = _pullback(self.op, self.diff, len(self.inputs), mask)
        return list(invoke(back, (*self.inputs, *[cotangents[s] for s in self.outs if s in cotangents])))


def _pullback(op: Operator, diff: tuple[int, ...], count: int, given: tuple[bool, ...]) -> DerivedOp:
    """Return what :func:`gluonx.deferred.operators.derived.pullback_of` returns, for integers."""
    if op.vjp is None:
        op.vjp = {}
    key = ("whole", diff, count, given)
    found = op.vjp.get(key)
    if found is None:
        found = op.vjp[key] = DerivedOp(f"grad({op.name})", _pull(op, diff, count, given), wide=True)
    return found


def _pull(op: Operator, diff: tuple[int, ...], count: int, given: tuple[bool, ...]) -> Callable[..., Any]:
    each = getattr(getattr(op, "op", None), "channels_last", "") == "each" and count == 1

    def pull(*args: jax.Array) -> tuple[Any, ...]:
        run = (lambda x: x) if _is_cast(op) else strong(op)
        inputs: list[Any] = list(args[:count])
        cotangents = args[count:]

        def forward(*moving: jax.Array) -> Any:
            for i, m in zip(diff, moving, strict=True):
                inputs[i] = m
            out = run(*inputs)
            outs = itertools.compress(out if type(out) is tuple else (out,), given)
            return tuple([o.astype(jnp.float64) for o in outs])

        floating = any(a is not None and jnp.issubdtype(a.dtype, jnp.inexact) for a in inputs)
        outs, back = jax.vjp(forward, *[inputs[i].astype(jnp.float64) for i in diff])
        if floating and all(jnp.issubdtype(c.dtype, jnp.inexact) for c in cotangents):
            grads = [jnp.zeros(inputs[i].shape) for i in diff]
        elif each:
            (slope,) = back((jnp.ones_like(outs[0]),))
            grads = [jnp.trunc(slope) * cotangents[0]]
        else:
            grads = back(tuple([c.astype(jnp.float64) for c in cotangents]))
        return tuple([g.astype(args[i].dtype) for i, g in zip(diff, grads, strict=True)])

    return pull
