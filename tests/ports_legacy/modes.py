"""A program for MXNet 1.9 that goes back and forth between NDArrays and NumPy arrays."""

import mxnet as mx
import numpy as onp
from mxnet import autograd, gluon, nd, npx, util
from mxnet.gluon import nn
from mxnet.metric import RMSE


def kind(x):
    return "nd" if isinstance(x, nd.NDArray) and not isinstance(x, mx.np.ndarray) else type(x).__name__


def tell(title, *arrays):
    print(title, util.is_np_array(), util.is_np_shape(), [(a.shape, str(a.dtype)) for a in arrays])


x, y = mx.np.array([[1.0, 2.0], [3.0, 4.0]]), nd.array([[1.0, 2.0], [3.0, 4.0]])
tell("both", x, y, x > 2, y > 2, x.sum(), y.sum(), y[0, 0], x.mean(axis=0), y.mean(axis=0))
mask = mx.np.greater(x, mx.np.full((2, 2), 2.0))
print((mask * -1e8).astype("float32"), (y > 2) * -1e8)
print(mx.np.dot(x, x), nd.dot(y, y), mx.np.concatenate([x, x]).shape, nd.concat(y, y, dim=0).shape)
z = x.as_nd_ndarray()
print(z.sum(), z.as_np_ndarray().sum(), y.as_np_ndarray().mean())

x.attach_grad()
y.attach_grad()
with autograd.record():
    a, b = (x * x).sum(), (y * y).sum()
a.backward()
b.backward()
tell("gradients", x.grad, y.grad)
print(x.grad, y.grad)


class Net(gluon.HybridBlock):
    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        with self.name_scope():
            self.hidden = nn.Dense(3, activation="tanh")
            self.scale = self.params.get("scale", shape=(3,), init="ones")

    def hybrid_forward(self, F, x, scale):
        h = self.hidden(x)
        return F.np.sum(h * scale, axis=1) if util.is_np_array() else F.sum(F.broadcast_mul(h, scale), axis=1)


def run(title, make, hybridize=False):
    net = Net()
    net.initialize(mx.init.Constant(0.1))
    if hybridize:
        net.hybridize()
    data = make([[1.0, 2.0], [3.0, 4.0]])
    with autograd.record():
        out = net(data)
    out.backward()
    weight = net.hidden.weight
    print(title, list(net.collect_params()), out, weight.grad()[0], type(net.collect_params()).__name__)
    loader = gluon.data.DataLoader(gluon.data.ArrayDataset(onp.ones((2, 2), "f")), 2)
    tell(title, out, weight.data(), next(iter(loader)), gluon.loss.L2Loss()(out, out))
    print(kind(out) == kind(weight.data()) == kind(next(iter(loader))))


run("old", nd.array)
npx.set_np()
run("new", mx.np.array)
run("new hybridized", mx.np.array, True)
y = nd.ones((2, 2))
tell("old arrays now", y, y.sum(), y[0, 0], y > 0)
npx.reset_np()
run("old again", nd.array, True)

with util.np_array(True):
    tell("in np_array", mx.np.ones((2,)).sum())
with util.np_shape(True):
    tell("in np_shape", nd.ones((2, 2))[0, 0], nd.ones((2, 2)).sum(), nd.ones((0, 2)))


@util.use_np
def norm(a):
    """The length of a vector."""
    tell("in use_np", a)
    return mx.np.sqrt((a * a).sum())


print(norm(mx.np.array([3.0, 4.0])), norm.__name__)


@util.use_np
class Layer(gluon.HybridBlock):
    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.dense = nn.Dense(2)

    def hybrid_forward(self, F, x):
        return F.npx.softmax(self.dense(x) + 1)


layer = Layer()
layer.initialize(mx.init.Constant(0.2))
out = layer(mx.np.ones((1, 2)))
tell("of a class with use_np", out)
print(out)

metric = RMSE()
metric.update([nd.array([1.0, 2.0])], [nd.array([1.5, 2.5])])
metric.update([nd.array([1.0])], [nd.array([3.0])])
print(metric.get())
for wrong in (lambda: util.set_np(shape=False), lambda: util.use_np(3)):
    try:
        wrong()
    except (ValueError, TypeError) as error:
        print(type(error).__name__)
npx.set_np()
try:
    util.set_np_shape(False)
except ValueError as error:
    print(type(error).__name__)
npx.reset_np()
tell("at the end")
