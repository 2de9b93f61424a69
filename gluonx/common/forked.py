"""Forked copies of a process in which JAX has run.

JAX computes in threads, and a fork copies none of them: what XLA is given in a child waits for them for ever. So in a
child of a process that has computed operators run by NumPy (`gluonx.deferred.run.host`), whatever their size, arrays
stay on the host, and arrays that were computed before the fork are read where they lie. What only XLA can do raises, as
does what was recorded before the fork and is not computed. That is enough for the children of a loader of data, which
make batches. Nothing is registered before this process computes.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from gluonx.errors import GluonxError

__all__ = ["at_fork", "check", "in_child", "is_computed", "watch"]

_TOLD = (
    "{what} needs XLA, but this process was forked from one in which gluonx had computed, and a fork copies none of "
    "JAX's threads: it would wait for them for ever. Here operators run by NumPy alone, on arrays that are computed "
    "and on the host. Start processes that compute otherwise with multiprocessing.get_context('spawn'); a gluonx "
    "DataLoader with num_workers does so by itself."
)


class _Process:
    watched = False
    child = False


_hooks: list[Callable[[], None]] = []


def at_fork(hook: Callable[[], None]) -> None:
    """Have `hook` called in a child of this process, if this process has computed by then."""
    _hooks.append(hook)


def watch() -> None:
    """Note that this process is about to compute, once."""
    if not _Process.watched:
        _Process.watched = True
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=_mark)


def _mark() -> None:
    _Process.child = True
    for hook in _hooks:
        hook()


def in_child() -> bool:
    """Return whether this is a forked copy of a process that has computed."""
    return _Process.child


def is_computed(array: Any) -> bool:
    """Return whether a ``jax.Array`` is there; in a child, what is not will never be."""
    return array.is_ready()


def check(what: str = "this computation") -> None:
    """Raise GluonxError in a forked copy of a process that has computed, where `what` was to be done by XLA."""
    if _Process.child:
        raise GluonxError(_TOLD.format(what=what))
