"""Layers: thin blocks over core operators. A layer binds its operator once, and its forward is one call of it.

Which layers there are is what the modules name in their ``__all__``.
"""

import typing as _typing
from typing import Any as _Any

from gluonx.block.block import Block as Block
from gluonx.block.block import HybridBlock as HybridBlock
from gluonx.common import extensions as _extensions
from gluonx.nn import (
    activations,
    attention,
    basic,
    containers,
    conv,
    decoder,
    deformable,
    norm,
    pool,
    spatial,
    transformer,
)
from gluonx.nn.activations import *  # noqa: F403
from gluonx.nn.attention import *  # noqa: F403
from gluonx.nn.basic import *  # noqa: F403
from gluonx.nn.containers import *  # noqa: F403
from gluonx.nn.conv import *  # noqa: F403
from gluonx.nn.decoder import *  # noqa: F403
from gluonx.nn.deformable import *  # noqa: F403
from gluonx.nn.norm import *  # noqa: F403
from gluonx.nn.pool import *  # noqa: F403
from gluonx.nn.spatial import *  # noqa: F403
from gluonx.nn.transformer import *  # noqa: F403

__all__ = ["Block", "HybridBlock", "SymbolBlock"]
__all__ += activations.__all__
__all__ += attention.__all__
__all__ += basic.__all__
__all__ += containers.__all__
__all__ += conv.__all__
__all__ += decoder.__all__
__all__ += deformable.__all__
__all__ += norm.__all__
__all__ += pool.__all__
__all__ += spatial.__all__
__all__ += transformer.__all__

if _typing.TYPE_CHECKING:
    SymbolBlock: _Any
else:

    def __getattr__(name: str) -> _Any:
        if name == "SymbolBlock":  # imports nn
            return _extensions.NAMES["gluonx.nn.SymbolBlock"]
        raise AttributeError(f"module 'gluonx.nn' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
