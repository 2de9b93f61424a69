"""Random programs give in every mode of the engine what a NumPy tape gives."""

import os

import pytest
from hypothesis import HealthCheck, given, seed, settings

from gluonx import engine
from gluonx.deferred.flushing import limits_of_churn
from lib import programs

_SEED = int(os.environ.get("GLUONX_TEST_SEED", "0"))
_EXAMPLES = int(os.environ.get("GLUONX_RANDOM_PROGRAMS", "25"))
_MORE = settings(
    max_examples=_EXAMPLES, deadline=None, database=None, print_blob=False, suppress_health_check=list(HealthCheck)
)


def _wanted(program):
    programs.Reference.scale = 1.0
    return programs.run(program, programs.Reference())


@pytest.mark.filterwarnings("ignore:the line .* has compiled")
@pytest.mark.parametrize("mode", ["compiled", "interpreted", "naive", "bulk"])
def test_every_mode_agrees_with_the_reference(mode, monkeypatch):
    # Every example is a new program from one line: what is under test is not the guard against that.
    monkeypatch.setitem(limits_of_churn, "programs", 10**6 if mode == "compiled" else 0)
    monkeypatch.setattr("gluonx.deferred.flushing._sites", {})

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
