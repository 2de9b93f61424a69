"""Convolutions and their transposes, over one to three spatial axes.

Layouts are named as in MXNet: ``N`` batch, ``C`` channel, ``D H W`` space. The weight follows the data's layout:
(filters, channels / groups, kernel...) with channels first, (filters, kernel..., channels / groups) with channels last.
A deconvolution's weight has the input channels as its first axis.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from typing import Any

import jax.numpy as jnp
from jax import Array, lax

from gluonx.errors import ShapeError
from gluonx.ops.common import channels, filled, flops_by_input, flops_by_output, narrow, per_axis, same_dtype
from gluonx.ops.cpu.channels_last import channels_last
from gluonx.ops.cpu.convolution import convolve
from gluonx.ops.cpu.transposed import deconvolve
from gluonx.ops.geometry import Geometry, weight_layout
from gluonx.ops.registry import Front, Shape, register

_FIRST = ("NCW", "NCHW", "NCDHW")
_LAST = ("NWC", "NHWC", "NDHWC")


def layout_of(layout: str | None, ndim: int, name: str) -> str:
    """Return the layout of an array of `ndim` axes; channels first by default.

    Raises
    ------
    ShapeError
        If the number of axes does not match the layout, or is not 3 to 5.
    ValueError
        If the layout is unknown.
    """
    if layout is not None and layout not in _FIRST + _LAST:
        raise ValueError(f"{name}: layout is {layout!r}, but must be one of {', '.join(_FIRST + _LAST)}.")
    if not 3 <= ndim <= 5 or (layout is not None and len(layout) != ndim):
        wanted = f"{len(layout)} axes ({layout})" if layout else "3 to 5 axes (batch, channel and space)"
        raise ShapeError(f"{name}: data has {ndim} axes, but {wanted} are needed.")
    return layout or _FIRST[ndim - 3]


def _weight_shape(layout: str, out: int, inner: int, kernel: Sequence[int]) -> Shape:
    return (out, inner, *kernel) if layout[1] == "C" else (out, *kernel, inner)


def _kernel_of(weight: Shape, layout: str) -> Shape:
    return weight[2:] if layout[1] == "C" else weight[1:-1]


def _infer(name: str, transposed: bool) -> Any:
    def infer(shapes: list[Shape | None], attrs: Mapping[str, Any]) -> list[Shape | None]:
        data, weight, *bias = shapes
        if data is None:
            return shapes
        layout = layout_of(attrs["layout"], len(data), name)
        filters, groups, inputs = attrs["num_filter"] or 0, attrs["num_group"], data[layout.index("C")]
        if inputs > 0 and inputs % groups:
            raise ShapeError(
                f"{name}: data of shape {data} has {inputs} channels, which num_group={groups} does not divide."
            )
        space = len(data) - 2
        kernel = (0,) * space if attrs["kernel"] is None else per_axis(attrs["kernel"], space, 1, name)
        if not filters and weight is not None and not transposed:
            filters = weight[0]
        out, inner = (inputs, filters // groups) if transposed else (filters, inputs // groups if inputs > 0 else 0)
        reason = (
            f"data of shape {data} with kernel={attrs['kernel']}, num_filter={attrs['num_filter']}, num_group={groups}"
        )
        weight = filled(weight, _weight_shape(layout, out, inner, kernel), f"{name}: weight", reason)
        if attrs["no_bias"]:
            return [data, weight, *bias]
        return [data, weight, *(filled(b, (filters,), f"{name}: bias", f"num_filter={filters}") for b in bias)]

    return infer


def _checked(
    name: str, x: Array, weight: Array, layout: str, groups: int, kernel: Any, filters: int | None, transposed: bool
) -> Shape:
    """Return the kernel's shape, after checking the attributes against the shapes."""
    inputs = x.shape[layout.index("C")]
    expected_ndim = len(layout)
    if weight.ndim == expected_ndim:
        found = _kernel_of(weight.shape, layout)
        outer, inner = weight.shape[0], weight.shape[1 if layout[1] == "C" else -1]
        made, taken = (inner * groups, outer) if transposed else (outer, inner * groups)
        named = per_axis(kernel, len(found), 1, name) if kernel is not None else found
        if taken == inputs and found == named and filters in (None, made) and made % groups == 0:
            return found
    raise ShapeError(
        f"{name}: weight has shape {weight.shape}, which does not fit data of shape {x.shape} ({layout}) with "
        f"kernel={kernel}, num_filter={filters}, num_group={groups}."
    )


def _check_reach(x: Array, layout: str, kernel: Shape, dilate: Shape, pad: Shape) -> None:
    axes = [i for i, c in enumerate(layout) if c not in "NC"]
    for axis, k, d, p in zip(axes, kernel, dilate, pad, strict=True):
        n = x.shape[axis]
        # A symbolic length (of an export) is not compared here: lax may be able to prove more about it.
        if isinstance(n, int) and d * (k - 1) + 1 > n + 2 * p:
            raise ShapeError(
                f"convolution: a kernel of {k} (dilation {d}) is larger than axis {axis} of data of shape {x.shape} "
                f"with padding {p}."
            )


def _with_bias(name: str, y: Array, bias: Array | None, no_bias: bool, layout: str) -> Array:
    if bias is None or no_bias:
        return y
    axis = layout.index("C")
    if bias.shape != (y.shape[axis],):
        raise ShapeError(f"{name}: bias has shape {bias.shape}, but {y.shape[axis]} filters need ({y.shape[axis]},).")
    bias = channels(narrow(bias, y.dtype), y.ndim, axis)
    return channels_last(lambda y, bias, _: y + bias, (y, bias), axis, within_programs=True)


@register(
    aliases=("Convolution",),
    infer=_infer("convolution", transposed=False),
    amp="low",
    channels_last="layout",
    npx=Front(
        order="x weight bias kernel stride dilate pad num_filter num_group "
        "workspace=1024 no_bias cudnn_tune cudnn_off=False layout"
    ),
    shape="(n, num_filter, o...), o = (w + 2 pad - dilate (kernel - 1) - 1) // stride + 1",
    stands_for="`stablehlo.convolution`",
    flops=flops_by_output,
)
def convolution(
    x: Array,
    weight: Array,
    bias: Array | None = None,
    *,
    kernel: Sequence[int] | None = None,
    stride: Sequence[int] | None = None,
    dilate: Sequence[int] | None = None,
    pad: Sequence[int] | None = None,
    num_filter: int | None = None,
    num_group: int = 1,
    no_bias: bool = False,
    layout: str | None = None,
) -> Array:
    """Return a convolution (a cross-correlation, as in every deep-learning library) over one to three spatial axes.

    Parameters
    ----------
    x : array, shape by `layout`
    weight : array, shape (num_filter, channels / num_group, *kernel), or channels last as the data
    bias : array, shape (num_filter,), optional
    stride, dilate, pad : tuple of int
        One number for each spatial axis: 1, 1 and 0 by default.
    num_group : int
        Filters see only the channels of their own group.
    layout : str, optional
        'NCW', 'NCHW' or 'NCDHW' by default; 'NWC', 'NHWC' or 'NDHWC' with channels last.

    Raises
    ------
    ShapeError
        If data, weight and attributes do not fit each other; the message shows them all.

    Examples
    --------
    >>> from gluonx import np, npx
    >>> npx.convolution(
    ...     np.ones((1, 3, 8, 8)), np.ones((4, 3, 3, 3)), kernel=(3, 3), num_filter=4, no_bias=True
    ... ).shape
    (1, 4, 6, 6)
    """
    name = "convolution"
    layout = layout_of(layout, x.ndim, name)
    found = _checked(name, x, weight, layout, num_group, kernel, num_filter, transposed=False)
    space = len(found)
    x, weight = same_dtype(x, weight)
    stride, dilate, pad = (per_axis(v, space, d, name) for v, d in ((stride, 1), (dilate, 1), (pad, 0)))
    _check_reach(x, layout, found, dilate, pad)
    y = convolve(x, weight, Geometry(layout, stride, dilate, pad, num_group))
    return _with_bias(name, y, bias, no_bias, layout)


def target_padding(
    x: Array, layout: str, reach: Shape, stride: Shape, target: Sequence[int]
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the padding and adjustment that give the output the target's size, as even on both sides as possible."""
    sizes = [x.shape[layout.index(c)] for c in layout if c not in "NC"]
    excess = [s * (n - 1) + r - t for s, n, r, t in zip(stride, sizes, reach, target, strict=True)]
    if min(excess) < 0:
        raise ShapeError(
            f"deconvolution: target_shape {tuple(target)} is larger than data of shape {x.shape} can give."
        )
    return tuple((e + 1) // 2 for e in excess), tuple(e % 2 for e in excess)


def _filters_first(weight: Array, layout: str, groups: int) -> Array:
    """Return a deconvolution's weight as a convolution's: filters in front, the kernel flipped."""
    channel = 1 if layout[1] == "C" else weight.ndim - 1
    weight = jnp.flip(weight, [i for i in range(1, weight.ndim) if i != channel])
    if groups == 1:
        return jnp.swapaxes(weight, 0, channel)
    weight = jnp.moveaxis(weight, channel, 1)
    inputs, inner, *kernel = weight.shape
    weight = weight.reshape(groups, inputs // groups, inner, *kernel).swapaxes(1, 2)
    weight = weight.reshape(groups * inner, inputs // groups, *kernel)
    return jnp.moveaxis(weight, 1, channel)


def _transposed_shape(x: Shape, weight: Shape, geometry: Geometry, adj: Shape) -> Shape:
    """Return the shape of a deconvolution."""
    axes = zip(geometry.spatial(x), _kernel_of(weight, geometry.layout), *geometry[1:4], adj, strict=True)
    space = [(n - 1) * s - 2 * p + d * (k - 1) + 1 + a for n, k, s, d, p, a in axes]
    space.insert(geometry.channel - 1, weight[geometry.channel] * geometry.groups)
    return (x[0], *space)


def _dilated(x: Array, weight: Array, geometry: Geometry, reach: Shape, adj: Shape) -> Array:
    """Compute a deconvolution as a convolution of the data with zeros in between.

    `reach` is the dilated kernel's size.
    """
    layout = geometry.layout
    return lax.conv_general_dilated(
        x,
        _filters_first(weight, layout, geometry.groups),
        window_strides=(1,) * len(reach),
        padding=[(r - 1 - p, r - 1 - p + a) for r, p, a in zip(reach, geometry.pad, adj, strict=True)],
        lhs_dilation=geometry.stride,
        rhs_dilation=geometry.dilate,
        dimension_numbers=(layout, weight_layout(layout), layout),
        feature_group_count=geometry.groups,
    )


@register(
    aliases=("Deconvolution",),
    infer=_infer("deconvolution", transposed=True),
    amp="low",
    npx=Front(
        order="x weight bias kernel stride dilate pad adj target_shape num_filter "
        "num_group workspace=1024 no_bias cudnn_tune cudnn_off=False layout"
    ),
    shape="(n, num_filter, o...), o = stride (w - 1) + dilate (kernel - 1) + 1 - 2 pad + adj",
    stands_for="`stablehlo.convolution`",
    flops=flops_by_input,
)
def deconvolution(
    x: Array,
    weight: Array,
    bias: Array | None = None,
    *,
    kernel: Sequence[int] | None = None,
    stride: Sequence[int] | None = None,
    dilate: Sequence[int] | None = None,
    pad: Sequence[int] | None = None,
    adj: Sequence[int] | None = None,
    target_shape: Sequence[int] | None = None,
    num_filter: int | None = None,
    num_group: int = 1,
    no_bias: bool = False,
    layout: str | None = None,
) -> Array:
    """Return the transpose of a convolution: what `convolution` does to gradients, as a layer.

    Parameters
    ----------
    x : array, shape by `layout`
    weight : array, shape (channels, num_filter / num_group, *kernel), or (channels, *kernel, num_filter / num_group)
    bias : array, shape (num_filter,), optional
    adj : tuple of int
        Positions added at the end of each spatial axis, where several sizes are possible.
    target_shape : tuple of int, optional
        The spatial size of the result, in place of `pad` and `adj`.

    Returns
    -------
    array
        Of size ``(n - 1) * stride - 2 * pad + dilate * (kernel - 1) + 1 + adj`` along each spatial axis.

    Raises
    ------
    ShapeError
        If data, weight and attributes do not fit each other.

    Examples
    --------
    >>> from gluonx import np, npx
    >>> npx.deconvolution(
    ...     np.ones((1, 4, 4, 4)),
    ...     np.ones((4, 3, 2, 2)),
    ...     kernel=(2, 2),
    ...     stride=(2, 2),
    ...     num_filter=3,
    ...     no_bias=True,
    ... ).shape
    (1, 3, 8, 8)
    """
    name = "deconvolution"
    layout = layout_of(layout, x.ndim, name)
    found = _checked(name, x, weight, layout, num_group, kernel, num_filter, transposed=True)
    space = len(found)
    stride, dilate = per_axis(stride, space, 1, name), per_axis(dilate, space, 1, name)
    pad, adj = per_axis(pad, space, 0, name), per_axis(adj, space, 0, name)
    reach = tuple(d * (k - 1) + 1 for d, k in zip(dilate, found, strict=True))
    if target_shape is not None and any(target_shape):
        pad, adj = target_padding(x, layout, reach, stride, per_axis(target_shape, space, 0, name))
    x, weight = same_dtype(x, weight)
    geometry = Geometry(layout, stride, dilate, pad, num_group)
    native = functools.partial(_dilated, geometry=geometry, reach=reach, adj=adj)
    y = deconvolve(x, weight, geometry, _transposed_shape(x.shape, weight.shape, geometry, adj), native)
    return _with_bias(name, y, bias, no_bias, layout)
