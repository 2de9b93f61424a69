"""``mx.contrib.io``: a DataLoader's batches as ``mx.io`` gives them."""

from __future__ import annotations

from typing import Any

import numpy as onp

from gluonx.compat import nd
from gluonx.compat.io import DataDesc, DataIter

__all__ = ["DataLoaderIter"]


class DataLoaderIter(DataIter):
    """A data iterator over a ``gluon.data.DataLoader`` that gives pairs of data and labels.

    A last batch that is not full is padded with zeros, which `getpad` counts.

    Parameters
    ----------
    loader : DataLoader
        Its first batch, taken at once, tells shapes and the batch size.
    data_name, label_name : str
    dtype : str
        Of both arrays.

    Examples
    --------
    >>> from gluonx.data import ArrayDataset, DataLoader
    >>> rows = ArrayDataset(onp.ones((3, 2), "float32"), onp.arange(3.0))
    >>> [(batch.data[0].shape, batch.pad) for batch in DataLoaderIter(DataLoader(rows, 2))]
    [((2, 2), 0), ((2, 2), 1)]
    """

    def __init__(
        self, loader: Any, data_name: str = "data", label_name: str = "softmax_label", dtype: str = "float32"
    ) -> None:
        super().__init__()
        self._loader, self._batches = loader, iter(loader)
        data, label = next(self._batches)
        self.batch_size, self.dtype = data.shape[0], dtype
        self.provide_data = [DataDesc(data_name, data.shape, dtype)]
        self.provide_label = [DataDesc(label_name, label.shape, dtype)]
        self._current: Any = None
        self.reset()

    def reset(self) -> None:
        """Start again."""
        self._batches = iter(self._loader)

    def iter_next(self) -> bool:
        """Go on to the next batch; whether there is one."""
        self._current = next(self._batches, None)
        return self._current is not None

    def getdata(self) -> list[Any]:
        """Get the data of the present batch."""
        return [self._filled(self._current[0])]

    def getlabel(self) -> list[Any]:
        """Get the labels of the present batch."""
        return [self._filled(self._current[1])]

    def getpad(self) -> int:
        """Return the number of rows that fill the present batch up."""
        return self.batch_size - self._current[0].shape[0]

    def _filled(self, array: Any) -> Any:
        missing = self.batch_size - array.shape[0]
        if not missing:
            return nd.array(array, dtype=self.dtype)
        rows = array.asnumpy()
        return nd.array(onp.pad(rows, [(0, missing)] + [(0, 0)] * (rows.ndim - 1)), dtype=self.dtype)
