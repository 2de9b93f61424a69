"""Inventory of MXNet 2.0's names and of those that gluonx has: one `Row` for each."""

from __future__ import annotations

import ast
import fnmatch
import functools
import importlib
import json
import pathlib
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from gluonx.common.absent import reason
from gluonx.np import table
from tools.parity import reasons
from tools.parity.signatures import difference, parameters_of, parse

__all__ = ["Row", "load", "rows", "tables"]

HERE = pathlib.Path(__file__).parent
TESTS = HERE.parents[1] / "tests"
_ABSENT = object()


class Row(NamedTuple):
    """A public name of MXNet: ``module`` and ``name`` as there, and what gluonx makes of it.

    ``reason`` tells why a name is left out, ``differs`` what in its signature is not MXNet's, and ``why`` the reason of
    that. ``contract`` says whether a table of the tests has it.
    """

    module: str
    name: str
    present: bool
    reason: str = ""
    differs: str = ""
    why: str = ""
    contract: bool = False


@functools.cache
def load() -> dict[str, dict[str, Any]]:
    """MXNet's public names: module, name, and a signature, a pair of signature and methods, or None (a constant)."""
    return json.loads((HERE / "inventory.json").read_text(encoding="utf-8"))


def rows(module: str) -> list[Row]:
    """Return the rows of one of MXNet's modules, methods of classes included."""
    home = _home(module)
    importlib.import_module("gluonx.np.methods")  # of ndarray, which gets them when one is first used
    known = tables(module)
    found: list[Row] = []
    for name, entry in load()[module].items():
        signature, methods = entry if isinstance(entry, list) else (entry, {})
        thing = _part(home, name)
        found.append(_row(module, name, thing, signature, known))
        if thing is not _ABSENT:
            found += [_row(module, f"{name}.{m}", _part(thing, m), s, known) for m, s in methods.items()]
    return found


def _home(module: str) -> Any:
    """Our module of this name; None if there is none."""
    try:
        return importlib.import_module(module.replace("mxnet", "gluonx", 1))
    except ImportError:
        return None


def _part(home: Any, name: str) -> Any:
    return _ABSENT if home is None else getattr(home, name, _ABSENT)


def _row(module: str, name: str, thing: Any, signature: str | None, known: frozenset[str]) -> Row:
    if thing is _ABSENT:
        return Row(module, name, False, reason(module, name))
    differs = _differs(thing, signature)
    why = reasons.differs(module, name, differs) if differs else ""
    contract = _among(name.rpartition(".")[2].lower(), known)
    return Row(module, name, True, differs=differs, why=why, contract=contract)


def _among(word: str, known: frozenset[str]) -> bool:
    return word in known or any(fnmatch.fnmatchcase(word, pattern) for pattern in known if "*" in pattern)


def _differs(thing: Any, signature: str | None) -> str:
    if signature in (None, "property", "?") or not callable(thing):
        return ""
    assert signature is not None
    try:
        ours = parameters_of(thing)
    except ValueError:
        return ""
    theirs = parse(signature)
    if theirs and theirs[0].name in ("self", "cls", "klass") and (not ours or ours[0].name != theirs[0].name):
        theirs = theirs[1:]
    return difference(theirs, ours)


# -- the tables of the tests --------------------------------------------------------------------------------------


@functools.cache
def tables(module: str) -> frozenset[str]:
    """Get the names that the tests' contract tables mention for one of MXNet's modules (none without tests)."""
    found: set[str] = set()
    if module == "mxnet.np":  # test_np.py sweeps every row of the table of elementwise functions
        found.update(map(str.lower, (*table.UNARY, *table.BINARY)))
    for pattern in reasons.TABLES.get(module, ()):
        for path in sorted(TESTS.glob(pattern)):
            found.update(word.lower() for word in _mentioned(path))
    return frozenset(found)


@functools.cache
def _mentioned(path: pathlib.Path) -> frozenset[str]:
    return frozenset(_words(ast.parse(path.read_text(encoding="utf-8"))))


def _words(tree: ast.AST) -> Iterator[str]:
    """Attributes, and the words of strings: how tables name what they test."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute):
            yield node.attr
        elif isinstance(node, ast.JoinedStr):  # getattr(nn, f"Global{kind}Pool{n}D"): each word that it may become
            parts = [str(p.value) if isinstance(p, ast.Constant) else "*" for p in node.values]
            if sum(map(len, parts)) > 8:
                yield "".join(parts)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and len(node.value) < 400:
            # Expressions too: their names, and no "*", which as a pattern would be every name.
            yield from re.findall(r"\w+", node.value)
