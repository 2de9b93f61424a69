"""``mx.contrib.quantization``: what is there of it is `gluonx.quantization`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gluonx._absent import instead_of
from gluonx.quantization import CalibrationCollector as CalibrationCollector
from gluonx.quantization import quantize_net as quantize_net

__all__ = ["CalibrationCollector", "quantize_net"]

if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        way = instead_of(f"mxnet.contrib.quantization.{name}")
        told = f": {way}" if way else ""
        raise AttributeError(f"module 'gluonx.contrib.quantization' has no attribute {name!r}{told}")
