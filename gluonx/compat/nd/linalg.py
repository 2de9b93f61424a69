"""``mx.nd.linalg``: the operators whose registered name begins with ``_linalg_``."""

from __future__ import annotations

from gluonx.compat.nd.names import module_of

__all__: list[str] = []

__getattr__, __dir__ = module_of(globals(), "linalg")
