"""Primitives that only move numbers: shapes, slices, pads, gather and scatter.

Most return a view. Positions outside of an array are clamped, filled or dropped, as in XLA.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from jax import lax

from gluonx.ops.host.primitives import LOW, WIDER, Call, Fn, is_inexact, rule

_SMALL = 1 << 14  # arrays with more elements are broadcast as views


@rule("reshape", "squeeze", "expand_dims")
def _reshape(call: Call) -> Fn:
    shape, order = call.shape, call.params.get("dimensions")
    if call.name == "reshape" and order is not None:
        order = (*order, len(order)) if call.ins[0].key else tuple(order)
        return lambda x: x.transpose(order).reshape(shape)
    return lambda x: x.reshape(shape)


@rule("transpose")
def _transpose(call: Call) -> Fn:
    order = tuple(call.params["permutation"])
    order = (*order, len(order)) if call.ins[0].key else order
    return lambda x: x.transpose(order)


@rule("broadcast_in_dim")
def _broadcast_in_dim(call: Call) -> Fn:
    shape, before, dtype = call.shape, call.ins[0].shape, call.dtype
    if len(call.ins) != 1:
        raise call.unsupported("a shape that is known at the call only")
    axes = tuple(call.params["broadcast_dimensions"])
    axes = (*axes, len(shape) - 1) if call.ins[0].key else axes
    thin = [1] * len(shape)
    for axis, length in zip(axes, before, strict=True):
        thin[axis] = length
    middle = tuple(thin)
    if middle == shape:
        return lambda x: x.reshape(shape)

    def filled(x: np.generic | np.ndarray) -> np.ndarray:
        out = np.empty(shape, dtype)
        out[...] = x.reshape(middle)
        return out

    return filled if call.outs[0].size <= _SMALL else lambda x: np.broadcast_to(x.reshape(middle), shape)


@rule("rev")
def _rev(call: Call) -> Fn:
    dims = set(call.params["dimensions"])
    index = tuple([slice(None, None, -1) if i in dims else slice(None) for i in range(len(call.shape))])
    return lambda x: x[index]


@rule("slice")
def _slice(call: Call) -> Fn:
    params = call.params
    strides = params["strides"] or (1,) * len(params["start_indices"])
    index = tuple([slice(*one) for one in zip(params["start_indices"], params["limit_indices"], strides, strict=True)])
    return lambda x: x[index]


@rule("concatenate")
def _concatenate(call: Call) -> Fn:
    axis = int(call.params["dimension"])
    return lambda *arrays: np.concatenate(arrays, axis)


@rule("stack")
def _stack(call: Call) -> Fn:
    axis = int(call.params["axis"])
    thin = list(call.shape)
    thin[axis] = 1
    shape = tuple(thin)
    return lambda *arrays: np.concatenate([x.reshape(shape) for x in arrays], axis)


@rule("unstack")
def _unstack(call: Call) -> Fn:
    index = (slice(None),) * int(call.params["axis"])
    positions = [(*index, i) for i in range(len(call.outs))]
    if len(positions) == 1:
        return lambda x: x[positions[0]]
    return lambda x: [x[position] for position in positions]


@rule("split")
def _split(call: Call) -> Fn:
    before, start, positions = (slice(None),) * int(call.params["axis"]), 0, []
    for size in call.params["sizes"]:
        positions.append((*before, slice(start, start + int(size))))
        start += int(size)
    if len(positions) == 1:
        return lambda x: x
    return lambda x: [x[position] for position in positions]


@rule("tile")
def _tile(call: Call) -> Fn:
    reps = tuple(call.params["reps"])
    reps = (*reps, 1) if call.ins[0].key else reps
    return lambda x: np.tile(x, reps)


@rule("empty", "empty2")
def _empty(call: Call) -> Fn:
    shape, dtype = call.shape, call.dtype
    return lambda *_: np.zeros(shape, dtype)


@rule("iota")
def _iota(call: Call) -> Fn:
    shape, dtype, axis = call.shape, call.dtype, call.params["dimension"]
    if call.ins:
        raise call.unsupported("a shape that is known at the call only")
    thin = [1] * len(shape)
    thin[axis] = shape[axis]

    def run() -> np.ndarray:
        out = np.empty(shape, dtype)
        out[...] = np.arange(shape[axis]).astype(dtype).reshape(thin)
        return out

    return run


def padded(shape: Sequence[int], dtype: np.dtype, config: Sequence[Any], before: Sequence[int]) -> Fn:
    """Return ``fn(x, value)`` that pads an array of shape `before` to `shape`.

    `config` has (low, high, interior) for each axis; a negative low or high cuts.
    """
    sources, targets = [], []
    for (low, _, interior), length, result in zip(config, before, shape, strict=True):
        low, step = int(low), int(interior) + 1
        first = max(0, -(low // step)) if low < 0 else 0
        last = min(length, (result - 1 - low) // step + 1)  # one after
        sources.append(slice(first, max(first, last)))
        targets.append(slice(low + first * step, low + (last - 1) * step + 1, step) if last > first else slice(0, 0))
    source, target, shape = tuple(sources), tuple(targets), tuple(shape)

    def run(x: np.ndarray, value: np.generic | np.ndarray) -> np.ndarray:
        out = np.empty(shape, dtype)
        out[...] = value
        out[target] = x[source]
        return out

    return run


@rule("pad")
def _pad(call: Call) -> Fn:
    if call.shape == call.ins[0].shape and not any(any(one) for one in call.params["padding_config"]):
        return lambda x, value: x
    return padded(call.shape, call.dtype, call.params["padding_config"], call.ins[0].shape)


def strided(x: np.ndarray, shape: tuple[int, ...], strides: tuple[int, ...]) -> np.ndarray:
    """Return a read-only view of `x` with another shape and strides (in bytes), starting at its first element."""
    return np.lib.stride_tricks.as_strided(x, shape, strides, writeable=False)


# Dynamic slices: starts are clamped so that the slice is inside of the array.


@rule("dynamic_slice")
def _dynamic_slice(call: Call) -> Fn:
    sizes, shape = call.params["slice_sizes"], call.ins[0].shape
    if len(call.ins) != 1 + len(sizes):
        raise call.unsupported("a shape that is known at the call only")
    limits = [(int(size), shape[axis] - int(size)) for axis, size in enumerate(sizes)]

    def run(x: np.ndarray, *starts: np.ndarray) -> np.ndarray:
        index = []
        for start, (size, most) in zip(starts, limits, strict=True):
            at = min(max(int(start), 0), most)
            index.append(slice(at, at + size))
        return x[tuple(index)]

    return run


@rule("dynamic_update_slice")
def _dynamic_update_slice(call: Call) -> Fn:
    shape, sizes = call.ins[0].shape, call.ins[1].shape
    rank = len(call.ins) - 2
    limits = [(sizes[axis], shape[axis] - sizes[axis]) for axis in range(rank)]

    def run(x: np.ndarray, update: np.ndarray, *starts: Any) -> np.ndarray:
        out, index = np.array(x), []
        for start, (size, most) in zip(starts, limits, strict=True):
            at = min(max(int(start), 0), most)
            index.append(slice(at, at + size))
        out[tuple(index)] = update
        return out

    return run


# Gather and scatter. Both work on windows: each vector of indices is the first corner of a window of the operand.


_CLIP, _FILL = lax.GatherScatterMode.CLIP, lax.GatherScatterMode.FILL_OR_DROP
_PROMISE = (
    lax.GatherScatterMode.PROMISE_IN_BOUNDS
)  # for indices out of bounds, XLA on a CPU clamps a gather and drops an update


class _Windows:
    """The positions of the windows of a gather or scatter: indices into the axes of the operand."""

    def __init__(
        self,
        call: Call,
        mapped: Sequence[int],
        batching: Sequence[int],
        batching_of_indices: Sequence[int],
        sizes: Sequence[int],
        unchecked: Sequence[lax.GatherScatterMode],
    ) -> None:
        self.shape = call.ins[0].shape
        self.batch = call.ins[1].shape[:-1]
        self.sizes = sizes
        self.mapped = tuple(mapped)
        self.limits = np.array([self.shape[axis] - sizes[axis] for axis in mapped], np.int64)
        mode = call.params["mode"]
        if mode not in (_CLIP, _FILL, _PROMISE):
            raise call.unsupported(f"mode {mode}")
        self.checked = mode not in unchecked
        self.counted = {}  # operand axis -> index along a batch axis
        for axis, position in zip(batching, batching_of_indices, strict=True):
            thin = [1] * len(self.batch)
            thin[position] = self.batch[position]
            self.counted[axis] = np.arange(self.batch[position]).reshape(thin)

    def starts(self, indices: Any) -> tuple[list[Any], Any]:
        """Return the clamped corner along each mapped axis, and which windows are inside (None: all)."""
        indices = np.asarray(indices).astype(np.int64)
        clamped = np.minimum(np.maximum(indices, 0), self.limits)
        inside = None
        if self.checked:
            same = clamped == indices
            if not same.all():
                inside = same.all(-1)
        return [clamped[..., k] for k in range(len(self.mapped))], inside


def _fill_value(call: Call) -> np.ndarray:
    value, dtype = call.params["fill_value"], call.dtype
    if value is None:
        if is_inexact(dtype):
            value = np.nan
        elif dtype == np.bool_:
            value = True
        else:
            value = np.iinfo(dtype).min if dtype.kind == "i" else np.iinfo(dtype).max
    return np.asarray(value).astype(dtype)


@rule("gather")
def _gather(call: Call) -> Fn:
    numbers = call.params["dimension_numbers"]
    sizes, offsets = tuple(map(int, call.params["slice_sizes"])), tuple(numbers.offset_dims)
    shape, rank = call.ins[0].shape, len(call.shape)
    if call.ins[0].key:
        sizes, offsets = (*sizes, 2), (*offsets, rank - 1)
    batching = tuple(numbers.operand_batching_dims)
    windows = _Windows(
        call, numbers.start_index_map, batching, numbers.start_indices_batching_dims, sizes, (_CLIP, _PROMISE)
    )
    batch, indexed = windows.batch, [*windows.mapped, *batching]
    dropped = {*numbers.collapsed_slice_dims, *batching}
    kept = [axis for axis in range(len(shape)) if axis not in dropped]  # the axes of the windows, in order
    others = [axis for axis in range(len(shape)) if axis not in indexed]
    # Indexing gives the batch, then axes of windows that are indexed, then the other axes, which are cut and follow as
    # they are. Axes of windows that have length 1 are missing, and come with the last reshape.
    wide = [axis for axis in kept if axis in indexed and sizes[axis] != 1]
    look = _looker(windows, shape, wide, others)
    inner = [*wide, *others]
    in_order = [axis for axis in kept if axis in inner]
    full = (*batch, *[sizes[axis] for axis in kept])
    back = _unless_same((*range(len(batch)), *[len(batch) + inner.index(axis) for axis in in_order]))
    batch_positions = [i for i in range(rank) if i not in offsets]
    final = _unless_same(tuple([(*batch_positions, *offsets).index(i) for i in range(rank)]))
    fill = _fill_value(call) if windows.checked else None
    thin = (*batch, *(1,) * len(kept))
    call.cost += call.ins[1].size

    def run(x: np.ndarray, indices: np.ndarray) -> Any:
        starts, inside = windows.starts(indices)
        out: Any = look(x, starts)
        if back is not None:
            out = out.transpose(back)
        out = out.reshape(full)
        if inside is not None:
            out = np.where(inside.reshape(thin), out, fill)
        return out if final is None else out.transpose(final)

    if call.outs[0].size == 0 or 0 in shape:
        result, dtype = call.shape, call.dtype
        return lambda x, indices: np.full(result, np.zeros((), dtype) if fill is None else fill)
    return run


def _unless_same(order: tuple[int, ...]) -> tuple[int, ...] | None:
    """Return a permutation, or None if it is the identity."""
    return None if order == tuple(range(len(order))) else order


def _looker(windows: _Windows, shape: tuple[int, ...], wide: Sequence[int], others: Sequence[int]) -> Fn:
    """Return ``fn(x, starts)``, the windows of `x` with the axes (batch, wide, others)."""
    counted, sizes, batch = windows.counted, windows.sizes, windows.batch
    order = _unless_same((*windows.mapped, *counted, *others))
    many = len(windows.mapped) + len(counted)
    cut = tuple([slice(None)] * many + [slice(0, sizes[axis]) for axis in others])
    cuts = any(sizes[axis] != shape[axis] for axis in others)

    def turned(x: np.ndarray) -> np.ndarray:
        x = x if order is None else x.transpose(order)
        return x[cut] if cuts else x

    if not many:
        return lambda x, starts: np.broadcast_to(turned(x), (*batch, *turned(x).shape))
    if many == 1 and not wide and not counted:
        return lambda x, starts: turned(x).take(starts[0], 0)
    ones = (1,) * len(wide)
    reach = (*batch, *[sizes[axis] for axis in wide])
    along = {}
    for number, axis in enumerate(wide):
        thin = [1] * len(wide)
        thin[number] = sizes[axis]
        along[axis] = np.arange(sizes[axis]).reshape(thin)
    counts = [np.broadcast_to(count.reshape(count.shape + ones), reach) for count in counted.values()]

    def run(x: np.ndarray, starts: Sequence[np.ndarray]) -> np.ndarray:
        at = []
        for axis, start in zip(windows.mapped, starts, strict=True):
            start = start.reshape(batch + ones)
            at.append(start + along[axis] if axis in along else start)
        if not counts:
            at[0] = np.broadcast_to(at[0], reach)
        return turned(x)[(*at, *counts)]

    return run


_COMBINED: dict[str, Any] = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "min": np.minimum,
    "max": np.maximum,
}


@rule(
    "scatter",
    *(f"scatter-{name}" for name in _COMBINED),
    *(f"scatter_{name}" for name in _COMBINED),
)
def _scatter(call: Call) -> Fn:
    """Update in the order of the indices; a window that is not inside is skipped as a whole."""
    combine = _COMBINED.get(call.name[8:])
    if combine is None and not _overwrites(call.params["update_jaxpr"]):
        raise call.unsupported("a function of one's own")
    numbers = call.params["dimension_numbers"]
    shape, rank, dtype = call.ins[0].shape, len(call.ins[0].shape), call.dtype
    window_dims = tuple(numbers.update_window_dims)
    if call.ins[0].key:
        window_dims = (*window_dims, len(call.ins[2].shape) - 1)
    mapped, batching = tuple(numbers.scatter_dims_to_operand_dims), tuple(numbers.operand_batching_dims)
    left_out = {*numbers.inserted_window_dims, *batching}
    kept = [axis for axis in range(rank) if axis not in left_out]
    sizes = [1] * rank
    for axis, position in zip(kept, window_dims, strict=True):
        sizes[axis] = call.ins[2].shape[position]
    windows = _Windows(call, mapped, batching, numbers.scatter_indices_batching_dims, sizes, (_CLIP,))
    batch_positions = [i for i in range(len(call.ins[2].shape)) if i not in window_dims]
    order = (*batch_positions, *window_dims)
    moved = order != tuple(range(len(order)))
    # Positions in the flattened operand: the corner of a window, and the offsets of its elements.
    strides = [math.prod(shape[axis + 1 :]) for axis in range(rank)]
    within = np.zeros(tuple(sizes[axis] for axis in kept), np.int64)
    for number, axis in enumerate(kept):
        thin = [1] * len(kept)
        thin[number] = sizes[axis]
        within = within + (np.arange(sizes[axis]) * strides[axis]).reshape(thin)
    within = within.reshape(-1)
    base = np.zeros(windows.batch, np.int64)
    for axis, count in windows.counted.items():
        base = base + count * strides[axis]
    wide = WIDER.get(dtype) if combine in (np.add, np.subtract, np.multiply) else None
    as_float = np.dtype(np.float32) if dtype in LOW else None
    worker = wide or as_float or dtype
    impossible = any(size > length for size, length in zip(sizes, shape, strict=True))
    call.cost += call.ins[2].size * 4
    count = math.prod(windows.batch)

    def run(x: np.ndarray, indices: np.ndarray, updates: np.ndarray) -> np.ndarray:
        out = np.array(x, worker if combine else dtype, order="C").reshape(-1)
        if impossible:
            return out.reshape(shape).astype(dtype, copy=False)
        starts, inside = windows.starts(indices)
        corner = base
        for axis, start in zip(mapped, starts, strict=True):
            corner = corner + start * strides[axis]
        updates = (updates.transpose(order) if moved else updates).reshape(count, -1)
        corner = corner.reshape(-1)
        if inside is not None:
            inside = inside.reshape(-1)
            corner, updates = corner[inside], updates[inside]
        positions = (corner[:, None] + within).reshape(-1)
        if combine is None:
            out[positions] = updates.reshape(-1)
            return out.reshape(shape)
        combine.at(out, positions, updates.reshape(-1).astype(worker, copy=False))
        return out.reshape(shape).astype(dtype, copy=False)

    return run


def _overwrites(update: Any) -> bool:
    """Return whether the function of a scatter returns the update itself."""
    if update is None:
        return True
    inner = getattr(update, "jaxpr", update)
    return not inner.eqns and inner.outvars[0] is inner.invars[1]


@rule("dim_as_value")
def _dim_as_value(call: Call) -> Fn:
    """Return a symbolic length as a number."""
    number = np.array(call.params["dim"], call.dtype)
    return lambda: number
