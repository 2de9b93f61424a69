"""Recurrent layers and cells beyond golden numbers: programs, masks, fusion, files, copies and mistakes."""

from __future__ import annotations

import jax
import numpy as onp
import pytest

import gluonx
from gluonx import autograd, engine, gluon, init, nn, np, rnn
from gluonx import files as serialize
from gluonx.compat import prefixes
from gluonx.errors import FormatError, GluonxError, ShapeError
from gluonx.export import serve
from lib import TESTS
from lib.golden import load_cases
from lib.sweep import churn  # noqa: F401 - a fixture

HERE = TESTS / "oracle" / "rnn"
cases = load_cases("rnn")
LENGTHS = [4, 2, 1]


def batch(*shape):
    return np.array(onp.random.RandomState(0).uniform(-1, 1, shape).astype("float32"))


def made(block, *inputs):
    block.initialize(init.Uniform(0.5))
    if inputs:
        block(*inputs)
    return block


class Unrolled(nn.HybridBlock):
    """A net that unrolls a cell."""

    def __init__(self, cell):
        super().__init__()
        self.cell = cell

    def forward(self, x):
        return self.cell.unroll(x.shape[1], x, merge_outputs=True)[0]


def primitives(jaxpr, found=None):
    """Count the primitives of a jaxpr, inner ones included."""
    found = {} if found is None else found
    for eqn in jaxpr.eqns:
        found[eqn.primitive.name] = found.get(eqn.primitive.name, 0) + 1
        for param in eqn.params.values():
            for inner in param if isinstance(param, (list, tuple)) else [param]:
                if hasattr(inner, "eqns"):
                    primitives(inner, found)
                elif hasattr(inner, "jaxpr"):
                    primitives(inner.jaxpr, found)
    return found


def counted(net, *inputs):
    pure = gluonx.functional(net)
    key, raw = jax.random.key(0), [onp.asarray(x.asnumpy()) for x in inputs]
    made = jax.make_jaxpr(lambda params: pure.apply(params, pure.state, key, *raw, train=True))(pure.params)
    return primitives(made.jaxpr)


# ---------------------------------------------------------------- programs


@pytest.mark.parametrize(
    "make",
    [
        lambda: rnn.LSTMCell(3),
        lambda: rnn.Conv1DGRUCell((2, 3), 2, 3, 3),
        lambda: rnn.ZoneoutCell(rnn.GRUCell(3), 0.3, 0.2),
        lambda: rnn.VariationalDropoutCell(rnn.RNNCell(3), 0.1, 0.2, 0.3),
    ],
)
def test_a_hybridized_cell_is_one_scan(make):
    """However long the sequence: the program of 12 steps has the size of that of 5."""
    shape = (2, 3) if "Conv" in repr(make()) else (4,)
    net = made(Unrolled(make()))
    net.hybridize()
    net(batch(2, 5, *shape))
    short, long = (counted(net, batch(2, n, *shape)) for n in (5, 12))
    assert short["scan"] == 1
    assert short == long


@pytest.mark.dear
def test_programs_of_changing_lengths():
    """A hybridized cell, unrolled in a training loop: one program for each length, however often they change."""
    cell = made(rnn.LSTMCell(3, input_size=4))
    cell.hybridize()
    trainer = gluon.Trainer(cell.collect_params(), "sgd", {"learning_rate": 0.1})

    def step(length):
        with autograd.record():
            outputs, _ = cell.unroll(length, batch(2, length, 4), merge_outputs=True)
            loss = (outputs * outputs).sum()
        loss.backward()
        trainer.step(2)

    lengths = (3, 5, 4)
    for length in (*lengths, *lengths):
        step(length)
    before = engine.stats()["programs_compiled"]
    for length in (5, 3, 4, 3, 5):
        step(length)
    assert engine.stats()["programs_compiled"] == before, engine.explain()
    assert len(cell._unroller._traced.entries) == len(lengths)


@pytest.mark.dear
def test_a_layer_joins_no_parameters():
    """The forward of a fused layer holds no concatenation; unfused it has the one that joins the pieces."""
    layer = rnn.LSTM(3)
    with pytest.raises(GluonxError, match="rnn_param' has not been initialized"):
        layer.rnn_param.data()
    made(layer, batch(4, 2, 5))
    assert layer.is_fused and list(layer.collect_params()) == ["rnn_param"] and layer.rnn_param.shape == (120,)
    layer.hybridize()

    def joins(net):
        pure = gluonx.functional(net)
        x = onp.zeros((4, 2, 5), "float32")
        jaxpr = jax.make_jaxpr(lambda params: pure.apply(params, pure.state, None, x)[0])(pure.params).jaxpr
        return primitives(jaxpr).get("concatenate", 0)

    y = layer(batch(4, 2, 5)).asnumpy()
    assert joins(layer) == 0
    layer.unfuse()
    assert len(layer.collect_params()) == 4 and joins(layer) == 1
    onp.testing.assert_allclose(layer(batch(4, 2, 5)).asnumpy(), y, rtol=1e-6)


@pytest.mark.dear
def test_a_training_step_of_a_layer_is_one_program():
    layer = made(rnn.GRU(3, 2, dropout=0.2, bidirectional=True))
    layer.hybridize()
    trainer = gluon.Trainer(layer.collect_params(), "adam")  # before shapes are known, as ported code does
    x = batch(4, 2, 5)

    def step():
        with autograd.record():
            loss = (layer(x) ** 2).mean()
        loss.backward()
        trainer.step(1)
        return loss

    for _ in range(4):
        step()
    before = engine.stats()
    losses = [step() for _ in range(5)]
    after = engine.stats()
    assert after["dispatches"] - before["dispatches"] == 5
    assert after["programs_compiled"] == before["programs_compiled"]
    assert onp.isfinite([float(loss) for loss in losses]).all()


@pytest.mark.dear
def test_small_steps_of_a_layer_make_the_loss_smaller():
    """Without dropout nothing is left to chance: a small step against the gradient makes a smooth loss smaller."""
    layer = made(rnn.GRU(3, 2, bidirectional=True))
    layer.hybridize()
    trainer = gluon.Trainer(layer.collect_params(), "sgd", {"learning_rate": 0.01})
    x, losses = batch(4, 2, 5), []
    for _ in range(6):
        with autograd.record():
            loss = (layer(x) ** 2).mean()
        loss.backward()
        trainer.step(1)
        losses.append(float(loss))
    assert losses == sorted(losses, reverse=True) and losses[-1] < losses[0]


# ---------------------------------------------------------------- layers against cells


def give(cell, layer, name):
    for kind in ("i2h_weight", "h2h_weight", "h2r_weight", "i2h_bias", "h2h_bias"):
        if hasattr(cell, kind):
            getattr(cell, kind).set_data(getattr(layer, f"{name}_{kind}").data())


@pytest.mark.dear
@pytest.mark.parametrize(
    ("layer", "cell"),
    [
        (lambda: rnn.RNN(3, use_sequence_length=True, bidirectional=True), lambda: rnn.RNNCell(3, "relu")),
        (lambda: rnn.LSTM(3, use_sequence_length=True, bidirectional=True), lambda: rnn.LSTMCell(3)),
        (
            lambda: rnn.LSTM(3, projection_size=2, use_sequence_length=True, bidirectional=True),
            lambda: rnn.LSTMPCell(3, 2),
        ),
        (lambda: rnn.GRU(3, use_sequence_length=True, bidirectional=True), lambda: rnn.GRUCell(3)),
    ],
)
def test_sequence_lengths(layer, cell):
    """A layer given lengths does what its cells do in a BidirectionalCell, gradients included."""
    x, lengths = batch(4, 3, 5), np.array(LENGTHS, dtype="int32")
    layer = made(layer())
    layer(x, sequence_length=lengths)
    both = made(rnn.BidirectionalCell(cell(), cell()))
    both.unroll(4, x, layout="TNC")
    give(both.l_cell, layer, "l0")
    give(both.r_cell, layer, "r0")
    found = []
    for run in (
        lambda: layer(x, layer.begin_state(3), lengths),
        lambda: both.unroll(4, x, layout="TNC", merge_outputs=True, valid_length=lengths),
    ):
        x.attach_grad()
        with autograd.record():
            outputs, states = run()
            loss = (outputs * outputs).sum() + sum((s * s * 0.5).sum() for s in states)
        loss.backward()
        found.append([outputs, states[0].reshape(-1, *states[0].shape[-1:])[:3], x.grad])
    for a, b in zip(*found):
        onp.testing.assert_allclose(a.asnumpy(), b.asnumpy(), rtol=1e-5, atol=1e-6)
    onp.testing.assert_allclose(
        layer.l0_h2h_weight.grad().asnumpy(), both.l_cell.h2h_weight.grad().asnumpy(), rtol=1e-5, atol=1e-6
    )
    onp.testing.assert_allclose(
        layer.r0_i2h_bias.grad().asnumpy(), both.r_cell.i2h_bias.grad().asnumpy(), rtol=1e-5, atol=1e-6
    )


# ---------------------------------------------------------------- modifiers


@pytest.mark.parametrize("hybridize", [False, True])
def test_variational_masks_hold_for_the_sequence(hybridize):
    cell = made(rnn.VariationalDropoutCell(rnn.RNNCell(50, "relu", h2h_weight_initializer="zeros"), 0.0, 0.0, 0.5))
    cell.base_cell.i2h_bias.init = init.Constant(1.0)
    cell.initialize(force_reinit=True)
    x = np.zeros((2, 6, 3))
    cell.unroll(6, x)
    if hybridize:
        cell.hybridize()
    with autograd.train_mode():
        one, other = (cell.unroll(6, x, merge_outputs=True)[0].asnumpy() for _ in range(2))
    assert set(onp.unique(one)) == {0, 2}
    assert (one == one[:, :1]).all(), "one mask for all steps"
    assert (one != other).any(), "a new one for a new sequence"
    with autograd.train_mode():
        y, states = cell(x[:, 0], cell.begin_state(2))
        z, _ = cell(x[:, 1], states)
        cell.reset()
        w, _ = cell(x[:, 1], states)
    assert (y.asnumpy() == z.asnumpy()).all() and (y.asnumpy() != w.asnumpy()).any()
    assert (cell.unroll(6, x, merge_outputs=True)[0].asnumpy() == 1).all(), "nothing is dropped outside training"


@pytest.mark.parametrize("hybridize", [False, True])
def test_masks_of_states_hold_for_the_sequence(hybridize):
    """The recurrent input passes one mask at every step: with it at 1 a state is added up, elsewhere it is not."""
    base = rnn.RNNCell(40, "relu", i2h_weight_initializer="zeros", h2h_weight_initializer="zeros")
    cell = made(rnn.VariationalDropoutCell(base, drop_states=0.5))
    cell.unroll(5, np.zeros((1, 5, 2)))
    base.i2h_bias.set_data(onp.ones(40))
    base.h2h_weight.set_data(onp.eye(40))
    if hybridize:
        cell.hybridize()
    with autograd.train_mode():
        outputs = cell.unroll(5, np.zeros((1, 5, 2)), merge_outputs=True)[0].asnumpy()[0]
    kept = outputs[1] > 1
    assert 2 < kept.sum() < 38  # of 40 fair coins: a false alarm once in 10 ** 8
    onp.testing.assert_array_equal(outputs[:, ~kept], 1)
    onp.testing.assert_array_equal(outputs[:, kept], onp.array([1, 3, 7, 15, 31])[:, None].repeat(kept.sum(), 1))


@pytest.mark.parametrize("hybridize", [False, True])
def test_zoneout(hybridize):
    base = rnn.RNNCell(300, "relu", i2h_weight_initializer="zeros", h2h_weight_initializer="zeros")
    cell = made(rnn.ZoneoutCell(base, 0.25, 0.5))
    cell.unroll(4, np.zeros((1, 4, 2)))
    base.i2h_bias.set_data(onp.ones(300))
    base.h2h_weight.set_data(onp.eye(300))
    if hybridize:
        cell.hybridize()
    with autograd.train_mode():
        outputs, states = cell.unroll(4, np.zeros((1, 4, 2)), merge_outputs=True)
    first, second = outputs.asnumpy()[0, :2]
    assert set(first) == {0, 1}, "where the output stays, it is that before the first step: 0"
    assert abs((first == 0).mean() - 0.25) < 0.15  # 6 standard deviations, here and below: once in 10 ** 8
    assert (second[second < first] == 0).all() and not (second < first).any(), "an output stays, or moves on"
    assert abs((states[0].asnumpy() == 0).mean() - 0.5**4) < 0.085
    plain = cell.unroll(4, np.zeros((1, 4, 2)), merge_outputs=True)[0].asnumpy()
    onp.testing.assert_array_equal(plain[0, :, 0], [1, 2, 3, 4])


def test_dropout_cell_draws_anew_at_each_step():
    cell = rnn.DropoutCell(0.5)
    with autograd.train_mode():
        outputs, states = cell.unroll(6, np.ones((2, 6, 30)))
    assert states == [] and set(onp.unique(outputs.asnumpy())) == {0, 2}
    assert (outputs.asnumpy()[:, 0] != outputs.asnumpy()[:, 1]).any()


# ---------------------------------------------------------------- unroll


def test_forms_of_inputs_and_outputs():
    x, lengths = batch(3, 4, 5), np.array(LENGTHS, dtype="int32")
    cell = made(rnn.GRUCell(2, input_size=5))
    merged, _ = cell.unroll(4, x, merge_outputs=True)
    listed, _ = cell.unroll(4, [x[:, t] for t in range(4)])
    assert isinstance(listed, list) and len(listed) == 4
    onp.testing.assert_allclose(np.stack(listed, axis=1).asnumpy(), merged.asnumpy(), rtol=1e-5, atol=1e-6)
    turned, _ = cell.unroll(4, x.swapaxes(0, 1), layout="TNC", merge_outputs=True)
    onp.testing.assert_allclose(turned.swapaxes(0, 1).asnumpy(), merged.asnumpy(), rtol=1e-5, atol=1e-6)
    ragged, last = cell.unroll(4, x, valid_length=lengths)
    for row, length in enumerate(LENGTHS):
        onp.testing.assert_allclose(
            ragged.asnumpy()[row, :length], merged.asnumpy()[row, :length], rtol=1e-5, atol=1e-6
        )
        assert not ragged.asnumpy()[row, length:].any()
        onp.testing.assert_allclose(last[0].asnumpy()[row], merged.asnumpy()[row, length - 1], rtol=1e-5, atol=1e-6)
    cell.hybridize()
    again, _ = cell.unroll(4, [x[:, t] for t in range(4)], begin_state=cell.begin_state(3))
    onp.testing.assert_allclose(np.stack(again, axis=1).asnumpy(), merged.asnumpy(), rtol=1e-5, atol=1e-6)
    assert isinstance(rnn.DropoutCell(0.0).unroll(4, x)[0], np.ndarray)


def test_a_cell_of_ones_own_is_unrolled_in_both_ways():
    class Leaky(rnn.HybridRecurrentCell):
        def __init__(self):
            super().__init__()
            self.rate = gluonx.Parameter("rate", shape=(1,), init=init.Constant(0.5))

        def state_info(self, batch_size=0):
            return [{"shape": (batch_size, 2)}]

        def forward(self, inputs, states):
            new = states[0] * self.rate.data() + inputs
            return new * 2, [new]

    cell = made(Leaky())
    plain, _ = cell.unroll(3, np.ones((1, 3, 2)), merge_outputs=True)
    assert plain[0, :, 0].tolist() == [2, 3, 3.5]
    cell.hybridize()
    assert cell.unroll(3, np.ones((1, 3, 2)), merge_outputs=True)[0][0, :, 0].tolist() == [2, 3, 3.5]


def test_begin_state():
    cell = rnn.LSTMCell(3)
    assert [s.tolist() for s in cell.begin_state(1, func=np.ones)] == [[[1, 1, 1]]] * 2
    assert cell.begin_state(2, dtype="float16")[0].dtype == onp.float16
    layer = rnn.LSTM(3, dtype="float16")
    assert layer.begin_state(2)[0].dtype == onp.float16
    assert rnn.GRU(3, 2).begin_state(2, func=np.ones)[0].sum() == 12


def test_half_precision():
    layer = made(rnn.LSTM(3), batch(4, 2, 5))
    wanted = layer(batch(4, 2, 5)).asnumpy()
    layer.cast("float16")
    y, states = layer(batch(4, 2, 5).astype("float16"), layer.begin_state(2))
    assert y.dtype == onp.float16 and states[1].dtype == onp.float16
    onp.testing.assert_allclose(y.asnumpy().astype("float32"), wanted, atol=2e-2)
    cell = made(rnn.GRUCell(3, input_size=5))
    cell.cast("float16")
    assert cell.unroll(2, batch(1, 2, 5).astype("float16"))[0][0].dtype == onp.float16


# ---------------------------------------------------------------- parameters and files


def test_each_piece_has_its_initializer():
    layer = rnn.LSTM(
        3,
        input_size=2,
        i2h_weight_initializer="ones",
        h2h_weight_initializer=init.Orthogonal(),
        i2h_bias_initializer=init.LSTMBias(1.0),
        h2h_bias_initializer=init.Constant(0.5),
    )
    layer.initialize(init.Xavier())
    layer(batch(2, 1, 2))
    assert layer.is_fused
    assert (layer.l0_i2h_weight.data().asnumpy() == 1).all()
    assert layer.l0_i2h_bias.data().tolist() == [0] * 3 + [1] * 3 + [0] * 6
    assert (layer.l0_h2h_bias.data().asnumpy() == 0.5).all()
    assert (layer.weights_of("rnn_param").asnumpy()[:24] == 1).all()


def test_files_of_mxnet(tmp_path):
    """A file of MXNet 2.0's with one flat parameter is read, also before shapes are known, and written again."""
    net = nn.HybridSequential()
    net.add(rnn.LSTM(3, 2, bidirectional=True))
    net.load_parameters(HERE / "lstm.params")
    flat = cases.weight("file", "rnn_param", (432,))
    onp.testing.assert_array_equal(net[0].l0_i2h_weight.data().asnumpy().ravel(), flat[:24])
    x = batch(4, 2, 2)
    y = net(x).asnumpy()
    onp.testing.assert_array_equal(net[0].weights_of("rnn_param").asnumpy(), flat)
    net.save_parameters(tmp_path / "flat.params", format="mxnet")
    assert list(serialize.load_arrays(tmp_path / "flat.params")) == ["0.rnn_param"]
    net.save_parameters(tmp_path / "own.params")
    assert "0.rnn_param" in onp.load(tmp_path / "own.params")  # as MXNet 2 reads it
    net.save_parameters(tmp_path / "own.safetensors")
    for name in ("flat.params", "own.params", "own.safetensors"):
        other = nn.HybridSequential()
        other.add(rnn.LSTM(3, 2, bidirectional=True, input_size=2))
        other.load_parameters(tmp_path / name)
        onp.testing.assert_array_equal(other(x).asnumpy(), y)
    wrong = nn.HybridSequential()
    wrong.add(rnn.LSTM(4, 2, bidirectional=True))
    with pytest.raises(FormatError, match=r"rnn_param"):
        wrong.load_parameters(HERE / "lstm.params")


@pytest.mark.dear
def test_a_frozen_piece_stays():
    layer = made(rnn.GRU(3), batch(4, 2, 5))
    layer.l0_h2h_weight.grad_req = "null"
    before = {n: p.data().asnumpy().copy() for n, p in layer.collect_params(fused=False).items()}
    trainer = gluon.Trainer(layer.collect_params(), "sgd", {"learning_rate": 1.0})
    with autograd.record():
        loss = (layer(batch(4, 2, 5)) ** 2).sum()
    loss.backward()
    trainer.step(1)
    moved = [n for n, p in layer.collect_params(fused=False).items() if (p.data().asnumpy() != before[n]).any()]
    assert moved == ["l0_i2h_weight", "l0_i2h_bias", "l0_h2h_bias"]


# ---------------------------------------------------------------- mistakes


@pytest.mark.parametrize(
    ("make", "error", "words"),
    [
        (lambda: rnn.LSTM(3, layout="NCT"), ValueError, "LSTM knows the layouts TNC and NTC, not 'NCT'"),
        (lambda: rnn.GRU(0), ValueError, "hidden_size must be at least 1"),
        (lambda: rnn.RNN(3, activation="sigmoid"), ValueError, "'relu' or 'tanh', got 'sigmoid'"),
        (lambda: rnn.LSTM(3, dropout=2), ValueError, "dropout must be in"),
        (lambda: rnn.LSTMCell(0), ValueError, "LSTMCell: hidden_size must be at least 1"),
        (lambda: rnn.DropoutCell("a"), ValueError, "rate must be a number from 0 to 1, got 'a'"),
        (lambda: rnn.ResidualCell(nn.Dense(3)), TypeError, "takes a recurrent cell"),
        (lambda: rnn.SequentialRNNCell().add(nn.Dense(3)), TypeError, "takes a recurrent cell"),
        (
            lambda: rnn.ZoneoutCell(rnn.BidirectionalCell(rnn.GRUCell(2), rnn.GRUCell(2)), 0.1),
            ValueError,
            "no single step",
        ),
        (
            lambda: rnn.VariationalDropoutCell(rnn.BidirectionalCell(rnn.GRUCell(2), rnn.GRUCell(2)), 0, 0.1),
            ValueError,
            "no single step",
        ),
        (lambda: rnn.Conv2DLSTMCell((3, 8, 8), 2, 3, 2), ValueError, "h2h_kernel must be odd"),
        (lambda: rnn.Conv2DLSTMCell((3, 8), 2, 3, 3), ValueError, "input_shape is that of one sample, CHW"),
        (lambda: rnn.Conv1DGRUCell((3, 2), 2, 5, 3), ValueError, "larger than the padded"),
        (lambda: rnn.Conv1DGRUCell((3, 8), 2, 3, 3, conv_layout="NCHW"), ValueError, "layouts NCW and NWC"),
    ],
)
def test_mistakes_when_made(make, error, words):
    with pytest.raises(error, match=words):
        make()


def test_mistakes_when_called():
    layer, x = made(rnn.LSTM(3, input_size=5)), batch(4, 2, 5)
    with pytest.raises(ShapeError, match=r"shape \(1, 3, 3\), but inputs of shape \(4, 2, 5\) need \(1, 2, 3\)"):
        layer(x, [np.zeros((1, 3, 3)), np.zeros((1, 2, 3))])
    with pytest.raises(ValueError, match="2 states are needed"):
        layer(x, np.zeros((1, 2, 3)))
    with pytest.raises(ShapeError, match=r"\(2, 5\), not TNC"):
        layer(x[0])
    with pytest.raises(ShapeError, match=r"l0_i2h_weight|parameters"):
        layer(batch(4, 2, 6))
    with pytest.raises(ValueError, match="use_sequence_length"):
        layer(x, None, np.array([1, 2]))
    cell = made(rnn.LSTMCell(3, input_size=5))
    with pytest.raises(ShapeError, match=r"length is 5, but the inputs are an array of shape \(4, 2, 5\)"):
        cell.unroll(5, x)
    with pytest.raises(ShapeError, match="a list of 1"):
        cell.unroll(5, [x])
    with pytest.raises(ValueError, match="layout"):
        cell.unroll(2, x, layout="CNT")
    rnn.ResidualCell(cell)
    with pytest.raises(GluonxError, match="LSTMCell was given to a modifier"):
        cell.begin_state(2)
    with pytest.raises(GluonxError, match="cannot be called for one step"):
        rnn.BidirectionalCell(rnn.GRUCell(2), rnn.GRUCell(2))(x[0], [])
    stack = rnn.SequentialRNNCell()
    stack.add(rnn.LSTMCell(3))
    with pytest.raises(ValueError, match=r"takes a list of 2 states, .* but 1 came"):
        stack.unroll(2, x, begin_state=[np.zeros((4, 3))])


@pytest.mark.dear
@pytest.mark.parametrize(
    "hybrid", [lambda: rnn.LSTM(4, 2, layout="NTC", bidirectional=True), lambda: Unrolled(rnn.GRUCell(4))]
)
def test_an_artifact_takes_any_batch(hybrid, tmp_path):
    net = made(hybrid())
    net.hybridize()
    net(batch(2, 5, 6))
    net.export(tmp_path / "net")
    x = batch(7, 5, 6)
    onp.testing.assert_allclose(serve.load(tmp_path / "net")(x.asnumpy()), net(x).asnumpy(), rtol=1e-5, atol=1e-6)


def deep(kind):
    stack = kind()
    stack.add(rnn.LSTMCell(3))
    stack.add(rnn.DropoutCell(0.2))
    stack.add(rnn.ResidualCell(rnn.GRUCell(3)))
    stack.add(rnn.BidirectionalCell(rnn.GRUCell(2), rnn.ZoneoutCell(rnn.LSTMCell(4))))
    return stack


@pytest.mark.parametrize("kind", [rnn.SequentialRNNCell, rnn.HybridSequentialRNNCell])
def test_shapes_from_one_step(kind):
    stack = deep(kind)
    stack.initialize()
    stack.infer_shape(0, np.ones((2, 5)), False)  # as MXNet calls it
    shapes = {name: p.shape for name, p in stack.collect_params(".*i2h_weight").items()}
    assert shapes == {
        "0.i2h_weight": (12, 5),
        "2.base_cell.i2h_weight": (9, 3),
        "3.l_cell.i2h_weight": (6, 3),
        "3.r_cell.base_cell.i2h_weight": (16, 3),
    }


def test_shapes_of_the_other_cells_of_a_stack():
    cells = [rnn.LSTMCell(3), rnn.LSTMCell(3), rnn.LSTMPCell(5, 2), rnn.Conv2DGRUCell((3, 8, 8), 4, 3, 3, i2h_pad=1)]
    for cell in cells:
        cell.initialize()
    cells[0].infer_shape(1, np.ones((2, 5)), False)
    cells[1].infer_shape(1, np.ones((2, 5)), True)
    cells[2].infer_shape(np.ones((2, 5)))
    cells[3].infer_shape(np.ones((2, 3, 8, 8)), cells[3].begin_state(2))
    assert [cell.i2h_weight.shape for cell in cells] == [(12, 3), (12, 6), (20, 5), (12, 3, 3, 3)]


# -- what cells are given ----------------------------------------------------------------------------------------------


def shapes_of(cell):
    return {name: p.shape for name, p in cell.collect_params().items()}


@pytest.mark.dear
@pytest.mark.parametrize("shape", [(2, 5), (2, 7, 5)], ids=["step", "sequence"])
def test_infer_shape_comes_before_initialize(shape):
    """As MXNet 2.0.0b1 has it where cells of a sequence are equal (its formula takes a cell's own size)."""
    x = np.ones(shape)
    cell = rnn.LSTMCell(3)
    cell.infer_shape(0, x, False)
    assert shapes_of(cell) == {"i2h_weight": (12, 5), "h2h_weight": (12, 3), "i2h_bias": (12,), "h2h_bias": (12,)}
    for number, both, width in ((1, False, 3), (1, True, 6), (0, True, 5)):
        cell = rnn.GRUCell(3)
        cell.infer_shape(number, x, both)
        assert cell.i2h_weight.shape == (9, width)
    for stack in (rnn.SequentialRNNCell(), rnn.HybridSequentialRNNCell()):
        stack.add(rnn.LSTMCell(3))
        stack.add(rnn.ResidualCell(rnn.LSTMCell(3)))
        stack.infer_shape(None, x, False)
        assert [shapes_of(stack)[f"{k}i2h_weight"] for k in ("0.", "1.base_cell.")] == [(12, 5), (12, 3)]
        stack.initialize()
        assert stack.unroll(3, np.ones((2, 3, 5)), merge_outputs=True)[0].shape == (2, 3, 3)
    both = rnn.BidirectionalCell(rnn.LSTMCell(3), rnn.GRUCell(4))
    both.infer_shape(0, x, True)
    assert (both.l_cell.i2h_weight.shape, both.r_cell.i2h_weight.shape) == ((12, 5), (12, 5))
    conv = rnn.Conv1DRNNCell((5, 8), 3, 3, 3)
    conv.infer_shape(0, np.ones((2, 5, 8)), False)
    assert conv.i2h_weight.shape == (3, 5, 3)


@pytest.mark.dear
def test_shapes_of_any_net_are_found_before_initialize():
    net = gluonx.nn.HybridSequential()
    net.add(nn.Dense(4, flatten=False), nn.BatchNorm(axis=-1), nn.MultiHeadAttention(4, 2), rnn.GRU(3))
    net.infer_shape(np.ones((4, 2, 5)))
    assert all(-1 not in shape for shape in shapes_of(net).values())
    with pytest.raises(gluonx.errors.UninitializedError):
        net(np.ones((4, 2, 5)))
    net.initialize()
    assert net(np.ones((4, 2, 5))).shape == (4, 2, 3)


@pytest.mark.parametrize(
    "cell", [rnn.RNNCell(3), rnn.LSTMCell(3), rnn.GRUCell(3), rnn.LSTMPCell(4, 3)], ids=lambda c: type(c).__name__
)
def test_an_array_is_no_list_of_states(cell):
    cell.initialize()
    told = rf"{type(cell).__name__} takes a list of . states.*an array of shape \(2, 3\) came"
    with pytest.raises(ShapeError, match=told):
        cell(np.ones((2, 5)), np.ones((2, 3)))
    with pytest.raises(ShapeError, match="but 3 came"):
        cell(np.ones((2, 5)), [np.ones((2, 3))] * 3)


def test_states_along_a_first_axis_are_a_list():
    cell = rnn.LSTMCell(3)
    cell.initialize()
    x, states = np.ones((2, 5)), np.random.uniform(size=(2, 2, 3))
    assert (cell(x, states)[0] == cell(x, list(states))[0]).all()


def test_a_step_of_more_axes_is_flattened():
    cell = rnn.SequentialRNNCell()
    cell.add(rnn.LSTMCell(3))
    cell.initialize()
    x = np.random.uniform(size=(2, 4, 5))
    out, _ = cell(x, cell.begin_state(2))
    assert cell[0].i2h_weight.shape == (12, 20)
    assert (out == cell(x.reshape(2, 20), cell.begin_state(2))[0]).all()


def test_a_lone_layer_of_mxnet_1_lists_its_weights(monkeypatch):
    """As MXNet 1.9.1 lists them, in its order, before and after the first call."""
    monkeypatch.setattr(nn.Block, "_block_names", prefixes.Prefixes())
    monkeypatch.setattr(prefixes.Naming, "active", True)
    layer = rnn.LSTM(4, bidirectional=True, projection_size=2, prefix="lstm_")
    kinds = ["i2h_weight", "h2h_weight", "i2h_bias", "h2h_bias", "h2r_weight"]
    names = [f"lstm_{place}_{kind}" for place in ("l0", "r0") for kind in kinds]
    assert list(layer.collect_params()) == names
    layer.initialize()
    layer(np.ones((5, 2, 3)))
    params = layer.collect_params()
    assert list(params) == list(layer.params) == names and layer.is_fused
    params.setattr("lr_mult", 0.5)
    assert layer.rnn_param.lr_mult == 0.5 and "lstm_rnn_param" not in layer.params
    assert list(layer.collect_params(".*bias")) == [name for name in names if name.endswith("bias")]


_OF_CELLS = ("i2h_weight", "h2h_weight", "i2h_bias", "h2h_bias")


def test_files_hold_what_each_mxnet_reads(tmp_path, monkeypatch):
    """MXNet 2.0.0b1 and 1.9.1 load these files: 14 layers of RNN, LSTM, GRU, both ways, projected, in both layouts."""
    net = nn.HybridSequential()
    net.add(rnn.LSTM(3, num_layers=2, bidirectional=True, projection_size=2), rnn.GRU(4, layout="TNC"))
    net.initialize()
    x = np.random.uniform(size=(4, 2, 5))
    expected = net(x)
    net.save_parameters(tmp_path / "two.params")
    assert list(serialize.load_arrays(tmp_path / "two.params")) == ["0.rnn_param", "1.rnn_param"]
    net.save_parameters(tmp_path / "own.safetensors")
    monkeypatch.setattr(nn.Block, "_block_names", prefixes.Prefixes())
    monkeypatch.setattr(prefixes.Naming, "active", True)  # a program of MXNet 1
    net.save_parameters(tmp_path / "one.params")
    monkeypatch.setattr(prefixes.Naming, "active", False)
    assert (tmp_path / "one.params").read_bytes()[:8] == (0x112).to_bytes(8, "little")  # MXNet's list
    pieces = sorted(net.collect_params(fused=False))
    cells = [
        f"0._unfused.{k}.{side}_cell.{what}" for k in (0, 1) for side in "lr" for what in (*_OF_CELLS, "h2r_weight")
    ]
    cells += [f"1._unfused.0.{what}" for what in _OF_CELLS]
    assert sorted(serialize.load_arrays(tmp_path / "one.params")) == sorted(cells)
    assert sorted(serialize.load_arrays(tmp_path / "own.safetensors")) == pieces
    for name in ("two.params", "one.params", "own.safetensors"):
        other = nn.HybridSequential()
        other.add(rnn.LSTM(3, num_layers=2, bidirectional=True, projection_size=2), rnn.GRU(4))
        other.load_parameters(tmp_path / name)
        assert (other(x) == expected).all()
