"""Convolutions and transposed convolutions in one, two and three dimensions.

All six are one layer, `_Conv`: a class says which layouts it knows, whether it is the transpose, and what it takes by
default.
"""

from __future__ import annotations

from dataclasses import InitVar
from typing import Any

from gluonx.block.block import HybridBlock
from gluonx.block.declared import declared
from gluonx.block.parameter import Parameter
from gluonx.block.tools import unfailing
from gluonx.common.arguments import Size, as_tuple
from gluonx.deferred import invoke
from gluonx.errors import ArgumentError, ShapeError
from gluonx.initializer import InitLike
from gluonx.nn.activations import activation_layer
from gluonx.nn.bound import BoundToKwargs, Settings
from gluonx.np import ndarray
from gluonx.ops import BoundOp, get

__all__ = ["Conv1D", "Conv1DTranspose", "Conv2D", "Conv2DTranspose", "Conv3D", "Conv3DTranspose"]


class _Conv(BoundToKwargs):
    """The common layer. ``_layouts`` names the layouts, channels first and channels last."""

    _layouts: tuple[str, str]
    _transposed = False

    def __init__(
        self,
        channels: int,
        kernel_size: Size,
        strides: Size,
        padding: Size,
        dilation: Size,
        groups: int,
        layout: str,
        activation: str | HybridBlock | None,
        use_bias: bool,
        weight_initializer: InitLike,
        bias_initializer: InitLike,
        in_channels: int,
        output_padding: Size = 0,
    ) -> None:
        super().__init__()
        if layout not in self._layouts:
            raise ArgumentError(
                f"{type(self).__name__} knows the layouts {' and '.join(self._layouts)}, not {layout!r}."
            )
        n = len(layout) - 2
        self._channels, self._in_channels = channels, in_channels
        self._kernel_size = as_tuple(kernel_size, n, "kernel_size")
        self._layout, self._groups = layout, groups
        settings: dict[str, Any] = {
            "kernel": self._kernel_size,
            "stride": as_tuple(strides, n, "strides"),
            "dilate": as_tuple(dilation, n, "dilation"),
            "pad": as_tuple(padding, n, "padding", 0),
            "num_filter": channels,
            "num_group": groups,
            "no_bias": not use_bias,
            "layout": layout,
        }
        self._kwargs = Settings(settings)
        if self._transposed:
            self._kwargs["adj"] = self.outpad = self._output_padding(output_padding, n)
        self._check_groups(channels, "channels")
        self._check_groups(in_channels, "in_channels")
        self._kwargs.bound = self._bind()
        self.weight = Parameter(
            "weight", shape=self._weight_shape(in_channels), init=weight_initializer, allow_deferred_init=True
        )
        self.bias = None
        if use_bias:
            self.bias = Parameter("bias", shape=(channels,), init=bias_initializer, allow_deferred_init=True)
        self.act = activation_layer(activation)

    def _output_padding(self, output_padding: Size, n: int) -> tuple[int, ...]:
        extra = as_tuple(output_padding, n, "output_padding", 0)
        if any(e >= s for e, s in zip(extra, self._kwargs["stride"])):
            raise ValueError(f"output_padding {extra} must be smaller than strides {self._kwargs['stride']}.")
        return extra

    def _check_groups(self, channels: int, what: str, error: type[ValueError] = ValueError) -> None:
        if channels % self._groups:
            raise error(f"{what} is {channels}, which {self._groups} groups cannot share equally.")

    def _weight_shape(self, in_channels: int) -> tuple[int, ...]:
        """Return the weight's shape; -1 stands for what in_channels = 0 leaves open."""
        first, second = in_channels if self._transposed else self._channels, in_channels // self._groups
        if self._transposed:
            second = self._channels // self._groups
        first, second = first or -1, second or -1
        if self._layout == self._layouts[0]:
            return (first, second, *self._kernel_size)
        return (first, *self._kernel_size, second)

    def _bind(self) -> BoundOp:
        return get("deconvolution" if self._transposed else "convolution").bind(**self._kwargs)

    def forward(self, x: ndarray) -> ndarray:
        """Convolve a batch in the layer's layout."""
        bias = self.bias
        if bias is None:
            y = invoke(self._op, (x, self.weight.data()))
        else:
            y = invoke(self._op, (x, self.weight.data(), bias.data()))
        return y if self.act is None else self.act(y)

    def infer_shape(self, x: ndarray, *args: Any) -> None:
        """Learn ``in_channels`` from an input."""
        if len(x.shape) == len(self._layout):  # otherwise the operator says what is wrong
            channels = x.shape[self._layout.index("C")]
            self._check_groups(channels, "the input's number of channels", ShapeError)
            self.weight.shape = self._weight_shape(channels)

    @unfailing
    def __repr__(self) -> str:
        shape = self.weight.shape
        assert shape is not None, "a convolution declares the rank of its weight"
        pair = shape[0], shape[1 if self._layout == self._layouts[0] else -1]
        have, make = pair if self._transposed else pair[::-1]
        said = [
            f"{self._block_names.size(have)} -> {make}",
            f"kernel_size={self._kernel_size}",
            f"stride={self._kwargs['stride']}",
        ]
        said += [
            f"{name}={value}"
            for name, value, usual in (
                ("padding", self._kwargs["pad"], 0),
                ("dilation", self._kwargs["dilate"], 1),
                ("groups", (self._groups,), 1),
            )
            if any(v != usual for v in value)
        ]
        if self._groups != 1:
            said[-1] = f"groups={self._groups}"
        said += ["bias=False"] * (self.bias is None) + [str(self.act)] * (self.act is not None)
        return f"{type(self).__name__}({', '.join(said)})"


@declared
class _Plain(_Conv):
    """Arguments of convolutions, with the defaults of one dimension."""

    channels: InitVar[int]
    kernel_size: InitVar[Size]
    strides: InitVar[Size] = 1
    padding: InitVar[Size] = 0
    dilation: InitVar[Size] = 1
    groups: InitVar[int] = 1
    layout: InitVar[str] = "NCW"
    activation: InitVar[str | HybridBlock | None] = None
    use_bias: InitVar[bool] = True
    weight_initializer: InitVar[Any] = None
    bias_initializer: InitVar[Any] = "zeros"
    in_channels: InitVar[int] = 0


@declared
class _Transposed(_Conv):
    """Arguments of transposed convolutions, with the defaults of one dimension."""

    _transposed = True

    channels: InitVar[int]
    kernel_size: InitVar[Size]
    strides: InitVar[Size] = 1
    padding: InitVar[Size] = 0
    output_padding: InitVar[Size] = 0
    dilation: InitVar[Size] = 1
    groups: InitVar[int] = 1
    layout: InitVar[str] = "NCW"
    activation: InitVar[str | HybridBlock | None] = None
    use_bias: InitVar[bool] = True
    weight_initializer: InitVar[Any] = None
    bias_initializer: InitVar[Any] = "zeros"
    in_channels: InitVar[int] = 0


class Conv1D(_Plain):
    """A convolution in one dimension.

    The parameters are those of `Conv2D`.

    Examples
    --------
    >>> from gluonx import nn, np
    >>> layer = nn.Conv1D(4, kernel_size=3)
    >>> layer.initialize()
    >>> layer(np.ones((1, 3, 8))).shape
    (1, 4, 6)
    """

    _layouts = ("NCW", "NWC")


@declared
class Conv2D(_Plain):
    """A convolution in two dimensions.

    Parameters
    ----------
    channels : int
        The number of output channels.
    kernel_size, strides, padding, dilation : int or tuple of int
        For all dimensions, or for each.
    groups : int
        The number of groups of channels that do not see each other.
    layout : {'NCHW', 'NHWC'}
        The order of the axes of input and output; the weight's axes follow it.
    activation : str or HybridBlock, optional
        The name of an activation (`npx.activation` lists them), or a layer such as ``nn.PReLU()``; none by default.
    use_bias : bool
        Whether there is a bias.
    weight_initializer, bias_initializer : Initializer or str, optional
        How the parameters begin.
    in_channels : int
        The number of input channels; 0 leaves it to the first batch.

    Examples
    --------
    >>> from gluonx import np
    >>> layer = Conv2D(8, kernel_size=3, strides=2)
    >>> layer.initialize()
    >>> layer(np.ones((2, 3, 10, 10))).shape
    (2, 8, 4, 4)
    """

    _layouts = ("NCHW", "NHWC")

    strides: InitVar[Size] = (1, 1)
    padding: InitVar[Size] = (0, 0)
    dilation: InitVar[Size] = (1, 1)
    layout: InitVar[str] = "NCHW"


@declared
class Conv3D(_Plain):
    """A convolution in three dimensions.

    The parameters are those of `Conv2D`.

    Examples
    --------
    >>> from gluonx import nn, np
    >>> layer = nn.Conv3D(4, kernel_size=3)
    >>> layer.initialize()
    >>> layer(np.ones((1, 3, 8, 8, 8))).shape
    (1, 4, 6, 6, 6)
    """

    _layouts = ("NCDHW", "NDHWC")

    strides: InitVar[Size] = (1, 1, 1)
    padding: InitVar[Size] = (0, 0, 0)
    dilation: InitVar[Size] = (1, 1, 1)
    layout: InitVar[str] = "NCDHW"


class Conv1DTranspose(_Transposed):
    """A transposed convolution (the gradient of a convolution with respect to its input) in one dimension.

    The parameters are those of `Conv2DTranspose`.

    Examples
    --------
    >>> from gluonx import nn, np
    >>> layer = nn.Conv1DTranspose(4, kernel_size=2, strides=2)
    >>> layer.initialize()
    >>> layer(np.ones((1, 3, 8))).shape
    (1, 4, 16)
    """

    _layouts = ("NCW", "NWC")


@declared
class Conv2DTranspose(_Transposed):
    """A transposed convolution (the gradient of a convolution with respect to its input) in two dimensions.

    Parameters
    ----------
    channels : int
        The number of output channels.
    kernel_size, strides, padding, output_padding, dilation : int or tuple of int
        For all dimensions, or for each. The output is output_padding larger on one side.
    groups : int
        The number of groups of channels that do not see each other.
    layout : {'NCHW', 'NHWC'}
        The order of the axes of input and output; the weight's axes follow it.
    activation : str or HybridBlock, optional
        The name of an activation (`npx.activation` lists them), or a layer such as ``nn.PReLU()``; none by default.
    use_bias : bool
        Whether there is a bias.
    weight_initializer, bias_initializer : Initializer or str, optional
        How the parameters begin.
    in_channels : int
        The number of input channels; 0 leaves it to the first batch.

    Examples
    --------
    >>> from gluonx import np
    >>> layer = Conv2DTranspose(8, kernel_size=3, strides=2)
    >>> layer.initialize()
    >>> layer(np.ones((2, 3, 10, 10))).shape
    (2, 8, 21, 21)
    """

    _layouts = ("NCHW", "NHWC")

    strides: InitVar[Size] = (1, 1)
    padding: InitVar[Size] = (0, 0)
    output_padding: InitVar[Size] = (0, 0)
    dilation: InitVar[Size] = (1, 1)
    layout: InitVar[str] = "NCHW"


@declared
class Conv3DTranspose(_Transposed):
    """A transposed convolution (the gradient of a convolution with respect to its input) in three dimensions.

    The parameters are those of `Conv2DTranspose`.

    Examples
    --------
    >>> from gluonx import nn, np
    >>> layer = nn.Conv3DTranspose(4, kernel_size=2, strides=2)
    >>> layer.initialize()
    >>> layer(np.ones((1, 3, 8, 8, 8))).shape
    (1, 4, 16, 16, 16)
    """

    _layouts = ("NCDHW", "NDHWC")

    strides: InitVar[Size] = (1, 1, 1)
    padding: InitVar[Size] = (0, 0, 0)
    output_padding: InitVar[Size] = (0, 0, 0)
    dilation: InitVar[Size] = (1, 1, 1)
    layout: InitVar[str] = "NCDHW"
