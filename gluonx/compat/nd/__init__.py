"""``mx.nd``, which is also the F of ``hybrid_forward``: MXNet 1's functions on arrays.

Every operator of the table (`gluonx.compat.operators.table`) is a function here by its name; those of ``_contrib_x``,
``_linalg_x``, ``_random_x`` and ``_image_x`` stand in `contrib`, `linalg`, `random` and `image`. A function is made
when it is first looked up.
"""

from __future__ import annotations

import importlib
from typing import Any

from gluonx.compat.nd import creation as creation
from gluonx.compat.nd.names import lookup, public_names
from gluonx.compat.nd.ndarray import NDArray as NDArray

_MODULES = ("contrib", "image", "linalg", "random", "sparse", "op", "_internal")
_OTHERS = {"np": "gluonx.np", "npx": "gluonx.npx", "numpy": "gluonx.np", "numpy_extension": "gluonx.npx"}

__all__ = ["NDArray", *creation.__all__]  # noqa: PLE0604
__all__ += [name for name in public_names("nd") if name not in __all__]


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        found = importlib.import_module(f"gluonx.compat.nd.{name}")
    elif name in _OTHERS:
        found = importlib.import_module(_OTHERS[name])
    elif name == "Custom":
        found = importlib.import_module("gluonx.compat.operator").custom
    elif name in creation.__all__:
        found = getattr(creation, name)
    else:
        found = lookup(name, "nd")
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*__all__, *[name for name in _MODULES if name[0] != "_"]})
