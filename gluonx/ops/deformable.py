"""Deformable convolution: a convolution whose taps are each moved by an offset that the data determine.

https://arxiv.org/abs/1703.06211, and with a weight for each tap https://arxiv.org/abs/1811.11168. The taps are gathered
by linear interpolation into columns, which one matrix product turns into the result.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import jax.numpy as jnp
from jax import Array, lax

from gluonx.errors import ShapeError
from gluonx.ops.common import channels, filled, narrow, per_axis, same_dtype
from gluonx.ops.registry import Front, Shape, register


class _Plan(NamedTuple):
    """The numbers of one deformable convolution, in both directions of space."""

    name: str
    kernel: Shape
    stride: Shape
    dilate: Shape
    pad: Shape
    filters: int
    groups: int
    fields: int

    @property
    def taps(self) -> int:
        return self.kernel[0] * self.kernel[1]

    def made(self, data: Shape) -> Shape:
        """Return the result's height and width."""
        return tuple(
            (n + 2 * p - d * (k - 1) - 1) // s + 1
            for n, k, s, d, p in zip(data[2:], self.kernel, self.stride, self.dilate, self.pad, strict=True)
        )


def _plan(name: str, attrs: Mapping[str, Any]) -> _Plan:
    if attrs["layout"] not in (None, "NCHW"):
        raise ValueError(f"{name}: layout is {attrs['layout']!r}, but only 'NCHW' is known.")
    given = {key: per_axis(attrs[key], 2, default, name) for key, default in _AXES.items()}
    filters, groups, fields = attrs["num_filter"], attrs["num_group"], attrs["num_deformable_group"]
    if filters % groups:
        raise ValueError(f"{name}: num_filter={filters} is not a multiple of num_group={groups}.")
    return _Plan(name, **given, filters=filters, groups=groups, fields=fields)


_AXES = {"kernel": 1, "stride": 1, "dilate": 1, "pad": 0}


def _rule(name: str, modulated: bool) -> Any:
    def infer(shapes: list[Shape | None], attrs: Mapping[str, Any]) -> list[Shape | None]:
        data, offset, *rest = shapes
        mask, rest = (rest[:1], rest[1:]) if modulated else ([], rest)
        plan = _plan(name, attrs)
        reason = f"data of shape {data} with kernel={plan.kernel}, num_filter={plan.filters}"
        inner, position = 0, (-1, -1, -1)
        if data is not None and len(data) == 4:
            inner = data[1] // plan.groups if data[1] > 0 else 0
            position = (data[0], *(plan.made(data) if min(data[2:]) > 0 else (-1, -1)))
        offset = filled(offset, (position[0], 2 * plan.taps * plan.fields, *position[1:]), f"{name}: offset", reason)
        mask = [filled(m, (position[0], plan.taps * plan.fields, *position[1:]), f"{name}: mask", reason) for m in mask]
        weight = filled(rest[0], (plan.filters, inner, *plan.kernel), f"{name}: weight", reason)
        bias = [b if attrs["no_bias"] else filled(b, (plan.filters,), f"{name}: bias", reason) for b in rest[1:]]
        return [data, offset, *mask, weight, *bias]

    return infer


def _checked(plan: _Plan, data: Array, offset: Array, mask: Array | None, weight: Array) -> Shape:
    if data.ndim != 4 or data.shape[1] % plan.groups or data.shape[1] % plan.fields:
        raise ShapeError(
            f"{plan.name}: data must be (batch, channels, height, width), with channels that num_group={plan.groups} "
            f"and num_deformable_group={plan.fields} divide, but has shape {data.shape}."
        )
    made = plan.made(data.shape)
    if min(made) < 1:
        raise ShapeError(f"{plan.name}: a kernel of {plan.kernel} is larger than data of shape {data.shape}.")
    wanted = {
        "offset": (offset, (data.shape[0], 2 * plan.taps * plan.fields, *made)),
        "mask": (mask, (data.shape[0], plan.taps * plan.fields, *made)),
        "weight": (weight, (plan.filters, data.shape[1] // plan.groups, *plan.kernel)),
    }
    for what, (x, shape) in wanted.items():
        if x is not None and x.shape != shape:
            raise ShapeError(f"{plan.name}: {what} has shape {x.shape}, but data of {data.shape} needs {shape}.")
    return made


def _positions(plan: _Plan, offset: Array, made: Shape) -> list[Array]:
    """Return the position of each tap in each direction, shape (batch, fields, taps, positions)."""
    batch = offset.shape[0]
    moved = offset.reshape(batch, plan.fields, plan.taps, 2, made[0] * made[1])
    tap = jnp.meshgrid(*map(jnp.arange, plan.kernel), indexing="ij")
    position = jnp.meshgrid(*map(jnp.arange, made), indexing="ij")
    found = []
    for axis in range(2):
        start = position[axis].reshape(1, -1) * plan.stride[axis] - plan.pad[axis]
        grid = start + tap[axis].reshape(-1, 1) * plan.dilate[axis]
        found.append(grid.astype(offset.dtype)[None, None] + moved[:, :, :, axis])
    return found


def _corners(position: Array, length: int, held: bool) -> list[tuple[Array, Array]]:
    """Return the two neighbours of positions along one axis, each with its weight.

    With `held`, positions are clipped to 0 to `length`, no neighbour is outside, and the last stretch repeats the last
    element; otherwise there are zeros outside.
    """
    low = jnp.floor(position)
    part = position - low
    index = low.astype(jnp.int32)
    if held:
        last = index >= length - 1
        inside = (position >= 0) & (position < length)
        near, far = jnp.where(last, length - 1, index), jnp.where(last, length - 1, index + 1)
        part = jnp.where(last, 0, part)
        pairs = [(near, 1 - part, inside), (far, part, inside)]
    else:
        pairs = [(i, w, (i >= 0) & (i < length)) for i, w in ((index, 1 - part), (index + 1, part))]
    return [(jnp.clip(i, 0, length - 1), jnp.where(ok, w, 0)) for i, w, ok in pairs]


def _columns(plan: _Plan, data: Array, offset: Array, made: Shape, held: bool) -> Array:
    """Return the data under each tap, shape (batch, fields, channels a field, taps, positions)."""
    batch, inputs, height, width = data.shape
    y, x = _positions(plan, offset, made)
    flat = data.reshape(batch, plan.fields, inputs // plan.fields, height * width)
    shape = (*flat.shape[:3], plan.taps, made[0] * made[1])
    total = jnp.zeros(shape, data.dtype)
    for row, row_weight in _corners(y, height, held):
        for column, column_weight in _corners(x, width, held):
            index = (row * width + column).reshape(batch, plan.fields, 1, -1)
            found = jnp.take_along_axis(flat, index, 3).reshape(shape)
            total = total + found * (row_weight * column_weight)[:, :, None]
    return total


def _convolved(plan: _Plan, columns: Array, weight: Array, made: Shape) -> Array:
    batch = columns.shape[0]
    inner = weight.shape[1]
    columns = columns.reshape(batch, plan.groups, inner * plan.taps, -1)
    weight = weight.reshape(plan.groups, plan.filters // plan.groups, inner * plan.taps)

    def joined(weight: Array, columns: Array) -> Array:
        return jnp.einsum("goc,bgcp->bgop", weight, columns)

    # XLA for GPUs (jax 0.10.2) finds no tiles for the gradient of the other where there are few filters.
    found = lax.platform_dependent(weight, columns, cuda=jnp.matmul, default=joined)
    return found.reshape(batch, plan.filters, *made)


def _biased(plan: _Plan, y: Array, bias: Array | None, no_bias: bool) -> Array:
    if no_bias or bias is None:
        return y
    if bias.shape != (plan.filters,):
        raise ShapeError(f"{plan.name}: bias has shape {bias.shape}, but {plan.filters} filters need one each.")
    return y + channels(narrow(bias, y.dtype), y.ndim, 1)


@register(infer=_rule("deformable_convolution", modulated=False), amp="float32")
def deformable_convolution(
    data: Array,
    offset: Array,
    weight: Array,
    bias: Array | None = None,
    *,
    kernel: Sequence[int],
    stride: Sequence[int] | None = None,
    dilate: Sequence[int] | None = None,
    pad: Sequence[int] | None = None,
    num_filter: int,
    num_group: int = 1,
    num_deformable_group: int = 1,
    no_bias: bool = False,
    layout: str | None = None,
) -> Array:
    """Return a convolution whose taps are moved by offsets.

    Parameters
    ----------
    data : array, shape (batch, channels, height, width)
    offset : array, shape (batch, num_deformable_group * kernel * 2, out height, out width)
        For each group of channels and each tap the shift downwards and to the right, in pixels.
    weight : array, shape (num_filter, channels / num_group, *kernel)
    bias : array, shape (num_filter,), optional
        Left out with `no_bias`.
    kernel, stride, dilate, pad : (int, int)
    num_group : int
        Groups of channels that do not see each other.
    num_deformable_group : int
        Groups of channels that have offsets of their own.

    Returns
    -------
    array, shape (batch, num_filter, out height, out width)
        A tap before the first row or column, or one pixel or more behind the last one, is 0.

    Raises
    ------
    ShapeError
        If the shapes do not fit.

    Examples
    --------
    >>> from gluonx import np, npx
    >>> npx.deformable_convolution(
    ...     np.ones((1, 2, 5, 5)),
    ...     np.zeros((1, 18, 3, 3)),
    ...     np.ones((4, 2, 3, 3)),
    ...     kernel=(3, 3),
    ...     num_filter=4,
    ...     no_bias=True,
    ... ).shape
    (1, 4, 3, 3)
    """
    attrs = {"kernel": kernel, "stride": stride, "dilate": dilate, "pad": pad, "layout": layout}
    attrs |= {"num_filter": num_filter, "num_group": num_group, "num_deformable_group": num_deformable_group}
    plan = _plan("deformable_convolution", attrs)
    data, offset, weight = same_dtype(data, offset, weight)
    made = _checked(plan, data, offset, None, weight)
    columns = _columns(plan, data, offset, made, held=True)
    return _biased(plan, _convolved(plan, columns, weight, made), bias, no_bias)


@register(
    infer=_rule("modulated_deformable_convolution", modulated=True),
    amp="float32",
    npx=Front(
        order="data offset mask weight bias kernel stride dilate pad num_filter "
        "num_group num_deformable_group workspace no_bias im2col_step layout"
    ),
    shape="(n, num_filter, o...), as `convolution`",
    gradient="through `data`, `offset`, `mask`, `weight`, `bias`",
)
def modulated_deformable_convolution(
    data: Array,
    offset: Array,
    mask: Array,
    weight: Array,
    bias: Array | None = None,
    *,
    kernel: Sequence[int],
    stride: Sequence[int] | None = None,
    dilate: Sequence[int] | None = None,
    pad: Sequence[int] | None = None,
    num_filter: int,
    num_group: int = 1,
    num_deformable_group: int = 1,
    no_bias: bool = False,
    im2col_step: int = 64,
    layout: str | None = None,
) -> Array:
    """Return a deformable convolution whose taps have weights of their own at each position.

    Parameters
    ----------
    mask : array, shape (batch, num_deformable_group * kernel, out height, out width)
        The factor of the data under each tap.
    im2col_step : int
        Accepted for MXNet's sake and ignored.
    num_deformable_group
        Groups of channels that have offsets of their own.
    offset
        For each group of channels and each tap the shift downwards and to the right, in pixels.

    The other parameters, the result and the errors are those of `deformable_convolution`. Unlike there, the image is
    surrounded by zeros, with which taps near its border are interpolated.

    Examples
    --------
    >>> from gluonx import np, npx
    >>> npx.modulated_deformable_convolution(
    ...     np.ones((1, 2, 5, 5)),
    ...     np.zeros((1, 18, 3, 3)),
    ...     np.ones((1, 9, 3, 3)),
    ...     np.ones((4, 2, 3, 3)),
    ...     kernel=(3, 3),
    ...     num_filter=4,
    ...     no_bias=True,
    ... ).shape
    (1, 4, 3, 3)
    """
    attrs = {"kernel": kernel, "stride": stride, "dilate": dilate, "pad": pad, "layout": layout}
    attrs |= {"num_filter": num_filter, "num_group": num_group, "num_deformable_group": num_deformable_group}
    plan = _plan("modulated_deformable_convolution", attrs)
    data, offset, mask, weight = same_dtype(data, offset, mask, weight)
    made = _checked(plan, data, offset, mask, weight)
    columns = _columns(plan, data, offset, made, held=False)
    columns = columns * mask.reshape(mask.shape[0], plan.fields, 1, plan.taps, -1)
    return _biased(plan, _convolved(plan, columns, weight, made), bias, no_bias)
