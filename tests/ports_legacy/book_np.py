"""Chapters of a book for MXNet 1.6 to 1.9: NumPy arrays, and blocks with prefixes and ParameterDicts."""

import os
import tempfile

import numpy as onp
from mxnet import autograd, gluon, init, np, npx
from mxnet.gluon import nn

npx.set_np()


class MyDense(nn.Block):
    def __init__(self, units, in_units, **kwargs):
        super().__init__(**kwargs)
        self.weight = self.params.get("weight", shape=(in_units, units))
        self.bias = self.params.get("bias", shape=(units,), init="zeros")

    def forward(self, x):
        linear = np.dot(x, self.weight.data()) + self.bias.data()
        return npx.relu(linear)


dense = MyDense(units=3, in_units=5)
print(dense.params)
dense.initialize(init.Constant(0.25))
print(dense(np.ones((2, 5))))


class FixedHiddenMLP(nn.Block):
    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        fixed = np.array(onp.linspace(-1, 1, 400).reshape(20, 20).astype("f"))
        self.rand_weight = self.params.get_constant("rand_weight", fixed)
        self.dense = nn.Dense(20, activation="relu")

    def forward(self, x):
        x = self.dense(x)
        x = npx.relu(np.dot(x, self.rand_weight.data()) + 1)
        x = self.dense(x)
        while np.abs(x).sum() > 1:
            x /= 2
        return x.sum()


net = FixedHiddenMLP()
net.initialize(init.Constant(0.05))
print(net(np.array(onp.linspace(0, 1, 40).reshape(2, 20).astype("f"))))


class MyInit(init.Initializer):
    def _init_weight(self, name, data):
        print("Init", name, data.shape)
        data[:] = np.array(onp.linspace(-1, 1, data.size).reshape(data.shape).astype("f"))


net = nn.Sequential()
net.add(nn.Dense(4, activation="relu"), nn.Dense(1))
net.initialize(MyInit())
x = np.array(onp.linspace(0, 2, 8).reshape(2, 4).astype("f"))
print(net(x))
print(net[0].params)
print(net.collect_params())
print(net[1].bias, type(net[1].bias).__name__, net[1].bias.data())
print(net.collect_params()["dense2_bias"].data(), list(net.collect_params(".*weight")))
print(net[0].weight.grad())
net[0].weight.initialize(init=init.Constant(2), force_reinit=True)
print(net[0].weight.data()[0])
net.collect_params().setattr("grad_req", "null")
print([p.grad_req for p in net.collect_params().values()])
net.collect_params().setattr("grad_req", "write")

shared = nn.Dense(4, activation="relu")
net = nn.Sequential()
net.add(nn.Dense(4, activation="relu"), shared, nn.Dense(4, activation="relu", params=shared.params), nn.Dense(1))
net.initialize(init.Constant(0.1))
net(x)
print(net[1].weight.data()[0] == net[2].weight.data()[0])
net[1].weight.data()[0, 0] = 100
print(net[1].weight.data()[0] == net[2].weight.data()[0])
print(list(net.collect_params()))

trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.001})
loss = gluon.loss.L2Loss()
for epoch in range(3):
    with autograd.record():
        value = loss(net(x), np.ones((2, 1)))
    value.backward()
    trainer.step(2)
    print(epoch, value.mean())

with tempfile.TemporaryDirectory() as folder:
    path = os.path.join(folder, "mlp.params")
    net.save_parameters(path)
    clone = nn.Sequential()
    again = nn.Dense(4, activation="relu")
    clone.add(nn.Dense(4, activation="relu"), again, nn.Dense(4, activation="relu", params=again.params), nn.Dense(1))
    clone.load_parameters(path)
    print((clone(x) == net(x)).all())
    npx.save(path, [x, x[0]])
    print([array.shape for array in npx.load(path)])
    npx.save(path, {"x": x})
    print(list(npx.load(path)), npx.load(path)["x"])
