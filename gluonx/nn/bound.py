"""Layers whose operators are bound to attributes that programs write later: ``layer._rate = 0.3``.

MXNet reads such an attribute at each call, so a schedule of dropout, or a net whose slopes are changed after it was
made, writes it. Here an operator is bound to its settings once; a `Bound` layer binds it anew when one is written. As
in MXNet, a hybridized net shows the change after ``hybridize()`` was called again.

Layers of many settings keep them in a dict, ``layer._kwargs['stride'] = (1, 1)``. It holds what is bound to them, and a
write drops that, so a call compares nothing.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, ClassVar

from gluonx.block.block import HybridBlock
from gluonx.ops import BoundOp


class Settings(dict[str, Any]):
    """The settings of a layer by name, and the operator that is bound to them.

    Attributes
    ----------
    bound : object
        What the layer has made of the settings; None since one was written.

    Examples
    --------
    >>> from gluonx import nn
    >>> layer = nn.MaxPool2D()
    >>> layer._kwargs["pool_type"] = "avg"
    >>> layer._kwargs.bound is None
    True
    """

    __slots__ = ("bound",)

    def __init__(self, items: dict[str, Any]) -> None:
        super().__init__(items)
        self.bound: Any = None

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (dict(self),)


def _writing(name: str) -> Callable[..., object]:
    """Return the method of a dict that drops what is bound, too."""
    method = getattr(dict, name)

    @functools.wraps(method)
    def write(self: Settings, *args: Any, **kwargs: Any) -> object:
        self.bound = None
        return method(self, *args, **kwargs)

    return write


for _name in ("__setitem__", "__delitem__", "__ior__", "clear", "pop", "popitem", "setdefault", "update"):
    setattr(Settings, _name, _writing(_name))


class Bound(HybridBlock):
    """A layer that binds its operators whenever one of the attributes `_settings` is written and all are there.

    A dict that is written to `_kwargs` becomes `Settings`.
    """

    _settings: ClassVar[tuple[str, ...]] = ()
    _op: Any

    def _bind(self) -> object:
        """Bind the operators; written to ``__dict__``, so that nobody takes them for what a forward has stored."""

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Restore a layer; pickles from before `Settings` hold a plain dict."""
        said = state.get("_kwargs")
        super().__setstate__(state if said is None else state | {"_kwargs": Settings(said)})

    def __setattr__(self, name: str, value: object) -> None:
        if name == "_kwargs" and isinstance(value, dict):
            value = Settings(value)
        super().__setattr__(name, value)
        if name in self._settings and all(setting in self.__dict__ for setting in self._settings):
            self._bind()


class BoundToKwargs(Bound):
    """A layer of one operator, which is bound to what `_kwargs` says and anew when that was written to."""

    _kwargs: Settings

    def _bind(self) -> BoundOp:
        """Return the operator with the settings."""
        raise NotImplementedError

    @property
    def _op(self) -> BoundOp:
        bound = self._kwargs.bound
        if bound is None:
            bound = self._kwargs.bound = self._bind()
        return bound
