"""gluonx: Gluon, reborn on JAX.

The front end of Apache MXNet's Gluon (Block, HybridBlock, Parameter, Trainer, ``autograd.record()``) over one
deferred graph of core operators, which JAX compiles and XLA runs. ``import gluonx as mx`` or ``from gluonx import
gluon, np, npx, autograd``.
"""

from __future__ import annotations

import importlib
from typing import Any

from gluonx.common import aliases, extensions, process

__version__ = "0.2.0"

_MODULES = aliases.SHORT
__path__ = [*__path__, aliases.path_of("gluonx", __path__[0], aliases.SHORT)]
_NAMES = {
    "gluonx.block": ("Block", "HybridBlock"),
    "gluonx.block.fusion.layout": ("Fused",),
    "gluonx.compat.attribute": ("AttrScope",),
    "gluonx.block.parameter": ("Constant", "Parameter"),
    "gluonx.compat.parameter_dict": ("ParameterDict",),
    "gluonx.compat.symbol_block": ("SymbolBlock",),
    "gluonx.trainer": ("Trainer",),
    "gluonx.block.functional": ("from_jax", "functional"),
    "gluonx.generation": ("generate", "stream"),
    "gluonx.device": (
        "Context",
        "Device",
        "cpu",
        "cpu_pinned",
        "current_context",
        "current_device",
        "gpu",
        "num_gpus",
        "tpu",
    ),
    "gluonx.engine": ("waitall",),
    "gluonx.block.artifact": ("load",),
    "gluonx.errors": ("DeferredInitializationError", "GluonxError", "MXNetError"),
    "gluonx.compat.util": (
        "is_np_array",
        "is_np_default_dtype",
        "is_np_shape",
        "np_array",
        "np_default_dtype",
        "np_shape",
        "set_np_shape",
        "use_np",
        "use_np_array",
        "use_np_default_dtype",
        "use_np_shape",
    ),
}
_EXTRAS = ("flax",)  # modules that need an extra: no part of `import *`
_WHERE = {name: module for module, names in _NAMES.items() for name in names}

_OWN = (
    "__version__", "amp", "autograd", "block", "checkpoint", "compat", "data", "device", "dtype", "ema", "engine",
    "errors", "estimator", "export", "files", "generation", "gluon", "image", "initializer", "lora", "loss",
    "lr_scheduler", "metric", "model_zoo", "nn", "np", "npx", "ops", "optimizer", "parallel", "probability",
    "quantization", "random", "rnn", "sparse", "trainer", "utils", "weights",
)  # fmt: skip
_UNSHOWN = {"ndarray", "symbol_block"}  # modules by names of MXNet that nobody needs to complete

__all__ = [*sorted({*_WHERE, *_OWN, *aliases.SHORT} - _UNSHOWN)]  # noqa: PLE0604


def __getattr__(name: str) -> Any:
    if not (name in _WHERE or name in __all__ or name in _EXTRAS):
        raise AttributeError(aliases.absent(name))
    with process.uncollected():
        if name in _WHERE:
            found = getattr(importlib.import_module(_WHERE[name]), name)
        else:
            found = importlib.import_module(_MODULES.get(name, f"gluonx.{name}"))
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*__all__, *_EXTRAS})


extensions.EXPORTERS.offer("mxnet", "gluonx.compat.symbol.exporting:export_mxnet")
extensions.NAMES.offer("gluonx.Block.itself", "gluonx.compat.privates:is_called_as_a_reference")
extensions.NAMES.offer("gluonx.amp.LossScaler", "gluonx.amp.scaling:LossScaler")
extensions.NAMES.offer("gluonx.amp.convert_model", "gluonx.compat.symbol.amp:convert_model")
extensions.NAMES.offer("gluonx.amp.convert_symbol", "gluonx.compat.symbol.amp:convert_symbol")
extensions.NAMES.offer("gluonx.deferred.get_symbol", "gluonx.compat.symbol.exporting:get_symbol")
for _name in ("ImageDetIter", "ImageIter"):
    extensions.NAMES.offer(f"gluonx.image.{_name}", f"gluonx.compat.io.image_iter:{_name}")
extensions.NAMES.offer("gluonx.gluon.Parameter.var", "gluonx.compat.symbol.calling:symbol_of_parameter")
extensions.NAMES.offer("gluonx.kvstore", "gluonx.compat.kvstore:store_of")
extensions.NAMES.offer("gluonx.np.array", "gluonx.np.creation:array")
extensions.NAMES.offer("gluonx.np.methods", "gluonx.np.methods:module")
extensions.NAMES.offer("gluonx.kvstore.create", "gluonx.compat.kvstore:create")
extensions.NAMES.offer("gluonx.kvstore.beside", "gluonx.compat.kvstore:StoreBeside")
extensions.NAMES.offer("gluonx.nn.SymbolBlock", "gluonx.compat.symbol_block:SymbolBlock")
extensions.NAMES.offer("gluonx.operator.on_symbols", "gluonx.compat.symbol:Custom")
extensions.NAMES.offer("gluonx.symbol.call", "gluonx.compat.symbol.calling:call_with_symbols")
extensions.NAMES.offer("gluonx.sparse.attach_rows", "gluonx.sparse.storage:attach_rows")
extensions.NAMES.offer("gluonx.sparse.cast_storage", "gluonx.sparse.functions:cast_storage")
extensions.NAMES.offer("gluonx.nd.computed_by", "gluonx.compat.operators.table:computed_by")
extensions.NAMES.offer("gluonx.nd.NDArray.as_np_ndarray", "gluonx.compat.kinds:shared_np")
extensions.NAMES.offer("gluonx.np.ndarray.as_nd_ndarray", "gluonx.compat.kinds:shared_nd")
extensions.BLOCK_MEMBERS.offer("hybrid_forward", "gluonx.compat.prefixes:defines_hybrid_forward")
extensions.BLOCK_METHODS.offer("forward", "gluonx.compat.hybrid_forward:forward_of_super")
extensions.BLOCK_METHODS.offer("hybrid_forward", "gluonx.compat.hybrid_forward:hybrid_forward_of_super")
for _name in ("prefix", "params"):
    extensions.BLOCK_KEYWORDS.offer(_name, "gluonx.compat.prefixes:takes_keywords")
for _name in ("prefix", "name", "name_scope", "_prefix", "_params", "_counter", "_init_counter"):
    extensions.BLOCK_ATTRIBUTES.offer(_name, "gluonx.compat.prefixes:attribute")
for _name in ("_cached_graph", "_collect_params_with_prefix", "_get_activation", "_in_format", "_out_format"):
    extensions.BLOCK_ATTRIBUTES.offer(_name, "gluonx.compat.privates:attribute")
extensions.LAMBDAS.offer("name", "gluonx.compat.hybrid_forward:function_of_name")
extensions.LAMBDAS.offer("F", "gluonx.compat.hybrid_forward:with_namespace")
process.start()
