"""Interrupts at chosen bytecodes of gluonx's own code, as a signal handler or a debugger would come there."""

from __future__ import annotations

import dis
import functools
import sys
from collections.abc import Callable
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import gluonx

_FOLDER = str(Path(gluonx.__file__).parent)


class Stop(BaseException):
    """What an attack raises that ends the code below it, as Ctrl-C does."""


@functools.cache
def where_signals_come(code: CodeType) -> frozenset[int]:
    """Return the offsets of a function at which Python looks for signals: its entry, behind calls, back in loops."""
    found, before = set(), ""
    for instruction in dis.get_instructions(code):
        if before in ("RESUME", "CALL", "CALL_KW", "CALL_FUNCTION_EX", "JUMP_BACKWARD"):
            found.add(instruction.offset)
        if instruction.opname == "JUMP_BACKWARD":
            found.add(instruction.argval)
        before = instruction.opname
    return frozenset(found)


class Interrupter:
    """Calls `attack` before every `stride`-th bytecode that gluonx executes within the context, `limit` times at most.

    With `as_signals`, only bytecodes count at which Python calls the handler of a signal. Without a limit, what is
    computed at each single bytecode would keep a graph from ever being recorded into.

    Attributes
    ----------
    count : int
        How often it was called.
    errors : list of str
        What it raised; nothing of that gets to the code below, but a :class:`Stop`.
    """

    def __init__(
        self, attack: Callable[[], Any], stride: int, limit: int, first: int = 0, as_signals: bool = False
    ) -> None:
        self.attack, self.stride, self.left, self.limit = attack, stride, first, limit
        self.as_signals = as_signals
        self.count, self.errors = 0, list[str]()

    def __enter__(self) -> Interrupter:
        sys._getframe().f_trace_opcodes = True  # Python 3.12 looks only here for whether bytecodes are told of
        sys.settrace(self._trace)
        return self

    def __exit__(self, *error: object) -> None:
        sys.settrace(None)

    def _trace(self, frame: FrameType, event: str, arg: Any) -> Any:
        """Be one function for calls and for what happens in them, as debuggers' are."""
        if event == "call":
            if not frame.f_code.co_filename.startswith(_FOLDER):
                return None
            frame.f_trace_opcodes, frame.f_trace_lines = True, False
        if event == "opcode" and (not self.as_signals or frame.f_lasti in where_signals_come(frame.f_code)):
            self.left -= 1
            if self.left < 0 and self.count < self.limit:
                self.left = self.stride - 1
                self.count += 1
                try:
                    self.attack()
                except Exception as error:
                    where = f"{Path(frame.f_code.co_filename).name}:{frame.f_lineno} {frame.f_code.co_name}"
                    self.errors.append(f"{where}: {type(error).__name__}: {error}")
        return self._trace
