"""Programs are forgotten, least recently used first, above a bound of memory; what is used is not."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import jax
import numpy as onp
import pytest

from gluonx import Trainer, autograd, cpu, engine, nn, np, npx
from gluonx.common import policy
from gluonx.deferred.operators.derived import DerivedOp
from gluonx.deferred.run import flushing
from gluonx.deferred.values import program_cache
from gluonx.deferred.values.core import ROOT, Node
from gluonx.deferred.values.program_cache import Cache


@pytest.fixture(autouse=True)
def alone(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    engine.clear()
    engine.reset_stats()
    monkeypatch.setattr(Cache, "limit", 40e6)
    monkeypatch.setitem(policy.limits, "many", 1000)
    with engine.host(False):
        yield
    monkeypatch.undo()
    engine.clear()


def nodes() -> list[Node]:
    return list(program_cache._nodes())


def programs() -> list[Any]:
    return list({id(p): p for node in nodes() for p in program_cache._programs_of(node)}.values())


def gradient(x: np.ndarray) -> np.ndarray:
    assert x.grad is not None
    return x.grad


def forget_all() -> None:
    """Make the bound so low that nothing is left."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Cache, "limit", 1.0)
        program_cache.add(0)
    assert not nodes() and not Cache.ops


def step(n: int) -> float:
    """A step whose program is another one for each n."""
    x = np.array(onp.full(n, 2.0, "f"))
    x.attach_grad()
    with autograd.record():
        y = (x * x).sum()
    y.backward()
    assert gradient(x).tolist() == [4.0] * n
    return float(y)


def test_the_estimate_counts_operations() -> None:
    small, large = (jax.make_jaxpr(lambda x, n=n: sum(x * i for i in range(n)))(1.0) for n in (1, 9))
    assert (
        program_cache.program_size(small)
        < program_cache.program_size(large)
        < program_cache.program_size(small) + 30 * program_cache.OPERATION
    )


@pytest.mark.dear
def test_steps_on_ever_new_shapes_stay_within_the_bound() -> None:
    first = step(1)
    dead = [weakref.ref(p) for p in programs()]
    assert dead and engine.stats()["programs_mb"] > 1
    for n in range(2, 32):
        step(n)
        assert engine.stats()["programs_mb"] <= 40
    assert all(r() is None for r in dead)  # without the garbage collector
    stats = engine.stats()
    assert stats["programs_forgotten"] > 0
    assert len(programs()) <= 40e6 / program_cache.PROGRAM
    assert len(nodes()) < 4 * (len(programs()) + 2)
    assert step(1) == first  # it comes again


@pytest.mark.dear
def test_operators_on_ever_new_shapes_stay_within_the_bound() -> None:
    dead = []
    for n in range(1, 30):
        x = np.array(onp.ones(n, "f"))
        assert float((x + 1).sum()) == 2 * n
        dead += [weakref.ref(op.eager) for op in list(Cache.ops) if op.eager is not None and n == 1]
        assert engine.stats()["programs_mb"] <= 40
    gc.collect()
    assert dead and all(r() is None for r in dead)
    assert engine.stats()["programs_forgotten"] >= 29


@pytest.mark.dear
def test_what_is_used_stays() -> None:
    net = nn.Dense(2, in_units=3)
    net.initialize()
    net.hybridize()
    trainer = Trainer(net.collect_params(), "sgd", {"learning_rate": 0.1})
    x = np.ones((4, 3))

    def train() -> None:
        with autograd.record():
            loss = net(x).sum()
        loss.backward()
        trainer.step(4)

    for _ in range(3):
        train()
    compiled = engine.stats()["programs_compiled"]
    for n in range(1, 30):
        step(n)
        train()
    assert engine.stats()["programs_forgotten"] > 0
    before = engine.stats()
    train()
    assert engine.stats()["programs_compiled"] == before["programs_compiled"]
    assert engine.stats()["traces"] == 1
    assert compiled >= 1


@pytest.mark.dear
def test_clear_leaves_nothing_behind() -> None:
    step(3)
    net = nn.Dense(2, in_units=3)
    net.initialize()
    net.hybridize()
    y = net(np.ones((4, 3)))
    found = [weakref.ref(p) for p in programs()] + [weakref.ref(op.eager) for op in Cache.ops if op.eager is not None]
    assert found
    engine.clear()
    gc.collect()
    assert [r for r in found if r() is not None] == []
    assert not ROOT.children and not Cache.ops and engine.stats()["programs_mb"] == 0
    onp.testing.assert_array_equal(net(np.ones((4, 3))).asnumpy(), y.asnumpy())
    assert step(3) == 12


def test_a_tape_outlives_what_is_forgotten() -> None:
    x = np.array(onp.ones(3, "f"))
    x.attach_grad()
    with autograd.record():
        y = (x * 3).sum()
    assert float(y) == 9  # the forward alone
    engine.clear()
    y.backward()
    assert gradient(x).tolist() == [3, 3, 3]
    with autograd.record():
        z = (x * 5).sum()
    forget_all()  # while it is recorded
    z.backward()
    assert gradient(x).tolist() == [5, 5, 5]


def test_the_bound_may_be_switched_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Cache, "limit", 0.0)
    step(2)
    program_cache.add(10**12)
    assert programs() and engine.stats()["programs_forgotten"] == 0


def test_what_was_forgotten_of_a_hybridized_block_is_traced_again() -> None:
    net = nn.Dense(2, in_units=3)
    net.initialize()
    net.hybridize()
    x = np.ones((4, 3))
    y = net(x)
    forget_all()
    assert engine.stats()["programs_forgotten"] > 0
    onp.testing.assert_array_equal(net(x).asnumpy(), y.asnumpy())
    assert engine.stats()["traces"] == 2


@pytest.mark.dear
def test_steps_on_several_devices_are_forgotten_too(monkeypatch: pytest.MonkeyPatch) -> None:
    devices = [cpu(0), cpu(1)]
    net = nn.Dense(2, in_units=3)
    net.initialize(ctx=devices)
    trainer = Trainer(net.collect_params(), "sgd", {"learning_rate": 0.1})

    def train(n: int) -> None:
        with autograd.record():
            losses = [net(np.ones((n, 3), ctx=device)).sum() for device in devices]
        autograd.backward(losses)
        trainer.step(n)

    train(1)
    monkeypatch.setattr(Cache, "limit", 1e6)
    train(2)
    assert engine.stats()["programs_forgotten"] > 0
    assert engine.stats()["programs_mb"] < 10  # one program may be larger than the bound
    train(1)
    for weight in net.weight.list_data()[1:]:
        onp.testing.assert_array_equal(weight.asnumpy(), net.weight.data(devices[0]).asnumpy())


@pytest.mark.slow
def test_ten_thousand_shapes(monkeypatch: pytest.MonkeyPatch) -> None:
    """No more programs are kept than fit; `python -m benchmarks.shapes` looks at the memory of the process."""
    monkeypatch.setitem(policy.limits, "many", 10_000)
    alive: list[weakref.ref[Any]] = []
    for n in range(10_000):
        shape = (1 + n % 100, 1 + n // 100)
        x = np.array(onp.ones(shape, "f"))
        if n % 4:
            assert float((np.exp, np.negative, np.sqrt)[n % 3](x).asnumpy()[0, 0]) != 0
        else:
            x.attach_grad()
            with autograd.record():
                y = x * x
            y.backward()
            assert float(gradient(x).asnumpy()[0, 0]) == 2
            alive += [weakref.ref(program) for program in programs() if program.runs == 1]
            alive = [each for each in set(alive) if each() is not None]
        assert engine.stats()["programs_mb"] <= 40
        assert len(alive) <= 40e6 / program_cache.PROGRAM
    assert engine.stats()["programs_forgotten"] > 9_900


def test_a_line_that_reads_gradients_compiles_one_program() -> None:
    """What is constant in a program, as where a gradient begins, was compiled and run by itself."""
    compiled: list[str] = []

    def listen(event: str, duration_secs: float, **_: str | int) -> None:
        if "backend_compile" in event:
            compiled.append(event)

    x = np.array(onp.ones((3, 7), "f"))
    x.attach_grad()
    with autograd.record():
        y = (x * 3).reshape((7, 3)).mean()
    y.backward()
    jax.monitoring.register_event_duration_secs_listener(listen)
    try:
        onp.testing.assert_allclose(gradient(x).asnumpy(), 1 / 7, rtol=1e-6)
    finally:
        jax.monitoring.unregister_event_duration_listener(listen)
    assert len(compiled) == 1


@pytest.mark.dear
def test_clear_forgets_what_modules_make_once() -> None:
    def train() -> list[float]:
        net = nn.Dense(1, in_units=2, use_bias=False)
        net.initialize("ones")
        table = nn.Embedding(9, 2, sparse_grad=True)
        table.initialize("ones")
        trainer = Trainer({**net.collect_params("w.*"), "table": table.weight}, "sgd", {"learning_rate": 0.1})
        with autograd.record():
            rows, _ = npx.foreach(lambda x, s: (x * 2, s), table(np.array([1, 3])), np.zeros((1,)))
            loss = net(rows).sum()
        loss.backward()
        trainer.step(1)
        return net.weight.data().reshape(-1).tolist()

    wanted = train()
    made = [value for memo in Cache.memos for value in memo.values()]
    found = [weakref.ref(value) for value in made if isinstance(value, (DerivedOp, jax.Array))]
    assert len(found) >= 4  # a loop, an update, zeros, a sum by rows
    del made
    engine.clear()
    gc.collect()
    assert not any(Cache.memos) and [r for r in found if r() is not None] == []
    assert [maker for maker in Cache.makers if maker.cache_info().currsize] == []
    jax.clear_caches()
    assert train() == wanted
    engine.clear()
    assert train() == wanted


@pytest.mark.dear
def test_clear_forgets_operators_that_are_made_for_a_kind_of_call() -> None:
    """Casts, slices, powers: each kind leaves one behind, and none after it."""
    calls: list[Callable[[], Any]] = [
        lambda: np.ones((3,)).astype("float16"),
        lambda: np.ones((7, 3))[1:6:2],
        lambda: np.ones((3,)) ** 5,
    ]
    for call in calls:
        engine.clear()
        wanted = call().tolist()
        made = [v for memo in Cache.memos for v in memo.values()]
        assert made or any(maker.cache_info().currsize for maker in Cache.makers)
        dead = [weakref.ref(v) for v in made if isinstance(v, DerivedOp)]
        del made
        engine.clear()
        gc.collect()
        assert [r for r in dead if r() is not None] == []
        assert [maker for maker in Cache.makers if maker.cache_info().currsize] == []
        jax.clear_caches()
        assert call().tolist() == wanted


@pytest.mark.dear
def test_a_line_is_not_held_to_have_churned_by_what_was_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(policy.limits, "many", 2)
    for n in range(3, 9):
        step(n)
        engine.clear()
    assert flushing.LAST == {}  # and no warning
