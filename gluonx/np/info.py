"""Functions that run no operator: constants, dtypes, shapes, promotion, printing, ``.npy`` files."""

from __future__ import annotations

import contextlib
import numbers
import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as onp
from numpy.typing import ArrayLike

from gluonx import files
from gluonx.device import DeviceLike
from gluonx.dtype import DTypeLike, canonical, keeping_64_bits
from gluonx.dtype import bfloat16 as _bfloat16
from gluonx.np.creation import array
from gluonx.np.handle import View, ndarray

if TYPE_CHECKING:
    import builtins
    from collections.abc import Callable


_DTYPES = [
    "float16",
    "float32",
    "float64",
    "int8",
    "int16",
    "int32",
    "int64",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "bool_",
    "complex64",
    "complex128",
    "float8_e4m3fn",
    "float8_e5m2",
    "float8_e4m3b11fnuz",
    "float8_e4m3fnuz",
    "float8_e5m2fnuz",
    "float8_e4m3",
    "float8_e3m4",
    "float8_e8m0fnu",
    "int2",
    "int4",
    "uint2",
    "uint4",
    "float4_e2m1fn",
]
_KINDS = [
    "generic",
    "number",
    "integer",
    "signedinteger",
    "unsignedinteger",
    "inexact",
    "floating",
    "complexfloating",
    "flexible",
    "character",
    "object_",
]
_CONSTANTS = {
    "pi": onp.pi,
    "e": onp.e,
    "euler_gamma": onp.euler_gamma,
    "inf": onp.inf,
    "nan": onp.nan,
    "newaxis": None,
    "NAN": onp.nan,
    "NaN": onp.nan,
    "NINF": -onp.inf,
    "PINF": onp.inf,
    "NZERO": -0.0,
    "PZERO": 0.0,
}

__all__ = [
    "array_repr",
    "array_str",
    "astype",
    "bfloat16",
    "bool",
    "boolean_dtypes",
    "broadcast_shapes",
    "can_cast",
    "cdouble",
    "complex_",
    "csingle",
    "double",
    "dtype",
    "finfo",
    "float_",
    "floating_dtypes",
    "get_printoptions",
    "iinfo",
    "index_exp",
    "int_",
    "integer_dtypes",
    "iscomplexobj",
    "isdtype",
    "isrealobj",
    "isscalar",
    "issubdtype",
    "iterable",
    "load",
    "may_share_memory",
    "min_scalar_type",
    "ndim",
    "numeric_dtypes",
    "printoptions",
    "promote_types",
    "result_type",
    "s_",
    "save",
    "savez",
    "set_printoptions",
    "shape",
    "shares_memory",
    "single",
    "size",
    "uint",
]

_space = globals()
for _name in _DTYPES:
    _kind = getattr(onp, _name, None) or getattr(ml_dtypes, _name, None)
    if _kind is not None:
        _space[_name] = onp.dtype(_kind)
        __all__ += [_name]  # noqa: PLE0604
for _name in _KINDS:
    _space[_name] = getattr(onp, _name)
__all__ += [*_KINDS]  # noqa: PLE0604
_space.update(_CONSTANTS)
__all__ += list(_CONSTANTS)

bfloat16 = _bfloat16
bool = onp.dtype(onp.bool_)
single, double, csingle, cdouble = (onp.dtype(c) for c in "fdFD")
float_, complex_, int_, uint = onp.dtype("float32"), onp.dtype("complex64"), onp.dtype("int32"), onp.dtype("uint32")
dtype = onp.dtype

boolean_dtypes = [bool]
integer_dtypes = [onp.dtype(n) for n in ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")]
floating_dtypes = [onp.dtype(n) for n in ("float16", "float32", "float64")] + [bfloat16]
numeric_dtypes = integer_dtypes + floating_dtypes

s_, index_exp = onp.s_, onp.index_exp
get_printoptions, printoptions, set_printoptions = onp.get_printoptions, onp.printoptions, onp.set_printoptions
iterable, min_scalar_type = onp.iterable, onp.min_scalar_type
issubdtype, isdtype = jnp.issubdtype, jnp.isdtype


def finfo(dtype: DTypeLike) -> Any:
    """Return the limits of a floating dtype: ``eps``, ``max``, ``min``, ``tiny``, ``bits``.

    Returns
    -------
    finfo
        An object with these attributes.

    Examples
    --------
    >>> from gluonx import np
    >>> np.finfo("float16").bits
    16
    """
    return jnp.finfo(_typed(dtype))


def iinfo(dtype: DTypeLike) -> jnp.iinfo:
    """Return the limits of an integer dtype: ``max``, ``min``, ``bits``.

    Returns
    -------
    iinfo
        An object with these attributes.

    Examples
    --------
    >>> from gluonx import np
    >>> np.iinfo("int8").max
    127
    """
    return jnp.iinfo(_typed(dtype))


def shape(a: Any) -> tuple[int, ...]:
    """Return the shape of an array, number or nested sequence; nothing is computed.

    Returns
    -------
    tuple of int
        One length for each axis.

    Examples
    --------
    >>> from gluonx import np
    >>> np.shape([[1, 2, 3]])
    (1, 3)
    """
    return tuple(a.shape) if hasattr(a, "shape") else onp.shape(a)


def ndim(a: ArrayLike) -> int:
    """Return the number of axes; nothing is computed.

    Returns
    -------
    int
        0 for a number.

    Examples
    --------
    >>> from gluonx import np
    >>> np.ndim([[1, 2, 3]])
    2
    """
    return len(shape(a))


def size(a: ArrayLike, axis: int | None = None) -> int:
    """Return the number of elements, of all axes or of one; nothing is computed.

    Returns
    -------
    int
        The product of the lengths, or the length of `axis`.

    Examples
    --------
    >>> from gluonx import np
    >>> np.size([[1, 2, 3]])
    3
    """
    lengths = shape(a)
    return int(onp.prod(lengths, dtype=onp.int64)) if axis is None else lengths[axis]


def _typed(value: object) -> Any:
    return value.dtype if isinstance(value, ndarray) else value


def result_type(*arrays_and_dtypes: object) -> onp.dtype:
    """Return the dtype of an operation on these arrays, numbers and dtypes, by JAX's rules of promotion.

    Returns
    -------
    numpy.dtype
        The dtype of the result.

    Examples
    --------
    >>> from gluonx import np
    >>> np.result_type(np.ones(2), 1)
    dtype('float32')
    """
    given = [_typed(a) for a in arrays_and_dtypes]
    if all(isinstance(a, numbers.Number) and not isinstance(a, onp.generic) for a in given):
        return onp.dtype(jnp.result_type(*given))  # numbers alone have JAX's default types
    with keeping_64_bits():
        return onp.dtype(jnp.result_type(*given))


def promote_types(type1: Any, type2: Any) -> onp.dtype:
    """Return the smallest dtype to which both can be promoted, by JAX's rules: integer and float32 give float32.

    Returns
    -------
    numpy.dtype
        The common dtype.

    Examples
    --------
    >>> from gluonx import np
    >>> np.promote_types("int32", "float32")
    dtype('float32')
    """
    with keeping_64_bits():
        return onp.dtype(jnp.promote_types(type1, type2))


def can_cast(
    from_: ArrayLike | DTypeLike, to: Any, casting: Literal["no", "equiv", "safe", "same_kind", "unsafe"] = "safe"
) -> builtins.bool:
    """Return whether one dtype can be cast to another under NumPy's rule `casting`.

    Returns
    -------
    bool
        True if the cast is allowed.

    Examples
    --------
    >>> from gluonx import np
    >>> np.can_cast("int32", "float64"), np.can_cast("float64", "int32")
    (True, False)
    """
    return onp.can_cast(_typed(from_), to, casting)


def astype(x: ndarray, dtype: DTypeLike, /, *, copy: builtins.bool = True, device: DeviceLike = None) -> ndarray:
    """Return `x` with another dtype.

    Returns
    -------
    ndarray
        Of the shape of `x`, and of the dtype `dtype`.

    Examples
    --------
    >>> from gluonx import np
    >>> np.astype(np.array([1.5, -1.5]), "int32").tolist()
    [1, -1]
    """
    result = x.astype(dtype, copy=copy)
    return result if device is None else result.to_device(device)


def broadcast_shapes(*shapes: Sequence[int]) -> tuple[int, ...]:
    """Return the shape that these shapes broadcast to.

    Returns
    -------
    tuple of int
        The common shape.

    Examples
    --------
    >>> from gluonx import np
    >>> np.broadcast_shapes((2, 1), (3,))
    (2, 3)
    """
    return onp.broadcast_shapes(*shapes)


def isscalar(element: object) -> builtins.bool:
    """Return whether `element` is a number rather than an array.

    Returns
    -------
    bool
        True for a number.

    Examples
    --------
    >>> from gluonx import np
    >>> np.isscalar(3.0), np.isscalar(np.array(3.0))
    (True, False)
    """
    return onp.isscalar(element)


def iscomplexobj(x: ArrayLike) -> builtins.bool:
    """Return whether `x` is of a complex dtype.

    Returns
    -------
    bool
        True for a complex dtype.

    Examples
    --------
    >>> from gluonx import np
    >>> np.iscomplexobj(np.array([1.0])), np.iscomplexobj(np.array([1j]))
    (False, True)
    """
    return x.dtype.kind == "c" if isinstance(x, ndarray) else onp.iscomplexobj(x)


def isrealobj(x: ArrayLike) -> builtins.bool:
    """Return whether `x` is not of a complex dtype.

    Returns
    -------
    bool
        True for any other dtype.

    Examples
    --------
    >>> from gluonx import np
    >>> np.isrealobj(np.array([1.0])), np.isrealobj(np.array([1j]))
    (True, False)
    """
    return not iscomplexobj(x)


def shares_memory(a: ArrayLike, b: object, max_work: int | None = None) -> builtins.bool:
    """Return whether two arrays have an element in common: they are the same array, or overlapping slices of one.

    Returns
    -------
    bool
        True if there is such an element.

    Examples
    --------
    >>> from gluonx import np
    >>> x = np.ones(4)
    >>> np.shares_memory(x[:3], x[2:])
    True
    """
    return _meet(onp.shares_memory, a, b, max_work)


def may_share_memory(a: ArrayLike, b: object, max_work: int | None = None) -> builtins.bool:
    """Return whether the memory ranges of two slices of one array overlap.

    Returns
    -------
    bool
        True if the ranges overlap.

    Examples
    --------
    >>> from gluonx import np
    >>> x = np.ones(4)
    >>> np.may_share_memory(x[:2], x[2:])
    False
    """
    return _meet(onp.may_share_memory, a, b, max_work)


_ORIGIN = onp.empty(1, onp.int8)  # the base of made-up addresses, which are compared and never read


def _meet(test: Callable[..., builtins.bool], a: ArrayLike, b: object, max_work: int | None) -> builtins.bool:
    (base, one), (other, two) = _stretch(a), _stretch(b)
    return base is other and (test(one, two) if max_work is None else test(one, two, max_work))


def _stretch(a: Any) -> tuple[Any, onp.ndarray]:
    """Return the array of which `a` is a part, and a NumPy array with the same offsets, one byte per element."""
    regions: list[Any] = []
    while getattr(a, "base", None) is not None:
        if isinstance(a, View):
            regions.append(a.region)
        a = a.base
    shape = tuple(onp.shape(a))
    steps = [int(onp.prod(shape[i + 1 :], dtype=onp.int64)) for i in range(len(shape))]
    positions: Any = onp.lib.stride_tricks.as_strided(_ORIGIN, shape, steps, writeable=False)
    for region in reversed(regions):
        positions = positions[region.key()]
    return a, positions


def array_repr(
    arr: ArrayLike,
    max_line_width: int | None = None,
    precision: int | None = None,
    suppress_small: builtins.bool | None = None,
) -> str:
    """Return the text that ``repr`` of the values as a NumPy array gives.

    Returns
    -------
    str
        The text with ``array(...)`` around the values.

    Examples
    --------
    >>> from gluonx import np
    >>> np.array_repr(np.array([1, 2]))
    'array([1., 2.], dtype=float32)'
    """
    return onp.array_repr(onp.asarray(arr), max_line_width, precision, suppress_small)


def array_str(
    a: ArrayLike,
    max_line_width: int | None = None,
    precision: int | None = None,
    suppress_small: builtins.bool | None = None,
) -> str:
    """Return the values as text.

    Returns
    -------
    str
        The text of the values alone.

    Examples
    --------
    >>> from gluonx import np
    >>> np.array_str(np.array([1, 2]))
    '[1. 2.]'
    """
    return onp.array_str(onp.asarray(a), max_line_width, precision, suppress_small)


def _complete(file: object, ending: str) -> Any:
    """Append the ending to a path, as NumPy does; return an open file unchanged."""
    name = os.fspath(file) if isinstance(file, str | os.PathLike) else file
    return name if not isinstance(name, str) or name.endswith(ending) else name + ending


def save(file: object, arr: ArrayLike) -> None:
    """Write one array to a ``.npy`` file (see ``npx.savez`` for several).

    An existing file is replaced when the new one is complete, and is unchanged if that fails.

    Examples
    --------
    >>> import tempfile
    >>> from gluonx import np
    >>> path = tempfile.mkdtemp() + "/x.npy"
    >>> np.save(path, np.ones(2))
    >>> np.load(path).tolist()
    [1.0, 1.0]
    """
    with files.atomic_write(_complete(file, ".npy")) as whole:
        onp.save(whole, onp.asarray(arr), allow_pickle=False)


def savez(file: object, *args: object, **kwds: object) -> None:
    """Write arrays to an ``.npz`` file; an existing file is replaced when the new one is complete.

    Examples
    --------
    >>> import tempfile
    >>> from gluonx import np
    >>> path = tempfile.mkdtemp() + "/x.npz"
    >>> np.savez(path, a=np.ones(2))
    >>> np.load(path)["a"].tolist()
    [1.0, 1.0]
    """
    named = {name: onp.asarray(array) for name, array in kwds.items()}
    with files.atomic_write(_complete(file, ".npz")) as whole:
        onp.savez(whole, *[onp.asarray(array) for array in args], allow_pickle=False, **named)


def load(file: str | os.PathLike[str] | Any) -> Any:
    """Load what `save` or `savez` wrote: an ndarray, or a dict of them.

    An open file is read from its current position; after an array, its position is behind that array.

    Returns
    -------
    ndarray or dict of str to ndarray
        The array of a ``.npy`` file, or the arrays of an ``.npz`` file by name.

    Raises
    ------
    FormatError
        If the file is damaged, or none of these.
    OSError
        If it cannot be read.

    Examples
    --------
    >>> import tempfile
    >>> from gluonx import np
    >>> path = tempfile.mkdtemp() + "/x.npy"
    >>> np.save(path, np.zeros(2))
    >>> np.load(path).tolist()
    [0.0, 0.0]
    """
    is_path = isinstance(file, str | os.PathLike)
    with open(file, "rb") if is_path else contextlib.nullcontext(file) as source:
        found: Any = files.load_npy(source)
        if found is None:
            found = files.load_arrays(file if is_path else source, max_expanded_bytes=sys.maxsize)
    if isinstance(found, dict):
        return {key: array(value, canonical(value.dtype)) for key, value in found.items()}
    return array(found, canonical(found.dtype))


del _name, _kind, _space, jax
