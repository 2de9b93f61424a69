"""Batches of arrays that are in memory."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as onp

from gluonx.common.frames import warn
from gluonx.compat import nd
from gluonx.compat.io.batches import DataDesc, DataIter
from gluonx.compat.mode import Mode
from gluonx.deferred.values.core import Handle
from gluonx.errors import ShapeError
from gluonx.ops.prng import shuffling_rng
from gluonx.sparse import CSRNDArray, csr_matrix
from gluonx.sparse.functions import take_rows

_LAST = ("pad", "discard", "roll_over")


class NDArrayIter(DataIter):
    """Batches of consecutive (or shuffled) rows of arrays.

    Parameters
    ----------
    data, label : array, list of arrays, or dict of str to array
        All of the same number of rows, sorted by name. What is no NDArray becomes float32. Batches of csr matrices, of
        SciPy too, are csr matrices.
    batch_size : int
    shuffle : bool
        Whether the rows are put into a random order at each `reset`.
    last_batch_handle : {'pad', 'discard', 'roll_over'}
        What becomes of rows that do not fill a batch: it is filled up from the beginning, they are left out, or they
        come first in the next epoch.
    data_name, label_name : str
        What a single array is called; of several each has its number behind it.

    Raises
    ------
    ShapeError
        If arrays have different numbers of rows.

    Examples
    --------
    >>> import numpy
    >>> batches = NDArrayIter(numpy.arange(5.0), numpy.zeros(5), batch_size=2)
    >>> [(batch.data[0].asnumpy().tolist(), batch.pad) for batch in batches]
    [([0.0, 1.0], 0), ([2.0, 3.0], 0), ([4.0, 0.0], 1)]
    """

    def __init__(
        self,
        data: Any,
        label: Any = None,
        batch_size: int = 1,
        shuffle: bool = False,
        last_batch_handle: str = "pad",
        data_name: str = "data",
        label_name: str = "softmax_label",
    ) -> None:
        super().__init__(batch_size)
        if last_batch_handle not in _LAST:
            raise ValueError(f"last_batch_handle must be one of {', '.join(_LAST)}, got {last_batch_handle!r}")
        self._data = _named(data, data_name, "data")
        self._label = _named(label, label_name, "label")
        self._shown: dict[str, list[tuple[str, Any]]] = {}
        self._seen: list[tuple[Any, Any, Any]] = []
        self.last_batch_handle, self.shuffle = last_batch_handle, shuffle
        lengths = {name: len(array) for name, array in (*self._data, *self._label)}
        self.num_data = next(iter(lengths.values()))
        if len(set(lengths.values())) > 1:
            told = f"NDArrayIter: all arrays must have the same number of rows, but they have {lengths}"
            if not Mode.aliased or min(lengths.values()) < self.num_data:
                raise ShapeError(f"{told}.")
            warn(f"{told}: as in MXNet, the first {self.num_data} are taken of each.")
        self.num_source = len(self._data)
        self.idx = onp.arange(self.num_data)
        self._place = self.idx.copy()  # the rows in the order of this epoch
        self._rest = self._place[:0]  # rows that roll over
        self._order = self._place
        self.cursor = -batch_size
        self.reset()

    @property
    def provide_data(self) -> list[DataDesc]:  # type: ignore[override]
        """The descriptions of a batch's data."""
        return [self._described(*item) for item in self._data]

    @property
    def provide_label(self) -> list[DataDesc]:  # type: ignore[override]
        """The descriptions of a batch's labels."""
        return [self._described(*item) for item in self._label]

    @property
    def data(self) -> list[tuple[str, Any]]:
        """Names and whole arrays, NDArrays with their rows in the order of this epoch; what is written there counts."""
        return self._show("_data")

    @property
    def label(self) -> list[tuple[str, Any]]:
        """Names and whole arrays of the labels, as `data`."""
        return self._show("_label")

    def _show(self, which: str) -> list[tuple[str, Any]]:
        if which not in self._shown:
            shown = [(name, self._part(array, self._place)) for name, array in getattr(self, which)]
            for (_, source), (_, array) in zip(getattr(self, which), shown, strict=True):
                if not isinstance(array, CSRNDArray):
                    self._seen.append((array, array.value, source))
            self._shown[which] = shown
        return self._shown[which]

    def _take_writes(self) -> None:
        """Take over what was written to the arrays of `data` and `label`."""
        for number, (array, value, source) in enumerate(self._seen):
            if array.value is not value:
                source[self._place] = array.asnumpy()
                self._seen[number] = (array, array.value, source)

    def _described(self, name: str, array: onp.ndarray) -> DataDesc:
        return DataDesc(name, (self.batch_size, *array.shape[1:]), array.dtype.type)

    def hard_reset(self) -> None:
        """Start again, without what would have rolled over."""
        self._rest = self._place[:0]
        self._begin()

    def reset(self) -> None:
        """Start again, in a new order if the rows are shuffled."""
        left = self._order[max(self.cursor, 0) :]
        begun = self.cursor >= 0
        rolls = begun and self.last_batch_handle == "roll_over" and 0 < len(left) < self.batch_size
        self._rest = left if rolls else self._place[:0]
        self._begin()

    def _begin(self) -> None:
        if self.shuffle:
            self._take_writes()
            self._shown, self._seen = {}, []
            shuffling_rng().shuffle(self.idx)
            self._place = self._place[self.idx]
        self._order = onp.concatenate([self._rest, self._place])
        self.cursor = -self.batch_size

    def iter_next(self) -> bool:
        """Go on to the next batch; whether there is one."""
        self.cursor += self.batch_size
        left = len(self._order) - self.cursor
        return left > 0 if self.last_batch_handle == "pad" else left >= self.batch_size

    def _part(self, array: Any, rows: onp.ndarray) -> Any:
        return take_rows(array, rows) if isinstance(array, CSRNDArray) else nd.array(array[rows], dtype=array.dtype)

    def _rows(self) -> onp.ndarray:
        self._take_writes()
        wanted = onp.arange(self.cursor, self.cursor + self.batch_size)
        return self._order[wanted % len(self._order)]

    def getdata(self) -> list[Any]:
        """Get the data of the present batch."""
        rows = self._rows()
        return [self._part(array, rows) for _, array in self._data]

    def getlabel(self) -> list[Any]:
        """Get the labels of the present batch."""
        rows = self._rows()
        return [self._part(array, rows) for _, array in self._label]

    def getpad(self) -> int:
        """Return the number of rows that fill the present batch up; or, as in MXNet, that rolled over into it."""
        if self.cursor == 0 and len(self._rest):
            return len(self._rest)
        return max(self.cursor + self.batch_size - len(self._order), 0)


def _named(given: Any, name: str, what: str) -> list[tuple[str, onp.ndarray]]:
    if given is None:
        if what == "data":
            raise ValueError("NDArrayIter: there is no data")
        return []
    if isinstance(given, (onp.ndarray, Handle)) or hasattr(given, "tocsr"):
        given = [given]
    if isinstance(given, (list, tuple)):
        numbered = {f"_{i}_{name}": value for i, value in enumerate(given)}
        given = {name: given[0]} if len(given) == 1 else numbered
    if not isinstance(given, Mapping):
        told = f"an array, a list or a dict of arrays was expected as {what}, got {type(given).__name__}"
        raise TypeError(f"NDArrayIter: {told}")
    return [(key, _host(given[key])) for key in sorted(given)]


def _host(value: Any) -> Any:
    """NDArrays keep their element type; anything else becomes float32. Csr matrices stay what they are."""
    if isinstance(value, CSRNDArray):
        return CSRNDArray(value._handle.asnumpy(), value._columns, value._indptr, value.shape)  # type: ignore[arg-type]
    if getattr(value, "format", None) == "csr":
        own = csr_matrix(value)
        return CSRNDArray(own._handle.asnumpy(), own._columns, own._indptr, own.shape)  # type: ignore[arg-type]
    return onp.array(value, None if isinstance(value, Handle) else "float32")
