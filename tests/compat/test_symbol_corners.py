"""Corners of symbols at which programs of MXNet 1 stopped, against MXNet 1.9.1 (tests/oracle/symbol/corners.json)."""

import hashlib
import importlib.util
import json
import time

import numpy as np
import pytest

import gluonx as mx
from gluonx import nd
from gluonx.compat import prefixes
from gluonx.compat import symbol as sym
from gluonx.compat.symbol import infer
from gluonx.errors import GraphError
from lib import TESTS

FOLDER = TESTS / "oracle" / "symbol"
GOLDEN = json.loads((FOLDER / "corners.json").read_text())
_spec = importlib.util.spec_from_file_location("corners", FOLDER / "corners.py")
corners = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(corners)


@pytest.mark.parametrize("line", corners.LINES)
def test_lines(line):
    assert corners.plain(eval(line, {"mx": mx, "sym": sym, "np": np})) == GOLDEN["lines"][line]


@pytest.mark.parametrize(("line", "shape"), corners.PARTIAL)
def test_what_is_known_of_shapes(line, shape):
    net = eval(line, {"sym": sym, "d": sym.var("d")})
    assert corners.plain(net.infer_shape_partial(d=shape)) == GOLDEN["partial"][line]


def test_an_initializer_as_an_attribute():
    """MXNet keeps where in memory it lay; here it is one that reads back."""
    told = '["constant", {"value": 20}]'
    init = mx.init.Constant(20)
    assert sym.var("s", __init__=init).attr("__init__") == told
    net = sym.Convolution(sym.var("d"), num_filter=2, kernel=(1, 1), attr={"__init__": init}, name="c")
    assert net.attr_dict()["c_weight"]["__init__"] == told
    with pytest.raises(TypeError, match="must be a string"):
        sym.var("s", attr={"__lr_mult__": 2.0})


def test_an_output_that_needs_a_gradient_is_named():
    a = sym.var("a")
    bound = sym.Group([a * 2, sym.exp(a, name="e")]).simple_bind(a=(2,))
    bound.forward(is_train=True)
    with pytest.raises(ValueError, match="the output 'e_output' is no loss"):
        bound.backward([nd.ones(2)])


@pytest.mark.dear
def test_a_graph_that_grows_under_questions_asks_each_node_once(monkeypatch):
    """keras-mxnet asks for shapes after each layer: all nodes were inferred anew each time."""
    asked = []
    ask = infer._Search.ask
    monkeypatch.setattr(
        infer._Search, "ask", lambda self, node, *rest: (asked.append(node.name), ask(self, node, *rest))[1]
    )
    net = sym.var("d", shape=(0, 4))
    for i in range(20):
        net = sym.relu(sym.FullyConnected(net, num_hidden=4 + i, name=f"fc{i}"), name=f"act{i}")
        assert net.infer_shape_partial()[1] == [(0, 4 + i)]
    assert len(asked) <= 3 * 40
    asked.clear()
    for batch in (2, 3, 2):
        assert net.infer_shape_partial(d=(batch, 4))[1] == [(batch, 23)]
    assert len(asked) == 2 * 40


@pytest.mark.dear
def test_a_second_backward_leaves_states_and_does_not_draw_again():
    d = sym.var("d")
    bound = sym.BatchNorm(d, name="bn", fix_gamma=False).simple_bind(d=(4, 2))
    bound.arg_dict["d"][:] = np.arange(8).reshape(4, 2)
    bound.forward(is_train=True)
    bound.backward([nd.ones((4, 2))])
    before = bound.aux_dict["bn_moving_mean"].asnumpy()
    bound.backward([nd.array(np.eye(4, 2))])
    assert (bound.aux_dict["bn_moving_mean"].asnumpy() == before).all()
    assert before.any()
    bound = sym.Dropout(d, name="drop").simple_bind(d=(40,))
    bound.arg_dict["d"][:] = 1
    bound.forward(is_train=True)
    bound.backward([nd.ones(40)])
    with pytest.raises(GraphError, match="what drop drew is not there any more"):
        bound.backward([nd.ones(40)])
    bound.forward()
    bound.backward([nd.ones(40)])
    assert (bound.grad_dict["d"].asnumpy() == 1).all()


def test_draws_of_symbols_have_their_parameters():
    low, high = nd.array([0.0, 10.0]), nd.array([1.0, 11.0])
    drawn = sym.random.uniform(sym.var("a"), sym.var("b"), shape=(50,))
    found = drawn.eval(a=low, b=high)[0].asnumpy()
    assert found.shape == (2, 50)
    assert (found >= low.asnumpy()[:, None]).all() and (found <= high.asnumpy()[:, None]).all()
    with pytest.raises(ValueError, match="all symbols or all numbers"):
        sym.random.uniform(sym.var("a"), 1.0)


@pytest.mark.dear
@pytest.mark.parametrize("name", corners.ZOO)
def test_the_zoo_has_mxnets_names(monkeypatch, name):
    monkeypatch.setattr(prefixes.Naming, "active", True)
    begin = time.process_time()
    outputs = mx.gluon.model_zoo.vision.get_model(name, prefix="net_")(sym.var("data")).get_internals().list_outputs()
    assert time.process_time() - begin < 60  # each layer looks at what is new only: DenseNet-121 takes 2 s
    digest = hashlib.sha256("\n".join(outputs).encode()).hexdigest()
    assert [len(outputs), outputs[-12:], digest] == GOLDEN["zoo"][name]


def test_a_network_of_the_zoo_in_a_name_scope(monkeypatch):
    """MXNet 1.9.1 gives the same names."""
    monkeypatch.setattr(prefixes.Naming, "active", True)
    net = mx.gluon.nn.HybridSequential(prefix="outer_")
    with net.name_scope():
        inner = mx.gluon.model_zoo.vision.resnet18_v1(classes=3)
        net.add(inner, mx.gluon.nn.Dense(2))
    names = list(net.collect_params())
    assert names[0] == "outer_resnetv10_conv0_weight" and names[-1] == "outer_dense0_bias"
    assert "outer_resnetv10_stage2_conv2_weight" in names
    assert inner.prefix == "outer_resnetv10_"


@pytest.mark.dear
def test_a_csr_matrix_stays_sparse_in_a_symbol():
    """A product over a million columns, of which a batch has eight; and what else is done with small matrices."""
    wide = 1_000_000
    data = sym.var("data", stype="csr")
    net = sym.sparse.dot(data, sym.var("w", shape=(wide, 2), stype="row_sparse"))
    bound = net.simple_bind(data=(4, wide), grad_req={"w": "write"})
    assert bound.arg_dict["data"].stype == "csr"
    bound.arg_dict["w"][:] = 1.0
    columns = np.array([3, 9, 3, 999_999, 7, 9, 0, 1])
    batch = nd.sparse.csr_matrix((np.arange(8.0, dtype="float32"), columns, [0, 2, 4, 6, 8]), shape=(4, wide))
    (out,) = bound.forward(is_train=True, data=batch)
    assert out.asnumpy().tolist() == [[1.0] * 2, [5.0] * 2, [9.0] * 2, [13.0] * 2]
    bound.backward([nd.ones((4, 2))])
    assert bound.grad_dict["w"].asnumpy()[[3, 9, 0, 2]].tolist() == [[2.0] * 2, [6.0] * 2, [6.0] * 2, [0.0] * 2]
    small = sym.broadcast_add(sym.sum(data, axis=0), sym.var("b")).simple_bind(data=(2, 3), b=(1,), grad_req="null")
    rows = nd.sparse.csr_matrix((np.ones(2, "float32"), [0, 2], [0, 1, 2]), shape=(2, 3))
    assert small.forward(data=rows)[0].asnumpy().tolist() == [1.0, 0.0, 1.0]
    assert small.forward(data=np.ones((2, 3), "float32"))[0].asnumpy().tolist() == [2.0] * 3
    with pytest.raises(ValueError, match=r"'data' would have shape \(5, 3\), .* more elements .*allow_up_sizing=True"):
        small.reshape(data=(5, 3), b=(1,))
    assert small.reshape(data=(5, 3), b=(1,), allow_up_sizing=True).arg_dict["data"].shape == (5, 3)
