"""Images a second of the loaders: gluonx's, MXNet 2.0's, and PyTorch's with OpenCV, which its users write by hand.

``python -m benchmarks.data`` (``make bench-data``) prints a table. All sides read the same photographs' worth of JPEGs
(500 x 375, made here by a script) from one record file: decode, random crop to 224, random flip, bring to float32 and
normalize, batches of 64 with the channels first. All use two processes, or two threads where they have no processes. A
side runs in a process of its own, and all take turns, an epoch at a time.

Ratios are gluonx's best rate over the other's, in rounds; above 1 gluonx is faster.
"""

from __future__ import annotations

import argparse
import pathlib
import statistics
import sys
import tempfile
import time
from typing import Any

import numpy as np

from benchmarks.harness import quartiles
from benchmarks.remote import ROOT, Missing, Worker, cores

__all__ = ["main", "measure", "write_records"]

BATCH = 64
OURS = "gluonx"
SIDES = [
    ("gluonx", "DataLoader"),
    ("gluonx", "DataLoader, 2 threads"),
    ("gluonx", "ImageRecordIter"),
    ("mxnet", "DataLoader"),
    ("mxnet", "ImageRecordIter"),
    ("torch", "DataLoader"),
]


def photograph(rng: np.random.Generator, height: int = 375, width: int = 500) -> np.ndarray:
    """Return a picture whose JPEG has about the size of a photograph's: smooth, with edges and fine grain."""
    y, x = np.mgrid[:height, :width].astype(np.float32)
    waves = [np.sin(x / rng.uniform(20, 90) + y / rng.uniform(20, 90) + rng.uniform(0, 6)) for _ in range(3)]
    image = 128 + 90 * np.stack(waves, -1)
    for _ in range(12):
        top, left = rng.integers(0, height - 60), rng.integers(0, width - 60)
        image[top : top + rng.integers(20, 60), left : left + rng.integers(20, 60)] += rng.uniform(-70, 70, 3)
    return np.clip(image + rng.normal(0, 6, image.shape), 0, 255).astype(np.uint8)


def write_records(path: pathlib.Path, count: int) -> float:
    """Write `count` photographs as a record file with its index; returns the mean of their sizes in bytes."""
    from gluonx import recordio

    rng, sizes = np.random.default_rng(0), []
    with recordio.MXIndexedRecordIO(str(path.with_suffix(".idx")), str(path), "w") as file:
        for number in range(count):
            packed = recordio.pack_img((0, float(number % 10), number, 0), photograph(rng), 90)
            sizes.append(len(packed))
            file.write_idx(number, packed)
    return statistics.fmean(sizes)


class Loader:
    """A loader in a process of its own."""

    def __init__(self, python: pathlib.Path, framework: str, kind: str, path: pathlib.Path) -> None:
        self.framework, self.kind = framework, kind
        self.rates: list[float] = []
        command = [str(python), "-m", "benchmarks.data_sides", framework]
        self.worker = Worker(framework, command, environment={"PYTHONPATH": str(ROOT), "JAX_PLATFORMS": "cpu"})
        self.worker.order(do="open", kind=kind, path=str(path), batch=BATCH)
        self.epoch()  # starts workers, and is not counted

    def epoch(self) -> float:
        """Read all batches once; returns images a second."""
        seconds, images = self.worker.order(do="epoch")
        return images / seconds


def measure(path: pathlib.Path, pythons: dict[str, pathlib.Path], rounds: int, sides: Any = SIDES) -> list[Loader]:
    """Run epochs of all sides that are installed in turns."""
    loaders = []
    for framework, kind in sides:
        try:
            loaders.append(Loader(pythons[framework], framework, kind, path))
        except Missing as missing:
            print(f"left out: {framework} {kind}: {missing}")
    for number in range(rounds):
        for loader in loaders if number % 2 == 0 else reversed(loaders):
            loader.rates.append(loader.epoch())
    for loader in loaders:
        loader.worker.close()
    return loaders


def table(loaders: list[Loader]) -> str:
    """Rates and ratios, as Markdown."""
    best = max((one for one in loaders if one.framework == OURS), key=lambda one: statistics.median(one.rates))
    lines = [
        f"| loader | images/s (quartiles) | {best.framework} {best.kind} over it (quartiles) |",
        "| --- | --- | --- |",
    ]
    for one in loaders:
        low, middle, high = quartiles(one.rates)
        ratios = quartiles([mine / other for mine, other in zip(best.rates, one.rates, strict=True)])
        ratio = "" if one is best else f"{ratios[1]:.2f} ({ratios[0]:.2f} to {ratios[2]:.2f})"
        lines.append(f"| {one.framework} {one.kind} | {middle:.0f} ({low:.0f} to {high:.0f}) | {ratio} |")
    return "\n".join(lines)


def main(argv: list[str] | None = None) -> None:
    """Run the benchmark and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--images", type=int, default=1024)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--mxnet", type=pathlib.Path, default=ROOT / ".venv-mxnet" / "bin" / "python")
    parser.add_argument("--torch", type=pathlib.Path, default=ROOT / ".venv-torch" / "bin" / "python")
    args = parser.parse_args(argv)
    pythons = {OURS: pathlib.Path(sys.executable), "mxnet": args.mxnet, "torch": args.torch}
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "photographs.rec"
        size = write_records(path, args.images)
        print(f"{args.images} JPEGs of {size / 1000:.0f} kB on average, {cores()} cores, {time.strftime('%Y-%m-%d')}")
        print(table(measure(path, pythons, args.rounds)))


if __name__ == "__main__":
    main()
