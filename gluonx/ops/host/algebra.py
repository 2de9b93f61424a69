"""NumPy kernels of linear algebra, sums of products, padding and interpolation; see :mod:`gluonx.ops.host.kernels`.

JAX traces some of these for 5 to 30 ms at each new shape. Factorizations are LAPACK's in both, in the type of the
matrix. A matrix without a factorization (a singular one, say) is left to the operator, which raises the error.
Determinants, norms and quantiles are computed in double precision.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np

from gluonx.ops.host import factors
from gluonx.ops.host.kernels import Kernel, Work, numpy_kernel

__all__ = ["LINEAR", "MORE"]

Array: TypeAlias = np.ndarray
_DOUBLE = np.dtype(np.float64)
_FLOATS = frozenset([np.dtype(np.float32), _DOUBLE])


def _factorization(compute: Callable[..., Any]) -> Kernel:
    """Return a kernel for floating-point matrices, computed in their own type."""

    def run(a: Array, *others: np.ndarray, **attrs: Any) -> Any:
        if a.dtype not in _FLOATS or any(b is not None and b.dtype != a.dtype for b in others):
            return NotImplemented
        return compute(a, *others, **attrs)

    return run


def _inv(a: Array) -> np.ndarray:
    return np.linalg.inv(a)


def _solve(a: Array, b: Array) -> np.ndarray:
    if b.ndim == a.ndim - 1:  # a stack of vectors; NumPy 2 would treat it as a matrix
        return np.linalg.solve(a, b[..., None])[..., 0]
    return np.linalg.solve(a, b) if b.ndim == a.ndim else NotImplemented


def _cholesky(a: Array, *, upper: bool) -> np.ndarray:
    if upper:
        return np.swapaxes(np.linalg.cholesky(np.swapaxes(a, -1, -2)), -1, -2)
    return np.linalg.cholesky(a)


def _qr(a: Array, *, mode: str) -> tuple[np.ndarray, ...]:
    return tuple(np.linalg.qr(a, mode)) if mode in ("reduced", "complete") else NotImplemented


def _svd(a: Array, *, full_matrices: bool, compute_uv: bool) -> Any:
    if not compute_uv:
        return np.linalg.svd(a, compute_uv=False)
    return factors.svd(a, full_matrices) if a.ndim == 2 and a.size else NotImplemented


def _eigh(a: Array, *, upper: Any, UPLO: str | None) -> Any:
    if a.ndim != 2 or not a.size or not np.isfinite(a).all():
        return NotImplemented
    return factors.eigh(a, (UPLO or ("U" if upper in (True, "U") else "L")) == "L")


def _eigvalsh(a: Array, *, upper: Any, UPLO: str | None) -> Any:
    if not np.isfinite(a).all():
        return NotImplemented
    side: Any = UPLO or ("U" if upper in (True, "U") else "L")
    return np.linalg.eigvalsh(a, side)


def _det(a: Array) -> Any:
    return np.array(np.linalg.det(a.astype(_DOUBLE)), a.dtype)


def _slogdet(a: Array, *, method: Any) -> Any:
    if method is not None:
        return NotImplemented
    sign, logarithm = np.linalg.slogdet(a.astype(_DOUBLE))
    return np.array(sign, a.dtype), np.array(logarithm, a.dtype)


def _tensorinv(a: Array, *, ind: int) -> np.ndarray:
    return np.linalg.tensorinv(a, ind)


def _tensorsolve(a: Array, b: Array, *, axes: Any) -> np.ndarray:
    return NotImplemented if a.ndim == b.ndim else np.linalg.tensorsolve(a, b, axes)


def norm(x: Array, *, ord: Any, axis: Any, keepdims: bool) -> Any:
    """Return a norm of vectors or matrices."""
    if x.dtype not in _FLOATS or not x.ndim:
        return NotImplemented
    if isinstance(axis, tuple) and len(axis) > 2:
        return NotImplemented  # there is no such norm
    if ord == "fro" and (x.ndim if axis is None else np.size(axis)) == 1:
        ord = None
    if ord is None:
        total = np.add.reduce(np.square(x, dtype=_DOUBLE), axis=axis, keepdims=keepdims)
        return np.array(np.sqrt(total), x.dtype)
    ord = {"inf": math.inf, "-inf": -math.inf}.get(ord, ord)
    axes: Any = axis  # NumPy's annotations do not fit these tuples
    return np.array(np.linalg.norm(x.astype(_DOUBLE), ord, axes, keepdims), x.dtype)


def _cubic(a: Array, *_: object, **__: object) -> int:
    """Return the work of a factorization."""
    return 4 * a.size * max(1, *a.shape[-2:]) if a.ndim >= 2 else a.size


def _of_tensors(a: Array, *_: object, **__: object) -> int:
    return 4 * a.size * math.isqrt(a.size)


LINEAR: dict[str, tuple[Kernel, Work | None]] = {
    "norm": (norm, lambda x, *, axis, **_: x.size if not isinstance(axis, tuple) and x.ndim < 2 else _cubic(x)),
    **{name: (_factorization(compute), _cubic) for name, compute in (
        ("inv", _inv), ("solve", _solve), ("cholesky", _cholesky), ("qr", _qr), ("svd", _svd), ("eigh", _eigh),
        ("eigvalsh", _eigvalsh), ("det", _det), ("slogdet", _slogdet),
    )},
    "tensorinv": (_factorization(_tensorinv), _of_tensors),
    "tensorsolve": (_factorization(_tensorsolve), _of_tensors),
}  # fmt: skip
"""By the name in ``np.linalg``."""


# -- sums of products --------------------------------------------------------------------------------------------------


def _lengths(subscripts: str, arrays: tuple[Any, ...]) -> dict[str, int]:
    """Return the length of each index; none for those of an ellipsis."""
    found: dict[str, int] = {}
    for letters, array in zip(subscripts.replace(" ", "").partition("->")[0].split(","), arrays):
        if "." not in letters:
            found.update(zip(letters, array.shape))
    return found


@numpy_kernel("einsum", lambda *arrays, subscripts, **_: math.prod(_lengths(subscripts, arrays).values()), products=1)
def _einsum(*arrays: Array, subscripts: str, optimize: Any, precision: Any, preferred_element_type: Any) -> np.ndarray:
    own = arrays[0].dtype
    if own not in _FLOATS or any(a.dtype != own for a in arrays[1:]) or "." in subscripts:
        return NotImplemented
    if precision is not None or preferred_element_type is not None:
        return NotImplemented
    wide = [a.astype(_DOUBLE) for a in arrays]
    return np.array(np.einsum(subscripts, *wide, optimize=len(arrays) > 2), own)


@numpy_kernel("tensordot", lambda x1, x2, **_: x1.size * max(1, *x2.shape[-1:]), products=1)
def _tensordot(x1: Array, x2: Array, *, axes: Any, precision: Any, preferred_element_type: Any) -> np.ndarray:
    if x1.dtype not in _FLOATS or x2.dtype != x1.dtype or precision is not None or preferred_element_type is not None:
        return NotImplemented
    return np.asarray(np.tensordot(x1, x2, axes))


# -- padding and interpolation -----------------------------------------------------------------------------------------


def _pad(
    x: Array,
    constant_values: Any = None,
    end_values: Any = None,
    *,
    pad_width: int | Sequence[Any],
    mode: str,
    stat_length: Any,
    reflect_type: Any,
) -> Any:
    if end_values is not None or stat_length is not None or reflect_type is not None or not x.ndim:
        return NotImplemented
    if mode == "constant":
        if constant_values is None:
            return np.pad(x, pad_width)
        if np.ndim(constant_values):
            return NotImplemented
        return np.pad(x, pad_width, constant_values=np.asarray(constant_values).astype(x.dtype))
    if constant_values is not None or not x.size or x.dtype.kind not in "fiu" or mode not in _MODES:
        return NotImplemented
    if mode in ("reflect", "symmetric") and np.max(pad_width) >= min(x.shape):  # NumPy reflects several times there
        return NotImplemented
    return np.pad(x, pad_width, mode)  # type: ignore[call-overload]


_MODES = ("edge", "reflect", "symmetric", "maximum", "minimum")


def _quantile(of_hundred: bool) -> Kernel:
    def run(a: Array, q: Array, *, axis: Any, method: str, keepdims: bool) -> Any:
        if a.dtype not in _FLOATS or q.dtype not in _FLOATS or q.ndim > 1 or method != "linear" or not a.size:
            return NotImplemented
        if not a.ndim or (a.dtype != q.dtype and _DOUBLE in (a.dtype, q.dtype)):
            return NotImplemented
        at = q.astype(_DOUBLE) / 100 if of_hundred else q.astype(_DOUBLE)
        return np.array(np.quantile(a.astype(_DOUBLE), at, axis, keepdims=keepdims), a.dtype)

    return run


def _interp(x: Array, xp: Array, fp: Array, left: Any = None, right: Any = None, period: Any = None) -> Any:
    if left is not None or right is not None or period is not None:
        return NotImplemented
    if x.dtype not in _FLOATS or not x.dtype == xp.dtype == fp.dtype or not (np.diff(xp) > 0).all():
        return NotImplemented
    return np.array(np.interp(x.astype(_DOUBLE), xp, fp), x.dtype)


def _diff(a: Array, prepend: Any = None, append: Any = None, *, n: int, axis: int) -> Any:
    if n < 1 or not a.ndim or (a.dtype not in _FLOATS and a.dtype.kind not in "iu"):
        return NotImplemented
    beside = {name: each for name, each in (("prepend", prepend), ("append", append)) if each is not None}
    if any(each.dtype != a.dtype for each in beside.values()):
        return NotImplemented
    return np.diff(a, n, axis, **beside)


MORE: dict[str, tuple[Kernel, Work | None]] = {
    "numpy.pad": (_pad, lambda x, *_, pad_width, **__: x.size * 2),
    "percentile": (_quantile(True), lambda a, *_, **__: 8 * a.size),
    "quantile": (_quantile(False), lambda a, *_, **__: 8 * a.size),
    "diff": (_diff, lambda a, *_, **__: 2 * a.size),
    "interp": (_interp, lambda x, *_: 8 * x.size),
}
"""By the operator's name in :mod:`gluonx.np`."""
