"""Devices: MXNet's ``cpu(0)``, ``gpu(1)`` over ``jax.Device``.

A :class:`Device` is a name, looked up among JAX's devices only when an array is put there, so that ``gpu(0)`` in ported
code can be written down on a machine without one. ``gpu`` means any CUDA or ROCm device, ``tpu`` a TPU core; where no
accelerator exists, ``cpu(i)`` is the i-th host device of JAX (one, unless ``xla_force_host_platform_device_count`` says
otherwise).
"""

from __future__ import annotations

import contextvars
from typing import Any, ClassVar, TypeAlias

import jax
import numpy as np
from jax.sharding import AxisType, Mesh, NamedSharding, PartitionSpec

from gluonx.common import forked
from gluonx.errors import DeviceError, UnknownDeviceError

__all__ = [
    "Context",
    "Device",
    "Replicas",
    "cpu",
    "cpu_pinned",
    "current_context",
    "current_device",
    "device_of",
    "gpu",
    "gpu_memory_info",
    "is_folded",
    "num_gpus",
    "num_tpus",
    "place_device",
    "resolve",
    "tpu",
]

JaxDevice: TypeAlias = Any  # jax.Device: a class of jaxlib's C++ half, which has no stubs for type checkers
DeviceLike: TypeAlias = "Device | str | jax.sharding.Sharding | None"  # what `device=` takes; a jax.Device, too
DevicesLike: TypeAlias = (
    "DeviceLike | list[Device] | tuple[Device, ...]"  # what may be several: a parameter has an array on each
)

_KINDS = {"cpu": "cpu", "cpu_pinned": "cpu", "cpu_shared": "cpu", "gpu": "gpu", "tpu": "tpu"}
_folded: dict[Any, Device] = {}  # by the sharding of arrays on it: a device that shares one of JAX's with another
# By their names, devices that are not there: within a plan (gluonx.parallel), whose programs are compiled for them.
planned: contextvars.ContextVar[dict[Device, Any]] = contextvars.ContextVar("gluonx_planned", default={})  # noqa: B039
_current: contextvars.ContextVar[Device | None] = contextvars.ContextVar("gluonx_device", default=None)


class Replicas:
    """Switch that is on once this process has parameters on several devices; `version` counts how often that changed.

    Calls of blocks and of what was traced look at nothing else while it is not `on`. While it is, NumPy computes
    nothing for the first device that XLA computes for the others, since the last bits differ: replicas are to stay
    equal.

    Examples
    --------
    >>> Replicas.on  # no parameter is on several devices
    False
    """

    on = False
    version = 0


class _HasDefault(type):
    @property
    def default_ctx(cls) -> Device:
        """The current device, kept for ported code; assigning it changes it for this thread."""
        return current_device()

    @default_ctx.setter
    def default_ctx(cls, device: Device) -> None:
        _current.set(Device(device))


class Device(metaclass=_HasDefault):
    """A place where arrays live: a kind and a number.

    Parameters
    ----------
    device_type : {'cpu', 'gpu', 'tpu', 'cpu_pinned', 'cpu_shared'} or Device
    device_id : int

    Raises
    ------
    DeviceError
        When the kind is unknown; :attr:`jax_device` raises it when this machine has no such device.

    Examples
    --------
    >>> Device("cpu", 0)
    cpu(0)
    >>> with cpu(0):
    ...     current_device()
    cpu(0)
    """

    __slots__ = ("_tokens", "device_id", "device_type")

    # MXNet's numbers of kinds, which programs for it read.
    devtype2str: ClassVar[dict[int, str]] = {1: "cpu", 2: "gpu", 3: "cpu_pinned", 5: "cpu_shared"}
    devstr2type: ClassVar[dict[str, int]] = {name: number for number, name in devtype2str.items()}

    def __init__(self, device_type: str | Device, device_id: int = 0) -> None:
        if isinstance(device_type, Device):
            device_type, device_id = device_type.device_type, device_type.device_id
        if device_type not in _KINDS:
            raise UnknownDeviceError(f"unknown device kind {device_type!r}; known are {', '.join(_KINDS)}")
        self.device_type: str = device_type
        self.device_id = int(device_id)
        self._tokens: list[contextvars.Token[Device | None]] = []

    @property
    def device_typeid(self) -> int:
        """MXNet's number of this kind; -1 for one that it has not."""
        return self.devstr2type.get(self.device_type, -1)

    @property
    def jax_device(self) -> JaxDevice:
        """The ``jax.Device`` this name stands for on this machine."""
        absent = planned.get()
        if absent and self in absent:
            return absent[self]
        kind = _KINDS[self.device_type]
        try:
            devices = jax.local_devices(backend=kind)
        except RuntimeError:
            devices = []
        if kind == "cpu" and devices:
            return devices[self.device_id % len(devices)]
        if self.device_id >= len(devices):
            raise DeviceError(f"{self} asked for, but this machine has {len(devices)} device(s) of kind {kind!r}")
        return devices[self.device_id]

    @property
    def place(self) -> Any:
        """The place that ``jax.device_put`` takes for an array here: the ``jax.Device``, or a folded one's sharding."""
        found = self.jax_device
        if found.platform != "cpu" or self.device_id < len(jax.local_devices(backend="cpu")):
            return found
        name = f"cpu_{self.device_id}"
        mesh = Mesh(np.array([found]), (name,), axis_types=(AxisType.Auto,))
        sharding = NamedSharding(mesh, PartitionSpec())
        _folded.setdefault(sharding, Device("cpu", self.device_id))
        return sharding

    def empty_cache(self) -> None:
        """Kept for ported code: XLA's allocator needs no help."""

    def __enter__(self) -> Device:
        self._tokens.append(_current.set(self))
        return self

    def __exit__(self, *exc: object) -> None:
        _current.reset(self._tokens.pop())

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Device)
            and _KINDS[self.device_type] == _KINDS[other.device_type]
            and self.device_id == other.device_id
        )

    def __hash__(self) -> int:
        return hash((_KINDS[self.device_type], self.device_id))

    def __repr__(self) -> str:
        return f"{self.device_type}({self.device_id})"


Context = Device


def cpu(device_id: int = 0) -> Device:
    """Return the `device_id`-th host device.

    Returns
    -------
    Device

    Examples
    --------
    >>> import gluonx
    >>> from gluonx import np
    >>> np.ones(2, device=gluonx.cpu()).device
    cpu(0)
    """
    return Device("cpu", device_id)


def cpu_pinned(device_id: int = 0) -> Device:
    """Kept for ported code: the same as :func:`cpu`, since XLA manages its own staging memory.

    Returns
    -------
    Device

    Examples
    --------
    >>> from gluonx import cpu_pinned
    >>> cpu_pinned()
    cpu_pinned(0)
    """
    return Device("cpu_pinned", device_id)


def gpu(device_id: int = 0) -> Device:
    """Return the `device_id`-th GPU.

    Returns
    -------
    Device

    Examples
    --------
    >>> import gluonx
    >>> gluonx.gpu(0)
    gpu(0)
    """
    return Device("gpu", device_id)


def tpu(device_id: int = 0) -> Device:
    """Return the `device_id`-th TPU core.

    Returns
    -------
    Device

    Examples
    --------
    >>> import gluonx
    >>> gluonx.tpu(0)
    tpu(0)
    """
    return Device("tpu", device_id)


def default_platform() -> str:
    """Return the platform that programs are made for where nobody says otherwise: a plan's, or JAX's default one."""
    absent = planned.get()
    return next(iter(absent.values())).platform if absent else jax.default_backend()


def _count(kind: str) -> int:
    try:
        return len(jax.local_devices(backend=kind))
    except RuntimeError:
        return 0


def num_gpus() -> int:
    """Return the number of GPUs that this process sees.

    Returns
    -------
    int

    Examples
    --------
    >>> import gluonx
    >>> gluonx.num_gpus() >= 0
    True
    """
    return _count("gpu")


def gpu_memory_info(device_id: int = 0) -> tuple[int, int]:
    """Free and total bytes of a GPU, as far as its allocator tells.

    Returns
    -------
    tuple of int
        Free and total bytes.

    Raises
    ------
    DeviceError
        If there is no such GPU.

    Examples
    --------
    >>> free, total = gpu_memory_info(0)  # doctest: +SKIP
    """
    stats = gpu(device_id).jax_device.memory_stats() or {}
    total = int(stats.get("bytes_limit", 0))
    return total - int(stats.get("bytes_in_use", 0)), total


def num_tpus() -> int:
    """Return the number of TPU cores that this process sees.

    Returns
    -------
    int

    Examples
    --------
    >>> num_tpus() >= 0
    True
    """
    return _count("tpu")


def device_of(device: JaxDevice) -> Device:
    """Return the gluonx name of a ``jax.Device``.

    Examples
    --------
    >>> device_of(jax.devices("cpu")[0])
    cpu(0)
    """
    kind = device.platform if device.platform in ("cpu", "tpu") else "gpu"
    try:
        devices = jax.local_devices(backend=kind)
    except RuntimeError:  # a device of a plan: this machine has none of its kind
        devices = []
    return Device(kind, devices.index(device) if device in devices else device.id)


def is_folded(sharding: Any) -> bool:
    """Return whether this is the sharding of arrays on a folded device.

    Examples
    --------
    >>> is_folded(jax.sharding.SingleDeviceSharding(jax.devices("cpu")[0]))
    False
    """
    return sharding in _folded if _folded else False


def place_device(sharding: Any) -> Device:
    """Return the gluonx name of where an array of this sharding lies; of the first device, where there are several.

    Examples
    --------
    >>> place_device(jax.sharding.SingleDeviceSharding(jax.devices("cpu")[0]))
    cpu(0)
    """
    found = _folded.get(sharding) if _folded else None
    return device_of(min(sharding.device_set, key=lambda device: device.id)) if found is None else Device(found)


def current_device() -> Device:
    """Return the device of new arrays: that of the innermost ``with device:``, else JAX's default device.

    Returns
    -------
    Device
        ``cpu(0)`` on a machine without an accelerator.

    Examples
    --------
    >>> with Device("cpu"):
    ...     current_device()
    cpu(0)
    """
    chosen = _current.get()
    return chosen if chosen is not None else device_of(jax.local_devices()[0])


current_context = current_device


def _on_host(device: DeviceLike) -> None:
    """Check that a device is a CPU, or none: where arrays of a forked child are (`gluonx.common.forked`)."""
    chosen = _current.get() if device is None else device
    kind = getattr(chosen, "device_type", getattr(chosen, "platform", chosen))
    if chosen is not None and not str(kind).startswith("cpu"):
        forked.check(f"device {chosen}")


def resolve(device: DeviceLike) -> JaxDevice | None:
    """Return the ``jax.Device`` for what a user gave as ``device=``, or None for "wherever JAX puts it".

    A sharding of JAX is taken as it is, and given for a folded device.

    Examples
    --------
    >>> resolve("cpu:0") == jax.devices("cpu")[0], resolve(None) is None
    (True, True)
    """
    if forked.in_child():
        return _on_host(device)
    forked.watch()
    if device is None:
        chosen = _current.get()
        return None if chosen is None else chosen.place
    if isinstance(device, Device):
        return device.place
    if isinstance(device, str):
        kind, _, index = device.partition(":")
        return Device(kind, int(index or 0)).place
    if isinstance(device, (jax.Device, jax.sharding.Sharding)):
        return device
    raise DeviceError(f"a device was expected (gluonx.cpu(), gluonx.gpu(0), ...), got {device!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
