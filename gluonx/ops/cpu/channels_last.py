"""Computing with the channels last inside of a program for a CPU.

XLA's convolutions on a CPU need the channels last. If data has them first, XLA transposes each image before a
convolution and back after it, in the forward and in both gradients. In a U-Net (2x3x128x128, jax 0.10) that took a
fifth of a training step's processor time: where a plane's size is a power of two, all channels of a position share the
same lines of the cache. Two transpositions that meet cancel out. So the operators between convolutions (batch
normalization, activations, pooling, the addition of a bias) are written here with a transposition before and one after,
and a chain of them is transposed only at either end.

An operator that takes several times as long if it is transposed alone is transposed only in programs of several.
Elementwise operations, joins and splits also occur far from convolutions, so :mod:`gluonx.ops.cpu.rewriting` looks at
what stands before them. Wall time of a training step with pooling, biases, joins and splits transposed, over without
(two cores, processes in turns): U-Net (2x3x128x128) 0.94, LeNet 0.97, DenseNet-121 (2x3x224x224) 0.98, ResNet-18 and
ResNet-50 1.00, ResNet-50's prediction 0.97.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jax import Array

from gluonx.ops.cpu.convolution import on_cpu, on_one_cpu

__all__ = ["channels_last"]


def channels_last(
    compute: Callable[..., Any], arrays: tuple[Array, ...], axis: int, *, within_programs: bool = False
) -> Any:
    """Return ``compute(*arrays, axis)``; on a CPU computed with the channels of two-dimensional images last.

    Parameters
    ----------
    compute : callable
        Takes the arrays and the axis of their channels; returns an array, or a tuple of arrays. Those of four axes are
        images with their channels on the same axis.
    arrays : tuple of arrays
        All with the same number of axes. They are transposed if they are floating point with four axes and `axis` is 1.
    axis : int
        The axis of the channels.
    within_programs : bool
        Whether they are transposed only in a program for one CPU (`on_one_cpu`), not where the operator runs alone.

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

    choose = on_one_cpu if within_programs else on_cpu
    return choose(turned, lambda *arrays: compute(*arrays, axis), *arrays)
