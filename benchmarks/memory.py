"""Peak memory of a training step against the hand-written donated one, each in a process of its own.

On a device that counts its allocations the device's own peak is taken. XLA's CPU device counts nothing, but its buffers
are the process's memory, so there the peak of the resident set is taken (Linux lets a process reset that mark), less
what was resident before the model was made. The model is large and its batch small, so that parameters, optimizer
states and gradients are nearly all there is.

Run as ``python -m benchmarks.memory SIDE`` this module measures one side and prints the bytes.
"""

from __future__ import annotations

import gc
import os
import pathlib
import re
import statistics
import subprocess
import sys
from typing import Any

__all__ = ["GRADIENT_BYTES", "SIDES", "measure"]

WIDTH, DEPTH, BATCH = 2048, 10, 16
GRADIENT_BYTES = 4 * (DEPTH * (WIDTH + 1) * WIDTH + 10 * (WIDTH + 1))
SIDES = ("by hand", "keep_grads=False", "keep_grads=True")


def measure(side: str, repeats: int = 3) -> int:
    """Peak bytes of steps of `side` ("by hand", "keep_grads=False" or "keep_grads=True"): median of fresh processes."""
    # glibc raises the size from which it gives memory back to the system as a program frees large blocks; left to do
    # so, it keeps a few hundred MiB of what was freed, now more and now less. A fixed size makes it give back all.
    env = {**os.environ, "MALLOC_MMAP_THRESHOLD_": "65536"}
    peaks = []
    for _ in range(repeats):
        done = subprocess.run(
            [sys.executable, "-m", "benchmarks.memory", side], capture_output=True, text=True, check=False, env=env
        )
        if done.returncode:
            raise RuntimeError(f"measuring {side!r} failed:\n{done.stderr}")
        peaks.append(int(done.stdout.split()[-1]))
    return statistics.median_high(peaks)


def resident(mark: str) -> int:
    """``VmRSS`` or ``VmHWM`` of this process in bytes."""
    found = re.search(rf"{mark}:\s+(\d+) kB", pathlib.Path("/proc/self/status").read_text())
    assert found, f"/proc/self/status has no {mark}"
    return int(found[1]) * 1024


def case() -> Any:
    """Return a wide MLP with Adam: 42 million parameters."""
    from benchmarks.models import ADAM, MLP, Case, mlp_by_hand

    return Case("wide", lambda: MLP(WIDTH, DEPTH), mlp_by_hand(DEPTH), (BATCH, WIDTH), 10, **ADAM)


def run_one(side: str) -> int:
    """Return the measurement itself."""
    import jax

    from benchmarks.harness import warm
    from benchmarks.step import gluon_side, hand_side

    jax.block_until_ready(jax.numpy.ones(8) + 1)
    before = resident("VmRSS")
    wide = case()
    steps = hand_side(wide) if side == "by hand" else gluon_side(wide, True, keep_grads=side.endswith("True"))
    warm(steps.run)
    gc.collect()
    stats = jax.local_devices()[0].memory_stats()
    if stats:
        # The device's mark cannot be reset, but nothing before the steps needs more than they do.
        steps.run(3)
        return int(jax.local_devices()[0].memory_stats()["peak_bytes_in_use"])
    pathlib.Path("/proc/self/clear_refs").write_text("5")
    steps.run(3)
    return resident("VmHWM") - before


if __name__ == "__main__":
    print(run_one(sys.argv[1]))
