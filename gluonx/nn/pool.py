"""Pooling in one, two and three dimensions: the maximum or the mean of a window, or of everything."""

from __future__ import annotations

from dataclasses import InitVar
from typing import Any

from gluonx.block.block import HybridBlock
from gluonx.block.declared import declared
from gluonx.block.tools import unfailing
from gluonx.common.arguments import Size, as_tuple
from gluonx.deferred import invoke
from gluonx.errors import ArgumentError
from gluonx.nn.bound import BoundToKwargs, Settings
from gluonx.np import ndarray
from gluonx.ops import BoundOp, get

__all__ = [
    "AdaptiveAvgPool1D",
    "AdaptiveAvgPool2D",
    "AdaptiveAvgPool3D",
    "AdaptiveMaxPool1D",
    "AdaptiveMaxPool2D",
    "AdaptiveMaxPool3D",
    "AvgPool1D",
    "AvgPool2D",
    "AvgPool3D",
    "GlobalAvgPool1D",
    "GlobalAvgPool2D",
    "GlobalAvgPool3D",
    "GlobalMaxPool1D",
    "GlobalMaxPool2D",
    "GlobalMaxPool3D",
    "MaxPool1D",
    "MaxPool2D",
    "MaxPool3D",
]

_LAYOUTS = {1: ("NCW", "NWC"), 2: ("NCHW", "NHWC"), 3: ("NCDHW", "NDHWC")}


class _Pooling(BoundToKwargs):
    """The common layer. ``_ndim`` is the number of dimensions, ``_pool_type`` what is made of a window."""

    _ndim: int
    _pool_type: str
    _global = False

    def __init__(
        self,
        pool_size: Size,
        strides: Size | None,
        padding: Size,
        ceil_mode: bool,
        layout: str,
        count_include_pad: bool | None = None,
    ) -> None:
        super().__init__()
        n = self._ndim
        if layout not in _LAYOUTS[n]:
            raise ArgumentError(f"{type(self).__name__} knows the layouts {' and '.join(_LAYOUTS[n])}, not {layout!r}.")
        kernel = as_tuple(pool_size, n, "pool_size")
        settings: dict[str, Any] = {
            "kernel": kernel,
            "stride": kernel if strides is None else as_tuple(strides, n, "strides"),
            "pad": as_tuple(padding, n, "padding", 0),
            "global_pool": self._global,
            "pool_type": self._pool_type,
            "layout": layout,
            "pooling_convention": "full" if ceil_mode else "valid",
        }
        if count_include_pad is not None:
            settings["count_include_pad"] = count_include_pad
        self._kwargs = Settings(settings)
        self._kwargs.bound = self._bind()

    def _bind(self) -> BoundOp:
        return get("pooling").bind(**self._kwargs)

    def forward(self, x: ndarray) -> ndarray:
        """Pool a batch in the layer's layout."""
        return invoke(self._op, (x,))

    @unfailing
    def __repr__(self) -> str:
        said = self._kwargs
        return (
            f"{type(self).__name__}(size={said['kernel']}, stride={said['stride']}, padding={said['pad']}, "
            f"ceil_mode={said['pooling_convention'] == 'full'}, global_pool={said['global_pool']}, "
            f"pool_type={said['pool_type']}, layout={said['layout']})"
        )


@declared
class MaxPool1D(_Pooling):
    """The maximum of each window of a line; see `MaxPool2D`.

    Examples
    --------
    >>> from gluonx import nn, np
    >>> nn.MaxPool1D()(np.ones((1, 3, 8))).shape
    (1, 3, 4)
    """

    _ndim, _pool_type = 1, "max"

    pool_size: InitVar[Size] = 2
    strides: InitVar[Size | None] = None
    padding: InitVar[Size] = 0
    layout: InitVar[str] = "NCW"
    ceil_mode: InitVar[bool] = False


@declared
class MaxPool2D(_Pooling):
    """The maximum of each window of an image.

    Parameters
    ----------
    pool_size : int or tuple of int
        The size of the window.
    strides : int or tuple of int, optional
        How far apart the windows are; their size by default.
    padding : int or tuple of int
        What is added on each side; it is never the maximum.
    layout : {'NCHW', 'NHWC'}
        The order of the axes.
    ceil_mode : bool
        Whether a window that only partly lies within counts.

    Examples
    --------
    >>> from gluonx import np
    >>> MaxPool2D(2)(np.ones((1, 3, 6, 8))).shape
    (1, 3, 3, 4)
    """

    _ndim, _pool_type = 2, "max"

    pool_size: InitVar[Size] = (2, 2)
    strides: InitVar[Size | None] = None
    padding: InitVar[Size] = 0
    layout: InitVar[str] = "NCHW"
    ceil_mode: InitVar[bool] = False


@declared
class MaxPool3D(_Pooling):
    """The maximum of each window of a volume; see `MaxPool2D`.

    Examples
    --------
    >>> from gluonx import nn, np
    >>> nn.MaxPool3D()(np.ones((1, 3, 8, 8, 8))).shape
    (1, 3, 4, 4, 4)
    """

    _ndim, _pool_type = 3, "max"

    pool_size: InitVar[Size] = (2, 2, 2)
    strides: InitVar[Size | None] = None
    padding: InitVar[Size] = 0
    ceil_mode: InitVar[bool] = False
    layout: InitVar[str] = "NCDHW"


@declared
class AvgPool1D(_Pooling):
    """The mean of each window of a line; see `AvgPool2D`.

    Examples
    --------
    >>> from gluonx import nn, np
    >>> nn.AvgPool1D()(np.ones((1, 3, 8))).shape
    (1, 3, 4)
    """

    _ndim, _pool_type = 1, "avg"

    pool_size: InitVar[Size] = 2
    strides: InitVar[Size | None] = None
    padding: InitVar[Size] = 0
    layout: InitVar[str] = "NCW"
    ceil_mode: InitVar[bool] = False
    count_include_pad: InitVar[bool] = True


@declared
class AvgPool2D(_Pooling):
    """The mean of each window of an image.

    Parameters
    ----------
    pool_size : int or tuple of int
        The size of the window.
    strides : int or tuple of int, optional
        How far apart the windows are; their size by default.
    padding : int or tuple of int
        The zeros added on each side.
    ceil_mode : bool
        Whether a window that only partly lies within counts.
    layout : {'NCHW', 'NHWC'}
        The order of the axes.
    count_include_pad : bool
        Whether the zeros count in the mean.

    Examples
    --------
    >>> from gluonx import np
    >>> AvgPool2D(3, strides=2, padding=1)(np.ones((1, 3, 6, 8))).shape
    (1, 3, 3, 4)
    """

    _ndim, _pool_type = 2, "avg"

    pool_size: InitVar[Size] = (2, 2)
    strides: InitVar[Size | None] = None
    padding: InitVar[Size] = 0
    ceil_mode: InitVar[bool] = False
    layout: InitVar[str] = "NCHW"
    count_include_pad: InitVar[bool] = True


@declared
class AvgPool3D(_Pooling):
    """The mean of each window of a volume; see `AvgPool2D`.

    Examples
    --------
    >>> from gluonx import nn, np
    >>> nn.AvgPool3D()(np.ones((1, 3, 8, 8, 8))).shape
    (1, 3, 4, 4, 4)
    """

    _ndim, _pool_type = 3, "avg"

    pool_size: InitVar[Size] = (2, 2, 2)
    strides: InitVar[Size | None] = None
    padding: InitVar[Size] = 0
    ceil_mode: InitVar[bool] = False
    layout: InitVar[str] = "NCDHW"
    count_include_pad: InitVar[bool] = True


class _GlobalPooling(_Pooling):
    """One window over everything; each dimension keeps a length of 1."""

    _global = True

    def __init__(self, layout: str) -> None:
        super().__init__(1, None, 0, True, layout)


@declared
class GlobalMaxPool1D(_GlobalPooling):
    """The maximum of a whole line, for each channel.

    Examples
    --------
    >>> from gluonx import nn, np
    >>> nn.GlobalMaxPool1D()(np.ones((1, 3, 8))).shape
    (1, 3, 1)
    """

    _ndim, _pool_type = 1, "max"

    layout: InitVar[str] = "NCW"


@declared
class GlobalMaxPool2D(_GlobalPooling):
    """The maximum of a whole image, for each channel.

    Examples
    --------
    >>> from gluonx import nn, np
    >>> nn.GlobalMaxPool2D()(np.ones((1, 3, 8, 8))).shape
    (1, 3, 1, 1)
    """

    _ndim, _pool_type = 2, "max"

    layout: InitVar[str] = "NCHW"


@declared
class GlobalMaxPool3D(_GlobalPooling):
    """The maximum of a whole volume, for each channel.

    Examples
    --------
    >>> from gluonx import nn, np
    >>> nn.GlobalMaxPool3D()(np.ones((1, 3, 8, 8, 8))).shape
    (1, 3, 1, 1, 1)
    """

    _ndim, _pool_type = 3, "max"

    layout: InitVar[str] = "NCDHW"


@declared
class GlobalAvgPool1D(_GlobalPooling):
    """The mean of a whole line, for each channel.

    Examples
    --------
    >>> from gluonx import nn, np
    >>> nn.GlobalAvgPool1D()(np.ones((1, 3, 8))).shape
    (1, 3, 1)
    """

    _ndim, _pool_type = 1, "avg"

    layout: InitVar[str] = "NCW"


@declared
class GlobalAvgPool2D(_GlobalPooling):
    """The mean of a whole image, for each channel.

    Examples
    --------
    >>> from gluonx import np
    >>> GlobalAvgPool2D()(np.ones((1, 3, 6, 8))).shape
    (1, 3, 1, 1)
    """

    _ndim, _pool_type = 2, "avg"

    layout: InitVar[str] = "NCHW"


@declared
class GlobalAvgPool3D(_GlobalPooling):
    """The mean of a whole volume, for each channel.

    Examples
    --------
    >>> from gluonx import nn, np
    >>> nn.GlobalAvgPool3D()(np.ones((1, 3, 8, 8, 8))).shape
    (1, 3, 1, 1, 1)
    """

    _ndim, _pool_type = 3, "avg"

    layout: InitVar[str] = "NCDHW"


class _AdaptivePooling(HybridBlock):
    """Windows that are chosen so that the result has a given size; ``_pool_type`` is what is made of each."""

    _ndim: int
    _pool_type = "avg"

    def __init__(self, output_size: Size = 1, layout: str | None = None) -> None:
        super().__init__()
        layouts = _LAYOUTS[self._ndim]
        layout = layouts[0] if layout is None else layout
        if layout not in layouts:
            raise ArgumentError(f"{type(self).__name__} knows the layouts {' and '.join(layouts)}, not {layout!r}.")
        self._size = as_tuple(output_size, self._ndim, "output_size")
        self._op = get(f"adaptive_{self._pool_type}_pooling").bind(output_size=self._size, layout=layout)

    def forward(self, x: Any) -> Any:
        """Pool a batch in the layer's layout."""
        return invoke(self._op, (x,))

    @unfailing
    def __repr__(self) -> str:
        return f"{type(self).__name__}(output_size={self._size})"


class AdaptiveAvgPool1D(_AdaptivePooling):
    """Means over windows of a sequence; see :class:`AdaptiveAvgPool2D`.

    Examples
    --------
    >>> from gluonx import nn, np
    >>> nn.AdaptiveAvgPool1D(2)(np.ones((1, 3, 8))).shape
    (1, 3, 2)
    """

    _ndim = 1


class AdaptiveAvgPool2D(_AdaptivePooling):
    """Means over windows of an image, as many as `output_size` says, whatever the size of the image.

    Parameters
    ----------
    output_size : int or tuple of int
        The size of the result along each spatial axis.
    layout : str
        ``'NCHW'`` (the default) or ``'NHWC'``.

    Raises
    ------
    ArgumentError
        If the layout is unknown.

    Examples
    --------
    >>> from gluonx import np
    >>> AdaptiveAvgPool2D((2, 3))(np.ones((1, 4, 7, 6))).shape
    (1, 4, 2, 3)
    """

    _ndim = 2


class AdaptiveAvgPool3D(_AdaptivePooling):
    """Means over windows of a volume; see :class:`AdaptiveAvgPool2D`.

    Examples
    --------
    >>> from gluonx import nn, np
    >>> nn.AdaptiveAvgPool3D(2)(np.ones((1, 3, 8, 8, 8))).shape
    (1, 3, 2, 2, 2)
    """

    _ndim = 3


class AdaptiveMaxPool1D(_AdaptivePooling):
    """Maxima of windows of a sequence; see :class:`AdaptiveMaxPool2D`.

    Examples
    --------
    >>> from gluonx import nn, np
    >>> nn.AdaptiveMaxPool1D(2)(np.arange(5).reshape(1, 1, 5)).tolist()
    [[[2.0, 4.0]]]
    """

    _ndim, _pool_type = 1, "max"


class AdaptiveMaxPool2D(_AdaptivePooling):
    """Maxima of windows of an image, as many as `output_size` says, whatever the size of the image.

    Parameters
    ----------
    output_size : int or tuple of int
        The size of the result along each spatial axis.
    layout : str
        ``'NCHW'`` (the default) or ``'NHWC'``.

    Raises
    ------
    ArgumentError
        If the layout is unknown.

    Examples
    --------
    >>> from gluonx import np
    >>> AdaptiveMaxPool2D((2, 3))(np.ones((1, 4, 7, 6))).shape
    (1, 4, 2, 3)
    """

    _ndim, _pool_type = 2, "max"


class AdaptiveMaxPool3D(_AdaptivePooling):
    """Maxima of windows of a volume; see :class:`AdaptiveMaxPool2D`.

    Examples
    --------
    >>> from gluonx import nn, np
    >>> nn.AdaptiveMaxPool3D(2)(np.ones((1, 3, 8, 8, 8))).shape
    (1, 3, 2, 2, 2)
    """

    _ndim, _pool_type = 3, "max"
