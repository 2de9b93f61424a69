"""Operators that a symbol can be made of: those of MXNet 1 (`gluonx.compat.operators.table`) and those of MXNet 2."""

from __future__ import annotations

from gluonx.common.arguments import did_you_mean
from gluonx.compat.operators.row import LegacyOp
from gluonx.compat.operators.table import TABLE as LEGACY
from gluonx.compat.symbol.custom import CUSTOM
from gluonx.compat.symbol.ops2 import TABLE as MODERN

_OF_NUMPY = "atleast_1d atleast_2d atleast_3d copy cumsum diag dot max min moveaxis prod roll squeeze sum transpose"
FORMER = {f"_npi_{name}": f"_np_{name}" for name in _OF_NUMPY.split()}
"""What MXNet 1.9 calls some of MXNet 2's operators."""

_LATER = {former: name for name, former in FORMER.items()}


def find(name: str) -> LegacyOp | None:
    """Return the operator of this name or alias, or None."""
    name = _LATER.get(name, name)
    return MODERN.get(name) or LEGACY.get(name) or (CUSTOM if name == CUSTOM.name else None)


def get(name: str) -> LegacyOp:
    """Return the operator of this name or alias.

    Raises
    ------
    KeyError
        If there is none; the message names the nearest spelling.
    """
    found = find(name)
    if found is None:
        raise KeyError(f"there is no operator '{name}'{did_you_mean(name, names())}")
    return found


def names() -> list[str]:
    """Every name and alias."""
    return sorted({*MODERN, *LEGACY, CUSTOM.name})
