"""Normalizations: batch, layer, group, instance and root-mean-square.

All of them compute narrower data in float32, and return the data's type. The variance is computed around the mean, so
that a large mean does not cancel the digits of a small variance.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import jax.numpy as jnp
from jax import Array, lax

from gluonx.errors import ShapeError
from gluonx.ops.common import axis_of, channels, float_dtype, narrow, vector_rule, wide
from gluonx.ops.cpu.channels_last import channels_last
from gluonx.ops.cpu.convolution import on_gpu
from gluonx.ops.cpu.materialized import difference, materialized
from gluonx.ops.registry import SAME, Front, register

if TYPE_CHECKING:
    from gluonx.dtype import DTypeLike


class _Centered(NamedTuple):
    """Data minus an approximate mean.

    `rest` is the mean of what remains: 0, but the gradient of the mean flows through it.

    So the gradient needs two sums over the data instead of three: of the incoming gradient, and of that times `values`.
    Both are exact for derivatives of any order, since nothing here depends on how near `values` is to the center.
    """

    values: Array
    rest: Array
    mean: Array
    variance: Array


def _centered(x: Array, axes: Sequence[int], over: str | None = None, once: bool = False) -> _Centered:
    """Return `x` around its mean over `axes`, which the mean and the (biased) variance keep with length 1.

    With `over` the mean is also over that axis of a mesh, whose devices have equally many elements each. With `once` a
    CPU stores ``x - mean`` for the gradient and no longer `x`, and a GPU reads `x` once for mean and variance. In place
    of the mean a GPU takes that of the elements in the middle of each image, a few of all: it is no farther from the
    mean than the elements are, so that hardly a digit is lost.
    """

    def mean_of(y: Array) -> Array:
        here = jnp.mean(y, tuple(axes), keepdims=True)
        return here if over is None else lax.pmean(here, over)

    def around_mean(x: Array) -> _Centered:
        mean = mean_of(x)
        centre = lax.stop_gradient(mean)
        values, rest = difference(x, centre) if once else x - centre, mean - centre
        return _Centered(values, rest, mean, mean_of(values * values) - rest * rest)

    def around_some(x: Array) -> _Centered:
        # Not one element of the batch, whose axis may be split over devices: XLA would send all of it.
        middle = [slice(n // 2, n // 2 + 1) if i and i in axes else slice(None) for i, n in enumerate(x.shape)]
        # With the barrier XLA does not sum them again for each element of `x`, which makes it keep all of `values`.
        centre = lax.optimization_barrier(lax.stop_gradient(mean_of(x[tuple(middle)])))
        values = x - centre
        rest = mean_of(values)
        return _Centered(values, rest, centre + rest, mean_of(values * values) - rest * rest)

    x = materialized(x)  # the mean, the variance and the result read it
    return on_gpu(around_some, around_mean, x) if once and x.ndim > 2 else around_mean(x)


def _check_vectors(name: str, x: Array, axis: int, **vectors: Array) -> None:
    for what, vector in vectors.items():
        if vector.shape != (x.shape[axis],):
            raise ShapeError(
                f"{name}: {what} has shape {vector.shape}, but axis {axis} of data of shape {x.shape} needs "
                f"({x.shape[axis]},)."
            )


def _moved(old: Array, new: Array, momentum: float) -> Array:
    """Return the moving average `old` after one more value."""
    return narrow(momentum * wide(old) + (1 - momentum) * lax.stop_gradient(new).reshape(-1), old.dtype)


def _outputs(attrs: Mapping[str, Any]) -> int:
    if attrs["output_mean_var"]:
        return 5
    return 3 if attrs["training"] else 1


def _scaled(data: _Centered, gamma: Array | None, beta: Array, eps: float, axis: int) -> tuple[Array, Array]:
    """Return the normalized data, and the inverse standard deviation."""
    inverse = lax.rsqrt(data.variance + eps)
    ndim = data.values.ndim
    scale = inverse if gamma is None else inverse * channels(wide(gamma), ndim, axis)
    return data.values * scale + (channels(wide(beta), ndim, axis) - data.rest * scale), inverse


@register(
    aliases=("BatchNorm",),
    mode=True,
    infer=vector_rule(),
    nout=_outputs,
    n_live=1,
    moving=("eps", "momentum"),
    channels_last="axis",
    shape="as the first input; then, if asked, mean and deviation",
    gradient="through `x`, `gamma`, `beta`; of the first output only",
    stands_for="`stablehlo.batch_norm_training`, `batch_norm_inference`",
)
def batch_norm(
    x: Array,
    gamma: Array,
    beta: Array,
    running_mean: Array,
    running_var: Array,
    *,
    eps: float = 1e-3,
    momentum: float = 0.9,
    fix_gamma: bool = True,
    use_global_stats: bool = False,
    output_mean_var: bool = False,
    axis: int = 1,
    training: bool | None = None,
) -> Array | tuple[Array, ...]:
    """Batch normalization, as a pure function: when training, it returns the new moving statistics, too.

    Parameters
    ----------
    x : array
        Any shape; `axis` is that of the channels.
    gamma, beta, running_mean, running_var : arrays, shape (channels,)
    momentum : float
        The weight of the old value in a moving statistic.
    fix_gamma : bool
        Whether `gamma` counts as 1, with gradient 0.
    use_global_stats : bool
        Whether to normalize by the moving statistics also when training; they are not changed then.
    output_mean_var : bool
        Whether to return also the mean and the inverse standard deviation that were used.
    training : bool
        Whether to normalize by the statistics of the batch.

    Returns
    -------
    array or tuple of arrays
        When training, the result, the new moving mean and the new moving variance; else the result. With
        `output_mean_var` always five: the three, the mean and the inverse standard deviation.

    Examples
    --------
    >>> from gluonx import np, npx
    >>> npx.batch_norm(
    ...     np.array([[1.0], [3.0]]), np.ones(1), np.zeros(1), np.zeros(1), np.ones(1)
    ... ).tolist()
    [[0.9995], [2.999]]
    """
    vectors = (gamma, beta, running_mean, running_var)
    results = _batch_norm(x, *vectors, eps, momentum, fix_gamma, training and not use_global_stats, axis)
    if output_mean_var:
        return results
    return results[:3] if training else results[0]


def batch_norm_over(
    over: str,
    x: Array,
    gamma: Array,
    beta: Array,
    running_mean: Array,
    running_var: Array,
    *,
    eps: float,
    momentum: float,
    fix_gamma: bool,
    axis: int,
    output_mean_var: bool = False,
) -> tuple[Array, ...]:
    """Return `batch_norm` in training, with the statistics over all devices along a mesh's axis `over`.

    It runs under ``jax.shard_map``. The parts have the same size, so the mean of their means is the mean of all.

    Returns
    -------
    tuple of arrays
        The result, the new moving mean and the new moving variance; with `output_mean_var` the mean and the inverse
        standard deviation too. All but the first are the same on each device.
    """
    results = _batch_norm(x, gamma, beta, running_mean, running_var, eps, momentum, fix_gamma, True, axis, over)
    return results if output_mean_var else results[:3]


def _batch_norm(
    x: Array,
    gamma: Array,
    beta: Array,
    running_mean: Array,
    running_var: Array,
    eps: float,
    momentum: float,
    fix_gamma: bool,
    of_batch: bool | None,
    axis: int,
    over: str | None = None,
) -> tuple[Array, ...]:
    """Return the result, the moving statistics, and the mean and inverse deviation (`of_batch`, or the moving ones)."""
    axis = axis_of(axis, x.ndim, "batch_norm")
    _check_vectors("batch_norm", x, axis, gamma=gamma, beta=beta, running_mean=running_mean, running_var=running_var)

    def normalize(x: Array, axis: int) -> tuple[Array, ...]:
        y = wide(x)
        if of_batch:
            data = _centered(y, [i for i in range(x.ndim) if i != axis], over, once=True)
            moving = [_moved(running_mean, data.mean, momentum), _moved(running_var, data.variance, momentum)]
        else:
            mean, var = (channels(wide(v), x.ndim, axis) for v in (running_mean, running_var))
            data = _Centered(y - mean, jnp.zeros_like(mean), mean, var)
            moving = [running_mean, running_var]
        out, inverse = _scaled(data, None if fix_gamma else gamma, beta, eps, axis)
        return narrow(out, float_dtype(x)), *moving, data.mean.reshape(-1), inverse.reshape(-1)

    return channels_last(normalize, (x,), axis)


def _affine(data: _Centered, eps: float, gamma: Array, beta: Array, dtype: DTypeLike) -> Array:
    inverse = lax.rsqrt(data.variance + eps)
    return narrow((data.values * inverse - data.rest * inverse) * gamma + beta, dtype)


@register(
    aliases=("LayerNorm",),
    infer=vector_rule(),
    nout=lambda attrs: 3 if attrs["output_mean_var"] else 1,
    moving=("eps",),
    amp="float32",
    npx=Front(unset="axis eps output_mean_var"),
    shape="as the first input; then, if asked, mean and deviation",
)
def layer_norm(
    x: Array, gamma: Array, beta: Array, *, axis: int = -1, eps: float = 1e-5, output_mean_var: bool = False
) -> Array | tuple[Array, ...]:
    """Normalize each vector along `axis` to mean 0 and variance 1, then scale by `gamma` and shift by `beta`.

    Parameters
    ----------
    x : array
        Any shape.
    gamma, beta : arrays, shape (x.shape[axis],)
    output_mean_var : bool
        Also return the means and the standard deviations, with length 1 along `axis`.

    Examples
    --------
    >>> from gluonx import np, npx
    >>> npx.layer_norm(np.array([[1.0, 3.0]]), np.ones(2), np.zeros(2)).tolist()
    [[-1.0, 1.0]]
    """
    axis = axis_of(axis, x.ndim, "layer_norm")
    _check_vectors("layer_norm", x, axis, gamma=gamma, beta=beta)
    y = wide(x)
    data = _centered(y, (axis,))
    scale, shift = (channels(wide(v), x.ndim, axis) for v in (gamma, beta))
    out = _affine(data, eps, scale, shift, float_dtype(x))
    if not output_mean_var:
        return out
    return out, *(narrow(v, float_dtype(x)) for v in (data.mean, jnp.sqrt(data.variance + eps)))


@register(
    aliases=("GroupNorm",),
    infer=vector_rule(1),
    nout=lambda attrs: 3 if attrs["output_mean_var"] else 1,
    moving=("eps",),
    amp="float32",
    npx=Front(order="x gamma beta num_groups eps=0.001 output_mean_var"),
    shape="as the first input; then, if asked, mean and deviation",
)
def group_norm(
    x: Array, gamma: Array, beta: Array, *, num_groups: int = 1, eps: float = 1e-5, output_mean_var: bool = False
) -> Array | tuple[Array, ...]:
    """Normalize each sample over groups of channels.

    Parameters
    ----------
    x : array, shape (batch, channels, ...)
    gamma, beta : arrays, shape (channels,)
    num_groups : int
        A divisor of the number of channels.
    output_mean_var : bool
        Also return the means and the standard deviations, of shape (batch, num_groups).

    Raises
    ------
    ShapeError
        If the channels cannot be divided so.

    Examples
    --------
    >>> from gluonx import np, npx
    >>> npx.group_norm(np.array([[1.0, 3.0]]), np.ones(2), np.zeros(2), num_groups=1).tolist()
    [[-0.9995, 0.9995]]
    """
    if x.ndim < 2 or x.shape[1] % num_groups:
        raise ShapeError(
            f"group_norm: the channels (axis 1) of data of shape {x.shape} do not make {num_groups} groups."
        )
    _check_vectors("group_norm", x, 1, gamma=gamma, beta=beta)
    y = wide(x).reshape(x.shape[0], num_groups, x.shape[1] // num_groups, *x.shape[2:])
    data = _centered(y, range(2, y.ndim))
    scale, shift = (wide(v).reshape(1, num_groups, -1, *[1] * (x.ndim - 2)) for v in (gamma, beta))
    out = _affine(data, eps, scale, shift, float_dtype(x)).reshape(x.shape)
    if not output_mean_var:
        return out
    stats = (data.mean, jnp.sqrt(data.variance + eps))
    return out, *(narrow(v, float_dtype(x)).reshape(x.shape[0], num_groups) for v in stats)


@register(aliases=("InstanceNorm",), infer=vector_rule(1), moving=("eps",), amp="float32", shape=SAME)
def instance_norm(x: Array, gamma: Array, beta: Array, *, eps: float = 1e-3) -> Array:
    """Normalize each channel (axis 1) of each sample over its positions.

    Examples
    --------
    >>> from gluonx import np, npx
    >>> npx.instance_norm(np.array([[[1.0, 3.0]]]), np.ones(1), np.zeros(1)).tolist()
    [[[-0.9995, 0.9995]]]
    """
    if x.ndim < 2:
        raise ShapeError(f"instance_norm: data needs batch and channels in front, but has shape {x.shape}.")
    _check_vectors("instance_norm", x, 1, gamma=gamma, beta=beta)
    y = wide(x)
    data = _centered(y, range(2, x.ndim))
    scale, shift = (channels(wide(v), x.ndim, 1) for v in (gamma, beta))
    return _affine(data, eps, scale, shift, float_dtype(x))


@register(aliases=("RMSNorm",), infer=vector_rule(), moving=("eps",), amp="float32", shape=SAME)
def rms_norm(x: Array, gamma: Array, *, axis: int = -1, eps: float = 1e-6) -> Array:
    """Divide each vector along `axis` by its root mean square, then scale by `gamma`.

    Examples
    --------
    >>> from gluonx import np, npx
    >>> npx.rms_norm(np.array([[3.0, 4.0]]), np.ones(2)).tolist()
    [[0.8485, 1.131]]
    """
    axis = axis_of(axis, x.ndim, "rms_norm")
    _check_vectors("rms_norm", x, axis, gamma=gamma)
    y = wide(x)
    inverse = lax.rsqrt(jnp.mean(y * y, axis, keepdims=True) + eps)
    return narrow(y * inverse * channels(wide(gamma), x.ndim, axis), float_dtype(x))


@register(aliases=("LRN",), moving=("alpha", "beta", "knorm"), amp="float32", shape=SAME, gives="float")
def lrn(x: Array, *, nsize: int, alpha: float = 1e-4, beta: float = 0.75, knorm: float = 2.0) -> Array:
    """Local response normalization: divide by a power of the mean square of `nsize` neighbouring channels.

    Parameters
    ----------
    nsize
        The number of neighbouring channels, odd.
    alpha
        The factor of the mean square.
    beta
        The exponent.
    knorm
        The number to which the mean square is added.

    Raises
    ------
    ValueError
        If `nsize` is even.

    Examples
    --------
    >>> from gluonx import np, npx
    >>> npx.lrn(np.ones((1, 3, 1, 1)), nsize=3).shape
    (1, 3, 1, 1)
    """
    if nsize % 2 == 0:
        raise ValueError(f"lrn: nsize is {nsize}, but must be odd.")
    y = wide(x)
    half = nsize // 2
    squares = jnp.pad(y * y, [(half, half) if i == 1 else (0, 0) for i in range(x.ndim)])
    total = sum(lax.slice_in_dim(squares, i, i + x.shape[1], 1, 1) for i in range(nsize))
    return narrow(y * (knorm + alpha / nsize * total) ** -beta, float_dtype(x))
