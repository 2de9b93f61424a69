"""The one border between the host and the device in ``gluonx.data``.

Loading works on NumPy: in threads, in worker processes and in the consumer's own thread. What shall become an ndarray
is marked with :class:`OnHost`, crosses queues and pipes as such, and turns into one in the thread that asked for the
batch. Everything else in a batch (strings, lists, a batchify function's own NumPy arrays) passes untouched.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from gluonx.deferred.core import new_handle
from gluonx.device import resolve
from gluonx.dtype import on_device, operand_dtype
from gluonx.np.handle import ndarray

__all__ = [
    "OnHost",
    "as_host",
    "device_batch",
    "gather",
    "gatherer",
    "host_array",
    "host_tree",
    "is_batchable",
    "run_batchify",
]


@dataclass(slots=True)
class OnHost:
    """A NumPy array that shall become a gluonx ndarray of the same dtype. Nobody else may hold it."""

    array: np.ndarray


def as_host(data: Any) -> Any:
    """A gluonx ndarray as a NumPy array; anything else as it is."""
    return data.asnumpy() if isinstance(data, ndarray) else data


def host_array(array: np.ndarray) -> OnHost:
    """Mark `array`, in the dtype that the device will hold: its own, but the default dtype for float64."""
    return OnHost(array.astype(operand_dtype(array), copy=False))


def host_tree(tree: Any) -> Any:
    """`tree` with each gluonx ndarray in it brought to the host and marked."""
    return _map(tree, lambda leaf: OnHost(leaf.asnumpy()) if isinstance(leaf, ndarray) else leaf)


def device_batch(tree: Any) -> Any:
    """`tree` with each marked array in it on the current device: the only place where data are handed to JAX."""
    device = resolve(None)

    def put(leaf: Any) -> Any:
        # Nobody else has the array, so JAX may use it where it lies: `gluonx.np.array` would copy it first.
        return new_handle(on_device(leaf.array, device)) if type(leaf) is OnHost else leaf

    return _map(tree, put)


def run_batchify(fn: Callable[[Any], Any], data: Sequence[Any]) -> Any:
    """A batchify function on the samples: by its ``host_batch`` where it has one."""
    return getattr(fn, "host_batch", fn)(data)


def is_batchable(dtype: np.dtype) -> bool:
    """Return whether arrays of `dtype` can become gluonx arrays: numbers, bfloat16 and its like too, and booleans."""
    return dtype.kind in "biufc" or (dtype.kind == "V" and dtype.isbuiltin == 2)


def gather(column: Any, indices: Sequence[int]) -> Any:
    """Rows of a NumPy array as one new host batch; None for what is no plain array, or indices that are no integers."""
    if not isinstance(column, np.ndarray) or not is_batchable(column.dtype):
        return None
    where = np.asarray(indices)
    if where.ndim != 1 or where.dtype.kind not in "iu":
        return None
    return host_array(np.asarray(column.take(where, axis=0)))


def gatherer(dataset: Any) -> Callable[[Sequence[int]], Any] | None:
    """The function that takes a whole batch out of `dataset` at once, or None when it has none.

    The function itself may still return None: read the samples one by one then.
    """
    if isinstance(dataset, np.ndarray):
        return partial(gather, dataset)
    return getattr(dataset, "_gather", None)


def _map(tree: Any, fn: Callable[[Any], Any]) -> Any:
    if isinstance(tree, list):
        return [_map(item, fn) for item in tree]
    if isinstance(tree, tuple):
        items = [_map(item, fn) for item in tree]
        return type(tree)(*items) if hasattr(tree, "_fields") else tuple(items)
    if isinstance(tree, dict):
        return {key: _map(item, fn) for key, item in tree.items()}
    return fn(tree)
