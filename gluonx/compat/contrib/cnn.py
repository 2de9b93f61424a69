"""``gluon.contrib.cnn``: deformable convolutions, which stand in `gluonx.nn`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gluonx import nn

__all__: list[str] = []

if TYPE_CHECKING:
    from gluonx.nn import *  # noqa: F403
else:

    def __getattr__(name: str) -> Any:
        return getattr(nn, name)
