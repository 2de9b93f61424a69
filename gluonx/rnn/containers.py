"""Cells made of cells: one after the other, or one in each direction."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from gluonx import np, npx
from gluonx.block.tools import unfailing
from gluonx.errors import GluonxError
from gluonx.np import ndarray
from gluonx.rnn.base import HybridRecurrentCell, RecurrentCell, Steps, joined, listed, masked

__all__ = ["BidirectionalCell", "HybridSequentialRNNCell", "SequentialRNNCell"]


class _Several(RecurrentCell):
    """Cells whose states stand one after the other in one list."""

    def _parts(self) -> list[RecurrentCell]:
        return list(self._children.values())

    def state_info(self, batch_size: int = 0) -> list[dict[str, Any]]:
        """Return the shape and layout of each state, cell by cell."""
        return [info for cell in self._parts() for info in cell.state_info(batch_size)]

    def begin_state(
        self, batch_size: int = 0, func: Callable[..., ndarray] | None = None, **kwargs: object
    ) -> list[ndarray]:
        """Return the states before the first step, cell by cell; see `RecurrentCell.begin_state`."""
        if self._modified:
            return super().begin_state(batch_size, func, **kwargs)
        return [state for cell in self._parts() for state in cell.begin_state(batch_size, func, **kwargs)]

    def _dealt(self, states: Sequence[ndarray]) -> Iterator[tuple[RecurrentCell, list[Any]]]:
        """Each cell with its states."""
        states, start = list(self._states_of(states)), 0
        counts = [len(cell.state_info()) for cell in self._parts()]
        for cell, count in zip(self._parts(), counts):
            yield cell, states[start : start + count]
            start += count


class _Sequence(_Several):
    """One cell after the other."""

    def add(self, cell: RecurrentCell) -> None:
        """Append a cell.

        Raises
        ------
        TypeError
            If it is no cell.
        """
        if not isinstance(cell, RecurrentCell):
            raise TypeError(f"{type(self).__name__}.add takes a recurrent cell, got {cell!r}.")
        self.register_child(cell)

    def __len__(self) -> int:
        return len(self._children)

    def __getitem__(self, key: int) -> RecurrentCell:
        """Return the cell at a place."""
        return self._parts()[key]

    def __iter__(self) -> Iterator[RecurrentCell]:
        return iter(self._parts())

    @unfailing
    def __repr__(self) -> str:
        return "\n".join(
            [f"{type(self).__name__}(", *(f"({name}): {cell!r}" for name, cell in self._children.items()), ")"]
        )

    def _steps(self) -> bool:
        return all(cell._steps() for cell in self._parts())

    def forward(self, inputs: ndarray, states: list[ndarray]) -> tuple[ndarray, list[ndarray]]:
        """One step of each cell."""
        after: list[Any] = []
        for cell, own in self._dealt(states):
            inputs, new = cell(inputs, own)
            after += new
        return inputs, after

    def _sequence(self, seq: Steps, states: list[Any], lengths: ndarray | None) -> tuple[Steps, list[Any]]:
        after: list[Any] = []
        for cell, own in self._dealt(states):
            seq, new = cell._walk_below(seq, own, lengths)
            after += new
        return seq, after


class SequentialRNNCell(_Sequence):
    """Cells, one after the other. `HybridSequentialRNNCell` is the same for cells that can be hybridized.

    Examples
    --------
    >>> from gluonx import rnn
    >>> stack = SequentialRNNCell()
    >>> stack.add(rnn.LSTMCell(3, input_size=2))
    >>> stack.add(rnn.DropoutCell(0.5))
    >>> stack
    SequentialRNNCell(
    (0): LSTMCell(2 -> 12)
    (1): DropoutCell(rate=0.5, axes=())
    )
    """


class HybridSequentialRNNCell(_Sequence, HybridRecurrentCell):
    """Cells that can be hybridized, one after the other.

    Examples
    --------
    >>> from gluonx import rnn
    >>> stack = HybridSequentialRNNCell()
    >>> stack.add(rnn.GRUCell(3))
    >>> stack.add(rnn.GRUCell(2))
    >>> stack.initialize()
    >>> outputs, states = stack.unroll(4, np.ones((1, 4, 5)), merge_outputs=True)
    >>> outputs.shape, len(states)
    ((1, 4, 2), 2)
    """


class BidirectionalCell(_Several, HybridRecurrentCell):
    """Two cells that walk over the sequence from both ends; their outputs are concatenated. It can only be unrolled.

    Parameters
    ----------
    l_cell, r_cell : RecurrentCell
        The one that begins at the start, and the one that begins at the end: at each sequence's own, if `unroll` is
        given ``valid_length``.

    Examples
    --------
    >>> from gluonx import rnn
    >>> both = BidirectionalCell(rnn.GRUCell(3), rnn.GRUCell(4))
    >>> both.initialize()
    >>> both.unroll(2, np.ones((1, 2, 5)), merge_outputs=True)[0].shape
    (1, 2, 7)
    """

    def __init__(self, l_cell: RecurrentCell, r_cell: RecurrentCell) -> None:
        super().__init__()
        for cell in (l_cell, r_cell):
            if not isinstance(cell, RecurrentCell):
                raise TypeError(f"BidirectionalCell takes two recurrent cells, got {cell!r}.")
        self.l_cell, self.r_cell = l_cell, r_cell

    @unfailing
    def __repr__(self) -> str:
        return f"{type(self).__name__}(forward={self.l_cell!r}, backward={self.r_cell!r})"

    def _steps(self) -> bool:
        return False

    def forward(self, inputs: ndarray, states: list[ndarray]) -> tuple[ndarray, list[ndarray]]:
        """Raise: there is no single step."""
        raise GluonxError(
            "A BidirectionalCell cannot be called for one step, for it needs the whole sequence: unroll it."
        )

    def _sequence(self, seq: Steps, states: list[Any], lengths: ndarray | None) -> tuple[Steps, list[Any]]:
        (left, left_states), (right, right_states) = self._dealt(states)
        ahead, left_states = left._walk_below(seq, left_states, lengths)
        back, right_states = right._walk_below(_turned(seq, lengths), right_states, lengths)
        back = _turned(back, lengths)
        if isinstance(ahead, list) or isinstance(back, list):
            outs: Any = [np.concatenate(pair, axis=-1) for pair in zip(listed(ahead), listed(back))]
        else:
            outs = np.concatenate([ahead, back], axis=-1)
        return masked(outs, lengths), [*left_states, *right_states]


def _turned(seq: Steps, lengths: ndarray | None) -> Steps:
    """Return a sequence from its end to its beginning."""
    if lengths is not None:
        return npx.sequence_reverse(joined(seq), lengths, True)
    return seq[::-1] if isinstance(seq, list) else npx.sequence_reverse(seq)
