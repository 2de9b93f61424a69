"""Sparse arrays as MXNet 2.0's: storage, parts and numbers of results, updates, files byte for byte."""

import json
import pathlib

import numpy as onp
import pytest

import gluonx as mx
from gluonx import nd
from lib.golden import load_cases

HERE = pathlib.Path(__file__).parents[1] / "oracle" / "sparse"
GOLDEN = json.loads((HERE / "golden.json").read_text(encoding="utf-8"))
TRAINED = onp.load(HERE / "trained.npz")


CASES = load_cases("sparse")


@pytest.fixture(autouse=True)
def without_warnings_of_dense_arrays(monkeypatch):
    monkeypatch.setenv("MXNET_STORAGE_FALLBACK_LOG_VERBOSE", "0")


@pytest.mark.parametrize("text", [text for text, told in GOLDEN.items() if "error" not in told])
def test_results(text):
    told = GOLDEN[text]
    found = eval(text, {"nd": nd, "sp": nd.sparse, **CASES.inputs(nd)})
    assert (found.stype, onp.dtype(found.dtype).name) == (told["stype"], told["dtype"])
    values = onp.array(told["values"])
    assert found.shape == values.shape
    onp.testing.assert_allclose(found.asnumpy(), values, rtol=1e-5, atol=1e-6)
    for part in {"indices", "indptr", "data"} & told.keys():
        own = getattr(found, part)
        assert type(own) is nd.NDArray and (part == "data" or own.dtype == onp.int64)
        onp.testing.assert_allclose(own.asnumpy().ravel(), onp.array(told[part]).ravel(), rtol=1e-5, atol=1e-6)


# MXNet's kernels for rows add epsilon to the square, its other ones to the root. Where the table is dense, MXNet has
# no lazy Ftrl and falls back to one that sets rows without a gradient to zero.
BOUNDS = {"groupadagrad": 2e-4, "adagrad": 2e-5}


@pytest.mark.parametrize("name", [name for name in CASES.OPTIMIZERS if name != "ftrl"])
def test_updates_of_a_dense_table(name):
    onp.testing.assert_allclose(CASES.trained(mx, name), TRAINED[name], rtol=1e-5, atol=BOUNDS.get(name, 5e-6))


@pytest.mark.parametrize("name", CASES.OPTIMIZERS)
def test_updates_of_a_row_sparse_table(name):
    found = CASES.trained_by_rows(mx, name)
    onp.testing.assert_allclose(found, TRAINED[f"{name}_rows"], rtol=1e-5, atol=BOUNDS.get(name, 5e-6))


@pytest.mark.parametrize("name", ["named", "listed", "zeros"])
def test_files_are_byte_for_byte_those_of_mxnet(name, tmp_path):
    arrays = nd.load(HERE / f"{name}.nd")
    assert {a.stype for a in (arrays.values() if isinstance(arrays, dict) else arrays)} >= {"csr", "row_sparse"}
    nd.save(tmp_path / "again.nd", arrays)
    assert (tmp_path / "again.nd").read_bytes() == (HERE / f"{name}.nd").read_bytes()


def test_what_is_read_is_what_was_written():
    named = nd.load(HERE / "named.nd")
    own = CASES.inputs(nd)
    for letter in "crd":
        assert named[letter].stype == own[letter].stype
        onp.testing.assert_array_equal(named[letter].asnumpy(), own[letter].asnumpy())
    archived = nd.load(HERE.parents[1] / "data" / "serialize" / "mxnet2_sparse.npz")
    assert [(name, a.stype) for name, a in archived.items()] == [("r", "row_sparse"), ("c", "csr")]
