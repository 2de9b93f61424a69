"""ONNX rules of pooling. See `gluonx.export.onnx.emit`.

The last, incomplete windows that ``pooling_convention='full'`` keeps are written as padding behind, which says exactly
how many there are; only for images of open size ONNX has to find that out (``ceil_mode``).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np

from gluonx.errors import GraphError
from gluonx.export.onnx.emit import Emit, rule
from gluonx.export.onnx.graph import Value, is_float, is_static
from gluonx.export.onnx.rules_elementwise import scaled
from gluonx.export.onnx.rules_layers import channels_first, channels_last, per_axis
from gluonx.export.record import Step

_GLOBAL = {"max": "GlobalMaxPool", "avg": "GlobalAveragePool", "sum": "ReduceSum", "lp": "GlobalLpPool"}
_KINDS = {"max": "MaxPool", "avg": "AveragePool", "sum": "AveragePool", "lp": "LpPool"}


@rule("pooling")
def _pooling(emit: Emit, step: Step) -> Any:
    attrs, x = step.op.attrs, emit.value(step.args[0], step.outs[0].dtype)
    power = (attrs["p_value"] or 2) if attrs["pool_type"] == "lp" else 2
    if power == 1:
        attrs = {**attrs, "pool_type": "sum"}
    elif power % 2:
        raise GraphError(f"pooling by the power {power}, which keeps signs where ONNX takes magnitudes")
    last = (attrs["layout"] or "NCW")[-1] == "C"
    if not is_float(x.dtype):
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


class _Axis(NamedTuple):
    """The windows along one axis: those that see data, with padding in front and behind, and how many see none."""

    size: int
    kernel: int
    stride: int
    front: int
    behind: int
    count: int
    blind: int


def _axis(size: int, kernel: int, stride: int, pad: int, convention: str) -> _Axis:
    if convention == "same":
        count = -(-size // stride)
        pad = max((count - 1) * stride + kernel - size, 0) // 2
    elif convention == "full":
        count = -((kernel - size - 2 * pad) // stride) + 1
    else:
        count = (size + 2 * pad - kernel) // stride + 1
    seeing = min(count, -(-(size + pad) // stride))
    behind = max((seeing - 1) * stride + kernel - size - pad, 0)
    return _Axis(size, kernel, stride, pad, behind, seeing, count - seeing)


def _windows(emit: Emit, x: Value, attrs: Mapping[str, Any]) -> Value:
    count, kind = x.ndim - 2, attrs["pool_type"]
    kernel, stride, pad = (per_axis(attrs[n], count, d) for n, d in (("kernel", 1), ("stride", 1), ("pad", 0)))
    sizes, convention = list(x.shape[2:]), attrs["pooling_convention"]
    include = attrs["count_include_pad"] is not False
    more: dict[str, Any] = {"kernel_shape": kernel, "strides": stride}
    if kind in ("avg", "sum"):
        more["count_include_pad"] = int(include or kind == "sum")
    elif kind == "lp":
        more["p"] = attrs["p_value"] or 2
    if any(p >= k for p, k in zip(pad, kernel, strict=True)):
        raise GraphError("padding as wide as the windows")
    if not is_static(sizes):
        blind = any(p + s > k for p, s, k in zip(pad, stride, kernel, strict=True))  # ONNX has no such windows
        if convention == "same" or (convention == "full" and (kind == "sum" or blind)):
            raise GraphError(f"windows of pooling_convention='{convention}' over images of open size")
        out = emit.node(_KINDS[kind], x, pads=[*pad, *pad], ceil_mode=int(convention == "full") or None, **more)
        return scaled(emit, out, math.prod(kernel)) if kind == "sum" else out
    axes = [_axis(n, k, s, p, convention) for n, k, s, p in zip(sizes, kernel, stride, pad, strict=True)]
    behind = pad if convention == "valid" else [axis.behind for axis in axes]
    out = emit.node(_KINDS[kind], x, pads=[*[axis.front for axis in axes], *behind], **more)
    if kind == "sum":
        out = scaled(emit, out, math.prod(kernel))
    elif kind == "avg" and include and convention != "valid":
        out = _corrected(emit, out, axes, pad)
    return _completed(emit, out, axes, float(jnp.finfo(x.dtype).min) if kind == "max" else 0.0)


def _completed(emit: Emit, out: Value, axes: Sequence[_Axis], fill: float) -> Value:
    """Pad the result with what windows give that lie behind the data, where there are some."""
    blind = [axis.blind for axis in axes]
    if not any(blind):
        return out
    pads = [0] * (4 + len(blind)) + blind
    return emit.node("Pad", out, emit.ints(*pads), emit.constant(fill, out.dtype), mode="constant")


def _corrected(emit: Emit, out: Value, axes: Sequence[_Axis], pads: Sequence[int]) -> Value:
    """Averages over the places that count: the padding does, what lies beyond it does not."""
    factor = np.ones((), np.float64)
    for axis, pad in zip(axes, pads, strict=True):
        starts = [i * axis.stride - axis.front for i in range(axis.count)]
        lengths = np.array([min(start + axis.kernel, axis.size + pad) - start for start in starts])
        factor = factor[..., None] * (axis.kernel / lengths)
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
