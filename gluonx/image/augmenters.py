"""Augmenters: objects that change an image, for `ImageIter` or by themselves.

Each defines ``_changed(image)`` on NumPy arrays; called with an ndarray it gives an ndarray. One that a user derives
defines ``__call__`` and is given ndarrays, as in MXNet. Colours are changed in float32. What is drawn is drawn by
Python's ``random`` (the light by ``numpy.random``) in MXNet's order, so one seed gives what MXNet gives.
"""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from gluonx.data.vision import functional
from gluonx.errors import ArgumentError
from gluonx.image.functions import (
    area_bounds,
    center_crop,
    color_normalize,
    imresize,
    random_crop,
    random_size_crop,
    resize_short,
    to_device,
    to_host,
)
from gluonx.np.handle import ndarray
from gluonx.ops.colour import EIGENVALUES, EIGENVECTORS

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import ArrayLike

    from gluonx.dtype import DTypeLike


__all__ = [
    "Augmenter",
    "BrightnessJitterAug",
    "CastAug",
    "CenterCropAug",
    "ColorJitterAug",
    "ColorNormalizeAug",
    "ContrastJitterAug",
    "CreateAugmenter",
    "ForceResizeAug",
    "HorizontalFlipAug",
    "HueJitterAug",
    "LightingAug",
    "RandomCropAug",
    "RandomGrayAug",
    "RandomOrderAug",
    "RandomSizedCropAug",
    "ResizeAug",
    "SaturationJitterAug",
    "SequentialAug",
]

_GRAY = np.array([0.299, 0.587, 0.114], np.float32)
_TO_YIQ = np.array([[0.299, 0.587, 0.114], [0.596, -0.274, -0.321], [0.211, -0.523, 0.311]])
_FROM_YIQ = np.array([[1.0, 0.956, 0.621], [1.0, -0.272, -0.647], [1.0, -1.107, 1.705]])
MEAN = (123.68, 116.28, 103.53)
STD = (58.395, 57.12, 57.375)


class Described:
    """An object that can tell the settings it was made with.

    Parameters
    ----------
    **kwargs
        The settings that `dumps` tells.
    """

    def __init__(self, **kwargs: object) -> None:
        arrays = {name: to_host(value) for name, value in kwargs.items()}
        self._kwargs = {
            name: value.tolist() if isinstance(value, np.ndarray) else value for name, value in arrays.items()
        }

    def dumps(self) -> str:
        """Return the name and the settings as JSON."""
        return json.dumps([type(self).__name__.lower(), self._kwargs])


class Augmenter(Described):
    """Base of all augmenters; keywords are the settings that `dumps` tells.

    Examples
    --------
    >>> from gluonx import image, np
    >>> class Inverted(image.Augmenter):
    ...     def __call__(self, src):
    ...         return 255 - src
    >>> Inverted()(np.full((2, 2, 3), 5, dtype="uint8"))[0, 0].tolist()
    [250, 250, 250]
    """

    def __call__(self, src: ndarray | np.ndarray) -> Any:
        """Return the changed image, of the kind of array that it was."""
        out = self._changed(to_host(src))
        return to_device(out.copy()) if isinstance(src, ndarray) else out

    def _changed(self, image: np.ndarray) -> np.ndarray:
        """Change an image, from and to NumPy arrays."""
        raise NotImplementedError(f"{type(self).__name__} must define __call__, which augments an image")


def augmented(augmenter: Callable[..., Any], image: ndarray | np.ndarray) -> Any:
    """Return what an augmenter makes of an image, on the host unless it is a user's, which is given an ndarray."""
    if isinstance(augmenter, Augmenter) and type(augmenter).__call__ is Augmenter.__call__:
        return augmenter._changed(to_host(image))
    return augmenter(to_device(image.copy()) if isinstance(image, np.ndarray) else image)


class SequentialAug(Augmenter):
    """Augmenters one after the other.

    Parameters
    ----------
    ts : list of Augmenter

    Examples
    --------
    >>> from gluonx import image, np
    >>> both = image.SequentialAug([image.ResizeAug(4), image.CenterCropAug((3, 3))])
    >>> both(np.ones((8, 6, 3), dtype="uint8")).shape
    (3, 3, 3)
    """

    def __init__(self, ts: list[Any]) -> None:
        super().__init__()
        self.ts = ts

    def dumps(self) -> list[Any]:
        """Return the name and what the parts tell."""
        return [type(self).__name__.lower(), [one.dumps() for one in self.ts]]

    def _changed(self, image: np.ndarray) -> np.ndarray:
        for one in self.ts:
            image = augmented(one, image)
        return to_host(image)


class RandomOrderAug(SequentialAug):
    """Augmenters one after the other, in a random order.

    Parameters
    ----------
    ts : list of Augmenter

    Examples
    --------
    >>> from gluonx import image, np
    >>> both = image.RandomOrderAug([image.BrightnessJitterAug(0.1), image.ContrastJitterAug(0.1)])
    >>> both(np.ones((8, 6, 3))).shape
    (8, 6, 3)
    """

    def _changed(self, image: np.ndarray) -> np.ndarray:
        random.shuffle(self.ts)
        return super()._changed(image)


class ResizeAug(Augmenter):
    """Resize so that the shorter side is `size`.

    Parameters
    ----------
    size : int
    interp : int
        As of `imresize`.

    Examples
    --------
    >>> from gluonx import image, np
    >>> image.ResizeAug(4)(np.ones((8, 6, 3), dtype="uint8")).shape
    (5, 4, 3)
    """

    def __init__(self, size: int, interp: int = 2) -> None:
        super().__init__(size=size, interp=interp)
        self.size, self.interp = size, interp

    def _changed(self, image: np.ndarray) -> np.ndarray:
        return resize_short(image, self.size, self.interp)


class _ToSize(Augmenter):
    """An augmenter with a size (width, height) and an interpolation."""

    def __init__(self, size: tuple[int, int], interp: int = 2) -> None:
        super().__init__(size=size, interp=interp)
        self.size, self.interp = size, interp


class ForceResizeAug(_ToSize):
    """Resize to `size` (width, height), whatever the form was; `interp` as of `imresize`.

    Examples
    --------
    >>> from gluonx import image, np
    >>> image.ForceResizeAug((4, 5))(np.ones((8, 6, 3), dtype="uint8")).shape
    (5, 4, 3)
    """

    def _changed(self, image: np.ndarray) -> np.ndarray:
        return imresize(image, *self.size, self.interp)


class RandomCropAug(_ToSize):
    """Cut a rectangle of `size` (width, height) at a random place; see `random_crop`.

    Examples
    --------
    >>> from gluonx import image, np
    >>> image.RandomCropAug((4, 4))(np.ones((8, 6, 3), dtype="uint8")).shape
    (4, 4, 3)
    """

    def _changed(self, image: np.ndarray) -> np.ndarray:
        return random_crop(image, self.size, self.interp)[0]


class CenterCropAug(_ToSize):
    """Cut the rectangle of `size` (width, height) in the middle; see `center_crop`.

    Examples
    --------
    >>> from gluonx import image, np
    >>> image.CenterCropAug((4, 4))(np.ones((8, 6, 3))).shape
    (4, 4, 3)
    """

    def _changed(self, image: np.ndarray) -> np.ndarray:
        return center_crop(image, self.size, self.interp)[0]


class RandomSizedCropAug(Augmenter):
    """Cut a random rectangle and resize it to `size` (width, height); see `random_size_crop`.

    Examples
    --------
    >>> from gluonx import image, np
    >>> image.RandomSizedCropAug((4, 5), area=0.5, ratio=(0.8, 1.25))(np.ones((8, 6, 3), dtype="uint8")).shape
    (5, 4, 3)
    """

    def __init__(
        self,
        size: tuple[int, int],
        area: float | Sequence[float],
        ratio: Sequence[float],
        interp: int = 2,
        **kwargs: Any,
    ) -> None:
        super().__init__(size=size, area=area, ratio=ratio, interp=interp)
        self.size, self.interp = size, interp
        self.area, self.ratio = area_bounds("RandomSizedCropAug", area, kwargs), ratio

    def _changed(self, image: np.ndarray) -> np.ndarray:
        return random_size_crop(image, self.size, self.area, self.ratio, self.interp)[0]


class HorizontalFlipAug(Augmenter):
    """Exchange left and right with probability `p`.

    Examples
    --------
    >>> from gluonx import image, np
    >>> image.HorizontalFlipAug(1.0)(np.ones((8, 6, 3))).shape
    (8, 6, 3)
    """

    def __init__(self, p: float) -> None:
        super().__init__(p=p)
        self.p = p

    def _changed(self, image: np.ndarray) -> np.ndarray:
        return functional.flip(image, 1) if random.random() < self.p else image


class CastAug(Augmenter):
    """Change the element type to `typ`.

    Examples
    --------
    >>> from gluonx import image, np
    >>> image.CastAug("float16")(np.ones((8, 6, 3))).dtype
    dtype('float16')
    """

    def __init__(self, typ: DTypeLike = "float32") -> None:
        super().__init__(type=typ)
        self.typ = typ

    def _changed(self, image: np.ndarray) -> np.ndarray:
        return image.astype(self.typ, copy=False)


class BrightnessJitterAug(Augmenter):
    """Multiply by a random factor that lies up to `brightness` from 1.

    Examples
    --------
    >>> from gluonx import image, np
    >>> image.BrightnessJitterAug(0.1)(np.ones((8, 6, 3))).shape
    (8, 6, 3)
    """

    def __init__(self, brightness: float) -> None:
        super().__init__(brightness=brightness)
        self.brightness = brightness

    def _changed(self, image: np.ndarray) -> np.ndarray:
        return _wide(image) * _share(self.brightness)


class ContrastJitterAug(Augmenter):
    """Mix with the mean brightness; the image's own share lies up to `contrast` from 1.

    Examples
    --------
    >>> from gluonx import image, np
    >>> image.ContrastJitterAug(0.1)(np.ones((8, 6, 3))).shape
    (8, 6, 3)
    """

    def __init__(self, contrast: float) -> None:
        super().__init__(contrast=contrast)
        self.contrast = contrast

    def _changed(self, image: np.ndarray) -> np.ndarray:
        share, image = _share(self.contrast), _wide(image)
        return image * share + np.mean(image @ _GRAY) * (1 - share)


class SaturationJitterAug(Augmenter):
    """Mix with the gray copy; the image's own share lies up to `saturation` from 1.

    Examples
    --------
    >>> from gluonx import image, np
    >>> image.SaturationJitterAug(0.1)(np.ones((8, 6, 3))).shape
    (8, 6, 3)
    """

    def __init__(self, saturation: float) -> None:
        super().__init__(saturation=saturation)
        self.saturation = saturation

    def _changed(self, image: np.ndarray) -> np.ndarray:
        share, image = _share(self.saturation), _wide(image)
        return image * share + (image @ _GRAY)[..., None] * (1 - share)


class HueJitterAug(Augmenter):
    """Turn the colours, in YIQ, by up to `hue` of half the circle.

    Examples
    --------
    >>> from gluonx import image, np
    >>> image.HueJitterAug(0.1)(np.ones((8, 6, 3))).shape
    (8, 6, 3)
    """

    def __init__(self, hue: float) -> None:
        super().__init__(hue=hue)
        self.hue = hue

    def _changed(self, image: np.ndarray) -> np.ndarray:
        angle = random.uniform(-self.hue, self.hue) * np.pi
        cosine, sine = np.cos(angle), np.sin(angle)
        turn = np.array([[1.0, 0.0, 0.0], [0.0, cosine, -sine], [0.0, sine, cosine]])
        return functional.mix_channels(image, (_FROM_YIQ @ turn @ _TO_YIQ).T)


class ColorJitterAug(RandomOrderAug):
    """Change brightness, contrast and saturation at random, in a random order; 0 leaves one as it is.

    Examples
    --------
    >>> from gluonx import image, np
    >>> image.ColorJitterAug(brightness=0.1, contrast=0.1, saturation=0)(np.ones((8, 6, 3))).shape
    (8, 6, 3)
    """

    def __init__(self, brightness: float, contrast: float, saturation: float) -> None:
        table = ((BrightnessJitterAug, brightness), (ContrastJitterAug, contrast), (SaturationJitterAug, saturation))
        super().__init__([kind(bound) for kind, bound in table if bound > 0])


class LightingAug(Augmenter):
    """Add random amounts of the principal components of colours.

    Parameters
    ----------
    alphastd : float
        The standard deviation of the amounts.
    eigval, eigvec : array, shapes (3,) and (3, 3)

    Examples
    --------
    >>> from gluonx import image, np
    >>> lighting = image.LightingAug(0.1, eigval=[0.2, 0.1, 0.05], eigvec=np.eye(3))
    >>> lighting(np.ones((8, 6, 3))).shape
    (8, 6, 3)
    """

    def __init__(self, alphastd: float, eigval: ArrayLike, eigvec: ArrayLike) -> None:
        super().__init__(alphastd=alphastd, eigval=eigval, eigvec=eigvec)
        self.alphastd, self.eigval, self.eigvec = alphastd, to_host(eigval), to_host(eigvec)

    def _changed(self, image: np.ndarray) -> np.ndarray:
        amounts = np.random.normal(0, self.alphastd, size=(3,))
        return _wide(image) + np.dot(self.eigvec * amounts, self.eigval).astype(np.float32)


class ColorNormalizeAug(Augmenter):
    """Subtract `mean` and divide by `std`, either of which may be None; see `color_normalize`.

    Examples
    --------
    >>> from gluonx import image, np
    >>> image.ColorNormalizeAug(np.zeros(3), np.ones(3))(np.ones((8, 6, 3))).shape
    (8, 6, 3)
    """

    def __init__(self, mean: ArrayLike | None, std: ArrayLike | None) -> None:
        super().__init__(mean=mean, std=std)
        self.mean, self.std = to_host(mean), to_host(std)

    def _changed(self, image: np.ndarray) -> np.ndarray:
        return color_normalize(image, self.mean, self.std)


class RandomGrayAug(Augmenter):
    """Make the image gray, in three equal channels, with probability `p`.

    Examples
    --------
    >>> from gluonx import image, np
    >>> image.RandomGrayAug(0.5)(np.ones((8, 6, 3))).shape
    (8, 6, 3)
    """

    _weights = np.array([[0.21] * 3, [0.72] * 3, [0.07] * 3], np.float32)

    def __init__(self, p: float) -> None:
        super().__init__(p=p)
        self.p = p

    def _changed(self, image: np.ndarray) -> np.ndarray:
        return functional.mix_channels(image, self._weights) if random.random() < self.p else image


def _share(bound: float) -> np.float32:
    return np.float32(1 + random.uniform(-bound, bound))


def _wide(image: np.ndarray) -> np.ndarray:
    return image if np.issubdtype(image.dtype, np.floating) else image.astype(np.float32)


def CreateAugmenter(
    data_shape: Sequence[int],
    resize: int = 0,
    rand_crop: bool = False,
    rand_resize: bool = False,
    rand_mirror: bool = False,
    mean: ArrayLike | bool | None = None,
    std: ArrayLike | bool | None = None,
    brightness: float = 0,
    contrast: float = 0,
    saturation: float = 0,
    hue: float = 0,
    pca_noise: float = 0,
    rand_gray: float = 0,
    inter_method: int = 2,
) -> list[Any]:
    """Return a list of augmenters for classification.

    Parameters
    ----------
    data_shape : (int, int, int)
        Channels, height and width of what comes out.
    resize : int
        The shorter side that images are resized to first, if it is above 0.
    rand_crop, rand_resize : bool
        Whether the rectangle is at a random place, and of a random size (which needs `rand_crop`).
    rand_mirror : bool
        Whether left and right are exchanged at random.
    mean, std : array of 1 or 3 numbers, or True
        What is subtracted, and divided by; True stands for ImageNet's.
    brightness, contrast, saturation, hue, pca_noise : float
        How strongly each is changed.
    rand_gray : float
        The probability that an image becomes gray.
    inter_method : int
        As `interp` of `imresize`.

    Returns
    -------
    list of Augmenter

    Raises
    ------
    ArgumentError
        If `rand_resize` is set without `rand_crop`, or `mean` or `std` is no such array.

    Examples
    --------
    >>> [type(one).__name__ for one in CreateAugmenter((3, 24, 24), resize=30, rand_mirror=True)]
    ['ResizeAug', 'CenterCropAug', 'HorizontalFlipAug', 'CastAug']
    """
    size = (data_shape[2], data_shape[1])
    steps: list[Any] = [ResizeAug(resize, inter_method)] if resize > 0 else []
    if rand_resize:
        if not rand_crop:
            raise ArgumentError("CreateAugmenter: rand_resize needs rand_crop")
        steps.append(RandomSizedCropAug(size, 0.08, (3 / 4, 4 / 3), inter_method))
    else:
        steps.append((RandomCropAug if rand_crop else CenterCropAug)(size, inter_method))
    if rand_mirror:
        steps.append(HorizontalFlipAug(0.5))
    steps.append(CastAug())
    steps += colour_steps(brightness, contrast, saturation, hue, pca_noise, rand_gray)
    shift, scale = (
        np.array(known, np.float32) if given is True else per_channel("CreateAugmenter", what, given)
        for what, given, known in (("mean", mean, MEAN), ("std", std, STD))
    )
    if shift is not None or scale is not None:
        steps.append(ColorNormalizeAug(shift, scale))
    return steps


def colour_steps(
    brightness: float, contrast: float, saturation: float, hue: float, pca_noise: float, rand_gray: float
) -> list[Augmenter]:
    """Return the augmenters that change colours, of those that are asked for."""
    steps: list[Augmenter] = []
    if brightness or contrast or saturation:
        steps.append(ColorJitterAug(brightness, contrast, saturation))
    if hue:
        steps.append(HueJitterAug(hue))
    if pca_noise > 0:
        steps.append(LightingAug(pca_noise, EIGENVALUES, EIGENVECTORS))
    if rand_gray > 0:
        steps.append(RandomGrayAug(rand_gray))
    return steps


def per_channel(function: str, what: str, value: ArrayLike | bool | None) -> np.ndarray | None:
    """Return `mean` or `std` as an array; an ArgumentError if it is no array of 1 or 3 numbers."""
    if value is None:
        return None
    value = np.asarray(to_host(value))
    if value.shape[:1] not in ((1,), (3,)):
        raise ArgumentError(f"{function}: {what} must be True or an array of 1 or 3 numbers, got {value!r}")
    return value
