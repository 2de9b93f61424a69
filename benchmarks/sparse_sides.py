"""The sides of `benchmarks.sparse`, each in a process of its own: ``python -m benchmarks.sparse_sides FRAMEWORK``."""

from __future__ import annotations

import resource
import sys

import numpy as onp

from benchmarks.serve import serve, timed

__all__ = ["Gluonx", "Torch"]

ROWS_A_BATCH = 1000


class _Server:
    """What the orders do."""

    def begin(self, rows: int, width: int) -> None:
        """Make a table of a size."""
        rng = onp.random.default_rng(0)
        self.data = [rng.integers(0, rows, ROWS_A_BATCH) for _ in range(16)]
        self.at = 0
        self.open(rows, width)

    def memory(self) -> int:
        """Return the most bytes that the process ever had."""
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024

    def steps(self, count: int) -> tuple[float, float]:
        """Take so many steps; wall and processor seconds."""
        return timed(lambda: self._go(count))

    def _go(self, count: int) -> None:
        for _ in range(count):
            self.step(self.at % len(self.data))
            self.at += 1
        self.wait()

    def open(self, rows: int, width: int) -> None:
        """Make the table, and what trains it."""
        raise NotImplementedError

    def step(self, batch: int) -> None:
        """Take a step on a batch."""
        raise NotImplementedError

    def wait(self) -> None:
        """Wait until the steps are done."""


class Gluonx(_Server):
    """An Embedding(sparse_grad=True), and Adam with lazy updates, as a Gluon user writes them."""

    def open(self, rows: int, width: int) -> None:  # noqa: D102 - as the base
        import gluonx as mx
        from gluonx import autograd, gluon

        self.mx, self.record = mx, autograd.record
        self.net = gluon.nn.Embedding(rows, width, sparse_grad=True, weight_initializer="zeros")
        self.net.initialize()
        self.trainer = gluon.Trainer(self.net.collect_params(), "adam", {"learning_rate": 1e-3, "lazy_update": True})
        self.batches = [mx.np.array(rows, dtype="int32") for rows in self.data]

    def step(self, batch: int) -> None:  # noqa: D102
        with self.record():
            loss = ((self.net(self.batches[batch]) - 1) ** 2).mean()
        loss.backward()
        self.trainer.step(1)

    def wait(self) -> None:  # noqa: D102
        self.net.weight.data().wait_to_read()


class Torch(_Server):
    """An nn.Embedding(sparse=True), and SparseAdam."""

    def open(self, rows: int, width: int) -> None:  # noqa: D102
        import torch  # pyright: ignore[reportMissingImports] - in its own environment

        self.net = torch.nn.Embedding(rows, width, sparse=True, _weight=torch.zeros(rows, width))
        self.optimizer = torch.optim.SparseAdam(self.net.parameters(), lr=1e-3)
        self.batches = [torch.from_numpy(rows) for rows in self.data]

    def step(self, batch: int) -> None:  # noqa: D102
        self.optimizer.zero_grad()
        loss = ((self.net(self.batches[batch]) - 1) ** 2).mean()
        loss.backward()
        self.optimizer.step()


if __name__ == "__main__":
    serve({"gluonx": Gluonx, "torch": Torch}[sys.argv[1]])
