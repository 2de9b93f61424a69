"""Indices in square brackets, turned into operators.

Basic indices (integers, slices, ``...``, ``None``) become a :class:`Region`. Its lengths and steps are static, its
starts are inputs of the operator, so that ``x[i * n:(i + 1) * n]`` in a loop is one program. For everything else (index
arrays, lists, boolean masks) JAX gathers and scatters, with the index arrays as inputs; masks are first turned into
positions, which needs their values.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, cast

import jax
import jax.numpy as jnp
import numpy as np

from gluonx.deferred.operators.derived import DerivedOp
from gluonx.deferred.values import index_checks, program_cache
from gluonx.deferred.values.core import Handle, Index
from gluonx.errors import BadIndexError, BadKeyError
from gluonx.ops.host import kernels
from gluonx.ops.host.pullbacks import Rule, Ways, placed, summed

if TYPE_CHECKING:
    from types import NotImplementedType

    from numpy.typing import ArrayLike

    from gluonx.np.handle import ndarray


class Region:
    """A basic index on a shape.

    Attributes
    ----------
    dims : tuple
        For each dimension the (length, step) of the slice; the length is None for an integer index.
    starts : tuple of Index
        The first position in each dimension.
    newaxes : tuple of int
        The positions of new axes in the result.
    shape : tuple of int
        The result's shape.
    whole : bool
        Whether it selects every element, in order.
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

    def key(self) -> tuple[Any, ...]:
        """Return the index for a NumPy array."""
        items: list[Any] = []
        for (n, step), start in zip(self.dims, self.starts, strict=True):
            stop = 0 if n is None else start + n * step
            items.append(int(start) if n is None else slice(int(start), None if stop < 0 else stop, step))
        for axis in self.newaxes:
            kept = [i for i, item in enumerate(items) if isinstance(item, slice) or item is None]
            items.insert(kept[axis] if axis < len(kept) else len(items), None)
        return tuple(items)


def basic(key: object, shape: tuple[int, ...]) -> Region | None:
    """Return the region of a basic index, or None if `key` is not one.

    Raises
    ------
    BadIndexError
        Too many indices, or one out of bounds.
    """
    items = key if isinstance(key, tuple) else (key,)
    for item in items:
        if not (item is None or item is Ellipsis or isinstance(item, slice) or _is_int(item)):
            return None
    if not all(isinstance(n, int) for n in shape):
        return None  # symbolic sizes, as in an export: JAX's own indexing handles them
    count = sum(1 for i in items if i is not None and i is not Ellipsis)
    _check_count(items, count, shape)
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


def composed(outer: Region, inner: Region, full: tuple[int, ...]) -> Region | None:
    """Return the region of an array of shape `full` that `inner` is of its region `outer`; None with new axes."""
    if outer.newaxes or inner.newaxes:
        return None
    dims: list[tuple[int | None, int]] = []
    starts: list[Index] = []
    further = iter(zip(inner.dims, inner.starts, strict=True))
    for (n, step), start in zip(outer.dims, outer.starts, strict=True):
        if n is None:
            dims.append((None, step))
            starts.append(start)
        else:
            (length, stride), first = next(further)
            dims.append((length, step * stride))
            starts.append(Index(start + step * first))
    return Region(tuple(dims), tuple(starts), (), full)


def _check_count(items: Sequence[object], count: int, shape: tuple[int, ...]) -> None:
    if count > len(shape):
        raise BadIndexError(f"too many indices: the array has {len(shape)} dimensions, but {count} were indexed")
    if sum(1 for i in items if i is Ellipsis) > 1:
        raise BadIndexError("an index can hold only one ellipsis ('...')")


def _is_int(item: object) -> bool:
    return isinstance(item, (int, np.integer)) and not isinstance(item, (bool, np.bool_))


def _one(item: Any, size: int, axis: int, dims: list[Any], starts: list[Index]) -> None:
    if isinstance(item, slice):
        start, stop, step = item.indices(size)
        dims.append((len(range(start, stop, step)), step))
        starts.append(Index(start))
        return
    position = int(item)
    if not -size <= position < size:
        raise BadIndexError(f"index {position} is out of bounds for axis {axis} with size {size}")
    dims.append((None, 1))
    starts.append(Index(position % size if size else 0))


def _spans(dims: Sequence[tuple[int | None, int]]) -> tuple[list[int], list[bool]]:
    """Return the number of elements that each dimension's slice spans, and which slices run backwards."""
    spans = [1 if n is None else (abs(step) * (n - 1) + 1 if n else 0) for n, step in dims]
    return spans, [n is not None and step < 0 for n, step in dims]


def _window(x: jax.Array, starts: Sequence[int], dims: Sequence[tuple[int | None, int]]) -> tuple[Any, list[Any]]:
    spans, backwards = _spans(dims)
    begins = [s - (span - 1) if back else s for s, span, back in zip(starts, spans, backwards, strict=True)]
    return jax.lax.dynamic_slice(x, begins, spans), begins


def _strides(dims: Sequence[tuple[int | None, int]]) -> tuple[slice, ...]:
    return tuple([slice(None, None, step) for _, step in dims])


_ops: dict[Any, DerivedOp] = program_cache.memo()


def _interned(
    key: object,
    name: str,
    fn: Callable[..., Any],
    numpy_kernel: Callable[..., object] | None,
    work: Callable[..., int] | None = None,
    pullback: Rule | None = None,
) -> DerivedOp:
    found = _ops.get(key)
    if found is None:
        # Exporters read the index from `extra`.
        made = DerivedOp(name, fn, extra=key, numpy_kernel=numpy_kernel, work=work, any_length=True, pullback=pullback)
        found = _ops.setdefault(key, made)
    return found


def region_read(region: Region) -> DerivedOp:
    """Return the operator (x, starts...) -> x[region]."""
    dims, shape = region.dims, region.shape

    def read(x: jax.Array, *starts: int) -> jax.Array:
        if 0 in shape:
            return jnp.zeros(shape, x.dtype)
        window, _ = _window(x, starts, dims)
        return window[_strides(dims)].reshape(shape)

    def read_on_host(x: np.ndarray, *starts: int) -> np.ndarray:
        return x[_items(dims, starts)].reshape(shape)

    def pulled(g: np.ndarray, x: np.ndarray, *starts: int) -> Ways:
        items = _items(dims, starts)
        return [lambda: placed(g.reshape(x[items].shape), x, items)]

    return _interned(("read", dims, shape), "slice", read, read_on_host, lambda *_: 1, pulled)


def region_write(region: Region) -> DerivedOp:
    """Return the operator (x, value, starts...) -> x with x[region] = value."""
    dims, shape = region.dims, region.shape

    def write(x: jax.Array, value: jax.Array, *starts: Any) -> jax.Array:
        value = _fit(value, shape, x.dtype)
        if 0 in shape:
            return x
        value = value.reshape([1 if n is None else n for n, _ in dims])
        if any(step != 1 for _, step in dims):
            window, begins = _window(x, starts, dims)
            value = window.at[_strides(dims)].set(value)
            return jax.lax.dynamic_update_slice(x, value, begins)
        return jax.lax.dynamic_update_slice(x, value, starts)

    def write_on_host(x: np.ndarray, value: np.generic | np.ndarray, *starts: int) -> np.ndarray | NotImplementedType:
        value = _fit_on_host(value, shape, x.dtype)
        if value is NotImplemented or 0 in shape:
            return NotImplemented
        x = x.copy()
        x[_items(dims, starts)] = value.reshape([n for n, _ in dims if n is not None])
        return x

    return _interned(("write", dims, shape), "slice_assign", write, write_on_host, lambda x, *_: x.size)


def _items(dims: Sequence[tuple[int | None, int]], starts: Sequence[int]) -> tuple[Any, ...]:
    """Return the integers and slices for NumPy of a region's dimensions."""
    items: list[Any] = []
    for (n, step), start in zip(dims, starts, strict=True):
        stop = 0 if n is None else int(start) + n * step
        items.append(int(start) if n is None else slice(int(start), None if stop < 0 else stop, step))
    return tuple(items)


def _fit_on_host(value: Any, shape: tuple[int, ...], dtype: np.dtype) -> Any:
    value = kernels.converted(np.asarray(value), dtype)
    if value is NotImplemented:
        return value
    while value.ndim > len(shape) and value.shape[0] == 1:
        value = value.reshape(value.shape[1:])
    return np.broadcast_to(value, shape)


def _fit(value: object, shape: tuple[int, ...], dtype: np.dtype) -> jax.Array:
    value = jnp.asarray(value).astype(dtype)
    while value.ndim > len(shape) and value.shape[0] == 1:
        value = value.reshape(value.shape[1:])
    return jnp.broadcast_to(value, shape)


def _slice_end(number: Any) -> Any:
    """Return the end of a slice as an integer, or in an export as a symbolic size."""
    try:
        return operator.index(number)
    except TypeError:
        from jax import export  # rarely needed, and slow to import

        if export.is_symbolic_dim(number):
            return number
        raise


def _plain(item: object) -> Any:
    """Return an item of an index, with lists turned into arrays."""
    if isinstance(item, (list, range, tuple)):
        item = np.asarray([int(cast(Any, i)) if isinstance(i, Handle) else i for i in item])
        return item.astype(np.int32) if item.size == 0 else item
    if isinstance(item, slice):
        ends = [n if n is None else _slice_end(n) for n in (item.start, item.stop, item.step)]
        return slice(*ends)
    return np.asarray(item) if isinstance(item, (bool, np.bool_)) else item


def _is_mask(item: Any) -> bool:
    return getattr(item, "dtype", None) is not None and np.dtype(item.dtype) == np.bool_


def mask_of(key: object) -> Any:
    """Return `key` as a boolean array, if it is the whole index; else None."""
    if isinstance(key, tuple) and len(key) == 1:
        key = key[0]
    if isinstance(key, (bool, np.bool_)) or (isinstance(key, list) and key and isinstance(key[0], (bool, list))):
        key = np.asarray(key) if not isinstance(key, list) or _only_bools(key) else key
    return key if _is_mask(key) else None


def _only_bools(key: list[Any]) -> bool:
    return all(_only_bools(k) if isinstance(k, list) else isinstance(k, (bool, np.bool_)) for k in key)


def _taken(item: Any) -> int:
    """Return the number of axes of the array that an item indexes."""
    if item is None or item is Ellipsis:
        return 0
    return item.ndim if _is_mask(item) else 1


def check_mask(mask: np.ndarray | ndarray, shape: tuple[int, ...], axis: int = 0) -> None:
    """Raise if a mask's lengths differ from those of the axes that it indexes, from `axis` on.

    Raises
    ------
    BadIndexError
    """
    lengths = shape[axis : axis + mask.ndim]
    if tuple(mask.shape) == tuple(lengths):
        return
    if len(lengths) < mask.ndim:
        raise BadIndexError(
            f"too many indices: a mask of shape {tuple(mask.shape)} was given for an array of shape {tuple(shape)}"
        )
    wrong = next(i for i, (a, b) in enumerate(zip(mask.shape, lengths, strict=True)) if a != b)
    raise BadIndexError(
        f"boolean index did not match indexed array along axis {axis + wrong}: the array has shape {tuple(shape)}, "
        f"of which the mask stands for {tuple(lengths)}, but the mask has shape {tuple(mask.shape)}"
    )


_ROWS = (("array", 0),)


def advanced(key: object, shape: tuple[int, ...], read: Callable[..., Any]) -> tuple[Any, list[Any]]:
    """Split an advanced index on an array of `shape` into a static pattern and its index arrays.

    `read` returns the NumPy value of a mask. Static parts stay in the pattern; arrays are replaced by their number.

    Raises
    ------
    BadIndexError
        Too many indices, one out of bounds as far as that is known, a mask of another shape.
    """
    if shape and isinstance(key, Handle) and key.dtype.kind in "iu":  # the usual case
        index_checks.look("indexing", key, shape[0], 0, -shape[0])
        return _ROWS, [key]
    items = [_plain(item) for item in (key if isinstance(key, tuple) else (key,))]
    count = sum(map(_taken, items))
    if len(items) == 1 and _is_mask(items[0]):
        check_mask(items[0], shape)
    _check_count(items, count, shape)
    pattern: list[Any] = []
    arrays: list[Any] = []
    axis = 0
    for item in items:
        if _is_mask(item):
            check_mask(item, shape, axis)
            value = read(item)
            if not value.ndim:
                pattern.append(("bool", bool(value)))
            for positions in np.nonzero(value) if value.ndim else ():
                pattern.append(("array", len(arrays)))
                arrays.append(positions.astype(np.int32))
        elif isinstance(item, (Handle, np.ndarray, jax.Array)):
            index_checks.look("indexing", item, shape[axis], axis, -shape[axis])
            pattern.append(("array", len(arrays)))
            arrays.append(_whole(item))
        elif isinstance(item, slice):
            pattern.append(("slice", item.start, item.stop, item.step))
        elif _is_int(item):
            index_checks.look("indexing", int(item), shape[axis], axis, -shape[axis])
            pattern.append(int(item))
        elif item is None or item is Ellipsis:
            pattern.append(item)
        else:
            raise BadKeyError(
                f"an array cannot be indexed by {type(item).__name__} {item!r}; integers, slices, ..., None, integer "
                "and boolean arrays can stand between the brackets"
            )
        axis += len(shape) - count if item is Ellipsis else _taken(item)
    _check_together([*[tuple(a.shape) for a in arrays], *[(int(p[1]),) for p in pattern if _is_flag(p)]])
    return tuple(pattern), arrays


def _check_together(shapes: list[tuple[int, ...]]) -> None:
    if len(shapes) > 1 and any(shape != shapes[0] for shape in shapes):
        try:
            np.broadcast_shapes(*shapes)
        except ValueError:
            told = ", ".join(map(str, shapes))
            raise BadIndexError(f"index arrays of shapes {told} cannot be broadcast together") from None


def _whole(item: Any) -> Any:
    dtype = np.dtype(item.dtype)
    if isinstance(item, np.ndarray) and item.dtype == np.int64 and item.size and np.abs(item).max() < 2**31:
        return item.astype(
            np.int32
        )  # int64 is only NumPy's default; no axis needs it, and int32 avoids 64-bit arithmetic
    if dtype.kind in "iu":
        return item
    return item.astype(np.int32)


def _rebuild(pattern: tuple[Any, ...], arrays: Sequence[Any]) -> tuple[Any, ...]:
    out: list[Any] = []
    for item in pattern:
        if isinstance(item, tuple):
            kind, *rest = item
            # True and False select one element or none along the axis that `_with_flags` has made for them.
            out.append(
                arrays[rest[0]]
                if kind == "array"
                else np.zeros(int(rest[0]), np.int32)
                if kind == "bool"
                else slice(*rest)
            )
        else:
            out.append(item)
    return tuple(out)


def _with_flags(pattern: tuple[Any, ...], ndim: int) -> tuple[int, ...]:
    """Return the axes for ``expand_dims`` that an array of `ndim` axes needs for the True and False in a pattern."""
    axes: list[int] = []
    takes = [item is not None and item is not Ellipsis and not _is_flag(item) for item in pattern]
    for i, item in enumerate(pattern):
        if _is_flag(item):
            axis = ndim - sum(takes[i:]) if any(p is Ellipsis for p in pattern[:i]) else sum(takes[:i])
            axes.append(axis + len(axes))
    return tuple(axes)


def _is_flag(item: object) -> bool:
    return isinstance(item, tuple) and item[0] == "bool"


def gather_op(pattern: tuple[Any, ...]) -> DerivedOp:
    """Return the operator (x, arrays...) -> x[pattern filled with arrays]."""

    def read(x: jax.Array, *arrays: jax.Array) -> jax.Array:
        return jnp.expand_dims(x, _with_flags(pattern, x.ndim))[_rebuild(pattern, arrays)]

    def read_on_host(x: np.ndarray, *arrays: np.ndarray) -> np.ndarray:
        return np.expand_dims(x, _with_flags(pattern, x.ndim))[_rebuild(pattern, arrays)]

    def pulled(g: np.ndarray, x: np.ndarray, *arrays: np.ndarray) -> Ways:
        flags, positions = _with_flags(pattern, x.ndim), _rebuild(pattern, arrays)
        return [lambda: summed(g, x, positions, lambda found: np.expand_dims(found, flags))]

    return _interned(("gather", pattern), "index", read, read_on_host, _gathered, pulled)


def scatter_op(pattern: tuple[Any, ...]) -> DerivedOp:
    """Return the operator (x, value, arrays...) -> x with x[pattern filled with arrays] = value."""

    def write(x: jax.Array, value: jax.Array, *arrays: jax.Array | np.ndarray) -> jax.Array:
        positions, wide = _rebuild(pattern, arrays), jnp.expand_dims(x, _with_flags(pattern, x.ndim))
        shape = jax.eval_shape(lambda x: x[positions], wide).shape
        return wide.at[positions].set(_fit(value, shape, x.dtype)).reshape(x.shape)

    def write_on_host(x: np.ndarray, value: Any, *arrays: np.ndarray) -> np.ndarray | NotImplementedType:
        positions = _rebuild(pattern, arrays)
        wide = np.expand_dims(x, _with_flags(pattern, x.ndim)).copy()
        value = _fit_on_host(value, wide[positions].shape, x.dtype)
        if value is NotImplemented:
            return value
        wide[positions] = value
        return wide.reshape(x.shape)

    return _interned(("scatter", pattern), "index_assign", write, write_on_host, lambda x, *_: x.size)


def _gathered(x: np.ndarray, *arrays: np.ndarray) -> int:
    """Return an upper bound for the number of elements read: for each index, all elements behind its axis."""
    return max([a.size for a in arrays], default=1) * (x.size // max(x.shape[:1] or (1,)))


def spreads(mask: np.ndarray | ndarray, value: ArrayLike, shape: tuple[int, ...]) -> bool:
    """Return whether a value can be written where `mask` is True without knowing the number of such elements."""
    ones = np.shape(value)
    while ones and ones[0] == 1:
        ones = ones[1:]
    return len(ones) <= len(shape) - mask.ndim


def mask_write_op() -> DerivedOp:
    """Return the operator (x, mask, value) -> x with x[mask] = value, for values for which `spreads` is True."""

    def write(x: jax.Array, mask: jax.Array, value: jax.Array) -> jax.Array:
        rest = x.shape[mask.ndim :]
        mask = mask.reshape(mask.shape + (1,) * len(rest))
        return jnp.where(mask, _fit(value, rest, x.dtype), x)

    def write_on_host(x: np.ndarray, mask: np.ndarray, value: Any) -> np.ndarray | NotImplementedType:
        rest = x.shape[mask.ndim :]
        value = _fit_on_host(value, rest, x.dtype)
        return value if value is NotImplemented else np.where(mask.reshape(mask.shape + (1,) * len(rest)), value, x)

    return _interned("mask_write", "mask_assign", write, write_on_host)
