"""ONNX rules of reductions, running sums and sorting. See `gluonx.export.onnx.emit`."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from gluonx.errors import GraphError
from gluonx.export.onnx.emit import Emit, rule
from gluonx.export.onnx.graph import Value, is_float
from gluonx.export.onnx.rules_elementwise import boolean, where, wider
from gluonx.export.record import Step

if TYPE_CHECKING:
    from gluonx.dtype import DTypeLike


_BOOL = np.dtype(bool)


def axes_of(axis: Any, ndim: int) -> tuple[int, ...]:
    """Axes counted from the front; all of them for None."""
    if axis is None:
        return tuple(range(ndim))
    return tuple(sorted(a % ndim for a in ((axis,) if isinstance(axis, int) else axis)))


def reduced(emit: Emit, kind: str, x: Value, axes: tuple[int, ...], keepdims: bool) -> Value:
    """Return a reduction; over no axis at all it is nothing."""
    if not axes:
        return x
    shape = [1 if i in axes else n for i, n in enumerate(x.shape) if keepdims or i not in axes]
    # Without axes ONNX reduces over all.
    given = None if len(axes) == x.ndim else emit.ints(*axes)
    return emit.node(kind, x, given, keepdims=int(keepdims), shape=tuple(shape))


def _axes(step: Step) -> tuple[int, ...]:
    return axes_of(step.op.attrs["axis"], len(step.shapes[0].shape))


def _only(step: Step, count: int = 1) -> None:
    """Refuse ``where=``, ``initial=`` and their like."""
    if any(arg is not None for arg in step.args[count:]):
        raise GraphError("no where=, initial= or mean= in ONNX")


@rule("sum", "mean", "prod", "product", "max", "min")
def _reduce(emit: Emit, step: Step) -> Any:
    _only(step)
    kind = "ReduceProd" if step.op.name == "product" else f"Reduce{step.op.name.capitalize()}"
    x = emit.value(step.args[0], wider(step.outs[0].dtype))
    return reduced(emit, kind, x, _axes(step), step.op.attrs["keepdims"])


@rule("any", "all", "sometrue", "alltrue")
def _truth(emit: Emit, step: Step) -> Any:
    _only(step)
    kind = "ReduceMin" if "all" in step.op.name else "ReduceMax"
    x = emit.cast(boolean(emit, emit.value(step.args[0])), np.int32)
    return boolean(emit, reduced(emit, kind, x, _axes(step), step.op.attrs["keepdims"]))


@rule("count_nonzero")
def _count_nonzero(emit: Emit, step: Step) -> Any:
    x = emit.cast(boolean(emit, emit.value(step.args[0])), step.outs[0].dtype)
    return reduced(emit, "ReduceSum", x, _axes(step), step.op.attrs["keepdims"])


@rule("ptp")
def _range(emit: Emit, step: Step) -> Any:
    x = emit.value(step.args[0], wider(step.outs[0].dtype))
    parts = [reduced(emit, kind, x, _axes(step), step.op.attrs["keepdims"]) for kind in ("ReduceMax", "ReduceMin")]
    return emit.node("Sub", *parts)


@rule("var", "std")
def _variance(emit: Emit, step: Step) -> Any:
    _only(step)
    attrs, axes = step.op.attrs, _axes(step)
    x = emit.value(step.args[0], step.outs[0].dtype)
    away = emit.node("Sub", x, reduced(emit, "ReduceMean", x, axes, True), shape=x.shape)
    ddof = attrs["ddof"]
    if ddof:
        shape = step.shapes[0].shape
        count = emit.cast(emit.squeeze(emit.dimension(math.prod([shape[a] for a in axes]) - int(ddof)), 0), x.dtype)
        total = reduced(emit, "ReduceSumSquare", away, axes, attrs["keepdims"])
        out = emit.node("Div", total, count)
    else:
        squares = emit.node("Mul", away, away, shape=x.shape)
        out = reduced(emit, "ReduceMean", squares, axes, attrs["keepdims"])
    return emit.node("Sqrt", out) if "std" in step.op.name else out


@rule("norm")
def _norm(emit: Emit, step: Step) -> Any:
    attrs = step.op.attrs
    x = emit.value(step.args[0], step.outs[0].dtype)
    return reduced(emit, "ReduceL1" if attrs["ord"] == 1 else "ReduceL2", x, _axes(step), attrs["keepdims"])


@rule("linalg_norm", "linalg_vector_norm")
def _linalg_norm(emit: Emit, step: Step) -> Any:
    attrs, ndim = step.op.attrs, len(step.shapes[0].shape)
    order, axes = attrs["ord"], _axes(step)
    whole = attrs["axis"] is None and (order is None or ndim == 1)
    plain = order in (None, 2) and (whole or len(axes) == 1)
    if plain or (order in (None, "fro") and len(axes) == 2) or ("vector" in step.op.name and order == 2):
        kind = "ReduceL2"
    elif order == 1 and (len(axes) == 1 or "vector" in step.op.name):
        kind = "ReduceL1"
    else:
        raise GraphError(f"no norm of order {order!r} in ONNX")
    return reduced(emit, kind, emit.value(step.args[0], step.outs[0].dtype), axes, attrs["keepdims"])


@rule("logsumexp")
def _logsumexp(emit: Emit, step: Step) -> Any:
    x = emit.value(step.args[0], step.outs[0].dtype)
    return reduced(emit, "ReduceLogSumExp", x, _axes(step), step.op.attrs["keepdims"])


@rule("average")
def _average(emit: Emit, step: Step) -> Any:
    attrs, axes = step.op.attrs, _axes(step)
    x = emit.value(step.args[0], step.outs[0].dtype)
    weights = step.args[1] if len(step.args) > 1 else None
    if attrs["returned"]:
        raise GraphError("the sum of the weights is not given out")
    if weights is None:
        return reduced(emit, "ReduceMean", x, axes, attrs["keepdims"])
    scale = emit.value(weights, x.dtype)
    if scale.ndim != x.ndim:
        scale = emit.unsqueeze(scale, *[i for i in range(x.ndim) if i not in axes])
    total = reduced(emit, "ReduceSum", emit.node("Mul", x, scale, shape=x.shape), axes, attrs["keepdims"])
    return emit.node("Div", total, reduced(emit, "ReduceSum", scale, axes, attrs["keepdims"]))


# -- places and order -------------------------------------------------------------------------------------------------


def _flat(emit: Emit, step: Step, dtype: DTypeLike = None) -> tuple[Value, int]:
    """Return the data and the axis; flattened where no axis is named."""
    x = emit.value(step.args[0], dtype)
    axis = step.op.attrs["axis"]
    if axis is None:
        return emit.reshape(x, (math.prod(x.shape),)), 0
    return x, axis % max(x.ndim, 1)


@rule("argmax", "argmin")
def _arg(emit: Emit, step: Step) -> Any:
    x, axis = _flat(emit, step, wider(step.shapes[0].dtype))
    kind = "ArgMax" if step.op.name == "argmax" else "ArgMin"
    keep = step.op.attrs["keepdims"] and step.op.attrs["axis"] is not None
    out = emit.node(kind, x, axis=axis, keepdims=int(keep), dtype=np.int64, shape=())
    if step.op.attrs["keepdims"] and not keep:
        return emit.unsqueeze(out, *range(len(step.outs[0].shape)))
    return out


@rule("cumsum")
def _cumsum(emit: Emit, step: Step) -> Any:
    x, axis = _flat(emit, step, wider(step.outs[0].dtype))
    return emit.node("CumSum", x, emit.constant(axis, np.int64))


def _ranked(emit: Emit, x: Value, axis: int, count: Any, largest: bool) -> list[Value]:
    dtype = wider(x.dtype)
    k = emit.dimension(count)
    given: dict[str, Any] = {"axis": axis, "largest": int(largest), "sorted": 1}
    return emit.node("TopK", emit.cast(x, dtype), k, nout=2, dtype=[dtype, np.int64], **given)


@rule("sort", "argsort")
def _sort(emit: Emit, step: Step) -> Any:
    x, axis = _flat(emit, step)
    found = _ranked(emit, x, axis, x.shape[axis], step.op.attrs["descending"])
    return found[1 if "arg" in step.op.name else 0]


@rule("msort")
def _msort(emit: Emit, step: Step) -> Any:
    x = emit.value(step.args[0])
    return _ranked(emit, x, 0, x.shape[0], False)[0]


@rule("topk")
def _topk(emit: Emit, step: Step) -> Any:
    attrs = step.op.attrs
    x, axis = _flat(emit, step)
    size = x.shape[axis]
    values, places = _ranked(emit, x, axis, attrs["k"] or size, not attrs["is_ascend"])
    kind = attrs["ret_typ"]
    if kind == "both":
        return [values, places]
    if kind != "mask":
        return values if kind == "value" else places
    # Whether a place is among the chosen: compared along a new axis in front of the others.
    last = [i for i in range(x.ndim) if i != axis] + [axis]
    places.shape = values.shape = tuple([attrs["k"] or size if i == axis else n for i, n in enumerate(x.shape)])
    chosen = emit.unsqueeze(emit.transpose(places, last), x.ndim)
    hit = emit.cast(emit.node("Equal", chosen, emit.positions(size), dtype=_BOOL, shape=None), wider(x.dtype))
    found = emit.node("ReduceMax", hit, emit.ints(-2), keepdims=0, shape=tuple([x.shape[i] for i in last]))
    out = emit.transpose(found, np.argsort(last).tolist())
    return emit.reshape(out, step.outs[0].shape)


@rule("nansum")
def _nansum(emit: Emit, step: Step) -> Any:
    _only(step)
    x = emit.value(step.args[0], wider(step.outs[0].dtype))
    if is_float(x.dtype):
        shape = x.shape
        x = where(emit, emit.node("IsNaN", x, dtype=_BOOL), emit.constant(0, x.dtype), x)
        x.shape = shape
    return reduced(emit, "ReduceSum", x, _axes(step), step.op.attrs["keepdims"])
