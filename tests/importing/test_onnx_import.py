"""gluonx.onnx.import_model: what gluonx wrote, shapes computed by nodes, what is trained, what is refused, bad files.

`test_onnx_import_operators.py` compares single operators with onnxruntime; `python -m tools.onnx_report` runs the tests
of the package onnx.
"""

import contextlib
import copy
import pickle

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import gluonx
from gluonx import Trainer, autograd, loss, nn
from gluonx import np as gnp
from gluonx.errors import ArgumentError, DynamicShapeError, FormatError, GraphError, ShapeError
from gluonx.export import InputSpec
from gluonx.importing.onnx import read
from gluonx.onnx import import_model
from lib.exported_nets import CASES, make
from lib.onnx_served import handles, numbers, same, served

FLOAT, INT64 = TensorProto.FLOAT, TensorProto.INT64


def model(nodes, inputs, outputs, arrays=None, opset=17, functions=(), domains=()):
    """A model; inputs and outputs are (name, shape) of floats, or infos."""
    infos = [[helper.make_tensor_value_info(i[0], FLOAT, i[1]) if isinstance(i, tuple) else i for i in part]
             for part in (inputs, outputs)]  # fmt: skip
    initializers = [numpy_helper.from_array(a, n) for n, a in (arrays or {}).items()]
    graph = helper.make_graph(nodes, "g", *infos, initializers)
    imports = [helper.make_opsetid("", opset), *[helper.make_opsetid(d, 1) for d in domains]]
    return helper.make_model(graph, opset_imports=imports, functions=list(functions), ir_version=8)


def node(kind, inputs, outputs, **attrs):
    return helper.make_node(kind, inputs.split(), outputs.split(), **attrs)


def uniform(*shape, seed=0):
    return np.random.default_rng(seed).uniform(-1, 1, shape).astype("float32")


def as_list(out):
    return out if isinstance(out, list) else [out]


# ---------------------------------------------------------------------------------------------------- what gluonx wrote


SLOW = ("lstm", "gru_both_ways")


@pytest.mark.dear
@pytest.mark.parametrize(
    "name", [pytest.param(name, id=name, marks=[pytest.mark.slow] * (name in SLOW)) for name in CASES]
)
def test_what_was_written_comes_back(tmp_path, name):
    net, arrays, outputs = make(name)
    path = net.export(tmp_path / "net", format="onnx", dynamic_batch=name != "captured")
    again = import_model(path)
    same(numbers(as_list(again(*handles(arrays)))), outputs)
    again.hybridize()
    same(numbers(as_list(again(*handles(arrays)))), outputs)
    fixed = ("captured", "slices")  # a Slice of an open axis is not written, by another net neither
    twice = again.export(tmp_path / "twice", format="onnx", dynamic_batch=name not in fixed)
    same(served(twice, arrays), outputs)
    folder = again.export(tmp_path / "artifact", dynamic_batch=name != "captured")
    same(numbers(as_list(gluonx.load(folder)(*handles(arrays)))), outputs)


def lenet():
    net = nn.HybridSequential()
    net.add(nn.Conv2D(6, 5, padding=2, activation="relu"), nn.MaxPool2D(2, 2), nn.BatchNorm(), nn.Conv2D(8, 3),
            nn.AvgPool2D(2, 2), nn.Flatten(), nn.Dense(16, activation="tanh"), nn.Dense(4))  # fmt: skip
    return net, (8, 1, 12, 12)


def encoder():
    net = nn.HybridSequential()
    net.add(nn.TransformerEncoderLayer(8, 16, 2, 0.0, 0.0), nn.Dense(4, flatten=False))
    return net, (4, 5, 8)


def recurrent():
    net = nn.HybridSequential()
    net.add(gluonx.rnn.LSTM(6, bidirectional=True, layout="NTC"), nn.Dense(4))
    return net, (4, 5, 3)


def steps(net, x, labels, count=4):
    """Train, and return the losses."""
    trainer = Trainer(net.collect_params(), "sgd", {"learning_rate": 0.1})
    found = []
    for _ in range(count):
        with autograd.record():
            value = loss.SoftmaxCELoss()(net(x), labels).mean()
        value.backward()
        trainer.step(1)
        found.append(float(value))
    return found


@pytest.mark.dear
@pytest.mark.parametrize(
    "build", [lenet, pytest.param(encoder, marks=pytest.mark.slow), recurrent], ids=["lenet", "encoder", "lstm"]
)
def test_it_trains_as_the_original_does(tmp_path, build):
    net, shape = build()
    net.initialize()
    x = gnp.array(uniform(*shape))
    out = net(x)
    labels = gnp.array(np.arange(out.size // 4).reshape(out.shape[:-1]) % 4, dtype="int32")
    again = import_model(net.export(tmp_path / "net", format="onnx", inputs=[x]))
    net.hybridize()
    again.hybridize()
    one, other = steps(net, x, labels), steps(again, x, labels)
    assert one[-1] < one[0]
    np.testing.assert_allclose(other, one, rtol=2e-5)
    same(numbers([again(x)]), numbers([net(x)]))  # running statistics too


@pytest.mark.dear
def test_bytes_come_back(tmp_path):
    net, shape = lenet()
    net.initialize()
    x = gnp.array(uniform(*shape))
    net(x)
    small = gluonx.quantization.quantize_net(net, calib_data=[x])
    path = small.export(tmp_path / "net", format="onnx", inputs=[x])
    again = import_model(path)
    wanted = served(path, [x.asnumpy()])[0]
    np.testing.assert_allclose(again(x).asnumpy(), wanted, atol=0.02 * np.abs(wanted).max())
    kinds = {p.dtype for p in again.collect_params().values() if p.grad_req == "null"}
    assert np.dtype("int8") in {np.dtype(kind) for kind in kinds}
    assert not any(name.endswith("scale") for name in again.collect_params())


def test_names_are_those_of_the_file(tmp_path):
    net = nn.HybridSequential()
    net.add(nn.Conv2D(4, 3, in_channels=2), nn.BatchNorm(in_channels=4), nn.Dense(3, in_units=4 * 16))
    net.initialize()
    x = gnp.array(uniform(2, 2, 6, 6))
    net(x)
    again = import_model(net.export(tmp_path / "net", format="onnx", inputs=[x]))
    params = net.collect_params()
    assert set(again.collect_params()) == set(params)
    net.initialize(force_reinit=True)
    net.save_parameters(tmp_path / "net.params")
    again.load_parameters(tmp_path / "net.params")
    same(numbers([again(x)]), numbers([net(x)]))
    again.save_parameters(tmp_path / "again.params")
    net.load_parameters(tmp_path / "again.params")
    frozen = {name for name, p in again.collect_params().items() if p.grad_req == "null"}
    assert frozen == {"1.running_mean", "1.running_var"}


def test_names_that_gluon_cannot_have():
    arrays = {"onnx::MatMul_1": uniform(3, 2), "onnx__MatMul_1": uniform(2, 2), "a/b w.weight": uniform(2)}
    nodes = [node("MatMul", "x onnx::MatMul_1", "a"), node("MatMul", "a onnx__MatMul_1", "b")]
    nodes.append(helper.make_node("Add", ["b", "a/b w.weight"], ["y"]))
    net = import_model(model(nodes, [("x", (None, 3))], [("y", (None, 2))], arrays))
    assert net.initializers == {
        "onnx__MatMul_1": "onnx::MatMul_1", "onnx__MatMul_1_1": "onnx__MatMul_1", "a_b_w.weight": "a/b w.weight",
    }  # fmt: skip
    assert list(net.collect_params()) == list(net.initializers)


def test_copies_and_pickles():
    net = import_model(
        model([node("MatMul", "x w", "y")], [("x", (None, 3))], [("y", (None, 2))], {"w": uniform(3, 2)})
    )
    x = gnp.ones((2, 3))
    for other in (copy.deepcopy(net), pickle.loads(pickle.dumps(net))):
        assert (other(x) == net(x)).all()
    assert repr(net) == "OnnxBlock(x: float32(?, 3) -> y: float32(?, 2); 1 nodes of opset 17, 1 parameters)"


# ------------------------------------------------------------------------------------------- sizes that nodes compute


def heads():
    """What PyTorch writes for ``x.view(B, T, 2, C // 2).transpose(1, 2)``, a mask cut to ``[:T, :T]``, and back."""
    nodes = [node("Shape", "x", "s")]
    for name, index in (("B", "i0"), ("T", "i1"), ("C", "i2")):
        nodes += [node("Gather", f"s {index}", name, axis=0), node("Unsqueeze", f"{name} zero", f"{name}v")]
    nodes += [
        node("Div", "C two", "half"), node("Unsqueeze", "half zero", "halfv"),
        node("Concat", "Bv Tv heads halfv", "split", axis=0), node("Reshape", "x split", "cut"),
        node("Transpose", "cut", "turned", perm=[0, 2, 1, 3]), node("Transpose", "cut", "other", perm=[0, 2, 3, 1]),
        node("MatMul", "turned other", "scores"), node("Slice", "mask zero Tv axis2", "rows"),
        node("Slice", "rows zero Tv axis3", "seen"), node("Add", "scores seen", "masked"),
        node("Softmax", "masked", "p", axis=-1), node("MatMul", "p turned", "mixed"),
        node("Transpose", "mixed", "back", perm=[0, 2, 1, 3]), node("Concat", "Bv Tv rest", "joined", axis=0),
        node("Reshape", "back joined", "flat"), node("Mul", "flat w", "y"),
    ]  # fmt: skip
    ints = {"i0": 0, "i1": 1, "i2": 2, "two": 2, "zero": [0], "axis2": [2], "axis3": [3], "rest": [-1], "heads": [2]}
    arrays = {name: np.array(value, np.int64) for name, value in ints.items()}
    arrays["mask"] = np.triu(np.full((1, 1, 9, 9), -np.inf, np.float32), 1)
    arrays["w"] = uniform(6)
    return model(nodes, [("x", ("b", "t", 6))], [("y", ("b", "t", 6))], arrays)


@pytest.mark.parametrize("hybrid", [False, True], ids=["eager", "hybridized"])
def test_shapes_that_nodes_compute(tmp_path, hybrid):
    proto = heads()
    onnx.save(proto, tmp_path / "net.onnx")
    net = import_model(tmp_path / "net.onnx")
    net.hybridize(hybrid)
    for shape in ((2, 4, 6), (3, 7, 6)):
        x = uniform(*shape)
        same(numbers([net(gnp.array(x))]), served(tmp_path / "net.onnx", [x]))
    assert net.collect_params()["mask"].grad_req == "null" and net.collect_params()["w"].grad_req == "write"


@pytest.mark.dear
def test_shapes_that_nodes_compute_stay_open_in_an_export(tmp_path):
    net = import_model(heads())
    loaded = gluonx.load(net.export(tmp_path / "artifact", inputs=[InputSpec("x", ("b", 5, 6), "float32")]))
    path = net.export(tmp_path / "net", format="onnx", inputs=[InputSpec("x", ("b", 5, 6), "float32")])
    for batch in (1, 3):
        x = uniform(batch, 5, 6)
        wanted = numbers([net(gnp.array(x))])
        same(numbers([loaded(gnp.array(x))]), wanted)
        same(served(path, [x]), wanted)


def test_sizes_that_depend_on_values_are_refused_where_there_are_none(tmp_path):
    nodes = [node("Cast", "n", "n64", to=INT64), node("Reshape", "x n64", "y")]
    proto = model(
        nodes, [("x", (6,)), helper.make_tensor_value_info("n", TensorProto.INT32, (2,))], [("y", (None, None))]
    )
    net = import_model(proto)
    x, n = gnp.arange(6), gnp.array([2, 3], dtype="int32")
    assert net(x, n).shape == (2, 3)
    net.hybridize()
    with pytest.warns(
        UserWarning, match=r"runs un-hybridized: node 'Reshape_0' \(Reshape, opset 17\), input 1 \('n64'\)"
    ):
        assert net(x, n).shape == (2, 3)
    with pytest.raises(DynamicShapeError, match="'n64'"):
        net.export(tmp_path / "artifact", inputs=[x, n], dynamic_batch=False)


def test_inputs_are_checked():
    proto = model([node("Relu", "x", "y")], [("x", (2, 3))], [("y", (2, 3))])
    net = import_model(proto)
    with pytest.raises(
        ShapeError, match=r"input 'x' has shape \(4, 3\), but the model takes \(2, 3\); .*dynamic_batch"
    ):
        net(gnp.ones((4, 3)))
    with pytest.raises(TypeError, match=r"takes 1 inputs \(x\), got 2"):
        net(gnp.ones((2, 3)), gnp.ones((2, 3)))
    wide = import_model(proto, dynamic_batch=True)
    assert wide(gnp.ones((4, 3))).shape == (4, 3)
    with pytest.raises(ShapeError, match=r"has shape \(4, 2\)"):
        wide(gnp.ones((4, 2)))
    ids = helper.make_tensor_value_info("i", INT64, (None,))
    table = import_model(model([node("Gather", "w i", "y")], [ids], [("y", (None, 2))], {"w": uniform(5, 2)}))
    assert (table(gnp.array([1, -1], dtype="int32")).asnumpy() == uniform(5, 2)[[1, -1]]).all()


# ---------------------------------------------------------------------------------------------------- what is trained


def normalized():
    arrays = {"w": uniform(4, 3), "scale": np.ones(4, "float32"), "shift": np.zeros(4, "float32"),
              "mean": np.zeros(4, "float32"), "var": np.ones(4, "float32"), "eps": np.array(0.5, "float32"),
              "bound": np.array([0.1], "float32"), "table": np.tril(np.ones((4, 4), "float32"))}  # fmt: skip
    nodes = [
        node("Gemm", "x w", "a", transB=1), node("BatchNormalization", "a scale shift mean var", "b"),
        node("Add", "b eps", "c"), node("Greater", "table bound", "seen"), node("Cast", "seen", "kept", to=FLOAT),
        node("MatMul", "c kept", "y"),
    ]  # fmt: skip
    return model(nodes, [("x", (None, 3))], [("y", (None, 4))], arrays)


def learning(net):
    return {name for name, p in net.collect_params().items() if p.grad_req != "null"}


def test_which_arrays_are_trained():
    net = import_model(normalized())
    assert learning(net) == {"w", "scale", "shift"}
    # Statistics, and what no gradient reaches, are parameters that are not trained; a scalar is a constant.
    assert set(net.collect_params()) == {"w", "scale", "shift", "mean", "var", "table", "bound"}
    assert learning(import_model(normalized(), trainable=False)) == set()
    assert learning(import_model(normalized(), trainable="w|eps")) == {"w", "eps"}
    assert learning(import_model(normalized(), trainable=["scale"])) == {"scale"}
    with pytest.raises(ArgumentError, match="has no initializer 'weight'"):
        import_model(normalized(), trainable=["weight"])


@pytest.mark.dear
def test_running_statistics_move_and_have_no_gradient():
    net = import_model(normalized())
    net.hybridize()
    x = gnp.array(uniform(8, 3)) * 3
    before = net(x).asnumpy()
    with autograd.record():
        out = (net(x) ** 2).sum()
    out.backward()
    params = net.collect_params()
    assert abs(params["mean"].data()).sum() > 0 and abs(params["w"].grad()).sum() > 0
    with pytest.raises(RuntimeError):
        params["mean"].grad()
    assert abs(net(x).asnumpy() - before).max() > 0


def test_dropout_of_the_file_drops_in_training():
    arrays = {"ratio": np.array(0.5, "float32")}
    net = import_model(model([node("Dropout", "x ratio", "y")], [("x", (None,))], [("y", (None,))], arrays))
    net.hybridize()
    x = gnp.ones((200,))
    assert (net(x) == 1).all()
    with autograd.train_mode():
        assert set(net(x).asnumpy().tolist()) == {0.0, 2.0}


# ---------------------------------------------------------------------------------------------------- what is refused


def test_everything_that_is_missing_is_in_one_message():
    body = helper.make_graph([node("Identity", "c", "d")], "b", [], [helper.make_tensor_value_info("d", FLOAT, ())])
    nodes = [
        node("If", "flag", "a", then_branch=body, else_branch=body, name="choose"),
        node("Fancy", "a", "b", domain="com.example", name="own"), node("SequenceConstruct", "b", "c"),
        node("Resize", "x", "d", mode="sinc", name="big"), node("Nonsense", "x", "e"),
    ]  # fmt: skip
    text = helper.make_tensor_value_info("words", TensorProto.STRING, (None,))
    flag = helper.make_tensor_value_info("flag", TensorProto.BOOL, ())
    with pytest.raises(GraphError) as caught:
        import_model(model(nodes, [("x", (1,)), flag, text], [("y", (1,))], domains=("com.example",)))
    told = str(caught.value)
    for line in (
        "operator If, opset 17 (control flow): node choose",
        "operator Fancy of domain 'com.example', opset 1: node own",
        "operator SequenceConstruct, opset 17: node number 2",
        "operator Nonsense, opset 17 (ONNX has none of that name)",
        "'words', an input or output, is of strings",
    ):
        assert line in told
    with pytest.raises(GraphError, match="operator Resize, opset 17, mode 'sinc': node big"):
        import_model(model(nodes[3:4], [("x", (1,))], [("d", (1,))]))
    with pytest.raises(GraphError, match=r"is of opset 99; gluonx reads 6 to \d+"):
        import_model(model([node("Relu", "x", "y")], [("x", (1,))], [("y", (1,))], opset=99))


def test_functions_of_the_file_are_written_out():
    imports = [helper.make_opsetid("", 17), helper.make_opsetid("own", 1)]
    calls = [node("Twice", "a", "b", domain="own"), node("Twice", "b", "c", domain="own")]
    functions = [
        helper.make_function("own", "Twice", ["a"], ["b"], [node("Add", "a a", "b")], imports),
        helper.make_function("own", "Four", ["a"], ["c"], calls, imports),
    ]
    call = [node("Four", "x", "y", domain="own")]
    proto = model(call, [("x", (2,))], [("y", (2,))], functions=functions, domains=["own"])
    assert import_model(proto)(gnp.array([1.0, 2.0])).tolist() == [4.0, 8.0]


def test_functions_that_grow_without_bound_are_refused():
    imports = [helper.make_opsetid("", 17), helper.make_opsetid("own", 1)]
    functions = [helper.make_function("own", "f0", ["a"], ["b"], [node("Relu", "a", "b")], imports)]
    for i in range(1, 40):
        calls = [node(f"f{i - 1}", "a", "m", domain="own"), node(f"f{i - 1}", "m", "b", domain="own")]
        functions.append(helper.make_function("own", f"f{i}", ["a"], ["b"], calls, imports))
    call = [node("f39", "x", "y", domain="own")]
    with pytest.raises(FormatError, match="written out it has more than"):
        import_model(model(call, [("x", (2,))], [("y", (2,))], functions=functions, domains=["own"]))
    functions[0].node[0].CopyFrom(node("f39", "a", "b", domain="own"))
    with pytest.raises(FormatError, match="calls itself"):
        import_model(model(call, [("x", (2,))], [("y", (2,))], functions=functions, domains=["own"]))


@pytest.mark.parametrize(
    ("nodes", "arrays"),
    [
        ([node("ConstantOfShape", "n", "y")], {"n": np.array([1 << 20, 1 << 20])}),
        ([node("Expand", "x n", "y")], {"n": np.array([1 << 20, 1 << 20, 1])}),
        ([node("Tile", "x n", "y")], {"n": np.array([1 << 60])}),
        ([node("Range", "a b c", "y")], {"a": np.array(0), "b": np.array(1 << 60), "c": np.array(1)}),
    ],
    ids=["ConstantOfShape", "Expand", "Tile", "Range"],
)
def test_a_few_numbers_do_not_ask_for_all_memory(nodes, arrays):
    net = import_model(model(nodes, [("x", (1,))], [("y", None)], arrays))
    with pytest.raises(GraphError, match=f"node '{nodes[0].op_type}_0'"):
        net(gnp.ones((1,)))


# ------------------------------------------------------------------------------------------------------- bad files


def small():
    return model([node("MatMul", "x w", "y")], [("x", (None, 3))], [("y", (None, 2))], {"w": uniform(3, 2)})


def test_files_that_are_no_models(tmp_path):
    whole = small().SerializeToString()
    rng = np.random.default_rng(0)
    for bad in (b"", b"\x00" * 50, b"PK\x03\x04 and so on", rng.bytes(300)):
        with pytest.raises(FormatError, match="is no ONNX model, or it is damaged"):
            import_model(bad)
    with pytest.raises(FormatError, match=r"SymbolBlock\.imports reads"):
        import_model(b'{"nodes": []}')
    with pytest.raises(FileNotFoundError):
        import_model(tmp_path / "none.onnx")
    for end in range(1, len(whole)):  # cut anywhere: an error of ours, or nothing was lost
        with pytest.raises((FormatError, GraphError)):
            import_model(whole[:end])


def test_bytes_that_were_changed_never_crash():
    whole, rng = small().SerializeToString(), np.random.default_rng(1)
    for _ in range(300):
        bad = bytearray(whole)
        bad[rng.integers(len(bad))] = rng.integers(256)
        with contextlib.suppress(FormatError, GraphError):
            import_model(bytes(bad))


def test_arrays_that_do_not_fit_their_shape():
    proto = small()
    tensor = proto.graph.initializer[0]
    tensor.dims[0] = 1 << 40
    with pytest.raises(FormatError, match=r"array 'w' is float32\(1099511627776, 2\), .* bytes, but there are 24"):
        import_model(proto)
    tensor.dims[0] = -3
    with pytest.raises(FormatError, match="negative size"):
        import_model(proto)
    tensor.dims[0] = 3
    tensor.ClearField("raw_data")
    with pytest.raises(FormatError, match="array 'w' is damaged"):
        import_model(proto)


def test_graphs_that_do_not_hold_together():
    one = [("x", (2,))]
    with pytest.raises(FormatError, match=r"node 'Relu_0' .* takes 'z', which nothing before it makes"):
        import_model(model([node("Relu", "z", "y")], one, [("y", (2,))]))
    with pytest.raises(FormatError, match="'y' is made twice"):
        import_model(model([node("Relu", "x", "y"), node("Abs", "x", "y")], one, [("y", (2,))]))
    with pytest.raises(FormatError, match="output 'q' is made by no node"):
        import_model(model([node("Relu", "x", "y")], one, [("q", (2,))]))


def beside(tmp_path, **changes):
    proto = small()
    folder = tmp_path / "model"
    folder.mkdir(exist_ok=True)
    (folder / "w.data").write_bytes(proto.graph.initializer[0].raw_data)
    (tmp_path / "secret").write_bytes(proto.graph.initializer[0].raw_data)
    tensor = proto.graph.initializer[0]
    tensor.ClearField("raw_data")
    tensor.data_location = TensorProto.EXTERNAL
    for key, value in {"location": "w.data", **changes}.items():
        tensor.external_data.append(onnx.StringStringEntryProto(key=key, value=str(value)))
    (folder / "net.onnx").write_bytes(proto.SerializeToString())
    return folder / "net.onnx"


def test_arrays_beside_the_model(tmp_path):
    path = beside(tmp_path, offset=0, length=24)
    assert (import_model(path).collect_params()["w"].data().asnumpy() == uniform(3, 2)).all()
    with pytest.raises(FormatError, match="give the path of the model"):
        import_model(path.read_bytes())


@pytest.mark.parametrize(
    ("changes", "match"),
    [
        ({"location": "../secret"}, "not inside the model's folder"),
        ({"location": "/etc/passwd"}, "not inside the model's folder"),
        ({"location": "link"}, "not inside the model's folder"),
        ({"location": ""}, "not inside the model's folder"),
        ({"location": "none"}, "cannot be read"),
        ({"location": "."}, "which has|is not inside"),
        ({"offset": 8}, "from byte 8 of 'w.data', which has 24"),
        ({"offset": -8}, "from byte -8"),
        ({"length": 8}, "said to be 8"),
        ({"offset": "x"}, "cannot be read"),
    ],
    ids=["above", "absolute", "link", "none", "missing", "folder", "late", "early", "short", "text"],
)
def test_arrays_from_elsewhere_are_refused(tmp_path, changes, match):
    path = beside(tmp_path, **changes)
    (path.parent / "link").symlink_to(tmp_path / "secret")
    with pytest.raises(FormatError, match=match):
        import_model(path)


# ------------------------------------------------------------------------------------------------- MXNet 1's functions


@pytest.mark.dear
def test_the_functions_of_mxnet_1(tmp_path):
    from gluonx.contrib import onnx as contributed

    net, shape = lenet()
    net.initialize()
    x = gnp.array(uniform(*shape))
    wanted = numbers([net(x)])
    path = net.export(tmp_path / "net", format="onnx", inputs=[x])
    assert contributed.get_model_metadata(path) == {
        "input_tensor_data": [("data", (0, 1, 12, 12))], "output_tensor_data": [("output", (0, 4))],
    }  # fmt: skip
    same(numbers([contributed.import_to_gluon(path, gluonx.cpu())(x)]), wanted)
    with pytest.raises(ShapeError, match=r"input 'data' .* has the shape .*import_to_gluon"):
        contributed.import_model(path)
    with pytest.raises(ArgumentError, match="names 'x', but the inputs are data"):
        contributed.import_model(path, input_shapes={"data": shape, "x": (1,)})
    symbol, arg_params, aux_params = contributed.import_model(path, input_shapes={"data": shape})
    assert set(aux_params) == {"2.running_mean", "2.running_var"}
    assert set(arg_params) == set(symbol.list_arguments()) - {"data"}
    block = gluonx.SymbolBlock(symbol, [gluonx.sym.var("data")])
    block.load_dict({**arg_params, **aux_params})
    same(numbers([block(x)]), wanted)


def test_the_range_of_opsets_is_said():
    assert f"opset {read.OLDEST} to {read.NEWEST}" in import_model.__doc__
