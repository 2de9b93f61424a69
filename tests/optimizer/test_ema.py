"""gluonx.ema: the averages are those of a loop by hand, and the step stays one program."""

import numpy as onp
import optax
import pytest

from gluonx import Trainer, autograd, ema, engine, nn, np, random
from gluonx.errors import ArgumentError

X = onp.random.RandomState(0).uniform(-1, 1, (4, 3)).astype("float32")


def make(tx, **settings):
    random.seed(0)
    net = nn.Dense(2, in_units=3)
    net.initialize(init="xavier")
    net.bias.lr_mult = 0.5
    return net, Trainer(net.collect_params(), tx, settings or None)


def step(net, trainer):
    with autograd.record():
        loss = (net(np.array(X)) ** 2).sum()
    loss.backward()
    trainer.step(4)


def values(net):
    return [p.data().asnumpy() for p in net.collect_params().values()]


@pytest.mark.dear
@pytest.mark.parametrize("outer", [False, True], ids=["its own rate", "a rate from outside"])
def test_averages_are_those_by_hand(outer):
    tx = optax.scale_by_adam() if outer else optax.adam(0.1)
    settings = {"learning_rate": 0.1} if outer else {}
    net, trainer = make(ema.averaged(tx, 0.9), **settings)
    plain, plain_trainer = make(tx, **settings)
    wanted = values(net)
    for _ in range(4):
        step(net, trainer), step(plain, plain_trainer)
        wanted = [0.9 * a + 0.1 * w for a, w in zip(wanted, values(plain))]
    before = values(net)
    with ema.weights(trainer):
        for got, want in zip(values(net), wanted):
            onp.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-6)
    for got, own, want in zip(values(net), before, values(plain)):
        onp.testing.assert_array_equal(got, own)
        onp.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-6)
    step(net, trainer)


def test_what_has_no_averages_is_refused():
    net, trainer = make(optax.sgd(0.1))
    step(net, trainer)
    with pytest.raises(ArgumentError, match="its rule has 0"), ema.weights(trainer):
        pass
    with pytest.raises(ArgumentError, match="below 1"):
        ema.averaged(optax.sgd(0.1), 1.0)


def test_a_step_with_averages_is_one_program():
    net, trainer = make(ema.averaged(optax.sgd(0.1)))
    for _ in range(3):
        step(net, trainer)
    net.weight.data().wait_to_read()
    before = engine.stats()
    step(net, trainer)
    net.weight.data().wait_to_read()
    after = engine.stats()
    assert after["dispatches"] - before["dispatches"] == 1
    assert after["programs_compiled"] == before["programs_compiled"]
