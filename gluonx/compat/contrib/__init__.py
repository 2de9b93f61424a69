"""``gluon.contrib``: the estimator, and layers of MXNet 1 that have moved to ``gluon.nn`` and ``gluon.rnn`` since."""

from __future__ import annotations

import importlib
from typing import Any

__all__ = ["cnn", "estimator", "nn", "rnn", "tensorboard", "text"]

_LEFT_OUT = {"data": "use gluonx.data"}


def __getattr__(name: str) -> Any:
    if name in __all__:
        return importlib.import_module(f"gluonx.compat.contrib.{name}")
    hint = f": {_LEFT_OUT[name]}" if name in _LEFT_OUT else ""
    raise AttributeError(f"module 'gluonx.contrib' has no attribute {name!r}{hint}")
