"""Gradients of a convolution with a stride on a CPU, as matrix products over cells.

XLA computes the image's gradient as a convolution of the result's gradient with holes in it, which has a column for
each channel of the image: the three channels of a picture are too few for its library to be fast. Here the image is cut
into cells as large as the stride, so that a window is a few whole cells. One product of the result's gradient with the
weight has a column for each number of a window, and the products are added up to cells: 4 x 4 shifted arrays where the
kernel has 7 x 7 positions. The weight is filled up with zeros to whole cells: a kernel of 7 with stride 2 becomes one
of 8, so that algorithm is for kernels to which this adds little.

Where windows overlap, that is done for one image after the other, or for a few small ones, so that the products stay in
the cache. Where a window is one cell (the patches of a vision transformer, the stem and the reductions of a ConvNeXt),
all images are one product, and the weight's gradient is one as well.

Processor time of one core of an AVX-512 machine (jax 0.10; busy, smallest of several blocks in turns): XLA's algorithm,
this one, PyTorch, in ms.

- image's gradient: 4x3x224x224, 7x7 to 64, stride 2: 24, 11, 23; 16x3x64x64: 4.2, 3.2, 7.8; 8x3x224x224: 84, 43;
  4x3x224x224, 11x11 to 64, stride 4: 6.7, 4.8, 14; patches of 16x16 of 2x3x224x224 to 768: 51, 2.6, 20; patches of 2x2
  of 8x192x28x28 to 384: 5.2, 4.4, 13
- weight's gradient: patches of 16x16 of 16x3x224x224 to 768: 41, 23, 18; of 4x4 of 8x3x224x224 to 96: 5.7, 3.9, 2.0; of
  2x2 of 8x192x28x28 to 384: 13, 5.3, 5.3
- slower this way, so these keep XLA's algorithm: 3x3 with stride 2 (3 channels: 0.98 and 1.14), 7x7 to 128 filters (38
and 42)

The *weight's* gradient of one or two large images with a stride is a weight's gradient over cells without one, by the
products of `gluonx.ops.cpu.weight_gradient`: XLA's algorithm sees few images as few channels. The weight is filled up
in front as well, so that windows begin with a cell. Wall time of two cores of an AMD EPYC with AVX-512, as above:
1x32x416x416, 3x3 to 64: 46, 14, 8; 2x32x224x224 to 64: 16, 7.8, 4; 1x16x224x224, 5x5 to 32: 11, 2.7, 1.0; 1x64x208x208
to 128: 25, 14, 5.5; 2x64x104x104 to 128: 7.6, 5.9, 2.4; 1x128x104x104 to 256: 15, 10, 4.5. With more images it is level
(8x32x112x112 to 64: 6.4 and 7.0), and so it is with many channels (1x256x52x52 to 512: 8.5 and 7.9).

What is written is the transpose, which is linear in the *tangents*: see `gluonx.ops.cpu.weight_gradient`.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
from jax import Array, lax

from gluonx.ops.common import narrow, wide
from gluonx.ops.cpu.weight_gradient import FEW_IMAGES, by_products, largest, multiplications
from gluonx.ops.geometry import Geometry, known

if TYPE_CHECKING:
    import numpy


__all__ = ["by_cells", "by_products_of_cells", "cells_pay", "of_patches", "products_of_cells_pay"]

_STEP = 1 << 12  # positions of the images of one step
_LEAST = 1 << 26  # multiplications: less is not worth the compilation
_MOST_CHANNELS, _MOST_FILTERS = 8, 64  # with more, overlapping windows are too many numbers
_FILLED = 4 / 3  # a kernel of whole cells may be so many times as large
# For products over the cells of few images: their least size and channels, and positions for each of these
_LARGE_IMAGES, _LEAST_CHANNELS, _MANY_POSITIONS = 1 << 18, 8, 4


def _reach(kernel: Sequence[int], stride: Sequence[int]) -> list[int]:
    """Return the cells of a window along each axis."""
    return [-(-k // s) for k, s in zip(kernel, stride, strict=True)]


def _is_plain(x: jax.Array | numpy.ndarray, geometry: Geometry) -> bool:
    """Return whether a convolution has neither groups nor dilation, and real images of known size."""
    single = geometry.groups == 1 and set(geometry.dilate) == {1}
    return single and known(x.shape) and 0 not in x.shape and jnp.issubdtype(x.dtype, jnp.floating)


def _large(x: jax.Array | numpy.ndarray, weight: Any, geometry: Geometry) -> bool:
    """Return whether a convolution is a plain one, and much work."""
    return _is_plain(x, geometry) and multiplications(x, weight, geometry) >= _LEAST


def of_patches(x: Any, weight: Any, geometry: Geometry) -> bool:
    """Return whether windows lie beside each other, so that both gradients are to be computed by `by_cells`."""
    kernel = geometry.spatial(weight.shape)
    return kernel == geometry.stride and math.prod(kernel) > 1 and _large(x, weight, geometry)


def cells_pay(x: jax.Array | numpy.ndarray, weight: Any, geometry: Geometry) -> bool:
    """Return whether the image's gradient is to be computed by `by_cells`."""
    kernel, stride = geometry.spatial(weight.shape), geometry.stride
    filled = math.prod(_reach(kernel, stride)) * math.prod(stride)
    lean = all(1 < s < k for s, k in zip(stride, kernel, strict=True)) and filled <= _FILLED * math.prod(kernel)
    few = x.shape[geometry.channel] <= _MOST_CHANNELS and weight.shape[0] <= _MOST_FILTERS
    return of_patches(x, weight, geometry) or (lean and few and _large(x, weight, geometry))


def _cells(x: Array, pads: Sequence[tuple[int, int]], stride: Sequence[int]) -> Array:
    """Return padded images as cells, the numbers of each on the last axis."""
    x = lax.pad(x, jnp.zeros((), x.dtype), [(0, 0, 0), *((low, high, 0) for low, high in pads), (0, 0, 0)])
    batch, *size, channels = x.shape
    count, space = [n // s for n, s in zip(size, stride, strict=True)], len(stride)
    x = x.reshape(batch, *(n for pair in zip(count, stride, strict=True) for n in pair), channels)
    outer, inner = range(1, 2 * space, 2), range(2, 2 * space + 1, 2)
    return x.transpose(0, *outer, *inner, 2 * space + 1).reshape(batch, *count, -1)


def by_cells(x: Array, weight: Array, geometry: Geometry) -> Array:
    """Compute a convolution, written such that its transposes are products over cells."""
    at, dtype, stride = geometry.channel, x.dtype, geometry.stride
    kernel = geometry.spatial(weight.shape)
    positions, reach = geometry.positions(x.shape, kernel), _reach(kernel, stride)
    x, weight = jnp.moveaxis(x, at, -1), wide(jnp.moveaxis(weight, at, -1))
    batch, *size, channels = x.shape
    filling = [(0, r * s - k) for r, s, k in zip(reach, stride, kernel, strict=True)]
    matrix = _cells(weight, filling, stride).reshape(weight.shape[0], -1)
    lengths = [(m - 1 + r) * s for m, r, s in zip(positions, reach, stride, strict=True)]
    pads = [(p, length - n - p) for p, length, n in zip(geometry.pad, lengths, size, strict=True)]

    def of_images(images: Array) -> Array:
        cells, windows = _cells(wide(images), pads, stride), []
        for start in itertools.product(*map(range, reach)):
            ends = [i + m for i, m in zip(start, positions, strict=True)]
            windows.append(lax.slice(cells, (0, *start, 0), (len(cells), *ends, cells.shape[-1])))
        rows = jnp.concatenate(windows, -1).reshape(-1, matrix.shape[1])
        y = lax.dot_general(rows, matrix, (((1,), (1,)), ((), ())))
        return narrow(y.reshape(len(images), *positions, -1), dtype)

    if math.prod(reach) == 1:
        return jnp.moveaxis(of_images(x), -1, at)
    # Nothing but the images is kept of a step, as their windows would be as many images of the whole batch.
    compute = jax.checkpoint(of_images, prevent_cse=False)
    step = largest(batch, _STEP // math.prod(positions))
    _, y = lax.scan(lambda _, images: (None, compute(images)), None, x.reshape(-1, step, *size, channels))
    return jnp.moveaxis(y.reshape(batch, *positions, -1), -1, at)


def products_of_cells_pay(x: Any, weight: Any, geometry: Geometry) -> bool:
    """Return whether the weight's gradient is to be computed by `by_products_of_cells`."""
    kernel, stride = geometry.spatial(weight.shape), geometry.stride
    overlap = len(stride) == 2 and all(1 < s < k for s, k in zip(stride, kernel, strict=True))
    if not overlap or not _is_plain(x, geometry) or x.shape[0] > FEW_IMAGES or math.prod(x.shape) < _LARGE_IMAGES:
        return False
    channels, positions = x.shape[geometry.channel], math.prod(geometry.positions(x.shape, kernel))
    return channels >= _LEAST_CHANNELS and positions >= _MANY_POSITIONS * channels


def by_products_of_cells(x: Array, weight: Array, geometry: Geometry) -> Array:
    """Compute a convolution, written such that its transpose with respect to `weight` is products over cells."""
    at, stride, kernel = geometry.channel, geometry.stride, geometry.spatial(weight.shape)
    positions = geometry.positions(x.shape, kernel)
    x, weight = jnp.moveaxis(x, at, -1), jnp.moveaxis(weight, at, -1)
    low = [-(-p // s) for p, s in zip(geometry.pad, stride, strict=True)]  # cells of padding before the image
    front = [n * s - p for n, s, p in zip(low, stride, geometry.pad, strict=True)]
    reach = _reach([f + k for f, k in zip(front, kernel, strict=True)], stride)
    filling = [(f, r * s - k - f) for f, r, s, k in zip(front, reach, stride, kernel, strict=True)]
    pads = [(0, -n % s) for n, s in zip(x.shape[1:-1], stride, strict=True)]
    cells = Geometry("NHWC", (1, 1), (1, 1), tuple(low), 1)
    y = by_products(_cells(x, pads, stride), _cells(weight, filling, stride), cells, positions)
    return jnp.moveaxis(y, -1, at)
