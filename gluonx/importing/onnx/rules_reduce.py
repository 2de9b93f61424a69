"""Reductions. See `gluonx.importing.onnx.rules`."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from gluonx import np as gnp
from gluonx import npx
from gluonx.importing.onnx.rules import Call, rule
from gluonx.importing.onnx.rules_shape import axes_of

if TYPE_CHECKING:
    from gluonx.np.handle import ndarray


def _norm(x: ndarray, ord: int, axis: Any, keepdims: bool) -> Any:
    if x.dtype.kind in "iu":  # exact, as ONNX has it
        found = gnp.sum(gnp.abs(x) if ord == 1 else gnp.square(x), axis=axis, keepdims=keepdims)
        return found if ord == 1 else gnp.sqrt(found)
    return npx.norm(x, ord, axis, keepdims=keepdims)


def _of_nothing(x: ndarray, high: bool, axis: Any, keepdims: bool) -> Any:
    """Return the extremes of no elements: the ends of the type."""
    shape = gnp.sum(x, axis=axis, keepdims=keepdims).shape
    if x.dtype.kind == "f":
        return gnp.full(shape, float("inf") if high else -float("inf"), dtype=x.dtype)
    if x.dtype.kind == "b":
        return gnp.full(shape, high, dtype=x.dtype)
    info = gnp.iinfo(x.dtype)
    return gnp.full(shape, int(info.max if high else info.min), dtype=x.dtype)


_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "ReduceSum": gnp.sum,
    "ReduceMean": gnp.mean,
    "ReduceProd": gnp.prod,
    "ReduceMax": lambda x, **how: gnp.max(x, **how) if x.size else _of_nothing(x, False, **how),
    "ReduceMin": lambda x, **how: gnp.min(x, **how) if x.size else _of_nothing(x, True, **how),
    "ReduceL1": lambda x, **how: _norm(x, 1, **how),
    "ReduceL2": lambda x, **how: _norm(x, 2, **how),
    "ReduceLogSum": lambda x, **how: gnp.log(gnp.sum(x, **how)),
    "ReduceLogSumExp": npx.logsumexp,
    "ReduceSumSquare": lambda x, **how: gnp.sum(gnp.square(x), **how),
}


def _reduction(function: Callable[..., Any]) -> Callable[[Call], Any]:
    def compute(call: Call) -> ndarray:
        x, axes = call[0], axes_of(call)
        if not axes and not call.attr("noop_with_empty_axes", 0):
            axes = tuple(range(x.ndim))
        if not axes:  # each element by itself
            return function(gnp.expand_dims(x, -1), axis=(-1,), keepdims=False).astype(x.dtype)
        return function(x, axis=axes, keepdims=bool(call.attr("keepdims", 1))).astype(x.dtype)

    return compute


for _name, _function in _FUNCTIONS.items():
    rule(_name, known=(1,))(_reduction(_function))


rule("ArgMax")(lambda call: _place(call, gnp.argmax))
rule("ArgMin")(lambda call: _place(call, gnp.argmin))


def _place(call: Call, function: Any) -> Any:
    x, axis = call[0], call.attr("axis", 0)
    if call.attr("select_last_index", 0):
        found = gnp.subtract(x.shape[axis] - 1, function(gnp.flip(x, axis), axis=axis))
    else:
        found = function(x, axis=axis)
    found = found.astype("int64")
    return gnp.expand_dims(found, axis) if call.attr("keepdims", 1) else found
