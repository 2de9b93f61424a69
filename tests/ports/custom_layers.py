"""Custom layers: without parameters, with parameters, hybridized, with deferred shapes, blocks with Python in them."""

import numpy as onp
from mxnet import gluon, init, np, npx
from mxnet.gluon import nn

npx.set_np()
rng = onp.random.RandomState(13)


class CenteredLayer(nn.Block):
    def forward(self, X):
        return X - X.mean()


layer = CenteredLayer()
print(layer(np.array([1, 2, 3, 4, 5])))
net = nn.Sequential()
net.add(nn.Dense(16), CenteredLayer())
net.initialize()
print(abs(float(net(np.array(rng.uniform(size=(4, 8)))).mean())) < 1e-6)


class MyDense(nn.Block):
    def __init__(self, units, in_units, **kwargs):
        super().__init__(**kwargs)
        self.weight = gluon.Parameter("weight", shape=(in_units, units))
        self.bias = gluon.Parameter("bias", shape=(units,), init="zeros")

    def forward(self, x):
        linear = np.dot(x, self.weight.data(ctx=x.ctx)) + self.bias.data(ctx=x.ctx)
        return npx.relu(linear)


dense = MyDense(units=3, in_units=5)
dense.initialize()
dense.weight.set_data(np.array(rng.normal(size=(5, 3))))
print({name: param.shape for name, param in dense.params.items()})
print(dense(np.array(rng.uniform(size=(2, 5)))))


class LazyDense(nn.HybridBlock):
    """Finds its number of inputs at the first call."""

    def __init__(self, units):
        super().__init__()
        self._units = units
        self.weight = gluon.Parameter("weight", shape=(units, 0), init=init.One(), allow_deferred_init=True)
        self.scale = gluon.Constant(np.array([0.5]))

    def forward(self, x):
        return (
            npx.fully_connected(x, self.weight.data(), None, num_hidden=self._units, no_bias=True) * self.scale.data()
        )

    def infer_shape(self, x):
        self.weight.shape = (self._units, x.shape[1])


class FixedHiddenMLP(nn.Block):
    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.rand_weight = gluon.Constant(np.array(rng.uniform(size=(20, 20))))
        self.dense = nn.Dense(20, activation="relu")

    def forward(self, X):
        X = self.dense(X)
        X = npx.relu(np.dot(X, self.rand_weight.data()) + 1)
        X = self.dense(X)
        while np.abs(X).sum() > 1:
            X /= 2
        return X.sum()


for hybrid in (False, True):
    net = nn.HybridSequential()
    net.add(LazyDense(4), nn.HybridLambda(lambda x: x + 1), nn.HybridLambda("tanh"), LazyDense(2))
    net.initialize()
    if hybrid:
        net.hybridize()
    print(net(np.array([[0.1, -0.2, 0.3]])), list(net.collect_params()))

net = FixedHiddenMLP()
net.initialize(init.Constant(0.02))
print(net(np.array(rng.uniform(size=(2, 20)))))
chimera = nn.Sequential()
chimera.add(nn.Dense(20), nn.Lambda(lambda x: x * 2), FixedHiddenMLP())
chimera.initialize(init.Constant(0.03))
print(chimera(np.ones((2, 20))))
print(len(chimera.collect_params()))
