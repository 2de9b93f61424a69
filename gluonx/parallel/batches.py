"""Batches of several processes: which rows each one reads, and arrays made of what each has."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import jax
import numpy as np
from jax.experimental import multihost_utils

from gluonx import sharding
from gluonx.deferred.values import source_location
from gluonx.deferred.values.core import Handle, new_handle
from gluonx.dtype import WIDE, keeping_64_bits, operand_dtype
from gluonx.errors import DeviceError, ShapeError
from gluonx.ops import prng
from gluonx.parallel import roll

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import ArrayLike


class Share:
    """The rows of a global batch that lie on the devices of this process.

    Parameters
    ----------
    size : int
        Rows of the global batch.
    starts : dict of int to int
        Each row that is here, and its number among those that are here.
    """

    __slots__ = ("rows", "size", "where")

    def __init__(self, size: int, rows: list[int]) -> None:
        self.size, self.rows = size, rows
        self.where = {row: k for k, row in enumerate(rows)}

    def joined(self, local: np.ndarray) -> jax.Array:
        """Return the global array of which `local` is what this process has.

        Raises
        ------
        ShapeError
            If `local` has another number of rows than this process was to read.
        """
        if local.ndim == 0 or len(local) != len(self.rows):
            raise ShapeError(
                f"of a batch of {self.size} samples this process reads {len(self.rows)}, but made an array of shape "
                f"{local.shape} of them: where several processes share a batch, the first axis is that of the samples"
            )
        shape = (self.size, *local.shape[1:])
        place = sharding.batch_sharding(shape)
        assert place is not None, "a share is of a mesh"

        def part(index: Any) -> np.ndarray:
            start, stop, _ = index[0].indices(self.size)
            first = self.where[start]
            return local[(slice(first, first + stop - start), *index[1:])]

        with keeping_64_bits(local.dtype in WIDE):
            return jax.make_array_from_callback(shape, place, part)


def share_of(size: int) -> Share | None:
    """Return the share of this process in a batch of `size` rows; None where all of the mesh in use is here."""
    place = sharding.batch_sharding((size,))
    if place is None or place.is_fully_addressable:
        return None
    rows: set[int] = set()
    for index in place.addressable_devices_indices_map((size,)).values():
        assert index is not None, "each device here has a part"
        rows.update(range(*index[0].indices(size)))
    return Share(size, sorted(rows))


def same_epoch(count: int | None, indices: Iterable[Any]) -> None:
    """Ask the other processes whether they begin the same epoch: its length, the first batch, and the random state.

    Raises
    ------
    DeviceError
        If one begins another.
    """
    some = list(indices)
    told = f"an epoch of {count} batches, the first of samples {some[:4]} (each process is given whole batches, and "
    told += "reads its rows of them: samplers and seeds must be the same everywhere)"
    roll.agree(("epoch", count, some, prng.get_state()), told)


def same_shapes(shapes: Sequence[tuple[Sequence[int], str]]) -> None:
    """Ask the other processes whether their rows of a batch have these shapes.

    Raises
    ------
    DeviceError
        If those of one do not.
    """
    roll.agree(("batch", shapes), f"its part of a batch is of {', '.join(f'{d}{list(s)}' for s, d in shapes)}")


_last: dict[Any, Any] = {}  # by the line that calls: the shapes of its last batch


def from_local(data: Any) -> Any:
    """Make global batches of what each process has: its rows, of files of its own for instance.

    Parameters
    ----------
    data : array_like, or nested lists, tuples and dicts of them
        The rows of this process, equally many in each. A list of numbers is one array.

    Returns
    -------
    The same structure, of ndarrays on the mesh in use: the rows of process 0, then those of process 1, and so on.

    Raises
    ------
    DeviceError
        If no mesh is in use, it does not split batches by processes, or other processes have other shapes. They are
        compared when those of this process change.

    Examples
    --------
    >>> import numpy
    >>> from gluonx import parallel
    >>> with parallel.use(parallel.mesh(data=-1)):
    ...     parallel.from_local(numpy.ones((8, 2), "float32")).shape
    (8, 2)
    """
    mesh = sharding.needed_mesh("from_local()")
    if isinstance(data, (list, tuple)) and any(isinstance(part, (Handle, np.ndarray, jax.Array)) for part in data):
        leaves, tree = jax.tree.flatten(data, is_leaf=lambda x: isinstance(x, Handle))
    else:
        leaves, tree = jax.tree.flatten(data if isinstance(data, dict) else np.asarray(data))
    found = [np.asarray(x) for x in leaves]
    found = [x.astype(operand_dtype(x)) for x in found]
    shapes = [(x.shape, str(x.dtype)) for x in found]
    spread = len({d.process_index for d in mesh.devices.flat})
    key = source_location.user_line()
    if spread > 1 and _last.get(key) != shapes:
        same_shapes(shapes)
        _last[key] = shapes
    return jax.tree.unflatten(tree, [new_handle(_joined(x, spread)) for x in found])


def _joined(local: np.ndarray, spread: int) -> jax.Array:
    if local.ndim == 0:
        raise ShapeError("from_local() takes arrays with an axis of samples, got a number")
    size = len(local) * spread
    place = sharding.batch_sharding((size, *local.shape[1:]))
    share = share_of(size)
    if share is not None and len(share.rows) != len(local):
        scope = sharding.in_use()
        raise DeviceError(
            f"from_local(): {len(local)} rows in each of {spread} processes make {size}, of which this process would "
            f"hold {len(share.rows)} on the mesh {dict(scope.mesh.shape) if scope and scope.mesh else None}: its batch "
            f"axes do not go along the processes, or do not divide {size}. Give parallel.split() the whole batch there."
        )
    if share is not None:
        return share.joined(local)
    with keeping_64_bits(local.dtype in WIDE):
        return jax.device_put(local, place)


def gather(x: ArrayLike) -> np.ndarray:
    """Bring an array that lies on several processes together, in each of them.

    Parameters
    ----------
    x : ndarray
        Every process must call, with the same array; nothing is sent where one process has all of it.

    Returns
    -------
    numpy.ndarray

    Raises
    ------
    DeviceError
        If another process does not call.

    Examples
    --------
    >>> from gluonx import np
    >>> gather(np.ones((2,)))
    array([1., 1.], dtype=float32)
    """
    array: Any = getattr(x, "_read", lambda: x)()
    if not isinstance(array, jax.Array) or array.is_fully_addressable or array.is_fully_replicated:
        return np.asarray(array)
    roll.agree(("gather", array.shape, str(array.dtype)), f"gather() of an array of {array.dtype}{list(array.shape)}")
    with keeping_64_bits(array.dtype in WIDE):
        return np.asarray(multihost_utils.process_allgather(array, tiled=True))
