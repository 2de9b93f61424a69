"""The pending graph: the operators that were recorded and not computed yet, as a path down the trie.

A graph belongs to the thread that records into it and is used once: when it is flushed it closes, and the thread starts
a new one. :meth:`Graph.record` turns each input into an input reference, looks up the tuple (operator, taped, input
references) among the children of the current trie node, steps to that child, and returns handles on new pending values.
Only if there is no such child does the slow path run (:mod:`gluonx.deferred.operators.growth`): it infers output
shapes, finds errors, and notes the user's line.

Invariants:

- ``cursor`` is the only commit point. Lists that are longer than it says, because an interrupt came in between, are cut
  back to it.
- A leaf is one (array or packed array, source) pair, in order of first use; two variables on one buffer are two leaves.
- ``refs`` are weak references: a value that no user holds any more is not computed for its own sake.
- ``journal`` holds the former values of handles that now refer to values of this graph, so that a failure can restore
  them.
- ``inside`` is set while code records into the graph or computes it, and only by code that holds ``lock``. The lock
  makes other threads wait. Code that interrupts on the same thread (a signal handler, a finalizer, a debugger) gets the
  lock, finds ``inside`` set and leaves the graph alone: what it records goes to a graph of its own (``inner``), and
  what it reads is computed separately (:meth:`Graph.value_apart`).
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from operator import attrgetter, call, is_
from typing import Any
from weakref import ref

import jax
import numpy as np
from jax.core import eval_context

from gluonx.common.host import copied
from gluonx.deferred.operators import growth
from gluonx.deferred.run import flushing
from gluonx.deferred.values import core, vectors
from gluonx.deferred.values.contracts import Args, Operator, Packs, Raw, Rebound, Recorded
from gluonx.deferred.values.core import (
    ROOT,
    Aval,
    Handle,
    Node,
    Packed,
    Pending,
    Placeholder,
    Tracer,
    aval_of,
    intern_aval,
    new_handle,
    new_pending,
    new_pendings,
    scalar_slot,
)

__all__ = ["Blocked", "Graph", "TracerMet", "at_one_moment", "current_graph", "record", "settle", "thread_graph"]


_PLAIN_NUMBERS = (float, int)
_NOTHING: Any = ()
_value_of = attrgetter("value")
_Lock = type(
    threading.RLock()
)  # the class that threading.RLock() returns; calling it directly saves a Python call in each step


class TracerMet(Exception):
    """Raised where an input is a tracer of a user's ``jax.jit``: the operator is then computed at once."""


class Blocked(Exception):
    """Raised where an input must be computed before it can be recorded here.

    It belongs to another thread's graph, or is a variable that is still pending.
    """


class Graph:
    """One pending graph; see the module's docstring."""

    __slots__ = (
        "__weakref__",
        "backward_pending",
        "borders",
        "closed",
        "cursor",
        "error",
        "floats",
        "inner",
        "inside",
        "ints",
        "journal",
        "leaf_index",
        "leaves",
        "lock",
        "marks",
        "nested",
        "owners",
        "packs",
        "path_nodes",
        "refs",
        "required",
        "segment",
        "sources",
        "recycled",
        "taken",
    )

    def __init__(self, nested: bool = False) -> None:
        self.lock = _Lock()
        self.nested = nested  # whether it belongs to code that interrupted work on another graph
        self.cursor: Node = ROOT
        self.closed = False
        self.inside = False
        self.inner: Graph | None = None
        self.taken: flushing.Taken | None = (
            None  # while a step is computed: the values that it has taken out of handles
        )
        self.backward_pending = False
        self.error: BaseException | None = None
        self.segment: Any = None
        self.packs: Packs | None = None
        self.recycled: dict[int, Any] = {}  # by slot of a large gradient: the buffer of the gradient that it replaces
        self.marks: dict[int, list[Any]] = {}  # by slot: the Variables of a recorded value that has attach_grad()
        self.borders: list[ref[Any]] = []  # the CustomSegments whose gradients continue in this graph
        self.leaves: list[Any] = []
        self.sources: list[Any] = []
        # Leaf numbers by Variable or Out; of an array that gradients do not reach, by its id.
        self.leaf_index: dict[Any, int] = {}
        self.refs: list[ref[Pending]] = []
        self.required: list[tuple[Pending, str]] = []  # booleans that must be true, each with its error message
        self.floats: list[float] = []
        self.ints: list[int] = []
        self.journal: list[Rebound] = []
        self.path_nodes: list[Node] = []
        self.owners: list[tuple[Node, int]] = []

    # -- recording -------------------------------------------------------------------------------------------------

    def step_to(self, op: Recorded, args: Sequence[Any], taped: bool) -> Node:  # noqa: C901 - one pass, at each operator
        """Turn `args` into input references and find or make the child node.

        The caller commits by setting ``cursor``.
        """
        node = self.cursor
        leaves, sources, index = self.leaves, self.sources, self.leaf_index
        n = len(leaves)
        key: list[Any] = [op, taped]
        plain = core.array_class
        for a in args:
            if type(a) is not plain:
                if not isinstance(a, Handle):
                    key.append(self._scalar(a, args, op))
                    n = len(leaves)
                    continue
                if a.derived and not a.is_current():
                    raise Blocked
            value = a.value
            if type(value) is Pending:
                if value.graph is self:
                    if taped and a.variable is not None and not self.is_live(value.slot):
                        raise Blocked
                    key.append(value.slot)
                    continue
                if value.value is None:
                    raise Blocked
                value = settle(a)
            source = a.variable if a.tape is None else source_of(a)
            ident = id(value) if source is None else source
            if ident in index:
                known = index[ident]
                if leaves[known] is value:
                    key.append(-1 - known)
                    continue
            aval = a.aval
            if aval is None:
                aval = self._ready(a, op, args)
                value = a.value
                if type(value) is Pending:
                    raise Blocked
                source = source_of(a)
                ident = id(value) if source is None else source
                n = len(leaves)
            key.append(aval if source is None else aval.taped)
            index[ident] = n
            n += 1
            leaves.append(value)
            sources.append(source)
        lookup = tuple(key)
        child = node.children.get(lookup)
        if child is None:
            child = growth.grow(self, node, lookup, op, args, taped)
        return child

    def advance(self, node: Node, child: Node) -> list[Pending]:
        """Step to `child` and return its pending values."""
        pendings = new_pendings(self, node.size, child.outs)
        self.refs.extend(map(ref, pendings))
        self.cursor = child
        return pendings

    def commit(self, node: Node, child: Node) -> tuple[Any, ...]:
        """Step to `child` and return handles on all its outputs."""
        return tuple([new_handle(p, p.aval) for p in self.advance(node, child)])

    def rollback(self) -> None:
        """Cut all lists back to the cursor; a graph that was closed is emptied."""
        if self.closed:
            return
        node = self.cursor
        del self.refs[node.size :], self.floats[node.n_floats :], self.ints[node.n_ints :]
        if len(self.leaves) > node.n_leaves:
            del self.leaves[node.n_leaves :], self.sources[node.n_leaves :]
            self.leaf_index = {k: i for k, i in self.leaf_index.items() if i < node.n_leaves}

    def _ready(self, handle: Handle, op: Recorded, args: Args) -> Aval:
        """Return the aval of a leaf without a cached one: a new array, a placeholder to fill, or a tracer."""
        value = handle.value
        if type(value) is Pending:  # a step in another thread has just taken it
            raise Blocked
        if isinstance(value, Tracer):
            raise TracerMet
        if isinstance(value, Placeholder):
            growth.fill(handle, op, args)
            value = handle.value
        aval = handle.aval = aval_of(value)
        return aval

    def _scalar(self, scalar: Raw | None, args: Args, op: Recorded) -> Any:
        if scalar is None:
            return None
        if isinstance(scalar, (np.ndarray, jax.Array)):
            return self._raw(scalar, args, op)
        first = args[0]
        if (
            len(args) == 2
            and type(scalar) in _PLAIN_NUMBERS
            and isinstance(first, Handle)
            and first.aval is not None
            and first.aval.inexact
            and not op.exact
        ):
            slot = scalar_slot(first.aval.dtype)
        else:
            _stop_before_views(args)
            slot = scalar_slot(growth.scalar_dtype(scalar, args, op))
        if slot.integral:
            self.ints.append(int(scalar))
        else:
            self.floats.append(float(scalar))
        return slot

    def _raw(self, array: np.ndarray | jax.Array, args: Args, op: Recorded) -> Aval:
        if isinstance(array, np.ndarray):
            # A copy, since the caller may write to the array before this graph runs.
            _stop_before_views(args)
            array = copied(growth.operand(array, args, op))
            aval = intern_aval(array.shape, array.dtype)
        elif isinstance(array, Tracer):
            raise TracerMet
        else:
            aval = aval_of(array)
        self.leaves.append(array)
        self.sources.append(None)
        return aval

    # -- looking back ----------------------------------------------------------------------------------------------

    def path(self) -> list[Node]:
        """Return the nodes from the root to the cursor."""
        known = self.path_nodes
        node, count, fresh = self.cursor, len(known), []
        while node.depth > count:
            fresh.append(node)
            assert node.parent is not None, "a node below the root has a parent"
            node = node.parent
        if fresh:
            fresh.reverse()
            # Each is one operation, and has the same result if code that interrupts here does it too.
            self.owners[node.size :] = [(n, i) for n in fresh for i in range(len(n.outs))]
            known[count:] = fresh
        return known

    def is_live(self, slot: int) -> bool:
        """Return whether gradients flow through value `slot`."""
        self.path()
        node, i = self.owners[slot]
        return node.live[i]

    def source_live(self, leaf: int) -> bool:
        """Return whether gradients flow into leaf `leaf`."""
        return self.sources[leaf] is not None

    def pending(self, slot: int) -> Pending:
        """Return the pending value of a slot: the one that somebody holds, else a new one."""
        found = self.refs[slot]()
        if found is None:
            self.path()
            node, i = self.owners[slot]
            found = new_pendings(self, slot, (node.outs[i],))[0]
            self.refs[slot] = ref(found)
        return found

    def pendings(self) -> list[Pending]:
        """Return the pending values that somebody still holds."""
        return list(filter(None, map(call, self.refs)))

    # -- code that interrupts work on the graph ------------------------------------------------------------------------

    def is_ours(self) -> bool:
        """Return whether this thread is working on the graph already, so that the caller interrupts that work.

        If another thread works on it, wait for that thread.
        """
        if not self.inside:
            return False
        with self.lock:
            return self.inside

    def value_apart(self, pending: Pending) -> Any:
        """Return the current value of `pending` to code that interrupts this thread's work on the graph.

        It is computed from the graph's leaves and not stored: graph, pending values and handles stay as they are.

        Raises
        ------
        GraphError
            While a program has already taken the buffers that it replaces, but has not returned its results yet.
        """
        return flushing.value_apart(self, pending)

    # -- ending ----------------------------------------------------------------------------------------------------

    def close(self, error: BaseException | None = None) -> None:
        """End this graph; with `error`, handles that refer to its values get their former values back."""
        self.closed = True
        self.error = error
        if error is not None:
            self.restore()
        # Nothing can be recorded any more; all closed graphs share these immutable objects, so that trying raises.
        self.leaves = self.sources = self.refs = self.required = self.floats = self.ints = self.borders = _NOTHING
        self.journal = _NOTHING
        self.leaf_index, self.recycled, self.marks = {}, {}, {}

    def restore(self, scope: object = None) -> None:
        """Restore handles that refer to values of this graph which were not computed (those of `scope`, if given)."""
        kept: list[Rebound] = []
        for entry in reversed(self.journal):
            handle, value, aval, tape, owner = entry
            if scope is not None and owner is not scope:
                kept.append(entry)
                continue
            now = handle.value
            if type(now) is Pending and now.graph is self and now.value is None and not self.has_packed(now):
                handle.value, handle.aval, handle.tape = value, aval, tape
        self.journal = kept[::-1]

    def has_packed(self, pending: Pending) -> bool:
        """Return whether the value is in a packed vector."""
        packs = self.packs
        found = None if packs is None else packs.where.get(pending.slot)
        return packs is not None and found is not None and packs.vectors[found[0]].value is not None


class _Local(threading.local):
    def __init__(self) -> None:
        self.graph = Graph()


_local = _Local()


def thread_graph() -> Graph:
    """Return the open graph that this thread may record into.

    For code that interrupts work on one graph that is an inner graph.
    """
    graph = _local.graph
    if graph.inside and graph.is_ours():
        while graph.inside:
            inner = graph.inner
            if inner is None or (inner.closed and not inner.inside):
                inner = graph.inner = Graph(nested=True)
            graph = inner
        return graph
    if graph.closed:
        graph = _local.graph = Graph()
    return graph


current_graph = thread_graph


def drop_closed() -> None:
    """Release this thread's graph if it has been computed, with the residuals that it may hold."""
    graph = _local.graph
    if graph.closed and not graph.inside:
        _local.graph = Graph()


def leave_graph() -> None:
    """Let this thread start a new graph; the old one is computed if one of its values is ever read."""
    outer, graph = None, _local.graph
    while graph.inside and graph.inner is not None:
        outer, graph = graph, graph.inner
    if outer is not None:
        outer.inner = None
    elif not graph.inside:
        _local.graph = Graph()


def record(op: Operator, args: Args, taped: bool) -> Any:
    """Append `op` on `args` to this thread's graph; return one handle, or a tuple if the operator returns a tuple."""
    while True:
        graph = _local.graph
        if graph.closed or graph.inside:
            graph = thread_graph()
        with graph.lock:
            if graph.inside:
                continue
            graph.inside = True
            out: Any = None
            try:
                if not graph.closed:
                    node = graph.cursor
                    child = graph.step_to(op, args, taped)
                    if child.single:
                        out = new_pending(graph, node.size, child.outs[0])
                        graph.refs.append(ref(out.value))
                        graph.cursor = child
                    else:
                        out = graph.commit(node, child)
            except Blocked:
                graph.rollback()
            except BaseException:
                graph.rollback()
                raise
            finally:
                graph.inside = False
        if out is None:
            args = unblock(args, graph)
            continue
        if child.full:
            flushing.flush_full(graph)
        return out


def _stop_before_views(args: Args) -> None:
    """Raise Blocked if an input is a view whose base has changed.

    Asking for its dtype would record its renewal.
    """
    for a in args:
        if isinstance(a, Handle) and a.derived and not a.is_current():
            raise Blocked


def unblock(args: Args, graph: Graph) -> Args:
    """Compute the inputs that could not be recorded in `graph`; return the inputs to use instead of `args`.

    They are `args`, except for values of a graph that the caller interrupts: these are computed separately and become
    constants.
    """
    found = args
    for i, a in enumerate(args):
        if isinstance(a, Handle):
            value = a.value  # brings a view up to date
            if type(value) is Pending and (value.graph is not graph or a.variable is not None):
                array = settle(a, "an input of another thread or a variable's pending value")
                if a.value is value:
                    found = [*found[:i], new_handle(array), *found[i + 1 :]]
    return found


_AGAIN: Any = object()


def settle(handle: Handle, why: str = "a value was read") -> Any:
    """Return the ``jax.Array`` (or tracer) of a handle, computing it if it is pending.

    The handle then holds the array, unless another thread has written to the handle meanwhile, or the caller interrupts
    work on its graph (:meth:`Graph.value_apart`).
    """
    while (found := _settled(handle, why)) is _AGAIN:
        pass
    return found


def _settled(handle: Handle, why: str) -> Any:
    """Return what :func:`settle` returns, or a mark that the handle was rebound meanwhile and must be read again."""
    value = handle.value
    if type(value) is Pending:
        array = value.value
        graph = value.graph
        if array is None:
            if graph.inside and graph.is_ours():
                return graph.value_apart(value)
            # Under a user's jax.jit the program still runs now, and its results are not part of that trace.
            # (`ensure_compile_time_eval` would compile and run the program's constant operations one by one.)
            with eval_context():
                if not graph.closed:
                    flushing.flush(graph, why)
                    drop_closed()
                    graph = value.graph  # the graph of its device, if this graph was split by devices
                with graph.lock:  # another thread may be about to put the value here
                    array = value.value
                    if array is None:
                        if handle.value is not value:  # a step that failed has put back what it had taken
                            return _AGAIN
                        array = flushing.unpacked(graph, value)
        segment = graph.segment
        tape = handle.tape if segment is None else segment.outs.get(value.slot)
        if handle.value is value:  # from here to the last assignment nothing is called, so nothing can interrupt
            handle.aval, handle.tape, handle.value = value.aval, tape, array
        return array
    if type(value) is Packed:
        return vectors.read(handle)
    if isinstance(value, Placeholder):
        array = value.make(handle)
        if handle.value is value:
            handle.aval, handle.value = None, array
        return array
    return value


def at_one_moment(handles: Sequence[Handle]) -> list[Handle]:
    """Return handles on what `handles` held at one moment between two steps, whatever other threads are training.

    A step takes all that it replaces out of handles in one C call (:data:`flushing.Taken`) and writes its results to
    pending values, so what is read in one C call belongs to one step. Small arrays are read through their vectors. Both
    are read again until nothing has changed in between, and a step that is under way has taken all of them.
    """
    while True:
        values = list(map(_value_of, handles))
        vectors = list({id(v.vector): v.vector for v in values if type(v) is Packed}.values())
        joined = list(map(_value_of, vectors))
        if not all(map(is_, values, map(_value_of, handles))):
            continue
        under_way = {v.graph for v in (*values, *joined) if type(v) is Pending and v.value is None and v.graph.taken}
        if all([type(v) is Pending and v.graph in under_way for v in joined] if under_way else ()):
            break
        if all(graph.is_ours() for graph in under_way):  # is_ours() waits for the graphs of other threads
            break
    arrays = {id(v): v.arrays(now) for v, now in zip(vectors, joined, strict=True)}
    found: list[Handle] = []
    for handle, value in zip(handles, values, strict=True):
        twin = new_handle(arrays[id(value.vector)][value.number] if type(value) is Packed else value, handle.aval)
        twin.tape = handle.tape
        found.append(twin)
    return found


def source_of(handle: Handle) -> Any:
    """Return where the gradient of this (computed) handle goes: an ``Out``, a Variable, or None."""
    tape = handle.tape
    return handle.variable if tape is None or tape.freed else tape
