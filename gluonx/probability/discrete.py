"""Distributions of counts and of classes.

Most take either a probability or its logit, the logarithm of the odds, and compute with the one that was given.
Densities are formulas, which also hold between whole numbers: a Bernoulli distribution takes a grey pixel. Draws have
no gradient.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as onp

from gluonx import np, npx
from gluonx.np.random import sample as draw
from gluonx.probability import constraint as C
from gluonx.probability.distribution import Distribution, ExponentialFamily, as_parameters, shape_of
from gluonx.probability.quantiles import binomial_quantile, negative_binomial_quantile, poisson_quantile
from gluonx.probability.sums import binomial_entropy, negative_binomial_entropy, poisson_entropy
from gluonx.probability.utils import (
    betainc,
    gammaincc,
    log_gamma,
    logit2prob,
    prob2logit,
    sigmoid,
    softplus,
    where,
    xlog1py,
    xlogy,
)

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from gluonx.np.handle import ndarray


__all__ = [
    "Bernoulli",
    "Binomial",
    "Categorical",
    "Geometric",
    "Multinomial",
    "NegativeBinomial",
    "OneHotCategorical",
    "Poisson",
]


class ProbOrLogit(Distribution):
    """Distributions that take a probability or a logit: of a one, or along the last axis of each class.

    Raises
    ------
    ValueError
        If both or neither are given.
    """

    _binary = True

    def _take(self, prob: ArrayLike | None, logit: ArrayLike | None) -> None:
        if (prob is None) == (logit is None):
            raise ValueError(
                f"{type(self).__name__}: either `prob` or `logit` must be specified, but not both. "
                f"Received prob={prob}, logit={logit}"
            )
        self._prob, self._logit = as_parameters(prob, logit)

    @property
    def prob(self) -> Any:
        """The probability."""
        return self._prob if self._logit is None else logit2prob(self._logit, self._binary)

    @property
    def logit(self) -> ndarray:
        """The logit; of a given probability, kept finite as by :func:`prob2logit`."""
        return self._logit if self._prob is None else prob2logit(self._prob, self._binary)

    def _log_success(self, times: Any) -> float | ndarray:
        """Return `times` the logarithm of the probability of a one."""
        return xlogy(times, self._prob) if self._logit is None else -times * softplus(-self._logit)

    def _log_failure(self, times: float | ndarray) -> ndarray:
        """Return `times` the logarithm of the probability of a zero."""
        return xlog1py(times, -self._prob) if self._logit is None else -times * softplus(self._logit)

    @property
    def _failure(self) -> Any:
        """The probability of a zero."""
        return 1 - self._prob if self._logit is None else sigmoid(-self._logit)


class Bernoulli(ProbOrLogit, ExponentialFamily):
    """One with probability `prob`, else zero.

    Parameters
    ----------
    prob, logit : number or ndarray
        One of the two.
    validate_args : bool, optional

    Examples
    --------
    >>> from gluonx import np
    >>> Bernoulli(logit=np.array([0.0, 2.0])).log_prob(1).tolist()
    [-0.693147, -0.126928]
    """

    has_enumerate_support = True
    support = C.Boolean()
    arg_constraints: ClassVar = {"prob": C.Interval(0, 1), "logit": C.Real()}
    _sampler = ("bernoulli", "prob")

    def __init__(
        self, prob: ArrayLike | None = None, logit: ArrayLike | None = None, validate_args: bool | None = None
    ) -> None:
        self._take(prob, logit)
        super().__init__(event_dim=0, validate_args=validate_args)

    def _log_prob(self, value: ndarray) -> ndarray:
        return self._log_success(value) + self._log_failure(1 - value)

    def _cdf(self, value: ndarray | float) -> ndarray:
        return where(value < 1, self._failure, 1.0)

    def _icdf(self, value: float | ndarray) -> ndarray:
        failure = self._failure
        return where(value <= failure, 0.0, 1.0) + 0 * (value + failure)  # in their dtype, NaN for NaN

    def enumerate_support(self) -> ndarray:
        """0 and 1."""
        return np.stack([np.zeros(self.batch_shape, self._dtype), np.ones(self.batch_shape, self._dtype)])

    @property
    def mean(self) -> ndarray:
        """`prob`."""
        return self.prob

    @property
    def variance(self) -> ndarray:
        """``prob * (1 - prob)``."""
        return self.prob * self._failure

    def entropy(self) -> ndarray:
        """``-p * log(p) - (1 - p) * log(1 - p)``."""
        return -self._log_success(self.prob) - self._log_failure(self._failure)

    @property
    def _natural_params(self) -> tuple[Any, ...]:
        return (self.logit,)

    def _log_normalizer(self, x: ndarray) -> ndarray:
        return softplus(x)


class Geometric(ProbOrLogit):
    """Geometric distribution: the number of trials of probability `prob` that fail before one succeeds, from 0.

    Parameters
    ----------
    prob, logit : number or ndarray
        One of the two.
    validate_args : bool, optional

    Examples
    --------
    >>> from gluonx import np, probability
    >>> round(probability.Geometric(prob=0.5).log_prob(np.array(1.0)).item(), 3)
    -1.386
    """

    support = C.NonNegativeInteger()
    arg_constraints: ClassVar = {"prob": C.Interval(0, 1), "logit": C.Real()}

    def __init__(
        self, prob: ArrayLike | None = None, logit: ArrayLike | None = None, validate_args: bool | None = None
    ) -> None:
        self._take(prob, logit)
        super().__init__(event_dim=0, validate_args=validate_args)

    def _draw(self, size: tuple[int, ...]) -> ndarray:
        return draw("geometric", (self.prob,), size, self._dtype) - 1

    def _log_prob(self, value: float | ndarray) -> ndarray:
        return self._log_failure(value) + self._log_success(1)

    def _cdf(self, value: ndarray | float) -> ndarray:
        return -np.expm1(self._log_failure(np.floor(value) + 1))

    def _icdf(self, value: float | ndarray) -> ndarray:
        return negative_binomial_quantile(1.0, self.prob, value)

    @property
    def mean(self) -> ndarray:
        """``(1 - prob) / prob``."""
        return self._failure / self.prob

    @property
    def variance(self) -> ndarray:
        """``(1 - prob) / prob ** 2``."""
        return self._failure / np.square(self.prob)

    def entropy(self) -> ndarray:
        """Return the entropy of one trial, divided by `prob`."""
        return -(self._log_success(self.prob) + self._log_failure(self._failure)) / self.prob


def _log_binomial(n: ndarray, k: ndarray) -> ndarray:
    """Return the logarithm of the binomial coefficient."""
    return log_gamma(n + 1) - log_gamma(k + 1) - log_gamma(n - k + 1)


class Binomial(ProbOrLogit):
    """Binomial distribution: the number of `n` trials of probability `prob` that succeed.

    Parameters
    ----------
    n : int or ndarray
        The number of trials.
    prob, logit : number or ndarray
        One of the two.
    validate_args : bool, optional

    Raises
    ------
    ValueError
        If `n` is a number that is negative or not whole.

    Examples
    --------
    >>> from gluonx import np, probability
    >>> round(probability.Binomial(4, prob=0.5).log_prob(np.array(1.0)).item(), 3)
    -1.386
    """

    arg_constraints: ClassVar = {"n": C.NonNegativeInteger(), "prob": C.Interval(0, 1), "logit": C.Real()}
    _sampler = ("binomial", "n", "prob")

    def __init__(
        self,
        n: ArrayLike = 1,
        prob: ArrayLike | None = None,
        logit: ArrayLike | None = None,
        validate_args: bool | None = None,
    ) -> None:
        (self.n,) = as_parameters(n)
        if isinstance(self.n, (int, float)) and (self.n < 0 or self.n != int(self.n)):
            raise ValueError(f"Binomial: expect `n` to be a non-negative integer, received n={n}")
        self._take(prob, logit)
        super().__init__(event_dim=0, validate_args=validate_args)

    @C.dependent_property
    def support(self) -> Any:
        """0, 1, ..., n."""
        return C.IntegerInterval(0, self.n)

    def _log_prob(self, value: ndarray) -> ndarray:
        # In the dtype of the value: logarithms of one precision cancel.
        return _log_binomial(self.n + 0 * value, value) + self._log_success(value) + self._log_failure(self.n - value)

    def _cdf(self, value: ndarray | float) -> ndarray:
        full = np.floor(value) >= self.n
        k = where(full, 0, np.floor(value))
        return where(full, 1.0, betainc(where(full, 1, self.n - k), k + 1, self._failure))

    def _icdf(self, value: float | ndarray) -> ndarray:
        return binomial_quantile(self.n, self._failure, value)

    @property
    def mean(self) -> ndarray:
        """``n * prob``."""
        return self.n * self.prob

    @property
    def variance(self) -> ndarray:
        """``n * prob * (1 - prob)``."""
        return self.n * self.prob * self._failure

    def entropy(self) -> ndarray:
        """Return the entropy, summed over the counts."""
        return binomial_entropy(self.n, self.prob, self._failure)


class NegativeBinomial(ProbOrLogit):
    """Negative binomial distribution: the number of trials of probability `prob` that succeed before `n` fail.

    Parameters
    ----------
    n : number or ndarray
        Positive; need not be whole.
    prob, logit : number or ndarray
        One of the two.
    validate_args : bool, optional

    Examples
    --------
    >>> from gluonx import np, probability
    >>> round(probability.NegativeBinomial(3.0, prob=0.5).log_prob(np.array(1.0)).item(), 3)
    -1.674
    """

    support = C.NonNegativeInteger()
    arg_constraints: ClassVar = {"n": C.GreaterThanEq(0), "prob": C.Interval(0, 1), "logit": C.Real()}
    _sampler = ("negative_binomial", "n", "_failure")

    def __init__(
        self,
        n: ArrayLike,
        prob: ArrayLike | None = None,
        logit: ArrayLike | None = None,
        validate_args: bool | None = None,
    ) -> None:
        (self.n,) = as_parameters(n)
        self._take(prob, logit)
        super().__init__(event_dim=0, validate_args=validate_args)

    def _log_prob(self, value: ndarray | float) -> ndarray:
        ways = log_gamma(value + self.n) - log_gamma(value + 1) - log_gamma(self.n + 0 * value)
        return ways + self._log_success(value) + self._log_failure(self.n)

    def _cdf(self, value: ndarray | float) -> ndarray:
        return betainc(self.n, np.floor(value) + 1, self._failure)

    def _icdf(self, value: float | ndarray) -> ndarray:
        return negative_binomial_quantile(self.n, self._failure, value)

    @property
    def mean(self) -> ndarray:
        """``n * prob / (1 - prob)``."""
        return self.n * self.prob / self._failure

    @property
    def variance(self) -> ndarray:
        """``n * prob / (1 - prob) ** 2``."""
        return self.n * self.prob / np.square(self._failure)

    def entropy(self) -> ndarray:
        """Return the entropy, summed over the counts; NaN where more than four million of them matter."""
        return negative_binomial_entropy(self.n, self.prob, self._failure)


class Poisson(ExponentialFamily):
    """Poisson distribution: the number of independent events of which `rate` happen on average.

    Parameters
    ----------
    rate : number or ndarray
    validate_args : bool, optional

    Examples
    --------
    >>> from gluonx import np, probability
    >>> round(probability.Poisson(2.0).log_prob(np.array(1.0)).item(), 3)
    -1.307
    """

    support = C.NonNegativeInteger()
    arg_constraints: ClassVar = {"rate": C.Positive()}
    _sampler = ("poisson", "rate")

    def __init__(self, rate: ArrayLike = 1.0, validate_args: bool | None = None) -> None:
        (self.rate,) = as_parameters(rate)
        super().__init__(event_dim=0, validate_args=validate_args)

    def _log_prob(self, value: ndarray | float) -> ndarray:
        return xlogy(value, self.rate) - self.rate - log_gamma(value + 1)

    def _cdf(self, value: ndarray | float) -> ndarray:
        return gammaincc(np.floor(value) + 1, self.rate)

    def _icdf(self, value: float | ndarray) -> ndarray:
        return poisson_quantile(self.rate, value)

    @property
    def mean(self) -> ndarray:
        """`rate`."""
        return self.rate

    @property
    def variance(self) -> ndarray:
        """`rate`."""
        return self.rate

    def entropy(self) -> ndarray:
        """Return the entropy, summed over the counts."""
        return poisson_entropy(self.rate)

    @property
    def _natural_params(self) -> tuple[Any, ...]:
        return (np.log(self.rate),)

    def _log_normalizer(self, x: ndarray) -> ndarray:
        return np.exp(x)


# -- classes ----------------------------------------------------------------------------------------------------------


class Classes(ProbOrLogit):
    """Distributions over `num_events` classes, whose probabilities lie along the last axis; they need not sum to 1."""

    _binary = False
    _event_ranks: ClassVar = {"prob": 1, "logit": 1}
    arg_constraints: ClassVar = {"prob": C.Simplex(), "logit": C.Real()}

    def __init__(
        self,
        num_events: int,
        prob: ArrayLike | None,
        logit: ArrayLike | None,
        event_dim: int,
        validate_args: bool | None,
    ) -> None:
        if num_events < 1:
            raise ValueError(
                f"{type(self).__name__}: `num_events` should be greater than zero. Received num_events={num_events}"
            )
        self.num_events = int(num_events)
        self._take(prob, logit)
        given = self._prob if self._logit is None else self._logit
        if shape_of(given)[-1:] != (self.num_events,):
            raise ValueError(
                f"{type(self).__name__}: the last axis of `prob` or `logit` should be the {num_events} classes, "
                f"got shape {shape_of(given)}."
            )
        super().__init__(event_dim=event_dim, validate_args=validate_args)

    @property
    def _weights(self) -> ndarray:
        """The probabilities, which sum to 1."""
        if self._logit is None:
            return self._prob / self._prob.sum(-1, keepdims=True)
        return npx.softmax(self._logit, axis=-1)

    @property
    def _log_weights(self) -> ndarray:
        """Their logarithms; -inf where one is 0."""
        return np.log(self._weights) if self._logit is None else npx.log_softmax(self._logit, axis=-1)

    def _weighted(self, value: ndarray) -> ndarray:
        """Return the sum over the classes of `value` times the logarithm of the probability."""
        if self._logit is None:
            return xlogy(value, self._weights).sum(-1)
        return (value * self._log_weights).sum(-1)

    def _drawn(self, size: tuple[int, ...]) -> ndarray:
        """Numbers of classes, by the largest of the logits with noise (Gumbel's trick)."""
        scores = self._log_weights
        return np.argmax(scores + draw("gumbel", (0.0, 1.0), (*size, self.num_events), scores.dtype), axis=-1)

    def entropy(self) -> ndarray:
        """``-sum(p * log(p))``."""
        return -self._weighted(self._weights)


class Categorical(Classes):
    """The number of a class.

    Parameters
    ----------
    num_events : int
        The number of classes.
    prob, logit : ndarray, shape (..., num_events)
        One of the two.
    validate_args : bool, optional

    Raises
    ------
    ValueError
        If the last axis is not of that length.

    Examples
    --------
    >>> from gluonx import np
    >>> weather = Categorical(3, prob=np.array([0.5, 0.25, 0.25]))
    >>> weather.log_prob(np.array([0, 2])).tolist()
    [-0.693147, -1.386294]
    """

    has_enumerate_support = True

    def __init__(
        self,
        num_events: int,
        prob: ArrayLike | None = None,
        logit: ArrayLike | None = None,
        validate_args: bool | None = None,
    ) -> None:
        super().__init__(num_events, prob, logit, 0, validate_args)

    @C.dependent_property
    def support(self) -> Any:
        """0, 1, ..., num_events - 1."""
        return C.IntegerInterval(0, self.num_events - 1)

    def _draw(self, size: tuple[int, ...]) -> ndarray:
        return self._drawn(size)

    def _at(self, weights: ndarray, value: float | ndarray) -> ndarray:
        """Return the entries of `weights`, whose last axis is that of the classes, at the classes `value`."""
        shape = onp.broadcast_shapes(shape_of(value), self.batch_shape)
        index = np.broadcast_to(value, shape).astype("int32")
        return npx.pick(np.broadcast_to(weights, (*shape, self.num_events)), index, axis=-1)

    def _log_prob(self, value: ndarray | float) -> ndarray:
        if self._logit is None:
            return np.log(self._at(self._weights, value))
        return self._at(self._log_weights, value)

    def _cdf(self, value: ndarray | float) -> ndarray:
        return self._at(np.cumsum(self._weights, axis=-1), value)

    def _icdf(self, value: float | ndarray) -> ndarray:
        short = np.cumsum(self._weights, axis=-1)[..., :-1] < np.expand_dims(np.asarray(value), -1)
        return short.sum(-1).astype("int64")

    def enumerate_support(self) -> ndarray:
        """0, 1, ..., num_events - 1, along a new first axis."""
        batch = self.batch_shape
        numbers = np.arange(self.num_events).reshape((-1, *(1,) * len(batch)))
        return np.broadcast_to(numbers, (self.num_events, *batch))


class OneHotCategorical(Classes):
    """A class as a vector of zeros with a one at its place.

    Parameters
    ----------
    num_events : int
        The number of classes.
    prob, logit : ndarray, shape (..., num_events)
        One of the two.
    validate_args : bool, optional

    Examples
    --------
    >>> from gluonx import np, probability
    >>> probability.OneHotCategorical(2, prob=np.array([0.0, 1.0])).sample().tolist()
    [0.0, 1.0]
    """

    has_enumerate_support = True
    support = C.Simplex()

    def __init__(
        self,
        num_events: int,
        prob: ArrayLike | None = None,
        logit: ArrayLike | None = None,
        validate_args: bool | None = None,
    ) -> None:
        super().__init__(num_events, prob, logit, 1, validate_args)

    def _draw(self, size: tuple[int, ...]) -> ndarray:
        return npx.one_hot(self._drawn(size), self.num_events, dtype=self._dtype or "float32")

    def _log_prob(self, value: ndarray) -> ndarray:
        return self._weighted(value)

    def enumerate_support(self) -> ndarray:
        """Return the unit vectors, along a new first axis."""
        batch = self.batch_shape
        vectors = np.eye(self.num_events, dtype=self._dtype).reshape((-1, *(1,) * len(batch), self.num_events))
        return np.broadcast_to(vectors, (self.num_events, *batch, self.num_events))

    @property
    def mean(self) -> ndarray:
        """`prob`."""
        return self._weights

    @property
    def variance(self) -> ndarray:
        """``prob * (1 - prob)``."""
        return self._weights * (1 - self._weights)


class Multinomial(Classes):
    """Multinomial distribution: the count of each class in `total_count` draws.

    Parameters
    ----------
    num_events : int
        The number of classes.
    prob, logit : ndarray, shape (..., num_events)
        One of the two.
    total_count : int
    validate_args : bool, optional

    Raises
    ------
    ValueError
        If `total_count` is no whole number from 0 on.

    Examples
    --------
    >>> from gluonx import np, probability
    >>> probability.Multinomial(2, prob=np.array([0.0, 1.0]), total_count=3).sample().tolist()
    [0.0, 3.0]
    """

    def __init__(
        self,
        num_events: int,
        prob: ArrayLike | None = None,
        logit: ArrayLike | None = None,
        total_count: int = 1,
        validate_args: bool | None = None,
    ) -> None:
        if not isinstance(total_count, (int, onp.integer)) or total_count < 0:
            raise ValueError(f"Multinomial: expect `total_count` to be a non-negative int, got {total_count!r}.")
        self.total_count = int(total_count)
        super().__init__(num_events, prob, logit, 1, validate_args)

    @C.dependent_property
    def support(self) -> Any:
        """0, 1, ..., total_count, in each element."""
        return C.IntegerInterval(0, self.total_count)

    def _draw(self, size: tuple[int, ...]) -> ndarray:
        weights = np.broadcast_to(self._weights, (*size, self.num_events))
        trials = np.full(size, self.total_count)
        return npx.random.multinomial(trials, weights, dtype=self._dtype or "float32")

    def _log_prob(self, value: ndarray) -> ndarray:
        possible = np.logical_and(np.all(value >= 0, axis=-1), value.sum(-1) == self.total_count)
        counts = where(np.expand_dims(possible, -1), value, 0.0)
        ways = math.lgamma(self.total_count + 1) - log_gamma(counts + 1).sum(-1)
        return where(possible, ways + self._weighted(counts), -onp.inf)

    @property
    def mean(self) -> ndarray:
        """``total_count * prob``."""
        return self.total_count * self._weights

    @property
    def variance(self) -> ndarray:
        """``total_count * prob * (1 - prob)``."""
        return self.total_count * self._weights * (1 - self._weights)

    def entropy(self) -> ndarray:
        """Return the entropy.

        A class is drawn as often as a binomial number says, so that only the factorials of the counts need a sum over
        all of ``0, 1, ..., total_count``.
        """
        weights, count = self._weights, self.total_count
        counts = np.arange(count + 1, dtype=weights.dtype).reshape((-1, *(1,) * len(weights.shape)))
        factorials = log_gamma(counts + 1)
        mass = np.exp(
            math.lgamma(count + 1)
            - factorials
            - log_gamma(count - counts + 1)
            + xlogy(counts, weights)
            + xlog1py(count - counts, -weights)
        )
        return -math.lgamma(count + 1) - count * self._weighted(weights) + (mass * factorials).sum(0).sum(-1)
