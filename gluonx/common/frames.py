"""Whose line is it? Warnings and errors show the user's, wherever in gluonx they were found out.

`warnings.warn` counts frames, and how many lie between the user and the finding differs with the way in: an operator,
a block, a method. Here those of gluonx and JAX are skipped by the names of their modules. So are they in the tracebacks
of errors, where the functions that users call let `shorten` take them out.
"""

from __future__ import annotations

import functools
import os
import sys
import warnings
from collections.abc import Callable
from types import FrameType, TracebackType
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from gluonx.errors import ShapeError

if TYPE_CHECKING:
    from gluonx.dtype import DTypeLike


__all__ = ["cast", "door", "is_library", "shorten", "telling", "user_frame", "warn"]

_OURS = ("gluonx.", "jax.", "jaxlib.", "optax.")
_LIBRARY = (*_OURS, "contextlib", "threading", "importlib")


def is_library(module: str) -> bool:
    """Return whether the code of the module of this name is gluonx's, JAX's or machinery, and not the user's.

    Examples
    --------
    >>> is_library("gluonx.nn.basic"), is_library("jax.numpy"), is_library("__main__"), is_library("gluonx_tools")
    (True, True, False, False)
    """
    return module == "gluonx" or module.startswith(_LIBRARY)


def user_frame() -> FrameType:
    """Return the innermost frame outside gluonx and JAX that led here; the outermost of all where there is none."""
    frame = sys._getframe(1)
    while frame.f_back is not None and is_library(frame.f_globals.get("__name__") or ""):
        frame = frame.f_back
    return frame


def warn(message: str | Warning, category: type[Warning] = UserWarning) -> None:
    """Warn at the user's line. Python's filters hold as for `warnings.warn`: by default a line is told once."""
    frame = user_frame()
    names = frame.f_globals
    registry = names.setdefault("__warningregistry__", {})
    file, module = frame.f_code.co_filename, names.get("__name__") or "<unknown>"
    warnings.warn_explicit(message, category, file, frame.f_lineno, module, registry)


def telling(operation: str = "cast", line: Callable[[], tuple[str, int] | None] | None = None) -> np.errstate:
    """Have NumPy's warnings of overflow, invalid values and division by zero point at the user's line, within.

    NumPy tells of them at the line that called it, which is gluonx's. What the user chose by ``numpy.errstate`` stays.

    Parameters
    ----------
    operation : str
        What the message calls it, as NumPy does: ``"overflow encountered in cast"``.
    line : callable, optional
        Gives the file and line to point at, where the operation was asked for earlier than now.
    """

    def tell(kind: str, flag: int) -> None:
        place = line() if line is not None else None
        text = f"{kind} encountered in {operation}"
        if place is None:
            warn(text, RuntimeWarning)
        else:
            warnings.warn_explicit(text, RuntimeWarning, *place)

    told: dict[str, Any] = {kind: "call" for kind, asked in np.geterr().items() if asked == "warn"}
    return np.errstate(call=tell, **told)


def cast(array: np.ndarray, dtype: DTypeLike) -> np.ndarray:
    """Return a copy of `array` in `dtype`; numbers that do not fit are told of at the user's line."""
    if array.dtype == dtype:
        return array.astype(dtype)  # of two types that are equal, such as ulong and ulonglong, the one asked for
    with telling():
        return array.astype(dtype)


# ----------------------------------------------------------------- tracebacks

_FULL = os.environ.get("GLUONX_TRACEBACK", "").lower() == "full"
_BELOW = sys.stdlib_module_names | {"numpy", "ml_dtypes"}  # whose frames are ours where they were called from ours
_NOTE_OF_JAX = "JAX_TRACEBACK_FILTERING"


def shorten(error: BaseException) -> None:
    """Take the frames of gluonx and JAX out of the traceback of `error`, and out of those that it is chained to.

    The functions that users call do this, in an ``except`` clause that ends in a bare ``raise``: Python adds no frame
    for that, so the function that does it is not in the traceback either. An error that is chained and has no frame of
    the user's goes, unless it is the stated cause and says more (a ShapeError says all of
    what JAX said). ``GLUONX_TRACEBACK=full`` leaves all as it is.

    Examples
    --------
    >>> def door(x):
    ...     try:
    ...         return inner(x)
    ...     except Exception as error:
    ...         shorten(error)
    ...         raise
    """
    if not _FULL:
        _shorten(error, set())


_Fn = TypeVar("_Fn", bound=Callable[..., Any])


def door(fn: _Fn) -> _Fn:
    """Make `fn` one of the functions that take gluonx's frames out of an error; where a tenth of a microsecond counts,
    a function has the ``except`` clause itself.
    """

    @functools.wraps(fn)
    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            return fn(*args, **kwargs)
        except Exception as error:
            shorten(error)
            raise

    return call  # type: ignore[return-value]


def _shorten(error: BaseException, seen: set[int]) -> None:
    seen.add(id(error))
    shown: list[TracebackType] = []
    hidden = False
    trace = error.__traceback__
    while trace is not None:
        name = trace.tb_frame.f_globals.get("__name__") or ""
        hidden = _is_ours(name) or (hidden and name.partition(".")[0] in _BELOW)
        if not hidden:
            shown.append(trace)
        trace = trace.tb_next
    for trace, below in zip(shown, [*shown[1:], None]):
        if trace.tb_next is not below:
            trace.tb_next = below
    error.__traceback__ = shown[0] if shown else None
    notes = getattr(error, "__notes__", None)
    if notes and any(_NOTE_OF_JAX in note for note in notes):
        notes[:] = [note for note in notes if _NOTE_OF_JAX not in note]
    cause, context = error.__cause__, error.__context__
    for other in (cause, context):
        if other is not None and id(other) not in seen:
            _shorten(other, seen)
    if cause is not None:
        if cause.__traceback__ is None and (isinstance(error, ShapeError) or str(cause) in str(error)):
            error.__cause__ = None
            _chain(error, cause)
    elif context is not None and context.__traceback__ is None and not error.__suppress_context__:
        _chain(error, context)


def _chain(error: BaseException, gone: BaseException) -> None:
    """Chain `error` to what `gone`, which is shown no more, was chained to."""
    above = gone.__cause__ or (None if gone.__suppress_context__ else gone.__context__)
    error.__suppress_context__ = above is None or above is error
    if not error.__suppress_context__:
        error.__context__ = above


def _is_ours(module: str) -> bool:
    return module == "gluonx" or module.startswith(_OURS)
