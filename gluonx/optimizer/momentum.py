"""Optimizers that follow the gradient itself or an average of it: SGD, NAG, Signum, Lion, Muon, DCASGD, SGLD."""

from __future__ import annotations

import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from gluonx.ops.updates import average, bias_correction
from gluonx.optimizer.optimizer import Optimizer, declared, register
from gluonx.optimizer.rules import clipped, decayed, preprocess, zeros_like_weight

__all__ = ["DCASGD", "Lion", "Muon", "NAG", "SGD", "SGLD", "Signum", "Test"]


@declared
class _Momentum(Optimizer):
    """A base of optimizers with one state, the momentum, which exists unless its factor is 0."""

    learning_rate: float | None = 0.1
    momentum: float = 0.0

    def _states(self) -> dict[str, Any]:
        return {"momentum": zeros_like_weight()} if self.momentum else {}

    @property
    def state_names(self) -> tuple[str, ...]:  # type: ignore[override]
        """The names of the states of a weight."""
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
        The part of the last change that is kept; as in MXNet that change includes the learning rate.
    lazy_update : bool
        Whether a gradient by rows (``grad_stype='row_sparse'``) updates only these rows of weight and momentum.
    **kwargs
        See `Optimizer`.

    Examples
    --------
    >>> from gluonx import np, optimizer
    >>> weight = np.array([[1.0, -1.0]])
    >>> update = optimizer.get_updater(optimizer.SGD(learning_rate=0.1))
    >>> update(0, np.array([[0.5, 0.5]]), weight)
    >>> weight.asnumpy().round(3)
    array([[ 0.95, -1.05]], dtype=float32)
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
        """Add the descent to the kept part of the last change."""
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

    Examples
    --------
    >>> from gluonx import np, optimizer
    >>> weight = np.array([[1.0, -1.0]])
    >>> update = optimizer.get_updater(optimizer.NAG(learning_rate=0.1))
    >>> update(0, np.array([[0.5, 0.5]]), weight)
    >>> weight.asnumpy().round(3)
    array([[ 0.905, -1.095]], dtype=float32)
    """

    momentum: float = 0.9
    multi_precision: bool = False
    use_fused_step: bool = True

    @classmethod
    def formula(cls, settings, weight, grad, leaves, at):
        """Step with the velocity that the next step will have."""
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

    Examples
    --------
    >>> from gluonx import np, optimizer
    >>> weight = np.array([[1.0, -1.0]])
    >>> update = optimizer.get_updater(optimizer.Signum(learning_rate=0.1))
    >>> update(0, np.array([[0.5, 0.5]]), weight)
    >>> weight.asnumpy().round(3)
    array([[ 0.9, -1.1]], dtype=float32)
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
    """DCASGD: delay-compensated SGD, for gradients that were computed with older weights.

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

    Examples
    --------
    >>> from gluonx import np, optimizer
    >>> weight = np.array([[1.0, -1.0]])
    >>> update = optimizer.get_updater(optimizer.DCASGD(learning_rate=0.1))
    >>> update(0, np.array([[0.5, 0.5]]), weight)
    >>> weight.asnumpy().round(3)
    array([[ 0.95, -1.05]], dtype=float32)
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
    """Plain gradient descent, for testing the code around an optimizer: no momentum, no clipping.

    Its state is an array of zeros, which it does not change, as in MXNet.

    Examples
    --------
    >>> from gluonx import np, optimizer
    >>> opt = optimizer.create("test", learning_rate=0.5)
    >>> weight, grad = np.array([1.0, 2.0]), np.array([1.0, 1.0])
    >>> opt.update([0], [weight], [grad], [opt.create_state(0, weight)])
    >>> weight.tolist()
    [0.5, 1.5]
    """

    __test__ = False  # tells pytest that this class is not a test
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

    The noise of every step is drawn from `gluonx.random`, like any random operator's, so ``random.seed`` determines it.
    There is no state.

    Parameters
    ----------
    learning_rate : float
        Step size, and the variance of the noise.
    **kwargs
        See `Optimizer`.

    Examples
    --------
    >>> from gluonx import np, optimizer
    >>> weight = np.array([[1.0, -1.0]])
    >>> update = optimizer.get_updater(optimizer.SGLD(learning_rate=0.1))
    >>> update(0, np.array([[0.5, 0.5]]), weight)
    >>> weight.shape
    (1, 2)
    """

    by_element = False  # each parameter has its own noise
    draws = True

    learning_rate: float | None = 0.1
    use_fused_step: bool = False

    @classmethod
    def formula(cls, settings, weight, grad, leaves, at):
        """Go half a step down and add noise."""
        clip = settings.clip_gradient
        noise = jnp.sqrt(at.lr) * jax.random.normal(at.key, weight.shape, weight.dtype)
        return noise - 0.5 * at.lr * preprocess(weight, grad, at.wd, clip), leaves


@register
@declared
class Lion(Optimizer):
    """Step by the sign of an average: ``w -= lr * (sign(beta1 * mean + (1 - beta1) * g) + wd * w)``.

    "Symbolic Discovery of Optimization Algorithms", https://arxiv.org/abs/2302.06675. Use rates some ten times smaller
    than Adam's, and decays as much larger.

    Parameters
    ----------
    learning_rate : float
        Step size.
    beta1, beta2 : float
        The weight of the old average in the step, and in the new average.
    **kwargs
        See `Optimizer`. The weight decay is decoupled from the gradient.

    Examples
    --------
    >>> from gluonx import np, optimizer
    >>> weight = np.array([[1.0, -1.0]])
    >>> update = optimizer.get_updater(optimizer.Lion(learning_rate=0.1))
    >>> update(0, np.array([[0.5, 0.5]]), weight)
    >>> weight.asnumpy().round(3)
    array([[ 0.9, -1.1]], dtype=float32)
    """

    state_names = ("mean",)

    learning_rate: float | None = 0.0001
    beta1: float = 0.9
    beta2: float = 0.99

    @classmethod
    def formula(cls, settings, weight, grad, leaves, at):
        """Step by the sign, then move the average."""
        grad = clipped(grad, settings.clip_gradient)
        change = -at.lr * jnp.sign(average(leaves[0], grad, settings.beta1))
        return decayed(change, at.wd, weight, -at.lr), (average(leaves[0], grad, settings.beta2),)


@register
@declared
class Muon(Optimizer):
    """Step by the orthogonalized average gradient of each matrix, and by Adam for all other parameters.

    Jordan et al. 2024, https://kellerjordan.github.io/posts/muon. Weights of convolutions are matrices with a row for
    each output channel. Embeddings and the last layer are better left to another optimizer: use two Trainers, each with
    its part of ``net.collect_params()``.

    Parameters
    ----------
    learning_rate : float
        Step size; that of a matrix is multiplied with ``sqrt(max(1, rows / columns))``.
    momentum : float
        The weight of the old average.
    iterations : int
        How many rounds of Newton and Schulz bring the singular values near 1.
    beta1, beta2, epsilon : float
        For the others: Adam with Nesterov's average.
    **kwargs
        See `Optimizer`. The weight decay is decoupled from the gradient.

    Examples
    --------
    >>> from gluonx import np, optimizer
    >>> weight = np.array([[1.0, -1.0]])
    >>> update = optimizer.get_updater(optimizer.Muon(learning_rate=0.1))
    >>> update(0, np.array([[0.5, 0.5]]), weight)
    >>> weight.asnumpy().round(3)
    array([[ 0.951, -1.049]], dtype=float32)
    """

    by_element = False  # it orthogonalizes whole matrices
    state_names = ("mean", "var")

    learning_rate: float | None = 0.02
    momentum: float = 0.95
    iterations: int = 5
    beta1: float = 0.9
    beta2: float = 0.999
    epsilon: float = 1e-8

    def _states(self) -> dict[str, Any]:
        like = zeros_like_weight()
        return {"mean": like, "var": lambda weight: like(weight) if weight.ndim < 2 else np.zeros((), np.float32)}

    @classmethod
    def formula(cls, settings, weight, grad, leaves, at):
        """Look ahead along the average; orthogonalize a matrix, or take Adam's step."""
        grad, beta = clipped(grad, settings.clip_gradient), settings.beta1 if grad.ndim < 2 else settings.momentum
        mean, var = average(leaves[0], grad, beta), leaves[1]
        ahead = beta * mean / bias_correction(beta, at.t + 1) + (1 - beta) * grad / bias_correction(beta, at.t)
        if grad.ndim < 2:
            var = average(var, jnp.square(grad), settings.beta2)
            step = ahead / (jnp.sqrt(var / bias_correction(settings.beta2, at.t)) + settings.epsilon)
        else:
            rows, columns = ahead.shape[0], math.prod(ahead.shape[1:])
            step = _orthogonal(ahead.reshape(rows, columns), int(settings.iterations)).reshape(ahead.shape)
            step = step * max(1.0, rows / max(1, columns)) ** 0.5
        return decayed(-at.lr * step, at.wd, weight, -at.lr), (mean, var)


def _orthogonal(matrix: jax.Array, iterations: int) -> jax.Array:
    """Return a matrix with the same singular vectors and singular values near 1, by Newton and Schulz."""
    tall = matrix.shape[0] > matrix.shape[1]
    x = matrix.T if tall else matrix
    x = x / (jnp.linalg.norm(x) + 1e-8)
    for _ in range(iterations):
        square = x @ x.T
        x = 3.4445 * x + (-4.775 * square + 2.0315 * square @ square) @ x
    return x.T if tall else x
