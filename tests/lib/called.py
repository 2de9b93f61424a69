"""Run a row of tests/oracle/vision_ops/cases.py as a user calls it, in one mode, and compare with the oracle."""

from __future__ import annotations

import collections

import numpy as onp
import pytest

from gluonx import autograd, engine, np, npx
from gluonx.gluon import HybridBlock
from lib import TESTS
from lib.golden import load_cases

__all__ = ["GOLDEN", "MODES", "agrees", "answer", "cases", "sampled"]

cases = load_cases("vision_ops")
_FILE = TESTS / "oracle" / "vision_ops" / "golden.npz"
with onp.load(_FILE) as _stored:
    GOLDEN = dict(_stored)
MODES = ("deferred", "naive", "hybrid")


class _Call(HybridBlock):
    def __init__(self, function, attrs):
        super().__init__()
        self.function, self.attrs = function, attrs

    def forward(self, *arrays):
        return self.function(*arrays, **self.attrs)


def _function(row):
    found = npx
    for name in row.op.split("."):
        found = getattr(found, name)
    return found


def answer(row, mode="deferred"):
    """The outputs and gradients by the names that they have in the golden file."""
    call = _Call(_function(row), row.attrs)
    if mode == "hybrid":
        call.hybridize()
    with engine.mode("naive" if mode == "naive" else "deferred"):
        arrays = [np.array(x, dtype="float32" if x.dtype == "float64" else x.dtype) for x in row.arrays()]
        for place in row.grad:
            arrays[place].attach_grad()
        with autograd.record():
            out = call(*arrays)
        outs = list(out) if isinstance(out, (list, tuple)) else [out]
        if row.grad:
            outs[0].backward(np.array(row.head(0, outs[0].shape)))
        result = {f"out{k}": o.asnumpy() for k, o in enumerate(outs)}
        result.update({f"grad{place}": arrays[place].grad.asnumpy() for place in row.grad})
    return result


def agrees(row, found):
    """Assert that `found` is the oracle's answer."""
    wanted = {key.rsplit("/", 1)[1]: x for key, x in GOLDEN.items() if key.rsplit("/", 1)[0] == row.name}
    assert sorted(found) == sorted(wanted), "run tests/oracle/vision_ops/make.py"
    for key, x in found.items():
        assert (x.shape, x.dtype) == (wanted[key].shape, wanted[key].dtype), key
        if x.dtype.kind in "iu":  # neither sum nor difference of bytes may wrap round
            apart = onp.abs(x.astype("int64") - wanted[key].astype("int64"))
            assert apart.max(initial=0) <= (row.tol if row.tol >= 1 else 0), f"{row.name} {key}"
        else:
            onp.testing.assert_allclose(x, wanted[key], rtol=row.tol, atol=row.tol, err_msg=f"{row.name} {key}")


def sampled(rows, count=3):
    """The rows as parameters of a test; those after the first `count` of an operator belong to the slow ones."""
    seen = collections.Counter()
    params = []
    for row in rows:
        seen[row.op] += 1
        marks = [pytest.mark.slow] * (seen[row.op] > count)
        params.append(pytest.param(row, id=row.name, marks=marks))
    return pytest.mark.parametrize("row", params)
