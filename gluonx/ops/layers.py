"""Operators for one layer each, so that the layer is one node of the graph instead of several."""

from __future__ import annotations

import math
from collections.abc import Sequence

import jax
from jax import Array

from gluonx.errors import ShapeError
from gluonx.ops.registry import SAME, register


@register(moving=("beta",), channels_last="each", shape=SAME, gives="float")
def swish(x: Array, *, beta: float = 1.0) -> Array:
    """``x * sigmoid(beta * x)``.

    Parameters
    ----------
    beta
        How sharp the gate is.

    Examples
    --------
    >>> from gluonx import np, npx
    >>> npx.swish(np.array([-1.0, 0.0, 2.0])).tolist()
    [-0.2689, 0.0, 1.762]
    """
    return x * jax.nn.sigmoid(beta * x)


@register(
    shape="(n, c / product of f, f1 w1, f2 w2, ...)",
    stands_for="`stablehlo.reshape`, `transpose`",
    gives="input",
)
def pixel_shuffle(x: Array, *, factors: Sequence[int]) -> Array:
    """Move channels into space: ``(N, C * f1 * f2 ..., W1, W2 ...)`` becomes ``(N, C, W1 * f1, W2 * f2, ...)``.

    Parameters
    ----------
    factors
        The factor of each spatial axis.

    Examples
    --------
    >>> from gluonx import np, npx
    >>> npx.pixel_shuffle(np.ones((1, 8, 3, 3)), factors=(2, 2)).shape
    (1, 2, 6, 6)
    """
    n = len(factors)
    batch, channels, *space = x.shape
    if len(space) != n or channels % math.prod(factors):
        raise ShapeError(
            f"pixel_shuffle by {tuple(factors)} needs an input of {n + 2} axes whose second is a multiple of "
            f"{math.prod(factors)}, not {x.shape}."
        )
    x = x.reshape(batch, channels // math.prod(factors), *factors, *space)
    order = [axis for i in range(n) for axis in (2 + n + i, 2 + i)]
    x = x.transpose(0, 1, *order)
    return x.reshape(*x.shape[:2], *[s * f for s, f in zip(space, factors)])
