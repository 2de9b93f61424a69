"""LSTM layers by cuDNN, through ``jax.experimental.rnn``.

The flat vector of parameters is laid out as cuDNN's, gates in cuDNN's order, so it goes in as it is: nothing is packed.

Which of the two computes is decided when a program is lowered, by `lax.platform_dependent`; the program of a CPU has
the scan whatever else the machine has. Tracing asks cuDNN itself for the size of its workspace, so a machine without
CUDA never sees the other branch.

It is asked for by ``GLUONX_CUDNN=1`` and not the default, for cuDNN's operator has no gradient of its gradient and no
``vmap``, which the scan has, and computes in TF32 unless ``jax_default_matmul_precision`` says otherwise.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Mapping
from typing import Any

import jax
import jax.numpy as jnp
from jax import Array

from gluonx.ops.cpu.convolution import native_only


@functools.cache
def _is_there() -> bool:
    """Return whether this machine has a device that runs cuDNN."""
    try:
        return bool(jax.devices("cuda"))
    except RuntimeError:  # JAX knows no such platform
        return False


def fits(data: Array, flat: Array, states: list[Array], drops: bool, attrs: Mapping[str, Any]) -> bool:
    """Return whether cuDNN is asked for, is there, and computes what `attrs` (those of `rnn`, and ``clip``) say.

    Artifacts keep the scan: cuDNN's call is bound to the version of the library that it was made with.
    """
    if os.environ.get("GLUONX_CUDNN", "") != "1" or native_only():
        return False
    low, high, _ = attrs["clip"]
    plain = attrs["mode"] == "lstm" and not attrs["projection_size"] and low is None and high is None and not drops
    arrays = (data, flat, *states)
    sizes = [n for a in arrays for n in a.shape]
    known = all(isinstance(n, int) and n > 0 for n in sizes)
    return plain and known and all(a.dtype == jnp.float32 for a in arrays) and _is_there()


def lstm(
    data: Array, flat: Array, h: Array, c: Array, lengths: Array | None, *, size: int, layers: int, both: bool
) -> tuple[Array, Array, Array]:
    """All outputs and the last states of a stack of LSTM layers.

    Parameters
    ----------
    data : array, shape (time, batch, features)
    flat : array
        See `gluonx.ops.rnn.packing`.
    h, c : array, shape (layers * directions, batch, size)
    lengths : integer array, shape (batch,), or None

    Returns
    -------
    (array, array, array)
    """
    from jax.experimental import rnn

    time, batch, features = data.shape
    steps = jnp.full((batch,), time, jnp.int32) if lengths is None else jnp.clip(lengths.astype(jnp.int32), 1, time)
    found: Any = rnn.lstm(data.swapaxes(0, 1), h, c, flat, steps, features, size, layers, 0.0, both)
    y, last_h, last_c = found[0].swapaxes(0, 1), found[1], found[2]
    if lengths is None:
        return y, last_h, last_c
    some = (lengths > 0)[:, None]  # cuDNN has no empty sequences
    inside = jnp.arange(time)[:, None, None] < lengths[None, :, None]
    return jnp.where(inside, y, 0), jnp.where(some, last_h, h), jnp.where(some, last_c, c)
