"""MXNet's switches between array semantics, as functions, scopes and decorators.

NumPy's shapes and arrays are the only ones here, so of the three switches two are taken and mean nothing. The third is
real: with :func:`set_np_default_dtype` what is made without a dtype is float64 (and ``arange`` int64), as in NumPy. It
holds for the thread, or for a scope.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

import jax

from gluonx import dtype as _dtype
from gluonx.common import process
from gluonx.common.arguments import written
from gluonx.deferred.values.core import ever_ran
from gluonx.errors import GluonxError

Decorated = TypeVar("Decorated", bound=Callable[..., Any])


def is_x64() -> bool:
    """Return whether JAX's x64 switch is on in this process; gluonx itself has 64-bit types either way."""
    return bool(jax.config.jax_enable_x64)  # type: ignore[attr-defined]


def set_x64(active: bool = True) -> None:
    """Switch JAX's own x64 switch, for raw ``jax.numpy`` code; the environment variable ``GLUONX_X64=1`` does it too.

    gluonx needs it for nothing: its arrays have 64-bit types where they were asked for, or come of one.

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
    process.set_x64(bool(active))


def set_np(shape: bool = True, array: bool = True, dtype: bool = False) -> None:
    """Accept NumPy's semantics, which are the only ones; `dtype` chooses NumPy's default dtypes too.

    Parameters
    ----------
    shape, array : bool
        Taken for compatibility.
    dtype : bool
        Whether arrays that are made without a dtype are float64; see :func:`set_np_default_dtype`.

    Raises
    ------
    ValueError
        For arrays of NumPy's semantics without its shapes, as in MXNet.

    Examples
    --------
    >>> from gluonx import np, npx
    >>> npx.set_np(dtype=True)
    >>> np.ones(2).dtype
    dtype('float64')
    >>> npx.reset_np()
    >>> np.ones(2).dtype
    dtype('float32')
    """
    if array and not shape:
        raise ValueError("set_np: NumPy's arrays need NumPy's shapes; shape=False goes with array=False only.")
    set_np_default_dtype(dtype)


def reset_np() -> None:
    """Make float32 the default dtype again; shapes and arrays have NumPy's semantics always.

    Examples
    --------
    >>> from gluonx import np, npx
    >>> npx.set_np(dtype=True)
    >>> npx.reset_np()
    >>> np.ones(2).dtype
    dtype('float32')
    """
    set_np_default_dtype(False)


def set_np_shape(active: bool = True) -> bool:
    """Do nothing, for ported code: shapes have NumPy's semantics always.

    Returns
    -------
    bool
        The state before, which is True.

    Examples
    --------
    >>> from gluonx import npx
    >>> npx.set_np_shape(True)
    True
    """
    return True


def set_np_default_dtype(is_np_default_dtype: bool = True) -> bool:
    """Make float64 the dtype of arrays that are made without one, as in NumPy, or (False) float32, as in MXNet.

    Returns
    -------
    bool
        The state before.


    Examples
    --------
    >>> from gluonx import np, npx
    >>> before = npx.set_np_default_dtype(True)
    >>> np.ones(2).dtype
    dtype('float64')
    >>> npx.set_np_default_dtype(before)
    True
    """
    before = _dtype.wide_default.get()
    _dtype.wide_default.set(bool(is_np_default_dtype))
    return before


def is_np_array() -> bool:
    """Return True: arrays have NumPy's semantics.

    Returns
    -------
    bool

    Examples
    --------
    >>> from gluonx import npx
    >>> npx.is_np_array()
    True
    """
    return True


def is_np_shape() -> bool:
    """Return True: shapes have NumPy's semantics.

    Returns
    -------
    bool

    Examples
    --------
    >>> from gluonx import npx
    >>> npx.is_np_shape()
    True
    """
    return True


def is_np_default_dtype() -> bool:
    """Return whether what is made without a dtype is float64 (False: float32).

    Returns
    -------
    bool

    Examples
    --------
    >>> from gluonx import npx
    >>> npx.is_np_default_dtype()
    False
    """
    return _dtype.wide_default.get()


@contextmanager
def np_array(active: bool = True) -> Iterator[None]:
    """Open a scope that changes nothing, whatever `active` is: arrays are NumPy-like.

    Examples
    --------
    >>> from gluonx import np
    >>> with np_array(False):
    ...     type(np.ones(2)) is np.ndarray
    True
    """
    yield


@contextmanager
def np_shape(active: bool = True) -> Iterator[None]:
    """Open a scope that changes nothing, whatever `active` is: shapes have NumPy's semantics.

    Examples
    --------
    >>> from gluonx import np
    >>> with np_shape(False):
    ...     np.ones(()).shape
    ()
    """
    yield


@contextmanager
def np_default_dtype(active: bool = True) -> Iterator[None]:
    """Open a scope with :func:`set_np_default_dtype`, which leaves the state as it was.

    Examples
    --------
    >>> with np_default_dtype(False):
    ...     is_np_default_dtype()
    False
    """
    before = set_np_default_dtype(active)
    try:
        yield
    finally:
        set_np_default_dtype(before)


def use_np(func: Decorated) -> Decorated:
    """Return the function or class as it is: NumPy's semantics are on already.

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
    """Return the function or class as it is: arrays are NumPy-like already.

    Examples
    --------
    >>> @use_np_array
    ... def double(x):
    ...     return x * 2
    >>> double(2)
    4
    """
    return func


def use_np_shape(func: Decorated) -> Decorated:
    """Return the function or class as it is: shapes have NumPy's semantics already.

    Examples
    --------
    >>> @use_np_shape
    ... def axes(x):
    ...     return x.ndim
    >>> from gluonx import np
    >>> axes(np.ones(()))
    0
    """
    return func


def use_np_default_dtype(func: Decorated) -> Decorated:
    """Return the function, or each method of the class, under :func:`np_default_dtype`.

    Raises
    ------
    TypeError
        For anything else.

    Examples
    --------
    >>> from gluonx import np
    >>> @use_np_default_dtype
    ... def ones(n):
    ...     return np.ones(n)
    >>> ones(2).dtype, np.ones(2).dtype
    (dtype('float64'), dtype('float32'))
    """
    if inspect.isclass(func):
        for name, method in list(vars(func).items()):
            if inspect.isfunction(method):
                setattr(func, name, use_np_default_dtype(method))
        return func  # type: ignore[return-value]
    if not callable(func):
        raise TypeError(f"use_np_default_dtype decorates functions and classes, not {type(func).__name__}.")

    @functools.wraps(func)
    def wide(*args: object, **kwargs: object) -> Any:
        with np_default_dtype(True):
            return func(*args, **kwargs)

    return wide  # type: ignore[return-value]


__all__ = [*written(globals())]  # noqa: PLE0604
