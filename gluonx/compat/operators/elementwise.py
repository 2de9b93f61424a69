"""Legacy operators that work on each element: functions, arithmetic with arrays and scalars, comparisons.

The element type is kept everywhere: comparisons give ones and zeros in the type of what was compared, and a function
of integers gives integers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from gluonx.compat.operators.row import core, row, rows, same
from gluonx.deferred.operators.growth import dtype_of
from gluonx.dtype import is_inexact

if TYPE_CHECKING:
    from gluonx.compat.operators.attrs import Attrs
    from gluonx.np.handle import ndarray


def kept(out: Any, like: Any) -> ndarray:
    """`out` in the element type of `like`."""
    dtype = dtype_of(like)
    return out if dtype_of(out) == dtype else core("cast", out, dtype=dtype)


def _unary(name: str) -> Callable[..., Any]:
    def rule(a: Attrs, data: ndarray) -> ndarray:
        return kept(core(name, data), data)

    return rule


def _plain(name: str) -> Callable[..., Any]:
    def rule(a: Attrs, *inputs: ndarray) -> ndarray:
        return core(name, *inputs)

    return rule


_UNARY = """
relu sigmoid log_sigmoid softsign mish exp log log2 log10 log1p expm1 sqrt rsqrt cbrt rcbrt square reciprocal negative
abs=absolute sign ceil floor trunc fix=trunc sin cos tan arcsin arccos arctan sinh cosh tanh arcsinh arccosh arctanh
degrees radians erf erfinv gamma gammaln digamma logical_not _contrib_isnan=isnan _contrib_isinf=isinf
_contrib_isfinite=isfinite
"""
"""Words ``legacy=core``, one word where the two names are the same."""

for _word in _UNARY.split():
    _name, _, _via = _word.partition("=")
    row(f"{_name}(data)", _unary(_via or _name), via=_via or _name)

rows(
    """
    _copy copy identity
    BlockGrad stop_gradient stop_gradient
    zeros_like zeros_like
    ones_like ones_like
    _contrib_round_ste round_ste
    _contrib_sign_ste sign_ste
    _copyto copy
    _CrossDeviceCopy copy
    """,
    _plain,
    "data",
)


# -- rounding: MXNet's rules for halves, which are not NumPy's --------------------------------------------------------


def _distances(data: Any) -> tuple[Any, Any, Any, Any]:
    """Get the whole numbers below and above, and how far: exact, as ``data + 0.5`` is not for large numbers."""
    below, above = core("floor", data), core("ceil", data)
    return below, above, core("subtract", data, below), core("subtract", above, data)


@row("round(data)", via="floor ceil where")
def _round(a: Attrs, data: ndarray) -> ndarray | Sequence[ndarray]:
    if data.dtype.kind in "iub":
        return core("copy", data)
    below, above, down, up = _distances(data)
    of_positive = core("where", core("less", down, up), below, above)
    of_negative = core("where", core("less", up, down), above, below)
    return core("where", core("less", data, 0.0), of_negative, of_positive)


@row("rint(data)", via="floor ceil where")
def _rint(a: Attrs, data: ndarray) -> ndarray | Sequence[ndarray]:
    if data.dtype.kind in "iub":
        return core("copy", data)
    below, above, down, up = _distances(data)
    return core("where", core("less_equal", down, up), below, above)


# -- two arrays ------------------------------------------------------------------------------------------------------

_ARITHMETIC = """
    elemwise_add add _plus _add _Plus
    elemwise_sub subtract _minus _sub _Minus
    elemwise_mul multiply _mul _Mul
    elemwise_div divide _div _Div
    _grad_add add
    _mod mod _Mod
    _power power _Power
    _maximum maximum _Maximum
    _minimum minimum _Minimum
    _hypot hypot _Hypot
    broadcast_add add broadcast_plus
    broadcast_sub subtract broadcast_minus
    broadcast_mul multiply
    broadcast_div divide
    broadcast_mod mod
    broadcast_power power
    broadcast_maximum maximum
    broadcast_minimum minimum
    broadcast_hypot hypot
    _scatter_elemwise_div divide
"""
_COMPARISON = """
    _equal equal _Equal
    _not_equal not_equal _Not_Equal
    _greater greater _Greater
    _greater_equal greater_equal _Greater_Equal
    _lesser less _Lesser
    _lesser_equal less_equal _Lesser_Equal
    _logical_and logical_and _Logical_And
    _logical_or logical_or _Logical_Or
    _logical_xor logical_xor _Logical_Xor
    broadcast_equal equal
    broadcast_not_equal not_equal
    broadcast_greater greater
    broadcast_greater_equal greater_equal
    broadcast_lesser less
    broadcast_lesser_equal less_equal
    broadcast_logical_and logical_and
    broadcast_logical_or logical_or
    broadcast_logical_xor logical_xor
"""


def _arithmetic(name: str) -> Callable[..., Any]:
    def rule(a: Attrs, lhs: ndarray, rhs: ndarray) -> ndarray:
        out = core(name, lhs, rhs)
        same = dtype_of(lhs) == dtype_of(rhs)
        return kept(out, lhs) if same else out

    return rule


def _comparison(name: str) -> Callable[..., Any]:
    def rule(a: Attrs, lhs: ndarray, rhs: ndarray) -> ndarray | Sequence[ndarray]:
        return kept(core(name, lhs, rhs), lhs)

    return rule


rows(_ARITHMETIC, _arithmetic, "lhs, rhs")
rows(_COMPARISON, _comparison, "lhs, rhs")

# -- an array and a scalar: the scalar is an operand, so that a changing one recompiles nothing -----------------------

_SCALAR = """
    _plus_scalar add _PlusScalar
    _minus_scalar subtract _MinusScalar
    _mul_scalar multiply _MulScalar
    _div_scalar divide _DivScalar
    _mod_scalar mod _ModScalar
    _maximum_scalar maximum _MaximumScalar
    _minimum_scalar minimum _MinimumScalar
    _power_scalar power _PowerScalar
    _hypot_scalar hypot _HypotScalar
    _equal_scalar equal _EqualScalar
    _not_equal_scalar not_equal _NotEqualScalar
    _greater_scalar greater _GreaterScalar
    _greater_equal_scalar greater_equal _GreaterEqualScalar
    _lesser_scalar less _LesserScalar
    _lesser_equal_scalar less_equal _LesserEqualScalar
    _logical_and_scalar logical_and _LogicalAndScalar
    _logical_or_scalar logical_or _LogicalOrScalar
    _logical_xor_scalar logical_xor _LogicalXorScalar
    _scatter_plus_scalar add
    _scatter_minus_scalar subtract
"""
_REVERSED = """
    _rminus_scalar subtract _RMinusScalar
    _rdiv_scalar divide _RDivScalar
    _rmod_scalar mod _RModScalar
    _rpower_scalar power _RPowerScalar
"""


def _operand(scalar: float, data: ndarray) -> Any:
    """Return the scalar as what the element type of `data` makes of it."""
    return scalar if is_inexact(dtype_of(data)) else int(scalar)


def _scalar_rows(text: str, swapped: bool) -> None:
    for line in text.strip().split("\n"):
        name, via, *alias = line.split()

        def rule(a: Attrs, data: ndarray, via: str = via) -> ndarray:
            data = core("cast", data, dtype="int64") if dtype_of(data).kind == "b" else data
            pair = (data, _operand(a.scalar, data))
            if via == "power" and not swapped and a.scalar == int(a.scalar) and 0 <= a.scalar <= 4:
                return core("integer_power", data, exponent=int(a.scalar))
            return kept(core(via, *(pair[::-1] if swapped else pair)), data)

        row(f"{name}(data; scalar: float=1.0, is_int: bool=True)", rule, via=via, alias=" ".join(alias))


_scalar_rows(_SCALAR, swapped=False)
_scalar_rows(_REVERSED, swapped=True)


# -- the rest ---------------------------------------------------------------------------------------------------------

same("add_n(*args)", "add_n", alias="ElementWiseSum")
same("smooth_l1(data; scalar: float=1.0)", "smooth_l1")
row(
    "clip(data; a_min: float, a_max: float)",
    lambda a, data: core("clip", data, _operand(a.a_min, data), _operand(a.a_max, data)),
    via="clip",
)
same("hard_sigmoid(data; alpha: float=0.2, beta: float=0.5)", "hard_sigmoid")
same("make_loss(data)", "make_loss", loss=True)
row("_identity_with_attr_like_rhs(lhs, rhs)", lambda a, lhs, rhs: core("copy", lhs), via="copy")
same("Cast(data; dtype: dtype)", "cast", alias="cast")


@row("amp_cast(data; dtype: dtype)", via="cast")
def _amp_cast(a: Attrs, data: ndarray) -> ndarray | Sequence[ndarray]:
    """Between float32 and the half types; whatever else comes stays as it is."""
    return core("cast", data, dtype=a.dtype if dtype_of(data).name in _AMP_TYPES else dtype_of(data))


_AMP_TYPES = ("float16", "bfloat16", "float32")


@row("amp_multicast(*data; num_outputs: int, cast_narrow: bool=False)", via="cast", nout=lambda a: a.num_outputs)
def _amp_multicast(a: Attrs, *data: ndarray) -> ndarray | Sequence[ndarray]:
    pick = min if a.cast_narrow else max
    dtype = pick([dtype_of(d) for d in data], key=lambda d: d.itemsize)
    return tuple([core("cast", d, dtype=dtype) for d in data])


@row("_contrib_quadratic(data; a: float=0.0, b: float=0.0, c: float=0.0)", via="add multiply square")
def _quadratic(a: Attrs, data: ndarray) -> ndarray | Sequence[ndarray]:
    curve = core("add", core("multiply", core("square", data), a.a), core("multiply", data, a.b))
    return core("add", curve, a.c)


@row("_contrib_gradientmultiplier(data; scalar: float=1.0, is_int: bool=True)", via="add multiply stop_gradient")
def _gradient_multiplier(a: Attrs, data: ndarray) -> ndarray | Sequence[ndarray]:
    # x * s + stop(x - x * s): the value of x, the gradient s.
    scaled = core("multiply", data, a.scalar)
    return core("add", scaled, core("stop_gradient", core("subtract", data, scaled)))


@row("where(condition, x, y)", via="where reshape")
def _where(a: Attrs, condition: ndarray, x: ndarray, y: ndarray) -> ndarray | Sequence[ndarray]:
    if len(condition.shape) == 1 < len(x.shape):  # one choice for each row
        condition = core("reshape", condition, newshape=(condition.shape[0],) + (1,) * (len(x.shape) - 1))
    return core("where", condition, x, y)
