"""``mxnet.util`` for ported code: the switches of `gluonx.npx.modes`, environment variables, and wrappers of functions.

The wrappers (``wrap_*``) give a function MXNet's older names of keywords, or its ufuncs' checks.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as onp

from gluonx import np, npx
from gluonx.common.arguments import unexpected
from gluonx.device import num_gpus as get_gpu_count
from gluonx.npx import get_cuda_compute_capability, modes
from gluonx.npx.modes import *  # noqa: F403
from gluonx.npx.modes import is_np_default_dtype

if TYPE_CHECKING:
    from gluonx.device import DeviceLike
    from gluonx.dtype import DTypeLike


__all__ = [
    "default_array",
    "dtype_from_number",
    "get_cuda_compute_capability",
    "get_gpu_count",
    "get_gpu_memory",
    "get_max_supported_compute_capability",
    "getenv",
    "np_ufunc_legal_option",
    "set_flush_denorms",
    "setenv",
    "wrap_data_api_linalg_func",
    "wrap_data_api_statical_func",
    "wrap_np_binary_func",
    "wrap_np_unary_func",
    "wrap_sort_functions",
]
__all__ += modes.__all__


def default_array(source_array: Any, device: DeviceLike = None, dtype: DTypeLike = None) -> np.ndarray:
    """``np.array``, as the older name for it.

    Examples
    --------
    >>> default_array([1, 2]).dtype
    dtype('float32')
    """
    return np.array(source_array, dtype=dtype, device=device)


def get_gpu_memory(gpu_dev_id: int = 0) -> tuple[int, int]:
    """Free and total bytes of a GPU; the older name of :func:`gluonx.npx.gpu_memory_info`."""
    return npx.gpu_memory_info(gpu_dev_id)


def get_max_supported_compute_capability() -> int:
    """Kept for ported code: XLA compiles for every GPU that it knows, so there is no highest one; 0."""
    return 0


def setenv(name: str, value: str | None) -> None:
    """Set an environment variable, or take it away with None; what reads it at once sees the change.

    Examples
    --------
    >>> setenv("GLUONX_EXAMPLE", "1")
    >>> getenv("GLUONX_EXAMPLE")
    '1'
    >>> setenv("GLUONX_EXAMPLE", None)
    >>> getenv("GLUONX_EXAMPLE") is None
    True
    """
    if value is None:
        os.environ.pop(name, None)
    else:
        os.environ[name] = str(value)


def getenv(name: str) -> str | None:
    """Return an environment variable; None if it is not set."""
    return os.environ.get(name)


def set_flush_denorms(value: bool) -> bool:
    """Kept for ported code: how tiny numbers are rounded is XLA's matter. Returns False: nothing was changed."""
    return False


def dtype_from_number(number: Any) -> type:
    """Return the dtype that MXNet gives a number: int64 for whole ones, float32 (or the chosen default) for others.

    Raises
    ------
    TypeError
        If it is no number.
    """
    if isinstance(number, (int, onp.integer)):
        return onp.int64
    if isinstance(number, (float, onp.floating)):
        return onp.float64 if is_np_default_dtype() else onp.float32
    raise TypeError(f"dtype_from_number: a number was expected, got {type(number).__name__}.")


# -- wrappers ---------------------------------------------------------------------------------------------------------

_LEGAL: Mapping[str, tuple[Any, ...]] = {
    "where": (True,),
    "subok": (True,),
    "casting": ("same_kind", "safe", "unsafe", "no", "equiv"),
    "order": ("K", "C", "A", "F"),
    "dtype": tuple(map(onp.dtype, ("float16", "float32", "float64", "int8", "uint8", "int32", "int64"))),
}


def np_ufunc_legal_option(key: str, value: Any) -> bool:
    """Return whether an option of NumPy's ufuncs has a value that MXNet's take.

    Examples
    --------
    >>> np_ufunc_legal_option("casting", "safe"), np_ufunc_legal_option("where", False)
    (True, False)
    """
    if key == "dtype":
        try:
            return value is None or onp.dtype(value) in _LEGAL["dtype"]
        except TypeError:
            return False
    return key in _LEGAL and any(value is legal or (type(value) is str and value == legal) for legal in _LEGAL[key])


def _with_checks(func: Callable[..., Any]) -> Callable[..., Any]:
    """`func`, for which options of ufuncs are checked and taken away."""

    @functools.wraps(func)
    def checked(*args: Any, out: Any = None, **options: Any) -> Any:
        for key, value in options.items():
            if key not in _LEGAL:
                raise unexpected(func.__name__, key, ("out", *_LEGAL))
            if not np_ufunc_legal_option(key, value):
                raise NotImplementedError(f"{func.__name__}: {key}={value!r} is not supported.")
        return func(*args, out=out)

    return checked


wrap_np_unary_func = wrap_np_binary_func = _with_checks


def wrap_data_api_linalg_func(func: Callable[..., Any]) -> Callable[..., Any]:
    """`func` with the older keywords ``rcond`` and ``UPLO`` for ``rtol`` and ``upper``."""

    @functools.wraps(func)
    def renamed(*args: Any, **kwargs: Any) -> Any:
        if "UPLO" in kwargs:
            kwargs["upper"] = kwargs.pop("UPLO") == "U"
        if "rcond" in kwargs or "tol" in kwargs:
            kwargs["rtol"] = kwargs.pop("rcond", kwargs.pop("tol", None))
        return func(*args, **kwargs)

    return renamed


def wrap_data_api_statical_func(func: Callable[..., Any]) -> Callable[..., Any]:
    """`func` with the older keyword ``ddof`` for ``correction``.

    Examples
    --------
    >>> @wrap_data_api_statical_func
    ... def spread(x, correction=0):
    ...     return correction
    >>> spread([1, 2], ddof=1)
    1
    """

    @functools.wraps(func)
    def renamed(*args: Any, **kwargs: Any) -> Any:
        return func(*args, **{"correction" if key == "ddof" else key: value for key, value in kwargs.items()})

    return renamed


def wrap_sort_functions(func: Callable[..., Any]) -> Callable[..., Any]:
    """`func` (with ``descending`` and ``stable``) for callers that name NumPy's ``kind`` and ``order``.

    Raises
    ------
    NotImplementedError
        When called with an `order` of fields.
    """

    @functools.wraps(func)
    def renamed(*args: Any, kind: str | None = None, order: Any = None, **kwargs: Any) -> Any:
        if order is not None:
            raise NotImplementedError(f"{func.__name__}: arrays have no fields to order by.")
        return func(*args, **kwargs)

    return renamed


def __dir__() -> list[str]:
    return sorted(__all__)
