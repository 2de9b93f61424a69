"""One side in a process of its own: ``python -m benchmarks.sweep.worker SIDE``, see `benchmarks.serve`."""

from __future__ import annotations

import importlib
import sys
from typing import Any

import numpy as np

from benchmarks.serve import serve, timed
from benchmarks.sweep.cases import CASES

__all__ = ["Server"]


class Server:
    """Orders of a side; each method returns the answer."""

    def __init__(self, side: str) -> None:
        self.module = importlib.import_module("benchmarks.sweep." + side)

    def versions(self) -> Any:
        """Of the framework."""
        return self.module.versions()

    def make(self, case: str, gradient: bool) -> Any:
        """Prepare a case and run it once: how large its result is, and its gradients; None if there is no operator."""
        self.job: Any = None  # its memory goes first
        try:
            self.job = self.module.make(CASES[case], gradient)
        except ImportError:
            return None
        self.job.step()
        self.job.wait()
        return [sum(float(np.abs(x.astype(np.float64)).sum()) for x in group) for group in self.job.results()]

    def run(self, count: int) -> Any:
        """Call it `count` times; wall and processor seconds."""
        job = self.job

        def steps() -> None:
            for _ in range(count):
                job.step()
            job.wait()

        return timed(steps)


if __name__ == "__main__":
    serve(lambda: Server(sys.argv[1]))
