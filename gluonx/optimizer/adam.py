"""Optimizers with bias-corrected moving averages of gradient and squared gradient: Adam and its variants."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import jax.numpy as jnp
import numpy as np

from gluonx.ops.updates import adam_step, average, belief_step, bias_correction, moments
from gluonx.optimizer.optimizer import Optimizer, declared, register
from gluonx.optimizer.rules import clipped, decayed, preprocess, zeros_like_weight

if TYPE_CHECKING:
    import jax

    from gluonx.optimizer.rules import At


__all__ = ["AdaBelief", "Adam", "AdamW", "Adamax", "Nadam"]


@declared
class _Moments(Optimizer):
    """A base of optimizers with the two averages ``mean`` and ``var``."""

    state_names = ("mean", "var")

    learning_rate: float | None = 0.001
    beta1: float = 0.9
    beta2: float = 0.999
    epsilon: float = 1e-8


def _corrected(at: At, betas: tuple[float, float]) -> jax.Array:
    """Return the learning rate with both bias corrections, as in MXNet (epsilon is not corrected)."""
    return at.lr * (jnp.sqrt(bias_correction(betas[1], at.t)) / bias_correction(betas[0], at.t))


@register
@declared
class Adam(_Moments):
    """Adam. The weight decay is added to the gradient after clipping; epsilon is added to the root.

    Parameters
    ----------
    learning_rate : float
        Step size.
    beta1, beta2 : float
        Decay of the averages of the gradient and of its square.
    epsilon : float
        Added to the root of the second average.
    lazy_update : bool
        Whether a gradient by rows (``grad_stype='row_sparse'``) updates only these rows of weight and averages.
    **kwargs
        See `Optimizer`.

    Examples
    --------
    >>> from gluonx import np, optimizer
    >>> weight = np.array([[1.0, -1.0]])
    >>> update = optimizer.get_updater(optimizer.Adam(learning_rate=0.1))
    >>> update(0, np.array([[0.5, 0.5]]), weight)
    >>> weight.asnumpy().round(3)
    array([[ 0.9, -1.1]], dtype=float32)
    """

    lazy_update: bool = False
    use_fused_step: bool = True

    def _updates_lazily(self) -> bool:
        return self.lazy_update

    @classmethod
    def formula(cls, settings, weight, grad, leaves, at):
        """Divide the average gradient by the root of the average square."""
        betas, epsilon, clip = (settings.beta1, settings.beta2), settings.epsilon, settings.clip_gradient
        grad = preprocess(weight, grad, at.wd, clip)
        return adam_step(grad, leaves, -_corrected(at, betas), betas, epsilon)


@register
@declared
class AdamW(_Moments):
    """Adam with decoupled weight decay: ``w -= lr * (mean / (sqrt(var) + epsilon) + wd * w)``.

    Parameters
    ----------
    learning_rate : float
        Step size.
    beta1, beta2 : float
        Decay of the averages of the gradient and of its square.
    epsilon : float
        Added to the root of the second average.
    correct_bias : bool
        Correct the averages for their start at zero. As in MXNet the correction multiplies the weight decay too.
    **kwargs
        See `Optimizer`. With ``use_fused_step=False`` the decay is taken from the weight after its Adam step.

    Examples
    --------
    >>> from gluonx import np, optimizer
    >>> weight = np.array([[1.0, -1.0]])
    >>> update = optimizer.get_updater(optimizer.AdamW(learning_rate=0.1))
    >>> update(0, np.array([[0.5, 0.5]]), weight)
    >>> weight.asnumpy().round(3)
    array([[ 0.9, -1.1]], dtype=float32)
    """

    epsilon: float = 1e-6
    correct_bias: bool = True
    rates_at_once = guards = True
    use_fused_step: bool = True

    @classmethod
    def formula(cls, settings, weight, grad, leaves, at):
        """Take Adam's step and add the decay."""
        betas, epsilon, clip = (settings.beta1, settings.beta2), settings.epsilon, settings.clip_gradient
        correct_bias, decay_first = settings.correct_bias, settings.use_fused_step
        lr = _corrected(at, betas) if correct_bias else at.lr
        change, new = adam_step(clipped(grad, clip), leaves, -lr, betas, epsilon)
        return decayed(change, at.wd, weight if decay_first else weight + change, -lr), new


@register
@declared
class AdaBelief(_Moments):
    """Adam whose second average is that of the squared distance between the gradient and its average.

    Parameters
    ----------
    learning_rate : float
        Step size.
    beta1, beta2 : float
        Decay of the two averages.
    epsilon : float
        Added to the second average and to its root.
    correct_bias : bool
        Correct the averages for their start at zero.
    **kwargs
        See `Optimizer`. The weight decay joins the gradient before clipping.

    Examples
    --------
    >>> from gluonx import np, optimizer
    >>> weight = np.array([[1.0, -1.0]])
    >>> update = optimizer.get_updater(optimizer.AdaBelief(learning_rate=0.1))
    >>> update(0, np.array([[0.5, 0.5]]), weight)
    >>> weight.asnumpy().round(3)
    array([[ 0.889, -1.111]], dtype=float32)
    """

    epsilon: float = 1e-6
    correct_bias: bool = True
    rates_at_once = guards = True
    use_fused_step: bool = True

    @classmethod
    def formula(cls, settings, weight, grad, leaves, at):
        """Take Adam's step, with the distance from the average."""
        betas, epsilon, clip = (settings.beta1, settings.beta2), settings.epsilon, settings.clip_gradient
        lr = _corrected(at, betas) if settings.correct_bias else at.lr
        return belief_step(clipped(decayed(grad, at.wd, weight), clip), leaves, -lr, betas, epsilon)


@register
@declared
class Adamax(_Moments):
    """Adam with a decaying maximum instead of the second average.

    Parameters
    ----------
    learning_rate : float
        Step size.
    beta1, beta2 : float
        Decay of the average and of the maximum.
    epsilon : float
        Added to the maximum.
    **kwargs
        See `Optimizer`.

    Examples
    --------
    >>> from gluonx import np, optimizer
    >>> weight = np.array([[1.0, -1.0]])
    >>> update = optimizer.get_updater(optimizer.Adamax(learning_rate=0.1))
    >>> update(0, np.array([[0.5, 0.5]]), weight)
    >>> weight.asnumpy().round(3)
    array([[ 0.9, -1.1]], dtype=float32)
    """

    learning_rate: float | None = 0.002
    use_fused_step: bool = False

    @classmethod
    def formula(cls, settings, weight, grad, leaves, at):
        """Divide the average gradient by a maximum that decays."""
        beta1, beta2, epsilon, clip = settings.beta1, settings.beta2, settings.epsilon, settings.clip_gradient
        grad = preprocess(weight, grad, at.wd, clip)
        mean = average(leaves[0], grad, beta1)
        var = jnp.maximum(beta2 * leaves[1], jnp.abs(grad))
        return -(at.lr / bias_correction(beta1, at.t)) * mean / (var + epsilon), (mean, var)


@register
@declared
class Nadam(_Moments):
    """Adam with Nesterov momentum and a momentum schedule.

    Each parameter has its own product of the schedule. (MXNet updates a common product for each *parameter*, so that
    its steps depend on the number of parameters; with a single parameter the numbers are the same.)

    Parameters
    ----------
    learning_rate : float
        Step size.
    beta1, beta2 : float
        Decay of the two averages.
    epsilon : float
        Added to the root of the second average.
    schedule_decay : float
        How fast the momentum schedule moves.
    **kwargs
        See `Optimizer`.

    Examples
    --------
    >>> from gluonx import np, optimizer
    >>> weight = np.array([[1.0, -1.0]])
    >>> update = optimizer.get_updater(optimizer.Nadam(learning_rate=0.1))
    >>> update(0, np.array([[0.5, 0.5]]), weight)
    >>> weight.asnumpy().round(3)
    array([[ 0.894, -1.106]], dtype=float32)
    """

    by_element = False  # each parameter has its own schedule
    state_names = ("mean", "var", "schedule")

    schedule_decay: float = 0.004
    use_fused_step: bool = False

    def _states(self) -> dict[str, Any]:
        like = zeros_like_weight()
        return {"mean": like, "var": like, "schedule": lambda weight: np.ones((), np.float32)}

    @classmethod
    def formula(cls, settings, weight, grad, leaves, at):
        """Take Adam's step from the point to which the momentum leads."""
        beta1, beta2, epsilon, clip = settings.beta1, settings.beta2, settings.epsilon, settings.clip_gradient
        decay = settings.schedule_decay

        def momentum(t):
            return beta1 * (1.0 - 0.5 * jnp.exp2(np.log2(0.96) * decay * t))

        grad = preprocess(weight, grad, at.wd, clip)
        now, after = momentum(at.t), momentum(at.t + 1.0)
        schedule = leaves[2] * now
        mean, var = moments(grad, leaves[:2], (beta1, beta2))
        ahead = after * mean / (1.0 - schedule * after) + (1.0 - now) * grad / (1.0 - schedule)
        root = jnp.sqrt(var / bias_correction(beta2, at.t)) + epsilon
        return -at.lr * ahead / root, (mean, var, schedule)
