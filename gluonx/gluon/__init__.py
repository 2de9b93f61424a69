"""``gluonx.gluon``: what lies in gluonx, under the name that Gluon's programs know: ``gluon.Trainer``, ``gluon.nn``."""

from typing import Any as _Any

import gluonx as _gluonx
from gluonx.common import aliases as _aliases

__path__ = [*__path__, _aliases.path_of("gluonx.gluon", __path__[0], _aliases.GLUON)]

__all__ = [
    "Block",
    "Constant",
    "HybridBlock",
    "Parameter",
    "ParameterDict",
    "SymbolBlock",
    "Trainer",
    "contrib",
    "data",
    "loss",
    "metric",
    "model_zoo",
    "nn",
    "rnn",
    "utils",
]


def __getattr__(name: str) -> _Any:
    if name.startswith("__"):
        raise AttributeError(f"module 'gluonx.gluon' has no attribute {name!r}")
    return getattr(_gluonx, name)


def __dir__() -> list[str]:
    return sorted({*__all__, *dir(_gluonx)})
