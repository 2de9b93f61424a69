"""Resizing images as OpenCV does, which MXNet uses.

One axis is resized at a time: each new pixel is a weighted sum of a few old ones. `taps` gives their positions and
weights, so that the kinds of interpolation differ only in numbers. Images of bytes are summed in fixed point with
OpenCV's rounding, so that results are the same to the last bit except for rare ties. An image may also be a NumPy
array.
"""

from __future__ import annotations

from types import ModuleType
from typing import TYPE_CHECKING, Any, NamedTuple

import jax.numpy as jnp
import numpy as np

if TYPE_CHECKING:
    import jax

    from gluonx.dtype import DTypeLike


NEAREST, LINEAR, CUBIC, AREA, LANCZOS = range(5)
_ONE = 2048  # the unit of OpenCV's fixed-point weights


class Taps(NamedTuple):
    """For each new position the old positions and their weights, both (new length, taps)."""

    index: Any
    weight: Any


def _cubic(t: np.ndarray, xp: ModuleType) -> np.ndarray:
    """Return the weights of the four neighbours of a position that is `t` behind the second."""
    a = -0.75
    first = ((a * (t + 1) - 5 * a) * (t + 1) + 8 * a) * (t + 1) - 4 * a
    second = ((a + 2) * t - (a + 3)) * t * t + 1
    third = ((a + 2) * (1 - t) - (a + 3)) * (1 - t) * (1 - t) + 1
    return xp.stack([first, second, third, 1 - first - second - third], -1)


def _lanczos(t: np.ndarray, xp: ModuleType) -> np.ndarray:
    """Return the weights of the eight neighbours of a position that is `t` behind the fourth."""
    away = t[:, None] - xp.arange(-3, 5)
    weight = xp.sinc(away) * xp.sinc(away / 4)
    return weight / xp.sum(weight, -1, keepdims=True)


def _linear(position: jax.Array | np.ndarray, length: int | jax.Array, xp: ModuleType) -> Taps:
    low = xp.floor(position)
    part = position - low
    index = low.astype("int32")[:, None] + xp.arange(2)
    return Taps(xp.clip(index, 0, length - 1), xp.stack([1 - part, part], -1))


def _grown(new: np.ndarray, length: Any, count: int, xp: ModuleType) -> Taps:
    """Return linear interpolation that keeps the cells of old pixels as large as possible: OpenCV's area, enlarging."""
    low = xp.floor(new * (1 / (count / length)))
    part = (new + 1 - (low + 1) * (count / length)).astype("float32")  # OpenCV's rounding, by which 1 may become 0
    part = xp.where(part <= 0, 0, part - xp.floor(part))
    index = xp.clip(low.astype("int32"), 0, length - 1)
    return Taps(xp.stack([index, xp.minimum(index + 1, length - 1)], -1), xp.stack([1 - part, part], -1))


def _mean(new: np.ndarray, length: Any, count: int, longest: int, xp: ModuleType) -> Taps:
    """Return the fraction of each old pixel that is under a new one."""
    scale = length / count
    start, stop = new * scale, xp.minimum((new + 1) * scale, length)
    width = int(np.ceil(longest / count)) + 1
    index = xp.floor(start + 1e-4).astype("int32")[:, None] + xp.arange(width)
    covered = xp.minimum(index + 1, stop[:, None]) - xp.maximum(index, start[:, None])
    covered = xp.where(covered < 1e-3, 0, covered)
    return Taps(xp.clip(index, 0, length - 1), covered / xp.sum(covered, -1, keepdims=True))


def taps(length: Any, count: int, interp: int, *, shrinks: bool, longest: int = 0, xp: ModuleType = np) -> Taps:
    """Return the taps that make `count` positions of an axis from `length`.

    Parameters
    ----------
    length : int or scalar array
        The old length; an array if it is known only when the program runs.
    count : int
    interp : int
        0 nearest, 1 linear, 2 cubic, 3 area, 4 Lanczos.
    shrinks : bool
        Whether the image gets smaller in both directions: only then area means a mean.
    longest : int
        A bound of `length`, if that is an array.
    xp : module
        numpy, or jax.numpy for a `length` that is an array.
    """
    new = xp.arange(count)
    if interp == NEAREST:
        # OpenCV's rounding: a position that is an integer may come out slightly lower.
        position = xp.floor(new * (1 / (count / length))).astype("int32") if xp is np else new * length // count
        return Taps(xp.minimum(position, length - 1)[:, None], xp.ones((count, 1)))
    if interp == AREA:
        if shrinks:
            return _mean(new, length, count, longest or int(length), xp)
        return _grown(new, length, count, xp)
    position = (new + 0.5) * (length / count) - 0.5
    if interp == LINEAR:
        return _linear(position, length, xp)
    low = xp.floor(position)
    weights, reach = (_cubic(position - low, xp), 1) if interp == CUBIC else (_lanczos(position - low, xp), 3)
    index = low.astype("int32")[:, None] + xp.arange(-reach, reach + 2)
    return Taps(xp.clip(index, 0, length - 1), weights)


def _along(x: jax.Array | np.ndarray, axis: int, tap: Taps, dtype: DTypeLike) -> Any:
    """Return the weighted sums along one axis of an image of (height, width, channels)."""
    own = x.__array_namespace__()
    out: Any = 0
    for k in range(tap.index.shape[1]):
        shape = [-1 if i == axis else 1 for i in range(x.ndim)]
        weight = own.asarray(tap.weight[:, k], dtype).reshape(shape)
        out = out + own.take(x, own.asarray(tap.index[:, k], "int32"), axis, mode="clip") * weight
    return out


def _fixed(tap: Taps, xp: ModuleType) -> Taps:
    return Taps(tap.index, xp.round(tap.weight * _ONE).astype("int32"))


def _vertical(x: jax.Array | np.ndarray, rows: Taps) -> Any:
    """Return OpenCV's last step of linear interpolation of bytes, which keeps few bits of the intermediate sums."""
    own = x.__array_namespace__()
    out: Any = 2
    for k in range(2):
        weight = own.asarray(rows.weight[:, k], "int32")[:, None, None]
        found = own.take(x, own.asarray(rows.index[:, k], "int32"), 0, mode="clip")
        out = out + ((weight * (found >> 4)) >> 16)
    return out >> 2


def resampled(x: jax.Array | np.ndarray, rows: Taps, columns: Taps, interp: int, xp: ModuleType = np) -> Any:
    """Return an image (height, width, channels) resized, in its own element type and by its own library.

    Rows and columns are results of `taps`, for one kind of interpolation, and arrays of `xp`.
    """
    dtype, own = x.dtype, x.__array_namespace__()
    if interp == NEAREST:
        x = own.take(x, own.asarray(columns.index[:, 0], "int32"), 1, mode="clip")
        return own.take(x, own.asarray(rows.index[:, 0], "int32"), 0, mode="clip")
    floating = jnp.issubdtype(dtype, jnp.floating)
    halved = (len(rows.index) * 2, len(columns.index) * 2) == x.shape[:2]
    linear = rows.index.shape[1] == columns.index.shape[1] == 2 and not halved
    if dtype == jnp.uint8 and (linear or interp in (CUBIC, LANCZOS)):
        part = _along(x.astype("int32"), 1, _fixed(columns, xp), "int32")
        fixed = _fixed(rows, xp)
        if linear:
            return own.clip(_vertical(part, fixed), 0, 255).astype(dtype)
        return own.clip((_along(part, 0, fixed, "int32") + (1 << 21)) >> 22, 0, 255).astype(dtype)
    inner = dtype if floating and dtype.itemsize >= 4 else np.dtype("float32")
    out = _along(_along(x.astype(inner), 1, columns, inner), 0, rows, inner)
    if floating:
        return out.astype(dtype)
    bounds = jnp.iinfo(dtype)
    whole = own.floor(out + 0.5) if halved else own.round(out)
    return own.clip(whole, bounds.min, bounds.max).astype(dtype)
