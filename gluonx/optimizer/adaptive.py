"""Optimizers that scale each weight's step by its past gradients: AdaGrad, RMSProp, AdaDelta, FTML, Ftrl."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import jax.numpy as jnp
import numpy as np

from gluonx.ops.updates import average, centered_step, ftml_step, ftrl_solution, rms_step
from gluonx.optimizer.optimizer import Optimizer, declared, register
from gluonx.optimizer.rules import clipped, preprocess, wide, zeros_like_weight

if TYPE_CHECKING:
    from gluonx.deferred.values.contracts import Shaped


__all__ = ["FTML", "AdaDelta", "AdaGrad", "Ftrl", "GroupAdaGrad", "RMSProp"]


def _wide_zeros(weight: Shaped) -> np.ndarray:
    """Return zeros in float32 at least, because sums of squares overflow or stop growing in narrower types."""
    return zeros_like_weight(wide(weight.dtype))(weight)


class _Wide(Optimizer):
    """A base of optimizers whose states are never narrower than float32."""

    def _states(self) -> dict[str, Any]:
        return dict.fromkeys(self.state_names, _wide_zeros)


@register
@declared
class AdaGrad(_Wide):
    """AdaGrad: the step shrinks with the sum of all squared gradients.

    A gradient by rows (``grad_stype='row_sparse'``) updates only these rows.

    Parameters
    ----------
    learning_rate : float
        Step size.
    epsilon : float
        Added to the root of the sum.
    **kwargs
        See `Optimizer`.

    Examples
    --------
    >>> from gluonx import np, optimizer
    >>> weight = np.array([[1.0, -1.0]])
    >>> update = optimizer.get_updater(optimizer.AdaGrad(learning_rate=0.1))
    >>> update(0, np.array([[0.5, 0.5]]), weight)
    >>> weight.asnumpy().round(3)
    array([[ 0.9, -1.1]], dtype=float32)
    """

    state_names = ("history",)

    learning_rate: float | None = 0.01
    epsilon: float = 1e-6
    use_fused_step: bool = True

    def _updates_lazily(self) -> bool:
        return True

    @classmethod
    def formula(cls, settings, weight, grad, leaves, at):
        """Divide by the root of the sum of squares."""
        epsilon, clip = settings.epsilon, settings.clip_gradient
        grad = preprocess(weight, grad, at.wd, clip)
        history = leaves[0] + jnp.square(grad)
        return -at.lr * grad / (jnp.sqrt(history) + epsilon), (history,)


@register
@declared
class GroupAdaGrad(AdaGrad):
    """AdaGrad with one sum for each row of a weight, mostly of an embedding; it has no weight decay.

    Parameters
    ----------
    learning_rate : float
        Step size.
    epsilon : float
        Added to the root of the sum.
    **kwargs
        See `Optimizer`.

    Raises
    ------
    ValueError
        If a weight decay is given.

    Examples
    --------
    >>> from gluonx import np, optimizer
    >>> weight = np.array([[1.0, -1.0]])
    >>> update = optimizer.get_updater(optimizer.GroupAdaGrad(learning_rate=0.1))
    >>> update(0, np.array([[0.5, 0.5]]), weight)
    >>> weight.asnumpy().round(3)
    array([[ 0.9, -1.1]], dtype=float32)
    """

    by_element = False  # each row has one sum

    def __post_init__(self) -> None:
        if self.wd:
            raise ValueError(f"GroupAdaGrad has no weight decay, but wd={self.wd} was given.")

    def _states(self) -> dict[str, Any]:
        return {"history": lambda w: np.zeros((w.shape[0],) + (1,) * (len(w.shape) - 1), wide(w.dtype))}

    @classmethod
    def formula(cls, settings, weight, grad, leaves, at):
        """Divide each row by the root of its sum of squares."""
        epsilon, clip = settings.epsilon, settings.clip_gradient
        grad = clipped(grad, clip)
        axes = tuple(range(1, grad.ndim))
        history = leaves[0] + jnp.mean(jnp.square(grad), axis=axes, keepdims=True)
        return -at.lr * grad / (jnp.sqrt(history) + epsilon), (history,)


@register
@declared
class RMSProp(_Wide):
    """RMSProp, plain (Tieleman and Hinton) or centered (Graves).

    Parameters
    ----------
    learning_rate : float
        Step size.
    rho : float
        Decay of the averages.
    momentum : float
        Share of the last change that is kept; only if centered.
    epsilon : float
        Added to the root of the average; under the root if centered.
    centered : bool
        Divide by the standard deviation instead of the root mean square.
    clip_weights : float, optional
        Keep the weights in ``[-clip_weights, clip_weights]``. None, 0 and negative numbers do not clip.
    **kwargs
        See `Optimizer`.

    Examples
    --------
    >>> from gluonx import np, optimizer
    >>> weight = np.array([[1.0, -1.0]])
    >>> update = optimizer.get_updater(optimizer.RMSProp(learning_rate=0.1))
    >>> update(0, np.array([[0.5, 0.5]]), weight)
    >>> weight.asnumpy().round(3)
    array([[ 0.684, -1.316]], dtype=float32)
    """

    learning_rate: float | None = 0.001
    rho: float = 0.9
    momentum: float = 0.9
    epsilon: float = 1e-8
    centered: bool = False
    clip_weights: float | None = None
    use_fused_step: bool = True

    _plain = staticmethod(rms_step)  # MXNet 1's has epsilon under the root

    @property
    def state_names(self) -> tuple[str, ...]:  # type: ignore[override]
        """The names of the states of a weight."""
        return ("mean", "var", "momentum") if self.centered else ("var",)

    @classmethod
    def formula(cls, settings, weight, grad, leaves, at):
        """Divide by the root mean square, or by the standard deviation."""
        rho, epsilon, bound = settings.rho, settings.epsilon, settings.clip_weights
        grad = preprocess(weight, grad, at.wd, settings.clip_gradient)
        if settings.centered:
            change, new = centered_step(grad, leaves, at.lr, rho, settings.momentum, epsilon)
        else:
            change, new = cls._plain(grad, leaves, -at.lr, rho, epsilon)
        if bound is not None and bound > 0:
            change = jnp.clip(weight + change, -bound, bound) - weight
        return change, new


@register
@declared
class AdaDelta(_Wide):
    """AdaDelta: steps scaled by the root mean square of former steps.

    Parameters
    ----------
    learning_rate : float
        Factor of the step.
    rho : float
        Decay of the averages.
    epsilon : float
        Added under both roots.
    **kwargs
        See `Optimizer`.

    Examples
    --------
    >>> from gluonx import np, optimizer
    >>> weight = np.array([[1.0, -1.0]])
    >>> update = optimizer.get_updater(optimizer.AdaDelta(learning_rate=0.1))
    >>> update(0, np.array([[0.5, 0.5]]), weight)
    >>> weight.round(3).tolist()
    [[1.0, -1.0]]
    """

    state_names = ("mean_square_grad", "mean_square_change")

    learning_rate: float | None = 1.0
    rho: float = 0.9
    epsilon: float = 1e-6
    use_fused_step: bool = False

    @classmethod
    def formula(cls, settings, weight, grad, leaves, at):
        """Scale by the ratio of former changes to former gradients."""
        rho, epsilon, clip = settings.rho, settings.epsilon, settings.clip_gradient
        grad = preprocess(weight, grad, at.wd, clip)
        of_grad = average(leaves[0], jnp.square(grad), rho)
        change = jnp.sqrt(leaves[1] + epsilon) / jnp.sqrt(of_grad + epsilon) * grad
        of_change = average(leaves[1], jnp.square(change), rho)
        return -at.lr * change, (of_grad, of_change)


@register
@declared
class FTML(Optimizer):
    """Follow the moving leader.

    Parameters
    ----------
    learning_rate : float
        Step size.
    beta1, beta2 : float
        Decay of the averages.
    epsilon : float
        Added to the root of the second average.
    **kwargs
        See `Optimizer`.

    Examples
    --------
    >>> from gluonx import np, optimizer
    >>> weight = np.array([[1.0, -1.0]])
    >>> update = optimizer.get_updater(optimizer.FTML(learning_rate=0.1))
    >>> update(0, np.array([[0.5, 0.5]]), weight)
    >>> weight.asnumpy().round(3)
    array([[ 0.9, -1.1]], dtype=float32)
    """

    state_names = ("d", "v", "z")

    learning_rate: float | None = 0.0025
    beta1: float = 0.6
    beta2: float = 0.999
    epsilon: float = 1e-8
    use_fused_step: bool = True

    @classmethod
    def formula(cls, settings, weight, grad, leaves, at):
        """Follow the minimum of moving quadratic bounds."""
        betas, epsilon, clip = (settings.beta1, settings.beta2), settings.epsilon, settings.clip_gradient
        grad = preprocess(weight, grad, at.wd, clip)
        leader, new = ftml_step(weight, grad, leaves, at.lr, at.t, betas, epsilon)
        return leader - weight, new


@register
@declared
class Ftrl(_Wide):
    """Follow the regularized leader: weights become sparse by an L1 penalty.

    A gradient by rows (``grad_stype='row_sparse'``) updates only these rows.

    Parameters
    ----------
    learning_rate : float
        Step size.
    lamda1 : float
        Weight of the L1 penalty.
    beta : float
        Smoothing of the per-weight rate.
    **kwargs
        See `Optimizer`; ``wd`` is the L2 penalty.

    Examples
    --------
    >>> from gluonx import np, optimizer
    >>> weight = np.array([[1.0, -1.0]])
    >>> update = optimizer.get_updater(optimizer.Ftrl(learning_rate=0.1))
    >>> update(0, np.array([[0.5, 0.5]]), weight)
    >>> weight.asnumpy().round(3)
    array([[ 0.299, -0.366]], dtype=float32)
    """

    state_names = ("z", "n")

    learning_rate: float | None = 0.1
    lamda1: float = 0.01
    beta: float = 1.0
    use_fused_step: bool = True

    def _updates_lazily(self) -> bool:
        return True

    @classmethod
    def formula(cls, settings, weight, grad, leaves, at):
        """Solve for the weight with both penalties."""
        lamda1, beta, clip = settings.lamda1, settings.beta, settings.clip_gradient
        grad = clipped(grad, clip)
        n = leaves[1] + jnp.square(grad)
        z = leaves[0] + grad - (jnp.sqrt(n) - jnp.sqrt(leaves[1])) / at.lr * weight
        return ftrl_solution(z, n, at.lr, lamda1, beta, at.wd) - weight, (z, n)
