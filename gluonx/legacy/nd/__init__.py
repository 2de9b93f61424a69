"""``mx.nd``, which is also the F of ``hybrid_forward``: MXNet 1's functions on arrays.

Every operator of the table (`gluonx.legacy.table`) is a function here by its name; those of ``_contrib_x``,
``_linalg_x``, ``_random_x`` and ``_image_x`` stand in `contrib`, `linalg`, `random` and `image`. A function is made
when it is first looked up.
"""

from __future__ import annotations

import importlib
from typing import Any

from gluonx.legacy.array import NDArray as NDArray
from gluonx.legacy.nd import creation as creation
from gluonx.legacy.nd.names import lookup, public_names

_MODULES = ("contrib", "image", "linalg", "random", "sparse", "op", "_internal")
_OTHERS = {"np": "gluonx.np", "npx": "gluonx.npx", "numpy": "gluonx.np", "numpy_extension": "gluonx.npx"}

__all__ = ["NDArray"]


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        found = importlib.import_module(f"gluonx.legacy.nd.{name}")
    elif name in _OTHERS:
        found = importlib.import_module(_OTHERS[name])
    elif name == "Custom":
        found = importlib.import_module("gluonx.legacy.operator").custom
    elif name in creation.__all__:
        found = getattr(creation, name)
    else:
        found = lookup(name, "nd")
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *creation.__all__, *public_names("nd"), *_MODULES})
