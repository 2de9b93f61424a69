"""Tables of what was made once and can be made again, with room for so many entries: the oldest makes room."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

__all__ = ["recall"]

_NOTHING: Any = object()  # None may have been made


def recall(table: dict[Any, Any], key: Any, most: int, make: Callable[[], Any]) -> Any:
    """Return what `table` has under `key`, or what `make` makes, which it keeps.

    Examples
    --------
    >>> table = {}
    >>> [recall(table, n % 3, 2, lambda: [n]) for n in range(4)], sorted(table)
    ([[0], [1], [2], [3]], [0, 2])
    """
    found = table.get(key, _NOTHING)
    if found is _NOTHING:
        found = make()
        if len(table) >= most:
            table.pop(next(iter(table)), None)
        found = table.setdefault(key, found)  # another thread may have made it meanwhile
    return found
