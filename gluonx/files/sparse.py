"""Sparse arrays of parameter files: made dense, or as they are stored."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from gluonx.errors import FormatError
from gluonx.files.source import Source, byte_count


class Stored(NamedTuple):
    """A sparse array as it is stored: ``'csr'`` (`index`: indptr, columns) or ``'row_sparse'`` (row numbers).

    Examples
    --------
    >>> stored = Stored("row_sparse", (3, 2), np.ones((1, 2)), [np.array([1])])  # its one row that is stored is row 1
    >>> stored.stype, stored.shape
    ('row_sparse', (3, 2))
    """

    stype: str
    shape: tuple[int, ...]
    data: np.ndarray
    index: list[np.ndarray]


def densify(source: Source, what: str, data: np.ndarray, index: list[np.ndarray], shape: tuple[int, ...]) -> Any:
    """Return the dense form of a row_sparse array (`index` = row numbers) or a CSR matrix (`index` = indptr, columns).

    Where the reader of `source` keeps sparse arrays, it is `Stored`, and takes no more memory than the file holds.
    """

    def fail(reason: str) -> FormatError:
        return source.fail(f"{what} {reason}", source.pos)

    nbytes = byte_count(data.dtype, shape, fail)
    if not source.keeps_sparse:
        source.spend(nbytes, what)
    if not shape or any(i.ndim != 1 or i.dtype.kind not in "iu" for i in index):
        raise fail(f"of shape {shape} has a bad index")
    where: Any = index[-1]
    limit, fits = shape[:1], data.shape == where.shape + shape[1:]
    if len(index) == 2:
        limit, fits = shape[1:], len(shape) == 2 and data.shape == where.shape and _good_indptr(index[0], shape, where)
    if not fits or (where.size and (where.min() < 0 or where.max() >= limit[0])):
        raise fail(f"has an index that does not fit its shape {shape}")
    if source.keeps_sparse:
        return Stored("csr" if len(index) == 2 else "row_sparse", shape, data, index)
    if len(index) == 2:
        where = (np.repeat(np.arange(shape[0]), np.diff(index[0].astype(np.int64))), where)
    dense = np.zeros(shape, data.dtype)
    dense[where] = data
    return dense


def _good_indptr(indptr: np.ndarray, shape: tuple[int, ...], columns: np.ndarray) -> bool:
    steps = np.diff(indptr.astype(np.int64))
    return len(indptr) == shape[0] + 1 and indptr[0] == 0 and indptr[-1] == len(columns) and bool(np.all(steps >= 0))
