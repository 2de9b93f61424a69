"""Long traces of a few operators: their first runs compile each kind of operator once, later ones are one program."""

import jax
import jax.numpy as jnp
import numpy as onp
import pytest

import gluonx
from gluonx import Trainer, autograd, engine, nn, np, npx
from gluonx.deferred import repeats
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


@pytest.mark.parametrize("read", [False, True], ids=["", "loss read first"])
@pytest.mark.parametrize("kind", ["chain", "sum", "lstm"])
def test_numbers_of_a_long_record_are_those_of_naive_mode(kind, read, monkeypatch):
    monkeypatch.setitem(repeats.limits, "nodes", 50)
    monkeypatch.setitem(repeats.limits, "times", 4)
    found, programs = _train(kind, 14, 4, read)
    with engine.mode("naive"):
        wanted, _ = _train(kind, 14, 4, read)
    for x, y in zip(found, wanted, strict=True):
        onp.testing.assert_allclose(x, y, rtol=2e-4, atol=2e-5)
    assert programs[0] <= 2 and programs[2] >= 1, "the third run compiles the step as a whole"
    assert programs[3] == 0, "a steady loop runs what is there"


@pytest.mark.parametrize("hybrid", [False, True])
def test_300_forwards_compile_each_kind_once(hybrid):
    def first(steps):
        compiled.clear()
        _train("sum", steps, 1, hybrid=hybrid)
        return len(compiled)

    jax.clear_caches()  # or what other tests compiled would not be counted
    few, again = first(300), first(301)
    assert 0 < few < 80
    assert again < 10, "another length takes what is there"


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
    monkeypatch.setattr(repeats, "limits", {**repeats.limits, "nodes": 20, "times": 2})
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


def _deep(units):
    net = nn.HybridSequential()
    net.add(*[nn.Dense(units, in_units=units, activation="relu") for _ in range(12)])
    net.initialize()
    numbers = onp.random.RandomState(0)
    for p in net.collect_params().values():
        p.set_data(numbers.uniform(-1, 1, p.shape))
    return net


def _deep_steps(units, hybrid=False):
    """Losses, parameters and gradients of four steps of equal layers, and how many programs each step compiled.

    So many `units` as no other test has, for the process knows what it has seen.
    """
    net, x = _deep(units), np.array(onp.random.RandomState(1).rand(3, units).astype("float32"))
    net.hybridize(hybrid)
    trainer = Trainer(net.collect_params(), "adam", {"learning_rate": 0.01})
    log, programs = [], []
    for _ in range(4):
        before = engine.stats()["programs_compiled"]
        with autograd.record():
            loss = (net(x) ** 2).mean()
        loss.backward()
        trainer.step(1)
        programs.append(engine.stats()["programs_compiled"] - before)
        log.append(float(loss))
    params = net.collect_params().values()
    return log + [a.asnumpy() for p in params for a in (p.data(), p.grad())], programs


@pytest.mark.parametrize("hybrid", [False, True])
def test_equal_layers_are_compiled_one_at_a_time_and_whole_the_third_time(hybrid, monkeypatch):
    monkeypatch.setattr(repeats, "layers", {**repeats.layers, "nodes": 20, "times": 2})
    found, programs = _deep_steps(5 - hybrid, hybrid)
    assert programs == [0, 0, 1, 0]
    with engine.mode("naive"):
        wanted, _ = _deep_steps(5 - hybrid)
    for x, y in zip(found, wanted, strict=True):
        onp.testing.assert_allclose(x, y, rtol=2e-4, atol=2e-5)


@pytest.mark.parametrize(("why", "units"), [("no host tier", 6), ("large", 7), ("few layers", 8)])
def test_equal_layers_that_are_compiled_at_once(why, units, monkeypatch):
    limits = {**repeats.layers, "nodes": 20, "times": 3, "bytes": 100 if why == "large" else 1 << 20}
    monkeypatch.setattr(repeats, "layers", repeats.layers if why == "few layers" else limits)
    with engine.host(why != "no host tier"):
        assert _deep_steps(units)[1] == [1, 0, 0, 0]


class _Noisy(nn.HybridBlock):
    """Equal layers that draw and keep statistics; `within` is called on what lies between two of them."""

    def __init__(self, units, within=None, rate=0.3):
        super().__init__()
        self.layers = nn.HybridSequential()
        for _ in range(10):
            self.layers.add(nn.Dense(units, in_units=units), nn.BatchNorm(in_channels=units), nn.Dropout(rate))
        self.within = within
        self.calls = 0

    def forward(self, x):
        self.calls += 1
        for i, layer in enumerate(self.layers):
            x = layer(x)
            if i == 5 and self.within is not None:
                x = self.within(x)
        return x, (x**2).mean()


def _noisy_steps(units, within=None, rate=0.3):
    gluonx.random.seed(5)
    net, data = _Noisy(units, within, rate), onp.random.RandomState(1).rand(2, 8, units)
    net.initialize()
    net.cast("float64")  # the last bits of float32 grow through ten layers of statistics
    net.hybridize()
    trainer = Trainer(net.collect_params(), "sgd", {"learning_rate": 0.1})
    log, programs, calls = [], [], []
    for i in range(4):
        before = engine.stats()["programs_compiled"]
        with autograd.record():
            out, loss = net(np.array(data[i % 2]))
        loss.backward()
        trainer.step(1)
        log += [out.asnumpy(), loss.asnumpy()]
        programs.append(engine.stats()["programs_compiled"] - before)
        calls.append(net.calls)
    return log + [p.data().asnumpy() for p in net.collect_params().values()], programs, calls


@pytest.mark.parametrize(
    ("units", "rate", "others"), [(6, 0.3, ()), (11, 0.45, (0.15, 0.25, 0.35))], ids=["", "moving"]
)
def test_a_hybridized_net_in_pieces_draws_the_masks_and_keeps_the_statistics_of_one_program(
    units, rate, others, monkeypatch
):
    for other in others:  # after some values a rate is an operand, and the operator no constant
        with autograd.train_mode():
            npx.dropout(np.ones(3), p=other)
    layers = {**repeats.layers, "nodes": 20, "times": 2}
    monkeypatch.setattr(repeats, "layers", {**layers, "bytes": -1})
    wanted, programs, calls = _noisy_steps(units, rate=rate)
    assert programs == [1, 0, 0, 0]
    monkeypatch.setattr(repeats, "layers", layers)
    found, programs, same_calls = _noisy_steps(units, rate=rate)
    assert programs == [0, 0, 1, 0]
    assert same_calls == calls, "the forward's own code runs when it is traced and not again"
    for x, y in zip(found, wanted, strict=True):
        onp.testing.assert_allclose(x, y, rtol=1e-9, atol=1e-10)
    assert [(x == 0).tolist() for x in found[:8:2]] == [(x == 0).tolist() for x in wanted[:8:2]]


def test_a_second_hybridized_net_of_that_structure_is_compiled_once(monkeypatch):
    monkeypatch.setattr(repeats, "layers", {**repeats.layers, "nodes": 20, "times": 2})
    assert [_noisy_steps(13, rate=0.35)[1] for _ in range(3)] == [[0, 0, 1, 0], [1, 0, 0, 0], [1, 0, 0, 0]]


def _paused(x):
    with autograd.pause():
        y = x * 2
    return x + y


@pytest.mark.parametrize(
    ("within", "units"), [(lambda x: np.array(jnp.sin(x.value)), 7), (_paused, 9)], ids=["raw jax.numpy", "pause"]
)
def test_a_hybridized_net_with_more_than_operators_is_compiled_at_once(within, units, monkeypatch):
    monkeypatch.setattr(repeats, "layers", {**repeats.layers, "nodes": 20, "times": 2})
    assert _noisy_steps(units, within)[1] == [1, 0, 0, 0]


def test_a_hybridized_net_in_pieces_reads_the_arrays_that_it_holds_now(monkeypatch):
    class Scaled(nn.HybridBlock):
        def __init__(self):
            super().__init__()
            self.layers = nn.HybridSequential()
            self.layers.add(*[nn.Dense(4, in_units=4, activation="tanh") for _ in range(12)])
            self.scale = np.array(1.0)

        def forward(self, x):
            return self.layers(x * self.scale)

    monkeypatch.setattr(repeats, "layers", {**repeats.layers, "nodes": 20, "times": 2})
    net, x = Scaled(), np.ones((2, 4))
    net.initialize(init="normal")
    plain = [(p.data().asnumpy(), p) for p in net.collect_params().values()]
    net.hybridize()
    for scale in (1.0, 2.0, 3.0, 4.0):
        net.scale = np.array(scale)
        with autograd.record():
            loss = net(x).sum()
        loss.backward()
        y = onp.full((2, 4), scale)
        for layer in net.layers:
            y = onp.tanh(y @ layer.weight.data().asnumpy().T + layer.bias.data().asnumpy())
        assert float(loss) == pytest.approx(y.sum(), rel=1e-4)
    assert all((value == p.data().asnumpy()).all() for value, p in plain)
