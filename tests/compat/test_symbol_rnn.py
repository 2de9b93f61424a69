"""``mx.rnn`` against MXNet 1.9.1 (tests/oracle/symbol_rnn)."""

import json
import logging

import numpy as onp
import pytest

import gluonx as mx
from gluonx.compat import nd, rnn
from lib import TESTS
from lib.golden import load_cases

cases = load_cases("symbol_rnn")
GOLDEN = json.loads((TESTS / "oracle" / "symbol_rnn" / "golden.json").read_text())


class NS:
    sym, nd, cpu = mx.sym, nd, staticmethod(mx.cpu)


@pytest.mark.parametrize("form", cases.FORMS)
@pytest.mark.parametrize("name", cases.CELLS)
def test_unrolled(name, form):
    found, expected = cases.unrolled(NS, rnn, name, form), GOLDEN["unrolled"][f"{name} {form}"]
    assert found["arguments"] == expected["arguments"] and found["info"] == expected["info"]
    assert len(found["outputs"]) == len(expected["outputs"])
    for mine, theirs in zip(found["outputs"], expected["outputs"]):
        onp.testing.assert_allclose(mine, theirs, rtol=1e-4, atol=2e-6)


@pytest.mark.parametrize("name", GOLDEN["packing"])
def test_packing(name):
    found, expected = cases.packing(NS, rnn, name), GOLDEN["packing"][name]
    assert found["back"] is expected["back"] is True
    assert found["loose"].keys() == expected["loose"].keys()
    for key, (shape, total) in found["loose"].items():
        assert shape == expected["loose"][key][0] and abs(total - expected["loose"][key][1]) < 2e-4


def test_bucketing():
    with pytest.warns(UserWarning, match="1 sentences are longer"):
        assert json.loads(json.dumps(cases.bucketing(NS, rnn))) == GOLDEN["bucketing"]


def test_unfused_is_fused():
    cell = rnn.FusedRNNCell(4, num_layers=2, mode="lstm", bidirectional=True, prefix="f_")
    loose = cell.unfuse()
    data, outs = mx.sym.Variable("data"), []
    for one in (cell, loose):
        out, _ = one.unroll(3, data, merge_outputs=True)
        bound = out.simple_bind(mx.cpu(), data=(2, 3, 5), grad_req="null")
        if one is cell:
            size = bound.arg_dict["f_parameters"].shape
            args = {"f_parameters": nd.array(onp.random.RandomState(0).randn(*size))}
        for name, value in args.items():
            bound.arg_dict[name][...] = value
        bound.arg_dict["data"][...] = onp.random.RandomState(1).randn(2, 3, 5)
        outs.append(bound.forward()[0].asnumpy())
        if one is cell:
            args = loose.pack_weights(cell.unpack_weights(args))
    onp.testing.assert_allclose(outs[0], outs[1], rtol=1e-5, atol=1e-6)


@pytest.mark.slow  # a graph for each length is compiled
def test_a_model_of_buckets_trains(tmp_path):
    """The language model of MXNet's example/rnn/bucketing, in small: batches of several lengths, one set of weights."""
    rng = onp.random.RandomState(0)
    sentences = [[(start + i) % 7 + 1 for i in range(length)] for start in range(7) for length in (2, 3) for _ in "ab"]
    rng.shuffle(sentences)
    data = rnn.BucketSentenceIter(sentences, 4, invalid_label=0)
    stack = rnn.SequentialRNNCell()
    for i in range(1):
        stack.add(rnn.LSTMCell(12, prefix=f"lstm_l{i}_"))

    def sym_gen(length):
        embed = mx.sym.Embedding(mx.sym.Variable("data"), input_dim=8, output_dim=6, name="embed")
        stack.reset()
        outputs, _ = stack.unroll(length, inputs=embed, merge_outputs=True)
        pred = mx.sym.FullyConnected(mx.sym.Reshape(outputs, shape=(-1, 12)), num_hidden=8, name="pred")
        label = mx.sym.Reshape(mx.sym.Variable("softmax_label"), shape=(-1,))
        net = mx.sym.SoftmaxOutput(pred, label, name="softmax", use_ignore=True, ignore_label=0)
        return net, ("data",), ("softmax_label",)

    model = mx.mod.BucketingModule(sym_gen, default_bucket_key=data.default_bucket_key, logger=logging.getLogger("q"))
    metric = mx.metric.Perplexity(ignore_label=0)
    done = rnn.do_rnn_checkpoint(stack, str(tmp_path / "net"), 8)
    model.fit(
        data,
        eval_metric=metric,
        num_epoch=8,
        optimizer="adam",
        optimizer_params={"learning_rate": 0.03},
        initializer=mx.init.Xavier(),
        epoch_end_callback=done,
    )
    assert metric.get()[1] < 4
    symbol, args, _ = rnn.load_rnn_checkpoint(stack, str(tmp_path / "net"), 8)
    now, _ = model.get_params()
    assert set(args) == set(now) and all((args[k].asnumpy() == now[k].asnumpy()).all() for k in now)
    assert symbol.list_arguments()[0] == "data"


def test_initial_biases():
    """Of a forget gate 1, of all others 0."""
    cell = rnn.FusedRNNCell(3, mode="lstm", prefix="f_")
    out, _ = cell.unroll(2, mx.sym.Variable("data"), merge_outputs=True)
    module = mx.mod.Module(out, label_names=None)
    module.bind([("data", (2, 2, 4))], for_training=False)
    module.init_params(mx.init.Xavier())
    loose = cell.unpack_weights(module.get_params()[0])
    biases = {name: value.asnumpy().tolist() for name, value in loose.items() if name.endswith("bias")}
    assert len(biases) == 8
    assert {
        name: value for name, value in biases.items() if value != ([1.0] * 3 if "_f_" in name[2:] else [0.0] * 3)
    } == {}
    weights = onp.concatenate([v.asnumpy().ravel() for name, v in loose.items() if name.endswith("weight")])
    assert weights.std() > 0.1


def test_bad_use():
    data = mx.sym.Variable("data")
    with pytest.raises(ValueError, match="layout"):
        rnn.RNNCell(3).unroll(2, data, layout="CTN")
    with pytest.raises(AssertionError, match="was given 1 inputs"):
        rnn.RNNCell(3).unroll(2, [data])
    with pytest.raises(NotImplementedError, match="unfuse"):
        rnn.FusedRNNCell(3)(data, [])
    with pytest.raises(AssertionError, match="modified by another"):
        cell = rnn.LSTMCell(3)
        rnn.ResidualCell(cell)
        cell.begin_state()
    shared, plain = rnn.LSTMCell(3, params=rnn.RNNParams()), rnn.LSTMCell(3)
    with pytest.raises(AssertionError, match="either to the BidirectionalCell or to its cells"):
        rnn.BidirectionalCell(shared, plain, rnn.RNNParams())
    with pytest.raises(AssertionError, match="either to the SequentialRNNCell or to its cells"):
        rnn.SequentialRNNCell(params=rnn.RNNParams()).add(shared)
    with pytest.raises(AssertionError, match="modified by another"):
        both = rnn.BidirectionalCell(rnn.LSTMCell(3, "l_"), rnn.LSTMCell(3, "r_"))
        rnn.ResidualCell(both)
        both.begin_state()
    with pytest.raises(AssertionError, match="takes no single steps"):
        rnn.ZoneoutCell(rnn.FusedRNNCell(3))
    with pytest.raises(ValueError, match="mode must be"):
        rnn.FusedRNNCell(3, mode="gated")
    with pytest.raises(AssertionError, match="no word 'zebra'"):
        rnn.encode_sentences([["zebra"]], {"cat": 1})
    with pytest.raises(ValueError, match="give buckets"):
        rnn.BucketSentenceIter([[1], [1, 2]], 2)
