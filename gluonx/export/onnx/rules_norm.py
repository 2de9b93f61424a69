"""ONNX rules of normalizations. See `gluonx.export.onnx.emit`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gluonx.errors import GraphError
from gluonx.export.onnx.emit import Emit, rule
from gluonx.export.onnx.graph import Value
from gluonx.export.onnx.rules_reduce import reduced
from gluonx.export.record import Step


def _along(emit: Emit, vector: Value, after: int) -> Value:
    """Return a vector with so many axes of length 1 behind."""
    return emit.reshape(vector, (vector.shape[0], *[1] * after)) if after else vector


@rule("batch_norm")
def _batch_norm(emit: Emit, step: Step) -> Any:
    attrs = step.op.attrs
    if attrs["training"] and not attrs["use_global_stats"]:
        raise GraphError("it runs in training mode")
    dtype = step.outs[0].dtype
    x, gamma, beta, mean, var = (emit.value(a, dtype) for a in step.args)
    axis = attrs["axis"] % x.ndim
    if attrs["fix_gamma"]:
        gamma = emit.constant(np.ones(gamma.shape, dtype))
    if axis == 1:
        out = emit.node("BatchNormalization", x, gamma, beta, mean, var, epsilon=float(attrs["eps"]))
    else:
        out = _scaled_and_shifted(emit, x, (gamma, beta, mean, var), axis, float(attrs["eps"]))
    if len(step.outs) == 1:
        return out
    moving = [emit.value(a) for a in step.args[3:]]
    if not attrs["output_mean_var"]:
        return [out, *moving]
    inverse = emit.node("Reciprocal", emit.node("Sqrt", emit.node("Add", var, emit.constant(attrs["eps"], dtype))))
    return [out, *moving, mean, inverse]


def _scaled_and_shifted(emit: Emit, x: Value, vectors: Sequence[Value], axis: int, eps: float) -> Value:
    """Return the statistics as one factor and one summand for each channel."""
    if not all(v.known for v in vectors):
        raise GraphError("statistics that depend on the inputs, along an axis other than 1")
    gamma, beta, mean, var = (v.array for v in vectors)
    factor = (gamma / np.sqrt(var + np.asarray(eps, var.dtype))).astype(x.dtype)
    shift = (beta - mean * factor).astype(x.dtype)
    name, shape = vectors[1].name, (len(factor), *[1] * (x.ndim - 1 - axis))
    scale, offset = (
        emit.known(f"{name}.{word}", v.reshape(shape), v.dtype, shape)
        for word, v in (("scale", factor), ("shift", shift))
    )
    return emit.node("Add", emit.node("Mul", x, scale), offset)


@rule("layer_norm")
def _layer_norm(emit: Emit, step: Step) -> Any:
    attrs, dtype = step.op.attrs, step.outs[0].dtype
    x, gamma, beta = (emit.value(a, dtype) for a in step.args)
    axis, last = attrs["axis"] % x.ndim, x.ndim - 1
    perm = [*[i for i in range(x.ndim) if i != axis], axis]
    turned = emit.transpose(x, perm)
    full = attrs["output_mean_var"]
    found = emit.node(
        "LayerNormalization", turned, gamma, beta, axis=-1, epsilon=float(attrs["eps"]), nout=3 if full else 1
    )
    back = np.argsort(perm).tolist()
    if axis != last:
        shape = turned.shape
        for value, size in zip(found, (shape[-1], 1, 1), strict=False):
            value.shape = (*shape[:-1], size)
        found = [emit.transpose(v, back) for v in found]
    return [found[0], found[1], emit.node("Reciprocal", found[2])] if full else found[0]


@rule("group_norm")
def _group_norm(emit: Emit, step: Step) -> Any:
    attrs, dtype = step.op.attrs, step.outs[0].dtype
    x, gamma, beta = (emit.value(a, dtype) for a in step.args)
    if attrs["output_mean_var"]:
        raise GraphError("output_mean_var is not supported")
    groups, shape = attrs["num_groups"], x.shape
    size = shape[1] // groups
    for n in shape[2:]:
        size = size * n
    flat = emit.reshape(x, (shape[0], groups, size))
    units = (emit.constant(np.full(groups, v), dtype) for v in (1, 0))
    out = emit.node("InstanceNormalization", flat, *units, epsilon=float(attrs["eps"]), shape=flat.shape)
    out = emit.reshape(out, shape)
    gamma, beta = (_along(emit, v, x.ndim - 2) for v in (gamma, beta))
    return emit.node("Add", emit.node("Mul", out, gamma), beta)


@rule("instance_norm")
def _instance_norm(emit: Emit, step: Step) -> Any:
    x, gamma, beta = (emit.value(a, step.outs[0].dtype) for a in step.args)
    eps = float(step.op.attrs["eps"])
    if x.ndim > 2:
        return emit.node("InstanceNormalization", x, gamma, beta, epsilon=eps)
    shape = (*x.shape, 1)
    out = emit.node("InstanceNormalization", emit.unsqueeze(x, 2), gamma, beta, epsilon=eps, shape=shape)
    return emit.squeeze(out, 2)


def _mean_square(emit: Emit, x: Value, axis: int) -> Value:
    return reduced(emit, "ReduceMean", emit.node("Mul", x, x, shape=x.shape), (axis,), True)


@rule("rms_norm")
def _rms_norm(emit: Emit, step: Step) -> Any:
    x, gamma = (emit.value(a, step.outs[0].dtype) for a in step.args)
    axis = step.op.attrs["axis"] % x.ndim
    total = emit.node("Add", _mean_square(emit, x, axis), emit.constant(step.op.attrs["eps"], x.dtype))
    out = emit.node("Div", x, emit.node("Sqrt", total))
    return emit.node("Mul", out, _along(emit, gamma, x.ndim - 1 - axis))


@rule("rotary_embedding")
def _rotary_embedding(emit: Emit, step: Step) -> Any:
    if len(step.args) > 1 and step.args[1] is not None:
        raise GraphError("rotary_embedding is written in ONNX only for positions from 0 on")
    x = emit.value(step.args[0], step.outs[0].dtype)
    length, half = x.shape[1], x.shape[3] // 2
    rates = step.op.attrs["base"] ** (-np.arange(half) / half)
    angles = (np.arange(length)[:, None] * rates)[None, :, None]
    cos = emit.constant(np.concatenate([np.cos(angles)] * 2, -1), x.dtype)
    sin = emit.constant(np.concatenate([-np.sin(angles), np.sin(angles)], -1), x.dtype)
    order = emit.constant(np.roll(np.arange(2 * half), half), "int64")
    turned = emit.node("Gather", x, order, axis=3, shape=x.shape)
    return emit.node("Add", emit.node("Mul", x, cos, shape=x.shape), emit.node("Mul", turned, sin, shape=x.shape))


@rule("l2_normalization")
def _l2_normalization(emit: Emit, step: Step) -> Any:
    x = emit.value(step.args[0], step.outs[0].dtype)
    axes = {"instance": range(1, x.ndim), "channel": (1,), "spatial": range(2, x.ndim)}[step.op.attrs["mode"]]
    total = reduced(emit, "ReduceSumSquare", x, tuple(axes), True)
    total = emit.node("Add", total, emit.constant(step.op.attrs["eps"], x.dtype))
    return emit.node("Div", x, emit.node("Sqrt", total))


@rule("lrn")
def _lrn(emit: Emit, step: Step) -> Any:
    attrs, x = step.op.attrs, emit.value(step.args[0], step.outs[0].dtype)
    given: dict[str, Any] = {
        "alpha": float(attrs["alpha"]),
        "beta": float(attrs["beta"]),
        "bias": float(attrs["knorm"]),
    }
    return emit.node("LRN", x, size=attrs["nsize"], **given)
