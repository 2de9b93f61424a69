"""The layers RNN, LSTM and GRU: whole sequences, several layers, one or both directions; one operator a call.

A layer declares its parameters as people name them (``l0_i2h_weight``, ``r1_h2h_bias``, ...), each with its own
initializer, and fuses them as soon as shapes are known into the flat ``rnn_param`` that the operator ``rnn`` takes and
that MXNet 2 has, in files too. Files of MXNet 1, and safetensors, hold the single names; both kinds are read.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, InitVar
from typing import Any

from gluonx import np
from gluonx.block.block import HybridBlock
from gluonx.block.declared import declared
from gluonx.block.fusion.layout import Fused
from gluonx.block.parameter import Parameter
from gluonx.block.tools import unfailing
from gluonx.deferred import invoke
from gluonx.dtype import DTypeLike
from gluonx.errors import ArgumentError, FusionError, ShapeError
from gluonx.np import ndarray
from gluonx.ops import get
from gluonx.ops.rnn import input_size_of, packing

__all__ = ["GRU", "LSTM", "RNN"]

_LAYOUTS = ("TNC", "NTC")
_KINDS = ("i2h_weight", "h2h_weight", "i2h_bias", "h2h_bias", "h2r_weight")
_OTHER_STATES = "{cls}: {wanted} states are needed, of shapes {shapes}; {came} came."
_OTHER_SHAPE = "{cls}: a state has shape {came}, but inputs of shape {inputs} need {wanted}."


class _RNNLayer(HybridBlock):
    """The common layer; a subclass says what it takes, and which mode of the operator it is."""

    _kind = ""  # the mode of the operator, where the activation does not tell

    def __init__(
        self,
        hidden_size: int,
        num_layers: int,
        layout: str,
        dropout: float,
        bidirectional: bool,
        input_size: int,
        dtype: DTypeLike,
        use_sequence_length: bool,
        activation: str = "tanh",
        projection_size: int | None = None,
        state_clip_min: float | None = None,
        state_clip_max: float | None = None,
        state_clip_nan: bool = False,
        **initializers: Any,
    ) -> None:
        super().__init__()
        name = type(self).__name__
        if activation not in ("relu", "tanh"):
            raise ValueError(f"{name}: activation must be 'relu' or 'tanh', got {activation!r}.")
        if layout not in _LAYOUTS:
            raise ArgumentError(f"{name} knows the layouts TNC and NTC, not {layout!r}.")
        for what, size in (("hidden_size", hidden_size), ("num_layers", num_layers)):
            if size < 1:
                raise ValueError(f"{name}: {what} must be at least 1, got {size}.")
        if not 0 <= dropout <= 1:
            raise ValueError(f"{name}: dropout must be in [0, 1], got {dropout}.")
        self._hidden_size, self._num_layers, self._layout = hidden_size, num_layers, layout
        self._dropout, self._dir, self._input_size = dropout, 2 if bidirectional else 1, input_size
        self._mode, self._projection_size, self._dtype = self._kind or f"rnn_{activation}", projection_size, dtype
        self._use_sequence_length = use_sequence_length
        self._bidirectional = bool(bidirectional)
        op = get("rnn")
        attrs = {
            "mode": self._mode,
            "state_size": hidden_size,
            "num_layers": num_layers,
            "bidirectional": bool(bidirectional),
            "p": float(dropout),
            "use_sequence_length": use_sequence_length,
            "projection_size": projection_size,
            "lstm_state_clip_min": state_clip_min,
            "lstm_state_clip_max": state_clip_max,
            "lstm_state_clip_nan": bool(state_clip_nan),
        }
        self._ops = tuple(op.bind(**attrs, state_outputs=outputs) for outputs in (False, True))
        pieces = self._pieces(input_size)
        for piece, shape in sorted(pieces, key=lambda found: _place(found[0])):
            init = initializers[f"{piece.split('_', 1)[1]}_initializer"]
            setattr(self, piece, Parameter(piece, shape=shape, init=init, dtype=dtype, allow_deferred_init=True))
        flat = Fused("rnn_param", tuple(piece for piece, _ in pieces), how="flat")
        self.declare_fusion(flat)
        self.declare_file_form("mxnet", flat, complete=self._shapes_of_file)
        self.fuse()

    def _pieces(self, input_size: int) -> Any:
        return packing(
            self._mode, input_size, self._hidden_size, self._num_layers, self._bidirectional, self._projection_size
        )

    def _shapes_of_file(self, size: int) -> dict[str, tuple[int, ...]]:
        """Give the shapes of all parameters, when the flat one of a file has `size` elements; none if no input fits."""
        found = input_size_of(
            size, self._mode, self._hidden_size, self._num_layers, self._bidirectional, self._projection_size
        )
        return {} if found is None else dict(self._pieces(found))

    @unfailing
    def __repr__(self) -> str:
        shape = self._reg_params["l0_i2h_weight"].shape
        inputs = shape[1] if shape is not None and shape[1] > 0 else None
        said = [f"{inputs} -> {self._hidden_size}", self._layout]
        said += [f"num_layers={self._num_layers}"] * (self._num_layers != 1)
        said += [f"dropout={self._dropout}"] * (self._dropout != 0) + ["bidirectional"] * (self._dir == 2)
        return f"{type(self).__name__}({', '.join(said)})"

    @property
    def rnn_param(self) -> Parameter:
        """The flat parameter, as in MXNet 2: there from the beginning on, with an array once shapes and values are."""
        fusions = self._own_fusions()
        if "rnn_param" not in fusions.shown():
            self.fuse()
        found = fusions.shown().get("rnn_param")
        if found is None:
            raise FusionError(f"{self!r} has no rnn_param: some of its parameters are to be fused with others.")
        return found

    def state_info(self, batch_size: int = 0) -> list[dict[str, Any]]:
        """Return the shape, layout and dtype of each state: the output's, and of an LSTM the cell's."""
        count, out = self._num_layers * self._dir, self._projection_size or self._hidden_size
        sizes = (out, self._hidden_size) if self._mode == "lstm" else (out,)
        return [{"shape": (count, batch_size, n), "__layout__": "LNC", "dtype": self._dtype} for n in sizes]

    def begin_state(
        self, batch_size: int = 0, func: Callable[..., ndarray] | None = None, **kwargs: object
    ) -> list[ndarray]:
        """Return the states before the first step.

        Parameters
        ----------
        batch_size : int
        func : callable, optional
            ``func(shape=..., dtype=..., **kwargs)`` makes a state; ``np.zeros`` by default.
        **kwargs
            Given to `func`.

        Returns
        -------
        list of ndarray, shape (layers * directions, batch_size, size)
        """
        make = np.zeros if func is None else func
        infos = self.state_info(batch_size)
        return [make(**{"shape": info["shape"], "dtype": info["dtype"], **kwargs}) for info in infos]

    def cast(self, dtype: DTypeLike) -> None:
        """Change the dtype of parameters and of default states."""
        super().cast(dtype)
        self._dtype = dtype

    def infer_shape(self, inputs: ndarray, *args: object, **kwargs: object) -> None:
        """Learn ``input_size`` from an input."""
        if len(inputs.shape) == 3:  # otherwise forward says what is wrong
            for piece, shape in self._pieces(inputs.shape[2]):
                self._reg_params[piece].shape = shape

    def forward(
        self, inputs: ndarray, states: Sequence[ndarray] | None = None, sequence_length: ndarray | None = None
    ) -> Any:
        """Walk over a batch of sequences.

        Parameters
        ----------
        inputs : ndarray, shape (time, batch, features), or (batch, time, features) in layout NTC
        states : ndarray or list of ndarray, optional
            As of :meth:`begin_state`; zeros if not given.
        sequence_length : ndarray, shape (batch,), optional
            Of a layer made with ``use_sequence_length=True``.

        Returns
        -------
        ndarray, or (ndarray, list of ndarray) if states were given
            The outputs in the layout of the inputs, and the last states.
        """
        if len(inputs.shape) != 3:
            raise ShapeError(f"{type(self).__name__}: the inputs have shape {tuple(inputs.shape)}, not {self._layout}.")
        if (sequence_length is not None) != self._use_sequence_length:
            raise ValueError(
                f"{type(self).__name__}: sequence_length goes together with use_sequence_length=True, which makes the "
                f"layer heed it; here it is {self._use_sequence_length}, and the lengths are "
                f"{'given' if sequence_length is not None else 'not given'}."
            )
        first, batch = states, inputs.shape[self._layout.index("N")]
        if first is None and type(self).begin_state is not _RNNLayer.begin_state:
            first = self.begin_state(batch, device=inputs.device, dtype=inputs.dtype)
        outs = self._forward_kernel(
            inputs, None if first is None else self._checked(first, inputs, batch), sequence_length
        )
        return outs[0] if states is None else outs

    def _forward_kernel(
        self, inputs: ndarray, states: list[ndarray] | None, sequence_length: ndarray | None
    ) -> tuple[Any, list[Any]]:
        """Return the outputs and the last states, none if the first are None: zeros. The name is MXNet's."""
        x = inputs.swapaxes(0, 1) if self._layout == "NTC" else inputs
        first, cell = (*(states or (None,)), None)[:2]
        outs = invoke(self._ops[states is not None], (x, self.weights_of("rnn_param"), first, cell, sequence_length))
        y, *last = (outs,) if states is None else outs
        return (y.swapaxes(0, 1) if self._layout == "NTC" else y), last

    def _checked(self, states: Any, x: Any, batch: int) -> list[Any]:
        states = list(states) if isinstance(states, (list, tuple)) else [states]
        wanted = [info["shape"] for info in self.state_info(batch)]
        cls = type(self).__name__
        if len(states) != len(wanted):
            raise ValueError(_OTHER_STATES.format(cls=cls, wanted=len(wanted), shapes=wanted, came=len(states)))
        for state, shape in zip(states, wanted):
            if tuple(state.shape) != shape:
                came = tuple(state.shape)
                raise ShapeError(_OTHER_SHAPE.format(cls=cls, came=came, inputs=tuple(x.shape), wanted=shape))
        return states


def _place(piece: str) -> tuple[int, bool, int]:
    """Return where MXNet 1 lists a parameter: by layer, then by direction."""
    place, kind = piece.split("_", 1)
    return int(place[1:]), place[0] == "r", _KINDS.index(kind)


@declared
class RNN(_RNNLayer):
    """Plain recurrent layers (Elman 1990): ``h' = act(W x + b + R h + c)``. The other parameters are those of `LSTM`.

    Parameters
    ----------
    activation : {'relu', 'tanh'}

    Examples
    --------
    >>> layer = RNN(4, num_layers=2, activation="tanh")
    >>> layer.initialize()
    >>> layer(np.ones((5, 2, 3))).shape
    (5, 2, 4)
    """

    hidden_size: InitVar[int]
    num_layers: InitVar[int] = 1
    activation: InitVar[str] = "relu"
    layout: InitVar[str] = "TNC"
    dropout: InitVar[float] = 0
    bidirectional: InitVar[bool] = False
    i2h_weight_initializer: InitVar[Any] = None
    h2h_weight_initializer: InitVar[Any] = None
    i2h_bias_initializer: InitVar[Any] = "zeros"
    h2h_bias_initializer: InitVar[Any] = "zeros"
    input_size: InitVar[int] = 0
    dtype: InitVar[Any] = "float32"
    _: KW_ONLY
    use_sequence_length: InitVar[bool] = False


@declared
class LSTM(_RNNLayer):
    """LSTM layers (Hochreiter and Schmidhuber 1997; with `projection_size` as Sak et al. 2014).

    Parameters
    ----------
    hidden_size : int
        The size of the cell, and without projection of the output.
    num_layers : int
    layout : {'TNC', 'NTC'}
        The axes of inputs and outputs: time, batch, features.
    dropout : float
        The share of each layer's input, but for the first, that is dropped in training.
    bidirectional : bool
        Whether each layer walks in both directions; its output is twice as large then.
    input_size : int
        0 leaves it to the first batch.
    i2h_weight_initializer, h2h_weight_initializer, i2h_bias_initializer, h2h_bias_initializer : Initializer or str
        Of the weights of input and state and of their biases, in each layer and direction.
    projection_size : int, optional
        The size of the output and of the recurrent state.
    h2r_weight_initializer : Initializer or str, optional
        Of the projection.
    state_clip_min, state_clip_max : float, optional
        Bounds of the cell at each step.
    state_clip_nan : bool
        Whether NaN in the cell becomes `state_clip_min`.
    dtype : dtype-like
    use_sequence_length : bool
        Whether the call takes ``sequence_length``.

    Examples
    --------
    >>> layer = LSTM(4, bidirectional=True)
    >>> layer.initialize()
    >>> outputs, states = layer(np.ones((5, 2, 3)), layer.begin_state(2))
    >>> outputs.shape, [s.shape for s in states], layer
    ((5, 2, 8), [(2, 2, 4), (2, 2, 4)], LSTM(3 -> 4, TNC, bidirectional))
    >>> layer.l0_h2h_weight.shape, list(layer.collect_params())
    ((16, 4), ['rnn_param'])
    """

    _kind = "lstm"

    hidden_size: InitVar[int]
    num_layers: InitVar[int] = 1
    layout: InitVar[str] = "TNC"
    dropout: InitVar[float] = 0
    bidirectional: InitVar[bool] = False
    input_size: InitVar[int] = 0
    i2h_weight_initializer: InitVar[Any] = None
    h2h_weight_initializer: InitVar[Any] = None
    i2h_bias_initializer: InitVar[Any] = "zeros"
    h2h_bias_initializer: InitVar[Any] = "zeros"
    projection_size: InitVar[int | None] = None
    h2r_weight_initializer: InitVar[Any] = None
    state_clip_min: InitVar[float | None] = None
    state_clip_max: InitVar[float | None] = None
    state_clip_nan: InitVar[bool] = False
    dtype: InitVar[Any] = "float32"
    _: KW_ONLY
    use_sequence_length: InitVar[bool] = False


@declared
class GRU(_RNNLayer):
    """GRU layers (Cho et al. 2014, the reset gate after the recurrent product). The parameters are those of `LSTM`.

    Examples
    --------
    >>> layer = GRU(4, layout="NTC", input_size=3)
    >>> layer.initialize()
    >>> layer(np.ones((2, 5, 3))).shape
    (2, 5, 4)
    """

    _kind = "gru"

    hidden_size: InitVar[int]
    num_layers: InitVar[int] = 1
    layout: InitVar[str] = "TNC"
    dropout: InitVar[float] = 0
    bidirectional: InitVar[bool] = False
    input_size: InitVar[int] = 0
    i2h_weight_initializer: InitVar[Any] = None
    h2h_weight_initializer: InitVar[Any] = None
    i2h_bias_initializer: InitVar[Any] = "zeros"
    h2h_bias_initializer: InitVar[Any] = "zeros"
    dtype: InitVar[Any] = "float32"
    _: KW_ONLY
    use_sequence_length: InitVar[bool] = False
