"""Checks of inputs that a compiled program cannot make: indices, and matrices.

A compiled program cannot raise. In it a read out of range takes the nearest element and a write is dropped; a matrix
without an inverse gives inf or NaN. So the record of an operator declares here what is to be checked, and the engine
checks it where that costs nothing (`gluonx.deferred.values.index_checks` and
`gluonx.deferred.operators.linalg_checks`):

- ``index``, an `Index`: which operand holds indices, and their `Bounds`;
- ``matrix``, a function that says why a result is not finite: ``matrix(attrs, out, inputs)`` returns the reason, or
  nothing if the matrices were fine.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

__all__ = [
    "Attrs",
    "Bounds",
    "Index",
    "MatrixCheck",
    "Operands",
    "along",
    "along_axis",
    "coordinates",
    "has_no_factor",
    "has_no_inverse",
    "is_singular",
    "shape_of",
]

Attrs = Mapping[str, Any]
Operands = Sequence[Any]  # arrays or descriptions of arrays; only shapes are read
Arrays = list[np.ndarray]
MatrixCheck = Callable[[Attrs, np.ndarray, Arrays], str]


class Bounds(NamedTuple):
    """The range of the indices in one operand.

    Attributes
    ----------
    operand : int
        The number of the operand.
    size : int or tuple of int
        Each index is below it. A tuple holds a length for each row of the operand; row ``i`` goes along axis ``i``.
    axis : int or None
        The axis indexed, for the message; None for the flattened array.
    negative : bool
        Whether indices may count from the end.
    ignored : float or None
        A value that is allowed although it is out of range.
    """

    operand: int
    size: int | tuple[int, ...]
    axis: int | None = None
    negative: bool = False
    ignored: float | None = None


class Index(NamedTuple):
    """The operand of an operator that holds indices, and their bounds.

    Attributes
    ----------
    operand : int
        The number of the operand; of the first one, if there are several.
    bounds : callable
        ``bounds(attrs, operands)`` returns the `Bounds` for these attributes and operands of these shapes.
    strict : bool
        Whether arrays on the CPU are checked too, as in MXNet. Classes and labels in arrays are not, but clipped.
    """

    operand: int
    bounds: Callable[[Attrs, Operands], Sequence[Bounds]]
    strict: bool = True


def shape_of(operand: Any) -> tuple[int, ...]:
    """Return the shape of an operand; for a number, that of an array without axes."""
    return tuple(operand.shape) if hasattr(operand, "shape") else np.shape(operand)


def along(operand: int = 1, negative: bool = True, **when: Any) -> Callable[[Attrs, Operands], Sequence[Bounds]]:
    """Return the bounds of indices along the attribute ``axis`` of the first operand.

    Parameters
    ----------
    operand : int
        The number of the operand with the indices.
    negative : bool
        Whether indices may count from the end.
    **when
        Attributes, and the values for which indices are checked; an operator may lack them.
    """

    def bounds(attrs: Attrs, operands: Operands) -> Sequence[Bounds]:
        for (
            name,
            value,
        ) in (
            when.items()
        ):  # a loop, because it runs at each call of `take`, and a generator would cost more than the comparison
            if attrs.get(name, value) != value:
                return ()
        return along_axis(operand, shape_of(operands[0]), attrs.get("axis", 0), negative)

    return bounds


def along_axis(
    operand: int, shape: tuple[int, ...], axis: int | None, negative: bool, ignored: float | None = None
) -> Sequence[Bounds]:
    """Return the bounds of indices along one axis (None: of the flattened array); none for an axis that does not exist.

    The operator itself refuses such an axis.
    """
    if axis is None:
        return (Bounds(operand, math.prod(shape), None, negative, ignored),)
    if not -len(shape) <= axis < len(shape):
        return ()
    return (Bounds(operand, shape[axis], axis, negative, ignored),)


def coordinates(attrs: Attrs, operands: Operands) -> Sequence[Bounds]:
    """Return the bounds of coordinates in the first operand: the second has a row for each of its leading axes."""
    return (Bounds(1, shape_of(operands[0]), negative=True),)


# -- matrices ---------------------------------------------------------------------------------------------------------


def has_no_factor(attrs: Attrs, out: np.ndarray, inputs: Arrays) -> str:
    """Return why a matrix has no Cholesky factor."""
    return "the matrix is not positive definite" if np.isnan(out).any() else ""


def is_singular(matrix: np.ndarray) -> str:
    """Return why a matrix, or one of a stack, has no inverse in its precision.

    Empty if it has one, or holds NaN or inf.
    """
    if not np.isfinite(matrix).all():
        return ""  # NaN gives NaN, as in NumPy
    if str(matrix.dtype.char) not in "fdFD":  # bfloat16, float16
        matrix = matrix.astype(np.float32)
    try:
        np.linalg.inv(matrix)
    except np.linalg.LinAlgError:
        return "the matrix is singular"
    close = np.linalg.cond(matrix).max() * np.finfo(matrix.dtype).eps > 1
    return "the matrix is singular in this precision" if close else ""


def has_no_inverse(attrs: Attrs, out: np.ndarray, inputs: Arrays) -> str:
    """Return why the first input has no inverse."""
    return is_singular(inputs[0])
