"""Region proposals (Faster R-CNN), position-sensitive pooling (R-FCN), and compact bilinear products.

All shapes are static: the next proposal takes the position of a suppressed one, and if too few remain they are
repeated.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from gluonx.errors import ShapeError
from gluonx.ops.registry import register


def _anchors(stride: int, scales: Sequence[float], ratios: Sequence[float]) -> np.ndarray:
    """Return the boxes at the first position, by ratio, then by scale, with sides rounded as in Faster R-CNN."""
    found = []
    middle = 0.5 * (stride - 1)
    for ratio in ratios:
        side = math.floor(math.sqrt(math.floor(stride * stride / ratio)) + 0.5)
        for scale in scales:
            width, height = side * scale, math.floor(side * ratio + 0.5) * scale
            half = 0.5 * (width - 1), 0.5 * (height - 1)
            found.append([middle - half[0], middle - half[1], middle + half[0], middle + half[1]])
    return np.array(found, np.float32)


def _moved(anchors: Array, deltas: Array, iou_loss: bool) -> Array:
    """Return anchors after the regression; corners belong to the box."""
    if iou_loss:
        return anchors + deltas
    sides = anchors[:, 2:] - anchors[:, :2] + 1
    middle = anchors[:, :2] + 0.5 * (sides - 1) + deltas[:, :2] * sides
    half = 0.5 * (jnp.exp(deltas[:, 2:]) * sides - 1)
    return jnp.concatenate([middle - half, middle + half], -1)


def _outliving(boxes: Array, threshold: Array | float) -> Array:
    """Return which boxes, by falling score, no earlier one suppresses; corners belong to a box."""
    areas = jnp.prod(boxes[:, 2:] - boxes[:, :2] + 1, -1)
    positions = jnp.arange(len(boxes))

    def visit(i: Array, alive: Array) -> Array:
        low, high = jnp.maximum(boxes[i, :2], boxes[:, :2]), jnp.minimum(boxes[i, 2:], boxes[:, 2:])
        common = jnp.prod(jnp.maximum(high - low + 1, 0), -1)
        hit = (common / (areas + areas[i] - common) > threshold) & (positions > i) & alive[i]
        return alive & ~hit

    return lax.fori_loop(0, len(boxes), visit, jnp.ones(len(boxes), bool))


class _Rule(NamedTuple):
    """The limits of a proposal: the numbers of regions before and after, and the least size."""

    before: int
    after: int
    threshold: Array | float
    least: int
    stride: int
    iou_loss: bool

    def left(self, anchors: Array, probabilities: Array, deltas: Array, info: Array) -> tuple[Array, Array]:
        """Return the remaining regions of one image, by falling score, and their scores."""
        _, rows, columns = probabilities.shape
        count = len(anchors) // (rows * columns)
        scores = probabilities[count:].transpose(1, 2, 0).reshape(-1)
        moves = deltas.reshape(count, 4, rows, columns).transpose(2, 3, 0, 1).reshape(-1, 4)
        high, wide, scale = info
        boxes = jnp.clip(_moved(anchors, moves, self.iou_loss), 0, jnp.stack([wide, high, wide, high]) - 1)
        below = jnp.arange(rows)[:, None] * self.stride >= _whole(high, self.stride)
        outside = below | (jnp.arange(columns)[None] * self.stride >= _whole(wide, self.stride))
        least = self.least * scale
        small = jnp.any(boxes[:, 2:] - boxes[:, :2] + 1 < least, -1)
        boxes = jnp.where(small[:, None], boxes + jnp.array([-0.5, -0.5, 0.5, 0.5]) * least, boxes)
        scores = jnp.where(small | jnp.repeat(outside.reshape(-1), count), -1, scores)
        order = jnp.argsort(scores, descending=True, stable=True)[: self.before]
        boxes, scores = boxes[order], scores[order]
        alive = _outliving(boxes, self.threshold)
        kept = jnp.argsort(~alive, stable=True)[jnp.arange(self.after) % jnp.clip(alive.sum(), 1, self.after)]
        return boxes[kept], scores[kept]


@register(
    nout=lambda attrs: 2 if attrs["output_score"] else 1,
    moving=("threshold",),
    shape="(batch * `rpn_post_nms_top_n`, 5); then, if asked, the scores",
)
def proposal(
    cls_prob: Array,
    bbox_pred: Array,
    im_info: Array,
    *,
    rpn_pre_nms_top_n: int = 6000,
    rpn_post_nms_top_n: int = 300,
    threshold: float = 0.7,
    rpn_min_size: int = 16,
    scales: Sequence[float] = (4.0, 8.0, 16.0, 32.0),
    ratios: Sequence[float] = (0.5, 1.0, 2.0),
    feature_stride: int = 16,
    output_score: bool = False,
    iou_loss: bool = False,
) -> Array | tuple[Array, Array]:
    """Return the regions that a region proposal network (https://arxiv.org/abs/1506.01497) finds; it has no gradient.

    Of each image the `rpn_pre_nms_top_n` regions with the highest scores are taken. Of two that overlap by `threshold`
    or more the one with the lower score is removed. The result has `rpn_post_nms_top_n` regions; if fewer remain, they
    are repeated.

    Parameters
    ----------
    cls_prob, bbox_pred : array, shape (batch, 2 * anchors, height, width) and (batch, 4 * anchors, height, width)
        The scores of background and foreground of each anchor (a pair of `scales` and `ratios`), and its regression.
    im_info : array, shape (batch, 3)
    rpn_pre_nms_top_n
        How many regions of each image enter the suppression; all if not positive.
    rpn_post_nms_top_n
        How many regions of each image are returned.
    threshold
        The overlap from which on the region with the lower score is removed.
    rpn_min_size
        Smaller regions are left out.
    scales
        The scales of the anchors.
    ratios
        Their ratios of height to width.
    feature_stride
        The distance of two positions of the feature map, in pixels.
    output_score
        Whether to return the scores too.
    iou_loss
        Whether `bbox_pred` has shifts of the corners, and not of center and size.

    Returns
    -------
    array, shape (batch * rpn_post_nms_top_n, 5)
        The image's position in the batch, and the corners. With `output_score` also an array of the scores, shape
        (batch * rpn_post_nms_top_n, 1).

    Examples
    --------
    >>> from gluonx import np, npx
    >>> npx.proposal(
    ...     np.ones((1, 2, 4, 4)),
    ...     np.zeros((1, 4, 4, 4)),
    ...     np.array([[64.0, 64.0, 1.0]]),
    ...     scales=(1.0,),
    ...     ratios=(1.0,),
    ...     rpn_post_nms_top_n=5,
    ...     rpn_min_size=1,
    ... ).shape
    (5, 5)
    """
    stride = feature_stride
    anchors = _spread(_anchors(stride, scales, ratios), cls_prob, bbox_pred, stride)
    before = min(rpn_pre_nms_top_n, len(anchors)) if rpn_pre_nms_top_n > 0 else len(anchors)
    rule = _Rule(before, min(rpn_post_nms_top_n, before), threshold, rpn_min_size, stride, iou_loss)
    given = [lax.stop_gradient(x) for x in (cls_prob, bbox_pred, im_info)]
    boxes, scores = jax.vmap(lambda *one: rule.left(anchors, *one))(*given)
    again = jnp.arange(rpn_post_nms_top_n) % rule.after  # repeats the regions if there are too few
    index = jnp.repeat(jnp.arange(len(boxes), dtype=boxes.dtype), rpn_post_nms_top_n)[:, None]
    regions = jnp.concatenate([index, boxes[:, again].reshape(-1, 4)], -1)
    return (regions, scores[:, again].reshape(-1, 1)) if output_score else regions


def _spread(base: np.ndarray, cls_prob: Array, bbox_pred: Array, stride: int) -> Array:
    """Return the anchors at all positions, row by row."""
    count = len(base)
    deltas = (cls_prob.shape[0], 4 * count, *cls_prob.shape[2:])
    if cls_prob.ndim != 4 or cls_prob.shape[1] != 2 * count or bbox_pred.shape != deltas:
        raise ShapeError(
            f"proposal: {count} anchors need cls_prob (batch, {2 * count}, height, width) and bbox_pred with "
            f"{4 * count} channels, but they have shapes {cls_prob.shape} and {bbox_pred.shape}."
        )
    rows, columns = jnp.meshgrid(*[jnp.arange(n) for n in cls_prob.shape[2:]], indexing="ij")
    shifts = jnp.stack([columns, rows, columns, rows], -1).reshape(-1, 1, 4) * stride
    return (jnp.asarray(base) + shifts).reshape(-1, 4)


def _whole(length: Array, stride: int) -> Array:
    """Return a length truncated to a multiple of the stride."""
    return jnp.floor(length / stride) * stride


@register(moving=("spatial_scale",))
def psroi_pooling(
    data: Array, rois: Array, *, spatial_scale: float, output_dim: int, pooled_size: int, group_size: int = 0
) -> Array:
    """Average pooling of regions, each part from channels of its own (https://arxiv.org/abs/1605.06409).

    Parameters
    ----------
    data : array, shape (batch, output_dim * group_size**2, height, width)
    rois : array, shape (regions, 5)
        Position in the batch and corners; they have no gradient.
    spatial_scale : float
        The factor of the corners, after they are rounded.
    output_dim, pooled_size : int
        Channels and side of the result.
    group_size : int
        The number of parts along a side that have channels of their own; `pooled_size` by default.

    Returns
    -------
    array, shape (regions, output_dim, pooled_size, pooled_size)

    Raises
    ------
    ShapeError
        If the shapes do not fit.

    Examples
    --------
    >>> from gluonx import np, npx
    >>> npx.psroi_pooling(
    ...     np.ones((1, 8, 6, 6)),
    ...     np.array([[0.0, 0.0, 0.0, 4.0, 4.0]]),
    ...     spatial_scale=1.0,
    ...     output_dim=2,
    ...     pooled_size=2,
    ... ).shape
    (1, 2, 2, 2)
    """
    group = group_size or pooled_size
    if data.ndim != 4 or rois.ndim != 2 or rois.shape[1] != 5 or data.shape[1] != output_dim * group * group:
        raise ShapeError(
            f"psroi_pooling: data must be (batch, {output_dim * group * group}, height, width) and rois (regions, 5), "
            f"but they have shapes {data.shape} and {rois.shape}."
        )
    height, width = data.shape[2:]
    parts = data.reshape(len(data), output_dim, group, group, height, width)
    which = np.clip(np.arange(pooled_size) * group // pooled_size, 0, group - 1)
    parts = parts[:, :, which][:, :, :, which]

    def inside(low: Array, high: Array, length: int) -> Array:
        size = jnp.maximum(high - low, 0.1) / pooled_size
        steps = jnp.arange(pooled_size, dtype=jnp.float32)
        start = jnp.clip(jnp.floor(steps * size + low), 0, length)
        stop = jnp.clip(jnp.ceil((steps + 1) * size + low), 0, length)
        positions = jnp.arange(length)[None]
        return ((positions >= start[:, None]) & (positions < stop[:, None])).astype(data.dtype)

    def one(roi: Array) -> Array:
        corners = jnp.trunc(roi[1:] + jnp.copysign(0.5, roi[1:]))
        left, top = corners[:2] * spatial_scale
        right, bottom = (corners[2:] + 1) * spatial_scale
        rows, columns = inside(top, bottom, height), inside(left, right, width)
        image = lax.dynamic_index_in_dim(parts, jnp.clip(roi[0].astype(int), 0, len(data) - 1), keepdims=False)
        area = rows.sum(-1)[:, None] * columns.sum(-1)
        return jnp.einsum("dpqhw,ph,qw->dpq", image, rows, columns) / jnp.maximum(area, 1)

    return lax.map(one, lax.stop_gradient(rois))


@register()
def count_sketch(data: Array, h: Array, s: Array, *, out_dim: int) -> Array:
    """Return the count sketch of rows (https://arxiv.org/abs/1511.06062): ``out[:, h[i]] += s[i] * data[:, i]``.

    Parameters
    ----------
    data : array, shape (..., n)
    h : array, shape (n,) or (1, n)
        A position below `out_dim` for each column.
    s : array, shape (n,) or (1, n)
        The sign of each column.
    out_dim : int
        The number of columns of the result.

    Returns
    -------
    array, shape (..., out_dim)

    Examples
    --------
    >>> from gluonx import np, npx
    >>> npx.count_sketch(
    ...     np.array([[1.0, 2.0]]), np.array([0, 0]), np.array([1.0, -1.0]), out_dim=2
    ... ).tolist()
    [[-1.0, 0.0]]
    """
    positions, signs = lax.stop_gradient(h).reshape(-1).astype(jnp.int32), s.reshape(-1).astype(data.dtype)
    return jnp.zeros((*data.shape[:-1], out_dim), data.dtype).at[..., positions].add(data * signs)


@register(gives="input")
def fft_pairs(data: Array) -> Array:
    """Return the Fourier transform of real rows, real and imaginary parts in turns.

    Parameters
    ----------
    data : array, shape (..., n)

    Returns
    -------
    array, shape (..., 2 * n)

    Examples
    --------
    >>> from gluonx import np, npx
    >>> npx.fft_pairs(np.array([[1.0, 2.0]])).tolist()
    [[3.0, 0.0, -1.0, 0.0]]
    """
    found = jnp.fft.fft(data, axis=-1)
    return jnp.stack([found.real, found.imag], -1).reshape(*data.shape[:-1], -1).astype(data.dtype)


@register()
def ifft_pairs(data: Array) -> Array:
    """Return the real part of the inverse of `fft_pairs`, times n: the transform is not divided by its length.

    Parameters
    ----------
    data : array, shape (..., 2 * n)

    Returns
    -------
    array, shape (..., n)

    Examples
    --------
    >>> from gluonx import np, npx
    >>> npx.ifft_pairs(np.array([[3.0, 0.0, -1.0, 0.0]])).tolist()
    [[2.0, 4.0]]
    """
    pairs = data.reshape(*data.shape[:-1], -1, 2)
    found = jnp.fft.ifft(lax.complex(pairs[..., 0], pairs[..., 1]), axis=-1).real
    return (found * found.shape[-1]).astype(data.dtype)
