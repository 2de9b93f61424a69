"""A net with its channels last, whichever way it was written: for compilers that want NHWC.

:class:`ChannelsLast` is a trace in which images have a twin with the channels last. Convolution, pooling and batch norm
run on twins, and so does what works element by element; only where an operator has no such form is the image turned
back. So a net of the common kind is turned once at its beginning and once before its dense layers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import jax.numpy as jnp

from gluonx.common.host import to_jax
from gluonx.deferred.operators.derived import strong
from gluonx.deferred.trace.tracing import Trace
from gluonx.deferred.values.core import Handle, new_handle

if TYPE_CHECKING:
    import jax

    from gluonx.np.handle import ndarray
    from gluonx.ops.registry import BoundOp


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

    def _turned(self, last: jax.Array) -> jax.Array:
        first = jnp.transpose(last, _FIRST)
        self.twins[id(first)] = last
        self.kept.append(first)
        return first

    def _twin(self, value: jax.Array) -> jax.Array:
        found = self.twins.get(id(value))
        return jnp.transpose(value, _LAST) if found is None else found

    def invoke(self, op: BoundOp, args: Any) -> ndarray:
        """Run `op` on twins where it can be."""
        run = self._on_twins(op, args) if getattr(op, "op", None) is not None and not op.random else None
        if run is None:
            return super().invoke(op, args)
        return new_handle(self._turned(run))

    def _on_twins(self, op: BoundOp, args: Any) -> Any:
        values = [self.value(a, op, args) if isinstance(a, Handle) else self._plain(a, args, op) for a in args]
        way, attrs = op.op.channels_last, dict(op.attrs)
        if not way or getattr(values[0], "ndim", 0) != 4:
            return None
        if way == "layout":
            if attrs["layout"] not in (None, "NCHW"):
                return None
            given = [self._twin(values[0]), *values[1:]]
            if "weight" in op.op.inputs:
                given[1] = jnp.transpose(given[1], _LAST)
            return strong(op.op.bind(**{**attrs, "layout": "NHWC"}))(*given)
        images = [id(v) in self.twins for v in values]
        if not images[0]:
            return None
        twins = [self.twins.get(id(v), v) for v in values]
        if way == "axis":
            fits = attrs["axis"] in (1, -3) and (all(images) or not op.op.variadic)
            if fits and attrs.get("training") is not True and op.nout == 1:
                return strong(op.op.bind(**{**attrs, "axis": 3}))(*twins)
            return None
        return strong(op)(*twins) if all(i or getattr(v, "ndim", 0) == 0 for i, v in zip(images, values)) else None
