"""Distributions that are a transformation of a simpler one, with formulas of their own where those are more exact."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, ClassVar

from gluonx import np, npx
from gluonx.np.random import sample as draw
from gluonx.probability import constraint as C
from gluonx.probability.combined import TransformedDistribution
from gluonx.probability.continuous import Cauchy, Exponential, Normal
from gluonx.probability.discrete import Classes, ProbOrLogit
from gluonx.probability.distribution import as_parameters, shape_of
from gluonx.probability.transformation import (
    AbsTransform,
    AffineTransform,
    ExpTransform,
    PowerTransform,
    SigmoidTransform,
)
from gluonx.probability.utils import log_gamma, sigmoid, softplus, where, xlogy

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from gluonx.np.handle import ndarray


__all__ = ["HalfCauchy", "HalfNormal", "Pareto", "RelaxedBernoulli", "RelaxedOneHotCategorical", "Weibull"]

_EULER = 0.5772156649015329


class HalfNormal(TransformedDistribution):
    """The distribution of the absolute value of a normal number of mean 0.

    Parameters
    ----------
    scale : number or ndarray
        The standard deviation of the normal number.
    validate_args : bool, optional

    Examples
    --------
    >>> from gluonx import np, probability
    >>> round(probability.HalfNormal().log_prob(np.array(0.5)).item(), 3)
    -0.351
    """

    has_grad = True  # type: ignore[assignment]
    support = C.NonNegative()
    arg_constraints: ClassVar = {"scale": C.Positive()}

    def __init__(self, scale: ArrayLike = 1.0, validate_args: bool | None = None) -> None:
        (self.scale,) = as_parameters(scale)
        super().__init__(Normal(0.0, self.scale), AbsTransform(), validate_args)

    @property
    def loc(self) -> ndarray | float:
        """The mean of the normal number, 0."""
        return self._full(0.0)

    def _log_prob(self, value: ndarray | float) -> ndarray:
        return self._base_dist._log_prob(value) + math.log(2)

    def _cdf(self, value: ndarray | float) -> ndarray:
        return npx.erf(value / (self.scale * math.sqrt(2)))

    def _icdf(self, value: float | ndarray) -> ndarray:
        return self.scale * math.sqrt(2) * npx.erfinv(value)

    @property
    def mean(self) -> ndarray:
        """``scale * sqrt(2 / pi)``."""
        return self.scale * math.sqrt(2 / math.pi)

    @property
    def variance(self) -> ndarray:
        """``scale ** 2 * (1 - 2 / pi)``."""
        return self.scale**2 * (1 - 2 / math.pi)

    def entropy(self) -> ndarray:
        """Return that of the normal number, less ``log(2)``."""
        return self._base_dist.entropy() - math.log(2)


class HalfCauchy(TransformedDistribution):
    """The distribution of the absolute value of a Cauchy number; its mean and its variance are infinite.

    Parameters
    ----------
    scale : number or ndarray
        The median.
    validate_args : bool, optional

    Examples
    --------
    >>> from gluonx import np, probability
    >>> round(probability.HalfCauchy().log_prob(np.array(0.5)).item(), 3)
    -0.675
    """

    has_grad = True  # type: ignore[assignment]
    support = C.NonNegative()
    arg_constraints: ClassVar = {"scale": C.Positive()}

    def __init__(self, scale: ArrayLike = 1.0, validate_args: bool | None = None) -> None:
        (self.scale,) = as_parameters(scale)
        super().__init__(Cauchy(0.0, self.scale), AbsTransform(), validate_args)

    def _log_prob(self, value: ndarray | float) -> ndarray:
        return self._base_dist._log_prob(value) + math.log(2)

    def _cdf(self, value: ndarray | float) -> ndarray:
        return 2 / math.pi * np.arctan(value / self.scale)

    def _icdf(self, value: float | ndarray) -> ndarray:
        return self.scale * np.tan(0.5 * math.pi * value)

    @property
    def mean(self) -> ndarray:
        """Infinity."""
        return self._full(math.inf)

    @property
    def variance(self) -> ndarray:
        """Infinity."""
        return self._full(math.inf)

    def entropy(self) -> ndarray:
        """``log(2 pi scale)``."""
        return self._base_dist.entropy() - math.log(2)


class Pareto(TransformedDistribution):
    """The Pareto distribution: numbers from `scale` on, of a density that falls as a power.

    Parameters
    ----------
    alpha : number or ndarray
        The larger, the faster it falls.
    scale : number or ndarray
        The smallest number.
    validate_args : bool, optional

    Examples
    --------
    >>> from gluonx import np, probability
    >>> round(probability.Pareto(3.0).log_prob(np.array(1.5)).item(), 3)
    -0.523
    """

    has_grad = True  # type: ignore[assignment]
    arg_constraints: ClassVar = {"alpha": C.Positive(), "scale": C.Positive()}

    def __init__(self, alpha: ArrayLike, scale: ArrayLike = 1.0, validate_args: bool | None = None) -> None:
        self.alpha, self.scale = as_parameters(alpha, scale)
        super().__init__(Exponential(1 / self.alpha), [ExpTransform(), AffineTransform(0.0, self.scale)], validate_args)

    @C.dependent_property
    def support(self) -> Any:
        """Return the numbers from `scale` on."""
        return C.GreaterThanEq(self.scale)

    def _draw(self, size: tuple[int, ...]) -> ndarray:
        return self.scale * (1 + draw("pareto", (self.alpha,), size, self._dtype))

    def _log_prob(self, value: ndarray | float) -> ndarray:
        return np.log(self.alpha / self.scale) - (self.alpha + 1) * np.log(value / self.scale)

    def _cdf(self, value: ndarray | float) -> ndarray:
        return -np.expm1(-self.alpha * np.log(value / self.scale))

    def _icdf(self, value: float | ndarray) -> ndarray:
        return self.scale * np.exp(-np.log1p(-value) / self.alpha)

    @property
    def mean(self) -> ndarray:
        """``alpha * scale / (alpha - 1)``; infinite for `alpha` up to 1."""
        finite = self.alpha > 1
        alpha = where(finite, self.alpha, 2.0)
        return self._full(where(finite, alpha * self.scale / (alpha - 1), math.inf))

    @property
    def variance(self) -> ndarray:
        """The variance; infinite for `alpha` up to 2."""
        finite = self.alpha > 2
        alpha = where(finite, self.alpha, 3.0)
        return self._full(where(finite, self.scale**2 * alpha / ((alpha - 1) ** 2 * (alpha - 2)), math.inf))

    def entropy(self) -> ndarray:
        """``log(scale / alpha) + 1 / alpha + 1``."""
        return self._full(np.log(self.scale / self.alpha) + 1 / self.alpha + 1)


class Weibull(TransformedDistribution):
    """The Weibull distribution: a power of an exponential number.

    Parameters
    ----------
    concentration : number or ndarray
        The power is its inverse.
    scale : number or ndarray
    validate_args : bool, optional

    Examples
    --------
    >>> from gluonx import np, probability
    >>> round(probability.Weibull(2.0).log_prob(np.array(0.5)).item(), 3)
    -0.25
    """

    has_grad = True  # type: ignore[assignment]
    support = C.NonNegative()
    arg_constraints: ClassVar = {"concentration": C.Positive(), "scale": C.Positive()}

    def __init__(self, concentration: ArrayLike, scale: ArrayLike = 1.0, validate_args: bool | None = None) -> None:
        self.concentration, self.scale = as_parameters(concentration, scale)
        power = PowerTransform(1 / self.concentration)
        super().__init__(Exponential(1.0), [power, AffineTransform(0.0, self.scale)], validate_args)

    def _draw(self, size: tuple[int, ...]) -> ndarray:
        return self.scale * draw("weibull", (self.concentration,), size, self._dtype)

    def _log_prob(self, value: ndarray) -> ndarray:
        k, x = self.concentration, value / self.scale
        return np.log(k / self.scale) + xlogy(k - 1, x) - np.power(x, k)

    def _cdf(self, value: ndarray | float) -> ndarray:
        return -np.expm1(-np.power(value / self.scale, self.concentration))

    def _icdf(self, value: float | ndarray) -> ndarray:
        return self.scale * np.power(-np.log1p(-value), 1 / self.concentration)

    @property
    def mean(self) -> ndarray:
        """``scale * gamma(1 + 1 / concentration)``."""
        return self._full(self.scale * np.exp(log_gamma(1 + 1 / self.concentration)))

    @property
    def variance(self) -> ndarray:
        """The variance."""
        first, second = (np.exp(log_gamma(1 + n / self.concentration)) for n in (1, 2))
        return self._full(self.scale**2 * (second - np.square(first)))

    def entropy(self) -> ndarray:
        """Return the entropy."""
        k = self.concentration
        return self._full(_EULER * (1 - 1 / k) + np.log(self.scale / k) + 1)


class _LogitRelaxedBernoulli(ProbOrLogit):
    """The logistic distribution that a relaxed Bernoulli number has before its sigmoid."""

    has_grad = True
    support = C.Real()
    arg_constraints: ClassVar = {"T": C.Positive(), "prob": C.Interval(0, 1), "logit": C.Real()}

    def __init__(
        self, T: ArrayLike, prob: ArrayLike | None, logit: ArrayLike | None, validate_args: bool | None
    ) -> None:
        (self.T,) = as_parameters(T)
        self._take(prob, logit)
        super().__init__(event_dim=0, validate_args=validate_args)

    def _draw(self, size: tuple[int, ...]) -> ndarray:
        return (self.logit + draw("logistic", (0.0, 1.0), size, self._dtype)) / self.T

    def _log_prob(self, value: ndarray | float) -> ndarray:
        z = self.logit - value * self.T
        return np.log(self.T) + z - 2 * softplus(z)

    def _cdf(self, value: ndarray | float) -> ndarray:
        return sigmoid(value * self.T - self.logit)

    def _icdf(self, value: float | ndarray) -> ndarray:
        return (self.logit + np.log(value) - np.log1p(-value)) / self.T


class _LogRelaxedOneHotCategorical(Classes):
    """The logarithm of a relaxed one-hot vector."""

    has_grad = True
    arg_constraints: ClassVar = {"T": C.Positive(), "prob": C.Simplex(), "logit": C.Real()}

    def __init__(
        self, T: ArrayLike, num_events: int, prob: ArrayLike | None, logit: ArrayLike | None, validate_args: bool | None
    ) -> None:
        (self.T,) = as_parameters(T)
        super().__init__(num_events, prob, logit, 1, validate_args)

    @property
    def _temperature(self) -> float | ndarray:
        """With an axis for the classes."""
        return np.expand_dims(self.T, -1) if shape_of(self.T) else self.T

    def _draw(self, size: tuple[int, ...]) -> ndarray:
        noise = draw("gumbel", (0.0, 1.0), (*size, self.num_events), self._dtype)
        return npx.log_softmax((self.logit + noise) / self._temperature, axis=-1)

    def _log_prob(self, value: ndarray | float) -> ndarray:
        count, scores = self.num_events, self.logit - self._temperature * value
        total = scores.sum(-1) - count * npx.logsumexp(scores, axis=-1)
        return math.lgamma(count) + (count - 1) * np.log(self.T) + total


class _Relaxed(TransformedDistribution):
    """Base of the relaxed distributions, whose parameters are those of the base distribution."""

    has_grad = True  # type: ignore[assignment]
    _base_dist: Any

    @property
    def T(self) -> float | ndarray:
        """The temperature."""
        return self._base_dist.T

    @property
    def prob(self) -> Any:
        """The probabilities."""
        return self._base_dist.prob

    @property
    def logit(self) -> ndarray | float:
        """The logits."""
        return self._base_dist.logit

    def _parameters(self) -> str:
        return self._base_dist._parameters()


class RelaxedBernoulli(_Relaxed):
    """A Bernoulli number made continuous, so that gradients flow through draws.

    From Maddison, Mnih, Teh: The Concrete Distribution (2017).

    Parameters
    ----------
    T : number or ndarray
        The temperature: the lower, the nearer are draws to 0 or 1.
    prob, logit : number or ndarray
        One of the two.
    validate_args : bool, optional

    Examples
    --------
    >>> from gluonx import np, probability
    >>> draw = probability.RelaxedBernoulli(0.1, prob=np.array([0.3, 0.7])).sample()
    >>> bool(((draw >= 0) & (draw <= 1)).all())
    True
    """

    support = C.OpenInterval(0, 1)
    arg_constraints: ClassVar = {"prob": C.Interval(0, 1), "logit": C.Real()}

    def __init__(
        self,
        T: ArrayLike,
        prob: ArrayLike | None = None,
        logit: ArrayLike | None = None,
        validate_args: bool | None = None,
    ) -> None:
        super().__init__(_LogitRelaxedBernoulli(T, prob, logit, validate_args), SigmoidTransform(), validate_args)


class RelaxedOneHotCategorical(_Relaxed):
    """A one-hot vector made continuous, so that gradients flow through draws.

    From Jang, Gu, Poole: Categorical Reparameterization with Gumbel-Softmax (2017).

    Parameters
    ----------
    T : number or ndarray
        The temperature: the lower, the nearer are draws to one-hot vectors.
    num_events : int
        The number of classes.
    prob, logit : ndarray, shape (..., num_events)
        One of the two.
    validate_args : bool, optional

    Examples
    --------
    >>> from gluonx import np
    >>> relaxed = RelaxedOneHotCategorical(0.5, 3, prob=np.array([0.2, 0.3, 0.5]))
    >>> bool(np.abs(relaxed.sample_n(4).sum(-1) - 1).max() < 1e-5)
    True
    """

    support = C.Simplex()
    arg_constraints: ClassVar = {"prob": C.Simplex(), "logit": C.Real()}

    def __init__(
        self,
        T: ArrayLike,
        num_events: int,
        prob: ArrayLike | None = None,
        logit: ArrayLike | None = None,
        validate_args: bool | None = None,
    ) -> None:
        base = _LogRelaxedOneHotCategorical(T, num_events, prob, logit, validate_args)
        super().__init__(base, ExpTransform(), validate_args)

    @property
    def num_events(self) -> int:
        """The number of classes."""
        return self._base_dist.num_events
