"""Blocks of MXNet 1 under gluonx: hybrid_forward, prefixes, name scopes, parameters by name."""

import copy

import numpy as onp
import pytest

from gluonx import autograd, engine, gluon, initializer, nd, np
from gluonx.compat.nd.ndarray import NDArray, use_nd_arrays
from gluonx.compat.parameter_dict import ParameterDict
from gluonx.compat.prefixes import Naming, reset_names
from gluonx.errors import DeferredInitializationError, FormatError, ShapeError
from gluonx.gluon import nn, rnn
from gluonx.np.handle import ndarray
from lib import TESTS


@pytest.fixture
def named():
    """All blocks get prefixes, arrays are NDArrays, as in a program on gluonx.compat."""
    before = use_nd_arrays(True), Naming.active
    Naming.active = True
    reset_names()
    yield
    use_nd_arrays(before[0])
    Naming.active = before[1]


class Mixed(nn.HybridBlock):
    """A parameter for each way in which a shape is found."""

    def __init__(self, units, **kwargs):
        super().__init__(**kwargs)
        with self.name_scope():
            self.dense = nn.Dense(units, prefix="fc_")
            self.weight = self.params.get("weight", shape=(units, 0), allow_deferred_init=True)
            self.scale = self.params.get("scale", shape=(units,), init="ones", allow_deferred_init=True)
            self.table = self.params.get("table", shape=(5, 0), allow_deferred_init=True)
            self.shift = self.params.get_constant("shift", [[0.5]])

    def hybrid_forward(self, F, x, weight, scale, table, shift):
        assert F is nd
        assert type(x) is NDArray
        h = F.relu(self.dense(x))
        assert isinstance(h, NDArray)
        picked = F.Embedding(F.argmax(h, axis=1), table, input_dim=5, output_dim=4)
        y = F.FullyConnected(x, weight, no_bias=True, num_hidden=4) + F.broadcast_mul(h, scale)
        return (y + picked).reshape((0, -1)) + F.broadcast_add(y, shift)


def run(mode):
    onp.random.seed(0)
    net = Mixed(4)
    net.initialize("xavier")
    for i, param in enumerate(net.collect_params().values()):
        if param.shape and all(n > 0 for n in param.shape):
            param.set_data(onp.full(param.shape, 0.1 * (i + 1), "float32"))
    if mode == "hybridized":
        net.hybridize(static_alloc=True, static_shape=True)
    x = np.array(onp.linspace(-1, 1, 6).reshape(2, 3))
    with autograd.pause():
        net(x)
    for i, param in enumerate(net.collect_params().values()):
        param.set_data(onp.full(param.shape, 0.1 * (i + 1), "float32"))
    with engine.mode("naive" if mode == "naive" else "deferred"):
        with autograd.record():
            out = net(x)
        out.backward()
        return net, out.asnumpy(), [p.grad().asnumpy() for p in net.collect_params().values() if p.grad_req != "null"]


@pytest.mark.dear
def test_hybrid_forward_is_the_same_in_every_mode():
    _, out, grads = run("deferred")
    for mode in ("naive", "hybridized"):
        _, other, others = run(mode)
        onp.testing.assert_allclose(other, out, 1e-5)
        for a, b in zip(grads, others, strict=True):
            onp.testing.assert_allclose(b, a, 1e-5, 1e-6)


def test_shapes_come_from_the_operators():
    net, *_ = run("deferred")
    assert net.weight.shape == (4, 3)
    assert net.table.shape == (5, 4)


def test_a_caller_gets_the_arrays_that_he_works_with():
    net, *_ = run("deferred")
    assert type(net(np.ones((2, 3)))) is ndarray
    assert type(net(nd.ones((2, 3)))) is NDArray


@pytest.mark.dear
def test_no_recompile_in_a_steady_loop():
    net, *_ = run("hybridized")
    trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.1})
    compiled = []
    for step in range(5):
        with autograd.record():
            loss = (net(np.ones((2, 3)) * step) * (0.5 + step)).sum()
        loss.backward()
        trainer.step(1)
        compiled.append(engine.stats()["programs_compiled"])
    assert compiled[2] == compiled[4]


def test_other_blocks_have_no_scope():
    layer = nn.Dense(3, in_units=2)
    assert "_scope" not in layer.__dict__
    assert list(layer.collect_params()) == ["weight", "bias"]
    layer.name = "mine"  # an attribute like any other
    assert layer.name == "mine"


def test_a_shape_that_nobody_can_tell():
    class Lost(nn.HybridBlock):
        def __init__(self):
            super().__init__()
            self.w = self.params.get("w", shape=(0, 0), allow_deferred_init=True)

        def hybrid_forward(self, F, x, w):
            return F.dot(x, w)

    net = Lost()
    net.initialize()
    with pytest.raises(DeferredInitializationError, match=r"'Lost.w'.* has unknown dimensions, and tensordot"):
        net(np.ones((2, 3)))


def test_an_argument_that_is_a_parameters_name():
    net, *_ = run("deferred")
    with pytest.raises(TypeError, match="Mixed got the argument 'scale', which is its parameter's name"):
        net(np.ones((2, 3)), scale=1)


# -- names ------------------------------------------------------------------------------------------------------------


def test_names_count_within_their_scope(named):
    net = nn.HybridSequential()
    with net.name_scope():
        net.add(nn.Conv2D(2, 3, in_channels=1), nn.BatchNorm(in_channels=2), nn.Activation("relu"))
        inner = nn.HybridSequential(prefix="")
        inner.add(nn.Dense(3, in_units=2), nn.Dense(4, in_units=3, prefix="last_"))
        net.add(inner)
    assert net.prefix == "hybridsequential0_"
    assert net[2].name == "hybridsequential0_relu0"
    names = list(net.collect_params())
    assert names[0] == "hybridsequential0_conv0_weight"
    assert names[-4:] == [f"hybridsequential0_{n}" for n in ("dense0_weight", "dense0_bias")] + [
        "last_weight",
        "last_bias",
    ] or names[-2:] == ["hybridsequential0_last_weight", "hybridsequential0_last_bias"]
    assert list(net.collect_params(".*gamma|.*beta")) == [
        "hybridsequential0_batchnorm0_gamma",
        "hybridsequential0_batchnorm0_beta",
    ]
    assert nn.Dense(2).prefix == "dense0_"
    assert nn.Dense(2).prefix == "dense1_"


class Stack(nn.HybridBlock):
    """A net whose layers are made in its name scope, as GluonTS makes them."""

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        with self.name_scope():
            self.layers = nn.HybridSequential()
            self.layers.add(nn.Dense(4), nn.Dense(3))

    def hybrid_forward(self, F, x):
        return self.layers(x)


class Prediction(Stack):
    pass


def test_all_parameters_of_a_net_are_shared_with_one_of_another_class(named):
    """What GluonTS does with the net that it has trained: the names go by the first one's prefix."""
    one = Stack()
    one.initialize()
    x = nd.ones((2, 5))
    expected = one(x).asnumpy()
    other = Prediction(params=one.collect_params())
    assert other.prefix == "prediction0_" and [*other.collect_params()] == [*one.collect_params()]
    assert all(a is b for a, b in zip(other.collect_params().values(), one.collect_params().values(), strict=True))
    assert (other(x).asnumpy() == expected).all()


def test_parameters_are_shared_by_name(named):
    one = nn.Dense(3, in_units=2)
    other = nn.Dense(3, in_units=2, params=one.params)
    assert other.weight is one.weight
    assert other.bias is one.bias
    with pytest.raises(TypeError, match=r"params= takes the .params of another block, got dict"):
        nn.Dense(3, params={"a": 1})


def test_custom_block_makes_its_parameters(named):
    class Scale(gluon.Block):
        def __init__(self, **kwargs):
            super().__init__(**kwargs)
            self.gain = self.params.get("gain", shape=(2,), init="ones")

        def forward(self, x):
            return x * self.gain.data()

    block = Scale()
    block.initialize()
    assert block.gain.name == "scale0_gain"
    assert block(nd.ones((3, 2))).sum().asscalar() == 6


# -- ParameterDict ----------------------------------------------------------------------------------------------------


def test_an_initializer_is_told_the_full_name_of_a_parameter_that_a_block_makes(named):
    """And not the attribute's: patterns, classes of one's own and the rule for the end of a name choose by it."""

    class Makes(nn.Block):
        def __init__(self):
            super().__init__(prefix="makes_")
            with self.name_scope():
                self.first = self.params.get("my_weight", shape=(2, 3))
                self.second = self.params.get("some_bias", shape=(2,))
                self.third = self.params.get_constant("shift", [1.0])

    told = []

    class Tells(initializer.Initializer):
        def __call__(self, desc, arr):
            told.append(str(desc))
            arr[:] = 1

    block = Makes()
    block.initialize(Tells())
    assert told == ["makes_my_weight", "makes_some_bias", "makes_shift"]
    assert repr(block.second) == "Parameter makes_some_bias (shape=(2,), dtype=float32)"
    mixed = initializer.Mixed([".*bias", ".*"], [initializer.Constant(3), initializer.One()])
    block.initialize(mixed, force_reinit=True)
    assert block.second.data().asnumpy().tolist() == [3, 3]
    assert block.first.data().asnumpy().tolist() == [[1, 1, 1], [1, 1, 1]]


def test_parameter_dict_finds_and_makes():
    params = ParameterDict("net_")
    weight = params.get("weight", shape=(2, 0), allow_deferred_init=True)
    assert params.get("weight", shape=(2, 3)) is weight is params._params["net_weight"]
    assert weight.shape == (2, 3)
    with pytest.raises(ShapeError):
        params.get("weight", shape=(4, 3))
    assert params.get_constant("c", onp.ones(2)) is params.get_constant("c")
    with pytest.raises(KeyError, match="no constant 'net_d'"):
        params.get_constant("d")
    with pytest.raises(ValueError, match="Two different parameters are called 'net_weight'"):
        params.update({"net_weight": gluon.Parameter("other")})
    child = ParameterDict("net_", shared=params)
    assert child.get("weight") is weight


def test_parameter_dict_acts_on_all(tmp_path):
    params = ParameterDict("net_")
    params.get("w", shape=(2,), init="ones")
    params.get("b", shape=(1,), init="zeros")
    params.initialize()
    params.setattr("grad_req", "null")
    assert {p.grad_req for p in params.values()} == {"null"}
    params.save(tmp_path / "p.params", strip_prefix="net_")
    again = ParameterDict("other_")
    again.get("w", shape=(2,))
    again.get("b", shape=(1,))
    again.load(tmp_path / "p.params", restore_prefix="other_")
    assert again["other_w"].data().asnumpy().tolist() == [1, 1]
    again.get("extra", shape=(1,))
    with pytest.raises(FormatError, match=r"it lacks \['other_extra'\]"):
        again.load(tmp_path / "p.params", restore_prefix="other_")
    again.load(tmp_path / "p.params", restore_prefix="other_", allow_missing=True)
    with pytest.raises(ValueError, match="strip_prefix is 'x_'"):
        params.save(tmp_path / "q.params", strip_prefix="x_")
    assert "net_w (shape=(2,)" in repr(params)


# -- files of MXNet 1.9.1 through blocks written as 1.x code ----------------------------------------------------------

SAMPLES = TESTS / "samples" / "mxnet-1.9.1"


class Language(gluon.HybridBlock):
    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        with self.name_scope():
            self.emb = nn.Embedding(50, 16)
            self.lstm = gluon.rnn.LSTM(24, 2)
            self.dense = nn.Dense(50, flatten=False)

    def hybrid_forward(self, F, x):
        return self.dense(self.lstm(self.emb(x)))


class Unrolled(gluon.HybridBlock):
    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        with self.name_scope():
            self.cell = gluon.rnn.LSTMCell(12)

    def hybrid_forward(self, F, x):
        return self.cell.unroll(4, x, layout="NTC", merge_outputs=True)[0]


def perceptron():
    net = nn.HybridSequential()
    net.add(nn.Dense(8, activation="relu"), nn.Dense(2))
    return net


MADE = {
    "mlp": perceptron,
    "gru": lambda: gluon.rnn.GRU(12),
    "lstm_lm": lambda: Language(prefix="lm0_"),
    "lstmcell_unroll": lambda: Unrolled(prefix="cell0_"),
}


@pytest.mark.parametrize("kind", ["paramdict", "gluon"])
@pytest.mark.parametrize("name", sorted(MADE))
def test_files_of_mxnet_1(name, kind, named):
    golden = onp.load(SAMPLES / f"{name}-io.npz")
    net, x = MADE[name](), nd.array(golden["in0"])
    net.initialize()
    net(x)
    net.load_parameters(SAMPLES / f"{name}.{kind}.params")
    onp.testing.assert_allclose(net(x).asnumpy(), golden["out0"], 1e-5, 1e-6)


def test_copies_have_their_own_parameters(named, tmp_path):
    net = perceptron()
    net.initialize()
    net(nd.ones((1, 3)))
    twin = copy.deepcopy(net)
    assert list(twin.collect_params()) == list(net.collect_params())
    assert twin.collect_params()["dense0_weight"] is twin[0].weight is not net[0].weight
    net.save_params(tmp_path / "a")
    twin.load_params(tmp_path / "a", ctx=gluon.cpu())
    assert (twin(nd.ones((1, 3))) == net(nd.ones((1, 3)))).min().asscalar() == 1


@pytest.mark.parametrize(
    ("make", "name"),
    [
        (lambda: nn.Conv2DTranspose(1, 3), "conv0"),
        (lambda: nn.GlobalAvgPool2D(), "pool0"),
        (lambda: nn.Activation("tanh"), "tanh0"),
        (lambda: nn.HybridSequential(), "hybridsequential0"),
        (lambda: gluon.rnn.GRUCell(3), "gru0"),
        (lambda: gluon.rnn.Conv2DLSTMCell((1, 4, 4), 2, 3, 3), "conv_lstm0"),
        (lambda: gluon.contrib.nn.HybridConcurrent(axis=1, prefix="both_"), "both"),
        (lambda: gluon.contrib.nn.HybridConcurrent(axis=1), "hybridconcurrent0"),
        (lambda: gluon.contrib.nn.Concurrent(), "concurrent0"),
        (lambda: nn.Dropout(0.5, prefix=""), ""),
        (lambda: gluon.contrib.rnn.LSTMPCell(3, 2), "lstmp0"),
        (lambda: gluon.contrib.cnn.ModulatedDeformableConvolution(3, 3), "modulated_deformable_conv0"),
        (lambda: type("OctConv", (nn.Conv2D,), {})(3, 3), "conv0"),
        (lambda: type("MyRelu", (nn.Activation,), {})("relu"), "relu0"),
        (lambda: type("MyDense", (nn.Dense,), {})(3), "mydense0"),
        (lambda: type("Conv2D", (nn.HybridBlock,), {})(), "conv2d0"),
    ],
)
def test_hints(make, name, named):
    assert make().name == name


def test_arrays_by_name_for_the_layer_that_a_class_extends():
    class Scaled(gluon.loss.SoftmaxCrossEntropyLoss):
        def hybrid_forward(self, F, pred, label, sample_weight=None):
            return super().hybrid_forward(F, pred=pred * 2, label=label, sample_weight=sample_weight)

    class Doubled(nn.Dense):
        def hybrid_forward(self, F, x, weight, bias=None):
            return super().hybrid_forward(F, x=2 * x, weight=weight, bias=bias)

    pred, label = nd.array([[0.5, -1.0, 2.0], [0.0, 1.0, 3.0]]), nd.array([0, 2])
    found = Scaled()(pred, label)
    onp.testing.assert_array_equal(found.asnumpy(), gluon.loss.SoftmaxCELoss()(2 * pred, label).asnumpy())
    layer = Doubled(2, in_units=3)
    layer.initialize()
    expected = nd.dot(2 * pred, layer.weight.data(), transpose_b=True)
    onp.testing.assert_allclose(layer(pred).asnumpy(), expected.asnumpy(), rtol=1e-6)


def test_lambdas_of_mxnet_1():
    x = np.array([[[-1.0, 2.0]]])
    assert nn.HybridLambda(lambda F, x: F.reshape(x, shape=(0, -1)))(x).shape == (1, 2)
    assert nn.HybridLambda("LeakyReLU")(x).asnumpy().tolist() == [[[-0.25, 2.0]]]
    net = nn.HybridLambda(lambda F, x, y: F.broadcast_add(x, y))
    net.hybridize()
    assert type(net(x, x)) is ndarray
    with pytest.raises(ValueError, match="There is no function 'no_such'"):
        nn.HybridLambda("no_such")


# what MXNet 1.9.1 says: the prefix of each cell, and of what it is made of
MODIFIED = {
    "zoneout": (lambda: rnn.ZoneoutCell(rnn.LSTMCell(4), 0.1, 0.1), "lstm0_zoneout", ["lstm0_"]),
    "residual": (lambda: rnn.ResidualCell(rnn.GRUCell(4, prefix="g_")), "g_residualcell", ["g_"]),
    "variational": (lambda: rnn.VariationalDropoutCell(rnn.LSTMCell(4), 0.1), "lstm0_vardrop", ["lstm0_"]),
    "twice": (
        lambda: rnn.ZoneoutCell(rnn.ResidualCell(rnn.RNNCell(4)), 0.1),
        "rnn0_residualcellzoneout",
        ["rnn0_"],
    ),
    "both ways": (lambda: rnn.BidirectionalCell(rnn.GRUCell(4), rnn.GRUCell(4)), "", ["gru0_", "gru1_"]),
    "output prefix": (
        lambda: rnn.BidirectionalCell(rnn.GRUCell(4), rnn.GRUCell(4, prefix="r_"), output_prefix="b_"),
        "",
        ["gru0_", "r_"],
    ),
}


@pytest.mark.usefixtures("named")
@pytest.mark.parametrize("case", MODIFIED)
def test_cells_that_modify_others_go_by_their_names(case):
    make, prefix, parts = MODIFIED[case]
    cell = make()
    words = ["i2h_weight", "h2h_weight", "i2h_bias", "h2h_bias"]
    assert cell.prefix == prefix
    assert list(cell.collect_params()) == [part + word for part in parts for word in words]
    assert rnn.LSTMCell(4).prefix == f"lstm{str(parts).count('lstm')}_"  # a modifier is not counted


def test_a_cell_that_asks_for_no_prefix_gets_none():
    nn.Dense(2, prefix="a_")  # from here on all layers take prefixes
    rnn.LSTMCell(4, prefix="b_")
    rnn.BidirectionalCell(rnn.GRUCell(4), rnn.GRUCell(4), output_prefix="c_")
    both = rnn.BidirectionalCell(rnn.GRUCell(4), rnn.GRUCell(4))
    assert next(iter(both.collect_params())) == "l_cell.i2h_weight"


@pytest.mark.usefixtures("named")
def test_modifiers_in_a_name_scope():
    class Net(gluon.HybridBlock):
        def __init__(self, **kwargs):
            super().__init__(**kwargs)
            with self.name_scope():
                self.c, self.d = rnn.ResidualCell(rnn.LSTMCell(4)), rnn.LSTMCell(4)

    net = Net(prefix="net0_")
    assert net.c.prefix == "net0_net0_lstm0_residualcell"  # as MXNet has it
    assert net.c.params.prefix == net.c.base_cell.prefix == "net0_lstm0_"
    assert list(net.c.params) == [f"net0_lstm0_{word}" for word in ["i2h_weight", "h2h_weight", "i2h_bias", "h2h_bias"]]
    assert net.d.prefix == "net0_lstm1_"


@pytest.mark.usefixtures("named")
def test_projected_cell_has_its_projection_before_the_biases():
    words = ["i2h_weight", "h2h_weight", "h2r_weight", "i2h_bias", "h2h_bias"]
    assert list(rnn.LSTMPCell(5, 4).collect_params()) == [f"lstmp0_{word}" for word in words]


@pytest.mark.usefixtures("named")
def test_a_cell_of_ones_own_names_its_steps():
    # GluonNLP's LSTMPCellWithClip, in ELMo
    class Clipped(rnn.LSTMPCell):
        def hybrid_forward(self, F, x, states, i2h_weight, h2h_weight, h2r_weight, i2h_bias, h2h_bias):
            counts.append(self._counter)
            name = f"t{self._counter}_"
            i2h = F.FullyConnected(x, i2h_weight, i2h_bias, num_hidden=20, name=name + "i2h")
            h2h = F.FullyConnected(states[0], h2h_weight, h2h_bias, num_hidden=20, name=name + "h2h")
            parts = F.SliceChannel(i2h + h2h, num_outputs=4)
            forget, write = F.sigmoid(parts[1]) * states[1], F.sigmoid(parts[0]) * F.tanh(parts[2])
            cell = F._internal._plus(forget, write, name=name + "state").clip(-0.1, 0.1)
            hidden = F._internal._mul(F.sigmoid(parts[3]), F.tanh(cell), name=name + "hidden")
            out = F.FullyConnected(hidden, h2r_weight, num_hidden=4, no_bias=True)
            return out, [out, cell]

    counts = []
    cell = Clipped(5, 4, input_size=3)
    cell.initialize()
    _, states = cell.unroll(2, nd.ones((2, 2, 3)), merge_outputs=True)
    assert counts == [0, 1]
    assert float(nd.abs(states[1]).max().asscalar()) <= 0.1
    assert not hasattr(nn.Dense(3), "_counter")


@pytest.mark.usefixtures("named")
def test_a_file_of_names_is_read_where_some_are_attributes_too(tmp_path):
    class Cell(gluon.HybridBlock):
        def __init__(self, **kwargs):
            super().__init__(**kwargs)
            self.weight = self.params.get("weight", shape=(2,))
            self.wo = self.params.get("output_weight", shape=(3,))

        def hybrid_forward(self, F, x, weight, wo):
            return F.concat(x * weight, wo, dim=0)

    first, second = Cell(prefix="a_"), Cell(prefix="b_")
    first.initialize(initializer.Uniform(1))
    for path in (tmp_path / "names", tmp_path / "attributes"):
        if path.name == "names":
            first.save_params(path)
            assert sorted(nd.load(str(path))) == ["output_weight", "weight"]
        else:
            first.save_parameters(path)
            assert sorted(nd.load(str(path))) == ["weight", "wo"]
        second.initialize(force_reinit=True)
        second.load_parameters(path)
        for name in ("weight", "wo"):
            assert getattr(first, name).data().asnumpy().tolist() == getattr(second, name).data().asnumpy().tolist()
