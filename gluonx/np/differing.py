"""MXNet's functions that differ from ``jax.numpy``'s: pure functions on JAX arrays with signatures like those.

A function is here for one of four reasons: MXNet's parameters have another order or other names; indices may be floats
(``np.array([0, 1])`` is float32 in MXNet, and a Python number beside a float array arrives as a float); JAX needs a
concrete value where MXNet allows a traced one; or the name is an older one.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Sequence
from typing import Any

import jax.numpy as jnp
from jax import Array
from numpy.typing import ArrayLike

from gluonx.common.arguments import Size
from gluonx.dtype import WIDE, DTypeLike, keeping_64_bits, without_64_bits
from gluonx.errors import ShapeError, UnsupportedArgumentError
from gluonx.ops.common import axes_of, axis_of, index_dtype, positions
from gluonx.ops.reduce import in_double, in_long, is_long, max_, min_
from gluonx.ops.tensor import cut

__all__ = ["computes", "histogram", "histogram_edges", "whole"]

_Widths = int | Sequence[int] | Sequence[Sequence[int]]


def whole(x: ArrayLike) -> Array:
    """Return indices and counts as integers, whatever their dtype is."""
    x = jnp.asarray(x)
    return x if jnp.issubdtype(x.dtype, jnp.integer) or x.dtype == bool else x.astype(jnp.int32)


def _refuse_fields(name: str, order: object) -> None:
    if order is not None:
        raise UnsupportedArgumentError(
            f"np.{name}: order={order!r} names fields of an array, but arrays have none here."
        )


def msort(a: Array) -> Array:
    return jnp.sort(a, axis=0)


def average(
    a: Array,
    axis: Size | None = None,
    weights: Array | None = None,
    returned: bool = False,
    out: None = None,
    keepdims: bool = False,
) -> Array | tuple[Array, Array]:
    if weights is None and not returned and is_long(a):
        return in_double(jnp.mean, a, axis, keepdims=keepdims)
    return jnp.average(a, axis=axis, weights=weights, returned=returned, keepdims=keepdims)


def trace(
    a: Array, offset: int = 0, axis1: int = 0, axis2: int = 1, out: None = None, *, dtype: DTypeLike = None
) -> Array:
    return jnp.trace(a, offset, axis1, axis2, dtype)


def sometrue(a: Array, axis: Size | None = None, keepdims: bool = False, out: None = None) -> Array:
    return jnp.any(a, axis, keepdims=keepdims)


def partition(
    a: Array, kth: int | tuple[int, ...] | range, axis: int | None = -1, kind: str = "introselect", order: object = None
) -> Array:
    _refuse_fields("partition", order)
    a, axis = (a.reshape(-1), -1) if axis is None else (a, axis)
    whole = _several("partition", kth, a.shape[axis])
    return jnp.sort(a, axis) if whole else jnp.partition(a, _only(kth), axis)


def argpartition(
    a: Array, kth: int | tuple[int, ...] | range, axis: int | None = -1, kind: str = "introselect", order: object = None
) -> Array:
    _refuse_fields("argpartition", order)
    a, axis = (a.reshape(-1), -1) if axis is None else (a, axis)
    if _several("argpartition", kth, a.shape[axis]):
        return positions(jnp.argsort, a, axis)
    return positions(jnp.argpartition, a, _only(kth), axis)


def _only(kth: int | tuple[int, ...] | range) -> int:
    return kth[0] if isinstance(kth, (tuple, range)) else kth


def _several(name: str, kth: int | tuple[int, ...] | range, length: int) -> bool:
    """Return whether `kth` has several positions; a sorted array satisfies all of them."""
    if not isinstance(kth, (tuple, range)) or len(kth) == 1:
        return False
    wrong = [k for k in kth if not -length <= k < length]
    if wrong:
        raise ShapeError(f"np.{name}: kth={wrong[0]} is out of bounds for an axis of {length} elements.")
    return True


def ptp(a: Array, axis: Size | None = None, out: None = None, keepdims: bool = False) -> Array:
    return max_.fn(a, axis=axis, keepdims=keepdims) - min_.fn(a, axis=axis, keepdims=keepdims)


# -- shapes -----------------------------------------------------------------------------------------------------------


def vstack(tup: Sequence[Array], out: None = None, *, dtype: DTypeLike = None) -> Array:
    return jnp.vstack(tup, dtype=dtype)


def copy(a: Array, out: None = None, *, order: str | None = None) -> Array:
    return jnp.copy(a)


def pad(
    x: Array, pad_width: _Widths, mode: str = "constant", *, constant_values: Array | None = None,
    end_values: Array | None = None, stat_length: _Widths | None = None, reflect_type: str | None = None,
) -> Array:  # fmt: skip
    options = {
        "constant_values": constant_values,
        "end_values": end_values,
        "stat_length": stat_length,
        "reflect_type": reflect_type,
    }
    return jnp.pad(x, pad_width, mode, **{k: v for k, v in options.items() if v is not None})


def permute_dims(a: Array, axes: Sequence[int] | None = None) -> Array:
    return jnp.transpose(a, axes)


def ravel(x: Array, order: str = "C") -> Array:
    return jnp.ravel(x, order=order)


def roll(a: Array, shift: Array, axis: Size | None = None) -> Array:
    return jnp.roll(a, whole(shift), axis)


def meshgrid(*xi: Array, copy: bool = True, sparse: bool = False, indexing: str = "xy") -> list[Array]:
    # As in NumPy each array is flattened to a row, also one without axes.
    return list(jnp.meshgrid(*[jnp.ravel(x) for x in xi], copy=copy, sparse=sparse, indexing=indexing))


def array_split(ary: Array, indices_or_sections: Size, axis: int = 0) -> list[Array]:
    if isinstance(indices_or_sections, int):
        return jnp.array_split(ary, indices_or_sections, axis)
    return list(cut(ary, indices_or_sections, axis_of(axis, ary.ndim, "array_split")))


def _split_along(name: str, axis: int, least: int) -> Callable[..., list[Array]]:
    def split(ary: Array, indices_or_sections: Size) -> list[Array]:
        if ary.ndim < least:
            raise ShapeError(f"{name}: an array of {least} or more axes was expected, got one of shape {ary.shape}.")
        along = min(axis, ary.ndim - 1)
        if isinstance(indices_or_sections, int):
            return jnp.split(ary, indices_or_sections, along)
        return list(cut(ary, indices_or_sections, along))

    return split


hsplit, vsplit, dsplit = _split_along("hsplit", 1, 1), _split_along("vsplit", 0, 2), _split_along("dsplit", 2, 3)


# -- indices ----------------------------------------------------------------------------------------------------------


def unravel_index(indices: Array, shape: Size, order: str = "C") -> tuple[Array, ...]:
    shape = (shape,) if isinstance(shape, int) else shape
    if order == "F":
        found = tuple(reversed(jnp.unravel_index(whole(indices), tuple(reversed(shape)))))
    else:
        found = jnp.unravel_index(whole(indices), shape)
    return tuple([axis.astype(index_dtype()) for axis in found])


def ravel_multi_index(arrays: Sequence[Array], dims: Sequence[int], mode: str = "raise", order: str = "C") -> Array:
    parts = [whole(part) for part in arrays]
    found = jnp.ravel_multi_index(parts, dims, mode="clip" if mode == "raise" else mode, order=order)
    return found.astype(index_dtype())


def searchsorted(a: Array, v: Array, side: str = "left", sorter: Array | None = None) -> Array:
    if v.dtype in WIDE:
        return jnp.searchsorted(a, v, side, None if sorter is None else whole(sorter)).astype(index_dtype())
    return positions(jnp.searchsorted, a, v, side, None if sorter is None else whole(sorter))


def digitize(x: Array, bins: Array, right: bool = False) -> Array:
    return jnp.digitize(x, bins, right).astype(index_dtype())


def in1d(ar1: Array, ar2: Array, assume_unique: bool = False, invert: bool = False) -> Array:
    return jnp.isin(jnp.ravel(ar1), ar2, invert=invert)


def isin(element: Array, test_elements: Array, assume_unique: bool = False, invert: bool = False) -> Array:
    return jnp.isin(element, test_elements, invert=invert)


# -- linear algebra, polynomials, statistics --------------------------------------------------------------------------


def cross(a: Array, b: Array, axisa: int = -1, axisb: int = -1, axisc: int = -1, axis: int | None = None) -> Array:
    return jnp.cross(a, b, axisa, axisb, axisc, axis)


def vecmat(x1: Array, x2: Array) -> Array:
    return jnp.matmul(jnp.conj(x1)[..., None, :], x2)[..., 0, :]


def corrcoef(
    x: Array,
    y: Array | None = None,
    rowvar: bool = True,
    bias: object = None,
    ddof: object = None,
    *,
    dtype: DTypeLike = None,
) -> Array:
    return jnp.corrcoef(x, y, rowvar, dtype=dtype)


def median(
    a: Array, axis: Size | None = None, out: None = None, overwrite_input: bool = False, keepdims: bool = False
) -> Array:
    return _middle(jnp.median, a, axis, keepdims)


def nanmedian(
    a: Array, axis: Size | None = None, out: None = None, overwrite_input: bool = False, keepdims: bool = False
) -> Array:
    return _middle(jnp.nanmedian, a, axis, keepdims)


def _middle(compute: Callable[..., Array], a: Array, axis: Size | None, keepdims: bool) -> Array:
    kept = range(a.ndim) if axis is None else axes_of(axis, a.ndim, "median")
    compute = compute if math.prod([a.shape[i] for i in kept]) else jnp.mean  # the mean of no elements is NaN
    return compute(a, axis=axis, keepdims=keepdims)


def modf(x: Array) -> tuple[Array, Array]:
    part, whole = jnp.modf(x)
    return jnp.where(jnp.isinf(x), jnp.copysign(0, whole), part).astype(part.dtype), whole


def divmod(x1: Array, x2: Array) -> tuple[Array, Array]:
    quotient, rest = jnp.divmod(x1, x2)
    if not jnp.issubdtype(quotient.dtype, jnp.inexact):
        quotient = jnp.where(x2 == 0, 0, quotient).astype(quotient.dtype)  # XLA's result is undefined
    return quotient, rest


def _quantiles(name: str) -> Callable[..., Array]:
    compute = getattr(jnp, name)

    def quantile(
        a: Array, q: Array, axis: Size | None = None, out: None = None, overwrite_input: bool = False,
        method: str = "linear", keepdims: bool = False,
    ) -> Array:  # fmt: skip
        q = q if jnp.issubdtype(q.dtype, jnp.inexact) else q.astype(jnp.float32)
        at = q.reshape(-1) if q.ndim else q
        if method == "nearest":
            found = _nearest_rank(a, at / 100 if name.endswith("percentile") else at, axis, keepdims, name[:3] == "nan")
        else:
            found = compute(a, at, axis, method=method, keepdims=keepdims and a.ndim > 0)
        return found.reshape(q.shape + found.shape[1:]) if q.ndim else found

    return quantile


def _nearest_rank(a: Array, q: Array, axis: Size | None, keepdims: bool, skip: bool) -> Array:
    """Return the elements of rank ``q * (n - 1)``; ties go to even ranks as in NumPy (jax.numpy rounds down)."""
    over = tuple(range(a.ndim)) if axis is None else axes_of(axis, a.ndim, "quantile")
    kept = tuple(i for i in range(a.ndim) if i not in over)
    size = math.prod(a.shape[i] for i in over)
    rows = jnp.sort(a.transpose(*kept, *over).reshape(*(a.shape[i] for i in kept), size))  # NaN comes last
    missing = jnp.isnan(rows)
    n = jnp.sum(~missing, -1) if skip else jnp.full(rows.shape[:-1], size)
    rank = jnp.round(jnp.expand_dims(q, tuple(range(q.ndim, q.ndim + n.ndim))) * (n - 1)).astype(jnp.int32)
    rank = rank if skip else jnp.where(missing[..., -1:].any(-1), size - 1, rank)
    found = jnp.take_along_axis(rows, jnp.moveaxis(rank, 0, -1) if q.ndim else rank[..., None], -1, mode="clip")
    found = jnp.moveaxis(found, -1, 0) if q.ndim else found[..., 0]
    if not jnp.issubdtype(found.dtype, jnp.inexact):
        found = found.astype(jnp.float64 if found.dtype in WIDE else jnp.float32)
    return jnp.expand_dims(found, tuple(i + q.ndim for i in over)) if keepdims else found


def _running(name: str) -> Callable[..., Array]:
    compute = getattr(jnp, name)

    def running(a: Array, axis: int | None = None, dtype: DTypeLike = None, out: None = None) -> Array:
        return compute(in_long(a) if dtype is None else a, axis, dtype)

    return running


def _without_nan(name: str) -> Callable[..., Array]:
    compute = getattr(jnp, name)

    def total(
        a: Array, axis: Size | None = None, dtype: DTypeLike = None, out: None = None, keepdims: bool = False,
        initial: Array | None = None, where: Array | None = None,
    ) -> Array:  # fmt: skip
        return compute(in_long(a) if dtype is None else a, axis, dtype, None, keepdims, initial, where)

    return total


def vander(x: Array, N: int | None = None, increasing: bool = False) -> Array:
    return jnp.vander(x if jnp.issubdtype(x.dtype, jnp.inexact) else x.astype(jnp.int64), N, increasing)


def _sliding(compute: Callable[..., Array], mode: str) -> Callable[..., Array]:
    def products(
        a: Array, v: Array, mode: str = mode, *, precision: object = None, preferred_element_type: DTypeLike = None
    ) -> Array:
        kind = jnp.result_type(a, v)
        if jnp.issubdtype(kind, jnp.inexact) or preferred_element_type is not None:
            return compute(a, v, mode, precision=precision, preferred_element_type=preferred_element_type)
        with keeping_64_bits():  # float64 is exact up to 2**53, jax.numpy's float32 only up to 2**24
            return compute(a.astype(jnp.float64), v.astype(jnp.float64), mode).astype(jnp.int64).astype(kind)

    return products


convolve, correlate = _sliding(jnp.convolve, "full"), _sliding(jnp.correlate, "valid")


def polymul(a1: Array, a2: Array, *, trim_leading_zeros: bool = False) -> Array:
    if trim_leading_zeros:
        a1, a2 = jnp.trim_zeros(a1, "f"), jnp.trim_zeros(a2, "f")
    return convolve(a1, a2)


def polyder(p: Array, order: int = 1) -> Array:
    return jnp.polyder(p, order)


def polyint(p: Array, order: int = 1, k_values: Array | None = None) -> Array:
    return jnp.polyint(p, order, k_values)


def polyval(p: Array, x: Array) -> Array:
    return jnp.polyval(p, x)


def trapezoid(y: Array, x: Array | None = None, dx: Array | float = 1.0, axis: int = -1) -> Array:
    if y.ndim and not y.shape[axis]:  # jax.numpy's fails without a first point
        return jnp.sum(y * 1.0, axis)
    return jnp.trapezoid(y, x, dx, axis)


def interp(
    x: Array, xp: Array, fp: Array, left: Array | None = None, right: Array | None = None, period: Array | None = None
) -> Array:
    x, xp, fp = (jnp.asarray(a, jnp.promote_types(jnp.result_type(x, xp, fp), jnp.float32)) for a in (x, xp, fp))
    if xp.ndim != 1 or xp.shape != fp.shape or not xp.size:
        raise ShapeError(f"np.interp: xp and fp must be vectors of one length, got shapes {xp.shape} and {fp.shape}.")
    if period is not None:
        period = jnp.abs(jnp.asarray(period, x.dtype))
        x, xp = x % period, xp % period
        order = jnp.argsort(xp)
        xp, fp = xp[order], fp[order]
        xp = jnp.concatenate([xp[-1:] - period, xp, xp[:1] + period])
        fp = jnp.concatenate([fp[-1:], fp, fp[:1]])
    below = jnp.clip(jnp.searchsorted(xp, x, side="right") - 1, 0, max(len(xp) - 2, 0))
    above = jnp.minimum(below + 1, len(xp) - 1)
    x0, x1, f0, f1 = xp[below], xp[above], fp[below], fp[above]
    slope = (f1 - f0) / jnp.where(x1 == x0, 1, x1 - x0)
    found = slope * (x - x0) + f0
    # Next to an infinite value: interpolate from the other end, and at a point take its own value, as NumPy does.
    found = jnp.where(jnp.isnan(found), slope * (x - x1) + f1, found)
    found = jnp.where(jnp.isnan(found) & (f0 == f1), f0, found)
    found = jnp.where(x == x0, f0, found)
    if period is None:
        found = jnp.where(x < xp[0], fp[0] if left is None else left, found)
        found = jnp.where(x >= xp[-1], fp[-1], found)
        found = found if right is None else jnp.where(x > xp[-1], right, found)
    return jnp.where(jnp.isnan(x), x, found).astype(x.dtype)


def gradient(*args: Array, axis: Size | None = None, edge_order: int | None = None) -> Array | list[Array]:
    return jnp.gradient(args[0], *args[1:], axis=axis, edge_order=edge_order)


def histogram_edges(
    a: Array,
    edges: Array | None = None,
    weights: Array | None = None,
    *,
    bins: int = 10,
    range: tuple[float, float] | None = None,
) -> Array:
    """Return the edges of a histogram's bins."""
    if range is not None and not (range[0] <= range[1] and math.isfinite(range[1] - range[0])):
        raise ValueError(f"histogram: a range goes from a finite number to one that is not less, got {range}")
    return jnp.histogram_bin_edges(
        a, bins if edges is None else edges, None if range is None else jnp.asarray(range), weights
    )


def histogram(
    a: Array,
    edges: Array | None = None,
    weights: Array | None = None,
    *,
    bins: int = 10,
    range: tuple[float, float] | None = None,
    density: bool | None = None,
) -> tuple[Array, Array]:
    """Return the counts of elements in the bins, and their edges; without `edges` there are `bins` equal bins."""
    with without_64_bits() if a.dtype not in WIDE else contextlib.nullcontext():
        at = histogram_edges(a, edges, weights, bins=bins, range=range)
    with without_64_bits() if a.dtype not in WIDE and at.dtype not in WIDE else contextlib.nullcontext():
        counts, at = jnp.histogram(a, at, None, weights, density)
    return (counts if density or weights is not None else counts.astype(index_dtype())), at


percentile, nanpercentile, quantile, nanquantile = map(
    _quantiles, ("percentile", "nanpercentile", "quantile", "nanquantile")
)
nancumprod, nancumsum = _running("nancumprod"), _running("nancumsum")
nanprod, nansum = _without_nan("nanprod"), _without_nan("nansum")
alltrue, fix, product, round_, row_stack, trapz = jnp.all, jnp.trunc, jnp.prod, jnp.round, vstack, trapezoid


def computes(name: str) -> Callable[..., Any] | None:
    """Return the function that computes ``np``'s `name`: the one here, or else ``jax.numpy``'s; None without both.

    Examples
    --------
    >>> computes("vander") is vander, computes("tri") is jnp.tri, computes("no_such")
    (True, True, None)
    """
    return globals().get(name) or getattr(jnp, name, None)
