"""The numbers of a step (rates, decays, counts and the scale of gradients) as one vector.

Every array that a program takes costs microseconds, so these numbers are one vector (:func:`pack`). From step to step
the counts grow by one and usually nothing else changes. So the program of a step also returns the vector of the next
one (:func:`advanced`), and numbers are sent only if they changed otherwise: an array from the host takes a third of the
time of a small step, because the program has to wait for it. A Trainer keeps the vector in a :class:`StepVector`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import jax
import numpy as np
from jax.sharding import NamedSharding

from gluonx.common.frames import telling
from gluonx.deferred.values.core import aval_of, intern_aval, new_handle
from gluonx.dtype import on_device

if TYPE_CHECKING:
    from gluonx.np.handle import ndarray


class Hyper(NamedTuple):
    """The numbers of one step: each a scalar, or (except ``rescale``) a vector with one entry per parameter."""

    lr: Any
    wd: Any
    t: Any
    rescale: Any


def pack(
    lr: Sequence[float], wd: Sequence[float], t: Sequence[int], rescale: float, uniform: bool, decays: bool = True
) -> np.ndarray:
    """Put the numbers of a step into one float32 vector.

    Parameters
    ----------
    lr, wd, t
        One entry per parameter; with ``uniform`` only the first entry of each is read.
    rescale
        Factor of every gradient.
    uniform
        Whether all parameters share ``lr``, ``wd`` and ``t``.
    decays
        Whether there is any weight decay. Without it the update need not read the weights.

    Returns
    -------
    numpy.ndarray
        ``[rescale, t, lr, wd]`` if uniform, else ``[rescale, *t, *lr, *wd]``; float32; without ``wd`` if there is no
        decay. A count beyond 2**24 is rounded; bias corrections are 1 by then.

    Examples
    --------
    >>> pack([0.5], [0.0], [3], 0.25, True).tolist()
    [0.25, 3.0, 0.5, 0.0]
    """
    if not decays:
        wd = ()
    with telling():
        if uniform:
            return np.array((rescale, t[0], lr[0], *wd[:1]), np.float32)
        return np.array((rescale, *t, *lr, *wd), np.float32)


class Rates(NamedTuple):
    """The numbers of a step that usually stay the same, as `pack` takes them."""

    lr: list[float]
    wd: list[float]
    rescale: float
    uniform: bool
    decays: bool


class StepNumbers(NamedTuple):
    """The numbers of a step on the host: the counts, which advance, and the rates."""

    t: list[int]
    rates: Rates

    def vector(self) -> np.ndarray:
        """Return the vector of `pack`."""
        lr, wd, rescale, uniform, decays = self.rates
        return pack(lr, wd, self.t, rescale, uniform, decays)

    def follows(self, before: StepNumbers) -> bool:
        """Return whether these are the numbers after the step `before`, with counts higher by one; see `advanced`."""
        t, rates = self
        return rates == before.rates and t == [count + 1 for count in before.t] and max(t) < _EXACT


_EXACT = 1 << 24  # beyond, float32 has no odd numbers


def unpack(vector: jax.Array | np.ndarray, count: int) -> Hyper:
    """Unpack the vector of `pack` for ``count`` parameters; works on arrays and on tracers.

    Raises
    ------
    ValueError
        If the length fits neither layout.
    """
    size = vector.shape[0]
    if size in (3, 4):
        return Hyper(rescale=vector[0], t=vector[1], lr=vector[2], wd=vector[3] if size == 4 else 0.0)
    if size not in (1 + 2 * count, 1 + 3 * count):
        raise ValueError(
            f"The step vector of {count} parameters has 3, 4, {1 + 2 * count} or {1 + 3 * count} entries "
            f"(see gluonx.optimizer.numbers.pack), but this one has {size}."
        )
    t, lr, wd = (vector[1 + k * count : 1 + (k + 1) * count] for k in range(3))
    return Hyper(rescale=vector[0], t=t, lr=lr, wd=wd if wd.shape[0] else 0.0)


def moved_back(vector: jax.Array, count: int, steps: jax.Array) -> jax.Array:
    """Return the step vector of ``count`` parameters of ``steps`` updates ago, whose counts are lower by that."""
    return vector - _counts(vector, count) * steps.astype(vector.dtype)


def advanced(vector: jax.Array, count: int) -> jax.Array:
    """Return the next step's vector for ``count`` parameters, if only the counts change."""
    return vector + _counts(vector, count)


def _counts(vector: jax.Array, count: int) -> np.ndarray:
    """Return 1 for each element of a step vector that is a count, else 0."""
    size = vector.shape[0]
    end = 2 if size in (3, 4) else 1 + count
    return np.array([1 <= i < end for i in range(size)], vector.dtype)


class StepVector:
    """A Trainer's step vector; ``handle`` is the operator's input and receives its output."""

    __slots__ = ("coming", "done", "handle", "place")

    def __init__(self) -> None:
        self.place: Any = None  # the sharding of the vector if the weights are on a mesh
        self.handle = new_handle(np.zeros(0, np.float32))
        self.coming: StepNumbers | None = None
        self.done: StepNumbers | None = None

    def move(self, place: object) -> None:
        """Set the sharding of the vector to `place`, that of the weights; a vector with another one is made again."""
        if place != self.place:
            self.place, self.done = place, None

    def renewed(self, numbers: StepNumbers) -> ndarray:
        """Return the handle with these numbers in it."""
        if self.done is None or not numbers.follows(self.done):
            self.done = None  # the handle's contents are unknown until the step has ended
            vector, handle = numbers.vector(), self.handle
            spread = isinstance(self.place, NamedSharding)
            value: Any = on_device(vector, self.place) if spread else vector
            handle.value, handle.tape = value, None
            handle.aval = aval_of(value) if spread else intern_aval(vector.shape, vector.dtype)
        self.coming = numbers
        return self.handle

    def stepped(self) -> None:
        """Note that the step was made: the handle has the next vector."""
        self.done = self.coming
