"""Processes that start worker processes and watch over them, outside the user's process.

A process in which JAX runs must not be forked, and starting a fresh interpreter for each worker costs a second. So
there is one *nursery*: a fresh process that imports gluonx, never computes, and has one thread. For each pool it forks
a *keeper*, and the keeper forks that pool's workers, reports the death of each, and ends them all when its socket
closes. That socket closes when the pool is closed or collected and when the user's process ends in whatever way, so no
worker outlives its pool. Neither takes part in a Ctrl-C.

`launch` is all that the user's process calls; the rest runs in the processes named above.
"""

from __future__ import annotations

import contextlib
import gc
import os
import select
import signal
import socket
import struct
import subprocess
import sys
import threading
import time
import traceback
from collections.abc import Callable
from typing import ClassVar

STATUS = struct.Struct("<ii")  # rank of a worker that ended, and its exit code (minus the signal that killed it)
_MOST = 240  # descriptors that one message can carry
_GRACE = (0.3, 0.7)  # seconds until workers that are still busy get SIGTERM, and then SIGKILL


def available() -> bool:
    """Return whether this system can have worker processes: it must know fork and the passing of descriptors."""
    return hasattr(os, "fork") and hasattr(socket, "send_fds") and bool(sys.executable)


class _Nursery:
    """The user's end of the nursery process."""

    def __init__(self) -> None:
        self.owner = os.getpid()
        self._control, child = socket.socketpair()
        # BLAS and OpenCV in a worker shall not compete with the other workers; JAX in a worker (which only a user's own
        # transform can ask for) shall not take the accelerator.
        threads = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "OPENCV_FOR_THREADS_NUM")
        quiet = {name: os.environ.get(name, "1") for name in threads}
        with child:
            start = "import sys; sys.path[:] = {}; from gluonx.data import _nursery; _nursery.nursery_main({})"
            self._process = subprocess.Popen(
                [sys.executable, "-c", start.format(sys.path, child.fileno())],
                pass_fds=[child.fileno()],
                stdin=subprocess.DEVNULL,
                env={**os.environ, **quiet, "JAX_PLATFORMS": "cpu"},
            )

    def usable(self) -> bool:
        return self.owner == os.getpid() and self._process.poll() is None

    def launch(self, sockets: list[socket.socket]) -> None:
        socket.send_fds(self._control, [b"p"], [s.fileno() for s in sockets])

    def close(self) -> None:
        self._control.close()
        if self.owner == os.getpid():
            self._process.wait()
        else:
            self._process.returncode = 0  # this process was forked, and its parent waits for the nursery


# Reentrant: a pool that the garbage collector closes may release its place while another is being launched.
_lock = threading.RLock()


class _Shared:
    """The nursery of this process, as long as it has users."""

    nursery: _Nursery | None = None
    users: ClassVar[set[int]] = set()


def launch(user: int, control: socket.socket, workers: list[socket.socket]) -> None:
    """Start a keeper on `control` and a worker on each of `workers`; `user` must be released in the end.

    Raises
    ------
    ValueError
        When there are too many workers.
    """
    if len(workers) >= _MOST:
        raise ValueError(f"num_workers must be below {_MOST}, got {len(workers)}")
    with _lock:
        found = _Shared.nursery
        if found is not None and not found.usable():
            if found.owner != os.getpid():
                _Shared.users.clear()  # the pools of the process that this one was forked from
            found.close()
            _Shared.nursery = None
        _Shared.users.add(user)
        if _Shared.nursery is None:
            _Shared.nursery = _Nursery()
        _Shared.nursery.launch([control, *workers])


def release(user: int) -> None:
    """Say that `user` needs the nursery no more; with the last one it ends."""
    with _lock:
        _Shared.users.discard(user)
        if not _Shared.users and _Shared.nursery is not None:
            _Shared.nursery.close()
            _Shared.nursery = None


def nursery_main(fd: int) -> None:
    """Run the nursery process: fork a keeper for each message until the user's end closes."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # the system buries the keepers
    control = socket.socket(fileno=fd)
    gc.collect()
    gc.freeze()  # the pages of what is imported stay shared with all workers
    while True:
        message, fds, _, _ = socket.recv_fds(control, 1, _MOST + 1)
        if not message:
            os._exit(0)
        if _fork() == 0:
            control.close()
            _end_with(_keep, fds)
        for one in fds:
            os.close(one)


def _fork() -> int:
    sys.stdout.flush()
    sys.stderr.flush()
    return os.fork()


def _end_with(fn: Callable[..., None], *args: object) -> None:
    """Run `fn` and end the process, past everything that was inherited."""
    code = 1
    try:
        fn(*args)
        code = 0
    except BaseException:
        traceback.print_exc()
    finally:
        with contextlib.suppress(Exception):
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(code)


def _keep(fds: list[int]) -> None:
    """Run the keeper process: fork the workers, report deaths, end the living when the socket closes."""
    wake, waker = os.pipe()
    os.set_blocking(waker, False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(waker)
    control = socket.socket(fileno=fds[0])
    ranks: dict[int, int] = {}
    for rank, fd in enumerate(fds[1:]):
        pid = _fork()
        if pid == 0:
            signal.set_wakeup_fd(-1)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            control.close()
            for other in {wake, waker, *fds[1:]} - {fd}:
                with contextlib.suppress(OSError):  # the ranks before this one are closed already
                    os.close(other)
            from gluonx.data import _worker

            _end_with(_worker.worker_main, socket.socket(fileno=fd))
        ranks[pid] = rank
        os.close(fd)
    while not select.select([control, wake], [], [], None)[0].count(control):
        os.read(wake, 4096)
        _bury(ranks, control)
    _stop(ranks, control)


def _bury(ranks: dict[int, int], control: socket.socket) -> None:
    while ranks:
        pid, status = os.waitpid(-1, os.WNOHANG)
        if pid == 0:
            return
        with contextlib.suppress(OSError):
            control.sendall(STATUS.pack(ranks.pop(pid), os.waitstatus_to_exitcode(status)))


def _stop(ranks: dict[int, int], control: socket.socket) -> None:
    start = time.monotonic()
    for grace, sign in zip(_GRACE, (signal.SIGTERM, signal.SIGKILL), strict=True):
        while ranks and time.monotonic() - start < grace:
            _bury(ranks, control)
            time.sleep(0.005)
        for pid in ranks:
            os.kill(pid, sign)
    while ranks:
        _bury(ranks, control)
        time.sleep(0.005)
