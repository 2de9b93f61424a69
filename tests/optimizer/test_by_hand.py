"""Updates of single arrays: NumPy's and XLA's are the same ones, and a new shape traces nothing."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import jax
import numpy as onp
import pytest

import gluonx
from gluonx import engine, np, optimizer
from gluonx.common import policy
from gluonx.deferred.run import host
from gluonx.optimizer import byhand
from gluonx.optimizer import optimizer as optimizers
from lib.golden import load_cases

pytestmark = pytest.mark.skipif(not host.is_on(), reason="the default device is no CPU")
CASES = load_cases("optimizer").OPTIMIZERS
NAMES = sorted(optimizer.Optimizer.opt_registry)
SHAPES = [(3, 4), (5,), (), (1, 1), (2, 1, 3), (0, 3)]
TRACED = "/jax/core/compile/jaxpr_trace_duration"


@pytest.fixture
def traced() -> Iterator[list[str]]:
    """What JAX traces while a test runs."""
    events: list[str] = []

    def listen(event: str, duration_secs: float, **_: str | int) -> None:
        if event == TRACED:
            events.append(event)

    jax.monitoring.register_event_duration_secs_listener(listen)
    yield events
    jax.monitoring.unregister_event_duration_listener(listen)


def trail(opt: Any, dtype: str, shapes: Any, on: bool, uneven: bool) -> list[onp.ndarray]:
    """The weights and states after four updates, of all arrays at once and then of single ones."""
    gluonx.random.seed(3)
    rng = onp.random.default_rng(0)
    with engine.host(on):
        weights = [np.array(rng.uniform(-1, 1, s), dtype=dtype) for s in shapes]
        states = [opt.create_state_multi_precision(i, w) for i, w in enumerate(weights)]
        if uneven:
            opt.set_lr_mult({1: 0.5})
            opt.set_wd_mult({0: 0.0})
        numbers = list(range(len(shapes)))
        for k in range(4):
            grads = [np.array(rng.uniform(-2, 2, s) * (s != (5,) or k > 1), dtype=dtype) for s in shapes]
            opt.rescale_grad = 0.5 / (k + 1)
            opt.set_learning_rate(0.1 / (k + 1))
            opt.update_multi_precision(numbers, weights, grads, states)
        for k in numbers[:2]:  # their counts run ahead
            opt.update_multi_precision([k], weights[k : k + 1], grads[k : k + 1], states[k : k + 1])
        found = []
        for array in [*weights, *jax.tree.leaves(states, is_leaf=lambda x: isinstance(x, np.ndarray))]:
            assert array.dtype == array.asnumpy().dtype
            found.append(array.asnumpy())
    return found


def agree(make: Any, dtype: str, shapes: Any, uneven: bool) -> None:
    ours, xla = (trail(make(), dtype, shapes, on, uneven) for on in (True, False))
    tolerance = {"float16": 4e-3, "bfloat16": 3e-2}.get(dtype, 1e-5)
    for a, b in zip(ours, xla, strict=True):
        assert a.shape == b.shape and a.dtype == b.dtype
        onp.testing.assert_allclose(a.astype("d"), b.astype("d"), rtol=tolerance, atol=tolerance)


@pytest.mark.dear
@pytest.mark.parametrize("name", NAMES)
def test_numpy_and_xla_do_the_same_updates(name: str) -> None:
    settings = {"clip_gradient": 0.4, **({"wd": 0.1} if name != "groupadagrad" else {})}
    shapes = SHAPES if name != "groupadagrad" else [s for s in SHAPES if s]
    agree(lambda: optimizer.create(name, **settings), "float32", shapes, False)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:The optimizer keeps its states")
@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16", "float64"])
@pytest.mark.parametrize("case", sorted(CASES))
def test_all_settings_and_types(case: str, dtype: str) -> None:
    name, settings, _ = CASES[case]
    for uneven in (False, True):
        agree(lambda: optimizer.create(name, **settings), dtype, [(3, 4), (5,), (2, 2, 2)], uneven)


@pytest.mark.dear
def test_new_shapes_trace_nothing(traced: list[str]) -> None:
    for name in ("sgd", "adam", "lamb", "lars", "nadam"):
        update = optimizer.get_updater(optimizer.create(name, wd=0.1))

        def run(n: int, update: Any = update) -> None:
            update.states.clear()
            for shape in ((n, 3), (n,)):
                weight = np.ones(shape)
                update(len(shape), weight * 0.1, weight)

        run(2)
        traced.clear()
        engine.reset_stats()
        rules = len(optimizers._made)
        for n in range(3, 20):
            run(n)
        assert traced == [] and engine.stats()["dispatches"] == 0
        assert 0 < len(optimizers._made) == rules  # nothing is kept of a shape


def test_a_formula_that_looks_at_lengths_is_traced_for_each_shape() -> None:
    class Fitted(optimizer.Optimizer):
        @classmethod
        def formula(cls, settings: Any, weight: Any, grad: Any, leaves: Any, at: Any) -> Any:
            return -at.lr * grad * (2.0 if weight.shape == (4,) else 1.0), leaves

    for n, change in ((3, 0.5), (4, 1.0)):
        weight = np.ones((n,))
        Fitted(learning_rate=0.5).update([0], [weight], [np.ones((n,))], [None])
        assert weight.tolist() == [1 - change] * n


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.filterwarnings("ignore:The optimizer keeps its states")
def test_one_weight_needs_no_lists(name: str) -> None:
    """As MXNet 1 writes it: ``update(0, weight, grad, state)``, of wide weights and narrow ones."""
    for dtype, multi_precision in (("float32", False), ("float16", True), ("float16", False)):
        ends = []
        for listed in (False, True):
            gluonx.random.seed(5)
            opt = optimizer.create(name, multi_precision=multi_precision)
            weight, grad = np.array([[1.0, 2.0]], dtype=dtype), np.array([[0.5, 0.25]], dtype=dtype)
            state = opt.create_state_multi_precision(0, weight)
            for update in (
                opt.update_multi_precision,
                opt.update if dtype == "float32" else opt.update_multi_precision,
            ):
                update(*([[0], [weight], [grad], [state]] if listed else [0, weight, grad, state]))
            assert opt.num_update == 2
            ends.append(weight.tolist())
        assert ends[0] == ends[1] and (ends[0] != [[1.0, 2.0]] or dtype == "float16"), (name, dtype)


def test_what_a_users_update_is_given() -> None:
    """Lists, unless its first parameter is called ``index``."""

    class Base(optimizer.Optimizer):
        def create_state(self, index: Any, weight: Any) -> None:
            return None

    class One(Base):
        def update(self, index: Any, weight: Any, grad: Any, state: Any) -> None:  # pyright: ignore
            assert index in (0, 1) and weight.shape == (2,)

    class Many(Base):
        def update(self, numbers: Any, weights: Any, grads: Any, states: Any) -> None:  # pyright: ignore
            assert numbers == [0, 1] and len(weights) == 2

    weights = [np.ones(2), np.ones(2)]
    for kind in (One, Many):
        kind().update_multi_precision([0, 1], weights, weights, [None, None])


def counting(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What rules are traced for arrays of any lengths from now on."""
    traced: list[Any] = []
    any_shape = byhand._any_shape
    monkeypatch.setattr(byhand, "_any_shape", lambda *args: (traced.append(args), any_shape(*args))[1])
    return traced


def test_equal_optimizers_share_what_was_traced(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each new object traced its rule for each number of axes again."""
    traced = counting(monkeypatch)

    def update(**settings: Any) -> onp.ndarray:
        opt = optimizer.create("adam", **settings)
        weight = np.ones((2, 3))
        opt.update([0], [weight], [weight / 2], [opt.create_state(0, weight)])
        return weight.asnumpy()

    first = update(learning_rate=0.1, beta1=0.87)
    assert len(traced) == 1
    onp.testing.assert_array_equal(update(learning_rate=0.1, beta1=0.87), first)
    assert not (update(learning_rate=0.3, beta1=0.87) == first).any()  # the rate is an argument
    assert len(traced) == 1
    update(learning_rate=0.1, beta1=0.86)
    assert len(traced) == 2


def test_a_rule_that_has_no_numpy_form_is_asked_for_it_once(monkeypatch: pytest.MonkeyPatch) -> None:
    traced = counting(monkeypatch)
    opt = optimizer.create("muon", momentum=0.83)
    weight = np.ones((2, 3))
    state = opt.create_state(0, weight)
    for _ in range(3):
        opt.update([0], [weight], [weight / 2], [state])
        weight.wait_to_read()
    assert len(traced) == 1


@pytest.mark.dear
def test_lars_keeps_a_rule_for_each_of_many_parameters(monkeypatch: pytest.MonkeyPatch) -> None:
    """They are more than the table that optimizers share has room for, and leave what is in it alone."""
    monkeypatch.setattr(policy, "SHARED", 8)
    traced = counting(monkeypatch)
    opt = optimizer.create("lars", momentum=0.83)
    update, weights = optimizer.get_updater(opt), [np.ones((2,)) for _ in range(6)]
    before = dict(optimizers._made)
    for _ in range(2):
        for i, weight in enumerate(weights):
            update(i, weight / 2, weight)
            weight.wait_to_read()
    assert len(traced) == 6
    assert optimizers._made == before
