"""The worker: reads samples and makes host batches of them, in a process of its own or in a thread.

A worker process knows NumPy alone. It computes with gluonx only where a user's own transform does, and then on the CPU.
"""

from __future__ import annotations

import contextlib
import importlib
import os
import random
import runpy
import signal
import socket
import sys
import traceback
import types
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from gluonx.data._host import device_sample, gatherer, host_item, host_tree, run_batchify
from gluonx.data._wire import Message, check, receive, send, send_batches
from gluonx.data.batchify import Stack
from gluonx.data.dataset import Dataset
from gluonx.ops import prng

if TYPE_CHECKING:
    from collections.abc import Callable


class Setup(NamedTuple):
    """The settings that a worker process gets before anything else."""

    main: tuple[str, str] | None  # ('module', name) or ('path', file) of the user's program, when the dataset needs it
    argv: list[str]
    path: list[str]
    folder: str
    calls: list[tuple[str, tuple[Any, ...]]]  # see extensions.set_up_workers


class Task(NamedTuple):
    """One batch to make: where it stands in the epoch, the indices of its samples, and the epoch's seed."""

    number: int
    indices: Sequence[Any]
    seed: int


class Failure(NamedTuple):
    """An exception on its way from a worker process: itself (None when it cannot be sent), and its traceback."""

    error: BaseException | None
    name: str
    text: str


def fetch(dataset: object, batchify_fn: Callable[..., Any], indices: Sequence[Any]) -> Any:
    """Give the batch of the samples at `indices`, on the host; an exception gets a note that says for which sample."""
    take = gatherer(dataset) if type(batchify_fn) is Stack else None
    try:
        batch = take and take(indices)
        if batch is not None:
            return batch
        as_arrays = not hasattr(batchify_fn, "host_batch")  # a user's function is given ndarrays, as in MXNet
        samples = [_sample(dataset, index, as_arrays) for index in indices]
        return run_batchify(batchify_fn, samples)
    except Exception as error:
        if not getattr(error, "__notes__", None):
            of = f" of {dataset!r}" if isinstance(dataset, Dataset) else ""
            error.add_note(f"DataLoader: raised by {batchify_fn!r} for the samples at {_brief(indices)}{of}")
        raise


def fetch_seeded(dataset: object, batchify_fn: Callable[..., Any], task: Task) -> Any:
    """`fetch` in the user's process, where transforms of ours draw what they draw in a worker process."""
    with prng.drawing_by(int(_words(task)[2])):
        return fetch(dataset, batchify_fn, task.indices)


def _words(task: Task) -> np.ndarray:
    return np.random.SeedSequence([task.seed, task.number]).generate_state(3)


def _sample(dataset: object, index: object, as_arrays: bool) -> Any:
    try:
        sample = host_item(dataset, index)
        return device_sample(sample) if as_arrays else sample
    except Exception as error:
        error.add_note(f"DataLoader: raised by dataset[{index!r}]")
        raise


def _brief(indices: Sequence[Any], most: int = 8) -> str:
    head = ", ".join(repr(index) for index in list(indices)[:most])
    return f"indices [{head}{', ...' if len(indices) > most else ''}]"


def worker_main(sock: socket.socket) -> None:
    """Run the worker process: answer tasks until the other end closes."""
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    send_batches()
    try:
        loaded = _load(sock)
        if isinstance(loaded, Failure):
            _reply(sock, loaded)
            return
        send(sock, None)
        dataset, batchify_fn = loaded
        while True:
            task = receive(sock)
            _reply(sock, _answer(dataset, batchify_fn, task))
    except (EOFError, OSError):
        return  # the pool is closed


def _load(sock: socket.socket) -> tuple[Any, Any] | Failure:
    setup: Setup = receive(sock)
    try:
        _resemble(setup)
    except BaseException as error:
        with contextlib.suppress(Exception):
            receive(sock)  # it may well not load now; but an answer gets through only after all was read
        error.add_note(f"DataLoader: raised while a worker process imported the program, {setup.main}")
        return _failure(error)
    try:
        return receive(sock, shared=False)
    except EOFError:
        raise
    except BaseException as error:
        error.add_note("DataLoader: raised while a worker process received the dataset and the batchify function")
        return _failure(error)


def _answer(dataset: object, batchify_fn: Callable[..., Any], task: Task) -> Any:
    _seed(task)
    try:
        return host_tree(fetch(dataset, batchify_fn, task.indices))
    except (Exception, KeyboardInterrupt) as error:
        return _failure(error)


def _seed(task: Task) -> None:
    """Each batch has random streams of its own, so that it does not matter which worker makes it."""
    words = _words(task)
    random.seed(int(words[0]))
    np.random.seed(int(words[1]))
    prng.seed(int(words[2]))


def _reply(sock: socket.socket, answer: object) -> None:
    try:
        message = Message(answer)
        if isinstance(answer, Failure):
            check(answer.error)
    except Exception as error:
        if isinstance(answer, Failure):
            message = Message(Failure(None, answer.name, answer.text))
        else:
            error.add_note(f"DataLoader: the batch, a {type(answer).__name__}, cannot be sent from the worker process")
            return _reply(sock, _failure(error))
    message.send(sock)
    return None


def _failure(error: BaseException) -> Failure:
    return Failure(error, type(error).__name__, "".join(traceback.format_exception(error)).rstrip())


def _resemble(setup: Setup) -> None:
    """Make this process like the user's as far as imports and relative paths go.

    The program becomes importable as ``__main__``, without what it guards by ``__name__ == '__main__'``.
    """
    sys.argv[:], sys.path[:] = setup.argv, setup.path
    with contextlib.suppress(OSError):
        os.chdir(setup.folder)
    for function, args in setup.calls:
        module, _, name = function.partition(":")
        getattr(importlib.import_module(module), name)(*args)
    if setup.main is None:
        return
    kind, where = setup.main
    module = types.ModuleType("__mp_main__")
    if kind == "module":
        names = runpy.run_module(where, run_name="__mp_main__", alter_sys=True)
    else:
        names = runpy.run_path(where, run_name="__mp_main__")
    module.__dict__.update(names)
    sys.modules["__main__"] = sys.modules["__mp_main__"] = module
