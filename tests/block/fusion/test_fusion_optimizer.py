"""Training a fused net is training the same net apart: every optimizer, every setting of a single piece, every file."""

import jax
import numpy as onp
import optax
import pytest

import gluonx
from gluonx import Fused, Trainer, autograd, engine, nn, np, optimizer
from gluonx.block.block import HybridBlock
from gluonx.block.parameter import Parameter
from gluonx.deferred.run import flushing
from gluonx.errors import FormatError, StaleGradientError

NAMES = sorted(
    name
    for name in optimizer.Optimizer.opt_registry
    if optimizer.Optimizer.opt_registry[name].__module__.startswith("gluonx.")
)
SETTINGS = {
    "sgd": {"momentum": 0.9},
    "dcasgd": {"momentum": 0.9},
    "lars": {"momentum": 0.9, "eta": 0.1},
    "rmsprop": {"centered": True},
    "adabelief": {"learning_rate": 0.01},
}
NO_DECAY = ("groupadagrad",)
FEW = ("adam", "lamb", "lans", "lars", "nadam", "sgd")
SOME = [name if name in FEW else pytest.param(name, marks=pytest.mark.slow) for name in NAMES]


@pytest.fixture(autouse=True)
def _quiet(monkeypatch):
    """Many programs from one line are what these tests are about."""
    monkeypatch.setattr(flushing, "_sites", {})


class Gates(HybridBlock):
    """Three ways of fusing in one net: end to end, stacked and transposed, and all in one vector."""

    def __init__(self):
        super().__init__()
        for name in ("a", "b"):
            setattr(self, f"{name}_weight", Parameter(f"{name}_weight", shape=(3, 4)))
            setattr(self, f"{name}_bias", Parameter(f"{name}_bias", shape=(3,)))
        self.left, self.right = (Parameter(n, shape=(3, 2)) for n in ("left", "right"))
        self.plain = Parameter("plain", shape=(2,))
        self.declare_fusion(
            Fused("weight", ("a_weight", "b_weight")),
            Fused("bias", ("a_bias", "b_bias"), how="flat"),
            Fused("both", ("left", "right"), how="stack", axis=1, transposed=True),
        )

    def forward(self, x):
        h = np.dot(x, self.weights_of("weight").T) + self.weights_of("bias")
        h = np.tanh(h.reshape((-1, 2, 3)))
        both = self.weights_of("both")  # (2, 2, 3): in, which, out
        return np.dot(h[:, 0], both[:, 0].T) * self.plain.data() + np.dot(h[:, 1], both[:, 1].T)


def made(fused, hybrid=False, dtype="float32"):
    net = Gates()
    net.initialize()
    rng = onp.random.RandomState(3)
    for param in net.collect_params(fused=False).values():
        param.set_data(rng.uniform(-1, 1, param.shape))
    net.cast(dtype)
    if hybrid:
        net.hybridize()
    if fused:
        assert (net.fuse().before, len(net.collect_params())) == (7, 4)
    return net


def run(net, trainer, steps=range(3)):
    for step in steps:
        x = np.array(onp.random.RandomState(step).uniform(-1, 1, (5, 4)), dtype=net.a_weight.dtype)
        with autograd.record():
            loss = ((net(x) - 1) ** 2).sum()
        loss.backward()
        trainer.step(5)


def values(net):
    return {name: p.data().asnumpy().astype("float32") for name, p in net.collect_params(fused=False).items()}


def close(a, b, rtol=3e-5, atol=1e-6):
    assert a.keys() == b.keys()
    for name in a:
        onp.testing.assert_allclose(a[name], b[name], rtol=rtol, atol=atol, err_msg=name)


def both(make_trainer, prepare=lambda net: None, **kwargs):
    """The nets after the same steps, fused and apart."""
    nets = []
    for fused in (True, False):
        gluonx.random.seed(5)
        net = made(fused, **kwargs)
        prepare(net)
        run(net, make_trainer(net))
        assert net.is_fused == fused
        nets.append(net)
    return nets


def trainer_of(name, **more):
    settings = {"wd": 0.0 if name in NO_DECAY else 0.01, "clip_gradient": 5.0, **SETTINGS.get(name, {}), **more}
    return lambda net: Trainer(net.collect_params(), name, settings)


@pytest.mark.dear
@pytest.mark.parametrize("name", NAMES)
def test_every_optimizer_follows_the_same_path(name):
    fused, apart = both(trainer_of(name))
    close(values(fused), values(apart))


@pytest.mark.dear
@pytest.mark.parametrize("name", SOME)
def test_factors_and_a_frozen_piece_hold_for_single_pieces(name):
    def prepare(net):
        net.a_weight.lr_mult = 0.3
        net.b_bias.lr_mult = 2.0
        net.left.wd_mult = 0.0
        net.b_weight.grad_req = "null"

    before = values(made(False))
    fused, apart = both(trainer_of(name), prepare)
    close(values(fused), values(apart))
    onp.testing.assert_array_equal(values(fused)["b_weight"], before["b_weight"])
    assert not onp.array_equal(values(fused)["a_weight"], before["a_weight"])


@pytest.mark.dear
@pytest.mark.parametrize("name", ["lamb", pytest.param("nadam", marks=pytest.mark.slow)])
def test_hybridized_and_naive(name):
    fused, apart = both(trainer_of(name), hybrid=True)
    close(values(fused), values(apart))
    with engine.mode("naive"):
        naive, _ = both(trainer_of(name))
    close(values(naive), values(fused))


@pytest.mark.dear
@pytest.mark.parametrize("name", ["lamb", "groupadagrad"])
def test_half_precision_with_float32_copies(name):
    fused, apart = both(trainer_of(name, multi_precision=True), dtype="bfloat16")
    close(values(fused), values(apart), rtol=0.02, atol=0.01)


@pytest.mark.dear
@pytest.mark.parametrize(
    "tx",
    [lambda: optax.adam(0.01), lambda: optax.chain(optax.clip_by_global_norm(0.5), optax.lamb(0.05))],
    ids=["adam", "clipped lamb"],
)
def test_optax_sees_the_pieces(tx):
    tx = tx()
    fused, apart = both(lambda net: Trainer(net.collect_params(), tx))
    close(values(fused), values(apart))


class ByHand(optimizer.Optimizer):
    """A user's optimizer with a step of its own that looks at whole weights."""

    def create_state(self, index, weight):
        return np.zeros(weight.shape)

    def step(self, indices, weights, grads, states):
        for weight, grad, state in zip(weights, grads, states):
            state[:] = 0.5 * state + grad * self.rescale_grad / (1 + abs(weight).max())
            weight[:] = weight - 0.1 * state


@pytest.mark.dear
def test_an_imperative_optimizer_sees_the_pieces():
    fused, apart = both(lambda net: Trainer(net.collect_params(), ByHand()))
    close(values(fused), values(apart))


class OwnFormula(optimizer.SGD):
    """A user's formula, of which nobody knows that it works by element."""

    @classmethod
    def formula(cls, settings, weight, grad, leaves, at):
        return -at.lr * grad / (1 + abs(weight).max()), leaves


@pytest.mark.dear
def test_a_formula_of_a_user_sees_the_pieces():
    fused, apart = both(lambda net: Trainer(net.collect_params(), OwnFormula(learning_rate=0.1)))
    close(values(fused), values(apart))


@pytest.mark.dear
def test_lars_leaves_single_pieces_unscaled_by_name():
    def trainer(net):
        names = sorted(net.collect_params(fused=False))
        shown = {"b_weight": "beta"}  # no name of a fused net's pieces ends like this
        opt = optimizer.LARS(
            0.1, momentum=0.9, eta=0.1, param_idx2name={i: shown.get(n, n) for i, n in enumerate(names)}
        )
        return Trainer(net.collect_params(), opt)

    fused, apart = both(trainer)
    close(values(fused), values(apart))


# == the Trainer =======================================================================================================


@pytest.mark.dear
@pytest.mark.parametrize("name", ["adam", "lamb", "nadam", "optax"])
def test_fusing_in_the_middle_changes_nothing(name):
    """A Trainer that was made before, with the pieces, goes on with its states; and back again."""
    make = trainer_of(name) if name != "optax" else lambda net: Trainer(net.collect_params(), optax.adam(0.01))
    net, other = made(False), made(False)
    trainer, reference = make(net), make(other)
    run(net, trainer, range(2))
    net.fuse()
    run(net, trainer, range(2, 4))
    net.unfuse()
    run(net, trainer, range(4, 6))
    run(other, reference, range(6))
    close(values(net), values(other))


@pytest.mark.dear
def test_fusing_between_backward_and_step_keeps_the_gradients():
    net, other = made(False), made(False)
    trainer, reference = trainer_of("adam")(net), trainer_of("adam")(other)
    for each, opt in ((net, trainer), (other, reference)):
        with autograd.record():
            loss = (each(np.ones((2, 4))) ** 2).sum()
        loss.backward()
        if each is net:
            net.fuse()
        opt.step(2)
    close(values(net), values(other))


@pytest.mark.parametrize("to_fused", [True, False])
@pytest.mark.parametrize("name", ["adam", "groupadagrad", pytest.param("optax", marks=pytest.mark.slow)])
def test_states_are_saved_by_piece(tmp_path, name, to_fused):
    make = trainer_of(name) if name != "optax" else lambda net: Trainer(net.collect_params(), optax.adam(0.01))
    net = made(not to_fused)
    trainer = make(net)
    run(net, trainer, range(2))
    net.save_parameters(tmp_path / "net")
    trainer.save_states(tmp_path / "states")
    other = made(to_fused)
    other.load_parameters(tmp_path / "net")
    second = make(other)
    second.load_states(tmp_path / "states")
    run(net, trainer, range(2, 5))
    run(other, second, range(2, 5))
    close(values(net), values(other))


@pytest.mark.dear
def test_states_of_a_frozen_piece_wait(tmp_path):
    """Frozen, saved, and thawed again: the piece goes on where it stood, fused or not."""
    nets = []
    for fused in (True, False):
        net = made(fused)
        trainer = trainer_of("adam")(net)
        run(net, trainer, range(2))
        net.a_weight.grad_req = "null"
        run(net, trainer, range(2, 3))
        trainer.save_states(tmp_path / "states")
        trainer.load_states(tmp_path / "states")
        net.a_weight.grad_req = "write"
        run(net, trainer, range(3, 5))
        nets.append(net)
    close(values(nets[0]), values(nets[1]))


def test_states_with_a_piece_missing_are_refused(tmp_path):
    net = made(True)
    trainer = trainer_of("adam")(net)
    run(net, trainer, range(1))
    trainer.save_states(tmp_path / "states")
    arrays = gluonx.files.load_arrays(tmp_path / "states")
    del arrays["a_bias/mean"]
    gluonx.files.save_arrays(tmp_path / "less", arrays)
    before = values(net)
    with pytest.raises(FormatError, match="a_bias/mean"):
        trainer.load_states(tmp_path / "less")
    close(values(net), before, 0, 0)


@pytest.mark.dear
def test_a_trainer_of_some_pieces_leaves_the_others():
    nets = []
    for fused in (True, False):
        net = made(fused)
        run(net, Trainer({"a_weight": net.a_weight, "right": net.right}, "adam"), range(3))
        nets.append(net)
    close(values(nets[0]), values(nets[1]))
    start = values(made(False))
    moved = [name for name, value in values(nets[0]).items() if not onp.array_equal(value, start[name])]
    assert sorted(moved) == ["a_weight", "right"]


@pytest.mark.dear
def test_two_trainers_can_share_an_array():
    nets = []
    for fused in (True, False):
        net = made(fused)
        params = net.collect_params(fused=False)
        first = Trainer({n: p for n, p in params.items() if n.startswith("a_")}, "adam")
        second = Trainer({n: p for n, p in params.items() if not n.startswith("a_")}, "sgd")
        for step in range(3):
            with autograd.record():
                loss = (net(np.array(onp.random.RandomState(step).uniform(size=(2, 4)), dtype="float32")) ** 2).sum()
            loss.backward()
            first.step(1)
            if step == 1:
                net.a_weight.grad().asnumpy()
            second.step(1)
            for trainer in (first, second):
                with pytest.raises(StaleGradientError):
                    trainer.step(1)
        nets.append(net)
    close(values(nets[0]), values(nets[1]))


def test_patterns_that_name_pieces_give_pieces():
    net = made(True)
    for param in net.collect_params(".*_bias").values():
        param.wd_mult = 0.0
    assert net.collect_params()["bias"].wd_mult == 0.0
    assert list(net.collect_params("a_.*")) == ["a_weight", "a_bias"]
    assert list(net.collect_params("weight")) == ["weight"]


@pytest.mark.dear
def test_a_stale_gradient_names_the_fused_parameter():
    net = made(True)
    trainer = trainer_of("sgd")(net)
    run(net, trainer, range(1))
    with autograd.record():
        loss = net.weights_of("weight").sum()
    loss.backward()
    with pytest.raises(StaleGradientError, match=r"Gates\.(bias|both|plain)"):
        trainer.step(1)
    before = values(net)
    trainer.step(1, ignore_stale_grad=True)
    after = values(net)
    assert {n for n in before if not onp.array_equal(before[n], after[n])} == {"a_weight", "b_weight"}


@pytest.mark.dear
def test_nothing_compiles_in_a_steady_loop():
    net = made(True, hybrid=True)
    trainer = trainer_of("lamb")(net)
    net.a_weight.lr_mult = 0.5
    run(net, trainer, range(3))
    start = engine.stats()["programs_compiled"]
    for step in range(3, 6):
        trainer.set_learning_rate(0.1 / step)
        net.a_weight.lr_mult = 1 / step
        run(net, trainer, [step])
    assert engine.stats()["programs_compiled"] == start


# == steps with a closure ==============================================================================================


def closed(net, trainer, steps, size=1):
    x = np.array(onp.random.RandomState(0).uniform(-1, 1, (6, 4)), dtype="float32")
    return [trainer.step(size, closure=lambda: ((net(x) - 0.5) ** 2).sum()).item() for _ in range(steps)]


@pytest.mark.dear
def test_lbfgs_with_a_closure():
    """Against optax's own loop on the functional view."""
    net = made(False)
    pure = gluonx.functional(net)
    x = onp.random.RandomState(0).uniform(-1, 1, (6, 4)).astype("float32")

    def loss(params):
        return ((pure.apply(params, pure.state, None, x)[0] - 0.5) ** 2).sum() / 6

    tx = optax.lbfgs()
    params = dict(sorted(pure.params.items()))
    state = tx.init(params)
    expected = []

    @jax.jit
    def step(params, state):
        value, grads = optax.value_and_grad_from_state(loss)(params, state=state)
        updates, state = tx.update(grads, state, params, value=value, grad=grads, value_fn=loss)
        return optax.apply_updates(params, updates), state, value

    for _ in range(4):
        params, state, value = step(params, state)
        expected.append(float(value) * 6)
    net = made(True, hybrid=True)
    losses = closed(net, Trainer(net.collect_params(), optax.lbfgs()), 4, 6)
    onp.testing.assert_allclose(losses, expected, rtol=1e-3)
    assert losses[-1] < losses[0] / 10


@pytest.mark.dear
def test_a_closure_compiles_once_and_takes_any_optimizer():
    net, other = made(True), made(False)
    trainer = Trainer(net.collect_params(), "adam")
    closed(net, trainer, 1)
    start = engine.stats()["programs_compiled"]
    closed(net, trainer, 2)
    assert engine.stats()["programs_compiled"] == start
    closed(other, Trainer(other.collect_params(), "adam"), 3)
    close(values(net), values(other))


def test_a_closure_writes_running_averages_and_draws_masks():
    net = nn.HybridSequential()
    net.add(nn.Dense(4, in_units=3), nn.BatchNorm(in_channels=4), nn.Dropout(0.5), nn.Dense(1, in_units=4))
    net.initialize()
    trainer = Trainer(net.collect_params(), "sgd")
    x = np.array(onp.random.RandomState(0).uniform(size=(8, 3)))
    losses = [trainer.step(8, closure=lambda: (net(x) ** 2).sum()).item() for _ in range(3)]
    assert len(set(losses)) == 3
    assert onp.isfinite(net[1].running_mean.data().asnumpy()).all()
    assert abs(net[1].running_mean.data().asnumpy()).max() > 0


@pytest.mark.parametrize(
    ("closure", "message"),
    [
        (lambda net: lambda: None, "must return the loss as one array"),
        (lambda net: lambda: np.ones((2,)), "none of the Trainer's parameters"),
        (lambda net: lambda: (net(np.ones((1, 4))).sum()).backward(), "backward"),
    ],
)
def test_a_wrong_closure_changes_nothing(closure, message):
    net = made(True)
    trainer = Trainer(net.collect_params(), optax.lbfgs())
    before = values(net)
    with pytest.raises(gluonx.GluonxError, match=message):
        trainer.step(1, closure=closure(net))
    close(values(net), before, 0, 0)
