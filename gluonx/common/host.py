"""The door for NumPy arrays that users still hold.

On a CPU, JAX computes on a NumPy array's own memory, and does so after the call that was given it has returned
(``jax.device_put(may_alias=False)`` and ``jax.numpy.array(copy=True)`` too, for a while at least); an operator that
has nothing to do gives that memory back as its result. So whoever hands a user's array on to JAX hands on a copy, which
nobody writes to. Waiting for the result would be no help where it *is* the memory; and it is no faster: the copy takes
15 us for 100,000 numbers, and what follows goes on meanwhile.

JAX takes NumPy's memory as it is where that begins at a multiple of 64 bytes, and copies it otherwise (at a third of
the speed of memcpy); NumPy's own large arrays never do. So large copies are made in memory that begins there: one copy.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np

from gluonx.common.frames import cast, telling
from gluonx.dtype import WIDE, keeping_64_bits, on_device

if TYPE_CHECKING:
    from gluonx.dtype import DTypeLike


__all__ = ["copied", "copied_as", "to_jax"]

_ALIGNMENT = 64
_LARGE = 1 << 16  # bytes; below, what this costs is more than what it saves


def copied(value: Any) -> Any:
    """Return `value`, a NumPy array as a copy that JAX may keep and anything else as it is."""
    return copied_as(value, value.dtype) if isinstance(value, np.ndarray) else value


def copied_as(array: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """Return a copy of `array` in `dtype` that JAX may keep; numbers that do not fit are told of at the user's line."""
    if array.size * dtype.itemsize < _LARGE or array.dtype.kind == "c" or not array.flags.c_contiguous:
        return np.array(array) if array.dtype is dtype else cast(array, dtype)
    memory = np.empty(array.size * dtype.itemsize + _ALIGNMENT, np.uint8)
    start = -memory.ctypes.data % _ALIGNMENT
    copy = memory[start : start + array.size * dtype.itemsize].view(dtype).reshape(array.shape)
    with telling():
        np.copyto(copy, array, casting="unsafe")
    return copy


def to_jax(value: Any, dtype: DTypeLike = None) -> jax.Array:
    """Return `value` (array or number) as a JAX array, of `dtype` if one is given, on no memory that a user holds.

    An array keeps its own dtype otherwise, 64 bits too.
    """
    if dtype is None and isinstance(value, (np.ndarray, np.generic)):
        return on_device(copied(value))
    with keeping_64_bits(getattr(value, "dtype", None) in WIDE):
        return jnp.asarray(copied(value), dtype)
