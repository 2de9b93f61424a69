"""ONNX rules of convolutions and their transposes. See `gluonx.export.onnx.emit`.

ONNX's convolutions want the channels first; data with the channels last is transposed on the way in and out.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gluonx.errors import GraphError
from gluonx.export.onnx.emit import Emit, rule
from gluonx.export.onnx.graph import Value, is_static
from gluonx.export.record import Step


def per_axis(value: Any, count: int, default: int) -> list[int]:
    """One number for each spatial axis."""
    if value is None or value == ():
        return [default] * count
    values = [value] if isinstance(value, int) else list(value)
    return values * count if len(values) == 1 else values


def channels_first(emit: Emit, x: Value) -> Value:
    """Move channels that stand last behind the batch."""
    return emit.transpose(x, [0, x.ndim - 1, *range(1, x.ndim - 1)])


def channels_last(emit: Emit, x: Value, ndim: int, shape: Any) -> Value:
    """Return the way back; `shape` is the result's."""
    x.shape = (shape[0], shape[-1], *shape[1:-1])
    return emit.transpose(x, [0, *range(2, ndim), 1])


def has_channels_last(step: Step) -> bool:
    """Return whether a step's data have their channels last."""
    return (step.op.attrs["layout"] or "NCW")[-1] == "C"


def _inputs(emit: Emit, step: Step) -> tuple[Value, Value, Value | None]:
    """Return data, weight and bias, with the channels in front."""
    dtype = step.outs[0].dtype
    data, weight, bias = (*step.args, None)[:3]
    x, w = emit.value(data, dtype), emit.value(weight, dtype)
    if has_channels_last(step):
        x, w = channels_first(emit, x), channels_first(emit, w)
    return x, w, None if bias is None or step.op.attrs["no_bias"] else emit.value(bias, dtype)


def _out(emit: Emit, step: Step, made: Value) -> Value:
    return channels_last(emit, made, len(step.outs[0].shape), step.outs[0].shape) if has_channels_last(step) else made


def convolved(emit: Emit, step: Step, x: Value, weight: Value, bias: Value | None) -> Any:
    """Return the convolution of a step, of values with the channels in front."""
    attrs, kernel = step.op.attrs, list(weight.shape[2:])
    count = len(kernel)
    pad = per_axis(attrs["pad"], count, 0)
    made = emit.node(
        "Conv",
        x,
        weight,
        bias,
        kernel_shape=kernel,
        strides=per_axis(attrs["stride"], count, 1),
        dilations=per_axis(attrs["dilate"], count, 1),
        pads=[*pad, *pad],
        group=attrs["num_group"],
    )
    return _out(emit, step, made)


rule("convolution")(lambda emit, step: convolved(emit, step, *_inputs(emit, step)))


@rule("deconvolution")
def _deconvolution(emit: Emit, step: Step) -> Any:
    attrs, given = step.op.attrs, _inputs(emit, step)
    x, weight = given[:2]
    kernel = list(weight.shape[2:])
    count = len(kernel)
    stride, dilate, pad, more = (
        per_axis(attrs[n], count, d) for n, d in (("stride", 1), ("dilate", 1), ("pad", 0), ("adj", 0))
    )
    ends = [p - a for p, a in zip(pad, more, strict=True)]
    target = attrs["target_shape"]
    if target is not None and any(target):
        if not is_static(x.shape[2:]):
            raise GraphError("a target_shape for images of open size")
        sizes = zip(stride, x.shape[2:], dilate, kernel, per_axis(target, count, 0), strict=True)
        excess = [s * (n - 1) + d * (k - 1) + 1 - t for s, n, d, k, t in sizes]
        pad, ends, more = [(e + 1) // 2 for e in excess], [e // 2 for e in excess], [0] * count
    # What a smaller padding behind can say needs no output_padding, which some runtimes bound by the stride.
    spare = [0 if e >= 0 else a for e, a in zip(ends, more, strict=True)]
    ends = [e if e >= 0 else p for e, p in zip(ends, pad, strict=True)]
    made = emit.node(
        "ConvTranspose",
        *given,
        kernel_shape=kernel,
        strides=stride,
        dilations=dilate,
        pads=[*pad, *ends],
        output_padding=spare if any(spare) else None,
        group=attrs["num_group"],
    )
    return _out(emit, step, made)


@rule("deformable_convolution", "modulated_deformable_convolution")
def _deformable(emit: Emit, step: Step) -> Any:
    attrs, dtype = step.op.attrs, step.outs[0].dtype
    modulated = step.op.name.startswith("modulated")
    x, offset, *rest = (None if a is None else emit.value(a, dtype) for a in step.args)
    mask, rest = (rest[0], rest[1:]) if modulated else (None, rest)
    weight, bias = (*rest, None)[:2]
    assert x is not None and offset is not None and weight is not None
    pad = per_axis(attrs["pad"], 2, 0)
    given: dict[str, Any] = {"kernel_shape": list(weight.shape[2:]), "pads": [*pad, *pad], "group": attrs["num_group"]}
    given["strides"], given["dilations"] = (per_axis(attrs[n], 2, 1) for n in ("stride", "dilate"))
    given["offset_group"] = attrs["num_deformable_group"]
    if not modulated:
        offset, mask = _held(emit, x, offset, given)
    return emit.node("DeformConv", x, weight, offset, None if attrs["no_bias"] else bias, mask, **given)


def _held(emit: Emit, x: Value, offset: Value, given: dict[str, Any]) -> tuple[Value, Value]:
    """Offsets and a mask that treat the images' edges as the plain operator does.

    A tap that falls between the last element and the edge takes the last element; ONNX lets it fade. So places are kept
    within the image, and those that were outside count nothing.
    """
    size, made = x.shape[2:], offset.shape[2:]
    if not is_static([*size, *made]):
        raise GraphError("images of open size")
    taps = np.meshgrid(*map(np.arange, given["kernel_shape"]), indexing="ij")
    places = np.meshgrid(*map(np.arange, made), indexing="ij")
    grid = [
        place[None] * stride - pad + tap.reshape(-1, 1, 1) * dilate
        for place, tap, stride, dilate, pad in zip(
            places, taps, given["strides"], given["dilations"], given["pads"], strict=False
        )
    ]
    base = np.tile(np.stack(grid, 1).reshape(-1, *made), (given["offset_group"], 1, 1))
    count = len(base)
    last = np.tile(np.array(size), count // 2).reshape(-1, 1, 1)
    start, end, zero = (emit.constant(v, x.dtype) for v in (base, last, 0))
    place = emit.node("Add", offset, start)
    within = [emit.node("GreaterOrEqual", place, zero, dtype=bool), emit.node("Less", place, end, dtype=bool)]
    inside = emit.cast(emit.node("And", *within, shape=offset.shape), x.dtype)
    batch = offset.shape[0]
    pairs = emit.reshape(inside, (batch, count // 2, 2, *made))
    mask = emit.node("ReduceMin", pairs, emit.ints(2), keepdims=0)
    kept = emit.node("Min", emit.node("Max", place, zero), emit.constant(last - 1, x.dtype))
    return emit.node("Sub", kept, start), mask
