"""Edge cases (`contract_edges.py`) against MXNet's answers, in every mode."""

import warnings

import numpy as onp
import pytest

from gluonx import autograd, engine, loss, metric, nn, np, npx
from lib import TESTS
from lib.contract_edges import INPUTS, KNOWN, ROWS, helpers
from lib.sweep import churn  # noqa: F401 - a fixture

GOLDEN = dict(onp.load(TESTS / "oracle" / "edges" / "golden.npz"))
SAMPLED = [
    pytest.param(row, id=row.key, marks=[pytest.mark.slow] * (int(row.mark, 16) % 4 > 0))  # a quarter, by name
    for row in ROWS
    if f"{row.mark}/out" in GOLDEN
]


def evaluate(row):
    """The value of a row, and the gradient of its sum."""
    given = {name: np.array(INPUTS[key], dtype=INPUTS[key].dtype) for name, key in zip("xyz", row.inputs)}
    names = {"np": np, "npx": npx, "nn": nn, "loss": loss, "metric": metric, **helpers(np), **given}
    if not row.grad:
        return {"out": onp.asarray(eval(row.expression, names))}
    given["x"].attach_grad()
    with autograd.record():
        out = eval(row.expression, names)
    out.backward()
    return {"out": onp.asarray(out), "grad": onp.asarray(given["x"].grad)}


def compare(found, wanted, row, rules):
    """Shapes, numbers and dtypes.

    Of float64 inputs no result is narrower than MXNet's (some losses of MXNet's give float32); of others some that
    MXNet has in 64 bits are of 32 bits here (docs/dtypes.md).
    """
    wide = any(INPUTS[key].dtype == onp.float64 for key in row.inputs)
    for name, ours in found.items():
        if name in rules:
            continue
        theirs = wanted[name]
        assert ours.shape == theirs.shape, f"{name} of {row.key}"
        if "dtype" not in rules:
            assert ours.dtype.kind == theirs.dtype.kind, f"{name} is {ours.dtype}, MXNet's is {theirs.dtype}"
            size = theirs.dtype.itemsize
            assert ours.dtype.itemsize in ({size, 8} if wide else {size, min(size, 4)}), (
                f"{ours.dtype}, not {theirs.dtype}"
            )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # of infinities that are subtracted
            onp.testing.assert_allclose(
                ours.astype(onp.float64), theirs.astype(onp.float64), rtol=row.tol, atol=row.tol, err_msg=row.key
            )


def test_known_differences_are_of_rows():
    assert set(KNOWN) <= {row.key for row in ROWS}


@pytest.mark.parametrize("row", SAMPLED)
def test_as_mxnet(row):
    wanted = {name: GOLDEN[f"{row.mark}/{name}"] for name in ("out", "grad") if f"{row.mark}/{name}" in GOLDEN}
    compare(evaluate(row), wanted, row, KNOWN.get(row.key, {}))


@pytest.mark.slow
@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.key)
def test_naive_mode_is_the_same(row):
    with engine.mode("naive"):
        naive = evaluate(row)
    for name, value in evaluate(row).items():
        onp.testing.assert_allclose(value, naive[name], rtol=2e-3 if value.dtype == onp.float16 else 1e-5, atol=1e-6)
