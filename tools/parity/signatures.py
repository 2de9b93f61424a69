"""Comparison of signatures: does a call that MXNet's allows mean the same to ours?

Ours may be wider: further parameters with defaults, a default where MXNet wants a value, ``*args``. What must agree is
what a caller can rely on: which argument a position stands for, which names there are, and what is taken where nothing
is given. MXNet's list shows generated functions with ``_Null`` for "the operator's own default" and ``name=None`` for a
symbol's name; neither says anything that could differ.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

__all__ = ["Parameter", "difference", "parameters_of", "parse"]

_UNSAID = ("_Null", "<no value>")
_SYMBOLIC = frozenset({"name", "attr"})


class Parameter(NamedTuple):
    """A parameter: its name, its default as it is printed (None: it has none), and how it may be given."""

    name: str
    default: str | None = None
    kind: str = "either"  # either, keyword, star or stars


def parse(signature: str) -> list[Parameter]:
    """Return the parameters of a printed signature.

    Examples
    --------
    >>> [p.name for p in parse("(self, x, axis=(0, 1), *, out=None, **kwargs)")]
    ['self', 'x', 'axis', 'out', 'kwargs']
    """
    found: list[Parameter] = []
    kind = "either"
    for part in _split(signature.strip()[1:-1]):
        name, has_default, default = part.partition("=")
        if name == "/":
            continue
        if name.startswith("**"):
            found.append(Parameter(name[2:], None, "stars"))
        elif name.startswith("*"):
            kind = "keyword"
            if name != "*":
                found.append(Parameter(name[1:], None, "star"))
        else:
            found.append(Parameter(name, default if has_default else None, kind))
    return found


def _split(text: str) -> list[str]:
    """Return the parts between commas that stand in no bracket and no string."""
    parts, depth, quote, start = [], 0, "", 0
    for i, ch in enumerate(text):
        if quote:
            quote = "" if ch == quote else quote
        elif ch in "'\"":
            quote = ch
        elif ch in "([{<":
            depth += 1
        elif ch in ")]}>":
            depth -= 1
        elif ch == "," and depth == 0:
            parts.append(text[start:i].strip())
            start = i + 1
    return [part for part in (*parts, text[start:].strip()) if part]


_KINDS = {
    inspect.Parameter.VAR_POSITIONAL: "star",
    inspect.Parameter.VAR_KEYWORD: "stars",
    inspect.Parameter.KEYWORD_ONLY: "keyword",
}


def parameters_of(thing: Callable[..., Any]) -> list[Parameter]:
    """Return the parameters of a function or class of ours.

    Raises
    ------
    ValueError
        If Python cannot tell them.
    """
    rows = inspect.signature(thing).parameters.values()
    return [
        Parameter(p.name, None if p.default is p.empty else repr(p.default), _KINDS.get(p.kind, "either")) for p in rows
    ]


def difference(theirs: Sequence[Parameter], ours: Sequence[Parameter]) -> str:
    """Return the difference that a caller would notice first, or an empty string.

    Examples
    --------
    >>> difference(parse("(x, axis=-1)"), parse("(x, axis=-1, out=None)"))
    ''
    >>> difference(parse("(x, axis=-1)"), parse("(x, length=None, axis=-1)"))
    "parameter 2 is 'length', MXNet's is 'axis'"
    """
    by_name = {p.name: p for p in ours if p.kind in ("either", "keyword")}
    takes_any = any(p.kind == "stars" for p in ours)
    positional = [p for p in ours if p.kind == "either"]
    star = any(p.kind == "star" for p in ours)
    for place, wanted in enumerate(theirs):
        if wanted.kind == "stars" or (wanted.name in _SYMBOLIC and _generated(theirs)):
            continue
        if wanted.kind == "star":
            unsaid = all(p.kind in ("star", "stars") or p.name == "self" for p in theirs)
            return "" if star or unsaid else "takes no further arguments by position"
        mine = by_name.get(wanted.name)
        if wanted.kind == "either" and not (wanted.name == "out" and _generated(theirs)):
            if place >= len(positional):
                if not star and not (mine and mine.kind == "keyword" and place >= 8):
                    return f"'{wanted.name}' is not taken by position" if mine else f"has no '{wanted.name}'"
            elif positional[place].name != wanted.name:
                return f"parameter {place + 1} is '{positional[place].name}', MXNet's is '{wanted.name}'"
        if mine is None:
            if takes_any or star:
                continue
            return f"has no '{wanted.name}'"
        if not _same_default(wanted.default, mine.default):
            return f"'{wanted.name}' is {mine.default or 'required'} by default, MXNet's {wanted.default}"
    known = {p.name for p in theirs}
    extra = [p.name for p in by_name.values() if p.default is None and p.name not in known]
    return f"'{extra[0]}' is required" if extra and not any(p.kind == "star" for p in theirs) else ""


def _generated(parameters: Sequence[Parameter]) -> bool:
    """Return whether MXNet made the function from an operator's description."""
    return any(p.default == "_Null" for p in parameters) or any(p.name == "name" for p in parameters)


def _same_default(theirs: str | None, ours: str | None) -> bool:
    if theirs is None or theirs in _UNSAID or theirs == ours:
        return True
    if theirs == "None" and ours in (None, "False", "()"):
        return True  # arrays that generated functions call optional, and flags and lists that None leaves alone
    if theirs in ("cpu(0)", "gpu(0)") and ours == "None":
        return True  # None is the current device
    if ours is None:
        return False
    if theirs.startswith("<") or ours.startswith("<"):
        return _bare(theirs) == _bare(ours)
    return _value(theirs) == _value(ours)


def _bare(text: str) -> str:
    """Return the class that an object's repr names, or the class itself."""
    for noise in ("<class '", "<function ", " object>", "'>", "<", ">", "mxnet.", "gluonx.", "numpy."):
        text = text.replace(noise, "")
    return text.split("(")[0].split(".")[-1].split(" ")[0].strip("'\"")


def _frozen(value: Any) -> Any:
    return tuple([_frozen(item) for item in value]) if isinstance(value, (list, tuple)) else value


def _value(text: str) -> Any:
    text = text.removeprefix("dtype(").removesuffix(")") if text.startswith("dtype(") else text
    try:
        return _frozen(ast.literal_eval(text))
    except (ValueError, SyntaxError):
        return _bare(text)
