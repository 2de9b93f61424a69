"""Blocks that add losses: whatever the mode, the losses of the last call, with their gradients."""

import jax
import numpy as onp
import pytest

import gluonx
from gluonx import autograd, engine, gluon, np, probability
from gluonx.gluon import nn


class Bayesian(probability.StochasticBlock):
    """A dense layer whose weights are drawn, and cost their divergence from a prior."""

    def __init__(self, units, inputs):
        super().__init__()
        self.loc = gluon.Parameter("loc", shape=(inputs, units))
        self.log_scale = gluon.Parameter("log_scale", shape=(inputs, units), init=gluonx.init.Constant(-3.0))

    @probability.StochasticBlock.collectLoss
    def forward(self, x):
        posterior = probability.Normal(self.loc.data(), np.exp(self.log_scale.data()))
        self.add_loss(probability.kl_divergence(posterior, probability.Normal(0.0, 1.0)).sum())
        return np.dot(x, posterior.sample())


class Plain(probability.StochasticBlock):
    def forward(self, x):
        return x


class Several(probability.StochasticBlock):
    @probability.StochasticBlock.collectLoss
    def forward(self, x):
        self.add_loss(x.sum())
        self.add_loss([x.mean(), x * 2])
        return x, x + 1


def made(hybridize=False):
    net = probability.StochasticSequential()
    net.add(Bayesian(4, 3), nn.Activation("relu"), Bayesian(2, 4))
    gluonx.random.seed(3)
    net.initialize(gluonx.init.Normal(0.3))
    net.hybridize(hybridize)
    return net


def run(net, x):
    np.random.seed(9)
    with autograd.record():
        loss = net(x).sum() + sum(sum(losses) for losses in net.losses)
    loss.backward()
    return [loss.item(), *[param.grad().asnumpy() for param in net.collect_params().values()]]


@pytest.mark.dear
def test_hybridized_or_not():
    x = np.array(onp.random.default_rng(0).normal(size=(5, 3)))
    plain, hybridized = run(made(), x), run(made(True), x)
    for one, other in zip(plain, hybridized, strict=True):
        onp.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-6)
    assert all(onp.abs(grad).min() > 0 for grad in plain[1:3])


@pytest.mark.parametrize("hybridize", [False, True])
def test_losses(hybridize):
    net = Several()
    net.hybridize(hybridize)
    assert net.losses == []
    for scale in (1.0, 2.0):
        one, other = net(np.full((2, 2), scale))
        assert one.sum() == 4 * scale and other.sum() == 4 * scale + 4
        first, (second, third) = net.losses
        assert first.item() == 4 * scale and second.item() == scale and third.tolist() == [[2 * scale] * 2] * 2


@pytest.mark.dear
def test_functional():
    net = made()
    view = gluonx.functional(net)
    out, _ = jax.jit(view.apply)(view.params, view.state, jax.random.key(0), onp.ones((2, 3), "float32"))
    assert out.shape == (2, 2)


@pytest.mark.dear
def test_a_steady_loop_compiles_once():
    net = made(True)
    trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.01})

    def step():
        with autograd.record():
            loss = net(np.ones((2, 3))).sum() + sum(sum(losses) for losses in net.losses)
        loss.backward()
        trainer.step(2)

    for _ in range(3):
        step()
    engine.reset_stats()
    for _ in range(4):
        step()
    assert engine.stats()["programs_compiled"] == 0


def test_without_the_decorator():
    with pytest.raises(ValueError, match=r"Plain\.forward should be decorated"):
        Plain()(np.ones(2))


def test_an_error_leaves_nothing_behind():
    class Failing(probability.StochasticBlock):
        @probability.StochasticBlock.collectLoss
        def forward(self, x):
            self.add_loss(x.sum())
            if x.shape[0] == 3:
                raise RuntimeError("three")
            return x

    net = Failing()
    with pytest.raises(RuntimeError, match="three"):
        net(np.ones(3))
    net(np.ones(2))
    assert [loss.item() for loss in net.losses] == [2.0]


def test_sequential():
    net = made()
    assert len(net) == 3 and isinstance(net[0], Bayesian) and len(net[:2]) == 2 and list(net)[2] is net[2]
    assert net[1:](np.ones((1, 4))).shape == (1, 2)
    assert "(0): Bayesian" in repr(net)
    net(np.ones((2, 3)))
    assert [len(losses) for losses in net.losses] == [1, 1]
    assert [name.split(".")[0] for name in net.collect_params()] == ["0", "0", "2", "2"]
