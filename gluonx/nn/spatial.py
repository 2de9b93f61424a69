"""Layers that move elements about: padding by reflection, shuffling channels into space, larger images, patches."""

from __future__ import annotations

from gluonx.block.block import HybridBlock
from gluonx.block.tools import unfailing
from gluonx.common.arguments import Size, as_tuple
from gluonx.deferred import invoke
from gluonx.errors import ArgumentError, ShapeError
from gluonx.initializer import InitLike
from gluonx.nn.bound import Bound
from gluonx.nn.conv import Conv2D
from gluonx.np import ndarray
from gluonx.ops import get

__all__ = ["PatchEmbedding", "PixelShuffle1D", "PixelShuffle2D", "PixelShuffle3D", "ReflectionPad2D", "Upsample"]


class ReflectionPad2D(Bound):
    """Pads height and width of an image by its own reflection; the edge itself is not repeated.

    Parameters
    ----------
    padding : int or tuple of 8 int
        For all four sides, or before and after each axis of ``(batch, channel, height, width)``.

    Raises
    ------
    ValueError
        If it is neither.

    Examples
    --------
    >>> from gluonx import np
    >>> ReflectionPad2D(1)(np.ones((1, 3, 4, 5))).shape
    (1, 3, 6, 7)
    """

    _settings = ("_padding",)

    def __init__(self, padding: int | tuple[int, ...] = 0) -> None:
        super().__init__()
        sides = (0, 0, 0, 0) + (padding,) * 4 if isinstance(padding, int) else tuple(padding)
        self._padding = as_tuple(sides, 8, "padding", 0)

    def _bind(self) -> None:
        sides = self._padding
        self.__dict__["_op"] = get("pad").bind(pad_width=tuple(zip(sides[::2], sides[1::2])), mode="reflect")

    def forward(self, x: ndarray) -> ndarray:
        """Pad."""
        return invoke(self._op, (x,))


class _PixelShuffle(Bound):
    """Moves channels into space: ``(N, C * f1 * ..., W1, ...)`` becomes ``(N, C, W1 * f1, ...)``."""

    _ndim: int
    _settings = ("_factors",)

    def __init__(self, factor: Size) -> None:
        super().__init__()
        self._factors = as_tuple(factor, self._ndim, "factor")

    def _bind(self) -> None:
        self.__dict__["_op"] = get("pixel_shuffle").bind(factors=self._factors)

    def forward(self, x: ndarray) -> ndarray:
        """Shuffle."""
        return invoke(self._op, (x,))

    @unfailing
    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._factors})"


class PixelShuffle1D(_PixelShuffle):
    """Moves channels into one dimension of space.

    Parameters
    ----------
    factor : int
        By which the width grows and the channels shrink.

    Examples
    --------
    >>> from gluonx import np
    >>> PixelShuffle1D(2)(np.ones((1, 8, 3))).shape
    (1, 4, 6)
    """

    _ndim = 1

    def __init__(self, factor: int) -> None:
        super().__init__(factor)
        self._factor = self._factors[0]

    @unfailing
    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._factor})"


class PixelShuffle2D(_PixelShuffle):
    """Moves channels into height and width, by one factor or a pair.

    Examples
    --------
    >>> from gluonx import np
    >>> PixelShuffle2D((2, 3))(np.ones((1, 12, 3, 5))).shape
    (1, 2, 6, 15)
    """

    _ndim = 2


class PixelShuffle3D(_PixelShuffle):
    """Moves channels into depth, height and width, by one factor or three.

    Examples
    --------
    >>> from gluonx import np
    >>> PixelShuffle3D(2)(np.ones((1, 16, 2, 3, 4))).shape
    (1, 2, 4, 6, 8)
    """

    _ndim = 3


class Upsample(HybridBlock):
    """Enlarges height and width of images ``(batch, channel, height, width)`` by a whole number.

    Parameters
    ----------
    scale : int or tuple of int
        How many times higher and wider.
    mode : {'nearest', 'bilinear'}
        Whether pixels are repeated or interpolated (as PyTorch does with ``align_corners=False``).

    Raises
    ------
    ArgumentError
        If the mode is unknown, or the scale no whole number.

    Examples
    --------
    >>> from gluonx import np
    >>> Upsample(2)(np.array([[[[1.0, 2.0]]]])).tolist()
    [[[[1.0, 1.0, 2.0, 2.0], [1.0, 1.0, 2.0, 2.0]]]]
    """

    def __init__(self, scale: int | tuple[int, ...] = 2, mode: str = "nearest") -> None:
        super().__init__()
        if mode not in ("nearest", "bilinear"):
            raise ArgumentError(f"The mode of Upsample must be 'nearest' or 'bilinear', got {mode!r}.")
        if not all(isinstance(n, int) and n > 0 for n in (scale if isinstance(scale, tuple | list) else (scale,))):
            raise ArgumentError(
                f"Upsample enlarges by whole numbers, got {scale!r}; npx.bilinear_resize takes any height and width."
            )
        self._scale, self._mode = as_tuple(scale, 2, "scale"), mode

    def forward(self, x: ndarray) -> ndarray:
        """Enlarge."""
        if len(x.shape) != 4:
            raise ShapeError(f"Upsample takes images (batch, channel, height, width), not an array of shape {x.shape}.")
        down, right = self._scale
        if self._mode == "nearest":
            return x.repeat(down, axis=2).repeat(right, axis=3)
        height, width = x.shape[2] * down, x.shape[3] * right
        return invoke(get("bilinear_resize").bind(height=height, width=width, align_corners=False), (x,))

    @unfailing
    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._scale}, {self._mode})"


class PatchEmbedding(HybridBlock):
    """Cuts images into patches and maps each to a vector: the first layer of a vision transformer.

    Parameters
    ----------
    units : int
        The length of a vector.
    patch_size : int or tuple of int
        Height and width of a patch; both must divide those of the image.
    in_channels : int
        The number of channels; 0 leaves it to the first batch.
    use_bias, weight_initializer, bias_initializer
        As of :class:`Conv2D`.

    Examples
    --------
    >>> from gluonx import np
    >>> layer = PatchEmbedding(8, 4)
    >>> layer.initialize()
    >>> layer(np.ones((2, 3, 8, 12))).shape
    (2, 6, 8)
    """

    def __init__(
        self,
        units: int,
        patch_size: int | tuple[int, ...] = 16,
        in_channels: int = 0,
        use_bias: bool = True,
        weight_initializer: InitLike = None,
        bias_initializer: InitLike = "zeros",
    ) -> None:
        super().__init__()
        self._patch = as_tuple(patch_size, 2, "patch_size")
        self.proj = Conv2D(
            units,
            self._patch,
            strides=self._patch,
            in_channels=in_channels,
            use_bias=use_bias,
            weight_initializer=weight_initializer,
            bias_initializer=bias_initializer,
        )

    def forward(self, x: ndarray) -> ndarray:
        """Map images (batch, channel, height, width) to (batch, patches, units), row by row."""
        if len(x.shape) != 4 or any(n % k for n, k in zip(x.shape[2:], self._patch)):
            raise ShapeError(
                f"PatchEmbedding cuts images into patches of {self._patch}, which {x.shape} is no multiple of."
            )
        y = self.proj(x)
        return y.reshape((y.shape[0], y.shape[1], -1)).transpose((0, 2, 1))
