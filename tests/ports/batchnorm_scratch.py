"""Batch normalization as a user's own Block: moving averages as plain arrays, the mode from autograd."""

import mxnet as mx
import numpy as onp
from mxnet import autograd, gluon, init, np, npx
from mxnet.gluon import nn

npx.set_np()
rng = onp.random.RandomState(12)


def batch_norm(X, gamma, beta, moving_mean, moving_var, eps, momentum):
    if not autograd.is_training():
        X_hat = (X - moving_mean) / np.sqrt(moving_var + eps)
    else:
        assert len(X.shape) in (2, 4)
        if len(X.shape) == 2:
            mean = X.mean(axis=0)
            var = ((X - mean) ** 2).mean(axis=0)
        else:
            mean = X.mean(axis=(0, 2, 3), keepdims=True)
            var = ((X - mean) ** 2).mean(axis=(0, 2, 3), keepdims=True)
        X_hat = (X - mean) / np.sqrt(var + eps)
        moving_mean = momentum * moving_mean + (1.0 - momentum) * mean
        moving_var = momentum * moving_var + (1.0 - momentum) * var
    Y = gamma * X_hat + beta
    return Y, moving_mean, moving_var


class BatchNorm(nn.Block):
    def __init__(self, num_features, num_dims, **kwargs):
        super().__init__(**kwargs)
        shape = (1, num_features) if num_dims == 2 else (1, num_features, 1, 1)
        self.gamma = gluon.Parameter("gamma", shape=shape, init=init.One())
        self.beta = gluon.Parameter("beta", shape=shape, init=init.Zero())
        self.moving_mean = np.zeros(shape)
        self.moving_var = np.zeros(shape)

    def forward(self, X):
        if self.moving_mean.ctx != X.ctx:
            self.moving_mean = self.moving_mean.copyto(X.ctx)
            self.moving_var = self.moving_var.copyto(X.ctx)
        Y, self.moving_mean, self.moving_var = batch_norm(
            X, self.gamma.data(), self.beta.data(), self.moving_mean, self.moving_var, eps=1e-12, momentum=0.9
        )
        return Y


net = nn.Sequential()
net.add(
    nn.Conv2D(3, kernel_size=3),
    BatchNorm(3, num_dims=4),
    nn.Activation("sigmoid"),
    nn.MaxPool2D(pool_size=2, strides=2),
    nn.Dense(6),
    BatchNorm(6, num_dims=2),
    nn.Activation("sigmoid"),
    nn.Dense(2),
)
X = np.array(rng.normal(size=(10, 1, 8, 8)))
y = np.array(rng.randint(0, 2, 10))
net.initialize(ctx=mx.cpu())
with autograd.pause():
    net(X)
for name, param in net.collect_params().items():
    if name.endswith("weight"):
        param.set_data(np.array(rng.normal(0, 0.4, param.shape)))
trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.5})
loss = gluon.loss.SoftmaxCrossEntropyLoss()
for _ in range(6):
    with autograd.record():
        l = loss(net(X), y)
    l.backward()
    trainer.step(10)
    print(l.mean())
print(net[1].gamma.data().reshape(-1), net[1].beta.data().reshape(-1))
print(net[1].moving_mean.reshape(-1), net[5].moving_var)
print(net(X)[:3])
