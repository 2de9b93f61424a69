"""What pooling becomes in ONNX. See `gluonx.onnx.emit`.

The last, incomplete windows that ``pooling_convention='full'`` keeps are written as padding behind, which says exactly
how many there are; only for images of open size ONNX has to find that out (``ceil_mode``).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from gluonx.errors import GraphError
from gluonx.onnx.emit import Emit, rule
from gluonx.onnx.graph import Value, is_static
from gluonx.onnx.rules_elementwise import scaled
from gluonx.onnx.rules_layers import channels_first, channels_last, per_axis
from gluonx.symbol.record import Step

__all__: list[str] = []

_GLOBAL = {"max": "GlobalMaxPool", "avg": "GlobalAveragePool", "sum": "ReduceSum", "lp": "GlobalLpPool"}
_KINDS = {"max": "MaxPool", "avg": "AveragePool", "sum": "AveragePool", "lp": "LpPool"}


@rule("pooling")
def _pooling(emit: Emit, step: Step) -> Any:
    attrs, x = step.op.attrs, emit.value(step.args[0], step.outs[0].dtype)
    last = (attrs["layout"] or "NCW")[-1] == "C"
    if x.dtype.kind != "f":
        raise GraphError("pooling of whole numbers")
    if last:
        x = channels_first(emit, x)
    made = _whole(emit, x, attrs) if attrs["global_pool"] else _windows(emit, x, attrs)
    return channels_last(emit, made, x.ndim, step.outs[0].shape) if last else made


def _whole(emit: Emit, x: Value, attrs: Any) -> Value:
    kind = attrs["pool_type"]
    if kind == "sum":
        return emit.node("ReduceSum", x, emit.ints(*range(2, x.ndim)), keepdims=1)
    return emit.node(_GLOBAL[kind], x, p=(attrs["p_value"] or 2) if kind == "lp" else None)


def _edges(
    attrs: Any, sizes: list[int], kernel: list[int], stride: list[int]
) -> tuple[list[int], list[int], list[int]]:
    """Padding in front and behind, and the number of windows, along each axis."""
    pad = per_axis(attrs["pad"], len(sizes), 0)
    front, behind, counts = [], [], []
    for n, k, s, p in zip(sizes, kernel, stride, pad, strict=True):
        if attrs["pooling_convention"] == "same":
            count = -(-n // s)
            p = max((count - 1) * s + k - n, 0) // 2
        elif attrs["pooling_convention"] == "full":
            count = -((k - n - 2 * p) // s) + 1
        else:
            count = (n + 2 * p - k) // s + 1
        front.append(p)
        counts.append(count)
        behind.append(max((count - 1) * s + k - n - p, 0) if attrs["pooling_convention"] != "valid" else p)
    return front, behind, counts


def _windows(emit: Emit, x: Value, attrs: Any) -> Value:
    count, kind = x.ndim - 2, attrs["pool_type"]
    kernel, stride = per_axis(attrs["kernel"], count, 1), per_axis(attrs["stride"], count, 1)
    sizes, convention = list(x.shape[2:]), attrs["pooling_convention"]
    include = attrs["count_include_pad"] is not False
    more: dict[str, Any] = {"kernel_shape": kernel, "strides": stride}
    if kind in ("avg", "sum"):
        more["count_include_pad"] = int(include or kind == "sum")
    elif kind == "lp":
        more["p"] = attrs["p_value"] or 2
    if convention != "valid" and not is_static(sizes):
        if convention == "same" or kind == "sum":
            raise GraphError(f"windows of pooling_convention='{convention}' over images of open size")
        pad = per_axis(attrs["pad"], count, 0)
        return emit.node(_KINDS[kind], x, pads=[*pad, *pad], ceil_mode=1, **more)
    if convention == "valid":
        pad = per_axis(attrs["pad"], count, 0)
        front, behind, counts = pad, pad, []
    else:
        front, behind, counts = _edges(attrs, sizes, kernel, stride)
    if any(p >= k for p, k in zip([*front, *behind], kernel * 2, strict=True)):
        x, front, behind = _padded(emit, x, front, behind, kind, include)
    out = emit.node(_KINDS[kind], x, pads=[*front, *behind], **more)
    if kind == "sum":
        return scaled(emit, out, math.prod(kernel))
    if kind == "avg" and include and convention != "valid":
        return _corrected(emit, out, attrs, (sizes, kernel, stride, counts))
    return out


def _padded(emit: Emit, x: Value, front: list[int], behind: list[int], kind: str, include: bool) -> Any:
    """Padding as wide as a window, which ONNX allows in a node of its own only."""
    if kind == "avg" and not include:
        raise GraphError("averages without padding over windows that see nothing else")
    low = emit.constant(np.finfo(x.dtype).min if kind == "max" else 0, x.dtype)
    shape = [n + f + b for n, f, b in zip(x.shape[2:], front, behind, strict=True)]
    padded = emit.node("Pad", x, emit.ints(0, 0, *front, 0, 0, *behind), low, mode="constant")
    padded.shape = (*x.shape[:2], *shape)
    return padded, [0] * len(front), [0] * len(front)


def _corrected(emit: Emit, out: Value, attrs: Any, geometry: Any) -> Value:
    """Averages over the places that count: the padding does, what lies beyond it does not."""
    axes = list(zip(*geometry, per_axis(attrs["pad"], len(geometry[0]), 0), strict=True))
    factor = np.ones((), np.float64)
    for n, k, s, count, p in axes:
        low = p if attrs["pooling_convention"] == "full" else max((count - 1) * s + k - n, 0) // 2
        starts = [i * s - low for i in range(count)]
        lengths = np.array([min(start + k, n + p) - start for start in starts])
        factor = factor[..., None] * (k / lengths)
    return out if (factor == 1).all() else emit.node("Mul", out, emit.constant(factor, out.dtype))


@rule("adaptive_avg_pooling")
def _adaptive(emit: Emit, step: Step) -> Any:
    attrs, x = step.op.attrs, emit.value(step.args[0], step.outs[0].dtype)
    last = (attrs["layout"] or "NCW")[-1] == "C"
    if last:
        x = channels_first(emit, x)
    sizes = list(x.shape[2:])
    counts = per_axis(attrs["output_size"], len(sizes), 1)
    if set(counts) == {1}:
        made = emit.node("GlobalAveragePool", x)
    elif not is_static(sizes):
        raise GraphError("windows that depend on the open size of the images")
    elif all(n % c == 0 for n, c in zip(sizes, counts, strict=True)):
        steps = [n // c for n, c in zip(sizes, counts, strict=True)]
        made = emit.node("AveragePool", x, kernel_shape=steps, strides=steps)
    else:
        made = _by_matrices(emit, x, sizes, counts)
    return channels_last(emit, made, x.ndim, step.outs[0].shape) if last else made


def _by_matrices(emit: Emit, x: Value, sizes: list[int], counts: list[int]) -> Value:
    """Means over windows of different lengths, as one product for each axis."""
    if len(sizes) > 2:
        raise GraphError("windows of different lengths in three dimensions")
    *rows, columns = [_means(n, c) for n, c in zip(sizes, counts, strict=True)]
    out = emit.node("MatMul", x, emit.constant(columns.T, x.dtype))
    return emit.node("MatMul", emit.constant(rows[0], x.dtype), out) if rows else out


def _means(size: int, count: int) -> np.ndarray:
    weights = np.zeros((count, size))
    for i in range(count):
        start, stop = i * size // count, -(-(i + 1) * size // count)
        weights[i, start:stop] = 1 / (stop - start)
    return weights
