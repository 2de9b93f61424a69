"""Functions on sparse arrays: how they are made, changed from one storage to another, and computed with.

What has a rule for sparse storage is here; the storage of results is MXNet's. Places (rows and columns) are worked out
on the host, values on the device, where gradients flow through them.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np

from gluonx.common.frames import door
from gluonx.deferred.operators.derived import DerivedOp
from gluonx.deferred.record import rows as by_row
from gluonx.deferred.record.engine import invoke
from gluonx.deferred.values import program_cache
from gluonx.deferred.values.core import Handle, current_state, new_handle, set_state, state_with, twin_of
from gluonx.dtype import canonical, on_device
from gluonx.errors import ArgumentError, ShapeError
from gluonx.np.handle import ndarray
from gluonx.ops.registry import get
from gluonx.sparse.storage import COMPUTED, BaseSparseNDArray, CSRNDArray, RowSparseNDArray, bucket, plain

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from gluonx.device import DeviceLike
    from gluonx.dtype import DTypeLike


__all__ = [
    "add",
    "array",
    "cast_storage",
    "csr_matrix",
    "divide",
    "dot",
    "empty",
    "multiply",
    "retain",
    "row_sparse_array",
    "square",
    "subtract",
    "zeros",
]


# -- making ------------------------------------------------------------------------------------------------------------


def _host(value: ArrayLike, dtype: DTypeLike = None) -> np.ndarray:
    return np.asarray(value.asnumpy() if isinstance(value, ndarray) else value, dtype)


def _values(value: ArrayLike, dtype: DTypeLike) -> Any:
    """Return the stored values: arrays keep their dtype, lists are float32; copies."""
    if isinstance(value, ndarray):
        return value.copy() if dtype is None or canonical(dtype) == value.dtype else value.astype(dtype)
    if dtype is None:
        dtype = value.dtype if isinstance(value, np.ndarray) else np.float32
    return plain(np.asarray(value, canonical(dtype)))


def _placed(array: Any, ctx: DeviceLike) -> Any:
    return array if ctx is None else array.to_device(ctx)


def _is_shape(given: object) -> bool:
    return isinstance(given, (tuple, list)) and all(isinstance(n, (int, np.integer)) for n in given)


def _scipy_csr(value: object) -> bool:
    return hasattr(value, "tocsr") and getattr(value, "format", "") == "csr"


@door
def csr_matrix(
    arg1: Any, shape: Sequence[int] | None = None, ctx: DeviceLike = None, dtype: DTypeLike = None
) -> CSRNDArray:
    """Make a matrix kept by rows.

    Parameters
    ----------
    arg1
        ``(data, indices, indptr)``; ``(data, (row, column))``, of which values of one place are summed; ``(rows,
        columns)``, for one without elements; a CSRNDArray, a ``scipy.sparse.csr_matrix``, or anything dense.
    shape : (int, int), optional
        Found from the places if it is not given.
    ctx : Device, optional
    dtype : dtype-like, optional
        That of an array which is given; float32 for lists.

    Raises
    ------
    ValueError
        If the parts do not fit each other or `shape`.

    Examples
    --------
    >>> csr_matrix(([1, 2], ([0, 1], [2, 0])), shape=(2, 3)).asnumpy().tolist()
    [[0, 0, 1], [2, 0, 0]]
    """
    if isinstance(arg1, tuple) and len(arg1) == 3:
        data, indices, indptr = arg1
        columns, starts = _host(indices, np.int64), _host(indptr, np.int64)
        if shape is None:
            shape = (len(starts) - 1, int(columns.max()) + 1 if len(columns) else 0)
        return _placed(_checked(CSRNDArray(_values(data, dtype), columns, starts, _pair(shape))), ctx)
    if isinstance(arg1, tuple) and len(arg1) == 2 and not _is_shape(arg1):
        data, (row, column) = arg1
        return _placed(_from_coordinates(data, _host(row, np.int64), _host(column, np.int64), shape, dtype), ctx)
    if isinstance(arg1, tuple) and len(arg1) == 2:
        _same_shape(shape, arg1)
        return zeros("csr", arg1, ctx, dtype)
    if _scipy_csr(arg1):
        matrix: Any = arg1
        _same_shape(shape, matrix.shape)
        own = matrix.sorted_indices()
        own.sum_duplicates()
        values = _values(np.asarray(own.data), dtype)
        return _placed(CSRNDArray(values, own.indices, own.indptr, tuple(own.shape)), ctx)
    if hasattr(arg1, "tocsr"):
        raise TypeError(f"source_array must be array like object: call tocsr() on the {type(arg1).__name__} first")
    found = _cast_given(arg1, "csr", dtype)
    _same_shape(shape, found.shape)
    return _placed(found, ctx)


def _pair(shape: Sequence[int]) -> tuple[int, int]:
    rows, columns = shape
    return int(rows), int(columns)


def _checked(array: CSRNDArray | RowSparseNDArray) -> Any:
    array.check_format(full_check=False)
    numbers = array._columns if isinstance(array, CSRNDArray) else array.row_numbers
    limit = array.shape[1] if isinstance(array, CSRNDArray) else array.shape[0]
    if len(numbers) and not 0 <= numbers.min() <= numbers.max() < limit:
        raise ArgumentError(
            f"indices of an array of shape {array.shape} must be from 0 to less than {limit}, got "
            f"{int(numbers.min())} to {int(numbers.max())}"
        )
    return array


def _same_shape(shape: Sequence[int] | None, found: Sequence[int]) -> None:
    if shape is not None and tuple(shape) != tuple(found):
        raise ArgumentError(f"the shape was given as {tuple(shape)}, but the array has shape {tuple(found)}")


def _from_coordinates(
    data: ArrayLike, row: np.ndarray, column: np.ndarray, shape: Sequence[int] | None, dtype: DTypeLike
) -> CSRNDArray:
    if dtype is None:
        dtype = data.dtype if isinstance(data, (np.ndarray, Handle)) else np.asarray(data).dtype
    values = _values(data, dtype)
    if not len(values) == len(row) == len(column):
        raise ArgumentError(f"{len(values)} values were given with {len(row)} rows and {len(column)} columns")
    if shape is None:
        shape = (int(row.max()) + 1, int(column.max()) + 1)
    shape = _pair(shape)
    for numbers, limit in ((row, shape[0]), (column, shape[1])):
        if len(numbers) and not 0 <= numbers.min() <= numbers.max() < limit:
            raise ArgumentError(f"places of a matrix of shape {shape} must be from 0 to less than {limit}")
    keys, inverse = np.unique(row * shape[1] + column, return_inverse=True)
    if len(keys) == len(row):
        summed = values[np.argsort(inverse.reshape(-1), kind="stable")]
    else:
        empty = plain(np.zeros(len(keys), values.dtype))
        summed = invoke(get("index_add").bind(), (empty, inverse.reshape(-1), values))
    return CSRNDArray(summed, keys % shape[1], _starts(keys // shape[1], shape[0]), shape)


def _starts(rows: np.ndarray, count: int) -> np.ndarray:
    """`indptr` of values in rows that ascend."""
    return np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=count))]).astype(np.int64)


@door
def row_sparse_array(
    arg1: Any, shape: Sequence[int] | None = None, ctx: DeviceLike = None, dtype: DTypeLike = None
) -> RowSparseNDArray:
    """Make an array of which some rows are stored.

    Parameters
    ----------
    arg1
        ``(data, indices)``, the rows and their numbers; a shape, for one without rows; a RowSparseNDArray, or anything
        dense.
    shape, ctx, dtype
        As of `csr_matrix`.

    Raises
    ------
    ValueError
        If the parts do not fit each other or `shape`.

    Examples
    --------
    >>> row_sparse_array(([[1, 2]], [2]), shape=(3, 2)).asnumpy().tolist()
    [[0.0, 0.0], [0.0, 0.0], [1.0, 2.0]]
    """
    if isinstance(arg1, tuple) and len(arg1) == 2 and not _is_shape(arg1):
        data, indices = arg1
        values, numbers = _values(data, dtype), _host(indices, np.int64).reshape(-1)
        if shape is None:
            shape = (int(numbers.max()) + 1 if len(numbers) else 0, *values.shape[1:])
        if len(numbers) > 1 and not (np.diff(numbers) > 0).all():
            order = np.argsort(numbers, kind="stable")
            if (np.diff(numbers[order]) == 0).any():
                raise ArgumentError("a row stands more than once among the indices of a row_sparse array")
            values, numbers = values[order], numbers[order]
        found = RowSparseNDArray(values, numbers, tuple([int(n) for n in shape]))
        return _placed(_checked(found), ctx)
    if _is_shape(arg1):
        _same_shape(shape, arg1)
        return zeros("row_sparse", arg1, ctx, dtype)
    found = _cast_given(arg1, "row_sparse", dtype)
    _same_shape(shape, found.shape)
    return _placed(found, ctx)


def _cast_given(value: Any, stype: str, dtype: DTypeLike) -> ndarray:
    if isinstance(value, BaseSparseNDArray):
        found = value.tostype(stype)
    else:
        if not isinstance(value, Handle):
            value = plain(np.asarray(value, canonical(dtype or getattr(value, "dtype", np.float32))))
        found = cast_storage(value, stype)
    return found if dtype is None else found.astype(dtype, copy=False)


def zeros(stype: str, shape: Any, ctx: DeviceLike = None, dtype: DTypeLike = None, **kwargs: Any) -> Any:
    """Make an array of zeros: of ``'csr'`` or ``'row_sparse'`` storage without an element, or ``'default'``.

    Raises
    ------
    ValueError
        For another storage.

    Examples
    --------
    >>> from gluonx import sparse
    >>> x = sparse.zeros("csr", (2, 3))
    >>> x.stype, x.asnumpy().tolist()
    ('csr', [[0.0, 0.0, 0.0], [0.0, 0.0, 0.0]])
    """
    shape = (int(shape),) if isinstance(shape, (int, np.integer)) else tuple([int(n) for n in shape])
    kind = canonical(dtype or np.float32)
    if stype == "default":
        found = new_handle(on_device(np.zeros(shape, kind)))
    elif stype == "csr":
        if len(shape) != 2:
            raise ArgumentError(f"a csr array has two axes, but the shape is {shape}")
        found = CSRNDArray(plain(np.zeros(0, kind)), np.zeros(0), np.zeros(shape[0] + 1), shape)
    elif stype == "row_sparse":
        found = RowSparseNDArray(plain(np.zeros((0, *shape[1:]), kind)), np.zeros(0), shape)
    else:
        raise ArgumentError(f"unknown storage type: {stype}; known: 'default', 'row_sparse', 'csr'")
    return _placed(found, ctx)


empty = zeros


@door
def array(source_array: Any, ctx: DeviceLike = None, dtype: DTypeLike = None) -> CSRNDArray | RowSparseNDArray:
    """Make a sparse array of the storage of another one, or of a ``scipy.sparse.csr_matrix``.

    Raises
    ------
    ValueError
        For anything dense.

    Examples
    --------
    >>> from gluonx import np, sparse
    >>> x = sparse.csr_matrix(np.array([[0.0, 2.0], [0.0, 0.0]]))
    >>> y = sparse.array(x, dtype="float16")
    >>> y.stype, y.dtype
    ('csr', dtype('float16'))
    """
    if isinstance(source_array, RowSparseNDArray):
        return row_sparse_array(source_array, ctx=ctx, dtype=dtype)
    if isinstance(source_array, CSRNDArray) or _scipy_csr(source_array):
        return csr_matrix(source_array, ctx=ctx, dtype=dtype)
    raise ArgumentError(f"Please use mx.nd.array to create an NDArray with source_array of type {type(source_array)}")


# -- gradients of sparse arrays ----------------------------------------------------------------------------------------


def flowing(arrays: Sequence[Any]) -> bool:
    """Return whether gradients are recorded that end in a sparse array among these, or pass one."""
    if not current_state().recording:
        return False
    return any(isinstance(a, BaseSparseNDArray) and a.tracked() is not None for a in arrays)


def through_whole(found: Callable[[], Any], dense: Callable[..., Any], *arrays: Any) -> Any:
    """Return what `found` gives, with the gradient of the same function of whole arrays.

    Parameters
    ----------
    found : callable
        Gives the result in its storage; it is not recorded.
    dense : callable
        The function on dense arrays, which is.
    *arrays : ndarray or any
        Its arguments. Sparse ones through which no gradient flows are made dense.
    """
    before = current_state()
    set_state(state_with(recording=False))
    try:
        result = found()
    finally:
        set_state(before)
    if result is NotImplemented:
        return result
    whole = dense(*[_whole_of(a) for a in arrays])
    return result.through(whole) if isinstance(result, BaseSparseNDArray) else whole


def _whole_of(array: Any) -> Any:
    if not isinstance(array, BaseSparseNDArray):
        return array
    whole = array.tracked()
    return array.tostype("default") if whole is None else whole


# -- from one storage to another ---------------------------------------------------------------------------------------


def _host_of(array: ndarray) -> np.ndarray:
    return np.asarray(array._read())


@program_cache.once
def _pick_op(axes: int) -> DerivedOp:
    return DerivedOp("pick_stored", lambda x, *index: x[tuple(index)], extra=("pick_stored", axes))


def _picked(array: ndarray, *index: np.ndarray) -> ndarray:
    """Return the elements of a dense array at places, recorded if it is on the tape."""
    if not current_state().recording:
        return plain(_host_of(array)[index])
    return invoke(_pick_op(len(index)), (array, *[i.astype(np.int32) for i in index]))


@door
def cast_storage(data: Any, stype: str) -> ndarray:
    """Return an array in another storage.

    From dense to sparse the values are looked at: what is not zero is stored. The gradient of what is computed from it
    comes back to all elements, for zeros are values too.

    Parameters
    ----------
    data : ndarray
    stype : {'default', 'row_sparse', 'csr'}

    Raises
    ------
    ValueError
        From one sparse storage to the other, for another storage, or for csr where there are not two axes.

    Examples
    --------
    >>> from gluonx import np, sparse
    >>> x = sparse.cast_storage(np.array([[0.0, 2.0], [0.0, 0.0]]), "row_sparse")
    >>> x.indices.tolist(), sparse.cast_storage(x, "default").tolist()
    ([0], [[0.0, 2.0], [0.0, 0.0]])
    """
    if stype not in ("default", "row_sparse", "csr"):
        raise ArgumentError(f"Invalid Input: '{stype}', valid values are: {{'csr', 'default', 'row_sparse'}}")
    if isinstance(data, BaseSparseNDArray):
        return data.tostype(stype)
    if stype == "default":
        return data
    if stype == "csr" and len(data.shape) != 2:
        raise ArgumentError(
            f"To convert to a CSR, the NDArray should be 2 Dimensional. Current shape is {tuple(data.shape)}"
        )
    if current_state().recording and (data.variable is not None or data._is_recorded()):
        return through_whole(lambda: _stored_of(data, stype), lambda whole: whole.copy(), data)
    return _stored_of(data, stype)


def _stored_of(data: Any, stype: str) -> CSRNDArray | RowSparseNDArray:
    """Return a dense array in a sparse storage."""
    kind, host = type(data), _host_of(data)
    if stype == "csr":
        rows, columns = np.nonzero(host)
        values = _of_kind(_picked(data, rows, columns), kind)
        return CSRNDArray(values, columns, _starts(rows, data.shape[0]), tuple(data.shape))
    (rows,) = np.nonzero(host.reshape(len(host), math.prod(host.shape[1:])).any(1))
    return RowSparseNDArray(_of_kind(_picked(data, rows), kind), rows, tuple(data.shape))


def _of_kind(handle: ndarray, kind: type) -> ndarray:
    own = getattr(kind, "plain_class", None) or kind
    return handle if type(handle) is own or issubclass(own, BaseSparseNDArray) else twin_of(handle, own)


@door
def retain(data: ndarray, indices: ArrayLike) -> RowSparseNDArray:
    """Return a row_sparse array with only the rows of some numbers.

    Parameters
    ----------
    data : RowSparseNDArray
    indices : array_like
        Row numbers. A row that is asked for and not there is stored as zeros, as in MXNet.

    Raises
    ------
    TypeError
        For another storage.

    Examples
    --------
    >>> from gluonx import np, sparse
    >>> x = sparse.row_sparse_array(np.array([[1.0], [2.0], [3.0]]))
    >>> sparse.retain(x, np.array([0, 2])).asnumpy().tolist()
    [[1.0], [0.0], [3.0]]
    """
    if not isinstance(data, RowSparseNDArray):
        raise TypeError(
            f"retain is for row_sparse arrays, got one of stype {getattr(data, 'stype', type(data).__name__)}"
        )
    if flowing([data]):
        kept = np.isin(np.arange(data.shape[0]), _host(indices).astype(np.int64))
        mask = kept.reshape(-1, *(1,) * (len(data.shape) - 1)).astype(data.dtype)
        return through_whole(lambda: retain(data, indices), lambda whole: invoke(_MULTIPLY, (whole, mask)), data)
    data = data.exact()
    wanted = np.unique(_host(indices).astype(np.int64).reshape(-1))
    if len(wanted) and not 0 <= wanted[0] <= wanted[-1] < data.shape[0]:
        raise IndexError(
            f"retain: row numbers must be from 0 to less than {data.shape[0]}, got {wanted[0]} to {wanted[-1]}"
        )
    kept = np.flatnonzero(np.isin(data.row_numbers, wanted))
    values = _picked(data._handle, kept)
    if len(kept) < len(wanted):
        places = np.searchsorted(wanted, data.row_numbers[kept]).astype(np.int32)
        values = invoke(_laid_op(len(wanted)), (values, places))
    return RowSparseNDArray(data._kin(values), wanted, data.shape)


@program_cache.once
def _laid_op(count: int) -> DerivedOp:
    def laid(values: jax.Array, places: jax.Array) -> jax.Array:
        return jnp.zeros((count, *values.shape[1:]), values.dtype).at[places].set(values)

    return DerivedOp("lay_rows", laid, extra=("lay_rows", count))


def rows_of(table: ndarray, numbers: ArrayLike) -> RowSparseNDArray:
    """Return some rows of a dense array, as a row_sparse array, by `gluonx.deferred.record.rows.look_up`."""
    wanted = np.unique(_host(numbers).astype(np.int64).reshape(-1))
    if len(wanted) and not 0 <= wanted[0] <= wanted[-1] < table.shape[0]:
        raise IndexError(f"row numbers must be from 0 to less than {table.shape[0]}, got {wanted[0]} to {wanted[-1]}")
    size = min(bucket(len(wanted)), table.shape[0])
    rows = new_handle(
        on_device(np.pad(wanted, (0, size - len(wanted)), constant_values=table.shape[0]).astype(np.int32))
    )
    return RowSparseNDArray(_of_kind(by_row.look_up(table, rows), type(table)), rows, tuple(table.shape))


def looked_up(table: RowSparseNDArray, index: Any) -> Any:
    """Return the rows of a row_sparse array with the numbers `index`; zeros for those that are not stored."""
    if flowing([table]):
        return table._kin(by_row.look_up(table.tracked(), index))
    own = table.exact()
    wanted = np.clip(_host(index).astype(np.int64), 0, table.shape[0] - 1)
    places = np.searchsorted(own.row_numbers, wanted)
    places = np.minimum(places, max(len(own.row_numbers) - 1, 0))
    there = own.row_numbers[places] == wanted if len(own.row_numbers) else np.zeros(wanted.shape, bool)
    if not len(own.row_numbers):
        return own._kin(plain(np.zeros((*wanted.shape, *table.shape[1:]), table.dtype)))
    picked = by_row.look_up(own._handle, places.astype(np.int32))
    mask = there.reshape(*there.shape, *(1,) * (len(table.shape) - 1)).astype(table.dtype)
    return own._kin(invoke(_MULTIPLY, (picked, mask)))


_MULTIPLY = DerivedOp("mask_rows", jnp.multiply)


def take_rows(x: CSRNDArray, numbers: np.ndarray) -> CSRNDArray:
    """Return the rows of a csr matrix with these numbers, in their order, on the host."""
    counts = np.diff(x._indptr)[numbers]
    starts = np.concatenate([[0], np.cumsum(counts)])
    places = np.repeat(x._indptr[:-1][numbers] - starts[:-1], counts) + np.arange(starts[-1])
    values = np.asarray(x._values)[places]
    return CSRNDArray(values, x._columns[places], starts, (len(numbers), x.shape[1]))


# -- arithmetic --------------------------------------------------------------------------------------------------------


def mapped(array: Any, function: Callable[[Any], Any]) -> ndarray:
    """Apply a function that keeps zeros to the stored values.

    Values that were never on the device, such as those of LibSVMIter, are padded for it: a program serves many counts.
    """
    if flowing([array]):
        return through_whole(lambda: mapped(array, function), function, array)
    if isinstance(array._values, np.ndarray) and isinstance(array, CSRNDArray):
        whole, _, _ = array.padded()
        return array._with(_host_of(function(whole))[: len(array._columns)])
    return array._with(array._kin(function(array._handle)))


def square(x: ndarray) -> Any:
    """Square each element; of the storage of `x`.

    Examples
    --------
    >>> from gluonx import np, sparse
    >>> x = sparse.csr_matrix(np.array([[0.0, 2.0], [0.0, 0.0]]))
    >>> sparse.square(x).stype, sparse.square(x).asnumpy().tolist()
    ('csr', [[0.0, 4.0], [0.0, 0.0]])
    """
    return mapped(x, lambda values: values * values)


def _keys(array: CSRNDArray | RowSparseNDArray) -> np.ndarray:
    """Return the places of an array as ascending numbers."""
    if isinstance(array, RowSparseNDArray):
        return array.row_numbers
    return array.row_numbers * array.shape[1] + array._columns


def _at(array: Any, keys: np.ndarray, values: ndarray) -> CSRNDArray | RowSparseNDArray:
    if isinstance(array, RowSparseNDArray):
        return RowSparseNDArray(values, keys, array.shape)
    width = max(array.shape[1], 1)
    return CSRNDArray(values, keys % width, _starts(keys // width, array.shape[0]), array.shape)


@program_cache.once
def _joined_op(count: int, sign: int) -> DerivedOp:
    def joined(x: jax.Array, y: jax.Array, px: jax.Array, py: jax.Array) -> jax.Array:
        dtype = jnp.promote_types(x.dtype, y.dtype)
        whole = jnp.zeros((count, *x.shape[1:]), dtype)
        return whole.at[px].add(x.astype(dtype)).at[py].add(sign * y.astype(dtype))

    return DerivedOp("join_stored", joined, extra=("join_stored", count, sign))


def _sum(x: Any, y: Any, sign: int) -> CSRNDArray | RowSparseNDArray:
    x, y = (a.exact() if isinstance(a, RowSparseNDArray) else a for a in (x, y))
    kx, ky = _keys(x), _keys(y)
    keys = np.union1d(kx, ky)
    places = [np.searchsorted(keys, k).astype(np.int32) for k in (kx, ky)]
    if not current_state().recording:
        a, b = _host_of(x._handle), _host_of(y._handle)
        found = np.zeros((len(keys), *a.shape[1:]), np.promote_types(a.dtype, b.dtype))
        found[places[0]] = a
        found[places[1]] += b if sign > 0 else -b
        return _at(x, keys, x._kin(plain(found)))
    return _at(x, keys, x._kin(invoke(_joined_op(len(keys), sign), (x._handle, y._handle, *places))))


def _product(x: Any, y: Any) -> CSRNDArray | RowSparseNDArray:
    x, y = (a.exact() if isinstance(a, RowSparseNDArray) else a for a in (x, y))
    kx, ky = _keys(x), _keys(y)
    keys = np.intersect1d(kx, ky, assume_unique=True)
    a, b = (_picked(v._handle, np.searchsorted(k, keys)) for v, k in ((x, kx), (y, ky)))
    return _at(x, keys, x._kin(a * b))


def _of_dense(x: CSRNDArray | RowSparseNDArray, dense: Any) -> ndarray:
    """Return the elements of a dense array, which may broadcast, at the places of a sparse one."""
    shape = (1,) * (len(x.shape) - len(dense.shape)) + tuple(dense.shape)
    if len(shape) != len(x.shape) or any(n not in (1, m) for n, m in zip(shape, x.shape, strict=True)):
        raise ShapeError(f"an array of shape {dense.shape} does not broadcast to {x.shape}")
    if tuple(dense.shape) != shape:
        dense = dense.reshape(shape)
    rows = x.row_numbers if shape[0] != 1 else np.zeros_like(x.row_numbers)
    if isinstance(x, RowSparseNDArray):
        return _picked(dense, rows)
    return _picked(dense, rows, x._columns if shape[1] != 1 else np.zeros_like(x._columns))


def _is_number(value: object) -> bool:
    return isinstance(value, (bool, int, float, np.generic)) or (isinstance(value, np.ndarray) and value.ndim == 0)


def operate(name: str, x: Any, other: Any) -> Any:
    """Python's operator `name` of a sparse array, in MXNet's storage; NotImplemented for a dense result."""
    if flowing([x, other]):
        return through_whole(lambda: operate(name, x, other), lambda a, b: getattr(a, name)(b), x, other)
    if _is_number(other):
        if name in ("__mul__", "__rmul__", "__truediv__"):
            return x._with(getattr(x._handle, name)(other))
        if name == "__gt__" and float(other) >= 0:
            return x._with(getattr(x._handle, name)(other))
        return NotImplemented
    if isinstance(other, BaseSparseNDArray):
        if x.shape != other.shape:
            raise ShapeError(f"arrays of shapes {x.shape} and {other.shape} cannot be computed with element by element")
        if x.stype != other.stype:
            return NotImplemented
        if name in ("__add__", "__sub__"):
            return _sum(x, other, 1 if name == "__add__" else -1)
        return _product(x, other) if name == "__mul__" else NotImplemented
    if not isinstance(other, Handle):
        return NotImplemented
    if name == "__mul__":
        x = x.exact() if isinstance(x, RowSparseNDArray) else x
        return x._with(x._kin(getattr(x._handle, name)(_of_dense(x, other))))
    return NotImplemented


def add(lhs: ndarray, rhs: Any) -> ndarray:
    """Add two arrays, or an array and a number; sparse if both are of one sparse storage.

    Examples
    --------
    >>> from gluonx import np, sparse
    >>> x = sparse.csr_matrix(np.array([[0.0, 2.0], [0.0, 0.0]]))
    >>> sparse.add(x, x).stype, sparse.add(x, x).asnumpy().tolist()
    ('csr', [[0.0, 4.0], [0.0, 0.0]])
    """
    return lhs + rhs


def subtract(lhs: ndarray, rhs: Any) -> ndarray:
    """Subtract `rhs` from `lhs`; sparse if both are of one sparse storage.

    Examples
    --------
    >>> from gluonx import np, sparse
    >>> x = sparse.csr_matrix(np.array([[0.0, 2.0], [0.0, 0.0]]))
    >>> sparse.subtract(x, np.ones((2, 2))).asnumpy().tolist()
    [[-1.0, 1.0], [-1.0, -1.0]]
    """
    return lhs - rhs


def multiply(lhs: Any, rhs: Any) -> ndarray:
    """Multiply two arrays, or an array and a number; sparse if `lhs` is.

    Examples
    --------
    >>> from gluonx import np, sparse
    >>> x = sparse.csr_matrix(np.array([[0.0, 2.0], [0.0, 0.0]]))
    >>> sparse.multiply(x, 3).stype, sparse.multiply(x, 3).asnumpy().tolist()
    ('csr', [[0.0, 6.0], [0.0, 0.0]])
    """
    return lhs * rhs


def divide(lhs: ndarray, rhs: Any) -> ndarray:
    """Divide `lhs` by `rhs`; sparse if `lhs` is, and `rhs` a number.

    Examples
    --------
    >>> from gluonx import np, sparse
    >>> x = sparse.csr_matrix(np.array([[0.0, 2.0], [0.0, 0.0]]))
    >>> sparse.divide(x, 2).stype, sparse.divide(x, 2).asnumpy().tolist()
    ('csr', [[0.0, 1.0], [0.0, 0.0]])
    """
    return lhs / rhs


def sum_of(arrays: Sequence[ndarray]) -> ndarray:
    """Add up arrays of one shape; row_sparse if all are."""
    return functools.reduce(lambda x, y: x + y, arrays)


@program_cache.once
def _reduce_op(axis: int | None, count: int) -> DerivedOp:
    def total(values: jax.Array, places: jax.Array) -> jax.Array:
        return values.sum() if axis is None else jax.ops.segment_sum(values, places, num_segments=count)

    return DerivedOp("sum_stored", total, extra=("sum_stored", axis, count))


def sum_axis(x: CSRNDArray, axis: int | None) -> Any:
    """Sum a csr matrix along an axis; a dense array of shape (columns,), (rows,) or ()."""
    if flowing([x]):
        return x._kin(invoke(_whole_sum_op(axis), (x.tracked(),)))
    values, rows, columns = x.padded()
    places = columns if axis == 0 else rows
    count = x.shape[1] if axis == 0 else x.shape[0]
    return x._kin(invoke(_reduce_op(axis, count), (values, places)))


@program_cache.once
def _whole_sum_op(axis: int | None) -> DerivedOp:
    return DerivedOp("sum_whole", lambda x: x.sum(axis), extra=("sum_whole", axis))


def stack_rows(arrays: Sequence[CSRNDArray]) -> CSRNDArray:
    """Concatenate csr matrices along the first axis."""
    if flowing(arrays):
        joined = lambda *whole: arrays[0]._kin(invoke(_CONCATENATE, whole))  # noqa: E731
        return through_whole(lambda: stack_rows(arrays), joined, *arrays)
    widths = {a.shape[1] for a in arrays}
    if len(widths) != 1:
        raise ShapeError(f"csr matrices of one width can be concatenated along axis 0, got widths {sorted(widths)}")
    sizes = np.cumsum([0, *[len(a._columns) for a in arrays]])
    starts = [a._indptr[1:] + n for a, n in zip(arrays, sizes, strict=False)]
    values = invoke(_CONCATENATE, [a._handle for a in arrays])
    shape = sum(a.shape[0] for a in arrays), widths.pop()
    columns = np.concatenate([a._columns for a in arrays])
    return CSRNDArray(arrays[0]._kin(values), columns, np.concatenate([[0], *starts]), shape)


_CONCATENATE = DerivedOp("concatenate_stored", lambda *v: jnp.concatenate(v))


def slice_csr(x: CSRNDArray, begin: Sequence[Any], end: Sequence[Any]) -> CSRNDArray:
    """Return a rectangle of a csr matrix."""
    if flowing([x]):
        region = tuple([slice(b, e) for b, e in zip(begin, end, strict=False)])
        return through_whole(lambda: slice_csr(x, begin, end), lambda whole: whole[region], x)
    (r0, r1, _), *rest = [slice(b, e).indices(n) for b, e, n in zip(begin, end, x.shape, strict=False)]
    part = x._rows(r0, max(r0, r1))
    if not rest:
        return part
    c0, c1, _ = rest[0]
    kept = np.flatnonzero((part._columns >= c0) & (part._columns < c1))
    rows = part.row_numbers[kept]
    values = part._kin(_picked(part._handle, kept))
    return CSRNDArray(values, part._columns[kept] - c0, _starts(rows, part.shape[0]), (part.shape[0], max(c1 - c0, 0)))


# -- dot ---------------------------------------------------------------------------------------------------------------


@program_cache.once
def _product_op(count: int, vector: bool) -> DerivedOp:
    """(values, rows of the right side, where each is summed) -> (count, ...)."""

    def product(values: jax.Array, picked: jax.Array, places: jax.Array) -> jax.Array:
        terms = values * picked if vector else values[:, None] * picked
        return jax.ops.segment_sum(terms, places, num_segments=count)

    return DerivedOp("sparse_dot", product, extra=("sparse_dot", count, vector))


@program_cache.once
def _right_op(count: int) -> DerivedOp:
    """Dense (m, rows) x csr -> (m, count): the terms are summed by column."""

    def product(values: jax.Array, dense: jax.Array, rows: jax.Array, columns: jax.Array) -> jax.Array:
        terms = jnp.take(dense, rows, axis=1, mode="clip") * values
        return jax.ops.segment_sum(terms.T, columns, num_segments=count).T

    return DerivedOp("dot_sparse", product, extra=("dot_sparse", count))


@door
def dot(
    lhs: ndarray, rhs: ndarray, transpose_a: bool = False, transpose_b: bool = False, forward_stype: str | None = None
) -> ndarray:
    """Multiply two matrices of which one or both are sparse.

    ======================= ================ =====================================================
    product                 result           gradient of the dense side
    ======================= ================ =====================================================
    csr x dense             dense            dense, or by rows where it has ``grad_stype='row_sparse'``
    csr.T x dense           row_sparse       as above
    dense x csr, csr.T      csr              dense
    others                  dense            of what is made dense
    ======================= ================ =====================================================

    Parameters
    ----------
    lhs, rhs : ndarray
        The dense side may be a vector behind a csr matrix.
    transpose_a, transpose_b : bool
        Whether a side is transposed first.
    forward_stype : {'default', 'row_sparse', 'csr'}, optional
        The storage of the result, where it should be another one.

    Raises
    ------
    ValueError
        If the shapes do not fit.

    Examples
    --------
    >>> from gluonx import np
    >>> dot(csr_matrix(([1, 2], [0, 1], [0, 1, 2]), shape=(2, 3)), np.ones((3, 1))).tolist()
    [[1.0], [2.0]]
    """
    if flowing([lhs, rhs]):
        sparse = isinstance(lhs, CSRNDArray) and not flowing([lhs])
        if sparse and isinstance(rhs, BaseSparseNDArray):  # lhs stays so
            return dot(lhs, rhs.tracked(), transpose_a, transpose_b, forward_stype)
        plain_dot = functools.partial(dot, transpose_a=transpose_a, transpose_b=transpose_b)
        return through_whole(lambda: plain_dot(lhs, rhs, forward_stype=forward_stype), plain_dot, lhs, rhs)
    if isinstance(lhs, CSRNDArray) and not transpose_b and not isinstance(rhs, CSRNDArray):
        return _dot_csr(lhs, rhs, transpose_a, forward_stype)
    if isinstance(rhs, CSRNDArray) and not isinstance(lhs, BaseSparseNDArray) and not transpose_a:
        return _dot_to_csr(lhs, rhs, transpose_b, forward_stype)
    left, right = (a.tostype("default") if isinstance(a, BaseSparseNDArray) else a for a in (lhs, rhs))
    left, right = (_transposed(left) if transpose_a else left), (_transposed(right) if transpose_b else right)
    found = invoke(_DOT, (left, right))
    return found if forward_stype in (None, "default") else cast_storage(found, forward_stype)


_DOT, _TRANSPOSE = DerivedOp("dense_dot", jnp.dot), DerivedOp("dense_transpose", jnp.transpose)


def _transposed(array: ndarray) -> ndarray:
    return invoke(_TRANSPOSE, (array,))


def _needs(ok: bool, lhs: ndarray, rhs: ndarray) -> None:
    if not ok:
        raise ShapeError(f"dot: shapes {lhs.shape} and {rhs.shape} do not fit each other")


def _dot_csr(lhs: CSRNDArray, rhs: ndarray, transposed: bool, forward_stype: str | None) -> ndarray:
    _needs(len(rhs.shape) in (1, 2) and rhs.shape[0] == lhs.shape[0 if transposed else 1], lhs, rhs)
    values, rows, columns = lhs.padded()
    sparse = transposed and forward_stype != "default"
    if transposed:
        unique = np.unique(lhs._columns)
        if sparse:
            count = bucket(len(unique))
            more = values.shape[0] - len(lhs._columns)
            places = np.pad(np.searchsorted(unique, lhs._columns), (0, more), constant_values=count).astype(np.int32)
        else:
            count, places = lhs.shape[1], columns
        from_rows = rows
    else:
        count, places, from_rows = lhs.shape[0], rows, columns
    table = rhs
    if isinstance(rhs, RowSparseNDArray):
        table, from_rows, there = _stored_rows(rhs, lhs.row_numbers if transposed else lhs._columns, values.shape[0])
        values = values if there is None else invoke(_MULTIPLY, (values, there.astype(lhs.dtype)))
    picked = by_row.look_up(table, from_rows)
    found = _of_kind(invoke(_product_op(count, len(rhs.shape) == 1), (values, picked, places)), type(table))
    if sparse:
        numbers = np.pad(unique, (0, count - len(unique)), constant_values=lhs.shape[1]).astype(np.int32)
        return RowSparseNDArray(found, new_handle(on_device(numbers)), (lhs.shape[1], *rhs.shape[1:]))
    return found if forward_stype in (None, "default") else cast_storage(found, forward_stype)


def dot_padded(values: Any, rows: Any, columns: Any, count: int, rhs: Any) -> Any:
    """Return the product of a csr matrix of `count` rows, as :meth:`CSRNDArray.padded` gives it, and a dense array."""
    return invoke(_product_op(count, len(rhs.shape) == 1), (values, by_row.look_up(rhs, columns), rows))


def _stored_rows(rhs: RowSparseNDArray, numbers: np.ndarray, size: int) -> tuple[Any, Any, np.ndarray | None]:
    """Get the stored rows of an array, where the rows `numbers` are among them, padded, and which of them are there."""
    stored, table = rhs.row_numbers, rhs._handle
    if not len(stored):
        stored, table = np.zeros(1, np.int64), rhs._kin(plain(np.zeros((1, *rhs.shape[1:]), rhs.dtype)))
    places = np.minimum(np.searchsorted(stored, numbers), len(stored) - 1)
    there = stored[places] == numbers
    pads = (0, size - len(numbers))
    own = None if there.all() else np.pad(there, pads)
    return table, new_handle(on_device(np.pad(places, pads).astype(np.int32))), own


def _dot_to_csr(lhs: ndarray, rhs: CSRNDArray, transposed: bool, forward_stype: str | None) -> ndarray:
    _needs(len(lhs.shape) == 2 and lhs.shape[1] == rhs.shape[1 if transposed else 0], lhs, rhs)
    values, rows, columns = rhs.padded()
    if transposed:
        rows, columns = columns, rows
    found = invoke(_right_op(rhs.shape[0 if transposed else 1]), (values, lhs, rows, columns))
    found = _of_kind(found, type(lhs))
    return found if forward_stype == "default" else cast_storage(found, forward_stype or "csr")


COMPUTED.update(cast_storage=cast_storage, mapped=mapped, operate=operate, retain=retain, slice_csr=slice_csr)
COMPUTED.update(picked=_picked)
