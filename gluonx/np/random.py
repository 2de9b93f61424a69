"""Random numbers: ``gluonx.np.random``.

Every distribution is an operator that takes a key, which the engine supplies. The n-th draw after `seed` is the same
whether it runs at once, deferred or inside a hybridized block, and drawing never recompiles. Parameters of a
distribution are values (numbers or ndarrays, broadcast against each other); only the size and the dtype are part of the
program. If a draw is a smooth function of its parameters (``normal``, ``gamma``, ...), gradients flow to them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as onp
from jax import Array
from numpy.typing import ArrayLike

from gluonx.common.arguments import Size, named, written
from gluonx.deferred import invoke
from gluonx.device import DeviceLike
from gluonx.dtype import WIDE, DTypeLike, canonical, standard
from gluonx.errors import ShapeError
from gluonx.np.creation import arange, asarray, placed
from gluonx.np.handle import ndarray
from gluonx.np.limits import LIMITS, check, check_probabilities
from gluonx.np.wrapping import as_leaf, as_size, as_static, write_out
from gluonx.ops.prng import seed as seed
from gluonx.ops.registry import Record, get, register
from gluonx.ops.sampling import DRAWN

Draw = Callable[..., Array]


_EXTRA: dict[str, tuple[Draw, Record]] = {
    "geometric": (
        lambda key, p: jax.random.geometric(key, p, p.shape),
        Record(
            doc="Return how many trials it takes up to the first success.",
            meaning={"parameters": "The probability of a success."},
            example=("np.random.geometric(0.5, size=(3,)).shape", "(3,)"),
        ),
    ),
    "triangular": (
        lambda key, left, mode, right: jax.random.triangular(key, left, mode, right, left.shape, left.dtype),
        Record(
            doc="Return draws of the triangular distribution.",
            meaning={"parameters": "The lower end, the peak and the upper end."},
            example=("np.random.triangular(0.0, 1.0, 2.0, size=(3,)).shape", "(3,)"),
        ),
    ),
}


def _register(name: str, draw: Draw, record: Record) -> None:
    """Register a distribution that is not an operator yet; `draw(key, *parameters)` gets broadcast parameters."""

    def drawn(key: Array, *parameters: Array, size: Size | None = None, dtype: DTypeLike = None) -> Array:
        wanted = canonical(dtype)
        shape = jnp.broadcast_shapes(*[p.shape for p in parameters]) if size is None else size
        work = jnp.promote_types(wanted, jnp.float32)
        return draw(key, *[jnp.broadcast_to(p.astype(work), shape) for p in parameters]).astype(wanted)

    drawn.__name__ = f"random_{name}"
    register(f"random_{name}", **{"random": True, "shape": DRAWN, "gives": "asked", **record})(drawn)


for _name, (_draw, _record) in _EXTRA.items():
    _register(_name, _draw, _record)


def sample(
    name: str,
    parameters: tuple[Any, ...],
    size: Size | None = None,
    dtype: DTypeLike = None,
    device: DeviceLike = None,
    ctx: DeviceLike = None,
    out: ndarray | None = None,
) -> ndarray:
    """Return a draw from the distribution `name`; the functions of this module share it."""
    limits = LIMITS.get(name)
    if limits is not None:
        check(f"np.random.{name}", limits, parameters)
    bound = get(f"random_{name}").bind(size=as_size(size), dtype=standard(dtype))
    result = placed(invoke(bound, tuple([as_leaf(p) for p in parameters])), device, ctx)
    return result if out is None else write_out(f"np.random.{name}", out, result)


def uniform(
    low: ArrayLike = 0.0,
    high: ArrayLike = 1.0,
    size: Size | None = None,
    dtype: DTypeLike = None,
    device: DeviceLike = None,
    out: ndarray | None = None,
    *,
    ctx: DeviceLike = None,
) -> ndarray:
    """Sample from the uniform distribution on [low, high).

    Parameters
    ----------
    low, high : number or ndarray
        The bounds; gradients flow to them.
    size : int or tuple of int, optional
        The shape; that of the bounds by default.
    dtype : dtype, optional
        float32 by default.
    device, ctx : Device, optional
    out : ndarray, optional

    Returns
    -------
    ndarray
        Of shape `size`, or of the parameters' broadcast shape without one; `dtype`, by default float32.

    Examples
    --------
    >>> from gluonx import np
    >>> np.random.seed(1)
    >>> x = np.random.uniform(2.0, 3.0, size=(2, 2))
    >>> bool(np.all((x >= 2) & (x < 3)))
    True
    """
    return sample("uniform", (low, high), size, dtype, device, ctx, out)


def normal(
    loc: ArrayLike = 0.0,
    scale: ArrayLike = 1.0,
    size: Size | None = None,
    dtype: DTypeLike = None,
    device: DeviceLike = None,
    out: ndarray | None = None,
    *,
    ctx: DeviceLike = None,
) -> ndarray:
    """Sample from the normal distribution of mean `loc` and standard deviation `scale`; gradients flow to both.

    Returns
    -------
    ndarray
        Of shape `size`, or of the parameters' broadcast shape without one; `dtype`, by default float32.

    Raises
    ------
    ValueError
        If `scale` is negative. An array is checked if its values are known, see `gluonx.np.limits`.

    Examples
    --------
    >>> from gluonx import np
    >>> np.random.normal(0, 1, size=(2, 3)).shape
    (2, 3)
    """
    return sample("normal", (loc, scale), size, dtype, device, ctx, out)


def standard_normal(size: Size | None = None, dtype: DTypeLike = None, device: DeviceLike = None) -> ndarray:
    """Sample from the normal distribution of mean 0 and standard deviation 1.

    Returns
    -------
    ndarray
        Of shape `size`, () without one; `dtype`, by default float32.

    Examples
    --------
    >>> from gluonx import np
    >>> np.random.standard_normal((2, 3)).shape
    (2, 3)
    """
    return sample("normal", (0.0, 1.0), size, dtype, device)


def randn(*size: int, dtype: DTypeLike = None, device: DeviceLike = None, ctx: DeviceLike = None) -> ndarray:
    """Sample from the standard normal distribution, of the shape given as arguments.

    Returns
    -------
    ndarray
        Of shape `size`; `dtype`, by default float32.

    Examples
    --------
    >>> from gluonx import np
    >>> np.random.randn(2, 3).shape
    (2, 3)
    """
    return sample("normal", (0.0, 1.0), size, dtype, device, ctx)


def rand(*size: int, dtype: DTypeLike = None, device: DeviceLike = None, ctx: DeviceLike = None) -> ndarray:
    """Sample from the uniform distribution on [0, 1), of the shape given as arguments.

    Returns
    -------
    ndarray
        Of shape `size`; `dtype`, by default float32.

    Examples
    --------
    >>> from gluonx import np
    >>> np.random.rand(2, 3).shape
    (2, 3)
    """
    return sample("uniform", (0.0, 1.0), size, dtype, device, ctx)


def random(size: Size | None = None, dtype: DTypeLike = None, device: DeviceLike = None) -> ndarray:
    """Sample from the uniform distribution on [0, 1).

    Returns
    -------
    ndarray
        Of shape `size`, () without one; `dtype`, by default float32.

    Examples
    --------
    >>> from gluonx import np
    >>> np.random.random((2, 3)).shape
    (2, 3)
    """
    return sample("uniform", (0.0, 1.0), size, dtype, device)


random_sample = random


def laplace(
    loc: ArrayLike = 0.0,
    scale: ArrayLike = 1.0,
    size: Size | None = None,
    dtype: DTypeLike = None,
    device: DeviceLike = None,
    out: ndarray | None = None,
    *,
    ctx: DeviceLike = None,
) -> ndarray:
    """Sample from the Laplace distribution of mean `loc`; gradients flow to both parameters.

    Returns
    -------
    ndarray
        Of shape `size`, or of the parameters' broadcast shape without one; `dtype`, by default float32.

    Examples
    --------
    >>> from gluonx import np
    >>> np.random.laplace(0.0, 1.0, size=3).shape
    (3,)
    """
    return sample("laplace", (loc, scale), size, dtype, device, ctx, out)


def logistic(
    loc: ArrayLike = 0.0,
    scale: ArrayLike = 1.0,
    size: Size | None = None,
    device: DeviceLike = None,
    out: ndarray | None = None,
    *,
    ctx: DeviceLike = None,
) -> ndarray:
    """Sample from the logistic distribution of mean `loc`; gradients flow to both parameters.

    Returns
    -------
    ndarray
        Of shape `size`, or of the parameters' broadcast shape without one; float32.

    Examples
    --------
    >>> from gluonx import np
    >>> np.random.logistic(size=3).shape
    (3,)
    """
    return sample("logistic", (loc, scale), size, None, device, ctx, out)


def gumbel(
    loc: ArrayLike = 0.0,
    scale: ArrayLike = 1.0,
    size: Size | None = None,
    device: DeviceLike = None,
    out: ndarray | None = None,
    *,
    ctx: DeviceLike = None,
) -> ndarray:
    """Sample from the Gumbel distribution of mode `loc`; gradients flow to both parameters.

    Returns
    -------
    ndarray
        Of shape `size`, or of the parameters' broadcast shape without one; float32.

    Examples
    --------
    >>> from gluonx import np
    >>> np.random.gumbel(0.0, 1.0, size=3).shape
    (3,)
    """
    return sample("gumbel", (loc, scale), size, None, device, ctx, out)


def lognormal(
    mean: ArrayLike = 0.0,
    sigma: ArrayLike = 1.0,
    size: Size | None = None,
    dtype: DTypeLike = None,
    device: DeviceLike = None,
    out: ndarray | None = None,
    *,
    ctx: DeviceLike = None,
) -> ndarray:
    """Sample numbers whose logarithm is normal with this mean and standard deviation.

    Returns
    -------
    ndarray
        Of shape `size`, or of the parameters' broadcast shape without one; `dtype`, by default float32.

    Examples
    --------
    >>> from gluonx import np
    >>> bool((np.random.lognormal(size=3) > 0).all())
    True
    """
    return sample("lognormal", (mean, sigma), size, dtype, device, ctx, out)


def exponential(
    scale: ArrayLike = 1.0,
    size: Size | None = None,
    device: DeviceLike = None,
    out: ndarray | None = None,
    *,
    ctx: DeviceLike = None,
    dtype: DTypeLike = None,
) -> ndarray:
    """Sample from the exponential distribution of mean `scale`; gradients flow to it.

    Returns
    -------
    ndarray
        Of shape `size`, or of the parameters' broadcast shape without one; `dtype`, by default float32.

    Examples
    --------
    >>> from gluonx import np
    >>> bool((np.random.exponential(2.0, size=3) >= 0).all())
    True
    """
    return sample("exponential", (scale,), size, dtype, device, ctx, out)


def gamma(
    shape: Size,
    scale: ArrayLike = 1.0,
    size: Size | None = None,
    dtype: DTypeLike = None,
    device: DeviceLike = None,
    out: ndarray | None = None,
    *,
    ctx: DeviceLike = None,
) -> ndarray:
    """Sample from the gamma distribution of this shape and scale; gradients flow to both.

    Returns
    -------
    ndarray
        Of shape `size`, or of the parameters' broadcast shape without one; `dtype`, by default float32.

    Examples
    --------
    >>> from gluonx import np
    >>> bool((np.random.gamma(2.0, size=3) > 0).all())
    True
    """
    return sample("gamma", (shape, scale), size, dtype, device, ctx, out)


def beta(
    a: ArrayLike,
    b: ArrayLike,
    size: Size | None = None,
    dtype: DTypeLike = None,
    device: DeviceLike = None,
    *,
    ctx: DeviceLike = None,
) -> ndarray:
    """Sample from the beta distribution with these two parameters.

    Returns
    -------
    ndarray
        Of shape `size`, or of the parameters' broadcast shape without one; `dtype`, by default float32.

    Examples
    --------
    >>> from gluonx import np
    >>> x = np.random.beta(2.0, 3.0, size=3)
    >>> bool(((x >= 0) & (x <= 1)).all())
    True
    """
    return sample("beta", (a, b), size, dtype, device, ctx)


def chisquare(
    df: ArrayLike,
    size: Size | None = None,
    dtype: DTypeLike = None,
    device: DeviceLike = None,
    *,
    ctx: DeviceLike = None,
) -> ndarray:
    """Sample from the chi-square distribution of `df` degrees of freedom.

    Returns
    -------
    ndarray
        Of shape `size`, or of the parameters' broadcast shape without one; `dtype`, by default float32.

    Examples
    --------
    >>> from gluonx import np
    >>> bool((np.random.chisquare(2.0, size=3) >= 0).all())
    True
    """
    return sample("chisquare", (df,), size, dtype, device, ctx)


def f(
    dfnum: ArrayLike, dfden: ArrayLike, size: Size | None = None, device: DeviceLike = None, *, ctx: DeviceLike = None
) -> ndarray:
    """Sample from the F distribution with these degrees of freedom of numerator and denominator.

    Returns
    -------
    ndarray
        Of shape `size`, or of the parameters' broadcast shape without one; float32.

    Examples
    --------
    >>> from gluonx import np
    >>> np.random.f(2.0, 3.0, (2, 3)).shape
    (2, 3)
    """
    return sample("f", (dfnum, dfden), size, None, device, ctx)


def pareto(
    a: ArrayLike,
    size: Size | None = None,
    device: DeviceLike = None,
    out: ndarray | None = None,
    *,
    ctx: DeviceLike = None,
) -> ndarray:
    """Sample from the Pareto II (Lomax) distribution of this shape, on [0, inf).

    Returns
    -------
    ndarray
        Of shape `size`, or of the parameters' broadcast shape without one; float32.

    Examples
    --------
    >>> from gluonx import np
    >>> bool((np.random.pareto(3.0, size=3) >= 0).all())
    True
    """
    return sample("pareto", (a,), size, None, device, ctx, out)


def power(
    a: ArrayLike,
    size: Size | None = None,
    device: DeviceLike = None,
    out: ndarray | None = None,
    *,
    ctx: DeviceLike = None,
) -> ndarray:
    """Sample from [0, 1] with density ``a * x**(a - 1)``.

    Returns
    -------
    ndarray
        Of shape `size`, or of the parameters' broadcast shape without one; float32.

    Examples
    --------
    >>> from gluonx import np
    >>> x = np.random.power(3.0, size=3)
    >>> bool(((x >= 0) & (x <= 1)).all())
    True
    """
    return sample("power", (a,), size, None, device, ctx, out)


def rayleigh(
    scale: ArrayLike = 1.0,
    size: Size | None = None,
    device: DeviceLike = None,
    out: ndarray | None = None,
    *,
    ctx: DeviceLike = None,
) -> ndarray:
    """Sample from the Rayleigh distribution.

    Returns
    -------
    ndarray
        Of shape `size`, or of the parameters' broadcast shape without one; float32.

    Examples
    --------
    >>> from gluonx import np
    >>> bool((np.random.rayleigh(2.0, size=3) >= 0).all())
    True
    """
    return sample("rayleigh", (scale,), size, None, device, ctx, out)


def weibull(
    a: ArrayLike,
    size: Size | None = None,
    device: DeviceLike = None,
    out: ndarray | None = None,
    *,
    ctx: DeviceLike = None,
) -> ndarray:
    """Sample from the Weibull distribution of this shape and scale 1.

    Returns
    -------
    ndarray
        Of shape `size`, or of the parameters' broadcast shape without one; float32.

    Examples
    --------
    >>> from gluonx import np
    >>> bool((np.random.weibull(2.0, size=3) >= 0).all())
    True
    """
    return sample("weibull", (a,), size, None, device, ctx, out)


def triangular(
    left: ArrayLike, mode: ArrayLike, right: ArrayLike, size: Size | None = None, device: DeviceLike = None
) -> ndarray:
    """Sample from the triangular distribution between `left` and `right` with its peak at `mode`.

    Returns
    -------
    ndarray
        Of shape `size`, or of the parameters' broadcast shape without one; float32.

    Examples
    --------
    >>> from gluonx import np
    >>> x = np.random.triangular(0.0, 1.0, 3.0, size=3)
    >>> bool(((x >= 0) & (x <= 3)).all())
    True
    """
    return sample("triangular", (left, mode, right), size, None, device)


def poisson(
    lam: ArrayLike = 1.0,
    size: Size | None = None,
    dtype: DTypeLike = None,
    device: DeviceLike = None,
    *,
    ctx: DeviceLike = None,
) -> ndarray:
    """Sample from the Poisson distribution of mean `lam`, as float32 by default.

    Returns
    -------
    ndarray
        Of shape `size`, or of the parameters' broadcast shape without one; `dtype`, by default float32.

    Examples
    --------
    >>> from gluonx import np
    >>> np.random.poisson(3.0, size=4).dtype
    dtype('float32')
    """
    return sample("poisson", (lam,), size, dtype, device, ctx)


def binomial(
    n: ArrayLike,
    p: ArrayLike,
    size: Size | None = None,
    dtype: DTypeLike = None,
    device: DeviceLike = None,
    *,
    ctx: DeviceLike = None,
) -> ndarray:
    """Sample the number of successes in `n` trials of probability `p`, as float32 by default.

    Returns
    -------
    ndarray
        Of shape `size`, or of the parameters' broadcast shape without one; `dtype`, by default float32.

    Examples
    --------
    >>> from gluonx import np
    >>> bool((np.random.binomial(5, 0.5, size=4) <= 5).all())
    True
    """
    return sample("binomial", (n, p), size, dtype, device, ctx)


def geometric(
    p: ArrayLike,
    size: Size | None = None,
    dtype: DTypeLike = None,
    device: DeviceLike = None,
    *,
    ctx: DeviceLike = None,
) -> ndarray:
    """Sample the number of trials of probability `p` up to the first success, as float32 by default.

    Returns
    -------
    ndarray
        Of shape `size`, or of the parameters' broadcast shape without one; `dtype`, by default float32.

    Examples
    --------
    >>> from gluonx import np
    >>> bool((np.random.geometric(0.5, size=3) >= 1).all())
    True
    """
    return sample("geometric", (p,), size, dtype, device, ctx)


def bernoulli(
    prob: ArrayLike,
    size: Size | None = None,
    dtype: DTypeLike = None,
    device: DeviceLike = None,
    *,
    ctx: DeviceLike = None,
) -> ndarray:
    """Sample one with probability `prob`, else zero; float32 by default.

    Returns
    -------
    ndarray
        Of shape `size`, or of the parameters' broadcast shape without one; `dtype`, by default float32.

    Examples
    --------
    >>> from gluonx import np
    >>> np.random.bernoulli(np.array([0.0, 1.0])).tolist()
    [0.0, 1.0]
    """
    return sample("bernoulli", (prob,), size, dtype, device, ctx)


# -- whole numbers and choices ----------------------------------------------------------------------------------------


def randint(
    low: ArrayLike,
    high: ArrayLike | None = None,
    size: Size | None = None,
    dtype: DTypeLike = None,
    device: DeviceLike = None,
    out: ndarray | None = None,
    *,
    ctx: DeviceLike = None,
) -> ndarray:
    """Sample integers from `low` to `high`, excluding `high` (from 0 to `low`, if `high` is not given).

    Returns
    -------
    ndarray
        Of shape `size`, () without one; `dtype`, by default int64.

    Raises
    ------
    ValueError
        If the bounds are numbers and there is no integer between them.

    Examples
    --------
    >>> from gluonx import np
    >>> x = np.random.randint(0, 3, size=5)
    >>> bool((x >= 0).all() and (x < 3).all())
    True
    """
    if high is None:
        low, high = 0, low
    if isinstance(low, (int, float)) and isinstance(high, (int, float)) and high <= low:
        raise ShapeError(f"np.random.randint: high must be larger than low, got low={low}, high={high}.")
    wanted = canonical(None if dtype is int else dtype, onp.int64)
    # Half as many random bits suffice for bounds like these, and take half of the time.
    short = wanted in WIDE and all(isinstance(b, (int, float)) and abs(b) < 2**31 for b in (low, high))
    bound = get("random_randint").bind(size=as_size(size), dtype=onp.dtype(onp.int32) if short else wanted)
    drawn = invoke(bound, (as_leaf(low), as_leaf(high)))
    result = placed(drawn.astype(wanted) if short else drawn, device, ctx)
    return result if out is None else write_out("np.random.randint", out, result)


def choice(
    a: ArrayLike,
    size: Size | None = None,
    replace: bool = True,
    p: ArrayLike | None = None,
    device: DeviceLike = None,
    out: ndarray | None = None,
    *,
    ctx: DeviceLike = None,
) -> ndarray:
    """Sample elements of `a` (or of 0, 1, ..., a - 1) with or without replacement.

    Parameters
    ----------
    a : int or ndarray
        The elements to draw from, along the first axis.
    size : int or tuple of int, optional
        The shape of the draw; one element by default.
    replace : bool
        Whether an element may be drawn twice.
    p : ndarray, optional
        The probability of each; equal by default.

    Returns
    -------
    ndarray
        Of shape `size`, a scalar without it; int64 positions where `a` is a number, else elements of `a`.

    Raises
    ------
    ValueError
        If more elements are wanted than there are, without replacement.

    Examples
    --------
    >>> from gluonx import np
    >>> sorted(np.random.choice(4, 4, replace=False).tolist())
    [0, 1, 2, 3]
    """
    pool = arange(int(a), dtype=onp.int64) if isinstance(a, (int, onp.integer)) else asarray(a)
    shape = as_size(size) or ()
    count = pool.shape[0]
    if not replace and int(onp.prod(shape, dtype=onp.int64)) > count:
        raise ShapeError(f"np.random.choice: {shape} elements cannot be drawn from {count} without putting back.")
    bound = get("random_choice").bind(size=shape, replace=bool(replace))
    result = placed(invoke(bound, (pool, None if p is None else as_leaf(p))), device, ctx)
    return result if out is None else write_out("np.random.choice", out, result)


def permutation(x: ArrayLike, device: DeviceLike = None) -> ndarray:
    """Return 0, 1, ..., x - 1 in random order, or the slices of the array `x` along its first axis.

    Returns
    -------
    ndarray
        As `x`, in another order; of a number n the shape (n,).

    Examples
    --------
    >>> from gluonx import np
    >>> sorted(np.random.permutation(3).tolist())
    [0, 1, 2]
    """
    if isinstance(x, (int, onp.integer)):
        x = arange(int(x), dtype=onp.int64)
    return placed(invoke(get("random_permutation").bind(), (as_leaf(x),)), device)


def shuffle(x: ndarray) -> None:
    """Put the slices of `x` along its first axis into random order, in place.

    Examples
    --------
    >>> from gluonx import np
    >>> x = np.arange(5)
    >>> np.random.shuffle(x)
    >>> sorted(x.tolist())
    [0.0, 1.0, 2.0, 3.0, 4.0]
    """
    if not isinstance(x, ndarray):
        raise TypeError(f"np.random.shuffle works in place and needs an ndarray, got {type(x).__name__}.")
    x[...] = permutation(x)


# -- vectors ----------------------------------------------------------------------------------------------------------


def multinomial(
    n: int, pvals: ArrayLike, size: Size | None = None, dtype: DTypeLike = None, device: DeviceLike = None
) -> ndarray:
    """Sample how often each of ``len(pvals)`` outcomes occurs in `n` trials; the last axis holds the outcomes.

    Returns
    -------
    ndarray
        Of shape ``(*size, k)`` for k probabilities; int64.

    Examples
    --------
    >>> from gluonx import np
    >>> np.random.multinomial(5, np.array([0.5, 0.5])).sum().item()
    5
    """
    check_probabilities("np.random.multinomial", pvals)
    count = max(0, as_static("n", n))
    bound = get("random_multinomial").bind(n=count, size=as_size(size), dtype=canonical(dtype, onp.int64))
    return placed(invoke(bound, (asarray(pvals),)), device)


def multivariate_normal(
    mean: ArrayLike, cov: ArrayLike, size: Size | None = None, check_valid: str | None = None, tol: float | None = None
) -> ndarray:
    """Sample vectors that are jointly normal; `size` comes before the axes of `mean`. Gradients flow to both.

    Returns
    -------
    ndarray
        Of shape ``(*size, k)`` for means of shape ``(k,)``, after the shape of a batch of them.

    Examples
    --------
    >>> from gluonx import np
    >>> np.random.multivariate_normal(np.zeros(2), np.eye(2), size=3).shape
    (3, 2)
    """
    return invoke(get("random_multivariate_normal").bind(size=as_size(size)), (asarray(mean), asarray(cov)))


@register(
    "random_dirichlet",
    shape="`size`, then that of `alpha`",
    meaning={"alpha": "The parameters of the distribution, all positive, along the last axis."},
    doc="Return draws of the Dirichlet distribution: positive numbers that add up to 1.",
    example=("np.random.dirichlet(np.array([1.0, 2.0]), size=(3,)).shape", "(3, 2)"),
    random=True,
)
def _dirichlet(key: Array, alpha: Array, *, size: tuple[int, ...] | None = None) -> Array:
    shape = alpha.shape[:-1] if size is None else (*size, *alpha.shape[:-1])
    return jax.random.dirichlet(key, alpha, shape, jnp.promote_types(alpha.dtype, jnp.float32))


def dirichlet(alpha: ArrayLike, size: Size | None = None) -> ndarray:
    """Sample vectors of probabilities from the Dirichlet distribution.

    Returns
    -------
    ndarray
        Of shape ``(*size, k)`` for `alpha` of shape ``(k,)``; each vector sums to 1.

    Examples
    --------
    >>> from gluonx import np
    >>> round(np.random.dirichlet(np.ones(3)).sum().item(), 4)
    1.0
    """
    check("np.random.dirichlet", LIMITS["dirichlet"], (alpha,))
    return invoke(_dirichlet.bind(size=as_size(size)), (asarray(alpha),))


__all__ = ["seed", *written(globals(), but=["sample"])]  # noqa: PLE0604
named(globals(), __all__, "np.random")


def __dir__() -> list[str]:
    return sorted(__all__)
