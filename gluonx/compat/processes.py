"""Sums over the processes of ``jax.distributed``, for stores and the interfaces of Horovod and BytePS.

Start the processes by ``jax.distributed.initialize()``, which knows Slurm, MPI, Kubernetes and TPU pods; without, there
is one, and everything here is the identity. Arrays go through the host and back, one collective each. A net on a mesh
of all processes' devices sends its gradients inside the step instead, which is what to change to (docs/parallel.md).
"""

from __future__ import annotations

from typing import Any

import jax
import numpy as np


def rank() -> int:
    """Return the number of this process."""
    return jax.process_index()


def size() -> int:
    """Return the number of processes."""
    return jax.process_count()


def _stacked(array: Any) -> np.ndarray:
    """Return the arrays of all processes along a new first axis, on the host."""
    host = array.asnumpy()
    if size() == 1:
        return host[None]
    from jax.experimental import multihost_utils

    return np.asarray(multihost_utils.process_allgather(host, tiled=False)).reshape(size(), *host.shape)


def _like(host: np.ndarray, array: Any) -> Any:
    """Return a new array of the kind and on the device of `array`."""
    new = array.copy() if host.shape == array.shape else None
    if new is None:
        from gluonx.np.creation import array as np_array

        return np_array(host, dtype=host.dtype, device=array.device)
    new[:] = host
    return new


def summed(array: Any, average: bool = False) -> Any:
    """Return the sum of an array over all processes, or its mean."""
    if size() == 1:
        return array.copy()
    stacked = _stacked(array)
    total = stacked.sum(0, dtype=stacked.dtype)
    return _like((total / size()).astype(stacked.dtype) if average else total, array)


def gathered(array: Any) -> Any:
    """Return the arrays of all processes one after the other along the first axis, which may differ in length."""
    if size() == 1:
        return array.copy()
    from jax.experimental import multihost_utils

    host = array.asnumpy()
    lengths = np.asarray(multihost_utils.process_allgather(np.array([len(host)]), tiled=False)).reshape(-1)
    padded = np.zeros((int(lengths.max()), *host.shape[1:]), host.dtype)
    padded[: len(host)] = host
    parts = np.asarray(multihost_utils.process_allgather(padded, tiled=False)).reshape(size(), *padded.shape)
    return _like(np.concatenate([part[:n] for part, n in zip(parts, lengths, strict=True)]), array)


def broadcast(array: Any, root: int = 0) -> Any:
    """Return the array of process `root`.

    Raises
    ------
    ValueError
        If there is no such process.
    """
    if not 0 <= root < size():
        raise ValueError(f"there is no process {root}: they are 0 to {size() - 1}")
    return array.copy() if size() == 1 else _like(_stacked(array)[root], array)


def wait_for_all(name: str = "gluonx") -> None:
    """Wait until all processes are here."""
    if size() > 1:
        from jax.experimental import multihost_utils

        multihost_utils.sync_global_devices(name)
