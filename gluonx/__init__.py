"""gluonx: Gluon, reborn on JAX.

The front end of Apache MXNet's Gluon (Block, HybridBlock, Parameter, Trainer, ``autograd.record()``) over one
deferred graph of core operators, which JAX compiles and XLA runs. ``import gluonx as mx`` or ``from gluonx import
gluon, np, npx, autograd``.
"""

from __future__ import annotations

import importlib
from typing import Any

from gluonx import aliases, late
from gluonx.uncollected import uncollected

__version__ = "0.1.0"

_MODULES = {"gluon": "gluonx", **aliases.SHORT}
_NAMES = {
    "gluonx.block": ("Block", "HybridBlock"),
    "gluonx.fused": ("Fused",),
    "gluonx.attribute": ("AttrScope",),
    "gluonx.parameter": ("Constant", "Parameter"),
    "gluonx.parameterdict": ("ParameterDict",),
    "gluonx.symbol_block": ("SymbolBlock",),
    "gluonx.trainer": ("Trainer",),
    "gluonx.bridge": ("from_jax", "functional"),
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
    "gluonx.exchange.serving": ("load",),
    "gluonx.errors": ("DeferredInitializationError", "GluonxError", "MXNetError"),
    "gluonx.util": (
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
_WHERE = {name: module for module, names in _NAMES.items() for name in names}

__all__ = [
    "AttrScope",
    "Block",
    "Constant",
    "Context",
    "DeferredInitializationError",
    "Device",
    "Fused",
    "GluonxError",
    "HybridBlock",
    "MXNetError",
    "Parameter",
    "ParameterDict",
    "SymbolBlock",
    "Trainer",
    "__version__",
    "amp",
    "attribute",
    "autograd",
    "base",
    "block",
    "callback",
    "compat",
    "context",
    "contrib",
    "cpu",
    "cpu_pinned",
    "current_context",
    "current_device",
    "data",
    "device",
    "dtype",
    "engine",
    "error",
    "errors",
    "exchange",
    "export",
    "from_jax",
    "functional",
    "gluon",
    "gpu",
    "init",
    "initializer",
    "io",
    "legacy",
    "is_np_array",
    "is_np_default_dtype",
    "is_np_shape",
    "load",
    "loss",
    "lr_scheduler",
    "metric",
    "nd",
    "mod",
    "model",
    "operator",
    "model_zoo",
    "module",
    "name",
    "nn",
    "np",
    "np_array",
    "np_default_dtype",
    "np_shape",
    "npx",
    "num_gpus",
    "numpy",
    "numpy_extension",
    "onnx",
    "ops",
    "optimizer",
    "parameter",
    "random",
    "rnn",
    "runtime",
    "serialize",
    "set_np_shape",
    "sym",
    "symbol",
    "tpu",
    "trainer",
    "use_np",
    "use_np_array",
    "use_np_default_dtype",
    "use_np_shape",
    "util",
    "utils",
    "waitall",
]


def __getattr__(name: str) -> Any:
    if name not in _WHERE and name not in __all__:
        raise AttributeError(aliases.absent(name))
    with uncollected():
        if name in _WHERE:
            found = getattr(importlib.import_module(_WHERE[name]), name)
        else:
            found = importlib.import_module(_MODULES.get(name, f"gluonx.{name}"))
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


late.provide("export_mxnet", lambda: importlib.import_module("gluonx.symbol.exporting").export_mxnet)
late.provide("export_onnx", lambda: importlib.import_module("gluonx.onnx.export").export_onnx)
late.provide("get_symbol", lambda: importlib.import_module("gluonx.symbol.exporting").get_symbol)
late.provide("SymbolBlock", lambda: importlib.import_module("gluonx.symbol_block").SymbolBlock)
late.provide("methods", lambda: importlib.import_module("gluonx.methods"))
late.provide("RNNFused", lambda: importlib.import_module("gluonx.fused_initializer").RNNFused)
late.provide("random", lambda: importlib.import_module("gluonx.npx.draws"))
late.provide("legacy", lambda: importlib.import_module("gluonx.legacy.blocks"))
aliases.install()
