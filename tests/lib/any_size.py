"""Forwards that slice, index and reshape, exported for one batch and length and run at others."""

import numpy as np

from gluonx import gluon, nn, npx
from gluonx import np as gnp
from gluonx.compat import prefixes

__all__ = ["BATCH_ONLY", "FORWARDS", "FORWARDS_1", "INPUTS", "Forward", "Forward1", "made"]

# Exported after a call with the first; the last two have another length.
INPUTS = [np.random.default_rng(0).normal(size=(*n, 8)).astype("float32") for n in ((1, 5), (4, 5), (4, 7), (2, 6))]

# `s.d` and `s.e` are dense layers of 3 and 8 units over the last axis.
FORWARDS = """
s.d(x[:, 0])
x[:, 1:]
x[:, :-1]
x[..., -1]
x[:, :, 1:3]
x[:, None]
x[:, None, 0]
x[None]
x[..., None]
x[:, -1]
s.d(x)[:, 0]
s.d(x)[0]
x[0]
x[-1]
x[:1]
x[0:1]
x[:, ::2]
x[:, ::-1]
x[:, -2:]
x[:, 1:-1]
x[:, 1:3]
x[:, :3, None]
x[:, 0, :4]
x[:, 0, 0]
x[..., 0]
x[..., :4]
x[:, 2]
x[:, 2:3]
x[::-1]
x[:, :, ::2]
x[:, :, ::-1]
x[:, :, -3:-1]
x[:, None, :, None]
x[None, :, 0]
x.reshape(x.shape[0], -1)[:, :4]
x.reshape(-1, 8)
x.reshape(x.shape[0], x.shape[1], 2, 4)
x.reshape(x.shape[0], x.shape[1], 2, 4).transpose(0, 2, 1, 3)
x.reshape(x.shape[0], x.shape[1], 2, 4).transpose(0, 2, 1, 3).reshape(x.shape[0], 2, -1)
x.reshape((-1, x.shape[1], 4, 2)).sum(axis=-1)
npx.reshape(x, (-2, -2, 2, -1))
np.expand_dims(x, 1)
np.squeeze(x[:, :1], 1)
x.mean(axis=1)
x.max(axis=1)
x.sum(axis=(1, 2))
x.mean(axis=1, keepdims=True)
x - x.mean(axis=1, keepdims=True)
x[:, 1:] - x[:, :-1]
np.concatenate([x[:, :1], x], axis=1)
np.concatenate([x[:, -1:], x[:, :-1]], axis=1)
np.stack([x[:, 0], x[:, -1]], axis=1)
np.stack([x, x * 2], axis=1)[:, 0]
npx.softmax(x, axis=1)
npx.softmax(np.matmul(x, x.transpose(0, 2, 1)), axis=-1)
np.matmul(npx.softmax(np.matmul(s.e(x), x.swapaxes(1, 2)), axis=-1), x)[:, 0]
s.d(npx.relu(s.e(x)))[:, -1]
x.transpose(1, 0, 2)[0]
x.transpose(1, 0, 2)[-1]
x.swapaxes(0, 1)[1:]
np.split(x, 2, axis=2)[1]
np.split(x, 4, axis=-1)[0][:, 0]
np.tile(x[:, :1], (1, 3, 1))
np.repeat(x, 2, axis=1)
np.broadcast_to(x[:, :1], x.shape)
np.broadcast_to(np.arange(8), (x.shape[0], 8))
x + np.arange(x.shape[1]).reshape(1, -1, 1)
x + np.zeros((x.shape[0], 1, 8))
np.concatenate([np.zeros((x.shape[0], 1, 8)), x], axis=1)
np.concatenate([np.zeros_like(x[:, :1]), x[:, :-1]], axis=1)
x * np.ones((1, 1, 8))
np.where(x > 0, x, 0.1)[:, 0]
np.flip(x, 1)[:, 0]
np.roll(x, 1, axis=1)
np.cumsum(x, axis=1)[:, -1]
npx.pick(x, np.zeros((1, 1)) + x[:, :, 0] * 0, axis=2)
np.einsum("btc,bsc->bts", x, x)[:, 0]
x.argmax(axis=1)
np.take(x, np.array([0, 1]), axis=1)
x[:, np.array([0, 2])]
x[:, 0][:, None]
x[:, 0].reshape(-1, 2, 4)
x.reshape(-1)[:4]
x.flatten()
npx.batch_flatten(x[:, :2])
x.reshape(x.shape[0] * x.shape[1], 8)
x.reshape(x.shape[0] * x.shape[1], 8).reshape(x.shape[0], x.shape[1], 8)
np.pad(x, ((0, 0), (1, 1), (0, 0)))
npx.pooling(x, kernel=(2,), stride=(1,), pool_type="max")
npx.pooling(x.transpose(0, 2, 1), global_pool=True, pool_type="avg", kernel=(1,))[:, :, 0]
npx.slice(x, begin=(None, 1), end=(None, 3))
npx.slice_axis(x, axis=1, begin=1, end=None)
npx.slice_axis(x, axis=1, begin=0, end=-1)
npx.slice_like(x[:, 1:], x[:, :-1] * 2)
npx.arange_like(x, axis=1)
npx.layer_norm(x, np.ones(8), np.zeros(8))[:, 0]
s.d(x[:, 0, :])
s.d(x.mean(axis=1)[:, None])
(x[:, 0], x[:, -1])
np.linalg.norm(x, axis=-1)[:, 0]
x.std(axis=1)
x[:, :1].squeeze(1)
x.sum()
np.sort(x, axis=1)[:, 0]
npx.topk(x, k=2, axis=1, ret_typ="value")
np.dot(x, np.ones((8, 2)))[:, 0]
x[:, 0:x.shape[1] - 1]
x[:, x.shape[1] - 1]
x[:, x.shape[1] // 2]
x[0:x.shape[0]]
x.reshape(x.shape)
x.reshape(x.shape[0], 1, -1)
x.reshape(-1, x.shape[1] * 8)
x.reshape(x.shape[0], -1, 4)
np.ones((x.shape[0], x.shape[1]))[:, :, None] * x
np.full((x.shape[0], 2), 3.0)
x / x.shape[1]
x[:, :, 0:4] * x[:, :, 4:8]
np.hstack([x, x])
np.vstack([x, x])
np.column_stack([x[:, 0], x[:, 1]])
np.diff(x, axis=1)
npx.one_hot(x.argmax(axis=2), 8)[:, 0]
np.argsort(x, axis=1)[:, 0]
x.reshape(x.shape[0], 2, -1, 8) if x.shape[1] % 2 == 0 else x
np.squeeze(x[0:1], 0)
x[0:1, 0]
x[:1, None]
x[0][0]
x[0, 0]
x[0, None]
x[-1:, ..., 0]
x.reshape(x.shape[0] * x.shape[1], 2, 4).reshape(x.shape[0], x.shape[1], 8)
x.reshape(-1, 8).reshape(x.shape[0], x.shape[1], 2, 4)
x.reshape(x.shape[0], x.shape[1], 2, 4).transpose(0, 2, 1, 3).reshape(-1, x.shape[1], 4)
x.reshape(x.shape[0], -1, 2, 4).swapaxes(1, 2).reshape(-1, x.shape[1], 4).reshape(x.shape[0], 2, x.shape[1], 4)
x.transpose(0, 2, 1).reshape(x.shape[0], 2, 4, x.shape[1])
x.transpose(0, 2, 1).reshape(x.shape[0], 2, 4, x.shape[1]).reshape(x.shape[0], 8, x.shape[1])
s.d(x.reshape(-1, 8)).reshape(x.shape[0], x.shape[1], -1)
""".strip().split("\n")

BATCH_ONLY = {
    "x[:, x.shape[1] - 1]",
    "x[:, x.shape[1] // 2]",
    "x / x.shape[1]",
    "x.reshape(x.shape[0], 2, -1, 8) if x.shape[1] % 2 == 0 else x",
}
"""Forwards that compute with a length, which MXNet's files hold as it was: those of any batch, and of that length."""

# Under MXNet 1's names.
FORWARDS_1 = """
F.slice_axis(x, axis=1, begin=0, end=1).reshape((0, -1))
F.slice_axis(x, axis=1, begin=1, end=None)
F.slice_axis(x, axis=1, begin=0, end=-1)
F.slice_axis(x, axis=-1, begin=1, end=3)
F.slice(x, begin=(None, 0), end=(None, 1))
F.slice(x, begin=(None, 1), end=(None, None))
F.slice(x, begin=(0, 0), end=(1, 1))
F.expand_dims(x, axis=1)
s.d(F.squeeze(F.slice_axis(x, axis=1, begin=0, end=1), axis=1))
F.transpose(x, axes=(0, 2, 1))
F.reshape(x, shape=(0, 0, 2, 4))
F.reshape(x, shape=(-1, 8))
F.reshape(x, shape=(-3, 0))
F.reshape(x, shape=(0, -1))
F.reshape(x, shape=(0, 0, -4, 2, -1))
F.reshape(F.reshape(x, shape=(0, 0, -4, 2, -1)).transpose((0, 2, 1, 3)), shape=(-3, 0, 0))
F.flatten(F.slice_axis(x, axis=1, begin=0, end=2))
F.mean(x, axis=1)
F.max(x, axis=1)
F.sum(x, axis=(1, 2))
F.broadcast_sub(x, F.mean(x, axis=1, keepdims=True))
F.concat(F.slice_axis(x, axis=1, begin=0, end=1), x, dim=1)
F.stack(F.slice_axis(x, axis=1, begin=0, end=1), F.slice_axis(x, axis=1, begin=-1, end=None), axis=1)
F.split(x, num_outputs=2, axis=2)[1]
F.softmax(F.batch_dot(x, x, transpose_b=True))
F.batch_dot(F.softmax(F.batch_dot(s.e(x), x, transpose_b=True)), x)
F.SequenceLast(F.transpose(x, axes=(1, 0, 2)))
F.SequenceReverse(F.transpose(x, axes=(1, 0, 2)))
F.broadcast_add(x, F.zeros_like(F.slice_axis(x, axis=1, begin=0, end=1)))
F.broadcast_like(F.slice_axis(x, axis=1, begin=0, end=1), x)
F.slice_like(x, F.slice_axis(x, axis=1, begin=0, end=2), axes=(1,))
F.contrib.arange_like(x, axis=1)
F.broadcast_add(x, F.contrib.arange_like(x, axis=1).reshape((1, -1, 1)))
F.flip(x, axis=1)
F.tile(x, reps=(1, 2, 1))
F.repeat(x, repeats=2, axis=1)
F.swapaxes(x, dim1=0, dim2=1)
F.Pooling(F.transpose(x, axes=(0, 2, 1)), global_pool=True, pool_type="avg", kernel=(1,))
F.Pooling(x, kernel=(2,), stride=(1,), pool_type="max")
F.LayerNorm(x, F.ones(8), F.zeros(8))
F.norm(x, axis=-1)
F.topk(x, k=2, axis=1, ret_typ="value")
F.argmax(x, axis=1)
F.pick(x, F.argmax(x, axis=2), axis=2)
F.one_hot(F.argmax(x, axis=2), depth=8)
F.where(x > 0, x, F.zeros_like(x))
F.clip(x, 0, 1)
F.take(x, F.slice_axis(F.contrib.arange_like(x, axis=1), axis=0, begin=0, end=2), axis=1)
F.sort(x, axis=1)
F.L2Normalization(x)
F.reverse(x, axis=1)
F.reshape_like(F.reshape(x, shape=(-3, 0)), x)
F.UpSampling(F.expand_dims(x, axis=1), scale=2, sample_type="nearest")
F.cumsum(x, axis=1)
F.linalg.gemm2(x, x, transpose_b=True)
F.split_v2(x, 2, axis=2)[0]
""".strip().split("\n")


class Forward(nn.HybridBlock):
    """A block of one line."""

    def __init__(self, line):
        super().__init__()
        self.d = nn.Dense(3, flatten=False, in_units=8)
        self.e = nn.Dense(8, flatten=False, in_units=8)
        self.__dict__["line"] = compile(line, "<line>", "eval")

    def forward(self, x):
        return eval(self.line, {"np": gnp, "npx": npx, "s": self, "x": x})


class Forward1(gluon.HybridBlock):
    """A block of one line of MXNet 1; made where MXNet 1's names are in force."""

    def __init__(self, line):
        super().__init__(prefix="net_")
        with self.name_scope():
            self.d = nn.Dense(3, flatten=False, in_units=8, prefix="d_")
            self.e = nn.Dense(8, flatten=False, in_units=8, prefix="e_")
        self.__dict__["line"] = compile(line, "<line>", "eval")

    def hybrid_forward(self, F, x):
        return eval(self.line, {"F": F, "s": self, "x": x})


def made(line):
    """The net of a line, hybridized, after a call with each input and with the first again; and what it gave."""
    net = (Forward1 if prefixes.Naming.active else Forward)(line)
    net.initialize("xavier")
    net.hybridize()
    outputs = []
    for array in [*INPUTS, INPUTS[0]]:
        out = net(gnp.array(array))
        outputs.append([o.asnumpy() for o in (out if isinstance(out, (list, tuple)) else [out])])
    return net, outputs[:-1]
