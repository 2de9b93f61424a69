"""Programs that never do the same twice, and operators on ever new shapes: how much of them is compiled and traced."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import jax
import numpy as onp
import pytest

import gluonx
from benchmarks.programs import PROGRAMS
from gluonx import Trainer, autograd, engine, nn, np, npx, random
from gluonx.common import policy
from gluonx.deferred.run import host, program, repeats
from gluonx.loss import SoftmaxCELoss

pytestmark = [pytest.mark.first_runs, pytest.mark.skipif(not host.is_on(), reason="the default device is no CPU")]
COMPILED, TRACED = "backend_compile_duration", "jaxpr_trace_duration"


@pytest.fixture
def events() -> Iterator[Counter[str]]:
    """What JAX does while a test runs, by the last part of an event's name."""
    found: Counter[str] = Counter()

    def listen(event: str, duration_secs: float, **_: str | int) -> None:
        found[event.rpartition("/")[2]] += 1

    jax.monitoring.register_event_duration_secs_listener(listen)
    yield found
    jax.monitoring.unregister_event_duration_listener(listen)


def array(*shape: int) -> np.ndarray:
    return np.array(onp.random.RandomState(sum(shape)).rand(*shape).astype("f"))


def matrix(*shape: int) -> np.ndarray:
    return array(*shape) + shape[-1] * np.eye(shape[-1])


OPERATORS: dict[str, Callable[[int], tuple[Callable[..., Any], tuple[Any, ...]]]] = {
    "take": lambda n: (lambda x, i: np.take(x, i, 0, mode=("clip", "wrap")[n % 2]), (array(n, 3), np.array([0, 1]))),
    "norm": lambda n: (lambda x: np.linalg.norm(x, axis=n % 2), (array(n, 3),)),
    "norm of matrices": lambda n: (lambda x: np.linalg.norm(x, (2, "nuc", 1)[n % 3], axis=(0, 1)), (array(n, n + 1),)),
    "solve": lambda n: (np.linalg.solve, (matrix(n, n), array(n, 2))),
    "solve, empty": lambda n: (np.linalg.solve, (np.zeros((n, 0, 0)), np.zeros((n, 0, 2)))),
    "inv": lambda n: (np.linalg.inv, (matrix(n, n),)),
    "tensorinv": lambda n: (np.linalg.tensorinv, (matrix(2 * n, 2 * n).reshape(2, n, 2 * n),)),
    "qr": lambda n: (lambda x: np.linalg.qr(x)[0], (array(n + 2, n),)),
    "svd": lambda n: (lambda x: np.linalg.svd(x)[1], (array(n, n + 1),)),
    "pad": lambda n: (lambda x: np.pad(x, ((1, n), (0, 2)), ("constant", "edge")[n % 2]), (array(n, 3),)),
    "einsum": lambda n: (lambda x, y: np.einsum("ij,jk->ik", x, y), (array(n, 3), array(3, n))),
}  # fmt: skip


@pytest.mark.parametrize("name", OPERATORS)
def test_operators_on_new_shapes_compile_nothing(name: str, events: Counter[str]) -> None:
    for n in range(2, 27):
        f, arrays = OPERATORS[name](n)
        f(*arrays).asnumpy()
    assert events[COMPILED] == events[TRACED] == 0
    for n in range(2, 7):
        f, arrays = OPERATORS[name](n)
        arrays[0].attach_grad()
        with autograd.record():
            out = f(*arrays)
        out.backward()
        assert arrays[0].grad.asnumpy().shape == arrays[0].shape
    assert events[COMPILED] == 0


@pytest.mark.dear
def test_small_draws_on_new_shapes_compile_nothing(events: Counter[str]) -> None:
    for n in range(1, 16):
        np.random.gamma(2.0, 1.0, size=(n, 3)).asnumpy()
        np.random.poisson(4.0, size=n).asnumpy()
        np.random.multinomial(10, [0.2, 0.3, 0.5], size=n).asnumpy()
        npx.random.multinomial(np.array([n]), np.array([[0.2, 0.8]])).asnumpy()
    assert events[COMPILED] == 0


@pytest.mark.dear
@pytest.mark.parametrize(
    ("name", "sizes"),
    [
        ("tree-LSTM", {"pairs": 8}),
        ("translating word by word", {"sentences": 3}),
        ("translating, hybridized", {"sentences": 2}),
        ("transformer with memory", {"steps": 6}),
        ("LSTM cell, 600 steps", {"steps": 1}),
        ("graph network", {"count": 5}),
        ("detector with NMS", {"steps": 3}),
        ("variational autoencoder", {"steps": 4}),
        ("GAN", {"steps": 3}),
        ("notebook, 100 cells", {"cells": 40}),
    ],
)
def test_programs_that_never_do_the_same_twice_compile_nothing(
    name: str, sizes: dict[str, int], events: Counter[str]
) -> None:
    PROGRAMS[name](gluonx, **sizes)()
    assert events[COMPILED] == 0


@pytest.mark.dear
def test_a_tree_of_known_operators_is_not_traced(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each sentence is a graph of its own, made of operators that NumPy knows from those before."""
    traced, put_on_host = [], program.Program.put_on_host
    monkeypatch.setattr(program.Program, "put_on_host", lambda self, args: (traced.append(1), put_on_host(self, args)))

    def losses() -> list[float]:
        traced.clear()
        random.seed(0)
        return PROGRAMS["tree-LSTM"](gluonx, pairs=8)()

    found = losses()
    assert len(traced) == 0
    monkeypatch.setattr(repeats, "_is_cheap", lambda graph: False)
    onp.testing.assert_allclose(found, losses(), rtol=1e-5)
    assert len(traced) == 8


def test_the_first_step_of_a_deep_net_with_a_large_layer_compiles_nothing(events: Counter[str]) -> None:
    """Operator by operator its update would be: NumPy is not given so large a weight for one operator."""
    net = nn.Sequential()
    net.add(*[nn.Dense(64, in_units=64) for _ in range(20)], nn.Dense(policy.limits["compile"] // 60, in_units=64))
    net.initialize()
    trainer, x = Trainer(net.collect_params(), "sgd", {"learning_rate": 0.1, "momentum": 0.9}), array(2, 64)
    with autograd.record():
        loss = (net(x) ** 2).mean()
    loss.backward()
    events.clear()
    trainer.step(1)
    loss.asnumpy()
    assert events[COMPILED] == 0


@pytest.mark.dear
def test_a_step_of_operators_with_forms_is_traced_when_it_is_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    """NumPy has the forward and the pull-back of each of its operators, so only XLA's program is traced."""
    traced, by_numpy = [], program.Program.put_on_host
    monkeypatch.setattr(program.Program, "put_on_host", lambda self, args: (traced.append(1), by_numpy(self, args)))

    def losses(runs: int, sizes: tuple[int, ...] = (6,)) -> list[float]:
        net = nn.Sequential()
        net.add(nn.Dense(5, in_units=4, activation="relu"), nn.Dense(3, in_units=5))
        net.initialize()
        for p in net.collect_params().values():
            p.set_data(onp.random.RandomState(1).uniform(-1, 1, p.shape))
        trainer, loss_fn = Trainer(net.collect_params(), "adam", {"learning_rate": 0.1}), SoftmaxCELoss()
        found = []
        for k in range(runs):
            size = sizes[k % len(sizes)]
            x, y = np.array(onp.linspace(-1, 1, size * 4, dtype="f").reshape(size, 4)), np.arange(size) % 3
            with autograd.record():
                loss = loss_fn(net(x), y).mean()
            loss.backward()
            trainer.step(1)
            found.append(loss.item())
        return found

    runs = policy.limits["runs"]
    before = engine.stats()["programs_compiled"]
    found = losses(runs)
    assert "by NumPy, operator by operator" in engine.explain()
    assert engine.stats()["programs_compiled"] == before
    found = losses(runs + 2)
    assert engine.stats()["programs_compiled"] == before + 1
    losses(8, tuple(range(7, 15)))
    assert not traced
    monkeypatch.setitem(policy.limits, "runs", 0)
    onp.testing.assert_allclose(found, losses(runs + 2), rtol=1e-5)
