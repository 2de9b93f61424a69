"""Matrices without an inverse or a Cholesky factor: LAPACK reports them, a compiled program returns inf or NaN.

MXNet and NumPy raise for these. So the result of an operator that runs by itself, on the CPU, is checked at once;
elements that are not finite lead to a search for the reason, and to the error. An operator that is recorded, or part of
a hybridized block, cannot raise and returns NaN. So do operators on accelerators, unless ``GLUONX_CHECK=1``, since
checking waits for the result.
"""

from __future__ import annotations

from typing import Any

import jax
import numpy as np

from gluonx.deferred.values import index_checks, source_location
from gluonx.deferred.values.contracts import Operator
from gluonx.deferred.values.core import Tracer
from gluonx.errors import MatrixError
from gluonx.ops.checks import MatrixCheck

__all__ = ["check"]


def check(why_not: MatrixCheck, op: Operator, values: list[Any], out: jax.Array | np.ndarray) -> None:
    """Raise if `out`, the result of `op`, comes from a matrix that it cannot take, as its record tells.

    Raises
    ------
    MatrixError
    """
    if isinstance(out, Tracer) or not (
        isinstance(out, np.ndarray) or index_checks.Switch.on or index_checks.is_near(out)
    ):
        return
    found = np.asarray(out)
    if np.isfinite(found).all():
        return
    why = why_not(op.attrs, found, [np.asarray(v) for v in values if isinstance(v, (jax.Array, np.ndarray))])
    if why:
        block = source_location.block_path()
        at = f" in {block}" if block else ""
        raise MatrixError(f"{op.name}{at}: {why}. The line is {source_location.user_line()}.")
