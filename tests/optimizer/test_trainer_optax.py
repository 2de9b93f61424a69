"""A Trainer over optax transformations, step by step against optax by itself; copies of Trainers; frozen ones."""

import copy
import pickle

import jax
import jax.numpy as jnp
import numpy as onp
import optax
import pytest

import gluonx
from gluonx import autograd, gluon, np
from gluonx.block.parameter import Parameter
from gluonx.optimizer.rules import FlatRule

SHAPES = [(), (5, 4), (4097,), (1,), (), (70, 70)]  # small ones travel together, large ones alone
ALT = (True, False, True, True, False, False)


def big(params):
    return jax.tree.map(lambda p: p.ndim > 1, params)


def kinds(params):
    return jax.tree.map(lambda p: "a" if p.ndim > 1 else "b", params)


RULES = {
    "masked by a tree": lambda: optax.masked(optax.adam(0.01), ALT),
    "masked by a function": lambda: optax.masked(optax.sgd(0.003, momentum=0.9), big),
    "masked twice": lambda: optax.chain(optax.masked(optax.adam(0.02), ALT), optax.masked(optax.set_to_zero(), big)),
    "decay of some": lambda: optax.adamw(0.02, weight_decay=0.1, mask=big),
    "multi_transform": lambda: optax.multi_transform({"a": optax.adam(0.01), "b": optax.sgd(0.05, 0.9)}, kinds),
    "partition": lambda: optax.partition({True: optax.lamb(0.01), False: optax.set_to_zero()}, ALT),
    "chain": lambda: optax.chain(optax.clip_by_global_norm(0.5), optax.trace(0.9), optax.ema(0.9), optax.scale(-0.05)),
    "inject": lambda: optax.inject_hyperparams(optax.adam)(optax.exponential_decay(0.05, 5, 0.9)),
    "MultiSteps": lambda: optax.MultiSteps(optax.adam(0.05), 3),
    "apply_if_finite": lambda: optax.apply_if_finite(optax.adam(0.05), 3),
    "noisy_sgd": lambda: optax.noisy_sgd(0.05, key=jax.random.key(3)),
    "noise, then adam": lambda: optax.chain(optax.add_noise(0.1, 0.55, key=jax.random.key(1)), optax.adam(0.02)),
}


def parameters():
    rng = onp.random.default_rng(3)
    params = []
    for i, shape in enumerate(SHAPES):
        param = Parameter(f"p{i}", shape=shape)
        param.initialize()
        param.set_data(np.array(rng.normal(size=shape).astype("float32")))
        params.append(param)
    return params


def step(params, trainer, k):
    with autograd.record():
        loss = sum(((p.data() - 0.3) ** 2).mean() * (i + 1 + k) for i, p in enumerate(params))
    loss.backward()
    trainer.step(1)


def loss_of(weights, k):
    return sum(((w - 0.3) ** 2).mean() * (i + 1 + k) for i, w in enumerate(weights))


@pytest.mark.dear
@pytest.mark.parametrize("name", RULES)
def test_a_trainer_does_what_optax_does(name, tmp_path):
    rule = RULES[name]()
    params = parameters()
    trainer = gluon.Trainer(params, rule)
    weights = tuple(jnp.asarray(p.data().asnumpy()) for p in params)
    state = rule.init(weights)

    @jax.jit
    def by_optax(weights, state, k):
        updates, state = rule.update(jax.grad(loss_of)(weights, k), state, weights)
        return optax.apply_updates(weights, updates), state

    for k in range(12):
        if k == 6:  # states go through a file in between
            trainer.save_states(tmp_path / "states")
            trainer = gluon.Trainer(params, rule)
            trainer.load_states(tmp_path / "states")
        step(params, trainer, 0.1 * k)
        weights, state = by_optax(weights, state, 0.1 * k)
    for param, weight in zip(params, weights, strict=True):
        onp.testing.assert_allclose(param.data().asnumpy(), weight, rtol=2e-4, atol=2e-5)


def test_a_count_belongs_to_no_parameter():
    """Not even where the first one has no axes either, and waits for a gradient."""
    structs = [jax.ShapeDtypeStruct(s, jnp.float32) for s in ((), (3,), ())]
    rule = FlatRule(optax.chain(optax.adam(0.1), optax.scale_by_schedule(lambda n: 1.0), optax.masked(optax.ema(0.9), (False, True, True))), structs)  # fmt: skip  # noqa: E501
    found = dict(zip(rule.leaf_names, rule.owners, strict=True))
    assert {k for k, owner in found.items() if owner is None} == {k for k in found if k.endswith("count")}
    assert found["0/0/mu/2"] == 2 and found["2/inner_state/ema/1"] == 1

    first, second = Parameter("a", shape=()), Parameter("b", shape=(2,))
    for p in (first, second):
        p.initialize("ones")
    trainer = gluon.Trainer([first, second], optax.chain(optax.scale_by_adam(), optax.scale(-0.1)))
    for _ in range(3):
        with autograd.record():
            loss = (second.data() ** 2).sum()
        loss.backward()
        trainer.step(1, ignore_stale_grad=True)
    assert trainer._states()["0/count"] == 3


def trained(optimizer):
    net = gluonx.nn.Dense(2, in_units=3)
    net.initialize()
    trainer = gluon.Trainer(net.collect_params(), optimizer)
    follow(net, trainer)
    return net, trainer


def follow(net, trainer):
    gluonx.random.seed(4)
    for _ in range(2):
        with autograd.record():
            loss = (net(np.ones((1, 3))) ** 2).sum()
        loss.backward()
        trainer.step(1)
    return net.weight.data().asnumpy()


@pytest.mark.parametrize("optimizer", ["sgd", "adam", "sgld", "nadam"])
@pytest.mark.parametrize("way", [copy.deepcopy, lambda pair: pickle.loads(pickle.dumps(pair))])
def test_a_net_and_its_trainer_can_be_copied(optimizer, way):
    net, trainer = trained(optimizer)
    net2, trainer2 = way((net, trainer))
    assert trainer2.optimizer.num_update == 2 and trainer2._params[1] is net2.weight is not net.weight
    assert (follow(net, trainer) == follow(net2, trainer2)).all()


def test_an_optax_rule_is_copied_but_not_pickled():
    net, trainer = trained(optax.adam(0.1))
    net2, trainer2 = copy.deepcopy((net, trainer))
    assert (follow(net, trainer) == follow(net2, trainer2)).all()
    with pytest.raises(TypeError, match="save_states"):
        pickle.dumps(trainer)


def test_a_trainer_of_frozen_parameters_does_nothing(tmp_path):
    """As MXNet's; what was trained before keeps its states."""
    param = Parameter("c", shape=(2,), grad_req="null")
    with pytest.raises(gluonx.errors.UninitializedError):
        gluon.Trainer({"c": param}, "adam").step(1)
    param.initialize("ones")
    trainer = gluon.Trainer({"c": param}, "adam")
    trainer.step(1)
    trainer.update(1)
    trainer.save_states(tmp_path / "none")
    trainer.load_states(tmp_path / "none")
    param.grad_req = "write"
    with autograd.record():
        loss = (param.data() ** 2).sum()
    loss.backward()
    trainer.step(1)
    mean = trainer._states()["c/mean"]
    param.grad_req = "null"
    trainer.step(1)
    trainer.save_states(tmp_path / "one")
    other = gluon.Trainer({"c": param}, "adam")
    other.load_states(tmp_path / "one")
    other.step(1)
    param.grad_req = "write"
    other._plan_for_states()
    assert (other._states()["c/mean"] == mean).all() and other.optimizer._index_update_count == {0: 1}
    with pytest.raises(ValueError, match="no parameter"):
        gluon.Trainer({}, "sgd").step(1)
