"""Elementwise primitives.

Functions of float32 are computed in float64 and rounded once, so they are within half a unit in the last place of the
true value (plus the error of NumPy's float64 function). Those of 16-bit floats are computed in float32. Where C does
not define integer divisions, shifts and casts, they have XLA's values.
"""

from __future__ import annotations

import functools
from typing import Any

import jax
import numpy as np

from gluonx.ops.host.primitives import LOW, RULES, WIDER, Call, Fn, is_inexact, rule, widened

_F32, _F64 = np.dtype(np.float32), np.dtype(np.float64)


# Plain ufuncs: exact, or rounded once, in the operands' own dtype.
_PLAIN: dict[str, Any] = {
    "neg": np.negative,
    "floor": np.floor,
    "ceil": np.ceil,
    "is_finite": np.isfinite,
    "sqrt": np.sqrt,
    "square": np.square,
    "not": np.invert,
    "real": np.real,
    "imag": np.imag,
    "conj": np.conjugate,
    "add": np.add,
    "add_any": np.add,
    "sub": np.subtract,
    "max": np.maximum,
    "min": np.minimum,
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
    "eq": np.equal,
    "ne": np.not_equal,
    "lt": np.less,
    "le": np.less_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
    "nextafter": np.nextafter,
}


def _plain(call: Call) -> Fn:
    return _PLAIN[call.name]


for _name in _PLAIN:
    RULES[_name] = _plain


@rule("mul")
def _mul(call: Call) -> Fn:
    if call.params.get("out_dtype") not in (None, call.ins[0].dtype):
        raise call.unsupported("a product of another dtype")
    return np.multiply


@rule("sign")
def _sign(call: Call) -> Fn:
    if call.dtype in LOW or call.dtype.kind == "f":
        return lambda x: np.where(x == 0, x, np.sign(x))  # keeps the sign of zero
    return np.sign


@rule("abs")
def _abs(call: Call) -> Fn:
    return widened(np.abs, call.ins[0].dtype, call.dtype) if call.ins[0].dtype.kind == "c" else np.abs


# Functions of floating-point numbers, computed in the wider type.


_WIDE: dict[str, Any] = {
    "exp": np.exp,
    "exp2": np.exp2,
    "log": np.log,
    "expm1": np.expm1,
    "log1p": np.log1p,
    "log2": np.log2,  # a primitive from jax 0.12 on
    "tanh": np.tanh,
    "sin": np.sin,
    "cos": np.cos,
    "tan": np.tan,
    "asin": np.arcsin,
    "acos": np.arccos,
    "atan": np.arctan,
    "sinh": np.sinh,
    "cosh": np.cosh,
    "asinh": np.arcsinh,
    "acosh": np.arccosh,
    "atanh": np.arctanh,
    "cbrt": np.cbrt,
    "rsqrt": lambda x: 1 / np.sqrt(x),
    "logistic": lambda x: 1 / (1 + np.exp(-x)),
    "one_minus_square": lambda x: (1 + x) * (1 - x),  # the derivative of tanh, from jax 0.12 on
    "atan2": np.arctan2,
}


def _wide(call: Call) -> Fn:
    fn, dtype = _WIDE[call.name], call.ins[0].dtype
    wide = WIDER.get(dtype)
    if wide is None:
        return fn
    if len(call.ins) == 1:
        return lambda x: fn(x.astype(wide)).astype(dtype)
    return lambda x, y: fn(x.astype(wide), y.astype(wide)).astype(dtype)


for _name in _WIDE:
    RULES[_name] = _wide


def raised(x: np.generic | np.ndarray, y: np.generic | np.ndarray) -> np.ndarray:
    """Return ``x ** y`` of floats of one dtype, as C computes it.

    NumPy takes the square root if the exponent is 0.5 for all elements, which gives NaN for -inf.
    """
    if np.ndim(y) == 0 and y == 0.5:
        return np.power(x, np.full(np.shape(x) or (1,), y)).reshape(np.shape(x))
    return np.power(x, y)


@rule("pow")
def _pow(call: Call) -> Fn:
    dtype, exponent = call.dtype, call.ins[1].dtype
    if not is_inexact(dtype):
        raise call.unsupported(f"{dtype} to the power of {exponent}")
    wide = WIDER.get(dtype, dtype)
    if exponent.kind in "iub":
        power = _F64 if wide.kind == "f" else wide
        return lambda x, y: np.power(x.astype(power if wide.kind == "f" else wide), y.astype(power)).astype(dtype)
    return lambda x, y: raised(x.astype(wide), y.astype(wide)).astype(dtype)


@rule("integer_pow")
def _integer_pow(call: Call) -> Fn:
    y, dtype = call.params["y"], call.dtype
    if y == 2:
        return np.square
    wide = WIDER.get(dtype, dtype) if is_inexact(dtype) else dtype

    def run(x: np.ndarray) -> np.ndarray:
        base, left, result = x.astype(wide), abs(y), None
        while left:
            if left & 1:
                result = base if result is None else result * base
            left >>= 1
            if left:
                base = base * base
        if result is None:
            result = np.ones_like(base)
        return (1 / result if y < 0 else result).astype(dtype)

    return run


@rule("polynomial")  # from jax 0.12 on; in the derivatives of erf and related functions
def _polynomial(call: Call) -> Fn:
    dtype = call.dtype
    wide = WIDER.get(dtype, dtype)

    def run(x: Any, *coefficients: Any) -> Any:
        base, result = x.astype(wide), coefficients[-1].astype(wide)
        for coefficient in coefficients[-2::-1]:
            result = coefficient.astype(wide) + base * result
        return result.astype(dtype) if np.ndim(result) else np.broadcast_to(result, np.shape(x)).astype(dtype)

    return run


@rule("div")
def _div(call: Call) -> Fn:
    if is_inexact(call.dtype):
        return np.divide if call.dtype.kind != "c" else widened(np.divide, call.dtype)
    return _whole_division(call, _quotient, np.array(-1).astype(call.dtype))


@rule("rem")
def _rem(call: Call) -> Fn:
    if is_inexact(call.dtype):
        return np.fmod if call.dtype not in LOW else widened(np.fmod, call.dtype)
    return _whole_division(call, np.fmod, None)


def _quotient(x: np.generic | np.ndarray, y: np.ndarray) -> Any:
    return np.floor_divide(x - np.fmod(x, y), y)  # exact, so floor and truncation are the same


def _whole_division(call: Call, fn: Fn, by_zero: np.ndarray | None) -> Fn:
    """Return `fn` for integers as XLA: x/0 is -1 (all bits set), x%0 is x, and the least number by -1 wraps."""
    signed = call.dtype.kind == "i"
    divisor = call.known[1]
    if divisor is not None and np.all(divisor != 0) and not (signed and np.any(divisor == -1)):
        return np.floor_divide if fn is _quotient and not signed else fn
    minus_one = np.array(-1 if signed else 0).astype(call.dtype)
    one = np.array(1, call.dtype)

    def run(x: np.generic | np.ndarray, y: np.ndarray) -> np.ndarray:
        zero, negative = y == 0, (y == minus_one) & signed
        safe = np.where(zero | negative, one, y)
        if by_zero is None:
            return np.where(zero, x, np.where(negative, np.zeros_like(x), fn(x, safe)))
        return np.where(zero, by_zero, np.where(negative, np.negative(x), fn(x, safe)))

    return run


@rule("shift_left", "shift_right_logical", "shift_right_arithmetic")
def _shift(call: Call) -> Fn:
    """Return a shift that for the width or more, or below zero, gives the result of shifting bit by bit."""
    dtype, left = call.dtype, call.name == "shift_left"
    bits = dtype.itemsize * 8
    unsigned = np.dtype(f"u{dtype.itemsize}")
    arithmetic = call.name == "shift_right_arithmetic"
    worker = np.dtype(f"i{dtype.itemsize}") if arithmetic else unsigned
    fn = np.left_shift if left else np.right_shift
    by, native = call.known[1], worker == dtype
    if by is not None and np.all((by >= 0) & (by < bits)):
        if native:
            return fn
        amount = np.asarray(by).astype(worker)
        return lambda x, y: fn(np.asarray(x).view(worker), amount).view(dtype)
    most, none = worker.type(bits - 1), worker.type(0)

    def run(x: np.ndarray, y: np.ndarray) -> np.ndarray:
        x, y = np.asarray(x).view(worker), np.asarray(y).view(unsigned)
        over = y >= bits
        shifted = fn(x, np.where(over, unsigned.type(0), y).astype(worker))
        return np.where(over, np.right_shift(x, most) if arithmetic else none, shifted).view(dtype)

    return run


@rule("clamp")
def _clamp(call: Call) -> Fn:
    return lambda low, x, high: np.minimum(np.maximum(x, low), high)


@rule("select_n")
def _select_n(call: Call) -> Fn:
    keyed = call.outs[0].key and call.ins[0].shape != ()
    if len(call.ins) == 2:
        return lambda which, case: case
    if call.ins[0].dtype == np.bool_:
        if keyed:
            return lambda which, no, yes: np.where(which[..., None], yes, no)
        return _chooser(call)
    last = len(call.ins) - 2

    def run(which: Any, *cases: Any) -> Any:
        which = np.asarray(which)[..., None] if keyed else which
        out = cases[last]
        for i in range(last - 1, -1, -1):
            out = np.where(np.less_equal(which, i), cases[i], out)
        return out

    return run


_MANY = 1 << 12  # so many elements are chosen by arithmetic
_WHOLE = {size: np.dtype(f"i{size}") for size in (1, 2, 4, 8)}


def where_or_zero(which: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Return `x` where the condition holds, and 0 elsewhere.

    ``np.where`` takes some 5 to 20 ns for an element where the condition is irregular, as a relu's is. A product of the
    bits with the condition, as an integer, is the same in a tenth of that time.

    Examples
    --------
    >>> where_or_zero(np.array([True, False]), np.float32([np.nan, np.inf]))
    array([nan,  0.], dtype=float32)
    """
    whole = _WHOLE[x.dtype.itemsize]
    return np.multiply(x.view(whole), which.view(np.int8), dtype=whole).view(x.dtype)


def _chooser(call: Call) -> Fn:
    """Return ``fn(which, no, yes)``; if one operand is zero, by `where_or_zero`."""
    whole = _WHOLE.get(call.dtype.itemsize)
    zero = [value is not None and not np.ndim(value) and not np.asarray(value).tobytes().strip(b"\0")
            for value in call.known[1:]]  # fmt: skip
    if whole is None or not any(zero):
        return lambda which, no, yes: np.where(which, yes, no)
    zero_first = zero[0]

    def choose(which: Any, no: Any, yes: Any) -> Any:
        kept = yes if zero_first else no
        if np.size(kept) < _MANY or np.size(which) < _MANY:
            return np.where(which, yes, no)
        return where_or_zero(which if zero_first else ~which, kept)

    return choose


@rule("round")
def _round(call: Call) -> Fn:
    if int(call.params["rounding_method"]) == 1:
        return np.rint

    def away(x: np.ndarray) -> np.ndarray:
        whole = np.trunc(x)
        return np.copysign(np.abs(whole) + (np.abs(x - whole) >= 0.5), x)

    return widened(away, call.dtype) if call.dtype in LOW else lambda x: away(x).astype(call.dtype)


@rule("complex")
def _complex(call: Call) -> Fn:
    dtype = call.dtype

    def run(real: Any, imag: Any) -> Any:
        out = np.empty(np.broadcast_shapes(np.shape(real), np.shape(imag)), dtype)
        out.real, out.imag = real, imag
        return out

    return run


@rule("population_count")
def _population_count(call: Call) -> Fn:
    dtype = call.dtype
    unsigned = np.dtype(f"u{dtype.itemsize}")
    return lambda x: np.bitwise_count(np.asarray(x).view(unsigned)).astype(dtype)


@rule("clz")
def _clz(call: Call) -> Fn:
    dtype = call.dtype
    bits, unsigned = dtype.itemsize * 8, np.dtype(f"u{dtype.itemsize}")

    def run(x: Any) -> Any:
        x = np.asarray(x).view(unsigned)
        high, low = (np.frexp(part.astype(_F64))[1] for part in (x >> np.array(bits // 2, unsigned), x))
        # The halves of 64-bit integers are counted separately, since a float64 would round them.
        if bits == 64:
            low = np.frexp((x & np.uint64(0xFFFFFFFF)).astype(_F64))[1]
        return (bits - np.where(high > 0, high + bits // 2, low)).astype(dtype)

    return run


@rule("mulhi")
def _mulhi(call: Call) -> Fn:
    dtype = call.dtype
    if dtype.itemsize > 4:
        raise call.unsupported(f"the upper half of products of {dtype}")
    wide, bits = np.dtype(f"{dtype.kind}8"), dtype.itemsize * 8
    return lambda x, y: (x.astype(wide) * y.astype(wide) >> wide.type(bits)).astype(dtype)


@rule("eq_to", "lt_to", "le_to")
def _total_order(call: Call) -> Fn:
    """Compare in the order -NaN < -inf < ... < -0 < +0 < ... < inf < NaN."""
    dtype = call.ins[0].dtype
    fn = {"eq_to": np.equal, "lt_to": np.less, "le_to": np.less_equal}[call.name]
    if not is_inexact(dtype):
        return fn
    if dtype.kind == "c":
        raise call.unsupported(f"{dtype}")
    whole = np.dtype(f"i{dtype.itemsize}")
    most = whole.type(np.iinfo(whole).max)

    def order(x: np.ndarray) -> np.ndarray:
        bits = np.asarray(x).view(whole)
        return np.where(bits < 0, bits ^ most, bits)

    return lambda x, y: fn(order(x), order(y))


# Casts.


def cast(source: np.dtype, target: np.dtype) -> Fn:
    """Return the function that casts as XLA does.

    Floats saturate in integers, NaN becomes 0, and complex numbers lose their imaginary part.
    """
    if source.kind == "c" and target.kind != "c":
        inner = cast(np.dtype(f"f{source.itemsize // 2}"), target)
        return lambda x: inner(x.real)
    if is_inexact(source) and target.kind in "iu":
        return functools.partial(_saturated, np.iinfo(target), target)
    return lambda x: x.astype(target)


def _saturated(bounds: np.iinfo, target: np.dtype, x: np.generic | np.ndarray) -> Any:
    wide = x.astype(_F64)
    low, high = float(bounds.min), float(bounds.max)  # for 64 bits, `high` rounds up to a power of two
    within = (wide >= low) & (wide < high)
    if within.all():
        return wide.astype(target)
    inside = np.where(within, wide, 0.0).astype(target)
    return np.where(wide >= high, target.type(bounds.max), np.where(wide < low, target.type(bounds.min), inside))


@rule("convert_element_type")
def _convert_element_type(call: Call) -> Fn:
    source, target = call.ins[0].dtype, call.dtype
    if source.names or target.names:  # float0
        shape = call.shape
        return lambda x: np.zeros(shape, target)
    return cast(source, target)


@rule("bitcast_convert_type")
def _bitcast_convert_type(call: Call) -> Fn:
    source, target = call.ins[0].dtype, call.dtype
    shape = call.shape
    if source.itemsize == target.itemsize:
        return lambda x: np.asarray(x).view(target)
    return lambda x: np.array(x, order="C", copy=None).reshape(-1).view(target).reshape(shape)


@rule("reduce_precision")
def _reduce_precision(call: Call) -> Fn:
    """Round to fewer bits of mantissa and exponent: ties to even, subnormal results to zero, large ones to infinity."""
    dtype = call.dtype
    exponent, mantissa = call.params["exponent_bits"], call.params["mantissa_bits"]
    sizes = {2: (5, 10), 4: (8, 23), 8: (11, 52)}
    own_exponent, own_mantissa = (8, 7) if str(dtype) == "bfloat16" else sizes.get(dtype.itemsize, (0, 0))
    if dtype.kind == "c" or own_exponent == 0 or mantissa == 0:
        raise call.unsupported(f"{dtype} to {mantissa} bits of mantissa")
    whole = np.dtype(f"u{dtype.itemsize}")
    word = whole.type
    cut = max(own_mantissa - mantissa, 0)
    half_less_one, mask = word((1 << cut >> 1) - 1 if cut else 0), word(~((1 << cut) - 1) & int(np.iinfo(whole).max))
    sign = word(1 << (dtype.itemsize * 8 - 1))
    bias, own_bias = (1 << (exponent - 1)) - 1, (1 << (own_exponent - 1)) - 1
    narrow = exponent < own_exponent
    most, least = own_bias + bias, own_bias - bias + 1  # biased exponents of what the narrower type holds
    infinity = word(((1 << own_exponent) - 1) << own_mantissa)

    def run(x: np.ndarray) -> np.ndarray:
        x = np.asarray(x)
        bits = x.view(whole)
        rounded = bits
        if cut:
            rounded = (bits + half_less_one + ((bits >> word(cut)) & word(1))) & mask
        if narrow:
            found = ((rounded & ~sign) >> word(own_mantissa)).astype(np.int64)
            rounded = np.where(found > most, (bits & sign) | infinity, rounded)
            rounded = np.where(found < least, bits & sign, rounded)
        return np.where(x != x, x, np.asarray(rounded, whole).view(dtype))

    return run


# Special functions: SciPy's, in float64.


def _special(name: str) -> Fn:
    import scipy.special

    return getattr(scipy.special, name)


def _zeta(x: Any, q: Any) -> Any:
    found = _special("zeta")(x, q)
    found = np.where((np.isinf(q) & (q > 0)) | np.isinf(x), np.nan, found)
    poles = (q <= 0) & (q == np.floor(q)) & (x > 1)
    return np.where(poles, np.where(x % 2 == 0, np.inf, np.nan), found)


def _polygamma(order: Any, x: Any) -> Any:
    series = np.where(order % 2 == 0, -1.0, 1.0) * _special("gamma")(order + 1) * _zeta(order + 1, x)
    return np.where(order == 0, _digamma(x), series)


_DIGAMMA_OF_ZERO = np.nan if jax.__version_info__ < (0, 11) else -np.inf  # as XLA has it


def _digamma(x: np.ndarray) -> np.ndarray:
    return np.where(x == 0, _DIGAMMA_OF_ZERO, _special("psi")(x))


_SPECIAL: dict[str, str | Fn] = {
    "erf": "erf",
    "erfc": "erfc",
    "lgamma": lambda x: np.where(np.isinf(x), np.inf, _special("gammaln")(x)),
    "digamma": _digamma,
    "polygamma": _polygamma,
    "zeta": _zeta,
    "igamma": "gammainc",
    "igammac": "gammaincc",
    "bessel_i0e": "i0e",
    "bessel_i1e": "i1e",
    "regularized_incomplete_beta": "betainc",
}


def _specially(call: Call) -> Fn:
    found, dtype = _SPECIAL[call.name], call.dtype
    call.cost *= 8
    if call.name in _ERRORS and dtype != _F64:
        found = _ERRORS[call.name]
    fn = _special(found) if isinstance(found, str) else found
    if len(call.ins) == 1:
        return lambda x: fn(x.astype(_F64)).astype(dtype)
    return lambda *arrays: fn(*[x.astype(_F64) for x in arrays]).astype(dtype)


for _name in _SPECIAL:
    RULES[_name] = _specially


# Polynomials of degree 14 and 7, highest power first, interpolated at Chebyshev's points: the logarithm of
# erfc(x) exp(x^2) / t for x >= 0, in 2 t - 1 where t = 2 / (2 + x); erf(x) / x for |x| <= 1, in 2 x^2 - 1.
_TAIL_OF_ERF = (
    -8.911517314421e-06,
    2.071326381762e-05,
    4.457591839847e-05,
    -0.0001546028342081,
    -7.504292238577e-05,
    0.0006579165556721,
    -0.0001534932233314,
    -0.002339256405019,
    0.001760406765375,
    0.008823552357553,
    -0.009872823288268,
    -0.04689548150029,
    0.04734331040211,
    0.6726432205258,
    -0.6717940840567,
)
_CENTRE_OF_ERF = (
    -7.552377923048e-08,
    1.231639589205e-06,
    -1.753691419148e-05,
    0.0002175119906348,
    -0.002285485612207,
    0.01985249772245,
    -0.1405360890211,
    0.9654687386376,
)
_AT_ONCE = 1 << 14  # elements that stay in a core's cache


def _horner(coefficients: tuple[float, ...], x: np.ndarray) -> np.ndarray:
    found = np.full_like(x, coefficients[0])
    for c in coefficients[1:]:
        found *= x
        found += c
    return found


def complementary_error(x: np.ndarray) -> np.ndarray:
    """Return the complementary error function of float64 numbers with a relative error of 4e-10, for float32 results.

    SciPy's is exact, but it takes 0.15 s to import, as long as ten steps of a small net take.

    Examples
    --------
    >>> complementary_error(np.array([-1.0, 0.0, 2.0])).round(6)
    array([1.842701, 1.      , 0.004678])
    """
    if x.size > _AT_ONCE and x.ndim:
        flat = x.reshape(-1)
        parts = [complementary_error(flat[i : i + _AT_ONCE]) for i in range(0, x.size, _AT_ONCE)]
        return np.concatenate(parts).reshape(x.shape)
    x = np.asarray(x)
    t = 2 / (2 + np.abs(x))
    power = _horner(_TAIL_OF_ERF, 2 * t - 1)
    power -= x * x
    t *= np.exp(power, out=power)
    return np.where(x < 0, 2 - t, t)


def error_function(x: np.ndarray) -> np.ndarray:
    """Return the error function of float64 numbers, for float32 results.

    Examples
    --------
    >>> error_function(np.array([-1.0, 0.0, 2.0])).round(6)
    array([-0.842701,  0.      ,  0.995322])
    """
    near = np.clip(x, -1, 1)
    return np.where(np.abs(x) < 1, near * _horner(_CENTRE_OF_ERF, 2 * near * near - 1), 1 - complementary_error(x))


_ERRORS: dict[str, Fn] = {"erf": error_function, "erfc": complementary_error}


# Polynomials for single precision by Giles ("Approximating the erfinv function", 2012), highest power first.
_CENTRE = (2.81022636e-08, 3.43273939e-07, -3.5233877e-06, -4.39150654e-06, 0.00021858087)
_CENTRE += (-0.00125372503, -0.00417768164, 0.246640727, 1.50140941)
_TAIL = (-0.000200214257, 0.000100950558, 0.00134934322, -0.00367342844, 0.00573950773)
_TAIL += (-0.0076224613, 0.00943887047, 1.00167406, 2.83297682)
_COEFFICIENTS = np.array([_CENTRE, _TAIL], np.float32)


def inverse_error(x: Any) -> np.ndarray:
    """Return the inverse of the error function, of float32 or float64.

    For float32 it is XLA's approximation, with its errors, which are some ten units in the last place where `x` is near
    1: normal draws are made by it, and should be the same numbers wherever they are made.

    Examples
    --------
    >>> inverse_error(np.float32([0, 0.5])).round(4)
    array([0.    , 0.4769], dtype=float32)
    """
    if x.dtype == _F64:
        return _special("erfinv")(x)
    w = -np.log1p(-(x * x).astype(_F64)).astype(_F32)
    inner = w < 5
    if inner.all():
        w, (first, *rest) = w - np.float32(2.5), _COEFFICIENTS[0]
    else:
        w = np.where(inner, w - np.float32(2.5), np.sqrt(w) - np.float32(3))
        first, *rest = [np.where(inner, *pair) for pair in _COEFFICIENTS.T]
    p = first * np.ones_like(w)
    for c in rest:
        p = p * w + c
    return np.where(np.abs(x) == 1, np.copysign(np.float32(np.inf), x), p * x)


@rule("erf_inv")
def _erf_inv(call: Call) -> Fn:
    dtype = call.dtype
    call.cost *= 8
    return inverse_error if dtype not in LOW else lambda x: inverse_error(x.astype(_F32)).astype(dtype)


elementwise_names = frozenset(RULES)
"""Every primitive whose rule stands in this module."""

BROADCASTING = elementwise_names - {
    "bitcast_convert_type",
    "convert_element_type",
    "reduce_precision",
    "complex",
}
"""Those whose functions compute the same on operands that are broadcast only by NumPy."""
