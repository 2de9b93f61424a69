"""Blocks that the tests of Block and HybridBlock share."""

import numpy as onp

from gluonx import nn, np
from gluonx.block.block import HybridBlock
from gluonx.block.parameter import Parameter
from gluonx.deferred import invoke
from gluonx.ops import get


class Inferring(HybridBlock):
    """A user's layer with infer_shape; counts the calls."""

    def __init__(self):
        super().__init__()
        self.factor = Parameter("factor", shape=(0,), init="ones", allow_deferred_init=True)
        self.calls = 0

    def forward(self, x):
        return x * self.factor.data()

    def infer_shape(self, x):
        self.calls += 1
        self.factor.shape = (x.shape[-1],)


class ByOperator(HybridBlock):
    """A user's layer without infer_shape: the operator finds the shape."""

    def __init__(self):
        super().__init__()
        self.factor = Parameter("factor", shape=(1, 0), init="ones", allow_deferred_init=True)

    def forward(self, x):
        return invoke(get("fully_connected").bind(num_hidden=1, no_bias=True), (x, self.factor.data(), None))


class Net(HybridBlock):
    def __init__(self):
        super().__init__()
        self.features = nn.HybridSequential()
        self.features.add(nn.Dense(4, activation="relu"), nn.Dense(3))
        self.w = Parameter("w", shape=(3,), init="ones")

    def forward(self, x):
        return self.features(x) * self.w.data()


NAMES = ["w", "features.0.weight", "features.0.bias", "features.1.weight", "features.1.bias"]


def ones(*shape):
    return np.ones(shape)


def made(cls=Net, x=None, **kwargs):
    net = cls(**kwargs)
    net.initialize()
    net(ones(2, 5) if x is None else x)
    return net


def values(net):
    return {name: p.data().asnumpy() for name, p in net.collect_params().items()}


def same(a, b):
    return a.keys() == b.keys() and all(onp.array_equal(a[k], b[k]) for k in a)
