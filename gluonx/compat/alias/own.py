"""Names that mean something else, or something more, in a program that runs on `gluonx.compat`."""

from __future__ import annotations

import ctypes
import importlib
import math
import os
import sys
from collections.abc import Callable
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as onp

from gluonx.compat.modes import SWITCHES, Version, on_change
from gluonx.compat.nd.ndarray import NDArray
from gluonx.compat.number_types import NUMBER_TYPES
from gluonx.compat.operators.training import BY_KEYWORD, LOSSES, METRICS, ONLY_IN_1, OPTIMIZERS
from gluonx.compat.parameter_dict import NamedConstant, ParameterDict
from gluonx.compat.prefixes import Naming
from gluonx.deferred.values.core import Handle
from gluonx.dtype import bfloat16

if TYPE_CHECKING:
    from gluonx.np.handle import ndarray


def _real(name: str) -> Any:
    return importlib.import_module(name)


def _value(value: Any) -> Callable[[], Any]:
    return lambda: value


def _name(module: str, name: str) -> Callable[[], Any]:
    return lambda: getattr(_real(module), name)


def _either(module: str, name: str, klass: type) -> Callable[[], Any]:
    """`klass`, which is MXNet 1's of that name, or gluonx's once ``set_np()`` was called."""

    def find() -> Any:
        if Naming.active or name in ONLY_IN_1:
            return klass
        return BY_KEYWORD.get(name) if Naming.undecided and name in BY_KEYWORD else getattr(_real(module), name)

    return find


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


def _as_list(value: Any) -> Any:
    """Return a list or tuple as it is, anything else in a list."""
    return value if isinstance(value, (list, tuple)) else [value]


def _c_array(ctype: Any, values: Any) -> Any:
    """Return an array of ctypes."""
    return (ctype * len(values))(*values)


def _flatten(args: Any, inout_str: str = "input") -> tuple[list[Any], Any]:
    """Return the arrays in nested lists, and how these were nested: 0 for an array, -1 for None, a list for a list."""
    if args is None:
        return [None], -1
    if isinstance(args, (list, tuple)):
        parts = [_flatten(item, inout_str) for item in args]
        return [leaf for leaves, _ in parts for leaf in leaves], [form for _, form in parts]
    if hasattr(args, "list_outputs"):  # a symbol
        count = len(args.list_outputs())
        return [args], 0 if count == 1 else count
    if not isinstance(args, Handle):
        raise ValueError(f"_flatten: {inout_str} holds a {type(args).__name__}; arrays in nested lists were expected.")
    return [args], 0


def _regroup(args: Any, fmt: Any) -> Any:
    """Return the converse of `_flatten`, and what is left over; with a number, so many of the arrays."""
    return _take(list(args), fmt)[0]


def _take(args: list[Any], fmt: Any) -> tuple[Any, list[Any]]:
    if isinstance(fmt, int):
        if fmt > 0:
            return args[:fmt], args[fmt:]
        return (None if fmt == -1 else args[0]), args[1:]
    found = []
    for item in fmt:
        part, args = _take(args, item)
        found.append(part)
    return found, args


def _brief_print_list(names: Any, limit: int = 7) -> str:
    """Names in quotes; of a long list the first and last ones."""
    names = list(names)
    if len(names) > limit:
        half = limit // 2
        return f"{_brief_print_list(names[:half], limit)}, ..., {_brief_print_list(names[half - limit :], limit)}"
    return ", ".join(f"'{name}'" for name in names)


_GATES = {"rnn_relu": 1, "rnn_tanh": 1, "lstm": 4, "gru": 3}


def _split_rnn_params(
    param: Any,
    mode: str,
    num_layers: int,
    input_size: int,
    hidden_size: int,
    bidirectional: bool = False,
    projection_size: int | None = None,
) -> dict[str, Any]:
    """Return the one vector of a recurrent layer's parameters in pieces, by names as ``l0_i2h_weight``."""
    directions, rows = ("l", "r") if bidirectional else ("l",), _GATES[mode] * hidden_size
    out = projection_size or hidden_size
    pieces: dict[str, Any] = {}
    begin = 0
    for kind in ("weight", "bias"):
        for layer in range(num_layers):
            inputs = input_size if layer == 0 else out * len(directions)
            for side in directions:
                shapes = {"i2h": (rows, inputs), "h2h": (rows, out)}
                if projection_size and kind == "weight":
                    shapes["h2r"] = (projection_size, hidden_size)
                for gate, shape in shapes.items():
                    shape = shape if kind == "weight" else shape[:1]
                    size = math.prod(shape)
                    pieces[f"{side}{layer}_{gate}_{kind}"] = param[begin : begin + size].reshape(shape)
                    begin += size
    return pieces


def _as_in_context(data: Any, ctx: Any) -> Any:
    """Arrays, in lists too, on a device."""
    if isinstance(data, Handle):
        return data.as_in_context(ctx)  # type: ignore[attr-defined]
    return [_as_in_context(item, ctx) for item in data] if isinstance(data, (list, tuple)) else data


def _npx_save(file: Any, arr: Any) -> None:
    """``npx.save``: in a program for MXNet 1 an array, or a list or dict of them, in the format of ``nd.save``.

    Raises
    ------
    ValueError
        If `arr` is something else.
    """
    if not Naming.active:
        return _real("gluonx.npx").save(file, arr)
    if not isinstance(arr, (Handle, list, dict)):
        raise ValueError(f"npx.save: an ndarray, or a list or dict of them, was expected, got {type(arr).__name__}.")
    return _real("gluonx.compat.nd").save(file, arr)


def _npx_load(file: Any) -> Any:
    """``npx.load``: in a program for MXNet 1 a dict where the arrays have names, else a list, also of one."""
    found = _real("gluonx.npx").load(file)
    return [found] if Naming.active and isinstance(found, Handle) else found


def _around(x: ndarray, decimals: int = 0, out: Any = None, **kwargs: Any) -> NDArray:
    """``np.around``, which in MXNet cuts integers off below the tens, hundreds and so on that are asked for."""
    np = _real("gluonx.np")
    if decimals >= 0 or not isinstance(x, Handle) or x.dtype.kind not in "iu":
        return np.around(x, decimals, out, **kwargs)
    fits = 10**-decimals <= onp.iinfo(x.dtype).max
    return np.subtract(x, np.fmod(x, 10**-decimals) if fits else x, out=out)


def _pooling(data: Any, kernel: Any = None, stride: Any = None, pad: Any = None, *args: Any, **kwargs: Any) -> Any:
    """``npx.pooling``, which in MXNet reads as many numbers as there are spatial axes; ports of Caffe write four."""
    axes = len(data.shape) - 2
    stride, pad = (item[:axes] if isinstance(item, (list, tuple)) else item for item in (stride, pad))
    return _real("gluonx.npx").pooling(data, kernel, stride, pad, *args, **kwargs)


def _optional(package: str) -> Callable[[], Any]:
    """Return what gives a package where it is installed, else None."""

    def find() -> Any:
        try:
            return _real(package)
        except ImportError:
            return None

    return find


class _NullType:
    """Stands for an argument that was not given."""

    def __repr__(self) -> str:
        return "_Null"


_Null = _NullType()
_TYPES = {
    0: onp.float32, 1: onp.float64, 2: onp.float16, 3: onp.uint8, 4: onp.int32, 5: onp.int8, 6: onp.int64,
    7: onp.bool_, 8: onp.int16, 9: onp.uint16, 10: onp.uint32, 11: onp.uint64, 12: bfloat16,
}  # fmt: skip
_STORAGE = {"undefined": -1, "default": 0, "row_sparse": 1, "csr": 2}
_NUMBERS = {
    "_DTYPE_MX_TO_NP": {-1: None, **_TYPES},
    "_DTYPE_NP_TO_MX": {None: -1, **{value: number for number, value in _TYPES.items()}},
    "_GRAD_REQ_MAP": {"null": 0, "write": 1, "add": 3},
    "_STORAGE_TYPE_STR_TO_ID": _STORAGE,
    "_STORAGE_TYPE_ID_TO_STR": {number: name for name, number in _STORAGE.items()},
    "_STORAGE_TYPE_UNDEFINED": -1,
    "_STORAGE_TYPE_DEFAULT": 0,
    "_STORAGE_TYPE_ROW_SPARSE": 1,
    "_STORAGE_TYPE_CSR": 2,
    "_SIGNED_INT32_UPPER_LIMIT": 2**31 - 1,
}
_WHERE_NUMBERS = ("ndarray.ndarray", "ndarray", "ndarray.sparse", "numpy.multiarray", "symbol.symbol", "test_utils")
_BASE = {
    "data_dir_default": lambda: os.path.join(os.path.expanduser("~"), ".mxnet"),
    "data_dir": lambda: os.environ.get("MXNET_HOME", os.path.join(os.path.expanduser("~"), ".mxnet")),
    "numeric_types": (float, int, onp.generic),
    "integer_types": (int, onp.integer),
    "string_types": (str,),
    "mx_real_t": onp.float32,
    "mx_uint": ctypes.c_uint,
    "mx_float": ctypes.c_float,
    "mx_float_p": ctypes.POINTER(ctypes.c_float),
    "mx_int": ctypes.c_int,
    "mx_int64": ctypes.c_int64,
    "c_str": lambda text: ctypes.c_char_p(text.encode("utf-8")),
    "c_str_array": lambda texts: _c_array(ctypes.c_char_p, [text.encode("utf-8") for text in texts]),
    "c_array": _c_array,
    "py_str": lambda text: text.decode("utf-8") if isinstance(text, bytes) else text,
    "_as_list": _as_list,
    "long": int,
    "_Null": _Null,
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


def _amp_on() -> bool:
    """Return whether ``amp.init()`` was called."""
    return bool(_real("gluonx.deferred.operators.amp_policy").Switch.on)


# Looked up each time, for they change.
LIVE: dict[str, Callable[[], Any]] = {
    f"{module}.{name}": value
    for module in ("mxnet.amp", "mxnet.amp.amp", "mxnet.contrib.amp", "mxnet.contrib.amp.amp")
    for name, value in (("_amp_initialized", _amp_on), ("_amp_loss_scale_initialized", _amp_on))
}


def _forget() -> None:
    """Look the names up again whose meaning depends on the version; a module keeps what was looked up in it."""
    for dotted in _OF_MXNET_1:
        module, _, name = dotted.rpartition(".")
        if module in sys.modules:
            vars(sys.modules[module]).pop(name, None)


on_change(_forget)

OWN: dict[str, Callable[[], Any]] = {
    **_OF_MXNET_1,
    **{f"mxnet.{m}.{name}": _value(fn) for m in ("npx", "numpy_extension", "util") for name, fn in SWITCHES.items()},
    **{f"mxnet.{name}": _value(fn) for name, fn in SWITCHES.items()},
    **{f"mxnet.base.{name}": _value(value) for name, value in _BASE.items()},
    "mxnet.gluon.ParameterDict": _value(ParameterDict),
    "mxnet.gluon.parameter.ParameterDict": _value(ParameterDict),
    "mxnet.gluon.data.ArrayDataset": _name("gluonx.compat.datasets", "ArrayDataset"),
    "mxnet.gluon.data.dataset.ArrayDataset": _name("gluonx.compat.datasets", "ArrayDataset"),
    "mxnet.gluon.Constant": _value(NamedConstant),
    "mxnet.gluon.parameter.Constant": _value(NamedConstant),
    "mxnet.gluon.HookHandle": _name("gluonx.block", "HookHandle"),
    "mxnet.gluon.utils.HookHandle": _name("gluonx.block", "HookHandle"),
    "mxnet.model.FeedForward": _name("gluonx.module", "FeedForward"),
    "mxnet.FeedForward": _name("gluonx.module", "FeedForward"),
    **{
        f"mxnet.{m}.{name}": _value(value)
        for m in _WHERE_NUMBERS
        for name, value in _NUMBERS.items()
        if (m, name) != ("symbol.symbol", "_SIGNED_INT32_UPPER_LIMIT")
    },
    # Not public, and all the same in many losses and blocks.
    "mxnet.gluon.block._flatten": _value(_flatten),
    "mxnet.gluon.block._regroup": _value(_regroup),
    "mxnet.gluon.data.dataloader.default_batchify_fn": _name("gluonx.data.dataloader", "default_batchify_fn"),
    "mxnet.gluon.data.dataloader.default_mp_batchify_fn": _name("gluonx.data.dataloader", "default_mp_batchify_fn"),
    "mxnet.gluon.data.dataset._DownloadedDataset": _name("gluonx.data.vision.datasets", "_DownloadedDataset"),
    **{
        f"mxnet.gluon.data.dataloader.{name}": _name("gluonx.compat.workers", name)
        for name in ("_MultiWorkerIter", "_thread_worker_fn", "_worker_fn", "_worker_initializer")
    },
    "mxnet.contrib.quantization.quantize_net": _name("gluonx.compat.contrib.quantization", "quantize_net_v1"),
    "mxnet.contrib.quantization.quantize_net_v2": _name("gluonx.compat.contrib.quantization", "quantize_net_v2"),
    **{
        f"mxnet.{module}.convert_bucketing_module": _name("gluonx.compat.module.mixed", "convert_bucketing_module")
        for module in ("amp", "amp.amp", "contrib.amp", "contrib.amp.amp")
    },
    "mxnet.gluon.data.dataloader._as_in_context": _value(_as_in_context),
    "mxnet.gluon.rnn.rnn_cell._as_list": _value(_as_list),
    "mxnet.gluon.utils._brief_print_list": _value(_brief_print_list),
    "mxnet.gluon.utils._get_repo_url": _value(lambda: _real("gluonx.utils").repo_file_url("", "").rstrip("/") + "/"),
    "mxnet.gluon.utils._get_repo_file_url": _name("gluonx.utils", "repo_file_url"),
    "mxnet.gluon.utils.split_rnn_params": _value(_split_rnn_params),
    "mxnet.gluon.rnn.rnn_cell.dynamic_unroll": _name("gluonx.compat.contrib.rnn", "dynamic_unroll"),
    "mxnet.gluon.contrib.data.IntervalSampler": _name("gluonx.data", "IntervalSampler"),
    "mxnet.gluon.contrib.data.sampler.IntervalSampler": _name("gluonx.data", "IntervalSampler"),
    "mxnet.image.image._get_interp_method": _name("gluonx.data.vision.functional", "interp_method"),
    "mxnet.util._NumpyArrayScope": _value(SWITCHES["np_array"]),
    "mxnet.util._NumpyShapeScope": _value(SWITCHES["np_shape"]),
    "mxnet._deferred_compute.is_deferred_compute": _value(lambda: False),
    "mxnet.numpy_dispatch_protocol.with_array_function_protocol": _value(lambda function: function),
    "mxnet.numpy_dispatch_protocol.with_array_ufunc_protocol": _value(lambda function: function),
    "mxnet.gluon.model_zoo.model_store._model_sha1": _name("gluonx.model_zoo.model_store", "_SHA1"),
    **{f"mxnet.numpy.{name}": _value(kind) for name, kind in NUMBER_TYPES.items()},
    **{f"mxnet.numpy.{name}": _value(_around) for name in ("around", "round", "round_")},
    "mxnet.numpy_extension.pooling": _value(_pooling),
    "mxnet.numpy_extension.load": _value(_npx_load),
    "mxnet.numpy_extension.save": _value(_npx_save),
    "mxnet.autograd.get_symbol": _name("gluonx.compat.symbol.exporting", "get_symbol"),
    "mxnet.libinfo.__version__": Version.number,
    "mxnet.gluon.block.SymbolBlock": _name("gluonx.compat.symbol_block", "SymbolBlock"),
    "mxnet.gluon.parameter.tensor_types": _value((NDArray,)),
    "mxnet.gluon.tensor_types": _value((NDArray,)),
    "mxnet.gluon.loss._apply_weighting": _value(_apply_weighting),
    "mxnet.gluon.loss._reshape_like": _value(_reshape_like),
    "mxnet.gluon.utils._indent": _value(_indent),
    "mxnet.gluon.block._indent": _value(_indent),
    # Programs that pack records by themselves take these.
    "mxnet.recordio._IR_FORMAT": _value("IfQQ"),
    "mxnet.recordio._IR_SIZE": _value(24),
    **{f"mxnet.{module}.cv2": _optional("cv2") for module in ("recordio", "image", "image.image")},
    "mxnet.io.utils.h5py": _optional("h5py"),
    **{
        f"mxnet.contrib.svrg_optimization.{module}SVRGModule": _name("gluonx.compat.module.svrg", "SVRGModule")
        for module in ("", "svrg_module.")
    },
    "mxnet.AttrScope": _name("gluonx.attribute", "AttrScope"),
}
