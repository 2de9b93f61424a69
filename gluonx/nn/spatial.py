"""Layers that move elements about: padding by reflection, and shuffling channels into space."""

from __future__ import annotations

from gluonx.arguments import Size, as_tuple
from gluonx.block.block import HybridBlock
from gluonx.block.tools import unfailing
from gluonx.deferred import invoke
from gluonx.np import ndarray
from gluonx.ops import get

__all__ = ["PixelShuffle1D", "PixelShuffle2D", "PixelShuffle3D", "ReflectionPad2D"]


class ReflectionPad2D(HybridBlock):
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

    def __init__(self, padding: int | tuple[int, ...] = 0) -> None:
        super().__init__()
        sides = (0, 0, 0, 0) + (padding,) * 4 if isinstance(padding, int) else tuple(padding)
        self._padding = as_tuple(sides, 8, "padding", 0)
        self._op = get("pad").bind(pad_width=tuple(zip(sides[::2], sides[1::2])), mode="reflect")

    def forward(self, x: ndarray) -> ndarray:
        """Pad."""
        return invoke(self._op, (x,))


class _PixelShuffle(HybridBlock):
    """Moves channels into space: ``(N, C * f1 * ..., W1, ...)`` becomes ``(N, C, W1 * f1, ...)``."""

    _ndim: int

    def __init__(self, factor: Size) -> None:
        super().__init__()
        self._factors = as_tuple(factor, self._ndim, "factor")
        self._op = get("pixel_shuffle").bind(factors=self._factors)

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
