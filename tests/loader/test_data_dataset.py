"""Datasets, and what is made of them. The numbers of shard, take and the rest are those of MXNet 2.0.0b1."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gluonx.data import ArrayDataset, Dataset, RandomSampler, SequentialSampler, SimpleDataset
from gluonx.data._host import OnHost, gatherer

ten = SimpleDataset(list(range(10)))


@given(st.integers(0, 40), st.integers(1, 12))
def test_shards_are_the_dataset(length, count):
    whole = SimpleDataset(list(range(length)))
    shards = [list(whole.shard(count, i)) for i in range(count)]
    assert [i for shard in shards for i in shard] == list(range(length))
    sizes = [len(shard) for shard in shards]
    assert max(sizes) - min(sizes) <= 1 and sizes == sorted(sizes, reverse=True)


def test_shard_as_mxnet():
    assert [list(ten.shard(3, i)) for i in range(3)] == [[0, 1, 2, 3], [4, 5, 6], [7, 8, 9]]
    assert [len(ten.shard(12, i)) for i in (0, 9, 10, 11)] == [1, 1, 0, 0]


@pytest.mark.parametrize("index", [-1, 3])
def test_shard_out_of_range(index):
    with pytest.raises(ValueError, match=rf"got index {index} of 3 shards"):
        ten.shard(3, index)


def test_take_filter_sample():
    assert list(ten.take(3)) == [0, 1, 2]
    assert list(ten.take(None)) == list(ten.take(30)) == list(range(10))
    assert len(ten.take(0)) == 0
    assert list(ten.filter(lambda x: x % 3 == 0)) == [0, 3, 6, 9]
    assert list(ten.sample(SequentialSampler(3, 2))) == [2, 3, 4]
    drawn = ten.sample(RandomSampler(10))
    assert list(drawn) == list(drawn) and sorted(drawn) == list(range(10))
    with pytest.raises(ValueError, match="at least 0, got -1"):
        ten.take(-1)
    with pytest.raises(TypeError, match=r"needs a gluonx.data.Sampler, got list"):
        ten.sample([1, 2])


def test_transform_is_lazy_unless_told():
    calls = []
    lazy = ten.transform(lambda x: calls.append(x) or x * 2)
    assert not calls and lazy[3] == 6 and calls == [3]
    eager = ten.transform(lambda x: calls.append(x) or x * 2, lazy=False)
    assert len(calls) == 11
    assert list(eager) == [2 * i for i in range(10)] and len(calls) == 11
    assert len(lazy) == len(eager) == 10


def test_transform_of_several_elements():
    pairs = ArrayDataset([1, 2], [3, 4])
    assert pairs.transform(lambda x, y: (x + y, y))[0] == (4, 3)
    assert pairs.transform_first(lambda x: 10 * x)[1] == (20, 4)
    assert list(pairs.transform_first(lambda x: 10 * x, lazy=False)) == [(10, 3), (20, 4)]
    assert ten.transform_first(lambda x: 10 * x)[3] == 30
    # A list is one thing, only a tuple is taken apart.
    assert SimpleDataset([[1, 2]]).transform(len)[0] == 2


def test_array_dataset():
    x, y = np.arange(12.0).reshape(4, 3), [7, 8, 9, 10]
    dataset = ArrayDataset(x, y)
    row, label = dataset[-1]
    assert np.array_equal(row, x[3]) and label == 10 and len(dataset) == 4
    assert np.shares_memory(row, x)
    assert isinstance(ArrayDataset(x)[0], np.ndarray)
    assert ArrayDataset(ten, list("abcdefghij"))[2] == (2, "c")
    with pytest.raises(IndexError):
        dataset[4]


def test_array_dataset_bad_input():
    with pytest.raises(ValueError, match="at least one array"):
        ArrayDataset()
    with pytest.raises(ValueError, match=r"got lengths \[3, 4\]"):
        ArrayDataset([1, 2, 3], np.ones(4))


def test_interface_refuses():
    with pytest.raises(NotImplementedError, match="Mine must define __getitem__"):
        type("Mine", (Dataset,), {})()[0]


def _host(tree):
    return tree.array if isinstance(tree, OnHost) else tree


@pytest.mark.dear
@given(st.lists(st.integers(-6, 5), min_size=1, max_size=10), st.booleans())
def test_gather_is_reading_one_by_one(indices, through_sample):
    x, y = np.arange(18.0, dtype=np.float32).reshape(6, 3), np.arange(6)
    dataset = ArrayDataset(x, y, [i / 2 for i in range(6)])
    if through_sample:
        dataset = dataset.sample(SequentialSampler(6)).take(6)
    columns = [_host(c) for c in gatherer(dataset)(indices)]
    for place, index in enumerate(indices):
        for column, value in zip(columns, dataset[index], strict=True):
            assert np.array_equal(column[place], value)


def test_gather_stands_back():
    """Whoever overrides how a sample is read, or stores what is no array, gets its samples read one by one."""

    class Doubled(ArrayDataset):
        def __getitem__(self, idx):
            return 2 * super().__getitem__(idx)

    assert gatherer(Doubled(np.ones(3)))([0, 1]) is None
    assert gatherer(ArrayDataset(["a", "b"], ["c", "d"]))([0]) is None
    assert gatherer(ArrayDataset(np.array(["a", "b"])))([0]) is None
    assert gatherer(ten.transform(str)) is None
    assert gatherer(ten.transform(str).take(2))([0]) is None
    assert gatherer(ArrayDataset(np.ones(3)))([slice(2)]) is None


def test_a_gathered_batch_is_a_copy():
    x = np.arange(4.0, dtype=np.float32)
    batch = _host(gatherer(ArrayDataset(x))([0, 1]))
    x[:] = -1
    assert batch.tolist() == [0, 1]
