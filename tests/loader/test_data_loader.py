"""The DataLoader: what comes, in which order, from this thread, from threads and from processes."""

import threading

import numpy as np
import pytest

from gluonx import random as gluonx_random
from gluonx.data import (
    ArrayDataset,
    BatchSampler,
    DataLoader,
    RandomSampler,
    SequentialSampler,
    SimpleDataset,
    batchify,
)
from gluonx.data.dataloader import default_batchify_fn
from gluonx.np.handle import ndarray
from lib import data_samples

KINDS = {
    "here": {},
    "threads": {"num_workers": 2, "thread_pool": True},
    "processes": {"num_workers": 2},
}
every_kind = pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)

x = np.arange(42, dtype=np.float32).reshape(14, 3)
y = np.arange(14)


@pytest.fixture(scope="module", autouse=True)
def nursery():
    """One pool kept open, so that the tests fork from one nursery in place of starting one each."""
    with DataLoader(data_samples.Squares(), 1, num_workers=1) as loader:
        next(iter(loader))
        yield


def lists(batches):
    return [[part.asnumpy().tolist() for part in batch] for batch in batches]


@pytest.mark.dear
@every_kind
def test_batches_are_slices_of_the_data(kind):
    with DataLoader(ArrayDataset(x, y), batch_size=4, **kind) as loader:
        assert len(loader) == 4
        for _ in range(2):
            batches = list(loader)
            assert all(type(batch) is list and isinstance(part, ndarray) for batch in batches for part in batch)
            assert [str(part.dtype) for part in batches[0]] == ["float32", "int64"]
            assert lists(batches) == [[x[i : i + 4].tolist(), y[i : i + 4].tolist()] for i in (0, 4, 8, 12)]


@every_kind
def test_samples_read_one_by_one(kind):
    with DataLoader(data_samples.Squares(5), 2, **kind) as loader:
        batches = list(loader)
    assert lists(batches) == [[[0, 1], [0, 1]], [[2, 3], [4, 9]], [[4], [16]]]
    assert [str(part.dtype) for part in batches[0]] == ["int64", "float32"]


@every_kind
def test_a_list_is_a_dataset(kind):
    with DataLoader([1.5, 2.5, 3.5], 2, **kind) as loader:
        assert [batch.asnumpy().tolist() for batch in loader] == [[1.5, 2.5], [3.5]]
        assert [str(batch.dtype) for batch in loader] == ["float32", "float32"]


@every_kind
@pytest.mark.parametrize("last_batch", ["keep", "discard", "rollover"])
def test_last_batch(kind, last_batch):
    with DataLoader(y, 4, last_batch=last_batch, **kind) as loader:
        sizes = []
        for _ in range(3):
            count = len(loader)
            epoch = [batch.shape[0] for batch in loader]
            assert len(epoch) == count
            sizes.append(epoch)
    expected = {
        "keep": [[4, 4, 4, 2]] * 3,
        "discard": [[4, 4, 4]] * 3,
        "rollover": [[4, 4, 4], [4, 4, 4, 4], [4, 4, 4]],
    }
    assert sizes == expected[last_batch]


def test_a_seed_gives_one_order_whatever_the_workers():
    orders = []
    for kind in KINDS.values():
        gluonx_random.seed(11)
        with DataLoader(ArrayDataset(y), 4, shuffle=True, **kind) as loader:
            orders.append([np.concatenate([b.asnumpy() for b in loader]).tolist() for _ in range(2)])
    assert orders[0] == orders[1] == orders[2]
    assert orders[0][0] != orders[0][1]
    assert all(sorted(epoch) == y.tolist() for epoch in orders[0])


def test_random_streams_of_processes_repeat_with_the_seed():
    """However many workers there are, and whichever of them makes a batch; each batch draws something else."""

    def drawn(workers):
        gluonx_random.seed(3)
        with DataLoader(data_samples.Draws(), 3, num_workers=workers) as loader:
            return np.concatenate([b.asnumpy() for _ in range(2) for b in loader])

    one = drawn(1)
    np.testing.assert_array_equal(one, drawn(3))
    assert np.unique(one[:, 0]).size == np.unique(one[:, 1]).size == np.unique(one[:, 2]).size == 24


@pytest.mark.parametrize("kind", [KINDS["threads"], {"num_workers": 3}], ids=["threads", "processes"])
def test_order_is_kept_when_workers_finish_out_of_order(kind):
    with DataLoader(data_samples.Slow(), 2, **kind) as loader:
        assert np.concatenate([b.asnumpy() for b in loader]).tolist() == list(range(24))


def test_processes_share_the_work():
    import os

    with DataLoader(data_samples.Pid(), 1, num_workers=2) as loader:
        pids = {int(b.asnumpy()[0]) for b in loader}
    assert os.getpid() not in pids and len(pids) == 2


@every_kind
def test_users_batchify_function(kind):
    with DataLoader(data_samples.Squares(4), 2, batchify_fn=data_samples.sums, **kind) as loader:
        batches = list(loader)
    assert [type(b) for b in batches] == [np.ndarray] * 2
    assert [b.tolist() for b in batches] == [[0, 2], [6, 12]]
    with DataLoader(data_samples.Squares(4), 2, batchify_fn=data_samples.stacked, **kind) as loader:
        batches = list(loader)
    assert all(isinstance(b, ndarray) and str(b.dtype) == "int64" for b in batches)
    assert [b.asnumpy().tolist() for b in batches] == [[0, 1], [2, 3]]


@every_kind
def test_groups_of_batchify_functions(kind):
    words = SimpleDataset([(1, [1, 2], "a"), (2, [3], "b"), (3, [], "c")])
    group = batchify.Group(batchify.Stack(), batchify.Pad(val=-1), batchify.AsList())
    with DataLoader(words, 2, batchify_fn=group, **kind) as loader:
        (label, text, name), (_, _, last) = list(loader)
    assert type(name) is list and name == ["a", "b"] and last == ["c"]
    assert label.asnumpy().tolist() == [1, 2] and text.asnumpy().tolist() == [[1, 2], [3, -1]]


@every_kind
def test_arrays_of_a_list_batch_stay_as_they_are(kind):
    with DataLoader(ArrayDataset(x), 2, batchify_fn=batchify.AsList(), **kind) as loader:
        batch = next(iter(loader))
    assert [type(row) for row in batch] == [np.ndarray] * 2


@every_kind
def test_big_batches_and_dicts(kind):
    big = SimpleDataset([{"x": np.full((64, 1024), i, np.float32), "n": i} for i in range(4)])
    with DataLoader(big, 2, **kind) as loader:
        first, second = list(loader)
    # Both are held: the second did not overwrite the first.
    assert first["x"].shape == (2, 64, 1024)
    assert first["x"].asnumpy().mean((1, 2)).tolist() == [0, 1]
    assert second["x"].asnumpy().mean((1, 2)).tolist() == [2, 3]
    assert second["n"].asnumpy().tolist() == [2, 3]


@every_kind
def test_datasets_over_ndarrays(kind):
    from gluonx import np as gnp

    dataset = ArrayDataset(gnp.array(x), gnp.array(y, dtype="int32"))
    assert isinstance(dataset[0][0], np.ndarray) and dataset[3][1] == 3
    with DataLoader(dataset, 7, **kind) as loader:
        assert lists(loader) == [[x[:7].tolist(), y[:7].tolist()], [x[7:].tolist(), y[7:].tolist()]]
    rows = SimpleDataset([gnp.array(row) for row in x[:4]])
    with DataLoader(rows, 2, **kind) as loader:
        assert [b.asnumpy().tolist() for b in loader] == [x[:2].tolist(), x[2:4].tolist()]


def test_samplers():
    assert lists(DataLoader(ArrayDataset(y, y), 2, sampler=[3, 1, 2])) == [[[3, 1]] * 2, [[2]] * 2]
    assert [b.asnumpy().tolist() for b in DataLoader(y, batch_sampler=[[5], [1, 2, 3]])] == [[5], [1, 2, 3]]
    loader = DataLoader(y, batch_sampler=BatchSampler(SequentialSampler(5), 2, "discard"))
    assert len(loader) == 2
    assert len(DataLoader(y, 5, sampler=RandomSampler(7))) == 2


@every_kind
def test_nothing_and_less_than_a_batch(kind):
    with DataLoader([], 3, **kind) as loader:
        assert list(loader) == [] and len(loader) == 0
    with DataLoader(y, 100, **kind) as loader:
        assert [b.shape for b in loader] == [(14,)]


@every_kind
def test_two_passes_at_once(kind):
    with DataLoader(y[:4], 2, **kind) as loader:
        pairs = [(a.asnumpy().tolist(), b.asnumpy().tolist()) for a in loader for b in loader]
    assert pairs == [([0, 1], [0, 1]), ([0, 1], [2, 3]), ([2, 3], [0, 1]), ([2, 3], [2, 3])]


@pytest.mark.parametrize("prefetch", [0, 1, 5, None])
def test_prefetch_is_bounded(prefetch):
    started, gate = [], threading.Semaphore(0)

    class Counting:
        def __len__(self):
            return 20

        def __getitem__(self, index):
            started.append(index)
            return index

    bound = 4 if prefetch is None else prefetch
    with DataLoader(Counting(), 1, num_workers=2, thread_pool=True, prefetch=prefetch) as loader:
        batches = iter(loader)
        for taken in range(1, 6):
            next(batches)
            gate.acquire(timeout=0.02)  # time enough for workers to run ahead
            assert len(started) <= taken + bound
        assert len(started) == min(5 + bound, 20)


def test_auto_reload_begins_the_next_epoch_early():
    seen = []
    dataset = SimpleDataset(range(4)).transform(lambda i: seen.append(i) or i)
    with DataLoader(dataset, 2, num_workers=1, thread_pool=True, auto_reload=True) as loader:
        for epoch in range(3):
            assert np.concatenate([b.asnumpy() for b in loader]).tolist() == [0, 1, 2, 3]
            for _ in range(100):
                if len(seen) == 4 * (epoch + 2):
                    break
                threading.Event().wait(0.01)
            assert len(seen) == 4 * (epoch + 2)


def test_default_batchify_fn_by_name():
    batch = default_batchify_fn([(1, 2.0), (3, 4.0)])
    assert lists([batch]) == [[[1, 3], [2, 4]]]
    loader = DataLoader(ArrayDataset(x, y), 7, batchify_fn=default_batchify_fn)
    assert lists(loader)[0][1] == y[:7].tolist()


@pytest.mark.parametrize(
    ("kwargs", "message"),
    [
        ({}, "needs batch_size"),
        ({"batch_size": 2, "shuffle": True, "sampler": [0]}, "sampler or shuffle, not both"),
        ({"batch_size": 2, "batch_sampler": [[0]]}, "batch_sampler excludes batch_size, shuffle"),
        ({"last_batch": "keep", "batch_sampler": [[0]]}, "batch_sampler excludes"),
        ({"batch_size": 2, "timeout": 0}, "timeout must be above 0"),
        ({"batch_size": 0}, "batch_size must be at least 1, got 0"),
        ({"batch_size": 2, "last_batch": "drop"}, "got 'drop'"),
    ],
)
def test_bad_arguments(kwargs, message):
    with pytest.raises(ValueError, match=message):
        DataLoader(y, **kwargs)


@pytest.mark.dear
def test_negative_numbers_of_workers_mean_none():
    loader = DataLoader(y, 7, num_workers=-1, prefetch=-1)
    assert len(list(loader)) == 2


def test_arguments_that_only_mxnet_needs():
    loader = DataLoader(y, 7, pin_memory=True, pin_device_id=1, try_nopython=True)
    assert len(list(loader)) == 2


@pytest.mark.dear
@pytest.mark.parametrize("workers", [0, 1])
def test_an_epoch_that_began_with_samples_rolled_over_is_resumed(workers):
    def loader():
        settings = {"batch_size": 3, "shuffle": True, "last_batch": "rollover"}
        return DataLoader(list(range(11)), **settings, num_workers=workers, thread_pool=True)

    first = loader()
    list(first)  # leaves two samples
    epoch = iter(first)
    next(epoch), next(epoch)
    kept = first.state_dict()
    second = loader()
    second.load_state_dict(kept)
    assert len(kept["left"]) == 2
    assert [b.tolist() for b in second] == [b.tolist() for b in epoch]
    assert second.state_dict() == first.state_dict()
