"""``mx.model.FeedForward`` as users of MXNet 1 had it: for MXNet 1.9.1, and for gluonx under gluonx.compat."""

import pathlib
import tempfile

import mxnet as mx
import numpy as np

__all__ = ["DATA", "LABEL", "network", "run"]

_RNG = np.random.RandomState(0)
DATA = _RNG.randn(32, 6).astype("float32")
LABEL = (DATA[:, 0] + DATA[:, 1] > 0).astype("float32")
_FIRST, _SECOND = _RNG.randn(8, 6) * 0.3, _RNG.randn(2, 8) * 0.3


def network():
    x = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=8, name="fc1")
    x = mx.sym.Activation(mx.sym.BatchNorm(x, name="bn", fix_gamma=False), act_type="tanh")
    return mx.sym.SoftmaxOutput(mx.sym.FullyConnected(x, num_hidden=2, name="fc2"), name="softmax")


def batches():
    return mx.io.NDArrayIter(DATA, LABEL, 8)


def run():
    """Everything that can be measured, as lists."""
    known = {
        "fc1_weight": mx.nd.array(_FIRST),
        "fc1_bias": mx.nd.zeros(8),
        "fc2_weight": mx.nd.array(_SECOND),
        "fc2_bias": mx.nd.zeros(2),
    }
    seen, ends = [], []
    model = mx.model.FeedForward(
        network(), ctx=mx.cpu(), num_epoch=3, epoch_size=5, learning_rate=0.2, momentum=0.9, wd=0.01,
        arg_params=known, initializer=mx.init.One(),
    )  # fmt: skip
    model.fit(
        batches(),
        eval_data=batches(),
        batch_end_callback=lambda p: seen.append([p.epoch, p.nbatch]),
        epoch_end_callback=lambda epoch, *rest: ends.append(epoch),
    )
    out, data, label = model.predict(batches(), num_batch=2, return_data=True)
    with tempfile.TemporaryDirectory() as folder:
        model.save(str(pathlib.Path(folder) / "m"))
        again = mx.model.FeedForward.load(str(pathlib.Path(folder) / "m"), 3, ctx=mx.cpu(), num_epoch=4)
    again.fit(batches())
    return {
        "seen": seen,
        "ends": ends,
        "args": {name: value.asnumpy().tolist() for name, value in model.arg_params.items()},
        "aux": {name: value.asnumpy().tolist() for name, value in model.aux_params.items()},
        "predicted": model.predict(DATA).tolist(),
        "returned": [out.shape, data.shape, label.shape],
        "scores": [model.score(batches()), model.score(batches(), "ce")],
        "further": again.arg_params["fc2_weight"].asnumpy().tolist(),
    }
