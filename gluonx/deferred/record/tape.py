"""Gradients: one more node of the pending graph, and a walk over finished segments.

``backward`` on pending heads appends one gradient node. The leaves that it reaches are found once, when a program first
reaches the node at that point of the trie; afterwards a backward costs one look-up, and one pending value for each
gradient. Where the tape continues in segments that were computed earlier, each segment has one pull-back operator,
which is recorded in the same graph. Gradients end in Variables: ``write`` rebinds the variable's gradient handle,
``add`` records an addition.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import jax.numpy as jnp

from gluonx.common import policy
from gluonx.deferred.operators import growth
from gluonx.deferred.operators.derived import DerivedOp, needs_64_bits
from gluonx.deferred.operators.segments import Behind, CustomSegment, Out
from gluonx.deferred.record import rows
from gluonx.deferred.record.engine import STOP, as_handle, invoke, run_now
from gluonx.deferred.record.graph import Blocked, current_graph, settle
from gluonx.deferred.run.program import GradInfo, walk_back
from gluonx.deferred.values import program_cache
from gluonx.deferred.values.contracts import Args, Operator, Rebound, Source
from gluonx.deferred.values.core import (
    Aval,
    Handle,
    Node,
    Pending,
    Variable,
    aval_of,
    current_state,
    new_handle,
    new_pending,
    record_scope,
    set_state,
    state_with,
)
from gluonx.device import Replicas
from gluonx.dtype import keeping_64_bits
from gluonx.errors import GraphError, ShapeError, TracedValueError

if TYPE_CHECKING:
    from gluonx.deferred.record.graph import Graph

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
_ENDS = frozenset([Variable])  # the types of sources to which a gradient is delivered as it is


class GradOp:
    """The operator of a gradient node.

    It maps (heads..., head gradients..., wrt...) to the gradients of the leaves that it reaches. A backward with Python
    code in between (a ``CustomSegment``) is several nodes, each a ``part``. These may pass the same operators; the
    values that they need are freed by the node at their end (:class:`EndOp`).
    """

    __slots__ = ("cache", "given", "name", "part", "retain")
    needs_mode = random = wide = exact = False

    def __init__(self, given: tuple[bool, ...], retain: bool, part: bool) -> None:
        self.given = given  # for each head, whether it has a gradient of its own
        self.retain = retain
        self.part = part
        self.name = "backward"
        self.cache = "plain"

    def __repr__(self) -> str:
        return "backward"

    def grow(self, graph: Graph, node: Node, key: tuple[Any, ...], args: Args) -> Node:
        """Find region and targets; see :func:`gluonx.deferred.operators.growth.grow`."""
        child = Node(node, self, (), ())
        parts, _ = growth.number(graph, node, child, key[2:])
        n, m = len(self.given), len(self.given) + sum(self.given)
        heads, given, wrt = parts[:n], iter(parts[n:m]), parts[m:]
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
        )
        grown.wide = grown.wide or needs_64_bits(self, growth.input_avals(args, key[2:]))
        grown.single = False
        grown.has_backward = True
        grown.live = (False,) * len(targets)
        return growth.attach(graph, node, key, grown)


class EndOp:
    """The operator of the node that ends a backward of several parts: it frees the values that these needed."""

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
        grown.grad = GradInfo((), (), (), frozenset(passed), False)
        grown.single = False
        return growth.attach(graph, node, key, grown)


_END = EndOp()
_grad_op = program_cache.once(GradOp)  # interned, because it is part of trie keys
Started: TypeAlias = "tuple[list[Any], list[Pending], list[int], bool]"  # see _start
Ends: TypeAlias = "dict[int, tuple[Any, Handle]]"  # by id of a source: the source and its gradient


def _target_aval(graph: Graph, target: int) -> Aval:
    if target < 0:
        return aval_of(graph.leaves[-1 - target])
    node, i = graph.owners[target]
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
    """Return the leaves with attach_grad that a value was recorded from, though no gradient flows to them.

    Comparisons and argmax stop gradients, for instance.
    """
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


def _start(heads: list[Handle], given: list[Handle | None], retain: bool, wrt: list[Handle] | None = None) -> Started:
    """Record the gradient of the heads that are pending, for all Variables or for the handles `wrt`, as one node.

    Returns
    -------
    sources, pendings : list
        The outputs of the node: for each source the pending gradient. A source is a Variable, an Out where a segment
        continues, or a handle that the gradient was asked for.
    computed : list of int
        The numbers of the heads that it does not start from.
    part : bool
        Whether the node is one part of several, which :func:`_end_parts` must end.
    """
    graph = current_graph()
    pending, weights = heads, given
    computed = [i for i, h in enumerate(heads) if not _is_pending(h, graph)]
    if computed:
        pending = [h for i, h in enumerate(heads) if i not in computed]
        weights = [g for i, g in enumerate(given) if i not in computed]
    asked: list[Any] = []
    ends: list[Any] = []
    if wrt is not None:
        asked = ends = [w for w in wrt if _is_pending(w, graph) and graph.is_live(w.value.slot)]
    elif graph.marks and pending:
        for variable, handle in _marked(graph, pending):
            asked.append(handle)
            ends.append(variable)
    part = bool(graph.borders)
    within = part and (
        graph.marks or any(_is_pending(w, graph) for w in wrt or ())
    )  # segments record which gradients pass them
    if pending and not within:
        if wrt is None and not asked and len(pending) > 1 and (Replicas.on or graph.cursor.spans):
            return *_on_each_device(heads, given, retain, computed, part), part
        try:
            sources, pendings = _gradient_node(pending, weights, retain, asked, ends, part)
            return sources, pendings, computed, part
        except Blocked:
            pass
    return [], [], list(range(len(heads))), False


def _on_each_device(
    heads: list[Handle], given: list[Handle | None], retain: bool, computed: list[int], part: bool
) -> tuple[list[Any], list[Pending], list[int]]:
    """Record one gradient node for the pending heads of each device; within a graph, devices share nothing."""
    by_device: dict[Any, list[int]] = {}
    for i, head in enumerate(heads):
        if i not in computed:
            by_device.setdefault(head.device, []).append(i)  # type: ignore[attr-defined]
    sources, pendings, blocked = list[Any](), list[Pending](), list[int]()
    for some in by_device.values():
        try:
            more = _gradient_node([heads[i] for i in some], [given[i] for i in some], retain, part=part)
        except Blocked:
            blocked += some
        else:
            sources += more[0]
            pendings += more[1]
    return sources, pendings, sorted([*computed, *blocked])


def _is_all(started: Started) -> bool:
    """Return whether only delivery is left: all gradients end in plain Variables, and no two in the same one."""
    sources, _, computed, part = started
    if computed or part:
        return False
    return _ENDS.issuperset(map(type, sources)) and len(set(sources)) == len(sources)


def _gradient_node(
    heads: list[Handle],
    given: list[Handle | None],
    retain: bool,
    asked: Sequence[Handle] = (),
    ends: Sequence[Any] = (),
    part: bool = False,
) -> tuple[list[Any], list[Pending]]:
    """Record one gradient node, or a `part` of one.

    Returns
    -------
    sources, pendings : list
        The sources of the gradients, and the pending gradients; those that were `asked` for go to `ends`.

    Raises
    ------
    Blocked
        If another thread, or code that interrupted this one, has just computed the graph. The gradient then goes
        through its segment.
    """
    weighted = tuple([g is not None for g in given])
    weights = [g for g in given if g is not None]
    for g in weights:
        _ = g.value  # lets a view record its slice now, not in the middle of the following
    op = _grad_op(weighted, retain, part and not retain)
    graph = current_graph()
    with graph.lock:
        if graph.inside:
            raise Blocked
        graph.inside = True
        try:
            for head in heads:
                if type(value := head.value) is not Pending or value.graph is not graph or graph.closed:
                    raise Blocked  # another thread has read a value meanwhile
            node = graph.cursor
            child = graph.step_to(op, [*heads, *weights, *asked], False)
            sources = graph.sources
            pendings = graph.advance(node, child)
            graph.backward_pending = True
        except BaseException:
            graph.rollback()
            raise
        finally:
            graph.inside = False
        return [*child.grad.of_leaves(sources), *ends], pendings


class _Walk:
    """The path of a gradient beyond the gradient node: through finished segments, the newest first.

    Cotangents are summed by their destination: ``waiting`` holds those of segments' outputs, ``ends`` those of
    Variables.
    """

    def __init__(self, create_graph: bool, retain: bool, wrt: list[Handle] | None) -> None:
        self.create_graph = create_graph
        self.retain = retain or create_graph
        self.wrt = wrt
        self.ends: Ends = {}
        self.waiting: dict[int, tuple[Any, dict[int, Handle]]] = {}
        self.heap: list[int] = []
        self.passed = 0

    def finish(self, started: Started, heads: list[Handle], given: list[Handle | None]) -> Ends:
        """Return the gradients by id of the Variable that each ends in (or of the Out, or handle, of `wrt`)."""
        sources, pendings, computed, part = started
        for source, pending in zip(sources, pendings, strict=True):
            self.add(source, new_handle(pending, pending.aval))
        for i in computed:
            head, seed = heads[i], given[i]
            settle(head, "a gradient through a value computed before")
            source = head.tape or head.variable
            if source is None and not aval_of(head.value).inexact:
                continue  # the gradient of integers and booleans is zero everywhere
            if source is None:
                raise GraphError(NOT_RECORDED)
            self.add(source, _ones(head) if seed is None else seed)
        for w in self.wrt or ():
            if not _is_pending(w, current_graph()):
                settle(w)
        kept: dict[int, Handle | None] = {id(w.tape): None for w in self.wrt or () if w.tape is not None}
        self._through_segments(kept)
        if part and not self.retain:
            _end_parts()
        self.ends.update({key: (None, value) for key, value in kept.items() if value is not None})
        return self.ends

    def _invoke(self, op: Operator, args: Args) -> Any:
        """Record `op`, or run it at once after so many segments that one program of them all would compile too long."""
        if self.passed <= policy.SEGMENTS or self.create_graph:
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
                segment.hold()  # the Python code may cause the graph to be computed
            entry = self.waiting[segment.sequence] = (segment, {})
            heapq.heappush(self.heap, -segment.sequence)
        known = entry[1].get(source.slot)
        entry[1][source.slot] = value if known is None else self._invoke(_ADD, (known, value))

    def _through_segments(self, keep: dict[int, Handle | None]) -> None:
        """Pull cotangents back through all segments; `keep` collects those of Outs that were asked for by id."""
        freed: list[tuple[Any, Any]] = []  # freed at the end, because a gradient may return to a segment
        while self.heap:
            segment, cotangents = self.waiting.pop(-heapq.heappop(self.heap))
            self.passed += 1
            if keep and any(id(out) in keep for out in segment.outs.values()):
                for slot, value in segment.inner(invoke, cotangents).items():
                    if (key := id(segment.outs[slot])) in keep:
                        known = keep[key]
                        keep[key] = value if known is None else invoke(_ADD, (known, value))
            for variable, value in segment.marked(invoke, cotangents) if self.wrt is None and segment.marks else ():
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
        """Continue with cotangents of values in the middle of a graph, which may have been computed meanwhile."""
        pending = [pair for pair in behind if _is_pending(pair[0], current_graph())]
        if pending:
            try:
                found = _gradient_node([h for h, _ in pending], [v for _, v in pending], self.retain, part=True)
            except Blocked:
                pending = []
            else:
                for source, result in zip(*found, strict=True):
                    self.add(source, new_handle(result, result.aval))
        for handle, value in behind:
            if not pending or not _is_pending(handle, current_graph()):
                settle(handle, "a gradient through a value computed before")
                self.add(handle.tape or handle.variable, value)


def _value_behind(source: Behind) -> Handle:
    handle = source.hold()
    if handle is None:
        raise GraphError(FREED)
    return handle


def _ones(handle: Handle) -> Handle:
    aval = handle.aval or aval_of(handle.value)
    with keeping_64_bits(aval.wide):  # on a mesh, zeros take the placement of the values that they are combined with
        return new_handle(jnp.ones(aval.shape, aval.dtype, device=None if aval.spread else aval.sharding), aval)


def _is_pending(handle: Handle, graph: Graph) -> bool:
    value = handle.value
    return type(value) is Pending and value.value is None and value.graph is graph


def _marked(graph: Graph, heads: list[Handle]) -> list[tuple[Any, Handle]]:
    """Return pairs (Variable, handle) of the recorded values with attach_grad() that a gradient from `heads` passes."""
    slots = [h.value.slot for h in heads]
    graph.path()
    passed = set(slots)
    for node, _ in walk_back(graph.owners, slots):
        passed.update([part for j in node.diff if (part := node.parts[j]) >= 0])
    found: list[tuple[Any, Handle]] = []
    for slot, variables in graph.marks.items():
        if slot in passed:
            aval = _target_aval(graph, slot)
            found += [(v, new_pending(graph, slot, aval)) for v in variables]
    return found


def gradients(
    heads: list[Handle], given: list[Handle | None], retain: bool, create_graph: bool, wrt: list[Handle]
) -> Ends:
    """Return the gradients of the sum of `heads`, weighted with `given`, by id of Variable, Out, or handle in `wrt`."""
    started = ([], [], list(range(len(heads))), False) if create_graph else _start(heads, given, retain, wrt)
    return _Walk(create_graph, retain, wrt).finish(started, heads, given)


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
    weights = [None if g is None else as_handle(g) for g in given]
    for head, g in zip(heads, weights, strict=True):
        if g is not None and g.shape != head.shape:
            raise ShapeError(f"a head gradient must have the shape of its head: {head.shape} expected, {g.shape} came")
    return heads, weights


def backward(heads: Any, head_grads: Any = None, retain: bool = False) -> None:
    """Compute the gradients of `heads` and write or add them to the variables' gradient handles."""
    hs, given = heads_of(heads, head_grads)
    before = current_state()
    if before.recording:
        set_state(state_with(recording=False))
    try:
        started = _start(hs, given, retain)
        if _is_all(started):  # nearly always
            _deliver(zip(started[0], started[1], strict=True))
        else:
            plain, tables = rows.fold(_Walk(False, retain, None).finish(started, hs, given).values())
            _deliver(plain)
            for home, taps, whole in tables:
                rows.deliver(home, taps, whole)
    finally:
        if before.recording:
            set_state(before)


def _recycle(pending: Pending, old: object) -> None:
    """Keep the buffer of a gradient that is being replaced; the program that computes `pending` will write to it."""
    recycled = pending.graph.recycled
    recycled[pending.slot] = (
        recycled.pop(old.slot, None) if type(old) is Pending and old.graph is pending.graph else old
    )


def _end_parts() -> None:
    """Record that a backward of several parts is over."""
    graph = current_graph()
    with graph.lock:
        if graph.inside:
            return
        graph.inside = True
        try:
            if not graph.closed and graph.cursor.parent is not None:
                graph.cursor = graph.step_to(_END, (), False)
        finally:
            graph.inside = False


def _deliver(gradients: Iterable[tuple[Variable, Pending | Handle]]) -> None:
    """Write each gradient, a pending value or what a handle holds, to its variable, or add it there."""
    for variable, found in gradients:
        value = found if type(found) is Pending else found.value
        aval: Any = found.aval
        grad = variable.grad
        if variable.keeps is not None:
            own = invoke(variable.keeps, (new_handle(value, aval),))
            value, aval = own.value, own.aval
        if variable.req == "add":
            graph = current_graph()
            old = Rebound(grad, grad.value, grad.aval, grad.tape, record_scope.get())
            total = invoke(_ADD, (grad, new_handle(value, aval)))
            if type(old.value) is not Pending and not graph.closed:
                graph.journal.append(old)
            value, aval = total.value, total.aval
        elif type(value) is Pending and aval.size > policy.PACKED:
            _recycle(value, grad.value)
        grad.value = value
        grad.aval = aval
        grad.tape = None
        variable.fresh = True
