"""``gluonx.exchange`` of gluonx 0.1.0 is `gluonx.export`."""

import importlib
from typing import Any

__all__: list[str] = []


def __getattr__(name: str) -> Any:
    if name != "stablehlo":
        raise AttributeError(f"module 'gluonx.exchange' has no attribute {name!r}: it is gluonx.export now")
    return importlib.import_module("gluonx.exchange.stablehlo")
