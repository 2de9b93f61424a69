"""Long traces that repeat a few operators: an unrolled loop of hundreds of steps, hundreds of calls of one net.

XLA takes the longer for an operation the more of them a program has (2,400 operations of three layers that were called
300 times: half a minute). So the first runs of such a trace are interpreted, operator by operator, where each kind of
operator and of pull-back is compiled once. A trace that comes more often is compiled whole like any other, so that a
training loop ends up with one program a step, unless XLA would take minutes for it.

Where gradients still flow through what an interpreted run leaves, its tape is a :class:`Chain`: one segment for each
operator, as in naive mode, so that a later backward compiles its kinds and not its length, too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from gluonx.common.thresholds import threshold
from gluonx.deferred.contracts import InputRef
from gluonx.deferred.core import Aval, Node, aval_of
from gluonx.deferred.program import walk_back
from gluonx.deferred.segments import OpSegment, Out, attached
from gluonx.deferred.vectors import resolved
from gluonx.dtype import as_array

if TYPE_CHECKING:
    from gluonx.deferred.graph import Graph

__all__ = ["Chain", "behind", "is_repetitive", "limits", "runs_in_pieces", "runs_of", "values_of"]

# A trace of so many nodes, each kind of which comes `times` on average, is interpreted in its first `runs`, and always
# from `whole` nodes on: XLA takes minutes for such a program.
limits = {
    "nodes": threshold("pieces.nodes"),
    "times": threshold("pieces.times"),
    "runs": threshold("pieces.runs"),
    "each": threshold("pieces.each"),
    "whole": threshold("pieces.whole"),
}


def runs_in_pieces(graph: Graph) -> bool:
    """Return whether a trace that repeats few operators is too new, or too long, to be compiled whole."""
    node: Node = graph.cursor
    if node.depth < limits["nodes"] or (node.visits > runs_of(node.depth) and node.depth < limits["whole"]):
        return False
    return is_repetitive(graph, limits["times"])


def runs_of(operations: int) -> int:
    """Return how often a repetitive trace is interpreted before it is compiled whole: the more, the longer that takes.

    Both that and an interpreted run take a time for each operation, the first some hundred times that of the second.

    Examples
    --------
    >>> runs_of(150), runs_of(3900)
    (2, 39)
    """
    return max(limits["runs"], operations // limits["each"])


def is_repetitive(graph: Graph, times: int) -> bool:
    """Return whether each kind of operator comes so many `times` in the trace of `graph`, on average."""
    path: list[Node] = graph.path()
    most = len(path) // times
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
    """The tape of a trace that ran operator by operator; ``outs`` has the tape entries of the slots that users hold."""

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
