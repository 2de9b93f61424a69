"""The interface of all distributions, and what they share.

A distribution is a set of parameters with a *batch shape*, to which they broadcast, and an *event shape*, that of one
draw: ``()`` but for vectors and matrices. Arrays go through it as through any other code on ndarrays, so it works at
once, under ``autograd.record()``, in hybridized blocks and in functional views, and nothing is computed when it is
made. Derived parameters (the logits of given probabilities) are computed each time they are asked for: a value that was
kept would carry no gradient into a later recording.

A subclass sets its parameters, then calls ``super().__init__``, and defines some of the formulas ``_log_prob``,
``_cdf``, ``_icdf``, ``_draw`` (of the full shape; ``_sampler`` where `np.random` draws from it). What surrounds a
formula is written here, once: checks of arguments, densities of zero outside the support, sizes, broadcasting. A class
written for MXNet, which defines ``log_prob`` and ``sample`` itself, works too.
"""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as onp

from gluonx import autograd, np
from gluonx.np.random import sample as draw
from gluonx.probability.constraint import Constraint, is_dependent
from gluonx.probability.utils import sum_right_most, where

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from gluonx.common.arguments import Size
    from gluonx.np.handle import ndarray


__all__ = ["Distribution", "ExponentialFamily"]

NUMBERS = (bool, int, float, onp.generic)


def shape_of(value: ArrayLike) -> tuple[int, ...]:
    """Return the shape of an array, () for a number."""
    return tuple(getattr(value, "shape", ()))


def as_parameters(*values: Any) -> tuple[Any, ...]:
    """Parameters as numbers and ndarrays: lists and other libraries' arrays are copied into ndarrays.

    Numbers stay numbers: they take the dtype and the device of what they meet.
    """
    return tuple([v if v is None or isinstance(v, np.ndarray) else _as_parameter(v) for v in values])


def _as_parameter(value: Any) -> Any:
    if isinstance(value, onp.generic):
        return value.item()
    return value if isinstance(value, NUMBERS) else np.asarray(value)


def as_size(size: Size) -> tuple[int, ...]:
    """Return the shape that a number or a sequence of numbers asks for."""
    return tuple([int(n) for n in ((size,) if isinstance(size, (int, onp.integer)) else size)])


class Distribution:
    """The base of all distributions.

    Parameters
    ----------
    event_dim : int, optional
        How many axes one draw has.
    validate_args : bool, optional
        Whether parameters, and values given to `log_prob` and `cdf`, are checked against `arg_constraints` and
        `support`; as :meth:`set_default_validate_args` said by default, which is False.

    Attributes
    ----------
    has_grad : bool
        Whether gradients flow from draws to the parameters.
    support : Constraint
        Where draws lie.
    arg_constraints : dict of str to Constraint
        Where the parameters lie.

    Raises
    ------
    ValueError
        If arguments are validated and a parameter is out of its range.

    Examples
    --------
    >>> from gluonx import np, probability
    >>> normal = probability.Normal(np.array([0.0, 1.0]), 2.0)
    >>> normal
    Normal(loc=(2,), scale=2.0)
    >>> normal.sample_n(3).shape
    (3, 2)
    >>> normal.log_prob(1.0).tolist()
    [-1.737086, -1.612086]
    """

    has_grad: bool = False
    has_enumerate_support: bool = False
    support: Any = None
    arg_constraints: ClassVar = {}
    _event_ranks: ClassVar[dict[str, int]] = {}  # axes of a parameter that belong to one draw, where there are any
    _sampler: tuple[str, ...] = ()  # of `np.random`: its name, and the attributes that are its parameters
    _validate_args: bool = False

    @staticmethod
    def set_default_validate_args(value: bool) -> None:
        """Say whether distributions made from now on check their arguments.

        Raises
        ------
        ValueError
            If `value` is no bool.
        """
        if not isinstance(value, bool):
            raise ValueError(f"set_default_validate_args takes True or False, got {value!r}.")
        Distribution._validate_args = value

    def __init__(self, event_dim: int | None = None, validate_args: bool | None = None) -> None:
        self.event_dim = event_dim
        if validate_args is not None:
            self._validate_args = validate_args
        if self._validate_args:
            for name, value in self._given().items():
                constraint = self.arg_constraints[name]
                if not is_dependent(constraint):
                    constraint.check(value)

    # -- parameters ---------------------------------------------------------------------------------------------------

    def _given(self) -> dict[str, Any]:
        """Return the parameters that were given; those that are derived from others are left out."""
        held = vars(self)
        found = {name: held.get(name, held.get(f"_{name}")) for name in self.arg_constraints}
        return {name: value for name, value in found.items() if value is not None}

    @property
    def batch_shape(self) -> tuple[int, ...]:
        """The shape to which the parameters broadcast, without the axes of one draw."""
        ranks = self._event_ranks
        shapes = [shape_of(v)[: len(shape_of(v)) - ranks.get(n, 0)] for n, v in self._given().items()]
        return onp.broadcast_shapes(*shapes)

    @property
    def event_shape(self) -> tuple[int, ...]:
        """The shape of one draw."""
        for name, rank in self._event_ranks.items():
            if name in self._given():
                return shape_of(self._given()[name])[-min(rank, self.event_dim or 0) :] if self.event_dim else ()
        return ()

    @property
    def _dtype(self) -> onp.dtype | None:
        """The dtype of draws: that of the parameters, None (the default dtype) if those are numbers."""
        dtypes = [v.dtype for v in self._given().values() if isinstance(v, np.ndarray)]
        floats = [d for d in dtypes if d.kind not in "biu"]
        return onp.result_type(*floats) if floats else None

    @property
    def _holds_arrays(self) -> bool:
        return any(isinstance(v, np.ndarray) for v in self._given().values())

    def _full(self, value: Any) -> ndarray:
        """Return a statistic in the batch shape; a number if all parameters are numbers."""
        shape = self.batch_shape
        if isinstance(value, np.ndarray):
            return value if value.shape[: len(shape)] == shape else np.broadcast_to(value, shape)
        return np.full(shape, value, dtype=self._dtype) if self._holds_arrays else value

    def broadcast_to(self, batch_shape: Size) -> Distribution:
        """Return a distribution of the same kind whose parameters are broadcast to `batch_shape`.

        Parameters
        ----------
        batch_shape : tuple of int

        Returns
        -------
        Distribution
        """
        spread = copy.copy(self)
        shape = as_size(batch_shape)
        for name, value in self._given().items():
            rank = self._event_ranks.get(name, 0)
            full = (*shape, *shape_of(value)[len(shape_of(value)) - rank :])
            key = name if name in vars(self) else f"_{name}"
            array = isinstance(value, np.ndarray)
            vars(spread)[key] = np.broadcast_to(value, full) if array else np.full(full, value, dtype=self._dtype)
        return spread

    def _parameters(self) -> str:
        """Numbers as they are, and the shapes of arrays."""
        given = self._given().items()
        return ", ".join(f"{name}={v.shape if isinstance(v, np.ndarray) else v}" for name, v in given)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._parameters()})"

    # -- densities ----------------------------------------------------------------------------------------------------

    def _validate_samples(self, value: float | ndarray) -> Any:
        """Return the value if it lies in the support, or if arguments are not validated."""
        if self._validate_args and isinstance(self.support, Constraint):
            self.support.check(value)
        return value

    def _value(self, value: float | ndarray) -> Any:
        """Return the value, validated: an ndarray, or a number if all parameters are numbers."""
        if isinstance(value, NUMBERS):
            value = np.array(value, dtype=self._dtype) if self._holds_arrays else value
        elif not isinstance(value, np.ndarray):
            value = np.asarray(value)
        return self._validate_samples(value)

    def _missing(self, what: str) -> NotImplementedError:
        return NotImplementedError(f"{type(self).__name__} has no {what}.")

    def _log_prob(self, value: ndarray | float) -> ndarray:
        """Compute `log_prob` for values in the support."""
        raise self._missing("log_prob")

    def _cdf(self, value: ndarray | float) -> ndarray:
        """Compute `cdf` for values in the support."""
        raise self._missing("cdf")

    def _icdf(self, value: Any) -> ndarray:
        """Compute `icdf`."""
        raise self._missing("icdf")

    def _draw(self, size: tuple[int, ...]) -> ndarray:
        """Draws of the shape `size` followed by the event shape; `size` has the batch shape in it."""
        if not self._sampler:
            raise self._missing("sample")
        name, *parameters = self._sampler
        return draw(name, tuple([getattr(self, p) for p in parameters]), size, self._dtype)

    def log_prob(self, value: float | ndarray) -> ndarray:
        """Return the logarithm of the density, or of the probability, at `value`; -inf outside the support.

        Parameters
        ----------
        value : number or ndarray
            Broadcasts with the batch shape, followed by the event shape.

        Returns
        -------
        ndarray
            A number if value and parameters are numbers.

        Raises
        ------
        ValueError
            If arguments are validated and the value is not in the support.
        """
        value = self._value(value)
        below, above, inside = self._sorted(value)
        result = self._log_prob(inside)
        for outside in (below, above):
            result = result if outside is None else where(outside, -onp.inf, result)
        return result

    def pdf(self, value: float | ndarray) -> ndarray:
        """Return the density, or the probability, at `value`."""
        return np.exp(self.log_prob(value))

    def cdf(self, value: float | ndarray) -> ndarray:
        """Return the probability of a draw not above `value`.

        Raises
        ------
        ValueError
            If arguments are validated and the value is not in the support.
        NotImplementedError
            If the distribution has no such function.
        """
        value = self._value(value)
        below, above, inside = self._sorted(value)
        result = self._cdf(inside)
        result = result if below is None else where(below, 0.0, result)
        return result if above is None else where(above, 1.0, result)

    def icdf(self, value: ArrayLike) -> ndarray:
        """Return the number that a draw exceeds with probability ``1 - value``: the inverse of `cdf`.

        Raises
        ------
        NotImplementedError
            If the distribution has no such function.
        """
        return self._icdf(value if isinstance(value, (np.ndarray, *NUMBERS)) else np.asarray(value))

    def _sorted(self, value: float | ndarray) -> tuple[Any, Any, Any]:
        """Return masks of values below and above the support (None: none can be), and values with those replaced.

        What stands in for a value outside is away from the bounds: there the formulas, and their gradients, are finite,
        and a NaN times zero would be a NaN.
        """
        support = None if self.event_dim else self.support
        low, high = getattr(support, "lower_bound", None), getattr(support, "upper_bound", None)
        below, above = None if low is None else value < low, None if high is None else value > high
        if low is not None:
            value = where(below, low + 1 if high is None else low + 0.5 * (high - low), value)
        if high is not None:
            value = where(above, high - 1 if low is None else low + 0.5 * (high - low), value)
        return below, above, value

    # -- draws --------------------------------------------------------------------------------------------------------

    def sample(self, size: Size | None = None) -> ndarray:
        """Draw from the distribution.

        Parameters
        ----------
        size : int or tuple of int, optional
            The full shape but for the event shape: the batch shape must broadcast to it, and is taken by default.

        Returns
        -------
        ndarray, shape size + event shape
        """
        return self._draw(self.batch_shape if size is None else as_size(size))

    def sample_n(self, size: Size | None = None) -> ndarray:
        """Draw `size` times for each element of the batch.

        Parameters
        ----------
        size : int or tuple of int, optional

        Returns
        -------
        ndarray, shape size + batch shape + event shape
        """
        return self.sample((*(() if size is None else as_size(size)), *self.batch_shape))

    def _sample_batch(self, size: tuple[int, ...]) -> ndarray:
        """Draws for a distribution that is made of this one; `size` is without the event shape in every class."""
        return self.sample(size)

    def enumerate_support(self) -> ndarray:
        """All values that a draw can have, along a new first axis.

        Raises
        ------
        NotImplementedError
            If they are not finitely many, see `has_enumerate_support`.
        """
        raise self._missing("enumerate_support")

    # -- statistics ---------------------------------------------------------------------------------------------------

    @property
    def mean(self) -> ndarray:
        """The mean."""
        raise self._missing("mean")

    @property
    def variance(self) -> ndarray:
        """The variance."""
        raise self._missing("variance")

    @property
    def stddev(self) -> ndarray:
        """The standard deviation."""
        return np.sqrt(self.variance)

    def entropy(self) -> ndarray:
        """Compute the entropy, in nats."""
        raise self._missing("entropy")

    def perplexity(self) -> Any:
        """Return the exponential of the entropy."""
        return np.exp(self.entropy())


class ExponentialFamily(Distribution):
    r"""Distributions of the density :math:`h(x) \exp(\langle \eta, T(x) \rangle - A(\eta))`.

    A subclass gives `_natural_params`, the tuple of :math:`\eta`, the log normalizer :math:`A` as `_log_normalizer`,
    and the mean of :math:`\log h` as `_mean_carrier_measure`; the entropy follows from the gradient of :math:`A`.

    Examples
    --------
    >>> from gluonx import np, probability
    >>> issubclass(probability.Normal, probability.ExponentialFamily)
    True
    >>> probability.Normal(np.array(0.0), np.array(1.0)).entropy().item()  # log(2 pi e) / 2
    1.419
    """

    @property
    def _natural_params(self) -> tuple[Any, ...]:
        raise self._missing("natural parameters")

    def _log_normalizer(self, *natural_params: ndarray) -> ndarray:
        raise self._missing("log normalizer")

    def _mean_carrier_measure(self) -> float:
        return 0.0

    def entropy(self) -> ndarray:
        """Return the entropy, by the gradient of the log normalizer."""
        etas = [np.asarray(eta) for eta in self._natural_params]
        # Each in the full shape, or its slope would be a sum over the batch.
        full = onp.broadcast_shapes((*self.batch_shape, *self.event_shape), *[eta.shape for eta in etas])
        with autograd.record():
            inputs = [np.broadcast_to(eta, full) + 0 for eta in etas]
            for array in inputs:
                array.attach_grad()  # goes on to carry the gradient of what lies before it
            normalizer = self._log_normalizer(*inputs)
            slopes = autograd.grad(normalizer, inputs, create_graph=True)
        total = normalizer - self._mean_carrier_measure()
        for eta, slope in zip(inputs, slopes):
            total = total - sum_right_most(eta * slope, len(full) - len(normalizer.shape))
        return total
