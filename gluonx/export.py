"""``HybridBlock.export``: a net as a StableHLO artifact that serves where gluonx is not installed."""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike
from typing import TYPE_CHECKING, Any

import jax

from gluonx import late
from gluonx.bridge import functional
from gluonx.channels import ChannelsLast
from gluonx.errors import ShapeError, UninitializedError
from gluonx.exchange.stablehlo import InputSpec, save_artifact
from gluonx.ops.lowering import native_forms

if TYPE_CHECKING:
    from gluonx.block import HybridBlock

__all__ = ["export_block"]

_NO_SIGNATURE = (
    "{name}.export needs to know what goes in. Call the hybridized net once, or give inputs=[...]: arrays of the "
    "right shape, or "
    "gluonx.exchange.stablehlo.InputSpec('data', ('b', 1, 8, 8), 'float32')."
)


class Format:
    """What ``export`` writes when it is not told; `gluonx.compat` sets it, as its programs read what they wrote."""

    default = "stablehlo"


def export_block(
    block: HybridBlock,
    path: str | PathLike[str],
    inputs: Sequence[Any] | None = None,
    dynamic_batch: bool = True,
    platforms: Sequence[str] | None = None,
    vjp_order: int = 0,
    format: str | None = None,
    epoch: int = 0,
    constraints: Sequence[str] = (),
    layout: str | None = None,
) -> Any:
    """Writes the artifact; see :meth:`gluonx.HybridBlock.export`."""
    format = format or Format.default
    if format == "mxnet":
        return late.wanted("export_mxnet")(block, path, _given(block, inputs), epoch)
    if format == "onnx":
        if layout is not None:
            raise ValueError("layout is for format='stablehlo'; for ONNX write the layers with layout='NHWC'")
        return late.wanted("export_onnx")(block, path, _specs(block, inputs, dynamic_batch), constraints)
    if format != "stablehlo":
        raise ValueError(f"format must be 'stablehlo', 'onnx' or 'mxnet', got {format!r}")
    specs = _specs(block, inputs, dynamic_batch)
    pure = functional(block)
    if layout not in (None, "NHWC"):
        raise ValueError(f"layout must be 'NHWC' or None, got {layout!r}")
    if layout is not None:
        specs, pure._trace = jax.tree.map(_last, specs, is_leaf=lambda v: isinstance(v, InputSpec)), ChannelsLast

    def forward(params: dict[str, Any], *arrays: Any) -> Any:
        trained = {name: params[name] for name in pure.params}
        state = {name: params[name] for name in pure.state}
        return pure.apply(trained, state, None, *arrays)[0]

    metadata = {"block": type(block).__name__}
    params = {**pure.params, **pure.state}
    with native_forms():  # whoever compiles the artifact knows the operations, not our ways around one compiler's loops
        return save_artifact(
            path,
            forward,
            params,
            specs,
            platforms=platforms,
            vjp_order=vjp_order,
            constraints=constraints,
            metadata=metadata,
            state=list(pure.state),
        )


def _given(block: HybridBlock, inputs: Sequence[Any] | None) -> Sequence[Any]:
    if inputs is None:
        traced = block._traced
        inputs = traced.last_inputs if traced is not None else None
        if inputs is None:
            raise UninitializedError(_NO_SIGNATURE.format(name=type(block).__name__))
    if not inputs:
        raise ShapeError(_NO_SIGNATURE.format(name=type(block).__name__))
    return inputs


def _specs(block: HybridBlock, inputs: Sequence[Any] | None, dynamic_batch: bool) -> list[Any]:
    inputs = _given(block, inputs)
    names = ["data"] if len(inputs) == 1 else [f"data{i}" for i in range(len(inputs))]
    return [x if _is_spec(x) else _all_specs(name, x, dynamic_batch) for name, x in zip(names, inputs, strict=True)]


def _all_specs(name: str, value: Any, dynamic_batch: bool) -> Any:
    """Descriptions in the place of arrays, also in lists and tuples of them, such as begin states."""
    if isinstance(value, list | tuple) and not hasattr(value, "shape"):
        return [_all_specs(f"{name}_{i}", x, dynamic_batch) for i, x in enumerate(value)]
    return _spec(name, value, dynamic_batch)


def _last(spec: InputSpec) -> InputSpec:
    """An image's description with the channels last."""
    if len(spec.shape) != 4:
        return spec
    batch, channel, *space = spec.shape
    return InputSpec(spec.name, (batch, *space, channel), spec.dtype)


def _is_spec(value: Any) -> bool:
    return all(
        isinstance(leaf, InputSpec) for leaf in jax.tree.leaves(value, is_leaf=lambda v: isinstance(v, InputSpec))
    )


def _spec(name: str, array: Any, dynamic_batch: bool) -> InputSpec:
    shape: list[Any] = list(array.shape)
    if dynamic_batch and shape:
        shape[0] = "b"
    return InputSpec(name, tuple(shape), array.dtype)
