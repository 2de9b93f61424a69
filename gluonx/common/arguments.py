"""Keyword arguments that a function or class does not know: refused by name, with the nearest right one.

One message, `unexpected`, for all of gluonx, and two ways to it besides calling it: `Checked`, a base of classes whose
constructors refuse what they do not know, and `named`, which makes the functions of a module do so. (Python itself says
what was meant from 3.13 on; functions are left alone there.)
"""

from __future__ import annotations

import difflib
import functools
import inspect
import sys
import types
from collections.abc import Iterable, Sequence
from typing import Any, Self

import numpy as np

from gluonx.common.frames import shorten as _shorten
from gluonx.errors import ArgumentError

__all__ = ["Checked", "Size", "as_tuple", "did_you_mean", "from_elsewhere", "named", "refuse", "unexpected", "written"]

Size = int | Sequence[int]


def unexpected(owner: str, key: str, known: Iterable[str], untold: Iterable[str] = ()) -> TypeError:
    """Give the error for a keyword argument that `owner` does not have; `untold` are further ones, which mean nothing.

    Examples
    --------
    >>> str(unexpected("Dense", "activaton", ["units", "activation"]))
    "Dense got an unexpected keyword argument 'activaton'; did you mean 'activation'? (it has: units, activation)."
    """
    known = list(known)
    meant = did_you_mean(key, [*known, *untold])
    return TypeError(f"{owner} got an unexpected keyword argument '{key}'{meant} (it has: {', '.join(known)}).")


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return the part of a message that asks for the nearest of the known names; empty where none is near.

    Examples
    --------
    >>> did_you_mean("activaton", ["units", "activation"])
    "; did you mean 'activation'?"
    """
    near = difflib.get_close_matches(name, list(known), 1)
    return f"; did you mean '{near[0]}'?" if near else ""


def from_elsewhere(value: object) -> str:
    """Return the part of a message that says how a tensor of another library becomes an array; empty for all else.

    Examples
    --------
    >>> from_elsewhere("text")
    ''
    >>> from_elsewhere(np.ones(2))
    '; np.from_dlpack(x) of gluonx makes an array of it (of PyTorch: x.detach())'
    """
    told = "; np.from_dlpack(x) of gluonx makes an array of it (of PyTorch: x.detach())"
    return told if hasattr(value, "__dlpack__") else ""


def refuse(owner: str, given: Iterable[str], known: Iterable[str], ignored: Iterable[str] = ()) -> None:
    """Raise for the first of the keywords `given` that is not `ignored`.

    Raises
    ------
    TypeError
        As `unexpected` makes it.
    """
    wrong = sorted(set(given).difference(ignored))
    if wrong:
        raise unexpected(owner, wrong[0], known)


@functools.cache
def _keywords(cls: type) -> tuple[str, ...] | None:
    """Return the keywords that a class's constructor takes; None if it takes any."""
    try:
        rows = list(inspect.signature(cls.__init__).parameters.values())[1:]  # type: ignore[misc]
    except (TypeError, ValueError):
        return None
    if any(p.kind is p.VAR_KEYWORD for p in rows):
        return None
    return tuple([p.name for p in rows if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)])


class Checked:
    """A base of classes whose constructors name the nearest right keyword when they refuse one.

    A subclass with ``**kwargs`` in its ``__init__`` looks after them itself.

    Examples
    --------
    >>> class Layer(Checked):
    ...     def __init__(self, units):
    ...         self.units = units
    >>> Layer(unit=3)
    Traceback (most recent call last):
        ...
    TypeError: Layer got an unexpected keyword argument 'unit'; did you mean 'units'? (it has: units).
    """

    __slots__ = ()
    _also_takes: frozenset[str] = frozenset()  # keywords that a subclass deals with before __init__ sees them

    def __new__(cls, *args: Any, **kwargs: Any) -> Self:
        """Return a bare instance, once the keywords are known to be right."""
        if kwargs:
            known = _keywords(cls)
            if known is not None and not set(known).issuperset(kwargs):
                refuse(cls.__name__, set(kwargs).difference(known), known, cls._also_takes)
        return super().__new__(cls)


def written(namespace: dict[str, Any], but: Sequence[str] = ()) -> list[str]:
    """Return the functions and classes that a module writes and that have no underscore: the most of its ``__all__``.

    Parameters
    ----------
    namespace : dict
        The module's ``globals()``, at its end.
    but : sequence of str
        Which of them are not for users.
    """
    own = [
        name
        for name, value in namespace.items()
        if isinstance(value, (type, types.FunctionType)) and value.__module__ == namespace["__name__"]
    ]
    return [name for name in own if name[0] != "_" and name not in but]


def named(namespace: dict[str, Any], names: Iterable[str], prefix: str) -> None:
    """Make Python's "unexpected keyword argument" from these functions of a module name the nearest right one.

    Parameters
    ----------
    namespace : dict
        The module's ``globals()``, whose entries are replaced.
    names : iterable of str
        Which of them; what is no Python function stays.
    prefix : str
        How messages call the module, such as ``np.random``.
    """
    if sys.version_info >= (3, 13):
        return
    for name in names:
        fn = namespace.get(name)
        if isinstance(fn, types.FunctionType) and fn.__module__.startswith("gluonx"):
            namespace[name] = _naming(fn, f"{prefix}.{name}")


def _naming(fn: types.FunctionType, owner: str) -> types.FunctionType:
    explain, shorten = _explain, _shorten  # by cells: the globals are those of another module

    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            return fn(*args, **kwargs)
        except Exception as error:
            if isinstance(error, TypeError):
                explain(fn, owner, error, kwargs)
            shorten(error)
            raise

    # With the globals of the function, so that tools which ask where it comes from find its module.
    outer = types.FunctionType(call.__code__, fn.__globals__, fn.__name__, None, call.__closure__)
    return functools.update_wrapper(outer, fn)  # type: ignore[return-value]


def _explain(fn: types.FunctionType, owner: str, error: TypeError, given: dict[str, Any]) -> None:
    """Raise the error with the nearest name, if `error` is Python's refusal of a keyword of this very call."""
    trace = error.__traceback__
    if trace is None or trace.tb_next is not None:  # it comes from deeper down
        return
    rows = inspect.signature(fn).parameters.values()
    known = [p.name for p in rows if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)]
    wrong = [key for key in given if key not in known]
    if wrong and "unexpected keyword argument" in str(error):
        raise unexpected(owner, wrong[0], known) from None


def as_tuple(value: Size, n: int, what: str, low: int = 1) -> tuple[int, ...]:
    """Return a number for all dimensions, or one for each, as a tuple of n.

    Raises
    ------
    ValueError
        If there are not n, or one is no whole number or below ``low``.
    """
    sizes = (value,) * n if isinstance(value, (int, np.integer)) else tuple(value)  # type: ignore[arg-type]
    if len(sizes) != n or any(not isinstance(s, (int, np.integer)) or s < low for s in sizes):
        raise ArgumentError(f"{what} must be a whole number of at least {low}, or {n} of them, got {value!r}.")
    return tuple(int(s) for s in sizes)
