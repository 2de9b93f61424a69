"""Reductions, running sums, and sorting.

Sums and products of float32 run in float64, of 16-bit floats in float32, and are rounded once. NaN wins a maximum and
sorts last, as XLA has it; equal numbers keep their order, and +0 equals -0.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from gluonx.ops.host.elementwise import elementwise_names
from gluonx.ops.host.primitives import LOW, WIDER, Call, Fn, is_inexact, rule

_F32 = np.dtype(np.float32)

MONOIDS: dict[str, Any] = {
    "add": np.add,
    "mul": np.multiply,
    "max": np.maximum,
    "min": np.minimum,
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
}
"""The associative operations that a reduction may have, by the name of the primitive."""

_NAMED = {"sum": "add", "prod": "mul"}


def identity(name: str, dtype: np.dtype) -> Any:
    """Return the neutral element of the operation `name`, as an array of `dtype`."""
    if name in ("max", "min"):
        sign = -1 if name == "max" else 1
        if dtype == np.bool_:
            return np.array(sign > 0)
        if is_inexact(dtype):
            return np.array(sign * np.inf).astype(dtype)
        return np.array(np.iinfo(dtype).min if sign < 0 else np.iinfo(dtype).max, dtype)
    if name == "and":
        return np.array(True) if dtype == np.bool_ else np.array(-1).astype(dtype)
    return np.array(1 if name == "mul" else 0).astype(dtype)


def worker_of(name: str, dtype: np.dtype) -> np.dtype:
    """Return the dtype in which numbers of `dtype` are combined."""
    if dtype in LOW:
        return _F32
    return WIDER.get(dtype, dtype) if name in ("add", "mul") else dtype


@rule(*(f"reduce_{name}" for name in ("sum", "prod", "max", "min", "and", "or", "xor")))
def _reduce(call: Call) -> Fn:
    name = call.name[7:]
    name = _NAMED.get(name, name)
    axes, dtype = tuple(map(int, call.params["axes"])), call.dtype
    axes = axes[0] if len(axes) == 1 else axes
    call.cost = float(call.ins[0].size)
    reduce, worker = MONOIDS[name].reduce, worker_of(name, dtype)
    if call.ins[0].size == 0:
        shape, nothing = call.shape, identity(name, dtype)

        def empty(x: Any) -> Any:
            out = np.empty(shape, dtype)
            out[...] = nothing
            return out

        return empty
    if dtype in LOW:
        return lambda x: reduce(x.astype(worker), axes).astype(dtype)
    if worker != dtype:
        return lambda x: reduce(x, axes, worker).astype(dtype)
    if dtype.kind in "iu" and name in ("add", "mul"):
        return lambda x: reduce(x, axes, dtype)
    return lambda x: reduce(x, axes)


@rule("argmax", "argmin")
def _arg(call: Call) -> Fn:
    (axis,) = call.params["axes"]
    source, target = call.ins[0].dtype, call.dtype
    fn = np.argmax if call.name == "argmax" else np.argmin
    call.cost = float(call.ins[0].size)
    if source in LOW:
        return lambda x: fn(x.astype(_F32), axis).astype(target)
    return lambda x: fn(x, axis).astype(target)


def monoid(jaxpr: Any) -> str | None:
    """Return the name of the operation that a scalar function of two numbers computes.

    None if it is not in `MONOIDS`.
    """
    inner = getattr(jaxpr, "jaxpr", jaxpr)
    if len(inner.eqns) == 1 and len(inner.invars) == 2 and len(inner.outvars) == 1:
        eqn = inner.eqns[0]
        if eqn.primitive.name in ("jit", "pjit"):
            return monoid(eqn.params["jaxpr"])
        if eqn.primitive.name in MONOIDS and eqn.outvars[0] is inner.outvars[0]:
            if {id(v) for v in eqn.invars} == {id(v) for v in inner.invars}:
                return eqn.primitive.name
    return None


@rule("reduce")
def _reduce_by(call: Call) -> Fn:
    """Reduce with any associative function: halves are combined until one element is left."""
    inner = call.params["jaxpr"]
    axes = tuple(map(int, call.params["dimensions"]))
    count = len(call.outs)
    if not _is_elementwise(inner):
        raise call.unsupported("a function that is not elementwise")
    block, rank = call.inner(inner), len(call.ins[0].shape)
    order = (*axes, *[axis for axis in range(rank) if axis not in axes])
    length = math.prod(call.ins[0].shape[axis] for axis in axes)
    shape, dtypes = call.shape, [out.dtype for out in call.outs]
    call.cost = float(call.ins[0].size) * max(block.cost, 1)

    def combined(left: list[Any], right: list[Any]) -> list[Any]:
        return [np.broadcast_to(x, np.shape(y)) for x, y in zip(block(*left, *right), right, strict=True)]

    def run(*arrays: Any) -> Any:
        xs = [x.transpose(order).reshape(length, *shape) for x in arrays[:count]]
        left = length
        while left > 1:
            half, odd = left // 2, left % 2
            # Neighbours are combined, so that the order of elements is kept.
            found = combined([x[0 : 2 * half : 2] for x in xs], [x[1 : 2 * half : 2] for x in xs])
            xs = [np.concatenate([y, x[2 * half :]]) if odd else y for x, y in zip(xs, found, strict=True)]
            left = half + odd
        starts = [np.broadcast_to(x, shape) for x in arrays[count:]]
        outs = combined(starts, [x[0] for x in xs]) if left else starts
        outs = [np.asarray(x).astype(dtype, copy=False) for x, dtype in zip(outs, dtypes, strict=True)]
        return outs[0] if count == 1 else outs

    return run


def _is_elementwise(jaxpr: Any) -> bool:
    inner = getattr(jaxpr, "jaxpr", jaxpr)
    for eqn in inner.eqns:
        nested = eqn.params.get("jaxpr")
        if nested is not None and eqn.primitive.name in ("jit", "pjit"):
            if not _is_elementwise(nested):
                return False
        elif eqn.primitive.name not in elementwise_names:
            return False
    return True


# Running sums.


@rule("cumsum", "cumprod", "cummax", "cummin", "cumlogsumexp")
def _running(call: Call) -> Fn:
    axis, dtype = int(call.params["axis"]), call.dtype
    kind = call.name[3:]
    name = _NAMED.get(kind, kind)
    call.cost *= 2
    flip = (*[slice(None)] * axis, slice(None, None, -1)) if call.params["reverse"] else None
    if kind == "logsumexp":
        fn, worker = np.logaddexp, WIDER.get(dtype, dtype)
        if dtype.kind == "c":
            raise call.unsupported(f"{dtype}")
    else:
        fn, worker = MONOIDS[name], worker_of(name, dtype)
    accumulate = fn.accumulate

    def run(x: np.ndarray) -> np.ndarray:
        x = x.astype(worker, copy=False)
        out = accumulate(x if flip is None else x[flip], axis)
        return (out if flip is None else out[flip]).astype(dtype, copy=False)

    if name == "add" and dtype.kind in "iu":  # by default NumPy adds small integers in a larger type
        return lambda x: accumulate(x, axis, dtype) if flip is None else accumulate(x[flip], axis, dtype)[flip]
    if name == "mul" and dtype.kind in "iu":
        return lambda x: accumulate(x, axis, dtype) if flip is None else accumulate(x[flip], axis, dtype)[flip]
    return run


# Sorting.


def _sortable(x: np.ndarray) -> np.ndarray:
    return x.astype(_F32) if x.dtype in LOW else x


@rule("sort")
def _sort(call: Call) -> Fn:
    axis, keys = int(call.params["dimension"]), int(call.params["num_keys"])
    call.cost *= max(1.0, math.log2(max(call.ins[0].shape[axis], 2)))
    if len(call.ins) == 1:
        dtype = call.dtype
        if dtype in LOW:
            return lambda x: np.sort(x.astype(_F32), axis, "stable").astype(dtype)
        return lambda x: np.sort(x, axis, "stable")
    flat = len(call.ins[0].shape) == 1

    def run(*arrays: np.ndarray) -> list[np.ndarray]:
        if keys == 1:
            order = np.argsort(_sortable(arrays[0]), axis, "stable")
        else:
            order = np.lexsort([_sortable(x) for x in arrays[keys - 1 :: -1]], axis)
        return [x[order] if flat else np.take_along_axis(x, order, axis) for x in arrays]

    return run


@rule("top_k")
def _top_k(call: Call) -> Fn:
    """Return the largest elements, the first of equal ones first, in the total order: NaN is largest, +0 above -0."""
    k, source = int(call.params["k"]), call.ins[0].dtype
    rank = len(call.ins[0].shape)
    axis = int(call.params.get("axis", -1)) % rank
    target = call.outs[1].dtype
    backwards = (*[slice(None)] * axis, slice(None, None, -1))
    first = (*[slice(None)] * axis, slice(0, k))
    last = call.ins[0].shape[axis] - 1
    call.cost = float(call.ins[0].size) * max(1.0, math.log2(max(last, 2)))

    def run(x: np.ndarray) -> tuple[np.ndarray, ...]:
        ordered = _ordered(x) if is_inexact(source) else x
        order = last - np.argsort(ordered[backwards], axis, "stable")[backwards][first]
        return np.take_along_axis(x, order, axis), order.astype(target)

    return run


def _ordered(x: np.ndarray) -> np.ndarray:
    """Return integers in the total order of floats."""
    whole = np.dtype(f"i{x.dtype.itemsize}")
    bits = np.where(x != x, np.array(np.iinfo(whole).max, whole), x.view(whole))
    return np.where(bits < 0, bits ^ np.array(np.iinfo(whole).max, whole), bits)
