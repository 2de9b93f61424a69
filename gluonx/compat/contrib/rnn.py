"""``gluon.contrib.rnn``: cells of MXNet 1 that stand in `gluonx.rnn`."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

__all__: list[str] = []

if TYPE_CHECKING:
    from gluonx.rnn import *  # noqa: F403
else:

    def __getattr__(name: str) -> Any:
        return getattr(importlib.import_module("gluonx.rnn"), name)
