"""Linear regression with nothing but arrays and autograd: the parameters are updated in place."""

import random

import numpy as onp
from mxnet import autograd, np, npx

npx.set_np()

rng = onp.random.RandomState(1)
true_w = np.array([2, -3.4])
true_b = 4.2
features = np.array(rng.normal(0, 1, (200, 2)))
labels = np.dot(features, true_w) + true_b
labels += np.array(rng.normal(0, 0.01, labels.shape))
print("features:", features[0], "\nlabel:", labels[0])


def data_iter(batch_size, features, labels):
    num_examples = len(features)
    indices = list(range(num_examples))
    random.Random(7).shuffle(indices)
    for i in range(0, num_examples, batch_size):
        batch_indices = np.array(indices[i : min(i + batch_size, num_examples)])
        yield features[batch_indices], labels[batch_indices]


def linreg(X, w, b):
    return np.dot(X, w) + b


def squared_loss(y_hat, y):
    return (y_hat - y.reshape(y_hat.shape)) ** 2 / 2


def sgd(params, lr, batch_size):
    for param in params:
        param[:] = param - lr * param.grad / batch_size


w = np.array(rng.normal(0, 0.01, (2, 1)))
b = np.zeros(1)
w.attach_grad()
b.attach_grad()
lr = 0.03
net, loss = linreg, squared_loss

for epoch in range(3):
    for X, y in data_iter(10, features, labels):
        with autograd.record():
            l = loss(net(X, w, b), y)
        l.backward()
        sgd([w, b], lr, 10)
    train_l = loss(net(features, w, b), labels)
    print(f"epoch {epoch + 1}, loss {float(train_l.mean()):f}")

print(f"error in estimating w: {true_w - w.reshape(true_w.shape)}")
print(f"error in estimating b: {true_b - b}")
