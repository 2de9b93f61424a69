"""export(format='mxnet'): what gluonx writes, MXNet 2.0.0b1 reads and computes the same from.

The default tests read the files back with gluonx and hold the numbers against golden outputs of MXNet for the same
code (tests/oracle/symbol/golden.json). The slow ones give the files to the real MXNet where there is one, at
$GLUONX_ORACLE or /tmp/oracle; tests/oracle/symbol/exported.json keeps what came of that.
"""

import json
import os
import pathlib
import subprocess

import jax.numpy as jnp
import numpy as np
import pytest

import gluonx
from gluonx import autograd, engine, nn, npx
from gluonx import np as gnp
from gluonx.block.names import Names
from gluonx.compat.prefixes import Prefixes
from gluonx.errors import GraphError, ShapeError, TracedValueError, UninitializedError
from gluonx.files import load_arrays
from gluonx.gluon import SymbolBlock
from lib import TESTS
from lib.exported_nets import CASES, ZOO, make

FOLDER = TESTS / "oracle" / "symbol"
OPERATORS = json.loads((FOLDER / "golden.json").read_text())["operators"]
EVIDENCE = json.loads((FOLDER / "exported.json").read_text())
ORACLE = pathlib.Path(os.environ.get("GLUONX_ORACLE", "/tmp/oracle")) / "bin" / "python"


class Code(nn.HybridBlock):
    """A block of one of the oracle's lines of code."""

    def __init__(self, code):
        super().__init__()
        self.code = compile(code, "<case>", "eval")

    def forward(self, *xs):
        return eval(self.code, {"np": gnp, "npx": npx, **dict(zip("xyzw", xs))})


def export_case(name, folder):
    """Export one line of code; its inputs and MXNet's outputs."""
    given = OPERATORS[name]
    arrays = [np.array(v, "float32") for v in given["inputs"]]
    Code(given["code"]).export(folder / name, inputs=[gnp.array(a) for a in arrays], format="mxnet")
    return arrays, [np.array(given["output"], given["dtype"])]


def export_net(name, folder):
    net, arrays, outputs = make(name)
    net.export(folder / name, format="mxnet")
    return arrays, outputs


def names_of(arrays):
    return ["data"] if len(arrays) == 1 else [f"data{i}" for i in range(len(arrays))]


def read_back(name, folder, arrays):
    net = SymbolBlock.imports(folder / f"{name}-symbol.json", names_of(arrays), folder / f"{name}-0000.params")
    out = net(*[gnp.array(a, dtype=a.dtype) for a in arrays])
    return [o.asnumpy() for o in (out if isinstance(out, list) else [out])]


def same(found, expected):
    assert len(found) == len(expected)
    for a, b in zip(found, expected):
        assert a.shape == b.shape
        scale = max(np.abs(b).max(), 1e-9) if b.size else 1
        np.testing.assert_allclose(a / scale, b / scale, rtol=1e-5, atol=1e-5)


# ------------------------------------------------------------------------------------------------------- read by gluonx


@pytest.mark.parametrize("name", OPERATORS)
def test_operators_come_back_with_mxnets_numbers(tmp_path, name):
    arrays, expected = export_case(name, tmp_path)
    same(read_back(name, tmp_path, arrays), expected)


@pytest.mark.parametrize("name", CASES)
def test_nets_come_back(tmp_path, name):
    arrays, expected = export_net(name, tmp_path)
    same(read_back(name, tmp_path, arrays), expected)


def test_every_case_was_computed_by_mxnet():
    assert EVIDENCE["mxnet"] == "2.0.0"
    for name in [*OPERATORS, *CASES, *ZOO]:
        assert EVIDENCE["relative_difference"][name] <= 1e-5, name


# -------------------------------------------------------------------------------------------------------- read by MXNet


@pytest.mark.slow
@pytest.mark.skipif(not ORACLE.exists(), reason="the real MXNet is not here")
@pytest.mark.parametrize("group", ["operators", "nets", "zoo"])
def test_the_real_mxnet_loads_it_and_computes_the_same(tmp_path, group):
    cases, export = {
        "operators": (OPERATORS, export_case),
        "nets": (CASES, export_net),
        "zoo": (ZOO, export_net),
    }[group]
    expected = {}
    for name in cases:
        arrays, expected[name] = export(name, tmp_path)
        np.savez(tmp_path / f"{name}-io.npz", *arrays)
    environment = {k: v for k, v in os.environ.items() if not k.startswith("PYTHON")}
    command = [ORACLE, FOLDER / "load_exported.py", tmp_path]
    subprocess.run(command, check=True, env=environment, capture_output=True)
    assert json.loads((tmp_path / "failed.json").read_text()) == {}
    differences = {}
    for name, outputs in expected.items():
        with np.load(tmp_path / f"{name}-mxnet.npz") as found:
            theirs = [found[f"arr_{i}"] for i in range(len(found.files))]
        same(theirs, outputs)
        pairs = [(a.astype("float64"), b.astype("float64")) for a, b in zip(theirs, outputs)]
        differences[name] = max(np.abs(a - b).max(initial=0) / max(np.abs(b).max(initial=0), 1e-9) for a, b in pairs)
    if "GLUONX_WRITE_EVIDENCE" in os.environ:
        EVIDENCE["relative_difference"].update({n: float(f"{d:.1e}") for n, d in differences.items()})
        (FOLDER / "exported.json").write_text(json.dumps(EVIDENCE, indent=1) + "\n")


# ------------------------------------------------------------------------------------------------------------ the files


def test_cumsum_has_an_axis_that_mxnet_takes(tmp_path):
    code = "np.cumsum(x, axis=-1) + np.cumsum(x, axis=-2) + np.cumsum(x)[0]"
    symbol, _ = Code(code).export(tmp_path / "net", inputs=[gnp.ones((2, 3))], format="mxnet")
    nodes = json.loads(pathlib.Path(symbol).read_text())["nodes"]
    assert [n["attrs"]["axis"] for n in nodes if n["op"] == "_npi_cumsum"] == ["1", "0", "None"]


@pytest.mark.dear
def test_names_prefixes_and_the_form_of_the_files(tmp_path):
    net, _, _ = make("convnet")
    files = net.export(tmp_path / "net", epoch=12, format="mxnet")
    assert files == (f"{tmp_path}/net-symbol.json", f"{tmp_path}/net-0012.params")  # strings, as MXNet 2 gives them
    symbol, params = map(pathlib.Path, files)
    kept = load_arrays(params)
    assert {"arg:0.weight", "arg:1.gamma", "aux:1.running_mean", "aux:1.running_var", "arg:8.bias"} <= set(kept)
    assert params.read_bytes()[:2] == b"PK"
    content = json.loads(symbol.read_text())
    assert content["attrs"] == {"mxnet_version": ["int", 20000], "is_np_shape": ["int", 1]}
    weight = next(n for n in content["nodes"] if n["name"] == "0.weight")
    assert weight["attrs"] == {"__dtype__": "0", "__shape__": "(4, 3, 3, 3)"}
    assert [n["op"] for n in content["nodes"] if n["op"] != "null"] == [
        *("Convolution", "BatchNorm", "Activation", "Pooling", "Convolution", "BatchNorm", "Pooling", "Flatten"),
        "FullyConnected",
    ]


def test_inputs_can_be_given_to_a_net_that_was_not_hybridized(tmp_path):
    net = nn.Dense(3, in_units=4)
    net.initialize()
    with pytest.raises(UninitializedError, match="Call the hybridized net once"):
        net.export(tmp_path / "net", format="mxnet")
    net.export(tmp_path / "net", inputs=[gnp.ones((2, 4))], format="mxnet")
    same(read_back("net", tmp_path, [np.ones((2, 4), "float32")]), [net(gnp.ones((2, 4))).asnumpy()])


def test_training_mode_is_not_exported(tmp_path):
    net, arrays, outputs = make("mlp")
    with autograd.train_mode():
        net.export(tmp_path / "net", inputs=[gnp.array(arrays[0])], format="mxnet")
    same(read_back("net", tmp_path, arrays), outputs)


def test_an_imported_graph_is_written_as_it_is(tmp_path):
    net, arrays, outputs = make("mlp")
    net.export(tmp_path / "a", format="mxnet")
    block = SymbolBlock.imports(tmp_path / "a-symbol.json", ["data"], tmp_path / "a-0000.params")
    block.export(tmp_path / "b", format="mxnet")
    assert (tmp_path / "a-symbol.json").read_text() == (tmp_path / "b-symbol.json").read_text()
    same(read_back("b", tmp_path, arrays), outputs)


# ------------------------------------------------------------------------------------------------- what cannot be done


def block_of(function):
    class Block(nn.HybridBlock):
        def forward(self, x):
            return function(x)

    return Block()


@pytest.mark.parametrize(
    ("function", "error", "message"),
    [
        (lambda x: gnp.real(gnp.fft.fft(x)), GraphError, "no operator for 'fft_fft', 'real'"),
        (lambda x: gluonx.from_jax(jnp.sinc)(x), GraphError, "no operator for 'sinc'"),
        (lambda x: gnp.unwrap(gnp.real(gnp.fft.fft(x))), GraphError, "'fft_fft', 'real', 'unwrap'"),
        (lambda x: gnp.sum(x, where=x > 0), GraphError, "operator 'sum'.*no where= or initial="),
        (lambda x: x[gnp.array([0, 1]), gnp.array([0, 1])], GraphError, "index by one array"),
        (lambda x: npx.pooling(x, (2,)), Exception, "pooling"),
    ],
    ids=range(6),
)
def test_what_mxnet_has_no_words_for_is_named(tmp_path, function, error, message):
    with pytest.raises(error, match=message):
        block_of(function).export(tmp_path / "net", inputs=[gnp.ones((2, 3))], format="mxnet")
    assert not list(tmp_path.iterdir())


def test_values_that_jax_computed_from_inputs_are_refused(tmp_path):
    def raw(x):
        return gnp.array(jnp.sinc(x.value)) * 2  # the tracer behind the handle

    with pytest.raises(TracedValueError, match="computed by JAX itself"):
        block_of(raw).export(tmp_path / "net", inputs=[gnp.ones((2, 3))], format="mxnet")


def test_other_things_that_are_wrong(tmp_path):
    net = nn.Dense(3, in_units=4)
    with pytest.raises(UninitializedError, match="'weight' has not been initialized"):
        net.export(tmp_path / "net", inputs=[gnp.ones((2, 4))], format="mxnet")
    net.initialize()
    with pytest.raises(ValueError, match="format must be 'stablehlo', 'onnx' or 'mxnet'"):
        net.export(tmp_path / "net", inputs=[gnp.ones((2, 4))], format="tflite")
    with pytest.raises(ShapeError, match="do not depend on the input 'data'"):
        block_of(lambda x: gnp.ones((2, 2))).export(tmp_path / "net", inputs=[gnp.ones((2, 4))], format="mxnet")


# -------------------------------------------------------------------------------------------------- deferred.get_symbol


def test_get_symbol_of_what_was_recorded():
    net = nn.Dense(3, in_units=4, activation="relu")
    net.initialize()
    x = gnp.array(np.random.default_rng(0).normal(size=(2, 4)).astype("float32"))
    with autograd.record():
        y = net(x) * 2 + 1
        s = gluonx.deferred.get_symbol(y, ["x", "weight", "bias"])
    assert s.list_arguments() == ["x", "weight", "bias"]
    params = {n: p.data() for n, p in net.collect_params().items()}
    (again,) = s.eval(x=x, **params)
    np.testing.assert_allclose(again.asnumpy(), y.asnumpy(), rtol=1e-6)


def test_get_symbol_of_several_outputs_and_without_names():
    a, b = gnp.array([1.0, 2.0]), gnp.array([3.0, 4.0])
    with engine.bulk(100):
        total, product = a + b, a * b
        _unused = gnp.exp(a)
        s = gluonx.deferred.get_symbol([total, product])
    assert len(s) == 2 and s.list_arguments() == ["var0", "var1"]
    assert [o.tolist() for o in s.eval(var0=a, var1=b)] == [[4.0, 6.0], [3.0, 8.0]]


def test_get_symbol_of_what_is_computed_or_unknown():
    x = gnp.ones((2, 3))
    with pytest.raises(GraphError, match="nothing is recorded for an array that has been computed"):
        gluonx.deferred.get_symbol(x)
    with autograd.record(), pytest.raises(GraphError, match="no operator for 'fft_fft', 'real'"):
        gluonx.deferred.get_symbol(gnp.real(gnp.fft.fft(x)))


# ------------------------------------------------------------------------------------------------------- nested inputs


class Decoder(nn.HybridBlock):
    """Takes and gives a list of states beside its array."""

    def __init__(self, output=lambda y, states: (y, states)):
        super().__init__()
        self.lstm = gluonx.rnn.LSTM(3, input_size=5)
        self.out = nn.Dense(2, flatten=False, in_units=3)
        self.__dict__["output"] = output

    def forward(self, x, states):
        y, states = self.lstm(x, states)
        return self.output(self.out(y), states)


def decoder(**kwargs):
    net = Decoder(**kwargs)
    net.initialize("xavier")
    net.hybridize()
    draw = np.random.RandomState(0)
    x, h, c = (gnp.array(draw.uniform(-1, 1, shape)) for shape in ((4, 2, 5), (1, 2, 3), (1, 2, 3)))
    y, states = net(x, [h, c])
    return net, (x, h, c), [a.asnumpy() for a in (y, *states)]


def flat_values(out):
    return [a.asnumpy() for item in out for a in (item if isinstance(item, list) else [item])]


@pytest.mark.parametrize("hybrid", [False, True])
def test_a_list_of_states_goes_out_and_comes_back(tmp_path, hybrid):
    net, (x, h, c), expected = decoder()
    symbol, params = net.export(tmp_path / "net", format="mxnet")
    block = SymbolBlock.imports(symbol, ["data0", "data1", "data2"], params)
    if hybrid:
        block.hybridize()
    flat = block(x, h, c)  # as MXNet takes and gives them
    assert [type(a) for a in flat] == [gnp.ndarray] * 3
    same(flat_values(flat), expected)
    y, states = block(x, [h, c])  # as the net does
    assert isinstance(states, list)
    same(flat_values([y, states]), expected)
    y, states = block(x, states)
    assert states[0].shape == (1, 2, 3)
    again = block.export(tmp_path / "again", format="mxnet")
    assert pathlib.Path(again[0]).read_text() == pathlib.Path(symbol).read_text()
    with pytest.raises(TypeError, match=r"takes its inputs as \[0, \[1, 2\]\]"):
        block(x, [h])
    with pytest.raises(TypeError, match="takes 3 inputs"):
        block(x, h)


def test_nesting_is_kept_only_for_the_inputs_that_were_exported(tmp_path):
    net, (x, h, c), expected = decoder()
    symbol, params = net.export(tmp_path / "net", format="mxnet")
    block = SymbolBlock.imports(symbol, ["data1", "data2", "data0"], params)
    same(flat_values(block(h, c, x)), expected)
    with pytest.raises(TypeError):
        block([h, c], x)


def test_dicts_and_none_are_nested_too(tmp_path):
    class Net(nn.HybridBlock):
        def forward(self, batch, mask, more):
            out = batch["a"] - batch["b"] * 2 + more[0][0]
            return {"sum": out, "rest": [mask, (out * 3,)]}

    net = Net()
    net.hybridize()
    arrays = [gnp.ones((2, 3)) * k for k in (1, 2, 3)]
    net({"b": arrays[1], "a": arrays[0]}, None, ((arrays[2],),))
    symbol, params = net.export(tmp_path / "net", format="mxnet")
    block = SymbolBlock.imports(symbol, ["data0", "data1", "data2"], params)
    out = block({"a": arrays[0], "b": arrays[1]}, None, [[arrays[2]]])
    assert out["sum"].asnumpy().tolist() == [[0.0] * 3] * 2
    assert out["rest"][0] is None and out["rest"][1][0].shape == (2, 3)


def test_keywords_are_not_exported_in_another_order(tmp_path):
    class Net(nn.HybridBlock):
        def forward(self, x, y=None, b=None):
            return x - y * b

    net = Net()
    net.hybridize()
    net(gnp.ones((2, 3)), y=gnp.ones((2, 3)), b=gnp.ones((2, 3)) * 2)
    with pytest.raises(UninitializedError, match="needs to know what goes in"):
        net.export(tmp_path / "net", format="mxnet")


def test_under_compat_a_symbol_block_writes_what_it_reads(tmp_path, monkeypatch):
    net, (x, h, c), expected = decoder()
    monkeypatch.setattr(Names, "export_format", lambda self: "mxnet")  # as in a program on install_as_mxnet()
    monkeypatch.setattr(Prefixes, "export_format", lambda self: "mxnet")
    symbol, params = net.export(tmp_path / "a")
    block = SymbolBlock.imports(symbol, ["data0", "data1", "data2"], params)
    files = block.export(f"{tmp_path}/b")
    assert files == (f"{tmp_path}/b-symbol.json", f"{tmp_path}/b-0000.params")
    again = SymbolBlock.imports(files[0], ["data0", "data1", "data2"], files[1])
    same(flat_values(again(x, [h, c])), expected)


LOAD = """
import sys, numpy as onp, mxnet as mx
new = mx.__version__.startswith("2")
if new:
    mx.npx.set_np()
array = mx.np.array if new else mx.nd.array
io = onp.load(sys.argv[1] + "-io.npz")
names = ["data0", "data1", "data2"]
net = mx.gluon.SymbolBlock.imports(sys.argv[1] + "-symbol.json", names, sys.argv[1] + "-0000.params")
for k, out in enumerate(net(*[array(io["arr_%d" % i]) for i in range(3)])):
    onp.save(sys.argv[1] + "-%d.npy" % k, out.asnumpy())
"""


@pytest.mark.slow
@pytest.mark.parametrize("version", [1, 2])
def test_the_real_mxnet_loads_a_net_with_states(tmp_path, version, monkeypatch):
    oracle = (
        ORACLE if version == 2 else pathlib.Path(os.environ.get("GLUONX_ORACLE1", "/tmp/oracle1")) / "bin" / "python"
    )
    if not oracle.exists():
        pytest.skip("the real MXNet is not here")
    if version == 1:
        monkeypatch.setattr(gluonx.compat.prefixes.Naming, "active", True)
    net, arrays, expected = decoder()
    net.export(tmp_path / "net", format="mxnet")
    np.savez(tmp_path / "net-io.npz", *[a.asnumpy() for a in arrays])
    environment = {k: v for k, v in os.environ.items() if not k.startswith("PYTHON")}
    subprocess.run([oracle, "-c", LOAD, str(tmp_path / "net")], check=True, env=environment, capture_output=True)
    same([np.load(tmp_path / f"net-{k}.npy") for k in range(3)], expected)


def test_an_activation_that_mxnets_operator_lacks_is_written_by_others(tmp_path):
    net, x = gluonx.nn.HybridSequential(), gluonx.np.array([[-2.0, 0.0, 3.0]])
    net.add(gluonx.nn.Activation("silu"))
    net.hybridize()
    wanted = net(x).asnumpy()
    net.export(str(tmp_path / "net"), format="mxnet")
    found = gluonx.gluon.SymbolBlock.imports(str(tmp_path / "net-symbol.json"), ["data"])(x)
    assert abs(found.asnumpy() - wanted).max() < 1e-6
