"""The weight's gradient of a convolution on a CPU, as matrix products over positions.

XLA computes it as a convolution whose kernel is the result's gradient, as large as the image. Its libraries see the
images as channels, and are slow where there are few: of either those or the filters. Milliseconds on two cores of an
Intel Xeon (jax 0.10.2), 3x3 without a stride, as (images, height = width, channels, filters): YNNPACK, Eigen (see
`gluonx.ops.cpu.compiler`), and products as they are here:

====================  ======  ======  ======   ====================  ======  ======  ======
1, 128, 32, 32                  28.2     6.1   4, 56, 128, 128         94.8    34.8    29.2
2, 128, 32, 32          27.2    22.5    10.6   4, 64, 64, 64                   22.8    19.2
2, 64, 64, 64           17.0    14.0     9.9   4, 14, 256, 256                  8.1     8.5
2, 128, 64, 32          48.8    50.2    17.3   8, 28, 128, 128                 14.3    16.8
2, 28, 128, 128                  7.0     4.6   8, 14, 256, 256         20.4    13.9    15.8
1, 224, 64, 16         121.1   115.7    20.0   16, 56, 64, 64         144.8    54.9    52.2
2, 112, 16, 16           7.6     7.4     4.7   16, 28, 128, 128        71.6    24.5    29.2
====================  ======  ======  ======   ====================  ======  ======  ======

So one or two images are computed by products. More are where the images' channels fill the library's registers, which
gains where YNNPACK would compute them: on one core, and in programs that are not gluonx's own. With Eigen it is level.

Here the taps are split in two: the image is shifted to each *column* of the kernel and the result's gradient to each
*row*, and for each column one product over all positions makes a column of the weight's gradient. So with a 3x3 kernel
three shifted images and three gradients are written instead of nine, and the products are three times as large. The
rows of the gradient that are shifted out are zeros, so nothing is computed twice. The gradient is transposed while it
is shifted, because XLA's library needs the positions last in the left operand. All of this is done in a loop over bands
of an image, or over a few small images, which stay in the cache; no array of the size of the whole batch is made.

The code writes the transpose of this, which is linear in the weight's *tangent*: forward mode and derivatives of any
order work, and autodiff derives the above from it, step by step. `lax.split` is used where a sum of padded arrays must
be avoided, because its transpose is a concatenation.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
from jax import Array, lax

from gluonx.ops.common import narrow, wide
from gluonx.ops.geometry import Geometry, known

__all__ = ["FEW_IMAGES", "by_products", "largest", "multiplications", "products_pay"]

_BAND = 4096  # positions of a band: its shifted images and gradients fit into the caches of one core
_FEW_POSITIONS = 1024  # images are joined up to so many positions
_FEW_FILTERS = 16  # XLA's algorithm has a column for each filter, and takes two to ten times as long with so few
FEW_IMAGES = 2
# Least channels and multiplications: with few filters, with few images, and with more of both
_FEW, _LONE, _MANY = (16, 1 << 25), (16, 1 << 26), (64, 1 << 29)


def multiplications(x: Any, weight: Any, geometry: Geometry) -> int:
    """Return how many multiplications a convolution takes."""
    return x.shape[0] * math.prod(geometry.positions(x.shape, geometry.spatial(weight.shape))) * math.prod(weight.shape)


def products_pay(x: Any, weight: Any, geometry: Geometry) -> bool:
    """Return whether to compute the weight's gradient by products.

    The loop takes some tenths of a second longer to compile, so it is used if a step gains a millisecond.
    """
    if geometry.stride != (1, 1) or geometry.groups > 1 or not known(x.shape) or 0 in x.shape:
        return False
    if math.prod(geometry.spatial(weight.shape)) == 1 or not jnp.issubdtype(x.dtype, jnp.floating):
        return False
    channels, filters = x.shape[geometry.channel], weight.shape[0]
    few, lone = filters <= _FEW_FILTERS, x.shape[0] <= FEW_IMAGES
    least_channels, least_work = _FEW if few else _LONE if lone else _MANY
    fits = few or lone or channels <= filters  # more channels than filters gained alone, and lost in a net
    return fits and channels >= least_channels and multiplications(x, weight, geometry) >= least_work


def largest(n: int, most: int) -> int:
    """Return the largest divisor of `n` that is not above `most`; 1 at least."""
    return max(d for d in range(1, n + 1) if d == 1 or (d <= most and n % d == 0))


def _band(batch: int, high: int, long: int, margins: tuple[int, int], same: bool) -> tuple[int, int]:
    """Return how many images, and how many rows of each, make a band; all rows if they cannot be divided evenly."""
    if high * long <= _BAND:
        return largest(batch, _FEW_POSITIONS // (high * long)), high
    rows = largest(high, _BAND // long)
    return 1, rows if same and min(margins) >= 0 and max(margins) <= rows else high


def _padded(x: Array, axis: int, low: int, high: int) -> Array:
    """Return the array with zeros before and behind along one axis, or cut there."""
    config = [(low, high, 0) if axis in (i, i - x.ndim) else (0, 0, 0) for i in range(x.ndim)]
    return lax.pad(x, jnp.zeros((), x.dtype), config)


def by_products(x: Array, weight: Array, geometry: Geometry, positions: Sequence[int] | None = None) -> Array:
    """Return a convolution written so that its transpose with respect to `weight` is the products.

    Where an image is not padded equally at both ends, `geometry` has the padding before it, and `positions` is the size
    of the result.
    """
    at, (down, across), dtype = geometry.channel, geometry.dilate, x.dtype
    (tall, broad), (up, right) = geometry.spatial(weight.shape), geometry.pad
    high, long = positions or geometry.positions(x.shape, (tall, broad))
    x, weight = jnp.moveaxis(x, at, -1), wide(jnp.moveaxis(weight, at, -1))
    batch, rows, columns, channels = x.shape
    filters, reach = weight.shape[0], (tall - 1) * down
    above = reach - up  # rows of the result above an image that the image's rows reach
    below = rows + up - high  # and below it
    images, band = _band(batch, rows, long, (above, below), high == rows)
    # An axis of length one would cost a copy of everything.
    space = (images, band, long) if images > 1 else (band, long)
    # (column of the kernel, row of it and filter, channel)
    matrices = jnp.transpose(weight, (2, 1, 0, 3)).reshape(broad, tall * filters, channels)

    def of_band(image: Array) -> list[Array]:
        products = []
        for i, matrix in enumerate(lax.split(matrices, [1] * broad)):
            shift = right - i * across
            shifted = _padded(wide(image), -2, shift, long - columns - shift).reshape(-1, channels)
            products.append(lax.dot_general(matrix[0], shifted, (((1,), (1,)), ((), ()))))
        parts = lax.split(sum(products[1:], products[0]).reshape(-1, *space), [filters] * tall)
        parts = [_padded(part, -2, reach - i * down, i * down) for i, part in enumerate(parts)]
        y = sum(parts[1:], parts[0])
        if band == rows:
            found = [_padded(y, -2, -above, -below)]
        else:
            found = lax.split(y, [above, band, below], y.ndim - 2)
        return [narrow(jnp.moveaxis(y, 0, -1), dtype) for y in found]

    # Only the image of a band is saved: its shifted copies would take that many images of the whole batch.
    compute = jax.checkpoint(of_band, prevent_cse=False)
    steps = x.reshape(-1, *space[:-1], columns, channels)
    _, found = lax.scan(lambda _, image: (None, compute(image)), None, steps)
    y = found[len(found) // 2]
    if band < rows:
        first, y, last = (y.reshape(batch, rows // band, n, long, filters) for y, n in zip(found, (above, band, below)))
        first = _padded(_padded(first[:, 1:], 1, 0, 1), 2, band - above, 0)
        y = y + first + _padded(_padded(last[:, :-1], 1, 1, 0), 2, 0, band - below)
    return jnp.moveaxis(y.reshape(batch, high, long, filters), -1, at)
