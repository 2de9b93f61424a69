"""Samplers: the order in which a DataLoader visits a dataset.

A sampler is an iterable with a length. It yields indices, and a batch sampler yields lists of them; it never touches
the data. All randomness comes from ``gluonx.random.host_rng()``, so ``gluonx.random.seed(n)`` repeats every shuffle,
with any number of workers. In a program of MXNet (`gluonx.compat`) NumPy's global generator shuffles, as there, so
``numpy.random.seed(n)`` gives MXNet's order.
"""

from __future__ import annotations

import bisect
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as onp

from gluonx.ops.prng import host_rng, shuffling_rng

__all__ = [
    "BatchSampler",
    "FilterSampler",
    "IntervalSampler",
    "LengthSampler",
    "RandomSampler",
    "Sampler",
    "SequentialSampler",
]

_LAST_BATCH = ("keep", "discard", "rollover")


class Sampler:
    """Interface of all samplers: subclasses have ``__iter__`` and ``__len__``.

    Examples
    --------
    >>> class Backwards(Sampler):
    ...     def __init__(self, length):
    ...         self.length = length
    ...
    ...     def __iter__(self):
    ...         return iter(range(self.length - 1, -1, -1))
    ...
    ...     def __len__(self):
    ...         return self.length
    >>> list(BatchSampler(Backwards(5), 2))
    [[4, 3], [2, 1], [0]]
    """

    def __iter__(self) -> Iterator[Any]:
        raise NotImplementedError(f"{type(self).__name__} must define __iter__")

    def __len__(self) -> int:
        raise NotImplementedError(f"{type(self).__name__} must define __len__")


class SequentialSampler(Sampler):
    """The indices ``start, start + 1, ..., start + length - 1``.

    Parameters
    ----------
    length : int
        How many indices.
    start : int, default 0
        The first one.

    Examples
    --------
    >>> list(SequentialSampler(3, start=2))
    [2, 3, 4]
    """

    def __init__(self, length: int, start: int = 0) -> None:
        self._range = range(start, start + _count(length, "length", least=0))

    def __iter__(self) -> Iterator[int]:
        return iter(self._range)

    def __len__(self) -> int:
        return len(self._range)


class RandomSampler(Sampler):
    """The indices below `length` in an order sampled for each pass, without replacement.

    Parameters
    ----------
    length : int
        How many indices.

    Examples
    --------
    >>> sorted(RandomSampler(4))
    [0, 1, 2, 3]
    """

    def __init__(self, length: int) -> None:
        self._length = _count(length, "length", least=0)

    def __iter__(self) -> Iterator[int]:
        order = onp.arange(self._length)
        shuffling_rng().shuffle(order)
        return iter(order.tolist())

    def __len__(self) -> int:
        return self._length


class FilterSampler(Sampler):
    """The indices of the samples for which `fn` is true, in order; decided once, at construction.

    Parameters
    ----------
    fn : callable
        Takes one sample.
    dataset : Dataset or sequence
        What is looked at.

    Examples
    --------
    >>> list(FilterSampler(lambda x: x > 5, [3, 6, 9]))
    [1, 2]
    """

    def __init__(self, fn: Callable[[Any], Any], dataset: Any) -> None:
        self._indices = [i for i in range(len(dataset)) if fn(dataset[i])]

    def __iter__(self) -> Iterator[int]:
        return iter(self._indices)

    def __len__(self) -> int:
        return len(self._indices)


class IntervalSampler(Sampler):
    """Every `interval`-th index; with `rollover` it starts again at 1, 2, ... until all were visited.

    Parameters
    ----------
    length : int
        The indices are below this.
    interval : int
        The step, at most `length`.
    rollover : bool, default True
        Whether the indices that were stepped over follow.

    Examples
    --------
    >>> list(IntervalSampler(7, 3)), list(IntervalSampler(7, 3, rollover=False))
    ([0, 3, 6, 1, 4, 2, 5], [0, 3, 6])
    """

    def __init__(self, length: int, interval: int, rollover: bool = True) -> None:
        self._length = _count(length, "length", least=0)
        self._interval = _count(interval, "interval", least=1)
        if self._interval > self._length:
            raise ValueError(f"interval must be at most length, got interval {interval} and length {length}")
        self._rollover = rollover

    def __iter__(self) -> Iterator[int]:
        for start in range(self._interval if self._rollover else 1):
            yield from range(start, self._length, self._interval)

    def __len__(self) -> int:
        # MXNet reports `length` here even without rollover; the true count keeps len(loader) right.
        return self._length if self._rollover else len(range(0, self._length, self._interval))


class BatchSampler(Sampler):
    """Lists of `batch_size` indices of another sampler.

    Parameters
    ----------
    sampler : Sampler or iterable with a length
        Where the indices come from.
    batch_size : int
        How many make a batch.
    last_batch : {'keep', 'discard', 'rollover'}, default 'keep'
        What becomes of indices that do not fill the last batch: a smaller batch, nothing, or the start of the next
        pass.

    Raises
    ------
    ValueError
        When `batch_size` is below 1 or `last_batch` is another word.

    Examples
    --------
    >>> list(BatchSampler(SequentialSampler(5), 2, "keep")), list(BatchSampler(SequentialSampler(5), 2, "discard"))
    ([[0, 1], [2, 3], [4]], [[0, 1], [2, 3]])
    """

    def __init__(self, sampler: Sampler | Sequence[Any], batch_size: int, last_batch: str = "keep") -> None:
        if last_batch not in _LAST_BATCH:
            raise ValueError(f"last_batch must be one of 'keep', 'discard' or 'rollover', got {last_batch!r}")
        self._sampler = sampler
        self._batch_size = _count(batch_size, "batch_size", least=1)
        self._last_batch = last_batch
        self._left: list[Any] = []  # what the last pass rolled over
        self._taken: list[Any] = []  # what this pass, or the last, began with

    def __iter__(self) -> Iterator[list[Any]]:
        batch, self._left = self._left, []
        self._taken = list(batch)
        for index in self._sampler:
            batch.append(index)
            if len(batch) == self._batch_size:
                yield batch
                batch = []
        if batch and self._last_batch == "keep":
            yield batch
        elif batch and self._last_batch == "rollover":
            self._left = batch

    def state_dict(self, within_pass: bool = False) -> dict[str, list[Any]]:
        """Return the indices rolled over: to the next pass, or to this one, for it to begin again."""
        left = self._taken if within_pass else self._left
        return {"left": [index.__index__() if hasattr(index, "__index__") else index for index in left]}

    def load_state_dict(self, state: Mapping[str, Sequence[Any]]) -> None:
        """Begin the next pass with what `state_dict` gave."""
        self._left = list(state["left"])

    def __len__(self) -> int:
        total = len(self._left) + len(self._sampler)
        return -(-total // self._batch_size) if self._last_batch == "keep" else total // self._batch_size


class LengthSampler(Sampler):
    """Batches of samples of similar lengths, for a DataLoader's ``batch_sampler``: little of a batch is padding.

    Each sample belongs to the smallest size that holds it. Batches are of one size, in a random order; the last one of
    each size may be smaller.

    Parameters
    ----------
    lengths : sequence of int
        Of all samples.
    batch_size : int
        How many make a batch.
    sizes : sequence of int
        The sizes that batches are padded to, as of ``batchify.PadToBucket``.
    shuffle : bool, default True
        Whether samples and batches change places with each pass.

    Raises
    ------
    ValueError
        When a sample is longer than all sizes, or `batch_size` is below 1.

    Examples
    --------
    >>> list(LengthSampler([3, 9, 2, 8, 4], 2, sizes=[4, 16], shuffle=False))
    [[0, 2], [4], [1, 3]]
    """

    def __init__(self, lengths: Sequence[int], batch_size: int, sizes: Sequence[int], shuffle: bool = True) -> None:
        self._batch_size, self._shuffle = _count(batch_size, "batch_size", least=1), shuffle
        bounds = sorted(sizes)
        groups: list[list[int]] = [[] for _ in bounds]
        for i, length in enumerate(lengths):
            place = bisect.bisect_left(bounds, length)
            if place == len(bounds):
                raise ValueError(
                    f"sample {i} has the length {length}, and the largest size is {max(bounds, default=0)}"
                )
            groups[place].append(i)
        self._groups = [group for group in groups if group]

    def __iter__(self) -> Iterator[list[int]]:
        order = host_rng().permutation if self._shuffle else range
        batches = []
        for group in self._groups:
            taken = [group[i] for i in order(len(group))]
            batches += [taken[i : i + self._batch_size] for i in range(0, len(taken), self._batch_size)]
        for i in order(len(batches)):
            yield batches[i]

    def __len__(self) -> int:
        return sum(-(-len(group) // self._batch_size) for group in self._groups)


def _count(value: int, name: str, least: int) -> int:
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise TypeError(f"{name} must be an integer, got {value!r}")
    number = value.__index__()
    if number < least:
        raise ValueError(f"{name} must be at least {least}, got {number}")
    return number
