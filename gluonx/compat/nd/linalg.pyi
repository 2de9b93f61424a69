# Made by `python -m tools.stubs --write` with JAX 0.10; do not edit.
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Self

from numpy import dtype as _dtype
from numpy.typing import ArrayLike

from gluonx.compat.nd.ndarray import NDArray as NDArray

def det(A: Any, *, out: Any = None, name: Any = None) -> NDArray:
    """MXNet 1's operator ``_linalg_det(A)``. Core operators: det."""
def extractdiag(A: Any, offset: Any = 0, *, out: Any = None, name: Any = None) -> NDArray:
    """MXNet 1's operator ``_linalg_extractdiag(A; offset: int=0)``. Core operators: diagonal."""
def extracttrian(A: Any, offset: Any = 0, lower: Any = True, *, out: Any = None, name: Any = None) -> NDArray:
    """MXNet 1's operator ``_linalg_extracttrian(A; offset: int=0, lower: bool=True)``. Core operators: take."""
def gelqf(A: Any, *, out: Any = None, name: Any = None) -> Any:
    """MXNet 1's operator ``_linalg_gelqf(A)``. Core operators: qr."""
def gemm(A: Any, B: Any, C: Any, transpose_a: Any = False, transpose_b: Any = False, alpha: Any = 1.0, beta: Any = 1.0, axis: Any = -2, *, out: Any = None, name: Any = None) -> NDArray:
    """MXNet 1's operator ``_linalg_gemm(A, B, C; transpose_a: bool=False, transpose_b: bool=False, alpha: float=1.0, beta: float=1.0, axis: int=-2)``. Core operators: batch_dot, multiply, add."""
def gemm2(A: Any, B: Any, transpose_a: Any = False, transpose_b: Any = False, alpha: Any = 1.0, axis: Any = -2, *, out: Any = None, name: Any = None) -> NDArray:
    """MXNet 1's operator ``_linalg_gemm2(A, B; transpose_a: bool=False, transpose_b: bool=False, alpha: float=1.0, axis: int=-2)``. Core operators: batch_dot, multiply."""
def inverse(A: Any, *, out: Any = None, name: Any = None) -> NDArray:
    """MXNet 1's operator ``_linalg_inverse(A)``. Core operators: inv."""
def makediag(A: Any, offset: Any = 0, *, out: Any = None, name: Any = None) -> NDArray:
    """MXNet 1's operator ``_linalg_makediag(A; offset: int=0)``. Core operators: pad, multiply."""
def maketrian(A: Any, offset: Any = 0, lower: Any = True, *, out: Any = None, name: Any = None) -> NDArray:
    """MXNet 1's operator ``_linalg_maketrian(A; offset: int=0, lower: bool=True)``. Core operators: index_update."""
def potrf(A: Any, *, out: Any = None, name: Any = None) -> NDArray:
    """MXNet 1's operator ``_linalg_potrf(A)``. Core operators: cholesky."""
def potri(A: Any, *, out: Any = None, name: Any = None) -> NDArray:
    """MXNet 1's operator ``_linalg_potri(A)``. Core operators: inv, matmul."""
def slogdet(A: Any, *, out: Any = None, name: Any = None) -> Any:
    """MXNet 1's operator ``_linalg_slogdet(A)``. Core operators: slogdet."""
def sumlogdiag(A: Any, *, out: Any = None, name: Any = None) -> NDArray:
    """MXNet 1's operator ``_linalg_sumlogdiag(A)``. Core operators: diagonal, log, sum."""
def syevd(A: Any, *, out: Any = None, name: Any = None) -> Any:
    """MXNet 1's operator ``_linalg_syevd(A)``. Core operators: eigh."""
def syrk(A: Any, transpose: Any = False, alpha: Any = 1.0, *, out: Any = None, name: Any = None) -> NDArray:
    """MXNet 1's operator ``_linalg_syrk(A; transpose: bool=False, alpha: float=1.0)``. Core operators: batch_dot, multiply."""
def trmm(A: Any, B: Any, transpose: Any = False, rightside: Any = False, lower: Any = True, alpha: Any = 1.0, *, out: Any = None, name: Any = None) -> NDArray:
    """MXNet 1's operator ``_linalg_trmm(A, B; transpose: bool=False, rightside: bool=False, lower: bool=True, alpha: float=1.0)``. Core operators: tril, triu, matmul."""
def trsm(A: Any, B: Any, transpose: Any = False, rightside: Any = False, lower: Any = True, alpha: Any = 1.0, *, out: Any = None, name: Any = None) -> NDArray:
    """MXNet 1's operator ``_linalg_trsm(A, B; transpose: bool=False, rightside: bool=False, lower: bool=True, alpha: float=1.0)``. Core operators: tril, triu, solve."""
