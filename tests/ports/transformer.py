"""A transformer encoder out of nn parts: positional encoding, multi-head attention, AddNorm, hybridized and trained."""

import math

import numpy as onp
from mxnet import autograd, gluon, init, np, npx
from mxnet.gluon import nn

npx.set_np()
rng = onp.random.RandomState(19)


class PositionalEncoding(nn.HybridBlock):
    def __init__(self, num_hiddens, dropout, max_len=32):
        super().__init__()
        self.dropout = nn.Dropout(dropout)
        P = np.zeros((1, max_len, num_hiddens))
        X = np.arange(max_len).reshape(-1, 1) / np.power(10000, np.arange(0, num_hiddens, 2) / num_hiddens)
        P[:, :, 0::2] = np.sin(X)
        P[:, :, 1::2] = np.cos(X)
        self.P = gluon.Constant(P)

    def forward(self, X):
        return self.dropout(X + self.P.data()[:, : X.shape[1], :])


class MultiHeadAttention(nn.HybridBlock):
    def __init__(self, num_hiddens, num_heads, dropout):
        super().__init__()
        self.num_heads = num_heads
        self.dropout = nn.Dropout(dropout)
        self.W_q = nn.Dense(num_hiddens, flatten=False)
        self.W_k = nn.Dense(num_hiddens, flatten=False)
        self.W_v = nn.Dense(num_hiddens, flatten=False)
        self.W_o = nn.Dense(num_hiddens, flatten=False)

    def split(self, X):
        X = X.reshape(X.shape[0], X.shape[1], self.num_heads, -1)
        return X.transpose(0, 2, 1, 3).reshape(-1, X.shape[1], X.shape[3])

    def forward(self, X, mask):
        q, k, v = self.split(self.W_q(X)), self.split(self.W_k(X)), self.split(self.W_v(X))
        scores = npx.batch_dot(q, k, transpose_b=True) / math.sqrt(q.shape[-1])
        mask = np.repeat(mask, self.num_heads, axis=0)
        weights = npx.softmax(np.where(mask, scores, -1e9), axis=-1)
        out = npx.batch_dot(self.dropout(weights), v)
        out = out.reshape(-1, self.num_heads, X.shape[1], out.shape[-1]).transpose((0, 2, 1, 3))
        return self.W_o(npx.reshape(out, (-2, -2, -5)))


class AddNorm(nn.HybridBlock):
    def __init__(self, dropout):
        super().__init__()
        self.dropout = nn.Dropout(dropout)
        self.ln = nn.LayerNorm()

    def forward(self, X, Y):
        return self.ln(self.dropout(Y) + X)


class EncoderBlock(nn.HybridBlock):
    def __init__(self, num_hiddens, ffn_hiddens, num_heads, dropout=0.0):
        super().__init__()
        self.attention = MultiHeadAttention(num_hiddens, num_heads, dropout)
        self.addnorm1, self.addnorm2 = AddNorm(dropout), AddNorm(dropout)
        self.ffn = nn.HybridSequential()
        self.ffn.add(nn.Dense(ffn_hiddens, flatten=False), nn.GELU(), nn.Dense(num_hiddens, flatten=False))

    def forward(self, X, mask):
        Y = self.addnorm1(X, self.attention(X, mask))
        return self.addnorm2(Y, self.ffn(Y))


class Encoder(nn.HybridBlock):
    def __init__(self, vocab_size, num_hiddens, num_layers):
        super().__init__()
        self.num_hiddens = num_hiddens
        self.embedding = nn.Embedding(vocab_size, num_hiddens)
        self.pos_encoding = PositionalEncoding(num_hiddens, 0.0)
        self.blks = nn.HybridSequential()
        for _ in range(num_layers):
            self.blks.add(EncoderBlock(num_hiddens, 2 * num_hiddens, 2))
        self.head = nn.Dense(vocab_size, flatten=False)

    def forward(self, tokens, mask):
        X = self.pos_encoding(self.embedding(tokens) * math.sqrt(self.num_hiddens))
        for blk in self.blks:
            X = blk(X, mask)
        return self.head(X)


tokens = np.array(rng.randint(0, 11, (3, 6)), dtype="int32")
lengths = np.array([6, 3, 4])
mask = np.arange(6).reshape(1, 1, 6) < lengths.reshape(3, 1, 1)
mask = mask.astype("float32")
mask = np.broadcast_to(mask, (3, 6, 6))
net = Encoder(11, 8, 1)
net.initialize(init.Xavier())
net(tokens, mask)
for name, param in net.collect_params().items():
    if name.endswith("weight"):
        param.set_data(np.array(rng.normal(0, 0.3, param.shape)))
print(len(net.collect_params()), list(net.collect_params())[:5])
before = net(tokens, mask)
net.hybridize()
print(np.abs(net(tokens, mask) - before).max() < 1e-4, before[0, 0, :4])
loss_fn = gluon.loss.SoftmaxCrossEntropyLoss()
weights = npx.sequence_mask(np.ones((6, 3)), lengths, True).T[:, :, None]
trainer = gluon.Trainer(net.collect_params(), "adamw", {"learning_rate": 0.01, "wd": 0.01})
for _ in range(4):
    with autograd.record():
        l = loss_fn(net(tokens, mask), tokens, weights).sum() / lengths.sum()
    l.backward()
    trainer.step(1)
    print(l.item())
