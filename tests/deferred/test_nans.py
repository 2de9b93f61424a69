"""JAX's search for NaN names the user's line (`gluonx.errors.NotFiniteError`)."""

import inspect

import jax
import numpy as onp
import pytest

import gluonx
from gluonx import autograd, gluon, nn, np
from gluonx.errors import GluonxError, NotFiniteError


@pytest.fixture(autouse=True)
def searched():
    with jax.debug_nans(True):
        yield


def line_of(words, function):
    lines, first = inspect.getsourcelines(function)
    return first + next(i for i, line in enumerate(lines) if words in line)


def test_a_forward_names_the_line_of_the_operator_and_not_of_the_read():
    x = np.ones((3,))
    x.attach_grad()
    with autograd.record():
        y = np.log(x * 0 - 1)  # the culprit
        z = y * 2
    with pytest.raises(FloatingPointError, match="the operator log at ") as caught:
        float(z.sum())
    assert isinstance(caught.value, GluonxError)
    place = f"test_nans.py:{line_of('the culprit', test_a_forward_names_the_line_of_the_operator_and_not_of_the_read)} "
    assert place in str(caught.value)


class Root(nn.HybridBlock):
    def __init__(self):
        super().__init__()
        self.dense = nn.Dense(2, in_units=3)

    def forward(self, x):
        return np.sqrt(self.dense(x) * 0)  # its slope is infinite


@pytest.mark.dear
@pytest.mark.parametrize("hybridized", [False, True])
def test_a_step_names_the_operator_whose_gradient_it_is(hybridized):
    net = Root()
    net.initialize()
    net.hybridize(hybridized)
    trainer = gluon.Trainer(net.collect_params(), "adam")
    with autograd.record():
        loss = net(np.ones((2, 3))).sum()
    loss.backward()
    with pytest.raises(NotFiniteError, match="in the gradient of the operator") as caught:
        trainer.step(2)
    told = str(caught.value)
    assert "\n" not in told
    if hybridized:
        assert "operator Root at " in told
    else:
        assert f"of block Root at {__file__}:{line_of('its slope', Root)} in forward" in told


@pytest.mark.dear
def test_a_sound_loop_has_the_numbers_of_the_compiled_one():
    def trained():
        gluonx.random.seed(3)
        net = nn.HybridSequential()
        net.add(nn.Dense(4, activation="tanh", in_units=3), nn.BatchNorm(in_channels=4), nn.Dense(1, in_units=4))
        net.initialize()
        trainer = gluon.Trainer(net.collect_params(), "adam")
        for _ in range(3):
            with autograd.record():
                loss = (net(np.sin(np.arange(18.0)).reshape(6, 3)) ** 2).mean()
            loss.backward()
            trainer.step(1)
        return [p.data().asnumpy() for p in net.collect_params().values()]

    slow = trained()
    with jax.debug_nans(False):
        quick = trained()
    for a, b in zip(slow, quick, strict=True):
        onp.testing.assert_allclose(a, b, rtol=2e-5, atol=1e-6)
