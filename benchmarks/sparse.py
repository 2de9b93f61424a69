"""Time of a step on a large embedding: gluonx with a gradient by rows, PyTorch with SparseAdam.

``python -m benchmarks.sparse`` (``make bench-sparse``) prints a table. An embedding of 10,000,000 x 64 is trained by
Adam on batches of 1,000 random rows; a table a thousand times smaller shows what the rows alone cost. Each side runs
in a process of its own, and they take turns (one after the other where memory holds one only). Ratios are gluonx's time
over the other's, by rounds; below 1 gluonx is faster.
"""

from __future__ import annotations

import argparse
import pathlib
import statistics
import sys
import time
from typing import Any

from benchmarks.harness import quartiles
from benchmarks.remote import ROOT, Worker, cores

__all__ = ["main", "measure"]

WIDTH = 64
TARGET = 1.5
TOGETHER = 8e9  # bytes of all sides; where they take more they run one after the other, not in turns


class Step:
    """A side in a process of its own."""

    def __init__(self, python: pathlib.Path, framework: str, rows: int, threads: int) -> None:
        self.name, self.seconds = f"{framework}, {threads} threads", list[float]()
        command = [str(python), "-m", "benchmarks.sparse_sides", framework]
        environment = {"PYTHONPATH": str(ROOT), "JAX_PLATFORMS": "cpu", "OMP_NUM_THREADS": str(threads)}
        self.memory = 0
        self.worker = Worker(framework, command, environment=environment)
        self.worker.order(do="begin", rows=rows, width=WIDTH)
        self.worker.order(do="steps", count=5)

    def time(self, count: int) -> None:
        """Time a block of steps."""
        self.seconds.append(self.worker.order(do="steps", count=count)[0] / count)

    def end(self) -> None:
        """Ask for the most bytes that the process had, and end it."""
        if not self.memory:
            self.memory = self.worker.order(do="memory")
            self.worker.close()


def measure(rows: int, pythons: dict[str, pathlib.Path], rounds: int, count: int) -> list[Step]:
    """Run blocks of all sides in turns: PyTorch with a thread for each core, and with one, for a busy machine."""
    kinds = [("gluonx", cores()), ("torch", cores()), ("torch", 1)]
    alone = rows * WIDTH * 12 * len(kinds) > TOGETHER  # tables and two averages of all sides
    sides: list[Step] = []
    for framework, threads in kinds:
        sides.append(Step(pythons[framework], framework, rows, threads))
        if alone:
            for _ in range(rounds):
                sides[-1].time(count)
            sides[-1].end()
    for number in range(0 if alone else rounds):
        for side in sides if number % 2 == 0 else reversed(sides):
            side.time(count)
    for side in sides:
        side.end()
    return sides


def lines(rows: int, sides: list[Step]) -> list[str]:
    """Print times, memory and ratio, as rows of a Markdown table."""
    ours, table = sides[0], rows * WIDTH * 4
    found = []
    for side in sides:
        low, middle, high = quartiles([a / b for a, b in zip(ours.seconds, side.seconds, strict=True)])
        ratio = "" if side is ours else f"{middle:.2f} ({low:.2f} to {high:.2f})"
        own = f"{statistics.median(side.seconds) * 1e3:.2f}"
        found.append(f"| {rows:,} | {side.name} | {own} | {side.memory / table:.2f} | {ratio} |")
    return found


def main(argv: list[str] | None = None) -> None:
    """Run the benchmark and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--rows", type=int, nargs="+", default=[10_000, 10_000_000])
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--count", type=int, default=50)
    parser.add_argument("--torch", type=pathlib.Path, default=ROOT / ".venv-torch" / "bin" / "python")
    args = parser.parse_args(argv)
    pythons: Any = {"gluonx": pathlib.Path(sys.executable), "torch": args.torch}
    print(f"rows x {WIDTH}, batches of 1,000 rows, Adam, {cores()} cores, {time.strftime('%Y-%m-%d')}")
    print(f"| rows | side | ms a step | memory over the table's | gluonx over it (at most {TARGET}) |")
    print("| --- | --- | --- | --- | --- |")
    for rows in args.rows:
        print("\n".join(lines(rows, measure(rows, pythons, args.rounds, args.count))), flush=True)


if __name__ == "__main__":
    main()
