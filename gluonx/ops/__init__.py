"""The core operators: pure functions on JAX arrays, one file a family, in one registry.

Every operator is an attribute of this package, by its name or alias: ``ops.softmax`` is ``ops.get("softmax")``.
Registering an operator makes it public; other names without an underscore are helpers that other modules import.
"""

from typing import Any as _Any

from gluonx.ops import attention as attention
from gluonx.ops import boxes as boxes
from gluonx.ops import colour as colour
from gluonx.ops import conv as conv
from gluonx.ops import deformable as deformable
from gluonx.ops import dot_attention as dot_attention
from gluonx.ops import elementwise as elementwise
from gluonx.ops import image as image
from gluonx.ops import indexing as indexing
from gluonx.ops import int8 as int8
from gluonx.ops import intgemm as intgemm
from gluonx.ops import layers as layers
from gluonx.ops import losses as losses
from gluonx.ops import metrics as metrics
from gluonx.ops import multibox as multibox
from gluonx.ops import nn as nn
from gluonx.ops import normalization as normalization
from gluonx.ops import outputs as outputs
from gluonx.ops import pool as pool
from gluonx.ops import proposal as proposal
from gluonx.ops import quantize as quantize
from gluonx.ops import reduce as reduce
from gluonx.ops import regions as regions
from gluonx.ops import rnn as rnn
from gluonx.ops import sampling as sampling
from gluonx.ops import tensor as tensor
from gluonx.ops import updates as updates
from gluonx.ops import vision as vision
from gluonx.ops import warp as warp
from gluonx.ops.registry import HINTS as HINTS
from gluonx.ops.registry import OPS as OPS
from gluonx.ops.registry import BoundOp as BoundOp
from gluonx.ops.registry import Op as Op
from gluonx.ops.registry import get as get
from gluonx.ops.registry import register as register

__all__ = ["HINTS", "OPS", "BoundOp", "Op", "get", "register"]


def __getattr__(name: str) -> _Any:
    try:
        return OPS[name]
    except KeyError:
        raise AttributeError(f"module '{__name__}' has no attribute or operator '{name}'") from None


def __dir__() -> list[str]:
    return sorted({*__all__, *OPS})
