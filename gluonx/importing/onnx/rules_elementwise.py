"""Operators on single elements, casts, and activations. See `gluonx.importing.onnx.rules`."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import ml_dtypes
import numpy as np

from gluonx import np as gnp
from gluonx import npx
from gluonx.importing.onnx.rules import Call, element_type, rule, type_in
from gluonx.ops.registry import OPS, Op

if TYPE_CHECKING:
    from gluonx.np.handle import ndarray


_UNARY: dict[str, Callable[[Any], Any]] = {"BitwiseNot": gnp.invert, "IsNaN": gnp.isnan}
_BINARY: dict[str, Callable[[Any, Any], Any]] = {
    "BitwiseAnd": gnp.bitwise_and, "BitwiseOr": gnp.bitwise_or, "BitwiseXor": gnp.bitwise_xor,
}  # fmt: skip
_FLOAT8 = tuple(np.dtype(getattr(ml_dtypes, f"float8_{n}")) for n in ("e4m3fn", "e4m3fnuz", "e5m2", "e5m2fnuz"))


def _one(function: Callable[[Any], Any]) -> Callable[[Call], Any]:
    return lambda call: function(call[0])


def _two(function: Callable[[Any, Any], Any]) -> Callable[[Call], Any]:
    return lambda call: function(call[0], _aligned(call))


def _aligned(call: Call) -> ndarray:
    """Return the second input; before opset 7 an attribute says with which axis of the first its own begin."""
    one, other, axis = call[0], call[1], call.attr("axis")
    if call.opset >= 7 or axis is None:
        return other
    return gnp.reshape(other, (*other.shape, *[1] * (one.ndim - axis % one.ndim - other.ndim)))


for _name, _function in _UNARY.items():
    rule(_name)(_one(_function))
for _name, _function in _BINARY.items():
    rule(_name)(_two(_function))


rule("Identity")(lambda call: call.raw(0))


@rule("Div")
def _div(call: Call) -> Any:
    one, other = call[0], _aligned(call)
    if one.dtype.kind not in "iu":
        return gnp.divide(one, other)
    if one.dtype.kind == "u":
        return gnp.floor_divide(one, other)
    quotient = gnp.floor_divide(one, other)  # rounds down, where ONNX rounds to zero
    inexact = gnp.not_equal(gnp.multiply(quotient, other), one)
    return gnp.where(gnp.logical_and(inexact, gnp.less(quotient, 0)), gnp.add(quotient, 1), quotient).astype(one.dtype)


@rule("Mod")
def _mod(call: Call) -> Any:
    one, other = call[0], call[1]
    if call.attr("fmod", 0):
        return gnp.fmod(one, other)
    return gnp.remainder(one, other)


@rule("Pow")
def _pow(call: Call) -> Any:
    base, power = call[0], _aligned(call)
    known = call.raw(1)
    if isinstance(known, np.ndarray) and known.size == 1 and base.dtype.kind not in "iub":
        if float(known.reshape(())) == 2.0 and known.ndim <= base.ndim:
            return gnp.square(base)
    if base.dtype.kind in "iu" and power.dtype.kind not in "iub":
        wide = base.astype("float64" if base.dtype.itemsize > 4 else "float32")
        return gnp.power(wide, power.astype(wide.dtype)).astype(base.dtype)
    return gnp.power(base, power.astype(base.dtype)).astype(base.dtype)


@rule("BitShift")
def _bit_shift(call: Call) -> Any:
    shift = gnp.left_shift if call.attr("direction") == "LEFT" else gnp.right_shift
    return shift(call[0], call[1]).astype(call[0].dtype)


@rule("IsInf")
def _is_inf(call: Call) -> Any:
    below, above = call.attr("detect_negative", 1), call.attr("detect_positive", 1)
    x = call[0]
    if below and above:
        return gnp.isinf(x)
    return gnp.isposinf(x) if above else gnp.isneginf(x) if below else gnp.zeros(x.shape, dtype="bool")


def _chain(function: Callable[[Any, Any], Any]) -> Callable[[Call], Any]:
    return lambda call: functools.reduce(function, call.all())


rule("Max")(_chain(gnp.maximum))
rule("Min")(_chain(gnp.minimum))


@rule("Sum")
def _sum(call: Call) -> Any:
    arrays = call.all()
    alike = len(arrays) > 1 and len({(a.shape, a.dtype) for a in arrays}) == 1
    return npx.add_n(*arrays) if alike else functools.reduce(gnp.add, arrays)


rule("Mean")(lambda call: gnp.divide(functools.reduce(gnp.add, call.all()), call.count))
rule("Where")(lambda call: gnp.where(call[0], call[1], call[2]))


@rule("Clip")
def _clip(call: Call) -> Any:
    x = call[0]
    ends = (call.attr("min"), call.attr("max")) if call.opset < 11 else (call.raw(1), call.raw(2))
    numbers = [end.item() if isinstance(end, np.ndarray) and end.size == 1 else end for end in ends]
    if x.dtype.kind == "f" and all(end is None or isinstance(end, float) for end in numbers):
        return gnp.clip(x, *numbers) if numbers != [None, None] else x
    low, high = ends if call.opset < 11 else (call[1], call[2])
    if low is not None:
        x = gnp.maximum(x, low)
    return gnp.minimum(x, high) if high is not None else x


# -- types ------------------------------------------------------------------------------------------------------------


def cast(x: Any, dtype: np.dtype, saturate: bool = True) -> ndarray:
    """Return an array in another type; floats that an 8-bit float cannot hold become its largest."""
    if dtype in _FLOAT8 and saturate:
        top = float(ml_dtypes.finfo(dtype).max)
        x = gnp.clip(x, -top, top)
    return x.astype(dtype) if x.dtype != dtype else x


@rule("Cast", check=type_in("to", "dtype"))
def _cast(call: Call) -> ndarray:
    return cast(call[0], element_type(call.attr("to")), bool(call.attr("saturate", 1)))


rule("CastLike")(lambda call: cast(call[0], call[1].dtype, bool(call.attr("saturate", 1))))


# -- activations ------------------------------------------------------------------------------------------------------


def _recorded(op: Op, attrs: Mapping[str, str]) -> Callable[[Call], Any]:
    """Return the rule of an operator whose record names that of ONNX."""
    function = getattr(gnp if op.ufunc else npx, op.name)
    if len(op.inputs) == 2:
        return _two(function)
    return lambda call: function(
        call[0], **{ours: call.attr(theirs, op.defaults[ours]) for ours, theirs in attrs.items()}
    )


for _op in set(OPS.values()):
    if _op.onnx is not None:
        rule(_op.onnx.name)(_recorded(_op, _op.onnx.attrs))


rule("LeakyRelu")(lambda call: npx.leaky_relu(call[0], act_type="leaky", slope=call.attr("alpha", 0.01)))


@rule("PRelu")
def _prelu(call: Call) -> Any:
    x, slope = call[0], call[1]
    if call.opset < 7 and slope.ndim == 1 and x.ndim > 2:
        slope = gnp.reshape(slope, (-1, *[1] * (x.ndim - 2)))
    return gnp.where(gnp.less(x, 0), gnp.multiply(x, slope), x)


_SELU = (1.67326319217681884765625, 1.05070102214813232421875)


@rule("Selu")
def _selu(call: Call) -> Any:
    alpha, gamma = call.attr("alpha", _SELU[0]), call.attr("gamma", _SELU[1])
    if np.allclose((alpha, gamma), _SELU, 1e-6, 0):
        return npx.selu(call[0])
    return gnp.multiply(npx.elu(call[0], alpha=alpha), gamma)


rule("Gelu")(lambda call: npx.gelu(call[0], approximate=call.attr("approximate", "none") == "tanh"))
rule("Swish")(lambda call: npx.swish(call[0], beta=call.attr("alpha", 1.0)))


def _along(call: Call, function: Callable[..., Any]) -> ndarray:
    """Apply a softmax along an axis; before opset 13, over all axes from that one on."""
    x = call[0]
    if call.opset >= 13:
        return function(x, call.attr("axis", -1))
    axis = call.attr("axis", 1) % max(x.ndim, 1)
    if axis == x.ndim - 1:
        return function(x, -1)
    rows = math.prod(x.shape[axis:])
    return function(x.reshape((-1, rows)), -1).reshape(tuple(x.shape))


rule("Softmax")(lambda call: _along(call, lambda x, axis: npx.softmax(x, axis=axis)))
rule("LogSoftmax")(lambda call: _along(call, lambda x, axis: npx.log_softmax(x, axis=axis)))


@rule("Hardmax")
def _hardmax(call: Call) -> Any:
    def largest(x: ndarray, axis: int) -> Any:
        picked = npx.one_hot(gnp.argmax(x, axis=axis), x.shape[axis], dtype=x.dtype)
        return gnp.moveaxis(picked, -1, axis)

    return _along(call, largest)
