"""Bits of bigger scripts: neural style losses on an image Parameter, word2vec's masked loss, a seq2seq mask loss."""

import numpy as onp
from mxnet import autograd, gluon, init, np, npx
from mxnet.gluon import nn

npx.set_np()
rng = onp.random.RandomState(26)


class SynthesizedImage(nn.Block):
    def __init__(self, img_shape, **kwargs):
        super().__init__(**kwargs)
        self.weight = gluon.Parameter("weight", shape=img_shape)

    def forward(self):
        return self.weight.data()


def gram(X):
    num_channels, n = X.shape[1], X.size // X.shape[1]
    X = X.reshape(num_channels, n)
    return np.dot(X, X.T) / (num_channels * n)


def tv_loss(Y_hat):
    return 0.5 * (
        np.abs(Y_hat[:, :, 1:, :] - Y_hat[:, :, :-1, :]).mean()
        + np.abs(Y_hat[:, :, :, 1:] - Y_hat[:, :, :, :-1]).mean()
    )


image = SynthesizedImage((1, 2, 5, 5))
image.initialize()
image.weight.set_data(np.array(rng.uniform(size=(1, 2, 5, 5))))
target = np.array(rng.uniform(size=(2, 2)))
trainer = gluon.Trainer(image.collect_params(), "adam", {"learning_rate": 0.1})
for _ in range(3):
    with autograd.record():
        out = image()
        l = np.square(gram(out) - target).mean() + 10 * tv_loss(out)
    l.backward()
    trainer.step(1)
    print(l)


class SigmoidBCELoss(gluon.loss.Loss):
    def __init__(self):
        super().__init__(weight=None, batch_axis=0)
        self.bce = gluon.loss.SigmoidBinaryCrossEntropyLoss(batch_axis=0)

    def forward(self, pred, label, mask=None):
        return self.bce(pred, label, mask)


def skip_gram(center, contexts_and_negatives, embed_v, embed_u):
    v = embed_v(center)
    u = embed_u(contexts_and_negatives)
    return npx.batch_dot(v, u.swapaxes(1, 2))


embed_v, embed_u = nn.Embedding(9, 4), nn.Embedding(9, 4)
for embed in (embed_v, embed_u):
    embed.initialize()
    embed.weight.set_data(np.array(rng.normal(0, 0.5, (9, 4))))
center, context = np.array(rng.randint(0, 9, (3, 1))), np.array(rng.randint(0, 9, (3, 4)))
mask = np.array([[1, 1, 1, 0], [1, 1, 0, 0], [1, 1, 1, 1]])
label = np.array([[1, 0, 0, 0], [1, 0, 0, 0], [1, 1, 0, 0]])
with autograd.record():
    pred = skip_gram(center, context, embed_v, embed_u)
    l = SigmoidBCELoss()(pred.reshape(label.shape), label, mask) * mask.shape[1] / mask.sum(axis=1)
l.backward()
print(l, embed_v.weight.grad().sum(axis=1))


class MaskedSoftmaxCELoss(gluon.loss.SoftmaxCELoss):
    def forward(self, pred, label, valid_len):
        weights = np.expand_dims(np.ones_like(label), axis=-1)
        weights = npx.sequence_mask(weights, valid_len, True, axis=1)
        return super().forward(pred, label, weights)


loss = MaskedSoftmaxCELoss()
print(loss(np.ones((3, 4, 10)), np.ones((3, 4)), np.array([4, 2, 0])))


class GRUCell(nn.HybridBlock):
    def __init__(self, n):
        super().__init__()
        self.gates, self.cand = nn.Dense(2 * n, flatten=False), nn.Dense(n, flatten=False)

    def forward(self, x, h):
        z, r = np.split(npx.sigmoid(self.gates(np.concatenate([x, h], axis=-1))), 2, axis=-1)
        return z * h + (1 - z) * np.tanh(self.cand(np.concatenate([x, r * h], axis=-1)))


cell = GRUCell(3)
cell.initialize(init.Constant(0.2))
cell.hybridize()
h = np.zeros((2, 3))
seq = np.array(rng.normal(size=(4, 2, 2)))
with autograd.record():
    for x in seq:
        h = cell(x, h)
    l = h.sum()
l.backward()
print(h, cell.gates.weight.grad()[0])
