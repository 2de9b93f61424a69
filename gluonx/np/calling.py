"""Calls of functions that take arrays and static arguments: from a call's arguments to an operator and its leaves.

A call takes the first of three ways that fits. *Spelled*: the arrays come first and the static arguments are spelled as
in an earlier call; one look-up finds the operator. *Laid out*: the same parameters are given as in an earlier call, by
position or by name; a `_Layout` says which are leaves and which are static. *Sorted*: everything else; `_Call.sort`
reads the call by the parameters' roles, and stores a spelling and a layout for the next call.
"""

from __future__ import annotations

import contextlib
import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as onp

from gluonx.common.arguments import unexpected
from gluonx.common.frames import shorten
from gluonx.deferred import invoke
from gluonx.errors import ArgumentError
from gluonx.np import table
from gluonx.np.handle import ndarray
from gluonx.np.wrapping import DTYPES, SEQUENCE_TYPES, Param, as_leaf, as_static, store, write_out
from gluonx.ops.registry import BoundOp, Op

Front = Callable[..., Any]

_MISSING: Any = inspect.Parameter.empty


class _Layout:
    """The positions of leaves and static arguments in calls with so many positional arguments and these keywords.

    Each entry is a position, a keyword, or None for a leaf that is not given. ``bound`` caches the operators by the
    values of the static arguments.
    """

    __slots__ = ("bound", "leaves", "statics")

    def __init__(self, leaves: Sequence[int | str | None], statics: Sequence[int | str]) -> None:
        self.leaves, self.statics = tuple(leaves), tuple(statics)
        self.bound: dict[Any, BoundOp] = {}

    def take(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, list[Any]]:
        """Return the key into ``bound``, and the leaves."""
        leaves = [args[w] if isinstance(w, int) else None if w is None else kwargs[w] for w in self.leaves]
        statics = [args[w] if isinstance(w, int) else kwargs[w] for w in self.statics]
        if not SEQUENCE_TYPES.isdisjoint(map(type, statics)):
            statics = [as_static("", s) for s in statics]
        if not SEQUENCE_TYPES.isdisjoint(map(type, leaves)):
            leaves = [as_leaf(leaf) for leaf in leaves]
        while leaves and leaves[-1] is None:
            leaves.pop()
        return (*statics, *map(type, statics)), leaves


class _Call:
    """The parameters of one function, and the operator that computes it."""

    def __init__(
        self,
        op: Op,
        name: str,
        params: Sequence[Param],
        renamed: Mapping[str, str],
        shown: Mapping[str, str],
    ) -> None:
        self.op, self.name, self.renamed, self.shown = op, name, renamed, shown
        self.params = tuple(params)
        self.by_name = {p.name: p for p in params}
        self.first = params[0].name if params else ""
        self.collected = next((p for p in params if p.role in ("sequence", "star")), None)
        self.arrays = tuple([p.name for p in params if p.role == "array"])
        self.statics = tuple([p.name for p in params if p.role == "static"])
        self.required = tuple([p.name for p in params if p.default is _MISSING and p.role != "star"])
        self.defaults = {n: self.by_name[n].default for n in self.statics if self.by_name[n].default is not _MISSING}

    def sort(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[BoundOp, tuple[Any, ...], Any, bool]:
        """Return the bound operator, the leaves, ``out``, and whether to cache the operator for these statics."""
        given = self._assign(args, kwargs)
        statics = {n: given[n] for n in self.statics if n in given}
        attrs = {**self.defaults, **{n: as_static(n, v) for n, v in statics.items()}}
        # A 64-bit dtype means another one while JAX's x64 switch is off, so that it is not cached.
        steady = not any(n in DTYPES and v is not None and onp.dtype(v).itemsize >= 8 for n, v in statics.items())
        return self.op.bind(**attrs), self._leaves(given), given.get("out"), steady

    def _assign(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
        given: dict[str, Any] = {}
        if self.collected is not None and self.collected.role == "star":
            given[self.collected.name] = args
        elif len(args) > len(self.params):
            raise TypeError(f"{self.name} takes at most {len(self.params)} arguments, got {len(args)}.")
        else:
            given.update(zip([p.name for p in self.params], args, strict=False))
        for key, value in kwargs.items():
            name = self.resolve(key)
            if name in given:
                raise TypeError(f"{self.name} got two values for the argument '{self.shown.get(name, name)}'.")
            given[name] = value
        missing = [n for n in self.required if n not in given]
        if missing:
            raise TypeError(f"{self.name} is missing the argument '{self.shown.get(missing[0], missing[0])}'.")
        return given

    def resolve(self, key: str) -> str:
        """Return the parameter that a caller means by `key`."""
        key = self.renamed.get(key, key)
        if key in self.by_name:
            return key
        if key in table.SYNONYMS and self.first in table.SYNONYMS:
            return self.first
        if key in ("out", "name"):
            return key
        known = [self.shown.get(p.name, p.name) for p in self.params if p.role != "dropped"]
        raise unexpected(self.name, key, known, table.TAKEN.intersection(self.by_name))

    def _leaves(self, given: Mapping[str, Any]) -> tuple[Any, ...]:
        if self.collected is not None:
            leaves = tuple([as_leaf(v) for v in given[self.collected.name]])
            if not leaves:
                raise ArgumentError(f"{self.name}: at least one array was expected, got none.")
            return leaves
        leaves = [as_leaf(given.get(n)) for n in self.arrays]
        while leaves and leaves[-1] is None:
            leaves.pop()
        return tuple(leaves)

    def lay_out(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> _Layout:
        """Return the layout of a call that `sort` has understood."""
        positions: dict[str, int | str] = {p.name: i for i, p in enumerate(self.params[: len(args)])}
        positions.update({self.resolve(key): key for key in kwargs})
        return _Layout([positions.get(n) for n in self.arrays], [positions[n] for n in self.statics if n in positions])


def general(
    op: Op,
    name: str,
    params: Sequence[Param],
    *,
    renamed: Mapping[str, str] | None = None,
    shown: Mapping[str, str] | None = None,
    listed: bool = False,
) -> Front:
    """Return the front of a function of arrays and statics.

    Parameters
    ----------
    op : Op
        The operator that computes it.
    name : str
        The name that error messages use.
    params : sequence of Param
        The parameters in the order in which callers give them.
    renamed : mapping of str to str, optional
        Other names of parameters.
    shown : mapping of str to str, optional
        The names of parameters in error messages, if they differ.
    listed : bool
        Whether several results come as a list.
    """
    call = _Call(op, name, params, renamed or {}, shown or {})
    front = _apart(call) if call.collected is None else _collecting(call)
    return _listing(front) if listed else front


def _listing(front: Front) -> Front:
    def listing(*args: object, **kwargs: object) -> Any:
        result = front(*args, **kwargs)
        return list(result) if type(result) is tuple else result

    return listing


def _apart(call: _Call) -> Front:  # noqa: C901 - the three ways of a call, from the fastest on
    """Return the front of a function whose arrays are parameters of their own."""
    lead = 0
    while lead < len(call.params) and call.params[lead].role == "array":
        lead += 1
    least = max(1, sum(p.default is _MISSING for p in call.params[:lead]))
    spelled: dict[Any, BoundOp] = {}
    layouts: dict[Any, _Layout] = {}

    def front(*args: Any, **kwargs: object) -> Any:
        try:
            if len(args) >= least and isinstance(args[0], ndarray):
                try:
                    rest = args[lead:]
                    bound = spelled.get(_spelling(rest, kwargs) if rest or kwargs else _PLAIN)
                except TypeError:  # the spelling is not hashable, such as axis=[0, 1]
                    bound = None
                if bound is not None:
                    leaves = args[:lead]
                    try:
                        return invoke(bound, leaves)
                    except TypeError:
                        if SEQUENCE_TYPES.isdisjoint(map(type, leaves)):
                            raise
            layout = layouts.get((len(args), *kwargs))
            if layout is not None:
                try:
                    key, found = layout.take(args, kwargs)
                    bound = layout.bound.get(key)
                except TypeError:  # an array as a static argument
                    bound = None
                if bound is not None:
                    return invoke(bound, found)
            return thorough(args, kwargs)
        except Exception as error:
            shorten(error)
            raise

    def thorough(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        bound, leaves, out, steady = call.sort(args, kwargs)
        if out is not None:
            return write_out(call.name, out, invoke(bound, leaves))
        if steady and "out" not in kwargs:
            _remember(args, kwargs, bound, leaves)
        return invoke(bound, leaves)

    def _remember(args: tuple[Any, ...], kwargs: dict[str, Any], bound: BoundOp, leaves: tuple[Any, ...]) -> None:
        spelling = (len(args), *kwargs)
        if spelling not in layouts:
            store(layouts, spelling, call.lay_out(args, kwargs))
        with contextlib.suppress(TypeError):  # unhashable statics are not cached
            store(layouts[spelling].bound, layouts[spelling].take(args, kwargs)[0], bound)
            if _same(leaves, args[:lead]):
                store(spelled, _spelling(args[lead:], kwargs), bound)

    return front


def _spelling(statics: tuple[Any, ...], named: dict[str, Any]) -> tuple[Any, ...]:
    """Return the key of static arguments; ``1``, ``1.0`` and ``True`` have different keys, except inside of tuples."""
    if len(named) == 1 and not statics:  # such as axis=1; takes half of the time
        ((name, value),) = named.items()
        return name, value, type(value)
    key: list[Any] = [len(statics)]
    for value in statics:
        key += (value, type(value))
    for name, value in named.items():
        key += (name, value, type(value))
    return tuple(key)


_PLAIN = _spelling((), {})


def _same(leaves: tuple[Any, ...], given: tuple[Any, ...]) -> bool:
    """Return whether the leaves are just the leading arguments, since only then may the spelling be cached."""
    return len(leaves) == len(given) and all(a is b for a, b in zip(leaves, given, strict=True))


def _collecting(call: _Call) -> Front:
    """Return the front of a function of any number of arrays: ``f([a, b], axis)`` or ``f(a, b)``."""
    star = call.collected is not None and call.collected.role == "star"
    spelled: dict[Any, BoundOp] = {}

    def front(*args: Any, **kwargs: object) -> Any:
        try:
            given = args if star else args[0] if args else ()
            rest = () if star else args[1:]
            if given.__class__ not in SEQUENCE_TYPES or not given:
                return thorough(args, rest, kwargs)
            try:
                bound = spelled.get(_spelling(rest, kwargs) if rest or kwargs else _PLAIN)
            except TypeError:
                bound = None
            if bound is None:
                return thorough(args, rest, kwargs)
            leaves = tuple(given)
            try:
                return invoke(bound, leaves)
            except TypeError:
                if SEQUENCE_TYPES.isdisjoint(map(type, leaves)):
                    raise
            return invoke(bound, tuple([as_leaf(v) for v in leaves]))
        except Exception as error:
            shorten(error)
            raise

    def thorough(args: tuple[Any, ...], rest: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        bound, leaves, out, steady = call.sort(args, kwargs)
        if out is not None:
            return write_out(call.name, out, invoke(bound, leaves))
        named = call.collected is not None and call.collected.name in kwargs
        if steady and "out" not in kwargs and not named:
            with contextlib.suppress(TypeError):
                store(spelled, _spelling(rest, kwargs), bound)
        return invoke(bound, leaves)

    return front
