"""Pooling.

A window slides along one axis at a time: the maximum or sum over a rectangle is that over its rows, then over its
columns. Along an axis, a window of ``k`` elements is ``k`` strided slices combined. XLA fuses those into one loop,
forward and backward; on a CPU the gradient is 3 to 40 times faster than that of ``reduce_window``. At a tie the whole
gradient of a maximum goes to the first element in row-major order, as in MXNet.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial, reduce
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from gluonx.errors import ShapeError
from gluonx.ops.common import choose, float_dtype, narrow, per_axis, wide
from gluonx.ops.conv import layout_of
from gluonx.ops.cpu.channels_last import channels_last
from gluonx.ops.cpu.convolution import on_cpu
from gluonx.ops.elementwise import absolute, maximum
from gluonx.ops.geometry import spatial_axes
from gluonx.ops.reduce import max_
from gluonx.ops.registry import Front, Shape, register

Sizes = Sequence[int] | int | None

_LONGEST = 64  # a longer window is not unrolled into slices


def _slide(x: Array, axis: int, size: int, stride: int, count: int, combine: Callable[[Array, Array], Array]) -> Array:
    """Combine `size` neighbours along one axis, at `count` positions `stride` apart."""
    total: Array | None = None
    for start in range(size):
        part = lax.slice_in_dim(x, start, start + (count - 1) * stride + 1, stride, axis)
        total = part if total is None else combine(total, part)
    assert total is not None, "a window has at least one position"
    return total


def _window(x: Array, axis: int, size: int, stride: int, count: int, largest: bool) -> Array:
    if count == 1 and size > 4:
        x = lax.slice_in_dim(x, 0, size, 1, axis)
        return jnp.max(x, axis, keepdims=True) if largest else jnp.sum(x, axis, keepdims=True)
    if size <= _LONGEST:
        return _slide(x, axis, size, stride, count, maximum if largest else jnp.add)
    dimensions, strides = ([n if i == axis else 1 for i in range(x.ndim)] for n in (size, stride))
    x = lax.slice_in_dim(x, 0, (count - 1) * stride + size, 1, axis)
    if largest:
        return lax.reduce_window(x, -jnp.inf, lax.max, dimensions, strides, "VALID")
    return lax.reduce_window(x, 0.0, lax.add, dimensions, strides, "VALID")


def _count_same(n: int, size: int, stride: int, pad: int) -> tuple[int, int]:
    count = -(-n // stride)
    return count, max((count - 1) * stride + size - n, 0) // 2


CONVENTIONS = {
    "valid": lambda n, size, stride, pad: ((n + 2 * pad - size) // stride + 1, pad),
    "full": lambda n, size, stride, pad: (-((size - n - 2 * pad) // stride) + 1, pad),
    "same": _count_same,
}


def _padded(x: Array, axis: int, low: int, needed: int, value: float) -> Array:
    """Return the axis with `low` elements in front and as many behind as make `needed` elements."""
    high = max(needed - x.shape[axis] - low, 0)
    if low == high == 0:
        return x
    config = [(low, high, 0) if i == axis else (0, 0, 0) for i in range(x.ndim)]
    return lax.pad(x, jnp.asarray(value, x.dtype), config)


def lengths(n: int, size: int, stride: int, count: int, low: int, pad: int, include: bool) -> list[int]:
    """Return how many elements each window averages: with `include` also padding, but never what is beyond that."""
    starts = [i * stride - low for i in range(count)]
    if include:
        return [min(s + size, n + pad) - s for s in starts]
    return [max(min(s + size, n) - max(s, 0), 1) for s in starts]


def _lowest(x: Array) -> float:
    return float(jnp.finfo(x.dtype).min) if jnp.issubdtype(x.dtype, jnp.floating) else int(jnp.iinfo(x.dtype).min)


class Windows(NamedTuple):
    """The windows of a pooling: layout, and one number of each kind for every spatial axis."""

    layout: str
    kernel: Shape
    stride: Shape
    pad: Shape
    convention: str
    whole: bool

    def is_two_by_two(self) -> bool:
        """Return whether the windows are 2 by 2 and lie side by side."""
        two = [2, 2]
        return list(self.kernel) == two == list(self.stride) and not any(self.pad) and self.convention == "valid"

    def axes(self) -> list[tuple[int, int, int, int]]:
        """Axis, size, stride and padding along each spatial axis."""
        return list(zip(spatial_axes(self.layout), self.kernel, self.stride, self.pad, strict=True))

    def counts(self, shape: Shape) -> list[tuple[int, int]]:
        """Return the number of windows and the padding in front along each spatial axis of data of this shape.

        Raises
        ------
        ShapeError
            If a window does not fit.
        """
        counter, found = CONVENTIONS[self.convention], []
        for axis, size, step, edge in self.axes():
            n = shape[axis]
            count, low = counter(n, size, step, edge) if step > 0 else (0, 0)
            if size < 1 or count < 1 or (n + 2 * edge < size and self.convention != "same"):
                raise ShapeError(
                    f"pooling: a window of {size} with stride {step} and padding {edge} does not fit into axis {axis} "
                    f"of data of shape {tuple(shape)}."
                )
            found.append((count, low))
        return found


def windows_of(
    x: Array, layout: str | None, kernel: Sizes, stride: Sizes, pad: Sizes, convention: str, whole: bool
) -> Windows:
    """Return the windows over `x`; with `whole` a single one, over everything.

    Raises
    ------
    ShapeError
        If the layout or a tuple of numbers does not fit the number of axes.
    ValueError
        If `kernel` is not given, or the layout or the convention is unknown.
    """
    name = "pooling"
    choose(CONVENTIONS, convention, name, "pooling_convention")
    layout = layout_of(layout, x.ndim, name)
    positions = spatial_axes(layout)
    if whole:
        kernel, stride, pad, convention = [x.shape[a] for a in positions], None, None, "valid"
    elif not kernel:
        raise ValueError("pooling: kernel, the size of the window, is needed unless global_pool is set.")
    sizes, steps, edges = (per_axis(v, len(positions), d, name) for v, d in ((kernel, 1), (stride, 1), (pad, 0)))
    return Windows(layout, sizes, steps, edges, convention, whole)


@partial(jax.custom_jvp, nondiff_argnums=(1, 2))
def _largest_of_four(x: Array, rows: int, columns: int) -> Array:
    """Return the maximum over windows of 2 by 2 that do not overlap.

    `rows` and `columns` are neighbouring axes of even size.

    The gradient goes to the first of equal elements in row-major order. It is written as one selection over an array of
    windows, which a CPU fills in one contiguous pass; autodiff of the slices would pad and add, which is two to three
    times as slow.
    """
    upper_left, upper_right, lower_left, lower_right = _quarters(x, rows, columns)
    return jnp.maximum(jnp.maximum(upper_left, upper_right), jnp.maximum(lower_left, lower_right))


def _quarters(x: Array, rows: int, columns: int) -> list[Array]:
    """Return the four elements of each window, in row-major order."""
    halves = [lax.slice_in_dim(x, i, None, 2, rows) for i in (0, 1)]
    return [lax.slice_in_dim(half, i, None, 2, columns) for half in halves for i in (0, 1)]


def _chosen(rows: int, columns: int, above: Array, left_above: Array, left_below: Array) -> Array:
    """Return which element of each window is its maximum, given which half of it is larger."""
    upper = jnp.stack((above & left_above, above & ~left_above), columns + 1)
    lower = jnp.stack((~above & left_below, ~above & ~left_below), columns + 1)
    return jnp.stack((upper, lower), columns)


def _chosen_of_two(rows: int, columns: int, above: Array, left_above: Array, left_below: Array) -> Array:
    """Return what `_chosen` does, from two masks.

    XLA for GPUs compares in the forward. A barrier at these two masks keeps it from storing the four of `_chosen` for
    the backward.
    """
    above, left = lax.optimization_barrier((above, jnp.where(above, left_above, left_below)))
    above, left = (jnp.expand_dims(x, (rows + 1, columns + 2)) for x in (above, left))
    two = [2 if axis in (rows + 1, columns + 2) else 1 for axis in range(above.ndim)]
    first = [lax.broadcasted_iota(jnp.int32, two, axis) == 0 for axis in (rows + 1, columns + 2)]
    return (above == first[0]) & (left == first[1])


@_largest_of_four.defjvp
def _(rows: int, columns: int, primals: tuple[Array], tangents: tuple[Array]) -> tuple[Array, Array]:
    largest = _largest_of_four(*primals, rows, columns)
    a, b, c, d = _quarters(*primals, rows, columns)
    # The elements are compared with each other, and not with the maximum: XLA may compute `x` again for this, rounded
    # otherwise than in the forward, and then no element would be equal to the maximum.
    above, left_above, left_below = jnp.maximum(a, b) >= jnp.maximum(c, d), a >= b, c >= d
    ours, usual = (partial(form, rows, columns) for form in (_chosen, _chosen_of_two))
    chosen = on_cpu(ours, usual, above, left_above, left_below)
    windows = (*largest.shape[:rows], largest.shape[rows], 2, largest.shape[columns], 2, *largest.shape[columns + 1 :])
    tangent = jnp.where(chosen, tangents[0].reshape(windows), 0).sum((rows + 1, columns + 2))
    return largest, tangent


def _pool(x: Array, windows: Windows, counts: list[tuple[int, int]], largest: bool) -> Array:
    """Return the largest element of each window, or the sum of its elements."""
    axes = spatial_axes(windows.layout)
    if windows.whole:
        return max_.fn(x, axis=tuple(axes), keepdims=True) if largest else jnp.sum(x, tuple(axes), keepdims=True)
    if largest and windows.is_two_by_two() and all(x.shape[a] > 1 for a in axes):
        for axis in axes:
            x = lax.slice_in_dim(x, 0, x.shape[axis] // 2 * 2, 1, axis)
        return _largest_of_four(x, *axes)
    # The last axis first: a maximum over rows, then over the rows' results, keeps row-major order among ties.
    for (axis, size, step, _), (count, low) in reversed(list(zip(windows.axes(), counts, strict=True))):
        x = _padded(x, axis, low, (count - 1) * step + size, _lowest(x) if largest else 0)
        x = _window(x, axis, size, step, count, largest)
    return x


def _average(total: Array, x: Array, windows: Windows, counts: list[tuple[int, int]], include: bool) -> Array:
    """Return the sums divided by the number of elements in each."""
    for (axis, size, step, edge), (count, low) in zip(windows.axes(), counts, strict=True):
        if windows.convention == "valid" and (include or edge == 0):
            total = total / size
        else:
            several = lengths(x.shape[axis], size, step, count, low, edge, include)
            shape = [count if i == axis else 1 for i in range(x.ndim)]
            total = total / jnp.asarray(several, total.dtype).reshape(shape)
    return total


def _power_mean(x: Array, windows: Windows, counts: list[tuple[int, int]], power: int) -> Array:
    """Return the `power`-th root of the sum of that power; the gradient at 0 is 0.

    Odd powers and roots keep the sign.
    """
    if power < 1:
        raise ValueError(f"pooling: p_value is a whole number from 1 on, but {power} came.")
    total = _pool(x**power, windows, counts, largest=False)
    if power == 1:
        return total
    size = jnp.where(total == 0, 1, absolute(total)) ** (1 / power)
    return jnp.where(total == 0, 0, jnp.sign(total) * size)


@register(
    aliases=("Pooling",),
    channels_last="layout",
    npx=Front(
        order="x kernel stride pad pool_type pooling_convention global_pool "
        "cudnn_off=False p_value count_include_pad layout"
    ),
    shape="(n, c, o...), o = (w + 2 pad - kernel) // stride + 1 (rounded up with 'full')",
    stands_for="`stablehlo.reduce_window`",
    gives="input",
)
def pooling(
    x: Array,
    *,
    kernel: Sequence[int] | None = None,
    stride: Sequence[int] | None = None,
    pad: Sequence[int] | None = None,
    pool_type: str = "max",
    pooling_convention: str = "valid",
    global_pool: bool = False,
    p_value: int | None = None,
    count_include_pad: bool | None = None,
    layout: str | None = None,
) -> Array:
    """Pooling over one to three spatial axes.

    Parameters
    ----------
    x : array, shape by `layout`
    kernel, stride, pad : tuple of int
        One number for each spatial axis; `stride` is 1 and `pad` is 0 by default.
    pool_type : {'max', 'avg', 'sum', 'lp'}
        ``'lp'`` is the `p_value`-th root (2 by default) of the sum of that power; where it is odd, of signed numbers.
    pooling_convention : {'valid', 'full', 'same'}
        Whether the last, incomplete window is left out, kept, or padding chosen such that the size is ``n / stride``.
    global_pool : bool
        Whether one window covers everything; kernel, stride and padding are ignored then.
    count_include_pad : bool, optional
        Whether an average counts padded positions (it does by default).
    p_value
        The order of the norm of 'lp'.

    Raises
    ------
    ShapeError
        If the window is larger than the padded data.

    Examples
    --------
    >>> from gluonx import np, npx
    >>> npx.pooling(np.arange(4).reshape(1, 1, 2, 2), kernel=(2, 2), pool_type="max").tolist()
    [[[[3.0]]]]
    """
    choose(dict.fromkeys(("max", "avg", "sum", "lp")), pool_type, "pooling", "pool_type")
    given = windows_of(x, layout, kernel, stride, pad, pooling_convention, global_pool)
    counts = [(1, 0)] * len(given.kernel) if global_pool else given.counts(x.shape)

    def pooled(x: Array, axis: int) -> Array:
        windows = given._replace(layout="NHWC") if axis == 3 else given
        if pool_type == "max":
            return _pool(x, windows, counts, largest=True)
        if pool_type == "lp":
            return narrow(_power_mean(wide(x), windows, counts, 2 if p_value is None else p_value), float_dtype(x))
        total = _pool(wide(x), windows, counts, largest=False)
        if pool_type == "avg":
            total = _average(total, x, windows, counts, include=count_include_pad is not False)
        return narrow(total, float_dtype(x))

    channel = given.layout.index("C")
    if global_pool:
        return pooled(x, channel)
    return channels_last(pooled, (x,), channel, within_programs=True)


def _spans(n: int, count: int) -> list[tuple[int, int]]:
    """Return where each of `count` windows that cover an axis begins and ends."""
    return [(i * n // count, -(-(i + 1) * n // count)) for i in range(count)]


def _adaptive(x: Array, axis: int, count: int) -> Array:
    """Return averages over `count` windows that cover an axis, whose lengths differ by at most two."""
    n = x.shape[axis]
    if n == count:
        return x
    if count == 1:
        return jnp.mean(x, axis, keepdims=True)
    if n % count == 0:
        return _slide(x, axis, n // count, n // count, count, jnp.add) * (count / n)
    parts = [jnp.mean(lax.slice_in_dim(x, s, e, 1, axis), axis, keepdims=True) for s, e in _spans(n, count)]
    return jnp.concatenate(parts, axis)


@register(
    aliases=("AdaptiveAvgPooling2D", "_contrib_AdaptiveAvgPooling2D"),
    shape="``(n, c, *output_size)``",
    stands_for="`stablehlo.reduce_window`",
    gives="float",
)
def adaptive_avg_pooling(
    x: Array, *, output_size: int | Sequence[int] | None = None, layout: str | None = None
) -> Array:
    """Return averages over windows chosen such that the result has the spatial size `output_size` (1 by default).

    Parameters
    ----------
    output_size
        The spatial size of the result, a number or one for each axis.

    Examples
    --------
    >>> from gluonx import np, npx
    >>> npx.adaptive_avg_pooling(np.ones((1, 2, 6, 6)), output_size=(2, 3)).shape
    (1, 2, 2, 3)
    """
    y = wide(x)
    for axis, count in _wanted(x, output_size, layout, "adaptive_avg_pooling"):
        y = _adaptive(y, axis, count)
    return narrow(y, float_dtype(x))


def _wanted(x: Any, output_size: Sizes, layout: str | None, name: str) -> list[tuple[int, int]]:
    """Return each spatial axis with the length that it shall have."""
    axes = spatial_axes(layout_of(layout, x.ndim, name))
    sizes = per_axis(output_size, len(axes), 1, name)
    if min(sizes) < 1:
        raise ShapeError(f"{name}: output_size is {output_size}, but must be positive.")
    return list(zip(axes, sizes, strict=True))


def _places(n: int, count: int) -> Iterator[np.ndarray]:
    """Return the first position of each window, the second, and so on; a shorter window repeats its last."""
    spans = _spans(n, count)
    for i in range(max(end - start for start, end in spans)):
        yield np.array([min(start + i, end - 1) for start, end in spans], np.int32)


def _largest(x: Array, axis: int, count: int) -> Array:
    """Return the maxima over `count` windows that cover an axis."""
    n = x.shape[axis]
    longest = -(-n // count) + 1
    if longest > _LONGEST:
        parts = [lax.slice_in_dim(x, s, e, 1, axis) for s, e in _spans(n, count)]
        firsts = [jnp.take_along_axis(part, jnp.argmax(part, axis, keepdims=True), axis) for part in parts]
        return jnp.concatenate(firsts, axis)
    if n % count == 0:
        return _slide(x, axis, n // count, n // count, count, maximum)
    return reduce(maximum, [jnp.take(x, places, axis) for places in _places(n, count)])


def _largest_elsewhere(run: Callable[..., Any], x: Any, output_size: Sizes, layout: str | None) -> object:
    wanted = _wanted(x, output_size, layout, "adaptive_max_pooling")
    if all(count == 1 for _, count in wanted):
        return run("pooling", x, global_pool=True, layout=layout)
    if all(x.shape[axis] % count == 0 for axis, count in wanted):
        kernel = tuple([x.shape[axis] // count for axis, count in wanted])
        return run("pooling", x, kernel=kernel, stride=kernel, layout=layout)
    for axis, count in wanted:
        parts = [run("take", x, places, axis=axis) for places in _places(x.shape[axis], count)]
        x = reduce(lambda one, other: run("maximum", one, other), parts)
    return x


@register(
    shape="``(n, c, *output_size)``",
    stands_for="`stablehlo.reduce_window`",
    gradient="through `x`, at a tie to the first element of the window",
    composed=_largest_elsewhere,
    gives="input",
)
def adaptive_max_pooling(
    x: Array, *, output_size: int | Sequence[int] | None = None, layout: str | None = None
) -> Array:
    """Return maxima over windows chosen such that the result has the spatial size `output_size` (1 by default).

    Parameters
    ----------
    output_size
        The spatial size of the result, a number or one for each axis.

    Examples
    --------
    >>> from gluonx import np, npx
    >>> npx.adaptive_max_pooling(np.arange(6).reshape(1, 1, 6), output_size=2).tolist()
    [[[2.0, 5.0]]]
    """
    for axis, count in reversed(_wanted(x, output_size, layout, "adaptive_max_pooling")):
        x = _largest(x, axis, count)
    return x
