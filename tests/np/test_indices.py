"""Masks and indices: shapes, ranges and errors, as NumPy and MXNet have them."""

import subprocess
import sys

import numpy as onp
import pytest

from gluonx import autograd, engine, gluon, nd, nn, np, npx
from gluonx.errors import BadIndexError, GluonxError, ShapeError

X = onp.arange(12, dtype=onp.float32).reshape(3, 4)


def array(value=X):
    return np.array(value, dtype=onp.asarray(value).dtype)


# -- masks -----------------------------------------------------------------------------------------------------------

ROWS, GRID = onp.array([True, False, True]), X % 3 == 1
MASKS = {
    "rows": ROWS,
    "all": GRID,
    "list": [True, False, True],
    "none": onp.zeros(3, bool),
    "int": (ROWS, 1),
    "slice": (slice(1, 3), onp.array([True, False, True, True])),
    "newaxis": (None, ROWS),
    "dots": (Ellipsis, onp.array([True, False, True, False])),
    "array": (ROWS, onp.array([1, 3])),
    "true": True,
    "false": False,
    "numpy bool": onp.bool_(True),
    "flag and slice": (True, slice(1, 2)),
    "flag and array": (onp.array(True), onp.array([0, 2])),
    "flag behind dots": (Ellipsis, True),
}


def own(key):
    """The key with its NumPy masks and arrays as gluonx's."""
    if isinstance(key, tuple):
        return tuple([own(k) for k in key])
    return array(key) if isinstance(key, onp.ndarray) else key


@pytest.mark.parametrize("kind", [own, lambda key: key], ids=["ours", "numpy"])
@pytest.mark.parametrize("name", MASKS)
def test_masks_read_and_write_as_in_numpy(name, kind):
    key = MASKS[name]
    wanted = X[key]
    found = array()[kind(key)]
    assert found.shape == wanted.shape
    onp.testing.assert_array_equal(found.asnumpy(), wanted)
    for value in (7.0, onp.arange(wanted.size, dtype=onp.float32).reshape(wanted.shape), onp.ones(wanted.shape[-1:])):
        host, mine = X.copy(), array()
        host[key] = value
        mine[kind(key)] = np.array(value) if isinstance(value, onp.ndarray) else value
        onp.testing.assert_array_equal(mine.asnumpy(), host)
    host, mine = X.copy(), array()
    host[key] += 1
    mine[kind(key)] += 1
    onp.testing.assert_array_equal(mine.asnumpy(), host)


@pytest.mark.parametrize("recorded", [False, True])
def test_a_condition_on_the_whole_array(recorded):
    x = array(onp.array([1.0, 2.0, 3.0], onp.float32))
    x.attach_grad()
    with autograd.record() if recorded else autograd.pause():
        found, empty = x[(x > 2).any()], x[(x > 5).any()]
    assert found.shape == (1, 3) and empty.shape == (0, 3)
    if recorded:
        found.backward()
        assert x.grad.tolist() == [1.0, 1.0, 1.0]


@pytest.mark.parametrize("mask", [[True, False], [True] * 4, [[True] * 4] * 2, [[True] * 3] * 3, [[[True]]]])
@pytest.mark.parametrize("act", ["read", "write", "write many", "add", "hybrid"])
def test_a_mask_of_another_shape_is_refused(mask, act):
    x, mask = array(), np.array(mask, dtype=bool)
    with pytest.raises(IndexError, match=r"boolean index did not match.*\(3, 4\)|too many indices") as caught:
        if act == "read":
            x[mask]
        elif act == "write":
            x[mask] = 1.0
        elif act == "write many":
            x[mask] = np.ones((2, 4))
        elif act == "add":
            x[mask] += 1
        else:
            block = Act(lambda x: x.__setitem__(mask, 0.0) or x * 1)
            block.hybridize()
            block(x)
    assert isinstance(caught.value, GluonxError) and str(mask.shape) in str(caught.value)
    assert x.shape == (3, 4) and x.tolist() == X.tolist()


def test_a_weight_keeps_its_shape_under_a_wrong_mask():
    layer = nn.Dense(4, in_units=3)
    layer.initialize()
    with pytest.raises(IndexError):
        layer.weight.data()[np.array([[True, False, True]], dtype=bool)] = 0
    assert layer.weight.data().shape == (4, 3)


def test_a_value_of_another_shape_is_refused():
    x = array()
    with pytest.raises(ValueError, match="broadcast"):
        x[np.array(ROWS, dtype=bool)] = np.ones((3, 4))
    with pytest.raises(ValueError, match="broadcast"):
        x[np.array(ROWS, dtype=bool)] = np.ones((3,))
    assert x.tolist() == X.tolist()


NOTHING = {
    "rows": slice(0, 0),
    "backwards": slice(0, 2, -1),
    "columns": (slice(None), slice(2, 2)),
    "one row": (1, slice(4, 9)),
    "newaxis": (None, slice(3, 1)),
    "array": onp.zeros(0, int),
    "mask": onp.zeros(3, bool),
}


@pytest.mark.parametrize("hybrid", [False, True])
@pytest.mark.parametrize("name", NOTHING)
def test_a_value_written_to_no_elements_has_to_fit(name, hybrid):
    key = NOTHING[name]
    wanted = X[key].shape
    write = Act(lambda x, v: x.__setitem__(key, v) or x * 1)
    if hybrid:
        write.hybridize()
    refused = 0
    any_shape = name in ("array", "mask")  # in which NumPy takes a value of no elements there
    for shape in [(7,), (2,), (0,), (1,), (4,), (0, 4), (0, 7), (3, 0), (2, 0, 4), (7, 4), wanted]:
        if any_shape and 0 in shape and shape != wanted:
            continue
        host = X.copy()
        try:
            host[key] = onp.ones(shape)
        except ValueError:
            with pytest.raises(ShapeError, match="broadcast"):
                write(array(), np.ones(shape))
            refused += 1
        else:
            assert write(array(), np.ones(shape)).tolist() == X.tolist()
    assert refused >= 3


def test_gradients_pass_masks():
    x, v = array(), np.array([1.0, 2.0, 3.0, 4.0])
    x.attach_grad(), v.attach_grad()
    with autograd.record():
        y = x * 1
        mask = y > 5
        picked = (y[mask] ** 2).sum()
        y[np.array(ROWS, dtype=bool)] = v
        total = picked + (y * 2).sum()
    total.backward()
    wanted = onp.where(X > 5, 2 * X, 0)
    wanted[1] += 2
    assert x.grad.tolist() == wanted.tolist() and v.grad.tolist() == [4.0] * 4


def test_index_arrays_that_do_not_fit_together():
    with pytest.raises(IndexError, match=r"\(2,\), \(3,\)"):
        array()[[0, 1], [0, 1, 2]]
    with pytest.raises(IndexError, match=r"cannot be broadcast"):
        array()[np.array(ROWS, dtype=bool), np.array([0, 1, 2], dtype="int32")]


def test_boolean_mask_of_mxnet_1():
    data = nd.array(X)
    assert nd.contrib.boolean_mask(data, nd.array([1, 0, 1])).asnumpy().tolist() == X[[0, 2]].tolist()
    with pytest.raises(ShapeError, match=r"\(2,\)"):
        nd.contrib.boolean_mask(data, nd.array([1, 0]))
    data.attach_grad()
    with autograd.record():
        loss = nd.contrib.boolean_mask(data, nd.array([0, 1, 1])).sum()
    loss.backward()
    assert data.grad.asnumpy().sum(1).tolist() == [0.0, 4.0, 4.0]


def test_where_of_a_condition_alone():
    rows, columns = np.where(array() > 9)
    assert (rows.tolist(), columns.tolist()) == ([2, 2], [2, 3])
    assert np.nonzero(np.array(3.0))[0].tolist() == [0]


# -- out of range ------------------------------------------------------------------------------------------------------


def embedding():
    layer = nn.Embedding(3, 2)
    layer.initialize(init="ones")
    return layer


READS = {
    "list": (lambda x, i: x[[i]], 3),
    "tuple": (lambda x, i: x[[i], 0], 3),
    "int": (lambda x, i: x[i], 3),
    "int beside an array": (lambda x, i: x[i, [0, 1]], 3),
    "numpy": (lambda x, i: x[onp.array([i, 0])], 3),
    "array": (lambda x, i: x[np.array([i, 0], dtype="int32")], 3),
    "0-d": (lambda x, i: x[np.array(i, dtype="int32")], 3),
    "columns": (lambda x, i: x[:, np.array([i], dtype="int32")], 4),
    "take": (lambda x, i: np.take(x, np.array([0, i]), axis=0), 3),
    "take of all": (lambda x, i: x.take(onp.array([i])), 12),
    "take of list": (lambda x, i: np.take(x, [i], axis=1), 4),
    "take_along_axis": (lambda x, i: np.take_along_axis(x, np.array([[i]] * 3, dtype="int32"), 1), 4),
    "gather_nd": (lambda x, i: npx.gather_nd(x, np.array([[0], [i]])), 4),
    "index_update": (lambda x, i: npx.index_update(x, np.array([[i], [1]], dtype="int32"), np.array([5.0])), 3),
    "index_add": (lambda x, i: npx.index_add(x, np.array([i], dtype="int32"), np.array(5.0)), 3),
    "write": (lambda x, i: x.__setitem__([i], 1.0), 3),
    "write array": (lambda x, i: x.__setitem__((slice(None), np.array([i], dtype="int32")), 1.0), 4),
    "nd": (lambda x, i: nd.array(X)[nd.array([i])], 3),
    "nd.take": (lambda x, i: nd.take(nd.array(X), nd.array([i]), mode="raise"), 3),
}


@pytest.mark.parametrize("mode", ["plain", "record", "naive"])
@pytest.mark.parametrize("name", READS)
def test_a_known_index_out_of_range_raises(name, mode):
    act, size = READS[name]
    x = array()
    scopes = {"plain": autograd.pause, "record": autograd.record, "naive": lambda: engine.mode("naive")}
    with scopes[mode]():
        act(array(), size - 1), act(array(), -size)  # these are in range
        for bad in (size, -size - 1):
            with pytest.raises(IndexError, match=rf"index {bad} is out of bounds for .* with size {size}") as caught:
                act(x, bad)
            assert isinstance(caught.value, GluonxError)
    assert x.tolist() == X.tolist()


HOST = {
    "embedding": (lambda x, i: embedding()(onp.array([0, i])), 3),
    "npx.embedding": (lambda x, i: npx.embedding(onp.array([0, i]), x, input_dim=3, output_dim=4), 3),
    "pick": (lambda x, i: npx.pick(x, onp.array([0, 1, i])), 4),
    "labels": (lambda x, i: gluon.loss.SoftmaxCELoss()(x, onp.array([0, 1, i])), 4),
}


@pytest.mark.parametrize("name", HOST)
def test_classes_in_numpy_arrays_raise_and_those_in_arrays_are_clipped(name):
    act, size = HOST[name]
    act(array(), size - 1)
    for bad in (size, -1):
        with pytest.raises(IndexError, match=rf"index {bad} is out of bounds"):
            act(array(), bad)
    # As MXNet has it: what is given as an array takes the nearest class.
    assert npx.pick(array(), np.array([5, -1, 9])).tolist() == [3.0, 4.0, 11.0]
    assert npx.embedding(np.array([5, -1]), array(), input_dim=3, output_dim=4).tolist() == X[[2, 0]].tolist()


def test_neighbours_that_raise_in_numpy():
    x = np.array([1.0, 2.0, 3.0])
    near, far = np.array([2], dtype="int32"), np.array([3], dtype="int32")
    for act in (
        lambda i: np.choose(i, [x[:1], x[:1], x[:1]]),
        lambda i: np.put(x.copy(), i, 1.0),
        lambda i: np.put_along_axis(x.copy(), i, 1.0, 0),
        lambda i: np.unravel_index(i, (3,)),
        lambda i: np.ravel_multi_index((i, i), (3, 3)),
        lambda i: np.insert(x, i + 1, 1.0),
    ):
        act(near)
        with pytest.raises(BadIndexError, match=r"(index|place) (3|4) is out of bounds"):
            act(far)
    with pytest.raises(BadIndexError, match=r"softmax_output: index 5"):
        nd.SoftmaxOutput(nd.ones((2, 3)), onp.array([0, 5]))


def test_modes_of_take_and_pick():
    v = np.array([1.0, 2.0, 3.0])
    far = onp.array([5, -7])
    assert np.take(v, far, mode="clip").tolist() == [3.0, 1.0] and np.take(v, far, mode="wrap").tolist() == [3.0, 3.0]
    assert npx.pick(array(), onp.array([5, -1, 9]), mode="wrap").tolist() == [1.0, 7.0, 9.0]
    assert npx.one_hot(np.array([5, -1, 1]), 3).tolist() == [[0, 0, 0], [0, 0, 0], [0, 1, 0]]


def test_what_nobody_can_look_at_takes_the_nearest_element():
    """Pending and traced indices: the nearest element when read, never NaN; dropped when written."""
    x = array()

    def run(x, i):
        out = x * 1
        out[i] = 50.0
        return x[i], np.take(x, i, axis=0), np.take_along_axis(x, (i * np.ones((3, 1))).astype("int32"), 1), out

    def recorded(x, i):
        with autograd.record():
            return run(x, i + 0)

    block = Act(run)
    block.hybridize()
    for act in (recorded, block):
        for far, row, column in ((9, 2, 3), (-9, 0, 0)):
            got = [a.asnumpy() for a in act(x, np.array(far, dtype="int32"))]
            onp.testing.assert_array_equal(got[0], X[row])
            onp.testing.assert_array_equal(got[1], X[row])
            onp.testing.assert_array_equal(got[2], X[:, [column]])
            onp.testing.assert_array_equal(got[3], X)


# -- the switch --------------------------------------------------------------------------------------------------------


class Act(gluon.HybridBlock):
    """A block whose forward is a function."""

    def __init__(self, fn):
        super().__init__()
        self.fn = fn

    def forward(self, *args):
        return self.fn(*args)


class Net(gluon.HybridBlock):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(3, 2)
        self.out = nn.Dense(4, flatten=False)

    def forward(self, x):
        return self.out(self.embed(x))


@pytest.mark.parametrize("hybrid", [False, True])
def test_check_names_layer_value_and_line(hybrid):
    net, loss = Net(), gluon.loss.SoftmaxCELoss()
    net.initialize()
    if hybrid:
        net.hybridize(), loss.hybridize()
    good, bad, labels = np.array([0, 2]), np.array([0, 7]), np.array([1, 4])
    silent, counted = net(bad), engine.stats()["unhybridized"]
    with engine.check():
        assert net(good).shape == (2, 4)
        with pytest.raises(BadIndexError, match=r"embedding in Net\.embed: index 7 .* size 3.*test_indices\.py"):
            net(bad)
        with autograd.record(), pytest.raises(BadIndexError, match=r"embedding in Net\.embed: index 7"):
            net(bad + 0)  # pending
        with autograd.record():
            out = net(good)
            with pytest.raises(BadIndexError, match=r"softmax_cross_entropy_loss.*index 4 .* axis -1 with size 4"):
                loss(out, labels)
        with pytest.raises(BadIndexError, match=r"pick.*index 9"):
            npx.pick(array(), np.array([0, 1, 9]))
        with pytest.raises(BadIndexError, match=r"embedding.*index 7"):
            npx.foreach(lambda i, s: (net(i), s), np.array([[0], [7]]), np.zeros(1))
    assert net(bad).tolist() == silent.tolist()
    assert engine.stats()["unhybridized"] == counted


@pytest.mark.dear
def test_check_by_the_environment():
    code = (
        "from gluonx import np, npx\n"
        "npx.pick(np.ones((2, 3)), np.array([0, 1]))\n"
        "try:\n    npx.pick(np.ones((2, 3)), np.array([0, 3]))\n"
        "except IndexError as error:\n    print(error)"
    )
    env = {**__import__("os").environ, "GLUONX_CHECK": "1"}
    told = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, check=True).stdout
    assert "pick: index 3 is out of bounds for axis -1 with size 3" in told


# -- operators ---------------------------------------------------------------------------------------------------------


def test_index_update_and_add_take_rows_and_numbers():
    x = array()
    rows = np.array([0, 2, 2], dtype="int32")
    wanted = X.copy()
    onp.add.at(wanted, [0, 2, 2], 5)
    assert npx.index_add(x, rows, np.array(5.0)).tolist() == wanted.tolist()
    assert npx.index_add(x, rows, 5.0).tolist() == wanted.tolist()
    assert npx.index_add(x, np.array(1, dtype="int32"), np.array(5.0)).tolist()[1] == (X[1] + 5).tolist()
    assert npx.index_update(x, rows, np.array([1.0, 2.0, 3.0, 4.0])).tolist()[2] == [1.0, 2.0, 3.0, 4.0]
    assert npx.index_update(x, np.array([[0, 2], [1, 1]]), 7).asnumpy()[[0, 2], [1, 1]].tolist() == [7.0, 7.0]
    v = npx.index_update(np.arange(4), np.array([0, 2], dtype="int32"), np.array([7.0, 8.0]))
    assert v.tolist() == [7.0, 1.0, 8.0, 3.0]


def test_slice_takes_numbers():
    x = array()
    for args in ({"begin": 1, "end": 3}, {"begin": 1, "end": 3, "step": 1}, {"begin": 1, "end": (3,)}):
        assert npx.slice(x, **args).tolist() == X[1:3].tolist()
    assert npx.slice(x, 1, None).tolist() == X[1:].tolist()
    assert npx.slice(x, (1,), (3,), 1).tolist() == X[1:3].tolist()
    assert npx.slice(x, begin=(None, 3), end=(None, 0), step=(None, -1)).tolist() == X[:, 3:0:-1].tolist()
    with pytest.raises(ShapeError, match="same length"):
        npx.slice(x, begin=(0, 1), end=(1,))


def test_slice_assign():
    x = array()
    wanted = X.copy()
    wanted[0:2, 1:3] = 1
    assert x.slice_assign(np.ones((2, 2)), (0, 1), (2, 3), ()).tolist() == wanted.tolist()
    wanted = X.copy()
    wanted[:, 1:3] = 5
    assert array().slice_assign_scalar(5.0, (None, 1), (None, 3), (None, None)).tolist() == wanted.tolist()
    with pytest.raises(ShapeError, match=r"\(2,3\)"):
        array().slice_assign(np.ones((2, 3)), (0, 1), (2, 3), ())


# -- sets --------------------------------------------------------------------------------------------------------------


def test_sets_are_sorted_and_named():
    host = onp.array([[3, 1, 2], [1, 3, 3]], onp.int32)
    x = array(host)
    assert np.unique_values(x).tolist() == [1, 2, 3]
    found = np.unique_all(x)
    assert found.values.tolist() == [1, 2, 3] and found.indices.tolist() == [1, 2, 0]
    assert found.counts.tolist() == [2, 1, 3] and found._fields == ("values", "indices", "inverse_indices", "counts")
    assert found.values.asnumpy()[found.inverse_indices.asnumpy()].tolist() == host.tolist()
    counted, inverse = np.unique_counts(x), np.unique_inverse(x)
    assert counted.values.tolist() == [1, 2, 3] and counted.counts.tolist() == [2, 1, 3]
    assert inverse.values.asnumpy()[inverse.inverse_indices.asnumpy()].tolist() == host.tolist()


@pytest.mark.parametrize("axis", [None, 0, 1, -1])
@pytest.mark.parametrize("flags", range(8))
def test_unique_with_all_flags(axis, flags):
    host = onp.array([[3, 1, 1], [3, 1, 1], [0, 2, 2]], onp.int32)
    given = {n: bool(flags & k) for n, k in (("return_index", 1), ("return_inverse", 2), ("return_counts", 4))}
    wanted, found = onp.unique(host, axis=axis, **given), np.unique(array(host), axis=axis, **given)
    assert isinstance(found, tuple) == isinstance(wanted, tuple)
    for w, f in zip(wanted, found) if flags else [(wanted, found)]:
        assert f.asnumpy().ravel().tolist() == w.ravel().tolist()


def test_slices_of_slices_are_numpys_whatever_was_written_to():
    kinds = [slice(None), slice(1, None), slice(None, None, -1), slice(None, None, 2), slice(-1, 0, -2), slice(2, 2)]
    for seed in range(40):
        draw = onp.random.default_rng(seed)
        wanted = [onp.arange(60, dtype="float32").reshape(2, 5, 6)]
        found = [np.array(wanted[0])]
        for value in range(100, 105):
            at = draw.integers(len(found))
            key: list = [int(draw.integers(n)) if n and draw.random() < 0.2 else None for n in found[at].shape]
            key = [kinds[draw.integers(6)] if place is None else place for place in key]
            key = [*key, None if draw.random() < 0.2 else ...]
            wanted.append(wanted[at][*key, ...] if key[-1] is None else wanted[at][tuple(key)])
            found.append(found[at][tuple(key)])
            at = draw.integers(len(found))
            wanted[at][...] = value
            found[at][...] = value
            for w, f in zip(wanted, found, strict=True):
                assert w.shape == f.shape
                onp.testing.assert_array_equal(w, f.asnumpy(), err_msg=str(seed))


def test_a_queue_of_slices_is_no_deeper_than_one():
    x = whole = np.arange(1500.0)
    for _ in range(1200):
        x = x[1:]
    x[0] = -1
    assert whole[1200] == -1 and x[:2].tolist() == [-1, 1201]
