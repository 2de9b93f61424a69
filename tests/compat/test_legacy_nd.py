"""mx.nd: arrays and functions with MXNet 1's meaning, where it is not NumPy's."""

import gc
import inspect
import weakref

import jax.numpy as jnp
import numpy as onp
import pytest

from gluonx import autograd, nd, np, sym
from gluonx.block.block import HybridBlock
from gluonx.compat import operator
from gluonx.compat.nd import names
from gluonx.compat.nd.ndarray import NDArray, as_nd, as_np, use_nd_arrays, uses_nd_arrays
from gluonx.compat.operators.attrs import read_kind
from gluonx.compat.operators.shape import legacy_shape
from gluonx.compat.operators.table import TABLE, get_legacy
from gluonx.compat.symbol import table
from gluonx.errors import ShapeError
from gluonx.np.handle import ndarray
from gluonx.ops.registry import OPS

M = onp.arange(6, dtype="float32").reshape(2, 3)
# What MXNet 2.0.0b1 gave in its legacy mode (and 1.x for single elements, which are of shape (1,) there).
MEANT = [
    ("m.sum()", "float32", [15.0]),
    ("m.sum(axis=0, exclude=True)", "float32", [3.0, 12.0]),
    ("i.mean()", "int32", [2]),
    ("i + 1.5", "int32", [2, 3, 5]),
    ("i / 2", "int32", [0, 1, 2]),
    ("3 / i", "int32", [3, 1, 0]),
    ("i > 2", "int32", [0, 0, 1]),
    ("f == 2", "float32", [0.0, 1.0, 0.0]),
    ("-f % 2", "float32", [1.0, 0.0, 1.0]),
    ("m.argmax(axis=1)", "float32", [2.0, 2.0]),
    ("m.argmax(1) == nd.array([2, 1])", "float32", [1.0, 0.0]),
    ("f[1]", "float32", [2.0]),
    ("m[1, 2]", "float32", [5.0]),
    ("m[nd.array([1])]", "float32", [[3.0, 4.0, 5.0]]),
    ("m.reshape((0, -1))", "float32", M.tolist()),
    ("m.reshape(-3)", "float32", M.reshape(-1).tolist()),
    ("nd.ones((2, 1, 2)).flatten().sum(1)", "float32", [2.0, 2.0]),
    ("nd.dot(f, f)", "float32", [14.0]),
    ("nd.exp(i)", "int32", [2, 7, 54]),
    ("nd.round(nd.array([0.5, 1.5, -0.5]))", "float32", [1.0, 2.0, -1.0]),
    ("nd.rint(nd.array([0.5, 1.5, 2.5, -0.5]))", "float32", [0.0, 1.0, 2.0, -1.0]),
    ("nd.array(onp.array([1, 2]))", "float32", [1.0, 2.0]),
    ("nd.array(i)", "int32", [1, 2, 4]),
    ("nd.maximum(2, f)", "float32", [2.0, 2.0, 3.0]),
    ("nd.lesser(2, f)", "float32", [0.0, 0.0, 1.0]),
    ("nd.arange(3, repeat=2)", "float32", [0.0, 0.0, 1.0, 1.0, 2.0, 2.0]),
    ("nd.squeeze(nd.ones((1, 1)))", "float32", [1.0]),
    ("nd.slice_axis(m, 1, 0, 2)", "float32", [[0.0, 1.0], [3.0, 4.0]]),
    ("nd.softmax(nd.zeros((1, 2)), 1)", "float32", [[0.5, 0.5]]),
    ("nd.Embedding(nd.array([1]), m, 2, 3)", "float32", [[3.0, 4.0, 5.0]]),
    ("nd.contrib.arange_like(m, axis=1)", "float32", [0.0, 1.0, 2.0]),
    ("nd.linalg.gemm2(m, m, transpose_b=True)", "float32", [[5.0, 14.0], [14.0, 50.0]]),
    ("nd.full((2,), 3)", "float32", [3.0, 3.0]),
    ("nd.onehot_encode(nd.array([1]), nd.zeros((1, 2)))", "float32", [[0.0, 1.0]]),
    ("nd.histogram(f, bins=2)[0]", "float32", [1.0, 2.0]),
]


@pytest.mark.parametrize(("text", "dtype", "wanted"), MEANT, ids=[row[0] for row in MEANT])
def test_meaning(text, dtype, wanted):
    scope = {"nd": nd, "onp": onp, "m": nd.array(M), "f": nd.array([1, 2, 3]), "i": nd.array([1, 2, 4], dtype="int32")}
    found = eval(text, scope)
    assert isinstance(found, NDArray)
    assert type(found).__name__ == "NDArray"
    assert found.dtype == onp.dtype(dtype)
    assert found.asnumpy().tolist() == wanted


def test_slices_are_views_that_stay_legacy():
    m = nd.array(M)
    row = m[0]
    row[:] = 7
    assert m.asnumpy()[0].tolist() == [7, 7, 7]
    assert row.sum().shape == (1,)
    m[0:1] = nd.ones((1, 3))
    assert m.sum().asscalar() == 15
    m += 1
    assert m.mean().asscalar() == 3.5


def test_out_and_lists():
    a, b = nd.ones((2, 4)), nd.zeros((2, 4))
    assert nd.elemwise_add(a, a, out=b) is b
    assert b.sum().asscalar() == 16
    assert isinstance(nd.split(a, num_outputs=2, axis=1), list)
    assert nd.split(a, num_outputs=1, axis=1).shape == (2, 4)
    assert nd.concat(a, b, dim=0).shape == nd.Concat(a, b, num_args=2, dim=0).shape == (4, 4)


# Behind all attributes stands `out`, then `name`; tests/compat/test_legacy_ops.py has the values.
OUT_BEHIND = [
    ("exp", (2,), lambda o, x: nd.exp(x, o), onp.exp),
    ("exp, name", (2,), lambda o, x: nd.exp(x, o, "e"), onp.exp),
    ("clip", (2,), lambda o, x: nd.clip(x, 0.3, 1, o), lambda x: x.clip(0.3, 1)),
    ("elemwise_add", (2,), lambda o, x: nd.elemwise_add(x, x, o), lambda x: x + x),
    ("sum", (1,), lambda o, x: nd.sum(x, 0, False, False, o), lambda x: [x.sum()]),
    ("one_hot", (2, 3), lambda o, x: nd.one_hot(x, 3, 1, 0, "float32", o), lambda x: [[1, 0, 0]] * 2),
    ("method", (2,), lambda o, x: x.sqrt(o), onp.sqrt),
    ("sgd_update", (2,), lambda o, x: nd.sgd_update(x, x, 0.1, 0, 1, -1, True, o), lambda x: x * 0.9),
    ("cast", (2,), lambda o, x: nd.cast(x, "float32", o), lambda x: x),
]


@pytest.mark.parametrize(
    ("call", "shape", "wanted"), [r[2:3] + r[1:2] + r[3:] for r in OUT_BEHIND], ids=[r[0] for r in OUT_BEHIND]
)
def test_out_behind_the_attributes(call, shape, wanted):
    x, out = onp.array([0.25, 0.5], "float32"), nd.zeros(shape)
    assert call(out, nd.array(x)) is out
    onp.testing.assert_allclose(out.asnumpy(), wanted(x), 1e-6)


def test_out_behind_the_attributes_of_wrong_calls():
    x = nd.array([1, 5])
    assert nd.shuffle(x, x) is x and sorted(x.asnumpy().tolist()) == [1, 5]
    nd.clip(x, 0, 2, x)
    assert sorted(x.asnumpy().tolist()) == [1, 2]
    with pytest.raises(TypeError, match="1 arrays, 0 attributes, `out` and `name`, got more"):
        nd.exp(x, x, "name", 3)
    with pytest.raises(TypeError, match="got more"):
        nd.exp(x, x, out=x)
    with pytest.raises(TypeError, match="a second array is `length`"):
        nd.softmax(x, x)


def test_text_is_read_as_numbers():
    assert nd.array(["1", "2"], dtype="int32").asnumpy().tolist() == [1, 2]
    assert nd.array(["1.5", "2"]).asnumpy().tolist() == [1.5, 2] and str(np.array(["1"], dtype="int8").dtype) == "int8"
    with pytest.raises(TypeError, match="numbers were expected"):
        nd.array(["a", "2"])


def test_gradients_and_classes_meet():
    x = nd.array([1, 2, 3])
    x.attach_grad()
    with autograd.record():
        y = (x * x).sum() + np.sum(x)
    y.backward()
    assert x.grad.asnumpy().tolist() == [3, 5, 7]
    twin = as_np(x)
    assert type(twin) is ndarray
    assert isinstance(twin, nd.NDArray)
    assert twin.sum().shape == ()
    assert type(as_nd(np.ones(2))) is NDArray


def test_whole_programs_work_with_them():
    before = use_nd_arrays(True)
    try:
        assert np.ones((2, 2)).sum().shape == (1,)
        assert np.concatenate([np.ones(2), np.zeros(1)]).shape == (3,)
    finally:
        use_nd_arrays(before)
    assert not uses_nd_arrays()


def test_files(tmp_path):
    nd.save(tmp_path / "a", [nd.ones((2,)), nd.zeros((1, 3), dtype="int32")])
    one, two = nd.load(tmp_path / "a")
    assert (one.shape, two.dtype) == ((2,), onp.dtype("int32"))
    nd.save(tmp_path / "b", {"x": nd.ones((2,))})
    assert list(nd.load(tmp_path / "b")) == ["x"]
    with pytest.raises(TypeError, match="a list or dict of them, was expected, got int"):
        nd.save(tmp_path / "c", 3)


def test_random():
    nd.random.seed(3)
    one = nd.random.uniform(0, 1, (4,)).asnumpy()
    nd.random.seed(3)
    assert (nd.random.uniform(0, 1, (4,)).asnumpy() == one).all()
    assert nd.random.uniform().shape == (1,)
    assert nd.random.normal(nd.array([0, 9]), nd.array([1, 1]), shape=2).shape == (2, 2)
    assert nd.random.multinomial(nd.array([[0, 1], [1, 0]])).asnumpy().tolist() == [1, 0]
    assert nd.random.randint(0, 5, (2,)).dtype == onp.dtype("int32")
    assert nd.random.randn(2, 3).shape == (2, 3)
    drawn = nd.random.exponential(nd.array([1, 50]), shape=500).asnumpy().mean(1)
    assert abs(drawn[0] - 1) < 0.3
    assert abs(drawn[1] - 50) < 12


def test_control_flow():
    data = nd.array(M)
    outs, state = nd.contrib.foreach(lambda x, s: (x + s, x + s), data, nd.zeros((3,)))
    assert outs.asnumpy().tolist() == onp.cumsum(M, 0).tolist()
    assert type(state) is NDArray
    picked = nd.contrib.cond(nd.array([1]) > 0, lambda: data, lambda: data * 2)
    assert (picked == data).min().asscalar() == 1


# -- what is refused ---------------------------------------------------------------------------------------------------

REFUSED = [
    ("nd.concat(m, nd.ones((3, 3)), dim=1)", ShapeError, "concatenate"),
    ("nd.FullyConnected(m, nd.ones((2, 3)))", TypeError, "needs the attribute 'num_hidden'"),
    ("nd.slice_axis(m, axis='x', begin=0, end=1)", ValueError, "the attribute 'axis' is of type int"),
    ("nd.softmax(m, axes=1)", TypeError, "no attribute 'axes'; did you mean 'axis'"),
    ("nd.Activation(m, act_type='swish')", ValueError, "one of 'relu'"),
    ("nd.Convolution([1, 2], m, kernel=(1,), num_filter=1)", TypeError, "the input 'data' must be an array, got list"),
    ("nd.dot(m)", TypeError, "operator dot is missing the array 'rhs'"),
    ("nd.reshape(m, shape=(4, -1))", ShapeError, r"reshape of \(2, 3\) to \(4, -1\)"),
    ("nd.fully_connect", AttributeError, "mx.nd has no function 'fully_connect' in gluonx"),
    ("m.asscalar()", ValueError, "not a scalar"),
    ("bool(m)", ValueError, "ambiguous"),
]


@pytest.mark.parametrize(("text", "kind", "why"), REFUSED, ids=[row[0] for row in REFUSED])
def test_refused(text, kind, why):
    with pytest.raises(kind, match=why):
        eval(text, {"nd": nd, "m": nd.array(M)})


# -- attributes and the table ----------------------------------------------------------------------------------------

READ = [
    ("shape", "(3, 3)", (3, 3)),
    ("shape", "[3L,3L]", (3, 3)),
    ("shape", "(3,)", (3,)),
    ("shape", "()", ()),
    ("shape", "(None, 2)", (None, 2)),
    ("shape", 4, (4,)),
    ("bool", "False", False),
    ("bool", "1", True),
    ("bool", 0, False),
    ("int?", "None", None),
    ("float", "1e-05", 1e-5),
    ("floats", "(0.1,0.2)", (0.1, 0.2)),
    ("dtype", onp.float16, "float16"),
    ("int", onp.int64(3), 3),
]


@pytest.mark.parametrize(("kind", "text", "wanted"), READ)
def test_attributes_are_read(kind, text, wanted):
    assert read_kind(kind)(text) == wanted


@pytest.mark.parametrize(
    ("kind", "text"), [("int", "x"), ("int", 1.5), ("bool", "yes"), ("dtype", "floaty"), ("shape", "(a, b)")]
)
def test_attributes_are_refused(kind, text):
    with pytest.raises((TypeError, ValueError)):
        read_kind(kind)(text)


def test_json_strings_and_python_values_mean_the_same():
    op = get_legacy("Convolution")
    text = {"kernel": "(3, 3)", "num_filter": "8", "no_bias": "True", "workspace": "256", "__ctx__": "gpu"}
    assert op.parse(text) == op.parse({"kernel": (3, 3), "num_filter": 8, "no_bias": True, "workspace": 256})
    assert op.input_names(op.parse(text)) == ("data", "weight")


def test_every_row_names_core_operators_or_np():
    numpy_names = set(dir(np)) | set(dir(np.linalg)) | {"contrib_calibrate_entropy"}  # the last one runs on the host
    for op in set(TABLE.values()):
        for name in op.via:
            assert name in OPS or name in numpy_names, (op, name)
        assert op.via, op


def test_shapes_are_completed():
    op = get_legacy("Convolution")
    attrs = op.parse({"kernel": (3, 3), "num_filter": 8})
    assert op.infer([(1, 4, 9, 9), None, None], attrs) == [(1, 4, 9, 9), (8, 4, 3, 3), (8,)]
    assert get_legacy("elemwise_add").infer([None, (2, 3)], {}) == [(2, 3), (2, 3)]
    assert get_legacy("dot").infer([(2, 3), None], get_legacy("dot").parse({})) == [(2, 3), None]


def test_reshape_codes():
    assert legacy_shape((2, 3, 4), (-4, 1, 2, -2)) == (1, 2, 3, 4)
    assert legacy_shape((8, 3, 3), (-1, 0), reverse=True) == (24, 3)
    for bad in ((5, -1), (-1, -1), (-5,), (0, 0, 0, 0), (-4, 3, 3, -2)):
        with pytest.raises(ShapeError):
            legacy_shape((2, 3, 4), bad)


# -- operators of users ------------------------------------------------------------------------------------------------


class Softsign(operator.CustomOp):
    def forward(self, is_train, req, in_data, out_data, aux):
        x = in_data[0].asnumpy()  # NumPy, as most of these were written
        self.assign(out_data[0], req[0], nd.array(x / (1 + abs(x))))

    def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
        self.assign(in_grad[0], req[0], out_grad[0] / (1 + in_data[0].abs()) ** 2)


@operator.register("test_softsign")
class SoftsignProp(operator.CustomOpProp):
    def __init__(self, scale="1"):
        super().__init__(need_top_grad=True)
        self.scale = float(scale)

    def infer_shape(self, in_shape):
        return in_shape, [in_shape[0]], []

    def create_operator(self, ctx, shapes, dtypes):
        return Softsign()


def test_custom_operators_run_and_have_their_gradient():
    x = nd.array([1, -3, 0])
    x.attach_grad()
    with autograd.record():
        y = nd.Custom(x, op_type="test_softsign", scale=2) * nd.array([1, 2, 3])
    y.backward()
    onp.testing.assert_allclose(y.asnumpy(), [0.5, -1.5, 0])
    onp.testing.assert_allclose(x.grad.asnumpy(), [0.25, 0.125, 3])

    class Net(HybridBlock):
        def hybrid_forward(self, F, x):
            return F.Custom(F.relu(x), op_type="test_softsign") + 1

    net = Net()
    assert net(np.array([1.0, -1.0])).tolist() == [1.5, 1.0]
    net.hybridize()
    assert net(np.array([1.0, -1.0])).tolist() == [1.5, 1.0]


def test_custom_operators_are_checked():
    with pytest.raises(KeyError, match="no operator is registered as op_type='nope'"):
        nd.Custom(nd.ones(2), op_type="nope")
    with pytest.raises(ShapeError, match=r"'test_softsign' takes the arrays \['data'\], but 2 came"):
        nd.Custom(nd.ones(2), nd.ones(2), op_type="test_softsign")


PARAMETERS = {
    "uniform": 2,
    "normal": 2,
    "gamma": 2,
    "exponential": 1,
    "poisson": 1,
    "binomial": 2,
    "negative_binomial": 2,
    "generalized_negative_binomial": 2,
}


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(PARAMETERS))
def test_every_distribution_draws_in_three_ways(name):
    assert getattr(nd.random, name)(shape=(3, 2)).shape == (3, 2)
    like = getattr(nd.random, f"{name}_like")(nd.ones((2, 2)))
    assert (like.shape, like.dtype) == ((2, 2), onp.dtype("float32"))
    parameters = [nd.array([0.25, 0.5])] * PARAMETERS[name]
    drawn = getattr(nd, f"sample_{name}")(*parameters, shape=(2000,))
    assert drawn.shape == (2, 2000)
    p = 0.5
    mean = {
        "uniform": p,
        "normal": p,
        "gamma": p * p,
        "exponential": 1 / p,
        "poisson": p,
        "binomial": 0.0,
        "negative_binomial": p * (1 - p) / p,
        "generalized_negative_binomial": p,
    }[name]
    variance = {
        "uniform": 1 / 12,
        "normal": p * p,
        "gamma": p * p * p,
        "exponential": 1 / p**2,
        "poisson": p,
        "binomial": 0.0,
        "negative_binomial": p * (1 - p) / p**2,
        "generalized_negative_binomial": p + p * p * p,
    }[name]
    # Seven standard errors: with the skewness of a mean of 2000 missed by chance in less than one of 10**9 runs.
    assert abs(float(drawn.asnumpy()[1].mean()) - mean) <= 7 * (variance / 2000) ** 0.5


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "attrs"),
    [
        ("random_brightness", (0.5, 1.5)),
        ("random_contrast", (0.5, 1.5)),
        ("random_saturation", (0.5, 1.5)),
        ("random_hue", (0.5, 1.5)),
        ("random_color_jitter", (0.1, 0.1, 0.1, 0.1)),
        ("random_lighting", (0.05,)),
        ("random_flip_left_right", ()),
        ("random_flip_top_bottom", ()),
    ],
)
def test_random_images(name, attrs):
    image = nd.random.uniform(0, 255, (4, 4, 3))
    out = getattr(nd.image, name)(image, *attrs)
    assert out.shape == (4, 4, 3)
    assert onp.isfinite(out.asnumpy()).all()


@pytest.mark.parametrize(
    ("function", "told"),
    [
        (nd.FullyConnected, "data weight bias num_hidden no_bias flatten out name"),
        (nd.Concat, "data dim out name"),
        (nd.dot, "lhs rhs transpose_a transpose_b forward_stype out name"),  # one with a rule for sparse arrays
        (nd.linalg.gemm2, "A B transpose_a transpose_b alpha axis out name"),
    ],
    ids=["FullyConnected", "Concat", "dot", "gemm2"],
)
def test_a_function_tells_its_parameters(function, told):
    assert " ".join(inspect.signature(function).parameters) == told


def test_every_row_has_a_signature():
    for name, op in TABLE.items():
        params = op.signature().parameters
        assert [n for n in params if n in op.inputs] == list(op.inputs), name
        assert set(op.attrs) <= set(params), name


def test_a_reshaped_array_writes_through_after_its_origin_went_to_the_device():
    x = nd.array([1, 2, 3, 4])
    y = x.reshape((2, 2))
    jnp.asarray(x)
    y[:] = 7
    assert x.asnumpy().tolist() == [7, 7, 7, 7]


def test_transposing_a_vector_gives_the_vector_itself():
    x, y = nd.array([1.0, 2.0]), nd.ones((2, 2))
    x.T[0] = 9
    y.T[:] = 0
    assert x.T is x and x.asnumpy().tolist() == [9, 2] and y.asnumpy().tolist() == [[1, 1], [1, 1]]


def test_all_reshapes_of_an_array_show_each_write():
    x = nd.array([1, 2, 3, 4])
    a, b, part = x.reshape((2, 2)), x.reshape((4, 1)), x[1:3].reshape((2, 1))
    c = b.reshape((1, 4))
    arrays = [x, a, b, c]

    def values():
        first = x.asnumpy().tolist()
        assert [array.asnumpy().ravel().tolist() for array in arrays] == [first] * 4
        assert part.asnumpy().ravel().tolist() == first[1:3]
        return first

    a[0] = 7
    assert values() == [7, 7, 3, 4]
    c[0, 3] = 9
    assert values() == [7, 7, 3, 9]
    part += 1
    assert values() == [7, 8, 4, 9]
    x[:] = 5
    assert values() == [5, 5, 5, 5]
    b *= 2
    assert values() == [10, 10, 10, 10]


def test_a_write_while_recording_leaves_what_was_recorded_of_a_reshape():
    x, w = nd.array([1, 2, 3, 4]), nd.array([1, 1, 1, 1])
    w.attach_grad()
    with autograd.record():
        y = w * 2
        reshaped = y.reshape((2, 2))
        y[:] = w * 5
        loss = (reshaped * x.reshape((2, 2))).sum()
    loss.backward()
    assert w.grad.asnumpy().tolist() == [2, 4, 6, 8]


def test_gradients_of_what_was_reshaped_stay():
    def gradient(change):
        x = nd.array([1, 2, 3, 4])
        x.attach_grad()
        with autograd.record():
            doubled = x * 2
            reshaped = doubled.reshape((2, 2))
            change(reshaped)
            loss = (doubled * doubled).sum()
        loss.backward()
        return x.grad.asnumpy().tolist()

    def triple(array):
        array *= 3

    assert gradient(lambda array: array.attach_grad()) == [8, 16, 24, 32]
    assert gradient(triple) == [72, 144, 216, 288]


@pytest.mark.dear
def test_a_reshaped_array_keeps_no_value_of_what_is_gone():
    x = nd.ones((300, 300))
    x.attach_grad()
    with autograd.record():
        temporary = x * 2
        value = weakref.ref(temporary.value)
        reshaped = temporary.reshape((-1,))
        del temporary
        gc.collect()
        assert value() is None
        loss = reshaped.sum()
    loss.backward()
    assert x.grad.asnumpy().max() == 2


def test_looking_whether_a_private_name_is_there_compares_no_spellings(monkeypatch):
    """Tools such as pytest ask each module for names of their own, thousands of times over."""
    for module in (names, table):
        monkeypatch.setattr(module, "did_you_mean", lambda name, known: pytest.fail(f"looked for what is like {name}"))
    assert not hasattr(nd, "_pytest_wants_this")
    assert not hasattr(sym, "_pytest_wants_this")
