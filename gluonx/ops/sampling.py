"""Random numbers: pure functions of a key, which the engine supplies.

The parameters of a distribution are arrays, so changing one recompiles nothing, and gradients flow through them
wherever the draw depends on them smoothly. `size` and `dtype` are static. Without `size` the result has the shape to
which the parameters broadcast; with it, they must broadcast to it. Half-precision numbers are drawn in float32 and
rounded.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Unpack

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from gluonx.dtype import WIDE, canonical, without_64_bits
from gluonx.errors import ShapeError
from gluonx.ops import counts
from gluonx.ops.checks import Attrs
from gluonx.ops.common import axis_of, index_dtype
from gluonx.ops.registry import NONE, SAME, Op, Record, register

if TYPE_CHECKING:
    from gluonx.dtype import DTypeLike


Size = int | Sequence[int] | None
Number = Array | float


def _shape(size: Size, *parameters: Array) -> tuple[int, ...]:
    """Return the shape of a draw."""
    shapes = [p.shape for p in parameters]
    if size is None:
        return jnp.broadcast_shapes((), *shapes)
    wanted = (size,) if isinstance(size, int) else tuple(size)
    try:
        if jnp.broadcast_shapes(wanted, *shapes) == wanted:
            return wanted
    except ValueError:
        pass
    raise ShapeError(f"parameters of shapes {', '.join(map(str, shapes))} do not broadcast to a draw of size {wanted}.")


DRAWN = "`size`; without one that of the parameters, broadcast"
"""The text of records about the shape of a draw."""


class _Draw:
    """A draw without its key: the shape, the element type to compute in, and the one to return."""

    __slots__ = ("dtype", "inner", "shape")

    def __init__(self, dtype: DTypeLike) -> None:
        self.dtype = canonical(dtype)
        self.inner = (
            self.dtype if jnp.issubdtype(self.dtype, jnp.floating) and self.dtype.itemsize >= 4 else jnp.float32
        )

    def parameters(self, size: Size, *values: Number) -> list[Array]:
        """Return the parameters as arrays that broadcast to the shape of the draw without new axes."""
        arrays = [jnp.asarray(v).astype(self.inner) for v in values]
        self.shape = _shape(size, *arrays)
        ndim = len(self.shape)
        return [a.reshape((1,) * (ndim - a.ndim) + a.shape) if a.ndim else a for a in arrays]

    def uniform(self, key: Array) -> Array:
        """Return numbers between 0 and 1, excluding both, so that their logarithms are finite."""
        tiny = jnp.finfo(self.inner).tiny
        return jax.random.uniform(key, self.shape, self.inner, minval=tiny, maxval=1)

    def finish(self, x: Array) -> Array:
        """Return the numbers in the requested type and the full shape."""
        return jnp.broadcast_to(x, self.shape).astype(self.dtype)


def _draws(**record: Unpack[Record]) -> Callable[[Callable[..., Array]], Op]:
    """Register a distribution as an operator; a decorator.

    The decorated function takes a key, the `_Draw`, and parameters that broadcast to its shape. The operator takes the
    key and the parameters, and has the attributes `size` and `dtype`.
    """

    def decorate(law: Callable[..., Array]) -> Op:
        key, _, *own = inspect.signature(law).parameters.values()
        attributes = [
            inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=annotation)
            for name, annotation in (("size", "Size"), ("dtype", "Any"))
        ]
        signature = inspect.Signature([key, *own, *attributes], return_annotation="Array")

        @functools.wraps(law)
        def drawn(*args: Any, **kwargs: Any) -> Array:
            given = signature.bind(*args, **kwargs)
            given.apply_defaults()
            first, *values, size, dtype = given.arguments.values()
            draw = _Draw(dtype)
            return draw.finish(law(first, draw, *draw.parameters(size, *values)))

        drawn.__signature__ = signature  # type: ignore[attr-defined]
        record["random"] = True
        record.setdefault("shape", DRAWN)
        record.setdefault("gives", "asked")
        return register(**record)(drawn)

    return decorate


@_draws()
def random_uniform(key: Array, draw: _Draw, low: Number = 0.0, high: Number = 1.0) -> Array:
    """Draw numbers from the uniform distribution on ``[low, high)``.

    Parameters
    ----------
    low
        The lower bound.
    high
        The upper bound.

    Examples
    --------
    >>> from gluonx import np, npx
    >>> npx.random_uniform(0.0, 1.0, size=(2, 3)).shape
    (2, 3)
    """
    return low + (high - low) * jax.random.uniform(key, draw.shape, draw.inner)


@_draws()
def random_normal(key: Array, draw: _Draw, loc: Number = 0.0, scale: Number = 1.0) -> Array:
    """Draw from the normal distribution of mean `loc` and standard deviation `scale`.

    Parameters
    ----------
    scale
        The standard deviation.

    Examples
    --------
    >>> from gluonx import np, npx
    >>> npx.random_normal(0.0, 1.0, size=(2, 3)).shape
    (2, 3)
    """
    return loc + scale * jax.random.normal(key, draw.shape, draw.inner)


@_draws()
def random_lognormal(key: Array, draw: _Draw, mean: Number = 0.0, sigma: Number = 1.0) -> Array:
    """Draw numbers whose logarithm is normal, of mean `mean` and standard deviation `sigma`.

    Parameters
    ----------
    mean
        The mean of the logarithm.
    sigma
        The standard deviation of the logarithm.

    Examples
    --------
    >>> from gluonx import np, npx
    >>> npx.random_lognormal(0.0, 1.0, size=(2, 3)).shape
    (2, 3)
    """
    return jnp.exp(mean + sigma * jax.random.normal(key, draw.shape, draw.inner))


@_draws()
def random_gamma(key: Array, draw: _Draw, shape: Number, scale: Number = 1.0) -> Array:
    """Draw from the gamma distribution of shape parameter `shape` and scale `scale`.

    Parameters
    ----------
    shape
        The shape parameter of the distribution.

    Examples
    --------
    >>> from gluonx import np, npx
    >>> npx.random_gamma(2.0, 1.0, size=(2, 3)).shape
    (2, 3)
    """
    return scale * jax.random.gamma(key, jnp.broadcast_to(shape, draw.shape), draw.shape, draw.inner)


@_draws()
def random_chisquare(key: Array, draw: _Draw, df: Number) -> Array:
    """Draw from the chi-square distribution of `df` degrees of freedom.

    Parameters
    ----------
    df
        The degrees of freedom.

    Examples
    --------
    >>> from gluonx import np, npx
    >>> npx.random_chisquare(2.0, size=(2, 3)).shape
    (2, 3)
    """
    return 2 * jax.random.gamma(key, jnp.broadcast_to(df / 2, draw.shape), draw.shape, draw.inner)


@_draws()
def random_beta(key: Array, draw: _Draw, a: Number, b: Number) -> Array:
    """Draw from the beta distribution of `a` and `b`.

    Parameters
    ----------
    a
        The first parameter, positive.
    b
        The second parameter, positive.

    Examples
    --------
    >>> from gluonx import np, npx
    >>> npx.random_beta(2.0, 3.0, size=(2, 3)).shape
    (2, 3)
    """
    a, b = (jnp.broadcast_to(v, draw.shape) for v in (a, b))
    return jax.random.beta(key, a, b, draw.shape, draw.inner)


@_draws()
def random_f(key: Array, draw: _Draw, dfnum: Number, dfden: Number) -> Array:
    """Draw from the F distribution of `dfnum` and `dfden` degrees of freedom.

    Parameters
    ----------
    dfnum
        The degrees of freedom of the numerator.
    dfden
        The degrees of freedom of the denominator.

    Examples
    --------
    >>> from gluonx import np, npx
    >>> npx.random_f(2.0, 3.0, size=(2, 3)).shape
    (2, 3)
    """
    above, below = (jnp.broadcast_to(v, draw.shape) for v in (dfnum, dfden))
    one, two = jax.random.split(key)
    ratio = jax.random.gamma(one, above / 2, draw.shape, draw.inner) / jax.random.gamma(
        two, below / 2, draw.shape, draw.inner
    )
    return ratio * below / above


@_draws()
def random_exponential(key: Array, draw: _Draw, scale: Number = 1.0) -> Array:
    """Draw from the exponential distribution of mean `scale`.

    Parameters
    ----------
    scale
        The mean.

    Examples
    --------
    >>> from gluonx import np, npx
    >>> npx.random_exponential(1.0, size=(2, 3)).shape
    (2, 3)
    """
    return scale * jax.random.exponential(key, draw.shape, draw.inner)


@_draws()
def random_laplace(key: Array, draw: _Draw, loc: Number = 0.0, scale: Number = 1.0) -> Array:
    """Draw from the Laplace distribution of mean `loc` and scale `scale`.

    Examples
    --------
    >>> from gluonx import np, npx
    >>> npx.random_laplace(0.0, 1.0, size=(2, 3)).shape
    (2, 3)
    """
    return loc + scale * jax.random.laplace(key, draw.shape, draw.inner)


@_draws()
def random_logistic(key: Array, draw: _Draw, loc: Number = 0.0, scale: Number = 1.0) -> Array:
    """Draw from the logistic distribution of mean `loc` and scale `scale`.

    Examples
    --------
    >>> from gluonx import np, npx
    >>> npx.random_logistic(0.0, 1.0, size=(2, 3)).shape
    (2, 3)
    """
    return loc + scale * jax.random.logistic(key, draw.shape, draw.inner)


@_draws()
def random_gumbel(key: Array, draw: _Draw, loc: Number = 0.0, scale: Number = 1.0) -> Array:
    """Draw from the Gumbel distribution of mode `loc` and scale `scale`.

    Examples
    --------
    >>> from gluonx import np, npx
    >>> npx.random_gumbel(0.0, 1.0, size=(2, 3)).shape
    (2, 3)
    """
    return loc + scale * jax.random.gumbel(key, draw.shape, draw.inner)


@_draws()
def random_rayleigh(key: Array, draw: _Draw, scale: Number = 1.0) -> Array:
    """Draw from the Rayleigh distribution of mode `scale`.

    Parameters
    ----------
    scale
        The mode.

    Examples
    --------
    >>> from gluonx import np, npx
    >>> npx.random_rayleigh(1.0, size=(2, 3)).shape
    (2, 3)
    """
    return scale * jnp.sqrt(-2 * jnp.log(draw.uniform(key)))


@_draws()
def random_weibull(key: Array, draw: _Draw, a: Number) -> Array:
    """Draw from the Weibull distribution of shape parameter `a` and scale 1.

    Parameters
    ----------
    a
        The shape parameter, positive.

    Examples
    --------
    >>> from gluonx import np, npx
    >>> npx.random_weibull(2.0, size=(2, 3)).shape
    (2, 3)
    """
    return (-jnp.log(draw.uniform(key))) ** (1 / a)


@_draws()
def random_pareto(key: Array, draw: _Draw, a: Number) -> Array:
    """Draw from the Pareto II (Lomax) distribution of shape parameter `a`, which starts at 0 as NumPy's does.

    Parameters
    ----------
    a
        The shape parameter, positive.

    Examples
    --------
    >>> from gluonx import np, npx
    >>> npx.random_pareto(2.0, size=(2, 3)).shape
    (2, 3)
    """
    return jnp.expm1(-jnp.log(draw.uniform(key)) / a)


@_draws()
def random_power(key: Array, draw: _Draw, a: Number) -> Array:
    """Draw numbers from 0 to 1 of density ``a * x ** (a - 1)``.

    Parameters
    ----------
    a
        The exponent plus one, positive.

    Examples
    --------
    >>> from gluonx import np, npx
    >>> npx.random_power(2.0, size=(2, 3)).shape
    (2, 3)
    """
    return draw.uniform(key) ** (1 / a)


@_draws(gradient=NONE)
def random_poisson(key: Array, draw: _Draw, lam: Number = 1.0) -> Array:
    """Draw counts of events that happen `lam` times on average.

    Parameters
    ----------
    lam
        The mean.

    Examples
    --------
    >>> from gluonx import np, npx
    >>> npx.random_poisson(3.0, size=(2, 3)).shape
    (2, 3)
    """
    return counts.poisson(key, jnp.asarray(lam), draw.shape, draw.dtype)


@_draws(gradient=NONE)
def random_negative_binomial(key: Array, draw: _Draw, k: Number = 1.0, p: Number = 0.5) -> Array:
    """Draw counts of failures before the `k`-th success, where a trial succeeds with probability `p`.

    Parameters
    ----------
    k
        The number of successes.
    p
        The probability of a success.

    Examples
    --------
    >>> from gluonx import np, npx
    >>> npx.random_negative_binomial(3, 0.5, size=(2, 3)).shape
    (2, 3)
    """
    return counts.failures(key, jnp.asarray(k), jnp.asarray(p), draw.shape, draw.dtype)


@_draws(gradient=NONE)
def random_generalized_negative_binomial(key: Array, draw: _Draw, mu: Number = 1.0, alpha: Number = 1.0) -> Array:
    """Draw counts of mean `mu` and variance ``mu + alpha * mu ** 2``: Poisson numbers whose rates are gamma numbers.

    Parameters
    ----------
    mu
        The mean.
    alpha
        How much wider than a Poisson number's the distribution is; 0 is a Poisson number.

    Examples
    --------
    >>> from gluonx import np, npx
    >>> npx.random_generalized_negative_binomial(2.0, 0.5, size=(2, 3)).shape
    (2, 3)
    """
    return counts.overdispersed(key, jnp.asarray(mu), jnp.asarray(alpha), draw.shape, draw.dtype)


@_draws(gradient=NONE)
def random_binomial(key: Array, draw: _Draw, n: Number, p: Number = 0.5) -> Array:
    """Draw counts of successes in `n` trials of probability `p`.

    Parameters
    ----------
    n
        The number of trials.
    p
        The probability of a success.

    Examples
    --------
    >>> from gluonx import np, npx
    >>> npx.random_binomial(10, 0.5, size=(2, 3)).shape
    (2, 3)
    """
    return jax.random.binomial(key, n, p, draw.shape, draw.inner)


@register(
    random=True,
    gradient=NONE,
    shape=DRAWN,
    gives="asked",
    stands_for="`numpy.random.binomial` with n = 1",
)
def random_bernoulli(
    key: Array, prob: Number | None = None, logit: Number | None = None, *, size: Size = None, dtype: DTypeLike = None
) -> Array:
    """Draw 1 with a probability, else 0.

    Parameters
    ----------
    prob, logit : array or number
        The probability, or its logit: one of the two.

    Raises
    ------
    ValueError
        If both or neither is given.

    Examples
    --------
    >>> from gluonx import np, npx
    >>> npx.random_bernoulli(prob=0.5, size=(2, 3)).shape
    (2, 3)
    """
    given = logit if prob is None else prob
    if given is None or (prob is not None and logit is not None):
        raise ValueError("random_bernoulli: give either prob or logit.")
    draw = _Draw(dtype)
    (chance,) = draw.parameters(size, given)
    if prob is None:
        chance = jax.nn.sigmoid(chance)
    return draw.finish(jax.random.uniform(key, draw.shape, draw.inner) < chance)


@register(random=True, wide=lambda attrs: attrs["dtype"] is None, gradient=NONE, shape=DRAWN, gives="int64")
def random_randint(
    key: Array, low: Number, high: Number | None = None, *, size: Size = None, dtype: DTypeLike = None
) -> Array:
    """Draw integers from `low` to `high`, excluding `high`; from 0 to `low` if `high` is not given.

    Parameters
    ----------
    low
        The least integer, or without `high` the end, excluded.
    high
        The end, excluded.

    Examples
    --------
    >>> from gluonx import np, npx
    >>> npx.random_randint(0, 10, size=(2, 3)).shape
    (2, 3)
    """
    low, high = (0, low) if high is None else (low, high)
    dtype = canonical(dtype, index_dtype())
    wide = dtype if dtype.kind in "iu" else np.dtype(np.int32)
    bounds = [jnp.asarray(b).astype(wide) for b in (low, high)]
    shape = _shape(size, *bounds)
    bounds = [jnp.broadcast_to(b, shape) for b in bounds]
    return jax.random.randint(key, shape, *bounds, dtype=wide).astype(dtype)


@register(
    random=True,
    nout=lambda attrs: 2 if attrs["get_prob"] else 1,
    shape="p.shape[:-1] + size",
    gradient=NONE,
    stands_for="`numpy.random.choice` a row",
)
def random_categorical(
    key: Array, p: Array, *, size: Size = None, get_prob: bool = False, dtype: DTypeLike = "int32"
) -> Array | tuple[Array, Array]:
    """Draw the numbers of classes by the probabilities in the last axis of `p`.

    Parameters
    ----------
    size : int or tuple of int, optional
        The shape of the draws for each distribution.
    get_prob : bool
        Whether to return also the logarithm of the probability of each draw.
    p
        The probabilities, along the last axis.

    Returns
    -------
    array, shape p.shape[:-1] + size

    Examples
    --------
    >>> from gluonx import np, npx
    >>> npx.random_categorical(np.array([0.2, 0.8]), size=(3,)).shape
    (3,)
    """
    shape = () if size is None else (size,) if isinstance(size, int) else tuple(size)
    rest = p.shape[:-1]
    logits = jnp.log(p.astype(jnp.float32)).reshape(*rest, *[1] * len(shape), p.shape[-1])
    drawn = jax.random.categorical(key, jnp.broadcast_to(logits, (*rest, *shape, p.shape[-1])), axis=-1)
    if not get_prob:
        return drawn.astype(canonical(dtype))
    # The logarithm of p at the drawn class: its gradient is one over p there and 0 elsewhere, for score functions.
    spread = jnp.broadcast_to(p.reshape(*rest, *[1] * len(shape), p.shape[-1]), (*rest, *shape, p.shape[-1]))
    chance = jnp.log(jnp.take_along_axis(spread, jax.lax.stop_gradient(drawn)[..., None], -1)[..., 0])
    return drawn.astype(canonical(dtype)), chance


FEW_TRIALS = 4096  # up to so many trials are drawn one by one, which compiles fast and is exact


@register(
    random=True,
    wide=lambda attrs: attrs["dtype"] is None,
    shape="size + pvals.shape",
    gradient=NONE,
    gives="int64",
)
def random_multinomial(key: Array, pvals: Array, *, n: int, size: Size = None, dtype: DTypeLike = None) -> Array:
    """Sample how often each class comes up in `n` draws by the probabilities `pvals`.

    Parameters
    ----------
    pvals
        The probabilities of the classes, along the last axis.
    n
        The number of draws.

    Returns
    -------
    array, shape size + (classes,)

    Examples
    --------
    >>> from gluonx import np, npx
    >>> float(npx.random_multinomial(np.array([0.2, 0.8]), n=5).sum())
    5.0
    """
    shape = () if size is None else (size,) if isinstance(size, int) else tuple(size)
    dtype = canonical(dtype, index_dtype())
    pvals = pvals.astype(jnp.float32)
    if n > FEW_TRIALS:
        return jax.random.multinomial(key, jnp.float32(n), pvals, shape=(*shape, *pvals.shape)).astype(dtype)
    draws = jax.random.uniform(key, (n, *shape, *pvals.shape[:-1], 1), jnp.float32)
    below = jnp.cumsum(pvals, -1).at[..., -1].set(1)
    below = below.reshape((1,) * (draws.ndim - below.ndim) + below.shape)
    # Counts of draws below each limit: their differences are the counts of the classes.
    return jnp.diff(jnp.sum(draws < below, 0), axis=-1, prepend=0).astype(dtype)


@register(random=True, shape="size + a.shape[1:]", gives="input")
def random_choice(key: Array, a: Array, p: Array | None = None, *, size: Size = None, replace: bool = True) -> Array:
    """Draw elements of the first axis of `a`, or of ``range(a)`` if `a` is a number, with the probabilities `p`.

    Parameters
    ----------
    a
        The elements, along the first axis, or a number for ``range(a)``.
    p
        The probability of each element; equal by default.
    replace
        Whether an element may be drawn several times.

    Examples
    --------
    >>> from gluonx import np, npx
    >>> npx.random_choice(np.array([1, 2, 3]), size=(2,)).shape
    (2,)
    """
    shape = () if size is None else (size,) if isinstance(size, int) else tuple(size)
    if a.dtype not in WIDE or a.ndim == 0 or (p is not None and p.dtype in WIDE):
        return jax.random.choice(key, a, shape, replace=replace, p=p)
    with without_64_bits():  # the draws are the same for every dtype of the elements
        drawn = jax.random.choice(key, jnp.arange(a.shape[0]), shape, replace=replace, p=p)
    return a[drawn]


@register(random=True, aliases=("random_shuffle",), shape=SAME, gives="input")
def random_permutation(key: Array, x: Array, *, axis: int = 0) -> Array:
    """Return the slices of `x` along an axis in random order.

    Examples
    --------
    >>> from gluonx import np, npx
    >>> float(npx.random_permutation(np.arange(4)).sum())
    6.0
    """
    return jax.random.permutation(key, x, axis=axis_of(axis, x.ndim, "random_permutation"))


def _is_indefinite(attrs: Attrs, out: np.ndarray, inputs: list[np.ndarray]) -> str:
    bad = np.isnan(out).any() and np.isfinite(inputs[-2]).all()  # the mean
    return "the covariance is not positive definite" if bad else ""


@register(random=True, matrix=_is_indefinite, shape="size + mean.shape")
def random_multivariate_normal(
    key: Array, mean: Array, cov: Array, *, size: Size = None, dtype: DTypeLike = None
) -> Array:
    """Draw from the normal distribution of several variables, with mean vector `mean` and covariance matrix `cov`.

    Parameters
    ----------
    mean
        The mean vectors, along the last axis.
    cov
        The covariance matrices, in the last two axes.

    Returns
    -------
    array, shape size + the batch shape + (variables,)

    Examples
    --------
    >>> from gluonx import np, npx
    >>> npx.random_multivariate_normal(np.zeros(2), np.eye(2), size=(3,)).shape
    (3, 2)
    """
    draw = _Draw(dtype)
    if cov.shape[-2:] != mean.shape[-1:] * 2:
        raise ShapeError(f"random_multivariate_normal: mean has shape {mean.shape}, cov {cov.shape}; they do not fit.")
    batch = jnp.broadcast_shapes(mean.shape[:-1], cov.shape[:-2])
    shape = () if size is None else (size,) if isinstance(size, int) else tuple(size)
    root = jnp.linalg.cholesky(cov.astype(draw.inner))
    noise = jax.random.normal(key, (*shape, *batch, mean.shape[-1]), draw.inner)
    draw.shape = noise.shape
    mixed = jnp.einsum("...ij,...j->...i", root, noise)
    return draw.finish(mixed + mean.astype(draw.inner).reshape((1,) * (noise.ndim - mean.ndim) + mean.shape))
