"""The table of thresholds: what reads it, what it names, and the page that shows it."""

import ast
import re

import pytest

from gluonx.common import thresholds
from gluonx.deferred.run import program
from gluonx.optimizer import units
from lib import ROOT
from tools.thresholds import PAGE, renewed

NAMES = sorted(thresholds.THRESHOLDS)


@pytest.fixture(scope="module")
def read():
    """The names that modules ask for."""
    found = set()
    for path in (ROOT / "gluonx").rglob("*.py"):
        if path.name != "thresholds.py" and "gluonx.common.thresholds" in (text := path.read_text(encoding="utf-8")):
            calls = [n for n in ast.walk(ast.parse(text)) if isinstance(n, ast.Call)]
            found |= {
                c.args[0].value
                for c in calls
                if ast.unparse(c.func) == "threshold" and isinstance(c.args[0], ast.Constant)
            }
    return found


@pytest.mark.parametrize("name", NAMES)
def test_a_threshold_is_read_and_shown(name, read):
    assert name in read
    shown = thresholds.THRESHOLDS[name].shown_by
    place = shown if "/" in shown else shown.replace(".", "/") + ".py"
    assert (ROOT / place).exists(), place
    assert thresholds.threshold(name) > 0


def test_nobody_asks_for_one_that_is_not_there(read):
    assert read <= set(NAMES)


def test_what_is_small_is_so_for_weights_gradients_and_states():
    assert program.PACK_ELEMENTS == units.LIMIT == thresholds.threshold("small.elements")


def test_the_page_shows_the_table():
    page = PAGE.read_text(encoding="utf-8")
    assert renewed(page) == page, "python -m tools.thresholds --write"


def test_the_engine_writes_down_no_other_limit():
    """A module-level integer in capitals under deferred/ comes from the table."""
    for path in (ROOT / "gluonx/deferred").rglob("*.py"):
        found = re.findall(r"^_?[A-Z][A-Z_]+ = [0-9].*$", path.read_text(encoding="utf-8"), re.M)
        assert not [line for line in found if "_TRIES = 100" not in line], (path, found)
