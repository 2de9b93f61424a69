"""``mx.sym``: graphs of operators that are described first and computed later.

A *symbol* is one or several outputs of a graph whose leaves are named variables. There are four things to do with one:
compose it (``sym.FullyConnected(data, num_hidden=10)``, ``a + b``), look at it (``list_arguments``, ``get_internals``,
``infer_shape``), keep it (``tojson``, :func:`load`), and run it (``eval``, ``bind``, or as the forward of a
``gluon.SymbolBlock``). However it runs, it runs as one compiled program.

Every operator of MXNet 1 is a function here under its name and aliases, those with a prefix also in a namespace
(``sym.contrib.box_nms``); those of MXNet 2 are here as ``sym._npi_add``. New models need none of this: write a
``HybridBlock``.
"""

from typing import Any as _Any

from gluonx.compat.symbol import front as _front
from gluonx.compat.symbol.executor import Executor as Executor
from gluonx.compat.symbol.front import *  # noqa: F403
from gluonx.compat.symbol.front import internal as _internal  # noqa: F401 - as MXNet calls it
from gluonx.compat.symbol.symbol import Symbol as Symbol

__all__ = ["Executor", "Symbol"]
__all__ += _front.__all__


def __getattr__(name: str) -> _Any:
    if name.startswith("__"):
        raise AttributeError(name)
    made = globals()[name] = _front.find(name)
    return made


def __dir__() -> list[str]:
    return sorted(__all__)
