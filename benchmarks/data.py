"""Images a second of the loaders: gluonx's, MXNet 2.0's, and PyTorch's with OpenCV, which its users write by hand.

``python -m benchmarks.data`` (``make bench-data``) prints a table. All sides read the same photographs' worth of JPEGs
(500 x 375, made here by a script) from one record file: decode, random crop to 224, random flip, bring to float32 and
normalize, batches of 64 with the channels first. All use two processes, or two threads where they have no processes. A
side runs in a process of its own, and all take turns, an epoch at a time.

Ratios are the rate of gluonx's DataLoader over the other's, in rounds, by the clock and by the time of all processors:
above 1 gluonx is faster. ``--train`` tells instead what part of its time a ResNet-18 waits for data.
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
    ("torch", "DataLoader, OpenCV"),
    ("torch", "DataLoader, torchvision"),
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
        self.cpu_rates: list[float] = []
        command = [str(python), "-m", "benchmarks.data_sides", framework]
        self.worker = Worker(framework, command, environment={"PYTHONPATH": str(ROOT), "JAX_PLATFORMS": "cpu"})
        self.worker.order(do="open", kind=kind, path=str(path), batch=BATCH)
        self.epoch()  # starts workers, and is not counted

    def epoch(self) -> tuple[float, float]:
        """Read all batches once; returns images a second, and a second of a processor."""
        seconds, spent, images = self.worker.order(do="epoch")
        return images / seconds, images / spent


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
            rate, cpu_rate = loader.epoch()
            loader.rates.append(rate)
            loader.cpu_rates.append(cpu_rate)
    for loader in loaders:
        loader.worker.close()
    return loaders


def table(loaders: list[Loader]) -> str:
    """Rates and ratios to the first loader, as Markdown."""
    base = loaders[0]
    lines = [
        f"| loader | images/s (quartiles) | {base.framework} {base.kind} over it | by processor time |",
        "| --- | --- | --- | --- |",
    ]
    for one in loaders:
        low, middle, high = quartiles(one.rates)
        ratios = "" if one is base else over(base.rates, one.rates)
        cpu_ratios = "" if one is base else over(base.cpu_rates, one.cpu_rates)
        lines.append(
            f"| {one.framework} {one.kind} | {middle:.0f} ({low:.0f} to {high:.0f}) | {ratios} | {cpu_ratios} |"
        )
    return "\n".join(lines)


def over(mine: list[float], others: list[float]) -> str:
    """Ratios of rounds, with quartiles."""
    low, middle, high = quartiles([a / b for a, b in zip(mine, others, strict=True)])
    return f"{middle:.2f} ({low:.2f} to {high:.2f})"


def waiting(path: pathlib.Path, python: pathlib.Path, batch: int, steps: int) -> str:
    """Return what part of its time a ResNet-18 waits for data, as Markdown."""
    lines = ["| ResNet-18 trained on | steps | seconds a step | waits for data |", "| --- | --- | --- | --- |"]
    for kind in ("DataLoader", "ImageRecordIter"):
        worker = Worker(OURS, [str(python), "-m", "benchmarks.data_sides", OURS])
        whole, waited = worker.order(do="train", kind=kind, path=str(path), batch=batch, steps=steps)
        worker.close()
        lines.append(f"| {kind} | {steps} of {batch} | {whole / steps:.2f} | {100 * waited / whole:.2f} % |")
    return "\n".join(lines)


def main(argv: list[str] | None = None) -> None:
    """Run the benchmark and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--images", type=int, default=1024)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--mxnet", type=pathlib.Path, default=ROOT / ".venv-mxnet" / "bin" / "python")
    parser.add_argument("--torch", type=pathlib.Path, default=ROOT / ".venv-torch" / "bin" / "python")
    parser.add_argument("--train", type=int, metavar="STEPS", help="train a ResNet-18 for so many steps instead")
    parser.add_argument("--batch", type=int, default=16, help="images of a step of that training")
    args = parser.parse_args(argv)
    pythons = {OURS: pathlib.Path(sys.executable), "mxnet": args.mxnet, "torch": args.torch}
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "photographs.rec"
        size = write_records(path, args.images)
        print(f"{args.images} JPEGs of {size / 1000:.0f} kB on average, {cores()} cores, {time.strftime('%Y-%m-%d')}")
        if args.train:
            print(waiting(path, pythons[OURS], args.batch, args.train))
            return
        print(table(measure(path, pythons, args.rounds)))


if __name__ == "__main__":
    main()
