"""Initializers: MXNet's values and scales, laws, name rules, registry, users' own classes, errors."""

import json

import numpy as np
import pytest

import gluonx.random
from gluonx import initializer as init
from lib import TESTS
from lib.golden import load_cases

ORACLE = TESTS / "oracle" / "optimizer"
cases = load_cases("optimizer")
INITIALIZERS = cases.INITIALIZERS
GOLDEN = json.loads((ORACLE / "initializer.json").read_text())


@pytest.fixture(autouse=True)
def _seed():
    gluonx.random.seed(11)


@pytest.mark.parametrize("case", INITIALIZERS)
def test_equals_mxnet(case):
    name, kwargs, shape = INITIALIZERS[case]
    values = init.create(name, **kwargs).make("weight", shape)
    golden = GOLDEN[case]
    assert values.shape == shape and values.dtype == np.float32
    if isinstance(golden, list):
        np.testing.assert_allclose(values, golden, rtol=1e-6)
    else:
        # The deviation of n draws is known to 1/sqrt(2n) at most; five times both sides' error,
        # which is seven deviations for normal draws, eleven for uniform ones: missed in 3 of 10**12 runs.
        assert values.std() == pytest.approx(golden["std"], rel=5 / np.sqrt(values.size))
        bounded = "uniform" in json.loads(init.create(name, **kwargs).dumps())[1].get("rnd_type", name)
        if bounded:
            assert abs(values).max() == pytest.approx(golden["max"], rel=2e-3)


def distance(values, law):
    """Kolmogorov and Smirnov's distance between values and a distribution function."""
    values = np.sort(values.ravel())
    steps = np.arange(values.size + 1) / values.size
    expected = law(values)
    return max(np.abs(expected - steps[1:]).max(), np.abs(expected - steps[:-1]).max())


def normal_law(x):
    from math import erf

    return np.vectorize(lambda v: 0.5 * (1 + erf(v / np.sqrt(2))))(x)


def test_laws():
    n = 10_000
    limit = 2.9 / np.sqrt(n)  # of Kolmogorov and Smirnov: exceeded with probability 1e-7
    shape = (100, 100)
    assert distance(init.Uniform(0.2).make("weight", shape), lambda x: (x + 0.2) / 0.4) < limit
    assert distance(init.Normal(0.2).make("weight", shape) / 0.2, normal_law) < limit
    assert distance(init.Xavier("gaussian", "in", 4).make("weight", shape) / 0.2, normal_law) < limit
    inside = normal_law(2.0) - normal_law(-2.0)
    cut = (init.TruncNorm(1.0, 0.5).make("weight", shape) - 1.0) / 0.5
    assert abs(cut).max() <= 2.0 + 1e-6
    assert distance(cut, lambda x: (normal_law(x) - normal_law(-2.0)) / inside) < limit


@pytest.mark.parametrize("shape", [(6, 4), (4, 6), (5, 5), (4, 2, 3, 1), (3,)])
@pytest.mark.parametrize("kind", ["uniform", "normal"])
def test_orthogonal(shape, kind):
    q = init.Orthogonal(scale=2.0, rand_type=kind).make("weight", shape).reshape(shape[0], -1) / 2.0
    gram = q @ q.T if q.shape[0] <= q.shape[1] else q.T @ q
    np.testing.assert_allclose(gram, np.eye(len(gram)), atol=1e-6)


def test_seed_repeats():
    gluonx.random.seed(3)
    first = [init.Xavier().make("weight", (3, 4)), init.Normal().make("weight", (3,))]
    gluonx.random.seed(3)
    second = [init.Xavier().make("weight", (3, 4)), init.Normal().make("weight", (3,))]
    for a, b in zip(first, second, strict=True):
        np.testing.assert_array_equal(a, b)
    assert not np.array_equal(first[0], init.Xavier().make("weight", (3, 4)))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("fc.bias", 0),
        ("bn.gamma", 1),
        ("bn.beta", 0),
        ("bn.running_mean", 0),
        ("bn.running_var", 1),
        ("bn.moving_mean", 0),
        ("bn.moving_var", 1),
        ("q_min", 0),
        ("q_max", 1),
        ("fc.weight", 7),
    ],
)
def test_name_rules(name, value):
    np.testing.assert_array_equal(init.Constant(7).make(name, (2, 2)), np.full((2, 2), value))
    array = np.full((2, 2), 9.0)
    init.Constant(7)(init.InitDesc(name), array)
    np.testing.assert_array_equal(array, np.full((2, 2), value))


@pytest.mark.parametrize("chosen", ["ones", init.One(), init.One().dumps(), '{"initializer": "one"}'])
def test_attribute_goes_before_name(chosen):
    desc = init.InitDesc("fc.bias", {"__init__": chosen})
    assert init.Zero().make(desc, (2,)).tolist() == [1, 1]
    assert desc.global_init == init.Zero()


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "int32"])
def test_dtypes(dtype):
    values = init.Constant(3).make("weight", (2,), dtype)
    assert values.dtype.name == dtype and values.tolist() == [3, 3]
    assert init.Uniform(5).make("weight", (64,), dtype).astype(np.float64).std() > 1


def test_scalar_and_empty_shapes():
    assert init.One().make("weight", ()).shape == ()
    assert init.Xavier().make("weight", (0, 3)).shape == (0, 3)
    assert init.TruncNorm().make("weight", (0,)).shape == (0,)


def test_constant_array():
    values = init.Constant(np.arange(3.0)).make("weight", (2, 3))
    assert values.tolist() == [[0, 1, 2], [0, 1, 2]]
    assert init.Constant(np.arange(3)).dumps() == '["constant", {"value": [0, 1, 2]}]'


def test_mixed_goes_by_name():
    mixed = init.Mixed([".*bias", "(conv|fc).*", ".*"], [init.One(), "zeros", init.Constant(5)])
    assert mixed.make(init.InitDesc("fc.bias", {"__init__": mixed}), (1,)).tolist() == [1]
    assert mixed.make("fc.weight", (1,)).tolist() == [0]
    assert mixed.make("embed.weight", (1,)).tolist() == [5]
    # Called as MXNet calls it, the chosen initializer applies its own name rules.
    assert mixed.make("fc.bias", (1,)).tolist() == [0]
    with pytest.raises(ValueError, match=r"'out.weight' matches no pattern of Mixed \('fc'\)"):
        init.Mixed(["fc"], [init.One()]).make("out.weight", (1,))
    with pytest.raises(ValueError, match="2 patterns, but 1 initializers"):
        init.Mixed(["a", "b"], [init.One()])


def test_load():
    load = init.Load({"arg:fc.weight": np.arange(2.0)}, default_init=init.One())
    assert load.make("fc.weight", (2,)).tolist() == [0, 1]
    assert load.make("other.weight", (2,)).tolist() == [1, 1]
    with pytest.raises(ValueError, match=r"'fc.weight' has shape \(3,\), but the loaded array \(2,\)"):
        load.make("fc.weight", (3,))
    with pytest.raises(ValueError, match=r"no array for 'x.weight' and no default_init; it has fc.weight"):
        init.Load({"fc.weight": np.ones(2)}).make("x.weight", (2,))


def test_registry():
    assert init.create("Xavier", magnitude=2) == init.Xavier(magnitude=2) != init.Xavier()
    assert init.create(init.Xavier(magnitude=2).dumps()) == init.Xavier(magnitude=2)
    assert init.create({"initializer": "normal", "sigma": 2}) == init.Normal(2)
    one = init.One()
    assert init.create(one) is one
    assert len({init.One(), init.One()}) == 1
    assert repr(init.Xavier()) == "Xavier(rnd_type='uniform', factor_type='avg', magnitude=3)"


def test_own_class_on_the_host():
    @init.alias("countup")
    @init.register
    class Count(init.Initializer):
        def _values(self, name, shape):
            return np.arange(np.prod(shape)).reshape(shape)

    assert init.create("count").make("weight", (2, 2)).tolist() == [[0, 1], [2, 3]]
    assert isinstance(init.create("countup"), Count)


def test_own_class_gets_an_ndarray():
    gnp = pytest.importorskip("gluonx.np")
    seen = []

    class Half(init.Initializer):
        def _init_weight(self, name, arr):
            seen.append(type(arr))
            arr[:] = np.random.RandomState(0).uniform(size=arr.shape)
            arr *= 0.5

    values = init.Zero().make(init.InitDesc("fc.bias", {"__init__": Half()}), (2, 3))
    assert seen == [gnp.ndarray] and isinstance(values, np.ndarray)
    np.testing.assert_allclose(values, np.random.RandomState(0).uniform(size=(2, 3)) / 2, rtol=1e-6)


def test_writes_into_an_ndarray():
    gnp = pytest.importorskip("gluonx.np")
    array = gnp.zeros((2, 3))
    init.Constant(4)(init.InitDesc("weight"), array)
    np.testing.assert_array_equal(array.asnumpy(), np.full((2, 3), 4.0))


def test_verbosity(caplog):
    with caplog.at_level("INFO"):
        init.Constant(2).set_verbosity(True).make("weight", (3,))
    assert "Initialized weight by Constant(value=2): 2.0" in caplog.text


@pytest.mark.parametrize(
    ("make", "error", "words"),
    [
        # Initializers that other tests of this process have registered stand between those of gluonx.
        (lambda: init.create("nothing"), ValueError, "No initializer is called 'nothing'; there are .*bilinear, "),
        (lambda: init.create(3), TypeError, "this is 3"),
        (lambda: init.create(init.One(), 3), TypeError, "settings already"),
        (lambda: init.register(dict), TypeError, "subclass of Initializer"),
        (lambda: init.Xavier().make("fc.weight", (3,)), ValueError, r"'fc.weight' has shape \(3,\)"),
        (lambda: init.Xavier(factor_type="x"), ValueError, "factor_type is 'avg', 'in' or 'out', not 'x'"),
        (lambda: init.Xavier(rnd_type="x"), ValueError, "rnd_type is 'uniform' or 'gaussian', not 'x'"),
        (lambda: init.Orthogonal(rand_type="x"), ValueError, "rand_type is"),
        (lambda: init.Bilinear().make("weight", (3, 3)), ValueError, "4 dimensions"),
        (
            lambda: init.Xavier().make("table", (3, 3)),
            ValueError,
            "No rule says how to initialize the parameter 'table'",
        ),
        (lambda: init.Initializer().make("weight", (3,)), NotImplementedError, "must define _init_weight"),
    ],
)
def test_errors(make, error, words):
    with pytest.raises(error, match=words):
        make()


# ----------------------------------------------------------------- the flat vector of a fused recurrent layer


@pytest.mark.parametrize(
    ("mode", "bidirectional", "projection", "size", "runs"),
    [  # what MXNet 2.0 makes of 5 inputs: how many in a row have which value
        ("lstm", False, None, 216, [(1, 60), (2, 36), (1, 36), (2, 36), (3, 12), (4, 12), (3, 12), (4, 12)]),
        ("rnn_tanh", False, None, 54, [(1, 15), (2, 9), (1, 9), (2, 9), (3, 3), (4, 3), (3, 3), (4, 3)]),
        ("gru", True, None, 378, [(1, 45), (2, 27)] * 2 + [(1, 54), (2, 27)] * 2 + [(3, 9), (4, 9)] * 4),
        ("lstm", True, 2, 432, [(1, 60), (2, 24), (5, 6)] * 2 + [(1, 48), (2, 24), (5, 6)] * 2
         + [(3, 12), (4, 12)] * 4),
    ],
)  # fmt: skip
def test_rnn_fused(mode, bidirectional, projection, size, runs):
    kinds = ("i2h_weight", "h2h_weight", "i2h_bias", "h2h_bias", "h2r_weight")
    chosen = {f"{kind}_initializer": init.Constant(i + 1) for i, kind in enumerate(kinds)}
    fused = init.RNNFused(mode, 2, 3, bidirectional, projection, **chosen)
    wanted = np.concatenate([np.full(count, value, np.float32) for value, count in runs])
    assert fused.make("parameters_weight", (size,)).tolist() == wanted.tolist()
    again = init.create(fused.dumps())
    assert again == fused and again.make("w_weight", (size,)).tolist() == wanted.tolist()


def test_rnn_fused_without_initializers_of_its_own():
    fused = init.RNNFused("rnn_relu", 1, 2)
    values = fused.make("parameters_weight", (14,))
    assert (values[:10] != 0).all() and abs(values).max() <= 0.07 and values[10:].tolist() == [0] * 4
    fused.set_initializer("ones")
    assert fused.make("parameters_weight", (14,)).tolist() == [1.0] * 10 + [0.0] * 4
    with pytest.raises(ValueError, match=r"no input size gives \(15,\) parameters"):
        fused.make("parameters_weight", (15,))
    with pytest.raises(AttributeError, match="has no attribute 'Bogus'"):
        _ = init.Bogus
