"""The Trainer by its numbers: every mode against each other, and against the same step written by hand."""

import copy
import json

import jax
import jax.numpy as jnp
import numpy as onp
import optax
import pytest

import gluonx
from gluonx import Trainer, autograd, engine, lr_scheduler, nn, np, optimizer
from gluonx import files as serialize
from gluonx.block.block import HybridBlock
from gluonx.block.parameter import Parameter
from gluonx.common import policy
from gluonx.deferred.run import flushing
from gluonx.errors import FormatError, GluonxError, StaleGradientError
from lib.derivatives import doubling

MODES = pytest.mark.parametrize("mode", ["plain", "hybrid", "naive"])
SIZES = (4, 2, 4, 3, 1)
RATES = (0.1, 0.1, 0.05, 0.2, 0.02)


@pytest.fixture(autouse=True)
def _quiet(monkeypatch):
    """Many programs from one line are what these tests are about."""
    monkeypatch.setattr(flushing, "_sites", {})


class Net(HybridBlock):
    """Two layers by hand, so that the reference can be written in two lines of jax.numpy."""

    def __init__(self, width=3):
        super().__init__()
        self.a = Parameter("a", shape=(2, width))
        self.b = Parameter("b", shape=(width,))
        self.c = Parameter("c", shape=(width, 1))

    def forward(self, x):
        return np.tanh(np.dot(x, self.a.data()) + self.b.data()) @ self.c.data()


def pure(w, x):
    return jnp.sum((jnp.tanh(x @ w["a"] + w["b"]) @ w["c"] - 1) ** 2)


def made(hybrid=False, width=3, dtype="float32", cls=Net):
    net = cls(width)
    net.initialize()
    rng = onp.random.RandomState(1)
    for p in net.collect_params().values():
        p.set_data(rng.uniform(-1, 1, p.shape))
    net.cast(dtype)
    if hybrid:
        net.hybridize()
    return net


def batch(step, dtype="float32"):
    return onp.random.RandomState(step).uniform(-1, 1, (SIZES[step % 5], 2)).astype(dtype)


def backward(net, step):
    with autograd.record():
        y = ((net(np.array(batch(step), dtype=net.a.dtype)) - 1) ** 2).sum()
    y.backward()


def run(net, trainer, steps=range(5), rates=RATES):
    for step in steps:
        if rates:
            trainer.set_learning_rate(rates[step % 5])
        backward(net, step)
        trainer.step(SIZES[step % 5])


def values(net):
    return {name: p.data().asnumpy() for name, p in net.collect_params().items()}


def close(a, b, rtol=2e-5, atol=1e-6):
    assert a.keys() == b.keys()
    for name in a:
        onp.testing.assert_allclose(a[name], b[name], rtol=rtol, atol=atol, err_msg=name)


def same(a, b):
    close(a, b, 0, 0)


def in_mode(mode):
    return engine.mode("naive" if mode == "naive" else "deferred")


# == update rules by hand ==============================================================================================


def by_hand(update, wd=0.0, steps=range(5), rates=RATES, start=None):
    """Weights after the steps by `update(w, g, state, t, lr) -> new w` in float64; `state` is a dict of one weight."""
    w = start or {k: v.astype("float64") for k, v in values(made()).items()}
    states = {name: {} for name in w}
    for t, step in enumerate(steps, 1):
        grads = jax.grad(pure)({k: jnp.asarray(v, jnp.float32) for k, v in w.items()}, batch(step))
        for name in w:
            g = onp.asarray(grads[name], "float64") / SIZES[step % 5]
            w[name] = update(w[name], g + wd * w[name], states[name], t, rates[step % 5])
    return w


def sgd(w, g, s, t, lr):
    return w - lr * g


def momentum(w, g, s, t, lr):
    s["m"] = 0.9 * s.get("m", 0) - lr * g
    return w + s["m"]


def nag(w, g, s, t, lr):
    s["m"] = 0.9 * s.get("m", 0) - lr * g
    return w - lr * g + 0.9 * s["m"]


def adam(w, g, s, t, lr):
    s["m"] = 0.9 * s.get("m", 0) + 0.1 * g
    s["v"] = 0.999 * s.get("v", 0) + 0.001 * g * g
    rate = lr * onp.sqrt(1 - 0.999**t) / (1 - 0.9**t)
    return w - rate * s["m"] / (onp.sqrt(s["v"]) + 1e-8)


def adamw(w, g, s, t, lr):
    s["m"] = 0.9 * s.get("m", 0) + 0.1 * g
    s["v"] = 0.999 * s.get("v", 0) + 0.001 * g * g
    rate = lr * onp.sqrt(1 - 0.999**t) / (1 - 0.9**t)  # MXNet corrects the decay's rate as well
    return w - rate * (s["m"] / (onp.sqrt(s["v"]) + 1e-6) + 0.1 * w)


def rmsprop(w, g, s, t, lr):
    s["v"] = 0.9 * s.get("v", 0) + 0.1 * g * g
    return w - lr * g / (onp.sqrt(s["v"]) + 1e-8)


def adagrad(w, g, s, t, lr):
    s["v"] = s.get("v", 0) + g * g
    return w - lr * g / (onp.sqrt(s["v"]) + 1e-6)


RULES = {
    "sgd": ("sgd", {}, sgd, 0.0),
    "weight decay": ("sgd", {"wd": 0.1}, sgd, 0.1),
    "momentum": ("sgd", {"momentum": 0.9, "wd": 0.1}, momentum, 0.1),
    "nag": ("nag", {"momentum": 0.9}, nag, 0.0),
    "adam": ("adam", {"wd": 0.1}, adam, 0.1),
    "adamw": ("adamw", {"wd": 0.1}, adamw, 0.0),
    "rmsprop": ("rmsprop", {}, rmsprop, 0.0),
    "adagrad": ("adagrad", {}, adagrad, 0.0),
}


@pytest.mark.dear
@MODES
@pytest.mark.parametrize("name", RULES)
def test_equals_the_step_by_hand(name, mode):
    kind, settings, update, wd = RULES[name]
    with in_mode(mode):
        net = made(mode == "hybrid")
        trainer = Trainer(net.collect_params(), kind, settings)
        run(net, trainer)
        close(values(net), by_hand(update, wd), rtol=1e-4, atol=1e-5)
        assert trainer.optimizer.num_update == 5 and trainer.learning_rate == RATES[4]


TRANSFORMS = {
    "adam": lambda: optax.adam(0.1),
    "chain": lambda: optax.chain(optax.clip_by_global_norm(0.1), optax.sgd(0.2, momentum=0.9)),
    "lamb": lambda: optax.lamb(0.05),
    "schedule": lambda: optax.sgd(optax.linear_schedule(0.2, 0.0, 5)),
}


@pytest.mark.dear
@MODES
@pytest.mark.parametrize("name", TRANSFORMS)
def test_equals_optax(name, mode):
    tx = TRANSFORMS[name]()
    with in_mode(mode):
        net = made(mode == "hybrid")
        w = {k: jnp.asarray(v) for k, v in values(net).items()}
        state = tx.init(w)
        for step in range(5):
            grads = jax.tree.map(lambda g, n=SIZES[step]: g / n, jax.grad(pure)(w, batch(step)))
            changes, state = tx.update(grads, state, w)
            w = optax.apply_updates(w, changes)
        trainer = Trainer(net.collect_params(), tx)
        run(net, trainer, rates=None)
        close(values(net), {k: onp.asarray(v) for k, v in w.items()}, rtol=1e-4, atol=1e-5)
        with pytest.raises(UserWarning, match="inside the optax transformation"):
            trainer.set_learning_rate(0.1)


class Signed(optimizer.Optimizer):
    """A user's optimizer of the imperative kind, with a state."""

    def create_state(self, index, weight):
        return np.zeros(weight.shape), {"steps": np.zeros(())}

    def step(self, indices, weights, grads, states):
        for i, w, g, (mean, count) in zip(indices, weights, grads, states, strict=True):
            self._update_count(i)  # which is a step's own to do, as in MXNet
            mean *= 0.5
            mean += g * self.rescale_grad
            count["steps"] += 1
            w -= self._get_lr(i) * np.sign(mean)


def signed(w, g, s, t, lr):
    s["m"] = 0.5 * s.get("m", 0) + g
    return w - lr * onp.sign(s["m"])


@pytest.mark.dear
@MODES
def test_an_imperative_optimizer(mode, tmp_path):
    with in_mode(mode):
        net = made(mode == "hybrid")
        trainer = Trainer(net.collect_params(), Signed(learning_rate=0.1))
        run(net, trainer)
        close(values(net), by_hand(signed), rtol=1e-4)
        trainer.save_states(tmp_path / "states")
        with pytest.raises(StaleGradientError, match="has not been renewed"):
            trainer.step(1)
        before = values(net)
        trainer.step(1, ignore_stale_grad=True)
        same(values(net), before)


class Kept(Signed):
    """Has a state of every kind that is saved."""

    def create_state(self, index, weight):
        return [np.zeros(weight.shape), None, (onp.zeros(2, "float64"), {"steps": 0, "name": "s"})]

    def step(self, indices, weights, grads, states):
        for i, w, g, state in zip(indices, weights, grads, states, strict=True):
            self._update_count(i)
            mean, _, (numbers, rest) = state
            state[0] = mean * 0.5 + g * self.rescale_grad
            rest["steps"] += 1
            numbers += 0.25
            w -= self._get_lr(i) * (np.sign(state[0]) + numbers[0] + rest["steps"])


def test_states_of_ones_own_making_are_saved(tmp_path):
    net, twin = made(), made()
    trainer = Trainer(net.collect_params(), Kept(learning_rate=0.1))
    run(net, trainer, [0, 1])
    trainer.save_states(tmp_path / "states")
    net.save_parameters(tmp_path / "params")
    twin.load_parameters(tmp_path / "params")
    other = Trainer(twin.collect_params(), Kept(learning_rate=0.3))
    other.load_states(tmp_path / "states")
    assert other.optimizer.num_update == 2 and other.learning_rate == 0.1
    run(net, trainer, [2]), run(twin, other, [2])
    same(values(net), values(twin))
    _, _, (numbers, rest) = other._updaters[0].states[0]
    assert numbers.dtype == onp.float64 and numbers.tolist() == [0.75, 0.75] and rest == {"steps": 3, "name": "s"}

    before = other._updaters[0].states
    with pytest.raises(FormatError, match="states of optimizer Kept, but this Trainer uses Signed"):
        Trainer(twin.collect_params(), Signed()).load_states(tmp_path / "states")
    with pytest.raises(FormatError, match="of other names or shapes"):
        wide = nn.Dense(7, in_units=2)
        wide.initialize()
        Trainer(wide.collect_params(), Kept()).load_states(tmp_path / "states")
    Trainer(twin.collect_params(), "sgd").save_states(tmp_path / "sgd")
    with pytest.raises(FormatError, match="states of optimizer SGD"):
        other.load_states(tmp_path / "sgd")
    assert other._updaters[0].states is before
    before[0][1] = object()
    with pytest.raises(ValueError, match="a state holds a object"):
        other.save_states(tmp_path / "more")
    assert not (tmp_path / "more").exists()


@pytest.mark.parametrize("at", [2, 3])
def test_an_imperative_optimizer_that_fails_in_the_middle(at):
    calls = []

    class Failing(Signed):
        def step(self, indices, *rest):
            calls.append(indices)
            super().step(indices, *rest)
            if len(calls) == 3 + at:
                raise ArithmeticError("no")

    net, twin = made(), made()
    trainer, other = Trainer(net.collect_params(), Failing()), Trainer(twin.collect_params(), Signed())
    run(net, trainer, [0]), run(twin, other, [0])
    before = values(net)
    backward(net, 1)
    with pytest.raises(ArithmeticError):
        trainer.step(2)
    same(values(net), before)
    assert trainer.optimizer.num_update == 1
    trainer.step(2)
    backward(twin, 1)
    other.step(2)
    same(values(net), values(twin))


def test_an_imperative_optimizer_before_there_are_values():
    net = nn.Dense(2)
    trainer = Trainer(net.collect_params(), Signed())
    with pytest.raises(gluonx.errors.UninitializedError, match="has no value yet"):
        trainer.step(1)
    net.initialize()
    with pytest.raises(gluonx.errors.DeferredInitializationError, match="'Dense' was never called in forward"):
        trainer.step(1)


# == rates, multipliers, schedulers ====================================================================================


@pytest.mark.dear
@MODES
def test_a_scheduler_decides_the_rate(mode):
    rates = [0.4, 0.2, 0.2, 0.1, 0.1]
    with in_mode(mode):
        net = made(mode == "hybrid")
        scheduler = lr_scheduler.MultiFactorScheduler([1, 3], factor=0.5, base_lr=0.4)
        trainer = Trainer(net.collect_params(), "sgd", {"learning_rate": None, "lr_scheduler": scheduler})
        seen = []
        for step in range(5):
            run(net, trainer, [step], rates=None)
            seen.append(trainer.learning_rate)
        assert seen == rates
        close(values(net), by_hand(sgd, rates=rates), rtol=1e-4)


@pytest.mark.dear
@MODES
def test_multipliers_that_change_in_the_middle(mode):
    with in_mode(mode):
        net = made(mode == "hybrid")
        trainer = Trainer(net.collect_params(), "sgd", {"wd": 0.1})
        w = {k: v.astype("float64") for k, v in values(net).items()}
        for step in range(5):
            net.a.lr_mult = (1, 1, 0.5, 0.5, 0)[step]
            net.b.wd_mult = (1, 0, 0, 3, 1)[step]
            run(net, trainer, [step])
            grads = jax.grad(pure)({k: jnp.asarray(v, jnp.float32) for k, v in w.items()}, batch(step))
            for name, p in net.collect_params().items():
                g = onp.asarray(grads[name]) / SIZES[step] + 0.1 * p.wd_mult * w[name]
                w[name] = w[name] - RATES[step] * p.lr_mult * g
        close(values(net), w, rtol=1e-4)


@pytest.mark.dear
def test_multipliers_compile_once_when_they_come_and_never_again():
    net = made()
    trainer = Trainer(net.collect_params(), "sgd", {"momentum": 0.9})
    for step in range(3):
        backward(net, 0)
        trainer.step(step + 1)
    net.a.lr_mult = 0.5
    backward(net, 0)
    trainer.step(1)
    engine.reset_stats()
    for mult in (0.2, 0.0, 1.0, 1.0):
        net.a.lr_mult = net.b.wd_mult = mult
        trainer.set_learning_rate(mult + 0.1)
        backward(net, 0)
        trainer.step(mult + 1)
    assert engine.stats()["programs_compiled"] == 0


# == which parameters take part ========================================================================================


@pytest.mark.dear
@MODES
def test_accumulated_gradients(mode):
    with in_mode(mode):
        net, twin = made(mode == "hybrid"), made()
        for p in net.collect_params().values():
            p.grad_req = "add"
        trainer = Trainer(net.collect_params(), "sgd", {"momentum": 0.9})
        other = Trainer(twin.collect_params(), "sgd", {"momentum": 0.9})
        for _ in range(3):
            for step in (0, 1, 2):
                backward(net, step)
            trainer.step(10)
            net.zero_grad()
            with autograd.record():
                y = sum(((twin(np.array(batch(step))) - 1) ** 2).sum() for step in (0, 1, 2))
            y.backward()
            other.step(10)
        close(values(net), values(twin), rtol=1e-4)


@pytest.mark.dear
@MODES
@pytest.mark.parametrize("name", ["momentum", "adam"])
def test_freezing_and_unfreezing(name, mode):
    """A frozen parameter stays; when it trains again it goes on with the states and counts that it had."""
    kind, settings, update, _ = RULES[name]
    settings = {**settings, "wd": 0.0}
    frozen_at = {2, 3}
    with in_mode(mode):
        net = made(mode == "hybrid")
        trainer = Trainer(net.collect_params(), kind, settings)
        w = {k: v.astype("float64") for k, v in values(net).items()}
        states, counts = {k: {} for k in w}, dict.fromkeys(w, 0)
        for step in range(6):
            net.a.grad_req = "null" if step in frozen_at else "write"
            held = net.a.data().asnumpy()
            run(net, trainer, [step])
            if step in frozen_at:
                onp.testing.assert_array_equal(net.a.data().asnumpy(), held)
            grads = jax.grad(pure)({k: jnp.asarray(v, jnp.float32) for k, v in w.items()}, batch(step))
            for k in w:
                if k == "a" and step in frozen_at:
                    continue
                counts[k] += 1
                g = onp.asarray(grads[k], "float64") / SIZES[step % 5]
                w[k] = update(w[k], g, states[k], counts[k], RATES[step % 5])
        close(values(net), w, rtol=1e-4, atol=1e-5)


@pytest.mark.dear
@pytest.mark.parametrize(
    "tx", [lambda: optax.adam(0.1), lambda: optimizer.Adam(learning_rate=0.1, multi_precision=True)],
    ids=["optax", "masters"],
)  # fmt: skip
def test_a_state_follows_its_parameter_when_another_is_frozen(tx):
    """The position of a parameter among those that train changes; its states must not get lost."""
    dtype = "float16" if isinstance(tx(), optimizer.Optimizer) else "float32"
    net = made(dtype=dtype)
    trainer = Trainer(net.collect_params(), tx())
    run(net, trainer, [0, 1], rates=None)
    before = trainer._states()
    net.a.grad_req = "null"
    trainer._plan_for_states()
    after = trainer._states()
    assert before.keys() == after.keys() and len(before) >= 6
    for name in before:
        onp.testing.assert_array_equal(before[name], after[name])
    run(net, trainer, [2], rates=None)


@pytest.mark.dear
@MODES
def test_frozen_from_the_start_and_trained_later(mode):
    with in_mode(mode):
        net, twin = made(mode == "hybrid"), made()
        net.a.grad_req = "null"
        trainer = Trainer(net.collect_params(), "sgd", {"momentum": 0.9})
        start = net.a.data().asnumpy()
        run(net, trainer, [0, 1])
        onp.testing.assert_array_equal(net.a.data().asnumpy(), start)
        net.a.grad_req = "write"
        for name, p in twin.collect_params().items():
            p.set_data(values(net)[name])
        run(net, trainer, [2])
        fresh = Trainer([twin.a], "sgd", {"momentum": 0.9})
        run(twin, fresh, [2])
        onp.testing.assert_allclose(net.a.data().asnumpy(), twin.a.data().asnumpy(), rtol=1e-5)


@pytest.mark.dear
@MODES
def test_stale_gradients_left_out(mode):
    with in_mode(mode):
        net = made(mode == "hybrid")
        trainer = Trainer(net.collect_params(), "adam", {"learning_rate": 0.1})
        run(net, trainer, [0, 1])

        def only_c():
            with autograd.record():
                y = (net.c.data() ** 2).sum()
            y.backward()

        only_c()
        before, states = values(net), trainer._states()
        with pytest.raises(StaleGradientError, match=r"gradient of parameter 'Net\.a'"):
            trainer.step(1)
        same(values(net), before)
        trainer.step(1, ignore_stale_grad=True)
        after, now = values(net), trainer._states()
        for name, value in after.items():
            assert onp.array_equal(value, before[name]) == (name != "c")
        for name, value in now.items():
            assert onp.array_equal(value, states[name]) == (not name.startswith("c/")), name
        counts = dict(zip(trainer._names, [trainer.optimizer._index_update_count[i] for i in range(3)], strict=True))
        assert counts == {"a": 2, "b": 2, "c": 3}
        trainer.step(1, ignore_stale_grad=True)  # nothing is fresh: nothing happens
        same(values(net), after)
        # Then all together again, as if by hand.
        mean, var = now["c/mean"].astype("float64"), now["c/var"].astype("float64")
        run(net, trainer, [2])
        g = onp.asarray(jax.grad(pure)({k: jnp.asarray(v) for k, v in after.items()}, batch(2))["c"]) / SIZES[2]
        mean, var = 0.9 * mean + 0.1 * g, 0.999 * var + 0.001 * g * g
        rate = RATES[2] * onp.sqrt(1 - 0.999**4) / (1 - 0.9**4)
        onp.testing.assert_allclose(
            net.c.data().asnumpy(), after["c"] - rate * mean / (onp.sqrt(var) + 1e-8), rtol=1e-4, atol=1e-6
        )


@pytest.mark.dear
@MODES
def test_shared_parameters_are_updated_once(mode):
    class Tied(HybridBlock):
        def __init__(self):
            super().__init__()
            self.one = nn.Dense(3, in_units=3, use_bias=False)
            self.two = nn.Dense(3, in_units=3, use_bias=False)
            self.two.share_parameters(self.one.collect_params())

        def forward(self, x):
            return self.two(np.tanh(self.one(x)))

    with in_mode(mode):
        net = Tied()
        net.initialize()
        start = onp.random.RandomState(0).rand(3, 3).astype("float32")
        net.one.weight.set_data(start)
        net.hybridize(mode == "hybrid")
        trainer = Trainer(net.collect_params(), "sgd", {"learning_rate": 0.5})
        assert repr(trainer).startswith("Trainer(1 parameters")
        x = onp.random.RandomState(1).rand(4, 3).astype("float32")
        w = jnp.asarray(start)
        for _ in range(3):
            with autograd.record():
                y = (net(np.array(x)) ** 2).mean()
            y.backward()
            trainer.step(1)
            w = w - 0.5 * jax.grad(lambda w: jnp.mean((jnp.tanh(x @ w.T) @ w.T) ** 2))(w)
        onp.testing.assert_allclose(net.one.weight.data().asnumpy(), w, rtol=1e-5)


@MODES
def test_two_trainers_on_one_net(mode):
    with in_mode(mode):
        net = made(mode == "hybrid")
        first = Trainer({"a": net.a, "b": net.b}, "sgd", {"learning_rate": 0.1})
        second = Trainer([net.c], "sgd", {"learning_rate": 0.3, "momentum": 0.9})
        w = {k: v.astype("float64") for k, v in values(net).items()}
        m = 0
        for step in range(3):
            backward(net, step)
            first.step(SIZES[step])
            second.step(SIZES[step])
            grads = jax.grad(pure)({k: jnp.asarray(v, jnp.float32) for k, v in w.items()}, batch(step))
            g = {k: onp.asarray(v) / SIZES[step] for k, v in grads.items()}
            m = 0.9 * m - 0.3 * g["c"]
            w = {"a": w["a"] - 0.1 * g["a"], "b": w["b"] - 0.1 * g["b"], "c": w["c"] + m}
        close(values(net), w, rtol=1e-4)


# == how a Trainer is made =============================================================================================


@pytest.mark.dear
def test_parameters_as_dict_list_or_tuple():
    results = []
    for given in (lambda p: p, lambda p: list(p.values()), lambda p: tuple(p.values()), lambda p: [*p.values()] * 2):
        net = made()
        run(net, Trainer(given(net.collect_params()), "adam"))
        results.append(values(net))
    for result in results[1:]:
        same(result, results[0])


def test_parameters_of_one_name_keep_their_own_states(tmp_path):
    nets = [nn.Dense(2, in_units=2, use_bias=False) for _ in range(2)]
    for net in nets:
        net.initialize()
    trainer = Trainer([net.weight for net in nets], "sgd", {"momentum": 0.9})
    with autograd.record():
        y = (nets[0](np.ones((1, 2))) + 3 * nets[1](np.ones((1, 2)))).sum()
    y.backward()
    trainer.step(1)
    states = trainer._states()
    assert len(states) == 2 and not onp.array_equal(*states.values())
    trainer.save_states(tmp_path / "s")
    trainer.load_states(tmp_path / "s")
    same(trainer._states(), states)


@pytest.mark.parametrize(
    ("params", "words"),
    [
        (3, "params must be a dict or list of Parameter, such as net.collect_params(), got int"),
        ("weights", "got str"),
        ([3], "params must hold Parameters, but '0' is a int"),
        ({"w": np.ones((2,))}, "params must hold Parameters, but 'w' is a ndarray"),
    ],
    ids=["int", "str", "list", "dict"],
)
def test_bad_parameters(params, words):
    with pytest.raises(ValueError) as caught:
        Trainer(params, "sgd")
    assert words in str(caught.value)


def test_bad_optimizers():
    net = made()
    with pytest.raises(ValueError, match="No optimizer is called 'sgdx'; there are adabelief"):
        Trainer(net.collect_params(), "sgdx")
    with pytest.raises(TypeError, match="SGD got an unexpected keyword argument 'lr'"):
        Trainer(net.collect_params(), "sgd", {"lr": 1})
    with pytest.raises(TypeError, match="this is a int"):
        Trainer(net.collect_params(), 3)
    with pytest.raises(ValueError, match="optimizer_params must be None"):
        Trainer(net.collect_params(), optimizer.SGD(), {"momentum": 0.9})
    for empty in ({}, []):
        with pytest.raises(ValueError, match="has no parameter to train: it was given none"):
            Trainer(empty, "sgd").step(1)


@pytest.mark.dear
@pytest.mark.parametrize("hybrid", [False, True])
def test_a_trainer_made_before_the_shapes_are_known(hybrid):
    net = nn.HybridSequential()
    net.add(nn.Dense(3), nn.BatchNorm(), nn.Dense(1))
    trainer = Trainer(net.collect_params(), "sgd", {"learning_rate": 0.1, "momentum": 0.9})
    net.initialize(gluonx.init.Constant(0.3))
    net.hybridize(hybrid)
    known = nn.HybridSequential()
    known.add(nn.Dense(3, in_units=2), nn.BatchNorm(in_channels=3), nn.Dense(1, in_units=3))
    known.initialize(gluonx.init.Constant(0.3))
    other = Trainer(known.collect_params(), "sgd", {"learning_rate": 0.1, "momentum": 0.9})
    for n, t in ((net, trainer), (known, other)):
        for step in (0, 2, 3):
            with autograd.record():
                y = (n(np.array(batch(step))) ** 2).sum()
            y.backward()
            t.step(4)
    close(values(net), values(known))


@pytest.mark.parametrize("hybrid", [False, True])
def test_a_deepcopy_trains_alone(hybrid):
    net = made(hybrid)
    trainer = Trainer(net.collect_params(), "adam", {"learning_rate": 0.1})
    run(net, trainer, [0, 1])
    twin = copy.deepcopy(net)
    same(values(twin), values(net))
    before = values(net)
    other = Trainer(twin.collect_params(), "adam", {"learning_rate": 0.1})
    run(twin, other, [2, 3])
    same(values(net), before)
    ended = values(twin)
    run(net, trainer, [2])
    same(values(twin), ended)


# == files =============================================================================================================


@pytest.mark.dear
@pytest.mark.parametrize("kind", ["momentum", "adam", "optax", "scheduled"])
@pytest.mark.parametrize("grouped", [True, False], ids=["same groups", "other groups"])
def test_states_saved_and_loaded_continue_bit_for_bit(kind, grouped, tmp_path, monkeypatch):
    def trainer_of(net):
        if kind == "optax":
            return Trainer(net.collect_params(), optax.adam(0.1))
        if kind == "scheduled":
            scheduler = lr_scheduler.FactorScheduler(2, 0.5, base_lr=0.2)
            return Trainer(net.collect_params(), "adam", {"learning_rate": None, "lr_scheduler": scheduler})
        return Trainer(net.collect_params(), *RULES[kind][:2])

    rates = None if kind in ("optax", "scheduled") else RATES
    net = made()
    trainer = trainer_of(net)
    run(net, trainer, [0, 1, 2], rates)
    net.save_parameters(tmp_path / "net")
    trainer.save_states(tmp_path / "states")
    run(net, trainer, [3, 4], rates)

    if not grouped:
        monkeypatch.setattr(policy, "PACKED", 3)
    twin = made()
    twin.load_parameters(tmp_path / "net")
    other = trainer_of(twin)
    other.load_states(tmp_path / "states")
    assert other.optimizer.num_update == 3
    run(twin, other, [3, 4], rates)
    if grouped:
        same(values(twin), values(net))
        same(other._states(), trainer._states())
    else:  # another program may round otherwise
        close(values(twin), values(net), rtol=1e-6)


@pytest.mark.dear
def test_states_of_frozen_parameters_are_saved_too(tmp_path):
    net = made()
    trainer = Trainer(net.collect_params(), "adam")
    run(net, trainer, [0])
    net.a.grad_req = "null"
    run(net, trainer, [1])
    trainer.save_states(tmp_path / "states")
    net.a.grad_req = "write"
    before = trainer._states()
    assert before["a/mean"].any()
    twin = made()
    twin.a.grad_req = "null"
    other = Trainer(twin.collect_params(), "adam")
    other.load_states(tmp_path / "states")
    twin.a.grad_req = "write"
    same(other._states(), before)
    with pytest.raises(FormatError, match="missing or of another shape"):
        Trainer({"a": net.a, "other": net.b}, "adam").load_states(tmp_path / "states")


def test_the_file_of_states_is_plain_arrays(tmp_path):
    net = made()
    trainer = Trainer(net.collect_params(), "sgd", {"momentum": 0.9, "learning_rate": 0.25})
    run(net, trainer, [0], None)
    trainer.save_states(tmp_path / "states")
    arrays = serialize.load_arrays(tmp_path / "states")
    meta = json.loads(bytes(arrays.pop("__meta__")))
    assert meta == {
        "format": "gluonx-trainer-1",
        "optimizer": "SGD",
        "num_update": 1,
        "counts": {"a": 1, "b": 1, "c": 1},
        "learning_rate": 0.25,
        "names": ["a", "b", "c"],
    }
    assert {k: v.shape for k, v in arrays.items()} == {
        "a/momentum": (2, 3),
        "b/momentum": (3,),
        "c/momentum": (3, 1),
    }


# == precision, size, packing ==========================================================================================


@MODES
@pytest.mark.parametrize("kind", ["sgd", "adam"])
def test_master_weights_of_float16(kind, mode):
    settings = {"learning_rate": 1e-4, "multi_precision": True}
    with in_mode(mode):
        net = made(mode == "hybrid", dtype="float16")
        start = values(net)
        trainer = Trainer(net.collect_params(), kind, settings)
        for _ in range(8):
            backward(net, 0)
            trainer.step(400 if kind == "sgd" else 4)
        states = {k.split("/")[0]: v for k, v in trainer._states().items() if "master" in k}
        for name, value in values(net).items():
            assert value.dtype == onp.float16 and states[name].dtype == onp.float32
            onp.testing.assert_array_equal(value, states[name].astype("float16"))
            assert not onp.array_equal(states[name], start[name].astype("float32")), "small changes are kept"


class Mixed(HybridBlock):
    """Parameters on both sides of the limits of packing, several small ones of a kind."""

    def __init__(self, width=3):
        super().__init__()
        self.big = Parameter("big", shape=(2, 9000))
        self.small = Parameter("small", shape=(3,))
        self.tiny = Parameter("tiny", shape=(1,))
        self.more = Parameter("more", shape=(3, 1))
        self.wide = Parameter("wide", shape=(9000, 2))

    def forward(self, x):
        h = np.tanh((x @ self.big.data()) @ self.wide.data()) * 0.1
        return (h + self.small.data().sum() * self.tiny.data()) * self.more.data().sum()


def train_mixed(mode, optimizer="adam", **settings):
    with in_mode(mode):
        net = made(mode == "hybrid", cls=Mixed)
        trainer = Trainer(net.collect_params(), optimizer, {"learning_rate": 0.01}, **settings)
        grads = []
        for step in range(3):
            with autograd.record():
                y = (net(np.array(batch(step))) ** 2).sum()
            y.backward()
            trainer.step(SIZES[step])
            if settings.get("keep_grads", True):
                grads.append({n: p.grad().asnumpy() for n, p in net.collect_params().items()})
        return net, trainer, grads


@pytest.mark.dear
def test_big_next_to_small_parameters():
    assert policy.PACKED < 9000 * 2
    naive, _, reference = train_mixed("naive")
    for mode in ("plain", "hybrid"):
        net, trainer, grads = train_mixed(mode)
        close(values(net), values(naive), rtol=1e-3, atol=1e-5)
        for ours, theirs in zip(grads, reference, strict=True):
            for name in ours:
                scale = float(abs(theirs[name]).max())
                onp.testing.assert_allclose(ours[name], theirs[name], rtol=1e-3, atol=1e-4 * scale, err_msg=name)
        kinds = [len(key) if type(key) is tuple else 1 for key in trainer._held.keys]
        assert sorted(kinds) == [1, 1, 1, 1, 3, 3]  # two big weights alone, three small together; mean and var


@pytest.mark.dear
def test_gradients_held_across_steps():
    net, twin = made(), made()
    trainer, other = (Trainer(n.collect_params(), "sgd", {"learning_rate": 0.1}) for n in (net, twin))
    handles = {n: p.grad() for n, p in net.collect_params().items()}
    with engine.mode("naive"):
        expected = []
        for step in range(4):
            backward(twin, step)
            expected.append({n: p.grad().asnumpy() for n, p in twin.collect_params().items()})
            other.step(SIZES[step])
    kept, copies = [], []
    for step in range(4):
        backward(net, step)
        copies.append({n: g.copy() for n, g in handles.items()} if step == 2 else None)
        trainer.step(SIZES[step])
        kept.append({n: g.copy() for n, g in handles.items()})  # detach() would share, as in MXNet
        for name, p in net.collect_params().items():
            assert p.grad() is handles[name]
            onp.testing.assert_allclose(handles[name].asnumpy(), expected[step][name], rtol=1e-4, atol=1e-6)
    for step, grads in enumerate(kept):  # what a user keeps of a step is not overwritten by later ones
        for name, g in grads.items():
            onp.testing.assert_allclose(g.asnumpy(), expected[step][name], rtol=1e-4, atol=1e-6)
    for name, g in copies[2].items():
        onp.testing.assert_allclose(g.asnumpy(), expected[2][name], rtol=1e-4, atol=1e-6)


def big_step(net, trainer, scale=1.0):
    with autograd.record():
        y = (net(np.ones((2, 150))) ** 2).sum() * scale
    y.backward()
    trainer.step(2)


def big_net():
    net = nn.Dense(150, in_units=150)
    net.initialize()
    net.hybridize()
    assert net.weight.data().size > policy.PACKED
    return net, Trainer(net.collect_params(), "sgd", {"learning_rate": 1e-4})


def address(parameter):
    return parameter.grad()._read().unsafe_buffer_pointer()


def test_a_large_gradient_is_written_where_the_old_one_was():
    net, trainer = big_net()
    big_step(net, trainer)
    place = address(net.weight)
    engine.reset_stats()
    for _ in range(3):
        big_step(net, trainer)
    assert address(net.weight) == place
    assert engine.stats()["programs_compiled"] == 0


@pytest.mark.parametrize("hold", [lambda g: g.copy(), lambda g: g._read(), lambda g: g.asnumpy(), onp.from_dlpack])
def test_a_large_gradient_that_is_held_stays_as_it_is(hold):
    net, trainer = big_net()
    big_step(net, trainer)
    held = hold(net.weight.grad())
    before = onp.array(held)
    engine.reset_stats()
    for _ in range(2):
        big_step(net, trainer, 5.0)
    onp.testing.assert_array_equal(onp.array(held), before)
    assert abs(net.weight.grad().asnumpy() - before).max() > 0
    assert engine.stats()["programs_compiled"] == 0


@pytest.mark.dear
def test_two_backwards_before_a_step_keep_the_place_too():
    net, trainer = big_net()
    big_step(net, trainer)
    place = address(net.weight)
    with autograd.record():
        first, second = net(np.ones((2, 150))).sum(), (net(np.zeros((2, 150))) ** 2).sum()
    first.backward()
    second.backward()
    trainer.step(1)
    assert address(net.weight) == place and abs(net.weight.grad().asnumpy()).max() == 0


@pytest.mark.dear
def test_weight_decay_may_begin_in_the_middle():
    net, trainer = big_net()
    twin, other = big_net()
    twin.weight.set_data(net.weight.data())
    with engine.mode("naive"):
        for step in range(4):
            other.optimizer.wd = 0.1 * (step // 2)
            big_step(twin, other)
    engine.reset_stats()
    for step in range(4):
        trainer.optimizer.wd = 0.1 * (step // 2)
        big_step(net, trainer)
    assert engine.stats()["programs_compiled"] <= 2
    onp.testing.assert_allclose(net.weight.data().asnumpy(), twin.weight.data().asnumpy(), rtol=1e-5, atol=1e-7)


@pytest.mark.dear
def test_unread_gradients_of_an_old_step_are_those_of_the_last():
    net = made()
    trainer = Trainer(net.collect_params(), "sgd", {"learning_rate": 0.1})
    run(net, trainer, range(3), None)
    before_last = values(net)
    run(net, trainer, [3], None)
    expected = jax.grad(pure)({k: jnp.asarray(v) for k, v in before_last.items()}, batch(3))
    for name, p in net.collect_params().items():
        onp.testing.assert_allclose(p.grad().asnumpy(), expected[name], rtol=1e-4, atol=1e-6)


@pytest.mark.dear
@pytest.mark.parametrize("mode", ["plain", "hybrid"])
@pytest.mark.parametrize("optimizer", ["sgd", "adam"])
def test_gradients_given_up(optimizer, mode):
    net, trainer, _ = train_mixed(mode, optimizer, keep_grads=False)
    other, _, _ = train_mixed(mode, optimizer)
    close(values(net), values(other))
    for p in net.collect_params().values():
        with pytest.raises(GluonxError, match=r"given up when the step ended, because .* keep_grads=False"):
            p.grad().asnumpy()
    for _ in range(2):
        with autograd.record():
            y = (net(np.array(batch(0))) ** 2).sum()
        y.backward()
        assert net.tiny.grad().asnumpy().shape == (1,)  # there between backward and step
        trainer.step(4)
    net.zero_grad()
    assert net.tiny.grad().tolist() == [0.0]


@pytest.mark.dear
def test_gradients_given_up_and_accumulated():
    net = made()
    for p in net.collect_params().values():
        p.grad_req = "add"
    trainer = Trainer(net.collect_params(), "sgd", {"learning_rate": 0.1}, keep_grads=False)
    for _ in range(3):
        backward(net, 0)
        backward(net, 1)
        trainer.step(6)
        net.zero_grad()
    assert onp.isfinite(net.a.data().asnumpy()).all()


def test_held_weights_are_copied_and_counted():
    net, twin = made(width=3000), made(width=3000)  # small weights are held in a vector, see test_vectors.py
    trainer, other = (Trainer(n.collect_params(), "sgd", {"learning_rate": 0.1}) for n in (net, twin))
    run(net, trainer, [0], None), run(twin, other, [0], None)
    raw, before = jnp.asarray(net.a.data()), net.a.data().asnumpy().copy()
    engine.reset_stats()
    run(net, trainer, [0], None)
    assert engine.stats()["copies"] == 1 and engine.stats()["programs_compiled"] == 0
    onp.testing.assert_array_equal(onp.asarray(raw), before)
    run(net, trainer, [0], None)
    assert engine.stats()["copies"] == 1, "the new buffer is the net's own"
    run(twin, other, [0, 0], None)
    same(values(net), values(twin))


_by_global = None


def _through_global(x):
    return _by_global(x)


@pytest.mark.parametrize("scope", ["cell", "global", "global of a function that it calls"])
def test_a_closure_by_another_function_is_another_step(scope, monkeypatch):
    """The functions that a closure calls tell its steps apart, wherever it finds them."""
    net = nn.Dense(1, use_bias=False, in_units=1)
    net.initialize("zeros")
    trainer = Trainer(net.collect_params(), "sgd", {"learning_rate": 1.0})
    x = np.ones((1, 1))
    cell = None

    def by_cell():
        return cell(net(x)).sum()

    def by_global():
        return _by_global(net(x)).sum()

    def by_function():
        return _through_global(net(x)).sum()

    closure = {"cell": by_cell, "global": by_global}.get(scope, by_function)
    weights = [0.0]
    for slope in (3.0, 5.0):
        cell = doubling(slope)
        monkeypatch.setitem(globals(), "_by_global", cell)
        trainer.step(1, closure=closure)
        weights.append(net.weight.data().item())
    assert weights == [0.0, -3.0, -8.0]


_calls, _batches, _losses = 0, [], []


@pytest.mark.dear
@pytest.mark.parametrize("optimizer", ["sgd", optax.lbfgs()])
def test_a_closure_may_name_what_changes_at_every_step(optimizer):
    """Numbers, lists and cells beside what it computes compile nothing, although relu's derivative is by hand."""
    net = nn.HybridSequential()
    net.add(nn.Dense(3, activation="relu"), nn.Dropout(0.5), nn.Dense(1))
    net.initialize()
    trainer = Trainer(net.collect_params(), optimizer)
    batches = [np.ones((2, 4)), np.zeros((2, 4))]
    net(batches[0])
    count = 0

    def closure():
        global _calls
        nonlocal count
        count, _calls = count + 1, _calls + 1
        _losses.append(_calls)
        return net(_batches[0]).sum() + batches[1].sum()

    compiled = []
    for x in (*batches, *batches, *batches):
        _batches[:] = [x]
        trainer.step(1, closure=closure)
        compiled.append(engine.stats()["programs_compiled"])
    assert compiled[1] == compiled[-1], compiled
    assert _losses[-1] == _calls >= count > 6


def test_a_state_is_free_to_follow_its_weight():
    """An array that is on the default device by default is not pinned to it by a step."""
    net = made()
    trainer = Trainer(net.collect_params(), "adam")
    run(net, trainer, [0], None)
    assert not net.a.data()._read().committed
    assert not any(s._read().committed for s in trainer._held.arrays)


@pytest.mark.dear
def test_a_net_on_another_device():
    net, twin = made(), made()
    net.reset_device(gluonx.cpu(1))
    results = []
    for n, device in ((net, gluonx.cpu(1)), (twin, gluonx.cpu(0))):
        trainer = Trainer(n.collect_params(), "adam", {"learning_rate": 0.1})
        for step in (0, 2):
            with autograd.record():
                y = ((n(np.array(batch(step), device=device)) - 1) ** 2).sum()
            y.backward()
            trainer.step(4)
        assert {p.data().device for p in n.collect_params().values()} == {device}
        results.append(values(n))
    close(*results)
