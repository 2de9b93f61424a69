"""Parameters of the iterators that are C++ in MXNet: given by name, as values or as texts, and checked by tables.

MXNet turns each value into a text and reads it as the parameter's type, so ``"(3, 224, 224)"`` and ``"True"`` are taken
as well as a tuple and a bool. It ignores any name that it does not know. Here such a name is an error, for most often
it is misspelt and an augmentation silently left out, unless another iterator of MXNet has it (``input_shape`` of an
`MNISTIter`): that is a warning.
"""

from __future__ import annotations

import ast
import math
import numbers
import os
from collections.abc import Callable, Iterable, Mapping
from types import SimpleNamespace
from typing import Any

from gluonx.common.arguments import unexpected
from gluonx.common.frames import warn
from gluonx.errors import ArgumentError

REQUIRED = object()
Reader = Callable[[Any], Any]
Table = Mapping[str, tuple[Reader, Any]]


def integer(value: Any) -> int:
    """Read a whole number; a bool is none."""
    if isinstance(value, str):
        return int(value)
    if isinstance(value, numbers.Integral) and not isinstance(value, bool):
        return int(value)
    raise ValueError("a whole number was expected")


def positive(value: Any) -> int:
    """Read a whole number that is at least 1."""
    found = integer(value)
    if found < 1:
        raise ValueError("a whole number of at least 1 was expected")
    return found


def number(value: Any) -> float:
    """Read a number."""
    if isinstance(value, bool) or not isinstance(value, (str, numbers.Real)):
        raise ValueError("a number was expected")
    found = float(value)
    if math.isnan(found):
        raise ValueError("a number was expected")
    return found


_FLAGS = {"true": True, "1": True, "false": False, "0": False}


def flag(value: Any) -> bool:
    """Read True or False, as such, as 1 or 0, or as text."""
    found = _FLAGS.get(str(value).strip().lower())
    if found is None:
        raise ValueError("True or False was expected")
    return found


def text(value: Any) -> str:
    """Read a text or a path; None is the empty text."""
    if value is None:
        return ""
    if not isinstance(value, (str, os.PathLike)):
        raise ValueError("a text was expected")
    return os.fspath(value)


def _several(value: Any) -> tuple[Any, ...]:
    if isinstance(value, str):
        try:
            value = ast.literal_eval(value)
        except (ValueError, SyntaxError):
            raise ValueError("numbers in brackets were expected") from None
    return (value,) if isinstance(value, numbers.Number) else tuple(value)


def shape(dimensions: int | None = None) -> Reader:
    """Make a reader of shapes, of so many dimensions if a number is given."""

    def read_shape(value: Any) -> tuple[int, ...]:
        told = (
            "sizes of at least 1 were expected"
            if dimensions is None
            else f"{dimensions} sizes of at least 1 were expected"
        )
        try:
            found = tuple(integer(size) for size in _several(value))
        except TypeError:
            raise ValueError(told) from None
        if (dimensions is not None and len(found) != dimensions) or not found or min(found) < 1:
            raise ValueError(told)
        return found

    return read_shape


def floats(value: Any) -> tuple[float, ...]:
    """Read a number, or several in brackets."""
    return tuple(number(one) for one in _several(value))


def choice(*names: str) -> Reader:
    """Make a reader of one of these names."""

    def read_choice(value: Any) -> str:
        if value not in names:
            raise ValueError(f"one of {', '.join(names)} was expected")
        return value

    return read_choice


def maybe(reader: Reader) -> Reader:
    """Make a reader that takes None too."""
    return lambda value: None if value in (None, "None") else reader(value)


def read(owner: str, table: Table, given: Mapping[str, Any], elsewhere: Iterable[str]) -> SimpleNamespace:
    """Return the parameters of `table` as attributes, from those that are given.

    Raises
    ------
    TypeError
        For a name that is neither in the table nor `elsewhere`; names the nearest one.
    ArgumentError
        For a value that is not of the parameter's type, and for one that is missing.
    """
    found = {name: value for name, (_, value) in table.items() if value is not REQUIRED}
    for name, value in given.items():
        if name not in table:
            if name not in set(elsewhere):
                raise unexpected(owner, name, table)
            warn(f"{owner}: {name}={value!r} is ignored, as in MXNet: it has no such parameter")
            continue
        try:
            found[name] = table[name][0](value)
        except (ValueError, TypeError) as error:
            raise ArgumentError(f"{owner}: {name}={value!r}: {error}") from error
    missing = [name for name in table if name not in found]
    if missing:
        raise ArgumentError(f"{owner} needs {missing[0]}")
    return SimpleNamespace(**found)
