"""Why a name of MXNet is not in gluonx, or its signature differs: the table behind ``docs/parity.md``.

A name that is missing without a reason here is a gap; the tests count those.
"""

from __future__ import annotations

from collections.abc import Mapping

__all__ = ["DIFFERENT", "LEFT_OUT", "TABLES", "differs", "left_out"]

IMPORTED = "not of this module: MXNet's file imports it for its own use"
C_LIBRARY = "a part of MXNet's C library"
LATER = "not in this version"
CUDA = "compiles CUDA source at run time; `gluonx.from_jax` takes Pallas kernels"
RETIRED = "retired in MXNet 2 already"

_NP_FINANCE = "NumPy has removed its financial functions; MXNet's fall back to a NumPy that had them"


def _each(names: str, reason: str) -> dict[str, str]:
    return dict.fromkeys(names.split(), reason)


LEFT_OUT: Mapping[str, Mapping[str, str]] = {
    "mxnet.attribute": {"defaultdict": IMPORTED},
    "mxnet.autograd": {
        "NDArray": IMPORTED,
        "Symbol": IMPORTED,
        "get_symbol": "it is `gluonx.deferred.get_symbol`, of what is recorded and not computed yet",
    },
    "mxnet.context": {"warn": IMPORTED},
    "mxnet.contrib.quantization": {"*": "rewrites symbols for oneDNN; the operators are in `npx`"},
    "mxnet.dlpack": {"*": C_LIBRARY + "; arrays have `__dlpack__`, and `npx.from_dlpack` takes others'"},
    "mxnet.gluon": {"tensor_types": IMPORTED},
    "mxnet.gluon.data.batchify": {"Device": IMPORTED, "cpu": IMPORTED},
    "mxnet.gluon.data.vision.transforms": {
        "*": LATER,
        "Block": IMPORTED,
        "HybridBlock": IMPORTED,
        "HybridSequential": IMPORTED,
        "Sequential": IMPORTED,
    },
    "mxnet.gluon.metric": _each(
        "PearsonCorrelation.update_cov PearsonCorrelation.update_variance",
        "steps of MXNet's own update; ours merges the moments of a batch in one operator",
    ),
    "mxnet.gluon.nn": {
        **_each(
            "Conv1D.pre_infer Conv1DTranspose.pre_infer Conv2D.pre_infer Conv2DTranspose.pre_infer Conv3D.pre_infer "
            "Conv3DTranspose.pre_infer DeformableConvolution.pre_infer_offset_weight "
            "DeformableConvolution.pre_infer_weight ModulatedDeformableConvolution.pre_infer_offset_weight "
            "ModulatedDeformableConvolution.pre_infer_weight",
            "a step of MXNet's own infer_shape",
        ),
    },
    "mxnet.gluon.parameter": {"tensor_types": IMPORTED},
    "mxnet.gluon.contrib.data.vision": {"*": LATER},
    "mxnet.gluon.contrib.estimator": {"*": LATER},
    "mxnet.gluon.data": {"*": LATER},
    "mxnet.gluon.data.vision": {"*": LATER},
    "mxnet.gluon.block": {"*": LATER},
    "mxnet.gluon.rnn": {"*": LATER},
    "mxnet.sym": {"*": LATER},
    "mxnet.test_utils": {"*": LATER},
    "mxnet.image": {"*": LATER, "Number": IMPORTED, "cv2": IMPORTED},
    "mxnet.initializer": {"NDArray": IMPORTED, "load": IMPORTED, "sqrt": IMPORTED},
    "mxnet.io": {"*": LATER, "MXDataIter": C_LIBRARY},
    "mxnet.kvstore": {
        "*": LATER,
        "BytePS": "a parameter server of others",
        "Horovod": "XLA's collectives take its place",
        "KVStoreServer": "there are no server processes",
    },
    "mxnet.lr_scheduler": {"cos": IMPORTED, "pi": IMPORTED},
    "mxnet.nd": {"CachedOp": C_LIBRARY, "*": LATER},
    "mxnet.np": _each(
        "ndarray.argmax_channel ndarray.broadcast_axes ndarray.depth_to_space ndarray.nanprod ndarray.nansum "
        "ndarray.shape_array ndarray.size_array ndarray.space_to_depth ndarray.split_v2 ndarray.tostype",
        "raises in MXNet too: it is a method of the older arrays",
    )
    | _each(
        "mirr npv pmt ppmt pv rate",
        _NP_FINANCE,
    ),
    "mxnet.operator": {"*": LATER}
    | _each(
        "NDArray NDArrayOp NumpyOp OpHandle OperatorArguments PythonOp Structure c_bool c_char c_char_p "
        "c_int_p ctypes2numpy_shared mx_float mx_int pointer",
        C_LIBRARY,
    ),
    "mxnet.profiler": _each(
        "KVStoreHandle ProfileHandle profiler_kvstore_handle set_kvstore_handle",
        C_LIBRARY,
    ),
    "mxnet.random": {"Device": IMPORTED},
    "mxnet.recordio": {
        "*": LATER,
        "RecordIOHandle": C_LIBRARY,
        "cv2": IMPORTED,
        "current_process": IMPORTED,
        "namedtuple": IMPORTED,
    },
    "mxnet.util": {
        "get_rtc_compile_opts": CUDA,
        "numpy_fallback": "wraps NumPy's functions for MXNet's own modules; ours need no fallback",
        "set_module": "sets `__module__` of MXNet's own functions",
    },
    "mxnet.visualization": {"*": LATER, "Symbol": IMPORTED},
}
"""For each module the names that are left out, and why; ``*`` stands for whatever else is missing."""

_DEFAULT_INIT = "None stands for MXNet's default, `Uniform()`"
_OF_WEIGHT = "None takes it from the weight"
_ENGINE = "called by gluonx, by position"

DIFFERENT: Mapping[str, str] = {
    "mxnet.gluon.Block.initialize": _DEFAULT_INIT,
    "mxnet.gluon.Parameter.initialize": _DEFAULT_INIT,
    "mxnet.gluon.Constant.initialize": _DEFAULT_INIT,
    "mxnet.gluon.metric.Loss.update": "MXNet calls the labels `_`",
    "mxnet.gluon.metric.Torch.update": "MXNet calls the labels `_`",
    "mxnet.gluon.nn.GroupNorm.infer_shape": _ENGINE,
    "mxnet.gluon.nn.LayerNorm.infer_shape": _ENGINE,
    "mxnet.np.histogram2d": "NumPy 2 has no `normed`",
    "mxnet.np.histogramdd": "NumPy 2 has no `normed`",
    "mxnet.np.nanpercentile": "`interpolation` is taken for `method`",
    "mxnet.np.nanquantile": "`interpolation` is taken for `method`",
    "mxnet.nd.linspace": "None is float32",
    "mxnet.nd.power": "by position the same",
    "mxnet.np.ndarray": "MXNet's constructor takes a handle of its C library",
    "mxnet.npx.convolution": _OF_WEIGHT,
    "mxnet.npx.deconvolution": _OF_WEIGHT,
    "mxnet.npx.embedding": _OF_WEIGHT,
    "mxnet.npx.layer_norm": "None is taken for the default too",
    "mxnet.npx.masked_log_softmax": "None is 1.0",
    "mxnet.npx.masked_softmax": "None is 1.0",
    "mxnet.np.ndarray.broadcast_like": "raises in MXNet",
}
"""Signatures that differ on purpose."""

_LAYERS = ("lib/contract*.py",)
_NP = ("**/test_np.py", "**/test_np_*.py", "oracle/ops/cases.py", "oracle/np*/cases.py", *_LAYERS)
_NPX = ("oracle/*/cases.py", "**/test_npx*.py", *_LAYERS)

TABLES: Mapping[str, tuple[str, ...]] = {
    "mxnet.gluon.nn": _LAYERS,
    "mxnet.gluon.loss": _LAYERS,
    "mxnet.gluon.metric": _LAYERS,
    "mxnet.gluon.rnn": (*_LAYERS, "oracle/rnn/cases.py"),
    "mxnet.initializer": ("oracle/optimizer/cases.py", *_LAYERS),
    "mxnet.optimizer": ("oracle/optimizer/cases.py", "oracle/optimizer_long/cases.py", *_LAYERS),
    "mxnet.lr_scheduler": ("oracle/optimizer/cases.py", *_LAYERS),
    "mxnet.np": _NP,
    "mxnet.np.linalg": _NP,
    "mxnet.np.random": ("**/test_np_random.py", "**/test_np.py", "**/test_random*.py"),
    "mxnet.npx": _NPX,
    "mxnet.npx.random": ("**/test_np_random.py", "**/test_np.py", "**/test_random*.py"),
    "mxnet.npx.image": _NPX,
}
"""Where the tests keep the tables with a row for each name of a module."""


def left_out(module: str, name: str) -> str:
    """Why a name is missing; empty if nobody has said it."""
    named = LEFT_OUT.get(module, {})
    return named.get(name, named.get("*", ""))


_OF_A_KIND = (
    ("mxnet.gluon.model_zoo", "'root' is None", "None is `$MXNET_HOME/models`, or that folder"),
    ("mxnet.gluon.rnn", "'func' is None", "None is `np.zeros`"),
    ("mxnet.gluon.rnn", "parameter 2 is 'batch_size'", "as the cell that it modifies"),
    ("mxnet.gluon.rnn", "parameter 2 is 'inputs'", "called by the block, by position"),
    ("mxnet.npx", "is not taken by position", "it is, but is needed, which Python cannot show after a default"),
    ("mxnet.npx", "'workspace'", "an advice to MXNet's kernels, taken by name and ignored"),
    ("mxnet.npx", "'sparse_grad'", "an advice to MXNet's kernels, taken by name and ignored"),
    ("mxnet.npx", "'cudnn_off'", "an advice to MXNet's kernels, taken by name and ignored"),
    ("mxnet.npx.image", "'width'", "sizes are needed, and given by name"),
    ("mxnet.sym", "'profiler_scope'", "a scope of MXNet's profiler"),
    ("mxnet.sym", "'create_fn'", "there is one class of symbols"),
    ("mxnet.sym", "'entries'", "MXNet's constructor takes a handle of its C library"),
    ("mxnet.nd", "'handle'", "MXNet's constructor takes a handle of its C library"),
)
"""Differences of many names: the beginning of the module, words of the difference, and why."""


def differs(module: str, name: str, difference: str) -> str:
    """Why a signature is not MXNet's; empty if nobody has said it."""
    for beginning, words, why in _OF_A_KIND:
        if module.startswith(beginning) and words in difference:
            return why
    return DIFFERENT.get(f"{module}.{name}", "")
