"""Backward hooks: functions that see, and may change, the gradients at a block's inputs and outputs.

The call of a block with such hooks passes two identities, one around its inputs and one around its outputs
(``autograd.Function``). The hooks run, in Python, where the gradients pass these, once in each backward. They get
arrays like any other, pending until they are read. So a recorded step remains one program, whatever a hook computes;
only a hook that reads a value has the step computed up to there.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import jax

from gluonx import autograd
from gluonx.deferred.record.engine import as_handle
from gluonx.deferred.trace.attributes import is_handle
from gluonx.deferred.values.core import Handle
from gluonx.errors import ArgumentError

if TYPE_CHECKING:
    from gluonx.block.block import Block


class Watched:
    """One call of `block` whose gradients its backward hooks see."""

    def __init__(self, block: Block, befores: Sequence[Any], hooks: Sequence[Any]) -> None:
        self.block, self.befores, self.hooks = block, tuple(befores), tuple(hooks)
        self.inputs: _Border | None = None
        self.grad_outputs: Any = None

    def enter(self, args: tuple[Any, ...]) -> tuple[Any, ...]:
        """Return the inputs as the forward takes them."""
        border = self.inputs = _Border(args, self._at_inputs)
        return border.passed()

    def leave(self, out: object) -> Any:
        """Return the outputs as the caller gets them."""
        return _Border(out, self._at_outputs).passed()

    def _at_outputs(self, border: _Border, grads: Any) -> Any:
        assert self.inputs is not None, "the call began"
        tuple_of = (lambda found: found) if isinstance(grads, tuple) else lambda found: (found,)
        given = tuple_of(grads)
        for hook in self.befores:
            found = hook(self.block, given)
            if found is not None:
                given = _checked(found, given, self.block, "outputs")
        self.grad_outputs = given
        if not self.inputs.taped:
            for hook in self.hooks:
                hook(self.block, self.inputs.none, given)
        return given if isinstance(grads, tuple) else given[0]

    def _at_inputs(self, border: _Border, grads: Any) -> Any:
        grads = border.where_recorded(grads)
        for hook in self.hooks:
            found = hook(self.block, grads, self.grad_outputs)
            if found is not None:
                grads = _checked(found, grads, self.block, "inputs")
        return grads


class _Border:
    """The arrays in a tree of values, passed through an identity; `seen` is called with the tree of their gradients."""

    def __init__(self, values: object, seen: Callable[[_Border, Any], Any]) -> None:
        leaves, self.tree = jax.tree.flatten(values, is_leaf=is_handle)
        self.leaves, self.seen = leaves, seen
        self.at = [i for i, x in enumerate(leaves) if isinstance(x, Handle)]
        self.recorded = [False] * len(self.at)

    @property
    def taped(self) -> bool:
        """Return whether a gradient continues from here."""
        return any(self.recorded)

    @property
    def none(self) -> Any:
        """The tree with None for each array."""
        return self._tree([None] * len(self.at))

    def _tree(self, grads: Sequence[Any]) -> Any:
        filled: list[Any] = [None] * len(self.leaves)
        for i, grad in zip(self.at, grads, strict=True):
            filled[i] = grad
        return jax.tree.unflatten(self.tree, filled)

    def where_recorded(self, grads: Any) -> Any:
        """Return the tree of gradients with None for arrays that were not recorded."""
        flat = self.flat(grads)
        return self._tree([g if taped else None for g, taped in zip(flat, self.recorded, strict=True)])

    def flat(self, grads: Any) -> list[Any]:
        """Return the items of the tree of gradients that belong to arrays."""
        flat = self.tree.flatten_up_to(grads)
        return [flat[i] for i in self.at]

    def passed(self) -> Any:
        """Return the tree with the arrays that the identity returned."""
        if not self.at:
            return jax.tree.unflatten(self.tree, self.leaves)
        identity = _Identity(self)
        outs = identity(*[self.leaves[i] for i in self.at])
        self.recorded = identity.recorded
        leaves = list(self.leaves)
        for i, out in zip(self.at, outs, strict=True):
            leaves[i] = out
        self.leaves = [None if isinstance(x, Handle) else x for x in leaves]  # a tape entry keeps no values
        return jax.tree.unflatten(self.tree, leaves)


class _Identity(autograd.Function):
    def __init__(self, border: _Border) -> None:
        super().__init__()
        self.border = border

    def forward(self, *arrays: Any) -> tuple[Any, ...]:
        return arrays

    def backward(self, *grads: Any) -> list[Any]:
        found = self.border.seen(self.border, self.border._tree(grads))
        return [None if g is None else as_handle(g) for g in self.border.flat(found)]


def _checked(found: object, before: tuple[Any, ...], block: Block, what: str) -> tuple[Any, ...]:
    """Return the gradients that a hook returned to replace `before`."""
    given = found if isinstance(found, tuple) else tuple(found) if isinstance(found, list) else (found,)
    if len(given) != len(before):
        raise ArgumentError(
            f"A backward hook of {type(block).__name__} returned {len(given)} gradients; there are {len(before)} "
            f"{what}. It returns None, or a tuple with one for each."
        )
    for new, old in zip(given, before, strict=True):
        if isinstance(old, Handle) and isinstance(new, Handle) and new.shape != old.shape:
            raise ArgumentError(
                f"A backward hook of {type(block).__name__} returned a gradient of shape {new.shape} for one of the "
                f"{what}, whose shape is {old.shape}."
            )
    return given
