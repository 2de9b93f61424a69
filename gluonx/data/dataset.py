"""Datasets: a length and an item at an index.

That is all a DataLoader asks, so a list is a dataset as well. The classes here add what is made out of a dataset:
``transform``, ``filter``, ``shard``, ``take`` and ``sample`` give new datasets and leave the old one as it is.

Data stay on the host until a batch is complete. An :class:`ArrayDataset` over gluonx arrays keeps NumPy copies of them,
so its rows are NumPy arrays and reading one costs no device operation; a DataLoader takes whole batches out of such a
dataset with one gather a column.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from typing import Any, ClassVar, Generic, TypeVar, overload

import numpy as np

from gluonx.data import batchify
from gluonx.data._host import OnHost, as_host, call_on_host, device_sample, gather, gatherer, host_item
from gluonx.data.recordio import MXIndexedRecordIO
from gluonx.data.sampler import FilterSampler, Sampler, SequentialSampler
from gluonx.errors import ArgumentError
from gluonx.files.atomic import PathLike
from gluonx.np.handle import ndarray

__all__ = ["ArrayDataset", "Dataset", "RecordFileDataset", "SimpleDataset"]


Batch = TypeVar("Batch")
"""The type of a batch of a data set: an ndarray, or a list of one for each element of a sample."""


class Dataset(Generic[Batch]):
    """Interface of all datasets: subclasses have ``__getitem__`` and ``__len__``.

    Examples
    --------
    >>> class Squares(Dataset):
    ...     def __len__(self):
    ...         return 4
    ...
    ...     def __getitem__(self, idx):
    ...         return idx**2
    >>> list(Squares().take(3)), Squares().transform(lambda x: -x)[3]
    ([0, 1, 4], -9)
    """

    def __getitem__(self, idx: int) -> Any:
        raise NotImplementedError(f"{type(self).__name__} must define __getitem__")

    def __len__(self) -> int:
        raise NotImplementedError(f"{type(self).__name__} must define __len__")

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._told()})"

    def _told(self) -> str:
        """Return the source of the samples, for the representation."""
        return ""

    def __mx_handle__(self) -> Dataset[Batch]:
        """Return itself: MXNet's loader in C++ asks a dataset for a handle, and here any dataset will do."""
        return self

    def filter(self, fn: Callable[[Any], Any]) -> Dataset[Batch]:
        """Return the samples for which `fn` is true. Every sample is looked at now.

        Parameters
        ----------
        fn : callable
            Takes one sample, returns something true or false.

        Examples
        --------
        >>> list(SimpleDataset([1, 2, 3, 4]).filter(lambda x: x % 2))
        [1, 3]
        """
        return self.sample(FilterSampler(fn, self))

    def shard(self, num_shards: int, index: int) -> Dataset[Batch]:
        """Part `index` of `num_shards` consecutive parts, of which the first ones may be one sample longer.

        Raises
        ------
        ValueError
            When `index` is not from 0 to ``num_shards - 1``.

        Examples
        --------
        >>> [list(SimpleDataset(range(7)).shard(3, i)) for i in range(3)]
        [[0, 1, 2], [3, 4], [5, 6]]
        """
        if not 0 <= index < num_shards:
            raise ValueError(f"shard index must be from 0 to num_shards - 1, got index {index} of {num_shards} shards")
        size, longer = divmod(len(self), num_shards)
        start = index * size + min(index, longer)
        return self.sample(SequentialSampler(size + (index < longer), start))

    def take(self, count: int | None) -> Dataset[Batch]:
        """Return the first `count` samples, or all when `count` is None or larger than the dataset.

        Examples
        --------
        >>> list(SimpleDataset("abc").take(2))
        ['a', 'b']
        """
        length = len(self)
        return self.sample(SequentialSampler(length if count is None else min(count, length)))

    def sample(self, sampler: Sampler) -> Dataset[Batch]:
        """Return the samples at the indices that `sampler` yields now, in its order.

        Raises
        ------
        TypeError
            When `sampler` is not a :class:`Sampler`.

        Examples
        --------
        >>> list(SimpleDataset("abcd").sample(SequentialSampler(2, start=1)))
        ['b', 'c']
        """
        if not isinstance(sampler, Sampler):
            raise TypeError(f"sample needs a gluonx.data.Sampler, got {type(sampler).__name__}")
        return _SampledDataset(self, sampler)

    def transform(self, fn: Callable[..., Any], lazy: bool = True) -> Dataset[Any]:
        """Each sample through `fn`; a sample that is a tuple is handed over as separate arguments.

        Parameters
        ----------
        fn : callable
            Takes a sample, returns the new one.
        lazy : bool, default True
            Whether `fn` runs at each access, as a random augmentation must, or once for each sample now.

        Examples
        --------
        >>> ArrayDataset([1, 2], [3, 4]).transform(lambda x, y: x + y)[0]
        4
        """
        lazily = _TransformedDataset(self, fn)
        return lazily if lazy else SimpleDataset([lazily[i] for i in range(len(lazily))])

    def transform_first(self, fn: Callable[[Any], Any], lazy: bool = True) -> Dataset[Batch]:
        """Return the first element of each sample through `fn`, for transforming data and not labels.

        Examples
        --------
        >>> ArrayDataset([1, 2], [3, 4]).transform_first(lambda x: 10 * x)[1]
        (20, 4)
        """
        return self.transform(_OnFirst(fn), lazy)


class SimpleDataset(Dataset[Any]):
    """A dataset over a list, an array, or anything else with a length and items.

    Examples
    --------
    >>> dataset = SimpleDataset(["a", "b"])
    >>> len(dataset), dataset[1]
    (2, 'b')
    """

    def __init__(self, data: Sequence[Any] | Any) -> None:
        self._data = as_host(data)

    def __len__(self) -> int:
        return len(self._data)

    def __getitem__(self, idx: int) -> Any:
        return self._data[idx]

    def _gather(self, indices: Sequence[int]) -> np.ndarray | None:
        """Return the host batch of these samples, or None when they have to be read one by one."""
        if type(self).__getitem__ is not SimpleDataset.__getitem__:
            return None
        return gather(self._data, indices)


class ArrayDataset(Dataset[Batch]):
    """Arrays or lists of one length, side by side: sample `i` is the tuple of their items `i`.

    With a single array, the sample is the item itself.

    Parameters
    ----------
    *args : array, list or Dataset
        One for each element of a sample. gluonx arrays are copied to the host once, here; NumPy arrays are not copied.

    Raises
    ------
    ValueError
        When there is no array, or their lengths differ.

    Examples
    --------
    >>> x, y = np.ones((4, 2), np.float32), [0, 1, 0, 1]
    >>> ArrayDataset(x, y)[1]
    (array([1., 1.], dtype=float32), 1)
    """

    gives_arrays: ClassVar[bool] = False  # whether rows of gluonx arrays are such arrays

    @overload
    def __init__(self: ArrayDataset[ndarray], array: object, /) -> None: ...
    @overload
    def __init__(self: ArrayDataset[list[ndarray]], first: object, second: object, /, *args: object) -> None: ...
    def __init__(self, *args: Any) -> None:
        if not args:
            raise ArgumentError("ArrayDataset needs at least one array")
        lengths = [len(column) for column in args]
        if len(set(lengths)) > 1:
            raise ArgumentError(f"the arrays of an ArrayDataset must have one length, got lengths {lengths}")
        self._length = lengths[0]
        self._data = [as_host(column) for column in args]
        self._marked = [self.gives_arrays and isinstance(column, ndarray) and column.ndim > 1 for column in args]

    def __len__(self) -> int:
        return self._length

    def __getitem__(self, idx: int) -> Any:
        sample = self._host_item(idx)
        return device_sample(sample) if self.gives_arrays else sample

    def _host_item(self, idx: int) -> Any:
        pairs = zip(self._data, self._marked, strict=True)
        sample = tuple([OnHost(column[idx]) if marked else column[idx] for column, marked in pairs])
        return sample[0] if len(sample) == 1 else sample

    def _gather(self, indices: Sequence[int]) -> Any:
        """Return the host batch of these samples, or None when they have to be read one by one."""
        if type(self).__getitem__ is not ArrayDataset.__getitem__:
            return None
        batches = {place: gather(c, indices) for place, c in enumerate(self._data) if isinstance(c, np.ndarray)}
        if not batches or None in batches.values():
            return None
        stack = batchify.Stack().host_batch
        columns = [
            batches[place] if place in batches else stack([column[i] for i in indices])
            for place, column in enumerate(self._data)
        ]
        return columns[0] if len(columns) == 1 else columns


class RecordFileDataset(Dataset[Any]):
    """A dataset over a record file: sample `i` is the bytes of the record with the key ``keys[i]`` of its index.

    Worker processes open the file anew, and threads take turns in reading it.

    Parameters
    ----------
    filename : str or os.PathLike
        The record file. Its index lies beside it, with the ending ``.idx``.

    Raises
    ------
    FileNotFoundError
        When one of the two files is missing.
    FormatError
        When the index is no such file; and on access, when it does not fit the record file, or that is damaged.

    Examples
    --------
    >>> import tempfile
    >>> path = tempfile.mkdtemp() + "/some"
    >>> with MXIndexedRecordIO(path + ".idx", path + ".rec", "w") as record:
    ...     for key in range(3):
    ...         record.write_idx(key, b"record %d" % key)
    >>> dataset = RecordFileDataset(path + ".rec")
    >>> len(dataset), dataset[1]
    (3, b'record 1')
    """

    def __init__(self, filename: PathLike) -> None:
        self.filename = os.fspath(filename)
        self.idx_file = os.path.splitext(self.filename)[0] + ".idx"
        self._record = MXIndexedRecordIO(self.idx_file, self.filename, "r")

    def _told(self) -> str:
        return repr(self.filename)

    def __len__(self) -> int:
        return len(self._record.keys)

    def __getitem__(self, idx: int) -> Any:
        return self._record.read_idx(self._record.keys[idx])


class _SampledDataset(Dataset[Batch]):
    """Another dataset's samples at chosen indices."""

    def __init__(self, dataset: Dataset[Batch], sampler: Iterable[Any]) -> None:
        self._dataset = dataset
        self._indices = list(sampler)

    def __repr__(self) -> str:
        return f"{len(self)} samples of {self._dataset!r}"

    def __len__(self) -> int:
        return len(self._indices)

    def __getitem__(self, idx: int) -> Any:
        return self._dataset[self._indices[idx]]

    def _host_item(self, idx: int) -> Any:
        return host_item(self._dataset, self._indices[idx])

    def _gather(self, indices: Sequence[int]) -> Any:
        chosen = gatherer(self._dataset)
        return chosen and chosen([self._indices[i] for i in indices])


class _TransformedDataset(Dataset[Any]):
    """Another dataset's samples through a function, at each access."""

    def __init__(self, dataset: Any, fn: Callable[..., Any]) -> None:
        self._dataset = dataset
        self._fn = fn

    def __repr__(self) -> str:
        return f"{self._dataset!r}, transformed"

    def __len__(self) -> int:
        return len(self._dataset)

    def __getitem__(self, idx: int) -> Any:
        sample = self._dataset[idx]
        return self._fn(*sample) if isinstance(sample, tuple) else self._fn(sample)

    def _host_item(self, idx: int) -> Any:
        sample = host_item(self._dataset, idx)
        parts = sample if isinstance(sample, tuple) else (sample,)
        if type(self._fn) is not _OnFirst:
            return call_on_host(self._fn, *parts)
        first = call_on_host(self._fn.fn, parts[0])
        return (first, *parts[1:]) if len(parts) > 1 else first


class _OnFirst:
    """``fn`` on the first argument, the others untouched (a class, so that worker processes can be sent one)."""

    def __init__(self, fn: Callable[[Any], Any]) -> None:
        self.fn = fn

    def __call__(self, first: Any, *rest: Any) -> Any:
        return (self.fn(first), *rest) if rest else self.fn(first)
