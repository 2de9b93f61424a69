"""LeNet on the device, as the classic script has it; shapes layer by layer first."""

import mxnet as mx
import numpy as onp
from mxnet import autograd, gluon, init, np, npx
from mxnet.gluon import nn

npx.set_np()
rng = onp.random.RandomState(7)


def try_gpu(i=0):
    return npx.gpu(i) if npx.num_gpus() >= i + 1 else npx.cpu()


def fill(net):
    for name, param in net.collect_params().items():
        scale = (2.0 / max(1, int(onp.prod(param.shape[1:])))) ** 0.5
        param.set_data(
            np.array(rng.normal(0, scale, param.shape) if name.endswith("weight") else onp.zeros(param.shape))
        )


net = nn.Sequential()
net.add(
    nn.Conv2D(channels=6, kernel_size=5, padding=2, activation="sigmoid"),
    nn.AvgPool2D(pool_size=2, strides=2),
    nn.Conv2D(channels=16, kernel_size=5, activation="sigmoid"),
    nn.AvgPool2D(pool_size=2, strides=2),
    nn.Dense(24, activation="sigmoid"),
    nn.Dense(12, activation="sigmoid"),
    nn.Dense(10),
)
X = np.array(rng.uniform(size=(1, 1, 28, 28)))
net.initialize()
for layer in net:
    X = layer(X)
    print(layer.__class__.__name__, "output shape:\t", X.shape)

ctx = try_gpu()
net.initialize(force_reinit=True, ctx=ctx, init=init.Xavier())
fill(net)
images = rng.uniform(size=(24, 1, 28, 28)).astype("float32")
labels = rng.randint(0, 10, 24).astype("float32")
train_iter = gluon.data.DataLoader(gluon.data.ArrayDataset(images, labels), 8)
loss = gluon.loss.SoftmaxCrossEntropyLoss()
trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.9})
for epoch in range(2):
    total, correct, n = 0.0, 0, 0
    for X, y in train_iter:
        X, y = X.as_in_ctx(ctx), y.as_in_ctx(ctx)
        with autograd.record():
            y_hat = net(X)
            l = loss(y_hat, y)
        l.backward()
        trainer.step(X.shape[0])
        total += float(l.sum())
        correct += int((y_hat.argmax(axis=1).astype(y.dtype) == y).sum())
        n += X.shape[0]
    print(f"loss {total / n:.5f}, train acc {correct / n:.3f}")
print(mx.gluon.utils.split_and_load(np.arange(4), [mx.cpu()])[0])
