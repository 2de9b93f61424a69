"""ONNX rules of activations and the softmax family. See `gluonx.export.onnx.emit`."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import numpy as np

from gluonx.errors import GraphError
from gluonx.export.onnx.emit import RULES, Emit, rule
from gluonx.export.onnx.graph import Value, is_float
from gluonx.export.onnx.rules_elementwise import scaled, where
from gluonx.export.record import Step

_BOOL = np.dtype(bool)


def _operand(emit: Emit, step: Step) -> Value:
    return emit.value(step.args[0], step.outs[0].dtype)


rule("activation")(lambda emit, step: RULES[step.op.attrs["act_type"]](emit, step))


@rule("dropout")
def _dropout(emit: Emit, step: Step) -> Any:
    if step.op.random:
        raise GraphError("it drops in prediction too")
    return emit.value(step.args[0])


rule("log_sigmoid")(lambda emit, step: emit.node("Neg", emit.node("Softplus", emit.node("Neg", _operand(emit, step)))))


def _swish(emit: Emit, x: Value, beta: float = 1.0) -> Value:
    inner = x if beta == 1 else scaled(emit, x, beta)
    return emit.node("Mul", x, emit.node("Sigmoid", inner))


rule("silu", "swish")(lambda emit, step: _swish(emit, _operand(emit, step), step.op.attrs.get("beta", 1.0)))


@rule("swiglu")
def _swiglu(emit: Emit, step: Step) -> Any:
    x, gate = emit.args(step, step.outs[0].dtype)
    return emit.node("Mul", _swish(emit, gate), x)


@rule("gelu")
def _gelu(emit: Emit, step: Step) -> Any:
    return emit.node("Gelu", _operand(emit, step), approximate="tanh" if step.op.attrs["approximate"] else "none")


@rule("leaky_relu")
def _leaky_relu(emit: Emit, step: Step) -> Any:
    attrs, x = step.op.attrs, _operand(emit, step)
    kind, slope = attrs["act_type"], float(attrs["slope"])
    if kind == "prelu":
        gamma = emit.value(step.args[1], x.dtype)
        if gamma.ndim == 1 and x.ndim > 2:
            gamma = emit.reshape(gamma, (gamma.shape[0], *[1] * (x.ndim - 2)))
        return emit.node("PRelu", x, gamma)
    if kind == "rrelu":
        kind, slope = "leaky", (attrs["lower_bound"] + attrs["upper_bound"]) / 2
    if kind == "leaky":
        return emit.node("LeakyRelu", x, alpha=slope)
    if kind == "elu":
        return emit.node("Elu", x, alpha=slope)
    if kind == "selu":
        return emit.node("Selu", x)
    return emit.node("Gelu", x, approximate="tanh" if kind == "gelu_tanh" else "none")


@rule("smooth_l1")
def _smooth_l1(emit: Emit, step: Step) -> Any:
    x, square = _operand(emit, step), step.op.attrs["scalar"] ** 2
    size = emit.node("Abs", x)
    near = emit.node("Less", size, emit.constant(1 / square, x.dtype), dtype=_BOOL)
    inner = scaled(emit, emit.node("Mul", x, x), 0.5 * square)
    return where(emit, near, inner, emit.node("Sub", size, emit.constant(0.5 / square, x.dtype)))


# -- softmax ----------------------------------------------------------------------------------------------------------


def masked(emit: Emit, scores: Value, mask: Value, axis: int, logarithm: bool = False) -> Value:
    """Return the softmax over the elements where `mask` holds; where nothing is left in a row, zeros."""
    low = emit.constant(jnp.finfo(scores.dtype).min, scores.dtype)
    found = emit.node("LogSoftmax" if logarithm else "Softmax", where(emit, mask, scores, low), axis=axis)
    return where(emit, mask, found, emit.constant(-np.inf if logarithm else 0, scores.dtype))


def _scores(emit: Emit, step: Step, temperature: Any) -> Value:
    x = emit.value(step.args[0])
    x = x if is_float(x.dtype) else emit.cast(x, np.float32)
    return x if temperature is None else emit.node("Div", x, emit.value(temperature, x.dtype))


@rule("softmax", "log_softmax")
def _softmax(emit: Emit, step: Step) -> Any:
    _, length, temperature = (*step.args, None, None)[:3]
    attrs, logarithm = step.op.attrs, step.op.name == "log_softmax"
    scores = _scores(emit, step, temperature)
    axis = attrs["axis"] % len(step.shapes[0].shape)
    if length is None or not attrs["use_length"]:
        return emit.node("LogSoftmax" if logarithm else "Softmax", scores, axis=axis)
    shape = step.shapes[0].shape
    places = emit.positions(shape[axis], len(shape) - axis - 1)
    valid = emit.unsqueeze(emit.value(length, np.int64), axis)
    return masked(emit, scores, emit.node("Less", places, valid, dtype=_BOOL), axis, logarithm)


@rule("softmin")
def _softmin(emit: Emit, step: Step) -> Any:
    temperature = step.args[1] if len(step.args) > 1 else None
    return emit.node("Softmax", emit.node("Neg", _scores(emit, step, temperature)), axis=step.op.attrs["axis"])


@rule("masked_softmax", "masked_log_softmax")
def _masked(emit: Emit, step: Step) -> Any:
    _, mask, temperature = (*step.args, None, None)[:3]
    scores = _scores(emit, step, temperature)
    return masked(emit, scores, emit.value(mask, _BOOL), step.op.attrs["axis"], "log" in step.op.name)


@rule("softmax_output")
def _softmax_output(emit: Emit, step: Step) -> Any:
    attrs, x = step.op.attrs, _operand(emit, step)
    if attrs["multi_output"]:
        return emit.node("Softmax", x, axis=1)
    if attrs["preserve_shape"] or x.ndim == 2:
        return emit.node("Softmax", x, axis=-1)
    if x.ndim < 2:
        raise GraphError("data of one axis has no classes")
    shape = step.outs[0].shape
    flat = emit.node("Flatten", x, axis=1, shape=None)
    return emit.node("Reshape", emit.node("Softmax", flat, axis=1), emit.sizes(shape), shape=shape)
