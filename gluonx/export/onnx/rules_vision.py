"""ONNX rules of operators on images and boxes. See `gluonx.export.onnx.emit`."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from gluonx.errors import GraphError
from gluonx.export.onnx.emit import Emit, rule
from gluonx.export.onnx.graph import Value, is_static
from gluonx.export.onnx.rules_elementwise import scaled, where
from gluonx.export.record import Step


def _float(emit: Emit, step: Step) -> Value:
    return emit.value(step.args[0], step.outs[0].dtype)


# -- images -----------------------------------------------------------------------------------------------------------


@rule("bilinear_resize")
def _bilinear_resize(emit: Emit, step: Step) -> Any:
    mode = "align_corners" if step.op.attrs["align_corners"] else "half_pixel"
    given = _float(emit, step), None, None, emit.sizes(step.outs[0].shape)
    return emit.node("Resize", *given, mode="linear", coordinate_transformation_mode=mode)


@rule("bilinear_sampler")
def _bilinear_sampler(emit: Emit, step: Step) -> Any:
    x, grid = emit.args(step, step.outs[0].dtype)
    grid = emit.transpose(grid, (0, 2, 3, 1))
    return emit.node("GridSample", x, grid, mode="linear", padding_mode="zeros", align_corners=1)


@rule("grid_generator")
def _grid_generator(emit: Emit, step: Step) -> Any:
    attrs, x, shape = step.op.attrs, _float(emit, step), step.outs[0].shape
    if not is_static(shape[1:]):
        raise GraphError("a grid of open size")
    height, width = shape[2:]
    columns, rows = np.meshgrid(np.arange(width), np.arange(height))
    if attrs["transform_type"] == "warp":
        size = np.array([max(width - 1, 1), max(height - 1, 1)]).reshape(1, 2, 1, 1)
        moved = emit.node("Add", x, emit.constant(np.stack([columns, rows])[None], x.dtype))
        unit = emit.node("Mul", moved, emit.constant(2 / size, x.dtype))
        return emit.node("Sub", unit, emit.constant(1, x.dtype))
    places = [2 * v / max(n - 1, 1) - 1 for v, n in ((columns, width), (rows, height))]
    points = np.stack([*places, np.ones((height, width))]).reshape(3, -1)
    out = emit.node("MatMul", emit.reshape(x, (shape[0], 2, 3)), emit.constant(points, x.dtype))
    out.shape = (shape[0], 2, height * width)
    return emit.reshape(out, shape)


@rule("roi_align")
def _roi_align(emit: Emit, step: Step) -> Any:
    attrs, dtype = step.op.attrs, step.outs[0].dtype
    if attrs["position_sensitive"]:
        raise GraphError("bins with channels of their own")
    x, rois = emit.args(step, dtype)
    batch = emit.node("Gather", rois, emit.constant(0, np.int64), axis=1)
    height, width = attrs["pooled_size"]
    return emit.node(
        "RoiAlign",
        x,
        emit.slice(rois, 1, 1, 5),
        emit.cast(batch, np.int64),
        mode="avg",
        output_height=height,
        output_width=width,
        sampling_ratio=max(attrs["sample_ratio"], 0),
        spatial_scale=float(attrs["spatial_scale"]),
        coordinate_transformation_mode="half_pixel" if attrs["aligned"] else "output_half_pixel",
    )


@rule("image.to_tensor")
def _to_tensor(emit: Emit, step: Step) -> Any:
    x = _float(emit, step)
    front = list(range(x.ndim - 3))
    turned = emit.transpose(x, [*front, x.ndim - 1, x.ndim - 3, x.ndim - 2])
    return scaled(emit, turned, 1 / 255)


@rule("image.normalize")
def _normalize(emit: Emit, step: Step) -> Any:
    x, attrs = _float(emit, step), step.op.attrs
    mean, std = (np.asarray(attrs[n], np.float64).reshape(-1, 1, 1) for n in ("mean", "std"))
    return emit.node("Div", emit.node("Sub", x, emit.constant(mean, x.dtype)), emit.constant(std, x.dtype))


# -- boxes ------------------------------------------------------------------------------------------------------------


@rule("multibox_prior")
def _multibox_prior(emit: Emit, step: Step) -> Any:
    """Compute anchors, which depend on the size of the images only."""
    shape = step.shapes[0].shape
    if not is_static(shape[2:]):
        raise GraphError("the anchors of images of open size")
    with jax.ensure_compile_time_eval():
        found = step.op.fn(jnp.zeros((1, 1, *shape[2:]), step.shapes[0].dtype))
    return emit.constant(np.asarray(found))


def _halves(emit: Emit, boxes: Value) -> list[Value]:
    """Return the first two and the last two of four numbers."""
    parts = emit.node("Split", boxes, axis=boxes.ndim - 1, num_outputs=2, nout=2)
    for part in parts:
        part.shape = (*boxes.shape[:-1], 2)
    return parts


@rule("box_decode")
def _box_decode(emit: Emit, step: Step) -> Any:
    attrs, dtype = step.op.attrs, step.outs[0].dtype
    data, anchors = emit.args(step, dtype)
    middle, size = _halves(emit, anchors)
    if attrs["format"] == "corner":
        low, high = middle, size
        middle = scaled(emit, emit.node("Add", low, high), 0.5)
        size = emit.node("Sub", high, low)
    stds = np.array([attrs[f"std{i}"] for i in range(4)])
    data = data if (stds == 1).all() else emit.node("Mul", data, emit.constant(stds, dtype), shape=data.shape)
    shift, grown = _halves(emit, data)
    if attrs["clip"] > 0:
        grown = emit.node("Min", grown, emit.constant(attrs["clip"], dtype))
    center = emit.node("Add", emit.node("Mul", shift, size), middle)
    half = scaled(emit, emit.node("Mul", emit.node("Exp", grown), size), 0.5)
    return emit.node("Concat", emit.node("Sub", center, half), emit.node("Add", center, half), axis=data.ndim - 1)


def _corners(emit: Emit, boxes: Value, form: str) -> list[Value]:
    low, high = _halves(emit, boxes)
    if form == "corner":
        return [low, high]
    half = scaled(emit, high, 0.5)
    return [emit.node("Sub", low, half), emit.node("Add", low, half)]


def _area(emit: Emit, low: Value, high: Value) -> Value:
    sides = emit.node("Max", emit.node("Sub", high, low), emit.constant(0, low.dtype))
    return emit.node("ReduceProd", sides, emit.ints(-1), keepdims=0)


@rule("box_iou")
def _box_iou(emit: Emit, step: Step) -> Any:
    lhs, rhs = emit.args(step, step.outs[0].dtype)
    left, right = lhs.ndim, rhs.ndim
    lhs = emit.unsqueeze(lhs, *range(left - 1, left + right - 2))
    rhs = emit.unsqueeze(rhs, *range(left - 1))
    one, two = (_corners(emit, boxes, step.op.attrs["format"]) for boxes in (lhs, rhs))
    common = _area(emit, emit.node("Max", one[0], two[0]), emit.node("Min", one[1], two[1]))
    union = emit.node("Sub", emit.node("Add", _area(emit, *one), _area(emit, *two)), common)
    zero, unit = emit.constant(0, lhs.dtype), emit.constant(1, lhs.dtype)
    some = emit.node("Greater", union, zero, dtype=bool)
    return where(emit, some, emit.node("Div", common, where(emit, some, union, unit)), zero)
