"""A net with its channels last, whichever way it was written: for compilers that want NHWC.

:class:`ChannelsLast` is a trace in which images have a twin with the channels last. Convolution, pooling and batch norm
run on twins, and so does what works element by element; only where an operator has no such form is the image turned
back. So a net of the common kind is turned once at its beginning and once before its dense layers.
"""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp

from gluonx.deferred.core import Handle, new_handle
from gluonx.deferred.derived import strong
from gluonx.deferred.tracing import Trace
from gluonx.host import to_jax

__all__ = ["ChannelsLast"]

_CONVOLUTIONS = frozenset(["convolution", "int8_convolution"])
_SPATIAL = _CONVOLUTIONS | {"pooling"}
_WORDS = """
    absolute activation add add_n cast clip copy dropout elu exp gelu hard_sigmoid log log_sigmoid maximum minimum mish
    multiply negative power relu selu sigmoid silu softrelu softsign sqrt square subtract swish tanh true_divide
"""
_BY_ELEMENT = frozenset(_WORDS.split())
_LAST, _FIRST = (0, 2, 3, 1), (0, 3, 1, 2)


class ChannelsLast(Trace):
    """A trace that keeps images with their channels last. See the module's text."""

    def __init__(self, handles: list[Handle], tracers: Any, key: Any) -> None:
        super().__init__(handles, tracers, key)
        self.twins: dict[int, Any] = {}
        self.kept: list[Any] = []  # so that no id is used twice

    def enter(self, value: Any) -> Any:
        """Return a handle on an input; an image comes with its channels last."""
        array = to_jax(value)
        return new_handle(self._turned(array) if array.ndim == 4 else array)

    def leave(self, handle: Any) -> Any:
        """Return the value of an output; an image goes with its channels last."""
        value = self.value(handle)
        return self._twin(value) if value.ndim == 4 else value

    def _turned(self, last: Any) -> Any:
        first = jnp.transpose(last, _FIRST)
        self.twins[id(first)] = last
        self.kept.append(first)
        return first

    def _twin(self, value: Any) -> Any:
        found = self.twins.get(id(value))
        return jnp.transpose(value, _LAST) if found is None else found

    def invoke(self, op: Any, args: Any) -> Any:
        """Run `op` on twins where it can be."""
        run = self._on_twins(op, args) if getattr(op, "op", None) is not None and not op.random else None
        if run is None:
            return super().invoke(op, args)
        return new_handle(self._turned(run))

    def _on_twins(self, op: Any, args: Any) -> Any:
        values = [self.value(a, op, args) if isinstance(a, Handle) else self._plain(a, args, op) for a in args]
        name, attrs = op.op.name, dict(op.attrs)
        image = getattr(values[0], "ndim", 0) == 4 if values else False
        if not image:
            return None
        if name in _SPATIAL and attrs["layout"] in (None, "NCHW"):
            given = [self._twin(values[0]), *values[1:]]
            if name in _CONVOLUTIONS:
                given[1] = jnp.transpose(given[1], (0, 2, 3, 1))
            return strong(op.op.bind(**{**attrs, "layout": "NHWC"}))(*given)
        if id(values[0]) not in self.twins:
            return None
        if name == "batch_norm" and attrs["axis"] in (1, -3) and attrs["training"] is not True and op.nout == 1:
            return strong(op.op.bind(**{**attrs, "axis": 3}))(self.twins[id(values[0])], *values[1:])
        if name == "concatenate" and attrs["axis"] in (1, -3) and all(id(v) in self.twins for v in values):
            return strong(op.op.bind(axis=3))(*[self.twins[id(v)] for v in values])
        if name in _BY_ELEMENT and all(id(v) in self.twins or getattr(v, "ndim", 0) == 0 for v in values):
            return strong(op)(*[self.twins.get(id(v), v) for v in values])
        return None
