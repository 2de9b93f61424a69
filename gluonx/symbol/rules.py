"""What each core operator becomes in a symbol of MXNet 2. See `gluonx.symbol.emit`."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from gluonx.errors import GraphError
from gluonx.symbol.emit import RULES, Emit, Rule, rule
from gluonx.symbol.record import Step, number

__all__: list[str] = []


def _scalar(value: Any) -> dict[str, Any]:
    whole = isinstance(value, int | np.integer | np.bool_)
    return {"scalar": float(value), "is_int": bool(whole)}


def _arrays(emit: Emit, step: Step) -> list[Any]:
    return [emit.array(arg) for arg in step.args if arg is not None]


def _axes(axis: Any, ndim: int) -> tuple[int, ...]:
    if axis is None:
        return tuple(range(ndim))
    return tuple([a % ndim for a in ((axis,) if isinstance(axis, int) else axis)])


def _no(step: Step, *names: str) -> None:
    """Refuse attributes that MXNet has no word for."""
    for name in names:
        value = step.op.attrs.get(name)
        if value is not None and value is not False and value != ():
            raise GraphError(f"MXNet knows no {name}={value!r} here")


# -- elementwise ------------------------------------------------------------------------------------------------------

_UNARY = """
absolute=_npi_absolute negative=_npi_negative reciprocal=_npi_reciprocal sign=_npi_sign rint=_npi_rint ceil=_npi_ceil
floor=_npi_floor trunc=_npi_trunc square=_npi_square sqrt=_npi_sqrt cbrt=_npi_cbrt exp=_npi_exp expm1=_npi_expm1
log=_npi_log log10=_npi_log10 log2=_npi_log2 log1p=_npi_log1p sin=_npi_sin cos=_npi_cos tan=_npi_tan sinh=_npi_sinh
cosh=_npi_cosh tanh=_npi_tanh arcsin=_npi_arcsin arccos=_npi_arccos arctan=_npi_arctan arcsinh=_npi_arcsinh
arccosh=_npi_arccosh arctanh=_npi_arctanh degrees=_npi_degrees radians=_npi_radians logical_not=_npi_logical_not
isnan=_npi_isnan isinf=_npi_isinf isfinite=_npi_isfinite isposinf=_npi_isposinf isneginf=_npi_isneginf
bitwise_not=_npi_bitwise_not copy=_npi_copy relu=_npx_relu sigmoid=_npx_sigmoid log_sigmoid=log_sigmoid mish=mish
softsign=softsign erf=erf erfinv=erfinv gamma=gamma gammaln=gammaln digamma=digamma rsqrt=rsqrt rcbrt=rcbrt
stop_gradient=BlockGrad batch_flatten=Flatten shape_array=shape_array div_sqrt_dim=_contrib_div_sqrt_dim
sign_ste=_contrib_sign_ste round_ste=_contrib_round_ste
"""
for _word in _UNARY.split():
    _ours, _, _theirs = _word.partition("=")
    RULES[_ours] = lambda emit, step, op=_theirs: emit.node(op, emit.array(step.args[0]))

_BINARY = """
add subtract multiply true_divide floor_divide mod power equal not_equal greater greater_equal less less_equal
logical_and logical_or logical_xor copysign arctan2 hypot ldexp fmax fmin fmod logaddexp gcd lcm bitwise_and bitwise_or
bitwise_xor left_shift=bitwise_left_shift right_shift=bitwise_right_shift
"""
_SWAPPED = {
    "greater": "less",
    "greater_equal": "less_equal",
    "less": "greater",
    "less_equal": "greater_equal",
    **dict.fromkeys(("subtract", "true_divide", "floor_divide", "mod", "power", "copysign", "arctan2"), ""),
    **dict.fromkeys(("ldexp", "fmod", "bitwise_left_shift", "bitwise_right_shift"), ""),
}
"""What an operator is with its inputs in the other order; empty where it has one of its own, with an r in front."""


def _binary(name: str) -> Rule:
    def made(emit: Emit, step: Step) -> Any:
        lhs, rhs = step.args
        if number(rhs):
            return emit.node(f"_npi_{name}_scalar", emit.array(lhs), **_scalar(rhs))
        if number(lhs):
            other = _SWAPPED.get(name, name) or f"r{name}"
            return emit.node(f"_npi_{other}_scalar", emit.array(rhs), **_scalar(lhs))
        return emit.node(f"_npi_{name}", emit.array(lhs), emit.array(rhs))

    return made


for _word in _BINARY.split():
    _ours, _, _theirs = _word.partition("=")
    RULES[_ours] = _binary(_theirs or _ours)


@rule("maximum", "minimum")
def _extremum(emit: Emit, step: Step) -> Any:
    lhs, rhs = step.args
    if number(lhs) or number(rhs):
        array, scalar = (lhs, rhs) if number(rhs) else (rhs, lhs)
        return emit.node(f"_{step.op.name}_scalar", emit.array(array), **_scalar(scalar))
    return emit.node(f"broadcast_{step.op.name}", emit.array(lhs), emit.array(rhs))


@rule("integer_power")
def _integer_power(emit: Emit, step: Step) -> Any:
    return emit.node("_npi_power_scalar", emit.array(step.args[0]), **_scalar(step.op.attrs["exponent"]))


@rule("exp2")
def _exp2(emit: Emit, step: Step) -> Any:
    return emit.node("_npi_rpower_scalar", emit.array(step.args[0]), scalar=2.0, is_int=False)


@rule("where")
def _where(emit: Emit, step: Step) -> Any:
    condition, x, y = step.args
    chosen = emit.array(condition)
    if number(x) and number(y):
        return emit.node("_npi_where_scalar2", chosen, x=float(x), y=float(y))
    if number(y):
        return emit.node("_npi_where_rscalar", chosen, emit.array(x), scalar=float(y))
    if number(x):
        return emit.node("_npi_where_lscalar", chosen, emit.array(y), scalar=float(x))
    return emit.node("_npi_where", chosen, emit.array(x), emit.array(y))


@rule("clip")
def _clip(emit: Emit, step: Step) -> Any:
    x, low, high = (*step.args, None, None)[:3]
    if not all(v is None or number(v) for v in (low, high)):
        out = emit.array(x)
        if low is not None:
            out = emit.node("broadcast_maximum", out, emit.array(low))
        return out if high is None else emit.node("broadcast_minimum", out, emit.array(high))
    bounds = (-math.inf if low is None else float(low)), (math.inf if high is None else float(high))
    finite = [max(-3.4e38, min(3.4e38, b)) for b in bounds]
    return emit.node("clip", emit.array(x), a_min=finite[0], a_max=finite[1])


@rule("cast")
def _cast(emit: Emit, step: Step) -> Any:
    return emit.node("Cast", emit.array(step.args[0]), dtype=step.op.attrs["dtype"].name)


@rule("derived cast")
def _astype(emit: Emit, step: Step) -> Any:
    return emit.node("Cast", emit.array(step.args[0]), dtype=np.dtype(step.outs[0].dtype).name)


@rule("derived power")
def _whole_power(emit: Emit, step: Step) -> Any:
    return emit.node("_npi_power_scalar", emit.array(step.args[0]), **_scalar(step.op.extra[1]))


@rule("around")
def _around(emit: Emit, step: Step) -> Any:
    return emit.node("_npi_around", emit.array(step.args[0]), decimals=step.op.attrs["decimals"])


@rule("add_n")
def _add_n(emit: Emit, step: Step) -> Any:
    return emit.node("add_n", *_arrays(emit, step))


@rule("zeros_like", "ones_like", "full_like")
def _like(emit: Emit, step: Step) -> Any:
    fill = {"zeros_like": 0.0, "ones_like": 1.0}.get(step.op.name)
    if fill is None:
        if not number(step.args[1]):
            raise GraphError("MXNet fills with a number only")
        fill = float(step.args[1])
    dtype = step.op.attrs["dtype"]
    return emit.node(
        "_npi_full_like", emit.array(step.args[0]), fill_value=fill, dtype=None if dtype is None else dtype.name
    )


@rule("zeros", "ones")
def _made(emit: Emit, step: Step) -> Any:
    out = step.outs[0]
    return emit.node(f"_npi_{step.op.name}", shape=tuple(out.shape), dtype=np.dtype(out.dtype).name)


@rule("full")
def _full(emit: Emit, step: Step) -> Any:
    out, value = step.outs[0], step.args[0]
    if not number(value):
        raise GraphError("MXNet fills with a number only")
    ones = emit.node("_npi_ones", shape=tuple(out.shape), dtype=np.dtype(out.dtype).name)
    return emit.node("_npi_multiply_scalar", ones, **_scalar(value))


@rule("arange")
def _arange(emit: Emit, step: Step) -> Any:
    start, pace = step.args
    if not number(start) or not number(pace):
        raise GraphError("its bounds must be numbers")
    stop = start + (step.op.attrs["num"] - 0.5) * pace  # in the middle of a step, so that rounding cannot add one
    dtype = np.dtype(step.outs[0].dtype).name
    return emit.node("_npi_arange", start=float(start), stop=float(stop), step=float(pace), dtype=dtype)


# -- reductions -------------------------------------------------------------------------------------------------------


@rule("sum", "mean", "prod", "max", "min", "std", "var", "any", "all")
def _reduce(emit: Emit, step: Step) -> Any:
    attrs = step.op.attrs
    axis = attrs["axis"]
    given: dict[str, Any] = {"axis": "None" if axis is None else _axes(axis, len(step.shapes[0].shape))}
    given["keepdims"] = attrs["keepdims"]
    if attrs.get("dtype") is not None:
        given["dtype"] = attrs["dtype"].name
    if step.op.name in ("std", "var"):
        given["ddof"] = attrs["ddof"]
    return emit.node(f"_npi_{step.op.name.removeprefix('np.')}", emit.array(step.args[0]), **given)


@rule("argmax", "argmin")
def _arg(emit: Emit, step: Step) -> Any:
    attrs = step.op.attrs
    axis = "None" if attrs["axis"] is None else attrs["axis"]
    return emit.node(f"_npi_{step.op.name}", emit.array(step.args[0]), axis=axis, keepdims=attrs["keepdims"])


@rule("norm")
def _norm(emit: Emit, step: Step) -> Any:
    attrs, x = step.op.attrs, emit.array(step.args[0])
    axis = "None" if attrs["axis"] is None else _axes(attrs["axis"], len(step.shapes[0].shape))
    given = {"axis": axis, "keepdims": attrs["keepdims"]}
    if attrs["ord"] == 1:
        return emit.node("_npi_sum", emit.node("_npi_absolute", x), **given)
    return emit.node("_npi_sqrt", emit.node("_npi_sum", emit.node("_npi_square", x), **given))


@rule("logsumexp")
def _logsumexp(emit: Emit, step: Step) -> Any:
    x, axis = emit.array(step.args[0]), _axes(step.op.attrs["axis"], len(step.shapes[0].shape))
    top = emit.node("BlockGrad", emit.node("_npi_max", x, axis=axis, keepdims=True))
    total = emit.node("_npi_sum", emit.node("_npi_exp", emit.node("_npi_subtract", x, top)), axis=axis, keepdims=True)
    out = emit.node("_npi_add", emit.node("_npi_log", total), top)
    return out if step.op.attrs["keepdims"] else emit.node("_npi_squeeze", out, axis=axis)


@rule("cumsum")
def _cumsum(emit: Emit, step: Step) -> Any:
    axis, dtype = step.op.attrs["axis"], step.op.attrs["dtype"]
    name = None if dtype is None else dtype.name
    return emit.node("_npi_cumsum", emit.array(step.args[0]), axis="None" if axis is None else axis, dtype=name)


@rule("sort")
def _sort(emit: Emit, step: Step) -> Any:
    attrs = step.op.attrs
    return emit.node("sort", emit.array(step.args[0]), axis=attrs["axis"], is_ascend=not attrs["descending"])


@rule("argsort")
def _argsort(emit: Emit, step: Step) -> Any:
    attrs, dtype = step.op.attrs, np.dtype(step.outs[0].dtype).name
    ascending = not attrs["descending"]
    return emit.node("argsort", emit.array(step.args[0]), axis=attrs["axis"], is_ascend=ascending, dtype=dtype)


@rule("topk")
def _topk(emit: Emit, step: Step) -> Any:
    attrs = step.op.attrs
    given = {name: attrs[name] for name in ("axis", "k", "ret_typ", "is_ascend")}
    nout = 2 if attrs["ret_typ"] == "both" else None
    return emit.node("topk", emit.array(step.args[0]), nout=nout, dtype=attrs["dtype"].name, **given)


# -- products ---------------------------------------------------------------------------------------------------------


@rule("matmul", "dot")
def _matmul(emit: Emit, step: Step) -> Any:
    return emit.node(f"_npi_{step.op.name}", *_arrays(emit, step))


@rule("batch_dot")
def _batch_dot(emit: Emit, step: Step) -> Any:
    given = {name: step.op.attrs[name] for name in ("transpose_a", "transpose_b")}
    return emit.node("batch_dot", *_arrays(emit, step), **given)


@rule("einsum")
def _einsum(emit: Emit, step: Step) -> Any:
    return emit.node("_npi_einsum", *_arrays(emit, step), subscripts=step.op.attrs["subscripts"])


@rule("tensordot")
def _tensordot(emit: Emit, step: Step) -> Any:
    axes = step.op.attrs["axes"]
    if isinstance(axes, int):
        return emit.node("_npi_tensordot_int_axes", *_arrays(emit, step), axes=axes)
    left, right = ((a,) if isinstance(a, int) else a for a in axes)
    return emit.node("_npi_tensordot", *_arrays(emit, step), a_axes_summed=left, b_axes_summed=right)


# -- shape ------------------------------------------------------------------------------------------------------------


@rule("reshape")
def _reshape(emit: Emit, step: Step) -> Any:
    attrs = step.op.attrs
    shape = attrs["newshape"]
    return emit.node(
        "_npx_reshape",
        emit.array(step.args[0]),
        newshape=(shape,) if isinstance(shape, int) else shape,
        reverse=attrs["reverse"],
        order=attrs["order"],
    )


@rule("transpose")
def _transpose(emit: Emit, step: Step) -> Any:
    axes = step.op.attrs["axes"]
    ndim = len(step.shapes[0].shape)
    return emit.node("_npi_transpose", emit.array(step.args[0]), axes=axes or tuple(range(ndim))[::-1])


@rule("squeeze")
def _squeeze(emit: Emit, step: Step) -> Any:
    axis = step.op.attrs["axis"]
    axis = "None" if axis is None else _axes(axis, len(step.shapes[0].shape))
    return emit.node("_npi_squeeze", emit.array(step.args[0]), axis=axis)


@rule("expand_dims")
def _expand_dims(emit: Emit, step: Step) -> Any:
    out = emit.array(step.args[0])
    for axis in sorted(_axes(step.op.attrs["axis"], len(step.outs[0].shape))):
        out = emit.node("expand_dims", out, axis=axis)
    return out


@rule("swapaxes")
def _swapaxes(emit: Emit, step: Step) -> Any:
    one, two = (step.op.attrs[n] % len(step.shapes[0].shape) for n in ("axis1", "axis2"))
    return emit.node("SwapAxis", emit.array(step.args[0]), dim1=one, dim2=two)


@rule("moveaxis")
def _moveaxis(emit: Emit, step: Step) -> Any:
    ndim = len(step.shapes[0].shape)
    given: Any = {n: _axes(step.op.attrs[n], ndim) for n in ("source", "destination")}
    return emit.node("_npi_moveaxis", emit.array(step.args[0]), **given)


@rule("flip")
def _flip(emit: Emit, step: Step) -> Any:
    axis = _axes(step.op.attrs["axis"], len(step.shapes[0].shape))
    return emit.node("_npi_flip", emit.array(step.args[0]), axis=axis)


@rule("roll")
def _roll(emit: Emit, step: Step) -> Any:
    shift, axis = step.op.attrs["shift"], step.op.attrs["axis"]
    shift = (shift,) if isinstance(shift, int) else shift
    axis = "None" if axis is None else (axis,) if isinstance(axis, int) else axis
    return emit.node("_npi_roll", emit.array(step.args[0]), shift=shift, axis=axis)


@rule("broadcast_to")
def _broadcast_to(emit: Emit, step: Step) -> Any:
    return emit.node("_npi_broadcast_to", emit.array(step.args[0]), shape=tuple(step.outs[0].shape))


@rule("broadcast_like")
def _broadcast_like(emit: Emit, step: Step) -> Any:
    given = {n: step.op.attrs[n] for n in ("lhs_axes", "rhs_axes")}
    return emit.node("broadcast_like", *_arrays(emit, step), **given)


@rule("concatenate")
def _concatenate(emit: Emit, step: Step) -> Any:
    axis = step.op.attrs["axis"]
    return emit.node("Concat", *_arrays(emit, step), dim="None" if axis is None else axis)


@rule("stack")
def _stack(emit: Emit, step: Step) -> Any:
    return emit.node("stack", *_arrays(emit, step), axis=step.op.attrs["axis"])


@rule("split")
def _split(emit: Emit, step: Step) -> Any:
    attrs = step.op.attrs
    cuts, count = attrs["indices_or_sections"], len(step.outs)
    # MXNet's indices begin with the beginning of the first part.
    given: Any = {"indices": (), "sections": cuts} if isinstance(cuts, int) else {"indices": (0, *cuts), "sections": 0}
    return emit.node("_split_v2", emit.array(step.args[0]), nout=count, axis=attrs["axis"], **given)


@rule("slice_channel")
def _slice_channel(emit: Emit, step: Step) -> Any:
    attrs = step.op.attrs
    given = {n: attrs[n] for n in ("num_outputs", "axis", "squeeze_axis")}
    return emit.node("SliceChannel", emit.array(step.args[0]), nout=len(step.outs), **given)


@rule("repeat")
def _repeat(emit: Emit, step: Step) -> Any:
    repeats, axis = step.op.attrs["repeats"], step.op.attrs["axis"]
    if not isinstance(repeats, int):
        raise GraphError("MXNet repeats all elements equally often")
    return emit.node("repeat", emit.array(step.args[0]), repeats=repeats, axis="None" if axis is None else axis)


@rule("tile")
def _tile(emit: Emit, step: Step) -> Any:
    reps = step.op.attrs["reps"]
    return emit.node("tile", emit.array(step.args[0]), reps=(reps,) if isinstance(reps, int) else reps)


@rule("tril", "triu")
def _triangle(emit: Emit, step: Step) -> Any:
    return emit.node(f"_npi_{step.op.name}", emit.array(step.args[0]), k=step.op.attrs["k"])


@rule("pad")
def _pad(emit: Emit, step: Step) -> Any:
    return _pad_with(emit, step, step.args[1] if len(step.args) > 1 else 0.0)


def _pad_with(emit: Emit, step: Step, value: Any) -> Any:
    attrs, ndim = step.op.attrs, len(step.shapes[0].shape)
    width = np.asarray(attrs["pad_width"])
    width = np.broadcast_to(width if width.size in (1, 2) else width.reshape(-1, 2), (ndim, 2))
    if value is not None and not number(value):
        raise GraphError("MXNet pads with a number only")
    pairs = tuple((int(a), int(b)) for a, b in width)
    constant: Any = {"constant_values": float(value or 0)} if attrs["mode"] == "constant" else {}
    return emit.node("_npi_pad", emit.array(step.args[0]), pad_width=pairs, mode=attrs["mode"], **constant)


@rule("depth_to_space", "space_to_depth")
def _blocks(emit: Emit, step: Step) -> Any:
    return emit.node(step.op.name, emit.array(step.args[0]), block_size=step.op.attrs["block_size"])


# -- indexing ---------------------------------------------------------------------------------------------------------


@rule("slice")
def _slice(emit: Emit, step: Step) -> Any:
    attrs = step.op.attrs
    return emit.node("slice", emit.array(step.args[0]), begin=attrs["begin"], end=attrs["end"], step=attrs["step"])


@rule("derived read")
def _read(emit: Emit, step: Step) -> Any:
    """``x[1, 2:4]``: the engine's own operator, whose starts are inputs."""
    _, dims, shape = step.op.extra
    starts = [int(s) for s in step.args[1:]]
    begin, end, pace = [], [], []
    for start, (count, step_) in zip(starts, dims, strict=True):
        stop: int | None = start + (1 if count is None else count * step_)
        begin.append(start)
        end.append(None if step_ < 0 and stop is not None and stop < 0 else stop)
        pace.append(step_)
    out, full = emit.array(step.args[0]), step.shapes[0].shape
    if any(b != 0 or e != n or p != 1 for b, e, p, n in zip(begin, end, pace, full, strict=True)):
        out = emit.node("slice", out, begin=tuple(begin), end=tuple(end), step=tuple(pace))
    return _kept(emit, out, dims, shape)


def _kept(emit: Emit, out: Any, dims: Sequence[Any], shape: Sequence[int]) -> Any:
    """Without the dimensions that an integer took away, and with those that None put in."""
    if any(count is None for count, _ in dims):
        out = emit.node("_npx_reshape", out, newshape=tuple(-3 if count is None else -2 for count, _ in dims) or (-4,))
    left = [count for count, _ in dims if count is not None]
    for axis, size in enumerate(shape):
        if size == 1 and (axis >= len(left) or left[axis] != 1 or len(left) < len(shape)):
            out = emit.node("expand_dims", out, axis=axis)
            left.insert(axis, 1)
    return out


@rule("derived gather")
def _index(emit: Emit, step: Step) -> Any:
    _, pattern = step.op.extra
    places = [i for i, item in enumerate(pattern) if isinstance(item, tuple) and item[0] == "array"]
    whole = all(
        item is Ellipsis or item == ("slice", None, None, None) or i in places for i, item in enumerate(pattern)
    )
    if len(places) != 1 or not whole or Ellipsis in pattern[: places[0]]:
        raise GraphError("MXNet's symbols index by one array beside whole dimensions only")
    return emit.node("take", emit.array(step.args[0]), emit.array(step.args[1]), axis=places[0], mode="wrap")


@rule("take")
def _take(emit: Emit, step: Step) -> Any:
    attrs = step.op.attrs
    if attrs["axis"] is None:
        raise GraphError("MXNet needs an axis")
    return emit.node("take", *_arrays(emit, step), axis=attrs["axis"], mode=attrs["mode"])


@rule("slice_axis")
def _slice_axis(emit: Emit, step: Step) -> Any:
    attrs = step.op.attrs
    end = "None" if attrs["end"] is None else attrs["end"]
    return emit.node("slice_axis", emit.array(step.args[0]), axis=attrs["axis"], begin=attrs["begin"], end=end)


@rule("slice_like")
def _slice_like(emit: Emit, step: Step) -> Any:
    return emit.node("slice_like", *_arrays(emit, step), axes=step.op.attrs["axes"])


@rule("one_hot")
def _one_hot(emit: Emit, step: Step) -> Any:
    attrs = step.op.attrs
    given = {n: attrs[n] for n in ("depth", "on_value", "off_value")}
    return emit.node("one_hot", emit.array(step.args[0]), dtype=attrs["dtype"].name, **given)


@rule("pick")
def _pick(emit: Emit, step: Step) -> Any:
    attrs = step.op.attrs
    return emit.node("pick", *_arrays(emit, step), **{n: attrs[n] for n in ("axis", "keepdims", "mode")})


@rule("gather_nd")
def _gather_nd(emit: Emit, step: Step) -> Any:
    return emit.node("gather_nd", *_arrays(emit, step))


@rule("arange_like")
def _arange_like(emit: Emit, step: Step) -> Any:
    attrs = step.op.attrs
    axis = "None" if attrs["axis"] is None else attrs["axis"]
    given = {n: attrs[n] for n in ("start", "step", "repeat")}
    return emit.node("_contrib_arange_like", emit.array(step.args[0]), axis=axis, **given)


@rule("index_update", "index_add")
def _index_update(emit: Emit, step: Step) -> Any:
    return emit.node(f"_npx_{step.op.name}", *_arrays(emit, step))
