"""Hybrid nets: the same numbers before and after, partial hybridization, layers that print, timing around waitall."""

import contextlib
import io
import time

import numpy as onp
from mxnet import np, npx
from mxnet.gluon import nn

npx.set_np()
rng = onp.random.RandomState(16)


def get_net():
    net = nn.HybridSequential()
    net.add(nn.Dense(25, activation="relu"), nn.Dense(12, activation="relu"), nn.Dense(2))
    net.initialize()
    return net


class Benchmark:
    def __init__(self, description="Done"):
        self.description = description

    def __enter__(self):
        self.start = time.time()
        return self

    def __exit__(self, *args):
        self.seconds = time.time() - self.start


x = np.array(rng.normal(size=(1, 51)))
net = get_net()
net(x)
for param in net.collect_params().values():
    param.set_data(np.array(rng.normal(0, 0.2, param.shape)))
before = net(x)
with Benchmark("Without hybridization") as plain:
    for _ in range(20):
        net(x)
    npx.waitall()
net.hybridize()
net(x)
with Benchmark("With hybridization") as hybrid:
    for _ in range(20):
        net(x)
    npx.waitall()
print(before, np.allclose(net(x), before, atol=1e-6), plain.seconds > 0, hybrid.seconds > 0)


class HybridNet(nn.HybridBlock):
    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.hidden = nn.Dense(4)
        self.output = nn.Dense(2)

    def forward(self, x):
        print("shape", x.shape)
        x = npx.relu(self.hidden(x))
        return self.output(x)


net = HybridNet()
net.initialize()
X = np.array(rng.normal(size=(1, 3)))
net(X)
net.hidden.weight.set_data(np.ones((4, 3)))
net.output.weight.set_data(np.ones((2, 4)))
first = net(X)
net.hybridize()
for _ in range(3):
    out = net(X)
print(out, (out == first).all())
net.hybridize(active=False)
print(net(X))

outer = nn.Sequential()
outer.add(nn.Dense(3), get_net())
outer[0].initialize()
outer[1].hybridize()
print(outer(X).shape)
print(net.hidden, repr(net.output), sep="\n")
with contextlib.redirect_stdout(io.StringIO()) as table:
    net.summary(X)
print("hidden" in table.getvalue() or "Dense" in table.getvalue(), "26" in table.getvalue())
