"""Runs of several real processes, by gluonx.parallel.launch."""

import os
import re
import subprocess
import sys

from lib import ROOT

__all__ = ["Run", "launched"]

_SCRIPT = ROOT / "tests" / "parallel" / "scripts" / "train.py"


class Run:
    """What a run printed, and how it ended."""

    def __init__(self, done):
        self.status, self.out, self.err = done.returncode, done.stdout, done.stderr

    def losses(self, rank=0):
        """By step: the loss as it was printed, every digit."""
        found = re.findall(rf"^\[{rank}\] step (\d+): (\S+)$", self.out, re.M)
        return {int(step): loss for step, loss in found}

    def weights(self, rank=0):
        """The mark of the weights, and the learning rate, at the end."""
        return re.search(rf"^\[{rank}\] weights (\w+), read \d+, rate (\S+)$", self.out, re.M).groups()

    def read(self, rank):
        """How many samples a process read."""
        return int(re.search(rf"^\[{rank}\] weights \w+, read (\d+)", self.out, re.M)[1])


def launched(count, *arguments, script=_SCRIPT, options=(), timeout=180):
    """Run a script in `count` processes and wait."""
    hidden = ("XLA_FLAGS", "GLUONX_CACHE_DIR", "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS")  # of the tests
    kept = {name: value for name, value in os.environ.items() if name not in hidden}
    command = [sys.executable, "-W", "ignore", "-m", "gluonx.parallel.launch", "-n", str(count), *options]
    done = subprocess.run(
        [*command, str(script), *arguments],
        env={**kept, "PYTHONPATH": str(ROOT), "PYTHONWARNINGS": "ignore"},
        capture_output=True,
        text=True,
        timeout=timeout,
    )
    return Run(done)
