"""Long traces of a few operators: their first runs go operator by operator, later ones are one program."""

import jax
import jax.numpy as jnp
import numpy as onp
import pytest

from gluonx import Trainer, autograd, engine, nn, np, npx
from gluonx.common import policy
from gluonx.rnn import LSTMCell

compiled: list[str] = []
jax.monitoring.register_event_duration_secs_listener(
    lambda name, seconds, **more: compiled.append(name) if name.endswith("backend_compile_duration") else None
)


def _net(kind, seed=0):
    numbers = onp.random.RandomState(seed)
    if kind == "lstm":
        net = LSTMCell(4, input_size=3)
    else:
        net = nn.HybridSequential()
        net.add(nn.Dense(5, in_units=3, activation="tanh"), nn.Dense(3, in_units=5, activation="sigmoid"))
    net.initialize()
    for p in net.collect_params().values():
        p.set_data(numbers.uniform(-1, 1, p.shape))
    return net


def _loss(kind, net, data):
    if kind == "chain":
        h = data[0]
        for _ in data:
            h = net(h)
        return (h**2).sum()
    if kind == "lstm":
        states = net.begin_state(2)
        for x in data:
            out, states = net(x, states)
        return (out**2).sum()
    total = 0
    for x in data:
        total = total + (net(x) ** 2).mean()
    return total


def _data(steps):
    return [np.array(a) for a in onp.random.RandomState(1).randn(steps, 2, 3).astype("float32")]


def _train(kind, steps, runs, read=False, hybrid=False):
    net, data = _net(kind), _data(steps)
    net.hybridize(hybrid)
    trainer = Trainer(net.collect_params(), "adam", {"learning_rate": 0.01})
    log, programs = [], []
    for _ in range(runs):
        before = engine.stats()["programs_compiled"]
        with autograd.record():
            loss = _loss(kind, net, data)
        if read:
            log.append(float(loss))
        loss.backward()
        trainer.step(2)
        log.append(loss.asnumpy())
        programs.append(engine.stats()["programs_compiled"] - before)
    log += [p.data().asnumpy() for p in net.collect_params().values()]
    return log + [p.grad().asnumpy() for p in net.collect_params().values()], programs


@pytest.mark.dear
@pytest.mark.parametrize("read", [False, True], ids=["", "loss read first"])
@pytest.mark.parametrize("kind", ["chain", "sum", "lstm"])
def test_numbers_of_a_long_record_are_those_of_naive_mode(kind, read, monkeypatch):
    monkeypatch.setitem(policy.limits, "long", 50)
    monkeypatch.setattr(policy, "few_kinds", lambda operations: operations // 4)
    monkeypatch.setattr(policy, "runs_in_pieces", lambda operations: 2)
    found, programs = _train(kind, 14, 4, read)
    with engine.mode("naive"):
        wanted, _ = _train(kind, 14, 4, read)
    for x, y in zip(found, wanted, strict=True):
        onp.testing.assert_allclose(x, y, rtol=2e-4, atol=2e-5)
    assert programs[0] <= 2 and programs[2] >= 1, "the third run compiles the step as a whole"
    assert programs[3] == 0, "a steady loop runs what is there"


@pytest.mark.dear
@pytest.mark.parametrize("hybrid", [False, True])
def test_300_forwards_compile_no_more_than_each_kind_once(hybrid):
    def first(steps):
        compiled.clear()
        _train("sum", steps, 1, hybrid=hybrid)
        return len(compiled)

    jax.clear_caches()  # or what other tests compiled would not be counted
    few, again = first(300), first(301)
    assert few < 80
    assert again < 10, "another length takes what is there"


@pytest.mark.dear
def test_gradients_of_300_forwards_equal_those_of_jax():
    net, data = _net("sum"), _data(300)
    with autograd.record():
        loss = _loss("sum", net, data)
    loss.backward()
    w, b, v, c = [p.data().asnumpy() for p in net.collect_params().values()]

    def pure(w, b, v, c):
        hidden = jnp.tanh(jnp.stack([jnp.asarray(x.asnumpy()) for x in data]) @ w.T + b)
        return (jax.nn.sigmoid(hidden @ v.T + c) ** 2).mean((1, 2)).sum()

    wanted = jax.grad(pure, (0, 1, 2, 3))(w, b, v, c)
    onp.testing.assert_allclose(loss.asnumpy(), pure(w, b, v, c), rtol=1e-4)
    for p, grad in zip(net.collect_params().values(), wanted, strict=True):
        onp.testing.assert_allclose(p.grad().asnumpy(), grad, rtol=1e-3, atol=1e-4)


@pytest.mark.dear
def test_draws_and_moving_averages_are_those_of_one_program(monkeypatch):
    def run():
        npx.random.seed(3)
        net = nn.HybridSequential()
        net.add(nn.Dense(3, in_units=3), nn.BatchNorm(in_channels=3), nn.Dropout(0.5))
        net.initialize(init="ones")
        with autograd.record():
            h = np.array([[1.0, 2.0, 3.0], [3.0, 1.0, -1.0]])
            total = 0
            for _ in range(20):
                total = total + (net(h) * np.array([1.0, 2.0, -1.0])).sum()
        total.backward()
        values = [p.grad() for p in net.collect_params().values() if p.grad_req != "null"]
        return [a.asnumpy() for a in [total, *values, *[p.data() for p in net.collect_params().values()]]]

    wanted = run()
    monkeypatch.setitem(policy.limits, "long", 20)
    monkeypatch.setattr(policy, "few_kinds", lambda operations: operations // 2)
    monkeypatch.setattr(policy, "runs_in_pieces", lambda operations: 2)
    before = engine.stats()["programs_compiled"]
    found = run()
    assert engine.stats()["programs_compiled"] == before
    for x, y in zip(found, wanted, strict=True):
        onp.testing.assert_allclose(x, y, rtol=1e-4, atol=1e-5)


def test_traces_of_many_kinds_and_short_ones_are_compiled_at_once():
    w = np.array([0.5])
    w.attach_grad()
    before = engine.stats()["programs_compiled"]
    with autograd.record():
        y = w
        for _ in range(90):
            y = y * 1.01
    y.backward()
    assert w.grad.asnumpy()[0] == pytest.approx(1.01**90, rel=1e-4)
    assert engine.stats()["programs_compiled"] == before + 1
