"""A Trainer's plan stays as long as no array of the process got another variable, and each exchange is seen."""

import sys

import numpy as onp
import pytest

import gluonx
from gluonx import Trainer, autograd, cpu, initializer, nn, np
from gluonx.block.block import HybridBlock
from gluonx.block.fusion import Fused
from gluonx.block.parameter import Parameter
from gluonx.deferred.values.core import Attached
from gluonx.errors import DeferredInitializationError, StaleGradientError
from gluonx.trainer import plan as plans


def made(count=3):
    net = nn.HybridSequential()
    net.add(*[nn.Dense(2, in_units=2) for _ in range(count)])
    net.initialize(initializer.Constant(0.5))
    return net


def train(net, trainer, **how):
    with autograd.record():
        loss = net(np.ones((1, 2))).sum()
    loss.backward()
    trainer.step(1, **how)


@pytest.fixture
def walks(monkeypatch):
    """How often the parameters were walked."""
    found = []
    marks = plans.marks_of
    monkeypatch.setattr(plans, "marks_of", lambda params: found.append(len(params)) or marks(params))
    return found


def test_a_steady_step_walks_over_no_parameter(walks):
    net = made()
    trainer = Trainer(net.collect_params(), "sgd")
    for _ in range(3):
        train(net, trainer)
    del walks[:]
    for _ in range(3):
        train(net, trainer)
    assert walks == []


@pytest.mark.dear
def test_what_finds_the_plan_takes_as_many_calls_for_any_number_of_parameters():
    """The calls of Python functions: per parameter there is none."""
    counts = []
    for layers in (2, 20):
        net = made(layers)
        trainer = Trainer(net.collect_params(), "sgd")
        for _ in range(3):
            train(net, trainer)
        with autograd.record():
            loss = net(np.ones((1, 2))).sum()
        loss.backward()
        calls = []
        before = sys.getprofile()
        sys.setprofile(lambda frame, event, arg, calls=calls: calls.append(event) if event == "call" else None)
        try:
            trainer._plan(False)
        finally:
            sys.setprofile(before)
        counts.append(len(calls))
    assert counts[0] == counts[1]


def test_a_variable_elsewhere_costs_one_walk(walks):
    net = made()
    trainer = Trainer(net.collect_params(), "sgd")
    for _ in range(3):
        train(net, trainer)
    del walks[:]
    np.ones((2,)).attach_grad()
    plan = trainer._plans[None]
    for _ in range(3):
        train(net, trainer)
    assert walks == [6]
    assert trainer._plans[None] is plan


def loaded_in_float64(net, tmp_path):
    net.cast("float64")
    net.save_parameters(str(tmp_path / "wide.params"))
    net.cast("float32")
    train(net, net.trainer)
    net.load_parameters(str(tmp_path / "wide.params"), cast_dtype=True, dtype_source="saved")


EXCHANGES = {
    "grad_req": lambda net, _: setattr(net[0].weight, "grad_req", "add"),
    "frozen": lambda net, _: setattr(net[0].weight, "grad_req", "null"),
    "all frozen": lambda net, _: net.setattr("grad_req", "null"),
    "attach_grad of the array": lambda net, _: net[0].weight.data().attach_grad(),
    "mark_variables": lambda net, _: autograd.mark_variables(net[0].weight.data(), np.zeros((2, 2))),
    "cast": lambda net, _: net[0].weight.cast("float16"),
    "cast of the net": lambda net, _: net.cast("float64"),
    "force_reinit": lambda net, _: net.initialize(initializer.Constant(0.25), force_reinit=True),
    "reset_device": lambda net, _: net.reset_device(cpu(1)),
    "replicas": lambda net, _: net.reset_device([cpu(0), cpu(1)]),
    "load_parameters": loaded_in_float64,
    "grad_stype": lambda net, _: net[0].weight.data().attach_grad(stype="row_sparse"),
}


@pytest.mark.parametrize("name", EXCHANGES)
def test_an_exchange_is_seen(name, tmp_path):
    net = made()
    net.trainer = trainer = Trainer(net.collect_params(), "sgd", {"momentum": 0.9})
    for _ in range(2):
        train(net, trainer)
    plan, latest = trainer._plans[None], Attached.latest
    EXCHANGES[name](net, tmp_path)
    assert Attached.latest is not latest
    assert not plan.fits(plan.optimizer)


class Pair(HybridBlock):
    """Two weights that may be one array."""

    def __init__(self):
        super().__init__()
        self.a, self.b = Parameter("a", shape=(2, 2)), Parameter("b", shape=(1, 2))
        self.declare_fusion(Fused("pair", ("a", "b")))

    def forward(self, x):
        return np.dot(x, self.a.data().T).sum() + np.dot(x, self.b.data().T).sum()


@pytest.mark.dear
def test_fusing_is_seen():
    net, alone = Pair(), Pair()
    trainers = []
    for each in (net, alone):
        each.initialize(initializer.Constant(0.5))
        trainers.append(Trainer(each.collect_params(), "sgd", {"momentum": 0.9}))
    for change in (net.fuse, lambda: setattr(net.a, "grad_req", "null"), net.unfuse):
        for each, trainer in zip((net, alone), trainers, strict=True):
            train(each, trainer)
        plan = trainers[0]._plans[None]
        assert plan.fits(plan.optimizer)
        change()
        alone.a.grad_req = net.a.grad_req
        assert not plan.fits(plan.optimizer)
        for each, trainer in zip((net, alone), trainers, strict=True):
            train(each, trainer)
        for name in "ab":
            mine, other = (getattr(each, name).data().asnumpy() for each in (net, alone))
            onp.testing.assert_allclose(mine, other, rtol=1e-6)


def test_a_frozen_parameter_stays_and_the_others_go_on():
    net = made(2)
    trainer = Trainer(net.collect_params(), "sgd", {"learning_rate": 0.1})
    for _ in range(2):
        train(net, trainer)
    net[0].weight.grad_req = "null"
    before = [p.data().asnumpy() for p in (net[0].weight, net[1].weight)]
    train(net, trainer)
    after = [p.data().asnumpy() for p in (net[0].weight, net[1].weight)]
    assert onp.array_equal(before[0], after[0])
    assert not onp.array_equal(before[1], after[1])


def test_a_parameter_that_waits_may_be_frozen():
    """The step asked for its shape although it is not trained any more."""
    net = made(1)
    other = nn.Dense(2)
    other.initialize()
    params = {**net.collect_params(), **{f"other.{k}": p for k, p in other.collect_params().items()}}
    trainer = Trainer(params, "sgd")
    train(net, trainer, ignore_stale_grad=True)
    with pytest.raises(DeferredInitializationError):
        train(net, trainer)
    other.setattr("grad_req", "null")
    train(net, trainer)


@pytest.mark.dear
def test_a_stale_gradient_is_seen_in_a_plan_that_stays():
    net = made()
    trainer = Trainer(net.collect_params(), "sgd")
    for _ in range(2):
        train(net, trainer)
    with pytest.raises(StaleGradientError, match=r"0\.bias"):
        trainer.step(1)
    with autograd.record():
        loss = net[0](np.ones((1, 2))).sum()
    loss.backward()
    with pytest.raises(StaleGradientError, match=r"1\.bias"):
        trainer.step(1)
    before = net[1].weight.data().asnumpy(), net[0].weight.data().asnumpy()
    trainer.step(1, ignore_stale_grad=True)
    assert onp.array_equal(net[1].weight.data().asnumpy(), before[0])
    assert not onp.array_equal(net[0].weight.data().asnumpy(), before[1])


def test_a_number_that_is_written_in_place_counts_at_the_next_step():
    net = nn.Dense(1, in_units=2, use_bias=False)
    net.initialize()
    rate = onp.array(0.5, "float32")
    trainer = gluonx.Trainer(net.collect_params(), "sgd", {"learning_rate": rate, "wd": 0.0})

    def step():
        before = net.weight.data().asnumpy()
        with autograd.record():
            loss = net(np.ones((1, 2))).sum()
        loss.backward()
        trainer.step(1)
        return (before - net.weight.data().asnumpy()).mean()

    assert [round(float(step()), 4) for _ in range(3)] == [0.5] * 3
    rate[...] = 0.25
    assert [round(float(step()), 4) for _ in range(2)] == [0.25] * 2
    net.weight.lr_mult = mult = onp.array(2.0)
    assert [round(float(step()), 4) for _ in range(2)] == [0.5] * 2
    mult[...] = 4.0
    assert round(float(step()), 4) == 1.0
    trainer.optimizer.lr, net.weight.lr_mult = 0.125, 1.0
    assert [round(float(step()), 4) for _ in range(3)] == [0.125] * 3


def test_a_rule_of_the_users_own_is_asked_at_each_step():
    asked = []

    @gluonx.optimizer.register
    class Asked(gluonx.optimizer.SGD):
        def rule(self, indices=None):
            asked.append(indices)
            return super().rule(indices)

    net = nn.Dense(1, in_units=2)
    net.initialize()
    trainer = gluonx.Trainer(net.collect_params(), Asked(learning_rate=0.1))
    for _ in range(3):
        with autograd.record():
            loss = net(np.ones((1, 2))).sum()
        loss.backward()
        before = len(asked)
        trainer.step(1)
        assert len(asked) > before


@pytest.mark.dear
@pytest.mark.parametrize("name", ["sgd", "adam", "lars", "muon"])
def test_equal_trainers_have_one_operator(name):
    """And one of other settings has its own; states and counts are each Trainer's."""
    found = []
    for momentum in (0.9, 0.9, 0.8):
        net = made()
        settings = {"beta1": momentum} if name == "adam" else {"momentum": momentum}
        trainer = Trainer(net.collect_params(), name, {"learning_rate": 0.1, **settings})
        train(net, trainer)
        found.append(trainer)
    first, same, other = [trainer._plans[None] for trainer in found]
    assert first.op is same.op and first.held.rule is same.held.rule
    assert other.op is not first.op
    assert not {id(s) for s in first.held.arrays} & {id(s) for s in same.held.arrays}
    train(net, found[2])
    assert [trainer.optimizer.num_update for trainer in found] == [1, 1, 2]
