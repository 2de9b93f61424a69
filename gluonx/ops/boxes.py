"""Boxes of object detection: their overlap, their suppression, their coding against anchors, and their matching.

A box in ``corner`` format is (left, top, right, bottom), in ``center`` format (x, y, width, height). All shapes are
static, as XLA needs them: a removed box stays as a row of -1. Where boxes must be processed one after the other, the
loop runs over their positions, each turn vectorized over the rest, so memory stays linear in the number of boxes.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import Array, lax

from gluonx.errors import ShapeError
from gluonx.ops.common import choose
from gluonx.ops.registry import NONE, SAME, register

_FORMATS = {"corner": False, "center": True}


def _is_center(value: str, name: str, attribute: str) -> bool:
    return choose(_FORMATS, value, name, attribute)


def _corners(boxes: Array) -> Array:
    """Return boxes in corner format from those in center format."""
    middle, half = boxes[..., :2], boxes[..., 2:] / 2
    return jnp.concatenate([middle - half, middle + half], -1)


def centers(boxes: Array) -> Array:
    """Return boxes in center format from those in corner format."""
    low, high = boxes[..., :2], boxes[..., 2:]
    return jnp.concatenate([(low + high) / 2, high - low], -1)


def _area(boxes: Array) -> Array:
    """Return the area; 0 for a box whose corners are swapped in one direction or both."""
    return jnp.prod(jnp.maximum(boxes[..., 2:] - boxes[..., :2], 0), -1)


def iou(first: Array, second: Array) -> Array:
    """Return the intersection over union of boxes in corner format, elementwise after broadcasting.

    It is 0 if the union is empty.
    """
    low = jnp.maximum(first[..., :2], second[..., :2])
    high = jnp.minimum(first[..., 2:], second[..., 2:])
    common = jnp.prod(jnp.maximum(high - low, 0), -1)
    union = _area(first) + _area(second) - common
    return jnp.where(union > 0, common / jnp.where(union > 0, union, 1), 0)


@register(amp="widest", gradient=NONE)
def box_iou(lhs: Array, rhs: Array, *, format: str = "corner") -> Array:
    """Return the overlap (intersection over union) of each box of `lhs` with each of `rhs`; it has no gradient.

    Parameters
    ----------
    lhs : array, shape (..., 4)
    rhs : array, shape (..., 4)
    format : {'corner', 'center'}
        (left, top, right, bottom) or (x, y, width, height).

    Returns
    -------
    array, shape lhs.shape[:-1] + rhs.shape[:-1]

    Raises
    ------
    ShapeError
        If an array has less than two axes, or a last axis of other than 4.

    Examples
    --------
    >>> from gluonx import np, npx
    >>> npx.box_iou(np.array([[0.0, 0.0, 2.0, 2.0]]), np.array([[1.0, 0.0, 3.0, 2.0]])).tolist()
    [[0.3333]]
    """
    for what, x in (("lhs", lhs), ("rhs", rhs)):
        if x.ndim < 2 or x.shape[-1] != 4:
            raise ShapeError(f"box_iou: {what} must have two axes or more, the last of 4 numbers, not {x.shape}.")
    if _is_center(format, "box_iou", "format"):
        lhs, rhs = _corners(lhs), _corners(rhs)
    first = lhs.reshape(*lhs.shape[:-1], *[1] * (rhs.ndim - 1), 4)
    second = rhs.reshape(*[1] * (lhs.ndim - 1), *rhs.shape)
    return lax.stop_gradient(iou(first, second))


def suppressed(boxes: Array, alive: Array, classes: Array | None, threshold: float, count: int) -> Array:
    """Return which of some boxes, sorted by falling score, outlive non-maximum suppression.

    Parameters
    ----------
    boxes : array, shape (n, 4)
        In corner format.
    alive : bool array, shape (n,)
        The boxes that take part.
    classes : array, shape (n,), or None
        Boxes suppress only boxes of their class; all boxes if None.
    threshold : float
        An overlap above it removes the later box.
    count : int
        How many of the first boxes may suppress others.
    """
    positions = jnp.arange(boxes.shape[0])

    def visit(i: Array, alive: Array) -> Array:
        hit = (iou(boxes[i][None], boxes) > threshold) & (positions > i) & alive[i]
        if classes is not None:
            hit &= classes == classes[i]
        return alive & ~hit

    return lax.fori_loop(0, count, visit, alive)


class _Columns(NamedTuple):
    """The columns of the coordinates, the score and the class (-1: none) in a row of `box_nms`."""

    start: int
    score: int
    kind: int

    def check(self, data: Array) -> None:
        if data.ndim < 2:
            raise ShapeError(
                f"box_nms: data must have two axes or more, (..., boxes, numbers a box), not {data.shape}."
            )
        width = data.shape[-1]
        if not 0 <= self.start <= width - 4:
            raise ShapeError(f"box_nms: coord_start={self.start} leaves no 4 coordinates in a row of {width} numbers.")
        named = f"score_index={self.score} or id_index={self.kind}"
        if not 0 <= self.score < width or self.kind >= width:
            raise ShapeError(f"box_nms: {named} is not a position in a row of {width} numbers.")
        taken = range(self.start, self.start + 4)
        if self.score in taken or self.kind in taken or self.score == self.kind:
            raise ShapeError(f"box_nms: with coord_start={self.start}, {named} would share a column.")

    def seen(self, rows: Array, from_center: bool, force_suppress: bool) -> tuple[Array, Array | None]:
        """Return the boxes in corner format, and the classes that keep boxes from suppressing each other."""
        boxes = rows[:, self.start : self.start + 4]
        classes = rows[:, self.kind] if self.kind >= 0 and not force_suppress else None
        return _corners(boxes) if from_center else boxes, classes

    def reformed(self, rows: Array, to_center: bool) -> Array:
        """Return the rows with their boxes in the other format.

        The gradient passes as if the format were the same, as in MXNet.
        """
        coords = slice(self.start, self.start + 4)
        boxes = lax.stop_gradient(rows[..., coords])
        moved = centers(boxes) if to_center else _corners(boxes)
        kept = lax.stop_gradient(rows[..., self.score : self.score + 1]) != -1
        return rows.at[..., coords].add(jnp.where(kept, moved - boxes, 0))


class _Rule(NamedTuple):
    """The attributes of `box_nms` that decide which rows remain."""

    overlap: float
    valid: float
    topk: int
    background: int
    force: bool

    def left(self, rows: Array, columns: _Columns, from_center: bool) -> Array:
        """Return the remaining rows of one image, by falling score, followed by rows of -1."""
        plain = lax.stop_gradient(rows)
        scores = plain[:, columns.score]
        alive = scores > self.valid
        if columns.kind >= 0:
            alive &= plain[:, columns.kind] != self.background
        order = jnp.argsort(jnp.where(alive, scores, -jnp.inf), descending=True, stable=True)
        plain, alive = plain[order], alive[order]
        count = min(self.topk, len(rows)) if self.topk > 0 else len(rows)
        boxes, classes = columns.seen(plain, from_center, self.force)
        alive = suppressed(boxes, alive & (jnp.arange(len(rows)) < count), classes, self.overlap, count)
        kept = jnp.argsort(~alive, stable=True)
        return jnp.where(alive[kept][:, None], rows[order[kept]], -1)


@register(
    moving=("overlap_thresh", "valid_thresh"),
    amp="widest",
    shape=SAME,
    gradient="through `data`, of the boxes that are kept",
    gives="input",
)
def box_nms(
    data: Array,
    *,
    overlap_thresh: float = 0.5,
    valid_thresh: float = 0.0,
    topk: int = -1,
    coord_start: int = 2,
    score_index: int = 1,
    id_index: int = -1,
    background_id: int = -1,
    force_suppress: bool = False,
    in_format: str = "corner",
    out_format: str = "corner",
) -> Array:
    """Non-maximum suppression: the boxes by falling score, without those that overlap a better one too much.

    Parameters
    ----------
    data : array, shape (..., n, numbers a box)
        Each row has a score, four coordinates, perhaps a class, and any other numbers.
    overlap_thresh : float
        A larger overlap with a better box removes a box.
    valid_thresh : float
        A box takes part if its score is larger.
    topk : int
        Only so many of the best boxes take part; all if not positive.
    coord_start, score_index, id_index : int
        The columns where the coordinates begin, of the score and of the class (-1: no class).
    background_id : int
        Boxes of this class take no part.
    force_suppress : bool
        Whether boxes of different classes suppress each other, as they do without a class.
    in_format, out_format : {'corner', 'center'}
        The format of the boxes in `data` and in the result.

    Returns
    -------
    array of the shape of `data`
        The remaining rows come first; the others hold -1. The gradient of a row goes to the row of `data` that it was.

    Raises
    ------
    ShapeError
        If the columns do not exist or are the same.

    Examples
    --------
    >>> from gluonx import np, npx
    >>> npx.box_nms(np.array([[0, 0.9, 0, 0, 2, 2], [0, 0.8, 0, 0, 2, 2.1]])).tolist()
    [[0.0, 0.9, 0.0, 0.0, 2.0, 2.0], [-1.0, -1.0, -1.0, -1.0, -1.0, -1.0]]
    """
    columns = _Columns(coord_start, score_index, id_index)
    columns.check(data)
    rule = _Rule(overlap_thresh, valid_thresh, topk, background_id, force_suppress)
    from_center = _is_center(in_format, "box_nms", "in_format")
    to_center = _is_center(out_format, "box_nms", "out_format")
    if data.size == 0:
        return data
    left = jax.vmap(lambda rows: rule.left(rows, columns, from_center))
    out = left(data.reshape(-1, *data.shape[-2:])).reshape(data.shape)
    return out if from_center == to_center else columns.reformed(out, to_center)


# -- coding against anchors -----------------------------------------------------------------------------------------


def encoded(boxes: Array, anchors: Array) -> Array:
    """Return boxes relative to anchors, both in center format: shift by size, and logarithm of the ratio of sizes."""
    shift = (boxes[..., :2] - anchors[..., :2]) / anchors[..., 2:]
    return jnp.concatenate([shift, jnp.log(boxes[..., 2:] / anchors[..., 2:])], -1)


def decoded(coded: Array, anchors: Array, clip: float = 0.0) -> Array:
    """Return the boxes, in corner format, from which `encoded` made `coded`.

    `clip`, if positive, bounds the logarithm.
    """
    middle = coded[..., :2] * anchors[..., 2:] + anchors[..., :2]
    grown = jnp.minimum(coded[..., 2:], clip) if clip > 0 else coded[..., 2:]
    half = jnp.exp(grown) * anchors[..., 2:] / 2
    return jnp.concatenate([middle - half, middle + half], -1)


@register(nout=2, amp="widest", gradient=NONE)
def box_encode(
    samples: Array, matches: Array, anchors: Array, refs: Array, means: Array, stds: Array
) -> tuple[Array, Array]:
    """Return the targets of a detector's regression: matched boxes as seen from their anchors. No gradient.

    Parameters
    ----------
    samples : array, shape (batch, n)
        1 (above 0.5) for an anchor that has a box, else 0 or -1.
    matches : array, shape (batch, n)
        The number of the matched box in `refs`.
    anchors : array, shape (batch, n, 4)
    refs : array, shape (batch, m, 4)
        Both in corner format.
    means, stds : array, shape (4,)
        `means` are subtracted from the targets, which are then divided by `stds`.

    Returns
    -------
    targets, masks : array, shape (batch, n, 4)
        Shift of the center relative to the anchor's size, logarithm of the ratio of sizes; 0 without a box. The mask
        is 1 with a box, else 0.

    Examples
    --------
    >>> from gluonx import np, npx
    >>> [
    ...     part.shape
    ...     for part in npx.box_encode(
    ...         np.ones((1, 3)),
    ...         np.zeros((1, 3)),
    ...         np.ones((1, 3, 4)),
    ...         np.ones((1, 2, 4)),
    ...         np.zeros(4),
    ...         np.ones(4),
    ...     )
    ... ]
    [(1, 3, 4), (1, 3, 4)]
    """
    if refs.ndim != 3 or anchors.ndim != 3 or samples.shape != matches.shape or samples.ndim != 2:
        raise ShapeError(
            f"box_encode: samples {samples.shape} and matches {matches.shape} must be (batch, n), anchors "
            f"{anchors.shape} (batch, n, 4) and refs {refs.shape} (batch, m, 4)."
        )
    position = jnp.clip(matches.astype(jnp.int32), 0, refs.shape[1] - 1)
    coded = encoded(centers(jnp.take_along_axis(refs, position[..., None], 1)), centers(anchors))
    has = jnp.broadcast_to((samples > 0.5)[..., None], coded.shape)
    shape = (1, 1, 4)
    targets = jnp.where(has, (coded - means.reshape(shape)) / stds.reshape(shape), 0)
    return lax.stop_gradient(targets), lax.stop_gradient(has.astype(targets.dtype))


@register(moving=("std0", "std1", "std2", "std3"), amp="widest", gradient=NONE)
def box_decode(
    data: Array,
    anchors: Array,
    *,
    std0: float = 1.0,
    std1: float = 1.0,
    std2: float = 1.0,
    std3: float = 1.0,
    clip: float = -1.0,
    format: str = "center",
) -> Array:
    """Boxes from a detector's regression, in corner format; the inverse of `box_encode`. No gradient.

    Parameters
    ----------
    data : array, shape (batch, n, 4)
    anchors : array, shape (1, n, 4)
        In the format that `format` says.
    std0, std1, std2, std3 : float
        The factors of the four numbers of `data`.
    clip : float
        If positive, an upper bound of the logarithm of the ratio of sizes.
    format : {'center', 'corner'}
        The format of the anchors.

    Returns
    -------
    array, shape (batch, n, 4)

    Examples
    --------
    >>> from gluonx import np, npx
    >>> npx.box_decode(
    ...     np.zeros((1, 1, 4)), np.array([[[0.0, 0.0, 2.0, 4.0]]]), format="corner"
    ... ).tolist()
    [[[0.0, 0.0, 2.0, 4.0]]]
    """
    if data.ndim != 3 or anchors.ndim != 3 or data.shape[1:] != anchors.shape[1:] or data.shape[-1] != 4:
        raise ShapeError(
            f"box_decode: data {data.shape} must be (batch, n, 4) and anchors {anchors.shape} (1, n, 4), with one n."
        )
    at = anchors if _is_center(format, "box_decode", "format") else centers(anchors)
    scaled = data * jnp.asarray([std0, std1, std2, std3], data.dtype)[None, None]
    return lax.stop_gradient(decoded(scaled, at, clip))


# -- matching -------------------------------------------------------------------------------------------------------


def _match(scores: Array, is_ascend: bool, threshold: float, turns: int) -> tuple[Array, Array]:
    """Return `bipartite_matching` of one matrix; each turn takes the best remaining pair."""
    rows, columns = scores.shape
    worst = jnp.inf if is_ascend else -jnp.inf
    best_of = jnp.argmin if is_ascend else jnp.argmax
    usable = (scores < threshold) if is_ascend else (scores > threshold)
    row_of, column_of = jnp.arange(rows)[:, None], jnp.arange(columns)[None]

    def turn(_: Array, state: tuple[Array, Array, Array]) -> tuple[Array, Array, Array]:
        left, by_row, by_column = state
        best = best_of(left)
        row, column = best // columns, best % columns
        found = left.reshape(-1)[best] != worst
        by_row = jnp.where(found & (row_of[:, 0] == row), column, by_row)
        by_column = jnp.where(found & (column_of[0] == column), row, by_column)
        return jnp.where((row_of == row) | (column_of == column), worst, left), by_row, by_column

    none = (jnp.full(rows, -1), jnp.full(columns, -1))
    _, by_row, by_column = lax.fori_loop(0, turns, turn, (jnp.where(usable, scores, worst), *none))
    return by_row.astype(scores.dtype), by_column.astype(scores.dtype)


@register(nout=2, moving=("threshold",), gradient=NONE, gives="input")
def bipartite_matching(
    data: Array, *, is_ascend: bool = False, threshold: float, topk: int = -1
) -> tuple[Array, Array]:
    """Pairs of rows and columns, taken greedily by the best score that is left. No gradient.

    Parameters
    ----------
    data : array, shape (..., rows, columns)
        The scores.
    is_ascend : bool
        Whether small scores are the better ones.
    threshold : float
        A pair needs a larger score (a smaller one with `is_ascend`).
    topk : int
        If positive, ``topk + 1`` pairs at most (MXNet counts so).

    Returns
    -------
    by_row : array, shape (..., rows)
        The column that is paired with each row, or -1.
    by_column : array, shape (..., columns)

    Examples
    --------
    >>> from gluonx import np, npx
    >>> [
    ...     part.tolist()
    ...     for part in npx.bipartite_matching(np.array([[0.9, 0.1], [0.8, 0.7]]), threshold=0.5)
    ... ]
    [[0.0, 1.0], [0.0, 1.0]]
    """
    if data.ndim < 2:
        raise ShapeError(
            f"bipartite_matching: data must have two axes or more, (..., rows, columns), not {data.shape}."
        )
    *batch, rows, columns = data.shape
    if data.size == 0:
        return jnp.full((*batch, rows), -1, data.dtype), jnp.full((*batch, columns), -1, data.dtype)
    turns = min(rows, columns, topk + 1 if topk > 0 else rows)
    flat = lax.stop_gradient(data).reshape(math.prod(batch), rows, columns)
    by_row, by_column = jax.vmap(lambda scores: _match(scores, is_ascend, threshold, turns))(flat)
    return by_row.reshape(*batch, rows), by_column.reshape(*batch, columns)
