"""The door for NumPy arrays that users still hold.

On a CPU, JAX computes on a NumPy array's own memory, and does so after the call that was given it has returned
(``jax.device_put(may_alias=False)`` and ``jax.numpy.array(copy=True)`` too, for a while at least); an operator that
has nothing to do gives that memory back as its result. So whoever hands a user's array on to JAX hands on a copy, which
nobody writes to. Waiting for the result would be no help where it *is* the memory; and it is no faster: the copy takes
15 us for 100,000 numbers, and what follows goes on meanwhile.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from gluonx.dtype import WIDE, keeping_64_bits

__all__ = ["copied", "to_jax"]


def copied(value: Any) -> Any:
    """Return `value`, a NumPy array as a copy that JAX may keep and anything else as it is."""
    return np.array(value) if isinstance(value, np.ndarray) else value


def to_jax(value: Any, dtype: Any = None) -> jax.Array:
    """Return `value` (array or number) as a JAX array, of `dtype` if one is given, on no memory that a user holds.

    An array keeps its own dtype otherwise, 64 bits too.
    """
    with keeping_64_bits(getattr(value, "dtype", None) in WIDE):
        return jnp.asarray(copied(value), dtype)
