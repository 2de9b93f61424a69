"""Arrays that a CPU is made to store: small ones, computed once, and images less their mean, kept without the image."""

import jax
import jax.numpy as jnp
import numpy as onp
import pytest
from jax.test_util import check_grads

from gluonx import ops
from gluonx.dtype import keeping_64_bits
from gluonx.ops import normalization
from gluonx.ops.cpu.convolution import for_cpu, native_operations
from gluonx.ops.cpu.materialized import difference, materialized

on_cpu = pytest.mark.skipif(jax.default_backend() != "cpu", reason="the form of a CPU")
X = onp.random.RandomState(3).normal(size=(4, 6)).astype("float32")


def text_of(fn, *structs):
    return jax.jit(fn).lower(*structs).compile().as_text()


@pytest.mark.dear
@on_cpu
def test_a_chain_of_residual_blocks_grows_with_its_length():
    norm = ops.get("layer_norm").bind().fn

    def instructions(blocks):
        def loss(x, weight, gamma):
            for _ in range(blocks):
                x = norm(x + jnp.tanh(x @ weight), gamma, gamma)
            return (x**2).sum()

        structs = [jax.ShapeDtypeStruct(s, onp.float32) for s in ((4, 16, 32), (32, 32), (32,))]
        return text_of(jax.grad(loss, argnums=(1, 2)), *structs).count(" = ")

    assert instructions(8) < 2.5 * instructions(4)  # without: 3.5 times and more


@on_cpu
@pytest.mark.parametrize(
    ("shape", "dtype", "kept"),
    [((4, 6), "float32", 1), ((4, 6), "float16", 1), ((), "float32", 1), ((64, 64), "float32", 0),
     ((63, 64), "float32", 1), ((0, 3), "float32", 0), ((4, 6), "int32", 0)],
)  # fmt: skip
def test_which_arrays(shape, dtype, kept):
    def fn(x):
        return materialized(x * 2) + x

    struct = jax.ShapeDtypeStruct(shape, dtype)
    assert text_of(fn, struct).count(" conditional(") == kept
    with native_operations():
        assert text_of(lambda x: fn(x), struct).count(" conditional(") == 0


@pytest.mark.dear
def test_values_and_gradients_of_any_order():
    x = jnp.asarray(X).at[0, 0].set(jnp.nan).at[1, 1].set(-jnp.inf).at[2, 2].set(-0.0)
    for run in (materialized, jax.jit(materialized), jax.vmap(materialized)):
        onp.testing.assert_array_equal(onp.asarray(run(x)).view(onp.int32), onp.asarray(x).view(onp.int32))
    check_grads(lambda x: jnp.sin(materialized(x * x)), (X,), order=2, atol=1e-2, rtol=1e-2)
    mesh = jax.sharding.Mesh(jax.devices()[:1], ("x",))
    spec = jax.sharding.PartitionSpec("x")
    parts = jax.jit(jax.shard_map(materialized, mesh=mesh, in_specs=spec, out_specs=spec))(X)
    onp.testing.assert_array_equal(parts, X)


def test_an_open_batch():
    from jax import export

    found = export.export(jax.jit(materialized))(jax.ShapeDtypeStruct(export.symbolic_shape("b, 3"), "float32"))
    onp.testing.assert_array_equal(found.call(X[:, :3]), X[:, :3])


def test_a_wide_array_of_a_narrow_program_stays_wide():
    """A program whose x64 is off may hold float64, as draws of counts do while they are computed."""
    with keeping_64_bits():
        x = jnp.arange(3, dtype="float64") + 2.0**-40

    assert materialized(x).dtype == "float64"
    assert jax.jit(materialized)(x).dtype == "float64"


@on_cpu
def test_a_training_step_keeps_images_less_their_mean_alone(monkeypatch):
    image = (2, 16, 16, 16)
    norm = ops.get("batch_norm").bind(training=True, fix_gamma=False).fn

    def kept():
        def loss(x, weights, gamma, beta):
            for weight in weights:
                x = jax.lax.conv_general_dilated(x, weight, (1, 1), "SAME")
                x = jax.nn.relu(norm(x, gamma, beta, gamma, gamma)[0])
            return x.sum()

        structs = [
            jax.ShapeDtypeStruct(image, onp.float32),
            [jax.ShapeDtypeStruct((16, 16, 3, 3), onp.float32)] * 6,
            *[jax.ShapeDtypeStruct((16,), onp.float32)] * 2,
        ]
        with for_cpu():
            lowered = jax.jit(jax.grad(loss, argnums=(1, 2, 3))).lower(*structs)
        return lowered.compile().memory_analysis().temp_size_in_bytes // (onp.prod(image) * 4)

    with_differences = kept()
    monkeypatch.setattr(normalization, "difference", jnp.subtract)
    assert kept() - with_differences >= 4  # images: nearly one for each of six layers


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_a_difference_is_one_in_every_form(dtype):
    x = onp.random.RandomState(4).normal(size=(2, 3, 3, 4))
    x[0, 0, 0, :3] = onp.nan, onp.inf, -onp.inf
    x, mean = jnp.asarray(x, dtype), jnp.asarray([[[[0.5, onp.inf, -1, onp.nan]]]], dtype)
    with for_cpu():
        found = difference(x, mean)
    for other in (x - mean, difference(x, mean)):
        assert found.dtype == other.dtype
        onp.testing.assert_array_equal(found.astype("float32"), other.astype("float32"))


def test_derivatives_of_a_difference():
    x = onp.random.RandomState(5).normal(size=(2, 3, 3, 4)).astype("float32")
    with for_cpu():
        check_grads(lambda x, y: jnp.sin(difference(x, y)), (x, x[:1, :1, :1]), order=2, atol=1e-2, rtol=1e-2)
        batched = jax.vmap(difference, (0, None))(jnp.stack([x, x * 2]), x[:1, :1, :1])
    onp.testing.assert_allclose(batched[1], x * 2 - x[:1, :1, :1])
