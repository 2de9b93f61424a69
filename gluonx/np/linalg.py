"""Linear algebra: ``gluonx.np.linalg``, with the parameters of MXNet's and NumPy's functions of these names.

All functions take batches of matrices. `eig` and `eigvals` of general matrices, which XLA has only on CPUs, are
computed by NumPy, outside of traced blocks.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Literal

import jax.numpy as jnp
import numpy as onp
from jax import Array, lax
from numpy.typing import ArrayLike

from gluonx.common.arguments import Size, named
from gluonx.dtype import DTypeLike
from gluonx.errors import ShapeError
from gluonx.np.building import make
from gluonx.np.hosted import is_wide, on_host, to_device
from gluonx.ops.checks import Attrs, has_no_factor, has_no_inverse, is_singular
from gluonx.ops.common import narrow, wide
from gluonx.ops.elementwise import absolute
from gluonx.ops.host import algebra, kernels
from gluonx.ops.registry import BROADCAST, SAME, Front, Onnx, Record

if TYPE_CHECKING:
    import jax

    from gluonx.np.handle import ndarray


__all__ = ["LinAlgError", "eig", "eigvals"]

LinAlgError = onp.linalg.LinAlgError


def _has_no_power(attrs: Attrs, out: onp.ndarray, inputs: list[onp.ndarray]) -> str:
    return is_singular(inputs[0]) if attrs["n"] < 0 else ""


def _has_no_tensor_inverse(attrs: Attrs, out: onp.ndarray, inputs: list[onp.ndarray]) -> str:
    rows = int(onp.prod(inputs[0].shape[: attrs["ind"]]))
    return is_singular(inputs[0].reshape(rows, -1))


def _has_no_tensor_solution(attrs: Attrs, out: onp.ndarray, inputs: list[onp.ndarray]) -> str:
    a, axes = inputs[0], attrs["axes"]
    if axes is not None:
        a = onp.moveaxis(a, axes, range(a.ndim - len(axes), a.ndim))
    return is_singular(a.reshape(inputs[1].size, -1))


_RECORDS: dict[str, Record] = {
    "cholesky": Record(
        shape=SAME,
        gives="float",
        doc="The triangular factor of a positive definite matrix.",
        amp="float32",
        matrix=has_no_factor,
        example=("np.linalg.cholesky(np.array([[2.0, 0.0], [0.0, 4.0]])).tolist()", "[[1.414, 0.0], [0.0, 2.0]]"),
    ),
    "cond": Record(
        meaning={"p": "The order of the norm, a number; 2 by default."},
        shape="the batch's; () for one matrix",
        gives="float",
        doc="The condition number.",
        amp="float32",
        example=("float(np.linalg.cond(np.array([[2.0, 0.0], [0.0, 4.0]])))", "2.0"),
    ),
    "cross": Record(
        meaning={"b": "The second vectors."},
        shape=BROADCAST,
        gives="input",
        doc="The vector product of 3-vectors along an axis.",
        example=("np.linalg.cross(np.array([1.0, 0.0, 0.0]), np.array([0.0, 1.0, 0.0])).tolist()", "[0.0, 0.0, 1.0]"),
    ),
    "det": Record(
        shape="the batch's; () for one matrix",
        gives="float",
        doc="The determinant.",
        amp="float32",
        onnx=Onnx("Det"),
        example=("float(np.linalg.det(np.array([[2.0, 0.0], [0.0, 4.0]])))", "8.0"),
    ),
    "diagonal": Record(
        shape="the batch's, then the length of the diagonal",
        gives="input",
        doc="The diagonal of the last two axes.",
        example=("np.linalg.diagonal(np.array([[2.0, 0.0], [0.0, 4.0]])).tolist()", "[2.0, 4.0]"),
    ),
    "eigh": Record(
        gives="float",
        doc="Eigenvalues, ascending, and eigenvectors of a symmetric or Hermitian matrix.\n\n"
        "Returns\n-------\n"
        "eigenvalues : ndarray\n"
        "    ``(..., n)``, ascending and real.\n"
        "eigenvectors : ndarray\n"
        "    ``(..., n, n)``, in the columns.",
        amp="float32",
        example=("[part.shape for part in np.linalg.eigh(np.array([[2.0, 0.0], [0.0, 4.0]]))]", "[(2,), (2, 2)]"),
    ),
    "eigvalsh": Record(
        shape="(..., n)",
        gives="float",
        doc="The eigenvalues of a symmetric or Hermitian matrix, ascending.",
        amp="float32",
        example=("np.linalg.eigvalsh(np.array([[2.0, 0.0], [0.0, 4.0]])).tolist()", "[2.0, 4.0]"),
    ),
    "inv": Record(
        shape=SAME,
        gives="float",
        doc="The inverse.",
        amp="float32",
        matrix=has_no_inverse,
        example=("np.linalg.inv(np.array([[2.0, 0.0], [0.0, 4.0]])).tolist()", "[[0.5, 0.0], [0.0, 0.25]]"),
    ),
    "lstsq": Record(
        meaning={
            "b": "The right side: a vector, or a matrix with a column for each system.",
            "rcond": "Singular values below this part of the largest one count as zero.",
        },
        doc="The least-squares solution of a linear system: solution, residuals, rank, singular values.\n\n"
        "Returns\n-------\n"
        "x : ndarray\n"
        "    ``(n,)`` or ``(n, k)``, the solution.\n"
        "residuals : ndarray\n"
        "    ``(k,)``, the sums of squares; ``(0,)`` where they mean nothing.\n"
        "rank : ndarray\n"
        "    ``()``, int64.\n"
        "s : ndarray\n"
        "    ``(min(m, n),)``, the singular values.",
        amp="float32",
        wide=True,
        example=("np.linalg.lstsq(np.array([[2.0, 0.0], [0.0, 4.0]]), np.array([2.0, 8.0]))[0].tolist()", "[1.0, 2.0]"),
    ),
    "matmul": Record(
        shape="the batch's, then the first one's rows and the second one's columns",
        gives="input",
        doc="The matrix product.",
        amp="low",
        example=(
            "np.linalg.matmul(np.array([[2.0, 0.0], [0.0, 4.0]]), np.array([[2.0, 0.0], [0.0, 4.0]])).tolist()",
            "[[4.0, 0.0], [0.0, 16.0]]",
        ),
    ),
    "matrix_norm": Record(
        shape="as the input without the two axes (1 with `keepdims`)",
        gives="float",
        doc="A norm of the matrices in two axes.",
        amp="float32",
        example=("float(np.linalg.matrix_norm(np.array([[2.0, 0.0], [0.0, 4.0]])))", "4.472"),
    ),
    "matrix_power": Record(
        meaning={"n": "The exponent, an integer; a negative one inverts the matrix first."},
        shape=SAME,
        gives="input",
        doc="A square matrix to a whole power.",
        amp="float32",
        matrix=_has_no_power,
        example=("np.linalg.matrix_power(np.array([[2.0, 0.0], [0.0, 4.0]]), 3).tolist()", "[[8.0, 0.0], [0.0, 64.0]]"),
    ),
    "matrix_rank": Record(
        meaning={"M": "The matrix, or a batch of them.", "hermitian": "Whether the matrix is symmetric or Hermitian."},
        shape="the batch's; () for one matrix",
        gives="int64",
        doc="The number of singular values above a tolerance.",
        amp="float32",
        wide=True,
        example=("float(np.linalg.matrix_rank(np.array([[2.0, 0.0], [0.0, 4.0]])))", "2.0"),
    ),
    "matrix_transpose": Record(
        shape="as the input, its last two axes exchanged",
        gives="input",
        doc="The last two axes exchanged.",
        np=Front(shown={"x": "a"}),
        example=("np.linalg.matrix_transpose(np.array([[2.0, 0.0], [0.0, 4.0]])).tolist()", "[[2.0, 0.0], [0.0, 4.0]]"),
    ),
    "multi_dot": Record(
        shape="the rows of the first one, the columns of the last one",
        gives="input",
        doc="The product of several matrices in the cheapest order.",
        amp="low",
        example=("np.linalg.multi_dot([np.ones((2, 3)), np.ones((3, 4)), np.ones((4, 2))]).shape", "(2, 2)"),
    ),
    "norm": Record(
        shape="as the input without `axis` (1 with `keepdims`)",
        gives="float",
        doc="A vector or matrix norm.",
        amp="float32",
        example=("float(np.linalg.norm(np.array([[2.0, 0.0], [0.0, 4.0]])))", "4.472"),
    ),
    "outer": Record(
        shape="(size of the first, size of the second)",
        gives="input",
        doc="The product of all pairs of two vectors.",
        np=Front(shown={"x1": "a", "x2": "b"}),
        example=("np.linalg.outer(np.array([1.0, 2.0]), np.array([3.0, 4.0])).tolist()", "[[3.0, 4.0], [6.0, 8.0]]"),
    ),
    "pinv": Record(
        meaning={"hermitian": "Whether the matrix is symmetric or Hermitian."},
        shape="(..., n, m) for (..., m, n)",
        gives="float",
        doc="The Moore-Penrose inverse.",
        amp="float32",
        example=("np.linalg.pinv(np.array([[2.0, 0.0], [0.0, 4.0]])).tolist()", "[[0.5, 0.0], [0.0, 0.25]]"),
    ),
    "qr": Record(
        meaning={"mode": "'reduced' or 'complete' for two factors, 'r' for the second alone, 'raw' for LAPACK's."},
        doc="The factors of an orthogonal and a triangular matrix.\n\n"
        "Returns\n-------\n"
        "tuple of ndarray\n"
        "    ``q`` of ``(..., m, k)`` and ``r`` of ``(..., k, n)`` for ``(..., m, n)``; k is the smaller of m and n,\n"
        "    or m with `mode` 'complete'. With `mode` 'r' the second array alone.",
        amp="float32",
        example=("[part.shape for part in np.linalg.qr(np.array([[2.0, 0.0], [0.0, 4.0]]))]", "[(2, 2), (2, 2)]"),
    ),
    "slogdet": Record(
        gives="float",
        meaning={"method": "'lu' or 'qr', the factorization that is used; None: 'lu'."},
        doc="Sign and logarithm of the absolute value of the determinant.\n\n"
        "Returns\n-------\n"
        "sign : ndarray\n"
        "    The batch's shape; 0 for a singular matrix.\n"
        "logabsdet : ndarray\n"
        "    The batch's shape; minus infinity for a singular matrix.",
        amp="float32",
        example=("[part.shape for part in np.linalg.slogdet(np.array([[2.0, 0.0], [0.0, 4.0]]))]", "[(), ()]"),
    ),
    "solve": Record(
        meaning={"b": "The right side: a vector, or a matrix with a column for each system."},
        shape="that of the right hand side",
        gives="float",
        doc="The solution of a linear system.",
        amp="float32",
        matrix=has_no_inverse,
        example=("np.linalg.solve(np.array([[2.0, 0.0], [0.0, 4.0]]), np.array([2.0, 8.0])).tolist()", "[1.0, 2.0]"),
    ),
    "svd": Record(
        gives="float",
        meaning={
            "compute_uv": "Whether the vectors are returned too; otherwise only the singular values.",
            "full_matrices": "Whether the vectors form square matrices.",
        },
        doc="The singular value decomposition, in its reduced form.\n\n"
        "Returns\n-------\n"
        "tuple of ndarray\n"
        "    For ``(..., m, n)`` and k the smaller of m and n: ``u`` of ``(..., m, k)``, ``s`` of ``(..., k)`` and\n"
        "    descending, ``vh`` of ``(..., k, n)``. With `full_matrices` ``u`` is ``(..., m, m)`` and ``vh``\n"
        "    ``(..., n, n)``. Without `compute_uv` ``s`` alone.",
        amp="float32",
        example=(
            "[part.shape for part in np.linalg.svd(np.array([[2.0, 0.0], [0.0, 4.0]]))]",
            "[(2, 2), (2,), (2, 2)]",
        ),
    ),
    "svdvals": Record(
        shape="(..., k), k the smaller of the last two lengths",
        gives="float",
        doc="The singular values, descending.",
        amp="float32",
        np=Front(shown={"x": "a"}),
        example=("np.linalg.svdvals(np.array([[2.0, 0.0], [0.0, 4.0]])).tolist()", "[4.0, 2.0]"),
    ),
    "tensordot": Record(
        meaning={"axes": "How many last axes of `x1` and first axes of `x2` are summed over, or two lists of axes."},
        shape="what is left of the first one's axes, then of the second one's",
        gives="input",
        doc="The sum of products over given axes.",
        np=Front(shown={"x1": "a", "x2": "b"}),
        example=("np.linalg.tensordot(np.ones((2, 3, 4)), np.ones((3, 4, 5)), axes=2).shape", "(2, 5)"),
    ),
    "tensorinv": Record(
        meaning={"ind": "How many of the first axes belong to the result's last ones."},
        shape="the input's, its first `ind` axes moved behind the others",
        doc="The inverse for `tensordot`.",
        amp="float32",
        matrix=_has_no_tensor_inverse,
        example=("np.linalg.tensorinv(np.eye(4).reshape(2, 2, 2, 2)).shape", "(2, 2, 2, 2)"),
    ),
    "tensorsolve": Record(
        meaning={"b": "The right side.", "axes": "The axes of `a` that are moved to its end first."},
        shape="the trailing axes of the first input that are solved for",
        doc="The solution of a linear system of tensors.",
        amp="float32",
        matrix=_has_no_tensor_solution,
        example=("np.linalg.tensorsolve(np.eye(4).reshape(2, 2, 2, 2), np.ones((2, 2))).shape", "(2, 2)"),
    ),
    "trace": Record(
        shape="as the input without the last two axes",
        doc="The sum of the diagonal of the last two axes.",
        amp="float32",
        example=("float(np.linalg.trace(np.array([[2.0, 0.0], [0.0, 4.0]])))", "6.0"),
    ),
    "vecdot": Record(
        meaning={"b": "The second vectors."},
        shape="the batch's: the inputs' without the axis",
        gives="input",
        doc="The inner product of vectors along an axis.",
        example=("float(np.linalg.vecdot(np.array([1.0, 2.0]), np.array([3.0, 4.0])))", "11.0"),
    ),
    "vector_norm": Record(
        shape="as the input without `axis` (1 with `keepdims`)",
        gives="float",
        doc="A norm of the vectors in given axes.",
        amp="float32",
        example=("float(np.linalg.vector_norm(np.array([[2.0, 0.0], [0.0, 4.0]])))", "4.472"),
    ),
}


def _square(a: Array) -> Array:
    """Integer matrices become float32, as in MXNet."""
    return a if jnp.issubdtype(a.dtype, jnp.inexact) else a.astype(jnp.float32)


def cholesky(a: Array, upper: bool = False) -> Array:
    a = _square(a)
    if a.ndim < 2 or a.shape[-1] != a.shape[-2]:
        raise ShapeError(f"cholesky takes square matrices, got an array of shape {a.shape}.")
    kept = jnp.triu(a) if upper else jnp.tril(a)  # the other triangle is not read, as in LAPACK
    mirrored = kept + jnp.matrix_transpose(jnp.triu(a, 1) if upper else jnp.tril(a, -1)).conj()
    even = (a + jnp.matrix_transpose(a).conj()) / 2  # gradients are symmetric, as in MXNet
    return jnp.linalg.cholesky(even + lax.stop_gradient(mirrored - even), upper=upper, symmetrize_input=False)


def cond(x: Array, p: ArrayLike | None = None) -> Array:
    return jnp.linalg.cond(x, p)


def cross(a: Array, b: Array, axis: int = -1) -> Array:
    return jnp.linalg.cross(a, b, axis=axis)


def diagonal(a: Array, offset: int = 0) -> Array:
    return jnp.diagonal(a, offset, -2, -1)


def _triangle(upper: bool | str, uplo: str | None) -> str:
    return uplo if uplo is not None else "U" if upper in (True, "U") else "L"


def _known(values: Array, a: Array, triangle: str) -> Array:
    """Return eigenvalues, NaN if the triangle that is read has NaN or inf, which LAPACK may overlook."""
    read = jnp.triu(a) if triangle == "U" else jnp.tril(a)
    return jnp.where(jnp.isfinite(read).all((-2, -1))[..., None], values, jnp.nan)


def eigh(a: Array, upper: bool | str = False, *, UPLO: str | None = None) -> tuple[Array, Array]:
    values, vectors = jnp.linalg.eigh(_square(a), _triangle(upper, UPLO), symmetrize_input=False)
    return _known(values, a, _triangle(upper, UPLO)), vectors


def eigvalsh(a: Array, upper: bool | str = False, *, UPLO: str | None = None) -> Array:
    values = jnp.linalg.eigvalsh(_square(a), _triangle(upper, UPLO), symmetrize_input=False)
    return _known(values, a, _triangle(upper, UPLO))


def lstsq(a: Array, b: Array, rcond: float | Literal["warn"] | None = "warn") -> tuple[Array, ...]:
    x, residuals, rank, sizes = jnp.linalg.lstsq(_square(a), _square(b), rcond=None if rcond == "warn" else rcond)
    if a.shape[0] <= a.shape[1]:  # no residuals, as in NumPy; nor if the rank is too low, but that depends on values
        residuals = residuals[:0]
    return x, residuals, rank.astype(jnp.int64), sizes


def matrix_norm(x: Array, ord: int | float | str = "fro", axis: Size = (-2, -1), keepdims: bool = False) -> Array:
    return norm(x, ord, axis, keepdims)


def matrix_rank(M: Array, rtol: Array | None = None, hermitian: bool = False) -> Array:
    return jnp.linalg.matrix_rank(_square(M), rtol).astype(jnp.int64)


def multi_dot(arrays: Sequence[Array], *, precision: jax.lax.PrecisionLike = None) -> Array:
    return jnp.linalg.multi_dot(arrays, precision=precision)


def norm(x: Array, ord: Any = None, axis: Size | None = None, keepdims: bool = False) -> Array:
    if isinstance(ord, str):
        ord = {"inf": math.inf, "-inf": -math.inf}.get(ord, ord)
    if ord == "fro" and (x.ndim if axis is None else onp.size(axis)) == 1:
        ord = None  # orders 2 and 'fro' agree here: the root of the sum of squares
    return jnp.linalg.norm(_sizes(_square(x), ord), ord=ord, axis=axis, keepdims=keepdims)


def _sizes(x: Array, ord: int | float | str) -> Array:
    """Return the magnitudes; their gradient at 0 is 0 for orders that allow it."""
    return absolute(x) if ord in (1, -1, math.inf, -math.inf) else x


def pinv(a: Array, rtol: Array | None = None, hermitian: bool = False) -> Array:
    return jnp.linalg.pinv(_square(a), rtol, hermitian)


def qr(a: Array, mode: str = "reduced") -> Array | tuple[Array, ...]:
    a = _square(a)
    result = jnp.linalg.qr(wide(a), mode)  # LAPACK has no half precision
    return tuple([narrow(x, a.dtype) for x in result]) if isinstance(result, tuple) else narrow(result, a.dtype)


def solve(a: Array, b: Array) -> Array:
    a, b = _square(a), _square(b)
    if b.ndim == a.ndim - 1 and b.ndim > 1:  # a stack of vectors, as before NumPy 2
        return jnp.linalg.solve(a, b[..., None])[..., 0]
    return jnp.linalg.solve(a, b)


def svd(a: Array, full_matrices: bool = False, compute_uv: bool = True) -> Array | tuple[Array, ...]:
    result = jnp.linalg.svd(_square(a), full_matrices, compute_uv)
    return tuple(result) if isinstance(result, tuple) else result


def tensorsolve(a: Array, b: Array, axes: tuple[int, ...] | None = None) -> Array:
    a, b = _square(a), _square(b)
    if a.ndim == b.ndim and a.size == b.size == 1:  # a single equation; NumPy's solution has as many axes as `a`
        return b.reshape(a.shape) / a
    return jnp.linalg.tensorsolve(a, b, axes)


def trace(a: Array, offset: int = 0, *, dtype: DTypeLike = None) -> Array:
    return jnp.trace(a, offset, -2, -1, dtype)


def vecdot(a: Array, b: Array, axis: int | None = None) -> Array:
    return jnp.linalg.vecdot(a, b, axis=-1 if axis is None else axis)


def vector_norm(x: Array, ord: Any = None, axis: int | tuple[int, ...] | None = None, keepdims: bool = False) -> Array:
    return jnp.linalg.vector_norm(_sizes(_square(x), ord), ord=2 if ord is None else ord, axis=axis, keepdims=keepdims)


_RULES: dict[str, Callable[..., Any]] = {name: globals()[name] for name in _RECORDS if name in globals()}
"""The functions above that replace ``jax.numpy.linalg``'s. Below, functions on ndarrays take their names."""

for _name, _record in _RECORDS.items():
    _fn = _RULES.get(_name) or getattr(jnp.linalg, _name)
    globals()[_name] = make(_name, _fn, _record, module="gluonx.np.linalg", register_as=f"linalg_{_name}")
    __all__ += [_name]  # noqa: PLE0604

for _name, (_kernel, _work) in algebra.LINEAR.items():
    kernels.numpy_kernel(f"linalg_{_name}", _work)(_kernel)


def eig(a: ArrayLike) -> tuple[Any, Any]:
    """Return eigenvalues and right eigenvectors of a general matrix; real if all of them are.

    The matrix is read: this works only outside of traced blocks, and no gradient flows.

    Returns
    -------
    tuple of ndarray
        The eigenvalues, of shape ``(..., n)``, and the eigenvectors as columns, of shape ``(..., n, n)``; complex where
        a value is.

    Examples
    --------
    >>> from gluonx import np
    >>> values, vectors = np.linalg.eig(np.array([[2.0, 0.0], [0.0, 3.0]]))
    >>> values.tolist(), vectors.tolist()
    ([2.0, 3.0], [[1.0, 0.0], [0.0, 1.0]])
    """
    values, vectors = onp.linalg.eig(onp.asarray(on_host("linalg.eig", a), onp.float64))
    return to_device((_real(values, is_wide(a)), _real(vectors, is_wide(a))), is_wide(a))


def eigvals(a: ArrayLike) -> ndarray:
    """Return the eigenvalues of a general matrix; real if all of them are. The matrix is read, as in `eig`.

    Returns
    -------
    ndarray
        Of shape ``(..., n)``; complex where a value is.

    Examples
    --------
    >>> from gluonx import np
    >>> np.linalg.eigvals(np.array([[2.0, 0.0], [0.0, 3.0]])).tolist()
    [2.0, 3.0]
    """
    values = onp.linalg.eigvals(onp.asarray(on_host("linalg.eigvals", a), onp.float64))
    return to_device(_real(values, is_wide(a)), is_wide(a))


def _real(found: Any, wide: bool) -> onp.ndarray:
    if onp.any(found.imag):
        return found.astype(onp.complex128 if wide else onp.complex64)
    return found.real.astype(onp.float64 if wide else onp.float32)


named(globals(), ["eig", "eigvals"], "np.linalg")
del _name, _fn, _record


def __dir__() -> list[str]:
    return sorted(__all__)
