"""Updates of fused parameters, by rules that were written for their pieces.

A Trainer counts, names and scales *pieces*: what a user gave a learning rate or froze, and what files of states name.
The arrays that a step updates are those that there are, and one of them may hold many pieces. :class:`Units` is the map
between the two, made once a plan.

There are two ways over it. Where a formula works on each element by itself (``Optimizer.by_element``), it works on the
fused array as it is: rates that differ between pieces are spread to broadcast against it, norms are taken piece by
piece, and pieces that are frozen are masked out (:class:`UnitRule`). Any other rule, of optax or of a user, sees the
pieces themselves: the program cuts the arrays apart before it and joins them after it (:class:`CutRule`).

States are named by the pieces either way, so that a state file does not depend on what is fused.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from weakref import ref

import jax
import jax.numpy as jnp
import numpy as np

from gluonx.deferred.core import Pending
from gluonx.deferred.rows import RowVariable
from gluonx.dtype import WIDE, keeping_64_bits
from gluonx.optimizer.lazily import RowGradient, paired
from gluonx.optimizer.optimizer import Optimizer
from gluonx.optimizer.packed import PackedRule, kind_of
from gluonx.optimizer.rules import FlatRule, for_arrays, unpack


class Units:
    """The arrays that a step updates, and the pieces in each.

    Parameters
    ----------
    pieces : sequence of Parameter
        What the Trainer trains, in its order.

    Attributes
    ----------
    params : list of Parameter
        The arrays: fused parameters in place of their pieces.
    members : list of tuple
        For each array the numbers of its pieces, None for one that is not trained.
    layouts : list
        For each array where its pieces lie; None for one that is no fused one.
    is_plain : bool
        Whether nothing is fused.
    """

    def __init__(self, pieces: Sequence[Any]) -> None:
        number = {id(piece): k for k, piece in enumerate(pieces)}
        self.params: list[Any] = list(dict.fromkeys(piece._whole for piece in pieces))
        self.members: list[tuple[int | None, ...]] = []
        self.layouts: list[Any] = []
        for param in self.params:
            fused = id(param) not in number
            self.members.append(tuple(number.get(id(p)) for p in (param.pieces if fused else (param,))))
            self.layouts.append(param.layout if fused else None)
        self.count = len(pieces)
        self.is_plain = not any(layout is not None for layout in self.layouts)
        self.owner_of = {k: i for i, numbers in enumerate(self.members) for k in numbers if k is not None}

    @property
    def key(self) -> Any:
        """The key of what the update depends on beside the arrays' shapes."""
        return None if self.is_plain else (tuple(self.members), tuple(self.layouts))

    def variables(self) -> list[Any]:
        """Return one object for each array, whose settable attribute ``fresh`` tells whether its gradient is new."""
        return [
            _Share(param._handle.variable)
            if None in numbers and _others_train(param, numbers)
            else param._handle.variable
            for param, numbers in zip(self.params, self.members, strict=True)
        ]

    def by_row(self) -> frozenset[int]:
        """Return the arrays whose gradient is kept by rows."""
        return frozenset(k for k, p in enumerate(self.params) if type(p._handle.variable) is RowVariable)

    def of_fresh(self, fresh: Sequence[bool]) -> list[int]:
        """Return the numbers of the pieces in the arrays that are fresh."""
        return [k for numbers, f in zip(self.members, fresh, strict=True) if f for k in numbers if k is not None]

    def cut(self, arrays: Sequence[Any]) -> list[Any]:
        """Return the trained pieces of arrays, in the Trainer's order."""
        found: list[Any] = [None] * self.count
        for array, numbers, layout in zip(arrays, self.members, self.layouts, strict=True):
            for i, k in enumerate(numbers):
                if k is not None:
                    found[k] = array if layout is None else layout.part(array, i)
        return found

    def joined(self, pieces: Sequence[Any], arrays: Sequence[Any]) -> list[Any]:
        """Return the arrays of pieces; what is not trained is as in `arrays`."""
        found: list[Any] = []
        for array, numbers, layout in zip(arrays, self.members, self.layouts, strict=True):
            if layout is None:
                found.append(pieces[numbers[0]])  # type: ignore[index]
            else:
                old = layout.split(array)
                found.append(layout.join([o if k is None else pieces[k] for k, o in zip(numbers, old, strict=True)]))
        return found

    def init(self, rule: Any, weights: Sequence[Any]) -> Any:
        """First states: of the arrays, or of their pieces where the rule is one for pieces."""
        return rule.init(weights if self.is_plain or isinstance(rule, UnitRule) else self.cut(weights))

    def packed(
        self,
        optimizer: Optimizer,
        rule: FlatRule,
        leaves: Sequence[Any],
        fresh: tuple[bool, ...],
        weights: Sequence[Any],
    ) -> tuple[PackedRule, Any]:
        """Return the rule with its small states together, and the update of the arrays by it.

        Parameters
        ----------
        optimizer : Optimizer
        rule : FlatRule
            The optimizer's.
        leaves : sequence
            Its states.
        fresh : sequence of bool
            Which arrays have a gradient.
        weights : sequence of ndarray
        """
        places = [w._read().devices() for w in weights]
        spread = [len(devices) > 1 for devices in places]
        cuts = not self.is_plain and not isinstance(rule, UnitRule)
        home = self.owner_of if cuts else range(len(fresh))
        count = self.count if cuts else len(fresh)
        own = tuple(fresh[home[k]] for k in range(count))
        sparse = self.by_row()
        alone = frozenset(k for k in range(count) if spread[home[k]] or home[k] in sparse)
        # XLA makes few kernels of many small updates for a GPU by itself, and fewer than of one that is cut apart.
        on_gpu = any(device.platform not in ("cpu", "tpu") for devices in places for device in devices)
        joins = not sparse and self.is_plain and self._by_element(optimizer) and not optimizer.by_index and not on_gpu
        structs = [jax.ShapeDtypeStruct(w.shape, w.dtype) for w in weights] if joins else None
        own_sparse = frozenset(k for k in range(count) if home[k] in sparse)
        packed = PackedRule(rule, [x.shape for x in leaves], [x.dtype for x in leaves], own, alone, structs, own_sparse)
        return packed, CutRule(packed, self, fresh) if cuts else packed

    def home_of(self, rule: FlatRule, leaf: int) -> int:
        """Return the array whose device a state goes to."""
        owner = rule.owners[leaf] or 0
        return owner if self.is_plain or isinstance(rule, UnitRule) else self.owner_of[owner]

    # ---------------------------------------------------------------- states by name

    def leaf_keys(self, rule: Any, names: Sequence[str]) -> list[Any]:
        """Give a name for each state: the piece's in place of its number; for one of a fused array a tuple of names."""
        keys: list[Any] = []
        for leaf, owner, place in zip(rule.leaf_names, rule.owners, rule.places, strict=True):
            if owner is None:
                keys.append(leaf if place is None else f"{names[place]}/{kind_of(leaf, place)}")
                continue
            kind = kind_of(leaf, owner)
            numbers = self.members[owner] if isinstance(rule, UnitRule) else (owner,)
            found = tuple(None if k is None else f"{names[k]}/{kind}" for k in numbers)
            whole = not isinstance(rule, UnitRule) or self.layouts[owner] is None
            keys.append(found[0] if whole else found)
        return keys

    def by_name(self, rule: Any, keys: Sequence[Any], leaves: Sequence[Any]) -> dict[str, Any]:
        """States of single pieces by name."""
        found: dict[str, Any] = {}
        for key, owner, leaf in zip(keys, rule.owners, leaves, strict=True):
            if type(key) is tuple:
                parts = self.layouts[owner].split(leaf)
                found.update((k, np.asarray(part)) for k, part in zip(key, parts, strict=True) if k is not None)
            else:
                found[key] = leaf
        return found

    def from_names(
        self, rule: Any, keys: Sequence[Any], kept: Mapping[str, Any], leaves: Sequence[Any]
    ) -> tuple[list[Any], dict[str, Any]]:
        """`leaves` with what there is under their names in their place, and what was not used."""
        rest = dict(kept)
        found = []
        for key, owner, leaf in zip(keys, rule.owners, leaves, strict=True):
            if type(key) is not tuple:
                old = rest.pop(key, None)
                found.append(old if old is not None and old.shape == leaf.shape else leaf)
                continue
            layout = self.layouts[owner]
            held = {i: rest.pop(k) for i, k in enumerate(key) if k in rest}
            held = {i: old for i, old in held.items() if old.shape == layout.shapes[i]}
            if held:
                own = layout.split(np.asarray(leaf))
                leaf = np.asarray(layout.join([np.asarray(held.get(i, part)) for i, part in enumerate(own)]))
            found.append(leaf)
        return found, rest

    def shapes_by_name(self, keys: Sequence[Any], owners: Sequence[Any], shapes: Sequence[Any]) -> dict[str, Any]:
        """Return the shapes of the states of single pieces by name."""
        found: dict[str, Any] = {}
        for key, owner, shape in zip(keys, owners, shapes, strict=True):
            if type(key) is tuple:
                found.update((k, s) for k, s in zip(key, self.layouts[owner].shapes, strict=True) if k is not None)
            else:
                found[key] = shape
        return found

    # ---------------------------------------------------------------- rules

    def flat_rule(self, optimizer: Optimizer, weights: Sequence[Any], indices: Sequence[Any]) -> FlatRule:
        """Return the optimizer's rule for these arrays (or, where it must see them, for their pieces)."""
        if self.is_plain or not self._by_element(optimizer):
            structs = weights if self.is_plain else self.cut_structs(weights)
            rule = optimizer.flat_rule(structs, indices)
            assert rule is not None, "steps written by hand are taken without a plan"
            return rule
        own = [
            indices[numbers[0]]  # type: ignore[index]
            if layout is None
            else tuple(None if k is None else indices[k] for k in numbers)
            for numbers, layout in zip(self.members, self.layouts, strict=True)
        ]
        tx = optimizer.own_rule(own)
        key = (tx, self.key, tuple((tuple(w.shape), np.dtype(w.dtype)) for w in weights))
        found = optimizer._rules.get(key)
        if found is None:
            found = optimizer._rules[key] = UnitRule(tx, weights, self)
        return found

    def cut_structs(self, weights: Sequence[Any]) -> list[Any]:
        """Return the shapes and dtypes of the pieces of arrays."""
        with keeping_64_bits(any(w.dtype in WIDE for w in weights)):
            return [
                jax.ShapeDtypeStruct(s.shape, s.dtype)
                for s in jax.eval_shape(self.cut, [jax.ShapeDtypeStruct(w.shape, w.dtype) for w in weights])
            ]

    def _by_element(self, optimizer: Optimizer) -> bool:
        return optimizer.by_element and optimizer.is_declared()


def _others_train(param: Any, numbers: Sequence[int | None]) -> bool:
    """Return whether pieces that are trained belong to another Trainer."""
    return any(k is None and p.grad_req != "null" for k, p in zip(numbers, param.pieces, strict=True))


class _Share:
    """One Trainer's view of a gradient that several share: ``fresh`` where it is another than the last one it saw."""

    __slots__ = ("seen", "variable")

    def __init__(self, variable: Any) -> None:
        self.variable = variable
        self.seen: tuple[Any, ...] = ()

    @property
    def fresh(self) -> bool:
        value = self.variable.grad.value
        return self.variable.fresh and all(seen() is not value for seen in self.seen)

    @fresh.setter
    def fresh(self, fresh: bool) -> None:
        value = self.variable.grad.value
        # Weak, since who holds a gradient keeps it in memory. A pending one is replaced by its value when it is read.
        held = () if fresh else (value, value.value if isinstance(value, Pending) else None)
        self.seen = tuple([ref(v) for v in held if v is not None])

    @property
    def grad(self) -> Any:
        return self.variable.grad


class UnitRule(FlatRule):
    """A rule by element on arrays of which some are fused.

    Parameters
    ----------
    tx
        A rule of gluonx.
    weights
        The arrays.
    units : Units
    """

    __slots__ = ("_pieces", "layouts", "members")

    def __init__(self, tx: Any, weights: Sequence[Any], units: Units) -> None:
        super().__init__(tx, weights)
        self.members, self.layouts, self._pieces = units.members, units.layouts, units.count

    @property
    def pieces(self) -> int:
        """The number of parameters with numbers in the step vector."""
        return self._pieces

    def _numbers(self, hyper: Any) -> dict[str, Any]:
        return for_arrays(unpack(hyper, self.pieces), self.members, self.layouts)

    def apply(
        self, weights: Sequence[Any], grads: Sequence[Any], state: Sequence[Any], hyper: Any, **extra: Any
    ) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
        """Do one update; see :meth:`FlatRule.apply`. Pieces that are not trained, and their states, stay."""
        new_weights, new_state = super().apply(weights, grads, state, hyper, **extra)
        masks: list[Any] = [
            None if None not in numbers else layout.spread([k is not None for k in numbers])
            for numbers, layout in zip(self.members, self.layouts, strict=True)
        ]
        kept = [
            new if mask is None else jnp.where(mask, new, old)
            for mask, new, old in zip(masks, new_weights, weights, strict=True)
        ]
        states = [
            new if owner is None or masks[owner] is None else jnp.where(masks[owner], new, old)
            for owner, new, old in zip(self.owners, new_state, state, strict=True)
        ]
        return tuple(kept), tuple(states)


class CutRule:
    """A packed rule on pieces, for arrays of which some are fused.

    Parameters
    ----------
    rule : PackedRule
        On the pieces.
    units : Units
    fresh : tuple of bool
        Which arrays have a gradient.
    """

    __slots__ = ("by_row", "fresh", "rule", "units")

    def __init__(self, rule: PackedRule, units: Units, fresh: tuple[bool, ...]) -> None:
        self.rule, self.units, self.fresh = rule, units, fresh
        self.by_row = units.by_row()

    @property
    def given(self) -> int:
        """The number of arrays that the gradients are."""
        return sum(self.fresh) + sum(self.fresh[k] for k in self.by_row)

    @property
    def pieces(self) -> int:
        """The number of parameters with numbers in the step vector."""
        return self.units.count

    def __call__(self, *arrays: Any, value_fn: Any = None, **extra: Any) -> tuple[Any, ...]:
        """(arrays, gradients of the fresh ones, packed states, step vector) -> (arrays, packed states)."""
        n, m = len(self.fresh), self.given
        weights, given = arrays[:n], iter(arrays[n : n + m])
        found = paired(given, self.fresh, self.by_row, weights)
        grads = [w if g is None else g for g, w in zip(found, weights, strict=True)]
        cut = [g for g, f in zip(self.units.cut(grads), self.rule.fresh, strict=True) if f]
        own_grads = [part for g in cut for part in (g if type(g) is RowGradient else (g,))]
        if value_fn is not None:
            extra["value_fn"] = lambda pieces: value_fn(self.units.joined(pieces, weights))
        out = self.rule(*self.units.cut(weights), *own_grads, *arrays[n + m :], **extra)
        k = self.units.count
        return (*self.units.joined(out[:k], weights), *out[k:])
