"""Computing with the channels last inside of a program for a CPU.

XLA's convolutions on a CPU need the channels last. If data has them first, XLA transposes each image before a
convolution and back after it, in the forward and in both gradients. In a U-Net (2x3x128x128, jax 0.10) that took a
fifth of a training step's processor time: where a plane's size is a power of two, all channels of a position share the
same lines of the cache. Two transpositions that meet cancel out. So the operators between convolutions (batch
normalization, activations) are written here with a transposition before and one after, and a chain of them is
transposed only at either end.

Maximum pooling and the joining of channels stay as they are: transposed they gained one percent of that step, and took
up to 5 and 15 times as long alone.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jax import Array

from gluonx.ops.cpu.convolution import on_cpu

__all__ = ["channels_last"]


def channels_last(compute: Callable[..., Any], arrays: tuple[Array, ...], axis: int) -> Any:
    """Return ``compute(*arrays, axis)``; on a CPU computed with the channels of two-dimensional images last.

    Parameters
    ----------
    compute : callable
        Takes the arrays and the axis of their channels; returns an array, or a tuple of arrays. Those of four axes are
        images with their channels on the same axis.
    arrays : tuple of arrays
        All with the same number of axes. They are transposed if they are floating point with four axes and `axis` is 1.

    Examples
    --------
    >>> channels_last(lambda x, axis: x - x.mean(axis, keepdims=True), (jnp.ones((1, 2, 3, 3)),), 1).shape
    (1, 2, 3, 3)
    """
    first = arrays[0]
    if axis != 1 or first.ndim != 4 or not jnp.issubdtype(first.dtype, jnp.floating):
        return compute(*arrays, axis)

    def turned(*arrays: Array) -> Any:
        results = compute(*(jnp.moveaxis(a, 1, -1) for a in arrays), 3)
        return jax.tree.map(lambda y: jnp.moveaxis(y, -1, 1) if y.ndim == 4 else y, results)

    return on_cpu(turned, lambda *arrays: compute(*arrays, axis), *arrays)
