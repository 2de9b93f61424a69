"""Pooling. See `gluonx.importing.onnx.rules`.

Windows that gluonx's operator has (equal margins, no dilation, sizes rounded down) become that operator. Others are
padded beforehand, to the size that ONNX gives the result; dilated ones are reduced slice by slice.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from gluonx import np as gnp
from gluonx import npx
from gluonx.errors import ShapeError
from gluonx.importing.onnx.rules import Call, rule
from gluonx.importing.onnx.rules_layers import auto_pad_check, margins
from gluonx.importing.onnx.rules_shape import padded

if TYPE_CHECKING:
    from gluonx.np.handle import ndarray


class _Windows(NamedTuple):
    """Of each spatial axis."""

    kernel: tuple[int, ...]
    stride: tuple[int, ...]
    dilate: tuple[int, ...]
    pads: list[tuple[int, int]]
    outs: list[int] | None
    """Sizes of the result; None where sizes are open."""

    @property
    def plain(self) -> bool:
        """True if gluonx's operator has such windows."""
        even = all(low == high for low, high in self.pads)
        return even and all(d == 1 for d in self.dilate)


def _windows(call: Call, x: ndarray) -> tuple[_Windows, bool]:
    """Return the windows, and whether rounding up has added some."""
    kernel = tuple(call.attr("kernel_shape"))
    space = len(kernel)
    if x.ndim != space + 2:
        raise ShapeError(f"{call.node}: data has {x.ndim} axes, but a kernel of {space} needs {space + 2}")
    stride = tuple(call.attr("strides") or [1] * space)
    dilate = tuple(call.attr("dilations") or [1] * space)
    pads = margins(call, x.shape[2:], kernel, stride, dilate)
    up = bool(call.attr("ceil_mode", 0)) and call.attr("auto_pad", "NOTSET") in ("NOTSET", "")
    if not all(isinstance(n, int) for n in x.shape[2:]):
        made = _Windows(kernel, stride, dilate, pads, None)
        if up or not made.plain:
            raise ShapeError(f"{call.node}: these windows need sizes that are known, not {tuple(x.shape)}")
        return made, False
    outs, more = [], False
    for size, k, s, d, (low, high) in zip(x.shape[2:], kernel, stride, dilate, pads, strict=True):
        room = size + low + high - (d * (k - 1) + 1)
        count = room // s + 1
        if up and -(-room // s) + 1 > count and count * s < size + low:  # none begins behind the data
            count, more = count + 1, True
        outs.append(count)
    return _Windows(kernel, stride, dilate, pads, outs), more


def _filled(x: ndarray, w: _Windows, value: Any) -> ndarray:
    """Return the data with margins such that all windows lie inside, and nothing is left over."""
    assert w.outs is not None
    widths = [(0, 0), (0, 0)]
    for size, k, s, d, (low, _), count in zip(x.shape[2:], w.kernel, w.stride, w.dilate, w.pads, w.outs, strict=True):
        widths.append((low, (count - 1) * s + d * (k - 1) + 1 - size - low))
    return padded(x, widths, value=value)


def _slices(x: ndarray, w: _Windows) -> list[Any]:
    """Return, for each place in the kernel, the elements that the windows have there; `x` has its margins."""
    assert w.outs is not None
    found = []
    for place in itertools.product(*[range(k) for k in w.kernel]):
        cuts = [
            slice(p * d, p * d + (count - 1) * s + 1, s)
            for p, d, s, count in zip(place, w.dilate, w.stride, w.outs, strict=True)
        ]
        found.append(x[(slice(None), slice(None), *cuts)])
    return found


def _lowest(x: Any) -> Any:
    return -math.inf if x.dtype.kind not in "iu" else int(np.iinfo(x.dtype).min)


@rule("MaxPool", check=auto_pad_check)
def _max_pool(call: Call) -> Any:
    x = call[0]
    w, more = _windows(call, x)
    if call.wants(1):
        return _with_places(call, x, w)
    if w.plain and not more:
        pad = tuple([low for low, _ in w.pads])
        return npx.pooling(x, kernel=w.kernel, stride=w.stride, pad=pad, pool_type="max").astype(x.dtype)
    filled = _filled(x, w, _lowest(x))
    if all(d == 1 for d in w.dilate):
        return npx.pooling(filled, kernel=w.kernel, stride=w.stride, pool_type="max").astype(x.dtype)
    return functools.reduce(gnp.maximum, _slices(filled, w))


def _with_places(call: Call, x: ndarray, w: _Windows) -> tuple[Any, Any]:
    """Return maxima, and where they are, counted through the whole array."""
    stacked = gnp.stack(_slices(_filled(x, w, _lowest(x)), w))
    values, which = gnp.max(stacked, axis=0), gnp.argmax(stacked, axis=0)
    order = range(len(w.kernel))
    if call.attr("storage_order", 0):
        order = order[::-1]
    places = list(itertools.product(*[range(k) for k in w.kernel]))
    total: Any = 0
    scale = 1
    for axis in reversed(order):
        offsets = gnp.array(np.array([place[axis] * w.dilate[axis] for place in places]), dtype="int64")
        assert w.outs is not None
        shape = [1] * len(w.kernel)
        shape[axis] = w.outs[axis]
        starts = np.arange(w.outs[axis]).reshape(shape) * w.stride[axis] - w.pads[axis][0]
        at = gnp.add(gnp.take(offsets, which), gnp.array(starts, dtype="int64"))
        total = gnp.add(gnp.multiply(at, scale), total)
        scale *= x.shape[2 + axis]
    planes = np.arange(x.shape[0] * x.shape[1]).reshape(x.shape[0], x.shape[1], *[1] * len(w.kernel)) * scale
    return values, gnp.add(total, gnp.array(planes, dtype="int64"))


def _counts(x: Any, w: _Windows, everything: bool) -> np.ndarray:
    """Return how many places each window averages over."""
    counts = np.ones((1, 1, *[1] * len(w.kernel)))
    assert w.outs is not None
    for axis, (size, k, s, d, (low, high), count) in enumerate(
        zip(x.shape[2:], w.kernel, w.stride, w.dilate, w.pads, w.outs, strict=True)
    ):
        inside = np.zeros((count, k), bool)
        at = np.arange(count)[:, None] * s + np.arange(k) * d - low
        inside = (at >= -low) & (at < size + high) if everything else (at >= 0) & (at < size)
        shape = [1] * (len(w.kernel) + 2)
        shape[axis + 2] = count
        counts = counts * inside.sum(1).reshape(shape)
    return counts


@rule("AveragePool", check=auto_pad_check)
def _average_pool(call: Call) -> ndarray:
    x, everything = call[0], bool(call.attr("count_include_pad", 0))
    w, more = _windows(call, x)
    if w.plain and not more:
        pad = tuple([low for low, _ in w.pads])
        how: dict[str, Any] = {"kernel": w.kernel, "stride": w.stride, "pad": pad}
        return npx.pooling(x, pool_type="avg", count_include_pad=everything, **how)
    filled = _filled(x, w, 0)
    if all(d == 1 for d in w.dilate):
        total = npx.pooling(filled, kernel=w.kernel, stride=w.stride, pool_type="sum")
    else:
        total = functools.reduce(gnp.add, _slices(filled, w))
    return gnp.divide(total, gnp.array(_counts(x, w, everything), dtype=x.dtype))


@rule("LpPool", check=auto_pad_check)
def _lp_pool(call: Call) -> Any:
    x, p = call[0], call.attr("p", 2)
    w, _ = _windows(call, x)
    powers = _filled(gnp.power(gnp.abs(x), p), w, 0)
    return gnp.power(functools.reduce(gnp.add, _slices(powers, w)), 1.0 / p).astype(x.dtype)


def _global(x: ndarray) -> tuple[int, ...]:
    return tuple(range(2, x.ndim))


def _pooled_whole(x: ndarray, kind: str, reduce: Callable[..., Any]) -> Any:
    """Pool over the whole image: `kind` where the operator has so many dimensions, else `reduce`."""
    if 3 <= x.ndim <= 5:
        return npx.pooling(x, kernel=(1,) * (x.ndim - 2), global_pool=True, pool_type=kind)
    return reduce(x, axis=_global(x), keepdims=True)


rule("GlobalAveragePool")(lambda call: _pooled_whole(call[0], "avg", gnp.mean))
rule("GlobalMaxPool")(lambda call: _pooled_whole(call[0], "max", gnp.max))


@rule("GlobalLpPool")
def _global_lp(call: Call) -> Any:
    x, p = call[0], call.attr("p", 2)
    return gnp.power(gnp.sum(gnp.power(gnp.abs(x), p), axis=_global(x), keepdims=True), 1.0 / p)


@rule("MaxUnpool", known=(2,))
def _max_unpool(call: Call) -> Any:
    x, places, given = call[0], call[1], call.sizes(2)
    kernel = call.attr("kernel_shape")
    stride, pads = call.attr("strides") or [1] * len(kernel), call.attr("pads") or [0] * 2 * len(kernel)
    space = len(kernel)
    usual: Sequence[int] = [
        (n - 1) * s - pads[i] - pads[space + i] + k
        for i, (n, s, k) in enumerate(zip(x.shape[2:], stride, kernel, strict=True))
    ]
    small = (*x.shape[:2], *usual)
    flat = gnp.zeros((math.prod(small),), dtype=x.dtype)
    rows = gnp.reshape(places, (1, -1)).astype("int32")
    if given is not None and tuple(given) != small:  # the places count through the smaller array
        flat = gnp.reshape(npx.index_update(flat, rows, gnp.reshape(x, (-1,))), small)
        return padded(flat, [(0, b - a) for a, b in zip(small, given, strict=True)])
    return gnp.reshape(npx.index_update(flat, rows, gnp.reshape(x, (-1,))), small)
