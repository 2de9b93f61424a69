"""``mx.io``: batches and the iterators over them that a Module is trained from.

New programs use `gluonx.data`.
"""

from gluonx.compat.io.arrays import NDArrayIter as NDArrayIter
from gluonx.compat.io.batches import DataBatch as DataBatch
from gluonx.compat.io.batches import DataDesc as DataDesc
from gluonx.compat.io.batches import DataIter as DataIter

__all__ = ["DataBatch", "DataDesc", "DataIter", "NDArrayIter"]
