"""Arrays of sparse storage: csr matrices, and arrays of which some rows are stored.

``mx.nd.sparse`` in programs of MXNet. `storage` holds the two classes, `functions` what is computed with them; how the
gradient of a large table is kept by rows is `gluonx.deferred.rows`, and how an optimizer updates only these rows
`gluonx.optimizer.lazily`. See docs/sparse.md.
"""

from __future__ import annotations

from gluonx.sparse.functions import add as add
from gluonx.sparse.functions import array as array
from gluonx.sparse.functions import cast_storage as cast_storage
from gluonx.sparse.functions import csr_matrix as csr_matrix
from gluonx.sparse.functions import divide as divide
from gluonx.sparse.functions import dot as dot
from gluonx.sparse.functions import empty as empty
from gluonx.sparse.functions import multiply as multiply
from gluonx.sparse.functions import retain as retain
from gluonx.sparse.functions import row_sparse_array as row_sparse_array
from gluonx.sparse.functions import square as square
from gluonx.sparse.functions import subtract as subtract
from gluonx.sparse.functions import zeros as zeros
from gluonx.sparse.storage import BaseSparseNDArray as BaseSparseNDArray
from gluonx.sparse.storage import CSRNDArray as CSRNDArray
from gluonx.sparse.storage import RowSparseNDArray as RowSparseNDArray

__all__ = [
    "BaseSparseNDArray",
    "CSRNDArray",
    "RowSparseNDArray",
    "add",
    "array",
    "cast_storage",
    "csr_matrix",
    "divide",
    "dot",
    "empty",
    "multiply",
    "retain",
    "row_sparse_array",
    "square",
    "subtract",
    "zeros",
]
