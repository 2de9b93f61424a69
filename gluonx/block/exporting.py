"""``HybridBlock.export``: a net as a StableHLO artifact that serves where gluonx is not installed."""

from __future__ import annotations

import os
from collections.abc import Sequence
from os import PathLike
from typing import TYPE_CHECKING, Any

import jax

from gluonx.block.functional import Functional
from gluonx.common.extensions import EXPORTERS
from gluonx.deferred.trace.tracing import infer
from gluonx.errors import GluonxError, ShapeError, TracedValueError, UninitializedError
from gluonx.export.channels_last import ChannelsLast
from gluonx.export.stablehlo import InputSpec, save_artifact
from gluonx.files.places import Place, folder_written_elsewhere, is_path

if TYPE_CHECKING:
    from gluonx.block.block import HybridBlock


_NO_SIGNATURE = (
    "{name}.export needs to know what goes in. Call the hybridized net once, or give inputs=[...]: arrays of the "
    "right shape, or "
    "gluonx.export.stablehlo.InputSpec('data', ('b', 1, 8, 8), 'float32')."
)


_NOT_ANY_SIZE = (
    "{name} cannot be exported for any size of its inputs' first dimension, 'b': {told}. A net that holds an array of "
    "one batch size (a state, a mask), or whose inputs do not all begin with the batch (states begin with layers), "
    "needs to be told: dynamic_batch=False for the sizes of now, or inputs=[InputSpec('data0', ('b', 5), 'float32'), "
    "...] (gluonx.export.stablehlo.InputSpec), which names the dimensions that may have any size; a state that is "
    "an input and an output of forward, not an attribute, can have the batch's size."
)


def export_block(block: HybridBlock, path: Place, *options: Any) -> Any:
    """Write the artifact, to any kind of path; see :meth:`gluonx.HybridBlock.export`."""
    if is_path(path):
        return _export(block, os.fspath(path), *options)
    with folder_written_elsewhere(path, last="model.json") as folder:
        _export(block, folder, *options)
    return path


def _export(
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
    debug_info: bool = False,
    buckets: Sequence[int] = (),
) -> Any:
    format = format or block._block_names.export_format()
    if buckets and format != "stablehlo":
        raise ValueError(f"buckets are for format='stablehlo', not for {format!r}")
    if format in EXPORTERS:
        return EXPORTERS[format](block, path, _given(block, inputs), epoch)
    if format == "onnx":
        if layout is not None:
            raise ValueError("layout is for format='stablehlo'; for ONNX write the layers with layout='NHWC'")
        return _export_onnx(block, path, inputs, dynamic_batch, constraints)
    if format != "stablehlo":
        raise ValueError(f"format must be 'stablehlo', 'onnx' or 'mxnet', got {format!r}")
    specs = _specs(block, inputs, dynamic_batch)
    pure = Functional(block, reached=_reached(block, specs))
    if layout not in (None, "NHWC"):
        raise ValueError(f"layout must be 'NHWC' or None, got {layout!r}")
    if layout is not None:
        specs, pure._forward.trace = (
            jax.tree.map(_last, specs, is_leaf=lambda v: isinstance(v, InputSpec)),
            ChannelsLast,
        )

    def forward(params: dict[str, Any], *arrays: jax.Array) -> Any:
        trained = {name: params[name] for name in pure.params}
        state = {name: params[name] for name in pure.state}
        return pure.apply(trained, state, None, *arrays)[0]

    metadata = {"block": type(block).__name__}
    params = {**pure.params, **pure.state}
    try:
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
            debug_info=debug_info,
            buckets=buckets,
        )
    except Exception as error:  # the type of error for a symbolic size depends on the operation
        if not _opened(specs) or (inputs is not None and all(map(_is_spec, inputs))):
            raise
        traced = any(note.startswith("while exporting") for note in getattr(error, "__notes__", ()))
        told = type(error).__module__.startswith("jax") or isinstance(error, (ShapeError, TypeError, ValueError))
        if not (traced and told) or isinstance(error, TracedValueError):
            raise
        raise _not_any_size(block, error) from error


def _export_onnx(
    block: HybridBlock,
    path: str | PathLike[str],
    inputs: Sequence[Any] | None,
    dynamic_batch: bool,
    constraints: Sequence[str],
) -> Any:
    from jax.extend.core import InconclusiveDimensionOperation  # jax.errors of 0.10.0 lacks it

    from gluonx.export.onnx.export import export_onnx  # imports all rules

    specs = _specs(block, inputs, dynamic_batch)
    try:
        return export_onnx(block, path, specs, constraints)
    except InconclusiveDimensionOperation as error:
        if not _opened(specs) or (inputs is not None and all(map(_is_spec, inputs))):
            raise
        raise _not_any_size(block, error) from error


def _not_any_size(block: HybridBlock, error: Exception) -> ShapeError:
    told = str(error).strip().partition("\n")[0].rstrip(".")
    return ShapeError(_NOT_ANY_SIZE.format(name=type(block).__name__, told=told))


def _opened(specs: Any) -> bool:
    """Return whether an input has a dimension of any size."""
    leaves = jax.tree.leaves(specs, is_leaf=lambda v: isinstance(v, InputSpec))
    return any(isinstance(n, str) for spec in leaves for n in spec.shape)


def _reached(block: HybridBlock, specs: Sequence[Any]) -> bool:
    """Infer the shapes of all parameters that the forward uses; parameters that stay unknown are not exported."""
    if any(p._handle is not None and not p._is_ready for p in block._unique_params()):
        leaves, tree = jax.tree.flatten(list(specs), is_leaf=lambda v: isinstance(v, InputSpec))
        try:
            infer(lambda *arrays: block(*jax.tree.unflatten(tree, arrays)), [_of_some_size(spec) for spec in leaves])
        except GluonxError:  # it fails for these sizes: the net must be run before it is exported
            return False
    return True


def _of_some_size(spec: InputSpec) -> jax.ShapeDtypeStruct:
    """Return a size for each symbolic dimension."""
    return jax.ShapeDtypeStruct(tuple([n if isinstance(n, int) else 2 for n in spec.shape]), spec.dtype)


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


def _all_specs(name: str, value: object, dynamic_batch: bool) -> Any:
    """Return descriptions instead of arrays, also in lists and tuples of them, such as begin states."""
    if isinstance(value, list | tuple) and not hasattr(value, "shape"):
        return [_all_specs(f"{name}_{i}", x, dynamic_batch) for i, x in enumerate(value)]
    return _spec(name, value, dynamic_batch)


def _last(spec: InputSpec) -> InputSpec:
    """Return an image's description with the channels last."""
    if len(spec.shape) != 4:
        return spec
    batch, channel, *space = spec.shape
    return InputSpec(spec.name, (batch, *space, channel), spec.dtype)


def _is_spec(value: object) -> bool:
    return all(
        isinstance(leaf, InputSpec) for leaf in jax.tree.leaves(value, is_leaf=lambda v: isinstance(v, InputSpec))
    )


def _spec(name: str, array: Any, dynamic_batch: bool) -> InputSpec:
    shape: list[Any] = list(array.shape)
    if dynamic_batch and shape:
        shape[0] = "b"
    return InputSpec(name, tuple(shape), array.dtype)
