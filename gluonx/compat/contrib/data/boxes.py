"""Transforms of an image together with its boxes, and the arithmetic of boxes.

Boxes are (objects, 4 or more): left, top, right and bottom in pixels, and what else belongs to an object. A transform
takes ``(image, boxes)`` and gives both, NumPy arrays for NumPy arrays and ndarrays for ndarrays; it works on the host
either way. Python's ``random`` draws, in MXNet's order.
"""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from typing import Any

import numpy as onp

from gluonx.block.block import Block
from gluonx.data.vision import functional
from gluonx.data.vision.transforms import HostForm
from gluonx.errors import ArgumentError, ShapeError
from gluonx.image.functions import to_device, to_host
from gluonx.np.handle import ndarray

__all__ = [
    "BboxLabelTransform",
    "ImageBboxCrop",
    "ImageBboxRandomCropWithConstraints",
    "ImageBboxRandomExpand",
    "ImageBboxRandomFlipLeftRight",
    "ImageBboxResize",
]

_CONSTRAINTS = ((0.1, None), (0.3, None), (0.5, None), (0.7, None), (0.9, None), (None, 1))
Pair = tuple[onp.ndarray, onp.ndarray]


class _BoxTransform(HostForm, Block):
    """A transform of an image and its boxes; subclasses define ``_changed`` on NumPy arrays."""

    def forward(self, img: ndarray, bbox: ndarray) -> tuple[ndarray, ...]:
        """Return the new image and boxes."""
        image, boxes = self.on_host(to_host(img), to_host(bbox))
        return (to_device(image.copy()) if isinstance(img, ndarray) else image), to_device(boxes.copy())

    def on_host(self, img: onp.ndarray, bbox: onp.ndarray) -> Pair:
        """Return the new image and boxes, as NumPy arrays."""
        return self._changed(img, onp.asarray(to_host(bbox)))

    def _changed(self, img: onp.ndarray, bbox: onp.ndarray) -> Pair:
        raise NotImplementedError(f"{type(self).__name__} must define _changed")

    def _need(self, img: onp.ndarray, bbox: onp.ndarray) -> None:
        if img.ndim != 3:
            raise ShapeError(f"{type(self).__name__}: an image (height, width, channels) expected, got {img.shape}")
        if bbox.ndim != 2 or bbox.shape[1] < 4:
            raise ShapeError(f"{type(self).__name__}: bbox requires shape of (N, 4+), given: {bbox.shape}")


class BboxLabelTransform(_BoxTransform):
    """The flat label of a detection record as boxes in pixels, with the class behind them.

    Parameters
    ----------
    coord_normalized : bool
        Whether the label's coordinates are parts of width and height.

    Raises
    ------
    ShapeError
        If the label's head does not fit its length.
    """

    def __init__(self, coord_normalized: bool = True) -> None:
        super().__init__()
        self._coord_normalized = coord_normalized

    def _changed(self, img: onp.ndarray, bbox: onp.ndarray) -> Pair:
        flat = bbox.astype(onp.float32).ravel()
        if flat.size < 7:
            raise ShapeError(f"Expected label length >= 7, got {flat.size}")
        head, width = int(flat[0]), int(flat[1])
        if width < 5:
            raise ShapeError(f"Label info for each object should >= 5, given {width}")
        if head < 2 or flat.size < head + 5 or (flat.size - head) % width:
            raise ShapeError(
                f"Broken label of size {flat.size}, cannot reshape into (N, {width}) if header length {head} is cut off"
            )
        objects = flat[head:].reshape(-1, width)
        boxes = onp.concatenate([objects[:, 1:5], objects[:, :1], objects[:, 5:]], 1)
        if self._coord_normalized:
            boxes[:, :4] *= onp.tile(onp.array(img.shape[1::-1], onp.float32), 2)
        return img, boxes


class ImageBboxRandomFlipLeftRight(_BoxTransform):
    """Exchange left and right with probability `p`."""

    def __init__(self, p: float = 0.5) -> None:
        super().__init__()
        self.p = p

    def _changed(self, img: onp.ndarray, bbox: onp.ndarray) -> Pair:
        self._need(img, bbox)
        if self.p <= 0 or (self.p < 1 and self.p < random.random()):
            return img, bbox
        boxes = bbox.copy()
        boxes[:, [0, 2]] = img.shape[1] - bbox[:, [2, 0]]
        return functional.flip(img, 1), boxes


class ImageBboxCrop(_BoxTransform):
    """Cut a rectangle; an image in which it does not lie stays as it is.

    Parameters
    ----------
    crop : (int, int, int, int)
        Left, top, width and height.
    allow_outside_center : bool
        Whether boxes stay whose middle lies outside.

    Raises
    ------
    ArgumentError
        If `crop` is no such rectangle.
    """

    def __init__(self, crop: Sequence[int], allow_outside_center: bool = False) -> None:
        super().__init__()
        if len(crop) != 4 or min(crop[:2]) < 0 or min(crop[2:]) <= 0:
            raise ArgumentError(f"ImageBboxCrop: crop must be (left, top, width, height), got {crop!r}")
        self._crop = tuple(crop)
        self._allow_outside_center = allow_outside_center

    def _changed(self, img: onp.ndarray, bbox: onp.ndarray) -> Pair:
        self._need(img, bbox)
        left, top, width, height = self._crop
        if left + width >= img.shape[1] or top + height >= img.shape[0]:
            return img, bbox
        return functional.crop(img, *self._crop), _cropped(bbox, self._crop, self._allow_outside_center)


class ImageBboxRandomCropWithConstraints(_BoxTransform):
    """Cut a random rectangle that overlaps with the boxes as one of several constraints says: the crop of SSD.

    Parameters
    ----------
    p : float
        The probability that it is done.
    min_scale, max_scale : float
        Bounds of the rectangle's size, as a part of the image's.
    max_aspect_ratio : float
        Bound of its form.
    constraints : list of (float or None, float or None), optional
        Bounds of intersection over union, of which each gives one candidate.
    max_trial : int
        How many rectangles are tried for each.
    """

    def __init__(
        self,
        p: float = 0.5,
        min_scale: float = 0.3,
        max_scale: float = 1,
        max_aspect_ratio: float = 2,
        constraints: Any = None,
        max_trial: int = 50,
    ) -> None:
        super().__init__()
        self.p = p
        self._scales, self._form = (min_scale, max_scale), max_aspect_ratio
        self._constraints = _CONSTRAINTS if constraints is None else tuple(constraints)
        self._trials = max_trial

    def _changed(self, img: onp.ndarray, bbox: onp.ndarray) -> Pair:
        self._need(img, bbox)
        if random.random() > self.p:
            return img, bbox
        height, width = img.shape[:2]
        whole = (0, 0, width, height)
        candidates = [whole]
        for bounds in self._constraints:
            found = self._candidate(bbox, height, width, bounds)
            if found is not None and not len(bbox):
                return functional.crop(img, *found), bbox
            candidates += [] if found is None else [found]
        while candidates:
            crop = candidates.pop(onp.random.randint(0, len(candidates)))
            boxes = _cropped(bbox, crop, False)
            if len(boxes):
                return (img, bbox) if crop == whole else (functional.crop(img, *crop), boxes)
        return img, bbox

    def _candidate(self, bbox: onp.ndarray, height: int, width: int, bounds: Any) -> tuple[int, int, int, int] | None:
        low, high = -math.inf if bounds[0] is None else bounds[0], math.inf if bounds[1] is None else bounds[1]
        for _ in range(self._trials):
            scale = random.uniform(*self._scales)
            form = random.uniform(max(1 / self._form, scale * scale), min(self._form, 1 / (scale * scale)))
            h, w = int(height * scale / math.sqrt(form)), int(width * scale * math.sqrt(form))
            top, left = random.randrange(max(1, height - h)), random.randrange(max(1, width - w))
            if not (0 < h <= height and 0 < w <= width):
                continue
            if not len(bbox):
                return left, top, w, h
            overlaps = _overlaps(bbox, onp.array([left, top, left + w, top + h]))
            if low <= overlaps.min() and overlaps.max() <= high:
                return left, top, w, h
        return None


class ImageBboxRandomExpand(_BoxTransform):
    """Put the image at a random place of a larger one.

    Parameters
    ----------
    p : float
        The probability that it is done.
    max_ratio : float
        The bound of the new size divided by the old one.
    fill : number, or one for each channel
        The colour around the image.
    keep_ratio : bool
        Whether both sides grow alike.
    """

    def __init__(self, p: float = 0.5, max_ratio: float = 4, fill: Any = 0, keep_ratio: bool = True) -> None:
        super().__init__()
        self.p = p
        self._max_ratio, self._fill, self._keep_ratio = max_ratio, fill, keep_ratio

    def _changed(self, img: onp.ndarray, bbox: onp.ndarray) -> Pair:
        self._need(img, bbox)
        if self._max_ratio <= 1 or random.random() > self.p:
            return img, bbox
        height, width, channels = img.shape
        if onp.ndim(self._fill) and len(self._fill) != channels:
            raise ShapeError(f"Channel and fill size mismatch, {channels} vs {len(self._fill)}")
        across = random.uniform(1, self._max_ratio)
        down = across if self._keep_ratio else random.uniform(1, self._max_ratio)
        more_y, more_x = int(height * down) - height, int(width * across) - width
        y, x = random.randint(0, more_y), random.randint(0, more_x)
        boxes = bbox.copy()
        boxes[:, :4] += onp.array([x, y, x, y], boxes.dtype)
        return functional.pad(img, y, more_y - y, x, more_x - x, value=self._fill), boxes


class ImageBboxResize(_BoxTransform):
    """Resize to `width` and `height`; `interp` is 0 to 4, or -1 for a random one."""

    def __init__(self, width: int, height: int, interp: int = 1) -> None:
        super().__init__()
        self._size = (width, height)
        self._interp = interp

    def _changed(self, img: onp.ndarray, bbox: onp.ndarray) -> Pair:
        self._need(img, bbox)
        interp = functional.interp_method(10 if self._interp == -1 else self._interp)
        boxes = bbox.astype(onp.float32)
        boxes[:, :4] *= onp.tile(onp.array(self._size) / onp.array(img.shape[1::-1]), 2).astype(onp.float32)
        return functional.resize(img, *self._size, interp), boxes


def _cropped(boxes: onp.ndarray, crop: Sequence[int], allow_outside_center: bool) -> onp.ndarray:
    """Return the boxes that a rectangle (left, top, width, height) leaves something of, in its coordinates."""
    start = onp.array(crop[:2])
    stop = start + onp.array(crop[2:])
    out = boxes.copy()
    out[:, :2] = onp.maximum(boxes[:, :2], start) - start
    out[:, 2:4] = onp.minimum(boxes[:, 2:4], stop) - start
    kept = (out[:, :2] < out[:, 2:4]).all(1)
    if not allow_outside_center:
        middle = (boxes[:, :2] + boxes[:, 2:4]) / 2
        kept &= ((start <= middle) & (middle < stop)).all(1)
    return out[kept]


def _overlaps(boxes: onp.ndarray, box: onp.ndarray) -> onp.ndarray:
    """Intersection over union of each box with one."""
    size = onp.minimum(boxes[:, 2:4], box[2:]) - onp.maximum(boxes[:, :2], box[:2])
    shared = onp.prod(onp.maximum(size, 0), 1)
    areas = onp.prod(boxes[:, 2:4] - boxes[:, :2], 1) + onp.prod(box[2:] - box[:2])
    return shared / (areas - shared)
