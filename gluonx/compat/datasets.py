"""``gluon.data.ArrayDataset`` of a program that runs on `gluonx.compat`: its rows are arrays, as in MXNet."""

from __future__ import annotations

from gluonx import data

__all__ = ["ArrayDataset"]


class ArrayDataset(data.ArrayDataset):
    """`gluonx.data.ArrayDataset`, in which a row of an ndarray is an ndarray, and an element of one a NumPy number.

    A loader takes whole batches, or rows on the host, as it does of gluonx's own.

    Examples
    --------
    >>> from gluonx import np
    >>> x, y = ArrayDataset(np.ones((4, 2)), np.arange(4))[1]
    >>> x.shape, type(x).__name__, y
    ((2,), 'ndarray', np.float32(1.0))
    """

    gives_arrays = True
