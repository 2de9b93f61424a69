"""Random programs give in every mode of the engine what a NumPy tape gives."""

import contextlib
import os

import pytest
from hypothesis import HealthCheck, given, seed, settings

from gluonx import engine
from gluonx.common import policy
from lib import programs

_SEED = int(os.environ.get("GLUONX_TEST_SEED", "0"))
_EXAMPLES = int(os.environ.get("GLUONX_RANDOM_PROGRAMS", "25"))
_MORE = settings(
    max_examples=_EXAMPLES, deadline=None, database=None, print_blob=False, suppress_health_check=list(HealthCheck)
)


def _wanted(program):
    programs.Reference.scale = 1.0
    return programs.run(program, programs.Reference())


@pytest.mark.dear
@pytest.mark.filterwarnings("ignore:the line .* has compiled")
@pytest.mark.parametrize("mode", ["compiled", "by NumPy", "interpreted", "naive", "bulk"])
def test_every_mode_agrees_with_the_reference(mode, monkeypatch):
    # Every example is a new program from one line: what is under test is not the guard against that.
    monkeypatch.setitem(policy.limits, "many", 10**6 if mode in ("compiled", "by NumPy") else 0)
    monkeypatch.setitem(policy.limits, "runs", 10**6 if mode == "by NumPy" else 0)
    monkeypatch.setattr("gluonx.deferred.run.flushing._sites", {})

    @seed(_SEED)
    @_MORE
    @given(programs.programs(24 if mode == "naive" else 16))
    def check(program):
        wanted = _wanted(program)
        if mode == "naive":
            with engine.mode("naive"):
                found = programs.run(program, programs.GLUONX)
        elif mode == "bulk":
            with engine.bulk(100):
                found = programs.run(program, programs.GLUONX)
        else:
            found = programs.run(program, programs.GLUONX)
        programs.assert_agree(found, wanted)
        if mode == "interpreted":  # the second time, the same traces are compiled
            programs.assert_agree(programs.run(program, programs.GLUONX), wanted)

    check()


FOUND = {
    "a slice is detached and dropped, its array written to": [
        ("record", 0, 0, 0.5),
        ("view", 2, 5, 2.0),
        ("detach", 5, 0, 0.5),
        ("drop", 0, 0, 0.5),
        ("setitem", 2, 4, 0.75),
    ],
    "a slice of a result is detached and dropped, and written to": [
        ("record", 0, 0, 0.5),
        ("scalar", 2, 0, 2.0),
        ("view", 5, 2, 2.0),
        ("detach", 6, 0, 0.5),
        ("drop", 0, 0, 0.5),
        ("overwrite", 6, 1, 0.75),
        ("backward", 5, 0, 0.5),
    ],
}


@pytest.mark.parametrize("mode", ["deferred", "naive", "bulk"])
@pytest.mark.parametrize("name", FOUND)
def test_programs_that_once_failed(name, mode):
    modes = {"deferred": contextlib.nullcontext(), "naive": engine.mode("naive"), "bulk": engine.bulk(100)}
    wanted = _wanted(FOUND[name])
    with modes[mode]:
        found = programs.run(FOUND[name], programs.GLUONX)
    programs.assert_agree(found, wanted)
