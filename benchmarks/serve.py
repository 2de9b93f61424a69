"""Main loop of a side's own process: it answers the orders of `benchmarks.remote.Worker`, both as lines of JSON.

It runs on the older Pythons that MXNet needs, and imports no framework.
"""

from __future__ import annotations

import gc
import json
import os
import sys
import time
import traceback
from collections.abc import Callable
from typing import Any

__all__ = ["serve", "settle", "timed"]


def settle() -> None:
    """Wait until the threads of this process sleep; some spin for a while after their last work."""
    for _ in range(100):
        before = time.process_time()
        time.sleep(0.005)
        if time.process_time() - before < 1e-3:
            return


def timed(run: Callable[[], Any]) -> tuple[float, float]:
    """Wall and processor seconds of ``run()``, which returns when its results are there; garbage waits until then."""
    gc.collect()
    gc.disable()
    wall, cpu = time.perf_counter(), time.process_time()
    run()
    spent = time.perf_counter() - wall, time.process_time() - cpu
    gc.enable()
    settle()
    return spent


def serve(make: Callable[[], Any]) -> None:
    """Serve until the input ends: an order ``{"do": NAME, ...}`` calls that method of what ``make()`` gave.

    Answers go to the real standard output; what libraries print goes to the errors.
    """
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    server = None
    for line in sys.stdin:
        order = json.loads(line)
        try:
            if server is None:
                server = make()
            answer = {"value": getattr(server, order.pop("do"))(**order)}
        except ImportError as error:
            traceback.print_exc()
            answer = {"missing": str(error)}
        except Exception as error:
            traceback.print_exc()
            answer = {"error": f"{type(error).__name__}: {error}"[:500]}
        answers.write(json.dumps(answer) + "\n")
