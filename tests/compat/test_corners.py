"""Names of MXNet that programs reach for though no page shows them, against both versions of MXNet."""

import json
import pickle

import jax
import numpy
import pytest

from gluonx import compat
from gluonx.compat.alias.absent import AbsentError
from gluonx.errors import GraphError
from lib import TESTS
from lib.golden import load_cases

GOLDEN = {n: json.loads((TESTS / "oracle" / "corners" / f"golden_{n}.json").read_text("utf-8")) for n in (1, 2)}
ROWS = [(version, name) for version, found in GOLDEN.items() for name in found]


@pytest.fixture
def mx():
    compat.install_as_mxnet()
    try:
        import mxnet

        yield mxnet
    finally:
        compat.uninstall()


@pytest.mark.dear
@pytest.mark.parametrize(("version", "name"), ROWS)
def test_as_mxnet(version, name):
    compat.install_as_mxnet(version)
    try:
        found = json.loads(json.dumps(load_cases("corners").CASES[name](), default=float))
    finally:
        compat.uninstall()
    mine, wanted = (jax.tree.flatten_with_path(x) for x in (found, GOLDEN[version][name]))
    assert mine[1] == wanted[1]
    for (path, a), (_, b) in zip(mine[0], wanted[0], strict=True):
        if isinstance(b, float):
            numpy.testing.assert_allclose(a, b, rtol=2e-4, atol=2e-5, err_msg=str(path))
        else:
            assert a == b, path


@pytest.mark.dear
def test_bucketing_modules_in_mixed_precision(mx):
    """MXNet 1.9.1 computes no float16 on CPUs."""
    from mxnet.contrib.amp.amp import convert_bucketing_module

    def generate(_):
        hidden = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=4, name="fc", flatten=False)
        head = mx.sym.FullyConnected(mx.sym.mean(hidden, axis=1), num_hidden=2, name="head")
        return mx.sym.SoftmaxOutput(head, name="softmax"), ("data",), ("softmax_label",)

    def batch(length):
        shapes = {"provide_data": [("data", (2, length, 3))], "provide_label": [("softmax_label", (2,))]}
        return mx.io.DataBatch([mx.nd.ones((2, length, 3))], [mx.nd.zeros(2)], bucket_key=length, **shapes)

    module = mx.mod.BucketingModule(generate, default_bucket_key=5)
    with pytest.raises(GraphError, match=r"call bind\(\) and init_params\(\) first"):
        convert_bucketing_module(module)
    module.bind([("data", (2, 5, 3))], [("softmax_label", (2,))])
    module.init_params(mx.init.Constant(0.3))
    low = convert_bucketing_module(module)
    low.bind([("data", (2, 5, 3))], [("softmax_label", (2,))], for_training=False)
    for length in (5, 3):
        low.forward(batch(length))
        module.forward(batch(length), is_train=False)
        assert low.get_outputs()[0].dtype == numpy.float32  # results of converted symbols are cast back
        ours, full = (m.get_outputs()[0].asnumpy().astype("float32") for m in (low, module))
        numpy.testing.assert_allclose(ours, full, atol=5e-3)


@pytest.mark.dear
def test_operators_of_the_first_years(mx):
    """A NumpyOp that is the softmax with its loss trains as SoftmaxOutput does; MXNet 1.9.1 itself crashes on it."""

    class Softmax(mx.operator.NumpyOp):
        def __init__(self):
            super().__init__(need_top_grad=False)

        def list_arguments(self):
            return ["data", "label"]

        def infer_shape(self, in_shape):
            return [in_shape[0], (in_shape[0][0],)], [in_shape[0]]

        def forward(self, in_data, out_data):
            assert isinstance(in_data[0], numpy.ndarray)
            out_data[0][:] = numpy.exp(in_data[0] - in_data[0].max(axis=1, keepdims=True))
            out_data[0] /= out_data[0].sum(axis=1, keepdims=True)

        def backward(self, out_grad, in_data, out_data, in_grad):
            assert out_grad == []
            in_grad[0][:] = out_data[0]
            in_grad[0][numpy.arange(len(in_data[1])), in_data[1].astype(int)] -= 1

    class Thrice(mx.operator.NDArrayOp):
        def forward(self, in_data, out_data):
            out_data[0][:] = in_data[0] * 3

        def backward(self, out_grad, in_data, out_data, in_grad):
            in_grad[0][:] = out_grad[0] * 3

    rng = numpy.random.RandomState(0)
    x = rng.rand(12, 4).astype("float32")
    hidden = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=3, name="fc")
    nets = [
        Softmax()(data=Thrice()(hidden, name="thrice"), name="softmax"),
        mx.sym.SoftmaxOutput(hidden * 3, name="softmax"),
    ]
    assert nets[0].list_arguments() == ["data", "fc_weight", "fc_bias", "softmax_label"]
    weights = []
    for net in nets:
        module = mx.mod.Module(net)
        begin = {"fc_weight": mx.nd.array(numpy.eye(3, 4)), "fc_bias": mx.nd.zeros(3)}
        data = mx.io.NDArrayIter(x, (x[:, 0] > 0.5).astype("float32"), 4)
        module.fit(data, num_epoch=4, arg_params=begin, aux_params={}, optimizer_params={"learning_rate": 0.3})
        weights.append(module.get_params()[0]["fc_weight"].asnumpy())
    numpy.testing.assert_allclose(*weights, rtol=1e-5)


def test_what_needs_a_c_library_says_what_to_do(mx):
    for use, way in (
        (lambda: mx.base._LIB.MXGetVersion(), "nothing of gluonx is in a C library"),
        (lambda: mx.library.load("libx.so"), "write an operator with gluonx.from_jax"),
        (lambda: mx.rtc.CudaModule("source"), "gluonx.from_jax takes any JAX function, Pallas kernels included"),
    ):
        with pytest.raises(AbsentError, match=way):
            use()


def test_quantization_by_the_keywords_of_both_versions(mx):
    net = mx.gluon.nn.Dense(3, in_units=4)
    net.initialize()
    x = mx.nd.random.uniform(shape=(8, 4))
    loader = mx.gluon.data.DataLoader(mx.gluon.data.ArrayDataset(x), batch_size=2)
    make = mx.contrib.quantization
    calibrated = {"calib_data": loader, "calib_mode": "naive"}
    for quantized in (
        make.quantize_net_v2(net, "auto", "full", "channel-wise", num_calib_examples=4, ctx=mx.cpu(), **calibrated),
        make.quantize_net(net, "auto", "full", [], num_calib_examples=3, ctx=mx.cpu(), **calibrated),
        make.quantize_net(net, "auto", "full", "tensor-wise", num_calib_batches=2, device=mx.cpu(), **calibrated),
    ):
        assert quantized is not net
        numpy.testing.assert_allclose(quantized(x).asnumpy(), net(x).asnumpy(), atol=0.01)


def test_keywords_of_both_versions_after_set_np(mx):
    """The book for 1.6 calls set_np() and has RMSProp's gamma1; MXNet 2's book says rho."""
    mx.npx.set_np()
    create = mx.optimizer.create
    weights = []
    for optimizer in (create("rmsprop", gamma1=0.8), mx.optimizer.RMSProp(gamma1=0.8), create("rmsprop", rho=0.8)):
        assert optimizer.rho == 0.8
        weight = mx.np.ones(3)
        mx.optimizer.get_updater(optimizer)(0, mx.np.array([1e-4, 1e-3, 1.0]), weight)
        weights.append(weight.asnumpy())
    assert (weights[0] == weights[1]).all()
    assert abs(weights[0] - weights[2])[0] > 1e-4  # epsilon stands in another place
    again = pickle.loads(pickle.dumps(mx.optimizer.RMSProp(rho=0.7)))
    assert isinstance(again, mx.optimizer.RMSProp) and again.rho == 0.7


def test_labels_of_an_iterator_may_have_more_rows_than_its_data(mx):
    data, labels = numpy.arange(8.0).reshape(4, 2), {"a": numpy.arange(7.0), "b": numpy.arange(4.0)}
    with pytest.warns(UserWarning, match="the first 4 are taken of each"):
        rows = mx.io.NDArrayIter(data, labels, batch_size=2)
    found = [[label.asnumpy().tolist() for label in batch.label] for batch in rows]
    assert found == [[[0, 1], [0, 1]], [[2, 3], [2, 3]]]
    with pytest.raises(ValueError, match="the same number of rows"):
        mx.io.NDArrayIter(data, numpy.arange(3.0), batch_size=2)
