"""Batchify functions on the host. What MXNet 2.0.0b1 gives is written in; 64-bit types are 32-bit ones here."""

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from gluonx.data import batchify
from gluonx.data._host import OnHost
from gluonx.data.batchify import Append, AsList, Group, Pad, Stack


def show(tree):
    """A batch as plain Python: dtype and values of arrays."""
    if isinstance(tree, OnHost):
        return (str(tree.array.dtype), tree.array.tolist())
    if isinstance(tree, (list, tuple)):
        return type(tree)(show(item) for item in tree)
    return {k: show(v) for k, v in tree.items()} if isinstance(tree, dict) else tree


@pytest.mark.parametrize(
    ("samples", "expected"),
    [
        ([1, 2, 3], ("int64", [1, 2, 3])),
        ([1.0, 2], ("float32", [1, 2])),
        ([True, False], ("bool", [True, False])),
        ([np.uint8(3), np.uint8(4)], ("uint8", [3, 4])),
        ([np.float16(3)], ("float16", [3])),
        ([ml_dtypes.bfloat16(3)], ("bfloat16", [3])),
        ([np.ones(2, np.int8)] * 2, ("int8", [[1, 1], [1, 1]])),
        ([(1, 2.0), (3, 4.0)], [("int64", [1, 3]), ("float32", [2, 4])]),
        ([[1, 2], [3, 4]], [("int64", [1, 3]), ("int64", [2, 4])]),
        ([(1, (2, 3)), (4, (5, 6))], [("int64", [1, 4]), [("int64", [2, 5]), ("int64", [3, 6])]]),
        ([(1,)], [("int64", [1])]),
        ([{"x": 1, "y": 2.0}, {"x": 3, "y": 4.0}], {"x": ("int64", [1, 3]), "y": ("float32", [2, 4])}),
    ],
)
def test_stack(samples, expected):
    assert show(Stack().host_batch(samples)) == expected


shapes = hnp.array_shapes(min_dims=0, max_dims=3, max_side=4)


@pytest.mark.dear
@given(st.data(), shapes, st.sampled_from(["float32", "int64", "uint8", "bool"]), st.integers(1, 5))
def test_stack_is_numpys(data, shape, dtype, count):
    arrays = [data.draw(hnp.arrays(dtype, shape)) for _ in range(count)]
    batch = Stack().host_batch(arrays).array
    assert batch.dtype == dtype
    np.testing.assert_array_equal(batch, np.stack(arrays))
    assert not any(np.shares_memory(batch, a) for a in arrays)


@pytest.mark.dear
@given(st.data(), st.integers(1, 3), st.integers(1, 5), st.integers(1, 5), st.sampled_from([-1, 0, 7]))
def test_pad_keeps_the_samples_and_fills_the_rest(data, rank, count, round_to, val):
    arrays = [
        data.draw(hnp.arrays("int64", hnp.array_shapes(min_dims=rank, max_dims=rank, max_side=4))) for _ in range(count)
    ]
    batch = Pad(val=val, round_to=round_to).host_batch(arrays).array
    for axis in range(rank):
        longest = max(a.shape[axis] for a in arrays)
        assert batch.shape[axis + 1] % round_to == 0 and 0 <= batch.shape[axis + 1] - longest < round_to
    filled = np.ones(batch.shape, bool)
    for row, fill, array in zip(batch, filled, arrays, strict=True):
        where = tuple(slice(n) for n in array.shape)
        np.testing.assert_array_equal(row[where], array)
        fill[where] = False
    assert (batch[filled] == val).all()


@pytest.mark.parametrize(
    ("pad", "samples", "expected"),
    [
        (Pad(), [[1, 2, 3], [4]], ("int64", [[1, 2, 3], [4, 0, 0]])),
        (Pad(val=-1), [[1.0, 2], [4]], ("float32", [[1, 2], [4, -1]])),
        (Pad(val=-1), [np.ones(2, "float32"), np.ones(1, "float32")], ("float32", [[1, 1], [1, -1]])),
        (Pad(val=0, dtype="float32"), [[1, 2], [3]], ("float32", [[1, 2], [3, 0]])),
        (Pad(val=0), [[[1, 2], [3, 4]], [[5]]], ("int64", [[[1, 2], [3, 4]], [[5, 0], [0, 0]]])),
        (Pad(val=0), [[], [1]], ("int64", [[0], [1]])),
        # MXNet takes the first sample's dtype and would truncate here.
        (Pad(val=0), [np.ones(1, "int64"), np.full(1, 0.5, "float32")], ("float64", [[1], [0.5]])),
    ],
)
def test_pad(pad, samples, expected):
    dtype, values = show(pad.host_batch(samples))
    assert values == expected[1] and dtype == expected[0].replace("float64", "float32")


def test_pad_rounds_every_axis():
    assert Pad(val=-1, round_to=4).host_batch([np.ones((2, 1)), np.ones((3, 1))]).array.shape == (2, 4, 4)


def test_append():
    arrays = [np.ones(2, "float32"), np.ones((2, 3), "int64")]
    assert [b.array.shape for b in Append().host_batch(arrays)] == [(1, 2), (1, 2, 3)]
    assert [b.array.shape for b in Append(expand=False).host_batch(arrays)] == [(2,), (2, 3)]
    batches = Append(batch_axis=1).host_batch(arrays)
    assert [b.array.shape for b in batches] == [(2, 1), (2, 1, 3)]
    assert [str(b.array.dtype) for b in batches] == ["float32", "int64"]
    assert not any(np.shares_memory(b.array, a) for b, a in zip(batches, arrays, strict=True))


def test_group_and_as_list():
    samples = [(1, [1], "a"), (3, [1, 2], "b")]
    expected = (("int64", [1, 3]), ("int64", [[1, 0], [1, 2]]), ["a", "b"])
    assert show(Group(Stack(), Pad(val=0), AsList()).host_batch(samples)) == expected
    assert show(Group([Stack(), Pad(val=0), AsList()]).host_batch(samples)) == expected
    assert show(Group((Stack(), AsList())).host_batch([[1, "a"]])) == (("int64", [1]), ["a"])
    nested = Group(Stack(), Group(Stack(), AsList()))
    assert show(nested.host_batch([(1, (2, "a"))])) == (("int64", [1]), (("int64", [2]), ["a"]))
    assert Group(AsList(), list, len).host_batch([(1, 2, 3), (4, 5, 6)]) == ([1, 4], [2, 5], 2)
    assert AsList()((1, "a")) == [1, "a"]


def test_called_directly_they_give_ndarrays():
    batch = Stack()([np.ones(2, "float32"), np.zeros(2, "float32")])
    assert batch.asnumpy().tolist() == [[1, 1], [0, 0]]
    first, second = Stack()([(1, 2.0), (3, 4.0)])
    assert (first.dtype, second.dtype) == ("int64", "float32")
    # And take them: what they give is what they were given.
    assert Stack()([batch, batch]).shape == (2, 2, 2)
    assert Pad(val=0)([batch[0], batch[1]]).shape == (2, 2)
    assert Append()([batch])[0].shape == (1, 2, 2)


@pytest.mark.parametrize(
    ("act", "error", "message"),
    [
        (lambda: Stack()(["a", "b"]), TypeError, r"a sample of type str cannot become .* batchify.AsList\(\)"),
        (lambda: Stack()([None]), TypeError, "a sample of type NoneType"),
        (lambda: Stack()([]), ValueError, "Stack got no samples"),
        (lambda: Stack()(5), TypeError, "Stack takes a list of samples, got int"),
        (lambda: Stack()([np.ones(2), np.ones(3)]), ValueError, r"got shapes \[\(2,\), \(3,\)\]; batchify.Pad"),
        (lambda: Stack()([(1, 2), (3,)]), ValueError, "each sample needs 2 elements, got 1 at place 1"),
        (lambda: Stack()([(1, 2), 3]), ValueError, "each sample needs 2 elements, got a int at place 1"),
        (lambda: Pad()([1, 2]), TypeError, r"got a int; for samples of several elements use Group"),
        (lambda: Pad()([(1, 2)]), TypeError, "got a tuple; for samples of several elements"),
        (lambda: Pad()([np.ones((2, 3)), np.ones(3)]), ValueError, r"one number of axes, got \[1, 2\]"),
        (lambda: Pad()([[[1, 2], [3]]]), ValueError, "parts have different lengths"),
        (lambda: Pad()(["ab"]), TypeError, "got a str"),
        (lambda: Pad(round_to=0), ValueError, "round_to must be at least 1, got 0"),
        (lambda: Group(Stack(), 3), TypeError, "Group takes functions, got 3 at place 1"),
        (lambda: Group([Stack()], Stack()), TypeError, "got both"),
        (lambda: Group(Stack(), Stack())([(1, 2), (1, 2, 3)]), ValueError, "needs 2 elements, got 3 at place 1"),
        (lambda: Group(Stack())([1]), ValueError, "needs 1 elements, got a int at place 0"),
    ],
)
def test_bad_input(act, error, message):
    with pytest.raises(error, match=message):
        act()


def test_repr_says_the_settings():
    assert repr(Pad(val=-1, round_to=8)) == "Pad(val=-1, dtype=None, round_to=8)"
    assert repr(Group(Stack(), AsList())) == "Group(fns=(Stack(), AsList()))"
    assert batchify.Stack is Stack
