"""Images with their channels last, inside, on a CPU.

XLA's convolutions on a CPU want the channels last. Where data has them first, XLA turns each image round in front of a
convolution and back behind it, forward and again for both gradients. Seen on a U-Net (2x3x128x128, jax 0.10) that was
a fifth of a training step's processor time: where a plane's size is a power of two, all channels of a place fall into
the same lines of the cache. Two turns that meet cancel out. So what stands between convolutions (batch normalization,
activations) is written here with a turn in front and one behind, and such a chain is turned once at either end.

Maximum pooling and the joining of channels stay as they are: turned they won one percent of that step, and took up to
5 and 15 times as long where they stood alone.
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
    """``compute(*arrays, axis)``; on a CPU with the channels of two-dimensional images last.

    Parameters
    ----------
    compute : callable
        Takes the arrays and the axis of their channels; returns an array, or a tuple of arrays. Those of four axes are
        images with their channels on the same axis.
    arrays : tuple of arrays
        Of the same number of axes. They are turned if they are floating point, have four, and `axis` is 1.

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
