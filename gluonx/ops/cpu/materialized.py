"""Arrays that a program on a CPU is made to store.

*Small results.* XLA computes an elementwise result of less than 16 KiB again in each loop that reads it, together with
the elementwise operations before it. In a chain that never ends in a matrix product, such as the sum that runs through
a net of residual blocks, a normalization reads its input for the mean, for the variance and for the result, so the n-th
of them computes all before it several times. The gradient of six encoder layers of 32 units compiled for 15 s instead
of 1.7, and a step took 4.8 ms instead of 1.3 (jax 0.10, two cores). From 16 KiB on XLA itself stores what several loops
read.

*Images less their mean.* A batch normalization reads the difference of an image and its mean for the variance, the
result and the gradients. XLA stores it for the sums, which fuse nothing, but all other loops compute it again from the
image, which has to be kept for that: a training step keeps both. XLA repeats an operation that reads one array of the
result's rank, not one that reads two, so `difference` has a second. The temporary arrays of a step of ResNet-50
(8x3x224x224) take 651 MB for 983, and it faults 161,000 pages for 242,000; `docs/design/convolution.md` has the times.
"""

from __future__ import annotations

import math
from typing import Any

import jax
import jax.numpy as jnp
from jax import Array, lax

from gluonx.dtype import WIDE, keeping_64_bits
from gluonx.ops.cpu.convolution import on_cpu, on_one_cpu

__all__ = ["difference", "is_recomputed", "materialized"]

_KEPT_BY_XLA = 1 << 14  # bytes


def materialized(x: Array) -> Array:
    """Return `x`; on a CPU as an array that is computed once, and so are its gradient and its tangent.

    Parameters
    ----------
    x : array
        Any shape. Numbers that are not floating point, arrays of 16 KiB and more, and those of unknown size are
        returned as they are.

    Examples
    --------
    >>> materialized(jnp.ones((2, 3))).shape
    (2, 3)
    """
    return on_cpu(_kept, lambda x: x, x) if is_recomputed(x) else x


def is_recomputed(x: Any) -> bool:
    """Return whether XLA may compute an array of this kind (or ``jax.ShapeDtypeStruct``) again where it is read.

    Examples
    --------
    >>> is_recomputed(jnp.ones((2, 3))), is_recomputed(jnp.ones((64, 64)))
    (True, False)
    """
    if not jnp.issubdtype(x.dtype, jnp.floating) or not all(isinstance(n, int) for n in x.shape):
        return False
    return 0 < math.prod(x.shape) * x.dtype.itemsize < _KEPT_BY_XLA


def _kept(x: Array) -> Array:
    # XLA fuses no loops across a branch. It must know neither which one is taken (the barrier goes before loops are
    # made, but after such choices are) nor that they are the same.
    with keeping_64_bits(x.dtype in WIDE):  # one array of a program may be wide where x64 is off
        return lax.cond(lax.optimization_barrier(jnp.bool_(False)), lambda x: x * 1, lambda x: x, x)


def difference(x: Array, mean: Array) -> Array:
    """Return ``x - mean``; for images in a program for one CPU as an array that is stored in place of `x`.

    Parameters
    ----------
    x : array
    mean : array
        With as many axes as `x`, those that are averaged with length 1.

    Examples
    --------
    >>> difference(jnp.ones((1, 2, 2, 1)), jnp.full((1, 1, 1, 1), 0.5)).ravel().tolist()
    [0.5, 0.5, 0.5, 0.5]
    """
    return on_one_cpu(_stored_difference, jnp.subtract, x, mean) if x.ndim == 4 else x - mean


@jax.custom_jvp
def _stored_difference(x: Array, mean: Array) -> Array:
    return jnp.where(x != x, x, x - mean)  # NaN remains NaN; the comparison is the second operand of full rank


@_stored_difference.defjvp
def _(primals: tuple[Array, Array], tangents: tuple[Array, Array]) -> tuple[Array, Array]:
    # Without the comparison, for which the backward would have to keep `x`.
    return _stored_difference(*primals), tangents[0] - tangents[1]
