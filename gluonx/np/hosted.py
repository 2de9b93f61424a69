"""Functions whose result's shape depends on values: their inputs are computed and read, and NumPy does the work.

No compiled program can contain them, since its shapes are fixed. They work like every function, but end the deferred
program before them; a hybridized block that meets one runs un-hybridized. In other traces (exports, bodies of loops)
they raise, and the message names what to use instead. If only *indices* depend on values (`extract`, `compress`, a
masked pick), the picking itself is an operator, and gradients flow through it.

Functions that have ``size=`` and ``fill_value=`` in JAX have them here. With a size, the result has that many
positions: unused ones are filled, elements beyond are dropped, and the function is an operator like any other.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import jax.numpy as jnp
import numpy as onp
from numpy.typing import ArrayLike

from gluonx.common.arguments import Size, refuse
from gluonx.common.host import copied
from gluonx.deferred import invoke
from gluonx.deferred.operators.derived import DerivedOp
from gluonx.deferred.values import program_cache
from gluonx.deferred.values.core import new_handle
from gluonx.dtype import on_device
from gluonx.errors import ArgumentError
from gluonx.np.functions import ravel, take
from gluonx.np.handle import host_value, ndarray
from gluonx.np.wrapping import as_leaf, as_static, write_out

if TYPE_CHECKING:
    import jax


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


def on_host(name: str, value: object) -> Any:
    """Return `value` as a NumPy array, for the function `name`.

    Raises
    ------
    DynamicShapeError
        Inside a traced forward, where there are no values. A hybridized block runs un-hybridized then.
    """
    if isinstance(value, (list, tuple)):
        return type(value)([on_host(name, v) if isinstance(v, ndarray) else v for v in value])
    return host_value(value, f"np.{name}") if isinstance(value, ndarray) else value


def to_device(result: object, wide: bool = False) -> Any:
    """Return NumPy's result as ndarrays; tuples and lists keep their type, float64 becomes float32 unless `wide`."""
    if isinstance(result, (tuple, list)):
        parts = [to_device(r, wide) for r in result]
        if not isinstance(result, tuple):
            return parts
        return type(result)(*parts) if hasattr(result, "_fields") else tuple(parts)
    host = onp.asarray(result)
    if host.dtype.kind == "f" and host.dtype.itemsize == 8 and not wide:
        host = host.astype(onp.float32)
    return new_handle(on_device(copied(host)))  # a copy, because it may be a view of the argument


def is_wide(*values: ArrayLike) -> bool:
    """Return whether one of the arrays is float64."""
    return any(isinstance(v, ndarray) and v.dtype == onp.float64 for v in values)


_ARRAYS = frozenset(["a", "ar", "ar1", "ar2", "arr", "condition", "x"])


def sized(name: str, arguments: dict[str, Any], size: Size | None, fill_value: ArrayLike | None) -> Any:
    """Return the result of the function `name` of ``jax.numpy`` with `size` positions.

    Raises
    ------
    ArgumentError
        If `size` is not an integer, or negative.
    """
    size = as_static("size", size)
    if isinstance(size, bool) or not isinstance(size, int) or size < 0:
        raise ArgumentError(f"np.{name}: size must be a whole number of at least 0, got {size!r}.")
    arrays = {key: as_leaf(value) for key, value in arguments.items() if key in _ARRAYS}
    options = {key: as_static(key, value) for key, value in arguments.items() if key not in _ARRAYS}
    options |= {"size": size} | ({} if fill_value is None else {"fill_value": as_static("fill_value", fill_value)})
    if name == "nonzero":
        arrays = {key: value if onp.shape(value) else ravel(value) for key, value in arrays.items()}
    if name == "unique" and options.get("axis", 0) is None:
        del options["axis"]
    return _as_numpy_gives(name, options, invoke(_sized_op(name, (*arrays,), (*options.items(),)), (*arrays.values(),)))


@program_cache.once
def _sized_op(name: str, arrays: tuple[str, ...], options: tuple[tuple[str, Any], ...]) -> DerivedOp:
    compute, known = getattr(jnp, name), dict(options)

    def run(*values: ArrayLike) -> jax.Array | tuple[jax.Array, ...]:
        # The parameters of these are positional-only.
        if name in ("unique_all", "unique_counts", "unique_inverse", "unique_values"):
            found = compute(*values, **known)
        else:
            found = compute(**dict(zip(arrays, values, strict=True)), **known)
        return tuple(found) if isinstance(found, (tuple, list)) else found

    op = DerivedOp(f"np.{name}", run, wide=name not in _OF_VALUES)  # indices are int64, as in NumPy
    op.steady = True
    return op


_OF_VALUES = frozenset(["compress", "extract", "setdiff1d", "setxor1d", "union1d", "unique_values"])


def _as_numpy_gives(name: str, options: dict[str, Any], found: Any) -> Any:
    if name in _NAMED:
        return _NAMED[name](*found)
    if name == "unique" and options.get("return_inverse"):  # see _unique
        where = 2 if options.get("return_index") else 1
        return (*found[:where], ravel(found[where]), *found[where + 1 :])
    return found


def _hosted(
    name: str,
    text: str,
    fn: Callable[..., Any] | None = None,
    fits: bool = False,
    gives: tuple[str, str] | None = None,
    example: tuple[str, str] | None = None,
) -> Callable[..., Any]:
    """Return the function `name` that NumPy computes.

    `text` begins its documentation; `gives` is the type and text of its result, `example` a call and what it shows.
    """
    compute = fn or getattr(onp, name)
    signature = inspect.signature(compute)
    if fits:
        more = [inspect.Parameter(key, inspect.Parameter.KEYWORD_ONLY, default=None) for key in ("size", "fill_value")]
        shown = signature.replace(parameters=[*signature.parameters.values(), *more])
    else:
        shown = signature

    def front(*args: ndarray, **kwargs: Any) -> Any:
        if fits and kwargs.get("size") is not None:
            size, fill_value = kwargs.pop("size"), kwargs.pop("fill_value", None)
            refuse(f"np.{name}", set(kwargs).difference(signature.parameters), shown.parameters)
            return sized(name, signature.bind(*args, **kwargs).arguments, size, fill_value)
        if fits and (kwargs.pop("size", None), kwargs.pop("fill_value", None))[1] is not None:
            raise ArgumentError(f"np.{name}: fill_value says what fills the positions of a size; give size= too.")
        if kwargs:
            refuse(f"np.{name}", set(kwargs).difference(signature.parameters), shown.parameters)
        read = {k: on_host(name, v) for k, v in kwargs.items()}
        return to_device(compute(*[on_host(name, a) for a in args], **read), is_wide(*args, *kwargs.values()))

    front.__name__ = front.__qualname__ = name
    front.__signature__ = shown  # type: ignore[attr-defined]
    front.__doc__ = (
        f"{text}\n\nThe parameters are those of ``numpy.{name}``. The input's values are read, and no gradient flows."
    ) + (_SIZED if fits else "")
    if gives is not None:
        front.__doc__ = f"{front.__doc__.rstrip()}\n\nReturns\n-------\n{gives[0]}\n    {gives[1]}\n"
    if example is not None:
        shown_call = f">>> from gluonx import np\n>>> {example[0]}\n{example[1]}\n"
        front.__doc__ = f"{front.__doc__.rstrip()}\n\nExamples\n--------\n{shown_call}"
    return front


_SIZED = """

With ``size=`` nothing is read: the result has so many elements, also in a hybridized block. Unused ones are
``fill_value=`` (with the default of ``jax.numpy``), and elements beyond the size are dropped.
"""


argwhere = _hosted(
    "argwhere",
    "The indices of elements that are not zero, one row an element.",
    fits=True,
    gives=("ndarray", "Of shape ``(found, axes)``, int64."),
    example=("np.argwhere(np.array([[0, 2], [3, 0]])).tolist()", "[[0, 1], [1, 0]]"),
)
flatnonzero = _hosted(
    "flatnonzero",
    "The flat indices of elements that are not zero.",
    fits=True,
    gives=("ndarray", "Of shape ``(found,)``, int64."),
    example=("np.flatnonzero(np.array([[0, 2], [3, 0]])).tolist()", "[1, 2]"),
)
histogram2d = _hosted(
    "histogram2d",
    "The numbers of points that fall into each cell, and the edges along both axes.",
    gives=("tuple of ndarray", "The counts, of shape ``(bins, bins)``, and the edges along both axes."),
    example=("np.histogram2d(np.array([0.0, 1.0]), np.array([0.0, 1.0]), 2)[0].tolist()", "[[1.0, 0.0], [0.0, 1.0]]"),
)
histogramdd = _hosted(
    "histogramdd",
    "The numbers of points that fall into each cell, and the edges along each axis.",
    gives=("tuple", "The counts, with an axis for each dimension, and the list of edges."),
    example=("np.histogramdd(np.array([[0.0, 0.0], [1.0, 1.0]]), 2)[0].tolist()", "[[1.0, 0.0], [0.0, 1.0]]"),
)
intersect1d = _hosted(
    "intersect1d",
    "The sorted values that two arrays share.",
    fits=True,
    gives=("ndarray", "A vector; with `return_indices` a tuple, the positions in both arrays after it."),
    example=("np.intersect1d(np.array([3, 1, 2]), np.array([2, 3, 5])).tolist()", "[2.0, 3.0]"),
)
nonzero = _hosted(
    "nonzero",
    "The indices of elements that are not zero, one array an axis. A number counts as a vector of one.",
    lambda a: onp.nonzero(onp.atleast_1d(a)),
    fits=True,
    gives=("tuple of ndarray", "A vector of positions for each axis, int64."),
    example=("[axis.tolist() for axis in np.nonzero(np.array([[0, 2], [3, 0]]))]", "[[0, 1], [1, 0]]"),
)
polydiv = _hosted(
    "polydiv",
    "Quotient and remainder of two polynomials.",
    gives=("tuple of ndarray", "The coefficients of quotient and remainder."),
    example=(
        "[part.tolist() for part in np.polydiv(np.array([1.0, 3.0, 2.0]), np.array([1.0, 1.0]))]",
        "[[1.0, 2.0], [0.0]]",
    ),
)
polyfit = _hosted(
    "polyfit",
    "The polynomial that fits points best in the sense of least squares.",
    gives=(
        "ndarray",
        "Of shape ``(deg + 1,)``, the highest power first; with `full` or `cov` a tuple that begins with it.",
    ),
    example=("np.polyfit(np.array([0.0, 1.0, 2.0]), np.array([1.0, 3.0, 5.0]), 1).round(3).tolist()", "[2.0, 1.0]"),
)
roots = _hosted(
    "roots",
    "The roots of a polynomial.",
    gives=("ndarray", "A vector, complex where a root is."),
    example=("np.roots(np.array([1.0, 0.0, -4.0])).tolist()", "[-2.0, 2.0]"),
)
setdiff1d = _hosted(
    "setdiff1d",
    "The sorted values of one array that another does not hold.",
    fits=True,
    gives=("ndarray", "A vector."),
    example=("np.setdiff1d(np.array([3, 1, 2]), np.array([2])).tolist()", "[1.0, 3.0]"),
)
setxor1d = _hosted(
    "setxor1d",
    "The sorted values that just one of two arrays holds.",
    fits=True,
    gives=("ndarray", "A vector."),
    example=("np.setxor1d(np.array([1, 2]), np.array([2, 3])).tolist()", "[1.0, 3.0]"),
)
trim_zeros = _hosted(
    "trim_zeros",
    "A vector without the zeros at its ends.",
    gives=("ndarray", "A part of the vector."),
    example=("np.trim_zeros(np.array([0, 1, 0, 2, 0])).tolist()", "[1.0, 0.0, 2.0]"),
)
union1d = _hosted(
    "union1d",
    "The sorted values that either of two arrays holds.",
    fits=True,
    gives=("ndarray", "A vector."),
    example=("np.union1d(np.array([1, 2]), np.array([2, 3])).tolist()", "[1.0, 2.0, 3.0]"),
)


def _unique(
    ar: onp.ndarray,
    return_index: bool = False,
    return_inverse: bool = False,
    return_counts: bool = False,
    axis: int | None = None,
) -> onp.ndarray | tuple[onp.ndarray, ...]:
    found = onp.unique(ar, return_index, return_inverse, return_counts, axis)
    if not return_inverse:
        return found
    where = 2 if return_index else 1  # the inverse has one axis, even for arrays with more (NumPy 2 keeps their shape)
    return (*found[:where], found[where].reshape(-1), *found[where + 1 :])


unique = _hosted(
    "unique",
    "The sorted values of an array, each once.",
    _unique,
    fits=True,
    gives=(
        "ndarray or tuple of ndarray",
        "The values; after them the first indices, inverse and counts that are asked for.",
    ),
    example=("np.unique(np.array([2, 1, 2])).tolist()", "[1.0, 2.0]"),
)


def _bincount(x: onp.ndarray, weights: ArrayLike | None = None, minlength: int = 0) -> onp.ndarray:
    numbers = onp.asarray(x)
    weighed = None if weights is None else onp.asarray(weights)
    counts = onp.bincount(numbers.astype(onp.int64), weighed, minlength)
    if weighed is not None:
        return counts.astype(weighed.dtype)
    # Counts have the dtype of the input, as in MXNet, unless that is too narrow for them.
    return counts.astype(onp.promote_types(numbers.dtype, onp.int32)) if numbers.dtype.kind in "iu" else counts


bincount = _hosted(
    "bincount",
    "The number of times that each whole number occurs.",
    _bincount,
    gives=("ndarray", "Of shape ``(max(x) + 1,)``, or ``(minlength,)`` if that is longer."),
    example=("np.bincount(np.array([0, 2, 2])).tolist()", "[1, 0, 2]"),
)


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


def _unique_all(x: ArrayLike) -> UniqueAll:
    values, indices, inverse, counts = onp.unique(x, True, True, True, equal_nan=False)
    return UniqueAll(values, indices, inverse.reshape(onp.shape(x)), counts)


def _unique_inverse(x: ArrayLike) -> UniqueInverse:
    values, inverse = onp.unique(x, return_inverse=True, equal_nan=False)
    return UniqueInverse(values, inverse.reshape(onp.shape(x)))


# The values are sorted, as in MXNet and NumPy up to 2.2 (later versions return them in any order). Each NaN counts as a
# separate value.
unique_all = _hosted(
    "unique_all",
    "The sorted values, where each stands first, the indices that rebuild x, and counts.",
    _unique_all,
    fits=True,
    gives=("UniqueAll", "Vectors, but for the indices that rebuild x, which are of its shape."),
    example=("np.unique_all(np.array([2, 1, 2])).indices.tolist()", "[1, 0]"),
)
unique_counts = _hosted(
    "unique_counts",
    "The sorted values of x and how often each occurs.",
    lambda x: UniqueCounts(*onp.unique(x, return_counts=True, equal_nan=False)),
    fits=True,
    gives=("UniqueCounts", "Vectors: the values, and how often each occurs."),
    example=("np.unique_counts(np.array([2, 1, 2])).counts.tolist()", "[1, 2]"),
)
unique_inverse = _hosted(
    "unique_inverse",
    "The sorted values of x and the indices that rebuild x from them.",
    _unique_inverse,
    fits=True,
    gives=("UniqueInverse", "The values, a vector, and the indices, of the shape of x."),
    example=("np.unique_inverse(np.array([2, 1, 2])).inverse_indices.tolist()", "[1, 0, 1]"),
)
unique_values = _hosted(
    "unique_values",
    "The sorted values of x, each once.",
    lambda x: onp.unique(x, equal_nan=False),
    fits=True,
    gives=("ndarray", "A vector."),
    example=("np.unique_values(np.array([2, 1, 2])).tolist()", "[1.0, 2.0]"),
)


_NAMED: dict[str, Any] = {
    "unique_all": UniqueAll,
    "unique_counts": UniqueCounts,
    "unique_inverse": UniqueInverse,
}


def extract(
    condition: ArrayLike, arr: ArrayLike, *, size: int | None = None, fill_value: ArrayLike | None = None
) -> ndarray:
    """Return the elements of `arr` where `condition` is True, as a vector; gradients flow to them.

    With a `size`, the result has so many elements, the unused ones `fill_value` (0), also in a hybridized block.

    Returns
    -------
    ndarray
        A vector; of the dtype of `arr`.

    Examples
    --------
    >>> from gluonx import np
    >>> x = np.array([1.0, 2.0, 3.0])
    >>> np.extract(x > 1, x).tolist()
    [2.0, 3.0]
    """
    if size is not None:
        return sized("extract", {"condition": condition, "arr": arr}, size, fill_value)
    positions = onp.flatnonzero(on_host("extract", condition))
    return take(ravel(as_leaf(arr)), positions.astype(onp.int32))


def compress(
    condition: ArrayLike,
    a: ArrayLike,
    axis: int | None = None,
    out: ndarray | None = None,
    *,
    size: int | None = None,
    fill_value: ArrayLike | None = None,
) -> ndarray:
    """Return the slices of `a` along an axis where the 1-d `condition` is True; gradients flow to them.

    With a `size`, the result has so many slices, the unused ones filled with `fill_value` (0), also in a hybridized
    block: a boolean mask of fixed shape.

    Returns
    -------
    ndarray
        Of the shape of `a`, shorter along `axis`; a vector where that is None.

    Examples
    --------
    >>> from gluonx import np
    >>> x = np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    >>> np.compress(x[:, 0] > 2, x, axis=0, size=3).tolist()
    [[3.0, 4.0], [5.0, 6.0], [0.0, 0.0]]
    """
    if size is not None:
        found = sized("compress", {"condition": condition, "a": a, "axis": axis}, size, fill_value)
        return found if out is None else write_out("compress", out, found)
    positions = onp.flatnonzero(on_host("compress", condition)).astype(onp.int32)
    return take(as_leaf(a), positions, axis=axis, out=out)


def as_indices(name: str, obj: ArrayLike, length: int) -> onp.ndarray:
    """Return an index (a number, a slice, a sequence, a mask) on an axis of `length` as an array of integers."""
    if isinstance(obj, slice):
        return onp.arange(length)[obj]
    found = onp.asarray(on_host(name, obj))
    if found.dtype == bool:
        return onp.flatnonzero(found)
    return found.astype(onp.int64)
