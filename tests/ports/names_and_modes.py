"""A program for MXNet 2.0 that goes by names: switches, structured names, sharing, files of all kinds."""

import os
import tempfile

import mxnet as mx
from mxnet import autograd, gluon, init, np, npx
from mxnet.gluon import nn
from mxnet.util import use_np

npx.set_np()
print(npx.is_np_array(), npx.is_np_shape(), mx.util.is_np_array(), mx.is_np_shape(), npx.is_np_default_dtype())


@use_np
class Attend(nn.HybridBlock):
    def __init__(self, units):
        super().__init__()
        self.query = nn.Dense(units, flatten=False, use_bias=False)
        self.key = nn.Dense(units, flatten=False, use_bias=False)
        self.scale = gluon.Parameter("scale", shape=(1,), init=init.Constant(0.5))

    def forward(self, x, mask):
        scores = npx.batch_dot(self.query(x), self.key(x), transpose_b=True) * self.scale.data()
        scores = scores + npx.broadcast_greater(mask, np.zeros((1,))) * -1e8
        return npx.batch_dot(npx.softmax(scores), x)


class Scaled(nn.Dense):
    def forward(self, x):
        return super().forward(x) * 2


class Net(nn.HybridBlock):
    def __init__(self):
        super().__init__()
        self.attend = Attend(3)
        self.out = nn.HybridSequential()
        self.out.add(Scaled(4, activation="relu"), nn.Dense(1))

    def forward(self, x, mask):
        return self.out(self.attend(x, mask))


def number(net):
    for i, (_, param) in enumerate(sorted(net.collect_params().items())):
        param.set_data(np.arange(param.data().size).reshape(param.shape) / 10 - i / 20)


x = np.arange(12).reshape(2, 3, 2) / 10
mask = np.array([[[0, 0, 1]], [[0, 1, 1]]])
net = Net()
net.initialize()
print(net(x, mask).shape)
number(net)
for hybridize in (False, True):
    if hybridize:
        net.hybridize()
    with autograd.record():
        loss = (net(x, mask) ** 2).mean()
    loss.backward()
    print(loss, loss.shape, net.out[1].weight.grad())
params = net.collect_params()
print(isinstance(params, dict), list(params), list(net.collect_params(".*weight")))
print(params["out.0.weight"].name, params["out.0.weight"].shape, "no_such" in params, params.get("no_such"))

other = Net()
other.share_parameters(net.collect_params())
print(other.out[0].weight is net.out[0].weight, (other(x, mask) == net(x, mask)).all())
net.setattr("grad_req", "null")
print(sorted({param.grad_req for param in other.collect_params().values()}))

with tempfile.TemporaryDirectory() as folder:
    path = os.path.join(folder, "net.params")
    net.save_parameters(path)
    loaded = npx.load(path)
    print(sorted(loaded), loaded["out.1.bias"])
    clone = Net()
    clone.load_dict(loaded)
    print((clone(x, mask) == net(x, mask)).all())
    npx.save(path, mask)
    print(npx.load(path).shape)
    npx.savez(path, x, mask=mask)
    print({name: array.shape for name, array in sorted(npx.load(path).items())})
    one, two = mx.nd.ones((2,)), mx.nd.zeros((3,))
    mx.nd.save(path, [one])
    print(npx.load(path).shape, [array.shape for array in mx.nd.load(path)])
    mx.nd.save(path, [one, two])
    print([array.shape for array in npx.load(path)])
    mx.nd.save(path, {"one": one})
    print(npx.load(path)["one"].shape)

metric = gluon.metric.RMSE()
metric.update([np.array([1.0, 2.0])], [np.array([1.5, 2.5])])
metric.update([np.array([1.0])], [np.array([3.0])])
print(metric.get())
batches = mx.io.NDArrayIter(mx.nd.array([1, 2, 3]), batch_size=5)
print([(batch.data[0].asnumpy().tolist(), batch.pad) for batch in batches])
old = mx.nd.array([[1.0, 2.0], [3.0, 4.0]])
print(old.sum().shape, old.as_np_ndarray().sum().shape, (old > 2).asnumpy().tolist(), x.as_nd_ndarray().shape)
print(gluon.loss.KLDivLoss(from_logits=False)(np.ones((2, 3)), np.ones((2, 3)) / 3))
print(mx.optimizer.create("nag").momentum)
