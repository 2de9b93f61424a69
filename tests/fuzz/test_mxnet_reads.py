"""The real MXNet 2.0.0b1 reads what gluonx writes of random nets, and computes the same: parameters and symbols."""

from __future__ import annotations

import json
import os
import pathlib
import subprocess

import numpy as onp
import pytest

from fuzz.exchange import Case, drawn
from fuzz.harness import SEED, counts
from lib import TESTS

_ORACLE = pathlib.Path(os.environ.get("GLUONX_ORACLE", "/tmp/oracle")) / "bin" / "python"
_SCRIPTS = {  # what runs there, where it tells of failures, and how its outputs end
    "symbol": ("symbol/load_exported.py", "failed.json", "mxnet"),
    "parameters": ("exchange/load_saved.py", "not-loaded.json", "saved"),
}


@pytest.mark.slow
@pytest.mark.skipif(not _ORACLE.exists(), reason="the real MXNet is not here")
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("what", _SCRIPTS)
@counts(few=40, many=400, parts=4)
def test_mxnet_computes_the_same_of_our_files(tmp_path: pathlib.Path, what: str, count: int | range) -> None:
    cases: dict[int, Case] = {}
    for i in range(count) if isinstance(count, int) else count:
        numbers = onp.random.RandomState([SEED, i])
        plan = drawn("symbol", numbers)
        case = cases[i] = Case(plan, tmp_path)
        onp.savez(tmp_path / f"{i}-io.npz", *[x.asnumpy() for x in case.xs])
        if what == "symbol":
            case.net.export(tmp_path / f"{i}", format="mxnet", inputs=case.xs)
        else:
            (tmp_path / f"{i}-plan.json").write_text(json.dumps(plan))
            form = [None, "mxnet", "npz"][numbers.randint(3)]
            case.net.save_parameters(tmp_path / f"{i}.params", format=form)
    script, failures, ending = _SCRIPTS[what]
    environment = {k: v for k, v in os.environ.items() if not k.startswith("PYTHON")}
    done = subprocess.run(
        [_ORACLE, TESTS / "oracle" / script, tmp_path], env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr[-4000:]
    assert json.loads((tmp_path / failures).read_text()) == {}
    for i, case in cases.items():
        with onp.load(tmp_path / f"{i}-{ending}.npz") as file:
            outputs = [file[key] for key in file.files]
        try:
            case.check(outputs, rounding=1e-4)
        except AssertionError as error:
            error.add_note(f"seed {(SEED, i)}, plan {case.plan}")
            raise
