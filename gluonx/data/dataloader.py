"""The DataLoader: batches of a dataset, in order, made ahead of time by threads or processes.

What it promises:

- batches come in the sampler's order, whatever the number of workers, and one seed gives the same shuffles with any;
- at most `prefetch` batches are under way or waiting, and none is held once it was handed out;
- an exception in a dataset, transform or batchify function arrives in the loop, with its type, its traceback and the
  sample it comes from; a worker that dies raises as well, and one that hangs does so after `timeout` seconds;
- when the loader is closed or no longer referred to, its threads and processes are gone.

Worker processes are not forked from this process, in which JAX has threads and maybe an accelerator, but from a clean
one (see ``_nursery``); what they make crosses by shared memory, and the arrays are made here.
"""

from __future__ import annotations

import concurrent.futures
import weakref
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Generic, overload

from gluonx.common.frames import warn
from gluonx.data import _nursery
from gluonx.data._host import device_batch, shapes_of
from gluonx.data._pool import WorkerPool, process_pool, thread_pool
from gluonx.data._shipping import CannotSendError, pack
from gluonx.data._worker import Task, fetch_seeded
from gluonx.data.batchify import Stack
from gluonx.data.dataset import Batch, Dataset
from gluonx.data.sampler import BatchSampler, RandomSampler, SequentialSampler
from gluonx.ops.prng import get_state, host_rng, set_state
from gluonx.parallel.batches import Share, same_epoch, same_shapes, share_of
from gluonx.sharding import batch_sharding, current_mesh

__all__ = ["DataLoader", "default_batchify_fn", "default_mp_batchify_fn"]

_FALLBACK = (
    "the dataset cannot be sent to worker processes, so one background thread reads it instead "
    "(pass thread_pool=True to have {count} threads, if it allows reading from several). The reason: {reason}"
)
_HUNG = (
    "the DataLoader waited {seconds:g} s for batch {number} of the epoch (samples at {indices}). A worker hangs, or "
    "the batch takes longer than that: then pass a larger timeout to DataLoader"
)


class DataLoader(Generic[Batch]):
    """Loads batches of a dataset, in this thread or with workers.

    Parameters
    ----------
    dataset : Dataset or sequence
        Where samples come from.
    batch_size : int
        Samples in a batch. Required unless `batch_sampler` is given.
    shuffle : bool, default False
        Whether each epoch has a new random order.
    sampler : Sampler or iterable with a length, optional
        The order of the samples; excludes `shuffle`.
    last_batch : {'keep', 'discard', 'rollover'}, optional
        What becomes of samples that do not fill the last batch, 'keep' unless given; see :class:`BatchSampler`.
    batch_sampler : iterable of lists of indices, optional
        The batches; excludes the four before it.
    batchify_fn : callable, optional
        Makes a batch of a list of samples: ``batchify.Stack()`` unless given. In a worker process it runs there.
    num_workers : int, default 0
        How many worker processes (or threads) prepare batches. With 0 they are made in this thread when asked for.
    pin_memory, pin_device_id
        Accepted for MXNet's sake, without effect: JAX stages its own transfers.
    prefetch : int, optional
        The most batches prepared ahead, twice `num_workers` unless given.
    thread_pool : bool, default False
        Whether workers are threads: no start-up, no copies, any dataset that several threads may read at once; best
        where the work is done by NumPy or in C.
    timeout : float, default 120
        Seconds to wait for a batch of a worker before raising.
    try_nopython : bool, optional
        Accepted for MXNet's sake, without effect: whole batches are gathered in C where the dataset allows it.
    auto_reload : bool, default False
        Whether workers start with the next epoch as soon as one ends.

    Raises
    ------
    ValueError
        When arguments exclude each other, or are out of range.

    Notes
    -----
    Worker processes import what they need by name. A dataset that only this program knows (of a notebook or a script
    without ``if __name__ == "__main__":``, or with a lambda in it) cannot be sent to them: then one background thread
    does the work, and a warning says so. In worker processes, ``random``, ``numpy.random`` and ``gluonx.random`` are
    seeded for each batch from ``gluonx.random.seed``, so that augmentations repeat as well. The transforms of
    ``gluonx.data.vision`` draw the same with any number of workers, and with none.

    Examples
    --------
    >>> import numpy
    >>> from gluonx.data import ArrayDataset
    >>> loader = DataLoader(ArrayDataset(numpy.ones((5, 3), numpy.float32), numpy.arange(5)), batch_size=2)
    >>> [x.shape for x, y in loader]
    [(2, 3), (2, 3), (1, 3)]
    """

    @overload  # whatever `batchify_fn` makes
    def __init__(
        self,
        dataset: Any,
        batch_size: int | None = None,
        shuffle: bool = False,
        sampler: Iterable[Any] | None = None,
        last_batch: str | None = None,
        batch_sampler: Iterable[Any] | None = None,
        *,
        batchify_fn: Callable[[Any], Batch],
        num_workers: int = 0,
        pin_memory: bool = False,
        pin_device_id: int = 0,
        prefetch: int | None = None,
        thread_pool: bool = False,
        timeout: float = 120,
        try_nopython: bool | None = None,
        auto_reload: bool = False,
    ) -> None: ...
    @overload  # what the data set says of its batches
    def __init__(
        self,
        dataset: Dataset[Batch] | Sequence[Any],
        batch_size: int | None = None,
        shuffle: bool = False,
        sampler: Iterable[Any] | None = None,
        last_batch: str | None = None,
        batch_sampler: Iterable[Any] | None = None,
        batchify_fn: None = None,
        num_workers: int = 0,
        pin_memory: bool = False,
        pin_device_id: int = 0,
        prefetch: int | None = None,
        thread_pool: bool = False,
        timeout: float = 120,
        try_nopython: bool | None = None,
        auto_reload: bool = False,
    ) -> None: ...
    def __init__(
        self,
        dataset: Any,
        batch_size: int | None = None,
        shuffle: bool = False,
        sampler: Iterable[Any] | None = None,
        last_batch: str | None = None,
        batch_sampler: Iterable[Any] | None = None,
        batchify_fn: Callable[[Any], Any] | None = None,
        num_workers: int = 0,
        pin_memory: bool = False,
        pin_device_id: int = 0,
        prefetch: int | None = None,
        thread_pool: bool = False,
        timeout: float = 120,
        try_nopython: bool | None = None,
        auto_reload: bool = False,
    ) -> None:
        if timeout <= 0:
            raise ValueError(f"timeout must be above 0 seconds, got {timeout}")
        self._dataset = dataset
        self._batch_sampler = _batches(dataset, batch_size, shuffle, sampler, last_batch, batch_sampler)
        self._batchify_fn = Stack() if batchify_fn is None or batchify_fn is default_batchify_fn else batchify_fn
        self._num_workers = max(0, num_workers)
        self._prefetch = 2 * self._num_workers if prefetch is None else max(0, prefetch)
        self._thread_pool = thread_pool
        self._pin_memory, self._pin_device_id = pin_memory, pin_device_id
        self._timeout = timeout
        self._auto_reload = auto_reload
        self._pool: WorkerPool | None = None
        self._ahead: _Epoch | None = None  # the next epoch, begun early
        self._place: _Place | None = None  # in the epoch that began last
        self._resumed: tuple[dict[str, Any], int] | None = None  # the epoch to go on with, and how far it had come

    def __len__(self) -> int:
        """Return the number of batches of an epoch."""
        return len(self._batch_sampler)  # type: ignore[arg-type]

    def __iter__(self) -> Iterator[Batch]:
        if self._num_workers == 0:
            return self._in_this_thread()
        ahead, self._ahead = self._ahead, None
        epoch = self._begin_epoch() if ahead is None or not ahead.usable else ahead
        self._place = epoch.place
        return epoch

    def __enter__(self) -> DataLoader:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End the workers now. The loader may be iterated over again; that starts new ones."""
        self._ahead = None
        pool, self._pool = self._pool, None
        if pool is not None:
            pool.close()

    def state_dict(self) -> dict[str, Any]:
        """Return the place in the epoch that is being iterated over, in types of JSON, for a checkpoint.

        With ``last_batch='rollover'`` what that epoch, or the next one, begins with is part of it.

        Examples
        --------
        >>> loader = DataLoader(range(5), batch_size=2, last_batch="rollover")
        >>> len(list(loader)), loader.state_dict()
        (2, {'epoch': None, 'left': [4]})
        """
        place = self._place
        if place is None or place.ended:
            left = self.rolled_over() if self._ahead is None else self._ahead.place.left
            return {"epoch": None, **left}
        return {"epoch": place.began, "given": place.given, **place.left}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Have the next epoch be the one that `state` is of, without the batches that were handed out.

        It has the order and the augmentations that it had; the random streams of everything else stay as they are.
        """
        self.roll_over(state)
        self._resumed = None if state["epoch"] is None else (state["epoch"], int(state["given"]))

    def rolled_over(self, within_epoch: bool = False) -> dict[str, list[Any]]:
        """Return what ``last_batch='rollover'`` left to the next epoch, or to the one that has begun; {} if nothing."""
        batches = self._batch_sampler
        state = batches.state_dict(within_epoch) if isinstance(batches, BatchSampler) else {}
        return state if state.get("left") else {}

    def roll_over(self, state: Mapping[str, Any]) -> None:
        """Have the next epoch begin with what `rolled_over` gave."""
        self._ahead = None
        if isinstance(self._batch_sampler, BatchSampler):
            self._batch_sampler.load_state_dict({"left": state.get("left", [])})

    def _tasks(self) -> tuple[Iterator[tuple[Task, Share | None]], _Place]:
        """Return the batches of an epoch that begins now: of each, what this process reads."""
        if self._resumed is None:
            place = _Place(get_state(), self.rolled_over())
            return _shared(self._batch_sampler, enumerate(self._batch_sampler), _epoch_seed()), place
        (began, given), self._resumed = self._resumed, None
        now, place = get_state(), _Place(began, self.rolled_over())
        try:
            set_state(began)
            seed, batches = _epoch_seed(), enumerate(self._batch_sampler)
            for _ in range(given):
                next(batches, None)
        finally:
            set_state(now)
        place.given = given
        return _shared(self._batch_sampler, batches, seed), place

    def _in_this_thread(self) -> Iterator[Any]:
        tasks, self._place = self._tasks()
        place, shapes = self._place, _Shapes()
        for task, share in tasks:
            batch = shapes.checked(fetch_seeded(self._dataset, self._batchify_fn, task), share)
            place.given += 1
            yield batch
        place.ended = True

    def _begin_epoch(self) -> _Epoch:
        if self._pool is None or not self._pool.usable:
            self.close()
            self._pool = self._start_pool()
        on_end = weakref.WeakMethod(self._begin_ahead) if self._auto_reload else None
        return _Epoch(self._pool, *self._tasks(), self._prefetch, self._timeout, on_end)

    def _begin_ahead(self) -> None:
        if self._pool is not None and self._pool.usable:
            self._ahead = self._begin_epoch()

    def _start_pool(self) -> WorkerPool:
        if self._thread_pool:
            return thread_pool(self._dataset, self._batchify_fn, self._num_workers)
        try:
            if not _nursery.available():
                raise CannotSendError("this system has no fork")
            parcel = pack(self._dataset, self._batchify_fn)
        except CannotSendError as error:
            warn(_FALLBACK.format(count=self._num_workers, reason=error))
            return thread_pool(self._dataset, self._batchify_fn, 1)
        return process_pool(parcel, self._num_workers)


class _Epoch:
    """One pass over the batches, made by a pool."""

    def __init__(
        self,
        pool: WorkerPool,
        tasks: Iterator[tuple[Task, Share | None]],
        place: _Place,
        prefetch: int,
        timeout: float,
        on_end: weakref.WeakMethod[Callable[[], None]] | None,
    ) -> None:
        self._pool = pool
        self._tasks = tasks
        self.place = place
        self._shapes = _Shapes()
        self._prefetch = prefetch
        self._timeout = timeout
        self._on_end = on_end
        self._waiting: deque[tuple[Task | None, Share | None, concurrent.futures.Future[Any]]] = deque()
        self._drawn = False  # whether the sampler has no more
        self._fill(prefetch)

    @property
    def usable(self) -> bool:
        return self._pool.usable

    def __iter__(self) -> _Epoch:
        return self

    def __next__(self) -> Any:
        self._fill(max(1, self._prefetch))
        if not self._waiting:
            self.place.ended = True
            self._end()
            raise StopIteration
        task, share, future = self._waiting[0]
        self._wait(task, future)
        self._waiting.popleft()
        batch = _result(future)
        self._fill(self._prefetch)
        batch = self._shapes.checked(batch, share)
        self.place.given += 1
        return batch

    def __del__(self) -> None:
        for *_, future in self.__dict__.get("_waiting", ()):
            future.cancel()

    def _fill(self, count: int) -> None:
        while not self._drawn and len(self._waiting) < count:
            try:
                task, share = next(self._tasks)
            except StopIteration:
                self._drawn = True
            except Exception as error:  # of the sampler: raised when its turn comes
                self._drawn = True
                failed: concurrent.futures.Future[Any] = concurrent.futures.Future()
                failed.set_exception(error)
                self._waiting.append((None, None, failed))
            else:
                self._waiting.append((task, share, self._pool.submit(task)))

    def _wait(self, task: Task | None, future: concurrent.futures.Future[Any]) -> None:
        concurrent.futures.wait([future], self._timeout)
        if task is None or future.done():
            return
        self._pool.close()
        raise TimeoutError(_HUNG.format(seconds=self._timeout, number=task.number, indices=list(task.indices)[:8]))

    def _end(self) -> None:
        begin_ahead = self._on_end and self._on_end()
        self._on_end = None
        if begin_ahead:
            begin_ahead()


class _Place:
    """The point that an epoch has reached."""

    __slots__ = ("began", "ended", "given", "left")

    def __init__(self, began: dict[str, Any], left: dict[str, list[Any]]) -> None:
        self.began = began  # the random state
        self.left = left  # what was rolled over to it
        self.given = 0  # batches that were handed out
        self.ended = False


def _shared(batches: Any, numbered: Iterator[tuple[int, Any]], seed: int) -> Iterator[tuple[Task, Share | None]]:
    first = True
    for number, whole in numbered:
        share = None if current_mesh() is None else share_of(len(whole))
        if share is None:
            yield Task(number, whole, seed), None
            continue
        if first:
            same_epoch(len(batches) if hasattr(batches, "__len__") else None, whole)
            first = False
        # Rows of other processes draw their augmentations from other streams.
        yield Task(number, [whole[row] for row in share.rows], seed + share.rows[0]), share


class _Shapes:
    """Watches over the shapes of a process's part of batches, which other processes must have too."""

    __slots__ = ("_last",)

    def __init__(self) -> None:
        self._last: Any = None

    def checked(self, batch: object, share: Share | None) -> Any:
        """Return the batch on the devices; where its shapes are new, after all processes have told theirs."""
        if share is not None and (found := [(s[1:], d) for s, d in shapes_of(batch)]) != self._last:
            same_shapes(found)
            self._last = found
        return device_batch(batch, batch_sharding, share)


def _epoch_seed() -> int:
    """Return the seed of the streams of an epoch's batches; spawned, so that the stream of shuffles is unchanged."""
    return int(host_rng().spawn(1)[0].integers(1 << 62))


def default_batchify_fn(data: Sequence[Any]) -> Any:
    """Make the batch that a DataLoader makes unless told otherwise: ``batchify.Stack()`` of the samples."""
    return Stack()(data)


default_mp_batchify_fn = default_batchify_fn


def _result(future: concurrent.futures.Future[Any]) -> Any:
    try:
        return future.result()
    except StopIteration as error:
        # Passed on, it would end the loop as if the epoch were over.
        raise RuntimeError("the dataset, its transform or the batchify function raised StopIteration") from error


def _batches(
    dataset: Any,
    batch_size: int | None,
    shuffle: bool,
    sampler: Iterable[Any] | None,
    last_batch: str | None,
    batch_sampler: Iterable[Any] | None,
) -> Iterable[Any]:
    if batch_sampler is not None:
        if batch_size is not None or shuffle or sampler is not None or last_batch is not None:
            raise ValueError("batch_sampler excludes batch_size, shuffle, sampler and last_batch")
        return batch_sampler
    if batch_size is None:
        raise ValueError("DataLoader needs batch_size, or a batch_sampler")
    if sampler is None:
        sampler = RandomSampler(len(dataset)) if shuffle else SequentialSampler(len(dataset))
    elif shuffle:
        raise ValueError("DataLoader takes sampler or shuffle, not both")
    return BatchSampler(sampler, batch_size, last_batch or "keep")  # type: ignore[arg-type]
