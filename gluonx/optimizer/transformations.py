"""Rules made of optax transformations: their arguments, and the operations around them.

A transformation may ask for the loss, or for the loss as a function. It gets what the step has; for anything else it
gets an object that raises as soon as it is used.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal, NoReturn

import jax
import jax.numpy as jnp

from gluonx.errors import ArgumentError

if TYPE_CHECKING:
    from collections.abc import Collection

    import optax

_NEEDS = (
    "This optax transformation needs '{name}', which a step that knows gradients alone cannot give. With `value`, the "
    "loss, it is trainer.step(batch_size, value=loss); with all else, which follows from the loss as a function, "
    "trainer.step(batch_size, closure=lambda: loss_fn(net(x), y)), which takes the place of record() and backward()."
)
_LOOKAHEAD = (
    "optax.lookahead takes pairs of parameters, fast and slow ones, and a Trainer has one of each. docs/optax.md has "
    "the lines that keep the slow ones in the state."
)
_EXTRAS = ("value", "grad", "value_fn", "obj_fn", "grad_fn")  # what a transformation may ask for, in this order


class _NotGiven:
    """Replaces an argument that a step cannot provide; it raises as soon as it is used."""

    def __init__(self, name: str) -> None:
        self.name = name

    def _used(self, *_: object, **__: object) -> NoReturn:
        raise ArgumentError(_NEEDS.format(name=self.name))

    __call__ = __jax_array__ = __array__ = __float__ = __neg__ = __lt__ = __le__ = __gt__ = __ge__ = _used
    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __rtruediv__ = _used


def _asking(
    update: Callable[..., Any],
    known: Literal[True] | Collection[str],
    extra: dict[str, Any],
    more: dict[str, Any],
    *args: object,
) -> tuple[Any, Any]:
    """Call a transformation with the arguments that it asks for: with `extra`, then with one more of `more` at a time.

    It does not get all at once, because a line search passes its arguments on to its function. `known` are the names
    that it takes, or True. An error that remains with every argument is raised unchanged.
    """
    import optax

    def taken(given: dict[str, Any]) -> dict[str, Any]:
        return given if known is True else {name: value for name, value in given.items() if name in known}

    given = taken(extra)
    try:
        return update(*args, **given)
    except AttributeError as error:
        if error.name in optax.LookaheadParams._fields and error.obj is args[-1]:
            raise ArgumentError(_LOOKAHEAD) from error
        raise
    except (TypeError, ValueError) as error:
        for name, value in taken({name: value for name, value in more.items() if name not in extra}).items():
            given[name] = value
            try:
                return update(*args, **given)
            except ArgumentError as missing:
                raise missing from error
            except (TypeError, ValueError):
                continue
        raise


def scaled(tx: optax.GradientTransformation, sign: float) -> optax.GradientTransformationExtraArgs:
    """Rescale gradients before the transformation, and multiply changes with the (signed) learning rates after it."""
    import optax

    inner = optax.with_extra_args_support(tx)
    taken = inspect.signature(inner.update).parameters.values()
    known = any(p.kind is p.VAR_KEYWORD for p in taken) or {p.name for p in taken}

    def update(
        updates: object,
        state: Any,
        params: object = None,
        *,
        lr: Any,
        wd: object,
        t: object,
        rescale: jax.Array | float,
        **extra: Any,
    ) -> tuple[Any, Any]:
        grads = jax.tree.map(lambda g: (g * rescale).astype(g.dtype), updates)
        more: dict[str, Any] = {name: _NotGiven(name) for name in _EXTRAS} | {"grad": grads}
        if "value" in extra:  # the loss has the scale of its gradient
            extra.update(value=extra["value"] * rescale, grad=grads)
        if "value_fn" in extra:  # a step with a closure
            loss = extra["value_fn"]
            scaled = extra["value_fn"] = more["obj_fn"] = lambda moving: loss(moving) * rescale
            more["grad_fn"] = lambda moving, _=0: jax.grad(scaled)(moving)
        updates, state = _asking(inner.update, known, extra, more, grads, state, params)
        leaves, treedef = jax.tree.flatten(updates)
        rates = [lr if jnp.ndim(lr) == 0 else lr[i] for i in range(len(leaves))]
        leaves = [(sign * rate * u).astype(u.dtype) for rate, u in zip(rates, leaves, strict=True)]
        return jax.tree.unflatten(treedef, leaves), state

    # One program for the whole state, since optax makes it array by array.
    return optax.GradientTransformationExtraArgs(jax.jit(inner.init), update)  # pyright: ignore[reportArgumentType]
