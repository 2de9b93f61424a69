"""Arithmetic on quantized arrays: bytes that stand for real numbers of a known range.

An array of int8 or uint8 comes with two numbers, the least and the largest real value that it can stand for; R is the
larger of their magnitudes. An int8 of 127 or a uint8 of 255 stands for (about) R. Products and sums are int32 with a
range of their own, in which 2**31 - 1 stands for R. Every operator returns its result and that range; none has a
gradient. The units (127 or 127.5, 255 or 255.5) are those of MXNet 2.0's CPU operators, each of which was measured.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import jax.numpy as jnp
from jax import Array, lax

from gluonx.errors import ShapeError
from gluonx.ops.common import choose
from gluonx.ops.conv import convolution
from gluonx.ops.nn import embedding, fully_connected
from gluonx.ops.pool import pooling
from gluonx.ops.registry import NONE, SAME, register
from gluonx.ops.tensor import reshape, transpose

if TYPE_CHECKING:
    from gluonx.dtype import DTypeLike


_LARGEST = float(2**31 - 1)
_FINE = {"int8": 127.5, "uint8": 255.5}
_WHOLE = {"int8": 127.0, "uint8": 255.0}
_BOUNDS = {"int8": (-128, 127), "uint8": (0, 255)}

Triple = tuple[Array, Array, Array]


def _reach(low: Array | float, high: Array | float) -> Array:
    """Return R of a range, shape (1,)."""
    ends = [jnp.abs(jnp.asarray(x, jnp.float32)).reshape(-1)[:1] for x in (low, high)]
    return jnp.maximum(*ends)


def _kind(name: str, x: Array) -> str:
    """Return the element type of a quantized array."""
    if str(x.dtype) not in _FINE:
        raise ShapeError(f"{name}: int8 or uint8 data were expected, but {x.dtype} of shape {x.shape} came.")
    return str(x.dtype)


def _unit(name: str, x: Array, low: Array | None, high: Array | None, table: Mapping[str, float] = _FINE) -> Array:
    """Return the real number that one step of a quantized array stands for, shape (1,)."""
    if low is None or high is None:
        raise ValueError(f"{name}: each quantized array needs its range, two arrays; one is missing.")
    return _reach(low, high) / table[_kind(name, x)]


def _spread(vector: Array, x: Array) -> Array:
    """Return the one number of a vector in a shape that broadcasts against `x`."""
    return vector.reshape((1,) * x.ndim)


def _rounded(x: Array, kind: str) -> Array:
    low, high = _BOUNDS[kind]
    return jnp.clip(jnp.round(x), low, high).astype(kind)


def _packed(x: Array, reach: Array, kind: str, table: Mapping[str, float]) -> Array:
    """Return real numbers as bytes, where the largest stands for `reach`."""
    step = jnp.where(reach > 0, table[kind] / jnp.where(reach > 0, reach, 1), 0)
    return _rounded(x.astype(jnp.float32) * _spread(step, x), kind)


def _as_given(low: Array, high: Array) -> tuple[Array, Array]:
    ends = [lax.stop_gradient(jnp.asarray(x, jnp.float32).reshape(-1)[:1]) for x in (low, high)]
    return ends[0], ends[1]


# -- to bytes and back ----------------------------------------------------------------------------------------------


@register("contrib_quantize", nout=3, shape="as the first input; then the ends of its range", gradient=NONE)
def quantize(data: Array, min_range: Array, max_range: Array, *, out_type: str = "uint8") -> Triple:
    """Return real numbers as bytes of a given range.

    Parameters
    ----------
    data : float array
    min_range, max_range : array, shape (1,)
    out_type : {'uint8', 'int8'}
        Negative numbers become 0 in a uint8.

    Returns
    -------
    bytes, least, largest

    Examples
    --------
    >>> from gluonx import np, npx
    >>> npx.contrib_quantize(np.array([-1.0, 1.0]), np.array([-1.0]), np.array([1.0]), out_type="int8")[
    ...     0
    ... ].tolist()
    [-127, 127]
    """
    choose(_BOUNDS, out_type, "contrib_quantize", "out_type")
    data, reach = lax.stop_gradient(data), lax.stop_gradient(_reach(min_range, max_range))
    out = _packed(data, reach, out_type, _WHOLE)
    return (out, -reach, reach) if out_type == "int8" else (out, *_as_given(min_range, max_range))


@register("contrib_quantize_v2", nout=3, shape="as the first input; then the ends of its range", gradient=NONE)
def quantize_v2(
    data: Array,
    *,
    out_type: str = "int8",
    min_calib_range: float | None = None,
    max_calib_range: float | None = None,
) -> Triple:
    """Return real numbers as bytes; the range is the given one, or that of the numbers.

    Parameters
    ----------
    data : float array
    out_type : {'int8', 'uint8', 'auto'}
        'auto' is uint8 if the given range has no negative numbers, else int8.
    min_calib_range, max_calib_range : float, optional

    Returns
    -------
    bytes, least, largest

    Examples
    --------
    >>> from gluonx import np, npx
    >>> npx.contrib_quantize_v2(np.array([-1.0, 1.0]), min_calib_range=-1.0, max_calib_range=1.0)[
    ...     0
    ... ].tolist()
    [-128, 127]
    """
    choose({**_BOUNDS, "auto": None}, out_type, "contrib_quantize_v2", "out_type")
    known = min_calib_range is not None and max_calib_range is not None
    if out_type == "auto":
        out_type = "uint8" if min_calib_range is not None and known and min_calib_range >= 0 else "int8"
    data = lax.stop_gradient(data)
    low = jnp.min(data) if min_calib_range is None else jnp.asarray(min_calib_range)
    high = jnp.max(data) if max_calib_range is None else jnp.asarray(max_calib_range)
    reach = _reach(low, high)
    out = _packed(data, reach, out_type, _FINE)
    return (out, -reach, reach) if out_type == "int8" else (out, *_as_given(low, high))


@register("dequantize", shape=SAME)
def dequantize(data: Array, min_range: Array, max_range: Array, *, out_type: str = "float32") -> Array:
    """Return the real numbers that bytes stand for.

    Parameters
    ----------
    data : int8 or uint8 array
    min_range, max_range : array, shape (1,)
    out_type : {'float32'}
        The type of the result.

    Examples
    --------
    >>> from gluonx import np, npx
    >>> npx.dequantize(np.array([-127, 127], dtype="int8"), np.array([-1.0]), np.array([1.0])).tolist()
    [-0.9961, 0.9961]
    """
    choose({"float32": None}, out_type, "dequantize", "out_type")
    unit = _unit("dequantize", data, min_range, max_range)
    return lax.stop_gradient(data.astype(jnp.float32) * _spread(unit, data))


@register(nout=3, shape="as the first input; then the ends of its range", gradient=NONE)
def requantize(
    data: Array,
    min_range: Array,
    max_range: Array,
    *,
    out_type: str = "int8",
    min_calib_range: float | None = None,
    max_calib_range: float | None = None,
) -> Triple:
    """Return the int32 of a product or sum as bytes, of a given range or of that of the numbers.

    Parameters
    ----------
    data : int32 array
    min_range, max_range : array, shape (1,)
        The range of the int32, whose largest number stands for its largest magnitude.
    out_type : {'int8', 'uint8', 'auto'}
        The type of the result.
    min_calib_range, max_calib_range : float, optional

    Returns
    -------
    bytes, least, largest

    Examples
    --------
    >>> from gluonx import np, npx
    >>> npx.requantize(np.array([2**30], dtype="int32"), np.array([-1.0]), np.array([1.0]))[0].dtype
    dtype('int8')
    """
    choose({**_BOUNDS, "auto": None}, out_type, "requantize", "out_type")
    if data.dtype != jnp.int32:
        raise ShapeError(f"requantize: int32 data were expected, but {data.dtype} of shape {data.shape} came.")
    known = min_calib_range is not None and max_calib_range is not None
    if out_type == "auto":
        out_type = "uint8" if min_calib_range is not None and known and min_calib_range >= 0 else "int8"
    real = data.astype(jnp.float32) * _spread(_reach(min_range, max_range) / _LARGEST, data)
    if min_calib_range is not None and max_calib_range is not None:
        reach = _reach(min_calib_range, max_calib_range)
    else:
        reach = _reach(real.min(), real.max())
    real, reach = lax.stop_gradient(real), lax.stop_gradient(reach)
    return _packed(real, reach, out_type, _WHOLE), (-reach if out_type == "int8" else jnp.zeros_like(reach)), reach


# -- products -------------------------------------------------------------------------------------------------------


def _product_range(name: str, data: Array, weight: Array, ranges: Sequence[Array | None]) -> tuple[Array, Array]:
    """Return the range of an int32 that counts products of steps."""
    low, high, weight_low, weight_high = ranges
    units = _unit(name, data, low, high, _WHOLE) * _unit(name, weight, weight_low, weight_high, _WHOLE)
    return -units * _LARGEST, units * _LARGEST


def _whole_numbers(*arrays: Array) -> tuple[Array, ...]:
    return tuple(a.astype(jnp.int32) for a in arrays)


@register(nout=3, gradient=NONE)
def quantized_fully_connected(
    data: Array,
    weight: Array,
    bias: Array | None = None,
    min_data: Array | None = None,
    max_data: Array | None = None,
    min_weight: Array | None = None,
    max_weight: Array | None = None,
    min_bias: Array | None = None,
    max_bias: Array | None = None,
    *,
    num_hidden: int,
    no_bias: bool = False,
    flatten: bool = True,
) -> Triple:
    """Return a dense layer of bytes: ``data @ weight.T + bias`` in int32.

    Parameters
    ----------
    data : int8 or uint8 array
    weight : int8 array, shape (num_hidden, features)
    bias : int8 array, shape (num_hidden,), or None
        It has its own range, and is converted to that of the product.
    min_data, max_data, min_weight, max_weight, min_bias, max_bias : array, shape (1,)
    num_hidden : int
        The number of units.
    no_bias, flatten : bool
        As for `fully_connected`.

    Returns
    -------
    int32 array, least, largest

    Examples
    --------
    >>> from gluonx import np, npx
    >>> npx.quantized_fully_connected(
    ...     np.ones((2, 3), dtype="int8"),
    ...     np.ones((4, 3), dtype="int8"),
    ...     None,
    ...     np.array([-1.0]),
    ...     np.array([1.0]),
    ...     np.array([-1.0]),
    ...     np.array([1.0]),
    ...     num_hidden=4,
    ...     no_bias=True,
    ... )[0].shape
    (2, 4)
    """
    name = "quantized_fully_connected"
    x, w = _whole_numbers(data, weight)
    out = fully_connected(x, w, num_hidden=num_hidden, no_bias=True, flatten=flatten)
    if bias is not None and not no_bias:
        unit = _unit(name, data, min_data, max_data) * _unit(name, weight, min_weight, max_weight)
        shift = jnp.trunc(bias.astype(jnp.float32) * (_unit(name, bias, min_bias, max_bias) / unit))
        out = out + shift.astype(jnp.int32).reshape((1,) * (out.ndim - 1) + (-1,))
    return out, *_product_range(name, data, weight, (min_data, max_data, min_weight, max_weight))


@register(nout=3, shape="that of `convolution`; then the ends of its range", gradient=NONE)
def quantized_conv(
    data: Array,
    weight: Array,
    bias: Array | None = None,
    min_data: Array | None = None,
    max_data: Array | None = None,
    min_weight: Array | None = None,
    max_weight: Array | None = None,
    min_bias: Array | None = None,
    max_bias: Array | None = None,
    *,
    kernel: Sequence[int],
    stride: Sequence[int] | None = None,
    dilate: Sequence[int] | None = None,
    pad: Sequence[int] | None = None,
    num_filter: int,
    num_group: int = 1,
    no_bias: bool = False,
    layout: str | None = None,
) -> Triple:
    """Return a convolution of bytes in int32.

    The parameters are those of `convolution` and the ranges. The bias counts steps of the product, as in MXNet, so its
    own range does not matter.

    Returns
    -------
    int32 array, least, largest

    Examples
    --------
    >>> from gluonx import np, npx
    >>> npx.quantized_conv(
    ...     np.ones((1, 1, 3, 3), dtype="int8"),
    ...     np.ones((2, 1, 3, 3), dtype="int8"),
    ...     None,
    ...     np.array([-1.0]),
    ...     np.array([1.0]),
    ...     np.array([-1.0]),
    ...     np.array([1.0]),
    ...     kernel=(3, 3),
    ...     num_filter=2,
    ...     no_bias=True,
    ... )[0].shape
    (1, 2, 1, 1)
    """
    x, w = _whole_numbers(data, weight)
    b = None if bias is None or no_bias else bias.astype(jnp.int32)
    attrs = {"kernel": kernel, "stride": stride or None, "dilate": dilate or None, "pad": pad or None}
    out = convolution(x, w, b, **attrs, num_filter=num_filter, num_group=num_group, no_bias=b is None, layout=layout)
    return out, *_product_range("quantized_conv", data, weight, (min_data, max_data, min_weight, max_weight))


# -- elementwise ----------------------------------------------------------------------------------------------------


@register(nout=3, shape="as the first input; then the ends of its range", gradient=NONE)
def quantized_elemwise_add(
    lhs: Array,
    rhs: Array,
    lhs_min: Array,
    lhs_max: Array,
    rhs_min: Array,
    rhs_max: Array,
    *,
    min_calib_range: float | None = None,
    max_calib_range: float | None = None,
) -> Triple:
    """Return the sum of two quantized arrays of one shape: int8 where its range is given, else int32.

    Returns
    -------
    sum, least, largest

    Examples
    --------
    >>> from gluonx import np, npx
    >>> npx.quantized_elemwise_add(
    ...     np.array([5], dtype="int8"),
    ...     np.array([6], dtype="int8"),
    ...     np.array([-1.0]),
    ...     np.array([1.0]),
    ...     np.array([-1.0]),
    ...     np.array([1.0]),
    ... )[0].dtype
    dtype('int32')
    """
    name = "quantized_elemwise_add"
    _same_shape(name, lhs, rhs)
    left = lhs.astype(jnp.float32) * _spread(_unit(name, lhs, lhs_min, lhs_max), lhs)
    real = left + rhs.astype(jnp.float32) * _spread(_unit(name, rhs, rhs_min, rhs_max), rhs)
    if min_calib_range is not None and max_calib_range is not None:
        reach = _reach(min_calib_range, max_calib_range)
        return _packed(real, reach, "int8", _FINE), -reach, reach
    reach = _reach(lhs_min, lhs_max) + _reach(rhs_min, rhs_max)
    limit = 2147483520.0  # the largest float32 that is an int32
    out = jnp.clip(real * _spread(_LARGEST / reach, real), -limit, limit).astype(jnp.int32)
    return out, -reach, reach


@register(
    nout=lambda attrs: 1 if attrs["enable_float_output"] else 3,
    shape="as the first input; then the ends of its range",
    gradient=NONE,
)
def quantized_elemwise_mul(
    lhs: Array,
    rhs: Array,
    lhs_min: Array,
    lhs_max: Array,
    rhs_min: Array,
    rhs_max: Array,
    *,
    min_calib_range: float | None = None,
    max_calib_range: float | None = None,
    enable_float_output: bool = False,
) -> Array | Triple:
    """Return the product of two int8 arrays of one shape: int8 where its range is given, else int32, or real numbers.

    Parameters
    ----------
    enable_float_output
        Whether to return real numbers.

    Returns
    -------
    product, least, largest; with `enable_float_output` the product alone

    Examples
    --------
    >>> from gluonx import np, npx
    >>> npx.quantized_elemwise_mul(
    ...     np.array([5], dtype="int8"),
    ...     np.array([6], dtype="int8"),
    ...     np.array([-1.0]),
    ...     np.array([1.0]),
    ...     np.array([-1.0]),
    ...     np.array([1.0]),
    ... )[0].tolist()
    [30]
    """
    name = "quantized_elemwise_mul"
    _same_shape(name, lhs, rhs)
    if not lhs.dtype == rhs.dtype == jnp.int8:
        raise ShapeError(f"{name}: int8 arrays were expected, but {lhs.dtype} and {rhs.dtype} came.")
    whole = lhs.astype(jnp.int32) * rhs.astype(jnp.int32)
    real = whole * _spread(_unit(name, lhs, lhs_min, lhs_max) * _unit(name, rhs, rhs_min, rhs_max), whole)
    if enable_float_output:
        return real
    if min_calib_range is not None and max_calib_range is not None:
        reach = _reach(min_calib_range, max_calib_range)  # truncated, not rounded, as MXNet does here
        cut = jnp.clip(jnp.trunc(real * _spread(_FINE["int8"] / reach, real)), *_BOUNDS["int8"]).astype(jnp.int8)
        return cut, -reach, reach
    return whole, *_product_range(name, lhs, rhs, (lhs_min, lhs_max, rhs_min, rhs_max))


def _same_shape(name: str, lhs: Array, rhs: Array) -> None:
    if lhs.shape != rhs.shape:
        raise ShapeError(f"{name}: the arrays must have one shape, but have {lhs.shape} and {rhs.shape}.")


@register(nout=3, shape="as the first input; then the ends of its range", gradient=NONE)
def quantized_act(data: Array, min_data: Array, max_data: Array, *, act_type: str) -> Triple:
    """Clip a quantized array to what is above zero; ``'relu'`` is the only activation, as in MXNet.

    Parameters
    ----------
    act_type
        The activation.

    Examples
    --------
    >>> from gluonx import np, npx
    >>> npx.quantized_act(
    ...     np.array([-5, 5], dtype="int8"), np.array([-1.0]), np.array([1.0]), act_type="relu"
    ... )[0].tolist()
    [0, 5]
    """
    choose({"relu": None}, act_type, "quantized_act", "act_type")
    _kind("quantized_act", data)
    return jnp.maximum(data, 0), *_as_given(min_data, max_data)


# -- shape -----------------------------------------------------------------------------------------------------------


@register(nout=3, gradient=NONE)
def quantized_pooling(
    data: Array,
    min_data: Array,
    max_data: Array,
    *,
    kernel: Sequence[int] | None = None,
    pool_type: str = "max",
    global_pool: bool = False,
    pooling_convention: str = "valid",
    stride: Sequence[int] | None = None,
    pad: Sequence[int] | None = None,
    p_value: int | None = None,
    count_include_pad: bool | None = None,
    layout: str | None = None,
) -> Triple:
    """Pooling of bytes, of the maximum or the mean (rounded); the other parameters are those of `pooling`.

    Parameters
    ----------
    pool_type
        'max' or 'avg'.
    global_pool
        Whether one window covers everything.
    p_value
        Not used: only maxima and means are computed.
    pooling_convention
        As for `pooling`.
    count_include_pad
        Whether an average counts padded positions.

    Returns
    -------
    bytes, least, largest

    Examples
    --------
    >>> from gluonx import np, npx
    >>> npx.quantized_pooling(
    ...     np.ones((1, 1, 4, 4), dtype="int8"),
    ...     np.array([-1.0]),
    ...     np.array([1.0]),
    ...     kernel=(2, 2),
    ...     stride=(2, 2),
    ... )[0].shape
    (1, 1, 2, 2)
    """
    kind = _kind("quantized_pooling", data)
    choose({"max": None, "avg": None}, pool_type, "quantized_pooling", "pool_type")
    space = {"kernel": kernel or None, "stride": stride or None, "pad": pad or None, "layout": layout}
    include = True if count_include_pad is None else count_include_pad
    attrs = {"pool_type": pool_type, "global_pool": global_pool, "pooling_convention": pooling_convention}
    out = pooling(data.astype(jnp.float32), **attrs, **space, count_include_pad=include)
    return _rounded(out, kind), *_as_given(min_data, max_data)


@register(nout=3, shape="that of `batch_flatten`; then the ends of its range", gradient=NONE)
def quantized_flatten(data: Array, min_data: Array, max_data: Array) -> Triple:
    """Join all axes but the first; the range stays.

    Examples
    --------
    >>> from gluonx import np, npx
    >>> npx.quantized_flatten(np.ones((2, 3, 4), dtype="int8"), np.array([-1.0]), np.array([1.0]))[
    ...     0
    ... ].shape
    (2, 12)
    """
    return data.reshape(data.shape[0], -1) if data.size else data, *_as_given(min_data, max_data)


@register(nout=3, shape="that of `reshape`; then the ends of its range", gradient=NONE)
def quantized_reshape(
    data: Array, min_data: Array, max_data: Array, *, newshape: Any, reverse: bool = False, order: str = "C"
) -> Triple:
    """Return the same bytes in another shape (see `reshape`); the range stays.

    Parameters
    ----------
    newshape
        As for `reshape`.
    reverse
        As for `reshape`.

    Examples
    --------
    >>> from gluonx import np, npx
    >>> npx.quantized_reshape(
    ...     np.ones((2, 3), dtype="int8"), np.array([-1.0]), np.array([1.0]), newshape=(3, 2)
    ... )[0].shape
    (3, 2)
    """
    return reshape(data, newshape=newshape, reverse=reverse, order=order), *_as_given(min_data, max_data)


@register(nout=3, shape="that of `transpose`; then the ends of its range", gradient=NONE)
def quantized_transpose(data: Array, min_data: Array, max_data: Array, *, axes: Sequence[int] | None = None) -> Triple:
    """Return the axes in another order; the range stays.

    Parameters
    ----------
    axes
        The old axes in their new order; reversed by default.

    Examples
    --------
    >>> from gluonx import np, npx
    >>> npx.quantized_transpose(np.ones((2, 3), dtype="int8"), np.array([-1.0]), np.array([1.0]))[
    ...     0
    ... ].shape
    (3, 2)
    """
    return transpose(data, axes=axes), *_as_given(min_data, max_data)


@register(nout=3, shape="that of `embedding`; then the ends of its range", gradient=NONE)
def quantized_embedding(
    data: Array,
    weight: Array,
    min_weight: Array,
    max_weight: Array,
    *,
    input_dim: int,
    output_dim: int,
    dtype: DTypeLike = None,
) -> Triple:
    """Return the rows of a table of bytes at some indices; the range stays.

    Parameters
    ----------
    input_dim
        The number of rows of `weight`.
    output_dim
        The length of its rows.

    Examples
    --------
    >>> from gluonx import np, npx
    >>> npx.quantized_embedding(
    ...     np.array([1]),
    ...     np.array([[1], [2]], dtype="int8"),
    ...     np.array([-1.0]),
    ...     np.array([1.0]),
    ...     input_dim=2,
    ...     output_dim=1,
    ... )[0].tolist()
    [[2]]
    """
    found = embedding(data, weight, input_dim=input_dim, output_dim=output_dim)
    return found, *_as_given(min_weight, max_weight)
