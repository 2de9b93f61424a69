"""``gluon.contrib.data``: loaders of images, with boxes too, and corpora."""

import importlib
from typing import TYPE_CHECKING, Any

from gluonx.common.absent import instead_of
from gluonx.data.sampler import IntervalSampler as IntervalSampler

__all__ = ["IntervalSampler", "text", "vision"]

if TYPE_CHECKING:
    from gluonx.compat.contrib.data import text as text
    from gluonx.compat.contrib.data import vision as vision
else:

    def __getattr__(name: str) -> Any:
        if name in ("text", "vision"):
            return importlib.import_module(f"gluonx.compat.contrib.data.{name}")
        way = instead_of(f"mxnet.gluon.contrib.data.{name}")
        raise AttributeError(f"module 'gluonx.contrib.data' has no attribute {name!r}{': ' + way if way else ''}")
