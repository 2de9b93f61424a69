"""Forms of a convolution on a CPU, and the choice among them.

XLA computes most convolutions on a CPU by a good library, and some by a plain loop that is 5 to 300 times slower. Which
ones was measured (`benchmarks/ops.py`, jax 0.10), and depends on static shapes alone:

- A kernel longer than the image along some axis. A 3x3 convolution of 512 to 512 channels on 2x2 images took 400 ms
  where 4x4 images of a quarter of the work took 4. The input's gradient is a convolution of the result's gradient, so
  it meets the same where the kernel is longer than the *result*. **Patches**: the windows side by side and one matrix
  product. They are ahead, too, where the whole batch has no more places than the image has channels, and few of them in
  an image, for the library turns the weight round first: 1.1 to 6 times as fast, where with 64 images of 4x4 places and
  32 to 128 channels they take 1.2 times as long.
- A 1x1 kernel, channels first. **Product**: a matrix product for each image, from some 256 places on, which leaves the
  channels first; **rows**, one product for all images with the channels last, below.
- Few filters and short rows. XLA's library (of jax 0.10; that of 0.12 is better) gives its threads pieces of one row of
  one image, and where a row makes one piece, 3x3 convolutions to up to 64 channels on 128 columns among them, all rows
  are left to one thread: 100 GFLOP/s where two have 200. **Bands**: the images side by side, with a margin of zeros in
  between, and as bands of rows where that is not long enough. Only forward; see
  `_by_library`.
- Groups. Each group's filters are convolved by the loop, and the weight's gradient takes up to 300 times as long as
  that of the dense convolution. **Patches** for each group; where those would not fit into memory, **taps**: one
  matrix product for each place of the kernel, and their sum.
- As many groups as channels (depthwise). **Shifts**: the image is shifted to each place of the kernel, multiplied by
  that place's weights and added up, which XLA makes one loop of; the weights lie side by side for it (`_weighted`).

- The weight's gradient of the others, where there are channels enough and no stride: **products** over places, a module
  of its own, `gluonx.ops.cpu.weight_gradient`.
- The image's gradient of a stem (few channels, a stride, a large kernel), and both gradients where windows lie beside
  each other: products over **cells**, `gluonx.ops.cpu.cells`.

All of it wants the channels last, and what XLA transposes for one operation it leaves so for the next if that does
the same: so `gluonx.ops.cpu.channels_last` has what stands between convolutions computed with the channels last, too.
Transposed convolutions have a module of their own, `gluonx.ops.cpu.transposed`.

`convolve` chooses, by `lax.platform_dependent`: other platforms, and everything under `native_forms`
(as when exporting StableHLO), keep the native operation. A form is written in differentiable operations (shifts have a
tangent of their own, see `shifts_of_tangent`), so that derivatives of any order, forward and backward mode and
``vmap`` go through it; only its inputs are kept for the gradient (`jax.checkpoint`), as of a native convolution.
"""

from __future__ import annotations

import contextlib
import functools
import itertools
import math
from collections.abc import Callable, Iterable, Iterator
from contextvars import ContextVar
from typing import Any

import jax
import jax.numpy as jnp
from jax import Array, lax
from jax.custom_derivatives import SymbolicZero

from gluonx.ops.common import narrow, wide
from gluonx.ops.cpu.cells import by_cells, cells_pay, of_patches
from gluonx.ops.cpu.weight_gradient import by_products, products_pay
from gluonx.ops.geometry import Geometry, known, patches_size, weight_layout, windows

__all__ = [
    "FEW_PLACES",
    "FORMS",
    "LARGEST",
    "MOST_TAPS",
    "convolve",
    "for_cpu",
    "form_of",
    "forms_in_force",
    "native",
    "native_forms",
    "native_only",
    "of_tangents",
    "on_cpu",
    "recomputed",
    "shifts_of_tangent",
]

MOST_TAPS = 64  # a larger kernel is not unrolled
FEW_PLACES = 16  # results of so many places are tiny
_MANY_PLACES = 256  # a matrix product for each image pays from here on
LARGEST = 1 << 26  # elements of an array of patches
_LARGE = 1 << 22  # the same where it can be done without
_SMALL = 1 << 23  # so many multiplications are left to one thread
_LONE_ROWS = jax.__version_info__ < (
    0,
    11,
)  # whether threads share a row of an image, but not the rows (see `_bands_of`)

_native_only: ContextVar[bool] = ContextVar("gluonx_native_forms", default=False)
_for_cpu: ContextVar[bool] = ContextVar("gluonx_forms_for_a_cpu", default=False)


@contextlib.contextmanager
def native_forms(on: bool = True) -> Iterator[None]:
    """Within, what is traced keeps the native operations, on a CPU too; or, with ``on=False``, does not."""
    token = _native_only.set(on)
    try:
        yield
    finally:
        _native_only.reset(token)


def native_only() -> bool:
    """Return whether `native_forms` is in force."""
    return _native_only.get()


@contextlib.contextmanager
def for_cpu(on: bool = True) -> Iterator[None]:
    """Within, what is traced runs on a CPU for certain, so that its form alone is traced, and not both."""
    token = _for_cpu.set(on)
    try:
        yield
    finally:
        _for_cpu.reset(token)


def forms_in_force() -> tuple[bool, bool]:
    """Return whether `native_forms` and `for_cpu` are in force: what is traced under the same is the same."""
    return _native_only.get(), _for_cpu.get()


def on_cpu(form: Callable[..., Any], usual: Callable[..., Any], *arrays: Array) -> Any:
    """``form(*arrays)`` on a CPU, ``usual(*arrays)`` elsewhere and under `native_forms`."""
    if native_only():
        return usual(*arrays)
    if _for_cpu.get():
        return form(*arrays)
    return lax.platform_dependent(*arrays, cpu=form, default=usual)


def of_tangents(
    y: Array, tangents: tuple[Any, Any], by_x: Callable[..., Array], by_weight: Callable[..., Array]
) -> Array:
    """Give the tangent of what is linear in data and weight: the sum of what each of their tangents, if any, makes."""
    parts = [by(t) for by, t in zip((by_x, by_weight), tangents, strict=True) if not isinstance(t, SymbolicZero)]
    return sum(parts[1:], parts[0]) if parts else jnp.zeros_like(y)


def form_of(x: Any, weight: Any, geometry: Geometry) -> str:
    """Return the form of a convolution on a CPU: 'native', 'bands', 'patches', 'product', 'rows', 'taps' or 'shifts'.

    Parameters
    ----------
    x, weight : array or jax.ShapeDtypeStruct
    geometry : Geometry

    Examples
    --------
    >>> def tell(x, weight, groups=1):
    ...     same = Geometry("NCHW", (1, 1), (1, 1), (1, 1), groups)
    ...     return form_of(jnp.ones(x), jnp.ones(weight), same)
    >>> tell((1, 8, 9, 9), (8, 8, 3, 3)), tell((1, 8, 2, 2), (8, 8, 3, 3))
    ('native', 'patches')
    >>> tell((1, 8, 30, 30), (8, 8, 1, 1)), tell((1, 8, 2, 2), (8, 8, 1, 1))
    ('product', 'rows')
    >>> tell((1, 8, 9, 9), (8, 4, 3, 3), groups=2), tell((1, 8, 9, 9), (8, 1, 3, 3), groups=8)
    ('patches', 'shifts')
    """
    kernel = geometry.spatial(weight.shape)
    taps = math.prod(kernel)
    if not known(x.shape) or 0 in x.shape or taps > MOST_TAPS or not jnp.issubdtype(x.dtype, jnp.floating):
        return "native"
    if geometry.groups > 1 and geometry.groups == x.shape[geometry.channel]:
        return "shifts"
    places = geometry.places(x.shape, kernel)
    if geometry.groups > 1:
        return "patches" if patches_size(x.shape, geometry, places, taps) <= _LARGE else "taps"
    if taps == 1:
        many = math.prod(places) >= _MANY_PLACES
        return "native" if geometry.channel != 1 else "product" if many else "rows"
    reach = [d * (k - 1) + 1 for k, d in zip(kernel, geometry.dilate, strict=True)]
    longer = any(r > min(n, m) for r, n, m in zip(reach, geometry.spatial(x.shape), places, strict=True))
    results = math.prod(places)
    few = results <= FEW_PLACES and x.shape[0] * results <= x.shape[geometry.channel]
    if not (longer or few):
        return "bands" if _bands_of(x, weight, geometry) else "native"
    return "patches" if patches_size(x.shape, geometry, places, taps) <= LARGEST else "native"


def _grouped(x: Array, axis: int, groups: int) -> Array:
    """Return the channels as two axes, groups first."""
    return x.reshape(*x.shape[:axis], groups, x.shape[axis] // groups, *x.shape[axis + 1 :])


def _by_tap(weight: Array, geometry: Geometry) -> Array:
    """Return the weight as (group, filter of the group, channel of the group, tap)."""
    weight = jnp.moveaxis(weight, geometry.channel, 1)
    filters, inner = weight.shape[:2]
    return weight.reshape(geometry.groups, filters // geometry.groups, inner, -1)


def _product(x: Array, weight: Array, geometry: Geometry, taps: str) -> Array:
    """Give the matrix product over channels, and over taps where `x` has an axis of them right behind the channels."""
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
    # The batch is an axis of both sides: without it XLA would turn the images round to make one product of them.
    weights = jnp.broadcast_to(weight.reshape(1, -1, channels), (batch, weight.shape[0], channels))
    accumulated = jnp.promote_types(x.dtype, jnp.float32)
    y = jnp.einsum("ncx,noc->nox", image.reshape(batch, channels, -1), weights, preferred_element_type=accumulated)
    return narrow(y.reshape(batch, -1, *space), x.dtype)


def _rows(x: Array, weight: Array, geometry: Geometry) -> Array:
    """One matrix product over the channels of all places, for a kernel of one place."""
    (image,) = windows(x, geometry.spatial(weight.shape), geometry)
    image = jnp.moveaxis(image, geometry.channel, -1)
    accumulated = jnp.promote_types(x.dtype, jnp.float32)
    matrix = weight.reshape(weight.shape[0], -1).T
    y = lax.dot(image.reshape(-1, image.shape[-1]), matrix, preferred_element_type=accumulated)
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


def native(x: Array, weight: Array, geometry: Geometry) -> Array:
    """Return the convolution as XLA has it."""
    return lax.conv_general_dilated(
        x,
        weight,
        window_strides=geometry.stride,
        padding=[(p, p) for p in geometry.pad],
        rhs_dilation=geometry.dilate,
        dimension_numbers=(geometry.layout, weight_layout(geometry.layout), geometry.layout),
        feature_group_count=geometry.groups,
    )


def _pieces(rows: int, columns: int, depth: int) -> int:
    """Count the pieces, one a thread, that XLA's library makes of (`rows` x `depth`) times (`depth` x `columns`)."""
    depth, high, wide = min(depth, 1024), min(rows, 16), min(columns, 64)
    least = min(rows, 64) * wide
    while high * wide < least or ((high + wide) * depth < 1 << 16 and high * wide < 1 << 16):
        if (4 * wide <= high or high >= rows) and wide < columns:
            wide *= 2
        elif (high <= 4 * wide or wide >= columns) and high < rows:
            high *= 2
        else:
            break
    return -(-rows // high) * -(-columns // wide)


def _bands_of(x: Any, weight: Any, geometry: Geometry) -> int:
    """Return the number of bands into which `_bands` splits each image; 0 where that does not help."""
    if not _LONE_ROWS or len(geometry.stride) != 2 or geometry.groups > 1:
        return 0
    kernel = geometry.spatial(weight.shape)
    filters, depth = weight.shape[0], x.shape[geometry.channel] * math.prod(kernel)
    high, wide = geometry.places(x.shape, kernel)
    if _pieces(wide, filters, depth) > 1 or x.shape[0] * high * wide * filters * depth < _SMALL:
        return 0
    for bands in (1, 2, 4, 8):
        if high % bands == 0 and high >= 4 * bands and _pieces(x.shape[0] * bands * wide, filters, depth) > 1:
            return bands
    return 0


@functools.partial(jax.custom_jvp, nondiff_argnums=(2,))
def _by_library(x: Array, weight: Array, geometry: Geometry) -> Array:
    """Return a convolution by XLA's library, which is shown what it is good at.

    That may be bands forward, and products for a gradient. Where those do not pay, gradients keep the native form: they
    need no second thread each, as they run beside each other; and XLA turns them into what its library takes only where
    no branch for a platform is around them.
    """
    usual = functools.partial(native, geometry=geometry)
    if not _bands_of(x, weight, geometry):
        return usual(x, weight)
    return on_cpu(functools.partial(_cut_into_bands, geometry=geometry), usual, x, weight)


def _gradients_by_products(x: Any, weight: Any, geometry: Geometry) -> bool:
    """Return whether a gradient is computed by products."""
    return products_pay(x, weight, geometry) or cells_pay(x, weight, geometry)


def _by_tangent(
    form: Callable[[Array, Array, Geometry], Array] | None, x: Array, weight: Array, geometry: Geometry
) -> Array:
    """Compute a convolution by a form whose transpose is fast, natively if that is None."""
    usual = functools.partial(native, geometry=geometry)
    if form is None:
        return usual(x, weight)
    # The platform is asked for within, so that a backward pass which is a program of its own asks for it itself.
    return recomputed(lambda *arrays: on_cpu(lambda x, weight: form(x, weight, geometry), usual, *arrays))(x, weight)


def _by_image(x: Array, weight: Array, geometry: Geometry) -> Array:
    """Compute a convolution such that its transpose with respect to `x` is fast."""
    return _by_tangent(by_cells if cells_pay(x, weight, geometry) else None, x, weight, geometry)


def _by_weight(x: Array, weight: Array, geometry: Geometry) -> Array:
    """Compute a convolution such that its transpose with respect to `weight` is fast."""
    form = by_products if products_pay(x, weight, geometry) else by_cells if of_patches(x, weight, geometry) else None
    return _by_tangent(form, x, weight, geometry)


def _cut_into_bands(x: Array, weight: Array, geometry: Geometry) -> Array:
    bands = _bands_of(x, weight, geometry)
    at, kernel = geometry.channel, geometry.spatial(weight.shape)
    reach = [d * (k - 1) + 1 for k, d in zip(kernel, geometry.dilate, strict=True)]
    high, wide = geometry.places(x.shape, kernel)
    (up, right), (down, across) = geometry.pad, geometry.stride
    rows = (high // bands - 1) * down + reach[0]
    x = jnp.moveaxis(x, at, -1)
    batch, tall, broad, channels = x.shape
    # An image and the margin behind it, which is also that in front of the next one.
    frame = max(wide, -(-max(broad + right, (wide - 1) * across + reach[1] - right) // across))
    bottom = (high - 1) * down + reach[0] - tall - up
    config = [(0, 0, 0), (up, bottom, 0), (right, frame * across - broad - right, 0), (0, 0, 0)]
    x = jnp.transpose(lax.pad(x, jnp.zeros((), x.dtype), config), (1, 0, 2, 3))
    starts = [i * (high // bands) * down for i in range(bands)]
    x = jnp.stack([lax.slice_in_dim(x, start, start + rows, 1, 0) for start in starts], 1)
    y = lax.conv_general_dilated(
        x.reshape(1, rows, -1, channels),
        jnp.moveaxis(weight, [0, at], [-1, -2]) if at == 1 else jnp.moveaxis(weight, 0, -1),
        window_strides=geometry.stride,
        padding=[(0, 0), (0, reach[1] - across)],
        rhs_dilation=geometry.dilate,
        dimension_numbers=("NHWC", "HWIO", "NHWC"),
    )
    y = y.reshape(high // bands, bands, batch, frame, -1)[:, :, :, :wide]
    y = jnp.transpose(y, (2, 1, 0, 3, 4)).reshape(batch, high, wide, -1)
    return jnp.moveaxis(y, -1, at)


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
    """One image for each place of the kernel, times that place's weights."""
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
    """One image for each place of the kernel, times that place's weights, added up."""
    return functools.reduce(jnp.add, _weighted(images, weight, geometry))


def _shifts_by_weight(x: Array, weight: Array, geometry: Geometry) -> Array:
    """Compute `_shifts` but for rounding, written such that its transpose with respect to `weight` is lean.

    The transpose with respect to a place's weights is a sum over the image times the result's gradient. If the image
    was shifted, XLA would make the shifted images as soon as the image is there, and keep all of them until the
    gradient comes. So here it is the weighted image that is cut; transposed, it is the gradient that is shifted. Where
    there is a stride, images of every phase of it are cut, which together are as large as the image.
    """
    kernel = geometry.spatial(weight.shape)
    axes = geometry.axes
    places = geometry.places(x.shape, kernel)
    lengths = [
        n + d * (k - 1) // s for n, k, d, s in zip(places, kernel, geometry.dilate, geometry.stride, strict=True)
    ]
    config = [(0, 0, 0)] * x.ndim
    for axis, length, stride, pad in zip(axes, lengths, geometry.stride, geometry.pad, strict=True):
        config[axis] = (pad, length * stride - x.shape[axis] - pad, 0)
    padded = lax.pad(wide(x), jnp.zeros((), wide(x).dtype), config)
    steps = [1] * x.ndim
    for axis, stride in zip(axes, geometry.stride, strict=True):
        steps[axis] = stride
    images, cuts = [], []
    for place in itertools.product(*map(range, kernel)):
        start, cut = [0] * x.ndim, [0] * x.ndim
        for axis, at, dilate in zip(axes, place, geometry.dilate, strict=True):
            cut[axis], start[axis] = divmod(at * dilate, steps[axis])
        images.append(lax.slice(padded, start, padded.shape, steps))
        cuts.append(cut)
    total: Array | None = None
    for part, cut in zip(_weighted(images, weight, geometry), cuts, strict=True):
        stop = list(part.shape)
        for axis, count in zip(axes, places, strict=True):
            stop[axis] = cut[axis] + count
        part = lax.slice(part, cut, stop)
        total = part if total is None else total + part
    assert total is not None, "a kernel has at least one place"
    return total


def shifts_of_tangent(x: Array, weight: Array, geometry: Geometry) -> Array:
    """Compute `_shifts` but for rounding, written such that its transpose with respect to `x` is fast.

    The transpose of a slice is a pad, and a sum of pads asks for the bounds at every element. So here each place's
    image is padded, and the sum is cut: transposed, that is one pad and a sum of slices, three to five times as fast.
    """
    kernel = geometry.spatial(weight.shape)
    axes = geometry.axes
    zero = jnp.zeros((), wide(x).dtype)
    images = []
    for place in itertools.product(*map(range, kernel)):
        config = [(0, 0, 0)] * x.ndim
        for axis, k, at, dilate in zip(axes, kernel, place, geometry.dilate, strict=True):
            config[axis] = ((k - 1 - at) * dilate, at * dilate, 0)
        images.append(lax.pad(wide(x), zero, config))
    total = _weighted_sum(images, weight, geometry)
    config, steps = [(0, 0, 0)] * x.ndim, [1] * x.ndim
    places = geometry.places(x.shape, kernel)
    for axis, k, dilate, stride, pad, count in zip(
        axes, kernel, geometry.dilate, geometry.stride, geometry.pad, places, strict=True
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
        total = total + _shifts_by_weight(x, dweight, geometry)
    return y, narrow(total, y.dtype)


FORMS: dict[str, Callable[[Array, Array, Geometry], Array]] = {
    "patches": _patches,
    "product": _product_of_images,
    "taps": _taps,
    "rows": _rows,
    "shifts": _shifts,
}


def recomputed(form: Callable[..., Array]) -> Callable[..., Array]:
    """Return the form, with nothing saved for the gradient but its inputs.

    A program that holds both directions finds the patches of the forward again, as nothing keeps XLA from seeing that
    they are the same.
    """
    return jax.checkpoint(form, prevent_cse=False)


def convolve(x: Array, weight: Array, geometry: Geometry) -> Array:
    """Return a convolution of arrays of one element type, without bias; shapes are the caller's to check."""
    form = form_of(x, weight, geometry)
    if native_only() or (form == "native" and not _gradients_by_products(x, weight, geometry)):
        return native(x, weight, geometry)
    if form in ("native", "bands"):
        return _by_library(x, weight, geometry)
    compute = recomputed(lambda x, weight: FORMS[form](x, weight, geometry))
    return on_cpu(compute, functools.partial(native, geometry=geometry), x, weight)
