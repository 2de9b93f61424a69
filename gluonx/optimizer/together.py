"""The update of small weights as one array.

Where a formula works on each element by itself, it does not matter which weight an element belongs to. So the small
weights of a step, which travel as one vector, are updated as one (:class:`Together`): their states are such vectors
already, the formula is traced once and not once a weight, and the program has one loop where it would have hundreds.
Rates that differ between weights are spread over their elements; norms are taken weight by weight.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import jax
import numpy as np

from gluonx.common.packing import Layout
from gluonx.optimizer.rules import FlatRule, for_arrays, unpack

if TYPE_CHECKING:
    from gluonx.optimizer.packed import PackedRule


class Together:
    """A packed rule with several weights as one array.

    Parameters
    ----------
    rule : PackedRule
    members : list of tuple of int
        The weights in each array.
    weights : sequence
        Shapes and dtypes.

    Raises
    ------
    LookupError
        If the states of an array are not packed as its weights are.
    """

    __slots__ = ("count", "layouts", "members", "order", "whole")

    def __init__(self, rule: PackedRule, members: list[tuple[int, ...]], weights: Sequence[Any]) -> None:
        self.members, self.count = members, len(weights)
        self.layouts = [_end_to_end([weights[k] for k in ks]) if len(ks) > 1 else None for ks in members]
        structs = [
            jax.ShapeDtypeStruct(weights[ks[0]].shape if layout is None else layout.shape, weights[ks[0]].dtype)
            for ks, layout in zip(members, self.layouts, strict=True)
        ]
        self.whole = FlatRule(rule.rule.tx, structs)
        packed = {tuple(rule.state_of(i) for i in group): k for k, group in enumerate(rule.groups)}
        kinds = [rule.kind(name, owner) for name, owner in zip(self.whole.leaf_names, self.whole.owners, strict=True)]
        # Which packed state each state of the arrays is.
        self.order = [
            packed[tuple((kind, k) for k in members[owner])]  # type: ignore[index]
            for kind, owner in zip(kinds, self.whole.owners, strict=True)
        ]
        if sorted(self.order) != list(range(len(rule.groups))):
            raise LookupError("a state that belongs to no array")

    def __call__(self, *arrays: Any) -> tuple[Any, ...]:
        """(weights, gradients, packed states, step vector) -> (weights, packed states)."""
        n = self.count
        weights, grads, states = arrays[:n], arrays[n : 2 * n], arrays[2 * n : -1]
        hyper = for_arrays(unpack(arrays[-1], n), self.members, self.layouts)
        new, leaves = self.whole.apply(
            self._joined(weights), self._joined(grads), [states[k] for k in self.order], hyper
        )
        found: list[Any] = [None] * n
        for array, members, layout in zip(new, self.members, self.layouts, strict=True):
            for k, part in zip(members, [array] if layout is None else layout.split(array), strict=True):
                found[k] = part
        packed: list[Any] = [None] * len(states)
        for k, leaf in zip(self.order, leaves, strict=True):
            packed[k] = leaf
        return (*found, *packed)

    def _joined(self, arrays: Sequence[Any]) -> list[Any]:
        return [
            arrays[members[0]] if layout is None else layout.join([arrays[k] for k in members])
            for members, layout in zip(self.members, self.layouts, strict=True)
        ]


def _end_to_end(weights: Sequence[Any]) -> Layout:
    return Layout("flat", 0, False, tuple([tuple(w.shape) for w in weights]))


def together(rule: PackedRule, weights: Sequence[Any], limit: int) -> Together | None:
    """Return the rule on few arrays, or None where no weights can be concatenated.

    Parameters
    ----------
    rule : PackedRule
        Of a formula that works on each element by itself.
    weights : sequence
        Shapes and dtypes.
    limit : int
        The elements of a weight that is small.
    """
    if not all(rule.fresh) or None in rule.rule.owners:
        return None
    small: dict[Any, list[int]] = {}
    for k, weight in enumerate(weights):
        alone = k in rule.alone or np.prod(weight.shape, dtype=np.int64) > limit
        small.setdefault(k if alone else np.dtype(weight.dtype), []).append(k)
    if len(small) == len(weights):
        return None
    try:
        return Together(rule, [tuple(members) for members in small.values()], weights)
    except LookupError:
        return None
