"""The keys that random operators get: JAX's bits, in another form on a CPU."""

from __future__ import annotations

import functools

import jax
import jax.export
import jax.numpy as jnp
import numpy as onp
import pytest

from gluonx.ops import prng as random
from gluonx.ops.cpu.threefry import implementation

DRAWS = {
    "normal": lambda key: jax.random.normal(key, (300, 300)),
    "few": lambda key: jax.random.normal(key, (3, 5)),
    "none": lambda key: jax.random.normal(key, (0, 5)),
    "one": lambda key: jax.random.uniform(key),
    "bytes": lambda key: jax.random.bits(key, (70_000,), "uint8"),
    "halves": lambda key: jax.random.bits(key, (7, 10_000), "uint16"),
    "mask": lambda key: jax.random.bernoulli(key, 0.3, (2, 3, 4, 5000)),
    "gamma": lambda key: jax.random.gamma(key, 2.0, (11,)),
    "permutation": lambda key: jax.random.permutation(key, 100_000),
    "split": lambda key: jax.random.key_data(jax.random.split(key, (3, 2))),
    "fold_in": lambda key: jax.random.key_data(jax.random.fold_in(key, 5)),
    "mapped": lambda key: jax.vmap(lambda k: jax.random.normal(k, (70_000,)))(jax.random.split(key, 3)),
}


@pytest.mark.parametrize("name", DRAWS)
@pytest.mark.parametrize("words", [(0, 7), (123456789, 4_000_000_000)])
def test_draws_are_those_of_jax(name, words):
    data = jnp.array(words, jnp.uint32)
    mine, theirs = (jax.random.wrap_key_data(data, impl=impl) for impl in (implementation(), "threefry2x32"))
    one, other = (onp.asarray(jax.jit(DRAWS[name])(key)) for key in (mine, theirs))
    assert one.dtype == other.dtype
    onp.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("shape", [(70_000,), (3, 5)], ids=str)
def test_wide_words(shape):
    with jax.enable_x64(True):
        data = jnp.array((1, 2), jnp.uint32)
        mine, plain = (jax.random.wrap_key_data(data, impl=impl) for impl in (implementation(), "threefry2x32"))
        bits = jax.random.bits(mine, shape, "uint64")
        onp.testing.assert_array_equal(bits, jax.random.bits(plain, shape, "uint64"))


@pytest.mark.dear
@pytest.mark.parametrize("shape", [(1 << 18,), (3, 5), (0, 5), ()], ids=str)
def test_wide_words_inside_of_a_program(shape):
    def draw(words):
        with jax.enable_x64(True):
            return jax.random.bits(jax.random.wrap_key_data(words, impl=implementation()), shape, "uint64")

    data = jnp.array((1, 2), jnp.uint32)
    with jax.enable_x64(True):
        wanted = jax.random.bits(jax.random.wrap_key_data(data), shape, "uint64")
    onp.testing.assert_array_equal(jax.jit(draw)(data), wanted)  # lowered where x64 is off
    jax.export.export(jax.jit(draw), platforms=("cpu", "cuda", "tpu"))(data)


@functools.cache
def compiled(shape):
    def draw(words, index):
        return jax.random.bits(random.wrap(words, index), shape)

    return jax.jit(draw).lower(jax.ShapeDtypeStruct((2,), onp.uint32), jax.ShapeDtypeStruct((), onp.int32)).compile()


on_cpu = pytest.mark.skipif(jax.default_backend() != "cpu", reason="the form of a CPU")


@on_cpu
@pytest.mark.parametrize(
    ("shape", "loops"),
    [((1000, 1000), 0), ((8, 32, 128), 1), ((4, 8), 1), ((), 1)],
    ids=["large", "some", "few", "one"],
)
def test_rounds_are_no_loop_of_arrays(shape, loops):
    text = compiled(shape).as_text()
    assert text is not None
    assert text.count(" while(") == loops  # one around a small array keeps its rounds apart from what reads them
    assert text.count(" xor(") >= 20  # the rounds are unrolled


@pytest.mark.dear
@on_cpu
def test_a_chain_of_masks_draws_each_a_few_times():
    def rounds(steps):
        def chain(weight, x):
            for i in range(steps):
                mask = jax.random.bernoulli(random.wrap(jnp.array([0, 7], jnp.uint32), jnp.int32(i)), 0.9, x.shape)
                x = jnp.where(mask, jnp.tanh(x @ weight), x)
            return (x**2).sum()

        structs = [jax.ShapeDtypeStruct(shape, onp.float32) for shape in ((3, 3), (2, 3))]
        return jax.jit(jax.grad(chain)).lower(*structs).compile().as_text().count(" xor(")

    assert rounds(8) <= 2.2 * rounds(4)


@pytest.mark.dear
def test_keys_that_differ_by_device_draw_in_shard_map():
    mesh = jax.sharding.Mesh(jax.devices()[:1], ("x",))
    spec = jax.sharding.PartitionSpec("x")

    def draw(words):
        return jax.random.bits(jax.random.wrap_key_data(words[0], impl=implementation()), (1, 4))

    data = jnp.array([(0, 7)], jnp.uint32)
    found = jax.jit(jax.shard_map(draw, mesh=mesh, in_specs=spec, out_specs=spec))(data)
    onp.testing.assert_array_equal(found, jax.random.bits(jax.random.key(7), (1, 4)))


def test_keys_of_operations_differ():
    roots = [jnp.array([0, seed], jnp.uint32) for seed in range(9)]
    keys = [jax.random.key_data(random.wrap(root, jnp.int32(n))).tolist() for root in roots for n in range(9)]
    assert len(set(map(tuple, keys))) == 81
