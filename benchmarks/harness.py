"""Timing of all benchmarks: sides in turns, medians with quartiles, wall and processor time side by side.

A shared machine changes its speed within seconds, so two sides are only ever compared within one round: a round times
a block of calls of each side, the order reversed every other round, and the ratio of the round is taken. What is
reported is the median of the ratios and their quartiles, not the ratio of two medians that saw different weather.
Processor time is what tells a busy machine from a slow program; a ratio by it stands beside the ratio by the wall.
"""

from __future__ import annotations

import argparse
import gc
import os
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

__all__ = ["Result", "Side", "compare", "in_turns", "offer_tuning", "quartiles", "tune", "warm"]


def offer_tuning(parser: argparse.ArgumentParser) -> None:
    """Let a command take ``--tune``; without it gluonx leaves the process as it is, and that is what is measured."""
    parser.add_argument("--tune", action="store_true", help="measure after gluonx.engine.tune(), in all processes")


def tune(args: argparse.Namespace) -> str:
    """Call ``gluonx.engine.tune()`` here and in every process to come, if asked to; says what is on."""
    if not args.tune:
        return "without gluonx.engine.tune()"
    from gluonx import engine

    os.environ["GLUONX_TUNE"] = "1"
    engine.tune()
    return "with gluonx.engine.tune()"


@dataclass
class Side:
    """One of the things compared: ``run(count)`` does `count` calls and returns when their results are there."""

    name: str
    run: Callable[[int], None]
    wall: list[float] = field(default_factory=list)
    cpu: list[float] = field(default_factory=list)

    def time(self, count: int) -> None:
        """Time one block of `count` calls; seconds a call are appended to `wall` and `cpu`."""
        wall, cpu = time.perf_counter(), time.process_time()
        self.run(count)
        self.wall.append((time.perf_counter() - wall) / count)
        self.cpu.append((time.process_time() - cpu) / count)


@dataclass
class Result:
    """A side against the first side: seconds a call and ratios, as (lower quartile, median, upper quartile)."""

    name: str
    wall: tuple[float, float, float]
    cpu: tuple[float, float, float]
    ratio: tuple[float, float, float]
    cpu_ratio: tuple[float, float, float]


def quartiles(values: list[float]) -> tuple[float, float, float]:
    """Lower quartile, median and upper quartile."""
    if len(values) < 2:
        return (values[0],) * 3
    low, middle, high = statistics.quantiles(values, n=4, method="inclusive")
    return low, middle, high


def warm(run: Callable[[int], Any]) -> None:
    """Run until XLA's program has taken over from NumPy, where gluonx is what runs (`gluonx.common.policy`)."""
    run(16)
    for _ in range(200):
        engine = sys.modules.get("gluonx.engine")
        if engine is None or "run by NumPy" not in engine.explain():
            break
        run(16)
    run(2)


def block_size(side: Side, seconds: float) -> int:
    """Return the number of calls that take about `seconds`; runs the side until it is warm."""
    warm(side.run)
    count = 1
    while True:
        start = time.perf_counter()
        side.run(count)
        spent = time.perf_counter() - start
        if spent > seconds / 4 or count >= 1 << 16:
            return max(1, round(count * seconds / max(spent, 1e-9)))
        count *= 4


def compare(base: Side, others: list[Side], rounds: int = 15, block: float = 0.15) -> list[Result]:
    """Time all sides in turns.

    Parameters
    ----------
    base : Side
        What the ratios are over.
    others : list of Side
    rounds : int
        How often each side is timed.
    block : float
        Seconds that a block of calls is to take.

    Returns
    -------
    list of Result
        One for `base` and each of `others`.
    """
    sides = [base, *others]
    counts = [block_size(side, block) for side in sides]
    count = max(1, round(statistics.median(counts)))
    in_turns(sides, [count] * len(sides), rounds)
    return [_result(side, base) for side in sides]


def in_turns(sides: Sequence[Side], counts: Sequence[int], rounds: int) -> None:
    """Time a block of each side a round, of as many calls as `counts` says, in turned order every other round."""
    pairs = list(zip(sides, counts, strict=True))
    gc.collect()
    gc.disable()
    try:
        for index in range(rounds):
            for side, count in pairs if index % 2 == 0 else reversed(pairs):
                side.time(count)
            gc.collect()
    finally:
        gc.enable()


def _result(side: Side, base: Side) -> Result:
    ratios = [mine / theirs for mine, theirs in zip(side.wall, base.wall)]
    # Clocks of processor time are coarse on some machines; a block of zero says nothing.
    cpu = [mine / theirs for mine, theirs in zip(side.cpu, base.cpu) if theirs > 0] or [float("nan")]
    return Result(side.name, quartiles(side.wall), quartiles(side.cpu), quartiles(ratios), quartiles(cpu))
