"""``mx.nd.linalg``: the operators whose registered name begins with ``_linalg_``."""

from __future__ import annotations

from typing import Any

from gluonx.compat.nd.names import lookup, public_names

__all__: list[str] = []


def __getattr__(name: str) -> Any:
    found = globals()[name] = lookup(name, "linalg")
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *public_names("linalg")})
