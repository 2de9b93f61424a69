"""``python -m benchmarks``: measure, print the table against its targets, write benchmarks/RESULTS.md."""

from __future__ import annotations

import argparse
import datetime
import os
import pathlib
import platform
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import jax
import numpy

from benchmarks import counts, memory, recording, startup, step
from benchmarks.harness import Result, offer_tuning, tune
from benchmarks.models import CASES

__all__ = ["main"]

RESULTS = pathlib.Path(__file__).with_name("RESULTS.md")

# Of the ratios to the step written by hand: hybridized, not hybridized.
STEP_TARGETS = {
    "mlp": (1.05, 1.08),
    "lenet": (1.05, 1.08),
    "resnet": (1.05, 1.08),
    "tiny": (2.0, 2.0),
    "deep": (1.5, 1.5),
}
STEP_NAMES = {
    "mlp": "MLP",
    "lenet": "LeNet",
    "resnet": "small ResNet",
    "tiny": "tiny MLP",
    "deep": "12 Dense layers of 32, Adam",
}


@dataclass
class Row:
    """One line of the table; `target` is what `value` may be at most."""

    measure: str
    target: str
    value: float
    shown: str
    limit: float

    @property
    def verdict(self) -> str:
        """Return 'yes' if the target is reached, else 'NO'."""
        return "yes" if self.value <= self.limit else "NO"


def row(measure: str, value: float, limit: float, shown: str, target: str | None = None) -> Row:
    """Return a row whose target is its limit."""
    return Row(measure, target or f"{limit:g}", value, shown, limit)


def spread(result: Result) -> str:
    """Ratio, its quartiles, its twin by processor time, and the time itself."""
    low, middle, high = result.ratio
    unit, factor = ("ms", 1e3) if result.wall[1] >= 1e-3 else ("µs", 1e6)
    return (
        f"{middle:.3f} ({low:.3f} to {high:.3f}; by processor time {result.cpu_ratio[1]:.3f}; "
        f"{result.wall[1] * factor:.4g} {unit})"
    )


def step_rows(names: list[str], rounds: int, block: float) -> Iterator[Row]:
    """Measure the ratios of section "time a step"."""
    for name in names:
        case = CASES[name]
        difference = step.agree(case)
        if not difference < 0.05:
            raise AssertionError(f"{name}: the two sides came {difference:.0%} apart in three steps")
        # A step of some milliseconds needs longer blocks to be worth timing.
        hand, hybrid, plain, lean = step.measure(case, rounds, block if name in ("tiny", "deep") else 4 * block)
        unit = f"{hand.wall[1] * 1e3:.3g} ms" if hand.wall[1] >= 1e-3 else f"{hand.wall[1] * 1e6:.3g} µs"
        title = f"{STEP_NAMES[name]} (by hand {unit})"
        limit, limit_plain = STEP_TARGETS[name]
        yield row(f"step, hybridized: {title}", hybrid.ratio[1], limit, spread(hybrid))
        yield row(f"step, not hybridized: {title}", plain.ratio[1], limit_plain, spread(plain))
        yield row(f"step, hybridized, keep_grads=False: {title}", lean.ratio[1], limit, spread(lean))


def count_rows() -> Iterator[Row]:
    """Dispatches, compilations and live memory."""
    for hybridize in (True, False):
        kind = "hybridized" if hybridize else "not hybridized"
        for extra in counts.LOOPS:
            value = counts.dispatches(extra, hybridize)
            yield row(f"programs dispatched a step, {kind}: {extra}", value, 1, f"{value:g}")
        full, xla, last = counts.compiled_after_second_step(hybridize)
        yield row(f"programs compiled after step two, {kind}: changing learning rate", full, 0, f"{full}")
        yield row(f"the same by jax's own count of compilations, {kind}", xla, 0, f"{xla}")
        yield row(f"the same, {kind}: last smaller batch, of three epochs", last, 1, f"{last}")
        growth = counts.live_memory_growth(hybridize)
        yield row(f"live memory after 1,000 steps over after 10, {kind}", growth, 1.01, f"{growth:.4f}")


def recording_rows() -> Iterator[Row]:
    """Measure the cost of recording an operator."""
    for name in recording.CHAINS:
        low, middle, high = (t * 1e6 for t in recording.measure(name))
        yield row(f"recording one operator: {name}", middle, 3, f"{middle:.2f} µs ({low:.2f} to {high:.2f})", "3 µs")


def memory_rows() -> Iterator[Row]:
    """Peak memory against the step written by hand."""
    hand, lean, kept = (memory.measure(side) for side in memory.SIDES)
    gradients = memory.GRADIENT_BYTES
    shown = f"{lean / hand:.3f} ({lean >> 20} MiB over {hand >> 20} MiB)"
    yield row("peak memory over by hand, keep_grads=False", lean / hand, 1.05, shown)
    shown = f"{kept / hand:.3f} ({kept >> 20} MiB)"
    yield row("the same by default: one copy of the gradients more", kept / (hand + gradients), 1.05, shown, "1.30")


def startup_rows() -> Iterator[Row]:
    """Measure the cost of importing."""
    for name, code in startup.IMPORTS.items():
        low, middle, high = startup.measure(code)
        yield row(f"{name}, over import jax", middle, 0.3, f"{middle:.3f} s ({low:.3f} to {high:.3f})", "0.3 s")


def header(tuning: str) -> str:
    """Return the machine and the versions of the measurement."""
    device = jax.local_devices()[0]
    return (
        f"Measured {datetime.date.today()} on {platform.machine()}, {os.cpu_count()} cores, {device.device_kind}; "
        f"Python {platform.python_version()}, jax {jax.__version__}, numpy {numpy.__version__}; {tuning}. "
        "Ratios are medians over interleaved rounds, in parentheses their quartiles. Load of the machine at the end: "
        f"{os.getloadavg()[0]:.1f}."
    )


def table(rows: list[Row]) -> str:
    """Return the rows as Markdown."""
    lines = ["| measure | at most | measured | reached |", "| --- | --- | --- | --- |"]
    lines += [f"| {r.measure} | {r.target} | {r.shown} | {r.verdict} |" for r in rows]
    return "\n".join(lines)


def parse(argv: list[str] | None) -> argparse.Namespace:
    """Return the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--only", nargs="+", choices=["step", "count", "recording", "memory", "startup"])
    parser.add_argument("--cases", nargs="+", choices=list(CASES), default=list(CASES), help="of the step rows")
    parser.add_argument("--rounds", type=int, default=21)
    parser.add_argument("--block", type=float, default=0.15, help="seconds of one block of calls")
    offer_tuning(parser)
    return parser.parse_args(argv)


def main(argv: list[str] | None = None) -> int:
    """Measure what is asked for; the status is 1 if a target is missed."""
    args = parse(argv)
    tuning = tune(args)
    sections: dict[str, Callable[[], Iterator[Row]]] = {
        "count": count_rows,
        "recording": recording_rows,
        "startup": startup_rows,
        "memory": memory_rows,
        "step": lambda: step_rows(args.cases, args.rounds, args.block),
    }
    rows = []
    for name, section in sections.items():
        if args.only is None or name in args.only:
            for item in section():
                rows.append(item)
                print(f"{item.verdict:<4}{item.measure}: {item.shown}, at most {item.target}", flush=True)
    text = f"# Results\n\n{header(tuning)}\n\n{table(rows)}\n"
    print(f"\n{text}")
    if args.only is None and args.cases == list(CASES):
        RESULTS.write_text(f"<!-- written by `make bench` -->\n{text}")
    return 0 if all(r.verdict == "yes" for r in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
