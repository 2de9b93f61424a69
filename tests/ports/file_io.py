"""Saving and loading arrays and parameters, trainer states included."""

import os
import tempfile

import numpy as onp
from mxnet import autograd, gluon, init, np, npx
from mxnet.gluon import nn

npx.set_np()
rng = onp.random.RandomState(15)
folder = tempfile.mkdtemp()


def path(name):
    return os.path.join(folder, name)


x = np.arange(4)
npx.save(path("x-file"), x)
print(npx.load(path("x-file")))
y = np.zeros(4)
npx.savez(path("x-files"), x, y)
loaded = npx.load(path("x-files"))
print(sorted(loaded), loaded["arr_0"], loaded["arr_1"])
npx.savez(path("mydict"), x=x, y=y)
mydict2 = npx.load(path("mydict"))
print(sorted(mydict2), mydict2["x"])


class MLP(nn.Block):
    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.hidden = nn.Dense(6, activation="relu")
        self.output = nn.Dense(3)

    def forward(self, x):
        return self.output(self.hidden(x))


net = MLP()
net.initialize(init.Uniform(0.3))
X = np.array(rng.uniform(size=(2, 5)))
Y = net(X)
net.save_parameters(path("mlp.params"))
clone = MLP()
clone.load_parameters(path("mlp.params"))
print(clone(X) == Y)
print(sorted(npx.load(path("mlp.params"))))

bigger = nn.Sequential()
bigger.add(MLP(), nn.Dense(2))
bigger.initialize()
bigger(X)
bigger[0].load_parameters(path("mlp.params"), ctx=npx.cpu())
print((bigger[0](X) == Y).all())
try:
    bigger.load_parameters(path("mlp.params"))
except Exception as error:
    print("refused", isinstance(error, (AssertionError, ValueError)))
clone.load_parameters(path("mlp.params"), allow_missing=True, ignore_extra=True, cast_dtype=True)


def train(net, trainer, steps):
    for _ in range(steps):
        with autograd.record():
            l = (net(X) ** 2).sum()
        l.backward()
        trainer.step(1)
    return float(l)


net.load_parameters(path("mlp.params"))
trainer = gluon.Trainer(net.collect_params(), "adam", {"learning_rate": 0.01})
train(net, trainer, 3)
trainer.save_states(path("adam.states"))
net.save_parameters(path("after3.params"))
first = train(net, trainer, 2)
net.load_parameters(path("after3.params"))
again = gluon.Trainer(net.collect_params(), "adam", {"learning_rate": 0.01})
again.load_states(path("adam.states"))
print(abs(train(net, again, 2) - first) < 1e-5)
