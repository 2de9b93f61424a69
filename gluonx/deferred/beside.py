"""Compilations beside the work: XLA compiles a program in a thread of its own while NumPy goes on running it.

A step is traced and lowered by its own thread, whose contexts of JAX (its default device, mesh, precision) count for
that; only the compilation, which leaves Python's lock and changes nothing of the process, is in another. One is
compiled at a time, as XLA gives each to all cores.

Which runs those are is known beforehand (:class:`gluonx.deferred.policy.Account`): the program takes over at the same
step in each run of the same code, and is waited for there. With ``Switch.when = "ready"`` it takes over as soon as it
is ready instead, which no two runs do at the same step.

Nothing can stop a compilation. So whoever drops the program, or is interrupted while waiting, leaves the thread to end
by itself, and a process that ends waits for what is under way: to end beneath XLA's threads aborts it. What has not
begun by then never does.

It is waited for from the beginning, as if there were no threads, where the process may use one core alone, and where
JAX keeps programs in a folder: there most are only read, and NumPy has nothing to make good.
"""

from __future__ import annotations

import os
import threading
from typing import Any, Literal, TypeAlias

import jax

from gluonx.dtype import keeping_64_bits

__all__ = ["Compilation", "Switch", "When", "is_possible"]

When: TypeAlias = Literal["planned", "ready"]
_turn = threading.Lock()


class Switch:
    """When programs that were compiled beside the work take over; set by :func:`gluonx.engine.set_takeover`."""

    when: When = "planned"


def is_possible() -> bool:
    """Return whether the process may use several cores, and JAX keeps no programs in a folder."""
    folder = jax.config.jax_compilation_cache_dir  # type: ignore[attr-defined]
    return folder is None and _cores() > 1


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class Compilation:
    """The compilation of one program.

    JAX keeps what is compiled by what it was lowered from, so calls of the function find it.

    Parameters
    ----------
    wide : bool
        Whether the program has 64-bit types.

    Attributes
    ----------
    lowered : jax.stages.Lowered or None
        None while somebody is about to lower it.
    """

    __slots__ = ("_error", "_is_done", "_thread", "_wide", "lowered")

    def __init__(self, wide: bool) -> None:
        self.lowered: Any = None
        self._wide, self._is_done = wide, False
        self._error: BaseException | None = None
        self._thread: threading.Thread | None = None

    def begin(self) -> None:
        """Begin it beside the work; where no thread can be had, :meth:`finish` does it."""
        thread = threading.Thread(target=self._run_beside, name="gluonx-compile", daemon=False)
        try:
            thread.start()
        except RuntimeError:  # there are too many, or the process is ending
            return
        self._thread = thread

    def is_under_way(self) -> bool:
        """Return whether :meth:`finish` would wait."""
        return self.lowered is None or (self._thread is not None and self._thread.is_alive())

    def finish(self) -> None:
        """Wait until it is there, and raise what it raised; compile here what no thread has."""
        if self._thread is not None:
            self._thread.join()
        if self._error is not None:
            raise self._error
        if not self._is_done:
            self._compile()

    def _compile(self) -> None:
        with keeping_64_bits(self._wide):
            self.lowered.compile()
        self._is_done = True

    def _run_beside(self) -> None:
        with _turn:
            if threading.main_thread().is_alive():  # else the process is ending
                try:
                    self._compile()
                except BaseException as error:
                    self._error = error
