"""Module names that stand for others: ``gluonx.gluon`` has what gluonx has, and ``gluonx.gluon.nn`` is ``gluonx.nn``.

An import of an alias gives the very module that it stands for, not a second copy. No alias has a file. Python looks for
the parts of a package in the folders of its ``__path__`` and keeps a finder for each folder; `path_of` adds one folder
that does not exist to the path of ``gluonx`` and of ``gluonx.gluon``, and its finder knows the table. Python's lists of
finders and hooks, ``sys.meta_path`` and ``sys.path_hooks``, stay as they are.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import pkgutil
import sys
from collections.abc import Iterator, Mapping
from importlib.machinery import ModuleSpec
from types import ModuleType

__all__ = ["GLUON", "SHORT", "absent", "path_of"]

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
    "sym": "gluonx.compat.symbol",
    "symbol": "gluonx.compat.symbol",
    "symbol_block": "gluonx.compat.symbol_block",
    "test_utils": "gluonx.compat.test_utils",
    "util": "gluonx.compat.util",
    "visualization": "gluonx.compat.visualization",
    "viz": "gluonx.compat.visualization",
}
GLUON = {
    name: SHORT.get(name, f"gluonx.{name}")
    for name in (
        "block", "contrib", "data", "loss", "metric", "model_zoo", "nn", "parameter", "probability", "rnn",
        "symbol_block", "trainer", "utils",
    )
}  # fmt: skip
"""The modules of ``gluonx.gluon``, each one of gluonx."""


def absent(name: str) -> str:
    """Return the message of the AttributeError for a name that gluonx does not have.

    Examples
    --------
    >>> absent("library")
    "module 'gluonx' has no attribute 'library': write an operator with gluonx.from_jax"
    """
    from gluonx.common.absent import instead_of  # a long table, for an error only

    way = instead_of(f"mxnet.{name}")
    return f"module 'gluonx' has no attribute {name!r}{': ' + way if way else ''}"


class _Finder:
    """The finder of a folder that does not exist, in which each module stands for another one."""

    def __init__(self, package: str, names: Mapping[str, str]) -> None:
        self.package = package
        self.names = names

    def find_spec(self, name: str, target: ModuleType | None = None) -> ModuleSpec | None:
        """Return the spec of an alias, None for every other name."""
        package, _, last = name.rpartition(".")
        known = package == self.package and last in self.names
        return importlib.util.spec_from_loader(name, self) if known else None  # type: ignore[arg-type]

    def create_module(self, spec: ModuleSpec) -> None:
        """Leave it to Python to make the module, which is thrown away: `exec_module` puts another in its place."""

    def exec_module(self, module: ModuleType) -> None:
        """Put the module that the alias stands for, and all its parts, under the name of the alias."""
        _stand_for(module.__name__, self.names[module.__name__.rpartition(".")[2]])

    def iter_modules(self, prefix: str = "") -> Iterator[tuple[str, bool]]:
        """Give the names of the aliases to `pkgutil`; none is a package, or it would walk through its parts twice."""
        yield from ((prefix + name, False) for name in self.names)


def path_of(package: str, folder: str, names: Mapping[str, str]) -> str:
    """Enter a finder of aliases for a folder that does not exist, and return the folder, for a package's ``__path__``.

    Parameters
    ----------
    package : str
        The package whose parts the aliases are to be, such as ``gluonx.gluon``.
    folder : str
        The folder of the package.
    names : mapping of str to str
        The last part of each alias, and the whole name of the module that it stands for.
    """
    path = os.path.join(os.path.abspath(folder), "<aliases>")
    sys.path_importer_cache[path] = _Finder(package, names)  # type: ignore[assignment]
    return path


def _stand_for(alias: str, real: str) -> None:
    """Enter a module under its alias, and its parts too: Python would find their files and run them a second time."""
    module = sys.modules[alias] = importlib.import_module(real)
    for part in pkgutil.iter_modules(getattr(module, "__path__", ())):
        if part.name != "__main__":
            _stand_for(f"{alias}.{part.name}", f"{real}.{part.name}")
