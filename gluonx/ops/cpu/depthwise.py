"""The gradient of a depthwise convolution's weight on a CPU, as one loop over rows.

The gradient is a sum over all positions for each tap of the kernel. As one reduction for each tap the image and the
result's gradient are read nine times, and XLA (jax 0.10) reduces small images slowly. Here one loop over the rows of
all results carries the sums of all taps, with the channels side by side.

Processor time of one core of an AVX-512 machine (busy, smallest of several blocks in turns), 3x3, channels last: a
reduction for each tap, and this, in ms.

- 16x32x32x96 with stride 2: 1.05, 0.48; 16x16x16x144: 1.28, 0.46; 16x8x8x192: 0.49, 0.20; 16x2x2x960: 0.38, 0.09
- slower this way, so these keep the reductions: 2x112x112x32: 1.36, 2.51; 2x56x56x96: 1.05, 1.19; 8x28x28x192: 2.32,
2.62. The
  nine sums read a row again from a larger cache.
- one sum for each column of the kernel compiles faster and took two to three times as long: 1.55, 0.60 and 0.23 for the
  second to the fourth.

What is written is the transpose, which is linear in the weight's *tangent*: see `gluonx.ops.cpu.weight_gradient`.
"""

from __future__ import annotations

import functools
import itertools
import math
from typing import Any

import jax
import jax.numpy as jnp
from jax import Array, lax

from gluonx.ops.common import narrow, wide
from gluonx.ops.geometry import Geometry

__all__ = ["by_rows", "rows_pay"]

_LONGEST = 16  # columns of a row of the result
_MOST_SUMS = 9  # taps of the kernel: the loop carries a sum for each


def rows_pay(x: Any, weight: Any, geometry: Geometry) -> bool:
    """Return whether to compute the weight's gradient by `by_rows`."""
    kernel = geometry.spatial(weight.shape)
    if geometry.layout != "NHWC" or weight.shape[0] != geometry.groups or not 1 < math.prod(kernel) <= _MOST_SUMS:
        return False
    return geometry.positions(x.shape, kernel)[1] <= _LONGEST


def by_rows(x: Array, weight: Array, geometry: Geometry) -> Array:
    """Return a depthwise convolution written so that its transpose with respect to `weight` is a loop over rows."""
    kernel, dtype = geometry.spatial(weight.shape), x.dtype
    (tall, broad), (down, across), (below, right) = kernel, geometry.stride, geometry.dilate
    positions = high, long = geometry.positions(x.shape, kernel)
    batch, *size, channels = x.shape
    reached = [
        (m - 1) * s + d * (k - 1) + 1
        for m, s, d, k in zip(positions, geometry.stride, geometry.dilate, kernel, strict=True)
    ]
    pads = [(p, length - n - p, 0) for p, length, n in zip(geometry.pad, reached, size, strict=True)]
    padded = lax.pad(x, jnp.zeros((), dtype), [(0, 0, 0), *pads, (0, 0, 0)])
    taps = [tap.reshape(channels) for tap in lax.split(wide(weight).reshape(channels, -1), [1] * (tall * broad), 1)]

    def of_row(number: Array) -> Array:
        shape = (1, below * (tall - 1) + 1, reached[1], channels)
        start = (number // high, number % high * down, jnp.zeros_like(number), jnp.zeros_like(number))
        rows = wide(lax.dynamic_slice(padded, start, shape))[0]
        parts = []
        for (i, j), tap in zip(itertools.product(range(tall), range(broad)), taps, strict=True):
            stop = (j * right + (long - 1) * across + 1, channels)
            parts.append(lax.slice(rows[i * below], (j * right, 0), stop, (across, 1)) * tap)
        return narrow(functools.reduce(jnp.add, parts), dtype)

    # Only the image is kept of a step, as its shifted rows would be as many images as the kernel has taps.
    compute = jax.checkpoint(of_row, prevent_cse=False)
    _, y = lax.scan(lambda _, number: (None, compute(number)), None, jnp.arange(batch * high, dtype=jnp.int32))
    return y.reshape(batch, high, long, channels)
