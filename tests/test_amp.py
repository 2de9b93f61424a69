"""gluonx.amp: casts, lists, the loss scale, converted blocks."""

import json

import numpy as onp
import pytest

import gluonx
from gluonx import Trainer, amp, autograd, engine, gluon, init, loss, nn, np, npx, random
from gluonx.deferred.operators import amp_policy
from gluonx.errors import GluonxError
from gluonx.ops.registry import OPS
from lib import TESTS

GOLDEN = TESTS / "oracle" / "amp"
SCALER = json.loads((GOLDEN / "scaler.json").read_text())
SYMBOLS = json.loads((GOLDEN / "symbols.json").read_text())
TARGETS = ("float16", "bfloat16")


@pytest.fixture(autouse=True)
def off_again():
    yield
    amp.reset()


def small_net(hybrid=False):
    random.seed(1)
    net = nn.HybridSequential()
    net.add(
        nn.Conv2D(6, 3, in_channels=2),
        nn.BatchNorm(),
        nn.Activation("relu"),
        nn.Flatten(),
        nn.Dense(16),
        nn.LayerNorm(),
        nn.Activation("relu"),
        nn.Dense(3),
    )
    net.initialize(init.Xavier())
    if hybrid:
        net.hybridize()
    return net


def batch():
    r = onp.random.default_rng(0)
    return np.array(r.normal(size=(16, 2, 6, 6))), np.array(r.integers(0, 3, (16,)), dtype="int32")


def step(net, trainer, x, y, *, unscale=False, spoil=False, clip=None):
    with autograd.record():
        value = loss.SoftmaxCrossEntropyLoss()(net(x), y)
        if spoil:
            value = value * np.array(onp.inf)
        if trainer._scaler is None:
            value.backward()
        else:
            with amp.scale_loss(value, trainer) as scaled:
                scaled.backward()
    if unscale:
        amp.unscale(trainer)
    if clip is not None:
        grads = [p.grad() for p in net.collect_params().values() if p.grad_req != "null"]
        gluon.utils.clip_global_norm(grads, clip, check_isfinite=False)
    trainer.step(16)
    return value


def train(target, hybrid, steps=8, scale=256.0, **options):
    """Losses of some steps; with a scale that float16 can bear from the first step on."""
    if target:
        amp.init(target)
    net = small_net(hybrid)
    trainer = Trainer(net.collect_params(), "adam", {"learning_rate": 0.02})
    if target:
        amp.init_trainer(trainer)
        trainer._attach_scaler(amp.LossScaler(scale))
    x, y = batch()
    values = [step(net, trainer, x, y, **options) for _ in range(steps)]
    return net, trainer, [v.mean().item() for v in values]


# -- casts -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("target", TARGETS)
def test_each_operator_runs_in_its_precision(target):
    amp.init(target)
    x, w = np.ones((2, 3)), np.ones((4, 3))
    low = np.matmul(x, w.T)
    assert str(low.dtype) == target
    assert str(npx.fully_connected(x, w, num_hidden=4, no_bias=True).dtype) == target
    assert str(np.einsum("ij,kj->ik", x, w).dtype) == target
    assert str((x @ w.T).dtype) == target
    for single in (np.exp(low), npx.softmax(low), low.sum(), np.mean(low), low**2, low**2.5, np.linalg.norm(low)):
        assert str(single.dtype) == "float32"
    for kept in (low + 1, npx.relu(low), low.reshape(-1), np.maximum(low, low), np.sqrt(low), low * low):
        assert str(kept.dtype) == target
    assert str((low + np.ones((2, 4))).dtype) == "float32"  # the widest
    assert str(npx.activation(low, act_type="softrelu").dtype) == "float32"
    assert str(npx.activation(low, act_type="relu").dtype) == target
    whole = np.ones((2, 2), dtype="int32")
    assert str(np.matmul(whole, whole).dtype) == "int32"
    amp.reset()
    assert str(np.matmul(x, w.T).dtype) == "float32" and str((low**2).dtype) == target


@pytest.mark.parametrize("mode", ["deferred", "naive"])
def test_gradients_are_float32_and_near(mode):
    r = onp.random.default_rng(2)
    x, w = np.array(r.normal(size=(5, 4))), np.array(r.normal(size=(4, 3)))
    found = []
    for target in (None, "bfloat16"):
        if target:
            amp.init(target)
        w.attach_grad()
        with engine.mode(mode):
            with autograd.record():
                out = np.tanh(np.matmul(x, w)).sum()
            out.backward()
            found.append(w.grad.asnumpy())
    assert w.grad.dtype == onp.float32
    onp.testing.assert_allclose(found[1], found[0], atol=0.06)
    assert (found[1] != found[0]).any()


def test_a_hybridized_net_is_traced_anew():
    net = nn.Dense(2, in_units=3)
    net.initialize()
    net.hybridize()
    x = np.ones((1, 3))
    dtypes = [str(net(x).dtype)]
    for target in ("float16", "bfloat16", "float16"):
        amp.init(target)
        dtypes.append(str(net(x).dtype))
    amp.reset()
    engine.reset_stats()
    assert str(net(x).dtype) == "float32" and engine.stats()["traces"] == 0
    assert dtypes == ["float32", "float16", "bfloat16", "float16"]


def test_deferred_shapes_are_found():
    amp.init("bfloat16")
    net = nn.Dense(2)
    net.initialize()
    assert net(np.ones((4, 7))).shape == (4, 2) and net.weight.shape == (2, 7)


def test_dropout_draws_under_amp():
    amp.init("float16", fp32_ops=["dropout"])
    half = np.ones((64,), dtype="float16")
    with autograd.train_mode():
        a, b = npx.dropout(half, p=0.5), npx.dropout(half, p=0.5)
    assert str(a.dtype) == "float32" and (a != b).any()


@pytest.mark.dear
def test_processes_without_amp_pay_nothing():
    """Operators are as they were, until a policy is made."""
    import subprocess
    import sys

    code = (
        "from gluonx import np, ops\n"
        "from gluonx.deferred.operators import amp_policy, derived\n"
        "x = np.ones((2, 2)); np.matmul(x, x); x ** 2\n"
        "assert not amp_policy.Switch.on and not derived.ADAPTED\n"
        "assert ops.get('matmul').bind().cache is derived.PLAIN\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


# -- lists -------------------------------------------------------------------------------------------------------------


def test_lists_share_nothing_and_name_operators():
    for module in (np, np.linalg, npx):
        for name in dir(module):
            getattr(module, name)
    lists = (amp.list_lp16_ops, amp.list_fp32_ops, amp.list_widest_type_cast, amp.list_lp16_fp32_ops)
    names = [name for make in lists for name in make("float16")]
    names += [name for name, _, _ in amp.list_conditional_fp32_ops("float16")]
    assert len(names) == len(set(names))
    known = {op.name.removeprefix("np.") for op in OPS.values()}
    assert known <= set(names)
    assert not set(names) - known
    outputs = amp.list_loss_output_functions("bfloat16")
    assert set(outputs) <= set(amp.list_fp32_ops("bfloat16"))
    assert outputs == [  # MXNet's, under our names
        "linear_regression_output", "logistic_regression_output", "mae_regression_output", "softmax_output"
    ]  # fmt: skip
    assert "gamma" in amp.list_lp16_use_fp32_params("bfloat16")["batch_norm"]


def test_a_users_list_wins():
    amp.init("bfloat16", target_precision_ops=["exp"], fp32_ops=["FullyConnected", "_npi_matmul"])
    x = np.ones((2, 2))
    assert str(np.exp(x).dtype) == "bfloat16"
    assert str(np.matmul(np.exp(x), x).dtype) == "float32"
    assert str(np.log(np.exp(x)).dtype) == "bfloat16"  # no longer in the float32 list


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"target_dtype": "float8"}, ValueError, "'float16' or 'bfloat16', got 'float8'"),
        ({"target_dtype": onp.int8}, ValueError, "'float16' or 'bfloat16'"),
        ({"fp32_ops": ["softmx"]}, ValueError, "no operator 'softmx'; did you mean 'softmax'"),
        ({"fp32_ops": "softmax"}, TypeError, "fp32_ops must be a list"),
        ({"fp32_ops": ["exp"], "target_precision_ops": ["_npi_exp"]}, ValueError, "in two lists: exp"),
    ],
)
def test_bad_settings(arguments, error, message):
    with pytest.raises(error, match=message):
        amp.init(**arguments)
    assert amp_policy.Switch.policy is None


def test_bad_use():
    net = nn.Dense(1, in_units=1)
    net.initialize()
    trainer = Trainer(net.collect_params(), "sgd")
    with pytest.raises(GluonxError, match=r"call amp.init\(\)"):
        amp.init_trainer(trainer)
    with pytest.raises(GluonxError, match="init_trainer"), amp.scale_loss(np.ones(1), trainer):
        pass
    with pytest.raises(GluonxError, match="init_trainer"):
        amp.unscale(trainer)
    with pytest.raises(TypeError, match="Trainer, got SGD"):
        amp.init_trainer(gluonx.optimizer.SGD())
    with pytest.raises(AttributeError, match="no loss scale"):
        _ = trainer.amp_loss_scale
    with pytest.raises(AttributeError, match="'convert_nothing'"):
        _ = amp.convert_nothing


# -- the loss scale ----------------------------------------------------------------------------------------------------


@pytest.mark.dear
@pytest.mark.parametrize("vector", ["short", "long", "with decay"])
@pytest.mark.parametrize("mode", ["deferred", "naive"])
def test_the_scale_moves_as_mxnets(mode, vector):
    """Scales of each step and weights after it, skipped steps and bias corrections of Adam included."""
    with engine.mode(mode):
        amp.init("float16", target_precision_ops=[])
        net = nn.Dense(1, in_units=1, use_bias=False, weight_initializer="ones")
        net.initialize()
        trainer = Trainer(net.collect_params(), "adam", {"learning_rate": 0.125})
        amp.init_trainer(trainer)
        trainer._attach_scaler(amp.LossScaler(2.0**16, SCALER["interval"], SCALER["max_scale"]))
        trainer.optimizer._uniform, trainer.optimizer._decays = vector == "short", vector == "with decay"
        for kind, (scale, weight) in zip(SCALER["pattern"], SCALER["steps"]):
            with autograd.record():
                value = net(np.ones((1, 1))) ** 2
                if kind == "b":
                    value = value * onp.inf
                with amp.scale_loss(value, trainer) as scaled:
                    scaled.backward()
            assert trainer.amp_loss_scale == scale
            trainer.step(1)
            assert net.weight.data().item() == pytest.approx(weight, abs=3e-5)
        skipped = SCALER["pattern"].count("b")
        assert trainer._scaler.skipped == skipped
        trainer._scaler.settle(trainer.optimizer)
        assert trainer.optimizer.num_update == SCALER["updates"] and trainer._scaler.skipped == 0


@pytest.mark.dear
@pytest.mark.parametrize("hybrid", [False, True])
@pytest.mark.parametrize("target", TARGETS)
def test_training_reaches_float32s_loss(target, hybrid):
    _, _, wanted = train(None, True)
    net, trainer, found = train(target, hybrid)
    assert found == pytest.approx(wanted, abs=0.02)
    assert wanted[-1] < 0.3 * wanted[0]
    assert trainer._scaler.skipped == 0
    assert {str(p.data().dtype) for p in net.collect_params().values()} == {"float32"}


@pytest.mark.dear
def test_naive_mode_agrees():
    _, _, wanted = train("bfloat16", False, steps=3)
    with engine.mode("naive"):
        _, _, found = train("bfloat16", False, steps=3)
    assert found == pytest.approx(wanted, abs=5e-3)


@pytest.mark.dear
def test_too_large_a_scale_finds_its_way():
    """From 2**24 the scale is halved until float16 bears it; until then nothing changes, statistics apart."""
    net, trainer, found = train("float16", True, steps=14, scale=2.0**22)
    assert trainer._scaler.skipped >= 3 and trainer.amp_loss_scale < 2.0**22
    assert found[0] == found[1] == found[2] and found[-1] < found[0]
    assert all(onp.isfinite(p.data().asnumpy()).all() for p in net.collect_params().values())


@pytest.mark.parametrize("hybrid", [False, True])
def test_one_program_a_step(hybrid):
    """The check and the skip are part of the step: no value is read, and no step compiles anew."""
    amp.init("float16")
    net = small_net(hybrid)
    trainer = Trainer(net.collect_params(), "sgd", {"learning_rate": 0.01, "momentum": 0.9})
    amp.init_trainer(trainer)
    x, y = batch()
    for _ in range(3):
        step(net, trainer, x, y)
    engine.reset_stats()
    for _ in range(5):
        step(net, trainer, x, y)
    stats = engine.stats()
    assert stats["programs_compiled"] == 0
    assert stats["dispatches"] == 5 and stats["flushes"] == {"trainer.step": 5}


@pytest.mark.dear
def test_unscale_and_clip_in_the_same_program():
    """Gradients between unscale and step are the true ones; the step is still one program."""
    amp.init("float16")
    net = small_net()
    trainer = Trainer(net.collect_params(), "sgd", {"learning_rate": 0.05})
    amp.init_trainer(trainer)
    trainer._attach_scaler(amp.LossScaler(1024.0))
    x, y = batch()
    for _ in range(3):
        step(net, trainer, x, y, unscale=True, clip=1.0)
    engine.reset_stats()
    for _ in range(3):
        step(net, trainer, x, y, unscale=True, clip=1.0)
    stats = engine.stats()
    assert stats["programs_compiled"] == 0 and stats["dispatches"] == 3
    amp.reset()

    def clipped(target):
        return train(target, False, steps=4, unscale=target is not None, clip=1.0)[-1]

    assert clipped("bfloat16") == pytest.approx(clipped(None), abs=0.05)


def test_a_skipped_step_leaves_everything():
    net, trainer, _ = train("float16", False, steps=2)
    x, y = batch()
    before = {k: p.data().asnumpy() for k, p in net.collect_params().items() if p.grad_req != "null"}
    states = [s.asnumpy() for s in trainer._held.arrays]
    step(net, trainer, x, y, spoil=True)
    for name, old in before.items():
        onp.testing.assert_array_equal(net.collect_params()[name].data().asnumpy(), old)
    for old, new in zip(states, trainer._held.arrays):
        onp.testing.assert_array_equal(new.asnumpy(), old)
    assert trainer._scaler.skipped == 1


def test_a_list_of_losses():
    amp.init("bfloat16")
    net = nn.Dense(1, in_units=2, weight_initializer="ones", use_bias=False)
    net.initialize()
    trainer = Trainer(net.collect_params(), "sgd", {"learning_rate": 1.0})
    amp.init_trainer(trainer)
    with autograd.record():
        losses = [net(np.ones((1, 2))), 2 * net(np.ones((1, 2)))]
        with amp.scale_loss(losses, trainer) as scaled:
            autograd.backward(scaled)
    trainer.step(1)
    assert net.weight.data().tolist() == [[-2.0, -2.0]]


@pytest.mark.dear
def test_an_optimizer_written_by_hand():
    class Plain(gluonx.optimizer.Optimizer):
        def create_state(self, index, weight):
            return None

        def step(self, indices, weights, grads, states):
            for index, weight, grad in zip(indices, weights, grads):
                weight -= self._get_lr(index) * self.rescale_grad * grad

    amp.init("float16")
    net = nn.Dense(1, in_units=2, weight_initializer="ones", use_bias=False)
    net.initialize()
    trainer = Trainer(net.collect_params(), Plain(learning_rate=0.5))
    amp.init_trainer(trainer)
    trainer._attach_scaler(amp.LossScaler(8.0))
    for factor, wanted in ((1.0, 0.5), (onp.inf, 0.5), (1.0, 0.0)):
        with autograd.record():
            value = net(np.ones((1, 2))) * factor
            with amp.scale_loss(value, trainer) as scaled:
                scaled.backward()
        trainer.step(1)
        assert net.weight.data().tolist() == [[wanted, wanted]]
    assert trainer._scaler.skipped == 1 and trainer.amp_loss_scale == 4.0


@pytest.mark.dear
def test_files_hold_true_counts(tmp_path):
    net, trainer, _ = train("float16", False, steps=3)
    x, y = batch()
    step(net, trainer, x, y, spoil=True)
    trainer.save_states(tmp_path / "states")
    assert trainer.optimizer.num_update == 3
    other = Trainer(net.collect_params(), "adam", {"learning_rate": 0.02})
    other.load_states(tmp_path / "states")
    assert other.optimizer.num_update == 3


# -- converted blocks --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("hybrid", [False, True])
@pytest.mark.parametrize("target", TARGETS)
def test_convert_hybrid_block(target, hybrid):
    net = small_net(hybrid)
    x, _ = batch()
    wanted = net(x)
    fast = amp.convert_hybrid_block(net, target)
    found = fast(x)
    assert str(found.dtype) == target and str(net(x).dtype) == "float32"
    onp.testing.assert_allclose(found.astype("float32").asnumpy(), wanted.asnumpy(), atol=0.05)
    assert list(fast.collect_params()) == list(net.collect_params())
    assert isinstance(fast, nn.HybridSequential) and type(fast).__name__ == "HybridSequential"
    fast[0].weight.set_data(np.zeros_like(fast[0].weight.data()))
    assert (net[0].weight.data() != 0).any()


def test_converted_weights_and_exceptions():
    net = small_net()
    x, _ = batch()
    net(x)
    fast = amp.convert_hybrid_block(net, "bfloat16", excluded_sym_names=["7"], cast_optional_params=True)
    assert str(fast(x).dtype) == "float32"
    dtypes = {name: str(p.data().dtype) for name, p in fast.collect_params().items()}
    assert dtypes["0.weight"] == dtypes["4.weight"] == "bfloat16"
    assert dtypes["1.gamma"] == dtypes["5.gamma"] == dtypes["7.weight"] == "float32"
    with pytest.raises(ValueError, match="no block is called '9'"):
        amp.convert_hybrid_block(net, excluded_sym_names=["9"])
    with pytest.raises(TypeError, match="HybridBlock was expected"):
        amp.convert_hybrid_block(nn.Sequential())


# -- converted symbols -------------------------------------------------------------------------------------------------


def nodes(sym):
    found = json.loads(sym.tojson(remove_amp_cast=False))["nodes"]
    return [[n["op"], n["name"], [found[i[0]]["name"] for i in n["inputs"]]] for n in found]


@pytest.fixture
def plain():
    sym = gluonx.symbol
    conv = sym.Convolution(sym.var("data"), kernel=(3, 3), num_filter=4, name="conv")
    act = sym.Activation(sym.BatchNorm(conv, name="bn"), act_type="relu", name="act")
    fc = sym.FullyConnected(sym.Flatten(act, name="flat"), num_hidden=3, name="fc")
    return sym.elemwise_add(fc, sym.softmax(fc, name="sm"), name="add")


def alike(found):
    """In any order; what a cast is called after the output of its input differs with the operator in MXNet."""
    return sorted(json.loads(json.dumps(found).replace("_0_amp_cast", "_output_amp_cast")))


def test_casts_stand_where_mxnet_puts_them(plain):
    assert nodes(plain) == SYMBOLS["plain"]
    assert alike(nodes(amp.convert_symbol(plain))) == alike(SYMBOLS["float16"])
    found = nodes(amp.convert_symbol(plain, excluded_sym_names=["conv"]))
    assert alike(found) == alike(SYMBOLS["conv in float32"])


def test_outputs_of_a_converted_symbol_are_float32():
    sym = gluonx.symbol
    first = sym.FullyConnected(sym.var("data"), num_hidden=2, name="fc")
    both = sym.Group([first, sym.exp(first, name="e"), sym.Cast(first, dtype="float16", name="own")])
    found = amp.convert_symbol(both)
    assert found.list_outputs() == ["fc_output_amp_cast_float32_output", "e_output", "own_output"]
    shapes = both.infer_shape(data=(1, 3))[0]
    outputs = found.bind(None, {n: np.ones(s) for n, s in zip(both.list_arguments(), shapes)}).forward()
    assert [str(array.dtype) for array in outputs] == ["float32", "float32", "float16"]


def test_convert_model(plain):
    shapes, _, aux = plain.infer_shape(data=(2, 1, 5, 5))
    r = onp.random.default_rng(4)
    args = {name: np.array(r.normal(size=s)) for name, s in zip(plain.list_arguments(), shapes)}
    states = {name: np.ones(s) for name, s in zip(plain.list_auxiliary_states(), aux)}
    wanted = plain.bind(None, args, aux_states=states).forward()[0]
    for optional in (False, True):
        sym, low, same = amp.convert_model(plain, args, states, "bfloat16", cast_optional_params=optional)
        assert str(low["fc_weight"].dtype) == ("bfloat16" if optional else "float32")
        assert str(low["bn_gamma"].dtype) == "float32" and same.keys() == states.keys()
        found = sym.bind(None, low, aux_states=same).forward()[0]
        assert found.dtype == onp.float32
        onp.testing.assert_allclose(found.asnumpy(), wanted.asnumpy(), atol=0.3)


def test_bad_symbols(plain):
    with pytest.raises(TypeError, match="a Symbol was expected, got int"):
        amp.convert_symbol(3)
    with pytest.raises(ValueError, match="no node called 'nope'"):
        amp.convert_symbol(plain, excluded_sym_names=["nope"])
    with pytest.raises(ValueError, match="no input called 'label'"):
        amp.convert_symbol(plain, data_names=["label"])
