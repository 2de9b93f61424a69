"""Samplers and batch samplers, against what they promise for any length."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gluonx import random as gluonx_random
from gluonx.data import BatchSampler, FilterSampler, IntervalSampler, RandomSampler, Sampler, SequentialSampler

lengths = st.integers(0, 60)


@given(lengths, st.integers(-5, 5))
def test_sequential(length, start):
    sampler = SequentialSampler(length, start)
    assert list(sampler) == list(sampler) == list(range(start, start + length))
    assert len(sampler) == length


@given(lengths)
def test_random_is_a_permutation(length):
    sampler = RandomSampler(length)
    assert len(sampler) == length
    assert sorted(sampler) == list(range(length))
    assert all(type(i) is int for i in sampler)


def test_random_repeats_with_the_seed_and_differs_between_passes():
    sampler = RandomSampler(100)
    gluonx_random.seed(5)
    first = [list(sampler), list(sampler)]
    gluonx_random.seed(5)
    assert first == [list(sampler), list(sampler)]
    assert first[0] != first[1]


def test_filter():
    seen = []
    sampler = FilterSampler(lambda x: seen.append(x) or x > 2, [1, 3, 2, 5])
    assert (list(sampler), len(sampler), seen) == ([1, 3], 2, [1, 3, 2, 5])
    assert list(sampler) == [1, 3] and len(seen) == 4


@pytest.mark.dear
@given(st.integers(1, 60), st.data())
def test_interval(length, data):
    interval = data.draw(st.integers(1, length))
    every = IntervalSampler(length, interval)
    assert sorted(every) == list(range(length)) and len(every) == length
    once = IntervalSampler(length, interval, rollover=False)
    assert list(once) == list(range(0, length, interval)) and len(once) == len(list(once))
    assert list(every)[: len(once)] == list(once)


@given(lengths, st.integers(1, 20), st.sampled_from(["keep", "discard", "rollover"]), st.integers(1, 4))
def test_batches(length, size, last_batch, passes):
    """Order is kept, len is what comes, all batches but a kept last one are full, and rollover loses nothing."""
    sampler = BatchSampler(SequentialSampler(length), size, last_batch)
    expected = itertools.cycle(range(length))
    for _ in range(passes):
        count = len(sampler)
        batches = list(sampler)
        assert len(batches) == count
        assert all(len(batch) == size for batch in batches[:-1])
        flat = [i for batch in batches for i in batch]
        if last_batch == "keep":
            assert flat == list(range(length))
        elif last_batch == "discard":
            assert flat == list(range(length // size * size)) and all(len(batch) == size for batch in batches)
        else:
            assert flat == list(itertools.islice(expected, len(flat))) and all(len(batch) == size for batch in batches)


def test_batches_of_any_iterable_with_a_length():
    assert list(BatchSampler(["a", "b", "c"], 2)) == [["a", "b"], ["c"]]


def test_a_handed_out_batch_is_the_receivers():
    sampler = BatchSampler(SequentialSampler(5), 2, "rollover")
    first = list(sampler)
    for batch in first:
        batch.clear()
    assert list(sampler) == [[4, 0], [1, 2], [3, 4]]


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: BatchSampler(range(3), 0), ValueError, "batch_size must be at least 1, got 0"),
        (lambda: BatchSampler(range(3), 1.5), TypeError, "batch_size must be an integer, got 1.5"),
        (lambda: BatchSampler(range(3), True), TypeError, "batch_size must be an integer, got True"),
        (lambda: BatchSampler(range(3), 1, "drop"), ValueError, "last_batch must be one of 'keep', 'discard'"),
        (lambda: RandomSampler(-1), ValueError, "length must be at least 0, got -1"),
        (lambda: SequentialSampler("3"), TypeError, "length must be an integer, got '3'"),
        (lambda: IntervalSampler(3, 4), ValueError, "got interval 4 and length 3"),
        (lambda: iter(Sampler()), NotImplementedError, "Sampler must define __iter__"),
    ],
)
def test_bad_input(make, error, message):
    with pytest.raises(error, match=message):
        make()
