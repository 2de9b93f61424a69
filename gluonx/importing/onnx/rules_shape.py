"""Operators that arrange elements, and constants of a given shape. See `gluonx.importing.onnx.rules`."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from gluonx import np as gnp
from gluonx import npx
from gluonx.errors import GraphError, ShapeError
from gluonx.importing.onnx.fold import LARGEST, shape_array
from gluonx.importing.onnx.rules import Call, element_type, one_of, rule, type_in

if TYPE_CHECKING:
    from gluonx.np.handle import ndarray


_MOST = 1 << 28  # elements of an array that the file asks for by a few numbers


def axes_of(call: Call, index: int = 1, name: str = "axes") -> tuple[int, ...] | None:
    """Return axes: an input since opset 13 or 18, an attribute before; None where they are left out."""
    found = call.sizes(index)
    if found is None and call.attr(name) is not None:
        found = tuple(call.attr(name))
    return found


@rule("Shape")
def _shape(call: Call) -> Any:
    shape = tuple(call.raw(0).shape)
    return shape_array(shape[call.attr("start", 0) : call.attr("end")])


rule("Size")(lambda call: shape_array([math.prod(call.raw(0).shape)]).reshape(()))


@rule("Reshape", known=(1,))
def _reshape(call: Call) -> ndarray:
    x, sizes = call[0], call.sizes(1) if call.count > 1 else tuple(call.attr("shape"))
    assert sizes is not None
    if not call.attr("allowzero", 0):
        if any(isinstance(n, int) and n == 0 and i >= x.ndim for i, n in enumerate(sizes)):
            raise ShapeError(f"{call.node}: 0 keeps an axis that {tuple(x.shape)} does not have, in {sizes}")
        sizes = tuple([x.shape[i] if isinstance(n, int) and n == 0 else n for i, n in enumerate(sizes)])
    return gnp.reshape(x, sizes)


@rule("Flatten")
def _flatten(call: Call) -> ndarray:
    x, axis = call[0], call.attr("axis", 1)
    axis = axis + x.ndim if axis < 0 else axis
    if axis == 1 and x.ndim > 1:
        return npx.batch_flatten(x)
    return gnp.reshape(x, (math.prod(x.shape[:axis]), math.prod(x.shape[axis:])))


rule("Squeeze", known=(1,))(lambda call: gnp.squeeze(call[0], axes_of(call)))


@rule("Unsqueeze", known=(1,))
def _unsqueeze(call: Call) -> Any:
    x, axes = call[0], axes_of(call) or ()
    ndim = x.ndim + len(axes)
    shape = iter(x.shape)
    places = {axis % ndim for axis in axes}
    return gnp.reshape(x, tuple([1 if axis in places else next(shape) for axis in range(ndim)]))


rule("Transpose")(lambda call: gnp.transpose(call[0], call.attr("perm")))


@rule("Concat")
def _concat(call: Call) -> Any:
    parts = call.all()
    return parts[0] if len(parts) == 1 else gnp.concatenate(parts, axis=call.attr("axis", 1))


@rule("Split", known=(1,))
def _split(call: Call) -> tuple[ndarray, ...]:
    x, axis = call[0], call.attr("axis", 0)
    sizes = axes_of(call, 1, "split")
    if sizes is None:
        count = call.attr("num_outputs", len(call.node.outputs))
        size = -(-x.shape[axis] // count)
        sizes = tuple([size] * (count - 1) + [x.shape[axis] - size * (count - 1)])
    ends = np.cumsum(sizes)
    if ends[-1] != x.shape[axis]:
        raise ShapeError(f"{call.node}: parts of {tuple(sizes)} are not axis {axis} of {tuple(x.shape)}")
    if len(sizes) == 1:
        return (x,)
    return tuple(gnp.split(x, tuple([int(end) for end in ends[:-1]]), axis))


def _cut(x: ndarray, axis: int, start: Any, end: Any, step: int) -> ndarray:
    return x[(slice(None),) * (axis % x.ndim) + (slice(start, end, step),)]


@rule("Slice", known=(1, 2, 3, 4))
def _slice(call: Call) -> ndarray:
    x = call[0]
    starts: Any = call.attr("starts") if call.opset < 10 else call.sizes(1)
    ends: Any = call.attr("ends") if call.opset < 10 else call.sizes(2)
    axes, steps = axes_of(call, 3) or range(len(starts)), call.sizes(4) or [1] * len(starts)
    for start, end, axis, step in zip(starts, ends, axes, steps, strict=True):
        if step < 0 and isinstance(end, int) and isinstance(x.shape[axis], int) and end < -x.shape[axis]:
            end = None  # before the first
        if step < 0 and isinstance(end, int) and end == -(1 << 63):
            end = None
        x = _cut(x, axis, start, _within(end), step)
    return x


def _within(end: Any) -> Any:
    """Return an end; one as large as int64 means all of an axis."""
    return None if isinstance(end, int) and end >= (1 << 31) - 1 else end


@rule("Expand", known=(1,))
def _expand(call: Call) -> Any:
    x, sizes = call[0], call.sizes(1)
    assert sizes is not None
    given = (1,) * (len(sizes) - x.ndim) + tuple(x.shape)
    wanted = (1,) * (x.ndim - len(sizes)) + tuple(sizes)
    shape = tuple([b if _is_one(a) else a for a, b in zip(given, wanted, strict=True)])
    _bounded(call, shape)
    known = call.raw(0)
    if isinstance(known, np.ndarray) and known.size == 1:
        return gnp.full(shape, known.reshape(()).item(), dtype=known.dtype)
    return gnp.broadcast_to(x, shape)


def _is_one(size: Any) -> bool:
    return isinstance(size, int) and size == 1


def _bounded(call: Call, shape: Sequence[Any]) -> None:
    if all(isinstance(n, int) for n in shape) and math.prod(shape) > _MOST:
        raise GraphError(f"{call.node} makes an array of shape {tuple(shape)}, of more than {_MOST} elements")


@rule("Tile", known=(1,))
def _tile(call: Call) -> Any:
    x, repeats = call[0], call.sizes(1)
    assert repeats is not None
    _bounded(call, [n * r for n, r in zip(x.shape, repeats, strict=False)])
    return gnp.tile(x, repeats)


@rule("ConstantOfShape", known=(0,))
def _constant_of_shape(call: Call) -> Any:
    shape, value = call.sizes(0), call.attr("value")
    assert shape is not None
    _bounded(call, shape)
    if value is None:
        value = np.zeros(1, np.float32)
    return gnp.full(shape, value.reshape(-1)[0].item(), dtype=value.dtype)


@rule("Range", known=(0, 1, 2))
def _range(call: Call) -> Any:
    start, end, step = [call.known(i).reshape(()) for i in range(3)]
    if step == 0 or math.ceil((float(end) - float(start)) / float(step)) > _MOST:
        raise GraphError(f"{call.node} makes a range from {start} to {end} in steps of {step}")
    made = np.arange(start.item(), end.item(), step.item(), dtype=start.dtype)
    return made if made.size <= LARGEST else gnp.array(made, dtype=made.dtype)


@rule("EyeLike", check=type_in("dtype"))
def _eye_like(call: Call) -> Any:
    x = call[0]
    dtype = element_type(call.attr("dtype")) if call.attr("dtype") else x.dtype
    return gnp.eye(x.shape[0], x.shape[1], k=call.attr("k", 0), dtype=dtype)


@rule("Trilu", known=(1,))
def _trilu(call: Call) -> Any:
    k = call.known(1)
    part = gnp.triu if call.attr("upper", 1) else gnp.tril
    return part(call[0], 0 if k is None else int(k.reshape(())))


@rule("Pad", known=(1, 3), check=one_of("mode", "constant", "reflect", "edge", "wrap"))
def _pad(call: Call) -> ndarray:
    x, mode = call[0], call.attr("mode", "constant")
    pads = call.sizes(1) if call.opset >= 11 else tuple(call.attr("pads"))
    assert pads is not None
    axes = [axis % x.ndim for axis in call.sizes(3) or range(x.ndim)]
    widths = [(0, 0)] * x.ndim
    for place, axis in enumerate(axes):
        widths[axis] = (pads[place], pads[place + len(axes)])
    value = call[2] if call.opset >= 11 else call.attr("value", 0.0)
    return padded(x, widths, mode, 0 if value is None else value)


def padded(x: Any, widths: Sequence[tuple[int, int]], mode: str = "constant", value: Any = 0) -> ndarray:
    """Return an array with margins; negative ones cut off."""
    for axis, (low, high) in enumerate(widths):
        if low < 0 or high < 0:
            x = _cut(x, axis, max(-low, 0), x.shape[axis] - max(-high, 0), 1)
    more = [(max(low, 0), max(high, 0)) for low, high in widths]
    if not any(map(any, more)):
        return x
    if mode != "constant":
        return gnp.pad(x, more, mode=mode)
    if hasattr(value, "astype"):
        value = gnp.reshape(value, ()).astype(x.dtype)
    return gnp.pad(x, more, mode="constant", constant_values=value)


@rule("DepthToSpace")
def _depth_to_space(call: Call) -> Any:
    x, size = call[0], call.attr("blocksize")
    if call.attr("mode", "DCR") == "DCR":
        return npx.depth_to_space(x, block_size=size)
    n, c, h, w = x.shape
    parts = gnp.reshape(x, (n, c // size**2, size, size, h, w))
    return gnp.reshape(gnp.transpose(parts, (0, 1, 4, 2, 5, 3)), (n, c // size**2, h * size, w * size))


@rule("SpaceToDepth")
def _space_to_depth(call: Call) -> Any:
    x, size = call[0], call.attr("blocksize")
    if call.attr("mode", "DCR") == "DCR":
        return npx.space_to_depth(x, block_size=size)
    n, c, h, w = x.shape
    parts = gnp.reshape(x, (n, c, h // size, size, w // size, size))
    return gnp.reshape(gnp.transpose(parts, (0, 1, 3, 5, 2, 4)), (n, c * size**2, h // size, w // size))


@rule("ReverseSequence")
def _reverse_sequence(call: Call) -> Any:
    x, lengths = call[0], call[1]
    time, batch = call.attr("time_axis", 0), call.attr("batch_axis", 1)
    x = gnp.moveaxis(x, (time, batch), (0, 1))
    out = npx.sequence_reverse(x, lengths, use_sequence_length=True)
    return gnp.moveaxis(out, (0, 1), (time, batch))
