"""What ``import gluonx`` costs beyond ``import jax``, in fresh processes taken in turns.

``import gluonx`` alone loads little, for names come when they are asked for; so the front end that a training script
names is measured as well.
"""

from __future__ import annotations

import subprocess
import sys
import time

from benchmarks.harness import quartiles

__all__ = ["IMPORTS", "measure"]

IMPORTS = {
    "import gluonx": "import gluonx",
    "import of all that a training script names": (
        "from gluonx import autograd, gluon, init, np, npx\n"
        "gluon.nn.Dense, gluon.loss.L2Loss, gluon.metric.Accuracy, gluon.data.DataLoader, gluon.Trainer"
    ),
}


def seconds(code: str) -> float:
    """Wall time that `code` takes in a fresh interpreter, its start not counted."""
    script = f"import time; start = time.perf_counter()\n{code}\nprint(time.perf_counter() - start)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    return float(done.stdout)


def measure(code: str, repeats: int = 9) -> tuple[float, float, float]:
    """Seconds that `code` takes over ``import jax``: quartiles of the differences."""
    seconds(code)
    differences = []
    for _ in range(repeats):
        jax_alone = seconds("import jax")
        differences.append(seconds(code) - jax_alone)
        time.sleep(0.05)
    return quartiles(differences)
