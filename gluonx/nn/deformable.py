"""Deformable convolutions: a plain convolution says by how much the taps of another one are moved.

Both layers are `_Deformable`; they differ by the operator, and by whether the plain convolution also makes a weight for
each tap.
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
from gluonx.errors import ShapeError
from gluonx.initializer import InitLike
from gluonx.nn.activations import activation_layer
from gluonx.np import ndarray
from gluonx.ops import get

__all__ = ["DeformableConvolution", "ModulatedDeformableConvolution"]


class _Deformable(HybridBlock):
    """The common layer; ``_numbers`` counts what each tap needs: two shifts, and a weight."""

    _operator: str
    _numbers: int

    def __init__(
        self,
        channels: int,
        kernel_size: Size,
        strides: Size,
        padding: Size,
        dilation: Size,
        groups: int,
        num_deformable_group: int,
        layout: str,
        use_bias: bool,
        in_channels: int,
        activation: str | HybridBlock | None,
        weight_initializer: InitLike,
        bias_initializer: InitLike,
        offset_weight_initializer: InitLike,
        offset_bias_initializer: InitLike,
        offset_use_bias: bool,
        op_name: str,
        adj: int | tuple[int, ...],
    ) -> None:
        super().__init__()
        if layout != "NCHW":
            raise ValueError(f"{type(self).__name__} knows the layout NCHW, not {layout!r}.")
        self._channels, self._in_channels, self._num_group = channels, in_channels, groups
        self._num_deformable_group = num_deformable_group
        space: dict[str, Any] = {
            "kernel": as_tuple(kernel_size, 2, "kernel_size"),
            "stride": as_tuple(strides, 2, "strides"),
            "dilate": as_tuple(dilation, 2, "dilation"),
            "pad": as_tuple(padding, 2, "padding", 0),
            "num_group": groups,
            "layout": layout,
        }
        self._kernel_size, self._kwargs = space["kernel"], {**space, "num_filter": channels}
        taps = self._kernel_size[0] * self._kernel_size[1] * num_deformable_group
        self._moved = 2 * taps
        made = self._numbers * taps
        self._check_groups(channels, "channels", groups)
        self._check_groups(made, "the number of offsets", groups)
        self._check_input(in_channels, ValueError)
        self._offset_op = get("convolution").bind(**space, num_filter=made, no_bias=not offset_use_bias)
        self._op = get(self._operator).bind(
            **self._kwargs, num_deformable_group=num_deformable_group, no_bias=not use_bias
        )
        inner = in_channels // groups or -1
        self.offset_weight, self.offset_bias = self._parameters(
            "offset", made, inner, offset_weight_initializer, offset_bias_initializer, offset_use_bias
        )
        self.deformable_conv_weight, self.deformable_conv_bias = self._parameters(
            "deformable_conv", channels, inner, weight_initializer, bias_initializer, use_bias
        )
        self.act = activation_layer(activation)

    def _parameters(
        self, name: str, made: int, inner: int, weight: Any, bias: Any, use_bias: bool
    ) -> tuple[Parameter, Parameter | None]:
        """Return the weight of one of the two convolutions, and its bias if it has one."""
        shape = (made, inner, *self._kernel_size)
        first = Parameter(f"{name}_weight", shape=shape, init=weight, allow_deferred_init=True)
        if not use_bias:
            return first, None
        return first, Parameter(f"{name}_bias", shape=(made,), init=bias, allow_deferred_init=True)

    def _check_groups(self, number: int, what: str, groups: int, error: type[ValueError] = ValueError) -> None:
        if number % groups:
            raise error(f"{type(self).__name__}: {what} is {number}, which {groups} groups cannot share equally.")

    def _check_input(self, channels: int, error: type[ValueError]) -> None:
        self._check_groups(channels, "the input's number of channels", self._num_group, error)
        self._check_groups(channels, "the input's number of channels", self._num_deformable_group, error)

    def _arguments(self, x: ndarray, said: ndarray) -> tuple[Any, ...]:
        """Return the operator's arguments before its weight."""
        return x, said

    def forward(self, x: ndarray) -> ndarray:
        """Convolve a batch of shape (batch, channels, height, width)."""
        offset = () if self.offset_bias is None else (self.offset_bias.data(),)
        said = invoke(self._offset_op, (x, self.offset_weight.data(), *offset))
        bias = () if self.deformable_conv_bias is None else (self.deformable_conv_bias.data(),)
        y = invoke(self._op, (*self._arguments(x, said), self.deformable_conv_weight.data(), *bias))
        return y if self.act is None else self.act(y)

    def infer_shape(self, x: ndarray, *args: Any) -> None:
        """Learn ``in_channels`` from an input."""
        if len(x.shape) == 4:  # otherwise the operator says what is wrong
            self._check_input(x.shape[1], ShapeError)
            for weight in (self.offset_weight, self.deformable_conv_weight):
                assert weight.shape is not None, "a convolution declares the rank of its weight"
                weight.shape = (weight.shape[0], x.shape[1] // self._num_group, *self._kernel_size)

    @unfailing
    def __repr__(self) -> str:
        shape = self.deformable_conv_weight.shape
        assert shape is not None, "a convolution declares the rank of its weight"
        said = [f"{shape[1]} -> {shape[0]}", f"kernel_size={self._kernel_size}", f"stride={self._kwargs['stride']}"]
        said += [f"padding={self._kwargs['pad']}"] * any(self._kwargs["pad"])
        said += [f"dilation={self._kwargs['dilate']}"] * any(d != 1 for d in self._kwargs["dilate"])
        said += [f"groups={self._num_group}"] * (self._num_group != 1)
        said += ["bias=False"] * (self.deformable_conv_bias is None) + [str(self.act)] * (self.act is not None)
        return f"{type(self).__name__}({', '.join(said)})"


@declared
class _Declared(_Deformable):
    """Arguments of both layers."""

    channels: InitVar[int]
    kernel_size: InitVar[Size] = (1, 1)
    strides: InitVar[Size] = (1, 1)
    padding: InitVar[Size] = (0, 0)
    dilation: InitVar[Size] = (1, 1)
    groups: InitVar[int] = 1
    num_deformable_group: InitVar[int] = 1
    layout: InitVar[str] = "NCHW"
    use_bias: InitVar[bool] = True
    in_channels: InitVar[int] = 0
    activation: InitVar[str | HybridBlock | None] = None
    weight_initializer: InitVar[Any] = None
    bias_initializer: InitVar[Any] = "zeros"
    offset_weight_initializer: InitVar[Any] = "zeros"
    offset_bias_initializer: InitVar[Any] = "zeros"
    offset_use_bias: InitVar[bool] = True
    op_name: InitVar[str] = "DeformableConvolution"
    adj: InitVar[Any] = None


class DeformableConvolution(_Declared):
    """A convolution whose taps are moved by offsets that a second convolution makes (arXiv 1703.06211).

    Parameters
    ----------
    channels : int
        The number of output channels.
    kernel_size, strides, padding, dilation : int or (int, int)
        Of both convolutions.
    groups : int
        The number of groups of channels that do not see each other, in both convolutions.
    num_deformable_group : int
        The number of groups of channels that have offsets of their own.
    layout : {'NCHW'}
    use_bias : bool
    in_channels : int
        The number of input channels; 0 to learn it from the first input.
    activation : str or HybridBlock, optional
        The name of an activation to end with (`npx.activation` lists them), or a layer such as ``nn.PReLU()``.
    weight_initializer, bias_initializer : str or Initializer, optional
    offset_weight_initializer, offset_bias_initializer : str or Initializer
        Of the convolution that makes the offsets. Zeros, so that training begins with a plain convolution.
    offset_use_bias : bool
    op_name, adj
        Taken for MXNet's sake.

    Raises
    ------
    ValueError
        If groups cannot share the channels equally, or the layout is another.

    Examples
    --------
    >>> from gluonx import np
    >>> layer = DeformableConvolution(4, kernel_size=3, padding=1)
    >>> layer.initialize()
    >>> layer(np.ones((2, 3, 8, 8))).shape
    (2, 4, 8, 8)
    """

    _operator = "deformable_convolution"
    _numbers = 2


@declared
class ModulatedDeformableConvolution(_Declared):
    """A deformable convolution whose taps are also weighted, each from 0 to 2, by the data (arXiv 1811.11168).

    The parameters are those of `DeformableConvolution`; the second convolution makes three numbers a tap.

    Examples
    --------
    >>> from gluonx import np
    >>> layer = ModulatedDeformableConvolution(4, kernel_size=3, padding=1)
    >>> layer.initialize()
    >>> layer(np.ones((2, 3, 8, 8))).shape
    (2, 4, 8, 8)
    """

    _operator = "modulated_deformable_convolution"
    _numbers = 3

    op_name: InitVar[str] = "ModulatedDeformableConvolution"

    def _arguments(self, x: ndarray, said: ndarray) -> tuple[Any, ...]:
        offset, mask = said[:, : self._moved], said[:, self._moved :]
        return x, offset, invoke(get("sigmoid").bind(), (mask,)) * 2
