"""Any optax transformation as an Optimizer, so that ``Trainer(params, optax.adam(1e-3))`` works."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp

from gluonx.optimizer.optimizer import Optimizer
from gluonx.optimizer.rules import with_master_weights

if TYPE_CHECKING:
    import optax

__all__ = ["OptaxOptimizer", "from_optax"]

_NOT_OPTAX = (
    "An optimizer is the name of one (such as 'adam'), an Optimizer of gluonx, or an optax transformation "
    "(an object with init and update); this is a {kind}."
)
_OWN_RATE = (
    "The learning rate of this optimizer is inside the optax transformation. To set it from outside, leave it out of "
    "the transformation and give it here: from_optax(optax.scale_by_adam(), learning_rate=1e-3)."
)
_OWN_DECAY = "An optax transformation decays weights itself: put optax.add_decayed_weights into it instead of wd={wd}."


def from_optax(tx: optax.GradientTransformation, **settings: Any) -> OptaxOptimizer:
    """Wrap an optax transformation as an Optimizer.

    Parameters
    ----------
    tx : optax.GradientTransformation
        Such as ``optax.adam(1e-3)``, with its learning rate inside; or, if ``learning_rate`` or ``lr_scheduler`` is
        given, one without, such as ``optax.scale_by_adam()``, whose output is multiplied with minus the learning rate.
    **settings
        ``learning_rate``, ``lr_scheduler``, ``multi_precision`` and ``rescale_grad`` as of `Optimizer`. A parameter's
        ``lr_mult`` multiplies its change in either case; ``wd_mult`` is not used.

    Returns
    -------
    OptaxOptimizer

    Raises
    ------
    TypeError
        If ``tx`` is not an optax transformation.
    ValueError
        If ``wd`` or ``clip_gradient`` is given, which optax has its own pieces for.

    Examples
    --------
    >>> import optax
    >>> from_optax(optax.sgd(0.1)).learning_rate is None
    True
    >>> from_optax(optax.scale_by_adam(), learning_rate=0.01).learning_rate
    0.01
    """
    return OptaxOptimizer(tx, **settings)


class OptaxOptimizer(Optimizer):
    """An Optimizer whose rule is an optax transformation; see `from_optax`."""

    by_element = False

    def __init__(self, tx: optax.GradientTransformation, learning_rate: float | None = None, **settings: Any) -> None:
        if not (callable(getattr(tx, "init", None)) and callable(getattr(tx, "update", None))):
            raise TypeError(_NOT_OPTAX.format(kind=type(tx).__name__))
        if settings.get("wd"):
            raise ValueError(_OWN_DECAY.format(wd=settings["wd"]))
        if settings.get("clip_gradient"):
            raise ValueError("An optax transformation clips gradients itself: put optax.clip into it.")
        self._outer_rate = learning_rate is not None or settings.get("lr_scheduler") is not None
        super().__init__(learning_rate=learning_rate, **settings)
        if not self._outer_rate:
            self.lr = None
        self.tx = tx

    def set_learning_rate(self, lr: float) -> None:
        """Set the outer learning rate.

        Raises
        ------
        UserWarning
            If the learning rate is inside the transformation, or a scheduler decides it.
        """
        if not self._outer_rate:
            raise UserWarning(_OWN_RATE)
        super().set_learning_rate(lr)

    def _rate(self) -> Any:
        return self.learning_rate if self._outer_rate else 1.0

    def _settings(self) -> tuple[Any, ...]:
        return (self.tx, self._outer_rate, self.multi_precision)

    def _make_rule(self, indices: Any, masters: bool) -> optax.GradientTransformationExtraArgs:
        key = (self._settings(), masters)
        found = self._rules.get(key)
        if found is None:
            found = _scaled(self.tx, -1.0 if self._outer_rate else 1.0)
            self._rules[key] = found = with_master_weights(found) if masters else found
        return found

    def __repr__(self) -> str:
        return f"OptaxOptimizer(learning_rate={self.lr if self._outer_rate else 'inside the transformation'})"


def _scaled(tx: optax.GradientTransformation, sign: float) -> optax.GradientTransformationExtraArgs:
    """Rescale gradients on the way in and multiply changes with the (signed) learning rates on the way out."""
    import optax

    inner = optax.with_extra_args_support(tx)

    def update(
        updates: Any, state: Any, params: Any = None, *, lr: Any, wd: Any, t: Any, rescale: Any, **extra: Any
    ) -> tuple[Any, Any]:
        grads = jax.tree.map(lambda g: (g * rescale).astype(g.dtype), updates)
        if "value_fn" in extra:  # a step with a closure: the loss is scaled as its gradient is
            loss = extra["value_fn"]
            extra.update(value=extra["value"] * rescale, grad=grads, value_fn=lambda moving: loss(moving) * rescale)
        updates, state = inner.update(grads, state, params, **extra)
        leaves, treedef = jax.tree.flatten(updates)
        rates = [lr if jnp.ndim(lr) == 0 else lr[i] for i in range(len(leaves))]
        leaves = [(sign * rate * u).astype(u.dtype) for rate, u in zip(rates, leaves, strict=True)]
        return jax.tree.unflatten(treedef, leaves), state

    # One program for the whole state, since optax makes it array by array.
    return optax.GradientTransformationExtraArgs(jax.jit(inner.init), update)  # pyright: ignore[reportArgumentType]
