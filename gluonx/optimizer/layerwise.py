"""Optimizers that scale the step of a whole weight by its norm, for large batches: LAMB, LANS, LARS."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp

from gluonx.ops.updates import average, bias_correction
from gluonx.optimizer.adam import _Moments
from gluonx.optimizer.momentum import _Momentum
from gluonx.optimizer.optimizer import complete, register
from gluonx.optimizer.rules import Step, clipped, decayed, preprocess, wide, zeros_like_weight

__all__ = ["LAMB", "LANS", "LARS"]


def _ratio(over: Any, under: Any) -> Any:
    """Divide two norms; 1 where either is 0 or the quotient is not a number."""
    usable = (over > 0) & (under > 0)
    return jnp.where(usable, over / jnp.where(usable, under, 1.0), 1.0)


class _Trusted(_Moments):
    """Adam's averages, with a step as long as the weight's norm between two bounds."""

    setting_names = (*_Moments.setting_names, "lower_bound", "upper_bound")

    def __init__(self, *args: Any, lower_bound: float | None, upper_bound: float | None, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.lower_bound = lower_bound
        self.upper_bound = upper_bound

    def _states(self) -> dict[str, Any]:
        return dict.fromkeys(self.state_names, lambda w: zeros_like_weight(wide(w.dtype))(w))

    def _bounded_norm(self) -> Any:
        lower, upper = self.lower_bound, self.upper_bound

        def norm(weight, at):
            length = at.norm(weight)
            length = length if lower is None else jnp.maximum(length, lower)
            return length if upper is None else jnp.minimum(length, upper)

        return norm


@complete
@register
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
        Bounds of the weight's norm.
    bias_correction : bool
        Correct the averages for their start at zero.
    **kwargs
        See `Optimizer`.
    """

    setting_names = (*_Trusted.setting_names, "bias_correction")

    def __init__(
        self,
        learning_rate: float | None = 0.001,
        beta1: float = 0.9,
        beta2: float = 0.999,
        epsilon: float = 1e-6,
        lower_bound: float | None = None,
        upper_bound: float | None = None,
        bias_correction: bool = True,
        aggregate_num: int = 4,
        use_fused_step: bool = True,
        **kwargs: Any,
    ) -> None:
        super().__init__(
            learning_rate,
            beta1,
            beta2,
            epsilon,
            lower_bound=lower_bound,
            upper_bound=upper_bound,
            aggregate_num=aggregate_num,
            use_fused_step=use_fused_step,
            **kwargs,
        )
        self.bias_correction = bias_correction

    def _formula(self) -> Step:
        beta1, beta2, epsilon, clip = self.beta1, self.beta2, self.epsilon, self.clip_gradient
        norm, correct = self._bounded_norm(), self.bias_correction

        def step(weight, grad, leaves, at):
            grad = clipped(grad, clip)
            mean = average(leaves[0], grad, beta1)
            var = average(leaves[1], jnp.square(grad), beta2)
            first = bias_correction(beta1, at.t) if correct else 1.0
            second = bias_correction(beta2, at.t) if correct else 1.0
            way = decayed(mean / first / (jnp.sqrt(var / second) + epsilon), at.wd, weight)
            return -at.lr * _ratio(norm(weight, at), at.norm(way)) * way, (mean, var)

        return step


@complete
@register
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
        Bounds of the weight's norm.
    **kwargs
        See `Optimizer`. With ``use_fused_step=False`` the second direction starts from the weight after the first.
    """

    def __init__(
        self,
        learning_rate: float | None = 0.001,
        beta1: float = 0.9,
        beta2: float = 0.999,
        epsilon: float = 1e-6,
        lower_bound: float | None = None,
        upper_bound: float | None = None,
        aggregate_num: int = 4,
        use_fused_step: bool = True,
        **kwargs: Any,
    ) -> None:
        super().__init__(
            learning_rate,
            beta1,
            beta2,
            epsilon,
            lower_bound=lower_bound,
            upper_bound=upper_bound,
            aggregate_num=aggregate_num,
            use_fused_step=use_fused_step,
            **kwargs,
        )

    def _formula(self) -> Step:
        beta1, beta2, epsilon, clip = self.beta1, self.beta2, self.epsilon, self.clip_gradient
        norm, together = self._bounded_norm(), self.use_fused_step

        def step(weight, grad, leaves, at):
            length = at.norm(grad)
            grad = clipped(grad / jnp.where(length > 0, length, 1.0), clip)
            mean = average(leaves[0], grad, beta1)
            var = average(leaves[1], jnp.square(grad), beta2)
            root = jnp.sqrt(var / bias_correction(beta2, at.t)) + epsilon
            size = norm(weight, at)
            way = decayed(mean / bias_correction(beta1, at.t) / root, at.wd, weight)
            change = -at.lr * beta1 * _ratio(size, at.norm(way)) * way
            way = decayed(grad / root, at.wd, weight if together else weight + change)
            return change - at.lr * (1.0 - beta1) * _ratio(size, at.norm(way)) * way, (mean, var)

        return step


@complete
@register
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
        Taken for compatibility; gradients are dense.
    **kwargs
        See `Optimizer`. Parameters whose name in ``param_idx2name`` ends in gamma, beta or bias are not scaled.
    """

    setting_names = ("momentum", "eta", "epsilon")
    by_index = True

    def __init__(
        self,
        learning_rate: float | None = 0.1,
        momentum: float = 0.0,
        eta: float = 0.001,
        epsilon: float = 1e-8,
        lazy_update: bool = False,
        use_fused_step: bool = True,
        aggregate_num: int = 1,
        **kwargs: Any,
    ) -> None:
        super().__init__(
            learning_rate=learning_rate, use_fused_step=use_fused_step, aggregate_num=aggregate_num, **kwargs
        )
        self.momentum = momentum
        self.eta = eta
        self.epsilon = epsilon
        self.lazy_update = lazy_update

    def _unscaled(self) -> frozenset[Any]:
        return frozenset(i for i, name in self.idx2name.items() if name.endswith(("gamma", "beta", "bias")))

    def _settings(self) -> tuple[Any, ...]:
        return (*super()._settings(), self._unscaled())

    def _formula(self) -> Step:
        momentum, eta, epsilon, clip = self.momentum, self.eta, self.epsilon, self.clip_gradient
        unscaled = self._unscaled()

        def rate(weight, grad, at):
            plain = [i in unscaled for i in (at.index if at.layout is not None else (at.index,))]
            if all(plain):
                return at.lr
            over, under = at.norm(weight), at.norm(grad)
            scale = eta * over / (under + at.wd * over + epsilon)
            scale = jnp.where((over > 0) & (under > 0), scale, 1.0)
            if at.layout is not None and any(plain):
                scale = jnp.where(at.layout.spread(plain), 1.0, scale)
            return at.lr * scale

        def step(weight, grad, leaves, at):
            change = -rate(weight, grad, at) * preprocess(weight, grad, at.wd, clip)
            if leaves:
                change = momentum * leaves[0] + change
            return change, (change,) * len(leaves)

        return step
