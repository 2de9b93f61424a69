"""Element-wise mathematics: one result for each element, or for each pair of elements after broadcasting.

Most of these are one line over `jax.numpy`, so they are rows of a table. Gradients at kinks are MXNet's: at a tie
``maximum`` passes the gradient to its first argument, ``clip`` passes it at its bounds, ``relu`` stops it at 0.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Mapping
from typing import Any, Unpack

import jax
import jax.numpy as jnp
from jax import Array, lax
from jax.scipy import special

from gluonx.common.arguments import did_you_mean
from gluonx.errors import ShapeError
from gluonx.ops.common import aligned, channels, choose, filled, float_dtype, narrow, same_dtype, wide
from gluonx.ops.cpu.channels_last import channels_last
from gluonx.ops.cpu.convolution import on_gpu
from gluonx.ops.cpu.reductions import spread
from gluonx.ops.registry import BROADCAST, FLAT, NONE, SAME, Front, Onnx, Record, Shape, get, register


def _mish(x: Array) -> Array:
    # tanh(log(1 + e)) is ((1 + e)**2 - 1) / ((1 + e)**2 + 1): one exponential, and exact at both ends.
    e = jnp.exp(jnp.minimum(wide(x), 20))
    above = e * (e + 2)
    return narrow(wide(x) * (above / (above + 2)), x.dtype)


@jax.custom_jvp
def _relu(x: Array) -> Array:
    return jnp.maximum(x, 0)


@_relu.defjvp
def _relu_jvp(primals: tuple[Array], tangents: tuple[Array]) -> tuple[Array, Array]:
    (x,), (t,) = primals, tangents
    y = jnp.maximum(x, 0)
    # On a GPU y is computed again from x, mostly in a kernel that reads the inputs of x anyway, so that y is not kept.
    seen = on_gpu(_positive_part, lambda x, y: y, x, y)
    return y, jax.lax.select(seen > 0, t, t * seen)  # 0 where relu is closed, and NaN where x is NaN


def _positive_part(x: Array, y: Array) -> Array:
    """Return `y` computed by other operations, which XLA does not merge with those of the forward pass."""
    return lax.select(x <= 0, jnp.zeros_like(x), x)


@jax.custom_jvp
def _absolute(x: Array) -> Array:
    return jnp.abs(x)


@_absolute.defjvp
def _absolute_jvp(primals: tuple[Array], tangents: tuple[Array]) -> tuple[Array, Array]:
    (x,), (t,) = primals, tangents
    if jnp.issubdtype(x.dtype, jnp.complexfloating):
        return jax.jvp(jnp.abs, primals, tangents)
    return jnp.abs(x), t * jnp.sign(x)


def _half_away(x: Array) -> Array:
    whole = not jnp.issubdtype(x.dtype, jnp.inexact)
    return x if whole else lax.round(x, lax.RoundingMethod.AWAY_FROM_ZERO)  # x + 0.5 would be rounded itself


def _straight_through(compute: Callable[[Array], Array]) -> Callable[[Array], Array]:
    """Return a step function with the gradient of the identity."""

    @jax.custom_jvp
    def step(x: Array) -> Array:
        return compute(x)

    step.defjvp(lambda primals, tangents: (compute(*primals), tangents[0]))
    return step


def _maximum(x: Array, y: Array) -> Array:
    return jnp.where((x >= y) | (x != x), x, y)


def _minimum(x: Array, y: Array) -> Array:
    return jnp.where((x <= y) | (x != x), x, y)


def _counted(x: Array, y: Array) -> tuple[Array, Array]:
    """Return the operands, with a mask beside floats turned into integers.

    XLA replaces ``mask * y`` by ``where(mask, y, 0)``, which is 0 where ``y`` is NaN or infinite. It does not if the
    mask is made of integers.
    """
    masks = x.dtype == bool, y.dtype == bool
    if masks == (True, False) and jnp.issubdtype(y.dtype, jnp.inexact):
        return x.astype(jnp.int8), y
    if masks == (False, True) and jnp.issubdtype(x.dtype, jnp.inexact):
        return x, y.astype(jnp.int8)
    return x, y


def _divide(x: Array, y: Array) -> Array:
    if x.dtype == bool:
        x = x.astype(jnp.int8)  # as in `_counted`
    if not (jnp.issubdtype(x.dtype, jnp.inexact) or jnp.issubdtype(y.dtype, jnp.inexact)):
        x, y = x.astype(jnp.float32), y.astype(jnp.float32)
    return jnp.true_divide(x, y)


def _floor_divide(x: Array, y: Array) -> Array:
    quotient = jnp.floor_divide(x, y)
    if jnp.issubdtype(quotient.dtype, jnp.inexact):
        return quotient
    return jnp.where(y == 0, 0, quotient).astype(quotient.dtype)  # XLA's result of a division by zero is undefined


def _power(x: Array, y: Array) -> Array:
    if not (jnp.issubdtype(y.dtype, jnp.signedinteger) and jnp.issubdtype(x.dtype, jnp.integer)):
        return jnp.power(x, y)
    whole = jnp.power(x, jnp.maximum(y, 0))
    odd = jnp.where(y % 2 == 0, 1, -1)
    inverse = jnp.where(x == 1, 1, jnp.where(x == -1, odd, 0))  # truncated towards zero
    return jnp.where(y < 0, inverse, whole).astype(whole.dtype)


def _compared(compare: Callable[[Any, Any], Array]) -> Callable[[Array, Array], Array]:
    """Return the comparison, exact also between uint64 and signed integers, whose common type is float64."""

    def run(x: Array, y: Array) -> Array:
        if x.dtype == jnp.uint64 and jnp.issubdtype(y.dtype, jnp.signedinteger):
            return jnp.where(y < 0, compare(0, -1), compare(x, y.astype(x.dtype)))
        if y.dtype == jnp.uint64 and jnp.issubdtype(x.dtype, jnp.signedinteger):
            return jnp.where(x < 0, compare(-1, 0), compare(x.astype(y.dtype), y))
        return compare(x, y)

    return run


def _in_floats(compute: Callable[[Array], Array], small: bool) -> Callable[[Array], Array]:
    """Return the function for integers too: they become float32, or, with `small`, 8-bit ones and booleans float16."""

    def run(x: Array) -> Array:
        if jnp.issubdtype(x.dtype, jnp.inexact):
            return compute(x)
        return compute(x.astype(jnp.float16 if small and x.dtype.itemsize == 1 else jnp.float32))

    return run


_single = functools.partial(_in_floats, small=False)
_small = functools.partial(_in_floats, small=True)


def _unary(name: str, compute: Callable[[Array], Array], doc: str, /, **record: Unpack[Record]) -> None:
    """Register a function of each element."""

    def unary(x: Array) -> Array:
        return compute(x)

    unary.__name__, unary.__doc__ = name, doc
    record["channels_last"] = "each"
    record.setdefault("shape", SAME)
    register(name, **record)(unary)


def _partners(shapes: list[Shape | None], attrs: Mapping[str, Any]) -> list[Shape | None]:
    """Complete an operand of unknown shape from the other one, as far as that is known."""
    out = list(shapes)
    for i, (own, other) in enumerate(zip(shapes, shapes[::-1], strict=True)):
        if other is None or (own is not None and all(n > 0 for n in own)):
            continue
        if own is None:
            out[i] = other
        elif 0 < len(own) <= len(other):
            out[i] = tuple(n if n > 0 else m for n, m in zip(own, other[-len(own) :], strict=True))
    return out


def _paired(x1: Array, x2: Array) -> tuple[Array, Array]:
    """Return two arrays of different shapes with equally many axes, so that each can be broadcast to the other."""
    x1, x2 = aligned(x1, x2)
    pairs = list(zip(x1.shape, x2.shape))
    known = all(isinstance(n, int) and isinstance(m, int) for n, m in pairs)
    if x1.ndim != x2.ndim or not known or any(n != m and 1 not in (n, m) for n, m in pairs):
        return x1, x2  # a scalar, a symbolic size, or a mismatch, for which the operation raises
    shape = tuple(m if n == 1 else n for n, m in pairs)
    return spread(x1, shape), spread(x2, shape)


def _binary(name: str, compute: Callable[[Array, Array], Array], doc: str, /, **record: Unpack[Record]) -> None:
    """Register a function of each pair of elements."""

    def binary(x1: Array, x2: Array) -> Array:
        if x1.shape != x2.shape:
            x1, x2 = _paired(x1, x2)
        return compute(x1, x2)

    binary.__name__, binary.__doc__ = name, doc
    record["infer"], record["batched"], record["channels_last"] = _partners, ("x1", "x2"), "each"
    record.setdefault("shape", BROADCAST)
    register(name, **record)(binary)


# fmt: off
_unary("relu", _relu, "``max(x, 0)``, with gradient 0 at 0, and NaN at NaN.", methods=("relu",),
    gradient="through `x`, 0 at 0", stands_for="`stablehlo.maximum` with 0",
    onnx=Onnx("Relu"),
    example=("npx.relu(np.array([-1.0, 0.0, 2.0])).tolist()", "[0.0, 0.0, 2.0]"), light=True, gives="input")
_unary("relu6", jax.nn.relu6, "``min(max(x, 0), 6)``, the activation of MobileNets.", methods=("relu6",),
    gradient="through `x`, 0 at 0 and at 6", composed=lambda run, x: run("clip", x, 0.0, 6.0),
    example=("npx.relu6(np.array([-1.0, 2.0, 8.0])).tolist()", "[0.0, 2.0, 6.0]"), gives="float")
_unary("sigmoid", _single(jax.nn.sigmoid), "``1 / (1 + exp(-x))``.", methods=("sigmoid",),
    stands_for="`stablehlo.logistic`",
    onnx=Onnx("Sigmoid"),
    example=("npx.sigmoid(np.array([-1.0, 0.0, 2.0])).tolist()", "[0.2689, 0.5, 0.8808]"), gives="float")
_unary("log_sigmoid", _single(jax.nn.log_sigmoid), "The logarithm of the sigmoid, without overflow.",
    methods=("log_sigmoid",),
    example=("npx.log_sigmoid(np.array([-1.0, 0.0, 2.0])).tolist()", "[-1.313, -0.6931, -0.1269]"), gives="float")
_unary("softrelu", _single(jax.nn.softplus), "``log(1 + exp(x))``, without overflow.", aliases=("softplus",),
    onnx=Onnx("Softplus"),
    example=("npx.softrelu(np.array([-1.0, 0.0, 2.0])).tolist()", "[0.3133, 0.6931, 2.127]"), gives="float")
_unary("softsign", _single(jax.nn.soft_sign), "``x / (1 + |x|)``.",
    onnx=Onnx("Softsign"),
    example=("npx.softsign(np.array([-1.0, 0.0, 2.0])).tolist()", "[-0.5, 0.0, 0.6667]"), gives="float")
_unary("tanh", _small(jnp.tanh), "The hyperbolic tangent.", ufunc=True, methods=("tanh",),
    onnx=Onnx("Tanh"),
    example=("npx.tanh(np.array([-1.0, 0.0, 2.0])).tolist()", "[-0.7616, 0.0, 0.964]"), gives="float")
_unary("mish", _single(_mish), "``x tanh(log(1 + exp(x)))``.", methods=("mish",),
    onnx=Onnx("Mish"),
    example=("npx.mish(np.array([-1.0, 0.0, 2.0])).tolist()", "[-0.3034, 0.0, 1.944]"), gives="float")
_unary("quick_gelu", _single(lambda x: x * jax.nn.sigmoid(1.702 * x)), "``x sigmoid(1.702 x)``, the `gelu` of CLIP.",
    composed=lambda run, x: run("multiply", x, run("sigmoid", run("multiply", x, 1.702))),
    example=("npx.quick_gelu(np.array([-1.0, 0.0, 2.0])).tolist()", "[-0.1542, 0.0, 1.936]"), gives="float")
_unary("hard_tanh", lambda x: jnp.where(x >= 1, 1, jnp.where(x <= -1, -1, x)).astype(x.dtype),
    "Each element cut to the range -1 to 1, with gradient 0 at both ends.",
    gradient="through `x`, 0 at -1 and at 1", composed=lambda run, x: run("clip", x, -1.0, 1.0),
    example=("npx.hard_tanh(np.array([-2.0, 0.5, 2.0])).tolist()", "[-1.0, 0.5, 1.0]"), gives="input")
_unary("silu", _single(jax.nn.silu), "``x sigmoid(x)``.",
    example=("npx.silu(np.array([-1.0, 0.0, 2.0])).tolist()", "[-0.2689, 0.0, 1.762]"), gives="float")
_unary("selu", _single(jax.nn.selu), "The scaled exponential linear unit of self-normalizing networks.",
    example=("npx.selu(np.array([-1.0, 0.0, 2.0])).tolist()", "[-1.111, 0.0, 2.101]"), gives="float")
_unary("exp", _small(jnp.exp), "e to the power of each element.", ufunc=True, amp="float32", methods=("exp",),
    onnx=Onnx("Exp"), example=("npx.exp(np.array([-1.0, 0.0, 2.0])).tolist()", "[0.3679, 1.0, 7.389]"), gives="float")
_unary("log", _small(jnp.log), "The natural logarithm.", ufunc=True, amp="float32", methods=("log",),
    onnx=Onnx("Log"), example=("npx.log(np.array([1.0, 2.0, 4.0])).tolist()", "[0.0, 0.6931, 1.386]"), gives="float")
_unary("sqrt", _small(jnp.sqrt), "The square root of each element.", ufunc=True, methods=("sqrt",),
    onnx=Onnx("Sqrt"), example=("npx.sqrt(np.array([1.0, 2.0, 4.0])).tolist()", "[1.0, 1.414, 2.0]"), gives="float")
_unary("square", jnp.square, "Each element times itself.", ufunc=True, amp="float32", methods=("square",),
    example=("npx.square(np.array([1.0, 2.0, 4.0])).tolist()", "[1.0, 4.0, 16.0]"), light=True, gives="input")
_unary("negative", jnp.negative, "Each element with its sign changed.", ufunc=True,
    onnx=Onnx("Neg"),
    example=("npx.negative(np.array([-1.0, 0.0, 2.0])).tolist()", "[1.0, -0.0, -2.0]"), gives="input", light=True)
_unary("absolute", _absolute, "The absolute value of each element, with gradient 0 at 0.", ufunc=True,
    aliases=("abs", "fabs"), methods=("abs",), gradient="through `x`, 0 at 0",
    onnx=Onnx("Abs"),
    example=("npx.absolute(np.array([-1.0, 0.0, 2.0])).tolist()", "[1.0, 0.0, 2.0]"), gives="input", light=True)
_unary("sign", jnp.sign, "-1, 0 or 1 by the sign of each element.", ufunc=True, methods=("sign",), gradient=FLAT,
    onnx=Onnx("Sign"), example=("npx.sign(np.array([-1.0, 0.0, 2.0])).tolist()", "[-1.0, 0.0, 1.0]"), gives="input")
_unary("floor", jnp.floor, "The largest whole number that is not above each element.", ufunc=True, methods=("floor",),
    gradient=FLAT,
    onnx=Onnx("Floor", floats=True),
    example=("npx.floor(np.array([-1.5, 0.5, 1.7])).tolist()", "[-2.0, 0.0, 1.0]"), gives="input")
_unary("ceil", jnp.ceil, "The smallest whole number that is not below each element.", ufunc=True, methods=("ceil",),
    gradient=FLAT,
    onnx=Onnx("Ceil", floats=True),
    example=("npx.ceil(np.array([-1.5, 0.5, 1.7])).tolist()", "[-1.0, 1.0, 2.0]"), gives="input")
_unary("trunc", jnp.trunc, "Each element rounded towards zero.", ufunc=True, aliases=("fix",), methods=("fix", "trunc"),
    gradient=FLAT,
    example=("npx.trunc(np.array([-1.5, 0.5, 1.7])).tolist()", "[-1.0, 0.0, 1.0]"), gives="input")
_unary("rint", _small(jnp.rint), "The nearest whole number, halves to the even one (MXNet sends halves down).",
    ufunc=True, methods=("rint",), gradient=FLAT,
    onnx=Onnx("Round", floats=True),
    example=("npx.rint(np.array([-1.5, 0.5, 1.7])).tolist()", "[-2.0, 0.0, 2.0]"), gives="float")
_unary("cbrt", _small(jnp.cbrt), "The cube root of each element.", ufunc=True, methods=("cbrt",),
    example=("npx.cbrt(np.array([-1.0, 0.0, 2.0])).tolist()", "[-1.0, 0.0, 1.26]"), gives="float")
_unary("rsqrt", lambda x: lax.rsqrt(narrow(x, float_dtype(x))), "``1 / sqrt(x)``.", amp="float32", methods=("rsqrt",),
    stands_for="`stablehlo.rsqrt`",
    example=("npx.rsqrt(np.array([1.0, 2.0, 4.0])).tolist()", "[1.0, 0.7071, 0.5]"), gives="float")
_unary("rcbrt", lambda x: 1 / jnp.cbrt(x), "``1 / cbrt(x)``.", amp="float32", methods=("rcbrt",),
    example=("npx.rcbrt(np.array([1.0, 2.0, 4.0])).tolist()", "[1.0, 0.7937, 0.63]"), gives="float")
_unary("reciprocal", _single(lambda x: 1 / x), "One divided by each element.", ufunc=True, amp="float32",
    methods=("reciprocal",),
    onnx=Onnx("Reciprocal"),
    example=("npx.reciprocal(np.array([1.0, 2.0, 4.0])).tolist()", "[1.0, 0.5, 0.25]"), gives="float")
_unary("expm1", _small(jnp.expm1), "exp(x) - 1, exact also for x near zero.", ufunc=True, amp="float32",
    methods=("expm1",),
    example=("npx.expm1(np.array([-1.0, 0.0, 2.0])).tolist()", "[-0.6321, 0.0, 6.389]"), gives="float")
_unary("exp2", _small(jnp.exp2), "2 to the power of each element.", ufunc=True, amp="float32",
    example=("npx.exp2(np.array([-1.0, 0.0, 2.0])).tolist()", "[0.5, 1.0, 4.0]"), gives="float")
_unary("log1p", _small(jnp.log1p), "log(1 + x), exact also for x near zero.", ufunc=True, amp="float32",
    methods=("log1p",),
    example=("npx.log1p(np.array([1.0, 2.0, 4.0])).tolist()", "[0.6931, 1.099, 1.609]"), gives="float")
_unary("log2", _small(jnp.log2), "The logarithm to base two.", ufunc=True, amp="float32", methods=("log2",),
    example=("npx.log2(np.array([1.0, 2.0, 4.0])).tolist()", "[0.0, 1.0, 2.0]"), gives="float")
_unary("log10", _small(jnp.log10), "The logarithm to base ten.", ufunc=True, amp="float32", methods=("log10",),
    example=("npx.log10(np.array([1.0, 2.0, 4.0])).tolist()", "[0.0, 0.301, 0.6021]"), gives="float")
_unary("sin", _small(jnp.sin), "The sine of angles in radians.", ufunc=True, methods=("sin",),
    onnx=Onnx("Sin"), example=("npx.sin(np.array([-1.0, 0.0, 2.0])).tolist()", "[-0.8415, 0.0, 0.9093]"), gives="float")
_unary("cos", _small(jnp.cos), "The cosine of angles in radians.", ufunc=True, methods=("cos",),
    onnx=Onnx("Cos"), example=("npx.cos(np.array([-1.0, 0.0, 2.0])).tolist()", "[0.5403, 1.0, -0.4161]"), gives="float")
_unary("tan", _small(jnp.tan), "The tangent of angles in radians.", ufunc=True, amp="float32", methods=("tan",),
    onnx=Onnx("Tan"), example=("npx.tan(np.array([0.0, 1.0])).tolist()", "[0.0, 1.557]"), gives="float")
_unary("arcsin", _small(jnp.arcsin), "The angle in [-pi/2, pi/2] whose sine is x.", ufunc=True, aliases=("asin",),
    amp="float32", methods=("arcsin",),
    onnx=Onnx("Asin"),
    example=("npx.arcsin(np.array([-0.5, 0.0, 0.5])).tolist()", "[-0.5236, 0.0, 0.5236]"), gives="float")
_unary("arccos", _small(jnp.arccos), "The angle in [0, pi] whose cosine is x.", ufunc=True, aliases=("acos",),
    amp="float32", methods=("arccos",),
    onnx=Onnx("Acos"),
    example=("npx.arccos(np.array([-0.5, 0.0, 0.5])).tolist()", "[2.094, 1.571, 1.047]"), gives="float")
_unary("arctan", _small(jnp.arctan), "The angle in [-pi/2, pi/2] whose tangent is x.", ufunc=True, aliases=("atan",),
    methods=("arctan",),
    onnx=Onnx("Atan"),
    example=("npx.arctan(np.array([-1.0, 0.0, 2.0])).tolist()", "[-0.7854, 0.0, 1.107]"), gives="float")
_unary("sinh", _small(jnp.sinh), "The hyperbolic sine.", ufunc=True, amp="float32", methods=("sinh",),
    onnx=Onnx("Sinh"), example=("npx.sinh(np.array([-1.0, 0.0, 2.0])).tolist()", "[-1.175, 0.0, 3.627]"), gives="float")
_unary("cosh", _small(jnp.cosh), "The hyperbolic cosine.", ufunc=True, amp="float32", methods=("cosh",),
    onnx=Onnx("Cosh"), example=("npx.cosh(np.array([-1.0, 0.0, 2.0])).tolist()", "[1.543, 1.0, 3.762]"), gives="float")
_unary("arcsinh", _small(jnp.arcsinh), "The number whose hyperbolic sine is x.", ufunc=True, aliases=("asinh",),
    methods=("arcsinh",),
    onnx=Onnx("Asinh"),
    example=("npx.arcsinh(np.array([-1.0, 0.0, 2.0])).tolist()", "[-0.8814, 0.0, 1.444]"), gives="float")
_unary("arccosh", _small(jnp.arccosh), "The number whose hyperbolic cosine is x.", ufunc=True, aliases=("acosh",),
    methods=("arccosh",),
    onnx=Onnx("Acosh"),
    example=("npx.arccosh(np.array([1.0, 2.0, 4.0])).tolist()", "[0.0, 1.317, 2.063]"), gives="float")
_unary("arctanh", _small(jnp.arctanh), "The number whose hyperbolic tangent is x.", ufunc=True, aliases=("atanh",),
    amp="float32", methods=("arctanh",),
    onnx=Onnx("Atanh"),
    example=("npx.arctanh(np.array([-0.5, 0.0, 0.5])).tolist()", "[-0.5493, 0.0, 0.5493]"), gives="float")
_unary("degrees", _small(jnp.degrees), "Radians to degrees.", ufunc=True, aliases=("rad2deg",), methods=("degrees",),
    example=("npx.degrees(np.array([0.0, 3.1415927])).tolist()", "[0.0, 180.0]"), gives="float")
_unary("radians", _small(jnp.radians), "Degrees to radians.", ufunc=True, aliases=("deg2rad",), methods=("radians",),
    example=("npx.radians(np.array([0.0, 180.0])).tolist()", "[0.0, 3.142]"), gives="float")
_unary("erf", lambda x: special.erf(narrow(x, float_dtype(x))), "The error function.",
    stands_for="`chlo.erf`, `erf_inv`",
    onnx=Onnx("Erf"),
    example=("npx.erf(np.array([-1.0, 0.0, 2.0])).tolist()", "[-0.8427, 0.0, 0.9953]"), gives="float")
_unary("erfinv", lambda x: special.erfinv(narrow(x, float_dtype(x))), "The inverse of the error function.",
    amp="float32", stands_for="`chlo.erf`, `erf_inv`",
    example=("npx.erfinv(np.array([-0.5, 0.0, 0.5])).tolist()", "[-0.4769, 0.0, 0.4769]"), gives="float")
_unary("logit", lambda x: special.logit(narrow(x, float_dtype(x))), "``log(x / (1 - x))``, the inverse of the sigmoid.",
    amp="float32", composed=lambda run, x: run("log", run("true_divide", x, run("subtract", 1.0, x))),
    example=("npx.logit(np.array([0.25, 0.5, 0.75])).tolist()", "[-1.0986, 0.0, 1.0986]"), gives="float")
_unary("gamma", lambda x: special.gamma(narrow(x, float_dtype(x))), "The gamma function.", amp="float32",
    example=("npx.gamma(np.array([1.0, 2.0, 4.0])).tolist()", "[1.0, 1.0, 6.0]"), gives="float")
_unary("gammaln", lambda x: special.gammaln(narrow(x, float_dtype(x))), "Logarithm of ``|gamma(x)|``.", amp="float32",
    stands_for="`chlo.lgamma`",
    example=("npx.gammaln(np.array([1.0, 2.0, 4.0])).tolist()", "[0.0, 0.0, 1.792]"), gives="float")
_unary("digamma", lambda x: special.digamma(narrow(x, float_dtype(x))), "The derivative of ``gammaln``.", amp="float32",
    stands_for="`chlo.digamma`",
    example=("npx.digamma(np.array([1.0, 2.0, 4.0])).tolist()", "[-0.5772, 0.4228, 1.256]"), gives="float")
_unary("logical_not", jnp.logical_not, "True where an element is zero or False.", ufunc=True, gradient=NONE,
    onnx=Onnx("Not"), example=("np.logical_not(np.array([0.0, 2.0])).tolist()", "[True, False]"), gives="bool")
_unary("bitwise_not", jnp.bitwise_not, "Each bit inverted; logical not for booleans.", ufunc=True,
    aliases=("invert", "bitwise_invert"), gradient=NONE,
    example=("np.bitwise_not(np.array([0, 5], dtype='int32')).tolist()", "[-1, -6]"))
_unary("isnan", jnp.isnan, "True where an element is NaN.", ufunc=True, gradient=NONE,
    example=("npx.isnan(np.array([1.0, float('inf'), float('nan')])).tolist()", "[False, False, True]"), gives="bool")
_unary("isinf", jnp.isinf, "True where an element is infinite.", ufunc=True, gradient=NONE,
    example=("npx.isinf(np.array([1.0, float('inf'), float('nan')])).tolist()", "[False, True, False]"), gives="bool")
_unary("isfinite", jnp.isfinite, "True where an element is neither infinite nor NaN.", ufunc=True, gradient=NONE,
    example=("npx.isfinite(np.array([1.0, float('inf'), float('nan')])).tolist()", "[True, False, False]"),
    gives="bool")
_unary("isposinf", jnp.isposinf, "True where an element is plus infinity.", ufunc=True, gradient=NONE,
    example=("npx.isposinf(np.array([1.0, float('inf'), float('nan')])).tolist()", "[False, True, False]"),
    gives="bool")
_unary("isneginf", jnp.isneginf, "True where an element is minus infinity.", ufunc=True, gradient=NONE,
    example=("npx.isneginf(np.array([1.0, float('inf'), float('nan')])).tolist()", "[False, False, False]"),
    gives="bool")
_unary("copy", lambda x: x, "The same values.", aliases=("identity",), stands_for="the identity",
    example=("npx.copy(np.array([1.0, 2.0])).tolist()", "[1.0, 2.0]"), gives="input")
_unary("stop_gradient", lax.stop_gradient, "The same values, through which no gradient flows.", aliases=("BlockGrad",),
    gradient=NONE, stands_for="the identity",
    example=("npx.stop_gradient(np.array([1.0, 2.0])).tolist()", "[1.0, 2.0]"), gives="input")
_unary("round_ste", _straight_through(_half_away), "Rounding (halves away from zero) with gradient 1.",
    gradient="as if it were the identity",
    example=("npx.round_ste(np.array([-1.5, 0.5, 1.7])).tolist()", "[-2.0, 1.0, 2.0]"), gives="input")
_unary("sign_ste", _straight_through(jnp.sign), "The sign, with gradient 1.", gradient="as if it were the identity",
    example=("npx.sign_ste(np.array([-1.5, 0.0, 1.7])).tolist()", "[-1.0, 0.0, 1.0]"), gives="input")
_binary("add", jnp.add, "The sum, elementwise.", ufunc=True, amp="widest",
    onnx=Onnx("Add"),
    example=("np.add(np.array([-3.0, 2.0]), np.array([2.0, 2.0])).tolist()", "[-1.0, 4.0]"), gives="input", light=True)
_binary("subtract", jnp.subtract, "The difference, elementwise.", ufunc=True, amp="widest",
    onnx=Onnx("Sub"),
    example=("np.subtract(np.array([-3.0, 2.0]), np.array([2.0, 2.0])).tolist()", "[-5.0, 0.0]"), gives="input",
    light=True)
_binary("multiply", lambda x, y: jnp.multiply(*_counted(x, y)), "The product, elementwise.", ufunc=True,
    amp="widest",
    onnx=Onnx("Mul"),
    example=("np.multiply(np.array([-3.0, 2.0]), np.array([2.0, 2.0])).tolist()", "[-6.0, 4.0]"), gives="input",
    light=True)
_binary("true_divide", _divide, "The quotient, as a float also for integers.", ufunc=True, aliases=("divide",),
    amp="widest",
    example=("np.true_divide(np.array([-3.0, 2.0]), np.array([2.0, 2.0])).tolist()", "[-1.5, 1.0]"), gives="float",
    light=True)
_binary("power", _power, "``x1 ** x2``; of integers, cut off to one.", aliases=("pow",), amp="float32",
    example=("np.power(np.array([-3.0, 2.0]), np.array([2.0, 2.0])).tolist()", "[9.0, 4.0]"))
_binary("floor_divide", _floor_divide, "The quotient rounded down; 0 where an integer is divided by 0.", ufunc=True,
    gradient=FLAT,
    example=("np.floor_divide(np.array([-3.0, 2.0]), np.array([2.0, 2.0])).tolist()", "[-2.0, 1.0]"))
_binary("mod", jnp.remainder, "The remainder with the sign of x2.", ufunc=True, aliases=("remainder",),
    amp="widest",
    example=("np.mod(np.array([-3.0, 2.0]), np.array([2.0, 2.0])).tolist()", "[1.0, 0.0]"))
_binary("fmod", jnp.fmod, "The remainder with the sign of x1.", ufunc=True, amp="widest",
    example=("np.fmod(np.array([-3.0, 2.0]), np.array([2.0, 2.0])).tolist()", "[-1.0, 0.0]"))
_binary("maximum", _maximum, "The larger element; NaN where either is. The gradient of a tie goes to ``x1``.",
    ufunc=True, amp="widest", gradient="through `x1`, `x2`; a tie goes to `x1`",
    example=("np.maximum(np.array([-3.0, 2.0]), np.array([2.0, 2.0])).tolist()", "[2.0, 2.0]"), gives="input",
    light=True, number="second")
_binary("minimum", _minimum, "The smaller element; NaN where either is. The gradient of a tie goes to ``x1``.",
    ufunc=True, amp="widest", gradient="through `x1`, `x2`; a tie goes to `x1`",
    example=("np.minimum(np.array([-3.0, 2.0]), np.array([2.0, 2.0])).tolist()", "[-3.0, 2.0]"), gives="input",
    light=True, number="second")
_binary("fmax", lambda x, y: jnp.where((x >= y) | (y != y), x, y),
    "The larger element; NaN only where both are. The gradient of a tie goes to ``x1``.", ufunc=True,
    amp="widest",
    example=("np.fmax(np.array([-3.0, 2.0]), np.array([2.0, 2.0])).tolist()", "[2.0, 2.0]"), gives="input",
    number="second")
_binary("fmin", lambda x, y: jnp.where((x <= y) | (y != y), x, y),
    "The smaller element; NaN only where both are. The gradient of a tie goes to ``x1``.", ufunc=True,
    amp="widest",
    example=("np.fmin(np.array([-3.0, 2.0]), np.array([2.0, 2.0])).tolist()", "[-3.0, 2.0]"), gives="input",
    number="second")
_binary("arctan2", jnp.arctan2, "The angle of the point (x2, x1) from the positive first axis.", ufunc=True,
    aliases=("atan2",),
    example=("np.arctan2(np.array([-3.0, 2.0]), np.array([2.0, 2.0])).tolist()", "[-0.9828, 0.7854]"), gives="float")
_binary("hypot", jnp.hypot, "The length of the vector (x1, x2).", ufunc=True, amp="widest",
    example=("np.hypot(np.array([-3.0, 2.0]), np.array([2.0, 2.0])).tolist()", "[3.606, 2.828]"), gives="float")
_binary("copysign", jnp.copysign, "x1 with the sign of x2.", ufunc=True, amp="widest", gradient="through `x1`",
    example=("np.copysign(np.array([-3.0, 2.0]), np.array([2.0, 2.0])).tolist()", "[3.0, 2.0]"), gives="float")
_binary("logaddexp", jnp.logaddexp, "log(exp(x1) + exp(x2)) without overflow.", ufunc=True, amp="float32",
    example=("np.logaddexp(np.array([-3.0, 2.0]), np.array([2.0, 2.0])).tolist()", "[2.007, 2.693]"), gives="float")
_binary("xlogy", special.xlogy, "``x1 * log(x2)``, 0 where x1 is 0: a term of an entropy, or of a divergence.",
    amp="float32", gradient="`log(x2)` to `x1`, and `x1 / x2` to `x2`: NaN where both are 0",
    composed=lambda run, x, y: run("where", run("equal", x, 0.0), 0.0, run("multiply", x, run("log", y))),
    example=("npx.xlogy(np.array([0.0, 0.5]), np.array([0.0, 0.5])).tolist()", "[0.0, -0.3466]"), gives="float")
_binary("ldexp", lambda x, y: x * jnp.exp2(y), "x1 times two to the power x2.", ufunc=True, amp="float32",
    example=("np.ldexp(np.array([1.0, 3.0]), np.array([2, 3])).tolist()", "[4.0, 24.0]"), gives="float")
_binary("gcd", jnp.gcd, "The greatest common divisor.", ufunc=True, gradient=NONE,
    example=("np.gcd(np.array([12, 6], dtype='int32'), np.array([2, 3], dtype='int32')).tolist()", "[2, 3]"))
_binary("lcm", jnp.lcm, "The least common multiple.", ufunc=True, gradient=NONE,
    example=("np.lcm(np.array([12, 6], dtype='int32'), np.array([2, 3], dtype='int32')).tolist()", "[12, 6]"))
_binary("equal", _compared(jnp.equal), "True where x1 == x2.", ufunc=True, amp="widest", gradient=NONE,
    onnx=Onnx("Equal"),
    example=("np.equal(np.array([-3.0, 2.0]), np.array([2.0, 2.0])).tolist()", "[False, True]"), gives="bool",
    light=True, number="compared")
_binary("not_equal", _compared(jnp.not_equal), "True where x1 != x2.", ufunc=True, amp="widest", gradient=NONE,
    example=("np.not_equal(np.array([-3.0, 2.0]), np.array([2.0, 2.0])).tolist()", "[True, False]"), gives="bool",
    light=True, number="compared")
_binary("greater", _compared(jnp.greater), "True where x1 > x2.", ufunc=True, amp="widest", gradient=NONE,
    onnx=Onnx("Greater"),
    example=("np.greater(np.array([-3.0, 2.0]), np.array([2.0, 2.0])).tolist()", "[False, False]"), gives="bool",
    light=True, number="compared")
_binary("greater_equal", _compared(jnp.greater_equal), "True where x1 >= x2.", ufunc=True, amp="widest",
    gradient=NONE,
    onnx=Onnx("GreaterOrEqual"),
    example=("np.greater_equal(np.array([-3.0, 2.0]), np.array([2.0, 2.0])).tolist()", "[False, True]"), gives="bool",
    light=True, number="compared")
_binary("less", _compared(jnp.less), "True where x1 < x2.", ufunc=True, amp="widest", gradient=NONE,
    onnx=Onnx("Less"),
    example=("np.less(np.array([-3.0, 2.0]), np.array([2.0, 2.0])).tolist()", "[True, False]"), gives="bool",
    light=True, number="compared")
_binary("less_equal", _compared(jnp.less_equal), "True where x1 <= x2.", ufunc=True, amp="widest",
    gradient=NONE, onnx=Onnx("LessOrEqual"),
    example=("np.less_equal(np.array([-3.0, 2.0]), np.array([2.0, 2.0])).tolist()", "[True, True]"),
    gives="bool", light=True, number="compared")
_binary("logical_and", jnp.logical_and, "True where both are true.", ufunc=True, amp="widest", gradient=NONE,
    onnx=Onnx("And"),
    example=("np.logical_and(np.array([True, False]), np.array([True, True])).tolist()", "[True, False]"), gives="bool")
_binary("logical_or", jnp.logical_or, "True where at least one is true.", ufunc=True, amp="widest",
    gradient=NONE, onnx=Onnx("Or"),
    example=("np.logical_or(np.array([True, False]), np.array([True, True])).tolist()", "[True, True]"),
    gives="bool")
_binary("logical_xor", jnp.logical_xor, "True where just one is true.", ufunc=True, amp="widest",
    gradient=NONE, gives="bool",
    onnx=Onnx("Xor"),
    example=("np.logical_xor(np.array([True, False]), np.array([True, True])).tolist()", "[False, True]"))
_binary("bitwise_and", jnp.bitwise_and, "Bits set in both.", ufunc=True, gradient=NONE,
    example=("np.bitwise_and(np.array([12, 6], dtype='int32'), np.array([2, 3], dtype='int32')).tolist()", "[0, 2]"))
_binary("bitwise_or", jnp.bitwise_or, "Bits set in either.", ufunc=True, gradient=NONE,
    example=("np.bitwise_or(np.array([12, 6], dtype='int32'), np.array([2, 3], dtype='int32')).tolist()", "[14, 7]"))
_binary("bitwise_xor", jnp.bitwise_xor, "Bits set in one but not in both.", ufunc=True, gradient=NONE,
    example=("np.bitwise_xor(np.array([12, 6], dtype='int32'), np.array([2, 3], dtype='int32')).tolist()", "[14, 5]"))
_binary("left_shift", jnp.left_shift, "The bits of x1, moved left by x2 places.", ufunc=True,
    aliases=("bitwise_left_shift",), gradient=NONE,
    example=("np.left_shift(np.array([12, 6], dtype='int32'), np.array([2, 3], dtype='int32')).tolist()", "[48, 48]"))
_binary("right_shift", jnp.right_shift, "The bits of x1, moved right by x2 places.", ufunc=True,
    aliases=("bitwise_right_shift",), gradient=NONE,
    example=("np.right_shift(np.array([12, 6], dtype='int32'), np.array([2, 3], dtype='int32')).tolist()", "[3, 0]"))
# fmt: on

absolute, maximum, minimum = _absolute, _maximum, _minimum


@register(amp="float32", shape=SAME, gives="input")
def integer_power(x: Array, *, exponent: int) -> Array:
    """``x ** exponent`` for a fixed integer: a few products in place of a general power. Integers stay integers.

    Parameters
    ----------
    exponent
        The exponent.

    Examples
    --------
    >>> from gluonx import np, npx
    >>> npx.integer_power(np.array([2.0, 3.0]), exponent=3).tolist()
    [8.0, 27.0]
    """
    if exponent < 0 and not jnp.issubdtype(x.dtype, jnp.inexact):
        return _power(x, jnp.asarray(exponent))
    if x.dtype == bool:
        x = x.astype(jnp.int32)
    return lax.integer_pow(x, exponent)


@register(
    aliases=("round",),
    methods=("round",),
    np=Front(order="x decimals out"),
    gradient=FLAT,
    shape=SAME,
    gives="input",
)
def around(x: Array, *, decimals: int = 0) -> Array:
    """Round to so many decimals, halves to even; a negative number rounds to tens, hundreds and so on.

    Examples
    --------
    >>> from gluonx import np, npx
    >>> np.around(np.array([1.234, 5.678]), 1).tolist()
    [1.2, 5.7]
    """
    if not jnp.issubdtype(x.dtype, jnp.integer) or decimals >= 0:
        return jnp.round(x, decimals)
    unit = 10**-decimals
    if unit > jnp.iinfo(x.dtype).max:  # this power of ten is too large for the dtype
        return jnp.zeros_like(x)
    low = x // unit
    rest = x - low * unit
    up = (rest > unit // 2) | ((rest == unit // 2) & (low % 2 == 1))
    return ((low + up.astype(x.dtype)) * unit).astype(x.dtype)


@register(
    channels_last="each",
    np=Front(order="x a_min a_max out", shown={"x": "a"}, also={"min": "a_min", "max": "a_max"}),
    shape=BROADCAST,
    gives="input",
    light=True,
)
def clip(x: Array, a_min: Array | None = None, a_max: Array | None = None) -> Array:
    """Return the values kept within ``[a_min, a_max]``; the gradient is 1 inside and on the bounds, 0 outside.

    Scalar bounds take the element type of `x`.

    Parameters
    ----------
    a_min
        The lower bound; None: there is none.
    a_max
        The upper bound; None: there is none.

    Examples
    --------
    >>> from gluonx import np, npx
    >>> np.clip(np.array([-1.0, 0.5, 2.0]), 0, 1).tolist()
    [0.0, 0.5, 1.0]
    """
    for bound, keep in ((a_min, _maximum), (a_max, _minimum)):
        if bound is not None:
            bound = jnp.asarray(bound)
            x = keep(*aligned(x, narrow(bound, x.dtype) if bound.ndim == 0 else bound))
    return x


@register(
    moving=("alpha", "beta"),
    channels_last="each",
    onnx=Onnx("HardSigmoid", {"alpha": "alpha", "beta": "beta"}),
    shape=SAME,
    gives="float",
)
def hard_sigmoid(x: Array, *, alpha: float = 0.2, beta: float = 0.5) -> Array:
    """``alpha * x + beta``, cut to the range 0 to 1, with gradient 0 at both ends.

    Parameters
    ----------
    alpha
        The slope.
    beta
        The value at 0.

    Examples
    --------
    >>> from gluonx import np, npx
    >>> npx.hard_sigmoid(np.array([-1.0, 0.0, 2.0])).tolist()
    [0.3, 0.5, 0.9]
    """
    line = alpha * x + beta
    return jnp.where(line >= 1, 1, jnp.where(line <= 0, 0, line))


@register(
    channels_last="each",
    onnx=Onnx("HardSwish"),
    gradient="through `x`, 0 at -3 and 1 at 3",
    shape=SAME,
    gives="float",
)
def hard_swish(x: Array) -> Array:
    """``x`` times the hard sigmoid of slope 1/6: a `swish` without an exponential, 0 up to -3 and ``x`` from 3 on.

    Examples
    --------
    >>> from gluonx import np, npx
    >>> npx.hard_swish(np.array([-1.0, 0.0, 2.0])).tolist()
    [-0.3333, 0.0, 1.667]
    """
    return x * hard_sigmoid.fn(x, alpha=1 / 6, beta=0.5)


@register(moving=("alpha",), channels_last="each", onnx=Onnx("Elu", {"alpha": "alpha"}), shape=SAME, gives="float")
def elu(x: Array, *, alpha: float = 1.0) -> Array:
    """``x`` if positive, else ``alpha * (exp(x) - 1)``.

    Parameters
    ----------
    alpha
        Far below 0 the result tends to ``-alpha``.

    Examples
    --------
    >>> from gluonx import np, npx
    >>> npx.elu(np.array([-1.0, 0.0, 2.0])).tolist()
    [-0.6321, 0.0, 2.0]
    """
    return jax.nn.elu(x, alpha)


@register(moving=("alpha",), channels_last="each", onnx=Onnx("Celu", {"alpha": "alpha"}), shape=SAME, gives="float")
def celu(x: Array, *, alpha: float = 1.0) -> Array:
    """``max(x, 0) + min(0, alpha * (exp(x / alpha) - 1))``: an `elu` with a slope of 1 on both sides of 0.

    Parameters
    ----------
    x : array
        Any shape.
    alpha : float
        Far below 0 the result tends to ``-alpha``; not 0.

    References
    ----------
    Barron, Continuously Differentiable Exponential Linear Units, 2017.

    Examples
    --------
    >>> from gluonx import np, npx
    >>> npx.celu(np.array([-1.0, 0.0, 2.0])).tolist()
    [-0.6321, 0.0, 2.0]
    """
    return jax.nn.celu(x, alpha)


@register(
    moving=("alpha",),
    channels_last="each",
    onnx=Onnx("ThresholdedRelu", {"alpha": "alpha"}),
    gradient="through `x`, 0 at `alpha`",
    shape=SAME,
    gives="input",
)
def thresholded_relu(x: Array, *, alpha: float = 1.0) -> Array:
    """``x`` where it is larger than `alpha`, 0 elsewhere, with gradient 0 at `alpha`.

    Parameters
    ----------
    x : array
        Any shape.
    alpha : float
        The largest value that becomes 0.

    Examples
    --------
    >>> from gluonx import np, npx
    >>> npx.thresholded_relu(np.array([-1.0, 1.0, 2.0])).tolist()
    [0.0, 0.0, 2.0]
    """
    return jnp.where(x > alpha, x, 0)


@register(
    moving=("lambd", "bias"),
    channels_last="each",
    onnx=Onnx("Shrink", {"lambd": "lambd", "bias": "bias"}),
    gradient="through `x`, 0 from -`lambd` to `lambd`",
    shape=SAME,
    gives="input",
)
def shrink(x: Array, *, lambd: float = 0.5, bias: float = 0.0) -> Array:
    """``x - bias`` above `lambd`, ``x + bias`` below ``-lambd``, and 0 between: the prox of a sparse penalty.

    With ``bias=0`` it is the hard shrinkage, with ``bias=lambd`` the soft one, which has no jump.

    Parameters
    ----------
    x : array
        Any shape.
    lambd : float
        The largest magnitude that becomes 0.
    bias : float
        How far the others are moved towards 0.

    Examples
    --------
    >>> from gluonx import np, npx
    >>> npx.shrink(np.array([-2.0, 0.25, 2.0]), lambd=0.5, bias=0.5).tolist()
    [-1.5, 0.0, 1.5]
    """
    return jnp.where(x > lambd, x - bias, jnp.where(x < -lambd, x + bias, 0)).astype(x.dtype)


@register(channels_last="each", shape=SAME, gives="float")
def gelu(x: Array, *, approximate: bool = False) -> Array:
    """``x`` times the normal distribution function of ``x``; by the formula with tanh if `approximate`.

    Parameters
    ----------
    approximate
        Whether to use the formula with tanh, which is faster.

    Examples
    --------
    >>> from gluonx import np, npx
    >>> npx.gelu(np.array([-1.0, 0.0, 2.0])).tolist()
    [-0.1587, 0.0, 1.954]
    """
    if approximate:
        return jax.nn.gelu(x)
    y = wide(x)
    return narrow(0.5 * y * (1 + lax.erf(y * math.sqrt(0.5))), float_dtype(x))


_ACTIVATIONS = {
    "log_sigmoid": jax.nn.log_sigmoid,
    "mish": _mish,
    "relu": _relu,
    "sigmoid": jax.nn.sigmoid,
    "softrelu": jax.nn.softplus,
    "softsign": jax.nn.soft_sign,
    "tanh": jnp.tanh,
    "silu": jax.nn.silu,
}

ACTIVATIONS: dict[str, tuple[str, dict[str, Any]]] = {
    **{name: ("activation", {"act_type": name}) for name in _ACTIVATIONS},
    "celu": ("celu", {}),
    "elu": ("leaky_relu", {"act_type": "elu", "slope": 1.0}),
    "gelu": ("leaky_relu", {"act_type": "gelu"}),
    "gelu_tanh": ("leaky_relu", {"act_type": "gelu_tanh"}),
    "hard_shrink": ("shrink", {"lambd": 0.5, "bias": 0.0}),
    "hard_sigmoid": ("hard_sigmoid", {}),
    "hard_swish": ("hard_swish", {}),
    "hard_tanh": ("hard_tanh", {}),
    "leaky": ("leaky_relu", {"act_type": "leaky", "slope": 0.25}),
    "leaky_relu": ("leaky_relu", {"act_type": "leaky", "slope": 0.25}),
    "quick_gelu": ("quick_gelu", {}),
    "relu6": ("relu6", {}),
    "selu": ("leaky_relu", {"act_type": "selu"}),
    "soft_shrink": ("shrink", {"lambd": 0.5, "bias": 0.5}),
    "softplus": ("softrelu", {}),
    "swish": ("silu", {}),
    "thresholded_relu": ("thresholded_relu", {}),
}
"""Every activation that has a name, with the operator and the attributes that it is: the functions of `npx` with their
defaults. What is named anywhere, in a layer, a cell or `npx.activation`, is looked up here by `named_activation`."""

_UNNAMED = {
    "prelu": "its slopes are a parameter: give the layer nn.PReLU() in place of the name",
    "rrelu": "it draws its slopes: use npx.leaky_relu(x, act_type='rrelu')",
    **dict.fromkeys(("softmax", "log_softmax", "softmin"), "it is taken along an axis: use npx.{name}(x, axis=...)"),
    **dict.fromkeys(
        ("glu", "swiglu", "geglu"), "it joins two halves: nn.GatedFFN is the layer, npx.swiglu the function"
    ),
    **dict.fromkeys(("linear", "identity", "none"), "leave the activation out, or give None"),
}


def named_activation(name: str) -> tuple[str, dict[str, Any]]:
    """Return the operator's name and the attributes of an activation.

    Raises
    ------
    ValueError
        If there is none of this name.
    """
    if isinstance(name, str):
        if name in ACTIVATIONS:
            return ACTIVATIONS[name]
        if name in _UNNAMED:
            raise ValueError(f"The activation {name!r} goes by no name: {_UNNAMED[name].format(name=name)}.")
    known = ", ".join(map(repr, sorted(ACTIVATIONS)))
    near = did_you_mean(name, ACTIVATIONS) if isinstance(name, str) else ""
    raise ValueError(f"There is no activation {name!r}{near or '.'} The names are {known}.")


def _as_other(run: Callable[..., object], x: object, act_type: str) -> object:
    operator, settings = named_activation("swish" if act_type == "silu" else act_type)  # MXNet's list has no 'silu'
    return NotImplemented if operator == "activation" else run(operator, x, **settings)


@register(
    aliases=("Activation",),
    amp=("act_type", ("elu", "selu", "softplus", "softrelu")),
    channels_last="each",
    composed=_as_other,
    shape=SAME,
    gives="input",
)
def activation(x: Array, *, act_type: str = "relu") -> Array:
    """Return an activation function by its name.

    Parameters
    ----------
    x : array
        Any shape.
    act_type : str
        Which one: 'celu', 'elu', 'gelu', 'gelu_tanh', 'hard_shrink', 'hard_sigmoid', 'hard_swish', 'hard_tanh',
        'leaky_relu' (or 'leaky'), 'log_sigmoid', 'mish', 'quick_gelu', 'relu', 'relu6', 'selu', 'sigmoid', 'silu' (or
        'swish'), 'soft_shrink', 'softrelu' (or 'softplus'), 'softsign', 'tanh', 'thresholded_relu'. Each is the
        function of `npx` of this name with its defaults; the slope of 'leaky_relu' is 0.25, the shrinkages have 0.5.

    Raises
    ------
    ValueError
        If there is none of this name.

    Examples
    --------
    >>> from gluonx import np, npx
    >>> npx.activation(np.array([-1.0, 2.0]), act_type="relu").tolist()
    [0.0, 2.0]
    """
    operator, settings = named_activation(act_type)
    if operator == "leaky_relu":  # its first argument is the key of 'rrelu'
        return leaky_relu.fn(None, x, **settings)
    if operator != "activation":
        return get(operator).fn(x, **settings)
    return channels_last(lambda x, axis: _ACTIVATIONS[act_type](x), (x,), 1)


def _leaky(x: Array, slope: float | Array) -> Array:
    return jnp.where(x <= 0, x * slope, x)


_LEAKY = {
    "leaky": _leaky,
    "elu": lambda x, slope: jnp.where(x > 0, x, slope * jnp.expm1(jnp.where(x > 0, 0, x))),
    "selu": lambda x, slope: jax.nn.selu(x),
    "gelu": lambda x, slope: jax.nn.gelu(x, approximate=False),
    "gelu_erf": lambda x, slope: jax.nn.gelu(x, approximate=False),
    "gelu_tanh": lambda x, slope: jax.nn.gelu(x, approximate=True),
    "prelu": None,
    "rrelu": None,
}


def _prelu_shape(shapes: list[Shape | None], attrs: Mapping[str, Any]) -> list[Shape | None]:
    data = shapes[0]
    if data is None or len(shapes) < 2 or attrs["act_type"] != "prelu":
        return shapes
    gamma = shapes[1]
    if gamma is not None and (gamma == (1,) or len(gamma) == len(data) > 1):
        return shapes
    wanted = (data[min(1, len(data) - 1)],)
    return [data, filled(gamma, wanted, "leaky_relu: gamma", f"act_type='prelu' with data of shape {data}")]


def _prelu(x: Array, gamma: Array | None) -> Array:
    if gamma is None:
        raise ValueError("leaky_relu: act_type='prelu' needs the slopes as a second array, gamma.")
    if gamma.ndim == 1 and x.ndim > 1:
        if gamma.shape[0] not in (1, x.shape[1]):
            raise ShapeError(
                f"leaky_relu: gamma has shape {gamma.shape}, but data of shape {x.shape} has {x.shape[1]} channels."
            )
        gamma = channels(gamma, x.ndim, 1)
    return jnp.where(x > 0, x, x * gamma)


def _is_rrelu(attrs: Mapping[str, Any]) -> bool:
    return attrs["act_type"] == "rrelu" and attrs["training"] is not False


@register(
    aliases=("LeakyReLU",),
    random=_is_rrelu,
    mode=_is_rrelu,
    infer=_prelu_shape,
    moving=("slope", "lower_bound", "upper_bound"),
    amp=("act_type", ("elu", "selu")),
    npx=Front(order="x gamma act_type slope lower_bound upper_bound"),
    shape=SAME,
    gives="float",
)
def leaky_relu(
    key: Array | None,
    x: Array,
    gamma: Array | None = None,
    *,
    act_type: str = "leaky",
    slope: float = 0.25,
    lower_bound: float = 0.125,
    upper_bound: float = 0.334,
    training: bool | None = None,
) -> Array:
    """Apply a relu whose result below zero is not 0: a slope, or a curve, which `act_type` names.

    Parameters
    ----------
    x : array
        Any shape.
    gamma : array, optional
        The learned slopes of ``'prelu'``: one for each channel (axis 1), or one in all.
    act_type : {'leaky', 'elu', 'selu', 'gelu', 'gelu_tanh', 'prelu', 'rrelu'}
        ``'rrelu'`` draws each slope between the bounds when training, and takes their mean when not.
    slope : float
        The slope of ``'leaky'``, the scale of ``'elu'``.
    lower_bound
        The least slope of 'rrelu'.
    upper_bound
        The largest slope of 'rrelu'.

    Examples
    --------
    >>> from gluonx import np, npx
    >>> npx.leaky_relu(np.array([-1.0, 2.0]), act_type="leaky", slope=0.1).tolist()
    [-0.1, 2.0]
    """
    compute = choose(_LEAKY, act_type, "leaky_relu", "act_type")
    if act_type == "prelu":
        return _prelu(x, gamma)
    if act_type != "rrelu":
        return compute(x, slope)
    if not training or key is None:
        return _leaky(x, (lower_bound + upper_bound) / 2)
    return _leaky(x, jax.random.uniform(key, x.shape, x.dtype, lower_bound, upper_bound))


@register(moving=("scalar",), amp="float32", shape=SAME, gives="float")
def smooth_l1(x: Array, *, scalar: float = 1.0) -> Array:
    """``0.5 * (scalar * x)**2`` near zero (``|x| < 1 / scalar**2``), ``|x| - 0.5 / scalar**2`` beyond.

    Parameters
    ----------
    scalar
        How steep the curve is near zero.

    Examples
    --------
    >>> from gluonx import np, npx
    >>> npx.smooth_l1(np.array([-2.0, 0.5])).tolist()
    [1.5, 0.125]
    """
    border = 1.0 / scalar**2
    size = _absolute(x)
    near = jnp.where(size < border, x, 0)  # otherwise the gradient at infinity would be 0 times infinity
    return jnp.where(size < border, 0.5 * scalar**2 * near * near, size - 0.5 * border)


@register(aliases=("ElementWiseSum",), amp="widest", channels_last="each", shape=SAME, gives="input")
def add_n(*arrays: Array) -> Array:
    """Return the sum of several arrays of one shape.

    Examples
    --------
    >>> from gluonx import np, npx
    >>> npx.add_n(np.array([1.0, 2.0]), np.array([10.0, 20.0])).tolist()
    [11.0, 22.0]
    """
    return functools.reduce(jnp.add, same_dtype(*arrays))


@register(shape=BROADCAST, gives="float")
def swiglu(x: Array, gate: Array) -> Array:
    """``silu(gate) * x``, the gated unit of current transformers.

    Parameters
    ----------
    gate
        The input of the gate, of the shape of `x`.

    Examples
    --------
    >>> from gluonx import np, npx
    >>> npx.swiglu(np.array([1.0, 2.0]), np.array([3.0, -1.0])).tolist()
    [2.858, -0.5379]
    """
    return narrow(jax.nn.silu(wide(gate)), float_dtype(x)) * x
