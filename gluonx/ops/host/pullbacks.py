"""Pull-backs in NumPy: they take an operator's inputs and the cotangent of its output, and give the inputs' cotangents.

Like a NumPy kernel (:mod:`gluonx.ops.host.kernels`), a pull-back here only saves time: it gives the same numbers as the
one that JAX derives. Where there is none, or where it returns ``NotImplemented``, JAX's is traced, which takes some
milliseconds at each new shape. The ones here are for float32 and float64. Functions and sums are computed in double
precision, products in the type of their operands. The cotangent of an operand that was broadcast is summed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from types import NotImplementedType
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from gluonx.ops.common import axis_of
from gluonx.ops.elementwise import ACTIVATIONS
from gluonx.ops.host.elementwise import complementary_error, where_or_zero
from gluonx.ops.host.kernels import Kernel, Work, centred, converted, kernel_of, kernel_results, numpy_kernel
from gluonx.ops.registry import BoundOp, Lifted

if TYPE_CHECKING:
    from gluonx.dtype import DTypeLike


__all__ = ["PULLBACKS", "Rule", "Ways", "placed", "power_rule", "pullback_kernel", "pullback_rule", "summed"]

Array: TypeAlias = np.ndarray
Way: TypeAlias = Callable[[], Array]
Ways: TypeAlias = "Sequence[Way | None] | NotImplementedType"
Rule: TypeAlias = Callable[..., Ways]  # rule(cotangent, *inputs, **attributes)

_SINGLE, _DOUBLE = np.dtype(np.float32), np.dtype(np.float64)
_FLOATS = frozenset([_SINGLE, _DOUBLE])
PULLBACKS: dict[str, Rule] = {}


def pullback_kernel(
    op: Any, diff: tuple[int, ...], count: int, given: tuple[bool, ...]
) -> tuple[Kernel, Work | None] | None:
    """Return the pull-back of `op` to the inputs `diff` of `count`, and its work function; None without one.

    ``given`` says which outputs have a cotangent; a pull-back here is that of the first output alone.
    """
    bound = isinstance(op, BoundOp) and not isinstance(op, Lifted)
    rule = PULLBACKS.get(op.name) if bound else getattr(op, "pullback", None)
    if rule is None or given[0] is False or any(given[1:]) or op.random or op.needs_mode:
        return None
    attrs = op.attrs

    def run(*values: Array) -> tuple[Array, ...] | NotImplementedType:
        inputs, cotangent = values[:count], values[count]
        if cotangent.dtype not in _FLOATS or any(inputs[i].dtype != cotangent.dtype for i in diff):
            return NotImplemented
        ways = rule(cotangent, *inputs, **attrs)
        if isinstance(ways, NotImplementedType):
            return NotImplemented
        outs: list[Array] = []
        for i in diff:
            way = ways[i]
            if way is None:
                return NotImplemented
            outs.append(_summed(way(), inputs[i]))
        return tuple(outs)

    forward = kernel_of(op)
    own = None if forward is None else forward[1]

    def work(*values: Array | None) -> int:
        sizes = sum([v.size for v in values if v is not None])
        return max(4 * sizes, 0 if own is None else 2 * own(*values[:count]))

    return run, work


def _summed(found: Array, like: Array) -> Array:
    """Return a cotangent in the shape and type of its input, summed if the input was broadcast."""
    if found.shape != like.shape:
        extra = found.ndim - like.ndim
        axes = tuple(
            [i for i in range(found.ndim) if i < extra or (like.shape[i - extra] == 1 and found.shape[i] != 1)]
        )
        found = np.add.reduce(found, axis=axes, dtype=_DOUBLE).reshape(like.shape)
    return np.array(found, like.dtype)


def pullback_rule(*names: str) -> Callable[[Rule], Rule]:
    """Register the decorated function as the pull-back of these operators."""

    def decorate(rule: Rule) -> Rule:
        PULLBACKS.update(dict.fromkeys(names, rule))
        return rule

    return decorate


# -- elementwise -------------------------------------------------------------------------------------------------------


def _sigmoid(x: Array) -> Array:
    return 1 / (1 + np.exp(-x))


def _of_tanh(x: Array) -> Array:
    y = np.tanh(x)
    return 1 - y * y


def _of_sigmoid(x: Array) -> Array:
    y = _sigmoid(x)
    return y * (1 - y)


_SLOPES: dict[str, Callable[[Any], Any]] = {
    "exp": np.exp, "expm1": np.exp, "log": lambda x: 1 / x, "log1p": lambda x: 1 / (1 + x),
    "sqrt": lambda x: 0.5 / np.sqrt(x), "square": lambda x: 2 * x, "negative": lambda x: np.float64(-1),
    "sin": np.cos, "cos": lambda x: -np.sin(x), "tanh": _of_tanh, "sigmoid": _of_sigmoid, "softrelu": _sigmoid,
    "arctan": lambda x: 1 / (1 + x * x), "sinh": np.cosh, "cosh": np.sinh, "tan": lambda x: 1 / np.cos(x) ** 2,
    "arcsin": lambda x: 1 / np.sqrt(1 - x * x), "arccos": lambda x: -1 / np.sqrt(1 - x * x),
    "arcsinh": lambda x: 1 / np.sqrt(1 + x * x), "arccosh": lambda x: 1 / np.sqrt(x * x - 1),
    "arctanh": lambda x: 1 / (1 - x * x), "reciprocal": lambda x: -1 / (x * x),
    "rsqrt": lambda x: -0.5 / np.sqrt(x) / x, "absolute": np.sign, "exp2": lambda x: np.exp2(x) * math.log(2),
    "log2": lambda x: 1 / (x * math.log(2)), "log10": lambda x: 1 / (x * math.log(10)),
    "erf": lambda x: np.exp(-x * x) * (2 / math.sqrt(math.pi)), "log_sigmoid": lambda x: _sigmoid(-x),
    "silu": lambda x: _sigmoid(x) * (1 + x * (1 - _sigmoid(x))),
}  # fmt: skip


def _sloped(slope: Callable[[Any], Any]) -> Rule:
    return lambda g, x: [lambda: g * slope(x.astype(_DOUBLE))]


for _name, _slope in _SLOPES.items():
    PULLBACKS[_name] = _sloped(_slope)


@pullback_rule("relu")
def _relu(g: Array, x: Array) -> Ways:
    if x.size and np.isfinite(x.max()) and np.isfinite(np.add.reduce(g, axis=None)):
        return [lambda: where_or_zero(x > 0, g)]
    y = np.maximum(x, g.dtype.type(0))  # NaN where one is NaN or infinite
    return [lambda: where_or_zero(y > 0, g) + where_or_zero(~(y > 0), g) * y]


@kernel_results("activation")
def _results_of_activation(x: Array, *, act_type: str) -> np.ndarray:
    return x if act_type == "relu" and x.dtype in _FLOATS else NotImplemented


@pullback_rule("activation")
def _activation(g: Array, x: Array, *, act_type: str) -> Ways:
    rule = PULLBACKS.get(act_type) if act_type in ACTIVATIONS else None
    return NotImplemented if rule is None else rule(g, x)


@pullback_rule("leaky_relu")
def _leaky_relu(g: Array, x: Array, gamma: Array | None = None, *, act_type: str, slope: float, **_: object) -> Ways:
    if gamma is not None:
        return NotImplemented
    if act_type in ("gelu", "gelu_erf") and x.dtype == _SINGLE:
        return [lambda: g * _of_gelu(x.astype(_DOUBLE))]
    return [lambda: np.where(x <= 0, g * g.dtype.type(slope), g)] if act_type == "leaky" else NotImplemented


def _of_gelu(x: Array) -> Array:
    return 0.5 * complementary_error(x * -math.sqrt(0.5)) + x * np.exp(x * x * -0.5) / math.sqrt(2 * math.pi)


@pullback_rule("add")
def _add(g: Array, x: Array, y: Array) -> Ways:
    return [lambda: g, lambda: g]


@pullback_rule("subtract")
def _subtract(g: Array, x: Array, y: Array) -> Ways:
    return [lambda: g, lambda: -g]


@pullback_rule("multiply")
def _multiply(g: Array, x: Array, y: Array) -> Ways:
    return [lambda: g * y, lambda: g * x]


@pullback_rule("true_divide")
def _divide(g: Array, x: Array, y: Array) -> Ways:
    return [lambda: g / y, lambda: -(g.astype(_DOUBLE) * x) / np.square(y, dtype=_DOUBLE)]


def _first_of(keeps: Callable[[Array, Array], Array]) -> Rule:
    """Return the pull-back of the larger or smaller of two: all of it to the first operand where that is kept."""

    def rule(g: Array, x: Array, y: Array) -> Ways:
        kept = keeps(x, y) | (x != x)
        return [lambda: where_or_zero(kept, g), lambda: where_or_zero(~kept, g)]

    return rule


pullback_rule("maximum")(_first_of(np.greater_equal))
pullback_rule("minimum")(_first_of(np.less_equal))


@pullback_rule("clip")
def _clip(g: Array, x: Array, a_min: Array | None = None, a_max: Array | None = None) -> Ways:
    kept = np.ones(x.shape, bool)
    for bound, keeps in ((a_min, np.greater_equal), (a_max, np.less_equal)):
        if bound is not None:
            if bound.ndim:
                return NotImplemented
            kept &= keeps(x, bound.astype(x.dtype)) | (x != x)
    return [lambda: where_or_zero(kept, g)]


@pullback_rule("power")
def _power(g: Array, x: Array, y: Array) -> Ways:
    if x.dtype != y.dtype or x.dtype not in _FLOATS:
        return NotImplemented
    a, b = x.astype(_DOUBLE), y.astype(_DOUBLE)
    return [
        lambda: g * (b * np.power(a, b - 1)),
        lambda: g * (np.log(np.where(a == 0, 1, a)) * np.power(a, b)),
    ]


def power_rule(exponent: int) -> Rule:
    """Return the pull-back of ``x ** exponent`` for a fixed integer."""

    def rule(g: Array, x: Array) -> Ways:
        if exponent == 0:
            return [lambda: np.zeros_like(x)]
        return [lambda: g * (exponent * np.power(x.astype(_DOUBLE), exponent - 1))]

    return rule


@pullback_rule("where")
def _where(g: Array, condition: Array, x: Array, y: Array) -> Ways:
    chosen, zero = condition != 0, g.dtype.type(0)
    return [None, lambda: np.where(chosen, g, zero), lambda: np.where(chosen, zero, g)]


# -- sums --------------------------------------------------------------------------------------------------------------


def _spread(g: Array, x: Array, axis: Any, keepdims: bool) -> Array:
    """Return the cotangent of a sum at each of its terms."""
    if axis is not None and not keepdims and x.ndim:
        g = np.expand_dims(g, axis)
    return np.broadcast_to(g, x.shape)


@pullback_rule("sum")
def _sum(g: Array, x: Array, *more: Any, axis: Any, dtype: DTypeLike, keepdims: bool) -> Ways:
    if more or dtype is not None:
        return NotImplemented
    return [lambda: _spread(g, x, axis, keepdims)]


@pullback_rule("mean")
def _mean(g: Array, x: Array, *more: Any, axis: Any, dtype: Any, keepdims: bool) -> Ways:
    if more or dtype is not None or not g.size:
        return NotImplemented
    return [lambda: _spread(g / g.dtype.type(x.size // g.size), x, axis, keepdims)]


def _extreme(fn: np.ufunc) -> Rule:
    """Return the pull-back of the largest or smallest elements: each of several equal ones gets the cotangent."""

    def rule(g: Array, x: Array, *more: Any, axis: Any, keepdims: bool) -> Ways:
        if more or not x.size:
            return NotImplemented
        best = fn.reduce(x, axis=axis, keepdims=True)
        return [lambda: where_or_zero(x == best, _spread(g, x, axis, keepdims))]

    return rule


pullback_rule("max")(_extreme(np.maximum))
pullback_rule("min")(_extreme(np.minimum))


def _moment(root: bool) -> Rule:
    """Return the pull-back of the variance, or of its root, whose gradient at 0 is 0."""

    def rule(g: Array, x: Array, *where: Any, axis: Any, dtype: DTypeLike, ddof: int, keepdims: bool) -> Ways:
        if where or dtype is not None or not x.size:
            return NotImplemented
        apart, count = centred(x, axis)
        if count <= ddof:
            return NotImplemented
        slope = apart * (2 / (count - ddof))
        if root:
            deviation = np.sqrt(np.add.reduce(apart * apart, axis=axis, keepdims=True) / (count - ddof))
            some = deviation != 0
            slope = np.where(some, slope / (2 * np.where(some, deviation, 1)), 0)
        return [lambda: _spread(g, x, axis, keepdims) * slope]

    return rule


pullback_rule("var")(_moment(root=False))
pullback_rule("std")(_moment(root=True))


@pullback_rule("linalg_norm")
def _norm(g: Array, x: Array, *, ord: Any, axis: Any, keepdims: bool) -> Ways:
    euclidean = ord is None or (ord == 2 and (isinstance(axis, int) or (axis is None and x.ndim == 1)))
    if not euclidean or not x.size:
        return NotImplemented
    wide = x.astype(_DOUBLE)
    length = np.sqrt(np.add.reduce(wide * wide, axis=axis, keepdims=True))
    return [lambda: wide * _spread(g, x, axis, keepdims) / length] if length.all() else NotImplemented


@pullback_rule("cumsum")
def _cumsum(g: Array, x: Array, *, axis: int | None, dtype: DTypeLike) -> Ways:
    if dtype is not None or not x.ndim:
        return NotImplemented
    along = 0 if axis is None else axis
    return [lambda: np.flip(np.flip(g, along).cumsum(along, _DOUBLE), along).reshape(x.shape)]


# -- products ----------------------------------------------------------------------------------------------------------


@pullback_rule("matmul")
def _matmul(g: Array, x: Array, y: Array, *, precision: Any, preferred_element_type: Any) -> Ways:
    if x.ndim < 2 or y.ndim < 2 or precision is not None or preferred_element_type is not None:
        return NotImplemented
    return [lambda: np.matmul(g, np.swapaxes(y, -1, -2)), lambda: np.matmul(np.swapaxes(x, -1, -2), g)]


@pullback_rule("dot")
def _dot(g: Array, x: Array, y: Array, **attrs: Any) -> Ways:
    return _matmul(g, x, y, **attrs) if x.ndim == y.ndim == 2 else NotImplemented


@pullback_rule("batch_dot")
def _batch_dot(g: Array, x: Array, y: Array, *, transpose_a: bool, transpose_b: bool) -> Ways:
    def turned(a: Array, turn: bool) -> Array:
        return np.swapaxes(a, -1, -2) if turn else a

    return [
        lambda: turned(np.matmul(g, turned(y, not transpose_b)), transpose_a),
        lambda: turned(np.matmul(turned(x, not transpose_a), g), transpose_b),
    ]


@pullback_rule("fully_connected")
def _fully_connected(
    g: Array, x: Array, weight: Array, bias: Array | None = None, *, num_hidden: Any, no_bias: bool, flatten: bool
) -> Ways:
    columns = g.reshape(-1, weight.shape[0])
    rows = x.reshape(len(columns), weight.shape[1])
    return [
        lambda: np.matmul(columns, weight).reshape(x.shape),
        lambda: np.matmul(columns.T, rows),
        lambda: np.zeros_like(bias) if no_bias else np.add.reduce(columns, axis=0, dtype=_DOUBLE),
    ]


# -- moves -------------------------------------------------------------------------------------------------------------


@pullback_rule("reshape", "batch_flatten", "expand_dims", "squeeze")
def _reshaped(g: Array, x: Array, **_: object) -> Ways:
    return [lambda: g.reshape(x.shape)]


@pullback_rule("broadcast_to")
def _broadcast(g: Array, x: Array, **_: object) -> Ways:
    return [lambda: g]


@pullback_rule("transpose")
def _transpose(g: Array, x: Array, *, axes: Any) -> Ways:
    if not axes:
        return [lambda: np.transpose(g)]
    return NotImplemented if isinstance(axes, int) else [lambda: np.transpose(g, np.argsort(np.mod(axes, x.ndim)))]


@pullback_rule("swapaxes")
def _swapaxes(g: Array, x: Array, *, axis1: int, axis2: int) -> Ways:
    return [lambda: np.swapaxes(g, axis1, axis2)]


@pullback_rule("concatenate")
def _concatenate(g: Array, *arrays: Array, axis: Any, **attrs: Any) -> Ways:
    if not isinstance(axis, int) or any(attrs.values()):
        return NotImplemented
    ends = np.cumsum([a.shape[axis] for a in arrays])
    parts = np.split(g, ends[:-1], axis)
    return [lambda part=part: part for part in parts]


@kernel_results("concatenate")
def _results_of_concatenate(*arrays: Array, axis: Any, **attrs: Any) -> np.ndarray:
    if not isinstance(axis, int) or any(attrs.values()) or any(a.dtype != arrays[0].dtype for a in arrays):
        return NotImplemented
    first, at = arrays[0], axis % arrays[0].ndim
    shape = (*first.shape[:at], sum([a.shape[at] for a in arrays]), *first.shape[at + 1 :])
    return np.broadcast_to(np.zeros((), first.dtype), shape)


@pullback_rule("stack")
def _stack(g: Array, *arrays: Array, axis: int, dtype: Any) -> Ways:
    return NotImplemented if dtype is not None else [lambda i=i: np.take(g, i, axis) for i in range(len(arrays))]


@pullback_rule("copy", "cast")
def _same(g: Array, x: Array, **_: object) -> Ways:
    return [lambda: g]


@pullback_rule("flip")
def _flip(g: Array, x: Array, *, axis: int | tuple[int, ...] | None) -> Ways:
    return [lambda: np.flip(g, axis)]


@pullback_rule("moveaxis")
def _moveaxis(g: Array, x: Array, *, source: int | tuple[int, ...], destination: int | tuple[int, ...]) -> Ways:
    return [lambda: np.moveaxis(g, destination, source)]


@pullback_rule("slice_axis")
def _slice_axis(g: Array, x: Array, *, axis: int, begin: int, end: int | None) -> Ways:
    axis = axis_of(axis, x.ndim, "slice_axis")
    start = begin + x.shape[axis] if begin < 0 else begin
    return [lambda: placed(g, x, (*(slice(None),) * axis, slice(start, start + g.shape[axis])))]


def placed(g: Array, x: Array, items: Any) -> Array:
    """Return zeros like `x` with `g` at `items`, no place of which is there twice."""
    found = np.zeros(x.shape, g.dtype)
    found[items] = g
    return found


def summed(g: Array, x: Array, items: Any, seen: Callable[[Array], Array] = np.asarray) -> Array:
    """Return zeros like `x`, in float64, with `g` added at `items` of their view `seen`; a place may be there twice."""
    found = np.zeros(x.shape, _DOUBLE)
    np.add.at(seen(found), items, g)
    return found


@pullback_rule("take")
def _take(g: Array, x: Array, indices: Array, *, axis: int | None, mode: str) -> Ways:
    length = x.size if axis is None else x.shape[axis]
    if indices.dtype.kind not in "iu" or not length or mode not in ("clip", "wrap"):
        return NotImplemented
    places = np.clip(indices, 0, length - 1) if mode == "clip" else np.mod(indices, length)

    def of_x() -> Array:
        if axis is None:
            return summed(g, x, places, lambda found: found.reshape(-1))
        at = axis_of(axis, x.ndim, "take")
        rows = np.moveaxis(g, range(at, at + places.ndim), range(places.ndim))
        return summed(rows, x, places, lambda found: np.moveaxis(found, at, 0))

    return [of_x, None]


@pullback_rule("pick")
def _pick(g: Array, x: Array, index: Array, *, axis: int | None, mode: str, keepdims: bool) -> Ways:
    if axis is None or index.dtype.kind not in "iu" or mode not in ("clip", "wrap"):
        return NotImplemented
    axis = axis_of(axis, x.ndim, "pick")
    kept = (*x.shape[:axis], 1, *x.shape[axis + 1 :])
    if math.prod(index.shape) != math.prod(kept) or not x.size:
        return NotImplemented
    places = np.mod(index, x.shape[axis]) if mode == "wrap" else np.clip(index, 0, x.shape[axis] - 1)

    def of_x() -> Array:
        found = np.zeros(x.shape, g.dtype)
        np.put_along_axis(found, places.reshape(kept), g.reshape(kept), axis)
        return found

    return [of_x, None]


# -- layers and losses -------------------------------------------------------------------------------------------------


def _largest(x: Array, axis: int, finite: bool = False) -> Array:
    """Return the largest element; with `finite` 0 for one that is infinite or NaN, as in JAX's logsumexp."""
    found = np.maximum.reduce(x, axis=axis, keepdims=True)
    return np.where(np.isfinite(found), found, 0) if finite else found


def _probabilities(x: Array, axis: int, finite: bool = False) -> Array:
    """Return the softmax in double precision; with `finite` the derivative of JAX's logsumexp."""
    x = x.astype(_DOUBLE)
    powers = np.exp(x - _largest(x, axis, finite))
    return powers / np.add.reduce(powers, axis=axis, keepdims=True)


def _is_plain(x: Array, others: Any, use_length: bool, dtype: DTypeLike) -> bool:
    return x.size > 0 and all(v is None for v in others) and not use_length and dtype is None


@pullback_rule("softmax")
def _of_softmax(g: Array, x: Array, *others: Any, axis: int, use_length: bool, dtype: DTypeLike) -> Ways:
    if not _is_plain(x, others, use_length, dtype):
        return NotImplemented
    y = _probabilities(x, axis)
    return [lambda: y * (g - np.add.reduce(g * y, axis=axis, keepdims=True))]


@pullback_rule("log_softmax")
def _of_log_softmax(
    g: Array, x: Array, *others: Any, axis: int, use_length: bool = False, dtype: DTypeLike = None
) -> Ways:
    if not _is_plain(x, others, use_length, dtype):
        return NotImplemented
    return [lambda: g - _probabilities(x, axis) * np.add.reduce(g, axis=axis, dtype=_DOUBLE, keepdims=True)]


@pullback_rule("embedding")
def _embedding(g: Array, x: Array, weight: Array, *, dtype: DTypeLike, **_: object) -> Ways:
    rows = converted(x, np.dtype(np.int32)) if x.dtype.kind == "f" else x
    if rows is NotImplemented or rows.dtype.kind not in "iu" or not (dtype is None or dtype == weight.dtype):
        return NotImplemented

    def of_weight() -> Array:
        at = np.clip(rows, 0, len(weight) - 1).reshape(-1)
        return summed(g.reshape(-1, *weight.shape[1:]), weight, at)

    return [None, of_weight]


@pullback_rule("layer_norm")
def _layer_norm(g: Array, x: Array, gamma: Array, beta: Array, *, axis: int, eps: float, output_mean_var: bool) -> Ways:
    axis = axis_of(axis, x.ndim, "layer_norm")
    if output_mean_var or gamma.shape != (x.shape[axis],) or not x.size:
        return NotImplemented
    along = [-1 if i == axis else 1 for i in range(x.ndim)]
    others = tuple([i for i in range(x.ndim) if i != axis])
    wide = x.astype(_DOUBLE)
    wide -= wide.mean(axis, keepdims=True)
    root = np.sqrt(np.square(wide).mean(axis, keepdims=True) + eps)
    wide /= root

    def of_x() -> Array:
        scaled = g * gamma.reshape(along)
        return (scaled - scaled.mean(axis, keepdims=True) - wide * (scaled * wide).mean(axis, keepdims=True)) / root

    return [
        of_x,
        lambda: np.add.reduce(g * wide, axis=others),
        lambda: np.add.reduce(g, axis=others, dtype=_DOUBLE),
    ]


def _classes(pred: Array, label: Array, sample_weight: Array | None, attrs: dict[str, Any]) -> np.ndarray | None:
    """Return the logits with classes last and the labels, for a loss with usual arguments; None otherwise."""
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


@numpy_kernel("softmax_cross_entropy_loss", lambda pred, *_, **__: 4 * pred.size)
def _cross_entropy(pred: Array, label: Array, sample_weight: Array | None = None, **attrs: Any) -> Any:
    classes = _classes(pred, label, sample_weight, attrs)
    if classes is None:
        return NotImplemented
    x = pred.astype(_DOUBLE)
    x -= _largest(x, -1, finite=True)
    losses = np.log(np.add.reduce(np.exp(x), axis=-1)) - np.take_along_axis(x, classes, -1)[..., 0]
    return losses.reshape(len(x), -1).mean(1).astype(pred.dtype)


@pullback_rule("softmax_cross_entropy_loss")
def _of_cross_entropy(g: Array, pred: Array, label: Array, sample_weight: Array | None = None, **attrs: Any) -> Ways:
    classes = _classes(pred, label, sample_weight, attrs)
    if classes is None:
        return NotImplemented

    def of_pred() -> Array:
        found = _probabilities(pred, -1, finite=True)
        np.put_along_axis(found, classes, np.take_along_axis(found, classes, -1) - 1, -1)
        each = math.prod(pred.shape[1:-1])
        return found * (g / g.dtype.type(each)).reshape(-1, *[1] * (pred.ndim - 1))

    return [of_pred, None]


def _of_samples(
    name: str, penalty: Callable[[Array, Array], Array], slope: Callable[[Array, Array], tuple[Array, Array]]
) -> None:
    """Register a loss for each sample: the mean of a penalty of the prediction and the label, and its pull-back.

    Both are functions of the two in double precision; `slope` gives the derivatives by the one and by the other.
    """

    def is_usual(pred: Array, label: Array, more: Sequence[Array | None], attrs: dict[str, Any]) -> bool:
        usual = {"batch_axis": 0, "from_sigmoid": False, "ignore_label": None}
        return (
            all(a is None for a in more)
            and all(attrs.get(key, value) == value for key, value in usual.items())
            and pred.ndim > 0 and pred.size == label.size > 0 and pred.dtype == label.dtype in _FLOATS
        )  # fmt: skip

    def kernel(pred: Array, label: Array, *more: Array | None, weight: float | None, **attrs: Any) -> Any:
        if not is_usual(pred, label, more, attrs):
            return NotImplemented
        found = penalty(pred.astype(_DOUBLE), label.reshape(pred.shape).astype(_DOUBLE)).reshape(len(pred), -1).mean(1)
        return (found if weight is None else found * weight).astype(pred.dtype)

    def pulled(g: Array, pred: Array, label: Array, *more: Array | None, weight: float | None, **attrs: Any) -> Ways:
        if not is_usual(pred, label, more, attrs):
            return NotImplemented
        each = (g * ((1 if weight is None else weight) * len(pred) / pred.size)).reshape(-1, *[1] * (pred.ndim - 1))
        by_pred, by_label = slope(pred.astype(_DOUBLE), label.reshape(pred.shape).astype(_DOUBLE))
        return [lambda: each * by_pred, lambda: (each * by_label).reshape(label.shape)]

    numpy_kernel(name, lambda pred, *_, **__: 2 * pred.size)(kernel)
    pullback_rule(name)(pulled)


_of_samples("l2_loss", lambda x, y: (x - y) ** 2 / 2, lambda x, y: (x - y, y - x))
_of_samples("l1_loss", lambda x, y: np.abs(x - y), lambda x, y: (np.sign(x - y), np.sign(y - x)))
_of_samples(
    "sigmoid_bce_loss",
    lambda x, y: np.maximum(x, 0) - x * y + np.log1p(np.exp(-np.abs(x))),
    lambda x, y: (_sigmoid(x) - y, -x),
)


def _seen(x: Array, mask: Array, temperature: Array | None, axis: int) -> Array | None:
    """Return the probabilities of the elements that a mask lets be seen; None for what is not a usual call."""
    if temperature is not None or x.dtype not in _FLOATS or not x.size or mask.ndim > x.ndim:
        return None
    mask = np.broadcast_to(mask.astype(bool), x.shape)
    # What is masked is low and not infinite, as in `ops.nn`, so that infinite scores give the same.
    scores = np.where(mask, x.astype(_DOUBLE), np.finfo(x.dtype).min)
    powers = np.where(mask, np.exp(scores - _largest(scores, axis)), 0)
    total = np.add.reduce(powers, axis=axis, keepdims=True)
    return powers / np.where(total == 0, 1, total)


@numpy_kernel("masked_softmax", lambda x, *_, **__: 2 * x.size)
def _masked_softmax(x: Array, mask: Array, temperature: Array | None = None, *, axis: int, normalize: bool) -> Any:
    found = _seen(x, mask, temperature, axis)
    return NotImplemented if found is None else found.astype(x.dtype)


@pullback_rule("masked_softmax")
def _of_masked_softmax(
    g: Array, x: Array, mask: Array, temperature: Array | None = None, *, axis: int, normalize: bool
) -> Ways:
    y = _seen(x, mask, temperature, axis)
    if y is None:
        return NotImplemented
    # In a row with NaN what is masked has the gradient 0 all the same.
    return [lambda: np.where(mask, y * (g - np.add.reduce(g * y, axis=axis, keepdims=True)), 0), None]
