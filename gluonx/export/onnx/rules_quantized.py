"""ONNX rules of layers of int8, as pairs of QuantizeLinear and DequantizeLinear. See `gluonx.export.onnx.emit`.

Between such a pair stands an operator of real numbers; a runtime that has it for bytes sees the pairs and takes that
(onnxruntime: QLinearConv, QGemm). Without one the file gives the same numbers, only slower.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gluonx.export.onnx.emit import Emit, rule
from gluonx.export.onnx.graph import Value
from gluonx.export.onnx.rules_layers import channels_first, convolved, has_channels_last
from gluonx.export.record import Step

_FLOAT = np.dtype(np.float32)
_SELECTING = frozenset(["Flatten", "MaxPool", "Reshape", "Squeeze", "Transpose", "Unsqueeze"])


def _scale(emit: Emit, value: Value) -> Value:
    """Return a scale as ONNX takes it: a scalar for the whole, a vector for one by channel."""
    return emit.computed(value, "scalar", lambda a: a.reshape(())) if value.shape == (1,) else value


def _range_now(emit: Emit, x: Value) -> Value:
    """Return what a step of these data stands for, where nobody has calibrated."""
    largest = emit.node("ReduceMax", emit.node("Abs", x), keepdims=0, shape=())
    return emit.node(
        "Max", emit.node("Div", largest, emit.constant(127, _FLOAT)), emit.constant(1e-37, _FLOAT), shape=()
    )


def _data(emit: Emit, step: Step, x: Value) -> tuple[Value, Value]:
    """Return the data after a way through bytes, and their scale."""
    unsigned, given = step.op.attrs["unsigned"], step.args[3] if len(step.args) > 3 else None
    scale = _range_now(emit, x) if given is None else _scale(emit, emit.value(given))
    kind = np.dtype(np.uint8 if unsigned else np.int8)
    return _through_bytes(emit, x, scale, emit.constant(0, kind), given is not None), scale


def _through_bytes(emit: Emit, x: Value, scale: Value, zero: Value, early: bool) -> Value:
    """Round a value to bytes and make it real again; where it is a selection of another one, do that to both.

    Maxima of rounded numbers are rounded numbers, so nothing changes; but a runtime then finds the bytes right behind
    the product before, and pools them.
    """
    made = x.maker
    if early and made is not None and made.kind in _SELECTING and made.inputs[0] is not None:
        first = _through_bytes(emit, made.inputs[0], scale, zero, early)
        x = emit.node(made.kind, first, *made.inputs[1:], dtype=x.dtype, shape=x.shape, **made.attrs)
    packed = emit.node("QuantizeLinear", x, scale, zero, dtype=zero.dtype, shape=x.shape)
    return emit.node("DequantizeLinear", packed, scale, zero, dtype=_FLOAT, shape=x.shape)


def _weight(emit: Emit, step: Step, weight: Value) -> tuple[Value, Value]:
    scale = _scale(emit, emit.value(step.args[2]))
    zero = emit.constant(np.zeros(scale.shape), np.int8)
    axis = 0 if scale.shape else None
    return emit.node("DequantizeLinear", weight, scale, zero, dtype=_FLOAT, shape=weight.shape, axis=axis), scale


def _bias(emit: Emit, step: Step, data_scale: Value, weight_scale: Value) -> Value | None:
    """Return the bias in steps of the product, where these are known."""
    given = step.args[4] if len(step.args) > 4 else None
    if given is None:
        return None
    bias = emit.value(given)
    if not (bias.known and data_scale.known and weight_scale.known):
        return bias
    step_size = (data_scale.array * weight_scale.array).astype(np.float32)
    steps = np.clip(np.rint(bias.array / step_size), -(2**31), 2**31 - 1).astype(np.int32)
    whole = emit.known(f"{bias.name}.int32", steps, steps.dtype, steps.shape)
    size = emit.known(f"{bias.name}.scale", step_size, step_size.dtype, step_size.shape)
    axis = 0 if step_size.shape else None
    return emit.node("DequantizeLinear", whole, size, dtype=_FLOAT, shape=bias.shape, axis=axis)


@rule("int8_fully_connected")
def _int8_fully_connected(emit: Emit, step: Step) -> Any:
    x, weight = emit.value(step.args[0], _FLOAT), emit.value(step.args[1])
    if step.op.attrs["flatten"] and x.ndim != 2:
        x = emit.reshape(x, (x.shape[0], weight.shape[1])) if x.ndim > 1 else emit.unsqueeze(x, 1)
    data, data_scale = _data(emit, step, x)
    rows, weight_scale = _weight(emit, step, weight)
    bias = _bias(emit, step, data_scale, weight_scale)
    if x.ndim == 2:
        return emit.node("Gemm", data, rows, bias, transB=1)
    out = emit.node("MatMul", data, emit.node("Transpose", rows, perm=[1, 0]))
    return out if bias is None else emit.node("Add", out, bias)


@rule("int8_convolution")
def _int8_convolution(emit: Emit, step: Step) -> Any:
    x, weight = emit.value(step.args[0], _FLOAT), emit.value(step.args[1])
    if has_channels_last(step):
        x, weight = channels_first(emit, x), channels_first(emit, weight)
    data, data_scale = _data(emit, step, x)
    filters, weight_scale = _weight(emit, step, weight)
    return convolved(emit, step, data, filters, _bias(emit, step, data_scale, weight_scale))
