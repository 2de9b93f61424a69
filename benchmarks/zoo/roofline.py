"""Roofline model: the peak rates of the device, and the least time that a step needs by them.

The matrix rate is that of a large product in the dtype of the run, the bandwidth that of adding two arrays that fit no
cache. A step needs at least the larger of its FLOPs over the one and its bytes over the other. The FLOPs are XLA's
count of the program as it was written; the bytes are its count over fused operators, more than what truly goes to
memory where a cache holds it, so a step can come out ahead of its own bound on a CPU.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

__all__ = ["least", "machine"]


def best(call: Callable[[], Any], repeats: int = 7) -> float:
    """Seconds of the fastest of some calls."""
    jax.block_until_ready(call())
    spent = []
    for _ in range(repeats):
        start = time.perf_counter()
        jax.block_until_ready(call())
        spent.append(time.perf_counter() - start)
    return min(spent)


def machine(dtype: str) -> dict[str, float]:
    """Measured of JAX's first device: FLOP/s of a product, bytes/s, and whether it is no CPU."""
    gpu = jax.devices()[0].platform != "cpu"
    size, length = (8192, 1 << 28) if gpu else (2048, 1 << 25)
    a = jax.random.normal(jax.random.key(0), (size, size), jnp.float32).astype(dtype)
    product = jax.jit(jnp.matmul)
    x, y = jnp.ones(length, jnp.float32), jnp.ones(length, jnp.float32)
    add = jax.jit(jnp.add)
    rates = {"flops": 2 * size**3 / best(lambda: product(a, a)), "bandwidth": 12 * length / best(lambda: add(x, y))}
    return {**rates, "gpu": float(gpu)}


def least(cost: dict[str, float], found: dict[str, float]) -> tuple[float, str]:
    """Return the least seconds of a step of this cost on this machine, and what bounds it."""
    compute, memory = cost["flops"] / found["flops"], cost["bytes"] / found["bandwidth"]
    return (compute, "FLOPs") if compute >= memory else (memory, "bytes")
