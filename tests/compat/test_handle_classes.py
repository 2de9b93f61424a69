"""A handle is born with its class and keeps it: what becomes an NDArray, or a np array, is another handle.

What is written to one, and the gradient of one, is the other's wherever somebody may hold both.
"""

import gc
import weakref

import numpy as onp
import pytest

import gluonx
from gluonx import autograd, compat, nd, nn, np
from gluonx.block.fusion.pieces import Piece
from gluonx.compat import kinds
from gluonx.compat.nd.ndarray import NDArray
from gluonx.errors import GraphError
from gluonx.np import handle
from gluonx.np.handle import ndarray
from gluonx.sparse.storage import BaseSparseNDArray


@pytest.fixture
def mx():
    compat.install_as_mxnet(None)
    try:
        import mxnet

        yield mxnet
    finally:
        compat.uninstall()


def is_nd(array):
    return NDArray in type(array).__mro__


def test_functions_of_nd_leave_np_arrays_what_they_are():
    x = np.array([[1.0, 2.0]])
    view, apart = x[0], x.detach()
    for array in (x, view, apart):
        for made in (nd.relu(array), nd.array(array), nd.concat(array, array, dim=0), nd.split(array, 1, axis=0)):
            assert is_nd(made[0] if isinstance(made, list) else made)
        assert type(array).__mro__[0] in (ndarray, handle.View, handle.Detached)


def test_slices_and_detached_arrays_are_born_as_ndarrays():
    x = nd.array([[1.0, 2.0], [3.0, 4.0]])
    row, apart = x[0], x.detach()
    assert is_nd(row) and is_nd(apart) and is_nd(row[1:]) and is_nd(apart[0]) and is_nd(x.squeeze(inplace=True))
    row[1:] = 7
    apart[1] = 5
    assert x.asnumpy().tolist() == [[1, 7], [5, 5]]
    assert not is_nd(np.ones((2, 2))[0]) and not is_nd(np.ones(2).detach())


def test_copyto_gives_back_the_very_target():
    x, y = nd.array([1.0, 2.0]), np.zeros(2)
    assert x.copyto(y) is y and type(y) is ndarray and y.tolist() == [1, 2]


@pytest.mark.parametrize("make", [np.array, nd.array], ids=["np", "nd"])
def test_the_gradient_is_one_array_of_the_kind_of_its_own(make):
    x = make([1.0, 2.0])
    x.attach_grad("add")
    assert x.grad is x.grad and is_nd(x.grad) == is_nd(x)
    for expected in ([2, 4], [4, 8]):
        with autograd.record():
            y = x * x
        y.backward()
        assert x.grad.asnumpy().tolist() == expected
    x.grad[:] = 0
    with autograd.record():
        y = x * x
    y.backward()
    assert x.grad.asnumpy().tolist() == [2, 4]


def test_np_arrays_among_ndarrays_have_one_gradient(mx):
    x = mx.np.array([1.0, 2.0])
    x.attach_grad()
    assert not is_nd(x.grad) and x.grad is x.grad
    with mx.autograd.record():
        y = (x * x).sum()
    y.backward()
    x.grad[0] = 9
    assert x.grad.tolist() == [9, 4]
    assert not is_nd(x.detach()) and x.detach().sum().shape == ()


def test_gradients_are_of_the_kind_of_the_handle_that_is_asked(mx):
    """MXNet's b.grad of a np array b that shares an NDArray is a np array; a is b's, of the other kind."""
    for make, twin in ((mx.nd.array, "as_np_ndarray"), (mx.np.array, "as_nd_ndarray")):
        a = make([1.0, 2.0])
        a.attach_grad()
        b = getattr(a, twin)()
        with mx.autograd.record():
            y = (b * b).sum()
        y.backward()
        assert is_nd(a.grad) == is_nd(a) != is_nd(b.grad) == is_nd(b)
        assert b.grad.sum().shape == ((1,) if is_nd(b) else ())
        b.grad[:] = 3
        assert a.grad.asnumpy().tolist() == b.grad.asnumpy().tolist() == [3, 3]


def test_a_function_of_np_arrays_has_them_in_its_backward_too(mx):
    shapes = []

    class Double(mx.autograd.Function):
        def forward(self, x):
            return x * 2

        def backward(self, dy):
            shapes.append((is_nd(dy), dy.sum().shape))
            return dy * 2

    for make in (mx.np.array, mx.nd.array):
        x = make([1.0, 2.0])
        x.attach_grad()
        with mx.autograd.record():
            y = Double()(x)
        y.backward()
        assert is_nd(y) == is_nd(x) and x.grad.asnumpy().tolist() == [2, 2]
    assert shapes == [(False, ()), (True, (1,))]


@pytest.mark.dear
@pytest.mark.parametrize("recorded", [False, True])
def test_twins_that_are_shared_see_all_writes(recorded):
    x = np.array([1.0, 2.0, 3.0])
    x.attach_grad()
    y = x.as_nd_ndarray()
    assert type(x) is ndarray and is_nd(y) and y.as_np_ndarray() is x
    y[1:] = 5
    x[0] = 4
    assert x.tolist() == y.asnumpy().tolist() == [4, 5, 5]
    y += 1
    assert x.tolist() == [5, 6, 6]
    if recorded:
        with autograd.record():
            z = (x * y).sum()  # one array, twice
        z.backward()
        assert x.grad.tolist() == y.grad.asnumpy().tolist() == [10, 12, 12]
        y.grad[:] = 0
        assert x.grad.tolist() == [0, 0, 0]
    held = weakref.ref(x)
    del x
    gc.collect()
    assert y.asnumpy().tolist() == [5, 6, 6] and held() is not None  # the twin keeps it


def test_a_hybrid_forward_that_returns_a_parameter_leaves_it_alone():
    class Net(nn.HybridBlock):
        def __init__(self):
            super().__init__()
            self.weight = gluonx.Parameter("weight", shape=(2,), init="ones")

        def hybrid_forward(self, F, x, weight):
            return weight, F.relu(x), x[0:1]

    net = Net()
    net.initialize()
    for hybridize in (False, True):
        if hybridize:
            net.hybridize()
        weight, out, row = net(np.array([-1.0, 2.0]))
        assert not any(map(is_nd, (weight, out, row)))
        assert type(net.weight.data()) is ndarray
        assert weight.tolist() == [1, 1] and out.tolist() == [0, 2] and row.tolist() == [-1]


def test_what_use_np_hands_out_is_written_through(mx):
    class Table(mx.gluon.nn.HybridBlock):
        def __init__(self):
            super().__init__()
            self.weight = mx.gluon.Parameter("weight", shape=(2,), init="ones")
            self.rows = []

        def table(self):
            return self.weight.data()

        def all_rows(self):
            self.rows.append(self.weight.data())
            return self.rows

    Table = mx.util.use_np(Table)
    mx.npx.reset_np()
    net = Table()
    net.initialize()
    array = net.weight.data()
    kind = type(array)
    net.table()[:] = 7
    assert array.asnumpy().tolist() == [7, 7] and type(array) is kind
    rows = net.all_rows()
    assert rows is net.rows
    rows[0][:] = 3
    assert array.asnumpy().tolist() == [3, 3] and type(array) is kind


class Stores(nn.HybridBlock):
    def __init__(self):
        super().__init__()
        self.seen = self.row = None

    def forward(self, x):
        self.seen, self.row = x * 2, (x * 2)[0]
        return x + 1


def stored(array):
    net = Stores()
    net.hybridize()
    for factor in (1, 2):
        net(array([[1.0, 2.0], [3.0, 4.0]]) * factor)
        assert net.seen.asnumpy().tolist() == (onp.array([[2, 4], [6, 8]]) * factor).tolist()
        assert net.row.asnumpy().tolist() == [2 * factor, 4 * factor]
    return net


def test_a_traced_forward_stores_np_arrays():
    net = stored(np.array)
    assert type(net.seen) is type(net.row) is ndarray


def test_a_traced_forward_stores_ndarrays(mx):
    net = stored(mx.nd.array)
    assert type(net.seen) is type(net.row) is NDArray


@pytest.mark.parametrize("kind", ["slice", "detached", "piece"])
def test_a_twin_of_what_looks_into_another_array_writes_to_that(mx, kind):
    """As MXNet's: a slice, detach() and a fused parameter's piece write through, by whichever handle."""
    for make, twin in ((mx.nd.array, "as_np_ndarray"), (mx.np.array, "as_nd_ndarray")):
        if kind == "piece":
            layer = gluonx.rnn.RNN(2, input_size=2)
            layer.initialize()
            inner, whole = layer.l0_i2h_weight.data(), layer.rnn_param.data
            whole()[:] = make([3.0] * 12)
        else:
            base = make([1.0, 1, 3, 3, 3, 3])
            inner, whole = base[2:] if kind == "slice" else base.detach()[2:], lambda base=base: base
        other = getattr(inner, twin)()
        for write, expected in (
            (lambda a: a.__setitem__(slice(None), 5), 5),
            (lambda a: a.__iadd__(1), 6),
            (lambda a: a[:1].__imul__(0), 0),
            (lambda a, twin=twin: getattr(a, twin)()[:1].__iadd__(2), 2),
            (lambda a: a.detach()[:1].__iadd__(2), 4),
        ):
            write(other)
            place = 0 if kind == "piece" else 2
            assert whole().asnumpy()[place] == inner.asnumpy().ravel()[0] == other.asnumpy().ravel()[0] == expected
        if kind == "slice":
            base.attach_grad()
            with mx.autograd.record(), pytest.raises(GraphError, match="leaf"):
                other[:] = 1


@pytest.mark.parametrize("taken", [lambda y: y.detach(), lambda y: y[:2].detach(), lambda y: y.detach()[:2]])
def test_detach_of_a_twin_that_nobody_holds_follows_the_recorded_array(mx, taken):
    """As in MXNet 2.0.0b1: the twin is a temporary, and a recorded array is held weakly by its detach()."""
    for make, twin in ((mx.nd.array, "as_np_ndarray"), (mx.np.array, "as_nd_ndarray")):
        x = make([1.0, 2.0, 3.0])
        x.attach_grad()
        with mx.autograd.record():
            y = x * 2
            d = taken(getattr(y, twin)())
            assert is_nd(d) != is_nd(y)
            y += 1
            assert d.asnumpy().tolist() == y.asnumpy().tolist()[: d.shape[0]]
            d[:] = 7
            assert y.asnumpy().tolist()[: d.shape[0]] == [7] * d.shape[0]
            z = (y * y).sum()
        z.backward()
        assert x.grad.asnumpy().tolist() == [28, 28, 28]


KINDS = [ndarray, NDArray, kinds._Numpy]


@pytest.mark.parametrize("kind", KINDS, ids=["np", "nd", "np in nd"])
def test_where_a_value_is_and_its_kind_are_written_once_each(kind):
    """A slice, a detached array and one in lent memory are of their kind, and bear its name."""
    places = {"view_class": handle.View, "detached_class": handle.Detached, "lent_class": handle.Lent}
    for attribute, place in places.items():
        cls = getattr(kind, attribute)
        assert issubclass(cls, place) and kind in cls.__mro__
        assert kind is ndarray or (cls.__name__, cls.__module__) == (kind.__name__, kind.__module__)


def test_eight_classes_of_arrays_are_written():
    """Three kinds and five places; all others of dense arrays are products, made by `handle.placed`."""
    found = [ndarray]
    for cls in found:
        found += [
            sub for sub in cls.__subclasses__() if len(sub.__bases__) == 1 and not issubclass(sub, BaseSparseNDArray)
        ]
    own = [cls for cls in found if cls.__module__.startswith("gluonx")]
    places = [handle.View, handle.Detached, handle.Lent, Piece, kinds._Shared]
    assert sorted(map(id, own)) == sorted(map(id, KINDS + places))  # by identity: a slice's class equals its kind's
    assert kinds._SharedNumpy.__bases__[1] is kinds._Numpy and kinds._SharedND.__bases__[1] is NDArray
