"""Random numbers in MXNet's extended forms: ``gluonx.npx.random``."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
from jax import Array
from numpy.typing import ArrayLike

from gluonx.common.arguments import Size, named, refuse
from gluonx.deferred import invoke
from gluonx.device import DeviceLike
from gluonx.dtype import DTypeLike, canonical
from gluonx.np.creation import placed
from gluonx.np.handle import ndarray
from gluonx.np.limits import LIMITS, check
from gluonx.np.random import normal, uniform
from gluonx.np.table import IGNORED
from gluonx.np.wrapping import as_leaf, as_size, write_out
from gluonx.ops.prng import seed as _seed
from gluonx.ops.registry import get, register

__all__ = ["bernoulli", "categorical", "multinomial", "normal_n", "seed", "uniform_n"]


def seed(seed: int, device: DeviceLike = "all", *, ctx: DeviceLike = "all") -> None:
    """Restart all random streams, as :func:`gluonx.random.seed`.

    Examples
    --------
    >>> from gluonx import npx
    >>> npx.random.seed(3)
    >>> first = npx.random.bernoulli(0.5, size=8).tolist()
    >>> npx.random.seed(3)
    >>> npx.random.bernoulli(0.5, size=8).tolist() == first
    True
    """
    _seed(seed, device)


def bernoulli(
    prob: ArrayLike | None = None,
    logit: ArrayLike | None = None,
    size: Size | None = None,
    dtype: DTypeLike = None,
    device: DeviceLike = None,
    out: ndarray | None = None,
    *,
    ctx: DeviceLike = None,
) -> ndarray:
    """One with a probability, else zero; float32 by default.

    Parameters
    ----------
    prob, logit : number or ndarray
        The probability of a one, or its logit: just one of the two.
    size : int or tuple of int, optional
        The shape; that of the parameter by default, and for ().

    Returns
    -------
    ndarray
        Of shape `size`, or of the probabilities' shape; of `dtype`, float32 by default.

    Raises
    ------
    ValueError
        If both or neither of `prob` and `logit` are given.

    Examples
    --------
    >>> from gluonx import np, npx
    >>> npx.random.bernoulli(np.array([0.0, 1.0])).tolist()
    [0.0, 1.0]
    """
    if (prob is None) == (logit is None):
        raise ValueError(f"npx.random.bernoulli: give prob or logit, and not both; got prob={prob}, logit={logit}.")
    check("npx.random.bernoulli", LIMITS["bernoulli"], (prob,))
    # As in MXNet () is no size.
    bound = get("random_bernoulli").bind(size=as_size(size) or None, dtype=canonical(dtype))
    leaves = (as_leaf(prob),) if logit is None else (None, as_leaf(logit))
    result = placed(invoke(bound, leaves), device, ctx)
    return result if out is None else write_out("npx.random.bernoulli", out, result)


def categorical(
    data: ArrayLike, shape: Size | None = None, get_prob: bool = False, dtype: DTypeLike = "int32", **ignored: object
) -> Any:
    """Get indices drawn with the probabilities in the last axis of `data`.

    With `get_prob`, their log-probabilities too.

    Returns
    -------
    ndarray, or list of ndarray where `get_prob`
        Class numbers of shape ``(*data.shape[:-1], *shape)``, of `dtype`; then the logarithms of their probabilities.

    Examples
    --------
    >>> from gluonx import np, npx
    >>> npx.random.categorical(np.array([[0.0, 1.0, 0.0], [1.0, 0.0, 0.0]])).tolist()
    [1, 0]
    """
    refuse("npx.random.categorical", ignored, ("data", "shape", "get_prob", "dtype"), IGNORED)
    bound = get("random_categorical").bind(size=as_size(shape), get_prob=bool(get_prob), dtype=canonical(dtype))
    result = invoke(bound, (as_leaf(data),))
    return list(result) if isinstance(result, tuple) else result


@register(
    "random_multinomial_counts",
    shape="`shape`, with a last axis for the classes",
    gives="asked",
    meaning={
        "n": "The number of draws.",
        "p": "The probabilities of the classes, along the last axis.",
        "shape": "The shape of the result.",
    },
    doc="Return how often each class comes in `n` draws.",
    example=("npx.random.multinomial(np.array([4]), np.array([[0.5, 0.5]])).shape", "(1, 2)"),
    random=True,
)
def _counts(key: Array, n: Array, p: Array, *, shape: tuple[int, ...], dtype: DTypeLike) -> Array:
    full = (*n.shape, *shape, p.shape[-1])
    padded = (*n.shape, *(1,) * len(shape))
    chances = jnp.broadcast_to(p.astype(jnp.float32).reshape(*padded, p.shape[-1]), full)
    trials = jnp.broadcast_to(n.astype(jnp.float32).reshape(padded), full[:-1])
    return jax.random.multinomial(key, trials, chances).astype(dtype)


def multinomial(
    n: ArrayLike,
    p: ArrayLike,
    shape: Size | None = None,
    ctx: DeviceLike = None,
    dtype: DTypeLike = None,
    **ignored: object,
) -> ndarray:
    """Sample how often each outcome occurs: `n` trials a row, with the probabilities in that row of `p`.

    Returns
    -------
    ndarray, shape n.shape + shape + (outcomes,)

    Examples
    --------
    >>> from gluonx import np, npx
    >>> npx.random.multinomial(np.array([4, 2]), np.array([[0.0, 1.0], [1.0, 0.0]])).tolist()
    [[0.0, 4.0], [2.0, 0.0]]
    """
    refuse("npx.random.multinomial", ignored, ("n", "p", "shape", "dtype"), IGNORED)
    bound = _counts.bind(shape=as_size(shape) or (), dtype=canonical(dtype))
    return placed(invoke(bound, (as_leaf(n), as_leaf(p))), None, ctx)


def _batched(batch_shape: Size | None, *parameters: object) -> tuple[int, ...] | None:
    given = as_size(batch_shape)
    if given is None:
        return None
    shapes = [getattr(p, "shape", ()) for p in parameters]
    return (*given, *jnp.broadcast_shapes(*shapes))


def normal_n(
    loc: ArrayLike = 0.0,
    scale: ArrayLike = 1.0,
    batch_shape: Size | None = None,
    dtype: DTypeLike = None,
    device: DeviceLike = None,
    *,
    ctx: DeviceLike = None,
) -> ndarray:
    """Draw normal numbers of shape `batch_shape` for every element of the parameters, whose axes come after.

    Returns
    -------
    ndarray
        Of shape ``(*batch_shape, *parameters' shape)``.

    Examples
    --------
    >>> from gluonx import np, npx
    >>> npx.random.normal_n(np.zeros(3), 1.0, batch_shape=(2, 4)).shape
    (2, 4, 3)
    """
    return normal(loc, scale, _batched(batch_shape, loc, scale), dtype, device, ctx=ctx)


def uniform_n(
    low: ArrayLike = 0.0,
    high: ArrayLike = 1.0,
    batch_shape: Size | None = None,
    dtype: DTypeLike = None,
    device: DeviceLike = None,
    *,
    ctx: DeviceLike = None,
) -> ndarray:
    """Uniform draws of shape `batch_shape` for every element of the bounds, whose axes come after.

    Returns
    -------
    ndarray
        Of shape ``(*batch_shape, *parameters' shape)``.

    Examples
    --------
    >>> from gluonx import np, npx
    >>> npx.random.uniform_n(np.zeros(3), 1.0, batch_shape=(2, 4)).shape
    (2, 4, 3)
    """
    return uniform(low, high, _batched(batch_shape, low, high), dtype, device, ctx=ctx)


def tensor_poisson(lam: Any, shape: Size | None = None, dtype: DTypeLike = None, **ignored: object) -> ndarray:
    """Poisson draws of shape `shape` for each element of `lam`, whose axes come first.

    Returns
    -------
    ndarray
        Of shape ``(*lam.shape, *shape)``; of `dtype`, float32 by default.

    Examples
    --------
    >>> from gluonx import np, npx
    >>> npx.tensor_poisson(np.zeros(2)).tolist()
    [0.0, 0.0]
    """
    refuse("npx.tensor_poisson", ignored, ("lam", "shape", "dtype"), IGNORED)
    extra = as_size(shape) or ()
    lam = as_leaf(lam)
    lengths = tuple(getattr(lam, "shape", ()))
    spread = invoke(get("reshape").bind(newshape=(*lengths, *(1,) * len(extra))), (lam,))
    return invoke(get("random_poisson").bind(size=(*lengths, *extra), dtype=canonical(dtype)), (spread,))


def scalar_poisson(
    lam: float | ndarray = 1.0,
    shape: Size | None = None,
    ctx: DeviceLike = None,
    dtype: DTypeLike = None,
    **ignored: object,
) -> ndarray:
    """Poisson draws of mean `lam`, a number.

    Returns
    -------
    ndarray
        Of the given shape, () by default; of `dtype`, float32 by default.

    Examples
    --------
    >>> from gluonx import npx
    >>> npx.scalar_poisson(0.0, (2,)).tolist()
    [0.0, 0.0]
    """
    refuse("npx.scalar_poisson", ignored, ("lam", "shape", "dtype"), IGNORED)
    bound = get("random_poisson").bind(size=as_size(shape), dtype=canonical(dtype))
    return placed(invoke(bound, (lam,)), None, ctx)


named(globals(), __all__, "npx.random")


def __dir__() -> list[str]:
    return sorted(__all__)
