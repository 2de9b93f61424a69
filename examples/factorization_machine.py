"""A factorization machine on LibSVM data: which user likes which item, from pairs that it has seen.

Run it by ``python -m examples.factorization_machine``. A script makes the file: each line is a label and the few
features that are not zero, a user, an item and the hour. ``LibSVMIter`` reads it as csr matrices. The weights have a
row for each feature, and a step touches the rows of the features in the batch alone (Rendle 2010,
https://www.csie.ntu.edu.tw/~b97053/paper/Rendle2010FM.pdf).
"""

from __future__ import annotations

import argparse
import pathlib
import sys
import tempfile
from typing import Any

import numpy as onp

import gluonx as mx
from examples.digits import progress
from gluonx import autograd, gluon, np, sparse

__all__ = ["FactorizationMachine", "accuracy", "main", "make_data", "train", "train_on"]

USERS, ITEMS, HOURS = 60, 40, 24
FEATURES = USERS + ITEMS + HOURS
BATCH = 100
LEARNING_RATE = 0.02


def make_data(folder: Any, rows: int, seed: int = 0) -> tuple[str, str]:
    """Write a file to train on and one that is held out; returns their names.

    Users and items have three hidden traits each, and a user likes an item where these agree.
    """
    rng = onp.random.default_rng(seed)
    traits = rng.normal(size=(USERS + ITEMS, 3))
    user, item, hour = rng.integers(0, USERS, rows), rng.integers(0, ITEMS, rows), rng.integers(0, HOURS, rows)
    likes = (traits[user] * traits[USERS + item]).sum(1) + 0.3 * rng.normal(size=rows) > 0
    lines = [
        f"{1 if like else -1} {u}:1 {USERS + i}:1 {USERS + ITEMS + h}:0.5\n"
        for like, u, i, h in zip(likes, user, item, hour, strict=True)
    ]
    cut = rows * 4 // 5 // BATCH * BATCH
    paths = [pathlib.Path(folder) / name for name in ("train.libsvm", "held.libsvm")]
    for path, part in zip(paths, (lines[:cut], lines[cut:]), strict=True):
        path.write_text("".join(part))
    return str(paths[0]), str(paths[1])


class FactorizationMachine(gluon.Block):
    """A score for each row of a csr matrix: a bias, a weight a feature, and products of the factors of pairs.

    The sum over all pairs is half of (the square of the sum - the sum of the squares), which costs what the features
    cost that are there.
    """

    def __init__(self, features: int, factors: int) -> None:
        super().__init__()
        rows = {"stype": "row_sparse", "grad_stype": "row_sparse"}
        self.bias = gluon.Parameter("bias", shape=(1,), init="zeros")
        self.weight = gluon.Parameter("weight", shape=(features, 1), init="zeros", **rows)
        self.factors = gluon.Parameter("factors", shape=(features, factors), init=mx.init.Normal(0.1), **rows)

    def forward(self, x: Any) -> Any:
        """Return a csr matrix (batch, features) to scores (batch,)."""
        weight, factors = (p.row_sparse_data(x.indices) for p in (self.weight, self.factors))
        squares = sparse.dot(sparse.square(x), sparse.square(factors))
        pairs = 0.5 * (sparse.dot(x, factors) ** 2 - squares).sum(axis=1)
        return self.bias.data() + sparse.dot(x, weight)[:, 0] + pairs


def read(path: str) -> Any:
    """Return the batches of a file, as csr matrices."""
    return mx.io.LibSVMIter(data_libsvm=path, data_shape=(FEATURES,), batch_size=BATCH)


def train(net: Any, path: str, epochs: int, seed: int = 0) -> list[float]:
    """Begin with new weights, and train; returns the mean loss of each epoch."""
    mx.random.seed(seed)
    net.initialize()
    return train_on(net, path, epochs)


def train_on(net: Any, path: str, epochs: int) -> list[float]:
    """Return the plain Gluon loop; returns the mean loss of each epoch."""
    measure = gluon.loss.SigmoidBinaryCrossEntropyLoss()
    trainer = gluon.Trainer(net.collect_params(), "adam", {"learning_rate": LEARNING_RATE, "lazy_update": True})
    batches = read(path)
    trail = []
    for _ in progress(range(epochs), unit="epoch"):
        losses = []
        batches.reset()
        for batch in batches:
            with autograd.record():
                loss = measure(net(batch.data[0]), batch.label[0] > 0)
            loss.backward()
            trainer.step(BATCH)
            losses.append(loss.mean())
        trail.append(float(np.stack(losses).mean()))
    return trail


def accuracy(net: Any, path: str) -> float:
    """Return the share of the rows of a file whose score has the right sign."""
    metric = gluon.metric.Accuracy()
    for batch in read(path):
        rows = BATCH - batch.pad
        metric.update(batch.label[0][:rows] > 0, net(batch.data[0])[:rows] > 0)
    return metric.get()[1]


def main(argv: list[str] | None = None) -> int:
    """Make the data, train, print the accuracy; returns the exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m examples.factorization_machine", description="A factorization machine on LibSVM data."
    )
    parser.add_argument("--epochs", type=int, default=15)
    parser.add_argument("--rows", type=int, default=10000)
    parser.add_argument("--factors", type=int, default=4)
    args = parser.parse_args(argv)
    with tempfile.TemporaryDirectory() as folder:
        path, held = make_data(folder, args.rows)
        net = FactorizationMachine(FEATURES, args.factors)
        trail = train(net, path, args.epochs)
        print(f"loss in the first and last epoch  {trail[0]:.3f}, {trail[-1]:.3f}")
        print(f"accuracy                          {accuracy(net, path):.3f}")
        print(f"accuracy on rows held out         {accuracy(net, held):.3f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
