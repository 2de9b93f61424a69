"""Optimizers: their rules against MXNet's numbers and optax's, the flat interface, settings, counts and errors."""

import copy
import inspect
import re
import sys

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

import gluonx
from gluonx import lr_scheduler, optimizer
from gluonx.ops.updates import bias_correction
from gluonx.optimizer.numbers import Hyper, pack, unpack
from lib import TESTS
from lib.golden import load_cases

ORACLE = TESTS / "oracle" / "optimizer"
cases = load_cases("optimizer")
GRADS = cases.GRADS
LR_MULT = cases.LR_MULT
OPTIMIZERS = cases.OPTIMIZERS
SHAPES = cases.SHAPES
STEPS = cases.STEPS
WD_MULT = cases.WD_MULT
WEIGHTS = cases.WEIGHTS
plan = cases.plan
GOLDEN = dict(np.load(ORACLE / "optimizer.npz"))


def drive(opt, dtype="float32", steps=STEPS, only=None):
    """Run an optimizer as the Trainer does, one jitted program a step; give the trail of weights."""
    chosen = list(range(len(SHAPES))) if only is None else only
    weights = tuple(jnp.asarray(WEIGHTS[i], dtype) for i in chosen)
    rule = opt.flat_rule(weights, chosen)
    state = rule.init(weights)
    step = jax.jit(rule.apply)
    trail = []
    for k in range(steps):
        plan(opt, k)
        opt._update_count(chosen)
        grads = tuple(jnp.asarray(GRADS[k][i], dtype) for i in chosen)
        weights, state = step(weights, grads, state, opt.hyper(chosen))
        trail.append([np.asarray(w) for w in weights])
    assert step._cache_size() <= 2
    return [np.stack(t) for t in zip(*trail, strict=True)], state


@pytest.mark.parametrize("case", OPTIMIZERS)
def test_equals_mxnet(case):
    name, kwargs, dtype = OPTIMIZERS[case]
    opt = optimizer.create(name, **kwargs)
    opt.set_lr_mult(LR_MULT)
    opt.set_wd_mult(WD_MULT)
    only = [i for i in range(len(SHAPES)) if f"{case}/{i}" in GOLDEN]
    trails, _ = drive(opt, dtype, only=only)
    # MXNet's fused kernels lose digits in 1 - beta for beta = 0.999: their second average is off by up to 4e-5.
    # The cases without fused kernels, which have the same formulas, agree to 1e-6.
    fused = opt.use_fused_step and hasattr(opt, "beta2")
    tolerance = 1e-3 if dtype == "float16" else 2e-5 if fused else 1e-6
    for i, ours in zip(only, trails, strict=True):
        np.testing.assert_allclose(ours, GOLDEN[f"{case}/{i}"], rtol=tolerance, atol=tolerance, err_msg=f"{case}/{i}")


# ----------------------------------------------------------------- against optax


def twins(opt, tx, steps=4):
    """Run one of our optimizers and an optax transformation on the same gradients; give both ends."""
    weights = mine = tuple(jnp.asarray(w) for w in WEIGHTS)
    rule, other = opt.flat_rule(weights), tx.init(weights)
    state = rule.init(weights)
    for k in range(steps):
        grads = tuple(jnp.asarray(g) for g in GRADS[k])
        opt._update_count([0, 1, 2])
        mine, state = rule.apply(mine, grads, state, opt.hyper([0, 1, 2]))
        updates, other = tx.update(grads, other, weights)
        weights = optax.apply_updates(weights, updates)
    return mine, weights


@pytest.mark.dear
@pytest.mark.parametrize(
    ("opt", "tx"),
    [
        (optimizer.SGD(0.1), optax.sgd(0.1)),
        (optimizer.SGD(0.1, momentum=0.9), optax.sgd(0.1, momentum=0.9)),
        (optimizer.NAG(0.1, momentum=0.9), optax.sgd(0.1, momentum=0.9, nesterov=True)),
        (optimizer.Adam(0.1, epsilon=0.0), optax.adam(0.1, eps=0.0)),
        (optimizer.RMSProp(0.1, epsilon=1e-4), optax.rmsprop(0.1, eps=1e-4, eps_in_sqrt=False)),
        (optimizer.AdaGrad(0.1, epsilon=0.0), optax.adagrad(0.1, initial_accumulator_value=0.0, eps=0.0)),
    ],
    ids=lambda x: type(x).__name__,
)
def test_equals_optax_where_the_formulas_agree(opt, tx):
    # optax corrects the bias with 1 - beta**t in float32, which is off by up to 1e-4; ours is exact.
    tolerance = 1e-5 if isinstance(opt, optimizer.Adam) else 1e-6
    for ours, theirs in zip(*twins(opt, tx), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=tolerance, atol=tolerance)


@pytest.mark.dear
@pytest.mark.parametrize("tx", [optax.adam(1e-2), optax.chain(optax.clip_by_global_norm(0.5), optax.adamw(1e-2))])
def test_from_optax(tx):
    opt = optimizer.create(tx)
    assert isinstance(opt, optimizer.OptaxOptimizer) and opt.learning_rate is None
    for ours, theirs in zip(*twins(opt, tx), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-6)


@pytest.mark.dear
def test_from_optax_rescales_and_obeys_multipliers():
    tx = optax.sgd(0.1)
    opt = optimizer.from_optax(tx)
    opt.set_lr_mult({1: 0.0, 2: 0.5})
    opt.rescale_grad = 0.25
    weights = tuple(jnp.asarray(w) for w in WEIGHTS)
    grads = tuple(jnp.asarray(g) for g in GRADS[0])
    rule = opt.flat_rule(weights)
    opt._update_count([0, 1, 2])
    new, _ = rule.apply(weights, grads, rule.init(weights), opt.hyper([0, 1, 2]))
    for w, g, n, mult in zip(weights, grads, new, (1.0, 0.0, 0.5), strict=True):
        np.testing.assert_allclose(n, w - 0.1 * 0.25 * mult * g, rtol=1e-6)


@pytest.mark.dear
def test_from_optax_with_outer_learning_rate():
    opt = optimizer.from_optax(optax.scale_by_adam(eps=0.0), learning_rate=0.3)
    opt.set_learning_rate(0.1)
    assert opt.learning_rate == 0.1
    for ours, theirs in zip(*twins(opt, optax.adam(0.1, eps=0.0)), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-6)
    scheduled = optimizer.from_optax(
        optax.scale_by_adam(), lr_scheduler=lr_scheduler.FactorScheduler(1, 0.5, base_lr=1.0)
    )
    assert scheduled.learning_rate == 1.0


def test_optax_state_never_shares_a_buffer_with_a_weight():
    keeps_params = optax.GradientTransformation(lambda params: params, lambda g, s, p: (g, p))
    weights = tuple(jnp.asarray(w) for w in WEIGHTS)
    for opt in (optimizer.from_optax(keeps_params), optimizer.DCASGD()):
        rule = opt.flat_rule(weights)
        state = rule.init(weights)
        jax.jit(rule.apply, donate_argnums=(0, 2))(
            tuple(jnp.copy(w) for w in weights), weights, state, pack([0.1], [0.0], [1], 1.0, True)
        )
        assert not any(w.is_deleted() for w in weights)


@pytest.mark.dear
def test_our_rule_inside_an_optax_chain():
    tx = optax.chain(optax.clip_by_global_norm(1.0), optimizer.SGD(momentum=0.9).rule())
    params = {"a": jnp.ones(3), "b": jnp.ones((2, 2))}
    grads = jax.tree.map(lambda p: 10.0 * p, params)
    updates, _ = tx.update(grads, tx.init(params), params, lr=0.5, wd=0.0, t=1)
    norm = np.sqrt(7.0)
    np.testing.assert_allclose(updates["a"], -0.5 / norm * np.ones(3), rtol=1e-6)


# ----------------------------------------------------------------- the flat interface


def test_the_step_vector():
    short = pack([0.5], [0.1], [3], 0.25, True)
    assert short.dtype == np.float32 and short.tolist() == pytest.approx([0.25, 3, 0.5, 0.1])
    assert [float(x) for x in unpack(short, 7)] == pytest.approx([0.5, 0.1, 3, 0.25])
    long = unpack(pack([1, 2], [3, 4], [5, 6], 7, False), 2)
    assert [np.asarray(x).tolist() for x in long] == [[1, 2], [3, 4], [5, 6], 7]
    one = unpack(pack([1], [3], [5], 7, False), 1)
    assert [float(x) for x in one] == [1, 3, 5, 7]
    for uniform in (True, False):
        none = unpack(pack([1, 2], [0, 0], [5, 6], 7, uniform, decays=False), 2)
        assert type(none.wd) is float and none.wd == 0  # told apart from a decay that happens to be 0 now
        assert np.asarray(none.lr).tolist() == (1 if uniform else [1, 2]) and float(none.rescale) == 7
    with pytest.raises(ValueError, match=r"of 3 parameters has 3, 4, 7 or 10 entries .* this one has 8"):
        unpack(np.zeros(8, np.float32), 3)


@pytest.mark.parametrize("form", [dict, Hyper, None], ids=["dict", "Hyper", "vector"])
def test_the_numbers_may_come_in_three_forms(form):
    weights = (jnp.ones(2), jnp.ones(3))
    rule = optimizer.SGD().flat_rule(weights)
    numbers = {"lr": np.float32([0.1, 0.2]), "wd": np.float32(0.0), "t": np.int32(1), "rescale": np.float32(0.5)}
    hyper = form(**numbers) if form else pack([0.1, 0.2], [0, 0], [1, 1], 0.5, False)
    new, state = rule.apply(weights, weights, (), hyper)
    np.testing.assert_allclose(new[0], np.full(2, 0.95), rtol=1e-6)
    np.testing.assert_allclose(new[1], np.full(3, 0.9), rtol=1e-6)
    assert state == ()


@pytest.mark.dear
def test_flat_call_and_operator():
    weights = (jnp.ones(2), jnp.ones(3))
    rule = optimizer.Adam().flat_rule(weights)
    state = rule.init(weights)
    flat = (*weights, *weights, *state, pack([0.1], [0], [1], 1.0, True))
    out = rule(*flat)
    assert len(out) == 6 and rule.bound is rule.bound
    for a, b in zip(out, jax.jit(rule.bound.fn)(*flat), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-6)


def test_names_and_owners_of_state_leaves():
    weights = (jnp.ones(2), jnp.ones((3, 2), jnp.float16))
    rule = optimizer.Adam(multi_precision=True).flat_rule(weights)
    assert rule.leaf_names == ("master/1", "inner/0/mean", "inner/0/var", "inner/1/mean", "inner/1/var")
    assert rule.owners == (1, 0, 0, 1, 1)
    state = rule.init(weights)
    assert [leaf.dtype.name for leaf in state] == ["float32"] * 5
    rule = optimizer.from_optax(optax.adam(1e-3)).flat_rule(weights)
    assert rule.leaf_names == ("0/count", "0/mu/0", "0/mu/1", "0/nu/0", "0/nu/1")
    assert rule.owners == (None, 0, 1, 0, 1)
    assert repr(rule) == "FlatRule(2 weights, 5 state arrays)"


def test_states_begin_on_the_host():
    weights = (jnp.ones(2),)
    assert all(isinstance(leaf, np.ndarray) for leaf in optimizer.Adam().flat_rule(weights).init(weights))


def test_the_rule_is_the_same_object_until_a_setting_changes():
    opt = optimizer.SGD(0.1, momentum=0.9)
    weights = (jnp.ones(2),)
    rule, flat = opt.rule(), opt.flat_rule(weights)
    opt.set_learning_rate(0.5)
    opt.wd, opt.rescale_grad = 0.1, 0.5
    assert opt.rule() is rule and opt.flat_rule(weights) is flat
    opt.momentum = 0.5
    assert opt.rule() is not rule and opt.flat_rule(weights) is not flat
    opt.momentum = 0.9
    assert opt.rule() is rule and opt.flat_rule(weights) is flat


def test_a_changing_rate_count_or_scale_compiles_nothing():
    opt = optimizer.Adam(lr_scheduler=lr_scheduler.CosineScheduler(20, base_lr=0.001))
    weights = (jnp.ones(2), jnp.ones(3))
    rule = opt.flat_rule(weights)
    state, step = jax.device_put(rule.init(weights)), jax.jit(rule.apply)
    for k in range(5):
        opt.rescale_grad = 1.0 / (k + 1)
        opt._update_count([0, 1])
        weights, state = step(weights, weights, state, opt.hyper([0, 1]))
    assert step._cache_size() == 1


def test_the_step_vector_grows_once():
    opt = optimizer.SGD(0.1)
    assert opt.hyper([0, 1]).shape == (3,)
    opt.set_lr_mult({1: 0.5})
    assert opt.hyper([0, 1]).shape == (5,)
    opt.set_lr_mult({})
    assert opt.hyper([0, 1]).shape == (5,)
    opt.wd = 0.1
    assert opt.hyper([0, 1]).shape == (7,)
    opt.wd = 0.0
    assert opt.hyper([0, 1]).shape == (7,)


def test_parameters_updated_unequally_often_have_their_own_counts():
    opt = optimizer.Adam(0.1)
    opt._update_count([0, 1])
    opt._update_count([0])
    assert opt.num_update == 2
    assert unpack(opt.hyper([0, 1]), 2).t.tolist() == [2, 1]


@pytest.mark.dear
@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_master_weights_keep_small_updates(dtype):
    weights = (jnp.ones(4, dtype),)
    grads = (jnp.full(4, 1e-3, dtype),)
    for multi_precision, moved in ((True, True), (False, False)):
        opt = optimizer.SGD(0.1, multi_precision=multi_precision)
        rule = opt.flat_rule(weights)
        new, state = weights, rule.init(weights)
        step = jax.jit(rule.apply)
        for _ in range(200):
            opt._update_count([0])
            new, state = step(new, grads, state, opt.hyper([0]))
        assert new[0].dtype == dtype
        assert bool((new[0] < 1).all()) is moved
    # 200 steps of 1e-4 in float32
    assert float(state[0][0]) if state else True


@pytest.mark.dear
def test_states_keep_their_dtypes():
    weights = (jnp.ones(3, "bfloat16"),)
    for name, dtype in (("adam", "bfloat16"), ("rmsprop", "float32"), ("lamb", "float32")):
        rule = optimizer.create(name).flat_rule(weights)
        state = rule.init(weights)
        new, after = rule.apply(weights, weights, state, pack([0.1], [0.1], [1], 1.0, True))
        assert new[0].dtype == "bfloat16"
        assert [s.dtype.name for s in after] == [s.dtype.name for s in state] == [dtype] * len(state)


def test_bias_correction_is_exact():
    t = np.array([1, 2, 10, 1000, 10**6])
    for beta in (0.9, 0.999, 0.99999):
        np.testing.assert_allclose(bias_correction(beta, t), 1 - beta ** t.astype(np.float64), rtol=3e-7)
        # As an operand beta is float32: 6e-8 of it is this much of 1 - beta.
        operand = jax.jit(bias_correction)(beta, t)
        np.testing.assert_allclose(operand, bias_correction(beta, t), rtol=3e-7 + 6e-8 / (1 - beta))
    assert float(bias_correction(0.0, 1)) == 1.0


@pytest.mark.dear
def test_sgld_is_half_a_step_and_noise():
    weights = (jnp.zeros((200, 200)), jnp.zeros((200, 200)))
    opt = optimizer.SGLD(0.04)
    rule = opt.flat_rule(weights)
    state = rule.init(weights)
    opt._update_count([0, 1])
    grads = (jnp.ones((200, 200)),) * 2
    (a, b), state = rule.apply(weights, grads, state, opt.hyper([0, 1]), key=jax.random.key(1))
    assert float(a.mean()) == pytest.approx(-0.02, abs=5e-3) and float(a.std()) == pytest.approx(0.2, rel=0.02)
    assert abs(np.corrcoef(np.ravel(a), np.ravel(b))[0, 1]) < 0.02
    with pytest.raises(ValueError, match="key="):
        rule.apply(weights, grads, state, opt.hyper([0, 1]))


@pytest.mark.dear
@pytest.mark.parametrize("way", ["trainer", "naive", "closure", "scaler", "updater", "half"])
def test_sgld_draws_its_noise_at_every_step(way):
    """As MXNet's: from the stream of all random operators, so that a seed before a step decides that step."""
    net = gluonx.nn.Dense(8, in_units=300)
    net.initialize()
    if way == "half":
        net.cast("float16")
    trainer = gluonx.Trainer(net.collect_params(), "sgld", {"learning_rate": 0.01, "multi_precision": way == "half"})
    updater = optimizer.get_updater(optimizer.SGLD(0.01))
    if way == "scaler":
        gluonx.amp.init("bfloat16")
        gluonx.amp.init_trainer(trainer)
    x = gluonx.np.ones((2, 300), dtype="float16" if way == "half" else "float32")

    def noise():
        before = net.weight.data().asnumpy().astype("float32")
        if way == "closure":
            trainer.step(1, closure=lambda: 0 * net(x).sum())
        else:
            with gluonx.autograd.record():
                loss = 0 * net(x).sum()
            loss.backward()
            if way == "updater":
                updater(0, net.weight.grad(), net.weight.data())
            else:
                trainer.step(1)
        return net.weight.data().asnumpy().astype("float32") - before

    def check():
        gluonx.random.seed(5)
        first, second, third = noise(), noise(), noise()
        assert abs(np.corrcoef(first.ravel(), second.ravel())[0, 1]) < 0.1
        assert abs(np.corrcoef(second.ravel(), third.ravel())[0, 1]) < 0.1
        assert first.std() == pytest.approx(0.1, rel=0.1)
        gluonx.random.seed(5)
        again = [noise(), noise()]
        np.testing.assert_allclose(again, [first, second], atol=2e-3 if way == "half" else 1e-6)
        gluonx.random.seed(6)
        assert not np.allclose(noise(), first, atol=1e-2)

    try:
        if way == "naive":
            with gluonx.engine.mode("naive"):
                check()
        else:
            check()
    finally:
        if way == "scaler":
            gluonx.amp.reset()


@pytest.mark.dear
def test_lars_leaves_biases_alone():
    weights = (jnp.full((2, 2), 2.0), jnp.full(2, 2.0))
    grads = (jnp.ones((2, 2)), jnp.ones(2))
    opt = optimizer.LARS(0.1, eta=0.5, param_idx2name={5: "fc.weight", 6: "fc.bias"})
    rule = opt.flat_rule(weights, [5, 6])
    opt._update_count([5, 6])
    new, _ = rule.apply(weights, grads, rule.init(weights), opt.hyper([5, 6]))
    np.testing.assert_allclose(new[0], np.full((2, 2), 2 - 0.1 * 0.5 * 2), rtol=1e-6)
    np.testing.assert_allclose(new[1], np.full(2, 1.9), rtol=1e-6)


@pytest.mark.dear
@pytest.mark.parametrize("name", ["lamb", "lans", "lars"])
def test_zero_norms_give_no_nan(name):
    weights = (jnp.zeros(3), jnp.ones(3))
    grads = (jnp.ones(3), jnp.zeros(3))
    opt = optimizer.create(name)
    rule = opt.flat_rule(weights)
    opt._update_count([0, 1])
    new, state = rule.apply(weights, grads, rule.init(weights), opt.hyper([0, 1]))
    assert all(np.isfinite(x).all() for x in (*new, *state))


@pytest.mark.parametrize("name", sorted(set(optimizer.Optimizer.opt_registry) - {"sgld"}))
def test_every_optimizer_descends_and_leaks_no_tracer(name):
    opt = optimizer.create(name, **({"learning_rate": 0.01} if name != "adadelta" else {}))
    target = jnp.asarray(np.random.RandomState(0).normal(size=(4, 3)), jnp.float32)
    weights = (jnp.ones((4, 3)),)
    rule = opt.flat_rule(weights)
    state = rule.init(weights)

    def loss(w):
        return jnp.sum(jnp.square(w - target))

    with jax.checking_leaks():
        step = jax.jit(lambda w, s, h: rule.apply(w, (jax.grad(loss)(w[0]),), s, h))
        first = float(loss(weights[0]))
        for _ in range(60):
            opt._update_count([0])
            weights, state = step(weights, state, opt.hyper([0]))
    assert float(loss(weights[0])) < 0.999 * first


# ----------------------------------------------------------------- settings


def test_defaults_and_registry():
    assert isinstance(optimizer.create("SGD"), optimizer.SGD) and optimizer.create("sgd").lr == 0.1
    assert optimizer.Optimizer().lr == 0.01
    sgd = optimizer.SGD()
    assert optimizer.create(sgd, param_dict={0: None}) is sgd and sgd.param_dict == {0: None}
    assert repr(optimizer.SGD(0.1, momentum=0.9)) == "SGD(learning_rate=0.1, momentum=0.9, lazy_update=False, wd=0.0)"
    assert optimizer.RMSProp(centered=True).state_names == ("mean", "var", "momentum")


def test_multipliers_come_from_parameter_index_or_name():
    class Param:
        lr_mult, wd_mult = 0.1, 0.2

    opt = optimizer.SGD(1.0, wd=1.0, param_dict={0: Param()}, param_idx2name={2: "bias"})
    opt.set_lr_mult({0: 9.0, 1: 0.5, "bias": 2.0})
    opt.set_wd_mult({"bias": 0.0})
    assert opt._get_lrs([0, 1, 2, 3]) == [0.1, 0.5, 2.0, 1.0]
    assert opt._get_wds([0, 1, 2, 3]) == [0.2, 1.0, 0.0, 1.0]


def test_scheduler_decides_the_rate():
    opt = optimizer.SGD(None, lr_scheduler=lr_scheduler.FactorScheduler(2, 0.5, base_lr=0.8))
    rates = []
    for _ in range(6):
        opt._update_count([0])
        rates.append(opt.learning_rate)
    assert rates == [0.8, 0.8, 0.4, 0.4, 0.2, 0.2]
    with pytest.raises(UserWarning, match="comes from its lr_scheduler"):
        opt.set_learning_rate(1.0)


def test_an_explicit_rate_replaces_the_schedulers_base_as_in_mxnet():
    with pytest.warns(UserWarning, match="base_lr of 0.8 was replaced by the optimizer's learning_rate of 0.1"):
        opt = optimizer.SGD(lr_scheduler=lr_scheduler.FactorScheduler(2, 0.5, base_lr=0.8))
    assert opt.learning_rate == 0.1


def test_copies_and_counts_from_a_start():
    opt = optimizer.Adam(0.1, begin_num_update=10, param_dict={0: object()})
    opt.rule()
    opt.param_dict = {}
    opt._update_count([0])
    other = copy.deepcopy(opt)
    assert other.num_update == 11 and other.hyper([0]).tolist() == opt.hyper([0]).tolist()
    assert other.rule() is opt.rule()  # which is of the settings alone
    other.beta1 = 0.5
    assert other.rule() is not opt.rule()


def test_a_rule_of_a_users_class_is_the_objects_own():
    class Own(optimizer.Optimizer):
        def __init__(self, factor):
            super().__init__()
            self.factor = factor

        def _formula(self):
            return lambda weight, grad, leaves, at: (-self.factor * grad, leaves)

    one, two = Own(1.0), Own(2.0)
    changes = [
        rule.update([jnp.ones(1)], rule.init([jnp.ones(1)]), [jnp.ones(1)], lr=1.0, wd=0.0, t=1)[0]
        for rule in (one.rule(), two.rule())
    ]
    assert [change[0].tolist() for change in changes] == [[-1.0], [-2.0]]


def test_an_imperative_optimizer_has_no_rule():
    class Own(optimizer.Optimizer):
        def step(self, indices, weights, grads, states):
            for index, weight, grad in zip(indices, weights, grads, strict=True):
                self._update_count(index)
                weight -= self._get_lr(index) * grad

    own = Own(learning_rate=0.5)
    assert own.rule() is None and own.flat_rule((np.ones(2),)) is None
    weight = np.ones(2)
    own.update([0], [weight], [np.ones(2)], [None])
    assert weight.tolist() == [0.5, 0.5] and own.num_update == 1


@pytest.mark.parametrize("name", sorted(optimizer.Optimizer.opt_registry))
def test_no_setting_is_forgotten_by_the_rules(name):
    """A rule is known by all that its formula can see: each setting, changed, gives another rule."""
    opt = optimizer.create(name)
    seen = {opt.rule([0])}
    for setting in (*opt.setting_names, "clip_gradient", "multi_precision", "use_fused_step"):
        value = getattr(opt, setting)
        setattr(opt, setting, not value if isinstance(value, bool) else (value or 0) + 0.125)
        assert opt.rule([0]) not in seen, setting
        seen.add(opt.rule([0]))
    assert set(opt._formula().args[0]._fields) >= set(opt.setting_names)


def test_the_fields_of_a_declared_class_are_its_settings():
    @optimizer.declared
    class Sign(optimizer.Optimizer):
        learning_rate: float = 0.5
        least: float = 0.0
        state_names = ()

        def __post_init__(self):
            if self.least < 0:
                raise ValueError("least")

        @classmethod
        def formula(cls, settings, weight, grad, leaves, at):
            return -at.lr * jnp.sign(grad) * (abs(grad) > settings.least), ()

    opt = Sign(least=0.25, wd=0.5)
    assert repr(opt) == "Sign(learning_rate=0.5, least=0.25, wd=0.5)" and opt.rule() is opt.rule()
    weight, grad = gluonx.np.array([1.0, 1.0]), gluonx.np.array([0.125, 2.0])
    opt.update([0], [weight], [grad], [None])
    assert weight.tolist() == [1.0, 0.5]
    opt.least = 0.0  # no program of before runs
    opt.update([0], [weight], [grad], [None])
    assert weight.tolist() == [0.5, 0.0]
    assert list(inspect.signature(Sign).parameters) == ["learning_rate", "least", "kwargs"]
    with pytest.raises(ValueError, match="least"):
        Sign(0.1, -1)
    with pytest.raises(TypeError, match="leest"):
        Sign(0.1, leest=1)

    class Derived(Sign):
        def __init__(self, **kwargs):
            super().__init__(0.125, **kwargs)

    assert Derived.is_declared() is False and Derived(least=2.0).least == 2.0 and Derived().learning_rate == 0.125


def test_own_optimizer_by_formula():
    class Sign(optimizer.Optimizer):
        @classmethod
        def formula(cls, settings, weight, grad, leaves, at):
            return -at.lr * jnp.sign(grad), ()

    weights = (jnp.ones(2),)
    rule = Sign(learning_rate=0.5).flat_rule(weights)
    new, _ = rule.apply(weights, (jnp.asarray([3.0, -2.0]),), (), pack([0.5], [0], [1], 1.0, True))
    assert new[0].tolist() == [0.5, 1.5]


@pytest.mark.parametrize(
    ("make", "error", "words"),
    [
        (lambda: optimizer.create("sdg"), ValueError, "No optimizer is called 'sdg'; there are adabelief"),
        (
            lambda: optimizer.SGD(momentun=0.9),
            TypeError,
            "SGD got an unexpected keyword argument 'momentun'; did you mean 'momentum'",
        ),
        (lambda: optimizer.create(3), TypeError, "this is a int"),
        (lambda: optimizer.create(optimizer.SGD(), wd=0.1), TypeError, "settings already"),
        (lambda: optimizer.from_optax(optax.sgd(0.1), wd=0.1), ValueError, "optax.add_decayed_weights"),
        (lambda: optimizer.from_optax(optax.sgd(0.1), clip_gradient=1.0), ValueError, "optax.clip"),
        (lambda: optimizer.from_optax(optax.sgd(0.1)).set_learning_rate(0.1), UserWarning, "inside the optax"),
        (lambda: optimizer.GroupAdaGrad(wd=0.1), ValueError, "no weight decay"),
        (lambda: optimizer.Optimizer().rule(), NotImplementedError, "no update formula"),
        (lambda: optimizer.SGD().rule().update((), ()), TypeError, "lr"),
        (lambda: optimizer.SGD().rule().update((), (), lr=1, wd=0, t=1), ValueError, "needs the parameters"),
    ],
)
def test_errors(make, error, words):
    with pytest.raises(error, match=words):
        make()


@pytest.mark.dear
def test_importing_imports_no_optax():
    import subprocess

    code = "import sys, gluonx.optimizer, gluonx.initializer, gluonx.lr_scheduler; sys.exit('optax' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False, cwd=ORACLE.parents[2]).returncode == 0


# ----------------------------------------------------------------- on ndarrays


@pytest.fixture
def gnp():
    found = pytest.importorskip("gluonx.np")
    if not hasattr(found, "array"):
        pytest.skip("gluonx.np is not there yet")
    return found


@pytest.mark.dear
@pytest.mark.parametrize(
    "case", ["sgd-hard", "sgd-half", "adam-unfused", "ftrl", "rmsprop-centered", "dcasgd-momentum"]
)
def test_updater_equals_mxnet(case, gnp):
    name, kwargs, dtype = OPTIMIZERS[case]
    opt = optimizer.create(name, **kwargs)
    opt.set_lr_mult(LR_MULT)
    opt.set_wd_mult(WD_MULT)
    updater = optimizer.get_updater(opt)
    weights = [gnp.array(w, dtype=dtype) for w in WEIGHTS]
    handles = list(weights)
    tolerance = 1e-3 if dtype == "float16" else 1e-6
    for k in range(STEPS):
        plan(opt, k)
        for i, weight in enumerate(weights):
            updater(i, gnp.array(GRADS[k][i], dtype=dtype), weight)
            np.testing.assert_allclose(weight.asnumpy(), GOLDEN[f"{case}/{i}"][k], rtol=tolerance, atol=tolerance)
    assert all(a is b for a, b in zip(weights, handles, strict=True))


def test_updater_states_come_back(gnp):
    def run(updater, weight, steps):
        for k in steps:
            updater([0], [gnp.array(GRADS[k][0])], [weight])
        return weight.asnumpy()

    first = optimizer.get_updater(optimizer.Adam(0.1))
    weight = gnp.array(WEIGHTS[0])
    middle = run(first, weight, range(2))
    saved = first.get_states(dump_optimizer=True)
    end = run(first, weight, range(2, 4))
    second = optimizer.get_updater(optimizer.Adam(0.3))
    second.set_states(saved)
    np.testing.assert_allclose(run(second, gnp.array(middle), range(2, 4)), end, rtol=1e-6)
    with pytest.raises(ValueError, match="no optimizer states of gluonx"):
        second.set_states(b"junk")


def test_imperative_optimizer_on_ndarrays(gnp):
    class Own(optimizer.Optimizer):
        def create_state(self, index, weight):
            return gnp.zeros(weight.shape)

        def step(self, indices, weights, grads, states):
            for index, weight, grad, state in zip(indices, weights, grads, states, strict=True):
                self._update_count(index)
                state[:] += grad
                weight[:] -= self._get_lr(index) * state

    weight = gnp.ones(2)
    updater = optimizer.get_updater(Own(learning_rate=0.5))
    for _ in range(2):
        updater(0, gnp.ones(2), weight)
    assert weight.asnumpy().tolist() == [-0.5, -0.5]


@pytest.mark.parametrize("name", ["sgd", "nag", "signum", "adam"])
def test_no_loop_over_the_weights_of_a_convolution_is_one_operation(name):
    """XLA on a CPU writes such a loop in tiles, four times as slow; its name is that of the operation, 'wrapped'."""
    opt = optimizer.create(name, **({"momentum": 0.9} if name != "adam" else {}))
    weights = (jnp.ones((64, 32, 3, 3)), jnp.ones((7, 5)))
    rule = opt.flat_rule(weights, [0, 1])
    compiled = jax.jit(rule.apply).lower(
        weights, weights, rule.init(weights), jnp.asarray(pack([1], [1], [1], 1.0, True))
    )
    loops = re.findall(r"= (\S+) fusion\(.*calls=%(\S+),", compiled.compile().as_text())
    assert any(shape.startswith("f32[64,32,3,3]") for shape, _ in loops)
    assert not [name for shape, name in loops if "64,32,3,3" in shape and name.startswith("wrapped")], loops
