"""Error types of gluonx.

Every error a user can meet derives from :class:`GluonxError`. A class says what kind of mistake it is, its message
says where: the block, the parameter, what was expected and what came. Where Python or MXNet has a customary type for
the same mistake (``ValueError`` for a wrong shape, ``UserWarning`` for a stale gradient), the class derives from that
one too, so ``except`` clauses of ported code keep working.
"""

from __future__ import annotations

from numpy.linalg import LinAlgError

__all__ = [
    "ArgumentError",
    "BadIndexError",
    "BadKeyError",
    "DeferredInitializationError",
    "DeviceError",
    "DynamicShapeError",
    "FormatError",
    "FusionError",
    "GluonxError",
    "GraphError",
    "MXNetError",
    "MatrixError",
    "MismatchError",
    "NotFiniteError",
    "NotInitializedYet",
    "ShapeError",
    "StaleGradientError",
    "TracedValueError",
    "UninitializedError",
    "UnknownDeviceError",
    "UnsupportedArgumentError",
]


class GluonxError(RuntimeError):
    """Base of all errors raised by gluonx (MXNet's name for it is ``MXNetError``).

    Examples
    --------
    >>> from gluonx import errors, np
    >>> try:
    ...     np.ones((2, 3)) @ np.ones((2, 3))
    ... except errors.GluonxError as error:
    ...     print(type(error).__name__, isinstance(error, ValueError))
    ShapeError True
    """


MXNetError = GluonxError


class ArgumentError(GluonxError, ValueError, TypeError, AssertionError):
    """An argument of a kind or value that is not taken, where MXNet's checks are of one of these classes."""


class UnsupportedArgumentError(GluonxError, TypeError, ValueError, NotImplementedError):
    """An argument that NumPy's function takes and this one does not, where MXNet raises one of these."""


class ShapeError(GluonxError, ValueError, AssertionError):
    """Shapes or dtypes do not fit: names the operator or block and every shape that took part."""


class BadIndexError(GluonxError, IndexError):
    """An index does not fit an array: out of range, too many of them, or a mask of another shape."""


class BadKeyError(BadIndexError, ValueError):
    """An index of an array is of no valid kind: a string, a float. NumPy: IndexError; MXNet: ValueError."""


class MatrixError(GluonxError, LinAlgError):
    """A matrix is singular, or not positive definite, where it must not be."""


class NotFiniteError(GluonxError, FloatingPointError):
    """A NaN or an infinity came up while ``jax_debug_nans`` or ``jax_debug_infs`` looks for them; names the line."""


class DeviceError(GluonxError, ValueError):
    """An array lives, or was asked to live, on a device where it cannot."""


class UnknownDeviceError(DeviceError, KeyError):
    """No kind of device has this name."""

    __str__ = GluonxError.__str__  # a KeyError would show its repr


class DeferredInitializationError(GluonxError):
    """A parameter is needed whose shape is not known yet.

    Examples
    --------
    >>> from gluonx import nn
    >>> net = nn.Dense(2)  # its weight's shape is known from the first input
    >>> net.initialize()
    >>> net.weight.data().asnumpy()
    Traceback (most recent call last):
        ...
    gluonx.errors.DeferredInitializationError: ...
    """


class UninitializedError(GluonxError, ValueError):
    """A parameter is used before ``initialize``."""


class GraphError(GluonxError):
    """The autograd graph does not hold what was asked of it: nothing recorded, or freed already."""


class TracedValueError(GluonxError, TypeError):
    """A value was asked for inside a traced forward, where only shapes and dtypes exist."""


class DynamicShapeError(TracedValueError):
    """An operator whose result's shape depends on values, or that runs on the host, was met inside a traced forward.

    Attributes
    ----------
    operator : str
        Its name.
    where : str
        The line, and the block if there is one.
    """

    def __init__(self, message: str, operator: str = "", where: str = "") -> None:
        super().__init__(message)
        self.operator, self.where = operator, where


class FormatError(GluonxError, ValueError):
    """A file is not what it should be: truncated, of another kind, or of another model."""


class MismatchError(FormatError, AssertionError):
    """Parameters of a file are missing, or of another shape or dtype; an AssertionError as in MXNet."""


class NotInitializedYet(UninitializedError, ValueError, AssertionError):
    """Something is to be done to the array of a parameter that has none; the classes are those of MXNet."""


class FusionError(GluonxError, ValueError):
    """Parameters cannot be kept as one array, or not both apart and as one."""


class StaleGradientError(GluonxError, UserWarning):
    """``Trainer.step`` met a parameter whose gradient was not renewed since the last step."""


def __dir__() -> list[str]:
    return sorted(__all__)
