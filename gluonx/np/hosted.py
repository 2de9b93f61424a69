"""Functions whose result's shape depends on values: their input is computed and read, and the work is done by NumPy.

No compiled program can hold them, since its shapes are fixed. Outside a traced block they work like every function,
at the cost of ending the deferred program before them; inside one they raise, and the message names what to use
instead. Where only *indices* depend on values (`extract`, `compress`, a masked pick), the picking itself is an
operator, and gradients flow through it.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import jax
import numpy as onp

from gluonx.arguments import refuse
from gluonx.deferred.core import new_handle
from gluonx.errors import TracedValueError
from gluonx.ndarray import ndarray
from gluonx.np.functions import ravel, take
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
    TracedValueError
        Inside a traced block, where there are no values.
    """
    if isinstance(value, (list, tuple)):
        return type(value)([on_host(name, v) if isinstance(v, ndarray) else v for v in value])
    if not isinstance(value, ndarray):
        return value
    try:
        return value.asnumpy()
    except TracedValueError as error:
        error.add_note(
            f"np.{name} gives an array whose shape depends on values, which a hybridized forward cannot hold. "
            f"Call it outside, or write the same with a mask (np.where(condition, x, 0))."
        )
        raise


def to_device(result: Any, wide: bool = False) -> Any:
    """NumPy's result as ndarrays; tuples and lists keep their kind, float64 becomes float32 unless `wide`."""
    if isinstance(result, (tuple, list)):
        parts = [to_device(r, wide) for r in result]
        return tuple(parts) if isinstance(result, tuple) else parts
    host = onp.asarray(result)
    if host.dtype.kind == "f" and host.dtype.itemsize == 8 and not wide:
        host = host.astype(onp.float32)
    return new_handle(jax.device_put(host))


def is_wide(*values: Any) -> bool:
    """Whether an array of float64 is among them."""
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
        f"{text}\n\nThe parameters are those of ``numpy.{name}``. The input's values are read: outside a traced block "
        "only, and no gradient flows."
    )
    return front


argwhere = _hosted("argwhere", "The indices of elements that are not zero, one row an element.")
flatnonzero = _hosted("flatnonzero", "The flat indices of elements that are not zero.")
histogram2d = _hosted("histogram2d", "How many points fall into each cell, and the edges along both axes.")
histogramdd = _hosted("histogramdd", "How many points fall into each cell, and the edges along each axis.")
intersect1d = _hosted("intersect1d", "The sorted values that two arrays share.")
nonzero = _hosted("nonzero", "The indices of elements that are not zero, one array an axis.")
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
unique_all = _hosted(
    "unique_all", "Unique values, first indices, inverse and counts.", lambda x: tuple(onp.unique_all(x))
)
unique_counts = _hosted(
    "unique_counts", "Unique values and how often each occurs.", lambda x: tuple(onp.unique_counts(x))
)
unique_inverse = _hosted(
    "unique_inverse", "Unique values and the indices that rebuild x.", lambda x: tuple(onp.unique_inverse(x))
)
unique_values = _hosted("unique_values", "The values of x, each once.", lambda x: onp.unique_values(x))


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
    """What an index argument (a number, a slice, a sequence, a mask) means on an axis of `length`, as whole numbers."""
    if isinstance(obj, slice):
        return onp.arange(length)[obj]
    found = onp.asarray(on_host(name, obj))
    if found.dtype == bool:
        return onp.flatnonzero(found)
    return found.astype(onp.int64)


def keep_others(name: str, obj: Any, length: int) -> onp.ndarray:
    """The indices on an axis of `length` that `obj` does not name."""
    return onp.delete(onp.arange(length), as_indices(name, obj, length)).astype(onp.int32)
