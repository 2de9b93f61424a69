"""``gluon.contrib``: the estimator, and layers of MXNet 1 that have moved to ``gluon.nn`` and ``gluon.rnn`` since.

Of ``mx.contrib`` there is what has no other place: ``onnx``, ``quantization``, ``tensorboard`` and ``text``.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from gluonx.common.absent import instead_of

__all__ = ["cnn", "data", "estimator", "nn", "onnx", "quantization", "rnn", "tensorboard", "text"]

if TYPE_CHECKING:
    from gluonx.compat.contrib import cnn as cnn
    from gluonx.compat.contrib import data as data
    from gluonx.compat.contrib import estimator as estimator
    from gluonx.compat.contrib import nn as nn
    from gluonx.compat.contrib import onnx as onnx
    from gluonx.compat.contrib import quantization as quantization
    from gluonx.compat.contrib import rnn as rnn
    from gluonx.compat.contrib import tensorboard as tensorboard
    from gluonx.compat.contrib import text as text
else:

    def __getattr__(name: str) -> Any:
        if name in __all__:
            return importlib.import_module(f"gluonx.compat.contrib.{name}")
        way = instead_of(f"mxnet.gluon.contrib.{name}")
        raise AttributeError(f"module 'gluonx.contrib' has no attribute {name!r}{': ' + way if way else ''}")


def __dir__() -> list[str]:
    return sorted(__all__)
