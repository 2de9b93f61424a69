"""Programs of replicas that are alike."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import AxisType, Mesh, NamedSharding, PartitionSpec

from gluonx.common import policy
from gluonx.deferred.replicas.operators import Joint
from gluonx.deferred.replicas.parting import AXIS, Replica, alike, aval_of_leaf, parted
from gluonx.deferred.run.program import Plan
from gluonx.deferred.values import program_cache
from gluonx.deferred.values.aliasing import held_arguments
from gluonx.deferred.values.core import counters
from gluonx.deferred.values.vectors import resolved
from gluonx.device import is_folded
from gluonx.dtype import on_device
from gluonx.sharding import multi_device_options

if TYPE_CHECKING:
    from gluonx.deferred.record.graph import Graph

__all__ = ["Program", "way_of"]


def way_of(
    graph: Graph, alive: tuple[int, ...], finals: Sequence[int], donors: Sequence[int], tape_slots: tuple[int, ...]
) -> Program | list[Replica]:
    """Return how a graph over several devices is computed.

    The result is one program for all replicas, or the list of replicas if each is computed alone, or an empty list if
    neither is possible.
    """
    found = parted(graph)
    if found is None:
        return []
    if alike(found, graph) and not tape_slots:
        counters.programs_compiled += 1
        program = _program(graph, found, (*finals, *alive), donors)
        program_cache.add(program.nbytes, programs=1)
        return program
    return [] if any(type(n.op) is Joint for n in graph.path()) else found


class Program:
    """One program for replicas that are alike, each on its own device; ``wanted`` are slots of the whole graph."""

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
        shardings = {slot: graph.owners[slot][0].outs[graph.owners[slot][1]].sharding for slot in wanted}
        self.folded = {slot: sharding for slot, sharding in shardings.items() if is_folded(sharding)}
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
        self.mesh = Mesh(np.array([replica.device for replica in replicas]), (AXIS,), axis_types=(AxisType.Auto,))
        given = set(self.donors)
        donated = [
            j for j, column in enumerate(columns) if given.issuperset(column) and len(set(column)) == len(column)
        ]
        apart, whole = NamedSharding(self.mesh, PartitionSpec(AXIS)), NamedSharding(self.mesh, PartitionSpec())
        structs = [aval_of_leaf(graph.leaves[column[0]]).struct for column in columns]
        # An array without an axis to join along counts as replicated; each device has its own.
        self.shardings = [whole if c or not s.shape else apart for c, s in zip(self.common, structs, strict=True)]
        self.scalars = apart
        outs = [PartitionSpec(AXIS) if self.plan.aval(s).shape else PartitionSpec() for s in self.slots]
        scalars = (last.n_floats > 0) + (last.n_ints > 0)
        run = jax.shard_map(
            self._run,
            mesh=self.mesh,
            in_specs=(*[p.spec for p in self.shardings], *[PartitionSpec(AXIS)] * scalars),
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
        """Return values by slot of the whole graph."""
        arrays = list(map(resolved, graph.leaves))
        for i in held_arguments(arrays, graph.leaves, self.donors, range(len(arrays))):
            arrays[i] = graph.leaves[i] = jnp.copy(arrays[i])
            counters.copies += 1
        args = [
            on_device(arrays[column[0]], sharding) if common else self._together([arrays[i] for i in column], sharding)
            for column, common, sharding in zip(self.columns, self.common, self.shardings, strict=True)
        ]
        del arrays
        args += [on_device(table, self.scalars) for table in self._tables(graph)]
        counters.dispatches += 1
        outs = self.call(*args)
        self.runs += 1
        if self.on_fakes and self.runs % policy.limits["under_way"] == 0:
            jax.block_until_ready(outs)
        shards = [{s.device: s.data for s in out.addressable_shards} for out in outs]
        at = {slot: i for i, slot in enumerate(self.slots)}
        values = {slot: shards[at[own]][self.replicas[k].device] for slot, (k, own) in self.where.items()}
        for slot, sharding in self.folded.items():
            values[slot] = jax.device_put(values[slot], sharding)
        return values

    def _tables(self, graph: Graph) -> list[np.ndarray]:
        """Return the scalars of the replicas in rows: floats and integers, if there are any."""
        found: list[np.ndarray] = []
        for numbers, of_graph, dtype in (("floats", graph.floats, np.float64), ("ints", graph.ints, np.int64)):
            if getattr(self.node, f"n_{numbers}"):
                table = np.array([[of_graph[i] for i in getattr(replica, numbers)] for replica in self.replicas], dtype)
                found.append(_fitting(table))
        return found

    def _together(self, arrays: list[Any], sharding: NamedSharding) -> Any:
        """Return the arrays of the replicas as the shards of one array."""
        arrays = [
            a if isinstance(a, jax.Array) and a.devices() == {replica.device} else on_device(a, replica.device)
            for a, replica in zip(arrays, self.replicas, strict=True)
        ]
        shape = tuple(arrays[0].shape)
        if shape:
            shape = (shape[0] * len(arrays), *shape[1:])
        return jax.make_array_from_single_device_arrays(shape, sharding, arrays)


class SharedProgram(Program):
    """One program for replicas that are alike, some of which share a device: the first one's, under ``jax.vmap``.

    The arrays of the replicas are stacked, which copies them, so nothing is donated.
    """

    def _prepare(self, graph: Graph) -> None:
        count, slots = len(self.replicas), self.where.values()
        axes = [None if common else 0 for common in self.common]

        def gluonx_replicas(columns: list[list[jax.Array]], tables: list[jax.Array]) -> list[jax.Array]:
            leaves = [c[0] if common else jnp.stack(c) for c, common in zip(columns, self.common, strict=True)]
            rows = [table[:, None] for table in tables]
            run = jax.vmap(self._run, (*axes, *[0] * len(rows)), axis_name=AXIS, axis_size=count)
            outs = dict(zip(self.slots, run(*leaves, *rows), strict=True))
            return [outs[own][k] for k, own in slots]

        self.call = jax.jit(gluonx_replicas)

    def __call__(self, graph: Graph) -> dict[int, Any]:
        """Return values by slot of the whole graph."""
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


def _program(graph: Graph, replicas: list[Replica], wanted: Sequence[int], donors: Sequence[int]) -> Program:
    """Return the program of replicas that are alike."""
    kind = Program if len({replica.device for replica in replicas}) == len(replicas) else SharedProgram
    return kind(graph, replicas, wanted, donors)


def _fitting(table: np.ndarray) -> np.ndarray:
    """Return scalars in the dtype in which an ordinary program takes them."""
    if table.dtype.kind == "f":
        return table.astype(np.float32)
    return table.astype(np.int32) if table.size == 0 or np.abs(table).max() < 2**31 else table
