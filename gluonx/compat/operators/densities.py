"""Legacy operators that compute densities: ``_random_pdf_*``, of numbers that the operators of `random` would draw.

Parameters have shape ``s``, samples ``s + t``: the parameters of a distribution go with all its samples. Uniform
densities do not look at the sample, and a count has no gradient, as in MXNet. `beta` of the gamma distribution is a
rate here, while the operator that draws takes a scale.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from gluonx import np
from gluonx.compat.operators.row import core, row
from gluonx.errors import ShapeError

if TYPE_CHECKING:
    from gluonx.compat.operators.attrs import Attrs
    from gluonx.np.handle import ndarray


def _log_factorial(k: ndarray) -> ndarray:
    return core("gammaln", k + 1.0)


def _uniform(x: ndarray, low: ndarray, high: ndarray) -> ndarray:
    return core("zeros_like", x) - np.log(high - low)


def _normal(x: ndarray, mu: ndarray, sigma: ndarray) -> ndarray:
    return -0.5 * np.square((x - mu) / sigma) - np.log(sigma) - 0.5 * math.log(2 * math.pi)


def _gamma(x: ndarray, alpha: ndarray, beta: ndarray) -> ndarray:
    return alpha * np.log(beta) + (alpha - 1.0) * np.log(x) - beta * x - core("gammaln", alpha)


def _exponential(x: ndarray, lam: ndarray) -> ndarray:
    return np.log(lam) - lam * x


def _poisson(k: ndarray, lam: ndarray) -> ndarray:
    k = core("stop_gradient", k)
    return k * np.log(lam) - _log_factorial(k) - lam


def _negative_binomial(x: ndarray, k: ndarray, p: ndarray) -> ndarray:
    x = core("stop_gradient", x)
    count = core("gammaln", x + k) - _log_factorial(x) - core("gammaln", k)
    return count + k * np.log(p) + x * np.log(1.0 - p)


def _generalized(x: ndarray, mu: ndarray, alpha: ndarray) -> ndarray:
    return _negative_binomial(x, 1.0 / alpha, 1.0 / (mu * alpha + 1.0))


def _dirichlet(x: ndarray, alpha: ndarray) -> ndarray:
    terms = (alpha - 1.0) * np.log(x) - core("gammaln", alpha)
    return core("sum", terms, axis=-1) + core("gammaln", core("sum", alpha, axis=-1))


def _density(name: str, log_density: Callable[..., Any], parameters: str, event: int = 0) -> None:
    """Add a row; the last `event` axes of samples and parameters make one point."""

    def rule(a: Attrs, sample: ndarray, *given: ndarray) -> ndarray:
        shapes = {tuple(parameter.shape) for parameter in given}
        own = next(iter(shapes))
        batch, point = own[: len(own) - event], own[len(own) - event :]
        end = sample.ndim - event
        if len(shapes) > 1 or tuple(sample.shape[: len(batch)]) != batch or tuple(sample.shape[end:]) != point:
            raise ShapeError(
                f"random_pdf_{name}: samples of shape s + t need parameters of shape s each, got samples of shape "
                f"{tuple(sample.shape)} and {parameters} of {', '.join(str(tuple(one.shape)) for one in given)}"
            )
        wide = (*batch, *(1,) * (end - len(batch)), *point)
        logs = log_density(sample, *[core("reshape", one, newshape=wide) for one in given])
        return logs if a.is_log else np.exp(logs)

    row(
        f"_random_pdf_{name}(sample, {parameters}; is_log: bool=False)", rule, via="log exp", alias=f"random_pdf_{name}"
    )


_density("uniform", _uniform, "low, high")
_density("normal", _normal, "mu, sigma")
_density("gamma", _gamma, "alpha, beta")
_density("exponential", _exponential, "lam")
_density("poisson", _poisson, "lam")
_density("negative_binomial", _negative_binomial, "k, p")
_density("generalized_negative_binomial", _generalized, "mu, alpha")
_density("dirichlet", _dirichlet, "alpha", event=1)
