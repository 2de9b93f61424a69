"""NumPy kernels of layers: convolutions and their transposes, pooling, batch norm, recurrent layers.

A net's first call meets some fifty shapes, and tracing an operator for each takes JAX 3 to 30 ms; kernels need no
trace. As in :mod:`~gluonx.ops.host.kernels`, after ``NotImplemented`` or an error the operator's jaxpr is used.

A convolution is one matrix product of the kernel with the image's unrolled windows ("im2col": Chellapilla et al.,
2006), a deconvolution the product with the image, whose windows are then added up. All of them compute with channels
first.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeVar

import numpy as np

from gluonx.common import policy
from gluonx.errors import ShapeError
from gluonx.ops.common import axis_of, per_axis
from gluonx.ops.conv import layout_of, target_padding
from gluonx.ops.host import products
from gluonx.ops.host.elementwise import where_or_zero
from gluonx.ops.host.kernels import kernel_results, numpy_kernel
from gluonx.ops.host.moves import strided
from gluonx.ops.host.primitives import RULES, Call, Spec
from gluonx.ops.host.pullbacks import Ways, pullback_rule
from gluonx.ops.pool import Windows, lengths, windows_of
from gluonx.ops.rnn import GATES, Pieces, packing

del products  # imported for the rules that it registers

Shape = tuple[int, ...]

_SINGLE, _DOUBLE = np.dtype(np.float32), np.dtype(np.float64)
_FLOATS = frozenset([_SINGLE, _DOUBLE])
_MOST = 1 << 24  # so many elements are unrolled at once; beyond, one image at a time
_TAPS = 64  # a kernel on a single channel with fewer taps is computed by one pass over the image for each tap
_KEPT = 256  # geometries of convolutions
_FEW = 64  # images with fewer positions are joined in one product


def _first(x: np.ndarray, layout: str) -> np.ndarray:
    """Return an array with its channels on the second axis."""
    return x if layout[1] == "C" else np.moveaxis(x, -1, 1)


def _last(x: np.ndarray, layout: str) -> np.ndarray:
    return x if layout[1] == "C" else np.ascontiguousarray(np.moveaxis(x, 1, -1))


def _edged(x: np.ndarray, pad: Shape) -> np.ndarray:
    """Return an image with zeros around it."""
    if not any(pad):
        return x
    shape = (*x.shape[:2], *[n + 2 * p for n, p in zip(x.shape[2:], pad, strict=True)])
    out = np.zeros(shape, x.dtype)
    out[(..., *[slice(p, p + n) for n, p in zip(x.shape[2:], pad, strict=True)])] = x
    return out


def _by_taps(x: np.ndarray, weight: np.ndarray, positions: Shape, stride: Shape, dilate: Shape) -> np.ndarray:
    """Return the sums over windows if each channel has its own filter: a pass for each position of the kernel."""
    out = np.zeros((*x.shape[:2], *positions), x.dtype)
    part = np.empty_like(out)
    for position in itertools.product(*map(range, weight.shape[2:])):
        steps = zip(position, dilate, positions, stride, strict=True)
        seen = x[(..., *[slice(i * d, i * d + (n - 1) * s + 1, s) for i, d, n, s in steps])]
        np.multiply(seen, weight[(slice(None), 0, *position)].reshape(-1, *[1] * len(positions)), out=part)
        out += part
    return out


def _correlated(
    x: np.ndarray, weight: np.ndarray, positions: Shape, stride: Shape, dilate: Shape, groups: int
) -> np.ndarray:
    """Return the sums over windows of a padded image, of shape (batch, filters, *positions)."""
    batch, inputs, filters, kernel = x.shape[0], x.shape[1], weight.shape[0], weight.shape[2:]
    terms, count, each = weight[0].size, math.prod(positions), filters // groups
    if weight.shape[1] == each == 1 and terms <= _TAPS:
        return _by_taps(x, weight, positions, stride, dilate)
    steps = x.strides[2:]
    view = strided(
        x,
        (batch, inputs, *kernel, *positions),
        (
            *x.strides[:2],
            *[step * d for step, d in zip(steps, dilate, strict=True)],
            *[step * s for step, s in zip(steps, stride, strict=True)],
        ),
    )
    flat = weight.reshape(groups, each, terms)
    out = np.empty((batch, filters, *positions), x.dtype)
    if batch > 1 and count < _FEW and view.size <= _MOST:
        patches = np.moveaxis(view, 0, view.ndim - len(positions) - 1).reshape(groups, terms, batch * count)
        product = np.matmul(flat, patches).reshape(filters, batch, count)
        out.reshape(batch, filters, count)[...] = product.swapaxes(0, 1)
        return out
    product = out.reshape(batch, groups, each, count)
    if view.size <= _MOST:
        np.matmul(flat, view.reshape(batch, groups, terms, count), out=product)
    else:
        for image, sums in zip(view, product, strict=True):
            np.matmul(flat, image.reshape(groups, terms, count), out=sums)
    return out


def _fits(
    x: np.ndarray, weight: np.ndarray, kernel: Any, filters: int | None, made: int, taken: int, groups: int
) -> bool:
    named = kernel is None or per_axis(kernel, x.ndim - 2, 1, "") == weight.shape[2:]
    return named and taken == x.shape[1] and taken % groups == made % groups == 0 and filters in (None, made)


def _takes_bias(bias: np.ndarray | None, no_bias: bool, dtype: np.dtype, channels: int) -> bool:
    return bias is None or no_bias or (bias.dtype == dtype and bias.shape == (channels,))


def _with_bias(out: np.ndarray, bias: np.ndarray | None, no_bias: bool, layout: str) -> np.ndarray:
    if not _takes_bias(bias, no_bias, out.dtype, out.shape[1]):
        return NotImplemented
    if bias is not None and not no_bias:
        out += bias.reshape(-1, *[1] * (out.ndim - 2))
    return _last(out, layout)


def _convolution_work(
    x: np.ndarray, weight: np.ndarray, *_: object, layout: str | None = None, stride: Any = None, **__: object
) -> int:
    """Return the work in elements: BLAS does 50 multiplications in the time of one element, and XLA compiles slowly."""
    inner = 1 if layout is None or layout[1] == "C" else -1
    strides = per_axis(stride, x.ndim - 2, 1, "")
    windows = x.size // math.prod(strides) * (weight[0].size // max(weight.shape[inner], 1))
    groups = max(x.shape[inner] // max(weight.shape[inner], 1), 1)
    return max(x.size // 16, windows // 32, windows * weight.shape[0] // groups // 2048, weight.size // 64)


class _Plan(NamedTuple):
    """The geometry of a convolution with its channels first; `layout` is the one that the image came in."""

    layout: str
    positions: Shape
    stride: Shape
    dilate: Shape
    pad: Shape


_Geometry = TypeVar("_Geometry", "_Plan", "_Back")


def _plain(plan: _Geometry | None, groups: int) -> _Geometry | None:
    """Return the geometry of an image that came with its channels first and all of them in one group; else None."""
    return plan if plan is not None and plan.layout[1] == "C" and groups == 1 else None


def _convolution_plan(
    x: np.ndarray, weight: np.ndarray, kernel: Any, stride: Any, dilate: Any, pad: Any, num_filter: Any,
    num_group: int, layout: str | None,
) -> _Plan | None:  # fmt: skip
    """Return the geometry; None where there is no kernel for these inputs."""
    if x.dtype not in _FLOATS or weight.dtype != x.dtype or weight.ndim != x.ndim or not x.size:
        return None
    layout = layout_of(layout, x.ndim, "convolution")
    x, weight = _first(x, layout), _first(weight, layout)
    if not _fits(x, weight, kernel, num_filter, weight.shape[0], weight.shape[1] * num_group, num_group):
        return None
    space = x.ndim - 2
    stride, dilate, pad = (per_axis(v, space, d, "") for v, d in ((stride, 1), (dilate, 1), (pad, 0)))
    if min(*stride, *dilate) < 1 or min(pad) < 0:
        return None
    sizes = zip(x.shape[2:], weight.shape[2:], stride, dilate, pad, strict=True)
    positions = tuple([(n + 2 * p - d * (k - 1) - 1) // s + 1 for n, k, s, d, p in sizes])
    return _Plan(layout, positions, stride, dilate, pad) if min(positions) >= 1 else None


@numpy_kernel("convolution", _convolution_work, products=512)
def _convolution(
    x: np.ndarray, weight: np.ndarray, bias: np.ndarray | None = None, *, no_bias: bool, num_group: int, **attrs: Any
) -> Any:
    plan = _convolution_plan(x, weight, num_group=num_group, **attrs)
    if plan is None:
        return NotImplemented
    layout, positions, stride, dilate, pad = plan
    x, weight = _first(x, layout), _first(weight, layout)
    if num_group == 1:
        out = _product(x.shape, weight.shape, x.dtype, stride, dilate, pad)(x, weight)
    else:
        out = _correlated(_edged(x, pad), weight, positions, stride, dilate, num_group)
    return _with_bias(out, bias, no_bias, layout)


@kernel_results("convolution")
def _results_of_convolution(
    x: np.ndarray, weight: np.ndarray, bias: np.ndarray | None = None, *, no_bias: bool, num_group: int, **attrs: Any
) -> _Told:
    plan = _plain(_convolution_plan(x, weight, num_group=num_group, **attrs), num_group)
    if plan is None or x.dtype != _SINGLE:
        return NotImplemented
    if not _takes_bias(bias, no_bias, x.dtype, weight.shape[0]):
        return NotImplemented
    return _Told((x.shape[0], weight.shape[0], *plan.positions), x.dtype)


class _Told(NamedTuple):
    shape: Shape
    dtype: np.dtype


# The three products of a convolution are the ones that JAX derives, of the primitive that computes them all.


def _primitive(
    x: Shape, weight: Shape, out: Shape, dtype: np.dtype, swapped: tuple[bool, bool, bool], strides: Shape,
    padding: Sequence[tuple[int, int]], dilations: tuple[Shape, Shape],
) -> Callable[[np.ndarray, np.ndarray], np.ndarray]:  # fmt: skip
    """Return the primitive for these shapes; ``swapped`` tells where the first two axes change places."""
    rest = tuple(range(2, len(x)))
    specs = [(1, 0, *rest) if swap else (0, 1, *rest) for swap in swapped]
    params = {
        "dimension_numbers": _Numbers(*specs), "feature_group_count": 1, "batch_group_count": 1,
        "window_strides": strides, "padding": padding, "lhs_dilation": dilations[0], "rhs_dilation": dilations[1],
    }  # fmt: skip
    ins = [Spec(x, dtype), Spec(weight, dtype)]
    return RULES["conv_general_dilated"](Call("conv_general_dilated", params, ins, [Spec(out, dtype)]))


class _Numbers(NamedTuple):
    lhs_spec: Shape
    rhs_spec: Shape
    out_spec: Shape


@functools.lru_cache(_KEPT)
def _product(x: Shape, weight: Shape, dtype: np.dtype, stride: Shape, dilate: Shape, pad: Shape) -> Any:
    """Return the convolution, of an image and a weight of these shapes."""
    sizes = zip(x[2:], weight[2:], stride, dilate, pad, strict=True)
    out = (x[0], weight[0], *[(n + 2 * p - d * (k - 1) - 1) // s + 1 for n, k, s, d, p in sizes])
    plain = (1,) * len(pad)
    return _primitive(
        x, weight, out, dtype, (False, False, False), stride, [(p, p) for p in pad], (plain, dilate)
    )  # fmt: skip


@functools.lru_cache(_KEPT)
def _product_for_image(
    out: Shape, weight: Shape, x: Shape, dtype: np.dtype, stride: Shape, dilate: Shape, pad: Shape
) -> Any:
    """Return the image's cotangent, a function of that of the result and the weight."""
    padding = []
    for n, m, k, s, d, p in zip(x[2:], out[2:], weight[2:], stride, dilate, pad, strict=True):
        low = d * (k - 1) - p
        padding.append((low, n + d * (k - 1) - (m - 1) * s - 1 - low))
    plain = (1,) * len(pad)
    run = _primitive(out, weight, x, dtype, (False, True, False), plain, padding, (stride, dilate))
    turned = (slice(None), slice(None), *[slice(None, None, -1)] * len(pad))
    return lambda g, w: run(g, w[turned])


@functools.lru_cache(_KEPT)
def _product_for_weight(
    x: Shape, out: Shape, weight: Shape, dtype: np.dtype, stride: Shape, dilate: Shape, pad: Shape
) -> Any:
    """Return the weight's cotangent, a function of the image and the result's cotangent."""
    padding = []
    for n, m, k, s, d, p in zip(x[2:], out[2:], weight[2:], stride, dilate, pad, strict=True):
        padding.append((p, d * (k - 1) + (m - 1) * s + 1 - n - p))
    plain = (1,) * len(pad)
    return _primitive(x, out, weight, dtype, (True, True, True), dilate, padding, (plain, stride))


@pullback_rule("convolution")
def _of_convolution(
    g: np.ndarray, x: np.ndarray, weight: np.ndarray, bias: np.ndarray | None = None, *, no_bias: bool, num_group: int,
    **attrs: Any,
) -> Any:  # fmt: skip
    plan = _plain(_convolution_plan(x, weight, num_group=num_group, **attrs), num_group)
    if plan is None:
        return NotImplemented
    how = (x.dtype, plan.stride, plan.dilate, plan.pad)
    return [
        lambda: _product_for_image(g.shape, weight.shape, x.shape, *how)(g, weight),
        lambda: _product_for_weight(x.shape, g.shape, weight.shape, *how)(x, g),
        lambda: np.zeros_like(bias) if no_bias else np.add.reduce(g, (0, *range(2, g.ndim)), _DOUBLE),
    ]


def _deconvolution_work(
    x: np.ndarray, weight: np.ndarray, *_: object, layout: str | None = None, num_group: int = 1, **__: object
) -> int:
    inner = 1 if layout is None or layout[1] == "C" else -1
    windows = x.size // max(x.shape[inner], 1) * weight[0].size * num_group
    return max(x.size // 16, windows // 8, x.size * weight[0].size // 2048, weight.size // 64)


class _Back(NamedTuple):
    """The geometry of a deconvolution with its channels first; `whole` is its size before the padding is cut off."""

    layout: str
    stride: Shape
    dilate: Shape
    pad: Shape
    whole: Shape


def _deconvolution_plan(
    x: Any, weight: Any, kernel: Any, stride: Any, dilate: Any, pad: Any, adj: Any, target_shape: Any, num_filter: Any,
    num_group: int, layout: Any,
) -> _Back | None:  # fmt: skip
    """Return the geometry; None where there is no kernel for these inputs."""
    if x.dtype not in _FLOATS or weight.dtype != x.dtype or weight.ndim != x.ndim or not x.size:
        return None
    layout = layout_of(layout, x.ndim, "deconvolution")
    given, x, weight = x, _first(x, layout), _first(weight, layout)
    (inputs, each, *size), space = weight.shape, x.ndim - 2
    if not _fits(x, weight, kernel, num_filter, each * num_group, inputs, num_group):
        return None
    stride, dilate = per_axis(stride, space, 1, ""), per_axis(dilate, space, 1, "")
    pad, adj = per_axis(pad, space, 0, ""), per_axis(adj, space, 0, "")
    reach = tuple([d * (k - 1) + 1 for d, k in zip(dilate, size, strict=True)])
    if target_shape is not None and any(target_shape):
        pad, adj = target_padding(given, layout, reach, stride, per_axis(target_shape, space, 0, ""))
    if min(*stride, *dilate) < 1 or min(*pad, *adj) < 0:
        return None
    whole = [(n - 1) * s + r + a for n, s, r, a in zip(x.shape[2:], stride, reach, adj, strict=True)]
    if min(n - 2 * p for n, p in zip(whole, pad, strict=True)) < 1:
        return None
    return _Back(layout, stride, dilate, pad, tuple(whole))


@numpy_kernel("deconvolution", _deconvolution_work, products=512)
def _deconvolution(
    x: np.ndarray, weight: np.ndarray, bias: np.ndarray | None = None, *, no_bias: bool, num_group: int, **attrs: Any
) -> Any:
    plan = _deconvolution_plan(x, weight, num_group=num_group, **attrs)
    if plan is None:
        return NotImplemented
    layout, stride, dilate, pad, whole = plan
    x, weight = _first(x, layout), _first(weight, layout)
    (inputs, each, *size), before = weight.shape, x.shape[2:]
    flat = weight.reshape(num_group, inputs // num_group, each * math.prod(size))
    image = x.reshape(x.shape[0], num_group, inputs // num_group, math.prod(before))
    parts = np.matmul(flat.swapaxes(1, 2), image).reshape(x.shape[0], num_group * each, *size, *before)
    out = np.zeros((x.shape[0], num_group * each, *whole), x.dtype)
    for position in itertools.product(*map(range, size)):
        seen = [
            slice(i * d, i * d + (n - 1) * s + 1, s)
            for i, d, n, s in zip(position, dilate, before, stride, strict=True)
        ]
        out[(..., *seen)] += parts[(slice(None), slice(None), *position)]
    if any(pad):
        out = out[(..., *[slice(p, n - p) for n, p in zip(whole, pad, strict=True)])].copy()
    return _with_bias(out, bias, no_bias, layout)


@kernel_results("deconvolution")
def _results_of_deconvolution(
    x: np.ndarray, weight: np.ndarray, bias: np.ndarray | None = None, *, no_bias: bool, num_group: int, **attrs: Any
) -> _Told:
    plan = _plain(_deconvolution_plan(x, weight, num_group=num_group, **attrs), num_group)
    if plan is None or x.dtype != _SINGLE:
        return NotImplemented
    if not _takes_bias(bias, no_bias, x.dtype, weight.shape[1]):
        return NotImplemented
    space = [n - 2 * p for n, p in zip(plan.whole, plan.pad, strict=True)]
    return _Told((x.shape[0], weight.shape[1], *space), x.dtype)


@pullback_rule("deconvolution")
def _of_deconvolution(
    g: np.ndarray,
    x: np.ndarray,
    weight: np.ndarray,
    bias: np.ndarray | None = None,
    *,
    no_bias: bool,
    num_group: int,
    **attrs: Any,
) -> Any:
    plan = _plain(_deconvolution_plan(x, weight, num_group=num_group, **attrs), num_group)
    if plan is None:
        return NotImplemented
    how = (x.dtype, plan.stride, plan.dilate, plan.pad)
    inside = (..., *map(slice, x.shape[2:]))
    return [
        lambda: _product(g.shape, weight.shape, *how)(g, weight)[inside],
        lambda: _product_for_weight(g.shape, x.shape, weight.shape, *how)(g, x),
        lambda: np.zeros_like(bias) if no_bias else np.add.reduce(g, (0, *range(2, g.ndim)), _DOUBLE),
    ]


# -- pooling ----------------------------------------------------------------------------------------------------------


def _slid(x: np.ndarray, axis: int, size: int, stride: int, count: int, combine: Callable[..., Any]) -> np.ndarray:
    """Combine `size` neighbours along one axis, at `count` positions `stride` apart."""
    before: tuple[slice, ...] = (slice(None),) * axis
    parts = [x[(*before, slice(start, start + (count - 1) * stride + 1, stride))] for start in range(size)]
    if size == 1:
        return parts[0].copy()
    total = combine(parts[0], parts[1])
    for part in parts[2:]:
        combine(total, part, out=total)
    return total


def _spread(x: np.ndarray, axis: int, low: int, needed: int, value: float) -> np.ndarray:
    """Return the array with `low` positions before the axis and as many after it as make `needed` positions."""
    n = x.shape[axis]
    high = max(needed - n - low, 0)
    if low == high == 0:
        return x
    out = np.full((*x.shape[:axis], low + n + high, *x.shape[axis + 1 :]), value, x.dtype)
    out[(*(slice(None),) * axis, slice(low, low + n))] = x
    return out


def _pooling_plan(
    x: Any, *, kernel: Any, stride: Any, pad: Any, pool_type: str, pooling_convention: str, global_pool: bool,
    p_value: int | None, count_include_pad: bool | None, layout: Any,
) -> tuple[Windows, list[Any]] | None:  # fmt: skip
    """Return the windows and for each axis (axis, size, stride, padding, number of windows, padding in front).

    Of one window over everything only the windows are told; the result is None where there is no kernel.
    """
    if x.dtype not in _FLOATS or pool_type not in ("max", "avg", "sum") or not x.size:
        return None
    windows = windows_of(x, layout, kernel, stride, pad, pooling_convention, global_pool)
    if windows.whole:
        return windows, []
    try:
        counts = windows.counts(x.shape)
    except ShapeError:
        return None  # XLA's form raises it, at the line of the call
    return windows, [(*axis, *count) for axis, count in zip(windows.axes(), counts, strict=True)]


@numpy_kernel("pooling", lambda x, **_: x.size // 2)
def _pooling(x: np.ndarray, *, pool_type: str, count_include_pad: bool | None, **attrs: Any) -> np.ndarray:
    found = _pooling_plan(x, pool_type=pool_type, count_include_pad=count_include_pad, **attrs)
    if found is None:
        return NotImplemented
    windows, plan = found
    if windows.whole:
        return _over_all(x, tuple([axis for axis, *_ in windows.axes()]), pool_type)
    largest = pool_type == "max"
    combine, filling = (np.maximum, float(np.finfo(x.dtype).min)) if largest else (np.add, 0.0)
    out = x
    for axis, size, step, _, count, low in plan[::-1]:
        out = _spread(out, axis, low, (count - 1) * step + size, filling)
        out = _slid(out, axis, size, step, count, combine)
    return _averaged(out, x.shape, windows, plan, count_include_pad) if pool_type == "avg" else out


def _averaged(
    sums: np.ndarray, shape: Shape, windows: Windows, plan: list[Any], count_include_pad: bool | None
) -> np.ndarray:
    """Return the sums of windows divided by the numbers of elements in them."""
    for axis, size, step, edge, count, low in plan:
        if windows.convention == "valid" and (count_include_pad is not False or edge == 0):
            sums = sums / sums.dtype.type(size)
        else:
            several = lengths(shape[axis], size, step, count, low, edge, count_include_pad is not False)
            sums = sums / np.array(several, sums.dtype).reshape([count if i == axis else 1 for i in range(sums.ndim)])
    return sums


def _over_all(x: np.ndarray, axes: Shape, pool_type: str) -> np.ndarray:
    if pool_type == "max":
        return np.maximum.reduce(x, axis=axes, keepdims=True)
    total = np.add.reduce(x, axis=axes, dtype=_DOUBLE, keepdims=True)
    if pool_type == "avg":
        total /= math.prod([x.shape[axis] for axis in axes])
    return total.astype(x.dtype)


@kernel_results("pooling")
def _results_of_pooling(x: np.ndarray, **attrs: Any) -> _Told:
    found = _pooling_plan(x, **attrs)
    if found is None or x.dtype != _SINGLE:
        return NotImplemented
    windows, plan = found
    shape = list(x.shape)
    for axis, *_ in windows.axes():
        shape[axis] = 1
    for axis, *_, count, _ in plan:
        shape[axis] = count
    return _Told(tuple(shape), x.dtype)


@pullback_rule("pooling")
def _of_pooling(g: np.ndarray, x: np.ndarray, **attrs: Any) -> Ways:
    found = _pooling_plan(x, **attrs)
    if found is None:
        return NotImplemented
    windows, plan = found
    if windows.whole:
        axes = tuple([axis for axis, *_ in windows.axes()])
        if attrs["pool_type"] == "max":
            return NotImplemented
        terms = math.prod([x.shape[axis] for axis in axes]) if attrs["pool_type"] == "avg" else 1
        return [lambda: np.broadcast_to(g / g.dtype.type(terms), x.shape)]
    if attrs["pool_type"] == "max":
        return [lambda: (_of_largest_of_four if windows.is_two_by_two() else _of_largest)(g, x, plan)]
    if attrs["pool_type"] == "avg":
        g = _averaged(g, x.shape, windows, plan, attrs["count_include_pad"])
    return [lambda: _of_sums(g, x.shape, plan)]


def _offsets(plan: list[Any], shape: Shape) -> tuple[Shape, Shape, list[tuple[slice, ...]]]:
    """Return the size of the padded image, where the image begins in it, and the slices with the windows' elements."""
    size, begin, ranges, steps = list(shape), [0] * len(shape), [range(1)] * len(shape), [(1, n) for n in shape]
    for axis, width, step, _, count, low in plan:
        size[axis], begin[axis] = max(shape[axis] + low, (count - 1) * step + width), low
        ranges[axis], steps[axis] = range(width), (step, count)
    slices = [
        tuple([slice(i, i + (count - 1) * step + 1, step) for i, (step, count) in zip(at, steps, strict=True)])
        for at in itertools.product(*ranges)
    ]
    return tuple(size), tuple(begin), slices


def _of_sums(g: np.ndarray, shape: Shape, plan: list[Any]) -> np.ndarray:
    size, begin, slices = _offsets(plan, shape)
    found = np.zeros(size, g.dtype)
    for one in slices:
        found[one] += g
    return found[tuple([slice(b, b + n) for b, n in zip(begin, shape, strict=True)])]


def _of_largest_of_four(g: np.ndarray, x: np.ndarray, plan: list[Any]) -> np.ndarray:
    """Return the same for windows of 2 by 2 side by side; as in `npx.pooling`, other numbers go before NaN there."""
    _, _, (upper_left, upper_right, lower_left, lower_right) = _offsets(plan, x.shape)
    halves = [(x[upper_left], x[upper_right]), (x[lower_left], x[lower_right])]
    above = np.maximum(*halves[0]) >= np.maximum(*halves[1])
    firsts = [one >= other for one, other in halves]
    left = (above & firsts[0]) | (~above & firsts[1])
    found = np.zeros(x.shape, g.dtype)
    for one, chosen in (
        (upper_left, above & left), (upper_right, above & ~left), (lower_left, ~above & left),
        (lower_right, ~above & ~left),
    ):  # fmt: skip
        found[one] = where_or_zero(chosen, g)
    return found


def _of_largest(g: np.ndarray, x: np.ndarray, plan: list[Any]) -> np.ndarray:
    """Return the cotangent of the image, which goes to the first of the largest numbers of each window, or to NaN."""
    size, begin, slices = _offsets(plan, x.shape)
    inside = tuple([slice(b, b + n) for b, n in zip(begin, x.shape, strict=True)])
    if size != x.shape:
        image = np.full(size, -np.inf, x.dtype)
        image[inside] = x
    else:
        image = x
    largest = np.array(image[slices[0]])
    for one in slices[1:]:
        np.maximum(largest, image[one], out=largest)
    odd = largest != largest
    odd = odd if odd.any() else None
    found = np.zeros(size, g.dtype)
    left = np.ones(g.shape, bool)
    for one in slices:
        seen = image[one]
        taken = seen == largest
        if odd is not None:
            taken |= odd & (seen != seen)
        taken &= left
        left ^= taken
        found[one] += where_or_zero(taken, g)
    return found[inside]


# -- batch normalization ----------------------------------------------------------------------------------------------


def _is_usual_norm(x: np.ndarray, vectors: Sequence[np.ndarray], axis: int, attrs: dict[str, Any]) -> bool:
    if attrs["output_mean_var"] or any(v.dtype != _SINGLE for v in (x, *vectors)) or not x.size:
        return False
    return all(v.shape == x.shape[axis : axis + 1] for v in vectors)


@numpy_kernel("batch_norm", lambda x, *_, **__: x.size // 2)
def _batch_norm(
    x: np.ndarray, gamma: np.ndarray, beta: np.ndarray, running_mean: np.ndarray, running_var: np.ndarray, *,
    eps: float, momentum: float, fix_gamma: bool, axis: int, training: bool, use_global_stats: bool, **attrs: Any,
) -> Any:  # fmt: skip
    axis = axis_of(axis, x.ndim, "batch_norm")
    if not _is_usual_norm(x, (gamma, beta, running_mean, running_var), axis, attrs):
        return NotImplemented
    shape = [-1 if i == axis else 1 for i in range(x.ndim)]
    if training and not use_global_stats:
        out, mean, variance = _standardized(x, axis)
        scale = _reciprocal_root(variance + _SINGLE.type(eps))
        kept, new = _SINGLE.type(momentum), _SINGLE.type(1 - momentum)
        out *= (scale if fix_gamma else scale * gamma).reshape(shape)
        out += beta.reshape(shape)
        return out, kept * running_mean + new * mean, kept * running_var + new * variance
    scale = _reciprocal_root(running_var + _SINGLE.type(eps))
    if not fix_gamma:
        scale *= gamma
    out = x - running_mean.reshape(shape)
    out *= scale.reshape(shape)
    out += (beta - _SINGLE.type(0) * scale).reshape(shape)  # an infinite scale gives NaN
    return (out, running_mean, running_var) if training else out


def _standardized(x: np.ndarray, axis: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the data minus its mean along all axes but one, that mean, and the variance."""
    count = x.size // x.shape[axis]
    mean = (_summed(x, axis) / count).astype(_SINGLE)
    centered = x - mean.reshape([-1 if i == axis else 1 for i in range(x.ndim)])
    return centered, mean, (_summed(centered * centered, axis) / count).astype(_SINGLE)


def _summed(x: np.ndarray, axis: int) -> np.ndarray:
    return np.add.reduce(x, tuple([i for i in range(x.ndim) if i != axis]), _DOUBLE)


@kernel_results("batch_norm")
def _results_of_batch_norm(x: np.ndarray, *vectors: Any, axis: int, training: bool, **attrs: Any) -> Any:
    axis = axis_of(axis, x.ndim, "batch_norm")
    if not _is_usual_norm(x, vectors, axis, attrs):
        return NotImplemented
    out = _Told(x.shape, x.dtype)
    return (out, *[_Told(v.shape, v.dtype) for v in vectors[2:]]) if training else out


@pullback_rule("batch_norm")
def _of_batch_norm(
    g: np.ndarray, x: np.ndarray, gamma: np.ndarray, beta: np.ndarray, running_mean: np.ndarray,
    running_var: np.ndarray, *, eps: float, fix_gamma: bool, axis: int, training: bool, use_global_stats: bool,
    momentum: float, **attrs: Any,
) -> Any:  # fmt: skip
    axis = axis_of(axis, x.ndim, "batch_norm")
    if not _is_usual_norm(x, (gamma, beta, running_mean, running_var), axis, attrs):
        return NotImplemented
    shape, by_batch = [-1 if i == axis else 1 for i in range(x.ndim)], training and not use_global_stats
    if by_batch:
        values, _, variance = _standardized(x, axis)
    else:
        values, variance = x - running_mean.reshape(shape), running_var
    inverse = _reciprocal_root(variance + _SINGLE.type(eps))
    values *= inverse.reshape(shape)
    given, along = _summed(g, axis), _summed(g * values, axis)

    def of_x() -> np.ndarray:
        scale = (inverse if fix_gamma else inverse * gamma).reshape(shape)
        if not by_batch:
            return g * scale
        count = x.size // x.shape[axis]
        found = values * (along / -count).astype(_SINGLE).reshape(shape)
        found += g
        found -= (given / count).astype(_SINGLE).reshape(shape)
        found *= scale
        return found

    return [of_x, lambda: np.zeros_like(gamma) if fix_gamma else along, lambda: given, None, None]


def _reciprocal_root(x: np.ndarray) -> np.ndarray:
    return (1 / np.sqrt(x.astype(_DOUBLE))).astype(x.dtype)


# -- recurrent layers -------------------------------------------------------------------------------------------------


def _rnn_work(data: np.ndarray, flat: np.ndarray, *_: object, num_layers: int, **__: object) -> int:
    """Return the work in elements; a step of each layer takes some ten NumPy calls, and as many operations of XLA."""
    return max(data.shape[0] * num_layers * _STEP, data.shape[0] * data.shape[1] * flat.size // 128)


_STEP = policy.limits["call"] * 2


class _Recurrence(NamedTuple):
    """The weights of a recurrent layer by name and shape, its sides, and the shape of each of its states."""

    pieces: Pieces
    sides: str
    begin: Shape

    @property
    def sizes(self) -> list[int]:
        return [math.prod(shape) for _, shape in self.pieces]


def _recurrence(
    data: np.ndarray, flat: np.ndarray, state: np.ndarray | None, cell: np.ndarray | None,
    *, mode: str, state_size: int, num_layers: int, bidirectional: bool, p: float, use_sequence_length: bool,
    projection_size: Any, lstm_state_clip_min: Any, lstm_state_clip_max: Any, **_: object,
) -> _Recurrence | None:  # fmt: skip
    """Return how a recurrent layer's weights and states lie; None for what the kernel does not compute."""
    given = [v for v in (data, flat, state, cell) if v is not None]
    if any(v.dtype != _SINGLE for v in given) or use_sequence_length or projection_size or data.ndim != 3:
        return None
    if lstm_state_clip_min is not None or lstm_state_clip_max is not None or mode not in GATES:
        return None
    if min(state_size, num_layers, data.size) < 1 or not 0 <= p <= 1:
        return None
    if mode == "lstm" and (state is None) != (cell is None):
        return None
    sides = "lr" if bidirectional else "l"
    begin = (num_layers * len(sides), data.shape[1], state_size)
    found = _Recurrence(packing(mode, data.shape[2], state_size, num_layers, bidirectional), sides, begin)
    states = (state, cell) if mode == "lstm" else (state,)
    if flat.shape != (sum(found.sizes),) or any(s is not None and s.shape != begin for s in states):
        return None
    return found


@kernel_results("rnn")
def _results_of_rnn(
    data: np.ndarray,
    flat: np.ndarray,
    state: np.ndarray | None = None,
    cell: np.ndarray | None = None,
    lengths: np.ndarray | None = None,
    *,
    state_outputs: bool,
    **attrs: Any,
) -> Any:
    plan = _recurrence(data, flat, state, cell, **attrs)
    if plan is None:
        return NotImplemented
    out = _Told((*data.shape[:2], plan.begin[2] * len(plan.sides)), _SINGLE)
    states = 2 if attrs["mode"] == "lstm" else 1
    return (out, *[_Told(plan.begin, _SINGLE)] * states) if state_outputs else out


@numpy_kernel("rnn", _rnn_work, products=128)
def _rnn(
    data: np.ndarray,
    flat: np.ndarray,
    state: np.ndarray | None = None,
    cell: np.ndarray | None = None,
    lengths: np.ndarray | None = None,
    *,
    mode: str,
    num_layers: int,
    bidirectional: bool,
    state_outputs: bool,
    **attrs: Any,
) -> Any:
    plan = _recurrence(data, flat, state, cell, mode=mode, num_layers=num_layers, bidirectional=bidirectional, **attrs)
    if plan is None:
        return NotImplemented
    pieces, sides, begin = plan
    sizes = plan.sizes
    states = [np.zeros(begin, _SINGLE) if s is None else s for s in (state, cell)[: 2 if mode == "lstm" else 1]]
    parts = np.split(flat, np.cumsum(sizes)[:-1])
    piece = {name: part.reshape(shape) for (name, shape), part in zip(pieces, parts, strict=True)}
    last: list[list[Any]] = [[] for _ in states]
    x = data
    for layer in range(num_layers):
        outs = []
        for side in sides:
            at = [s[layer * len(sides) + len(outs)] for s in states]
            of = [piece[f"{side}{layer}_{what}"] for what in ("i2h_weight", "h2h_weight", "i2h_bias", "h2h_bias")]
            y, ends = _walked(x if side == "l" else x[::-1], of, at, mode)
            for kept, end in zip(last, ends, strict=True):
                kept.append(end)
            outs.append(y if side == "l" else y[::-1])
        x = np.concatenate(outs, 2) if bidirectional else outs[0]
    return (x, *map(np.stack, last)) if state_outputs else x


def _walked(x: np.ndarray, weights: list[Any], states: list[Any], mode: str) -> tuple[Any, list[Any]]:
    """Return all states of one layer in one direction, and the last ones."""
    wx, wh, bx, bh = weights
    n, h, c = wh.shape[1], states[0], states[-1]
    if mode == "gru":
        inner = bh[2 * n :]
        bh = np.concatenate([bh[: 2 * n], np.zeros(n, _SINGLE)])
    given = np.matmul(x, wx.T) + (bx + bh)
    out, turned = np.empty((*x.shape[:2], n), _SINGLE), wh.T
    for t, z in enumerate(given):
        product = np.matmul(h, turned)
        if mode == "lstm":
            gates = z + product
            i, f, o = (_sigmoid(gates[:, at : at + n]) for at in (0, n, 3 * n))
            c = f * c + i * _tanh(gates[:, 2 * n : 3 * n])
            h = o * _tanh(c)
        elif mode == "gru":
            gates = _sigmoid(z[:, : 2 * n] + product[:, : 2 * n])
            r, u = gates[:, :n], gates[:, n:]
            h = (1 - u) * _tanh(z[:, 2 * n :] + r * (product[:, 2 * n :] + inner)) + u * h
        else:
            h = _tanh(z + product) if mode == "rnn_tanh" else np.maximum(z + product, _SINGLE.type(0))
        out[t] = h
    return out, [h, c] if mode == "lstm" else [h]


def _tanh(x: np.ndarray) -> np.ndarray:
    return np.tanh(x, dtype=_DOUBLE).astype(_SINGLE)


def _sigmoid(x: np.ndarray) -> np.ndarray:
    return (1 / (1 + np.exp(-x, dtype=_DOUBLE))).astype(_SINGLE)
