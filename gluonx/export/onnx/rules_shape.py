"""ONNX rules of changes of shape, joining, splitting and filling. See `gluonx.export.onnx.emit`."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from gluonx.errors import GraphError
from gluonx.export.onnx.emit import RULES, Emit, rule
from gluonx.export.onnx.graph import Value, is_static
from gluonx.export.onnx.rules_elementwise import wider
from gluonx.export.record import Step, number

_END = np.iinfo(np.int64)
_FILLED = 1 << 12  # an array of one number is written out up to so many elements


def _value(emit: Emit, step: Step) -> Value:
    return emit.value(step.args[0])


def _reshaped(emit: Emit, step: Step) -> Any:
    return emit.reshape(_value(emit, step), step.outs[0].shape)


for _name in ("batch_flatten", "reshape_like"):
    RULES[_name] = _reshaped


@rule("reshape", "ravel")
def _reshape(emit: Emit, step: Step) -> Any:
    if step.op.attrs["order"] not in (None, "C", "K", "A"):
        x, shape = _value(emit, step), step.outs[0].shape
        turned = emit.transpose(x, range(x.ndim)[::-1])
        return emit.transpose(emit.reshape(turned, shape[::-1]), range(len(shape))[::-1])
    return _reshaped(emit, step)


@rule("expand_dims")
def _expand_dims(emit: Emit, step: Step) -> Any:
    axis, ndim = step.op.attrs["axis"], len(step.outs[0].shape)
    return emit.unsqueeze(_value(emit, step), *[a % ndim for a in ((axis,) if isinstance(axis, int) else axis)])


@rule("squeeze")
def _squeeze(emit: Emit, step: Step) -> Any:
    axis, shape = step.op.attrs["axis"], step.shapes[0].shape
    if axis is None:
        axis = [i for i, n in enumerate(shape) if isinstance(n, int) and n == 1]
    return emit.squeeze(_value(emit, step), *[a % len(shape) for a in ([axis] if isinstance(axis, int) else axis)])


# -- axes in another order --------------------------------------------------------------------------------------------


@rule("transpose", "permute_dims")
def _transpose(emit: Emit, step: Step) -> Any:
    x, axes = _value(emit, step), step.op.attrs["axes"]
    return emit.transpose(x, [a % x.ndim for a in axes] if axes else range(x.ndim)[::-1])


@rule("swapaxes", "matrix_transpose", "linalg_matrix_transpose")
def _swapaxes(emit: Emit, step: Step) -> Any:
    x = _value(emit, step)
    perm = list(range(x.ndim))
    one, two = (step.op.attrs.get(f"axis{i}", -i) % x.ndim for i in (1, 2))
    perm[one], perm[two] = perm[two], perm[one]
    return emit.transpose(x, perm)


def _moved(emit: Emit, x: Value, source: Any, destination: Any) -> Value:
    places = [[a % x.ndim for a in ((v,) if isinstance(v, int) else v)] for v in (source, destination)]
    perm = [i for i in range(x.ndim) if i not in places[0]]
    for to, origin in sorted(zip(places[1], places[0], strict=True)):
        perm.insert(to, origin)
    return emit.transpose(x, perm)


@rule("moveaxis")
def _moveaxis(emit: Emit, step: Step) -> Any:
    return _moved(emit, _value(emit, step), step.op.attrs["source"], step.op.attrs["destination"])


@rule("rollaxis")
def _rollaxis(emit: Emit, step: Step) -> Any:
    x, (axis, start) = _value(emit, step), (step.op.attrs[n] for n in ("axis", "start"))
    axis, start = axis % x.ndim, start + x.ndim if start < 0 else start
    return _moved(emit, x, axis, start - (axis < start))


def flipped(emit: Emit, x: Value, *axes: int) -> Value:
    """Return the elements in opposite order along axes."""
    if not axes:
        return x
    count = len(axes)
    starts, stops, steps = (emit.ints(*[v] * count) for v in (-1, _END.min, -1))
    return emit.node("Slice", x, starts, stops, emit.ints(*axes), steps, shape=x.shape)


@rule("flip", "fliplr", "flipud", "image.flip_left_right", "image.flip_top_bottom")
def _flip(emit: Emit, step: Step) -> Any:
    x, name = _value(emit, step), step.op.name
    if name == "flip":
        axis = step.op.attrs["axis"]
        axes = range(x.ndim) if axis is None else (axis,) if isinstance(axis, int) else axis
    else:
        axes = {"fliplr": (1,), "flipud": (0,), "image.flip_left_right": (-2,), "image.flip_top_bottom": (-3,)}[name]
    return flipped(emit, x, *[a % x.ndim for a in axes])


@rule("rot90")
def _rot90(emit: Emit, step: Step) -> Any:
    x, turns = _value(emit, step), step.op.attrs["k"] % 4
    one, two = (a % x.ndim for a in step.op.attrs["axes"])
    perm = list(range(x.ndim))
    perm[one], perm[two] = perm[two], perm[one]
    if turns == 1:
        return emit.transpose(flipped(emit, x, two), perm)
    if turns == 3:
        return flipped(emit, emit.transpose(x, perm), two)
    return flipped(emit, x, *([one, two] if turns == 2 else []))


@rule("roll", "numpy.roll")
def _roll(emit: Emit, step: Step) -> Any:
    x, axis = _value(emit, step), step.op.attrs["axis"]
    shift = step.op.attrs["shift"] if step.op.name == "roll" else emit.known_array(step.args[1], "the shift").tolist()
    shifts = [shift] if isinstance(shift, int) else list(shift)
    if axis is None:
        flat = emit.reshape(x, (math.prod(x.shape),))
        return emit.reshape(_rolled(emit, flat, 0, sum(shifts)), step.outs[0].shape)
    axes = [axis] * len(shifts) if isinstance(axis, int) else list(axis)
    for place, by in zip(axes, shifts * len(axes) if len(shifts) == 1 else shifts, strict=False):
        x = _rolled(emit, x, place % x.ndim, int(by))
    return x


def _rolled(emit: Emit, x: Value, axis: int, by: int) -> Value:
    size = x.shape[axis]
    by = by % size if isinstance(size, int) and size else by
    if not by:
        return x
    front = emit.slice(x, axis, -by, _END.max)
    return emit.node("Concat", front, emit.slice(x, axis, 0, -by), axis=axis, shape=x.shape)


# -- joining and splitting --------------------------------------------------------------------------------------------


def _joined(emit: Emit, values: list[Value], axis: int) -> Value:
    return values[0] if len(values) == 1 else emit.node("Concat", *values, axis=axis)


@rule("concatenate")
def _concatenate(emit: Emit, step: Step) -> Any:
    values, axis = emit.args(step, step.outs[0].dtype), step.op.attrs["axis"]
    if axis is None:
        return _joined(emit, [emit.reshape(v, (math.prod(v.shape),)) for v in values], 0)
    return _joined(emit, values, axis % values[0].ndim)


rule("append")(lambda emit, step: _concatenate(emit, step))


@rule("stack")
def _stack(emit: Emit, step: Step) -> Any:
    values = emit.args(step, step.outs[0].dtype)
    axis = step.op.attrs["axis"] % (values[0].ndim + 1)
    return _joined(emit, [emit.unsqueeze(v, axis) for v in values], axis)


@rule("hstack", "vstack", "row_stack", "dstack", "column_stack")
def _stacked(emit: Emit, step: Step) -> Any:
    values, name = emit.args(step, step.outs[0].dtype), step.op.name
    made = []
    for v in values:
        if name == "hstack":
            v = emit.unsqueeze(v, *([0] if v.ndim == 0 else []))
        elif name == "column_stack":
            v = emit.unsqueeze(v, *([1] if v.ndim == 1 else []))
        elif name == "dstack":
            v = emit.unsqueeze(v, *{0: [0, 1, 2], 1: [0, 2], 2: [2]}.get(v.ndim, []))
        else:
            v = emit.unsqueeze(v, *{0: [0, 1], 1: [0]}.get(v.ndim, []))
        made.append(v)
    axis = {"hstack": 0 if made[0].ndim == 1 else 1, "dstack": 2, "column_stack": 1}.get(name, 0)
    return _joined(emit, made, axis)


@rule("atleast_1d", "atleast_2d", "atleast_3d")
def _atleast(emit: Emit, step: Step) -> Any:
    return [emit.reshape(v, out.shape) for v, out in zip(emit.args(step), step.outs, strict=True)]


def _parts(emit: Emit, step: Step, axis: int) -> list[Value]:
    """Return the data cut along an axis, as the results' lengths there say."""
    x, count = _value(emit, step), len(step.outs)
    if count == 1:
        return [x]
    lengths = [out.shape[axis] for out in step.outs]
    if len({str(n) for n in lengths}) == 1:
        return emit.node("Split", x, axis=axis, num_outputs=count, nout=count)
    return emit.node("Split", x, emit.sizes(lengths), axis=axis, nout=count)


@rule("split", "array_split", "hsplit", "vsplit", "dsplit")
def _split(emit: Emit, step: Step) -> list[Value]:
    ndim = len(step.shapes[0].shape)
    axis = {"hsplit": 1 if ndim > 1 else 0, "vsplit": 0, "dsplit": 2}.get(step.op.name)
    axis = step.op.attrs["axis"] % ndim if axis is None else axis
    return _parts(emit, step, axis)


@rule("slice_channel", "unstack")
def _slice_channel(emit: Emit, step: Step) -> Any:
    attrs, shape = step.op.attrs, step.shapes[0].shape
    axis = attrs["axis"] % len(shape)
    if step.op.name == "slice_channel" and not attrs["squeeze_axis"]:
        return _parts(emit, step, axis)
    x, count = _value(emit, step), len(step.outs)
    pieces = [x] if count == 1 else emit.node("Split", x, axis=axis, num_outputs=count, nout=count)
    for piece in pieces[: count if count > 1 else 0]:
        piece.shape = (*shape[:axis], 1, *shape[axis + 1 :])
    return [emit.squeeze(piece, axis) for piece in pieces]


# -- repeating and padding --------------------------------------------------------------------------------------------


rule("broadcast_to", "broadcast_like")(lambda emit, step: emit.expand(_value(emit, step), step.outs[0].shape))


@rule("broadcast_arrays")
def _broadcast_arrays(emit: Emit, step: Step) -> Any:
    return [emit.expand(v, out.shape) for v, out in zip(emit.args(step), step.outs, strict=True)]


@rule("tile")
def _tile(emit: Emit, step: Step) -> Any:
    x, reps = _value(emit, step), step.op.attrs["reps"]
    reps = [reps] if isinstance(reps, int) else list(reps)
    x = emit.unsqueeze(x, *range(len(reps) - x.ndim))
    reps = [1] * (x.ndim - len(reps)) + reps
    return x if set(reps) <= {1} else emit.node("Tile", x, emit.ints(*reps))


@rule("repeat")
def _repeat(emit: Emit, step: Step) -> Any:
    x, axis, repeats = _value(emit, step), step.op.attrs["axis"], step.op.attrs["repeats"]
    if axis is None:
        x, axis = emit.reshape(x, (math.prod(x.shape),)), 0
    axis %= x.ndim
    if repeats == 1:
        return x
    if isinstance(repeats, int):
        spread = emit.unsqueeze(x, axis + 1)
        reps = [repeats if i == axis + 1 else 1 for i in range(x.ndim + 1)]
        wide = emit.node("Tile", spread, emit.ints(*reps), shape=None)
        wide.shape = tuple([n if i != axis + 1 else repeats for i, n in enumerate(spread.shape)])
        return emit.reshape(wide, step.outs[0].shape)
    places = np.repeat(np.arange(len(repeats)), repeats)
    return emit.node("Gather", x, emit.constant(places, np.int64), axis=axis)


_PADS = {"constant": "constant", "edge": "edge", "reflect": "reflect", "wrap": "wrap"}


def _padded(emit: Emit, step: Step, value: Any) -> Value:
    x, attrs = _value(emit, step), step.op.attrs
    mode = attrs["mode"]
    if mode not in _PADS:
        raise GraphError(f"no padding of mode {mode!r} in ONNX")
    width = np.asarray(attrs["pad_width"])
    width = np.broadcast_to(width if width.size in (1, 2) else width.reshape(-1, 2), (x.ndim, 2))
    pads = emit.ints(*width[:, 0].tolist(), *width[:, 1].tolist())
    dtype = wider(x.dtype)
    fill = None if mode != "constant" or value is None else emit.value(value, dtype)
    return emit.node("Pad", emit.cast(x, dtype), pads, fill, mode=_PADS[mode])


rule("pad")(lambda emit, step: _padded(emit, step, step.args[1] if len(step.args) > 1 else None))


@rule("numpy.pad")
def _np_pad(emit: Emit, step: Step) -> Any:
    attrs, (value, end) = step.op.attrs, (*step.args[1:], None, None)[:2]
    if attrs["stat_length"] is not None or attrs["reflect_type"] not in (None, "even") or end is not None:
        raise GraphError("no stat_length=, end_values= or odd reflection in ONNX")
    if value is not None and not number(value) and emit.value(value).shape != ():
        raise GraphError("it pads with one number only")
    return _padded(emit, step, value)


@rule("tril", "triu")
def _triangle(emit: Emit, step: Step) -> Any:
    x = emit.value(step.args[0], wider(step.outs[0].dtype))
    k = step.op.attrs["k"]
    x = emit.expand(x, step.outs[0].shape) if x.ndim == 1 else x
    return emit.node("Trilu", x, emit.constant(k, np.int64) if k else None, upper=int(step.op.name == "triu"))


@rule("depth_to_space", "space_to_depth")
def _blocks(emit: Emit, step: Step) -> Any:
    kind = "DepthToSpace" if step.op.name == "depth_to_space" else "SpaceToDepth"
    return emit.node(kind, _value(emit, step), blocksize=step.op.attrs["block_size"])


@rule("pixel_shuffle")
def _pixel_shuffle(emit: Emit, step: Step) -> Any:
    x, factors = _value(emit, step), list(step.op.attrs["factors"])
    count = len(factors)
    if count == 2 and factors[0] == factors[1]:
        return emit.node("DepthToSpace", x, blocksize=factors[0], mode="CRD")
    batch, _, *space = x.shape
    channels = step.outs[0].shape[1]
    x = emit.reshape(x, (batch, channels, *factors, *space))
    x = emit.transpose(x, [0, 1, *[axis for i in range(count) for axis in (2 + count + i, 2 + i)]])
    return emit.reshape(x, step.outs[0].shape)


# -- arrays from nothing ----------------------------------------------------------------------------------------------


def _filled(emit: Emit, step: Step, value: Any) -> Value:
    """One number throughout."""
    out = step.outs[0]
    fill = emit.value(value, out.dtype)
    if fill.known and is_static(out.shape) and math.prod(out.shape) <= _FILLED:
        return emit.constant(np.broadcast_to(fill.array, out.shape))
    return emit.expand(fill, out.shape)


for _name, _fill in {"zeros": 0, "ones": 1, "zeros_like": 0, "ones_like": 1}.items():
    RULES[_name] = lambda emit, step, fill=_fill: _filled(emit, step, fill)
RULES["full"] = lambda emit, step: _filled(emit, step, step.args[0])
RULES["full_like"] = lambda emit, step: _filled(emit, step, step.args[1])


def _spaced(emit: Emit, count: Any, start: Any, pace: Any, dtype: Any) -> Value:
    out = emit.cast(emit.positions(count), wider(dtype))
    if not (number(pace) and pace == 1):
        out = emit.node("Mul", out, emit.value(pace, out.dtype), shape=out.shape)
    if not (number(start) and start == 0):
        out = emit.node("Add", out, emit.value(start, out.dtype), shape=out.shape)
    return out


@rule("arange")
def _arange(emit: Emit, step: Step) -> Any:
    start, pace = step.args
    return _spaced(emit, step.outs[0].shape[0], start, pace, step.outs[0].dtype)


@rule("arange_like")
def _arange_like(emit: Emit, step: Step) -> Any:
    attrs, out = step.op.attrs, step.outs[0]
    count = math.prod(out.shape)
    if attrs["repeat"] != 1:
        if not is_static(out.shape):
            raise GraphError("repeated numbers of an open size")
        values = np.arange(count) // attrs["repeat"] * attrs["step"] + attrs["start"]
        return emit.constant(values.reshape(out.shape), out.dtype)
    values = _spaced(emit, count, attrs["start"], attrs["step"], out.dtype)
    values.shape = (count,)
    return emit.reshape(values, out.shape)


rule("shape_array")(lambda emit, step: emit.sizes(step.shapes[0].shape))


@rule("meshgrid")
def _meshgrid(emit: Emit, step: Step) -> Any:
    values, ndim = emit.args(step), len(step.outs[0].shape)
    order = list(range(ndim))
    if step.op.attrs["indexing"] == "xy" and ndim > 1:
        order[:2] = [1, 0]
    found = [emit.unsqueeze(v, *[a for a in range(ndim) if a != order[i]]) for i, v in enumerate(values)]
    return [emit.expand(v, out.shape) for v, out in zip(found, step.outs, strict=True)]


@rule("diag", "diagonal", "trace", "linalg_trace", "linalg_diagonal")
def _diagonal(emit: Emit, step: Step) -> Any:
    x, attrs = _value(emit, step), step.op.attrs
    if step.op.name == "diag" and x.ndim == 1:
        raise GraphError("a matrix of a diagonal")
    matrix = "linalg" in step.op.name
    one, two = (-2 % x.ndim, -1 % x.ndim) if matrix else (attrs.get(f"axis{i}", i - 1) % x.ndim for i in (1, 2))
    rows, columns = (x.shape[a] for a in (one, two))
    if not is_static([rows, columns]):
        raise GraphError("the diagonal of a matrix of open size")
    k = attrs.get("k", attrs.get("offset", 0))
    places = [i * columns + i + k for i in range(rows) if 0 <= i + k < columns]
    last = emit.transpose(x, [*[a for a in range(x.ndim) if a not in (one, two)], one, two])
    flat = emit.reshape(last, (*last.shape[:-2], rows * columns))
    out = emit.node("Gather", flat, emit.constant(places, np.int64), axis=x.ndim - 2, shape=None)
    if "trace" not in step.op.name:
        return out
    return emit.node("ReduceSum", emit.cast(out, wider(step.outs[0].dtype)), emit.ints(x.ndim - 2), keepdims=0)
