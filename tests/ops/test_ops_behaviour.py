"""Behaviour of operators beyond the oracle's cases: layouts, element types, robustness, randomness."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from gluonx import ops

KEY = jax.random.key(7)


def run(name, *arrays, **attrs):
    return ops.get(name).bind(**attrs)(*arrays)


def normal(rng, *shape):
    return jnp.asarray(rng.standard_normal(shape), jnp.float32)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_a_depthwise_deconvolution_of_half_precision(dtype):
    rng = np.random.default_rng(0)
    arrays = normal(rng, 2, 2, 4, 3, 4), normal(rng, 2, 1, 2, 2, 3)
    attrs = {"num_group": 2, "dilate": (2, 1, 2), "no_bias": True}
    out = run("deconvolution", *(a.astype(dtype) for a in arrays), **attrs)
    assert out.dtype == dtype
    np.testing.assert_allclose(out.astype("float32"), run("deconvolution", *arrays, **attrs), rtol=0.02, atol=0.05)


@pytest.mark.dear
@pytest.mark.parametrize("name", ["convolution", "deconvolution"])
@pytest.mark.parametrize("groups", [1, 2])
@pytest.mark.parametrize("space", [(6,), (6, 5), (4, 3, 5)])
def test_channels_last_is_the_same_convolution(name, groups, space, rng):
    n = len(space)
    x, w = normal(rng, 2, 4, *space), normal(rng, 4, 4 // groups, *(3, 2, 2)[:n])
    b = normal(rng, w.shape[1] * groups if name == "deconvolution" else 4)
    attrs = {"num_group": groups, "stride": (2, 1, 1)[:n], "pad": (1, 0, 1)[:n], "dilate": (1, 2, 1)[:n]}
    first = run(name, x, w, b, **attrs)
    layout = {1: "NWC", 2: "NHWC", 3: "NDHWC"}[n]
    last = run(name, jnp.moveaxis(x, 1, -1), jnp.moveaxis(w, 1, -1), b, layout=layout, **attrs)
    np.testing.assert_allclose(jnp.moveaxis(last, -1, 1), first, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("kind", ["max", "avg", "lp"])
def test_channels_last_is_the_same_pooling(kind, rng):
    x = normal(rng, 2, 3, 7, 6)
    attrs = {"kernel": (3, 2), "stride": (2, 2), "pad": (1, 1), "pool_type": kind, "pooling_convention": "full"}
    last = run("pooling", jnp.moveaxis(x, 1, -1), layout="NHWC", **attrs)
    np.testing.assert_allclose(jnp.moveaxis(last, -1, 1), run("pooling", x, **attrs), rtol=1e-5)


@pytest.mark.parametrize("kernel, stride", [((2, 2), (2, 2)), ((3, 3), (2, 2)), ((70, 2), (3, 1)), ((80, 80), (1, 1))])
def test_pooling_is_reduce_window(kernel, stride, rng):
    x = normal(rng, 1, 2, 80, 80)
    sizes, steps = (1, 1, *kernel), (1, 1, *stride)
    for kind, start, combine in (("max", -jnp.inf, lax.max), ("sum", 0.0, lax.add)):
        wanted = lax.reduce_window(x, start, combine, sizes, steps, "VALID")
        found = run("pooling", x, kernel=kernel, stride=stride, pool_type=kind)
        np.testing.assert_allclose(found, wanted, rtol=1e-3, atol=1e-3)


@pytest.mark.dear
def test_same_pooling_divides_by_the_stride(rng):
    x = normal(rng, 1, 1, 7, 5)
    found = run("pooling", x, kernel=(3, 3), stride=(2, 2), pooling_convention="same")
    wanted = lax.reduce_window(x, -jnp.inf, lax.max, (1, 1, 3, 3), (1, 1, 2, 2), "SAME")
    np.testing.assert_array_equal(found, wanted)


def test_pooling_of_integers():
    found = run("pooling", jnp.arange(16).reshape(1, 1, 4, 4), kernel=(2, 2), stride=(2, 2), pad=(1, 1))
    assert found.dtype == jnp.int32 and found[0, 0].tolist() == [[0, 2, 3], [8, 10, 11], [12, 14, 15]]


@pytest.mark.dear
@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_half_precision_keeps_its_type_and_its_digits(dtype, rng):
    x = normal(rng, 8, 4, 6).astype(dtype) + jnp.asarray(100, dtype)
    g, b, m, v = jnp.ones(4), jnp.zeros(4), jnp.zeros(4), jnp.ones(4)
    out, mean, var = run("batch_norm", x, g, b, m, v, training=True)
    assert out.dtype == x.dtype and mean.dtype == var.dtype == jnp.float32
    wide = np.asarray(x, np.float64)
    np.testing.assert_allclose(mean, 0.1 * wide.mean((0, 2)), rtol=1e-5)
    np.testing.assert_allclose(var, 0.9 + 0.1 * wide.var((0, 2)), rtol=1e-4)
    for name, arrays in {"layer_norm": [jnp.ones(6), jnp.zeros(6)], "softmax": [], "rms_norm": [jnp.ones(6)]}.items():
        assert run(name, x, *arrays).dtype == x.dtype
    assert run("pooling", x, kernel=(2,), pool_type="avg").dtype == x.dtype


def test_variance_survives_a_large_mean(rng):
    noise = rng.standard_normal((64, 3, 16)).astype(np.float32)
    x = jnp.asarray(noise + 1e4)
    _, _, var = run("batch_norm", x, *[jnp.ones(3)] * 2, *[jnp.zeros(3)] * 2, training=True, momentum=0.0)
    np.testing.assert_allclose(var, np.asarray(x, np.float64).var((0, 2)), rtol=1e-3)


@pytest.mark.parametrize("far", [0.0, 1e4])
def test_the_batch_norm_of_gpus_is_that_of_others(far, rng, monkeypatch):
    """What it takes for the mean, while it reads the data once, is in neither values nor gradients, even an outlier."""
    x = jnp.asarray(rng.standard_normal((4, 3, 5, 6)).astype("float32") + far).at[:, 1, 2, 3].add(50.0)
    fn = ops.get("batch_norm").bind(training=True, momentum=0.0, fix_gamma=False).fn
    rest = [jnp.asarray(rng.uniform(1, 2, 3), "float32") for _ in range(4)]

    def value(*arrays):
        out, mean, var = fn(*arrays)
        return (jnp.sin(out) * jnp.arange(6)).sum(), (out, mean, var)

    def answers():
        slopes, found = jax.grad(value, (0, 1, 2), has_aux=True)(x, *rest)
        bends = jax.grad(lambda x: (jax.grad(value, has_aux=True)(x, *rest)[0] ** 2).sum())(x)
        return *found, *slopes, bends

    mine, taken = answers(), []
    choose = lax.platform_dependent
    with monkeypatch.context() as patch:
        patch.setattr(lax, "platform_dependent", lambda *a, **f: taken.append(a) or f.get("cuda", f["default"])(*a))
        ours = answers()
    assert taken and lax.platform_dependent is choose
    wide = np.asarray(x, np.float64)
    np.testing.assert_allclose(ours[1], wide.mean((0, 2, 3)), rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(ours[2], wide.var((0, 2, 3)), rtol=1e-3 if far else 1e-5)
    for a, b in zip(ours, mine, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-3, atol=(1e-2 if far else 1e-4) * float(abs(b).max()))


@pytest.mark.dear
def test_batch_norm_predicts_with_what_it_was_given(rng):
    x, ones, zeros = normal(rng, 4, 3), jnp.ones(3), jnp.zeros(3)
    np.testing.assert_allclose(run("batch_norm", x, ones, zeros, zeros, ones, eps=0.0, training=False), x)
    out, mean, var = run("batch_norm", x, ones, zeros, zeros, ones, eps=0.0, use_global_stats=True, training=True)
    np.testing.assert_allclose(out, x)
    assert mean is zeros and var is ones


@pytest.mark.dear
@pytest.mark.parametrize("dtype", [jnp.int8, jnp.uint8, jnp.int32])
def test_topk_of_integers(dtype):
    x = jnp.array([3, 0, 100, 7], dtype)
    assert run("topk", x, k=2, ret_typ="value").tolist() == [100, 7]
    assert run("topk", x, k=2, ret_typ="value", is_ascend=True).tolist() == [0, 3]


def test_temperature_does_not_recompile():
    count = []
    bound = ops.get("softmax").bind()
    fn = jax.jit(lambda x, t: (count.append(1), bound(x, None, t))[1])
    for t in (1.0, 2.0, 3.0):
        fn(jnp.ones(3), t)
    assert len(count) == 1


@pytest.mark.dear
def test_mixed_types_are_promoted():
    half, single = jnp.ones((2, 3), jnp.float16), jnp.ones((4, 3))
    assert run("fully_connected", half, single).dtype == jnp.float32
    assert (
        run("convolution", jnp.ones((1, 2, 5), jnp.bfloat16), jnp.ones((3, 2, 3), jnp.bfloat16)).dtype == jnp.bfloat16
    )


def test_hard_swish():
    """The numbers are MXNet's, of ``x * hard_sigmoid(x, alpha=1/6, beta=0.5)``."""
    x = jnp.array([-4, -3, -2.999, -1, 0, 1, 3, 4, np.nan])
    wanted = [0, 0, -4.997971e-04, -3.333333e-01, 0, 6.666667e-01, 3, 4, np.nan]
    np.testing.assert_allclose(run("hard_swish", x), wanted, rtol=1e-6)
    assert run("hard_swish", jnp.ones(1, jnp.float16)).dtype == jnp.float16


def test_clip_keeps_integers():
    assert run("clip", jnp.array([1, 5]), jnp.float32(2), jnp.float32(3)).dtype == jnp.int32
    assert run("clip", jnp.array([1.0, jnp.nan]), None, jnp.float32(0)).tolist()[0] == 0.0


@pytest.mark.dear
def test_nan_stays_nan():
    nan = jnp.array([jnp.nan])
    for name in ("maximum", "minimum"):
        assert np.isnan(run(name, nan, jnp.ones(1))) and np.isnan(run(name, jnp.ones(1), nan))
    assert np.isnan(run("relu", nan)) and np.isnan(run("std", jnp.array([1.0, jnp.nan])))


def test_rows_without_anything_left():
    mask = jnp.zeros((1, 3), bool)
    assert run("masked_softmax", jnp.ones((1, 3)), mask).tolist() == [[0, 0, 0]]
    assert run("softmax", jnp.ones((1, 3)), jnp.array([0]), use_length=True).tolist() == [[0, 0, 0]]
    assert np.all(np.isneginf(run("masked_log_softmax", jnp.ones((1, 3)), mask)))


# -- randomness -------------------------------------------------------------------------------------------------------


@pytest.mark.dear
@pytest.mark.parametrize("axes, distinct", [((), 12), ((0,), 4), ((1,), 3), ((-1,), 3)])
def test_dropout_axes_share_one_fate(axes, distinct):
    x = jnp.ones((3, 4)) * jnp.arange(1.0, 13).reshape(3, 4)
    out = run("dropout", KEY, x, p=0.5, axes=axes, training=True)
    ratio = np.asarray(out / x)
    assert set(np.unique(ratio)) <= {0.0, 2.0}
    for axis in axes:
        assert np.all(ratio == np.take(ratio, [0], axis))
    assert ratio.size // np.prod([x.shape[a] for a in axes], dtype=int) == distinct


@pytest.mark.parametrize("p", [0.1, 0.5, 0.9])
def test_dropout_keeps_the_mean(p):
    out = run("dropout", KEY, jnp.ones(100_000), p=p, training=True)
    assert abs(float(jnp.mean(out == 0)) - p) < 0.01 and abs(float(out.mean()) - 1) < 0.05


def test_dropout_extremes():
    x = jnp.ones(5)
    assert run("dropout", KEY, x, p=1.0, training=True).tolist() == [0] * 5
    assert run("dropout", KEY, x, p=0.5, mode="always", training=False).dtype == x.dtype
    assert run("dropout", x, p=0.5, training=False) is x


def test_rrelu():
    x = -jnp.ones(1000)
    slopes = -run("leaky_relu", KEY, x, act_type="rrelu", training=True)
    assert 0.125 <= slopes.min() < 0.14 and 0.32 < slopes.max() <= 0.334
    assert run("leaky_relu", x, act_type="rrelu", training=False)[0] == pytest.approx(-(0.125 + 0.334) / 2)


# operator, parameters, mean, standard deviation
LAWS = [
    ("random_uniform", (1.0, 3.0), 2.0, 2 / 12**0.5),
    ("random_normal", (1.0, 2.0), 1.0, 2.0),
    ("random_lognormal", (0.0, 0.5), np.exp(0.125), (np.expm1(0.25) * np.exp(0.25)) ** 0.5),
    ("random_gamma", (4.0, 0.5), 2.0, 1.0),
    ("random_chisquare", (4.0,), 4.0, 8**0.5),
    ("random_beta", (2.0, 3.0), 0.4, 0.2),
    ("random_f", (5.0, 20.0), 20 / 18, (2 * 20**2 * 23 / (5 * 18**2 * 16)) ** 0.5),
    ("random_exponential", (2.0,), 2.0, 2.0),
    ("random_laplace", (1.0, 2.0), 1.0, 8**0.5),
    ("random_logistic", (1.0, 0.5), 1.0, 0.5 * np.pi / 3**0.5),
    ("random_gumbel", (1.0, 2.0), 1 + 2 * 0.57721566, 2 * np.pi / 6**0.5),
    ("random_rayleigh", (2.0,), 2 * (np.pi / 2) ** 0.5, 2 * (2 - np.pi / 2) ** 0.5),
    ("random_weibull", (2.0,), 0.886227, 0.463251),
    ("random_pareto", (6.0,), 0.2, (6 / (25 * 4)) ** 0.5),
    ("random_power", (3.0,), 0.75, (3 / 80) ** 0.5),
    ("random_poisson", (3.0,), 3.0, 3**0.5),
    ("random_negative_binomial", (3.0, 0.4), 4.5, (4.5 / 0.4) ** 0.5),
    ("random_negative_binomial", (0.5, 0.2), 2.0, 10**0.5),
    ("random_generalized_negative_binomial", (2.0, 0.5), 2.0, 2.0),
    ("random_poisson", (40.0,), 40.0, 40**0.5),
    ("random_binomial", (10.0, 0.3), 3.0, 2.1**0.5),
    ("random_bernoulli", (0.3,), 0.3, 0.21**0.5),
    ("random_randint", (0, 10), 4.5, 8.25**0.5),
]


@pytest.mark.dear
@pytest.mark.parametrize("name, parameters, mean, deviation", LAWS)
def test_moments(name, parameters, mean, deviation):
    n = 20_000
    bound = ops.get(name).bind(size=(n // 4, 4))
    draw = np.asarray(bound(KEY, *parameters), np.float64)
    assert draw.shape == (n // 4, 4)
    assert abs(draw.mean() - mean) < 6 * deviation / n**0.5
    assert abs(draw.std() / deviation - 1) < 0.1


@pytest.mark.parametrize(
    "name", ["random_uniform", "random_normal", "random_laplace", "random_gumbel", "random_logistic"]
)
def test_parameters_broadcast(name):
    a, b = jnp.zeros((3, 1)), jnp.ones(2)
    assert run(name, KEY, a, b).shape == (3, 2)
    assert run(name, KEY, a, b, size=(5, 3, 2), dtype="float16").dtype == jnp.float16
    assert run(name, KEY).shape == ()
    with pytest.raises(ValueError, match="do not broadcast to a draw of size"):
        run(name, KEY, a, b, size=(2, 2))


@pytest.mark.dear
def test_integers_and_classes():
    assert run("random_randint", KEY, 5, size=3).dtype == np.int64
    assert run("random_randint", KEY, 0, 250, size=9, dtype="uint8").dtype == jnp.uint8
    p = jnp.array([[0.0, 1.0, 0.0], [0.5, 0.0, 0.5]])
    drawn, chance = run("random_categorical", KEY, p, size=(50,), get_prob=True)
    assert drawn.shape == chance.shape == (2, 50) and set(drawn[0].tolist()) == {1} and 1 not in drawn[1].tolist()
    np.testing.assert_allclose(chance[1], np.log(0.5), rtol=1e-5)
    counts = np.asarray(run("random_multinomial", KEY, p[1], n=20, size=(4,)))
    assert counts.shape == (4, 3) and np.all(counts.sum(-1) == 20) and not counts[:, 1].any()


def test_permutations():
    x = jnp.arange(20).reshape(10, 2)
    shuffled = run("random_permutation", KEY, x)
    assert shuffled.tolist() != x.tolist() and sorted(shuffled.tolist()) == x.tolist()
    chosen = run("random_choice", KEY, jnp.arange(9), size=9, replace=False)
    assert sorted(chosen.tolist()) == list(range(9))


@pytest.mark.dear
def test_multivariate_normal():
    cov = jnp.array([[2.0, 0.6], [0.6, 1.0]])
    draw = run("random_multivariate_normal", KEY, jnp.array([1.0, -1.0]), cov, size=20_000)
    np.testing.assert_allclose(np.cov(np.asarray(draw).T), cov, atol=0.08)
    np.testing.assert_allclose(draw.mean(0), [1, -1], atol=0.05)


def test_bernoulli_needs_one_parameter():
    with pytest.raises(ValueError, match="give either prob or logit"):
        run("random_bernoulli", KEY)
    assert run("random_bernoulli", KEY, None, jnp.array([-50.0, 50.0])).tolist() == [0, 1]


def test_swiglu_of_integers_is_not_truncated():
    x = jnp.array([1, 2, 3])
    found = run("swiglu", x, x)
    assert found.dtype == "float32"
    np.testing.assert_allclose(found, jax.nn.silu(x.astype("float32")) * x, rtol=1e-6)
