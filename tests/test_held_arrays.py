"""Arrays that blocks hold as attributes: a hybridized forward reads and writes them as the plain one does."""

import pytest

import gluonx as mx
from gluonx import autograd, engine, gluon, np
from gluonx.gluon import nn


class Keeps(nn.HybridBlock):
    """Leaves what it computed on the way, for the loss to use."""

    def __init__(self):
        super().__init__()
        self.encoder, self.decoder = nn.Dense(4), nn.Dense(6)
        self.mean = None

    def forward(self, x):
        self.mean = self.encoder(x)
        self.parts = {"twice": self.mean * 2, "name": "parts"}
        return self.decoder(self.mean)


class Carries(nn.HybridBlock):
    """Goes on from the state that the last call left."""

    def __init__(self):
        super().__init__()
        self.dense = nn.Dense(3)
        self.states = None

    def forward(self, x):
        before = np.zeros_like(x) if self.states is None else self.states[0]
        self.states = [self.dense(x) + before / 2]
        return self.states[0].sum()


class Averages(nn.HybridBlock):
    """Writes in training what it reads in prediction."""

    def __init__(self):
        super().__init__()
        self.dense = nn.Dense(3)
        self.average = np.zeros((3,))

    def forward(self, x):
        if autograd.is_training():
            self.average = self.average * 0.9 + x.mean(axis=0) * 0.1
        return (self.dense(x) - self.average).sum()


def train(net, loss_of, x, steps):
    trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.01})
    losses = []
    for i in range(steps):
        with autograd.record():
            loss = loss_of(net, x * (i + 1))
        loss.backward()
        trainer.step(1)
        losses.append(float(loss))
        losses.append(float(net(x).sum()))
    return losses


LOSSES = {
    Keeps: lambda net, x: net(x).sum() + (net.mean**2).sum() + net.parts["twice"].sum(),
    Carries: lambda net, x: net(x),
    Averages: lambda net, x: net(x) ** 2,
}


@pytest.mark.parametrize("block", LOSSES)
def test_hybridized_does_what_plain_does(block):
    x, runs = np.ones((2, 3)), []
    for hybridize in (False, True):
        net = block()
        net.initialize(mx.init.Constant(0.1))
        if hybridize:
            net.hybridize()
        losses = train(net, LOSSES[block], x, 3)
        before = engine.stats()
        losses += train(net, LOSSES[block], x, 3)
        after = engine.stats()
        runs.append(losses)
    assert runs[1] == pytest.approx(runs[0], rel=1e-5)
    assert after["traces"] == before["traces"]
    assert after["programs_compiled"] - before["programs_compiled"] <= 1  # another Trainer


def test_each_call_leaves_a_new_array():
    net = Keeps()
    net.initialize()
    net.hybridize()
    kept = []
    for i in range(3):
        net(np.ones((2, 3)) * i)
        kept.append(net.mean)
    assert [float(k[0, 0]) == 0 for k in kept] == [True, False, False]
    assert float(kept[2][0, 0]) == pytest.approx(2 * float(kept[1][0, 0]))
    assert net.parts["name"] == "parts"


def test_what_is_set_from_outside_is_read():
    net = Carries()
    net.initialize(mx.init.Constant(0.0))
    net.hybridize()
    x = np.ones((2, 3))
    net(x)
    net(x)  # now there is a state to begin with: another trace
    net.states = [np.ones((2, 3))]
    before = engine.stats()["traces"]
    assert float(net(x)) == 3.0
    assert engine.stats()["traces"] == before
    net.states = None
    assert float(net(x)) == 0.0
    assert engine.stats()["traces"] == before
    net.states = [np.ones((3,))]  # of another shape: traced anew
    assert float(net(x)) == 3.0


def test_a_failed_trace_leaves_the_attribute():
    class Fails(Carries):
        def forward(self, x):
            super().forward(x)
            raise RuntimeError("later")

    net = Fails()
    net.initialize()
    net.states = held = [np.ones((2, 3))]
    net.hybridize()
    with pytest.raises(RuntimeError, match="later"):
        net(np.ones((2, 3)))
    assert net.states is held


def test_an_attribute_that_changes_its_kind_for_ever_is_told():
    net = Carries()
    net.initialize(mx.init.Constant(0.0))
    net.hybridize()
    x = np.ones((1, 3))
    with pytest.warns(UserWarning, match="or of arrays that it holds"):
        for i in range(70):
            net.states = [np.ones((i + 1, 3))]
            net(x)
