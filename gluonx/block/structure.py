"""Declarations of blocks and parameters: partly known shapes, devices, and changes of structure.

A :class:`Structure` records every change of a net's parts (a child or parameter that is added, replaced or removed, a
dtype that is cast). Everything that was derived from the parts, such as a trace or a list of parameters, remembers the
version, and comparing two integers shows whether it is still valid. Separate nets have separate structures: making or
changing one of them invalidates nothing in the others.
"""

from __future__ import annotations

import itertools
import threading
from collections.abc import Iterable
from typing import Any

import jax
import numpy as np

from gluonx.device import Device, DevicesLike, current_device, device_of, place_device, resolve
from gluonx.errors import DeviceError
from gluonx.sharding import is_spread

Shape = tuple[int, ...]


class Text:
    """Error messages of parameters."""

    KEPT = "Parameter '{path}' is already initialized and kept. Set force_reinit=True to initialize it anew."
    UNINITIALIZED = (
        "Parameter '{path}'{where} has not been initialized. Call initialize() on the block that holds it, as in "
        "net.initialize(), before its first use; a block added after that call needs a call of its own."
    )
    DEFERRED = (
        "Parameter '{path}'{where} has no value yet: part of its shape {shape} is unknown. Run one batch through the "
        "net, call net.infer_shape(x), or give the whole shape when you make the layer (in_units, in_channels, ...)."
    )
    UNREACHED = (
        "Parameter '{path}' has no value yet: part of its shape {shape} is unknown, as '{block}' was never called in "
        "forward. Call it there, leave the parameter out of the Trainer (grad_req='null'), or call "
        "step(batch_size, ignore_stale_grad=True), which leaves it as it is."
    )
    CONFLICT = "Parameter '{path}' has shape {declared}, which does not fit {what} {other}."
    NO_GRAD = (
        "Parameter '{path}' has no gradient, because {why}. A floating parameter with grad_req 'write' or 'add' has "
        "one."
    )
    NOT_SPARSE = (
        "Cannot return rows of parameter '{path}' by row_sparse_data(), because its storage type is {stype}. Use "
        "data(), or make it with stype='row_sparse'."
    )
    NO_SYMBOL = "Parameter '{path}' has no symbol: gluonx records programs as they run. Use data() in forward."


_versions = itertools.count(1)
_joining = threading.RLock()  # without it, two threads could make a cycle, or lose one of two joins


class Structure:
    """Common state of blocks and parameters that hold each other: the version of their parts.

    Blocks do not know which blocks hold them. So a block that takes in a part joins that part's structure to its own,
    and each change counts for all that belong to it. Blocks that are taken apart keep a common structure, which only
    causes unneeded updates. Each version occurs once in a process. A structure that was joined to another has version
    0, which no block remembers: a block that compares finds a difference, and goes on with the structure that it
    belongs to now, :meth:`whole`.

    Examples
    --------
    >>> one, other = Structure(), Structure()
    >>> before = other.version
    >>> one.changed()
    >>> other.version == before
    True
    >>> one.join(other)
    >>> other.version, other.whole() is one
    (0, True)
    """

    __slots__ = ("_joined", "version")

    def __init__(self) -> None:
        self._joined: Structure | None = None
        self.version = next(_versions)

    def whole(self) -> Structure:
        """Return the structure that this one belongs to: itself, if it was joined to no other."""
        found = self
        while found._joined is not None:
            if found._joined._joined is not None:
                found._joined = found._joined._joined
            found = found._joined
        return found

    def changed(self) -> None:
        """Record a change of the parts."""
        self.whole().version = next(_versions)

    def join(self, other: Structure) -> None:
        """Make `other` a part of this one, which is a change of both."""
        with _joining:
            one, part = self.whole(), other.whole()
            while one._joined is not None or part._joined is not None:  # a signal handler joined them meanwhile
                one, part = self.whole(), other.whole()
            if one is not part:
                part._joined, part.version = one, 0
        one.changed()

    def __reduce__(self) -> tuple[Any, ...]:
        return Structure, ()  # a new one for copies of the blocks that belong to it


def as_shape(shape: int | Iterable[int | None] | None) -> Shape | None:
    """Normalize a declared shape: a tuple with -1 for unknown dimensions, or None if the rank is not known."""
    if shape is None:
        return None
    dims = (shape,) if isinstance(shape, (int, np.integer)) else tuple(shape)
    return tuple(-1 if dim is None or int(dim) <= 0 else int(dim) for dim in dims)


def merge(declared: Shape | None, other: Shape | None) -> Shape | None:
    """Merge two partly known shapes. Raise ValueError where they contradict each other."""
    if declared is None or other is None:
        return declared if other is None else other
    if len(declared) != len(other) or any(a != b and a > 0 and b > 0 for a, b in zip(declared, other)):
        raise ValueError
    return tuple(max(a, b) for a, b in zip(declared, other))


def is_complete(shape: Shape | None) -> bool:
    """Return whether all of the shape is known."""
    return shape is not None and -1 not in shape


def device_list(device: DevicesLike, path: str) -> list[Device]:
    """Return the devices that a user gave: one, a list of them, or None for the current one.

    Raises
    ------
    DeviceError
        If the list is empty, or if it names a device twice and :func:`repeat_devices` was not called: a loop over it
        would treat it as two devices, but the second gradient on a device replaces the first.
    """
    if not isinstance(device, (list, tuple)):
        return [one_device(device, path)]
    if not device:
        raise DeviceError(f"Parameter '{path}' needs a device, but an empty list of them was given.")
    found = [one_device(d, path) for d in device]
    if not _Repeats.allowed:
        check_distinct(found, path)
    return found


class _Repeats:
    """The setting whether a list of devices may name one twice."""

    allowed = False


def repeat_devices(on: bool) -> None:
    """Allow or forbid that a list names a device twice. MXNet allows it, as long as no Trainer steps."""
    _Repeats.allowed = on


def check_distinct(devices: list[Device], path: str) -> None:
    """Raise DeviceError for a list of devices that names one twice."""
    twice = next((d for k, d in enumerate(devices) if d in devices[:k]), None)
    if twice is not None:
        raise DeviceError(
            f"Parameter '{path}': the list {devices} names {twice} twice, and a parameter has one replica on a device. "
            "Name each device once; where a machine has one device, cpu(0), cpu(1) and so on are distinct names for it."
        )


def one_device(device: DevicesLike, path: str) -> Device:
    """Return the device that a user gave: a device, a list of one device, or None for the current one."""
    if device is None:
        return current_device()
    if isinstance(device, (list, tuple)):
        distinct = list(dict.fromkeys(device_list(device, path)))
        if len(distinct) != 1:
            raise DeviceError(f"Parameter '{path}': one device is asked for here, but {distinct} were given.")
        return distinct[0]
    if isinstance(device, Device):
        return Device(device)  # a copy, because the caller's may be in use as a context
    found = resolve(device)
    assert found is not None, "resolve() gives a device for everything but None"
    if not isinstance(found, jax.sharding.Sharding):
        return device_of(found)
    if is_spread(found):
        raise DeviceError(
            f"Parameter '{path}': a device or a list of them is asked for here, and {found} is a placement over "
            f"{len(found.device_set)}. Assign it, parameter.sharding = ..., or put the net on a mesh: "
            "parallel.use(mesh), net.initialize(), net.shard(...)."
        )
    return place_device(found)


def placement(device: Device | None) -> Device | None:
    """Return the device for an array; None for the current one, so that the array can move to a mesh."""
    return None if device == current_device() else device
