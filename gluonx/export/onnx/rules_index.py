"""ONNX rules of slices, indices and scatters. See `gluonx.export.onnx.emit`.

ONNX refuses an index that is out of range. Where the operator says what such an index means, a ``Clip`` or ``Mod`` in
front of the ``Gather`` sees to it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from gluonx.errors import GraphError
from gluonx.export.onnx.emit import Emit, rule
from gluonx.export.onnx.graph import Value, is_static
from gluonx.export.onnx.rules_elementwise import floor_mod, where, wider
from gluonx.export.record import Step, number

_INT64 = np.dtype(np.int64)
_END = np.iinfo(np.int64).max
_BOOL = np.dtype(bool)


# -- slices -----------------------------------------------------------------------------------------------------------


def _cut(emit: Emit, x: Value, cuts: Sequence[tuple[int, Any, Any, int]], shape: Sequence[Any]) -> Value:
    """Return the part between (axis, start, stop, step); one node for all axes."""
    if not cuts:
        return x
    axes, starts, stops, steps = zip(*cuts, strict=True)
    bounds = [emit.sizes(v) for v in (starts, stops)]
    paces = None if set(steps) == {1} else emit.ints(*steps)
    return emit.node("Slice", x, *bounds, emit.ints(*axes), paces, shape=tuple(shape))


def _whole(bounds: Sequence[Any], size: Any) -> bool:
    """Return whether a slice (start, stop, step) takes everything."""
    start, stop, step = bounds
    if step not in (None, 1) or (start is not None and str(start) != "0"):
        return False
    return stop is None or str(stop) == str(size) or (is_static([stop, size]) and stop >= size)


def _bounds(bounds: Sequence[Any]) -> tuple[Any, Any, int]:
    """Return a slice as ONNX wants it, with ends that are left open spelled out."""
    start, stop, step = bounds
    step = 1 if step is None else int(step)
    start = (0 if step > 0 else _END) if start is None else start
    return start, (_END if step > 0 else -_END) if stop is None else stop, step


@rule("slice")
def _slice(emit: Emit, step: Step) -> Any:
    x, attrs = emit.value(step.args[0]), step.op.attrs
    paces = tuple(attrs["step"]) or (None,) * len(attrs["begin"])
    cuts = []
    for axis, (begin, end, pace) in enumerate(zip(attrs["begin"], attrs["end"], paces, strict=True)):
        if not _whole((begin, end, pace), x.shape[axis]):
            cuts.append((axis, *_bounds((begin, end, pace))))
    return _cut(emit, x, cuts, step.outs[0].shape)


@rule("slice_axis")
def _slice_axis(emit: Emit, step: Step) -> Any:
    x, attrs = emit.value(step.args[0]), step.op.attrs
    axis = attrs["axis"] % x.ndim
    if _whole((attrs["begin"], attrs["end"], 1), x.shape[axis]):
        return x
    return _cut(emit, x, [(axis, *_bounds((attrs["begin"], attrs["end"], 1)))], step.outs[0].shape)


@rule("slice_like")
def _slice_like(emit: Emit, step: Step) -> Any:
    x, out = emit.value(step.args[0]), step.outs[0].shape
    cuts = [(i, 0, n, 1) for i, n in enumerate(out) if str(n) != str(x.shape[i])]
    return _cut(emit, x, cuts, out)


def _starts(step: Step, skipped: int) -> list[int]:
    starts = step.args[skipped:]
    if not all(number(s) for s in starts):
        raise GraphError("a slice that begins where an array says")
    return [int(s) for s in starts]


@rule("derived read")
def _read(emit: Emit, step: Step) -> Any:
    """``x[1, 2:4]``: the engine's own operator, whose starts are inputs."""
    x, (_, dims, shape) = emit.value(step.args[0]), step.op.extra
    cuts, kept = [], []
    for axis, (start, (count, pace)) in enumerate(zip(_starts(step, 1), dims, strict=True)):
        size = x.shape[axis]
        length = 1 if count is None else count
        stop = start + length * pace
        kept.append(length)
        if start or pace != 1 or length != size:
            cuts.append((axis, start, -_END if stop < 0 else stop, pace))
    gone = [axis for axis, (count, _) in enumerate(dims) if count is None]
    if len(cuts) == len(gone) == 1 and gone[0] == cuts[0][0]:
        return emit.reshape(_one(emit, x, gone[0], cuts[0][1]), shape)
    return emit.reshape(_cut(emit, x, cuts, kept), shape)


@rule("derived write")
def _write(emit: Emit, step: Step) -> Any:
    """``x[1, 2:4] = value``: the elements' places are known, so it is a scatter of slices, or of elements."""
    x, value = emit.value(step.args[0]), emit.value(step.args[1], step.outs[0].dtype)
    _, dims, shape = step.op.extra
    full = x.shape
    if not is_static(full):
        raise GraphError("an assignment into an array of open size")
    starts = _starts(step, 2)
    places = [np.arange(1 if n is None else n) * pace + s for s, (n, pace) in zip(starts, dims, strict=True)]
    while places and len(places[-1]) == full[len(places) - 1] and (places[-1] == np.arange(len(places[-1]))).all():
        places.pop()  # whole dimensions at the end travel together
    if not places:
        return emit.expand(value, full)
    index = np.stack(np.meshgrid(*places, indexing="ij"), -1).astype(np.int64)
    lengths = tuple([1 if n is None else n for n, _ in dims])
    spread = emit.expand(emit.reshape(value, (1,) * (len(shape) - value.ndim) + tuple(value.shape)), shape)
    return emit.node("ScatterND", x, emit.constant(index), emit.reshape(spread, lengths))


# -- gather -----------------------------------------------------------------------------------------------------------


def _inside(emit: Emit, index: Value, size: Any, mode: str) -> Value:
    """Places that are surely within an axis."""
    dtype = index.dtype
    if not is_static([size]):
        count = emit.cast(emit.squeeze(emit.dimension(size), 0), dtype)
        last = emit.node("Sub", count, emit.constant(1, dtype))
    else:
        count, last = emit.constant(size, dtype), emit.constant(size - 1, dtype)
    if index.known and last.known:
        array = index.array % size if mode == "wrap" else np.clip(index.array, 0, size - 1)
        return emit.constant(array)
    if mode == "wrap":
        return floor_mod(emit, index, count)
    return emit.node("Clip", index, emit.constant(0, dtype), last)


def _index(emit: Emit, arg: Any) -> Value:
    """Places as int64; floats are cut."""
    return emit.value(arg, np.int64)


def _either(emit: Emit, arg: Any) -> Value:
    """Places as they come, where ONNX takes int32 as well."""
    found = emit.value(arg)
    return found if found.dtype == np.int32 else emit.cast(found, np.int64)


@rule("take")
def _take(emit: Emit, step: Step) -> Any:
    attrs, x = step.op.attrs, emit.value(step.args[0])
    axis = attrs["axis"]
    if axis is None:
        x, axis = emit.reshape(x, (math.prod(x.shape),)), 0
    axis %= x.ndim
    index = _either(emit, step.args[1])
    if attrs["mode"] != "raise":
        index = _inside(emit, index, x.shape[axis], attrs["mode"])
    return emit.node("Gather", x, index, axis=axis)


@rule("embedding")
def _embedding(emit: Emit, step: Step) -> Any:
    weight = emit.value(step.args[1])
    index = _inside(emit, _either(emit, step.args[0]), weight.shape[0], "clip")
    return emit.node("Gather", weight, index, axis=0)


@rule("take_along_axis")
def _take_along_axis(emit: Emit, step: Step) -> Any:
    x, index, axis = emit.value(step.args[0]), _either(emit, step.args[1]), step.op.attrs["axis"]
    if axis is None:
        x, axis = emit.reshape(x, (math.prod(x.shape),)), 0
    axis %= x.ndim
    out = step.outs[0].shape
    kept = lambda shape: (*out[:axis], (shape or ())[axis], *out[axis + 1 :])  # noqa: E731
    return emit.node("GatherElements", emit.expand(x, kept(x.shape)), emit.expand(index, kept(index.shape)), axis=axis)


@rule("pick")
def _pick(emit: Emit, step: Step) -> Any:
    attrs, x, index = step.op.attrs, emit.value(step.args[0]), _either(emit, step.args[1])
    axis = attrs["axis"]
    if axis is None:
        x, axis = emit.reshape(x, (math.prod(x.shape),)), 0
    axis %= x.ndim
    if index.ndim < x.ndim:
        index = emit.unsqueeze(index, axis)
    size, shape = x.shape[axis], index.shape
    found = emit.node("GatherElements", x, _inside(emit, index, size, attrs["mode"]), axis=axis, shape=shape)
    return found if attrs["keepdims"] else emit.squeeze(found, axis)


def _last(emit: Emit, indices: Value) -> Value:
    """Coordinates that stand in columns, as rows."""
    return emit.transpose(indices, [*range(1, indices.ndim), 0])


@rule("gather_nd")
def _gather_nd(emit: Emit, step: Step) -> Any:
    x, indices = emit.value(step.args[0]), _last(emit, _index(emit, step.args[1]))
    lengths = x.shape[: indices.shape[-1]]
    top = emit.node("Sub", emit.sizes(lengths), emit.ints(1))
    low = emit.node("Neg", emit.sizes(lengths))
    kept = emit.node("Max", emit.node("Min", indices, top), low)
    return emit.node("GatherND", x, kept)


@rule("scatter_nd")
def _scatter_nd(emit: Emit, step: Step) -> Any:
    value, indices = emit.value(step.args[0]), _last(emit, _index(emit, step.args[1]))
    zeros = emit.expand(emit.constant(0, value.dtype), step.outs[0].shape)
    return emit.node("ScatterND", zeros, indices, value)


@rule("index_update", "index_add")
def _index_update(emit: Emit, step: Step) -> Any:
    x, indices = emit.value(step.args[0]), _last(emit, _index(emit, step.args[1]))
    value = emit.value(step.args[2], x.dtype)
    shape = (*indices.shape[:-1], *x.shape[indices.shape[-1] :])
    value = emit.expand(value, shape)
    return emit.node("ScatterND", x, indices, value, reduction="add" if step.op.name == "index_add" else None)


@rule("index_copy")
def _index_copy(emit: Emit, step: Step) -> Any:
    x, index, new = emit.value(step.args[0]), _index(emit, step.args[1]), emit.value(step.args[2])
    return emit.node("ScatterND", x, emit.unsqueeze(index, index.ndim), emit.cast(new, x.dtype))


@rule("one_hot")
def _one_hot(emit: Emit, step: Step) -> Any:
    attrs, dtype = step.op.attrs, step.outs[0].dtype
    index = _index(emit, step.args[0])
    hit = emit.node("Equal", emit.unsqueeze(index, index.ndim), emit.positions(attrs["depth"]), dtype=_BOOL)
    if (attrs["on_value"], attrs["off_value"]) == (1, 0):
        return emit.cast(hit, dtype)
    return where(emit, hit, *[emit.constant(attrs[n], wider(dtype)) for n in ("on_value", "off_value")])


# -- what stands between square brackets ------------------------------------------------------------------------------


def _spelled(pattern: Sequence[Any], ndim: int) -> list[Any]:
    """Return the pattern without an ellipsis."""
    taken = sum(1 for item in pattern if item is not None and item is not Ellipsis and not _is(item, "bool"))
    rest = [("slice", None, None, None)] * (ndim - taken)
    if not any(item is Ellipsis for item in pattern):
        return [*pattern, *rest]
    at = next(i for i, item in enumerate(pattern) if item is Ellipsis)
    return [*pattern[:at], *rest, *pattern[at + 1 :]]


def _is(item: Any, kind: str) -> bool:
    return isinstance(item, tuple) and item[0] == kind


@rule("derived gather")
def _bracketed(emit: Emit, step: Step) -> Any:
    """``x[1:, i, None]``: slices and integers first, then what the arrays say."""
    x, pattern = emit.value(step.args[0]), _spelled(step.op.extra[1], len(step.shapes[0].shape))
    if any(_is(item, "bool") for item in pattern):
        raise GraphError("True or False as an index")
    arrays = [item for item in pattern if _is(item, "array")]
    if arrays and any(isinstance(item, int) for item in pattern):
        if len(arrays) > 1 or not isinstance(arrays[0], tuple):
            raise GraphError("integers beside several arrays as an index")
        if len(step.shapes[1].shape) > 0 and not _side_by_side(pattern):
            raise GraphError("integers apart from an array as an index")
    cuts, shape, gone, rest = [], [], [], []
    axis = 0
    for item in pattern:
        if item is None:
            rest.append(None)
            continue
        size = x.shape[axis]
        if isinstance(item, int):
            cuts.append((axis, item, item + 1 if item != -1 else _END, 1))
            gone.append(axis)
            shape.append(1)
        elif _is(item, "slice"):
            if not _whole(item[1:], size):
                cuts.append((axis, *_bounds(item[1:])))
                size = _length(item, size)
            shape.append(size)
            rest.append(size)
        else:
            shape.append(size)
            rest.append(item)
        axis += 1
    if len(cuts) == len(gone) == 1:
        x = _one(emit, x, gone[0], cuts[0][1])
    else:
        x = emit.squeeze(_cut(emit, x, cuts, shape), *gone)
    if not arrays:
        return emit.unsqueeze(x, *[i for i, item in enumerate(rest) if item is None])
    return _by_arrays(emit, step, x, rest)


def _one(emit: Emit, x: Value, axis: int, place: int) -> Value:
    """Return the part at one place of an axis, which is dropped."""
    shape = [n for i, n in enumerate(x.shape) if i != axis]
    return emit.node("Gather", x, emit.constant(place, _INT64), axis=axis, shape=tuple(shape))


def _length(item: Any, size: Any) -> Any:
    """Return the number of elements of a slice; of an open size, something that nobody takes for a number."""
    if is_static([size, *[v for v in item[1:] if v is not None]]):
        return len(range(*slice(*item[1:]).indices(size)))
    return f"part of {size}"


def _side_by_side(pattern: Sequence[Any]) -> bool:
    places = [i for i, item in enumerate(pattern) if isinstance(item, int) or _is(item, "array")]
    return places == list(range(places[0], places[-1] + 1))


def _by_arrays(emit: Emit, step: Step, x: Value, rest: Sequence[Any]) -> Value:
    places = [i for i, item in enumerate(rest) if _is(item, "array")]
    if any(item is None for item in rest):
        raise GraphError("None beside arrays as an index")
    found = [_index(emit, step.args[1 + rest[i][1]]) for i in places]
    if len(places) == 1:
        return emit.node("Gather", x, found[0], axis=places[0])
    if places != list(range(len(places))):
        raise GraphError("several arrays behind a slice as an index")
    ndim = max(v.ndim for v in found)
    shape = step.outs[0].shape[:ndim]
    columns = [emit.unsqueeze(emit.expand(v, shape), ndim) for v in found]
    return emit.node("GatherND", x, emit.node("Concat", *columns, axis=ndim))


@rule("derived scatter")
def _assigned(emit: Emit, step: Step) -> Any:
    """``x[i] = value`` with arrays in front."""
    x, value = emit.value(step.args[0]), emit.value(step.args[1], step.outs[0].dtype)
    pattern = _spelled(step.op.extra[1], x.ndim)
    places = [i for i, item in enumerate(pattern) if _is(item, "array")]
    others = [item for i, item in enumerate(pattern) if i not in places]
    if (
        places != list(range(len(places)))
        or not places
        or any(not _is(o, "slice") or o[1:] != (None,) * 3 for o in others)
    ):
        raise GraphError("an assignment by arrays that do not stand in front")
    found = [_index(emit, step.args[2 + pattern[i][1]]) for i in places]
    shape = np.broadcast_shapes(*[v.shape for v in found if is_static(v.shape)])
    if not all(is_static(v.shape) for v in found):
        raise GraphError("an assignment by arrays of open size")
    columns = [emit.unsqueeze(emit.expand(v, shape), len(shape)) for v in found]
    index = columns[0] if len(columns) == 1 else emit.node("Concat", *columns, axis=len(shape))
    return emit.node("ScatterND", x, index, emit.expand(value, (*shape, *x.shape[len(places) :])))
