"""Splitting a graph over several devices: the replicas, whether they are alike, and each as a separate graph."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any
from weakref import ref

import jax
import numpy as np
from jax.sharding import Sharding

from gluonx.deferred.replicas.operators import Joint, Together
from gluonx.deferred.run.program import GradInfo
from gluonx.deferred.values import program_cache
from gluonx.deferred.values.contracts import InputRef, Leaf, Operator, ScalarRef
from gluonx.deferred.values.core import ROOT, Aval, Node, aval_of, intern_aval
from gluonx.device import is_folded

if TYPE_CHECKING:
    from gluonx.deferred.record.graph import Graph

__all__ = ["AXIS", "Replica", "alike", "aval_of_leaf", "fall_apart", "parted"]

AXIS = "replica"


class _Crossed(Exception):
    """Raised where one device uses a value of another."""


class Replica:
    """The part of a graph on one device, as a separate path in the trie.

    ``device`` is the JAX device. ``slots`` maps the graph's slots to the replica's. ``leaves``, ``floats`` and ``ints``
    list the graph's leaves and scalars that the replica uses, in its own order.
    """

    def __init__(self, home: Any) -> None:
        self.device = _device_of(home)
        self.nodes: list[Node] = []
        self.depths: dict[int, int] = {}
        self.slots: dict[int, int] = {}
        self.leaves: list[int] = []
        self.floats: list[int] = []
        self.ints: list[int] = []
        self._numbers: dict[int, int] = {}

    def add(
        self, node: Node, start: int, op: Operator, parts: Sequence[InputRef], outs: Sequence[int], graph: Graph
    ) -> None:
        """Append a node; its inputs, and its outputs from `start` on, are numbered as in the whole graph."""
        parent = self.nodes[-1] if self.nodes else ROOT
        counts = [parent.n_leaves, parent.n_floats, parent.n_ints]
        key: list[Any] = [op, node.taped]
        own: list[Any] = []
        for part in parts:
            if isinstance(part, int) and part < 0 and -1 - part not in self._numbers:
                counts[0] += 1
                key.append(_leaf_key(graph, -1 - part))
            elif isinstance(part, tuple):
                counts[2 if part[0].integral else 1] += 1
                key.append(part[0])
            else:
                key.append(None if part is None else self.own_ref(part))
            own.append(self.own_ref(part))
        found = parent.children.get(tuple(key))
        if found is None:
            found = Node(parent, op, tuple(own), tuple([node.outs[i] for i in outs]))
            found.n_leaves, found.n_floats, found.n_ints = counts
            found.single, found.taped, found.diff = node.single, node.taped, node.diff
            found.live = tuple([node.live[i] for i in outs]) if node.live else ()
            found.line, found.where, found.used = node.line, node.where, program_cache.Cache.now
            found.wide = found.wide or node.wide
            if node.grad is not None:
                found.grad, found.has_backward = self._translated(node.grad), True
            parent.children[tuple(key)] = found
        for i, out in enumerate(outs):
            self.slots[start + out] = found.size - len(found.outs) + i
        self.depths[node.depth] = found.depth
        self.nodes.append(found)

    def own_ref(self, part: InputRef) -> Any:
        """Return an input reference of the whole graph as one of the replica."""
        if part is None:
            return None
        if isinstance(part, tuple):
            slot, number = part
            numbers = self.ints if slot.integral else self.floats
            numbers.append(number)
            return ScalarRef(slot, len(numbers) - 1)
        if part >= 0:
            if part not in self.slots:
                raise _Crossed
            return self.slots[part]
        known = self._numbers.setdefault(-1 - part, len(self.leaves))
        if known == len(self.leaves):
            self.leaves.append(-1 - part)
        return -1 - known

    def _translated(self, grad: GradInfo) -> GradInfo:
        if any(depth not in self.depths for depth in grad.region):
            raise _Crossed
        heads, given, targets = (tuple(map(self.own_ref, s)) for s in (grad.heads, grad.head_grads, grad.targets))
        region = frozenset([self.depths[d] for d in grad.region])
        return GradInfo(heads, given, targets, region, grad.retain)

    @property
    def kind(self) -> Any:
        """A key that is equal for replicas that are alike."""
        return [(n.op, n.taped, n.parts, n.diff, _grad_kind(n.grad), [o.struct for o in n.outs]) for n in self.nodes]


def _device_of(home: Any) -> Any:
    """Return the JAX device of a home, which may be the sharding of a folded device, or None for the default device."""
    if home is None:
        return jax.local_devices()[0]
    return next(iter(home.device_set)) if isinstance(home, Sharding) else home


def _home_on_jax(aval: Aval) -> Any:
    return aval.home


def _home_by_name(aval: Aval) -> Any:
    return aval.sharding if is_folded(aval.sharding) else aval.home


def _grad_kind(grad: GradInfo | None) -> Any:
    return None if grad is None else (grad.heads, grad.head_grads, grad.targets, grad.region, grad.retain)


def _leaf_key(graph: Graph, leaf: int) -> Any:
    aval = aval_of_leaf(graph.leaves[leaf])
    return aval.taped if graph.sources[leaf] is not None else aval


def aval_of_leaf(leaf: Leaf) -> Any:
    """Return the aval of a leaf, which may be a NumPy array."""
    return intern_aval(leaf.shape, leaf.dtype) if isinstance(leaf, np.ndarray) else aval_of(leaf)


def parted(graph: Graph) -> list[Replica] | None:
    """Return the replicas of a graph; None if there are fewer than two, or if it cannot be split."""
    path = graph.path()
    starts = [n.size - len(n.outs) for n in path]
    home_of = _home_by_name if any(type(n.op) is Together for n in path) else _home_on_jax
    homes = _homes(graph, path, home_of)
    replicas: dict[Any, Replica] = {}
    try:
        for node, start, home in zip(path, starts, homes, strict=True):
            if node.grad is not None and not node.outs:
                continue  # the node that ends a backward computes nothing
            if type(node.op) is not Joint:
                replica = replicas.get(home) or replicas.setdefault(home, Replica(home))
                op = node.op.part(AXIS) if type(node.op) is Together else node.op
                replica.add(node, start, op, node.parts, range(len(node.outs)), graph)
                continue
            op, n = node.op, len(node.parts)
            common = list(node.parts[n - op.shared :]) if op.shared else []
            each = len(node.outs) // op.replicas
            of_home: dict[Any, list[int]] = {}
            for k in range(op.replicas):
                of_home.setdefault(home_of(node.outs[k * each]), []).append(k)
            for home, numbers in of_home.items():
                replica = replicas.get(home) or replicas.setdefault(home, Replica(home))
                parts = [node.parts[i] for k in numbers for i in op.replica(k, n)] + common
                outs = [k * each + i for k in numbers for i in range(each)]
                replica.add(node, start, op.part(len(numbers), AXIS), parts, outs, graph)
    except _Crossed:
        return None
    return list(replicas.values()) if len(replicas) > 1 else None


def _homes(graph: Graph, path: list[Node], home_of: Callable[[Aval], Any]) -> list[Any]:
    """Return the device of each node.

    A node on the default device that a single other device uses belongs to that one.
    """
    owners = graph.owners
    homes: list[Any] = []
    for node in path:
        if node.outs:
            homes.append(home_of(node.outs[0]))
        else:
            homes.append(homes[owners[node.parts[0]][0].depth - 1] if node.parts else None)
    takers: list[set[Any]] = [set() for _ in path]
    for i in range(len(path) - 1, -1, -1):
        node = path[i]
        if homes[i] is None and len(takers[i]) == 1 and type(node.op) is not Joint:
            (homes[i],) = takers[i]
        for part in node.parts if type(node.op) is not Joint else ():
            if isinstance(part, int) and part >= 0:
                takers[owners[part][0].depth - 1].add(homes[i])
        if type(node.op) is Joint:
            op, n = node.op, len(node.parts)
            each = len(node.outs) // op.replicas
            for k in range(op.replicas):
                for j in op.replica(k, n):
                    if isinstance(part := node.parts[j], int) and part >= 0:
                        takers[owners[part][0].depth - 1].add(home_of(node.outs[k * each]))
    return homes


def alike(replicas: list[Replica], graph: Graph) -> bool:
    """Return whether replicas are the same program on different arrays."""
    first = replicas[0]
    kind, leaves = first.kind, _leaf_kinds(first, graph)
    return all(replica.kind == kind and _leaf_kinds(replica, graph) == leaves for replica in replicas[1:])


def _leaf_kinds(replica: Replica, graph: Graph) -> list[Any]:
    return [aval_of_leaf(graph.leaves[i]).struct for i in replica.leaves]


def fall_apart(graph: Graph, replicas: list[Replica], pendings: list[Any]) -> list[Any]:
    """Give each replica its own graph, with the values that somebody holds; return these graphs."""
    graphs: list[Any] = []
    for replica in replicas:
        own = type(graph)()
        own.cursor = replica.nodes[-1]
        own.leaves = [graph.leaves[i] for i in replica.leaves]
        own.sources = [graph.sources[i] for i in replica.leaves]
        own.floats = [graph.floats[i] for i in replica.floats]
        own.ints = [graph.ints[i] for i in replica.ints]
        own.recycled = {replica.slots[s]: buffer for s, buffer in graph.recycled.items() if s in replica.slots}
        own.marks = {replica.slots[s]: marks for s, marks in graph.marks.items() if s in replica.slots}
        own.journal = list(graph.journal)  # each restores the handles that refer to its own values
        graphs.append(own)
    homes = {slot: k for k, replica in enumerate(replicas) for slot in replica.slots}
    required = {id(pending): message for pending, message in graph.required}
    for pending in pendings:
        k = homes[pending.slot]
        pending.graph, pending.slot = graphs[k], replicas[k].slots[pending.slot]
        graphs[k].refs.append(ref(pending))
        if id(pending) in required:
            graphs[k].required.append((pending, required[id(pending)]))
    graph.required, graph.marks, graph.journal = [], {}, []
    graph.closed = True
    return graphs
