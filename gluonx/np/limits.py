"""The bounds of the parameters of random distributions.

With a number out of range, such as a scale of -1, the draws would look right, or be NaN. Values that are known when a
draw is asked for are compared with the bounds: numbers, NumPy arrays and lists, and computed arrays. Pending arrays,
while recording or in a hybridized block, are not computed for it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax
import numpy as np

from gluonx.deferred.values.core import Handle, HostArray, Tracer
from gluonx.deferred.values.vectors import Packed
from gluonx.errors import ShapeError

_POSITIVE, _NOT_NEGATIVE, _PROBABILITY = ("be above 0", lambda v: v > 0), ("not be negative", lambda v: v >= 0), (
    "be between 0 and 1",
    lambda v: (v >= 0) & (v <= 1),
)  # fmt: skip
_CHANCE = ("be above 0 and at most 1", lambda v: (v > 0) & (v <= 1))

# For the functions of np.random: the bounds of the parameters, in order.
LIMITS: dict[str, dict[str, Any]] = {
    "normal": {"loc": None, "scale": _NOT_NEGATIVE},
    "lognormal": {"mean": None, "sigma": _NOT_NEGATIVE},
    "logistic": {"loc": None, "scale": _NOT_NEGATIVE},
    "gumbel": {"loc": None, "scale": _NOT_NEGATIVE},
    "laplace": {"loc": None, "scale": _NOT_NEGATIVE},
    "exponential": {"scale": _NOT_NEGATIVE},
    "rayleigh": {"scale": _NOT_NEGATIVE},
    "gamma": {"shape": _POSITIVE, "scale": _POSITIVE},
    "beta": {"a": _POSITIVE, "b": _POSITIVE},
    "chisquare": {"df": _POSITIVE},
    "f": {"dfnum": _POSITIVE, "dfden": _POSITIVE},
    "weibull": {"a": _POSITIVE},
    "pareto": {"a": _POSITIVE},
    "power": {"a": _POSITIVE},
    "poisson": {"lam": _NOT_NEGATIVE},
    "binomial": {"n": _NOT_NEGATIVE, "p": _PROBABILITY},
    "geometric": {"p": _CHANCE},
    "bernoulli": {"prob": _PROBABILITY},
    "dirichlet": {"alpha": _POSITIVE},
}
# For those of mx.random and mx.nd.random, whose uniform and randint also compare their two bounds.
OLD_LIMITS: dict[str, dict[str, Any]] = {
    "normal": {"loc": None, "scale": _POSITIVE},
    "gamma": {"alpha": _POSITIVE, "beta": _POSITIVE},
    "exponential": {"lam": _POSITIVE},
    "poisson": {"lam": _NOT_NEGATIVE},
    "binomial": {"n": _NOT_NEGATIVE, "p": _PROBABILITY},
    "negative_binomial": {"k": _NOT_NEGATIVE, "p": _PROBABILITY},
    "generalized_negative_binomial": {"mu": _NOT_NEGATIVE, "alpha": _NOT_NEGATIVE},
}


def _known(value: object) -> Any:
    """Return the value of a parameter on the host; None if it is not computed."""
    if isinstance(value, Handle):
        value = value.value
        if type(value) is Packed:
            return None
        if type(value) is HostArray:
            return value.array
    if isinstance(value, Tracer):
        return None
    if isinstance(value, jax.Array):
        return np.asarray(value) if value.is_fully_addressable else None
    return value if isinstance(value, (int, float, np.ndarray, np.generic)) else None


def check(owner: str, limits: dict[str, Any], values: Sequence[Any]) -> None:
    """Raise if parameters of a distribution are out of range.

    Parameters
    ----------
    owner : str
        The function's name, for the message.
    limits : dict
        The bounds of the parameters, in the order of `values`.
    values : sequence
        Numbers and arrays.

    Raises
    ------
    ShapeError
        A ValueError, and MXNet's error too.
    """
    for (name, limit), value in zip(limits.items(), values, strict=False):
        known = _known(value)
        if limit is None or known is None:
            continue
        text, holds = limit
        good = holds(known)
        if not (good if isinstance(good, bool) else np.all(good)):
            shown = known if np.ndim(known) == 0 else np.asarray(known)[~np.asarray(good)].flat[0]
            raise ShapeError(f"{owner}: {name} must {text}, got {shown}.")


def check_old(owner: str, law: str, values: Sequence[Any]) -> None:
    """Raise if the numbers given to a distribution of ``mx.random`` or ``mx.nd.random`` are out of range.

    Raises
    ------
    ShapeError
        A ValueError, and MXNet's error too.
    """
    if not all(isinstance(v, (int, float)) for v in values):
        return
    if law in OLD_LIMITS:
        check(owner, OLD_LIMITS[law], values)
    elif law == "uniform" and values[1] < values[0]:
        raise ShapeError(f"{owner}: low must not be above high, got low={values[0]}, high={values[1]}.")
    elif law == "randint" and values[1] <= values[0]:
        raise ShapeError(f"{owner}: high must be larger than low, got low={values[0]}, high={values[1]}.")


def check_probabilities(owner: str, values: object) -> None:
    """Raise if the probabilities in the last axis sum to more than 1, apart from rounding.

    Raises
    ------
    ShapeError
        A ValueError, and MXNet's error too.
    """
    known = _known(np.asarray(values) if isinstance(values, (list, tuple)) else values)
    if known is None or np.ndim(known) == 0:
        return
    sums = np.asarray(known, np.float64).sum(-1)
    if not np.all(sums <= 1 + 1e-5):
        raise ShapeError(f"{owner}: the probabilities sum to {np.max(sums):.6g}, which is more than 1.")
