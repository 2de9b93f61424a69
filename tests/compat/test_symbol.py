"""Symbols: what MXNet 2.0.0b1 says of the same ones (tests/oracle/symbol), composing, running, binding, files."""

import inspect
import json

import numpy as np
import pytest

from gluonx import AttrScope, autograd, engine, npx
from gluonx import np as gnp
from gluonx.compat import name, nd
from gluonx.compat import symbol as sym
from gluonx.compat.symbol import infer
from gluonx.errors import FormatError, GluonxError, GraphError, ShapeError
from lib import TESTS

GOLDEN = json.loads((TESTS / "oracle" / "symbol" / "golden.json").read_text())
OPERATORS, SYMBOLS = GOLDEN["operators"], GOLDEN["symbols"]


def mlp():
    data = sym.var("data")
    net = sym.FullyConnected(data, num_hidden=4, name="fc1")
    net = sym.Activation(net, act_type="relu", name="relu1")
    return sym.FullyConnected(net, num_hidden=2, name="fc2")


# ------------------------------------------------------------------------------------------------- against the oracle


@pytest.mark.parametrize("case", OPERATORS)
def test_graphs_of_mxnet_2_compute_the_same(case):
    given = OPERATORS[case]
    graph = sym.fromjson(json.dumps(given["graph"]))
    inputs = {letter: gnp.array(np.array(x, "float32")) for letter, x in zip("xyzw", given["inputs"])}
    (out,) = graph.eval(**{n: inputs[n] for n in graph.list_inputs()})
    # Integers and Booleans with a Python float are float32 here, float64 in MXNet (docs/differences.md).
    assert out.dtype == ("float32" if given["dtype"] == "float64" else given["dtype"])
    expected = np.array(given["output"], given["dtype"])
    assert out.shape == expected.shape
    np.testing.assert_allclose(out.asnumpy(), expected, rtol=1e-5, atol=1e-5)
    again = sym.fromjson(graph.tojson())
    np.testing.assert_array_equal(again.eval(**{n: inputs[n] for n in again.list_inputs()})[0].asnumpy(), out.asnumpy())


@pytest.mark.parametrize("case", SYMBOLS)
def test_symbols_answer_as_mxnet_does(case):
    given = SYMBOLS[case]
    s = sym.fromjson(given["json"])
    assert s.list_arguments() == given["arguments"]
    assert s.list_outputs() == given["outputs"]
    assert s.list_auxiliary_states() == given["states"]
    for ours, theirs in zip(s.infer_shape_partial(**given["given"]), given["shapes"]):
        for shape, wanted in zip(ours, theirs):
            assert list(shape) == wanted or not wanted  # a bias is known here even where the data is not


@pytest.mark.parametrize("case", GOLDEN["loops"])
def test_loops_and_branches_of_mxnet_compute_the_same(case):
    given = GOLDEN["loops"][case]
    net = sym.fromjson(given["json"])
    outs = net.eval(**{n: np.array(v, "float32") for n, v in given["inputs"].items()})
    for out, expected in zip(outs, given["outputs"], strict=True):
        np.testing.assert_allclose(out.asnumpy(), expected, rtol=1e-6)
    again = sym.fromjson(net.tojson())
    assert again.list_arguments() == net.list_arguments()


def test_loops_that_do_not_know_their_variables_are_refused():
    given = GOLDEN["loops"]["foreach"]
    values = {n: np.array(v, "float32") for n, v in given["inputs"].items()}
    for key, value in [("in_data_locs", "[7]"), ("remain_locs", "[0]"), ("in_state_locs", "[-1]")]:
        content = json.loads(given["json"])
        content["nodes"][-1]["attrs"][key] = value
        with pytest.raises(FormatError, match="node '_foreach0'"):
            sym.fromjson(json.dumps(content)).eval(**values)
    content = json.loads(given["json"])
    del content["nodes"][-1]["subgraphs"]
    with pytest.raises(FormatError, match="node '_foreach0' lacks its subgraph"):
        sym.fromjson(json.dumps(content)).eval(**values)


# ---------------------------------------------------------------------------------------------------------- composing


@pytest.mark.parametrize(
    ("make", "named"),
    [
        (lambda a, b: a + b, "_plus0"),
        (lambda a, b: a + 1, "_plusscalar0"),
        (lambda a, b: 1 - a, "_rminusscalar0"),
        (lambda a, b: a > b, "_greater0"),
        (lambda a, b: a == 1, "_equal_scalar0"),
        (lambda a, b: -a, "_mulscalar0"),
        (lambda a, b: sym.Concat(a, b, dim=1), "concat0"),
        (lambda a, b: a.sum(axis=1), "sum0"),
        (lambda a, b: sym.FullyConnected(a, num_hidden=3), "fullyconnected0"),
    ],
)
def test_names_are_those_of_mxnet(make, named):
    with name.NameManager():
        assert make(sym.var("a"), sym.var("b")).name == named


def test_arithmetic_with_symbols_and_numbers():
    a, b = sym.var("a"), sym.var("b")
    x, y = np.array([1.0, 2.0], "float32"), np.array([3.0, 5.0], "float32")
    cases = {
        a + b: x + y,
        a - b: x - y,
        a * b: x * y,
        a / b: x / y,
        b % a: y % x,
        a**b: x**y,
        2 + a: 2 + x,
        2 - a: 2 - x,
        3 * a: 3 * x,
        2 / a: 2 / x,
        2**a: 2**x,
        7 % b: 7 % y,
        a < b: x < y,
        a >= 2: x >= 2,
        a != 2: x != 2,
        abs(-a): x,
        a.reshape(2, 1): x.reshape(2, 1),
        a.reshape((1, 2)).transpose(): x.reshape(2, 1),
        a.astype("int32"): x.astype("int32"),
    }
    for s, expected in cases.items():
        (out,) = s.eval(**{n: v for n, v in (("a", x), ("b", y)) if n in s.list_inputs()})
        np.testing.assert_allclose(out.asnumpy(), expected, err_msg=s.debug_str(), rtol=1e-6)


def test_inputs_that_nobody_gives_become_variables():
    net = sym.Convolution(sym.var("x"), kernel=(3, 3), num_filter=2, no_bias=True, name="c")
    assert net.list_arguments() == ["x", "c_weight"]
    shared = sym.var("w")
    net = sym.FullyConnected(data=sym.var("x"), weight=shared, num_hidden=2, name="f")
    assert net.list_arguments() == ["x", "w", "f_bias"]
    bn = sym.BatchNorm(sym.var("x"), name="bn")
    assert bn.list_auxiliary_states() == ["bn_moving_mean", "bn_moving_var"]
    assert bn.attr_dict()["bn_moving_var"]["__init__"] == '["one", {}]'


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda a: sym.FullyConnected(a), TypeError, "num_hidden"),
        (lambda a: sym.FullyConnected(a, num_hidden=2, units=3), TypeError, "no attribute 'units'"),
        (lambda a: sym.FullyConnected(a, a, a, a, num_hidden=2), TypeError, "takes 3 inputs"),
        (lambda a: sym.FullyConnected(a, gamma=a, num_hidden=2), TypeError, "has no input 'gamma'"),
        (lambda a: sym.FullyConnected(a, data=a, num_hidden=2), TypeError, "two symbols for the input 'data'"),
        (lambda a: sym.abs(sym.Group([a, a])), ValueError, "must be one output"),
        (lambda a: sym.FullyConnecte, AttributeError, "no operator 'FullyConnecte'"),
        (lambda a: sym.contrib.box_nmss, AttributeError, "no operator 'box_nmss'"),
        (lambda a: sym.var(""), TypeError, "non-empty string"),
        (lambda a: sym.Group([]), TypeError, "a list of symbols"),
        (lambda a: a["b"], ValueError, "no output called 'b'"),
        (lambda a: a[1], IndexError, "there is no number 1"),
        (lambda a: bool(a), TypeError, "no value to test"),
        (lambda a: a.eval(), ValueError, "no value for 'a'"),
        (lambda a: a.infer_shape(b=(1,)), ValueError, "no variable 'b'"),
        (lambda a: (a + 1)(b=a), ValueError, "no variable 'b'"),
        (lambda a: (a + 1)(a=3), TypeError, "a symbol of one output was expected for 'a'"),
        (lambda a: a.no_such_method, AttributeError, "no attribute 'no_such_method'"),
    ],
    ids=range(18),
)
def test_what_is_wrong_is_said(make, error, message):
    with pytest.raises(error, match=message):
        make(sym.var("a"))


def test_composing_puts_symbols_in_the_place_of_variables():
    inner = sym.var("x") * 2
    outer = mlp()(data=inner)
    assert outer.list_arguments() == ["x", "fc1_weight", "fc1_bias", "fc2_weight", "fc2_bias"]
    assert mlp().list_arguments()[0] == "data"
    assert (sym.var("p") + sym.var("q"))(inner, sym.var("r")).list_arguments() == ["x", "r"]


def test_internals_children_outputs_and_slices():
    net = mlp()
    internals = net.get_internals()
    assert internals.list_outputs() == [
        *("data", "fc1_weight", "fc1_bias", "fc1_output", "relu1_output", "fc2_weight", "fc2_bias", "fc2_output"),
    ]
    assert internals["relu1_output"].list_arguments() == ["data", "fc1_weight", "fc1_bias"]
    assert net.get_children().list_outputs() == ["relu1_output", "fc2_weight", "fc2_bias"]
    assert sym.var("a").get_children() is None
    parts = sym.SliceChannel(sym.var("a"), num_outputs=3, name="s")
    assert parts[1:].list_outputs() == ["s_output1", "s_output2"]
    assert [p.list_outputs() for p in parts] == [["s_output0"], ["s_output1"], ["s_output2"]]
    assert len(parts) == 3 and parts[-1].name == "s" and repr(parts[0]) == "<Symbol s>"
    assert repr(sym.Group([net, parts[0]])) == "<Symbol group [fc2, s]>"


def test_attributes_scopes_and_prefixes():
    with AttrScope(ctx_group="dev1"), name.Prefix("p_"):
        a = sym.var("a", lr_mult=2.0, shape=(2, 0), dtype="float16", __mine__="x")
        net = sym.FullyConnected(a, num_hidden=2, attr={"__foo__": "bar"})
    assert net.name == "p_fullyconnected0"
    assert net.attr("num_hidden") == "2" and net.attr("ctx_group") == "dev1" and net.attr("nothing") is None
    assert net.attr_dict()["p_fullyconnected0_weight"]["__foo__"] == "bar"
    assert a.list_attr() == {
        "__ctx_group__": "dev1",
        "ctx_group": "dev1",
        "__mine__": "x",
        "__shape__": "(2, 0)",
        "__lr_mult__": "2.0",
        "lr_mult": "2.0",
        "__dtype__": "2",
    }
    assert sym.var("b").list_attr() == {}
    with pytest.raises(ValueError, match="'group' is 3"):
        AttrScope(group=3)
    with pytest.raises(TypeError, match="'__x__' must be a string"):
        sym.var("a", attr={"__x__": 1})


# ---------------------------------------------------------------------------------------------------- shapes and types


def test_shapes_are_found_from_the_data_or_from_variables_that_say_theirs():
    net = mlp()
    assert net.infer_shape(data=(3, 5)) == ([(3, 5), (4, 5), (4,), (2, 4), (2,)], [(3, 2)], [])
    assert net.infer_shape((3, 5))[1] == [(3, 2)]
    with pytest.warns(UserWarning, match="Cannot decide the shapes of"):
        assert net.infer_shape() == (None, None, None)
    declared = sym.FullyConnected(sym.var("x", shape=(2, 7)), num_hidden=3, name="f")
    assert declared.infer_shape() == ([(2, 7), (3, 7), (3,)], [(2, 3)], [])
    assert sym.FullyConnected(sym.var("x"), num_hidden=3, name="f").infer_shape_partial()[0][2] == (3,)


def test_shapes_that_contradict_each_other_name_the_node():
    with pytest.raises(ShapeError, match=r"variable 'x'.*\(2, 7\).*\(2, 8\)"):
        sym.FullyConnected(sym.var("x", shape=(2, 7)), num_hidden=3).infer_shape(x=(2, 8))
    with pytest.raises(ShapeError) as caught:
        sym.FullyConnected(sym.var("x"), num_hidden=3, name="f").infer_shape(x=(2, 7), f_weight=(3, 8))
    assert "node 'f'" in "\n".join([str(caught.value), *getattr(caught.value, "__notes__", [])])


def test_types():
    net = mlp()
    half = np.float16
    assert net.infer_type(data="float16") == ([half] * 5, [half], [])
    assert net.infer_type() == (None, None, None)
    embedded = sym.Embedding(sym.var("i"), input_dim=3, output_dim=2, name="e")
    assert embedded.infer_type(i="int32") == ([np.int32, np.float32], [np.float32], [])
    assert sym.Cast(sym.var("x"), dtype="int8").infer_type(x="float32")[1] == [np.int8]


# -------------------------------------------------------------------------------------------------------------- running


def test_a_symbol_runs_as_one_program_and_compiles_once():
    net = mlp()
    values = {n: np.ones(s, "float32") for n, s in zip(net.list_arguments(), net.infer_shape(data=(3, 5))[0])}
    net.eval(**values)
    before = engine.stats()
    for _ in range(3):
        net.eval(**values)
    after = engine.stats()
    assert after["programs_compiled"] == before["programs_compiled"]
    assert sum(after[kind] - before[kind] for kind in ("dispatches", "host")) == 3


def test_eval_is_recorded_and_differentiated():
    net, x = sym.var("x") * 3, gnp.array([1.0, 2.0])
    x.attach_grad()
    with autograd.record():
        (y,) = net.eval(x=x)
    y.backward()
    assert x.grad.tolist() == [3.0, 3.0]


def test_simple_bind_forward_and_backward():
    net = sym.SoftmaxOutput(mlp(), name="softmax")
    bound = net.simple_bind(data=(3, 5))
    assert list(bound.arg_dict) == net.list_arguments()
    rng = np.random.default_rng(0)
    for n, array in bound.arg_dict.items():
        array[...] = rng.integers(0, 2, array.shape) if n == "softmax_label" else rng.normal(size=array.shape)
    (out,) = bound.forward(is_train=True)
    bound.backward()
    labels = np.eye(2)[bound.arg_dict["softmax_label"].asnumpy().astype(int)]
    expected = (out.asnumpy() - labels).sum(0)
    np.testing.assert_allclose(bound.grad_dict["fc2_bias"].asnumpy(), expected, rtol=1e-5, atol=1e-6)
    assert bound.output_dict["softmax_output"].shape == (3, 2)
    before = out.asnumpy()
    (again,) = bound.forward(data=np.zeros((3, 5), "float32"))
    assert not np.allclose(again.asnumpy(), before)
    assert np.array_equal(out.asnumpy(), again.asnumpy())  # the same array, as in MXNet


def test_two_variables_of_a_name_are_not_bound():
    twice = sym.var("x") * sym.var("x")
    with pytest.raises(ValueError, match="bind: two variables are called 'x'; make one"):
        twice.simple_bind(x=(2,))


def test_nodes_alike_are_asked_for_shapes_once(monkeypatch):
    asked, ask = [], infer._Search.ask

    def seen(self, node, *rest):
        asked.append(node.name)
        return ask(self, node, *rest)

    monkeypatch.setattr(infer._Search, "ask", seen)
    monkeypatch.setattr(infer, "_told_of_kinds", {})
    x = sym.var("x")
    for number in range(5):
        x = sym.LeakyReLU(x, slope=0.125, name=f"a{number}")
    assert x.infer_shape(x=(2, 3))[1] == [(2, 3)]
    assert asked == ["a0"]


@pytest.mark.first_runs
def test_open_sizes_are_not_kept_as_lengths_of_an_operator():
    """A size that stands for all numbers compares with none, so what was seen with it would spoil what comes after."""
    parts = sym.SliceChannel(sym.var("x"), num_outputs=7, axis=1, squeeze_axis=True)
    assert parts.infer_shape_partial(x=(0, 7))[1] == [(0,)] * 7
    assert [parts.infer_shape(x=(n, 7))[1][0] for n in (5, 6)] == [(5,), (6,)]


def test_bind_with_own_arrays_and_requests():
    net = sym.var("a") * sym.var("b")
    a, b, grad = gnp.array([1.0, 2.0]), gnp.array([3.0, 4.0]), gnp.array([10.0, 10.0])
    bound = net.bind(args=[a, b], args_grad={"a": grad}, grad_req={"a": "add"})
    bound.forward(is_train=True)
    bound.backward(gnp.array([1.0, 2.0]))
    assert grad.tolist() == [13.0, 18.0]
    assert bound.grad_arrays == [grad, None] and bound.aux_arrays == []


def test_batch_norm_writes_its_states_in_training_only():
    net = sym.BatchNorm(sym.var("x"), name="bn", momentum=0.5)
    bound = net.simple_bind(x=(4, 2))
    bound.arg_dict["x"][...] = np.arange(8).reshape(4, 2)
    bound.forward(is_train=False)
    assert bound.aux_dict["bn_moving_mean"].tolist() == [0.0, 0.0]
    bound.forward(is_train=True)
    assert bound.aux_dict["bn_moving_mean"].tolist() == [1.5, 2.0]


def test_what_cannot_be_bound():
    net = sym.var("a") + sym.var("b")
    with pytest.raises(ValueError, match="no array for the argument 'b'"):
        net.bind(args={"a": gnp.ones((2,))})
    with pytest.raises(ValueError, match="grad_req must be"):
        net.bind(args=[gnp.ones((2,))] * 2, grad_req="sometimes")
    with pytest.raises(GraphError, match="call forward"):
        net.bind(args=[gnp.ones((2,))] * 2).backward()
    bound = net.bind(args=[gnp.ones((2,)), gnp.ones((2,))])
    with pytest.raises(ShapeError, match="'a' is bound to shape"):
        bound.forward(a=np.ones(3))
    with pytest.raises(TypeError, match="no argument 'c'"):
        bound.forward(c=np.ones(2))
    with pytest.raises(ValueError, match="no argument 'c'"):
        bound.copy_params_from({"c": np.ones(2)})
    bound.copy_params_from({"a": np.zeros(2)})
    assert bound.forward()[0].tolist() == [1.0, 1.0]


def test_reshape_of_an_executor_keeps_its_parameters():
    bound = mlp().simple_bind(data=(3, 5))
    bound.arg_dict["fc1_weight"][...] = 1.0
    bigger = bound.reshape(data=(7, 5), allow_up_sizing=True)
    assert bigger.forward()[0].shape == (7, 2)
    assert bigger.arg_dict["fc1_weight"] is bound.arg_dict["fc1_weight"]


def test_an_error_while_running_names_the_node():
    net = sym.FullyConnected(sym.var("x"), num_hidden=2, name="inner")
    with pytest.raises(Exception) as caught:
        net.eval(x=np.ones((2, 3)), inner_weight=np.ones((2, 4)), inner_bias=np.ones(2))
    assert "node 'inner'" in "\n".join(caught.value.__notes__)


# ---------------------------------------------------------------------------------------------------------------- files


def test_json_in_both_schemas(tmp_path):
    net = mlp()
    old, new = json.loads(net.tojson()), json.loads(net.tojson(modern=True))
    assert old["attrs"] == {"mxnet_version": ["int", 10901]}
    assert new["attrs"] == {"mxnet_version": ["int", 20000], "is_np_shape": ["int", 1]}
    assert old["nodes"] == new["nodes"] and old["arg_nodes"] == [0, 1, 2, 5, 6]
    assert old["node_row_ptr"] == list(range(9)) and old["heads"] == [[7, 0, 0]]
    net.save(tmp_path / "net-symbol.json")
    again = sym.load(tmp_path / "net-symbol.json")
    assert again.tojson() == net.tojson() and again.list_outputs() == net.list_outputs()


def node(op, name, inputs=(), **attrs):
    return {"op": op, "name": name, "inputs": [[i, 0, 0] for i in inputs], "attrs": attrs}


def graph(*nodes, heads=None, **top):
    return {"nodes": list(nodes), "heads": heads or [[len(nodes) - 1, 0, 0]], **top}


def test_attributes_of_old_files_stand_under_other_names():
    x, fc = node("null", "x"), node("FullyConnected", "fc", [0, 1, 2])
    del fc["attrs"]
    fc["param"], fc["attr"] = {"num_hidden": "3"}, {"no_bias": "False", "ctx_group": "a", "weight_lr_mult": "2"}
    old = sym.fromjson(json.dumps(graph(x, node("null", "w"), node("null", "b"), fc)))
    assert old.infer_shape(x=(2, 5))[1] == [(2, 3)]


def test_states_that_old_files_do_not_have_are_added():
    bn = node("BatchNorm", "bn", [0, 1, 2])
    old = sym.fromjson(json.dumps(graph(node("null", "x"), node("null", "g"), node("null", "b"), bn)))
    assert old.list_auxiliary_states() == ["bn_moving_mean", "bn_moving_var"]


def test_argmax_over_minus_one_meant_everything():
    old = graph(node("null", "x"), node("argmax", "m", [0], axis="-1"))
    x = np.arange(6.0).reshape(2, 3)
    assert sym.fromjson(json.dumps(old)).eval(x=x)[0].shape == (1,)
    new = {**old, "attrs": {"mxnet_version": ["int", 10901]}}
    assert sym.fromjson(json.dumps(new)).eval(x=x)[0].shape == (2,)


X = node("null", "x")
BAD = [
    ("[]", "no list of nodes"),
    ("{", "not proper JSON"),
    ("[" * 100_000, "not proper JSON"),
    ({"nodes": []}, "no heads"),
    (graph(X, heads=[[5, 0, 0]]), "a head uses .5, 0, 0., which comes later or is not there"),
    (graph(X, heads=[[0, 3, 0]]), "a head uses output 3 of node 'x', which has 1"),
    (graph(X, heads=[["0", 0]]), "is no reference"),
    (graph(X, node("abs", "a", [1])), "node 'a' uses .1, 0, 0., which comes later"),
    (graph(X, node("abs", "a", [2]), node("abs", "b", [1])), r"comes later or is not there \(a cycle"),
    (graph(X, node("abs", "a", [-1])), "comes later or is not there"),
    (graph(X, node("abss", "a", [0]), node("eval", "b", [1])), r"'abss' \(node 'a'\), 'eval' \(node 'b'\)"),
    (graph(X, node("__import__", "a", [0])), "'__import__'"),
    (graph(X, node("FullyConnected", "f", [0, 0], num_hidden="3", no_bias="1", evil="1")), "node 'f'.*'evil'"),
    (graph(X, node("FullyConnected", "f", [0, 0], no_bias="1")), "node 'f'.*num_hidden"),
    (graph(X, node("FullyConnected", "f", [0, 0], num_hidden="__import__('os')")), "node 'f'.*num_hidden"),
    (graph(X, node("FullyConnected", "f", [0], num_hidden="3")), "node 'f'.* has 1 inputs; it takes data, weight"),
    (graph(X, node("abs", "a", [0, 0])), "has 2 inputs; it takes data"),
    (graph(X, node("SliceChannel", "s", [0], num_outputs="9999999999")), "would have 9999999999 outputs"),
    (graph(X, node("SliceChannel", "s", [0], num_outputs="-1")), "would have -1 outputs"),
    (graph(X, node("null", "x")), "two variables are called 'x'"),
    (graph(X, node("null", "y", [0])), "is a variable, but has inputs"),
    (graph({"op": "null"}), "node 0 has no name"),
    (graph(3), "node 0 is no object"),
    (graph({"op": "null", "name": "x", "attrs": {"a": 3}}), "no object of strings"),
    (graph({"op": "null", "name": "x", "inputs": 3}), "its inputs are no list"),
    (graph(X, {**node("abs", "a", [0]), "subgraphs": [3]}), "its subgraphs are no list"),
]


@pytest.mark.parametrize(("content", "message"), BAD, ids=range(len(BAD)))
def test_bad_files_are_refused_with_a_reason(tmp_path, content, message):
    text = content if isinstance(content, str) else json.dumps(content)
    with pytest.raises(FormatError, match=message):
        sym.fromjson(text)
    (tmp_path / "bad-symbol.json").write_text(text)
    with pytest.raises(FormatError, match="bad-symbol"):
        sym.load(tmp_path / "bad-symbol.json")


def test_methods_of_numpy_symbols():
    """What symbols of MXNet 2's NumPy interface can besides, against NumPy; methods of arrays refuse."""
    rows, others = np.arange(1.0, 7).reshape(2, 3), np.arange(6.0).reshape(3, 2)
    x, y = sym.var("x"), sym.var("y")
    for made, wanted in [
        (x.T, rows.T),
        (x.std(), rows.std()),
        (x.std(1, None, None, 1, True), rows.std(1, ddof=1, keepdims=True)),
        (x.var(axis=0, dtype="float64"), rows.var(0)),
        (x.cumsum(), rows.cumsum()),
        (x.cumsum(1), rows.cumsum(1)),
        (x.diagonal(1), rows.diagonal(1)),
        (x.mish(), rows * np.tanh(np.log1p(np.exp(rows)))),
        (x.log_sigmoid(), -np.log1p(np.exp(-rows))),
    ]:
        np.testing.assert_allclose(made.eval(x=gnp.array(rows))[0], wanted, rtol=1e-5)
    product = x.dot(y)
    assert (product.eval(x=gnp.array(rows), y=gnp.array(others))[0].asnumpy() == rows @ others).all()
    assert product.get_inputs().list_outputs() == ["x", "y"] and product.optimize_for("ONEDNN") is product
    assert sym.contrib.boolean_mask(x, y).has_dynamic_shape_op() and not product.has_dynamic_shape_op()
    with pytest.raises(GluonxError, match="a Symbol has no asnumpy"):
        x.asnumpy()


def test_quantized_layers():
    """As the operators of npx, with the inputs and the three outputs of MXNet's symbols."""
    rng = np.random.default_rng(0)
    data, weight = (rng.integers(-128, 128, shape).astype("int8") for shape in ((1, 3, 5, 5), (2, 3, 3, 3)))
    ends = {"min_data": [-1.0], "max_data": [1.0], "min_weight": [-2.0], "max_weight": [2.0]}
    made = sym.contrib.quantized_conv(name="q", kernel=(3, 3), num_filter=2, no_bias=True)
    assert made.list_arguments() == ["q_data", "q_weight", *(f"q_{name}" for name in ends)]
    assert made.list_outputs() == ["q_output0", "q_output1", "q_output2"]
    arrays = {f"q_{name}": gnp.array(end) for name, end in ends.items()}
    found = made.eval(q_data=gnp.array(data, dtype="int8"), q_weight=gnp.array(weight, dtype="int8"), **arrays)
    wanted = npx.quantized_conv(
        gnp.array(data, dtype="int8"),
        gnp.array(weight, dtype="int8"),
        **{name: gnp.array(end) for name, end in ends.items()},
        kernel=(3, 3),
        num_filter=2,
        no_bias=True,
    )
    assert all((one.asnumpy() == other.asnumpy()).all() for one, other in zip(found, wanted, strict=True))
    with_bias = sym.contrib.quantized_conv(name="q", kernel=(3, 3), num_filter=2)
    assert with_bias.list_arguments()[2] == "q_bias" and with_bias.list_arguments()[-1] == "q_max_bias"
    layers = ["pooling", "act", "flatten", "fully_connected", "embedding", "elemwise_add", "elemwise_mul"]
    assert all(callable(getattr(space.contrib, f"quantized_{name}")) for space in (sym, nd) for name in layers)


@pytest.mark.parametrize(
    ("made", "wanted"),
    [
        (lambda x: sym.full((2,), 3.0), [[3, 3]]),
        (lambda x: sym.full(2, val=3.0, dtype="int32"), [[3, 3]]),
        (lambda x: sym.arange(1, 4, repeat=2), [[1, 1, 2, 2, 3, 3]]),
        (lambda x: sym.arange(2), [[0, 1]]),
        (lambda x: sym.linspace(0, 1, 5), [[0, 0.25, 0.5, 0.75, 1]]),
        (lambda x: sym.linspace(0, 1, num=2, endpoint=False), [[0, 0.5]]),
        (lambda x: sym.eye(2, 3, 1, "float32"), [[[0, 1, 0], [0, 0, 1]]]),
        (lambda x: sym.histogram(x, bins=2, range=(0, 4)), [[2, 2], [0, 2, 4]]),
        (lambda x: sym.split_v2(x, 2), [[0, 1], [2, 3]]),
        (lambda x: sym.split_v2(ary=x, indices_or_sections=(1,)), [[0], [1, 2, 3]]),
    ],
    ids=[
        "full",
        "full_val",
        "arange",
        "arange_stop",
        "linspace",
        "no_endpoint",
        "eye",
        "histogram",
        "halves",
        "places",
    ],
)
def test_functions_beside_operators_take_the_arguments_of_mxnet(made, wanted):
    net = made(sym.var("x"))
    given = {"x": gnp.arange(4, dtype="float32")} if "x" in net.list_inputs() else {}
    assert [out.tolist() for out in net.eval(**given)] == wanted


def test_a_histogram_of_a_symbol_needs_its_range():
    with pytest.raises(ValueError, match="10 bins need a range"):
        sym.histogram(sym.var("x"))


@pytest.mark.parametrize(
    ("function", "told"),
    [
        (sym.FullyConnected, "data weight bias num_hidden no_bias flatten name attr out"),
        (sym.Concat, "data dim name attr out"),
        (sym.linalg.potrf, "A name attr out"),
        (sym.linspace, "start stop num endpoint name dtype"),
    ],
    ids=["FullyConnected", "Concat", "potrf", "linspace"],
)
def test_a_function_tells_its_parameters(function, told):
    assert " ".join(inspect.signature(function).parameters) == told


@pytest.mark.parametrize(
    ("method", "told"),
    [
        ("squeeze", "self axis inplace name attr out"),
        ("expand_dims", "self axis inplace name attr out"),
        ("flatten", "self inplace name attr out"),
        ("diag", "self k axis1 axis2 name attr out"),
        ("softmax", "self length axis temperature dtype use_length name attr out"),
        ("reshape", "self shape kwargs"),
        ("asnumpy", "self"),
        ("list_attr", "self recursive"),
        ("gradient", "self wrt"),
        ("optimize_for", "self backend args aux ctx shape_dict type_dict stype_dict skip_infer kwargs"),
    ],
)
def test_methods_tell_their_parameters(method, told):
    signature = inspect.signature(getattr(sym.Symbol, method))
    assert " ".join(signature.parameters) == told
    assert ... not in [p.default for p in signature.parameters.values()]  # what is required stands first


def test_methods_take_what_mxnets_take():
    """What has no meaning for a graph that is compiled is taken, by position and by name; measured with MXNet 2.0."""
    x = sym.var("x")
    rows = gnp.array(np.arange(6.0).reshape(2, 1, 3))
    for made, shape in [
        (x.squeeze(1, True), (2, 3)),
        (x.squeeze(inplace=True), (2, 3)),
        (x.expand_dims(0, True), (1, 2, 1, 3)),
        (x.expand_dims(axis=0, inplace=False), (1, 2, 1, 3)),
        (x.flatten(True), (2, 3)),
        (x.reshape(3, 2), (3, 2)),
        (x.optimize_for("ONEDNN", None, None, skip_infer=True), (2, 1, 3)),
    ]:
        assert made.eval(x=rows)[0].shape == shape
    assert x._bind(None, {"x": rows}, static_alloc=True).forward()[0].shape == (2, 1, 3)
    executor = (x + 1)._simple_bind(None, "null", None, {"x": "default"}, x=(2, 2))
    assert executor.forward()[0].tolist() == [[1, 1], [1, 1]]
    with pytest.raises(DeprecationWarning, match="attr_dict"):
        x.list_attr(recursive=True)
    with pytest.raises(GluonxError, match="as in MXNet"):
        x.gradient(["x"])
    with pytest.raises(TypeError):
        x.squeeze(1, True, 2)


def test_broadcasting_tells_no_operand_its_shape():
    # as in MXNet 1.9.1; sockeye compares words of unknown shape with 0, and sums over time
    x, y = sym.var("x"), sym.var("y", shape=(2, 3))
    for out in (sym.broadcast_add(x, y), sym.broadcast_not_equal(x, y)):
        assert out.infer_shape_partial() == ([(), (2, 3)], [()], [])
    for out in (sym.sum(x != 0, axis=1), sym.sum(x * 2, axis=2)):
        assert out.infer_shape_partial() == ([()], [()], [])
        assert out.infer_shape(x=(4, 5, 6))[1][0] in ((4, 6), (4, 5))
    assert sym.elemwise_add(x, y).infer_shape_partial() == ([(2, 3), (2, 3)], [(2, 3)], [])
