"""Windows of a convolution: its static numbers, and the views of an image for each tap."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import jax.numpy as jnp
from jax import Array, lax


class Geometry(NamedTuple):
    """The static numbers of a convolution; stride, dilation and padding have one for each spatial axis."""

    layout: str
    stride: tuple[int, ...]
    dilate: tuple[int, ...]
    pad: tuple[int, ...]
    groups: int

    @property
    def channel(self) -> int:
        """The axis of the channels, in the data and in the weight."""
        return self.layout.index("C")

    @property
    def axes(self) -> list[int]:
        """The spatial axes."""
        return spatial_axes(self.layout)

    def spatial(self, shape: Sequence[int]) -> tuple[int, ...]:
        """Return the sizes along the spatial axes, of the data or of the weight."""
        return tuple(n for i, n in enumerate(shape) if i not in (0, self.channel))

    def positions(self, shape: Sequence[int], kernel: Sequence[int]) -> tuple[int, ...]:
        """Return the spatial size of the result."""
        axes = zip(self.spatial(shape), kernel, self.stride, self.dilate, self.pad, strict=True)
        return tuple((n + 2 * p - d * (k - 1) - 1) // s + 1 for n, k, s, d, p in axes)


def spatial_axes(layout: str) -> list[int]:
    """Return the axes of a layout such as NCHW that are neither batch nor channels."""
    return [i for i, c in enumerate(layout) if c not in "NC"]


def weight_layout(layout: str) -> str:
    """Return the layout of the weight of data in `layout`, with the letters of ``jax.lax``."""
    return layout.replace("C", "I").replace("N", "O")


def known(shape: Sequence[Any]) -> bool:
    """Return whether all dimensions are numbers, and none is symbolic as in an export."""
    return all(isinstance(n, int) for n in shape)


def patches_size(shape: Sequence[int], geometry: Geometry, positions: Sequence[int], taps: int) -> int:
    """Return the elements of an array of all patches."""
    return shape[0] * shape[geometry.channel] * math.prod(positions) * taps


def windows(x: Array, kernel: Sequence[int], geometry: Geometry, filling: int = 0) -> list[Array]:
    """Return the padded image as each tap of the kernel sees it: arrays of the result's size, row by row."""
    axes, positions = geometry.axes, geometry.positions(x.shape, kernel)
    config = [(0, 0, 0)] * x.ndim
    for axis, pad in zip(axes, geometry.pad, strict=True):
        config[axis] = (pad, pad, 0)
    x = lax.pad(x, jnp.full((), filling, x.dtype), config)
    found = []
    for position in itertools.product(*map(range, kernel)):
        start, stop, step = [0] * x.ndim, list(x.shape), [1] * x.ndim
        for axis, at, dilate, stride, count in zip(
            axes, position, geometry.dilate, geometry.stride, positions, strict=True
        ):
            start[axis], step[axis] = at * dilate, stride
            stop[axis] = start[axis] + (count - 1) * stride + 1
        found.append(lax.slice(x, start, stop, step))
    return found
