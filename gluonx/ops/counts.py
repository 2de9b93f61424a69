"""Draws of counts: Poisson numbers, and the gamma numbers that are rates of negative binomial ones.

`gluonx.ops.host.counts` makes the same numbers with NumPy, and takes the formulas from here (`xp` is ``jax.numpy`` or
``numpy``). What keeps the two alike:

- Each try of each element has bits of its own: the element's 64 in ``jax.random.bits(jax.random.fold_in(key, turn))``.
  So NumPy draws again only for what was refused, and XLA, whose shapes are fixed, for everything.
- All is computed in 64 bits. XLA rounds a product and a sum once where NumPy rounds twice, and their logarithms differ
  in the last bit. A count differs only where that moves a number across a bound: of float32 numbers some in a
  million, of float64 ones none in 10**12.

A rate below `SMALL` is drawn by looking for the count whose distribution function passes a uniform number; larger
ones by transformed rejection (Hormann, "The transformed rejection method for generating Poisson random variables",
1993), gamma numbers by Cheng's GB ("The generation of gamma variables with non-integral shape parameter", 1977).
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from gluonx.dtype import keeping_64_bits
from gluonx.ops.cpu import threefry

if TYPE_CHECKING:
    from gluonx.dtype import DTypeLike

__all__ = ["LEAST", "SMALL", "STEPS", "failures", "gamma_guess", "guess", "overdispersed", "poisson", "under"]

SMALL = 10.0
"""From this rate on, transformed rejection holds, and is the faster one."""

STEPS = 64
"""The largest count of a rate below `SMALL`: a larger one has a chance of 1e-31."""

LEAST = 1e-12
"""Up to this `alpha` an overdispersed count is a Poisson number: its rate is within some millionths of the mean."""

_HALF = 2.0**-33
_UNIT = 2.0**-32
_LOG_ROOT = 0.5 * math.log(2 * math.pi)


def _stirling(n: int) -> float:
    """Return what Stirling's formula for log(gamma(n)) leaves out."""
    return math.lgamma(n) - (n - 0.5) * math.log(n) + n - _LOG_ROOT


_LEFT_OUT = np.array([0.0] + [_stirling(n) for n in range(1, 10)])


def guess(xp: Any, rate: Any, u: Any, v: Any) -> tuple[Any, Any, Any]:
    """Return the counts that two uniform numbers propose, which are taken at once, and which `under` is to decide.

    Parameters
    ----------
    xp : module
        ``jax.numpy`` or ``numpy``.
    rate, u, v : array
        Of float64; a rate is `SMALL` or more.
    """
    b = 0.931 + 2.53 * xp.sqrt(rate)
    a = 0.02483 * b - 0.059
    u = u - 0.5
    side = 0.5 - xp.abs(u)
    k = xp.floor((2.0 * a / side + b) * u + (rate + 0.43))
    sure = (side >= 0.07) & (v <= 0.9277 - 3.6224 / (b - 2.0))
    return k, sure, (k >= 0) & ((side >= 0.013) | (v <= side))


def under(xp: Any, rate: Any, u: Any, v: Any, k: Any) -> Any:
    """Return whether the point of a proposed count `k` lies under the density of Poisson numbers.

    Parameters
    ----------
    xp : module
        ``jax.numpy`` or ``numpy``.
    rate, u, v, k : array
        Of float64, as `guess` took and gave them.
    """
    root = xp.sqrt(rate)
    b = 0.931 + 2.53 * root
    a = 0.02483 * b - 0.059
    side = 0.5 - xp.abs(u - 0.5)
    height = v * root * (1.1239 + 1.1328 / (b - 3.4)) / (a / (side * side) + b)
    m = xp.maximum(k, 0.0) + 1.0
    inverse = 1.0 / m
    square = inverse * inverse
    series = inverse * (1 / 12 - square * (1 / 360 - square * (1 / 1260 - square / 1680)))
    table = xp.take(xp.asarray(_LEFT_OUT), xp.minimum(m, 9.0).astype(np.int32))
    left_out = xp.where(m < 10, table, series)
    # sqrt(rate) * rate ** k * exp(-rate) / k!, with the large terms taken together
    away = rate - m
    t = away * inverse
    near = t * (1.0 - t * (1 / 2 - t * (1 / 3 - t * (1 / 4 - t / 5))))
    log_density = (m - 0.5) * xp.where(xp.abs(t) < 1e-3, near, xp.log(1.0 + t)) - away - _LOG_ROOT - left_out
    return xp.log(height) <= log_density


def gamma_guess(xp: Any, alpha: Any, u: Any, v: Any) -> tuple[Any, Any, Any, Any]:
    """Return the gamma numbers that two uniform numbers propose, which are taken at once, and a test for the others.

    They are taken where the third result is at least the logarithm of the fourth.

    Parameters
    ----------
    xp : module
        ``jax.numpy`` or ``numpy``.
    alpha, u, v : array
        Of float64; `alpha` is 1 or more.
    """
    root = xp.sqrt(2.0 * alpha - 1.0)
    t = xp.log(u / (1.0 - u)) / root
    x = alpha * xp.exp(t)
    z = u * u * v
    r = (alpha - math.log(4.0)) + (alpha + root) * t - x
    return x, r + (1.0 + math.log(4.5)) - 4.5 * z >= 0, r, z


def _bits(key: Array, turn: Any, shape: tuple[int, ...]) -> Array:
    return threefry.bits(jax.random.fold_in(key, turn), 64, shape)


def _pair(bits: Array) -> tuple[Array, Array]:
    """Return two uniform numbers between 0 and 1 of each 64 bits."""
    high, low = (bits >> np.uint64(32)).astype(np.float64), (bits & np.uint64(0xFFFFFFFF)).astype(np.float64)
    return high * _UNIT + _HALF, low * _UNIT + _HALF


def _fine(bits: Array) -> Array:
    """Return one uniform number of 53 bits, from 0 to 1."""
    return (bits >> np.uint64(11)).astype(np.float64) * 2.0**-53


def _by_steps(rate: Array, u: Array) -> Array:
    """Count how many chances, of 0, 1 and so on, can be taken off `u` before it is negative."""

    def step(state: tuple[Array, Array, Array, Array]) -> tuple[Array, Array, Array, Array]:
        number, chance, u, count = state
        u = u - chance
        return number + 1.0, chance * (rate * (1.0 / number)), u, count + (u >= 0)

    def more(state: tuple[Array, Array, Array, Array]) -> Array:
        return (state[0] <= STEPS) & (state[2] >= 0).any()

    return lax.while_loop(more, step, (jnp.ones((), np.float64), jnp.exp(-rate) + 0.0 * u, u, 0.0 * u))[3]


def poisson(key: Array, rate: Array, shape: tuple[int, ...], dtype: DTypeLike) -> Array:
    """Return Poisson numbers: NaN for a rate of NaN, 0 for a negative one, infinity for an infinite one.

    Examples
    --------
    >>> poisson(jax.random.key(0), jnp.array([0.0, jnp.inf]), (2,), np.float32).tolist()
    [0.0, inf]
    """
    with keeping_64_bits():
        rate = jnp.broadcast_to(rate.astype(np.float64), shape)
        first = _bits(key, 0, shape)
        fine = _fine(first)
        few = _by_steps(jnp.where(rate < SMALL, jnp.maximum(rate, 0.0), 0.0), fine)
        large = (rate >= SMALL) & (rate < np.inf)
        safe = jnp.where(large, rate, SMALL)

        def again(state: tuple[Array, Array, Array]) -> tuple[Array, Array, Array]:
            turn, done, found = state
            u, v = _pair(_bits(key, turn, shape))
            k, sure, perhaps = guess(jnp, safe, u, v)
            taken = ~done & (sure | (perhaps & under(jnp, safe, u, v, k)))
            return turn + np.uint32(1), done | taken, jnp.where(taken, k, found)

        start = (jnp.zeros((), np.uint32), ~large | (fine < 0), 0.0 * fine)
        many = lax.while_loop(lambda state: ~state[1].all(), again, start)[2]
        return jnp.where(large, many, jnp.where(rate < SMALL, few, rate)).astype(dtype)


def _gamma(key: Array, alpha: Array, shape: tuple[int, ...]) -> Array:
    """Return gamma numbers as float64, by Cheng's method; below 1 those of ``alpha + 1`` times a power."""
    usual = (alpha > 0) & (alpha < np.inf)
    safe = jnp.where(usual, alpha, 1.0)
    raised = jnp.where(safe < 1, safe + 1.0, safe)
    fine = _fine(_bits(key, 0, shape))

    def again(state: tuple[Array, Array, Array]) -> tuple[Array, Array, Array]:
        turn, done, found = state
        u, v = _pair(_bits(key, turn, shape))
        x, sure, r, z = gamma_guess(jnp, raised, u, v)
        taken = ~done & (sure | (r >= jnp.log(z)))
        return turn + np.uint32(1), done | taken, jnp.where(taken, x, found)

    start = (jnp.ones((), np.uint32), ~usual | (fine < 0), 0.0 * fine)
    found = lax.while_loop(lambda state: ~state[1].all(), again, start)[2]
    found = jnp.where(safe < 1, found * jnp.exp(jnp.log1p(-fine) / safe), found)
    return jnp.where(usual, found, jnp.maximum(alpha, 0.0))


def failures(key: Array, alpha: Array, p: Array, shape: tuple[int, ...], dtype: DTypeLike) -> Array:
    """Return counts of failures before the `alpha`-th success: Poisson numbers whose rates are gamma numbers.

    Examples
    --------
    >>> failures(jax.random.key(0), jnp.zeros(2), jnp.ones(2), (2,), np.float32).tolist()
    [0.0, 0.0]
    """
    one, two = jax.random.split(key)
    with keeping_64_bits():
        alpha, p = (jnp.broadcast_to(v.astype(np.float64), shape) for v in (alpha, p))
        return poisson(two, _gamma(one, alpha, shape) * ((1.0 - p) / p), shape, dtype)


def overdispersed(key: Array, mean: Array, alpha: Array, shape: tuple[int, ...], dtype: DTypeLike) -> Array:
    """Return counts of a mean and of the variance ``mean + alpha * mean ** 2``: Poisson numbers of gamma rates.

    Examples
    --------
    >>> overdispersed(jax.random.key(0), jnp.zeros(2), jnp.ones(2), (2,), np.float32).tolist()
    [0.0, 0.0]
    """
    one, two = jax.random.split(key)
    with keeping_64_bits():
        mean, alpha = (jnp.broadcast_to(v.astype(np.float64), shape) for v in (mean, alpha))
        spread = ~(alpha <= LEAST)  # NaN stays
        safe = jnp.where(spread, alpha, 1.0)
        rate = jnp.where(spread, _gamma(one, 1.0 / safe, shape) * (mean * safe), mean)
        return poisson(two, rate, shape, dtype)
