"""Error types of gluonx.

Every error a user can meet derives from :class:`GluonxError`. A class says what kind of mistake it is, its message
says where: the block, the parameter, what was expected and what came. Where Python or MXNet has a customary type for
the same mistake (``ValueError`` for a wrong shape, ``UserWarning`` for a stale gradient), the class derives from that
one too, so ``except`` clauses of ported code keep working.
"""

from __future__ import annotations

__all__ = [
    "DeferredInitializationError",
    "DeviceError",
    "FormatError",
    "FusionError",
    "GluonxError",
    "GraphError",
    "MXNetError",
    "ShapeError",
    "StaleGradientError",
    "TracedValueError",
    "UninitializedError",
]


class GluonxError(RuntimeError):
    """Base of all errors raised by gluonx (MXNet's name for it is ``MXNetError``)."""


MXNetError = GluonxError


class ShapeError(GluonxError, ValueError):
    """Shapes or dtypes do not fit: names the operator or block and every shape that took part."""


class DeviceError(GluonxError, ValueError):
    """An array lives, or was asked to live, on a device where it cannot."""


class DeferredInitializationError(GluonxError):
    """A parameter is needed whose shape is not known yet."""


class UninitializedError(GluonxError):
    """A parameter is used before ``initialize``."""


class GraphError(GluonxError):
    """The autograd graph does not hold what was asked of it: nothing recorded, or freed already."""


class TracedValueError(GluonxError, TypeError):
    """A value was asked for inside a traced forward, where only shapes and dtypes exist."""


class FormatError(GluonxError, ValueError):
    """A file is not what it should be: truncated, of another kind, or of another model."""


class FusionError(GluonxError, ValueError):
    """Parameters cannot be kept as one array, or not both apart and as one."""


class StaleGradientError(GluonxError, UserWarning):
    """``Trainer.step`` met a parameter whose gradient was not renewed since the last step."""
