"""One side in a process of its own: ``python -m benchmarks.zoo.worker SIDE`` answers orders, both as lines of JSON.

A job, which the side's module makes, has ``step()`` (one step; returns its loss), ``wait(loss)`` and ``number(loss)``.
"""

from __future__ import annotations

import ctypes
import gc
import importlib
import json
import os
import re
import sys
import time
import traceback
from typing import Any

import numpy as np

from benchmarks.zoo.cases import CASES, data

__all__ = ["main"]

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


def settle() -> None:
    """Wait until the threads of this process sleep; some spin for a while after their last work."""
    for _ in range(100):
        before = time.process_time()
        time.sleep(0.005)
        if time.process_time() - before < 1e-3:
            return


class Server:
    """What the orders do; each returns what is answered."""

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
        self.job = self.module.make(self.side, self.case, data(self.case), loaded, dtype)
        return {"versions": self.versions}

    def save(self, path: str) -> Any:
        """Write the first weights; returns the bytes of those that are trained."""
        return self.job.save(path)

    def losses(self, count: int) -> Any:
        """The first losses."""
        return [self.job.number(self.job.step()) for _ in range(count)]

    def mark(self) -> None:
        """Forget the memory's peak so far."""
        trim()
        if getattr(self.job, "peak", None) is None:
            try:
                with open("/proc/self/clear_refs", "w") as refs:
                    refs.write("5")
            except OSError:
                return

    def peak(self) -> int:
        """The peak of memory since `mark`: of the device if it counts, else of this process without its libraries."""
        counted = getattr(self.job, "peak", None)
        return counted() if counted is not None else max(0, resident("VmHWM") - self.before)

    def run(self, count: int) -> Any:
        """Do `count` steps; wall and processor seconds."""
        step, loss = self.job.step, None
        gc.collect()
        gc.disable()
        wall, cpu = time.perf_counter(), time.process_time()
        for _ in range(count):
            loss = step()
        self.job.wait(loss)
        spent = time.perf_counter() - wall, time.process_time() - cpu
        gc.enable()
        settle()
        return spent

    def machine(self, dtype: str) -> Any:
        """What the device can do; of the side that has JAX."""
        return importlib.import_module("benchmarks.zoo.roofline").machine(dtype)

    def ask(self, what: str) -> Any:
        """What only some sides know, such as the FLOPs of a step."""
        return getattr(self.module, what)(self.job)


def main() -> None:
    """Serve until the input ends. Answers go to the real standard output; what libraries print goes to the errors."""
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    server = None
    for line in sys.stdin:
        order = json.loads(line)
        try:
            if server is None:
                server = Server(sys.argv[1])
            answer = {"value": getattr(server, order.pop("do"))(**order)}
        except ImportError as error:
            traceback.print_exc()
            answer = {"missing": str(error)}
        except Exception as error:
            traceback.print_exc()
            answer = {"error": f"{type(error).__name__}: {error}"[:500]}
        answers.write(json.dumps(answer) + "\n")


if __name__ == "__main__":
    main()
