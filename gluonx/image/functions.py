"""Reading, resizing, cutting and rotating images; all of it on the host.

An image is (height, width, channels), of uint8 and RGB when it was just read. Functions take ndarrays and give ndarrays
of the kind that the program uses, or take NumPy arrays and give NumPy arrays. Sizes are (width, height), as in MXNet;
places are drawn by Python's ``random``, so ``random.seed`` gives the places that MXNet gives.
"""

from __future__ import annotations

import functools
import math
import os
import random
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from gluonx.common.frames import warn
from gluonx.data.vision import functional
from gluonx.data.vision.transforms import rotated
from gluonx.deferred.values.core import new_handle
from gluonx.device import resolve
from gluonx.dtype import on_device
from gluonx.errors import ArgumentError
from gluonx.np.handle import ndarray

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


__all__ = [
    "center_crop",
    "color_normalize",
    "copyMakeBorder",
    "fixed_crop",
    "imdecode",
    "imread",
    "imresize",
    "imrotate",
    "random_crop",
    "random_rotate",
    "random_size_crop",
    "resize_short",
    "scale_down",
]

Size = tuple[int, int]


def to_host(x: Any) -> Any:
    """Return an ndarray as a NumPy array, anything else as it is."""
    return x.asnumpy() if isinstance(x, ndarray) else x


def to_device(x: Any) -> Any:
    """Return a NumPy array that nobody else writes to as an ndarray, anything else as it is."""
    return new_handle(on_device(np.ascontiguousarray(x), resolve(None))) if isinstance(x, np.ndarray) else x


def _of_images(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function of a NumPy image that takes an ndarray as well, and gives what it is given."""

    @functools.wraps(function)
    def call(src: ndarray | np.ndarray, *args: object, **kwargs: object) -> Any:
        out = function(to_host(src), *args, **kwargs)
        if not isinstance(src, ndarray):
            return out
        return (to_device(out[0].copy()), *out[1:]) if isinstance(out, tuple) else to_device(out.copy())

    return call


def _given(out: ndarray | np.ndarray | None, result: ndarray | np.ndarray) -> Any:
    if out is None:
        return result
    out[...] = result
    return out


def imread(filename: str | os.PathLike[str], flag: int = 1, to_rgb: bool = True, out: ndarray | None = None) -> ndarray:
    """Read an image file.

    Parameters
    ----------
    filename : str or os.PathLike
    flag : {1, 0, -1}
        In colour, in gray, or as it is.
    to_rgb : bool
        The order of colours: RGB, or BGR.
    out : ndarray, optional
        Where to put it.

    Returns
    -------
    ndarray of uint8, shape (height, width, channels)

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    FormatError
        If it is no image, or a damaged one.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from gluonx import image, recordio
    >>> _, picture = recordio.unpack(recordio.pack_img((0, 0, 0, 0), np.zeros((8, 6, 3), np.uint8), img_fmt=".png"))
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "some.png"
    >>> _ = path.write_bytes(picture)
    >>> image.imread(path).shape
    (8, 6, 3)
    """
    with open(filename, "rb") as file:
        image = functional.decode(file.read(), flag, to_rgb, source=os.fspath(filename))
    return _given(out, to_device(image))


def imdecode(buf: Any, flag: int = 1, to_rgb: bool = True, out: ndarray | np.ndarray | None = None) -> Any:
    """Decode an image from bytes.

    Parameters
    ----------
    buf : bytes, bytearray, numpy.ndarray or ndarray of uint8
        What stands in an image file.
    flag : {1, 0, -1}
        In colour, in gray, or as it is.
    to_rgb : bool
        The order of colours: RGB, or BGR.
    out : ndarray, optional
        Where to put it.

    Returns
    -------
    ndarray of uint8, shape (height, width, channels)

    Raises
    ------
    ArgumentError
        If `buf` is something else; a ValueError too.
    FormatError
        If it is no image, or a damaged one.

    Examples
    --------
    >>> png = functional.encode(np.zeros((4, 6, 3), np.uint8), fmt=".png")
    >>> imdecode(png).shape
    (4, 6, 3)
    """
    if not isinstance(buf, (bytes, bytearray, memoryview, np.ndarray, ndarray)):
        raise ArgumentError(
            f"imdecode: buf must be of type bytes, bytearray or numpy.ndarray, got {type(buf).__name__}"
            + ("; str must be converted to bytes" if isinstance(buf, str) else "")
        )
    data = to_host(buf)
    data = data.ravel().view(np.uint8) if isinstance(data, np.ndarray) else data
    return _given(out, to_device(functional.decode(data, flag, to_rgb)))


def imresize(
    src: ndarray | np.ndarray, w: int, h: int, interp: int = 1, out: ndarray | np.ndarray | None = None
) -> Any:
    """Resize an image to width `w` and height `h`.

    Parameters
    ----------
    src : array, shape (height, width, channels)
    w, h : int
    interp : int
        0 nearest, 1 linear, 2 cubic, 3 area, 4 Lanczos; 9 chooses among them by the sizes, 10 by chance.
    out : ndarray, optional
        Where to put it.

    Returns
    -------
    array of the element type of `src`, shape (h, w, channels)

    Examples
    --------
    >>> imresize(np.zeros((4, 6, 3), np.uint8), 3, 2).shape
    (2, 3, 3)
    """
    return _given(out, _resized(src, w, h, interp))


@_of_images
def _resized(src: np.ndarray, w: int, h: int, interp: int) -> np.ndarray:
    return functional.resize(src, w, h, functional.interp_method(interp, (*src.shape[:2], h, w)))


def scale_down(src_size: Size, size: Size) -> Size:
    """Return `size` (width, height) made smaller, in its form, to fit into `src_size`.

    Returns
    -------
    tuple of int
        Width and height.

    Examples
    --------
    >>> scale_down((640, 480), (720, 120))
    (640, 106)
    """
    w, h = map(float, size)
    sw, sh = src_size
    if sh < h:
        w, h = w * sh / h, float(sh)
    if sw < w:
        w, h = float(sw), h * sw / w
    return int(w), int(h)


def copyMakeBorder(
    src: ndarray | np.ndarray,
    top: int,
    bot: int,
    left: int,
    right: int,
    type: int = 0,
    value: float = 0.0,
    values: Sequence[float] = (),
    out: ndarray | np.ndarray | None = None,
) -> ndarray:
    """Return an image with borders.

    Parameters
    ----------
    src : array, shape (height, width, channels)
    top, bot, left, right : int
        Their sizes.
    type : {0, 1, 2, 3, 4}
        OpenCV's number: constant, the edge's colour, mirrored with the edge, wrapped, mirrored without the edge.
    value : float
        The colour of constant borders.
    values : sequence of float, optional
        The same, for each channel.
    out : ndarray, optional
        Where to put it.

    Returns
    -------
    ndarray or numpy.ndarray
        Of shape ``(top + height + bot, left + width + right, channels)``.

    Examples
    --------
    >>> from gluonx import image, np
    >>> image.copyMakeBorder(np.ones((8, 6, 3), dtype="uint8"), 1, 1, 2, 2).shape
    (10, 10, 3)
    """
    return _given(out, _bordered(src, top, bot, left, right, type, values or value))


_bordered = _of_images(functional.pad)


@_of_images
def resize_short(src: np.ndarray, size: int, interp: int = 2) -> np.ndarray:
    """Resize an image so that its shorter side is `size`; `interp` as of `imresize`.

    Returns
    -------
    ndarray or numpy.ndarray
        Of the kind of `src`, its shorter side `size` long.

    Examples
    --------
    >>> resize_short(np.zeros((40, 60, 3), np.uint8), 20).shape
    (20, 30, 3)
    """
    width, height = functional.scaled_size(size, True, *src.shape[:2])
    return imresize(src, width, height, interp)


@_of_images
def fixed_crop(
    src: np.ndarray, x0: int, y0: int, w: int, h: int, size: Size | None = None, interp: int = 2
) -> np.ndarray:
    """Return the rectangle of `w` x `h` at (x0, y0), resized to `size` (width, height) if one is given.

    As in MXNet, what reaches beyond the right and the lower edge is left out before that.

    Returns
    -------
    ndarray or numpy.ndarray
        Of shape ``(h, w, channels)``, or of `size`.

    Raises
    ------
    ShapeError
        If the place is not inside the image.

    Examples
    --------
    >>> from gluonx import image, np
    >>> image.fixed_crop(np.ones((8, 6, 3)), 1, 2, 3, 4).shape
    (4, 3, 3)
    """
    w, h = min(w, src.shape[1] - x0), min(h, src.shape[0] - y0)
    out = functional.crop(src, x0, y0, w, h)
    return out if size is None or (w, h) == tuple(size) else imresize(out, *size, interp)


@_of_images
def random_crop(src: np.ndarray, size: Size, interp: int = 2) -> tuple[np.ndarray, tuple[int, int, int, int]]:
    """Return a rectangle of `size` (width, height) at a random place, and where it was: (x, y, width, height).

    An image that is smaller gives as much as it has in that form, enlarged to `size`.

    Returns
    -------
    tuple
        The image, and ``(x0, y0, width, height)`` of what was cut out.

    Examples
    --------
    >>> from gluonx import image, np
    >>> image.random_crop(np.ones((8, 6, 3)), (4, 4))[0].shape
    (4, 4, 3)
    """
    height, width = src.shape[:2]
    w, h = scale_down((width, height), size)
    x, y = random.randint(0, width - w), random.randint(0, height - h)
    return fixed_crop(src, x, y, w, h, size, interp), (x, y, w, h)


@_of_images
def center_crop(src: np.ndarray, size: Size, interp: int = 2) -> tuple[np.ndarray, tuple[int, int, int, int]]:
    """Return the rectangle of `size` (width, height) in the middle, and where it was: (x, y, width, height).

    An image that is smaller gives as much as it has in that form, enlarged to `size`.

    Returns
    -------
    tuple
        The image, and ``(x0, y0, width, height)`` of what was cut out.

    Examples
    --------
    >>> image, place = center_crop(np.zeros((40, 60, 3), np.uint8), (20, 30))
    >>> image.shape, place
    ((30, 20, 3), (20, 5, 20, 30))
    """
    height, width = src.shape[:2]
    w, h = scale_down((width, height), size)
    x, y = (width - w) // 2, (height - h) // 2
    return fixed_crop(src, x, y, w, h, size, interp), (x, y, w, h)


def area_bounds(function: str, area: float | Sequence[float], kwargs: dict[str, Any]) -> Any:
    """Return the argument `area` of random crops, which has had another name."""
    if "min_area" in kwargs:
        warn("`min_area` is deprecated. Please use `area` instead.", DeprecationWarning)
        area = kwargs.pop("min_area")
    if kwargs:
        raise ArgumentError(f"unexpected keyword arguments for `{function}`: {', '.join(kwargs)}")
    return area


@_of_images
def random_size_crop(
    src: np.ndarray, size: Size, area: float | Size, ratio: Sequence[float], interp: int = 2, **kwargs: Any
) -> tuple[np.ndarray, tuple[int, int, int, int]]:
    """Return a random rectangle in the size `size` (width, height), and where it was: (x, y, width, height).

    Parameters
    ----------
    src : array, shape (height, width, channels)
    size : (int, int)
    area : float or (float, float)
        Bounds of the rectangle's part of the image; one number is the lower one, below 1.
    ratio : (float, float)
        Bounds of its width divided by its height.
    interp : int
        As of `imresize`.

    Returns
    -------
    tuple
        The image, and ``(x0, y0, width, height)`` of what was cut out.

    Examples
    --------
    >>> from gluonx import image, np
    >>> picture, place = image.random_size_crop(np.ones((8, 6, 3), dtype="uint8"), (4, 5), area=0.5, ratio=(0.8, 1.25))
    >>> picture.shape, len(place)
    ((5, 4, 3), 4)
    """
    area = area_bounds("random_size_crop", area, kwargs)
    bounds = tuple(area) if isinstance(area, (tuple, list)) else (area, 1.0)
    height, width = src.shape[:2]
    logs = math.log(ratio[0]), math.log(ratio[1])
    for _ in range(10):
        wanted = random.uniform(*bounds) * height * width
        form = math.exp(random.uniform(*logs))
        w, h = round(math.sqrt(wanted * form)), round(math.sqrt(wanted / form))
        if 0 < w <= width and 0 < h <= height:
            x, y = random.randint(0, width - w), random.randint(0, height - h)
            return fixed_crop(src, x, y, w, h, size, interp), (x, y, w, h)
    return center_crop(src, size, interp)


def color_normalize(src: Any, mean: Any, std: Any = None) -> Any:
    """Return ``(src - mean) / std``; unlike MXNet's it leaves `src` as it is.

    Parameters
    ----------
    src : array, shape (..., channels)
        Of integers it becomes float32.
    mean, std : array of one number or one for each channel, or None

    Returns
    -------
    ndarray or numpy.ndarray
        Of the kind and shape of `src`, float32.

    Examples
    --------
    >>> from gluonx import image, np
    >>> image.color_normalize(np.ones((2, 2, 3)), np.array([0.5, 0.5, 0.5])).shape
    (2, 2, 3)
    """
    if isinstance(src, ndarray):
        mean, std = (
            part if part is None or isinstance(part, ndarray) else to_device(_floats(part)) for part in (mean, std)
        )
    else:
        dtype = src.dtype if np.issubdtype(src.dtype, np.floating) else np.float32
        mean, std = (part if part is None else _floats(to_host(part)).astype(dtype) for part in (mean, std))
    out = src if np.issubdtype(src.dtype, np.floating) else src.astype("float32")
    out = out if mean is None else out - mean
    return out if std is None else out / std


def _floats(value: np.ndarray) -> np.ndarray:
    return np.array(value, np.float32)


def imrotate(
    src: ndarray | np.ndarray, rotation_degrees: ArrayLike, zoom_in: bool = False, zoom_out: bool = False
) -> Any:
    """Rotate tensors about their middle, by linear interpolation; 0 where nothing was.

    Parameters
    ----------
    src : array of float32
        (channels, height, width), or a batch of them.
    rotation_degrees : float, or for a batch an array of one for each
        Against the clock's hands.
    zoom_in, zoom_out : bool
        Enlarge the picture until no corner is empty, or make it smaller until none is cut off.

    Returns
    -------
    ndarray or numpy.ndarray
        Of the kind and shape of `src`.

    Raises
    ------
    TypeError
        If `src` is not of float32.
    ValueError
        If both zooms are asked for, or the number of angles is another.

    Examples
    --------
    >>> from gluonx import image, np
    >>> image.imrotate(np.arange(4).reshape(1, 2, 2), 180.0).round().tolist()
    [[[3.0, 2.0], [1.0, 0.0]]]
    """
    if isinstance(src, ndarray):
        return rotated(src, rotation_degrees, zoom_in, zoom_out)
    return functional.rotate(src, to_host(rotation_degrees), zoom_in, zoom_out)


def random_rotate(
    src: ndarray | np.ndarray, angle_limits: Sequence[float], zoom_in: bool = False, zoom_out: bool = False
) -> Any:
    """Rotate tensors by random angles between the limits, which ``numpy.random`` draws; see `imrotate`.

    Returns
    -------
    ndarray or numpy.ndarray
        Of the kind and shape of `src`.

    Examples
    --------
    >>> from gluonx import image, np
    >>> image.random_rotate(np.ones((3, 8, 6)), (-10, 10)).shape
    (3, 8, 6)
    """
    lower, upper = angle_limits
    angles = np.random.uniform(lower, upper, None if src.ndim == 3 else len(src))
    return imrotate(src, angles, zoom_in, zoom_out)
