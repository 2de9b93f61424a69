"""Blocks called with symbols: ``net(mx.sym.var('data'))``, as code for MXNet 1 does for exports, SSD and R-CNN."""

import json

import numpy as onp
import pytest

import gluonx
from gluonx import HybridBlock, SymbolBlock, gluon, nn, np, npx, rnn
from gluonx.compat import symbol as sym
from gluonx.compat.mode import Mode
from gluonx.compat.operators import training
from gluonx.errors import GluonxError, GraphError, ShapeError, UninitializedError


def stack(*layers):
    net = nn.HybridSequential()
    net.add(*layers)
    return net


class Residual(HybridBlock):
    def __init__(self):
        super().__init__()
        self.conv, self.norm = nn.Conv2D(4, 3, padding=1), nn.BatchNorm()

    def forward(self, x):
        return npx.relu(self.norm(self.conv(x)) + x)


class Scales(HybridBlock):
    """Feature maps of several scales, as in an SSD, with a list among the outputs."""

    def __init__(self):
        super().__init__()
        self.body, self.down = nn.Conv2D(4, 3, padding=1), nn.Conv2D(6, 3, strides=2, padding=1)
        self.cls, self.box = nn.Conv2D(3, 3, padding=1), nn.Conv2D(8, 3, padding=1)

    def forward(self, x):
        a = npx.relu(self.body(x))
        b = self.down(a)
        boxes = [npx.batch_flatten(self.box(a).transpose(0, 2, 3, 1))]
        return np.concatenate([npx.batch_flatten(self.cls(a)), npx.batch_flatten(b)], axis=1), boxes


class Sized(HybridBlock):
    """Leaves a size in its graph."""

    def forward(self, x):
        return x.reshape(x.shape[0], x.shape[1] // 2, -1)


CASES = {
    "dense": (lambda: nn.Dense(3), [(2, 5)]),
    "mlp": (lambda: stack(nn.Dense(8, activation="relu"), nn.Dropout(0.5), nn.Dense(3)), [(2, 5)]),
    "convnet": (
        lambda: stack(
            nn.Conv2D(4, 3), nn.BatchNorm(), nn.Activation("relu"), nn.MaxPool2D(), nn.Flatten(), nn.Dense(3)
        ),
        [(2, 3, 12, 12)],
    ),
    "norms": (lambda: stack(nn.LayerNorm(), nn.PReLU(), nn.LeakyReLU(0.1), nn.GELU(), nn.Swish()), [(2, 4, 6)]),
    "group_norm": (lambda: nn.GroupNorm(2), [(2, 4, 6, 6)]),
    "embedding": (lambda: nn.Embedding(10, 4), [(2, 3)]),
    "transposed": (lambda: nn.Conv2DTranspose(4, 3, strides=2), [(2, 3, 5, 5)]),
    "depthwise": (lambda: nn.Conv2D(4, 3, groups=4), [(2, 4, 9, 9)]),
    "one_dimension": (lambda: nn.Conv1D(4, 3), [(2, 4, 9)]),
    "lambda": (lambda: nn.HybridLambda("relu"), [(2, 5)]),
    "residual": (Residual, [(2, 4, 8, 8)]),
    "scales": (Scales, [(2, 3, 8, 8)]),
}
GIVEN = {"sized": (Sized, [(2, 4, 8)]), "lstm": (lambda: rnn.LSTM(3), [(4, 2, 5)])}


def flat(value):
    return [leaf for item in value for leaf in flat(item)] if isinstance(value, (list, tuple)) else [value]


def prepared(make, shapes):
    net = make()
    net.initialize("xavier")
    arrays = [np.array(onp.random.RandomState(k).uniform(0, 1, shape)) for k, shape in enumerate(shapes)]
    return net, arrays, net(*arrays)


def check(net, inputs, arrays, expected):
    outputs = net(*inputs)
    assert all(isinstance(out, sym.Symbol) for out in flat(outputs))
    values = {p._structured_name: p for p in net.collect_params().values()}
    block = SymbolBlock(flat(outputs), inputs, params=values)
    found = block(*arrays)
    for a, b in zip(flat([found]), flat([expected]), strict=True):
        onp.testing.assert_allclose(a.asnumpy(), b.asnumpy(), rtol=1e-4, atol=1e-5)
    return outputs


@pytest.mark.parametrize("hybrid", [False, True], ids=["plain", "hybrid"])
@pytest.mark.parametrize("name", CASES)
def test_a_symbol_of_unknown_shape(name, hybrid):
    net, arrays, expected = prepared(*CASES[name])
    if hybrid:
        net.hybridize()
    outputs = check(net, [sym.var("data")], arrays, expected)
    if name == "scales":
        assert isinstance(outputs[1], list)


@pytest.mark.parametrize("name", [*CASES, *GIVEN])
def test_a_symbol_of_known_shape(name):
    net, arrays, expected = prepared(*{**CASES, **GIVEN}[name])
    check(net, [sym.var("data", shape=arrays[0].shape)], arrays, expected)


@pytest.mark.parametrize("name", GIVEN)
def test_a_shape_that_matters_is_asked_for(name):
    net, _, _ = prepared(*GIVEN[name])
    with pytest.raises(ShapeError, match=r"Give the shape: mx\.sym\.var"):
        net(sym.var("data"))


class Row(HybridBlock):
    """Takes the first row of what a layer gives, and flattens as arrays do; a symbol would do other things."""

    def __init__(self):
        super().__init__()
        self.d = nn.Dense(3, in_units=5)

    def forward(self, x):
        return self.d(x)[0] + self.d(x)[-1:].flatten()


@pytest.mark.parametrize("hybrid", [False, True])
@pytest.mark.parametrize("shape", [None, (4, 5)])
def test_rows_are_rows_where_a_symbol_has_outputs(hybrid, shape):
    net = stack(Row(), nn.Activation("relu"))
    net.initialize("xavier")
    if hybrid:
        net.hybridize()
    x = np.array(onp.random.RandomState(0).normal(size=(4, 5)))
    check(net, [sym.var("data", shape=shape)], [x], net(x))


def test_a_cell_with_its_states():
    cell = rnn.LSTMCell(3, input_size=5)
    cell.initialize()
    x, h, c = np.ones((2, 5)), np.ones((2, 3)), np.ones((2, 3)) * 0.5
    data, states = sym.var("data"), [sym.var("h"), sym.var("c")]
    out, after = cell(data, states)
    assert len(after) == 2
    values = {p._structured_name: p for p in cell.collect_params().values()}
    block = SymbolBlock([out, *after], [data, *states], params=values)
    for a, b in zip(block(x, h, c), flat(cell(x, [h, c])), strict=True):
        assert onp.allclose(a.asnumpy(), b.asnumpy(), atol=1e-6)


def test_a_net_need_not_have_run_to_be_a_symbol():
    """As in MXNet 1, where nets are built on others before anything has run (GluonCV's detectors)."""
    net = nn.HybridSequential()
    net.add(nn.Conv2D(4, 3), nn.BatchNorm(), nn.Flatten(), nn.Dense(3))
    net.initialize()
    out = net(sym.var("data"))
    shapes = {
        v["name"]: v.get("attrs", {}).get("__shape__") for v in json.loads(out.tojson())["nodes"] if v["op"] == "null"
    }
    assert shapes["0.weight"] == "(4, 0, 3, 3)" and shapes["3.weight"] == "(3, 0)"
    assert net[0].weight.shape == (4, -1, 3, 3)  # the net has learned nothing
    block = SymbolBlock(out, sym.var("data"), params=dict(net.collect_params()))
    x = np.array(onp.random.rand(2, 2, 5, 5).astype("float32"))
    assert onp.allclose(block(x).asnumpy(), net(x).asnumpy(), atol=1e-6)


def test_what_cannot_be_a_symbol_says_why():
    with pytest.raises(UninitializedError, match=r"'Dense\.weight' has no value yet"):
        nn.Dense(3)(sym.var("data"))
    with pytest.raises(GraphError, match="no operator for 'sdml_loss'"):
        gluon.loss.SDMLLoss()(sym.var("a", shape=(2, 3)), sym.var("b", shape=(2, 3)))
    with pytest.raises(GraphError, match="leave compute_full out"):
        gluon.loss.PoissonNLLLoss(compute_full=True)(sym.var("a"), sym.var("b"))


PRED, LABEL = onp.random.RandomState(0).rand(2, 4, 5).astype("float32")
BITS, CLASSES = (LABEL > 0.5).astype("float32"), onp.array([0, 1, 4, 2], "float32")
LOSSES = {
    "l2": (gluon.loss.L2Loss, {"weight": 2.0}, (PRED, LABEL)),
    "l2 weighted": (gluon.loss.L2Loss, {}, (PRED, LABEL, CLASSES[:, None])),
    "l1": (gluon.loss.L1Loss, {}, (PRED, LABEL)),
    "l1 batch axis": (gluon.loss.L1Loss, {"batch_axis": 1}, (PRED, LABEL)),
    "softmax": (gluon.loss.SoftmaxCrossEntropyLoss, {}, (PRED, CLASSES)),
    "softmax weighted": (gluon.loss.SoftmaxCrossEntropyLoss, {}, (PRED, CLASSES, BITS[:, :1])),
    "softmax dense": (gluon.loss.SoftmaxCrossEntropyLoss, {"sparse_label": False}, (PRED, LABEL)),
    "softmax logits": (gluon.loss.SoftmaxCrossEntropyLoss, {"from_logits": True, "axis": 1}, (PRED, CLASSES)),
    "sigmoid": (gluon.loss.SigmoidBCELoss, {}, (100 * PRED - 50, BITS)),
    "sigmoid positive": (gluon.loss.SigmoidBCELoss, {}, (PRED, BITS, BITS[:, :1], LABEL[:1])),
    "sigmoid from": (gluon.loss.SigmoidBCELoss, {"from_sigmoid": True}, (PRED, BITS)),
    "kl": (gluon.loss.KLDivLoss, {}, (PRED, LABEL)),
    "kl softmax": (gluon.loss.KLDivLoss, {"from_logits": False}, (PRED, LABEL)),
    "huber": (gluon.loss.HuberLoss, {"rho": 0.2}, (PRED, LABEL)),
    "hinge": (gluon.loss.HingeLoss, {"margin": 0.8}, (PRED, 2 * BITS - 1)),
    "squared hinge": (gluon.loss.SquaredHingeLoss, {}, (PRED, 2 * BITS - 1)),
    "logistic": (gluon.loss.LogisticLoss, {}, (PRED, 2 * BITS - 1)),
    "logistic binary": (gluon.loss.LogisticLoss, {"label_format": "binary"}, (PRED, BITS)),
    "triplet": (gluon.loss.TripletLoss, {}, (PRED, LABEL, BITS)),
    "poisson": (gluon.loss.PoissonNLLLoss, {}, (PRED, LABEL)),
    "poisson rate": (gluon.loss.PoissonNLLLoss, {"from_logits": False}, (PRED, LABEL)),
    "cosine": (gluon.loss.CosineEmbeddingLoss, {"margin": 0.1}, (PRED, LABEL, 2 * BITS[:, 0] - 1)),
    "ctc": (gluon.loss.CTCLoss, {}, (PRED[None, :, :4], onp.array([[1.0, 2.0]], "float32"))),
}


@pytest.mark.dear
@pytest.mark.parametrize("name", LOSSES)
def test_a_loss_of_symbols(name):
    """Of symbols whose shapes nobody knows; in MXNet 1.9.1 each of these lines works too."""
    make, settings, arrays = LOSSES[name]
    loss, names = make(**settings), [f"x{i}" for i in range(len(arrays))]
    shaped = len(arrays) > 3  # the shapes of four symbols are not guessed
    out = loss(*[sym.var(n, shape=a.shape if shaped else None) for n, a in zip(names, arrays)])
    assert sorted(out.list_arguments()) == names
    given = {n: gluonx.nd.array(a) for n, a in zip(names, arrays)}
    found = out.bind(gluonx.cpu(), given).forward()[0].asnumpy()
    onp.testing.assert_allclose(found, loss(*[np.array(a) for a in arrays]).asnumpy(), rtol=2e-5, atol=1e-6)


def test_losses_of_mxnet_1_sum_as_there():
    for kind in ("KLDivLoss", "PoissonNLLLoss"):
        loss = training.LOSSES[kind]()
        a, b = (sym.var(n, shape=PRED.shape) for n in "ab")
        found = loss(a, b).bind(gluonx.cpu(), {"a": gluonx.nd.array(PRED), "b": gluonx.nd.array(LABEL)}).forward()[0]
        wanted = loss(np.array(PRED), np.array(LABEL)).asnumpy()
        onp.testing.assert_allclose(found.asnumpy().reshape(wanted.shape), wanted, rtol=1e-5)
    onp.testing.assert_allclose(
        training.LOSSES["KLDivLoss"]()(np.array(PRED), np.array(LABEL)).asnumpy(),
        (LABEL * (onp.log(LABEL + 1e-12) - PRED)).sum(1),
        rtol=1e-4,
    )


def test_the_symbol_of_a_parameter(monkeypatch):
    layer = nn.Dense(3)
    with pytest.raises(GluonxError, match="has no symbol"):
        layer.weight.var()
    monkeypatch.setattr(Mode, "aliased", True)
    layer.collect_params()
    weight = layer.weight.var()
    assert weight is layer.weight.var() and weight.list_arguments() == ["weight"]
    assert weight.list_attr()["__shape__"] == "(3, 0)"
    out = sym.FullyConnected(sym.var("data"), weight, layer.bias.var(), num_hidden=3)
    layer.initialize()
    layer(np.ones((2, 5)))
    assert out.list_arguments() == layer(sym.var("data")).list_arguments() == ["data", "weight", "bias"]
    assert out.infer_shape(data=(2, 5))[0] == [(2, 5), (3, 5), (3,)]


def test_an_error_with_arrays_stays_what_it_was():
    with pytest.raises(ShapeError, match="fully_connected"):
        net, *_ = prepared(lambda: nn.Dense(3), [(2, 5)])
        net(np.ones((2, 7)))


def test_names_are_those_of_mxnet_1(monkeypatch):
    """MXNet 1.9.1 gives the same lists for these lines."""
    monkeypatch.setattr(gluonx.compat.prefixes.Naming, "active", True)
    net = stack(nn.Dense(3, prefix="a_"), nn.BatchNorm(prefix="b_"), nn.Dense(2, prefix="c_"))
    net.initialize()
    net(np.ones((2, 5)))
    out = net(sym.var("data"))
    assert out.list_arguments() == ["data", "a_weight", "a_bias", "b_gamma", "b_beta", "c_weight", "c_bias"]
    assert out.list_outputs() == ["c_fwd_output"]
    assert out.list_auxiliary_states() == ["b_running_mean", "b_running_var"]
    assert {"a_fwd_output", "b_fwd_output"} <= set(out.get_internals().list_outputs())
    assert out.infer_shape(data=(7, 5))[1] == [(7, 2)]


class Mask(HybridBlock):
    """Runs with symbols of any shape, as it looks at none: sockeye's mask of the places after a sentence."""

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        with self.name_scope():
            self.scale = self.params.get("scale", shape=(1, 1))

    def hybrid_forward(self, F, data, lengths, scale):
        seen.append(F)
        mask = F.reshape(F.zeros_like(lengths), shape=(-1, 1))
        mask = F.broadcast_like(mask, data, lhs_axes=(1,), rhs_axes=(1,))
        mask = F.SequenceMask(mask, lengths, use_sequence_length=True, axis=1, value=-9.0)
        return F.broadcast_mul(mask, scale, name="out")


seen = []


def test_hybrid_forward_runs_with_symbols_of_unknown_shape():
    seen.clear()
    net = Mask(prefix="mask_")
    out = net(sym.var("data"), sym.var("lengths"))
    assert seen == [sym]
    assert out.list_arguments() == ["lengths", "data", "mask_scale"]
    assert out.list_outputs() == ["mask_out_output"]
    net.initialize("ones")
    data, lengths = np.ones((2, 4, 3)), np.array([1.0, 3])
    expected = net(data, lengths).asnumpy()
    assert (expected[0] == [0, -9, -9, -9]).all()
    run = out.bind(gluonx.cpu(), {"data": data, "lengths": lengths, "mask_scale": np.ones((1, 1))})
    onp.testing.assert_array_equal(run.forward()[0].asnumpy(), expected)


class Looks(HybridBlock):
    """Looks at a shape, which a symbol does not have."""

    def hybrid_forward(self, F, x):
        return F.reshape(x, (x.shape[1], -1)) if x.shape[0] > 1 else x


def test_hybrid_forward_that_looks_at_shapes_is_recorded():
    out = Looks()(sym.var("x", shape=(2, 3)))
    assert out.infer_shape()[1] == [(3, 2)]
