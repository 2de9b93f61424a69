"""Operators on images, in MXNet's layout: (height, width, channels) until `to_tensor` puts the channels first.

Their names begin with ``image.``; users find them in ``gluonx.npx.image``. Those that change colours are in
`gluonx.ops.colour`. Random numbers are drawn inside the program; the position of a crop is data, so no draw recompiles
anything.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
from jax import Array, lax

from gluonx.errors import ShapeError
from gluonx.ops import resample
from gluonx.ops.registry import SAME, register

if TYPE_CHECKING:
    import numpy


def need_image(name: str, data: jax.Array | numpy.ndarray, batches: bool = False) -> None:
    """Check that `data` is an image, or, with `batches`, a batch of them."""
    if data.ndim != 3 and not (batches and data.ndim == 4):
        more = " or (batch, height, width, channels)" if batches else ""
        raise ShapeError(f"{name}: an image must be (height, width, channels){more}, but has shape {data.shape}.")


def _whole(name: str, what: str, value: Any) -> int:
    if not isinstance(value, int) or value < 1:
        raise ValueError(f"{name}: {what} must be a whole number of at least 1, but is {value!r}.")
    return value


def _interp(name: str, interp: int) -> int:
    if interp not in range(5):
        raise ValueError(
            f"{name}: interp is {interp!r}, but must be 0 (nearest), 1 (linear), 2 (cubic), 3 (area) or 4 (Lanczos)."
        )
    return interp


def _each(fn: Callable[[Array], Array], data: Array) -> Array:
    """Apply `fn` to an image, or to each image of a batch."""
    return jax.vmap(fn)(data) if data.ndim == 4 else fn(data)


# -- size -----------------------------------------------------------------------------------------------------------


@register("image.to_tensor")
def to_tensor(data: Array) -> Array:
    """Turn an image, or a batch, with values from 0 to 255 into float32 from 0 to 1, with the channels first.

    Parameters
    ----------
    data : array, shape (height, width, channels) or (batch, height, width, channels)

    Returns
    -------
    float32 array, shape (channels, height, width) or (batch, channels, height, width)

    Examples
    --------
    >>> from gluonx import np, npx
    >>> npx.image.to_tensor(np.full((2, 3, 1), 255, dtype="uint8")).shape
    (1, 2, 3)
    """
    need_image("image.to_tensor", data, batches=True)
    return jnp.moveaxis(data.astype(jnp.float32) / 255, -1, -3)


def _per_channel(name: str, what: str, value: float | Sequence[float], data: Array) -> Array:
    numbers = tuple(value) if isinstance(value, (tuple, list)) else (value,)
    channels = data.shape[-3]
    if len(numbers) not in (1, channels):
        raise ValueError(
            f"{name}: {what} must be 1 or {channels} numbers for data of shape {data.shape}, not {value!r}."
        )
    return jnp.asarray(numbers, data.dtype).reshape(
        [len(numbers) if i == data.ndim - 3 else 1 for i in range(data.ndim)]
    )


@register("image.normalize", shape=SAME)
def normalize(data: Array, *, mean: float | Sequence[float] = 0.0, std: float | Sequence[float] = 1.0) -> Array:
    """Compute ``(data - mean) / std`` for each channel of a tensor, or a batch, with channels first.

    Parameters
    ----------
    data : float array, shape (channels, height, width) or (batch, channels, height, width)
        Of 1 or 3 channels.
    mean, std : float, or one for each channel
        The number that is subtracted from a channel, and its divisor.

    Raises
    ------
    ShapeError
        If the shape is another, or `data` is not of floats.

    Examples
    --------
    >>> from gluonx import np, npx
    >>> npx.image.normalize(np.ones((3, 1, 1)), mean=(0.0, 0.5, 1.0), std=0.5)[:, 0, 0].tolist()
    [2.0, 1.0, 0.0]
    """
    name = "image.normalize"
    if data.ndim not in (3, 4) or data.shape[-3] not in (1, 3) or not jnp.issubdtype(data.dtype, jnp.floating):
        raise ShapeError(
            f"{name}: data must be floats of shape ([batch,] channels, height, width) with 1 or 3 channels (see "
            f"to_tensor), not {data.dtype} of shape {data.shape}."
        )
    return (data - _per_channel(name, "mean", mean, data)) / _per_channel(name, "std", std, data)


def sized(name: str, size: int | Sequence[int], keep_ratio: bool, height: int, width: int) -> tuple[int, int]:
    """Return the new (height, width) for the arguments of `resize`."""
    given = tuple(size) if isinstance(size, (tuple, list)) else (size,)
    if len(given) not in (1, 2):
        raise ValueError(f"{name}: size must be one number or (width, height), but is {size!r}.")
    numbers = [_whole(name, "size", number) for number in given]
    if len(numbers) == 2:
        return numbers[1], numbers[0]
    short = numbers[0]
    if not keep_ratio:
        return short, short
    return (height * short // width, short) if height > width else (short, width * short // height)


@register("image.resize", shape="`data` with `size`")
def resize(data: Array, *, size: int | Sequence[int], keep_ratio: bool = False, interp: int = 1) -> Array:
    """Return an image, or a batch, in another size.

    Parameters
    ----------
    data : array, shape (height, width, channels) or (batch, height, width, channels)
    size : int or (int, int)
        Width and height; one number is both, or with `keep_ratio` the shorter side.
    keep_ratio : bool
        Whether one number is the length of the shorter side.
    interp : {0, 1, 2, 3, 4}
        Nearest, linear, cubic, area, Lanczos: OpenCV's numbers.

    Returns
    -------
    array of the element type of `data`

    Raises
    ------
    ShapeError
        If `data` is no image.
    ValueError
        If `size` is not one or two numbers, or `interp` is none of the above.

    Examples
    --------
    >>> from gluonx import np, npx
    >>> npx.image.resize(np.zeros((4, 6, 3)), (3, 2)).shape
    (2, 3, 3)
    """
    name = "image.resize"
    need_image(name, data, batches=True)
    height, width = data.shape[-3:-1]
    return _resized(data, sized(name, size, keep_ratio, height, width), _interp(name, interp))


def _resized(data: Array, shape: tuple[int, int], interp: int) -> Array:
    height, width = data.shape[-3:-1]
    if (height, width) == shape:
        return data
    # OpenCV takes a plain mean where linear interpolation gives the same value.
    kind = resample.AREA if interp == resample.LINEAR and (2 * shape[0], 2 * shape[1]) == (height, width) else interp
    shrinks = shape[0] <= height and shape[1] <= width
    rows = resample.taps(height, shape[0], kind, shrinks=shrinks)
    columns = resample.taps(width, shape[1], kind, shrinks=shrinks)
    return _each(lambda x: resample.resampled(x, rows, columns, kind), data)


def _cut(data: Array, top: Array, left: Array, height: int, width: int) -> Array:
    """Return the rectangle at a position that is data; it is moved inside if it would reach beyond the image."""
    zeros = [jnp.int32(0)] * (data.ndim - 3)
    starts = [*zeros, top.astype(jnp.int32), left.astype(jnp.int32), jnp.int32(0)]
    return lax.dynamic_slice(data, starts, (*data.shape[:-3], height, width, data.shape[-1]))


@register(
    "image.crop",
    shape="`data` with `height` and `width`",
    gradient="through `data`",
    stands_for="`stablehlo.dynamic_slice`",
)
def crop(data: Array, x: Array, y: Array, *, width: int, height: int) -> Array:
    """Return the rectangle of an image, or of each image of a batch, whose left upper corner is at (x, y).

    Parameters
    ----------
    data : array, shape (height, width, channels) or (batch, height, width, channels)
    x, y : int
        Operands: another position recompiles nothing.
    width, height : int
        The size of the rectangle.

    Raises
    ------
    ShapeError
        If the rectangle is larger than the image.

    Examples
    --------
    >>> from gluonx import np, npx
    >>> npx.image.crop(np.zeros((4, 6, 3)), 1, 2, 3, 2).shape
    (2, 3, 3)
    """
    need_image("image.crop", data, batches=True)
    _whole("image.crop", "width", width)
    _whole("image.crop", "height", height)
    if height > data.shape[-3] or width > data.shape[-2]:
        raise ShapeError(f"image.crop: {width} x {height} is larger than the image, which has shape {data.shape}.")
    return _cut(data, jnp.asarray(y), jnp.asarray(x), height, width)


def crop_size(rows: int, columns: int, height: int, width: int) -> tuple[int, int]:
    """Return the (height, width) that `random_crop` cuts out of an image to make one of `height` x `width`.

    If the image is too low, the crop becomes narrower too, so that its aspect ratio is kept; if it is too narrow, the
    height is kept, as in MXNet.
    """
    if rows < height:
        height, width = rows, width * rows // height or 1
    return height, min(width, columns)


def _drawn(key: Array, bounds: Sequence[float], room: int) -> Array:
    """Return a position at a random part, between the bounds, of `room`."""
    part = jax.random.uniform(key, (), minval=bounds[0], maxval=bounds[1])
    return jnp.clip((part * room).astype(jnp.int32), 0, room)


@register(
    "image.random_crop",
    random=True,
    shape="`data` with `height` and `width`",
    stands_for="`stablehlo.dynamic_slice`",
)
def random_crop(
    key: Array,
    data: Array,
    *,
    xrange: Sequence[float] = (0.0, 1.0),
    yrange: Sequence[float] = (0.0, 1.0),
    width: int,
    height: int,
    interp: int = 1,
) -> Array:
    """Return a rectangle of an image, or of a batch, at a random position.

    Parameters
    ----------
    data : array, shape (height, width, channels) or (batch, height, width, channels)
        All images of a batch are cut at the same position.
    xrange, yrange : (float, float)
        Bounds of the random position, as parts of the room that is left: 0 is at the left or top, 1 at the other end.
    width, height : int
        The size of the result. From a smaller image the largest rectangle that fits is cut and enlarged.
    interp : {0, 1, 2, 3, 4}
        As for `resize`.

    Examples
    --------
    >>> from gluonx import np, npx
    >>> npx.image.random_crop(np.zeros((4, 6, 3)), width=3, height=2).shape
    (2, 3, 3)
    """
    name = "image.random_crop"
    need_image(name, data, batches=True)
    wanted = _whole(name, "height", height), _whole(name, "width", width)
    rows, columns = crop_size(data.shape[-3], data.shape[-2], height, width)
    first, second = jax.random.split(key)
    top = _drawn(first, yrange, data.shape[-3] - rows)
    left = _drawn(second, xrange, data.shape[-2] - columns)
    return _resized(_cut(data, top, left, rows, columns), wanted, _interp(name, interp))


def _window(
    key: Array, height: int, width: int, area: Sequence[float], ratio: Sequence[float], trials: int, shape: float
) -> tuple[Array, Array, Array, Array]:
    """Return (top, left, height, width): the first of some random rectangles that fits, else a large centered one."""
    sizes, ratios, rows, columns = jax.random.split(key, 4)
    wanted = jax.random.uniform(sizes, (trials,), minval=area[0], maxval=area[1]) * (height * width)
    aspect = jnp.exp(jax.random.uniform(ratios, (trials,), minval=math.log(ratio[0]), maxval=math.log(ratio[1])))
    broad = jnp.round(jnp.sqrt(wanted * aspect)).astype(jnp.int32)
    high = jnp.round(jnp.sqrt(wanted / aspect)).astype(jnp.int32)
    fits = (broad <= width) & (high <= height) & (broad > 0) & (high > 0)
    first, found = jnp.argmax(fits), jnp.any(fits)
    high_middle, broad_middle = min(height, round(width / shape)) or 1, min(width, round(height * shape)) or 1
    high = jnp.where(found, high[first], high_middle)
    broad = jnp.where(found, broad[first], broad_middle)
    top = jnp.where(found, jax.random.randint(rows, (), 0, height - high + 1), (height - high_middle) // 2)
    left = jnp.where(found, jax.random.randint(columns, (), 0, width - broad + 1), (width - broad_middle) // 2)
    return top, left, high, broad


@register("image.random_resized_crop", random=True, shape="`data` with `height` and `width`")
def random_resized_crop(
    key: Array,
    data: Array,
    *,
    width: int,
    height: int,
    area: Sequence[float] = (0.08, 1.0),
    ratio: Sequence[float] = (0.75, 4 / 3),
    interp: int = 1,
    max_trial: int = 10,
) -> Array:
    """Return a random rectangle of an image, or of a batch, in a given size: the augmentation of Inception nets.

    Parameters
    ----------
    data : array, shape (height, width, channels) or (batch, height, width, channels)
        All images of a batch are cut at the same position.
    width, height : int
        The size of the result.
    area : (float, float)
        Bounds of the rectangle's part of the image.
    ratio : (float, float)
        Bounds of its width divided by its height.
    interp : {0, 1, 2, 3, 4}
        As for `resize`.
    max_trial : int
        How many rectangles are tried; if none fits, a large one in the middle is taken.

    Examples
    --------
    >>> from gluonx import np, npx
    >>> npx.image.random_resized_crop(np.zeros((4, 6, 3)), width=3, height=2).shape
    (2, 3, 3)
    """
    name = "image.random_resized_crop"
    need_image(name, data, batches=True)
    made = _whole(name, "height", height), _whole(name, "width", width)
    if min(area) <= 0 or min(ratio) <= 0 or len(area) != 2 or len(ratio) != 2:
        raise ValueError(f"{name}: area and ratio must be two positive numbers each, but are {area!r} and {ratio!r}.")
    rows, columns = data.shape[-3:-1]
    top, left, high, broad = _window(
        key, rows, columns, area, ratio, _whole(name, "max_trial", max_trial), width / height
    )
    kind = _interp(name, interp)

    def made_by(shrinks: bool) -> Callable[[], Array]:
        def compute() -> Array:
            across = resample.taps(broad, made[1], kind, shrinks=shrinks, longest=columns, xp=jnp)
            down = resample.taps(high, made[0], kind, shrinks=shrinks, longest=rows, xp=jnp)
            down = down._replace(index=down.index + top)
            across = across._replace(index=across.index + left)
            return _each(lambda x: resample.resampled(x, down, across, kind, jnp), data)

        return compute

    if kind != resample.AREA:
        return made_by(False)()
    return lax.cond((high >= made[0]) & (broad >= made[1]), made_by(True), made_by(False))


# -- flips ----------------------------------------------------------------------------------------------------------


@register("image.flip_left_right", shape=SAME, stands_for="`numpy.flip`")
def flip_left_right(data: Array) -> Array:
    """Return an image, (height, width, channels), with left and right exchanged.

    Examples
    --------
    >>> from gluonx import np, npx
    >>> npx.image.flip_left_right(np.arange(3).reshape(1, 3, 1)).tolist()
    [[[2.0], [1.0], [0.0]]]
    """
    need_image("image.flip_left_right", data)
    return jnp.flip(data, 1)


@register("image.flip_top_bottom", shape=SAME, stands_for="`numpy.flip`")
def flip_top_bottom(data: Array) -> Array:
    """Return an image, (height, width, channels), with top and bottom exchanged.

    Examples
    --------
    >>> from gluonx import np, npx
    >>> npx.image.flip_top_bottom(np.arange(3).reshape(3, 1, 1)).tolist()
    [[[2.0]], [[1.0]], [[0.0]]]
    """
    need_image("image.flip_top_bottom", data)
    return jnp.flip(data, 0)


def _maybe(key: Array, p: Array | None, data: Array, axis: int) -> Array:
    chance = jnp.float32(0.5) if p is None else jnp.asarray(p, jnp.float32)
    return jnp.where(jax.random.uniform(key) < chance, jnp.flip(data, axis), data)


@register("image.random_flip_left_right", random=True, shape=SAME, gradient="through `data`")
def random_flip_left_right(key: Array, data: Array, p: Array | None = None) -> Array:
    """Exchange left and right of an image, (height, width, channels), with the probability `p`, 0.5 by default.

    Examples
    --------
    >>> from gluonx import np, npx
    >>> npx.image.random_flip_left_right(np.arange(3).reshape(1, 3, 1), p=1.0).tolist()
    [[[2.0], [1.0], [0.0]]]
    """
    need_image("image.random_flip_left_right", data)
    return _maybe(key, p, data, 1)


@register("image.random_flip_top_bottom", random=True, shape=SAME, gradient="through `data`")
def random_flip_top_bottom(key: Array, data: Array, p: Array | None = None) -> Array:
    """Exchange top and bottom of an image, (height, width, channels), with the probability `p`, 0.5 by default.

    Examples
    --------
    >>> from gluonx import np, npx
    >>> npx.image.random_flip_top_bottom(np.arange(3).reshape(3, 1, 1), p=1.0).tolist()
    [[[2.0]], [[1.0]], [[0.0]]]
    """
    need_image("image.random_flip_top_bottom", data)
    return _maybe(key, p, data, 0)
