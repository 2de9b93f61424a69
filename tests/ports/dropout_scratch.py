"""Dropout by hand (the mask is drawn by NumPy, to be the same everywhere), and the layer in its two modes."""

import numpy as onp
from mxnet import autograd, gluon, init, np, npx
from mxnet.gluon import nn

npx.set_np()
rng = onp.random.RandomState(5)


def dropout_layer(X, dropout):
    assert 0 <= dropout <= 1
    if dropout == 1:
        return np.zeros_like(X)
    mask = np.array(rng.uniform(0, 1, X.shape)) > dropout
    return mask.astype(np.float32) * X / (1.0 - dropout)


X = np.arange(16).reshape(2, 8)
print(dropout_layer(X, 0))
print(dropout_layer(X, 0.5))
print(dropout_layer(X, 1))


class Net(nn.Block):
    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.hidden = nn.Dense(8, activation="relu")
        self.out = nn.Dense(2)

    def forward(self, X):
        H = self.hidden(X.reshape(X.shape[0], -1))
        if autograd.is_training():
            H = dropout_layer(H, 0.3)
        return self.out(H)


net = Net()
net.initialize(init.Constant(0.05))
data = np.array(rng.normal(size=(6, 2, 2)))
target = np.array(rng.normal(size=(6, 2)))
trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.1})
for _ in range(4):
    with autograd.record():
        l = gluon.loss.L2Loss()(net(data), target)
    l.backward()
    trainer.step(6)
    print(l.mean().item())
print(net(data)[0])

layer = nn.Dropout(0.5)
layer.initialize()
ones = np.ones((400, 50))
print((layer(ones) == ones).all())
with autograd.train_mode():
    kept = layer(ones)
print(sorted(set(kept.reshape(-1).tolist())), abs(float(kept.mean()) - 1) < 0.05)
with autograd.record(train_mode=False):
    print((layer(ones) == ones).all())
