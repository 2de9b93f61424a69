"""The core operators give MXNet's numbers and gradients (tests/oracle/ops, made by the real MXNet 2.0.0b1)."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from gluonx import ops
from lib import TESTS
from lib.golden import load_cases

_HERE = TESTS / "oracle" / "ops"


cases = load_cases("ops")
GOLDEN = dict(np.load(_HERE / "golden.npz"))
ROWS = [row for row in cases.rows() if f"{row['name']}/out0" in GOLDEN]
LOOSE = {"gamma", "gammaln", "digamma", "erfinv"}  # series of another kind


def _run(row, arrays):
    out = ops.get(row["op"]).bind(**row["attrs"])(*arrays)
    return list(out) if isinstance(out, tuple) else [out]


def _arrays(row):
    return [None if x is None else jnp.asarray(x) for x in cases.make(row)]


def _close(row, found, key):
    tolerance = 1e-4 if row["name"].split(":")[0] in LOOSE else 1e-5
    wanted = GOLDEN[f"{row['name']}/{key}"]
    assert found.shape == wanted.shape
    np.testing.assert_allclose(
        np.asarray(found), wanted, rtol=tolerance, atol=tolerance, err_msg=f"{row['name']} {key}"
    )


def _weighted(row, outs):
    """The number that the oracle differentiated."""
    if row["op"] == "batch_norm":
        outs = outs[:1]
    kinds = [(k, o) for k, o in enumerate(outs) if o.dtype == jnp.float32]
    return sum(jnp.sum(o * cases.weights(row, o.shape, k)) for k, o in kinds)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["name"])
def test_numbers_and_gradients(row):
    arrays = _arrays(row)
    places = [i for i in range(len(arrays)) if f"{row['name']}/grad{i}" in GOLDEN]

    def both(chosen):
        def total(chosen):
            given = list(arrays)
            for place, x in zip(places, chosen, strict=True):
                given[place] = x
            outs = _run(row, given)
            return _weighted(row, outs) if places else 0.0, outs

        return jax.grad(total, has_aux=True)(chosen) if places else ([], total(chosen)[1])

    gradients, outs = jax.jit(both)([arrays[i] for i in places])
    for k, out in enumerate(outs):
        _close(row, out, f"out{k}")
    for place, gradient in zip(places, gradients, strict=True):
        _close(row, gradient, f"grad{place}")
    bound = ops.get(row["op"]).bind(**row["attrs"])
    assert bound.nout == len(outs) and f"{row['name']}/out{len(outs)}" not in GOLDEN


@pytest.mark.dear
def test_broadcasting_is_explicit(strict_ranks):
    for row in ROWS:
        jax.eval_shape(lambda *arrays, row=row: tuple(_run(row, arrays)), *_arrays(row))


def test_table_is_complete():
    missing = [row["name"] for row in cases.rows() if f"{row['name']}/out0" not in GOLDEN]
    assert not missing, "run tests/oracle/ops/make_golden.py"
