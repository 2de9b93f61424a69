"""Pooling of regions: a rectangle of a feature map, of any size, becomes a grid of fixed size.

Regions are rows (number of the image in the batch, left, top, right, bottom); they have no gradient. The result for an
image that does not exist is zeros. Regions are processed one after the other (`lax.map`), so that the memory is that of
one.
"""

from __future__ import annotations

from collections.abc import Sequence

import jax.numpy as jnp
from jax import Array, lax

from gluonx.errors import ShapeError
from gluonx.ops.common import narrow, wide
from gluonx.ops.registry import register


def _check(name: str, data: Array, rois: Array, pooled_size: Sequence[int]) -> tuple[int, int]:
    if data.ndim != 4 or rois.ndim != 2 or rois.shape[1] != 5:
        raise ShapeError(
            f"{name}: data must be (batch, channels, height, width) and rois (regions, 5), but they have shapes "
            f"{data.shape} and {rois.shape}."
        )
    size = tuple(pooled_size) if isinstance(pooled_size, (tuple, list)) else ()
    if len(size) != 2 or min(size) < 1:
        raise ValueError(f"{name}: pooled_size must be two positive whole numbers, but is {pooled_size!r}.")
    return size


def _image(data: Array, position: Array) -> tuple[Array, Array]:
    """Return the image of a region, and whether it exists."""
    index = position.astype(jnp.int32)
    image = lax.dynamic_index_in_dim(data, jnp.clip(index, 0, len(data) - 1), keepdims=False)
    return image, (index >= 0) & (index < len(data))


# -- pooling --------------------------------------------------------------------------------------------------------


def _rounded(x: Array) -> Array:
    """Return the nearest integer, halves away from zero."""
    return jnp.trunc(x + jnp.copysign(0.5, x)).astype(jnp.int32)


def _bins(low: Array, high: Array, count: int, length: int) -> Array:
    """Return which positions of an axis are in which of `count` bins from `low` to `high`, shape (count, length)."""
    size = (jnp.maximum(high - low + 1, 1).astype(jnp.float32)) / count
    steps = jnp.arange(count, dtype=jnp.float32)
    start = jnp.clip(jnp.floor(steps * size).astype(jnp.int32) + low, 0, length)
    stop = jnp.clip(jnp.ceil((steps + 1) * size).astype(jnp.int32) + low, 0, length)
    positions = jnp.arange(length)[None]
    return (positions >= start[:, None]) & (positions < stop[:, None])


def _first(hit: Array) -> Array:
    """Return the first position along the last axis where `hit` is True; the axis' length if there is none."""
    length = hit.shape[-1]
    positions = lax.broadcasted_iota(jnp.int32, hit.shape, hit.ndim - 1)
    return jnp.min(jnp.where(hit, positions, length), -1)


def _largest(image: Array, rows: Array, columns: Array) -> tuple[Array, Array]:
    """Return the position (row, column) of the largest element in each bin, the first in reading order.

    The image is (C, H, W). It uses only maxima and minima over whole axes, which XLA vectorizes, unlike an argmax.
    """
    least = jnp.finfo(image.dtype).min
    image = jnp.where(image > least, image, least)  # as in MXNet, NaN never wins
    by_column = jnp.max(jnp.where(columns[None, None], image[:, :, None, :], least), -1)  # (C, H, columns)
    by_column = by_column.swapaxes(1, 2)[:, None]  # (C, 1, columns, H)
    inside = rows[None, :, None]
    best = jnp.max(jnp.where(inside, by_column, least), -1)  # (C, rows, columns)
    row = jnp.minimum(_first(inside & (by_column == best[..., None])), image.shape[1] - 1)
    line = jnp.take_along_axis(image[:, :, None, :], row[..., None], 1)  # (C, rows, columns, W)
    column = _first(columns[None, None] & (line == best[..., None]))
    return row, jnp.minimum(column, image.shape[2] - 1)


@register(aliases=("ROIPooling",), moving=("spatial_scale",), gradient="through `data`")
def roi_pooling(data: Array, rois: Array, *, pooled_size: Sequence[int], spatial_scale: float) -> Array:
    """Max pooling of regions (https://arxiv.org/abs/1504.08083).

    Parameters
    ----------
    data : array, shape (batch, channels, height, width)
    rois : array, shape (regions, 5)
        Position in the batch and corners, both corners included.
    pooled_size : (int, int)
        Height and width of the result.
    spatial_scale : float
        The factor of the corners, before they are rounded.

    Returns
    -------
    array, shape (regions, channels, *pooled_size)
        0 for a part of a region that lies outside. The first of several largest elements gets the gradient.

    Raises
    ------
    ShapeError
        If the shapes do not fit.

    Examples
    --------
    >>> from gluonx import np, npx
    >>> npx.roi_pooling(
    ...     np.ones((1, 2, 6, 6)),
    ...     np.array([[0.0, 0.0, 0.0, 4.0, 4.0]]),
    ...     pooled_size=(2, 2),
    ...     spatial_scale=1.0,
    ... ).shape
    (1, 2, 2, 2)
    """
    grid = _check("roi_pooling", data, rois, pooled_size)
    _, channels, height, width = data.shape
    if 0 in data.shape or 0 in rois.shape:
        return jnp.zeros((len(rois), channels, *grid), data.dtype)

    def one(roi: Array) -> Array:
        image, there = _image(data, roi[0])
        left, top, right, bottom = _rounded(roi[1:] * spatial_scale)
        rows, columns = _bins(top, bottom, grid[0], height), _bins(left, right, grid[1], width)
        filled = there & jnp.any(rows, 1)[:, None] & jnp.any(columns, 1)[None]
        row, column = _largest(lax.stop_gradient(image), rows, columns)
        flat = image.reshape(channels, height * width)
        found = jnp.take_along_axis(flat, (row * width + column).reshape(channels, -1), 1).reshape(row.shape)
        least = jnp.finfo(data.dtype).min
        return jnp.where(filled[None], jnp.where(found > least, found, least), 0)

    return lax.map(one, lax.stop_gradient(wide(rois)))


# -- averages of samples --------------------------------------------------------------------------------------------


def hat(positions: Array, length: int) -> Array:
    """Return the weights for linear interpolation of an axis at some positions, shape (positions, length).

    A position up to one beyond an end takes the end's value; one farther off takes nothing.
    """
    inside = (positions >= -1) & (positions <= length)
    near = jnp.clip(positions, 0, length - 1)
    weights = jnp.maximum(1 - jnp.abs(near[:, None] - jnp.arange(length, dtype=positions.dtype)[None]), 0)
    return jnp.where(inside[:, None], weights, 0)


def _samples(low: Array, size: Array, count: int, length: int, ratio: int) -> Array:
    """Return the mean of the samples in each of `count` bins of an axis, as weights of positions: (count, length)."""
    bin_size = size / count
    bins = low + jnp.arange(count, dtype=low.dtype) * bin_size
    number = jnp.asarray(ratio, jnp.int32) if ratio > 0 else jnp.ceil(bin_size).astype(jnp.int32)

    def add(i: Array, total: Array) -> Array:
        return total + hat(bins + (i + 0.5) * bin_size / number, length)

    total = lax.fori_loop(0, number, add, jnp.zeros((count, length), low.dtype))
    return total / jnp.maximum(number, 1)


def _sampled(
    corners: Array, grid: tuple[int, int], shape: Sequence[int], ratio: int, aligned: bool
) -> tuple[Array, Array]:
    """Return the weights of rows and columns for one region."""
    left, top, right, bottom = corners - (0.5 if aligned else 0.0)
    high, broad = bottom - top, right - left
    if not aligned:
        high, broad = jnp.maximum(high, 1), jnp.maximum(broad, 1)
    return _samples(top, high, grid[0], shape[0], ratio), _samples(left, broad, grid[1], shape[1], ratio)


def _means(image: Array, rows: Array, columns: Array, position_sensitive: bool) -> Array:
    """Return the sums over an image (C, H, W) with the weights of rows and columns, (C, rows, columns)."""
    if position_sensitive:
        grid = len(rows), len(columns)
        apart = image.reshape(_channels(len(image), grid), *grid, *image.shape[1:])
        return jnp.einsum("ih,jw,cijhw->cij", rows, columns, apart)
    return jnp.einsum("ih,chj->cij", rows, jnp.einsum("jw,chw->chj", columns, image))


def _channels(channels: int, grid: tuple[int, int]) -> int:
    """Return the number of channels of each bin, if each bin has its own."""
    if channels % (grid[0] * grid[1]):
        raise ShapeError(f"roi_align: {channels} channels cannot be shared among {grid[0]} x {grid[1]} bins.")
    return channels // (grid[0] * grid[1])


@register(aliases=("ROIAlign",), moving=("spatial_scale",), gradient="through `data`")
def roi_align(
    data: Array,
    rois: Array,
    *,
    pooled_size: Sequence[int],
    spatial_scale: float,
    sample_ratio: int = -1,
    position_sensitive: bool = False,
    aligned: bool = False,
) -> Array:
    """Return the mean of samples of regions, taken between the positions by linear interpolation (arXiv 1703.06870).

    Each sample is a product of a row and a column of weights, and so is the mean: two small matrix products a region,
    whose gradient are two more, with no gather and no scatter.

    Parameters
    ----------
    data : array, shape (batch, channels, height, width)
    rois : array, shape (regions, 5)
        Position in the batch and corners.
    pooled_size : (int, int)
        Height and width of the result.
    spatial_scale : float
        The factor of the corners.
    sample_ratio : int
        The number of samples of a bin in each direction; if not positive, the bin's length.
    position_sensitive : bool
        Whether each bin has channels of its own (arXiv 1605.06409): there are ``height * width`` times as many in
        `data`.
    aligned : bool
        Whether corners are relative to the edges of pixels, not to their centers.

    Returns
    -------
    array, shape (regions, channels, *pooled_size)

    Raises
    ------
    ShapeError
        If the shapes do not fit.

    Examples
    --------
    >>> from gluonx import np, npx
    >>> npx.roi_align(
    ...     np.ones((1, 2, 6, 6)),
    ...     np.array([[0.0, 0.0, 0.0, 4.0, 4.0]]),
    ...     pooled_size=(2, 2),
    ...     spatial_scale=1.0,
    ... ).shape
    (1, 2, 2, 2)
    """
    grid = _check("roi_align", data, rois, pooled_size)
    made = _channels(data.shape[1], grid) if position_sensitive else data.shape[1]
    if 0 in data.shape or 0 in rois.shape:
        return jnp.zeros((len(rois), made, *grid), data.dtype)
    x = wide(data)

    def one(roi: Array) -> Array:
        image, there = _image(x, roi[0])
        rows, columns = _sampled(roi[1:] * spatial_scale, grid, image.shape[1:], sample_ratio, aligned)
        return jnp.where(there, _means(image, rows, columns, position_sensitive), 0)

    return narrow(lax.map(one, lax.stop_gradient(rois.astype(x.dtype))), data.dtype)
