"""Transforms of images, as blocks: for a dataset's ``transform`` or ``transform_first``, or by themselves.

Each has two forms with equal numbers. Given an ndarray it runs operators of ``npx.image``: recorded, hybridized, on the
device. Given a NumPy array it computes on the host by `gluonx.data.vision.functional` and gives a NumPy array; that is
what a DataLoader takes, in worker processes too, so that nothing there starts XLA. What is drawn at random on the host
comes from the stream that ``gluonx.random.seed`` begins; each draw is a new one, and those on the device are others.

An image is (height, width, channels) until `ToTensor` puts the channels first. Labels and whatever else a call is given
behind the image are given back as they are.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as onp

from gluonx import np, npx
from gluonx.block.block import Block, HybridBlock
from gluonx.data._host import whole_on_host
from gluonx.data.vision import functional
from gluonx.deferred import invoke
from gluonx.errors import ArgumentError
from gluonx.nn.containers import HybridSequential, Sequential
from gluonx.np.handle import ndarray
from gluonx.ops import get
from gluonx.ops.prng import chance, host_rng, shuffling_rng

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from gluonx.common.arguments import Size
    from gluonx.dtype import DTypeLike


__all__ = [
    "Compose",
    "HybridCompose",
    "Cast",
    "RandomApply",
    "HybridRandomApply",
    "ToTensor",
    "Normalize",
    "Rotate",
    "RandomRotation",
    "RandomResizedCrop",
    "CropResize",
    "RandomCrop",
    "CenterCrop",
    "Resize",
    "RandomFlipLeftRight",
    "RandomFlipTopBottom",
    "RandomBrightness",
    "RandomContrast",
    "RandomSaturation",
    "RandomHue",
    "RandomColorJitter",
    "RandomLighting",
    "RandomGray",
]


image: Any = npx.image  # its functions are made from a table


class HostForm:
    """A block that computes on the host when its first argument is a NumPy array; ``on_host`` says what."""

    def __call__(self, *args: Any) -> Any:
        if args and isinstance(args[0], onp.ndarray):
            return self.on_host(*args)
        return super().__call__(*args)  # type: ignore[misc]

    def on_host(self, *args: Any) -> Any:
        """Compute the result for NumPy arrays, as NumPy arrays."""
        raise NotImplementedError(f"{type(self).__name__} must define on_host")


class _OfImage(HostForm):
    """A transform of an image: subclasses define it for an ndarray and for a NumPy array."""

    def forward(self, x: ndarray, *args: Any) -> Any:
        """Return the transformed image, and the other arguments as they are."""
        out = self._on_device(x)
        return (out, *args) if args else out

    def on_host(self, x: onp.ndarray, *args: Any) -> Any:
        """Return the transformed image, and the other arguments as they are."""
        out = self._on_numpy(x)
        return (out, *args) if args else out

    def _on_device(self, x: ndarray) -> ndarray:
        raise NotImplementedError(f"{type(self).__name__} must define _on_device")

    def _on_numpy(self, x: onp.ndarray) -> onp.ndarray:
        raise NotImplementedError(f"{type(self).__name__} must define _on_numpy")


class _Transform(_OfImage, HybridBlock):
    """A transform that can be hybridized."""


class Compose(HostForm, Sequential):
    """Transforms one after the other.

    Neighbours that are HybridBlocks become one hybridized block, and so one program a shape of images.

    Parameters
    ----------
    transforms : list of Block

    Examples
    --------
    >>> transform = Compose([Resize((4, 2)), ToTensor()])
    >>> transform(np.zeros((6, 6, 3), dtype="uint8")).shape
    (3, 2, 4)
    >>> type(transform(onp.zeros((6, 6, 3), "uint8"))).__name__
    'ndarray'
    """

    def __init__(self, transforms: Sequence[Any] = ()) -> None:
        super().__init__()
        hybrid: list[Any] = []
        for transform in [*transforms, None]:
            if isinstance(transform, HybridBlock):
                hybrid.append(transform)
                continue
            if hybrid:
                self.add(hybrid[0] if len(hybrid) == 1 else HybridCompose(hybrid))
                hybrid = []
            if transform is not None:
                self.add(transform)

    def on_host(self, *args: Any) -> onp.ndarray:
        """Run all transforms, those that know NumPy arrays on the host."""
        return whole_on_host(self, args)


class HybridCompose(HostForm, HybridSequential):
    """HybridBlocks one after the other, hybridized.

    Parameters
    ----------
    transforms : list of HybridBlock

    Raises
    ------
    ValueError
        If one is no HybridBlock.

    Examples
    --------
    >>> from gluonx import np
    >>> from gluonx.data.vision import transforms
    >>> both = transforms.HybridCompose([transforms.CenterCrop(4), transforms.ToTensor()])
    >>> both(np.ones((8, 6, 3), dtype="uint8")).shape
    (3, 4, 4)
    """

    def __init__(self, transforms: Sequence[Any] = ()) -> None:
        super().__init__()
        for transform in transforms:
            if not isinstance(transform, HybridBlock):
                raise ValueError(f"{transform} is not a HybridBlock, try use `Compose` instead")
            self.add(transform)
        self.hybridize()

    def on_host(self, *args: Any) -> onp.ndarray:
        """Run all transforms, those that know NumPy arrays on the host."""
        return whole_on_host(self, args)


class Cast(HostForm, HybridBlock):
    """Arrays in another element type.

    Parameters
    ----------
    dtype : str or dtype

    Examples
    --------
    >>> Cast("float16")(np.zeros((2, 2, 3))).dtype
    dtype('float16')
    """

    def __init__(self, dtype: DTypeLike = "float32") -> None:
        super().__init__()
        self._dtype = dtype

    def forward(self, *args: Any) -> Any:
        """All arguments in the element type."""
        out = tuple(x.astype(self._dtype) for x in args)
        return out[0] if len(out) == 1 else out

    def on_host(self, *args: Any) -> Any:
        """All arguments in the element type."""
        out = tuple(onp.asarray(x).astype(onp.dtype(self._dtype), copy=False) for x in args)
        return out[0] if len(out) == 1 else out


class RandomApply(_OfImage, Sequential):
    """A transform that is applied with a probability.

    Parameters
    ----------
    transforms : Block
    p : float

    Examples
    --------
    >>> from gluonx import np
    >>> from gluonx.data.vision import transforms
    >>> transforms.RandomApply(transforms.CenterCrop(4), p=1.0)(np.ones((8, 6, 3), dtype="uint8")).shape
    (4, 4, 3)
    """

    def __init__(self, transforms: Block, p: float = 0.5) -> None:
        super().__init__()
        self.transforms = transforms
        self.p = _probability("RandomApply", p)

    def _on_device(self, x: ndarray) -> ndarray:
        return x if self.p < chance() else self.transforms(x)

    def _on_numpy(self, x: onp.ndarray) -> onp.ndarray:
        return x if self.p < chance() else whole_on_host([self.transforms], [x])


class HybridRandomApply(_OfImage, HybridSequential):
    """A transform that is applied with a probability, drawn within the program.

    Both branches must give the same shape and element type.

    Parameters
    ----------
    transforms : HybridBlock
    p : float

    Raises
    ------
    TypeError
        If `transforms` is no HybridBlock.

    Examples
    --------
    >>> from gluonx import np
    >>> from gluonx.data.vision import transforms
    >>> transforms.HybridRandomApply(transforms.Cast("float32"), p=1.0)(np.ones((8, 6, 3))).shape
    (8, 6, 3)
    """

    def __init__(self, transforms: HybridBlock, p: float = 0.5) -> None:
        super().__init__()
        if not isinstance(transforms, HybridBlock):
            raise TypeError(f"HybridRandomApply takes a HybridBlock, got {type(transforms).__name__}; see RandomApply")
        self.transforms = transforms
        self.p = _probability("HybridRandomApply", p)

    def _on_device(self, x: ndarray) -> ndarray:
        return np.where(np.random.uniform(0, 1, (1,)) < self.p, self.transforms(x), x)

    def _on_numpy(self, x: onp.ndarray) -> onp.ndarray:
        return x if self.p < host_rng().random() else whole_on_host([self.transforms], [x])


class ToTensor(_Transform):
    """An image, or a batch, with values from 0 to 255 as a float32 tensor from 0 to 1 with channels first.

    Examples
    --------
    >>> ToTensor()(onp.full((2, 3, 1), 255, "uint8")).tolist()
    [[[1.0, 1.0, 1.0], [1.0, 1.0, 1.0]]]
    """

    def _on_device(self, x: ndarray) -> ndarray:
        return image.to_tensor(x)

    def _on_numpy(self, x: onp.ndarray) -> onp.ndarray:
        return functional.to_tensor(x)


class Normalize(_Transform):
    """``(tensor - mean) / std``, channel by channel; for what `ToTensor` gives.

    Parameters
    ----------
    mean, std : float, or one for each channel

    Examples
    --------
    >>> from gluonx import np
    >>> from gluonx.data.vision import transforms
    >>> transforms.Normalize(0.5, 2.0)(np.ones((3, 1, 1))).ravel().tolist()
    [0.25, 0.25, 0.25]
    """

    def __init__(self, mean: Any = 0.0, std: Any = 1.0) -> None:
        super().__init__()
        self._mean, self._std = mean, std

    def _on_device(self, x: ndarray) -> ndarray:
        return image.normalize(x, self._mean, self._std)

    def _on_numpy(self, x: onp.ndarray) -> onp.ndarray:
        return functional.normalize(x, self._mean, self._std)


class _Rotation(_OfImage, Block):
    """Rotations, of tensors of float32; images of other types are refused."""

    _args: tuple[Any, bool, bool]

    def _on_device(self, x: ndarray) -> ndarray:
        return self._turned(x, rotated)

    def _on_numpy(self, x: onp.ndarray) -> onp.ndarray:
        return self._turned(x, functional.rotate)

    def _turned(self, x: ndarray | onp.ndarray, rotate: Callable[..., Any]) -> Any:
        raise NotImplementedError(f"{type(self).__name__} must define _turned")

    def _need_floats(self, x: ndarray | onp.ndarray) -> None:
        if onp.dtype(x.dtype) != onp.float32:
            raise TypeError(
                f"{type(self).__name__} takes tensors of float32, got {x.dtype}: put it behind ToTensor in the chain"
            )


class Rotate(_Rotation):
    """A tensor rotated by a number of degrees, against the clock's hands.

    Parameters
    ----------
    rotation_degrees : float
    zoom_in, zoom_out : bool
        Enlarge the picture until no corner is empty, or make it smaller until none is cut off.

    Raises
    ------
    TypeError
        If it is given something other than float32.

    Examples
    --------
    >>> from gluonx import np
    >>> from gluonx.data.vision import transforms
    >>> transforms.Rotate(90)(np.ones((3, 8, 6))).shape
    (3, 8, 6)
    """

    def __init__(self, rotation_degrees: float, zoom_in: bool = False, zoom_out: bool = False) -> None:
        super().__init__()
        self._args = (rotation_degrees, zoom_in, zoom_out)

    def _turned(self, x: ndarray | onp.ndarray, rotate: Callable[..., Any]) -> Any:
        self._need_floats(x)
        return rotate(x, *self._args)


class RandomRotation(_Rotation):
    """A tensor rotated by a random angle; in a batch each by its own.

    Parameters
    ----------
    angle_limits : (float, float)
        In degrees.
    zoom_in, zoom_out : bool
        As of `Rotate`.
    rotate_with_proba : float
        The probability that it is rotated at all.

    Raises
    ------
    ValueError
        If the limits are not in order, or the probability is none.

    Examples
    --------
    >>> from gluonx import np
    >>> from gluonx.data.vision import transforms
    >>> transforms.RandomRotation((-10, 10))(np.ones((3, 8, 6))).shape
    (3, 8, 6)
    """

    def __init__(
        self,
        angle_limits: tuple[float, float],
        zoom_in: bool = False,
        zoom_out: bool = False,
        rotate_with_proba: float = 1.0,
    ) -> None:
        super().__init__()
        lower, upper = angle_limits
        if lower >= upper:
            raise ValueError(f"`angle_limits` must be an ordered tuple, got {angle_limits!r}")
        self._args = (angle_limits, zoom_in, zoom_out)
        self._rotate_with_proba = _probability("RandomRotation", rotate_with_proba)

    def _turned(self, x: ndarray | onp.ndarray, rotate: Callable[..., Any]) -> Any:
        rng = shuffling_rng()
        if rng.random() > self._rotate_with_proba:
            return x
        self._need_floats(x)
        limits, zoom_in, zoom_out = self._args
        return rotate(x, rng.uniform(*limits, size=1 if x.ndim == 3 else len(x)), zoom_in, zoom_out)


class RandomResizedCrop(_Transform):
    """A random rectangle of an image, in a given size: the augmentation of Inception nets.

    Parameters
    ----------
    size : int or (int, int)
        Width and height of the result.
    scale : float or (float, float)
        Bounds of the rectangle's part of the image; one number is the lower one, below 1.
    ratio : (float, float)
        Bounds of its width divided by its height.
    interpolation : {0, 1, 2, 3, 4}
        Nearest, linear, cubic, area, Lanczos.

    Examples
    --------
    >>> from gluonx import np
    >>> from gluonx.data.vision import transforms
    >>> transforms.RandomResizedCrop(4)(np.ones((8, 6, 3), dtype="uint8")).shape
    (4, 4, 3)
    """

    def __init__(
        self, size: Size, scale: Any = (0.08, 1.0), ratio: Any = (3 / 4, 4 / 3), interpolation: int = 1
    ) -> None:
        super().__init__()
        self._width, self._height = _pair("RandomResizedCrop", size)
        self._area = tuple(scale) if isinstance(scale, (tuple, list)) else (scale, 1.0)
        self._ratio = tuple(ratio)
        if len(self._area) != 2 or len(self._ratio) != 2 or min(self._area) <= 0 or min(self._ratio) <= 0:
            raise ValueError(
                f"RandomResizedCrop: scale and ratio must be two positive numbers each, got {scale!r} and {ratio!r}"
            )
        self._interp = interpolation

    def _on_device(self, x: ndarray) -> ndarray:
        return image.random_resized_crop(
            x,
            width=self._width,
            height=self._height,
            area=self._area,
            ratio=self._ratio,
            interp=self._interp,
            max_trial=10,
        )

    def _on_numpy(self, x: onp.ndarray) -> onp.ndarray:
        functional.need_image("RandomResizedCrop", x, batches=True)
        height, width = x.shape[-3:-1]
        form = self._width / self._height
        window = functional.resized_crop_window(host_rng(), height, width, self._area, self._ratio, form)
        return functional.resize(functional.crop(x, *window), self._width, self._height, self._interp)


class CropResize(_Transform):
    """The rectangle of an image, or of each of a batch, at a given place; in another size if one is given.

    Parameters
    ----------
    x, y : int
        The upper left corner.
    width, height : int
    size : int or (int, int), optional
        Width and height of the result.
    interpolation : {0, 1, 2, 3, 4}, optional
        As of `RandomResizedCrop`.

    Examples
    --------
    >>> from gluonx import np
    >>> from gluonx.data.vision import transforms
    >>> transforms.CropResize(0, 0, 4, 4)(np.ones((8, 6, 3), dtype="uint8")).shape
    (4, 4, 3)
    """

    def __init__(
        self, x: int, y: int, width: int, height: int, size: Any = None, interpolation: int | None = None
    ) -> None:
        super().__init__()
        self._x, self._y, self._width, self._height = x, y, width, height
        self._size = size
        self._interpolation = 1 if interpolation is None else interpolation

    def _on_device(self, x: ndarray) -> ndarray:
        out = image.crop(x, self._x, self._y, self._width, self._height)
        return image.resize(out, self._size, False, self._interpolation) if self._size else out

    def _on_numpy(self, x: onp.ndarray) -> onp.ndarray:
        out = functional.crop(x, self._x, self._y, self._width, self._height)
        if not self._size:
            return out
        return functional.resize(out, *_pair("CropResize", self._size), self._interpolation)


class _Crop(_Transform):
    """A rectangle between bounds of the place; a smaller image is enlarged, after the cut."""

    def __init__(self, size: Size, bounds: tuple[float, float], interpolation: int) -> None:
        super().__init__()
        self._width, self._height = _pair(type(self).__name__, size)
        self._bounds = bounds
        self._interp = interpolation

    def _on_device(self, x: ndarray) -> ndarray:
        return image.random_crop(x, self._bounds, self._bounds, self._width, self._height, self._interp)

    def _on_numpy(self, x: onp.ndarray) -> onp.ndarray:
        functional.need_image(type(self).__name__, x, batches=True)
        rows, columns = functional.crop_size(x.shape[-3], x.shape[-2], self._height, self._width)
        top, left = self._place(x.shape[-3] - rows), self._place(x.shape[-2] - columns)
        part = functional.crop(x, left, top, columns, rows)
        return functional.resize(part, self._width, self._height, self._interp)

    def _place(self, room: int) -> int:
        low, high = self._bounds
        return int((low if low == high else host_rng().uniform(low, high)) * room)


class RandomCrop(_Crop):
    """A rectangle of an image, or of a batch, at a random place.

    Parameters
    ----------
    size : int or (int, int)
        Width and height.
    pad : int or (int, int, int, int), optional
        Borders that are added first: above, below, left, right.
    pad_value : int
        Their colour.
    interpolation : {0, 1, 2, 3, 4}
        How an image that is smaller is enlarged; as of `RandomResizedCrop`.

    Examples
    --------
    >>> RandomCrop(8, pad=2)(onp.zeros((8, 8, 3), "uint8")).shape
    (8, 8, 3)
    """

    def __init__(self, size: Size, pad: Any = None, pad_value: float = 0, interpolation: int = 1) -> None:
        super().__init__(size, (0.0, 1.0), interpolation)
        if pad is not None and not isinstance(pad, int) and len(pad) < 4:
            raise ValueError(f"RandomCrop: pad must be one number, or four (above, below, left, right), got {pad!r}")
        self._pad = (pad,) * 4 if isinstance(pad, int) else None if pad is None else tuple(pad[:4])
        self._pad_value = pad_value

    def _on_device(self, x: ndarray) -> ndarray:
        if self._pad:
            above, below, left, right = self._pad
            around = [(0, 0)] * (x.ndim - 3)
            borders = (*around, (above, below), (left, right), (0, 0))
            x = np.pad(x, pad_width=borders, mode="constant", constant_values=self._pad_value)
        return super()._on_device(x)

    def _on_numpy(self, x: onp.ndarray) -> onp.ndarray:
        if self._pad and x.ndim == 3:
            x = functional.pad(x, *self._pad, value=self._pad_value)
        elif self._pad:
            x = onp.stack([functional.pad(one, *self._pad, value=self._pad_value) for one in x])
        return super()._on_numpy(x)


class CenterCrop(_Crop):
    """The rectangle in the middle of an image, or of each of a batch.

    Parameters
    ----------
    size : int or (int, int)
        Width and height.
    interpolation : {0, 1, 2, 3, 4}
        How an image that is smaller is enlarged.

    Examples
    --------
    >>> from gluonx import np
    >>> from gluonx.data.vision import transforms
    >>> transforms.CenterCrop(4)(np.ones((8, 6, 3), dtype="uint8")).shape
    (4, 4, 3)
    """

    def __init__(self, size: Size, interpolation: int = 1) -> None:
        super().__init__(size, (0.5, 0.5), interpolation)


class Resize(_Transform):
    """An image, or a batch, in another size.

    Parameters
    ----------
    size : int or (int, int)
        Width and height; one number is both, or with `keep_ratio` the shorter side.
    keep_ratio : bool
    interpolation : {0, 1, 2, 3, 4}
        Nearest, linear, cubic, area, Lanczos.

    Examples
    --------
    >>> Resize(4, keep_ratio=True)(onp.zeros((8, 12, 3), "uint8")).shape
    (4, 6, 3)
    """

    def __init__(self, size: Any, keep_ratio: bool = False, interpolation: int = 1) -> None:
        super().__init__()
        self._keep, self._size, self._interpolation = keep_ratio, size, interpolation

    def _on_device(self, x: ndarray) -> ndarray:
        return image.resize(x, self._size, self._keep, self._interpolation)

    def _on_numpy(self, x: onp.ndarray) -> onp.ndarray:
        functional.need_image("Resize", x, batches=True)
        width, height = functional.scaled_size(self._size, self._keep, *x.shape[-3:-1])
        return functional.resize(x, width, height, self._interpolation)


class _Flip(_Transform):
    def __init__(self, p: float = 0.5) -> None:
        super().__init__()
        self.p = p

    _name: str
    _axis: int

    def _on_device(self, x: ndarray) -> ndarray:
        if self.p <= 0:
            return x
        if self.p >= 1:
            return getattr(image, f"flip_{self._name}")(x)
        return getattr(image, f"random_flip_{self._name}")(x, p=self.p)

    def _on_numpy(self, x: onp.ndarray) -> onp.ndarray:
        return functional.flip(x, self._axis) if host_rng().random() < self.p else x


class RandomFlipLeftRight(_Flip):
    """An image with left and right exchanged, with a probability.

    Parameters
    ----------
    p : float

    Examples
    --------
    >>> from gluonx import np
    >>> from gluonx.data.vision import transforms
    >>> transforms.RandomFlipLeftRight()(np.ones((8, 6, 3), dtype="uint8")).shape
    (8, 6, 3)
    """

    _name, _axis = "left_right", 1


class RandomFlipTopBottom(_Flip):
    """An image with top and bottom exchanged, with a probability.

    Parameters
    ----------
    p : float

    Examples
    --------
    >>> from gluonx import np
    >>> from gluonx.data.vision import transforms
    >>> transforms.RandomFlipTopBottom()(np.ones((8, 6, 3), dtype="uint8")).shape
    (8, 6, 3)
    """

    _name, _axis = "top_bottom", 0


class _RandomFactor(_Transform):
    _name: str

    def __init__(self, bound: float) -> None:
        super().__init__()
        self._args = (max(0, 1 - bound), 1 + bound)

    def _on_device(self, x: ndarray) -> ndarray:
        return getattr(image, f"random_{self._name}")(x, *self._args)

    def _on_numpy(self, x: onp.ndarray) -> onp.ndarray:
        return functional.adjust(self._name, x, onp.float32(host_rng().uniform(*self._args)))


class RandomBrightness(_RandomFactor):
    """An image times a random factor.

    Parameters
    ----------
    brightness : float
        How far the factor may lie from 1; it is never negative.

    Examples
    --------
    >>> from gluonx import np
    >>> from gluonx.data.vision import transforms
    >>> transforms.RandomBrightness(0.1)(np.ones((8, 6, 3), dtype="uint8")).shape
    (8, 6, 3)
    """

    _name = "brightness"

    def __init__(self, brightness: float) -> None:
        super().__init__(brightness)


class RandomContrast(_RandomFactor):
    """An image mixed with its mean brightness.

    Parameters
    ----------
    contrast : float
        How far the image's own share may lie from 1; it is never negative.

    Examples
    --------
    >>> from gluonx import np
    >>> from gluonx.data.vision import transforms
    >>> transforms.RandomContrast(0.1)(np.ones((8, 6, 3), dtype="uint8")).shape
    (8, 6, 3)
    """

    _name = "contrast"

    def __init__(self, contrast: float) -> None:
        super().__init__(contrast)


class RandomSaturation(_RandomFactor):
    """An image mixed with its gray copy.

    Parameters
    ----------
    saturation : float
        How far the image's own share may lie from 1; it is never negative.

    Examples
    --------
    >>> from gluonx import np
    >>> from gluonx.data.vision import transforms
    >>> transforms.RandomSaturation(0.1)(np.ones((8, 6, 3), dtype="uint8")).shape
    (8, 6, 3)
    """

    _name = "saturation"

    def __init__(self, saturation: float) -> None:
        super().__init__(saturation)


class RandomHue(_RandomFactor):
    """An image with its colours turned by a random part of the circle.

    Parameters
    ----------
    hue : float
        The bound of that part.

    Examples
    --------
    >>> from gluonx import np
    >>> from gluonx.data.vision import transforms
    >>> transforms.RandomHue(0.1)(np.ones((8, 6, 3), dtype="uint8")).shape
    (8, 6, 3)
    """

    _name = "hue"

    def __init__(self, hue: float) -> None:
        super().__init__(hue)


class RandomColorJitter(_Transform):
    """An image with random brightness, contrast, saturation and hue, one after the other in a random order.

    Parameters
    ----------
    brightness, contrast, saturation : float
        How far the factor may lie from 1.
    hue : float
        How far the colours may be turned, as a part of the circle.

    Raises
    ------
    ValueError
        If one is negative.

    Examples
    --------
    >>> from gluonx import np
    >>> from gluonx.data.vision import transforms
    >>> transforms.RandomColorJitter(0.1, 0.1, 0.1)(np.ones((8, 6, 3), dtype="uint8")).shape
    (8, 6, 3)
    """

    def __init__(self, brightness: float = 0, contrast: float = 0, saturation: float = 0, hue: float = 0) -> None:
        super().__init__()
        self._bounds = {"brightness": brightness, "contrast": contrast, "saturation": saturation, "hue": hue}
        for name, bound in self._bounds.items():
            if bound < 0:
                raise ValueError(f"RandomColorJitter: {name} must not be negative, got {bound}")

    def _on_device(self, x: ndarray) -> ndarray:
        return image.random_color_jitter(x, **self._bounds)

    def _on_numpy(self, x: onp.ndarray) -> onp.ndarray:
        rng = host_rng()
        steps = [(name, bound) for name, bound in self._bounds.items() if bound > 0]
        for place in rng.permutation(len(steps)):
            name, bound = steps[place]
            middle = 0 if name == "hue" else 1
            x = functional.adjust(name, x, onp.float32(rng.uniform(middle - bound, middle + bound)))
        return x


class RandomLighting(_Transform):
    """An image with its light changed at random along the principal components of ImageNet's colours.

    Parameters
    ----------
    alpha : float
        The standard deviation of the change.

    Examples
    --------
    >>> from gluonx import np
    >>> from gluonx.data.vision import transforms
    >>> transforms.RandomLighting(0.1)(np.ones((8, 6, 3), dtype="uint8")).shape
    (8, 6, 3)
    """

    def __init__(self, alpha: float) -> None:
        super().__init__()
        self._alpha = alpha

    def _on_device(self, x: ndarray) -> ndarray:
        return image.random_lighting(x, self._alpha)

    def _on_numpy(self, x: onp.ndarray) -> onp.ndarray:
        return functional.adjust_lighting(x, host_rng().normal(0, self._alpha, 3).astype(onp.float32))


class RandomGray(_Transform):
    """A float32 image that is gray, in three equal channels, with a probability.

    Parameters
    ----------
    p : float

    Examples
    --------
    >>> from gluonx import np
    >>> from gluonx.data.vision import transforms
    >>> transforms.RandomGray(0.5)(np.ones((8, 6, 3), dtype="uint8")).shape
    (8, 6, 3)
    """

    # Each row is one channel's share in all three; MXNet has the shares along the other axis, where they mix nothing.
    _weights = onp.array([[0.2989] * 3, [0.587] * 3, [0.114] * 3], onp.float32)

    def __init__(self, p: float = 0.5) -> None:
        super().__init__()
        self.p = _probability("RandomGray", p)

    def _on_device(self, x: ndarray) -> ndarray:
        x = x.astype("float32")
        return np.where(np.random.uniform(0, 1, (1,)) < self.p, np.dot(x, np.array(self._weights)), x)

    def _on_numpy(self, x: onp.ndarray) -> onp.ndarray:
        x = x.astype(onp.float32)
        return functional.mix_channels(x, self._weights) if host_rng().random() < self.p else x


def rotated(x: ndarray, degrees: ArrayLike, zoom_in: bool = False, zoom_out: bool = False) -> ndarray:
    """Return an ndarray rotated by an operator, through which gradients flow; see `functional.rotate`."""
    angles = functional.angles_of(x, degrees.asnumpy() if isinstance(degrees, ndarray) else degrees)
    height, width = x.shape[-2:]
    grid = np.array(functional.rotation_grid(angles, height, width, zoom_in, zoom_out))
    sampler = get("bilinear_sampler").bind()
    return invoke(sampler, (np.expand_dims(x, 0), grid))[0] if x.ndim == 3 else invoke(sampler, (x, grid))


def _pair(name: str, size: Size) -> tuple[int, int]:
    """Width and height of a size that is one number or two."""
    pair = (size, size) if isinstance(size, (int, onp.integer)) else tuple(size)
    if len(pair) != 2 or any(int(n) != n or n < 1 for n in pair):
        raise ArgumentError(f"{name}: size must be one positive number, or (width, height), got {size!r}")
    return int(pair[0]), int(pair[1])


def _probability(name: str, p: float) -> float:
    if not 0 <= p <= 1:
        raise ValueError(f"{name}: a probability between 0 and 1 was expected, got {p!r}")
    return p


def __dir__() -> list[str]:
    return sorted(__all__)
