"""The flat parameter of recurrent layers, which is there before there are shapes and values, as in MXNet 2."""

import copy
import gc
import json
import pickle
import weakref

import numpy as onp
import pytest

import gluonx
from gluonx import Fused, autograd, gluon, nn, np, rnn
from gluonx.compat import prefixes
from gluonx.errors import DeferredInitializationError, FusionError, MismatchError, ShapeError, UninitializedError
from lib import TESTS
from lib.golden import load_cases

cases = load_cases("rnn", "param_cases")
X = onp.random.RandomState(0).uniform(-1, 1, (4, 2, 5)).astype("float32")


def train(net, trainer):
    with autograd.record():
        loss = (net(np.array(X)) ** 2).sum()
    loss.backward()
    trainer.step(1)


@pytest.mark.dear
def test_as_mxnet_2_before_and_after_the_first_call():
    golden = json.loads((TESTS / "oracle" / "rnn" / "params.json").read_text())
    found = json.loads(json.dumps(cases.run(gluon, np, autograd)))
    for name in cases.LAYERS:
        for late in (golden[name], found[name]):
            values = late["set_data"].pop()
            late["values"] = values
        onp.testing.assert_allclose(found[name].pop("values"), golden[name].pop("values"), atol=2e-5)
    assert found == golden


@pytest.mark.parametrize("hybrid", [False, True])
@pytest.mark.parametrize("inputs", [0, 5])
def test_one_object_from_the_constructor_on(hybrid, inputs):
    net = nn.HybridSequential()
    net.add(rnn.LSTM(3, input_size=inputs), nn.MultiHeadAttention(3, 1, in_units=inputs and 3))
    if hybrid:
        net.hybridize()
    early = net.collect_params()
    assert list(early)[:3] == ["0.rnn_param", "1.qkv_weight", "1.qkv_bias"] and len(early) == 5
    assert early["0.rnn_param"].shape == ((120,) if inputs else (-1,))
    assert early["1.qkv_weight"].shape == (9, 3 if inputs else -1)
    trainer = gluon.Trainer(early, "sgd", {"learning_rate": 0.5})
    assert net.collect_params() == early
    net.initialize()
    assert net.collect_params() == early
    train(net, trainer)
    assert net.collect_params() == early
    assert net[0].is_fused and net[1].is_fused
    before = {name: p.data().asnumpy() for name, p in early.items()}
    train(net, trainer)
    assert all((p.data().asnumpy() != before[name]).any() for name, p in early.items() if not name.endswith("bias"))
    assert early["0.rnn_param"].grad().shape == (120,)


def test_what_is_done_to_it_is_done_to_the_pieces():
    layer = rnn.GRU(3)
    flat = layer.rnn_param
    assert flat is layer.collect_params()["rnn_param"]
    flat.lr_mult, flat.wd_mult, flat.init, flat.grad_req = 0.5, 0.0, "ones", "add"
    for piece in layer.collect_params(fused=False).values():
        assert (piece.lr_mult, piece.wd_mult, piece.init, piece.grad_req) == (0.5, 0.0, "ones", "add")
    assert (flat.init, flat.grad_req) == ("ones", "add")
    layer.l0_i2h_weight.init = "zeros"
    assert flat.init == ("zeros", "ones", "ones", "ones")
    layer.cast("float16")
    assert flat.dtype == onp.float16
    flat.cast("float32")
    assert layer.l0_h2h_bias.dtype == onp.float32
    flat.initialize()
    assert flat.list_device() == layer.l0_i2h_weight.list_device()
    flat.zero_grad()
    flat.reset_device(gluonx.cpu(0))
    layer(np.array(X))
    assert layer.rnn_param is flat and flat.shape == (3 * 3 * (5 + 3) + 18,)
    assert flat.data().asnumpy()[:45].max() == 0 and flat.data().asnumpy()[45:].min() == 1


@pytest.mark.dear
def test_values_may_come_before_the_first_call():
    """From the flat array alone the layer knows how large its inputs are; what does not fit changes nothing."""
    source = rnn.LSTM(3, 2)
    source.initialize()
    expected = source(np.array(X)).asnumpy()
    values = source.rnn_param.data()
    for give in (lambda p: p.set_data(values), lambda p: p.set_data(values.asnumpy())):
        layer = rnn.LSTM(3, 2)
        with pytest.raises(UninitializedError):
            give(layer.rnn_param)
        layer.initialize()
        flat = layer.rnn_param
        with pytest.raises(DeferredInitializationError):
            flat.data()
        with pytest.raises(ShapeError, match=r"shape \(-1,\), which does not fit the data's shape \(7,\)"):
            flat.set_data(onp.zeros(7))
        assert layer.l0_i2h_weight.shape == (12, -1)
        give(flat)
        assert layer.is_fused and layer.rnn_param is flat
        onp.testing.assert_allclose(layer(np.array(X)).asnumpy(), expected, rtol=1e-6)
    heads = nn.MultiHeadAttention(4, 2)
    heads.initialize()
    weight = heads.collect_params()["qkv_weight"]
    with pytest.raises(ShapeError):
        weight.set_data(onp.ones((10, 6)))
    weight.set_data(onp.arange(72.0).reshape(12, 6))
    assert heads.key.weight.data()[0].tolist() == [24, 25, 26, 27, 28, 29]
    assert heads.is_fused and heads.collect_params()["qkv_weight"] is weight
    assert weight.data().shape == (12, 6)


def test_one_of_two_that_wait():
    """A parameter whose pieces have values is fused when it is asked for, and the rest waits on."""
    heads = nn.MultiHeadAttention(4, 2, in_units=4)
    params = heads.collect_params()
    params["qkv_weight"].initialize()
    assert params["qkv_weight"].data().shape == (12, 4)
    with pytest.raises(UninitializedError, match="qkv_bias' has not been initialized"):
        params["qkv_bias"].data()
    params["qkv_bias"].initialize()
    heads.proj.initialize()
    heads(np.ones((1, 3, 4)))
    assert heads.collect_params() == params and heads.is_fused


def test_files_load_into_it(tmp_path):
    source = rnn.LSTM(3)
    with pytest.raises(UninitializedError, match="has not been initialized"):
        source.save_parameters(tmp_path / "p")
    source.initialize()
    with pytest.raises(DeferredInitializationError):
        source.save_parameters(tmp_path / "p")
    expected = source(np.array(X)).asnumpy()
    source.save_parameters(tmp_path / "p")
    layer = rnn.LSTM(3)
    flat = layer.rnn_param
    layer.load_parameters(tmp_path / "p")
    assert layer.rnn_param is flat and flat.data().shape == (120,)
    onp.testing.assert_array_equal(layer(np.array(X)).asnumpy(), expected)


@pytest.mark.parametrize("initialized", [False, True])
def test_fused_arrays_load_into_what_waits(initialized):
    """Of the shapes of fused arrays those of the pieces follow; arrays that do not fit change nothing."""
    source = nn.MultiHeadAttention(4, 2, in_units=6)
    source.initialize()
    arrays = {name: param.data() for name, param in source.collect_params().items()}
    heads = nn.MultiHeadAttention(4, 2)
    if initialized:
        heads.initialize()
    for wrong in ((), (12,), (11, 6), (12, 6, 1)):
        with pytest.raises(MismatchError, match="holds 'qkv_weight'"):
            heads.load_dict({**arrays, "qkv_weight": np.ones(wrong)})
    assert heads.key.weight.shape == (4, -1)
    weight = heads.collect_params()["qkv_weight"]
    heads.load_dict(arrays)
    assert heads.is_fused and heads.collect_params()["qkv_weight"] is weight
    x = np.ones((1, 3, 6))
    onp.testing.assert_array_equal(heads(x).asnumpy(), source(x).asnumpy())


def test_a_pattern_gives_the_pieces_that_it_names():
    layer = rnn.LSTM(3)
    assert list(layer.collect_params(".*i2h")) == ["l0_i2h_weight", "l0_i2h_bias"]
    assert list(layer.collect_params("rnn|l0_i2h_bias")) == ["rnn_param"]
    layer.l0_i2h_weight.grad_req = "null"
    assert layer.rnn_param.grad_req == "write"


def test_shared_before_the_first_call():
    a, b = rnn.LSTM(3), rnn.LSTM(3)
    old = b.rnn_param
    b.share_parameters(a.collect_params())
    assert b.rnn_param is a.rnn_param is not old
    with pytest.raises(UninitializedError, match="is no more"):
        old.data()
    a.initialize()
    onp.testing.assert_array_equal(a(np.array(X)).asnumpy(), b(np.array(X)).asnumpy())
    assert b.is_fused and b.rnn_param is a.rnn_param


def test_taken_back_before_the_first_call():
    layer = rnn.LSTM(3)
    layer.unfuse()
    assert len(layer.collect_params()) == 4
    flat = layer.rnn_param  # asks for it again
    assert list(layer.collect_params().values()) == [flat]
    layer.unfuse()
    layer.initialize()
    layer(np.array(X))
    assert not layer.is_fused and len(layer.collect_params()) == 4
    assert layer.rnn_param.data().shape == (120,) and layer.is_fused


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, lambda net: pickle.loads(pickle.dumps(net))])
def test_copies_before_the_first_call(copied):
    layer = rnn.LSTM(3)
    layer.initialize()
    flat = layer.rnn_param
    twin = copied(layer)
    assert list(twin.collect_params()) == ["rnn_param"]
    assert (twin.rnn_param is flat) == (copied is copy.copy)
    twin(np.array(X))
    assert twin.is_fused and layer.is_fused == (copied is copy.copy)
    alone = copied(rnn.LSTM(3, input_size=5).rnn_param)
    alone.initialize()
    assert alone.data().shape == (120,)


def test_a_parameter_that_two_fusions_want():
    class Both(nn.HybridBlock):
        def __init__(self):
            super().__init__()
            self.lstm = rnn.LSTM(3)
            self.dense = nn.Dense(12)
            self.declare_fusion(Fused("both", ("lstm.l0_i2h_weight", "dense.weight")))
            self.fuse()

    net = Both()
    assert list(net.collect_params()) == ["lstm.rnn_param", "dense.weight", "dense.bias"]
    net.initialize()
    net.lstm(np.array(X))
    with pytest.raises(FusionError, match="is a piece of"):
        net.dense.weight.shape = (12, 5)
        net.fuse()


def test_a_program_of_mxnet_1_has_the_weights(monkeypatch):
    monkeypatch.setattr(nn.Block, "_block_names", prefixes.Prefixes())
    monkeypatch.setattr(prefixes.Naming, "active", True)
    layer = rnn.LSTM(3, prefix="lstm_")
    names = ["lstm_l0_i2h_weight", "lstm_l0_h2h_weight", "lstm_l0_i2h_bias", "lstm_l0_h2h_bias"]
    assert list(layer.collect_params()) == names
    layer.collect_params().initialize()
    assert list(layer.collect_params()) == names


def test_a_block_without_fusion_has_no_part_in_it():
    net = nn.HybridSequential()
    net.add(nn.Dense(3, in_units=2), nn.BatchNorm())
    net.initialize()
    net(np.ones((2, 2)))
    net.fuse()
    assert not net.is_fused and copy.deepcopy(net).collect_params().keys() == net.collect_params().keys()
    assert not any("_fusions" in block.__dict__ for block in (net, *net))


def test_a_block_that_copies_its_attributes_by_itself():
    class Own(nn.MultiHeadAttention):
        def __getstate__(self):
            return dict(self.__dict__)

        def __setstate__(self, state):
            self.__dict__.update(state)

    net = Own(4, 2, in_units=4)
    net.initialize()
    x = np.array(onp.random.RandomState(0).uniform(-1, 1, (1, 3, 4)))
    expected = net(x).asnumpy()
    twin = copy.deepcopy(net)
    onp.testing.assert_allclose(twin(x).asnumpy(), expected, rtol=1e-6)
    assert twin._fusions.block is twin and twin.collect_params()["qkv_weight"].data().shape == (12, 4)
    net.query.weight.set_data(onp.zeros((4, 4)))
    onp.testing.assert_allclose(twin(x).asnumpy(), expected, rtol=1e-6)


def test_a_block_is_gone_with_its_last_name():
    """No cycle leads through its part in fusion: what it alone holds is freed at once."""
    net = nn.MultiHeadAttention(4, 2, in_units=4)
    net.initialize()
    seen = weakref.ref(net), weakref.ref(net.proj.weight)
    gc.disable()
    try:
        del net
        assert [r() for r in seen] == [None, None]
    finally:
        gc.enable()
