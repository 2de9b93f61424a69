"""Augmenters for images with boxes.

A label is a NumPy array (objects, 5 or more) whose rows hold a class and a box (left, top, right, bottom), as parts of
the image's width and height; what lies behind is kept. ``_changed(image, label)`` of each works on NumPy arrays;
called with an ndarray as image it gives one.
"""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from gluonx.common.frames import warn
from gluonx.data.vision import functional
from gluonx.errors import ArgumentError
from gluonx.image.augmenters import (
    MEAN,
    STD,
    Augmenter,
    CastAug,
    ColorNormalizeAug,
    Described,
    ForceResizeAug,
    ResizeAug,
    augmented,
    colour_steps,
    per_channel,
)
from gluonx.image.functions import to_device, to_host
from gluonx.np.handle import ndarray

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import ArrayLike


__all__ = [
    "CreateDetAugmenter",
    "CreateMultiRandCropAugmenter",
    "DetAugmenter",
    "DetBorrowAug",
    "DetHorizontalFlipAug",
    "DetRandomCropAug",
    "DetRandomPadAug",
    "DetRandomSelectAug",
]

Sample = tuple[np.ndarray, np.ndarray]


class DetAugmenter(Described):
    """Base of augmenters for images with boxes; keywords are the settings that `dumps` tells.

    Examples
    --------
    >>> from gluonx import image, np
    >>> class Moved(image.DetAugmenter):
    ...     def __call__(self, src, label):
    ...         return np.roll(src, 1, axis=1), label + np.array([0, 1 / src.shape[1], 0, 1 / src.shape[1], 0])
    >>> picture, label = Moved()(np.zeros((4, 4, 3)), np.array([[7, 0.25, 0.25, 0.5, 0.5]]))
    >>> label.tolist()
    [[7.0, 0.5, 0.25, 0.75, 0.5]]
    """

    def __call__(self, src: ndarray | np.ndarray, label: ndarray | np.ndarray) -> Any:
        """Return the changed image, of the kind of array that it was, and its label."""
        image, label = self._changed(to_host(src), to_host(label))
        return (to_device(image.copy()) if isinstance(src, ndarray) else image), label

    def _changed(self, image: np.ndarray, label: np.ndarray) -> Sample:
        """Change image and label, from and to NumPy arrays."""
        raise NotImplementedError(f"{type(self).__name__} must define __call__, which augments an image and its label")


def augmented_with_label(augmenter: Callable[..., Any], image: ndarray | np.ndarray, label: Any) -> tuple[Any, Any]:
    """Return what an augmenter makes of a sample, on the host unless it is a user's, which is given an ndarray."""
    if isinstance(augmenter, DetAugmenter) and type(augmenter).__call__ is DetAugmenter.__call__:
        return augmenter._changed(to_host(image), label)
    return augmenter(to_device(image.copy()) if isinstance(image, np.ndarray) else image, label)


class DetBorrowAug(DetAugmenter):
    """An augmenter of images alone, which leaves labels as they are.

    Parameters
    ----------
    augmenter : Augmenter

    Raises
    ------
    TypeError
        If it is none.

    Examples
    --------
    >>> from gluonx import image, np
    >>> picture, label = image.DetBorrowAug(image.CastAug("float16"))(np.zeros((4, 4, 3)), np.ones((1, 5)))
    >>> picture.dtype, label.shape
    (dtype('float16'), (1, 5))
    """

    def __init__(self, augmenter: Augmenter) -> None:
        if not isinstance(augmenter, Augmenter):
            raise TypeError(f"Borrowing from invalid Augmenter: {augmenter!r}")
        super().__init__(augmenter=augmenter.dumps())
        self.augmenter = augmenter

    def dumps(self) -> list[Any]:
        """Return the name and what the augmenter tells."""
        return [type(self).__name__.lower(), self.augmenter.dumps()]

    def _changed(self, image: np.ndarray, label: np.ndarray) -> Sample:
        return to_host(augmented(self.augmenter, image)), label


class DetRandomSelectAug(DetAugmenter):
    """One of several augmenters, drawn at random, or none.

    Parameters
    ----------
    aug_list : list of DetAugmenter
    skip_prob : float
        The probability of none.

    Raises
    ------
    ValueError
        If one is no DetAugmenter.

    Examples
    --------
    >>> from gluonx import image, np
    >>> one = image.DetRandomSelectAug([image.DetHorizontalFlipAug(1.0)], skip_prob=0)
    >>> one(np.zeros((4, 4, 3)), np.array([[7, 0.25, 0.25, 0.5, 0.5]]))[1].tolist()
    [[7.0, 0.5, 0.25, 0.75, 0.5]]
    """

    def __init__(self, aug_list: DetAugmenter | list[Any] | tuple[Any, ...], skip_prob: float = 0) -> None:
        super().__init__(skip_prob=skip_prob)
        self.aug_list = list(aug_list) if isinstance(aug_list, (list, tuple)) else [aug_list]
        for one in self.aug_list:
            if not isinstance(one, DetAugmenter):
                raise ValueError(f"Allow DetAugmenter in list only, got {one!r}")
        self.skip_prob = skip_prob if self.aug_list else 1

    def dumps(self) -> list[Any]:
        """Return the name and what the augmenters tell."""
        return [type(self).__name__.lower(), [one.dumps() for one in self.aug_list]]

    def _changed(self, image: np.ndarray, label: np.ndarray) -> Sample:
        if random.random() < self.skip_prob:
            return image, label
        random.shuffle(self.aug_list)
        image, label = augmented_with_label(self.aug_list[0], image, label)
        return to_host(image), label


class DetHorizontalFlipAug(DetAugmenter):
    """Exchange left and right, of boxes too, with probability `p`.

    Examples
    --------
    >>> from gluonx import image, np
    >>> image.DetHorizontalFlipAug(1.0)(np.zeros((4, 4, 3)), np.array([[7, 0.25, 0.25, 0.5, 0.5]]))[1].tolist()
    [[7.0, 0.5, 0.25, 0.75, 0.5]]
    """

    def __init__(self, p: float) -> None:
        super().__init__(p=p)
        self.p = p

    def _changed(self, image: np.ndarray, label: np.ndarray) -> Sample:
        if random.random() >= self.p:
            return image, label
        label = label.copy()
        label[:, [1, 3]] = 1 - label[:, [3, 1]]
        return functional.flip(image, 1), label


class _DetRandomBoxAug(DetAugmenter):
    """An augmenter that draws a rectangle between bounds of form and area."""

    def __init__(
        self, aspect_ratio_range: float | Sequence[float], area_range: float | Sequence[float], **more: Any
    ) -> None:
        ratios, areas = _range(aspect_ratio_range), _range(area_range)
        super().__init__(aspect_ratio_range=ratios, area_range=areas, **more)
        self.aspect_ratio_range, self.area_range = ratios, areas
        self.max_attempts = more["max_attempts"]
        name = type(self).__name__
        self.enabled = False
        if areas[1] <= self._least or areas[0] > areas[1]:
            warn(f"Skip {name} due to invalid area_range: {areas}")
        elif not 0 < ratios[0] <= ratios[1]:
            warn(f"Skip {name} due to invalid aspect_ratio_range: {ratios}")
        else:
            self.enabled = True

    _least: float  # the upper bound of areas must be larger


class DetRandomCropAug(_DetRandomBoxAug):
    """Cut a random rectangle that covers objects enough.

    Parameters
    ----------
    min_object_covered : float
        Every object that the rectangle touches must be covered by more than this part.
    aspect_ratio_range, area_range : float or (float, float)
        Bounds of the rectangle's width divided by its height, and of its part of the image.
    min_eject_coverage : float
        An object of which less is left is dropped.
    max_attempts : int
        How many rectangles are tried; if none fits the sample stays as it is.

    Examples
    --------
    >>> from gluonx import image, np
    >>> crop = image.DetRandomCropAug(min_object_covered=0.9, area_range=(0.5, 1.0))
    >>> picture, label = crop(np.zeros((40, 40, 3)), np.array([[7, 0.4, 0.4, 0.6, 0.6]]))
    >>> label.shape
    (1, 5)
    """

    _least = 0.0

    def __init__(
        self,
        min_object_covered: float = 0.1,
        aspect_ratio_range: float | Sequence[float] = (0.75, 1.33),
        area_range: float | Sequence[float] = (0.05, 1.0),
        min_eject_coverage: float = 0.3,
        max_attempts: int = 50,
    ) -> None:
        super().__init__(
            aspect_ratio_range, area_range, min_eject_coverage=min_eject_coverage, max_attempts=max_attempts
        )
        self._kwargs = {"min_object_covered": min_object_covered, **self._kwargs}
        self.min_object_covered, self.min_eject_coverage = min_object_covered, min_eject_coverage

    def _changed(self, image: np.ndarray, label: np.ndarray) -> Sample:
        height, width = image.shape[:2]
        for _ in range(self.max_attempts if self.enabled and height and width else 0):
            size = self._draw(height, width)
            if size is None:
                continue
            w, h = size
            y, x = random.randint(0, height - h), random.randint(0, width - w)
            kept = self._kept(
                label, np.array([x / width, y / height, (x + w) / width, (y + h) / height]), height, width
            )
            if kept is not None:
                return functional.crop(image, x, y, w, h), kept
        return image, label

    def _draw(self, height: int, width: int) -> tuple[int, int] | None:
        """Width and height of a rectangle, if the one drawn is between the bounds and inside the image."""
        least, most = (part * height * width for part in self.area_range)
        ratio = random.uniform(*self.aspect_ratio_range)
        low, high = round(math.sqrt(least / ratio)), round(math.sqrt(most / ratio))
        if round(high * ratio) > width:
            high = int((width + 0.4999999) / ratio)
        high = min(high, height)
        h = random.randint(low, high) if low < high else high
        if h * round(h * ratio) < least:
            h += 1
        elif h * round(h * ratio) > most:
            h -= 1
        w = round(h * ratio)
        return (w, h) if least <= w * h <= most and 0 < w <= width and 0 < h <= height else None

    def _kept(self, label: np.ndarray, box: np.ndarray, height: int, width: int) -> np.ndarray | None:
        """Return the objects within a box, in its coordinates; None if it does not cover objects as it should."""
        size = box[2:] - box[:2]
        if np.prod(size) * height * width < 2:
            return None
        large = label[_areas(label[:, 1:5]) * height * width > 2, 1:5]
        inside = np.concatenate([np.maximum(large[:, :2], box[:2]), np.minimum(large[:, 2:], box[2:])], 1)
        covered = _areas(inside) / _areas(large)
        covered = covered[covered > 0]
        if not covered.size or covered.min() <= self.min_object_covered:
            return None
        out = label.copy()
        out[:, 1:5] = np.clip((label[:, 1:5] - np.tile(box[:2], 2)) / np.tile(size, 2), 0, 1)
        with np.errstate(divide="ignore", invalid="ignore"):  # boxes without area
            left = _areas(out[:, 1:5]) * np.prod(size) / _areas(label[:, 1:5])
        out = out[(out[:, 3] > out[:, 1]) & (out[:, 4] > out[:, 2]) & (left > self.min_eject_coverage)]
        return out if len(out) else None


class DetRandomPadAug(_DetRandomBoxAug):
    """Put the image at a random place of a larger one.

    Parameters
    ----------
    aspect_ratio_range, area_range : float or (float, float)
        Bounds of the new width divided by the new height, and of the new area divided by the old one.
    max_attempts : int
        How many sizes are tried; if none fits the sample stays as it is.
    pad_val : number, or three
        The colour around the image.

    Examples
    --------
    >>> from gluonx import image, np
    >>> pad = image.DetRandomPadAug(aspect_ratio_range=1.0, area_range=4.0)
    >>> picture, label = pad(np.zeros((8, 8, 3)), np.array([[7, 0.0, 0.0, 1.0, 1.0]]))
    >>> picture.shape, float(label[0, 3] - label[0, 1])
    ((16, 16, 3), 0.5)
    """

    _least = 1.0

    def __init__(
        self,
        aspect_ratio_range: float | Sequence[float] = (0.75, 1.33),
        area_range: float | Sequence[float] = (1.0, 3.0),
        max_attempts: int = 50,
        pad_val: Sequence[float] = (128, 128, 128),
    ) -> None:
        super().__init__(aspect_ratio_range, area_range, max_attempts=max_attempts, pad_val=pad_val)
        self.pad_val = pad_val

    def _changed(self, image: np.ndarray, label: np.ndarray) -> Sample:
        height, width = image.shape[:2]
        for _ in range(self.max_attempts if self.enabled and height and width else 0):
            w, h = self._draw(height, width)
            if h - height < 2 or w - width < 2:
                continue
            y, x = random.randint(0, h - height), random.randint(0, w - width)
            out = label.copy()
            out[:, [1, 3]] = (out[:, [1, 3]] * width + x) / w
            out[:, [2, 4]] = (out[:, [2, 4]] * height + y) / h
            return functional.pad(image, y, h - y - height, x, w - x - width, value=self.pad_val), out
        return image, label

    def _draw(self, height: int, width: int) -> tuple[int, int]:
        least, most = (part * height * width for part in self.area_range)
        ratio = random.uniform(*self.aspect_ratio_range)
        low, high = round(math.sqrt(least / ratio)), round(math.sqrt(most / ratio))
        if round(low * ratio) < width:
            low = int((width + 0.499999) / ratio)
        low = min(max(low, height), high)
        h = random.randint(low, high) if low < high else low
        return round(h * ratio), h


def _areas(boxes: np.ndarray) -> np.ndarray:
    return np.prod(np.maximum(0, boxes[:, 2:4] - boxes[:, :2]), axis=1)


def _range(value: float | Sequence[float]) -> tuple[float, float]:
    pair = (value, value) if isinstance(value, (int, float)) else tuple(value)
    if len(pair) != 2:
        raise ArgumentError(f"a number or two bounds were expected, got {value!r}")
    return pair


def CreateMultiRandCropAugmenter(
    min_object_covered: Any = 0.1,
    aspect_ratio_range: Any = (0.75, 1.33),
    area_range: Any = (0.05, 1.0),
    min_eject_coverage: Any = 0.3,
    max_attempts: Any = 50,
    skip_prob: float = 0,
) -> DetRandomSelectAug:
    """Return an augmenter that takes one of several `DetRandomCropAug` at random.

    Parameters
    ----------
    min_object_covered, aspect_ratio_range, area_range, min_eject_coverage, max_attempts
        As of `DetRandomCropAug`; each may be a list with one value for each of the crops.
    skip_prob : float
        The probability that none is taken.

    Returns
    -------
    DetRandomSelectAug

    Raises
    ------
    ArgumentError
        If lists have different lengths.

    Examples
    --------
    >>> from gluonx import image
    >>> made = image.CreateMultiRandCropAugmenter(min_object_covered=[0.1, 0.5, 0.9])
    >>> [one.min_object_covered for one in made.aug_list]
    [0.1, 0.5, 0.9]
    """
    given = [min_object_covered, aspect_ratio_range, area_range, min_eject_coverage, max_attempts]
    lists = [value if isinstance(value, list) else [value] for value in given]
    count = max(map(len, lists))
    if any(len(values) not in (1, count) for values in lists):
        raise ArgumentError(f"CreateMultiRandCropAugmenter: lists of one length expected, got {[*map(len, lists)]}")
    columns = [values * count if len(values) == 1 else values for values in lists]
    return DetRandomSelectAug([DetRandomCropAug(*row) for row in zip(*columns, strict=True)], skip_prob)


def CreateDetAugmenter(
    data_shape: Sequence[int],
    resize: int = 0,
    rand_crop: float = 0,
    rand_pad: float = 0,
    rand_gray: float = 0,
    rand_mirror: bool = False,
    mean: ArrayLike | bool | None = None,
    std: ArrayLike | bool | None = None,
    brightness: float = 0,
    contrast: float = 0,
    saturation: float = 0,
    pca_noise: float = 0,
    hue: float = 0,
    inter_method: int = 2,
    min_object_covered: Any = 0.1,
    aspect_ratio_range: Any = (0.75, 1.33),
    area_range: Any = (0.05, 3.0),
    min_eject_coverage: Any = 0.3,
    max_attempts: Any = 50,
    pad_val: Any = (127, 127, 127),
) -> list[DetAugmenter]:
    """Return a list of augmenters for images with boxes.

    Parameters
    ----------
    data_shape : (int, int, int)
        Channels, height and width of what comes out.
    resize : int
        The shorter side that images are resized to first, if it is above 0.
    rand_crop, rand_pad, rand_gray : float
        The probabilities that images are cut (`DetRandomCropAug`), padded (`DetRandomPadAug`) and made gray.
    rand_mirror : bool
        Whether left and right are exchanged at random.
    mean, std : array of 1 or 3 numbers, or True
        What is subtracted, and divided by; True stands for ImageNet's.
    brightness, contrast, saturation, pca_noise, hue : float
        How strongly each is changed.
    inter_method : int
        As `interp` of `imresize`.
    min_object_covered, aspect_ratio_range, area_range, min_eject_coverage, max_attempts, pad_val
        As of `CreateMultiRandCropAugmenter` and `DetRandomPadAug`.

    Returns
    -------
    list of DetAugmenter

    Examples
    --------
    >>> [type(one).__name__ for one in CreateDetAugmenter((3, 24, 24), rand_mirror=True)]
    ['DetHorizontalFlipAug', 'DetBorrowAug', 'DetBorrowAug']
    """
    steps: list[DetAugmenter] = [DetBorrowAug(ResizeAug(resize, inter_method))] if resize > 0 else []
    if rand_crop > 0:
        crops = (min_object_covered, aspect_ratio_range, area_range, min_eject_coverage, max_attempts)
        steps.append(CreateMultiRandCropAugmenter(*crops, skip_prob=1 - rand_crop))
    if rand_mirror:
        steps.append(DetHorizontalFlipAug(0.5))
    if rand_pad > 0:
        pad = DetRandomPadAug(aspect_ratio_range, (1.0, area_range[1]), max_attempts, pad_val)
        steps.append(DetRandomSelectAug([pad], 1 - rand_pad))
    rest: list[Augmenter] = [ForceResizeAug((data_shape[2], data_shape[1]), inter_method), CastAug()]
    rest += colour_steps(brightness, contrast, saturation, hue, pca_noise, rand_gray)
    shift, scale = (
        np.array(known) if given is True else per_channel("CreateDetAugmenter", what, given)
        for what, given, known in (("mean", mean, MEAN), ("std", std, STD))
    )
    if shift is not None or scale is not None:
        rest.append(ColorNormalizeAug(shift, scale))
    return [*steps, *map(DetBorrowAug, rest)]
