"""Starts the sides of a workload, gives them the same weights, checks that they do the same, times them in turns."""

from __future__ import annotations

import pathlib
import sys
import tempfile
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from benchmarks.harness import WARM, in_turns
from benchmarks.remote import Missing, RemoteSide, Worker, one_thread_a_core
from benchmarks.zoo.cases import Case

__all__ = ["APART", "SIDES", "Measured", "Timing", "machine", "measure"]

SIDES = {
    "gluonx": "gluonx, hybridized",
    "gluonx-eager": "gluonx, not hybridized",
    "jax": "JAX with optax by hand",
    "flax": "Flax NNX",
    "torch": "PyTorch, eager",
    "mxnet": "MXNet 2.0, hybridized static",
}

APART = {"float32": 0.02, "bfloat16": 0.5}
"""Bound on the distance of the sides' losses, as a share of the change of the loss in the first steps."""


class Timing(NamedTuple):
    """Settings of the timing: rounds, seconds of a block of steps, and the dtype.

    Where a single step takes more than a block, there are half as many rounds, but three. `gpu` says whether JAX and
    PyTorch run on one: MXNet 2.0, as PyPI has it, does not, nor is it compared in bfloat16.
    """

    rounds: int = 7
    block: float = 0.3
    dtype: str = "float32"
    gpu: bool = False


@dataclass
class Measured:
    """Measurements of a workload; a side that did not run has a word in `absent`.

    `heats` are runs of sides that were there together: ``{"wall": {side: seconds a step of each round}, "cpu": ...}``.
    """

    heats: list[dict[str, dict[str, list[float]]]] = field(default_factory=list)
    peaks: dict[str, int] = field(default_factory=dict)
    losses: dict[str, list[float]] = field(default_factory=dict)
    versions: dict[str, str] = field(default_factory=dict)
    absent: dict[str, str] = field(default_factory=dict)
    trained_bytes: int = 0
    cost: dict[str, float] = field(default_factory=dict)
    lines: dict[str, int] = field(default_factory=dict)

    def times(self, clock: str, side: str) -> list[float]:
        """Seconds of a step in all rounds."""
        return [t for heat in self.heats for t in heat[clock].get(side, [])]

    def ratios(self, clock: str, own: str, other: str) -> list[float]:
        """One side's time over another's, of the rounds in which both were there."""
        both = [(heat[clock].get(own, []), heat[clock].get(other, [])) for heat in self.heats]
        return [mine / theirs for a, b in both for mine, theirs in zip(a, b) if theirs > 0]


def environment() -> dict[str, str]:
    """As many threads as cores, and device memory only as it is needed: the sides share a device."""
    cache = pathlib.Path(tempfile.gettempdir()) / "gluonx-benchmarks-xla"
    kept = {"JAX_COMPILATION_CACHE_DIR": str(cache), "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0.5"}
    root = str(pathlib.Path(__file__).parents[2])
    return {**one_thread_a_core(), **kept, "XLA_PYTHON_CLIENT_PREALLOCATE": "false", "PYTHONPATH": root}


def start(sides: list[str], pythons: dict[str, str], logs: pathlib.Path, found: Measured) -> dict[str, Worker]:
    """Return the processes of all sides that are there."""
    workers = {}
    for side in sides:
        command = [pythons.get(side, sys.executable), "-m", "benchmarks.zoo.worker", side]
        try:
            workers[side] = Worker(side, command, logs / f"{side}.log", environment())
        except Missing:
            found.absent[side] = "not installed"
    return workers


def together(workers: dict[str, Worker], found: Measured, **order: Any) -> dict[str, Any]:
    """Return the answers of all sides to an order. A side that fails is ended and noted."""
    for worker in workers.values():
        worker.send(**order)
    answers = {}
    for side in list(workers):
        try:
            answers[side] = workers[side].answer()
        except Missing:
            found.absent[side] = "not installed"
        except RuntimeError as error:
            found.absent[side] = "failed"
            print(error, file=sys.stderr)
        if side in found.absent:
            workers.pop(side).close()
    return answers


def apart(own: list[float], other: list[float], dtype: str) -> float:
    """Return the distance of two sides' first losses over their change; of predictions, over their size.

    Losses in bfloat16 have 8 bits, and sums on the way to them too: what they move by less than a sixteenth is noise.
    """
    moved = max(own) - min(own)
    if dtype != "float32":
        moved = max(moved, abs(own[0]) / 16)
    scale = moved if moved > 0 else abs(own[0])
    return max(abs(a - b) for a, b in zip(own, other, strict=True)) / scale


def check(found: Measured, dtype: str, workers: dict[str, Worker]) -> None:
    """End the sides that compute something else than gluonx: a time of other work says nothing."""
    for side in [s for s in workers if s != "gluonx"]:
        distance = apart(found.losses["gluonx"], found.losses[side], dtype)
        if not distance < APART[dtype]:
            found.absent[side] = f"other losses ({distance:.2g} of the way)"
            print(f"{side}: {found.losses[side]}, gluonx: {found.losses['gluonx']}", file=sys.stderr)
            workers.pop(side).close()


def heats(case: Case, sides: list[str]) -> list[list[str]]:
    """Return the sides that run together: all of them where memory suffices, gluonx in any case."""
    rest = [side for side in sides if side != "gluonx"]
    try:
        with open("/proc/meminfo") as info:
            free = next(int(line.split()[1]) * 1024 for line in info if line.startswith("MemAvailable"))
    except (OSError, StopIteration, ValueError):
        return [["gluonx", *rest]]
    room = max(2, int(free * 0.85 / (case.gigabytes * 2**30))) - 1
    return [["gluonx", *rest[i : i + room]] for i in range(0, max(1, len(rest)), room)]


def run_heat(
    case: Case, sides: list[str], pythons: dict[str, str], timing: Timing, folder: pathlib.Path, found: Measured
) -> None:
    """Start these sides, check that they do the same work, time them in turns; what is found goes to `found`."""
    workers = start(sides, pythons, folder, found)
    try:
        weights = str(folder / "weights.npz")
        maker, order = {"gluonx": workers["gluonx"]}, {"do": "make", "case": case.name, "dtype": timing.dtype}
        made = together(maker, found, **order, weights=None)
        found.trained_bytes = together(maker, found, do="save", path=weights).get("gluonx", 0)
        if not maker:
            raise RuntimeError(f"{case.name}: gluonx failed, see {folder}")
        rest = {side: worker for side, worker in workers.items() if side != "gluonx"}
        made |= together(rest, found, **order, weights=weights)
        for side, answer in made.items():
            found.versions |= answer["versions"]
            found.lines[side] = answer["lines"]
        workers = maker | rest
        found.losses |= together(workers, found, do="losses", count=3)
        check(found, timing.dtype, workers)
        together(workers, found, do="run", count=WARM)
        together(workers, found, do="mark")
        timed = [RemoteSide(side, lambda n, w=worker: w.order(do="run", count=n)) for side, worker in workers.items()]
        counts = [side.calls(timing.block) for side in timed]
        in_turns(timed, counts, max(3, timing.rounds // 2) if max(counts) == 1 else timing.rounds)
        found.heats.append({"wall": {s.name: s.wall for s in timed}, "cpu": {s.name: s.cpu for s in timed}})
        found.peaks |= together(workers, found, do="peak")
        if "jax" in workers:
            found.cost = workers["jax"].order(do="ask", what="cost")
    finally:
        for worker in workers.values():
            worker.close()


def measure(case: Case, sides: list[str], pythons: dict[str, str], timing: Timing, folder: pathlib.Path) -> Measured:
    """Measure a workload.

    Parameters
    ----------
    case : Case
    sides : list of str
        Of `SIDES`. "gluonx" is always among them: it makes the weights, and ratios are over it.
    pythons : dict
        The interpreters of sides that do not run in this one.
    timing : Timing
    folder : path
        For weights and logs.
    """
    found = Measured()
    sides = [side for side in sides if case.sides is None or side in case.sides]
    if "mxnet" in sides and (timing.gpu or timing.dtype != "float32"):
        found.absent["mxnet"] = "float32 on a CPU only"
    for heat in heats(case, [side for side in sides if side not in found.absent]):
        run_heat(case, heat, pythons, timing, folder, found)
    return found


def machine(dtype: str, folder: pathlib.Path) -> dict[str, Any]:
    """Measure the peak rates of the device in a process of its own: see `roofline.machine`."""
    worker = Worker(
        "jax", [sys.executable, "-m", "benchmarks.zoo.worker", "jax"], folder / "machine.log", environment()
    )
    try:
        return worker.order(do="machine", dtype=dtype)
    finally:
        worker.close()
