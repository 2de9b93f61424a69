"""Long traces that repeat a few operators: an unrolled loop of hundreds of steps, hundreds of calls of one net.

The more operations a program has, the longer XLA takes for each of them (2,400 operations of three layers that were
called 300 times: half a minute). So the first runs of such a trace are interpreted, operator by operator, and each kind
of operator and of pull-back is compiled once. A trace that comes more often is compiled as a whole like any other, so
that a training loop ends up with one program a step, unless XLA would take minutes for it.

A shorter trace of small arrays is interpreted too, if NumPy runs it and knows nearly all its operators, each with its
pull-back, from other traces: then nothing has to be traced, and nothing linked. So a tree-LSTM, whose every sentence is
another graph, traces only the operators of its cell. A large array is worth a linked program
(:mod:`gluonx.deferred.operators.linking`): by itself the update of a ResNet-50 that is not hybridized, or a pull-back
of its convolutions, is more than NumPy may spend on one operator, and was compiled for one run.

If gradients still flow through what an interpreted run leaves, its tape is a :class:`Chain`: one segment for each
operator, as in naive mode, so that a later backward too compiles each kind once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from gluonx.common import policy
from gluonx.deferred.operators.segments import OpSegment, Out, attached
from gluonx.deferred.run import host
from gluonx.deferred.run.program import walk_back
from gluonx.deferred.values.contracts import InputRef
from gluonx.deferred.values.core import Aval, Node, aval_of
from gluonx.deferred.values.vectors import resolved
from gluonx.dtype import as_array

if TYPE_CHECKING:
    from gluonx.deferred.record.graph import Graph

__all__ = ["Chain", "behind", "runs_in_pieces", "values_of"]


def runs_in_pieces(graph: Graph) -> bool:
    """Return whether a trace that repeats few operators is too new, or too long, to be compiled as a whole."""
    node: Node = graph.cursor
    if node.depth < policy.limits["long"]:
        if not policy.limits["runs"] or not host.is_on() or node.visits > policy.limits["runs"]:
            return False
        return _is_small(graph) and _is_cheap(graph)
    return node.visits <= policy.runs_in_pieces(node.depth) and _is_repetitive(graph)


def _is_small(graph: Graph) -> bool:
    """Return whether NumPy may run a trace as often as programs, with no operator that is worth compiling.

    A pull-back reads or writes its arrays four times.
    """
    elements = sum([aval.size for node in graph.path() for aval in node.outs])
    elements += sum([leaf.size if isinstance(leaf, np.ndarray) else aval_of(leaf).size for leaf in graph.leaves])
    return policy.running(4 * elements, 1) * policy.limits["runs"] <= policy.compiling(1)


def _is_cheap(graph: Graph) -> bool:
    """Return whether NumPy knows nearly all operators of a trace from other traces, or from earlier nodes of it.

    An operator that it does not know is traced twice, forward and pull-back; a trace of the whole takes as long per
    operator.
    """
    path: list[Node] = graph.path()
    most = policy.new_kinds(len(path))
    avals = [aval for node in path for aval in node.outs]
    fresh = set[Any]()
    for node in path:
        if node.grad is not None:
            continue
        kind = (node.diff, node.outs, *[_kind(graph, avals, part) for part in node.parts])
        if (node.op, kind) not in fresh and not host.is_known(node.op, kind, node.diff, len(node.parts)):
            fresh.add((node.op, kind))
            if len(fresh) > most:
                return False
    for op, kind in fresh:
        host.note_known(op, kind)
    return True


def _is_repetitive(graph: Graph) -> bool:
    """Return whether the trace of `graph` has so few kinds of operators that it pays to compile each alone."""
    path: list[Node] = graph.path()
    most = policy.few_kinds(len(path))
    avals = [aval for node in path for aval in node.outs]
    kinds = set[Any]()
    for node in path:
        kinds.add((node.op, node.diff, node.outs, *[_kind(graph, avals, part) for part in node.parts]))
        if len(kinds) > most:
            return False
    return True


def _kind(graph: Graph, avals: list[Aval], part: InputRef) -> Any:
    if not isinstance(part, int):
        return part if part is None else part[0]
    if part >= 0:
        return avals[part]
    leaf = graph.leaves[-1 - part]
    return (leaf.shape, leaf.dtype) if isinstance(leaf, np.ndarray) else aval_of(leaf)


def behind(graph: Graph, slots: tuple[int, ...]) -> list[Node]:
    """Return the nodes that a gradient from `slots` passes, in the order in which they were recorded."""
    graph.path()
    return sorted((node for node, _ in walk_back(graph.owners, slots)), key=lambda node: node.depth)


def values_of(nodes: list[Node]) -> set[int]:
    """Return the slots that `nodes` take."""
    return {part for node in nodes for part in node.parts if isinstance(part, int) and part >= 0}


class Chain:
    """The tape of a trace that ran operator by operator.

    ``outs`` holds the tape entries of the slots that users hold.
    """

    def __init__(self, graph: Graph, nodes: list[Node], slots: tuple[int, ...], values: dict[int, Any]) -> None:
        outs: dict[int, Out] = {}

        def source(part: int) -> Any:
            return outs.get(part) if part >= 0 else graph.sources[-1 - part]

        def given(part: InputRef, moves: bool) -> Any:
            if part is None:
                return None
            if not isinstance(part, int):
                slot, n = part
                return np.asarray((graph.ints if slot.integral else graph.floats)[n], slot.dtype)
            value = values[part] if part >= 0 else as_array(resolved(graph.leaves[-1 - part]))
            return attached(value, source(part) if moves else None)

        for node in nodes:
            inputs = [given(part, i in node.diff) for i, part in enumerate(node.parts)]
            sources = [source(node.parts[i]) for i in node.diff]
            segment = OpSegment(node.op, inputs, node.diff, sources, list(node.outs))
            start = node.size - len(node.outs)
            outs.update([(start + i, segment.outs[i]) for i, live in enumerate(node.live) if live])
        self.outs = {slot: outs[slot] for slot in slots}
