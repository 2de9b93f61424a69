"""Roofline model: the peak rates of the device, and the least time that a step needs by them.

The rate of products is that of a large one in the dtype of the run. The rate of memory is that of adding two arrays,
measured over sizes from what fits the innermost cache to what fits none. A step needs at least the largest of

- its FLOPs, as XLA counts them in the program as it was written, at the rate of products,
- its arguments and results, each touched once, at the rate of arrays of that size,
- the bytes that XLA counts over fused operators, at the best rate of all: how much of them a cache holds is not known,
  so they are taken for cached.

Each is a lower bound, so no step can come out ahead of the largest.
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


def rate(length: int, moved: int) -> float:
    """Bytes/s of adding two float32 arrays again and again, in one program that moves about so many bytes."""
    times = max(1, moved // (12 * length))
    y = jnp.full(length, 0.5, jnp.float32)
    add = jax.jit(lambda x: jax.lax.fori_loop(0, times, lambda _, x: x + y, x))
    x = jnp.ones(length, jnp.float32)
    return 12 * length * times / best(lambda: add(x))


def machine(dtype: str) -> dict[str, Any]:
    """Measure JAX's first device.

    Returns
    -------
    dict
        ``flops``: FLOP/s of a product; ``rates``: pairs of a size in bytes, ascending, and the best rate in bytes/s of
        arrays of that size or more together; ``gpu``: whether it is no CPU.
    """
    gpu = jax.devices()[0].platform != "cpu"
    size, lengths = (8192, range(20, 29, 2)) if gpu else (2048, range(12, 26))
    a = jax.random.normal(jax.random.key(0), (size, size), jnp.float32).astype(dtype)
    product = jax.jit(jnp.matmul)
    flops = 2 * size**3 / best(lambda: product(a, a))
    measured = [(8 * 2**n, rate(2**n, 12 << (lengths[-1] + 1))) for n in lengths]
    rates = [(found, max(r for other, r in measured if other >= found)) for found, _ in measured]
    return {"flops": flops, "rates": rates, "gpu": float(gpu)}


def rate_at(found: dict[str, Any], size: float) -> float:
    """Return the best rate that arrays of so many bytes together can have: that of the next smaller size measured."""
    fitting = [r for measured, r in found["rates"] if measured <= size]
    return fitting[-1] if fitting else found["rates"][0][1]


def least(cost: dict[str, float], found: dict[str, Any]) -> tuple[float, str]:
    """Return the least seconds of a step of this cost on this machine, and what bounds it."""
    bounds = {
        "FLOPs": cost["flops"] / found["flops"],
        "arguments and results": cost["held"] / rate_at(found, cost["held"]),
        "bytes in caches": cost["bytes"] / found["rates"][0][1],
    }
    name = max(bounds, key=lambda n: bounds[n])
    return bounds[name], name
