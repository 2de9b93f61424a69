"""The pool: a few threads that make batches, each by itself or by asking a worker process of its own.

The consumer submits tasks and gets futures, which it reads in its own order. Threads take tasks as they become free, so
a slow batch holds nobody up. A thread that owns a process sends a task and waits for the answer: neither side ever has
two messages under way, which is why no pipe can fill up and block.

A pool belongs to those who hold it. Nothing inside refers back to it, so when the last of them lets go, or the program
ends, the threads and processes end as well.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import queue
import signal
import socket
import threading
import time
import weakref
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from typing import Any

from gluonx.data import _nursery
from gluonx.data._shipping import Parcel
from gluonx.data._wire import receive, send
from gluonx.data._worker import Failure, Task, fetch_seeded
from gluonx.errors import GluonxError

CLOSED = "this DataLoader was closed while it was iterated over"
_START_SECONDS = 120.0
_users = itertools.count()


class RemoteTraceback(Exception):
    """The cause of an exception that a worker process raised: its traceback there, as text."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.text = text

    def __str__(self) -> str:
        return f"\n{self.text}"


class WorkerPool:
    """Threads that run tasks.

    Parameters
    ----------
    makers : list of callable
        One for each thread: from a :class:`Task` to a host batch.
    stop : callable, optional
        Called when the pool closes, before the threads are waited for.
    is_whole : callable, optional
        Whether all workers are alive.
    """

    def __init__(
        self,
        makers: Sequence[Callable[[Task], Any]],
        stop: Callable[[], None] | None = None,
        is_whole: Callable[[], bool] | None = None,
    ) -> None:
        self._jobs: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._is_whole = is_whole
        self._threads = [
            threading.Thread(target=_serve, args=(self._jobs, make), name=f"gluonx-data-{rank}", daemon=True)
            for rank, make in enumerate(makers)
        ]
        self._finalizer = weakref.finalize(self, _close, os.getpid(), self._jobs, self._threads, stop)
        for thread in self._threads:
            thread.start()

    @property
    def usable(self) -> bool:
        """True while tasks submitted now will be done: not closed, not inherited by a fork, no worker lost."""
        return (
            self._finalizer.alive
            and all(thread.is_alive() for thread in self._threads)
            and (self._is_whole is None or self._is_whole())
        )

    def submit(self, task: Task) -> Future[Any]:
        """Queue a task; raise GluonxError when the pool is closed."""
        if not self._finalizer.alive:
            raise GluonxError(CLOSED)
        future: Future[Any] = Future()
        self._jobs.put((future, task))
        return future

    def close(self) -> None:
        """End all threads and processes; tasks not done fail. May be called twice."""
        self._finalizer()


def _serve(jobs: queue.SimpleQueue[Any], make: Callable[[Task], Any]) -> None:
    while True:
        job = jobs.get()
        if job is None:
            return
        future, task = job
        if future.set_running_or_notify_cancel():
            try:
                future.set_result(make(task))
            except BaseException as error:
                future.set_exception(error)
        del job, future, task  # a waiting thread keeps no batch alive


def _close(
    owner: int, jobs: queue.SimpleQueue[Any], threads: list[threading.Thread], stop: Callable[[], None] | None
) -> None:
    if os.getpid() != owner:
        return  # a forked copy: the threads and processes are not ours
    with contextlib.suppress(queue.Empty):
        while True:
            future, _ = jobs.get_nowait()
            if future.set_running_or_notify_cancel():
                future.set_exception(GluonxError(CLOSED))
    for _ in threads:
        jobs.put(None)
    if stop is not None:
        stop()
    deadline = time.monotonic() + 1.0  # a thread that hangs in user code cannot be ended, only left behind
    for thread in threads:
        if thread is not threading.current_thread():
            thread.join(max(0.0, deadline - time.monotonic()))


def thread_pool(dataset: object, batchify_fn: Callable[..., Any], count: int) -> WorkerPool:
    """Return a pool of `count` threads that read `dataset` themselves."""

    def make(task: Task) -> Any:
        return fetch_seeded(dataset, batchify_fn, task)

    return WorkerPool([make] * count)


def process_pool(parcel: Parcel, count: int) -> WorkerPool:
    """Return a pool of `count` processes that have been sent the dataset and the batchify function in `parcel`.

    Raises
    ------
    GluonxError
        When a worker ends, or does not answer, while it starts. What the worker itself raised is raised here.
    """
    crew = _Crew(count)
    try:
        crew.start(parcel)
        return WorkerPool([crew.maker(rank) for rank in range(count)], crew.stop, crew.is_whole)
    except BaseException:
        crew.stop()
        raise


class _Crew:
    """The worker processes of one pool, seen from the user's process."""

    def __init__(self, count: int) -> None:
        self._user = next(_users)
        self._lost = self._stopping = False
        self._codes: dict[int, int] = {}
        self._codes_lock = threading.Lock()
        pairs = [socket.socketpair() for _ in range(count + 1)]
        (self._control, *self._sockets), theirs = [a for a, _ in pairs], [b for _, b in pairs]
        try:
            _nursery.launch(self._user, theirs[0], theirs[1:])
        except BaseException:
            self.stop()
            raise
        finally:
            for one in theirs:
                one.close()

    def start(self, parcel: Parcel) -> None:
        for sock in self._sockets:
            with contextlib.suppress(OSError):  # if it is dead, its answer is missed below
                send(sock, parcel.setup)
                parcel.message.send(sock)
        for rank, sock in enumerate(self._sockets):
            sock.settimeout(_START_SECONDS)
            try:
                answer = receive(sock)
            except TimeoutError as error:
                raise GluonxError(f"DataLoader worker {rank} did not start within {_START_SECONDS:g} s") from error
            except (EOFError, OSError):
                raise GluonxError(self._obituary(rank, "while it started")) from None
            if isinstance(answer, Failure):
                _raise(answer, rank)
            sock.settimeout(None)

    def maker(self, rank: int) -> Callable[[Task], Any]:
        sock = self._sockets[rank]

        def make(task: Task) -> Any:
            try:
                send(sock, task)
                answer = receive(sock)
            except (EOFError, OSError):
                if self._stopping:
                    raise GluonxError(CLOSED) from None
                self._lost = True
                where = f"while it made batch {task.number} of the epoch, of the samples at {list(task.indices)[:8]}"
                raise GluonxError(self._obituary(rank, where)) from None
            if isinstance(answer, Failure):
                _raise(answer, rank)
            return answer

        return make

    def is_whole(self) -> bool:
        return not self._lost

    def stop(self) -> None:
        """End all processes and return when they are gone."""
        self._stopping = True
        for sock in self._sockets:
            with contextlib.suppress(OSError):
                sock.shutdown(socket.SHUT_RDWR)  # wakes the thread that waits on it
        with contextlib.suppress(OSError):
            self._control.shutdown(socket.SHUT_WR)
            self._control.settimeout(5.0)
            while self._control.recv(4096):
                pass
        for sock in (*self._sockets, self._control):
            sock.close()
        _nursery.release(self._user)

    def _obituary(self, rank: int, when: str) -> str:
        code = self._exit_code(rank)
        how = "is gone" if code is None else f"ended with exit code {code}"
        if code is not None and code < 0:
            how = f"was killed by {signal.Signals(-code).name}"
            how += " (out of memory, perhaps)" if code == -signal.SIGKILL else ""
        return f"DataLoader worker {rank} {how} {when}"

    def _exit_code(self, rank: int) -> int | None:
        # The keeper's word comes a moment after the worker's socket closes.
        with self._codes_lock, contextlib.suppress(OSError):
            self._control.settimeout(2.0)
            while rank not in self._codes:
                record = self._control.recv(_nursery.STATUS.size, socket.MSG_WAITALL)
                if len(record) < _nursery.STATUS.size:
                    break
                other, code = _nursery.STATUS.unpack(record)
                self._codes[other] = code
        return self._codes.get(rank)


def _raise(failure: Failure, rank: int) -> None:
    cause = RemoteTraceback(failure.text)
    if failure.error is None:
        raise GluonxError(f"DataLoader worker {rank} raised {failure.name}, which cannot be sent here") from cause
    raise failure.error from cause
