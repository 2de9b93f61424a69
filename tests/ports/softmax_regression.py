"""Softmax regression: from scratch first, then with DataLoader, SoftmaxCrossEntropyLoss and a metric."""

import mxnet as mx
import numpy as onp
from mxnet import autograd, gluon, init, np, npx
from mxnet.gluon import nn

npx.set_np()

rng = onp.random.RandomState(3)
centers = rng.normal(0, 2, (4, 6))
classes = rng.randint(0, 4, 160)
images = (centers[classes] + rng.normal(0, 1, (160, 6))).astype("float32").reshape(160, 2, 3, 1)
labels = classes.astype("int32")


def softmax(X):
    X_exp = np.exp(X)
    partition = X_exp.sum(1, keepdims=True)
    return X_exp / partition


def cross_entropy(y_hat, y):
    return -np.log(y_hat[range(len(y_hat)), y])


def accuracy(y_hat, y):
    if len(y_hat.shape) > 1 and y_hat.shape[1] > 1:
        y_hat = y_hat.argmax(axis=1)
    cmp = y_hat.astype(y.dtype) == y
    return float(cmp.astype(y.dtype).sum())


W = np.array(rng.normal(0, 0.01, (6, 4)))
b = np.zeros(4)
W.attach_grad()
b.attach_grad()


def scratch(X):
    return softmax(np.dot(X.reshape((-1, W.shape[0])), W) + b)


X_all, y_all = np.array(images), np.array(labels, dtype="int32")
y_hat = np.array([[0.1, 0.3, 0.6], [0.3, 0.2, 0.5]])
print(y_hat[[0, 1], [0, 2]], cross_entropy(y_hat, np.array([0, 2])))
for _ in range(20):
    with autograd.record():
        l = cross_entropy(scratch(X_all), y_all).mean()
    l.backward()
    W -= 0.5 * W.grad
    b -= 0.5 * b.grad
print("scratch", l, accuracy(scratch(X_all), y_all) / len(y_all))

train_data = gluon.data.DataLoader(gluon.data.ArrayDataset(images, labels), batch_size=32, last_batch="keep")
net = nn.HybridSequential()
net.add(nn.Flatten(), nn.Dense(4, in_units=6))
net.initialize(init.Zero())
net.hybridize()
loss_fn = gluon.loss.SoftmaxCrossEntropyLoss()
trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.1, "momentum": 0.9})
metric = gluon.metric.Accuracy()
train_loss = gluon.metric.Loss()
for epoch in range(3):
    metric.reset()
    train_loss.reset()
    for data, label in train_data:
        data = data.as_in_ctx(mx.cpu())
        label = label.as_in_ctx(mx.cpu())
        with autograd.record():
            output = net(data)
            l = loss_fn(output, label)
        l.backward()
        trainer.step(data.shape[0])
        metric.update(label, output)
        train_loss.update(0, l)
    name, acc = metric.get()
    print(f"[Epoch {epoch}] {name}={acc:.4f} {train_loss.get()}")
