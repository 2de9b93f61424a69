"""Primitives that slide a window over an array: pooling and its gradients.

A small window is a loop over its offsets, each a strided slice of the whole array, which NumPy combines at the speed of
memory; a large one is reduced through a view that has its elements on separate axes.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from gluonx.ops.host.moves import padded, strided
from gluonx.ops.host.primitives import LOW, WIDER, Call, Fn, rule
from gluonx.ops.host.reductions import MONOIDS, identity, monoid, worker_of

_FEW = 64  # a window with at most so many elements is small
_F32 = np.dtype(np.float32)


class _Sliding:
    """The geometry of a sliding window: padding, dilation, strides."""

    def __init__(self, call: Call, shape: Sequence[int], dtype: np.dtype, outs: Sequence[int]) -> None:
        params, rank = call.params, len(shape)
        self.window = tuple(map(int, params["window_dimensions"]))
        self.strides = tuple(map(int, params["window_strides"]))
        base = tuple(map(int, params.get("base_dilation") or (1,) * rank))
        self.dilation = tuple(map(int, params.get("window_dilation") or (1,) * rank))
        padding = [(int(low), int(high)) for low, high in params["padding"]]
        self.before, self.outs = tuple(shape), tuple(outs)
        spread = [(n - 1) * b + 1 if n else 0 for n, b in zip(shape, base, strict=True)]
        self.full = tuple(max(n + low + high, 0) for n, (low, high) in zip(spread, padding, strict=True))
        self.plain = self.full == self.before and not any(low for low, _ in padding)
        config = [(low, high, b - 1) for (low, high), b in zip(padding, base, strict=True)]
        self.config = config
        self.pad = padded(self.full, dtype, config, shape)
        self.count = math.prod(self.window)

    def padded(self, x: Any, value: Any) -> Any:
        return x if self.plain else self.pad(x, value)

    def offsets(self) -> Iterator[tuple[slice, ...]]:
        """Return for each element of the window, row by row, the slice of the padded array with it in all windows."""
        for position in itertools.product(*[range(n) for n in self.window]):
            yield tuple(
                slice(i * d, i * d + (n - 1) * s + 1 if n else 0, s)
                for i, d, n, s in zip(position, self.dilation, self.outs, self.strides, strict=True)
            )

    def view(self, x: np.ndarray) -> tuple[np.ndarray, tuple[int, ...]]:
        """Return the windows as a view, and the axes of their elements."""
        wide = [axis for axis, n in enumerate(self.window) if n != 1]
        shape = (*self.outs, *[self.window[axis] for axis in wide])
        steps = [step * s for step, s in zip(x.strides, self.strides, strict=True)]
        steps += [x.strides[axis] * self.dilation[axis] for axis in wide]
        return strided(x, shape, tuple(steps)), tuple(range(len(self.outs), len(shape)))


def _reduced(call: Call, name: str, initial: Any) -> Fn:
    """Return `fn(x)`, or `fn(x, init)` if the call has an initial value."""
    dtype, combine = call.dtype, MONOIDS[name]
    worker = worker_of(name, dtype)
    sliding = _Sliding(call, call.ins[0].shape, worker, call.shape)
    call.cost = float(call.outs[0].size * sliding.count)
    neutral, empty = identity(name, dtype).astype(worker), call.outs[0].size == 0
    shape = call.shape
    slices = list(sliding.offsets()) if sliding.count <= _FEW else None

    def run(x: Any, *init: Any) -> Any:
        if empty:
            return np.empty(shape, dtype)
        x = sliding.padded(x.astype(worker, copy=False), neutral)
        if slices is None:
            view, axes = sliding.view(x)
            out = (
                combine.reduce(view, axes, worker)
                if dtype.kind in "iu" and name == "add"
                else combine.reduce(view, axes)
            )
        elif len(slices) == 0:
            out = np.full(shape, neutral)
        else:
            out = np.array(x[slices[0]])
            for one in slices[1:]:
                combine(out, x[one], out=out)
        if init:
            out = combine(out, init[0].astype(worker))
        return out.astype(dtype, copy=False)

    return run


@rule("reduce_window_sum", "reduce_window_max", "reduce_window_min")
def _reduce_window(call: Call) -> Fn:
    kind = call.name[len("reduce_window_") :]
    return _reduced(call, "add" if kind == "sum" else kind, None)


@rule("reduce_window")
def _reduce_window_by(call: Call) -> Fn:
    if len(call.outs) != 1:
        raise call.unsupported("several arrays")
    name = monoid(call.params["jaxpr"])
    if name is None:
        raise call.unsupported("a function of one's own")
    return _reduced(call, name, True)


def _better(call: Call) -> Fn:
    name = call.params["select_prim"].name
    if name not in ("ge", "le", "gt", "lt"):
        raise call.unsupported(f"selection by {name}")
    return {"ge": np.greater_equal, "le": np.less_equal, "gt": np.greater, "lt": np.less}[name]


class _Chosen:
    """The element that each window selects: XLA goes through it in order and keeps what `better` prefers to the next.

    The padding counts as the worst number; with `first`, nothing is chosen before it.
    """

    def __init__(self, call: Call, shape: Sequence[int], outs: Sequence[int], dtype: np.dtype, first: bool) -> None:
        self.better, self.first = _better(call), first
        self.worst = identity("max" if call.params["select_prim"].name in ("ge", "gt") else "min", dtype)
        self.worker = _F32 if dtype in LOW else dtype
        self.sliding = sliding = _Sliding(call, shape, self.worker, outs)
        self.slices = list(sliding.offsets())
        where = np.arange(math.prod(shape)).reshape(shape)
        if not sliding.plain:
            where = padded(sliding.full, where.dtype, sliding.config, shape)(where, -1)
        self.positions = [where[one] for one in self.slices]  # in the array without padding; -1 in the padding
        self.inside = [None if (position >= 0).all() else position >= 0 for position in self.positions]

    def __call__(self, x: Any) -> Any:
        """Return the position in the flattened operand that each window selects; -1 if the window is all padding."""
        x = self.sliding.padded(x.astype(self.worker, copy=False), self.worst)
        if self.first:
            best, chosen, start = np.full(self.sliding.outs, self.worst, self.worker), np.full(self.sliding.outs, -1), 0
        else:
            best, chosen, start = np.array(x[self.slices[0]]), np.array(self.positions[0]), 1
        for one, position, inside in zip(self.slices[start:], self.positions[start:], self.inside[start:], strict=True):
            value = x[one]
            take = ~self.better(best, value)
            if self.first and inside is not None:
                take &= inside
            np.copyto(best, value, where=take)
            np.copyto(chosen, position, where=take)
        return chosen


@rule("select_and_scatter_add")
def _select_and_scatter_add(call: Call) -> Fn:
    source, operand = call.ins
    chosen = _Chosen(call, operand.shape, source.shape, operand.dtype, first=False)
    shape, dtype, size = call.shape, call.dtype, call.outs[0].size
    worker = WIDER.get(dtype, dtype)
    call.cost = float(source.size * chosen.sliding.count * 3)

    def run(source: Any, operand: Any) -> Any:
        out = np.zeros(size + 1, worker)  # the last element collects what falls into the padding
        if source.size:
            np.add.at(out, chosen(operand).reshape(-1), source.reshape(-1).astype(worker, copy=False))
        return out[:-1].reshape(shape).astype(dtype, copy=False)

    return run


@rule("select_and_gather_add")
def _select_and_gather_add(call: Call) -> Fn:
    _, operand = call.ins
    chosen = _Chosen(call, operand.shape, call.shape, operand.dtype, first=True)
    call.cost = float(call.outs[0].size * chosen.sliding.count * 3)

    def run(tangents: Any, operand: Any) -> Any:
        positions = chosen(operand)
        return np.where(positions < 0, np.zeros((), tangents.dtype), tangents.reshape(-1)[positions])

    return run
