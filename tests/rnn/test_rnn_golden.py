"""Recurrent layers and cells give MXNet's numbers, names, reprs and signatures (tests/oracle/rnn), in every mode."""

from __future__ import annotations

import inspect
import json
import pickle
from copy import deepcopy

import numpy as onp
import pytest

import gluonx
from gluonx import engine, np, rnn
from lib import TESTS
from lib.golden import load_cases
from lib.sweep import churn  # noqa: F401 - a fixture

HERE = TESTS / "oracle" / "rnn"
cases = load_cases("rnn")
GOLDEN = dict(onp.load(HERE / "golden.npz"))
FACTS = json.loads((HERE / "facts.json").read_text())
ROWS = [*cases.LAYERS, *cases.CELLS]
LAYER_KEYS = {row.key for row in cases.LAYERS}
every_row = pytest.mark.parametrize("row", ROWS, ids=lambda row: row.key)


def build(row, mode="deferred"):
    """The block of a row with its golden weights."""
    block = row.make(rnn)
    block.initialize()
    if row.key in LAYER_KEYS:
        block(np.array(cases.inputs(row)))
    for name, param in block.collect_params().items():
        param.set_data(cases.weight(row.key, name, param.shape))
    if "hybrid" in mode:
        block.hybridize()
    return block


def run(row, mode="deferred"):
    with engine.mode("naive" if "naive" in mode else "deferred"):
        return cases.run(row, build(row, mode), gluonx, row.key in LAYER_KEYS)


def wanted(row):
    start = row.key + "/"
    return {name[len(start) :]: x for name, x in GOLDEN.items() if name.startswith(start)}


def agree(found, right, tol):
    assert sorted(found) == sorted(right)
    for name, x in found.items():
        assert x.shape == right[name].shape, name
        onp.testing.assert_allclose(x, right[name], rtol=tol, atol=tol, err_msg=name)


def _params():
    """All rows hybridized; step by step the small ones, the others, and the naive mode, in the slow tests."""
    for row in ROWS:
        for mode in ("hybrid", "deferred", "naive"):
            slow = mode == "naive" or (mode == "deferred" and row.key.startswith("conv"))
            yield pytest.param(row, mode, marks=[pytest.mark.slow] * slow, id=f"{row.key}-{mode}")


@pytest.mark.dear
@pytest.mark.parametrize(("row", "mode"), list(_params()))
def test_numbers_and_gradients(row, mode):
    """Outputs, last states, and the gradients of inputs, first states and parameters."""
    agree(run(row, mode), wanted(row), 2e-5)


@every_row
def test_names_states_and_reprs(row):
    facts = FACTS[row.key]
    block = row.make(rnn)
    assert repr(block) == facts["repr"]
    block = build(row)
    assert repr(block) == facts["repr_after"]
    assert {name: list(p.shape) for name, p in block.collect_params().items()} == facts["params"]
    states = [{k: v for k, v in info.items() if k != "dtype"} for info in block.state_info(2)]
    assert json.loads(json.dumps(states)) == facts["states"]


def test_signatures():
    """Names, parameters, their order and their defaults are MXNet's; use_sequence_length stands among its kwargs.

    What is ours alone is given by keyword.
    """
    assert sorted(rnn.__all__) == sorted(FACTS["signatures"])
    for name, theirs in FACTS["signatures"].items():
        ours = list(inspect.signature(getattr(rnn, name).__init__).parameters.values())[1:]
        ours = [p for p in ours if p.kind is not p.KEYWORD_ONLY and p.name != "use_sequence_length"]
        found = [[p.name, repr(p.default)] for p in ours]
        assert found == theirs, name
    assert gluonx.gluon.rnn is rnn


@pytest.mark.dear
@pytest.mark.parametrize("row", [r for r in ROWS if r.key in ("lstm-deep", "both", "conv1d-gru")], ids=lambda r: r.key)
def test_copies_and_files(row, tmp_path):
    block = build(row)
    first = cases.run(row, block, gluonx, row.key in LAYER_KEYS)["out"]
    for other in (deepcopy(block), pickle.loads(pickle.dumps(block))):
        onp.testing.assert_array_equal(cases.run(row, other, gluonx, row.key in LAYER_KEYS)["out"], first)
    block.save_parameters(tmp_path / "block.params")
    fresh = row.make(rnn)
    fresh.load_parameters(tmp_path / "block.params")
    onp.testing.assert_allclose(cases.run(row, fresh, gluonx, row.key in LAYER_KEYS)["out"], first, rtol=1e-6)
