"""Number types: one place that turns what people write for a dtype into a ``numpy.dtype``.

MXNet's default is float32, and 64-bit types exist only where JAX's x64 switch is on; asking for one elsewhere gives
the 32-bit type, as everywhere in JAX. The environment variable ``GLUONX_X64=1`` switches it on when gluonx is imported,
``gluonx.util.set_x64()`` in code. It holds for the whole process. docs/dtypes.md has the rest.
"""

from __future__ import annotations

import os
from contextvars import ContextVar
from typing import Any

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np

__all__ = ["bfloat16", "canonical", "is_inexact", "refuse_cut", "standard", "wide_default"]

bfloat16 = np.dtype(ml_dtypes.bfloat16)
if os.environ.get("GLUONX_X64", "").lower() in ("1", "true", "on", "yes"):
    jax.config.update("jax_enable_x64", True)
_cache: dict[Any, np.dtype] = {}


def canonical(dtype: Any, default: Any = np.float32) -> np.dtype:
    """The ``numpy.dtype`` that gluonx uses for `dtype`.

    Parameters
    ----------
    dtype : None, str, type or numpy.dtype
        ``None`` stands for `default`. ``'bfloat16'`` is known.

    Returns
    -------
    numpy.dtype
        With JAX's x64 switch off, 64-bit types become their 32-bit sisters.

    Examples
    --------
    >>> canonical(None), canonical("float16"), canonical("bfloat16")
    (dtype('float32'), dtype('float16'), dtype(bfloat16))
    """
    if dtype is None:
        dtype = default
    wanted = _cache.get(dtype)
    if wanted is None:
        wanted = _cache[dtype] = bfloat16 if isinstance(dtype, str) and dtype == "bfloat16" else np.dtype(dtype)
    if wanted.itemsize >= 8 and not jax.config.jax_enable_x64:  # type: ignore[attr-defined]
        return _NARROW.get(wanted, wanted)
    return wanted


wide_default: ContextVar[bool] = ContextVar("gluonx_np_default_dtype", default=False)
"""Whether what is made without a dtype is float64: MXNet's ``npx.set_np(dtype=True)``."""


def standard(dtype: Any) -> np.dtype:
    """The dtype that ``dtype=`` means for a new array: None is float32, or float64 where NumPy's default was chosen."""
    return canonical(np.float64 if dtype is None and wide_default.get() else dtype)


_NARROW = {
    np.dtype(np.float64): np.dtype(np.float32),
    np.dtype(np.int64): np.dtype(np.int32),
    np.dtype(np.uint64): np.dtype(np.uint32),
    np.dtype(np.complex128): np.dtype(np.complex64),
}


def is_inexact(dtype: np.dtype) -> bool:
    """Whether gradients flow through values of `dtype` (real and complex floats, bfloat16 and the 8-bit floats)."""
    return dtype.kind in "fc" or (dtype.kind == "V" and jnp.issubdtype(dtype, np.inexact))


def refuse_cut(what: str, into: np.dtype, found: np.dtype) -> None:
    """Raises where numbers of dtype `found` would lose their kind in `into`, as NumPy does for ``out=``.

    Raises
    ------
    TypeError
        For floats that are to become integers, and integers that are to become booleans or to lose their sign.
    """
    if "buifc".find(_kind(found)) > "buifc".find(_kind(into)):
        raise TypeError(f"{what} is of dtype {into}, which cannot hold results of dtype {found}; use .astype on them.")


def _kind(dtype: np.dtype) -> str:
    return "f" if dtype.kind == "V" else dtype.kind
