"""Random nets over arrays (batch, length, channels) whose batch and length differ from step to step, and runs of them.

A net is drawn of a seed as a list of steps in plain data, so one that fails can be cut down by leaving steps out. Each
step takes and gives an array of three axes, with lengths that may change, and has a guard for those that are too short.
"""

from __future__ import annotations

import numpy as onp

from gluonx import Trainer, autograd, init, np, npx, random
from gluonx.gluon import nn, rnn
from gluonx.gluon.loss import HuberLoss, L2Loss, SoftmaxCrossEntropyLoss

__all__ = ["Sentences", "drawn", "run"]

CHANNELS = 4


def _even(x, k=2):
    """The longest start whose length is a multiple of k, or the whole repeated."""
    n = x.shape[1] - x.shape[1] % k
    return x[:, :n] if n else np.repeat(x, k, axis=1)


def _lengths(x):
    """A valid length of each sentence."""
    return (np.arange(x.shape[0]) % x.shape[1] + 1).astype("float32")


def _conv(x, **how):
    y = np.swapaxes(x, 1, 2)
    return np.swapaxes(npx.pooling(y, **how), 1, 2)


def _attention(x):
    scores = npx.batch_dot(x, x, transpose_b=True) / onp.sqrt(x.shape[-1])
    return npx.batch_dot(npx.softmax(scores, axis=-1), x)


def _masked_attention(x):
    scores = np.matmul(x, np.swapaxes(x, 1, 2))
    return np.matmul(
        npx.softmax(
            scores, length=np.tile(_lengths(x).reshape(-1, 1), (1, x.shape[1])).astype("int32"), use_length=True
        ),
        x,
    )


def _interleaved(x):
    y = np.swapaxes(np.concatenate([x, x * 0.5, x + 0.1], axis=2), 0, 1)
    att = npx.softmax(npx.interleaved_matmul_selfatt_qk(y, heads=2), axis=-1)
    return np.swapaxes(npx.interleaved_matmul_selfatt_valatt(y, att, heads=2), 0, 1)


def _foreach(x):
    out, last = npx.foreach(
        lambda part, state: (part + 0.5 * state, np.tanh(part - state)), np.swapaxes(x, 0, 1), x[:, 0] * 0
    )
    return np.swapaxes(out, 0, 1) + np.expand_dims(last, 1)


def _while(x):
    return npx.while_loop(
        lambda i, y: i < 3,
        lambda i, y: ([], [i + 1, np.tanh(y * 0.7) + 1 / (i + 1)]),
        [np.zeros((), dtype="int32"), x],
        max_iterations=5,
    )[1][1]


def _cond(x):
    return npx.cond(lambda y: y.sum() > 0.1234, lambda y: y * 2, lambda y: y - 1, [x])


class _Own(autograd.Function):
    def forward(self, x):
        self.save_for_backward(x)
        return x * x

    def backward(self, dy):
        (x,) = self.saved_tensors
        return dy * x * 3


def _topk(x, axis, k):
    if x.shape[axis] < k:
        return x
    return npx.topk(x, axis=axis, k=k, ret_typ="value")


def _gathered(x):
    at = np.argsort((x * 7 % 1).sum(-1), axis=1).astype("int32")
    return x[np.arange(x.shape[0]).reshape(-1, 1), at]


def _set(x):
    y = x.copy() * 1
    y[:, 0] = x[:, -1] * 2
    return y


def _one_hot(x):
    return x + npx.one_hot(np.argmax(x, axis=-1), CHANNELS) * x.mean()


def _pad(x):
    return np.pad(x, ((0, 0), (1, 2), (0, 0)))


def _scan_steps(x):
    out, h = [], x[:, 0]
    for t in range(min(x.shape[1], 4)):
        h = np.tanh(x[:, t] + 0.3 * h)
        out.append(h)
    return np.stack(out, axis=1)


def _reshaped_heads(x):
    return npx.reshape(np.swapaxes(npx.reshape(x, (-2, -2, 2, -1)), 1, 2), (-5, -2, -2)).reshape(
        x.shape[0], -1, CHANNELS
    )


# name: function of x that gives (batch, length, channels)
PLAIN = {
    "relu": npx.relu,
    "tanh": np.tanh,
    "sigmoid": npx.sigmoid,
    "gelu": lambda x: npx.leaky_relu(x, act_type="gelu"),
    "softmax": npx.softmax,
    "softmax 1": lambda x: npx.softmax(x, axis=1) * x.shape[1],
    "log_softmax -2": lambda x: npx.log_softmax(x, axis=-2),
    "softmax 0": lambda x: npx.softmax(x, axis=0, temperature=2.0),
    "softmax length": lambda x: np.swapaxes(
        npx.softmax(
            np.swapaxes(x, 1, 2),
            length=np.tile(_lengths(x).reshape(-1, 1), (1, CHANNELS)).astype("int32"),
            use_length=True,
        ),
        1,
        2,
    ),
    "masked_softmax": lambda x: npx.masked_softmax(x, x.detach() > -0.5),
    "attention": _attention,
    "masked attention": _masked_attention,
    "interleaved": _interleaved,
    "minus mean 1": lambda x: x - x.mean(axis=1, keepdims=True),
    "minus mean -2": lambda x: x - x.mean(-2, keepdims=True),
    "minus mean 0": lambda x: x - x.mean(axis=0),
    "minus mean all": lambda x: x - x.mean(),
    "over sum": lambda x: x / (np.abs(x).sum(axis=1, keepdims=True) + 1),
    "var": lambda x: x / np.sqrt(x.var(axis=(0, 1)) + 0.1),
    "std": lambda x: x * (x * x + 0.1).std(axis=2, keepdims=True),
    "max 1": lambda x: x - x.max(axis=1, keepdims=True) * 0.5,
    "min": lambda x: x + x.min(axis=-1, keepdims=True),
    "prod": lambda x: x + (1 + 0.1 * np.tanh(x)).prod(axis=1, keepdims=True),
    "norm": lambda x: x / (np.linalg.norm(x + 2, axis=1, keepdims=True)),
    "logsumexp": lambda x: x - np.log(np.exp(np.tanh(x)).sum(1, keepdims=True)),
    "cumsum 1": lambda x: np.cumsum(x, axis=1) / x.shape[1],
    "cumsum 0": lambda x: np.cumsum(x, axis=0),
    "cumsum flat": lambda x: np.cumsum(x.reshape(-1)).reshape(x.shape) / x.size,
    "cumsum -2": lambda x: np.cumsum(x, axis=-2),
    "cumprod": lambda x: x + np.cumsum(np.log1p(x * x), axis=-1),
    "sort 1": lambda x: np.sort(x, axis=1),
    "sort -1": lambda x: np.sort(x, axis=-1),
    "argsort": lambda x: x + np.argsort(x, axis=1).astype("float32") * 0.1,
    "argmax": lambda x: x + np.argmax(x, axis=1).astype("float32").reshape(x.shape[0], 1, -1) * 0.1,
    "gathered": _gathered,
    "argmin flat": lambda x: x + np.argmin(x).astype("float32") * 0.01,
    "topk 1": lambda x: _topk(x, 1, 3),
    "topk length": lambda x: _topk(x, 1, (x.shape[1] + 1) // 2),
    "from 1": lambda x: x[:, 1:] if x.shape[1] > 1 else x,
    "to -1": lambda x: x[:, :-1] if x.shape[1] > 1 else x,
    "every 2": lambda x: x[:, ::2],
    "back by 2": lambda x: x[:, ::-2],
    "last 3": lambda x: x[:, -3:],
    "first 5": lambda x: x[:, :5],
    "half": lambda x: x[:, : (x.shape[1] + 1) // 2],
    "first times": lambda x: x[:, 0:1] * x,
    "last times": lambda x: np.expand_dims(x[:, -1], 1) * x,
    "int index": lambda x: x + x[:, x.shape[1] // 2].reshape(x.shape[0], 1, CHANNELS),
    "fancy": lambda x: x[:, onp.arange(x.shape[1])[::-1].copy()] * x,
    "fancy repeats": lambda x: x[:, onp.array([0, -1, 0])],
    "batch swap": lambda x: x[onp.arange(x.shape[0] - 1, -1, -1)],
    "ellipsis": lambda x: x[..., ::-1],
    "newaxis": lambda x: x[:, :, None].squeeze(2) + 1,
    "set": _set,
    "flip 1": lambda x: np.flip(x, 1),
    "flip all": lambda x: np.flip(x, (0, 1)),
    "roll 1": lambda x: np.roll(x, 1, axis=1) + x,
    "roll -2": lambda x: np.roll(x, -2, axis=-2),
    "roll flat": lambda x: np.roll(x, 3),
    "pad": _pad,
    "concat": lambda x: np.concatenate([x, x * 2], axis=1),
    "concat parts": lambda x: np.concatenate([x[:, 1:], x[:, :1]], axis=1),
    "stack": lambda x: np.stack([x, -x], axis=2).reshape(x.shape[0], -1, CHANNELS),
    "stack mean": lambda x: np.stack([x, x * x], axis=0).mean(0),
    "split": lambda x: np.split(_even(x), 2, axis=1)[1],
    "split 3": lambda x: sum(np.split(_even(x, 3), 3, axis=1)),
    "split channels": lambda x: np.concatenate(np.split(x, 2, axis=-1)[::-1], axis=-1),
    "repeat": lambda x: np.repeat(x, 2, axis=1) * 0.5,
    "tile": lambda x: np.tile(x, (1, 2, 1)),
    "reshape flat": lambda x: (x.reshape(-1) * 2).reshape(x.shape),
    "reshape -1": lambda x: x.reshape(x.shape[0], -1, CHANNELS) * x.reshape(-1, x.shape[1], CHANNELS),
    "reshape batch": lambda x: x.reshape(-1, CHANNELS).reshape(1, -1, CHANNELS),
    "reshape npx": lambda x: npx.reshape(npx.reshape(x, (-5, -2)), (-6, x.shape[0], -1, -2)),
    "heads": _reshaped_heads,
    "pairs": lambda x: _even(x).reshape(x.shape[0], -1, 2, CHANNELS).mean(2),
    "transpose": lambda x: x.transpose(1, 0, 2),
    "swap": lambda x: np.swapaxes(x, 0, 1),
    "swap mean": lambda x: x + np.swapaxes(x, 1, 2).mean(axis=-1, keepdims=True).mean(),
    "outer add": lambda x: (x[:, :, :1] + np.swapaxes(x[:, :, 1:2], 1, 2)).mean(-1, keepdims=True) * x,
    "outer square": lambda x: (np.expand_dims(x, 1) * np.expand_dims(x, 2)).mean(1),
    "batch outer": lambda x: x + (x[:, :1, 0] + x[:, 0, 1].reshape(1, -1)).mean(),
    "broadcast_to": lambda x: x * np.broadcast_to(x[:, :1], x.shape),
    "broadcast_like": lambda x: x + npx.broadcast_like(x.mean(1, keepdims=True), x),
    "einsum": lambda x: np.einsum("btc,bsc->bts", x, x).mean(-1, keepdims=True) + x,
    "einsum 2": lambda x: np.einsum("btc,bsc,bsd->btd", x, x, x) / x.shape[1],
    "tensordot": lambda x: x + np.tensordot(x, x, ([0, 1], [0, 1])).mean(0) / x.shape[1],
    "gram": lambda x: np.matmul(np.matmul(x, np.swapaxes(x, 1, 2)), x) / x.shape[1],
    "dot": lambda x: np.dot(x, np.ones((CHANNELS, CHANNELS)) * 0.3),
    "triu": lambda x: np.matmul(np.triu(np.matmul(x, np.swapaxes(x, 1, 2))), x) / x.shape[1],
    "tril -1": lambda x: np.matmul(np.tril(np.ones((x.shape[1], x.shape[1])), -1), x) / x.shape[1],
    "eye": lambda x: np.matmul(np.eye(x.shape[1]) + 0.1, x),
    "causal": lambda x: np.matmul(
        npx.softmax(
            np.where(
                np.arange(x.shape[1]).reshape(-1, 1) >= np.arange(x.shape[1]), np.matmul(x, np.swapaxes(x, 1, 2)), -1e9
            )
        ),
        x,
    ),
    "arange": lambda x: x + np.arange(x.shape[1]).reshape(-1, 1) * 0.1,
    "arange int": lambda x: x * (np.arange(x.shape[1], dtype="int32") % 3).reshape(-1, 1),
    "arange_like": lambda x: x + 0.1 * npx.arange_like(x, axis=1).reshape(-1, 1),
    "linspace": lambda x: x + np.linspace(0, 1, x.shape[1]).reshape(-1, 1),
    "ones_like": lambda x: x + np.ones_like(x) / 3,
    "zeros batch": lambda x: np.concatenate([np.zeros((x.shape[0], 2, CHANNELS)), x], axis=1),
    "full": lambda x: x * np.full((x.shape[1], 1), 0.5),
    "one_hot": _one_hot,
    "pick": lambda x: x + npx.pick(x, np.argmax(x, axis=-1).astype("float32"), axis=-1, keepdims=True),
    "pick 1": lambda x: (
        x * np.expand_dims(npx.pick(x, _lengths(x).reshape(-1, 1) * np.ones((1, CHANNELS)) - 1, axis=1), 1)
    ),
    "take": lambda x: np.take(x, np.argsort(x[0, :, 0]).astype("int32"), axis=1),
    "take wrap": lambda x: np.take(x, np.array([0, 7, -3]), axis=1, mode="wrap"),
    "take clip": lambda x: np.take(x, np.array([1, 9]), axis=1, mode="clip"),
    "where": lambda x: np.where(x > 0, x, x * x),
    "where scalar": lambda x: np.where(x > 0.2, x, 0.5),
    "where mask": lambda x: np.where((np.arange(x.shape[1]) < 3).reshape(1, -1, 1), x, -x),
    "clip": lambda x: np.clip(x, -0.5, 0.7),
    "maximum": lambda x: np.maximum(x, x.mean(1, keepdims=True)),
    "maximum scalar": lambda x: np.maximum(x, 0.1),
    "minimum": lambda x: np.minimum(x, x[:, ::-1] + 0.3),
    "sign": lambda x: x * np.sign(x) + np.floor(x * 3) * 0.1,
    "sequence_mask": lambda x: npx.sequence_mask(x, _lengths(x), use_sequence_length=True, value=0.3, axis=1),
    "sequence_mask 0": lambda x: np.swapaxes(
        npx.sequence_mask(np.swapaxes(x, 0, 1), _lengths(x), use_sequence_length=True), 0, 1
    ),
    "sequence_reverse": lambda x: np.swapaxes(
        npx.sequence_reverse(np.swapaxes(x, 0, 1), _lengths(x), use_sequence_length=True), 0, 1
    ),
    "sequence_last": lambda x: (
        x + np.expand_dims(npx.sequence_last(x, _lengths(x), use_sequence_length=True, axis=1), 1)
    ),
    "reverse all": lambda x: npx.sequence_reverse(x),
    "max pool": lambda x: _conv(_pad(x), kernel=(2,), stride=(2,), pool_type="max"),
    "avg pool": lambda x: _conv(_pad(x), kernel=(3,), stride=(2,), pad=(1,), pool_type="avg"),
    "full pool": lambda x: _conv(_pad(x), kernel=(3,), stride=(2,), pool_type="max", pooling_convention="full"),
    "avg pool full": lambda x: _conv(
        _pad(x), kernel=(3,), stride=(2,), pool_type="avg", pooling_convention="full", count_include_pad=False
    ),
    "global pool": lambda x: x * _conv(x, kernel=(1,), global_pool=True, pool_type="avg"),
    "image pool": lambda x: npx.pooling(np.expand_dims(_pad(x), 1), kernel=(3, 1), stride=(2, 1), pool_type="avg")[
        :, 0
    ],
    "lp pool": lambda x: _conv(_pad(x) + 2, kernel=(2,), pool_type="lp", p_value=2),
    "half precision": lambda x: (x.astype("float16") * 2 + 1).astype("float32"),
    "half mean": lambda x: x + x.astype("float16").mean(1, keepdims=True).astype("float32"),
    "bfloat16": lambda x: (np.tanh(x.astype("bfloat16")) * 0.5).astype("float32"),
    "half product": lambda x: np.matmul(
        x.astype("float16"), np.ones((CHANNELS, CHANNELS), dtype="float16") * 0.25
    ).astype("float32"),
    "int cast": lambda x: x + (x * 3).astype("int32").astype("float32") * 0.1,
    "int sum": lambda x: x + (x > 0).astype("int32").sum(axis=1, keepdims=True) * 0.1,
    "bool mean": lambda x: x * (x > 0).mean(),
    "int8": lambda x: x + ((x * 3).astype("int8") + 1) * 0.1,
    "bool": lambda x: x * (x > 0),
    "int floor": lambda x: x + ((x * 5).astype("int32") // 2) % 3 * 0.1,
    "scalars": lambda x: 2 * x - 1 / (x * x + 1) + x**2 - x**3 * 0.1,
    "by length": lambda x: x / x.shape[1] + x.shape[0],
    "weak": lambda x: x + onp.float32(0.3) + True,
    "rpow": lambda x: 1.3**x + (-x) ** 2,
    "mod": lambda x: x + (x % 0.7),
    "abs": lambda x: np.abs(x) + np.sqrt(np.abs(x) + 0.1),
    "exp": lambda x: np.exp(-x * x) + np.log1p(x * x),
    "trig": lambda x: np.sin(x) * np.cos(x) + np.arctan(x),
    "erf": lambda x: npx.erf(x) + npx.gamma(np.abs(x) + 1) * 0.1,
    "smooth_l1": lambda x: npx.smooth_l1(x, scalar=1.5),
    "numpy array": lambda x: x + np.array(onp.linspace(0, 1, x.shape[1], dtype="f").reshape(-1, 1)),
    "detach": lambda x: x * x.detach(),
    "stop": lambda x: x + npx.stop_gradient(x * x),
    "l2": lambda x: npx.l2_normalization(x + 1, mode="channel"),
    "diff": lambda x: np.diff(x, axis=1) if x.shape[1] > 1 else x,
    "trace": lambda x: x + np.trace(np.matmul(x, np.swapaxes(x, 1, 2)), axis1=1, axis2=2).reshape(-1, 1, 1) / x.size,
    "diag": lambda x: x * np.expand_dims(np.diagonal(np.matmul(x, np.swapaxes(x, 1, 2)), axis1=1, axis2=2), 2),
    "moveaxis": lambda x: np.moveaxis(x, 1, 0),
    "squeeze": lambda x: np.expand_dims(x.mean(axis=1, keepdims=True).squeeze(1), 1) + x,
    "average": lambda x: (
        np.average(x, axis=1, weights=np.arange(x.shape[1]) + 1.0).reshape(x.shape[0], 1, CHANNELS) + x
        if False
        else x + x.mean((0, 1))
    ),
    "slice_axis": lambda x: npx.slice_axis(x, axis=1, begin=-2, end=None) if x.shape[1] > 2 else x,
    "slice_like": lambda x: npx.slice_like(x, x[:, : (x.shape[1] + 1) // 2], axes=(1,)),
    "gather_nd": lambda x: (
        x + npx.gather_nd(x, np.array([[0, 0], [0, -1 + 1]])).reshape(1, 2, CHANNELS).mean(1, keepdims=True)
    ),
    "batch_dot T": lambda x: (
        npx.batch_dot(npx.batch_dot(x, x, transpose_a=True), np.swapaxes(x, 1, 2)).swapaxes(1, 2) / x.shape[1]
    ),
    "foreach": _foreach,
    "while": _while,
    "cond": _cond,
    "own function": lambda x: _Own()(x),
    "steps": _scan_steps,
    "dropout": lambda x: npx.dropout(x, p=0.4),
    "dropout axes": lambda x: npx.dropout(x, p=0.4, axes=(1,)),
    "noise": lambda x: x + np.random.uniform(-1, 1, size=(x.shape[1], 1)) * 0.1,
    "normal": lambda x: x + np.random.normal(0, 0.1, size=x.shape),
    "bernoulli": lambda x: x * (np.random.uniform(size=x.shape[:2] + (1,)) > 0.3),
    "asks": lambda x: x * 3 if x.shape[1] == 5 else x,
    "parity": lambda x: x[:, :-1] if x.shape[1] % 2 == 0 else x + 1,
}


class _Conv(nn.HybridBlock):
    def __init__(self, **how):
        super().__init__()
        self.conv = nn.Conv1D(CHANNELS, in_channels=CHANNELS, **how)

    def forward(self, x):
        return np.swapaxes(self.conv(np.swapaxes(_pad(x), 1, 2)), 1, 2)


class _Recurrent(nn.HybridBlock):
    def __init__(self, kind, states, **how):
        super().__init__()
        self.kind, self.states = kind, states
        self.layer = getattr(rnn, kind)(CHANNELS, input_size=CHANNELS, layout="NTC", **how)

    def forward(self, x):
        if self.states:
            state = np.ones((self.layer._num_layers * self.layer._dir, x.shape[0], CHANNELS)) * 0.2
            out, new = self.layer(x, [state] * (2 if self.kind == "LSTM" else 1))
            out = out + new[0].mean()
        else:
            out = self.layer(x)
        return out[:, :, :CHANNELS] + out[:, :, -CHANNELS:]


class _Unrolled(nn.HybridBlock):
    def __init__(self):
        super().__init__()
        self.cell = rnn.GRUCell(CHANNELS, input_size=CHANNELS)

    def forward(self, x):
        x = x[:, :4]
        return self.cell.unroll(x.shape[1], x, layout="NTC", merge_outputs=True)[0]


class _Words(nn.HybridBlock):
    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(6, CHANNELS)

    def forward(self, x):
        return self.table((np.abs(x[:, :, 0]) * 4).astype("int32") % 6) + x


class _Scaled(nn.HybridBlock):
    def __init__(self):
        super().__init__()
        from gluonx import Parameter

        self.weight = Parameter("weight", shape=(1, 1, CHANNELS), init="ones")

    def forward(self, x):
        return x * self.weight.data() + self.weight.data().sum()


def dense(**how):
    return nn.Dense(CHANNELS, flatten=False, in_units=CHANNELS, **how)


LAYERS = {
    "dense": dense,
    "dense relu": lambda: dense(activation="relu"),
    "dense tanh": lambda: dense(activation="tanh", use_bias=False),
    "layer norm": lambda: nn.LayerNorm(in_channels=CHANNELS),
    "batch norm": lambda: nn.BatchNorm(axis=-1, in_channels=CHANNELS, momentum=0.6, epsilon=0.1),
    "batch norm fixed": lambda: nn.BatchNorm(axis=-1, in_channels=CHANNELS, scale=False, epsilon=0.1),
    "global stats": lambda: nn.BatchNorm(axis=-1, in_channels=CHANNELS, use_global_stats=True),
    "conv": lambda: _Conv(kernel_size=3, padding=1),
    "conv 2": lambda: _Conv(kernel_size=2, strides=2),
    "dilated": lambda: _Conv(kernel_size=2, dilation=2, use_bias=False),
    "grouped": lambda: _Conv(kernel_size=3, groups=2),
    "depthwise": lambda: _Conv(kernel_size=3, padding=1, groups=4, activation="relu"),
    "pointwise": lambda: _Conv(kernel_size=1),
    "lstm": lambda: _Recurrent("LSTM", False),
    "lstm both": lambda: _Recurrent("LSTM", True, bidirectional=True),
    "gru": lambda: _Recurrent("GRU", True, num_layers=2),
    "rnn": lambda: _Recurrent("RNN", False, activation="relu"),
    "unrolled": _Unrolled,
    "words": _Words,
    "scaled": _Scaled,
    "prelu": lambda: nn.PReLU(in_channels=1),
    "swish": nn.Swish,
    "dropout layer": lambda: nn.Dropout(0.3),
    "heads": lambda: nn.MultiHeadAttention(CHANNELS, 2),
}

LOSSES = ["square", "mean", "l2", "cross entropy", "huber", "sum", "last", "penalty"]


def drawn(seed):
    """Return the plan of a run: steps of the net and settings of the loop."""
    numbers = onp.random.RandomState(seed)
    steps = []
    for _ in range(numbers.randint(2, 8)):
        kind = numbers.randint(10)
        if kind < 7:
            steps.append(("plain", list(PLAIN)[numbers.randint(len(PLAIN))]))
        elif kind < 9 or not any(s[0] == "layer" for s in steps):
            steps.append(("layer", list(LAYERS)[numbers.randint(len(LAYERS))]))
        else:
            steps.append(("again", int(numbers.randint(3))))
    return {
        "seed": seed,
        "steps": steps,
        "hybrid": bool(numbers.randint(2)),
        "nested": bool(numbers.randint(3) == 0),
        "loss": LOSSES[numbers.randint(len(LOSSES))],
        "add": bool(numbers.randint(4) == 0),
        "optimizer": ["sgd", "momentum", "adam"][numbers.randint(3)],
        "evals": bool(numbers.randint(2)),
        "twice": bool(numbers.randint(5) == 0),
        "x_grad": bool(numbers.randint(2)),
        "shapes": [(int(numbers.choice([1, 2, 3, 4, 6, 9])), int(numbers.randint(1, 21))) for _ in range(7)],
    }


class Sentences(nn.HybridBlock):
    """The net of a plan."""

    def __init__(self, plan):
        super().__init__()
        self.plan, self.first, self.last = plan["steps"], dense(activation="tanh"), dense()
        self.layers = nn.HybridSequential()
        for kind, name in self.plan:
            if kind == "layer":
                layer = LAYERS[name]()
                if plan["nested"]:
                    inner = nn.HybridSequential()
                    inner.add(layer, nn.Activation("tanh"))
                    layer = inner
                self.layers.add(layer)

    def forward(self, x):
        x, at = self.first(x), 0
        for kind, name in self.plan:
            if kind == "plain":
                x = PLAIN[name](x)
            elif kind == "layer":
                x, at = self.layers[at](x), at + 1
            elif at:
                x = self.layers[name % at](x)
            x = x * 0.5 if x.size < 4000 else x[:2, :20] * 0.5
        return self.last(x)


def _loss(name, out, x):
    if name == "square":
        return (out * out).mean()
    if name == "mean":
        return np.tanh(out).mean(axis=(1, 2))
    if name == "l2":
        return L2Loss()(out, out.detach() * 0 + 1)
    if name == "cross entropy":
        return SoftmaxCrossEntropyLoss()(out, np.arange(out.shape[0] * out.shape[1]).reshape(out.shape[:2]) % CHANNELS)
    if name == "huber":
        return HuberLoss()(out, np.zeros_like(out) + 0.3)
    if name == "sum":
        return (out * out + out).sum() / out.size
    return np.sin(out[:, -1]).sum()


def run(plan):
    """Return what a loop of training and use gives: pairs of a name and an array, in order."""
    random.seed(plan["seed"])
    net = Sentences(plan)
    net.initialize(init.Uniform(0.7))
    numbers = onp.random.RandomState(plan["seed"])
    for p in net.collect_params().values():
        if p.shape is not None and p.grad_req != "null" and 0 not in p.shape and -1 not in p.shape:
            p.set_data(np.array(numbers.uniform(-0.6, 0.6, p.shape).astype("f")))
            p.grad_req = "add" if plan["add"] else "write"
    if plan["hybrid"]:
        net.hybridize()
    kind = {"sgd": ("sgd", {}), "momentum": ("sgd", {"momentum": 0.9, "wd": 0.01}), "adam": ("adam", {"epsilon": 0.01})}
    name, more = kind[plan["optimizer"]]
    trainer = Trainer(net.collect_params(), name, {"learning_rate": 0.01, **more})
    found = []
    for k, (batch, length) in enumerate(plan["shapes"]):
        x = np.array(numbers.uniform(-1, 1, (batch, length, CHANNELS)).astype("f"))
        if plan["x_grad"]:
            x.attach_grad()
        with autograd.record():
            out = net(x)
            loss = _loss(plan["loss"], out, x)
            if plan["loss"] == "penalty" and plan["x_grad"]:
                loss = loss + (autograd.grad(loss, [x], create_graph=True, retain_graph=True)[0] ** 2).sum()
            if plan["twice"]:
                loss2 = (net(x[:, ::-1]) ** 2).mean()
        if plan["twice"]:
            autograd.backward([loss, loss2])
        else:
            loss.backward()
        if plan["x_grad"]:
            found.append((f"{k} x", x.grad.asnumpy()))
        if k % 2:
            found += [
                (f"{k} grad {n}", p.grad().asnumpy()) for n, p in net.collect_params().items() if p.grad_req != "null"
            ]
        trainer.step(batch)
        if plan["add"] and k % 3 == 2:
            net.zero_grad()
        found.append((f"{k} loss", loss.asnumpy()))
        found.append((f"{k} out", out.asnumpy()))
        if plan["evals"]:
            found.append((f"{k} eval", net(x[:, : length // 2 + 1]).asnumpy()))
    return found + [(n, p.data().asnumpy()) for n, p in net.collect_params().items()]
