"""Random training runs, deferred against naive in float64: `fuzz.training` in a process with 64-bit types."""

from __future__ import annotations

import os
import pathlib
import subprocess
import sys

import pytest

from fuzz.harness import counts

_TESTS = pathlib.Path(__file__).parent.parent


@pytest.mark.parametrize("how", ["compiled", "interpreted"])
@counts(few=4)  # the first run of each net compiles its programs
def test_deferred_and_naive_agree(how: str, count: int) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "fuzz.training", str(count if how == "interpreted" else max(2, count // 4)), how],
        capture_output=True,
        text=True,
        cwd=_TESTS,
        env={**os.environ, "GLUONX_X64": "1", "PYTHONPATH": os.pathsep.join([str(_TESTS.parent), str(_TESTS)])},
        check=False,
    )
    assert done.returncode == 0, done.stderr[-4000:]
