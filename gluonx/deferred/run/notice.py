"""A progress line for long compilations.

After two seconds a terminal shows one line, or a notebook a bar, with what is being compiled, the line of the user's
code that needs it, and the time so far. It goes away when the compilation ends. If the standard error is no terminal (a
log file, a test, a pipe), nothing is ever written. ``GLUONX_PROGRESS=0`` switches it off.

A thread writes it, since the compiling thread is busy; the thread lives as long as one compilation.
"""

from __future__ import annotations

import functools
import html
import importlib
import os
import shutil
import sys
import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TextIO

from gluonx.deferred.values import source_location

if TYPE_CHECKING:
    from gluonx.deferred.record.graph import Graph

__all__ = ["Bar", "Terminal", "told"]

_after, _every = 2.0, 0.5  # seconds before the line appears, and between updates


class Terminal:
    """One line at the end of a terminal, overwritten until it is removed."""

    def __init__(self, stream: TextIO) -> None:
        self.stream = stream

    def show(self, text: str) -> None:
        """Write the line, cut to the width of the terminal."""
        self.stream.write(f"\r\x1b[K{text[: max(20, shutil.get_terminal_size().columns - 1)]}")
        self.stream.flush()

    def clear(self) -> None:
        """Remove the line."""
        self.stream.write("\r\x1b[K")
        self.stream.flush()


class Bar:
    """An indeterminate progress bar in the output of a notebook's cell."""

    def __init__(self) -> None:
        self.display: Any = importlib.import_module("IPython.display")
        self.output: Any = None

    def show(self, text: str) -> None:
        """Draw the bar, or update it."""
        drawn = self.display.HTML(f"<progress></progress> <small>{html.escape(text)}</small>")
        if self.output is None:
            self.output = self.display.display(drawn, display_id=True)
        else:
            self.output.update(drawn)

    def clear(self) -> None:
        """Remove the bar."""
        if self.output is not None:
            self.output.update(self.display.HTML(""))


def _where_to_tell() -> Terminal | Bar | None:
    if os.environ.get("GLUONX_PROGRESS", "") == "0" or os.environ.get("GLUONX_DISPLAY", "").lower() == "plain":
        return None
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    if shell is not None and hasattr(shell, "kernel"):
        return Bar()
    stream = sys.stderr
    if stream is not None and stream.isatty() and os.environ.get("TERM") != "dumb":
        return Terminal(stream)
    return None


def _tell(shown: Terminal | Bar, what: str, done: threading.Event) -> None:
    begin = time.monotonic()
    if done.wait(_after):
        return
    try:
        while True:
            shown.show(f"gluonx: compiling {what}, {time.monotonic() - begin:.0f} s")
            if done.wait(_every):
                break
        shown.clear()
    except (OSError, ValueError):  # the terminal is gone, or the stream is closed
        pass


_More = ParamSpec("_More")


def told(compiles: Callable[Concatenate[Graph, _More], None]) -> Callable[Concatenate[Graph, _More], None]:
    """Return `compiles`, whose first argument is a graph, as a function that shows its progress if it takes long."""

    @functools.wraps(compiles)
    def tells(graph: Graph, *args: _More.args, **options: _More.kwargs) -> None:
        shown = _where_to_tell()
        if shown is None:
            return compiles(graph, *args, **options)
        what = f"{len(graph.path())} operations of {source_location.user_line()}"
        done = threading.Event()
        teller = threading.Thread(target=_tell, args=(shown, what, done), name="gluonx-notice", daemon=True)
        teller.start()
        try:
            compiles(graph, *args, **options)
        finally:
            done.set()
            teller.join()
        return None

    return tells
