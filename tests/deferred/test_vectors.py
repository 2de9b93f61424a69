"""Small weights that a Trainer keeps as one vector: nobody notices but the clock, whatever happens in between."""

import copy
import gc
import threading
import weakref

import jax
import jax.numpy as jnp
import numpy as onp
import pytest

import gluonx as mx
from gluonx import autograd, engine, gluon, np
from gluonx.common import policy
from gluonx.deferred.run import flushing
from gluonx.deferred.values import vectors
from gluonx.deferred.values.core import Packed, intern_aval
from gluonx.gluon import nn
from gluonx.optimizer import optimizer as optimizers
from gluonx.optimizer.units import arranged
from gluonx.trainer import plan as plans

pytestmark = pytest.mark.usefixtures("young_heap")


@pytest.fixture(autouse=True)
def _quiet(monkeypatch):
    """Many programs from one line are what these tests are about."""
    monkeypatch.setattr(flushing, "_sites", {})


X = onp.random.RandomState(0).rand(5, 3).astype("float32")


def made(hybrid=True, dtype="float32", width=4):
    net = nn.HybridSequential()
    net.add(
        nn.Dense(width, in_units=3, activation="tanh"), nn.BatchNorm(in_channels=width), nn.Dense(2, in_units=width)
    )
    net.initialize(mx.init.Zero())
    rng = onp.random.RandomState(1)
    for p in net.collect_params().values():
        p.set_data(rng.uniform(0.2, 1, p.shape).astype("float32"))
    net.cast(dtype)
    if hybrid:
        net.hybridize()
    return net


def trainer_of(net, optimizer="adam", **kwargs):
    return gluon.Trainer(net.collect_params(), optimizer, {"learning_rate": 0.1}, **kwargs)


def step(net, trainer, scale=1.0):
    with autograd.record():
        loss = ((net(np.array(X, dtype=net[0].weight.dtype)) * scale) ** 2).mean()
    loss.backward()
    trainer.step(1)
    return loss


def values(net):
    return {name: p.data().asnumpy().astype("float32") for name, p in net.collect_params().items()}


def same(found, wanted, rtol=0.0):
    assert found.keys() == wanted.keys()
    for name, value in found.items():
        onp.testing.assert_allclose(value, wanted[name], rtol=rtol, atol=rtol, err_msg=name)


def kinds(net):
    return [type(p.data().value) is Packed for p in net.collect_params().values() if p.grad_req != "null"]


def reference(disturb, steps=4, **kwargs):
    """The same in naive mode, where every array is itself."""
    with engine.mode("naive"):
        net = made(hybrid=False)
        trainer = trainer_of(net, **kwargs)
        for i in range(steps):
            step(net, trainer)
            disturb(net, trainer, i)
        return values(net)


@pytest.mark.dear
def test_a_step_keeps_them_together():
    net = made()
    trainer = trainer_of(net)
    assert not any(kinds(net))
    step(net, trainer)
    assert all(kinds(net))
    engine.reset_stats()
    for _ in range(5):
        step(net, trainer)
    assert all(kinds(net))
    assert engine.stats()["dispatches"] == 5 and engine.stats()["programs_compiled"] == 0
    # The data, two running averages, two kinds of states, the numbers of a step, the weights.
    assert "outputs; 7 input arrays for 12 values" in engine.explain()
    assert net[0].weight.shape == (4, 3) and net[0].weight.dtype == onp.float32
    assert str(net[0].weight.data().device) == "cpu(0)" and net[0].weight.data().nbytes == 48


@pytest.mark.dear
def test_a_steady_step_does_nothing_for_each_weight(monkeypatch):
    """The handles keep their pieces and the vector gets its next value; who remembers a piece is shown a new one."""
    net = made()
    trainer = trainer_of(net, "sgd")
    for _ in range(3):
        step(net, trainer)
    placed, weight, packed = [], net[0].weight.data(), vectors.Vector.packed
    monkeypatch.setattr(vectors.Vector, "packed", lambda self: placed.append(self) or packed(self))
    for _ in range(3):
        before = weight.asnumpy()  # cut out, and not what is read after the step
        step(net, trainer)
        assert not onp.array_equal(weight.asnumpy(), before)
    assert not placed
    held = weight.value
    before = number(held)
    step(net, trainer)
    assert len(placed) == 1 and held is not weight.value
    onp.testing.assert_array_equal(number(held), before)
    seen = weakref.ref(weight.value)
    step(net, trainer)
    assert len(placed) == 2 and seen() is not weight.value
    step(net, trainer)
    assert len(placed) == 2


DISTURBANCES = {
    "nothing": lambda net, trainer, i: None,
    "read one": lambda net, trainer, i: net[0].weight.data().asnumpy(),
    "read all": lambda net, trainer, i: values(net),
    "write one": lambda net, trainer, i: net[0].weight.set_data(onp.full((4, 3), 0.1 * (i + 1), "float32")),
    "write in place": lambda net, trainer, i: net[2].bias.data().__setitem__(0, 0.5),
    "scale in place": lambda net, trainer, i: net[2].weight.data().__imul__(0.5),
    "clip all": lambda net, trainer, i: [
        p.set_data(np.clip(p.data(), -0.5, 0.5)) for p in net.collect_params("weight|bias").values()
    ],
    "exchange two": lambda net, trainer, i: exchange(net[1].gamma, net[1].beta),
    "predict": lambda net, trainer, i: net(np.array(X)).asnumpy(),
    "freeze and thaw": lambda net, trainer, i: net[0].weight.__setattr__("grad_req", "null" if i == 1 else "write"),
    "rate": lambda net, trainer, i: trainer.set_learning_rate(0.1 / (i + 2)),
    "penalty": lambda net, trainer, i: penalized(net, trainer),
    "a step in naive mode": lambda net, trainer, i: naive_step(net, trainer),
    "hybridize or not": lambda net, trainer, i: net.hybridize(i % 2 == 0),
    "cast to and fro": lambda net, trainer, i: (net.cast("float16"), net.cast("float32")),
    "two gradients added": lambda net, trainer, i: added(net, trainer),
    "average": lambda net, trainer, i: net[0].bias.set_data(net[0].bias.data() * 0.9 + net[1].beta.data() * 0.1),
    "in a recorded scope": lambda net, trainer, i: recorded_write(net),
}


def naive_step(net, trainer):
    with engine.mode("naive"):
        step(net, trainer)


def added(net, trainer):
    for p in net.collect_params("weight|bias|.*weight|.*bias").values():
        p.grad_req = "add"
    for _ in range(2):
        with autograd.record():
            loss = (net(np.array(X)) ** 2).mean()
        loss.backward()
    trainer.step(2)
    for p in net.collect_params(".*weight|.*bias").values():
        p.grad_req = "write"


def recorded_write(net):
    """A weight that is written to while recording is a pending value when the next step begins."""
    with engine.bulk(1000):
        net[2].weight.data()[:] = net[2].weight.data() * 0.75
        net[0].weight.set_data(net[0].weight.data() + 0.01)


def exchange(a, b):
    first, second = a.data(), b.data()
    kept = first.copy()
    a.set_data(second)
    b.set_data(kept)


def penalized(net, trainer):
    """A step on the weights alone; each is a leaf of its own."""
    with autograd.record():
        loss = sum((p.data() ** 2).sum() for p in net.collect_params().values() if p.grad_req != "null")
    loss.backward()
    trainer.step(1)


@pytest.mark.dear
@pytest.mark.parametrize("hybrid", [False, True], ids=["plain", "hybrid"])
@pytest.mark.parametrize("optimizer", ["sgd", "adam"])
@pytest.mark.parametrize("name", list(DISTURBANCES))
def test_whatever_happens_between_steps_the_numbers_are_those_of_naive_mode(name, optimizer, hybrid):
    disturb = DISTURBANCES[name]
    net = made(hybrid)
    trainer = trainer_of(net, optimizer)
    for i in range(4):
        step(net, trainer)
        disturb(net, trainer, i)
    # Adam divides the rounding of small gradients by their size: programs of jax 0.12 are 4e-5 apart.
    same(values(net), reference(disturb, optimizer=optimizer), 1e-4 if optimizer == "adam" else 2e-5)


def test_writing_to_one_compiles_nothing_and_costs_one_dispatch():
    net = made()
    trainer = trainer_of(net)
    for _ in range(3):
        step(net, trainer)
        net[0].weight.set_data(onp.ones((4, 3), "float32"))
    engine.reset_stats()
    step(net, trainer)
    assert engine.stats()["programs_compiled"] == 0
    assert all(kinds(net))
    engine.reset_stats()
    step(net, trainer)
    assert engine.stats()["dispatches"] == 1


def test_reading_cuts_all_of_them_once_and_leaves_them_in_place():
    net = made()
    trainer = trainer_of(net)
    step(net, trainer)
    engine.reset_stats()
    first = net[0].weight.data()._read()
    values(net)
    assert net[0].weight.data()._read() is first
    assert engine.stats()["dispatches"] == 1 and all(kinds(net))
    step(net, trainer)
    assert engine.stats()["dispatches"] == 2


ALIASES = {
    "a raw array": lambda w: jnp.asarray(w),
    "detach, a view": lambda w: w.detach(),
    "another parameter's value": lambda w: shared(w),
    "a view": lambda w: w[:],
    "a view that was read": lambda w: read_view(w),
    "a shallow copy": lambda w: copy.copy(w),
    "what is in the handle": lambda w: w.value,
}


def shared(w):
    other = gluon.Parameter("other", shape=w.shape)
    other.initialize()
    other.data()._assign(w)
    return other.data()


def read_view(w):
    view = w[1:]
    view.asnumpy()
    return view


def number(held):
    return onp.asarray(vectors.resolved(held)).copy()


@pytest.mark.parametrize("name", [n for n in ALIASES if "view" not in n])
def test_who_took_one_keeps_its_value(name):
    net = made()
    trainer = trainer_of(net)
    step(net, trainer)
    held = ALIASES[name](net[0].weight.data())
    before = net[0].weight.data().asnumpy() if name != "what is in the handle" else None
    for _ in range(3):
        step(net, trainer)
    if before is None:
        before = number(held)  # it was cut out before its vector was given away
        assert not onp.array_equal(before, net[0].weight.data().asnumpy())
    onp.testing.assert_array_equal(number(held), before)


@pytest.mark.dear
@pytest.mark.parametrize("take", ["set_data", "_assign"])
def test_a_net_that_took_all_of_anothers_weights_steps_on_its_own(take):
    """Its handles hold the pieces of a vector that was given to a step of the other net."""
    net, other = made(), made()
    trainer, own = trainer_of(net, "sgd"), trainer_of(other, "sgd")
    for _ in range(2):
        step(net, trainer), step(other, own, 2.0)
    for name, p in net.collect_params().items():
        target = other.collect_params()[name]
        (target.set_data if take == "set_data" else target.data()._assign)(p.data())
    del p, target
    taken = values(net)
    for _ in range(2):
        step(net, trainer)
    same(values(other), taken)
    step(other, own)
    assert not onp.array_equal(values(other)["0.weight"], taken["0.weight"])
    twin = made()
    for name, p in twin.collect_params().items():
        p.set_data(taken[name])
    step(twin, trainer_of(twin, "sgd"))
    same(values(other), values(twin), 1e-5)


@pytest.mark.parametrize("name", [n for n in ALIASES if "view" in n])
def test_a_view_follows(name):
    net = made()
    trainer = trainer_of(net)
    step(net, trainer)
    view = ALIASES[name](net[0].weight.data())
    for _ in range(3):
        step(net, trainer)
        onp.testing.assert_array_equal(view.asnumpy(), net[0].weight.data().asnumpy()[-len(view) :])


def test_a_graph_that_is_pending_elsewhere_has_the_weights_of_its_time():
    """A thread has recorded a forward; before it is computed, another steps."""
    net = made()
    trainer = trainer_of(net)
    step(net, trainer)
    with autograd.predict_mode():
        wanted = net(np.array(X)).asnumpy()
    recorded, go, found = threading.Event(), threading.Event(), []

    def other():
        with autograd.record(train_mode=False):
            y = net(np.array(X))
        recorded.set()
        go.wait(30)
        found.append(y.asnumpy())

    thread = threading.Thread(target=other)
    thread.start()
    assert recorded.wait(30)
    for _ in range(3):
        step(net, trainer)
    go.set()
    thread.join(60)
    onp.testing.assert_allclose(found[0], wanted, rtol=1e-6)


def test_a_loss_read_before_its_backward():
    net, twin = made(), made()
    # Adam would divide the rounding of small gradients by their size.
    trainer, other = trainer_of(net, "sgd"), trainer_of(twin, "sgd")
    for _ in range(4):
        with autograd.record():
            loss = (net(np.array(X)) ** 2).mean()
        float(loss)
        loss.backward()
        trainer.step(1)
        step(twin, other)
    same(values(net), values(twin), 1e-5)  # either may be 4e-6 from what float64 gives


@pytest.mark.dear
def test_two_trainers_of_one_net_take_turns():
    def turns(naive):
        net = made(not naive)
        weights, rest = net.collect_params(".*weight"), net.collect_params(".*bias|.*gamma|.*beta")
        every = trainer_of(net, "sgd")
        some = gluon.Trainer(weights, "sgd", {"learning_rate": 0.05})
        others = gluon.Trainer(rest, "sgd", {"learning_rate": 0.02})
        for i in range(6):
            with autograd.record():
                loss = (net(np.array(X)) ** 2).mean()
            loss.backward()
            for trainer in ([every], [some, others])[i % 2]:
                trainer.step(1)
        return values(net)

    with engine.mode("naive"):
        wanted = turns(True)
    same(turns(False), wanted, 1e-5)


@pytest.mark.dear
def test_a_gan_steps_in_one_dispatch_each():
    maker, judge = made(), made()
    trainers = [trainer_of(maker), trainer_of(judge)]
    x = np.array(X)

    def loss_of():
        return (judge(np.concatenate([maker(x), x[:, :1]], 1)) ** 2).mean()

    for i in range(4):
        if i == 3:
            engine.reset_stats()
        for trainer in trainers:
            with autograd.record():
                loss = loss_of()
            loss.backward()
            trainer.step(1, ignore_stale_grad=True)
    assert engine.stats()["dispatches"] == 2 and engine.stats()["programs_compiled"] == 0


@pytest.mark.parametrize("keep_grads", [True, False])
def test_nothing_piles_up(keep_grads):
    net = made()
    trainer = trainer_of(net, keep_grads=keep_grads)

    def live():
        gc.collect()
        return sum(a.nbytes for a in jax.live_arrays())

    for _ in range(3):
        step(net, trainer)
    few = live()
    for i in range(20):
        step(net, trainer)
        if i % 5 == 0:
            values(net)
    step(net, trainer)
    assert live() == few


@pytest.mark.dear
def test_files_and_states(tmp_path):
    net, twin = made(), made()
    trainer, other = trainer_of(net), trainer_of(twin)
    for _ in range(2):
        step(net, trainer)
    net.save_parameters(str(tmp_path / "w.params"))
    trainer.save_states(str(tmp_path / "t.states"))
    step(twin, other)
    twin.load_parameters(str(tmp_path / "w.params"))
    other.load_states(str(tmp_path / "t.states"))
    for _ in range(2):
        step(net, trainer), step(twin, other)
    same(values(net), values(twin))


def test_a_failed_program_leaves_them(monkeypatch):
    net = made()
    trainer = trainer_of(net)
    step(net, trainer), step(net, trainer)
    before = values(net)
    monkeypatch.setattr(vectors.Join, "vector", lambda *a: (_ for _ in ()).throw(MemoryError("no room")))
    with pytest.raises(MemoryError, match="no room"):
        step(net, trainer)
    monkeypatch.undo()
    same(values(net), {**before, **{n: v for n, v in values(net).items() if "running" in n}})
    step(net, trainer)
    assert not onp.array_equal(net[0].weight.data().asnumpy(), before["0.weight"])


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_narrow_weights(dtype):
    net, twin = made(dtype=dtype), made(hybrid=False, dtype=dtype)
    trainer, other = (trainer_of(n, "sgd", keep_grads=True) for n in (net, twin))
    for _ in range(3):
        step(net, trainer), step(twin, other)
    same(values(net), values(twin), 0.02)
    assert net[0].weight.data().dtype == jnp.dtype(dtype)


def test_layouts_are_shared_and_cut_what_they_join():
    avals = tuple(intern_aval(shape, onp.dtype("float32")) for shape in [(2, 3), (), (4,)])
    layout = vectors.layout_of(avals)
    assert vectors.layout_of(avals) is layout
    arrays = [onp.arange(6, dtype="float32").reshape(2, 3), onp.float32(7), onp.arange(4, dtype="float32")]
    for _ in range(policy.CUTS + 2):
        vector = vectors.Vector(layout)
        vector.value = layout.joined([jnp.asarray(a) for a in arrays])
        for i, array in enumerate(arrays):
            onp.testing.assert_array_equal(vector.array(i), array)
            assert vector.array(i).shape == array.shape


SETTINGS = {
    "sgd": {"momentum": 0.9},
    "adam": {},
    "lamb": {},
    "rmsprop": {"centered": True},
    "adamw": {},
    "nag": {"momentum": 0.9},
    "groupadagrad": {"wd": 0.0},
}
NAMES = sorted(n for n, c in mx.optimizer.Optimizer.opt_registry.items() if c.__module__.startswith("gluonx.optimizer"))


def trained(name, mults, monkeypatch, one_by_one, dtype="float32"):
    """Parameters and states after three steps; `one_by_one`: each weight is updated by itself."""
    mx.random.seed(3)
    monkeypatch.setattr(optimizers, "_made", {})
    if one_by_one:
        apart = lambda *given: arranged(*given[:-1], frozenset(range(len(given[2]))))  # noqa: E731
        monkeypatch.setattr(plans, "arranged", apart)
    net = made(dtype=dtype)
    if mults:
        net[0].weight.lr_mult, net[1].beta.wd_mult, net[2].bias.lr_mult = 0.5, 0.0, 2.0
    settings = {"learning_rate": 0.05, "wd": 0.01, **SETTINGS.get(name, {})}
    if dtype != "float32":
        settings["multi_precision"] = True
    trainer = gluon.Trainer(net.collect_params(), name, settings)
    for _ in range(3):
        step(net, trainer)
    monkeypatch.undo()
    return values(net), trainer


@pytest.mark.dear
@pytest.mark.parametrize("mults", [False, True])
@pytest.mark.parametrize("name", NAMES)
def test_an_update_of_all_is_the_updates_of_each(name, mults, monkeypatch):
    found, trainer = trained(name, mults, monkeypatch, False)
    wanted, other = trained(name, mults, monkeypatch, True)
    same(found, wanted, 2e-5)
    states, others = trainer._states(), other._states()
    same(states, others, 2e-5)
    assert not other._held.units.groups
    optimizer = trainer.optimizer
    joins = optimizer.by_element and not optimizer.by_index and not optimizer.draws
    assert bool(trainer._held.units.groups) == joins


@pytest.mark.dear
@pytest.mark.parametrize("mults", [False, True])
def test_float32_copies_of_narrow_weights_too(mults, monkeypatch):
    found, trainer = trained("adam", mults, monkeypatch, False, "bfloat16")
    wanted, _ = trained("adam", mults, monkeypatch, True, "bfloat16")
    same(found, wanted, 1e-2)
    assert trainer._held.units.groups


@pytest.mark.dear
def test_the_numbers_of_a_step_are_sent_only_when_they_change():
    net, twin = made(), made()
    trainer, other = trainer_of(net), trainer_of(twin)
    sent = []
    renewed = trainer._vector.renewed

    def watched(numbers):
        before = trainer._vector.handle.value
        handle = renewed(numbers)
        sent.append(handle.value is not before)
        return handle

    kept = trainer._vector
    own = {"renewed": staticmethod(watched), "__getattr__": lambda self, name: getattr(kept, name)}
    trainer._vector = type("Watched", (), own)()
    rates = [0.1, 0.1, 0.1, 0.05, 0.05, 0.1]
    for i, rate in enumerate(rates):
        for each in (trainer, other):
            each.set_learning_rate(rate)
        if i == 4:  # a step that fails, with another rate, is as if it had not been
            trainer.set_learning_rate(7.0)
            with pytest.raises(mx.errors.StaleGradientError):
                trainer.step(1)
            trainer.set_learning_rate(rate)
        step(net, trainer), step(twin, other)
    assert sent == [True, False, False, True, False, True]
    same(values(net), values(twin))


@pytest.mark.dear
def test_a_step_that_failed_in_its_program_sends_its_numbers_again(monkeypatch):
    net, twin = made(), made()
    trainer, other = trainer_of(net), trainer_of(twin)
    for each, its in ((net, trainer), (twin, other)):
        step(each, its), step(each, its)
    trainer.set_learning_rate(7.0)
    with monkeypatch.context() as patch:
        patch.setattr(vectors.Join, "vector", lambda *a: (_ for _ in ()).throw(MemoryError("no room")))
        with pytest.raises(MemoryError):
            step(net, trainer)
    trainer.set_learning_rate(0.1)
    net[1].running_mean.set_data(twin[1].running_mean.data())
    net[1].running_var.set_data(twin[1].running_var.data())
    for each, its in ((net, trainer), (twin, other)):
        step(each, its), step(each, its)
    same(values(net), values(twin), 1e-6)
