"""Matrices that have no inverse or no Cholesky factor: LAPACK says so, a compiled program gives inf or NaN.

MXNet and NumPy raise there. So what an operator gave that runs by itself, on the CPU, is looked at once: elements that
are not finite lead to the reason, and to the error. What is recorded, or part of a hybridized block, cannot raise and
keeps NaN; so do arrays on accelerators, but for ``GLUONX_CHECK=1``, since looking means to wait for them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import numpy as np

from gluonx.deferred import ranges, where
from gluonx.deferred.contracts import Args, Operator
from gluonx.deferred.core import Tracer
from gluonx.errors import MatrixError

__all__ = ["RULES", "check"]

Arrays = list[np.ndarray]


def _has_no_factor(op: Operator, out: np.ndarray, inputs: Arrays) -> str:
    return "the matrix is not positive definite" if np.isnan(out).any() else ""


def _is_singular(matrix: np.ndarray) -> str:
    """Return why a matrix, or one of a stack, has no inverse in its precision; empty if it has, or holds NaN or inf."""
    if not np.isfinite(matrix).all():
        return ""  # NaN goes in and comes out, as in NumPy
    if str(matrix.dtype.char) not in "fdFD":  # bfloat16, float16
        matrix = matrix.astype(np.float32)
    try:
        np.linalg.inv(matrix)
    except np.linalg.LinAlgError:
        return "the matrix is singular"
    close = np.linalg.cond(matrix).max() * np.finfo(matrix.dtype).eps > 1
    return "the matrix is singular in this precision" if close else ""


def _has_no_inverse(op: Operator, out: np.ndarray, inputs: Arrays) -> str:
    return _is_singular(inputs[0])


def _has_no_power(op: Operator, out: np.ndarray, inputs: Arrays) -> str:
    return _is_singular(inputs[0]) if op.attrs["n"] < 0 else ""


def _has_no_tensor_inverse(op: Operator, out: np.ndarray, inputs: Arrays) -> str:
    rows = int(np.prod(inputs[0].shape[: op.attrs["ind"]]))
    return _is_singular(inputs[0].reshape(rows, -1))


def _has_no_tensor_solution(op: Operator, out: np.ndarray, inputs: Arrays) -> str:
    a, axes = inputs[0], op.attrs["axes"]
    if axes is not None:
        a = np.moveaxis(a, axes, range(a.ndim - len(axes), a.ndim))
    return _is_singular(a.reshape(inputs[1].size, -1))


def _is_indefinite(op: Operator, out: np.ndarray, inputs: Arrays) -> str:
    mean = inputs[-2]
    bad = np.isnan(out).any() and np.isfinite(mean).all()
    return "the covariance is not positive definite" if bad else ""


RULES: dict[str, Callable[[Any, np.ndarray, Arrays], str]] = {
    "linalg_cholesky": _has_no_factor,
    "linalg_inv": _has_no_inverse,
    "linalg_matrix_power": _has_no_power,
    "linalg_solve": _has_no_inverse,
    "linalg_tensorinv": _has_no_tensor_inverse,
    "linalg_tensorsolve": _has_no_tensor_solution,
    "random_multivariate_normal": _is_indefinite,
}


def check(op: Operator, args: Args, values: list[Any], out: jax.Array | np.ndarray) -> None:
    """Raise if `out`, which `op` gave for these values, comes of a matrix that it cannot take.

    Raises
    ------
    MatrixError
    """
    if isinstance(out, Tracer) or not (isinstance(out, np.ndarray) or ranges.Switch.on or ranges.is_near(out)):
        return
    found = np.asarray(out)
    if np.isfinite(found).all():
        return
    why = RULES[op.name](op, found, [np.asarray(v) for v in values if isinstance(v, (jax.Array, np.ndarray))])
    if why:
        block = where.block_path()
        at = f" in {block}" if block else ""
        raise MatrixError(f"{op.name}{at}: {why}. The line is {where.user_line()}.")
