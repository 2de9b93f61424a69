"""ONNX rules of recurrent layers and sequences of different lengths. See `gluonx.export.onnx.emit`.

The operator `rnn` takes all weights as one vector. What that is made of is known when the model is written, so it is
cut into the arrays that ONNX's ``LSTM``, ``GRU`` and ``RNN`` take, with their gates in ONNX's order: one node a layer.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from gluonx.errors import GraphError
from gluonx.export.onnx.emit import Emit, rule
from gluonx.export.onnx.graph import Value
from gluonx.export.onnx.rules_elementwise import where
from gluonx.export.onnx.rules_shape import flipped
from gluonx.export.record import Ref, Step
from gluonx.ops.rnn import packing

if TYPE_CHECKING:
    from gluonx.dtype import DTypeLike


_BOOL = np.dtype(bool)
# gluonx has the gates i, f, g, o and r, z, n; ONNX i, o, f, g and z, r, n.
_KINDS = {
    "lstm": ("LSTM", (0, 3, 1, 2)),
    "gru": ("GRU", (1, 0, 2)),
    "rnn_tanh": ("RNN", (0,)),
    "rnn_relu": ("RNN", (0,)),
}
_PIECES = ("i2h_weight", "h2h_weight", "i2h_bias", "h2h_bias")


def _pieces(emit: Emit, step: Step) -> dict[str, np.ndarray]:
    attrs = step.op.attrs
    flat = emit.known_array(step.args[1], "its vector of weights")
    names = ("state_size", "num_layers", "bidirectional", "projection_size")
    found, start = {}, 0
    for name, shape in packing(attrs["mode"], step.shapes[0].shape[2], *[attrs[n] for n in names]):
        size = int(np.prod(shape))
        found[name] = flat[start : start + size].reshape(shape)
        start += size
    return found


def _gates(array: np.ndarray, order: tuple[int, ...]) -> np.ndarray:
    parts = np.split(array, len(order), 0)
    return np.concatenate([parts[i] for i in order], 0)


def _weights(
    emit: Emit, pieces: dict[str, np.ndarray], mode: str, layer: int, sides: str, dtype: DTypeLike
) -> list[Value]:
    """W, R and B of one layer, both directions stacked."""
    order = _KINDS[mode][1]
    made: list[list[np.ndarray]] = [[], [], []]
    for side in sides:
        inputs, state, *biases = (_gates(pieces[f"{side}{layer}_{n}"], order) for n in _PIECES)
        made[0].append(inputs)
        made[1].append(state)
        made[2].append(np.concatenate(biases))
    values = []
    for word, arrays in zip("WRB", made, strict=True):
        array = np.stack(arrays).astype(dtype)
        name = f"{emit.path}.l{layer}.{word}".lstrip(".")
        values.append(emit.known(name, array, array.dtype, array.shape))
    return values


def _zeros(emit: Emit, arg: Any) -> bool:
    """Return whether a begin state is zero throughout, which ONNX takes for granted."""
    if isinstance(arg, Ref) and arg.step is not None and emit.steps[arg.step].op.name in ("zeros", "zeros_like"):
        return True
    value = emit.value(arg)
    return value.known and not value.array.any()


def _begin(emit: Emit, arg: Any, layer: int, sides: int, layers: int, dtype: DTypeLike) -> Value | None:
    """Return the begin states of one layer."""
    if arg is None or _zeros(emit, arg):
        return None
    value = emit.value(arg, dtype)
    if layers == 1:
        return value
    shape = value.shape
    return emit.slice(value, 0, layer * sides, (layer + 1) * sides, 1, sides) if shape else value


@rule("rnn")
def _rnn(emit: Emit, step: Step) -> Any:
    attrs, dtype = step.op.attrs, step.outs[0].dtype
    mode, layers, size = attrs["mode"], attrs["num_layers"], attrs["state_size"]
    if attrs["projection_size"]:
        raise GraphError("an LSTM with a projection")
    if attrs["lstm_state_clip_min"] is not None or attrs["lstm_state_clip_max"] is not None:
        raise GraphError("bounds of the cell's state")
    if step.op.random:
        raise GraphError("it drops in training")
    x, _, *states = (*step.args, None, None, None)[:5]
    lengths = emit.value(states.pop(), np.int32) if attrs["use_sequence_length"] else None
    sides = "lr" if attrs["bidirectional"] else "l"
    pieces, data = _pieces(emit, step), emit.value(x, dtype)
    time, batch = data.shape[:2]
    count = 2 if mode == "lstm" else 1
    last: list[list[Value]] = [[] for _ in range(count)]
    kind, _ = _KINDS[mode]
    more: dict[str, Any] = {"hidden_size": size, "direction": "bidirectional" if len(sides) == 2 else None}
    if mode == "gru":
        more["linear_before_reset"] = 1
    if mode == "rnn_relu":
        more["activations"] = ["Relu"] * len(sides)
    for layer in range(layers):
        weights = _weights(emit, pieces, mode, layer, sides, dtype)
        begin = [_begin(emit, s, layer, len(sides), layers, dtype) for s in states[:count]]
        out, *ends = emit.node(kind, data, *weights, lengths, *begin, nout=1 + count, **more)
        out.shape = (time, len(sides), batch, size)
        if len(sides) == 1:
            data = emit.squeeze(out, 1)
        else:
            data = emit.reshape(emit.transpose(out, (0, 2, 1, 3)), (time, batch, 2 * size))
        for kept, value in zip(last, ends, strict=True):
            kept.append(value)
    if len(step.outs) == 1:
        return data
    return [data, *[v[0] if layers == 1 else emit.node("Concat", *v, axis=0) for v in last]]


# -- sequences of different lengths -----------------------------------------------------------------------------------


def _counts(emit: Emit, step: Step, ndim: int, axis: int) -> Value:
    """Return the lengths, to broadcast along the axis of the batch."""
    lengths = emit.value(step.args[1], np.int64)
    after = ndim - 1 - (1 - axis)
    return emit.unsqueeze(lengths, *range(1, after + 1))


@rule("sequence_mask")
def _sequence_mask(emit: Emit, step: Step) -> Any:
    attrs, x = step.op.attrs, emit.value(step.args[0])
    if not attrs["use_sequence_length"]:
        return x
    axis = attrs["axis"] % x.ndim
    places = emit.positions(x.shape[axis], x.ndim - 1 - axis)
    inside = emit.node("Less", places, _counts(emit, step, x.ndim, axis), dtype=_BOOL)
    return where(emit, inside, x, emit.constant(attrs["value"], x.dtype))


@rule("sequence_last")
def _sequence_last(emit: Emit, step: Step) -> Any:
    attrs, x = step.op.attrs, emit.value(step.args[0])
    axis = attrs["axis"] % x.ndim
    if not attrs["use_sequence_length"]:
        return emit.node("Gather", x, emit.constant(-1, np.int64), axis=axis)
    length = emit.squeeze(emit.dimension(x.shape[axis]), 0)
    lengths = emit.node("Sub", emit.value(step.args[1], np.int64), emit.constant(1, np.int64))
    top = emit.node("Sub", length, emit.constant(1, np.int64))
    last = emit.node("Clip", lengths, emit.constant(0, np.int64), top, shape=step.shapes[1].shape)
    batched = emit.transpose(x, [1 - axis, axis, *range(2, x.ndim)])
    return emit.node("GatherND", batched, emit.unsqueeze(last, 1), batch_dims=1)


@rule("sequence_reverse")
def _sequence_reverse(emit: Emit, step: Step) -> Any:
    attrs, x = step.op.attrs, emit.value(step.args[0])
    axis = attrs["axis"] % x.ndim
    if not attrs["use_sequence_length"]:
        return flipped(emit, x, axis)
    lengths = emit.value(step.args[1], np.int64)
    return emit.node("ReverseSequence", x, lengths, time_axis=axis, batch_axis=1 - axis)
