"""Operators that reduce or order elements: products, reductions, running sums, sorting."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
from jax import Array

from gluonx.dtype import WIDE, canonical, keeping_64_bits
from gluonx.errors import ShapeError, UnsupportedArgumentError
from gluonx.ops.common import choose, float_dtype, narrow, positions, wide
from gluonx.ops.cpu.reductions import folded, largest, largest_position, ordered, running, total
from gluonx.ops.elementwise import absolute
from gluonx.ops.registry import NONE, REDUCED, SAME, Front, register

if TYPE_CHECKING:
    from gluonx.dtype import DTypeLike


Axis = int | Sequence[int] | None

# -- products ------------------------------------------------------------------------------------------------------


_PRODUCT = Front(order="x1 x2 out precision preferred_element_type", shown={"x1": "a", "x2": "b"})
_PLAIN_PRODUCT = Front(hidden="precision preferred_element_type")


@register(
    amp="widest",
    methods=("dot",),
    np=_PRODUCT,
    npx=_PLAIN_PRODUCT,
    shape="x1.shape[:-1] + x2.shape without its last axis but one",
    gives="input",
)
def dot(
    x1: Array, x2: Array, *, precision: Any = None, preferred_element_type: jax.typing.DTypeLike | None = None
) -> Array:
    """Return the sum of products over the last axis of `x1` and the last but one of `x2`.

    Examples
    --------
    >>> from gluonx import np, npx
    >>> float(np.dot(np.array([1.0, 2.0]), np.array([3.0, 4.0])))
    11.0
    """
    _check_inner("dot", x1, x2)
    return jnp.dot(x1, x2, precision=precision, preferred_element_type=preferred_element_type)


@register(
    amp="low",
    np=_PRODUCT,
    npx=_PLAIN_PRODUCT,
    shape="broadcast leading axes + (n, k) of (n, m) and (m, k)",
    gives="input",
)
def matmul(
    x1: Array, x2: Array, *, precision: Any = None, preferred_element_type: jax.typing.DTypeLike | None = None
) -> Array:
    """Return the matrix product, over stacks of matrices in the leading axes.

    Examples
    --------
    >>> from gluonx import np, npx
    >>> np.matmul(np.ones((2, 3, 4)), np.ones((4, 5))).shape
    (2, 3, 5)
    """
    _check_inner("matmul", x1, x2)
    return jnp.matmul(x1, x2, precision=precision, preferred_element_type=preferred_element_type)


def _check_inner(name: str, x1: Array, x2: Array) -> None:
    if x1.ndim and x2.ndim and x1.shape[-1] != x2.shape[max(x2.ndim - 2, 0)]:
        raise ShapeError(
            f"{name}: arrays of shapes {x1.shape} and {x2.shape} have no product: the inner lengths differ."
        )


@register(
    amp="widest",
    npx=Front(
        order="x1 x2 transpose_a transpose_b forward_stype=default",
        shown={"x1": "a", "x2": "b"},
        also={"lhs": "x1", "rhs": "x2"},
    ),
    shape="(b, n, k) of (b, n, m) and (b, m, k)",
    stands_for="`stablehlo.dot_general`",
    gives="input",
)
def batch_dot(x1: Array, x2: Array, *, transpose_a: bool = False, transpose_b: bool = False) -> Array:
    """Return the matrix products of two stacks of matrices; `transpose_a` and `transpose_b` transpose them first.

    Parameters
    ----------
    transpose_a
        Whether the matrices of the first input are transposed.
    transpose_b
        Whether those of the second are.

    Examples
    --------
    >>> from gluonx import np, npx
    >>> npx.batch_dot(np.ones((2, 3, 4)), np.ones((2, 4, 5))).shape
    (2, 3, 5)
    """
    x1 = jnp.swapaxes(x1, -1, -2) if transpose_a else x1
    x2 = jnp.swapaxes(x2, -1, -2) if transpose_b else x2
    _check_inner("batch_dot", x1, x2)
    return jnp.matmul(x1, x2)


@register(
    amp="widest",
    np=Front(order="x1 x2 axes precision preferred_element_type", shown={"x1": "a", "x2": "b"}),
    npx=_PLAIN_PRODUCT,
    shape="the axes of both that are not summed over",
    gives="input",
)
def tensordot(
    x1: Array,
    x2: Array,
    *,
    axes: Any = 2,
    precision: Any = None,
    preferred_element_type: jax.typing.DTypeLike | None = None,
) -> Array:
    """Return the sum of products over some axes of each array.

    Parameters
    ----------
    axes
        How many last axes of the first input and first axes of the second are summed over, or two lists of axes.

    Examples
    --------
    >>> from gluonx import np, npx
    >>> np.tensordot(np.ones((2, 3, 4)), np.ones((3, 4, 5)), axes=2).shape
    (2, 5)
    """
    return jnp.tensordot(x1, x2, axes, precision=precision, preferred_element_type=preferred_element_type)


@register(
    amp="low",
    npx=Front(hidden="optimize precision preferred_element_type"),
    shape="as the subscripts say",
    gives="input",
)
def einsum(
    *arrays: Array,
    subscripts: str,
    optimize: Any = "auto",
    precision: Any = None,
    preferred_element_type: jax.typing.DTypeLike | None = None,
) -> Array:
    """Return the sum of products that Einstein's notation describes.

    Parameters
    ----------
    subscripts
        The letters of each input's axes, and after ``->`` those of the result.
    optimize
        How the order of products is chosen, as in ``jax.numpy.einsum``.

    Examples
    --------
    >>> from gluonx import np, npx
    >>> np.einsum("ij,jk->ik", np.ones((2, 3)), np.ones((3, 4))).shape
    (2, 4)
    """
    return jnp.einsum(
        subscripts, *arrays, optimize=optimize, precision=precision, preferred_element_type=preferred_element_type
    )


# -- reductions ----------------------------------------------------------------------------------------------------


def _sum_dtype(dtype: DTypeLike) -> Any:
    return None if dtype is None else canonical(dtype)


def _along(x: Array, axis: Axis) -> Axis:
    """Return the axes of a reduction; none for an array without axes, for which 0 and -1 are allowed, as in NumPy."""
    return () if x.ndim == 0 and axis in (0, -1) else axis


_TOTAL = Front(order="x axis dtype out keepdims initial where", shown={"x": "a"})
_MEAN = Front(order="x axis dtype out keepdims where", shown={"x": "a"})
_SPREAD = Front(order="x axis dtype out ddof keepdims where", shown={"x": "a", "ddof": "correction"})
_EXTREME = Front(order="x axis out keepdims initial where", shown={"x": "a"})
_TRUTH = Front(order="x axis out keepdims where", shown={"x": "a"})
_ALL, _ALL_FROM = (
    Front(hidden="where"),
    Front(hidden="initial where"),
)  # NumPy's `where` and `initial` are not parameters of npx


@register("sum", amp="float32", methods=("sum",), np=_TOTAL, npx=_ALL_FROM, shape=REDUCED, light=True)
def sum_(
    x: Array,
    initial: Array | None = None,
    where: Array | None = None,
    *,
    axis: Axis = None,
    dtype: DTypeLike = None,
    keepdims: bool = False,
) -> Array:
    """Return the sum over axes.

    Examples
    --------
    >>> from gluonx import np, npx
    >>> np.sum(np.array([[1.0, 3.0], [4.0, 2.0]]), axis=1).tolist()
    [4.0, 6.0]
    """
    axis = _along(x, axis)
    if initial is not None or where is not None:
        return jnp.sum(x, axis, _sum_dtype(dtype), keepdims=keepdims, initial=initial, where=where)
    axes = _slow_axes(x, axis) if dtype is None else None
    if axes is not None:
        return total(x, axes, keepdims)
    return jnp.sum(x, axis, dtype=_sum_dtype(dtype), keepdims=keepdims)


def _axes(x: Array, axis: Axis) -> tuple[int, ...] | None:
    """Return the axes, counted from the front; None if some do not exist, for which jax.numpy raises."""
    axes: Any = range(x.ndim) if axis is None else (axis,) if isinstance(axis, int) else axis
    if any(not -x.ndim <= a < x.ndim for a in axes):
        return None
    found = tuple(a % x.ndim for a in axes)
    return found if len(set(found)) == len(found) else None


def _slow_axes(x: Array, axis: Axis) -> tuple[int, ...] | None:
    """Return the axes if XLA would reduce floats over them badly on a CPU, else None."""
    found = _axes(x, axis) if jnp.issubdtype(x.dtype, jnp.floating) else None
    return found if found is not None and folded(x.shape, found) else None


@register(amp="float32", methods=("mean",), np=_MEAN, npx=_ALL, shape=REDUCED, light=True, gives="float")
def mean(
    x: Array, where: Array | None = None, *, axis: Axis = None, dtype: DTypeLike = None, keepdims: bool = False
) -> Array:
    """Return the mean over axes; of integers, a float.

    Examples
    --------
    >>> from gluonx import np, npx
    >>> np.mean(np.array([[1.0, 3.0], [4.0, 2.0]]), axis=1).tolist()
    [2.0, 3.0]
    """
    axis = _along(x, axis)
    if where is not None:
        return jnp.mean(x, axis, _sum_dtype(dtype), keepdims=keepdims, where=where)
    if dtype is None and not jnp.issubdtype(x.dtype, jnp.inexact):
        return _whole_mean(x, axis, keepdims)
    axes = _slow_axes(x, axis) if dtype is None else None
    if axes is not None:
        return _mean_of_rows(x, axes, keepdims)
    return jnp.mean(x, axis, dtype=_sum_dtype(dtype), keepdims=keepdims)


def in_double(fn: Callable[..., Array], x: Array, *args: Any, **kwargs: Any) -> Array:
    """Return ``fn(x, ...)`` for integers, computed in float64 and rounded once.

    float32 has all integers only up to 2**24. The result is float32, or float64 for 64-bit integers.
    """
    with keeping_64_bits():
        found = fn(x.astype(jnp.float64), *args, **kwargs)
        return found if x.dtype in WIDE else found.astype(jnp.float32)


def is_long(x: Array) -> bool:
    """Return whether `x` has integers that float32 may not represent."""
    return jnp.issubdtype(x.dtype, jnp.integer) and x.dtype.itemsize >= 4


def _whole_mean(x: Array, axis: Axis, keepdims: bool) -> Array:
    known = all(isinstance(n, int) for n in x.shape)
    if known and x.size * (1 if x.dtype == bool else int(jnp.iinfo(x.dtype).max)) < 2**24:
        return jnp.mean(x, axis, dtype=jnp.float32, keepdims=keepdims)  # exact sums
    return in_double(jnp.mean, x, axis, keepdims=keepdims).astype(jnp.float32)


@register(amp="float32", methods=("prod",), np=_TOTAL, npx=_ALL_FROM, shape=REDUCED)
def prod(
    x: Array,
    initial: Array | None = None,
    where: Array | None = None,
    *,
    axis: Axis = None,
    dtype: DTypeLike = None,
    keepdims: bool = False,
) -> Array:
    """Return the product over axes.

    Examples
    --------
    >>> from gluonx import np, npx
    >>> np.prod(np.array([[1.0, 3.0], [4.0, 2.0]]), axis=1).tolist()
    [3.0, 8.0]
    """
    axis = _along(x, axis)
    return jnp.prod(x, axis, dtype=_sum_dtype(dtype), keepdims=keepdims, initial=initial, where=where)


def _mean_of_rows(x: Array, axes: tuple[int, ...], keepdims: bool) -> Array:
    return narrow(total(wide(x), axes, keepdims) / math.prod(x.shape[a] for a in axes), x.dtype)


@functools.partial(jax.custom_jvp, nondiff_argnums=(1, 2, 3))
def _extreme(x: Array, smallest: bool, axis: Axis, keepdims: bool) -> Array:
    axes = _axes(x, axis)
    if axes is None:
        return (jnp.min if smallest else jnp.max)(x, axis, keepdims=keepdims)
    return largest(x, axes, keepdims, smallest)


@_extreme.defjvp
def _extreme_moved(
    smallest: bool, axis: Axis, keepdims: bool, primals: tuple[Array], tangents: tuple[Array]
) -> tuple[Array, Array]:
    (x,), (moved,) = primals, tangents
    best = _extreme(x, smallest, axis, True)
    slope = sum_.fn(jnp.where(x == best, moved, 0), axis=axis, keepdims=keepdims)
    return best.reshape(slope.shape), slope


@register(
    "max",
    aliases=("amax",),
    methods=("max",),
    np=_EXTREME,
    npx=_ALL_FROM,
    shape=REDUCED,
    gradient="through `x`, the whole of it to each of equal ones",
    light=True,
    gives="input",
)
def max_(
    x: Array, initial: Array | None = None, where: Array | None = None, *, axis: Axis = None, keepdims: bool = False
) -> Array:
    """Return the largest element over axes; each of several equal ones has the whole gradient.

    Examples
    --------
    >>> from gluonx import np, npx
    >>> np.max(np.array([[1.0, 3.0], [4.0, 2.0]]), axis=1).tolist()
    [3.0, 4.0]
    """
    axis = _along(x, axis)
    if initial is not None or where is not None:
        return jnp.max(x, axis, keepdims=keepdims, initial=initial, where=where)
    return _extreme(x, False, axis, keepdims)


@register(
    "min",
    aliases=("amin",),
    methods=("min",),
    np=_EXTREME,
    npx=_ALL_FROM,
    shape=REDUCED,
    gradient="through `x`, the whole of it to each of equal ones",
    light=True,
    gives="input",
)
def min_(
    x: Array, initial: Array | None = None, where: Array | None = None, *, axis: Axis = None, keepdims: bool = False
) -> Array:
    """Return the smallest element over axes; each of several equal ones has the whole gradient.

    Examples
    --------
    >>> from gluonx import np, npx
    >>> np.min(np.array([[1.0, 3.0], [4.0, 2.0]]), axis=1).tolist()
    [1.0, 2.0]
    """
    axis = _along(x, axis)
    if initial is not None or where is not None:
        return jnp.min(x, axis, keepdims=keepdims, initial=initial, where=where)
    return _extreme(x, True, axis, keepdims)


@register("all", methods=("all",), np=_TRUTH, npx=_ALL, shape=REDUCED, gradient=NONE, gives="bool")
def all_(x: Array, where: Array | None = None, *, axis: Axis = None, keepdims: bool = False) -> Array:
    """Return whether every element over axes is non-zero.

    Examples
    --------
    >>> from gluonx import np, npx
    >>> np.all(np.array([[True, False], [True, True]]), axis=1).tolist()
    [False, True]
    """
    axis = _along(x, axis)
    return jnp.all(x, axis, keepdims=keepdims, where=where)


@register("any", methods=("any",), np=_TRUTH, npx=_ALL, shape=REDUCED, gradient=NONE, gives="bool")
def any_(x: Array, where: Array | None = None, *, axis: Axis = None, keepdims: bool = False) -> Array:
    """Return whether some element over axes is non-zero.

    Examples
    --------
    >>> from gluonx import np, npx
    >>> np.any(np.array([[False, False], [True, False]]), axis=1).tolist()
    [False, True]
    """
    axis = _along(x, axis)
    return jnp.any(x, axis, keepdims=keepdims, where=where)


@register(amp="float32", methods=("var",), np=_SPREAD, npx=_ALL, shape=REDUCED, gives="float")
def var(
    x: Array,
    where: Array | None = None,
    *,
    axis: Axis = None,
    dtype: DTypeLike = None,
    ddof: float = 0,
    keepdims: bool = False,
) -> Array:
    """Return the variance over axes: squared distances from the mean, summed, over the number of elements minus `ddof`.

    Examples
    --------
    >>> from gluonx import np, npx
    >>> np.var(np.array([[1.0, 3.0], [4.0, 2.0]]), axis=1).tolist()
    [1.0, 1.0]
    """
    axis = _along(x, axis)
    if dtype is None and is_long(x):
        return in_double(jnp.var, x, axis, ddof=ddof, keepdims=keepdims, where=where)
    if where is not None:
        return jnp.var(x, axis, _sum_dtype(dtype), ddof=ddof, keepdims=keepdims, where=where)  # type: ignore[arg-type]
    axes = _slow_axes(x, axis) if dtype is None else None
    if axes is None:
        return jnp.var(x, axis, dtype=_sum_dtype(dtype), ddof=ddof, keepdims=keepdims)  # type: ignore[arg-type]
    y, count = wide(x), math.prod(x.shape[a] for a in axes)
    squares = total(jnp.square(y - _mean_of_rows(y, axes, True)), axes, keepdims)
    return narrow(squares / (count - ddof), x.dtype)


@register(
    amp="float32",
    methods=("std",),
    np=_SPREAD,
    npx=_ALL,
    shape=REDUCED,
    gradient="through `x`, 0 where it is 0",
    gives="float",
)
def std(
    x: Array,
    where: Array | None = None,
    *,
    axis: Axis = None,
    dtype: DTypeLike = None,
    ddof: float = 0,
    keepdims: bool = False,
) -> Array:
    """Return the standard deviation over axes, with gradient 0 where it is 0.

    Examples
    --------
    >>> from gluonx import np, npx
    >>> np.std(np.array([[1.0, 3.0], [4.0, 2.0]]), axis=1).tolist()
    [1.0, 1.0]
    """
    return root(var.fn(x, where, axis=axis, dtype=dtype, ddof=ddof, keepdims=keepdims))


def root(x: Array) -> Array:
    """Return the square root; its gradient at 0 is 0."""
    positive = x > 0
    return jnp.where(positive, jnp.sqrt(jnp.where(positive, x, 1)), jnp.where(x == 0, 0, jnp.nan).astype(x.dtype))


def _in_all(smallest: bool, x: Array, axis: int | None, keepdims: bool) -> Array:
    axis = None if _along(x, axis) == () else axis
    if axis is None or not -x.ndim <= axis < x.ndim:
        return positions(jnp.argmin if smallest else jnp.argmax, x, axis=axis, keepdims=keepdims)
    return positions(largest_position, x, axis % x.ndim, keepdims, smallest)


_PLACE = Front(order="x axis out keepdims", shown={"x": "a"})


@register(wide=True, methods=("argmax",), np=_PLACE, shape=REDUCED, gradient=NONE, gives="int64")
def argmax(x: Array, *, axis: int | None = None, keepdims: bool = False) -> Array:
    """Return the position of the largest element (the first of several) along an axis, or in the flattened array.

    Examples
    --------
    >>> from gluonx import np, npx
    >>> np.argmax(np.array([[1.0, 3.0], [4.0, 2.0]]), axis=1).tolist()
    [1, 0]
    """
    return _in_all(False, x, axis, keepdims)


@register(wide=True, methods=("argmin",), np=_PLACE, shape=REDUCED, gradient=NONE, gives="int64")
def argmin(x: Array, *, axis: int | None = None, keepdims: bool = False) -> Array:
    """Return the position of the smallest element (the first of several) along an axis, or in the flattened array.

    Examples
    --------
    >>> from gluonx import np, npx
    >>> np.argmin(np.array([[1.0, 3.0], [4.0, 2.0]]), axis=1).tolist()
    [0, 1]
    """
    return _in_all(True, x, axis, keepdims)


@register(
    amp="float32",
    methods=("norm",),
    npx=Front(order="x ord axis out_dtype keepdims", unset="ord"),
    shape=REDUCED,
    gradient="through `x`, 0 where it is 0",
    gives="float",
)
def norm(x: Array, *, ord: int = 2, axis: Axis = None, keepdims: bool = False, out_dtype: Any = None) -> Array:
    """Return the length of vectors: root of the sum of squares (`ord` 2, gradient 0 at 0) or sum of magnitudes (1).

    Parameters
    ----------
    ord
        2 or 1.
    out_dtype
        The dtype of the result.

    Examples
    --------
    >>> from gluonx import np, npx
    >>> npx.norm(np.array([[3.0, 4.0]]), axis=1).tolist()
    [5.0]
    """
    size = choose({1: absolute, 2: jnp.square}, ord, "norm", "ord")  # type: ignore[arg-type]
    axis = tuple(axis) if isinstance(axis, (tuple, list)) else axis
    total = sum_.fn(size(wide(x)), axis=axis, keepdims=keepdims)
    length = total if ord == 1 else root(total)
    return narrow(length, float_dtype(x) if out_dtype is None else canonical(out_dtype))


@register(amp="float32", shape=REDUCED, stands_for="`scipy.special.logsumexp`", gives="float")
def logsumexp(x: Array, *, axis: Axis = None, keepdims: bool = False) -> Array:
    """``log(sum(exp(x)))`` over axes, without overflow.

    Examples
    --------
    >>> from gluonx import np, npx
    >>> float(npx.logsumexp(np.array([0.0, 0.0])))
    0.6931
    """
    axes = _slow_axes(x, axis)
    if axes is None:
        return jax.nn.logsumexp(x, axis, keepdims=keepdims)
    y = wide(x)
    best = jax.lax.stop_gradient(largest(y, axes, True))
    best = jnp.where(jnp.isfinite(best), best, 0)
    found = jnp.log(total(jnp.exp(y - best), axes, True)) + best
    return narrow(found if keepdims else found.squeeze(axes), x.dtype)


_RUNNING = Front(order="x axis dtype out", shown={"x": "a"})


@register(
    amp="float32",
    methods=("cumsum",),
    np=_RUNNING,
    shape="as the first input; flat where `axis` is None",
    gives="input",
)
def cumsum(x: Array, *, axis: int | None = None, dtype: DTypeLike = None) -> Array:
    """Return the running sum along an axis, or of the flattened array.

    Examples
    --------
    >>> from gluonx import np, npx
    >>> np.cumsum(np.array([1.0, 2.0, 3.0])).tolist()
    [1.0, 3.0, 6.0]
    """
    if axis is None or dtype is not None or not -x.ndim <= axis < x.ndim:
        return jnp.cumsum(x, axis, dtype=_sum_dtype(dtype))
    return running(x, axis % x.ndim)


def in_long(x: Array) -> Array:
    """Return integers and bools as int64, unsigned ones as uint64, as NumPy multiplies them; floats unchanged."""
    if jnp.issubdtype(x.dtype, jnp.inexact):
        return x
    with keeping_64_bits():
        return x.astype(jnp.uint64 if jnp.issubdtype(x.dtype, jnp.unsignedinteger) else jnp.int64)


@register(
    wide=lambda attrs: attrs["dtype"] is None,
    amp="float32",
    np=_RUNNING,
    shape="as the first input; flat where `axis` is None",
)
def cumprod(x: Array, *, axis: int | None = None, dtype: DTypeLike = None) -> Array:
    """Return the running product along an axis, or of the flattened array; of integers in 64 bits.

    Examples
    --------
    >>> from gluonx import np, npx
    >>> np.cumprod(np.array([1.0, 2.0, 3.0])).tolist()
    [1.0, 2.0, 6.0]
    """
    if dtype is None:
        x = in_long(x)
    if axis is None or dtype is not None or not -x.ndim <= axis < x.ndim:
        return jnp.cumprod(x, axis, dtype=_sum_dtype(dtype))
    return running(x, axis % x.ndim, product=True)


# -- order ---------------------------------------------------------------------------------------------------------


_ORDER = Front(order="x axis descending stable kind order", shown={"x": "a"})
_STABLE = Front(hidden="stable kind order")


def _downwards(name: str, descending: Any, order: str | None) -> bool:
    """Return the flag; a text is no flag but the kind of sort, which NumPy has at this position."""
    if order is not None:
        raise UnsupportedArgumentError(
            f"np.{name}: order={order!r} names fields of an array, but arrays have none here."
        )
    if isinstance(descending, str):
        raise TypeError(
            f"{name}: descending must be True or False, got {descending!r}; kind={descending!r} goes by name."
        )
    return bool(descending)


@register(methods=("sort",), np=_ORDER, npx=_STABLE, shape=SAME, gives="input")
def sort(
    x: Array, *, axis: int | None = -1, descending: bool = False, stable: bool = True, kind: Any = None,
    order: Any = None,
) -> Array:  # fmt: skip
    """Return the elements in order along an axis, or of the flattened array; `kind` is ignored.

    Parameters
    ----------
    kind
        Ignored.
    order
        Only None: arrays have no fields.

    Examples
    --------
    >>> from gluonx import np, npx
    >>> np.sort(np.array([3.0, 1.0, 2.0])).tolist()
    [1.0, 2.0, 3.0]
    """
    descending = _downwards("sort", descending, order)
    if axis is None or descending or not -x.ndim <= axis < x.ndim:
        return jnp.sort(x, axis, descending=descending)
    return ordered(x, axis % x.ndim)


@register(
    wide=lambda attrs: attrs["dtype"] is None,
    amp="float32",
    methods=("argsort",),
    np=_ORDER,
    npx=_STABLE,
    shape="as the first input; flat where `axis` is None",
    gradient=NONE,
    gives="int64",
)
def argsort(
    x: Array, *, axis: int | None = -1, descending: bool = False, stable: bool = True, dtype: DTypeLike = None,
    kind: Any = None, order: Any = None,
) -> Array:  # fmt: skip
    """Return the positions of the elements in order, reversed by `descending`; equal ones keep theirs if `stable`.

    Parameters
    ----------
    kind
        Ignored.
    order
        Only None: arrays have no fields.

    Examples
    --------
    >>> from gluonx import np, npx
    >>> np.argsort(np.array([3.0, 1.0, 2.0])).tolist()
    [1, 2, 0]
    """
    descending = _downwards("argsort", descending, order)
    found = positions(jnp.argsort, x, axis, descending=descending, stable=stable)
    return found if dtype is None else found.astype(dtype)
