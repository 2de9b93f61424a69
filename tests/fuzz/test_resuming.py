"""Random trainings that go on from their files, `resuming`, give the bits of those that were not interrupted."""

from __future__ import annotations

from typing import Any

import pytest

from fuzz import resuming
from fuzz.harness import counts
from gluonx.common import policy

# Orbax leaves reads that failed to its closed event loop, and warns of its own old names.
pytestmark = [pytest.mark.usefixtures("collected"), pytest.mark.filterwarnings("ignore")]


@pytest.mark.dear
@counts(few=2, many=400, parts=4)
def test_a_new_net_goes_on(count: int | range) -> None:
    resuming.main(count, elsewhere=False)


@pytest.mark.dear
@counts(few=1, many=40)
def test_a_new_process_goes_on(count: int | range) -> None:
    resuming.main(count, elsewhere=True)


@pytest.mark.slow
@pytest.mark.parametrize("way", ["files", "checkpoint"])
@pytest.mark.parametrize("name", resuming.OPTIMIZERS)
def test_each_optimizer_goes_on(name: str, way: str) -> None:
    resuming.check(resuming.usual(name, way), elsewhere=False)


@pytest.mark.dear
@pytest.mark.parametrize("name", ["sgld", "groupadagrad", "adam"])
def test_a_line_that_has_churned_is_no_matter_where_the_steps_are_known(name: str, monkeypatch: Any) -> None:
    monkeypatch.setitem(policy.limits, "many", 0)
    resuming.check(resuming.usual(name, "files"), elsewhere=False)
