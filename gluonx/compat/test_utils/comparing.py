"""Comparisons of arrays that fail by the tolerance of their dtypes, and say where the largest difference is.

Without given tolerances, those of the coarser dtype of the two hold. They are MXNet's: integers have to be equal.
"""

from __future__ import annotations

import numbers
import os
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as onp

from gluonx.compat.util import get_cuda_compute_capability
from gluonx.dtype import bfloat16

if TYPE_CHECKING:
    from gluonx.dtype import DTypeLike


__all__ = [
    "almost_equal",
    "almost_equal_ignore_nan",
    "assert_allclose",
    "assert_almost_equal",
    "assert_almost_equal_ignore_nan",
    "assert_almost_equal_with_err",
    "assert_exception",
    "checkShapes",
    "collapse_sum_like",
    "compare_ndarray_tuple",
    "default_atols",
    "default_dtype",
    "default_numeric_eps",
    "default_rtols",
    "effective_dtype",
    "find_max_violation",
    "get_atol",
    "get_etol",
    "get_rtol",
    "get_tolerance",
    "get_tols",
    "locationError",
    "np_reduce",
    "same",
    "same_array",
]

_EXACT = ("bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64")


def _by_dtype(half: float, single: float, double: float, exact: float | None = 0) -> dict[Any, float]:
    table: dict[Any, float] = {onp.dtype("float16"): half, onp.dtype("float32"): single, onp.dtype("float64"): double}
    if exact is not None:
        table[onp.dtype(bfloat16)] = half
        table.update(dict.fromkeys(map(onp.dtype, _EXACT), exact))
    return table


def default_dtype() -> Any:
    """Return the dtype that tests use where none is said: float32."""
    return onp.float32


def default_rtols() -> dict[Any, float]:
    """Return the relative tolerance for each dtype."""
    return _by_dtype(1e-2, 1e-4, 1e-5)


def default_atols() -> dict[Any, float]:
    """Return the absolute tolerance for each dtype."""
    return _by_dtype(1e-1, 1e-3, 1e-20)


def default_numeric_eps() -> dict[Any, float]:
    """Return the step of finite differences for each dtype; a power of two, which adds without rounding."""
    return _by_dtype(2.0**-6, 2.0**-9, 2.0**-14, None)


def _host(x: Any) -> onp.ndarray:
    return x.asnumpy() if hasattr(x, "asnumpy") else onp.asarray(x)


def effective_dtype(dat: Any) -> onp.dtype:
    """Return the dtype whose tolerance fits: float16 for float32 of a GPU that multiplies in TF32, else the own."""
    dtype = onp.dtype(dat.dtype)
    device = getattr(dat, "device", None)
    if dtype == onp.float32 and getattr(device, "device_type", "") == "gpu":
        if os.environ.get("NVIDIA_TF32_OVERRIDE") != "0" and (get_cuda_compute_capability(device) or 0) >= 80:
            return onp.dtype(onp.float16)
    return dtype


def get_tolerance(dat: Any, tol: Any, default_tol: Mapping[Any, float]) -> float:
    """Return the tolerance for an array: `tol` if it is a number, else its entry for the dtype, or the default's."""
    if isinstance(tol, numbers.Number):
        return tol  # type: ignore[return-value]
    dtype = effective_dtype(dat)
    given = {onp.dtype(key): value for key, value in (tol or {}).items()}
    if dtype not in given and dtype not in default_tol:
        raise ValueError(f"there is no default tolerance for {dtype}: give rtol and atol")
    return given[dtype] if dtype in given else default_tol[dtype]


def get_tols(x: Any, y: Any, rtol: float | None, atol: float | None) -> tuple[float, float]:
    """Return both tolerances for a comparison: each the larger one of the two arrays."""
    x, y = [v if hasattr(v, "dtype") else onp.asarray(v) for v in (x, y)]
    rtols, atols = default_rtols(), default_atols()
    return (
        max(get_tolerance(x, rtol, rtols), get_tolerance(y, rtol, rtols)),
        max(get_tolerance(x, atol, atols), get_tolerance(y, atol, atols)),
    )


def get_atol(atol: float | None = None, dtype: DTypeLike = "float64") -> float:
    """Return `atol`, or the default one of a dtype."""
    return default_atols()[onp.dtype(dtype)] if atol is None else atol


def get_rtol(rtol: float | None = None, dtype: DTypeLike = "float64") -> float:
    """Return `rtol`, or the default one of a dtype."""
    return default_rtols()[onp.dtype(dtype)] if rtol is None else rtol


def get_etol(etol: float | None = None) -> float:
    """Return `etol`, the share of elements that may differ, or 0."""
    return 0 if etol is None else etol


def same(a: Any, b: Any) -> bool:
    """Return whether two arrays are equal in shape and in every element."""
    return onp.array_equal(_host(a), _host(b))


def checkShapes(a: Any, b: Any) -> None:
    """AssertionError if the shapes of two arrays differ."""
    if onp.shape(a) != onp.shape(b):
        raise AssertionError(f"the shapes differ: {onp.shape(a)} and {onp.shape(b)}")


class _Compared:
    """Two arrays on the host, their tolerances, and where they differ by more."""

    def __init__(
        self, a: Any, b: Any, rtol: float | None, atol: float | None, equal_nan: bool, use_broadcast: bool = True
    ) -> None:
        self.rtol, self.atol = get_tols(a, b, rtol, atol)
        if not use_broadcast:
            checkShapes(a, b)
        self.a, self.b = onp.broadcast_arrays(_wide(_host(a)), _wide(_host(b)))
        with onp.errstate(all="ignore"):
            self.close = onp.isclose(self.a, self.b, rtol=self.rtol, atol=self.atol, equal_nan=equal_nan)

    @property
    def wrong(self) -> int:
        return int(self.close.size - onp.count_nonzero(self.close))

    def violation(self) -> onp.ndarray:
        """Return the difference of each element in multiples of its tolerance; at most 1 where it is close enough."""
        with onp.errstate(all="ignore"):
            found = onp.abs(self.a - self.b) / (self.atol + self.rtol * onp.abs(self.b) + 1e-20)
        found = onp.where(onp.isnan(found), onp.inf, found)
        return onp.where(self.close, onp.minimum(found, 1), found)

    def text(self, names: Sequence[str], mismatches: Sequence[int] = (10, 10)) -> str:
        found = self.violation()
        worst = onp.unravel_index(int(onp.argmax(found)), found.shape)
        lines = [
            f"{names[0]} and {names[1]} differ in {self.wrong} of {self.close.size} elements by more than "
            f"rtol={self.rtol} and atol={self.atol} allow, at most {found[worst]:.6g} times as much: "
            f"at {tuple(map(int, worst))} {names[0]} is {self.a[worst]!r} and {names[1]} is {self.b[worst]!r}"
        ]
        for place in onp.argwhere(~self.close)[: max(mismatches[-1], 0)]:
            at = tuple(place.tolist())
            lines.append(f"  {at}: {self.a[at]!r}  {self.b[at]!r}")
        return "\n".join(lines)


def _wide(x: onp.ndarray) -> onp.ndarray:
    """Return the array in a dtype in which differences neither round nor wrap around."""
    if x.dtype.kind in "iub":
        return x.astype(onp.float64) if x.dtype.itemsize < 8 else x.astype(onp.longdouble)
    return x.astype(onp.float64) if x.dtype.kind not in "fc" or x.dtype.itemsize < 8 else x


def find_max_violation(
    a: Any, b: Any, rtol: float | None = None, atol: float | None = None
) -> tuple[tuple[int, ...], float]:
    """Return the place at which two arrays differ most, and how many times the tolerance that is."""
    found = _Compared(a, b, rtol, atol, False).violation()
    place = onp.unravel_index(int(onp.argmax(found)), found.shape)
    return tuple(int(i) for i in place), float(found[place])


def locationError(a: Any, b: Any, index: Any, names: Sequence[str], maxError: bool = False) -> str:
    """Return a text with the values of two arrays at a place."""
    what = "maximum error" if maxError else "error"
    return f"Location of {what}: {index}, {names[0]}={_host(a)[index]:.8f}, {names[1]}={_host(b)[index]:.8f}"


def almost_equal(
    a: Any,
    b: Any,
    rtol: float | None = None,
    atol: float | None = None,
    equal_nan: bool = False,
    use_broadcast: bool = True,
) -> bool:
    """Return whether ``|a - b| <= atol + rtol * |b|`` in every element.

    Parameters
    ----------
    a, b : array-like
    rtol, atol : float, or dict of dtype to float
        By default 1e-5 and 1e-20, whatever the dtypes; `assert_almost_equal` goes by these.
    equal_nan : bool
        Whether NaN equals NaN.
    use_broadcast : bool
        Whether shapes may differ.

    Examples
    --------
    >>> almost_equal(onp.float32([1, 2]), onp.float32([1, 2.00001])), almost_equal([1, 2], [1, 3])
    (True, False)
    """
    return _Compared(a, b, get_rtol(rtol), get_atol(atol), equal_nan, use_broadcast).wrong == 0


def assert_almost_equal(
    a: Any,
    b: Any,
    rtol: float | None = None,
    atol: float | None = None,
    names: Sequence[str] = ("a", "b"),
    equal_nan: bool = False,
    use_broadcast: bool = True,
    mismatches: Sequence[int] = (10, 10),
) -> None:
    """AssertionError if arrays differ by more than the tolerances, by default those of the coarser dtype.

    The message tells the number of wrong elements and shows the worst and the first of them. Parameters are those of
    `almost_equal`; `names` are used in the message, which shows at most ``mismatches[-1]`` elements.
    """
    found = _Compared(a, b, rtol, atol, equal_nan, use_broadcast)
    if found.wrong:
        raise AssertionError(found.text(names, mismatches))


def assert_allclose(a: Any, b: Any, rtol: float = 1e-07, atol: float = 0, equal_nan: bool = True) -> None:
    """`assert_almost_equal` with the tolerances of ``numpy.testing.assert_allclose``."""
    assert_almost_equal(a, b, rtol, atol, equal_nan=equal_nan)


def assert_almost_equal_with_err(
    a: Any,
    b: Any,
    rtol: float | None = None,
    atol: float | None = None,
    etol: float | None = None,
    names: Sequence[str] = ("a", "b"),
    equal_nan: bool = False,
    mismatches: Sequence[int] = (10, 10),
) -> None:
    """AssertionError if more than the share `etol` of the elements differ."""
    found = _Compared(a, b, rtol, atol, equal_nan)
    if found.wrong > get_etol(etol) * found.close.size:
        raise AssertionError(found.text(names, mismatches))


def _without_nans(a: onp.ndarray, b: onp.ndarray) -> tuple[onp.ndarray, onp.ndarray]:
    a, b = onp.array(_host(a)), onp.array(_host(b))
    gone = onp.isnan(a) | onp.isnan(b)
    a[gone] = b[gone] = 0
    return a, b


def almost_equal_ignore_nan(a: Any, b: Any, rtol: float | None = None, atol: float | None = None) -> bool:
    """Return `almost_equal`, leaving elements out that are NaN in either array."""
    return almost_equal(*_without_nans(a, b), rtol, atol)


def assert_almost_equal_ignore_nan(
    a: Any, b: Any, rtol: float | None = None, atol: float | None = None, names: Sequence[str] = ("a", "b")
) -> None:
    """`assert_almost_equal`, leaving elements out that are NaN in either array."""
    assert_almost_equal(*_without_nans(a, b), rtol, atol, names)


def assert_exception(f: Callable[..., Any], exception_type: type[BaseException], *args: Any, **kwargs: Any) -> None:
    """AssertionError unless ``f(*args, **kwargs)`` raises an exception of that type; others go through."""
    try:
        f(*args, **kwargs)
    except exception_type:
        return
    raise AssertionError(f"{getattr(f, '__name__', f)} did not raise {exception_type.__name__}")


def compare_ndarray_tuple(t1: Any, t2: Any, rtol: float | None = None, atol: float | None = None) -> None:
    """`assert_almost_equal` of arrays in nested tuples or lists; AssertionError if these differ.

    An array and None may stand against each other, as in the states of optimizers.
    """
    if t1 is None or t2 is None:
        return
    if isinstance(t1, (tuple, list)) or isinstance(t2, (tuple, list)):
        if not (isinstance(t1, (tuple, list)) and isinstance(t2, (tuple, list)) and len(t1) == len(t2)):
            raise AssertionError(f"the structures differ: {t1!r} and {t2!r}")
        for one, other in zip(t1, t2, strict=True):
            compare_ndarray_tuple(one, other, rtol, atol)
        return
    assert_almost_equal(t1, t2, rtol, atol)


def same_array(array1: Any, array2: Any) -> bool:
    """Return whether what is written to the first array is seen in the second. Both are left as they were."""
    if array1.shape != array2.shape:
        return False
    before = array1.copy()
    array1[:] = before + 1
    shared = same(array1, array2)
    array1[:] = before
    return shared and same(array1, array2)


def np_reduce(dat: Any, axis: Any, keepdims: bool, numpy_reduce_func: Callable[..., Any]) -> Any:
    """Return NumPy's reduction over an axis or several, for functions that take one axis only."""
    axes = range(dat.ndim) if axis is None else [axis] if isinstance(axis, int) else axis
    for one in sorted((a % dat.ndim for a in axes), reverse=True):
        dat = numpy_reduce_func(dat, axis=one)
        if keepdims:
            dat = onp.expand_dims(dat, one)
    return dat


def collapse_sum_like(a: Any, shape: Sequence[int]) -> Any:
    """Return the sum of `a` over the axes along which `shape` was broadcast: the gradient of broadcasting."""
    shape = tuple(shape)
    lead = a.ndim - len(shape)
    if lead < 0 or any(n not in (1, m) for n, m in zip(shape, a.shape[lead:], strict=True)):
        raise ValueError(f"an array of shape {shape} does not broadcast to {a.shape}")
    along = tuple(range(lead)) + tuple(lead + i for i, n in enumerate(shape) if n == 1 != a.shape[lead + i])
    return onp.sum(a, axis=along, keepdims=True).reshape(shape) if along else a
