"""Operators that NumPy runs: when, on whose memory, and that nothing is compiled."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as onp
import pytest

from gluonx import Trainer, autograd, engine, nn, np, npx, rnn
from gluonx.common import policy
from gluonx.deferred.run import host
from gluonx.deferred.values.core import HostArray

pytestmark = pytest.mark.skipif(not host.is_on(), reason="the default device is no CPU")


@pytest.fixture
def compiled() -> Iterator[list[str]]:
    """What XLA compiles while a test runs."""
    events: list[str] = []

    def listen(event: str, duration_secs: float, **_: str | int) -> None:
        if "backend_compile" in event:
            events.append(event)

    jax.monitoring.register_event_duration_secs_listener(listen)
    yield events
    jax.monitoring.unregister_event_duration_listener(listen)  # only this one: other tests count too


def is_on_host(x: np.ndarray) -> bool:
    return type(x.value) is HostArray


@pytest.mark.dear
def test_a_loop_over_new_shapes_compiles_nothing(compiled: list[str]) -> None:
    xs = np.array(onp.arange(300, dtype=onp.float32))
    engine.reset_stats()
    total = 0.0
    for i in range(1, 201):
        part = xs[:i]
        z = npx.softmax((part - part.mean()) / (part.std() + 1), axis=0)
        total += float((z * part).sum()) + float(np.concatenate([part, part]).max())
    assert compiled == []
    assert engine.stats()["dispatches"] == engine.stats()["programs_compiled"] == 0
    assert engine.stats()["host"] >= 200 * 8
    with engine.host(False):
        part = xs[:200]
        z = npx.softmax((part - part.mean()) / (part.std() + 1), axis=0)
        last = float((z * part).sum()) + float(np.concatenate([part, part]).max())
    assert compiled != []
    part = xs[:200]
    z = npx.softmax((part - part.mean()) / (part.std() + 1), axis=0)
    assert float((z * part).sum()) + 199 == pytest.approx(last, rel=1e-6)


def test_the_first_call_of_a_net_compiles_and_traces_nothing(
    compiled: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(host, "_interpreted", lambda op, values: pytest.fail(f"{op} is traced"))
    net = nn.HybridSequential()
    net.add(nn.Conv2D(64, 3, padding=1), nn.BatchNorm(), nn.Activation("relu"), nn.MaxPool2D(3, 2, 1))
    net.add(nn.Conv2D(64, 3, groups=64), nn.Conv2DTranspose(8, 4, strides=2), nn.LeakyReLU(0.1), nn.AvgPool2D(2))
    net.add(nn.GlobalAvgPool2D(), nn.Dropout(0.5), nn.Dense(10), nn.GELU())
    net.initialize()
    recurrent = rnn.LSTM(8, 2)
    recurrent.initialize()
    compiled.clear()
    engine.reset_stats()
    for size in (20, 33, 48):
        assert is_on_host(net(np.array(onp.ones((2, 3, size, size), onp.float32))))
        assert is_on_host(recurrent(np.array(onp.ones((size, 2, 5), onp.float32))))
    assert compiled == []
    assert engine.stats()["dispatches"] == 0


def test_growing_sequences_compile_nothing(compiled: list[str]) -> None:
    w = np.array(onp.eye(6, dtype=onp.float32))
    x, past = np.ones((1, 6)), None
    for _ in range(40):
        past = x if past is None else np.concatenate([past, x], axis=0)
        weights = npx.softmax(np.dot(np.dot(x, w), np.dot(past, w).T) / 6**0.5, axis=-1)
        x = np.tanh(np.dot(weights, past)) + npx.layer_norm(x, np.ones(6), np.zeros(6))
    assert past is not None and past.shape == (40, 6)
    assert compiled == []


def test_an_operator_without_a_form_is_interpreted(compiled: list[str]) -> None:
    for n in range(2, 12):
        x = np.array(onp.random.default_rng(n).normal(size=(n, n)).astype("f"))
        np.random.exponential(2.0, size=(n,))
        got = npx.masked_softmax(x, np.ones((n, n), dtype="bool"))
        onp.testing.assert_allclose(got.asnumpy().sum(-1), onp.ones(n), rtol=1e-5)
        assert np.linalg.norm(x @ np.linalg.inv(x) - np.eye(n)) < 1e-2  # type: ignore[attr-defined]
    assert compiled == []


def test_a_seed_repeats_draws_to_the_last_bit_however_often() -> None:
    def draw() -> list[list[float]]:
        npx.random.seed(7)
        draws = np.random.normal(1, 3, size=(500,)), np.random.gamma(2.0, 1.0, size=(500,))
        return [x.tolist() for x in draws]

    first = draw()
    assert all(draw() == first for _ in range(40))


def drawn_on_either_way(draw: Callable[[], np.ndarray]) -> tuple[onp.ndarray, onp.ndarray]:
    """The second draw from one seed, by NumPy and by XLA."""
    found = []
    for interpreted in (True, False):
        npx.random.seed(5)
        with engine.host(interpreted):
            found.append([draw().asnumpy() for _ in range(2)][1])
    return found[0], found[1]


@pytest.mark.dear
def test_draws_are_the_same_on_either_way() -> None:
    draws = {
        "uniform": lambda: np.random.uniform(size=(3, 7)),
        "randint": lambda: np.random.randint(0, 10, size=(30,)),
        "bernoulli": lambda: npx.random.bernoulli(0.3, size=(30,)),
        "permutation": lambda: np.random.permutation(12),
        "choice": lambda: np.random.choice(9, size=5),
    }
    for name, draw in draws.items():
        found, wanted = drawn_on_either_way(draw)
        assert found.dtype == wanted.dtype, name
        onp.testing.assert_array_equal(found, wanted, err_msg=name)


def test_a_draw_between_bounds_is_rounded_once_as_xla_does() -> None:
    found, compiled = drawn_on_either_way(lambda: np.random.uniform(-1, 2, size=(300, 7)))
    units, _ = drawn_on_either_way(lambda: np.random.uniform(size=(300, 7)))
    once = (-1 + 3 * units.astype("float64")).astype("float32")
    twice = onp.float32(-1) + onp.float32(3) * units
    assert (once != twice).any()
    onp.testing.assert_array_equal(found, once)
    # The tests switch XLA's optimizations off for jax 0.10, and with them this one.
    fused = (onp.asarray(jax.jit(lambda x: jnp.float32(-1) + jnp.float32(3) * x)(units)) == once).all()
    onp.testing.assert_array_equal(compiled, once if fused else twice)


def test_large_arrays_are_compiled_once_they_come_often() -> None:
    x = np.array(onp.ones((300, 300), onp.float32))
    on_host = [is_on_host(np.exp(x)) for _ in range(100)]
    assert on_host[0] and not on_host[-1]
    assert on_host == sorted(on_host, reverse=True)  # and stays so
    huge = np.ones((3000, 3000))
    assert not is_on_host(np.exp(huge))


def test_what_numpy_will_not_compute_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """To look at an array waits until it is computed, which would make a chain of large operators synchronous."""
    with engine.host(False):
        x = np.ones((1200, 1200))
    looked: list[int] = []
    asarray = onp.asarray
    monkeypatch.setattr(host.np, "asarray", lambda a, *rest: looked.append(a.size) or asarray(a, *rest))
    y = np.exp(x) * 2
    assert max(looked, default=0) < x.size
    assert not is_on_host(y)
    assert is_on_host(y[3:5] + 0) and max(looked) == y.size  # a slice touches a part


def test_what_fails_in_numpy_is_told_by_xla(monkeypatch: pytest.MonkeyPatch) -> None:
    from gluonx.ops.host import jaxprs

    def fail(*_: Any) -> None:
        raise MemoryError("of NumPy")

    monkeypatch.setattr(jaxprs.HostProgram, "__call__", fail)
    assert np.tril(np.ones((7, 9))).sum().item() == 28


@pytest.mark.dear
def test_a_value_that_becomes_a_weight_is_not_donated_under_its_views() -> None:
    for units in (64, 128, 512):
        net = nn.Dense(units, in_units=units, use_bias=False)
        net.initialize()
        trainer = Trainer(net.collect_params(), "sgd", {"learning_rate": 0.5})
        x = np.array(onp.random.default_rng(units).random((units, units), dtype="f"))
        views = [x.reshape(-1), x.T, x.copy(), x]
        before = [v.asnumpy().copy() for v in views]
        net.weight.set_data(x)
        for _ in range(3):
            with autograd.record():
                loss = (net(np.ones((4, units))) ** 2).sum()
            loss.backward()
            trainer.step(1)
        for view, kept in zip(views, before, strict=True):
            onp.testing.assert_array_equal(view.asnumpy(), kept)


def test_small_arrays_stay_on_the_host() -> None:
    x = np.array(onp.ones((8, 8), onp.float32))
    for _ in range(3000):
        x = x * 0.5 + 0.5
    assert is_on_host(x)


def test_nobody_writes_to_a_value() -> None:
    given = onp.arange(6, dtype=onp.float32).reshape(2, 3)
    x = np.array(given)
    views = [x.reshape(3, 2), x.T, x[0], x[:, 1:], np.expand_dims(x, 0), x.copy(), x.astype("float32")]
    before = [v.asnumpy().copy() for v in views]
    given[:] = 7
    taken = x.asnumpy()
    taken[:] = 9  # the user's own
    shown = onp.asarray(x)
    with pytest.raises(ValueError):
        shown[0, 0] = 1
    x[0] = 5
    x += 1
    for v, b in zip(views[:2] + views[4:], before[:2] + before[4:], strict=True):
        onp.testing.assert_array_equal(v.asnumpy(), b)
    onp.testing.assert_array_equal(views[2].asnumpy(), [6, 6, 6])  # a slice shows what is written to its base
    onp.testing.assert_array_equal(x.asnumpy(), [[6, 6, 6], [4, 5, 6]])


def test_an_operand_of_numpy_may_be_written_to_afterwards() -> None:
    for size in (10, 100_000):
        for operator in (lambda x, b: x + b, lambda x, b: np.reshape(b, (-1, 1)), lambda x, b: np.maximum(b, x),
                         lambda x, b: np.squeeze(b), lambda x, b: np.array(b, copy=False)):  # fmt: skip
            buffer = onp.ones(size, onp.float32)
            out = operator(np.zeros(size), buffer)
            buffer[:] = 7
            assert float(out.sum()) == size


@pytest.mark.parametrize("units", [8, 100])
def test_what_was_read_of_a_weight_outlives_its_donation(units: int) -> None:
    net = nn.Dense(units, in_units=units)
    net.initialize()
    trainer = Trainer(net.collect_params(), "sgd", {"learning_rate": 0.1})
    x, kept = np.ones((4, units)), []
    for _ in range(5):
        w = net.weight.data()
        for value in (w.reshape(-1), w.T, w[1].copy(), np.expand_dims(w, 0), w + 0):
            kept.append((value, value.asnumpy().copy()))
        with autograd.record():
            loss = (net(x) ** 2).sum()
        loss.backward()
        trainer.step(4)
    for value, before in kept:
        onp.testing.assert_array_equal(value.asnumpy(), before)


def test_reading_a_weight_costs_the_next_step_no_copy() -> None:
    net = nn.Dense(100, in_units=100)
    net.initialize()
    trainer = Trainer(net.collect_params(), "sgd", {"learning_rate": 0.1})
    x = np.ones((4, 100))
    for i in range(5):
        if i == 2:
            engine.reset_stats()
        read = float(net.weight.data().sum()), net.weight.data().reshape(-1)
        del read
        with autograd.record():
            loss = (net(x) ** 2).sum()
        loss.backward()
        trainer.step(4)
    assert engine.stats()["copies"] == 0


@pytest.mark.dear
def test_values_of_the_host_train_like_others() -> None:
    rng = onp.random.default_rng(0)
    data, target = rng.normal(size=(16, 5)).astype("f"), rng.normal(size=(16, 1)).astype("f")

    def run(on: bool, hybrid: bool) -> list[float]:
        npx.random.seed(3)
        net = nn.HybridSequential()
        net.add(nn.Dense(8, activation="tanh"), nn.BatchNorm(), nn.Dense(1))
        net.initialize()
        if hybrid:
            net.hybridize()
        losses = []
        with engine.host(on):
            trainer = Trainer(net.collect_params(), "adam", {"learning_rate": 0.05})
            for _ in range(6):
                x, y = np.array(data) * 2 - 1, np.array(target) + 0.5
                with autograd.record():
                    loss = ((net(x) - y) ** 2).mean()
                loss.backward()
                trainer.step(1)
                net.weight_sum = float(sum(float(p.data().sum()) for p in net.collect_params().values()))
                losses.append(float(loss))
        return losses

    for hybrid in (False, True):
        onp.testing.assert_allclose(run(True, hybrid), run(False, hybrid), rtol=1e-5)


def test_gradients_of_leaves_that_the_host_made() -> None:
    x = np.array([1.0, 2.0, 3.0]) * 2
    assert is_on_host(x)
    x.attach_grad()
    with autograd.record():
        y = (x * x).sum()
    y.backward()
    assert x.grad is not None and x.grad.tolist() == [4.0, 8.0, 12.0]
    x[:] = 1
    with autograd.record():
        y = (x[1:] * 3).sum()
    y.backward()
    assert x.grad.tolist() == [0.0, 3.0, 3.0]


@pytest.mark.parametrize("first", [0.75, onp.float32(0.75), onp.array([0.75, 0.75])], ids=["number", "scalar", "array"])
@pytest.mark.parametrize("recorded", [False, True])
def test_what_stands_in_front_of_a_view_of_what_has_changed(recorded: bool, first: Any) -> None:
    base = np.array([1.0, 2.0])
    with autograd.record() if recorded else engine.bulk(1000):
        detached = base.detach()
        base += 1.0
        assert np.subtract(first, detached).asnumpy().tolist() == [-1.25, -2.25]
        view = base[1:]
        base += 1.0
        assert np.subtract(first if onp.ndim(first) == 0 else first[1:], view).asnumpy().tolist() == [-3.25]


def test_a_detached_array_knows_its_shape_after_a_recorded_write_to_its_base() -> None:
    weight = np.array([1.0, 2.0])
    weight.attach_grad()
    base = np.zeros((2, 3))
    with autograd.record():
        detached = base.detach()
        assert detached.shape == (2, 3)  # a value of the host, known by itself
        base += np.ones((2, 3)) * weight.sum()
        assert (detached.shape, detached.dtype) == ((2, 3), onp.float32)  # now a pending one
        assert (detached * 0.5).asnumpy().tolist() == [[1.5] * 3] * 2


def test_raw_jax_code_takes_them() -> None:
    x = np.ones((2, 2)) * 3
    assert isinstance(jax.numpy.sum(x), jax.Array)
    assert float(jax.jit(lambda a: (np.array(a) * x).sum()._raw())(jax.numpy.ones((2, 2)))) == 12
    leaves = jax.tree.leaves(x)
    assert isinstance(leaves[0], jax.Array)


def test_errors_are_those_of_the_usual_way() -> None:
    x, y = np.ones((2, 3)), np.ones((4, 5))
    calls = [lambda: x + y, lambda: np.dot(x, y), lambda: x.reshape(7), lambda: np.concatenate([x, y]), lambda: x[5],
             lambda: np.zeros((-1,)), lambda: x.sum(axis=3), lambda: npx.softmax(x, axis=4)]  # fmt: skip
    for call in calls:
        told = []
        for on in (True, False):
            with engine.host(on), pytest.raises(Exception) as caught:
                call()
            told.append((type(caught.value), str(caught.value)))
        assert told[0] == told[1]


def test_warnings_of_numpy_stay_inside(recwarn: pytest.WarningsRecorder) -> None:
    x = np.array([0.0, 1.0])
    assert (1 / x).tolist() == [onp.inf, 1.0]
    assert onp.isnan(np.log(x - 1).asnumpy()).tolist() == [True, False]
    assert not recwarn.list
    assert onp.geterr()["divide"] == "warn"


@pytest.mark.dear
def test_the_variable_switches_it_off() -> None:
    code = "from gluonx import np, engine; (np.ones(3) + 1).tolist(); print(engine.stats()['host'])"
    for value, ran in (("0", False), ("1", True)):
        env = {**os.environ, "GLUONX_HOST": value}
        out = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, check=True)
        assert (int(out.stdout) > 0) is ran


def test_naive_mode_and_other_devices_keep_to_xla() -> None:
    with engine.mode("naive"):
        assert isinstance((np.ones(3) + 1).value, jax.Array)


def test_a_recorded_forward_that_nothing_is_asked_of_compiles_nothing(compiled: list[str]) -> None:
    for n in range(3, 9):
        with autograd.record():
            y = (np.ones((n, 3)) * 2 + 1).sum()
        assert float(y) == 9 * n
    assert compiled == []


def test_memory_is_bounded() -> None:
    op = np.exp  # a function of one operator
    x = np.array(onp.ones(9000, onp.float32))
    for n in range(5000, 5000 + 2 * policy.SHARED):
        op(x[:n])
    from gluonx import ops

    known: Any = ops.get("exp").bind().host
    assert len(known.seen) <= policy.SHARED
