"""Constraints: the sets that parameters of distributions and their samples lie in.

A constraint has one operation, :meth:`Constraint.check`, which gives the value back or raises. The bounds of a set are
its attributes ``lower_bound`` and ``upper_bound`` (None: no bound), numbers or ndarrays; distributions read them to
know where their density is zero. The names are those of MXNet's ``gluon.probability.distributions.constraint``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from gluonx import np, npx

if TYPE_CHECKING:
    from gluonx.np.handle import ndarray


__all__ = [
    "Boolean",
    "Cat",
    "Constraint",
    "GreaterThan",
    "GreaterThanEq",
    "HalfOpenInterval",
    "IntegerGreaterThan",
    "IntegerGreaterThanEq",
    "IntegerHalfOpenInterval",
    "IntegerInterval",
    "IntegerLessThan",
    "IntegerLessThanEq",
    "IntegerOpenInterval",
    "Interval",
    "LessThan",
    "LessThanEq",
    "LowerCholesky",
    "LowerTriangular",
    "NonNegative",
    "NonNegativeInteger",
    "OpenInterval",
    "Positive",
    "PositiveDefinite",
    "PositiveInteger",
    "Real",
    "Simplex",
    "Stack",
    "UnitInterval",
    "dependent",
    "dependent_property",
    "is_dependent",
]


class Constraint:
    """A set of values. A subclass gives `holds` and `text`.

    Attributes
    ----------
    lower_bound, upper_bound : number, ndarray or None
        Below and above which no value lies.
    text : str
        How the message of `check` goes on after "should".

    Examples
    --------
    >>> Positive().check(2.0)
    2.0
    >>> Positive().check(-1.0)
    Traceback (most recent call last):
    ...
    ValueError: Constraint violated: -1.0 should be greater than 0
    """

    lower_bound: Any = None
    upper_bound: Any = None
    text = "be of another kind"

    def holds(self, value: float | ndarray) -> ndarray | bool:
        """Return as booleans which elements lie in the set; of a set of vectors or matrices, which of those."""
        raise NotImplementedError(f"{type(self).__name__} does not say what it holds.")

    def check(self, value: float | ndarray) -> float | ndarray:
        """Return `value`, if all of it lies in the set.

        In a hybridized block, where there are no values, the error is raised as soon as what the block gave is
        computed, see :func:`gluonx.npx.constraint_check`.

        Raises
        ------
        ValueError
            If an element does not.
        """
        held = self.holds(value)
        message = f"Constraint violated: {_shown(value)} should {self.text}"
        if isinstance(held, np.ndarray):
            npx.constraint_check(held, message)
        elif not held:
            raise ValueError(message)
        return value

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: values should {self.text}>"


def _shown(value: float | ndarray) -> str:
    """Return a number as it is; of an array, which may not be computed yet, shape and dtype."""
    return f"values of shape {value.shape}" if isinstance(value, np.ndarray) else repr(value)


def _whole(value: float | ndarray) -> ndarray | bool:
    return np.floor(value) == value


def _both(one: ndarray | bool, other: ndarray | bool) -> ndarray | bool:
    arrays = isinstance(one, np.ndarray) or isinstance(other, np.ndarray)
    return np.logical_and(one, other) if arrays else bool(one and other)


class Real(Constraint):
    """Numbers that are not NaN."""

    text = "be real numbers"

    def holds(self, value: float | ndarray) -> ndarray | bool:
        """Return which elements are numbers: not NaN."""
        return value == value


class Boolean(Constraint):
    """The numbers 0 and 1."""

    lower_bound, upper_bound = 0, 1
    text = "be either 0 or 1"

    def holds(self, value: float | ndarray) -> ndarray | bool:
        """Return which elements are 0 or 1."""
        return value * (1 - value) == 0


class _Range(Constraint):
    """Numbers between bounds; a subclass says which of the bounds belong to it, and whether only whole numbers do."""

    _closed = (True, True)
    _integer = False

    def __init__(self, lower_bound: Any, upper_bound: Any) -> None:
        super().__init__()
        self.lower_bound, self.upper_bound = lower_bound, upper_bound

    @property
    def text(self) -> str:  # type: ignore[override]
        """The bounds in words."""
        said = ["be an integer"] if self._integer else []
        if self.lower_bound is not None:
            said.append(f"be {'>=' if self._closed[0] else 'greater than'} {self.lower_bound}")
        if self.upper_bound is not None:
            said.append(f"be {'<=' if self._closed[1] else 'less than'} {self.upper_bound}")
        return " and ".join(said)

    def holds(self, value: ndarray) -> ndarray:
        """Return which elements lie between the bounds."""
        held: Any = _whole(value) if self._integer else True
        if self.lower_bound is not None:
            held = _both(held, value >= self.lower_bound if self._closed[0] else value > self.lower_bound)
        if self.upper_bound is not None:
            held = _both(held, value <= self.upper_bound if self._closed[1] else value < self.upper_bound)
        return held


class Interval(_Range):
    """Numbers from `lower_bound` to `upper_bound`, both included."""


class OpenInterval(_Range):
    """Numbers between `lower_bound` and `upper_bound`, neither included."""

    _closed = (False, False)


class HalfOpenInterval(_Range):
    """Numbers from `lower_bound` up to, and without, `upper_bound`."""

    _closed = (True, False)


class UnitInterval(Interval):
    """Numbers from 0 to 1."""

    def __init__(self) -> None:
        super().__init__(0, 1)


class IntegerInterval(_Range):
    """Whole numbers from `lower_bound` to `upper_bound`, both included."""

    _integer = True


class IntegerOpenInterval(OpenInterval):
    """Whole numbers between `lower_bound` and `upper_bound`, neither included."""

    _integer = True


class IntegerHalfOpenInterval(HalfOpenInterval):
    """Whole numbers from `lower_bound` up to, and without, `upper_bound`."""

    _integer = True


class GreaterThan(_Range):
    """Numbers above `lower_bound`."""

    _closed = (False, False)

    def __init__(self, lower_bound: float | ndarray) -> None:
        super().__init__(lower_bound, None)


class GreaterThanEq(_Range):
    """Numbers from `lower_bound` on."""

    def __init__(self, lower_bound: float | ndarray) -> None:
        super().__init__(lower_bound, None)


class LessThan(_Range):
    """Numbers below `upper_bound`."""

    _closed = (False, False)

    def __init__(self, upper_bound: float | ndarray) -> None:
        super().__init__(None, upper_bound)


class LessThanEq(_Range):
    """Numbers up to `upper_bound`."""

    def __init__(self, upper_bound: float | ndarray) -> None:
        super().__init__(None, upper_bound)


class IntegerGreaterThan(GreaterThan):
    """Whole numbers above `lower_bound`."""

    _integer = True


class IntegerGreaterThanEq(GreaterThanEq):
    """Whole numbers from `lower_bound` on."""

    _integer = True


class IntegerLessThan(LessThan):
    """Whole numbers below `upper_bound`."""

    _integer = True


class IntegerLessThanEq(LessThanEq):
    """Whole numbers up to `upper_bound`."""

    _integer = True


class Positive(GreaterThan):
    """Numbers above 0."""

    def __init__(self) -> None:
        super().__init__(0)


class NonNegative(GreaterThanEq):
    """Numbers from 0 on."""

    def __init__(self) -> None:
        super().__init__(0)


class PositiveInteger(IntegerGreaterThan):
    """Whole numbers above 0."""

    def __init__(self) -> None:
        super().__init__(0)


class NonNegativeInteger(IntegerGreaterThanEq):
    """Whole numbers from 0 on."""

    def __init__(self) -> None:
        super().__init__(0)


_TOLERANCE = 1e-5  # of sums, and of an entry and its mirror image


class Simplex(Constraint):
    """Vectors, along the last axis, of numbers that are not negative and sum to 1."""

    text = "be >= 0 and sum to 1 along the last axis"

    def holds(self, value: Any) -> Any:
        """Return which vectors along the last axis are >= 0 and sum to 1."""
        return np.logical_and(np.all(value >= 0, axis=-1), np.abs(value.sum(-1) - 1) < _TOLERANCE)


class LowerTriangular(Constraint):
    """Matrices with zeros above the diagonal."""

    text = "be lower triangular matrices"

    def holds(self, value: Any) -> Any:
        """Return which matrices have zeros above the diagonal."""
        return np.all(np.triu(value, 1) == 0, axis=(-2, -1))


class LowerCholesky(LowerTriangular):
    """Lower triangular matrices with a positive diagonal."""

    text = "be lower triangular matrices with a positive diagonal"

    def holds(self, value: Any) -> Any:
        """Return which matrices are lower triangular with a positive diagonal."""
        diagonal = np.diagonal(value, axis1=-2, axis2=-1)
        return np.logical_and(super().holds(value), np.all(diagonal > 0, axis=-1))


class PositiveDefinite(Constraint):
    """Symmetric matrices whose eigenvalues are positive."""

    text = "be positive definite matrices"

    def holds(self, value: Any) -> Any:
        """Return which matrices are symmetric with positive eigenvalues."""
        mirrored = np.abs(value - np.swapaxes(value, -1, -2))
        symmetric = np.all(mirrored <= _TOLERANCE * np.max(np.abs(value), axis=(-2, -1), keepdims=True), axis=(-2, -1))
        return np.logical_and(symmetric, np.all(np.linalg.eigvalsh(value) > 0, axis=-1))


class Cat(Constraint):
    """Arrays whose parts along `axis`, of these lengths, lie in one set each.

    Parameters
    ----------
    constraint_seq : sequence of Constraint
    axis : int
    lengths : sequence of int, optional
        1 for each by default.

    Examples
    --------
    >>> from gluonx import np
    >>> Cat([Positive(), Boolean()], axis=0, lengths=[1, 2]).check(np.array([2.5, 0.0, 1.0])).tolist()
    [2.5, 0.0, 1.0]
    """

    text = "have parts that lie each in its set"

    def __init__(self, constraint_seq: Sequence[Constraint], axis: int = 0, lengths: Sequence[int] | None = None):
        super().__init__()
        self._parts = list(constraint_seq)
        self._axis = axis
        self._lengths = [1] * len(self._parts) if lengths is None else list(lengths)
        if not all(isinstance(part, Constraint) for part in self._parts) or len(self._parts) != len(self._lengths):
            raise ValueError(f"Cat takes constraints and as many lengths, got {self._parts} and {self._lengths}.")

    def check(self, value: Any) -> Any:
        """Return `value`, if its parts lie in their sets.

        Raises
        ------
        ValueError
            If one does not, or if the lengths do not add up.
        """
        if sum(self._lengths) != value.shape[self._axis]:
            raise ValueError(f"Lengths {self._lengths} do not fit axis {self._axis} of shape {value.shape}.")
        start = 0
        for part, length in zip(self._parts, self._lengths):
            part.check(np.take(value, np.arange(start, start + length, dtype="int32"), axis=self._axis))
            start += length
        return value


class Stack(Constraint):
    """Arrays whose slices along `axis` lie in one set each.

    Parameters
    ----------
    constraint_seq : sequence of Constraint
        As many as there are slices.
    axis : int
    """

    text = "have slices that lie each in its set"

    def __init__(self, constraint_seq: Sequence[Constraint], axis: int = 0) -> None:
        super().__init__()
        self._parts = list(constraint_seq)
        self._axis = axis
        if not all(isinstance(part, Constraint) for part in self._parts):
            raise ValueError(f"Stack takes constraints, got {self._parts}.")

    def check(self, value: Any) -> Any:
        """Return `value`, if its slices lie in their sets.

        Raises
        ------
        ValueError
            If one does not, or if there are more or fewer slices than sets.
        """
        if len(self._parts) != value.shape[self._axis]:
            raise ValueError(f"{len(self._parts)} constraints do not fit axis {self._axis} of shape {value.shape}.")
        for index, part in enumerate(self._parts):
            part.check(np.take(value, index, axis=self._axis))
        return value


class _Dependent(Constraint):
    """A set that depends on other values, and can be checked by nobody who does not know them."""

    def check(self, value: Any) -> Any:
        """Refuse: what `value` should be is not known here.

        Raises
        ------
        ValueError
            Always.
        """
        raise ValueError(f"What {_shown(value)} should be depends on other parameters.")


class dependent_property(property, _Dependent):
    """A property whose value, on an instance, is a constraint; on the class it counts as one that depends on others."""


dependent = _Dependent()


def is_dependent(constraint: object) -> bool:
    """Return whether a set depends on other values.

    Examples
    --------
    >>> is_dependent(dependent), is_dependent(Positive())
    (True, False)
    """
    return isinstance(constraint, _Dependent)
