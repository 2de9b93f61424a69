"""The one border between the host and the device in ``gluonx.data``.

Loading works on NumPy: in threads, in worker processes and in the consumer's own thread. What shall become an ndarray
is marked with :class:`OnHost`, crosses queues and pipes as such, and turns into one in the thread that asked for the
batch. Everything else in a batch (strings, lists, a batchify function's own NumPy arrays) passes untouched.

Some things that users see arrays go in and out of have a *host form* as well, which the loader takes instead: a dataset
whose samples hold ndarrays gives them marked by ``_host_item(index)``, and a transform computes on NumPy arrays by
``on_host(*sample)``. A class that overrides the public form (``__getitem__``, ``forward``, ``__call__``) without the
host form has none; see `host_form`. A user's own transform is given ndarrays, as in MXNet.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from gluonx.deferred.values.core import new_handle
from gluonx.device import resolve
from gluonx.dtype import on_device, operand_dtype
from gluonx.np.handle import ndarray
from gluonx.parallel.batches import Share

if TYPE_CHECKING:
    from gluonx.block.block import Block


@dataclass(slots=True)
class OnHost:
    """A NumPy array that shall become a gluonx ndarray of the same dtype. Nobody else may hold it."""

    array: np.ndarray


def as_host(data: object) -> Any:
    """Return a gluonx ndarray, or an array that shall become one, as a NumPy array; anything else as it is."""
    if type(data) is OnHost:
        return data.array
    return data.asnumpy() if isinstance(data, ndarray) else data


def host_array(array: np.ndarray) -> OnHost:
    """Mark `array`, in the dtype that the device will hold: its own, but the default dtype for float64."""
    return OnHost(array.astype(operand_dtype(array), copy=False))


def host_tree(tree: object) -> Any:
    """`tree` with each gluonx ndarray in it brought to the host and marked."""
    return _map(tree, lambda leaf: OnHost(leaf.asnumpy()) if isinstance(leaf, ndarray) else leaf)


def device_batch(
    tree: object, place: Callable[[tuple[int, ...]], Any] = lambda _: None, share: Share | None = None
) -> Any:
    """`tree` with each marked array in it on the current device, or laid out by the sharding that `place` gives.

    Where `tree` holds but the `share` of this process, the arrays are the global ones. This is the only place where
    data are handed to JAX.
    """
    if share is not None:
        return _map(tree, lambda leaf: new_handle(share.joined(leaf.array)) if type(leaf) is OnHost else leaf)
    device = resolve(None)

    def put(leaf: Any) -> Any:
        # Nobody else has the array, so JAX may use it where it lies: `gluonx.np.array` would copy it first.
        return new_handle(on_device(leaf.array, place(leaf.array.shape) or device)) if type(leaf) is OnHost else leaf

    return _map(tree, put)


def device_sample(tree: object) -> Any:
    """`tree` with each marked array in it as an ndarray on the current device; the dataset keeps its own memory."""
    return device_batch(_map(tree, lambda leaf: OnHost(np.array(leaf.array)) if type(leaf) is OnHost else leaf))


def unmarked(tree: object) -> Any:
    """`tree` with the NumPy arrays in place of their marks, and of ndarrays."""
    return _map(tree, as_host)


def host_form(thing: object, name: str, *public: str) -> Any:
    """Get the method `name` of `thing`, unless a class in front of the one that has it defines a method in `public`."""
    for klass in type(thing).__mro__:
        if name in vars(klass):
            return getattr(thing, name)
        if any(other in vars(klass) for other in public):
            return None
    return None


def host_item(dataset: Any, index: Any) -> Any:
    """Get the sample of `dataset` at `index`; what are ndarrays in it are marked NumPy arrays where the dataset can."""
    take = host_form(dataset, "_host_item", "__getitem__")
    return dataset[index] if take is None else take(index)


def call_on_host(fn: Any, *args: Any) -> Any:
    """Call `fn` on parts of a sample, by its ``on_host`` where it has one; arrays in the result are marked."""
    if _is_chain(fn):
        return chain_on_host(fn, args)
    run = _on_host(fn)
    return fn(*device_sample(args)) if run is None else _marked(run(*unmarked(args)))


def chain_on_host(blocks: Iterable[Callable[..., Any]], args: Sequence[Any]) -> Any:
    """Call blocks in turn by `call_on_host`, each on the result of the one before."""
    sample = tuple(args)
    for block in blocks:
        out = call_on_host(block, *sample)
        sample = tuple(out) if isinstance(out, (tuple, list)) else (out,)
    return sample if len(sample) != 1 else sample[0]


def whole_on_host(blocks: Iterable[Callable[..., Any]], args: Sequence[Any]) -> np.ndarray:
    """`chain_on_host` from NumPy arrays to NumPy arrays: the ``on_host`` of a container."""
    return unmarked(chain_on_host(blocks, _marked(tuple(args))))


def _on_host(fn: Block) -> Callable[..., Any] | None:
    return host_form(fn, "on_host", "__call__", "forward")


def _is_chain(fn: Any) -> bool:
    """Return whether `fn` is a plain Sequential in which a block has a host form."""
    containers: Any = sys.modules.get("gluonx.nn.containers")  # if it is not imported, nothing is one
    if containers is None or type(fn) not in (containers.Sequential, containers.HybridSequential):
        return False
    return any(_on_host(block) is not None or _is_chain(block) for block in fn)


def _marked(tree: object) -> Any:
    return _map(tree, lambda leaf: OnHost(leaf) if isinstance(leaf, np.ndarray) else leaf)


def run_batchify(fn: Callable[[Any], Any], data: Sequence[Any]) -> Any:
    """Return a batchify function on the samples: by its ``host_batch`` where it has one."""
    return getattr(fn, "host_batch", fn)(data)


def shapes_of(tree: object) -> list[tuple[Any, str]]:
    """Return the shapes and dtypes of the marked arrays in `tree`."""
    found: list[tuple[Any, str]] = []
    _map(tree, lambda leaf: found.append((leaf.array.shape, str(leaf.array.dtype))) if type(leaf) is OnHost else None)
    return found


def is_batchable(dtype: np.dtype) -> bool:
    """Return whether arrays of `dtype` can become gluonx arrays: numbers, bfloat16 and its like too, and booleans."""
    return dtype.kind in "biufc" or (dtype.kind == "V" and dtype.isbuiltin == 2)


def gather(column: object, indices: Sequence[int]) -> Any:
    """Rows of a NumPy array as one new host batch; None for what is no plain array, or indices that are no integers."""
    if not isinstance(column, np.ndarray) or not is_batchable(column.dtype):
        return None
    where = np.asarray(indices)
    if where.ndim != 1 or where.dtype.kind not in "iu":
        return None
    return host_array(np.asarray(column.take(where, axis=0)))


def gatherer(dataset: object) -> Callable[[Sequence[int]], Any] | None:
    """Return the function that takes a whole batch out of `dataset` at once, or None when it has none.

    The function itself may still return None: read the samples one by one then.
    """
    if isinstance(dataset, np.ndarray):
        return partial(gather, dataset)
    return getattr(dataset, "_gather", None)


def _map(tree: object, fn: Callable[[Any], Any]) -> Any:
    if isinstance(tree, list):
        return [_map(item, fn) for item in tree]
    if isinstance(tree, tuple):
        items = [_map(item, fn) for item in tree]
        return type(tree)(*items) if hasattr(tree, "_fields") else tuple(items)
    if isinstance(tree, dict):
        return {key: _map(item, fn) for key, item in tree.items()}
    return fn(tree)
