"""Functions whose result's shape depends on values: their input is computed and read, and the work is done by NumPy.

No compiled program can hold them, since its shapes are fixed. They work like every function, at the cost of ending the
deferred program before them; a hybridized block that meets one runs un-hybridized. In other traces (exports, bodies of
loops) they raise, and the message names what to use instead. Where only *indices* depend on values (`extract`,
`compress`, a masked pick), the picking itself is an operator, and gradients flow through it.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as onp

from gluonx.arguments import refuse
from gluonx.deferred.core import new_handle
from gluonx.dtype import on_device
from gluonx.host import copied
from gluonx.np.functions import ravel, take
from gluonx.np.handle import host_value, ndarray
from gluonx.np.wrapping import as_leaf

__all__ = [
    "argwhere",
    "bincount",
    "compress",
    "extract",
    "flatnonzero",
    "histogram2d",
    "histogramdd",
    "intersect1d",
    "nonzero",
    "polydiv",
    "polyfit",
    "roots",
    "setdiff1d",
    "setxor1d",
    "trim_zeros",
    "union1d",
    "unique",
    "unique_all",
    "unique_counts",
    "unique_inverse",
    "unique_values",
]


def on_host(name: str, value: Any) -> Any:
    """`value` as NumPy holds it, for the function `name`.

    Raises
    ------
    DynamicShapeError
        Inside a traced forward, where there are no values. A hybridized block runs un-hybridized then.
    """
    if isinstance(value, (list, tuple)):
        return type(value)([on_host(name, v) if isinstance(v, ndarray) else v for v in value])
    return host_value(value, f"np.{name}") if isinstance(value, ndarray) else value


def to_device(result: Any, wide: bool = False) -> Any:
    """NumPy's result as ndarrays; tuples and lists keep their kind, float64 becomes float32 unless `wide`."""
    if isinstance(result, (tuple, list)):
        parts = [to_device(r, wide) for r in result]
        if not isinstance(result, tuple):
            return parts
        return type(result)(*parts) if hasattr(result, "_fields") else tuple(parts)
    host = onp.asarray(result)
    if host.dtype.kind == "f" and host.dtype.itemsize == 8 and not wide:
        host = host.astype(onp.float32)
    return new_handle(on_device(copied(host)))  # it may be a view of the argument


def is_wide(*values: Any) -> bool:
    """Return whether an array of float64 is among them."""
    return any(isinstance(v, ndarray) and v.dtype == onp.float64 for v in values)


def _hosted(name: str, text: str, fn: Callable[..., Any] | None = None) -> Callable[..., Any]:
    compute = fn or getattr(onp, name)
    signature = inspect.signature(compute)

    def front(*args: Any, **kwargs: Any) -> Any:
        if kwargs:
            refuse(f"np.{name}", set(kwargs).difference(signature.parameters), signature.parameters)
        read = {k: on_host(name, v) for k, v in kwargs.items()}
        return to_device(compute(*[on_host(name, a) for a in args], **read), is_wide(*args, *kwargs.values()))

    front.__name__ = front.__qualname__ = name
    front.__signature__ = signature  # type: ignore[attr-defined]
    front.__doc__ = (
        f"{text}\n\nThe parameters are those of ``numpy.{name}``. The input's values are read, and no gradient flows."
    )
    return front


argwhere = _hosted("argwhere", "The indices of elements that are not zero, one row an element.")
flatnonzero = _hosted("flatnonzero", "The flat indices of elements that are not zero.")
histogram2d = _hosted("histogram2d", "How many points fall into each cell, and the edges along both axes.")
histogramdd = _hosted("histogramdd", "How many points fall into each cell, and the edges along each axis.")
intersect1d = _hosted("intersect1d", "The sorted values that two arrays share.")
nonzero = _hosted(
    "nonzero",
    "The indices of elements that are not zero, one array an axis. A number counts as a vector of one.",
    lambda a: onp.nonzero(onp.atleast_1d(a)),
)
polydiv = _hosted("polydiv", "Quotient and remainder of two polynomials.")
polyfit = _hosted("polyfit", "The polynomial that fits points best in the sense of least squares.")
roots = _hosted("roots", "The roots of a polynomial.")
setdiff1d = _hosted("setdiff1d", "The sorted values of one array that another does not hold.")
setxor1d = _hosted("setxor1d", "The sorted values that just one of two arrays holds.")
trim_zeros = _hosted("trim_zeros", "A vector without the zeros at its ends.")
union1d = _hosted("union1d", "The sorted values that either of two arrays holds.")


def _unique(
    ar: Any, return_index: bool = False, return_inverse: bool = False, return_counts: bool = False, axis: Any = None
) -> Any:
    found = onp.unique(ar, return_index, return_inverse, return_counts, axis)
    if not return_inverse:
        return found
    where = 2 if return_index else 1  # one axis, also of an array of more (NumPy 2 keeps its shape)
    return (*found[:where], found[where].reshape(-1), *found[where + 1 :])


unique = _hosted("unique", "The sorted values of an array, each once.", _unique)


def _bincount(x: onp.ndarray, weights: Any = None, minlength: int = 0) -> onp.ndarray:
    counts = onp.bincount(onp.asarray(x).astype(onp.int64), weights, minlength)
    return counts if weights is None else counts.astype(onp.asarray(weights).dtype)


bincount = _hosted("bincount", "How often each whole number occurs.", _bincount)


class UniqueAll(NamedTuple):
    """The result of `unique_all`."""

    values: Any
    indices: Any
    inverse_indices: Any
    counts: Any


class UniqueCounts(NamedTuple):
    """The result of `unique_counts`."""

    values: Any
    counts: Any


class UniqueInverse(NamedTuple):
    """The result of `unique_inverse`."""

    values: Any
    inverse_indices: Any


def _unique_all(x: Any) -> UniqueAll:
    values, indices, inverse, counts = onp.unique(x, True, True, True, equal_nan=False)
    return UniqueAll(values, indices, inverse.reshape(onp.shape(x)), counts)


def _unique_inverse(x: Any) -> UniqueInverse:
    values, inverse = onp.unique(x, return_inverse=True, equal_nan=False)
    return UniqueInverse(values, inverse.reshape(onp.shape(x)))


# Sorted, as in MXNet and NumPy up to 2.2 (later ones hash, and give no order). Each NaN is one of its own.
unique_all = _hosted(
    "unique_all", "The sorted values, where each stands first, the indices that rebuild x, and counts.", _unique_all
)
unique_counts = _hosted(
    "unique_counts",
    "The sorted values of x and how often each occurs.",
    lambda x: UniqueCounts(*onp.unique(x, return_counts=True, equal_nan=False)),
)
unique_inverse = _hosted(
    "unique_inverse", "The sorted values of x and the indices that rebuild x from them.", _unique_inverse
)
unique_values = _hosted("unique_values", "The sorted values of x, each once.", lambda x: onp.unique(x, equal_nan=False))


def extract(condition: Any, arr: Any) -> ndarray:
    """The elements of `arr` where `condition` holds, in one axis; gradients flow to them.

    Examples
    --------
    >>> from gluonx import np
    >>> x = np.array([1.0, 2.0, 3.0])
    >>> np.extract(x > 1, x).tolist()
    [2.0, 3.0]
    """
    places = onp.flatnonzero(on_host("extract", condition))
    return take(ravel(as_leaf(arr)), places.astype(onp.int32))


def compress(condition: Any, a: Any, axis: int | None = None, out: Any = None) -> ndarray:
    """The slices of `a` along an axis where the 1-d `condition` holds; gradients flow to them."""
    places = onp.flatnonzero(on_host("compress", condition)).astype(onp.int32)
    return take(as_leaf(a), places, axis=axis, out=out)


def as_indices(name: str, obj: Any, length: int) -> onp.ndarray:
    """Convert an index (a number, a slice, a sequence, a mask) on an axis of `length` to an array of whole numbers."""
    if isinstance(obj, slice):
        return onp.arange(length)[obj]
    found = onp.asarray(on_host(name, obj))
    if found.dtype == bool:
        return onp.flatnonzero(found)
    return found.astype(onp.int64)


def keep_others(name: str, obj: Any, length: int) -> onp.ndarray:
    """The indices on an axis of `length` that `obj` does not name."""
    return onp.delete(onp.arange(length), as_indices(name, obj, length)).astype(onp.int32)
