"""Encoded images in and out: OpenCV where it is installed, as in MXNet, otherwise Pillow.

Both decode by libjpeg-turbo and to the same pixels, OpenCV in three quarters of Pillow's time; MXNet takes OpenCV too.
Both let other threads run meanwhile. Everything here works on the host and on NumPy, in any thread and in workers.
"""

from __future__ import annotations

import functools
import importlib
import io
from typing import Any, Protocol

import numpy as np

from gluonx.errors import ArgumentError, FormatError

_MISSING = "images are decoded and encoded by OpenCV or Pillow, and neither is installed: pip install 'gluonx[vision]'"
_CHANNELS = ((), (1,), (3,), (4,))
# OpenCV's weights of red, green and blue in a gray, in parts of 2**15, and what is added to round: cvtColor's, and
# those of formats whose decoders have their own.
_GRAY = (9798, 19235, 3735), 1 << 14
_GRAY_OF = {"PNG": ((9797, 19234, 3737), 0), "BMP": ((9798, 19234, 3736), 1 << 14)}
_SAME = {"jpg": "jpeg", "jpe": "jpeg"}


class _Codec(Protocol):
    def decode(self, data: np.ndarray, flag: int, rgb: bool) -> np.ndarray | None: ...
    def encode(self, image: np.ndarray, quality: int | None, kind: str, rgb: bool) -> bytes: ...


class _OpenCV:
    """OpenCV's colours are BGR; RGB is made of them, and they of RGB, by its own function."""

    def __init__(self) -> None:
        self.cv2 = importlib.import_module("cv2")

    def decode(self, data: np.ndarray, flag: int, rgb: bool) -> np.ndarray | None:
        try:
            image = self.cv2.imdecode(data, flag)
        except self.cv2.error as error:
            raise FormatError(str(error)) from error
        return self._swapped(image, image) if rgb and image is not None else image

    def encode(self, image: np.ndarray, quality: int | None, kind: str, rgb: bool) -> bytes:
        cv2 = self.cv2
        numbers = {
            "jpeg": cv2.IMWRITE_JPEG_QUALITY,
            "png": cv2.IMWRITE_PNG_COMPRESSION,
            "webp": cv2.IMWRITE_WEBP_QUALITY,
        }
        told = [] if quality is None or kind not in numbers else [numbers[kind], quality]
        try:
            done, data = cv2.imencode("." + kind, self._swapped(image, None) if rgb else image, told)
        except cv2.error as error:
            raise ArgumentError(str(error)) from error
        if not done:
            raise ArgumentError(f"OpenCV wrote no {kind} of it")
        return data.tobytes()

    def _swapped(self, image: np.ndarray, into: np.ndarray | None) -> np.ndarray:
        codes = {3: self.cv2.COLOR_BGR2RGB, 4: self.cv2.COLOR_BGRA2RGBA}
        code = codes.get(image.shape[2]) if image.ndim == 3 else None
        return image if code is None else self.cv2.cvtColor(image, code, into)


class _Pillow:
    def __init__(self) -> None:
        self.Image = importlib.import_module("PIL.Image")
        self.ImageOps = importlib.import_module("PIL.ImageOps")

    def decode(self, data: np.ndarray, flag: int, rgb: bool) -> np.ndarray | None:
        try:
            with self.Image.open(io.BytesIO(data.tobytes())) as image:
                if flag == 0:
                    image.draft("L", image.size)  # JPEG: the gray picture that the file holds, without a way over RGB
                image.load()
                upright = image if flag < 0 else self.ImageOps.exif_transpose(image)
                pixels = self._pixels(upright, flag, _GRAY_OF.get(image.format, _GRAY))
        except importlib.import_module("PIL").UnidentifiedImageError:
            return None
        except (OSError, SyntaxError, ValueError, self.Image.DecompressionBombError) as error:
            raise FormatError(str(error)) from error
        return pixels if rgb else _reversed(pixels)

    def _pixels(self, image: Any, flag: int, gray: tuple[tuple[int, ...], int]) -> np.ndarray:
        """Give the pixels as OpenCV has them for `flag`: which files are gray or have alpha; of 16 bits the upper 8."""
        if image.mode.startswith("I"):
            wide = np.asarray(image).astype(np.uint16)
            wide = wide if flag < 0 else (wide >> 8).astype(np.uint8)
            return np.stack([wide] * 3, -1) if flag > 0 else wide
        if image.mode in ("P", "RGB") and "transparency" in image.info:
            image = image.convert("RGBA")
        unchanged = {"1": "L", "L": "L", "LA": "RGBA", "RGBA": "RGBA"}.get(image.mode, "RGB")
        mode = unchanged if flag < 0 or (flag == 0 and unchanged == "L") else "RGB"
        pixels = np.array(image if image.mode == mode else image.convert(mode))
        if flag == 0 and mode == "RGB":
            weights, half = gray
            return ((pixels.astype(np.int32) @ np.array(weights, np.int32) + half) >> 15).astype(np.uint8)
        return pixels

    def encode(self, image: np.ndarray, quality: int | None, kind: str, rgb: bool) -> bytes:
        told = {} if quality is None else {"compress_level" if kind == "png" else "quality": quality}
        file = io.BytesIO()
        try:
            self.Image.fromarray(image if rgb else _reversed(image)).save(file, kind, **told)
        except (OSError, KeyError, TypeError, ValueError) as error:
            raise ArgumentError(f"Pillow: {error}") from error
        return file.getvalue()


def _reversed(image: np.ndarray) -> np.ndarray:
    """RGB from BGR or the other way round; alpha stays the last channel."""
    return image if image.ndim == 2 else np.ascontiguousarray(image[:, :, [2, 1, 0, 3][: image.shape[2]]])


@functools.cache
def _codec() -> _Codec:
    for codec in (_OpenCV, _Pillow):
        try:
            return codec()
        except ImportError:
            continue
    raise ImportError(_MISSING)


def decode(
    buf: bytes | bytearray | memoryview | np.ndarray, flag: int = 1, to_rgb: bool = True, source: str = ""
) -> np.ndarray:
    """Decode an image: JPEG, PNG, and what else the library that is installed knows.

    Parameters
    ----------
    buf : bytes-like or numpy.ndarray of uint8
        The encoded image.
    flag : {1, 0, -1}
        1 gives colours; 0 gives gray; -1 gives what the file holds, with an alpha channel and 16 bits if it has them,
        and without turning the picture as its EXIF data say.
    to_rgb : bool, default True
        The order of the colours: RGB, or BGR as OpenCV has it.
    source : str, optional
        Where the image came from, for messages.

    Returns
    -------
    numpy.ndarray
        (height, width, channels), of uint8 (of uint16 for a 16 bit file and flag -1). The caller owns it.

    Raises
    ------
    FormatError
        (A ValueError.) When `buf` is no image, or a damaged one; names `source`.
    ArgumentError
        When `buf` is no buffer of bytes, or `flag` is another number.
    ImportError
        When neither OpenCV nor Pillow is installed.

    Examples
    --------
    >>> image = np.full((4, 6, 3), (250, 10, 10), np.uint8)
    >>> decode(encode(image, fmt=".png"))[0, 0].tolist()
    [250, 10, 10]
    """
    if flag not in (-1, 0, 1):
        raise ArgumentError(f"decode: flag must be 1 (colour), 0 (gray) or -1 (unchanged), got {flag!r}")
    data = buf if isinstance(buf, np.ndarray) else np.frombuffer(buf, np.uint8)
    if data.dtype != np.uint8 or data.ndim != 1:
        raise ArgumentError(f"decode: the bytes of an encoded image were expected, got {data.dtype} {data.shape}")
    where = f" from {source}" if source else ""
    if not data.size:
        raise FormatError(f"an image{where} is empty: 0 bytes")
    try:
        image = _codec().decode(data, flag, to_rgb)
    except FormatError as error:
        raise FormatError(f"an image{where} cannot be decoded ({data.size} bytes): {error}") from error.__cause__
    if image is None:
        raise FormatError(f"an image{where} cannot be decoded ({data.size} bytes): it is damaged, or no image")
    return image[:, :, None] if image.ndim == 2 else image


def encode(image: np.ndarray, quality: int | None = None, fmt: str = ".jpg", to_rgb: bool = True) -> bytes:
    """Encode an image as JPEG, PNG, or what else the library that is installed knows.

    Parameters
    ----------
    image : numpy.ndarray of uint8
        (height, width) or (height, width, channels) with 1, 3 or 4 channels.
    quality : int, optional
        Of a JPEG from 0 to 100 (95 if it is not given); of a PNG the compression from 0 to 9. Numbers beyond that mean
        the nearest one.
    fmt : str
        The format, by a file's ending: ``".jpg"``, ``".png"``.
    to_rgb : bool, default True
        Whether `image` has its colours in the order RGB, or in OpenCV's, BGR.

    Raises
    ------
    ArgumentError
        When `image` is no such array, or the format is unknown.
    ImportError
        When neither OpenCV nor Pillow is installed.
    """
    image = np.asarray(image)
    if image.dtype != np.uint8 or image.ndim not in (2, 3) or 0 in image.shape or image.shape[2:] not in _CHANNELS:
        told = f"got {image.dtype} {image.shape}"
        raise ArgumentError(
            f"encode: an image of uint8, (height, width) or (height, width, 1, 3 or 4), expected, {told}"
        )
    kind = fmt.lstrip(".").lower()
    kind = _SAME.get(kind, kind)
    limits = {"jpeg": (95, 100), "png": (None, 9)}.get(kind, (None, 100))
    quality = limits[0] if quality is None else min(max(int(quality), 0), limits[1])
    if image.ndim == 3 and image.shape[2] == 1:
        image = image[:, :, 0]
    if image.ndim == 3:
        image = image[:, :, : 3 if kind == "jpeg" else None]
    try:
        return _codec().encode(np.ascontiguousarray(image), quality, kind, to_rgb)
    except ArgumentError as error:
        raise ArgumentError(
            f"encode: an image {image.shape} cannot be written as {fmt!r}: {error}"
        ) from error.__cause__
