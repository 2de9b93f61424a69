"""The running line of the user's program. Only slow paths ask for it; recording a known operator does not."""

from __future__ import annotations

import contextvars
import inspect
import itertools
import sys
from collections.abc import Hashable
from typing import Any

from gluonx.common.extensions import BLOCK_METHODS
from gluonx.common.frames import user_frame
from gluonx.common.frames import warn as warn
from gluonx.deferred.values.contracts import Operator

__all__ = ["FORWARDS", "Line", "block_path", "in_block", "prefix", "scope_name", "user_line", "warn", "warn_once"]

FORWARDS = frozenset({"forward", *BLOCK_METHODS})  # names of the methods in which a block computes


prefix: contextvars.ContextVar[str] = contextvars.ContextVar(
    "gluonx_scope", default=""
)  # the prefix of gluonx.profiler.scope


_told: set[Hashable] = set()


def warn_once(key: Hashable, message: str) -> None:
    """Warn, but only the first time in this process for `key`."""
    if key not in _told:
        _told.add(key)
        warn(message)


class Line:
    """A line of source code; formatted only when shown."""

    __slots__ = ("file", "function", "number")

    def __init__(self, file: str, number: int, function: str) -> None:
        self.file, self.number, self.function = file, number, function

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Line) and (self.file, self.number) == (other.file, other.number)

    def __hash__(self) -> int:
        return hash((self.file, self.number))

    def __str__(self) -> str:
        cell = _cell(self.file)
        location = f"{cell}, line {self.number}" if cell else f"{self.file}:{self.number}"
        return location if cell and self.function == "<module>" else f"{location} in {self.function}"


def _cell(file: str) -> str:
    """Return IPython's name for this file, such as ``Cell In[3]``, if it is a cell of the running session."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    name = shell.compile.format_code_name(file) if shell is not None else None
    return " ".join(name) if name else ""


def user_line() -> Line:
    """Return the innermost running line outside of gluonx and JAX."""
    frame = user_frame()
    return Line(frame.f_code.co_filename, frame.f_lineno, frame.f_code.co_name)


def block_path() -> str:
    """Return the path of the block whose forward is running, such as ``Net.features.0``; empty outside of blocks."""
    chain: list[Any] = []
    frame = inspect.currentframe()
    while frame is not None:
        owner = frame.f_locals.get("self") if frame.f_code.co_name in FORWARDS else None
        if owner is not None and hasattr(owner, "_children") and (not chain or chain[-1] is not owner):
            chain.append(owner)
        frame = frame.f_back
    if not chain:
        return prefix.get().rstrip(".")
    chain.reverse()
    names = [type(chain[0]).__name__]
    for parent, child in itertools.pairwise(chain):
        names.append(_name_in(parent, child))
    return prefix.get() + ".".join(names)


def scope_name(path: str, op: Operator) -> str:
    """Return the name of an operator's part of a program in profiles: the block's path, a colon, the operator."""
    return f"{path}:{op.name}"


def in_block() -> str:
    """Return the block whose forward is running, as part of a sentence; empty outside of blocks."""
    block = block_path()
    return f", used in block {block}," if block else ""


def _children(block: Any) -> list[tuple[str, Any]]:
    return [
        (str(name), held() if type(held).__name__ == "ReferenceType" else held)
        for name, held in block._children.items()
    ]


def _name_in(parent: Any, child: Any) -> str:
    near = _children(parent)
    for name, block in near:
        if block is child:
            return name
    for name, block in near:  # `for cell in self.cells:` does not run the container's own forward
        for inner, below in _children(block):
            if below is child:
                return f"{name}.{inner}"
    return type(child).__name__
