"""Geometric changes of images: resized, sampled along a grid, cut into patches, compared under displacements.

Images are (batch, channels, height, width). Grids hold x before y, from -1 at the first column (row) to 1 at the last.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from gluonx.errors import ShapeError
from gluonx.ops.common import choose, narrow, per_axis, wide
from gluonx.ops.registry import register


def _need_images(name: str, x: Array) -> None:
    if x.ndim != 4:
        raise ShapeError(f"{name}: images of shape (batch, channels, height, width) are needed, got {x.shape}.")


# -- resizing ---------------------------------------------------------------------------------------------------------


def _weights(old: int, new: int, align_corners: bool) -> np.ndarray:
    """Return the matrix (new, old) of linear interpolation along one axis."""
    positions = np.arange(new, dtype=np.float64)
    if align_corners:
        source = positions * ((old - 1) / (new - 1) if new > 1 else 0.0)
    else:
        source = np.maximum((positions + 0.5) * (old / new) - 0.5, 0)
    low = np.minimum(source.astype(np.int64), old - 1)
    high = np.minimum(low + 1, old - 1)
    share = source - low
    table = np.zeros((new, old))
    np.add.at(table, (np.arange(new), low), 1 - share)
    np.add.at(table, (np.arange(new), high), share)
    return table.astype(np.float32)


@register(gives="input")
def bilinear_resize(x: Array, *, height: int, width: int, align_corners: bool = True) -> Array:
    """Resize images by linear interpolation between neighbours.

    Parameters
    ----------
    x : array, shape (batch, channels, h, w)
    height, width : int
        The new size.
    align_corners : bool
        Whether the corner pixels keep their positions; otherwise the pixels' outer edges do.

    Returns
    -------
    array, shape (batch, channels, height, width)

    Examples
    --------
    >>> from gluonx import np, npx
    >>> npx.bilinear_resize(np.ones((1, 1, 2, 2)), height=4, width=6).shape
    (1, 1, 4, 6)
    """
    _need_images("bilinear_resize", x)
    if height < 1 or width < 1:
        raise ShapeError(f"bilinear_resize: height and width must be positive, got {(height, width)}.")
    rows, columns = (_weights(o, n, align_corners) for o, n in zip(x.shape[2:], (height, width), strict=True))
    y = jnp.einsum("yh,nchw->ncyw", rows, wide(x), precision=lax.Precision.HIGHEST)
    return narrow(jnp.einsum("xw,ncyw->ncyx", columns, y, precision=lax.Precision.HIGHEST), x.dtype)


# -- sampling along a grid --------------------------------------------------------------------------------------------


@register(gives="float")
def grid_generator(x: Array, *, transform_type: str, target_shape: Sequence[int] = (0, 0)) -> Array:
    """Return the grid for `bilinear_sampler`.

    Parameters
    ----------
    x : array
        For ``'affine'`` of shape (batch, 6), the rows of a matrix that maps (x, y, 1) of the result to positions in
        the image; for ``'warp'`` of shape (batch, 2, h, w), a shift of each pixel in pixels.
    transform_type : {'affine', 'warp'}
        The kind of `x`.
    target_shape : tuple of int
        For ``'affine'``, the height and width of the result.

    Returns
    -------
    array, shape (batch, 2, h, w)

    Examples
    --------
    >>> from gluonx import np, npx
    >>> npx.grid_generator(
    ...     np.array([[1.0, 0.0, 0.0, 0.0, 1.0, 0.0]]), transform_type="affine", target_shape=(2, 2)
    ... ).shape
    (1, 2, 2, 2)
    """
    affine = choose({"affine": True, "warp": False}, transform_type, "grid_generator", "transform_type")
    height, width = target_shape if affine else x.shape[2:]
    xs, ys = jnp.arange(width, dtype=x.dtype), jnp.arange(height, dtype=x.dtype)
    if not affine:
        base = jnp.stack(jnp.meshgrid(xs, ys))
        size = jnp.asarray([max(width - 1, 1), max(height - 1, 1)], x.dtype).reshape(1, 2, 1, 1)
        return (x + base[None]) * 2 / size - 1
    if x.ndim != 2 or x.shape[1] != 6:
        raise ShapeError(f"grid_generator: affine matrices of shape (batch, 6) are needed, got {x.shape}.")
    unit = [2 * v / max(n - 1, 1) - 1 for v, n in ((xs, width), (ys, height))]
    points = jnp.stack([*jnp.meshgrid(*unit), jnp.ones((height, width), x.dtype)])
    return jnp.einsum("nij,jhw->nihw", x.reshape(-1, 2, 3), points, precision=lax.Precision.HIGHEST)


@register()
def bilinear_sampler(x: Array, grid: Array) -> Array:
    """Sample images at the points of a grid, by linear interpolation; 0 outside.

    Parameters
    ----------
    x : array, shape (batch, channels, h, w)
    grid : array, shape (batch, 2, height, width)

    Returns
    -------
    array, shape (batch, channels, height, width)

    Examples
    --------
    >>> from gluonx import np, npx
    >>> npx.bilinear_sampler(np.ones((1, 1, 4, 4)), np.zeros((1, 2, 3, 3))).shape
    (1, 1, 3, 3)
    """
    _need_images("bilinear_sampler", x)
    if grid.ndim != 4 or grid.shape[:2] != (x.shape[0], 2):
        raise ShapeError(
            f"bilinear_sampler: grid has shape {grid.shape}, but images of {x.shape} need ({len(x)}, 2, ...)."
        )
    height, width = x.shape[2:]
    column, row = ((grid[:, i] + 1) * (n - 1) / 2 for i, n in ((0, width), (1, height)))
    left, top = jnp.floor(column), jnp.floor(row)

    def pixel(image: Array, r: Array, c: Array) -> Array:
        inside = (r >= 0) & (r < height) & (c >= 0) & (c < width)
        found = image[:, jnp.clip(r, 0, height - 1).astype(jnp.int32), jnp.clip(c, 0, width - 1).astype(jnp.int32)]
        return jnp.where(inside, found, 0)

    def one(image: Array, r: Array, c: Array, t: Array, s: Array) -> Array:
        down, right = r - t, c - s
        above = pixel(image, t, s) * (1 - right) + pixel(image, t, s + 1) * right
        below = pixel(image, t + 1, s) * (1 - right) + pixel(image, t + 1, s + 1) * right
        return above * (1 - down) + below * down

    return jax.vmap(one)(x, row, column, top, left)


# -- patches ----------------------------------------------------------------------------------------------------------


def _patches(x: Array, kernel: Any, stride: Any, dilate: Any, pad: Any) -> Array:
    space = x.ndim - 2
    stride, dilate, pad = (per_axis(v, space, d, "im2col") for v, d in ((stride, 1), (dilate, 1), (pad, 0)))
    found = lax.conv_general_dilated_patches(
        x, tuple(kernel), stride, [(p, p) for p in pad], rhs_dilation=dilate, precision=lax.Precision.HIGHEST
    )
    return found.reshape(*found.shape[:2], -1)


@register(gives="input")
def im2col(x: Array, *, kernel: Sequence[int], stride: Any = None, dilate: Any = None, pad: Any = None) -> Array:
    """Return the patches that a convolution sees, one in each column.

    Returns
    -------
    array, shape (batch, channels * kernel elements, positions)

    Examples
    --------
    >>> from gluonx import np, npx
    >>> npx.im2col(np.ones((1, 1, 3, 3)), kernel=(2, 2)).shape
    (1, 4, 4)
    """
    return _patches(x, kernel, stride, dilate, pad)


@register(shape="``(n, c, *output_size)``")
def col2im(
    x: Array,
    *,
    output_size: Sequence[int],
    kernel: Sequence[int],
    stride: Any = None,
    dilate: Any = None,
    pad: Any = None,
) -> Array:
    """Put patches back into images of `output_size`, adding overlapping ones: the transpose of `im2col`.

    Parameters
    ----------
    output_size
        The spatial size of the images.

    Examples
    --------
    >>> from gluonx import np, npx
    >>> npx.col2im(np.ones((1, 4, 4)), output_size=(3, 3), kernel=(2, 2)).shape
    (1, 1, 3, 3)
    """
    elements = int(np.prod(tuple(kernel)))
    like = jax.ShapeDtypeStruct((x.shape[0], x.shape[1] // elements, *output_size), x.dtype)
    (images,) = jax.linear_transpose(lambda y: _patches(y, kernel, stride, dilate, pad), like)(x)
    return images


# -- correlation ------------------------------------------------------------------------------------------------------


@register(amp="widest")
def correlation(
    x1: Array,
    x2: Array,
    *,
    kernel_size: int = 1,
    max_displacement: int = 1,
    stride1: int = 1,
    stride2: int = 1,
    pad_size: int = 0,
    is_multiply: bool = True,
) -> Array:
    """Compare patches of two images for each displacement (FlowNet, Dosovitskiy et al. 2015).

    Parameters
    ----------
    x1, x2 : array, shape (batch, channels, h, w)
    kernel_size : int
        The patches' size, odd.
    max_displacement : int
        The largest displacement of a patch of `x2`.
    stride1, stride2 : int
        Steps between patches, and between displacements.
    pad_size : int
        Zeros around both images.
    is_multiply : bool
        Whether patches are compared by the mean of products, not of absolute differences.

    Returns
    -------
    array, shape (batch, displacements, height, width)

    Examples
    --------
    >>> from gluonx import np, npx
    >>> npx.correlation(
    ...     np.ones((1, 2, 4, 4)), np.ones((1, 2, 4, 4)), kernel_size=1, max_displacement=1, pad_size=1
    ... ).shape
    (1, 9, 4, 4)
    """
    _need_images("correlation", x1)
    if x1.shape != x2.shape:
        raise ShapeError(f"correlation: the images have shapes {x1.shape} and {x2.shape}, which must be one.")
    around = ((0, 0), (0, 0), (pad_size, pad_size), (pad_size, pad_size))
    a, b = jnp.pad(x1, around), jnp.pad(x2, around)
    border = max_displacement + (kernel_size - 1) // 2
    height, width = (-((2 * border - n) // stride1) for n in a.shape[2:])
    if height < 1 or width < 1:
        raise ShapeError(
            f"correlation: images of shape {x1.shape} are too small for max_displacement={max_displacement}."
        )
    radius = max_displacement // stride2
    steps = [s * stride2 for s in range(-radius, radius + 1)]
    spans = [(n - 1) * stride1 + kernel_size for n in (height, width)]

    def part(x: Array, dy: int, dx: int) -> Array:
        y0, x0 = max_displacement + dy, max_displacement + dx
        return x[:, :, y0 : y0 + spans[0], x0 : x0 + spans[1]]

    def likeness(dy: int, dx: int) -> Array:
        one, other = part(a, 0, 0), part(b, dy, dx)
        # At a tie the gradient is as if the first number were larger, as in MXNet.
        each = one * other if is_multiply else jnp.where(one >= other, one - other, other - one)
        window, strides = (1, kernel_size, kernel_size), (1, stride1, stride1)
        total = lax.reduce_window(jnp.sum(each, 1), np.zeros((), each.dtype), lax.add, window, strides, "VALID")
        return total / (kernel_size**2 * x1.shape[1])

    return jnp.stack([likeness(dy, dx) for dy in steps for dx in steps], axis=1)
