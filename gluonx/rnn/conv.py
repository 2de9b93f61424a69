"""Convolutional cells in one, two and three dimensions: the products of a cell are convolutions (Shi et al. 2015).

All nine are one cell, `_ConvCell`, with one of three kinds of gates and one of three signatures.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import InitVar
from typing import Any

from gluonx.block.declared import declared
from gluonx.block.parameter import Parameter
from gluonx.block.tools import unfailing
from gluonx.common.arguments import Size, as_tuple
from gluonx.deferred import invoke
from gluonx.errors import ArgumentError
from gluonx.initializer import InitLike
from gluonx.np import ndarray
from gluonx.ops import get
from gluonx.rnn.base import HybridRecurrentCell
from gluonx.rnn.cells import activated, gru_step, known_activation, lstm_step

__all__ = [
    "Conv1DGRUCell",
    "Conv1DLSTMCell",
    "Conv1DRNNCell",
    "Conv2DGRUCell",
    "Conv2DLSTMCell",
    "Conv2DRNNCell",
    "Conv3DGRUCell",
    "Conv3DLSTMCell",
    "Conv3DRNNCell",
]

_LAYOUTS = {"NCW": 1, "NWC": 1, "NCHW": 2, "NHWC": 2, "NCDHW": 3, "NDHWC": 3}


class _ConvCell(HybridRecurrentCell):
    """The common cell. ``_gates`` says how many gates there are, ``_dims`` how many dimensions."""

    _gates = 1
    _states = 1
    _dims: int

    def __init__(
        self,
        input_shape: tuple[int, ...],
        hidden_channels: int,
        i2h_kernel: Size,
        h2h_kernel: Size,
        i2h_pad: Size,
        i2h_dilate: Size,
        h2h_dilate: Size,
        i2h_weight_initializer: InitLike,
        h2h_weight_initializer: InitLike,
        i2h_bias_initializer: InitLike,
        h2h_bias_initializer: InitLike,
        conv_layout: str,
        activation: str | Callable[..., object],
    ) -> None:
        super().__init__()
        name, n = type(self).__name__, self._dims
        if _LAYOUTS.get(conv_layout) != n:
            known = " and ".join(layout for layout, dims in _LAYOUTS.items() if dims == n)
            raise ArgumentError(f"{name} knows the layouts {known}, not {conv_layout!r}.")
        if len(input_shape) != n + 1:
            raise ValueError(f"{name}: input_shape is that of one sample, {conv_layout[1:]}, got {input_shape}.")
        self._conv_layout, self._activation = conv_layout, known_activation(activation)
        self._hidden_channels, self._input_shape = hidden_channels, tuple(input_shape)
        kernels = as_tuple(i2h_kernel, n, "i2h_kernel"), as_tuple(h2h_kernel, n, "h2h_kernel")
        if any(k % 2 == 0 for k in kernels[1]):
            raise ValueError(f"{name}: h2h_kernel must be odd, so that the state keeps its shape, got {kernels[1]}.")
        dilates = as_tuple(i2h_dilate, n, "i2h_dilate"), as_tuple(h2h_dilate, n, "h2h_dilate")
        pads = as_tuple(i2h_pad, n, "i2h_pad", 0), tuple(d * (k - 1) // 2 for d, k in zip(dilates[1], kernels[1]))
        space = self._space(kernels[0], dilates[0], pads[0])
        self._state_shape = self._ordered(hidden_channels, space)
        rows = self._gates * hidden_channels
        channels = input_shape[conv_layout.index("C") - 1], hidden_channels
        inits = (i2h_weight_initializer, i2h_bias_initializer), (h2h_weight_initializer, h2h_bias_initializer)
        self._convs = tuple(
            get("convolution").bind(
                kernel=kernel, dilate=dilate, pad=pad, stride=(1,) * n, num_filter=rows, layout=conv_layout
            )
            for kernel, dilate, pad in zip(kernels, dilates, pads)
        )
        sides = list(zip(("i2h", "h2h"), channels, kernels, inits))
        for side, inner, kernel, (init, _) in sides:
            shape = (rows, *self._ordered(inner, kernel))
            setattr(self, f"{side}_weight", Parameter(f"{side}_weight", shape=shape, init=init))
        for side, _, _, (_, init) in sides:
            setattr(self, f"{side}_bias", Parameter(f"{side}_bias", shape=(rows,), init=init))

    def _ordered(self, channels: int, space: tuple[int, ...]) -> tuple[int, ...]:
        return (channels, *space) if self._conv_layout[1] == "C" else (*space, channels)

    def _space(self, kernel: tuple[int, ...], dilate: tuple[int, ...], pad: tuple[int, ...]) -> tuple[int, ...]:
        """Return the dimensions of the state."""
        first = self._conv_layout[1] == "C"
        space = self._input_shape[1:] if first else self._input_shape[:-1]
        found = tuple(s + 2 * p - d * (k - 1) for s, k, d, p in zip(space, kernel, dilate, pad))
        if any(s < 1 for s in found):
            raise ValueError(
                f"{type(self).__name__}: i2h_kernel {kernel} with i2h_dilate {dilate} is larger than the padded "
                f"input_shape {self._input_shape}."
            )
        return found

    def state_info(self, batch_size: int = 0) -> list[dict[str, Any]]:
        """Return the shape and layout of each state."""
        return [
            {"shape": (batch_size, *self._state_shape), "__layout__": self._conv_layout} for _ in range(self._states)
        ]

    @unfailing
    def __repr__(self) -> str:
        shape = self._reg_params["i2h_weight"].shape
        inputs = shape[1 if self._conv_layout[1] == "C" else -1]
        return f"{type(self).__name__}({inputs} -> {shape[0]}, {self._activation}, {self._conv_layout})"

    def forward(self, inputs: ndarray, states: list[ndarray]) -> tuple[ndarray, list[ndarray]]:
        """One step on a batch in the cell's layout."""
        states = self._states_of(states)
        own, (to_input, to_state) = self._reg_params, self._convs
        i2h = invoke(to_input, (inputs, own["i2h_weight"].data(), own["i2h_bias"].data()))
        h2h = invoke(to_state, (states[0], own["h2h_weight"].data(), own["h2h_bias"].data()))
        new = self._gated(i2h, h2h, states, self._conv_layout.index("C"))
        return new[0], new

    def _gated(self, i2h: ndarray, h2h: ndarray, states: Sequence[ndarray], axis: int) -> list[Any]:
        return [activated(self._asked(self._activation), i2h + h2h)]


class _ConvLSTMCell(_ConvCell):
    """Gates of an LSTM."""

    _gates = 4
    _states = 2

    def _gated(self, i2h: ndarray, h2h: ndarray, states: Sequence[ndarray], axis: int) -> list[Any]:
        act = self._asked(self._activation)
        return list(lstm_step(i2h + h2h, states[1], axis, act, "sigmoid", act))


class _ConvGRUCell(_ConvCell):
    """Gates of a GRU."""

    _gates = 3

    def _gated(self, i2h: ndarray, h2h: ndarray, states: Sequence[ndarray], axis: int) -> list[Any]:
        return [gru_step(i2h, h2h, states[0], axis, self._asked(self._activation), "sigmoid")]


@declared
class _Declared(_ConvCell):
    """The parameters of cells, with the defaults of one dimension."""

    input_shape: InitVar[tuple[int, ...]]
    hidden_channels: InitVar[int]
    i2h_kernel: InitVar[Any]
    h2h_kernel: InitVar[Any]
    i2h_pad: InitVar[Any] = (0,)
    i2h_dilate: InitVar[Any] = (1,)
    h2h_dilate: InitVar[Any] = (1,)
    i2h_weight_initializer: InitVar[Any] = None
    h2h_weight_initializer: InitVar[Any] = None
    i2h_bias_initializer: InitVar[Any] = "zeros"
    h2h_bias_initializer: InitVar[Any] = "zeros"
    conv_layout: InitVar[str] = "NCW"
    activation: InitVar[Any] = "tanh"


class _Cell1D(_Declared):
    """The signature of cells in one dimension."""

    _dims = 1


@declared
class _Cell2D(_Declared):
    """The signature of cells in two dimensions."""

    _dims = 2

    i2h_pad: InitVar[Any] = (0, 0)
    i2h_dilate: InitVar[Any] = (1, 1)
    h2h_dilate: InitVar[Any] = (1, 1)
    conv_layout: InitVar[str] = "NCHW"


@declared
class _Cell3D(_Declared):
    """The signature of cells in three dimensions."""

    _dims = 3

    i2h_pad: InitVar[Any] = (0, 0, 0)
    i2h_dilate: InitVar[Any] = (1, 1, 1)
    h2h_dilate: InitVar[Any] = (1, 1, 1)
    conv_layout: InitVar[str] = "NCDHW"


class Conv1DRNNCell(_Cell1D):
    """A convolutional plain recurrent net in one dimension.

    The parameters are those of `Conv2DLSTMCell`.

    Examples
    --------
    >>> from gluonx import np, rnn
    >>> cell = rnn.Conv1DRNNCell((3, 8), 2, i2h_kernel=3, h2h_kernel=3, i2h_pad=1)
    >>> cell.initialize()
    >>> out, states = cell(np.ones((1, *(3, 8))), cell.begin_state(1))
    >>> out.shape
    (1, 2, 8)
    """


class Conv1DLSTMCell(_Cell1D, _ConvLSTMCell):
    """A convolutional LSTM in one dimension.

    The parameters are those of `Conv2DLSTMCell`.

    Examples
    --------
    >>> from gluonx import np, rnn
    >>> cell = rnn.Conv1DLSTMCell((3, 8), 2, i2h_kernel=3, h2h_kernel=3, i2h_pad=1)
    >>> cell.initialize()
    >>> out, states = cell(np.ones((1, *(3, 8))), cell.begin_state(1))
    >>> out.shape
    (1, 2, 8)
    """


class Conv1DGRUCell(_Cell1D, _ConvGRUCell):
    """A convolutional GRU in one dimension.

    The parameters are those of `Conv2DLSTMCell`.

    Examples
    --------
    >>> from gluonx import np, rnn
    >>> cell = rnn.Conv1DGRUCell((3, 8), 2, i2h_kernel=3, h2h_kernel=3, i2h_pad=1)
    >>> cell.initialize()
    >>> out, states = cell(np.ones((1, *(3, 8))), cell.begin_state(1))
    >>> out.shape
    (1, 2, 8)
    """


class Conv2DRNNCell(_Cell2D):
    """A convolutional plain recurrent net in two dimensions.

    The parameters are those of `Conv2DLSTMCell`.

    Examples
    --------
    >>> from gluonx import np, rnn
    >>> cell = rnn.Conv2DRNNCell((3, 8, 8), 2, i2h_kernel=3, h2h_kernel=3, i2h_pad=1)
    >>> cell.initialize()
    >>> out, states = cell(np.ones((1, *(3, 8, 8))), cell.begin_state(1))
    >>> out.shape
    (1, 2, 8, 8)
    """


class Conv2DLSTMCell(_Cell2D, _ConvLSTMCell):
    """A convolutional LSTM in two dimensions (Shi et al. 2015, without peepholes).

    Parameters
    ----------
    input_shape : tuple of int
        The shape of one sample in the layout: (channels, height, width) of ``'NCHW'``.
    hidden_channels : int
        The channels of output and states.
    i2h_kernel, h2h_kernel : int or tuple of int
        The kernels of the convolutions of input and state; that of the state is odd, and padded so that the state keeps
        its shape.
    i2h_pad, i2h_dilate, h2h_dilate : int or tuple of int
    i2h_weight_initializer, h2h_weight_initializer, i2h_bias_initializer, h2h_bias_initializer : Initializer or str
    conv_layout : str
        ``'NCHW'`` or ``'NHWC'`` here.
    activation : str or Block
        In place of tanh.

    Raises
    ------
    ValueError
        If the layout is unknown, the recurrent kernel even, or the kernel larger than the input.

    Examples
    --------
    >>> from gluonx import np
    >>> cell = Conv2DLSTMCell((3, 8, 8), 2, i2h_kernel=3, h2h_kernel=3, i2h_pad=1)
    >>> cell.initialize()
    >>> outputs, states = cell.unroll(5, np.ones((4, 5, 3, 8, 8)), merge_outputs=True)
    >>> outputs.shape, cell
    ((4, 5, 2, 8, 8), Conv2DLSTMCell(3 -> 8, tanh, NCHW))
    """


class Conv2DGRUCell(_Cell2D, _ConvGRUCell):
    """A convolutional GRU in two dimensions.

    The parameters are those of `Conv2DLSTMCell`.

    Examples
    --------
    >>> from gluonx import np, rnn
    >>> cell = rnn.Conv2DGRUCell((3, 8, 8), 2, i2h_kernel=3, h2h_kernel=3, i2h_pad=1)
    >>> cell.initialize()
    >>> out, states = cell(np.ones((1, *(3, 8, 8))), cell.begin_state(1))
    >>> out.shape
    (1, 2, 8, 8)
    """


class Conv3DRNNCell(_Cell3D):
    """A convolutional plain recurrent net in three dimensions.

    The parameters are those of `Conv2DLSTMCell`.

    Examples
    --------
    >>> from gluonx import np, rnn
    >>> cell = rnn.Conv3DRNNCell((3, 4, 4, 4), 2, i2h_kernel=3, h2h_kernel=3, i2h_pad=1)
    >>> cell.initialize()
    >>> out, states = cell(np.ones((1, *(3, 4, 4, 4))), cell.begin_state(1))
    >>> out.shape
    (1, 2, 4, 4, 4)
    """


class Conv3DLSTMCell(_Cell3D, _ConvLSTMCell):
    """A convolutional LSTM in three dimensions.

    The parameters are those of `Conv2DLSTMCell`.

    Examples
    --------
    >>> from gluonx import np, rnn
    >>> cell = rnn.Conv3DLSTMCell((3, 4, 4, 4), 2, i2h_kernel=3, h2h_kernel=3, i2h_pad=1)
    >>> cell.initialize()
    >>> out, states = cell(np.ones((1, *(3, 4, 4, 4))), cell.begin_state(1))
    >>> out.shape
    (1, 2, 4, 4, 4)
    """


class Conv3DGRUCell(_Cell3D, _ConvGRUCell):
    """A convolutional GRU in three dimensions.

    The parameters are those of `Conv2DLSTMCell`.

    Examples
    --------
    >>> from gluonx import np, rnn
    >>> cell = rnn.Conv3DGRUCell((3, 4, 4, 4), 2, i2h_kernel=3, h2h_kernel=3, i2h_pad=1)
    >>> cell.initialize()
    >>> out, states = cell(np.ones((1, *(3, 4, 4, 4))), cell.begin_state(1))
    >>> out.shape
    (1, 2, 4, 4, 4)
    """
