"""A mesh of devices, and arrays on it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Literal

import jax
import numpy as np
from jax.sharding import Mesh

from gluonx import sharding
from gluonx.deferred.record import placing
from gluonx.deferred.values.core import Handle, new_handle
from gluonx.device import Device
from gluonx.dtype import on_device
from gluonx.errors import DeviceError
from gluonx.np.creation import array as np_array

__all__ = ["constrain", "mesh", "replicate", "split", "use"]


def mesh(devices: Sequence[Any] | None = None, **axes: int) -> Mesh:
    """Arrange devices along named axes.

    Parameters
    ----------
    devices : sequence of jax.Device, optional
        All devices of all processes by default.
    **axes : int
        The size of each axis by its name, the outermost first. One may be -1, which takes what is left. Names are free;
        a batch is split over those called ``data`` and ``fsdp`` unless :func:`use` is told otherwise.

    Returns
    -------
    jax.sharding.Mesh
        With axes of the type ``Auto``: XLA finds out how what is computed lies.

    Raises
    ------
    DeviceError
        If the sizes do not multiply to the number of devices.

    Examples
    --------
    >>> import jax
    >>> dict(mesh(data=-1, model=1, devices=jax.devices()[:1]).shape)
    {'data': 1, 'model': 1}
    """
    if devices is not None:
        given = list(devices) if isinstance(devices, Iterable) else [devices]
        wrong = next((d for d in given if not isinstance(d, (Device, jax.Device))), None)
        if wrong is not None or not given:
            raise DeviceError(
                f"mesh(): devices are a list of devices, as in jax.devices()[:4]; got "
                f"{'none' if wrong is None else repr(wrong)}"
            )
        devices = [d.jax_device if isinstance(d, Device) else d for d in given]
        if len(set(devices)) < len(devices):
            raise DeviceError(
                f"mesh(): a device comes twice in {devices}; cpu(i) beyond jax.devices() are others' names"
            )
    return sharding.make_mesh(devices, **axes)


def use(
    mesh: Mesh | None, batch: str | Iterable[str] | None = None, statistics: Literal["global", "local"] = "global"
) -> sharding.Use:
    """Have parameters, batches and constraints lie on a mesh: from now on in this thread, or within a ``with``.

    Parameters
    ----------
    mesh : jax.sharding.Mesh or None
        None puts things on one device again.
    batch : str or sequence of str, optional
        The axes of the mesh that batches are split over: by default those called ``data`` and ``fsdp``. Give ``()``
        where every device takes the whole batch.
    statistics : {'global', 'local'}
        Whether :class:`~gluonx.nn.BatchNorm` normalizes with the statistics of the whole batch, or each device with
        those of its part, which sends nothing; the moving averages are then of the parts' mean.
        :class:`~gluonx.nn.SyncBatchNorm` takes the whole batch in any case.

    Raises
    ------
    DeviceError
        If the mesh has none of these axes, or axes of the type ``Explicit``, by which JAX checks every operation.

    Examples
    --------
    >>> with use(mesh(data=-1)):
    ...     split(np.ones((8, 2))).shape
    (8, 2)
    """
    return sharding.Use(mesh, batch, statistics)


def split(data: Any, *spec: str | tuple[str, ...] | None, axis: int = 0) -> Any:
    """Put a batch on the mesh in use, split.

    Parameters
    ----------
    data : array_like, or nested lists, tuples and dicts of ndarrays
        The whole batch. A list of numbers is one array.
    *spec : str, tuple of str or None
        For each axis of the arrays the mesh axes that it is split over, as in ``split(tokens, "data", "sequence")``.
        By default the batch axes of :func:`use`, at `axis`.
    axis : int
        Which axis is the batch's, where no spec is given. A batch that cannot be split evenly, as the last one of an
        epoch may be, is whole on every device: the numbers are right, and the devices do the same work.

    Returns
    -------
    The same structure, of ndarrays. Without a mesh in use they are where they were.

    Raises
    ------
    ShapeError
        If an axis named in a spec cannot be split evenly.

    Examples
    --------
    >>> with use(mesh(data=-1)):
    ...     x, y = split((np.ones((8, 2)), np.arange(8)))
    """
    if isinstance(data, (list, tuple)) and any(isinstance(part, (Handle, np.ndarray, jax.Array)) for part in data):
        parts = [split(part, *spec, axis=axis) for part in data]
        return type(data)(*parts) if hasattr(data, "_fields") else type(data)(parts)
    if isinstance(data, dict):
        return {key: split(part, *spec, axis=axis) for key, part in data.items()}
    found = sharding.current_mesh()
    if found is None:
        return data if isinstance(data, Handle) else np_array(data)
    if spec:
        return _on_mesh(data, lambda shape: sharding.named(found, spec, shape, "split()"))
    return _on_mesh(data, lambda shape: sharding.batch_sharding(shape, axis))


def replicate(data: Any) -> Any:
    """Put an array on the mesh in use, whole on every device.

    Examples
    --------
    >>> with use(mesh(data=-1)):
    ...     replicate([1.0, 2.0]).shape
    (2,)
    """
    found = sharding.current_mesh()
    if found is None:
        return data if isinstance(data, Handle) else np_array(data)
    return _on_mesh(data, lambda _: sharding.replicated(found))


def _on_mesh(data: Any, place: Any) -> Any:
    if isinstance(data, np.ndarray) and data.dtype.kind in "fc" and data.dtype.itemsize < 8:
        return new_handle(on_device(np.array(data), place(data.shape)))  # by no way over one device
    handle = data if isinstance(data, Handle) else np_array(data)
    return placing.placed(handle, place(handle.shape))


def constrain(x: Any, *spec: str | tuple[str, ...] | None) -> Any:
    """Tell XLA how a value inside a program is to lie; without a mesh in use, nothing happens.

    Parameters
    ----------
    x : ndarray
    *spec : str, tuple of str or None
        For each axis the mesh axes that it is split over. Axes that are not named are whole.

    Returns
    -------
    ndarray
        The same values. Gradients pass and lie likewise.

    Raises
    ------
    DeviceError
        If the mesh has no such axis.
    ShapeError
        If an axis cannot be split evenly.

    Examples
    --------
    >>> with use(mesh(data=-1)):
    ...     constrain(np.ones((8, 2)), "data").shape
    (8, 2)
    """
    found = sharding.current_mesh()
    if found is None:
        return x
    return placing.constrained(x, sharding.named(found, spec, x.shape, "constrain()"))
