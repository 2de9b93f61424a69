"""Weight decay: as a penalty in the loss, and as the trainer's wd with the bias left out."""

import numpy as onp
from mxnet import autograd, gluon, init, np, npx
from mxnet.gluon import nn

npx.set_np()
rng = onp.random.RandomState(6)
n_train, num_inputs, batch_size = 20, 30, 5
true_w, true_b = np.ones((num_inputs, 1)) * 0.01, 0.05
X = np.array(rng.normal(size=(n_train, num_inputs)))
y = np.dot(X, true_w) + true_b
w0 = rng.normal(size=(num_inputs, 1))


def l2_penalty(w):
    return (w**2).sum() / 2


def train_scratch(lambd):
    w, b = np.array(w0), np.zeros(1)
    w.attach_grad()
    b.attach_grad()
    for _ in range(10):
        for i in range(0, n_train, batch_size):
            with autograd.record():
                l = ((X[i : i + batch_size] @ w + b - y[i : i + batch_size]) ** 2) / 2 + lambd * l2_penalty(w)
            l.backward()
            for param in (w, b):
                param[:] = param - 0.01 * param.grad / batch_size
    print("L2 norm of w:", np.linalg.norm(w))


def train_concise(wd):
    net = nn.Sequential()
    net.add(nn.Dense(1))
    net.initialize(init.Normal(sigma=1))
    net(X)
    net[0].weight.set_data(w0.T)
    loss = gluon.loss.L2Loss()
    trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.01, "wd": wd})
    net.setattr("wd_mult", 1.0)
    for param in net.collect_params(".*bias").values():
        param.wd_mult = 0
    for _ in range(10):
        for i in range(0, n_train, batch_size):
            with autograd.record():
                l = loss(net(X[i : i + batch_size]), y[i : i + batch_size])
            l.backward()
            trainer.step(batch_size)
    print("L2 norm of w:", np.linalg.norm(net[0].weight.data()), net[0].bias.data())


train_scratch(lambd=0)
train_scratch(lambd=3)
train_concise(0)
train_concise(3)
