"""Linear algebra and Fourier transforms, by the LAPACK of NumPy and SciPy.

Vectors that are determined only up to their sign come from SciPy's LAPACK, which JAX uses on a CPU; some of NumPy's
have the other sign. A factorization that fails gives NaN, as in JAX, and no exception.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from gluonx.ops.host.primitives import WIDER, Call, Fn, rule


def _checked(call: Call) -> None:
    """Refuse empty matrices, on which LAPACK and JAX differ, and set the cost of the call."""
    if any(spec.size == 0 for spec in call.ins):
        raise call.unsupported("an empty matrix")
    call.cost = 4.0 * call.ins[0].size * min(call.ins[0].shape[-2:])


def _each(fn: Fn, call: Call) -> Fn:
    """Return `fn`, a function of one matrix, for batches; NaN where it raises LinAlgError."""
    shapes = [(out.shape, out.dtype) for out in call.outs]
    single = len(shapes) == 1
    # Every operand and every result has the batch axes first.
    batch = call.ins[0].shape[:-2]
    count = math.prod(batch)

    def run(*arrays: np.ndarray) -> Any:
        outs = [np.empty((count, *shape[len(batch) :]), dtype) for shape, dtype in shapes]
        flat = [x.reshape(count, *x.shape[len(batch) :]) for x in arrays]
        for i in range(count):
            try:
                found = fn(*[x[i] for x in flat])
            except np.linalg.LinAlgError:
                found = [np.nan if out.dtype.kind in "fc" else 0 for out in outs]
            for out, value in zip(outs, found, strict=True):
                out[i] = value
        outs = [out.reshape(shape) for out, (shape, _) in zip(outs, shapes, strict=True)]
        return outs[0] if single else outs

    return run


def _lapack(dtype: np.dtype, name: str) -> Fn:
    import scipy.linalg

    (fn,) = scipy.linalg.get_lapack_funcs((name,), dtype=dtype)
    return fn


@rule("cholesky")
def _cholesky(call: Call) -> Fn:
    _checked(call)
    potrf = _lapack(call.dtype, "potrf")

    def one(x: Any) -> Any:
        found, info = potrf(x, lower=True, clean=True)
        if info:
            raise np.linalg.LinAlgError
        return (found,)

    return _each(one, call)


@rule("lu")
def _lu(call: Call) -> Fn:
    _checked(call)
    getrf = _lapack(call.dtype, "getrf")
    rows = call.ins[0].shape[-2]

    def one(x: Any) -> Any:
        found, pivots, info = getrf(x)
        if info < 0:
            raise np.linalg.LinAlgError
        return found, pivots, _permutation(pivots, rows)

    return _each(one, call)


def _permutation(pivots: np.ndarray, size: int) -> np.ndarray:
    order = np.arange(size)
    for i, other in enumerate(pivots):
        order[i], order[other] = order[other], order[i]
    return order


@rule("lu_pivots_to_permutation")
def _lu_pivots_to_permutation(call: Call) -> Fn:
    size, shape, dtype = call.params["permutation_size"], call.shape, call.dtype

    def run(pivots: Any) -> Any:
        rows = pivots.reshape(math.prod(shape[:-1]), -1)
        out = [_permutation(row, size) for row in rows]
        return np.array(out, dtype).reshape(shape)

    return run


@rule("qr")
def _qr(call: Call) -> Fn:
    _checked(call)
    if call.params.get("pivoting"):
        raise call.unsupported("pivoting")
    mode = "complete" if call.params["full_matrices"] else "reduced"
    return lambda x: tuple(np.linalg.qr(x, mode))


@rule("geqrf")
def _geqrf(call: Call) -> Fn:
    _checked(call)
    geqrf = _lapack(call.dtype, "geqrf")
    return _each(lambda x: geqrf(x)[:2], call)


@rule("householder_product")
def _householder_product(call: Call) -> Fn:
    _checked(call)
    orgqr = _lapack(call.dtype, "ungqr" if call.dtype.kind == "c" else "orgqr")
    return _each(lambda x, taus: orgqr(x, taus)[:1], call)


@rule("eigh")
def _eigh(call: Call) -> Fn:
    _checked(call)
    if call.params.get("subset_by_index") is not None:
        raise call.unsupported("some of the values only")
    lower = call.params["lower"]

    def one(x: Any) -> Any:
        values, vectors = eigh(x, lower)
        return vectors, values

    return _each(one, call)


@rule("eig")
def _eig(call: Call) -> Fn:
    import scipy.linalg

    _checked(call)
    left, right = call.params["compute_left_eigenvectors"], call.params["compute_right_eigenvectors"]

    def one(x: Any) -> Any:
        if not np.isfinite(x).all():
            raise np.linalg.LinAlgError
        found = scipy.linalg.eig(x, left=left, right=right, check_finite=False)
        return found if left or right else (found,)

    return _each(one, call)


@rule("svd")
def _svd(call: Call) -> Fn:
    _checked(call)
    if call.params.get("subset_by_index") is not None:
        raise call.unsupported("some of the values only")
    vectors, full = call.params["compute_uv"], call.params["full_matrices"]

    def one(x: Any) -> Any:
        if not vectors:
            return (np.linalg.svd(x, compute_uv=False),)
        left, values, right = svd(x, full)
        return values, left, right

    return _each(one, call)


def svd(x: np.ndarray, full_matrices: bool) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return left vectors, values and right vectors of one matrix."""
    import scipy.linalg

    return scipy.linalg.svd(x, full_matrices, check_finite=False)


def eigh(x: np.ndarray, lower: bool) -> tuple[np.ndarray, np.ndarray]:
    """Return the eigenvalues and vectors of one symmetric or Hermitian matrix; only one triangle is read."""
    import scipy.linalg

    return scipy.linalg.eigh(x, lower=lower, driver="evd", check_finite=False)


@rule("triangular_solve")
def _triangular_solve(call: Call) -> Fn:
    import scipy.linalg

    _checked(call)
    params = call.params
    (trsm,) = scipy.linalg.get_blas_funcs(("trsm",), dtype=call.dtype)
    lower, unit = int(params["lower"]), int(params["unit_diagonal"])
    side, transposed, conjugate = int(not params["left_side"]), bool(params["transpose_a"]), bool(params["conjugate_a"])
    complex_ = call.dtype.kind == "c" and conjugate
    how = (2 if complex_ else 1) if transposed else 0

    def one(a: Any, b: Any) -> Any:
        if complex_ and not transposed:
            a = a.conj()
        return (trsm(1, a, b, side=side, lower=lower, trans_a=how, diag=unit),)

    return _each(one, call)


@rule("fft")
def _fft(call: Call) -> Fn:
    lengths = tuple(map(int, call.params["fft_lengths"]))
    kind = getattr(call.params["fft_type"], "name", str(call.params["fft_type"])).lower()
    fn = {"fft": np.fft.fftn, "ifft": np.fft.ifftn, "rfft": np.fft.rfftn, "irfft": np.fft.irfftn}[kind]
    axes, dtype, source = tuple(range(-len(lengths), 0)), call.dtype, call.ins[0].dtype
    wide = WIDER.get(source, source)
    call.cost *= max(1.0, math.log2(max(math.prod(lengths), 2)))
    if call.outs[0].size == 0 or call.ins[0].size == 0 or not lengths:
        raise call.unsupported("no numbers")
    return lambda x: fn(x.astype(wide, copy=False), lengths, axes).astype(dtype, copy=False)
