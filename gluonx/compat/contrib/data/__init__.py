"""``gluon.contrib.data``: loaders of images, with boxes too."""

import importlib
from typing import TYPE_CHECKING, Any

from gluonx._absent import instead_of
from gluonx.data.sampler import IntervalSampler as IntervalSampler

__all__ = ["IntervalSampler", "vision"]

if TYPE_CHECKING:
    from gluonx.compat.contrib.data import vision as vision
else:

    def __getattr__(name: str) -> Any:
        if name == "vision":
            return importlib.import_module("gluonx.compat.contrib.data.vision")
        way = instead_of(f"mxnet.gluon.contrib.data.{name}")
        raise AttributeError(f"module 'gluonx.contrib.data' has no attribute {name!r}{': ' + way if way else ''}")
