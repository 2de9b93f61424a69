"""A graph network: which group a node is of, from its neighbours, of which a few tell theirs.

Run it by ``python -m examples.graph``. The graph is drawn: nodes of four groups, with more edges within than between
them, and features that alone tell little. A layer sends each node's state along the edges, and takes the mean of what
arrives ("Inductive Representation Learning on Large Graphs", https://arxiv.org/abs/1706.02216). Edges are an array, so
another graph of as many nodes and edges is the same program.
"""

from __future__ import annotations

import argparse
import itertools
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as onp

import gluonx as mx
from gluonx import autograd, gluon, np, npx
from gluonx.gluon import nn

__all__ = ["Graph", "GraphNet", "draw", "evaluate", "main", "train"]


@dataclass(frozen=True)
class Graph:
    """Features of nodes (nodes, size), edges (2, edges) from and to, groups (nodes,), and whose group is told."""

    features: Any
    edges: Any
    groups: Any
    told: Any


def draw(nodes: int, groups: int = 4, degree: int = 8, mixed: float = 0.2, seed: int = 0) -> Graph:
    """Draw a graph, of whose edges the share `mixed` leads anywhere; the group of one node in twenty is told."""
    rng = onp.random.default_rng(seed)
    group = rng.integers(0, groups, nodes)
    members = [onp.flatnonzero(group == g) for g in range(groups)]
    start = onp.repeat(onp.arange(nodes), degree)
    own = onp.array([rng.choice(members[group[i]]) for i in start])
    stop = onp.where(rng.random(len(start)) < mixed, rng.integers(0, nodes, len(start)), own)
    edges = onp.stack([onp.concatenate([start, stop]), onp.concatenate([stop, start])])
    features = 0.5 * onp.eye(8)[group] + rng.standard_normal((nodes, 8))
    told = (rng.random(nodes) < 0.05).astype("float32")
    arrays = features.astype("float32"), edges.astype("int32"), group.astype("int32"), told
    return Graph(*(np.array(array, dtype=array.dtype) for array in arrays))


class GraphLayer(nn.HybridBlock):
    """A node's new state, from its own and the mean of its neighbours'."""

    def __init__(self, units: int, inputs: int) -> None:
        super().__init__()
        self.own, self.others = nn.Dense(units, in_units=inputs), nn.Dense(units, use_bias=False, in_units=inputs)

    def forward(self, x: Any, edges: Any) -> Any:
        """Map states (nodes, inputs) to (nodes, units)."""
        start, stop = edges[0], edges[1:]
        count = npx.index_add(np.zeros((x.shape[0],)), stop, np.ones((edges.shape[1],)))
        arrived = npx.index_add(np.zeros_like(x), stop, np.take(x, start, axis=0))
        return self.own(x) + self.others(arrived / np.maximum(count, 1).expand_dims(1))


class GraphNet(nn.HybridBlock):
    """Layers with activations and dropout between, and scores of the groups at the end."""

    def __init__(self, inputs: int, groups: int, units: int = 32, layers: int = 2) -> None:
        super().__init__()
        sizes = [inputs, *[units] * (layers - 1), groups]
        self.layers = nn.HybridBlockList(GraphLayer(b, a) for a, b in itertools.pairwise(sizes))
        self.dropout = nn.Dropout(0.3)

    def forward(self, x: Any, edges: Any) -> Any:
        """Map features (nodes, inputs) to scores (nodes, groups)."""
        for i, layer in enumerate(self.layers):
            x = layer(x if i == 0 else self.dropout(npx.relu(x)), edges)
        return x


def train(net: Any, graph: Graph, steps: int, rate: float = 1e-2) -> list[float]:
    """Train on the nodes whose group is told; return the losses."""
    net.initialize(mx.init.Xavier())
    net.hybridize()
    trainer = gluon.Trainer(net.collect_params(), "adamw", {"learning_rate": rate, "wd": 0.05})
    loss_fn, trail = gluon.loss.SoftmaxCrossEntropyLoss(), []
    for _ in range(steps):
        with autograd.record():
            loss = loss_fn(net(graph.features, graph.edges), graph.groups, graph.told.expand_dims(1)).sum()
            loss = loss / graph.told.sum()
        loss.backward()
        trainer.step(1)
        trail.append(loss)
    return [float(loss) for loss in trail]


def evaluate(net: Any, graph: Graph) -> float:
    """Return the share of the other nodes whose group is found."""
    right = (net(graph.features, graph.edges).argmax(axis=1) == graph.groups) * (1 - graph.told)
    return float(right.sum() / (1 - graph.told).sum())


def main(argv: Sequence[str] | None = None) -> int:
    """Train and report; the status is 1 where too few groups are found."""
    parser = argparse.ArgumentParser(description="Groups of the nodes of a graph.")
    parser.add_argument("--nodes", type=int, default=2000)
    parser.add_argument("--layers", type=int, default=3)
    parser.add_argument("--steps", type=int, default=150)
    parser.add_argument("--bound", type=float, default=0.85)
    options = parser.parse_args(argv)
    mx.random.seed(0)
    graph = draw(options.nodes)
    net = GraphNet(8, 4, layers=options.layers)
    trail = train(net, graph, options.steps)
    found, other = evaluate(net, graph), evaluate(net, draw(options.nodes, seed=1))
    print(f"loss of the first step {trail[0]:.2f}, of the last {trail[-1]:.2f}")
    print(f"groups found: {found:.3f} (bound {options.bound:g}), of a graph never seen {other:.3f}")
    return 0 if found > options.bound else 1


if __name__ == "__main__":
    sys.exit(main())
