"""Transformations of random variables, and the ones that lead from all numbers into a constraint.

A transformation computes ``y = f(x)``, has an inverse, and knows the logarithm of the size of its Jacobian determinant.
A subclass gives ``_forward_compute``, ``_inverse_compute`` and ``log_det_jacobian``; one with parameters to learn (a
layer of a normalizing flow) is a :class:`TransformBlock`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as onp

from gluonx import np, npx
from gluonx.block import HybridBlock
from gluonx.probability import constraint as C
from gluonx.probability.distribution import as_parameters, shape_of
from gluonx.probability.utils import sum_right_most

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from gluonx.np.handle import ndarray


__all__ = [
    "AbsTransform",
    "AffineTransform",
    "ComposeTransform",
    "ExpTransform",
    "PowerTransform",
    "SigmoidTransform",
    "SoftmaxTransform",
    "TransformBlock",
    "Transformation",
    "biject_to",
    "domain_map",
    "transform_to",
]


class Transformation:
    """The base of all transformations.

    Attributes
    ----------
    bijective : bool
        Whether there is an inverse.
    event_dim : int
        How many of the last axes are transformed together; `log_det_jacobian` sums over them.

    Examples
    --------
    >>> from gluonx import np
    >>> square = PowerTransform(2.0)
    >>> square(np.array(3.0)).item(), square.inv(np.array(9.0)).item()
    (9.0, 3.0)
    """

    bijective: bool = False
    event_dim: int = 0

    @property
    def sign(self) -> Any:
        """1 if the transformation increases, -1 if it decreases.

        Raises
        ------
        NotImplementedError
            If it does neither.
        """
        raise NotImplementedError(f"{type(self).__name__} neither increases nor decreases everywhere.")

    @property
    def batch_shape(self) -> tuple[int, ...]:
        """The shape of its parameters, to which what it transforms is broadcast."""
        return ()

    @property
    def inv(self) -> Transformation:
        """The inverse, as a transformation."""
        return _Inverse(self)

    def __call__(self, x: ndarray) -> ndarray:
        """Transform `x`."""
        return self._forward_compute(x)

    def _inv_call(self, y: ndarray) -> ndarray:
        return self._inverse_compute(y)

    def _forward_compute(self, x: ndarray) -> ndarray:
        raise NotImplementedError(f"{type(self).__name__} does not define _forward_compute().")

    def _inverse_compute(self, y: ndarray) -> ndarray:
        raise NotImplementedError(f"{type(self).__name__} does not define _inverse_compute().")

    def log_det_jacobian(self, x: ndarray, y: ndarray) -> ndarray:
        """Compute the logarithm of the absolute Jacobian determinant at `x`, where ``y`` is the transformed `x`.

        Returns
        -------
        ndarray
            Of the shape of `x` without its last `event_dim` axes.

        Raises
        ------
        NotImplementedError
            If there is none.
        """
        raise NotImplementedError(f"{type(self).__name__} has no Jacobian determinant.")


class _Inverse(Transformation):
    """The inverse of a transformation."""

    def __init__(self, forward: Transformation) -> None:
        super().__init__()
        self._forward = forward
        self.bijective = forward.bijective
        self.event_dim = forward.event_dim

    @property
    def sign(self) -> Any:
        return self._forward.sign

    @property
    def batch_shape(self) -> tuple[int, ...]:
        return self._forward.batch_shape

    @property
    def inv(self) -> Transformation:
        return self._forward

    def __call__(self, x: ndarray) -> ndarray:
        return self._forward._inv_call(x)

    def _inv_call(self, y: ndarray) -> ndarray:
        return self._forward(y)

    def log_det_jacobian(self, x: ndarray, y: ndarray) -> ndarray:
        return -self._forward.log_det_jacobian(y, x)


class TransformBlock(Transformation, HybridBlock):
    """A transformation with parameters to learn, such as a layer of a normalizing flow.

    It is a block: it has children and parameters, which ``collect_params`` of the block that holds it finds.

    Examples
    --------
    >>> from gluonx import Parameter, np, probability
    >>> class Shift(probability.TransformBlock):
    ...     bijective = True
    ...
    ...     def __init__(self):
    ...         super().__init__()
    ...         self.by = Parameter(shape=(1,), init="ones")
    ...
    ...     def _forward_compute(self, x):
    ...         return x + self.by.data()
    ...
    ...     def _inverse_compute(self, y):
    ...         return y - self.by.data()
    >>> shift = Shift()
    >>> shift.initialize()
    >>> shift(np.array([1.0, 2.0])).tolist(), shift.inv(np.array([1.0])).tolist()
    ([2.0, 3.0], [0.0])
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        HybridBlock.__init__(self, *args, **kwargs)


class ComposeTransform(Transformation):
    """Transformations one after the other, the first of them first.

    Parameters
    ----------
    parts : sequence of Transformation

    Examples
    --------
    >>> from gluonx import np, probability
    >>> double = probability.AffineTransform(0, 2)
    >>> probability.ComposeTransform([double, probability.ExpTransform()])(np.array([0.0, 1.0])).round(3).tolist()
    [1.0, 7.389]
    """

    def __init__(self, parts: Sequence[Transformation]) -> None:
        super().__init__()
        self._parts = list(parts)
        self.bijective = all(part.bijective for part in self._parts)
        self.event_dim = max((part.event_dim for part in self._parts), default=0)

    def __call__(self, x: ndarray) -> ndarray:
        """Transform `x`."""
        for part in self._parts:
            x = part(x)
        return x

    _forward_compute = __call__

    def _inverse_compute(self, y: ndarray) -> ndarray:
        for part in reversed(self._parts):
            y = part.inv(y)
        return y

    @property
    def batch_shape(self) -> tuple[int, ...]:
        """The shape to which the batch shapes of the parts broadcast."""
        return onp.broadcast_shapes(*[part.batch_shape for part in self._parts])

    @property
    def sign(self) -> Any:
        """The product of the signs."""
        return math.prod([part.sign for part in self._parts])

    @property
    def inv(self) -> Transformation:
        """The inverses in the other order."""
        return ComposeTransform([part.inv for part in reversed(self._parts)])

    def log_det_jacobian(self, x: ndarray, y: ndarray) -> ndarray:
        """Return the sum of those of the parts."""
        total: Any = 0.0
        for index, part in enumerate(self._parts):
            after = part(x) if index + 1 < len(self._parts) else y
            total = total + sum_right_most(part.log_det_jacobian(x, after), self.event_dim - part.event_dim)
            x = after
        return total if self._parts else 0 * x


class ExpTransform(Transformation):
    """``exp(x)``.

    Examples
    --------
    >>> from gluonx import np, probability
    >>> probability.ExpTransform()(np.array([2.0])).asnumpy().round(3)
    array([7.389], dtype=float32)
    """

    bijective = True
    sign = 1  # type: ignore[assignment]

    def _forward_compute(self, x: ndarray) -> ndarray:
        return np.exp(x)

    def _inverse_compute(self, y: ndarray) -> ndarray:
        return np.log(y)

    def log_det_jacobian(self, x: ndarray, y: ndarray) -> ndarray:
        """`x`."""
        return x


class AffineTransform(Transformation):
    """``loc + scale * x``.

    Parameters
    ----------
    loc, scale : number or ndarray
    event_dim : int
        How many of the last axes are one event.

    Examples
    --------
    >>> from gluonx import np, probability
    >>> probability.AffineTransform(1.0, 2.0)(np.array([2.0])).round(3).tolist()
    [5.0]
    """

    bijective = True

    def __init__(self, loc: ArrayLike, scale: ArrayLike, event_dim: int = 0) -> None:
        super().__init__()
        self._loc, self._scale = as_parameters(loc, scale)
        self.event_dim = event_dim

    @property
    def batch_shape(self) -> tuple[int, ...]:
        """The batch shape of `loc` and `scale`."""
        return onp.broadcast_shapes(shape_of(self._loc), shape_of(self._scale))

    @property
    def sign(self) -> Any:
        """The sign of the scale."""
        return np.sign(self._scale)

    def _forward_compute(self, x: ndarray) -> ndarray:
        return self._loc + self._scale * x

    def _inverse_compute(self, y: ndarray) -> ndarray:
        return (y - self._loc) / self._scale

    def log_det_jacobian(self, x: ndarray, y: ndarray) -> ndarray:
        """``log(abs(scale))`` in the shape of `x`, summed over the axes of an event."""
        return sum_right_most(np.broadcast_to(np.log(np.abs(self._scale)), shape_of(y)), self.event_dim)


class PowerTransform(Transformation):
    """``x ** exponent``, of numbers that are not negative.

    Parameters
    ----------
    exponent : number or ndarray
        Not 0.

    Examples
    --------
    >>> from gluonx import np, probability
    >>> probability.PowerTransform(2.0)(np.array([2.0])).round(3).tolist()
    [4.0]
    """

    bijective = True

    def __init__(self, exponent: ArrayLike) -> None:
        super().__init__()
        (self._exponent,) = as_parameters(exponent)

    @property
    def batch_shape(self) -> tuple[int, ...]:
        """The batch shape of the exponent."""
        return shape_of(self._exponent)

    @property
    def sign(self) -> Any:
        """The sign of the exponent."""
        return np.sign(self._exponent)

    def _forward_compute(self, x: ndarray) -> ndarray:
        return np.power(x, self._exponent)

    def _inverse_compute(self, y: ndarray) -> ndarray:
        return np.power(y, 1 / self._exponent)

    def log_det_jacobian(self, x: ndarray, y: ndarray) -> ndarray:
        """``log(abs(exponent * y / x))``."""
        return np.log(np.abs(self._exponent * y / x))


class SigmoidTransform(Transformation):
    """``1 / (1 + exp(-x))``.

    Examples
    --------
    >>> from gluonx import np, probability
    >>> probability.SigmoidTransform()(np.array([2.0])).asnumpy().round(3)
    array([0.881], dtype=float32)
    """

    bijective = True
    sign = 1  # type: ignore[assignment]

    def _forward_compute(self, x: ndarray) -> ndarray:
        return npx.sigmoid(x)

    def _inverse_compute(self, y: ndarray) -> ndarray:
        return np.log(y) - np.log1p(-y)

    def log_det_jacobian(self, x: ndarray, y: ndarray) -> ndarray:
        """Return the logarithm of the sigmoid's slope."""
        return -npx.softrelu(-x) - npx.softrelu(x)


class SoftmaxTransform(Transformation):
    """The softmax along the last axis; what its inverse gives is the logarithm, one of many that it could give.

    Examples
    --------
    >>> from gluonx import np, probability
    >>> probability.SoftmaxTransform()(np.array([0.0, 0.0])).tolist()
    [0.5, 0.5]
    """

    event_dim = 1

    def _forward_compute(self, x: ndarray) -> ndarray:
        return npx.softmax(x, axis=-1)

    def _inverse_compute(self, y: ndarray) -> ndarray:
        return np.log(y)


class AbsTransform(Transformation):
    """``abs(x)``; its inverse gives the number that is not negative.

    Examples
    --------
    >>> from gluonx import np, probability
    >>> probability.AbsTransform()(np.array([2.0])).round(3).tolist()
    [2.0]
    """

    def _forward_compute(self, x: ndarray) -> ndarray:
        return np.abs(x)

    def _inverse_compute(self, y: ndarray) -> ndarray:
        return y


# -- into a constraint ------------------------------------------------------------------------------------------------


class domain_map:
    """A table of transformations from all numbers into a constraint, by the constraint's class.

    Examples
    --------
    >>> from gluonx import np, probability
    >>> positive = probability.transform_to(probability.constraint.GreaterThan(2.0))
    >>> positive(np.array([-1.0, 0.0])).tolist()
    [2.367879, 3.0]
    """

    def __init__(self) -> None:
        self._factories: dict[type[C.Constraint], Callable[[Any], Transformation]] = {}

    def register(
        self, constraint: C.Constraint | type[C.Constraint], factory: Callable[[Any], Transformation] | None = None
    ) -> Callable[..., Any]:
        """Say which transformation leads into constraints of a class.

        Parameters
        ----------
        constraint : Constraint or a class of them
            The class is registered, with its subclasses that have no entry of their own.
        factory : callable, optional
            Takes the constraint and gives the transformation. Without it the result is a decorator.

        Raises
        ------
        TypeError
            If `constraint` is neither.
        """
        if factory is None:
            return lambda made: self.register(constraint, made)
        cls = type(constraint) if isinstance(constraint, C.Constraint) else constraint
        if not (isinstance(cls, type) and issubclass(cls, C.Constraint)):
            raise TypeError(f"domain_map.register takes a Constraint or a class of them, got {constraint!r}.")
        self._factories[cls] = factory
        return factory

    def __call__(self, constraint: C.Constraint) -> Transformation:
        """Return the transformation from all numbers into `constraint`.

        Raises
        ------
        NotImplementedError
            If none is known.
        """
        for cls in type(constraint).__mro__:
            if cls in self._factories:
                return self._factories[cls](constraint)
        raise NotImplementedError(f"Cannot transform {type(constraint).__name__} constraints")


biject_to = domain_map()
"""Bijections from all numbers into a constraint."""
transform_to = domain_map()
"""Transformations from all numbers into a constraint, not all of which have an inverse."""


def _to_interval(constraint: C.Interval) -> Transformation:
    low, high = constraint.lower_bound, constraint.upper_bound
    return ComposeTransform([SigmoidTransform(), AffineTransform(low, high - low)])


for _map in (biject_to, transform_to):
    _map.register(C.Real, lambda constraint: ComposeTransform([]))
    for _class in (C.Positive, C.NonNegative):
        _map.register(_class, lambda constraint: ExpTransform())
    for _class in (C.GreaterThan, C.GreaterThanEq):
        _map.register(
            _class, lambda constraint: ComposeTransform([ExpTransform(), AffineTransform(constraint.lower_bound, 1)])
        )
    for _class in (C.LessThan, C.LessThanEq):
        _map.register(
            _class, lambda constraint: ComposeTransform([ExpTransform(), AffineTransform(constraint.upper_bound, -1)])
        )
    for _class in (C.Interval, C.OpenInterval, C.HalfOpenInterval):
        _map.register(_class, _to_interval)
transform_to.register(C.Simplex, lambda constraint: SoftmaxTransform())
