"""The interface of iterators that are C++ in MXNet, and what those that read files have in common."""

from __future__ import annotations

import itertools
from abc import abstractmethod
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as onp

from gluonx.compat.io import parameters as par
from gluonx.compat.io.batches import DataBatch, DataDesc, DataIter
from gluonx.deferred.values.core import new_handle
from gluonx.device import resolve
from gluonx.dtype import on_device
from gluonx.errors import ArgumentError, FormatError
from gluonx.sparse import BaseSparseNDArray

if TYPE_CHECKING:
    from gluonx.np.handle import ndarray


_DTYPES = ("bfloat16", "float16", "float32", "float64", "int32", "int64", "int8", "uint8")
COMMON: par.Table = {
    "batch_size": (par.positive, par.REQUIRED),
    "round_batch": (par.flag, True),
    "prefetch_buffer": (par.integer, 4),
    "ctx": (par.choice("cpu", "cpu_pinned", "gpu"), "gpu"),
    "device_id": (par.integer, -1),
    "dtype": (par.maybe(par.choice(*_DTYPES)), None),
}
# Parameters that some iterator of MXNet has or had, and that another one leaves unread.
_ELSEWHERE = frozenset((
    "crop_x_start", "crop_y_start", "cutoff", "data_csv", "data_libsvm", "data_shape", "dist_num_workers",
    "dist_worker_id", "flat", "image", "input_shape", "label", "label_csv", "label_libsvm", "label_shape",
    "label_width", "max_aspect_ratio", "max_crop_size", "max_random_contrast", "max_random_illumination", "mean_a",
    "mean_b", "mean_g", "mean_img", "mean_r", "min_crop_size", "mirror", "num_parts", "pad", "part_index",
    "path_imgidx", "path_imglist", "path_imgrec", "preprocess_threads", "rand_crop", "rand_mirror", "resize",
    "round_batch", "scale", "seed", "seed_aug", "shuffle", "silent", "std_a", "std_b", "std_g", "std_r", "verbose",
))  # fmt: skip


def taken(owner: str, table: par.Table, given: Mapping[str, Any]) -> Any:
    """Return the parameters of one iterator, as attributes."""
    return par.read(owner, table, given, _ELSEWHERE)


def need_part(owner: str, parts: int, index: int) -> tuple[int, int]:
    """Return the two, or raise an ArgumentError if there is no such part."""
    if not 0 <= index < parts:
        told = f"got part_index={index} and num_parts={parts}"
        raise ArgumentError(f"{owner}: part_index must be from 0 to num_parts - 1, {told}")
    return parts, index


class HostBatch(NamedTuple):
    """A batch that is being made on the host: its arrays are complete when all of `parts` are."""

    data: Any  # a NumPy array, or a csr matrix of such
    label: Any
    index: onp.ndarray
    parts: list[Future[Any]]
    pad: int
    last: bool  # of its epoch


class MXDataIter(DataIter):
    """The interface of iterators that are C++ in MXNet: one array of data and one of labels a batch.

    The arrays are np arrays, or NDArrays in a program for MXNet 1, as those of its blocks. `getdata` and `getlabel`
    give them themselves, and not in lists as those of other iterators.
    """

    def __init__(self, batch_size: int, data: DataDesc, label: DataDesc) -> None:
        super().__init__(batch_size)
        self.provide_data, self.provide_label = [data], [label]
        self._current: Any = None
        self._repeats = False

    def _next_host(self) -> HostBatch | None:
        raise NotImplementedError(f"{type(self).__name__} is an interface; use one of the iterators of mx.io")

    def debug_skip_load(self) -> None:
        """Give the batch that comes next again and again, to measure how fast all but loading is."""
        self._repeats = True

    def iter_next(self) -> bool:
        """Go on to the next batch; whether there is one."""
        if self._repeats and self._current is not None:
            return True
        host = self._next_host()
        self._current = None
        if host is not None:
            device = resolve(None)  # nobody else has the arrays, so JAX may use them where they lie
            data, label = (
                array if isinstance(array, BaseSparseNDArray) else new_handle(on_device(array, device))
                for array in (host.data, host.label)
            )
            self._current = (data, label, host.pad, host.index)
        return self._current is not None

    def next(self) -> DataBatch:
        """Return the next batch; StopIteration after the last."""
        if not self.iter_next():
            raise StopIteration
        data, label, pad, index = self._current
        return DataBatch([data], [label], pad, index)

    def _present(self, place: int) -> Any:
        if self._current is None:
            raise ValueError(f"{type(self).__name__}: there is no batch at present; call next or iter_next first")
        return self._current[place]

    def getdata(self) -> ndarray:
        """Return the array of data of the present batch."""
        return self._present(0)

    def getlabel(self) -> ndarray:
        """Return the array of labels of the present batch."""
        return self._present(1)

    def getpad(self) -> int:
        """Return the number of rows at the end of the present batch that are padding."""
        return self._present(2)

    def getindex(self) -> onp.ndarray:
        """Return the numbers of the samples in the present batch."""
        return self._present(3)

    def getitems(self) -> tuple[Any, Any]:
        """Return the arrays of data and labels of the present batch."""
        return self.getdata(), self.getlabel()


class Streaming(MXDataIter):
    """An iterator that reads samples from files, ahead of what is asked for, in threads of its own.

    A *pass* goes once through all samples, and an epoch is one pass, but for its last batch: with `round_batch` it is
    filled up with the first samples of the next pass, and the next epoch begins after these. Without it the rest is
    zeros. After `reset` in the middle of an epoch the next one begins with a new pass.

    One thread reads; a subclass may hand parts of its work to others. At most `ahead` batches are in memory that
    nobody asked for. The threads end with the iterator, or with `close`.
    """

    def __init__(
        self, batch_size: int, data: DataDesc, label: DataDesc, round_batch: bool, ahead: int, threads: int = 1
    ) -> None:
        super().__init__(batch_size, data, label)
        self._round, self._ahead, self._threads = round_batch, max(ahead, 1), threads
        self._reader: ThreadPoolExecutor | None = None
        self._workers: ThreadPoolExecutor | None = None
        self._batches: deque[Future[HostBatch | None]] = deque()
        self._passes = self._first_pass = 0  # how many were begun, and which one this epoch began in
        self._samples: Iterator[Any] = iter(())
        self._begun = False  # this epoch: something was read
        self._ended = False  # this epoch: all was read, though not handed out perhaps
        self._over = False  # this epoch: all was handed out
        self._rolls = False  # the next epoch goes on within the present pass

    @abstractmethod
    def _pass(self, number: int) -> Iterator[Any]:
        """Return the samples of a pass; they must not refer to the iterator, which ends when nobody does."""

    @abstractmethod
    def _make(self, samples: list[Any]) -> tuple[Any, Any, Any, list[Future[Any]]]:
        """Return data, labels and numbers of these samples, and what these arrays are complete with.

        Where there are fewer samples than rows, the last rows are zeros.
        """

    def reset(self) -> None:
        """Begin the next epoch."""
        self._drain()
        if self._begun and not (self._over and self._rolls):
            # What was read ahead must not matter: the pass after that in which the epoch began is the next one.
            self._samples, self._passes = iter(()), self._first_pass + 1
        self._begun = self._ended = self._over = False
        self._current = None

    def close(self) -> None:
        """End the threads. After another `reset` there are new ones."""
        self._drain()
        for pool in (self._reader, self._workers):
            if pool is not None:
                pool.shutdown()
        self._reader = self._workers = None
        self._over = True

    def _drain(self) -> None:
        """Stop reading ahead, and wait until no thread works any more."""
        for batch in self._batches:
            batch.cancel()
        while self._batches:
            batch = self._batches.popleft()
            if not batch.cancelled() and batch.exception() is None:
                _finish(batch.result())

    def _submit(self, fn: Callable[..., Any], *args: Any) -> Future[Any]:
        """Hand a part of a batch to the other threads."""
        if self._workers is None:
            self._workers = ThreadPoolExecutor(self._threads, "gluonx.io")
        return self._workers.submit(fn, *args)

    def _next_host(self) -> HostBatch | None:
        if self._over:
            return None
        if self._reader is None:
            self._reader = ThreadPoolExecutor(1, "gluonx.io")
        while len(self._batches) < self._ahead:
            self._batches.append(self._reader.submit(self._read))
        made = None
        try:
            made = self._batches.popleft().result()
            for part in made.parts if made is not None else ():
                part.result()
        except BaseException:
            _finish(made)
            self._drain()
            self._rolls, self._over = False, True
            raise
        if made is None or made.last:
            self._drain()
            self._over = True
        return made

    def _read(self) -> HostBatch | None:
        """Begin to make the next batch of this epoch, in the reading thread; None if there is none."""
        if self._ended:
            return None
        first, self._begun, self._rolls = not self._begun, True, False
        samples = list(itertools.islice(self._samples, self.batch_size))
        if first:
            samples = samples or self._of_next_pass(self.batch_size)
            self._first_pass = self._passes - 1
        missing = self.batch_size - len(samples)
        self._ended = bool(missing)
        if not samples:
            return None
        self._rolls = bool(missing) and self._round
        while self._rolls and len(samples) < self.batch_size:
            samples += self._of_next_pass(self.batch_size - len(samples))
        return HostBatch(*self._make(samples), missing, self._ended)

    def _of_next_pass(self, count: int) -> list[Any]:
        self._samples = self._pass(self._passes)
        self._passes += 1
        found = list(itertools.islice(self._samples, count))
        if not found:
            raise FormatError(f"{type(self).__name__}: there is no sample in {self._where()}")
        return found

    def _where(self) -> str:
        """Return the names of the files, for messages."""
        raise NotImplementedError(f"{type(self).__name__} must define _where()")


def _finish(batch: HostBatch | None) -> None:
    """Wait until nothing writes to a batch that nobody wants."""
    for part in batch.parts if batch is not None else ():
        if not part.cancel():
            part.exception()
