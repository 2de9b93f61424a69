"""Datasets, samplers, batchify functions and the DataLoader; `vision` holds those of images, and transforms."""

import importlib
from typing import TYPE_CHECKING, Any

from gluonx.data import batchify as batchify
from gluonx.data import dataloader as dataloader
from gluonx.data import dataset as dataset
from gluonx.data import recordio as recordio
from gluonx.data import sampler as sampler
from gluonx.data.dataloader import DataLoader as DataLoader
from gluonx.data.dataset import *  # noqa: F403
from gluonx.data.foreign import Prefetched as Prefetched
from gluonx.data.packed import Packed as Packed
from gluonx.data.packed import pack as pack
from gluonx.data.sampler import *  # noqa: F403

__all__ = ["Bucketed", "DataLoader", "Packed", "Prefetched", "batchify", "pack", "vision"]
__all__ += dataset.__all__
__all__ += sampler.__all__

if TYPE_CHECKING:
    from gluonx.data import vision as vision
    from gluonx.data.bucketing import Bucketed as Bucketed
else:

    def __getattr__(name: str) -> Any:
        if name == "vision":  # with layers and operators of images, which a worker may do without
            return importlib.import_module("gluonx.data.vision")
        if name == "Bucketed":  # it calls nets
            return importlib.import_module("gluonx.data.bucketing").Bucketed
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
