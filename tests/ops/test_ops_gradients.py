"""Gradients of the core operators: finite differences, kinks, and places where naive formulas give NaN."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.test_util import check_grads

from gluonx import ops
from gluonx.ops.cpu.convolution import native_operations

BN = {"fix_gamma": False, "training": True}
POOL = {"kernel": (3, 2), "stride": (2, 2), "pad": (1, 0)}

# operator, attributes, shapes of float inputs, further (fixed) inputs
SMOOTH = [
    ("fully_connected", {}, [(3, 2, 2), (5, 4), (5,)]),
    ("embedding", {}, [(5, 3)], [jnp.array([[0, 4], [1, 1]])]),
    ("softmax", {"axis": 1}, [(2, 5)]),
    ("log_softmax", {}, [(2, 5)]),
    ("softmin", {}, [(2, 5)]),
    ("l2_normalization", {}, [(2, 3, 2)]),
    ("leaky_relu", {"act_type": "selu"}, [(3, 4)]),
    ("leaky_relu", {"act_type": "prelu"}, [(2, 3), (3,)]),
    ("activation", {"act_type": "mish"}, [(3, 4)]),
    ("smooth_l1", {"scalar": 2.0}, [(3, 4)]),
    ("swiglu", {}, [(2, 3), (2, 3)]),
    ("convolution", {"stride": (2, 1), "pad": (1, 0), "num_group": 2}, [(2, 4, 5, 4), (4, 2, 3, 2), (4,)]),
    ("deconvolution", {"stride": (2, 2), "adj": (1, 0), "num_group": 2}, [(1, 4, 3, 2), (4, 2, 2, 3), (4,)]),
    *[("pooling", {**POOL, "pool_type": kind}, [(1, 2, 5, 4)]) for kind in ("max", "avg", "sum", "lp")],
    ("pooling", {"global_pool": True}, [(1, 2, 5, 4)]),
    ("adaptive_avg_pooling", {"output_size": (2, 3)}, [(1, 2, 5, 6)]),
    ("adaptive_max_pooling", {"output_size": (2, 3)}, [(1, 2, 5, 6)]),
    ("layer_norm", {"eps": 1e-2}, [(2, 3, 4), (4,), (4,)]),
    ("group_norm", {"num_groups": 2, "eps": 1e-2}, [(2, 4, 3), (4,), (4,)]),
    ("instance_norm", {"eps": 1e-2}, [(2, 3, 4), (3,), (3,)]),
    ("rms_norm", {}, [(2, 3, 4), (4,)]),
    ("lrn", {"nsize": 3, "alpha": 0.1}, [(2, 4, 3)]),
    ("norm", {"axis": 1}, [(2, 3)]),
    ("std", {"axis": 1}, [(2, 3)]),
    ("prod", {"axis": 1}, [(2, 3)]),
    ("logsumexp", {"axis": 1}, [(2, 3)]),
    ("cumsum", {"axis": 1}, [(2, 3)]),
    ("integer_power", {"exponent": 3}, [(2, 3)]),
    ("einsum", {"subscripts": "ij,jk->ik"}, [(2, 3), (3, 4)]),
    ("topk", {"k": 2, "ret_typ": "value"}, [(2, 5)]),
    ("sort", {}, [(2, 5)]),
    ("repeat", {"repeats": 2, "axis": 1}, [(2, 3)]),
    ("repeat", {"repeats": (1, 0, 2), "axis": 1}, [(2, 3)]),
    ("pad", {"pad_width": ((1, 0), (0, 2)), "mode": "reflect"}, [(3, 4)]),
    ("slice", {"begin": (None, 2), "end": (None, 0), "step": (1, -1)}, [(2, 4)]),
]


@pytest.mark.dear
@pytest.mark.parametrize("row", SMOOTH, ids=lambda row: f"{row[0]}-{'-'.join(map(str, row[1].values()))}")
def test_finite_differences(row, rng):
    name, attrs, shapes, *fixed = row
    floats = [
        jnp.asarray(rng.permutation(np.linspace(0.5, 2.5, int(np.prod(s)), dtype=np.float32)).reshape(s))
        for s in shapes
    ]
    bound = ops.get(name).bind(**attrs)
    fn = jax.jit(lambda *args: bound(*(fixed[0] if fixed else []), *args))
    check_grads(fn, tuple(floats), order=1, modes=("fwd", "rev"), atol=2e-2, rtol=2e-2, eps=1e-2)


@pytest.mark.dear
@pytest.mark.parametrize("axis", [1, -1])
def test_batch_norm(axis, rng):
    shape = (4, 3, 5) if axis == 1 else (4, 5, 3)
    x = jnp.asarray(rng.standard_normal(shape), jnp.float32)
    gamma, beta, mean, var = (jnp.asarray(rng.uniform(0.5, 2, 3), jnp.float32) for _ in range(4))
    bound = ops.get("batch_norm").bind(**BN, axis=axis, eps=1e-2)
    fn = jax.jit(lambda x, gamma, beta: bound(x, gamma, beta, mean, var)[0])
    check_grads(fn, (x, gamma, beta), order=2, modes=("rev",), atol=3e-2, rtol=3e-2, eps=1e-2)


def gradient(name, *arrays, **attrs):
    bound = ops.get(name).bind(**attrs)
    return jax.grad(lambda x: jnp.sum(bound(x, *arrays[1:])))(arrays[0])


KINKS = [
    ("relu", [[-1.0, 0.0, 1.0]], {}, [0, 0, 1]),
    ("absolute", [[-1.0, 0.0, 1.0]], {}, [-1, 0, 1]),
    ("maximum", [[1.0, 2.0, 3.0], [2.0, 2.0, 2.0]], {}, [0, 1, 1]),
    ("minimum", [[1.0, 2.0, 3.0], [2.0, 2.0, 2.0]], {}, [1, 1, 0]),
    ("clip", [[-1.0, 0.0, 0.5, 1.0, 2.0], 0.0, 1.0], {}, [0, 1, 1, 1, 0]),
    ("norm", [[0.0, 0.0]], {}, [0, 0]),
    ("std", [[2.0, 2.0]], {}, [0, 0]),
    ("prod", [[0.0, 2.0, 3.0]], {}, [6, 0, 0]),
    ("masked_softmax", [[[1.0, 2.0]], [[0.0, 0.0]]], {}, [[0, 0]]),
    ("leaky_relu", [[-1.0, 100.0]], {"act_type": "elu"}, [np.exp(-1) * 0.25, 1]),
    ("thresholded_relu", [[-1.0, 0.5, 2.0]], {"alpha": 0.5}, [0, 0, 1]),
    ("shrink", [[-2.0, -0.5, 0.0, 0.5, 2.0]], {"bias": 0.5}, [1, 0, 0, 0, 1]),
    ("celu", [[-200.0, -2.0, 0.0, 2.0]], {"alpha": 2.0}, [0, np.exp(-1), 1, 1]),
    ("softrelu", [[-200.0, 200.0]], {}, [0, 1]),
    ("log_sigmoid", [[-200.0, 200.0]], {}, [1, 0]),
    ("round_ste", [[1.4, -1.6]], {}, [1, 1]),
    ("hard_tanh", [[-2.0, -1.0, 0.0, 1.0, 2.0]], {}, [0, 0, 1, 0, 0]),
    ("activation", [[-200.0, -2.0, 0.0, 2.0]], {"act_type": "celu"}, [0, np.exp(-2), 1, 1]),
    ("activation", [[-2.0, 0.5, 2.0]], {"act_type": "soft_shrink"}, [1, 0, 1]),
    ("hard_swish", [[-4.0, -3.0, -1.0, 0.0, 3.0, 4.0]], {}, [0, 0, 1 / 6, 0.5, 1, 1]),  # MXNet's x * hard_sigmoid(x)
]


@pytest.mark.dear
@pytest.mark.parametrize("name, inputs, attrs, wanted", KINKS)
def test_kinks(name, inputs, attrs, wanted):
    found = gradient(name, *(jnp.asarray(x) for x in inputs), **attrs)
    np.testing.assert_allclose(found, wanted, atol=1e-6)


@pytest.mark.dear
def test_masked_log_softmax_ignores_masked_scores():
    scores, mask = jnp.array([[1.0, 2.0, jnp.inf]]), jnp.array([[True, True, False]])
    bound = ops.get("masked_log_softmax").bind()
    found = jax.grad(lambda x: bound(x, mask)[0, 0])(scores)
    np.testing.assert_allclose(found, [[0.731059, -0.731059, 0]], rtol=1e-5)


@pytest.mark.parametrize("layout", ["NCHW", "NHWC"])
def test_pooling_by_two_masks(layout):
    """The form that is not for CPUs gives the gradient to the same element, the first of equal ones; at NaN as well."""
    fn = ops.get("pooling").bind(kernel=(2, 2), stride=(2, 2), layout=layout).fn
    x = jnp.asarray(np.random.RandomState(0).randint(0, 3, (2, 4, 6, 4)), "float32").at[0, 1, 2, 2].set(jnp.nan)

    def slopes(x):
        out, pull = jax.vjp(fn, x)
        return pull(jnp.arange(1.0, out.size + 1).reshape(out.shape))[0]

    theirs = jax.jit(slopes)(x)
    with native_operations():
        mine = jax.jit(lambda x: slopes(x))(x)
        assert "optimization_barrier" in str(jax.make_jaxpr(lambda x: slopes(x))(x))
    np.testing.assert_array_equal(mine, theirs)
    assert (np.asarray(mine) != 0).sum() == 2 * 4 * 6


@pytest.mark.dear
def test_lp_pooling_of_zeros():
    x = jnp.zeros((1, 1, 4, 4))
    assert not np.any(np.isnan(gradient("pooling", x, kernel=(2, 2), pool_type="lp")))


@pytest.mark.dear
def test_first_of_tied_maxima_takes_the_gradient():
    found = gradient("pooling", jnp.ones((1, 1, 3, 3)), kernel=(2, 2))
    np.testing.assert_array_equal(found[0, 0], [[1, 1, 0], [1, 1, 0], [0, 0, 0]])
    found = gradient("adaptive_max_pooling", jnp.ones((1, 1, 4, 5)), output_size=(2, 3))
    np.testing.assert_array_equal(found[0, 0], [[1, 1, 0, 1, 0], [0] * 5, [1, 1, 0, 1, 0], [0] * 5])
    found = gradient("adaptive_max_pooling", jnp.ones((1, 1, 200)), output_size=2)
    assert found[0, 0].nonzero()[0].tolist() == [0, 100]


@pytest.mark.dear
def test_dropout_gradient_is_its_mask():
    x, key = jnp.ones((50, 50)), jax.random.key(1)
    bound = ops.get("dropout").bind(p=0.3, training=True)
    np.testing.assert_allclose(jax.grad(lambda x: jnp.sum(bound(key, x)))(x), bound(key, x))


@pytest.mark.dear
def test_gradients_reach_the_parameters_of_a_distribution():
    bound = ops.get("random_normal").bind(size=(1000,))
    found = jax.grad(lambda loc: jnp.mean(bound(jax.random.key(0), loc, 2.0)))(1.0)
    np.testing.assert_allclose(found, 1.0, rtol=1e-5)
