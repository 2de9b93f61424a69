"""What stands for a name of MXNet that gluonx does not have: it can be imported, and says so when it is used."""

from __future__ import annotations

from typing import Any, NoReturn

from gluonx.errors import GluonxError

__all__ = ["Absent", "AbsentError", "way_around"]


class AbsentError(GluonxError, NotImplementedError):
    """A name of MXNet was used that gluonx does not have; the message says what to use instead."""


# By the longest beginning of the dotted name.
_WAYS = {
    "mxnet.callback": "print from the training loop, or use gluonx.metric",
    "mxnet.contrib": "MXNet's contrib is not here",
    "mxnet.contrib.amp": "use gluonx.amp",
    "mxnet.contrib.onnx": "ONNX is written, by export_model or HybridBlock.export, and not read",
    "mxnet.contrib.quantization": "quantized operators are not here; use net.cast('bfloat16') or gluonx.amp",
    "mxnet.executor": "call the symbol's bind, or write the net as a HybridBlock",
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
    "mxnet.operator": "write the operator as a gluonx.autograd.Function, or with raw JAX and gluonx.from_jax",
    "mxnet.profiler": "use jax.profiler, and gluonx.engine.stats()",
    "mxnet.recordio": "read the data set with gluonx.data",
    "mxnet.rnn": "the cells for symbols are not here; use gluon.rnn",
    "mxnet.rtc": "gluonx.from_jax takes any JAX function, Pallas kernels included",
    "mxnet.runtime": "ask jax.devices()",
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


def _refuse(dotted: str) -> NoReturn:
    way = way_around(dotted)
    raise AbsentError(f"{dotted} is not in gluonx{': ' + way if way else ''}.")


class Absent:
    """Stands for the name `dotted`. Calling it, or looking into it, raises `AbsentError`.

    It may be imported, compared, named in ``isinstance`` (of which nothing is an instance) and derived from; an
    instance of the derived class raises.
    """

    __slots__ = ("dotted",)

    def __init__(self, dotted: str) -> None:
        self.dotted = dotted

    def __repr__(self) -> str:
        return f"<{self.dotted}, which is not in gluonx>"

    def __call__(self, *args: Any, **kwargs: Any) -> NoReturn:
        """Raise `AbsentError`."""
        _refuse(self.dotted)

    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("__"):
            raise AttributeError(name)
        _refuse(f"{self.dotted}.{name}")

    def __getitem__(self, key: Any) -> NoReturn:
        _refuse(self.dotted)

    def __iter__(self) -> NoReturn:
        _refuse(self.dotted)

    def __instancecheck__(self, instance: Any) -> bool:
        return False

    def __mro_entries__(self, bases: Any) -> tuple[type, ...]:
        dotted = self.dotted

        def init(self: Any, *args: Any, **kwargs: Any) -> None:
            _refuse(dotted)

        return (type(dotted.rpartition(".")[2], (), {"__init__": init}),)
