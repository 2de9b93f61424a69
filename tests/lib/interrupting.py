"""Interrupts at chosen bytecodes of gluonx's own code, as a signal handler or a debugger would come there."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import gluonx

_FOLDER = str(Path(gluonx.__file__).parent)


class Interrupter:
    """Calls `attack` before every `stride`-th bytecode that gluonx executes within the context, `limit` times at most.

    Without a limit, what is computed at each single bytecode would keep a graph from ever being recorded into.

    Attributes
    ----------
    count : int
        How often it was called.
    errors : list of str
        What it raised; nothing of that gets to the code below.
    """

    def __init__(self, attack: Callable[[], Any], stride: int, limit: int) -> None:
        self.attack, self.stride, self.left, self.limit = attack, stride, 0, limit
        self.count, self.errors = 0, list[str]()

    def __enter__(self) -> Interrupter:
        sys.settrace(self._enter)
        return self

    def __exit__(self, *error: object) -> None:
        sys.settrace(None)

    def _enter(self, frame: FrameType, event: str, arg: Any) -> Any:
        if not frame.f_code.co_filename.startswith(_FOLDER):
            return None
        frame.f_trace_opcodes, frame.f_trace_lines = True, False
        return self._at_opcode

    def _at_opcode(self, frame: FrameType, event: str, arg: Any) -> Any:
        if event == "opcode":
            self.left -= 1
            if self.left < 0 and self.count < self.limit:
                self.left = self.stride - 1
                self.count += 1
                try:
                    self.attack()
                except Exception as error:
                    where = f"{Path(frame.f_code.co_filename).name}:{frame.f_lineno} {frame.f_code.co_name}"
                    self.errors.append(f"{where}: {type(error).__name__}: {error}")
        return self._at_opcode
