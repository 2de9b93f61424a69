"""Helpers of distributions: logits and probabilities, and functions of statistics that NumPy does not have.

The functions without arguments (:func:`digamma`, :func:`erf` ...) are MXNet's, which gave a function that takes numbers
as well as arrays.
"""

from __future__ import annotations

import functools
import inspect
import math
import statistics
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as onp
from jax import Array
from jax.scipy import special

from gluonx import np, npx
from gluonx.deferred import invoke
from gluonx.ops.registry import register

if TYPE_CHECKING:
    from gluonx.common.arguments import Size
    from gluonx.np.handle import ndarray


__all__ = [
    "constraint_check",
    "digamma",
    "erf",
    "erfinv",
    "gammaln",
    "logit2prob",
    "prob2logit",
    "sample_n_shape_converter",
]

Function = Callable[..., Any]


# -- functions of MXNet's module --------------------------------------------------------------------------------------


def digamma() -> Function:
    """Return the function :func:`psi`.

    Returns
    -------
    callable
        Of a number or an array.

    Examples
    --------
    >>> from gluonx import probability
    >>> round(probability.digamma()(1.0), 4)
    -0.5772
    """
    return psi


def gammaln() -> Function:
    """Return the function :func:`log_gamma`.

    Returns
    -------
    callable
        Of a number or an array.

    Examples
    --------
    >>> from gluonx import probability
    >>> round(probability.gammaln()(4.0), 4)
    1.7918
    """
    return log_gamma


def erf() -> Function:
    """Return the error function, of numbers and arrays.

    Returns
    -------
    callable
        Of a number or an array.

    Examples
    --------
    >>> from gluonx import probability
    >>> round(probability.erf()(1.0), 4)
    0.8427
    """
    return lambda x: math.erf(x) if isinstance(x, (int, float)) else npx.erf(x)


def erfinv() -> Function:
    """Return the inverse of the error function, of numbers and arrays.

    Returns
    -------
    callable
        Of a number or an array.

    Examples
    --------
    >>> from gluonx import probability
    >>> round(probability.erfinv()(0.5), 4)
    0.4769
    """
    normal = statistics.NormalDist()
    return lambda x: normal.inv_cdf((x + 1) / 2) / math.sqrt(2) if isinstance(x, (int, float)) else npx.erfinv(x)


def constraint_check() -> Function:
    """Return the function that raises ValueError with a message unless a boolean array, or a bool, is true.

    Examples
    --------
    >>> constraint_check()(2 > 1, "two is more than one")
    1.0
    """

    def check(condition: ndarray | float, message: str = "Constraint violated.") -> Any:
        if isinstance(condition, bool):
            if not condition:
                raise ValueError(message)
            return 1.0
        return npx.constraint_check(condition, message)

    return check


def sample_n_shape_converter(size: Size | None) -> Any:
    """Return the size of `sample_n` as a tuple that stands before the shape of the parameters (-2 in MXNet's notation).

    Returns
    -------
    tuple of int, or None
        ``(-2, *size)``, where -2 stands for the shape of the parameters.

    Examples
    --------
    >>> sample_n_shape_converter(3)
    (-2, 3)
    """
    if size is None:
        return None
    return (-2, *((size,) if isinstance(size, int) else tuple(size)))


def prob2logit(prob: ndarray | float, binary: bool = True) -> ndarray:
    """Return the logits of probabilities, which are kept away from 0 (and 1) by the dtype's precision.

    Parameters
    ----------
    prob : number or ndarray
    binary : bool
        Whether `prob` are probabilities of a one; else the last axis holds those of all classes.

    Returns
    -------
    number or ndarray
        ``log(prob / (1 - prob))``, or ``log(prob)`` of classes.

    Examples
    --------
    >>> from gluonx import np
    >>> prob2logit(np.array([0.5, 0.75])).tolist()
    [0.0, 1.098612]
    """
    eps = float(jnp.finfo(prob.dtype).eps) if isinstance(prob, np.ndarray) else float(onp.finfo(onp.float32).eps)
    prob = np.clip(prob, eps, 1 - eps)
    return np.log(prob) - np.log1p(-prob) if binary else np.log(prob)


def logit2prob(logit: ndarray | float, binary: bool = True) -> ndarray:
    """Return the probabilities of logits: their sigmoid, or the softmax along the last axis for `binary` False.

    Returns
    -------
    ndarray
        Of the shape of the logits.

    Examples
    --------
    >>> from gluonx import np, probability
    >>> probability.utils.logit2prob(np.zeros(2), True).tolist()
    [0.5, 0.5]
    """
    return sigmoid(logit) if binary else npx.softmax(logit, axis=-1)


# -- functions of statistics ------------------------------------------------------------------------------------------


def on_arrays(nout: int = 1) -> Callable[[Function], Function]:
    """Make a pure function an operator of its name, and give what calls it with arrays; a decorator."""

    def decorate(compute: Function) -> Function:
        bound = register(f"probability.{compute.__name__}", nout=nout)(compute).bind()
        signature = inspect.signature(compute)

        @functools.wraps(compute)
        def call(*arrays: Any, **named: Any) -> Any:
            return invoke(bound, signature.bind(*arrays, **named).args if named else arrays)

        return call

    return decorate


@register("probability.ndtr")
def _ndtr(x: Array) -> Array:
    return in_floats(special.ndtr, x)


@register("probability.ndtri")
def _ndtri(p: Array) -> Array:
    return in_floats(special.ndtri, p)


@jax.custom_jvp
def _incomplete_beta(a: Array, b: Array, x: Array) -> Array:
    """JAX's function, with the derivatives in `a` and `b` that it does not have."""
    return special.betainc(a, b, x)


def _incomplete_beta_jvp(primals: tuple[Any, Any, Any], tangents: tuple[Any, Any, Any]) -> tuple[Array, Array]:
    a, b, x = primals
    value = special.betainc(a, b, x)
    moved = [type(t) is not jax.custom_derivatives.SymbolicZero for t in tangents]
    tangent = jnp.zeros_like(value)
    if moved[2]:
        density = jnp.exp(special.xlogy(a - 1, x) + special.xlog1py(b - 1, -x) - special.betaln(a, b))
        tangent += density * tangents[2]
    if moved[0] or moved[1]:
        for slope, t, used in zip(beta_slopes(a, b, x), tangents, moved):
            tangent = tangent + slope * t if used else tangent
    return value, tangent


_incomplete_beta.defjvp(_incomplete_beta_jvp, symbolic_zeros=True)

# Logarithms of nodes w on (0, 1), and weights of dw / w there, by the double exponential rule.
_STEPS = onp.linspace(-3.3, 3.1, 80)
_LOG_NODES = -onp.log1p(onp.exp(-onp.pi * onp.sinh(_STEPS)))
_NODE_WEIGHTS = (_STEPS[1] - _STEPS[0]) * onp.pi * onp.cosh(_STEPS) * -onp.expm1(_LOG_NODES)


def beta_slopes(a: Array, b: Array, x: Array) -> tuple[Array, Array]:
    """Return the derivatives of the regularized incomplete beta function in `a` and `b`.

    They are integrals of the density times its logarithms up to `x`, or from `x` on, whichever is the smaller part.
    With ``t = y * w ** (1 / r)`` the singularity at 0 is gone, and `r` is the rate at which the density falls from `y`
    down: at its slope there, or by its width about the mean.
    """
    turned = x * (a + b) > a
    p, q, y = jnp.where(turned, b, a), jnp.where(turned, a, b), jnp.where(turned, 1 - x, x)
    y = jnp.clip(y, jnp.finfo(y.dtype).tiny, 1 - jnp.finfo(y.dtype).eps)
    width = jnp.sqrt(p * q / (p + q + 1)) / (p + q)
    r = jnp.minimum(p, jnp.maximum(p - (q - 1) * y / (1 - y), y / width))[..., None]
    log_w = jnp.asarray(_LOG_NODES, y.dtype)
    log_t = jnp.log(y)[..., None] + log_w / r
    rest = jnp.log1p(-jnp.exp(log_t))
    height = (p[..., None] * log_t + (q[..., None] - 1) * rest) - special.betaln(p, q)[..., None]
    mass = jnp.exp(height) / r * jnp.asarray(_NODE_WEIGHTS, y.dtype)
    total = mass.sum(-1)
    both = special.digamma(p + q)
    slope_p = (mass * log_t).sum(-1) - total * (special.digamma(p) - both)
    slope_q = (mass * rest).sum(-1) - total * (special.digamma(q) - both)
    return jnp.where(turned, -slope_q, slope_p), jnp.where(turned, -slope_p, slope_q)


def in_floats(compute: Callable[..., Any], *arrays: Array) -> Any:
    """Return the function of arrays of one shape, in their dtype; in float32 at least within, as series need it."""
    dtype = jnp.result_type(*arrays)
    dtype = dtype if jnp.issubdtype(dtype, jnp.floating) else jnp.float32
    inner, shape = jnp.promote_types(dtype, jnp.float32), jnp.broadcast_shapes(*[x.shape for x in arrays])
    found = compute(*[jnp.broadcast_to(x, shape).astype(inner) for x in arrays])
    return jax.tree.map(lambda x: x.astype(dtype), found)


def log_gamma(x: float | ndarray) -> Any:
    """Return the logarithm of the gamma function; of a number in 64 bits."""
    return npx.gammaln(x) if isinstance(x, np.ndarray) else math.lgamma(x)


def psi(x: Any) -> Any:
    """Return the derivative of :func:`log_gamma`; of a number in 64 bits.

    Examples
    --------
    >>> psi(1.0)
    -0.577215664901
    """
    if isinstance(x, np.ndarray):
        return npx.digamma(x)
    if x <= 0:
        return math.nan if x == int(x) else psi(1 - x) - math.pi / math.tan(math.pi * x)
    steps = range(max(0, 10 - int(x)))
    y = x + len(steps)
    series = 1 / 12 - (1 / 120 - (1 / 252 - (1 / 240 - 1 / (132 * y * y)) / (y * y)) / (y * y)) / (y * y)
    return math.log(y) - 0.5 / y - series / (y * y) - sum(1 / (x + n) for n in steps)


def sigmoid(x: Any) -> Any:
    """``1 / (1 + exp(-x))``; of a number in 64 bits."""
    return npx.sigmoid(x) if isinstance(x, np.ndarray) else 0.5 * (1 + math.tanh(0.5 * x))


def softplus(x: Any) -> ndarray:
    """``log(1 + exp(x))``; of a number in 64 bits."""
    return npx.softrelu(x) if isinstance(x, np.ndarray) else max(x, 0.0) + math.log1p(math.exp(-abs(x)))


def ndtr(x: Any) -> Any:
    """Return the cumulative distribution of the standard normal, exact also in its tails; of a number in 64 bits."""
    if isinstance(x, (int, float)):
        return 0.5 * math.erfc(-x / math.sqrt(2))
    return invoke(_ndtr.bind(), (x,))


def ndtri(p: Any) -> Any:
    """Return the inverse of :func:`ndtr`."""
    if isinstance(p, (int, float)):
        ends = {0.0: -math.inf, 1.0: math.inf}
        return statistics.NormalDist().inv_cdf(p) if 0 < p < 1 else ends.get(float(p), math.nan)
    return invoke(_ndtri.bind(), (p,))


@on_arrays()
def gammainc(a: Any, x: Any) -> ndarray:
    """Return the regularized lower incomplete gamma function."""
    return in_floats(special.gammainc, a, x)


@on_arrays()
def gammaincc(a: Any, x: Any) -> ndarray:
    """Return the regularized upper incomplete gamma function."""
    return in_floats(special.gammaincc, a, x)


@on_arrays()
def betainc(a: Any, b: Any, x: Any) -> ndarray:
    """Return the regularized incomplete beta function."""
    return in_floats(_incomplete_beta, a, b, x)


@on_arrays()
def solve_lower(matrix: Array, right: Array) -> jax.Array:
    """Solve ``matrix @ x = right`` for a lower triangular matrix; leading axes are broadcast."""
    batch = jnp.broadcast_shapes(matrix.shape[:-2], right.shape[:-2])
    matrix, right = (jnp.broadcast_to(m, (*batch, *m.shape[-2:])) for m in (matrix, right))
    return jax.scipy.linalg.solve_triangular(matrix, right, lower=True)


def where(condition: Any, x: Any, y: Any) -> Any:
    """`x` where the condition holds, else `y`; the one or the other if the condition is a bool."""
    if isinstance(condition, (bool, onp.bool_)):
        return x if condition else y
    return np.where(condition, x, y)


def betaln(a: ndarray | float, b: ndarray | float) -> ndarray:
    """Return the logarithm of the beta function."""
    return log_gamma(a) + log_gamma(b) - log_gamma(a + b)


def xlogy(x: ndarray | float, y: ndarray | float) -> ndarray:
    """``x * log(y)``, and 0 where both are 0; gradients are finite there too.

    Examples
    --------
    >>> from gluonx import np
    >>> xlogy(np.array([0.0, 2.0]), np.array([0.0, 1.0])).tolist()
    [0.0, 0.0]
    """
    none = np.logical_and(x == 0, y == 0)
    return where(none, 0.0, x * np.log(where(none, 1.0, y)))


def xlog1py(x: ndarray | float, y: ndarray | float) -> ndarray:
    """``x * log(1 + y)``, and 0 where ``x`` is 0 and ``y`` is -1; gradients are finite there too."""
    none = np.logical_and(x == 0, y == -1)
    return where(none, 0.0, x * np.log1p(where(none, 0.0, y)))


def sum_right_most(x: Any, ndim: int) -> ndarray:
    """Return the sum over the last `ndim` axes."""
    return x.sum(tuple(range(-ndim, 0))) if ndim else x
