"""``mx.test_utils``: tolerances and decisions as MXNet's (tests/oracle/test_utils), and that every check can fail."""

import gzip
import json
import os
import struct

import numpy as onp
import pytest

import gluonx as mx
from gluonx import compat, nn
from gluonx import symbol as sym
from gluonx.compat import nd
from gluonx.compat import test_utils as t
from lib import TESTS
from lib.golden import load_cases

cases = load_cases("test_utils")
GOLDEN = json.loads((TESTS / "oracle" / "test_utils" / "golden.json").read_text())


def test_every_name_is_there():
    compat.install_as_mxnet()
    try:
        import mxnet

        from gluonx.compat.alias.absent import Absent
        from gluonx.compat.alias.where import known_names

        absent = [n for n in known_names()["mxnet.test_utils"] if isinstance(getattr(mxnet.test_utils, n), Absent)]
    finally:
        compat.uninstall()
    assert absent == ["get_rtc_compile_opts"]


def test_tolerances():
    found = cases.tolerances(t)
    for name in ("default_rtols", "default_atols", "default_numeric_eps"):
        theirs = GOLDEN["tolerances"][name]
        assert {key: found[name][key] for key in theirs} == theirs
    for name in ("got", "tols", "numbers"):
        assert found[name] == GOLDEN["tolerances"][name]


def test_comparisons():
    found = cases.comparisons(t, lambda x: nd.array(x, dtype=x.dtype))
    assert {key: value for key, value in found.items() if value != GOLDEN["comparisons"][key]} == {}
    assert {False, True} <= {value[0] for value in found.values() if isinstance(value, list)}


def test_helpers():
    assert cases.helpers(t) == GOLDEN["helpers"]


@pytest.mark.dear
def test_checks_of_symbols():
    found = cases.symbols(t, sym)
    passed = {name: value is None for name, value in found.items()}
    assert passed == {name: value is None for name, value in GOLDEN["symbols"].items()} == cases.SYMBOLS_PASS
    assert found["wrong gradient"] == found["wrong forward"] == found["wrong backward"] == "AssertionError"


def test_messages():
    with pytest.raises(AssertionError) as raised:
        t.assert_almost_equal(onp.float32([1, 2, 3]), onp.float32([1, 2.5, 3.1]), names=("mine", "theirs"))
    text = str(raised.value)
    assert "mine and theirs differ in 2 of 3 elements by more than rtol=0.0001 and atol=0.001" in text
    assert "at (1,) mine is" in text and text.count("\n") == 2
    place, worst = t.find_max_violation(onp.float32([1, 2, 3]), onp.float32([1, 2.5, 3.1]))
    assert place == (1,) and 300 < worst < 500
    with pytest.raises(ValueError, match=r"grad_nodes: the symbol has no arguments \['z'\], it has \['x'\]"):
        t.check_numeric_gradient(sym.var("x") * 2, [onp.ones(2)], grad_nodes=["z"])
    assert "a=2.00000000, b=2.50000000" in t.locationError(onp.float32([1, 2]), onp.float32([1, 2.5]), (1,), ("a", "b"))


def test_integers_do_not_wrap():
    for one, other in ((onp.uint8([0]), onp.uint8([255])), (onp.int64([2**62]), onp.int64([2**62 + 1]))):
        t.assert_almost_equal(one, one)
        with pytest.raises(AssertionError):
            t.assert_almost_equal(one, other)


@pytest.mark.dear
def test_check_consistency():
    x = sym.Variable("x")
    settings = [
        {"ctx": mx.cpu(), "x": (2, 3), "type_dict": {"x": dtype}} for dtype in (onp.float32, onp.float16, onp.float32)
    ]
    truth = t.check_consistency(sym.exp(x), settings, scale=0.5)
    assert set(truth) == {"x", sym.exp(x, name="exp0").list_outputs()[0]} or len(truth) == 2
    with pytest.raises(AssertionError, match="of setting"):
        t.check_consistency(sym.exp(x), settings, rtol=0, atol=0)
    named = [sym.exp(x, name="f"), sym.exp(x, name="f"), sym.exp(1.5 * x, name="f")]
    with pytest.raises(AssertionError, match="of setting 2"):
        t.check_consistency(named, settings)
    # Forward right, gradient wrong.
    wrong = [
        sym.identity(sym.exp(x), name="f"),
        sym.identity(sym.exp(x), name="f"),
        sym.BlockGrad(sym.exp(x), name="f"),
    ]
    with pytest.raises(AssertionError):
        t.check_consistency(wrong, settings)
    with pytest.raises(AssertionError, match="two or more"):
        t.check_consistency(x, settings[:1])


class Broken(nn.HybridBlock):
    def __init__(self):
        super().__init__()
        self.calls = 0

    def forward(self, x):
        return x * (2 if mx.deferred.values.core.current_state().trace is None else 3)


@pytest.mark.dear
def test_hybridize_consistency():
    def net():
        made = nn.HybridSequential()
        made.add(nn.Dense(4, activation="tanh"), nn.Dense(2))
        return made

    t.check_gluon_hybridize_consistency(net, [mx.np.ones((3, 2))])
    t.check_gluon_hybridize_consistency(lambda: nn.Activation("relu"), [mx.np.ones(3)], lambda x: onp.maximum(x, 0))
    with pytest.raises(AssertionError):
        t.check_gluon_hybridize_consistency(lambda: nn.Activation("relu"), [mx.np.ones(3)], lambda x: x + 1)
    with pytest.raises(AssertionError):
        t.check_gluon_hybridize_consistency(Broken, [mx.np.ones(3)])


def test_optimizers():
    make = mx.optimizer.create
    t.compare_optimizer(make("sgd", momentum=0.9), make("sgd", momentum=0.9), [(3, 2), (4,)], "float32")
    with pytest.raises(AssertionError):
        t.compare_optimizer(make("sgd", learning_rate=0.1), make("sgd", learning_rate=0.2), (3, 2), "float32")
    t.compare_optimizer_noise_seeded(make("sgld"), make("sgld"), [(3, 2)], "float32", 7)
    with pytest.raises(AssertionError):
        t.compare_optimizer(make("sgld"), make("sgld"), [(3, 2)], "float32")
    with pytest.raises(AssertionError, match="structures differ"):
        t.compare_ndarray_tuple((onp.ones(2),), (onp.ones(2), onp.ones(2)))


def test_generators(rng):
    pytest.importorskip("scipy")
    from scipy import stats

    buckets, probs = t.gen_buckets_probs_with_ppf(stats.norm.ppf, 5)
    good = lambda n: rng.normal(size=n)  # noqa: E731
    assert min(t.verify_generator(good, buckets, probs, nsamples=20000, nrepeat=3)) >= 0
    assert t.mean_check(good, 0, 1, 20000) in (True, False) and not t.mean_check(good, 0.1, 1, 20000)
    assert not t.var_check(lambda n: rng.normal(0, 1.2, n), 1, 20000)
    with pytest.raises(AssertionError, match="the generator fails"):
        t.verify_generator(lambda n: rng.normal(0.2, 1, n), buckets, probs, nsamples=20000, nrepeat=3)
    dice = lambda n: rng.integers(0, 3, n)  # noqa: E731
    t.verify_generator(dice, [0, 1, 2], [1 / 3] * 3, nsamples=9000)
    assert t.chi_square_check(dice, [0, 1], [0.5, 0.5], 9000)[0] == 0, "a value that is in no bucket"


def test_the_same_array():
    x = mx.np.ones((2, 2))
    assert t.same_array(x, x) and t.same_array(x, x.as_nd_ndarray()) and not t.same_array(x, x.copy())
    assert x.tolist() == [[1, 1], [1, 1]]


def test_environment_and_devices(monkeypatch):
    monkeypatch.setenv("GLUONX_TEST_A", "old")
    with t.environment("GLUONX_TEST_A", "new"):
        assert os.environ["GLUONX_TEST_A"] == "new"
    with t.environment({"GLUONX_TEST_A": None, "GLUONX_TEST_B": 3}):
        assert "GLUONX_TEST_A" not in os.environ and os.environ["GLUONX_TEST_B"] == "3"
    assert os.environ["GLUONX_TEST_A"] == "old" and "GLUONX_TEST_B" not in os.environ
    with pytest.raises(ValueError, match="a name and a value"):
        t.environment("A").__enter__()
    assert t.default_device() == mx.current_device() and list(t.list_gpus()) == list(range(mx.num_gpus()))
    with mx.cpu(0):
        t.set_default_device(mx.cpu(1))
        assert mx.current_device() == mx.cpu(1) == t.default_context()


def test_discard_stderr(capfd):
    with t.discard_stderr():
        os.write(2, b"hidden")
    os.write(2, b"seen")
    assert capfd.readouterr().err == "seen"


def test_random_things():
    assert t.rand_ndarray((2, 3)).shape == (2, 3) and abs(t.rand_ndarray((50, 50)).asnumpy()).max() <= 1
    assert all(1 <= n <= 4 for n in t.rand_shape_nd(20, 4)) and len(t.rand_shape_3d()) == 3
    a = t.new_matrix_with_real_eigvals_nd((2, 4, 4))
    assert a.shape == (2, 4, 4) and abs(onp.linalg.eigvals(a).imag).max() < 1e-6
    s = t.new_sym_matrix_with_real_eigvals_nd((3, 3, 3))
    onp.testing.assert_allclose(s, s.transpose(0, 2, 1), atol=1e-12)
    q = t.new_orthonormal_matrix_2d(4)
    onp.testing.assert_allclose(q @ q.T, onp.eye(4), atol=1e-12)
    assert t.create_2d_tensor(3, 2).asnumpy().tolist() == [[0, 0], [1, 1], [2, 2]]
    assert t.create_vector(3).asnumpy().tolist() == [0, 1, 2]
    assert sorted(t.random_sample([1, 2, 3], 3)) == [1, 2, 3] and t.random_arrays((2,)).dtype == onp.float32
    assert t.assign_each(onp.float32([1, 2]), lambda x: x + 1).tolist() == [2, 3]
    assert t.assign_each2(onp.float32([1, 2]), onp.float32([3, 4]), lambda x, y: x * y).tolist() == [3, 8]
    with pytest.raises(TypeError):
        t.random_uniform_arrays((2,), lower=1)


@pytest.mark.parametrize("stype", ["csr", "row_sparse"])
@pytest.mark.parametrize("density", [0.0, 0.3, 0.8, 1.0])
def test_share_of_random_sparse_arrays(stype, density):
    found = (t.rand_ndarray((60, 50), stype, density=density).asnumpy() != 0).mean()
    assert found == pytest.approx(density, abs=1e-3 if stype == "csr" else 0.25)


def test_random_sparse_arrays_take_the_memory_of_their_elements():
    """As dense arrays of NumPy these would take 80 GB each."""
    matrix = t.rand_ndarray((1000, 10**7), "csr", density=1e-7)
    assert matrix.shape == (1000, 10**7) and matrix.data.shape == (1000,)
    rows = t.create_sparse_array((10**7, 1000), "row_sparse", data_init=2.0, rsp_indices=[7, 5])
    assert rows.indices.asnumpy().tolist() == [5, 7] and rows.data.asnumpy().sum() == 4000


def test_structure_of_symbols():
    a, b = sym.Variable("a"), sym.Variable("b")
    assert t.same_symbol_structure(a + b, sym.Variable("c") + sym.Variable("d"))
    assert not t.same_symbol_structure(a + b, a * b)
    assert t.check_speed(sym.exp(a), a=(2, 2), N=2) > 0
    assert t.simple_forward(sym.exp(a), a=onp.zeros(2)).tolist() == [1, 1]


def test_retry():
    turns = []

    @t.retry(3)
    def flaky():
        turns.append(1)
        assert len(turns) == 3

    flaky()
    with pytest.raises(AssertionError):
        t.retry(2)(lambda: t.assert_almost_equal(1, 2))()


def idx(array):
    return struct.pack(">BBBB", 0, 0, 8, array.ndim) + struct.pack(f">{array.ndim}I", *array.shape) + array.tobytes()


def test_mnist(tmp_path, rng):
    images, labels = rng.integers(0, 256, (6, 28, 28), "uint8"), rng.integers(0, 10, 6, "uint8")
    for name in ("train-images-idx3-ubyte", "t10k-images-idx3-ubyte"):
        (tmp_path / f"{name}.gz").write_bytes(gzip.compress(idx(images)))
    for name in ("train-labels-idx1-ubyte", "t10k-labels-idx1-ubyte"):
        (tmp_path / f"{name}.gz").write_bytes(gzip.compress(idx(labels)))
    found = t.get_mnist(str(tmp_path))
    assert found["train_data"].shape == (6, 1, 28, 28) and found["test_label"].tolist() == labels.tolist()
    assert (found["test_data"] == images[:, None].astype("float32") / 255).all()
    train, test = t.get_mnist_iterator(2, (784,), num_parts=3, part_index=1, path=str(tmp_path))
    assert [b.data[0].shape for b in train] == [(2, 784)] and len(list(test)) == 3
    again = t.DummyIter(test.reset() or test)
    assert again.next() is again.next()
    (tmp_path / "train-images-idx3-ubyte").write_bytes(idx(images)[:-1])
    with pytest.raises(mx.errors.FormatError, match="IDX"):
        t.get_mnist(str(tmp_path))


def test_sparse_arrays_say_what_is_wrong():
    with pytest.raises(ValueError, match="density must be between"):
        t.rand_ndarray((2, 2), "csr", density=2)
    with pytest.raises(ValueError, match="stype must be"):
        t.rand_ndarray((2, 2), "sparse")
    with pytest.raises(ValueError, match="powerlaw"):
        t.rand_sparse_ndarray((4, 2), "csr", density=0.1, distribution="powerlaw")
