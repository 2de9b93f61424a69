"""The cells that compute: plain, LSTM, LSTM with projection, and GRU."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gluonx import np
from gluonx.block.block import HybridBlock
from gluonx.block.parameter import Parameter
from gluonx.block.tools import unfailing
from gluonx.deferred import invoke
from gluonx.initializer import InitLike
from gluonx.nn.activations import activation_op
from gluonx.np import ndarray
from gluonx.ops import get
from gluonx.rnn.base import HybridRecurrentCell


def activated(activation: str | Callable[..., Any], x: ndarray) -> ndarray:
    """Return an activation, given by its name or as a block or function, of an array."""
    return activation(x) if callable(activation) else invoke(activation_op(activation), (x,))


def known_activation(activation: str | Callable[..., Any]) -> str | Callable[..., Any]:
    """Return a block, or the name of an activation; ValueError if there is none of this name."""
    if not isinstance(activation, HybridBlock):
        activation_op(str(activation))
    return activation


def lstm_step(
    gates: ndarray,
    cell: ndarray,
    axis: int,
    activation: str | Callable[..., Any],
    recurrent_activation: str | Callable[..., Any],
    last: str | Callable[..., Any],
) -> tuple[Any, Any]:
    """Return the new output and cell of an LSTM whose gates i, f, g, o lie along `axis`; `last` is the output's."""
    i, f, g, o = np.split(gates, 4, axis=axis)
    i, f, o = (activated(recurrent_activation, gate) for gate in (i, f, o))
    new = f * cell + i * activated(activation, g)
    return o * activated(last, new), new


def gru_step(
    i2h: ndarray,
    h2h: ndarray,
    state: ndarray,
    axis: int,
    activation: str | Callable[..., Any],
    recurrent_activation: str | Callable[..., Any],
) -> Any:
    """Return the new state of a GRU whose gates r, z, n lie along `axis`."""
    xr, xz, xn = np.split(i2h, 3, axis=axis)
    hr, hz, hn = np.split(h2h, 3, axis=axis)
    r = activated(recurrent_activation, xr + hr)
    z = activated(recurrent_activation, xz + hz)
    n = activated(activation, xn + r * hn)
    return (1.0 - z) * n + z * state


class _Cell(HybridRecurrentCell):
    """Base of the cells, with their two products; ``_gates`` is the number of gates."""

    _gates = 1

    def __init__(
        self,
        hidden_size: int,
        input_size: int,
        inits: tuple[Any, Any, Any, Any],
        projection: tuple[int, Any] | None = None,
    ) -> None:
        super().__init__()
        if hidden_size < 1:
            raise ValueError(f"{type(self).__name__}: hidden_size must be at least 1, got {hidden_size}.")
        rows = self._gates * hidden_size
        self._hidden_size, self._input_size = hidden_size, input_size
        self._op = get("fully_connected").bind(num_hidden=rows, no_bias=False)
        state_size = hidden_size if projection is None else projection[0]
        table = [("i2h_weight", (rows, input_size), inits[0]), ("h2h_weight", (rows, state_size), inits[1])]
        if projection is not None:  # before the biases, as in MXNet: files of its Trainer go by places
            table.append(("h2r_weight", (state_size, hidden_size), projection[1]))
        for name, shape, init in (*table, ("i2h_bias", (rows,), inits[2]), ("h2h_bias", (rows,), inits[3])):
            setattr(self, name, Parameter(name, shape=shape, init=init, allow_deferred_init=True))

    def state_info(self, batch_size: int = 0) -> list[dict[str, Any]]:
        """Return the shape and layout of each state."""
        return [{"shape": (batch_size, self._hidden_size), "__layout__": "NC"}]

    def _products(self, x: ndarray, h: ndarray) -> tuple[Any, Any]:
        own = self._reg_params
        i2h = invoke(self._op, (x, own["i2h_weight"].data(), own["i2h_bias"].data()))
        return i2h, invoke(self._op, (h, own["h2h_weight"].data(), own["h2h_bias"].data()))

    @unfailing
    def __repr__(self) -> str:
        rows, inputs = self._reg_params["i2h_weight"].shape
        return f"{type(self).__name__}({self._block_names.size(inputs)} -> {rows}{self._more()})"

    def _more(self) -> str:
        return ""


class _Gated(_Cell):
    """Base of the cells with gates, whose activations are free."""

    def __init__(
        self,
        hidden_size: int,
        i2h_weight_initializer: InitLike = None,
        h2h_weight_initializer: InitLike = None,
        i2h_bias_initializer: InitLike = "zeros",
        h2h_bias_initializer: InitLike = "zeros",
        input_size: int = 0,
        activation: str | Callable[..., Any] = "tanh",
        recurrent_activation: str | Callable[..., Any] = "sigmoid",
    ) -> None:
        inits = i2h_weight_initializer, h2h_weight_initializer, i2h_bias_initializer, h2h_bias_initializer
        super().__init__(hidden_size, input_size, inits)
        self._activation = known_activation(activation)
        self._recurrent_activation = known_activation(recurrent_activation)


class RNNCell(_Cell):
    """One step of a plain recurrent net (Elman 1990): ``h' = act(W x + b + R h + c)``.

    Parameters
    ----------
    hidden_size : int
        The size of output and state.
    activation : str or Block
    i2h_weight_initializer, h2h_weight_initializer, i2h_bias_initializer, h2h_bias_initializer : Initializer or str
        How W, R, b and c begin.
    input_size : int
        0 leaves it to the first batch.

    Examples
    --------
    >>> cell = RNNCell(3, input_size=2)
    >>> cell.initialize()
    >>> output, states = cell(np.ones((4, 2)), cell.begin_state(4))
    >>> output.shape, len(states), cell
    ((4, 3), 1, RNNCell(2 -> 3, tanh))
    """

    def __init__(
        self,
        hidden_size: int,
        activation: str | Callable[..., Any] = "tanh",
        i2h_weight_initializer: InitLike = None,
        h2h_weight_initializer: InitLike = None,
        i2h_bias_initializer: InitLike = "zeros",
        h2h_bias_initializer: InitLike = "zeros",
        input_size: int = 0,
    ) -> None:
        inits = i2h_weight_initializer, h2h_weight_initializer, i2h_bias_initializer, h2h_bias_initializer
        super().__init__(hidden_size, input_size, inits)
        self._activation = known_activation(activation)

    def _more(self) -> str:
        return f", {self._activation}"

    def forward(self, inputs: ndarray, states: list[ndarray]) -> tuple[ndarray, list[ndarray]]:
        """One step on (batch, input_size); the output is the new state."""
        states = self._states_of(states)
        i2h, h2h = self._products(inputs, states[0])
        output = activated(self._asked(self._activation), i2h + h2h)
        return output, [output]


class LSTMCell(_Gated):
    """One step of an LSTM (Hochreiter and Schmidhuber 1997, with a forget gate).

    The rows of the weights are the gates i, f, g, o: ``c' = f c + i g``, ``h' = o tanh(c')``.

    Parameters
    ----------
    hidden_size : int
        The size of the output and of both states.
    i2h_weight_initializer, h2h_weight_initializer, i2h_bias_initializer, h2h_bias_initializer : Initializer or str
        How the parameters begin; `LSTMBias` is one for a bias.
    input_size : int
        0 leaves it to the first batch.
    activation, recurrent_activation : str or Block
        Of g and the output, and of the three gates.

    Examples
    --------
    >>> cell = LSTMCell(3)
    >>> cell.initialize()
    >>> outputs, states = cell.unroll(5, np.ones((4, 5, 2)), merge_outputs=True)
    >>> outputs.shape, [s.shape for s in states], cell
    ((4, 5, 3), [(4, 3), (4, 3)], LSTMCell(2 -> 12))
    """

    _gates = 4

    def state_info(self, batch_size: int = 0) -> list[dict[str, Any]]:
        """Return the shape and layout of each state: the output, and the cell."""
        return super().state_info(batch_size) * 2

    def forward(self, inputs: ndarray, states: list[ndarray]) -> tuple[ndarray, list[ndarray]]:
        """One step on (batch, input_size)."""
        states = self._states_of(states)
        i2h, h2h = self._products(inputs, states[0])
        act, recurrent = self._asked(self._activation), self._asked(self._recurrent_activation)
        output, cell = lstm_step(i2h + h2h, states[1], 1, act, recurrent, self._activation)
        return output, [output, cell]


class LSTMPCell(_Cell):
    """One step of an LSTM whose output and recurrent state are projected to a smaller size (Sak et al. 2014).

    Parameters
    ----------
    hidden_size, projection_size : int
        The sizes of the cell, and of the output.
    i2h_weight_initializer, h2h_weight_initializer, h2r_weight_initializer : Initializer or str
        Of the weights of input, state and projection.
    i2h_bias_initializer, h2h_bias_initializer : Initializer or str
    input_size : int
        0 leaves it to the first batch.

    Examples
    --------
    >>> cell = LSTMPCell(5, 3, input_size=2)
    >>> [info["shape"] for info in cell.state_info(4)], cell
    ([(4, 3), (4, 5)], LSTMPCell(2 -> 20 -> 3))
    """

    _gates = 4

    def __init__(
        self,
        hidden_size: int,
        projection_size: int,
        i2h_weight_initializer: InitLike = None,
        h2h_weight_initializer: InitLike = None,
        h2r_weight_initializer: InitLike = None,
        i2h_bias_initializer: InitLike = "zeros",
        h2h_bias_initializer: InitLike = "zeros",
        input_size: int = 0,
    ) -> None:
        inits = i2h_weight_initializer, h2h_weight_initializer, i2h_bias_initializer, h2h_bias_initializer
        super().__init__(hidden_size, input_size, inits, (projection_size, h2r_weight_initializer))
        self._projection_size = projection_size
        self._project = get("fully_connected").bind(num_hidden=projection_size, no_bias=True, flatten=False)

    def state_info(self, batch_size: int = 0) -> list[dict[str, Any]]:
        """Return the shape and layout of each state: the projected output, and the cell."""
        return [{"shape": (batch_size, self._projection_size), "__layout__": "NC"}, *super().state_info(batch_size)]

    def _more(self) -> str:
        return f" -> {self._projection_size}"

    def forward(self, inputs: ndarray, states: list[ndarray]) -> tuple[ndarray, list[ndarray]]:
        """One step on (batch, input_size)."""
        states = self._states_of(states)
        i2h, h2h = self._products(inputs, states[0])
        wide, cell = lstm_step(i2h + h2h, states[1], 1, "tanh", "sigmoid", "tanh")
        output = invoke(self._project, (wide, self._reg_params["h2r_weight"].data()))
        return output, [output, cell]


class GRUCell(_Gated):
    """One step of a GRU (Cho et al. 2014), with the reset gate after the recurrent product, as in cuDNN.

    The rows of the weights are the gates r, z, n: ``n = tanh(W x + b + r (R h + c))``, ``h' = (1 - z) n + z h``.

    Parameters
    ----------
    hidden_size : int
        The size of output and state.
    i2h_weight_initializer, h2h_weight_initializer, i2h_bias_initializer, h2h_bias_initializer : Initializer or str
    input_size : int
        0 leaves it to the first batch.
    activation, recurrent_activation : str or Block
        Of n, and of the two gates.

    Examples
    --------
    >>> GRUCell(3, input_size=2)
    GRUCell(2 -> 9)
    """

    _gates = 3

    def forward(self, inputs: ndarray, states: list[ndarray]) -> tuple[ndarray, list[ndarray]]:
        """One step on (batch, input_size); the output is the new state."""
        states = self._states_of(states)
        i2h, h2h = self._products(inputs, states[0])
        output = gru_step(
            i2h, h2h, states[0], 1, self._asked(self._activation), self._asked(self._recurrent_activation)
        )
        return output, [output]
