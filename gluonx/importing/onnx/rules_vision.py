"""Boxes, regions, sampling at places, and random numbers. See `gluonx.importing.onnx.rules`."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

import numpy as np

from gluonx import np as gnp
from gluonx import npx
from gluonx.errors import GraphError
from gluonx.importing.onnx.rules import Call, element_type, one_of, rule, type_in
from gluonx.importing.onnx.rules_shape import padded

if TYPE_CHECKING:
    from gluonx.np.handle import ndarray


@rule("RoiAlign", check=one_of("mode", "avg"))
def _roi_align(call: Call) -> Any:
    rois = gnp.concatenate([gnp.expand_dims(call[2], 1).astype(call[1].dtype), call[1]], axis=1)
    way = call.attr("coordinate_transformation_mode", "half_pixel" if call.opset >= 16 else "output_half_pixel")
    return npx.roi_align(
        call[0], rois, pooled_size=(call.attr("output_height", 1), call.attr("output_width", 1)),
        spatial_scale=call.attr("spatial_scale", 1.0), sample_ratio=call.attr("sampling_ratio", 0) or -1,
        aligned=way == "half_pixel",
    )  # fmt: skip


@rule("DeformConv")
def _deform_conv(call: Call) -> Any:
    x, weight, offset, bias, mask = call[0], call[1], call[2], call[3], call[4]
    if x.ndim != 4:
        raise GraphError(f"{call.node}: data of {x.ndim} axes; images are known here")
    kernel, pads = tuple(weight.shape[2:]), call.attr("pads") or [0, 0, 0, 0]
    if pads[:2] != pads[2:]:
        raise GraphError(f"{call.node}: margins {pads} that differ at the two ends")
    how: dict[str, Any] = {
        "kernel": kernel, "stride": tuple(call.attr("strides") or (1, 1)),
        "dilate": tuple(call.attr("dilations") or (1, 1)), "pad": tuple(pads[:2]), "num_filter": weight.shape[0],
        "num_group": call.attr("group", 1), "num_deformable_group": call.attr("offset_group", 1),
        "no_bias": bias is None,
    }  # fmt: skip
    if mask is None:
        return npx.deformable_convolution(x, offset, weight, bias, **how)
    return npx.modulated_deformable_convolution(x, offset, mask, weight, bias, **how)


@rule("Col2Im", known=(1, 2))
def _col2im(call: Call) -> Any:
    sizes, block = call.sizes(1), call.sizes(2)
    assert sizes is not None and block is not None
    pads = call.attr("pads") or [0] * 2 * len(sizes)
    if len(sizes) != 2 or pads[:2] != pads[2:]:
        raise GraphError(f"{call.node}: images and even margins are known here, not {sizes} with {pads}")
    return npx.col2im(
        call[0], output_size=sizes, kernel=block, stride=tuple(call.attr("strides") or (1, 1)),
        dilate=tuple(call.attr("dilations") or (1, 1)), pad=tuple(pads[:2]),
    )  # fmt: skip


# -- non-maximum suppression ------------------------------------------------------------------------------------------


@rule("NonMaxSuppression", known=(0, 1, 2, 3, 4))
def _non_max_suppression(call: Call) -> Any:
    """Select boxes on the host: how many is known only then."""
    boxes, scores = call.known(0), call.known(1)
    most, overlap, least = [call.known(i) for i in (2, 3, 4)]
    most = 0 if most is None else int(most.reshape(-1)[0])
    overlap = 0.0 if overlap is None else float(overlap.reshape(-1)[0])
    floor = -np.inf if least is None else float(least.reshape(-1)[0])
    found = []
    for batch, kind in itertools.product(range(scores.shape[0]), range(scores.shape[1])):
        corners = _corners(boxes[batch], bool(call.attr("center_point_box", 0)))
        own, kept = scores[batch, kind], []
        for box in np.argsort(-own, kind="stable"):
            if len(kept) >= most or own[box] <= floor:
                break
            if all(_overlap(corners[box], corners[other]) <= overlap for other in kept):
                kept.append(box)
        found += [(batch, kind, box) for box in kept]
    return gnp.array(np.array(found, np.int64).reshape(-1, 3), dtype="int64")


def _corners(boxes: np.ndarray, centered: bool) -> np.ndarray:
    if centered:
        x, y, w, h = boxes.T
        return np.stack([y - h / 2, x - w / 2, y + h / 2, x + w / 2], 1)
    a, b = boxes[:, :2], boxes[:, 2:]
    return np.concatenate([np.minimum(a, b), np.maximum(a, b)], 1)


def _overlap(one: np.ndarray, other: np.ndarray) -> float:
    sides = np.minimum(one[2:], other[2:]) - np.maximum(one[:2], other[:2])
    common = float(np.prod(np.maximum(sides, 0)))
    area = float(np.prod(one[2:] - one[:2]) + np.prod(other[2:] - other[:2])) - common
    return common / area if area > 0 else 0.0


# -- sampling ---------------------------------------------------------------------------------------------------------


@rule("GridSample")
def _grid_sample(call: Call) -> Any:
    x, grid = call[0], call[1]
    mode: str = call.attr("mode", "linear").removeprefix("bi")
    corners, space = bool(call.attr("align_corners", 0)), x.ndim - 2
    edge = call.attr("padding_mode", "zeros")
    sizes = x.shape[2:]
    places = []
    for axis, size in enumerate(sizes):
        at = grid[..., space - 1 - axis]  # x comes first
        at = (
            gnp.multiply(gnp.add(at, 1), (size - 1) / 2)
            if corners
            else gnp.divide(gnp.subtract(gnp.multiply(gnp.add(at, 1), size), 1), 2)
        )
        if mode != "cubic":
            at = _at_the_edge(at, size, edge, corners)
        places.append(at)
    moved = gnp.moveaxis(x, 1, -1)
    if mode == "nearest":
        out = _picked(moved, [gnp.rint(at) for at in places], sizes, edge, corners)
    else:
        out = _interpolated(moved, places, sizes, edge, corners, mode)
    return gnp.moveaxis(out, -1, 1)


def _at_the_edge(at: Any, size: int, edge: str, corners: bool) -> Any:
    if edge == "border":
        return gnp.clip(at, 0, size - 1)
    if edge == "reflection":
        low, high = (0.0, size - 1.0) if corners else (-0.5, size - 0.5)
        if high <= low:
            return gnp.zeros_like(at)
        span = high - low
        folded = gnp.remainder(gnp.subtract(at, low), 2 * span)
        return gnp.add(gnp.minimum(folded, gnp.subtract(2 * span, folded)), low)
    return at


def _picked(x: ndarray, at: list[Any], sizes: Any, edge: str, corners: bool) -> Any:
    """Return elements at whole places, (batch, ..., channels); 0 outside of the image."""
    batch = gnp.reshape(gnp.arange(x.shape[0], dtype="int32"), (-1, *[1] * (at[0].ndim - 1)))
    inside, rows = gnp.ones(at[0].shape, dtype=bool), [gnp.broadcast_to(batch, at[0].shape)]
    for place, size in zip(at, sizes, strict=True):
        place = _at_the_edge(place, size, edge, corners)
        here = gnp.logical_and(gnp.greater_equal(place, 0), gnp.less_equal(place, size - 1))
        inside = gnp.logical_and(inside, here)
        rows.append(gnp.clip(place, 0, size - 1).astype("int32"))
    found = npx.gather_nd(x, gnp.stack(rows))
    return gnp.where(gnp.expand_dims(inside, -1), found, gnp.zeros_like(found))


def _cubic(distance: Any) -> Any:
    a = -0.75
    d = gnp.abs(distance)
    near = gnp.add(gnp.multiply(gnp.multiply(gnp.subtract(gnp.multiply(d, a + 2), a + 3), d), d), 1)
    far = gnp.subtract(gnp.multiply(gnp.multiply(gnp.add(gnp.multiply(gnp.subtract(d, 5), d), 8), d), a), 4 * a)
    return gnp.where(gnp.less_equal(d, 1), near, gnp.where(gnp.less(d, 2), far, gnp.zeros_like(d)))


def _interpolated(x: ndarray, at: list[Any], sizes: Any, edge: str, corners: bool, mode: str) -> Any:
    taps = (0, 1) if mode == "linear" else (-1, 0, 1, 2)
    bases = [gnp.floor(place) for place in at]
    total: Any = 0
    for offsets in itertools.product(taps, repeat=len(at)):
        places = [gnp.add(base, offset) for base, offset in zip(bases, offsets, strict=True)]
        weight: Any = 1
        for place, exact in zip(places, at, strict=True):
            away = gnp.subtract(exact, place)
            weight = gnp.multiply(_cubic(away) if mode == "cubic" else gnp.subtract(1, gnp.abs(away)), weight)
        total = gnp.add(gnp.multiply(_picked(x, places, sizes, edge, corners), gnp.expand_dims(weight, -1)), total)
    return total


# -- random numbers ---------------------------------------------------------------------------------------------------


def _drawn(call: Call, uniform: bool, shape: Any, dtype: Any) -> Any:
    """Return random numbers; ``mx.random.seed`` decides, and the file's seed does not."""
    if uniform:
        made = gnp.random.uniform(call.attr("low", 0.0), call.attr("high", 1.0), size=shape)
    else:
        made = gnp.random.normal(call.attr("mean", 0.0), call.attr("scale", 1.0), size=shape)
    return made.astype(dtype)


@rule("RandomUniform", "RandomNormal", check=type_in("dtype"), lazy=True)
def _random(call: Call) -> Any:
    dtype = element_type(call.attr("dtype", 1))
    return _drawn(call, call.node.op == "RandomUniform", tuple(call.attr("shape")), dtype)


@rule("RandomUniformLike", "RandomNormalLike", check=type_in("dtype"), lazy=True)
def _random_like(call: Call) -> Any:
    x = call.raw(0)
    dtype = element_type(call.attr("dtype")) if call.attr("dtype") else x.dtype
    return _drawn(call, call.node.op == "RandomUniformLike", tuple(x.shape), dtype)


@rule("CenterCropPad", known=(1,))
def _center_crop_pad(call: Call) -> Any:
    x, sizes = call[0], call.sizes(1)
    assert sizes is not None
    widths = [(0, 0)] * x.ndim
    for axis, size in zip(call.attr("axes") or range(x.ndim), sizes, strict=True):
        n = x.shape[axis]
        low = (size - n) // 2 if size >= n else -((n - size) // 2)
        widths[axis] = (low, size - n - low)
    return padded(x, widths)
