"""How many lines of code somebody writes for a model and its step: without docstrings, comments and empty lines."""

from __future__ import annotations

import ast
import inspect
import textwrap
from typing import Any

__all__ = ["lines_of"]


def lines_of(objects: Any) -> int:
    """Return the number of lines of some functions and classes together.

    Examples
    --------
    >>> lines_of([lines_of]) > 5
    True
    """
    return sum(_count(textwrap.dedent(inspect.getsource(each))) for each in objects)


def _count(source: str) -> int:
    tree = ast.parse(source)
    told: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)) and ast.get_docstring(node) is not None:
            first: Any = node.body[0]
            told |= set(range(first.lineno, first.end_lineno + 1))
    rows = enumerate(source.splitlines(), 1)
    return sum(bool(row.strip()) and not row.strip().startswith("#") and number not in told for number, row in rows)
