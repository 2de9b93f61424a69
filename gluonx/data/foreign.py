"""Batches of other libraries' loaders: PyTorch's DataLoader, Grain, tf.data, Hugging Face datasets, any iterable.

Their batches are NumPy arrays, tensors, or tuples and dicts of such. `Prefetched` makes gluonx arrays of them and keeps
a few on the device ahead: handing a batch over does not wait for the step before.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from gluonx.block.naming import host
from gluonx.data._host import _map, device_batch, host_array, is_batchable
from gluonx.errors import ArgumentError
from gluonx.np.handle import ndarray
from gluonx.sharding import batch_sharding


class Prefetched:
    """The batches of an iterable as gluonx arrays, some of them on the device ahead.

    Types are kept (a label of int64 stays int64), but that NumPy's float64 becomes the default dtype. What is no array
    of numbers passes untouched. On a mesh of devices batches come split, as those of a `DataLoader`.

    Parameters
    ----------
    batches : iterable
        Another library's loader, or any iterable; gone through anew for each epoch. Where it has a length, this has.
    size : int
        How many batches are on the device ahead; 0 for none.

    Raises
    ------
    ArgumentError
        If `size` is no whole number from 0 on, or `batches` cannot be gone through.

    Examples
    --------
    >>> import numpy
    >>> for x, label in Prefetched([(numpy.ones((2, 3)), numpy.array([0, 1]))]):
    ...     print(x.shape, x.dtype, label.dtype)
    (2, 3) float32 int64
    """

    def __init__(self, batches: Iterable[Any], size: int = 2) -> None:
        if not isinstance(size, (int, np.integer)) or size < 0:
            raise ArgumentError(f"Prefetched: size must be a whole number, and must not be negative, got {size!r}.")
        if not (hasattr(batches, "__iter__") or hasattr(batches, "__getitem__")):
            raise ArgumentError(f"Prefetched takes an iterable of batches, got a {type(batches).__name__}.")
        self._batches, self._size = batches, size

    def __iter__(self) -> Iterator[Any]:
        ahead: deque[Any] = deque()
        for batch in self._batches:
            ahead.append(device_batch(_map(batch, _marked), batch_sharding))
            if len(ahead) > self._size:
                yield ahead.popleft()
        yield from ahead

    def __len__(self) -> int:
        return len(self._batches)  # type: ignore[arg-type] - a TypeError says that it has none


def _marked(leaf: object) -> Any:
    """Return an array of any library, marked for the device; it is copied, since its loader may use it again."""
    number = isinstance(leaf, (bool, int, float))
    if isinstance(leaf, ndarray) or not (number or hasattr(leaf, "__array__")):
        return leaf
    array = np.array(host(leaf))
    return host_array(array) if is_batchable(array.dtype) else leaf
