"""Several devices, each with arrays of its own: what a loop over ``ctx=[gpu(0), gpu(1)]`` records.

All of it is recorded into one graph. When that is computed, its path is parted into *replicas*, one for each device:
the nodes whose values lie there, as a path of their own. Replicas meet only in :class:`~gluonx.deferred.derived.Joint`
operators, the sum of gradients and a Trainer's update, and in the middle of a forward in
:class:`~gluonx.deferred.derived.Together` ones, which need replicas that read alike.

- *Replicas that read alike* (the same operators on the same shapes, in one order) become ONE program: that of the first
  replica under ``jax.shard_map``, over a mesh of the devices. The arrays of the replicas are taken as shards of one,
  which moves nothing, and a sum over replicas is a ``psum``.
- Else the graph falls apart into one graph for each replica, and these are computed one after the other by the ordinary
  way. So it does where gradients will still flow through what is asked for, such as a loss that is printed before its
  backward: a segment of the tape belongs to one device.
- What cannot be parted (a value of one device that another took, without a copy) runs operator by operator.

Devices that share one of JAX's (see `gluonx.device`) need none of this: their work is one ordinary program, and a
replica is a device of JAX. But where a forward has `Together` operators, each device is a replica; where some of these
share a device of JAX, all are computed on the first one, under ``jax.vmap`` in place of ``jax.shard_map``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any
from weakref import ref

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import AxisType, Mesh, NamedSharding, PartitionSpec, Sharding

from gluonx.common.thresholds import threshold
from gluonx.deferred import program_cache
from gluonx.deferred.aliasing import held_arguments
from gluonx.deferred.contracts import InputRef, Leaf, Operator, ScalarRef
from gluonx.deferred.core import ROOT, Aval, Node, aval_of, counters, intern_aval
from gluonx.deferred.derived import Joint, Together
from gluonx.deferred.program import GradInfo, Plan
from gluonx.deferred.vectors import resolved
from gluonx.device import is_folded
from gluonx.dtype import on_device
from gluonx.sharding import multi_device_options

if TYPE_CHECKING:
    from gluonx.deferred.graph import Graph

__all__ = ["Replica", "Program", "alike", "fall_apart", "parted", "program"]

_AXIS = "replica"
_UNDER_WAY = threshold("fake_devices.under_way")


class _Crossed(Exception):
    """A value of one device goes into another's."""


class Replica:
    """The part of a graph on one device, as a path of its own in the trie.

    ``device`` is that of JAX. ``slots`` maps the graph's slots to the replica's; ``leaves``, ``floats`` and ``ints``
    say which of the graph's leaves and scalars the replica's are, in its order.
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
        """Append a node with these inputs and outputs, numbered as in the whole graph, which begin at `start`."""
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
                key.append(None if part is None else self.place(part))
            own.append(self.place(part))
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

    def place(self, part: InputRef) -> Any:
        """Return a place of the whole graph as one of the replica."""
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
        heads, given, targets = (tuple(map(self.place, s)) for s in (grad.heads, grad.head_grads, grad.targets))
        region = frozenset([self.depths[d] for d in grad.region])
        return GradInfo(heads, given, targets, region, grad.retain)

    @property
    def kind(self) -> Any:
        """Key of the replicas that read alike: equal where they do."""
        return [(n.op, n.taped, n.parts, n.diff, _grad_kind(n.grad), [o.struct for o in n.outs]) for n in self.nodes]


def _device_of(home: Any) -> Any:
    """Return the device of JAX that a home is: that itself, the sharding of a folded one, or None for the default."""
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
    aval = _aval(graph.leaves[leaf])
    return aval.taped if graph.sources[leaf] is not None and aval.inexact else aval


def _aval(leaf: Leaf) -> Any:
    return intern_aval(leaf.shape, leaf.dtype) if isinstance(leaf, np.ndarray) else aval_of(leaf)


def parted(graph: Graph) -> list[Replica] | None:
    """Return the replicas of a graph; None if there are fewer than two, or they cannot be told apart."""
    path = graph.path()
    starts = [n.size - len(n.outs) for n in path]
    home_of = _home_by_name if any(type(n.op) is Together for n in path) else _home_on_jax
    homes = _homes(graph, path, home_of)
    replicas: dict[Any, Replica] = {}
    try:
        for node, start, home in zip(path, starts, homes, strict=True):
            if node.grad is not None and not node.outs:
                continue  # the end of a backward computes nothing
            if type(node.op) is not Joint:
                replica = replicas.get(home) or replicas.setdefault(home, Replica(home))
                op = node.op.part(_AXIS) if type(node.op) is Together else node.op
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
                replica.add(node, start, op.part(len(numbers), _AXIS), parts, outs, graph)
    except _Crossed:
        return None
    return list(replicas.values()) if len(replicas) > 1 else None


def _homes(graph: Graph, path: list[Node], home_of: Callable[[Aval], Any]) -> list[Any]:
    """Return the device of each node. What lies on the default one, and only another takes, goes with that."""
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
    return [_aval(graph.leaves[i]).struct for i in replica.leaves]


class Program:
    """One program for replicas that read alike, each on its own device; ``wanted`` are slots of the whole graph."""

    def __init__(self, graph: Graph, replicas: list[Replica], wanted: Sequence[int], donors: Sequence[int]) -> None:
        self.replicas = replicas
        self.node = last = replicas[0].nodes[-1]
        self.wide = any(replica.nodes[-1].wide for replica in replicas)
        self.where = {
            slot: (k, replica.slots[slot])
            for k, replica in enumerate(replicas)
            for slot in wanted
            if slot in replica.slots
        }
        places = {slot: graph.owners[slot][0].outs[graph.owners[slot][1]].sharding for slot in wanted}
        self.folded = {slot: place for slot, place in places.items() if is_folded(place)}
        self.slots = sorted({slot for _, slot in self.where.values()})
        self.plan = Plan(replicas[0].nodes, self.slots)
        self.donors = donors
        self.columns = [[replica.leaves[j] for replica in replicas] for j in range(last.n_leaves)]
        self.common = [len(set(column)) == 1 for column in self.columns]
        self.runs = 0
        self.nbytes = program_cache.PROGRAM + program_cache.OPERATION * len(replicas[0].nodes)
        self._prepare(graph)

    def _prepare(self, graph: Graph) -> None:
        """Make the function that `__call__` runs."""
        replicas, last, columns = self.replicas, self.node, self.columns
        self.mesh = Mesh(np.array([replica.device for replica in replicas]), (_AXIS,), axis_types=(AxisType.Auto,))
        given = set(self.donors)
        donated = [
            j for j, column in enumerate(columns) if given.issuperset(column) and len(set(column)) == len(column)
        ]
        apart, whole = NamedSharding(self.mesh, PartitionSpec(_AXIS)), NamedSharding(self.mesh, PartitionSpec())
        structs = [_aval(graph.leaves[column[0]]).struct for column in columns]
        # What has no axis to be put together along stands as whole, and each device has its own.
        self.places = [whole if c or not s.shape else apart for c, s in zip(self.common, structs, strict=True)]
        self.scalars = apart
        outs = [PartitionSpec(_AXIS) if self.plan.aval(s).shape else PartitionSpec() for s in self.slots]
        scalars = (last.n_floats > 0) + (last.n_ints > 0)
        run = jax.shard_map(
            self._run,
            mesh=self.mesh,
            in_specs=(*[p.spec for p in self.places], *[PartitionSpec(_AXIS)] * scalars),
            out_specs=tuple(outs),
            check_vma=False,
        )

        def gluonx_replicas(*args: jax.Array) -> Any:
            return run(*args)

        options = multi_device_options(replica.device for replica in replicas)
        self.on_fakes = options is not None
        self.call = jax.jit(gluonx_replicas, donate_argnums=tuple(donated), compiler_options=options)

    def _run(self, *args: jax.Array) -> tuple[Any, ...]:
        n, rest = self.node.n_leaves, list(args[self.node.n_leaves :])
        floats = rest.pop(0)[0] if self.node.n_floats else None
        ints = rest.pop(0)[0] if self.node.n_ints else None
        values = self.plan.run(list(args[:n]), floats, ints)
        return tuple([values[s] for s in self.slots])

    def __call__(self, graph: Graph) -> dict[int, Any]:
        """Values by slot of the whole graph."""
        arrays = list(map(resolved, graph.leaves))
        for i in held_arguments(arrays, graph.leaves, self.donors, range(len(arrays))):
            arrays[i] = graph.leaves[i] = jnp.copy(arrays[i])
            counters.copies += 1
        args = [
            on_device(arrays[column[0]], place) if common else self._together([arrays[i] for i in column], place)
            for column, common, place in zip(self.columns, self.common, self.places, strict=True)
        ]
        del arrays
        args += [on_device(table, self.scalars) for table in self._tables(graph)]
        counters.dispatches += 1
        outs = self.call(*args)
        self.runs += 1
        if self.on_fakes and self.runs % _UNDER_WAY == 0:
            jax.block_until_ready(outs)
        shards = [{s.device: s.data for s in out.addressable_shards} for out in outs]
        at = {slot: i for i, slot in enumerate(self.slots)}
        values = {slot: shards[at[own]][self.replicas[k].device] for slot, (k, own) in self.where.items()}
        for slot, place in self.folded.items():
            values[slot] = jax.device_put(values[slot], place)
        return values

    def _tables(self, graph: Graph) -> list[np.ndarray]:
        """Return the scalars of the replicas, a row each: floats and integers, where there are any."""
        found: list[np.ndarray] = []
        for numbers, of_graph, dtype in (("floats", graph.floats, np.float64), ("ints", graph.ints, np.int64)):
            if getattr(self.node, f"n_{numbers}"):
                table = np.array([[of_graph[i] for i in getattr(replica, numbers)] for replica in self.replicas], dtype)
                found.append(_fitting(table))
        return found

    def _together(self, arrays: list[Any], place: NamedSharding) -> Any:
        """Return the arrays of the replicas as shards of one."""
        arrays = [
            a if isinstance(a, jax.Array) and a.devices() == {replica.device} else on_device(a, replica.device)
            for a, replica in zip(arrays, self.replicas, strict=True)
        ]
        shape = tuple(arrays[0].shape)
        if shape:
            shape = (shape[0] * len(arrays), *shape[1:])
        return jax.make_array_from_single_device_arrays(shape, place, arrays)


class SharedProgram(Program):
    """One program for replicas that read alike and of which some share a device: the first one's, under ``jax.vmap``.

    The arrays of the replicas are stacked, which copies, so nothing is donated.
    """

    def _prepare(self, graph: Graph) -> None:
        count, slots = len(self.replicas), self.where.values()
        axes = [None if common else 0 for common in self.common]

        def gluonx_replicas(columns: list[list[jax.Array]], tables: list[jax.Array]) -> list[jax.Array]:
            leaves = [c[0] if common else jnp.stack(c) for c, common in zip(columns, self.common, strict=True)]
            rows = [table[:, None] for table in tables]
            run = jax.vmap(self._run, (*axes, *[0] * len(rows)), axis_name=_AXIS, axis_size=count)
            outs = dict(zip(self.slots, run(*leaves, *rows), strict=True))
            return [outs[own][k] for k, own in slots]

        self.call = jax.jit(gluonx_replicas)

    def __call__(self, graph: Graph) -> dict[int, Any]:
        """Values by slot of the whole graph."""
        here = self.replicas[0].device
        known = {i: on_device(resolved(graph.leaves[i]), here) for i in {i for column in self.columns for i in column}}
        columns = [
            [known[i] for i in column[: 1 if common else None]]
            for column, common in zip(self.columns, self.common, strict=True)
        ]
        counters.dispatches += 1
        outs = self.call(columns, self._tables(graph))
        self.runs += 1
        values = zip(self.where.items(), outs, strict=True)
        return {s: on_device(out, self.folded.get(s, self.replicas[k].device)) for (s, (k, _)), out in values}


def program(graph: Graph, replicas: list[Replica], wanted: Sequence[int], donors: Sequence[int]) -> Program:
    """Return the program of replicas that read alike."""
    kind = Program if len({replica.device for replica in replicas}) == len(replicas) else SharedProgram
    return kind(graph, replicas, wanted, donors)


def _fitting(table: np.ndarray) -> np.ndarray:
    """Scalars in the dtype in which an ordinary program gets them."""
    if table.dtype.kind == "f":
        return table.astype(np.float32)
    return table.astype(np.int32) if table.size == 0 or np.abs(table).max() < 2**31 else table


def fall_apart(graph: Graph, replicas: list[Replica], places: list[Any]) -> list[Any]:
    """Give each replica a graph of its own, with the values that somebody holds; return these graphs."""
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
        own.journal = list(graph.journal)  # each puts back what it finds its own places in
        graphs.append(own)
    homes = {slot: k for k, replica in enumerate(replicas) for slot in replica.slots}
    required = {id(place): message for place, message in graph.required}
    for place in places:
        k = homes[place.slot]
        place.graph, place.slot = graphs[k], replicas[k].slots[place.slot]
        graphs[k].refs.append(ref(place))
        if id(place) in required:
            graphs[k].required.append((place, required[id(place)]))
    graph.required, graph.marks, graph.journal = [], {}, []
    graph.closed = True
    return graphs
