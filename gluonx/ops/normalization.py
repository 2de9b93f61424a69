"""Normalizations: batch, layer, group, instance and root-mean-square.

All of them compute in float32 where the data is narrower, and return the data's type. Statistics are taken in one pass
over the data, shifted by one of its own elements so that a large mean does not eat the digits of a small variance.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import jax.numpy as jnp
from jax import Array, lax

from gluonx.errors import ShapeError
from gluonx.ops.common import axis_of, channels, float_dtype, narrow, vector_rule, wide
from gluonx.ops.registry import register

__all__ = ["batch_norm", "group_norm", "instance_norm", "layer_norm", "lrn", "rms_norm"]


def _moments(x: Array, axes: Sequence[int]) -> tuple[Array, Array]:
    """Mean and (biased) variance over `axes`, which stay with length 1."""
    axes = tuple(axes)
    if 0 in (x.shape[a] for a in axes):
        return jnp.mean(x, axes, keepdims=True), jnp.var(x, axes, keepdims=True)
    shift = x
    for axis in axes:
        shift = lax.slice_in_dim(shift, 0, 1, 1, axis)
    shift = lax.stop_gradient(shift)
    d = x - shift
    offset = jnp.mean(d, axes, keepdims=True)
    variance = jnp.mean(d * d, axes, keepdims=True) - offset * offset
    return offset + shift, jnp.maximum(variance, 0)


def _check_vector(name: str, what: str, vector: Array, length: int, x: Array, axis: int) -> None:
    if vector.shape != (length,):
        raise ShapeError(
            f"{name}: {what} has shape {vector.shape}, but axis {axis} of data of shape {x.shape} needs ({length},)."
        )


def _moved(old: Array, new: Array, momentum: float) -> Array:
    """The moving average `old` after one more value."""
    return narrow(momentum * wide(old) + (1 - momentum) * lax.stop_gradient(new).reshape(-1), old.dtype)


def _outputs(attrs: Mapping[str, Any]) -> int:
    if attrs["output_mean_var"]:
        return 5
    return 3 if attrs["training"] else 1


@register(level=1, aliases=("BatchNorm",), mode=True, infer=vector_rule(), nout=_outputs, n_live=1)
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
    """Batch normalization, as a pure function: when training, the moving statistics come out anew.

    Parameters
    ----------
    x : array
        Any shape; `axis` is that of the channels.
    gamma, beta, running_mean, running_var : arrays, shape (channels,)
    momentum : float
        How much of the old moving statistics stays.
    fix_gamma : bool
        Take `gamma` as 1 (its gradient is 0).
    use_global_stats : bool
        Normalize by the moving statistics also when training, and leave them as they are.
    output_mean_var : bool
        Also return the mean and the inverse standard deviation that were used.
    training : bool
        Whether to normalize by the statistics of the batch.

    Returns
    -------
    array or tuple of arrays
        When training, the result, the new moving mean and the new moving variance; else the result. With
        `output_mean_var` always five: the three, the mean and the inverse standard deviation.
    """
    axis = axis_of(axis, x.ndim, "batch_norm")
    for what, vector in {
        "gamma": gamma,
        "beta": beta,
        "running_mean": running_mean,
        "running_var": running_var,
    }.items():
        _check_vector("batch_norm", what, vector, x.shape[axis], x, axis)
    y = wide(x)
    if training and not use_global_stats:
        mean, var = _moments(y, [i for i in range(x.ndim) if i != axis])
        moving = [_moved(old, new, momentum) for old, new in ((running_mean, mean), (running_var, var))]
    else:
        mean, var = (channels(wide(v), x.ndim, axis) for v in (running_mean, running_var))
        moving = [running_mean, running_var]
    inverse = lax.rsqrt(var + eps)
    scale = inverse if fix_gamma else inverse * channels(wide(gamma), x.ndim, axis)
    out = narrow((y - mean) * scale + channels(wide(beta), x.ndim, axis), float_dtype(x))
    if not output_mean_var:
        return (out, *moving) if training else out
    return out, *moving, mean.reshape(-1), inverse.reshape(-1)


def _affine(x: Array, mean: Array, var: Array, eps: float, gamma: Array, beta: Array, dtype: Any) -> Array:
    return narrow((x - mean) * lax.rsqrt(var + eps) * gamma + beta, dtype)


@register(level=1, aliases=("LayerNorm",), infer=vector_rule(), nout=lambda attrs: 3 if attrs["output_mean_var"] else 1)
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
    """
    axis = axis_of(axis, x.ndim, "layer_norm")
    for what, vector in (("gamma", gamma), ("beta", beta)):
        _check_vector("layer_norm", what, vector, x.shape[axis], x, axis)
    y = wide(x)
    mean, var = _moments(y, (axis,))
    scale, shift = (channels(wide(v), x.ndim, axis) for v in (gamma, beta))
    out = _affine(y, mean, var, eps, scale, shift, float_dtype(x))
    if not output_mean_var:
        return out
    return out, *(narrow(v, float_dtype(x)) for v in (mean, jnp.sqrt(var + eps)))


@register(
    level=2, aliases=("GroupNorm",), infer=vector_rule(1), nout=lambda attrs: 3 if attrs["output_mean_var"] else 1
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
        Divides the number of channels.
    output_mean_var : bool
        Also return the means and the standard deviations, of shape (batch, num_groups).

    Raises
    ------
    ShapeError
        If the channels cannot be divided so.
    """
    if x.ndim < 2 or x.shape[1] % num_groups:
        raise ShapeError(
            f"group_norm: the channels (axis 1) of data of shape {x.shape} do not make {num_groups} groups."
        )
    for what, vector in (("gamma", gamma), ("beta", beta)):
        _check_vector("group_norm", what, vector, x.shape[1], x, 1)
    y = wide(x).reshape(x.shape[0], num_groups, -1, *x.shape[2:])
    mean, var = _moments(y, range(2, y.ndim))
    scale, shift = (wide(v).reshape(1, num_groups, -1, *[1] * (x.ndim - 2)) for v in (gamma, beta))
    out = _affine(y, mean, var, eps, scale, shift, float_dtype(x)).reshape(x.shape)
    if not output_mean_var:
        return out
    return out, *(narrow(v, float_dtype(x)).reshape(x.shape[0], num_groups) for v in (mean, jnp.sqrt(var + eps)))


@register(level=2, aliases=("InstanceNorm",), infer=vector_rule(1))
def instance_norm(x: Array, gamma: Array, beta: Array, *, eps: float = 1e-3) -> Array:
    """Normalize each channel (axis 1) of each sample over its places."""
    if x.ndim < 2:
        raise ShapeError(f"instance_norm: data needs batch and channels in front, but has shape {x.shape}.")
    for what, vector in (("gamma", gamma), ("beta", beta)):
        _check_vector("instance_norm", what, vector, x.shape[1], x, 1)
    y = wide(x)
    mean, var = _moments(y, range(2, x.ndim))
    scale, shift = (channels(wide(v), x.ndim, 1) for v in (gamma, beta))
    return _affine(y, mean, var, eps, scale, shift, float_dtype(x))


@register(level=1, aliases=("RMSNorm",), infer=vector_rule())
def rms_norm(x: Array, gamma: Array, *, axis: int = -1, eps: float = 1e-6) -> Array:
    """Divide each vector along `axis` by its root mean square, then scale by `gamma`."""
    axis = axis_of(axis, x.ndim, "rms_norm")
    _check_vector("rms_norm", "gamma", gamma, x.shape[axis], x, axis)
    y = wide(x)
    inverse = lax.rsqrt(jnp.mean(y * y, axis, keepdims=True) + eps)
    return narrow(y * inverse * channels(wide(gamma), x.ndim, axis), float_dtype(x))


@register(level=2, aliases=("LRN",))
def lrn(x: Array, *, nsize: int, alpha: float = 1e-4, beta: float = 0.75, knorm: float = 2.0) -> Array:
    """Local response normalization: divide by a power of the mean square of `nsize` neighbouring channels.

    Raises
    ------
    ValueError
        If `nsize` is even.
    """
    if nsize % 2 == 0:
        raise ValueError(f"lrn: nsize is {nsize}, but must be odd.")
    y = wide(x)
    half = nsize // 2
    squares = jnp.pad(y * y, [(half, half) if i == 1 else (0, 0) for i in range(x.ndim)])
    total = sum(lax.slice_in_dim(squares, i, i + x.shape[1], 1, 1) for i in range(nsize))
    return narrow(y * (knorm + alpha / nsize * total) ** -beta, float_dtype(x))
