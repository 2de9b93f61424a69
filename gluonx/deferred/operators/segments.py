"""Segments: parts of the tape whose forward is computed already.

If a recorded forward is computed before its backward comes (the user printed the loss), its outputs keep a path for
gradients: an :class:`Out` names one output of a :class:`Segment`, and the segment holds the arrays that its pull-back
needs. A later backward calls :meth:`Segment.pull`, which records one operator. Segments are numbered in order of
creation, so that going from the highest number down goes back in time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any
from weakref import ref

import jax

from gluonx.deferred.operators.derived import pullback_of
from gluonx.deferred.values.contracts import Invoke, Operator, Reach, Source
from gluonx.deferred.values.core import Aval, Handle, Pending, Variable, counters, new_handle

if TYPE_CHECKING:
    from gluonx.deferred.run.program import Pullbacks

__all__ = ["Behind", "CustomSegment", "OpSegment", "Out", "Segment", "add_mark", "attached", "border"]


class Out:
    """Output `slot` of a segment: the tape entry of a computed value."""

    __slots__ = ("aval", "segment", "slot")

    def __init__(self, segment: Segment, slot: int, aval: Aval) -> None:
        self.segment = segment
        self.slot = slot
        self.aval = aval

    @property
    def freed(self) -> bool:
        """True once an earlier backward has freed the path back from here."""
        return self.segment.is_freed(self.slot)


class Segment:
    """A part of the tape whose forward is computed.

    ``sources`` says where the gradient of each differentiable input goes: to a Variable or to another segment's Out.
    ``pullbacks`` are the operators for the way back: one uses the arrays in `saved`, others recompute from `inputs`.
    ``reach`` gives for each output the sources that its gradient reaches and the operations that it passes; None if
    every output reaches all. A backward frees the operations that it passes, so two outputs that share none are two
    graphs, as they were when recorded.
    """

    __slots__ = (
        "__weakref__",
        "inputs",
        "marks",
        "outs",
        "pullbacks",
        "reach",
        "released",
        "saved",
        "sequence",
        "sources",
        "spent",
    )

    def __init__(
        self,
        sources: list[Any],
        slots: Iterable[int],
        avals: list[Aval],
        pullbacks: Pullbacks | None,
        saved: list[Handle],
        inputs: list[Handle],
        reach: dict[int, Reach] | None = None,
    ) -> None:
        self.sources = sources
        self.outs = {s: Out(self, s, a) for s, a in zip(slots, avals, strict=True)}
        self.pullbacks: Any = pullbacks  # None for a segment with its own method of going back
        self.saved = saved
        self.inputs = inputs
        self.reach = reach
        self.spent: set[int] = set()
        self.marks: dict[int, list[Any]] = {}  # by slot: the Variables of outputs that have attach_grad()
        self.sequence = next(counters.sequence)
        self.released = False

    def replay_only(self) -> None:
        """Use the pull-back that recomputes from now on: nothing was saved."""
        self.pullbacks = self.pullbacks._replace(saved=self.pullbacks.exact)
        self.saved = self.inputs

    def pull(self, invoke: Invoke, cotangents: dict[int, Handle], create_graph: bool) -> list[Handle | None]:
        """Return the cotangents of the inputs, one for each source, by running operators with `invoke`.

        An entry is None if no gradient reaches that source.
        """
        given = [cotangents.get(slot) for slot in self.outs]
        if create_graph or self._strays(cotangents):
            pulled = list(invoke(self.pullbacks.exact, (*self.inputs, *given)))
        else:
            pulled = list(invoke(self.pullbacks.saved, (*self.saved, *given)))
        if self.reach is None:
            return pulled
        reached = frozenset().union(*[self.reach[slot].sources for slot in cotangents])
        return [value if i in reached else None for i, value in enumerate(pulled)]

    def inner(self, invoke: Invoke, cotangents: dict[int, Handle]) -> dict[int, Handle]:
        """Return the gradients of the outputs by slot, including what reaches them inside of the segment."""
        given = [cotangents.get(slot) for slot in self.outs]
        return dict(zip(self.outs, invoke(self.pullbacks.inner, (*self.inputs, *given)), strict=True))

    def marked(self, invoke: Invoke, cotangents: dict[int, Handle]) -> list[tuple[Any, Handle]]:
        """Return pairs of Variable and gradient for those outputs with a Variable that the cotangents reach."""
        found: list[tuple[Any, Handle]] = []
        inner: dict[int, Handle] | None = None
        for slot, variables in self.marks.items():
            behind = [other for other in cotangents if other != slot and self._passes(other, slot)]
            if behind:
                inner = self.inner(invoke, cotangents) if inner is None else inner
                found.extend([(variable, inner[slot]) for variable in variables])
            elif slot in cotangents:
                found.extend([(variable, cotangents[slot]) for variable in variables])
        return found

    def _strays(self, cotangents: dict[int, Handle]) -> bool:
        """Return whether the pull-back on `saved` passes operations that a gradient of these outputs does not pass.

        Zeros would pass them, and zero times an infinite slope is NaN.
        """
        if self.reach is None or len(cotangents) == len(self.outs):
            return False
        return not frozenset().union(*[self.reach[slot].outputs for slot in cotangents]).issuperset(self.outs)

    def _passes(self, start: int, slot: int) -> bool:
        """Return whether a gradient from output `start` passes the operation that computed output `slot`."""
        return self.reach is not None and max(self.reach[slot].nodes) in self.reach[start].nodes

    def is_freed(self, slot: int) -> bool:
        """Return whether an earlier backward has passed the operations that lead to output `slot`."""
        return self.released or (self.reach is not None and not self.spent.isdisjoint(self.reach[slot].nodes))

    def free(self, slots: Iterable[int]) -> None:
        """Note that a backward has passed what leads to these outputs; release all arrays when no output is left."""
        if self.reach is not None:
            for slot in slots:
                self.spent |= self.reach[slot].nodes
            if not all(self.is_freed(slot) for slot in self.outs):
                return
        self.released = True
        self.saved, self.inputs = [], []


def add_mark(marks: dict[int, list[Any]], slot: int, old: Variable | None, variable: Variable | None) -> None:
    """Let a backward store the gradient of value `slot` in `variable` (if not None), and no longer in `old`."""
    kept = [v for v in marks.pop(slot, ()) if v is not old]
    if variable is not None:
        kept.append(variable)
    if kept:
        marks[slot] = kept


@jax.custom_jvp
def border(value: jax.Array, leaf: jax.Array) -> Any:
    """Return `value`, whose gradient then goes to `leaf`, of the same shape, instead of to its inputs."""
    return value


# custom_vjp will not do: a segment differentiates programs that hold gradients, hence also the forward rule.
border.defjvp(lambda primals, tangents: (border(*primals), tangents[1]))


def attached(array: jax.Array, source: Source | None) -> Handle:
    """Return a handle on `array` through which gradients flow to `source`."""
    handle = new_handle(array)
    if source is not None:
        setattr(handle, "variable" if hasattr(source, "req") else "tape", source)
    return handle


class OpSegment(Segment):
    """One operator that ran by itself (in naive mode, or interpreted): its pull-back recomputes it."""

    __slots__ = ("diff", "op")

    def __init__(
        self, op: Operator, inputs: list[Handle], diff: tuple[int, ...], sources: list[Any], avals: list[Aval]
    ) -> None:
        super().__init__(sources, range(len(avals)), avals, None, [], inputs)
        self.op = op
        self.diff = diff

    def inner(self, invoke: Invoke, cotangents: dict[int, Handle]) -> dict[int, Handle]:
        """Return nothing: an operator's outputs do not depend on each other."""
        return cotangents

    def pull(self, invoke: Invoke, cotangents: dict[int, Handle], create_graph: bool) -> list[Handle | None]:
        """As for :class:`Segment`."""
        mask = tuple([slot in cotangents for slot in self.outs])
        back = pullback_of(self.op, self.diff, len(self.inputs), mask)
        return list(invoke(back, (*self.inputs, *[cotangents[s] for s in self.outs if s in cotangents])))


class Behind:
    """A value of a pending graph from which a gradient continues: a source of a :class:`CustomSegment`.

    A program computes the value if somebody holds it, or if a backward may still come; see :meth:`release`.
    """

    __slots__ = ("graph", "handle", "slot")

    def __init__(self, pending: Pending) -> None:
        self.graph, self.slot = ref(pending.graph), pending.slot
        self.handle: Handle | None = new_handle(pending, pending.aval)

    def release(self) -> None:
        """Stop keeping the value alive, if its graph can return it again."""
        graph = self.graph()
        if graph is not None and not graph.closed:
            self.handle = None

    def hold(self) -> Handle | None:
        """Return a handle on the value and keep it; None if the value was never computed."""
        graph = self.graph()
        if self.handle is None and graph is not None and not graph.closed:
            pending = graph.pending(self.slot)
            self.handle = new_handle(pending, pending.aval)
        return self.handle


class CustomSegment(Segment):
    """Recorded code whose gradient is a Python function of the cotangents (``autograd.Function``).

    It may stand in the middle of a pending graph. Its outputs take leaves of that graph, zeros that stand for the
    cotangents and lead here. From its inputs, which are :class:`Behind`, the gradient continues in the same graph.
    """

    __slots__ = ("function",)

    def __init__(
        self, function: Callable[[dict[int, Handle], bool], list[Handle | None]], sources: list[Any], avals: list[Aval]
    ) -> None:
        super().__init__(sources, range(len(avals)), avals, None, [], [])
        self.function: Any = function

    def hold(self) -> None:
        """Let the values from which the gradient continues be computed."""
        for source in self.sources:
            if type(source) is Behind:
                source.hold()

    def free(self, slots: Iterable[int]) -> None:
        """As for :class:`Segment`; also release what the function holds."""
        super().free(slots)
        self.function, self.sources = None, []

    def inner(self, invoke: Invoke, cotangents: dict[int, Handle]) -> dict[int, Handle]:
        """Return nothing: the outputs are not computed from each other here."""
        return cotangents

    def pull(self, invoke: Invoke, cotangents: dict[int, Handle], create_graph: bool) -> list[Handle | None]:
        """As for :class:`Segment`."""
        assert self.function is not None, "not freed"
        return self.function(cotangents, create_graph)
