"""Table of what MXNet has and gluonx has not, why, and what to use instead.

Error messages of ``gluonx`` and of the ``mxnet`` module say what to use instead; the parity pages (`tools.parity`)
give the reasons, and a name that is missing without a reason is a gap, which the tests count. Whoever adds a name
deletes its row.
"""

from __future__ import annotations

import fnmatch
from collections.abc import Mapping

__all__ = ["ABSENT", "instead_of", "reason"]

IMPORTED = "not of this module: MXNet's file imports it for its own use"
C_LIBRARY = "a part of MXNet's C library"
LATER = "not in this version"
CUDA = "compiles CUDA source at run time; `gluonx.from_jax` takes Pallas kernels"

_MODULE = "use Module or BucketingModule, or write the loop with autograd.record() and gluon.Trainer"
_STORE = "it is a store over several processes: use jax.distributed, or a class by KVStoreBase.register"
_QUANTIZED = "it is not here; other quantized operators are, and XLA runs bfloat16 and float16 (net.cast)"
_OWN_UPDATE = "steps of MXNet's own update; ours merges the moments of a batch in one operator"
_OLDER_METHOD = "raises in MXNet too: it is a method of the older arrays"
_FINANCE = "NumPy has removed its financial functions; MXNet's fall back to a NumPy that had them"


def _each(module: str, names: str, why: str) -> dict[str, tuple[str, str]]:
    return {f"{module}.{name}": (why, "") for name in names.split()}


ABSENT: Mapping[str, tuple[str, str]] = {
    # A module: why names of it are missing ("" where each needs a reason of its own), and what to use instead.
    "mxnet.base._LIB": ("", "nothing of gluonx is in a C library; call what is public"),
    "mxnet.base.check_call": ("", "nothing of gluonx is in a C library, whose returns it would check"),
    "mxnet.callback": ("", "print from the training loop, or use gluonx.metric"),
    "mxnet.contrib": ("", "MXNet's contrib is not here"),
    "mxnet.contrib.amp": ("", "use gluonx.amp"),
    "mxnet.contrib.quantization": ("", "use quantize_net on a net; the operators are in npx"),
    **_each(
        "mxnet.contrib.quantization",
        "calib_graph quantize_graph quantize_model quantize_model_onednn",
        "rewrites a symbol; `quantize_net` takes a net of layers",
    ),
    **_each("mxnet.contrib.quantization", "DataDesc Device Symbol cpu mx_real_t", IMPORTED),
    "mxnet.contrib.text": ("", "the vectors are not fetched: give their file to text.embedding.CustomEmbedding"),
    "mxnet.dlpack": (C_LIBRARY + "; arrays have `__dlpack__`, and `npx.from_dlpack` takes others'", ""),
    "mxnet.executor": ("", "call the symbol's bind, or write the net as a HybridBlock"),
    "mxnet.gluon.contrib.data.text": ("", "read the files with gluonx.data"),
    "mxnet.gluon.data": (LATER, ""),
    "mxnet.gluon.rnn": (LATER, ""),
    "mxnet.io": ("", "use another iterator of mx.io, or gluonx.data.DataLoader"),
    "mxnet.kvstore": ("", _STORE),
    "mxnet.libinfo": ("", "there is no shared library"),
    "mxnet.library": ("", "write an operator with gluonx.from_jax"),
    "mxnet.mod": ("", _MODULE),
    "mxnet.model": ("", "use model.load_checkpoint and SymbolBlock"),
    "mxnet.module": ("", _MODULE),
    "mxnet.nd": (LATER, ""),
    "mxnet.operator": (LATER, "use operator.CustomOp, gluonx.autograd.Function, or raw JAX and gluonx.from_jax"),
    "mxnet.profiler": ("", "use gluonx.profiler, jax.profiler, and gluonx.engine.stats()"),
    "mxnet.rtc": ("", "gluonx.from_jax takes any JAX function, Pallas kernels included"),
    "mxnet.runtime": ("", "ask gluonx.runtime.Features() or jax.devices()"),
    "mxnet.sym": (LATER, ""),
    # Names, and patterns of names.
    "mxnet.autograd.get_symbol": ("it is `gluonx.deferred.get_symbol`, of what is recorded and not computed yet", ""),
    **_each("mxnet.gluon.metric.PearsonCorrelation", "update_cov update_variance", _OWN_UPDATE),
    **_each(
        "mxnet.gluon.nn",
        "Conv1D.pre_infer Conv1DTranspose.pre_infer Conv2D.pre_infer Conv2DTranspose.pre_infer Conv3D.pre_infer "
        "Conv3DTranspose.pre_infer DeformableConvolution.pre_infer_offset_weight "
        "DeformableConvolution.pre_infer_weight ModulatedDeformableConvolution.pre_infer_offset_weight "
        "ModulatedDeformableConvolution.pre_infer_weight",
        "a step of MXNet's own infer_shape",
    ),
    "mxnet.kvstore.BytePS": ("a parameter server of others", ""),
    "mxnet.kvstore.Horovod": ("XLA's collectives take its place", ""),
    "mxnet.kvstore.KVStoreServer": ("there are no server processes", ""),
    "mxnet.nd.CachedOp": (C_LIBRARY, "hybridize a block"),
    **_each("mxnet.nd", "_DTYPE_MX_TO_NP _DTYPE_NP_TO_MX _GRAD_REQ_MAP _new_empty_handle", C_LIBRARY),
    **_each(
        "mxnet.nd",
        "get_indexing_dispatch_code get_oshape_of_gather_nd_op indexing_key_expand_implicit_axes",
        "a step of MXNet's own indexing",
    ),
    "mxnet.nd.cvimdecode": ("", "use PIL or OpenCV, or gluonx.image"),
    "mxnet.nd.imdecode": ("deprecated in MXNet for `mx.image.imdecode`", "use mx.image.imdecode"),
    "mxnet.nd.load_frombuffer": ("", "use gluonx.files.load_arrays"),
    "mxnet.nd.rnn": ("", "use gluonx.rnn"),
    "mxnet.nd.*quantize*": ("", _QUANTIZED),
    "mxnet.nd.*RROIAlign*": ("", "use contrib.ROIAlign"),
    "mxnet.nd.*hawkes*": ("", "write it with gluonx.npx.foreach"),
    **_each("mxnet.np", "mirr npv pmt ppmt pv rate", _FINANCE),
    **_each(
        "mxnet.np.ndarray",
        "argmax_channel broadcast_axes depth_to_space nanprod nansum shape_array size_array space_to_depth split_v2 "
        "tostype",
        _OLDER_METHOD,
    ),
    "mxnet.test_utils.Features.move_to_end": ("of the dict that MXNet's class happens to be", ""),
    "mxnet.test_utils.get_rtc_compile_opts": (CUDA, ""),
    "mxnet.util.get_rtc_compile_opts": (CUDA, ""),
    "mxnet.util.numpy_fallback": ("wraps NumPy's functions for MXNet's own modules; ours need no fallback", ""),
    "mxnet.util.set_module": ("sets `__module__` of MXNet's own functions", ""),
    # What is nobody's business but MXNet's.
    "mxnet.recordio.RecordIOHandle": (C_LIBRARY, ""),
    **_each(
        "mxnet.operator",
        "NDArray OpHandle Structure c_bool c_char c_char_p c_int_p "
        "ctypes2numpy_shared mx_float mx_int pointer",
        C_LIBRARY,
    ),
    **_each(
        "mxnet.profiler", "KVStoreHandle ProfileHandle profiler_kvstore_handle set_kvstore_handle", C_LIBRARY
    ),
    **_each("mxnet.attribute", "defaultdict", IMPORTED),
    **_each("mxnet.autograd", "NDArray Symbol", IMPORTED),
    **_each("mxnet.context", "warn", IMPORTED),
    **_each("mxnet.gluon", "tensor_types", IMPORTED),
    **_each("mxnet.gluon.data.batchify", "Device cpu", IMPORTED),
    **_each("mxnet.gluon.parameter", "tensor_types", IMPORTED),
    **_each("mxnet.initializer", "NDArray load sqrt", IMPORTED),
    **_each("mxnet.lr_scheduler", "cos pi", IMPORTED),
    **_each("mxnet.random", "Device", IMPORTED),
    **_each("mxnet.recordio", "cv2 current_process namedtuple", IMPORTED),
    **_each("mxnet.visualization", "Symbol", IMPORTED),
}  # fmt: skip
"""For a module or a name, with its module: why it is missing, and what to use instead."""


def _row(dotted: str) -> tuple[str, str] | None:
    found = ABSENT.get(dotted)
    if found is None:
        found = next((ABSENT[key] for key in ABSENT if "*" in key and fnmatch.fnmatchcase(dotted, key)), None)
    return found


def instead_of(dotted: str) -> str:
    """Return what to use instead of a name of MXNet; empty where nothing is known.

    Examples
    --------
    >>> instead_of("mxnet.library.load")
    'write an operator with gluonx.from_jax'
    """
    parts = dotted.split(".")
    for n in range(len(parts), 1, -1):
        row = _row(".".join(parts[:n]))
        if row is not None and row[1]:
            return row[1]
    return ""


def reason(module: str, name: str) -> str:
    """Return why a name is missing in a module; empty if nobody has said it.

    Examples
    --------
    >>> reason("mxnet.kvstore", "KVStoreServer")
    'there are no server processes'
    """
    why, instead = _row(f"{module}.{name}") or ("", "")
    return why or ABSENT.get(module, ("", ""))[0] or instead
