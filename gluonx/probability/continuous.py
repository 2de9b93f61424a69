"""Continuous distributions of numbers.

Draws are differentiable in the parameters, by their formula or, for gamma, beta, chi-square and what is made of them,
by implicit reparametrization (Figurnov, Mohamed, Mnih 2018), which JAX's sampler of gamma numbers has.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, ClassVar

from gluonx import np
from gluonx.np.random import sample as draw
from gluonx.probability import constraint as C
from gluonx.probability.distribution import Distribution, ExponentialFamily, as_parameters
from gluonx.probability.quantiles import betaincinv, gammaincinv
from gluonx.probability.utils import betainc, betaln, gammainc, log_gamma, ndtr, ndtri, psi, where, xlog1py, xlogy

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from gluonx.np.handle import ndarray


__all__ = [
    "Beta",
    "Cauchy",
    "Chi2",
    "Exponential",
    "FisherSnedecor",
    "Gamma",
    "Gumbel",
    "Laplace",
    "Normal",
    "StudentT",
    "Uniform",
]

_HALF_LOG_2PI = 0.5 * math.log(2 * math.pi)
_EULER = 0.5772156649015329


class Normal(ExponentialFamily):
    """The normal distribution.

    Parameters
    ----------
    loc : number or ndarray
        The mean.
    scale : number or ndarray
        The standard deviation.
    validate_args : bool, optional

    Examples
    --------
    >>> Normal(0.0, 2.0).cdf(0.0)
    0.5
    """

    has_grad = True
    support = C.Real()
    arg_constraints: ClassVar = {"loc": C.Real(), "scale": C.Positive()}
    _sampler = ("normal", "loc", "scale")

    def __init__(self, loc: ArrayLike = 0.0, scale: ArrayLike = 1.0, validate_args: bool | None = None) -> None:
        self.loc, self.scale = as_parameters(loc, scale)
        super().__init__(event_dim=0, validate_args=validate_args)

    def _log_prob(self, value: float | ndarray) -> ndarray:
        return -0.5 * np.square((value - self.loc) / self.scale) - np.log(self.scale) - _HALF_LOG_2PI

    def _cdf(self, value: float | ndarray) -> ndarray:
        return ndtr((value - self.loc) / self.scale)

    def _icdf(self, value: float | ndarray) -> ndarray:
        return self.loc + self.scale * ndtri(value)

    @property
    def mean(self) -> ndarray:
        """`loc`."""
        return self._full(self.loc)

    @property
    def stddev(self) -> ndarray:
        """`scale`."""
        return self._full(self.scale)

    @property
    def variance(self) -> ndarray:
        """``scale ** 2``."""
        return self._full(self.scale**2)

    def entropy(self) -> ndarray:
        """``log(scale) + (1 + log(2 pi)) / 2``."""
        return self._full(np.log(self.scale) + (0.5 + _HALF_LOG_2PI))

    @property
    def _natural_params(self) -> tuple[Any, ...]:
        return self.loc / self.scale**2, -0.5 / self.scale**2

    def _log_normalizer(self, x: ndarray, y: ndarray) -> ndarray:
        return -0.25 * np.square(x) / y + 0.5 * np.log(-math.pi / y)

    def _mean_carrier_measure(self) -> float:
        return 0.0


class Uniform(Distribution):
    """The uniform distribution between `low` and `high`.

    Parameters
    ----------
    low, high : number or ndarray
    validate_args : bool, optional

    Examples
    --------
    >>> from gluonx import np, probability
    >>> round(probability.Uniform(0.0, 2.0).log_prob(np.array(0.5)).item(), 3)
    -0.693
    """

    has_grad = True
    arg_constraints: ClassVar = {"low": C.Real(), "high": C.Real()}
    _sampler = ("uniform", "low", "high")

    def __init__(self, low: ArrayLike = 0.0, high: ArrayLike = 1.0, validate_args: bool | None = None) -> None:
        self.low, self.high = as_parameters(low, high)
        super().__init__(event_dim=0, validate_args=validate_args)
        if self._validate_args:
            C.GreaterThan(self.low).check(self.high)

    @C.dependent_property
    def support(self) -> Any:
        """Return the interval."""
        return C.Interval(self.low, self.high)

    def _log_prob(self, value: float | ndarray) -> ndarray:
        return 0 * value - np.log(self.high - self.low)

    def _cdf(self, value: ndarray | float) -> ndarray:
        return (value - self.low) / (self.high - self.low)

    def _icdf(self, value: float | ndarray) -> ndarray:
        return self.low + value * (self.high - self.low)

    @property
    def mean(self) -> ndarray:
        """The middle."""
        return self._full((self.low + self.high) / 2)

    @property
    def variance(self) -> ndarray:
        """``(high - low) ** 2 / 12``."""
        return self._full((self.high - self.low) ** 2 / 12)

    def entropy(self) -> ndarray:
        """``log(high - low)``."""
        return self._full(np.log(self.high - self.low))


class Laplace(Distribution):
    """The Laplace distribution: two exponential ones, back to back.

    Parameters
    ----------
    loc : number or ndarray
        The mean.
    scale : number or ndarray
    validate_args : bool, optional

    Examples
    --------
    >>> from gluonx import np, probability
    >>> round(probability.Laplace().log_prob(np.array(0.5)).item(), 3)
    -1.193
    """

    has_grad = True
    support = C.Real()
    arg_constraints: ClassVar = {"loc": C.Real(), "scale": C.Positive()}
    _sampler = ("laplace", "loc", "scale")

    def __init__(self, loc: ArrayLike = 0.0, scale: ArrayLike = 1.0, validate_args: bool | None = None) -> None:
        self.loc, self.scale = as_parameters(loc, scale)
        super().__init__(event_dim=0, validate_args=validate_args)

    def _log_prob(self, value: ndarray | float) -> ndarray:
        return -np.abs(value - self.loc) / self.scale - np.log(2 * self.scale)

    def _cdf(self, value: ndarray | float) -> ndarray:
        z = (value - self.loc) / self.scale
        tail = 0.5 * np.exp(-np.abs(z))
        return where(z < 0, tail, 1 - tail)

    def _icdf(self, value: float | ndarray) -> ndarray:
        lower = value < 0.5
        depth = np.log(2 * where(lower, value, 1 - value))
        return self.loc + self.scale * where(lower, depth, -depth)

    @property
    def mean(self) -> ndarray:
        """`loc`."""
        return self._full(self.loc)

    @property
    def stddev(self) -> ndarray:
        """``sqrt(2) * scale``."""
        return self._full(math.sqrt(2) * self.scale)

    @property
    def variance(self) -> ndarray:
        """``2 * scale ** 2``."""
        return self._full(2 * self.scale**2)

    def entropy(self) -> ndarray:
        """``1 + log(2 * scale)``."""
        return self._full(1 + np.log(2 * self.scale))


class Cauchy(Distribution):
    """The Cauchy distribution, which has no mean and no variance: both are NaN.

    Parameters
    ----------
    loc : number or ndarray
        The median.
    scale : number or ndarray
        Half of the width at half of the peak's height.
    validate_args : bool, optional

    Examples
    --------
    >>> from gluonx import np, probability
    >>> round(probability.Cauchy().log_prob(np.array(0.5)).item(), 3)
    -1.368
    """

    has_grad = True
    support = C.Real()
    arg_constraints: ClassVar = {"loc": C.Real(), "scale": C.Positive()}

    def __init__(self, loc: ArrayLike = 0.0, scale: ArrayLike = 1.0, validate_args: bool | None = None) -> None:
        self.loc, self.scale = as_parameters(loc, scale)
        super().__init__(event_dim=0, validate_args=validate_args)

    def _draw(self, size: tuple[int, ...]) -> ndarray:
        angle = math.pi * draw("uniform", (-0.5, 0.5), size, self._dtype)
        return self.loc + self.scale * np.tan(angle)

    def _log_prob(self, value: ndarray) -> ndarray:
        return -np.log1p(np.square((value - self.loc) / self.scale)) - np.log(math.pi * self.scale)

    def _cdf(self, value: ndarray | float) -> ndarray:
        return np.arctan2(1.0, -(value - self.loc) / self.scale) / math.pi  # exact in the lower tail

    def _icdf(self, value: float | ndarray) -> ndarray:
        return self.loc - self.scale * np.cos(math.pi * value) / np.sin(math.pi * value)

    @property
    def mean(self) -> ndarray:
        """NaN everywhere: a Cauchy distribution has no mean."""
        return self._full(math.nan)

    @property
    def variance(self) -> ndarray:
        """NaN everywhere: a Cauchy distribution has no variance."""
        return self._full(math.nan)

    def entropy(self) -> ndarray:
        """``log(4 pi scale)``."""
        return self._full(np.log(4 * math.pi * self.scale))


class Gumbel(Distribution):
    """The Gumbel distribution: that of the largest of many numbers.

    Parameters
    ----------
    loc : number or ndarray
        The mode.
    scale : number or ndarray
    validate_args : bool, optional

    Examples
    --------
    >>> from gluonx import np, probability
    >>> round(probability.Gumbel(0.0, 1.0).log_prob(np.array(0.0)).item(), 4)
    -1.0
    """

    has_grad = True
    support = C.Real()
    arg_constraints: ClassVar = {"loc": C.Real(), "scale": C.Positive()}
    _sampler = ("gumbel", "loc", "scale")

    def __init__(self, loc: ArrayLike, scale: ArrayLike = 1, validate_args: bool | None = None) -> None:
        self.loc, self.scale = as_parameters(loc, scale)
        super().__init__(event_dim=0, validate_args=validate_args)

    def _log_prob(self, value: ndarray | float) -> ndarray:
        z = (value - self.loc) / self.scale
        return -(z + np.exp(-z)) - np.log(self.scale)

    def _cdf(self, value: ndarray | float) -> ndarray:
        return np.exp(-np.exp(-(value - self.loc) / self.scale))

    def _icdf(self, value: float | ndarray) -> ndarray:
        return self.loc - self.scale * np.log(-np.log(value))

    @property
    def mean(self) -> ndarray:
        """``loc + scale * 0.5772...``."""
        return self._full(self.loc + self.scale * _EULER)

    @property
    def stddev(self) -> ndarray:
        """``scale * pi / sqrt(6)``."""
        return self._full(self.scale * (math.pi / math.sqrt(6)))

    @property
    def variance(self) -> ndarray:
        """``scale ** 2 * pi ** 2 / 6``."""
        return self._full(self.scale**2 * (math.pi**2 / 6))

    def entropy(self) -> ndarray:
        """``log(scale) + 1.5772...``."""
        return self._full(np.log(self.scale) + (1 + _EULER))


class Exponential(ExponentialFamily):
    """The exponential distribution.

    Parameters
    ----------
    scale : number or ndarray
        The mean; ``1 / scale`` is the rate.
    validate_args : bool, optional

    Examples
    --------
    >>> from gluonx import np, probability
    >>> round(probability.Exponential(2.0).log_prob(np.array(0.5)).item(), 3)
    -0.943
    """

    has_grad = True
    support = C.NonNegative()
    arg_constraints: ClassVar = {"scale": C.Positive()}
    _sampler = ("exponential", "scale")

    def __init__(self, scale: ArrayLike = 1.0, validate_args: bool | None = None) -> None:
        (self.scale,) = as_parameters(scale)
        super().__init__(event_dim=0, validate_args=validate_args)

    @property
    def rate(self) -> Any:
        """``1 / scale``."""
        return 1 / self.scale

    def _log_prob(self, value: ndarray) -> ndarray:
        return -value / self.scale - np.log(self.scale)

    def _cdf(self, value: ndarray | float) -> ndarray:
        return -np.expm1(-value / self.scale)

    def _icdf(self, value: float | ndarray) -> ndarray:
        return -self.scale * np.log1p(-value)

    @property
    def mean(self) -> ndarray:
        """`scale`."""
        return self.scale

    @property
    def stddev(self) -> ndarray:
        """`scale`."""
        return self.scale

    @property
    def variance(self) -> ndarray:
        """``scale ** 2``."""
        return self.scale**2

    def entropy(self) -> ndarray:
        """``1 + log(scale)``."""
        return 1 + np.log(self.scale)

    @property
    def _natural_params(self) -> tuple[Any, ...]:
        return (-self.rate,)

    def _log_normalizer(self, x: ndarray) -> ndarray:
        return -np.log(-x)


class Gamma(ExponentialFamily):
    """The gamma distribution.

    Parameters
    ----------
    shape : number or ndarray
    scale : number or ndarray
        The mean is their product.
    validate_args : bool, optional

    Examples
    --------
    >>> from gluonx import np, probability
    >>> round(probability.Gamma(2.0, 1.0).log_prob(np.array(0.5)).item(), 3)
    -1.193
    """

    has_grad = True
    support = C.NonNegative()
    arg_constraints: ClassVar = {"shape": C.Positive(), "scale": C.Positive()}
    _sampler = ("gamma", "shape", "scale")

    def __init__(self, shape: ArrayLike, scale: ArrayLike = 1.0, validate_args: bool | None = None) -> None:
        self.shape, self.scale = as_parameters(shape, scale)
        super().__init__(event_dim=0, validate_args=validate_args)

    def _log_prob(self, value: ndarray) -> ndarray:
        x = value / self.scale
        return xlogy(self.shape - 1, x) - x - np.log(self.scale) - log_gamma(self.shape)

    def _cdf(self, value: ndarray | float) -> ndarray:
        return gammainc(self.shape, value / self.scale)

    def _icdf(self, value: float | ndarray) -> ndarray:
        return self.scale * gammaincinv(self.shape, value)

    @property
    def mean(self) -> ndarray:
        """``shape * scale``."""
        return self._full(self.shape * self.scale)

    @property
    def variance(self) -> ndarray:
        """``shape * scale ** 2``."""
        return self._full(self.shape * self.scale**2)

    def entropy(self) -> ndarray:
        """``shape + log(scale) + gammaln(shape) + (1 - shape) * digamma(shape)``."""
        slope = (1 - self.shape) * psi(self.shape)
        return self._full(self.shape + np.log(self.scale) + log_gamma(self.shape) + slope)

    @property
    def _natural_params(self) -> tuple[Any, ...]:
        return self.shape - 1, -1 / self.scale

    def _log_normalizer(self, x: ndarray, y: ndarray) -> ndarray:
        return log_gamma(x + 1) - (x + 1) * np.log(-y)


class Chi2(Gamma):
    """The chi-square distribution: that of the sum of the squares of `df` standard normal numbers.

    Parameters
    ----------
    df : number or ndarray
        Degrees of freedom.
    validate_args : bool, optional

    Examples
    --------
    >>> from gluonx import np, probability
    >>> round(probability.Chi2(3.0).log_prob(np.array(0.5)).item(), 3)
    -1.516
    """

    arg_constraints: ClassVar = {"df": C.Positive()}

    def __init__(self, df: ArrayLike, validate_args: bool | None = None) -> None:
        (self._df,) = as_parameters(df)
        super(Gamma, self).__init__(event_dim=0, validate_args=validate_args)

    @property
    def df(self) -> ndarray:
        """Degrees of freedom."""
        return self._df

    @property
    def shape(self) -> Any:
        """``df / 2``, the shape of the gamma distribution that it is."""
        return self.df / 2

    @property
    def scale(self) -> float:
        """2, the scale of the gamma distribution that it is."""
        return 2


class Beta(ExponentialFamily):
    """The beta distribution on the unit interval.

    Parameters
    ----------
    alpha, beta : number or ndarray
    validate_args : bool, optional

    Examples
    --------
    >>> from gluonx import np, probability
    >>> round(probability.Beta(2.0, 3.0).log_prob(np.array(0.5)).item(), 3)
    0.405
    """

    has_grad = True
    support = C.UnitInterval()
    arg_constraints: ClassVar = {"alpha": C.Positive(), "beta": C.Positive()}
    _sampler = ("beta", "alpha", "beta")

    def __init__(self, alpha: ArrayLike, beta: ArrayLike, validate_args: bool | None = None) -> None:
        self.alpha, self.beta = as_parameters(alpha, beta)
        super().__init__(event_dim=0, validate_args=validate_args)

    def _log_prob(self, value: ndarray | float) -> ndarray:
        a, b = self.alpha, self.beta
        return xlogy(a - 1, value) + xlog1py(b - 1, -value) - betaln(a, b)

    def _cdf(self, value: ndarray | float) -> ndarray:
        return betainc(self.alpha, self.beta, value)

    def _icdf(self, value: float | ndarray) -> ndarray:
        return betaincinv(self.alpha, self.beta, value)[0]

    @property
    def mean(self) -> ndarray:
        """``alpha / (alpha + beta)``."""
        return self._full(self.alpha / (self.alpha + self.beta))

    @property
    def variance(self) -> ndarray:
        """``mean * (1 - mean) / (alpha + beta + 1)``."""
        total = self.alpha + self.beta
        return self._full(self.alpha * self.beta / (total**2 * (total + 1)))

    def entropy(self) -> ndarray:
        """``betaln(alpha, beta)`` minus what the slopes of the two logarithms contribute."""
        a, b = self.alpha, self.beta
        slopes = (a - 1) * psi(a) + (b - 1) * psi(b) - (a + b - 2) * psi(a + b)
        return self._full(betaln(a, b) - slopes)

    @property
    def _natural_params(self) -> tuple[Any, ...]:
        return self.alpha - 1, self.beta - 1

    def _log_normalizer(self, x: ndarray, y: ndarray) -> ndarray:
        return betaln(x + 1, y + 1)


class StudentT(Distribution):
    """Student's t distribution.

    Parameters
    ----------
    df : number or ndarray
        Degrees of freedom.
    loc, scale : number or ndarray
        The centre and the width.
    validate_args : bool, optional

    Examples
    --------
    >>> from gluonx import np, probability
    >>> round(probability.StudentT(3.0).log_prob(np.array(0.5)).item(), 3)
    -1.161
    """

    has_grad = True
    support = C.Real()
    arg_constraints: ClassVar = {"df": C.Positive(), "loc": C.Real(), "scale": C.Positive()}

    def __init__(
        self, df: ArrayLike, loc: ArrayLike = 0.0, scale: ArrayLike = 1.0, validate_args: bool | None = None
    ) -> None:
        self.df, self.loc, self.scale = as_parameters(df, loc, scale)
        super().__init__(event_dim=0, validate_args=validate_args)

    def _draw(self, size: tuple[int, ...]) -> ndarray:
        noise = draw("normal", (0.0, 1.0), size, self._dtype)
        return self.loc + self.scale * noise * np.sqrt(self.df / draw("chisquare", (self.df,), size, self._dtype))

    def _log_prob(self, value: ndarray | float) -> ndarray:
        z, half = (value - self.loc) / self.scale, self.df / 2
        normalizer = betaln(half, 0.5) + 0.5 * np.log(self.df) + np.log(self.scale)
        return -(half + 0.5) * np.log1p(np.square(z) / self.df) - normalizer

    def _cdf(self, value: ndarray | float) -> ndarray:
        z = (value - self.loc) / self.scale
        # The tail's formula has no slope at the centre; there, and only there, the tangent stands for it.
        centre = z == 0
        away = where(centre, 1.0, z)
        tail = 0.5 * betainc(self.df / 2, 0.5, self.df / (self.df + np.square(away)))
        return where(centre, 0.5 + self._peak * z, where(away < 0, tail, 1 - tail))

    def _icdf(self, value: float | ndarray) -> ndarray:
        centre = value == 0.5  # as in `_cdf`
        away = where(centre, 0.25, value)
        lower = away < 0.5
        x, rest = betaincinv(self.df / 2, 0.5, 2 * where(lower, away, 1 - away))
        z = np.sqrt(self.df * rest / x)
        return self.loc + self.scale * where(centre, (value - 0.5) / self._peak, where(lower, -z, z))

    @property
    def _peak(self) -> Any:
        """The density at the centre, for a scale of 1."""
        return np.exp(-betaln(self.df / 2, 0.5) - 0.5 * np.log(self.df))

    @property
    def mean(self) -> ndarray:
        """`loc`; NaN for `df` up to 1."""
        return self._full(where(self.df > 1, self.loc, math.nan))

    @property
    def variance(self) -> ndarray:
        """``scale ** 2 * df / (df - 2)``; infinite for `df` up to 2, NaN up to 1."""
        finite = self.df > 2
        spread = self.scale**2 * self.df / (where(finite, self.df, 3.0) - 2)
        return self._full(where(finite, spread, where(self.df > 1, math.inf, math.nan)))

    def entropy(self) -> ndarray:
        """Return the entropy."""
        half = self.df / 2
        slopes = (half + 0.5) * (psi(half + 0.5) - psi(half))
        return self._full(slopes + 0.5 * np.log(self.df) + betaln(half, 0.5) + np.log(self.scale))


class FisherSnedecor(Distribution):
    """The F distribution: that of the ratio of two chi-square numbers, each divided by its degrees of freedom.

    Parameters
    ----------
    df1, df2 : number or ndarray
        Degrees of freedom, above and below.
    validate_args : bool, optional

    Examples
    --------
    >>> from gluonx import np, probability
    >>> round(probability.FisherSnedecor(3.0, 4.0).log_prob(np.array(0.5)).item(), 3)
    -0.571
    """

    has_grad = True
    support = C.NonNegative()
    arg_constraints: ClassVar = {"df1": C.Positive(), "df2": C.Positive()}
    _sampler = ("f", "df1", "df2")

    def __init__(self, df1: ArrayLike, df2: ArrayLike, validate_args: bool | None = None) -> None:
        self.df1, self.df2 = as_parameters(df1, df2)
        super().__init__(event_dim=0, validate_args=validate_args)

    def _log_prob(self, value: ndarray | float) -> ndarray:
        a, b, ratio = self.df1 / 2, self.df2 / 2, self.df1 / self.df2
        return xlogy(a - 1, value) + a * np.log(ratio) - (a + b) * np.log1p(ratio * value) - betaln(a, b)

    def _cdf(self, value: ndarray | float) -> ndarray:
        return betainc(self.df1 / 2, self.df2 / 2, self.df1 * value / (self.df1 * value + self.df2))

    def _icdf(self, value: float | ndarray) -> ndarray:
        x, rest = betaincinv(self.df1 / 2, self.df2 / 2, value)
        return self.df2 * x / (self.df1 * rest)

    @property
    def mean(self) -> ndarray:
        """``df2 / (df2 - 2)``; infinite for `df2` up to 2."""
        finite = self.df2 > 2
        return self._full(where(finite, self.df2 / (where(finite, self.df2, 3.0) - 2), math.inf))

    @property
    def variance(self) -> ndarray:
        """The variance; infinite for `df2` up to 4."""
        finite = self.df2 > 4
        above, below = self.df1, where(finite, self.df2, 5.0)
        value = 2 * below**2 * (above + below - 2) / (above * (below - 2) ** 2 * (below - 4))
        return self._full(where(finite, value, math.inf))

    def entropy(self) -> ndarray:
        """Return the entropy."""
        a, b = self.df1 / 2, self.df2 / 2
        slopes = (1 - a) * psi(a) - (1 + b) * psi(b) + (a + b) * psi(a + b)
        return self._full(np.log(self.df2 / self.df1) + betaln(a, b) + slopes)
