"""Pull-backs in NumPy: of an operator's inputs and the cotangent of its output, the cotangents of the inputs.

As a form (:mod:`gluonx.ops.host.forms`) is a matter of speed, so is one of these: it agrees with what JAX derives, and
where it is left out, or says ``NotImplemented``, that is traced, which takes JAX some milliseconds at each new shape.
They are of float32 and float64. Functions and sums are computed in double precision, products in the type of their
operands; what was broadcast is summed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gluonx.ops.common import axis_of
from gluonx.ops.host.forms import Form, Work, converted, form, form_of
from gluonx.ops.registry import BoundOp, Lifted

__all__ = ["PULLBACKS", "pullback_form"]

Way = Callable[[], Any]
Rule = Callable[..., "Sequence[Way | None]"]  # rule(cotangent, *inputs, **attributes); or NotImplemented

_DOUBLE = np.dtype(np.float64)
_FLOATS = frozenset([np.dtype(np.float32), _DOUBLE])
PULLBACKS: dict[str, Rule] = {}


def pullback_form(
    op: Any, diff: tuple[int, ...], count: int, given: tuple[bool, ...]
) -> tuple[Form, Work | None] | None:
    """Return the pull-back of `op` to the inputs `diff` of `count`, and what tells its work; None without one.

    ``given`` says which outputs have a cotangent: of an operator of several there is no pull-back here.
    """
    rule = None if not isinstance(op, BoundOp) or isinstance(op, Lifted) else PULLBACKS.get(op.name)
    if rule is None or given != (True,) or op.random or op.needs_mode:
        return None
    attrs = op.attrs

    def run(*values: Any) -> Any:
        inputs, cotangent = values[:count], values[count]
        if cotangent.dtype not in _FLOATS or any(inputs[i].dtype != cotangent.dtype for i in diff):
            return NotImplemented
        ways = rule(cotangent, *inputs, **attrs)
        if ways is NotImplemented:
            return NotImplemented
        outs = []
        for i in diff:
            way = ways[i]
            if way is None:
                return NotImplemented
            outs.append(_summed(way(), inputs[i]))
        return tuple(outs)

    forward = form_of(op)
    own = None if forward is None else forward[1]

    def work(*values: Any) -> int:
        sizes = sum([v.size for v in values if v is not None])
        return max(4 * sizes, 0 if own is None else 2 * own(*values[:count]))

    return run, work


def _summed(found: Any, like: Any) -> Any:
    """Return a cotangent in the shape and type of its input, which may have been broadcast."""
    if found.shape != like.shape:
        extra = found.ndim - like.ndim
        axes = tuple([i for i in range(found.ndim) if i < extra or (like.shape[i - extra] == 1 and found.shape[i] > 1)])
        found = np.add.reduce(found, axis=axes, dtype=_DOUBLE).reshape(like.shape)
    return np.array(found, like.dtype)


def _rule(*names: str) -> Callable[[Rule], Rule]:
    def decorate(rule: Rule) -> Rule:
        PULLBACKS.update(dict.fromkeys(names, rule))
        return rule

    return decorate


# -- elementwise -------------------------------------------------------------------------------------------------------


def _sigmoid(x: Any) -> Any:
    return 1 / (1 + np.exp(-x))


def _of_tanh(x: Any) -> Any:
    y = np.tanh(x)
    return 1 - y * y


def _of_sigmoid(x: Any) -> Any:
    y = _sigmoid(x)
    return y * (1 - y)


_SLOPES: dict[str, Callable[[Any], Any]] = {
    "exp": np.exp, "expm1": np.exp, "log": lambda x: 1 / x, "log1p": lambda x: 1 / (1 + x),
    "sqrt": lambda x: 0.5 / np.sqrt(x), "square": lambda x: 2 * x, "negative": lambda x: np.float64(-1),
    "sin": np.cos, "cos": lambda x: -np.sin(x), "tanh": _of_tanh, "sigmoid": _of_sigmoid, "softrelu": _sigmoid,
    "arctan": lambda x: 1 / (1 + x * x), "sinh": np.cosh, "cosh": np.sinh,
}  # fmt: skip


def _sloped(slope: Callable[[Any], Any]) -> Rule:
    return lambda g, x: [lambda: g * slope(x.astype(_DOUBLE))]


for _name, _slope in _SLOPES.items():
    PULLBACKS[_name] = _sloped(_slope)


@_rule("relu")
def _relu(g: Any, x: Any) -> Any:
    zero = g.dtype.type(0)
    y = np.maximum(x, zero)
    return [lambda: np.where(y > 0, g, zero) + np.where(y > 0, zero, g) * y]  # NaN where x is, and at infinity


@_rule("activation")
def _activation(g: Any, x: Any, *, act_type: str) -> Any:
    known = {"relu", "sigmoid", "tanh", "softrelu"}
    return PULLBACKS[act_type](g, x) if act_type in known else NotImplemented


@_rule("add")
def _add(g: Any, x: Any, y: Any) -> Any:
    return [lambda: g, lambda: g]


@_rule("subtract")
def _subtract(g: Any, x: Any, y: Any) -> Any:
    return [lambda: g, lambda: -g]


@_rule("multiply")
def _multiply(g: Any, x: Any, y: Any) -> Any:
    return [lambda: g * y, lambda: g * x]


@_rule("true_divide")
def _divide(g: Any, x: Any, y: Any) -> Any:
    return [lambda: g / y, lambda: -(g.astype(_DOUBLE) * x) / np.square(y, dtype=_DOUBLE)]


@_rule("where")
def _where(g: Any, condition: Any, x: Any, y: Any) -> Any:
    chosen, zero = condition != 0, g.dtype.type(0)
    return [None, lambda: np.where(chosen, g, zero), lambda: np.where(chosen, zero, g)]


# -- sums --------------------------------------------------------------------------------------------------------------


def _spread(g: Any, x: Any, axis: Any, keepdims: bool) -> Any:
    """Return the cotangent of a sum at each of its terms."""
    if axis is not None and not keepdims and x.ndim:
        g = np.expand_dims(g, axis)
    return np.broadcast_to(g, x.shape)


@_rule("sum")
def _sum(g: Any, x: Any, *more: Any, axis: Any, dtype: Any, keepdims: bool) -> Any:
    if more or dtype is not None:
        return NotImplemented
    return [lambda: _spread(g, x, axis, keepdims)]


@_rule("mean")
def _mean(g: Any, x: Any, *more: Any, axis: Any, dtype: Any, keepdims: bool) -> Any:
    if more or dtype is not None or not g.size:
        return NotImplemented
    return [lambda: _spread(g / g.dtype.type(x.size // g.size), x, axis, keepdims)]


# -- products ----------------------------------------------------------------------------------------------------------


@_rule("matmul")
def _matmul(g: Any, x: Any, y: Any, *, precision: Any, preferred_element_type: Any) -> Any:
    if x.ndim < 2 or y.ndim < 2 or precision is not None or preferred_element_type is not None:
        return NotImplemented
    return [lambda: np.matmul(g, np.swapaxes(y, -1, -2)), lambda: np.matmul(np.swapaxes(x, -1, -2), g)]


@_rule("dot")
def _dot(g: Any, x: Any, y: Any, **attrs: Any) -> Any:
    return _matmul(g, x, y, **attrs) if x.ndim == y.ndim == 2 else NotImplemented


@_rule("fully_connected")
def _fully_connected(
    g: Any, x: Any, weight: Any, bias: Any = None, *, num_hidden: Any, no_bias: bool, flatten: bool
) -> Any:
    columns = g.reshape(-1, weight.shape[0])
    rows = x.reshape(len(columns), weight.shape[1])
    return [
        lambda: np.matmul(columns, weight).reshape(x.shape),
        lambda: np.matmul(columns.T, rows),
        lambda: np.add.reduce(columns, axis=0, dtype=_DOUBLE),
    ]


# -- moves -------------------------------------------------------------------------------------------------------------


@_rule("reshape", "batch_flatten", "expand_dims", "squeeze")
def _reshaped(g: Any, x: Any, **_: Any) -> Any:
    return [lambda: g.reshape(x.shape)]


@_rule("broadcast_to")
def _broadcast(g: Any, x: Any, **_: Any) -> Any:
    return [lambda: g]


@_rule("transpose")
def _transpose(g: Any, x: Any, *, axes: Any) -> Any:
    if not axes:
        return [lambda: np.transpose(g)]
    return NotImplemented if isinstance(axes, int) else [lambda: np.transpose(g, np.argsort(np.mod(axes, x.ndim)))]


@_rule("swapaxes")
def _swapaxes(g: Any, x: Any, *, axis1: int, axis2: int) -> Any:
    return [lambda: np.swapaxes(g, axis1, axis2)]


@_rule("concatenate")
def _concatenate(g: Any, *arrays: Any, axis: Any, **attrs: Any) -> Any:
    if not isinstance(axis, int) or any(attrs.values()):
        return NotImplemented
    ends = np.cumsum([a.shape[axis] for a in arrays])
    parts = np.split(g, ends[:-1], axis)
    return [lambda part=part: part for part in parts]


@_rule("stack")
def _stack(g: Any, *arrays: Any, axis: int, dtype: Any) -> Any:
    return NotImplemented if dtype is not None else [lambda i=i: np.take(g, i, axis) for i in range(len(arrays))]


# -- layers and losses -------------------------------------------------------------------------------------------------


def _probabilities(x: Any, axis: int) -> Any:
    x = x.astype(_DOUBLE)
    powers = np.exp(x - np.maximum.reduce(x, axis=axis, keepdims=True))
    return powers / np.add.reduce(powers, axis=axis, keepdims=True)


def _is_plain(x: Any, others: Any, use_length: bool, dtype: Any) -> bool:
    return x.size > 0 and all(v is None for v in others) and not use_length and dtype is None


@_rule("softmax")
def _of_softmax(g: Any, x: Any, *others: Any, axis: int, use_length: bool, dtype: Any) -> Any:
    if not _is_plain(x, others, use_length, dtype):
        return NotImplemented
    y = _probabilities(x, axis)
    return [lambda: y * (g - np.add.reduce(g * y, axis=axis, keepdims=True))]


@_rule("log_softmax")
def _of_log_softmax(g: Any, x: Any, *others: Any, axis: int, use_length: bool = False, dtype: Any = None) -> Any:
    if not _is_plain(x, others, use_length, dtype):
        return NotImplemented
    return [lambda: g - _probabilities(x, axis) * np.add.reduce(g, axis=axis, dtype=_DOUBLE, keepdims=True)]


@_rule("embedding")
def _embedding(g: Any, x: Any, weight: Any, *, dtype: Any, **_: Any) -> Any:
    rows = converted(x, np.dtype(np.int32)) if x.dtype.kind == "f" else x
    if rows is NotImplemented or rows.dtype.kind not in "iu" or not (dtype is None or dtype == weight.dtype):
        return NotImplemented

    def of_weight() -> Any:
        found = np.zeros(weight.shape, _DOUBLE)
        at = np.clip(rows, 0, len(weight) - 1).reshape(-1)
        np.add.at(found, at, g.reshape(-1, *weight.shape[1:]))
        return found

    return [None, of_weight]


@_rule("layer_norm")
def _layer_norm(g: Any, x: Any, gamma: Any, beta: Any, *, axis: int, eps: float, output_mean_var: bool) -> Any:
    axis = axis_of(axis, x.ndim, "layer_norm")
    if output_mean_var or gamma.shape != (x.shape[axis],) or not x.size:
        return NotImplemented
    along = [-1 if i == axis else 1 for i in range(x.ndim)]
    others = tuple([i for i in range(x.ndim) if i != axis])
    wide = x.astype(_DOUBLE)
    wide -= wide.mean(axis, keepdims=True)
    root = np.sqrt(np.square(wide).mean(axis, keepdims=True) + eps)
    wide /= root

    def of_x() -> Any:
        scaled = g * gamma.reshape(along)
        return (scaled - scaled.mean(axis, keepdims=True) - wide * (scaled * wide).mean(axis, keepdims=True)) / root

    return [
        of_x,
        lambda: np.add.reduce(g * wide, axis=others),
        lambda: np.add.reduce(g, axis=others, dtype=_DOUBLE),
    ]


def _classes(pred: Any, label: Any, sample_weight: Any, attrs: dict[str, Any]) -> Any:
    """Return the logits with classes last and the classes of a loss of the usual kind; None of another."""
    usual = {"sparse_label": True, "from_logits": False, "weight": None, "batch_axis": 0, "ignore_label": None,
             "label_smoothing": 0}  # fmt: skip
    if sample_weight is not None or attrs["axis"] not in (-1, pred.ndim - 1) or pred.dtype not in _FLOATS:
        return None
    if any(attrs[name] != value for name, value in usual.items()) or pred.ndim < 2 or not pred.size:
        return None
    found = label if label.dtype.kind in "iu" else converted(label, np.dtype(np.int32))
    if found is NotImplemented or found.size * pred.shape[-1] != pred.size:
        return None
    return np.clip(found.reshape(pred.shape[:-1]), 0, pred.shape[-1] - 1)[..., None]


@form("softmax_cross_entropy_loss", lambda pred, *_, **__: 4 * pred.size)
def _cross_entropy(pred: Any, label: Any, sample_weight: Any = None, **attrs: Any) -> Any:
    classes = _classes(pred, label, sample_weight, attrs)
    if classes is None:
        return NotImplemented
    x = pred.astype(_DOUBLE)
    x -= np.maximum.reduce(x, axis=-1, keepdims=True)
    losses = np.log(np.add.reduce(np.exp(x), axis=-1)) - np.take_along_axis(x, classes, -1)[..., 0]
    return losses.reshape(len(x), -1).mean(1).astype(pred.dtype)


@_rule("softmax_cross_entropy_loss")
def _of_cross_entropy(g: Any, pred: Any, label: Any, sample_weight: Any = None, **attrs: Any) -> Any:
    classes = _classes(pred, label, sample_weight, attrs)
    if classes is None:
        return NotImplemented

    def of_pred() -> Any:
        found = _probabilities(pred, -1)
        np.put_along_axis(found, classes, np.take_along_axis(found, classes, -1) - 1, -1)
        each = math.prod(pred.shape[1:-1])
        return found * (g / g.dtype.type(each)).reshape(-1, *[1] * (pred.ndim - 1))

    return [of_pred, None]
