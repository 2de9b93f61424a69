"""Attributes for every symbol that is made in a ``with`` block: ``mx.AttrScope``."""

from __future__ import annotations

import contextvars
from collections.abc import Mapping
from typing import Any

__all__ = ["AttrScope", "current"]


class AttrScope:
    """Attributes, all of them strings, for the symbols made inside.

    Parameters
    ----------
    **kwargs : str
        Those that MXNet knows (``ctx_group``, ``lr_mult``) are shown by ``list_attr`` under ``__name__`` too.

    Raises
    ------
    ValueError
        If a value is no string.

    Examples
    --------
    >>> with AttrScope(group="4", data="great") as scope:
    ...     sorted(scope.get({"x": "1"}).items())
    [('data', 'great'), ('group', '4'), ('x', '1')]
    """

    def __init__(self, **kwargs: str) -> None:
        bad = [name for name, value in kwargs.items() if not isinstance(value, str)]
        if bad:
            raise ValueError(f"AttrScope: attributes must be strings, but '{bad[0]}' is {kwargs[bad[0]]!r}")
        self._attr = dict(kwargs)
        self._tokens: list[Any] = []

    def get(self, attr: Mapping[str, str] | None) -> dict[str, str]:
        """Return the scope's attributes with those of `attr` over them."""
        return {**self._attr, **(attr or {})}

    def __enter__(self) -> AttrScope:
        outer = _current.get()
        inner = AttrScope()
        inner._attr = {**outer._attr, **self._attr}
        self._tokens.append(_current.set(inner))
        return inner

    def __exit__(self, *exc: object) -> None:
        _current.reset(self._tokens.pop())


_current: contextvars.ContextVar[AttrScope] = contextvars.ContextVar("gluonx_attributes", default=AttrScope())  # noqa: B039 - never changed


def current() -> AttrScope:
    """Return the scope in force."""
    return _current.get()


def __dir__() -> list[str]:
    return sorted(__all__)
