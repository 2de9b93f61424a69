"""The numbers of a step: rates, decays, counts and the scale of gradients, as one vector.

Every array that crosses the border of a program costs microseconds, so they travel as one (:func:`pack`). From step to
step the counts grow by one and mostly nothing else changes. So the program of a step gives the vector of the next one
too (:func:`advanced`), and only numbers that did not follow are sent: an array from the host costs a small step a third
of its time, because its program has to wait for it. :class:`StepVector` is where a Trainer has it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import jax
import numpy as np
from jax.sharding import NamedSharding

from gluonx.common.frames import telling
from gluonx.deferred.core import aval_of, intern_aval, new_handle
from gluonx.dtype import on_device


class Hyper(NamedTuple):
    """The numbers of one step: each a scalar, or (but for ``rescale``) a vector with one entry per parameter."""

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
        Whether there is weight decay at all. Without, the update does not have to read the weights for it.

    Returns
    -------
    numpy.ndarray
        ``[rescale, t, lr, wd]`` if uniform, else ``[rescale, *t, *lr, *wd]``; float32; without ``wd`` where nothing
        decays. A count beyond 2**24 is rounded, by when bias corrections have long been 1.

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
    """The numbers of a step that mostly stay from one to the next, as `pack` takes them."""

    lr: list[float]
    wd: list[float]
    rescale: float
    uniform: bool
    decays: bool


class StepNumbers(NamedTuple):
    """The numbers of a step on the host: the counts, which move on, and the rates."""

    t: list[int]
    rates: Rates

    def vector(self) -> np.ndarray:
        """Return the vector of `pack`."""
        lr, wd, rescale, uniform, decays = self.rates
        return pack(lr, wd, self.t, rescale, uniform, decays)

    def follows(self, before: StepNumbers) -> bool:
        """Return whether nothing but the counts differs from the step `before`, and these by one: see `advanced`."""
        t, rates = self
        t_before, rates_before = before
        return rates == rates_before and t == list(map(_one_more, t_before)) and max(t) < _EXACT


_one_more = (1).__add__
_EXACT = 1 << 24  # float32 has no odd numbers beyond


def unpack(vector: Any, count: int) -> Hyper:
    """Unpack what `pack` made for ``count`` parameters; works on arrays and on tracers.

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
    """Return the step vector of ``count`` parameters as it was ``steps`` updates ago: its counts are lower by that."""
    return vector - _counts(vector, count) * steps.astype(vector.dtype)


def advanced(vector: jax.Array, count: int) -> jax.Array:
    """Give the step vector of ``count`` parameters for the step that comes next, if nothing but the counts changes."""
    return vector + _counts(vector, count)


def _counts(vector: Any, count: int) -> np.ndarray:
    """1 where a step vector of ``count`` parameters has a count, else 0."""
    size = vector.shape[0]
    end = 2 if size in (3, 4) else 1 + count
    return np.array([1 <= i < end for i in range(size)], vector.dtype)


class StepVector:
    """A Trainer's step vector; ``handle`` is what goes into the operator and takes what comes out."""

    __slots__ = ("coming", "done", "handle", "place")

    def __init__(self) -> None:
        self.place: Any = None  # the sharding that it comes out with where the weights are on a mesh
        self.handle = new_handle(np.zeros(0, np.float32))
        self.coming: StepNumbers | None = None
        self.done: StepNumbers | None = None

    def move(self, place: Any) -> None:
        """Have the next vector lie with weights that lie at `place`; one that came out elsewhere is made again."""
        if place != self.place:
            self.place, self.done = place, None

    def renewed(self, numbers: StepNumbers) -> Any:
        """Return the handle with these numbers in it."""
        if self.done is None or not numbers.follows(self.done):
            self.done = None  # until a step has come to its end, nobody knows what is in the handle
            vector, handle = numbers.vector(), self.handle
            if isinstance(self.place, NamedSharding):
                vector = on_device(vector, self.place)
                handle.value, handle.aval, handle.tape = vector, aval_of(vector), None
            else:
                handle.value, handle.aval, handle.tape = vector, intern_aval(vector.shape, vector.dtype), None
        self.coming = numbers
        return self.handle

    def stepped(self) -> None:
        """Note that the step was made: the handle has the next vector."""
        self.done = self.coming
