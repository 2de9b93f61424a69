"""Quantile functions that have no closed form: the inverses of distribution functions, found by bisection.

Continuous ones bisect the bits of a floating-point number. Those of positive numbers are ordered as the numbers are, so
as many steps as there are bits lead to the neighbouring numbers between which the distribution function passes the
level, whether these are near 1e-30 or 1e30; nothing is guessed, and nothing can fail to converge. Gradients follow from
the implicit function theorem: along ``F(x; a) = p`` a quantile moves by ``dx = (dp - F_a da) / f(x; a)``.

Quantiles of counts are the smallest count whose distribution function reaches the level. They are steps, whose gradient
is zero.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jax import Array, lax
from jax.scipy import special

from gluonx.probability.utils import beta_slopes, in_floats, on_arrays

_BITS = {jnp.dtype("float32"): jnp.int32, jnp.dtype("float64"): jnp.int64}


def _bisected(cdf: Callable[[Array], Array], level: Array, most: float) -> Array:
    """Find the least number from 0 to `most` where an increasing function reaches `level`; float32 or float64."""
    dtype = level.dtype
    bits = _BITS[dtype]
    top = lax.bitcast_convert_type(jnp.full(level.shape, most, dtype), bits)

    def halve(_: object, ends: tuple[Array, Array]) -> tuple[Array, Array]:
        low, high = ends
        middle = low + (high - low) // 2
        reached = cdf(lax.bitcast_convert_type(middle, dtype)) >= level
        return jnp.where(reached, low, middle), jnp.where(reached, middle, high)

    _, high = lax.fori_loop(0, jnp.iinfo(bits).bits - 1, halve, (jnp.zeros_like(top), top))
    return lax.bitcast_convert_type(high, dtype)


def _over(slope: Array, density: Array) -> Array:
    """``slope / density``, and 0 where a slope is 0: the density may be 0 there too."""
    return jnp.where(slope == 0, 0.0, slope / jnp.where(slope == 0, 1.0, density))


def _known(level: Array, *parameters: Array) -> Array:
    """Return whether a level is a probability and all parameters are positive."""
    known = (level >= 0) & (level <= 1)
    for parameter in parameters:
        known &= parameter > 0
    return known


# -- gamma ------------------------------------------------------------------------------------------------------------


@jax.custom_jvp
def _gamma_quantile(a: Array, p: Array) -> Array:
    found = _bisected(lambda x: special.gammainc(a, x), p, float(jnp.finfo(p.dtype).max))
    found = jnp.where(p == 0, 0.0, jnp.where(p == 1, jnp.inf, found))
    return jnp.where(_known(p, a), found, jnp.nan)


@_gamma_quantile.defjvp
def _gamma_quantile_jvp(primals: tuple[Array, Array], tangents: tuple[Array, Array]) -> tuple[Array, Array]:
    (a, p), (moved_a, moved_p) = primals, tangents
    x = _gamma_quantile(a, p)
    log_density = jnp.where(jnp.isinf(x), -jnp.inf, special.xlogy(a - 1, x) - x - special.gammaln(a))
    by_a = _over(lax.igamma_grad_a(a, x), jnp.exp(log_density))
    return x, moved_p * jnp.exp(-log_density) - by_a * moved_a


@on_arrays()
def gammaincinv(a: Any, p: Any) -> Any:
    """Return the inverse of :func:`gammainc` in its second argument.

    Examples
    --------
    >>> from gluonx import np
    >>> gammaincinv(np.array([1.0, 2.0]), np.array([0.5, 0.0])).tolist()
    [0.693147, 0.0]
    """
    return in_floats(_gamma_quantile, a, p)


# -- beta -------------------------------------------------------------------------------------------------------------


@jax.custom_jvp
def _beta_quantile(a: Array, b: Array, p: Array) -> tuple[Array, Array]:
    """Give the quantile and what it lacks to 1. The smaller of the two is searched, by the symmetry of the function."""
    lower = special.betainc(a, b, jnp.full_like(p, 0.5)) >= p
    plain = lower | (p < 1e-3)  # else 1 - p keeps the digits, and the quantile may be too near 1 to tell
    first, second, level = jnp.where(plain, a, b), jnp.where(plain, b, a), jnp.where(plain, p, 1 - p)
    rises = lower | ~plain

    def cdf(t: Array) -> Array:
        found = special.betainc(first, second, jnp.where(rises, t, 1 - t))
        return jnp.where(rises, found, -found)

    small = _bisected(cdf, jnp.where(rises, level, -level), 0.5)
    x, rest = jnp.where(lower, small, 1 - small), jnp.where(lower, 1 - small, small)
    x, rest = (jnp.where(p == 0, end, jnp.where(p == 1, 1 - end, one)) for end, one in ((0.0, x), (1.0, rest)))
    known = _known(p, a, b)
    return jnp.where(known, x, jnp.nan), jnp.where(known, rest, jnp.nan)


@_beta_quantile.defjvp
def _beta_quantile_jvp(primals: tuple[Array, Array, Array], tangents: tuple[Array, Array, Array]) -> Any:
    (a, b, p), (moved_a, moved_b, moved_p) = primals, tangents
    x, rest = _beta_quantile(a, b, p)
    log_density = special.xlogy(a - 1, x) + special.xlogy(b - 1, rest) - special.betaln(a, b)
    lower = x <= 0.5
    by_first, by_second = beta_slopes(jnp.where(lower, a, b), jnp.where(lower, b, a), jnp.where(lower, x, rest))
    by_a, by_b = jnp.where(lower, by_first, -by_second), jnp.where(lower, by_second, -by_first)
    density = jnp.exp(log_density)
    moved = moved_p / density - _over(by_a, density) * moved_a - _over(by_b, density) * moved_b
    return (x, rest), (moved, -moved)


@on_arrays(nout=2)
def betaincinv(a: Any, b: Any, p: Any) -> tuple[jax.Array, ...]:
    """Return the inverse of :func:`betainc` in its third argument, and 1 minus it: both, since one may be too near 1.

    Examples
    --------
    >>> from gluonx import np
    >>> x, rest = betaincinv(np.array(1.0), np.array(3.0), np.array(0.875))
    >>> x.item(), rest.item()
    (0.5, 0.5)
    """
    return in_floats(_beta_quantile, a, b, p)


# -- counts -----------------------------------------------------------------------------------------------------------


def _smallest_count(cdf: Callable[[Array], Array], level: Array, most: Array) -> Array:
    """Return the smallest count whose distribution function reaches `level`; `most`, which may be infinite, for 1.

    The search doubles until it has reached the level, and halves from there. A level counts as reached some units in
    the last place before, so that the quantile of ``cdf(k)`` is `k`.
    """
    enough = level * (1 - 64 * jnp.finfo(level.dtype).eps)

    def between(low: Array, high: Array) -> Array:
        return jnp.minimum(jnp.floor(low + (high - low) / 2), 2 * low + 2)

    def narrow(ends: tuple[Array, Array]) -> tuple[Array, Array]:
        low, high = ends
        probe = jnp.maximum(between(low, high), 0.0)  # what has been found may probe below
        reached = cdf(probe) >= enough
        return jnp.where(reached, low, jnp.maximum(low, probe)), jnp.where(reached, jnp.minimum(high, probe), high)

    limit = jnp.minimum(most, jnp.finfo(level.dtype).max / 4)
    ends = (-jnp.ones_like(level), limit)
    _, found = lax.while_loop(lambda ends: jnp.any(between(*ends) > ends[0]), narrow, ends)
    return jnp.where(level == 1, most, found)


def _steps(compute: Callable[..., Array], *arrays: Array) -> Array:
    """Return a function of arrays of one shape whose gradient is zero."""
    return in_floats(compute, *[lax.stop_gradient(x) for x in arrays])


@on_arrays()
def poisson_quantile(rate: Any, p: Any) -> Any:
    """Return the smallest count whose distribution function reaches `p`, of a Poisson distribution.

    Examples
    --------
    >>> from gluonx import np
    >>> poisson_quantile(np.array(2.0), np.array([0.0, 0.5, 0.9])).tolist()
    [0.0, 2.0, 4.0]
    """

    def quantile(rate: Array, p: Array) -> Array:
        found = _smallest_count(lambda k: special.gammaincc(k + 1, rate), p, jnp.full_like(p, jnp.inf))
        return jnp.where(_known(p, rate), found, jnp.nan)

    return _steps(quantile, rate, p)


@on_arrays()
def binomial_quantile(n: Any, failure: Any, p: Any) -> Any:
    """Return the smallest count whose distribution function reaches `p`, of `n` trials that fail with that probability.

    Examples
    --------
    >>> from gluonx import np
    >>> binomial_quantile(np.array(6.0), np.array(0.5), np.array([0.01, 0.5, 1.0])).tolist()
    [0.0, 3.0, 6.0]
    """

    def quantile(n: Array, failure: Array, p: Array) -> Array:
        def cdf(k: Array) -> Array:
            within = (k >= 0) & (k < n)
            below = special.betainc(jnp.where(within, n - k, 1.0), jnp.where(within, k + 1, 1.0), failure)
            return jnp.where(within, below, jnp.where(k < 0, 0.0, 1.0))

        found = jnp.where(failure == 1, 0.0, _smallest_count(cdf, p, n))
        return jnp.where(_known(p) & (n >= 0) & (failure >= 0) & (failure <= 1), found, jnp.nan)

    return _steps(quantile, n, failure, p)


@on_arrays()
def negative_binomial_quantile(n: Any, failure: Any, p: Any) -> Any:
    """Return the smallest count whose distribution function reaches `p`: of successes before `n` fail.

    Examples
    --------
    >>> from gluonx import np
    >>> negative_binomial_quantile(np.array(1.0), np.array(0.5), np.array([0.5, 0.75, 0.8])).tolist()
    [0.0, 1.0, 2.0]
    """

    def quantile(n: Array, failure: Array, p: Array) -> Array:
        most = jnp.full_like(p, jnp.inf)
        found = _smallest_count(lambda k: special.betainc(n, k + 1, failure), p, most)
        return jnp.where(_known(p, n, failure), found, jnp.nan)

    return _steps(quantile, n, failure, p)
