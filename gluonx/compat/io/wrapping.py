"""Iterators over iterators: one that reads ahead, and one with epochs of another length."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

from gluonx.compat.io.batches import DataBatch, DataDesc, DataIter
from gluonx.errors import ShapeError


class _OfOthers(DataIter):
    """An iterator whose present batch was made by others."""

    current_batch: Any = None

    def next(self) -> DataBatch:
        """Return the next batch; StopIteration after the last."""
        if not self.iter_next():
            raise StopIteration
        return self.current_batch

    def getdata(self) -> Any:
        """Get the data of the present batch."""
        return self.current_batch.data

    def getlabel(self) -> Any:
        """Get the labels of the present batch."""
        return self.current_batch.label

    def getindex(self) -> Any:
        """Return the numbers of the samples in the present batch."""
        return self.current_batch.index

    def getpad(self) -> Any:
        """Return the number of rows at the end of the present batch that are padding."""
        return self.current_batch.pad


class ResizeIter(_OfOthers):
    """Epochs of `size` batches of another iterator, which begins again as often as that takes.

    Parameters
    ----------
    data_iter : DataIter
    size : int
        How many batches an epoch has.
    reset_internal : bool, default True
        Whether `reset` resets the other iterator too, rather than to go on where it is.

    Examples
    --------
    >>> import numpy
    >>> from gluonx.compat.io import NDArrayIter
    >>> rows = ResizeIter(NDArrayIter(numpy.arange(4.0), batch_size=2), 3)
    >>> [batch.data[0].asnumpy().tolist() for batch in rows]
    [[0.0, 1.0], [2.0, 3.0], [0.0, 1.0]]
    """

    def __init__(self, data_iter: Any, size: int, reset_internal: bool = True) -> None:
        super().__init__()
        self.data_iter, self.size, self.reset_internal = data_iter, size, reset_internal
        self.cur = 0
        self.provide_data, self.provide_label = data_iter.provide_data, data_iter.provide_label
        self.batch_size = data_iter.batch_size
        if hasattr(data_iter, "default_bucket_key"):
            self.default_bucket_key = data_iter.default_bucket_key

    def reset(self) -> None:
        """Begin the next epoch."""
        self.cur = 0
        if self.reset_internal:
            self.data_iter.reset()

    def iter_next(self) -> bool:
        """Go on to the next batch; whether there is one."""
        if self.cur == self.size:
            return False
        try:
            self.current_batch = self.data_iter.next()
        except StopIteration:
            self.data_iter.reset()
            self.current_batch = self.data_iter.next()
        self.cur += 1
        return True


class PrefetchingIter(_OfOthers):
    """Batches of one or several iterators, each of which makes the next one in a thread of its own meanwhile.

    Of several iterators, a batch has the arrays of all of them.

    Parameters
    ----------
    iters : DataIter or list of DataIter
    rename_data, rename_label : list of dict of str to str, optional
        For each iterator, new names of its arrays.

    Raises
    ------
    ShapeError
        While batches of the iterators do not go together: one ends before another, or their `pad` differs.

    Examples
    --------
    >>> import numpy
    >>> from gluonx.compat.io import NDArrayIter
    >>> rows = PrefetchingIter(NDArrayIter(numpy.arange(4.0), batch_size=2))
    >>> [batch.data[0].asnumpy().tolist() for batch in rows]
    [[0.0, 1.0], [2.0, 3.0]]
    """

    def __init__(
        self,
        iters: Any,
        rename_data: Sequence[Mapping[str, str]] | None = None,
        rename_label: Sequence[Mapping[str, str]] | None = None,
    ) -> None:
        super().__init__()
        self.iters = list(iters) if isinstance(iters, (list, tuple)) else [iters]
        self.n_iter = len(self.iters)
        if not self.iters:
            raise ValueError("PrefetchingIter: at least one iterator was expected")
        for what, names in (("rename_data", rename_data), ("rename_label", rename_label)):
            if names is not None and len(names) != self.n_iter:
                raise ValueError(
                    f"PrefetchingIter: {what} needs a dict for each of {self.n_iter} iterators, got {len(names)}"
                )
        self.rename_data, self.rename_label = rename_data, rename_label
        self.batch_size = self.provide_data[0][1][0]
        self._pool = ThreadPoolExecutor(self.n_iter, "gluonx.io")
        self._ahead: list[Future[Any]] = []

    @property
    def provide_data(self) -> list[Any]:  # type: ignore[override]
        """Descriptions of the data arrays of a batch."""
        return self._described([one.provide_data for one in self.iters], self.rename_data)

    @property
    def provide_label(self) -> list[Any]:  # type: ignore[override]
        """Descriptions of the label arrays of a batch."""
        return self._described([one.provide_label for one in self.iters], self.rename_label)

    def _described(self, found: list[Any], names: Any) -> list[Any]:
        if names is None:
            return [one for several in found for one in several]
        return [_renamed(one, of) for of, several in zip(names, found, strict=True) for one in several]

    def reset(self) -> None:
        """Begin the next epoch."""
        self._settle()
        for one in self.iters:
            one.reset()

    def _settle(self) -> None:
        for ahead in self._ahead:
            ahead.exception()
        self._ahead = []

    def _fetch(self) -> None:
        self._ahead = [self._pool.submit(_batch, one) for one in self.iters]

    def iter_next(self) -> bool:
        """Go on to the next batch; whether there is one."""
        if not self._ahead:
            self._fetch()
        found, error = [], None
        for ahead in self._ahead:
            try:
                found.append(ahead.result())
            except Exception as raised:
                error = error or raised
        if error is not None:
            self._ahead = []
            raise error
        over = [batch is None for batch in found]
        if any(over):
            if not all(over):
                raise ShapeError(f"PrefetchingIter: some iterators have ended, others not: {over}")
            return False
        pads = [batch.pad for batch in found]
        if len(set(pads)) > 1:
            raise ShapeError(f"PrefetchingIter: the batches of the iterators have different pad: {pads}")
        self._fetch()
        data, label = ([x for batch in found for x in getattr(batch, name) or ()] for name in ("data", "label"))
        self.current_batch = DataBatch(
            data,
            label,
            found[0].pad,
            found[0].index,
            provide_data=self.provide_data,
            provide_label=self.provide_label,
        )
        return True


def _batch(one: Any) -> Any:
    try:
        return one.next()
    except StopIteration:  # which a Future cannot hold
        return None


def _renamed(one: Any, names: Mapping[str, str]) -> Any:
    if isinstance(one, DataDesc):
        return DataDesc(names[one.name], one.shape, one.dtype)
    return DataDesc(names[one[0]], one[1])
