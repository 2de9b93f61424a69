"""``mx.random``: :func:`seed`, and MXNet's older names for random draws.

The parameters are all numbers or all arrays. Of numbers, `shape` is the result's (one element by default); of arrays,
so many are drawn for each element, and their axes come last. `gluonx.np.random` is the newer form.
"""

from __future__ import annotations

import random as builtin_random
from typing import TYPE_CHECKING, Any

import numpy as onp

from gluonx import np
from gluonx.common.arguments import named, refuse
from gluonx.common.process import deterministic_operations
from gluonx.np.handle import ndarray
from gluonx.np.limits import check_old
from gluonx.np.random import sample
from gluonx.np.table import IGNORED
from gluonx.np.wrapping import as_size, write_out
from gluonx.npx import random as _extended
from gluonx.ops.prng import get_state as get_state
from gluonx.ops.prng import host_rng as host_rng
from gluonx.ops.prng import seed as seed
from gluonx.ops.prng import set_state as set_state
from gluonx.ops.registry import HINTS

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from gluonx.common.arguments import Size
    from gluonx.device import DeviceLike
    from gluonx.dtype import DTypeLike


__all__ = [
    "binomial",
    "categorical",
    "deterministic",
    "exponential",
    "gamma",
    "generalized_negative_binomial",
    "get_state",
    "host_rng",
    "multinomial",
    "negative_binomial",
    "normal",
    "poisson",
    "randint",
    "randn",
    "seed",
    "set_state",
    "shuffle",
    "uniform",
]


def deterministic(seed_state: int = 0) -> None:
    """Make this run repeatable: the same program on the same machine gives the same bits.

    Call it first, before anything is computed.

    Parameters
    ----------
    seed_state : int
        For :func:`seed`, and for the global generators of Python (``random``) and NumPy, which datasets and transforms
        may draw from.

    Warns
    -----
    RuntimeWarning
        If XLA has started on a GPU: it reads its flags once.

    Notes
    -----
    XLA is asked for operations on GPUs that give the same bits each time (``--xla_gpu_deterministic_ops``). What is
    equal in another mode, on a mesh or with other batches is on the page "Reproducible runs" of the documentation.

    Examples
    --------
    >>> from gluonx import np
    >>> deterministic(7)
    >>> first = np.random.normal(size=3).tolist()
    >>> deterministic(7)
    >>> np.random.normal(size=3).tolist() == first
    True
    """
    seed(seed_state)
    builtin_random.seed(int(seed_state))
    onp.random.seed(int(seed_state) & 0xFFFFFFFF)
    deterministic_operations()


def _spread(name: str, given: dict[str, Any], shape: Size | None) -> tuple[tuple[Any, ...], tuple[int, ...]]:
    """Return the parameters with axes for what is drawn of each element, and the size of the draw."""
    arrays = [isinstance(value, ndarray) for value in given.values()]
    wanted = as_size(shape)
    if not any(arrays):
        return tuple(given.values()), (1,) if wanted is None else wanted
    if not all(arrays):
        kinds = ", ".join(f"{key}: {type(value).__name__}" for key, value in given.items())
        raise TypeError(f"random.{name}: give arrays for all of its parameters, or for none; got {kinds}.")
    lengths = next(iter(given.values())).shape
    if any(value.shape != lengths for value in given.values()):
        shapes = ", ".join(f"{key}: {value.shape}" for key, value in given.items())
        raise ValueError(f"random.{name}: the parameters must have one shape, got {shapes}.")
    extra = wanted or ()
    return tuple(np.reshape(v, (*lengths, *(1,) * len(extra))) for v in given.values()), (*lengths, *extra)


def _draw(
    name: str,
    given: dict[str, Any],
    shape: Size | None,
    dtype: DTypeLike,
    ctx: DeviceLike,
    out: ndarray | None,
    further: dict[str, Any],
    **more: str,
) -> ndarray:
    refuse(f"random.{name}", further, [*given, "shape", "dtype", "ctx", "out"], IGNORED | HINTS)
    if shape is None and out is not None:
        shape = out.shape
    check_old(f"random.{name}", name, list(given.values()))
    parameters, size = _spread(name, given, shape)
    return sample(more.get("law", name), parameters, size, dtype, None, ctx, out)


def uniform(
    low: float | ndarray = 0,
    high: float | ndarray = 1,
    shape: Size | None = None,
    dtype: DTypeLike = None,
    ctx: DeviceLike = None,
    out: ndarray | None = None,
    **further: object,
) -> ndarray:
    """Sample from the uniform distribution on [low, high).

    Returns
    -------
    ndarray
        Of `shape`, ``(1,)`` by default; for arrays of parameters of shape ``(*parameters.shape, *shape)``.

    Examples
    --------
    >>> from gluonx import np
    >>> uniform(0, 1, (2, 3)).shape
    (2, 3)
    >>> uniform(np.zeros(2), np.ones(2), 3).shape
    (2, 3)
    """
    return _draw("uniform", {"low": low, "high": high}, shape, dtype, ctx, out, further)


def normal(
    loc: float | ndarray = 0,
    scale: float | ndarray = 1,
    shape: Size | None = None,
    dtype: DTypeLike = None,
    ctx: DeviceLike = None,
    out: ndarray | None = None,
    **further: object,
) -> ndarray:
    """Sample from the normal distribution of mean `loc` and standard deviation `scale`.

    Returns
    -------
    ndarray
        Of `shape`, ``(1,)`` by default; for arrays of parameters of shape ``(*parameters.shape, *shape)``.

    Examples
    --------
    >>> from gluonx import random
    >>> random.normal(0, 1, shape=(2, 3)).shape
    (2, 3)
    """
    return _draw("normal", {"loc": loc, "scale": scale}, shape, dtype, ctx, out, further)


def randn(
    *shape: int,
    loc: ndarray | float = 0,
    scale: ndarray | float = 1,
    dtype: DTypeLike = None,
    ctx: DeviceLike = None,
    out: ndarray | None = None,
) -> ndarray:
    """Sample from the normal distribution, of the shape given as arguments.

    Returns
    -------
    ndarray
        Of shape `shape`.

    Examples
    --------
    >>> from gluonx import random
    >>> random.randn(2, 3).shape
    (2, 3)
    """
    return _draw("normal", {"loc": loc, "scale": scale}, shape, dtype, ctx, out, {})


def gamma(
    alpha: float | ndarray = 1, beta: float | ndarray = 1, shape: Size | None = None, dtype: DTypeLike = None,
    ctx: DeviceLike = None, out: ndarray | None = None, **further: object,
) -> ndarray:  # fmt: skip
    """Sample from the gamma distribution of shape `alpha` and scale `beta`.

    Returns
    -------
    ndarray
        Of `shape`, ``(1,)`` by default; for arrays of parameters of shape ``(*parameters.shape, *shape)``.

    Examples
    --------
    >>> from gluonx import random
    >>> random.gamma(2.0, 1.0, shape=(2,)).shape
    (2,)
    """
    return _draw("gamma", {"alpha": alpha, "beta": beta}, shape, dtype, ctx, out, further)


def exponential(
    scale: float | ndarray = 1,
    shape: Size | None = None,
    dtype: DTypeLike = None,
    ctx: DeviceLike = None,
    out: ndarray | None = None,
    **further: object,
) -> ndarray:
    """Sample from the exponential distribution of mean `scale`.

    Returns
    -------
    ndarray
        Of `shape`, ``(1,)`` by default; for arrays of parameters of shape ``(*parameters.shape, *shape)``.

    Examples
    --------
    >>> from gluonx import random
    >>> random.exponential(1.0, shape=(2,)).shape
    (2,)
    """
    return _draw("exponential", {"scale": scale}, shape, dtype, ctx, out, further)


def poisson(
    lam: float | ndarray = 1,
    shape: Size | None = None,
    dtype: DTypeLike = None,
    ctx: DeviceLike = None,
    out: ndarray | None = None,
    **further: object,
) -> ndarray:
    """Sample from the Poisson distribution of mean `lam`.

    Returns
    -------
    ndarray
        Of `shape`, ``(1,)`` by default; for arrays of parameters of shape ``(*parameters.shape, *shape)``.

    Examples
    --------
    >>> from gluonx import random
    >>> random.poisson(2.0, shape=(2,)).shape
    (2,)
    """
    return _draw("poisson", {"lam": lam}, shape, dtype, ctx, out, further)


def binomial(
    n: float | ndarray = 1,
    p: float | ndarray = 0.5,
    shape: Size | None = None,
    dtype: DTypeLike = None,
    ctx: DeviceLike = None,
    out: ndarray | None = None,
    **further: object,
) -> ndarray:
    """Sample the number of successes in `n` trials of probability `p`.

    Returns
    -------
    ndarray
        Of `shape`, ``(1,)`` by default; for arrays of parameters of shape ``(*parameters.shape, *shape)``.

    Examples
    --------
    >>> from gluonx import random
    >>> random.binomial(4, 0.5, shape=(2,)).shape
    (2,)
    """
    return _draw("binomial", {"n": n, "p": p}, shape, dtype, ctx, out, further)


def negative_binomial(
    k: float | ndarray = 1,
    p: float | ndarray = 1,
    shape: Size | None = None,
    dtype: DTypeLike = None,
    ctx: DeviceLike = None,
    out: ndarray | None = None,
    **further: object,
) -> ndarray:
    """Sample the number of failures before the `k`-th success, in trials of probability `p`.

    Returns
    -------
    ndarray
        Of `shape`, ``(1,)`` by default; for arrays of parameters of shape ``(*parameters.shape, *shape)``.

    Examples
    --------
    >>> from gluonx import random
    >>> random.negative_binomial(2, 0.5, shape=(2,)).shape
    (2,)
    """
    return _draw("negative_binomial", {"k": k, "p": p}, shape, dtype, ctx, out, further)


def generalized_negative_binomial(
    mu: float | ndarray = 1,
    alpha: float | ndarray = 1,
    shape: Size | None = None,
    dtype: DTypeLike = None,
    ctx: DeviceLike = None,
    out: ndarray | None = None,
    **further: object,
) -> ndarray:
    """Draw counts of mean `mu` and variance ``mu + alpha * mu**2``: a Poisson whose mean is drawn from a gamma.

    Returns
    -------
    ndarray
        Of `shape`, ``(1,)`` by default; for arrays of parameters of shape ``(*parameters.shape, *shape)``.

    Examples
    --------
    >>> from gluonx import random
    >>> random.generalized_negative_binomial(2.0, 0.5, shape=(2,)).shape
    (2,)
    """
    given = {"mu": mu, "alpha": alpha}
    return _draw("generalized_negative_binomial", given, shape, dtype, ctx, out, further)


def randint(
    low: float | ndarray,
    high: float | ndarray,
    shape: Size | None = None,
    dtype: DTypeLike = None,
    ctx: DeviceLike = None,
    out: ndarray | None = None,
    **further: object,
) -> ndarray:
    """Draw whole numbers from `low` to `high`, excluding `high`; int32 by default.

    Returns
    -------
    ndarray
        Of `shape`, ``(1,)`` by default; int32 by default.

    Examples
    --------
    >>> from gluonx import random
    >>> random.randint(0, 3, shape=(2,)).shape
    (2,)
    """
    refuse("random.randint", further, ["low", "high", "shape", "dtype", "ctx", "out"], IGNORED | HINTS)
    size = (1,) if as_size(shape) is None else as_size(shape)
    return np.random.randint(low, high, size, dtype or "int32", None, out, ctx=ctx)


def shuffle(data: ndarray, **further: Any) -> ndarray:
    """Return the slices of `data` along its first axis in random order, as a new array.

    Returns
    -------
    ndarray
        Of the shape and dtype of `data`.

    Examples
    --------
    >>> from gluonx import np, random
    >>> sorted(random.shuffle(np.array([3.0, 1.0, 2.0])).tolist())
    [1.0, 2.0, 3.0]
    """
    out = further.pop("out", None)
    refuse("random.shuffle", further, ["data", "out"], IGNORED | HINTS)
    result = np.random.permutation(data)
    return result if out is None else write_out("random.shuffle", out, result)


def categorical(
    data: ndarray,
    shape: Size | None = None,
    get_prob: bool = False,
    out: ndarray | None = None,
    dtype: DTypeLike = "int32",
    **further: object,
) -> Any:
    """Give indices drawn with the probabilities in each row of `data`; with `get_prob`, their log-probabilities too.

    Returns
    -------
    ndarray, or list of ndarray where `get_prob`
        Class numbers of shape ``(*data.shape[:-1], *shape)``, with a last axis at least.

    Examples
    --------
    >>> from gluonx import np, random
    >>> random.categorical(np.array([[0.0, 1.0], [1.0, 0.0]])).tolist()
    [1, 0]
    """
    refuse("random.categorical", further, ["data", "shape", "get_prob", "out", "dtype"], IGNORED | HINTS)
    result = _extended.categorical(data, shape, get_prob, dtype)
    if data.ndim == 1 and as_size(shape) is None:
        result = [r.reshape((1,)) for r in result] if get_prob else result.reshape((1,))
    return result if out is None else write_out("random.categorical", out, result)


def multinomial(
    n: ArrayLike = (1,), p: ArrayLike = ((1.0,),), shape: Size | None = None, dtype: DTypeLike = "float32",
    ctx: DeviceLike = None, out: ndarray | None = None, **further: object,
) -> ndarray:  # fmt: skip
    """Sample how often each outcome occurs in `n` trials with the probabilities in a row of `p`.

    Returns
    -------
    ndarray
        Of shape ``(*n.shape, *shape, classes)``: how often each class was drawn.

    Examples
    --------
    >>> from gluonx import np, random
    >>> random.multinomial(np.array([3]), np.array([[0.0, 1.0]])).tolist()
    [[0.0, 3.0]]
    """
    refuse("random.multinomial", further, ["n", "p", "shape", "dtype", "ctx", "out"], IGNORED | HINTS)
    result = _extended.multinomial(np.asarray(n), np.asarray(p), shape, ctx, dtype)
    return result if out is None else write_out("random.multinomial", out, result)


named(globals(), ["randn"], "random")

if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        raise AttributeError(f"gluonx.random has no function '{name}'; it has {', '.join(__all__)}.")


def __dir__() -> list[str]:
    return sorted(__all__)
