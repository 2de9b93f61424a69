"""Values that MXNet 1.9.1 and 2.0 give at NaN and for Booleans."""

import math

import numpy as onp
import pytest

import gluonx
from gluonx import autograd, nd, np, npx


@pytest.mark.parametrize(
    "fn, expected",
    [
        (npx.relu, [math.nan, 0, 0, 1]),
        (lambda x: npx.activation(x, "relu"), [math.nan, 0, 0, 1]),
        (npx.leaky_relu, [1, 0.25, 0.25, 1]),
        (npx.smooth_l1, [math.nan, -1, 0, 1]),
    ],
)
@pytest.mark.parametrize("mode", ["deferred", "naive"])
def test_gradients_at_nan(fn, expected, mode):
    x = np.array([math.nan, -1.0, 0.0, 2.0])
    x.attach_grad()
    with gluonx.engine.mode(mode):
        with autograd.record():
            y = fn(x)
        y.backward()
        onp.testing.assert_array_equal(x.grad.asnumpy(), onp.array(expected, "float32"))


def test_relu_twice_differentiated_and_of_infinity():
    x = np.array([-math.inf, -1.0, 3.0, math.inf])
    x.attach_grad()
    with autograd.record():
        y = npx.relu(x) ** 2 * np.array([1, 1, 1, 0])
        (first,) = autograd.grad([y.sum()], [x], create_graph=True)
        total = first[1:3].sum()
    total.backward()
    assert x.grad.tolist()[1:3] == [0, 2]


@pytest.mark.parametrize(
    "fn, expected",
    [
        (lambda b: b * 3, [3, 0, 3]),
        (lambda b: 2.5 * b, [2, 0, 2]),
        (lambda b: b + 1, [2, 1, 2]),
        (lambda b: 1 - b, [0, 1, 0]),
        (lambda b: b - 1, [0, -1, 0]),
        (lambda b: b / 2, [0, 0, 0]),
        (lambda b: b**2, [1, 0, 1]),
        (lambda b: b % 2, [1, 0, 1]),
        (lambda b: -b, [-1, 0, -1]),
        (lambda b: b == 1, [1, 0, 1]),
        (lambda b: b > 0.5, [1, 0, 1]),
    ],
)
def test_boolean_nd_arrays_and_numbers_give_integers(fn, expected):
    found = fn(nd.array([1, 0, 1], dtype="bool"))
    assert onp.dtype(found.dtype).kind == "i" and found.asnumpy().tolist() == expected


MASKS = {
    "mask times": lambda m, x: m * x,
    "times mask": lambda m, x: x * m,
    "mask as floats": lambda m, x: m.astype("float32") * x,
    "comparison": lambda m, x: (x > 1).astype("float32") * x,
    "mask over": lambda m, x: (m / (x * 0 + 1)) * x,
}


@pytest.mark.parametrize("name", MASKS)
@pytest.mark.parametrize("how", ["now", "recorded", "hybridized"])
def test_a_mask_does_not_hide_nan(name, how):
    """``False * nan`` is NaN, as in MXNet 2.0; XLA would take the product for a choice between ``x`` and 0."""
    mask, x = np.array([True, False], dtype="bool"), np.array([math.nan, math.inf])
    net = gluonx.nn.HybridLambda(lambda m, x: MASKS[name](m, x))
    if how == "hybridized":
        net.hybridize()
    x.attach_grad()
    if how == "recorded":
        with autograd.record():
            y = net(mask, x)
    else:
        y = net(mask, x)
    wanted = [math.nan, math.inf] if name == "comparison" else [math.nan, math.nan]
    onp.testing.assert_array_equal(y.asnumpy(), wanted)


def test_what_else_the_sweep_against_mxnet_found():
    mask = np.array([True, False], dtype="bool")
    onp.testing.assert_array_equal((mask / 0).asnumpy(), [math.inf, math.nan])
    onp.testing.assert_array_equal((mask * math.inf).asnumpy(), [math.inf, math.nan])
    assert (mask * 2).dtype == "int32" and (mask * 2.5).dtype == "float32" and (mask * mask).dtype == "bool"
    assert np.power(mask, 2).tolist() == [1, 0] and np.power(mask, 0).tolist() == [1, 1]
    part, whole = np.modf(np.array([math.inf, -math.inf, 1.5, -1.5]))
    onp.testing.assert_array_equal(part.asnumpy(), [0, 0, 0.5, -0.5])
    assert onp.signbit(part.asnumpy()).tolist() == [False, True, False, True] and whole[1] == -math.inf
    assert np.cumprod(np.array([100, -128, 27], dtype="int8")).tolist() == [100, -12800, -345600]
    assert np.cumprod(np.array([250, 3], dtype="uint8"), axis=0).tolist() == [250, 750]
    assert np.quantile(np.array([3, 1, 2], dtype="int32"), 1).item() == 3
    assert np.quantile(np.array([3, 1, 2], dtype="int32"), 0).item() == 1


@pytest.mark.parametrize("dtype", ["uint8", "int8", "int16", "uint16"])
def test_floats_wrap_round_in_small_integers(dtype):
    """``astype`` gives what NumPy and MXNet 2.0 give, as `npx.cast` did, within a program too."""
    values = onp.array([1.7, -2.3, 300.9, -1000.0, 70000.0], "float32")
    x = np.array(values)
    net = gluonx.nn.HybridLambda(lambda x: x.astype(dtype))
    wanted = values.astype("int32").astype(dtype)
    onp.testing.assert_array_equal(net(x).asnumpy(), wanted)
    net.hybridize()
    onp.testing.assert_array_equal(net(x).asnumpy(), wanted)
