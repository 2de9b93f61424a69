"""Arrays on a mesh: putting one there, and keeping it there.

XLA chooses the shardings of values inside a program. It must not choose those of a program's outputs: a weight that
came out with another sharding than it went in would be another kind of input at the next step, which compiles anew and
can donate nothing. So gradients and replaced values keep their shardings (:func:`program.pinned`), and a write to an
array on a mesh keeps the array's sharding (:func:`kept`).
"""

from __future__ import annotations

from typing import Any

import jax
from jax.sharding import Sharding

from gluonx.deferred.operators.derived import pin
from gluonx.deferred.operators.segments import CustomSegment
from gluonx.deferred.record.engine import invoke
from gluonx.deferred.record.graph import settle, source_of
from gluonx.deferred.run.program import pinned
from gluonx.deferred.values.contracts import Placement
from gluonx.deferred.values.core import Handle, Pending, Tracer, aval_of, current_state, new_handle
from gluonx.dtype import on_device

__all__ = ["at_home", "constrained", "kept", "moved", "placed"]


def placed(handle: Handle, placement: Any) -> Any:
    """Return the value of `handle` with a sharding, or on a device; `handle`'s own value if it lies there already."""
    value = handle.value
    if isinstance(placement, jax.sharding.Sharding) and type(value) is Pending and value.value is None:
        return constrained(handle, placement)
    array = settle(handle)
    if array.sharding == placement or (isinstance(placement, jax.Device) and array.devices() == {placement}):
        return handle
    return moved(handle, placement)


def moved(handle: Handle, placement: Placement) -> Any:
    """Return a copy of `handle` on another device.

    While autograd records, its gradient is copied back to the first device.

    One program has the devices of one mesh, so pending values are computed, and the copy stands between two segments of
    the tape. The gradient is copied by the same function, so a recorded copy can be differentiated again.
    """
    array = settle(handle, "a copy to another device")
    copy = new_handle(
        on_device(array, placement, may_alias=False)
    )  # must not alias: folded devices share memory, and a step may donate both
    for value in (array, copy.value):
        aval_of(value)  # raises for a mesh with explicit axes, by which JAX types operations
    source = source_of(handle)
    if source is not None and current_state().recording:
        home = array.sharding

        def back(cotangents: dict[int, Handle], create_graph: bool) -> list[Handle | None]:
            return [moved(cotangents[0], home)]

        copy.tape = CustomSegment(back, [source], [aval_of(copy.value)]).outs[0]
    return copy


def constrained(handle: Handle, sharding: Sharding) -> Any:
    """Return `handle` with a sharding constraint for XLA; its gradient gets the same constraint."""
    return invoke(pin(sharding), (handle,))


def kept(old: Handle, new: Handle) -> Handle:
    """Return `new`, which is to replace the value of `old` on several devices, with the sharding of that value."""
    value, before = new.value, old.value
    if current_state().trace is not None or isinstance(before, Tracer) or new.shape != old.shape:
        return new
    if type(value) is not Pending or value.value is not None:
        return new
    if type(before) is Pending and before.value is None:
        before.graph.path()
        placement = pinned(*before.graph.owners[before.slot])
    else:
        placement = aval_of(settle(old)).sharding
    if placement is None or (value.aval.sharding == placement and _is_pinned(value)):
        return new
    return constrained(new, placement)


def at_home(old: Handle, new: Handle) -> Handle:
    """Return `new`, which is to replace the value of `old`, on that value's device.

    Unchanged if it was put on a device.
    """
    value, before = new.value, old.value
    if current_state().trace is not None or type(value) is Pending or not isinstance(before, (jax.Array, Pending)):
        return new
    placement = (
        old.aval.sharding if old.aval is not None else None if type(before) is Pending else aval_of(before).sharding
    )
    if placement is None or isinstance(value, Tracer) or aval_of(settle(new)).sharding is not None:
        return new
    return moved(new, placement)


def _is_pinned(value: Pending) -> bool:
    value.graph.path()
    return pinned(*value.graph.owners[value.slot]) is not None
