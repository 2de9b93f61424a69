"""Entropies of counts, which have no closed form: sums over the counts, with their gradients.

Terms are summed from where they begin to matter to where they cease to, a block at a time, in a loop on the device. The
bounds follow from the parameters, so that arrays of trials need no bound of the user's. What a sum leaves out is below
the precision of the dtype.

Logarithms of probabilities are written as Loader writes them (Fast and Accurate Computation of Binomial Probabilities,
2000): differences of logarithms of gamma functions cancel where counts are large.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jax import Array, lax
from jax.scipy import special

from gluonx.probability.utils import in_floats, on_arrays

_BLOCK = 128  # counts that are summed at once
_MOST = 1 << 22  # counts that are summed at all
_HALF_LOG_2PI = 0.5 * math.log(2 * math.pi)

Parameters = tuple[Array, ...]


def _stirling_error(x: Array) -> Array:
    """Return the logarithm of ``gamma(x + 1)`` less Stirling's formula, of positive numbers."""
    large = jnp.maximum(x, 15.0)
    square = large * large
    series = (1 / 12 - (1 / 360 - (1 / 1260 - 1 / (1680 * square)) / square) / square) / large
    small = jnp.clip(x, jnp.finfo(x.dtype).tiny, 15.0)
    return jnp.where(
        x > 15, series, special.gammaln(small + 1) - (small + 0.5) * jnp.log(small) + small - _HALF_LOG_2PI
    )


def _deviance(k: Array, mean: Array) -> Array:
    """``k * log(k / mean) - (k - mean)`` of positive `k`, exact where the two are near each other."""
    near = jnp.abs(k - mean) < mean
    apart = jnp.where(near, (k - mean) / jnp.where(near, mean, 1.0), 0.0)
    return jnp.where(near, mean * ((1 + apart) * jnp.log1p(apart) - apart), k * (jnp.log(k) - jnp.log(mean)) - k + mean)


def _log_poisson(k: Array, rate: Array) -> Array:
    some = jnp.maximum(k, 1.0)
    inner = -_stirling_error(some) - _deviance(some, rate) - _HALF_LOG_2PI - 0.5 * jnp.log(some)
    return jnp.where(k == 0, -rate, inner)


def _log_binomial(k: Array, n: Array, success: Array, failure: Array) -> Array:
    """Of `k` of `n` trials, which both may be fractions but for the ends."""
    some, rest = jnp.where(k > 0, k, 1.0), jnp.where(k < n, n - k, 1.0)
    total = jnp.where((k > 0) & (k < n), n, 2.0)
    inner = _stirling_error(total) - _stirling_error(some) - _stirling_error(rest)
    inner = inner - _deviance(some, total * success) - _deviance(rest, total * failure)
    inner = inner - _HALF_LOG_2PI + 0.5 * jnp.log(total / (some * rest))
    ends = jnp.where(k == 0, special.xlogy(n, failure), special.xlogy(n, success))
    return jnp.where((k > 0) & (k < n), inner, ends)


def _log_negative_binomial(k: Array, n: Array, success: Array, failure: Array) -> Array:
    return _log_binomial(k, n + k, success, failure) + jnp.log(n / (n + k))


def _summed(term: Callable[..., Array], first: Array, last: Array, parameters: Parameters, rows: int) -> Array:
    """Sum over the counts from `first` to `last` of the `rows` numbers that `term` gives for each count."""
    expanded = [x[..., None] for x in parameters]
    block = jnp.arange(_BLOCK, dtype=first.dtype)

    def add(held: tuple[Array, Array]) -> tuple[Array, Array]:
        start, total = held
        k = start[..., None] + block
        within = k <= last[..., None]
        terms = term(jnp.where(within, k, last[..., None]), *expanded)
        return start + _BLOCK, total + jnp.where(within, terms, 0.0).sum(-1)

    empty = jnp.zeros((rows, *first.shape), first.dtype)
    return lax.while_loop(lambda held: jnp.any(held[0] <= last), add, (first, empty))[1]


def _entropy(
    log_mass: Callable[..., Array], scores: Callable[..., Parameters], bounds: Callable[..., tuple[Array, Array]]
) -> Callable[..., Array]:
    """Return the entropy as a function of the parameters, from the logarithm of a count's probability and its slopes.

    ``H = -sum(p * log(p))``, and ``dH = -sum(p * (log(p) + 1) * score)``.
    """

    def terms(k: Array, *parameters: Array) -> Array:
        logs = log_mass(k, *parameters)
        return jnp.where(logs == -jnp.inf, 0.0, -jnp.exp(logs) * logs)[None]

    def slopes(k: Array, *parameters: Array) -> Array:
        logs = log_mass(k, *parameters)
        weights = jnp.where(logs == -jnp.inf, 0.0, -jnp.exp(logs) * (logs + 1))
        return jnp.stack([jnp.where(weights == 0, 0.0, weights * one) for one in scores(k, *parameters)])

    @jax.custom_jvp
    def entropy(*parameters: Array) -> Array:
        return _summed(terms, *bounds(*parameters), parameters, 1)[0]

    @entropy.defjvp
    def entropy_jvp(primals: Parameters, tangents: Parameters) -> tuple[Array, Array]:
        found = _summed(slopes, *bounds(*primals), primals, len(primals))
        return entropy(*primals), sum(a * b for a, b in zip(found, tangents, strict=True))  # type: ignore[return-value]

    return entropy


def _around(mean: Array, variance: Array, tail: Array | float = 0.0) -> tuple[Array, Array]:
    """Give the counts 13 standard deviations and some more from the mean: beyond, terms are below 1e-30."""
    far = 13 * jnp.sqrt(variance) + 60
    first, last = jnp.maximum(jnp.floor(mean - far), 0.0), jnp.ceil(mean + far + tail)
    return first, jnp.where(last - first <= _MOST, last, -1.0)


def _poisson_bounds(rate: Array) -> tuple[Array, Array]:
    return _around(rate, rate)


def _binomial_bounds(n: Array, success: Array, failure: Array) -> tuple[Array, Array]:
    first, last = _around(n * success, n * success * failure)
    return first, jnp.minimum(last, n)


def _negative_binomial_bounds(n: Array, success: Array, failure: Array) -> tuple[Array, Array]:
    mean = n * success / failure
    return _around(mean, mean / failure, 60 / failure)  # the tail falls by the factor `success` with each count


_poisson = _entropy(_log_poisson, lambda k, rate: (k / rate - 1,), _poisson_bounds)
_binomial = _entropy(
    _log_binomial,
    lambda k, n, success, failure: (jnp.zeros_like(k), k / success, (n - k) / failure),
    _binomial_bounds,
)
_negative_binomial = _entropy(
    _log_negative_binomial,
    lambda k, n, success, failure: (
        special.digamma(n + k) - special.digamma(n) + jnp.log(failure),
        k / success,
        n / failure,
    ),
    _negative_binomial_bounds,
)


def _chosen(entropy: Callable[..., Array], parameters: Parameters, variance: Array, skew: Array, last: Array) -> Array:
    """Get the sum.

    Of wide and nearly normal distributions the normal one's entropy, corrected for the squared skewness.

    What that leaves out is of the order of ``skew ** 2``. NaN where there is neither: for parameters out of range, and
    where too many counts matter.
    """
    wide = (variance > 1e6) & (skew < 1e-4)
    normal = 0.5 + _HALF_LOG_2PI + 0.5 * jnp.log(jnp.where(wide, variance, 1.0)) - jnp.where(wide, skew, 0.0) / 12
    return jnp.where(wide, normal, jnp.where(last >= 0, entropy(*parameters), jnp.nan))


def _over(x: Array, y: Array) -> Array:
    """``x / y``, and 1 where `y` is not positive, where the quotient does not matter."""
    return jnp.where(y > 0, x / jnp.where(y > 0, y, 1.0), 1.0)


@on_arrays()
def poisson_entropy(rate: Any) -> Any:
    """Return the entropy of Poisson distributions.

    Examples
    --------
    >>> from gluonx import np
    >>> poisson_entropy(np.array([1.0, 1e8])).tolist()
    [1.304842, 10.629279]
    """

    def entropy(rate: Array) -> Array:
        rate = jnp.where(rate > 0, rate, jnp.nan)
        return _chosen(_poisson, (rate,), rate, 1 / rate, _poisson_bounds(rate)[1])

    return in_floats(entropy, rate)


@on_arrays()
def binomial_entropy(n: Any, success: Any, failure: Any) -> Any:
    """Return the entropy of binomial distributions; `success` and `failure` sum to 1, and each is exact near 0.

    Examples
    --------
    >>> from gluonx import np
    >>> binomial_entropy(np.array([1.0, 0.0]), np.array(0.5), np.array(0.5)).tolist()
    [0.693147, 0.0]
    """

    def entropy(n: Array, success: Array, failure: Array) -> Array:
        rarer = jnp.where(success <= failure, success, failure)  # of many trials, its counts have fewer digits
        other = jnp.where(success <= failure, failure, success)
        parameters = jnp.where((n >= 0) & (rarer >= 0), n, jnp.nan), rarer, other
        variance = n * rarer * other
        return _chosen(
            _binomial, parameters, variance, _over((other - rarer) ** 2, variance), _binomial_bounds(*parameters)[1]
        )

    return in_floats(entropy, n, success, failure)


@on_arrays()
def negative_binomial_entropy(n: Any, success: Any, failure: Any) -> jax.Array:
    """Return the entropy of the number of successes before `n` failures; `success` and `failure` sum to 1.

    Examples
    --------
    >>> from gluonx import np
    >>> negative_binomial_entropy(np.array(1.0), np.array(0.5), np.array(0.5)).item()
    1.386294
    """

    def entropy(n: Array, success: Array, failure: Array) -> Array:
        parameters = jnp.where((n > 0) & (success >= 0) & (failure > 0), n, jnp.nan), success, failure
        variance = _over(n * success, failure**2)
        skew = _over((1 + success) ** 2, n * success)
        return _chosen(_negative_binomial, parameters, variance, skew, _negative_binomial_bounds(*parameters)[1])

    return in_floats(entropy, n, success, failure)
