"""Optimizers that scale the step of a whole weight by its norm, for large batches: LAMB, LANS, LARS."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import jax.numpy as jnp

from gluonx.ops.updates import lamb_direction, moments
from gluonx.optimizer.adam import _Moments
from gluonx.optimizer.momentum import _Momentum
from gluonx.optimizer.optimizer import declared, register
from gluonx.optimizer.rules import clipped, decayed, preprocess, wide, zeros_like_weight

if TYPE_CHECKING:
    import jax


__all__ = ["LAMB", "LANS", "LARS"]


def _ratio(over: jax.Array, under: jax.Array) -> jax.Array:
    """Return the quotient of two norms; 1 if either is 0 or the quotient is NaN."""
    usable = (over > 0) & (under > 0)
    return jnp.where(usable, over / jnp.where(usable, under, 1.0), 1.0)


@declared
class _Trusted(_Moments):
    """A base with Adam's averages and steps as long as the weight's norm, between two bounds."""

    epsilon: float = 1e-6
    lower_bound: float | None = None
    upper_bound: float | None = None

    def _states(self) -> dict[str, Any]:
        return dict.fromkeys(self.state_names, lambda w: zeros_like_weight(wide(w.dtype))(w))

    @staticmethod
    def _length(settings, weight, at):
        """Return the norm of the weight, clipped to the bounds."""
        length = at.norm(weight)
        low, high = settings.lower_bound, settings.upper_bound
        length = jnp.maximum(length, low) if low is not None and low > 0 else length
        return jnp.minimum(length, high) if high is not None and high > 0 else length


@register
@declared
class LAMB(_Trusted):
    """Layer-wise adaptive moments: Adam's direction, decay included, scaled to the norm of the weight.

    Parameters
    ----------
    learning_rate : float
        Step size.
    beta1, beta2 : float
        Decay of the two averages.
    epsilon : float
        Added to the root of the second average.
    lower_bound, upper_bound : float, optional
        Bounds of the weight's norm. None, 0 and negative numbers are none.
    bias_correction : bool
        Correct the averages for their start at zero.
    **kwargs
        See `Optimizer`.

    Examples
    --------
    >>> from gluonx import np, optimizer
    >>> weight = np.array([[1.0, -1.0]])
    >>> update = optimizer.get_updater(optimizer.LAMB(learning_rate=0.1))
    >>> update(0, np.array([[0.5, 0.5]]), weight)
    >>> weight.asnumpy().round(3)
    array([[ 0.9, -1.1]], dtype=float32)
    """

    bias_correction: bool = True
    aggregate_num: int = 4
    rates_at_once = True
    use_fused_step: bool = True

    @classmethod
    def formula(cls, settings, weight, grad, leaves, at):
        """Scale Adam's direction to the norm of the weight."""
        betas, epsilon, clip = (settings.beta1, settings.beta2), settings.epsilon, settings.clip_gradient
        new = moments(clipped(grad, clip), leaves, betas)
        way, _ = lamb_direction(new, at.t if settings.bias_correction else None, betas, epsilon)
        way = decayed(way, at.wd, weight)
        return -at.lr * _ratio(cls._length(settings, weight, at), at.norm(way)) * way, new


@register
@declared
class LANS(_Trusted):
    """LAMB with normalized gradients and Nesterov momentum: a sum of two scaled directions.

    Parameters
    ----------
    learning_rate : float
        Step size.
    beta1, beta2 : float
        Decay of the two averages.
    epsilon : float
        Added to the root of the second average.
    lower_bound, upper_bound : float, optional
        Bounds of the weight's norm. None, 0 and negative numbers are none.
    **kwargs
        See `Optimizer`. With ``use_fused_step=False`` the second direction starts from the weight after the first.

    Examples
    --------
    >>> from gluonx import np, optimizer
    >>> weight = np.array([[1.0, -1.0]])
    >>> update = optimizer.get_updater(optimizer.LANS(learning_rate=0.1))
    >>> update(0, np.array([[0.5, 0.5]]), weight)
    >>> weight.asnumpy().round(3)
    array([[ 0.9, -1.1]], dtype=float32)
    """

    aggregate_num: int = 4
    rates_at_once = True
    use_fused_step: bool = True

    @classmethod
    def formula(cls, settings, weight, grad, leaves, at):
        """Add the scaled directions of the average and of the gradient."""
        betas, epsilon, clip = (settings.beta1, settings.beta2), settings.epsilon, settings.clip_gradient
        together = settings.use_fused_step
        length = at.norm(grad)
        grad = clipped(grad / jnp.where(length > 0, length, 1.0), clip)
        new = moments(grad, leaves, betas)
        way, root = lamb_direction(new, at.t, betas, epsilon)
        size = cls._length(settings, weight, at)
        way = decayed(way, at.wd, weight)
        change = -at.lr * betas[0] * _ratio(size, at.norm(way)) * way
        way = decayed(grad / root, at.wd, weight if together else weight + change)
        return change - at.lr * (1.0 - betas[0]) * _ratio(size, at.norm(way)) * way, new


@register
@declared
class LARS(_Momentum):
    """Layer-wise adaptive rate scaling of SGD.

    Parameters
    ----------
    learning_rate : float
        Step size.
    momentum : float
        Share of the last change that is kept.
    eta : float
        Trust coefficient.
    epsilon : float
        Added to the norms under the fraction.
    lazy_update : bool
        Accepted for compatibility and ignored; gradients are dense.
    **kwargs
        See `Optimizer`. Parameters whose name in ``param_idx2name`` ends in gamma, beta or bias are not scaled.

    Examples
    --------
    >>> from gluonx import np, optimizer
    >>> weight = np.array([[1.0, -1.0]])
    >>> update = optimizer.get_updater(optimizer.LARS(learning_rate=0.1))
    >>> update(0, np.array([[0.5, 0.5]]), weight)
    >>> weight.round(3).tolist()
    [[1.0, -1.0]]
    """

    by_index = True
    derived_names = ("unscaled",)

    eta: float = 0.001
    epsilon: float = 1e-8
    lazy_update: bool = False
    rates_at_once = True
    use_fused_step: bool = True
    aggregate_num: int = 1

    @property
    def unscaled(self) -> frozenset[Any]:
        """The indices of the parameters that are not scaled, by their names."""
        return frozenset(i for i, name in self.idx2name.items() if name.endswith(("gamma", "beta", "bias")))

    @classmethod
    def formula(cls, settings, weight, grad, leaves, at):
        """Take SGD's step with the weight's own rate."""
        rate = at.lr * cls._scale(settings, weight, grad, at)
        change = -rate * preprocess(weight, grad, at.wd, settings.clip_gradient)
        if leaves:
            change = settings.momentum * leaves[0] + change
        return change, (change,) * len(leaves)

    @staticmethod
    def _scale(settings, weight, grad, at):
        plain = [i in settings.unscaled for i in (at.index if at.layout is not None else (at.index,))]
        if all(plain):
            return 1.0
        over, under = at.norm(weight), at.norm(grad)
        scale = settings.eta * over / (under + at.wd * over + settings.epsilon)
        scale = jnp.where((over > 0) & (under > 0), scale, 1.0)
        if at.layout is not None and any(plain):
            scale = jnp.where(at.layout.spread(plain), 1.0, scale)
        return scale
