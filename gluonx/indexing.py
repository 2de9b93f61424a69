"""What stands between square brackets, turned into operators.

Basic indices (integers, slices, ``...``, ``None``) become a :class:`Region`: its lengths and steps are static, its
starts are inputs of the operator, so that ``x[i * n:(i + 1) * n]`` in a loop is one program. Everything else (index
arrays, lists, boolean masks) is gathered and scattered by JAX, with the index arrays as inputs; masks are turned into
positions first, which needs their values.
"""

from __future__ import annotations

from typing import Any, cast

import jax
import jax.numpy as jnp
import numpy as np

from gluonx.deferred.core import Handle, Index
from gluonx.deferred.derived import DerivedOp

__all__ = ["Region", "advanced", "basic", "mask_write_op", "region_read", "region_write"]


class Region:
    """A basic index on a shape.

    Attributes
    ----------
    dims : tuple
        For each dimension (length, step) of the slice, length None for an integer index.
    starts : tuple of Index
        The first position in each dimension.
    newaxes : tuple of int
        Where new axes stand in the result.
    shape : tuple of int
        The result's shape.
    whole : bool
        Whether every element is meant, in order.
    """

    __slots__ = ("dims", "newaxes", "shape", "starts", "whole")

    def __init__(
        self,
        dims: tuple[tuple[int | None, int], ...],
        starts: tuple[Index, ...],
        newaxes: tuple[int, ...],
        full: tuple[int, ...],
    ) -> None:
        self.dims, self.starts, self.newaxes = dims, starts, newaxes
        kept = [n for n, _ in dims if n is not None]
        for axis in newaxes:
            kept.insert(axis, 1)
        self.shape = tuple(kept)
        self.whole = not newaxes and all(n == f and step == 1 for (n, step), f in zip(dims, full, strict=True))


def basic(key: Any, shape: tuple[int, ...]) -> Region | None:
    """The region of a basic index, or None where `key` is of another kind.

    Raises
    ------
    IndexError
        Too many indices, or one out of bounds.
    """
    items = key if isinstance(key, tuple) else (key,)
    for item in items:
        if not (item is None or item is Ellipsis or isinstance(item, slice) or _is_int(item)):
            return None
    if not all(isinstance(n, int) for n in shape):
        return None  # symbolic sizes, as in an export: JAX's own indexing knows them
    count = sum(1 for i in items if i is not None and i is not Ellipsis)
    if count > len(shape):
        raise IndexError(f"too many indices: the array has {len(shape)} dimensions, but {count} were indexed")
    if sum(1 for i in items if i is Ellipsis) > 1:
        raise IndexError("an index can hold only one ellipsis ('...')")
    if not any(i is Ellipsis for i in items):
        items = (*items, Ellipsis)
    dims: list[tuple[int | None, int]] = []
    starts: list[Index] = []
    newaxes: list[int] = []
    for item in items:
        if item is None:
            newaxes.append(len(newaxes) + sum(1 for n, _ in dims if n is not None))
        elif item is Ellipsis:
            for n in shape[len(dims) : len(shape) - (count - len(dims))]:
                dims.append((n, 1))
                starts.append(Index(0))
        else:
            _one(item, shape[len(dims)], len(dims), dims, starts)
    return Region(tuple(dims), tuple(starts), tuple(newaxes), shape)


def _is_int(item: Any) -> bool:
    return isinstance(item, (int, np.integer)) and not isinstance(item, (bool, np.bool_))


def _one(item: Any, size: int, axis: int, dims: list[Any], starts: list[Index]) -> None:
    if isinstance(item, slice):
        start, stop, step = item.indices(size)
        dims.append((len(range(start, stop, step)), step))
        starts.append(Index(start))
        return
    position = int(item)
    if not -size <= position < size:
        raise IndexError(f"index {position} is out of bounds for axis {axis} with size {size}")
    dims.append((None, 1))
    starts.append(Index(position % size if size else 0))


def _spans(dims: Any) -> tuple[list[int], list[bool]]:
    """How many elements each dimension's slice reaches over, and which run backwards."""
    spans = [1 if n is None else (abs(step) * (n - 1) + 1 if n else 0) for n, step in dims]
    return spans, [n is not None and step < 0 for n, step in dims]


def _window(x: Any, starts: Any, dims: Any) -> tuple[Any, list[Any]]:
    spans, backwards = _spans(dims)
    begins = [s - (span - 1) if back else s for s, span, back in zip(starts, spans, backwards, strict=True)]
    return jax.lax.dynamic_slice(x, begins, spans), begins


def _strides(dims: Any) -> tuple[slice, ...]:
    return tuple([slice(None, None, step) for _, step in dims])


_ops: dict[Any, DerivedOp] = {}


def _interned(key: Any, name: str, fn: Any) -> DerivedOp:
    found = _ops.get(key)
    if found is None:
        found = _ops.setdefault(key, DerivedOp(name, fn, extra=key))  # exporters read there what is indexed
    return found


def region_read(region: Region) -> DerivedOp:
    """The operator (x, starts...) -> x[region]."""
    dims, shape = region.dims, region.shape

    def read(x: Any, *starts: Any) -> Any:
        if 0 in shape:
            return jnp.zeros(shape, x.dtype)
        window, _ = _window(x, starts, dims)
        return window[_strides(dims)].reshape(shape)

    return _interned(("read", dims, shape), "slice", read)


def region_write(region: Region) -> DerivedOp:
    """The operator (x, value, starts...) -> x with x[region] = value."""
    dims, shape = region.dims, region.shape

    def write(x: Any, value: Any, *starts: Any) -> Any:
        if 0 in shape:
            return x
        value = _fit(value, shape, x.dtype)
        value = value.reshape([1 if n is None else n for n, _ in dims])
        if any(step != 1 for _, step in dims):
            window, begins = _window(x, starts, dims)
            value = window.at[_strides(dims)].set(value)
            return jax.lax.dynamic_update_slice(x, value, begins)
        return jax.lax.dynamic_update_slice(x, value, starts)

    return _interned(("write", dims, shape), "slice_assign", write)


def _fit(value: Any, shape: tuple[int, ...], dtype: Any) -> Any:
    value = jnp.asarray(value).astype(dtype)
    while value.ndim > len(shape) and value.shape[0] == 1:
        value = value.reshape(value.shape[1:])
    return jnp.broadcast_to(value, shape)


def _is_mask(item: Any) -> bool:
    return (
        getattr(item, "dtype", None) is not None and np.dtype(item.dtype) == np.bool_ and getattr(item, "ndim", 0) > 0
    )


def advanced(key: Any, read: Any) -> tuple[Any, list[Any]]:
    """Splits an advanced index into a static pattern and its index arrays.

    `read` gives the NumPy value of a mask. Static parts stay as they are; arrays are marked by their number.
    """
    pattern: list[Any] = []
    arrays: list[Any] = []
    for item in key if isinstance(key, tuple) else (key,):
        if isinstance(item, (list, range, tuple)):
            item = np.asarray([int(cast(Any, i)) if isinstance(i, Handle) else i for i in item])
            item = item.astype(np.int32) if item.size == 0 else item
        if isinstance(item, (bool, np.bool_)):
            pattern.append(("bool", bool(item)))
        elif _is_mask(item) or (isinstance(item, np.ndarray) and item.dtype == np.bool_):
            for positions in np.nonzero(read(item)):
                pattern.append(("array", len(arrays)))
                arrays.append(positions.astype(np.int32))
        elif isinstance(item, (Handle, np.ndarray, jax.Array)):
            pattern.append(("array", len(arrays)))
            arrays.append(_whole(item))
        elif isinstance(item, slice):
            pattern.append(("slice", item.start, item.stop, item.step))
        elif item is None or item is Ellipsis or _is_int(item):
            pattern.append(item if item is None or item is Ellipsis else int(item))
        else:
            raise IndexError(
                f"an array cannot be indexed by {type(item).__name__} {item!r}; integers, slices, ..., None, integer "
                "and boolean arrays can stand between the brackets"
            )
    return tuple(pattern), arrays


def _whole(item: Any) -> Any:
    dtype = np.dtype(item.dtype)
    if dtype.kind in "iu":
        return item
    return item.astype(np.int32)


def _rebuild(pattern: Any, arrays: Any) -> tuple[Any, ...]:
    out: list[Any] = []
    for item in pattern:
        if isinstance(item, tuple):
            kind, *rest = item
            out.append(arrays[rest[0]] if kind == "array" else rest[0] if kind == "bool" else slice(*rest))
        else:
            out.append(item)
    return tuple(out)


def gather_op(pattern: Any) -> DerivedOp:
    """The operator (x, arrays...) -> x[pattern filled with arrays]."""
    return _interned(("gather", pattern), "index", lambda x, *arrays: x[_rebuild(pattern, arrays)])


def scatter_op(pattern: Any) -> DerivedOp:
    """The operator (x, value, arrays...) -> x with x[pattern filled with arrays] = value."""
    return _interned(
        ("scatter", pattern),
        "index_assign",
        lambda x, value, *arrays: x.at[_rebuild(pattern, arrays)].set(jnp.asarray(value).astype(x.dtype)),
    )


def mask_write_op() -> DerivedOp:
    """The operator (x, mask, value) -> x with x[mask] = value, for values that do not depend on the mask's count."""

    def write(x: Any, mask: Any, value: Any) -> Any:
        mask = mask.reshape(mask.shape + (1,) * (x.ndim - mask.ndim))
        return jnp.where(mask, jnp.asarray(value).astype(x.dtype), x)

    return _interned("mask_write", "mask_assign", write)
