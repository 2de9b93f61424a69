"""What a Trainer's arguments add to a step (clipping, several batches, schedules, loss scale), by hand and by optax.

Each step stays one program, which is counted.
"""

import copy
import math
import pickle
from typing import Any

import jax
import jax.numpy as jnp
import numpy as onp
import optax
import pytest

from gluonx import Trainer, amp, autograd, engine, lr_scheduler, nn, np, optimizer, random
from gluonx.errors import ArgumentError, StaleGradientError

X = onp.random.RandomState(0).uniform(-1, 1, (8, 3)).astype("float32")


def make(opt: Any = "sgd", settings=None, **arguments):
    random.seed(0)
    net = nn.HybridSequential()
    net.add(nn.Dense(4, in_units=3, activation="tanh"), nn.Dense(2, in_units=4))
    net.initialize(init="xavier")
    return net, Trainer(net.collect_params(), opt, settings, **arguments)


def backward(net, x, factor=1.0):
    with autograd.record():
        loss = (net(np.array(x)) ** 2).sum() * factor
    loss.backward()


def values(net):
    return [p.data().asnumpy() for p in net.collect_params().values()]


def grads(net):
    return [p.grad().asnumpy() for p in net.collect_params().values()]


def close(a, b, rtol=1e-5):
    for x, y in zip(a, b, strict=True):
        onp.testing.assert_allclose(x, y, rtol=rtol, atol=1e-6)


RULES = [
    ("sgd", {"learning_rate": 0.1, "momentum": 0.9}),
    ("adam", {"learning_rate": 0.05}),
    ("adamw", {"learning_rate": 0.05, "wd": 0.1}),
    ("lamb", {"learning_rate": 0.05}),
    ("lion", {"learning_rate": 0.01, "wd": 0.1}),
    ("muon", {"learning_rate": 0.05}),
    (optax.adam(0.05), None),
    (optax.scale_by_adam(), {"learning_rate": 0.05}),
]
NAMES = [name if isinstance(name, str) else f"optax{i}" for i, (name, _) in enumerate(RULES)]


@pytest.mark.dear
@pytest.mark.parametrize(("name", "settings"), RULES, ids=NAMES)
def test_steps_of_several_batches_are_those_of_one_large_batch(name, settings):
    net, trainer = make(name, settings, accumulate=4, clip_norm=0.05)
    whole, large = make(name, settings, clip_norm=0.05)
    for _ in range(3):
        for part in range(4):
            before = values(net)
            backward(net, X[2 * part : 2 * part + 2])
            trainer.step(2)
            if part < 3:
                close(values(net), before, 0)
        backward(whole, X)
        large.step(8)
        close(values(net), values(whole), 2e-4 if name == "muon" else 2e-5)
    assert any(abs(a - b).max() > 1e-3 for a, b in zip(values(net), values(make(name, settings)[0])))


@pytest.mark.dear
def test_clipping_is_that_of_the_common_norm():
    net, trainer = make("sgd", {"learning_rate": 1.0}, clip_norm=0.01)
    before = values(net)
    backward(net, X)
    whole = grads(net)
    trainer.step(8)
    norm = math.sqrt(sum(float((g / 8) @ (g / 8)) for g in map(onp.ravel, whole)))
    assert norm > 0.02
    close(values(net), [w - g / 8 * (0.01 / norm) for w, g in zip(before, whole)])
    loose, trainer = make("sgd", {"learning_rate": 1.0}, clip_norm=1e6)
    backward(loose, X)
    trainer.step(8)
    close(values(loose), [w - g / 8 for w, g in zip(before, whole)])


@pytest.mark.parametrize(
    "arguments",
    [
        {"accumulate": 3},
        {"clip_norm": 0.1},
        {"schedule": "cosine", "total_steps": 40, "warmup_steps": 5},
        {"loss_scale": 1024.0},
        {"accumulate": 2, "clip_norm": 0.1, "schedule": "one_cycle", "total_steps": 40, "loss_scale": 8.0},
    ],
    ids=["accumulate", "clip", "schedule", "scale", "all"],
)
@pytest.mark.parametrize("name", ["adam", "lion", "muon"])
def test_a_step_is_one_program(name, arguments):
    net, trainer = make(name, {"learning_rate": 0.01, "wd": 0.1}, **arguments)
    net.hybridize()

    def step():
        with autograd.record():
            loss = (net(np.array(X)) ** 2).sum()
            if "loss_scale" not in arguments:
                loss.backward()
            else:
                with amp.scale_loss(loss, trainer) as scaled:
                    scaled.backward()
        trainer.step(8)

    for _ in range(6):
        step()
    before = engine.stats()
    for _ in range(8):
        step()
    after = engine.stats()
    assert after["programs_compiled"] == before["programs_compiled"]
    assert after["dispatches"] - before["dispatches"] == 8


@pytest.mark.dear
def test_schedules_have_the_rates_of_their_formulas():
    rates = lr_scheduler.create("cosine", 0.1, 100, 10)
    formula = optax.warmup_cosine_decay_schedule(0.0, 0.1, 10, 100)
    onp.testing.assert_allclose([rates(i) for i in range(101)], [formula(i) for i in range(101)], atol=1e-7)
    rates, formula = lr_scheduler.create("one_cycle", 0.1, 100), optax.cosine_onecycle_schedule(100, 0.1)
    onp.testing.assert_allclose([rates(i) for i in range(101)], [formula(i) for i in range(101)], atol=1e-7)
    assert rates(200) == rates(100)
    rates = lr_scheduler.create("linear", 0.1, 20, 10)
    onp.testing.assert_allclose([rates(i) for i in (0, 5, 10, 15, 20, 30)], [0, 0.05, 0.1, 0.05, 0, 0], atol=1e-9)
    rates = lr_scheduler.create("constant", 0.1, 20, 10)
    onp.testing.assert_allclose([rates(i) for i in (0, 5, 10, 15, 200)], [0, 0.05, 0.1, 0.1, 0.1])


def test_a_schedule_counts_updates():
    net, trainer = make("sgd", {"learning_rate": 0.1}, schedule="linear", total_steps=4, accumulate=2)
    seen = []
    for _ in range(8):
        backward(net, X)
        trainer.step(8)
        seen.append(trainer.learning_rate)
    onp.testing.assert_allclose(seen, [0.075, 0.075, 0.05, 0.05, 0.025, 0.025, 0, 0], atol=1e-9)


@pytest.mark.dear
def test_states_are_saved_in_the_middle_and_copied(tmp_path):
    net, trainer = make("adam", {"learning_rate": 0.1}, accumulate=3, clip_norm=1.0)
    for _ in range(4):
        backward(net, X)
        trainer.step(8)
    trainer.save_states(tmp_path / "states")
    net.save_parameters(tmp_path / "net.npz")
    other, second = make("adam", {"learning_rate": 0.1}, accumulate=3, clip_norm=1.0)
    other.load_parameters(tmp_path / "net.npz")
    second.load_states(tmp_path / "states")
    third, fourth = copy.deepcopy((net, trainer))
    fifth, sixth = pickle.loads(pickle.dumps((net, trainer)))
    for one, its in ((net, trainer), (other, second), (third, fourth), (fifth, sixth)):
        for _ in range(5):
            backward(one, X)
            its.step(8)
    for one in (other, third, fifth):
        close(values(one), values(net), 1e-6)


@pytest.mark.dear
def test_a_loss_scale_needs_no_amp_and_skips_what_overflows():
    net, trainer = make("sgd", {"learning_rate": 0.1}, loss_scale=8.0)
    plain, other = make("sgd", {"learning_rate": 0.1})
    for one, its in ((net, trainer), (plain, other)):
        with autograd.record():
            loss = (one(np.array(X)) ** 2).sum()
            if one is net:
                with amp.scale_loss(loss, its) as loss:
                    loss.backward()
            else:
                loss.backward()
        its.step(8)
    close(values(net), values(plain))
    before = values(net)
    with autograd.record(), amp.scale_loss((net(np.array(X)) * onp.inf).sum(), trainer) as loss:
        loss.backward()
    trainer.step(8)
    close(values(net), before, 0)


def rows_of(tx, weights, gradients, steps):
    state = tx.init(weights)
    for _ in range(steps):
        changes, state = tx.update(gradients, state, weights)
        weights = optax.apply_updates(weights, changes)
    return weights


@pytest.mark.dear
@pytest.mark.parametrize("name", ["lion", "muon"])
def test_lion_and_muon_are_those_of_optax(name):
    draw = onp.random.RandomState(1).standard_normal
    weights = [draw(shape).astype("float32") for shape in ((6, 3), (3, 5), (4,))]
    gradients = [draw(w.shape).astype("float32") for w in weights]
    opt = optimizer.create(name, learning_rate=0.1, wd=0.05)
    if name == "lion":
        wanted = rows_of(optax.lion(0.1, weight_decay=0.05), tuple(map(jnp.asarray, weights)), tuple(gradients), 4)
    else:  # optax multiplies from the left, Dense from the right
        tx = optax.contrib.muon(0.1, weight_decay=0.05, adam_weight_decay=0.05, eps=1e-8)
        turned = rows_of(tx, tuple(jnp.asarray(w.T) for w in weights), tuple(g.T for g in gradients), 4)
        wanted = [w.T for w in turned]
    ours = [np.array(w) for w in weights]
    states = [opt.create_state(i, w) for i, w in enumerate(ours)]
    for _ in range(4):
        opt.update([0, 1, 2], ours, [np.array(g) for g in gradients], states)
    close([w.asnumpy() for w in ours], [onp.asarray(w) for w in wanted], 1e-4)


@pytest.mark.parametrize("name", ["adamw", "lion", "muon"])
def test_decay_is_left_out_by_pattern(name):
    more = {"correct_bias": False} if name == "adamw" else {}  # as in MXNet it is in the rate of the decay, too
    net, trainer = make(name, {"learning_rate": 0.1, "wd": 0.5, **more})
    for param in net.collect_params(".*bias").values():
        param.wd_mult = 0.0
    for param in net.collect_params().values():
        param.set_data(np.ones(param.shape))
    backward(net, X, 0.0)  # gradients of zero: what changes is the decay
    trainer.step(8)
    for key, param in net.collect_params().items():
        onp.testing.assert_allclose(param.data().asnumpy(), 1.0 if "bias" in key else 0.95, rtol=1e-6)


REFUSED = [
    ({"accumulate": 0}, "accumulate must be"),
    ({"accumulate": 1.5}, "accumulate must be"),
    ({"clip_norm": 0}, "clip_norm must be"),
    ({"schedule": "cosine"}, "has a name and a length"),
    ({"total_steps": 10}, "has a name and a length"),
    ({"schedule": "step", "total_steps": 10}, "no schedule 'step'"),
    ({"schedule": "linear", "total_steps": 10, "warmup_steps": 11}, "more than total_steps"),
    ({"schedule": "one_cycle", "total_steps": 10, "warmup_steps": 11}, "must end before max_update"),
]


@pytest.mark.parametrize(("arguments", "said"), REFUSED, ids=[str(a) for a, _ in REFUSED])
def test_bad_arguments_say_what_was_expected(arguments, said):
    with pytest.raises((ArgumentError, ValueError), match=said):
        make("sgd", **arguments)


def test_what_has_its_own_rate_or_update_is_refused():
    with pytest.raises(ArgumentError, match="its own inside"):
        make(optax.sgd(0.1), schedule="cosine", total_steps=10)
    with pytest.raises(ArgumentError, match="has an lr_scheduler already"):
        make("sgd", {"lr_scheduler": lr_scheduler.FactorScheduler(1, base_lr=0.1)}, schedule="cosine", total_steps=10)

    class ByHand(optimizer.Optimizer):
        def step(self, indices, weights, grads, states):
            pass

    with pytest.raises(ArgumentError, match="ByHand has an update written by hand"):
        make(ByHand(), clip_norm=1.0)


def test_an_optimizer_object_still_sets_the_rate():
    opt = optimizer.SGD(0.1)
    net, trainer = make(opt, accumulate=2)
    assert type(opt) is optimizer.SGD and type(trainer.optimizer).__name__ == "SGD"
    opt.set_learning_rate(0.5)
    assert trainer.learning_rate == 0.5
    trainer.set_learning_rate(0.25)
    assert opt.learning_rate == 0.25
    before = values(net)
    for _ in range(2):
        backward(net, X)
        trainer.step(8)
    close(values(net), [w - 0.25 * g / 8 for w, g in zip(before, grads(net))])


def test_a_rule_does_not_trace_again_for_another_count():
    traced = []

    def update(grads, state, params=None):
        traced.append(1)
        return jax.tree.map(lambda g: -0.1 * g, grads), state

    net, trainer = make(optax.GradientTransformation(lambda params: (), update), accumulate=2)
    for _ in range(6):
        backward(net, X)
        trainer.step(8)
    seen = len(traced)
    for _ in range(6):
        backward(net, X)
        trainer.step(8)
    assert len(traced) == seen


def parts_backward(net, first):
    """The gradients of a loss that uses the first layer or not."""
    with autograd.record():
        hidden = net[0](np.array(X)) if first else np.ones((8, 4))
        loss = (net[1](hidden) ** 2).sum()
    loss.backward()


@pytest.mark.dear
@pytest.mark.parametrize("name", ["sgd", "adam", "lamb"])
@pytest.mark.parametrize("arguments", [{"clip_norm": 1e9}, {"accumulate": 2}], ids=str)
def test_states_stay_with_layers_that_are_frozen_for_a_while(name, arguments):
    settings = {"learning_rate": 0.05} | ({"momentum": 0.9} if name == "sgd" else {})
    nets = [make(name, settings, **arguments), make(name, settings)]
    for step in range(9):
        for net, trainer in nets:
            for param in net[0].collect_params().values():
                param.grad_req = "null" if 3 <= step < 6 else "write"
            for _ in range(trainer._gradients.accumulate):
                backward(net, X)
                trainer.step(8)
    close(values(nets[0][0]), values(nets[1][0]))


@pytest.mark.dear
@pytest.mark.parametrize("name", ["sgd", "adam", "lamb"])
def test_what_has_no_gradient_is_left_alone_where_gradients_are_clipped(name):
    settings = {"learning_rate": 0.05} | ({"momentum": 0.9} if name == "sgd" else {})
    nets = [make(name, settings, clip_norm=1e9), make(name, settings)]
    for step in range(9):
        for net, trainer in nets:
            parts_backward(net, not 3 <= step < 6)
            trainer.step(8, ignore_stale_grad=True)
    close(values(nets[0][0]), values(nets[1][0]))


def test_a_sum_of_steps_is_of_all_gradients():
    net, trainer = make("adam", accumulate=2)
    parts_backward(net, True)
    trainer.step(8, ignore_stale_grad=True)
    parts_backward(net, False)
    before = values(net)
    with pytest.raises(StaleGradientError, match=r"0\.bias'.*grad_req='add'"):
        trainer.step(8, ignore_stale_grad=True)
    close(values(net), before, 0)


@pytest.mark.parametrize("accumulate", [7, 13])
def test_updates_are_counted_exactly(accumulate):
    seen = []

    class Counting(optimizer.Optimizer):
        @classmethod
        def formula(cls, settings, weight, grad, leaves, at):
            return at.t - weight, ()

    net, trainer = make(Counting(), accumulate=accumulate)
    for _ in range(12 * accumulate):
        backward(net, X)
        trainer.step(8)
        seen.append(net[0].weight.data()[0, 0].item())
    assert seen[accumulate - 1 :: accumulate] == list(range(1, 13))


@pytest.mark.dear
def test_attributes_of_a_users_optimizer_are_its_own():
    class Mine(optimizer.Optimizer):
        accumulate, clip_norm = None, 0.5

        @classmethod
        def formula(cls, settings, weight, grad, leaves, at):
            return -at.lr * grad, ()

    schedule = lr_scheduler.FactorScheduler(1, 0.5, base_lr=1.0)
    nets = [make(kind(learning_rate=None, lr_scheduler=copy.deepcopy(schedule))) for kind in (Mine, optimizer.SGD)]
    for net, trainer in nets:
        for _ in range(3):
            backward(net, X, 10.0)
            trainer.step(8)
    close(values(nets[0][0]), values(nets[1][0]))


@pytest.mark.parametrize("arguments", [{}, {"accumulate": 3}, {"accumulate": 2, "clip_norm": 0.5}], ids=str)
def test_trainers_that_share_an_optimizer_are_of_one_mind(arguments):
    opt = optimizer.SGD(0.1)
    net, trainer = make(opt, accumulate=2)
    backward(net, X)
    trainer.step(8)
    other, second = make(opt, **arguments)
    backward(other, X)
    second.step(8)
    backward(net, X)
    with pytest.raises(ArgumentError, match=r"made with Gradients\(accumulate=2, .* an Optimizer of its own"):
        trainer.step(8)


@pytest.mark.dear
def test_a_rule_of_optax_is_told_the_loss_of_clipped_gradients():
    told = []

    def update(grads, state, params=None, *, value, **_):
        jax.debug.callback(lambda value: told.append(float(value)), value)
        return jax.tree.map(lambda g: -0.1 * g, grads), state

    rule = optax.GradientTransformationExtraArgs(lambda params: (), update)
    for arguments in ({}, {"clip_norm": 1e9}):
        net, trainer = make(rule, **arguments)
        with autograd.record():
            loss = (net(np.array(X)) ** 2).sum()
        loss.backward()
        trainer.step(8, value=loss)
        values(net)
    jax.effects_barrier()
    assert len(told) == 2 and told[0] == pytest.approx(told[1])
    net, trainer = make(rule, accumulate=2)
    backward(net, X)
    with pytest.raises(ArgumentError, match="told one loss"):
        trainer.step(8, value=np.ones(()))
    with pytest.raises(ArgumentError, match="told one loss"):
        trainer.step(8, closure=lambda: (net(np.array(X)) ** 2).sum())


def test_steps_that_see_one_weight_at_a_time_are_refused():
    net, trainer = make("sgd", clip_norm=1.0)
    with pytest.raises(ArgumentError, match="has no updaters"):
        _ = trainer._updaters[0].states
    opt = trainer.optimizer  # by hand it gets gradients as they are
    weight, grad = np.zeros(4), np.full(4, 100.0)
    opt.update([0], [weight], [grad], [opt.create_state(0, weight)])
    assert weight.asnumpy().tolist() == pytest.approx([-10.0] * 4)

    class Store:
        def broadcast(self, key, value, out, priority=0):
            pass

        def pushpull(self, key, value, out=None, priority=0):
            pass

        def set_optimizer(self, optimizer):
            pass

        @staticmethod
        def is_capable(capability):
            return True

    net, trainer = make("sgd", clip_norm=1.0, kvstore=Store())
    backward(net, X)
    with pytest.raises(ArgumentError, match="update_on_kvstore=False"):
        trainer.step(8)


def test_a_weight_of_two_layers_counts_once_in_the_norm():
    random.seed(0)
    net, first = nn.HybridSequential(), nn.Dense(3, in_units=3, use_bias=False)
    net.add(first, nn.Dense(3, in_units=3, use_bias=False).share_parameters(first.collect_params()))
    net.initialize(init="xavier")
    trainer = Trainer(net.collect_params(), "sgd", {"learning_rate": 1.0}, clip_norm=0.01)
    before = first.weight.data().asnumpy()
    backward(net, X)
    trainer.step(8)
    assert onp.linalg.norm(first.weight.data().asnumpy() - before) == pytest.approx(0.01, rel=1e-3)


def test_a_trainer_pickled_before_there_were_these_arguments_goes_on():
    net, trainer = make("adam")
    state = {name: value for name, value in trainer.__getstate__().items() if name != "_gradients"}
    old = object.__new__(Trainer)
    old.__setstate__(state)
    backward(net, X)
    before = values(net)
    old.step(8)
    assert any((a != b).any() for a, b in zip(values(net), before, strict=True))


def test_a_loss_scale_is_a_number():
    net = nn.Dense(2, in_units=2)
    net.initialize()
    with pytest.raises(ArgumentError, match=r"what the scale begins with, .* Got 'dynamic'"):
        Trainer(net.collect_params(), "sgd", loss_scale="dynamic")
