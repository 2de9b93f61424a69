"""A multilayer perceptron from arrays, with a Gluon loss; then autograd through plain Python control flow."""

import numpy as onp
from mxnet import autograd, gluon, np, npx

npx.set_np()

rng = onp.random.RandomState(4)
num_inputs, num_outputs, num_hiddens = 12, 3, 16
W1 = np.array(rng.normal(scale=0.1, size=(num_inputs, num_hiddens)))
b1 = np.zeros(num_hiddens)
W2 = np.array(rng.normal(scale=0.1, size=(num_hiddens, num_outputs)))
b2 = np.zeros(num_outputs)
params = [W1, b1, W2, b2]
for param in params:
    param.attach_grad()


def relu(X):
    return np.maximum(X, 0)


def net(X):
    X = X.reshape((-1, num_inputs))
    H = relu(np.dot(X, W1) + b1)
    return np.dot(H, W2) + b2


loss = gluon.loss.SoftmaxCrossEntropyLoss()
X = np.array(rng.normal(size=(64, 3, 4)))
y = np.array(rng.randint(0, 3, 64))
for step in range(30):
    with autograd.record():
        l = loss(net(X), y)
    l.backward()
    for p in params:
        p[:] -= 0.5 * p.grad / len(y)
    if step % 10 == 9:
        print(step, float(l.mean()), float(np.abs(W1.grad).sum()))

x = np.arange(-4.0, 4.0, 1.0)
x.attach_grad()
for f in (npx.relu, npx.sigmoid, np.tanh):
    with autograd.record():
        out = f(x)
    out.backward()
    print(out, x.grad)


def doubling(a):
    b = a * 2
    while np.linalg.norm(b) < 1000:
        b = b * 2
    if b.sum() > 0:
        c = b
    else:
        c = 100 * b
    return c


a = np.array(0.37)
a.attach_grad()
with autograd.record():
    d = doubling(a)
d.backward()
print(a.grad == d / a, a.grad)

x = np.arange(4.0)
x.attach_grad()
with autograd.record():
    y = x * x
    u = y.detach()
    z = u * x
z.backward()
print(x.grad == u, x.grad)
y.backward()
print(x.grad == 2 * x)
