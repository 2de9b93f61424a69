"""The operators of a hybridized forward, as it called them, for its first uses in a training step.

XLA compiles a deep net whole in ten seconds and more, and the kinds of operators that it repeats in one
(:mod:`gluonx.deferred.repeats`). The trace of a hybridized block is one operator of the pending graph, in which no
repetition shows. So a trace that is recorded notes its calls; where they repeat, the first uses of any such trace in
the process record those calls instead, as the forward would without ``hybridize``, and a later one is the one operator.
No code of the user runs again for it. A trace with anything else in it (raw ``jax.numpy``, rematerialized or scanned
layers, a part under ``autograd.pause``) is one operator from the start.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax
import numpy as np

from gluonx.deferred import casting, host, kept, repeats
from gluonx.deferred.contracts import Args, Invoke, Operand, Operator, Raw
from gluonx.deferred.core import Handle, State, Tracer, aval_of
from gluonx.device import Replicas
from gluonx.ops.registry import Moved

__all__ = ["Replay"]

# By what was called on what: how often. Nets of one structure go the same way, and so often it runs in pieces.
_uses: dict[Any, int] = kept.memo()


class _Slot:
    """The place of a value of the trace: an input, or a result of a call."""

    __slots__ = ("number",)

    def __init__(self, number: int) -> None:
        self.number = number


class Replay:
    """The calls of one trace.

    Parameters
    ----------
    inputs : sequence of tracer
        What the trace takes: lifted handles, then arguments.
    """

    def __init__(self, inputs: Sequence[jax.Array]) -> None:
        self._tracers = list(inputs)  # kept, so that no other has the id of one
        self._slots = {id(t): i for i, t in enumerate(inputs)}
        self._calls: list[tuple[Operator, list[Any], int]] | None = []
        self._way = list[Any]()  # for each call what it is, and on which values
        self._kinds = set[Any]()
        self._nbytes = 0
        self._states = set[int]()  # slots of results that carry no gradient
        self._outs: list[int] = []
        self._key: tuple[Any, ...] = ()

    def note(
        self, op: Operator, args: Args, values: Sequence[Raw | None], out: jax.Array | tuple[jax.Array, ...]
    ) -> None:
        """Note that `op` gave `out`, an array or a tuple, of `args`, whose `values` are tracers, arrays and scalars."""
        if self._calls is None:
            return
        drawn = 2 if op.random else 0  # the key; a replay draws the next one
        given = [self._given(a, v) for a, v in zip(args[drawn:], values[drawn:], strict=True)]
        if any(g is self for g in given):
            self._calls = None
            return
        outs = out if isinstance(out, tuple) else (out,)
        avals = tuple([(o.shape, o.dtype) for o in outs])
        which = (op.lifted, op.numbers) if type(op) is Moved else op  # a `Moved` is another object at each call
        kind = (which, avals, *[_kind(v) for v in values[drawn:]])
        self._kinds.add(kind)
        self._way.append((kind, tuple([g.number if type(g) is _Slot else None for g in given])))
        self._nbytes += sum(aval_of(o).nbytes for o in outs)
        live = len(outs) if op.n_live is None else op.n_live
        start = len(self._tracers)
        self._states.update(range(start + live, start + len(outs)))
        self._slots.update({id(o): start + i for i, o in enumerate(outs)})
        self._tracers.extend(outs)
        self._calls.append((op, given, len(outs) if isinstance(out, tuple) else 0))

    def _given(self, arg: Operand, value: Raw | None) -> object:
        """Return what stands for an argument; the replay itself where it came from elsewhere than a call."""
        slot = self._slots.get(id(value))
        if slot is not None:
            return _Slot(slot)
        if isinstance(value, Tracer):
            return self
        return arg if not isinstance(arg, (Handle, np.ndarray)) else value

    def give_up(self) -> None:
        """Hold no calls: something that is no call plays a part."""
        self._calls = None

    def end(self, outs: Sequence[jax.Array], n_live: int) -> Replay | None:
        """Note the results, of which the first `n_live` carry gradients; None where the trace is to be one operator."""
        calls, self._tracers, self._key = self._calls, [], tuple(self._way)
        self._way = []
        found = [self._slots.get(id(o)) for o in outs]
        if calls is None or None in found or any(o not in self._states for o in found[n_live:]):
            return None
        layers = repeats.layers
        if len(calls) < max(layers["nodes"], (len(self._kinds) + layers["outside"]) * layers["times"]):
            return None
        if self._nbytes > layers["bytes"]:
            return None
        self._outs, self._slots, self._kinds, self._states = [o for o in found if o is not None], {}, set(), set()
        return self

    def is_due(self, state: State) -> bool:
        """Return whether the next use is to be by calls, and count it."""
        uses = _uses.get(self._key, 0)
        if uses >= repeats.runs_of(len(self._calls or ())) or not state.deferring or Replicas.on or not host.is_on():
            return False
        if casting.policy_in_force() is not None:  # the calls are cast already
            return False
        _uses[self._key] = uses + 1
        return True

    def run(self, invoke: Invoke, inputs: list[Handle]) -> tuple[Handle, ...]:
        """Call the operators on `inputs`, the handles that the trace was made of, and return the results."""
        values = list(inputs)
        for op, given, many in self._calls or ():
            out = invoke(op, tuple([values[g.number] if type(g) is _Slot else g for g in given]))
            values.extend(out if many else (out,))
        return tuple([values[i] for i in self._outs])


def _kind(value: Raw | None) -> object:
    return (value.shape, value.dtype) if isinstance(value, (jax.Array, np.ndarray)) else type(value)
