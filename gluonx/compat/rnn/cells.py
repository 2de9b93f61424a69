"""Recurrent cells as symbols."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

import numpy as onp

from gluonx import initializer as init
from gluonx.compat import nd
from gluonx.compat import symbol as sym
from gluonx.compat.symbol import Symbol
from gluonx.errors import GluonxError

__all__ = [
    "BaseRNNCell",
    "BidirectionalCell",
    "DropoutCell",
    "FusedRNNCell",
    "GRUCell",
    "LSTMCell",
    "ModifierCell",
    "RNNCell",
    "RNNParams",
    "ResidualCell",
    "SequentialRNNCell",
    "ZoneoutCell",
]


_MODIFIED = "this cell is modified by another: call begin_state of that one"


class RNNParams:
    """The variables of a cell, made when they are first asked for; cells that share them share weights.

    Parameters
    ----------
    prefix : str
        What their names begin with.
    """

    def __init__(self, prefix: str = "") -> None:
        self._prefix = prefix
        self._params: dict[str, Any] = {}

    def get(self, name: str, **kwargs: Any) -> Any:
        """Return the variable of that name; it is made with the keywords of ``mx.sym.Variable``."""
        name = self._prefix + name
        if name not in self._params:
            self._params[name] = sym.Variable(name, **kwargs)
        return self._params[name]


class BaseRNNCell:
    """The base of all cells.

    Parameters
    ----------
    prefix : str
        What the names of nodes and variables begin with.
    params : RNNParams, optional
        Variables of another cell, to share.
    """

    _gates: ClassVar[tuple[str, ...]] = ("",)
    _num_hidden = 0

    def __init__(self, prefix: str = "", params: RNNParams | None = None) -> None:
        self._own_params = params is None
        self._prefix = prefix
        self._params = RNNParams(prefix) if params is None else params
        self._modified = False
        self.reset()

    def reset(self) -> None:
        """Count steps and states from 0; before a cell is used for another graph."""
        self._init_counter = self._counter = -1

    def __call__(self, inputs: Any, states: Any) -> tuple[Any, list[Any]]:
        """Return the symbols of output and next states, for those of an input and states."""
        raise NotImplementedError(f"{type(self).__name__} must define __call__(inputs, states)")

    @property
    def params(self) -> RNNParams:
        """The variables; whoever asks for them shares them."""
        self._own_params = False
        return self._params

    @property
    def state_info(self) -> list[dict[str, Any]]:
        """Shapes and layouts of the states; 0 for the size of the batch."""
        raise NotImplementedError(f"{type(self).__name__} must define state_info")

    @property
    def state_shape(self) -> list[tuple[int, ...]]:
        """Shapes of the states."""
        return [info["shape"] for info in self.state_info]

    @property
    def _gate_names(self) -> tuple[str, ...]:
        return self._gates

    def begin_state(self, func: Callable[..., Any] | None = None, **kwargs: Any) -> list[Any]:
        """Return the symbols of the first states.

        Parameters
        ----------
        func : callable
            Makes one; ``mx.sym.zeros`` by default, or ``mx.sym.Variable`` for states that are fed.
        **kwargs
            For `func`.
        """
        if self._modified:
            raise AssertionError(_MODIFIED)
        func = func or sym.zeros
        assert func is not None, "a function"
        states = []
        for info in self.state_info:
            self._init_counter += 1
            given = {**info, **kwargs} if func is not sym.zeros else {"shape": info["shape"], **kwargs}
            states.append(func(name=f"{self._prefix}begin_state_{self._init_counter}", **given))
        return states

    def unpack_weights(self, args: Mapping[str, Any]) -> dict[str, Any]:
        """Return parameters with those of this cell cut into one array for each gate."""
        args = dict(args)
        h = self._num_hidden
        for group in ("i2h", "h2h") if self._gate_names != ("",) and h else ():
            for kind in ("weight", "bias"):
                whole = args.pop(f"{self._prefix}{group}_{kind}")
                for j, gate in enumerate(self._gate_names):
                    args[f"{self._prefix}{group}{gate}_{kind}"] = whole[j * h : (j + 1) * h].copy()
        return args

    def pack_weights(self, args: Mapping[str, Any]) -> dict[str, Any]:
        """Return what `unpack_weights` was given."""
        args = dict(args)
        for group in ("i2h", "h2h") if self._gate_names != ("",) and self._num_hidden else ():
            for kind in ("weight", "bias"):
                parts = [args.pop(f"{self._prefix}{group}{gate}_{kind}") for gate in self._gate_names]
                args[f"{self._prefix}{group}_{kind}"] = nd.concat(*parts, dim=0)
        return args

    def unroll(
        self,
        length: int,
        inputs: Any,
        begin_state: Any = None,
        layout: str = "NTC",
        merge_outputs: bool | None = None,
    ) -> tuple[Any, list[Any]]:
        """Return the symbols of the outputs of so many steps, and of the last states.

        Parameters
        ----------
        length : int
            How many steps.
        inputs : Symbol, or list of Symbol
            Of all steps in `layout`, or one for each.
        begin_state : list of Symbol, optional
            ``begin_state()`` by default.
        layout : {'NTC', 'TNC'}
            The axes of batch, time and channels where steps are together.
        merge_outputs : bool, optional
            Whether the outputs are to be one symbol, a list if not; as they come if None.
        """
        return self._unroll(length, inputs, begin_state, layout, merge_outputs)

    def _unroll(
        self, length: int, inputs: Any, begin_state: Sequence[Symbol] | None, layout: str, merge_outputs: bool | None
    ) -> tuple[Any, ...]:
        self.reset()
        steps, _ = _steps(length, inputs, layout)
        states = self.begin_state() if begin_state is None else begin_state
        outputs = []
        for step in steps:
            output, states = self(step, states)
            outputs.append(output)
        return _merged(outputs, layout, merge_outputs), states

    def _activated(self, inputs: Any, activation: Any, name: str) -> Any:
        if isinstance(activation, str):
            return sym.Activation(inputs, act_type=activation, name=name)
        return activation(inputs, name=name)

    def _step(self) -> str:
        self._counter += 1
        return f"{self._prefix}t{self._counter}_"


def _steps(length: int, inputs: Any, layout: str) -> tuple[list[Any], int]:
    """One symbol for each step, and the axis of time."""
    axis = layout.find("T")
    if layout not in ("NTC", "TNC"):
        raise ValueError(f"layout must be 'NTC' or 'TNC', got {layout!r}")
    if isinstance(inputs, Symbol):
        if len(inputs) != 1:
            raise AssertionError("unroll takes one symbol for all steps, or a list of one for each; got a group")
        return _cut(inputs, axis, length), axis
    if len(inputs) != length:
        raise AssertionError(f"unroll of {length} steps was given {len(inputs)} inputs")
    return list(inputs), axis


def _cut(whole: Symbol, axis: int, length: int) -> list[Any]:
    """Return the symbols of the steps that one has along an axis."""
    parts = sym.SliceChannel(whole, axis=axis, num_outputs=length, squeeze_axis=1)
    return [parts[i] for i in range(length)]


def _merged(outputs: Any, layout: str, merge: bool | None) -> Any:
    """Return the outputs of steps, which come as a list, as one symbol if asked."""
    axis = layout.find("T")
    if not merge:
        return outputs
    return sym.Concat(*[sym.expand_dims(one, axis=axis) for one in outputs], dim=axis)


class _Gated(BaseRNNCell):
    """A cell of two FullyConnected, of input and of state."""

    def __init__(
        self, num_hidden: int, prefix: str, params: RNNParams | None, forget_bias: float | None = None
    ) -> None:
        super().__init__(prefix, params)
        self._num_hidden = num_hidden
        bias = {} if forget_bias is None else {"init": init.LSTMBias(forget_bias=forget_bias)}
        self._weights = {
            name: self._params.get(name, **(bias if name == "i2h_bias" else {}))
            for name in ("i2h_weight", "i2h_bias", "h2h_weight", "h2h_bias")
        }

    @property
    def state_info(self) -> list[dict[str, Any]]:
        """Shapes and layouts of the states."""
        return [{"shape": (0, self._num_hidden), "__layout__": "NC"}]

    def _linear(self, x: Symbol, group: str, name: str) -> Symbol:
        weight, bias = self._weights[f"{group}_weight"], self._weights[f"{group}_bias"]
        units = self._num_hidden * len(self._gates)
        return sym.FullyConnected(x, weight, bias, num_hidden=units, name=f"{name}{group}")


class RNNCell(_Gated):
    """The simple recurrent cell: ``activation(W_i x + b_i + W_h h + b_h)``.

    Parameters
    ----------
    num_hidden : int
    activation : str or callable
    prefix : str
    params : RNNParams, optional
    """

    def __init__(
        self, num_hidden: int, activation: Any = "tanh", prefix: str = "rnn_", params: RNNParams | None = None
    ) -> None:
        super().__init__(num_hidden, prefix, params)
        self._activation = activation

    def __call__(self, inputs: Any, states: Any) -> tuple[Any, list[Any]]:
        """Return the output, and it as the next state."""
        name = self._step()
        both = self._linear(inputs, "i2h", name) + self._linear(states[0], "h2h", name)
        output = self._activated(both, self._activation, f"{name}out")
        return output, [output]


class LSTMCell(_Gated):
    """The cell of long short-term memory (Hochreiter and Schmidhuber, 1997); gates in the order i, f, c, o.

    Parameters
    ----------
    num_hidden : int
    prefix : str
    params : RNNParams, optional
    forget_bias : float, default 1.0
        What the bias of the forget gate begins with.
    """

    _gates = ("_i", "_f", "_c", "_o")

    def __init__(
        self, num_hidden: int, prefix: str = "lstm_", params: RNNParams | None = None, forget_bias: float = 1.0
    ) -> None:
        super().__init__(num_hidden, prefix, params, forget_bias)

    @property
    def state_info(self) -> list[dict[str, Any]]:
        """Shapes and layouts of the output and the memory."""
        return super().state_info * 2

    def __call__(self, inputs: Any, states: Any) -> tuple[Any, list[Any]]:
        """Return the output, and output and memory as the next states."""
        name = self._step()
        gates = self._linear(inputs, "i2h", name) + self._linear(states[0], "h2h", name)
        cut = sym.SliceChannel(gates, num_outputs=4, name=f"{name}slice")
        taken, kept, told = [
            sym.Activation(cut[i], act_type="sigmoid", name=f"{name}{g}") for i, g in zip((0, 1, 3), "ifo")
        ]
        candidate = sym.Activation(cut[2], act_type="tanh", name=f"{name}c")
        memory = kept * states[1] + taken * candidate
        output = told * sym.Activation(memory, act_type="tanh", name=f"{name}state")
        return output, [output, memory]


class GRUCell(_Gated):
    """The gated recurrent unit (Cho et al., 2014), with the reset after the product; gates in the order r, z, o.

    Parameters
    ----------
    num_hidden : int
    prefix : str
    params : RNNParams, optional
    """

    _gates = ("_r", "_z", "_o")

    def __init__(self, num_hidden: int, prefix: str = "gru_", params: RNNParams | None = None) -> None:
        super().__init__(num_hidden, prefix, params)

    def __call__(self, inputs: Any, states: Any) -> tuple[Any, list[Any]]:
        """Return the output, and it as the next state."""
        name, before = self._step(), states[0]
        i2h = sym.SliceChannel(self._linear(inputs, "i2h", name), num_outputs=3, name=f"{name}i2h_slice")
        h2h = sym.SliceChannel(self._linear(before, "h2h", name), num_outputs=3, name=f"{name}h2h_slice")
        reset = sym.Activation(i2h[0] + h2h[0], act_type="sigmoid", name=f"{name}r_act")
        update = sym.Activation(i2h[1] + h2h[1], act_type="sigmoid", name=f"{name}z_act")
        candidate = sym.Activation(i2h[2] + reset * h2h[2], act_type="tanh", name=f"{name}h_act")
        output = (1.0 - update) * candidate + update * before
        return output, [output]


_GATES = {"rnn_relu": RNNCell._gates, "rnn_tanh": RNNCell._gates, "lstm": LSTMCell._gates, "gru": GRUCell._gates}


class FusedRNNCell(BaseRNNCell):
    """Layers of recurrent cells as one operator, ``RNN``, with all weights in one vector.

    Parameters
    ----------
    num_hidden : int
    num_layers : int, default 1
    mode : {'rnn_relu', 'rnn_tanh', 'lstm', 'gru'}
    bidirectional : bool
    dropout : float
        Between layers, in training.
    get_next_state : bool
        Whether ``unroll`` gives the last states.
    forget_bias : float
        What the biases of forget gates begin with.
    prefix : str, optional
        ``'lstm_'`` for the mode lstm, and so on.
    params : RNNParams, optional

    Raises
    ------
    ValueError
        For another mode.
    """

    def __init__(
        self,
        num_hidden: int,
        num_layers: int = 1,
        mode: str = "lstm",
        bidirectional: bool = False,
        dropout: float = 0.0,
        get_next_state: bool = False,
        forget_bias: float = 1.0,
        prefix: str | None = None,
        params: RNNParams | None = None,
    ) -> None:
        if mode not in _GATES:
            raise ValueError(f"mode must be one of {', '.join(_GATES)}, got {mode!r}")
        super().__init__(f"{mode}_" if prefix is None else prefix, params)
        self._num_hidden, self._num_layers, self._mode = num_hidden, num_layers, mode
        self._bidirectional, self._dropout = bidirectional, dropout
        self._get_next_state, self._forget_bias = get_next_state, forget_bias
        self._directions = ("l", "r") if bidirectional else ("l",)
        # Both biases of a forget gate begin with the number, as in MXNet.
        bias = init.LSTMBias(forget_bias=forget_bias) if mode == "lstm" else None
        start = init.RNNFused(
            mode, num_layers, num_hidden, bidirectional, i2h_bias_initializer=bias, h2h_bias_initializer=bias
        )
        self._parameter = self._params.get("parameters", init=start)

    @property
    def state_info(self) -> list[dict[str, Any]]:
        """Shapes and layouts of the states."""
        shape = (len(self._directions) * self._num_layers, 0, self._num_hidden)
        return [{"shape": shape, "__layout__": "LNC"}] * (2 if self._mode == "lstm" else 1)

    @property
    def _gate_names(self) -> tuple[str, ...]:
        return _GATES[self._mode]

    def __call__(self, inputs: Any, states: Any) -> Any:
        """Raise NotImplementedError: the operator takes all steps at once."""
        raise NotImplementedError("a FusedRNNCell takes no single steps: call unroll, or unfuse() for cells that do")

    def _unroll(
        self, length: int, inputs: Symbol, begin_state: Any, layout: str, merge_outputs: bool | None
    ) -> tuple[Any, ...]:
        """Return the symbols of the outputs, and of the last states if asked for."""
        self.reset()
        axis = layout.find("T")
        if not isinstance(inputs, Symbol):
            inputs = _merged(_steps(length, inputs, layout)[0], layout, True)
        inputs = sym.SwapAxis(inputs, dim1=0, dim2=1) if axis == 1 else inputs
        states = self.begin_state() if begin_state is None else begin_state
        named = dict(zip(("state", "state_cell"), states, strict=False))
        rnn = sym.RNN(
            data=inputs,
            parameters=self._parameter,
            state_size=self._num_hidden,
            num_layers=self._num_layers,
            bidirectional=self._bidirectional,
            p=self._dropout,
            state_outputs=self._get_next_state,
            mode=self._mode,
            name=f"{self._prefix}rnn",
            **named,
        )
        outputs = rnn[0] if self._get_next_state else rnn
        last = [rnn[1 + i] for i in range(len(states))] if self._get_next_state else []
        outputs = sym.SwapAxis(outputs, dim1=0, dim2=1) if axis == 1 else outputs
        if merge_outputs is False:
            return _cut(outputs, axis, length), last
        return outputs, last

    def _slices(self, vector: onp.ndarray, input_size: int) -> dict[str, onp.ndarray]:
        """Return the pieces of the vector by the names that single cells give them: views of it."""
        h, d, pieces, at = self._num_hidden, len(self._directions), {}, 0
        for kind in ("weight", "bias"):
            for layer in range(self._num_layers):
                for side in self._directions:
                    for group in ("i2h", "h2h"):
                        columns = h if group == "h2h" else input_size if layer == 0 else d * h
                        size = h * columns if kind == "weight" else h
                        for gate in self._gate_names:
                            piece = vector[at : at + size]
                            name = f"{self._prefix}{side}{layer}_{group}{gate}_{kind}"
                            pieces[name] = piece.reshape(h, columns) if kind == "weight" else piece
                            at += size
        if at != vector.size:
            raise GluonxError(f"{self._prefix}parameters holds {vector.size} numbers, but {at} are needed")
        return pieces

    def _length(self, input_size: int) -> int:
        h, d, m = self._num_hidden, len(self._directions), len(self._gate_names)
        rows = sum((input_size if layer == 0 else d * h) + h + 2 for layer in range(self._num_layers))
        return rows * h * d * m

    def unpack_weights(self, args: Mapping[str, Any]) -> dict[str, Any]:
        """Return parameters with the vector cut into one array for each layer, direction and gate."""
        args = dict(args)
        vector = args.pop(f"{self._prefix}parameters").asnumpy()
        h, d, m = self._num_hidden, len(self._directions), len(self._gate_names)
        input_size = (vector.size - self._length(0)) // (h * d * m)
        pieces = self._slices(vector, input_size)
        return {**args, **{name: nd.array(piece, dtype=piece.dtype) for name, piece in pieces.items()}}

    def pack_weights(self, args: Mapping[str, Any]) -> dict[str, Any]:
        """Return what `unpack_weights` was given."""
        args = dict(args)
        first = args[f"{self._prefix}l0_i2h{self._gate_names[0]}_weight"]
        vector = onp.zeros(self._length(first.shape[1]), first.dtype)
        for name, piece in self._slices(vector, first.shape[1]).items():
            piece[...] = args.pop(name).asnumpy()
        return {**args, f"{self._prefix}parameters": nd.array(vector, dtype=vector.dtype)}

    def unfuse(self) -> SequentialRNNCell:
        """Return cells that do the same step by step; `unpack_weights` gives their weights."""
        make: dict[str, Callable[[str], Any]] = {
            "rnn_relu": lambda prefix: RNNCell(self._num_hidden, "relu", prefix),
            "rnn_tanh": lambda prefix: RNNCell(self._num_hidden, "tanh", prefix),
            "lstm": lambda prefix: LSTMCell(self._num_hidden, prefix),
            "gru": lambda prefix: GRUCell(self._num_hidden, prefix),
        }
        stack = SequentialRNNCell()
        for i in range(self._num_layers):
            cells = [make[self._mode](f"{self._prefix}{side}{i}_") for side in self._directions]
            both = len(cells) == 2
            stack.add(BidirectionalCell(*cells, output_prefix=f"{self._prefix}bi_l{i}_") if both else cells[0])
            if self._dropout > 0 and i != self._num_layers - 1:
                stack.add(DropoutCell(self._dropout, prefix=f"{self._prefix}_dropout{i}_"))
        return stack


class _Container(BaseRNNCell):
    """A cell that is made of others, whose variables and states are its own."""

    def __init__(self, params: RNNParams | None = None) -> None:
        super().__init__("", params)
        self._shares_params = params is not None
        self._cells: list[Any] = []

    def _take(self, cell: Any) -> None:
        """Put another cell at the end."""
        if self._shares_params:
            if not cell._own_params:
                raise AssertionError(
                    f"params are given either to the {type(self).__name__} or to its cells, not to both"
                )
            cell.params._params.update(self.params._params)
        self.params._params.update(cell.params._params)
        self._cells.append(cell)

    def reset(self) -> None:
        """Count from 0, in all cells."""
        super().reset()
        for cell in getattr(self, "_cells", ()):
            cell.reset()

    @property
    def state_info(self) -> list[dict[str, Any]]:
        """Shapes and layouts of the states of all cells."""
        return [info for cell in self._cells for info in cell.state_info]

    def begin_state(self, func: Callable[..., Any] | None = None, **kwargs: Any) -> list[Any]:
        """Return the symbols of the first states of all cells."""
        if self._modified:
            raise AssertionError(_MODIFIED)
        return [state for cell in self._cells for state in cell.begin_state(func, **kwargs)]

    def unpack_weights(self, args: Mapping[str, Any]) -> dict[str, Any]:
        """Return parameters with those of all cells cut into gates."""
        return functools.reduce(lambda found, cell: cell.unpack_weights(found), self._cells, dict(args))

    def pack_weights(self, args: Mapping[str, Any]) -> dict[str, Any]:
        """Return what `unpack_weights` was given."""
        return functools.reduce(lambda found, cell: cell.pack_weights(found), self._cells, dict(args))


class SequentialRNNCell(_Container):
    """Cells one upon the other, in the order in which they were added."""

    def add(self, cell: Any) -> None:
        """Add a cell on top."""
        self._take(cell)

    def __call__(self, inputs: Any, states: Any) -> tuple[Any, list[Any]]:
        """Return the last cell's output, and the next states of all."""
        self._counter += 1
        following, at = [], 0
        for cell in self._cells:
            count = len(cell.state_info)
            inputs, mine = cell(inputs, states[at : at + count])
            following += mine
            at += count
        return inputs, following

    def _unroll(self, length: int, inputs: Any, begin_state: Any, layout: str, merge_outputs: bool | None) -> Any:
        """Unroll each cell in turn."""
        self.reset()
        states = self.begin_state() if begin_state is None else begin_state
        following, at = [], 0
        for i, cell in enumerate(self._cells):
            count = len(cell.state_info)
            last = i == len(self._cells) - 1
            given = (states[at : at + count], layout, merge_outputs if last else None)
            inputs, mine = cell.unroll(length, inputs, *given)
            following += mine
            at += count
        return inputs, following


class DropoutCell(BaseRNNCell):
    """Drops numbers of its input at random, in training.

    Parameters
    ----------
    dropout : float
        The share that is dropped.
    """

    def __init__(self, dropout: float, prefix: str = "dropout_", params: RNNParams | None = None) -> None:
        super().__init__(prefix, params)
        self.dropout = float(dropout)

    @property
    def state_info(self) -> list[dict[str, Any]]:
        """No state."""
        return []

    def __call__(self, inputs: Any, states: Any) -> tuple[Any, list[Any]]:
        """Return the input with some numbers dropped."""
        return (sym.Dropout(inputs, p=self.dropout) if self.dropout > 0 else inputs), states

    def _unroll(self, length: int, inputs: Any, begin_state: Any, layout: str, merge_outputs: bool | None) -> Any:
        """Drop of all steps at once where they come so."""
        if isinstance(inputs, Symbol) and merge_outputs is not False:
            return self(inputs, [])
        return super()._unroll(length, inputs, begin_state, layout, merge_outputs)


class ModifierCell(BaseRNNCell):
    """The base of cells that change what another one does."""

    def __init__(self, base_cell: Any) -> None:
        super().__init__()
        base_cell._modified = True
        self.base_cell = base_cell

    @property
    def params(self) -> RNNParams:
        """The variables of the cell below."""
        self._own_params = False
        return self.base_cell.params

    @property
    def state_info(self) -> list[dict[str, Any]]:
        """Shapes and layouts of the states of the cell below."""
        return self.base_cell.state_info

    def reset(self) -> None:
        """Count from 0, in the cell below too."""
        super().reset()
        if hasattr(self, "base_cell"):
            self.base_cell.reset()

    def begin_state(self, func: Callable[..., Any] | None = None, **kwargs: Any) -> list[Any]:
        """Return the symbols of the first states of the cell below."""
        if self._modified:
            raise AssertionError(_MODIFIED)
        self.base_cell._modified = False
        try:
            return self.base_cell.begin_state(func, **kwargs)
        finally:
            self.base_cell._modified = True

    def unpack_weights(self, args: Mapping[str, Any]) -> dict[str, Any]:
        """Return parameters with those of the cell below cut into gates."""
        return self.base_cell.unpack_weights(args)

    def pack_weights(self, args: Mapping[str, Any]) -> dict[str, Any]:
        """Return what `unpack_weights` was given."""
        return self.base_cell.pack_weights(args)


class ZoneoutCell(ModifierCell):
    """Keeps numbers of the last step at random, in training (Krueger et al., 2016).

    Parameters
    ----------
    base_cell : BaseRNNCell
    zoneout_outputs, zoneout_states : float
        The shares that are kept.

    Raises
    ------
    AssertionError
        For a FusedRNNCell, which takes no single steps, and a BidirectionalCell.
    """

    def __init__(self, base_cell: Any, zoneout_outputs: float = 0.0, zoneout_states: float = 0.0) -> None:
        if isinstance(base_cell, (FusedRNNCell, BidirectionalCell)):
            raise AssertionError(
                f"a {type(base_cell).__name__} takes no single steps: call its unfuse(), or wrap its cells"
            )
        super().__init__(base_cell)
        self.zoneout_outputs, self.zoneout_states = zoneout_outputs, zoneout_states
        self.prev_output: Any = None

    def reset(self) -> None:
        """Forget the last output."""
        super().reset()
        self.prev_output = None

    def __call__(self, inputs: Any, states: Any) -> tuple[Any, list[Any]]:
        """Return output and next states, some numbers being those of the last step."""
        output, following = self.base_cell(inputs, states)

        def mixed(p: float, new: Any, old: Any) -> Any:
            # Dropout of ones gives 0 for what is kept of the last step.
            return sym.where(sym.Dropout(sym.ones_like(new), p=p), new, old)

        before = sym.zeros_like(output) if self.prev_output is None else self.prev_output
        if self.zoneout_outputs > 0:
            output = mixed(self.zoneout_outputs, output, before)
        if self.zoneout_states > 0:
            following = [mixed(self.zoneout_states, n, o) for n, o in zip(following, states, strict=True)]
        self.prev_output = output
        return output, following


class ResidualCell(ModifierCell):
    """Adds a cell's input to its output (He et al., 2015)."""

    def __call__(self, inputs: Any, states: Any) -> tuple[Any, list[Any]]:
        """Return the sum of input and output, and the next states."""
        output, following = self.base_cell(inputs, states)
        return sym.elemwise_add(output, inputs), following

    def _unroll(self, length: int, inputs: Any, begin_state: Any, layout: str, merge_outputs: bool | None) -> Any:
        """Unroll the cell below and add the inputs."""
        self.reset()
        self.base_cell._modified = False
        try:
            outputs, states = self.base_cell.unroll(length, inputs, begin_state, layout, merge_outputs)
        finally:
            self.base_cell._modified = True
        if isinstance(outputs, Symbol):
            if not isinstance(inputs, Symbol):
                inputs = _merged(inputs, layout, True)
            return sym.elemwise_add(outputs, inputs), states
        steps, _ = _steps(length, inputs, layout)
        return [sym.elemwise_add(o, i) for o, i in zip(outputs, steps, strict=True)], states


class BidirectionalCell(_Container):
    """Two cells, of which one goes through the sequence from its end; their outputs are joined.

    Parameters
    ----------
    l_cell, r_cell : BaseRNNCell
    params : RNNParams, optional
    output_prefix : str
        What the names of outputs begin with.
    """

    def __init__(self, l_cell: Any, r_cell: Any, params: RNNParams | None = None, output_prefix: str = "bi_") -> None:
        super().__init__(params)
        self._output_prefix = output_prefix
        self._take(l_cell)
        self._take(r_cell)

    def __call__(self, inputs: Any, states: Any) -> Any:
        """Raise NotImplementedError: a single step has no end to come from."""
        raise NotImplementedError("a BidirectionalCell takes no single steps: call unroll")

    def _unroll(
        self, length: int, inputs: Any, begin_state: Sequence[Symbol] | None, layout: str, merge_outputs: bool | None
    ) -> tuple[Any, ...]:
        """Unroll both cells and join their outputs."""
        self.reset()
        steps, _ = _steps(length, inputs, layout)
        states = self.begin_state() if begin_state is None else begin_state
        first, second = self._cells
        count = len(first.state_info)
        left, left_states = first.unroll(length, steps, states[:count], layout, False)
        right, right_states = second.unroll(length, steps[::-1], states[count:], layout, False)
        outputs = [
            sym.Concat(one, other, dim=1, name=f"{self._output_prefix}t{i}")
            for i, (one, other) in enumerate(zip(left, right[::-1], strict=True))
        ]
        return _merged(outputs, layout, merge_outputs), [*left_states, *right_states]
