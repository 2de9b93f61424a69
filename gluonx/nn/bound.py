"""Layers whose operators are bound to attributes that programs write later: ``layer._rate = 0.3``.

MXNet reads such an attribute at each call, so a schedule of dropout, or a net whose slopes are changed after it was
made, writes it. Here an operator is bound to its settings once; a `Bound` layer binds it anew when one is written. As
in MXNet, a hybridized net shows the change after ``hybridize()`` was called again.
"""

from __future__ import annotations

from typing import Any, ClassVar

from gluonx.block.block import HybridBlock


class Bound(HybridBlock):
    """A layer that binds its operators whenever one of the attributes `_settings` is written and all are there."""

    _settings: ClassVar[tuple[str, ...]] = ()
    _op: Any

    def _bind(self) -> None:
        """Bind the operators; written to ``__dict__``, so that nobody takes them for what a forward has stored."""

    def __setattr__(self, name: str, value: object) -> None:
        super().__setattr__(name, value)
        if name in self._settings and all(setting in self.__dict__ for setting in self._settings):
            self._bind()
