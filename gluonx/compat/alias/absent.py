"""Placeholder of a name of MXNet that gluonx does not have: it can be imported, and says so when it is used."""

from __future__ import annotations

from typing import Any, NoReturn

from gluonx.common.absent import instead_of
from gluonx.errors import GluonxError


class AbsentError(GluonxError, NotImplementedError):
    """A name of MXNet was used that gluonx does not have; the message says what to use instead."""


class AbsentAttributeError(AbsentError, AttributeError):
    """The same, where an attribute was asked for: ``hasattr`` says no."""


def _refuse(dotted: str, error: type[AbsentError] = AbsentError) -> NoReturn:
    way = instead_of(dotted)
    raise error(f"{dotted} is not in gluonx{': ' + way if way else ''}.")


class Absent:
    """Stands for the name `dotted`. Calling it, or looking into it, raises `AbsentError`.

    It may be imported, compared, named in ``isinstance`` (of which nothing is an instance) and derived from; an
    instance of the derived class raises.
    """

    __slots__ = ("dotted",)

    def __init__(self, dotted: str) -> None:
        self.dotted = dotted

    def __repr__(self) -> str:
        return f"<{self.dotted}, which is not in gluonx>"

    def __call__(self, *args: Any, **kwargs: Any) -> NoReturn:
        """Raise `AbsentError`."""
        _refuse(self.dotted)

    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("__"):
            raise AttributeError(name)
        _refuse(f"{self.dotted}.{name}", AbsentAttributeError)

    def __getitem__(self, key: Any) -> NoReturn:
        _refuse(self.dotted)

    def __iter__(self) -> NoReturn:
        _refuse(self.dotted)

    def __instancecheck__(self, instance: Any) -> bool:
        return False

    def __mro_entries__(self, bases: Any) -> tuple[type, ...]:
        dotted = self.dotted

        def init(self: Any, *args: Any, **kwargs: Any) -> None:
            _refuse(dotted)

        return (type(dotted.rpartition(".")[2], (), {"__init__": init}),)
