"""Attributes of legacy operators: typed, and read from Python values as well as from the strings in symbol JSON.

A symbol file holds every attribute as text: ``"(3, 3)"``, ``"True"``, ``"None"``. Each type here reads exactly the
texts that MXNet wrote and the Python values that users pass, by parsing them; nothing from a file is ever evaluated.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping
from typing import Any

import ml_dtypes
import numpy as np

_TRUE = frozenset({"True", "true", "1", "1L"})
_FALSE = frozenset({"False", "false", "0", "0L"})
_TUPLE = re.compile(r"^\s*[(\[]?(.*?)[)\]]?\s*$", re.DOTALL)
_DTYPES = frozenset(
    "float16 float32 float64 bfloat16 uint8 int8 int16 uint16 int32 uint32 int64 uint64 bool".split()  # noqa: SIM905
)


class Attrs(dict[str, Any]):
    """The attributes of one call by name; ``a.axis`` is ``a["axis"]``."""

    __slots__ = ()
    __getattr__ = dict.__getitem__


def _int(value: Any) -> int:
    if isinstance(value, str):
        return int(value.strip().rstrip("L"))
    if isinstance(value, (bool, np.bool_)):
        return int(value)
    if isinstance(value, (float, np.floating)):
        if not float(value).is_integer():
            raise ValueError("a whole number was expected")
        return int(value)
    return operator.index(value)


def _float(value: Any) -> float:
    return float(value)


def _bool(value: Any) -> bool:
    if isinstance(value, str):
        text = value.strip()
        if text not in _TRUE and text not in _FALSE:
            raise ValueError("True or False was expected")
        return text in _TRUE
    return bool(value)


def _str(value: Any) -> str:
    return str(value)


def _items(value: Any) -> list[Any]:
    """Return the elements of a tuple, or of the text of one."""
    if isinstance(value, str):
        found = _TUPLE.match(value)
        inside = found.group(1).strip() if found else ""
        return [part.strip() for part in inside.split(",") if part.strip()]
    if isinstance(value, np.ndarray):
        return value.reshape(-1).tolist()
    return list(value) if isinstance(value, (tuple, list)) else [value]


def _shape(value: Any) -> tuple[int | None, ...]:
    return tuple([None if item is None or item == "None" else _int(item) for item in _items(value)])


def _floats(value: Any) -> tuple[float, ...]:
    return tuple([float(item) for item in _items(value)])


def _dtype(value: Any) -> str:
    if not isinstance(value, str):
        value = np.dtype(value).name
    if value not in _DTYPES:
        raise ValueError(f"an element type was expected: {', '.join(sorted(_DTYPES))}")
    return value if value != "bfloat16" else np.dtype(ml_dtypes.bfloat16).name


_KINDS: dict[str, Callable[[Any], Any]] = {
    "bool": _bool,
    "dtype": _dtype,
    "float": _float,
    "floats": _floats,
    "int": _int,
    "shape": _shape,
    "str": _str,
}


def read_kind(kind: str) -> Callable[[Any], Any]:
    """Get the reader of a type: a name in the table, ``{a b}`` for one of some words, with ``?`` where None is allowed.

    Examples
    --------
    >>> read_kind("shape")("(3, 3)")
    (3, 3)
    >>> read_kind("int?")("None") is None
    True
    """
    optional = kind.endswith("?")
    kind = kind.rstrip("?")
    read = _one_of(kind[1:-1].split()) if kind.startswith("{") else _KINDS[kind]
    if not optional:
        return read
    return lambda value: None if value is None or value in ("None", "") else read(value)


def _one_of(words: list[str]) -> Callable[[Any], str]:
    def read(value: Any) -> str:
        if value not in words:
            raise ValueError(f"one of {', '.join(map(repr, words))} was expected")
        return str(value)

    return read


class Attr:
    """One attribute: its name, its type and its default (which may be missing)."""

    __slots__ = ("default", "kind", "name", "read", "required")

    def __init__(self, name: str, kind: str, default: str | None) -> None:
        self.name, self.kind, self.read = name, kind, read_kind(kind)
        self.required = default is None
        self.default = None if default is None else self._read_default(default)

    def _read_default(self, text: str) -> Any:
        if text == "None":
            return None
        if self.kind.rstrip("?") in ("shape", "floats"):
            text = text.strip("()").replace(" ", ",")
        return self.read(text.strip("'"))

    def parse(self, value: Any, owner: str) -> Any:
        """Return the value of this attribute of the operator `owner`.

        Raises
        ------
        ValueError
            If it cannot be read as such.
        """
        try:
            return self.read(value)
        except (TypeError, ValueError) as error:
            raise ValueError(
                f"operator {owner}: the attribute '{self.name}' is of type {self.kind}, but {value!r:.200} came "
                f"({error})."
            ) from None

    def __repr__(self) -> str:
        return f"{self.name}: {self.kind}" + ("" if self.required else f"={self.default}")


def complete(attrs: Mapping[str, Attr], given: Mapping[str, Any], owner: str) -> Attrs:
    """All attributes of a call: those given, read by their types, and the defaults of the others."""
    full = Attrs()
    for name, attr in attrs.items():
        if name in given:
            full[name] = attr.parse(given[name], owner)
        elif attr.required:
            raise TypeError(f"operator {owner} needs the attribute '{name}' ({attr.kind}), which was not given.")
        else:
            full[name] = attr.default
    return full
