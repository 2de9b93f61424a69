"""Random nets through the ways out of gluonx and back, `exchange`: each gives what the net itself gives."""

from __future__ import annotations

import pathlib
import tempfile
from typing import Any

import pytest

from fuzz.exchange import WAYS, Case, drawn
from fuzz.harness import counts, sweep


@pytest.mark.dear
@pytest.mark.filterwarnings(
    "ignore"
)  # of padding that no size fills, of ties, and the like: the numbers are asked here
@pytest.mark.parametrize("way", WAYS)
@counts(few=1, many=300, parts=3)
def test_a_net_is_the_same_there_and_back(way: str, count: int | range) -> None:
    def check(numbers: Any) -> None:
        plan = drawn(way, numbers)
        with tempfile.TemporaryDirectory() as folder:
            try:
                WAYS[way](Case(plan, pathlib.Path(folder)), numbers)
            except Exception as error:
                error.add_note(f"the plan: {plan}")
                raise

    sweep(check, count)
