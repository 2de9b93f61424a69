"""What makes of many elements few, or an order: products, reductions, running sums, sorting."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
from jax import Array

from gluonx.dtype import canonical
from gluonx.errors import ShapeError
from gluonx.ops.common import choose, float_dtype, index_dtype, narrow, wide
from gluonx.ops.elementwise import absolute
from gluonx.ops.registry import register

__all__ = ["norm", "root"]

Axis = int | Sequence[int] | None

# -- products ------------------------------------------------------------------------------------------------------


@register(level=1)
def dot(x1: Array, x2: Array) -> Array:
    """The sum of products over the last axis of `x1` and the last but one of `x2`."""
    _check_inner("dot", x1, x2)
    return jnp.dot(x1, x2)


@register(level=1)
def matmul(x1: Array, x2: Array) -> Array:
    """The matrix product, over stacks of matrices in the leading axes."""
    _check_inner("matmul", x1, x2)
    return jnp.matmul(x1, x2)


def _check_inner(name: str, x1: Array, x2: Array) -> None:
    if x1.ndim and x2.ndim and x1.shape[-1] != x2.shape[max(x2.ndim - 2, 0)]:
        raise ShapeError(
            f"{name}: arrays of shapes {x1.shape} and {x2.shape} have no product: the inner lengths differ."
        )


@register(level=1)
def batch_dot(x1: Array, x2: Array, *, transpose_a: bool = False, transpose_b: bool = False) -> Array:
    """The matrix products of two stacks of matrices, each transposed if told so."""
    x1 = jnp.swapaxes(x1, -1, -2) if transpose_a else x1
    x2 = jnp.swapaxes(x2, -1, -2) if transpose_b else x2
    _check_inner("batch_dot", x1, x2)
    return jnp.matmul(x1, x2)


@register(level=3)
def tensordot(x1: Array, x2: Array, *, axes: Any = 2) -> Array:
    """The sum of products over some axes of each array."""
    return jnp.tensordot(x1, x2, axes)


@register(level=3)
def einsum(*arrays: Array, subscripts: str) -> Array:
    """The sum of products that Einstein's notation describes.

    Examples
    --------
    >>> import jax.numpy as jnp
    >>> einsum(jnp.ones((2, 3)), jnp.ones((3, 4)), subscripts="ij,jk->ik").shape
    (2, 4)
    """
    return jnp.einsum(subscripts, *arrays)


# -- reductions ----------------------------------------------------------------------------------------------------


def _sum_dtype(dtype: Any) -> Any:
    return None if dtype is None else canonical(dtype)


@register("sum", level=4)
def sum_(x: Array, *, axis: Axis = None, dtype: Any = None, keepdims: bool = False) -> Array:
    """The sum over axes."""
    return jnp.sum(x, axis, dtype=_sum_dtype(dtype), keepdims=keepdims)


@register(level=4)
def mean(x: Array, *, axis: Axis = None, dtype: Any = None, keepdims: bool = False) -> Array:
    """The mean over axes; of integers, a float."""
    if dtype is None and not jnp.issubdtype(x.dtype, jnp.inexact):
        dtype = jnp.float32
    return jnp.mean(x, axis, dtype=_sum_dtype(dtype), keepdims=keepdims)


@register(level=4)
def prod(x: Array, *, axis: Axis = None, dtype: Any = None, keepdims: bool = False) -> Array:
    """The product over axes."""
    return jnp.prod(x, axis, dtype=_sum_dtype(dtype), keepdims=keepdims)


@functools.partial(jax.custom_jvp, nondiff_argnums=(1, 2, 3))
def _extreme(x: Array, compute: Callable[..., Array], axis: Axis, keepdims: bool) -> Array:
    return compute(x, axis, keepdims=keepdims)


@_extreme.defjvp
def _extreme_moved(
    compute: Callable[..., Array], axis: Axis, keepdims: bool, primals: tuple[Array], tangents: tuple[Array]
) -> tuple[Array, Array]:
    (x,), (moved,) = primals, tangents
    best = compute(x, axis, keepdims=True)
    slope = jnp.sum(jnp.where(x == best, moved, 0), axis, keepdims=keepdims)
    return best.reshape(slope.shape), slope


@register("max", level=4, aliases=("amax",))
def max_(x: Array, *, axis: Axis = None, keepdims: bool = False) -> Array:
    """The largest element over axes; each of several equal ones has the whole gradient."""
    return _extreme(x, jnp.max, axis, keepdims)


@register("min", level=4, aliases=("amin",))
def min_(x: Array, *, axis: Axis = None, keepdims: bool = False) -> Array:
    """The smallest element over axes; each of several equal ones has the whole gradient."""
    return _extreme(x, jnp.min, axis, keepdims)


@register("all", level=4)
def all_(x: Array, *, axis: Axis = None, keepdims: bool = False) -> Array:
    """Whether every element over axes is non-zero."""
    return jnp.all(x, axis, keepdims=keepdims)


@register("any", level=4)
def any_(x: Array, *, axis: Axis = None, keepdims: bool = False) -> Array:
    """Whether some element over axes is non-zero."""
    return jnp.any(x, axis, keepdims=keepdims)


@register(level=4)
def var(x: Array, *, axis: Axis = None, dtype: Any = None, ddof: int = 0, keepdims: bool = False) -> Array:
    """The variance over axes, with `ddof` taken from the number of elements."""
    return jnp.var(x, axis, dtype=_sum_dtype(dtype), ddof=ddof, keepdims=keepdims)


@register(level=4)
def std(x: Array, *, axis: Axis = None, dtype: Any = None, ddof: int = 0, keepdims: bool = False) -> Array:
    """The standard deviation over axes, with gradient 0 where it is 0."""
    return root(jnp.var(x, axis, dtype=_sum_dtype(dtype), ddof=ddof, keepdims=keepdims))


def root(x: Array) -> Array:
    """The square root, with gradient 0 at 0."""
    positive = x > 0
    return jnp.where(positive, jnp.sqrt(jnp.where(positive, x, 1)), jnp.where(x == 0, 0, jnp.nan).astype(x.dtype))


def _in_all(compute: Any, x: Array, axis: int | None, keepdims: bool) -> Array:
    return compute(x, axis=axis, keepdims=keepdims).astype(index_dtype())


@register(level=4)
def argmax(x: Array, *, axis: int | None = None, keepdims: bool = False) -> Array:
    """The place of the largest element (the first of several) along an axis, or in the flattened array."""
    return _in_all(jnp.argmax, x, axis, keepdims)


@register(level=4)
def argmin(x: Array, *, axis: int | None = None, keepdims: bool = False) -> Array:
    """The place of the smallest element (the first of several) along an axis, or in the flattened array."""
    return _in_all(jnp.argmin, x, axis, keepdims)


@register(level=4)
def norm(x: Array, *, ord: int = 2, axis: Axis = None, keepdims: bool = False, out_dtype: Any = None) -> Array:
    """The length of vectors: the root of the sum of squares (`ord` 2, gradient 0 at 0) or the sum of magnitudes (1)."""
    length = choose({1: _sum_norm, 2: _root_norm}, ord, "norm", "ord")  # type: ignore[arg-type]
    axis = tuple(axis) if isinstance(axis, (tuple, list)) else axis
    return narrow(length(wide(x), axis, keepdims), float_dtype(x) if out_dtype is None else canonical(out_dtype))


def _sum_norm(x: Array, axis: Any, keepdims: bool) -> Array:
    return jnp.sum(absolute(x), axis, keepdims=keepdims)


def _root_norm(x: Array, axis: Any, keepdims: bool) -> Array:
    return root(jnp.sum(jnp.square(x), axis, keepdims=keepdims))


@register(level=4)
def logsumexp(x: Array, *, axis: Axis = None, keepdims: bool = False) -> Array:
    """``log(sum(exp(x)))`` over axes, without overflow."""
    return jax.nn.logsumexp(x, axis, keepdims=keepdims)


@register(level=4)
def cumsum(x: Array, *, axis: int | None = None, dtype: Any = None) -> Array:
    """The running sum along an axis, or of the flattened array."""
    return jnp.cumsum(x, axis, dtype=_sum_dtype(dtype))


@register(level=4)
def cumprod(x: Array, *, axis: int | None = None, dtype: Any = None) -> Array:
    """The running product along an axis, or of the flattened array."""
    return jnp.cumprod(x, axis, dtype=_sum_dtype(dtype))


# -- order ---------------------------------------------------------------------------------------------------------


@register(level=3)
def sort(x: Array, *, axis: int | None = -1, descending: bool = False) -> Array:
    """The elements in order along an axis, or of the flattened array."""
    return jnp.sort(x, axis, descending=descending)


@register(level=3)
def argsort(x: Array, *, axis: int | None = -1, descending: bool = False, dtype: Any = None) -> Array:
    """The places of the elements in order; equal elements keep theirs."""
    places = jnp.argsort(x, axis, descending=descending, stable=True)
    return places.astype(canonical(dtype, index_dtype()))
