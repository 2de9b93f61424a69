"""``mx.io``: batches and the iterators over them that a Module is trained from.

New programs use `gluonx.data`.
"""

from gluonx.compat.io.arrays import NDArrayIter as NDArrayIter
from gluonx.compat.io.batches import DataBatch as DataBatch
from gluonx.compat.io.batches import DataDesc as DataDesc
from gluonx.compat.io.batches import DataIter as DataIter
from gluonx.compat.io.detection import ImageDetRecordIter as ImageDetRecordIter
from gluonx.compat.io.native import MXDataIter as MXDataIter
from gluonx.compat.io.records import ImageRecordInt8Iter as ImageRecordInt8Iter
from gluonx.compat.io.records import ImageRecordIter as ImageRecordIter
from gluonx.compat.io.records import ImageRecordIter_v1 as ImageRecordIter_v1
from gluonx.compat.io.records import ImageRecordUInt8Iter as ImageRecordUInt8Iter
from gluonx.compat.io.records import ImageRecordUInt8Iter_v1 as ImageRecordUInt8Iter_v1
from gluonx.compat.io.tables import CSVIter as CSVIter
from gluonx.compat.io.tables import LibSVMIter as LibSVMIter
from gluonx.compat.io.tables import MNISTIter as MNISTIter
from gluonx.compat.io.wrapping import PrefetchingIter as PrefetchingIter
from gluonx.compat.io.wrapping import ResizeIter as ResizeIter

__all__ = [
    "CSVIter",
    "DataBatch",
    "DataDesc",
    "DataIter",
    "ImageDetRecordIter",
    "ImageRecordInt8Iter",
    "ImageRecordIter",
    "ImageRecordIter_v1",
    "ImageRecordUInt8Iter",
    "ImageRecordUInt8Iter_v1",
    "LibSVMIter",
    "MNISTIter",
    "MXDataIter",
    "NDArrayIter",
    "PrefetchingIter",
    "ResizeIter",
]
