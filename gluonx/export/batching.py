"""Requests of many clients in one batch, on an asyncio loop.

A batch starts when the one before it ends and takes what has come in the meantime: a server with nothing to do answers
at once, and a busy one runs large batches, with no time to choose. Every request has been checked before it comes here,
so no client's mistake meets another one's numbers.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import dataclasses
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np


class Overloaded(RuntimeError):
    """More samples wait than a batcher was told to keep."""


@dataclasses.dataclass(eq=False)
class _Waiting:
    arrays: Sequence[np.ndarray]
    size: int
    answer: asyncio.Future[list[np.ndarray]]

    @property
    def kind(self) -> tuple[Any, ...]:
        """Key of the requests that can be stacked: equal where they can."""
        return tuple([(a.shape[1:], a.dtype) for a in self.arrays])


class Batcher:
    """Stacks the samples of waiting requests and runs them together.

    Parameters
    ----------
    run : callable
        Takes one array for each input and gives a list of one for each output, samples along the first axis. It is
        called in a thread of its own, never twice at a time.
    largest : int
        Samples in a batch; 1 runs every request by itself. A request that is larger runs by itself.
    wait : float
        Seconds for which a batch that is not full waits for more. 0 takes what is there.
    limit : int
        Samples that may wait.
    seen : callable, optional
        Told the number of samples in each batch.

    Examples
    --------
    >>> async def two_at_once():
    ...     batcher = Batcher(lambda arrays: [arrays[0] + 1])
    ...     ask = [batcher([np.full((1, 2), i)]) for i in range(2)]
    ...     return [answer[0].tolist() for answer in await asyncio.gather(*ask)]
    >>> asyncio.run(two_at_once())
    [[[1, 1]], [[2, 2]]]
    """

    def __init__(
        self,
        run: Callable[[list[np.ndarray]], list[np.ndarray]],
        largest: int = 32,
        wait: float = 0.0,
        limit: int = 4096,
        seen: Callable[[int], None] = lambda samples: None,
    ) -> None:
        self._run, self._largest, self._wait, self._limit, self._seen = run, largest, wait, limit, seen
        self._queue: deque[_Waiting] = deque()
        self._more = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._thread = concurrent.futures.ThreadPoolExecutor(1, thread_name_prefix="gluonx-serving")

    async def __call__(self, arrays: Sequence[np.ndarray]) -> list[np.ndarray]:
        """Run one request, alone or with others.

        Parameters
        ----------
        arrays : sequence of numpy.ndarray
            As many samples in each.

        Raises
        ------
        Overloaded
            If too much waits already.
        """
        size = len(arrays[0]) if arrays and arrays[0].ndim else 1
        if self._queue and sum(w.size for w in self._queue) + size > self._limit:
            raise Overloaded(f"the server is busy: more than {self._limit} samples would wait; try again later")
        waiting = _Waiting(arrays, size, asyncio.get_running_loop().create_future())
        self._queue.append(waiting)
        self._more.set()
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._serve())
        return await waiting.answer

    async def drain(self) -> None:
        """Wait until every request that was taken has been answered, and end the thread."""
        while self._task is not None and not self._task.done():
            await asyncio.wait([self._task])
        self._thread.shutdown()

    async def _serve(self) -> None:
        while self._queue:
            if self._wait:
                await self._filled()
            batch = self._taken()
            if batch:
                await self._answered(batch)

    async def _filled(self) -> None:
        """Wait until there is enough for a full batch, or for as long as one may wait."""
        until = asyncio.get_running_loop().time() + self._wait
        while sum(w.size for w in self._queue) < self._largest:
            self._more.clear()
            try:
                async with asyncio.timeout_at(until):
                    await self._more.wait()
            except TimeoutError:
                return

    def _taken(self) -> list[_Waiting]:
        """Return the oldest request and what can be stacked with it, in order; without those whose client is gone."""
        batch: list[_Waiting] = []
        left: deque[_Waiting] = deque()
        room = self._largest
        for waiting in self._queue:
            if waiting.answer.done():
                continue
            if not batch or (waiting.size <= room and waiting.kind == batch[0].kind):
                batch.append(waiting)
                room -= waiting.size
            else:
                left.append(waiting)
        self._queue = left
        return batch

    async def _answered(self, batch: list[_Waiting]) -> None:
        samples = sum(waiting.size for waiting in batch)
        try:
            columns = zip(*[waiting.arrays for waiting in batch])
            stacked = [np.concatenate(column) if len(batch) > 1 else column[0] for column in columns]
            outputs = await asyncio.get_running_loop().run_in_executor(self._thread, self._run, stacked)
        except Exception as error:  # whoever asked is told; the next batch runs
            for waiting in batch:
                if not waiting.answer.done():
                    waiting.answer.set_exception(error)
            return
        self._seen(samples)
        at = 0
        for waiting in batch:
            if not waiting.answer.done():
                mine = slice(at, at + waiting.size)
                waiting.answer.set_result(outputs if len(batch) == 1 else [output[mine] for output in outputs])
            at += waiting.size
