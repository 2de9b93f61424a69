"""One side in a process of its own: ``python -m benchmarks.zoo.worker SIDE`` answers orders, both as lines of JSON.

A job, which the side's module makes, has ``step()`` (one step; returns its loss), ``wait(loss)`` and ``number(loss)``.
Where the device counts its memory it also has ``peak()``, and ``mark()`` if that can begin anew.
"""

from __future__ import annotations

import ctypes
import gc
import importlib
import re
import sys
from typing import Any

import numpy as np

from benchmarks.serve import serve, timed
from benchmarks.zoo.cases import CASES, CURRENT, data
from benchmarks.zoo.lines import lines_of

__all__ = ["Server"]

MODULES = {
    "gluonx": "gluon",
    "gluonx-eager": "gluon",
    "mxnet": "gluon",
    "jax": "byhand",
    "flax": "nnx",
    "torch": "torches",
}


def resident(mark: str) -> int:
    """``VmRSS`` or ``VmHWM`` of this process in bytes; 0 where the system does not tell."""
    try:
        with open("/proc/self/status") as status:
            found = re.search(mark + r":\s+(\d+) kB", status.read())
    except OSError:
        return 0
    return int(found.group(1)) * 1024 if found else 0


def trim() -> None:
    """Give back what is free, so that the resident set is what is in use."""
    gc.collect()
    try:
        ctypes.CDLL(None).malloc_trim(0)
    except (OSError, AttributeError):
        return


class Server:
    """Orders of a side; each method returns the answer."""

    def __init__(self, side: str) -> None:
        self.side = side
        self.module = importlib.import_module("benchmarks.zoo." + MODULES[side])
        self.versions = self.module.versions(side)
        trim()
        self.before = resident("VmRSS")

    def make(self, case: str, weights: Any, dtype: str) -> Any:
        """Build the model and its step."""
        self.case = CASES[case]
        loaded = None
        if weights:
            with np.load(weights) as file:
                loaded = {name: file[name] for name in file.files}
        module = self.module
        if case in CURRENT:
            module = importlib.import_module("benchmarks.zoo.current_" + MODULES[self.side])
        self.job = module.make(self.side, self.case, data(self.case), loaded, dtype)
        return {"versions": self.versions, "lines": lines_of(module.WRITTEN[case]) if case in CURRENT else 0}

    def save(self, path: str) -> Any:
        """Write the first weights; returns the bytes of those that are trained."""
        return self.job.save(path)

    def losses(self, count: int) -> Any:
        """Return the first losses."""
        return [self.job.number(self.job.step()) for _ in range(count)]

    def mark(self) -> None:
        """Forget the memory's peak so far."""
        trim()
        if getattr(self.job, "mark", None) is not None:
            self.job.mark()
        elif getattr(self.job, "peak", None) is None:
            try:
                with open("/proc/self/clear_refs", "w") as refs:
                    refs.write("5")
            except OSError:
                return

    def peak(self) -> int:
        """Give the peak of memory since `mark`: of the device if it counts, else of this process without its libraries.

        JAX's count of a GPU cannot be set back: it is that since its process began.
        """
        counted = getattr(self.job, "peak", None)
        return counted() if counted is not None else max(0, resident("VmHWM") - self.before)

    def run(self, count: int) -> Any:
        """Do `count` steps; wall and processor seconds."""
        step = self.job.step

        def steps() -> None:
            loss = None
            for _ in range(count):
                loss = step()
            self.job.wait(loss)

        return timed(steps)

    def machine(self, dtype: str) -> Any:
        """Measure the rates of the device; only the side that has JAX can."""
        return importlib.import_module("benchmarks.zoo.roofline").machine(dtype)

    def ask(self, what: str) -> Any:
        """Call a function of the side's module that not all have, such as the FLOPs of a step."""
        return getattr(self.module, what)(self.job)


if __name__ == "__main__":
    serve(lambda: Server(sys.argv[1]))
