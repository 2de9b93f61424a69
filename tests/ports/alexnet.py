"""A small AlexNet: max pooling with strides, dropout in the head, hybridized; gradients of every parameter."""

import numpy as onp
from mxnet import autograd, gluon, init, np, npx
from mxnet.gluon import nn

npx.set_np()
rng = onp.random.RandomState(8)

net = nn.HybridSequential()
net.add(nn.Conv2D(8, kernel_size=5, strides=2, activation="relu"), nn.MaxPool2D(pool_size=3, strides=2))
net.add(nn.Conv2D(12, kernel_size=5, padding=2, activation="relu"), nn.MaxPool2D(pool_size=3, strides=2))
net.add(nn.Conv2D(12, kernel_size=3, padding=1, activation="relu", groups=2))
net.add(nn.Conv2D(8, kernel_size=(3, 3), padding=(1, 1), activation="relu"), nn.MaxPool2D(3, 2))
net.add(nn.Flatten())
net.add(nn.Dense(32, activation="relu"), nn.Dropout(0.0), nn.Dense(32, activation="relu"), nn.Dropout(0.0))
net.add(nn.Dense(5))

X = np.array(rng.uniform(-1, 1, size=(4, 3, 63, 63)))
net.initialize(init.Xavier(magnitude=2.24))
net.hybridize(static_alloc=True, static_shape=True)
print(net(X).shape)
for name, param in net.collect_params().items():
    fan_in = max(1, int(onp.prod(param.shape[1:])))
    param.set_data(np.array(rng.normal(0, fan_in**-0.5, param.shape)))

y = np.array([0, 1, 2, 3])
loss_fn = gluon.loss.SoftmaxCrossEntropyLoss()
trainer = gluon.Trainer(net.collect_params(), "adam", {"learning_rate": 1e-3})
for step in range(3):
    with autograd.record():
        loss = loss_fn(net(X), y).mean()
    loss.backward()
    if step == 0:
        for name, param in net.collect_params().items():
            print(name, param.shape, float(np.abs(param.grad()).mean()))
    trainer.step(1)
    print(step, loss.item())
