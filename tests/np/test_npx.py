"""``gluonx.npx``: core operators as functions, in MXNet's order of parameters, and those that write, read or ask."""

from __future__ import annotations

import contextvars
import ctypes
import json
import pickle

import numpy as onp
import pytest

from gluonx import autograd, nd, np, npx
from gluonx.np import handle
from gluonx.npx import functions
from gluonx.ops import OPS
from lib import TESTS
from lib.rows import every

MXNET = json.loads((TESTS / "oracle" / "npx_signatures.json").read_text())
LATER = {"contrib_calibrate_entropy"}


def ones(*shape):
    return np.ones(shape)


def test_names_of_mxnet_are_there():
    missing = {name for name in MXNET if not hasattr(npx, name)}
    assert missing <= LATER


@pytest.mark.parametrize(
    "name",
    sorted(
        set(MXNET)
        & set(OPS)
        & ({n for n, op in OPS.items() if op.npx.order and n == op.name} | {"pick", "slice", "layer_norm"})
    ),
)
def test_parameters_come_in_mxnets_order(name):
    params = [p.name for p in functions.parameters_of(OPS[name], name)]
    wanted = [p for p in MXNET[name] if p not in ("out", "name") and not p.startswith("*")]
    arrays = set(OPS[name].inputs)
    for place, theirs in enumerate(wanted):
        ours = params[place]
        assert ours == theirs or ours in arrays, f"{name}: parameter {place} is {ours}, MXNet's is {theirs}"


def is_a_function(name):
    function = getattr(npx, name)
    assert callable(function)
    assert function.__doc__


def test_every_operator_is_a_function():
    names = sorted(name for name in OPS if "." not in name)
    every(is_a_function, names)
    assert not set(names) - set(dir(npx))


def test_there_is_no_other_name():
    with pytest.raises(AttributeError, match="npx has no function 'bogus'"):
        _ = npx.bogus


def test_calls_by_position_and_by_name():
    x = np.array([[1.0, 2.0], [3.0, 4.0]])
    assert npx.softmax(x, None, 0).tolist() == npx.softmax(x, axis=0).tolist()
    assert npx.log_softmax(x, 0).tolist() == npx.log_softmax(data=x, axis=0).tolist()
    assert npx.leaky_relu(x, None, "elu", 0.3).tolist() == x.tolist()
    assert npx.one_hot(np.array([0, 1]), 3, 2.0, -1.0, "int32").tolist() == [[2, -1, -1], [-1, 2, -1]]
    assert npx.pick(x, np.array([1, 0])).tolist() == [2, 3]
    assert npx.topk(x, k=1, ret_typ="both", axis=1)[0].tolist() == [[2], [4]]
    assert isinstance(npx.topk(x, ret_typ="both"), list)
    assert npx.reshape(ones(2, 3, 4), (-2, -1)).shape == (2, 12)
    assert npx.arange_like(x, 1.0, 2.0, 1, None, 0).tolist() == [1, 3]
    assert npx.pooling(ones(1, 1, 4, 4), (2, 2), (2, 2), (0, 0), "avg").shape == (1, 1, 2, 2)
    assert npx.sequence_mask(x, np.array([1, 2]), True, 0.0, 1).tolist() == [[1, 0], [3, 4]]
    assert npx.pad(ones(2, 2), mode="constant", pad_width=(1, 1, 0, 0), constant_value=3.0).shape == (4, 2)
    assert npx.layer_norm(x, ones(2), np.zeros(2), None, None).shape == (2, 2)
    assert npx.slice(x, (0,), (1,), None).tolist() == [[1, 2]]
    assert npx.gather_nd(x, np.array([[0, 1], [1, 0]])).tolist() == [2, 3]
    assert npx.index_add(np.zeros((2, 2)), np.array([[0], [1]]), np.array([5.0])).tolist() == [[0, 5], [0, 0]]
    assert npx.smooth_l1(x, scalar=2.0).shape == (2, 2)
    assert npx.batch_dot(a=ones(1, 2, 3), b=ones(1, 2, 3), transpose_b=True).tolist() == [[[3, 3], [3, 3]]]
    assert npx.broadcast_like(lhs=ones(1, 2), rhs=x).shape == (2, 2)


def test_old_and_new_spellings():
    x, w, b = ones(2, 3), ones(4, 3), ones(4)
    new = npx.fully_connected(x, w, b, num_hidden=4, no_bias=False, flatten=True, name="fwd")
    old = npx.FullyConnected(x, w, b, num_hidden=4, no_bias=False, flatten=True, name="fwd")
    assert new.tolist() == old.tolist() == [[4] * 4] * 2
    # MXNet 2's default leaves the bias out, MXNet 1's does not.
    assert npx.fully_connected(x, w, b, num_hidden=4).tolist() == [[3] * 4] * 2
    assert npx.FullyConnected(x, w, b, num_hidden=4).tolist() == [[4] * 4] * 2
    image, kernel = ones(1, 1, 4, 4), ones(2, 1, 3, 3)
    new = npx.convolution(
        image, kernel, ones(2), (3, 3), (1, 1), (1, 1), (0, 0), 2, 1, 1024, False, None, False, "NCHW"
    )
    old = npx.Convolution(
        data=image, weight=kernel, bias=ones(2), kernel=(3, 3), num_filter=2, cudnn_off=True, workspace=9
    )
    assert new.tolist() == old.tolist()
    assert npx.Activation(x, act_type="tanh").tolist() == npx.activation(x, "tanh").tolist()


def test_errors_name_the_function():
    with pytest.raises(
        TypeError, match=r"npx\.softmax got an unexpected keyword argument 'bogus' \(it has: data, length, axis"
    ):
        npx.softmax(ones(2), bogus=1)
    with pytest.raises(TypeError, match=r"npx\.one_hot is missing the argument 'depth'"):
        npx.one_hot(ones(2))


def test_out_is_written():
    x, out = np.array([-1.0, 2.0]), np.zeros(2)
    assert npx.relu(x, out=out) is out
    assert out.tolist() == [0, 2]


def test_batch_norm_renews_its_statistics_when_training():
    x = np.array([[0.0, 2.0], [2.0, 6.0]])
    gamma, beta, mean, var = ones(2), np.zeros(2), np.zeros(2), ones(2)
    calm = npx.batch_norm(x, gamma, beta, mean, var)
    assert mean.tolist() == [0, 0]
    onp.testing.assert_allclose(calm.asnumpy(), x.asnumpy() / onp.sqrt(1.001), rtol=1e-5)
    gamma.attach_grad()
    with autograd.record():
        y = npx.batch_norm(x, gamma, beta, mean, var, momentum=0.5, fix_gamma=False)
        loss = (y * y).sum()
    loss.backward()
    onp.testing.assert_allclose(mean.asnumpy(), [0.5, 2.0], rtol=1e-5)
    onp.testing.assert_allclose(var.asnumpy(), [1.0, 2.5], rtol=1e-5)
    onp.testing.assert_allclose(gamma.grad.asnumpy(), 2 * (y.asnumpy() ** 2).sum(0), rtol=1e-4)
    with autograd.train_mode():
        npx.BatchNorm(x, gamma, beta, mean, var, use_global_stats=True)
        assert mean.tolist() == [0.5, 2.0]
        parts = npx.batch_norm(x, gamma, beta, mean, var, output_mean_var=True)
        assert isinstance(parts, list)
        assert parts[1].tolist() == [1.0, 4.0]
    assert npx.batch_norm_with_relu(-x, gamma, beta, mean, var).tolist() == [[0, 0], [0, 0]]
    assert npx.sync_batch_norm(x, gamma, beta, mean, var, ndev=4, key="bn").shape == (2, 2)


def test_batch_norm_in_a_hybridized_block():
    from gluonx import gluon

    class Norm(gluon.HybridBlock):
        def __init__(self):
            super().__init__()
            for name, value in (("gamma", "ones"), ("beta", "zeros"), ("mean", "zeros"), ("variance", "ones")):
                req = "null" if name in ("mean", "variance") else "write"
                setattr(self, name, gluon.Parameter(name, shape=(2,), init=value, grad_req=req))

        def forward(self, x):
            return npx.batch_norm(x, self.gamma.data(), self.beta.data(), self.mean.data(), self.variance.data())

    net = Norm()
    net.initialize()
    net.hybridize()
    x = np.array([[0.0, 2.0], [2.0, 6.0]])
    for _ in range(2):
        with autograd.record():
            net(x)
    onp.testing.assert_allclose(net.mean.data().asnumpy(), [0.19, 0.76], rtol=1e-5)


def test_ctc_loss_as_mxnet():
    data = np.array(onp.random.RandomState(0).rand(4, 2, 3))
    first = npx.ctc_loss(data, np.array([[1, 2], [2, 0]]))
    onp.testing.assert_allclose(first.asnumpy(), [1.7444434, 1.8442408], rtol=1e-4)
    last = npx.ctc_loss(data, np.array([[0, 1], [1, -1]]), blank_label="last")
    onp.testing.assert_allclose(last.asnumpy(), [1.6965065, 1.9475541], rtol=1e-4)
    lengths = {"use_data_lengths": True, "use_label_lengths": True}
    short = npx.ctc_loss(data, np.array([[1, 2], [2, 1]]), np.array([3, 4]), np.array([2, 1]), **lengths)
    onp.testing.assert_allclose(short.asnumpy(), [1.941178, 1.8442408], rtol=1e-4)
    with pytest.raises(ValueError, match="must be 'first' or 'last'"):
        npx.ctc_loss(data, np.array([[1, 2], [2, 0]]), blank_label="middle")


def test_dropout_heeds_the_mode():
    x = ones(1000)
    assert npx.dropout(x, 0.5).tolist() == x.tolist()
    with autograd.train_mode():
        dropped = npx.dropout(x, 0.5).asnumpy()
    assert set(onp.unique(dropped)) == {0.0, 2.0}
    assert 350 < (dropped == 0).sum() < 650
    assert set(onp.unique(npx.dropout(x, 0.5, mode="always").asnumpy())) == {0.0, 2.0}
    assert npx.dropout(x, p=0.5, axes=None, cudnn_off=True).shape == (1000,)


def test_values_are_read_where_they_must_be():
    assert npx.nonzero(np.array([[0, 1.0], [2, 0]])).tolist() == [[0, 1], [1, 0]]
    assert npx.constraint_check(np.array([1.0]) > 0, "positive").item() is True
    with pytest.raises(ValueError, match="must be positive"):
        npx.constraint_check(np.array([-1.0]) > 0, "must be positive")
    assert npx.broadcast_greater(np.array([1.0, 3.0]), 2.0).tolist() == [0.0, 1.0]


@pytest.mark.parametrize("dtype", ["float32", "float16", "float64", "int8", "uint8", "int32", "int64"])
def test_broadcast_greater_keeps_the_dtype(dtype):
    """As MXNet's operator of old, which programs multiply arrays by."""
    x, y = np.array([[1, 3]], dtype=dtype), np.array([[2], [0]], dtype=dtype)
    found, out = npx.broadcast_greater(x, y), np.zeros((2, 2), dtype=dtype)
    assert str(found.dtype) == dtype and found.tolist() == [[0, 1], [1, 1]]
    assert npx.broadcast_greater(x, y, out=out) is out and out.tolist() == found.tolist()


def test_files(tmp_path):
    x = np.array([1.0, 2.0])
    npx.save(tmp_path / "a.npy", x)
    assert npx.load(tmp_path / "a.npy").tolist() == [1, 2]
    npx.savez(tmp_path / "b.npz", x, y=np.array([3], dtype="int32"))
    found = npx.load(tmp_path / "b.npz")
    assert found["arr_0"].tolist() == [1, 2]
    assert found["y"].dtype == onp.int32
    npx.save(tmp_path / "c", {"q": x})
    assert npx.load(tmp_path / "c")["q"].tolist() == [1, 2]
    npx.save(tmp_path / "d", [x, x])
    x1, x2 = npx.load(tmp_path / "d")
    assert x1.tolist() == x2.tolist() == [1, 2]
    assert sorted(onp.load(tmp_path / "d")) == ["arr_0", "arr_1"]
    npx.save(tmp_path / "d", [x])
    (x1,) = npx.load(tmp_path / "d")
    assert x1.tolist() == [1, 2] and nd.load(tmp_path / "d")[0].shape == (2,)
    with pytest.raises(TypeError, match="an ndarray, or a list or dict of them, was expected, got int"):
        npx.save(tmp_path / "e", 3)
    with pytest.raises(ValueError, match="'arr_0' is that of an array given without a name"):
        npx.savez(tmp_path / "f", x, arr_0=x)


def test_other_libraries():
    x = np.array([1.0, 2.0])
    assert npx.from_numpy(onp.arange(3, dtype="int32")).dtype == onp.int32
    assert npx.from_dlpack(npx.to_dlpack_for_read(x)).tolist() == [1, 2]
    assert npx.from_dlpack(npx.to_dlpack_for_write(x)).tolist() == [1, 2]


def test_default_ctx_of_ported_code():
    def run():
        assert npx.Device.default_ctx == npx.current_device()
        with npx.cpu(1):
            assert npx.Device.default_ctx == npx.cpu(1)
        npx.Device.default_ctx = npx.cpu(2)
        assert npx.current_device() == npx.Device.default_ctx == ones(2).device == npx.cpu(2)

    contextvars.copy_context().run(run)
    assert npx.Device.default_ctx == npx.current_device() == npx.cpu(0)


def test_machine_and_mode():
    assert npx.cpu() == npx.Device("cpu", 0)
    assert npx.current_device() == npx.current_context()
    assert npx.num_gpus() >= 0
    npx.set_np()
    npx.reset_np()
    assert npx.is_np_array() and npx.is_np_shape()
    assert not npx.is_np_default_dtype()
    with autograd.record():
        assert (ones(2) + 1).tolist() == [2, 2]
    npx.set_np(dtype=True)  # which needs no switch, and so may come at any time
    assert npx.is_np_default_dtype() and np.ones(2).dtype == "float64"
    npx.reset_np()
    assert not npx.is_np_default_dtype()
    npx.waitall()


def test_random_forms():
    rand = npx.random
    npx.seed(5)
    first = rand.bernoulli(0.5, size=(8,)).tolist()
    rand.seed(5)
    assert rand.bernoulli(0.5, size=(8,)).tolist() == first
    assert set(first) <= {0.0, 1.0}
    assert rand.bernoulli(logit=np.array([-50.0, 50.0])).tolist() == [0, 1]
    with pytest.raises(ValueError, match="give prob or logit, and not both"):
        rand.bernoulli()
    assert rand.normal_n(np.zeros(2), np.ones(2), batch_shape=(3,)).shape == (3, 2)
    assert rand.uniform_n(0.0, 1.0, batch_shape=(3,)).shape == (3,)
    assert rand.categorical(np.array([[0.0, 1.0]]), shape=(3,)).tolist() == [[1, 1, 1]]
    drawn, chance = rand.categorical(np.array([[0.0, 1.0]]), get_prob=True)
    assert (drawn.item(), round(chance.item(), 5)) == (1, 0)
    counts = rand.multinomial(np.array([10, 4]), np.array([[0.1, 0.9], [1.0, 0.0]]), shape=(3,))
    assert counts.shape == (2, 3, 2)
    assert counts.sum(axis=-1).tolist() == [[10] * 3, [4] * 3]
    assert npx.tensor_poisson(np.array([1.0, 2.0]), shape=(3,)).shape == (2, 3)
    assert npx.scalar_poisson(3.0, shape=(2,)).shape == (2,)


def test_gradients_flow_through():
    x = np.array([[1.0, 2.0, 3.0]])
    x.attach_grad()
    with autograd.record():
        loss = npx.pick(npx.log_softmax(x), np.array([2])).sum()
    loss.backward()
    want = -onp.exp(x.asnumpy()) / onp.exp(x.asnumpy()).sum()
    want[0, 2] += 1
    onp.testing.assert_allclose(x.grad.asnumpy(), want, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("name", ["softmax", "log_softmax", "softmin"])
def test_a_number_has_the_softmax_of_one_element(name):
    fn = getattr(npx, name)
    x = np.array(3.0)
    x.attach_grad()
    with autograd.record():
        y = fn(x, axis=0)
    y.backward()
    assert (y.shape, y.item(), x.grad.item()) == ((), float(name != "log_softmax"), 0)
    assert fn(x).item() == y.item()
    with pytest.raises(ValueError, match=f"{name}: axis 1 does not exist"):
        fn(x, axis=1)


class Consumer:
    """Another library's array on the memory of a capsule, as one that takes nothing else than capsules makes it."""

    def __init__(self, capsule):
        assert type(capsule).__name__ == "PyCapsule" and '"dltensor"' in repr(capsule)
        self.capsule = capsule
        self.held = onp.from_dlpack(self)
        memory = (ctypes.c_char * self.held.nbytes).from_address(self.held.ctypes.data)
        self.array = onp.frombuffer(memory, self.held.dtype).reshape(self.held.shape)  # NumPy's own is for reading

    def __dlpack__(self, **_):
        return self.capsule

    def __dlpack_device__(self):
        return (1, 0)


@pytest.mark.parametrize("module", [np, nd])
def test_others_write_through_dlpack(module):
    x = module.array([[1.0, 2.0], [3.0, 4.0]])
    assert Consumer(x.to_dlpack_for_read()).array.tolist() == [[1.0, 2.0], [3.0, 4.0]]
    kind, there = type(x).__name__, Consumer(x.to_dlpack_for_write())
    row = x[0]
    there.array[:] = 7
    assert x.asnumpy().tolist() == [[7.0, 7.0]] * 2 and (x + 1).asnumpy().max() == 8 and row.asnumpy()[0] == 7
    there.array[0, 0] = 1
    assert x.asnumpy()[0, 0] == row.asnumpy()[0] == 1 and type(x).__name__ == kind
    x[:] = 3
    x += 1
    assert there.array.tolist() == [[4.0, 4.0]] * 2 == Consumer(x.to_dlpack_for_write()).array.tolist()
    x.attach_grad()
    for _ in range(2):
        with autograd.record():
            y = (x * x).sum() + row.sum()
        y.backward()
        assert x.grad.asnumpy().tolist() == (2 * there.array + [[1.0], [0.0]]).tolist()
        there.array += 1
    with pytest.raises(ValueError, match="takes a whole array that autograd has not recorded"):
        row.to_dlpack_for_write()
    assert pickle.loads(pickle.dumps(x)).asnumpy().tolist() == there.array.tolist() == x.copy().asnumpy().tolist()


@pytest.mark.parametrize("module", [np, nd])
@pytest.mark.parametrize("dtype", ["float32", "int32", "float64"])
def test_an_array_of_a_capsule_for_writing_shares_its_memory(module, dtype):
    x = module.array([[1, 2], [3, 4]], dtype=dtype)
    y = (nd if module is nd else npx).from_dlpack(x.to_dlpack_for_write())
    assert type(y) is type(x) and y.dtype == x.dtype and y.asnumpy().tolist() == [[1, 2], [3, 4]]
    y[0, 0] = 9
    y += 1
    x[1] = 7
    assert x.asnumpy().tolist() == y.asnumpy().tolist() == [[10, 3], [7, 7]]
    z = npx.from_dlpack(y.to_dlpack_for_write())
    z[:] = 0
    assert x.asnumpy().tolist() == y.asnumpy().tolist() == [[0, 0], [0, 0]]
    del x, y
    assert z.asnumpy().tolist() == [[0, 0], [0, 0]]
    other = npx.from_dlpack(npx.to_dlpack_for_read(module.array([1, 2], dtype=dtype)))
    assert other.asnumpy().tolist() == [1, 2]


def test_a_capsule_of_a_part_of_lent_memory_is_read_as_it_is():
    """Another library may turn or cut what it was lent."""
    x = np.array([[1.0, 2.0], [3.0, 4.0]])
    capsule = x.to_dlpack_for_write()
    (memory,) = [lent.array for lent in handle._Memory.at.values() if lent.array.tolist() == x.tolist()]
    assert npx.from_dlpack(memory.T.__dlpack__()).tolist() == [[1, 3], [2, 4]]
    assert npx.from_dlpack(memory[:1].__dlpack__()).tolist() == [[1, 2]]
    assert npx.from_dlpack(capsule).tolist() == x.tolist()


def test_a_function_of_another_library_by_capsules():
    """As DGL calls its kernels."""

    class Triple(autograd.Function):
        def forward(self, x):
            out = nd.empty(x.shape)
            onp.multiply(Consumer(x.to_dlpack_for_read()).array, 3, out=Consumer(out.to_dlpack_for_write()).array)
            return out

        def backward(self, dy):
            return self.forward(dy)

    x = nd.array([1.0, 2.0])
    x.attach_grad()
    with autograd.record():
        y = Triple()(x * 2) * nd.array([1.0, 10.0])
    y.backward()
    assert y.asnumpy().tolist() == [6.0, 120.0] and x.grad.asnumpy().tolist() == [6.0, 60.0]
