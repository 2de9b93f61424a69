"""Optimizers that follow the gradient itself, with or without momentum: SGD, NAG, Signum, DCASGD, SGLD."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp

from gluonx.optimizer.optimizer import Optimizer, declared, register
from gluonx.optimizer.rules import preprocess, zeros_like_weight

__all__ = ["DCASGD", "NAG", "SGD", "SGLD", "Signum", "Test"]


@declared
class _Momentum(Optimizer):
    """Optimizers whose one state, the momentum, exists unless its factor is 0."""

    learning_rate: float | None = 0.1
    momentum: float = 0.0

    def _states(self) -> dict[str, Any]:
        return {"momentum": zeros_like_weight()} if self.momentum else {}

    @property
    def state_names(self) -> tuple[str, ...]:  # type: ignore[override]
        """Names of the states of a weight."""
        return tuple(self._states())


@register
@declared
class SGD(_Momentum):
    """Stochastic gradient descent with momentum: ``m = momentum * m - lr * (g + wd * w)``, ``w += m``.

    Parameters
    ----------
    learning_rate : float
        Step size.
    momentum : float
        Share of the last change that is kept; the learning rate is inside it, as in MXNet.
    lazy_update : bool
        Whether a gradient by rows (``grad_stype='row_sparse'``) updates these rows of weight and momentum alone.
    **kwargs
        See `Optimizer`.
    """

    lazy_update: bool = False
    multi_precision: bool = False
    rates_at_once = True
    use_fused_step: bool = True
    aggregate_num: int = 1

    def _updates_lazily(self) -> bool:
        return self.lazy_update

    @classmethod
    def formula(cls, settings, weight, grad, leaves, at):
        """Average the descent with what is left of the last change."""
        momentum, clip = settings.momentum, settings.clip_gradient
        change = -at.lr * preprocess(weight, grad, at.wd, clip)
        if leaves:
            change = momentum * leaves[0] + change
        return change, (change,) * len(leaves)


@register
@declared
class NAG(_Momentum):
    """Nesterov's accelerated gradient: SGD that looks one momentum step ahead.

    Parameters
    ----------
    learning_rate : float
        Step size.
    momentum : float
        Share of the last change that is kept.
    **kwargs
        See `Optimizer`.
    """

    momentum: float = 0.9
    multi_precision: bool = False
    use_fused_step: bool = True

    @classmethod
    def formula(cls, settings, weight, grad, leaves, at):
        """Go on by the new velocity before it is reached."""
        momentum, clip = settings.momentum, settings.clip_gradient
        descent = -at.lr * preprocess(weight, grad, at.wd, clip)
        if not leaves:
            return descent, ()
        velocity = momentum * leaves[0] + descent
        return momentum * velocity + descent, (velocity,)


@register
@declared
class Signum(_Momentum):
    """Step by the sign of the (averaged) gradient.

    Parameters
    ----------
    learning_rate : float
        Step size.
    momentum : float
        Factor of the moving average; 0 takes the sign of the gradient itself.
    wd_lh : float
        Weight decay that is decoupled from the gradient.
    **kwargs
        See `Optimizer`.
    """

    learning_rate: float | None = 0.01
    momentum: float = 0.9
    wd_lh: float = 0.0
    use_fused_step: bool = True

    @classmethod
    def formula(cls, settings, weight, grad, leaves, at):
        """Take the sign of the gradient, or of its average."""
        momentum, wd_lh, clip = settings.momentum, settings.wd_lh, settings.clip_gradient
        if not leaves:
            return -at.lr * ((at.wd + wd_lh) * weight + jnp.sign(grad)), ()
        grad = preprocess(weight, grad, at.wd, clip)
        mean = momentum * leaves[0] - (1.0 - momentum) * grad
        return at.lr * (jnp.sign(mean) - wd_lh * weight), (mean,)


@register
@declared
class DCASGD(_Momentum):
    """Delay-compensated SGD, for gradients that belong to older weights.

    Parameters
    ----------
    learning_rate : float
        Step size.
    momentum : float
        Share of the last change that is kept.
    lamda : float
        Weight of the compensation.
    **kwargs
        See `Optimizer`.
    """

    lamda: float = 0.04
    use_fused_step: bool = False

    def _states(self) -> dict[str, Any]:
        return {**super()._states(), "previous_weight": lambda weight: jnp.array(weight, copy=True)}

    @classmethod
    def formula(cls, settings, weight, grad, leaves, at):
        """Correct the gradient by how far the weight has moved since."""
        momentum, lamda, clip = settings.momentum, settings.lamda, settings.clip_gradient
        *velocity, previous = leaves
        grad = preprocess(weight, grad, at.wd, clip)
        change = -at.lr * (grad + lamda * grad * grad * (weight - previous))
        if velocity:
            change = momentum * velocity[0] + change
        return change, (*[change] * len(velocity), weight)


@register
@declared
class Test(Optimizer):
    """Plain gradient descent, for tests of what surrounds an optimizer: no momentum, no clipping.

    Its state is an array of zeros, which it leaves alone, as MXNet's does.
    """

    __test__ = False  # pytest, it is no test
    state_names = ("zeros",)

    def _states(self) -> dict[str, Any]:
        return {"zeros": zeros_like_weight()}

    @classmethod
    def formula(cls, settings, weight, grad, leaves, at):
        """Follow the gradient."""
        return -at.lr * (grad + at.wd * weight), leaves


@register
@declared
class SGLD(Optimizer):
    """Stochastic gradient Langevin dynamics: half a gradient step, and normal noise of variance ``lr``.

    The noise of every step is drawn from `gluonx.random`, as any random operator's: ``random.seed`` before a step
    decides it. There is no state.

    Parameters
    ----------
    learning_rate : float
        Step size, and the variance of the noise.
    **kwargs
        See `Optimizer`.
    """

    by_element = False  # one stream of noise a parameter
    draws = True

    learning_rate: float | None = 0.1
    use_fused_step: bool = False

    @classmethod
    def formula(cls, settings, weight, grad, leaves, at):
        """Go half a step down and add noise."""
        clip = settings.clip_gradient
        noise = jnp.sqrt(at.lr) * jax.random.normal(at.key, weight.shape, weight.dtype)
        return noise - 0.5 * at.lr * preprocess(weight, grad, at.wd, clip), leaves
