"""Any optimizer with something done to its gradients before: clipped by their common norm, or averaged over steps.

The optimizer stays what it is, with its rate, counts and states; only its rule is put into another one, whose state is
the sums and the count beside the optimizer's own. A step that only adds to the sums is the same program as one that
updates. Beside it, `scheduled` gives the schedule that a Trainer's arguments name.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import jax
import jax.numpy as jnp

from gluonx import lr_scheduler
from gluonx.deferred.program_cache import once
from gluonx.errors import ArgumentError
from gluonx.optimizer.optimizer import Optimizer
from gluonx.optimizer.rules import Rule, with_master_weights

if TYPE_CHECKING:
    import optax

Tree = TypeVar("Tree")  # of arrays


class Sums(NamedTuple):
    """State of a rule that averages gradients: the steps since the last update, the sums, the optimizer's states."""

    count: Any
    sums: Any
    inner: Any


class _Wrapped(Optimizer):
    """What is done to gradients; mixed into the class of an optimizer by `wrapped`."""

    by_element = False  # the norm is that of all gradients
    accumulate: int
    clip_norm: float | None

    def _updates_lazily(self) -> bool:
        return False

    def _settings(self) -> tuple[Any, ...]:
        return (*super()._settings(), self.accumulate, self.clip_norm)

    def _rate(self) -> float | None:
        return self.learning_rate if getattr(self, "_outer_rate", True) else 1.0

    @property
    def learning_rate(self) -> float | None:
        """The learning rate now; a scheduler is asked for the number of updates, not of steps."""
        steps = self.num_update
        return self.lr if self.lr_scheduler is None else self.lr_scheduler(-(-steps // self.accumulate))

    def _make_rule(self, indices: Sequence[Any] | None, masters: bool) -> Rule:
        key = ("wrapped", self._settings(), tuple(indices) if indices is not None and self.by_index else None, masters)
        found = self._rules.get(key)
        if found is None:
            found = _around(super()._make_rule(indices, False), self.accumulate, self.clip_norm)
            self._rules[key] = found = with_master_weights(found) if masters else found
        return found

    def __reduce__(self) -> tuple[Callable[..., Optimizer], tuple[type, dict[str, Any]]]:
        return _remade, (type(self).__bases__[1], self.__getstate__())


def _remade(cls: type[Optimizer], state: dict[str, Any]) -> Optimizer:
    found = object.__new__(_wrapped_class(cls))
    found.__setstate__(state)
    return found


@once
def _wrapped_class(cls: type[Optimizer]) -> type[Optimizer]:
    return type(cls.__name__, (_Wrapped, cls), {"__module__": cls.__module__, "__doc__": cls.__doc__})


def wrapped(optimizer: Optimizer, accumulate: int, clip_norm: float | None) -> Optimizer:
    """Return an optimizer that updates once in `accumulate` steps, by the mean gradient, clipped to a common norm.

    It shares settings and counts with the one that it is given.

    Raises
    ------
    ArgumentError
        If a setting is out of range, or the optimizer has an update written by hand.
    """
    if type(accumulate) is not int or accumulate < 1:
        raise ArgumentError(f"accumulate must be a whole number of steps, at least 1, got {accumulate!r}.")
    if clip_norm is not None and not clip_norm > 0:
        raise ArgumentError(f"clip_norm must be above 0, got {clip_norm!r}.")
    if optimizer._is_imperative() or type(optimizer).rule is not Optimizer.rule:
        raise ArgumentError(
            f"accumulate and clip_norm are for optimizers with a formula; {type(optimizer).__name__} has an update "
            "written by hand, which can do it itself."
        )
    found: Any = object.__new__(_wrapped_class(type(optimizer)))
    found.__dict__ = optimizer.__dict__  # who holds the other still sets its rate
    found.accumulate, found.clip_norm = accumulate, None if clip_norm is None else float(clip_norm)
    return found


def _around(inner: Rule | optax.GradientTransformationExtraArgs, accumulate: int, clip_norm: float | None) -> Rule:
    """Return a rule that gives `inner` the mean gradients of several steps, clipped."""

    def init(params: Any) -> Any:
        if accumulate == 1:
            return inner.init(params)
        sums = jax.tree.map(lambda w: jnp.zeros(w.shape, jnp.promote_types(w.dtype, jnp.float32)), params)
        return Sums(jnp.zeros((), jnp.int32), sums, inner.init(params))

    init.draws = getattr(inner.init, "draws", False)

    def update(grads: Any, state: Any, params: Any = None, *, t: Any, rescale: Any, **more: Any) -> tuple[Any, Any]:
        grads = jax.tree.map(lambda g: g * rescale, grads)
        if accumulate == 1:
            return inner.update(_clipped(grads, clip_norm), state, params, t=t, rescale=1.0, **more)
        count = state.count + 1
        sums = jax.tree.map(lambda s, g: s + g.astype(s.dtype), state.sums, grads)

        def change() -> tuple[Any, Any, Any]:
            means = jax.tree.map(lambda s, g: (s / accumulate).astype(g.dtype), sums, grads)
            updates = jnp.ceil(t / accumulate)
            changes, after = inner.update(
                _clipped(means, clip_norm), state.inner, params, t=updates, rescale=1.0, **more
            )
            return changes, after, jax.tree.map(jnp.zeros_like, sums)

        def wait() -> tuple[Any, Any, Any]:
            return jax.tree.map(lambda x: jnp.zeros(x.shape, x.dtype), jax.eval_shape(change)[0]), state.inner, sums

        changes, after, sums = jax.lax.cond(count == accumulate, change, wait)
        return changes, Sums(count % accumulate, sums, after)

    return Rule(init, update)


def _clipped(grads: Tree, norm: float | None) -> Tree:
    """Return gradients, made shorter together where their common norm is above `norm`."""
    if norm is None:
        return grads
    squares = [jnp.sum(jnp.square(g.astype(jnp.promote_types(g.dtype, jnp.float32)))) for g in jax.tree.leaves(grads)]
    factor = jnp.minimum(1.0, norm / (jnp.sqrt(sum(squares, jnp.float32(0))) + 1e-6))
    return jax.tree.map(lambda g: (g * factor).astype(g.dtype), grads)


def scheduled(
    optimizer: Optimizer, name: str | None, total_steps: int | None, warmup_steps: int | None
) -> lr_scheduler.LRScheduler:
    """Return the schedule of a name, for an optimizer that has a rate and none yet."""
    if name is None or total_steps is None:
        raise ArgumentError(
            f"A schedule has a name and a length: schedule='cosine', total_steps=1000; got schedule={name!r}, "
            f"total_steps={total_steps!r}, warmup_steps={warmup_steps!r}."
        )
    if optimizer.lr_scheduler is not None or optimizer.lr is None:
        raise ArgumentError(
            "schedule needs the optimizer's learning rate as a number from outside, but it has "
            + ("an lr_scheduler already." if optimizer.lr_scheduler is not None else "its own inside.")
        )
    return lr_scheduler.create(name, optimizer.lr, total_steps, warmup_steps)
