"""Augmentation and normalization of images as MXNet's iterators over record files do it in C++.

Everything is NumPy on the host, and runs in the threads of the iterators. An `Augmenter` draws from the generator that
it is given, so what becomes of an image does not depend on the thread that works on it.
"""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

import numpy as np

from gluonx.compat.io import parameters as par
from gluonx.data.vision import functional
from gluonx.errors import ArgumentError, ShapeError
from gluonx.ops.colour import EIGENVALUES, EIGENVECTORS

AUGMENT: par.Table = {
    "aug_seq": (par.text, "aug_default"),
    "resize": (par.integer, -1),
    "rand_crop": (par.flag, False),
    "random_resized_crop": (par.flag, False),
    "max_rotate_angle": (par.integer, 0),
    "max_aspect_ratio": (par.number, 0.0),
    "min_aspect_ratio": (par.maybe(par.number), None),
    "max_shear_ratio": (par.number, 0.0),
    "max_crop_size": (par.integer, -1),
    "min_crop_size": (par.integer, -1),
    "max_random_scale": (par.number, 1.0),
    "min_random_scale": (par.number, 1.0),
    "max_random_area": (par.number, 1.0),
    "min_random_area": (par.number, 1.0),
    "max_img_size": (par.number, 1e10),
    "min_img_size": (par.number, 0.0),
    "brightness": (par.number, 0.0),
    "contrast": (par.number, 0.0),
    "saturation": (par.number, 0.0),
    "pca_noise": (par.number, 0.0),
    "random_h": (par.integer, 0),
    "random_s": (par.integer, 0),
    "random_l": (par.integer, 0),
    "rotate": (par.integer, -1),
    "fill_value": (par.integer, 255),
    "inter_method": (par.integer, 1),
    "pad": (par.integer, 0),
}
NORMALIZE: par.Table = {
    "mirror": (par.flag, False),
    "rand_mirror": (par.flag, False),
    "mean_img": (par.text, ""),
    **{f"mean_{channel}": (par.number, 0.0) for channel in "rgba"},
    **{f"std_{channel}": (par.number, 1.0) for channel in "rgba"},
    "scale": (par.number, 1.0),
    "max_random_contrast": (par.number, 0.0),
    "max_random_illumination": (par.number, 0.0),
}
_GRAY = np.array([0.114, 0.587, 0.299], np.float32)  # of red, green, blue: MXNet takes its BGR for RGB here


def opencv(owner: str) -> Any:
    """Return the module of OpenCV, which alone has what `owner` needs."""
    cv2 = functional.opencv()
    if cv2 is None:
        raise ImportError(f"{owner} needs OpenCV: pip install opencv-python-headless")
    return cv2


def warped(image: np.ndarray, turn: np.ndarray, width: int, height: int, method: int, fill: int) -> np.ndarray:
    """Map an image by a matrix (2, 3), so that its pixel at (x, y) goes to ``turn @ [x, y, 1]``."""
    cv2 = functional.opencv()
    if cv2 is None:
        if method != 1:
            raise ImportError(f"warping with inter_method={method} needs OpenCV; 1 does not")
        return _warped_linearly(image, turn, width, height, fill)
    found = cv2.warpAffine(image, turn, (width, height), flags=method, borderValue=(fill,) * image.shape[2])
    return found.reshape(height, width, image.shape[2])


def _warped_linearly(image: np.ndarray, turn: np.ndarray, width: int, height: int, fill: int) -> np.ndarray:
    """`warped` in the fixed point of OpenCV 3: places in parts of 32, weights in parts of 2**15."""
    back = np.linalg.inv(np.vstack([turn.astype(np.float64), [0, 0, 1]]))[:2]
    x, y = np.arange(width), np.arange(height)[:, None]
    places = [
        (np.rint((row[1] * y + row[2]) * 1024).astype(np.int64) + 16 + np.rint(row[0] * x * 1024).astype(np.int64)) >> 5
        for row in back
    ]
    (columns, right), (rows, down) = ((place >> 5, place & 31) for place in places)
    framed = functional.pad(image, 1, 1, 1, 1, value=fill).astype(np.int32)
    total = np.full((height, width, image.shape[2]), 1 << 14, np.int64)
    for i, high in enumerate((32 - down, down)):
        for j, wide in enumerate((32 - right, right)):
            at = np.clip(rows + i + 1, 0, image.shape[0] + 1), np.clip(columns + j + 1, 0, image.shape[1] + 1)
            total += framed[at] * (32 * high * wide)[:, :, None]
    return (total >> 15).astype(np.uint8)


def resized(image: np.ndarray, width: int, height: int, method: int, rng: np.random.Generator) -> np.ndarray:
    """Resize by MXNet's number of an interpolation; 9 chooses by the sizes, 10 at random."""
    if method == 10:
        method = int(rng.integers(0, 5))
    method = functional.interp_method(method, (*image.shape[:2], height, width))
    return functional.resize(image, width, height, method)


def saturated(values: np.ndarray) -> np.ndarray:
    """Round to the nearest byte, as OpenCV does."""
    return np.clip(np.rint(values), 0, 255).astype(np.uint8)


class Augmenter:
    """MXNet's default augmenter: from an image of any size to one of `data_shape`.

    In this order: scale the shorter edge, warp (rotate, shear, scale, change the ratio), pad, crop, change colours.

    Parameters
    ----------
    of : SimpleNamespace
        The parameters of the table `AUGMENT`.
    data_shape : (int, int, int)
        Channels, height and width.
    """

    def __init__(self, owner: str, of: SimpleNamespace, data_shape: tuple[int, int, int]) -> None:
        self.of, self.owner = of, owner
        _, self.height, self.width = data_shape
        self.ratios = (1.0, 1.0)
        if of.min_aspect_ratio is not None:
            self.ratios = (of.min_aspect_ratio, of.max_aspect_ratio)
        elif of.max_aspect_ratio:
            self.ratios = (1 - of.max_aspect_ratio, 1 + of.max_aspect_ratio)
        self._check()
        scaled = (of.min_random_scale, of.max_random_scale) != (1, 1)
        self.warps = (
            (of.max_rotate_angle > 0 or of.rotate > 0 or of.max_shear_ratio > 0 or scaled)
            or (self.ratios != (1, 1) and not of.random_resized_crop)
            or (of.max_img_size, of.min_img_size) != (1e10, 0)
        )
        self.jitters = max(of.brightness, of.contrast, of.saturation) > 0
        self.turns = (of.random_h, of.random_s, of.random_l) != (0, 0, 0)
        if self.turns:
            opencv(f"{owner}: random_h, random_s and random_l")
        # Whether chance has a part at all: a generator costs more than a crop.
        self.draws = self.warps or of.rand_crop or of.random_resized_crop or self.jitters or self.turns
        self.draws = self.draws or of.pca_noise > 0 or of.inter_method == 10 or of.max_crop_size > of.min_crop_size

    def _check(self) -> None:
        """Refuse parameters that do not go together."""
        of, owner = self.of, self.owner
        if of.aug_seq not in ("aug_default", ""):
            raise ArgumentError(f"{owner}: aug_seq={of.aug_seq!r} is unknown; there is only 'aug_default'")
        if of.inter_method not in (0, 1, 2, 3, 4, 9, 10):
            raise ArgumentError(f"{owner}: inter_method must be 0 to 4, 9 or 10, got {of.inter_method}")
        if self.ratios[0] > self.ratios[1]:
            raise ArgumentError(f"{owner}: min_aspect_ratio is above max_aspect_ratio: {self.ratios}")
        if not 0 < of.min_random_area <= of.max_random_area:
            told = f"got {of.min_random_area} and {of.max_random_area}"
            raise ArgumentError(f"{owner}: min_random_area must be positive and at most max_random_area, {told}")
        if min(of.min_random_scale, of.max_random_scale) <= 0:
            told = f"got {of.min_random_scale} and {of.max_random_scale}"
            raise ArgumentError(f"{owner}: min_random_scale and max_random_scale must be positive, {told}")
        if of.random_resized_crop and (
            (of.min_random_scale, of.max_random_scale) != (1, 1)
            or of.rand_crop
            or max(of.min_crop_size, of.max_crop_size) > -1
        ):
            others = "rand_crop, min_crop_size, max_crop_size, min_random_scale and max_random_scale"
            raise ArgumentError(f"{owner}: random_resized_crop=True goes with none of {others}")
        if of.random_resized_crop and self.ratios[0] <= 0:
            raise ArgumentError(f"{owner}: random_resized_crop needs a positive min_aspect_ratio, got {self.ratios[0]}")
        if of.max_crop_size < of.min_crop_size or (of.max_crop_size > 0) != (of.min_crop_size > 0):
            told = f"got {of.min_crop_size} and {of.max_crop_size}"
            raise ArgumentError(f"{owner}: min_crop_size and max_crop_size go together, the latter not smaller; {told}")

    def __call__(self, image: np.ndarray, rng: Any) -> np.ndarray:
        """Augment an image (height, width, channels) of uint8."""
        of = self.of
        if of.resize > 0:
            image = self._shorter_edge(image, rng)
        if self.warps:
            image = self._warped(image, rng)
        if of.pad > 0:
            image = functional.pad(image, of.pad, of.pad, of.pad, of.pad, value=of.fill_value)
        image = self._cropped(image, rng)
        if image.shape[2] == 3:
            if self.jitters:
                image = self._jittered(image, rng)
            if self.turns:
                image = self._turned(image, rng)
            if of.pca_noise > 0:
                alpha = rng.normal(0, of.pca_noise, 3)
                image = saturated(image + EIGENVECTORS @ (alpha * EIGENVALUES))
        return image

    def _shorter_edge(self, image: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        height, width = image.shape[:2]
        size = self.of.resize
        if height > width:
            return resized(image, size, size * height // width, self.of.inter_method, rng)
        return resized(image, size * width // height, size, self.of.inter_method, rng)

    def _warped(self, image: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        of = self.of
        height, width = image.shape[:2]
        shear = rng.uniform(-1, 1) * of.max_shear_ratio
        angle = of.rotate if of.rotate > 0 else int(rng.integers(-of.max_rotate_angle, of.max_rotate_angle + 1))
        cos, sin = math.cos(math.radians(angle)), math.sin(math.radians(angle))
        scale = rng.uniform(*sorted((of.min_random_scale, of.max_random_scale)))  # one of them may be left at 1
        ratio = 1.0 if of.random_resized_crop else rng.uniform(*self.ratios)
        tall = 2 * scale / (1 + ratio)
        wide = ratio * tall
        new_width = max(of.min_img_size, min(of.max_img_size, scale * width))
        new_height = max(of.min_img_size, min(of.max_img_size, scale * height))
        turn = np.array([[tall * cos - shear * sin * wide, tall * sin + shear * cos * wide], [-sin * wide, cos * wide]])
        shift = (np.array([new_width, new_height]) - turn @ [width, height]) / 2
        size = max(int(np.float32(new_width)), 1), max(int(np.float32(new_height)), 1)
        method = of.inter_method if of.inter_method != 10 else int(rng.integers(0, 5))
        method = functional.interp_method(method, (height, width, size[1], size[0]))
        return warped(image, np.column_stack([turn, shift]).astype(np.float32), *size, method, of.fill_value)

    def _cropped(self, image: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        of = self.of
        if of.random_resized_crop:
            window = self._window(image, rng)
            if window is not None:
                return resized(window, self.width, self.height, of.inter_method, rng)
        elif of.max_crop_size > 0:
            size = of.max_crop_size
            if size > of.min_crop_size:
                size = int(rng.integers(of.min_crop_size, size + 1))
            if min(image.shape[:2]) < of.max_crop_size:
                raise ShapeError(f"an image of {image.shape[:2]} is smaller than max_crop_size={of.max_crop_size}")
            return resized(self._part(image, size, size, rng), self.width, self.height, of.inter_method, rng)
        if image.shape[0] < self.height:
            width = int(np.float32(self.height) / np.float32(image.shape[0]) * image.shape[1])
            image = resized(image, max(width, 1), self.height, of.inter_method, rng)
        if image.shape[1] < self.width:
            height = int(np.float32(self.width) / np.float32(image.shape[1]) * image.shape[0])
            image = resized(image, self.width, max(height, 1), of.inter_method, rng)
        return self._part(image, self.height, self.width, rng)

    def _part(self, image: np.ndarray, height: int, width: int, rng: np.random.Generator) -> np.ndarray:
        y, x = image.shape[0] - height, image.shape[1] - width
        if self.of.rand_crop:
            y, x = int(rng.integers(0, y + 1)), int(rng.integers(0, x + 1))
        else:
            y, x = y // 2, x // 2
        return image[y : y + height, x : x + width]

    def _window(self, image: np.ndarray, rng: np.random.Generator) -> np.ndarray | None:
        """Return a part of the image, of random area and ratio; None if ten tries find none."""
        of, (height, width) = self.of, image.shape[:2]
        if (of.min_random_area, of.max_random_area, *self.ratios) == (1, 1, 1, 1):
            return None
        for _ in range(10):
            area = rng.uniform(of.min_random_area, of.max_random_area) * height * width
            ratio = rng.uniform(*self.ratios)
            wide, tall = round(math.sqrt(area * ratio)), round(math.sqrt(area / ratio))
            if rng.uniform() > 0.5:
                wide, tall = tall, wide
            if 0 < wide <= width and 0 < tall <= height:
                y, x = int(rng.integers(0, height - tall + 1)), int(rng.integers(0, width - wide + 1))
                return image[y : y + tall, x : x + wide]
        return None

    def _jittered(self, image: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Change brightness, contrast and saturation, in a random order, each rounded to bytes as in MXNet."""
        of = self.of
        for step in rng.permutation(3):
            if step == 0 and of.brightness > 0:
                image = saturated(image * np.float32(1 + rng.uniform(-of.brightness, of.brightness)))
            elif step == 1 and of.contrast > 0:
                alpha = np.float32(1 + rng.uniform(-of.contrast, of.contrast))
                image = saturated(image * alpha + (1 - alpha) * saturated(image @ _GRAY).mean())
            elif step == 2 and of.saturation > 0:
                alpha = np.float32(1 + rng.uniform(-of.saturation, of.saturation))
                image = saturated(image * alpha + (1 - alpha) * saturated(image @ _GRAY)[:, :, None])
        return image

    def _turned(self, image: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Add to hue, lightness and saturation; small changes are more frequent than large ones."""
        of, cv2 = self.of, opencv(self.owner)
        hls = cv2.cvtColor(np.ascontiguousarray(image), cv2.COLOR_RGB2HLS).astype(np.int32)
        for channel, (most, limit) in enumerate(((of.random_h, 180), (of.random_l, 255), (of.random_s, 255))):
            share = (rng.uniform() + 4 * rng.uniform()) / 5
            hls[:, :, channel] = np.clip(hls[:, :, channel] + int(share * most * 2 - most), 0, limit)
        return cv2.cvtColor(hls.astype(np.uint8), cv2.COLOR_HLS2RGB)


class Normalizer:
    """From an image of bytes to a row of a batch: ((pixel - mean) * contrast + illumination) * scale / std.

    Parameters
    ----------
    of : SimpleNamespace
        The parameters of the table `NORMALIZE`.
    channels : int
    """

    def __init__(self, of: SimpleNamespace, channels: int) -> None:
        self.of = of
        # std 0 is that of detection, for none
        std = np.array([getattr(of, f"std_{channel}") or 1 for channel in "rgba"[:channels]], np.float32)
        self.mean = np.array([getattr(of, f"mean_{channel}") for channel in "rgba"[:channels]], np.float32)
        self.mean = self.mean[:, None, None]
        self.factor = (np.float32(of.scale) / std)[:, None, None]
        self.draws = of.rand_mirror or of.max_random_contrast > 0 or of.max_random_illumination > 0

    def __call__(self, image: np.ndarray, row: np.ndarray, rng: Any) -> None:
        """Write an image (height, width, channels) into a row (channels, height, width) of float32."""
        of = self.of
        if of.mirror or (of.rand_mirror and rng.uniform() < 0.5):
            image = image[:, ::-1]
        np.subtract(image.transpose(2, 0, 1), self.mean, out=row)
        factor = self.factor
        if of.max_random_contrast > 0:
            factor = factor * np.float32(1 + rng.uniform(-1, 1) * of.max_random_contrast)
        if (factor != 1).any():
            np.multiply(row, factor, out=row)
        if of.max_random_illumination > 0:
            row += self.factor * np.float32(rng.uniform(-1, 1) * of.max_random_illumination)
