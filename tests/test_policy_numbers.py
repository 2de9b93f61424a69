"""The numbers of the policy: there are sixteen, all are read, measured or shown, and nobody else has any."""

import re

import pytest

from benchmarks import costs
from gluonx.common import policy
from lib import ROOT
from tools.policy import PAGE, renewed

SOURCES = {p: p.read_text(encoding="utf-8") for p in (ROOT / "gluonx").rglob("*.py")}
OWN = (ROOT / "gluonx/common/policy.py").read_text(encoding="utf-8")


def test_there_are_sixteen():
    assert len(policy.NUMBERS) <= 16
    assert len(policy.EXCEPTIONS) <= 3


@pytest.mark.parametrize("name", sorted(policy.limits))
def test_a_number_is_read_and_shown(name):
    assert any(f'limits["{name}"]' in text or f"limits['{name}']" in text for text in SOURCES.values())
    number = (policy.NUMBERS | policy.EXCEPTIONS)[name]
    assert number.value > 0
    assert (ROOT / "benchmarks" / f"{number.shown_by}.py").exists()
    assert (number.shown_by == "costs") <= (name in costs.MEASURED)


def test_each_name_that_is_made_of_them_is_read():
    made = re.findall(r"^([A-Z]+) = .*limits", OWN, re.M)
    assert len(made) > 10
    unread = [name for name in made if not any(f"policy.{name}" in text for text in SOURCES.values())]
    assert not unread


def test_the_costs_can_be_measured():
    assert {*costs.MEASURED} < {*policy.NUMBERS}
    assert 0.05 < costs.light() < 1000 and 1 < costs.call() < 1e6


def test_the_page_shows_the_table():
    page = PAGE.read_text(encoding="utf-8")
    assert renewed(page) == page, "python -m tools.policy --write"


def test_the_engine_writes_down_no_other_limit():
    """A module-level integer in capitals under deferred/ is made of the policy's numbers."""
    for path, text in SOURCES.items():
        if (ROOT / "gluonx/deferred") in path.parents:
            found = re.findall(r"^_?[A-Z][A-Z_]+ = [0-9].*$", text, re.M)
            assert not [line for line in found if "_TRIES = 100" not in line], (path, found)
