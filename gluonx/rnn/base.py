"""Recurrent cells: one step of a recurrent net, and how a step becomes a walk over a sequence.

A cell maps ``(input, states)`` to ``(output, states)``; `RecurrentCell.state_info` tells what its states look like.
Some modifiers also keep something from step to step that is no state (a dropout mask, the output before); it lies in
``_kept`` until `RecurrentCell.reset`.

`RecurrentCell.unroll` walks over a sequence, which inside is always time-major. How depends on the cell:

- A cell that is not hybridized runs step by step, in Python. What is printed in a forward is printed at each step.
- A hybridized one, or one inside a hybridized block, is one ``lax.scan``, whatever the length. It is traced once for
  each kind of input, so every length is a program of its own (and only one).
- A container walks the whole sequence with its first cell, then with the next. What is kept from step to step is made
  by the first step, which then stands before the scan.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeAlias

import jax

from gluonx import np, npx
from gluonx.block.block import Block, HybridBlock
from gluonx.deferred.trace.tracing import infer
from gluonx.deferred.values.core import Handle, current_state
from gluonx.errors import GluonxError, ShapeError
from gluonx.np import ndarray

_MODIFIED = (
    "This {cls} was given to a modifier (ResidualCell, ZoneoutCell, ...) and cannot be called alone any more. Call the "
    "modifier, which has begin_state and unroll as well."
)

Steps: TypeAlias = "ndarray | list[ndarray]"
"""A sequence: one time-major array, or a list of its steps."""


def joined(seq: Steps) -> ndarray:
    """Return a sequence as one time-major array."""
    return np.stack(seq, axis=0) if isinstance(seq, list) else seq


def listed(seq: Steps, axis: int = 0) -> list[ndarray]:
    """Return a sequence as a list of its steps."""
    if isinstance(seq, list):
        return seq
    steps = npx.slice_channel(seq, seq.shape[axis], axis=axis, squeeze_axis=True)
    return list(steps) if isinstance(steps, (list, tuple)) else [steps]


def masked(seq: Steps, lengths: ndarray | None) -> Steps:
    """Return a sequence with zeros after the lengths, if there are any."""
    return seq if lengths is None else npx.sequence_mask(joined(seq), lengths, True)


class RecurrentCell(Block):
    """Base of all cells. A cell of your own defines ``forward(inputs, states)`` and ``state_info``.

    Examples
    --------
    >>> class Sum(RecurrentCell):
    ...     def state_info(self, batch_size=0):
    ...         return [{"shape": (batch_size, 2)}]
    ...
    ...     def forward(self, inputs, states):
    ...         total = inputs + states[0]
    ...         return total, [total]
    >>> outputs, states = Sum().unroll(3, np.ones((1, 3, 2)))
    >>> [y.tolist() for y in outputs]
    [[[1.0, 1.0]], [[2.0, 2.0]], [[3.0, 3.0]]]
    """

    _modified: bool
    _kept: dict[str, Any]
    _unroller: Any

    def __init__(self) -> None:
        super().__init__()
        own = self.__dict__
        own["_modified"] = False
        own["_kept"] = {}
        own["_unroller"] = None

    def __getstate__(self) -> dict[str, Any]:
        """Everything but what belongs to a sequence that is under way."""
        return {**super().__getstate__(), "_unroller": None, "_kept": {}}  # type: ignore[misc]

    # ---------------------------------------------------------------- states

    def state_info(self, batch_size: int = 0) -> list[dict[str, Any]]:
        """Return the shape and layout of each state."""
        raise NotImplementedError(f"{type(self).__name__} does not define state_info().")

    def begin_state(
        self, batch_size: int = 0, func: Callable[..., ndarray] | None = None, **kwargs: Any
    ) -> list[ndarray]:
        """Return the states before the first step.

        Parameters
        ----------
        batch_size : int
        func : callable, optional
            ``func(shape=..., **kwargs)`` makes a state; ``np.zeros`` by default.
        **kwargs
            Given to `func`, such as ``dtype`` or ``device``.

        Returns
        -------
        list of ndarray

        Raises
        ------
        GluonxError
            If the cell belongs to a modifier.
        """
        if self._modified:
            raise GluonxError(_MODIFIED.format(cls=type(self).__name__))
        make = np.zeros if func is None else func
        return [make(shape=info["shape"], **kwargs) for info in self.state_info(batch_size)]

    def _states_of(self, states: Sequence[ndarray]) -> Any:
        """Return the states that a call was given, if they are a list of as many as the cell has.

        One array that holds them along a new first axis will do, as in MXNet.
        """
        wanted = self.state_info()
        if isinstance(states, Handle):
            if wanted and len(states.shape) == len(wanted[0]["shape"]) + 1 and states.shape[0] == len(wanted):
                return states
            came = f"an array of shape {states.shape} came"
        elif isinstance(states, (list, tuple)):
            if len(states) == len(wanted):
                return states
            came = f"{len(states)} came"
        else:
            came = f"{states!r} came"
        shapes = ", ".join("(batch" + "".join(f", {n}" for n in info["shape"][1:]) + ")" for info in wanted)
        raise ShapeError(
            f"{type(self).__name__} takes a list of {len(wanted)} states, of shapes [{shapes}], but {came}. Call "
            f"cell(x, [{', '.join(['h', 'c'][: len(wanted)])}]), or begin with cell.begin_state(batch_size)."
        )

    def reset(self) -> None:
        """Forget what a modifier keeps from step to step. Call it before a new sequence is stepped through by hand."""
        for cell in self._cells():
            cell._kept.clear()

    def _cells(self) -> Iterator[RecurrentCell]:
        """Yield the cell and all below."""
        for _, block in self._walk():
            if isinstance(block, RecurrentCell):
                yield block

    def _keeps(self) -> bool:
        """Return whether this cell itself keeps something from step to step."""
        return False

    def _steps(self) -> bool:
        """Return whether the cell can be called for one step."""
        return True

    def infer_shape(self, *args: Any) -> None:
        """Find the unknown shapes of all parameters below from one step's inputs, without computing anything.

        Parameters
        ----------
        *args
            ``(inputs,)`` or ``(inputs, states)`` as for a call, or what MXNet gives here: the number of the cell among
            equal cells, the inputs of the first of them, and whether each of them walks in both directions. The inputs
            are those of one step, or a whole sequence, with one axis more. ``initialize`` may come later.
        """
        if not hasattr(args[0], "shape"):
            number, inputs, both = args
            shape = list(inputs.shape)
            states = self.state_info(shape[0])
            if states and len(shape) == len(states[0]["shape"]) + 1:
                shape.pop(1)  # a sequence; whether time or the batch comes first, one is left in the place of the batch
            if number:  # it is given what a cell like it puts out
                shape = [shape[0], *self.state_info(shape[0])[0]["shape"][1:]]
                shape[1] *= 2 if both else 1
        else:
            inputs, shape = args[0], args[0].shape
        infer(lambda x: self.unroll(1, [x]), [jax.ShapeDtypeStruct(tuple(shape), inputs.dtype)])

    def _infers_shape(self) -> bool:
        return False  # a call needs no help: the operators tell

    # ---------------------------------------------------------------- sequences

    def unroll(
        self,
        length: int,
        inputs: Any,
        begin_state: Sequence[ndarray] | None = None,
        layout: str = "NTC",
        merge_outputs: bool | None = None,
        valid_length: Any = None,
    ) -> tuple[Any, list[Any]]:
        """Walk over a sequence.

        Parameters
        ----------
        length : int
            The number of steps.
        inputs : ndarray or list of ndarray
            One array with the axes of `layout`, or one array a step.
        begin_state : list of ndarray, optional
            Zeros by default.
        layout : str
            Where time is, ``'NTC'`` or ``'TNC'``, in inputs and outputs that are one array.
        merge_outputs : bool, optional
            Whether the outputs are one array or a list. None: a list, or with `valid_length` an array.
        valid_length : ndarray, shape (batch,), optional
            The length of each sequence. Outputs after it are 0, and the states are those at it.

        Returns
        -------
        outputs : ndarray or list of ndarray
        states : list of ndarray

        Raises
        ------
        ShapeError
            If the inputs do not hold `length` steps.
        ValueError
            If the layout has no axis of time.
        """
        axis = self._time_axis(layout)
        seq = self._time_major(length, inputs, axis)
        self.reset()
        try:
            outs, states = self._walk_over(seq, self._first_states(seq, begin_state), valid_length)
        finally:
            self.reset()
        if merge_outputs is None:
            merge_outputs = self._merges(inputs, valid_length)
        if not merge_outputs:
            return listed(outs), states
        merged = joined(outs)
        return (merged.swapaxes(0, 1) if axis else merged), states

    def _merges(self, inputs: Sequence[Any], valid_length: ndarray) -> bool:
        """Return what ``merge_outputs=None`` means: merge where there is a `valid_length`."""
        return valid_length is not None

    def _time_axis(self, layout: str) -> int:
        if sorted(layout[:2]) != ["N", "T"]:
            raise ValueError(f"{type(self).__name__}.unroll: layout begins with 'NT' or 'TN', got {layout!r}.")
        return layout.index("T")

    def _time_major(self, length: int, inputs: Any, axis: int) -> Any:
        """Return the inputs as a list of steps, or as an array with time in front."""
        parts = isinstance(inputs, (list, tuple))
        steps = len(inputs) if parts else inputs.shape[axis]
        if steps != length:
            came = f"a list of {steps}" if parts else f"an array of shape {tuple(inputs.shape)}"
            raise ShapeError(f"{type(self).__name__}.unroll: length is {length}, but the inputs are {came}.")
        if parts:
            return list(inputs)
        return inputs.swapaxes(0, 1) if axis else inputs

    def _first_states(self, seq: Any, begin_state: Any) -> list[Any]:
        if begin_state is not None:
            return list(begin_state) if isinstance(begin_state, (list, tuple)) else [begin_state]
        step = seq[0] if isinstance(seq, list) else seq
        batch = step.shape[0 if isinstance(seq, list) else 1]
        dtype = {"dtype": step.dtype} if step.dtype.kind not in "iub" else {}
        return self.begin_state(batch_size=batch, **dtype)

    def _walk_over(self, seq: Steps, states: list[Any], lengths: ndarray | None) -> tuple[Steps, list[Any]]:
        """Return the outputs and the last states; traced if the cell is hybridized."""
        if not getattr(self, "_active", False) or current_state().trace is not None:
            return self._sequence(seq, states, lengths)
        unroller = self._unroller
        if unroller is None:
            unroller = self.__dict__["_unroller"] = _Unroller(self)
        outs, states = unroller(joined(seq), states, lengths)
        return outs, list(states)

    def _walk_below(self, seq: Steps, states: list[Any], lengths: ndarray | None) -> tuple[Steps, list[Any]]:
        """Walk over the sequence of a cell above this one, which asks a class with an `unroll` of its own for that."""
        if type(self).unroll is RecurrentCell.unroll:
            return self._walk_over(seq, states, lengths)
        parts = isinstance(seq, list)
        how = {"begin_state": states, "layout": "TNC", "merge_outputs": not parts, "valid_length": lengths}
        return self.unroll(len(seq) if parts else seq.shape[0], inputs=seq, **how)

    def _sequence(self, seq: Steps, states: list[Any], lengths: ndarray | None) -> tuple[Steps, list[Any]]:
        """Run the cell over a time-major sequence, step by step."""
        if current_state().trace is not None:
            outs, states = self._scanned(joined(seq), states, lengths)
        else:
            outs = []
            for t, x in enumerate(listed(seq)):
                y, states = self._step(x, states, t, lengths)
                outs.append(y)
        return masked(outs, lengths), states

    def _step(self, x: ndarray, states: list[Any], t: int, lengths: ndarray | None) -> tuple[Any, list[Any]]:
        """One step that leaves the states of finished sequences as they are."""
        y, new = self(x, states)
        if lengths is None:
            return y, list(new)
        going = lengths > t
        return y, [np.where(going.reshape((-1,) + (1,) * (s.ndim - 1)), s, old) for s, old in zip(new, states)]

    def _scanned(self, seq: ndarray, states: list[Any], lengths: ndarray | None) -> tuple[ndarray, list[Any]]:
        """All steps as one ``lax.scan``; the first stands before it if it makes something that is kept."""
        keepers = [cell for cell in self._cells() if cell._keeps()]
        first = []
        if keepers:
            y, states = self._step(seq[0], states, 0, lengths)
            first = [np.expand_dims(y, 0)]
        done = len(first)
        if seq.shape[0] == done:
            return first[0], states

        def body(item: Any, carried: Any) -> Any:
            x, t = item
            inner, kept = carried
            for cell, values in zip(keepers, kept):
                cell._kept.update(values)
            y, inner = self._step(x, inner, t, lengths)
            return y, [inner, [dict(cell._kept) for cell in keepers]]

        times = np.arange(done, seq.shape[0], dtype="int32")
        kept = [dict(cell._kept) for cell in keepers]
        outs, (states, _) = npx.foreach(body, [seq[done:] if done else seq, times], [states, kept])
        return (np.concatenate([*first, outs], axis=0) if first else outs), list(states)

    def forward(self, inputs: ndarray, states: list[ndarray]) -> tuple[ndarray, list[ndarray]]:
        """One step: the output, and the new states."""
        raise NotImplementedError(f"{type(self).__name__} does not define forward().")


class HybridRecurrentCell(RecurrentCell, HybridBlock):
    """Base of cells that can be hybridized.

    Examples
    --------
    >>> from gluonx import np, rnn
    >>> class Sums(rnn.HybridRecurrentCell):
    ...     def state_info(self, batch_size=0):
    ...         return [{"shape": (batch_size, 2), "__layout__": "NC"}]
    ...
    ...     def forward(self, inputs, states):
    ...         total = states[0] + inputs
    ...         return total, [total]
    >>> outputs, _ = Sums().unroll(3, np.ones((1, 3, 2)), merge_outputs=True)
    >>> outputs[0, :, 0].tolist()
    [1.0, 2.0, 3.0]
    """

    # Not that of RecurrentCell, since a class may define hybrid_forward.
    forward: Any = HybridBlock.forward  # pyright: ignore[reportAssignmentType]
    _activates_by_itself = False  # whether a class overrides _get_activation

    def __init_subclass__(cls, **kwargs: object) -> None:
        super().__init_subclass__(**kwargs)
        own = cls.__mro__[: cls.__mro__.index(HybridBlock)]
        cls._activates_by_itself = any("_get_activation" in vars(kind) for kind in own)

    def _asked(self, activation: str | Callable[..., Any]) -> str | Callable[..., Any]:
        """Return an activation, or what a class of the user's has in place of it."""
        if not self._activates_by_itself:
            return activation
        by_itself: Any = self
        return lambda x: by_itself._get_activation(x, activation)

    def _call_active(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        # A step whose outcome depends on the steps before is not one program; the cells below are.
        if self._keeps():
            return super()._run_forward(*args, **kwargs)
        return super()._call_active(args, kwargs)


class _Unroller(HybridBlock):
    """The walk of a cell over a sequence as a block, so that it is traced once for each kind of input."""

    def __init__(self, cell: RecurrentCell) -> None:
        super().__init__()
        self.cell = cell
        self._set_active(True)

    def forward(self, seq: ndarray, states: list[ndarray], lengths: ndarray | None) -> tuple[Steps, list[ndarray]]:
        """Walk."""
        return self.cell._sequence(seq, list(states), lengths)
