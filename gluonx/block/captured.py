"""The values that a function sees besides its arguments: operands, and the key of its trace.

A trace keeps the values that the function read when it was traced: ``lambda x: x * k`` keeps the `k` of that moment. So
before each call, :func:`captured` looks at everything that a plain Python function refers to: the variables of its
closure, its defaults, the globals that it names, what a ``functools.partial`` holds, the attributes of a method's
object, and functions of its own module among these. Arrays of JAX and gluonx become operands. Numbers, texts, NumPy
arrays (by their contents), and lists, tuples, dicts and sets of them are constants and part of the key, so that another
value gives another trace. Everything else, such as modules and other objects, is identified only by its identity.

The function that is traced is a copy that contains those values. A trace may be made later than the call; later values
of the variables do not affect it.
"""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Callable, Sequence
from types import BuiltinFunctionType, CellType, CodeType, FunctionType, MethodType, ModuleType
from typing import Any

import jax
import numpy as np

from gluonx.deferred.values.core import Handle, Tracer

Build = Callable[[Sequence[Any], dict[int, Any]], Any]

_PLAIN = frozenset({int, bool, str, bytes, type(None), type(Ellipsis)})
_SKIPPED = (ModuleType, type, BuiltinFunctionType)
_LIBRARIES = frozenset({"jax", "jaxlib", "numpy", "scipy", "optax", "gluonx", "functools", "builtins"})
_DEPTH = 6
_MISSING = object()


class Captured:
    """The captured values.

    Attributes
    ----------
    key : hashable
        Equal for calls that can share a trace.
    arrays : list
        The operands.
    held : list
        Objects that the key identifies by identity, and that must therefore stay alive.
    """

    __slots__ = ("arrays", "build", "fixed", "held", "key", "module", "seen")

    def __init__(self, fn: Callable[..., Any], fixed: bool) -> None:
        self.arrays: list[Any] = []
        self.held: list[Any] = []
        self.fixed = fixed
        self.seen: dict[int, int] = {}
        self.module = getattr(_innermost(fn), "__module__", None)
        self.key, self.build = self.look(fn, 0)

    def function(self, arrays: Sequence[Any]) -> Any:
        """Return the function with these arrays instead of those that were found."""
        return self.build(arrays, {})

    def look(self, value: object, depth: int) -> tuple[Any, Build]:
        """Return the key of a value, and a function that builds it again."""
        kind: Any = type(value)
        if kind in _PLAIN:
            return (kind, value), lambda *_: value
        if kind is float or kind is complex:
            return (kind, repr(value)), lambda *_: value
        if isinstance(value, Handle) or (
            isinstance(value, jax.Array) and not (self.fixed or isinstance(value, Tracer))
        ):
            number = len(self.arrays)
            self.arrays.append(value)
            return "array", lambda arrays, _: arrays[number]
        if isinstance(value, (np.ndarray, np.generic)):
            return self._constant(value)
        if depth < _DEPTH:
            if kind in (list, tuple, set, frozenset) or (isinstance(value, tuple) and hasattr(kind, "_make")):
                return self._sequence(value, depth)
            if kind is dict:
                return self._mapping(value, depth)
            if isinstance(value, FunctionType) and (depth == 0 or value.__module__ == self.module):
                return self._function(value, depth)
            if kind is functools.partial:
                return self._partial(value, depth)
            if kind is MethodType:
                return self._method(value, depth)
            if depth == 0 and hasattr(value, "__dict__") and not isinstance(value, _SKIPPED):
                return self._object(value, depth)
        self.held.append(value)
        return (id(value), *self._plain_attributes(value)), lambda *_: value

    def _plain_attributes(self, value: object) -> list[Any]:
        """Return the numbers among the attributes of an object that is identified by identity, such as settings."""
        if isinstance(value, (*_SKIPPED, FunctionType)) or _is_library(type(value)):
            return []
        attributes = getattr(value, "__dict__", None) or {}
        return [(name, type(v), repr(v)) for name, v in attributes.items() if isinstance(v, (int, float, str))]

    def _constant(self, value: Any) -> tuple[Any, Build]:
        if value.dtype.hasobject:
            self.held.append(value)
            return id(value), lambda *_: value
        copy = np.array(value) if isinstance(value, np.ndarray) else value
        digest = hashlib.blake2b(np.ascontiguousarray(copy).data if copy.size else b"").digest()
        return (type(value), copy.shape, copy.dtype.str, digest), lambda *_: copy

    def _sequence(self, value: Any, depth: int) -> tuple[Any, Build]:
        if not value:
            return (type(value), id(value)), lambda *_: value
        kind: Any = type(value)
        make = getattr(kind, "_make", kind)  # of a named tuple
        keys, builds = zip(*[self.look(v, depth + 1) for v in value], strict=True)
        return (kind, keys), lambda *found: make([build(*found) for build in builds])

    def _mapping(self, value: Any, depth: int) -> tuple[Any, Build]:
        if not value:
            return (dict, id(value)), lambda *_: value
        names, (key, build) = list(value), self._sequence(list(value.values()), depth)
        return (dict, tuple(names), key), lambda *found: dict(zip(names, build(*found), strict=True))

    def _partial(self, value: Any, depth: int) -> tuple[Any, Build]:
        parts = (value.func, value.args, value.keywords)
        keys, builds = zip(*[self.look(v, depth if v is value.func else depth + 1) for v in parts], strict=True)

        def build(*found: object) -> functools.partial[Any]:
            func, args, keywords = [b(*found) for b in builds]
            return functools.partial(func, *args, **keywords)

        return ("partial", keys), build

    def _method(self, value: Any, depth: int) -> tuple[Any, Build]:
        func: Any = value.__func__
        key, build = self._function(func, depth) if type(func) is FunctionType else self.look(func, depth)
        own, begin = self._object(value.__self__, depth)
        return ("method", key, own), lambda *found: MethodType(build(*found), begin(*found))

    def _object(self, value: object, depth: int) -> tuple[Any, Build]:
        """Return the key of an object, by identity and attributes; it is rebuilt as a shallow copy."""
        self.held.append(value)
        attributes = getattr(value, "__dict__", None)
        if not attributes or isinstance(value, _SKIPPED) or _is_library(type(value)):
            return id(value), lambda *_: value
        names, (key, build) = list(attributes), self._sequence(list(attributes.values()), depth + 1)

        def copy(*found: Any) -> object:
            new = object.__new__(type(value))
            new.__dict__.update(zip(names, build(*found), strict=True))
            return new

        return (id(value), tuple(names), key), copy

    def _function(self, fn: FunctionType, depth: int) -> tuple[Any, Build]:
        number = self.seen.get(id(fn))
        if number is not None:  # it refers to itself, or was found before
            return ("again", number), lambda arrays, built: built[id(fn)]
        self.seen[id(fn)] = len(self.seen)
        self.held.append(fn)
        cells = [_contents(cell) for cell in fn.__closure__ or ()]
        around = fn.__globals__
        own = str(around.get("__name__")).partition(".")[0] not in _LIBRARIES
        named = [(name, around[name]) for name in _names(fn.__code__) if name in around] if own else []
        named = [(name, value) for name, value in named if not isinstance(value, _SKIPPED)]
        parts = [*cells, fn.__defaults__, fn.__kwdefaults__, *[value for _, value in named]]
        # Functions in closure cells belong to this one, such as jax.grad's argument; others only if in its own module.
        looks = [
            self._function(v, depth + 1) if i < len(cells) and type(v) is FunctionType and depth < _DEPTH
            else self.look(v, depth + 1)
            for i, v in enumerate(parts)
        ]  # fmt: skip
        keys, builds = zip(*looks, strict=True)
        count = len(cells)

        def build(arrays: Sequence[Any], built: dict[int, Any]) -> Callable[..., Any]:
            fresh = tuple([CellType() for _ in cells])
            names: dict[str, Any] = {}
            new = FunctionType(fn.__code__, {**around} if named else around, fn.__name__, None, fresh)
            built[id(fn)] = new
            made = [b(arrays, built) for b in builds]
            for cell, value in zip(fresh, made[:count], strict=True):
                if value is not _MISSING:
                    cell.cell_contents = value
            names.update(zip([name for name, _ in named], made[count + 2 :], strict=True))
            if named:
                new.__globals__.update(names)
            new.__defaults__, new.__kwdefaults__ = made[count : count + 2]
            return functools.update_wrapper(new, fn)

        return ("function", id(fn.__code__), keys), build


def _contents(cell: CellType) -> object:
    try:
        return cell.cell_contents
    except ValueError:
        return _MISSING


@functools.cache
def _names(code: CodeType) -> tuple[str, ...]:
    """Return the global names that some code, and code defined in it, may look up."""
    names = dict.fromkeys(code.co_names)
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            names.update(dict.fromkeys(_names(constant)))
    return tuple(names)


def _is_library(what: object) -> bool:
    return (getattr(what, "__module__", None) or "").partition(".")[0] in _LIBRARIES


def _innermost(fn: Callable[..., Any]) -> Callable[..., Any]:
    while isinstance(fn, (functools.partial, MethodType)):
        fn = fn.func if isinstance(fn, functools.partial) else fn.__func__
    return fn


def captured(fn: Callable[..., Any], fixed: bool = False) -> Captured | None:
    """Look at what `fn` sees besides its arguments; None for functions of libraries, and for non-Python functions.

    Parameters
    ----------
    fn : callable
    fixed : bool
        Whether arrays of JAX are constants too, for functions that compute with them while they are traced.

    Examples
    --------
    >>> seen = captured(functools.partial(max, 3))
    >>> seen.function([])(2), seen.arrays
    (3, [])
    """
    if type(fn) is FunctionType and not (fn.__closure__ or fn.__defaults__ or fn.__kwdefaults__):
        around = fn.__globals__
        if all([isinstance(around.get(name, list), _SKIPPED) for name in _names(fn.__code__)]):  # noqa: C419
            return None
    inner = _innermost(fn)
    if not isinstance(fn, (functools.partial, MethodType)):
        if _is_library(inner if isinstance(inner, FunctionType) else type(inner)):
            return None
        if not isinstance(inner, FunctionType) and not hasattr(inner, "__dict__"):
            return None
    return Captured(fn, fixed)
