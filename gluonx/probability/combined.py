"""Distributions that are made of others: transformed, independent along axes, and mixed."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as onp

from gluonx import np, npx
from gluonx.probability import constraint as C
from gluonx.probability.discrete import Categorical
from gluonx.probability.distribution import Distribution, as_size, shape_of
from gluonx.probability.transformation import ComposeTransform, Transformation
from gluonx.probability.utils import sum_right_most, where

if TYPE_CHECKING:
    from gluonx.common.arguments import Size
    from gluonx.np.handle import ndarray


__all__ = ["Independent", "MixtureSameFamily", "TransformedDistribution"]


class TransformedDistribution(Distribution):
    """The distribution of what transformations make of draws.

    Parameters
    ----------
    base_dist : Distribution
    transforms : Transformation or sequence of Transformation
        The first of them is applied first.
    validate_args : bool, optional

    Raises
    ------
    TypeError
        If `transforms` holds something else.

    Examples
    --------
    >>> from gluonx import np
    >>> from gluonx.probability import ExpTransform, Normal
    >>> log_normal = TransformedDistribution(Normal(0.0, 1.0), ExpTransform())
    >>> log_normal.log_prob(np.array(2.0)).item()
    -1.852312
    """

    def __init__(
        self,
        base_dist: Distribution,
        transforms: Transformation | Sequence[Transformation],
        validate_args: bool | None = None,
    ) -> None:
        parts = [transforms] if isinstance(transforms, Transformation) else list(transforms)
        if not all(isinstance(part, Transformation) for part in parts):
            raise TypeError(f"TransformedDistribution takes transformations, got {transforms!r}.")
        # A base that is smaller than the parameters of a transformation would share its draws among them.
        shape = ComposeTransform(parts).batch_shape
        full = onp.broadcast_shapes(base_dist.batch_shape, shape[: len(shape) - (base_dist.event_dim or 0)])
        self._base_dist = base_dist if full == base_dist.batch_shape else base_dist.broadcast_to(full)
        self._transforms = parts
        event_dim = max([base_dist.event_dim or 0, *[part.event_dim for part in parts]])
        super().__init__(event_dim=event_dim, validate_args=validate_args)

    @property
    def has_grad(self) -> bool:  # type: ignore[override]
        """As of the base."""
        return self._base_dist.has_grad

    @property
    def batch_shape(self) -> tuple[int, ...]:
        """The base's, without the axes that belong to one event now."""
        shape = self._base_dist.batch_shape
        return shape[: len(shape) - self._lifted]

    @property
    def event_shape(self) -> tuple[int, ...]:
        """The shape of one draw."""
        shape = self._base_dist.batch_shape
        return (*shape[len(shape) - self._lifted :], *self._base_dist.event_shape)

    @property
    def _lifted(self) -> int:
        """Number of batch axes of the base that belong to one event."""
        return (self.event_dim or 0) - (self._base_dist.event_dim or 0)

    def broadcast_to(self, batch_shape: Size) -> Distribution:
        """Return the transformed broadcast base."""
        spread = super().broadcast_to(batch_shape)
        shape = self._base_dist.batch_shape
        lifted = shape[len(shape) - self._lifted :]
        spread._base_dist = self._base_dist.broadcast_to((*as_size(batch_shape), *lifted))  # type: ignore[attr-defined]
        return spread

    def _draw(self, size: tuple[int, ...]) -> ndarray:
        drawn = self._base_dist._sample_batch((*size, *self.event_shape[: self._lifted]))
        made = ComposeTransform(self._transforms)(drawn)
        if made.shape[: len(made.shape) - (self.event_dim or 0)] != size:
            raise ValueError(
                f"{type(self).__name__}: the transformations made an array of shape {made.shape} of draws of shape "
                f"{drawn.shape}, so that elements would share a draw. Give the base distribution the batch shape of "
                "the transformations' parameters, or define batch_shape in the transformation."
            )
        return made

    def _log_prob(self, value: ndarray) -> ndarray:
        total: Any = 0.0
        event_dim = self.event_dim or 0
        for part in reversed(self._transforms):
            before = part.inv(value)
            total = total - sum_right_most(part.log_det_jacobian(before, value), event_dim - part.event_dim)
            value = before
        return total + sum_right_most(self._base_dist.log_prob(value), self._lifted)

    def _monotone(self, what: str) -> Any:
        """Return the sign of the transformation, where it has one and there is one axis to speak of."""
        if self.event_dim:
            raise self._missing(f"{what}: an event has {self.event_dim} axes")
        return ComposeTransform(self._transforms).sign

    def _cdf(self, value: Any) -> ndarray:
        sign = self._monotone("cdf")
        below = self._base_dist.cdf(ComposeTransform(self._transforms).inv(value))
        return where(sign > 0, below, 1 - below)

    def _icdf(self, value: Any) -> ndarray:
        sign = self._monotone("icdf")
        return ComposeTransform(self._transforms)(self._base_dist.icdf(where(sign > 0, value, 1 - value)))

    def __repr__(self) -> str:
        if type(self) is not TransformedDistribution:
            return super().__repr__()
        names = ", ".join(type(part).__name__ for part in self._transforms)
        return f"TransformedDistribution({self._base_dist!r}, [{names}])"


class Independent(Distribution):
    """A distribution of which some batch axes count as axes of one event.

    Parameters
    ----------
    base_distribution : Distribution
    reinterpreted_batch_ndims : int
        How many of the last batch axes.
    validate_args : bool, optional

    Raises
    ------
    ValueError
        If there are fewer axes than that.

    Examples
    --------
    >>> from gluonx import np
    >>> from gluonx.probability import Normal
    >>> Independent(Normal(np.zeros((2, 3)), 1.0), 1).log_prob(np.zeros((2, 3))).tolist()
    [-2.756816, -2.756816]
    """

    arg_constraints: ClassVar = {}

    def __init__(
        self, base_distribution: Distribution, reinterpreted_batch_ndims: int, validate_args: bool | None = None
    ) -> None:
        axes = len(base_distribution.batch_shape)
        if not 0 <= reinterpreted_batch_ndims <= axes:
            raise ValueError(
                f"Independent: {reinterpreted_batch_ndims} of the batch axes were to belong to an event, but "
                f"{base_distribution!r} has {axes}."
            )
        self.base_dist = base_distribution
        self.reinterpreted_batch_ndims = reinterpreted_batch_ndims
        super().__init__((base_distribution.event_dim or 0) + reinterpreted_batch_ndims, validate_args)

    @property
    def has_grad(self) -> bool:  # type: ignore[override]
        """As of the base."""
        return self.base_dist.has_grad

    @property
    def has_enumerate_support(self) -> bool:  # type: ignore[override]
        """As of the base, if no axis was taken."""
        return self.base_dist.has_enumerate_support and not self.reinterpreted_batch_ndims

    @property
    def support(self) -> Any:
        """The support of the base."""
        return self.base_dist.support

    @property
    def batch_shape(self) -> tuple[int, ...]:
        """The base's, without the axes that were taken."""
        shape = self.base_dist.batch_shape
        return shape[: len(shape) - self.reinterpreted_batch_ndims]

    @property
    def event_shape(self) -> tuple[int, ...]:
        """The axes that were taken and the base's event shape."""
        shape = self.base_dist.batch_shape
        return (*shape[len(shape) - self.reinterpreted_batch_ndims :], *self.base_dist.event_shape)

    def broadcast_to(self, batch_shape: Size) -> Distribution:
        """Return the distribution whose base is broadcast."""
        taken = self.event_shape[: self.reinterpreted_batch_ndims]
        spread = copy.copy(self)
        spread.base_dist = self.base_dist.broadcast_to((*as_size(batch_shape), *taken))
        return spread

    def sample(self, size: Size | None = None) -> ndarray:
        """Draw from the base.

        Parameters
        ----------
        size : int or tuple of int, optional
            With the axes that were taken, as in MXNet.
        """
        return self.base_dist.sample(size)

    def sample_n(self, size: Size | None = None) -> ndarray:
        """Draw `size` times for each element of the batch."""
        return self.base_dist.sample_n(size)

    def _sample_batch(self, size: tuple[int, ...]) -> ndarray:
        return self.base_dist._sample_batch((*size, *self.event_shape[: self.reinterpreted_batch_ndims]))

    def _log_prob(self, value: ndarray | float) -> ndarray:
        return sum_right_most(self.base_dist.log_prob(value), self.reinterpreted_batch_ndims)

    def entropy(self) -> ndarray:
        """Return the sum of the base's entropies."""
        full = np.broadcast_to(self.base_dist.entropy(), self.base_dist.batch_shape)
        return sum_right_most(full, self.reinterpreted_batch_ndims)

    @property
    def mean(self) -> ndarray:
        """The base's."""
        return self.base_dist.mean

    @property
    def variance(self) -> ndarray:
        """The base's."""
        return self.base_dist.variance

    def enumerate_support(self) -> ndarray:
        """Return the base's, if no axis was taken.

        Raises
        ------
        NotImplementedError
            Otherwise: the values of several axes together are too many.
        """
        if self.reinterpreted_batch_ndims:
            raise self._missing("enumerate_support")
        return self.base_dist.enumerate_support()

    def __repr__(self) -> str:
        return f"Independent({self.base_dist!r}, {self.reinterpreted_batch_ndims})"


class MixtureSameFamily(Distribution):
    """A mixture of distributions of one family: a class is drawn, and then its component.

    Parameters
    ----------
    mixture_distribution : Categorical
        The weights.
    component_distribution : Distribution
        Whose last batch axis are the components.
    validate_args : bool, optional

    Raises
    ------
    TypeError
        If the weights are no Categorical.
    ValueError
        If there are not as many components as weights.

    Examples
    --------
    >>> from gluonx import np
    >>> from gluonx.probability import Categorical, Normal
    >>> weights = Categorical(2, prob=np.array([0.5, 0.5]))
    >>> mixture = MixtureSameFamily(weights, Normal(np.array([-1.0, 1.0]), 0.5))
    >>> mixture.mean.item(), mixture.variance.item(), mixture.cdf(np.array(0.0)).item()
    (0.0, 1.25, 0.5)
    """

    arg_constraints: ClassVar = {}

    def __init__(
        self,
        mixture_distribution: Categorical,
        component_distribution: Distribution,
        validate_args: bool | None = None,
    ) -> None:
        if not isinstance(mixture_distribution, Categorical):
            raise TypeError(f"MixtureSameFamily: the weights should be a Categorical, got {mixture_distribution!r}.")
        count = component_distribution.batch_shape[-1:]
        if count != (mixture_distribution.num_events,):
            raise ValueError(
                f"MixtureSameFamily: {mixture_distribution.num_events} weights do not fit the last batch axis of "
                f"{component_distribution!r}."
            )
        self.mixture_distribution = mixture_distribution
        self.component_distribution = component_distribution
        super().__init__(component_distribution.event_dim, validate_args)

    @property
    def support(self) -> Any:
        """The support of the components."""
        return self.component_distribution.support if not self._bounded_by_components else C.Real()

    @property
    def _bounded_by_components(self) -> bool:
        """Return whether the bounds of the components' support are arrays, so that they may differ."""
        support = self.component_distribution.support
        bounds = (getattr(support, "lower_bound", None), getattr(support, "upper_bound", None))
        return any(isinstance(bound, np.ndarray) for bound in bounds)

    @property
    def batch_shape(self) -> tuple[int, ...]:
        """The batch shape of the weights, broadcast with the components'."""
        return onp.broadcast_shapes(self.mixture_distribution.batch_shape, self.component_distribution.batch_shape[:-1])

    @property
    def event_shape(self) -> tuple[int, ...]:
        """The event shape of the components."""
        return self.component_distribution.event_shape

    def broadcast_to(self, batch_shape: Size) -> Distribution:
        """Return the mixture of broadcast weights and components."""
        spread = copy.copy(self)
        count = self.mixture_distribution.num_events
        spread.mixture_distribution = self.mixture_distribution.broadcast_to(batch_shape)  # type: ignore[assignment]
        spread.component_distribution = self.component_distribution.broadcast_to((*as_size(batch_shape), count))
        return spread

    @property
    def _axis(self) -> int:
        """The axis of the components in a draw."""
        return -1 - (self.event_dim or 0)

    def _weigh(self, statistic: ndarray) -> ndarray:
        """Return the weighted mean of a statistic of the components that has their event's axes."""
        weights = self.mixture_distribution._weights
        weights = weights.reshape((*weights.shape, *(1,) * (self.event_dim or 0)))
        return (weights * statistic).sum(self._axis)

    def _draw(self, size: tuple[int, ...]) -> ndarray:
        count = self.mixture_distribution.num_events
        chosen = npx.one_hot(self.mixture_distribution.sample(size), count)
        chosen = chosen.reshape((*chosen.shape, *(1,) * (self.event_dim or 0)))
        drawn = self.component_distribution._sample_batch((*size, count))
        return where(chosen > 0, drawn, 0.0).sum(self._axis)

    def _log_prob(self, value: ndarray | float) -> ndarray:
        expanded = np.expand_dims(value, self._axis) if shape_of(value) else value
        each = self.component_distribution.log_prob(expanded)
        return npx.logsumexp(self.mixture_distribution._log_weights + each, axis=-1)

    def _cdf(self, value: ndarray | float) -> ndarray:
        if self.event_dim:
            raise self._missing(f"cdf: an event has {self.event_dim} axes")
        return self._weigh(self.component_distribution.cdf(np.expand_dims(value, -1) if shape_of(value) else value))

    @property
    def mean(self) -> ndarray:
        """The weighted mean of the components' means."""
        return self._weigh(self.component_distribution.mean)

    @property
    def variance(self) -> ndarray:
        """The weighted mean of the components' variances, and the variance of their means."""
        means = self.component_distribution.mean
        apart = np.square(means - np.expand_dims(self.mean, self._axis))
        return self._weigh(self.component_distribution.variance + apart)

    def __repr__(self) -> str:
        return f"MixtureSameFamily({self.mixture_distribution!r}, {self.component_distribution!r})"
