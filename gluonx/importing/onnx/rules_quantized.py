"""Bytes that stand for real numbers, and products of bytes. See `gluonx.importing.onnx.rules`.

They are computed as ONNX defines them, in real numbers and exact whole ones; rounding has no gradient, so what stands
behind a QuantizeLinear learns, and what stands before it does not.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import ml_dtypes
import numpy as np

from gluonx import np as gnp
from gluonx.importing.onnx.rules import Call, element_type, rule, type_in
from gluonx.importing.onnx.rules_elementwise import cast
from gluonx.importing.onnx.rules_layers import auto_pad_check, convolved

if TYPE_CHECKING:
    from gluonx.np.handle import ndarray


_UINT8 = np.dtype(np.uint8)


def _spread(call: Call, value: Any, x: ndarray) -> Any:
    """Return a scale or zero point such that it broadcasts: of the whole, along an axis, or by blocks."""
    if value is None or value.ndim == 0 or x.ndim == 0:
        return value if value is None or value.ndim == 0 else gnp.reshape(value, ())
    axis, block = call.attr("axis", 1), call.attr("block_size", 0)
    if block:
        value = gnp.repeat(value, block, axis=axis)
        cut = [slice(None)] * value.ndim
        cut[axis] = slice(0, x.shape[axis])
        return value[tuple(cut)]
    if value.ndim == 1:
        if value.shape[0] == 1:
            return gnp.reshape(value, ())
        shape = [1] * x.ndim
        shape[axis] = -1
        return gnp.reshape(value, tuple(shape))
    return value


def _real(x: Any, scale: Any, zero: Any) -> Any:
    """Return the real numbers that bytes stand for."""
    wide = x.astype(scale.dtype) if x.dtype.itemsize < 4 else x.astype("float32")
    if zero is not None and zero.dtype.kind in "iu":
        wide = gnp.subtract(x.astype("int32"), zero.astype("int32")).astype("float32")
    return gnp.multiply(wide.astype(scale.dtype), scale)


def _bytes(x: ndarray, scale: Any, zero: Any, dtype: np.dtype, saturate: bool = True) -> Any:
    """Return real numbers as bytes."""
    parts = gnp.divide(x.astype("float32"), scale.astype("float32"))
    if dtype.kind not in "iu":
        return cast(parts, dtype, saturate)
    info = ml_dtypes.iinfo(dtype)
    whole = gnp.rint(parts)
    if zero is not None:
        whole = gnp.add(whole, zero.astype("float32"))
    return gnp.clip(whole, int(info.min), int(info.max)).astype(dtype)


@rule("QuantizeLinear", fixed=(1, 2), check=type_in("output_dtype"))
def _quantize(call: Call) -> Any:
    x, zero = call[0], call[2]
    told = call.attr("output_dtype", 0)
    dtype = zero.dtype if zero is not None else element_type(told) if told else _UINT8
    scale = _spread(call, call[1], x)
    return _bytes(x, scale, _spread(call, zero, x), np.dtype(dtype), bool(call.attr("saturate", 1)))


@rule("DequantizeLinear", fixed=(1, 2), check=type_in("output_dtype"))
def _dequantize(call: Call) -> Any:
    x = call[0]
    found = _real(x, _spread(call, call[1], x), _spread(call, call[2], x))
    told = call.attr("output_dtype", 0)
    return found.astype(element_type(told)) if told else found


def _centered(x: ndarray, zero: Any, dtype: str, row: bool = False) -> Any:
    whole = x.astype(dtype)
    if zero is None:
        return whole
    if row and zero.ndim == 1 and zero.shape[0] > 1:
        zero = gnp.expand_dims(zero, -1)
    return gnp.subtract(whole, zero.astype(dtype))


@rule("MatMulInteger", fixed=(2, 3))
def _matmul_integer(call: Call) -> Any:
    one, other = _centered(call[0], call[2], "int32", True), _centered(call[1], call[3], "int32")
    return gnp.matmul(one, other).astype("int32")


@rule("ConvInteger", fixed=(2, 3), check=auto_pad_check)
def _conv_integer(call: Call) -> Any:
    # float64 holds every sum of products of bytes exactly.
    weight = _filters(call[1], call[3])
    return gnp.rint(convolved(call, _centered(call[0], call[2], "float64"), weight, None)).astype("int32")


def _filters(weight: Any, zero: Any) -> Any:
    if zero is not None and zero.ndim == 1:
        zero = gnp.reshape(zero, (-1, *[1] * (weight.ndim - 1)))
    return _centered(weight, zero, "float64")


@rule("QLinearConv", fixed=(1, 2, 4, 5, 6, 7, 8), check=auto_pad_check)
def _qlinear_conv(call: Call) -> Any:
    x = _centered(call[0], call[2], "float64")
    total = convolved(call, x, _filters(call[3], call[5]), None if call[8] is None else call[8].astype("float64"))
    size = gnp.multiply(call[1], call[4])
    if size.ndim == 1:
        size = gnp.reshape(size, (1, -1, *[1] * (total.ndim - 2)))
    return _bytes(gnp.multiply(total.astype("float32"), size), call[6], call[7], np.dtype(call[7].dtype))


@rule("QLinearMatMul", fixed=(1, 2, 4, 5, 6, 7))
def _qlinear_matmul(call: Call) -> Any:
    total = gnp.matmul(_centered(call[0], call[2], "int32", True), _centered(call[3], call[5], "int32"))
    one, other = call[1].astype("float32"), call[4].astype("float32")
    if one.ndim == 1 and one.shape[0] > 1:
        one = gnp.expand_dims(one, -1)
    real = gnp.multiply(gnp.multiply(total.astype("float32"), one), other)
    return _bytes(real, call[6], call[7], np.dtype(call[7].dtype))
