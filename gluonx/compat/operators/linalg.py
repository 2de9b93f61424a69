"""Legacy operators of linear algebra, on stacks of matrices."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gluonx import np
from gluonx.compat.operators.reduce import at_least_1d
from gluonx.compat.operators.row import core, row
from gluonx.errors import ShapeError

if TYPE_CHECKING:
    from gluonx.compat.operators.attrs import Attrs
    from gluonx.np.handle import ndarray


_linalg: Any = np.linalg

_TWO = "transpose_a: bool=False, transpose_b: bool=False, alpha: float=1.0"


def _turned(x: ndarray, turn: bool = True) -> ndarray:
    return core("swapaxes", x, axis1=-1, axis2=-2) if turn else x


def _scaled(x: ndarray, factor: float) -> ndarray:
    return x if factor == 1.0 else core("multiply", x, factor)


def _product(a: Attrs, left: ndarray, right: ndarray) -> ndarray:
    """``alpha * op(A) @ op(B)`` over the last axis and that which `axis` names."""
    moved = a.axis % len(left.shape) != len(left.shape) - 2
    if moved:
        left, right = (core("moveaxis", x, source=a.axis, destination=-2) for x in (left, right))
    out = core("batch_dot", left, right, transpose_a=a.transpose_a, transpose_b=a.transpose_b)
    return core("moveaxis", out, source=-2, destination=a.axis) if moved else out


@row(f"_linalg_gemm2(A, B; {_TWO}, axis: int=-2)", via="batch_dot multiply", alias="linalg_gemm2")
def _gemm2(a: Attrs, left: ndarray, right: ndarray) -> ndarray:
    return _scaled(_product(a, left, right), a.alpha)


@row(
    "_linalg_gemm(A, B, C; transpose_a: bool=False, transpose_b: bool=False, alpha: float=1.0, beta: float=1.0, "
    "axis: int=-2)",
    via="batch_dot multiply add",
    alias="linalg_gemm",
)
def _gemm(a: Attrs, left: ndarray, right: ndarray, other: ndarray) -> ndarray:
    return core("add", _gemm2(a, left, right), _scaled(other, a.beta))


row("_linalg_potrf(A)", lambda a, x: _linalg.cholesky(x), via="cholesky", alias="linalg_potrf")


@row("_linalg_potri(A)", via="inv matmul", alias="linalg_potri")
def _potri(a: Attrs, factor: ndarray) -> ndarray:
    inverse = _linalg.inv(core("tril", factor))
    return core("batch_dot", inverse, inverse, transpose_a=True)


_TRIANGLE = "transpose: bool=False, rightside: bool=False, lower: bool=True, alpha: float=1.0"


def _triangle(a: Attrs, x: ndarray) -> ndarray:
    return _turned(core("tril" if a.lower else "triu", x), a.transpose)


@row(f"_linalg_trmm(A, B; {_TRIANGLE})", via="tril triu matmul", alias="linalg_trmm")
def _trmm(a: Attrs, x: ndarray, y: ndarray) -> ndarray:
    pair = (y, _triangle(a, x)) if a.rightside else (_triangle(a, x), y)
    return _scaled(core("matmul", *pair), a.alpha)


@row(f"_linalg_trsm(A, B; {_TRIANGLE})", via="tril triu solve", alias="linalg_trsm")
def _trsm(a: Attrs, x: ndarray, y: ndarray) -> ndarray:
    triangle = _triangle(a, x)
    if a.rightside:
        return _scaled(_turned(_linalg.solve(_turned(triangle), _turned(y))), a.alpha)
    return _scaled(_linalg.solve(triangle, y), a.alpha)


def _diagonal(x: ndarray, offset: int = 0) -> ndarray:
    return np.diagonal(x, offset, -2, -1)


@row("_linalg_sumlogdiag(A)", via="diagonal log sum", alias="linalg_sumlogdiag")
def _sumlogdiag(a: Attrs, x: ndarray) -> ndarray:
    return at_least_1d(core("sum", core("log", _diagonal(x)), axis=-1))


row(
    "_linalg_extractdiag(A; offset: int=0)",
    lambda a, x: _diagonal(x, a.offset),
    via="diagonal",
    alias="linalg_extractdiag",
)


@row("_linalg_makediag(A; offset: int=0)", via="pad multiply", alias="linalg_makediag")
def _makediag(a: Attrs, x: ndarray) -> ndarray:
    n, k = x.shape[-1], abs(a.offset)
    eye = np.eye(n + k, k=a.offset, dtype=x.dtype)
    width = [(0, 0)] * (len(x.shape) - 1)
    rows = core("pad", x, pad_width=(*width, (0, k) if a.offset >= 0 else (k, 0)))
    return core("multiply", core("expand_dims", rows, axis=-1), eye)


def _places(n: int, a: Attrs) -> tuple[ndarray, ...]:
    """Rows and columns of a triangle of an n by n matrix: a lower one row by row, an upper one column by column."""
    if a.lower if a.offset == 0 else a.offset < 0:
        return np.tril_indices(n, a.offset)
    return np.tril_indices(n, -a.offset)[::-1]


@row("_linalg_extracttrian(A; offset: int=0, lower: bool=True)", via="take", alias="linalg_extracttrian")
def _extracttrian(a: Attrs, x: ndarray) -> ndarray:
    n = x.shape[-1]
    i, j = _places(n, a)
    flat = core("reshape", x, newshape=(*x.shape[:-2], n * n))
    return core("take", flat, core("add", core("multiply", i, n), j), axis=-1)


@row("_linalg_maketrian(A; offset: int=0, lower: bool=True)", via="index_update", alias="linalg_maketrian")
def _maketrian(a: Attrs, x: ndarray) -> ndarray:
    k = abs(a.offset)
    n = next((n for n in range(k, k + 4096) if (n - k) * (n - k + 1) // 2 == x.shape[-1]), None)
    if n is None:
        raise ShapeError(f"linalg.maketrian: {x.shape[-1]} numbers do not fill a triangle.")
    i, j = _places(n, a)
    front = core("moveaxis", x, source=-1, destination=0) if len(x.shape) > 1 else x
    blank = np.zeros((n * n, *x.shape[:-1]), dtype=x.dtype)
    index = core("expand_dims", core("add", core("multiply", i, n), j), axis=0)
    full = core("index_update", blank, index, front)
    if len(x.shape) > 1:
        full = core("moveaxis", full, source=0, destination=-1)
    return core("reshape", full, newshape=(*x.shape[:-1], n, n))


@row("_linalg_syrk(A; transpose: bool=False, alpha: float=1.0)", via="batch_dot multiply", alias="linalg_syrk")
def _syrk(a: Attrs, x: ndarray) -> ndarray:
    return _scaled(core("batch_dot", x, x, transpose_a=a.transpose, transpose_b=not a.transpose), a.alpha)


@row("_linalg_gelqf(A)", via="qr", alias="linalg_gelqf", nout=2)
def _gelqf(a: Attrs, x: ndarray) -> tuple[ndarray, ndarray]:
    q, r = _linalg.qr(_turned(x))
    return _turned(q), _turned(r)


@row("_linalg_syevd(A)", via="eigh", alias="linalg_syevd", nout=2)
def _syevd(a: Attrs, x: ndarray) -> tuple[ndarray, ndarray]:
    values, vectors = _linalg.eigh(x)
    return _turned(vectors), values


row("_linalg_inverse(A)", lambda a, x: _linalg.inv(x), via="inv", alias="linalg_inverse")
row("_linalg_det(A)", lambda a, x: at_least_1d(_linalg.det(x)), via="det", alias="linalg_det")


@row("_linalg_slogdet(A)", via="slogdet", alias="linalg_slogdet", nout=2)
def _slogdet(a: Attrs, x: ndarray) -> tuple[ndarray, ...]:
    return tuple([at_least_1d(part) for part in _linalg.slogdet(x)])
