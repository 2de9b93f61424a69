"""Cost of recording one operator: a chain of 500, over and over, without computing it."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable
from typing import Any

import gluonx as mx
from benchmarks.harness import quartiles
from gluonx import autograd, npx

__all__ = ["CHAINS", "measure"]

CHAINS: dict[str, Callable[[Any, Any], Any]] = {
    "y + x": lambda y, x: y + x,
    "y * 0.5": lambda y, x: y * 0.5,
    "npx.relu(y)": lambda y, x: npx.relu(y),
    "npx.fully_connected(y, w)": lambda y, x: npx.fully_connected(y, x, num_hidden=4, no_bias=True),
}


def measure(name: str, length: int = 500, repeats: int = 101) -> tuple[float, float, float]:
    """Seconds an operator: lower quartile, median, upper quartile."""
    function = CHAINS[name]
    x = mx.np.ones((4, 4))
    x.attach_grad()
    times = []
    gc.collect()
    gc.disable()
    try:
        for _ in range(repeats + 3):
            y = x
            with autograd.record():
                start = time.perf_counter()
                for _ in range(length):
                    y = function(y, x)
                times.append((time.perf_counter() - start) / length)
            # Nobody holds a value of this graph any more, so ending it computes nothing.
            del y
            npx.waitall()
    finally:
        gc.enable()
    return quartiles(times[3:])
