"""Names for what was given none: ``mx.name.NameManager`` and ``mx.name.Prefix``.

The manager in force names each new symbol by a hint and a count, ``fullyconnected0``. ``with NameManager():`` counts
from 0 inside; ``with Prefix("p_"):`` puts a prefix in front.
"""

from __future__ import annotations

import contextvars
from typing import Any

__all__ = ["NameManager", "Prefix", "current"]


class NameManager:
    """Gives names; the base of those that do it in their own way.

    Examples
    --------
    >>> with NameManager() as names:
    ...     [names.get(None, "fc"), names.get(None, "fc"), names.get("mine", "fc")]
    ['fc0', 'fc1', 'mine']
    """

    def __init__(self) -> None:
        self._counter: dict[str, int] = {}
        self._tokens: list[Any] = []

    def get(self, name: str | None, hint: str) -> str:
        """Return the name to use: `name` where there is one, else `hint` with a count.

        Parameters
        ----------
        name : str or None
            What the user asked for.
        hint : str
            What the thing is.
        """
        if name:
            return name
        count = self._counter.get(hint, 0)
        self._counter[hint] = count + 1
        return f"{hint}{count}"

    def __enter__(self) -> NameManager:
        self._tokens.append(_current.set(self))
        return self

    def __exit__(self, *exc: object) -> None:
        _current.reset(self._tokens.pop())


class Prefix(NameManager):
    """Names with a prefix in front, given ones too.

    Parameters
    ----------
    prefix : str

    Examples
    --------
    >>> with Prefix("mynet_") as names:
    ...     names.get(None, "fc")
    'mynet_fc0'
    """

    def __init__(self, prefix: str) -> None:
        super().__init__()
        self._prefix = prefix

    def get(self, name: str | None, hint: str) -> str:
        """Return the name with the prefix; see :meth:`NameManager.get`."""
        return self._prefix + super().get(name, hint)


_default = NameManager()
_current: contextvars.ContextVar[NameManager] = contextvars.ContextVar("gluonx_names", default=_default)


def current() -> NameManager:
    """Return the manager in force."""
    return _current.get()


def __dir__() -> list[str]:
    return sorted(__all__)
