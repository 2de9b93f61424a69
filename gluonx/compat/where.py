"""Where the modules of MXNet lie in gluonx, and which public names each of them had."""

from __future__ import annotations

import functools
import pathlib

__all__ = ["MODULES", "PARTS", "known_names", "target"]

# The module of gluonx behind a module of MXNet, where it is not the one of the same name.
MODULES = {
    "mxnet": "gluonx",
    "mxnet.base": "gluonx.errors",
    "mxnet.context": "gluonx.device",
    "mxnet.contrib": "",
    "mxnet.contrib.amp": "gluonx.amp",
    "mxnet.contrib.onnx": "gluonx.onnx",
    "mxnet.error": "gluonx.errors",
    "mxnet.gluon": "gluonx",
    "mxnet.gluon.contrib": "gluonx.contrib",
    "mxnet.gluon.contrib.data": "",
    "mxnet.gluon.contrib.data.text": "",
    "mxnet.gluon.contrib.data.vision": "",
    "mxnet.gluon.contrib.estimator": "",
    "mxnet.init": "gluonx.initializer",
    "mxnet.kv": "gluonx.kvstore",
    "mxnet.mod": "gluonx.module",
    "mxnet.model": "gluonx.compat.model",
    "mxnet.mon": "gluonx.monitor",
    "mxnet.nd": "gluonx.legacy.nd",
    "mxnet.ndarray": "gluonx.legacy.nd",
    "mxnet.numpy": "gluonx.np",
    "mxnet.numpy_extension": "gluonx.npx",
    "mxnet.operator": "gluonx.legacy.operator",
    "mxnet.random": "gluonx.legacy.nd.random",
    "mxnet.rnn": "",
    "mxnet.sym": "gluonx.symbol",
    "mxnet.test_utils": "gluonx.compat.test_utils",
    "mxnet.viz": "gluonx.visualization",
}

# Modules that MXNet cut a package into, and whose names the package has: what is in them is looked up in the package.
_PARTS = {
    "mxnet.amp": "amp lists loss_scaler",
    "mxnet.contrib.amp": "amp lists loss_scaler",
    "mxnet.gluon.contrib.cnn": "conv_layers",
    "mxnet.gluon.contrib.data": "sampler",
    "mxnet.gluon.contrib.estimator": "batch_processor estimator event_handler utils",
    "mxnet.gluon.contrib.nn": "basic_layers",
    "mxnet.gluon.contrib.rnn": "conv_rnn_cell rnn_cell",
    "mxnet.gluon.data": "dataloader dataset sampler",
    "mxnet.gluon.data.vision": "datasets",
    "mxnet.gluon.model_zoo.vision": "alexnet densenet inception mobilenet resnet squeezenet vgg",
    "mxnet.gluon.nn": "activations basic_layers conv_layers",
    "mxnet.gluon.probability": "block distributions transformation",
    "mxnet.gluon.rnn": "conv_rnn_cell rnn_cell rnn_layer",
    "mxnet.image": "detection image",
    "mxnet.io": "io utils",
    "mxnet.kvstore": "base kvstore",
    "mxnet.module": "base_module bucketing_module module python_module sequential_module",
    "mxnet.ndarray": "ndarray utils",
    "mxnet.numpy": "function_base io multiarray utils",
    "mxnet.numpy_extension": "control_flow utils",
    "mxnet.optimizer": "contrib optimizer updater",
    "mxnet.symbol": "symbol",
}
PARTS = {f"{package}.{name}": package for package, names in _PARTS.items() for name in names.split()}
PARTS["mxnet.viz"] = "mxnet.visualization"


def target(dotted: str) -> str:
    """The name of the module of gluonx that a module of MXNet stands for; empty if it stands for none.

    Examples
    --------
    >>> target("mxnet.gluon.nn"), target("mxnet.nd.contrib"), target("mxnet.gluon.contrib.estimator")
    ('gluonx.nn', 'gluonx.legacy.nd.contrib', '')
    """
    if dotted in MODULES:
        return MODULES[dotted]
    if dotted in PARTS:
        return target(PARTS[dotted])
    parent, _, leaf = dotted.rpartition(".")
    above = target(parent)
    return f"{above}.{leaf}" if above else ""


@functools.cache
def known_names() -> dict[str, frozenset[str]]:
    """The public names of every module of MXNet."""
    text = pathlib.Path(__file__).with_name("names.txt").read_text(encoding="utf-8")
    found: dict[str, list[str]] = {}
    current: list[str] = []
    for line in text.splitlines():
        if line.startswith("mxnet"):
            module, _, line = line.partition(":")
            current = found.setdefault(module, [])
        if not line.startswith("#"):
            current.extend(line.split())
    return {module: frozenset(names) for module, names in found.items()}


@functools.cache
def known_modules() -> frozenset[str]:
    """The modules of MXNet, with the packages that they lie in."""
    listed = {*known_names(), *MODULES, *PARTS}
    return frozenset(".".join(name.split(".")[: n + 1]) for name in listed for n in range(name.count(".") + 1))
