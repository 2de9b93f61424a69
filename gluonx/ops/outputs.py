"""Output layers of MXNet's symbols: a prediction in the forward, and in the backward the gradient of its loss.

A backward begins at such a layer: the gradient from above is ignored (except for `softmax_output` with `out_grad`).
They exist for symbols and 1.x code; new code uses a loss of `gluonx.loss`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp
from jax import Array

from gluonx.errors import ShapeError
from gluonx.ops.checks import Attrs, Bounds, Index, Operands, along_axis, shape_of
from gluonx.ops.common import choose, filled
from gluonx.ops.registry import SAME, Op, Shape, register

_NORMALIZATIONS = {"null": "null", "batch": "batch", "valid": "valid"}


def _with_gradient(forward: Callable[..., Array], gradient: Callable[..., Array]) -> Callable[..., Array]:
    """Return `forward(x, label)`, whose gradient with respect to x is ``gradient(out, label, g)`` for g from above."""

    @jax.custom_vjp
    def output(x: Array, label: Array) -> Array:
        return forward(x, label)

    def fwd(x: Array, label: Array) -> tuple[Array, tuple[Array, Array]]:
        out = forward(x, label)
        return out, (out, label)

    def bwd(saved: tuple[Array, Array], g: Array) -> tuple[Array, None]:
        out, label = saved
        return gradient(out, label, g).astype(g.dtype), None

    output.defvjp(fwd, bwd)
    return output


# -- softmax ----------------------------------------------------------------------------------------------------------


def _classes(attrs: Attrs, operands: Operands) -> Sequence[Bounds]:
    """Return the bounds of labels that are classes, if none is ignored."""
    data, label = map(shape_of, operands[:2])
    if len(label) != len(data) - 1 or attrs.get("use_ignore"):
        return ()
    return along_axis(1, data, 1 if attrs.get("multi_output") else -1, False)


_CLASSES = Index(1, _classes, strict=False)


def _softmax_label(shapes: list[Shape | None], attrs: Mapping[str, Any]) -> list[Shape | None]:
    data, label = shapes[0], shapes[1] if len(shapes) > 1 else None
    if data is None or (label is not None and all(n > 0 for n in label)):
        return shapes
    if attrs["multi_output"]:
        wanted = (data[0], *data[2:])
    else:
        wanted = data[:-1] if attrs["preserve_shape"] else data[:1]
    return [data, filled(label, wanted, "softmax_output: label", f"data of shape {data}")]


def _as_classes(x: Array, multi_output: bool, preserve_shape: bool) -> tuple[Array, int]:
    """Return the scores as the operator sees them, and the axis of the classes."""
    if multi_output:
        return x.reshape(x.shape[0], x.shape[1], -1), 1
    if preserve_shape:
        return x.reshape(-1, x.shape[-1]), 1
    return x.reshape(x.shape[0], -1), 1


def _one_hot(label: Array, like: Array, smooth: float) -> Array:
    """Return the target probabilities: shape of `like`, classes along axis 1."""
    classes = jnp.arange(like.shape[1]).reshape(1, -1, *(1,) * (like.ndim - 2))
    hit = label.astype(jnp.int32)[:, None] == classes
    low = smooth / (like.shape[1] - 1) if smooth else 0.0
    return jnp.where(hit, 1.0 - smooth, low).astype(like.dtype)


def _softmax_gradient(attrs: Mapping[str, Any]) -> Callable[..., Array]:
    def gradient(out: Array, label: Array, g: Array) -> Array:
        if label.shape == out.shape:
            grad = (out - label.astype(out.dtype)) * attrs["grad_scale"]
            return grad * g if attrs["out_grad"] else grad
        p, _ = _as_classes(out, attrs["multi_output"], attrs["preserve_shape"])
        target = label.reshape(p.shape[0], *p.shape[2:])
        grad = p - _one_hot(target, p, 0.0 if attrs["multi_output"] else attrs["smooth_alpha"])
        kept = target.astype(jnp.int32) != int(attrs["ignore_label"])
        if attrs["use_ignore"]:
            grad = jnp.where(kept[:, None], grad, 0)
        count: Any = 1
        if attrs["normalization"] == "batch":
            count = label.shape[0]
        elif attrs["normalization"] == "valid":
            count = jnp.maximum(kept.sum(), 1)
        positions = p.shape[2] if attrs["multi_output"] and attrs["normalization"] != "valid" else 1
        grad = (grad * (attrs["grad_scale"] / positions) / count).reshape(out.shape)
        return grad * g if attrs["out_grad"] else grad

    return gradient


@register(
    infer=_softmax_label,
    batched=("label",),
    index=_CLASSES,
    amp="float32",
    shape=SAME,
    gradient="to `x` that of the cross-entropy to `label`, whatever comes from above",
)
def softmax_output(
    x: Array,
    label: Array,
    *,
    grad_scale: float = 1.0,
    ignore_label: float = -1.0,
    multi_output: bool = False,
    use_ignore: bool = False,
    preserve_shape: bool = False,
    normalization: str = "null",
    out_grad: bool = False,
    smooth_alpha: float = 0.0,
) -> Array:
    """Return the softmax, with the gradient of the cross-entropy to `label`.

    Parameters
    ----------
    x : array, shape (batch, ...)
        Scores. All axes but the first are the classes; with `preserve_shape` the last axis is, with `multi_output`
        the second.
    label : array
        Class numbers, or probabilities in the shape of `x`.
    grad_scale : float
        Factor of the gradient.
    ignore_label : float
        With `use_ignore`, elements of this label get no gradient.
    normalization : {'null', 'batch', 'valid'}
        Whether the gradient is divided by nothing, by the size of the batch, or by the number of labels not ignored.
    out_grad : bool
        Multiply by the gradient from above.
    smooth_alpha : float
        The share of the probability that goes to the other classes; ignored with `multi_output`, as in MXNet.
    multi_output
        Whether the second axis has the classes.
    preserve_shape
        Whether the last axis has the classes.
    use_ignore
        Whether `ignore_label` is used.

    Examples
    --------
    >>> from gluonx import np, npx
    >>> npx.softmax_output(np.array([[0.0, 0.0]]), np.array([1])).tolist()
    [[0.5, 0.5]]
    """
    choose(_NORMALIZATIONS, normalization, "softmax_output", "normalization")
    attrs = {
        "grad_scale": grad_scale,
        "ignore_label": ignore_label,
        "multi_output": multi_output,
        "use_ignore": use_ignore,
        "preserve_shape": preserve_shape,
        "normalization": normalization,
        "out_grad": out_grad,
        "smooth_alpha": smooth_alpha,
    }

    def forward(x: Array, label: Array) -> Array:
        scores, axis = _as_classes(x, multi_output, preserve_shape)
        return jax.nn.softmax(scores, axis).reshape(x.shape)

    return _with_gradient(forward, _softmax_gradient(attrs))(x, label)


# -- regression -------------------------------------------------------------------------------------------------------


def _label_like_data(shapes: list[Shape | None], attrs: Mapping[str, Any]) -> list[Shape | None]:
    data, label = shapes[0], shapes[1] if len(shapes) > 1 else None
    if data is None or (label is not None and all(n > 0 for n in label)):
        return shapes
    wanted = data[:1] if len(data) == 2 and data[1] == 1 else data
    return [data, filled(label, wanted, "regression output: label", f"data of shape {data}")]


def _regression(
    name: str, predict: Callable[[Array], Array], error: Callable[[Array], Array], doc: str, loss: str, example: str
) -> Op:
    def regression(x: Array, label: Array, *, grad_scale: float = 1.0) -> Array:
        if math.prod(x.shape) != math.prod(label.shape):
            raise ShapeError(f"{name}: label has shape {label.shape}, but data of shape {x.shape} has another size.")

        def gradient(out: Array, label: Array, g: Array) -> Array:
            each = out.size // out.shape[0] if out.ndim else 1
            return error(out - label.reshape(out.shape).astype(out.dtype)) * (grad_scale / each)

        return _with_gradient(lambda x, label: predict(x), gradient)(x, label)

    regression.__name__, regression.__doc__ = name, doc
    return register(
        name,
        infer=_label_like_data,
        batched=("label",),
        amp="float32",
        shape=SAME,
        gradient=f"to `x` that of {loss}, whatever comes from above",
        example=(f"npx.{name}(np.array([0.0, 2.0]), np.array([0.0, 1.0])).tolist()", example),
    )(regression)


linear_regression_output = _regression(
    "linear_regression_output",
    lambda x: x,
    lambda d: d,
    "The data, with the gradient of half the squared distance to `label`, over the numbers of each sample.",
    "half the squared distance",
    "[0.0, 2.0]",
)
logistic_regression_output = _regression(
    "logistic_regression_output",
    jax.nn.sigmoid,
    lambda d: d,
    "The sigmoid, with the gradient of the cross-entropy to `label`, over the numbers of each sample.",
    "the cross-entropy",
    "[0.5, 0.8808]",
)
mae_regression_output = _regression(
    "mae_regression_output",
    lambda x: x,
    lambda d: jnp.where(d > 0, 1, -1).astype(d.dtype),
    "The data, with the gradient of the absolute distance to `label` (-1 at it), over the numbers of each sample.",
    "the absolute distance",
    "[0.0, 2.0]",
)


def _classes_label(shapes: list[Shape | None], attrs: Mapping[str, Any]) -> list[Shape | None]:
    data, label = shapes[0], shapes[1] if len(shapes) > 1 else None
    if data is None or (label is not None and all(n > 0 for n in label)):
        return shapes
    return [data, filled(label, data[:1], "svm_output: label", f"data of shape {data}")]


@register(
    infer=_classes_label,
    batched=("label",),
    index=_CLASSES,
    amp="float32",
    shape=SAME,
    gradient="to `x` that of the hinge loss, whatever comes from above",
)
def svm_output(
    x: Array, label: Array, *, margin: float = 1.0, regularization_coefficient: float = 1.0, use_linear: bool = False
) -> Array:
    """Return the data, with the gradient of each class's hinge loss (its square, unless `use_linear`).

    Parameters
    ----------
    regularization_coefficient
        The factor of the gradient.
    use_linear
        Whether the loss is not squared.
    margin
        The margin of the hinge loss.

    Examples
    --------
    >>> from gluonx import np, npx
    >>> npx.svm_output(np.array([[1.0, 2.0]]), np.array([1])).tolist()
    [[1.0, 2.0]]
    """

    def gradient(out: Array, label: Array, g: Array) -> Array:
        scores = out.reshape(out.shape[0], -1)
        own = jnp.arange(scores.shape[1]) == label.reshape(-1, 1).astype(jnp.int32)
        sign = jnp.where(own, -1.0, 1.0)
        short = jnp.maximum(margin + sign * scores, 0)
        slope = (short > 0).astype(out.dtype) if use_linear else 2 * short
        return (sign * slope * regularization_coefficient).reshape(out.shape)

    return _with_gradient(lambda x, label: x, gradient)(x, label)


@register(
    amp="float32",
    shape=SAME,
    gradient="to `x` grad_scale, whatever comes from above",
    stands_for="the identity",
    gives="input",
)
def make_loss(x: Array, *, grad_scale: float = 1.0, valid_thresh: float = 0.0, normalization: str = "null") -> Array:
    """Return the data, whose gradient is `grad_scale` whatever comes from above.

    Parameters
    ----------
    valid_thresh : float
        With ``normalization='valid'``, the bound above which an element counts.
    normalization : {'null', 'batch', 'valid'}
        Whether the gradient is divided by nothing, by the size of the batch, or by the number of elements above
        `valid_thresh`.

    Examples
    --------
    >>> from gluonx import np, npx
    >>> npx.make_loss(np.array([1.0, 2.0])).tolist()
    [1.0, 2.0]
    """
    choose(_NORMALIZATIONS, normalization, "make_loss", "normalization")

    def gradient(out: Array, label: Array, g: Array) -> Array:
        count: Any = 1
        if normalization == "batch":
            count = out.shape[0]
        elif normalization == "valid":
            count = jnp.maximum((out > valid_thresh).sum(), 1)
        return jnp.full(out.shape, grad_scale, out.dtype) / count

    return _with_gradient(lambda x, label: x, gradient)(x, jnp.zeros((), x.dtype))
