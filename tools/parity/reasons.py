"""Why the signature of a name differs from MXNet's, and where the tests keep their tables.

Why a name is missing is said by `gluonx.common.absent`, which messages of gluonx read as well.
"""

from __future__ import annotations

from collections.abc import Mapping

__all__ = ["DIFFERENT", "TABLES", "differs"]

_DEFAULT_INIT = "None stands for MXNet's default, `Uniform()`"
_OF_WEIGHT = "None takes it from the weight"
_ENGINE = "called by gluonx, by position"

_OF_1 = "the name of MXNet 1"
_STATE = "MXNet's signature leaves out the auxiliary state"
_FLAGS = "what follows are `flag` and `to_rgb`"
_ONE_KIND = "symbols are of one kind, whose methods take what MXNet 1's operators take"
_OF_NUMPY = "argmax argmin argsort astype clip flatten max mean min prod round sort sum swapaxes take"

DIFFERENT: Mapping[str, str] = {
    "mxnet.gluon.Block.initialize": _DEFAULT_INIT,
    "mxnet.gluon.Block.save_parameters": "None writes a shared parameter once where every reader of the format copes",
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
    "mxnet.io.MXDataIter": "MXNet's constructor takes a handle of its C library",
    "mxnet.image.imdecode": _FLAGS,
    "mxnet.image.imread": _FLAGS,
    "mxnet.image.imresize": "what follows is `interp`",
    "mxnet.nd.IdentityAttachKLSparseReg": _STATE,
    "mxnet.nd.linspace": "None is float32",
    "mxnet.nd.log_softmax": "a number in the second place is the axis",
    "mxnet.nd.Pooling": "of MXNet 2; MXNet 1 has `contrib.AdaptiveAvgPooling2D`",
    "mxnet.nd.power": "by position the same",
    "mxnet.nd.rmsprop_update": _OF_1,
    "mxnet.nd.rmspropalex_update": _OF_1,
    "mxnet.nd.sample_multinomial": "MXNet 1's: classes drawn by their probabilities",
    "mxnet.sym.IdentityAttachKLSparseReg": _STATE,
    "mxnet.sym.log_softmax": "a number in the second place is the axis",
    "mxnet.sym.Pooling": "of MXNet 2; MXNet 1 has `contrib.AdaptiveAvgPooling2D`",
    "mxnet.sym.rmsprop_update": _OF_1,
    "mxnet.sym.rmspropalex_update": _OF_1,
    "mxnet.sym.sample_multinomial": "MXNet 1's: classes drawn by their probabilities",
    "mxnet.np.ndarray": "MXNet's constructor takes a handle of its C library",
    "mxnet.npx.convolution": _OF_WEIGHT,
    "mxnet.npx.deconvolution": _OF_WEIGHT,
    "mxnet.npx.embedding": _OF_WEIGHT,
    "mxnet.npx.layer_norm": "None is taken for the default too",
    "mxnet.npx.masked_log_softmax": "None is 1.0",
    "mxnet.npx.masked_softmax": "None is 1.0",
    "mxnet.np.ndarray.broadcast_like": "raises in MXNet",
    "mxnet.test_utils.Features.popitem": "of a dict; nobody takes entries out",
    **{f"mxnet.test_utils.np_symbol.{name}": _ONE_KIND for name in _OF_NUMPY.split()},
    "mxnet.visualization.plot_network": "None is {}",
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
    "mxnet.io": ("oracle/records/cases.py", "compat/test_io_files.py"),
    "mxnet.recordio": ("loader/test_recordio.py",),
    "mxnet.np": _NP,
    "mxnet.np.linalg": _NP,
    "mxnet.np.random": ("**/test_np_random.py", "**/test_np.py", "**/test_random*.py"),
    "mxnet.npx": _NPX,
    "mxnet.npx.random": ("**/test_np_random.py", "**/test_np.py", "**/test_random*.py"),
    "mxnet.npx.image": _NPX,
}
"""Test files that hold the tables with a row for each name of a module."""


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
    ("mxnet.kvstore", "'handle'", "MXNet's constructor takes a handle of its C library"),
    ("mxnet.test_utils", "'entries'", "MXNet's constructor takes a handle of its C library"),
)
"""Differences of many names: the beginning of the module, words of the difference, and why."""


def differs(module: str, name: str, difference: str) -> str:
    """Why a signature is not MXNet's; empty if nobody has said it."""
    for beginning, words, why in _OF_A_KIND:
        if module.startswith(beginning) and words in difference:
            return why
    return DIFFERENT.get(f"{module}.{name}", "")
