"""Gluon nets as modules of Flax, NNX and Linen, and modules of Flax as Gluon blocks; checkpoints of both.

Needs the extra ``flax``; ``import gluonx`` does not import it. docs/flax.md has the way through it, and how names map.
"""

from __future__ import annotations

from gluonx.flax.checkpoints import load_checkpoint, load_state, save_checkpoint, state_of
from gluonx.flax.from_linen import LinenBlock, from_linen
from gluonx.flax.from_nnx import NNXBlock, from_nnx
from gluonx.flax.names import Frozen
from gluonx.flax.to_linen import GluonLinen, to_linen
from gluonx.flax.to_nnx import GluonModule, to_nnx

__all__ = [
    "Frozen",
    "GluonLinen",
    "GluonModule",
    "LinenBlock",
    "NNXBlock",
    "from_linen",
    "from_nnx",
    "load_checkpoint",
    "load_state",
    "save_checkpoint",
    "state_of",
    "to_linen",
    "to_nnx",
]


def __dir__() -> list[str]:
    return sorted(__all__)
