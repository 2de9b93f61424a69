"""``mx.registry``: registries of classes by name, one for each base class and nickname."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from gluonx.common.frames import warn

__all__ = ["get_alias_func", "get_create_func", "get_register_func", "get_registry"]

_tables: dict[type, dict[str, type]] = {}


def get_registry(base_class: type) -> dict[str, type]:
    """Return a copy of the registry of `base_class`: classes by name, in lower case."""
    return dict(_tables.get(base_class, {}))


def get_register_func(base_class: type, nickname: str) -> Callable[..., type]:
    """Return the function ``register(klass, name=None)`` of a registry; it gives `klass` back.

    Examples
    --------
    >>> class Animal: ...
    >>> register, create = get_register_func(Animal, "animal"), get_create_func(Animal, "animal")
    >>> class Cat(Animal): ...
    >>> type(create(register(Cat) and "cat")).__name__
    'Cat'
    """
    table = _tables.setdefault(base_class, {})

    def register(klass: type, name: str | None = None) -> type:
        if not issubclass(klass, base_class):
            raise AssertionError(f"register: {klass.__name__} is no subclass of {base_class.__name__}.")
        key = (klass.__name__ if name is None else name).lower()
        if table.get(key, klass) is not klass:
            warn(f"The {nickname} '{key}' was {table[key]}, and is now {klass}.")
        table[key] = klass
        return klass

    register.__doc__ = f"Register a {nickname} under `name`, or its own; AssertionError if it is none."
    return register


def get_alias_func(base_class: type, nickname: str) -> Callable[..., Callable[[type], type]]:
    """Return the decorator ``alias(*names)`` of a registry, which registers a class under several names."""
    register = get_register_func(base_class, nickname)

    def alias(*names: str) -> Callable[[type], type]:
        def decorate(klass: type) -> type:
            for name in names:
                register(klass, name)
            return klass

        return decorate

    alias.__doc__ = f"Register a {nickname} under other names."
    return alias


def get_create_func(base_class: type, nickname: str) -> Callable[..., Any]:
    """Return the function ``create(name, *args, **kwargs)`` of a registry.

    It takes an instance, which it gives back, a name, or JSON (``'["name", {"key": 1}]'``); AssertionError for others.
    """
    table = _tables.setdefault(base_class, {})

    def create(*args: Any, **kwargs: Any) -> Any:
        name, args = (args[0], args[1:]) if args else (kwargs.pop(nickname), ())
        if isinstance(name, base_class):
            if args or kwargs:
                raise AssertionError(f"{name!r} is a {nickname} already, and takes no further arguments.")
            return name
        if isinstance(name, dict):
            return create(**name)
        if not isinstance(name, str):
            raise AssertionError(f"a {nickname} is given as a name or an instance, not as {type(name).__name__}.")
        if name.startswith("["):
            if args or kwargs:
                raise AssertionError(f"JSON tells all arguments of a {nickname}; others were given too.")
            name, options = json.loads(name)
            return create(name, **options)
        if name.startswith("{"):
            if args or kwargs:
                raise AssertionError(f"JSON tells all arguments of a {nickname}; others were given too.")
            return create(**json.loads(name))
        if name.lower() not in table:
            raise AssertionError(f"There is no {nickname} '{name}'; register it first. There are: {sorted(table)}.")
        return table[name.lower()](*args, **kwargs)

    create.__doc__ = f"Make a {nickname} of its name, of JSON, or of itself."
    return create


def __dir__() -> list[str]:
    return sorted(__all__)
