"""``gluon.contrib``: the estimator, and layers of MXNet 1 that have moved to ``gluon.nn`` and ``gluon.rnn`` since.

Of ``mx.contrib`` there is what has no other place: ``onnx``, ``quantization``, ``tensorboard`` and ``text``.
"""

from __future__ import annotations

import importlib
from typing import Any

from gluonx._absent import instead_of

__all__ = ["cnn", "data", "estimator", "nn", "onnx", "quantization", "rnn", "tensorboard", "text"]


def __getattr__(name: str) -> Any:
    if name in __all__:
        return importlib.import_module(f"gluonx.compat.contrib.{name}")
    way = instead_of(f"mxnet.gluon.contrib.{name}")
    raise AttributeError(f"module 'gluonx.contrib' has no attribute {name!r}{': ' + way if way else ''}")
