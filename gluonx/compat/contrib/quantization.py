"""``mx.contrib.quantization``: what is there of it is `gluonx.quantization`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gluonx.common.absent import instead_of
from gluonx.quantization import CalibrationCollector as CalibrationCollector
from gluonx.quantization import quantize_net as quantize_net

__all__ = ["CalibrationCollector", "quantize_net", "quantize_net_v2"]


def quantize_net_v2(
    network: Any,
    quantized_dtype: str = "auto",
    quantize_mode: str = "full",
    quantize_granularity: str = "tensor-wise",
    exclude_layers: Any = None,
    exclude_layers_match: Any = None,
    exclude_operators: Any = None,
    calib_data: Any = None,
    data_shapes: Any = None,
    calib_mode: str = "none",
    num_calib_examples: int | None = None,
    ctx: Any = None,
    LayerOutputCollector: Any = None,
    logger: Any = None,
    **options: Any,
) -> Any:
    """Return a copy of a net in int8, by MXNet 1.9's keywords; see `gluonx.quantization.quantize_net`.

    Parameters
    ----------
    num_calib_examples : int, optional
        How many examples are looked at, in whole batches; all by default.
    ctx : Device, optional
        As `device` there.
    """
    if calib_data is not None and num_calib_examples is not None:
        calib_data = _first(calib_data, num_calib_examples)
    return quantize_net(
        network, quantized_dtype, quantize_mode, quantize_granularity, exclude_layers, exclude_layers_match,
        exclude_operators, calib_data, data_shapes, calib_mode,
        **{"device": ctx, "LayerOutputCollector": LayerOutputCollector, "logger": logger, **options},
    )  # fmt: skip


def quantize_net_v1(
    network: Any, quantized_dtype: str = "auto", quantize_mode: str = "full", *args: Any, **kwargs: Any
) -> Any:
    """Return the same as `quantize_net_v2`, which has the granularity as its fourth argument, in every form of it.

    It is ``quantize_net`` of a program for either version of MXNet: keywords may be those of both.
    """
    granularity = kwargs.pop("quantize_granularity", "tensor-wise")
    if args and isinstance(args[0], str):  # MXNet 2's order
        granularity, args = args[0], args[1:]
    return quantize_net_v2(network, quantized_dtype, quantize_mode, granularity, *args, **kwargs)


def _first(data: Any, count: int) -> list[Any]:
    """Return the batches up to the one that has the example of this number."""
    batches: list[Any] = []
    for batch in data:
        batches.append(batch)
        arrays = getattr(batch, "data", batch)
        count -= (arrays[0] if isinstance(arrays, (list, tuple)) else arrays).shape[0]
        if count <= 0:
            break
    return batches


if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        way = instead_of(f"mxnet.contrib.quantization.{name}")
        told = f": {way}" if way else ""
        raise AttributeError(f"module 'gluonx.contrib.quantization' has no attribute {name!r}{told}")
