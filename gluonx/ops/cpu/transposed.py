"""Transposed convolutions (deconvolutions), and the algorithm of one on a CPU.

A deconvolution maps an array of the shape of a convolution's result to the shape of its image. XLA has no such
operation: it is written as a convolution of an image with zeros in between. Its derivative by the weight is another
such convolution, with a kernel as large as the image: 30 to 80 times as slow as the weight gradient of the convolution.
So here it is computed as *the transpose of a convolution* in all directions. Algorithms, chosen by static shapes:

- **Transpose**: XLA's own convolution with zeros in between, but differentiated as a transpose: the gradient of the
  data is the convolution, and that of the weight is the convolution's (see `_with_roles_changed`). It uses only native
  operations, so every platform takes it.
- **Blocks**, if windows do not overlap (as with a kernel of 2 and stride 2, or a single position): one matrix product,
  whose columns are rearranged to positions.
- **Phases**, if the image has few positions and the weight is large: one matrix product with the weight as it lies in
  memory, and for each phase of the stride the sum of the products that reach it (4 of 16, for a 4x4 kernel with stride
  2). For a convolution XLA would transpose the weight, and its gradient back in every loop that updates with it. The
  gradients are matrix products with patches, written in two dimensions, because XLA then keeps the weight's order.
- **Joined** groups, as for a convolution: a few deconvolutions without groups.
- With few positions and groups, and for kernels with one tap: the transposes of the algorithms in
  `gluonx.ops.cpu.convolution`.

The plain transpose of patches is a sum of padded patches. XLA repeats it in each following operator that reads it
(batch normalization reads its input four times): 20 ms where the product takes 3.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array, lax

from gluonx.ops.common import narrow
from gluonx.ops.cpu.convolution import (
    ALGORITHMS,
    FEW_POSITIONS,
    LARGEST,
    MOST_TAPS,
    algorithm_of,
    native,
    native_only,
    of_tangents,
    on_cpu,
    recomputed,
    shifts_of_tangent,
    with_joined_groups,
)
from gluonx.ops.geometry import Geometry, known, patches_size, weight_layout, windows

__all__ = ["deconvolve", "transposed_algorithm_of"]

Shape = tuple[int, ...]

_MOST_PADDING = 4  # phases pad the products, by at most this factor


def transposed_algorithm_of(x: jax.Array, weight: jax.Array, geometry: Geometry, out_shape: Sequence[int]) -> str:
    """Return the algorithm of a deconvolution on a CPU.

    Parameters
    ----------
    x, weight : array or jax.ShapeDtypeStruct
    geometry : Geometry
        Of the convolution that takes `out_shape` to the shape of `x`.
    out_shape : tuple of int

    Returns
    -------
    str
        'transpose', 'blocks', 'phases', one of the algorithms of a convolution, or 'native' if sizes are not known.

    Examples
    --------
    >>> def tell(x, weight, out, stride=(2, 2), pad=(1, 1)):
    ...     return transposed_algorithm_of(jnp.ones(x), jnp.ones(weight), Geometry("NCHW", stride, (1, 1), pad, 1), out)
    >>> tell((1, 8, 9, 9), (8, 4, 4, 4), (1, 4, 18, 18)), tell((1, 8, 4, 4), (8, 4, 4, 4), (1, 4, 8, 8))
    ('transpose', 'phases')
    >>> tell((1, 8, 9, 9), (8, 4, 2, 2), (1, 4, 18, 18), pad=(0, 0))
    'blocks'
    """
    kernel = geometry.spatial(weight.shape)
    taps = math.prod(kernel)
    if not known([*x.shape, *out_shape]) or geometry.positions(out_shape, kernel) != geometry.spatial(x.shape):
        return "native"
    if 0 in x.shape or not jnp.issubdtype(x.dtype, jnp.floating):
        return "native"
    algorithm = algorithm_of(jax.ShapeDtypeStruct(tuple(out_shape), x.dtype), weight, geometry)
    positions = geometry.spatial(x.shape)
    fits = taps <= MOST_TAPS and patches_size(out_shape, geometry, positions, taps) <= LARGEST
    if algorithm == "joined":
        return algorithm
    if geometry.groups > 1 or taps == 1:
        return "patches" if algorithm == "native" and fits and taps > 1 else algorithm
    apart = all(m == 1 or k == s for m, k, s in zip(positions, kernel, geometry.stride, strict=True))
    if fits and apart and not any(geometry.pad) and set(geometry.dilate) == {1}:
        return "blocks"
    if algorithm == "patches" or (fits and math.prod(positions) <= FEW_POSITIONS):
        reaches = _reaches(geometry, kernel, positions, out_shape)
        padded = math.prod(m + r.low + r.high for m, r in zip(positions, reaches, strict=True))
        return "phases" if padded <= _MOST_PADDING * math.prod(positions) else "patches"
    return "transpose"


def deconvolve(
    x: Array, weight: Array, geometry: Geometry, out_shape: Sequence[int], usual: Callable[[Array, Array], Array]
) -> Array:
    """Return the transpose of a convolution, from its result's shape to `out_shape`.

    Parameters
    ----------
    x, weight : array
        Of one element type; the caller checks their shapes.
    geometry : Geometry
        Of the convolution.
    out_shape : tuple of int
    usual : callable
        The usual computation, from `x` and `weight`.
    """
    algorithm, out_shape = transposed_algorithm_of(x, weight, geometry, out_shape), tuple(out_shape)
    if algorithm == "native" or native_only():
        return usual(x, weight)
    if algorithm == "transpose":
        # Without `platform_dependent`: where a backward pass is a program of its own, the platform's number is an input
        # of it, and XLA comes to what that chooses too late to give the convolutions in it to its library.
        return _transpose(x, weight, geometry, out_shape)
    compute = recomputed(lambda x, weight: _of_algorithm(algorithm, x, weight, geometry, out_shape))
    return on_cpu(compute, usual, x, weight)


def _of_algorithm(algorithm: str, x: Array, weight: Array, geometry: Geometry, out_shape: Shape) -> Array:
    if algorithm == "blocks":
        return _blocks(x, weight, geometry, out_shape)
    if algorithm == "phases":
        return _phases(x, weight, geometry, out_shape)
    if algorithm == "joined":
        return with_joined_groups(functools.partial(_dense, out_shape=out_shape), x, weight, geometry)
    compute = shifts_of_tangent if algorithm == "shifts" else ALGORITHMS[algorithm]
    return _transposed(lambda image: narrow(compute(image, weight, geometry), x.dtype), x, out_shape)


def _dense(x: Array, weight: Array, geometry: Geometry, out_shape: Shape) -> Array:
    """Return a deconvolution without groups, of some of the channels of `x`."""
    at = geometry.channel
    own = (*out_shape[:at], weight.shape[at], *out_shape[at + 1 :])
    return deconvolve(x, weight, geometry, own, lambda x, weight: _transpose(x, weight, geometry, own))


def _transposed(linear: Callable[[Array], Array], x: Array, out_shape: Shape) -> Array:
    """Return the transpose of a linear function of an image of `out_shape`, at `x`."""
    return jax.linear_transpose(linear, jax.ShapeDtypeStruct(out_shape, x.dtype))(x)[0]


@functools.partial(jax.custom_jvp, nondiff_argnums=(2, 3))
def _transpose(x: Array, weight: Array, geometry: Geometry, out_shape: Shape) -> Array:
    return _transposed(lambda image: native(image, weight, geometry), x, out_shape)


def _with_roles_changed(x: Array, weight: Array, geometry: Geometry, out_shape: Shape) -> Array:
    """Return `_transpose`, up to rounding, written so that its transpose with respect to `weight` is fast.

    The weight is used as the image, with channels as batch, and the data as the kernel. The transpose is a convolution
    of the result's gradient with the data as a kernel with holes, like the weight gradient of any strided convolution.
    """
    layout, axes = geometry.layout, geometry.axes
    sizes = zip(*map(geometry.spatial, (out_shape, weight.shape, x.shape)), *geometry[1:4], strict=True)
    padding = [(s * (m - 1) - p, n - d * (k - 1) - 1 + p) for n, k, m, s, d, p in sizes]
    changed = layout.translate(str.maketrans("NC", "CN"))
    return lax.conv_general_dilated(
        weight,
        jnp.flip(x, axes),
        window_strides=(1,) * len(axes),
        padding=padding,
        lhs_dilation=geometry.dilate,
        rhs_dilation=geometry.stride,
        dimension_numbers=(changed, weight_layout(layout), changed),
    )


@functools.partial(_transpose.defjvp, symbolic_zeros=True)
def _(geometry: Geometry, out_shape: Shape, primals: tuple[Array, Array], tangents: tuple[Any, Any]) -> Any:
    x, weight = primals
    y = _transpose(x, weight, geometry, out_shape)

    def by_x(dx: Array) -> Array:
        return _transpose(dx, weight, geometry, out_shape)

    return y, of_tangents(y, tangents, by_x, lambda dw: _with_roles_changed(x, dw, geometry, out_shape))


def _matrix_product(a: Array, b: Array, over: tuple[int, int]) -> Array:
    """Return the product of two matrices, over one axis of each."""
    dims = ((over[:1], over[1:]), ((), ()))
    return narrow(lax.dot_general(a, b, dims, preferred_element_type=jnp.promote_types(a.dtype, jnp.float32)), a.dtype)


def _products(x: Array, weight: Array, geometry: Geometry) -> Array:
    """Return every position times every tap: (batch, positions..., and then the weight's axes after its first)."""
    rows = jnp.moveaxis(x, geometry.channel, -1).reshape(-1, weight.shape[0])
    y = _matrix_product(rows, weight.reshape(weight.shape[0], -1), (1, 0))
    return y.reshape(x.shape[0], *geometry.spatial(x.shape), *weight.shape[1:])


def _side_by_side(
    image: Array, positions: Sequence[int], inner: Sequence[int], geometry: Geometry, out_shape: Shape
) -> Array:
    """Return neighbours side by side, and the whole cut or padded with zeros to `out_shape`.

    `positions` and `inner` are the axes of `image` that together make a spatial axis: its outer and its inner part.
    """
    together = [axis for pair in zip(positions, inner, strict=True) for axis in pair]
    (channel,) = set(range(1, image.ndim)) - set(together)
    order = [0, channel, *together] if geometry.channel == 1 else [0, *together, channel]
    sizes = iter([image.shape[p] * image.shape[i] for p, i in zip(positions, inner, strict=True)])
    shape = [n if axis in (0, geometry.channel) else next(sizes) for axis, n in enumerate(out_shape)]
    image = image.transpose(order).reshape(shape)
    return lax.pad(image, jnp.zeros((), image.dtype), [(0, n - m, 0) for n, m in zip(out_shape, shape, strict=True)])


def _first_tap(geometry: Geometry) -> int:
    """Return the axis of `_products`' result at which the kernel's axes start."""
    return len(geometry.stride) + (2 if geometry.channel == 1 else 1)


def _blocks(x: Array, weight: Array, geometry: Geometry, out_shape: Shape) -> Array:
    space, first_tap = len(geometry.stride), _first_tap(geometry)
    products, inner = _products(x, weight, geometry), range(first_tap, first_tap + space)
    return _side_by_side(products, range(1, space + 1), inner, geometry, out_shape)


class _Reach(NamedTuple):
    """For one axis: the inputs of each phase of the stride, how many results it has, and the padding that all need.

    A result takes pairs of a tap and a start: from the position `start` padded positions behind its own number.
    """

    phases: list[list[tuple[int, int]]]
    count: int
    low: int
    high: int


def _reaches(geometry: Geometry, kernel: Shape, positions: Shape, out_shape: Sequence[int]) -> list[_Reach]:
    found = []
    sizes = zip(geometry.spatial(out_shape), kernel, positions, *geometry[1:4], strict=True)
    for n, k, m, s, d, p in sizes:
        phases = [[(i, (e + p - d * i) // s) for i in range(k) if (e + p - d * i) % s == 0] for e in range(s)]
        shifts = [shift for phase in phases for _, shift in phase]
        count, low = -(-n // s), max(0, -min(shifts))
        high = max(0, max(shifts) + count - m)
        found.append(_Reach([[(i, shift + low) for i, shift in phase] for phase in phases], count, low, high))
    return found


def _sum_of_products(geometry: Geometry, kernel: Shape, products: Array, out_shape: Shape) -> Array:
    """Sum `_products` to the image: each phase is a sum of slices, and the phases are interleaved."""
    space, first_tap = len(kernel), _first_tap(geometry)
    reaches = _reaches(geometry, kernel, products.shape[1 : space + 1], out_shape)
    config = [(0, 0, 0)] * products.ndim
    config[1 : space + 1] = [(r.low, r.high, 0) for r in reaches]
    products = lax.pad(products, jnp.zeros((), products.dtype), config)
    counts = [r.count for r in reaches]
    sums = []
    for phase in itertools.product(*(r.phases for r in reaches)):
        parts = []
        for taps in itertools.product(*phase):
            start, stop = [0] * products.ndim, list(products.shape)
            for axis, ((tap, at), count) in enumerate(zip(taps, counts, strict=True)):
                start[1 + axis], stop[1 + axis] = at, at + count
                start[first_tap + axis], stop[first_tap + axis] = tap, tap + 1
            part = lax.slice(products, start, stop)
            parts.append(lax.squeeze(part, tuple(range(first_tap, first_tap + space))))
        nothing = jnp.zeros((products.shape[0], *counts, out_shape[geometry.channel]), products.dtype)
        sums.append(sum(parts[1:], parts[0]) if parts else nothing)
    image = jnp.stack(sums, 1).reshape(products.shape[0], *geometry.stride, *sums[0].shape[1:])
    return _side_by_side(image, range(space + 1, 2 * space + 1), range(1, space + 1), geometry, out_shape)


@functools.partial(jax.custom_jvp, nondiff_argnums=(2, 3))
def _phases(x: Array, weight: Array, geometry: Geometry, out_shape: Shape) -> Array:
    return _sum_of_products(geometry, geometry.spatial(weight.shape), _products(x, weight, geometry), out_shape)


def _convolution(image: Array, weight: Array, geometry: Geometry) -> Array:
    """Return the convolution as a product of the weight, as it lies in memory, and patches."""
    kernel = geometry.spatial(weight.shape)
    positions, views = geometry.positions(image.shape, kernel), windows(image, kernel, geometry)
    batch, filters = image.shape[0], weight.shape[0]
    matrix = weight.reshape(filters, -1)
    if geometry.channel == 1:
        patches = jnp.stack([jnp.swapaxes(view, 0, 1) for view in views], 1)
        y = _matrix_product(matrix, patches.reshape(matrix.shape[1], -1), (1, 0))
        return jnp.swapaxes(y.reshape(filters, batch, *positions), 0, 1)
    patches = jnp.stack(views, -2).reshape(-1, matrix.shape[1])
    return _matrix_product(patches, matrix, (1, 1)).reshape(batch, *positions, filters)


@functools.partial(_phases.defjvp, symbolic_zeros=True)
def _(geometry: Geometry, out_shape: Shape, primals: tuple[Array, Array], tangents: tuple[Any, Any]) -> Any:
    # The tangent is the transpose of the computation wanted for the gradient, which is the tangent's own transpose.
    x, weight = primals
    y = _phases(x, weight, geometry, out_shape)

    def by_x(dx: Array) -> Array:
        return _transposed(lambda image: _convolution(image, weight, geometry), dx, out_shape)

    def by_weight(dweight: Array) -> Array:
        return _transposed(lambda image: _convolution(image, dweight, geometry), x, out_shape)

    return y, of_tangents(y, tangents, by_x, by_weight)
