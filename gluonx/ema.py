"""Exponential moving averages of weights, kept inside the one program of a training step.

``averaged(tx, decay)`` is an optax transformation that does what `tx` does and remembers an average in its state, which
the Trainer updates, donates and saves with the rest. Within ``weights(trainer)`` the net has the averages.
"""

from __future__ import annotations

import contextlib
from collections.abc import Generator
from typing import TYPE_CHECKING, Any, NamedTuple

import jax
import jax.numpy as jnp

from gluonx.errors import ArgumentError

if TYPE_CHECKING:
    import optax

    from gluonx.trainer import Trainer

__all__ = ["Averages", "averaged", "weights"]


class Averages(NamedTuple):
    """State of :func:`averaged`: that of the inner transformation, and averages of all weights but the newest.

    Examples
    --------
    >>> import jax.numpy as jnp, optax
    >>> state = averaged(optax.sgd(1.0), decay=0.75).init({"weight": jnp.ones(2)})
    >>> type(state).__name__, state.before["weight"].tolist(), float(state.decay)
    ('Averages', [1.0, 1.0], 0.75)
    """

    inner: Any
    before: Any
    decay: Any


def averaged(tx: optax.GradientTransformation, decay: float = 0.999) -> optax.GradientTransformation:
    """Return the transformation `tx`, which also keeps ``average = decay * average + (1 - decay) * weight``.

    The average begins with the weights of the first step, and is float32 at least. Whatever scales the changes after
    `tx` (a learning rate of the Trainer, ``lr_mult``) is in it.

    Parameters
    ----------
    tx : optax.GradientTransformation
    decay : float
        At least 0 and below 1.

    Returns
    -------
    optax.GradientTransformation

    Raises
    ------
    ArgumentError
        If `decay` is out of range.

    Examples
    --------
    >>> import optax
    >>> from gluonx import Trainer, autograd, nn, np
    >>> net = nn.Dense(1, in_units=2, use_bias=False, weight_initializer="ones")
    >>> net.initialize()
    >>> trainer = Trainer(net.collect_params(), averaged(optax.sgd(1.0), decay=0.75))
    >>> with autograd.record():
    ...     loss = net(np.ones((1, 2))).sum()
    >>> loss.backward()
    >>> trainer.step(1)
    >>> with weights(trainer):
    ...     print(net.weight.data().tolist())
    [[0.75, 0.75]]
    >>> net.weight.data().tolist()
    [[0.0, 0.0]]
    """
    import optax

    if not 0 <= decay < 1:
        raise ArgumentError(f"The decay of an average must be at least 0 and below 1, got {decay}.")
    inner = optax.with_extra_args_support(tx)

    def init(params: Any) -> Averages:
        # Adding zero makes a copy: the weights' own buffers are donated.
        before = jax.tree.map(lambda w: w.astype(jnp.promote_types(w.dtype, jnp.float32)) + 0, params)
        return Averages(inner.init(params), before, jnp.float32(decay))

    def update(updates: Any, state: Any, params: Any = None, **extra: Any) -> tuple[Any, Averages]:
        # The weights that come in are those after the step before; the newest are added where averages are read.
        changes, after = inner.update(updates, state.inner, params, **extra)
        return changes, Averages(after, _moved(state, params), state.decay)

    return optax.GradientTransformationExtraArgs(init, update)


def _moved(state: Averages, params: Any) -> Any:
    def one(average: jax.Array, weight: jax.Array) -> jax.Array:
        return average + ((1 - state.decay) * (weight.astype(average.dtype) - average)).astype(average.dtype)

    return jax.tree.map(one, state.before, params)


@contextlib.contextmanager
def weights(trainer: Trainer) -> Generator[None]:
    """Within, the trained parameters hold their averages; afterwards their own values again.

    Parameters
    ----------
    trainer : Trainer
        With a transformation of :func:`averaged`, alone or in a chain, that has made a step.

    Raises
    ------
    ArgumentError
        If there is none.

    Examples
    --------
    >>> import optax
    >>> from gluonx import Trainer, autograd, nn, np
    >>> net = nn.Dense(1, in_units=2, use_bias=False, weight_initializer="ones")
    >>> net.initialize()
    >>> trainer = Trainer(net.collect_params(), averaged(optax.sgd(1.0), decay=0.75))
    >>> with autograd.record():
    ...     loss = net(np.ones((1, 2))).sum()
    >>> loss.backward()
    >>> trainer.step(1)
    >>> with weights(trainer):  # 0.75 of the old weights, and 0.25 of the new ones
    ...     net.weight.data().tolist()
    [[0.75, 0.75]]
    """
    state, params = trainer.as_optax()
    found = [s for s in jax.tree.leaves(state, is_leaf=_is_averages) if _is_averages(s)]
    if len(found) != 1:
        raise ArgumentError(
            f"gluonx.ema.weights needs a Trainer with one gluonx.ema.averaged(...); its rule has {len(found)}."
        )
    averages = jax.tree.map(lambda average, weight: average.astype(weight.dtype), _moved(found[0], params), params)
    with trainer.using(averages):
        yield


def _is_averages(x: object) -> bool:
    return isinstance(x, Averages)


def __dir__() -> list[str]:
    return sorted(__all__)
