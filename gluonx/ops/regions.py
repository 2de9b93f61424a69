"""Pooling of regions that are rotated, or whose parts are moved by learnt offsets.

Regions have no gradient; offsets have one. As in `gluonx.ops.vision`, regions are processed one after the other.
"""

from __future__ import annotations

from collections.abc import Sequence

import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from gluonx.errors import ShapeError
from gluonx.ops.common import narrow, wide
from gluonx.ops.registry import register
from gluonx.ops.vision import hat


@register(moving=("spatial_scale",))
def rroi_align(
    data: Array, rois: Array, *, pooled_size: Sequence[int], spatial_scale: float, sampling_ratio: int = -1
) -> Array:
    """Average pooling of interpolated samples in rotated regions, such as lines of text in an image.

    Parameters
    ----------
    data : array, shape (batch, channels, height, width)
    rois : array, shape (regions, 6)
        Position in the batch, centre (x, y), width, height, and the angle in degrees; they have no gradient.
    pooled_size : (int, int)
        Height and width of the result.
    spatial_scale : float
        The factor of centre, width and height.
    sampling_ratio : int
        The number of samples along each side of a part; if not positive, the part's length.

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
    >>> npx.rroi_align(
    ...     np.ones((1, 2, 6, 6)),
    ...     np.array([[0.0, 3.0, 3.0, 2.0, 2.0, 45.0]]),
    ...     pooled_size=(2, 2),
    ...     spatial_scale=1.0,
    ... ).shape
    (1, 2, 2, 2)
    """
    if data.ndim != 4 or rois.ndim != 2 or rois.shape[1] != 6 or len(pooled_size) != 2:
        raise ShapeError(
            "rroi_align: data must be (batch, channels, height, width), rois (regions, 6) and pooled_size two numbers, "
            f"but they are {data.shape}, {rois.shape} and {pooled_size}."
        )
    high, broad = pooled_size
    height, width = data.shape[2:]
    rows, columns = [jnp.arange(n, dtype=jnp.float32) for n in (high, broad)]

    def one(roi: Array) -> Array:
        centre_x, centre_y, across, along = roi[1:5] * spatial_scale
        sides = jnp.stack([jnp.maximum(along, 1), jnp.maximum(across, 1)])
        part = sides / jnp.asarray([high, broad], jnp.float32)
        counts = jnp.full(2, sampling_ratio) if sampling_ratio > 0 else jnp.ceil(part).astype(jnp.int32)
        sine, cosine = jnp.sin(roi[5] * (np.pi / 180)), jnp.cos(roi[5] * (np.pi / 180))

        def add(k: Array, total: Array) -> Array:
            down = -sides[0] / 2 + (rows + (k // counts[1] + 0.5) / counts[0]) * part[0]
            right = -sides[1] / 2 + (columns + (k % counts[1] + 0.5) / counts[1]) * part[1]
            x = right * cosine + down[:, None] * sine + centre_x
            y = down[:, None] * cosine - right * sine + centre_y
            return total + hat(y.reshape(-1), height)[:, :, None] * hat(x.reshape(-1), width)[:, None]

        number = counts[0] * counts[1]
        total = lax.fori_loop(0, number, add, jnp.zeros((high * broad, height, width), jnp.float32))
        image = lax.dynamic_index_in_dim(data, jnp.clip(roi[0].astype(int), 0, len(data) - 1), keepdims=False)
        out = jnp.einsum("chw,phw->cp", wide(image), lax.stop_gradient(total / number))
        return narrow(out.reshape(-1, high, broad), data.dtype)

    return lax.map(one, lax.stop_gradient(wide(rois)))


@register(moving=("spatial_scale", "trans_std"))
def deformable_psroi_pooling(
    data: Array,
    rois: Array,
    trans: Array | None = None,
    *,
    spatial_scale: float,
    output_dim: int,
    group_size: int,
    pooled_size: int,
    part_size: int = 0,
    sample_per_part: int = 1,
    trans_std: float = 0.0,
    no_trans: bool = False,
) -> Array:
    """Average pooling of regions; each part is moved and has channels of its own (https://arxiv.org/abs/1703.06211).

    Parameters
    ----------
    data : array, shape (batch, output_dim * group_size**2, height, width)
    rois : array, shape (regions, 5)
        Position in the batch and corners; they have no gradient.
    trans : array, shape (regions, 2 * classes, part_size, part_size), optional
        The shift of each part to the right and down, relative to the region's size, for each class of channels.
    spatial_scale : float
        The factor of the corners, after they are rounded.
    output_dim, pooled_size : int
        Channels and side of the result.
    group_size : int
        The number of parts along a side that have channels of their own.
    part_size : int
        The number of parts along a side in `trans`; `pooled_size` if 0.
    sample_per_part : int
        The number of samples along each side of a part.
    trans_std : float
        The factor of `trans`.
    no_trans : bool
        Whether the parts are not moved, so that `trans` is not needed.

    Returns
    -------
    array, shape (regions, output_dim, pooled_size, pooled_size)

    Raises
    ------
    ShapeError
        If the shapes do not fit.

    Examples
    --------
    >>> from gluonx import np, npx
    >>> npx.deformable_psroi_pooling(
    ...     np.ones((1, 8, 6, 6)),
    ...     np.array([[0.0, 0.0, 0.0, 4.0, 4.0]]),
    ...     spatial_scale=1.0,
    ...     output_dim=2,
    ...     group_size=2,
    ...     pooled_size=2,
    ...     no_trans=True,
    ... ).shape
    (1, 2, 2, 2)
    """
    side = part_size or pooled_size
    _check_parts(data, rois, None if no_trans else trans, output_dim, output_dim * group_size**2, side, not no_trans)
    moves = jnp.zeros((len(rois), 2, side, side)) if no_trans or trans is None else wide(trans) * trans_std
    sizes = output_dim, group_size, pooled_size, sample_per_part
    given = lax.stop_gradient(wide(rois)), moves
    return lax.map(lambda region: _moved_parts(data, region[0], region[1], spatial_scale, *sizes), given)


def _check_parts(
    data: Array, rois: Array, trans: Array | None, outputs: int, channels: int, side: int, moves: bool
) -> None:
    fits = data.ndim == 4 and data.shape[1] == channels and rois.ndim == 2 and rois.shape[1] == 5
    if moves:
        shape = [] if trans is None else list(trans.shape)
        fits = fits and len(shape) == 4 and shape[0] == len(rois) and shape[2:] == [side, side]
        fits = fits and shape[1] > 0 and shape[1] % 2 == 0 and outputs % (shape[1] // 2) == 0
    if not fits:
        raise ShapeError(
            f"deformable_psroi_pooling: data must be (batch, {channels}, height, width), rois (regions, 5) and trans "
            f"(regions, 2 * classes, {side}, {side}), but they have shapes {data.shape}, {rois.shape} and "
            f"{None if trans is None else trans.shape}."
        )


def _moved_parts(
    data: Array, roi: Array, moves: Array, scale: float | Array, outputs: int, group: int, pooled: int, samples: int
) -> Array:
    height, width = data.shape[2:]
    corners = jnp.trunc(roi[1:] + jnp.copysign(0.5, roi[1:]))
    low = corners[:2] * scale - 0.5
    size = jnp.maximum((corners[2:] + 1) * scale - 0.5 - low, 0.1)
    steps = np.arange(pooled)
    which, position = [np.clip(steps * n // pooled, 0, n - 1) for n in (group, moves.shape[-1])]
    moves = jnp.repeat(moves.reshape(-1, 2, *moves.shape[1:]), outputs // (len(moves) // 2), 0)
    moves = moves[:, :, position][:, :, :, position]  # (outputs, 2, pooled, pooled)
    inner = jnp.asarray((steps[:, None] + np.arange(samples) / samples) / pooled, jnp.float32)
    x = (inner[None, :] + moves[:, 0, :, :, None]) * size[0] + low[0]  # (outputs, pooled, pooled, samples)
    y = (inner[:, None] + moves[:, 1, :, :, None]) * size[1] + low[1]
    x, y = jnp.broadcast_arrays(x[..., None, :], y[..., :, None])
    there = (x >= -0.5) & (x <= width - 0.5) & (y >= -0.5) & (y <= height - 0.5)
    image = lax.dynamic_index_in_dim(data, jnp.clip(roi[0].astype(int), 0, len(data) - 1), keepdims=False)
    parts = image.reshape(outputs, group, group, height * width)[:, which][:, :, which]
    x, y = (v.reshape(outputs, pooled, pooled, -1) for v in (x, y))
    values = _between(wide(parts), x, y, height, width)
    there = there.reshape(values.shape)
    total, count = jnp.where(there, values, 0).sum(-1), there.sum(-1)
    return narrow(total / jnp.maximum(count, 1), data.dtype)


def _between(image: Array, x: Array, y: Array, height: int, width: int) -> Array:
    """Interpolate linearly; beyond the edge take the edge's value. Integer positions have no gradient, as in MXNet."""

    def ends(v: Array, length: int) -> tuple[Array, Array, Array]:
        v = v + lax.stop_gradient(jnp.clip(v, 0, length - 1) - v)
        first = lax.stop_gradient(jnp.floor(v))
        return first.astype(jnp.int32), lax.stop_gradient(jnp.ceil(v)).astype(jnp.int32), v - first

    left, right, dx = ends(x, width)
    top, bottom, dy = ends(y, height)

    def at(row: Array, column: Array) -> Array:
        return jnp.take_along_axis(image, row * width + column, -1)

    upper = at(top, left) * (1 - dx) + at(top, right) * dx
    lower = at(bottom, left) * (1 - dx) + at(bottom, right) * dx
    return upper * (1 - dy) + lower * dy
