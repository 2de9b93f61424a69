"""Module names that stand for others: ``gluonx.gluon`` is gluonx, so ``gluonx.gluon.nn`` is ``gluonx.nn``.

An import of an alias gives the very module that it stands for, not a second copy. Names of MXNet that stand for nothing
here are listed too, with what to use instead, for the error of someone who looks for them.
"""

from __future__ import annotations

import importlib
import sys
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

__all__ = ["SHORT", "absent", "install"]

# By their names in MXNet; `gluonx.context` is an attribute of gluonx and an importable module, as the others are.
SHORT = {
    "base": "gluonx.errors",
    "context": "gluonx.device",
    "error": "gluonx.errors",
    "init": "gluonx.initializer",
    "mod": "gluonx.module",
    "model": "gluonx.compat.model",
    "nd": "gluonx.legacy.nd",
    "numpy": "gluonx.np",
    "numpy_extension": "gluonx.npx",
    "operator": "gluonx.legacy.operator",
    "sym": "gluonx.symbol",
}
_ALIASES = {"gluonx.gluon": "gluonx", **{f"gluonx.{name}": module for name, module in SHORT.items()}}

_NOT_YET = "it is not in this version"
_ABSENT = {
    "estimator": _NOT_YET,
    "image": _NOT_YET,
    "kv": "XLA's collectives take its place; Trainer accepts kvstore=...",
    "kvstore": "XLA's collectives take its place; Trainer accepts kvstore=...",
    "probability": _NOT_YET,
    "recordio": _NOT_YET,
    "rtc": "gluonx.from_jax takes any JAX function, Pallas kernels included",
    "test_utils": "use numpy.testing",
    "viz": "use Block.summary()",
}


def absent(name: str) -> str:
    """The message of the AttributeError for a name that gluonx does not have.

    Examples
    --------
    >>> absent("viz")
    "module 'gluonx' has no attribute 'viz': use Block.summary()"
    """
    hint = f": {_ABSENT[name]}" if name in _ABSENT else ""
    return f"module 'gluonx' has no attribute {name!r}{hint}"


def _real_name(name: str) -> str | None:
    for alias, real in _ALIASES.items():
        if name == alias or name.startswith(alias + "."):
            return real + name[len(alias) :]
    return None


class _AliasFinder(MetaPathFinder, Loader):
    """Finds the module behind an alias; hands it on as it is."""

    def __init__(self) -> None:
        self.specs: dict[str, Any] = {}

    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        return None if _real_name(fullname) is None else ModuleSpec(fullname, self)

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        real = _real_name(spec.name)
        assert real is not None, "find_spec has found it"
        module = importlib.import_module(real)
        self.specs[spec.name] = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        assert module.__spec__ is not None, "the import system has just set it"
        module.__spec__ = self.specs.pop(module.__spec__.name)


def install() -> None:
    """Makes the aliases importable."""
    if not any(isinstance(finder, _AliasFinder) for finder in sys.meta_path):
        sys.meta_path.insert(0, _AliasFinder())
