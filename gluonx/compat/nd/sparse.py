"""``mx.nd.sparse``: arrays of csr and row_sparse storage, over `gluonx.sparse`.

The operators of ``mx.nd`` are here by their names too. Those with a rule for sparse arrays (`RULES`) take them as they
are, here and in ``mx.nd``; any other takes them as dense arrays, with a warning, as in MXNet.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from gluonx import sparse
from gluonx.common.frames import door
from gluonx.compat.nd.names import RULES, Rule, module_of, written_nd
from gluonx.compat.nd.ndarray import as_nd, kept_nd
from gluonx.deferred.record import rows
from gluonx.deferred.values.core import new_handle
from gluonx.dtype import on_device
from gluonx.sparse import BaseSparseNDArray, CSRNDArray, RowSparseNDArray, functions

if TYPE_CHECKING:
    from gluonx.common.arguments import Size
    from gluonx.np.handle import ndarray


__all__ = [
    "BaseSparseNDArray",
    "CSRNDArray",
    "RULES",
    "RowSparseNDArray",
    "add",
    "array",
    "cast_storage",
    "csr_matrix",
    "divide",
    "dot",
    "empty",
    "multiply",
    "retain",
    "row_sparse_array",
    "subtract",
    "zeros",
]


def _of(function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def call(*args: object, **kwargs: object) -> ndarray:
        return kept_nd(function(*args, **kwargs))

    return door(call)


array, csr_matrix, row_sparse_array = map(_of, (sparse.array, sparse.csr_matrix, sparse.row_sparse_array))
add, subtract, multiply, divide = map(_of, (sparse.add, sparse.subtract, sparse.multiply, sparse.divide))
zeros, empty = _of(sparse.zeros), _of(sparse.empty)


def cast_storage(data: ndarray, stype: str, out: ndarray | None = None, name: str | None = None) -> ndarray:
    """Return an array in another storage: ``'default'``, ``'csr'`` or ``'row_sparse'``."""
    return written_nd(sparse.cast_storage(data, stype), out)


def retain(data: ndarray, indices: ndarray, out: ndarray | None = None, name: str | None = None) -> ndarray:
    """Return a row_sparse array with only the rows of some numbers."""
    return written_nd(sparse.retain(data, indices), out)


def dot(
    lhs: ndarray,
    rhs: ndarray,
    transpose_a: bool = False,
    transpose_b: bool = False,
    forward_stype: str | None = None,
    out: ndarray | None = None,
    name: str | None = None,
) -> ndarray:
    """Multiply two matrices, of which one or both may be sparse; see `gluonx.sparse.dot`."""
    return written_nd(sparse.dot(lhs, rhs, transpose_a, transpose_b, forward_stype), out)


# -- operators of mx.nd that take sparse arrays as they are ------------------------------------------------------------

_KEEP_ZEROS = (
    "abs arcsin arcsinh arctan arctanh cbrt ceil degrees expm1 fix floor log1p negative radians relu rint round sign "
    "sin sinh sqrt square tan tanh trunc stop_gradient BlockGrad make_loss identity cast Cast"
)


def _rule(names: str) -> Callable[[Rule], Rule]:
    def put(rule: Rule) -> Rule:
        RULES.update(dict.fromkeys(names.split(), rule))
        return rule

    return put


@_rule(_KEEP_ZEROS)
def _mapped(op: Callable[..., Any], x: ndarray, *args: object, **kwargs: object) -> ndarray:
    return functions.mapped(x, lambda values: op(values, *args, **kwargs))


@_rule("zeros_like")
def _zeros_like(op: Callable[..., Any], data: ndarray) -> ndarray:
    return sparse.zeros(data.stype, data.shape, dtype=data.dtype)


@_rule("clip")
def _clip(op: Callable[..., Any], data: ndarray, a_min: Any = None, a_max: Any = None) -> ndarray:
    if float(a_min) > 0 or float(a_max) < 0:
        return NotImplemented
    return functions.mapped(data, lambda values: op(values, a_min=a_min, a_max=a_max))


def _arithmetic(names: str, function: Callable[[Any, Any], Any]) -> None:
    def rule(op: Callable[..., Any], lhs: ndarray, rhs: ndarray) -> ndarray:
        return function(lhs, rhs) if isinstance(lhs, BaseSparseNDArray) else NotImplemented

    RULES.update(dict.fromkeys(names.split(), rule))


_arithmetic("elemwise_add broadcast_add broadcast_plus _plus _add", lambda x, y: x + y)
_arithmetic("elemwise_sub broadcast_sub broadcast_minus _minus _sub", lambda x, y: x - y)
_arithmetic("elemwise_mul broadcast_mul _mul", lambda x, y: x * y)
_arithmetic("elemwise_div broadcast_div _div", lambda x, y: x / y)


@_rule("add_n ElementWiseSum")
def _add_n(op: Callable[..., Any], *arrays: ndarray) -> ndarray:
    arrays = tuple(arrays[0]) if len(arrays) == 1 and isinstance(arrays[0], (list, tuple)) else arrays
    return functions.sum_of(arrays) if all(isinstance(a, RowSparseNDArray) for a in arrays) else NotImplemented


def _along(x: ndarray, axis: Any, keepdims: bool, exclude: bool) -> int | None:
    """Return the axis of a sum that a csr matrix has a rule for; LookupError else."""
    axis = axis[0] if isinstance(axis, (tuple, list)) and len(axis) == 1 else axis
    if not isinstance(x, CSRNDArray) or keepdims or exclude or axis not in (None, (), 0, 1, -1, -2):
        raise LookupError
    return None if axis in (None, ()) else axis % 2


@_rule("sum sum_axis mean")
def _sum(op: Callable[..., Any], data: Any, axis: Any = None, keepdims: bool = False, exclude: bool = False) -> ndarray:
    try:
        axis = _along(data, axis, keepdims, exclude)
    except LookupError:
        return NotImplemented
    total = functions.sum_axis(data, axis)
    total = total.reshape((1,)) if axis is None else total
    count = data.shape[axis] if axis is not None else data.shape[0] * data.shape[1]
    return total / count if op.__name__ == "mean" else total


@_rule("norm")
def _norm(
    op: Callable[..., Any], data: BaseSparseNDArray, ord: int = 2, axis: Size | None = None, **kwargs: object
) -> ndarray:
    if axis is not None or kwargs or ord not in (1, 2) or functions.flowing([data]):
        return NotImplemented
    return op(data._handle.reshape((-1,)), ord=ord)


@_rule("slice crop")
def _slice(op: Callable[..., Any], data: ndarray, begin: Any = None, end: Any = None, step: Any = None) -> ndarray:
    if not isinstance(data, CSRNDArray) or any(s not in (None, 1) for s in step or ()):
        return NotImplemented
    return functions.slice_csr(data, *[(v,) if isinstance(v, int) else v for v in (begin, end)])


@_rule("concat Concat")
def _concat(op: Callable[..., Any], *arrays: Any, dim: int = 1) -> ndarray:
    arrays = tuple(arrays[0]) if len(arrays) == 1 and isinstance(arrays[0], (list, tuple)) else arrays
    if dim != 0 or not all(isinstance(a, CSRNDArray) for a in arrays):
        return NotImplemented
    return functions.stack_rows(arrays)


@_rule("dot")
def _dot(op: Callable[..., Any], *args: Any, **kwargs: Any) -> ndarray:
    return sparse.dot(*args, **kwargs)


@_rule("cast_storage")
def _cast(op: Callable[..., Any], data: ndarray, stype: str = "default") -> ndarray:
    return sparse.cast_storage(data, stype)


@_rule("sparse_retain _sparse_retain")
def _retain(op: Callable[..., Any], data: ndarray, indices: ndarray) -> ndarray:
    return sparse.retain(data, indices)


def _step(op: Callable[..., Any], weight: ndarray, grad: ndarray, *states: ndarray, **kwargs: Any) -> ndarray:
    """Return an optimizer's step on the rows of a gradient alone."""
    if not isinstance(grad, RowSparseNDArray) or not kwargs.get("lazy_update", True):
        return NotImplemented
    numbers, own = new_handle(on_device(grad.row_numbers.astype("int32"))), grad.exact()._handle
    arrays = [_dense_of(a) for a in (weight, *states)]
    picked = [as_nd(rows.look_up(a, numbers)) for a in arrays]
    new = op(picked[0], own, *picked[1:], **kwargs)
    for array, part in zip(states, picked[1:], strict=True):
        array[:] = _replaced(_dense_of(array), numbers, part)
    return _replaced(arrays[0], numbers, new)


def _dense_of(array: ndarray) -> ndarray:
    return array.tostype("default") if isinstance(array, BaseSparseNDArray) else array


def _replaced(array: ndarray, numbers: ndarray, part: ndarray) -> ndarray:
    new = array.copy()
    new[numbers] = part
    return new


RULES.update(dict.fromkeys(("sgd_update", "sgd_mom_update", "adam_update", "ftrl_update"), _step))


def adagrad_update(
    weight: ndarray,
    grad: ndarray,
    history: ndarray,
    lr: float,
    epsilon: float = 1e-7,
    wd: float = 0.0,
    rescale_grad: float = 1.0,
    clip_gradient: float = -1.0,
    out: ndarray | None = None,
    name: str | None = None,
) -> ndarray:
    """Update the rows of a weight, and of the sums of squares in `history`, that a row_sparse gradient has.

    Raises
    ------
    TypeError
        For a gradient of another storage.
    ValueError
        For a weight decay, as in MXNet.
    """
    if not isinstance(grad, RowSparseNDArray):
        raise TypeError("adagrad_update is for row_sparse gradients")
    if wd:
        raise ValueError("adagrad_update has no weight decay, as in MXNet")

    def step(w: ndarray, g: ndarray, h: ndarray) -> ndarray:
        g = g * rescale_grad
        g = as_nd(g).clip(-clip_gradient, clip_gradient) if clip_gradient > 0 else g
        h[:] = h + g * g
        return w - lr * g / (h**0.5 + epsilon)

    return written_nd(_step(step, weight, grad, history), weight if out is None else out)


__getattr__, _ = module_of(globals(), "nd")
