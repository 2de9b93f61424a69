"""Batchify functions: how a list of samples becomes a batch.

Called directly, each takes the list and returns gluonx arrays. A DataLoader calls their ``host_batch`` instead, which
does the same in NumPy alone and so can run in any thread or process. Any other function of the list of samples will do
as well; what it returns is the batch.
"""

from __future__ import annotations

import bisect
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from gluonx.data._host import as_host, device_batch, host_array, is_batchable, run_batchify
from gluonx.data._wire import empty
from gluonx.errors import ArgumentError, ShapeError
from gluonx.ops.prng import host_rng

if TYPE_CHECKING:
    from gluonx.dtype import DTypeLike


__all__ = ["Append", "AsList", "CutMix", "Group", "MixUp", "Pad", "PadToBucket", "Stack", "bucket_of"]


class _Batchify:
    """Base: subclasses define ``host_batch``, which gives NumPy arrays marked for the device."""

    def __call__(self, data: Sequence[Any]) -> Any:
        return device_batch(self.host_batch(data))

    def host_batch(self, data: Sequence[Any]) -> Any:
        """Make the batch on the host, of NumPy arrays marked for the device."""
        raise NotImplementedError(f"{type(self).__name__} must define host_batch")

    def __repr__(self) -> str:
        settings = ", ".join(f"{name.lstrip('_')}={value!r}" for name, value in vars(self).items())
        return f"{type(self).__name__}({settings})"


class Stack(_Batchify):
    """Samples of one shape, stacked along a new first axis. What a DataLoader does unless told otherwise.

    Samples that are tuples or lists give a list with one batch for each of their elements; dicts a dict of batches.

    Parameters
    ----------
    use_shared_mem : bool
        Accepted for MXNet's sake: batches of worker processes always cross by shared memory.

    Raises
    ------
    ValueError
        When shapes, or numbers of elements, differ between samples.
    TypeError
        When samples are neither numbers nor arrays of numbers.

    Examples
    --------
    >>> Stack().host_batch([(1.0, 2), (3.0, 4)])[1].array
    array([2, 4])
    """

    def __init__(self, use_shared_mem: bool = False) -> None:
        pass

    def host_batch(self, data: Sequence[Any]) -> Any:  # noqa: D102 (the interface says it)
        first = _first(data, "Stack")
        if isinstance(first, (tuple, list)):
            return [self.host_batch(column) for column in _columns(data, len(first))]
        if isinstance(first, dict):
            return {key: self.host_batch([sample[key] for sample in data]) for key in first}
        return host_array(_stack([as_host(sample) for sample in data]))


class Pad(_Batchify):
    """Samples of different lengths, filled up to the longest along every axis, then stacked.

    A sample is an array or a (nested) list of numbers, all with the same number of axes.

    Parameters
    ----------
    val : number, optional
        What to fill with, 0 unless given.
    dtype : dtype, optional
        Of the batch; unless given, the one that holds all samples.
    round_to : int, optional
        Fill up to the next multiple of this instead: fewer different batch shapes mean fewer programs to compile.
    use_shared_mem : bool
        Accepted for MXNet's sake, without effect.

    Raises
    ------
    TypeError
        When samples are numbers or tuples of several things; see :class:`Group`.
    ValueError
        When samples have different numbers of axes.

    Examples
    --------
    >>> Pad(val=-1).host_batch([[1, 2, 3], [4]]).array
    array([[ 1,  2,  3],
           [ 4, -1, -1]])
    """

    def __init__(
        self,
        val: float | None = None,
        dtype: DTypeLike = None,
        round_to: int | None = None,
        use_shared_mem: bool = False,
    ) -> None:
        if round_to is not None and round_to < 1:
            raise ValueError(f"round_to must be at least 1, got {round_to}")
        self._val = 0 if val is None else val
        self._dtype = dtype
        self._round_to = round_to

    def host_batch(self, data: Sequence[Any]) -> Any:  # noqa: D102 (the interface says it)
        first = as_host(_first(data, "Pad"))
        if not isinstance(first, (np.ndarray, list)):
            raise TypeError(
                f"Pad takes samples that are arrays or lists of numbers, got a {type(first).__name__}; "
                "for samples of several elements use Group(Pad(), Stack(), ...)"
            )
        arrays = [_numbers(as_host(sample)) for sample in data]
        ranks = {array.ndim for array in arrays}
        if len(ranks) > 1:
            raise ValueError(f"Pad needs samples with one number of axes, got {sorted(ranks)}")
        # An empty list says nothing about the dtype: NumPy would call it float64.
        typed = [array for array in arrays if array.size] or arrays
        dtype = np.result_type(*typed) if self._dtype is None else np.dtype(self._dtype)
        batch = np.full((len(arrays), *self._room(arrays)), self._val, dtype)
        for row, array in zip(batch, arrays, strict=True):
            row[tuple(slice(size) for size in array.shape)] = array
        return host_array(batch)

    def _room(self, arrays: list[np.ndarray]) -> tuple[int, ...]:
        longest = (max(sizes) for sizes in zip(*(array.shape for array in arrays), strict=True))
        step = self._round_to or 1
        return tuple(-(-size // step) * step for size in longest)


def bucket_of(size: int, sizes: Sequence[int]) -> int:
    """Return the smallest of `sizes` that is at least `size`.

    Raises
    ------
    ShapeError
        If there is none.

    Examples
    --------
    >>> bucket_of(5, [4, 8, 16])
    8
    """
    ordered = sorted(sizes)
    place = bisect.bisect_left(ordered, size)
    if place == len(ordered):
        raise ShapeError(
            f"a size of {size} fits into none of the buckets {ordered}: add a larger one, or cut the sample"
        )
    return ordered[place]


def bucket_sizes(sizes: Mapping[int, Sequence[int] | int]) -> dict[int, tuple[int, ...]]:
    """Return the sizes that each axis may have, checked."""
    found: dict[int, tuple[int, ...]] = {}
    for axis, some in sizes.items():
        several = (some,) if isinstance(some, int) else tuple(some)
        if axis < 0 or not several or any(not isinstance(n, int) or n < 1 for n in several):
            raise ArgumentError(
                "sizes tells for each axis (0 or more) the sizes that it may have (1 or more), as in {1: [16, 32]}; "
                f"got {dict(sizes)!r}"
            )
        found[axis] = several
    if not found:
        raise ArgumentError("sizes names no axis; {1: [16, 32]} has two sizes for the second one")
    return found


class PadToBucket(_Batchify):
    """Samples padded to the smallest bucket that holds all of a batch, and a mask of what is theirs.

    Parameters
    ----------
    sizes : dict of int to list of int
        For axes of a sample, the sizes that they may have: ``{0: [16, 32, 64]}`` of sequences,
        ``{0: [224, 448], 1: [224, 448]}`` of images (H, W, C). Other axes have one size.
    val : number
        What fills the rest.
    dtype : dtype, optional
        That of the samples by default.

    Returns
    -------
    list of two arrays
        The batch, and a boolean mask of its first axes, to the last that is padded: (batch, time) of sequences.

    Raises
    ------
    ShapeError
        If a sample fits into no bucket.

    Examples
    --------
    >>> batch, mask = PadToBucket({0: [4, 8]})([[1, 2, 3], [4]])
    >>> batch.shape, mask.sum(axis=1).tolist()
    ((2, 4), [3, 1])
    """

    def __init__(self, sizes: Mapping[int, Sequence[int]], val: float = 0, dtype: DTypeLike = None) -> None:
        self._sizes, self._val, self._dtype = bucket_sizes(sizes), val, dtype

    def host_batch(self, data: Sequence[Any]) -> Any:  # noqa: D102 (the interface says it)
        arrays = [np.asarray(as_host(sample)) for sample in data]
        if len({array.ndim for array in arrays}) != 1 or max(self._sizes) >= arrays[0].ndim:
            ranks = sorted({array.ndim for array in arrays})
            raise ShapeError(f"PadToBucket needs samples of one number of axes, above {max(self._sizes)}; got {ranks}")
        shape = [max(sizes) for sizes in zip(*(array.shape for array in arrays), strict=True)]
        for axis, sizes in self._sizes.items():
            shape[axis] = bucket_of(shape[axis], sizes)
        typed = [array for array in arrays if array.size] or arrays
        batch = np.full((len(arrays), *shape), self._val, self._dtype or np.result_type(*typed))
        mask = np.zeros(batch.shape[: max(self._sizes) + 2], bool)
        for row, kept, array in zip(batch, mask, arrays, strict=True):
            row[tuple(slice(n) for n in array.shape)] = array
            kept[tuple(slice(n) for n in array.shape[: kept.ndim])] = True
        return [host_array(batch), host_array(mask)]


class Append(_Batchify):
    """Samples of any shapes as a list of arrays, one for each.

    Parameters
    ----------
    expand : bool, default True
        Whether each gets a batch axis of size 1.
    batch_axis : int, default 0
        Where.
    use_shared_mem : bool
        Accepted for MXNet's sake, without effect.

    Examples
    --------
    >>> [a.array.shape for a in Append().host_batch([np.ones(2), np.ones((3, 4))])]
    [(1, 2), (1, 3, 4)]
    """

    def __init__(self, expand: bool = True, batch_axis: int = 0, use_shared_mem: bool = False) -> None:
        self._expand = expand
        self._batch_axis = batch_axis

    def host_batch(self, data: Sequence[Any]) -> Any:  # noqa: D102 (the interface says it)
        arrays = [_numbers(as_host(sample)).copy() for sample in data]
        if self._expand:
            arrays = [np.expand_dims(array, self._batch_axis) for array in arrays]
        return [host_array(array) for array in arrays]


class Group(_Batchify):
    """One batchify function for each element of a sample: ``Group(Stack(), Pad())`` or ``Group([Stack(), Pad()])``.

    Raises
    ------
    TypeError
        When one of them cannot be called.
    ValueError
        When a sample does not have as many elements as there are functions.

    Examples
    --------
    >>> Group(Stack(), AsList()).host_batch([(1, "a"), (2, "b")])[1]
    ['a', 'b']
    """

    def __init__(
        self,
        fn: Callable[[Any], Any] | list[Callable[[Any], Any]] | tuple[Callable[[Any], Any], ...],
        *args: Callable[[Any], Any],
    ) -> None:
        if isinstance(fn, (list, tuple)):
            if args:
                raise TypeError("Group takes either one list of functions or the functions themselves, got both")
            self._fns = tuple(fn)
        else:
            self._fns = (fn, *args)
        for place, one in enumerate(self._fns):
            if not callable(one):
                raise TypeError(f"Group takes functions, got {one!r} at place {place}")

    def host_batch(self, data: Sequence[Any]) -> tuple[Any, ...]:  # noqa: D102 (the interface says it)
        columns = _columns(data, len(self._fns))
        return tuple(run_batchify(fn, column) for fn, column in zip(self._fns, columns, strict=True))


class AsList(_Batchify):
    """The samples as a list, untouched: for strings and other things that are no numbers.

    Examples
    --------
    >>> AsList()(("a", "b"))
    ['a', 'b']
    """

    def host_batch(self, data: Sequence[Any]) -> Any:  # noqa: D102 (the interface says it)
        return list(data)


class _Mixing(_Batchify):
    """The base: samples are images and classes; each image is mixed with another one, and labels are shares."""

    def __init__(self, classes: int, alpha: float) -> None:
        if classes < 1 or not alpha > 0:
            who = type(self).__name__
            raise ArgumentError(f"{who}: classes must be at least 1 and alpha above 0; got {classes} and {alpha}.")
        self._classes, self._alpha = classes, alpha

    def host_batch(self, data: Sequence[Any]) -> Any:
        images, labels = (as_host(part) for part in run_batchify(Stack(), data))
        if labels.ndim != 1 or labels.min() < 0 or labels.max() >= self._classes or (labels % 1).any():
            raise ArgumentError(
                f"{type(self).__name__} takes samples of an image and the number of its class, below {self._classes}; "
                f"got labels of shape {labels.shape}, from {labels.min()} to {labels.max()}."
            )
        rng = host_rng()
        other, share = rng.permutation(len(images)), float(rng.beta(self._alpha, self._alpha))
        images, share = self._mixed(images, images[other], share, rng)
        whole = np.eye(self._classes, dtype=np.float32)[labels.astype(np.int64)]
        return [host_array(images), host_array(np.float32(share) * whole + np.float32(1 - share) * whole[other])]

    def _mixed(self, images: np.ndarray, others: np.ndarray, share: float, rng: Any) -> tuple[np.ndarray, float]:
        raise NotImplementedError


class MixUp(_Mixing):
    """Each image of a batch as the mean of two, with weights that are drawn; labels are the shares of the classes.

    "mixup: Beyond Empirical Risk Minimization", https://arxiv.org/abs/1710.09412. The loss takes labels that are
    distributions: ``SoftmaxCrossEntropyLoss(sparse_label=False)``.

    Parameters
    ----------
    classes : int
        How many there are.
    alpha : float
        Of the Beta distribution of the weights.

    Examples
    --------
    >>> images, labels = MixUp(3)([(np.zeros((1, 2, 2), "float32"), 0), (np.ones((1, 2, 2), "float32"), 2)])
    >>> images.shape, labels.shape
    ((2, 1, 2, 2), (2, 3))
    """

    def __init__(self, classes: int, alpha: float = 0.2) -> None:
        super().__init__(classes, alpha)

    def _mixed(self, images: np.ndarray, others: np.ndarray, share: float, rng: Any) -> tuple[np.ndarray, float]:
        kind = images.dtype if images.dtype.kind == "f" else np.dtype(np.float32)
        return (share * images.astype(kind) + (1 - share) * others.astype(kind)).astype(kind), share


class CutMix(_Mixing):
    """Each image of a batch with a rectangle of another one; labels are the shares of the classes by area.

    "CutMix", https://arxiv.org/abs/1905.04899. The loss takes labels that are distributions, as after `MixUp`.

    Parameters
    ----------
    classes : int
        How many there are.
    alpha : float
        Of the Beta distribution of the areas.
    axes : tuple of int
        Height and width of a batch: (2, 3) after ``ToTensor``, (1, 2) for images with channels last.

    Examples
    --------
    >>> images, labels = CutMix(3)([(np.zeros((1, 8, 8), "float32"), 0), (np.ones((1, 8, 8), "float32"), 2)])
    >>> images.shape, labels.shape
    ((2, 1, 8, 8), (2, 3))
    """

    def __init__(self, classes: int, alpha: float = 1.0, axes: tuple[int, int] = (2, 3)) -> None:
        super().__init__(classes, alpha)
        self._axes = axes

    def _mixed(
        self, images: np.ndarray, others: np.ndarray, share: float, rng: np.random.Generator
    ) -> tuple[np.ndarray, float]:
        where, area = [slice(None)] * images.ndim, 1.0
        for axis in self._axes:
            size, middle = images.shape[axis], int(rng.integers(images.shape[axis]))
            half = size * (1 - share) ** 0.5 / 2
            start, stop = max(0, round(middle - half)), min(size, round(middle + half))
            where[axis], area = slice(start, stop), area * (stop - start) / size
        mixed = images.copy()
        mixed[tuple(where)] = others[tuple(where)]
        return mixed, 1 - area


def _first(data: Sequence[Any], who: str) -> Any:
    if not hasattr(data, "__getitem__") or not hasattr(data, "__len__"):
        raise TypeError(f"{who} takes a list of samples, got {type(data).__name__}")
    if len(data) == 0:
        raise ValueError(f"{who} got no samples")
    return data[0]


def _columns(data: Sequence[Any], width: int) -> list[tuple[Any, ...]]:
    for place, sample in enumerate(data):
        if not isinstance(sample, (tuple, list)) or len(sample) != width:
            size = f"{len(sample)}" if isinstance(sample, (tuple, list)) else f"a {type(sample).__name__}"
            raise ValueError(f"each sample needs {width} elements, got {size} at place {place} of the batch")
    return list(zip(*data, strict=True))


def _numbers(sample: object) -> np.ndarray:
    try:
        array = np.asarray(sample)
    except ValueError as error:
        raise ValueError(f"a sample is a list whose parts have different lengths ({error})") from error
    if not is_batchable(array.dtype):
        raise TypeError(f"{_kind(sample)} cannot become an array of numbers; batchify.AsList() keeps such samples")
    return array


def _stack(samples: list[Any]) -> np.ndarray:
    if not isinstance(samples[0], np.ndarray):
        return _numbers(samples)
    shapes = {np.shape(sample) for sample in samples}
    if len(shapes) > 1:
        other = next(place for place, sample in enumerate(samples) if np.shape(sample) != np.shape(samples[0]))
        told = f"got shapes {sorted(shapes)}; batchify.Pad() fills them up"
        raise ValueError(f"samples of one shape are needed, {told} (the first that differs is at place {other})")
    dtype = samples[0].dtype
    if not is_batchable(dtype) or any(sample.dtype != dtype for sample in samples):
        return _numbers(np.stack(samples))
    return np.stack(samples, out=empty((len(samples), *samples[0].shape), dtype))


def _kind(sample: object) -> str:
    one = sample[0] if isinstance(sample, list) and sample else sample
    return f"a sample of type {type(one).__name__}"


def __dir__() -> list[str]:
    return sorted(__all__)
