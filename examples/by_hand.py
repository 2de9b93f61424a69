"""The other side of the comparison: layers and a train step in plain jax and optax.

This is what one writes without gluonx: parameters in a dict, pure functions, one ``jax.jit`` around forward, backward
and update, buffers donated. The demo and the benchmarks time it beside the Gluon loop, with the same mathematics:
cross entropy over the batch's mean, batch normalization with moving averages, dropout from the same kind of key.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import optax

__all__ = ["batch_norm", "conv", "cross_entropy", "dense", "dropout", "make_step", "max_pool"]

Params = dict[str, Any]
Forward = Callable[[Params, Params, jax.Array, jax.Array], tuple[jax.Array, Params]]


def dense(p: Params, x: jax.Array) -> jax.Array:
    """``x @ w.T + b`` over all but the first axis, with Gluon's (units, inputs) weight."""
    return x.reshape(x.shape[0], -1) @ p["weight"].T + p["bias"]


def conv(p: Params, x: jax.Array, stride: int = 1, pad: int = 1) -> jax.Array:
    """Return a two-dimensional convolution in NCHW, with a bias where `p` has one."""
    y = jax.lax.conv_general_dilated(
        x, p["weight"], (stride, stride), [(pad, pad)] * 2, dimension_numbers=("NCHW", "OIHW", "NCHW")
    )
    return y + p["bias"][:, None, None] if "bias" in p else y


def batch_norm(p: Params, state: Params, x: jax.Array, momentum: float = 0.9, eps: float = 1e-5) -> tuple[Any, Params]:
    """Normalize by the batch's statistics, taken in one pass as flax does; returns the output and the averages."""
    mean = x.mean((0, 2, 3))
    var = jnp.maximum(jnp.square(x).mean((0, 2, 3)) - jnp.square(mean), 0)
    scale = p["gamma"] * jax.lax.rsqrt(var + eps)
    y = (x - mean[:, None, None]) * scale[:, None, None] + p["beta"][:, None, None]
    moved = {
        "mean": momentum * state["mean"] + (1 - momentum) * jax.lax.stop_gradient(mean),
        "var": momentum * state["var"] + (1 - momentum) * jax.lax.stop_gradient(var),
    }
    return y, moved


def max_pool(x: jax.Array) -> jax.Array:
    """Maxima over 2 by 2 windows in NCHW.

    Of the ways to write it this is the fastest on a CPU, its gradient counted in: three to ten times as fast as
    ``lax.reduce_window``.
    """
    for axis in (2, 3):
        even, odd = (jax.lax.slice_in_dim(x, start, None, 2, axis) for start in (0, 1))
        x = jnp.where(even >= odd, even, odd)
    return x


def dropout(key: jax.Array, x: jax.Array, rate: float) -> jax.Array:
    """Zeroes a share of `rate` and scales the rest up."""
    keep = jax.random.bernoulli(key, 1 - rate, x.shape)
    return jnp.where(keep, x / (1 - rate), 0)


def cross_entropy(logits: jax.Array, labels: jax.Array) -> jax.Array:
    """Return the mean over the batch of the negative log probability of the labels."""
    picked = jnp.take_along_axis(jax.nn.log_softmax(logits), labels[:, None].astype(jnp.int32), axis=1)
    return -picked.mean()


def make_step(forward: Forward, optimizer: optax.GradientTransformation, seed: int = 0) -> Callable[..., Any]:
    """Return the jitted and donated train step.

    Parameters
    ----------
    forward : callable
        ``forward(params, state, key, x) -> (logits, state)``.
    optimizer : optax.GradientTransformation
    seed : int
        Of the keys that `forward` gets, one a step.

    Returns
    -------
    callable
        ``step(params, state, opt_state, index, x, y) -> (params, state, opt_state, loss)``; donates the first three.
    """
    root = jnp.array([0, seed], jnp.uint32)

    def objective(params: Params, state: Params, key: jax.Array, x: jax.Array, y: jax.Array) -> tuple[Any, Params]:
        logits, state = forward(params, state, key, x)
        return cross_entropy(logits, y), state

    def step(params: Params, state: Params, opt_state: Any, index: Any, x: jax.Array, y: jax.Array) -> tuple[Any, ...]:
        key = jax.random.fold_in(jax.random.wrap_key_data(root), index)
        (loss, state), grads = jax.value_and_grad(objective, has_aux=True)(params, state, key, x, y)
        updates, opt_state = optimizer.update(grads, opt_state, params)
        return optax.apply_updates(params, updates), state, opt_state, loss

    return jax.jit(step, donate_argnums=(0, 1, 2))
