"""Legacy operators that index and that work on sequences, and the fused recurrent one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from gluonx import np
from gluonx.compat.operators.elementwise import kept
from gluonx.compat.operators.row import core, row, same
from gluonx.errors import ShapeError

if TYPE_CHECKING:
    from gluonx.compat.operators.attrs import Attrs
    from gluonx.np.handle import ndarray


same("take(a, indices; axis: int=0, mode: {clip raise wrap}=clip)", "take")
row("batch_take(a, indices)", lambda a, data, indices: core("pick", data, indices, axis=-1), via="pick")
same(
    "pick(data, index; axis: int?=-1, keepdims: bool=False, mode: {clip wrap}=clip)",
    "pick",
    alias="choose_element_0index",
)
same("one_hot(indices; depth: int, on_value: float=1.0, off_value: float=0.0, dtype: dtype=float32)", "one_hot")
same("gather_nd(data, indices)", "gather_nd")
same("scatter_nd(data, indices; shape: shape)", "scatter_nd")
row(
    "_scatter_set_nd(lhs, rhs, indices; shape: shape)",
    lambda a, lhs, rhs, indices: core("index_update", lhs, indices, rhs),
    via="index_update",
)
same("_contrib_index_copy(old_tensor, index_vector, new_tensor)", "index_copy")


@row("_contrib_boolean_mask(data, index; axis: int=0)", via="compress")
def _boolean_mask(a: Attrs, data: ndarray, index: ndarray) -> ndarray | Sequence[ndarray]:
    if index.shape != data.shape[a.axis :][:1]:
        raise ShapeError(
            f"boolean_mask: the index has shape {index.shape}, but data of shape {data.shape} needs one element for "
            f"each place along axis {a.axis}."
        )
    return np.compress(core("not_equal", index, 0), data, axis=a.axis)


@row("_ravel_multi_index(data; shape: shape?=None)", via="stop_gradient multiply sum", alias="ravel_multi_index")
def _ravel(a: Attrs, data: ndarray) -> ndarray | Sequence[ndarray]:
    data = core("stop_gradient", data)
    rest = core("slice_axis", data, axis=0, begin=0, end=1)
    for i, n in enumerate(a.shape[1:], 1):
        rest = core("add", core("multiply", rest, n), core("slice_axis", data, axis=0, begin=i, end=i + 1))
    return core("squeeze", rest, axis=0)


@row("_unravel_index(data; shape: shape?=None)", via="stop_gradient floor_divide mod stack", alias="unravel_index")
def _unravel(a: Attrs, data: ndarray) -> ndarray | Sequence[ndarray]:
    found: list[Any] = []
    rest = core("stop_gradient", data)
    for n in a.shape[:0:-1]:
        found.insert(0, core("mod", rest, n))
        rest = core("floor_divide", rest, n)
    return core("stack", rest, *found, axis=0)


@row("fill_element_0index(lhs, mhs, rhs)", via="where one_hot")
def _fill_element(a: Attrs, lhs: ndarray, mhs: ndarray, rhs: ndarray) -> ndarray | Sequence[ndarray]:
    hit = core("one_hot", rhs, depth=lhs.shape[1])
    return core("where", hit, core("expand_dims", mhs, axis=1), lhs)


@row("_onehot_encode(lhs, rhs)", via="one_hot")
def _onehot_encode(a: Attrs, lhs: ndarray, rhs: ndarray) -> ndarray | Sequence[ndarray]:
    return kept(core("one_hot", lhs, depth=rhs.shape[1]), rhs)


# -- sequences --------------------------------------------------------------------------------------------------------

_USES_LENGTH = {"sequence_length": lambda a: a.use_sequence_length}


def _sequence(name: str, via: str, extra: str) -> None:
    def rule(a: Attrs, data: ndarray, sequence_length: ndarray | None = None) -> ndarray | Sequence[ndarray]:
        return core(via, data, sequence_length if a.use_sequence_length else None, **a)

    row(
        f"{name}(data, sequence_length?; use_sequence_length: bool=False, {extra}axis: int=0)",
        rule,
        via=via,
        needs=_USES_LENGTH,
    )


_sequence("SequenceLast", "sequence_last", "")
_sequence("SequenceReverse", "sequence_reverse", "")
_sequence("SequenceMask", "sequence_mask", "value: float=0.0, ")


# -- recurrence -------------------------------------------------------------------------------------------------------


@row(
    "RNN(data, parameters, state, state_cell?, sequence_length?; state_size: int, num_layers: int, "
    "bidirectional: bool=False, mode: {gru lstm rnn_relu rnn_tanh}, p: float=0.0, state_outputs: bool=False, "
    "projection_size: int?=None, lstm_state_clip_min: float?=None, lstm_state_clip_max: float?=None, "
    "lstm_state_clip_nan: bool=False, use_sequence_length: bool=False)",
    via="rnn",
    needs={"state_cell": lambda a: a.mode == "lstm", **_USES_LENGTH},
    nout=lambda a: 1 if not a.state_outputs else 3 if a.mode == "lstm" else 2,
    outputs="output state_output statecell_output",
)
def _rnn(a: Attrs, data: ndarray, parameters: ndarray, state: ndarray, *others: ndarray) -> ndarray | Sequence[ndarray]:
    given = [x for x in others if x is not None]
    cell = given.pop(0) if a.mode == "lstm" and given else None
    lengths = given.pop(0) if a.use_sequence_length and given else None
    return core("rnn", data, parameters, state, cell, lengths, **a)
