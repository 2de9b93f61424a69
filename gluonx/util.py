"""``mxnet.util`` for ported code: switches between array semantics that have nothing to switch here.

The decorators give back what they decorate, the scopes do nothing: NumPy's semantics are the only ones. Asking for
NumPy's float64 as the default dtype is an error, as in :func:`gluonx.npx.set_np`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

import jax

from gluonx import np, npx
from gluonx.deferred.core import ever_ran
from gluonx.device import num_gpus as get_gpu_count
from gluonx.errors import GluonxError
from gluonx.npx import (
    get_cuda_compute_capability,
    is_np_array,
    is_np_default_dtype,
    is_np_shape,
    reset_np,
    set_np,
    set_np_default_dtype,
    set_np_shape,
)

__all__ = [
    "default_array",
    "get_cuda_compute_capability",
    "get_gpu_count",
    "get_gpu_memory",
    "is_np_array",
    "is_np_default_dtype",
    "is_np_shape",
    "is_x64",
    "np_array",
    "np_default_dtype",
    "np_shape",
    "reset_np",
    "set_np",
    "set_np_default_dtype",
    "set_np_shape",
    "set_x64",
    "use_np",
    "use_np_array",
    "use_np_default_dtype",
    "use_np_shape",
]

Decorated = TypeVar("Decorated", bound=Callable[..., Any])


def use_np(func: Decorated) -> Decorated:
    """The function or class as it is: NumPy's semantics are on already.

    Examples
    --------
    >>> @use_np
    ... def double(x):
    ...     return x * 2
    >>> double(2)
    4
    """
    return func


def use_np_array(func: Decorated) -> Decorated:
    """The function or class as it is: arrays are NumPy-like already."""
    return func


def use_np_shape(func: Decorated) -> Decorated:
    """The function or class as it is: shapes have NumPy's semantics already."""
    return func


def use_np_default_dtype(func: Callable[..., Any]) -> Callable[..., Any]:
    """Always an error: float32 is the default dtype.

    Raises
    ------
    ValueError
        Always; see :func:`gluonx.npx.set_np_default_dtype`.
    """
    set_np_default_dtype(True)
    return func


@contextmanager
def np_array(active: bool = True) -> Iterator[None]:
    """A scope that changes nothing, whatever `active` is: arrays are NumPy-like."""
    yield


@contextmanager
def np_shape(active: bool = True) -> Iterator[None]:
    """A scope that changes nothing, whatever `active` is: shapes have NumPy's semantics."""
    yield


@contextmanager
def np_default_dtype(active: bool = True) -> Iterator[None]:
    """A scope that changes nothing.

    Raises
    ------
    ValueError
        If `active`, on entering; see :func:`gluonx.npx.set_np_default_dtype`.
    """
    set_np_default_dtype(active)
    yield


def is_x64() -> bool:
    """Whether 64-bit floats and integers exist in this process."""
    return bool(jax.config.jax_enable_x64)  # type: ignore[attr-defined]


def set_x64(active: bool = True) -> None:
    """Lets 64-bit floats and integers exist in this process; the environment variable ``GLUONX_X64=1`` does the same.

    The default dtype stays float32: a float64 array is one that was asked for, or comes of one.

    Raises
    ------
    GluonxError
        If that changes something after operators were recorded: what is known of programs so far would be wrong.

    Examples
    --------
    >>> set_x64(is_x64())
    """
    if bool(active) == is_x64():
        return
    if ever_ran():
        raise GluonxError(
            "set_x64() comes too late: operators were recorded in this process already. Call it right after "
            "importing gluonx, or set GLUONX_X64=1 in the environment."
        )
    jax.config.update("jax_enable_x64", bool(active))


def default_array(source_array: Any, device: Any = None, dtype: Any = None) -> np.ndarray:
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
