"""Cost of starting: ``import gluonx``, and the way from the start of a process to its first step or prediction.

Everything runs in fresh processes taken in turns. What is compared:

- ``import gluonx`` beyond ``import jax``. It alone loads little, for names come when they are asked for; so the front
  end that a training script names is measured as well.
- The time from the start of a process until it has read the result of its first training step, or first prediction:
  cold, with an empty compilation cache, and warm, in the second process with the same cache. The sides are gluonx
  hybridized and not (``startup_gluon.py``), the same written in JAX with optax, with JAX's own cache switched on
  (``startup_hand.py``), and MXNet 2.0 where ``--mxnet`` names a Python that has it.

Python's compiled bytecode is kept, as in any installation: what the processes write goes into a folder of this run,
and one process of each side runs before the first that counts.
"""

from __future__ import annotations

import argparse
import os
import pathlib
import resource
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field

from benchmarks.harness import offer_tuning, quartiles, tune

__all__ = ["IMPORTS", "MODELS", "TARGET", "Side", "first", "measure", "sides_of"]

HERE = pathlib.Path(__file__).parent
MODELS = ("mlp", "lenet", "resnet18", "bert")
DEEP = ("resnet50", "bert12")  # where compiling takes longest; measured when they are asked for
TARGET = 1.1
IMPORTS = {
    "import gluonx": "import gluonx",
    "import of all that a training script names": (
        "from gluonx import autograd, gluon, init, np, npx\n"
        "gluon.nn.Dense, gluon.loss.L2Loss, gluon.metric.Accuracy, gluon.data.DataLoader, gluon.Trainer"
    ),
}
Quartiles = tuple[float, float, float]


def environment(bytecode: str, **more: str) -> dict[str, str]:
    """Give the environment of a process that keeps its bytecode in a folder, and has no settings of a cache of ours."""
    gone = ("PYTHONDONTWRITEBYTECODE", "GLUONX_CACHE_DIR", "JAX_COMPILATION_CACHE_DIR")
    kept = {name: value for name, value in os.environ.items() if name not in gone}
    return {**kept, "PYTHONPATH": str(HERE.parent), "PYTHONPYCACHEPREFIX": bytecode, **more}


def seconds(code: str, bytecode: str) -> float:
    """Wall time that `code` takes in a fresh interpreter, its start not counted."""
    script = f"import time; start = time.perf_counter()\n{code}\nprint(time.perf_counter() - start)"
    command = [sys.executable, "-c", script]
    done = subprocess.run(command, env=environment(bytecode), capture_output=True, text=True, check=True)
    return float(done.stdout)


def measure(code: str, repeats: int = 9) -> Quartiles:
    """Seconds that `code` takes over ``import jax``: quartiles of the differences."""
    differences = []
    with tempfile.TemporaryDirectory() as bytecode:
        for each in ("import jax", code):
            seconds(each, bytecode)
        for _ in range(repeats):
            jax_alone = seconds("import jax", bytecode)
            differences.append(seconds(code, bytecode) - jax_alone)
            time.sleep(0.05)
    return quartiles(differences)


@dataclass
class Side:
    """One way to write it: the command before the model's name and what comes after it, and what was measured."""

    name: str
    command: tuple[str, ...]
    more: tuple[str, ...] = ()
    cold: list[float] = field(default_factory=list)
    warm: list[float] = field(default_factory=list)
    cold_cpu: list[float] = field(default_factory=list)
    warm_cpu: list[float] = field(default_factory=list)

    def once(self, model: str, what: str, cache: str, bytecode: str) -> tuple[float, float]:
        """Wall and processor time of one process, from its start until its result was read."""
        env = environment(bytecode, GLUONX_CACHE_DIR=cache)
        if self.name == "by hand":
            env["JAX_COMPILATION_CACHE_DIR"] = cache
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        start = time.perf_counter()
        command = [*self.command, model, what, *self.more]
        done = subprocess.run(command, env=env, capture_output=True, text=True, check=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        return float(done.stdout.split()[-1]) - start, spent

    def both(self, model: str, what: str, bytecode: str) -> None:
        """Run a process with an empty cache and one with what the first has left there."""
        with tempfile.TemporaryDirectory() as cache:
            wall, cpu = self.once(model, what, cache, bytecode)
            self.cold.append(wall)
            self.cold_cpu.append(cpu)
            wall, cpu = self.once(model, what, cache, bytecode)
            self.warm.append(wall)
            self.warm_cpu.append(cpu)


def sides_of(mxnet: str | None = None) -> list[Side]:
    """Return the side by hand, then those that are compared with it."""
    gluon = str(HERE / "startup_gluon.py")
    sides = [
        Side("by hand", (sys.executable, str(HERE / "startup_hand.py"))),
        Side("gluonx, hybridized", (sys.executable, gluon, "gluonx"), ("1",)),
        Side("gluonx, not hybridized", (sys.executable, gluon, "gluonx"), ("0",)),
    ]
    return [*sides, Side("MXNet 2.0, hybridized", (mxnet, gluon, "mxnet"), ("1",))] if mxnet else sides


def first(model: str, what: str, rounds: int = 7, mxnet: str | None = None) -> list[Side]:
    """Time all sides in turns.

    Parameters
    ----------
    model : str
        One of `MODELS` or `DEEP`.
    what : {'step', 'predict'}
    rounds : int
        How many pairs of a cold and a warm process each side has.
    mxnet : str, optional
        A Python that has MXNet 2.0.
    """
    sides = sides_of(mxnet)
    with tempfile.TemporaryDirectory() as bytecode:
        for side in sides:
            with tempfile.TemporaryDirectory() as cache:
                side.once("mlp", what, cache, bytecode)
        for index in range(rounds):
            for side in sides if index % 2 == 0 else reversed(sides):
                side.both(model, what, bytecode)
    return sides


def over(mine: list[float], theirs: list[float]) -> Quartiles:
    """Quartiles of the ratios within a round."""
    return quartiles([a / b for a, b in zip(mine, theirs, strict=True)])


def lines_of(model: str, what: str, sides: list[Side]) -> list[str]:
    """Rows of the table."""
    hand, lines = sides[0], []
    for side in sides:
        shown = [f"{quartiles(side.cold)[1]:.2f}", f"{quartiles(side.warm)[1]:.2f}"]
        for mine, theirs in ((side.cold, hand.cold), (side.warm, hand.warm), (side.warm_cpu, hand.warm_cpu)):
            low, middle, high = over(mine, theirs)
            shown.append("" if side is hand else f"{middle:.2f} ({low:.2f} to {high:.2f})")
        lines.append(f"| {model}, {what}, {side.name} | {' | '.join(shown)} |")
    return lines


HEAD = (
    "| from the start of the process | cold, s | warm, s | cold over by hand | warm over by hand "
    "| warm, by processor time |\n| --- | --- | --- | --- | --- | --- |"
)


def main(argv: list[str] | None = None) -> int:
    """Measure and print the table; the status is 1 if a warm start of gluonx is above `TARGET`."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.startup", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--models", nargs="+", choices=MODELS + DEEP, default=list(MODELS))
    parser.add_argument("--what", nargs="+", choices=["step", "predict"], default=["step", "predict"])
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--mxnet", help="a Python that has MXNet 2.0")
    offer_tuning(parser)
    args = parser.parse_args(argv)
    print(tune(args), flush=True)
    print(HEAD, flush=True)
    missed = False
    for model in args.models:
        for what in args.what:
            sides = first(model, what, args.rounds, args.mxnet)
            print("\n".join(lines_of(model, what, sides)), flush=True)
            missed |= any(
                over(side.warm, sides[0].warm)[1] > TARGET for side in sides if side.name.startswith("gluonx")
            )
    return int(missed)


if __name__ == "__main__":
    sys.exit(main())
