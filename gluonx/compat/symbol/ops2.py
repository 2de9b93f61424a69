"""Operators of MXNet 2 by their registered names, ``_npi_*`` and ``_npx_*``, which ``-symbol.json`` files of it hold.

A row is what a row of `gluonx.compat.operators` is, a signature and a function; the function calls ``gluonx.np`` or
``gluonx.npx``. Operators that MXNet 2 shares with MXNet 1 (Convolution, Concat, slice) are in
`gluonx.compat.operators.table`.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from gluonx import np, npx
from gluonx.compat.operators.row import LegacyOp, core
from gluonx.compat.operators.table import TABLE as LEGACY
from gluonx.errors import FormatError

if TYPE_CHECKING:
    from gluonx.compat.operators.attrs import Attrs
    from gluonx.np.handle import ndarray


TABLE: dict[str, LegacyOp] = {}
"""Every operator by its registered name."""


def _row(signature: str, rule: Callable[..., Any], **traits: Any) -> None:
    op = LegacyOp(signature, rule, **traits)
    for name in (op.name, *op.aliases):
        assert name not in TABLE, f"there already is an operator '{name}'"
        TABLE[name] = op


def _number(a: Attrs) -> int | float:
    return int(a.scalar) if a.is_int else a.scalar


def _filled(attrs: Mapping[str, Any], *names: str) -> dict[str, Any]:
    """Those of the attributes that are not None."""
    return {name: attrs[name] for name in names if attrs[name] is not None}


def _words(text: str) -> list[str]:
    return text.split()


# -- elementwise ------------------------------------------------------------------------------------------------------

BINARY = _words(
    "add subtract multiply true_divide floor_divide mod power equal not_equal greater greater_equal less "
    "less_equal logical_and logical_or logical_xor copysign arctan2 hypot ldexp fmax fmin fmod logaddexp gcd "
    "lcm bitwise_and bitwise_or bitwise_xor bitwise_left_shift=left_shift bitwise_right_shift=right_shift"
)
REVERSED = _words(
    "subtract true_divide floor_divide mod power copysign arctan2 ldexp fmod bitwise_left_shift bitwise_right_shift"
)
UNARY = _words(
    "absolute negative reciprocal sign rint ceil floor trunc fix square sqrt cbrt exp expm1 log log10 log2 "
    "log1p sin cos tan arcsin arccos arctan sinh cosh tanh arcsinh arccosh arctanh degrees radians logical_not "
    "isnan isinf isposinf isneginf isfinite bitwise_not copy"
)


def _scalar(fn: Callable[..., Any], swap: bool) -> Callable[..., Any]:
    return lambda a, data: fn(_number(a), data) if swap else fn(data, _number(a))


def _of_arrays(fn: Callable[..., Any]) -> Callable[..., Any]:
    return lambda a, *arrays: fn(*arrays)


for _word in BINARY:
    _mx, _, _ours = _word.partition("=")
    _fn = getattr(np, _ours or _mx)
    _row(f"_npi_{_mx}(lhs, rhs)", _of_arrays(_fn))
    _row(f"_npi_{_mx}_scalar(data; scalar: float=1.0, is_int: bool=True)", _scalar(_fn, False))
    if _mx in REVERSED:
        _row(f"_npi_r{_mx}_scalar(data; scalar: float=1.0, is_int: bool=True)", _scalar(_fn, True))
for _word in UNARY:
    _row(f"_npi_{_word}(x)", _of_arrays(getattr(np, _word)))
_row("_npx_relu(data)", lambda a, x: npx.relu(x))
_row("_npx_sigmoid(data)", lambda a, x: npx.sigmoid(x))
_row("_npi_around(x; decimals: int=0)", lambda a, x: np.around(x, a.decimals))
_row(
    "_npi_nan_to_num(data; copy: bool=True, nan: float=0.0, posinf: float?=None, neginf: float?=None)",
    lambda a, x: np.nan_to_num(x, nan=a.nan, posinf=a.posinf, neginf=a.neginf),
)
_row("_npi_where(condition, x, y)", lambda a, c, x, y: np.where(c, x, y))
_row("_npi_where_lscalar(condition, x; scalar: float=0.0)", lambda a, c, x: np.where(c, a.scalar, x))
_row("_npi_where_rscalar(condition, y; scalar: float=0.0)", lambda a, c, y: np.where(c, y, a.scalar))
_row("_npi_where_scalar2(condition; x: float=0.0, y: float=0.0)", lambda a, c: np.where(c, a.x, a.y))

# -- reductions -------------------------------------------------------------------------------------------------------


def _reduction(fn: Callable[..., Any], names: tuple[str, ...]) -> Callable[..., Any]:
    return lambda a, x: fn(x, axis=a.axis, keepdims=a.keepdims, **_filled(a, *names))


def _norm(a: Any, x: Any) -> Any:
    """`flag` says which norm: -2 of all elements, 1 Frobenius's or Euclid's, 2 the nuclear one, else that of `ord`."""
    order = {-2: None, 1: None, 2: "nuc"}.get(a.flag, a.ord)
    axis = a.axis[0] if a.axis is not None and len(a.axis) == 1 else a.axis
    return np.linalg.norm(x, ord=order, axis=axis, keepdims=a.keepdims)


_AXES = "axis: shape?=None, keepdims: bool=False"
for _word in ("sum", "mean", "prod", "max", "min"):
    _sums = _word not in ("max", "min")
    _extra = ", dtype: dtype?=None" if _sums else ""
    # MXNet's mean has no initial value to add to; the attribute is there, and never set.
    _names = ("dtype",) if _word == "mean" else ("dtype", "initial") if _sums else ("initial",)
    _row(f"_npi_{_word}(a; {_AXES}{_extra}, initial: float?=None)", _reduction(getattr(np, _word), _names))
for _word in ("std", "var"):
    _row(
        f"_npi_{_word}(a; {_AXES}, dtype: dtype?=None, ddof: int=0)", _reduction(getattr(np, _word), ("dtype", "ddof"))
    )
for _word in ("any", "all"):
    _row(f"_npi_{_word}(data; {_AXES})", _reduction(getattr(np, _word), ()))
for _word in ("argmax", "argmin"):
    _row(
        f"_npi_{_word}(data; axis: int?=None, keepdims: bool=False)",
        _reduction(getattr(np, _word), ()),
        gives="int64",
    )
_row(
    "_npi_average(a, weights?; axis: shape?=None, returned: bool=False, weighted: bool=True)",
    lambda a, x, w=None: np.average(x, axis=a.axis, weights=w, returned=a.returned),
    nout=lambda a: 2 if a.returned else 1,
    needs={"weights": lambda a: a.weighted},
)
_row("_npi_norm(data; axis: shape?=None, ord: float=2.0, keepdims: bool=False, flag: int=-2)", _norm)
_row(
    "_npi_percentile(a, q?; axis: shape?=None, interpolation: str='linear', keepdims: bool=False, "
    "q_scalar: float?=None)",
    lambda a, x, q=None: np.percentile(
        x, a.q_scalar if q is None else q, axis=a.axis, keepdims=a.keepdims, interpolation=a.interpolation
    ),
    needs={"q": lambda a: a.q_scalar is None},
)

# -- shape ------------------------------------------------------------------------------------------------------------


def _pairs(text: str) -> list[tuple[int, int]]:
    numbers = [int(n) for n in re.findall(r"-?\d+", text)]
    if len(numbers) % 2 or re.sub(r"[-\d\s,()\[\]]", "", text):
        raise FormatError(f"pad_width must be pairs of integers, got {text[:80]!r}")
    return list(zip(numbers[::2], numbers[1::2], strict=True))


def _pad(a: Any, x: Any) -> Any:
    values = {"constant_values": a.constant_values} if a.mode == "constant" else {}
    return np.pad(x, _pairs(a.pad_width), mode=a.mode, **values)


def _split(fn: Any) -> Any:
    def split(a: Any, x: Any) -> Any:
        parts = fn(x, a.sections or list(a.indices[1:]))
        return tuple(parts) if len(parts) > 1 else parts[0]

    return split


def _parts(a: Any) -> int:
    return a.sections or max(len(a.indices), 1)


def _at_least(fn: Callable[..., Any]) -> Callable[..., Any]:
    return lambda a, *x: fn(x[0]) if len(x) == 1 else tuple(fn(*x))


def _repeats(a: Any, x: Any) -> Any:
    return np.repeat(x, a.repeats[0] if len(a.repeats) == 1 else list(a.repeats), a.axis)


def _roll(a: Any, x: Any) -> Any:
    shift, axis = a.shift, a.axis
    if axis is None:
        return np.roll(x, shift[0] if len(shift) == 1 else shift)
    return np.roll(x, shift, axis) if len(shift) == len(axis) else np.roll(x, shift * len(axis), axis)


_row("_npi_transpose(a; axes: shape?=None)", lambda a, x: np.transpose(x, a.axes))
_row(
    "_npx_reshape(a; newshape: shape, reverse: bool=False, order: str=C)",
    lambda a, x: npx.reshape(x, a.newshape, reverse=a.reverse, order=a.order),
)
_row("_np_reshape(a; newshape: shape, order: str=C)", lambda a, x: np.reshape(x, a.newshape, order=a.order))
_row("_npi_squeeze(a; axis: shape?=None)", lambda a, x: np.squeeze(x, a.axis))
_row("_npi_broadcast_to(array; shape: shape=())", lambda a, x: _broadcast_to(x, a.shape))
_row("_npi_pad(data; pad_width: str, mode: str=constant, constant_values: float=0.0, reflect_type: str=even)", _pad)
_row("_npi_roll(data; shift: shape?=None, axis: shape?=None)", _roll)
_row("_npi_rollaxis(data; axis: int, start: int=0)", lambda a, x: np.rollaxis(x, a.axis, a.start))
_row("_npi_flip(data; axis: shape)", lambda a, x: np.flip(x, a.axis))
_row("_npi_moveaxis(a; source: shape, destination: shape)", lambda a, x: np.moveaxis(x, a.source, a.destination))
_row("_npi_rot90(data; k: int=1, axes: shape?=None)", lambda a, x: np.rot90(x, a.k, a.axes or (0, 1)))
_row("_npi_repeats(data; repeats: shape, axis: int?=None)", _repeats)
_row("_npi_column_stack(*data)", lambda a, *x: np.column_stack(x))
_row("_npi_vstack(*data)", lambda a, *x: np.vstack(x))
_row("_npi_hstack(*data; dim: int?=1)", lambda a, *x: np.hstack(x))
_row("_npi_dstack(*data; dim: int?=1)", lambda a, *x: np.dstack(x))
_SPLIT = "indices: shape, axis: int=1, squeeze_axis: bool=False, sections: int=0"
_row(f"_npi_hsplit(data; {_SPLIT})", _split(np.hsplit), nout=_parts)
_row(f"_npi_dsplit(data; {_SPLIT})", _split(np.dsplit), nout=_parts)
for _word in ("1d", "2d", "3d"):
    _row(f"_npi_atleast_{_word}(*arys)", _at_least(getattr(np, f"atleast_{_word}")), nout=0)
_row("_npi_tril(data; k: int=0)", lambda a, x: np.tril(x, a.k))
_row("_npi_triu(data; k: int=0)", lambda a, x: np.triu(x, a.k))
_row("_npi_diag(data; k: int=0)", lambda a, x: np.diag(x, a.k))
_row("_npi_diagflat(data; k: int=0)", lambda a, x: np.diagflat(x, a.k))
_DIAGONAL = "offset: int=0, axis1: int=0, axis2: int=1"
_row(f"_npi_diagonal(data; {_DIAGONAL})", lambda a, x: np.diagonal(x, a.offset, a.axis1, a.axis2))
_row(f"_npi_trace(data; {_DIAGONAL})", lambda a, x: np.trace(x, a.offset, a.axis1, a.axis2))
_row("_npi_diff(a; n: int=1, axis: int=-1)", lambda a, x: np.diff(x, a.n, a.axis))


def _broadcast_to(x: Any, shape: tuple[int, ...]) -> Any:
    """-2 stands for the dimension that is there, counted from the right."""
    lead = len(shape) - x.ndim
    return np.broadcast_to(x, tuple([x.shape[i - lead] if n == -2 else n for i, n in enumerate(shape)]))


# -- products ---------------------------------------------------------------------------------------------------------

_row("_npi_matmul(a, b)", lambda a, x, y: np.matmul(x, y))
_row("_npi_dot(a, b)", lambda a, x, y: np.dot(x, y))
_row("_npi_kron(a, b)", lambda a, x, y: np.kron(x, y))
_row(
    "_npi_cross(a, b; axisa: int=-1, axisb: int=-1, axisc: int=-1)",
    lambda a, x, y: np.cross(x, y, a.axisa, a.axisb, a.axisc),
)
_row("_npi_einsum(*data; subscripts: str='', optimize: int=0)", lambda a, *x: np.einsum(a.subscripts, *x))
_row("_npi_tensordot_int_axes(a, b; axes: int)", lambda a, x, y: np.tensordot(x, y, a.axes))
_row(
    "_npi_tensordot(a, b; a_axes_summed: shape, b_axes_summed: shape)",
    lambda a, x, y: np.tensordot(x, y, (a.a_axes_summed, a.b_axes_summed)),
)
_row("_npi_polyval(p, x)", lambda a, p, x: np.polyval(p, x))
_row("_npi_cholesky(A; lower: bool=True)", lambda a, x: np.linalg.cholesky(x))
_row("_npi_solve(A, B)", lambda a, x, y: core("linalg_solve", x, y))
_row("_npi_qr(A)", lambda a, x: tuple(np.linalg.qr(x)), nout=2)
_row("_npi_eigvalsh(A; UPLO: str=L)", lambda a, x: np.linalg.eigvalsh(x, a.UPLO))

# -- arrays from nothing ----------------------------------------------------------------------------------------------

_MADE = "ctx: str='', dtype: dtype?=None"


def _typed(a: Any, *values: Any) -> Any:
    """Return a number that MXNet keeps as a signed integer, an unsigned one or a float, and says which."""
    if not 0 <= a.value_type < len(values):
        raise FormatError(f"value_type must be 0, 1 or 2, got {a.value_type}")
    return values[a.value_type]


def _full(a: Any) -> Any:
    value = _typed(a, a.int_value, a.uint_value, a.double_value)
    return np.full(a.shape or (), value, dtype=a.dtype or "float32")


def _arange(a: Any) -> Any:
    made = np.arange(a.start, a.stop, a.step, dtype=a.dtype or "float32")
    return made if a.repeat == 1 else np.repeat(made, a.repeat)


def _linspace(a: Any) -> Any:
    start = _typed(a, a.start_int, a.start_uint, a.start_double)
    stop = _typed(a, a.stop_int, a.stop_uint, a.stop_double)
    return np.linspace(start, stop, a.num, endpoint=a.endpoint, dtype=a.dtype or "float32")


_row(f"_npi_zeros(; shape: shape=(), {_MADE})", lambda a: np.zeros(a.shape, dtype=a.dtype or "float32"))
_row(f"_npi_ones(; shape: shape=(), {_MADE})", lambda a: np.ones(a.shape, dtype=a.dtype or "float32"))
_row(f"_npi_identity(; shape: shape=(), {_MADE})", lambda a: np.identity(a.shape[0], dtype=a.dtype or "float32"))
_row(
    f"_npi_eye(; N: int, M: int?=None, k: int=0, {_MADE})",
    lambda a: np.eye(a.N, a.M, a.k, dtype=a.dtype or "float32"),
)
_row(
    f"_npi_full(; shape: shape?=None, {_MADE}, double_value: float=0.0, int_value: int=0, uint_value: int=0, "
    "value_type: int=0)",
    _full,
)
_row(
    "_npi_full_like(a; fill_value: float, ctx: str='', dtype: dtype?=None)",
    lambda a, x: np.full_like(x, a.fill_value, dtype=a.dtype),
)
_row(
    f"_npi_arange(; start: float, stop: float?=None, step: float=1.0, repeat: int=1, infer_range: bool=False, {_MADE})",
    _arange,
)
_row(
    "_npi_linspace(; start_double: float=0.0, stop_double: float=0.0, start_int: int=0, stop_int: int=0, "
    f"start_uint: int=0, stop_uint: int=0, num: int, endpoint: bool=True, {_MADE}, value_type: int=0)",
    _linspace,
)
_row(f"_npi_tri(; N: int, M: int?=None, k: int=0, {_MADE})", lambda a: np.tri(a.N, a.M, a.k, dtype=a.dtype))

# -- indexing ---------------------------------------------------------------------------------------------------------

_row("_npi_advanced_indexing(data, indices)", lambda a, x, i: x[i])
_row("_npx_index_add(a, ind, val)", lambda a, x, i, v: npx.index_add(x, i, v))
_row("_npx_index_update(a, ind, val)", lambda a, x, i, v: npx.index_update(x, i, v))


# -- random -----------------------------------------------------------------------------------------------------------

_DRAWN = "size: shape?=None, ctx: str=cpu, dtype: dtype?=None"


def _drawn(fn: Any, first: str, second: str) -> Any:
    """Numbers from a distribution of two parameters; each is an attribute or, where that is None, an input."""

    def draw(a: Any, *inputs: Any) -> Any:
        given = list(inputs)
        values = [given.pop(0) if a[name] is None else a[name] for name in (first, second)]
        return fn(*values, size=a.size, dtype=a.dtype or "float32")

    return draw


for _word, _one, _two in (("uniform", "low", "high"), ("normal", "loc", "scale")):
    _row(
        f"_npi_{_word}(input1?, input2?; {_one}: float?, {_two}: float?, {_DRAWN})",
        _drawn(getattr(np.random, _word), _one, _two),
        needs={
            "input1": lambda a, one=_one, two=_two: a[one] is None or a[two] is None,
            "input2": lambda a, one=_one, two=_two: a[one] is None and a[two] is None,
        },
    )


# -- recurrence -------------------------------------------------------------------------------------------------------


def _for_all(state: ndarray, batch: int) -> ndarray:
    """Begin states of one sequence, which zeros of an unknown batch size are, for all sequences of the batch."""
    wanted = None if state is None else (state.shape[0], batch, state.shape[2])
    if state is None or state.shape == wanted or -1 in state.shape:  # -1: it is the shape that is looked for
        return state
    return np.broadcast_to(state, wanted)


def _rnn(a: Attrs, data: ndarray, parameters: ndarray, *given: ndarray) -> Any:
    """Compute as MXNet 1's operator, whose signature it has."""
    count = 2 if a.mode == "lstm" else 1
    states = [_for_all(state, data.shape[1]) for state in given[:count]]
    return LEGACY["RNN"].rule(a, data, parameters, *states, *given[count:])


TABLE["RNN"] = copy.copy(LEGACY["RNN"])
TABLE["RNN"].rule = _rnn
