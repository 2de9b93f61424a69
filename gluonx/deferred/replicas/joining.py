"""Calling operators over several devices, and telling whether the devices have recorded the same."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

from jax.sharding import Sharding

from gluonx.deferred.operators.derived import DerivedOp, run_alone
from gluonx.deferred.record.engine import flush, invoke
from gluonx.deferred.record.graph import Graph, current_graph, record, settle
from gluonx.deferred.replicas.operators import Joint
from gluonx.deferred.replicas.parting import alike, parted
from gluonx.deferred.run import flushing
from gluonx.deferred.values.contracts import Args, Operand
from gluonx.deferred.values.core import Handle, current_state, new_handle
from gluonx.dtype import as_array, on_device

__all__ = ["even_out", "invoke_joint", "joint"]


def even_out(handles: Sequence[Handle]) -> None:
    """Compute what is pending before a joint operator on `handles`, unless all their devices have recorded the same."""
    graph = current_graph()
    if graph.cursor.parent is None or len({h.aval.home for h in handles if h.aval is not None}) < 2:
        return
    if not graph.cursor.spans or not is_even(graph):
        flush("devices that do not record the same")


def invoke_joint(op: Joint, args: Sequence[Handle]) -> Any:
    """Record a joint operator, even if nothing is pending: it becomes part of the coming step."""
    even_out(args)
    state = current_state()
    return invoke(op, args) if state.naive or state.trace is not None else record(op, args, False)


def joint(
    replicas: int, inner: DerivedOp | None = None, shared: int = 0, total: Callable[..., Any] | None = None
) -> Joint:
    """Return a joint operator. It can also run at once, on arrays of several devices."""

    def run(*given: Operand) -> tuple[Any, ...]:
        values = [None if v is None else as_array(v) for v in given]  # those of the first device may be NumPy's
        firsts: list[Any] = [values[op.replica(k, len(values))[0]] for k in range(replicas)]
        sharing = Counter([frozenset(f.sharding.device_set) for f in firsts])
        if len(set(sharing.values())) > 1:  # no program has equally many replicas on each device
            return _on_the_first(op, values, [f.sharding for f in firsts])
        graph = Graph()
        child = graph.step_to(op, [None if v is None else new_handle(v) for v in values], False)
        outs = graph.commit(graph.cursor, child)
        flushing.flush(graph, "an operator over several devices")
        return tuple([settle(out) for out in outs])

    op = Joint(replicas, inner, shared, total)
    op.eager = run
    return op


def _on_the_first(op: Joint, values: Args, shardings: Sequence[Sharding]) -> tuple[Any, ...]:
    """Run a joint operator on its first device, and copy the results to each replica's device."""
    home = next(iter(shardings[0].device_set))
    here = [v if v is None else on_device(v, home) for v in values]
    outs = run_alone(op.part(op.replicas, None), here)
    each = len(outs) // op.replicas
    return tuple([on_device(out, shardings[i // each]) for i, out in enumerate(outs)])


def is_even(graph: Graph) -> bool:
    """Return whether the pending work is the same on each device, and none of it stays on the tape."""
    node, alive = graph.cursor, tuple([p.slot for p in graph.pendings()])
    known = node.programs.get(("even", alive))
    if known is None:
        found = None if flushing.tape_slots_of(graph, alive) else parted(graph)
        known = node.programs["even", alive] = (found is not None and alike(found, graph),)
    return known[0]
