"""Images encoded and decoded: OpenCV and Pillow give the same pixels, and bad ones are errors that say whence."""

import io
import sys

import numpy as np
import pytest

from gluonx.data import _codec
from gluonx.errors import ArgumentError, FormatError

cv2 = pytest.importorskip("cv2")
Image = pytest.importorskip("PIL.Image")
LIBRARIES = {"opencv": _codec._OpenCV, "pillow": _codec._Pillow}


@pytest.fixture(params=LIBRARIES)
def library(request, monkeypatch):
    found = LIBRARIES[request.param]()
    monkeypatch.setattr(_codec, "_codec", lambda: found)
    return request.param


def picture():
    rows, columns = np.mgrid[:24, :18]
    return np.stack([rows * 9, columns * 12, (rows * columns) % 250], -1).astype(np.uint8)


def saved(image, kind, mode=None, **told):
    file = io.BytesIO()
    one = Image.fromarray(image)
    (one.convert(mode) if mode else one).save(file, kind, **told)
    return file.getvalue()


def turned():
    told = Image.Exif()
    told[274] = 6  # a quarter to the right
    return saved(picture(), "JPEG", exif=told)


ALPHA = np.dstack([picture(), np.arange(24 * 18).reshape(24, 18) % 256]).astype(np.uint8)
WIDE = (np.arange(8 * 9).reshape(8, 9) * 900).astype(np.uint16)
FILES = {
    "jpeg": saved(picture(), "JPEG", quality=90),
    "jpeg gray": saved(picture(), "JPEG", "L"),
    "jpeg turned": turned(),
    "jpeg of inks": saved(picture(), "JPEG", "CMYK"),
    "png": saved(picture(), "PNG"),
    "png gray": saved(picture(), "PNG", "L"),
    "png of two colours": saved(picture(), "PNG", "1"),
    "png of a palette": saved(picture(), "PNG", "P"),
    "png of a palette with alpha": saved(picture(), "PNG", "P", transparency=bytes(range(256))),
    "png with a transparent colour": saved(picture(), "PNG", transparency=(9, 12, 1)),
    "png with alpha": saved(ALPHA, "PNG"),
    "png gray with alpha": saved(picture(), "PNG", "LA"),
    "png of 16 bits": cv2.imencode(".png", WIDE)[1].tobytes(),
    "bmp": saved(picture(), "BMP"),
    "webp": saved(picture(), "WEBP", lossless=True),
}


@pytest.mark.parametrize("name", FILES)
def test_pixels_are_those_of_opencv(name, library):
    for flag in (1, 0, -1):
        expected = cv2.imdecode(np.frombuffer(FILES[name], np.uint8), flag)
        expected = expected[:, :, None] if expected.ndim == 2 else expected
        found = _codec.decode(FILES[name], flag, to_rgb=False)
        assert found.shape == expected.shape and found.dtype == expected.dtype
        bound = 2 if (name, library) == ("jpeg of inks", "pillow") else 0  # Pillow mixes them otherwise
        assert np.abs(found.astype(int) - expected).max() <= bound
        if found.shape[2] >= 3:
            rgb = _codec.decode(FILES[name], flag)
            assert (rgb[:, :, [2, 1, 0, *range(3, found.shape[2])]] == found).all()
            rgb[...] = 0  # nobody else has it


def test_encoded_images_come_back(library):
    for image in (picture(), picture()[:, :, 0], picture()[:, :, :1], ALPHA, picture()[:, ::-1]):
        for fmt, bound in ((".png", 0), ("PNG", 0), (".bmp", 0), (".jpg", 60)):
            found = _codec.decode(_codec.encode(image, fmt=fmt), -1)
            expected = image if image.ndim == 3 else image[:, :, None]
            expected = expected[:, :, : found.shape[2]]  # a JPEG has no alpha
            assert found.shape == expected.shape and np.abs(found.astype(int) - expected).mean() <= bound / 10
    swapped = _codec.decode(_codec.encode(picture(), fmt=".png", to_rgb=False))
    assert (swapped == picture()[:, :, ::-1]).all()
    assert len(_codec.encode(picture(), 20)) < len(_codec.encode(picture())) == len(_codec.encode(picture(), 95))
    assert _codec.encode(picture(), 1000) == _codec.encode(picture(), 100)
    assert len(_codec.encode(picture(), 0, ".png")) > len(_codec.encode(picture(), 99, ".png"))


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_bad_images_are_named(library, capfd):
    cut = (FILES["png"][:100], FILES["jpeg"][: len(FILES["jpeg"]) // 2])
    for data in (b"no image", b"\xff\xd8\xff" + bytes(100), b"\x89PNG\r\n\x1a\n", *cut):
        with pytest.raises(FormatError, match=rf"an image from shelf 3 cannot be decoded \({len(data)} bytes\)"):
            _codec.decode(data, source="shelf 3")
    with pytest.raises(FormatError, match="an image from shelf 3 is empty"):
        _codec.decode(b"", source="shelf 3")


def test_wrong_arguments_are_refused(library):
    with pytest.raises(ArgumentError, match="flag must be 1"):
        _codec.decode(FILES["png"], 2)
    with pytest.raises(ArgumentError, match=r"got float32 \(2, 2\)"):
        _codec.decode(np.zeros((2, 2), np.float32))
    for image in (np.zeros((2, 2), np.float32), np.zeros((2, 2, 2), np.uint8), np.zeros((0, 2, 3), np.uint8)):
        with pytest.raises(ArgumentError, match="an image of uint8"):
            _codec.encode(image)
    with pytest.raises(ArgumentError, match=r"cannot be written as '.xyz'"):
        _codec.encode(picture(), fmt=".xyz")


def test_without_a_library_the_extra_is_named(monkeypatch):
    _codec._codec.cache_clear()
    monkeypatch.setitem(sys.modules, "cv2", None)
    assert isinstance(_codec._codec(), _codec._Pillow)
    _codec._codec.cache_clear()
    for name in ("PIL", "PIL.Image", "PIL.ImageOps"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(ImportError, match=r"pip install 'gluonx\[vision\]'"):
        _codec.decode(FILES["png"])
    monkeypatch.undo()
    _codec._codec.cache_clear()
    assert isinstance(_codec._codec(), _codec._OpenCV)
