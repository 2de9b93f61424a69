"""Every layer of the contract table, swept: against MXNet 2.0, in every mode, and through files."""

from __future__ import annotations

import inspect
import json
import math
import pathlib
import pickle
import re
from copy import deepcopy

import jax
import numpy as onp
import pytest

import gluonx
from gluonx import autograd, engine, nn, np, npx, rnn
from gluonx.errors import ArgumentError, GluonxError, ShapeError
from gluonx.ops.elementwise import ACTIVATIONS
from lib import TESTS
from lib.contract import LAYERS, Row, head
from lib.sweep import agree, arrays, build, churn, facts_of, golden, predict, train  # noqa: F401 - churn is a fixture

GOLDEN = [row for row in LAYERS if row.golden]
COMPARED = [row for row in LAYERS if not row.random]
OTHER_MODES = ("naive", "hybrid", pytest.param("naive-hybrid", marks=pytest.mark.slow))


def rows(which: list[Row]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("row", which, ids=lambda row: row.key)


@rows(GOLDEN)
def test_golden(row: Row) -> None:
    """Outputs, gradients and moving averages are those of MXNet; so are the names and shapes of parameters."""
    block, wanted, facts = build(row, nn), golden("layers", row.key), facts_of("layers", row.key)
    params = block.collect_params()
    assert {name: list(p.shape) for name, p in params.items()} == facts["params"]
    assert {name: p.grad_req for name, p in params.items()} == facts["grad_req"]
    found = {"predict": predict(row, block)}
    if not row.random:
        found |= train(row, block)
    for name in row.known:  # what MXNet gets wrong, or we mean to do otherwise
        del found[name], wanted[name]
    agree(found, wanted, row.tol, row.key)


@rows(GOLDEN)
def test_repr(row: Row) -> None:
    """The repr is MXNet's, before and after the shapes are known."""
    facts = facts_of("layers", row.key)
    block = row.make(nn)
    assert repr(block) == _shown(facts["repr"], row)
    block.initialize()
    block(*arrays(row))
    assert repr(block) == _shown(facts["repr_after"], row)


def _shown(said: str, row: Row) -> str:
    """MXNet's repr, but for two things: it prints empty lines for a block without children, and keys at random."""
    said = re.sub(r"\(\s*\n\s*\n\s*\)", "()", said)
    if "SyncBatchNorm" in said:
        said = "SyncBatchNorm(axis=1, " + said.split("(", 1)[1]
        said = said.split("ndev")[0] + said[said.index("in_channels") :]
    return said


# With AVX-512 each mode is up to 1.7e-6 from what float64 gives, on either side of it.
MODES_APART = {"deformable-groups": 4e-6}


@pytest.mark.dear
@rows(COMPARED)
@pytest.mark.parametrize("mode", OTHER_MODES)
def test_modes(row: Row, mode: str) -> None:
    """Whatever the mode, a layer computes the same."""
    wanted, found = train(row, build(row, nn)), train(row, build(row, nn, mode), mode)
    agree(found, wanted, MODES_APART.get(row.key, row.rounding), f"{row.key} {mode}")
    for both in (found, wanted):
        for name in [name for name in both if name.startswith("grad/")]:
            del both[name]
    agree(found, wanted, MODES_APART.get(row.key, 2e-6), f"{row.key} {mode}")  # all but the gradients


@rows([row for row in GOLDEN if isinstance(row.make(nn), nn.HybridBlock)])
def test_infer_shape(row: Row) -> None:
    """Shapes are found from abstract inputs, through a container: no program runs."""
    net = nn.HybridSequential()
    net.add(row.make(nn))
    net.initialize()
    inputs = arrays(row)
    before = engine.stats()["dispatches"]
    net.infer_shape(*inputs)
    assert engine.stats()["dispatches"] == before
    found = {name[2:]: list(p.shape) for name, p in net.collect_params().items()}
    assert found == facts_of("layers", row.key)["params"]


@pytest.mark.dear
@rows(COMPARED)
def test_functional(row: Row) -> None:
    """The pure view under ``jax.jit`` gives the same outputs, gradients and new moving averages."""
    wanted = train(row, build(row, nn))
    pure = gluonx.functional(build(row, nn))
    inputs = row.inputs()

    def loss(params):
        y, state = pure.apply(params, pure.state, None, *inputs, train=True)
        return (y * head(row.key, y.shape)).sum(), (y, state)

    grads, (y, state) = jax.jit(jax.grad(loss, has_aux=True))(pure.params)
    found = {"train": y, **{f"grad/{n}": g for n, g in grads.items()}, **{f"state/{n}": s for n, s in state.items()}}
    kept = {name: x for name, x in wanted.items() if not name.removeprefix("grad/").isdigit()}
    agree({name: onp.asarray(x) for name, x in found.items()}, kept, 1e-5, row.key)


@pytest.mark.slow
@rows(COMPARED)
def test_no_tracer_leaks(row: Row, leak_check: None) -> None:
    train(row, build(row, nn, "hybrid"), "hybrid")


@rows(LAYERS)
def test_second_call_compiles_nothing(row: Row) -> None:
    block = build(row, nn)

    def step() -> None:
        if row.random:
            with autograd.train_mode():
                block(*arrays(row)).wait_to_read()
        else:
            train(row, block)

    step()
    step()
    before = engine.stats()["programs_compiled"]
    step()
    assert engine.stats()["programs_compiled"] == before, engine.explain()


@rows(LAYERS)
def test_files(row: Row, tmp_path: pathlib.Path) -> None:
    """Saved, and loaded into a block of unknown shapes, a layer predicts the same."""
    block = build(row, nn)
    block.save_parameters(str(tmp_path / "layer.params"))
    other = row.make(nn)
    other.load_parameters(str(tmp_path / "layer.params"))
    onp.testing.assert_array_equal(predict(row, other), predict(row, block))


@rows([row for row in LAYERS if "fn" not in row.key])
def test_copies(row: Row) -> None:
    """A deep copy and a pickle predict the same (a lambda of a function cannot be pickled)."""
    block = build(row, nn)
    wanted = predict(row, block)
    onp.testing.assert_array_equal(predict(row, deepcopy(block)), wanted)
    onp.testing.assert_array_equal(predict(row, pickle.loads(pickle.dumps(block))), wanted)


@rows([row for row in COMPARED if all(feed.kind == "real" for feed in row.feeds)])
def test_half(row: Row) -> None:
    """Cast to float16, a layer gives float16, and nearly the same."""
    block = build(row, nn)
    wanted = predict(row, block)
    block.cast("float16")
    y = block(*[x.astype("float16") for x in arrays(row)])
    assert y.dtype == onp.float16
    onp.testing.assert_allclose(y.asnumpy().astype("float32"), wanted, rtol=2e-2, atol=2e-2)


def test_signatures() -> None:
    """Parameters, their order and their defaults are MXNet's."""
    path = TESTS / "oracle" / "layers" / "signatures.json"
    for name, wanted in json.loads(path.read_text()).items():
        if name.startswith("nn."):
            ours = inspect.signature(getattr(nn, name[3:]).__init__)
            found = {p.name: repr(p.default) for p in list(ours.parameters.values())[1:]}
            for said in (found, wanted):
                said.pop("alpha_initializer", None)  # an object, whose repr says where it lies in memory
            for old in {"prefix", "params"} - set(wanted):  # of MXNet 1, which comes on top
                found.pop(old, None)
            assert list(found) == list(wanted), name
            assert {n: _none(d) for n, d in found.items()} == {n: _none(d) for n, d in wanted.items()}, name


def _none(default: str) -> str:
    return default if default != "<class 'inspect._empty'>" else "-"


# ---------------------------------------------------------------- what the table cannot say


def batch(*shape: int) -> np.ndarray:
    return np.array(onp.random.RandomState(0).uniform(-1, 1, shape))


def test_channels_last_is_channels_first_transposed() -> None:
    for first, last, shape in (
        (nn.Conv2D(4, 3), nn.Conv2D(4, 3, layout="NHWC"), (2, 3, 6, 5)),
        (nn.Conv1D(4, 3), nn.Conv1D(4, 3, layout="NWC"), (2, 3, 6)),
        (nn.Conv2DTranspose(4, 3, 2), nn.Conv2DTranspose(4, 3, 2, layout="NHWC"), (2, 3, 4, 5)),
        (nn.MaxPool2D(3, 2, 1), nn.MaxPool2D(3, 2, 1, layout="NHWC"), (2, 3, 6, 5)),
        (nn.AvgPool2D(3, 2, 1), nn.AvgPool2D(3, 2, 1, layout="NHWC"), (2, 3, 6, 5)),
    ):
        x = batch(*shape)
        back = (0, *range(2, x.ndim), 1)
        first.initialize(), last.initialize()
        y, _ = first(x), last(x.transpose(back))
        for name, param in first.collect_params().items():
            value = param.data()
            last.collect_params()[name].set_data(value.transpose(back) if value.ndim > 1 else value)
        onp.testing.assert_allclose(
            last(x.transpose(back)).asnumpy(), y.transpose(back).asnumpy(), rtol=1e-5, atol=1e-6
        )
        assert repr(last) == repr(first).replace("NCHW", "NHWC")


def test_batch_norm_relu_is_both() -> None:
    plain, fused, x = nn.BatchNorm(), nn.BatchNormReLU(), batch(4, 3, 2)
    plain.initialize(), fused.initialize()
    with autograd.record():
        y, z = plain(x), fused(x)
    onp.testing.assert_allclose(np.maximum(y, 0).asnumpy(), z.asnumpy(), rtol=1e-6)
    onp.testing.assert_allclose(plain.running_var.data().asnumpy(), fused.running_var.data().asnumpy())


def test_instance_norm_axis() -> None:
    """MXNet's axis is broken; ours is that of the channels."""
    one, two, x = nn.InstanceNorm(), nn.InstanceNorm(axis=2), batch(2, 3, 5)
    one.initialize(), two.initialize()
    onp.testing.assert_allclose(one(x).swapaxes(1, 2).asnumpy(), two(x.swapaxes(1, 2)).asnumpy(), rtol=1e-5)


def test_batch_norm_moves_in_training_only() -> None:
    layer, x = nn.BatchNorm(momentum=0.5), batch(8, 3)
    layer.initialize()
    layer(x)
    assert layer.running_mean.data().tolist() == [0, 0, 0]
    with autograd.record(train_mode=False):
        layer(x)
    assert layer.running_mean.data().tolist() == [0, 0, 0]
    with autograd.train_mode():
        layer(x)
    onp.testing.assert_allclose(layer.running_mean.data().asnumpy(), x.asnumpy().mean(0) / 2, rtol=1e-5)
    onp.testing.assert_allclose(layer.running_var.data().asnumpy(), 0.5 + x.asnumpy().var(0) / 2, rtol=1e-5)


def test_batch_norm_stays_wide() -> None:
    layer = nn.BatchNorm(in_channels=3)
    layer.cast("float16")
    assert {str(p.dtype) for p in layer.collect_params().values()} == {"float32"}
    layer.cast("float64")
    assert "float16" not in {str(p.dtype) for p in layer.collect_params().values()}


@pytest.mark.dear
def test_dropout() -> None:
    layer, x = nn.Dropout(0.25), np.ones((100, 100))
    assert layer(x).asnumpy().min() == 1
    with autograd.train_mode():
        y, z = layer(x).asnumpy(), layer(x).asnumpy()
    assert set(onp.unique(y)) == {0, onp.float32(1 / 0.75)}
    # Six standard errors of a share of 0.25: missed by chance in 2 of 10**9 runs.
    assert abs((y == 0).mean() - 0.25) < 6 * (0.25 * 0.75 / y.size) ** 0.5
    assert (y != z).any(), "each call draws anew"
    with autograd.train_mode():
        shared = nn.Dropout(0.5, axes=(1,))(x).asnumpy()
    assert (shared == shared[:, :1]).all()
    with autograd.train_mode():
        assert nn.Dropout(1.0)(x).asnumpy().max() == 0
    x.attach_grad()
    with autograd.record():
        y = layer(x)
    y.backward()
    onp.testing.assert_array_equal(x.grad.asnumpy(), y.asnumpy())


def test_sequential_is_a_sequence() -> None:
    net = nn.HybridSequential()
    layers = [nn.Dense(2), nn.Activation("relu"), nn.Dense(3)]
    net.add(*layers)
    assert len(net) == 3 and list(net) == layers and net[-1] is layers[2]
    part = net[1:]
    assert type(part) is nn.HybridSequential and list(part) == layers[1:]
    assert list(net.collect_params()) == ["0.weight", "0.bias", "2.weight", "2.bias"]
    with pytest.raises(IndexError):
        net[3]
    branches = nn.HybridConcatenate(axis=0)
    branches.add(*layers)
    assert branches[:2].axis == 0


def test_sequential_hands_on_several_outputs() -> None:
    class Split(nn.HybridBlock):
        def forward(self, x):
            return x, x * 2

    class Sum(nn.HybridBlock):
        def forward(self, x, y):
            return x + y

    x = np.ones((2,))
    net = nn.HybridSequential()
    net.add(Split(), Sum())
    assert net(x).tolist() == [3, 3]
    net = nn.Sequential()
    net.add(Sum(), Split())
    assert [y.tolist() for y in net(x, x)] == [[2, 2], [4, 4]]


def test_sequential_says_what_is_better() -> None:
    net = nn.Sequential()
    net.add(nn.Dense(2))
    with pytest.warns(UserWarning, match="HybridSequential"):
        net.hybridize()
    hybrid = nn.HybridSequential()
    with pytest.raises(ValueError, match="HybridBlock"):
        hybrid.add(nn.Lambda("tanh"))


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: nn.Conv2D(4, (3, 3, 3)), ValueError, "kernel_size must be a whole number of at least 1, or 2 of them"),
        (lambda: nn.Conv2D(4, 3, layout="NWHC"), ValueError, "Conv2D knows the layouts NCHW and NHWC, not 'NWHC'"),
        (lambda: nn.Conv2D(4, 3, groups=3), ValueError, "channels is 4, which 3 groups cannot share equally"),
        (lambda: nn.Conv2D(4, 3, 0), ValueError, "strides must be"),
        (
            lambda: nn.Conv1DTranspose(4, 3, output_padding=1),
            ValueError,
            r"output_padding \(1,\) must be smaller than strides",
        ),
        (lambda: nn.MaxPool2D((2, 2, 2)), ValueError, "pool_size must be"),
        (lambda: nn.MaxPool1D(layout="NCHW"), ValueError, "MaxPool1D knows the layouts"),
        (lambda: nn.Dropout(1.5), ValueError, "must be in"),
        (lambda: nn.LeakyReLU(-1), ValueError, "must not be negative"),
        (lambda: nn.Lambda("nothing"), ValueError, "There is no function 'nothing'"),
        (lambda: nn.Lambda(3), ValueError, "got 3 of type int"),
        (lambda: nn.ReflectionPad2D((1, 2)), ValueError, "padding must be"),
        (lambda: nn.Dense(3, units=3), TypeError, "units"),
    ],
)
def test_mistakes_when_made(make, error, message) -> None:
    with pytest.raises(error, match=message):
        make()


@pytest.mark.parametrize(
    ("make", "shape", "words"),
    [
        (lambda: nn.Dense(3, in_units=5), (2, 4), ["weight", "5", "4"]),
        (lambda: nn.Conv2D(4, 3), (2, 3, 8), ["3 axes", "4 axes"]),
        (lambda: nn.Conv2D(4, 3, groups=2), (2, 3, 8, 8), ["3", "2 groups"]),
        (lambda: nn.Conv2D(4, 3, in_channels=3), (2, 6, 8, 8), ["3", "6"]),
        (lambda: nn.Conv2D(4, 9), (2, 3, 8, 8), ["9", "8"]),
        (lambda: nn.BatchNorm(axis=5), (2, 3), ["axis 5", "(2, 3)"]),
        (lambda: nn.LayerNorm(in_channels=3), (2, 4), ["3", "4"]),
        (lambda: nn.GroupNorm(4), (2, 6, 3), ["4", "6"]),
        (lambda: nn.PixelShuffle2D(2), (2, 6, 3, 3), ["4", "(2, 6, 3, 3)"]),
        (lambda: nn.PReLU(in_channels=3), (2, 4), ["3", "4"]),
    ],
)
def test_mistakes_when_called(make, shape, words) -> None:
    """A wrong shape raises at the call, says what came and what was expected, and leaves the layer usable."""
    layer = make()
    layer.initialize()
    with pytest.raises(ShapeError) as caught:
        layer(np.ones(shape))
    for word in words:
        assert word in str(caught.value)


def test_uninitialized() -> None:
    with pytest.raises(GluonxError, match="initialize"):
        nn.Dense(3)(np.ones((2, 4)))


NAMED = {
    "Dense": lambda name: nn.Dense(2, activation=name),
    "Activation": nn.Activation,
    "Conv2D": lambda name: nn.Conv2D(2, 1, activation=name),
    "Conv1DTranspose": lambda name: nn.Conv1DTranspose(2, 1, activation=name),
    "DeformableConvolution": lambda name: nn.DeformableConvolution(2, activation=name),
    "PositionwiseFFN": lambda name: nn.PositionwiseFFN(2, 2, activation=name),
    "TransformerEncoder": lambda name: nn.TransformerEncoder(1, 2, 2, 1, activation=name),
    "GatedFFN": lambda name: nn.GatedFFN(2, 2, activation=name),
    "CausalDecoder": lambda name: nn.CausalDecoder(3, 1, 2, 2, 1, activation=name),
    "RNNCell": lambda name: rnn.RNNCell(2, activation=name),
    "LSTMCell": lambda name: rnn.LSTMCell(2, recurrent_activation=name),
    "GRUCell": lambda name: rnn.GRUCell(2, activation=name),
    "Conv1DRNNCell": lambda name: rnn.Conv1DRNNCell((1, 2), 2, 1, 1, activation=name),
    "npx.activation": lambda name: npx.activation(np.ones((2, 2)), name),
}


@pytest.mark.parametrize("kind", NAMED)
def test_names_of_activations(kind):
    """A wrong one is an error when the layer is made."""
    for wrong in ("gelo", None if kind == "Activation" else "swash", 3):
        with pytest.raises(ValueError, match=r"no activation .*'gelu', .*'log_sigmoid', .*'tanh'"):
            NAMED[kind](wrong)
    for wrong, said in (("prelu", r"nn\.PReLU"), ("softmax", r"npx\.softmax\(x, axis="), ("linear", "give None")):
        with pytest.raises(ValueError, match=said):
            NAMED[kind](wrong)
    for name in ACTIVATIONS:
        NAMED[kind](name)


def _gelu_tanh(x):
    return 0.5 * x * (1 + onp.tanh(onp.sqrt(2 / onp.pi) * (x + 0.044715 * x**3)))


def _sigmoid(x):
    return 1 / (1 + onp.exp(-x))


def _elu(x):
    return onp.where(x > 0, x, onp.expm1(x))


FORMULAS = {
    "celu": _elu,
    "elu": _elu,
    "gelu": lambda x: x * onp.array([0.5 * (1 + math.erf(v / math.sqrt(2))) for v in x.ravel()]).reshape(x.shape),
    "gelu_tanh": _gelu_tanh,
    "hard_shrink": lambda x: onp.where(abs(x) > 0.5, x, 0),
    "hard_sigmoid": lambda x: onp.clip(0.2 * x + 0.5, 0, 1),
    "hard_swish": lambda x: x * onp.clip(x + 3, 0, 6) / 6,
    "hard_tanh": lambda x: onp.clip(x, -1, 1),
    "leaky": lambda x: onp.where(x > 0, x, 0.25 * x),
    "leaky_relu": lambda x: onp.where(x > 0, x, 0.25 * x),
    "log_sigmoid": lambda x: onp.log(_sigmoid(x)),
    "mish": lambda x: x * onp.tanh(onp.log1p(onp.exp(x))),
    "quick_gelu": lambda x: x * _sigmoid(1.702 * x),
    "relu": lambda x: onp.maximum(x, 0),
    "relu6": lambda x: onp.clip(x, 0, 6),
    "selu": lambda x: 1.0507009873554805 * onp.where(x > 0, x, 1.6732632423543772 * onp.expm1(x)),
    "sigmoid": _sigmoid,
    "silu": lambda x: x * _sigmoid(x),
    "soft_shrink": lambda x: onp.sign(x) * onp.maximum(abs(x) - 0.5, 0),
    "softplus": lambda x: onp.log1p(onp.exp(x)),
    "softrelu": lambda x: onp.log1p(onp.exp(x)),
    "softsign": lambda x: x / (1 + abs(x)),
    "swish": lambda x: x * _sigmoid(x),
    "tanh": onp.tanh,
    "thresholded_relu": lambda x: onp.where(x > 1, x, 0),
}


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_an_activation_is_the_same_wherever_it_is_named(name):
    x = np.array([[-4.0, -0.7, -0.3, 0.0, 0.4, 0.6, 2.0, 7.0]])
    wanted = FORMULAS[name](x.asnumpy().astype("float64"))
    units = x.shape[1]
    dense = nn.Dense(units, activation=name, use_bias=False, in_units=units)
    conv = nn.Conv1D(units, 1, activation=name, use_bias=False, in_channels=units)
    cell = rnn.RNNCell(units, activation=name, input_size=units)
    for layer, weight in ((dense, "weight"), (conv, "weight"), (cell, "i2h_weight")):
        layer.initialize("zeros")
        parameter = getattr(layer, weight)
        parameter.set_data(np.eye(units).reshape(parameter.shape))
    for found in (
        npx.activation(x, name),
        nn.Activation(name)(x),
        dense(x),
        conv(x.reshape((1, units, 1))).reshape(x.shape),
        cell(x, cell.begin_state(1))[0],
    ):
        onp.testing.assert_allclose(found.asnumpy(), wanted, rtol=1e-5, atol=1e-6)


def test_every_activation_layer_of_fixed_form_has_its_name():
    for layer in (nn.ELU(), nn.GELU(), nn.SELU(), nn.SiLU(), nn.Swish(), nn.LeakyReLU(0.25)):
        x, name = np.array([-2.0, 0.5]), type(layer).__name__.lower().replace("leakyrelu", "leaky_relu")
        onp.testing.assert_allclose(npx.activation(x, name).asnumpy(), layer(x).asnumpy(), rtol=1e-6)


@pytest.mark.parametrize("make", [nn.Dense, lambda units, activation: nn.Conv2D(units, 1, activation=activation)])
def test_an_activation_may_be_a_layer_with_weights(make):
    layer = make(3, activation=nn.PReLU("ones"))
    layer.initialize()
    x = np.random.normal(size=(8, 4, 1, 1))
    with autograd.record():
        out = layer(x)
    out.backward()
    assert list(layer.collect_params()) == ["weight", "bias", "act.alpha"]
    assert float(layer.act.alpha.grad().sum()) != 0
    assert (out.asnumpy() < 0).any()


def test_a_number_is_no_initializer():
    with pytest.raises(ArgumentError, match=r"this is 0\.5\. A number is init\.Constant\(0\.5\)"):
        nn.PReLU(0.5).initialize()


def test_gelu_by_name():
    x = np.array([[-1.0, 0.5, 2.0]])
    wanted = nn.GELU()(x).tolist()
    dense = nn.Dense(3, activation="gelu", use_bias=False, in_units=3)
    dense.initialize()
    dense.weight.set_data(np.eye(3))
    cell = rnn.RNNCell(3, activation="gelu", input_size=3)
    cell.initialize("zeros")
    cell.i2h_weight.set_data(np.eye(3))
    for found in (nn.Activation("gelu")(x), dense(x), cell(x, cell.begin_state(1))[0]):
        assert found.tolist() == wanted
    assert repr(dense) == "Dense(3 -> 3, Activation(gelu))"


@pytest.mark.parametrize("name", ["elu", "selu", "softplus", "softrelu"])
def test_an_activation_by_name_has_the_precision_of_its_function_under_amp(name):
    from gluonx.ops.registry import OPS

    key, values = OPS["activation"].amp
    assert key == "act_type" and name in values


WRITTEN = {  # a layer, the attribute that is written, an input, and MXNet's answers before and after
    "leaky": (lambda: nn.LeakyReLU(0.1), "_alpha", 0.5, [-0.1, 2, 3, -0.4], [-0.5, 2, 3, -2]),
    "elu": (lambda: nn.ELU(0.1), "_alpha", 0.5, [-0.0632, 2, 3, -0.0982], [-0.3161, 2, 3, -0.4908]),
    "swish": (lambda: nn.Swish(1.0), "_beta", 3.0, [-0.2689, 1.7616, 2.8577, -0.0719], [-0.0474, 1.9951, 2.9996, 0]),
    "activation": (lambda: nn.Activation("relu"), "_act_type", "tanh", [0, 2, 3, 0], [-0.7616, 0.964, 0.9951, -0.9993]),
    "layer norm": (
        lambda: nn.LayerNorm(in_channels=4), "_epsilon", 10.0,
        [-0.3651, 0.7303, 1.0954, -1.4606], [-0.239, 0.4781, 0.7171, -0.9562],
    ),
    "dropout": (lambda: nn.Dropout(0.0), "_rate", 1.0, [-1, 2, 3, -4], [0, 0, 0, 0]),
}  # fmt: skip


@pytest.mark.parametrize("hybrid", [False, True])
@pytest.mark.parametrize("key", WRITTEN)
def test_a_layer_computes_with_the_setting_that_was_written_last(key: str, hybrid: bool) -> None:
    """As ported programs write it, for a schedule or after the net was made; hybridized, ``hybridize()`` shows it."""
    make, name, value, before, after = WRITTEN[key]
    layer, x = make(), np.array([[-1.0, 2.0, 3.0, -4.0]])
    layer.initialize()
    for wanted in (before, after):
        if hybrid:
            layer.hybridize()
        with autograd.record():
            found = layer(x)
        onp.testing.assert_allclose(found.asnumpy()[0], wanted, atol=1e-4)
        setattr(layer, name, value)


@pytest.mark.parametrize("hybrid", [False, True])
def test_a_layer_computes_with_the_kwargs_that_were_written_last(hybrid: bool) -> None:
    image = np.ones((1, 1, 8, 8))
    conv, pool = nn.Conv2D(2, 3, in_channels=1, strides=2), nn.MaxPool2D()
    conv.initialize()
    for layer, changed, shapes in (
        (conv, {"stride": (1, 1), "dilate": (2, 2), "pad": (1, 1)}, [(1, 2, 3, 3), (1, 2, 6, 6)]),
        (pool, {"stride": (1, 1)}, [(1, 1, 4, 4), (1, 1, 7, 7)]),
    ):
        for wanted in shapes:
            if hybrid:
                layer.hybridize()
            assert layer(image).shape == deepcopy(layer)(image).shape == wanted
            layer._kwargs.update(changed)


def test_padding_and_the_axis_of_branches_may_be_written() -> None:
    pad, branches = nn.ReflectionPad2D(1), nn.HybridConcatenate(axis=1)
    branches.add(nn.Identity(), nn.Identity())
    assert (pad(np.ones((1, 1, 4, 4))).shape, branches(np.ones((2, 2))).shape) == ((1, 1, 6, 6), (2, 4))
    pad._padding, branches.axis = (0, 0, 0, 0, 2, 2, 2, 2), 0
    assert (pad(np.ones((1, 1, 4, 4))).shape, branches(np.ones((2, 2))).shape) == ((1, 1, 8, 8), (4, 2))


@pytest.mark.parametrize("hybrid", [False, True])
def test_a_batch_norm_is_frozen_by_its_kwargs(hybrid: bool) -> None:
    """GluonCV's way: ``layer._kwargs['use_global_stats'] = True`` for all of a net."""
    net = nn.HybridSequential()
    net.add(nn.BatchNorm(in_channels=1))
    net.initialize()
    x, found = np.array([[1.0], [3.0]]), []
    for _ in range(2):
        if hybrid:
            net.hybridize()
        with autograd.record():
            found.append(net(x).asnumpy().ravel().tolist())
        found.append(float(net[0].running_mean.data()))
        net[0]._kwargs["use_global_stats"] = True
    assert found[1] == found[3] == pytest.approx(0.2)
    assert found[0] == pytest.approx([-1, 1], abs=1e-4)
    scale = float(net[0].running_var.data()) ** 0.5
    assert found[2] == pytest.approx([0.8 / scale, 2.8 / scale], abs=1e-4)


def test_a_layer_follows_its_kwargs_however_they_are_written() -> None:
    x = np.array([[[[1.0, 2.0], [3.0, 6.0]]]])
    layer = nn.MaxPool2D()
    mean, largest = pytest.approx(3.0), pytest.approx(6.0)
    assert layer(x).item() == largest
    layer._kwargs.update(pool_type="avg")
    assert layer(x).item() == mean
    other = deepcopy(layer)
    layer._kwargs |= {"pool_type": "max"}
    assert (layer(x).item(), other(x).item()) == (largest, mean)
    other._kwargs["pool_type"] = "max"
    assert other(x).item() == largest
    other._kwargs = {**other._kwargs, "pool_type": "sum"}
    assert other(x).item() == pytest.approx(12.0)
    other._kwargs["pool_type"] = "avg"
    assert other(x).item() == mean


def test_the_state_of_older_layers_is_restored() -> None:
    """Pickles had a plain dict of settings, and an embedding had none."""
    embedding, conv = nn.Embedding(2, 3), nn.Conv2D(2, 3, in_channels=1)
    for layer in (embedding, conv):
        layer.initialize()
        state = layer.__getstate__()
        said = dict(state.pop("_kwargs"))
        older = type(layer).__new__(type(layer))
        older.__setstate__(state if layer is embedding else state | {"_kwargs": said})
        x = np.array([1]) if layer is embedding else np.ones((1, 1, 4, 4))
        assert (older(x) == layer(x)).all()


def test_an_embedding_has_kwargs() -> None:
    layer = nn.Embedding(2, 3)
    assert layer._kwargs == {"input_dim": 2, "output_dim": 3, "dtype": "float32", "sparse_grad": False}
    layer.initialize()
    assert layer(np.array([1])).shape == (1, 3)
    layer._kwargs["input_dim"] = 4
    layer.weight = gluonx.gluon.Parameter("weight", shape=(4, 3))
    layer.initialize(gluonx.init.One())
    assert layer(np.array([3])).asnumpy().tolist() == [[1, 1, 1]]
