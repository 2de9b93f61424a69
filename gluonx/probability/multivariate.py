"""Continuous distributions of vectors."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, ClassVar

from gluonx import np
from gluonx.np.random import sample as draw
from gluonx.probability import constraint as C
from gluonx.probability.distribution import Distribution, ExponentialFamily, as_parameters, shape_of
from gluonx.probability.utils import log_gamma, psi, solve_lower, xlogy

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from gluonx.np.handle import ndarray


__all__ = ["Dirichlet", "MultivariateNormal"]


class Dirichlet(ExponentialFamily):
    """The Dirichlet distribution: vectors of probabilities that sum to 1.

    Parameters
    ----------
    alpha : ndarray, shape (..., classes)
        Positive concentrations.
    validate_args : bool, optional

    Raises
    ------
    ValueError
        If `alpha` is a number.

    Examples
    --------
    >>> from gluonx import np
    >>> Dirichlet(np.array([1.0, 1.0, 2.0])).mean.tolist()
    [0.25, 0.25, 0.5]
    """

    has_grad = True
    support = C.Simplex()
    arg_constraints: ClassVar = {"alpha": C.Positive()}
    _event_ranks: ClassVar = {"alpha": 1}

    def __init__(self, alpha: ArrayLike, validate_args: bool | None = None) -> None:
        (self.alpha,) = as_parameters(alpha)
        if not shape_of(self.alpha):
            raise ValueError(f"Dirichlet: `alpha` should have one axis at least, got {alpha!r}.")
        super().__init__(event_dim=1, validate_args=validate_args)

    def _draw(self, size: tuple[int, ...]) -> ndarray:
        drawn = np.random.dirichlet(np.broadcast_to(self.alpha, (*size, *self.event_shape)))
        return drawn if self._dtype is None else drawn.astype(self._dtype)

    def _log_prob(self, value: ndarray | float) -> ndarray:
        kernel = xlogy(self.alpha - 1, value).sum(-1)
        return kernel + log_gamma(self.alpha.sum(-1)) - log_gamma(self.alpha).sum(-1)

    @property
    def mean(self) -> ndarray:
        """``alpha / sum(alpha)``."""
        return self.alpha / self.alpha.sum(-1, keepdims=True)

    @property
    def variance(self) -> ndarray:
        """``mean * (1 - mean) / (sum(alpha) + 1)``."""
        return self.mean * (1 - self.mean) / (self.alpha.sum(-1, keepdims=True) + 1)

    def entropy(self) -> ndarray:
        """Return the entropy."""
        total, classes = self.alpha.sum(-1), self.event_shape[0]
        log_norm = log_gamma(self.alpha).sum(-1) - log_gamma(total)
        slopes = ((self.alpha - 1) * psi(self.alpha)).sum(-1)
        return log_norm + (total - classes) * psi(total) - slopes

    @property
    def _natural_params(self) -> tuple[Any, ...]:
        return (self.alpha - 1,)

    def _log_normalizer(self, x: ndarray) -> ndarray:
        return log_gamma(x + 1).sum(-1) - log_gamma((x + 1).sum(-1))


class MultivariateNormal(Distribution):
    """The normal distribution of vectors.

    Parameters
    ----------
    loc : ndarray, shape (..., n)
        The mean.
    cov, precision, scale_tril : ndarray, shape (..., n, n)
        One of the three: the covariance matrix, its inverse, or its lower triangular factor.
    validate_args : bool, optional

    Raises
    ------
    ValueError
        If not just one of the three is given, or if shapes do not fit.

    Examples
    --------
    >>> from gluonx import np
    >>> plane = MultivariateNormal(np.zeros(2), cov=np.array([[2.0, 0.0], [0.0, 8.0]]))
    >>> plane.scale_tril.diagonal().tolist()
    [1.414214, 2.828427]
    >>> plane.log_prob(np.zeros(2)).item()
    -3.224171
    """

    has_grad = True
    support = C.Real()
    arg_constraints: ClassVar = {
        "loc": C.Real(),
        "cov": C.PositiveDefinite(),
        "precision": C.PositiveDefinite(),
        "scale_tril": C.LowerCholesky(),
    }
    _event_ranks: ClassVar = {"loc": 1, "cov": 2, "precision": 2, "scale_tril": 2}

    def __init__(
        self,
        loc: ArrayLike,
        cov: ArrayLike | None = None,
        precision: ArrayLike | None = None,
        scale_tril: ArrayLike | None = None,
        validate_args: bool | None = None,
    ) -> None:
        if sum(matrix is not None for matrix in (cov, precision, scale_tril)) != 1:
            raise ValueError("MultivariateNormal: exactly one of `cov`, `precision` and `scale_tril` may be specified.")
        self.loc, self._cov, self._precision, self._scale_tril = as_parameters(loc, cov, precision, scale_tril)
        for matrix in (self._cov, self._precision, self._scale_tril):
            if matrix is not None and (not shape_of(loc) or matrix.shape[-2:] != shape_of(self.loc)[-1:] * 2):
                raise ValueError(
                    f"MultivariateNormal: loc has shape {shape_of(self.loc)}, the matrix {matrix.shape}; "
                    "expected (..., n) and (..., n, n)."
                )
        super().__init__(event_dim=1, validate_args=validate_args)

    @property
    def scale_tril(self) -> ndarray:
        """The lower triangular matrix whose product with its transpose is the covariance."""
        if self._scale_tril is not None:
            return self._scale_tril
        if self._cov is not None:
            return np.linalg.cholesky(self._cov)
        # The factor of the matrix with its rows and columns in the other order, put back, is the inverse transposed.
        turned = np.linalg.cholesky(self._precision[..., ::-1, ::-1])[..., ::-1, ::-1]
        return solve_lower(np.swapaxes(turned, -1, -2), np.eye(self.event_shape[0], dtype=self._dtype))

    @property
    def cov(self) -> ndarray:
        """The covariance matrix."""
        if self._cov is not None:
            return self._cov
        root = self.scale_tril
        return np.matmul(root, np.swapaxes(root, -1, -2))

    @property
    def precision(self) -> ndarray:
        """The inverse of the covariance matrix."""
        if self._precision is not None:
            return self._precision
        root = solve_lower(self.scale_tril, np.eye(self.event_shape[0], dtype=self._dtype))
        return np.matmul(np.swapaxes(root, -1, -2), root)

    @staticmethod
    def _half_log_det(root: ndarray) -> ndarray:
        return np.log(np.diagonal(root, axis1=-2, axis2=-1)).sum(-1)

    def _draw(self, size: tuple[int, ...]) -> ndarray:
        noise = draw("normal", (0.0, 1.0), (*size, *self.event_shape), self._dtype)
        return self.loc + np.matmul(self.scale_tril, np.expand_dims(noise, -1))[..., 0]

    def _log_prob(self, value: ndarray | float) -> ndarray:
        root = self.scale_tril
        distance = np.square(solve_lower(root, np.expand_dims(value - self.loc, -1))[..., 0]).sum(-1)
        return -0.5 * (distance + self.event_shape[0] * math.log(2 * math.pi)) - self._half_log_det(root)

    @property
    def mean(self) -> ndarray:
        """`loc`."""
        return np.broadcast_to(self.loc, (*self.batch_shape, *self.event_shape))

    @property
    def variance(self) -> ndarray:
        """The diagonal of the covariance matrix."""
        return np.broadcast_to(np.square(self.scale_tril).sum(-1), (*self.batch_shape, *self.event_shape))

    def entropy(self) -> ndarray:
        """Half the logarithm of the determinant of ``2 pi e`` times the covariance."""
        constant = 0.5 * self.event_shape[0] * (1 + math.log(2 * math.pi))
        return self._full(self._half_log_det(self.scale_tril) + constant)

    @property
    def event_shape(self) -> tuple[int, ...]:
        """``(n,)``."""
        return self.loc.shape[-1:]
