"""One step of an optimizer for one weight: the formulas, and MXNet's update operators over them, pure.

A formula (`adam_step`, `rms_step`, ...) takes a gradient that is already scaled, clipped and decayed, the states and a
rate, and returns the change of the weight, which descends if the rate is negative, and the new states. The optimizers
of `gluonx.optimizer` use the same formulas; they scale, clip and decay in their own way, with numbers that may be
static. SGD, NAG and similar optimizers share no formula with the operators, which decay first, as MXNet 1 does.

An operator takes a weight, its gradient, the states of the optimizer and the numbers of the step, and returns the new
weight and the new states. Each is a row of the table `UPDATES`: its states, its numbers with their defaults, and a
step. The operators are made here, and their variants for half precision and for several weights in `gluonx.compat`. All
numbers are operands, so that a number that changes from step to step does not recompile. A `clip_gradient`,
`clip_weights`, `lower_bound` or `upper_bound` below zero means that there is none.
"""

from __future__ import annotations

import functools
import inspect
import math
from collections import namedtuple
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

from gluonx.ops.registry import SAME, Op, register

Number = Array | float
States = tuple[Array, ...]
Betas = tuple[Number, Number]


def _clipped(x: Array, bound: Number) -> Array:
    return jnp.where(bound >= 0, jnp.clip(x, -jnp.abs(bound), jnp.abs(bound)), x)


# -- formulas ---------------------------------------------------------------------------------------------------------


def average(old: Array, new: Array, decay: Number) -> Array:
    """Return the exponential average after one more value."""
    return decay * old + (1 - decay) * new


def bias_correction(beta: Number, t: Number) -> Array:
    """Return ``1 - beta**t``, by which an average that began at zero is divided, to full relative precision.

    With beta2 = 0.999 the plain formula loses four digits in float32; ``expm1`` loses none.

    Examples
    --------
    >>> round(float(bias_correction(0.9, 2)), 6)
    0.19
    """
    t = jnp.asarray(t, jnp.promote_types(getattr(t, "dtype", jnp.float32), jnp.float32))
    if isinstance(beta, (int, float)):  # the logarithm of a constant is computed in double precision
        return -jnp.expm1(t * math.log(beta)) if beta else jnp.ones_like(t)
    return -jnp.expm1(t * jnp.log(jnp.asarray(beta, t.dtype)))


def moments(grad: Array, states: States, betas: Betas) -> States:
    """Return the averages of the gradient and of its square after one more step."""
    mean, var = states
    return average(mean, grad, betas[0]), average(var, jnp.square(grad), betas[1])


def adam_step(grad: Array, states: States, rate: Number, betas: Betas, epsilon: Number) -> tuple[Array, States]:
    """Return Adam's step without the corrections for its start, which go into `rate`; its states are the `moments`."""
    mean, var = states = moments(grad, states, betas)
    return rate * mean / (jnp.sqrt(var) + epsilon), states


def belief_step(grad: Array, states: States, rate: Number, betas: Betas, epsilon: Number) -> tuple[Array, States]:
    """Return AdaBelief's step: as `adam_step`, with the distance of the gradient from its average."""
    mean = average(states[0], grad, betas[0])
    var = average(states[1], jnp.square(grad - mean), betas[1]) + epsilon
    return rate * mean / (jnp.sqrt(var) + epsilon), (mean, var)


def rms_step(grad: Array, states: States, rate: Number, rho: Number, epsilon: Number) -> tuple[Array, States]:
    """Return RMSProp's step (Tieleman and Hinton); its state is the average of squared gradients."""
    var = average(states[0], jnp.square(grad), rho)
    return rate * grad / (jnp.sqrt(var) + epsilon), (var,)


def centered_step(
    grad: Array, states: States, lr: Number, rho: Number, momentum: Number, epsilon: Number
) -> tuple[Array, States]:
    """Return centered RMSProp's step (Graves).

    Its states are the averages of gradients and squares, and the last change.
    """
    mean, var, change = states
    mean, var = average(mean, grad, rho), average(var, jnp.square(grad), rho)
    change = momentum * change - lr * grad / jnp.sqrt(var - jnp.square(mean) + epsilon)
    return change, (mean, var, change)


def ftml_step(
    weight: Array, grad: Array, states: States, lr: Number, t: Number, betas: Betas, epsilon: Number
) -> tuple[Array, States]:
    """Return the step of "follow the moving leader": the new weight, not its change, and the new states."""
    v = average(states[1], jnp.square(grad), betas[1])
    d = bias_correction(betas[0], t) / lr * (jnp.sqrt(v / bias_correction(betas[1], t)) + epsilon)
    z = average(states[2], grad, betas[0]) - (d - betas[0] * states[0]) * weight
    return -z / d, (d, v, z)


def ftrl_solution(z: Array, n: Array, lr: Number, lamda1: Number, beta: Number, wd: Number) -> Array:
    """Return the weight that follows the regularized leader, with both penalties."""
    shrunk = jnp.sign(z) * jnp.maximum(jnp.abs(z) - lamda1, 0)
    return -shrunk / ((beta + jnp.sqrt(n)) / lr + wd)


def lamb_direction(states: States, t: Number | None, betas: Betas, epsilon: Number) -> tuple[Array, Array]:
    """Return LAMB's direction from the `moments`; without the corrections if `t` is None."""
    mean, var = states
    if t is not None:
        mean, var = mean / bias_correction(betas[0], t), var / bias_correction(betas[1], t)
    root = jnp.sqrt(var) + epsilon
    return mean / root, root


# -- operators --------------------------------------------------------------------------------------------------------


class UpdateRow(NamedTuple):
    """The arguments of an update operator besides a weight and its gradient."""

    states: tuple[str, ...]
    numbers: dict[str, float | None]  # with their defaults; None if the number is required


UPDATES: dict[str, UpdateRow] = {}
"""The update operators by name."""

_COMMON = "wd=0.0 rescale_grad=1.0 clip_gradient=-1.0"
_MOMENTUM = f"lr momentum=0.0 {_COMMON}"
_BETAS = "beta1=0.9 beta2=0.999"
_DECOUPLED = f"rescale_grad lr eta {_BETAS} epsilon=1e-8 wd=0.0 clip_gradient=-1.0"

Step = Callable[[Array, Array, States, Any], tuple[Any, Any]]


def _update(states: str, numbers: str, **attributes: Any) -> Callable[[Step], Op]:
    """Register a step as an update operator, and add it to the table; a decorator.

    The step takes a weight, its gradient, the states and the numbers by name, and returns the new weight and the new
    states. The operator takes all of them in order, `attributes` by keyword, and returns the new arrays in order.
    """

    def decorate(step: Step) -> Op:
        kind = inspect.Parameter
        row = UpdateRow(tuple(states.split()), {})
        for word in numbers.split():
            name, _, default = word.partition("=")
            row.numbers[name] = float(default) if default else None
        arrays = [
            kind(name, kind.POSITIONAL_OR_KEYWORD, annotation="Array") for name in ("weight", "grad", *row.states)
        ]
        own = [
            kind(
                name,
                kind.POSITIONAL_OR_KEYWORD,
                annotation="Number",
                default=kind.empty if default is None else default,
            )
            for name, default in row.numbers.items()
        ]
        more = [
            kind(name, kind.KEYWORD_ONLY, annotation=type(default).__name__, default=default)
            for name, default in attributes.items()
        ]
        count = 1 + len(row.states)
        returns = f"tuple[{', '.join(['Array'] * count)}]" if row.states else "Array"
        signature = inspect.Signature([*arrays, *own, *more], return_annotation=returns)
        record = namedtuple("Numbers", [p.name for p in (*own, *more)])

        @functools.wraps(step)
        def update(*args: jax.Array, **kwargs: Any) -> Any:
            given = signature.bind(*args, **kwargs)
            given.apply_defaults()
            weight, grad, *rest = given.arguments.values()
            new, after = step(weight, grad, tuple(rest[: count - 1]), record(*rest[count - 1 :]))
            return (new, *after) if row.states else new

        update.__signature__ = signature  # type: ignore[attr-defined]
        UPDATES[step.__name__] = row
        if row.states:
            return register(nout=count, shape="as `weight`; then the states")(update)
        return register(shape=SAME)(update)

    return decorate


def _scaled(grad: Array, n: Any) -> Array:
    return _clipped(grad * n.rescale_grad, n.clip_gradient)


def _decayed(weight: Array, grad: Array, n: Any) -> Array:
    return _scaled(grad, n) + n.wd * weight


def _betas(n: Any) -> Betas:
    return n.beta1, n.beta2


@_update("", f"lr {_COMMON}")
def sgd_update(weight: Array, grad: Array, states: States, n: Any) -> tuple[Any, Any]:
    """Gradient descent: ``(1 - lr * wd) * weight - lr * grad``.

    Parameters
    ----------
    weight, grad : array
        Of one shape.
    lr, wd : number
        Learning rate and weight decay.
    rescale_grad : number
        The factor of the gradient.
    clip_gradient : number
        The scaled gradient is clipped to ``[-clip_gradient, clip_gradient]``, unless this is negative.

    Returns
    -------
    array

    Examples
    --------
    >>> from gluonx import np, npx
    >>> npx.sgd_update(np.array([1.0]), np.array([0.5]), lr=0.1).tolist()
    [0.95]
    """
    return (1 - n.lr * n.wd) * weight - n.lr * _scaled(grad, n), ()


@_update("mom", _MOMENTUM)
def sgd_mom_update(weight: Array, grad: Array, states: States, n: Any) -> tuple[Any, Any]:
    """Gradient descent with momentum: the new weight and the new `mom`; see `sgd_update`.

    Examples
    --------
    >>> from gluonx import np, npx
    >>> [
    ...     part.tolist()
    ...     for part in npx.sgd_mom_update(np.array([1.0]), np.array([0.5]), np.zeros(1), lr=0.1)
    ... ]
    [[0.95], [-0.05]]
    """
    mom = n.momentum * states[0] - n.lr * n.wd * weight - n.lr * _scaled(grad, n)
    return weight + mom, (mom,)


@_update("mom", _MOMENTUM)
def nag_mom_update(weight: Array, grad: Array, states: States, n: Any) -> tuple[Any, Any]:
    """Nesterov's accelerated gradient: the new weight and the new `mom`; see `sgd_update`.

    Examples
    --------
    >>> from gluonx import np, npx
    >>> [
    ...     part.tolist()
    ...     for part in npx.nag_mom_update(np.array([1.0]), np.array([0.5]), np.zeros(1), lr=0.1)
    ... ]
    [[0.95], [-0.05]]
    """
    step = n.lr * _decayed(weight, grad, n)
    mom = n.momentum * states[0] - step
    return weight + n.momentum * mom - step, (mom,)


@_update("", f"lr {_COMMON}")
def signsgd_update(weight: Array, grad: Array, states: States, n: Any) -> tuple[Any, Any]:
    """Return a step by the sign of the gradient; see `sgd_update`. Scaling and clipping change no sign.

    Examples
    --------
    >>> from gluonx import np, npx
    >>> npx.signsgd_update(np.array([1.0]), np.array([0.5]), lr=0.1).tolist()
    [0.9]
    """
    return (1 - n.lr * n.wd) * weight - n.lr * jnp.sign(_scaled(grad, n)), ()


@_update("mom", f"{_MOMENTUM} wd_lh=0.0")
def signum_update(weight: Array, grad: Array, states: States, n: Any) -> tuple[Any, Any]:
    """Step by the sign of the averaged gradient: the new weight and the new `mom`; `wd_lh` decays the weight.

    Parameters
    ----------
    wd_lh
        A weight decay that does not pass the gradient.

    Examples
    --------
    >>> from gluonx import np, npx
    >>> [
    ...     part.tolist()
    ...     for part in npx.signum_update(np.array([1.0]), np.array([0.5]), np.zeros(1), lr=0.1)
    ... ]
    [[0.9], [-0.5]]
    """
    mom = n.momentum * states[0] - (1 - n.momentum) * _decayed(weight, grad, n)
    return (1 - n.lr * n.wd_lh) * weight + n.lr * jnp.sign(mom), (mom,)


@_update("d v z", "lr t beta1=0.6 beta2=0.999 epsilon=1e-8 wd=0.0 rescale_grad=1.0 clip_grad=-1.0")
def ftml_update(weight: Array, grad: Array, states: States, n: Any) -> tuple[Any, Any]:
    """Follow the moving leader, at step `t` (from 1): the new weight, `d`, `v` and `z`.

    Parameters
    ----------
    d
        A state.
    v
        A state, the average of squared gradients.
    z
        A state.
    clip_grad
        The largest magnitude of an element of the scaled gradient; negative: no bound.

    Examples
    --------
    >>> from gluonx import np, npx
    >>> [
    ...     part.tolist()
    ...     for part in npx.ftml_update(
    ...         np.array([1.0]), np.array([0.5]), np.zeros(1), np.zeros(1), np.zeros(1), lr=0.1, t=1
    ...     )
    ... ]
    [[0.9], [2.0], [0.00025], [-1.8]]
    """
    grad = _clipped(grad * n.rescale_grad, n.clip_grad) + n.wd * weight
    return ftml_step(weight, grad, states, n.lr, n.t, _betas(n), n.epsilon)


@_update("mean var", f"lr {_BETAS} epsilon=1e-8 {_COMMON}")
def adam_update(weight: Array, grad: Array, states: States, n: Any) -> tuple[Any, Any]:
    """Adam without the corrections for its start, which go into `lr`: the new weight, `mean` and `var`.

    Examples
    --------
    >>> from gluonx import np, npx
    >>> [
    ...     part.tolist()
    ...     for part in npx.adam_update(
    ...         np.array([1.0]), np.array([0.5]), np.zeros(1), np.zeros(1), lr=0.1
    ...     )
    ... ]
    [[0.6838], [0.05], [0.00025]]
    """
    descent, states = adam_step(_decayed(weight, grad, n), states, n.lr, _betas(n), n.epsilon)
    return weight - descent, states


@_update("mean var", _DECOUPLED)
def adamw_update(weight: Array, grad: Array, states: States, n: Any) -> tuple[Any, Any]:
    """Adam with decoupled weight decay and the schedule's factor `eta`: the new weight, `mean` and `var`.

    A `rescale_grad` that is 0, infinite or NaN, as a loss scaler gives it, leaves everything as it is.

    Parameters
    ----------
    eta
        The factor of the whole step.

    Examples
    --------
    >>> from gluonx import np, npx
    >>> [
    ...     part.tolist()
    ...     for part in npx.adamw_update(
    ...         np.array([1.0]), np.array([0.5]), np.zeros(1), np.zeros(1), 1.0, lr=0.1, eta=1.0
    ...     )
    ... ]
    [[0.6838], [0.05], [0.00025]]
    """
    skip, scale = _refused(n.rescale_grad)
    grad = _clipped(grad * scale, n.clip_gradient)
    descent, new = adam_step(grad, states, n.lr, _betas(n), n.epsilon)
    return _unless(skip, (weight, states), (weight - n.eta * (descent + n.wd * weight), new))


@_update("mean var", _DECOUPLED)
def adabelief_update(weight: Array, grad: Array, states: States, n: Any) -> tuple[Any, Any]:
    """AdaBelief as `adamw_update`; the decay joins the gradient, `var` measures its distance from `mean`.

    Parameters
    ----------
    eta
        The factor of the whole step.

    Examples
    --------
    >>> from gluonx import np, npx
    >>> [
    ...     part.tolist()
    ...     for part in npx.adabelief_update(
    ...         np.array([1.0]), np.array([0.5]), np.zeros(1), np.zeros(1), 1.0, lr=0.1, eta=1.0
    ...     )
    ... ]
    [[0.6486], [0.05], [0.0002025]]
    """
    skip, scale = _refused(n.rescale_grad)
    grad = _clipped(grad * scale + n.wd * weight, n.clip_gradient)
    descent, new = belief_step(grad, states, n.lr, _betas(n), n.epsilon)
    return _unless(skip, (weight, states), (weight - n.eta * descent, new))


def _refused(rescale_grad: Number) -> tuple[Array, Array]:
    """Return whether a scale means to skip the step, and a scale that is safe to compute with."""
    scale = jnp.reshape(jnp.asarray(rescale_grad, jnp.float32), ())
    skip = ~jnp.isfinite(scale) | (scale == 0)
    return skip, jnp.where(skip, 1.0, scale)


def _unless(skip: Array, old: tuple[Array, States], new: tuple[Array, States]) -> tuple[Array, States]:
    return jax.tree.map(functools.partial(jnp.where, skip), old, new)


@_update("n", f"lr gamma1=0.95 epsilon=1e-8 {_COMMON} clip_weights=-1.0")
def rmsprop_update(weight: Array, grad: Array, states: States, n: Any) -> tuple[Any, Any]:
    """RMSProp: the new weight, and `n`, the average of squared gradients.

    Parameters
    ----------
    n
        A state, the average of squared gradients.
    gamma1
        The weight of the old average.
    clip_weights
        The largest magnitude of an element of the new weight; negative: no bound.

    Examples
    --------
    >>> from gluonx import np, npx
    >>> [
    ...     part.tolist()
    ...     for part in npx.rmsprop_update(np.array([1.0]), np.array([0.5]), np.zeros(1), lr=0.1)
    ... ]
    [[0.5528], [0.0125]]
    """
    descent, states = rms_step(_decayed(weight, grad, n), states, n.lr, n.gamma1, n.epsilon)
    return _clipped(weight - descent, n.clip_weights), states


@_update("n g delta", f"lr gamma1=0.95 gamma2=0.9 epsilon=1e-8 {_COMMON} clip_weights=-1.0")
def rmspropalex_update(weight: Array, grad: Array, states: States, n: Any) -> tuple[Any, Any]:
    """RMSProp as Graves has it: the new weight, `n`, `g` (the average of gradients) and `delta` (the momentum).

    Parameters
    ----------
    n
        A state, the average of squared gradients.
    g
        A state, the average of gradients.
    delta
        A state, the last change.
    gamma1
        The weight of the old averages.
    gamma2
        The part of the last change that is kept.
    clip_weights
        The largest magnitude of an element of the new weight; negative: no bound.

    Examples
    --------
    >>> from gluonx import np, npx
    >>> [
    ...     part.tolist()
    ...     for part in npx.rmspropalex_update(
    ...         np.array([1.0]), np.array([0.5]), np.zeros(1), np.zeros(1), np.zeros(1), lr=0.1
    ...     )
    ... ]
    [[0.5412], [0.0125], [0.025], [-0.4588]]
    """
    square, mean, delta = states
    grad = _decayed(weight, grad, n)
    delta, (mean, square, _) = centered_step(grad, (mean, square, delta), n.lr, n.gamma1, n.gamma2, n.epsilon)
    return _clipped(weight + delta, n.clip_weights), (square, mean, delta)


@_update("z n", f"lr lamda1=0.01 beta=1.0 {_COMMON}")
def ftrl_update(weight: Array, grad: Array, states: States, n: Any) -> tuple[Any, Any]:
    """Follow the regularized leader: the new weight, `z` and `n`.

    Parameters
    ----------
    z
        A state.
    n
        A state, the sum of squared gradients.
    lamda1
        The weight of the L1 penalty.
    beta
        The smoothing of the rate.

    Examples
    --------
    >>> from gluonx import np, npx
    >>> [
    ...     part.tolist()
    ...     for part in npx.ftrl_update(
    ...         np.array([1.0]), np.array([0.5]), np.zeros(1), np.zeros(1), lr=0.1
    ...     )
    ... ]
    [[0.2993], [-4.5], [0.25]]
    """
    z, old = states
    grad = _scaled(grad, n)
    new = old + jnp.square(grad)
    z = z + grad - (jnp.sqrt(new) - jnp.sqrt(old)) * weight / n.lr
    return ftrl_solution(z, new, n.lr, n.lamda1, n.beta, n.wd), (z, new)


@_update("mean var", f"t wd {_BETAS} epsilon=1e-6 rescale_grad=1.0 clip_gradient=-1.0", bias_correction=True)
def lamb_update_phase1(weight: Array, grad: Array, states: States, n: Any) -> tuple[Any, Any]:
    """LAMB's direction at step `t` (from 1), before it is scaled by norms; with the new `mean` and `var`.

    Parameters
    ----------
    bias_correction
        Whether the averages are corrected for their start at zero.

    Examples
    --------
    >>> from gluonx import np, npx
    >>> [
    ...     part.tolist()
    ...     for part in npx.lamb_update_phase1(
    ...         np.array([1.0]), np.array([0.5]), np.zeros(1), np.zeros(1), t=1, wd=0.0
    ...     )
    ... ]
    [[1.0], [0.05], [0.00025]]
    """
    states = moments(_scaled(grad, n), states, _betas(n))
    way, _ = lamb_direction(states, n.t if n.bias_correction else None, _betas(n), n.epsilon)
    return way + n.wd * weight, states


@register(shape=SAME)
def lamb_update_phase2(
    weight: Array, g: Array, r1: Array, r2: Array, lr: Number, lower_bound: Number = -1.0, upper_bound: Number = -1.0
) -> Array:
    """LAMB's step along the direction `g`, scaled by the norms `r1` of the weight and `r2` of the direction.

    Parameters
    ----------
    g
        The direction, from `lamb_update_phase1`.
    r1
        The norm of the weight.
    r2
        The norm of the direction.
    lower_bound
        The least norm of the weight; negative: no bound.
    upper_bound
        The largest norm of the weight; negative: no bound.

    Examples
    --------
    >>> from gluonx import np, npx
    >>> npx.lamb_update_phase2(
    ...     np.array([1.0]), np.array([0.5]), np.array([1.0]), np.array([0.5]), lr=0.1
    ... ).tolist()
    [0.9]
    """
    return weight - lr * _trust(r1, r2, lower_bound, upper_bound) * g


def _trust(r1: Array, r2: Array, lower: Number, upper: Number) -> Array:
    r1, r2 = jnp.reshape(r1, ()), jnp.reshape(r2, ())
    r1 = jnp.where(lower >= 0, jnp.maximum(r1, lower), r1)
    r1 = jnp.where(upper >= 0, jnp.minimum(r1, upper), r1)
    zero = (r1 == 0) | (r2 == 0)
    return jnp.where(zero, 1.0, r1 / jnp.where(zero, 1.0, r2))


@_update(
    "mean var", f"t lr wd {_BETAS} epsilon=1e-6 rescale_grad=1.0 clip_gradient=-1.0 lower_bound=-1.0 upper_bound=-1.0"
)
def lans_update(weight: Array, grad: Array, states: States, n: Any) -> tuple[Any, Any]:
    """LANS at step `t` (from 1): LAMB with a normalized gradient and Nesterov's look ahead.

    Parameters
    ----------
    lower_bound
        The least norm of the weight; negative: no bound.
    upper_bound
        The largest norm of the weight; negative: no bound.

    Examples
    --------
    >>> from gluonx import np, npx
    >>> [
    ...     part.tolist()
    ...     for part in npx.lans_update(
    ...         np.array([1.0]), np.array([0.5]), np.zeros(1), np.zeros(1), t=1, lr=0.1, wd=0.0
    ...     )
    ... ]
    [[0.9], [0.1], [0.001]]
    """
    grad = grad * n.rescale_grad
    grad = _clipped(grad / jnp.linalg.norm(grad), n.clip_gradient)
    states = moments(grad, states, _betas(n))
    way, root = lamb_direction(states, n.t, _betas(n), n.epsilon)
    behind, ahead = way + n.wd * weight, grad / root + n.wd * weight
    norm = jnp.linalg.norm(weight)
    scales = [_trust(norm, jnp.linalg.norm(g), n.lower_bound, n.upper_bound) for g in (behind, ahead)]
    return weight - n.lr * (scales[0] * n.beta1 * behind + scales[1] * (1 - n.beta1) * ahead), states


@register(shape=SAME)
def multi_lars(
    lrs: Array,
    weights_sum_sq: Array,
    grads_sum_sq: Array,
    wds: Array,
    eta: Number,
    eps: Number,
    rescale_grad: Number = 1.0,
) -> Array:
    """Return the learning rates of LARS for many weights, from the sums of squares of weights and gradients.

    Parameters
    ----------
    lrs
        The learning rates.
    weights_sum_sq
        The sums of squares of the weights.
    grads_sum_sq
        The sums of squares of the gradients.
    wds
        The weight decays.
    eta
        The trust coefficient.

    Examples
    --------
    >>> from gluonx import np, npx
    >>> npx.multi_lars(
    ...     np.array([0.1]), np.array([4.0]), np.array([1.0]), np.array([0.0]), eta=0.5, eps=0.0
    ... ).tolist()
    [0.1]
    """
    weights, grads = jnp.sqrt(weights_sum_sq), jnp.sqrt(grads_sum_sq) * rescale_grad
    scaled = lrs * eta * weights / (grads + wds * weights + eps)
    return jnp.where((weights > 0) & (grads > 0), scaled, lrs)
