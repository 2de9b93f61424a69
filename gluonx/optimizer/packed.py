"""Optimizer states in few arrays.

An array that crosses the border of a program costs a microsecond or two whatever it holds, and a net of small layers
has hundreds of state arrays. :class:`PackedRule` keeps the small ones of one kind (all first moments, say) end to end
in one vector; the program cuts it apart and puts it together again, which XLA does in passing. Names and values of
the single states stay reachable through :meth:`PackedRule.unpack`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax.numpy as jnp
import numpy as np

from gluonx.common.thresholds import threshold
from gluonx.deferred.core import intern_aval
from gluonx.deferred.vectors import layout_of

from .lazily import paired
from .rules import FlatRule
from .together import together

LIMIT = threshold("small.elements")  # as of weights and gradients, so that a formula works on all three together


def kind_of(name: str, owner: int) -> str:
    """Return the name of a state leaf without the position of its weight, which is the last such number in it.

    Examples
    --------
    >>> kind_of("1/mean", 1), kind_of("0/mu/1", 1)
    ('mean', '0/mu')
    """
    parts = name.split("/")
    del parts[len(parts) - 1 - parts[::-1].index(str(owner))]
    return "/".join(parts)


class PackedRule:
    """A :class:`~gluonx.optimizer.rules.FlatRule` whose small states travel together.

    Parameters
    ----------
    rule : FlatRule
    shapes, dtypes : sequence
        Of the rule's state leaves.
    fresh : tuple of bool
        Which weights have a gradient; the others, and their states, come out as they went in.
    alone : frozenset of int
        Weights whose states are not to be packed, because they are spread over several devices.
    weights : sequence, optional
        Shapes and dtypes of the weights, where the rule's formula works on each element by itself.
    by_row : frozenset of int
        Weights whose gradient comes by rows: two arrays, see `gluonx.optimizer.lazily`.

    Attributes
    ----------
    groups : tuple of tuple of int
        The numbers of the leaves that each packed array holds; a leaf alone keeps its shape.
    """

    __slots__ = ("alone", "by_row", "dtypes", "fresh", "groups", "layouts", "rule", "shapes", "together", "weights")

    def __init__(
        self,
        rule: FlatRule,
        shapes: Sequence[Any],
        dtypes: Sequence[Any],
        fresh: tuple[bool, ...],
        alone: frozenset[int] = frozenset(),
        weights: Sequence[Any] | None = None,
        by_row: frozenset[int] = frozenset(),
    ) -> None:
        self.alone = alone
        self.by_row = by_row
        self.rule = rule
        self.shapes = [tuple(s) for s in shapes]
        self.dtypes = [np.dtype(d) for d in dtypes]
        self.fresh = fresh
        self.weights = weights
        self.groups = self._grouped()
        self.layouts = [
            layout_of(tuple([intern_aval(self.shapes[i], self.dtypes[i]) for i in group])) if len(group) > 1 else None
            for group in self.groups
        ]
        self.together = together(self, weights, LIMIT) if weights is not None else None

    @property
    def pieces(self) -> int:
        """The number of parameters with numbers in the step vector."""
        return self.rule.pieces

    @property
    def given(self) -> int:
        """The number of arrays that the gradients are."""
        return sum(self.fresh) + sum(self.fresh[k] for k in self.by_row)

    def kind(self, name: str, owner: int | None) -> str:
        """Return the kind of a state: what the states of one name in all weights have in common."""
        return name if owner is None else kind_of(name, owner)

    def state_of(self, leaf: int) -> tuple[str, int | None]:
        """Return the kind of a state leaf, and the number of its weight."""
        owner = self.rule.owners[leaf]
        return self.kind(self.rule.leaf_names[leaf], owner), owner

    def _grouped(self) -> tuple[tuple[int, ...], ...]:
        together: dict[Any, list[int]] = {}
        alone: list[tuple[int, ...]] = []
        for i, (name, owner) in enumerate(zip(self.rule.leaf_names, self.rule.owners, strict=True)):
            if owner is None or owner in self.alone or np.prod(self.shapes[i], dtype=np.int64) > LIMIT:
                alone.append((i,))
            else:
                stored = None if self.weights is None else np.dtype(self.weights[owner].dtype).name
                kind = self.kind(name, owner), self.dtypes[i].name, stored
                together.setdefault(kind, []).append(i)
        return (*[tuple(g) for g in together.values()], *alone)

    def pack(self, leaves: Sequence[Any]) -> list[Any]:
        """Return the packed arrays of single states; NumPy in, NumPy out, and tracers in, tracers out."""
        return [
            leaves[group[0]] if layout is None else layout.join([leaves[i] for i in group])
            for group, layout in zip(self.groups, self.layouts, strict=True)
        ]

    def unpack(self, packed: Sequence[Any]) -> list[Any]:
        """Return the single states of packed arrays, in the rule's order."""
        leaves: list[Any] = [None] * len(self.shapes)
        for group, layout, array in zip(self.groups, self.layouts, packed, strict=True):
            for i, leaf in zip(group, [array] if layout is None else layout.split(array), strict=True):
                leaves[i] = leaf
        return leaves

    def __call__(self, *arrays: Any, **extra: Any) -> tuple[Any, ...]:
        """(weights, gradients of the fresh ones, packed states, step vector) -> (weights, packed states)."""
        n = len(self.fresh)
        m = self.given
        if self.together is not None and not extra:
            return self.together(*arrays)
        weights, given = arrays[:n], iter(arrays[n : n + m])
        leaves = self.unpack(arrays[n + m : -1])
        found = paired(given, self.fresh, self.by_row, weights)
        grads = [jnp.zeros_like(w) if g is None else g for g, w in zip(found, weights, strict=True)]
        new_weights, new_leaves = self.rule.apply(weights, grads, leaves, arrays[-1], **extra)
        kept = [w if f else old for f, w, old in zip(self.fresh, new_weights, weights, strict=True)]
        states = [
            new if owner is None or self.fresh[owner] else old
            for owner, new, old in zip(self.rule.owners, new_leaves, leaves, strict=True)
        ]
        return (*kept, *self.pack(states))
