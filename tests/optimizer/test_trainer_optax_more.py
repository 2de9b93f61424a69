"""Transformations of optax that need more than gradients, against optax by itself; their states and hyperparameters."""

import contextlib

import jax
import jax.numpy as jnp
import numpy as onp
import optax
import optax.contrib
import pytest

import gluonx
from gluonx import autograd, engine, nn, np
from gluonx.errors import ArgumentError, ShapeError

X = onp.random.RandomState(0).rand(8, 3).astype("float32")


def normalized(rate):
    return optax.chain(optax.contrib.normalize(), optax.sgd(rate))


def sam(**settings):
    return optax.contrib.sam(optax.sgd(0.1), normalized(0.05), sync_period=2, **settings)


BY_GRADIENTS = {
    "acprop": lambda: optax.contrib.acprop(0.01),
    "ademamix": lambda: optax.contrib.ademamix(0.01),
    "adopt": lambda: optax.contrib.adopt(0.01),
    "cocob": optax.contrib.cocob,
    "dadapt_adamw": lambda: optax.contrib.dadapt_adamw(1.0),
    "dog": lambda: optax.contrib.dog(1.0),
    "madgrad": lambda: optax.contrib.madgrad(0.01),
    "mechanize": lambda: optax.contrib.mechanize(optax.sgd(0.1)),
    "muon": lambda: optax.contrib.muon(0.01),
    "prodigy": optax.contrib.prodigy,
    "sam": sam,
    "schedule_free": lambda: optax.contrib.schedule_free_sgd(0.1, warmup_steps=2),
    "schedule": lambda: optax.sgd(optax.warmup_cosine_decay_schedule(0.0, 0.3, 2, 6), momentum=0.9),
    "MultiSteps of masked": lambda: optax.MultiSteps(optax.masked(optax.adam(0.1), (True, False)), 2),
    "optimistic": lambda: optax.optimistic_gradient_descent(0.1),
}
BY_VALUE = {
    "reduce_on_plateau": lambda: optax.chain(
        optax.sgd(0.05), optax.contrib.reduce_on_plateau(0.5, patience=1, rtol=0.9)
    ),
    "momo": optax.contrib.momo,
    "momo_adam": optax.contrib.momo_adam,
    "polyak_sgd": optax.polyak_sgd,
}
BY_CLOSURE = {
    **BY_VALUE,
    "sam": sam,
    "opaque sam": lambda: sam(opaque_mode=True),
    "sophia": lambda: optax.contrib.sophia(0.05, update_interval=2),
    "lbfgs": optax.lbfgs,
    "backtracking": lambda: optax.chain(optax.sgd(1.0), optax.scale_by_backtracking_linesearch(10)),
}


def make():
    gluonx.random.seed(1)
    net = nn.Dense(2, in_units=3)
    net.initialize(gluonx.init.Normal(0.5))
    net.bias.set_data(np.array([0.3, -0.2]))
    return net


def loss_of(weights):
    bias, weight = weights
    return ((X @ weight.T + bias - 1) ** 2).sum() / 8


def by_optax(tx, net, steps, **given):
    weights = tuple(jnp.asarray(p.data().asnumpy()) for _, p in sorted(net.collect_params().items()))
    state = tx.init(weights)

    @jax.jit
    def step(weights, state):
        value, grads = jax.value_and_grad(loss_of)(weights)
        values = {
            "value": value, "grad": grads, "value_fn": loss_of, "obj_fn": loss_of,
            "grad_fn": lambda moving, _: jax.grad(loss_of)(moving),
        }  # fmt: skip
        extra = {name: values[name] for name in given.get("names", ())}
        updates, state = optax.with_extra_args_support(tx).update(grads, state, weights, **extra)
        return optax.apply_updates(weights, updates), state

    for _ in range(steps):
        weights, state = step(weights, state)
    return weights, state


def compare(net, weights):
    for (_, p), weight in zip(sorted(net.collect_params().items()), weights, strict=True):
        onp.testing.assert_allclose(p.data().asnumpy(), weight, rtol=5e-4, atol=5e-5)


def recorded(net):
    with autograd.record():
        loss = (net(np.array(X)) - 1) ** 2
    loss.backward()
    return loss


@pytest.mark.dear
@pytest.mark.parametrize("name", BY_GRADIENTS)
def test_by_gradients(name):
    net = make()
    weights, _ = by_optax(BY_GRADIENTS[name](), net, 6)
    trainer = gluonx.Trainer(net.collect_params(), BY_GRADIENTS[name]())
    for _ in range(6):
        recorded(net)
        trainer.step(8)
    compare(net, weights)


@pytest.mark.parametrize("name", BY_VALUE)
def test_by_the_value_of_the_loss_in_one_program(name):
    net = make()
    weights, _ = by_optax(BY_VALUE[name](), net, 6, names=("value",))
    trainer = gluonx.Trainer(net.collect_params(), BY_VALUE[name]())
    for k in range(6):
        engine.reset_stats()
        loss = recorded(net)
        trainer.step(8, value=loss)
        stats = engine.stats()
        assert stats["dispatches"] <= 1 or k < 2
        assert stats["programs_compiled"] == 0 or k < 3
    compare(net, weights)


NAMES = {"opaque sam": ("grad_fn",), "sam": (), "sophia": ("obj_fn",), **dict.fromkeys(BY_VALUE, ("value",))}


@pytest.mark.dear
@pytest.mark.filterwarnings("ignore:the line")  # of which many programs were compiled: for each optimizer its own
@pytest.mark.parametrize("name", BY_CLOSURE)
def test_by_a_closure(name):
    net = make()
    weights, _ = by_optax(BY_CLOSURE[name](), net, 4, names=NAMES.get(name, ("value", "grad", "value_fn")))
    trainer = gluonx.Trainer(net.collect_params(), BY_CLOSURE[name]())
    x = np.array(X)
    for k in range(4):
        engine.reset_stats()
        trainer.step(8, closure=lambda: (net(x) - 1) ** 2)
        assert engine.stats()["programs_compiled"] == 0 or k < 2
    compare(net, weights)


@pytest.mark.dear
def test_a_number_is_a_value_too_and_others_do_not_look():
    found = []
    for value in (None, 2.0):
        net = make()
        trainer = gluonx.Trainer(net.collect_params(), "adam")
        recorded(net)
        trainer.step(8, value=value)
        found.append(net.bias.data().asnumpy())
    onp.testing.assert_array_equal(*found)
    found = []
    for given in (lambda loss: loss, lambda loss: float(loss.sum())):
        net = make()
        trainer = gluonx.Trainer(net.collect_params(), BY_VALUE["polyak_sgd"]())
        trainer.step(8, value=given(recorded(net)))
        found.append(net.bias.data().asnumpy())
    onp.testing.assert_allclose(*found, rtol=1e-6)


@pytest.mark.dear
def test_what_is_missing_is_said():
    for name, wanted in {"polyak_sgd": "value", "lbfgs": "value", "opaque sam": "grad_fn", "sophia": "obj_fn"}.items():
        net = make()
        before = net.weight.data().asnumpy()
        trainer = gluonx.Trainer(net.collect_params(), BY_CLOSURE[name]())
        recorded(net)
        with pytest.raises(ArgumentError, match=f"needs '{wanted}'.*closure=lambda"):
            trainer.step(8)
        onp.testing.assert_array_equal(net.weight.data().asnumpy(), before)
    net = make()
    recorded(net)
    with pytest.raises(ArgumentError, match=r"pairs of parameters.*docs/optax\.md"):
        gluonx.Trainer(net.collect_params(), optax.lookahead(optax.sgd(0.1), 5, 0.5)).step(8)
    with pytest.raises(ArgumentError, match="a closure or a value"):
        gluonx.Trainer(net.collect_params(), "sgd").step(8, closure=lambda: net(np.array(X)), value=1.0)

    class ByHand(gluonx.optimizer.Optimizer):
        def create_state(self, index, weight):
            return None

        def step(self, indices, weights, grads, states):
            pass

    with pytest.raises(ArgumentError, match="written by hand"):
        gluonx.Trainer(net.collect_params(), ByHand()).step(8, value=1.0)


@pytest.mark.dear
@pytest.mark.parametrize("name", ["schedule_free", "inject"])
def test_the_state_is_that_of_optax(name):
    net = make()
    tx = {
        "schedule_free": lambda: optax.contrib.schedule_free_adamw(0.1),
        "inject": lambda: optax.chain(
            optax.clip(1.0),
            optax.inject_hyperparams(optax.adam)(0.1),
            optax.add_noise(0.0, 0.5, key=jax.random.key(3)),
        ),
    }[name]()
    weights, wanted = by_optax(tx, net, 3)
    trainer = gluonx.Trainer(net.collect_params(), tx)
    for _ in range(3):
        recorded(net)
        trainer.step(8)
    state, params = trainer.as_optax()
    assert jax.tree.structure(state) == jax.tree.structure(wanted)
    for mine, theirs in zip(jax.tree.leaves(state), jax.tree.leaves(wanted), strict=True):
        if jnp.issubdtype(mine.dtype, jax.dtypes.prng_key):
            mine, theirs = jax.random.key_data(mine), jax.random.key_data(theirs)
        onp.testing.assert_allclose(mine, theirs, rtol=1e-4, atol=1e-6)
    for mine, theirs in zip(params, weights, strict=True):
        onp.testing.assert_allclose(mine, theirs, rtol=1e-4, atol=1e-6)
    if name == "inject":
        return
    averaged = optax.contrib.schedule_free_eval_params(state, params)
    before = net(np.array(X)).asnumpy()
    with trainer.using(averaged):
        y = net(np.array(X)).asnumpy()
    onp.testing.assert_allclose(y, X @ averaged[1].T + averaged[0], rtol=1e-5, atol=1e-6)
    assert (y != before).any()
    onp.testing.assert_array_equal(net(np.array(X)).asnumpy(), before)
    with pytest.raises(ShapeError, match="using"), trainer.using(averaged[:1]):
        pass
    with pytest.raises(RuntimeError, match="mine"), trainer.using(averaged):
        raise RuntimeError("mine")
    onp.testing.assert_array_equal(net(np.array(X)).asnumpy(), before)
    recorded(net)
    trainer.step(8)  # what as_optax and using gave out plays no part
    assert not any(p.is_deleted() for p in params)


def test_injected_hyperparameters_are_set_and_nothing_compiles():
    net = make()
    tx = optax.chain(optax.clip(1.0), optax.inject_hyperparams(optax.sgd)(learning_rate=0.5, momentum=0.9))
    trainer = gluonx.Trainer(net.collect_params(), tx)
    for _ in range(3):
        recorded(net)
        trainer.step(8)
    assert trainer.hyperparams() == pytest.approx({"learning_rate": 0.5, "momentum": 0.9})
    trainer.set_hyperparams(learning_rate=0.0, momentum=0.0)
    before = net.weight.data().asnumpy()
    engine.reset_stats()
    recorded(net)
    trainer.step(8)
    assert engine.stats()["programs_compiled"] == 0
    onp.testing.assert_array_equal(net.weight.data().asnumpy(), before)
    with pytest.raises(
        ArgumentError, match=r"no injected hyperparameters \['rate'\], but \['learning_rate', 'momentum'\]"
    ):
        trainer.set_hyperparams(rate=1.0)
    plain = gluonx.Trainer(net.collect_params(), "sgd")
    assert plain.hyperparams() == {}


def asking(look):
    """Return a transformation whose `update` calls `look` with the further arguments that it gets."""

    def update(updates, state, params=None, **extra):
        look(extra)
        return updates, state

    return optax.GradientTransformationExtraArgs(lambda params: optax.EmptyState(), update)


def test_only_what_is_used_is_asked_for():
    def fail(extra):
        raise ValueError("an error of the transformation's own")

    seen = []
    late = optax.inject_hyperparams(optax.polyak_sgd)(max_learning_rate=1.0)  # makes the asking one when it is called
    for tx, error, text in [
        (asking(fail), ValueError, "an error of the transformation's own"),
        (late, ArgumentError, "needs 'value'"),
        (asking(lambda extra: seen.append(dict(extra))), None, None),
    ]:
        net = make()
        trainer = gluonx.Trainer(net.collect_params(), optax.chain(tx, optax.sgd(0.1)))
        recorded(net)
        with contextlib.nullcontext() if error is None else pytest.raises(error, match=text):
            trainer.step(8)
    assert seen
    assert not any(seen)
