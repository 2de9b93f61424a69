"""Parts of MXNet that are absent, and their replacements: the one table for messages of ``gluonx`` and ``mxnet``."""

from __future__ import annotations

__all__ = ["way_around"]

# By the longest beginning of the dotted name.
_WAYS = {
    "mxnet.callback": "print from the training loop, or use gluonx.metric",
    "mxnet.contrib": "MXNet's contrib is not here",
    "mxnet.contrib.amp": "use gluonx.amp",
    "mxnet.contrib.onnx": "ONNX is written, by export_model or HybridBlock.export, and not read",
    "mxnet.contrib.quantization": "the operators are in npx; or use net.cast('bfloat16') or gluonx.amp",
    "mxnet.executor": "call the symbol's bind, or write the net as a HybridBlock",
    "mxnet.estimator": "write the loop with autograd.record() and Trainer.step",
    "mxnet.gluon.contrib.data": "use gluonx.data",
    "mxnet.gluon.contrib.estimator": "write the loop with autograd.record() and Trainer.step",
    "mxnet.gluon.contrib.nn.SparseEmbedding": "use nn.Embedding: all arrays are dense",
    "mxnet.gluon.data.vision": "use gluonx.data with PIL or OpenCV",
    "mxnet.image": "use PIL or OpenCV, and np.array",
    "mxnet.io": "use io.NDArrayIter or gluonx.data.DataLoader",
    "mxnet.kv": "XLA's collectives take its place; Trainer accepts kvstore=...",
    "mxnet.kvstore": "XLA's collectives take its place; Trainer accepts kvstore=...",
    "mxnet.libinfo": "there is no shared library",
    "mxnet.library": "write an operator with gluonx.from_jax",
    "mxnet.mod": "use Module or BucketingModule, or write the loop with autograd.record() and gluon.Trainer",
    "mxnet.model": "use model.load_checkpoint and SymbolBlock",
    "mxnet.module": "use Module or BucketingModule, or write the loop with autograd.record() and gluon.Trainer",
    "mxnet.monitor": "use Block.register_op_hook",
    "mxnet.mon": "use Block.register_op_hook",
    "mxnet.operator": "use operator.CustomOp, gluonx.autograd.Function, or raw JAX and gluonx.from_jax",
    "mxnet.profiler": "use gluonx.profiler, jax.profiler, and gluonx.engine.stats()",
    "mxnet.recordio": "read the data set with gluonx.data",
    "mxnet.rnn": "the cells for symbols are not here; use gluon.rnn",
    "mxnet.rtc": "gluonx.from_jax takes any JAX function, Pallas kernels included",
    "mxnet.runtime": "ask gluonx.runtime.Features() or jax.devices()",
    "mxnet.test_utils": "use numpy.testing",
    "mxnet.visualization": "use Block.summary()",
    "mxnet.viz": "use Block.summary()",
}


def way_around(dotted: str) -> str:
    """What to use instead of a name of MXNet; empty where nothing is known.

    Examples
    --------
    >>> way_around("mxnet.viz.plot_network")
    'use Block.summary()'
    """
    parts = dotted.split(".")
    for n in range(len(parts), 1, -1):
        found = _WAYS.get(".".join(parts[:n]))
        if found:
            return found
    return ""
