"""Arrays on a mesh: putting one there, and keeping it there.

XLA finds out how the values inside a program are laid out. What must not be left to it is where a program ends: a
weight that came out otherwise than it went in would be another kind of input at the next step, which compiles anew and
can donate nothing. So gradients and whatever a step replaces come out as they went in (:func:`program.pinned`), and a
write to an array on a mesh is laid out as the array was (:func:`kept`).
"""

from __future__ import annotations

from typing import Any

import jax
from jax.sharding import Sharding

from gluonx.deferred.contracts import Home
from gluonx.deferred.core import Handle, Pending, Tracer, aval_of, current_state, new_handle
from gluonx.deferred.derived import pin
from gluonx.deferred.engine import invoke
from gluonx.deferred.graph import settle, source_of
from gluonx.deferred.program import pinned
from gluonx.deferred.segments import CustomSegment
from gluonx.dtype import on_device

__all__ = ["at_home", "constrained", "kept", "moved", "placed"]


def placed(handle: Handle, place: Any) -> Any:
    """Return the value of `handle` laid out by a sharding, or on a device: `handle` itself if it lies so already."""
    value = handle.value
    if isinstance(place, jax.sharding.Sharding) and type(value) is Pending and value.value is None:
        return constrained(handle, place)
    array = settle(handle)
    if array.sharding == place or (isinstance(place, jax.Device) and array.devices() == {place}):
        return handle
    return moved(handle, place)


def moved(handle: Handle, place: Home) -> Any:
    """Return a copy of `handle` on another device; while autograd records, its gradient goes back where `handle` is.

    One program has the devices of one mesh, so what is pending is computed, and the copy stands between two segments of
    the tape. The gradient is copied by the same function: where that is recorded too, it can be differentiated again.
    """
    array = settle(handle, "a copy to another device")
    copy = new_handle(on_device(array, place, may_alias=False))  # a step may donate both: folded devices are one
    for value in (array, copy.value):
        aval_of(value)  # raises for a mesh of axes that JAX types operations by
    source = source_of(handle)
    if source is not None and current_state().recording:
        home = array.sharding

        def back(cotangents: dict[int, Handle], create_graph: bool) -> list[Handle | None]:
            return [moved(cotangents[0], home)]

        copy.tape = CustomSegment(back, [source], [aval_of(copy.value)]).outs[0]
    return copy


def constrained(handle: Handle, sharding: Sharding) -> Any:
    """Return `handle` with its layout said to XLA; gradients pass, and lie likewise."""
    return invoke(pin(sharding), (handle,))


def kept(old: Handle, new: Handle) -> Handle:
    """Return `new`, which is to replace the value of `old` on several devices, laid out as that is."""
    value, before = new.value, old.value
    if current_state().trace is not None or isinstance(before, Tracer) or new.shape != old.shape:
        return new
    if type(value) is not Pending or value.value is not None:
        return new
    if type(before) is Pending and before.value is None:
        before.graph.path()
        place = pinned(*before.graph.owners[before.slot])
    else:
        place = aval_of(settle(old)).sharding
    if place is None or (value.aval.sharding == place and _is_pinned(value)):
        return new
    return constrained(new, place)


def at_home(old: Handle, new: Handle) -> Handle:
    """Return `new`, which is to replace the value of `old`: one of no device in particular goes where that is."""
    value, before = new.value, old.value
    if current_state().trace is not None or type(value) is Pending or not isinstance(before, (jax.Array, Pending)):
        return new
    place = old.aval.sharding if old.aval is not None else None if type(before) is Pending else aval_of(before).sharding
    if place is None or isinstance(value, Tracer) or aval_of(settle(new)).sharding is not None:
        return new
    return moved(new, place)


def _is_pinned(value: Pending) -> bool:
    value.graph.path()
    return pinned(*value.graph.owners[value.slot]) is not None
