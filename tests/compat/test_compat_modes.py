"""Switches of semantics under the alias, and which version of MXNet a program is written for.

What is expected was read off MXNet 1.9.1 and 2.0.0b1. Where both refuse to mix np arrays and NDArrays, or one does, the
answer here is that of the one that takes them.
"""

import pickle

import numpy as onp
import pytest

import gluonx
from gluonx import compat
from gluonx.compat.__main__ import main
from gluonx.compat.modes import Version
from gluonx.compat.nd.ndarray import NDArray
from gluonx.compat.parameter_dict import ParameterDict
from gluonx.compat.prefixes import Naming
from gluonx.np.handle import ndarray


def program(version):
    compat.install_as_mxnet(version)
    try:
        import mxnet

        yield mxnet
    finally:
        compat.uninstall()


def test_the_next_program_knows_nothing_of_the_one_before():
    for mxnet in program(1):
        mxnet.gluon.nn.Dense(1)
        mxnet.npx.set_np()
        assert Version.switched and Naming.counters
    assert not Version.switched and not Naming.counters and Version.told is None


@pytest.fixture
def mx():
    yield from program(None)


@pytest.fixture
def mx1():
    yield from program(1)


@pytest.fixture
def mx2():
    yield from program(2)


@pytest.fixture(params=[None, 1, 2])
def any_mx(request):
    yield from program(request.param)


def is_nd(array):
    return NDArray in type(array).__mro__


def is_np(array):
    return isinstance(array, ndarray) and not is_nd(array)


# -- kinds of arrays --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", ["first", "set", "reset"])
def test_mx_np_makes_np_arrays_and_mx_nd_makes_ndarrays(any_mx, mode):
    mx = any_mx
    if mode == "set":
        mx.npx.set_np()
    elif mode == "reset":
        mx.npx.reset_np()
    x, y = mx.np.ones((2, 3)), mx.nd.ones((2, 3))
    made = [
        x, x.sum(), x[0], x[0, 0], x > 0, x + 1, 1 - x, -x, x @ x.T, x.reshape(3, 2), x.mean(axis=0), x.copy(),
        x.astype("int32"),
        mx.np.array(1.0), mx.np.dot(x, x.T), mx.np.random.uniform(size=(2,)), mx.np.linalg.norm(x), mx.npx.relu(x),
        mx.np.split(x, 3, axis=1)[1], mx.np.var(x), mx.np.concatenate([x, x]), x.as_np_ndarray(), y.as_np_ndarray(),
        x * y, y * x, y - x, mx.np.sum(y),
    ]  # fmt: skip
    assert [i for i, array in enumerate(made) if not is_np(array)] == []
    assert x.sum().shape == x[0, 0].shape == mx.np.array(1.0).shape == ()
    assert (x > 0).dtype == bool
    olds = [y, y.sum(), y[0], y > 0, y + 1, mx.nd.zeros(3), mx.nd.dot(y, y.T), y.as_nd_ndarray(), x.as_nd_ndarray()]
    assert [i for i, array in enumerate(olds) if not is_nd(array)] == []
    assert y.sum().shape == (1,) and (y > 0).dtype == onp.float32
    assert y[0, 0].shape == (() if mx.util.is_np_shape() else (1,))


def test_a_mask_of_np_arrays_is_a_number(mx):
    """`True * -1e8` was True."""
    mask = mx.np.greater(mx.np.array([1.0, 3.0]), mx.np.array([2.0, 2.0]))
    assert mask.dtype == bool
    assert (mask * -1e8).tolist() == [0, -1e8]
    assert (mx.npx.broadcast_greater(mx.np.array([3.0]), mx.np.array([2.0])) * -1e8).tolist() == [-1e8]


def test_composed_functions_see_np_arrays(mx):
    x = mx.np.array([[1.0, 2.0], [3.0, 5.0]])
    assert mx.np.var(x).item() == pytest.approx(onp.var([[1, 2], [3, 5]]))
    assert mx.np.cov(x).shape == (2, 2)
    y = mx.nd.array([[1.0, 2.0], [3.0, 5.0]])
    assert mx.np.mean(y).shape == ()


def test_np_arrays_record_gradients_among_ndarrays(mx):
    x, y = mx.np.array([1.0, 2.0, 3.0]), mx.nd.array([1.0, 2.0, 3.0])
    x.attach_grad()
    y.attach_grad()
    with mx.autograd.record():
        a, b = (x * x).sum() * 2, (y * y).sum() * 2
    a.backward()
    b.backward()
    assert is_np(x.grad) and is_nd(y.grad)
    assert x.grad.tolist() == y.grad.asnumpy().tolist() == [4, 8, 12]
    x[1:] = 7
    x += 1
    assert is_np(x) and x.tolist() == [2, 8, 8]


def test_the_other_kind_is_the_same_array(any_mx):
    mx = any_mx
    x = mx.np.zeros((3,))
    y = x.as_nd_ndarray()
    y[:] = 5
    y[0] = 1
    assert x.tolist() == [1, 5, 5]
    x[2] = 7
    assert y.asnumpy().tolist() == [1, 5, 7]
    assert y.as_np_ndarray() is x and x.as_np_ndarray() is x and y.as_nd_ndarray() is y
    z = mx.nd.array([1.0, 2.0])
    w = z.as_np_ndarray()
    w.attach_grad()
    with mx.autograd.record():
        loss = (z * z).sum()
    loss.backward()
    assert w.grad.tolist() == [2, 4]


@pytest.mark.parametrize("hybridize", [False, True])
def test_a_block_gives_the_kind_that_it_is_given(mx, hybridize):
    net = mx.gluon.nn.HybridSequential()
    net.add(mx.gluon.nn.Dense(4, activation="relu"), mx.gluon.nn.Dense(2))
    net.initialize(mx.init.Constant(0.5))
    if hybridize:
        net.hybridize()
    x, y = mx.np.ones((2, 3)), mx.nd.ones((2, 3))
    for _ in range(2):
        assert is_np(net(x)) and is_nd(net(y))
        assert net(x).tolist() == net(y).asnumpy().tolist()
    assert is_np(mx.gluon.loss.L2Loss()(x, x)) and is_nd(mx.gluon.loss.L2Loss()(y, y))
    with mx.autograd.record():
        loss = net(x).sum()
    assert loss.shape == ()
    loss.backward()
    assert net[1].weight.grad().asnumpy().tolist() == [[3.0] * 4] * 2


@pytest.mark.parametrize("hybridize", [False, True])
def test_a_trace_is_of_one_kind(mx, hybridize):
    """The forward of one net with both: sums have no axis, or one."""

    class Scaled(mx.gluon.HybridBlock):
        def forward(self, x):
            return x * (x > 0), x.sum()

    net = Scaled()
    if hybridize:
        net.hybridize()
    for kind in (mx.nd, mx.np, mx.nd, mx.np):
        masked, total = net(kind.ones((2, 2)))
        assert total.shape == ((1,) if kind is mx.nd else ())
        assert masked.asnumpy().tolist() == [[1, 1], [1, 1]]


def test_a_trace_does_not_outlive_a_switch(mx):
    class Sum(mx.gluon.HybridBlock):
        def forward(self, x):
            return x.sum()

    net = Sum()
    net.hybridize()
    assert net(mx.nd.ones((2,))).shape == (1,)
    mx.npx.set_np()
    assert net(mx.np.ones((2,))).shape == ()
    mx.npx.reset_np()
    assert net(mx.nd.ones((2,))).shape == (1,)


def test_what_others_make_follows_the_mode(any_mx):
    mx = any_mx
    for numpy in (True, False, True):
        mx.npx.set_np() if numpy else mx.npx.reset_np()
        kind = is_np if numpy else is_nd
        loader = mx.gluon.data.DataLoader(mx.gluon.data.ArrayDataset(onp.ones((4, 2))), 2)
        param = mx.gluon.Parameter("w", shape=(2,))
        param.initialize()
        assert kind(next(iter(loader))) and kind(param.data())
        assert kind(mx.gluon.utils.split_and_load(onp.ones((2, 2)), [mx.cpu()])[0])
        assert is_nd(next(iter(mx.io.NDArrayIter(onp.ones((4, 2)), batch_size=2))).data[0])
        assert is_nd(mx.random.uniform(shape=(2,))) and is_nd(mx.nd.from_numpy(onp.ones(2)))


# -- switches ---------------------------------------------------------------------------------------------------------


def state(mx):
    return mx.util.is_np_array(), mx.util.is_np_shape()


def test_switches_of_version_1(mx1):
    mx = mx1
    assert state(mx) == (False, False)
    assert mx.util.set_np_shape(True) is False and mx.util.set_np_shape(False) is True
    mx.util.set_np()
    assert state(mx) == (mx.npx.is_np_array(), mx.is_np_shape()) == (True, True)
    with pytest.raises(ValueError, match="np arrays need NumPy's shapes"):
        mx.util.set_np_shape(False)
    mx.util.reset_np()
    assert state(mx) == (False, False)
    with pytest.raises(ValueError, match="arrays need NumPy's shapes"):
        mx.util.set_np(shape=False)
    mx.util.set_np(array=False)
    assert state(mx) == (False, True)


def test_version_2_begins_with_np_arrays(mx2):
    assert state(mx2) == (True, True)
    assert type(gluonx.np.ones(2)) is ndarray
    mx2.npx.reset_np()
    assert state(mx2) == (False, False)


def test_scopes_and_decorators(any_mx):
    mx = any_mx
    mx.npx.reset_np()
    with mx.util.np_array(True):
        assert state(mx) == (True, False)
        with mx.util.np_array(False):
            assert state(mx) == (False, False)
        assert state(mx) == (True, False)
    with mx.util.np_shape(True):
        assert state(mx) == (False, True)
        assert mx.nd.ones((2, 2))[0, 0].shape == () and mx.nd.ones((2, 2)).sum().shape == (1,)
    assert state(mx) == (False, False)
    assert mx.util.use_np_shape(lambda: state(mx))() == (False, True)
    assert mx.util.use_np_array(lambda: state(mx))() == (True, False)

    @mx.util.use_np
    def double(x):
        """Twice x."""
        assert state(mx) == (True, True)
        return x * 2

    assert double.__name__ == "double" and double.__doc__ == "Twice x."
    assert is_np(double(mx.np.ones(2))) and state(mx) == (False, False)
    with pytest.raises(ZeroDivisionError):
        mx.util.use_np(lambda: 1 / 0)()
    assert state(mx) == (False, False)
    with pytest.raises(TypeError, match="can only decorate classes and functions, not int"):
        mx.util.use_np(3)


def test_a_decorated_class(mx):
    class Base:
        def inherited(self):
            return state(mx)

    @mx.util.use_np
    class Told(Base):
        def __init__(self):
            self.made = state(mx)

        def method(self):
            return state(mx)

        @property
        def attribute(self):
            return state(mx)

        @staticmethod
        def static():
            return state(mx)

        @classmethod
        def of_class(cls):
            return cls.__name__, *state(mx)

    told, on = Told(), (True, True)
    assert told.made == told.method() == told.attribute == told.inherited() == Told.static() == on
    assert Told.of_class() == ("Told", True, True)
    assert Base().inherited() == state(mx) == (False, False)


@pytest.mark.parametrize("hybridize", [False, True])
def test_a_decorated_block(mx, hybridize):
    @mx.use_np
    class Net(mx.gluon.HybridBlock):
        def __init__(self):
            super().__init__()
            self.dense = mx.gluon.nn.Dense(2)
            self.scale = mx.gluon.Parameter("scale", shape=(1,), init="ones")

        def forward(self, x):
            assert state(mx) == (True, True)
            return self.dense(x) * self.scale.data() + mx.np.ones((2,))

    net = Net()
    net.initialize(mx.init.Constant(0.5))
    if hybridize:
        net.hybridize()
    for _ in range(2):
        out = net(mx.np.ones((1, 3)))
        assert is_np(out) and out.tolist() == [[2.5, 2.5]]
    assert state(mx) == (False, False)


# -- versions ---------------------------------------------------------------------------------------------------------


def small(mx):
    net = mx.gluon.nn.HybridSequential()
    net.add(mx.gluon.nn.Dense(3, in_units=2), mx.gluon.nn.Dense(1, in_units=3))
    net.initialize()
    return net


NAMES_1 = ["dense0_weight", "dense0_bias", "dense1_weight", "dense1_bias"]
NAMES_2 = ["0.weight", "0.bias", "1.weight", "1.bias"]


def names(params):
    return [name.removeprefix("hybridsequential0_") for name in params]


def test_a_program_for_version_2_stays_one_after_reset_np(mx):
    mx.npx.set_np()
    net = small(mx)
    mx.npx.reset_np()
    assert list(net.collect_params()) == list(small(mx).collect_params()) == NAMES_2
    assert net[0].weight.name == "weight"
    assert mx.gluon.loss.KLDivLoss is gluonx.loss.KLDivLoss
    assert mx.gluon.metric.create("rmse").__class__ is gluonx.metric.RMSE
    assert mx.optimizer.create("nag").momentum == 0.9


@pytest.mark.dear
def test_reset_np_alone_is_version_2(mx):
    mx.npx.reset_np()
    assert list(small(mx).collect_params()) == NAMES_2 and not mx.util.is_np_array()


@pytest.mark.parametrize("told", [True, False])
def test_a_program_for_version_1_stays_one_after_set_np(told):
    compat.install_as_mxnet(1 if told else None)
    try:
        import mxnet as mx

        if not told:
            from mxnet import metric  # noqa: F401 - which version 2 does not have
        mx.npx.set_np()
        net = small(mx)
        params = net.collect_params()
        assert isinstance(params, ParameterDict) and names(params) == NAMES_1
        params.setattr("grad_req", "null")
        assert net[0].weight.grad_req == "null"
        assert is_np(params.get("dense1_bias").data()) and is_np(net(mx.np.ones((1, 2))))
        assert mx.metric.create("rmse").__class__ is not gluonx.metric.RMSE
        assert mx.optimizer.create("nag").momentum == 0.0
        assert mx.gluon.loss.KLDivLoss is not gluonx.loss.KLDivLoss
    finally:
        compat.uninstall()


def test_a_book_for_version_1_that_shows_it_late(mx):
    """``npx.set_np()`` comes first, and what follows could be for either version; then it could not."""
    mx.npx.set_np()
    net = small(mx)
    assert list(net.collect_params()) == NAMES_2
    params = net.collect_params()
    params.setattr("lr_mult", 3)  # a plain dict has no such thing
    assert net[1].weight.lr_mult == 3
    assert names(net.collect_params()) == NAMES_1
    later = [name.removeprefix("hybridsequential1_") for name in small(mx).collect_params()]
    assert later == [name.translate({48: "2", 49: "3"}) for name in NAMES_1]
    assert net.collect_params()["dense1_bias"].data().shape == (1,)


@pytest.mark.parametrize(
    "shows",
    [
        "get = self.params.get('weight', shape=(2, 2))",
        "get = self.params.get_constant('weight', [[1.0]])",
        "scope = self.name_scope()",
    ],
)
def test_what_shows_version_1(mx, shows):
    mx.npx.set_np()
    before = small(mx)

    class Mine(mx.gluon.nn.Block):
        def __init__(self, **kwargs):
            super().__init__(**kwargs)
            exec(shows, {"self": self})

    Mine()
    assert names(before.collect_params()) == NAMES_1


def test_full_names_are_found_before_anything_is_shown(mx):
    mx.npx.set_np()
    net = small(mx)
    assert net.collect_params()["dense1_bias"] is net[1].bias
    with pytest.raises(KeyError):
        net.collect_params()["no_such"]


def test_sharing_of_version_1_after_set_np(mx):
    mx.npx.set_np()
    nn = mx.gluon.nn
    shared = nn.Dense(8, activation="relu", in_units=8)
    net = nn.Sequential()
    net.add(nn.Dense(8, in_units=4), shared, nn.Dense(8, in_units=8, params=shared.params), nn.Dense(1, in_units=8))
    net.initialize()
    assert net[1].weight is net[2].weight
    assert len(set(net.collect_params().values())) == 6


def test_parameters_of_two_nets_do_not_cover_each_other(mx):
    mx.npx.set_np()
    one, two = small(mx), small(mx)
    params = one.collect_params()
    params.update(two.collect_params())
    assert len(params) == 8 and set(params.values()) == {*one.collect_params().values(), *two.collect_params().values()}


def test_modules_that_only_version_2_has():
    compat.install_as_mxnet()
    try:
        from mxnet import np
        from mxnet.gluon.metric import Accuracy

        assert Accuracy is gluonx.metric.Accuracy
        assert type(np.ones(2)) is ndarray and type(gluonx.np.ones(2)) is ndarray
    finally:
        compat.uninstall()


def test_a_wrong_version():
    with pytest.raises(ValueError, match="version is 1, 2 or None, got 3"):
        compat.install_as_mxnet(3)
    assert not compat.installed()


def test_the_command_takes_a_version(tmp_path, capsys):
    script = tmp_path / "show.py"
    script.write_text("from mxnet.gluon import nn\nprint(list(nn.Dense(2).collect_params()))\n")
    shown = []
    for version in ("1", "2"):
        assert main(["--version", version, str(script)]) == 0
        shown.append(capsys.readouterr().out.strip())
    assert shown == ["['dense0_weight', 'dense0_bias']", "['weight', 'bias']"]
    assert main(["--version", "3", str(script)]) == 2


# -- dtypes -----------------------------------------------------------------------------------------------------------


def test_a_dtype_is_numpys_type(any_mx):
    mx = any_mx
    for name in ("float32", "float16", "int32", "uint8", "int8", "bool"):
        x = mx.nd.ones((2,), dtype=name)
        kind = onp.dtype(name).type
        assert x.dtype == kind and kind == x.dtype and (x.dtype != kind) is False
        assert x.dtype == onp.dtype(name) and onp.dtype(name) == x.dtype and x.dtype == name
        assert type(x.dtype(1)) is kind and {kind: "found"}[x.dtype] == "found" and x.dtype in (None, kind)
        assert str(x.dtype) == str(kind) and x.dtype.__name__ == kind.__name__
        assert onp.zeros(2, x.dtype).dtype == name and mx.nd.zeros(2, dtype=x.dtype).dtype == x.dtype
        assert x.astype(x.dtype).dtype == kind and x.dtype != onp.float64
        assert pickle.loads(pickle.dumps(x.dtype)) is x.dtype
    assert isinstance(mx.np.ones(2).dtype, onp.dtype)
    assert x.dtype is not None and x.dtype != "nonsense"


def test_outside_of_the_alias_a_dtype_is_one():
    assert isinstance(gluonx.nd.ones((2,)).dtype, onp.dtype)


# -- files ------------------------------------------------------------------------------------------------------------


def test_files_of_version_1(mx1, tmp_path):
    mx, x = mx1, mx1.np.ones((2,))
    mx.npx.set_np()
    for what, shape in ((x, [1]), ([x], [1]), ([x, x], [2])):
        mx.npx.save(tmp_path / "file", what)
        found = mx.npx.load(tmp_path / "file")
        assert type(found) is list and [len(found)] == shape and is_np(found[0])
        assert type(mx.nd.load(tmp_path / "file")) is list and is_nd(mx.nd.load(tmp_path / "file")[0])
    mx.npx.save(tmp_path / "file", {"k": x})
    assert list(mx.npx.load(tmp_path / "file")) == ["k"]
    with pytest.raises(ValueError, match="a list or dict of them"):
        mx.npx.save(tmp_path / "file", (x, x))


def test_files_of_version_2(mx2, tmp_path):
    mx, x = mx2, mx2.np.ones((2,))
    mx.npx.save(tmp_path / "one", x)
    assert is_np(mx.npx.load(tmp_path / "one"))
    mx.npx.savez(tmp_path / "several", x, y=x)
    assert sorted(mx.npx.load(tmp_path / "several")) == sorted(mx.nd.load(tmp_path / "several")) == ["arr_0", "y"]
    a = mx.nd.ones((2,))
    for what, kind in (([a], ndarray), ([a, a], list), ({"x": a}, dict)):
        mx.nd.save(tmp_path / "old", what)
        assert isinstance(mx.npx.load(tmp_path / "old"), kind)


def test_arrays_come_out_of_a_pickle_as_what_they_were(mx):
    modern, classic = mx.np.arange(3.0), mx.nd.arange(3)
    classic.attach_grad("add")
    for x in (modern, classic):
        again = pickle.loads(pickle.dumps(x))
        assert is_nd(again) is is_nd(x)
        assert again.asnumpy().tolist() == [0, 1, 2]
    assert again.grad is not None


def test_number_types_are_dtypes_that_may_be_called(any_mx):
    """MXNet 1's make numbers, MXNet 2's are dtypes; see gluonx/compat/number_types.py."""
    mx = any_mx
    mx.npx.set_np()
    float32, x = mx.np.float32, mx.np.ones((2,), dtype=mx.np.float64)
    assert float32(2) == 2 and type(float32(2)) is onp.float32 and mx.np.int32(2.7) == 2
    assert float32([1, 2]).tolist() == [1.0, 2.0] and mx.np.bool_(0) == onp.False_
    assert x.dtype == mx.np.float64 and x.dtype != float32 and x.dtype in {mx.np.float64} and float32 == "float32"
    assert {x.dtype: 1}[mx.np.float64] == 1 and float32 != 3 and float32.itemsize == 4 and repr(float32)
    assert x.astype(mx.np.int8).dtype == onp.dtype("int8") == mx.np.zeros((1,), dtype=mx.np.int8).dtype
    assert pickle.loads(pickle.dumps(float32)) == float32 and onp.zeros(1, float32).dtype == float32
    with pytest.raises(AttributeError):
        _ = float32.bogus


DRAWS = ("uniform", "normal", "exponential", "gamma", "poisson", "negative_binomial", "generalized_negative_binomial")


@pytest.mark.parametrize("name", [*DRAWS, "randint"])
def test_draws_without_axes(mx2, name):
    """As of MXNet 2.0.0b1; MXNet 1 has no arrays without axes unless ``set_np_shape`` holds."""
    draw = getattr(mx2.random, name)
    args = (0, 5) if name == "randint" else ()
    assert draw(*args, shape=()).shape == () and draw(*args).shape == (1,) and draw(*args, shape=3).shape == (3,)
    assert mx2.random.randn().shape == ()


def test_draws_of_one_number(mx1):
    assert mx1.nd.random.uniform(shape=()).shape == mx1.random.randn().shape == (1,)
    mx1.npx.set_np()
    assert mx1.random.uniform(shape=()).shape == ()


@pytest.mark.parametrize(("version", "wanted"), [(1, [0.0, 0.0]), (2, [8.0, 16.0])])
def test_attach_grad_of_what_was_recorded(version, wanted):
    """It cuts in MXNet 1.9.1, also after ``set_np()``, and does not in MXNet 2."""
    for mx in program(version):
        mx.npx.set_np()
        x = mx.np.array([1.0, 2.0])
        x.attach_grad()
        with mx.autograd.record():
            y = x * 2
        y.attach_grad()
        with mx.autograd.record():
            z = (y * y).sum()
        z.backward()
        assert y.grad.tolist() == [4.0, 8.0] and x.grad.tolist() == wanted


RUN = """
import mxnet as mx
from mxnet import gluon, np, npx
from mxnet.gluon import nn
{body}
"""


def told(body, tmp_path, capsys):
    """Run a program without --version; return what it printed, and what was said of its version."""
    script = tmp_path / "program.py"
    script.write_text(RUN.format(body=body), encoding="utf-8")
    assert main([str(script)]) == 0
    out, err = capsys.readouterr()
    return out.splitlines(), [line for line in err.splitlines() if line.startswith("gluonx.compat: ")]


def test_a_program_for_version_2_without_set_np(tmp_path, capsys):
    """A block that is called with np arrays shows it, and the blocks that are there go by structured names."""
    body = """
net = nn.HybridSequential()
net.add(nn.Dense(3), nn.Dense(2))
net.initialize()
net.hybridize()
net(np.ones((2, 4)))
weight = net[0].weight
print(net[0].params["weight"].shape, weight.name, list(net.collect_params()))
class Scaled(gluon.HybridBlock):
    def __init__(self):
        super().__init__()
        self.weight = gluon.Parameter("weight", shape=(4,), init="ones")
    def forward(self, x):
        return x * self.weight.data()
scaled = Scaled()
scaled.initialize()
scaled.hybridize()
for _ in range(3):
    with mx.autograd.record():
        loss = scaled(np.ones((2, 4))).sum()
    loss.backward()
print(scaled.weight.grad().tolist(), scaled(np.ones((1, 4))).shape)
"""
    out, said = told(body, tmp_path, capsys)
    assert out[0] == "(3, 4) weight ['0.weight', '0.bias', '1.weight', '1.bias']"
    assert out[1] == "[2.0, 2.0, 2.0, 2.0] (1, 4)"
    assert len(said) == 1
    assert "for MXNet 2, as a block is called with arrays of mx.np without set_np()" in said[0]
    assert "--version 1 or 2" in said[0]


@pytest.mark.parametrize(
    "body",
    [
        "a = nn.Dense(3, in_units=2)\nb = nn.Dense(3, in_units=2).share_parameters(a.collect_params())\n"
        "print(b.weight is a.weight, list(b.collect_params()))",
        "a = nn.Dense(3, in_units=2)\nw = a.params['weight']\nprint(w is a.weight, list(a.collect_params()))",
        "net = nn.Sequential()\nnet.add(nn.Dense(3))\nw = net.collect_params()['0.weight']\n"
        "print(w is net[0].weight, list(net[0].collect_params()))",
    ],
)
def test_structured_names_show_version_2(body, tmp_path, capsys):
    out, said = told(body, tmp_path, capsys)
    assert out == ["True ['weight', 'bias']"]
    assert len(said) == 1
    assert "for MXNet 2" in said[0]


def test_a_leftover_class_of_version_1_decides_for_itself_alone(tmp_path, capsys):
    body = """
npx.set_np()
class Leftover(gluon.HybridBlock):
    def hybrid_forward(self, F, x):
        return x
net = nn.Dense(2)
print(list(net.collect_params()))
Leftover()
"""
    out, said = told(body, tmp_path, capsys)
    assert out == ["['weight', 'bias']"]
    assert ["MXNet 2" in said[0], "MXNet 1" in said[1], len(said)] == [True, True, 2]


def test_what_shows_nothing_is_for_version_1(tmp_path, capsys):
    out, said = told("print(list(nn.Dense(2).collect_params()))", tmp_path, capsys)
    assert out == ["['dense0_weight', 'dense0_bias']"]
    assert len(said) == 1
    assert "for MXNet 1, as nothing in it shows which" in said[0]


def test_libraries_that_know_version_1_alone_find_it(mx):
    """GluonCV, GluonNLP and their like refuse to be imported with another one."""
    scope = {"__name__": "gluoncv.check", "mx": mx}
    exec("version = mx.__version__", scope)
    assert scope["version"].startswith("1.9.1")
    assert Version.shown == 1
    assert mx.__version__.startswith("2.0.0")


def test_a_forward_above_a_hybrid_forward_runs(mx1):
    nd = mx1.nd

    class Loss(mx1.gluon.HybridBlock):
        def forward(self, outputs, labels):
            return super().forward(outputs["out"], labels["label"]) * 10

    class Difference(Loss):
        def hybrid_forward(self, F, out, label):
            return F.sum(out - label)

    class Doubled(Difference):
        def hybrid_forward(self, F, out, label):
            return super().hybrid_forward(F, out, label) * 2

    given = {"out": nd.ones((2,)) * 3}, {"label": nd.ones((2,))}
    for loss, wanted in ((Difference(), 40.0), (Doubled(), 80.0)):
        assert loss(*given).asscalar() == wanted
        loss.hybridize()
        assert loss(*given).asscalar() == wanted


def test_children_are_called_for_as_weak_references(mx2):
    np, nn = mx2.np, mx2.gluon.nn

    class Chain(nn.HybridBlock):
        def __init__(self):
            super().__init__()
            self.one, self.two = nn.Dense(2, in_units=2), nn.Dense(2, in_units=2)

        def forward(self, x):
            for child in self._children.values():
                x = child()(x)
            return x

    class Constant(nn.HybridBlock):
        def forward(self):
            return np.ones(2)

    net = Chain()
    net.initialize(mx2.init.One())
    assert net(np.ones((1, 2))).tolist() == [[4.0, 4.0]]
    net.hybridize()
    assert net(np.ones((1, 2))).tolist() == [[4.0, 4.0]]
    assert Constant()().tolist() == [1.0, 1.0]


def test_outside_of_the_alias_a_call_without_arguments_is_an_error():
    import gluonx

    layer = gluonx.nn.Dense(2, in_units=2)
    layer.initialize()
    with pytest.raises(TypeError, match="missing 1 required positional argument"):
        layer()


def test_a_registry_finds_the_optimizers_whose_base_is_optimizer(any_mx):
    optimizer = any_mx.optimizer

    class Own(optimizer.Optimizer):
        pass

    class Further(optimizer.SGD):
        pass

    for name in ("SGD", "Adam", "LAMB", "LARS", "Signum", "FTML"):
        assert getattr(optimizer, name).__base__ == optimizer.Optimizer, name
    assert Own.__base__ is optimizer.Optimizer and Further.__base__ is optimizer.SGD
    assert optimizer.Optimizer.__base__ is object
    compat.uninstall()
    assert gluonx.optimizer.Adam.__base__ is not gluonx.optimizer.Optimizer  # a class of moments lies between
