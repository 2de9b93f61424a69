"""JAX's random bits, bit for bit, computed in a way that is fast on a CPU.

JAX draws by Threefry-2x32 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", 2011). On a CPU it lowers the
twenty rounds to a loop over whole arrays, which XLA does not fuse: the mask of a dropout of 1.6 million elements takes
20 ms on two cores. Unrolled, the rounds are elementwise and become one loop over memory: 1.6 ms. Small draws take no
longer than by JAX's loop, and XLA compiles them in a tenth to a half of the time. Other platforms keep JAX's own
kernels.

XLA repeats elementwise operations in each loop that reads them; an ``optimization_barrier`` does not prevent it,
because XLA removes it before. In a recurrence that draws a mask at each step, the loop of the n-th step then contained
n draws, and a program of 36 steps compiled for six minutes. Arrays of fewer than `LARGE` elements are therefore drawn
in a separate loop.
"""

from __future__ import annotations

import functools
import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from gluonx.dtype import keeping_64_bits

__all__ = ["LARGE", "bits", "implementation"]

_NATIVE = "threefry2x32"
_ROTATIONS = ((13, 15, 26, 6), (17, 29, 16, 24))
_PARITY = np.uint32(0x1BD11BDA)
LARGE = 1 << 18  # from so many elements on, storing and reading the bits takes longer than drawing again
_UNSIGNED = {8: np.uint8, 16: np.uint16, 32: np.uint32, 64: np.uint64}


@jax.jit
def _rounds(key: Array, high: Array, low: Array) -> tuple[Array, Array]:
    """Return the cipher on pairs of counts, `high` and `low`."""
    first, second = key[0], key[1]
    keys = (first, second, first ^ second ^ _PARITY)
    high, low = high + keys[0], low + keys[1]
    for i in range(5):
        for turn in _ROTATIONS[i % 2]:
            high = high + low
            low = ((low << np.uint32(turn)) | (low >> np.uint32(32 - turn))) ^ high
        high, low = high + keys[(i + 1) % 3], low + keys[(i + 2) % 3] + np.uint32(i + 1)
    return high, low


def _counts(shape: tuple[int, ...]) -> Array:
    """Return the numbers of the elements of an array of `shape`, row by row."""
    strides = [math.prod(shape[axis + 1 :]) for axis in range(len(shape))]
    parts = [lax.broadcasted_iota(np.uint32, shape, axis) * np.uint32(stride) for axis, stride in enumerate(strides)]
    return functools.reduce(jnp.add, parts, jnp.zeros(shape, np.uint32))


def _native(words: Array) -> Array:
    return jax.random.wrap_key_data(words, impl=_NATIVE)


def _bits(key: Array, width: int, shape: tuple[Any, ...]) -> Array:
    dtype = _UNSIGNED[width]

    def own(key: Array) -> Array:
        if width == 64:  # not the primitive, because JAX lowers it later, when x64 may be off
            from jax.extend.random import threefry_prng_impl

            return threefry_prng_impl.random_bits(key, width, shape)
        return jax.random.bits(_native(key), shape, dtype)

    def unrolled(key: Array, zero: Any = 0) -> Array:
        low = _counts(shape)
        high, low = _rounds(key, zero + jnp.zeros_like(low), low)
        bits = (high.astype(dtype) << np.uint64(32)) | low.astype(dtype) if width == 64 else high ^ low
        return bits.astype(dtype)

    def apart(key: Array) -> Array:
        # A loop that runs once, which XLA does not know, so that it does not fuse the rounds into other loops.
        def once(state: tuple[Array, Array]) -> tuple[Array, Array]:
            turn, _ = state
            return jnp.maximum(turn + np.uint32(1), key[0] >> np.uint32(1)), unrolled(key, turn)

        zero = key[0] & np.uint32(0)  # varies over the same axes as the key, as shard_map requires
        return lax.while_loop(lambda state: state[0] < 1, once, (zero, jnp.full(shape, zero.astype(dtype))))[1]

    with keeping_64_bits(width == 64):  # JAX reads it when it lowers, when x64 may be off
        if not all(isinstance(n, int) for n in shape) or not 0 < math.prod(shape) < 1 << 32:
            return own(key)
        return lax.platform_dependent(key, cpu=apart if math.prod(shape) < LARGE else unrolled, default=own)


def bits(key: Array, width: int, shape: tuple[int, ...]) -> Array:
    """Return ``jax.random.bits`` of a key as operations of the trace: the primitive is traced when JAX lowers it.

    By then x64 may be off, and inside a loop 64 bits would become 32.

    Examples
    --------
    >>> key = jax.random.wrap_key_data(jnp.array([0, 7], np.uint32), impl=implementation())
    >>> bool((bits(key, 32, (3,)) == jax.random.bits(key, (3,))).all())
    True
    """
    if not jax.config.jax_threefry_partitionable:  # type: ignore[attr-defined]
        return jax.random.bits(key, shape, _UNSIGNED[width])
    return _bits(jax.random.key_data(key), width, shape)


def _split(key: Array, shape: tuple[int, ...]) -> Array:
    return jax.random.key_data(jax.random.split(_native(key), shape))


def _fold_in(key: Array, data: int) -> Array:
    return jax.random.key_data(jax.random.fold_in(_native(key), data))


def _seed(seed: Array) -> Array:
    return jax.random.key_data(jax.random.key(seed, impl=_NATIVE))


@functools.cache
def implementation() -> Any:
    """Return the `impl` of ``jax.random.wrap_key_data(words, impl=...)`` for a key that draws JAX's numbers.

    This holds while ``jax_threefry_partitionable`` is on, the default; otherwise it returns JAX's own.

    Examples
    --------
    >>> words = jnp.array([0, 7], np.uint32)
    >>> mine = jax.random.wrap_key_data(words, impl=implementation())
    >>> bool((jax.random.normal(mine, (3, 4)) == jax.random.normal(jax.random.key(7), (3, 4))).all())
    True
    """
    if not jax.config.jax_threefry_partitionable:  # type: ignore[attr-defined]
        return _NATIVE
    from jax.extend.random import define_prng_impl  # needed only for drawing

    return define_prng_impl(
        key_shape=(2,),
        seed=_seed,
        split=_split,
        random_bits=_bits,
        fold_in=_fold_in,
        name="gluonx_threefry",
        tag="gfry",
    )
