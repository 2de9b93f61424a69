"""Names that mean something else, or something more, in a program that runs on `gluonx.compat`."""

from __future__ import annotations

import importlib
import logging
import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as onp

from gluonx.legacy.array import NDArray, use_nd_arrays
from gluonx.legacy.mode import Mode
from gluonx.legacy.training import LOSSES, METRICS, OPTIMIZERS, use_legacy_registries
from gluonx.naming import Naming
from gluonx.parameterdict import ParameterDict

__all__ = ["OWN"]


def _set_np(shape: bool = True, array: bool = True, dtype: bool = False) -> None:
    """From now on arrays are ``np.ndarray`` with NumPy's semantics, as in MXNet 2."""
    _real("gluonx.npx").set_np(shape, array, dtype)
    use_nd_arrays(not array)
    Mode.numpy, Naming.active = array, not array
    use_legacy_registries(not array)
    for dotted in _OF_MXNET_1:  # a module keeps what was looked up in it
        module, _, name = dotted.rpartition(".")
        if module in sys.modules:
            vars(sys.modules[module]).pop(name, None)


def _reset_np() -> None:
    """Back to NDArray."""
    _set_np(False, False, False)


def _is_np_array() -> bool:
    """Whether ``set_np()`` was called."""
    return Mode.numpy


def _real(name: str) -> Any:
    return importlib.import_module(name)


def _value(value: Any) -> Callable[[], Any]:
    return lambda: value


def _name(module: str, name: str) -> Callable[[], Any]:
    return lambda: getattr(_real(module), name)


def _either(module: str, name: str, klass: type) -> Callable[[], Any]:
    """`klass`, which is MXNet 1's of that name, or gluonx's once ``set_np()`` was called."""
    return lambda: klass if Naming.active else getattr(_real(module), name)


def _logger(name: str | None = None, filename: str | None = None, filemode: str = "a", level: int = 30) -> Any:
    """A logger of the standard library."""
    logger = logging.getLogger(name)
    if filename:
        logger.addHandler(logging.FileHandler(filename, filemode))
    logger.setLevel(level)
    return logger


def _apply_weighting(*args: Any) -> Any:
    """``(F, loss, weight, sample_weight)`` of MXNet 1, or without F: a loss times its weights."""
    loss, weight, sample_weight = (*(args[1:] if isinstance(args[0], ModuleType) else args), None, None)[:3]
    if sample_weight is not None:
        loss = loss * sample_weight
    return loss if weight is None else loss * weight


def _reshape_like(*args: Any) -> Any:
    """``(F, x, y)`` of MXNet 1, or without F: x in the shape of y."""
    x, y = args[-2:]
    return x.reshape(tuple(y.shape))


def _indent(text: str, spaces: int) -> str:
    """All lines but the first moved to the right, as in a block's ``__repr__``."""
    return text.replace("\n", "\n" + spaces * " ")


_SWITCHES = {"set_np": _set_np, "reset_np": _reset_np, "is_np_array": _is_np_array, "is_np_shape": _is_np_array}
_BASE = {
    "numeric_types": (float, int, onp.generic),
    "integer_types": (int, onp.integer),
    "string_types": (str,),
    "mx_real_t": onp.float32,
    "mx_uint": onp.uint32,
    "py_str": lambda text: text.decode("utf-8") if isinstance(text, bytes) else text,
}

_OF_MXNET_1 = {
    **{
        f"mxnet.{module}.{name}": _either("gluonx.optimizer", name, klass)
        for module in ("optimizer", "optimizer.optimizer", "optimizer.contrib")
        for name, klass in OPTIMIZERS.items()
    },
    **{f"mxnet.metric.{name}": _either("gluonx.metric", name, klass) for name, klass in METRICS.items()},
    **{f"mxnet.gluon.loss.{name}": _either("gluonx.loss", name, klass) for name, klass in LOSSES.items()},
}

OWN: dict[str, Callable[[], Any]] = {
    **_OF_MXNET_1,
    **{f"mxnet.{m}.{name}": _value(fn) for m in ("npx", "numpy_extension", "util") for name, fn in _SWITCHES.items()},
    **{f"mxnet.{name}": _value(fn) for name, fn in _SWITCHES.items()},
    **{f"mxnet.base.{name}": _value(value) for name, value in _BASE.items()},
    "mxnet.gluon.ParameterDict": _value(ParameterDict),
    "mxnet.gluon.parameter.ParameterDict": _value(ParameterDict),
    "mxnet.gluon.HookHandle": _name("gluonx.block", "HookHandle"),
    "mxnet.gluon.utils.HookHandle": _name("gluonx.block", "HookHandle"),
    "mxnet.model.FeedForward": _name("gluonx.module", "FeedForward"),
    "mxnet.FeedForward": _name("gluonx.module", "FeedForward"),
    "mxnet.autograd.NDArray": _value(NDArray),
    "mxnet.initializer.NDArray": _value(NDArray),
    # Not public, and all the same in many losses and blocks.
    "mxnet.gluon.loss._apply_weighting": _value(_apply_weighting),
    "mxnet.gluon.loss._reshape_like": _value(_reshape_like),
    "mxnet.gluon.utils._indent": _value(_indent),
    "mxnet.gluon.block._indent": _value(_indent),
    "mxnet.AttrScope": _name("gluonx.attribute", "AttrScope"),
    "mxnet.log.get_logger": _value(_logger),
    "mxnet.log.getLogger": _value(_logger),
}
