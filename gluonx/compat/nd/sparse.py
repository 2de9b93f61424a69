"""``mx.nd.sparse``: what works on dense arrays works; sparse storage does not exist here and says so on use."""

from __future__ import annotations

from typing import Any, NoReturn

from gluonx.compat.nd.names import lookup
from gluonx.errors import GluonxError

__all__ = [
    "BaseSparseNDArray",
    "CSRNDArray",
    "RowSparseNDArray",
    "array",
    "csr_matrix",
    "empty",
    "refuse",
    "retain",
    "row_sparse_array",
    "zeros",
]

_WHY = (
    "{what} is not in gluonx, whose arrays are dense: XLA has no sparse storage. Use nd.array on the dense values "
    "(scipy's .toarray()), nd.Embedding with dense gradients, or nd.take and nd.scatter_nd for rows."
)


def refuse(what: str) -> NoReturn:
    """Raise `GluonxError`, which says what to use instead."""
    raise GluonxError(_WHY.format(what=what))


class BaseSparseNDArray:
    """For ``isinstance``: no array of gluonx is sparse. Making one raises `GluonxError`."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        refuse(f"mx.nd.sparse.{type(self).__name__}")


class CSRNDArray(BaseSparseNDArray):
    """A matrix stored by rows; see `BaseSparseNDArray`."""


class RowSparseNDArray(BaseSparseNDArray):
    """An array of which some rows are stored; see `BaseSparseNDArray`."""


def csr_matrix(*args: Any, **kwargs: Any) -> NoReturn:
    """Raise `GluonxError`."""
    refuse("mx.nd.sparse.csr_matrix")


def row_sparse_array(*args: Any, **kwargs: Any) -> NoReturn:
    """Raise `GluonxError`."""
    refuse("mx.nd.sparse.row_sparse_array")


def retain(*args: Any, **kwargs: Any) -> NoReturn:
    """Raise `GluonxError`."""
    refuse("mx.nd.sparse.retain")


def array(source_array: Any, *args: Any, **kwargs: Any) -> NoReturn:
    """Raise `GluonxError`."""
    refuse("mx.nd.sparse.array")


def zeros(stype: str, shape: Any, ctx: Any = None, dtype: Any = None, **kwargs: Any) -> Any:
    """Dense zeros for ``stype='default'``; `GluonxError` for another storage."""
    if stype != "default":
        refuse(f"mx.nd.sparse.zeros({stype!r})")
    from gluonx.compat import nd

    return nd.zeros(shape, ctx, dtype)


empty = zeros


def __getattr__(name: str) -> Any:
    found = globals()[name] = lookup(name, "nd")
    return found
