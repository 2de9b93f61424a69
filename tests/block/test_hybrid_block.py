"""HybridBlock: one trace for each kind of input, renewed when the block has changed; copies; a user's own layer."""

import copy
import gc
import pickle
import weakref

import numpy as onp
import pytest

from gluonx import autograd, nn, np, npx
from gluonx.block.block import Block, HybridBlock
from gluonx.block.parameter import Parameter
from lib.blocks import Net, made, ones

# ------------------------------------------------------------------ hybridization


def test_hybridize_changes_nothing_but_the_way():
    net = made()
    x = ones(2, 5)
    eager = net(x).asnumpy()
    net.hybridize(static_alloc=True, static_shape=True, inline_limit=3)
    assert onp.allclose(net(x).asnumpy(), eager, atol=1e-6)
    net.hybridize(False)
    assert onp.allclose(net(x).asnumpy(), eager, atol=1e-6)
    with pytest.raises(TypeError):
        net.hybridize(foo=1)


def test_partly_hybridized():
    runs = []

    class Counting(HybridBlock):
        def forward(self, x):
            runs.append(x)
            return x * 2.0

    class Plain(Block):
        def __init__(self):
            super().__init__()
            self.child = Counting()

        def forward(self, x):
            return self.child(x)

    net = Plain()
    net.hybridize()
    for _ in range(4):
        assert net(ones(2)).asnumpy().tolist() == [2, 2]
    assert len(runs) == 1
    net.child.hybridize(False)
    net(ones(2))
    assert len(runs) == 2


class Counted(HybridBlock):
    """Counts how often its forward runs as Python: once a trace."""

    def __init__(self, inner):
        super().__init__()
        self.inner, self.runs = inner, 0

    def forward(self, x):
        self.runs += 1
        return self.inner(x)


@pytest.mark.parametrize(
    "change",
    [
        lambda net: setattr(net.inner, "weight", Parameter("weight", shape=(3, 5), init="ones")),
        lambda net: net.inner.share_parameters({"weight": Parameter("weight", shape=(3, 5), init="ones")}),
        lambda net: setattr(net, "inner", nn.Dense(2, in_units=5)),
    ],
)
def test_a_trace_does_not_outlive_its_parts(change):
    net = Counted(nn.Dense(3, in_units=5))
    net.initialize()
    net.hybridize()
    net(ones(2, 5))
    net(ones(2, 5))
    runs = net.runs
    Net()  # somebody else's blocks do not matter
    net(ones(2, 5))
    assert net.runs == runs
    change(net)
    for param in net.collect_params().values():
        if param._handle is None:
            param.initialize()
    expected = net.inner(ones(2, 5)).asnumpy()
    assert onp.allclose(net(ones(2, 5)).asnumpy(), expected, atol=1e-6)
    assert net.runs > runs


def test_a_trace_does_not_outlive_a_cast_of_a_child():
    net = Counted(nn.Dense(3, in_units=5))
    net.initialize()
    net.hybridize()
    net(ones(2, 5))
    net.inner.cast("float16")
    assert net(ones(2, 5).astype("float16")).dtype == onp.float16


@pytest.mark.dear
def test_blocks_are_freed():
    net = made()
    held = weakref.ref(net.w.data())
    del net
    gc.collect()
    assert held() is None


def test_a_statistic_in_a_hybridized_forward():
    class Mean(HybridBlock):
        def __init__(self):
            super().__init__()
            self.mean = Parameter("mean", shape=(2,), init="zeros", grad_req="null")

        def forward(self, x):
            self.mean.set_data(self.mean.data() * 0.5 + np.mean(x, axis=0) * 0.5)
            return x - self.mean.data()

    results = []
    for hybrid in (False, True):
        net = Mean()
        net.initialize()
        net.hybridize(hybrid)
        for _ in range(3):
            with autograd.record():
                y = net(ones(4, 2))
        results.append((y.asnumpy().tolist(), net.mean.data().asnumpy().tolist()))
    assert results[0] == results[1]
    assert results[0][1] == [0.875, 0.875]


def test_optimize_for():
    net = Net()
    net.initialize()
    with pytest.warns(UserWarning, match="XLA compiles everything"):
        net.optimize_for(ones(2, 5), backend="onednn")
    assert net._active
    assert net.features[0].weight.shape == (4, 5)


@pytest.mark.parametrize("clone", [copy.deepcopy, lambda b: pickle.loads(pickle.dumps(b))])
def test_copies(clone):
    net = made()
    net.hybridize()
    x = ones(2, 5)
    y = net(x).asnumpy()
    twin = clone(net)
    assert onp.allclose(twin(x).asnumpy(), y, atol=1e-6)
    twin.initialize(force_reinit=True)
    assert onp.allclose(net(x).asnumpy(), y, atol=1e-6)
    twin.features.add(nn.Dense(2))
    assert len(twin.collect_params()) == 7
    assert len(net.collect_params()) == 5


def test_a_copy_keeps_ties():
    net = nn.Sequential()
    net.add(nn.Dense(3, in_units=3), nn.Dense(3, in_units=3))
    net[1].share_parameters(net[0].collect_params())
    net.initialize()
    twin = copy.deepcopy(net)
    assert twin[0].weight is twin[1].weight is not net[0].weight


# ------------------------------------------------------------------ a user's own layer, in the plainest style


class PlainDense(HybridBlock):
    def __init__(self, units, in_units=0):
        super().__init__()
        self._units = units
        self.weight = Parameter("weight", shape=(units, in_units), allow_deferred_init=True)
        self.bias = Parameter("bias", shape=(units,), init="ones", allow_deferred_init=True)

    def forward(self, x):
        ctx = x.context
        return npx.FullyConnected(
            x,
            self.weight.data(ctx),
            self.bias.data(ctx),
            no_bias=False,
            num_hidden=self._units,
            flatten=True,
            name="fwd",
        )


class PlainDenseThatInfers(PlainDense):
    def infer_shape(self, x):
        self.weight.shape = (self._units, x.shape[1])


@pytest.mark.parametrize("cls", [PlainDense, PlainDenseThatInfers])
@pytest.mark.parametrize("hybrid", [False, True])
def test_a_plain_layer(cls, hybrid):
    net = nn.HybridSequential()
    net.add(cls(3), cls(2))
    net.initialize()
    net.hybridize(hybrid)
    for _ in range(3):
        with autograd.record():
            y = net(ones(4, 5))
        y.backward()
    assert [p.shape for p in net.collect_params().values()] == [(3, 5), (3,), (2, 3), (2,)]
    weights = [p.data().asnumpy() for p in net.collect_params().values()]
    expected = (onp.ones((4, 5)) @ weights[0].T + weights[1]) @ weights[2].T + weights[3]
    assert onp.allclose(y.asnumpy(), expected, atol=1e-5)
    assert net[1].bias.grad().asnumpy().tolist() == [4, 4]
