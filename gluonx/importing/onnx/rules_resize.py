"""Resize and its kin. See `gluonx.importing.onnx.rules`.

Sizes are known when the block is traced, so each axis is resized by a selection (nearest) or by the product with a
matrix of weights (linear, cubic) that NumPy computes beforehand.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from gluonx import np as gnp
from gluonx.errors import GraphError, ShapeError
from gluonx.importing.onnx.rules import Call, Node, rule

if TYPE_CHECKING:
    from gluonx.np.handle import ndarray


_COORDINATES = (
    "half_pixel", "half_pixel_symmetric", "pytorch_half_pixel", "align_corners", "asymmetric", "tf_crop_and_resize",
    "tf_half_pixel_for_nn",
)  # fmt: skip
_ROUNDING: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "round_prefer_floor": lambda x: np.ceil(x - 0.5),
    "round_prefer_ceil": lambda x: np.floor(x + 0.5),
    "floor": np.floor,
    "ceil": np.ceil,
}


class _Axis(NamedTuple):
    size: int
    new: int
    scale: float
    roi: tuple[float, float] | None


def _check(node: Node) -> str | None:
    mode = node.attrs.get("mode", "nearest")
    if mode not in ("nearest", "linear", "cubic"):
        return f"mode '{mode}'"
    way = node.attrs.get("coordinate_transformation_mode", "half_pixel")
    return None if way in _COORDINATES else f"coordinate_transformation_mode '{way}'"


@rule("Resize", known=(1, 2, 3), check=_check)
def _resize(call: Call) -> ndarray:
    x = call[0]
    axes = [axis % x.ndim for axis in call.attr("axes") or range(x.ndim)]
    old = call.opset < 11
    roi, scales, sizes = (None, call.known(1), None) if old else (call.known(1), call.known(2), call.known(3))
    way = call.attr("coordinate_transformation_mode", "asymmetric" if old else "half_pixel")
    if way != "tf_crop_and_resize":
        roi = None
    plan = _plan(call, x, axes, roi, scales, sizes)
    rounding = _ROUNDING[call.attr("nearest_mode", "floor" if old else "round_prefer_floor")]
    return _resized(call, x, plan, call.attr("mode", "nearest"), way, rounding)


@rule("Upsample", known=(1,), check=_check)
def _upsample(call: Call) -> Any:
    x = call[0]
    scales = call.known(1) if call.opset >= 9 else np.array(call.attr("scales"))
    plan = _plan(call, x, list(range(x.ndim)), None, scales, None)
    return _resized(call, x, plan, call.attr("mode", "nearest"), "asymmetric", np.floor)


def _plan(
    call: Call, x: ndarray, axes: Sequence[int], roi: Any, scales: np.ndarray | None, sizes: np.ndarray | None
) -> dict[int, _Axis]:
    """Return what is to be done along each axis that changes; sizes of the others may be open."""
    given = [x.shape[axis] for axis in axes]
    by_sizes = sizes is not None and sizes.size > 0
    if not by_sizes and (scales is None or not scales.size):
        raise GraphError(f"{call.node} has neither scales nor sizes")
    told: Any = sizes if by_sizes else scales
    if len(told) != len(axes):
        raise ShapeError(f"{call.node}: {len(told)} sizes for {len(axes)} axes")
    rois = [None] * len(axes) if roi is None else [(float(roi[i]), float(roi[i + len(axes)])) for i in range(len(axes))]
    policy = call.attr("keep_aspect_ratio_policy", "stretch") if by_sizes else "stretch"
    changed = [i for i, n in enumerate(given) if isinstance(n, int) or told[i] != (n if by_sizes else 1)]
    if not all(isinstance(given[i], int) for i in changed):
        raise ShapeError(f"{call.node} needs sizes that are known, not {tuple(x.shape)}")
    scale = {i: int(told[i]) / given[i] if by_sizes else float(told[i]) for i in changed}
    if policy != "stretch":
        one = min(scale.values()) if policy == "not_larger" else max(scale.values())
        scale = dict.fromkeys(scale, one)
    new = {i: int(told[i]) if by_sizes else math.floor(given[i] * scale[i]) for i in changed}
    if policy != "stretch":
        new = {i: math.floor(scale[i] * given[i] + 0.5) for i in changed}
    return {axes[i]: _Axis(given[i], new[i], scale[i], rois[i]) for i in changed}


def _places(axis: _Axis, way: str) -> np.ndarray:
    """Return where in the old axis each place of the new one lies."""
    at = np.arange(axis.new, dtype=np.float64)
    n, m, s = axis.size, axis.new, axis.scale
    if way == "asymmetric":
        return at / s
    if way == "align_corners":
        length = n * s
        return at * (n - 1) / (length - 1) if length != 1 else np.zeros(m)
    if way == "tf_half_pixel_for_nn":
        return (at + 0.5) / s
    if way == "tf_crop_and_resize" and axis.roi is not None:
        start, end = axis.roi
        return start * (n - 1) + at * (end - start) * (n - 1) / (m - 1) if m > 1 else 0.5 * (start + end) * (n - 1) + at
    half = (at + 0.5) / s - 0.5
    if way == "pytorch_half_pixel":
        return half if m > 1 else np.zeros(m)
    if way == "half_pixel_symmetric":
        return half + n / 2 * (1 - m / (s * n))
    return half


def _resized(
    call: Call, x: ndarray, plan: dict[int, _Axis], mode: str, way: str, rounding: Callable[..., Any]
) -> ndarray:
    outside: dict[int, np.ndarray] = {}
    for number, axis in plan.items():
        if axis.size == axis.new and axis.scale == 1 and axis.roi in (None, (0.0, 1.0)):
            continue
        at = _places(axis, way)
        if axis.roi is not None:
            outside[number] = (at < 0) | (at > axis.size - 1)
        if mode == "nearest":
            picked = np.clip(rounding(at), 0, axis.size - 1).astype(np.int32)
            x = gnp.take(x, gnp.array(picked, dtype="int32"), axis=number)
        else:
            matrix = _weights(call, axis, at, mode).astype(np.float32 if x.dtype.kind != "f" else x.dtype)
            moved = gnp.matmul(gnp.moveaxis(x, number, -1), gnp.array(matrix.T, dtype=matrix.dtype))
            x = gnp.moveaxis(moved, -1, number)
    if any(mask.any() for mask in outside.values()):
        for number, mask in outside.items():
            shape = [1] * x.ndim
            shape[number] = -1
            value = gnp.full((), call.attr("extrapolation_value", 0.0), dtype=x.dtype)
            x = gnp.where(gnp.array(mask.reshape(shape), dtype="bool"), value, x)
    return x.astype(call[0].dtype)


def _kernel(mode: str, a: float) -> tuple[Callable[[np.ndarray], np.ndarray], int]:
    """Return the weight of a neighbour by its distance, and how far it reaches."""
    if mode == "linear":
        return lambda d: np.maximum(1 - d, 0), 1

    def cubic(d: np.ndarray) -> np.ndarray:
        near = ((a + 2) * d - (a + 3)) * d * d + 1
        far = ((d - 5) * d + 8) * a * d - 4 * a
        return np.where(d <= 1, near, np.where(d < 2, far, 0))

    return cubic, 2


def _weights(call: Call, axis: _Axis, at: np.ndarray, mode: str) -> np.ndarray:
    """Return the matrix (new places, old places) of the weights."""
    kernel, reach = _kernel(mode, call.attr("cubic_coeff_a", -0.75))
    antialias = bool(call.attr("antialias", 0)) and axis.scale < 1
    stretch = axis.scale if antialias else 1.0
    count = math.ceil(reach / stretch)
    first = np.floor(at).astype(int) - count + 1
    taps = first[:, None] + np.arange(2 * count)
    weights = kernel(np.abs(taps - at[:, None]) * stretch)
    inside = (taps >= 0) & (taps < axis.size)
    if call.attr("exclude_outside", 0):
        weights = np.where(inside, weights, 0)
    weights = weights / weights.sum(1, keepdims=True)
    matrix = np.zeros((axis.new, axis.size))
    np.add.at(matrix, (np.arange(axis.new)[:, None], np.clip(taps, 0, axis.size - 1)), weights)
    return matrix
