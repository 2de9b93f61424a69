"""Names that surround a training loop: switches of semantics, older random draws, callbacks, features, wrappers."""

import logging
import subprocess
import sys

import numpy as onp
import pytest

import gluonx as mx
from gluonx import np, npx, optimizer
from gluonx.compat import callback, runtime, util
from gluonx.compat.callback import BatchEndParam
from gluonx.errors import DeviceError

# -- switches ---------------------------------------------------------------------------------------------------------

_WIDE = """
from gluonx import np, npx, util
import numpy as onp
npx.set_np(dtype=True)
assert npx.is_np_default_dtype() and not util.is_x64()
made = [np.array([1, 2]), np.ones(2), np.zeros((2,)), np.full((2,), 1.0), np.eye(2), np.linspace(0, 1, 3),
        np.hanning(3), np.random.uniform(size=(2,)), np.random.gamma(1.0, size=(2,)), np.arange(3.0),
        np.array(onp.ones(2))]
assert all(x.dtype == onp.float64 for x in made), [x.dtype for x in made]
assert np.arange(3).dtype == np.array(onp.arange(3)).dtype == onp.int64
assert npx.one_hot(np.array([0]), 3).dtype == onp.float32
with util.np_default_dtype(False):
    assert np.ones(2).dtype == onp.float32
    @util.use_np_default_dtype
    class Both:
        def made(self):
            return np.ones(2)
    assert Both().made().dtype == onp.float64
    assert util.use_np_default_dtype(lambda: np.ones(2))().dtype == onp.float64
    assert np.ones(2).dtype == onp.float32
assert np.ones(2).dtype == onp.float64
npx.reset_np()
assert np.ones(2).dtype == onp.float32 and np.full((2,), 1.0).dtype == onp.float32
"""


@pytest.mark.dear
def test_numpys_default_dtypes():
    done = subprocess.run([sys.executable, "-c", _WIDE], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_switches_that_are_on_already():
    assert mx.is_np_shape() and mx.is_np_array() and mx.set_np_shape(False) is True
    assert not mx.is_np_default_dtype() and npx.set_np_default_dtype(False) is False
    with mx.np_shape(False), mx.np_array():
        assert mx.is_np_shape()

    @mx.use_np
    @mx.use_np_array
    @mx.use_np_shape
    def same(x):
        return x

    assert same(3) == 3
    with pytest.raises(ValueError, match="shape=False goes with array=False"):
        npx.set_np(shape=False)
    with pytest.raises(TypeError, match="decorates functions and classes, not int"):
        util.use_np_default_dtype(3)


# -- random draws by their older names --------------------------------------------------------------------------------

SCALARS = {
    "uniform": ((1.0, 3.0), 2.0, 1 / 3), "normal": ((1.0, 2.0), 1.0, 4.0), "gamma": ((3.0, 0.5), 1.5, 0.75),
    "exponential": ((2.0,), 2.0, 4.0), "poisson": ((2.0,), 2.0, 2.0), "binomial": ((5, 0.4), 2.0, 1.2),
    "negative_binomial": ((3, 0.4), 4.5, 11.25), "generalized_negative_binomial": ((3.0, 0.5), 3.0, 7.5),
}  # fmt: skip


SLOW = ("gamma", "poisson", "binomial", "negative_binomial", "generalized_negative_binomial")  # to compile


@pytest.mark.parametrize("name", [pytest.param(n, marks=[pytest.mark.slow] * (n in SLOW)) for n in SCALARS])
def test_draws_of_numbers_and_of_arrays(name):
    parameters, mean, variance = SCALARS[name]
    draw = getattr(mx.random, name)
    mx.random.seed(5)
    x = draw(*parameters, (40000,)).asnumpy()
    assert x.dtype == onp.float32
    assert x.mean() == pytest.approx(mean, abs=6 * (variance / 40000) ** 0.5)
    assert x.var() == pytest.approx(variance, rel=0.1)
    assert draw(*parameters).shape == (1,) and draw(*parameters, shape=3).shape == (3,)
    many = draw(*[np.array([p, p]) for p in parameters], 20000).asnumpy()
    assert many.shape == (2, 20000)
    assert many.mean(axis=1) == pytest.approx([mean, mean], abs=6 * (variance / 20000) ** 0.5)
    assert draw(*[np.array([p, p]) for p in parameters]).shape == (2,)
    out = np.zeros((2, 2))
    assert draw(*parameters, out=out) is out and out.asnumpy().any()


def test_other_draws():
    assert mx.random.randn(2, 3, loc=1.0).shape == (2, 3) and mx.random.randn().shape == ()
    x = mx.random.randint(2, 5, (100,))
    assert x.dtype == onp.int32 and set(x.tolist()) == {2, 3, 4}
    assert sorted(mx.random.shuffle(np.arange(5)).tolist()) == [0, 1, 2, 3, 4]
    p = np.array([[0.5, 0.5], [0.0, 1.0]])
    index, logarithm = mx.random.categorical(p, (3,), get_prob=True)
    assert index.shape == logarithm.shape == (2, 3) and index[1].tolist() == [1, 1, 1]
    assert mx.random.categorical(p[1]).tolist() == [1]
    counts = mx.random.multinomial(np.array([4]), np.array([[0.5, 0.5]]), (2,))
    assert counts.shape == (1, 2, 2) and counts.sum(axis=-1).tolist() == [[4, 4]]


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: mx.random.uniform(np.zeros(2), 1.0), TypeError, "arrays for all of its parameters, or for none"),
        (lambda: mx.random.normal(np.zeros(2), np.ones(3)), ValueError, r"one shape, got loc: \(2,\), scale: \(3,\)"),
        (lambda: mx.random.uniform(hig=2), TypeError, "'hig'; did you mean 'high'"),
        (lambda: mx.random.bogus, AttributeError, "gluonx.random has no function 'bogus'"),
        (lambda: npx.random.normal_n(batch_shap=1), TypeError, "unexpected keyword argument 'batch_shap'"),
    ],
)
def test_bad_draws(call, error, words):
    with pytest.raises(error, match=words):
        call()


# -- callbacks --------------------------------------------------------------------------------------------------------


@pytest.fixture
def metric():
    found = mx.metric.create("acc")
    found.update([np.array([0, 1])], [np.array([[0.9, 0.1], [0.8, 0.2]])])
    return found


def test_speedometer(metric, caplog):
    caplog.set_level(logging.INFO)
    lap = callback.Speedometer(batch_size=4, frequent=2)
    for batch in range(5):
        lap(BatchEndParam(1, batch, metric))
    first, second = caplog.messages
    assert first.startswith("Epoch[1] Batch [0-2]\tSpeed: ") and first.endswith("samples/sec\taccuracy=0.500000")
    assert second.endswith("accuracy=nan")  # started anew after the first line
    caplog.clear()
    lap(BatchEndParam(2, 0, metric))  # another epoch: the clock starts again
    lap(BatchEndParam(2, 2))
    assert caplog.messages[0].startswith("Iter[2] Batch [2]\tSpeed: ")
    keeps = callback.Speedometer(4, 1, auto_reset=False)
    keeps(BatchEndParam(0, 0))
    keeps(BatchEndParam(0, 3, metric))
    assert "Batch [0-3]" in caplog.messages[-1]


def test_logs_of_metrics(metric, caplog):
    caplog.set_level(logging.INFO)
    log = callback.log_train_metric(2, auto_reset=True)
    log(BatchEndParam(0, 1, metric))
    log(BatchEndParam(0, 2, metric))
    callback.LogValidationMetricsCallback()(BatchEndParam(3, 0, metric))
    assert caplog.messages == ["Iter[0] Batch[2] Train-accuracy=0.500000", "Epoch[3] Validation-accuracy=nan"]


def test_checkpoints(tmp_path):
    save = callback.do_checkpoint(str(tmp_path / "net"), period=2)
    for epoch in range(4):
        save(epoch, None, {"w": np.ones(2)}, {"mean": np.zeros(2)})
    assert sorted(p.name for p in tmp_path.iterdir()) == ["net-0002.params", "net-0004.params"]
    assert sorted(npx.load(tmp_path / "net-0004.params")) == ["arg:w", "aux:mean"]


# -- the rest ---------------------------------------------------------------------------------------------------------


def test_features():
    features = runtime.Features()
    assert features.is_enabled("xla") and "CUDA" in features and repr(features["XLA"]) == "✔ XLA"
    assert features.is_enabled("CUDA") == (mx.num_gpus() > 0)
    with pytest.raises(RuntimeError, match="'BOGUS' is unknown; known are CUDA"):
        features.is_enabled("BOGUS")
    assert isinstance(runtime.get_branch(), str) and runtime.get_commit_hash() == ""


def test_wrappers():
    unary = util.wrap_np_unary_func(lambda x, out=None: (x, out))
    assert unary(1, where=True, dtype="float32") == (1, None)
    with pytest.raises(NotImplementedError, match="where=False is not supported"):
        unary(1, where=False)
    with pytest.raises(TypeError, match="unexpected keyword argument 'whre'; did you mean 'where'"):
        unary(1, whre=True)
    legal = {"dtype": [None, "float32"], "order": ["C"], "subok": [True], "casting": ["safe"]}
    assert all(util.np_ufunc_legal_option(key, value) for key, values in legal.items() for value in values)
    assert not any(util.np_ufunc_legal_option(*pair) for pair in (("dtype", "bogus"), ("order", "Q"), ("bogus", 1)))
    sort = util.wrap_sort_functions(lambda a, axis=-1, descending=False, stable=True: axis)
    assert sort([1], kind="quicksort", axis=0) == 0
    with pytest.raises(NotImplementedError, match="no fields"):
        sort([1], order="x")
    rank = util.wrap_data_api_linalg_func(lambda a, rtol=None, upper=False: (rtol, upper))
    assert rank(1, rcond=0.1, UPLO="U") == (0.1, True)
    assert util.dtype_from_number(1) is onp.int64 and util.dtype_from_number(1.0) is onp.float32
    with pytest.raises(TypeError, match="a number was expected, got str"):
        util.dtype_from_number("1")


def test_machine():
    if mx.num_gpus() == 0:
        for ask in (mx.device.gpu_memory_info, mx.context.gpu_memory_info, util.get_gpu_memory):
            with pytest.raises(DeviceError, match="has 0 device"):
                ask(0)
    assert util.set_flush_denorms(True) is False and util.get_max_supported_compute_capability() == 0


def test_optimizer_for_tests_and_states_on_devices():
    opt = optimizer.Test(learning_rate=0.1, wd=0.5, clip_gradient=1.0)
    weight, state = np.ones(2), opt.create_state(0, np.ones(2))
    opt.update([0], [weight], [np.full((2,), 3.0)], [state])
    assert weight.tolist() == pytest.approx([0.65, 0.65]) and state.tolist() == [0, 0]
    updater = optimizer.get_updater(opt)
    moved = updater.sync_state_context((state, None), mx.cpu())
    assert moved[1] is None and moved[0].tolist() == [0, 0]


def test_array_methods_that_write():
    x = np.arange(6).reshape(2, 3)
    assert x.slice_assign(np.full((1, 2), 9.0), (0, 0), (1, 4), (1, 2)) is x
    assert x.tolist() == [[9, 1, 9], [3, 4, 5]]
    assert x.slice_assign_scalar(7.0, (1,), (2,), ()).tolist() == [[9, 1, 9], [7, 7, 7]]
    assert np.from_dlpack(x.to_dlpack_for_read()).tolist() == x.tolist()
    assert str(__import__("inspect").signature(np.ndarray.sum)).startswith("(self, axis=None, dtype=None, out=None")
