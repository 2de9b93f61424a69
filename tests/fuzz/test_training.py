"""Random training runs, deferred against naive in float64: two modules, in processes with 64-bit types."""

from __future__ import annotations

import os
import pathlib
import subprocess
import sys

import pytest

from fuzz.harness import counts

_TESTS = pathlib.Path(__file__).parent.parent


@pytest.mark.dear
@pytest.mark.parametrize("how", ["compiled", "interpreted"])
@counts(few=4)  # the first run of each net compiles its programs
def test_deferred_and_naive_agree(how: str, count: int) -> None:
    _run("training", how, count if how == "interpreted" else max(2, count // 4))


@pytest.mark.dear
@pytest.mark.parametrize("how", ["compiled", "interpreted"])
@counts(few=4, many=1000)  # each net is a new one
def test_whatever_is_done_to_parameters(how: str, count: int) -> None:
    _run("upheavals", how, count if how == "interpreted" else max(1, count // 10))


def _run(module: str, how: str, count: int) -> None:
    done = subprocess.run(
        [sys.executable, "-m", f"fuzz.{module}", str(count), how],
        capture_output=True,
        text=True,
        cwd=_TESTS,
        env={**os.environ, "GLUONX_X64": "1", "PYTHONPATH": os.pathsep.join([str(_TESTS.parent), str(_TESTS)])},
        check=False,
    )
    assert done.returncode == 0, done.stderr[-4000:]
