"""Attention: softmax under valid lengths, additive and dot-product scoring, batch_dot."""

import math

import numpy as onp
from mxnet import autograd, np, npx
from mxnet.gluon import nn

npx.set_np()
rng = onp.random.RandomState(18)


def masked_softmax(X, valid_lens):
    if valid_lens is None:
        return npx.softmax(X)
    shape = X.shape
    if valid_lens.ndim == 1:
        valid_lens = valid_lens.repeat(shape[1])
    else:
        valid_lens = valid_lens.reshape(-1)
    X = npx.sequence_mask(X.reshape(-1, shape[-1]), valid_lens, True, value=-1e6, axis=1)
    return npx.softmax(X).reshape(shape)


print(masked_softmax(np.array(rng.uniform(size=(2, 2, 4))), np.array([2, 3])))
print(masked_softmax(np.array(rng.uniform(size=(2, 2, 4))), np.array([[1, 3], [2, 4]])))


class AdditiveAttention(nn.Block):
    def __init__(self, num_hiddens, dropout, **kwargs):
        super().__init__(**kwargs)
        self.W_k = nn.Dense(num_hiddens, use_bias=False, flatten=False)
        self.W_q = nn.Dense(num_hiddens, use_bias=False, flatten=False)
        self.w_v = nn.Dense(1, use_bias=False, flatten=False)
        self.dropout = nn.Dropout(dropout)

    def forward(self, queries, keys, values, valid_lens):
        queries, keys = self.W_q(queries), self.W_k(keys)
        features = np.expand_dims(queries, axis=2) + np.expand_dims(keys, axis=1)
        features = np.tanh(features)
        scores = np.squeeze(self.w_v(features), axis=-1)
        self.attention_weights = masked_softmax(scores, valid_lens)
        return npx.batch_dot(self.dropout(self.attention_weights), values)


class DotProductAttention(nn.Block):
    def __init__(self, dropout, **kwargs):
        super().__init__(**kwargs)
        self.dropout = nn.Dropout(dropout)

    def forward(self, queries, keys, values, valid_lens=None):
        d = queries.shape[-1]
        scores = npx.batch_dot(queries, keys, transpose_b=True) / math.sqrt(d)
        self.attention_weights = masked_softmax(scores, valid_lens)
        return npx.batch_dot(self.dropout(self.attention_weights), values)


queries, keys = np.array(rng.normal(0, 1, (2, 1, 20))), np.array(rng.normal(0, 1, (2, 10, 2)))
values = np.arange(40).reshape(1, 10, 4).repeat(2, axis=0)
valid_lens = np.array([2, 6])
additive = AdditiveAttention(num_hiddens=8, dropout=0.1)
additive.initialize()
additive(queries, keys, values, valid_lens)
for param in additive.collect_params().values():
    param.set_data(np.array(rng.normal(0, 0.5, param.shape)))
print(additive(queries, keys, values, valid_lens))
print(additive.attention_weights.reshape((2, 10)))

queries = np.array(rng.normal(0, 1, (2, 3, 2)))
attention = DotProductAttention(dropout=0.0)
attention.initialize()
queries.attach_grad()
keys.attach_grad()
with autograd.record():
    out = attention(queries, keys, values, valid_lens)
out.backward()
print(out, queries.grad, keys.grad[0, :3], sep="\n")


def nadaraya_watson(x_train, y_train, x_test):
    diffs = np.expand_dims(x_test, 1) - np.expand_dims(x_train, 0)
    weights = npx.softmax(-(diffs**2) / 2, axis=1)
    return np.dot(weights, y_train)


x_train = np.sort(np.array(rng.uniform(0, 5, 20)))
print(nadaraya_watson(x_train, 2 * np.sin(x_train) + x_train**0.8, np.arange(0, 5, 1.0)))
