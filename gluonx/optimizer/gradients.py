"""Gradients that are averaged over steps, or clipped by their common norm, before an optimizer's rule gets them.

The state of such a rule is the sums, the count, and the optimizer's own states. A step that only adds to the sums runs
the same program as one that updates.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import jax
import jax.numpy as jnp

from gluonx.optimizer.rules import Rule

if TYPE_CHECKING:
    import optax

__all__ = ["Gradients", "Sums", "altered"]

Tree = TypeVar("Tree")  # a pytree of arrays


class Sums(NamedTuple):
    """The state of a rule that averages gradients: the steps since the last update, the sums, the inner states."""

    count: Any
    sums: Any
    inner: Any


class Gradients(NamedTuple):
    """Settings: how gradients are averaged over steps and clipped before a rule gets them.

    Parameters
    ----------
    accumulate : int
        The number of steps for one update, which uses the mean of their gradients.
    clip_norm : float, optional
        If the common norm of the gradients is larger, all of them are scaled down to it.
    """

    accumulate: int = 1
    clip_norm: float | None = None


def altered(inner: Rule | optax.GradientTransformationExtraArgs, gradients: Gradients) -> Rule:
    """Return a rule that passes to `inner` the mean gradients of several steps, clipped."""
    accumulate, clip_norm = gradients

    @functools.wraps(inner.init)  # with what is noted of the rule
    def init(params: optax.Params) -> object:
        if accumulate == 1:
            return inner.init(params)
        sums = jax.tree.map(lambda w: jnp.zeros(w.shape, jnp.promote_types(w.dtype, jnp.float32)), params)
        return Sums(jnp.zeros((), jnp.int32), sums, inner.init(params))

    def update(
        grads: optax.Updates,
        state: Any,
        params: optax.Params | None = None,
        *,
        t: Any,
        rescale: jax.Array | float,
        **more: Any,
    ) -> tuple[Any, Any]:
        grads = jax.tree.map(lambda g: g * rescale, grads)
        if "value" in more:  # the loss is scaled like its gradient
            more["value"] *= rescale
        if "value_fn" in more:
            loss = more["value_fn"]
            more["value_fn"] = lambda moving: loss(moving) * rescale
        if accumulate == 1:
            return inner.update(_clipped(grads, clip_norm), state, params, t=t, rescale=1.0, **more)
        count = state.count + 1
        sums = jax.tree.map(lambda s, g: s + g.astype(s.dtype), state.sums, grads)

        def change() -> tuple[Any, Any, Any]:
            means = jax.tree.map(lambda s, g: (s / accumulate).astype(g.dtype), sums, grads)
            # With integers, because XLA turns a division of floats into a product with the reciprocal.
            updates = (-(-t.astype(jnp.int32) // accumulate)).astype(t.dtype)
            changes, after = inner.update(
                _clipped(means, clip_norm), state.inner, params, t=updates, rescale=1.0, **more
            )
            return changes, after, jax.tree.map(jnp.zeros_like, sums)

        def wait() -> tuple[Any, Any, Any]:
            return jax.tree.map(lambda x: jnp.zeros(x.shape, x.dtype), jax.eval_shape(change)[0]), state.inner, sums

        changes, after, sums = jax.lax.cond(count == accumulate, change, wait)
        return changes, Sums(count % accumulate, sums, after)

    return Rule(init, update)


def _clipped(grads: Tree, norm: float | None) -> Tree:
    """Return gradients, scaled down together if their common norm is above `norm`."""
    if norm is None:
        return grads
    squares = [jnp.sum(jnp.square(g.astype(jnp.promote_types(g.dtype, jnp.float32)))) for g in jax.tree.leaves(grads)]
    factor = jnp.minimum(1.0, norm / (jnp.sqrt(sum(squares, jnp.float32(0))) + 1e-6))
    return jax.tree.map(lambda g: (g * factor).astype(g.dtype), grads)
