"""Random training runs, deferred against naive: two modules, in processes with 64-bit types and without them."""

from __future__ import annotations

import os
import pathlib
import subprocess
import sys

import pytest

from fuzz.harness import counts

_TESTS = pathlib.Path(__file__).parent.parent


@pytest.mark.dear
@pytest.mark.parametrize("how", ["compiled", "interpreted", "linked"])
@counts(few=4)  # the first run of each net compiles its programs
def test_deferred_and_naive_agree(how: str, count: int) -> None:
    _run("training", how, max(2, count // 4) if how == "compiled" else count)


@pytest.mark.dear
@pytest.mark.parametrize("how", ["compiled", "interpreted", "linked"])
@counts(few=4, many=1000)  # each net is a new one
def test_whatever_is_done_to_parameters(how: str, count: int) -> None:
    _run("upheavals", how, max(1, count // 10) if how == "compiled" else count)


def _run(module: str, how: str, count: int) -> None:
    done = subprocess.run(
        [sys.executable, "-m", f"fuzz.{module}", str(count), how],
        capture_output=True,
        text=True,
        cwd=_TESTS,
        env={
            **os.environ,
            "GLUONX_X64": "0" if how == "linked" else "1",
            "PYTHONPATH": os.pathsep.join([str(_TESTS.parent), str(_TESTS)]),
        },
        check=False,
    )
    assert done.returncode == 0, done.stderr[-4000:]
