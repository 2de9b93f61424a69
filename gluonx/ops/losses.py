"""Losses as operators: each is one pure function, so that a loss is one node of the recorded graph.

All follow one scheme. An element-wise penalty of prediction and label is multiplied by ``sample_weight`` (an array that
broadcasts to it) and by ``weight`` (a number), then averaged over every axis but ``batch_axis``: one value a sample
remains. Labels may have another shape than the prediction as long as they hold as many elements.

Half-precision predictions are widened to float32 inside and narrowed at the end, since a sum over a large vocabulary in
float16 would be too inexact.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
from jax import Array

from gluonx.errors import ShapeError
from gluonx.ops.checks import Attrs, Bounds, Index, Operands, along_axis, shape_of
from gluonx.ops.cpu.convolution import on_cpu
from gluonx.ops.elementwise import absolute
from gluonx.ops.registry import register

_TINY = 1e-12  # keeps logarithms and quotients finite, as in MXNet


def _wide(x: Array) -> Array:
    """Return the array in a type for sums: half precision and integers become float32."""
    x = jnp.asarray(x)
    if not jnp.issubdtype(x.dtype, jnp.floating) or x.dtype.itemsize < 4:
        return x.astype(jnp.float32)
    return x


def _result_dtype(pred: Array) -> jnp.dtype:
    return pred.dtype if jnp.issubdtype(pred.dtype, jnp.floating) else jnp.dtype(jnp.float32)


def _like(label: Array, pred: Array, name: str = "label") -> Array:
    """Return the label in the shape of the prediction."""
    if label.shape == pred.shape:
        return label
    if label.size != pred.size:
        raise ShapeError(
            f"{name} has shape {label.shape} ({label.size} elements) and cannot take the shape of the prediction, "
            f"{pred.shape} ({pred.size} elements)."
        )
    return label.reshape(pred.shape)


def _pair(pred: Array, label: Array) -> tuple[Array, Array]:
    return _wide(pred), _wide(_like(label, pred))


def _weighted(loss: Array, sample_weight: Array | None, weight: float | None) -> Array:
    if sample_weight is not None:
        # As in MXNet the two broadcast against each other; the following mean includes axes that the weights add.
        if not _broadcasts(sample_weight.shape, loss.shape):
            raise ShapeError(
                f"sample_weight has shape {sample_weight.shape} and cannot be broadcast to the loss, which has shape "
                f"{loss.shape} before the mean; give one weight a sample as {loss.shape[:1] + (1,) * (loss.ndim - 1)}."
            )
        loss = loss * _wide(sample_weight)
    return loss if weight is None else loss * weight


def _broadcasts(shape: tuple[int, ...], other: tuple[int, ...]) -> bool:
    return all(1 in (a, b) or a == b for a, b in zip(shape[::-1], other[::-1]))


def _other_axes(x: Array, batch_axis: int) -> tuple[int, ...]:
    """Return every axis but the batch axis; none for a scalar."""
    if x.ndim == 0:
        return ()
    if not -x.ndim <= batch_axis < x.ndim:
        raise ShapeError(f"batch_axis={batch_axis} does not exist in a loss of shape {x.shape}.")
    return tuple(axis for axis in range(x.ndim) if axis != batch_axis % x.ndim)


def _finish(
    loss: Array,
    pred: Array,
    sample_weight: Array | None,
    weight: float | None,
    batch_axis: int,
    kept: Array | None = None,
) -> Array:
    """Weight the penalty, average it for each sample over the positions in `kept`, and return the prediction's type."""
    loss = _weighted(loss, sample_weight, weight)
    axes = _other_axes(loss, batch_axis)
    if kept is None:
        return loss.mean(axes).astype(_result_dtype(pred))
    kept = jnp.broadcast_to(kept, loss.shape)
    total, count = jnp.where(kept, loss, 0).sum(axes), kept.sum(axes)
    return (total / jnp.maximum(count, 1)).astype(_result_dtype(pred))


def _pick(x: Array, label: Array, axis: int) -> Array:
    """Return ``x`` at the label's position along an axis, which is kept with length 1; labels out of range are clipped.

    It compares with the positions instead of gathering, which XLA fuses and whose gradient needs no scatter. On a CPU
    the gather is faster in the forward, so there only the gradient uses the comparison.
    """
    axis %= x.ndim
    kept = x.shape[:axis] + (1,) + x.shape[axis + 1 :]
    if label.size != math.prod(kept):
        raise ShapeError(
            f"a sparse label of shape {label.shape} does not fit a prediction of shape {x.shape}: it needs one class "
            f"index for each position but along axis {axis}, that is {x.shape[:axis] + x.shape[axis + 1 :]}. "
            "Is the label one-hot (sparse_label=False)?"
        )
    index = jnp.clip(label.astype(jnp.int32), 0, x.shape[axis] - 1).reshape(kept)
    return _at(x, index, axis)


@functools.partial(jax.custom_jvp, nondiff_argnums=(2,))
def _at(x: Array, index: Array, axis: int) -> Array:
    return on_cpu(
        lambda x, index: jnp.take_along_axis(x, index, axis), lambda x, index: _compared(x, index, axis), x, index
    )


@_at.defjvp
def _(axis: int, primals: tuple[Array, Array], tangents: tuple[Array, Any]) -> tuple[Array, Array]:
    return _at(*primals, axis), _compared(tangents[0], primals[1], axis)


def _compared(x: Array, index: Array, axis: int) -> Array:
    positions = jax.lax.broadcasted_iota(jnp.int32, x.shape, axis)
    return jnp.where(positions == index, x, 0).sum(axis, keepdims=True)


@register(moving=("weight",), amp="float32", shape="(batch,)")
def l2_loss(
    pred: Array, label: Array, sample_weight: Array | None = None, *, weight: float | None = 1.0, batch_axis: int = 0
) -> Array:
    """Half the squared difference, ``weight / 2 * (label - pred) ** 2``, averaged for each sample.

    Examples
    --------
    >>> from gluonx import np, npx
    >>> npx.l2_loss(np.array([[1.0], [3.0]]), np.array([[0.0], [1.0]])).tolist()
    [0.5, 2.0]
    """
    x, y = _pair(pred, label)
    half = 0.5 if weight is None else weight / 2
    return _finish(jnp.square(y - x), pred, sample_weight, half, batch_axis)


@register(moving=("weight",), amp="float32", shape="(batch,)")
def l1_loss(
    pred: Array, label: Array, sample_weight: Array | None = None, *, weight: float | None = None, batch_axis: int = 0
) -> Array:
    """Return the absolute difference ``|label - pred|``, averaged for each sample.

    Examples
    --------
    >>> from gluonx import np, npx
    >>> npx.l1_loss(np.array([[1.0], [3.0]]), np.array([[0.0], [1.0]])).tolist()
    [1.0, 2.0]
    """
    x, y = _pair(pred, label)
    return _finish(absolute(y - x), pred, sample_weight, weight, batch_axis)


@register(moving=("rho", "weight"), amp="float32", shape="(batch,)")
def huber_loss(
    pred: Array,
    label: Array,
    sample_weight: Array | None = None,
    *,
    rho: float = 1,
    weight: float | None = None,
    batch_axis: int = 0,
) -> Array:
    """Quadratic up to a difference of ``rho``, linear beyond, smooth where they meet.

    Parameters
    ----------
    rho
        The difference from which on the loss is linear.

    Examples
    --------
    >>> from gluonx import np, npx
    >>> npx.huber_loss(np.array([[0.5], [3.0]]), np.array([[0.0], [0.0]])).tolist()
    [0.125, 2.5]
    """
    x, y = _pair(pred, label)
    far = absolute(y - x)
    loss = jnp.where(far > rho, far - 0.5 * rho, (0.5 / rho) * jnp.square(far))
    return _finish(loss, pred, sample_weight, weight, batch_axis)


@register(moving=("margin", "weight"), amp="float32", shape="(batch,)")
def hinge_loss(
    pred: Array,
    label: Array,
    sample_weight: Array | None = None,
    *,
    margin: float = 1,
    weight: float | None = None,
    batch_axis: int = 0,
) -> Array:
    """``max(0, margin - pred * label)`` for labels of -1 and 1, averaged for each sample.

    Examples
    --------
    >>> from gluonx import np, npx
    >>> npx.hinge_loss(np.array([[0.5], [2.0]]), np.array([[1.0], [1.0]])).tolist()
    [0.5, 0.0]
    """
    x, y = _pair(pred, label)
    return _finish(jax.nn.relu(margin - x * y), pred, sample_weight, weight, batch_axis)


@register(moving=("margin", "weight"), amp="float32", shape="(batch,)")
def squared_hinge_loss(
    pred: Array,
    label: Array,
    sample_weight: Array | None = None,
    *,
    margin: float = 1,
    weight: float | None = None,
    batch_axis: int = 0,
) -> Array:
    """Return the square of the hinge loss.

    Examples
    --------
    >>> from gluonx import np, npx
    >>> npx.squared_hinge_loss(np.array([[0.5], [2.0]]), np.array([[1.0], [1.0]])).tolist()
    [0.25, 0.0]
    """
    x, y = _pair(pred, label)
    return _finish(jnp.square(jax.nn.relu(margin - x * y)), pred, sample_weight, weight, batch_axis)


def _logistic(x: Array, y: Array) -> Array:
    """Return the stable form of the logistic loss of a logit and a label in [0, 1]."""
    return jax.nn.softplus(x) - x * y


@register(moving=("weight",), amp="float32", shape="(batch,)")
def logistic_loss(
    pred: Array,
    label: Array,
    sample_weight: Array | None = None,
    *,
    label_format: str = "signed",
    weight: float | None = None,
    batch_axis: int = 0,
) -> Array:
    """``log(1 + exp(-pred * label))`` for labels of -1 and 1 ("signed"), or of 0 and 1 ("binary").

    Parameters
    ----------
    label_format
        'signed' for labels of -1 and 1, 'binary' for 0 and 1.

    Examples
    --------
    >>> from gluonx import np, npx
    >>> npx.logistic_loss(np.array([[0.0], [2.0]]), np.array([[1.0], [-1.0]])).tolist()
    [0.6931, 2.127]
    """
    x, y = _pair(pred, label)
    loss = _logistic(x, (y + 1) / 2 if label_format == "signed" else y)
    return _finish(loss, pred, sample_weight, weight, batch_axis)


@register(moving=("weight",), amp="float32", shape="(batch,)")
def sigmoid_bce_loss(
    pred: Array,
    label: Array,
    sample_weight: Array | None = None,
    pos_weight: Array | None = None,
    *,
    from_sigmoid: bool = False,
    weight: float | None = None,
    batch_axis: int = 0,
    ignore_label: float | None = None,
) -> Array:
    """Binary cross entropy of a logit, or with `from_sigmoid` of a probability; `pos_weight` scales the positives.

    Positions whose label is `ignore_label` do not count, not even in the mean.

    Parameters
    ----------
    pos_weight
        A factor for the positive class.
    from_sigmoid
        Whether the prediction is a probability, and not a logit.

    Examples
    --------
    >>> from gluonx import np, npx
    >>> npx.sigmoid_bce_loss(np.array([[0.0], [2.0]]), np.array([[1.0], [0.0]])).tolist()
    [0.6931, 2.127]
    """
    x, y = _pair(pred, label)
    if pos_weight is None:
        positive = 1.0
    elif _broadcasts(pos_weight.shape, x.shape):
        positive = _wide(pos_weight).reshape((1,) * (x.ndim - pos_weight.ndim) + pos_weight.shape)
    else:
        raise ShapeError(f"pos_weight of shape {pos_weight.shape} cannot be broadcast to the prediction, {pred.shape}.")
    if from_sigmoid:
        rest = 1 - x  # XLA would rewrite 1 - x + _TINY as (1 + _TINY) - x, which is 0 where x is 1
        rest = rest + jnp.where(rest == 0, _TINY, 0)
        loss = -(jnp.log(x + _TINY) * y * positive + jnp.log(rest) * (1 - y))
    elif pos_weight is None:
        loss = _logistic(x, y)
    else:
        log_weight = 1 + (positive - 1) * y
        loss = x - x * y + log_weight * jax.nn.softplus(-x)
    kept = None if ignore_label is None else y != ignore_label
    return _finish(loss, pred, sample_weight, weight, batch_axis, kept)


def _classes(attrs: Attrs, operands: Operands) -> Sequence[Bounds]:
    if not attrs["sparse_label"]:
        return ()
    return along_axis(1, shape_of(operands[0]), attrs["axis"], False, attrs["ignore_label"])


@register(moving=("weight",), amp="float32", index=Index(1, _classes, strict=False), shape="(batch,)")
def softmax_cross_entropy_loss(
    pred: Array,
    label: Array,
    sample_weight: Array | None = None,
    *,
    axis: int = -1,
    sparse_label: bool = True,
    from_logits: bool = False,
    weight: float | None = None,
    batch_axis: int = 0,
    ignore_label: int | None = None,
    label_smoothing: float = 0.0,
) -> Array:
    """Cross entropy between the softmax of the prediction and a label.

    The label is a class index for each position (``sparse_label``; out of range is clipped) or a distribution along
    ``axis``. With ``from_logits``, a name that MXNet chose, the prediction is a log-probability already. Positions
    whose index is `ignore_label` do not count, not even in the mean; a sample with no other position has the loss 0.
    The share `label_smoothing` of a label is spread over all classes.

    Parameters
    ----------
    label_smoothing
        The share of a label that is spread over all classes.
    sparse_label
        Whether labels are class indices, and not distributions.

    Examples
    --------
    >>> from gluonx import np, npx
    >>> npx.softmax_cross_entropy_loss(np.array([[2.0, 0.0, 0.0]]), np.array([0])).tolist()
    [0.2395]
    """
    x, kept = _wide(pred), None
    if sparse_label:
        loss = -_pick(x, label, axis)
        if label_smoothing:
            loss = (1 - label_smoothing) * loss - label_smoothing * x.mean(axis, keepdims=True)
        kept = None if ignore_label is None else (label != ignore_label).reshape(loss.shape)
        if not from_logits:
            loss = loss + jax.nn.logsumexp(x, axis=axis, keepdims=True)
    else:
        y = _wide(_like(label, pred))
        if label_smoothing:
            y = (1 - label_smoothing) * y + label_smoothing * y.sum(axis, keepdims=True) / y.shape[axis]
        logp = x if from_logits else jax.nn.log_softmax(x, axis=axis)
        loss = -(logp * y).sum(axis, keepdims=True)
    return _finish(loss, pred, sample_weight, weight, batch_axis, kept)


@register(moving=("weight",), amp="float32", shape="(batch,)")
def kl_div_loss(
    pred: Array,
    label: Array,
    sample_weight: Array | None = None,
    *,
    from_logits: bool = True,
    axis: int = -1,
    weight: float | None = None,
    batch_axis: int = 0,
    summed: bool = False,
) -> Array:
    """``label * (log(label) - pred)``, averaged for each sample; ``from_logits``: `pred` is a log-probability already.

    Without `from_logits` the log-softmax of `pred` is taken first. With `summed` the loss is the sum over a sample, as
    in MXNet 1.

    Parameters
    ----------
    summed
        Whether the loss is summed over a sample, and not averaged.

    Examples
    --------
    >>> from gluonx import np, npx
    >>> npx.kl_div_loss(np.log(np.array([[0.5, 0.5]])), np.array([[0.9, 0.1]])).tolist()
    [0.184]
    """
    if label.shape != pred.shape:
        raise ShapeError(f"label has shape {label.shape}, the prediction {pred.shape}; they must be the same.")
    x, y = _wide(pred), _wide(label)
    if not from_logits:
        x = jax.nn.log_softmax(x, axis=axis)
    loss = y * (jnp.log(y + _TINY) - x)
    if summed:
        loss = _weighted(loss, sample_weight, weight)
        return loss.sum(_other_axes(loss, batch_axis)).astype(_result_dtype(pred))
    return _finish(loss, pred, sample_weight, weight, batch_axis)


@register(moving=("epsilon", "weight"), amp="float32", shape="()")
def poisson_nll_loss(
    pred: Array,
    target: Array,
    sample_weight: Array | None = None,
    *,
    from_logits: bool = True,
    compute_full: bool = False,
    epsilon: float = 1e-8,
    weight: float | None = None,
    batch_axis: int = 0,
) -> Array:
    """Negative log likelihood of counts under a Poisson distribution; `pred` is its rate, or the logarithm of that.

    With ``compute_full`` the term that does not depend on the prediction is added, in Stirling's approximation and for
    targets above 1 only.

    Parameters
    ----------
    target
        The counts.
    compute_full
        Whether to add the term that does not depend on the prediction.

    Examples
    --------
    >>> from gluonx import np, npx
    >>> npx.poisson_nll_loss(np.array([[0.0]]), np.array([[1.0]])).tolist()
    [1.0]
    """
    x, y = _wide(pred), _wide(_like(target, pred, "target"))
    loss = jnp.exp(x) - y * x if from_logits else x - y * jnp.log(x + epsilon)
    if compute_full:
        safe = jnp.where(y > 1, y, 1)  # the logarithm of 0 would make the gradient NaN, although it is not selected
        stirling = safe * jnp.log(safe) - safe + 0.5 * jnp.log(2 * math.pi * safe)
        loss = loss + jnp.where(y > 1, stirling, 0)
    return _finish(loss, pred, sample_weight, weight, batch_axis)


@register(moving=("margin", "weight"), amp="float32", shape="(batch,)")
def triplet_loss(
    pred: Array,
    positive: Array,
    negative: Array,
    sample_weight: Array | None = None,
    *,
    margin: float = 1,
    weight: float | None = None,
    batch_axis: int = 0,
) -> Array:
    """``max(0, |positive - pred|^2 - |negative - pred|^2 + margin)``, with squared distances summed for each sample.

    Parameters
    ----------
    positive
        The embedding to be near.
    negative
        The embedding to be far from.

    Examples
    --------
    >>> from gluonx import np, npx
    >>> npx.triplet_loss(
    ...     np.array([[1.0, 0.0]]), np.array([[1.0, 0.0]]), np.array([[0.0, 0.5]])
    ... ).tolist()
    [0.0]
    """
    x = _wide(pred)
    near = jnp.square(_wide(_like(positive, pred, "positive")) - x)
    far = jnp.square(_wide(_like(negative, pred, "negative")) - x)
    loss = jax.nn.relu((near - far).sum(_other_axes(x, batch_axis)) + margin)
    return _weighted(loss, sample_weight, weight).astype(_result_dtype(pred))


@register(moving=("margin", "weight"), amp="float32", shape="(batch,)")
def cosine_embedding_loss(
    input1: Array,
    input2: Array,
    label: Array,
    sample_weight: Array | None = None,
    *,
    margin: float = 0,
    weight: float | None = None,
    batch_axis: int = 0,
) -> Array:
    """One minus the cosine of two embeddings for label 1; ``max(0, cosine - margin)`` for label -1.

    Parameters
    ----------
    input1
        The first embeddings, along the last axis.
    input2
        The second embeddings.
    margin
        The cosine up to which a pair of label -1 costs nothing.

    Examples
    --------
    >>> from gluonx import np, npx
    >>> npx.cosine_embedding_loss(
    ...     np.array([[1.0, 0.0]]), np.array([[0.0, 1.0]]), np.array([1.0])
    ... ).tolist()
    [1.0]
    """
    a, b = _wide(_like(input1, input2, "input1")), _wide(input2)
    # The norm's gradient at 0 is not finite; at a zero vector the cosine is 0 and so is its gradient.
    norms = _norm(a) * _norm(b)
    cosine = ((a * b).sum(-1) / jnp.maximum(norms, _TINY)).reshape(-1, 1)
    apart = jnp.clip(cosine - margin, 0, 1 - margin)
    loss = jnp.where(_like(label, cosine) == 1, 1 - cosine, apart)
    return _finish(loss, input1, sample_weight, weight, batch_axis)


def _norm(x: Array) -> Array:
    square = jnp.square(x).sum(-1)
    return jnp.where(square > 0, jnp.sqrt(jnp.where(square > 0, square, 1)), 0)


@register(moving=("smoothing_parameter",), amp="float32", shape="(batch,)")
def sdml_loss(x1: Array, x2: Array, *, smoothing_parameter: float = 0.3) -> Array:
    """Smoothed deep metric learning: row ``i`` of ``x1`` belongs to row ``i`` of ``x2``, all other rows do not.

    Parameters
    ----------
    smoothing_parameter
        The share of the probability that goes to the other rows.

    Examples
    --------
    >>> from gluonx import np, npx
    >>> npx.sdml_loss(np.array([[1.0, 0.0], [0.0, 1.0]]), np.array([[1.0, 0.0], [0.0, 1.0]])).tolist()
    [0.05803, 0.05803]
    """
    a, b = _wide(x1), _wide(x2)
    if a.shape != b.shape or a.ndim != 2 or len(a) < 2:
        raise ShapeError(
            f"x1 and x2 must be equal matrices of two rows or more, but have shapes {x1.shape} and {x2.shape}."
        )
    distance = jnp.square(a[:, None] - b[None]).sum(2)
    gold = jnp.eye(len(a), dtype=a.dtype)
    label = gold * (1 - smoothing_parameter) + (1 - gold) * smoothing_parameter / (len(a) - 1)
    loss = label * (jnp.log(label + _TINY) - jax.nn.log_softmax(-distance, axis=1))
    return loss.mean(1).astype(_result_dtype(x1))


@register(moving=("weight",), amp="float32", shape="(batch,)")
def ctc_batch_loss(
    pred: Array,
    label: Array,
    pred_lengths: Array | None = None,
    label_lengths: Array | None = None,
    sample_weight: Array | None = None,
    *,
    layout: str = "NTC",
    label_layout: str = "NT",
    weight: float | None = None,
) -> Array:
    """Connectionist temporal classification with the last class as the blank; one value for each sample.

    Without ``label_lengths`` a label ends before its first -1 (any negative value). A label that is too long for its
    sequence has a loss and a gradient of 0.

    Parameters
    ----------
    pred_lengths
        The number of valid steps of each sample; all by default.
    label_lengths
        The number of labels of each sample.
    label_layout
        'NT' or 'TN', the order of batch and time in the labels.

    Examples
    --------
    >>> from gluonx import np, npx
    >>> npx.ctc_batch_loss(np.zeros((1, 4, 3)), np.array([[1.0, 0.0]])).tolist()
    [1.686]
    """
    import optax  # imported here because most programs do not need it

    logits = _wide(pred if layout == "NTC" else pred.swapaxes(0, 1))
    label = label if label_layout == "NT" else label.swapaxes(0, 1)
    blank = logits.shape[2] - 1
    steps = jnp.arange(logits.shape[1])[None, :]
    positions = jnp.arange(label.shape[1])[None, :]
    late = jnp.zeros(logits.shape[:2]) if pred_lengths is None else (steps >= pred_lengths[:, None]).astype(jnp.float32)
    ends = jnp.where(label < 0, positions, label.shape[1]).min(1) if label_lengths is None else label_lengths
    padded = (positions >= ends[:, None]).astype(jnp.float32)
    index = jnp.clip(label.astype(jnp.int32), 0, blank)
    loss = optax.ctc_loss(logits, late, index, padded, blank_id=blank)
    # Equal labels need a blank in between. A sequence too short for its labels has loss 0, as in MXNet.
    again = jnp.sum((index[:, 1:] == index[:, :-1]) & (padded[:, 1:] == 0), 1)
    loss = jnp.where(jnp.sum(padded == 0, 1) + again <= jnp.sum(late == 0, 1), loss, 0)
    return _weighted(loss, sample_weight, weight).astype(_result_dtype(pred))
