"""export(format='onnx'): nets, open sizes, the graph and the file; what is refused; MXNet's export_model.

`test_onnx_operators.py` sweeps the operators.
"""

import sys

import jax
import jax.numpy as jnp
import numpy as np
import onnx
import pytest

import gluonx
from compat.test_symbol_block import LARGE, imported
from gluonx import nn, npx, rnn
from gluonx import np as gnp
from gluonx.compat import install_as_mxnet, uninstall
from gluonx.errors import FormatError, GluonxError, GraphError, ShapeError, TracedValueError, UninitializedError
from gluonx.export import InputSpec
from gluonx.export.onnx import write
from gluonx.export.onnx.graph import Graph
from gluonx.gluon import SymbolBlock
from lib.exported_nets import CASES, ZOO, inputs_of, make
from lib.onnx_served import Code, handles, kinds, numbers, same, sent, served
from lib.params_samples import networks

# ----------------------------------------------------------------------------------------------------------------- nets


@pytest.mark.parametrize("name", CASES)
def test_nets(tmp_path, name):
    net, arrays, _ = make(name)
    free = name not in ("captured", "lstm", "gru_both_ways")  # a captured array, and a loop over an open time
    sent(net, arrays, tmp_path, sizes=free)


def zoo(name, slow):
    return pytest.param(name, id=name, marks=[pytest.mark.slow] * slow)


@pytest.mark.dear
@pytest.mark.parametrize("name", [zoo(name, name != "mobilenet0.25") for name in ZOO])
def test_model_zoo(tmp_path, name):
    net, arrays, outputs = make(name)
    path = net.export(tmp_path / "net", format="onnx")
    same(served(path, arrays), outputs)
    two = inputs_of([f"2,{ZOO[name][1][0].partition(',')[2]}"], 3)
    same(served(path, two), numbers(net(*handles(two))))
    assert not set(kinds(onnx.load(path))) & {"Cast", "Identity", "Reshape", "Transpose", "Shape"}


def sample(version, name, folder):
    slow = name in LARGE and version == "mxnet-1.9.1"  # the same graph as that of 2.0
    return pytest.param(version, name, folder, id=f"{version}-{name}", marks=[pytest.mark.slow] * slow)


@pytest.mark.parametrize(("version", "name", "folder"), [sample(*network) for network in networks()])
def test_samples_give_mxnets_outputs(tmp_path, version, name, folder):
    net, inputs, outputs = imported(version, name, folder)
    # Begin states that were traced with a batch, or that are inputs whose first axis is another.
    fixed = name == "gru" or (version, name) == ("mxnet-2.0.0b1", "lstmcell_unroll")
    path = net.export(tmp_path / "net", format="onnx", inputs=inputs, dynamic_batch=not fixed)
    found = served(path, [x.asnumpy() for x in inputs])
    scale = np.abs(outputs[0]).max()
    np.testing.assert_allclose(found[0] / scale, outputs[0] / scale, rtol=1e-5, atol=1e-5)
    assert {put.name for put in onnx.load(path).graph.input} == set(net.__dict__["_input_names"])


# -------------------------------------------------------------------------------------- open sizes, states, half floats


def test_an_open_size_beside_the_batch(tmp_path):
    """Transformers over sequences of any length, and a net of convolutions over images of any size."""
    net = nn.TransformerEncoderLayer(8, 16, 2, 0.0, 0.0)
    net.initialize()
    path = net.export(tmp_path / "a", format="onnx", inputs=[InputSpec("tokens", ("b", "t", 8), "float32")])
    for size in ((1, 3), (2, 7)):
        x = inputs_of([f"{size[0]},{size[1]},8"])[0]
        same(served(path, [x]), numbers(net(*handles([x]))))
    (put,), (out,) = (onnx.load(path).graph.input, onnx.load(path).graph.output)
    assert [d.dim_param or d.dim_value for d in put.type.tensor_type.shape.dim] == ["b", "t", 8]
    assert [d.dim_param or d.dim_value for d in out.type.tensor_type.shape.dim] == ["b", "t", 8]
    net = nn.HybridSequential()
    net.add(
        nn.Conv2D(4, 3, padding=1),
        nn.MaxPool2D(2, 2),
        nn.GroupNorm(2),
        nn.Conv2DTranspose(2, 2, 2),
        nn.PixelShuffle2D(1),
    )
    net.initialize()
    net(gnp.ones((1, 3, 8, 8)))
    path = net.export(tmp_path / "b", format="onnx", inputs=[InputSpec("x", ("b", 3, "2*h", "2*w"), "float32")])
    for text in ("1,3,8,6", "2,3,10,12"):
        x = inputs_of([text])[0]
        same(served(path, [x]), numbers(net(*handles([x]))))


@pytest.mark.parametrize(
    "net", [nn.MaxPool2D(3, 2, 1), nn.AvgPool2D(3, 2, 1), nn.MaxPool2D(3, 2, 1, ceil_mode=True)], ids=range(3)
)
def test_pooling_of_images_of_any_size(tmp_path, net):
    path = net.export(tmp_path / "a", format="onnx", inputs=[InputSpec("x", ("b", 3, "h", "w"), "float32")])
    for text in ("1,3,8,6", "2,3,9,11", "1,3,7,10"):
        x = inputs_of([text])[0]
        same(served(path, [x]), numbers(net(*handles([x]))))


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x.reshape(x.shape[0], -1, 2).transpose(1, 0, 2).reshape(-1, x.shape[0]),
        lambda x: gnp.concatenate([x, x], axis=0)[1 : x.shape[0] + 1],
        lambda x: x.reshape(-1) * 3 + gnp.full((x.shape[0] * 6,), 0.5),
        lambda x: gnp.ones((x.shape[0], 2, 1)) * gnp.mean(x, axis=(0, 2), keepdims=True),
        lambda x: gnp.sort(x, axis=0)[::-1] - gnp.argmax(x, axis=0),
        lambda x: gnp.tile(x, (2, 1, 1)) + gnp.repeat(x, 2, axis=0),
        lambda x: gnp.arange(x.shape[0]) + x.sum(axis=(1, 2)) * gnp.arange(2, x.shape[0] + 2, dtype="int32"),
        lambda x: gnp.broadcast_to(x[:1], x.shape) - gnp.roll(x, 1, axis=0),
        lambda x: x.var(axis=0, ddof=1) if x.shape[0] > 0 else x,
        lambda x: gnp.split(x, 2, axis=1)[0].swapaxes(0, 1),
        lambda x: npx.topk(x, k=3, axis=2) + x[-1] + x[..., None, 0],
        lambda x: npx.softmax(x, axis=0) * npx.one_hot(gnp.arange(3), 3)[0],
        lambda x: gnp.flip(x, 0).astype("int32").sum() + gnp.prod(gnp.array(x.shape[1:])),
    ],
    ids=range(13),
)
def test_sizes_that_are_computed(tmp_path, function):
    net, rng = Code(function), np.random.default_rng(0)
    path = net.export(tmp_path / "net", format="onnx", inputs=[gnp.ones((4, 2, 3))])
    for size in (2, 5):
        x = rng.normal(size=(size, 2, 3)).astype("float32") * 3
        same(served(path, [x]), numbers(net(*handles([x]))))


class WithStates(nn.HybridBlock):
    def __init__(self, layer):
        super().__init__()
        self.layer = layer

    def forward(self, x, states):
        return self.layer(x, states)


@pytest.mark.parametrize(
    ("make_layer", "count"), [(rnn.LSTM, 2), (rnn.GRU, 1), (rnn.RNN, 1)], ids=["lstm", "gru", "rnn"]
)
@pytest.mark.parametrize("both", [False, True], ids=["one", "both"])
def test_recurrent_layers_with_states(tmp_path, make_layer, count, both):
    net = WithStates(make_layer(4, 2, bidirectional=both))
    net.initialize()
    x, states = inputs_of(["3,2,5"])[0], inputs_of([f"{4 if both else 2},2,4"] * count)
    expected = net(gnp.array(x), [gnp.array(s) for s in states])
    specs = [InputSpec("x", ("t", "b", 5), "float32")]
    specs.append([InputSpec(f"s{i}", (len(s), "b", 4), "float32") for i, s in enumerate(states)])
    path = net.export(tmp_path / "net", format="onnx", inputs=specs)
    same(served(path, [x, *states]), [expected[0].asnumpy(), *numbers(expected[1])])
    more, wide = inputs_of(["5,3,5"])[0], inputs_of([f"{4 if both else 2},3,4"] * count, 1)
    expected = net(gnp.array(more), [gnp.array(s) for s in wide])
    same(served(path, [more, *wide]), [expected[0].asnumpy(), *numbers(expected[1])])
    assert set(kinds(onnx.load(path))) <= {make_layer.__name__, "Squeeze", "Transpose", "Reshape", "Slice", "Concat"}


def test_sequences_of_different_lengths(tmp_path):
    layer = rnn.LSTM(4, bidirectional=True, use_sequence_length=True)
    layer.initialize()
    net = Code(lambda x, lengths: layer(x, None, lengths) if False else layer(x, sequence_length=lengths))
    net.layer = layer
    arrays = [inputs_of(["5,3,4"])[0], np.array([5, 2, 3], "int32")]
    out = net(*handles(arrays))
    path = net.export(tmp_path / "net", format="onnx", inputs=handles(arrays), dynamic_batch=False)
    same(served(path, arrays), numbers(out))


def test_half_precision(tmp_path):
    net = nn.HybridSequential()
    net.add(nn.Conv2D(4, 3), nn.BatchNorm(), nn.Activation("relu"), nn.GlobalAvgPool2D(), nn.Flatten(), nn.Dense(3))
    net.initialize()
    x = inputs_of(["2,3,6,6"])[0]
    net(gnp.array(x))
    net.cast("float16")
    model = sent(net, [x.astype("float16")], tmp_path, 5e-3)
    assert "Cast" not in kinds(model)
    dense = nn.Dense(3, in_units=4, activation="relu")
    dense.initialize()
    dense.cast("bfloat16")
    path = dense.export(tmp_path / "b", format="onnx", inputs=[gnp.ones((2, 4), dtype="bfloat16")])
    onnx.checker.check_model(path, full_check=True)
    assert onnx.load(path).graph.input[0].type.tensor_type.elem_type == onnx.TensorProto.BFLOAT16
    net.cast("bfloat16")
    with pytest.raises(GraphError, match="has unsupported type: tensor"):  # a convolution of opset 20
        net.export(tmp_path / "c", format="onnx", inputs=[gnp.array(x, dtype="bfloat16")])


# ------------------------------------------------------------------------------------------------------------ the graph


def test_names_and_metadata(tmp_path):
    net, _, _ = make("convnet")
    model = onnx.load(net.export(tmp_path / "net.onnx", format="onnx", constraints=["b <= 64"]))
    assert (model.producer_name, model.opset_import[0].version, model.ir_version) == ("gluonx", 20, 9)
    assert {p.key: p.value for p in model.metadata_props} == {"block": "HybridSequential", "constraints": "b <= 64"}
    names = [node.name for node in model.graph.node]
    assert names == ["0/Conv", "1/BatchNormalization", "2/Relu", "3/MaxPool", "4/Conv", "5/BatchNormalization",
                     "6/GlobalAveragePool", "7/Flatten", "8/Gemm"]  # fmt: skip
    assert [put.name for put in model.graph.input] == ["data"] and [out.name for out in model.graph.output] == [
        "output"
    ]
    params = {t.name: tuple(t.dims) for t in model.graph.initializer}
    assert params.pop("constant") == (6,)  # the gamma that is fixed
    assert params == {name: p.shape for name, p in net.collect_params().items() if name != "5.gamma"}


def test_a_block_that_is_called_past_its_container_is_named_whole(tmp_path):
    class Net(nn.HybridBlock):
        def __init__(self):
            super().__init__()
            self.cells = nn.HybridSequential()
            self.cells.add(nn.Dense(3, in_units=3), nn.Dense(3, in_units=3))

        def forward(self, x):
            for cell in self.cells:
                x = cell(x)
            return x

    net = Net()
    net.initialize()
    graph = sent(net, inputs_of(["2,3"]), tmp_path).graph
    assert [node.name for node in graph.node] == ["cells.0/Gemm", "cells.1/Gemm"]
    assert [t.name for t in graph.initializer] == ["cells.0.weight", "cells.0.bias", "cells.1.weight", "cells.1.bias"]


def test_the_graph_is_what_one_would_write(tmp_path):
    """No node that could be left out: an encoder layer, with the shapes of its heads open in the batch."""
    net = nn.TransformerEncoderLayer(8, 16, 2, 0.1, 0.1, activation="gelu")
    net.initialize()
    net(gnp.ones((2, 3, 8)))
    graph = onnx.load(net.export(tmp_path / "a", format="onnx", inputs=[gnp.ones((2, 3, 8))])).graph
    found = [node.op_type for node in graph.node]
    assert found.count("MatMul") == 6 and found.count("Softmax") == 1 and found.count("LayerNormalization") == 2
    assert found.count("Reshape") == 4 and found.count("Transpose") == 4
    assert not {"Cast", "Identity", "Shape", "Concat", "Gather", "Dropout", "Unsqueeze", "Squeeze"} & set(found)


@pytest.mark.dear
def test_what_depends_on_no_input_is_computed(tmp_path):
    weight = np.random.default_rng(0).normal(size=(4, 3)).astype("float32")

    class Net(nn.HybridBlock):
        def __init__(self):
            super().__init__()
            self.weight = gluonx.Parameter("weight", shape=(4, 3))

        def forward(self, x):
            w = self.weight.data()
            return gnp.matmul(x, gnp.exp(w).T / w.sum()) + gnp.arange(4) * gnp.array([1.0, 2, 3, 4])

    net = Net()
    net.initialize()
    net.weight.set_data(gnp.array(weight))
    model = sent(net, inputs_of(["2,3"]), tmp_path)
    assert kinds(model) == ["MatMul", "Add"]
    assert len(model.graph.initializer) == 2


def test_what_layers_have_in_common_is_computed_once(tmp_path):
    class Net(nn.HybridBlock):
        def forward(self, x, lengths):
            for _ in range(3):
                x = npx.sequence_mask(x + 1, lengths, use_sequence_length=True)
            return x

    arrays = [inputs_of(["4,2,3"])[0], np.array([1, 3], "int32")]
    model = sent(Net(), arrays, tmp_path, sizes=False)
    assert sorted(kinds(model)) == ["Add"] * 3 + ["Cast", "Less", "Unsqueeze"] + ["Where"] * 3


def test_a_shared_weight_is_kept_once(tmp_path):
    class Tied(nn.HybridBlock):
        def __init__(self):
            super().__init__()
            self.table = nn.Embedding(11, 4)

        def forward(self, x):
            return npx.fully_connected(self.table(x), self.table.weight.data(), no_bias=True, flatten=False)

    net = Tied()
    net.initialize()
    arrays = [np.array([[1, 2, 10]], "int32")]
    model = sent(net, arrays, tmp_path)
    assert [tuple(t.dims) for t in model.graph.initializer if t.name == "table.weight"] == [(11, 4)]
    assert sum(np.prod(t.dims) for t in model.graph.initializer if t.data_type == onnx.TensorProto.FLOAT) == 44


@pytest.mark.parametrize(
    ("function", "count"),
    [(lambda x: x, 1), (lambda x: (x, x), 2), (lambda x: (x + 1,) * 2, 2), (lambda x: gnp.ones((2,)), 1),
     (lambda x: (gnp.exp(x), [x * 2, {"a": x - 1}]), 3)],
    ids=["input", "input twice", "output twice", "constant", "nested"],
)  # fmt: skip
def test_outputs_of_every_kind(tmp_path, function, count):
    x = inputs_of(["2,3"])[0]
    path = Code(function).export(tmp_path / "net", format="onnx", inputs=[gnp.array(x)])
    found = served(path, [x])
    assert len(found) == count
    leaves = [
        leaf.asnumpy() for leaf in jax.tree.leaves(function(gnp.array(x)), is_leaf=lambda v: hasattr(v, "asnumpy"))
    ]
    same(found, leaves)


# ------------------------------------------------------------------------------------------------------------- the file


def test_parameters_beyond_what_a_file_holds_lie_beside_it(tmp_path, monkeypatch):
    net, arrays, outputs = make("mlp")
    monkeypatch.setattr(write, "_LIMIT", 100)
    monkeypatch.setattr(write, "_EXTERNAL", 20)
    path = net.export(tmp_path / "net", format="onnx")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["net.onnx", "net.onnx.data"]
    onnx.checker.check_model(path, full_check=True)
    same(served(path, arrays), outputs)
    loaded = onnx.load(path)
    kept = {t.name: onnx.numpy_helper.to_array(t) for t in loaded.graph.initializer}
    np.testing.assert_array_equal(kept["0.weight"], net[0].weight.data().asnumpy())


def test_an_export_replaces_and_leaves_nothing_behind(tmp_path):
    net, arrays, _ = make("mlp")
    first = net.export(tmp_path / "net", format="onnx")
    before = first.read_bytes()
    assert net.export(tmp_path / "net.onnx", format="onnx") == first == tmp_path / "net.onnx"
    assert first.read_bytes() == before  # the same bytes for the same model
    bad = Code(lambda x: gnp.real(gnp.fft.fft(x)))
    with pytest.raises(GraphError):
        bad.export(tmp_path / "net", format="onnx", inputs=handles(arrays))
    assert first.read_bytes() == before and [p.name for p in tmp_path.iterdir()] == ["net.onnx"]


@pytest.mark.parametrize("where", ["_tensor", "_node", "_check"])
def test_an_export_that_fails_half_way_writes_nothing(tmp_path, monkeypatch, where):
    def fail(*args):
        raise KeyboardInterrupt

    net, _, _ = make("mlp")
    monkeypatch.setattr(write, where, fail)
    with pytest.raises(KeyboardInterrupt):
        net.export(tmp_path / "net", format="onnx")
    assert not list(tmp_path.iterdir())


def test_a_disk_that_fails_leaves_the_older_model(tmp_path, monkeypatch):
    net, arrays, outputs = make("mlp")
    path = net.export(tmp_path / "net", format="onnx")
    monkeypatch.setattr(write, "_LIMIT", 100)
    monkeypatch.setattr(write, "_EXTERNAL", 20)
    monkeypatch.setattr(write._External, "fill", lambda self, file: (_ for _ in ()).throw(OSError("no space left")))
    with pytest.raises(OSError, match="no space left"):
        net.export(tmp_path / "net", format="onnx")
    assert [p.name for p in tmp_path.iterdir()] == ["net.onnx"]
    same(served(path, arrays), outputs)


# ----------------------------------------------------------------------------------------------- what cannot be written


class Two(nn.HybridBlock):
    """Things without counterpart in blocks below."""

    def __init__(self):
        super().__init__()
        self.body = nn.HybridSequential()
        self.body.add(Code(lambda x: gnp.real(gnp.fft.fft(x))), Code(lambda x: npx.gamma(x)), nn.Dense(2))
        self.head = Code(lambda x: npx.gamma(x) + gnp.median(x))

    def forward(self, x):
        return self.head(self.body(x))


def test_everything_that_cannot_be_written_is_named_at_once_with_its_place(tmp_path):
    net = Two()
    net.initialize()
    net(gnp.ones((2, 3)))
    with pytest.raises(GraphError) as caught:
        net.export(tmp_path / "net", format="onnx", inputs=[gnp.ones((2, 3))])
    assert str(caught.value) == (
        "this model cannot be written in ONNX:\n"
        "  operator 'fft_fft' (ONNX has no counterpart, or none is known here), in block body.0\n"
        "  operator 'real' (ONNX has no counterpart, or none is known here), in block body.0\n"
        "  operator 'gamma' (ONNX has no counterpart, or none is known here), in block body.1, head\n"
        "  operator 'median' (ONNX has no counterpart, or none is known here), in block head"
    )
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("function", "error", "message"),
    [
        (lambda x: gluonx.from_jax(jnp.sinc)(x), GraphError, "operator 'sinc'"),
        (lambda x: gnp.array(jnp.sinc(x.value)) * 2, TracedValueError, "computed by JAX itself"),
        (lambda x: gnp.sum(x, where=x > 0), GraphError, "operator 'sum' .no where="),
        (lambda x: npx.cond(lambda a: a.sum() > 0, lambda a: a, lambda a: -a, x), GraphError, "operator 'cond'"),
        (lambda x: gnp.pad(x, 1, mode="mean"), GraphError, "no padding of mode 'mean'"),
        (lambda x: npx.random.bernoulli(prob=x), GraphError, "operator 'random_bernoulli'"),
        (
            lambda x: npx.pooling(x.reshape(-1, 1, 3), kernel=2, pool_type="lp", p_value=3),
            GraphError,
            "by the power 3, which keeps signs",
        ),
    ],
    ids=range(7),
)
def test_what_onnx_has_no_words_for_is_refused(tmp_path, function, error, message):
    with pytest.raises(error, match=message):
        Code(function).export(tmp_path / "net", format="onnx", inputs=[gnp.ones((2, 3))])
    assert not list(tmp_path.iterdir())


def test_the_node_of_a_symbol_is_named(tmp_path):
    data = gluonx.sym.var("data")
    net = SymbolBlock(gluonx.sym.gamma(gluonx.sym.relu(data, name="first"), name="second"), data)
    with pytest.raises(GraphError, match=r"operator 'gamma' .*, in block second"):
        net.export(tmp_path / "net", format="onnx", inputs=[gnp.ones((2, 3))])


def test_other_things_that_are_wrong(tmp_path):
    net = nn.Dense(3, in_units=4)
    with pytest.raises(UninitializedError, match="'weight' has not been initialized"):
        net.export(tmp_path / "net", format="onnx", inputs=[gnp.ones((2, 4))])
    net.initialize()
    with pytest.raises(UninitializedError, match="Call the hybridized net once"):
        net.export(tmp_path / "net", format="onnx")
    with pytest.raises(ShapeError, match="is not a shape"):
        net.export(tmp_path / "net", format="onnx", inputs=[InputSpec("x", ("b b", 4), "float32")])
    with pytest.raises(ShapeError, match="weight has shape"):
        net.export(tmp_path / "net", format="onnx", inputs=[gnp.ones((2, 5))])
    with pytest.raises(OSError, match="nowhere"):
        net.export(tmp_path / "nowhere" / "net", format="onnx", inputs=[gnp.ones((2, 4))])
    with pytest.raises(ValueError, match="layout is for format='stablehlo'"):
        net.export(tmp_path / "net", format="onnx", inputs=[gnp.ones((2, 4))], layout="NHWC")
    branching = Code(lambda x: x if x.shape[0] > 2 else -x)
    with pytest.raises(ShapeError, match=r"cannot be exported for any size.*inconclusive.*dynamic_batch=False"):
        branching.export(tmp_path / "net", format="onnx", inputs=[gnp.ones((2, 4))])
    with pytest.raises(jax.errors.InconclusiveDimensionOperation):  # asked for by name: JAX's own, with a note
        branching.export(tmp_path / "net", format="onnx", inputs=[InputSpec("x", ("b", 4), "float32")])
    branching.export(tmp_path / "net", format="onnx", inputs=[gnp.ones((2, 4))], dynamic_batch=False)


def test_without_onnx_the_error_says_what_to_install(tmp_path, monkeypatch):
    net = nn.Dense(3, in_units=4)
    net.initialize()
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(GluonxError, match=r"pip install 'gluonx\[onnx\]'"):
        net.export(tmp_path / "net", format="onnx", inputs=[gnp.ones((2, 4))])


def test_a_mistake_of_ours_is_told_as_one(tmp_path):
    graph = Graph()
    x = graph.input("x", "float32", (2, 3))
    graph.outputs = [graph.node("NoSuchOperator", x, shape=(2, 3))]
    with pytest.raises(GraphError, match=r"which is a mistake of gluonx.*NoSuchOperator"):
        write.write(graph, tmp_path / "x.onnx", ["y"], {}, "0")


# ---------------------------------------------------------------------------------------------------- MXNet's functions


def mlp_of(version):
    (folder,) = {f for v, n, f in networks() if (v, n) == (version, "mlp")}
    with np.load(folder / "mlp-io.npz") as io:
        return folder, io["in0"], io["out0"]


@pytest.mark.parametrize("version", ["mxnet-1.9.1", "mxnet-2.0.0b1"])
@pytest.mark.parametrize("dynamic", [{}, {"dynamic": True}, {"dynamic_input_shapes": [(None, 5)], "dynamic": True}])
def test_export_model(tmp_path, version, dynamic):
    folder, x, expected = mlp_of(version)
    target = tmp_path / "mlp.onnx"
    found = gluonx.onnx.export_model(
        folder / "mlp-symbol.json", folder / "mlp-0000.params", [x.shape], onnx_file_path=target, **dynamic
    )
    assert found == str(target)
    same(served(found, [x]), [expected])
    if dynamic:
        assert served(found, [x[:1]])[0].shape == (1, *expected.shape[1:])


def test_export_model_takes_symbols_and_dicts(tmp_path):
    folder, x, expected = mlp_of("mxnet-2.0.0b1")
    symbol, params = gluonx.sym.load(folder / "mlp-symbol.json"), gnp.load(str(folder / "mlp-0000.params"))
    target = str(tmp_path / "mlp.onnx")
    gluonx.onnx.export_model(symbol, params, input_shape=[x.shape], input_type="float32", onnx_file_path=target)
    same(served(target, [x]), [expected])
    gluonx.onnx.export_model(symbol, [params, {}], [x.shape], np.float32, target, large_model=True)
    same(served(target, [x]), [expected])
    with pytest.raises(ValueError, match=r"the symbol has 2 inputs .*, but 1 shapes came"):
        gluonx.onnx.export_model(symbol, dict(list(params.items())[1:]), [x.shape], onnx_file_path=target)
    with pytest.raises(ValueError, match=r"1 inputs .data., but 2 types came"):
        gluonx.onnx.export_model(symbol, params, [x.shape], [np.float32] * 2, target)
    with pytest.raises(FormatError, match="shape"):
        wrong = {name: (a[:1] if name.endswith("weight") else a) for name, a in params.items()}
        gluonx.onnx.export_model(symbol, wrong, [x.shape], onnx_file_path=target)


def test_the_names_of_mxnet(tmp_path):
    assert "convolution" in gluonx.onnx.get_operator_support()
    assert gluonx.onnx.get_operator_support(12) == []
    install_as_mxnet()
    try:
        import mxnet
        from mxnet.contrib import onnx as contributed

        assert mxnet.onnx.export_model is gluonx.onnx.export_model is contributed.export_model
        assert contributed.import_model is gluonx.contrib.onnx.import_model
    finally:
        uninstall()
