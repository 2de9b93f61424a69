"""The keys that random operators get: JAX's bits, in another form on a CPU."""

from __future__ import annotations

import functools

import jax
import jax.numpy as jnp
import numpy as onp
import pytest

from gluonx.ops import prng as random
from gluonx.ops.cpu.threefry import implementation, native

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
        mine = jax.random.wrap_key_data(data, impl=implementation())
        bits = jax.random.bits(mine, shape, "uint64")
        onp.testing.assert_array_equal(bits, jax.random.bits(native(mine), shape, "uint64"))


@functools.cache
def compiled(shape):
    def draw(words, index):
        return jax.random.bits(random.wrap(words, index), shape)

    return jax.jit(draw).lower(jax.ShapeDtypeStruct((2,), onp.uint32), jax.ShapeDtypeStruct((), onp.int32)).compile()


@pytest.mark.skipif(jax.default_backend() != "cpu", reason="the form of a CPU")
@pytest.mark.parametrize("shape", [(1000, 1000), (8, 32, 128), (4, 8), ()], ids=str)
def test_bits_are_no_loop_of_arrays(shape):
    text = compiled(shape).as_text()
    assert text is not None
    assert " while(" not in text


def test_keys_of_operations_differ():
    roots = [jnp.array([0, seed], jnp.uint32) for seed in range(9)]
    keys = [jax.random.key_data(random.wrap(root, jnp.int32(n))).tolist() for root in roots for n in range(9)]
    assert len(set(map(tuple, keys))) == 81
