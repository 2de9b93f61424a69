"""Numbers and seeds of the random programs that a test runs.

``GLUONX_TEST_SEED`` chooses other programs than the usual ones, ``GLUONX_FUZZ`` another number of them. A failure names
the seed of its program: ``replay(check, seed)`` runs that one alone.
"""

from __future__ import annotations

import os
from collections.abc import Callable

import numpy as onp
import pytest

__all__ = ["MANY", "SEED", "counts", "replay", "sweep"]

MANY = 10_000
SEED = int(os.environ.get("GLUONX_TEST_SEED", "0"))


def counts(few: int, many: int = MANY, parts: int = 1) -> pytest.MarkDecorator:
    """Parametrize a test by `count`: `few` programs, or `many` where slow tests run.

    Where those take minutes they come in `parts`, tests of their own with ranges of seeds, which worker processes share
    and of which each stays within a time limit.
    """
    few = int(os.environ.get("GLUONX_FUZZ", few))
    size = many // parts
    ranges = [range(i, min(i + size, many)) for i in range(0, many, size)]
    slow = {f"{part[0]}-{part[-1]}": part for part in ranges} if parts > 1 else {f"{many}": many}
    rows = [pytest.param(count, id=name, marks=pytest.mark.slow) for name, count in slow.items()]
    return pytest.mark.parametrize("count", [few, *rows])


def replay(check: Callable[[onp.random.RandomState], None], seed: tuple[int, int]) -> None:
    """Run one program again."""
    check(onp.random.RandomState(list(seed)))


def sweep(check: Callable[[onp.random.RandomState], None], count: int | range) -> None:
    """Run ``check(numbers)`` for `count` generators of random numbers, or a range of them; a failure tells which.

    Raises
    ------
    AssertionError
        With the first seed that failed, and how many of all did.
    """
    failed: list[tuple[tuple[int, int], Exception]] = []
    chosen = range(count) if isinstance(count, int) else count
    for i in chosen:
        seed = (SEED, i)
        try:
            replay(check, seed)
        except Exception as error:  # what a program raises is a difference like another
            failed.append((seed, error))
            if len(failed) == 20:
                break
    if failed:
        seeds = ", ".join(str(seed) for seed, _ in failed)
        raise AssertionError(
            f"{len(failed)} of {i + 1 - chosen[0]} programs failed; harness.replay(check, seed) with seed {seeds}"
        ) from failed[0][1]
