"""Optimizers that scale each weight's step by its past gradients: AdaGrad, RMSProp, AdaDelta, FTML, Ftrl."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import numpy as np

from gluonx.ops.updates import average, bias_correction
from gluonx.optimizer.optimizer import Optimizer, complete, register
from gluonx.optimizer.rules import Step, clipped, preprocess, wide, zeros_like_weight

__all__ = ["FTML", "AdaDelta", "AdaGrad", "Ftrl", "GroupAdaGrad", "RMSProp"]


def _wide_zeros(weight: Any) -> Any:
    """Zeros in float32 at least: sums of squares overflow or stall in narrower types."""
    return zeros_like_weight(wide(weight.dtype))(weight)


class _Wide(Optimizer):
    """Optimizers whose states are never narrower than float32."""

    def _states(self) -> dict[str, Any]:
        return dict.fromkeys(self.state_names, _wide_zeros)


@complete
@register
class AdaGrad(_Wide):
    """AdaGrad: the step shrinks with the sum of all squared gradients.

    A gradient by rows (``grad_stype='row_sparse'``) updates these rows alone.

    Parameters
    ----------
    learning_rate : float
        Step size.
    epsilon : float
        Added to the root of the sum.
    **kwargs
        See `Optimizer`.
    """

    state_names = ("history",)
    setting_names = ("epsilon",)

    def __init__(
        self, learning_rate: float | None = 0.01, epsilon: float = 1e-6, use_fused_step: bool = True, **kwargs: Any
    ) -> None:
        super().__init__(learning_rate=learning_rate, use_fused_step=use_fused_step, **kwargs)
        self.epsilon = epsilon

    def _updates_lazily(self) -> bool:
        return True

    def _formula(self) -> Step:
        epsilon, clip = self.epsilon, self.clip_gradient

        def step(weight, grad, leaves, at):
            grad = preprocess(weight, grad, at.wd, clip)
            history = leaves[0] + jnp.square(grad)
            return -at.lr * grad / (jnp.sqrt(history) + epsilon), (history,)

        return step


@complete
@register
class GroupAdaGrad(AdaGrad):
    """AdaGrad with one sum for each row of a weight (of embeddings, mostly); there is no weight decay.

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
    """

    by_element = False  # one history a row

    def __init__(
        self, learning_rate: float | None = 0.01, epsilon: float = 1e-6, use_fused_step: bool = True, **kwargs: Any
    ) -> None:
        super().__init__(learning_rate=learning_rate, epsilon=epsilon, use_fused_step=use_fused_step, **kwargs)
        if self.wd:
            raise ValueError(f"GroupAdaGrad has no weight decay, but wd={self.wd} was given.")

    def _states(self) -> dict[str, Any]:
        return {"history": lambda w: np.zeros((w.shape[0],) + (1,) * (len(w.shape) - 1), wide(w.dtype))}

    def _formula(self) -> Step:
        epsilon, clip = self.epsilon, self.clip_gradient

        def step(weight, grad, leaves, at):
            grad = clipped(grad, clip)
            axes = tuple(range(1, grad.ndim))
            history = leaves[0] + jnp.mean(jnp.square(grad), axis=axes, keepdims=True)
            return -at.lr * grad / (jnp.sqrt(history) + epsilon), (history,)

        return step


@complete
@register
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
        Divide by the deviation in place of the root mean square.
    clip_weights : float, optional
        Keep the weights in ``[-clip_weights, clip_weights]``.
    **kwargs
        See `Optimizer`.
    """

    setting_names = ("rho", "momentum", "epsilon", "centered", "clip_weights")

    def __init__(
        self,
        learning_rate: float | None = 0.001,
        rho: float = 0.9,
        momentum: float = 0.9,
        epsilon: float = 1e-8,
        centered: bool = False,
        clip_weights: float | None = None,
        use_fused_step: bool = True,
        **kwargs: Any,
    ) -> None:
        super().__init__(learning_rate=learning_rate, use_fused_step=use_fused_step, **kwargs)
        self.rho = rho
        self.momentum = momentum
        self.epsilon = epsilon
        self.centered = centered
        self.clip_weights = clip_weights

    @property
    def state_names(self) -> tuple[str, ...]:  # type: ignore[override]
        """Names of the states of a weight."""
        return ("mean", "var", "momentum") if self.centered else ("var",)

    def _formula(self) -> Step:
        change = self._centered() if self.centered else self._plain()
        clip, bound = self.clip_gradient, self.clip_weights

        def step(weight, grad, leaves, at):
            delta, new = change(preprocess(weight, grad, at.wd, clip), leaves, at)
            if bound:
                delta = jnp.clip(weight + delta, -bound, bound) - weight
            return delta, new

        return step

    def _plain(self) -> Any:
        rho, epsilon = self.rho, self.epsilon

        def change(grad, leaves, at):
            var = average(leaves[0], jnp.square(grad), rho)
            return -at.lr * grad / (jnp.sqrt(var) + epsilon), (var,)

        return change

    def _centered(self) -> Any:
        rho, epsilon, momentum = self.rho, self.epsilon, self.momentum

        def change(grad, leaves, at):
            mean = average(leaves[0], grad, rho)
            var = average(leaves[1], jnp.square(grad), rho)
            delta = momentum * leaves[2] - at.lr * grad / jnp.sqrt(var - jnp.square(mean) + epsilon)
            return delta, (mean, var, delta)

        return change


@complete
@register
class AdaDelta(_Wide):
    """AdaDelta: steps measured by the root mean square of former steps.

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
    """

    state_names = ("mean_square_grad", "mean_square_change")
    setting_names = ("rho", "epsilon")

    def __init__(
        self,
        learning_rate: float | None = 1.0,
        rho: float = 0.9,
        epsilon: float = 1e-6,
        use_fused_step: bool = False,
        **kwargs: Any,
    ) -> None:
        super().__init__(learning_rate=learning_rate, use_fused_step=use_fused_step, **kwargs)
        self.rho = rho
        self.epsilon = epsilon

    def _formula(self) -> Step:
        rho, epsilon, clip = self.rho, self.epsilon, self.clip_gradient

        def step(weight, grad, leaves, at):
            grad = preprocess(weight, grad, at.wd, clip)
            of_grad = average(leaves[0], jnp.square(grad), rho)
            change = jnp.sqrt(leaves[1] + epsilon) / jnp.sqrt(of_grad + epsilon) * grad
            of_change = average(leaves[1], jnp.square(change), rho)
            return -at.lr * change, (of_grad, of_change)

        return step


@complete
@register
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
    """

    state_names = ("d", "v", "z")
    setting_names = ("beta1", "beta2", "epsilon")

    def __init__(
        self,
        learning_rate: float | None = 0.0025,
        beta1: float = 0.6,
        beta2: float = 0.999,
        epsilon: float = 1e-8,
        use_fused_step: bool = True,
        **kwargs: Any,
    ) -> None:
        super().__init__(learning_rate=learning_rate, use_fused_step=use_fused_step, **kwargs)
        self.beta1 = beta1
        self.beta2 = beta2
        self.epsilon = epsilon

    def _formula(self) -> Step:
        beta1, beta2, epsilon, clip = self.beta1, self.beta2, self.epsilon, self.clip_gradient

        def step(weight, grad, leaves, at):
            grad = preprocess(weight, grad, at.wd, clip)
            v = average(leaves[1], jnp.square(grad), beta2)
            root = jnp.sqrt(v / bias_correction(beta2, at.t)) + epsilon
            d = root * (bias_correction(beta1, at.t) / at.lr)
            z = average(leaves[2], grad, beta1) - (d - beta1 * leaves[0]) * weight
            return -z / d - weight, (d, v, z)

        return step


@complete
@register
class Ftrl(_Wide):
    """Follow the regularized leader: sparse weights by an L1 penalty.

    A gradient by rows (``grad_stype='row_sparse'``) updates these rows alone.

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
    """

    state_names = ("z", "n")
    setting_names = ("lamda1", "beta")

    def __init__(
        self,
        learning_rate: float | None = 0.1,
        lamda1: float = 0.01,
        beta: float = 1.0,
        use_fused_step: bool = True,
        **kwargs: Any,
    ) -> None:
        super().__init__(learning_rate=learning_rate, use_fused_step=use_fused_step, **kwargs)
        self.lamda1 = lamda1
        self.beta = beta

    def _updates_lazily(self) -> bool:
        return True

    def _formula(self) -> Step:
        lamda1, beta, clip = self.lamda1, self.beta, self.clip_gradient

        def step(weight, grad, leaves, at):
            grad = clipped(grad, clip)
            n = leaves[1] + jnp.square(grad)
            z = leaves[0] + grad - (jnp.sqrt(n) - jnp.sqrt(leaves[1])) / at.lr * weight
            shrunk = jnp.sign(z) * jnp.maximum(jnp.abs(z) - lamda1, 0.0)
            return -shrunk / ((beta + jnp.sqrt(n)) / at.lr + at.wd) - weight, (z, n)

        return step
