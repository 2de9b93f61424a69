"""Forked copies of a process in which JAX has run.

JAX computes in threads, and a fork copies none of them: what a child computes waits for them for ever. So a child of a
process that has computed is told so at its first computation. It may do anything else, such as read arrays that are
there, or work in NumPy. Nothing is registered before this process computes.
"""

from __future__ import annotations

import os

from gluonx.errors import GluonxError

__all__ = ["check", "watch"]

_TOLD = (
    "this process was forked from one in which gluonx had computed, and a fork copies none of JAX's threads: a "
    "computation here would wait for them for ever. Start processes that compute with "
    "multiprocessing.get_context('spawn'), or let the child work in NumPy alone; a gluonx DataLoader with num_workers "
    "does so by itself."
)


class _Process:
    watched = False
    child = False


def watch() -> None:
    """Note that this process is about to compute, once."""
    if not _Process.watched:
        _Process.watched = True
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=_mark)


def _mark() -> None:
    _Process.child = True


def check() -> None:
    """Raise GluonxError in a forked copy of a process that has computed."""
    if _Process.child:
        raise GluonxError(_TOLD)
