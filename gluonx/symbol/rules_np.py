"""What further functions of ``gluonx.np`` become in a symbol of MXNet 2. See `gluonx.symbol.emit`.

Operators called ``np.sum`` are what functions use when they are given more than the core operator of the name knows;
MXNet knows some of that, and the rest is refused.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gluonx.errors import GraphError
from gluonx.symbol.emit import RULES, Emit, rule
from gluonx.symbol.record import Step, number
from gluonx.symbol.rules import _arrays, _axes, _pad_with

__all__: list[str] = []


def _only(step: Step, count: int) -> None:
    """Refuse arrays beyond the first `count`: ``where=``, ``initial=`` and their like."""
    if any(arg is not None for arg in step.args[count:]):
        raise GraphError("MXNet knows no where= or initial= here")


def _dtype(step: Step) -> dict[str, Any]:
    dtype = step.op.attrs.get("dtype")
    return {} if dtype is None else {"dtype": np.dtype(dtype).name}


@rule("np.sum", "np.mean", "np.prod", "np.max", "np.min", "np.amax", "np.amin", "np.var", "np.std")
def _reduce(emit: Emit, step: Step) -> Any:
    _only(step, 1)
    attrs, name = step.op.attrs, step.op.name.removeprefix("np.").removeprefix("a")
    axis = "None" if attrs["axis"] is None else _axes(attrs["axis"], len(step.shapes[0].shape))
    given: dict[str, Any] = {"axis": axis, "keepdims": attrs["keepdims"], **_dtype(step)}
    if name in ("var", "std"):
        given["ddof"] = int(attrs["correction"])
    return emit.node(f"_npi_{name}", emit.array(step.args[0]), **given)


RULES["np.matmul"] = lambda emit, step: emit.node("_npi_matmul", *_arrays(emit, step))
RULES["np.dot"] = lambda emit, step: emit.node("_npi_dot", *_arrays(emit, step))
RULES["np.einsum"] = RULES["einsum"]
RULES["np.tensordot"] = RULES["tensordot"]
RULES["np.sort"] = RULES["sort"]
RULES["np.argsort"] = RULES["argsort"]
RULES["np.copy"] = RULES["copy"]
RULES["kron"] = lambda emit, step: emit.node("_npi_kron", *_arrays(emit, step))
RULES["linalg_solve"] = lambda emit, step: emit.node("_npi_solve", *_arrays(emit, step))
RULES["linalg_cholesky"] = lambda emit, step: emit.node("_npi_cholesky", *_arrays(emit, step))
RULES["linalg_inv"] = lambda emit, step: emit.node("_linalg_inverse", *_arrays(emit, step))
RULES["linalg_det"] = lambda emit, step: emit.node("_linalg_det", *_arrays(emit, step))


@rule("np.concatenate", "np.concat")
def _concatenate(emit: Emit, step: Step) -> Any:
    axis = step.op.attrs["axis"]
    out = emit.node("Concat", *_arrays(emit, step), dim="None" if axis is None else axis)
    return emit.node("Cast", out, **_dtype(step)) if _dtype(step) else out


@rule("np.stack")
def _stack(emit: Emit, step: Step) -> Any:
    out = emit.node("stack", *_arrays(emit, step), axis=step.op.attrs["axis"])
    return emit.node("Cast", out, **_dtype(step)) if _dtype(step) else out


@rule("hstack", "vstack", "dstack", "column_stack")
def _joined(emit: Emit, step: Step) -> Any:
    if _dtype(step):
        raise GraphError("MXNet knows no dtype= here")
    ndim, name = len(step.shapes[0].shape), step.op.name
    if name == "hstack":
        return emit.node("Concat", *_arrays(emit, step), dim=0 if ndim == 1 else 1)
    wanted = {"vstack": 2, "dstack": 3, "column_stack": 2}[name]
    if ndim < wanted:
        raise GraphError(f"arrays of {ndim} dimensions must be given their {wanted} dimensions first")
    return emit.node("Concat", *_arrays(emit, step), dim={"vstack": 0, "dstack": 2, "column_stack": 1}[name])


@rule("np.pad")
def _pad(emit: Emit, step: Step) -> Any:
    attrs = step.op.attrs
    _only(step, 2)
    if attrs["stat_length"] is not None or attrs["reflect_type"] not in (None, "even"):
        raise GraphError("MXNet knows no stat_length= and no odd reflection")
    return _pad_with(emit, step, step.args[1] if len(step.args) > 1 else None)


@rule("np.roll")
def _roll(emit: Emit, step: Step) -> Any:
    shift, axis = step.args[1], step.op.attrs["axis"]
    if not number(shift):
        raise GraphError("MXNet shifts by numbers only")
    axis = "None" if axis is None else (axis,) if isinstance(axis, int) else axis
    return emit.node("_npi_roll", emit.array(step.args[0]), shift=(int(shift),), axis=axis)


@rule("rot90")
def _rot90(emit: Emit, step: Step) -> Any:
    return emit.node("_npi_rot90", emit.array(step.args[0]), k=step.op.attrs["k"], axes=step.op.attrs["axes"])


@rule("diag")
def _diag(emit: Emit, step: Step) -> Any:
    return emit.node("_npi_diag", emit.array(step.args[0]), k=step.op.attrs["k"])


@rule("diagonal", "trace")
def _diagonal(emit: Emit, step: Step) -> Any:
    given = {n: step.op.attrs[n] for n in ("offset", "axis1", "axis2")}
    if _dtype(step):
        raise GraphError("MXNet knows no dtype= here")
    return emit.node(f"_npi_{step.op.name}", emit.array(step.args[0]), **given)


@rule("nan_to_num")
def _nan_to_num(emit: Emit, step: Step) -> Any:
    words = dict(zip(("nan", "posinf", "neginf"), step.args[1:], strict=False))
    if not all(v is None or number(v) for v in words.values()):
        raise GraphError("MXNet replaces by numbers only")
    given: Any = {n: float(v) for n, v in words.items() if v is not None}
    return emit.node("_npi_nan_to_num", emit.array(step.args[0]), **given)


@rule("average")
def _average(emit: Emit, step: Step) -> Any:
    attrs, inputs = step.op.attrs, _arrays(emit, step)
    if attrs["keepdims"]:
        raise GraphError("MXNet knows no keepdims= here")
    axis = "None" if attrs["axis"] is None else _axes(attrs["axis"], len(step.shapes[0].shape))
    nout = 2 if attrs["returned"] else None
    return emit.node(
        "_npi_average", *inputs, nout=nout, axis=axis, returned=attrs["returned"], weighted=len(inputs) > 1
    )


@rule("cross")
def _cross(emit: Emit, step: Step) -> Any:
    attrs = step.op.attrs
    given = {n: attrs[n] if attrs["axis"] is None else attrs["axis"] for n in ("axisa", "axisb", "axisc")}
    return emit.node("_npi_cross", *_arrays(emit, step), **given)


@rule("diff")
def _diff(emit: Emit, step: Step) -> Any:
    _only(step, 1)
    return emit.node("_npi_diff", emit.array(step.args[0]), n=step.op.attrs["n"], axis=step.op.attrs["axis"])


@rule("atleast_1d", "atleast_2d", "atleast_3d")
def _atleast(emit: Emit, step: Step) -> Any:
    return emit.node(f"_npi_{step.op.name}", *_arrays(emit, step), nout=len(step.args))


@rule("linalg_norm")
def _norm(emit: Emit, step: Step) -> Any:
    attrs = step.op.attrs
    order: Any = attrs["ord"]
    axis = attrs["axis"]
    axes = "None" if axis is None else (axis,) if isinstance(axis, int) else axis
    flag = -2 if order is None and axis is None else 1 if order in (None, "fro") else 2 if order == "nuc" else -1
    given: Any = {"ord": order if flag == -1 else 2.0, "keepdims": attrs["keepdims"], "flag": flag}
    return emit.node("_npi_norm", emit.array(step.args[0]), axis=axes, **given)


@rule("random_uniform", "random_normal")
def _random(emit: Emit, step: Step) -> Any:
    names = ("low", "high") if step.op.name == "random_uniform" else ("loc", "scale")
    if not all(number(v) for v in step.args):
        raise GraphError("its parameters must be numbers")
    out = step.outs[0]
    given: Any = {n: float(v) for n, v in zip(names, step.args, strict=False)}
    return emit.node(
        f"_npi_{step.op.name.removeprefix('random_')}", size=tuple(out.shape), dtype=np.dtype(out.dtype).name, **given
    )
