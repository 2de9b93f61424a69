"""``mx.nd.random`` and ``mx.random``: draws with numbers, or with arrays of parameters."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gluonx.common.arguments import written
from gluonx.compat.nd.calling import write_out
from gluonx.compat.nd.names import lookup
from gluonx.compat.nd.ndarray import as_nd
from gluonx.compat.operators.table import TABLE
from gluonx.deferred.values.core import Handle
from gluonx.ops.prng import seed as seed

if TYPE_CHECKING:
    from gluonx.common.arguments import Size
    from gluonx.compat.nd.ndarray import NDArray
    from gluonx.device import DeviceLike
    from gluonx.dtype import DTypeLike
    from gluonx.np.handle import ndarray


def _draw(
    name: str, values: tuple[Any, ...], shape: Any, dtype: DTypeLike, ctx: DeviceLike, out: ndarray | None
) -> NDArray:
    """Draw by the operator `name`, whose first attributes are `values`, or by that for arrays if one of them is one."""
    shape = out.shape if shape is None and isinstance(out, Handle) and not isinstance(values[0], Handle) else shape
    given = {} if shape is None else {"shape": shape}
    if dtype is not None and dtype != "None":
        given["dtype"] = dtype
    if any(isinstance(v, Handle) for v in values):
        arrays = [v for v in values if isinstance(v, Handle)]
        if len(arrays) < len(values):
            like = arrays[0]
            values = tuple([v if isinstance(v, Handle) else TABLE["ones_like"](like) * v for v in values])
        result = TABLE[f"_sample_{name}"](*values, **given)
    else:
        op = TABLE[f"_random_{name}"]
        result = op(**given, **dict(zip(op.attrs, values, strict=False)))
    if ctx is not None:
        result = result.to_device(ctx)
    return write_out(as_nd(result), out)


def uniform(
    low: float | ndarray = 0,
    high: float | ndarray = 1,
    shape: Size | None = None,
    dtype: DTypeLike = None,
    ctx: DeviceLike = None,
    out: ndarray | None = None,
    **kw: Any,
) -> NDArray:
    """Numbers spread evenly over ``[low, high)``."""
    return _draw("uniform", (low, high), shape, dtype, kw.get("device", ctx), out)


def normal(
    loc: float | ndarray = 0,
    scale: float | ndarray = 1,
    shape: Size | None = None,
    dtype: DTypeLike = None,
    ctx: DeviceLike = None,
    out: ndarray | None = None,
    **kw: Any,
) -> NDArray:
    """Return the normal distribution."""
    return _draw("normal", (loc, scale), shape, dtype, kw.get("device", ctx), out)


def randn(
    *shape: int,
    loc: float | ndarray = 0,
    scale: float | ndarray = 1,
    dtype: DTypeLike = None,
    ctx: DeviceLike = None,
    **kw: Any,
) -> NDArray:
    """Return the normal distribution, the shape given as arguments."""
    return normal(loc, scale, shape, dtype, kw.get("device", ctx), kw.get("out"))


def gamma(
    alpha: float | ndarray = 1,
    beta: float | ndarray = 1,
    shape: Size | None = None,
    dtype: DTypeLike = None,
    ctx: DeviceLike = None,
    out: ndarray | None = None,
    **kw: Any,
) -> NDArray:
    """Return the gamma distribution of shape parameter `alpha` and scale `beta`."""
    return _draw("gamma", (alpha, beta), shape, dtype, kw.get("device", ctx), out)


def exponential(
    scale: float | ndarray = 1,
    shape: Size | None = None,
    dtype: DTypeLike = None,
    ctx: DeviceLike = None,
    out: ndarray | None = None,
    **kw: Any,
) -> NDArray:
    """Return the exponential distribution of mean `scale`."""
    return _draw("exponential", (1.0 / scale,), shape, dtype, kw.get("device", ctx), out)


def poisson(
    lam: float | ndarray = 1,
    shape: Size | None = None,
    dtype: DTypeLike = None,
    ctx: DeviceLike = None,
    out: ndarray | None = None,
    **kw: Any,
) -> NDArray:
    """Return the Poisson distribution of rate `lam`, as floats."""
    return _draw("poisson", (lam,), shape, dtype, kw.get("device", ctx), out)


def binomial(
    n: float | ndarray = 1,
    p: float | ndarray = 0.5,
    shape: Size | None = None,
    dtype: DTypeLike = None,
    ctx: DeviceLike = None,
    out: ndarray | None = None,
    **kw: Any,
) -> NDArray:
    """Sample the number of successes in `n` trials."""
    return _draw("binomial", (n, p), shape, dtype, kw.get("device", ctx), out)


def negative_binomial(
    k: float | ndarray = 1,
    p: float | ndarray = 1,
    shape: Size | None = None,
    dtype: DTypeLike = None,
    ctx: DeviceLike = None,
    out: ndarray | None = None,
    **kw: Any,
) -> NDArray:
    """Sample the number of failures before the `k`-th success."""
    return _draw("negative_binomial", (k, p), shape, dtype, kw.get("device", ctx), out)


def generalized_negative_binomial(
    mu: float | ndarray = 1,
    alpha: float | ndarray = 1,
    shape: Size | None = None,
    dtype: DTypeLike = None,
    ctx: DeviceLike = None,
    out: ndarray | None = None,
    **kw: Any,
) -> NDArray:
    """Return the negative binomial distribution of mean `mu` and dispersion `alpha`."""
    return _draw("generalized_negative_binomial", (mu, alpha), shape, dtype, kw.get("device", ctx), out)


def multinomial(
    data: NDArray | None = None,
    shape: Any = None,
    get_prob: bool = False,
    out: ndarray | None = None,
    dtype: DTypeLike = "int32",
    **kw: Any,
) -> Any:
    """Class numbers by the probabilities in the last axis of `data`.

    As in MXNet 2, ``multinomial(n, p)`` with an array for `p` gives the counts of the classes in `n` trials.
    """
    p = kw.pop("p", shape if isinstance(shape, Handle) else None)
    if p is not None:
        from gluonx.npx import random as counts

        drawn = counts.multinomial(kw.pop("n", data), p, kw.get("size"), dtype="float32" if dtype == "int32" else dtype)
        return write_out(as_nd(drawn), out)
    given = {"shape": () if shape is None else shape, "get_prob": get_prob, "dtype": dtype}
    result = TABLE["_sample_multinomial"](data, **given)
    return write_out(as_nd(list(result) if isinstance(result, tuple) else result), out)


categorical = multinomial


def randint(
    low: int,
    high: int,
    shape: Size | None = None,
    dtype: DTypeLike = None,
    ctx: DeviceLike = None,
    out: ndarray | None = None,
    **kw: Any,
) -> NDArray:
    """Whole numbers from `low` to below `high`."""
    shape = out.shape if shape is None and out is not None else shape
    given = {"low": low, "high": high, "shape": shape, "dtype": dtype}
    result = TABLE["_random_randint"](**given)
    return write_out(as_nd(result if ctx is None else result.to_device(ctx)), out)


def shuffle(data: ndarray, **kwargs: Any) -> NDArray:
    """Return the rows in random order."""
    return write_out(as_nd(TABLE["_shuffle"](data)), kwargs.get("out"))


def __getattr__(name: str) -> Any:
    found = globals()[name] = lookup(name, "random")
    return found


__all__ = ["seed", *written(globals())]  # noqa: PLE0604
