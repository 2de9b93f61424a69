"""Everything that is here for MXNet's sake, and running programs that were written for it.

``python -m gluonx.compat script.py args`` runs an unmodified script; `install_as_mxnet` does the same for the process
that calls it, until `uninstall`: ``import mxnet as mx`` gives gluonx. Beside that live here `nd` and `symbol`,
`module`, `io`, `SymbolBlock`, prefixes and name scopes of blocks, `callback`, `runtime`, `util`, and the table of
MXNet 1's operators. Nothing outside this package imports it but the table of names in ``gluonx/__init__.py``.
"""

from __future__ import annotations

import importlib
from typing import Any

__all__ = ["VERSION", "Absent", "install_as_mxnet", "installed", "uninstall"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'gluonx.compat' has no attribute {name!r}")
    module = "absent" if name == "Absent" else "hook"
    found = globals()[name] = getattr(importlib.import_module(f"gluonx.compat.alias.{module}"), name)
    return found


def __dir__() -> list[str]:
    return sorted(__all__)
