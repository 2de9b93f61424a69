"""Automatic mixed precision: most of a net in float16 or bfloat16, the rest in float32, weights in float32.

Three lines make a training loop of float32 one of mixed precision (docs/amp.md)::

    amp.init("bfloat16")
    amp.init_trainer(trainer)
    with amp.scale_loss(loss, trainer) as scaled: scaled.backward()
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gluonx.amp.convert import convert_hybrid_block as convert_hybrid_block
from gluonx.amp.lists import list_conditional_fp32_ops as list_conditional_fp32_ops
from gluonx.amp.lists import list_fp32_ops as list_fp32_ops
from gluonx.amp.lists import list_loss_output_functions as list_loss_output_functions
from gluonx.amp.lists import list_lp16_fp32_ops as list_lp16_fp32_ops
from gluonx.amp.lists import list_lp16_ops as list_lp16_ops
from gluonx.amp.lists import list_lp16_use_fp32_params as list_lp16_use_fp32_params
from gluonx.amp.lists import list_widest_type_cast as list_widest_type_cast
from gluonx.amp.scaling import LossScaler as LossScaler
from gluonx.amp.scaling import init_trainer as init_trainer
from gluonx.amp.scaling import scale_loss as scale_loss
from gluonx.amp.scaling import unscale as unscale
from gluonx.amp.state import init as init
from gluonx.amp.state import reset as reset
from gluonx.common import extensions

__all__ = [
    "LossScaler",
    "convert_hybrid_block",
    "convert_model",
    "convert_symbol",
    "init",
    "init_trainer",
    "list_conditional_fp32_ops",
    "list_fp32_ops",
    "list_loss_output_functions",
    "list_lp16_fp32_ops",
    "list_lp16_ops",
    "list_lp16_use_fp32_params",
    "list_widest_type_cast",
    "reset",
    "scale_loss",
    "unscale",
]

_OF_SYMBOLS = ("convert_model", "convert_symbol")

if TYPE_CHECKING:
    convert_model: Any  # of `gluonx.compat`, as the next
    convert_symbol: Any
else:

    def __getattr__(name: str) -> Any:
        if name not in _OF_SYMBOLS:
            raise AttributeError(f"module 'gluonx.amp' has no attribute {name!r}")
        return extensions.NAMES[f"gluonx.amp.{name}"]


def __dir__() -> list[str]:
    return sorted({*__all__, *_OF_SYMBOLS})
