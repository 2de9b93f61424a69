"""Algorithms of a convolution on a CPU, and the choice among them.

XLA computes most convolutions on a CPU with a good library, and some by a plain loop that is 5 to 300 times slower.
Which ones was measured (`benchmarks/ops.py`, jax 0.10), and depends on static shapes alone:

- A kernel longer than the image along some axis. A 3x3 convolution of 512 to 512 channels on 2x2 images took 400 ms
  where 4x4 images of a quarter of the work took 4. The input's gradient is a convolution of the result's gradient, so
  it has the same problem if the kernel is longer than the *result*. **Patches**: the windows side by side and one
  matrix product. They also win if the whole batch has no more positions than the image has channels, and an image has
  few, or no more than half as many, because the library transposes the weight first: 1.1 to 6 times as fast (1x7x7x512,
  forward 3.5 ms for 10.4, gradients 6.7 for 13.7; 4x7x7x512 39 for 44 together; 8x7x7x512 62 for 58, so that is left).
  (With 64 images of 4x4 positions and 32 to 128 channels they take 1.2 times as long.)
- A 1x1 kernel. Its weight's gradient, as a convolution with a kernel as large as the image, took 5 to 14 times as long
  as a product (4x56x56x256 to 64: 45 ms and 4.9; 4x56x56x256 to 512 with stride 2: 109 and 10), the others 0.9 to 1.7
  times. **Rows**: one product for all images with the channels last. Where the operator runs alone and has the channels
  first, from some 256 positions on **product**: a matrix product for each image, which leaves them first.
- Groups. The loop convolves each group's filters, and the weight's gradient takes up to 300 times as long as that of
  the dense convolution. **Joined**, in a program for CPUs: neighbouring groups become one dense convolution whose
  kernel has zeros between them, and a few such convolutions stand side by side (`with_joined_groups`). Where the
  positions are few, **patches** for each group. Where the platform is chosen later, XLA would not give a convolution to
  its library: there it is patches, or, if those would not fit into memory, **taps**: one matrix product for each
  position of the kernel, and their sum.
- As many groups as channels (depthwise). **Shifts**: the image is shifted to each position of the kernel, multiplied by
  that position's weights and added up, which XLA makes one loop of; it needs the weights side by side (`_weighted`).
  The weight's gradient is a loop over short rows: `gluonx.ops.cpu.depthwise`.
- The weight's gradient of the others, with enough channels and no stride: **products** over positions, in the module
  `gluonx.ops.cpu.weight_gradient`.
- The image's gradient of a stem (few channels, a stride, a large kernel), the weight's gradient with a stride of one or
  two large images, and both gradients of windows that do not overlap: products over **cells**, in the module
  `gluonx.ops.cpu.cells`.

In a program for one CPU two-dimensional images have their channels last throughout: a convolution is written between
two transpositions, which meet those of the operators beside it (`gluonx.ops.cpu.channels_last`) and are moved behind
elementwise operations (`gluonx.ops.cpu.rewriting`). Transposed convolutions are in `gluonx.ops.cpu.transposed`.

`convolve` chooses, by `lax.platform_dependent`: other platforms, and everything under `native_operations` (as when
exporting StableHLO), keep the native operation. An algorithm is written in differentiable operations (shifts have their
own tangent, see `shifts_of_tangent`), so that derivatives of any order, forward and backward mode and ``vmap`` work;
only its inputs are kept for the gradient (`jax.checkpoint`), as for a native convolution.
"""

from __future__ import annotations

import contextlib
import functools
import itertools
import math
from collections.abc import Callable, Iterable, Iterator
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
from jax import Array, lax
from jax.custom_derivatives import SymbolicZero

from gluonx.ops.common import narrow, wide
from gluonx.ops.cpu.cells import by_cells, by_products_of_cells, cells_pay, of_patches, products_of_cells_pay
from gluonx.ops.cpu.depthwise import by_rows, rows_pay
from gluonx.ops.cpu.weight_gradient import by_products, products_pay
from gluonx.ops.geometry import Geometry, known, patches_size, weight_layout, windows

if TYPE_CHECKING:
    import numpy


__all__ = [
    "FEW_POSITIONS",
    "ALGORITHMS",
    "LARGEST",
    "MOST_TAPS",
    "convolve",
    "for_cpu",
    "algorithm_of",
    "lowering_in_force",
    "native",
    "native_operations",
    "native_only",
    "of_tangents",
    "on_cpu",
    "on_gpu",
    "on_one_cpu",
    "recomputed",
    "shifts_of_tangent",
    "with_joined_groups",
]

MOST_TAPS = 64  # a larger kernel is not unrolled
FEW_POSITIONS = 16  # a result with at most so many positions is tiny
_MANY_POSITIONS = 256  # a matrix product for each image pays from here on
LARGEST = 1 << 26  # elements of an array of patches
_LARGE = 1 << 22  # the same if there is another way
_SMALL_IMAGE = 64  # positions: up to here a depthwise convolution alone is computed with the channels last
_PART, _MOST_PARTS = 16, 4  # groups are joined to as many channels at least, and to so many convolutions at most
_WIDE_RESULT = 1 << 18  # elements of a product's result: from here on it matters which operand is turned round
_WITHOUT_SPACE = lax.ConvDimensionNumbers((0, 1), (0, 1), (0, 1))

_native_only: ContextVar[bool] = ContextVar("gluonx_native_operations", default=False)
_for_cpu: ContextVar[str] = ContextVar("gluonx_for_cpus", default="")  # or "one" or "several"


@contextlib.contextmanager
def native_operations(on: bool = True) -> Iterator[None]:
    """Within, traces keep the native operations, on a CPU too; or, with ``on=False``, do not."""
    token = _native_only.set(on)
    try:
        yield
    finally:
        _native_only.reset(token)


def native_only() -> bool:
    """Return whether `native_operations` is in force."""
    return _native_only.get()


@contextlib.contextmanager
def for_cpu(on: bool = True, several: bool = False) -> Iterator[None]:
    """Within, the traced program runs on CPUs for certain, so only its lowering for a CPU is traced.

    With `several`, arrays in it may be split over several of them.
    """
    token = _for_cpu.set(("several" if several else "one") if on else "")
    try:
        yield
    finally:
        _for_cpu.reset(token)


def lowering_in_force() -> tuple[bool, str]:
    """Return whether `native_operations` is in force, and for how many CPUs `for_cpu` is: '', 'one' or 'several'.

    Traces under equal results are equal, and neither is in force if no item is true.
    """
    return _native_only.get(), _for_cpu.get()


def _is_for_one_cpu() -> bool:
    """Return whether the traced program runs on one CPU for certain, with lowerings of its own."""
    return lowering_in_force() == (False, "one")


def on_cpu(ours: Callable[..., Any], usual: Callable[..., Any], *arrays: Array) -> Any:
    """Return ``ours(*arrays)`` on a CPU, ``usual(*arrays)`` elsewhere and under `native_operations`."""
    if native_only():
        return usual(*arrays)
    if _for_cpu.get():
        return ours(*arrays)
    return lax.platform_dependent(*arrays, cpu=ours, default=usual)


def on_gpu(ours: Callable[..., Any], usual: Callable[..., Any], *arrays: Any) -> Any:
    """Return ``ours(*arrays)`` on a GPU, ``usual(*arrays)`` elsewhere and under `native_operations`."""
    if any(lowering_in_force()):
        return usual(*arrays)
    return lax.platform_dependent(*arrays, cuda=ours, rocm=ours, default=usual)


def on_one_cpu(ours: Callable[..., Any], usual: Callable[..., Any], *arrays: Array) -> Any:
    """Return ``ours(*arrays)`` in a program for one CPU alone (`for_cpu`), ``usual(*arrays)`` in any other.

    This is for forms that join axes or repeat arrays, for which XLA would send arrays between devices. A trace whose
    devices are not known yet has the usual form, and no branch.
    """
    return (ours if _is_for_one_cpu() else usual)(*arrays)


def of_tangents(
    y: Array, tangents: tuple[Any, Any], by_x: Callable[..., Array], by_weight: Callable[..., Array]
) -> Array:
    """Return the tangent of a function linear in data and weight: the sum of the parts for each tangent that exists."""
    parts = [by(t) for by, t in zip((by_x, by_weight), tangents, strict=True) if not isinstance(t, SymbolicZero)]
    return sum(parts[1:], parts[0]) if parts else jnp.zeros_like(y)


def algorithm_of(x: Any, weight: Any, geometry: Geometry) -> str:
    """Return the algorithm of a convolution on a CPU.

    It is 'native', 'patches', 'product', 'rows', 'taps', 'joined' or 'shifts'. Only a program for CPUs (`for_cpu`) has
    'joined', and one for one CPU has no 'product'.

    Parameters
    ----------
    x, weight : array or jax.ShapeDtypeStruct
    geometry : Geometry

    Examples
    --------
    >>> def tell(x, weight, groups=1):
    ...     same = Geometry("NCHW", (1, 1), (1, 1), (1, 1), groups)
    ...     return algorithm_of(jnp.ones(x), jnp.ones(weight), same)
    >>> tell((1, 8, 9, 9), (8, 8, 3, 3)), tell((1, 8, 2, 2), (8, 8, 3, 3)), tell((1, 162, 9, 9), (8, 162, 3, 3))
    ('native', 'patches', 'patches')
    >>> tell((1, 8, 30, 30), (8, 8, 1, 1)), tell((1, 8, 2, 2), (8, 8, 1, 1))
    ('product', 'rows')
    >>> tell((1, 8, 9, 9), (8, 4, 3, 3), groups=2), tell((1, 8, 9, 9), (8, 1, 3, 3), groups=8)
    ('patches', 'shifts')
    >>> with for_cpu():
    ...     tell((1, 8, 9, 9), (8, 4, 3, 3), groups=2)
    'joined'
    """
    kernel = geometry.spatial(weight.shape)
    taps, channels = math.prod(kernel), x.shape[geometry.channel]
    if not known(x.shape) or 0 in x.shape or not jnp.issubdtype(x.dtype, jnp.floating):
        return "native"
    joins = geometry.groups not in (1, channels) and bool(_for_cpu.get())
    if taps > MOST_TAPS and not joins:
        return "native"
    if geometry.groups > 1 and geometry.groups == channels:
        return "shifts"
    positions = geometry.positions(x.shape, kernel)
    results = math.prod(positions)
    few = x.shape[0] * results <= (channels if results <= FEW_POSITIONS else channels // 2)
    fits = taps <= MOST_TAPS and patches_size(x.shape, geometry, positions, taps) <= LARGEST
    if geometry.groups > 1:
        if joins:
            return "patches" if few and fits else "joined"
        return "patches" if patches_size(x.shape, geometry, positions, taps) <= _LARGE else "taps"
    if taps == 1:
        many = results >= _MANY_POSITIONS
        return "product" if many and geometry.channel == 1 and not _is_for_one_cpu() else "rows"
    reach = [d * (k - 1) + 1 for k, d in zip(kernel, geometry.dilate, strict=True)]
    longer = any(r > min(n, m) for r, n, m in zip(reach, geometry.spatial(x.shape), positions, strict=True))
    return "patches" if (longer or few) and fits else "native"


def _grouped(x: Array, axis: int, groups: int) -> Array:
    """Return the channels as two axes, groups first."""
    return x.reshape(*x.shape[:axis], groups, x.shape[axis] // groups, *x.shape[axis + 1 :])


def _by_tap(weight: Array, geometry: Geometry) -> Array:
    """Return the weight as (group, filter of the group, channel of the group, tap)."""
    weight = jnp.moveaxis(weight, geometry.channel, 1)
    filters, inner = weight.shape[:2]
    return weight.reshape(geometry.groups, filters // geometry.groups, inner, -1)


def _product(x: Array, weight: Array, geometry: Geometry, taps: str) -> Array:
    """Return the matrix product over channels, and over taps if `x` has an axis of taps after the channels."""
    space = "xyz"[: len(geometry.stride)]
    if geometry.channel == 1:
        spec = f"ngc{taps}{space},goc{taps}->ngo{space}"
    else:
        spec = f"n{space}gc{taps},goc{taps}->n{space}go"
    accumulated = jnp.promote_types(x.dtype, jnp.float32)
    y = jnp.einsum(spec, x, weight, preferred_element_type=accumulated)
    at = geometry.channel
    return y.reshape(*y.shape[:at], -1, *y.shape[at + 2 :])


def _patches(x: Array, weight: Array, geometry: Geometry) -> Array:
    views = windows(x, geometry.spatial(weight.shape), geometry)
    behind = geometry.channel + 1
    stacked = _grouped(jnp.stack(views, behind), geometry.channel, geometry.groups)
    return narrow(_product(stacked, _by_tap(weight, geometry), geometry, "t"), x.dtype)


def _product_of_images(x: Array, weight: Array, geometry: Geometry) -> Array:
    (image,) = windows(x, geometry.spatial(weight.shape), geometry)
    batch, channels, *space = image.shape
    # The batch is an axis of both sides: otherwise XLA would transpose the images to make one product of them.
    weights = jnp.broadcast_to(weight.reshape(1, -1, channels), (batch, weight.shape[0], channels))
    accumulated = jnp.promote_types(x.dtype, jnp.float32)
    y = jnp.einsum("ncx,noc->nox", image.reshape(batch, channels, -1), weights, preferred_element_type=accumulated)
    return narrow(y.reshape(batch, -1, *space), x.dtype)


def _widens(rows: int, channels: int, filters: int) -> bool:
    """Return whether a product's result is so much wider than its data that the weight's gradient must not turn it.

    That gradient contracts both operands over their rows, and XLA turns the one that stands on the left round first. As
    JAX derives a product, that is the result's gradient. Processor time, one core, ms, and with the data on the left:
    12544x64 to 256 8.5 and 4.4; 16384x16 to 96 3.0 and 1.3; 1024x96 to 576 2.1 and 1.1; the other way round, 12544x256
    to 64, 4.4 and 8.9. With few rows the product itself is what costs: 512x768 to 3072 21 and 24.
    """
    return filters >= 2 * channels and rows >= 4 * channels and rows * filters >= _WIDE_RESULT


def _rows(x: Array, weight: Array, geometry: Geometry) -> Array:
    """Return one matrix product over the channels of all positions, for a kernel with one tap."""
    last = geometry._replace(layout=geometry.layout.replace("C", "") + "C")
    (image,) = windows(jnp.moveaxis(x, geometry.channel, -1), geometry.spatial(weight.shape), last)
    rows, matrix = image.reshape(-1, image.shape[-1]), weight.reshape(weight.shape[0], -1)
    if _is_for_one_cpu() and _widens(rows.shape[0], rows.shape[1], len(matrix)) and x.dtype == jnp.float32:
        # A convolution without spatial axes: XLA makes the same product of it, and its gradient turns `rows`. It is for
        # gluonx's own programs: under a user's ``vmap`` a weight's gradient would be a slow convolution in groups.
        y = lax.conv_general_dilated(rows, matrix, (), (), dimension_numbers=_WITHOUT_SPACE)
    else:
        accumulated = jnp.promote_types(x.dtype, jnp.float32)
        y = lax.dot(rows, matrix.T, preferred_element_type=accumulated)
    y = y.reshape(*image.shape[:-1], -1)
    return narrow(jnp.moveaxis(y, -1, geometry.channel), x.dtype)


def _taps(x: Array, weight: Array, geometry: Geometry) -> Array:
    views = windows(x, geometry.spatial(weight.shape), geometry)
    weights = _by_tap(weight, geometry)
    parts = [
        _product(_grouped(window, geometry.channel, geometry.groups), weights[..., i], geometry, "")
        for i, window in enumerate(views)
    ]
    return narrow(sum(parts[1:], parts[0]), x.dtype)


def with_joined_groups(
    compute: Callable[[Array, Array, Geometry], Array], x: Array, weight: Array, geometry: Geometry
) -> Array:
    """Return a convolution, or its transpose, with groups as `compute` has it without: for a few groups at a time.

    Those become one group, whose kernel has zeros between them. So a number that is not finite spreads to the results
    of the groups that are joined with its own, as NaN.
    """
    at, groups = geometry.channel, geometry.groups
    outer, inner = weight.shape[0] // groups, weight.shape[at]
    count = _parts(groups, min(outer, inner))
    together = groups // count
    weights = jnp.moveaxis(weight, at, 1).reshape(count, together, outer, 1, inner, *geometry.spatial(weight.shape))
    own = jnp.eye(together, dtype=bool).reshape(1, together, 1, together, *[1] * (weights.ndim - 4))
    weights = jnp.where(own, weights, 0).reshape(count, together * outer, together * inner, *weights.shape[5:])
    dense = geometry._replace(groups=1)
    parts = [
        compute(part, jnp.moveaxis(lax.index_in_dim(weights, i, keepdims=False), 1, at), dense)
        for i, part in enumerate(jnp.split(x, count, at))
    ]
    return jnp.concatenate(parts, at)


def _parts(groups: int, channels: int) -> int:
    """Return in how many parts to compute the groups of a convolution, each of so many channels."""
    fitting = [n for n in range(1, _MOST_PARTS + 1) if groups % n == 0 and groups // n * channels >= _PART]
    return max(fitting, default=1)


def _joined(x: Array, weight: Array, geometry: Geometry) -> Array:
    return with_joined_groups(convolve, x, weight, geometry)


def native(x: Array, weight: Array, geometry: Geometry) -> Array:
    """Return XLA's own convolution."""
    return lax.conv_general_dilated(
        x,
        weight,
        window_strides=geometry.stride,
        padding=[(p, p) for p in geometry.pad],
        rhs_dilation=geometry.dilate,
        dimension_numbers=(geometry.layout, weight_layout(geometry.layout), geometry.layout),
        feature_group_count=geometry.groups,
    )


@functools.partial(jax.custom_jvp, nondiff_argnums=(2,))
def _by_library(x: Array, weight: Array, geometry: Geometry) -> Array:
    """Return XLA's own convolution, with gradients by products where these pay.

    The forward and the gradients that stay native have no branch for a platform around them: XLA turns convolutions
    into calls of its library only so.
    """
    return native(x, weight, geometry)


def _gradients_by_products(x: jax.Array | numpy.ndarray, weight: jax.Array | numpy.ndarray, geometry: Geometry) -> bool:
    """Return whether a gradient is computed by products."""
    return _algorithm_of_weight(x, weight, geometry) is not None or cells_pay(x, weight, geometry)


def _algorithm_of_weight(
    x: jax.Array | numpy.ndarray, weight: jax.Array | numpy.ndarray, geometry: Geometry
) -> Callable[..., Array] | None:
    """Return the form of a convolution whose transpose with respect to `weight` is fast; None for the native one."""
    if products_pay(x, weight, geometry):
        return by_products
    if products_of_cells_pay(x, weight, geometry):
        return by_products_of_cells
    return by_cells if of_patches(x, weight, geometry) else None


def _by_tangent(algorithm: Callable[..., Array] | None, x: Array, weight: Array, geometry: Geometry) -> Array:
    """Compute a convolution by an algorithm whose transpose is fast, natively if that is None."""
    usual = functools.partial(native, geometry=geometry)
    if algorithm is None:
        return usual(x, weight)
    # The branch for the platform is inside, so that a backward pass which is a separate program has its own.
    return recomputed(lambda *arrays: on_cpu(functools.partial(algorithm, geometry=geometry), usual, *arrays))(
        x, weight
    )


def _by_image(x: Array, weight: Array, geometry: Geometry) -> Array:
    """Compute a convolution such that its transpose with respect to `x` is fast."""
    return _by_tangent(by_cells if cells_pay(x, weight, geometry) else None, x, weight, geometry)


def _by_weight(x: Array, weight: Array, geometry: Geometry) -> Array:
    """Compute a convolution such that its transpose with respect to `weight` is fast."""
    return _by_tangent(_algorithm_of_weight(x, weight, geometry), x, weight, geometry)


@functools.partial(_by_library.defjvp, symbolic_zeros=True)
def _(geometry: Geometry, primals: tuple[Array, Array], tangents: tuple[Any, Any]) -> tuple[Array, Any]:
    x, weight = primals
    y = _by_library(x, weight, geometry)
    return y, of_tangents(
        y, tangents, lambda dx: _by_image(dx, weight, geometry), lambda dw: _by_weight(x, dw, geometry)
    )


@functools.partial(jax.custom_jvp, nondiff_argnums=(2,))
def _shifts(x: Array, weight: Array, geometry: Geometry) -> Array:
    views = windows(wide(x), geometry.spatial(weight.shape), geometry)
    return narrow(_weighted_sum(views, weight, geometry), x.dtype)


def _weighted(images: Iterable[Array], weight: Array, geometry: Geometry) -> Iterator[Array]:
    """Return one image for each tap of the kernel, multiplied with that tap's weights."""
    at = geometry.channel
    filters = weight.shape[0] // geometry.groups
    weights = wide(jnp.moveaxis(weight, at, 1)).reshape(weight.shape[0], -1)
    # Each place's weights beside each other: as they lie in memory, a loop over channels would collect them one by one.
    # XLA makes a concatenation once; it would have the loop do a transposition.
    together = lax.optimization_barrier(jnp.concatenate([weights[:, i] for i in range(weights.shape[1])]))
    for image, column in zip(images, lax.split(together, [len(weights)] * weights.shape[1]), strict=True):
        shape = [-1 if axis == at else 1 for axis in range(image.ndim)]
        seen = image if filters == 1 else jnp.repeat(image, filters, at)
        yield seen * column.reshape(shape)


def _weighted_sum(images: Iterable[Array], weight: Array, geometry: Geometry) -> Array:
    """Return the sum of one image for each tap of the kernel, multiplied with that tap's weights."""
    return functools.reduce(jnp.add, _weighted(images, weight, geometry))


def _shifts_by_weight(x: Array, weight: Array, geometry: Geometry) -> Array:
    """Return `_shifts`, up to rounding, written so that its transpose with respect to `weight` needs little memory.

    The transpose with respect to a tap's weights is a sum over the image times the result's gradient. If the image was
    shifted, XLA would make the shifted images as soon as the image exists, and keep all of them until the gradient
    comes. So here the weighted image is cut; in the transpose it is then the gradient that is shifted. With a stride,
    images of every phase of it are cut, which together are as large as the image.
    """
    kernel = geometry.spatial(weight.shape)
    axes = geometry.axes
    positions = geometry.positions(x.shape, kernel)
    lengths = [
        n + d * (k - 1) // s for n, k, d, s in zip(positions, kernel, geometry.dilate, geometry.stride, strict=True)
    ]
    config = [(0, 0, 0)] * x.ndim
    for axis, length, stride, pad in zip(axes, lengths, geometry.stride, geometry.pad, strict=True):
        config[axis] = (pad, length * stride - x.shape[axis] - pad, 0)
    padded = lax.pad(wide(x), jnp.zeros((), wide(x).dtype), config)
    steps = [1] * x.ndim
    for axis, stride in zip(axes, geometry.stride, strict=True):
        steps[axis] = stride
    images, cuts = [], []
    for position in itertools.product(*map(range, kernel)):
        start, cut = [0] * x.ndim, [0] * x.ndim
        for axis, at, dilate in zip(axes, position, geometry.dilate, strict=True):
            cut[axis], start[axis] = divmod(at * dilate, steps[axis])
        images.append(lax.slice(padded, start, padded.shape, steps))
        cuts.append(cut)
    total: Array | None = None
    for part, cut in zip(_weighted(images, weight, geometry), cuts, strict=True):
        stop = list(part.shape)
        for axis, count in zip(axes, positions, strict=True):
            stop[axis] = cut[axis] + count
        part = lax.slice(part, cut, stop)
        total = part if total is None else total + part
    assert total is not None, "a kernel has at least one position"
    return total


def shifts_of_tangent(x: Array, weight: Array, geometry: Geometry) -> Array:
    """Return `_shifts`, up to rounding, written so that its transpose with respect to `x` is fast.

    The transpose of a slice is a pad, and a sum of pads checks the bounds at every element. So here each tap's image is
    padded, and the sum is cut: the transpose is one pad and a sum of slices, three to five times as fast.
    """
    kernel = geometry.spatial(weight.shape)
    axes = geometry.axes
    zero = jnp.zeros((), wide(x).dtype)
    images = []
    for position in itertools.product(*map(range, kernel)):
        config = [(0, 0, 0)] * x.ndim
        for axis, k, at, dilate in zip(axes, kernel, position, geometry.dilate, strict=True):
            config[axis] = ((k - 1 - at) * dilate, at * dilate, 0)
        images.append(lax.pad(wide(x), zero, config))
    total = _weighted_sum(images, weight, geometry)
    config, steps = [(0, 0, 0)] * x.ndim, [1] * x.ndim
    positions = geometry.positions(x.shape, kernel)
    for axis, k, dilate, stride, pad, count in zip(
        axes, kernel, geometry.dilate, geometry.stride, geometry.pad, positions, strict=True
    ):
        config[axis] = (pad - (k - 1) * dilate, (count - 1) * stride + 1 - x.shape[axis] - pad, 0)
        steps[axis] = stride
    total = lax.pad(total, zero, config)
    return lax.slice(total, [0] * x.ndim, total.shape, steps)


@functools.partial(_shifts.defjvp, symbolic_zeros=True)
def _(geometry: Geometry, primals: tuple[Array, Array], tangents: tuple[Any, Any]) -> tuple[Array, Any]:
    (x, weight), (dx, dweight) = primals, tangents
    y = _shifts(x, weight, geometry)
    total = jnp.zeros(y.shape, wide(y).dtype)
    if not isinstance(dx, SymbolicZero):
        total = total + shifts_of_tangent(dx, weight, geometry)
    if not isinstance(dweight, SymbolicZero):
        by_weight = by_rows if rows_pay(x, weight, geometry) else _shifts_by_weight
        total = total + wide(by_weight(x, dweight, geometry))
    return y, narrow(total, y.dtype)


def _shifts_of_images(x: Array, weight: Array, geometry: Geometry) -> Array:
    """Return `_shifts`, of small images computed with the channels last.

    Larger ones are faster with the channels first where the operator runs alone: with both transpositions they took 1.2
    (8x384x14x14) to 3 times as long.
    """
    if geometry.layout != "NCHW" or math.prod(geometry.spatial(x.shape)) > _SMALL_IMAGE:
        return _shifts(x, weight, geometry)
    last = geometry._replace(layout="NHWC")
    return jnp.moveaxis(_shifts(jnp.moveaxis(x, 1, -1), jnp.moveaxis(weight, 1, -1), last), -1, 1)


ALGORITHMS: dict[str, Callable[[Array, Array, Geometry], Array]] = {
    "patches": _patches,
    "product": _product_of_images,
    "joined": _joined,
    "taps": _taps,
    "rows": _rows,
    "shifts": _shifts_of_images,
}


def recomputed(algorithm: Callable[..., Array]) -> Callable[..., Array]:
    """Return the algorithm as a function that saves only its inputs for the gradient.

    In a program with both directions XLA still computes the patches of the forward only once, since it sees that they
    are the same.
    """
    return jax.checkpoint(algorithm, prevent_cse=False)


def convolve(x: Array, weight: Array, geometry: Geometry) -> Array:
    """Return a convolution of arrays of one element type, without bias; shapes are the caller's to check."""
    if geometry.layout == "NCHW" and _is_for_one_cpu():
        last = geometry._replace(layout="NHWC")
        return jnp.moveaxis(convolve(jnp.moveaxis(x, 1, -1), jnp.moveaxis(weight, 1, -1), last), -1, 1)
    algorithm = algorithm_of(x, weight, geometry)
    if native_only() or (algorithm == "native" and not _gradients_by_products(x, weight, geometry)):
        return native(x, weight, geometry)
    if algorithm == "native":
        return _by_library(x, weight, geometry)
    compute = recomputed(lambda x, weight: ALGORITHMS[algorithm](x, weight, geometry))
    return on_cpu(compute, functools.partial(native, geometry=geometry), x, weight)
