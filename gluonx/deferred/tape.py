"""Gradients: one more node of the pending graph, and a walk over finished segments.

``backward`` on pending heads appends one gradient node. Which leaves it reaches is found once, when the node is first
met at that point of the trie; from then on a backward costs one look-up and one place for each gradient. Where the
tape goes on into segments that were computed earlier, each gives one pull-back operator, recorded in the same graph.
Gradients end in Variables: ``write`` rebinds the variable's gradient handle, ``add`` records an addition.
"""

from __future__ import annotations

import heapq
from typing import TYPE_CHECKING, Any

import jax.numpy as jnp

from gluonx.deferred import growth, rows
from gluonx.deferred.contracts import Args, Operator, Rebound, Source
from gluonx.deferred.core import (
    Aval,
    Handle,
    Node,
    Pending,
    Variable,
    aval_of,
    current_state,
    new_handle,
    record_scope,
    set_state,
    state_with,
)
from gluonx.deferred.derived import DerivedOp, needs_64_bits
from gluonx.deferred.engine import STOP, as_handle, invoke, run_now
from gluonx.deferred.graph import Blocked, current_graph, settle
from gluonx.deferred.program import PACK_ELEMENTS, GradInfo, walk_back
from gluonx.deferred.segments import Behind, CustomSegment, Out
from gluonx.device import Replicas
from gluonx.dtype import keeping_64_bits
from gluonx.errors import GraphError, ShapeError, TracedValueError
from gluonx.thresholds import threshold

if TYPE_CHECKING:
    from gluonx.deferred.graph import Graph

__all__ = ["FREED", "NOT_RECORDED", "backward", "gradients", "heads_of"]

NOT_RECORDED = (
    "backward was asked of an array that no recorded operation computed, or whose graph was freed by an earlier "
    "backward (retain_graph=True keeps it). Compute it inside "
    "`with autograd.record():` from arrays that have attach_grad(), or parameters with grad_req other than 'null'."
)
FREED = (
    "the graph of this array was freed by an earlier backward. To differentiate twice, give retain_graph=True to all "
    "but the last backward, or sum the losses and call backward once."
)
_IN_TRACE = "backward cannot be called inside a hybridized forward; call it outside, or use jax.grad there"
_ADD = DerivedOp("add_gradients", jnp.add)
MANY_SEGMENTS = threshold("tape.segments")


class GradOp:
    """The operator of a gradient node: (heads..., head gradients..., wrt...) -> gradients of what it reaches.

    A backward that Python code interrupts (a ``CustomSegment``) is several nodes, each a ``part``. These may pass the
    same operators; what they passed is freed by the node at their end (:class:`EndOp`).
    """

    __slots__ = ("cache", "given", "n_heads", "name", "part", "retain")
    needs_mode = random = wide = exact = False

    def __init__(self, n_heads: int, given: tuple[bool, ...], retain: bool, part: bool) -> None:
        self.n_heads = n_heads
        self.given = given
        self.retain = retain
        self.part = part
        self.name = "backward"
        self.cache = "plain"

    def __repr__(self) -> str:
        return "backward"

    def grow(self, graph: Graph, node: Node, key: tuple[Any, ...], args: Args) -> Node:
        """Find region and targets; see :func:`gluonx.deferred.growth.grow`."""
        child = Node(node, self, (), ())
        parts, _ = growth.number(graph, node, child, key[2:])
        n_given = sum(self.given)
        heads, given, wrt = (
            parts[: self.n_heads],
            iter(parts[self.n_heads : self.n_heads + n_given]),
            parts[self.n_heads + n_given :],
        )
        region, leaves = _reach(graph, heads)
        targets = (*sorted(leaves, reverse=True), *wrt)
        avals = tuple([_target_aval(graph, t) for t in targets])
        grown = Node(node, self, parts, avals)
        grown.n_leaves, grown.n_floats, grown.n_ints = child.n_leaves, child.n_floats, child.n_ints
        grown.grad = GradInfo(
            heads,
            tuple([next(given) if g else None for g in self.given]),
            targets,
            region,
            self.retain or self.part,
            tuple([i for i, aval in enumerate(avals) if aval.size > PACK_ELEMENTS]),
        )
        grown.wide = grown.wide or needs_64_bits(self, growth.input_avals(args, key[2:]))
        grown.single = False
        grown.has_backward = True
        grown.live = (False,) * len(targets)
        return growth.attach(graph, node, key, grown)


class EndOp:
    """The operator of the node that ends a backward of several parts: what they passed is freed."""

    __slots__ = ()
    needs_mode = random = wide = exact = False
    name, cache = "end of backward", "plain"

    def __repr__(self) -> str:
        return self.name

    def grow(self, graph: Graph, node: Node, key: tuple[Any, ...], args: Args) -> Node:
        """Make a node that computes nothing."""
        grown = Node(node, self, (), ())
        passed: set[int] = set()
        for before in reversed(graph.path()):
            if before.op is self:
                break
            if type(before.op) is GradOp and before.op.part:
                passed |= before.grad.region
        grown.grad = GradInfo((), (), (), frozenset(passed), False, ())
        grown.single = False
        return growth.attach(graph, node, key, grown)


_END = EndOp()
_grad_ops: dict[Any, GradOp] = {}


def _target_aval(graph: Graph, place: int) -> Aval:
    if place < 0:
        return aval_of(graph.leaves[-1 - place])
    node, i = graph.owners[place]
    return node.outs[i]


def _reach(graph: Graph, heads: tuple[int, ...]) -> tuple[frozenset[int], set[int]]:
    """Return the nodes between `heads` and the leaves that gradients flow into, and those leaves."""
    spent: set[int] = set()
    for node in graph.path():
        if node.grad is not None and not node.grad.retain:
            spent |= node.grad.region
    region, leaves = set[int](), set[int]()
    alive: list[int] = []
    for head in heads:
        node, i = graph.owners[head]
        if node.live[i]:
            alive.append(head)
            continue
        known = _recorded_from(graph, head)
        if not known:
            raise GraphError(NOT_RECORDED)
        leaves |= known
    for node, _ in walk_back(graph.owners, alive):
        if node.depth in spent:
            raise GraphError(FREED)
        region.add(node.depth)
        leaves.update([part for j in node.diff if (part := node.parts[j]) < 0])
    return frozenset(region), leaves


def _recorded_from(graph: Graph, slot: int) -> set[int]:
    """Give the leaves with a gradient that value `slot` was recorded from, though none flows (a comparison, argmax)."""
    stack, seen, leaves = [slot], set[int](), set[int]()
    while stack:
        node, _ = graph.owners[stack.pop()]
        if node.depth in seen or not node.taped or node.op is STOP:
            continue
        seen.add(node.depth)
        for part in node.parts:
            if isinstance(part, int) and part >= 0:
                stack.append(part)
            elif isinstance(part, int) and graph.sources[-1 - part] is not None:
                if aval_of(graph.leaves[-1 - part]).inexact:
                    leaves.add(part)
    return leaves


def _pending_gradients(
    heads: list[Handle], given: list[Handle | None], retain: bool, wrt: list[Handle], part: bool = False
) -> list[tuple[Any, Handle]]:
    """Record one gradient node, or a `part` of one; pairs of (source or wrt handle, gradient handle)."""
    mask = tuple([g is not None for g in given])
    op = _grad_op(len(heads), mask, retain, part and not retain)
    for g in given:
        if g is not None and g.derived:
            _ = g.value  # a view records its slice now, not in the middle of what follows
    graph = current_graph()
    with graph.lock:
        try:
            node = graph.cursor
            child = graph.step_to(op, [*heads, *[g for g in given if g is not None], *wrt], False)
            handles = graph.commit(node, child)
        except BaseException:
            graph.rollback()
            raise
        graph.backward_pending = True
        sources = graph.sources
        found: list[tuple[Any, Handle]] = []
        rest = iter(wrt)
        for target, handle in zip(child.grad.targets, handles, strict=True):
            found.append((sources[-1 - target] if target < 0 else next(rest), handle))
    return found


class _Collector:
    """Sums cotangents by where they go, and walks segments backwards in time."""

    def __init__(self, create_graph: bool, retain: bool, marks: bool) -> None:
        self.create_graph = create_graph
        self.marks = marks  # whether recorded values with attach_grad() get theirs
        self.retain = retain or create_graph
        self.ends: dict[int, tuple[Any, Handle]] = {}
        self.waiting: dict[int, tuple[Any, dict[int, Handle]]] = {}
        self.heap: list[int] = []
        self.passed = 0

    def _invoke(self, op: Operator, args: Args) -> Any:
        """Record `op`; run it at once where so many segments were passed that one program of all would compile long."""
        if self.passed <= MANY_SEGMENTS or self.create_graph:
            return invoke(op, args)
        return run_now(op, args, current_state())

    def add(self, source: Source | None, value: Handle) -> None:
        if not isinstance(source, Out):
            known = self.ends.get(id(source))
            self.ends[id(source)] = (source, value if known is None else self._invoke(_ADD, (known[1], value)))
            return
        segment = source.segment
        if source.freed:
            raise GraphError(FREED)
        entry = self.waiting.get(segment.sequence)
        if entry is None:
            if type(segment) is CustomSegment:
                segment.hold()  # the Python code may have the graph computed
            entry = self.waiting[segment.sequence] = (segment, {})
            heapq.heappush(self.heap, -segment.sequence)
        known = entry[1].get(source.slot)
        entry[1][source.slot] = value if known is None else self._invoke(_ADD, (known, value))

    def walk(self, keep: dict[int, Handle | None] | None = None) -> None:
        """Pull cotangents back through all segments; `keep` collects those of Outs that were asked for by id."""
        freed: list[tuple[Any, Any]] = []  # at the end, for a gradient may come back to a segment
        while self.heap:
            segment, cotangents = self.waiting.pop(-heapq.heappop(self.heap))
            self.passed += 1
            if keep is not None and any(id(out) in keep for out in segment.outs.values()):
                for slot, value in segment.inner(invoke, cotangents).items():
                    if (key := id(segment.outs[slot])) in keep:
                        known = keep[key]
                        keep[key] = value if known is None else invoke(_ADD, (known, value))
            for variable, value in segment.marked(invoke, cotangents) if self.marks and segment.marks else ():
                self.add(variable, value)
            pulled = segment.pull(self._invoke, cotangents, self.create_graph)
            behind: list[tuple[Handle, Handle]] = []
            for source, value in zip(segment.sources, pulled, strict=True):
                if type(source) is Behind and value is not None:
                    behind.append((_value_behind(source), value))
                elif value is not None and source is not None:
                    self.add(source, value)
            if behind:
                self._go_on(behind)
            freed.append((segment, cotangents))
        for segment, cotangents in freed if not self.retain else ():
            segment.free(cotangents)

    def _go_on(self, behind: list[tuple[Handle, Handle]]) -> None:
        """Take cotangents on from values in the middle of a graph, which may have been computed meanwhile."""
        pending = [pair for pair in behind if _is_pending(pair[0])]
        if pending:
            try:
                found = _pending_gradients([h for h, _ in pending], [v for _, v in pending], self.retain, [], part=True)
            except Blocked:
                pending = []  # another thread has just computed this graph
            else:
                for source, value in found:
                    self.add(source, value)
        for handle, value in behind:
            if not pending or not _is_pending(handle):
                settle(handle, "a gradient through a value computed before")
                self.add(handle.tape or handle.variable, value)


def _value_behind(source: Behind) -> Handle:
    handle = source.hold()
    if handle is None:
        raise GraphError(FREED)
    return handle


def _ones(handle: Handle) -> Handle:
    aval = handle.aval or aval_of(handle.value)
    with keeping_64_bits(aval.wide):
        return new_handle(jnp.ones(aval.shape, aval.dtype), aval)


def _is_pending(handle: Handle) -> bool:
    value = handle.value
    return type(value) is Pending and value.value is None and value.graph is current_graph()


def _marked(graph: Graph, heads: list[Handle]) -> list[tuple[Any, Handle]]:
    """Give the recorded values with attach_grad() that a gradient from `heads` passes: pairs of Variable and handle."""
    slots = [h.value.slot for h in heads]
    graph.path()
    passed = set(slots)
    for node, _ in walk_back(graph.owners, slots):
        passed.update([part for j in node.diff if (part := node.parts[j]) >= 0])
    found: list[tuple[Any, Handle]] = []
    for slot, variables in graph.marks.items():
        if slot in passed:
            aval = _target_aval(graph, slot)
            found += [(v, new_handle(Pending(graph, slot, aval), aval)) for v in variables]
    return found


def gradients(  # noqa: C901 - one walk, whose cases share its state
    heads: list[Handle], given: list[Handle | None], retain: bool, create_graph: bool, wrt: list[Handle] | None = None
) -> dict[int, tuple[Any, Handle]]:
    """Gradients of the sum of `heads`, weighted with `given`, by id of Variable (or Out, or handle, in `wrt`).

    Without `wrt`, recorded values that have attach_grad() get theirs too.
    """
    for head, g in zip(heads, given, strict=True):
        if g is not None and g.shape != head.shape:
            raise ShapeError(f"a head gradient must have the shape of its head: {head.shape} expected, {g.shape} came")
    collector = _Collector(create_graph, retain, wrt is None)
    pending = [] if create_graph else [i for i, h in enumerate(heads) if _is_pending(h)]
    parts = bool(pending and current_graph().borders)
    if parts and (current_graph().marks or any(map(_is_pending, wrt or ()))):
        pending, parts = [], False  # segments keep account of gradients within
    if pending:
        graph, starts = current_graph(), [heads[i] for i in pending]
        inner = [w for w in wrt or () if _is_pending(w) and graph.is_live(w.value.slot)]
        marked = _marked(graph, starts) if wrt is None and graph.marks else []
        ends = {id(handle): variable for variable, handle in marked}
        try:
            asked = [*inner, *[handle for _, handle in marked]]
            found = _pending_gradients(starts, [given[i] for i in pending], retain, asked, parts)
        except Blocked:
            found, pending = [], []  # another thread has just computed this graph; its segment leads back
        for source, value in found:
            collector.add(ends.get(id(source), source), value)
    for i, head in enumerate(heads):
        if i in pending:
            continue
        settle(head, "a gradient through a value computed before")
        source = head.tape or head.variable
        if source is None and not aval_of(head.value).inexact:
            continue  # the gradient of integers and booleans is zero everywhere
        if source is None:
            raise GraphError(NOT_RECORDED)
        seed = given[i]
        collector.add(source, _ones(head) if seed is None else seed)
    kept: dict[int, Handle | None] | None = None
    if wrt is not None:
        for w in wrt:
            if not _is_pending(w):
                settle(w)
        kept = {id(w.tape): None for w in wrt if w.tape is not None}
    collector.walk(kept)
    if parts and not retain:
        _end_parts()
    for key, value in (kept or {}).items():
        if value is not None:
            collector.ends[key] = (None, value)
    return collector.ends


def heads_of(heads: Any, head_grads: Any) -> tuple[list[Handle], list[Handle | None]]:
    """Return the heads and head gradients that a user gave to backward, as two lists of one length."""
    if isinstance(heads, Handle):
        if head_grads is None and current_state().trace is None:
            return [heads], [None]
        heads = [heads]
        head_grads = head_grads if isinstance(head_grads, (list, tuple)) else [head_grads]
    if not isinstance(heads, (list, tuple)):
        raise TypeError(f"backward works on ndarrays, got a {type(heads).__name__}")
    heads = list(heads)
    given = [None] * len(heads) if head_grads is None else list(head_grads)
    if not heads:
        raise GraphError("backward needs at least one array to differentiate, got none")
    if len(given) != len(heads):
        raise ValueError(f"{len(heads)} heads need {len(heads)} head gradients, got {len(given)}")
    for head in heads:
        if not isinstance(head, Handle):
            raise TypeError(f"backward works on ndarrays, got a {type(head).__name__}")
    if current_state().trace is not None:
        raise TracedValueError(_IN_TRACE)
    return heads, [None if g is None else as_handle(g) for g in given]


def backward(heads: Any, head_grads: Any = None, retain: bool = False) -> None:
    """Gradients into the variables' gradient handles."""
    hs, given = heads_of(heads, head_grads)
    if Replicas.on and len(hs) > 1 and len(homes := dict.fromkeys([h.device for h in hs])) > 1:  # type: ignore[attr-defined]
        for home in homes:  # what devices compute has nothing in common
            some = [i for i, h in enumerate(hs) if h.device == home]  # type: ignore[attr-defined]
            backward([hs[i] for i in some], [given[i] for i in some], retain)
        return
    before = current_state()
    if before.recording:
        set_state(state_with(recording=False))
    try:
        if not _backward_in_graph(hs, given, retain):
            plain, tables = rows.fold(gradients(hs, given, retain, False).values())
            for source, value in plain:
                _deliver(source, value)
            for home, taps, whole in tables:
                rows.deliver(home, taps, whole)
    finally:
        if before.recording:
            set_state(before)


def _backward_in_graph(heads: list[Handle], given: list[Handle | None], retain: bool) -> bool:
    """Do the usual case, quickly: one pending head whose gradients all end in distinct variables that are written."""
    if len(heads) != 1 or given[0] is not None or not _is_pending(heads[0]):
        return False
    graph = current_graph()
    with graph.lock:
        if graph.closed or graph.marks:
            return False  # another thread has just computed it, what it left is a segment; or more is asked for
        try:
            node = graph.cursor
            child = graph.step_to(_grad_op(1, (False,), retain), heads, False)
            sources = graph.sources
            variables = [sources[-1 - t] for t in child.grad.targets]
            written = [type(v) is Variable and v.req == "write" for v in variables]
            if False in written or len(set(variables)) != len(variables):
                graph.rollback()
                return False
            places = graph.advance(node, child)
        except BaseException:
            graph.rollback()
            raise
        graph.backward_pending = True
        for i in child.grad.large:
            _spare(graph, places[i].slot, variables[i].grad.value)
        for variable, place in zip(variables, places, strict=True):
            grad = variable.grad
            grad.value = place
            grad.aval = place.aval
            grad.tape = None
            variable.fresh = True
    return True


def _spare(graph: Graph, slot: int, old: object) -> None:
    """Keep the buffer of a gradient that is being replaced, for the program that computes the new one to write to."""
    graph.spares[slot] = graph.spares.pop(old.slot, None) if type(old) is Pending and old.graph is graph else old


def _end_parts() -> None:
    """Record that a backward of several parts is over."""
    graph = current_graph()
    with graph.lock:
        if not graph.closed and graph.cursor.parent is not None:
            graph.cursor = graph.step_to(_END, (), False)


def _grad_op(n_heads: int, given: tuple[bool, ...], retain: bool, part: bool = False) -> GradOp:
    key = (n_heads, given, retain, part)
    op = _grad_ops.get(key)
    if op is None:
        op = _grad_ops[key] = GradOp(*key)
    return op


def _deliver(variable: Variable, value: Handle) -> None:
    grad = variable.grad
    if variable.req == "add":
        graph = current_graph()
        old = Rebound(grad, grad.value, grad.aval, grad.tape, record_scope.get())
        value = invoke(_ADD, (grad, value))
        if type(old.value) is not Pending and not graph.closed:
            graph.journal.append(old)
    grad.value = value.value
    grad.aval = value.aval
    grad.tape = None
    variable.fresh = True
