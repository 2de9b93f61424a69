"""The forms of `gluonx.ops.cpu`: where they are taken, that their numbers and gradients are XLA's, and where they end.

The choice is read from the lowered program, never from a clock; `benchmarks/ops.py` holds the clock.
"""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.test_util import check_grads

import gluonx as mx
from gluonx import autograd
from gluonx.deferred.operators.derived import pullback_of
from gluonx.ops import get
from gluonx.ops.cpu import reductions as cpu
from gluonx.ops.cpu.convolution import for_cpu, native_operations

WIDE = (3, 20000)  # so wide that XLA sums its rows badly
SLOW = [((3, 20000), (0,)), ((2, 3, 130, 130), (1,)), ((2, 3, 1, 17000), (0, 1)), ((2, 2, 2, 9000), (1,))]
every_slow = pytest.mark.parametrize(("shape", "axes"), SLOW, ids=str)


def numbers(shape, dtype=np.float32, seed=0):
    return jnp.asarray(np.random.default_rng(seed).standard_normal(shape), dtype)


def program(fn, *arrays):
    return jax.jit(fn).lower(*arrays).as_text()


def bound(name, **attrs):
    return get(name).bind(**attrs).fn


REDUCED = {
    "sum": np.sum,
    "mean": np.mean,
    "max": np.max,
    "min": np.min,
    "var": np.var,
    "std": np.std,
    "logsumexp": lambda x, axis, keepdims: np.log(np.exp(x).sum(axis, keepdims=keepdims)),
    "norm": lambda x, axis, keepdims: np.sqrt((x**2).sum(axis, keepdims=keepdims)),
}


@pytest.mark.parametrize("keepdims", [False, True])
@every_slow
@pytest.mark.parametrize("name", REDUCED)
def test_reductions_over_leading_axes(name, shape, axes, keepdims):
    x = numbers(shape)
    found = bound(name, axis=axes, keepdims=keepdims)(x)
    wanted = REDUCED[name](np.asarray(x, np.float64), axis=axes, keepdims=keepdims)
    np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-5)
    assert found.shape == wanted.shape


@pytest.mark.dear
@pytest.mark.parametrize("name", REDUCED)
def test_their_gradients_are_xlas(name):
    x, fn = numbers(WIDE), bound(name, axis=0)
    pulled = {}
    for which in ("form", "native"):

        def loss(x):
            return (fn(x) * jnp.arange(WIDE[1])).sum()

        if which == "native":
            with native_operations():
                pulled[which] = jax.grad(loss)(x)
        else:
            pulled[which] = jax.grad(loss)(x)
    np.testing.assert_allclose(pulled["form"], pulled["native"], rtol=1e-4, atol=1e-3)


def test_a_sum_of_rows_is_a_product_on_a_cpu():
    x = jnp.ones(WIDE)
    assert "dot_general" in program(bound("sum", axis=0), x)
    assert "dot_general" not in program(bound("sum", axis=1), x)
    assert "dot_general" not in program(bound("sum", axis=0), x[:, :16384])
    assert "dot_general" not in program(bound("sum", axis=0), x.astype(int))
    with native_operations():
        assert "dot_general" not in program(lambda x: bound("sum", axis=0)(x), x)
    elsewhere = jax.jit(bound("sum", axis=0)).trace(x).lower(lowering_platforms=("tpu",))
    assert "dot_general" not in elsewhere.as_text()


def test_symbolic_shapes_keep_the_native_forms():
    (n,) = jax.export.symbolic_shape("n")
    x = jax.ShapeDtypeStruct((n, 20000), np.float32)
    for name in ("sum", "max", "argmax", "cumsum", "softmax", "add"):
        inputs = (x, jax.ShapeDtypeStruct((20000,), np.float32)) if name == "add" else (x,)
        attrs = {} if name == "add" else {"axis": 0}
        assert jax.export.export(jax.jit(bound(name, **attrs)))(*inputs).in_avals[0].shape[1] == 20000


@pytest.mark.parametrize("dtype", [jnp.float16, jnp.bfloat16])
def test_half_precision_is_summed_in_float32(dtype):
    x = jnp.full((4096, 17000), 0.5, dtype)
    np.testing.assert_array_equal(bound("sum", axis=0)(x[:300]), jnp.full(17000, 150, dtype))
    assert bound("mean", axis=0)(x[:3]).dtype == dtype
    np.testing.assert_array_equal(bound("mean", axis=0)(x[:3]), jnp.full(17000, 0.5, dtype))


@pytest.mark.dear
def test_infinities_stay_where_they_are():
    x = numbers(WIDE).at[1, 5].set(jnp.inf).at[2, 7].set(jnp.nan)
    for name in ("sum", "max", "logsumexp"):
        found = np.asarray(bound(name, axis=0)(x))
        assert found[5] == np.inf and np.isnan(found[7]) and np.isfinite(np.delete(found, [5, 7])).all(), name
    lowest = jnp.full(WIDE, -jnp.inf)
    assert (bound("logsumexp", axis=0)(lowest) == -jnp.inf).all()


@pytest.mark.dear
def test_derivatives_of_all_kinds():
    x = numbers((2, 17000))
    rows = jax.vmap(bound("sum", axis=0))(jnp.stack([x, 2 * x]))
    np.testing.assert_allclose(rows[1], 2 * rows[0], rtol=1e-6)
    check_grads(lambda s: (bound("sum", axis=0)(s * x) ** 2).mean(), (jnp.float32(0.5),), order=2, modes=["fwd", "rev"])
    check_grads(lambda s: bound("max", axis=0)(s * x).mean(), (jnp.float32(0.5),), order=1, modes=["fwd", "rev"])


@pytest.mark.parametrize("small", [(1, 20000), (20000,)])
def test_the_gradient_of_what_is_broadcast_along_rows(small):
    x, b, g = numbers(WIDE), numbers(small, seed=1), numbers(WIDE, seed=2)
    for name, wanted in (("add", g.sum(0)), ("multiply", (g * x).sum(0)), ("subtract", -g.sum(0))):
        y, pull = jax.vjp(bound(name), x, b)
        np.testing.assert_allclose(pull(g)[1].reshape(-1), wanted, rtol=1e-4, atol=1e-4)
        np.testing.assert_array_equal(y, getattr(jnp, name)(x, b))
    assert "dot_general" in program(lambda x, b, g: jax.vjp(bound("add"), x, b)[1](g), x, b, g)
    with pytest.raises(TypeError, match="broadcast"):
        bound("add")(x, numbers((1, 19999)))


@pytest.mark.dear
def test_the_bias_of_a_large_vocabulary():
    x, w, b, g = numbers((3, 4)), numbers((17000, 4)), numbers((17000,)), numbers((3, 17000))
    y, pull = jax.vjp(bound("fully_connected", num_hidden=17000), x, w, b)
    np.testing.assert_allclose(y, x @ w.T + b, rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(pull(g)[2], g.sum(0), rtol=1e-5, atol=1e-5)


PLACES = [
    ((3, 7), 1),
    ((9, 2000), 1),
    ((5, 4001), 1),
    ((20, 130, 9), 1),
    ((5, 4), 0),
    ((2, 2, 4096), -1),
    ((30000,), 0),
]


@pytest.mark.dear
@pytest.mark.parametrize("smallest", [False, True])
@pytest.mark.parametrize(("shape", "axis"), PLACES, ids=str)
def test_the_place_of_the_largest(shape, axis, smallest):
    rng = np.random.default_rng(3)
    name, wanted = ("argmin", np.argmin) if smallest else ("argmax", np.argmax)
    fn = bound(name, axis=axis)
    kinds = [rng.standard_normal(shape), rng.integers(0, 3, shape), np.full(shape, -np.inf), np.full(shape, np.inf)]
    holes = rng.standard_normal(shape)
    holes[rng.random(shape) < 0.01] = np.nan
    for x in (*kinds, holes):
        np.testing.assert_array_equal(fn(jnp.asarray(x, jnp.float32)), wanted(x.astype(np.float32), axis))
    assert bound(name, axis=axis, keepdims=True)(jnp.zeros(shape)).ndim == len(shape)


def test_the_place_of_the_largest_takes_no_pairs():
    x = jnp.ones((64, 1000))
    assert "stablehlo.minimum" in program(bound("argmax", axis=1), x)
    assert "stablehlo.minimum" not in program(bound("argmax", axis=1), x[:2])
    assert "stablehlo.minimum" not in program(bound("argmax", axis=1), x.astype(int))


@pytest.mark.dear
@pytest.mark.parametrize(("shape", "axis"), [((64, 5), 0), ((5, 64), 1), ((4, 9, 8), 1), ((3, 5), 1), ((5000,), 0)])
def test_running_sums(shape, axis):
    x = numbers(shape)
    fn = bound("cumsum", axis=axis)
    np.testing.assert_allclose(fn(x), np.cumsum(x, axis), rtol=1e-5, atol=1e-5)
    g = numbers(shape, seed=1)
    wanted = np.flip(np.cumsum(np.flip(g, axis), axis), axis)
    np.testing.assert_allclose(jax.vjp(fn, x)[1](g)[0], wanted, rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(jax.jvp(fn, (x,), (g,))[1], np.cumsum(g, axis), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(("shape", "axis"), [((40, 5), 0), ((5, 40), 1)])
def test_running_products(shape, axis):
    x = numbers(shape).at[2, 3].set(0)
    fn = bound("cumprod", axis=axis)
    np.testing.assert_allclose(fn(x), np.cumprod(x, axis), rtol=1e-5)
    g = numbers(shape, seed=1)
    with native_operations():
        wanted = jax.vjp(lambda x: bound("cumprod", axis=axis)(x), x)[1](g)[0]
    np.testing.assert_allclose(jax.vjp(fn, x)[1](g)[0], wanted, rtol=1e-4, atol=1e-4)


@pytest.mark.dear
def test_a_running_sum_keeps_what_comes_before_an_infinity():
    x = jnp.zeros((9, 64)).at[4].set(jnp.inf)
    assert np.isfinite(bound("cumsum", axis=0)(x)[:4]).all()
    half = bound("cumsum", axis=0)(jnp.full((4000, 64), 1, jnp.float16))
    assert half.dtype == np.float16 and half[-1, 0] == 4000


@pytest.mark.dear
@pytest.mark.parametrize(("shape", "axis"), [((100,), 0), ((4, 33), 1), ((33, 4), 0), ((2, 20, 3), 1)])
def test_sorting(shape, axis):
    rng = np.random.default_rng(5)
    x = rng.standard_normal(shape).astype(np.float32)
    x.flat[::7], x.flat[1::11], x.flat[2::13], x.flat[3::17] = np.nan, np.inf, -np.inf, -0.0
    x.flat[5] = np.float32(np.uint32(0xFFC00000).view(np.float32))  # a NaN with a sign
    np.testing.assert_array_equal(bound("sort", axis=axis)(jnp.asarray(x)), np.sort(x, axis))
    clean = numbers(shape)
    check_grads(bound("sort", axis=axis), (clean,), order=1, modes=["fwd", "rev"], atol=1e-2, rtol=1e-2)
    assert "bitcast_convert" in program(bound("sort", axis=axis), clean)


@pytest.mark.dear
@pytest.mark.parametrize("shape", [(2, 3, 8), (4, 1500)])
def test_softmax(shape):
    x, g = numbers(shape), numbers(shape, seed=1)
    for axis in (-1, 0):
        y, pull = jax.vjp(bound("softmax", axis=axis), x)
        wanted, native = jax.vjp(lambda x, axis=axis: jax.nn.softmax(x, axis), x)
        np.testing.assert_allclose(y, wanted, rtol=1e-6)
        np.testing.assert_allclose(pull(g)[0], native(g)[0], rtol=1e-5, atol=1e-6)
    check_grads(bound("softmax"), (x[:2, :3],), order=2, modes=["fwd", "rev"], atol=1e-2, rtol=1e-2)


def test_the_result_of_a_short_softmax_is_kept_for_its_gradient():
    def pulled(x, g):
        return jax.vjp(bound("softmax"), x)[1](g)

    short, long = jnp.ones((2, 128)), jnp.ones((2, 4000))
    assert "optimization_barrier" in program(pulled, short, short)
    assert "optimization_barrier" not in program(pulled, long, long)


@pytest.mark.parametrize("shape", [(2, 5, 3), (2, 2, 5, 3), (4, 3), (3,), (0, 5, 3)], ids=str)
def test_a_dense_layer_over_sequences_is_a_product_of_rows(shape):
    x, w, b = numbers(shape), numbers((7, 3), seed=1), numbers((7,), seed=2)
    fn = bound("fully_connected", num_hidden=7, flatten=False)
    usual, native = jax.vjp(fn, x, w, b)
    with for_cpu():
        y, pull = jax.vjp(fn, x, w, b)
        found = program(lambda *arrays: fn(*arrays), x, w, b)
    np.testing.assert_allclose(y, usual, rtol=1e-5, atol=1e-6)
    for a, c in zip(pull(usual), native(usual), strict=True):
        np.testing.assert_allclose(a, c, rtol=1e-5, atol=1e-5)
    if len(shape) > 2:
        assert "dims = [1] x [1]" in found


HIDDEN = np.random.default_rng(3).uniform(size=(2, 1, 5, 5)) < 0.4
HIDDEN[0, :, 1] = False  # a query that sees nothing


@pytest.mark.dear
@pytest.mark.parametrize("heads", [(4, 4), (4, 2), (4, 1)], ids=str)
@pytest.mark.parametrize("kind", ["plain", "causal", "masked", "causal and masked", "valid"])
def test_attention_and_its_gradient_are_those_of_the_kernel(kind, heads):
    q, (k, v) = numbers((2, 5, heads[0], 3)), (numbers((2, 5, heads[1], 3), seed=i) for i in (1, 2))
    mask = jnp.asarray(HIDDEN) if "masked" in kind else None
    valid = jnp.asarray([3, 0]) if kind == "valid" else None
    op = bound("dot_product_attention", causal="causal" in kind)

    def fn(*arrays):
        return op(*arrays, mask, valid)

    usual, native = jax.vjp(fn, q, k, v)
    with for_cpu():
        y, pull = jax.vjp(fn, q, k, v)
    np.testing.assert_allclose(y, usual, rtol=1e-5, atol=1e-6)
    for a, c in zip(pull(q), native(q), strict=True):
        np.testing.assert_allclose(a, c, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("several", [False, True], ids=["one", "several"])
def test_forms_for_one_cpu_are_in_no_other_program(several):
    """On a mesh that splits lengths they would gather rows, and send keys and values twice."""
    q, w = numbers((2, 5, 4, 3)), numbers((7, 3))

    def pulled(q, w):
        attended = bound("dot_product_attention")(q, q, q)
        return bound("fully_connected", num_hidden=7, flatten=False)(attended.reshape(2, 5, 12)[..., :3], w, None)

    def gradient(q, w):
        y, pull = jax.vjp(pulled, q, w)
        return pull(y)

    with for_cpu(several=several):
        found = program(lambda *arrays: gradient(*arrays), q, w)
    assert ("optimization_barrier" in found) == (not several)  # the softmax keeps its result
    assert ("dims = [1] x [1]" in found) == (not several)
    with native_operations():
        native = program(lambda *arrays: gradient(*arrays), q, w)
    with for_cpu(), native_operations():
        assert program(lambda *arrays: gradient(*arrays), q, w) == native
    assert "stablehlo.case" not in program(lambda *arrays: gradient(*arrays), q, w)  # it is for any machine


def test_a_pull_back_has_the_form_of_the_program_that_it_is_in():
    q, op = numbers((2, 5, 4, 3)), get("dot_product_attention").bind()
    with for_cpu():
        pull = pullback_of(op, (0, 1, 2), 3, (True,)).fn
        assert "optimization_barrier" in program(lambda *arrays: pull(*arrays), q, q, q, q)
    assert "optimization_barrier" not in program(lambda *arrays: pull(*arrays), q, q, q, q)


@pytest.mark.dear
def test_the_loss_of_classes_gathers_forward_and_compares_backward():
    x, y = numbers((5, 9)), jnp.asarray([0, 8, 3, 12, -1])  # those out of range are clipped
    fn = bound("softmax_cross_entropy_loss")
    wanted = -jax.nn.log_softmax(x)[jnp.arange(5), jnp.clip(y, 0, 8)]
    np.testing.assert_allclose(fn(x, y), wanted, rtol=1e-5)
    slope = jax.nn.softmax(x) - jax.nn.one_hot(jnp.clip(y, 0, 8), 9)
    np.testing.assert_allclose(jax.grad(lambda x: fn(x, y).sum())(x), slope, rtol=1e-4, atol=1e-6)
    assert "gather" in program(fn, x, y)
    assert "scatter" not in program(jax.grad(lambda x: fn(x, y).sum()), x)
    check_grads(lambda x: fn(x, y), (x,), order=2, modes=["fwd", "rev"], atol=1e-2, rtol=1e-2)


@pytest.mark.dear
@pytest.mark.parametrize("name", ["gelu", "mish"])
def test_activations_at_both_ends(name):
    x = jnp.asarray([-1e30, -200.0, -20.0, -5.0, -1e-3, 0.0, 1e-3, 5.0, 19.0, 21.0, 90.0, 1e30])
    exact = {"gelu": lambda x: jax.nn.gelu(x, approximate=False), "mish": jax.nn.mish}[name]
    np.testing.assert_allclose(bound(name)(x), exact(x), rtol=1e-6, atol=2e-6)
    slopes = [jax.vmap(jax.grad(f))(x) for f in (bound(name), exact)]
    np.testing.assert_allclose(slopes[0], slopes[1], rtol=1e-5, atol=1e-5)


def test_in_a_net():
    """As a user meets it: a bias and an embedding of places, recorded, deferred and fused."""
    net = mx.gluon.nn.Dense(17000, in_units=3)
    net.initialize()
    x, places = mx.np.ones((2, 3)), mx.np.ones((1, 17000))
    places.attach_grad()
    with autograd.record():
        y = net(x) + places
    y.backward()
    np.testing.assert_array_equal(net.bias.grad().asnumpy(), np.full(17000, 2))
    np.testing.assert_array_equal(places.grad.asnumpy(), np.full((1, 17000), 2))


def test_where_rows_are_folded():
    assert cpu.folded((2, 20000), (0,)) == (1, 2, 20000)
    assert cpu.folded((1, 20000), (0,)) is None  # nothing to add up
    assert cpu.folded((2, 3, 20000), (0, 2)) is None  # what is kept lies between
    assert cpu.folded((0, 20000), (0,)) is None


@pytest.mark.parametrize("name", ["max", "min", "ptp", "argmax", "argmin"])
@pytest.mark.parametrize(
    ("shape", "axis"), [((4, 16, 256), None), ((4, 16, 256), -1), ((64, 4096), 0), ((3, 5), None), ((100000,), None)]
)
def test_nan_among_many_elements_is_not_lost(name, shape, axis):
    """XLA's own reduction on a CPU gives the largest of the others."""
    x = np.zeros(shape, "float32")
    x.reshape(-1)[x.size // 3] = np.nan
    found = getattr(mx.np, name)(mx.np.array(x), axis=axis).asnumpy()
    np.testing.assert_array_equal(found, getattr(np, name)(x, axis=axis))
