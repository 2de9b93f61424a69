"""Images on the host: functions of NumPy arrays, in this process or a worker, that never touch JAX.

An image is (height, width, channels), a tensor (channels, height, width). What the operators of ``gluonx.npx.image``
compute, the function of that name computes here, with equal numbers; resizing may differ by 1 of 255. OpenCV does the
work where it is installed. Transforms, ``gluonx.image`` and the iterators over images are all made of these functions;
what is drawn at random is drawn by their callers.
"""

from __future__ import annotations

import functools
import importlib
import math
import random
from collections.abc import Sequence
from typing import Any

import numpy as np

from gluonx.data._codec import decode as decode
from gluonx.data._codec import encode as encode
from gluonx.errors import ShapeError
from gluonx.ops import resample
from gluonx.ops.colour import changed as adjust
from gluonx.ops.colour import lit
from gluonx.ops.image import crop_size as crop_size
from gluonx.ops.image import need_image, sized

__all__ = [
    "adjust",
    "adjust_lighting",
    "crop",
    "crop_size",
    "decode",
    "encode",
    "flip",
    "interp_method",
    "mix_channels",
    "normalize",
    "pad",
    "resize",
    "resized_crop_window",
    "rotate",
    "scaled_size",
    "to_tensor",
]

_OF_OPENCV = frozenset(("uint8", "uint16", "int16", "float32", "float64"))
_PAD_MODES = {1: "edge", 2: "symmetric", 3: "wrap", 4: "reflect"}


@functools.cache
def opencv() -> Any:
    """Return the module ``cv2``, or None where it is not installed."""
    try:
        return importlib.import_module("cv2")
    except ImportError:
        return None


def interp_method(interp: int, sizes: Sequence[int] = ()) -> int:
    """Return the number of an interpolation that `resize` knows for one that MXNet's image functions take.

    Parameters
    ----------
    interp : int
        0 to 4 stand for themselves; 9 chooses by the sizes (area for shrinking, cubic for enlarging, else linear), and
        is cubic without them; 10 is drawn by Python's ``random``, as in MXNet.
    sizes : (int, int, int, int), optional
        Old height and width, new height and width.

    Raises
    ------
    ValueError
        If `interp` is none of these.

    Examples
    --------
    >>> interp_method(9, (10, 10, 20, 20)), interp_method(9, (20, 20, 10, 10)), interp_method(9)
    (2, 3, 2)
    """
    if interp == 9:
        if not sizes:
            return resample.CUBIC
        height, width, new_height, new_width = sizes
        if new_height > height and new_width > width:
            return resample.CUBIC
        return resample.AREA if new_height < height and new_width < width else resample.LINEAR
    if interp == 10:
        return random.randint(0, 4)
    if interp not in range(5):
        raise ValueError(f"Unknown interpolation method {interp!r}: 0 to 4, 9 or 10 were expected.")
    return interp


def scaled_size(size: int | Sequence[int], keep_ratio: bool, height: int, width: int) -> tuple[int, int]:
    """Return the (width, height) that ``npx.image.resize`` gives an image for its arguments `size` and `keep_ratio`.

    Examples
    --------
    >>> scaled_size(10, True, 20, 40), scaled_size((3, 5), False, 20, 40)
    ((20, 10), (3, 5))
    """
    new_height, new_width = sized("resize", size, keep_ratio, height, width)
    return new_width, new_height


def resize(image: np.ndarray, width: int, height: int, interp: int = resample.LINEAR) -> np.ndarray:
    """Return an image, or a batch of them, in another size.

    Parameters
    ----------
    image : numpy.ndarray
        (height, width, channels) or (batch, height, width, channels).
    width, height : int
    interp : {0, 1, 2, 3, 4}
        Nearest, linear, cubic, area, Lanczos.

    Raises
    ------
    ShapeError
        If `image` is no image.
    ValueError
        If a size is not positive, or `interp` is none of these.

    Examples
    --------
    >>> resize(np.zeros((4, 6, 3), np.uint8), 3, 2).shape
    (2, 3, 3)
    """
    need_image("resize", image, batches=True)
    if width < 1 or height < 1:
        raise ValueError(f"resize: width and height must be at least 1, got {width} and {height}")
    if interp not in range(5):
        raise ValueError(f"resize: interp must be 0 (nearest), 1, 2, 3 or 4, got {interp!r}")
    if image.ndim == 4:
        return np.stack([resize(one, width, height, interp) for one in image])
    if image.shape[:2] == (height, width):
        return image
    if 0 in image.shape:
        raise ShapeError(f"resize: an image of shape {image.shape} holds no pixel")
    cv2 = opencv()
    if cv2 is not None and image.dtype.name in _OF_OPENCV and image.shape[2] <= 4:
        return cv2.resize(image, (width, height), interpolation=interp).reshape(height, width, image.shape[2])
    return _resampled(image, width, height, interp)


def _resampled(image: np.ndarray, width: int, height: int, interp: int) -> np.ndarray:
    """`resize` without OpenCV, by the same sums as the operator's."""
    rows, columns = image.shape[:2]
    halves = interp == resample.LINEAR and (2 * height, 2 * width) == (rows, columns)
    kind = resample.AREA if halves else interp
    shrinks = height <= rows and width <= columns
    down = resample.taps(rows, height, kind, shrinks=shrinks)
    across = resample.taps(columns, width, kind, shrinks=shrinks)
    return resample.resampled(image, down, across, kind)


def crop(image: np.ndarray, x: int, y: int, width: int, height: int) -> np.ndarray:
    """Return the rectangle of an image, or of each of a batch, whose upper left corner is at (x, y): a view.

    Raises
    ------
    ShapeError
        If it reaches beyond the image.
    """
    need_image("crop", image, batches=True)
    rows, columns = image.shape[-3:-1]
    if not (0 <= x <= columns - width and 0 <= y <= rows - height and width > 0 and height > 0):
        raise ShapeError(
            f"crop: a rectangle of {width} x {height} at x={x}, y={y} is not inside an image of shape {image.shape}"
        )
    return image[..., y : y + height, x : x + width, :]


def pad(
    image: np.ndarray, top: int, bottom: int, left: int, right: int, mode: int = 0, value: float | Sequence[float] = 0
) -> np.ndarray:
    """Return an image with borders.

    Parameters
    ----------
    image : numpy.ndarray, shape (height, width, channels)
    top, bottom, left, right : int
        Their sizes.
    mode : {0, 1, 2, 3, 4, 16}
        OpenCV's number: constant, the edge's colour, mirrored with the edge, wrapped, mirrored without the edge; 16 is
        constant too.
    value : number, or one for each channel
        The colour of constant borders.

    Raises
    ------
    ValueError
        If a size is negative or `mode` is none of these.

    Examples
    --------
    >>> pad(np.ones((1, 1, 1), np.uint8), 0, 1, 1, 0, value=7)[..., 0].tolist()
    [[7, 1], [7, 7]]
    """
    need_image("pad", image)
    if min(top, bottom, left, right) < 0:
        raise ValueError(f"pad: borders must not be negative, got {(top, bottom, left, right)}")
    if mode in _PAD_MODES:
        return np.pad(image, ((top, bottom), (left, right), (0, 0)), _PAD_MODES[mode])  # type: ignore[call-overload]
    if mode not in (0, 16):
        raise ValueError(f"pad: the type of a border must be 0 to 4 or 16, got {mode!r}")
    height, width, channels = image.shape
    colour = np.asarray(value)
    if colour.ndim and len(colour) > channels:  # OpenCV's colours have four numbers
        colour = colour[:channels]
    out = np.empty((top + height + bottom, left + width + right, channels), image.dtype)
    out[...] = colour
    out[top : top + height, left : left + width] = image
    return out


def flip(image: np.ndarray, axis: int) -> np.ndarray:
    """Return an image with left and right (`axis` 1) or top and bottom (`axis` 0) exchanged: a view."""
    need_image("flip", image)
    return np.flip(image, axis)


def to_tensor(image: np.ndarray) -> np.ndarray:
    """Return an image, or a batch, with values from 0 to 255 as float32 from 0 to 1 with channels first.

    Examples
    --------
    >>> to_tensor(np.full((2, 3, 1), 255, np.uint8)).shape
    (1, 2, 3)
    """
    need_image("to_tensor", image, batches=True)
    out = np.empty((*image.shape[:-3], image.shape[-1], *image.shape[-3:-1]), np.float32)
    return np.divide(np.moveaxis(image, -1, -3), np.float32(255), out=out, dtype=np.float32)


def normalize(
    tensor: np.ndarray, mean: float | Sequence[float] = 0.0, std: float | Sequence[float] = 1.0
) -> np.ndarray:
    """Return ``(tensor - mean) / std`` for each channel of a tensor, or a batch, with channels first.

    Raises
    ------
    ShapeError
        If `tensor` is not of floats and 1 or 3 channels.
    ValueError
        If `mean` or `std` have another number of channels.
    """
    if tensor.ndim not in (3, 4) or tensor.shape[-3] not in (1, 3) or not np.issubdtype(tensor.dtype, np.floating):
        raise ShapeError(
            "normalize: floats of shape ([batch,] channels, height, width) with 1 or 3 channels (see to_tensor) "
            f"expected, got {tensor.dtype} of shape {tensor.shape}"
        )
    shift, scale = (_per_channel(what, tensor) for what in (mean, std))
    out = tensor - shift
    out /= scale
    return out


def _per_channel(value: float | Sequence[float], tensor: np.ndarray) -> np.ndarray:
    numbers = np.asarray(value, tensor.dtype).reshape(-1)
    if len(numbers) not in (1, tensor.shape[-3]):
        raise ValueError(
            f"normalize: mean and std must be 1 or {tensor.shape[-3]} numbers for data of shape {tensor.shape}, "
            f"got {value!r}"
        )
    return numbers.reshape(-1, 1, 1)


def adjust_lighting(image: np.ndarray, alpha: np.ndarray) -> np.ndarray:
    """Return an image with its light changed along the principal components of ImageNet's colours.

    Parameters
    ----------
    image : numpy.ndarray, shape (height, width, channels)
        With values from 0 to 255; of one channel it stays as it is.
    alpha : numpy.ndarray, three floats
        How much of each component is added, in standard deviations.
    """
    return lit("adjust_lighting", image, np.asarray(alpha))


def mix_channels(image: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Return a float32 image whose channels are mixed of those of `image`: a row of `weights` for each old channel.

    Raises
    ------
    ShapeError
        If `image` has other channels.
    """
    need_image("mix_channels", image)
    if image.shape[2] != 3:
        raise ShapeError(f"mix_channels: an image of three channels was expected, got shape {image.shape}")
    return image.astype(np.float32) @ weights.astype(np.float32)


def resized_crop_window(
    rng: np.random.Generator,
    height: int,
    width: int,
    area: Sequence[float],
    ratio: Sequence[float],
    shape: float,
    trials: int = 10,
) -> tuple[int, int, int, int]:
    """Draw the rectangle of ``npx.image.random_resized_crop``: (x, y, width, height).

    Parameters
    ----------
    rng : numpy.random.Generator
    height, width : int
        Of the image.
    area, ratio : (float, float)
        Bounds of the rectangle's part of the image, and of its width divided by its height.
    shape : float
        Width divided by height of the rectangle in the middle that is taken if none fits.
    trials : int
        How many are tried.
    """
    for _ in range(trials):
        wanted = rng.uniform(area[0], area[1]) * height * width
        form = math.exp(rng.uniform(math.log(ratio[0]), math.log(ratio[1])))
        broad, high = round(math.sqrt(wanted * form)), round(math.sqrt(wanted / form))
        if 0 < broad <= width and 0 < high <= height:
            return int(rng.integers(width - broad + 1)), int(rng.integers(height - high + 1)), broad, high
    high, broad = min(height, round(width / shape)) or 1, min(width, round(height * shape)) or 1
    return (width - broad) // 2, (height - high) // 2, broad, high


def rotation_grid(
    degrees: np.ndarray, height: int, width: int, zoom_in: bool = False, zoom_out: bool = False
) -> np.ndarray:
    """Return where a rotated image looks: the grid of ``bilinear_sampler``, (batch, 2, height, width) of float32.

    Parameters
    ----------
    degrees : numpy.ndarray, shape (batch,)
        Positive angles turn the picture against the clock's hands.
    height, width : int
    zoom_in, zoom_out : bool
        Enlarge the picture until no corner is empty, or make it smaller until none is cut off.

    Raises
    ------
    ValueError
        If both are asked for.
    """
    if zoom_in and zoom_out:
        raise ValueError("`zoom_in` and `zoom_out` cannot be both True")
    angle = np.pi * degrees.astype(np.float32) / np.float32(180)
    cosine, sine = np.cos(angle)[:, None, None], np.sin(angle)[:, None, None]
    middle_y, middle_x = np.float32((height - 1) / 2), np.float32((width - 1) / 2)
    y = (np.arange(height, dtype=np.float32) - middle_y)[None, :, None]
    x = (np.arange(width, dtype=np.float32) - middle_x)[None, None, :]
    grid = np.stack([(x * cosine - y * sine) / middle_x, (x * sine + y * cosine) / middle_y], 1)
    if not (zoom_in or zoom_out):
        return grid
    diagonal, corner, turn = math.hypot(height, width), math.atan2(height, width), np.abs(angle)
    reach_x = np.maximum(*(np.abs(diagonal * np.cos(corner + sign * turn)) for sign in (1, -1)))
    reach_y = np.maximum(*(np.abs(diagonal * np.sin(corner + sign * turn)) for sign in (1, -1)))
    if zoom_out:
        scale = np.maximum(reach_x / width, reach_y / height)
    else:
        scale = np.minimum(width / reach_x, height / reach_y)
    return (grid * scale.astype(np.float32)[:, None, None, None]).astype(np.float32)


def rotate(
    tensors: np.ndarray, degrees: float | np.ndarray, zoom_in: bool = False, zoom_out: bool = False
) -> np.ndarray:
    """Return tensors rotated about their middle, by linear interpolation; 0 where nothing was.

    Parameters
    ----------
    tensors : numpy.ndarray of float32
        (channels, height, width), or a batch of them.
    degrees : float or numpy.ndarray
        One angle, or for a batch one each.
    zoom_in, zoom_out : bool
        Enlarge the picture until no corner is empty, or make it smaller until none is cut off.

    Raises
    ------
    TypeError
        If `tensors` are not of float32, or several angles are given for one.
    ValueError
        If there is another number of angles, or `tensors` have another number of axes.

    Examples
    --------
    >>> rotate(np.array([[[1, 2, 3], [4, 5, 6], [7, 8, 9]]], np.float32), 90).round().tolist()
    [[[3.0, 6.0, 9.0], [2.0, 5.0, 8.0], [1.0, 4.0, 7.0]]]
    """
    degrees = angles_of(tensors, degrees)
    if tensors.ndim == 3:
        return rotate(tensors[None], degrees, zoom_in, zoom_out)[0]
    height, width = tensors.shape[2:]
    grid = rotation_grid(degrees, height, width, zoom_in, zoom_out)
    column, row = ((grid[:, i] + 1) * (n - 1) / 2 for i, n in ((0, width), (1, height)))
    out = np.zeros_like(tensors)
    left, top = np.floor(column), np.floor(row)
    each = np.arange(len(tensors))[:, None, None]
    for dy in (0, 1):
        for dx in (0, 1):
            r, c = top + dy, left + dx
            weight = (1 - np.abs(row - r)) * (1 - np.abs(column - c))
            weight[(r < 0) | (r >= height) | (c < 0) | (c >= width)] = 0
            place = np.clip(r, 0, height - 1).astype(np.intp), np.clip(c, 0, width - 1).astype(np.intp)
            found = tensors.transpose(0, 2, 3, 1)[each, *place]
            out += (found * weight[..., None]).transpose(0, 3, 1, 2)
    return out


def angles_of(tensors: Any, degrees: Any) -> np.ndarray:
    """Return one angle for each tensor of a batch, or for the only one; the errors are those of `rotate`."""
    if np.dtype(tensors.dtype) != np.float32:
        raise TypeError(f"rotate: tensors of float32 were expected (see ToTensor), got {tensors.dtype}")
    if tensors.ndim not in (3, 4):
        raise ValueError(f"rotate: (channels, height, width) or a batch of them was expected, got {tensors.shape}")
    angles, count = np.asarray(degrees, np.float32), 1 if tensors.ndim == 3 else len(tensors)
    if tensors.ndim == 3 and angles.size != 1:
        raise TypeError(f"rotate: one image has one angle, got {angles.size}")
    if angles.ndim and len(angles) != count:
        raise ValueError(f"rotate: {count} images were given {len(angles)} angles")
    return np.broadcast_to(angles.reshape(-1), (count,))
