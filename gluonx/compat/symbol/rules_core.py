"""Rules that turn core operators into a symbol of MXNet 2. See `gluonx.compat.symbol.emit`."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from gluonx.compat.symbol.emit import RULES, Emit, Rule, rule
from gluonx.compat.symbol.ops2 import BINARY, REVERSED, UNARY
from gluonx.errors import GraphError
from gluonx.export.record import Step, is_open, number

if TYPE_CHECKING:
    from gluonx.compat.symbol.graph import Entry
    from gluonx.dtype import DTypeLike


# -------------------- tensors


def _scalar(value: Any) -> dict[str, Any]:
    whole = isinstance(value, int | np.integer | np.bool_)
    return {"scalar": float(value), "is_int": bool(whole)}


def _arrays(emit: Emit, step: Step) -> list[Any]:
    return [emit.array(arg) for arg in step.args if arg is not None]


def _axes(axis: Any, ndim: int) -> tuple[int, ...]:
    if axis is None:
        return tuple(range(ndim))
    return tuple([a % ndim for a in ((axis,) if isinstance(axis, int) else axis)])


def _axes_or_none(step: Step) -> Any:
    """Return the axes as MXNet writes them."""
    axis = step.op.attrs["axis"]
    return "None" if axis is None else _axes(axis, _ndim(step))


def _only(step: Step, count: int) -> None:
    """Refuse arrays beyond the first `count`: ``where=``, ``initial=`` and their like."""
    if any(arg is not None for arg in step.args[count:]):
        raise GraphError("MXNet knows no where= or initial= here")


# -- operators that MXNet has too -------------------------------------------------------------------------------------

_PLAIN = """
relu=_npx_relu sigmoid=_npx_sigmoid log_sigmoid=log_sigmoid mish=mish softsign=softsign erf=erf erfinv=erfinv
gamma=gamma gammaln=gammaln digamma=digamma rsqrt=rsqrt rcbrt=rcbrt stop_gradient=BlockGrad batch_flatten=Flatten
shape_array=shape_array div_sqrt_dim=_contrib_div_sqrt_dim sign_ste=_contrib_sign_ste round_ste=_contrib_round_ste
add_n=add_n matmul=_npi_matmul dot=_npi_dot kron=_npi_kron gather_nd=gather_nd index_update=_npx_index_update
index_add=_npx_index_add linalg_solve=_npi_solve linalg_cholesky=_npi_cholesky linalg_inv=_linalg_inverse
linalg_det=_linalg_det atleast_1d=_npi_atleast_1d atleast_2d=_npi_atleast_2d atleast_3d=_npi_atleast_3d
"""
_WITH_ATTRIBUTES = """
around _npi_around: decimals
cast Cast: dtype
smooth_l1 _: scalar
argmax _npi_argmax: axis? keepdims
argmin _npi_argmin: axis? keepdims
sort _: axis is_ascend=not(descending)
argsort _: axis is_ascend=not(descending) dtype=made_dtype()
topk _: axis k ret_typ is_ascend dtype
integer_power _npi_power_scalar: scalar=float(exponent) is_int=whole(exponent)
batch_dot _: transpose_a transpose_b
einsum _npi_einsum: subscripts
broadcast_like _: lhs_axes rhs_axes
reshape_like _: lhs_begin lhs_end rhs_begin rhs_end
concatenate Concat: dim=axis?
stack _: axis
squeeze _npi_squeeze: axis=axes(axis)?
swapaxes SwapAxis: dim1=axis(axis1) dim2=axis(axis2)
moveaxis _npi_moveaxis: source=axes(source) destination=axes(destination)
transpose _npi_transpose: axes=order(axes)
flip _npi_flip: axis=axes(axis)
roll _npi_roll: shift=tuple(shift) axis=tuple(axis)?
tile _: reps=tuple(reps)
slice_channel SliceChannel: num_outputs axis squeeze_axis
tril _npi_tril: k
triu _npi_triu: k
diag _npi_diag: k
rot90 _npi_rot90: k axes
depth_to_space _: block_size
space_to_depth _: block_size
slice _: begin end step
slice_axis _: axis begin end?
slice_like _: axes
one_hot _: depth on_value off_value dtype
pick _: axis keepdims mode
arange_like _contrib_arange_like: axis? start step repeat
instance_norm InstanceNorm: eps
layer_norm LayerNorm: axis eps output_mean_var
dropout Dropout: p mode axes
l2_normalization L2Normalization: eps mode
lrn LRN: alpha beta knorm nsize
activation Activation: act_type
softrelu Activation: act_type='softrelu'
hard_sigmoid _: alpha beta
elu LeakyReLU: act_type='elu' slope=alpha
selu LeakyReLU: act_type='selu'
sequence_mask SequenceMask: use_sequence_length axis value
sequence_last SequenceLast: use_sequence_length axis
sequence_reverse SequenceReverse: use_sequence_length axis
bilinear_resize _contrib_BilinearResize2D: mode='size' height width align_corners
roi_align _contrib_ROIAlign: pooled_size spatial_scale sample_ratio position_sensitive aligned
box_nms _contrib_box_nms: *
multibox_prior _contrib_MultiBoxPrior: sizes ratios clip steps offsets
multibox_detection _contrib_MultiBoxDetection: *
interleaved_matmul_selfatt_qk _contrib_interleaved_matmul_selfatt_qk: heads
interleaved_matmul_selfatt_valatt _contrib_interleaved_matmul_selfatt_valatt: heads
interleaved_matmul_encdec_qk _contrib_interleaved_matmul_encdec_qk: heads
interleaved_matmul_encdec_valatt _contrib_interleaved_matmul_encdec_valatt: heads
"""
"""Rows ``core MXNet: attributes``, ``_`` for a name that is the same. MXNet's attribute is ``name`` or ``theirs=ours``
(``theirs='text'`` for a constant, ``theirs=reader(ours)`` for what one of `_READERS` makes of it), with ``?`` where it
writes None as a value; ``*`` stands for all."""

_READERS: dict[str, Callable[[Step, Any], Any]] = {
    "axes": lambda step, axes: _axes(axes, _ndim(step)),
    "axis": lambda step, axis: axis % _ndim(step),
    "float": lambda step, value: float(value),
    "made_dtype": lambda step, _: np.dtype(step.outs[0].dtype).name,
    "not": lambda step, value: not value,
    "order": lambda step, axes: axes or tuple(range(_ndim(step)))[::-1],
    "tuple": lambda step, value: (value,) if isinstance(value, int) else value,
    "whole": lambda step, value: isinstance(value, int | np.integer | np.bool_),
}


def _ndim(step: Step) -> int:
    return len(step.shapes[0].shape)


def _attribute(step: Step, source: str, none: bool) -> Any:
    """Return what a word of a row, `source` behind the equals sign, says; the text ``None`` for None if it is one."""
    if source[0] == "'":
        return source.strip("'")
    reader, _, name = source.removesuffix(")").rpartition("(")
    value = step.op.attrs[name] if name else None
    if none and value is None:
        return "None"
    return _READERS[reader](step, value) if reader else value


def _same(theirs: str, words: Sequence[str]) -> Rule:
    def made(emit: Emit, step: Step) -> Entry:
        given: dict[str, Any] = {}
        for word in step.op.attrs if words == ["*"] else words:
            name, _, source = word.rstrip("?").partition("=")
            given[name] = _attribute(step, source or name, word[-1] == "?")
        nout = len(step.outs) if len(step.outs) > 1 else None
        return emit.node(theirs, *_arrays(emit, step), nout=nout, **given)

    return made


for _word in UNARY:
    rule(_word)(_same(f"_npi_{_word}", ()))
for _word in _PLAIN.split():
    _ours, _, _theirs = _word.partition("=")
    rule(_ours)(_same(_theirs, ()))
for _row in _WITH_ATTRIBUTES.strip().split("\n"):
    _names, _, _attrs = _row.partition(":")
    _ours, _theirs = _names.split()
    rule(_ours)(_same(_ours if _theirs == "_" else _theirs, _attrs.split()))

# -- elementwise ------------------------------------------------------------------------------------------------------

_MIRRORED = {"greater": "less", "less": "greater"}


def _swapped(name: str) -> str:
    """Return the name of an operator with its inputs in the other order."""
    if name in REVERSED:
        return f"r{name}"
    first, _, rest = name.partition("_")
    return name.replace(first, _MIRRORED[first]) if first in _MIRRORED and rest in ("", "equal") else name


def _binary(name: str) -> Rule:
    def made(emit: Emit, step: Step) -> Entry:
        lhs, rhs = step.args
        if number(rhs):
            return emit.node(f"_npi_{name}_scalar", emit.array(lhs), **_scalar(rhs))
        if number(lhs):
            return emit.node(f"_npi_{_swapped(name)}_scalar", emit.array(rhs), **_scalar(lhs))
        return emit.node(f"_npi_{name}", emit.array(lhs), emit.array(rhs))

    return made


for _word in BINARY:
    _theirs, _, _ours = _word.partition("=")
    rule(_ours or _theirs)(_binary(_theirs))


@rule("maximum", "minimum")
def _extremum(emit: Emit, step: Step) -> Entry | Sequence[Entry]:
    lhs, rhs = step.args
    if number(lhs) or number(rhs):
        array, scalar = (lhs, rhs) if number(rhs) else (rhs, lhs)
        return emit.node(f"_{step.op.name}_scalar", emit.array(array), **_scalar(scalar))
    return emit.node(f"broadcast_{step.op.name}", emit.array(lhs), emit.array(rhs))


rule("exp2")(lambda emit, step: emit.node("_npi_rpower_scalar", emit.array(step.args[0]), scalar=2.0, is_int=False))


@rule("where")
def _where(emit: Emit, step: Step) -> Entry:
    condition, x, y = step.args
    chosen = emit.array(condition)
    if number(x) and number(y):
        return emit.node("_npi_where_scalar2", chosen, x=float(x), y=float(y))
    if number(y):
        return emit.node("_npi_where_rscalar", chosen, emit.array(x), scalar=float(y))
    if number(x):
        return emit.node("_npi_where_lscalar", chosen, emit.array(y), scalar=float(x))
    return emit.node("_npi_where", chosen, emit.array(x), emit.array(y))


@rule("cumsum")
def _cumsum(emit: Emit, step: Step) -> Entry:
    axis = step.op.attrs["axis"]  # MXNet refuses one below 0
    axis = "None" if axis is None else axis % max(len(step.shapes[0].shape), 1)
    return emit.node("_npi_cumsum", emit.array(step.args[0]), axis=axis, dtype=step.op.attrs["dtype"])


@rule("clip")
def _clip(emit: Emit, step: Step) -> Entry | Sequence[Entry]:
    x, low, high = (*step.args, None, None)[:3]
    if not all(v is None or number(v) for v in (low, high)):
        out = emit.array(x)
        if low is not None:
            out = emit.node("broadcast_maximum", out, emit.array(low))
        return out if high is None else emit.node("broadcast_minimum", out, emit.array(high))
    bounds = (-math.inf if low is None else float(low)), (math.inf if high is None else float(high))
    finite = [max(-3.4e38, min(3.4e38, b)) for b in bounds]
    return emit.node("clip", emit.array(x), a_min=finite[0], a_max=finite[1])


@rule("derived cast")
def _astype(emit: Emit, step: Step) -> Entry | Sequence[Entry]:
    return emit.node("Cast", emit.array(step.args[0]), dtype=np.dtype(step.outs[0].dtype).name)


@rule("derived power")
def _whole_power(emit: Emit, step: Step) -> Entry | Sequence[Entry]:
    return emit.node("_npi_power_scalar", emit.array(step.args[0]), **_scalar(step.op.extra[1]))


@rule("zeros_like", "ones_like", "full_like")
def _like(emit: Emit, step: Step) -> Entry | Sequence[Entry]:
    fill = {"zeros_like": 0.0, "ones_like": 1.0}.get(step.op.name)
    if fill is None:
        if not number(step.args[1]):
            raise GraphError("MXNet fills with a number only")
        fill = float(step.args[1])
    dtype = step.op.attrs["dtype"]
    return emit.node(
        "_npi_full_like", emit.array(step.args[0]), fill_value=fill, dtype=None if dtype is None else dtype.name
    )


def _closed(shape: Sequence[Any]) -> tuple[int, ...]:
    """Return a shape with 1 for each size that is open."""
    return tuple([1 if is_open((n,)) else n for n in shape])


def _new(emit: Emit, op: str, shape: Sequence[Any], dtype: DTypeLike) -> Entry:
    """Return zeros or ones of any shape."""
    dtype = np.dtype(dtype).name
    return emit.grown(emit.node(op, shape=_closed(shape), dtype=dtype), shape, dtype)


rule("zeros")(lambda emit, step: _new(emit, "_npi_zeros", step.outs[0].shape, step.outs[0].dtype))
rule("ones")(lambda emit, step: _new(emit, "_npi_ones", step.outs[0].shape, step.outs[0].dtype))


@rule("full")
def _full(emit: Emit, step: Step) -> Entry:
    out, value = step.outs[0], step.args[0]
    if not number(value):
        raise GraphError("MXNet fills with a number only")
    ones = _new(emit, "_npi_ones", out.shape, out.dtype)
    return emit.node("_npi_multiply_scalar", ones, **_scalar(value))


@rule("arange")
def _arange(emit: Emit, step: Step) -> Entry | Sequence[Entry]:
    start, pace = step.args
    if not number(start) or not number(pace):
        raise GraphError("its bounds must be numbers")
    if is_open([step.op.attrs["num"]]):
        counted = emit.node("_npi_cumsum", _new(emit, "_npi_ones", step.outs[0].shape, step.outs[0].dtype), axis=0)
        scaled = emit.node("_npi_multiply_scalar", counted, **_scalar(pace))
        return emit.node("_npi_add_scalar", scaled, **_scalar(start - pace))
    stop = start + (step.op.attrs["num"] - 0.5) * pace  # in the middle of a step, so that rounding cannot add one
    dtype = np.dtype(step.outs[0].dtype).name
    return emit.node("_npi_arange", start=float(start), stop=float(stop), step=float(pace), dtype=dtype)


# -- reductions -------------------------------------------------------------------------------------------------------


@rule("sum", "mean", "prod", "max", "min", "std", "var", "any", "all")
def _reduce(emit: Emit, step: Step) -> Entry | Sequence[Entry]:
    attrs, name = step.op.attrs, step.op.name
    _only(step, 1)
    given: dict[str, Any] = {"axis": _axes_or_none(step), "keepdims": attrs["keepdims"], "dtype": attrs.get("dtype")}
    if name in ("std", "var"):
        given["ddof"] = int(attrs["ddof"])
    return emit.node(f"_npi_{name}", emit.array(step.args[0]), **given)


@rule("norm")
def _norm(emit: Emit, step: Step) -> Entry | Sequence[Entry]:
    attrs, x = step.op.attrs, emit.array(step.args[0])
    given = {"axis": _axes_or_none(step), "keepdims": attrs["keepdims"]}
    if attrs["ord"] == 1:
        return emit.node("_npi_sum", emit.node("_npi_absolute", x), **given)
    return emit.node("_npi_sqrt", emit.node("_npi_sum", emit.node("_npi_square", x), **given))


@rule("logsumexp")
def _logsumexp(emit: Emit, step: Step) -> Entry | Sequence[Entry]:
    x, axis = emit.array(step.args[0]), _axes(step.op.attrs["axis"], _ndim(step))
    top = emit.node("BlockGrad", emit.node("_npi_max", x, axis=axis, keepdims=True))
    total = emit.node("_npi_sum", emit.node("_npi_exp", emit.node("_npi_subtract", x, top)), axis=axis, keepdims=True)
    out = emit.node("_npi_add", emit.node("_npi_log", total), top)
    return out if step.op.attrs["keepdims"] else emit.node("_npi_squeeze", out, axis=axis)


# -- products ---------------------------------------------------------------------------------------------------------


@rule("tensordot")
def _tensordot(emit: Emit, step: Step) -> Entry | Sequence[Entry]:
    axes = step.op.attrs["axes"]
    if isinstance(axes, int):
        return emit.node("_npi_tensordot_int_axes", *_arrays(emit, step), axes=axes)
    left, right = ((a,) if isinstance(a, int) else a for a in axes)
    return emit.node("_npi_tensordot", *_arrays(emit, step), a_axes_summed=left, b_axes_summed=right)


# -- shape ------------------------------------------------------------------------------------------------------------


@rule("reshape")
def _reshape(emit: Emit, step: Step) -> Entry:
    attrs = step.op.attrs
    shape = attrs["newshape"]
    if is_open(shape if isinstance(shape, tuple | list) else (shape,)):
        if attrs["order"] not in (None, "C"):
            raise GraphError("an order of another kind than C")
        return _to_shape(emit, emit.array(step.args[0]), step.shapes[0].shape, step.outs[0].shape)
    return emit.node(
        "_npx_reshape",
        emit.array(step.args[0]),
        newshape=(shape,) if isinstance(shape, int) else shape,
        reverse=attrs["reverse"],
        order=attrs["order"],
    )


def _to_shape(emit: Emit, x: Entry, old: Sequence[Any], new: Sequence[Any]) -> Entry:
    """Return `x` with the shape `new`, in which sizes are open: most are those of `old`, in front and at the end."""
    front = _alike(old, new)
    rear = _alike(old[front:][::-1], new[front:][::-1])
    before, after = (shape[front : len(shape) - rear] for shape in (old, new))
    opened = [i for i, n in enumerate(after) if is_open((n,))]
    if len(opened) > 1:
        return _unfolded(emit, x, old, new, front, after[: opened[-1] + 1])
    codes, ends = [-1 if is_open((n,)) else n for n in after], old[len(old) - rear :]
    if not is_open(ends):
        return emit.node("_npx_reshape", x, newshape=(*[-2] * front, *codes, *ends))
    if front and len(before) != len(after):  # so that what is copied at the end stands where it stood
        if (len(before), len(after)) not in ((1, 2), (2, 1)):
            raise GraphError(f"MXNet's reshape makes no {tuple(new)} of {tuple(old)}")
        codes = [-5] if len(after) == 1 else [-6, *codes]
    return emit.node("_npx_reshape", x, newshape=(*[-2] * front, *codes, *[-2] * rear), reverse=not front)


def _alike(old: Sequence[Any], new: Sequence[Any]) -> int:
    """Return how many sizes in front are the same."""
    return next(
        (i for i, (a, b) in enumerate(zip(old, new, strict=False)) if str(a) != str(b)), min(len(old), len(new))
    )


def _unfolded(emit: Emit, x: Any, old: Sequence[Any], new: Sequence[Any], front: int, run: Sequence[Any]) -> Any:
    """Return `x` with one axis as several, which another array has side by side, and what is behind as in `new`."""
    if str(math.prod(run)) != str(old[front]):
        raise GraphError(f"MXNet's reshape makes no {tuple(new)} of {tuple(old)}")
    folded = (*new[:front], old[front], *new[front + len(run) :])
    x = _to_shape(emit, x, old, folded) if len(folded) != len(old) else x
    like, axis = emit.having(run)
    return emit.node(
        "reshape_like", x, like, lhs_begin=front, lhs_end=front + 1, rhs_begin=axis, rhs_end=axis + len(run)
    )


@rule("broadcast_to")
def _broadcast_to(emit: Emit, step: Step) -> Entry | Sequence[Entry]:
    x, old, new = emit.array(step.args[0]), step.shapes[0].shape, step.outs[0].shape
    if not is_open(new):
        return emit.node("_npi_broadcast_to", x, shape=tuple(new))
    for _ in range(len(new) - len(old)):
        x = emit.node("expand_dims", x, axis=0)
    old = (1,) * (len(new) - len(old)) + tuple(old)
    fixed = [axis for axis, n in enumerate(new) if str(n) != str(old[axis]) and not is_open((n,))]
    if fixed:
        x = emit.node("broadcast_axis", x, axis=tuple(fixed), size=tuple([new[axis] for axis in fixed]))
    return emit.grown(x, [1 if str(n) == str(old[axis]) else n for axis, n in enumerate(new)], step.outs[0].dtype)


@rule("expand_dims")
def _expand_dims(emit: Emit, step: Step) -> Entry:
    out = emit.array(step.args[0])
    for axis in sorted(_axes(step.op.attrs["axis"], len(step.outs[0].shape))):
        out = emit.node("expand_dims", out, axis=axis)
    return out


@rule("split")
def _split(emit: Emit, step: Step) -> Entry | Sequence[Entry]:
    attrs = step.op.attrs
    cuts, count = attrs["indices_or_sections"], len(step.outs)
    # MXNet's indices begin with the beginning of the first part.
    given: Any = {"indices": (), "sections": cuts} if isinstance(cuts, int) else {"indices": (0, *cuts), "sections": 0}
    return emit.node("_split_v2", emit.array(step.args[0]), nout=count, axis=attrs["axis"], **given)


@rule("repeat")
def _repeat(emit: Emit, step: Step) -> Entry | Sequence[Entry]:
    repeats, axis = step.op.attrs["repeats"], step.op.attrs["axis"]
    if not isinstance(repeats, int):
        raise GraphError("MXNet repeats all elements equally often")
    return emit.node("repeat", emit.array(step.args[0]), repeats=repeats, axis="None" if axis is None else axis)


rule("pad")(lambda emit, step: _pad_with(emit, step, step.args[1] if len(step.args) > 1 else 0.0))


def _pad_with(emit: Emit, step: Step, value: Any) -> Any:
    attrs, ndim = step.op.attrs, _ndim(step)
    width = np.asarray(attrs["pad_width"])
    width = np.broadcast_to(width if width.size in (1, 2) else width.reshape(-1, 2), (ndim, 2))
    if value is not None and not number(value):
        raise GraphError("MXNet pads with a number only")
    pairs = tuple((int(a), int(b)) for a, b in width)
    constant: Any = {"constant_values": float(value or 0)} if attrs["mode"] == "constant" else {}
    return emit.node("_npi_pad", emit.array(step.args[0]), pad_width=pairs, mode=attrs["mode"], **constant)


# -- indexing ---------------------------------------------------------------------------------------------------------


@rule("derived read")
def _read(emit: Emit, step: Step) -> Entry:
    """``x[1, 2:4]`` of an array whose sizes are known: the engine's own operator, whose starts are inputs."""
    _, dims, shape = step.op.extra
    cuts: list[Any] = []
    for start, (count, pace), full in zip(map(int, step.args[1:]), dims, step.shapes[0].shape, strict=True):
        stop = start + (1 if count is None else count * pace)
        whole = (start, count, pace) == (0, full, 1)  # said so, that it stays whole where a batch is larger
        cuts.append((None, None, None) if whole else (start, None if stop < 0 else stop, pace))
    out = _cut(emit, emit.array(step.args[0]), cuts)
    out = _without(emit, out, [count is None for count, _ in dims])
    left = [count for count, _ in dims if count is not None]
    for axis, size in enumerate(shape):
        if size == 1 and (axis >= len(left) or left[axis] != 1 or len(left) < len(shape)):
            out = emit.node("expand_dims", out, axis=axis)
            left.insert(axis, 1)
    return out


def _cut(emit: Emit, x: Entry, cuts: Sequence[tuple[Any, Any, Any]]) -> Entry:
    """Return what is between (begin, end, step) of each axis; an open size is told by how far it is from the end."""
    if all(cut == (None, None, None) for cut in cuts):
        return x
    begin, end, step = zip(*cuts, strict=True)
    return emit.node("slice", x, begin=begin, end=end, step=tuple([1 if n is None else n for n in step]))


def _without(emit: Emit, x: Entry, gone: Sequence[bool]) -> Entry:
    """Return `x` without the axes of length 1 that are `gone`."""
    codes = tuple([-3 if drop else -2 for drop in gone])
    return emit.node("_npx_reshape", x, newshape=codes) if any(gone) else x


@rule("derived gather")
def _index(emit: Emit, step: Step) -> Entry:
    """``x[1:, i, None]`` as it was written: slices and integers first, then the array."""
    full = step.shapes[0].shape
    cuts: list[Any] = []
    gone, new, places = [], [], []
    for item in _spelled(step.op.extra[1], len(full)):
        kept = sum(1 for drop in gone if not drop)
        if item is None:
            new.append(kept + len(new))
            continue
        gone.append(isinstance(item, int))
        if isinstance(item, int):
            cuts.append((item, item + 1 or None, 1))
        elif item[0] == "slice":
            cuts.append(_bounds(item[1:], full[len(cuts)]))
        elif item[0] == "array":
            places.append(kept)
            cuts.append((None, None, None))
        else:
            raise GraphError("MXNet's symbols are not indexed by True or False")
    if len(places) > 1 or (places and (new or any(gone))):
        raise GraphError("MXNet's symbols index by one array beside slices only")
    out = _without(emit, _cut(emit, emit.array(step.args[0]), cuts), gone)
    for axis in new:
        out = emit.node("expand_dims", out, axis=axis)
    return emit.node("take", out, emit.array(step.args[1]), axis=places[0], mode="wrap") if places else out


def _spelled(pattern: Sequence[Any], ndim: int) -> list[Any]:
    """Return an index without an ellipsis, as long as the array has axes."""
    rest = [("slice", None, None, None)] * (ndim - sum(1 for item in pattern if item not in (None, Ellipsis)))
    at = pattern.index(Ellipsis) if Ellipsis in pattern else len(pattern)
    return [*pattern[:at], *rest, *pattern[at + 1 :]]


def _bounds(bounds: Sequence[Any], full: Any) -> tuple[Any, Any, Any]:
    """Return a slice as MXNet takes it, which knows no symbolic sizes, and clips nothing that is too far below 0."""
    start, stop, step = bounds
    start, stop = (n - full if is_open((n,)) else n for n in (start, stop))
    if stop == 0 and is_open((bounds[1],)):
        stop = None
    return (None, None, None) if (start or None, stop, step or 1) == (None, None, 1) else (start, stop, step)


@rule("take")
def _take(emit: Emit, step: Step) -> Entry | Sequence[Entry]:
    attrs = step.op.attrs
    if attrs["axis"] is None:
        raise GraphError("MXNet needs an axis")
    return emit.node("take", *_arrays(emit, step), axis=attrs["axis"], mode=attrs["mode"])


# -------------------- layers


def _given(step: Step, *names: str) -> dict[str, Any]:
    """Return these attributes, those left away that are None."""
    return {name: step.op.attrs[name] for name in names if step.op.attrs[name] is not None}


def _number_of(value: Any, default: float, what: str) -> float:
    if value is None:
        return default
    if not number(value):
        raise GraphError(f"MXNet takes a number for {what}")
    return float(value)


@rule("fully_connected")
def _fully_connected(emit: Emit, step: Step) -> Entry:
    units, given = step.shapes[1].shape[0], _arrays(emit, step)
    return emit.node(
        "FullyConnected", *given, num_hidden=units, no_bias=len(given) == 2, flatten=step.op.attrs["flatten"]
    )


_CONV = ("kernel", "stride", "dilate", "pad", "num_group", "layout")


def _spatial(step: Step) -> dict[str, Any]:
    """Attributes as MXNet wants them: tuples, and the kernel spelled out."""
    given = _given(step, *_CONV)
    ndim = _ndim(step) - 2
    layout = given.get("layout") or "NCHW"
    weight = step.shapes[1].shape
    given.setdefault("kernel", weight[1:-1] if layout[-1] == "C" else weight[2:])
    return {n: (v,) * ndim if isinstance(v, int) and n != "num_group" else v for n, v in given.items()}


@rule("convolution")
def _convolution(emit: Emit, step: Step) -> Entry:
    inputs = _arrays(emit, step)
    filters = step.shapes[1].shape[0]
    return emit.node("Convolution", *inputs, num_filter=filters, no_bias=len(inputs) == 2, **_spatial(step))


@rule("deconvolution")
def _deconvolution(emit: Emit, step: Step) -> Entry | Sequence[Entry]:
    inputs = _arrays(emit, step)
    attrs: Any = _spatial(step) | _given(step, "adj", "target_shape")
    channel = -1 if (attrs.get("layout") or "NCHW")[-1] == "C" else 1
    filters = step.shapes[1].shape[channel] * attrs["num_group"]
    return emit.node("Deconvolution", *inputs, num_filter=filters, no_bias=len(inputs) == 2, **attrs)


@rule("pooling")
def _pooling(emit: Emit, step: Step) -> Entry:
    names = ("kernel", "stride", "pad", "pool_type", "pooling_convention", "global_pool", "p_value", "layout")
    ndim = _ndim(step) - 2
    given: Any = _given(step, *names, "count_include_pad")
    given = {n: (v,) * ndim if type(v) is int and n in ("kernel", "stride", "pad") else v for n, v in given.items()}
    return emit.node("Pooling", emit.array(step.args[0]), **given)


@rule("batch_norm")
def _batch_norm(emit: Emit, step: Step) -> Entry | Sequence[Entry]:
    attrs = step.op.attrs
    if attrs["training"]:
        raise GraphError("it runs in training mode; a symbol decides that when it runs")
    given = {n: attrs[n] for n in ("eps", "momentum", "fix_gamma", "use_global_stats", "axis")}
    if attrs["output_mean_var"]:
        outs = emit.node("BatchNorm", *_arrays(emit, step), nout=3, output_mean_var=True, **given)
        return [*outs, emit.array(step.args[3]), emit.array(step.args[4])]
    return emit.node("BatchNorm", *_arrays(emit, step), **given)


@rule("group_norm")
def _group_norm(emit: Emit, step: Step) -> Entry | Sequence[Entry]:
    if step.op.attrs["output_mean_var"]:
        raise GraphError("output_mean_var is not supported here")
    return emit.node("GroupNorm", *_arrays(emit, step), **_given(step, "num_groups", "eps"))


@rule("rms_norm")
def _rms_norm(emit: Emit, step: Step) -> Entry | Sequence[Entry]:
    x, gamma = step.args
    axis = step.op.attrs["axis"] % _ndim(step)
    if axis != _ndim(step) - 1:
        raise GraphError("its axis must be the last one")
    data = emit.array(x)
    mean = emit.node("_npi_mean", emit.node("_npi_square", data), axis=(axis,), keepdims=True)
    scale = emit.node("_npi_sqrt", emit.node("_npi_add_scalar", mean, scalar=step.op.attrs["eps"], is_int=False))
    out = emit.node("_npi_true_divide", data, scale)
    return out if gamma is None else emit.node("_npi_multiply", out, emit.array(gamma))


@rule("leaky_relu")
def _leaky_relu(emit: Emit, step: Step) -> Entry | Sequence[Entry]:
    attrs = step.op.attrs
    kind = attrs["act_type"]
    if kind == "gelu_tanh":
        return _tanh_gelu(emit, emit.array(step.args[0]))
    inputs = _arrays(emit, step)[: 2 if kind == "prelu" else 1]
    given = _given(step, "slope", "lower_bound", "upper_bound")
    return emit.node("LeakyReLU", *inputs, act_type="gelu" if kind == "gelu_erf" else kind, **given)


@rule("gelu")
def _gelu(emit: Emit, step: Step) -> Entry | Sequence[Entry]:
    x = emit.array(step.args[0])
    return _tanh_gelu(emit, x) if step.op.attrs["approximate"] else emit.node("LeakyReLU", x, act_type="gelu")


def _tanh_gelu(emit: Emit, x: Any) -> Any:
    """MXNet 2.0.0b1 has the exact function only."""

    def scaled(value: Any, by: float) -> Any:
        return emit.node("_npi_multiply_scalar", value, scalar=by, is_int=False)

    cubed = scaled(emit.node("_npi_power_scalar", x, scalar=3.0, is_int=False), 0.044715)
    inner = emit.node("_npi_tanh", scaled(emit.node("_npi_add", x, cubed), 0.7978845608028654))
    return scaled(emit.node("_npi_multiply", x, emit.node("_npi_add_scalar", inner, scalar=1.0, is_int=False)), 0.5)


@rule("silu", "swish")
def _swish(emit: Emit, step: Step) -> Entry | Sequence[Entry]:
    x, beta = emit.array(step.args[0]), step.op.attrs.get("beta", 1.0)
    inner = x if beta == 1 else emit.node("_npi_multiply_scalar", x, scalar=float(beta), is_int=False)
    return emit.node("_npi_multiply", x, emit.node("_npx_sigmoid", inner))


@rule("swiglu")
def _swiglu(emit: Emit, step: Step) -> Entry | Sequence[Entry]:
    x, gate = _arrays(emit, step)
    return emit.node("_npi_multiply", emit.node("_npi_multiply", x, emit.node("_npx_sigmoid", x)), gate)


@rule("embedding")
def _embedding(emit: Emit, step: Step) -> Entry | Sequence[Entry]:
    rows, width = step.shapes[1].shape
    dtype = step.shapes[1].dtype.name
    return emit.node("Embedding", *_arrays(emit, step), input_dim=rows, output_dim=width, dtype=dtype)


@rule("softmax", "log_softmax")
def _softmax(emit: Emit, step: Step) -> Entry | Sequence[Entry]:
    x, length, temperature = (*step.args, None, None)[:3]
    attrs = step.op.attrs
    inputs = [emit.array(x)] + ([] if length is None else [emit.array(length)])
    given: dict[str, Any] = {"axis": attrs["axis"], "use_length": length is not None}
    if temperature is not None:
        given["temperature"] = _number_of(temperature, 1.0, "temperature")
    if attrs["dtype"] is not None:
        given["dtype"] = attrs["dtype"].name
    return emit.node(step.op.name, *inputs, **given)


@rule("softmin")
def _softmin(emit: Emit, step: Step) -> Entry | Sequence[Entry]:
    x, temperature = (*step.args, None)[:2]
    negative = emit.node("_npi_negative", emit.array(x))
    warmth = None if temperature is None else _number_of(temperature, 1.0, "temperature")
    return emit.node("softmax", negative, axis=step.op.attrs["axis"], temperature=warmth)


@rule("masked_softmax", "masked_log_softmax")
def _masked(emit: Emit, step: Step) -> Entry | Sequence[Entry]:
    x, mask, temperature = (*step.args, None)[:3]
    given = {"axis": step.op.attrs["axis"], "temperature": _number_of(temperature, 1.0, "temperature")}
    return emit.node(step.op.name, emit.array(x), emit.array(mask), **given)


def _state(emit: Emit, step: Step, state: Any) -> Entry:
    """Return the begin state; zeros where none is given."""
    if state is not None:
        return emit.array(state)
    attrs, data = step.op.attrs, step.shapes[0]
    shape = (attrs["num_layers"] * (2 if attrs["bidirectional"] else 1), data.shape[1], attrs["state_size"])
    return _new(emit, "_npi_zeros", shape, data.dtype)


@rule("rnn")
def _rnn(emit: Emit, step: Step) -> Entry | Sequence[Entry]:
    names = ("state_size", "num_layers", "bidirectional", "mode", "p", "state_outputs", "use_sequence_length")
    clips = ("projection_size", "lstm_state_clip_min", "lstm_state_clip_max", "lstm_state_clip_nan")
    nout = len(step.outs) if len(step.outs) > 1 else None
    data, parameters, state, cell, lengths = (*step.args, None, None, None)[:5]
    states = [state, cell] if step.op.attrs["mode"] == "lstm" else [state]
    inputs = [emit.array(data), emit.array(parameters), *[_state(emit, step, s) for s in states]]
    if step.op.attrs["use_sequence_length"]:
        inputs.append(emit.array(lengths))
    return emit.node("RNN", *inputs, nout=nout, **_given(step, *names, *clips))


@rule("adaptive_avg_pooling")
def _adaptive(emit: Emit, step: Step) -> Entry | Sequence[Entry]:
    size = step.op.attrs["output_size"] or 1
    size = (size, size) if isinstance(size, int) else size
    return emit.node("_contrib_AdaptiveAvgPooling2D", emit.array(step.args[0]), output_size=size)


# -- functions of np --------------------------------------------------------------------------------------------------


def _dtype(step: Step) -> dict[str, Any]:
    dtype = step.op.attrs.get("dtype")
    return {} if dtype is None else {"dtype": np.dtype(dtype).name}


def _in_dtype(plain: Any) -> Any:
    """Return the rule of an operator that casts, of the one of the operator that does not."""

    def cast(emit: Emit, step: Step) -> Entry | Sequence[Entry]:
        out = plain(emit, step)
        return emit.node("Cast", out, **_dtype(step)) if _dtype(step) else out

    return cast


for _name in ("concatenate", "stack"):
    RULES[_name] = _in_dtype(RULES[_name])
RULES["numpy.copy"] = RULES["copy"]


@rule("hstack", "vstack", "dstack", "column_stack")
def _joined(emit: Emit, step: Step) -> Entry | Sequence[Entry]:
    if _dtype(step):
        raise GraphError("MXNet knows no dtype= here")
    ndim, name = _ndim(step), step.op.name
    if name == "hstack":
        return emit.node("Concat", *_arrays(emit, step), dim=0 if ndim == 1 else 1)
    wanted = {"vstack": 2, "dstack": 3, "column_stack": 2}[name]
    if ndim < wanted:
        raise GraphError(f"arrays of {ndim} dimensions must be given their {wanted} dimensions first")
    return emit.node("Concat", *_arrays(emit, step), dim={"vstack": 0, "dstack": 2, "column_stack": 1}[name])


@rule("numpy.pad")
def _np_pad(emit: Emit, step: Step) -> Entry | Sequence[Entry]:
    attrs = step.op.attrs
    _only(step, 2)
    if attrs["stat_length"] is not None or attrs["reflect_type"] not in (None, "even"):
        raise GraphError("MXNet knows no stat_length= and no odd reflection")
    return _pad_with(emit, step, step.args[1] if len(step.args) > 1 else None)


@rule("numpy.roll")
def _np_roll(emit: Emit, step: Step) -> Entry | Sequence[Entry]:
    shift, axis = step.args[1], step.op.attrs["axis"]
    if not number(shift):
        raise GraphError("MXNet shifts by numbers only")
    axis = "None" if axis is None else (axis,) if isinstance(axis, int) else axis
    return emit.node("_npi_roll", emit.array(step.args[0]), shift=(int(shift),), axis=axis)


@rule("diagonal", "trace")
def _diagonal(emit: Emit, step: Step) -> Entry | Sequence[Entry]:
    given = {n: step.op.attrs[n] for n in ("offset", "axis1", "axis2")}
    if _dtype(step):
        raise GraphError("MXNet knows no dtype= here")
    return emit.node(f"_npi_{step.op.name}", emit.array(step.args[0]), **given)


@rule("nan_to_num")
def _nan_to_num(emit: Emit, step: Step) -> Entry | Sequence[Entry]:
    words = dict(zip(("nan", "posinf", "neginf"), step.args[1:], strict=False))
    if not all(v is None or number(v) for v in words.values()):
        raise GraphError("MXNet replaces by numbers only")
    given: Any = {n: float(v) for n, v in words.items() if v is not None}
    return emit.node("_npi_nan_to_num", emit.array(step.args[0]), **given)


@rule("average")
def _average(emit: Emit, step: Step) -> Entry:
    attrs, inputs = step.op.attrs, _arrays(emit, step)
    if attrs["keepdims"]:
        raise GraphError("MXNet knows no keepdims= here")
    given = {"axis": _axes_or_none(step), "returned": attrs["returned"], "weighted": len(inputs) > 1}
    return emit.node("_npi_average", *inputs, nout=2 if attrs["returned"] else None, **given)


@rule("cross")
def _cross(emit: Emit, step: Step) -> Entry | Sequence[Entry]:
    attrs = step.op.attrs
    given = {n: attrs[n] if attrs["axis"] is None else attrs["axis"] for n in ("axisa", "axisb", "axisc")}
    return emit.node("_npi_cross", *_arrays(emit, step), **given)


@rule("diff")
def _diff(emit: Emit, step: Step) -> Entry | Sequence[Entry]:
    _only(step, 1)
    return emit.node("_npi_diff", emit.array(step.args[0]), n=step.op.attrs["n"], axis=step.op.attrs["axis"])


@rule("linalg_norm")
def _np_norm(emit: Emit, step: Step) -> Entry | Sequence[Entry]:
    attrs = step.op.attrs
    order: Any = attrs["ord"]
    axis = attrs["axis"]
    axes = "None" if axis is None else (axis,) if isinstance(axis, int) else axis
    flag = -2 if order is None and axis is None else 1 if order in (None, "fro") else 2 if order == "nuc" else -1
    given: Any = {"ord": order if flag == -1 else 2.0, "keepdims": attrs["keepdims"], "flag": flag}
    return emit.node("_npi_norm", emit.array(step.args[0]), axis=axes, **given)


_DRAWN = {
    "uniform": ("low", "high"),
    "normal": ("loc", "scale"),
    "gamma": ("alpha", "beta"),
    "poisson": ("lam",),
    "negative_binomial": ("k", "p"),
}


@rule(*[f"random_{name}" for name in _DRAWN])
def _random(emit: Emit, step: Step) -> Entry | Sequence[Entry]:
    name, out = step.op.name.removeprefix("random_"), step.outs[0]
    dtype = np.dtype(out.dtype).name
    if all(number(v) for v in step.args) and not is_open(out.shape):
        given: Any = {n: float(v) for n, v in zip(_DRAWN[name], step.args, strict=False)}
        return emit.node(f"_random_{name}", shape=tuple(out.shape), dtype=dtype, **given)
    full = _new(emit, "_npi_zeros", out.shape, "float32")
    wide = [
        emit.node("_npi_add_scalar", full, **_scalar(v)) if number(v) else emit.node("_npi_add", full, emit.array(v))
        for v in step.args
    ]
    return emit.node(f"_sample_{name}", *wide, dtype=dtype)
