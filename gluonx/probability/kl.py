"""Kullback-Leibler divergences: formulas in a table by the classes of the two distributions, and estimates."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from gluonx import np, npx
from gluonx.probability.combined import Independent
from gluonx.probability.continuous import Beta, Cauchy, Exponential, Gamma, Gumbel, Laplace, Normal, Uniform
from gluonx.probability.discrete import (
    Bernoulli,
    Binomial,
    Categorical,
    Classes,
    Geometric,
    NegativeBinomial,
    OneHotCategorical,
    Poisson,
    ProbOrLogit,
)
from gluonx.probability.distribution import NUMBERS, Distribution
from gluonx.probability.multivariate import Dirichlet, MultivariateNormal
from gluonx.probability.transformed import HalfNormal, Pareto
from gluonx.probability.utils import betaln, log_gamma, psi, solve_lower, sum_right_most, where, xlogy

if TYPE_CHECKING:
    from gluonx.np.handle import ndarray


__all__ = ["empirical_kl", "kl_divergence", "register_kl"]

_EULER = 0.5772156649015329

Formula = Callable[[Any, Any], Any]
_FORMULAS: dict[tuple[type, type], Formula] = {}


def register_kl(typeP: type, typeQ: type) -> Callable[[Formula], Formula]:
    """Register the divergence of two classes of distributions; a decorator.

    Parameters
    ----------
    typeP, typeQ : type
        Classes of distributions: those of `p` and `q` in the formula ``f(p, q)``, subclasses included.

    Returns
    -------
    callable
        A decorator, which returns the formula itself.

    Raises
    ------
    TypeError
        If one of them is no such class.

    Examples
    --------
    >>> from gluonx import probability
    >>> class Fixed(probability.Normal):
    ...     pass
    >>> @register_kl(Fixed, Fixed)
    ... def same(p, q):
    ...     return 0.0
    >>> kl_divergence(Fixed(), Fixed())
    0.0
    """
    for cls in (typeP, typeQ):
        if not (isinstance(cls, type) and issubclass(cls, Distribution)):
            raise TypeError(f"register_kl takes two classes of distributions, got {cls!r}.")

    def decorate(formula: Formula) -> Formula:
        _FORMULAS[typeP, typeQ] = formula
        return formula

    return decorate


def kl_divergence(p: Distribution, q: Distribution) -> Any:
    """Return the Kullback-Leibler divergence: the mean, over draws of `p`, of ``p.log_prob(x) - q.log_prob(x)``.

    Parameters
    ----------
    p, q : Distribution
        Their batch shapes broadcast.

    Returns
    -------
    ndarray
        Of the batch shape. A number if all parameters are numbers. Infinite where `q` does not hold all of `p`.

    Raises
    ------
    NotImplementedError
        If there is no formula for the two classes; :func:`empirical_kl` estimates it.
    ValueError
        If there is none for these parameters: two NegativeBinomials of other `n`, and two Binomials where `n` is an
        array and `q` has more trials than `p`.

    Examples
    --------
    >>> from gluonx import np, probability
    >>> kl_divergence(probability.Normal(np.zeros(2), 1.0), probability.Normal(1.0, 2.0)).tolist()
    [0.443147, 0.443147]
    """
    best: tuple[int, Formula] | None = None
    for (left, right), formula in _FORMULAS.items():
        if isinstance(p, left) and isinstance(q, right):
            distance = type(p).__mro__.index(left) + type(q).__mro__.index(right)
            if best is None or distance < best[0]:
                best = distance, formula
    if best is None:
        raise NotImplementedError(
            f"KL divergence between {type(p).__name__} and {type(q).__name__} is not implemented."
        )
    return best[1](p, q)


def empirical_kl(p: Distribution, q: Distribution, n_samples: int = 1) -> Any:
    """Estimate the divergence by draws of `p`.

    Parameters
    ----------
    p, q : Distribution
    n_samples : int
        How many draws the mean is taken over.

    Returns
    -------
    ndarray
        Of the batch shape.

    Examples
    --------
    >>> from gluonx import np, probability
    >>> p = probability.Normal(np.array(0.0), np.array(1.0))
    >>> probability.empirical_kl(p, p, 10).item()
    0.0
    """
    drawn = p.sample_n(n_samples)
    return np.mean(p.log_prob(drawn) - q.log_prob(drawn), axis=0)


# -- of one family ----------------------------------------------------------------------------------------------------


@register_kl(Normal, Normal)
def _normal_normal(p: Normal, q: Normal) -> float | ndarray:
    ratio = np.square(p.scale / q.scale)
    return 0.5 * (ratio + np.square((p.loc - q.loc) / q.scale) - 1 - np.log(ratio))


@register_kl(HalfNormal, HalfNormal)
def _half_normal_half_normal(p: HalfNormal, q: HalfNormal) -> float | ndarray:
    ratio = np.square(p.scale / q.scale)
    return 0.5 * (ratio - 1 - np.log(ratio))


@register_kl(Laplace, Laplace)
def _laplace_laplace(p: Laplace, q: Laplace) -> float | ndarray:
    apart = np.abs(p.loc - q.loc)
    return np.log(q.scale / p.scale) + (apart + p.scale * np.exp(-apart / p.scale)) / q.scale - 1


@register_kl(Cauchy, Cauchy)
def _cauchy_cauchy(p: Cauchy, q: Cauchy) -> float | ndarray:
    apart = np.square(p.loc - q.loc) + np.square(p.scale + q.scale)
    return np.log(apart / (4 * p.scale * q.scale))


@register_kl(Uniform, Uniform)
def _uniform_uniform(p: Uniform, q: Uniform) -> float | ndarray:
    held = np.logical_and(q.low <= p.low, p.high <= q.high)
    return where(held, np.log((q.high - q.low) / (p.high - p.low)), math.inf)


@register_kl(Exponential, Exponential)
def _exponential_exponential(p: Exponential, q: Exponential) -> float | ndarray:
    ratio = p.scale / q.scale
    return ratio - 1 - np.log(ratio)


@register_kl(Gumbel, Gumbel)
def _gumbel_gumbel(p: Gumbel, q: Gumbel) -> float | ndarray:
    ratio, apart = p.scale / q.scale, (p.loc - q.loc) / q.scale
    return -np.log(ratio) + _EULER * (ratio - 1) + apart + np.exp(log_gamma(1 + ratio) - apart) - 1


@register_kl(Pareto, Pareto)
def _pareto_pareto(p: Pareto, q: Pareto) -> float | ndarray:
    ratio = q.alpha / p.alpha
    value = q.alpha * np.log(p.scale / q.scale) - np.log(ratio) + ratio - 1
    return where(q.scale <= p.scale, value, math.inf)


@register_kl(Gamma, Gamma)
def _gamma_gamma(p: Gamma, q: Gamma) -> float | ndarray:
    logs = log_gamma(q.shape) - log_gamma(p.shape) + q.shape * np.log(q.scale / p.scale)
    return logs + (p.shape - q.shape) * psi(p.shape) + p.shape * (p.scale / q.scale - 1)


@register_kl(Beta, Beta)
def _beta_beta(p: Beta, q: Beta) -> float | ndarray:
    a, b = p.alpha - q.alpha, p.beta - q.beta
    slopes = a * psi(p.alpha) + b * psi(p.beta) - (a + b) * psi(p.alpha + p.beta)
    return betaln(q.alpha, q.beta) - betaln(p.alpha, p.beta) + slopes


@register_kl(Dirichlet, Dirichlet)
def _dirichlet_dirichlet(p: Dirichlet, q: Dirichlet) -> ndarray:
    def log_norm(alpha: ndarray) -> ndarray:
        return log_gamma(alpha).sum(-1) - log_gamma(alpha.sum(-1))

    slopes = psi(p.alpha) - psi(p.alpha.sum(-1, keepdims=True))
    return log_norm(q.alpha) - log_norm(p.alpha) + ((p.alpha - q.alpha) * slopes).sum(-1)


@register_kl(MultivariateNormal, MultivariateNormal)
def _mvn_mvn(p: MultivariateNormal, q: MultivariateNormal) -> ndarray:
    root, other = p.scale_tril, q.scale_tril
    trace = np.square(solve_lower(other, root)).sum((-2, -1))
    apart = np.square(solve_lower(other, np.expand_dims(p.loc - q.loc, -1))).sum((-2, -1))
    logs = q._half_log_det(other) - p._half_log_det(root)
    return logs + 0.5 * (trace + apart - p.event_shape[0])


def _check(held: ndarray | bool, message: str) -> None:
    """Raise ValueError if a condition does not hold; in a hybridized block, as soon as its result is computed."""
    if isinstance(held, np.ndarray):
        npx.constraint_check(held, message)
    elif not held:
        raise ValueError(message)


def _trial(p: ProbOrLogit, q: ProbOrLogit) -> Any:
    """Return the divergence of one trial."""
    one = p._log_success(p.prob) - q._log_success(p.prob)
    return one + p._log_failure(p._failure) - q._log_failure(p._failure)


@register_kl(Bernoulli, Bernoulli)
def _bernoulli_bernoulli(p: Bernoulli, q: Bernoulli) -> float | ndarray:
    return _trial(p, q)


@register_kl(Geometric, Geometric)
def _geometric_geometric(p: Geometric, q: Geometric) -> float | ndarray:
    return _trial(p, q) / p.prob


@register_kl(Binomial, Binomial)
def _binomial_binomial(p: Binomial, q: Binomial) -> Any:
    if p.n is q.n:
        return p.n * _trial(p, q)
    if isinstance(p.n, NUMBERS) and isinstance(q.n, NUMBERS) and int(p.n) < int(q.n):
        counts = np.arange(int(p.n) + 1, dtype=p._dtype)
        counts = counts.reshape((-1, *(1,) * max(len(p.batch_shape), len(q.batch_shape))))
        ours = p.log_prob(counts)
        # What has no probability adds nothing, and would be a NaN: 0 times an infinity.
        return where(np.isneginf(ours), 0.0, np.exp(ours) * (ours - q.log_prob(counts))).sum(0)
    _check(
        np.greater_equal(p.n, q.n),
        "kl_divergence(p, q) of two Binomials: q.n should not be more than p.n where they are arrays, of which there "
        "is no sum of one length. Give both n as int, or estimate it by empirical_kl",
    )
    # With fewer trials than p, q does not hold all of p. NaN is for exported programs, in which nothing is checked.
    other = where(np.greater(p.n, q.n), math.inf, math.nan)
    return where(np.equal(p.n, q.n), p.n * _trial(p, q), other)


@register_kl(NegativeBinomial, NegativeBinomial)
def _negative_binomial_negative_binomial(p: NegativeBinomial, q: NegativeBinomial) -> float | ndarray:
    value = p.n * _trial(p, q) / p._failure
    if p.n is q.n:
        return value
    _check(
        np.equal(p.n, q.n),
        "kl_divergence(p, q) of two NegativeBinomials: p.n and q.n should be equal, there is no formula for others. "
        "Estimate it by empirical_kl",
    )
    return where(np.equal(p.n, q.n), value, math.nan)


@register_kl(Poisson, Poisson)
def _poisson_poisson(p: Poisson, q: Poisson) -> float | ndarray:
    return xlogy(p.rate, p.rate) - xlogy(p.rate, q.rate) - (p.rate - q.rate)


def _classes(p: Classes, q: Classes) -> ndarray:
    return p._weighted(p._weights) - q._weighted(p._weights)


register_kl(Categorical, Categorical)(_classes)
register_kl(OneHotCategorical, OneHotCategorical)(_classes)


@register_kl(Independent, Independent)
def _independent_independent(p: Independent, q: Independent) -> float | ndarray:
    taken = p.reinterpreted_batch_ndims
    if taken != q.reinterpreted_batch_ndims:
        raise NotImplementedError(
            f"KL divergence between {p!r} and {q!r} is not implemented: their events have other axes."
        )
    return sum_right_most(kl_divergence(p.base_dist, q.base_dist), taken)


# -- of two families --------------------------------------------------------------------------------------------------


@register_kl(Uniform, Normal)
def _uniform_normal(p: Uniform, q: Normal) -> float | ndarray:
    width = p.high - p.low
    middle = np.square(((p.high + p.low) / 2 - q.loc) / q.scale)
    return 0.5 * (math.log(2 * math.pi) + np.square(width / q.scale) / 12 + middle) - np.log(width / q.scale)


@register_kl(Uniform, Gumbel)
def _uniform_gumbel(p: Uniform, q: Gumbel) -> float | ndarray:
    width = (p.high - p.low) / q.scale
    low, high = (p.low - q.loc) / q.scale, (p.high - q.loc) / q.scale
    return (low + high) / 2 + (np.exp(-low) - np.exp(-high)) / width - np.log(width)


@register_kl(Exponential, Normal)
def _exponential_normal(p: Exponential, q: Normal) -> float | ndarray:
    ratio = p.scale / q.scale
    apart = np.square(ratio) + 0.5 * np.square(q.loc / q.scale) - p.scale * q.loc / q.scale**2
    return 0.5 * math.log(2 * math.pi) - 1 - np.log(ratio) + apart


@register_kl(Exponential, Gumbel)
def _exponential_gumbel(p: Exponential, q: Gumbel) -> float | ndarray:
    ratio, start = p.scale / q.scale, q.loc / q.scale
    return ratio - start - 1 - np.log(ratio) + np.exp(start) / (1 + ratio)


@register_kl(Exponential, Gamma)
def _exponential_gamma(p: Exponential, q: Gamma) -> float | ndarray:
    ratio = p.scale / q.scale
    return ratio - 1 - q.shape * np.log(ratio) + log_gamma(q.shape) + (q.shape - 1) * _EULER
