"""The placement of arrays on devices: the mesh in use, and how an array lies on it.

A *mesh* (``jax.sharding.Mesh``) is an arrangement of devices along named axes. A *spec* says for each axis of an array
which axes of the mesh it is split over: ``("data", None)`` splits the first and leaves the second whole. The two make a
*sharding* (``jax.sharding.NamedSharding``), which XLA partitions programs by. Nothing here moves data.

Users find all of this in :mod:`gluonx.parallel`; it stands below the engine, since parameters and traces ask for it.
"""

from __future__ import annotations

import contextvars
import functools
import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeAlias

import jax
from jax.sharding import AxisType, Mesh, NamedSharding, PartitionSpec

from gluonx.errors import DeviceError, ShapeError

__all__ = [
    "Layout",
    "Layouts",
    "Spec",
    "Use",
    "batch_axes",
    "batch_sharding",
    "check_automatic",
    "check_axis",
    "multi_device_options",
    "current_mesh",
    "divides",
    "gathered",
    "in_use",
    "is_spread",
    "layout_of",
    "make_mesh",
    "named",
    "needed_mesh",
    "parts_of_batch",
    "replicated",
]

Spec: TypeAlias = PartitionSpec | Sequence[str | tuple[str, ...] | None]
Layout: TypeAlias = Callable[[tuple[int, ...]], NamedSharding]  # from a shape, which may be found out later


class Layouts:
    """A count of how often parameters were laid out: what a trace knows of layouts holds until it changes."""

    version = 0


BATCH = ("data", "fsdp")  # axes that a batch is split over where nobody says otherwise
_EXPLICIT = (
    "the mesh {mesh} has axes of the type {kind}, with which JAX types every operation by its sharding; gluonx leaves "
    "that to XLA. Make the mesh by gluonx.parallel.mesh({axes}), or by jax.make_mesh(..., "
    "axis_types=(jax.sharding.AxisType.Auto,) * {n})."
)


def make_mesh(devices: Sequence[Any] | None = None, **axes: int) -> Mesh:
    """Arrange devices along named axes; see :func:`gluonx.parallel.mesh`."""
    found = list(jax.devices() if devices is None else devices)
    if not axes:
        raise DeviceError("a mesh needs an axis: parallel.mesh(data=-1) puts all devices along one")
    wanted = ", ".join(f"{name}={size}" for name, size in axes.items())
    sizes = dict(axes)
    open_axes = [name for name, size in axes.items() if size == -1]
    for name, size in axes.items():
        if not isinstance(size, int) or isinstance(size, bool):
            raise DeviceError(f"mesh({wanted}): the size of the axis {name!r} is a number of devices, got {size!r}")
    if any(size < 1 and size != -1 for size in axes.values()) or len(open_axes) > 1:
        raise DeviceError(f"mesh({wanted}): sizes are positive, and one may be -1, which takes what is left")
    known = math.prod(size for size in axes.values() if size != -1)
    if open_axes and len(found) % known == 0:
        sizes[open_axes[0]] = len(found) // known
    elif open_axes or known != len(found):
        part = f" For a part of them, say which: mesh({wanted}, devices=jax.devices()[:{known}])."
        raise DeviceError(
            f"mesh({wanted}) takes {'a multiple of ' if open_axes else ''}{known} devices, and there are {len(found)}."
            f"{part if known < len(found) else ''}"
        )
    kinds = (AxisType.Auto,) * len(sizes)
    return jax.make_mesh(tuple(sizes.values()), tuple(sizes), axis_types=kinds, devices=found)


class Use:
    """A mesh in use, from now on or within a ``with``; see :func:`gluonx.parallel.use`."""

    __slots__ = ("_before", "batch", "key", "mesh", "parts")

    def __init__(self, mesh: Mesh | None, batch: str | Iterable[str] | None = None, statistics: str = "global") -> None:
        if statistics not in ("global", "local"):
            raise ValueError(f"use(): statistics are 'global' or 'local', got {statistics!r}")
        if mesh is not None and not isinstance(mesh, Mesh):
            raise TypeError(f"use() takes a mesh, of parallel.mesh(data=-1) for instance, got {type(mesh).__name__}")
        self.mesh = mesh
        self.batch: tuple[str, ...] = ()
        if mesh is not None:
            check_automatic(mesh)
            _check_entered()
            self.batch = _batch_of[mesh] = _batch_axes(mesh, batch)
        # The parts of a batch that have statistics of their own.
        self.parts = 1 if mesh is None or statistics == "global" else math.prod(mesh.shape[name] for name in self.batch)
        self.key = mesh, self.parts  # what a trace depends on
        self._before = _current.get()
        _current.set(self if mesh is not None else None)

    def __enter__(self) -> Mesh | None:
        return self.mesh

    def __exit__(self, *exc: object) -> None:
        _current.set(self._before)

    def __repr__(self) -> str:
        return f"use({self.mesh}, batch={self.batch})"


_current: contextvars.ContextVar[Use | None] = contextvars.ContextVar("gluonx_mesh", default=None)
in_use = _current.get
_batch_of: dict[Mesh, tuple[str, ...]] = {}  # by meshes that were in use: the axes that their batches are split over


def _batch_axes(mesh: Mesh, batch: str | Iterable[str] | None) -> tuple[str, ...]:
    names = [name for name in BATCH if name in mesh.axis_names] if batch is None else batch
    found = (names,) if isinstance(names, str) else tuple(names) if isinstance(names, Iterable) else (names,)
    if len(set(found)) < len(found):
        raise DeviceError(f"use(): {found} names an axis of the mesh twice, but a batch is split over it once")
    if batch is None and not found:
        first = mesh.axis_names[0]
        raise DeviceError(
            f"which axes of the mesh {dict(mesh.shape)} is a batch split over? None is called 'data' or 'fsdp', so say "
            f"it: use(mesh, batch={first!r}), or use(mesh, batch=()) where every device takes the whole batch."
        )
    for name in found:
        check_axis(mesh, name, "use()")
    return found


def current_mesh() -> Mesh | None:
    """Return the mesh in use here, or None.

    Examples
    --------
    >>> from gluonx import parallel
    >>> parallel.current_mesh() is None
    True
    """
    scope = in_use()
    return None if scope is None else scope.mesh


def batch_axes() -> tuple[str, ...]:
    """Return the axes of the mesh in use that a batch is split over."""
    scope = in_use()
    return () if scope is None else scope.batch


def parts_of_batch(size: int) -> int:
    """Into how many parts a batch of this size falls whose statistics are taken apart; 1 if they are global."""
    scope = in_use()
    return 1 if scope is None or size % scope.parts else scope.parts


def check_automatic(mesh: Mesh) -> None:
    """Raise DeviceError for a mesh on which XLA does not decide about shardings alone."""
    kinds = [kind for kind in mesh.axis_types if kind != AxisType.Auto]
    if kinds:
        axes = ", ".join(f"{name}={size}" for name, size in mesh.shape.items())
        told = _EXPLICIT.format(mesh=dict(mesh.shape), kind=kinds[0].name, axes=axes, n=len(mesh.axis_names))
        raise DeviceError(told)


def _check_entered() -> None:
    """Raise DeviceError where ``jax.set_mesh`` has JAX type every operation by its sharding."""
    entered = jax.sharding.get_abstract_mesh()
    if AxisType.Explicit in entered.axis_types:
        raise DeviceError(
            f"use(): jax.set_mesh holds a mesh {dict(entered.shape)} here with axes of the type Explicit, so JAX "
            "types every operation by its sharding; gluonx leaves that to XLA. Leave jax.set_mesh out, for "
            "parallel.use(parallel.mesh(data=-1)) says all that gluonx needs, or give it the same mesh."
        )


def multi_device_options(devices: Iterable[Any]) -> dict[str, Any] | None:
    """Return options of XLA for a program over several `devices`, for ``jax.jit``; None for its defaults.

    XLA's default scheduler for CPUs puts collectives that do not depend on one another side by side. Of two devices one
    may begin with the first and one with the second; where no thread is left for the others they wait for each other,
    and after 40 s XLA ends the process. Seen with jax 0.10.2 on two cores, in three of four runs of a ResNet whose
    weights are split for tensor parallelism and FSDP. The scheduler for least memory puts them in a row. Other kinds of
    device know no such option, whatever the default backend is.
    """
    if any(device.platform != "cpu" for device in devices):
        return None
    return option_of_cpus("xla_cpu_scheduler_type", "CPU_SCHEDULER_TYPE_MEMORY_OPTIMIZED")


@functools.cache
def option_of_cpus(name: str, value: str) -> dict[str, Any] | None:
    """Return an option of XLA for CPUs, for ``jax.jit(compiler_options=...)``; None if this XLA does not know it.

    Examples
    --------
    >>> option_of_cpus("xla_cpu_no_such_option", "1") is None
    True
    """
    options: dict[str, Any] = {name: value}
    try:
        with jax.default_device(jax.local_devices(backend="cpu")[0]):
            jax.jit(lambda: 0, compiler_options=options).lower().compile()
    except Exception:  # a later XLA may refuse it
        return None
    return options


def is_spread(sharding: Any) -> bool:
    """Return whether arrays of this sharding lie on several devices."""
    return sharding is not None and len(sharding.device_set) > 1


def replicated(like: Any) -> Any:
    """Return the sharding of an array that is whole on every device of `like`, a mesh or a sharding."""
    if isinstance(like, Mesh):
        return NamedSharding(like, PartitionSpec())
    return NamedSharding(like.mesh, PartitionSpec()) if isinstance(like, NamedSharding) else like


def check_axis(mesh: Mesh, name: Any, what: str) -> None:
    """Raise DeviceError if the mesh has no axis of this name; `what` asked for it."""
    if name not in mesh.axis_names:
        raise DeviceError(f"{what}: the mesh has the axes {', '.join(map(repr, mesh.axis_names))}, and no {name!r}")


def _names(entry: Any) -> tuple[str, ...]:
    return () if entry is None else (entry,) if isinstance(entry, str) else tuple(entry)


def _is_one(entry: object) -> bool:
    """Return whether an entry of a spec is a name, or nothing that holds names."""
    return isinstance(entry, str) or not isinstance(entry, (tuple, list))


def divides(mesh: Mesh, entry: Any, size: int) -> bool:
    """Return whether an axis of this size can be split over these axes of the mesh."""
    return size % math.prod(mesh.shape[name] for name in _names(entry)) == 0


def named(mesh: Mesh, spec: Spec, shape: Sequence[int] | None = None, what: str = "a spec") -> NamedSharding:
    """Give the sharding of `spec` on `mesh`, checked, with `shape` if that is known; `what` it is for begins an error.

    Raises
    ------
    DeviceError
        If the mesh has no such axis, or one is named twice.
    ShapeError
        If the array has too few axes, or one that cannot be split evenly.
    """
    if isinstance(spec, str) or not isinstance(spec, (Sequence, PartitionSpec)):
        raise DeviceError(f"{what}: a spec has an entry for each axis, such as ('data', None); got {spec!r}")
    entries = tuple(spec)
    for entry in entries:
        if entry is not None and not all(isinstance(name, str) for name in ([entry] if _is_one(entry) else entry)):
            raise DeviceError(
                f"{what}: an entry of a spec is the name of an axis of the mesh, a tuple of such names, or None; got "
                f"{entry!r} in {entries}"
            )
    used = [name for entry in entries for name in _names(entry)]
    for name in used:
        check_axis(mesh, name, what)
    if len(set(used)) < len(used):
        raise DeviceError(f"{what}: {entries} names an axis of the mesh twice, but an array is split over it once")
    if shape is not None:
        if len(entries) > len(shape):
            raise ShapeError(f"{what}: {entries} speaks of {len(entries)} axes, but the shape is {tuple(shape)}")
        for axis, entry in enumerate(entries):
            if not divides(mesh, entry, shape[axis]):
                parts = " x ".join(f"{name}={mesh.shape[name]}" for name in _names(entry))
                raise ShapeError(
                    f"{what}: axis {axis} of the shape {tuple(shape)} cannot be split evenly over {parts}, as "
                    f"{entries} asks"
                )
    # JAX takes ("data", None) and ("data",) for two.
    while entries and not _names(entries[-1]):
        entries = entries[:-1]
    return NamedSharding(mesh, PartitionSpec(*entries))


def gathered(sharding: Any) -> NamedSharding | None:
    """Return the sharding with which a weight of this one is used; None if it is the same.

    Over the axes that split the batch, every device computes on samples of its own and needs the whole weight.
    """
    mesh: Any = getattr(sharding, "mesh", None)
    batch = _batch_of.get(mesh, ())
    if not any(name in batch for entry in sharding.spec for name in _names(entry)):
        return None
    kept = [tuple(name for name in _names(entry) if name not in batch) for entry in sharding.spec]
    return named(mesh, [entry or None for entry in kept])


def layout_of(sharding: NamedSharding | Spec | None, what: str) -> Layout | None:
    """From what a user says of an array's placement, a spec on the mesh in use or a sharding, to its layout.

    Raises
    ------
    DeviceError
        If no mesh is in use, or this is something else.
    """
    if sharding is None:
        return None
    if isinstance(sharding, NamedSharding):
        mesh, spec = sharding.mesh, sharding.spec
        assert isinstance(mesh, Mesh), "an array lies on devices"
        check_automatic(mesh)
    else:
        mesh, spec = needed_mesh(what), sharding
    named(mesh, spec, None, what)
    return lambda shape: named(mesh, spec, shape, what)


def needed_mesh(what: str) -> Mesh:
    """Return the mesh in use; DeviceError where there is none."""
    mesh = current_mesh()
    if mesh is None:
        raise DeviceError(f"{what}: no mesh is in use. Say which: parallel.use(parallel.mesh(data=-1))")
    return mesh


def batch_sharding(shape: Sequence[int], axis: int = 0) -> NamedSharding | None:
    """Return the sharding of a batch of this shape on the mesh in use; None where no mesh is in use.

    One that cannot be split evenly, as the last of an epoch may be, is whole on every device.
    """
    scope = in_use()
    if scope is None or scope.mesh is None:
        return None
    if not scope.batch or axis >= len(shape) or not divides(scope.mesh, scope.batch, shape[axis]):
        return replicated(scope.mesh)
    entry = scope.batch[0] if len(scope.batch) == 1 else scope.batch
    return named(scope.mesh, (*[None] * axis, entry), shape, "a batch")
