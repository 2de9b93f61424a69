"""The single-shot detector's operators: default boxes, training targets, and detections (https://arxiv.org/abs/1512.02325).

They follow Apache MXNet's ``multibox_*``: boxes in corner format, relative to the image's size, class 0 the background.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from gluonx.errors import ShapeError
from gluonx.ops.boxes import centers, decoded, encoded, iou, suppressed
from gluonx.ops.registry import NONE, register

Numbers = float | Sequence[float]


def _numbers(value: Numbers, count: int | None, name: str, attribute: str) -> tuple[float, ...]:
    """Return the attribute as a tuple of `count` numbers, or of one and more."""
    numbers = tuple(value) if isinstance(value, (tuple, list)) else (value,)
    if not numbers or (count is not None and len(numbers) != count):
        raise ValueError(f"{name}: {attribute} must be {count or 'one or more'} numbers, but is {value!r}.")
    return numbers  # type: ignore[return-value]


@register(amp="float32", gradient=NONE)
def multibox_prior(
    data: Array,
    *,
    sizes: Numbers = (1.0,),
    ratios: Numbers = (1.0,),
    clip: bool = False,
    steps: Numbers = (-1.0, -1.0),
    offsets: Numbers = (0.5, 0.5),
) -> Array:
    """Return the default boxes of a feature map: some at each position, the same for every image.

    Parameters
    ----------
    data : array, shape (batch, channels, height, width)
        Only its shape is used.
    sizes, ratios : sequence of float
        Each size is taken with the first ratio, each further ratio (width to height) with the first size.
    clip : bool
        Whether to cut boxes at the image's border.
    steps : (float, float)
        The distance of positions, vertically and horizontally; not positive: the map covers the image.
    offsets : (float, float)
        The position of a box's center in its cell, from 0 to 1.

    Returns
    -------
    array, shape (1, height * width * (sizes + ratios - 1), 4)
        Without a gradient.

    Raises
    ------
    ShapeError
        If `data` has not four axes.

    Examples
    --------
    >>> from gluonx import np, npx
    >>> npx.multibox_prior(np.zeros((1, 3, 2, 2)), sizes=(0.5,)).shape
    (1, 4, 4)
    """
    if data.ndim != 4:
        raise ShapeError(
            f"multibox_prior: data must have four axes, (batch, channels, height, width), not {data.shape}."
        )
    name = "multibox_prior"
    sizes, ratios = _numbers(sizes, None, name, "sizes"), _numbers(ratios, None, name, "ratios")
    shift = _numbers(offsets, 2, name, "offsets")
    height, width = data.shape[2:]
    steps = _numbers(steps, 2, name, "steps")
    step_y, step_x = (step if step > 0 else 1 / n for step, n in zip(steps, (height, width), strict=True))
    shapes = [(size, math.sqrt(ratios[0])) for size in sizes] + [(sizes[0], math.sqrt(r)) for r in ratios[1:]]
    half = np.array([[size * height / width * root / 2, size / root / 2] for size, root in shapes])
    y = (np.arange(height) + shift[0]) * step_y
    x = (np.arange(width) + shift[1]) * step_x
    middle = np.stack(np.broadcast_arrays(x[None, :, None], y[:, None, None]), -1)
    boxes = np.concatenate([middle - half, middle + half], -1).reshape(1, -1, 4)
    boxes = np.clip(boxes, 0, 1) if clip else boxes
    return jnp.asarray(boxes, data.dtype if jnp.issubdtype(data.dtype, jnp.floating) else jnp.float32)


# -- targets --------------------------------------------------------------------------------------------------------


def _greedy(overlap: Array) -> Array:
    """Return for each anchor its own label, or -1: pairs are taken by falling overlap."""
    anchors, labels = overlap.shape
    row_of, column_of = jnp.arange(anchors), jnp.arange(labels)[None]

    def turn(_: Array, state: tuple[Array, Array]) -> tuple[Array, Array]:
        left, own = state
        best = jnp.argmax(left)
        row, column = best // labels, best % labels
        found = left.reshape(-1)[best] > 1e-6
        own = jnp.where(found & (row_of == row), column, own)
        return jnp.where((row_of[:, None] == row) | (column_of == column), -1, left), own

    return lax.fori_loop(0, min(anchors, labels), turn, (overlap, jnp.full(anchors, -1)))[1]


def _hardest(cls_pred: Array, candidate: Array, count: Array) -> Array:
    """Return the `count` candidates that look least like background."""
    background = jax.nn.softmax(cls_pred, 0)[0]
    order = jnp.argsort(jnp.where(candidate, background, jnp.inf), stable=True)
    rank = jnp.zeros_like(order).at[order].set(jnp.arange(len(order)))
    return candidate & (rank < count)


class _Mining:
    """The attributes of `multibox_target` that choose the negatives."""

    def __init__(self, ratio: float, thresh: float, ignore: float) -> None:
        self.ratio, self.thresh, self.ignore = ratio, thresh, ignore

    def negatives(self, cls_pred: Array, positive: Array, overlap: Array) -> Array:
        if self.ratio <= 0:
            return ~positive
        count = jnp.sum(positive)
        wanted = jnp.minimum((count * self.ratio).astype(count.dtype), len(positive) - count)
        return _hardest(cls_pred, ~positive & (overlap < self.thresh), wanted)


def _targets(
    anchors: Array, label: Array, cls_pred: Array, threshold: float, variances: Array, mining: _Mining
) -> tuple[Array, Array, Array]:
    """Return the targets of one image."""
    valid = jnp.cumprod(label[:, 0] != -1).astype(bool)
    overlap = jnp.where(valid[None], iou(anchors[:, None], label[None, :, 1:5]), -1)
    own = _greedy(overlap)
    best, nearest = jnp.max(overlap, 1), jnp.argmax(overlap, 1)
    alike = (best > threshold) if threshold > 0 else jnp.zeros_like(best, bool)
    positive = (own >= 0) | alike
    chosen = jnp.where(own >= 0, own, nearest)
    coded = encoded(centers(label[chosen, 1:5]), centers(anchors)) / variances[None]
    mask = jnp.broadcast_to(positive[:, None], coded.shape)
    negative = mining.negatives(cls_pred, positive, best) & jnp.any(valid)
    kind = jnp.where(positive, label[chosen, 0] + 1, jnp.where(negative, 0, mining.ignore))
    return jnp.where(mask, coded, 0).reshape(-1), mask.astype(anchors.dtype).reshape(-1), kind.astype(anchors.dtype)


def _check_targets(anchor: Array, label: Array, cls_pred: Array) -> None:
    fits = anchor.ndim == 3 and anchor.shape[0] == 1 and anchor.shape[2] == 4 and label.ndim == 3 and cls_pred.ndim == 3
    if not fits or label.shape[2] < 5 or label.shape[0] != cls_pred.shape[0] or cls_pred.shape[2] != anchor.shape[1]:
        raise ShapeError(
            "multibox_target: anchor must be (1, n, 4), label (batch, m, 5 or more), cls_pred (batch, classes, n), but "
            f"they have shapes {anchor.shape}, {label.shape}, {cls_pred.shape}."
        )


@register(nout=3, moving=("ignore_label", "negative_mining_thresh"), amp="float32", gradient=NONE)
def multibox_target(
    anchor: Array,
    label: Array,
    cls_pred: Array,
    *,
    overlap_threshold: float = 0.5,
    ignore_label: float = -1.0,
    negative_mining_ratio: float = -1.0,
    negative_mining_thresh: float = 0.5,
    minimum_negative_samples: int = 0,
    variances: Numbers = (0.1, 0.1, 0.2, 0.2),
) -> tuple[Array, Array, Array]:
    """Compute the training targets of a single-shot detector for each default box. No gradient.

    Every true box gets the default box that overlaps it most; further ones get the true box that they overlap by
    more than `overlap_threshold`.

    Parameters
    ----------
    anchor : array, shape (1, n, 4)
    label : array, shape (batch, m, 5 or more)
        Class and corners of the true boxes; a class of -1 ends an image's boxes.
    cls_pred : array, shape (batch, classes + 1, n)
        The present scores, used only to find hard negatives.
    overlap_threshold : float
        The overlap above which a default box gets a true box.
    ignore_label : float
        The class of a default box that is neither positive nor chosen as negative.
    negative_mining_ratio : float
        If positive, so many negatives for each positive are chosen, those that look least like background.
    negative_mining_thresh : float
        The overlap with a true box from which on a default box is no negative.
    minimum_negative_samples : int
        Ignored, as in MXNet.
    variances : sequence of 4 floats
        The divisors of the regression targets.

    Returns
    -------
    loc_target, loc_mask : array, shape (batch, n * 4)
    cls_target : array, shape (batch, n)
        The true class plus one, 0 for background.

    Raises
    ------
    ShapeError
        If the shapes do not fit.

    Examples
    --------
    >>> from gluonx import np, npx
    >>> [
    ...     part.shape
    ...     for part in npx.multibox_target(
    ...         np.array([[[0.1, 0.1, 0.5, 0.5]]]),
    ...         np.array([[[0.0, 0.1, 0.1, 0.5, 0.5]]]),
    ...         np.zeros((1, 2, 1)),
    ...     )
    ... ]
    [(1, 4), (1, 4), (1, 1)]
    """
    _check_targets(anchor, label, cls_pred)
    scale = jnp.asarray(_numbers(variances, 4, "multibox_target", "variances"), anchor.dtype)
    mining = _Mining(negative_mining_ratio, negative_mining_thresh, ignore_label)
    if not label.shape[1]:
        none = jnp.zeros((label.shape[0], anchor.shape[1] * 4), anchor.dtype)
        return none, none, jnp.full((label.shape[0], anchor.shape[1]), ignore_label, anchor.dtype)
    anchor, label, cls_pred = (lax.stop_gradient(x) for x in (anchor, label, cls_pred))

    def one(rows: Array, scores: Array) -> tuple[Array, Array, Array]:
        return _targets(anchor[0], rows, scores, overlap_threshold, scale, mining)

    return jax.vmap(one)(label, cls_pred)


# -- detections -----------------------------------------------------------------------------------------------------


class _Filter:
    """The attributes of `multibox_detection` that decide which boxes remain."""

    def __init__(self, threshold: float, nms: float, force: bool, topk: int) -> None:
        self.threshold, self.nms, self.force, self.topk = threshold, nms, force, topk

    def detections(self, probability: Array, boxes: Array) -> Array:
        """Return the rows (class, score, box) of one image."""
        score, kind = jnp.max(probability[1:], 0), jnp.argmax(probability[1:], 0)
        found = score >= self.threshold
        order = jnp.argsort(~found, stable=True)
        found = found[order][:, None]
        rows = jnp.concatenate([kind[:, None].astype(boxes.dtype), score[:, None], boxes], 1)[order]
        rows = jnp.where(found, rows, -1)
        return self.thinned(rows, found[:, 0]) if 0 < self.nms <= 1 else rows

    def thinned(self, rows: Array, found: Array) -> Array:
        """Return the rows by falling score, with class -1 for those that a better one suppresses.

        Rows beyond the first `topk` are unchanged, as in MXNet.
        """
        n = len(rows)
        count = min(self.topk, n) if self.topk > 0 else n
        by_score = rows[jnp.argsort(jnp.where(found, rows[:, 1], -jnp.inf), descending=True, stable=True)]
        positions = jnp.arange(n)
        rows = jnp.where((positions < count)[:, None], by_score, rows)
        alive = found & (positions < count)
        # MXNet also removes a box whose overlap equals the threshold.
        below = np.nextafter(np.float32(self.nms), np.float32(0))
        alive = suppressed(rows[:, 2:], alive, None if self.force else rows[:, 0], float(below), count)
        return rows.at[:, 0].set(jnp.where(alive, rows[:, 0], -1))


@register(moving=("threshold",), amp="float32", gradient=NONE)
def multibox_detection(
    cls_prob: Array,
    loc_pred: Array,
    anchor: Array,
    *,
    clip: bool = True,
    threshold: float = 0.01,
    background_id: int = 0,
    nms_threshold: float = 0.5,
    force_suppress: bool = False,
    variances: Numbers = (0.1, 0.1, 0.2, 0.2),
    nms_topk: int = -1,
) -> Array:
    """Return the detections of a single-shot detector. No gradient.

    Parameters
    ----------
    cls_prob : array, shape (batch, classes + 1, n)
        Probabilities, the background's first.
    loc_pred : array, shape (batch, n * 4)
    anchor : array, shape (1, n, 4)
    clip : bool
        Whether to cut boxes at the image's border.
    threshold : float
        Less probable boxes are left out.
    background_id : int
        Ignored, as in MXNet: the background is class 0.
    nms_threshold : float
        A box that overlaps a more probable one of its class by so much is removed; nothing is removed, nor sorted,
        outside of (0, 1].
    force_suppress : bool
        Whether also boxes of other classes remove it.
    variances : sequence of 4 floats
        The factors of the regression.
    nms_topk : int
        If positive, how many of the most probable boxes stay.

    Returns
    -------
    array, shape (batch, n, 6)
        Class (without the background, -1 for a row to be skipped), probability and corners.

    Raises
    ------
    ShapeError
        If the shapes do not fit.

    Examples
    --------
    >>> from gluonx import np, npx
    >>> npx.multibox_detection(
    ...     np.array([[[0.2], [0.8]]]), np.zeros((1, 4)), np.array([[[0.1, 0.1, 0.5, 0.5]]])
    ... ).tolist()
    [[[0.0, 0.8, 0.1, 0.1, 0.5, 0.5]]]
    """
    name = "multibox_detection"
    n = anchor.shape[1] if anchor.ndim == 3 else -1
    fits = cls_prob.ndim == 3 and cls_prob.shape[2] == n and anchor.shape[::2] == (1, 4) and cls_prob.shape[1] > 1
    if not fits or loc_pred.shape != (cls_prob.shape[0], n * 4):
        raise ShapeError(
            f"{name}: cls_prob must be (batch, 2 classes or more, n), loc_pred (batch, n * 4), anchor (1, n, 4), but "
            f"they have shapes {cls_prob.shape}, {loc_pred.shape}, {anchor.shape}."
        )
    cls_prob, loc_pred, anchor = (lax.stop_gradient(x) for x in (cls_prob, loc_pred, anchor))
    scale = jnp.asarray(_numbers(variances, 4, name, "variances"), loc_pred.dtype)
    boxes = decoded(loc_pred.reshape(-1, n, 4) * scale[None, None], centers(anchor))
    boxes = jnp.clip(boxes, 0, 1) if clip else boxes
    return jax.vmap(_Filter(threshold, nms_threshold, force_suppress, nms_topk).detections)(cls_prob, boxes)
