"""Metric updates as operators: ``(state, label, pred) -> state``, so that measuring a batch is one node of the graph.

A state is a float32 array of shape ``(2, k)``: ``k`` running totals, and below each its rounding error (compensated
summation). Counts are thus exact up to 2**48 and a sum over a long epoch does not drift, without 64-bit arithmetic on
the device. The true totals are the sum of the two rows, which the host takes in double precision.

No gradient flows through a metric.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jax import Array, lax

from gluonx.errors import ShapeError
from gluonx.ops.registry import NONE, SAME, register


def _add(state: Array, *totals: Array) -> Array:
    """Add to each running total; the rounding error of the addition is kept in the second row."""
    more = jnp.concatenate([jnp.ravel(t).astype(jnp.float32) for t in totals])
    total, lost = state
    grown = total + more
    part = grown - total
    lost = lost + ((total - (grown - part)) + (more - part))
    return lax.stop_gradient(jnp.stack([grown, lost]))


def _float(x: Array) -> Array:
    return lax.stop_gradient(x).astype(jnp.float32)


def _same_shape(label: Array, pred: Array) -> None:
    if label.shape != pred.shape:
        raise ShapeError(f"label and prediction must have the same shape, but have {label.shape} and {pred.shape}.")


def _same_count(label: Array, pred: Array, was: tuple[int, ...]) -> None:
    if label.size != pred.size:
        raise ShapeError(
            f"label of shape {label.shape} does not match a prediction of shape {was}: "
            f"{label.size} labels for {pred.size} predictions."
        )


def _classes(label: Array, pred: Array, axis: int) -> tuple[Array, Array]:
    """Return the true and the predicted class at each position, flat."""
    was = pred.shape
    if pred.shape != label.shape:
        if not -pred.ndim <= axis < pred.ndim:
            raise ShapeError(f"axis={axis} does not exist in a prediction of shape {was}.")
        pred = pred.argmax(axis)
    _same_count(label, pred, was)
    return label.astype(jnp.int32).ravel(), pred.astype(jnp.int32).ravel()


@register(shape=SAME, gradient=NONE)
def metric_accuracy(
    state: Array, label: Array, pred: Array, *, axis: int = 1, ignore_label: int | None = None
) -> Array:
    """Count the positions where the class predicted (the largest along ``axis``) is the label.

    With `ignore_label` positions of that label are left out, and the second total counts the others.

    Examples
    --------
    >>> from gluonx import np, npx
    >>> npx.metric_accuracy(
    ...     np.zeros((2, 1)), np.array([1, 0]), np.array([[0.2, 0.8], [0.3, 0.7]])
    ... ).tolist()
    [[1.0], [0.0]]
    """
    true, guess = _classes(label, pred, axis)
    return _add_kept(state, true == guess, true, ignore_label)


def _add_kept(state: Array, right: Array, true: Array, ignore_label: int | None) -> Array:
    if ignore_label is None:
        return _add(state, right.sum())
    kept = true != ignore_label
    return _add(state, (right & kept).sum(), kept.sum())


@register(shape=SAME, gradient=NONE)
def metric_top_k(state: Array, label: Array, pred: Array, *, top_k: int, ignore_label: int | None = None) -> Array:
    """Count the rows whose label is among the ``top_k`` classes predicted as the likeliest.

    `ignore_label` is as in `metric_accuracy`.

    Parameters
    ----------
    top_k
        How many of the likeliest classes count.

    Examples
    --------
    >>> from gluonx import np, npx
    >>> npx.metric_top_k(
    ...     np.zeros((2, 1)), np.array([1, 0]), np.array([[0.2, 0.5, 0.3], [0.1, 0.5, 0.4]]), top_k=2
    ... ).tolist()
    [[1.0], [0.0]]
    """
    if pred.ndim != 2:
        raise ShapeError(f"top-k accuracy needs predictions of shape (samples, classes), not {pred.shape}.")
    if label.size != len(pred):
        raise ShapeError(f"{label.size} labels came for {len(pred)} predictions.")
    # Of equal scores the last one wins, as in MXNet; lax.top_k takes the first.
    best = pred.shape[1] - 1 - lax.top_k(jnp.flip(_float(pred), 1), min(top_k, pred.shape[1]))[1]
    true = label.astype(jnp.int32).ravel()
    return _add_kept(state, (best == true[:, None]).any(1), true, ignore_label)


@register(shape=SAME, gradient=NONE)
def metric_binary_accuracy(state: Array, label: Array, pred: Array, threshold: Array) -> Array:
    """Count the positions where ``pred > threshold`` is the label.

    Examples
    --------
    >>> from gluonx import np, npx
    >>> npx.metric_binary_accuracy(
    ...     np.zeros((2, 1)), np.array([1, 0]), np.array([0.9, 0.8]), threshold=0.5
    ... ).tolist()
    [[1.0], [0.0]]
    """
    guess = pred > _fit(threshold, pred)
    _same_count(label, guess, pred.shape)
    return _add(state, (guess.ravel() == label.astype(jnp.int32).ravel()).sum())


def _fit(threshold: Array, pred: Array) -> Array:
    """Return a threshold for all, or one for each class in the last axis."""
    threshold = jnp.asarray(threshold, pred.dtype)
    if threshold.ndim and threshold.shape != pred.shape[-1:]:
        raise ShapeError(f"{threshold.shape} thresholds came for predictions of shape {pred.shape}.")
    return threshold.reshape((1,) * (pred.ndim - threshold.ndim) + threshold.shape)


@register(shape=SAME, gradient=NONE)
def metric_error(
    state: Array, label: Array, pred: Array, *, power: int = 1, whole: bool = False, root: bool = False
) -> Array:
    """Add each sample's mean absolute (``power=1``) or squared (``power=2``) difference; a vector is one column.

    With `whole`, add the mean over the batch, or with `root` too the root of that.

    Parameters
    ----------
    power
        1 for absolute, 2 for squared differences.
    whole
        Whether to add the mean over the batch, and not each sample's. A label may be broadcast then, as in MXNet 1.
    root
        With `whole`, whether to add the root of the mean.

    Examples
    --------
    >>> from gluonx import np, npx
    >>> npx.metric_error(np.zeros((2, 1)), np.array([1.0, 2.0]), np.array([1.5, 2.0])).tolist()
    [[0.5], [0.0]]
    """
    label, pred = [x.reshape(-1, 1) if x.ndim == 1 else x for x in (label, pred)]
    if not (whole and label.ndim == pred.ndim and all(1 in (a, b) or a == b for a, b in zip(label.shape, pred.shape))):
        _same_shape(label, pred)
    gap = jnp.abs(_float(label) - _float(pred)) ** power
    if whole:
        return _add(state, jnp.sqrt(gap.mean()) if root else gap.mean())
    return _add(state, gap.mean(tuple(range(1, gap.ndim))).sum())


@register(moving=("p",), shape=SAME, gradient=NONE)
def metric_distance(state: Array, label: Array, pred: Array, *, p: float = 2) -> Array:
    """Add each sample's distance in the p-norm.

    Parameters
    ----------
    p
        The order of the norm.

    Examples
    --------
    >>> from gluonx import np, npx
    >>> npx.metric_distance(np.zeros((2, 1)), np.array([[1.0, 1.0]]), np.array([[1.0, 3.0]])).tolist()
    [[2.0], [0.0]]
    """
    _same_shape(label, pred)
    gap = jnp.abs(_float(label) - _float(pred))
    return _add(state, ((gap**p).sum(tuple(range(1, gap.ndim))) ** (1.0 / p)).sum())


@register(moving=("eps",), shape=SAME, gradient=NONE)
def metric_cosine(state: Array, label: Array, pred: Array, *, eps: float = 1e-8) -> Array:
    """Add the cosine of label and prediction along the last axis.

    Examples
    --------
    >>> from gluonx import np, npx
    >>> npx.metric_cosine(np.zeros((2, 1)), np.array([[1.0, 0.0]]), np.array([[1.0, 1.0]])).tolist()
    [[0.7071], [0.0]]
    """
    _same_shape(label, pred)
    a, b = _float(label), _float(pred)
    norms = jnp.linalg.norm(a, axis=-1) * jnp.linalg.norm(b, axis=-1)
    return _add(state, ((a * b).sum(-1) / jnp.maximum(norms, eps)).sum())


@register(moving=("eps",), shape=SAME, gradient=NONE)
def metric_cross_entropy(
    state: Array,
    label: Array,
    pred: Array,
    *,
    axis: int = -1,
    eps: float = 1e-12,
    ignore_label: int | None = None,
    from_logits: bool = False,
) -> Array:
    """Add the negative log-likelihood of the labels, and how many were counted (two totals).

    Examples
    --------
    >>> from gluonx import np, npx
    >>> npx.metric_cross_entropy(np.zeros((2, 2)), np.array([1]), np.array([[0.25, 0.75]])).tolist()
    [[0.2877, 1.0], [0.0, 0.0]]
    """
    probs = jnp.moveaxis(_float(pred), axis, -1)
    if label.size * probs.shape[-1] != probs.size:
        raise ShapeError(f"labels of shape {label.shape} do not fit predictions of shape {pred.shape} (axis={axis}).")
    if from_logits:
        probs = jax.nn.softmax(probs, axis=-1)
    flat, rows = label.ravel(), probs.reshape(-1, probs.shape[-1])
    index = jnp.clip(flat.astype(jnp.int32), 0, rows.shape[1] - 1)
    cost = -jnp.log(jnp.maximum(jnp.take_along_axis(rows, index[:, None], 1), eps)).ravel()
    if ignore_label is None:
        return _add(state, cost.sum(), jnp.float32(flat.size))
    counted = flat != ignore_label
    return _add(state, jnp.where(counted, cost, 0).sum(), counted.sum())


@register(shape=SAME, gradient=NONE)
def metric_sum(state: Array, pred: Array) -> Array:
    """Add every element.

    Examples
    --------
    >>> from gluonx import np, npx
    >>> npx.metric_sum(np.zeros((2, 1)), np.array([1.0, 3.0])).tolist()
    [[4.0], [0.0]]
    """
    return _add(state, _float(pred).sum())


@register(shape=SAME, gradient=NONE)
def metric_counts(state: Array, label: Array, pred: Array, threshold: Array, *, class_type: str = "binary") -> Array:
    """Count true and false positives and negatives of each class, and the labels that are out of range.

    The totals are ``classes`` times tp, fp, fn and tn, in this order, and last the number of labels out of range.

    Parameters
    ----------
    class_type
        'binary', 'multiclass' or 'multilabel'.

    Examples
    --------
    >>> from gluonx import np, npx
    >>> npx.metric_counts(np.zeros((2, 5)), np.array([1, 0]), np.array([0.9, 0.8]), threshold=0.5)[
    ...     0
    ... ].tolist()
    [1.0, 1.0, 0.0, 0.0, 0.0]
    """
    true, guess, strays = _one_hot(label.astype(jnp.int32), pred, threshold, class_type)
    hits, misses = true == 1, true == 0
    return _add(
        state,
        (guess & hits).sum(0),
        (guess & misses).sum(0),
        (~guess & hits).sum(0),
        (~guess & misses).sum(0),
        strays.sum(),
    )


def _one_hot(label: Array, pred: Array, threshold: Array, class_type: str) -> tuple[Array, Array, Array]:
    """Return labels and decisions as (positions, classes), and a mask of the labels that are no class."""
    was = pred.shape
    if class_type == "binary":
        if pred.shape != label.shape and pred.shape[-1] > 2:
            raise ShapeError(f"a prediction of shape {was} is not binary: its last axis may be 1 or 2 long.")
        if pred.shape != label.shape and pred.shape[-1] == 2:
            pred = pred.reshape(-1, 2)[:, 1]
        _same_count(label, pred, was)
        guess = (pred > _fit(threshold, pred)).reshape(-1, 1)
        return label.reshape(-1, 1), guess, label > 1
    classes = pred.shape[-1]
    if class_type == "multilabel":
        _same_shape(label, pred)
        guess = pred > _fit(threshold, pred)
        return label.reshape(-1, classes), guess.reshape(-1, classes), label > 1
    best = pred.argmax(-1)
    _same_count(label, best, was)
    positions = jnp.arange(classes, dtype=jnp.int32)[None, :]
    return (label.reshape(-1, 1) == positions).astype(jnp.int32), best.reshape(-1, 1) == positions, label >= classes


@register(shape=SAME, gradient=NONE)
def metric_confusion(state: Array, label: Array, pred: Array, *, classes: int) -> Array:
    """Count each pair of predicted (rows) and true (columns) class, as ``classes ** 2`` totals.

    Parameters
    ----------
    classes
        The number of classes.

    Examples
    --------
    >>> from gluonx import np, npx
    >>> npx.metric_confusion(
    ...     np.zeros((2, 4)), np.array([1, 0]), np.array([[0.2, 0.8], [0.3, 0.7]]), classes=2
    ... ).tolist()
    [[0.0, 0.0, 1.0, 1.0], [0.0, 0.0, 0.0, 0.0]]
    """
    true, guess = _classes(label, pred, 1)
    positions = jnp.arange(classes, dtype=jnp.int32)
    rows = (guess[:, None] == positions[None, :]).astype(jnp.float32)
    columns = (true[:, None] == positions[None, :]).astype(jnp.float32)
    return _add(state, jnp.matmul(rows.T, columns, precision=lax.Precision.HIGHEST))


@register(shape=SAME, gradient=NONE)
def metric_pearson(state: Array, label: Array, pred: Array) -> Array:
    """Merge a batch into count, means, squared deviations and co-deviation of label and prediction.

    The state is ``(n, mean label, mean pred, deviation label, deviation pred, co-deviation)``: centred moments, merged
    by the rule of Chan, Golub and LeVeque, because differences of raw moments cancel.

    Examples
    --------
    >>> from gluonx import np, npx
    >>> npx.metric_pearson(np.zeros(6), np.array([1.0, 2.0]), np.array([1.5, 2.0])).tolist()
    [2.0, 1.5, 1.75, 0.5, 0.125, 0.25]
    """
    _same_shape(label, pred)
    a, b = _float(label).ravel(), _float(pred).ravel()
    n, mean_a, mean_b, dev_a, dev_b, both = state
    m = a.size
    own_a, own_b = a.mean(), b.mean()
    gap_a, gap_b, scale = own_a - mean_a, own_b - mean_b, n * m / (n + m)
    a, b = a - own_a, b - own_b
    return jnp.stack(
        [
            n + m,
            mean_a + gap_a * m / (n + m),
            mean_b + gap_b * m / (n + m),
            dev_a + (a * a).sum() + gap_a * gap_a * scale,
            dev_b + (b * b).sum() + gap_b * gap_b * scale,
            both + (a * b).sum() + gap_a * gap_b * scale,
        ]
    )
