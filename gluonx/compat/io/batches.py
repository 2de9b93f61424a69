"""A batch, what describes it, and the interface of what gives batches."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as onp

if TYPE_CHECKING:
    from gluonx.dtype import DTypeLike


class _Named(NamedTuple):
    name: str
    shape: tuple[int, ...]


class DataDesc(_Named):
    """The name and shape of an input; also its element type and what its axes mean.

    Parameters
    ----------
    name : str
    shape : tuple of int
    dtype : dtype-like
    layout : str
        A letter an axis; N is that of the batch.

    Examples
    --------
    >>> name, shape = DataDesc("data", (32, 3, 8, 8))
    >>> DataDesc.get_batch_axis("TNC")
    1
    """

    dtype: Any
    layout: str | None

    def __new__(  # noqa: D102 - as the class
        cls, name: str, shape: Sequence[int], dtype: DTypeLike = onp.float32, layout: str | None = "NCHW"
    ) -> DataDesc:
        self = super().__new__(cls, name, tuple(shape))
        self.dtype, self.layout = dtype, layout
        return self

    def __repr__(self) -> str:
        return f"DataDesc[{self.name},{self.shape},{self.dtype},{self.layout}]"

    @staticmethod
    def get_batch_axis(layout: str | None) -> int:
        """Return the axis of the batch; -1 if there is none."""
        return 0 if layout is None else layout.find("N")

    @staticmethod
    def get_list(shapes: Any, types: Any) -> list[DataDesc]:
        """Descriptions of several inputs, from pairs of name and shape, and of name and element type or None."""
        known = dict(types) if types is not None else {}
        return [DataDesc(name, shape, known[name]) if known else DataDesc(name, shape) for name, shape in shapes]


class DataBatch:
    """Arrays that are computed with together.

    Parameters
    ----------
    data, label : list of NDArray
    pad : int, optional
        How many of the last rows only fill the batch up.
    index : array, optional
        Which rows of the data these are.
    bucket_key : object, optional
        What a `BucketingModule` finds the graph by.
    provide_data, provide_label : list of DataDesc, optional
        What is in `data` and `label`.

    Raises
    ------
    TypeError
        If `data` or `label` is no list.
    """

    def __init__(
        self,
        data: Any,
        label: Any = None,
        pad: int | None = None,
        index: Any = None,
        bucket_key: Any = None,
        provide_data: Any = None,
        provide_label: Any = None,
    ) -> None:
        for what, arrays in (("data", data), ("label", label)):
            if arrays is not None and not isinstance(arrays, (list, tuple)):
                raise TypeError(f"DataBatch: {what} must be a list of NDArrays, got {type(arrays).__name__}")
        self.data, self.label, self.pad, self.index = data, label, pad, index
        self.bucket_key, self.provide_data, self.provide_label = bucket_key, provide_data, provide_label

    def __str__(self) -> str:
        shapes = [[tuple(x.shape) for x in arrays or ()] for arrays in (self.data, self.label)]
        return f"DataBatch: data shapes: {shapes[0]} label shapes: {shapes[1]}"


class DataIter:
    """Base of iterators of batches: a subclass defines `next`, or `iter_next` and the four functions it is made of.

    Parameters
    ----------
    batch_size : int
    """

    provide_data: Any
    provide_label: Any

    def __init__(self, batch_size: int = 0) -> None:
        self.batch_size = batch_size

    def __iter__(self) -> Iterator[DataBatch]:
        return self

    def reset(self) -> None:
        """Start again."""

    def next(self) -> DataBatch:
        """Return the next batch; StopIteration after the last."""
        if not self.iter_next():
            raise StopIteration
        return DataBatch(data=self.getdata(), label=self.getlabel(), pad=self.getpad(), index=self.getindex())

    def __next__(self) -> DataBatch:
        return self.next()

    def iter_next(self) -> bool:
        """Go on to the next batch; whether there is one."""
        return False

    def getdata(self) -> Any:
        """Get the data of the present batch."""
        return None

    def getlabel(self) -> Any:
        """Get the labels of the present batch."""
        return None

    def getindex(self) -> Any:
        """Return the rows that the present batch is made of; None if nothing is known of them."""
        return None

    def getpad(self) -> Any:
        """Return the number of last rows that only fill the present batch up."""
        return 0
