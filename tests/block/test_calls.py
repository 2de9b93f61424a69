"""Calls of nets that are not hybridized, outside of ``record()``: one program once they have come often."""

from __future__ import annotations

import copy
import itertools
import threading

import jax
import numpy as onp
import pytest

from gluonx import autograd, engine, nn, np, npx
from gluonx.common import policy

OFTEN = policy.CALLS


class Net(nn.Block):
    """Some layers and arithmetic, with something of the caller's in between."""

    def __init__(self, between=None):
        super().__init__()
        self.first, self.norm, self.last = nn.Dense(8, activation="relu"), nn.BatchNorm(), nn.Dense(3)
        self.between = between

    def forward(self, x):
        x = self.norm(self.first(x) * 2 + 1)
        if self.between is not None:
            x = self.between(x)
        return self.last(x)


def made(between=None, **kwargs):
    net = Net(between)
    net.initialize(**kwargs)
    return net


def batch(rows=4):
    return np.array(onp.random.default_rng(rows).standard_normal((rows, 5)).astype("float32"))


def spent(net, *args):
    """Operators and programs that one call runs, programs that it compiles, and its result."""
    before = engine.stats()
    out = net(*args)
    after = engine.stats()
    ran = sum(after[kind] - before[kind] for kind in ("dispatches", "host"))
    return ran, after["programs_compiled"] - before["programs_compiled"], out


def test_a_call_that_comes_often_is_one_program():
    net, x = made(), batch()
    alone = [spent(net, x) for _ in range(OFTEN)]
    assert all(n > 5 and compiled == 0 for n, compiled, _ in alone)
    many = [spent(net, x) for _ in range(3)]
    assert [m[:2] for m in many] == [(1, 1), (1, 0), (1, 0)]
    for _, _, out in many:
        onp.testing.assert_allclose(out.asnumpy(), alone[0][2].asnumpy(), rtol=1e-5, atol=1e-6)
    assert "the end of a net's call" in engine.explain()
    n, _, _ = spent(net, batch(6))
    assert n > 5  # another kind of input is counted for itself


def test_new_values_count():
    net, x = made(), batch()
    for _ in range(OFTEN + 2):
        net(x)
    net.last.weight.set_data(np.zeros_like(net.last.weight.data()))
    net.last.bias.set_data(np.ones((3,)))
    n, compiled, out = spent(net, batch() + 1)
    assert (n, compiled) == (1, 0)
    onp.testing.assert_array_equal(out.asnumpy(), onp.ones((4, 3)))


@pytest.mark.dear
def test_running_averages_move_as_one_by_one():
    nets = made(), made()
    for net in nets:
        net(batch())
    for mine, other in zip(nets[0].collect_params().values(), nets[1].collect_params().values(), strict=True):
        mine.set_data(other.data())
    for _ in range(OFTEN + 3):
        with autograd.train_mode():
            nets[0](batch())
        with autograd.train_mode(), engine.mode("naive"):
            nets[1](batch())
    for stat in ("running_mean", "running_var"):
        mine, other = (getattr(net.norm, stat).data().asnumpy() for net in nets)
        onp.testing.assert_allclose(mine, other, rtol=1e-5)


def test_a_value_that_is_read_in_the_middle():
    seen = []

    def look(x):
        seen.append(float(x.sum()))
        return x if seen[-1] < 1e9 else x * 2

    net, x = made(look), batch()
    outs = [net(x).asnumpy() for _ in range(OFTEN + 4)]
    assert len(seen) == OFTEN + 4
    assert onp.ptp(seen) < 1e-4
    onp.testing.assert_allclose(outs[-1], outs[0], rtol=1e-5, atol=1e-6)
    n, compiled, _ = spent(net, x)
    assert (n, compiled) == (2, 0)


@pytest.mark.dear
def test_a_forward_that_differs_each_time_is_left_alone():
    lots = itertools.count()

    def draw(x):
        for _ in range(next(lots)):
            x = x + 1
        return x

    net, x = made(draw), batch()
    for _ in range(OFTEN + 10):
        net(x)
    before = engine.stats()["programs_compiled"]
    for _ in range(3):
        assert spent(net, x)[0] > 20
    assert engine.stats()["programs_compiled"] == before


@pytest.mark.dear
def test_few_kinds_of_input_have_a_program(monkeypatch):
    monkeypatch.setattr(policy, "KINDS", 2)
    net = made()
    for rows in (2, 3, 4):
        for _ in range(OFTEN + 1):
            net(batch(rows))
    assert [spent(net, batch(rows))[0] == 1 for rows in (2, 3, 4)] == [True, True, False]


def test_an_error_in_the_middle_undoes_nothing_and_breaks_nothing():
    fails = []

    def between(x):
        if fails:
            raise ValueError("no")
        return x

    net, x = made(between), batch()
    for _ in range(OFTEN + 1):
        expected = net(x).asnumpy()
    with autograd.train_mode():
        for _ in range(OFTEN + 1):
            net(x)
    before = net.norm.running_mean.data().asnumpy()
    fails.append(True)
    with pytest.raises(ValueError, match="no"):
        net(x)
    with pytest.raises(ValueError, match="no"), autograd.train_mode():
        net(x)
    assert not onp.array_equal(net.norm.running_mean.data().asnumpy(), before)  # as it is operator by operator
    fails.clear()
    net.norm.running_mean.set_data(np.zeros(8))
    net.norm.running_var.set_data(np.ones(8))
    n, _, out = spent(net, x)
    assert n == 1
    onp.testing.assert_array_equal(out.asnumpy(), expected)


def test_what_is_pending_outside_stays_so():
    net, x = made(), batch()
    for _ in range(OFTEN + 2):
        net(x)
    w = np.ones((3,))
    w.attach_grad()
    with autograd.record():
        loss = (w * w).sum()
        with autograd.pause():
            net(x)
    flushes = engine.stats()["flushes"]
    loss.backward()
    assert engine.stats()["flushes"] == flushes
    assert w.grad is not None
    onp.testing.assert_array_equal(w.grad.asnumpy(), [2, 2, 2])


def test_inner_blocks_do_not_count_for_themselves():
    class Twice(nn.Block):
        def __init__(self):
            super().__init__()
            self.inner = nn.Sequential()
            self.inner.add(nn.Dense(5), nn.Dense(5))

        def forward(self, x):
            for _ in range(4):
                x = self.inner(x)
            return x

    net = Twice()
    net.initialize()
    for _ in range(OFTEN):
        n, compiled, _ = spent(net, batch())
        assert (n, compiled) == (8, 0)
    assert spent(net, batch())[:2] == (1, 1)


@pytest.mark.dear
def test_random_draws_are_those_of_single_operators():
    net, x = made(lambda x: npx.dropout(x, 0.5, mode="always")), batch()

    def run(naive):
        np.random.seed(3)
        with engine.mode("naive" if naive else "deferred"):
            return [net(x).asnumpy() for _ in range(OFTEN + 3)]

    net(x)
    for mine, other in zip(run(False), run(True), strict=True):
        onp.testing.assert_allclose(mine, other, rtol=1e-5, atol=1e-6)


def test_under_jit_copied_and_in_threads():
    net, x = made(), batch()
    for _ in range(OFTEN + 1):
        expected = net(x).asnumpy()
    jitted = jax.jit(net)(x)
    onp.testing.assert_allclose(jitted.asnumpy(), expected, rtol=1e-5, atol=1e-6)
    other = copy.deepcopy(net)
    onp.testing.assert_allclose(other(x).asnumpy(), expected, rtol=1e-5, atol=1e-6)
    found = []
    threads = [threading.Thread(target=lambda: found.extend(net(x).asnumpy() for _ in range(5))) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 15
    for out in found:
        onp.testing.assert_array_equal(out, expected)
