"""Code that interrupts other code: signal handlers, finalizers and debuggers.

They run between two instructions of other code and see its state, such as the trace of a hybridized forward, to which
they do not belong. What they compute and read must be kept out of it (:func:`on_top`). Only the stack distinguishes
them from the forward's own code, so it is inspected while something is traced, and never in a step.

JAX's own Python code does not bear an exception at any bytecode: its caches in C++ call Python's ``__eq__`` and
``__hash__``, and its registrations come once in a process. A Ctrl-C there ends the process (a segmentation fault, in a
loop of plain ``jax.jit`` as well), or makes every later compilation fail. So while JAX traces, lowers or compiles,
Ctrl-C is :class:`held`, and comes where that ends. A user's forward that is traced is stopped at once.

Between a donation and its results no handler of any signal may run: there all are :func:`delayed`.
"""

from __future__ import annotations

import inspect
import signal
import sys
import threading
import traceback
from collections.abc import Callable, Generator
from contextlib import contextmanager
from functools import partial
from types import CodeType, FrameType
from typing import Any

from gluonx.common.frames import is_library
from gluonx.deferred.values.contracts import Interpreter

__all__ = ["CtrlC", "count", "delayed", "deliver", "held", "hold_alone", "is_cause", "let_go", "on_top"]

_SIGNALS = tuple(signal.valid_signals())
# Packages whose code belongs to whoever calls it: Python's, and those that JAX and gluonx call.
_SERVANTS = {*sys.stdlib_module_names, "absl", "ml_dtypes", "numpy", "opt_einsum", "scipy", "threadpoolctl"}


class CtrlC:
    """The state of Ctrl-C: who handles it while it is held, in the main thread, to which signals come.

    Attributes
    ----------
    before : callable or None
        The handler that stands back; None if Ctrl-C is not held.
    came : tuple or None
        What that handler is to be called with.
    alone : bool
        Whether the call of one operator lets go, and not a `held`.
    """

    before: Callable[[int, FrameType | None], object] | None = None
    came: tuple[int, FrameType | None] | None = None
    alone = False


class held:
    """Hold Ctrl-C: one that comes in the code of JAX or gluonx waits for the end, as it does in a call of C code.

    In code of the user that they call it is delivered at once; what came before is delivered by `deliver`.
    """

    __slots__ = ("_is_ours",)

    def __enter__(self) -> None:
        self._is_ours = _hold()

    def __exit__(self, *_: object) -> None:
        if self._is_ours:
            let_go()


def hold_alone() -> None:
    """Hold Ctrl-C until the caller's caller, who runs an operator alone, calls `let_go`."""
    if _hold():
        CtrlC.alone = True


def _hold() -> bool:
    if CtrlC.before is not None or threading.current_thread() is not threading.main_thread():
        return False
    handler = signal.getsignal(signal.SIGINT)
    if not callable(handler) or handler is _wait:
        return False
    try:
        signal.signal(signal.SIGINT, _wait)
    except ValueError:  # outside of the main interpreter
        return False
    CtrlC.came = None
    CtrlC.before = handler
    return True


def let_go() -> None:
    """Hold Ctrl-C no longer, and deliver one that came."""
    if threading.current_thread() is not threading.main_thread():
        return
    before, CtrlC.before, CtrlC.alone = CtrlC.before, None, False
    if signal.getsignal(signal.SIGINT) is _wait:  # the code within has set no other
        signal.signal(signal.SIGINT, before)
    came, CtrlC.came = CtrlC.came, None
    if came is not None and before is not None:
        before(*came)


def deliver() -> None:
    """Deliver a Ctrl-C that is held, where nothing of JAX is under way but the trace of the caller's forward."""
    if threading.current_thread() is threading.main_thread():
        came, CtrlC.came = CtrlC.came, None
        if came is not None and CtrlC.before is not None:
            CtrlC.before(*came)


def _wait(number: int, frame: FrameType | None) -> None:
    """Stand for the user's handler of Ctrl-C while it is held."""
    before = CtrlC.before
    if before is None or _is_inside(frame):
        CtrlC.came = number, frame
    else:
        before(number, frame)


def _is_inside(frame: FrameType | None) -> bool:
    """Return whether the innermost code that is nobody's servant is the library's."""
    while frame is not None:
        module = frame.f_globals.get("__name__") or ""
        if is_library(module):
            return True
        if module.partition(".")[0] not in _SERVANTS:
            return False
        frame = frame.f_back
    return False


@contextmanager
def delayed() -> Generator[None]:
    """Delay the handlers of all signals, whoever's code runs, as between a donation and its results in a first run."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    waiting: dict[int, FrameType | None] = {}
    before: dict[int, Any] = {}

    def wait(number: int, frame: FrameType | None) -> None:
        waiting[number] = frame

    try:
        for number in _SIGNALS:
            handler = signal.getsignal(number)
            if callable(handler):
                before[number] = handler
                signal.signal(number, wait)
    except ValueError:  # raised outside of the main interpreter
        pass
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        for number, frame in waiting.items():
            before[number](number, frame)


def count() -> int:
    """Return how many handlers, finalizers and debuggers are running on this thread, one inside the other."""
    codes, frame, found = _codes(), inspect.currentframe(), 0
    while frame is not None:
        code = frame.f_code
        if code in codes or code.co_name == "__del__":
            found += 1
        frame = frame.f_back
    return found


def on_top(trace: Interpreter) -> bool:
    """Return whether the caller runs in a handler, finalizer or debugger that has interrupted `trace`."""
    begun: int | None = getattr(trace, "interrupts", None)
    return begun is not None and count() > begun


def is_cause(error: BaseException) -> bool:
    """Return whether a handler or debugger raised an error (Ctrl-C, a time limit), and not the code that it stopped."""
    if not isinstance(error, Exception):
        return True
    codes = _codes()
    return any(frame.f_code in codes for frame, _ in traceback.walk_tb(error.__traceback__))


def _codes() -> set[CodeType | None]:
    """Return the code of all handlers of signals and debuggers."""
    handlers = [*map(signal.getsignal, _SIGNALS), CtrlC.before, sys.gettrace(), sys.getprofile()]
    return {_code_of(handler) for handler in handlers if callable(handler)} - {None}


def _code_of(handler: object) -> CodeType | None:
    """Return the code that runs when `handler` is called; None if it is not Python code."""
    while isinstance(handler, partial):
        handler = handler.func  # type: ignore[reportUnknownMemberType]
    handler = getattr(handler, "__func__", handler)  # the function of a method
    code = getattr(handler, "__code__", None)
    return code if code is not None else getattr(type(handler).__call__, "__code__", None)
