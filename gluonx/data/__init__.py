"""Datasets, samplers, batchify functions and the DataLoader; `vision` holds those of images, and transforms."""

import importlib
from typing import TYPE_CHECKING, Any

from gluonx.data import batchify as batchify
from gluonx.data import dataloader as dataloader
from gluonx.data import dataset as dataset
from gluonx.data import recordio as recordio
from gluonx.data import sampler as sampler
from gluonx.data.dataloader import DataLoader as DataLoader
from gluonx.data.dataset import ArrayDataset as ArrayDataset
from gluonx.data.dataset import Dataset as Dataset
from gluonx.data.dataset import RecordFileDataset as RecordFileDataset
from gluonx.data.dataset import SimpleDataset as SimpleDataset
from gluonx.data.sampler import BatchSampler as BatchSampler
from gluonx.data.sampler import FilterSampler as FilterSampler
from gluonx.data.sampler import IntervalSampler as IntervalSampler
from gluonx.data.sampler import RandomSampler as RandomSampler
from gluonx.data.sampler import Sampler as Sampler
from gluonx.data.sampler import SequentialSampler as SequentialSampler

__all__ = [
    "ArrayDataset",
    "BatchSampler",
    "Bucketed",
    "DataLoader",
    "Dataset",
    "FilterSampler",
    "IntervalSampler",
    "RandomSampler",
    "RecordFileDataset",
    "Sampler",
    "SequentialSampler",
    "SimpleDataset",
    "batchify",
    "vision",
]

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
