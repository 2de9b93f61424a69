"""Dense layers and convolutions whose products are int8 with int32 sums, with real inputs and outputs.

An operator divides real data by `data_scale`, rounds them to bytes, multiplies bytes, and multiplies the sums with both
scales. XLA joins the first and the last step with the operations before and after, so that only bytes are passed
between two layers. `gluonx.quantization` makes the weights.

There is one product for all platforms, `lax.dot_general` of int8 with int32 as its result, and a convolution is such a
product over patches. XLA has convolutions of int8, too. On a CPU they are a plain loop (up to 500 times as slow, jax
0.10) except for one layout of the weight, which XLA's own passes change if a transpose is next to it.

With ``unsigned=True`` bytes stand for 0 to 255 steps. They are stored as int8, 128 less, since products need one
element type; 128 times the sum of the weights is added to the product (`weight_sum`, so that no compiler folds
constants). Results are those of ONNX's QuantizeLinear and the operators after it: halves are rounded to even, and
values out of range are clipped. No operator has a gradient.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence

import jax.numpy as jnp
from jax import Array, lax

from gluonx.errors import ShapeError
from gluonx.ops.common import channels, per_axis
from gluonx.ops.conv import layout_of
from gluonx.ops.geometry import Geometry, windows
from gluonx.ops.registry import NONE, register

_LIMIT = {False: 127.0, True: 255.0}
_SHIFT = 128


def _checked(name: str, weight: Array, weight_scale: Array, filters: int | None) -> None:
    if weight.dtype != jnp.int8:
        raise ShapeError(f"{name}: weight must be of int8, but {weight.dtype} of shape {weight.shape} came.")
    if filters not in (None, weight.shape[0]) or weight_scale.shape not in ((1,), weight.shape[:1]):
        wanted = weight.shape[0] if filters is None else filters
        raise ShapeError(
            f"{name}: weight has shape {weight.shape} and weight_scale {weight_scale.shape}, but a weight of "
            f"{wanted} rows and a scale of shape (1,) or ({wanted},) are needed."
        )


def _scale_of(data: Array, data_scale: Array | None, unsigned: bool) -> Array:
    """Return the real value of one step, shape (1,): the given one, or the one that these data need."""
    if data_scale is None:
        reach = jnp.max(data if unsigned else jnp.abs(data)).astype(jnp.float32).reshape(1)
        data_scale = reach / _LIMIT[unsigned]
    return jnp.where(data_scale > 0, data_scale, 1)


def _bytes(data: Array, scale: Array, unsigned: bool) -> Array:
    steps = jnp.round(data.astype(jnp.float32) / channels(scale, data.ndim, data.ndim - 1))
    if unsigned:
        steps = jnp.clip(steps, 0, 255) - _SHIFT
    return jnp.clip(steps, -128, 127).astype(jnp.int8)


def _unshifted(sums: Array, weight: Array, weight_sum: Array | None) -> Array:
    """Return the product of bytes from 0 on, given that of bytes from -128 on."""
    if weight_sum is None:
        weight_sum = jnp.sum(weight.reshape(weight.shape[0], -1), 1, dtype=jnp.int32)
    return sums + channels(_SHIFT * weight_sum, sums.ndim, sums.ndim - 1)


def _real(sums: Array, scale: Array, bias: Array | None) -> Array:
    """Return the real values of a product whose last axis has the filters."""

    def spread(vector: Array) -> Array:
        return channels(vector, sums.ndim, sums.ndim - 1)

    out = sums.astype(jnp.float32) * spread(scale)
    return out if bias is None else out + spread(bias.astype(jnp.float32))


@register(shape="that of `fully_connected`", gradient=NONE)
def int8_fully_connected(
    data: Array,
    weight: Array,
    weight_scale: Array,
    data_scale: Array | None = None,
    bias: Array | None = None,
    weight_sum: Array | None = None,
    *,
    num_hidden: int | None = None,
    flatten: bool = True,
    unsigned: bool = False,
) -> Array:
    """Apply a dense layer with products of int8: ``data @ (weight * weight_scale).T + bias``, data rounded to bytes.

    Parameters
    ----------
    data : float array
    weight : int8 array, shape (num_hidden, features)
    weight_scale : float array, shape (1,) or (num_hidden,)
        The real value of one step of the weight: one for all, or one for each row.
    data_scale : float array, shape (1,), optional
        The real value of one step of the data; by default the largest magnitude in the data is the last step.
    bias : float array, shape (num_hidden,), optional
    weight_sum : int32 array, shape (num_hidden,), optional
        The sums of the weight's rows, for `unsigned` data; without it they are computed.
    num_hidden, flatten
        As for `fully_connected`.
    unsigned : bool
        Whether the bytes of the data stand for 0 to 255 steps, and not for -128 to 127.

    Returns
    -------
    array of the data's element type

    Raises
    ------
    ShapeError
        If weight, scale and data do not fit each other, or the weight is not of int8.

    Examples
    --------
    >>> from gluonx import np, npx
    >>> npx.int8_fully_connected(
    ...     np.ones((2, 3)), np.ones((4, 3), dtype="int8"), np.ones((4,)), num_hidden=4
    ... ).shape
    (2, 4)
    """
    name = "int8_fully_connected"
    _checked(name, weight, weight_scale, num_hidden)
    if flatten and data.ndim != 2:
        data = data.reshape(data.shape[0], -1) if data.ndim > 1 else data.reshape(-1, 1)
    if weight.ndim != 2 or data.shape[-1] != weight.shape[1]:
        raise ShapeError(f"{name}: weight of shape {weight.shape} does not fit data of shape {data.shape}.")
    scale = _scale_of(data, data_scale, unsigned)
    whole = (((data.ndim - 1,), (1,)), ((), ()))
    sums = lax.dot_general(_bytes(data, scale, unsigned), weight, whole, preferred_element_type=jnp.int32)
    sums = _unshifted(sums, weight, weight_sum) if unsigned else sums
    return lax.stop_gradient(_real(sums, scale * weight_scale, bias).astype(data.dtype))


def _over_patches(image: Array, weight: Array, geometry: Geometry, filling: int) -> Array:
    """Return a convolution in int32, with the channels last in both."""
    filters, *kernel, inner = weight.shape
    views = windows(image, kernel, geometry, filling)
    groups = geometry.groups
    if groups == 1:
        patches = jnp.concatenate(views, -1)
        rows = (((patches.ndim - 1,), (1,)), ((), ()))
        return lax.dot_general(patches, weight.reshape(filters, -1), rows, preferred_element_type=jnp.int32)
    taps = jnp.moveaxis(weight.reshape(filters, -1, inner), 1, 0)
    if inner == 1 and filters == groups:
        shifted = [
            v.astype(jnp.int32) * channels(t[:, 0].astype(jnp.int32), v.ndim, v.ndim - 1) for v, t in zip(views, taps)
        ]
        return functools.reduce(jnp.add, shifted)
    patches = jnp.stack([v.reshape(*v.shape[:-1], groups, inner) for v in views], -1)
    weights = jnp.moveaxis(taps.reshape(len(views), groups, filters // groups, inner), 0, -1)
    last, by_group = patches.ndim, patches.ndim - 3
    sums = lax.dot_general(
        patches, weights, (((last - 2, last - 1), (2, 3)), ((by_group,), (0,))), preferred_element_type=jnp.int32
    )
    sums = jnp.moveaxis(sums, 0, -2)
    return sums.reshape(*sums.shape[:-2], filters)


@register(channels_last="layout", shape="that of `convolution`", gradient=NONE)
def int8_convolution(
    data: Array,
    weight: Array,
    weight_scale: Array,
    data_scale: Array | None = None,
    bias: Array | None = None,
    weight_sum: Array | None = None,
    *,
    kernel: Sequence[int] | None = None,
    stride: Sequence[int] | None = None,
    dilate: Sequence[int] | None = None,
    pad: Sequence[int] | None = None,
    num_filter: int | None = None,
    num_group: int = 1,
    layout: str | None = None,
    unsigned: bool = False,
) -> Array:
    """Convolve with products of int8; see `int8_fully_connected` for the scales and `convolution` for the rest.

    Parameters
    ----------
    data : float array, shape by `layout`
    weight : int8 array, shape (num_filter, channels / num_group, *kernel), or channels last as the data
    weight_scale : float array, shape (1,) or (num_filter,)
    data_scale : float array, shape (1,), optional
    bias : float array, shape (num_filter,), optional
    weight_sum : int32 array, shape (num_filter,), optional
    kernel, stride, dilate, pad, num_filter, num_group, layout
        As for `convolution`.
    unsigned : bool
        Whether the bytes of the data stand for 0 to 255 steps, and not for -128 to 127.

    Returns
    -------
    array of the data's element type

    Raises
    ------
    ShapeError
        If weight, scale and data do not fit each other, or the weight is not of int8.

    Examples
    --------
    >>> from gluonx import np, npx
    >>> npx.int8_convolution(
    ...     np.ones((1, 3, 4, 4)),
    ...     np.ones((2, 3, 3, 3), dtype="int8"),
    ...     np.ones((2,)),
    ...     kernel=(3, 3),
    ...     num_filter=2,
    ... ).shape
    (1, 2, 2, 2)
    """
    name = "int8_convolution"
    layout = layout_of(layout, data.ndim, name)
    _checked(name, weight, weight_scale, num_filter)
    channel, space = layout.index("C"), data.ndim - 2
    stride, dilate, pad = (per_axis(v, space, d, name) for v, d in ((stride, 1), (dilate, 1), (pad, 0)))
    if weight.ndim != data.ndim or weight.shape[channel] * num_group != data.shape[channel]:
        raise ShapeError(
            f"{name}: weight has shape {weight.shape}, which does not fit data of shape {data.shape} ({layout}) with "
            f"num_group={num_group}."
        )
    last = Geometry("N" + layout.translate({78: None, 67: None}) + "C", stride, dilate, pad, num_group)
    scale = _scale_of(data, data_scale, unsigned)
    image = jnp.moveaxis(_bytes(data, scale, unsigned), channel, -1)
    sums = _over_patches(image, jnp.moveaxis(weight, channel, -1), last, -_SHIFT if unsigned else 0)
    out = _real(_unshifted(sums, weight, weight_sum) if unsigned else sums, scale * weight_scale, bias)
    return lax.stop_gradient(jnp.moveaxis(out, -1, channel).astype(data.dtype))
