"""What a lower floor may ask for without knowing who provides it.

The methods of ndarray are functions of ``gluonx.np``, which is made of ndarrays. So ndarray asks here for its methods
when one is first used, and the package's ``__init__``, which stands above all, says where they are.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

__all__ = ["provide", "wanted"]

_providers: dict[str, Callable[[], Any]] = {}


def provide(name: str, provider: Callable[[], Any]) -> None:
    """Says how to get `name`."""
    _providers[name] = provider


def wanted(name: str) -> Any:
    """Gets what was provided under `name`."""
    return _providers[name]()
