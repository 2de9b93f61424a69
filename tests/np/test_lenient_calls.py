"""Calls at the edges that MXNet takes and programs make; every value here is MXNet's (2.0, or 1.9.1 for ``nd``)."""

import math

import numpy as onp
import pytest

import gluonx
from gluonx import gluon, nd, nn, np


def check(found, expected):
    expected = onp.asarray(expected)
    assert found.shape == expected.shape
    onp.testing.assert_allclose(found.asnumpy(), expected, rtol=1e-6)


MATRIX = [[1.0, -2.0], [3.0, 4.0]]


@pytest.mark.parametrize(
    "fn, expected",
    [
        (lambda: np.squeeze(np.array(3.0), 0), 3.0),
        (lambda: np.array(3.0).squeeze(-1), 3.0),
        (lambda: np.argmax(np.array(3.0), 0), 0),
        (lambda: np.argmin(np.array(3.0), -1), 0),
        (lambda: np.array(3.0).argmax(axis=0, keepdims=True), 0),
        (lambda: np.meshgrid(np.array(1.0), np.array([2.0, 3.0]))[1], [[2.0], [3.0]]),
        (lambda: np.meshgrid(np.ones((2, 2)), np.array([1.0, 2.0]))[1], [[1.0] * 4, [2.0] * 4]),
        (lambda: np.meshgrid(np.array([1.0, 2.0]), np.array([3.0]), indexing="ij")[0], [[1.0], [2.0]]),
        (lambda: np.broadcast_to(np.array([1.0, 2.0]), -2), [1.0, 2.0]),
        (lambda: np.broadcast_to(np.array([1.0, 2.0]), (2, -2)), [[1.0, 2.0]] * 2),
        (lambda: np.array([[1.0], [2.0]]).broadcast_to((3, -2, 2)), [[[1.0, 1.0], [2.0, 2.0]]] * 3),
        (lambda: np.linalg.norm(np.array(MATRIX), "inf", axis=(0, 1)), 7.0),
        (lambda: np.linalg.norm(np.array(MATRIX), ord="inf", axis=0), [3.0, 4.0]),
        (lambda: np.linalg.norm(np.array([1.0, -2.0]), ord="inf"), 2.0),
        (lambda: np.linalg.norm(np.array([1.0, -2.0]), ord="-inf"), 1.0),
        (lambda: np.linalg.norm(np.array([1.0, -2.0]), ord="fro"), math.sqrt(5)),
        (lambda: np.arange(0, 5, None), [0, 1, 2, 3, 4]),
        (lambda: np.arange(0, 5, None, "int32"), [0, 1, 2, 3, 4]),
        (lambda: np.arange(2, None, None), [0, 1]),
    ],
)
def test_what_mxnet_takes(fn, expected):
    check(fn(), expected)


@pytest.mark.parametrize("dtype", ["int32", "int16", "uint8"])
@pytest.mark.parametrize("decimals", [0, -1, -2])
def test_integers_are_rounded_as_numpy_rounds_them(dtype, decimals):
    values = onp.array([0, 4, 5, 6, 14, 15, 16, 25, 35, 44, 49, 50, 51, 149, 150, 151], dtype)
    values = onp.concatenate([values, -values]) if dtype != "uint8" else values
    found = np.around(np.array(values, dtype=dtype), decimals)
    assert found.dtype == dtype
    onp.testing.assert_array_equal(found.asnumpy(), onp.around(values, decimals))


def test_integers_are_rounded_to_more_than_there_is():
    assert np.around(np.array([12355, -67890], dtype="int32"), -5).tolist() == [0, -100000]  # MXNet: 0 and 0
    assert np.around(np.array([2**31 - 1], dtype="int32"), -12).tolist() == [0]


def test_the_array_namespace():
    x = np.ones(2)
    assert x.__array_namespace__() is x.__array_namespace__(api_version="2021.12") is np
    with pytest.raises(ValueError, match="'1999'"):
        x.__array_namespace__("1999")


def test_squeeze_and_expand_dims_in_place_are_views():
    """MXNet 1's: the array itself keeps its shape, and sees what is written."""
    x = nd.ones((1, 3, 1))
    y = x.squeeze(inplace=True)
    y[:] = 5
    assert y.shape == (3,) and x.shape == (1, 3, 1) and (x.asnumpy() == 5).all()
    assert x.squeeze(axis=0, inplace=True).shape == (3, 1) and x.squeeze(axis=(0, -1), inplace=True).shape == (3,)
    z = nd.ones((2, 3))
    z.expand_dims(1, inplace=True)[:] = 4
    assert z.expand_dims(-1, inplace=True).shape == (2, 3, 1) and (z.asnumpy() == 4).all()
    with pytest.raises(gluonx.MXNetError, match="squeeze"):
        x.squeeze(axis=1, inplace=True)


@pytest.mark.parametrize(
    "fn",
    [
        lambda x: nd.exp(x, foo=3), lambda x: nd.relu(x, foo=3), lambda x: nd.broadcast_add(x, x, foo=3),
        lambda x: nd.zeros_like(x, foo=3), lambda x: nd.where(x, x, x, foo=3), lambda x: nd.BlockGrad(x, foo=3),
        lambda x: nd.Flatten(x, foo=3), lambda x: nd.elemwise_add(x, x, foo=3),
    ],
)  # fmt: skip
def test_operators_without_attributes_drop_what_they_do_not_know(fn):
    assert fn(nd.ones((1, 3))).shape == (1, 3)


@pytest.mark.parametrize(
    "fn",
    [
        lambda x: nd.sum(x, foo=3), lambda x: nd.Activation(x, act_type="relu", foo=3), lambda x: nd.add_n(x, x, foo=3),
        lambda x: nd.Concat(x, x, dim=0, foo=3), lambda x: nd.softmax(x, foo=3),
        lambda x: nd.sgd_update(x, x, lr=1, foo=3),
    ],
)  # fmt: skip
@pytest.mark.parametrize("error", [gluonx.MXNetError, TypeError])
def test_operators_with_attributes_refuse_it(fn, error):
    with pytest.raises(error, match="has no attribute 'foo'"):
        fn(nd.ones((1, 3)))


@pytest.mark.dear
def test_multinomial_of_either_version():
    n, p = nd.array([4.0, 7.0]), nd.array([[0.2, 0.8], [0.5, 0.5]])
    assert nd.random.multinomial(p).shape == (2,)
    for counts in (nd.random.multinomial(n, p), nd.random.multinomial(n=n, p=p)):
        assert counts.sum(axis=1).asnumpy().tolist() == [4, 7]


@pytest.mark.parametrize("pre", ["multi", "multi_mp"])
@pytest.mark.parametrize("rule", ["adamw", "lamb"])
def test_several_updates_of_one_weight(pre, rule):
    lists = [[nd.ones((1, 3))] for _ in range(5 if pre == "multi_mp" else 4)]
    more = {"etas": (1,)} if rule == "adamw" else {}
    last = nd.ones(1) if rule == "adamw" else [1]
    out = nd.zeros((1, 3))
    getattr(nd.contrib, f"{pre}_{rule}_update")(*lists, last, lrs=(0.1,), wds=(0,), out=[out], **more)
    onp.testing.assert_allclose(out.asnumpy(), onp.full((1, 3), 0.9), rtol=1e-3)


@pytest.mark.parametrize(
    "weights, expected",
    [
        ([[1.0], [2.0]], [0.5, 1.0]),
        ([1.0, 2.0, 3.0], [1.0, 1.0]),
        (2.0, [1.0, 1.0]),
        (onp.full((4, 2, 3), 3.0), [1.5] * 4),
    ],
)
def test_sample_weights_broadcast_as_mxnets(weights, expected):
    check(gluon.loss.L2Loss()(np.ones((2, 3)), np.full((2, 3), 2.0), np.array(weights)), expected)


def test_sample_weights_of_more_axes_than_the_loss():
    x = np.ones((2, 3))
    check(gluon.loss.TripletLoss()(x, x, x, np.array([[1.0], [2.0]])), [[1.0, 1.0], [2.0, 2.0]])
    y = x * np.array([1.0, 2.0, 3.0])
    found = gluon.loss.CosineEmbeddingLoss()(x, y, np.array([1.0, -1.0]), np.array([1.0, 2.0]))
    onp.testing.assert_allclose(found.asnumpy(), [0.11127, 1.38873], rtol=1e-4)
    found = gluon.loss.SoftmaxCELoss()(x, np.array([1, 2]), np.array([1.0, 2.0]))
    onp.testing.assert_allclose(found.asnumpy(), [1.64792, 1.64792], rtol=1e-5)
    with pytest.raises(gluonx.errors.ShapeError, match="sample_weight has shape"):
        gluon.loss.L2Loss()(x, x, np.ones(2))


def parameter(**settings):
    return gluon.Parameter("w", shape=(2,), **settings)


def initialized():
    found = parameter()
    found.initialize()
    return found


@pytest.mark.parametrize(
    "error, fn",
    [
        (AssertionError, lambda: nn.Conv2D(3, 3, layout="NWHC")),
        (AssertionError, lambda: nn.Conv2D(3, (3, 3, 3))),
        (AssertionError, lambda: nn.MaxPool2D(pool_size=(2, 2, 2))),
        (AssertionError, lambda: gluon.loss.CTCLoss(layout="XX")),
        (AssertionError, lambda: gluon.loss.CTCLoss(label_layout="XX")),
        (AssertionError, lambda: gluon.rnn.LSTM(3, layout="foo")),
        (AssertionError, lambda: gluon.rnn.LSTM(3)(np.ones((2, 2)))),
        (AssertionError, lambda: parameter(grad_req="foo")),
        (AssertionError, lambda: parameter(stype="foo")),
        (AssertionError, lambda: parameter(init="foo").initialize()),
        (AssertionError, lambda: initialized().set_data(np.ones(3))),
        (AssertionError, lambda: setattr(initialized(), "shape", (3,))),
        (AssertionError, lambda: gluon.metric.create("foo")),
        (AssertionError, lambda: gluon.metric.TopKAccuracy(1)),
        (AssertionError, lambda: gluon.metric.Perplexity(None).update([np.ones(2)], [np.ones(3)])),
        (AssertionError, lambda: gluonx.initializer.create("foo")),
        (AssertionError, lambda: gluon.data.ArrayDataset()),
        (AssertionError, lambda: gluon.data.ArrayDataset(np.ones(2), np.ones(3))),
        (AssertionError, lambda: gluon.Trainer({}, gluonx.optimizer.SGD(), {"learning_rate": 1})),
        (ValueError, lambda: parameter().reset_ctx(gluonx.cpu())),
        (ValueError, lambda: nn.Dense(2).reset_ctx(gluonx.cpu())),
        (RuntimeError, lambda: parameter().data()),
        (gluonx.MXNetError, lambda: np.reshape(np.ones((2, 3)), (4,))),
    ],
)
def test_errors_are_of_the_class_that_mxnets_are(error, fn):
    with pytest.raises(error):
        fn()
