"""Lowerings of reductions, running sums and orders that are fast on a CPU.

They were found by the sweep of `benchmarks/ops.py` (jax 0.10, two cores) and are chosen by static shapes; other
platforms and everything under `native_operations` use XLA's own operation.

- Sums over leading axes. XLA sums well while at most 16384 elements remain, and else by a loop that misses the cache at
  every step: the sum of 8 rows of 98304 took 7 ms where 0.1 would do, that of 700 rows of 40000 took 300. The gradient
  of an array that was broadcast along leading axes is such a sum: that of a bias of 30522 words, or of a position
  embedding. `total` is a matrix product with ones, `largest` a loop over rows, and `spread` broadcasts so that its
  transpose is the product.
- The position of the largest element. XLA carries pairs of value and position through a scalar loop; `largest_position`
  first takes the maximum, and then the smallest position that has it, both with vector instructions.
- Running sums and products. XLA combines windows; `running` goes along the axis with all other elements side by side.
- Sorting. XLA compares floats by a comparator that handles NaN and the sign of zero; converted to integers of the same
  order they take a quarter of the time.
- The gradient of softmax over short rows. XLA computes the exponentials again for each use of the result; `softmax`
  keeps the result.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
from jax import Array, lax

from gluonx.ops.common import narrow, wide
from gluonx.ops.cpu.convolution import on_cpu
from gluonx.ops.geometry import known

__all__ = ["folded", "largest", "largest_position", "ordered", "running", "softmax", "spread", "total"]

_FEW = 16384  # a sum over leading axes with at most so many results is fast in XLA
_SHORT_ROW = 1024  # up to this length, softmax keeps its result, and argmax takes a row at once
_LONG_AXIS = 128  # the length along a strided axis from which on argmax makes two passes
_WORTH = 16384  # the number of elements from which on argmax makes two passes
_SIDE_BY_SIDE = 32  # with so many elements side by side a running sum is a loop
_LONGEST_LOOP = 4096  # steps of that loop


def folded(shape: Sequence[Any], axes: Sequence[int]) -> tuple[int, int, int] | None:
    """Return the array's shape as (kept in front, reduced, kept behind) if XLA would reduce it badly, else None.

    Examples
    --------
    >>> folded((8, 128, 768), (0,))
    (1, 8, 98304)
    >>> folded((8, 128, 64), (0,)), folded((8, 128, 768), (2,))
    (None, None)
    """
    if not axes or not known(shape) or 0 in shape:
        return None
    first, last = min(axes), max(axes) + 1
    if any(shape[i] != 1 for i in range(first, last) if i not in axes):
        return None
    behind, count = math.prod(shape[last:]), math.prod(shape[first:last])
    return (math.prod(shape[:first]), count, behind) if behind > _FEW and count > 1 else None


def _floating(x: jax.Array) -> bool:
    return jnp.issubdtype(x.dtype, jnp.floating)


def _kept(shape: Sequence[int], axes: Sequence[int], keepdims: bool) -> tuple[int, ...]:
    return tuple(1 if i in axes else n for i, n in enumerate(shape) if keepdims or i not in axes)


def _sum_of_rows(x: Array, fold: tuple[int, int, int]) -> Array:
    ones = jnp.ones((fold[0], 1, fold[1]), x.dtype)
    return narrow(jnp.matmul(ones, x.reshape(fold), preferred_element_type=wide(x).dtype), x.dtype)


def total(x: Array, axes: tuple[int, ...], keepdims: bool = False) -> Array:
    """Return the sum over axes, which are counted from the front."""

    def native(x: Array) -> Array:
        return jnp.sum(x, axes, keepdims=keepdims)

    fold = folded(x.shape, axes)
    if fold is None or not _floating(x):
        return native(x)
    return on_cpu(lambda x: _sum_of_rows(x, fold).reshape(_kept(x.shape, axes, keepdims)), native, x)


def spread(x: Array, shape: tuple[int, ...]) -> Array:
    """Return `x` broadcast to a shape with as many axes, such that its gradient is a fast sum.

    If that makes no difference, `x` is returned unchanged.
    """
    axes = tuple(i for i, (n, m) in enumerate(zip(x.shape, shape, strict=True)) if n != m)
    fold = folded(shape, axes)
    if fold is None or not _floating(x):
        return x

    def product(x: Array) -> Array:
        # A product of two vectors: XLA turns it into a broadcast, but its derivative is a product.
        ones = jnp.ones((fold[0], fold[1], 1), x.dtype)
        return jnp.matmul(ones, x.reshape(fold[0], 1, fold[2])).reshape(shape)

    return on_cpu(product, lambda x: jnp.broadcast_to(x, shape), x)


def largest(x: Array, axes: tuple[int, ...], keepdims: bool, smallest: bool = False) -> Array:
    """Return the largest element over axes, or the smallest; the caller defines the gradient.

    On a CPU XLA's own maximum over many elements loses NaN (seen on jax 0.10 to 0.12).
    """
    compute, pair = (jnp.min, jnp.minimum) if smallest else (jnp.max, jnp.maximum)

    def native(x: Array) -> Array:
        return compute(x, axes, keepdims=keepdims)

    def with_nan(x: Array) -> Array:
        found = jnp.any(jnp.isnan(x), axes, keepdims=keepdims)
        return jnp.where(found, jnp.asarray(jnp.nan, x.dtype), native(x))

    if not _floating(x):
        return native(x)
    fold = folded(x.shape, axes)
    if fold is None:
        return on_cpu(with_nan, native, x)

    def rows(x: Array) -> Array:
        kept, x = _kept(x.shape, axes, keepdims), x.reshape(fold)
        found = lax.fori_loop(1, fold[1], lambda i, best: pair(best, lax.dynamic_index_in_dim(x, i, 1)), x[:, :1])
        return found.reshape(kept)

    return on_cpu(rows, native, x)


def largest_position(x: Array, axis: int, keepdims: bool, smallest: bool = False) -> Array:
    """Return the position of the first largest element along an axis, or of the first NaN, as int32."""
    native = functools.partial(jnp.argmin if smallest else jnp.argmax, axis=axis, keepdims=keepdims)
    if not _floating(x) or not known(x.shape):
        return native(x).astype(jnp.int32)
    length, behind = x.shape[axis], math.prod(x.shape[axis + 1 :])
    if x.size < _WORTH or not (behind == 1 or (length >= _LONG_AXIS and behind <= _FEW)):
        return native(x).astype(jnp.int32)

    def without_nan(x: Array) -> Array:
        x = -x if smallest else x
        if length > _SHORT_ROW and behind == 1:  # row by row, which stays in the cache
            found = lax.map(lambda row: _position(row, 0), x.reshape(-1, length)).reshape(*x.shape[:-1], 1)
        else:
            found = _position(x, axis)
        return found if keepdims else found.squeeze(axis)

    def ours(x: Array) -> Array:
        # XLA's maximum over many elements loses NaN on a CPU, its sum does not.
        some_nan = jnp.isnan(jnp.sum(wide(x)))
        return lax.cond(some_nan, lambda x: native(x).astype(jnp.int32), without_nan, x)

    return on_cpu(ours, lambda x: native(x).astype(jnp.int32), x)


def _position(x: Array, axis: int) -> Array:
    """Return the position along an axis, which is kept.

    Positions are floats, whose minimum uses vector instructions.
    """
    best = jnp.max(x, axis, keepdims=True)
    positions = lax.broadcasted_iota(jnp.float32, x.shape, axis)
    return jnp.min(jnp.where(x == best, positions, x.shape[axis]), axis, keepdims=True).astype(jnp.int32)


def running(x: Array, axis: int, product: bool = False) -> Array:
    """Return the running sum along an axis, or the running product."""
    native = functools.partial(jnp.cumprod if product else jnp.cumsum, axis=axis)
    if not _floating(x) or not known(x.shape):
        return native(x)
    if not 2 < x.shape[axis] <= _LONGEST_LOOP or x.size < x.shape[axis] * _SIDE_BY_SIDE:
        return native(x)

    def ours(x: Array) -> Array:
        rows = jnp.moveaxis(wide(x), axis, 0)

        def step(so_far: Array, row: Array) -> tuple[Array, Array]:
            so_far = so_far * row if product else so_far + row
            return so_far, so_far

        first = jnp.full(rows.shape[1:], 1 if product else 0, rows.dtype)
        return narrow(jnp.moveaxis(lax.scan(step, first, rows)[1], 0, axis), x.dtype)

    return on_cpu(ours, native, x)


@functools.partial(jax.custom_jvp, nondiff_argnums=(1,))
def _ordered(x: Array, axis: int) -> Array:
    def ours(x: Array) -> Array:
        # The bits of floats are ordered like integers, except that those of negative numbers are in reverse order.
        bits = lax.bitcast_convert_type(jnp.where(jnp.isnan(x), jnp.float32(jnp.nan), x), jnp.int32)
        rank = lax.sort(jnp.where(bits < 0, bits ^ 0x7FFFFFFF, bits), dimension=axis, is_stable=False)
        return lax.bitcast_convert_type(jnp.where(rank < 0, rank ^ 0x7FFFFFFF, rank), jnp.float32)

    return on_cpu(ours, lambda x: jnp.sort(x, axis), x)


@_ordered.defjvp
def _(axis: int, primals: tuple[Array], tangents: tuple[Array]) -> tuple[Array, Array]:
    return jax.jvp(lambda x: jnp.sort(x, axis), primals, tangents)


def ordered(x: Array, axis: int) -> Array:
    """Return the elements in order along an axis, NaN last."""
    return _ordered(x, axis) if x.dtype == jnp.float32 else jnp.sort(x, axis)


def _once(x: Array) -> Array:
    """Return `x`, marked so that it is not recomputed for each of its uses."""
    return on_cpu(lax.optimization_barrier, lambda x: x, x)


@functools.partial(jax.custom_jvp, nondiff_argnums=(1,))
def _softmax(x: Array, axis: int) -> Array:
    return jax.nn.softmax(x, axis)


@_softmax.defjvp
def _(axis: int, primals: tuple[Array], tangents: tuple[Array]) -> tuple[Array, Array]:
    y = _once(_softmax(*primals, axis))
    return y, y * (tangents[0] - _once((y * tangents[0]).sum(axis, keepdims=True)))


def softmax(x: Array, axis: int) -> Array:
    """Return `jax.nn.softmax` along an axis."""
    short = known(x.shape) and x.shape[axis] <= _SHORT_ROW
    return _softmax(x, axis) if short else jax.nn.softmax(x, axis)
