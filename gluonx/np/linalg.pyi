# Made by `python -m tools.stubs --write` with JAX 0.10; do not edit.
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Self

from numpy import dtype as _dtype
from numpy.typing import ArrayLike

from gluonx.np.handle import ndarray
from numpy.linalg import LinAlgError as LinAlgError

def cholesky(a: ArrayLike, upper: Any = False, *, out: Any = None) -> ndarray:
    """The triangular factor of a positive definite matrix."""
def cond(x: ArrayLike, p: Any = None, *, out: Any = None) -> ndarray:
    """The condition number."""
def cross(a: ArrayLike, b: ArrayLike, axis: Any = -1, *, out: Any = None) -> ndarray:
    """The vector product of 3-vectors along an axis."""
def det(a: ArrayLike, *, out: Any = None) -> ndarray:
    """The determinant."""
def diagonal(a: ArrayLike, offset: Any = 0, *, out: Any = None) -> ndarray:
    """The diagonal of the last two axes."""
def eig(a: Any) -> tuple[Any, Any]:
    """Eigenvalues and right eigenvectors of a general matrix; real where all of them are."""
def eigh(a: ArrayLike, upper: Any = False, UPLO: Any = None, *, out: Any = None) -> Any:
    """Eigenvalues, ascending, and eigenvectors of a symmetric or Hermitian matrix."""
def eigvals(a: Any) -> ndarray:
    """Return the eigenvalues of a general matrix; real where all of them are. The matrix is read, as in `eig`."""
def eigvalsh(a: ArrayLike, upper: Any = False, UPLO: Any = None, *, out: Any = None) -> ndarray:
    """The eigenvalues of a symmetric or Hermitian matrix, ascending."""
def inv(a: ArrayLike, *, out: Any = None) -> ndarray:
    """The inverse."""
def lstsq(a: ArrayLike, b: ArrayLike, rcond: Any = 'warn', *, out: Any = None) -> Any:
    """The least-squares solution of a linear system: solution, residuals, rank, singular values."""
def matmul(x1: ArrayLike, x2: ArrayLike, precision: Any = None, preferred_element_type: Any = None, *, out: Any = None) -> ndarray:
    """The matrix product."""
def matrix_norm(x: ArrayLike, ord: Any = 'fro', axis: Any = (-2, -1), keepdims: Any = False, *, out: Any = None) -> ndarray:
    """A norm of the matrices in two axes."""
def matrix_power(a: ArrayLike, n: Any, *, out: Any = None) -> ndarray:
    """A square matrix to a whole power."""
def matrix_rank(M: ArrayLike, rtol: ArrayLike | None = None, hermitian: Any = False, *, out: Any = None) -> ndarray:
    """The number of singular values above a tolerance."""
def matrix_transpose(a: ArrayLike, *, out: Any = None) -> ndarray:
    """The last two axes exchanged."""
def multi_dot(arrays: ArrayLike, precision: Any = None, *, out: Any = None) -> ndarray:
    """The product of several matrices in the cheapest order."""
def norm(x: ArrayLike, ord: Any = None, axis: Any = None, keepdims: Any = False, *, out: Any = None) -> ndarray:
    """A vector or matrix norm."""
def outer(a: ArrayLike, b: ArrayLike, *, out: Any = None) -> ndarray:
    """The product of all pairs of two vectors."""
def pinv(a: ArrayLike, rtol: ArrayLike | None = None, hermitian: Any = False, *, out: Any = None) -> ndarray:
    """The Moore-Penrose inverse."""
def qr(a: ArrayLike, mode: Any = 'reduced', *, out: Any = None) -> Any:
    """The factors of an orthogonal and a triangular matrix."""
def slogdet(a: ArrayLike, method: Any = None, *, out: Any = None) -> Any:
    """Sign and logarithm of the absolute value of the determinant."""
def solve(a: ArrayLike, b: ArrayLike, *, out: Any = None) -> ndarray:
    """The solution of a linear system."""
def svd(a: ArrayLike, full_matrices: Any = False, compute_uv: Any = True, *, out: Any = None) -> Any:
    """The singular value decomposition, in its reduced form."""
def svdvals(a: ArrayLike, *, out: Any = None) -> ndarray:
    """The singular values, descending."""
def tensordot(a: ArrayLike, b: ArrayLike, axes: Any = 2, precision: Any = None, preferred_element_type: Any = None, *, out: Any = None) -> ndarray:
    """The sum of products over given axes."""
def tensorinv(a: ArrayLike, ind: Any = 2, *, out: Any = None) -> ndarray:
    """The inverse for `tensordot`."""
def tensorsolve(a: ArrayLike, b: ArrayLike, axes: Any = None, *, out: Any = None) -> ndarray:
    """The solution of a linear system of tensors."""
def trace(a: ArrayLike, offset: Any = 0, dtype: Any = None, *, out: Any = None) -> ndarray:
    """The sum of the diagonal of the last two axes."""
def vecdot(a: ArrayLike, b: ArrayLike, axis: Any = None, *, out: Any = None) -> ndarray:
    """The inner product of vectors along an axis."""
def vector_norm(x: ArrayLike, ord: Any = None, axis: Any = None, keepdims: Any = False, *, out: Any = None) -> ndarray:
    """A norm of the vectors in given axes."""
