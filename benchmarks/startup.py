"""What ``import gluonx`` costs beyond ``import jax``, in fresh processes taken in turns."""

from __future__ import annotations

import subprocess
import sys
import time

from benchmarks.harness import quartiles

__all__ = ["measure"]


def seconds(code: str) -> float:
    """Wall time that `code` takes in a fresh interpreter, its start not counted."""
    script = f"import time; start = time.perf_counter()\n{code}\nprint(time.perf_counter() - start)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    return float(done.stdout)


def measure(repeats: int = 9) -> tuple[float, float, float]:
    """Seconds that ``import gluonx`` takes over ``import jax``: quartiles of the differences."""
    seconds("import gluonx")
    differences = []
    for _ in range(repeats):
        jax_alone = seconds("import jax")
        differences.append(seconds("import gluonx") - jax_alone)
        time.sleep(0.05)
    return quartiles(differences)
