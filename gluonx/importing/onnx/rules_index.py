"""Operators that select, scatter and sort. See `gluonx.importing.onnx.rules`."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from gluonx import np as gnp
from gluonx import npx
from gluonx.errors import GraphError
from gluonx.importing.onnx.rules import Call, one_of, rule
from gluonx.np.handle import host_value

if TYPE_CHECKING:
    from gluonx.np.handle import ndarray


def _positive(indices: Any, size: Any) -> Any:
    """Return indices with those that count from the end as those from the start."""
    return gnp.where(gnp.less(indices, 0), gnp.add(indices, size), indices).astype(indices.dtype)


@rule("Gather")
def _gather(call: Call) -> Any:
    x, axis, known = call[0], call.attr("axis", 0), call.raw(1)
    if isinstance(known, np.ndarray):
        size = x.shape[axis]
        if isinstance(size, int):
            known = np.where(known < 0, known + size, known)
            if known.size and (known.min() < 0 or known.max() >= size):
                raise IndexError(f"{call.node}: an index is not in axis {axis} of {tuple(x.shape)}")
            if known.ndim == 0:
                return x[(slice(None),) * (axis % x.ndim) + (int(known),)]
        return gnp.take(x, gnp.array(known, dtype="int32" if isinstance(size, int) else known.dtype), axis=axis)
    return gnp.take(x, _positive(call[1], x.shape[axis]), axis=axis)


@rule("GatherElements")
def _gather_elements(call: Call) -> Any:
    x, axis = call[0], call.attr("axis", 0)
    indices = _positive(call[1], x.shape[axis])
    whole = tuple([n if i == axis % x.ndim else m for i, (n, m) in enumerate(zip(x.shape, indices.shape, strict=True))])
    if tuple(x.shape) != whole:  # ONNX takes the first places of the other axes
        x = x[tuple([slice(0, n) for n in whole])]
    return gnp.take_along_axis(x, indices, axis=axis)


def _coordinates(indices: Any, shape: Any) -> tuple[Any, ...]:
    """Return one array of indices an axis, of the last axis of `indices`."""
    return tuple([_positive(indices[..., i], shape[i]) for i in range(indices.shape[-1])])


@rule("GatherND")
def _gather_nd(call: Call) -> Any:
    x, indices, batch = call[0], call[1], call.attr("batch_dims", 0)
    own = _coordinates(indices, x.shape[batch:])
    grids = []
    for axis in range(batch):
        place = [1] * (indices.ndim - 1)
        place[axis] = x.shape[axis]
        grids.append(gnp.arange(x.shape[axis], dtype="int32").reshape(tuple(place)))
    at = gnp.stack(gnp.broadcast_arrays(*grids, *own)) if grids else gnp.stack(list(own))
    return npx.gather_nd(x, at)


_scatter_check = one_of("reduction", "none", "add", "mul", "max", "min")


def _scattered(call: Call, x: Any, at: tuple[Any, ...], values: Any) -> Any:
    """Return an array with values put, or added, at places."""
    kind = call.attr("reduction", "none")
    rows = gnp.stack([gnp.reshape(i, (-1,)) for i in at]).astype("int32")
    values = gnp.reshape(values, (rows.shape[1], *x.shape[len(at) :]))
    if kind == "none":
        return npx.index_update(x, rows, values)
    if kind == "add":
        return npx.index_add(x, rows, values)
    return _one_by_one(call, x, rows, values, {"mul": np.multiply, "max": np.maximum, "min": np.minimum}[kind])


def _one_by_one(call: Call, x: ndarray, rows: Any, values: Any, function: Any) -> Any:
    """Reduce into an array, on the host: no core operator does."""
    what = f"{call.node} (reduction '{call.attr('reduction')}')"
    found = np.array(host_value(x, what))
    function.at(found, tuple(np.asarray(host_value(rows, what))), np.asarray(host_value(values, what)))
    return gnp.array(found, dtype=found.dtype)


@rule("ScatterND", check=_scatter_check)
def _scatter_nd(call: Call) -> Any:
    x = call[0]
    return _scattered(call, x, _coordinates(call[1], x.shape), call[2])


@rule("ScatterElements", "Scatter", check=_scatter_check)
def _scatter_elements(call: Call) -> Any:
    x, axis = call[0], call.attr("axis", 0) % call[0].ndim
    indices = _positive(call[1], x.shape[axis])
    shape = tuple(indices.shape)
    grids = []
    for i, n in enumerate(shape):
        place = [1] * len(shape)
        place[i] = n
        grids.append(gnp.arange(n, dtype="int32").reshape(tuple(place)))
    at = [gnp.broadcast_to(g, shape) for g in grids]
    at[axis] = indices
    return _scattered(call, x, tuple(at), call[2])


@rule("OneHot", known=(1,))
def _one_hot(call: Call) -> Any:
    indices, depth, values = call[0], int(call.known(1).reshape(())), call[2]
    axis = call.attr("axis", -1)
    whole = indices.astype("int64") if indices.dtype.kind not in "iu" else indices
    spots = npx.one_hot(_positive(whole, depth), depth, dtype="float32")
    found = gnp.where(gnp.greater(spots, 0), values[1], values[0]).astype(values.dtype)
    return gnp.moveaxis(found, -1, axis)


@rule("TopK", known=(1,))
def _topk(call: Call) -> tuple[ndarray, ...]:
    x, axis = call[0], call.attr("axis", -1)
    k = call.attr("k") if call.opset < 10 else int(call.known(1).reshape(()))
    if k > x.shape[axis]:
        raise GraphError(f"{call.node}: k is {k}, but axis {axis} has {x.shape[axis]} elements")
    if k == 0:
        shape = [n if i != axis % x.ndim else 0 for i, n in enumerate(x.shape)]
        return gnp.zeros(tuple(shape), dtype=x.dtype), gnp.zeros(tuple(shape), dtype="int64")
    values, places = npx.topk(x, k=k, axis=axis, ret_typ="both", is_ascend=not call.attr("largest", 1), dtype="int64")
    return values, places.astype("int64")


rule("NonZero")(lambda call: gnp.stack(list(gnp.nonzero(call[0]))).astype("int64"))


@rule("Compress")
def _compress(call: Call) -> Any:
    keep = np.flatnonzero(call.known(1))
    axis = call.attr("axis")
    x = call[0] if axis is not None else gnp.reshape(call[0], (-1,))
    return gnp.take(x, gnp.array(keep, dtype="int32"), axis=axis or 0)


@rule("Unique")
def _unique(call: Call) -> Any:
    x, axis = np.asarray(host_value(call[0], str(call.node))), call.attr("axis")
    values, first, inverse, counts = np.unique(x, True, True, True, axis=axis)
    inverse = inverse.reshape(-1)
    if not call.attr("sorted", 1):
        order = np.argsort(first)
        rank = np.empty_like(order)
        rank[order] = np.arange(len(order))
        values, first, counts, inverse = np.take(values, order, axis or 0), first[order], counts[order], rank[inverse]
    return tuple(
        gnp.array(a, dtype=t) for a, t in ((values, x.dtype), *[(a, "int64") for a in (first, inverse, counts)])
    )


rule("Einsum")(lambda call: gnp.einsum(call.attr("equation").replace(" ", ""), *call.all()))
rule("CumSum", known=(1,))(lambda call: _running(call, gnp.cumsum, 0))
rule("CumProd", known=(1,))(lambda call: _running(call, gnp.cumprod, 1))


def _running(call: Call, function: Any, first: int) -> Any:
    x, axis = call[0], int(call.known(1).reshape(()))
    if call.attr("reverse", 0):
        x = gnp.flip(x, axis)
    out = function(x, axis=axis).astype(x.dtype)
    if call.attr("exclusive", 0):
        rest = (slice(None),) * (axis % x.ndim) + (slice(0, -1),)
        ahead = gnp.full([1 if i == axis % x.ndim else n for i, n in enumerate(x.shape)], first, dtype=x.dtype)
        out = gnp.concatenate([ahead, out[rest]], axis=axis)
    return gnp.flip(out, axis) if call.attr("reverse", 0) else out


@rule("TensorScatter")
def _tensor_scatter(call: Call) -> Any:
    x, new, starts = call[0], call[1], call[2]
    axis = call.attr("axis", -2) % x.ndim
    size, count = x.shape[axis], new.shape[axis]
    batch = gnp.zeros((x.shape[0],), dtype="int64") if starts is None else starts
    rows = gnp.add(gnp.expand_dims(batch, 1), gnp.arange(count, dtype="int64"))  # (batch, count)
    if call.attr("mode", "linear") == "circular":
        rows = gnp.remainder(rows, size)
    first = gnp.broadcast_to(gnp.reshape(gnp.arange(x.shape[0], dtype="int64"), (-1, 1)), rows.shape)
    at = gnp.stack([gnp.reshape(first, (-1,)), gnp.reshape(rows, (-1,))]).astype("int32")
    moved, given = gnp.moveaxis(x, axis, 1), gnp.moveaxis(new, axis, 1)
    flat = gnp.reshape(given, (math.prod(given.shape[:2]), *given.shape[2:]))
    return gnp.moveaxis(npx.index_update(moved, at, flat), 1, axis)
