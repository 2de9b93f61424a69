"""Cells that change what another cell does: residual, dropout, variational dropout, zoneout."""

from __future__ import annotations

import numbers
from collections.abc import Callable, Sequence
from typing import Any

from numpy.typing import ArrayLike

from gluonx import np
from gluonx.autograd import is_training
from gluonx.block.tools import unfailing
from gluonx.deferred import invoke
from gluonx.np import ndarray
from gluonx.ops import get
from gluonx.rnn.base import HybridRecurrentCell, RecurrentCell, Steps, joined, masked

__all__ = ["DropoutCell", "ModifierCell", "ResidualCell", "VariationalDropoutCell", "ZoneoutCell"]


def _rate(value: object, what: str) -> Any:
    if not isinstance(value, numbers.Real) or not 0 <= float(value) <= 1:
        raise ValueError(f"{what} must be a number from 0 to 1, got {value!r}.")
    return value


def _dropped(x: Any, rate: float, axes: tuple[int, ...] = ()) -> Any:
    op = get("dropout").bind(p=float(rate), axes=axes, training=is_training())
    return invoke(op, (x,)) if rate else x


class ModifierCell(HybridRecurrentCell):
    """Base of the modifiers: they have the parameters and the states of the cell that they are given.

    Parameters
    ----------
    base_cell : RecurrentCell
        It cannot be used alone afterwards.

    Examples
    --------
    >>> from gluonx import np, rnn
    >>> class Doubled(rnn.ModifierCell):
    ...     def forward(self, inputs, states):
    ...         output, states = self.base_cell(inputs, states)
    ...         return output * 2, states
    >>> cell = Doubled(rnn.RNNCell(3, input_size=2))
    >>> cell.initialize()
    >>> output, states = cell(np.ones((4, 2)), cell.begin_state(4))
    >>> output.shape, np.allclose(output, 2 * states[0])
    ((4, 3), True)
    """

    def __init__(self, base_cell: RecurrentCell) -> None:
        super().__init__()
        if not isinstance(base_cell, RecurrentCell):
            raise TypeError(f"{type(self).__name__} takes a recurrent cell, got {base_cell!r}.")
        base_cell.__dict__["_modified"] = True
        self.base_cell = base_cell

    def state_info(self, batch_size: int = 0) -> list[dict[str, Any]]:
        """Return the shape and layout of each state of the base cell."""
        return self.base_cell.state_info(batch_size)

    def begin_state(
        self, batch_size: int = 0, func: Callable[..., ndarray] | None = None, **kwargs: object
    ) -> list[ndarray]:
        """Return the states before the first step; see `RecurrentCell.begin_state`."""
        if self._modified:
            return super().begin_state(batch_size, func, **kwargs)
        own = self.base_cell.__dict__
        own["_modified"] = False
        try:
            return self.base_cell.begin_state(batch_size, func, **kwargs)
        finally:
            own["_modified"] = True

    def _steps(self) -> bool:
        return self.base_cell._steps()

    @unfailing
    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.base_cell!r})"


class ResidualCell(ModifierCell):
    """Adds the input to the output of the base cell (He et al. 2015).

    Examples
    --------
    >>> from gluonx import rnn
    >>> ResidualCell(rnn.GRUCell(4, input_size=4))
    ResidualCell(GRUCell(4 -> 12))
    """

    def forward(self, inputs: ndarray, states: list[ndarray]) -> tuple[ndarray, list[ndarray]]:
        """One step."""
        output, states = self.base_cell(inputs, states)
        return output + inputs, states

    def _sequence(self, seq: Steps, states: list[Any], lengths: ndarray | None) -> tuple[Steps, list[Any]]:
        outs, states = self.base_cell._walk_below(seq, states, lengths)
        if isinstance(outs, list) and isinstance(seq, list):
            outs = [y + x for y, x in zip(outs, seq)]
        else:
            outs = joined(outs) + joined(seq)
        return masked(outs, lengths), states


class DropoutCell(HybridRecurrentCell):
    """Dropout of its input; a cell without states, for a place in a sequence of cells.

    Parameters
    ----------
    rate : float
        The share that is dropped.
    axes : tuple of int
        The axes along which one decision holds for all.

    Raises
    ------
    ValueError
        If the rate is not in [0, 1].

    Examples
    --------
    >>> from gluonx import np, rnn
    >>> cell = rnn.DropoutCell(0.5)
    >>> cell(np.ones((1, 2)), [])[0].tolist()
    [[1.0, 1.0]]
    """

    def __init__(self, rate: float, axes: int | tuple[int, ...] = ()) -> None:
        super().__init__()
        self._rate = _rate(rate, "rate")
        self._axes = (axes,) if isinstance(axes, int) else tuple(axes)

    @unfailing
    def __repr__(self) -> str:
        return f"{type(self).__name__}(rate={self._rate}, axes={self._axes})"

    def state_info(self, batch_size: int = 0) -> list[dict[str, Any]]:
        """Return an empty list."""
        return []

    def forward(self, inputs: ndarray, states: list[ndarray]) -> tuple[ndarray, list[ndarray]]:
        """One step."""
        return _dropped(inputs, self._rate, self._axes), states

    def _merges(self, inputs: Sequence[Any], valid_length: ndarray) -> bool:
        return not isinstance(inputs, (list, tuple))

    def _sequence(self, seq: Steps, states: list[Any], lengths: ndarray | None) -> tuple[Steps, list[Any]]:
        if isinstance(seq, list):
            seq = [_dropped(x, self._rate, self._axes) for x in seq]
        else:
            seq = _dropped(seq, self._rate, tuple(a if a < 0 else a + 1 for a in self._axes))
        return masked(seq, lengths), states


class VariationalDropoutCell(ModifierCell):
    """Dropout with one mask for the whole sequence (Gal and Ghahramani 2016).

    Parameters
    ----------
    base_cell : RecurrentCell
    drop_inputs, drop_states, drop_outputs : float
        The shares dropped of the inputs, of the first state and of the outputs.

    Notes
    -----
    The masks hold until `reset`, which a loop that calls the cell step by step calls before each sequence; `unroll`
    does so by itself.

    Examples
    --------
    >>> from gluonx import rnn
    >>> VariationalDropoutCell(rnn.LSTMCell(3), drop_outputs=0.3)
    VariationalDropoutCell(p_out = 0.3, p_state = 0.0)
    """

    def __init__(
        self,
        base_cell: RecurrentCell,
        drop_inputs: float = 0.0,
        drop_states: float = 0.0,
        drop_outputs: float = 0.0,
    ) -> None:
        super().__init__(base_cell)
        self.drop_inputs = _rate(drop_inputs, "drop_inputs")
        self.drop_states = _rate(drop_states, "drop_states")
        self.drop_outputs = _rate(drop_outputs, "drop_outputs")
        if self.drop_states and not base_cell._steps():
            raise ValueError(
                "VariationalDropoutCell cannot drop states of a BidirectionalCell, which has no single step. Wrap the "
                "two cells in it instead."
            )

    @unfailing
    def __repr__(self) -> str:
        return f"{type(self).__name__}(p_out = {self.drop_outputs}, p_state = {self.drop_states})"

    def _keeps(self) -> bool:
        return bool(self.drop_inputs or self.drop_states or self.drop_outputs)

    def _masked(self, x: ArrayLike, rate: float, what: str) -> Any:
        """`x` under the mask of this name, which is drawn where there is none yet."""
        if not rate:
            return x
        if what not in self._kept:
            self._kept[what] = _dropped(np.ones_like(x), rate)
        return x * self._kept[what]

    def forward(self, inputs: ndarray, states: list[ndarray]) -> tuple[ndarray, list[ndarray]]:
        """One step."""
        inputs = self._masked(inputs, self.drop_inputs, "inputs")
        if self.drop_states:
            states = [self._masked(states[0], self.drop_states, "states"), *states[1:]]
        output, states = self.base_cell(inputs, states)
        return self._masked(output, self.drop_outputs, "outputs"), states

    def _sequence(self, seq: Steps, states: list[Any], lengths: ndarray | None) -> tuple[Steps, list[Any]]:
        if self.drop_states:
            return super()._sequence(seq, states, lengths)
        if self.drop_inputs:
            seq = _dropped(joined(seq), self.drop_inputs, (0,))
        outs, states = self.base_cell._walk_below(seq, states, lengths)
        return (_dropped(joined(outs), self.drop_outputs, (0,)) if self.drop_outputs else outs), states


class ZoneoutCell(ModifierCell):
    """Keeps elements of the output and of the states as they were, at random while training (Krueger et al. 2016).

    Parameters
    ----------
    base_cell : RecurrentCell
    zoneout_outputs, zoneout_states : float
        The share of elements that stay. Before the first step the output is 0.
    consistent : bool
        Whether an output that is a state too, as that of the LSTM, GRU and RNN cells is, is drawn once and stays both,
        as in the paper: `zoneout_outputs` then decides of it, and `zoneout_states` of the other states. By default, as
        in MXNet, output and state are drawn each for itself, and differ.

    Notes
    -----
    The output is kept until `reset`, which a loop that calls the cell step by step calls before each sequence.

    Examples
    --------
    >>> from gluonx import rnn
    >>> ZoneoutCell(rnn.RNNCell(3, input_size=2), zoneout_states=0.1)
    ZoneoutCell(p_out=0.0, p_state=0.1, RNNCell(2 -> 3, tanh))
    """

    def __init__(
        self,
        base_cell: RecurrentCell,
        zoneout_outputs: float = 0.0,
        zoneout_states: float = 0.0,
        *,
        consistent: bool = False,
    ) -> None:
        if isinstance(base_cell, RecurrentCell) and not base_cell._steps():
            raise ValueError(
                "ZoneoutCell cannot modify a BidirectionalCell, which has no single step. Wrap the two cells in it "
                "instead."
            )
        super().__init__(base_cell)
        self.zoneout_outputs = _rate(zoneout_outputs, "zoneout_outputs")
        self.zoneout_states = _rate(zoneout_states, "zoneout_states")
        self.consistent = bool(consistent)

    @unfailing
    def __repr__(self) -> str:
        rates = f"p_out={self.zoneout_outputs}, p_state={self.zoneout_states}"
        return f"{type(self).__name__}({rates}, {self.base_cell!r})"

    def _keeps(self) -> bool:
        return self.zoneout_outputs > 0 and not self.consistent

    def forward(self, inputs: ndarray, states: list[ndarray]) -> tuple[ndarray, list[ndarray]]:
        """One step."""
        output, new = self.base_cell(inputs, states)
        if self.consistent:
            return self._drawn_once(output, new, states)
        if self.zoneout_outputs:
            before = self._kept.get("output")
            output = _mixed(output, np.zeros_like(output) if before is None else before, self.zoneout_outputs)
            self._kept["output"] = output
        if self.zoneout_states:
            new = [_mixed(s, old, self.zoneout_states) for s, old in zip(new, states)]
        return output, new

    def _drawn_once(self, output: ndarray, new: list[ndarray], states: list[ndarray]) -> tuple[ndarray, list[ndarray]]:
        """Mix each state with what it was; the one that is the output stays so."""
        if not any(s is output for s in new):
            raise ValueError(
                f"ZoneoutCell(consistent=True) needs a cell whose output is one of its states, which that of "
                f"{type(self.base_cell).__name__} is not."
            )
        rates = [self.zoneout_outputs if s is output else self.zoneout_states for s in new]
        mixed = [_mixed(s, old, rate) if rate else s for s, old, rate in zip(new, states, rates)]
        return next(m for m, s in zip(mixed, new) if s is output), mixed


def _mixed(new: ndarray, old: ndarray, rate: float) -> ndarray:
    """Each element new, or with probability `rate`, while training, old."""
    return np.where(_dropped(np.ones_like(new), rate) != 0, new, old) if is_training() else new
