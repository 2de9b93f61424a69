"""``gluon.data.dataloader``'s own iterator over a pool of workers, which loaders of other libraries build upon."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable, Iterator
from multiprocessing.reduction import ForkingPickler
from typing import Any

from gluonx.data.dataloader import default_batchify_fn

_LOADS: Callable[..., Any] = vars(ForkingPickler)["loads"]


class _Worker:
    """The state of a worker process."""

    dataset: Any = None


def _worker_initializer(dataset: Any, active_shape: bool = False, active_array: bool = False) -> None:
    """Give a worker process its dataset, and the semantics of arrays."""
    from gluonx.compat.modes import set_np

    _Worker.dataset = dataset
    set_np(shape=active_shape, array=active_array)


def _worker_fn(samples: Iterable[Any], batchify_fn: Callable[..., Any], dataset: Any = None) -> bytes:
    """Return the pickle of a batch of these samples."""
    own = _Worker.dataset if dataset is None else dataset
    buffer = io.BytesIO()
    ForkingPickler(buffer, 5).dump(batchify_fn([own[i] for i in samples]))
    return buffer.getvalue()


def _thread_worker_fn(samples: Iterable[Any], batchify_fn: Callable[..., Any], dataset: Any) -> Any:
    """Return a batch of these samples, from a thread."""
    return batchify_fn([dataset[i] for i in samples])


class _MultiWorkerIter:
    """Iterates over the batches that a pool makes, in their order, some of them ahead.

    Parameters
    ----------
    worker_pool : multiprocessing.pool.Pool
    batchify_fn : callable
    batch_sampler : iterable of list of int
    pin_memory, pin_device_id, data_loader
        Accepted for ported code.
    worker_fn : callable
        ``worker_fn(samples, batchify_fn, dataset)`` gives a batch; without `dataset`, the pickle of one.
    prefetch : int
        How many batches are asked for ahead.
    dataset : Dataset, optional
        Given to `worker_fn` where workers do not have it.
    timeout : float
        Seconds to wait for a batch.

    Raises
    ------
    multiprocessing.TimeoutError
        If a batch takes longer.
    """

    def __init__(
        self,
        worker_pool: Any,
        batchify_fn: Callable[..., Any] = default_batchify_fn,
        batch_sampler: Any = (),
        pin_memory: bool = False,
        pin_device_id: int = 0,
        worker_fn: Callable[..., Any] = _worker_fn,
        prefetch: int = 0,
        dataset: Any = None,
        data_loader: Any = None,
        timeout: float = 120,
    ) -> None:
        self._worker_pool, self._worker_fn, self._batchify_fn = worker_pool, worker_fn, batchify_fn
        self._batch_sampler, self._iter = batch_sampler, iter(batch_sampler)
        self._dataset, self._data_loader, self._timeout = dataset, data_loader, timeout
        self._data_buffer: dict[int, Any] = {}
        self._rcvd_idx = self._sent_idx = 0
        for _ in range(prefetch):
            self._push_next()

    def __len__(self) -> int:
        return len(self._batch_sampler)

    def _push_next(self) -> None:
        samples = next(self._iter, None)
        if samples is not None:
            asked = (samples, self._batchify_fn, self._dataset)
            self._data_buffer[self._sent_idx] = self._worker_pool.apply_async(self._worker_fn, asked)
            self._sent_idx += 1

    def __next__(self) -> Any:
        self._push_next()
        if self._rcvd_idx == self._sent_idx:
            raise StopIteration
        try:
            found = self._data_buffer.pop(self._rcvd_idx).get(self._timeout)
            batch = _LOADS(found) if self._dataset is None else found
        except Exception:
            self._worker_pool.terminate()
            raise
        self._rcvd_idx += 1
        return batch

    def next(self) -> Any:
        """Return the next batch."""
        return next(self)

    def __iter__(self) -> Iterator[Any]:
        return self
