"""Module names that stand for others: ``gluonx.gluon`` has what gluonx has, and ``gluonx.gluon.nn`` is ``gluonx.nn``.

An import of an alias gives the very module that it stands for, not a second copy. Each alias has a file, in
``gluonx/gluon`` or ``gluonx/_names``, which calls `stand_for`; so no finder is hooked into Python's imports.

Names that only stand in pickles of gluonx 0.1.0 have no file: `remember_moves` enters them, each as a module that has
nothing of its own and hands on what is where it moved to.
"""

from __future__ import annotations

import importlib
import pkgutil
import sys
import types
from typing import Any

__all__ = ["FORMER", "MOVED", "SHORT", "absent", "remember_moves", "stand_for"]

# By their names in MXNet; `gluonx.context` is an attribute of gluonx and an importable module, as the others are.
SHORT = {
    "attribute": "gluonx.compat.attribute",
    "base": "gluonx.errors",
    "callback": "gluonx.compat.callback",
    "context": "gluonx.device",
    "contrib": "gluonx.compat.contrib",
    "error": "gluonx.errors",
    "img": "gluonx.image",
    "init": "gluonx.initializer",
    "io": "gluonx.compat.io",
    "kv": "gluonx.compat.kvstore",
    "kvstore": "gluonx.compat.kvstore",
    "log": "gluonx.compat.log",
    "mod": "gluonx.compat.module",
    "model": "gluonx.compat.model",
    "module": "gluonx.compat.module",
    "mon": "gluonx.compat.monitor",
    "monitor": "gluonx.compat.monitor",
    "name": "gluonx.compat.name",
    "nd": "gluonx.compat.nd",
    "ndarray": "gluonx.compat.nd",
    "numpy": "gluonx.np",
    "numpy_extension": "gluonx.npx",
    "onnx": "gluonx.compat.onnx",
    "operator": "gluonx.compat.operator",
    "parameter": "gluonx.block.parameter",
    "recordio": "gluonx.data.recordio",
    "registry": "gluonx.compat.registry",
    "runtime": "gluonx.compat.runtime",
    "serialize": "gluonx.files",
    "sym": "gluonx.compat.symbol",
    "symbol": "gluonx.compat.symbol",
    "symbol_block": "gluonx.compat.symbol_block",
    "test_utils": "gluonx.compat.test_utils",
    "util": "gluonx.compat.util",
    "visualization": "gluonx.compat.visualization",
    "viz": "gluonx.compat.visualization",
}
FORMER = ("exchange", "serialize")  # of gluonx 0.1.0; they warn, and so no `dir` shows them
# Modules of gluonx 0.1.0 that its pickles name, and where they are now.
MOVED = {
    "gluonx.blocktools": "gluonx.block.tools",
    "gluonx.calls": "gluonx.block.bulking",
    "gluonx.forms": "gluonx.block.fusion.files",
    "gluonx.fused": "gluonx.block.fusion.blocks",
    "gluonx.naming": "gluonx.compat.prefixes",
    "gluonx.parameterdict": "gluonx.compat.parameter_dict",
    "gluonx.pieces": "gluonx.block.fusion.pieces",
    "gluonx.deferred.fusion": "gluonx.block.fusion.layout",
}
_ALIASES = {
    "gluonx.gluon": "gluonx",
    "gluonx.exchange.stablehlo": "gluonx.export.stablehlo",  # of gluonx 0.1.0
    **{f"gluonx.{name}": module for name, module in SHORT.items()},
}


def absent(name: str) -> str:
    """Return the message of the AttributeError for a name that gluonx does not have.

    Examples
    --------
    >>> absent("library")
    "module 'gluonx' has no attribute 'library': write an operator with gluonx.from_jax"
    """
    from gluonx._absent import instead_of  # a long table, for an error only

    way = instead_of(f"mxnet.{name}")
    return f"module 'gluonx' has no attribute {name!r}{': ' + way if way else ''}"


def _real_name(name: str) -> str | None:
    for alias, real in _ALIASES.items():
        if name == alias or name.startswith(alias + "."):
            return real + name[len(alias) :]
    return None


def stand_for(alias: str) -> None:
    """Put the module that `alias` stands for in its place; called by a file that is the alias and does nothing else.

    Python imports a name by a file of that name, and takes what the file puts into ``sys.modules`` for the module. The
    parts of a package are put there too: Python would find their files below the alias and run them a second time.

    Parameters
    ----------
    alias : str
        The ``__name__`` of the file, such as ``gluonx.gluon.nn`` or ``gluonx.nd``.
    """
    real = _real_name(alias)
    if real is None:
        raise ImportError(f"{alias} stands for no module of gluonx")
    module = sys.modules[alias] = importlib.import_module(real)
    for part in pkgutil.iter_modules(getattr(module, "__path__", ())):
        if part.name != "__main__":
            stand_for(f"{alias}.{part.name}")


class _Moved(types.ModuleType):
    """A module under its former name; what it is asked for is imported from where that is now."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # of tools that look at every module there is; nothing is imported for them
            raise AttributeError(name)
        return getattr(importlib.import_module(MOVED[self.__name__]), name)


def remember_moves() -> None:
    """Let pickles find what they name by modules of gluonx 0.1.0: Python looks into ``sys.modules`` first."""
    for name in MOVED:
        sys.modules.setdefault(name, _Moved(name, f"Moved to `{MOVED[name]}`."))
