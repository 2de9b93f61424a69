"""Functions of ``mx.nd`` that are no operator: they make arrays, take arrays or numbers, read and write files."""

from __future__ import annotations

import operator
import os
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as onp

from gluonx import files as serialize
from gluonx import np, npx
from gluonx.common.arguments import written
from gluonx.compat.nd import sparse
from gluonx.compat.nd.calling import write_out
from gluonx.compat.nd.names import method_of
from gluonx.compat.nd.ndarray import NDArray, as_nd
from gluonx.compat.operators.row import core
from gluonx.compat.operators.table import TABLE
from gluonx.deferred.values.core import Handle
from gluonx.dtype import canonical
from gluonx.np.creation import read_as
from gluonx.np.handle import borrow, ndarray
from gluonx.sparse import BaseSparseNDArray, CSRNDArray, RowSparseNDArray

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from gluonx.common.arguments import Size
    from gluonx.device import DeviceLike
    from gluonx.dtype import DTypeLike


Shape = int | Sequence[int]


def _placed(array: ndarray, ctx: DeviceLike, out: ndarray | None = None) -> Any:
    found = as_nd(array if ctx is None else array.to_device(ctx))
    return write_out(found, out)


def _size(shape: Shape) -> tuple[int, ...]:
    return (int(shape),) if isinstance(shape, (int, onp.integer)) else tuple([int(n) for n in shape])


def array(source_array: Any, ctx: DeviceLike = None, dtype: DTypeLike = None, device: DeviceLike = None) -> NDArray:
    """Return an array of the values of anything array-like; float32 unless it is an NDArray or a dtype is given.

    Examples
    --------
    >>> array([1, 2]).dtype
    dtype('float32')
    """
    if isinstance(source_array, BaseSparseNDArray) or getattr(source_array, "format", None) == "csr":
        return sparse.array(source_array, ctx if device is None else device, dtype)
    if isinstance(source_array, Handle):
        value = np.array(source_array, dtype=dtype or source_array.dtype)
        return _placed(value, ctx if device is None else device)
    if isinstance(source_array, (list, tuple)) and any(isinstance(item, Handle) for item in source_array):
        source_array = [onp.asarray(item) for item in source_array]
    host = read_as(onp.asarray(source_array), source_array, dtype or "float32")
    if host.dtype.kind in "OSU":
        raise TypeError(f"nd.array: numbers were expected, got an array of {host.dtype}; are the rows of one length?")
    return _placed(np.array(host, dtype=canonical(dtype or "float32")), ctx if device is None else device)


def zeros(
    shape: Shape,
    ctx: DeviceLike = None,
    dtype: DTypeLike = None,
    stype: str | None = None,
    out: ndarray | None = None,
    device: DeviceLike = None,
    **kw: object,
) -> NDArray:
    """Zeros; of another storage, ``'csr'`` or ``'row_sparse'``, without an element."""
    if stype not in (None, "default"):
        return sparse.zeros(stype, shape, ctx if device is None else device, dtype)
    return _placed(np.zeros(_size(shape), dtype=dtype or "float32"), ctx if device is None else device, out)


def ones(
    shape: Shape,
    ctx: DeviceLike = None,
    dtype: DTypeLike = None,
    out: ndarray | None = None,
    device: DeviceLike = None,
    **kw: object,
) -> NDArray:
    """Ones."""
    return _placed(np.ones(_size(shape), dtype=dtype or "float32"), ctx if device is None else device, out)


def full(
    shape: Shape,
    val: float,
    ctx: DeviceLike = None,
    dtype: DTypeLike = "float32",
    out: ndarray | None = None,
    device: DeviceLike = None,
) -> NDArray:
    """One value everywhere."""
    return _placed(np.full(_size(shape), val, dtype=dtype), ctx if device is None else device, out)


def empty(
    shape: Shape, ctx: DeviceLike = None, dtype: DTypeLike = None, stype: str | None = None, device: DeviceLike = None
) -> NDArray:
    """Return an array to be filled; it holds zeros."""
    return zeros(shape, ctx, dtype, stype, device=device)


def arange(
    start: float,
    stop: float | None = None,
    step: float = 1.0,
    repeat: int = 1,
    infer_range: bool = False,
    ctx: DeviceLike = None,
    dtype: DTypeLike = "float32",
    device: DeviceLike = None,
) -> NDArray:
    """Equally spaced numbers, each `repeat` times."""
    begin, end = (0, start) if stop is None else (start, stop)
    values = np.arange(begin, end, step, dtype=dtype)
    if repeat != 1:
        values = core("repeat", values, repeats=int(repeat))
    return _placed(values, ctx if device is None else device)


def linspace(
    start: float,
    stop: float,
    num: int,
    endpoint: bool = True,
    ctx: DeviceLike = None,
    dtype: DTypeLike = None,
    device: DeviceLike = None,
) -> NDArray:
    """So many numbers from `start` to `stop`."""
    return _placed(np.linspace(start, stop, num, endpoint, dtype=dtype or "float32"), ctx if device is None else device)


def eye(
    N: int,
    M: int = 0,
    k: int = 0,
    ctx: DeviceLike = None,
    dtype: DTypeLike = None,
    device: DeviceLike = None,
    **kw: object,
) -> NDArray:
    """Ones on a diagonal."""
    return _placed(np.eye(int(N), int(M) or None, k, dtype=dtype or "float32"), ctx if device is None else device)


def from_numpy(ndarray: onp.ndarray, zero_copy: bool = True) -> NDArray:
    """Return an array of the values of a NumPy array, of its dtype; always a copy."""
    return as_nd(np.array(ndarray, dtype=ndarray.dtype))


def from_dlpack(dlpack: Any) -> NDArray:
    """Return an array on the memory of another library's."""
    lent: Any = borrow(dlpack, NDArray)
    return as_nd(np.from_dlpack(dlpack)) if lent is None else lent


def to_dlpack_for_read(data: ndarray) -> object:
    """Return a DLPack capsule of the array, computed, for others to read."""
    return npx.to_dlpack_for_read(data)


def to_dlpack_for_write(data: ndarray) -> object:
    """Return a DLPack capsule of memory that is the array's from now on, for others to write to."""
    return npx.to_dlpack_for_write(data)


# -- an array or a number on each side --------------------------------------------------------------------------------


def _either(
    name: str, both: str, scalar: str, reflected: str, plain: Callable[[Any, Any], Any], doc: str
) -> Callable[..., Any]:
    arrays, right, left = TABLE[f"broadcast_{both}"], TABLE[f"_{scalar}_scalar"], TABLE[f"_{reflected}_scalar"]

    def function(lhs: Any, rhs: Any) -> Any:
        ours, theirs = isinstance(lhs, Handle), isinstance(rhs, Handle)
        if isinstance(lhs, BaseSparseNDArray) or isinstance(rhs, BaseSparseNDArray):
            return sparse.kept_nd(plain(lhs, rhs))
        if ours and theirs:
            return as_nd(arrays.rule(arrays.parse({}), lhs, rhs))
        if ours:
            return as_nd(right.rule(right.parse({"scalar": rhs}), lhs))
        if theirs:
            return as_nd(left.rule(left.parse({"scalar": lhs}), rhs))
        return plain(lhs, rhs)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = doc
    return function


def _one(name: str, plain: Callable[[Any, Any], Any], doc: str, opposite: str = "") -> Callable[..., Any]:
    """Return a function whose operators have its name; `opposite` is what it is with its arguments exchanged."""
    return _either(name, name, name, opposite or name, plain, doc)


add = _either("add", "add", "plus", "plus", operator.add, "The sum.")
subtract = _either("subtract", "sub", "minus", "rminus", operator.sub, "The difference.")
multiply = _either("multiply", "mul", "mul", "mul", operator.mul, "The product.")
divide = _either("divide", "div", "div", "rdiv", operator.truediv, "The quotient.")
true_divide = divide
modulo = _either("modulo", "mod", "mod", "rmod", operator.mod, "The remainder.")
power = _either("power", "power", "power", "rpower", operator.pow, "The power.")
maximum = _one("maximum", max, "The larger, elementwise.")
minimum = _one("minimum", min, "The smaller, elementwise.")
equal = _one("equal", lambda x, y: float(x == y), "1 where equal, else 0.")
not_equal = _one("not_equal", lambda x, y: float(x != y), "1 where not equal, else 0.")
greater = _one("greater", lambda x, y: float(x > y), "1 where greater, else 0.", "lesser")
greater_equal = _one("greater_equal", lambda x, y: float(x >= y), "1 where not less, else 0.", "lesser_equal")
lesser = _one("lesser", lambda x, y: float(x < y), "1 where less, else 0.", "greater")
lesser_equal = _one("lesser_equal", lambda x, y: float(x <= y), "1 where not greater, else 0.", "greater_equal")
logical_and = _one("logical_and", lambda x, y: float(bool(x) and bool(y)), "1 where both hold.")
logical_or = _one("logical_or", lambda x, y: float(bool(x) or bool(y)), "1 where one holds.")
logical_xor = _one("logical_xor", lambda x, y: float(bool(x) != bool(y)), "1 where just one holds.")


# -- joining, splitting ------------------------------------------------------------------------------------------------


def concatenate(arrays: Sequence[Any], axis: int = 0, always_copy: bool = True) -> NDArray:
    """Return the arrays one behind the other."""
    return as_nd(core("concatenate", *arrays, axis=axis))


def moveaxis(tensor: ndarray, source: Size, destination: Size) -> NDArray:
    """Return the array with some axes at other places."""
    return as_nd(core("moveaxis", tensor, source=source, destination=destination))


def split_v2(
    ary: ndarray, indices_or_sections: Size, axis: int = 0, squeeze_axis: bool = False
) -> NDArray | list[NDArray]:
    """Return the array cut into equal parts, or at places; a list, or the array itself where it stays whole."""
    sections = indices_or_sections
    if not isinstance(sections, int):
        sections = tuple([int(n) for n in sections])
    parts = core("split", ary, indices_or_sections=sections, axis=axis)
    if squeeze_axis:
        parts = [core("squeeze", p, axis=axis) for p in parts]
    return as_nd(list(parts) if len(parts) > 1 else parts[0])


def histogram(a: ndarray, bins: ArrayLike = 10, range: Sequence[float] | None = None) -> list[NDArray]:
    """Count the elements between the edges, and return the counts and the edges."""
    counts, edges = np.histogram(a, bins, range)
    return as_nd([np.astype(counts, a.dtype), edges])


def onehot_encode(indices: ndarray, out: ndarray) -> ndarray:
    """Rows of `out` with 1 at the places that `indices` name, 0 elsewhere."""
    out[:] = TABLE["_onehot_encode"](indices, out)
    return out


def cast(data: ndarray, dtype: DTypeLike = None, out: ndarray | None = None, name: str | None = None) -> NDArray:
    """Return the values in another dtype."""
    return write_out(as_nd(core("cast", data, dtype=canonical(dtype))), out)


def waitall() -> None:
    """Compute what is pending and wait for all devices."""
    from gluonx.engine import waitall as wait

    wait()


# -- files -------------------------------------------------------------------------------------------------------------


def save(fname: str | os.PathLike[str], data: Any) -> None:
    """Write an array, a list of them or a dict of them in MXNet's own format.

    Raises
    ------
    TypeError
        If `data` is none of these.
    """
    if isinstance(data, Handle):
        data = [data]
    if isinstance(data, dict):
        named = {str(k): _stored(v) for k, v in data.items()}
    elif isinstance(data, (list, tuple)) and all(isinstance(v, Handle) for v in data):
        named = [_stored(v) for v in data]
    else:
        raise TypeError(f"nd.save: an NDArray, or a list or dict of them, was expected, got {type(data).__name__}.")
    serialize.save_ndarrays(fname, named)


def load(fname: str | os.PathLike[str]) -> Any:
    """Load what `save` or MXNet wrote: a list of arrays, or a dict where they have names.

    Raises
    ------
    FormatError
        If the file is of no known kind.
    """
    return _wrapped(serialize.load_ndarrays(fname))


def load_frombuffer(buf: bytes) -> Any:
    """Load from bytes what `load` does from a file."""
    return _wrapped(serialize.load_ndarrays(buf))


def _wrapped(found: list[onp.ndarray] | dict[str, Any]) -> list[Any] | dict[str, Any]:
    if isinstance(found, dict):
        return {name: _array_of(value) for name, value in found.items()}
    return [_array_of(value) for value in found]


def _array_of(value: onp.ndarray | serialize.Stored) -> ndarray:
    """Return a NumPy array, or the parts of a sparse one, as an array."""
    if not isinstance(value, serialize.Stored):
        return as_nd(np.array(value, dtype=value.dtype))
    made: Any = sparse.CSRNDArray if value.stype == "csr" else sparse.RowSparseNDArray
    places = value.index[::-1] if value.stype == "csr" else value.index
    return made(as_nd(np.array(value.data, dtype=value.data.dtype)), *places, value.shape)


def _stored(array: ndarray) -> onp.ndarray | serialize.Stored:
    """Return an array as a NumPy array, or the parts of a sparse one."""
    if isinstance(array, CSRNDArray):
        return serialize.Stored("csr", array.shape, array._handle.asnumpy(), [array._indptr, array._columns])
    if isinstance(array, RowSparseNDArray):
        own = array.exact()
        return serialize.Stored("row_sparse", own.shape, own._handle.asnumpy(), [own.row_numbers])
    return onp.asarray(array)


NDArray.split_v2 = method_of("split_v2", split_v2)  # type: ignore[method-assign]

__all__ = [*sorted(written(globals()))]  # noqa: PLE0604
