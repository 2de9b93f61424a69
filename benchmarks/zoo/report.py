"""The table of what was measured."""

from __future__ import annotations

import datetime
import os
import pathlib
import platform
from typing import Any

from benchmarks.harness import quartiles
from benchmarks.remote import cores
from benchmarks.zoo.cases import CASES, FRACTIONS, Case
from benchmarks.zoo.host import SIDES, Measured
from benchmarks.zoo.roofline import least

__all__ = ["missed", "rows", "text"]

BOUNDED = ("jax", "mxnet", "torch")
HEAD = (
    "| workload | side | ms a step | processor ms | peak MiB | hybridized gluonx over it | at most | reached "
    "| not hybridized over it | at most | reached | memory over it | at most | reached |"
)

ABOUT = """All sides of a workload start from the same weights, and their first three losses agree. They are timed in
turns, each in a process of its own on the same cores. Times are medians with quartiles; ratios are medians over the
rounds, in parentheses their quartiles and the ratio by processor time. Memory is the peak of the process in a steady
step, over what its libraries need. Dropout is off on all sides."""


LINES = """Lines of code that somebody writes for the model and its step, without comments and imports: of gluonx what
the example has, of the others what benchmarks/zoo/current_*.py have."""


def verdict(value: float, bound: float | None) -> str:
    """Return the bound and whether it is reached, as two cells."""
    return "| " if bound is None else f"{bound:g} | {'yes' if value <= bound else 'NO'}"


def time_cells(found: Measured, own: str, other: str, bound: float | None) -> str:
    """Ratio with quartiles and its twin by processor time; bound; reached."""
    ratios = found.ratios("wall", own, other)
    if own == other or not ratios:
        return " | | "
    low, middle, high = quartiles(ratios)
    _, cpu, _ = quartiles(found.ratios("cpu", own, other) or [float("nan")])
    return f"{middle:.3f} ({low:.3f} to {high:.3f}; cpu {cpu:.3f}) | {verdict(middle, bound)}"


def memory_cells(found: Measured, side: str, bound: float | None) -> str:
    """Of peaks; hand-written JAX keeps no gradients, gluonx does unless told otherwise, which is one copy more."""
    own, other = found.peaks.get("gluonx", 0), found.peaks.get(side, 0)
    if side.startswith("gluonx") or not own or not other:
        return " | | "
    if bound is None:
        return f"{own / other:.3f} | | "
    extra, name = (found.trained_bytes, f"{bound:g} and the gradients") if side == "jax" else (0, f"{bound:g}")
    return f"{own / other:.3f} | {name} | {'yes' if own <= bound * other + extra else 'NO'}"


def bounds_of(case: Case, side: str, dtype: str) -> tuple[float | None, float | None, float | None]:
    """Of time hybridized, time not hybridized, and memory."""
    if side not in BOUNDED or case.bounds is None:
        return None, None, None
    place = BOUNDED.index(side)
    eager = None if case.eager_bounds is None else case.eager_bounds[place]
    return case.bounds[place], eager, FRACTIONS[place]


def rows(case: Case, found: Measured, dtype: str, machine: dict[str, Any]) -> list[str]:
    """Return the lines of a workload: one of each side, and what the machine allows."""
    lines = []
    for side, name in SIDES.items():
        start = f"| {case.title} | {name} "
        if side in found.absent:
            lines.append(start + f"| {found.absent[side]} " + "| " * 11 + "|")
        elif found.times("wall", side):
            low, middle, high = (t * 1e3 for t in quartiles(found.times("wall", side)))
            cells = f"| {middle:.4g} ({low:.4g} to {high:.4g}) | {quartiles(found.times('cpu', side))[1] * 1e3:.4g} "
            hybrid, eager, memory = bounds_of(case, side, dtype)
            cells += f"| {found.peaks.get(side, 0) / 2**20:.0f} | {time_cells(found, 'gluonx', side, hybrid)} "
            cells += f"| {time_cells(found, 'gluonx-eager', side, eager)} | {memory_cells(found, side, memory)} |"
            lines.append(start + cells)
    if found.cost:
        seconds, bound = least(found.cost, machine)
        share = seconds / quartiles(found.times("wall", "gluonx"))[1]
        lines.append(
            f"| {case.title} | roofline | {seconds * 1e3:.4g} by {bound}: {found.cost['flops'] / 1e9:.4g} GFLOP, "
            f"{found.cost['bytes'] / 2**20:.4g} MiB; gluonx reaches {share:.0%} " + "| " * 11 + "|"
        )
    return lines


def lengths(found: dict[str, Measured]) -> list[str]:
    """Return the table of how many lines the models of today are, model and step, for those that were measured."""
    sides = ("gluonx", "flax", "torch")
    rows = [
        f"| {name} | {' | '.join(str(one.lines.get(side) or '') for side in sides)} |"
        for name, one in found.items()
        if any(one.lines.values())
    ]
    if not rows:
        return []
    return [
        LINES,
        "\n".join([f"| workload | {' | '.join(SIDES[s] for s in sides)} |", "| --- |" + " --- |" * 3, *rows]),
    ]


def missed(lines: list[str]) -> int:
    """Count the bounds that are not reached."""
    return sum(line.count("| NO") for line in lines)


def cpu_model() -> str:
    """Return the processor's name in /proc, or the machine's type."""
    try:
        lines = pathlib.Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.machine()
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()


def text(found: dict[str, Measured], dtype: str, machine: dict[str, Any], more: list[str]) -> str:
    """Return the whole page."""
    versions: dict[str, Any] = {}
    for one in found.values():
        versions |= one.versions
    named = ", ".join(f"{name} {version}" for name, version in versions.items() if name not in ("Python", "device"))
    lines = [line for name, one in found.items() for line in rows(CASES[name], one, dtype, machine)]
    place = f"{cpu_model()}, {cores()} of {os.cpu_count()} cores, device {versions.get('device', '?')}"
    parts = [
        "# Models",
        f"Measured {datetime.date.today()} on {place}, {dtype}; Python {platform.python_version()}, {named}. A "
        f"product of large matrices runs at {machine['flops'] / 1e9:.4g} GFLOP/s here, an addition of arrays at "
        f"{machine['rates'][0][1] / 1e9:.3g} GB/s in caches and {machine['rates'][-1][1] / 1e9:.3g} GB/s outside. "
        f"Load of the machine at the end: {os.getloadavg()[0]:.1f}.",
        ABOUT,
        "\n".join([HEAD, f"|{' --- |' * (HEAD.count('|') - 1)}", *lines, *more]),
        *lengths(found),
        f"{missed([*lines, *more])} bounds are not reached.",
    ]
    return "\n\n".join(parts) + "\n"
