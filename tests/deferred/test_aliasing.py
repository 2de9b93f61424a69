"""Who else holds an array: measured, and where it cannot be measured nothing of a user's is donated."""

import sys

import jax.numpy as jnp
import numpy as onp
import pytest

from gluonx import Trainer, autograd, engine, loss, nn, np
from gluonx.common import policy
from gluonx.deferred.values import aliasing
from gluonx.deferred.values.aliasing import Limits


def test_the_limits_are_measured_here():
    gil = getattr(sys, "_is_gil_enabled", lambda: True)()
    assert all(aliasing.Trusted.limits) == gil
    assert aliasing.measure() == aliasing.Trusted.limits  # again the same, and nothing is left behind


COUNTS_THAT_LIE = {
    "constant": lambda thing: 2,
    "never more than the engine's own": lambda thing: min(sys.getrefcount(thing), 3),
    "immortal": lambda thing: 1 << 30,
    "half": lambda thing: sys.getrefcount(thing) // 2,
}


@pytest.mark.parametrize("name", COUNTS_THAT_LIE)
def test_counts_that_overlook_a_holder_are_not_trusted(monkeypatch, name):
    monkeypatch.setattr(aliasing, "_count", COUNTS_THAT_LIE[name])
    found = aliasing.measure()
    monkeypatch.setattr(aliasing.Trusted, "limits", found)
    for ask in (aliasing._ask_for_argument, aliasing._ask_for_piece, aliasing._ask_for_one):
        assert ask([[]])  # an additional holder is seen, if only because everything counts as held


def test_without_a_gil_no_count_is_trusted(monkeypatch):
    monkeypatch.setattr(sys, "_is_gil_enabled", lambda: False, raising=False)
    assert aliasing.measure() == Limits(0, 0, 0)


def test_counts_that_differ_from_this_interpreters_are_found_too(monkeypatch):
    """As 3.14 counts, which leaves out a reference on the stack."""
    monkeypatch.setattr(aliasing, "_count", lambda thing: sys.getrefcount(thing) - 2)
    assert all(aliasing.measure()) == all(aliasing.Trusted.limits)


def trained(width):
    """The values after three steps, and what was taken of the first weight before each of them, as it was then."""
    net = nn.HybridSequential()
    net.add(nn.Dense(width, in_units=3, activation="relu"), nn.Dense(2, in_units=width))
    net.initialize()
    generator = onp.random.RandomState(0)
    for p in net.collect_params().values():
        p.set_data(np.array(generator.rand(*p.shape) - 0.5, dtype="float32"))
    trainer = Trainer(net.collect_params(), "adam", {"learning_rate": 0.1})
    x = np.array(generator.rand(5, 3), dtype="float32")
    taken = []
    for _ in range(3):
        weight = net[0].weight.data()
        taken.append((jnp.asarray(weight), weight.copy(), weight.asnumpy()))
        with autograd.record():
            value = loss.L2Loss()(net(x), np.ones((5, 2)))
        value.backward()
        trainer.step(5)
    return [p.data().asnumpy() for p in net.collect_params().values()], taken


@pytest.mark.dear
@pytest.mark.parametrize("width", [4, 2000], ids=["in a vector", "on its own"])
def test_steps_without_trusted_counts(monkeypatch, width):
    """The same numbers; all that is donated was copied before, and what a user holds stays."""
    monkeypatch.setitem(policy.limits, "runs", 0)  # what is donated is what XLA is given
    wanted, _ = trained(width)
    monkeypatch.setattr(aliasing.Trusted, "limits", Limits())
    engine.reset_stats()
    values, taken = trained(width)
    assert width < 1000 or engine.stats()["copies"] >= 3
    for a, b in zip(values, wanted, strict=True):
        onp.testing.assert_array_equal(a, b)
    for raw, copied, then in taken:
        assert not raw.is_deleted()
        onp.testing.assert_array_equal(raw, then)
        onp.testing.assert_array_equal(copied.asnumpy(), then)


def test_steps_with_trusted_counts_copy_nothing():
    engine.reset_stats()
    net = nn.Dense(2000, in_units=3)
    net.initialize()
    trainer, x = Trainer(net.collect_params(), "adam"), np.ones((5, 3))
    for _ in range(3):
        with autograd.record():
            value = net(x).sum()
        value.backward()
        trainer.step(5)
    assert engine.stats()["copies"] == 0 or not all(aliasing.Trusted.limits)
