"""Arithmetic on bytes: against MXNet 2.0 in every mode, and against the same arithmetic on real numbers."""

from __future__ import annotations

import numpy as onp
import pytest

from gluonx import np, npx
from gluonx.errors import ShapeError
from lib.called import MODES, agrees, answer, cases, sampled
from lib.sweep import churn  # noqa: F401 - a fixture

ROWS = list(cases.quantized())
FIRST = list({row.op: row for row in reversed(ROWS)}.values())


@sampled(ROWS, 4)
def test_golden(row):
    agrees(row, answer(row))


@pytest.mark.parametrize("row", FIRST, ids=lambda row: row.name)
def test_modes(row):
    for mode in MODES[1:]:
        agrees(row, answer(row, mode))


def drawn(*shape, low=-1.0, seed=0):
    return np.array(onp.random.RandomState(seed).uniform(low, 1.0, shape))


@pytest.mark.parametrize("out_type, low", [("int8", -1.0), ("uint8", 0.0), ("auto", -1.0)])
def test_there_and_back(out_type, low):
    x = drawn(5, 6, low=low)
    packed, least, largest = npx.contrib_quantize_v2(x, out_type=out_type, min_calib_range=low, max_calib_range=1.0)
    found = npx.dequantize(packed, least, largest)
    onp.testing.assert_allclose(found.asnumpy(), x.asnumpy(), atol=1 / 127)


def test_a_quantized_net_is_near_the_real_one():
    """Convolution, relu, pooling and a dense layer, each on bytes."""
    x, w, v = drawn(2, 3, 8, 8), drawn(4, 3, 3, 3, seed=1), drawn(5, 36, seed=2)
    attrs = {"kernel": (3, 3), "num_filter": 4, "no_bias": True}
    y = npx.pooling(npx.relu(npx.convolution(x, w, None, **attrs)), kernel=(2, 2), stride=(2, 2))
    real = npx.fully_connected(y, v, None, num_hidden=5)

    x8, w8, v8 = (npx.contrib_quantize_v2(a) for a in (x, w, v))
    whole = npx.quantized_conv(x8[0], w8[0], None, *x8[1:], *w8[1:], **attrs)
    out = npx.requantize(*whole)
    out = npx.quantized_act(*out, act_type="relu")
    out = npx.quantized_pooling(*out, kernel=(2, 2), stride=(2, 2))
    whole = npx.quantized_fully_connected(out[0], v8[0], None, *out[1:], *v8[1:], num_hidden=5, no_bias=True)
    found = npx.dequantize(*npx.requantize(*whole))
    error = abs(found.asnumpy() - real.asnumpy()).max() / abs(real.asnumpy()).max()
    assert error < 0.05


@pytest.mark.parametrize("floats", [False, True])
def test_intgemm_is_a_dense_layer(floats):
    x, w, b = drawn(3, 16), drawn(8, 16, seed=1), drawn(8, seed=2)
    reach = [npx.intgemm_maxabsolute(a) for a in (x, w)]
    weight = npx.intgemm_prepare_weight(w, reach[1])
    scaling = reach[1] / 127 * (1 if floats else reach[0] / 127)
    data = x if floats else npx.intgemm_prepare_data(x, reach[0])
    found = npx.intgemm_fully_connected(data, weight, scaling, b, num_hidden=8).asnumpy()
    onp.testing.assert_allclose(found, x.asnumpy() @ w.asnumpy().T + b.asnumpy(), atol=0.05)
    some = npx.intgemm_take_weight(weight, np.array([3, 0], dtype="int32"))
    part = npx.intgemm_fully_connected(data, some, scaling, num_hidden=2, no_bias=True).asnumpy()
    onp.testing.assert_allclose(part, found[:, [3, 0]] - b.asnumpy()[[3, 0]], atol=1e-5)
    assert npx.intgemm_prepare_weight(weight, already_quantized=True).tolist() == weight.tolist()


ONE = [(1,), (1,)]
WRONG = [
    ("contrib_quantize_v2", [(3,)], {"out_type": "int4"}, ValueError, "out_type is 'int4'"),
    ("requantize", [(3,), *ONE], {}, ShapeError, "int32 data were expected, but float32"),
    ("dequantize", [(3,), *ONE], {}, ShapeError, "int8 or uint8 data were expected"),
    ("quantized_act", [(3,), *ONE], {"act_type": "tanh"}, ValueError, "act_type is 'tanh'"),
    ("quantized_pooling", ["iii", *ONE], {"pool_type": "sum"}, ValueError, "pool_type is 'sum'"),
    ("quantized_elemwise_mul", [(3,), (3,), *ONE, *ONE], {}, ShapeError, "int8 arrays were expected"),
    ("quantized_elemwise_add", [(3,), (2,), *ONE, *ONE], {}, ShapeError, "must have one shape"),
    ("intgemm_fully_connected", [(2, 3), (4, 3)], {"num_hidden": 4}, ShapeError, "weight must be of int8"),
    ("intgemm_prepare_weight", [(4, 3)], {}, ValueError, "maxabs is needed"),
]


@pytest.mark.parametrize("op, shapes, attrs, error, message", WRONG, ids=lambda x: x if isinstance(x, str) else "")
def test_bad_input(op, shapes, attrs, error, message):
    arrays = [np.ones(len(s), dtype="int8") if isinstance(s, str) else np.zeros(s) for s in shapes]
    with pytest.raises(error, match=message):
        getattr(npx, op)(*arrays, **attrs)


def test_a_range_must_come_along():
    x, w = np.ones((2, 3), dtype="int8"), np.ones((4, 3), dtype="int8")
    with pytest.raises(ValueError, match="each quantized array needs its range"):
        npx.quantized_fully_connected(x, w, no_bias=True, num_hidden=4)
