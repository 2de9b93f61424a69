"""Code that interrupts other code: signal handlers, finalizers and debuggers.

They run between two instructions of other code and see its state, such as the trace of a hybridized forward, to which
they do not belong. What they compute and read must be kept out of it (:func:`on_top`). Only the stack distinguishes
them from the forward's own code, so it is inspected while something is traced, and never in a step.
"""

from __future__ import annotations

import inspect
import signal
import sys
import traceback
from functools import partial
from types import CodeType

from gluonx.deferred.values.contracts import Interpreter

__all__ = ["count", "is_cause", "on_top"]

_SIGNALS = tuple(signal.valid_signals())


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
    handlers = [*map(signal.getsignal, _SIGNALS), sys.gettrace(), sys.getprofile()]
    return {_code_of(handler) for handler in handlers if callable(handler)} - {None}


def _code_of(handler: object) -> CodeType | None:
    """Return the code that runs when `handler` is called; None if it is not Python code."""
    while isinstance(handler, partial):
        handler = handler.func  # type: ignore[reportUnknownMemberType]
    handler = getattr(handler, "__func__", handler)  # the function of a method
    code = getattr(handler, "__code__", None)
    return code if code is not None else getattr(type(handler).__call__, "__code__", None)
