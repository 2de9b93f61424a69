"""``python -m benchmarks.ops``: operators over shapes of real networks, against MXNet, PyTorch and plain JAX.

Each row is one operator on one set of shapes, forward, and forward with the gradients of its inputs. The sides are
gluonx's operator, the form that one would write in JAX, PyTorch (``--torch PYTHON``) and MXNet 2.0 (``--mxnet
PYTHON``), each in a process of its own; they are given the same arrays, must give results of the same size, and are
timed in turns. A **cliff** is a row where gluonx takes more than `TIMES` as long as the better of MXNet and PyTorch,
and more than `LEAST` longer. What this sweep found is told in `gluonx.ops.cpu.convolution` and `gluonx.ops.pool`.

``--only`` and ``--part`` take a part of it, and ``--keep`` names a folder in which the parts come together.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
import pathlib
import re
import sys
import tempfile
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from benchmarks.harness import in_turns, offer_tuning, quartiles, tune
from benchmarks.remote import ROOT, Missing, RemoteSide, Worker, cores, one_thread_a_core
from benchmarks.sweep.cases import CASES, Case

__all__ = ["LEAST", "SIDES", "TIMES", "Row", "cliffs", "differ", "main", "measure", "page", "table"]

SIDES = {"ours": "gluonx", "plain": "plain JAX", "torches": "PyTorch", "mxnets": "MXNet"}
RIVALS = ("torches", "mxnets")
TIMES, LEAST = 2.0, 0.2e-3
TOLERANCE = 0.01


@dataclasses.dataclass
class Row:
    """Measurements of a case: seconds of a call of each side in each round."""

    name: str
    gradient: bool
    wall: dict[str, list[float]] = dataclasses.field(default_factory=dict)
    cpu: dict[str, list[float]] = dataclasses.field(default_factory=dict)
    other: list[str] = dataclasses.field(default_factory=list)

    @property
    def title(self) -> str:
        """For the table."""
        return f"{self.name} | {'with gradients' if self.gradient else 'forward'}"

    def median(self, side: str) -> float:
        """Seconds of a call."""
        return quartiles(self.wall[side])[1]

    def ratio(self, side: str, clock: str = "wall") -> tuple[float, float, float]:
        """Quartiles of a side's time over gluonx's."""
        times = getattr(self, clock)
        return quartiles([b / a for a, b in zip(times["ours"], times[side], strict=True) if a > 0] or [float("nan")])


def differ(own: list[float], other: list[float]) -> bool:
    """Return whether two results, or their gradients, differ by their sizes."""
    return any(abs(a - b) > TOLERANCE * max(abs(a), abs(b)) for a, b in zip(own, other, strict=True))


def measure(case: Case, gradient: bool, workers: dict[str, Worker], rounds: int, block: float) -> Row:
    """Time all sides that have the operator, in turns; those whose result is another are named in `Row.other`.

    Parameters
    ----------
    case : Case
    gradient : bool
        Whether the gradients of the inputs are computed as well.
    workers : dict of Worker
        By the names in `SIDES`; "ours" must be there.
    rounds : int
        Half as many, but three, where a call takes longer than a block.
    block : float
        Seconds of a block of calls.
    """
    for worker in workers.values():
        worker.send(do="make", case=case.name, gradient=gradient)
    sizes, row = {}, Row(case.name, gradient)
    for side, worker in workers.items():
        try:
            sizes[side] = worker.answer()
        except RuntimeError as error:
            row.other.append(f"{SIDES[side]} failed")
            print(f"{case.name}: {error}", file=sys.stderr)
    for side in [s for s in sizes if sizes[s] and not case.random and differ(sizes["ours"], sizes[s])]:
        row.other.append(f"{SIDES[side]} computes something else")
        print(f"{case.name}: {SIDES[side]} gives {sizes[side]}, gluonx {sizes['ours']}", file=sys.stderr)
        sizes[side] = None
    sides = [RemoteSide(side, lambda n, w=workers[side]: w.order(do="run", count=n)) for side in sizes if sizes[side]]
    counts = [side.calls(block) for side in sides]
    in_turns(sides, counts, max(3, rounds // 2) if max(counts) == 1 else rounds)
    row.wall, row.cpu = ({side.name: getattr(side, clock) for side in sides} for clock in ("wall", "cpu"))
    return row


def cliffs(rows: Iterable[Row]) -> list[tuple[Row, str]]:
    """Return the rows where gluonx is far behind, each with the side that it is behind."""
    found = []
    for row in rows:
        rivals = [side for side in RIVALS if side in row.wall]
        best = min(rivals, key=row.median, default=None)
        if best and row.ratio(best)[1] < 1 / TIMES and row.median("ours") > row.median(best) + LEAST:
            found.append((row, best))
    return found


def table(rows: Sequence[Row], sides: Iterable[str]) -> str:
    """Return the rows as Markdown; a ratio above 1 says that gluonx is faster."""
    others = [side for side in sides if side != "ours"]
    lines = ["| operator | | gluonx, ms | " + " | ".join(f"{SIDES[s]} over gluonx" for s in others) + " |"]
    lines.append("| --- | --- | --- |" + " --- |" * len(others))
    for row in rows:
        ratios = [row.ratio(side) if side in row.wall else None for side in others]
        cells = ["" if r is None else f"{r[1]:.2f} ({r[0]:.2f} to {r[2]:.2f})" for r in ratios]
        lines.append(f"| {row.title} | {row.median('ours') * 1e3:.3g} | {' | '.join(cells)} |")
    return "\n".join(lines)


def list_of_cliffs(rows: Sequence[Row]) -> str:
    """Return the cliffs as Markdown, the longest first."""
    found = sorted(cliffs(rows), key=lambda pair: pair[0].median(pair[1]) - pair[0].median("ours"))
    lines = [
        f"- {row.title.replace(' |', ',')}: {row.median('ours') * 1e3:.3g} ms, {SIDES[best]} "
        f"{row.median(best) * 1e3:.3g} ms ({1 / row.ratio(best)[1]:.1f} times; by processor time "
        f"{1 / row.ratio(best, 'cpu')[1]:.1f})"
        for row, best in found
    ]
    return "\n".join(lines) or "None."


def page(
    rows: Sequence[Row], sides: Iterable[str], versions: dict[str, str], rounds: int, block: float, note: str = ""
) -> str:
    """Return the table, with what it was measured on above it, and the cliffs."""
    named = ", ".join(f"{name} {version}" for name, version in versions.items())
    behind = sum(bool([s for s in RIVALS if s in row.wall and row.ratio(s)[1] < 1]) for row in rows)
    head = (
        f"{cores()} cores, {named}; up to {rounds} rounds of blocks of {block:g} s. Ratios are medians over the "
        f"rounds, in parentheses quartiles. Load of the machine at the end: {os.getloadavg()[0]:.1f}. A cell is empty "
        "where a side has no such operator."
    )
    what = (
        f"Rows where gluonx takes more than {TIMES:g} times as long as the better of PyTorch and MXNet, and more than "
        f"{LEAST * 1e3:g} ms longer. PyTorch hands on the gradient of a sum or an addition without a copy, which no "
        f"program of XLA's can that ends there. gluonx is behind one of them at all in {behind} of {len(rows)} rows."
    )
    head = f"<!-- written by `make bench-ops` -->\n{head}"
    parts = [
        "# Operators",
        head,
        *[note] * bool(note),
        "## Cliffs",
        what,
        list_of_cliffs(rows),
    ]
    odd = [f"- {row.title.replace(' |', ',')}: {', '.join(row.other)}" for row in rows if row.other]
    if odd:
        parts += ["## Left out", "\n".join(odd)]
    return "\n\n".join([*parts, "## All", table(rows, sides)]) + "\n"


def parse(argv: list[str] | None) -> argparse.Namespace:
    """Return the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.ops", description=__doc__)
    parser.add_argument("--only", default="", help="rows whose name has this regular expression in it, in any case")
    parser.add_argument("--part", default="1/1", help="such as 2/3: the second third of these rows; 0/1 is none")
    parser.add_argument("--sides", nargs="+", choices=list(SIDES), default=list(SIDES))
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--block", type=float, default=0.03, help="seconds of one block of calls")
    parser.add_argument("--mxnet", type=pathlib.Path, default=ROOT / ".venv-mxnet/bin/python", help="its interpreter")
    parser.add_argument("--torch", type=pathlib.Path, default=ROOT / ".venv-torch/bin/python", help="its interpreter")
    parser.add_argument("--write", type=pathlib.Path, help="a file for the page")
    parser.add_argument("--note", default="", help="what the page is to say of how it was run")
    parser.add_argument("--keep", type=pathlib.Path, help="a folder of raw numbers: rows of earlier runs are told too")
    offer_tuning(parser)
    return parser.parse_args(argv)


def chosen(only: str, part: str) -> list[str]:
    """Return the names of the rows that are asked for."""
    names = [name for name in CASES if re.search(only, name, re.IGNORECASE)]
    index, parts = (int(n) for n in part.split("/"))
    share = -(-len(names) // parts)
    return names[share * (index - 1) : share * index] if index else []


def start(sides: Iterable[str], pythons: dict[str, str], log: pathlib.Path) -> tuple[dict[str, Worker], dict[str, str]]:
    """Return the processes of the sides that are there, and their versions."""
    workers, versions = {}, {}
    for side in sides:
        command = [pythons.get(side, sys.executable), "-m", "benchmarks.sweep.worker", side]
        environment = {**one_thread_a_core(), "PYTHONPATH": str(ROOT)}
        try:
            worker = Worker(SIDES[side], command, log / f"{side}.log", environment)
            versions |= worker.order(do="versions")
            workers[side] = worker
        except Missing as error:
            print(f"{error}; without this side", file=sys.stderr)
    return workers, versions


def run(
    names: list[str], workers: dict[str, Worker], rounds: int, block: float, keep: Callable[[str, list[Row]], None]
) -> None:
    """Measure these cases; tell of each row and keep each case as it is done."""
    for name in names:
        rows = []
        for gradient in (False, True)[: 1 + CASES[name].gradient]:
            row = measure(CASES[name], gradient, workers, rounds, block)
            rows.append(row)
            told = ", ".join(f"{SIDES[side]} {row.median(side) * 1e3:.3g}" for side in row.wall)
            print(f"{row.title.replace(' |', ',')}: {told} ms{'  CLIFF' if cliffs([row]) else ''}", flush=True)
        keep(name, rows)


class Kept:
    """The rows of this run and of earlier ones, in a file if a folder is given; a run that is cut off loses nothing."""

    def __init__(self, folder: pathlib.Path | None) -> None:
        self.file = folder / "rows.json" if folder else None
        raw: dict[str, Any] = {"versions": {}, "rows": {}}
        if self.file and self.file.exists():
            raw = json.loads(self.file.read_text())
        self.versions: dict[str, str] = raw["versions"]
        self.cases = {name: [Row(**row) for row in rows] for name, rows in raw["rows"].items()}

    def keep(self, name: str, rows: list[Row]) -> None:
        """Take the rows of a case, in place of earlier ones."""
        self.cases[name] = rows
        if self.file:
            raw = {name: [dataclasses.asdict(row) for row in rows] for name, rows in self.cases.items()}
            self.file.write_text(json.dumps({"versions": self.versions, "rows": raw}))

    def rows(self) -> list[Row]:
        """All of them, in the order of the cases."""
        return [row for name in CASES for row in self.cases.get(name, [])]


def main(argv: list[str] | None = None) -> int:
    """Measure what is asked for, and print and write the page."""
    args = parse(argv)
    print(tune(args), flush=True)
    sides = ["ours", *[side for side in args.sides if side != "ours"]]
    pythons = {"mxnets": str(args.mxnet), "torches": str(args.torch)}
    with tempfile.TemporaryDirectory(prefix="gluonx-ops-") as scratch:
        folder = args.keep or pathlib.Path(scratch)
        folder.mkdir(parents=True, exist_ok=True)
        kept = Kept(args.keep)
        names = chosen(args.only, args.part)
        workers, versions = start(sides, pythons, folder) if names else ({}, {})
        kept.versions |= versions
        try:
            run(names, workers, args.rounds, args.block, kept.keep)
        finally:
            for worker in workers.values():
                worker.close()
    text = page(kept.rows(), sides, kept.versions, args.rounds, args.block, args.note)
    if args.write:
        args.write.write_text(text)
    print(f"\n{text}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
