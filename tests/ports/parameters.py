"""Parameter management: access, custom initializers, sharing, re-initialization, gradients."""

import mxnet as mx
import numpy as onp
from mxnet import autograd, gluon, init, np, npx
from mxnet.gluon import nn

npx.set_np()
rng = onp.random.RandomState(14)

net = nn.Sequential()
net.add(nn.Dense(8, activation="relu"))
net.add(nn.Dense(1))
net.initialize()
print(net[0].weight.shape, list(net[1].params))
try:
    net[0].weight.data().asnumpy()
except gluon.parameter.DeferredInitializationError:
    print("not initialized yet")
X = np.array(rng.uniform(size=(2, 4)))
net(X)
print(dict(net[1].params).values())
print(type(net[1].bias).__name__, net[1].bias.data())
print(net.collect_params()["1.bias"].data())
print(net[0].weight.grad().shape, net[0].weight.list_data()[0].shape, net[0].weight.list_ctx())
print(net)

net.initialize(init=init.Normal(sigma=0.01), force_reinit=True)
print(float(np.abs(net[0].weight.data()).max()) < 0.1)
net.initialize(init=init.Constant(1), force_reinit=True)
print(net[0].weight.data()[0])
net[0].weight.initialize(init=init.Xavier(), force_reinit=True)
net[1].initialize(init=init.Constant(42), force_reinit=True)
print(net[1].weight.data()[0, 0], net[1].bias.data())


@init.register
class MyInit(init.Initializer):
    def __init__(self, low=5.0):
        super().__init__(low=low)
        self.low = low

    def _init_weight(self, name, data):
        print("Init", name.split(".")[-1], data.shape)
        data[:] = np.array(onp.linspace(-10, 10, data.size).reshape(data.shape))
        data *= np.abs(data) >= self.low


net.initialize(MyInit(), force_reinit=True)
print(net[0].weight.data()[:2])
net[0].weight.data()[:] += 1
net[0].weight.data()[0, 0] = 42
print(net[0].weight.data()[0])
dense = nn.Dense(2, in_units=2, weight_initializer="myinit", bias_initializer=init.One())
dense.initialize()
print(dense.weight.data(), dense.bias.data())

shared = nn.Dense(8, activation="relu")
tied = nn.Sequential()
tied.add(
    nn.Dense(8, activation="relu"), shared, nn.Dense(8, activation="relu").share_parameters(shared.params), nn.Dense(10)
)
tied.initialize(init.Constant(0.1))
with autograd.record():
    out = tied(X).sum()
out.backward()
print(tied[1].weight.data()[0] == tied[2].weight.data()[0])
tied[1].weight.data()[0, 0] = 100
print((tied[1].weight.data()[0] == tied[2].weight.data()[0]).all(), tied[1].weight is tied[2].weight)
print(tied[1].weight.grad()[0])
tied.zero_grad()
print(tied[1].weight.grad()[0])
print(list(tied.collect_params(".*weight")))
for param in tied.collect_params("0.*").values():
    param.grad_req = "null"
print([p.grad_req for p in tied.collect_params().values()], mx.cpu())
