"""Compilations beside the work: XLA compiles a program in a thread of its own while NumPy goes on running it.

A :class:`Candidate` is such a program: a recorded one, as a training step is, or a block's forward that runs alone.

The thread that makes a step traces and lowers it, because its own JAX settings (default device, mesh, precision) apply.
Only the compilation, which releases Python's lock and changes nothing in the process, runs in the other thread.
Programs are compiled one at a time, because XLA uses all cores for each.

The run at which a compilation begins, and the run at which the program takes over, are fixed beforehand
(:class:`gluonx.common.policy.Account`). So the takeover falls on the same step in each run of the same code, and
that step waits if the program is not ready. With ``Switch.when = "ready"`` the program takes over as soon as it is
ready, which may be at another step in each run.

A compilation cannot be stopped. If the program is dropped, or a wait for it is interrupted, the thread ends by itself.
A process that ends waits for the compilation that is under way, because ending it while XLA's threads run would abort
it; compilations that have not begun by then are skipped.

A process that may use one core only, and one in which JAX keeps compiled programs in a folder, waits for each
compilation, without this thread. Programs in a folder are mostly read, so NumPy would save no time there.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import jax

from gluonx.common.process import cores, returning_memory
from gluonx.deferred.values import interrupts
from gluonx.dtype import keeping_64_bits

if TYPE_CHECKING:
    from gluonx.common.policy import Account

__all__ = ["Candidate", "Compilation", "Switch", "When", "is_possible"]

When: TypeAlias = Literal["planned", "ready"]
_turn = threading.Lock()


class Switch:
    """The setting of :func:`gluonx.engine.set_takeover`: when programs compiled beside the work take over."""

    when: When = "planned"


def is_possible() -> bool:
    """Return whether the process may use several cores, and JAX keeps no programs in a folder."""
    folder = jax.config.jax_compilation_cache_dir  # type: ignore[attr-defined]
    return folder is None and cores() > 1


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

    __slots__ = ("_error", "_is_done", "_lock", "_thread", "_wide", "lowered")

    def __init__(self, wide: bool) -> None:
        self.lowered: Any = None
        self._wide, self._is_done = wide, False
        self._error: BaseException | None = None
        self._thread: threading.Thread | None = None
        self._lock = threading.RLock()  # held by the thread that compiles; re-entrant for handlers of signals

    def begin(self) -> None:
        """Begin the compilation in a thread; if none can be started, :meth:`finish` compiles."""
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
        """Wait for the thread and raise its error; compile here if no thread has."""
        if self._thread is not None:
            self._thread.join()
        if self._error is not None:
            raise self._error
        with self._lock:
            self._compile()

    def _compile(self) -> None:
        if not self._is_done:
            with interrupts.held(), keeping_64_bits(self._wide), returning_memory():
                self.lowered.compile()
            self._is_done = True

    def _run_beside(self) -> None:
        with _turn:
            # Nobody needs it if the process is ending, or if somebody who could not wait for this thread compiles it.
            if threading.main_thread().is_alive() and self._lock.acquire(blocking=False):
                try:
                    self._compile()
                except BaseException as error:
                    self._error = error
                finally:
                    self._lock.release()


class Candidate:
    """A program that NumPy runs until it is compiled.

    Attributes
    ----------
    compilation : Compilation or None
        The compilation that is under way, which `lowered` has begun; None before and after it.
    is_compiled : bool
    wide : bool
        Whether it has 64-bit types.
    """

    compilation: Compilation | None = None
    is_compiled = False
    wide = False

    def lowered(self, lower: Callable[[], Any], insist: bool = False) -> Compilation | None:
        """Lower the program and return its compilation; until that has ended, other threads run the program by NumPy.

        Parameters
        ----------
        lower : callable
            Returns what JAX lowers the program to.
        insist : bool
            Whether to lower it even if it is compiled already, or if another thread, or code that this call interrupts,
            is lowering it. Without `insist` the result is None in these cases.
        """
        made = Compilation(self.wide)
        try:
            if vars(self).setdefault("compilation", made) is not made and not insist:
                return None
            if self.is_compiled and not insist:  # since the caller looked
                self.forgo()
                return None
            made.lowered = lower()
            self.compilation = made
        except BaseException:
            if insist or self.compilation is made:
                self.forgo()
            raise
        return made

    def forgo(self) -> None:
        """Forget the compilation, which has ended or failed."""
        vars(self).pop("compilation", None)

    def may_run(self, account: Account, lower: Callable[[], Any]) -> bool:
        """Return whether NumPy is to run the program once more, counting that; begin the compilation when it is due."""
        can = account.runs >= account.waits and is_possible() and not self.is_compiled
        if can and account.begins <= account.runs < account.takes_over and self.compilation is None:
            made = self.lowered(lower)
            if made is not None:
                made.begin()
        compilation = self.compilation
        if compilation is not None and (compilation.lowered is None or Switch.when == "ready"):
            return compilation.is_under_way()
        return account.may_run(can)
