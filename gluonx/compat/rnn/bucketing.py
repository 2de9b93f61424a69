"""Sentences as numbers, in batches of about one length."""

from __future__ import annotations

import bisect
import random
from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as onp

from gluonx.common.frames import warn
from gluonx.compat import nd
from gluonx.compat.io import DataBatch, DataDesc, DataIter

if TYPE_CHECKING:
    from gluonx.dtype import DTypeLike


__all__ = ["BucketSentenceIter", "encode_sentences"]


def encode_sentences(
    sentences: Sequence[Sequence[Hashable]],
    vocab: dict[Any, int] | None = None,
    invalid_label: int = -1,
    invalid_key: Any = "\n",
    start_label: int = 0,
    unknown_token: Any = None,
) -> tuple[list[list[int]], dict[Any, int]]:
    r"""Return sentences with numbers for words, and the number of each word.

    Parameters
    ----------
    sentences : list of lists of words
    vocab : dict, optional
        Numbers of words; by default a new one is made of the words in the order in which they come.
    invalid_label : int
        The number of `invalid_key`, which no word gets.
    invalid_key : object
        The word for what is no word, such as padding.
    start_label : int
        The first number.
    unknown_token : object, optional
        Of a given vocabulary, the word that stands for those that it lacks.

    Raises
    ------
    AssertionError
        If a given vocabulary lacks a word, and there is no `unknown_token`.

    Examples
    --------
    >>> encode_sentences([["a", "b"], ["b"]], start_label=1)
    ([[1, 2], [2]], {'\n': -1, 'a': 1, 'b': 2})
    """
    new = vocab is None
    known = {invalid_key: invalid_label} if vocab is None else vocab
    following = start_label
    coded: list[list[int]] = []
    for sentence in sentences:
        numbers = []
        for word in sentence:
            if word not in known:
                if not new and unknown_token is None:
                    raise AssertionError(f"the vocabulary has no word {word!r}; unknown_token would stand for it")
                if unknown_token is not None:
                    word = unknown_token
                if word not in known:
                    following += following == invalid_label
                    known[word] = following
                    following += 1
            numbers.append(known[word])
        coded.append(numbers)
    return coded, known


class BucketSentenceIter(DataIter):
    """Gives batches of sentences of about one length, padded to that of their bucket; labels are the next words.

    Parameters
    ----------
    sentences : list of lists of int
        As `encode_sentences` gives them.
    batch_size : int
    buckets : list of int, optional
        The lengths; by default those of which there are enough sentences for a batch.
    invalid_label : int
        What is padded with.
    data_name, label_name : str
    dtype : dtype-like
    layout : {'NT', 'TN'}
        Whether the batch or the time comes first.

    Raises
    ------
    ValueError
        For another layout, or if there is no bucket.
    """

    def __init__(
        self,
        sentences: Sequence[Sequence[int]],
        batch_size: int,
        buckets: Sequence[int] | None = None,
        invalid_label: int = -1,
        data_name: str = "data",
        label_name: str = "softmax_label",
        dtype: DTypeLike = "float32",
        layout: str = "NT",
    ) -> None:
        super().__init__(batch_size)
        if layout not in ("NT", "TN"):
            raise ValueError(f"layout must be 'NT' or 'TN', got {layout!r}")
        if not buckets:
            counts = onp.bincount([len(sentence) for sentence in sentences])
            buckets = [length for length, count in enumerate(counts.tolist()) if count >= batch_size]
        self.buckets = sorted(buckets)
        if not self.buckets:
            raise ValueError(f"there are no {batch_size} sentences of one length: give buckets")
        self.batch_size, self.invalid_label, self.dtype = batch_size, invalid_label, dtype
        self.data_name, self.label_name, self.layout = data_name, label_name, layout
        self.major_axis = layout.find("N")
        self.default_bucket_key = self.buckets[-1]
        rows: list[list[onp.ndarray]] = [[] for _ in self.buckets]
        longer = 0
        for sentence in sentences:
            bucket = bisect.bisect_left(self.buckets, len(sentence))
            if bucket == len(self.buckets):
                longer += 1
                continue
            row = onp.full(self.buckets[bucket], invalid_label, dtype)
            row[: len(sentence)] = sentence
            rows[bucket].append(row)
        if longer:
            warn(f"{longer} sentences are longer than the largest bucket, {self.buckets[-1]}, and are left out.")
        pairs = zip(rows, self.buckets, strict=True)
        self.data = [onp.asarray(found, dtype).reshape(-1, length) for found, length in pairs]
        starts = [(i, j) for i, x in enumerate(self.data) for j in range(0, len(x) - batch_size + 1, batch_size)]
        self.idx = starts
        self.curr_idx = 0
        self.nddata: list[Any] = []
        self.ndlabel: list[Any] = []
        self.reset()

    def _described(self, name: str, length: int) -> list[DataDesc]:
        shape = (self.batch_size, length) if self.major_axis == 0 else (length, self.batch_size)
        return [DataDesc(name, shape, layout=self.layout)]

    @property
    def provide_data(self) -> list[DataDesc]:
        """The description of the inputs in the largest bucket."""
        return self._described(self.data_name, self.default_bucket_key)

    @property
    def provide_label(self) -> list[DataDesc]:
        """The description of the labels in the largest bucket."""
        return self._described(self.label_name, self.default_bucket_key)

    def reset(self) -> None:
        """Begin an epoch: in random order, of batches and within buckets."""
        self.curr_idx = 0
        random.shuffle(self.idx)
        self.nddata, self.ndlabel = [], []
        for rows in self.data:
            onp.random.shuffle(rows)
            following = onp.full_like(rows, self.invalid_label)
            following[:, :-1] = rows[:, 1:]
            self.nddata.append(nd.array(rows, dtype=self.dtype))
            self.ndlabel.append(nd.array(following, dtype=self.dtype))

    def next(self) -> DataBatch:
        """Return the next batch, whose ``bucket_key`` is its length; StopIteration at the end."""
        if self.curr_idx == len(self.idx):
            raise StopIteration
        bucket, row = self.idx[self.curr_idx]
        self.curr_idx += 1
        arrays = [found[bucket][row : row + self.batch_size] for found in (self.nddata, self.ndlabel)]
        data, label = arrays if self.major_axis == 0 else [x.T for x in arrays]
        length = self.buckets[bucket]
        return DataBatch(
            [data],
            [label],
            pad=0,
            bucket_key=length,
            provide_data=self._described(self.data_name, length),
            provide_label=self._described(self.label_name, length),
        )
