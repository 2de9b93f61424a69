"""Number types: one place that turns what people write for a dtype into a ``numpy.dtype``, and where 64 bits are kept.

MXNet's default is float32. JAX computes in 64 bits only where its x64 switch is on, which is off for a process by
default, and narrows silently elsewhere. So gluonx switches it on, for itself and for as long as it takes, around what
has a 64-bit type: :func:`keeping_64_bits`. Whether that is so is a property of an operator and of its inputs' dtypes
(`gluonx.deferred.operators.derived.strong`), never of the moment: operators on 32-bit types are traced and run as if
this was not here, and a program knows of itself whether one of its operators needs it. docs/dtypes.md has the rest.

``GLUONX_X64=1`` switches JAX's own switch on when gluonx is imported, ``gluonx.util.set_x64()`` in code.
"""

from __future__ import annotations

import contextlib
import threading
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, TypeAlias

import jax
import jax.numpy as jnp
import jax.typing
import ml_dtypes
import numpy as np

from gluonx.errors import ArgumentError

if TYPE_CHECKING:
    from gluonx.device import DeviceLike


__all__ = [
    "WIDE",
    "as_array",
    "bfloat16",
    "canonical",
    "is_inexact",
    "keeping_64_bits",
    "kept_by_us",
    "on_device",
    "operand_dtype",
    "refuse_cut",
    "standard",
    "wide_default",
    "without_64_bits",
]

bfloat16 = np.dtype(ml_dtypes.bfloat16)
DTypeLike: TypeAlias = "jax.typing.DTypeLike | None"  # what `dtype=` takes; None is the default of whoever is asked
_cache: dict[Any, np.dtype] = {}

WIDE = frozenset(map(np.dtype, (np.float64, np.int64, np.uint64, np.complex128)))
"""The types that JAX has only where its x64 switch is on."""


class _Entered(threading.local):
    by_us = False


_entered = _Entered()


class _Switched:
    """A stretch in which JAX's x64 switch is on, or is off where gluonx has switched it on."""

    __slots__ = ("_before", "_scope", "on")

    def __init__(self, on: bool) -> None:
        self.on = on

    def __enter__(self) -> None:
        self._before = by_us = _entered.by_us
        # One that the user switched on stays on: there is nothing to do, and nothing to undo in the other direction.
        self._scope = None
        if jax.config.jax_enable_x64 is not self.on and (self.on or by_us):  # type: ignore[attr-defined]
            self._scope = jax.enable_x64(self.on)
            self._scope.__enter__()
            _entered.by_us = self.on

    def __exit__(self, *error: object) -> None:
        if self._scope is not None:
            _entered.by_us = self._before
            self._scope.__exit__(*error)


def kept_by_us() -> bool:
    """Return whether gluonx has switched 64-bit types on here, in this thread.

    Examples
    --------
    >>> with keeping_64_bits():
    ...     kept_by_us()
    True
    """
    return _entered.by_us


def keeping_64_bits(needed: Any = True) -> contextlib.AbstractContextManager[None]:
    """Get a stretch in which JAX keeps 64-bit types, if they are `needed`.

    Only this thread's, and only JAX's switch.

    Examples
    --------
    >>> with keeping_64_bits():
    ...     jnp.zeros(2, "float64").dtype
    dtype('float64')
    """
    return _Switched(True) if needed else _NOTHING


def without_64_bits() -> contextlib.AbstractContextManager[None]:
    """Within :func:`keeping_64_bits`, a stretch where JAX's switch is the user's again.

    Examples
    --------
    >>> with keeping_64_bits(), without_64_bits():
    ...     kept_by_us()
    False
    """
    return _Switched(False)


_NOTHING = contextlib.nullcontext()


def canonical(dtype: DTypeLike, default: DTypeLike = np.float32) -> np.dtype:
    """Return the ``numpy.dtype`` that is meant by `dtype`.

    Parameters
    ----------
    dtype : None, str, type or numpy.dtype
        ``None`` stands for `default`. ``'bfloat16'`` is known.

    Returns
    -------
    numpy.dtype

    Raises
    ------
    ArgumentError
        If NumPy knows no such dtype; it is a TypeError and a ValueError.

    Examples
    --------
    >>> canonical(None), canonical("float16"), canonical("bfloat16"), canonical("int64")
    (dtype('float32'), dtype('float16'), dtype(bfloat16), dtype('int64'))
    """
    if dtype is None:
        dtype = default
    wanted = _cache.get(dtype)
    if wanted is None:
        try:
            wanted = bfloat16 if isinstance(dtype, str) and dtype == "bfloat16" else np.dtype(dtype)
        except TypeError as error:
            raise ArgumentError(f"dtype: {error}") from None
        _cache[dtype] = wanted
    return wanted


wide_default: ContextVar[bool] = ContextVar("gluonx_np_default_dtype", default=False)
"""The flag of MXNet's ``npx.set_np(dtype=True)``: arrays made without a dtype are float64 if it is set."""


def standard(dtype: DTypeLike) -> np.dtype:
    """Get the dtype that ``dtype=`` means for a new array: None is float32, or float64 by NumPy's default.

    Examples
    --------
    >>> standard(None), standard("int8")
    (dtype('float32'), dtype('int8'))
    """
    return canonical(np.float64 if dtype is None and wide_default.get() else dtype)


_UNASKED = {np.dtype(np.float64): np.dtype(np.float32), np.dtype(np.complex128): np.dtype(np.complex64)}


def operand_dtype(array: np.ndarray, beside: Any = ()) -> np.dtype:
    """Return the dtype that a NumPy array has as an operand of an operator.

    Its own, but float64, which NumPy gives without being asked, is the default dtype, float32. It is float64 where that
    is the default or where one of the dtypes in `beside` is of 64 bits and inexact.

    Examples
    --------
    >>> operand_dtype(np.zeros(2)), operand_dtype(np.zeros(2, "int64"))
    (dtype('float32'), dtype('int64'))
    """
    narrow = _UNASKED.get(array.dtype)
    if narrow is None or wide_default.get() or any(d in _UNASKED for d in beside):
        return array.dtype
    return narrow


def on_device(host: Any, device: DeviceLike = None, may_alias: bool | None = None) -> jax.Array:
    """Return ``jax.device_put(host, device)`` of an array of NumPy or JAX, with its dtype kept.

    The device may be a sharding, over the devices of other processes too: then each process puts its part. Whether the
    result may share memory with an array that lies there already, `may_alias` says.

    Examples
    --------
    >>> on_device(np.arange(3)).dtype
    dtype('int64')
    """
    if isinstance(device, jax.sharding.Sharding) and not device.is_fully_addressable and isinstance(host, np.ndarray):
        with keeping_64_bits(host.dtype in WIDE):
            return jax.make_array_from_callback(host.shape, device, lambda part: host[part])
    if host.dtype in WIDE:
        with keeping_64_bits():
            return jax.device_put(host, device, may_alias=may_alias)
    return jax.device_put(host, device, may_alias=may_alias)


def as_array(value: Any) -> jax.Array:
    """Return ``jnp.asarray(value)`` of an array of NumPy or JAX, with its dtype kept.

    It compiles nothing, as ``jnp.asarray`` does for each shape of a NumPy array (20 to 30 ms, in jax 0.10).

    Examples
    --------
    >>> as_array(np.arange(3)).dtype
    dtype('int64')
    """
    return value if isinstance(value, jax.Array) else on_device(value)


def is_inexact(dtype: np.dtype) -> bool:
    """Return whether `dtype` carries gradients: real and complex floats, bfloat16 and the 8-bit floats do.

    Examples
    --------
    >>> is_inexact(bfloat16), is_inexact(np.dtype("int32"))
    (True, False)
    """
    return dtype.kind in "fc" or (dtype.kind == "V" and jnp.issubdtype(dtype, np.inexact))


def refuse_cut(what: str, into: np.dtype, found: np.dtype) -> None:
    """Raise where numbers of dtype `found` would lose their kind in `into`, as NumPy does for ``out=``.

    Raises
    ------
    TypeError
        For floats that are to become integers, and integers that are to become booleans or to lose their sign.

    Examples
    --------
    >>> refuse_cut("out", np.dtype("int32"), np.dtype("float32"))
    Traceback (most recent call last):
        ...
    TypeError: out is of dtype int32, which cannot hold results of dtype float32; use .astype on them.
    """
    if "buifc".find(_kind(found)) > "buifc".find(_kind(into)):
        raise TypeError(f"{what} is of dtype {into}, which cannot hold results of dtype {found}; use .astype on them.")


def _kind(dtype: np.dtype) -> str:
    return "f" if dtype.kind == "V" else dtype.kind


def __dir__() -> list[str]:
    return sorted(__all__)
