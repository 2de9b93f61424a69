"""``gluon.contrib.cnn``: deformable convolutions, which stand in `gluonx.nn`."""

from __future__ import annotations

from typing import Any

from gluonx import nn

__all__: list[str] = []


def __getattr__(name: str) -> Any:
    return getattr(nn, name)
