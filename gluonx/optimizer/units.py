"""The units that a formula works on, which may differ from the arrays of a step.

A Trainer counts, names and scales *pieces*: parameters with their own learning rate, freezing, and name in files of
states. A step updates *arrays*, of which one may hold many pieces (`gluonx.block.fusion`). A formula works on *units*,
and :class:`Units` is the map between the three, in one of three ways:

- A formula that works on each element by itself (``Optimizer.by_element``) takes a fused array as it is. Rates that
  differ between pieces are spread to broadcast against it, norms are taken piece by piece, and what is not trained, or
  has no new gradient, is masked out.
- For the same reason such a formula takes the small arrays of a dtype end to end as one: it is traced once and not once
  a weight, the program has one loop where it would have hundreds, and their states are one array each.
- Any other rule, of optax or of a user, sees the pieces themselves: arrays are cut apart before it and joined after it.
  Its small states travel together all the same (:func:`states_together`).

States are named by the pieces each way, so that a state file does not depend on what is fused or joined.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer

from gluonx.common import policy
from gluonx.common.packing import Groups
from gluonx.deferred.values import interrupts
from gluonx.dtype import WIDE, keeping_64_bits
from gluonx.optimizer.numbers import Hyper

if TYPE_CHECKING:
    from gluonx.optimizer.optimizer import Optimizer
    from gluonx.optimizer.rules import FlatRule


@dataclass(frozen=True)
class Units:
    """The units of a step. Equal ones compare equal, so that operators made for one are shared.

    Parameters
    ----------
    pieces : tuple of tuple
        For each array the numbers of its pieces, None for one that is not trained.
    places : tuple
        For each array the `gluonx.common.packing.Layout` of its pieces; None for one that is a single piece.
    cuts : bool
        Whether units are pieces.
    groups : Groups, optional
        For each unit its arrays, if arrays are joined.

    Examples
    --------
    >>> units = Units(((0,), (1,)), (None, None)).joining([(0, 1)], [(2,), (1,)])
    >>> [unit.tolist() for unit in units.gather([jnp.ones(2), jnp.zeros(1)])]
    [[1.0, 1.0, 0.0]]
    """

    pieces: tuple[tuple[int | None, ...], ...]
    places: tuple[Any, ...]
    cuts: bool = False
    groups: Groups | None = None

    @classmethod
    def plain(cls, count: int) -> Units:
        """Return the units of so many arrays with one piece each."""
        return cls(tuple([(i,) for i in range(count)]), (None,) * count)

    def joining(self, groups: Sequence[tuple[int, ...]], shapes: Sequence[Any]) -> Units:
        """Return these units, with arrays of single pieces, of `shapes`, joined according to `groups`."""
        return replace(self, groups=Groups.of(groups, shapes))

    @cached_property
    def count(self) -> int:
        """The number of pieces that are trained."""
        return len(self.array_of)

    @cached_property
    def array_of(self) -> dict[int, int]:
        """The array of each piece."""
        return {k: i for i, numbers in enumerate(self.pieces) for k in numbers if k is not None}

    @cached_property
    def members(self) -> tuple[tuple[int | None, ...], ...]:
        """The numbers of the pieces of each unit, None for one that is not trained."""
        if self.cuts:
            return tuple([(k,) for k in range(self.count)])
        if self.groups is not None:
            return tuple([tuple([self.pieces[i][0] for i in own]) for own in self.groups.members])
        return self.pieces

    @cached_property
    def layouts(self) -> tuple[Any, ...]:
        """The layout of the pieces of each unit; None for a single piece."""
        if self.cuts:
            return (None,) * self.count
        return self.places if self.groups is None else self.groups.layouts

    def arrays_of(self, unit: int) -> tuple[int, ...]:
        """Return the arrays that a unit consists of, or the one that contains it."""
        if self.cuts:
            return (self.array_of[unit],)
        return (unit,) if self.groups is None else self.groups.members[unit]

    def of_fresh(self, fresh: Sequence[bool]) -> list[int]:
        """Return the numbers of the pieces in the fresh arrays."""
        return [k for numbers, f in zip(self.pieces, fresh, strict=True) if f for k in numbers if k is not None]

    # ---------------------------------------------------------------- arrays to units and back

    def gather(self, arrays: Sequence[Any]) -> list[Any]:
        """Return the units of arrays."""
        if self.cuts:
            found: list[Any] = [None] * self.count
            for array, numbers, layout in zip(arrays, self.pieces, self.places, strict=True):
                for i, k in enumerate(numbers):
                    if k is not None:
                        found[k] = array if layout is None else layout.part(array, i)
            return found
        return list(arrays) if self.groups is None else self.groups.join(arrays)

    def scatter(self, units: Sequence[Any], arrays: Sequence[Any]) -> list[Any]:
        """Undo `gather`; pieces that are not trained are those of `arrays`."""
        if self.cuts:
            return [
                units[numbers[0]]  # type: ignore[index]
                if layout is None
                else layout.join([old if k is None else units[k] for k, old in zip(numbers, layout.split(array))])
                for array, numbers, layout in zip(arrays, self.pieces, self.places, strict=True)
            ]
        return list(units) if self.groups is None else self.groups.split(units)

    def numbers(self, numbers: Hyper) -> dict[str, Any]:
        """Return the numbers of a step for the units, as `gluonx.optimizer.rules.per_parameter` takes them."""
        found = numbers._asdict()
        if any(layout is not None for layout in self.layouts):
            each = {name: self._spread(found[name]) for name in ("lr", "wd", "t")}
            found.update(each, layouts=self.layouts)
        return found

    def _spread(self, number: Any) -> Any:
        if jnp.ndim(number) == 0:
            return number
        one = jnp.float32(1)  # for pieces that are not trained
        return tuple([
            number[own[0]] if layout is None else layout.spread([one if k is None else number[k] for k in own])
            for own, layout in zip(self.members, self.layouts, strict=True)
        ])  # fmt: skip

    def masks(self, fresh: Sequence[bool]) -> list[Any]:
        """Return for each unit what changes: all (True), nothing (False), or an array that is True where it changes."""
        on = [[k is not None and fresh[self.array_of[k]] for k in own] for own in self.members]
        return [
            own[0] if len(set(own)) == 1 else layout.spread(own) for own, layout in zip(on, self.layouts, strict=True)
        ]

    # ---------------------------------------------------------------- states by name

    def init(self, rule: FlatRule, arrays: Sequence[Any]) -> tuple[Any, ...]:
        """Make the first states of the units of arrays, on the host where arrays are joined."""
        joined = {k for own in self.groups.members if len(own) > 1 for k in own} if self.groups is not None else ()
        arrays = [np.asarray(a) if k in joined and not isinstance(a, Tracer) else a for k, a in enumerate(arrays)]
        with keeping_64_bits(any(a.dtype in WIDE for a in arrays)):
            return rule.init(self.gather(arrays))

    def leaf_keys(self, rule: FlatRule, names: Sequence[str]) -> list[Any]:
        """Return a name for each state, with the piece's name instead of its number.

        For several pieces a tuple of names.
        """
        keys: list[Any] = []
        for leaf, owner, place in zip(rule.leaf_names, rule.owners, rule.places, strict=True):
            if place is None:
                keys.append(leaf)
                continue
            kind = kind_of(leaf, place)
            found = [None if k is None else f"{names[k]}/{kind}" for k in self.members[place]]
            several = owner is not None and self.layouts[place] is not None
            keys.append(tuple(found) if several else next(key for key in found if key is not None))
        return keys

    def by_name(self, rule: FlatRule, keys: Sequence[Any], leaves: Sequence[Any]) -> dict[str, Any]:
        """Return the states of single pieces by name."""
        found: dict[str, Any] = {}
        for key, owner, leaf in zip(keys, rule.owners, leaves, strict=True):
            if type(key) is tuple:
                parts = self.layouts[owner].split(leaf)  # type: ignore[index]
                found.update((k, np.asarray(part)) for k, part in zip(key, parts, strict=True) if k is not None)
            else:
                found[key] = leaf
        return found

    def from_names(
        self, rule: FlatRule, keys: Sequence[Any], kept: Mapping[str, Any], leaves: Sequence[Any]
    ) -> tuple[list[Any], dict[str, Any]]:
        """Return `leaves` replaced by the states under their names, and the states that were not used."""
        rest = dict(kept)
        found = []
        for key, owner, leaf in zip(keys, rule.owners, leaves, strict=True):
            if type(key) is not tuple:
                old = rest.pop(key, None)
                found.append(old if old is not None and old.shape == leaf.shape else leaf)
                continue
            layout = self.layouts[owner]  # type: ignore[index]
            held = {i: rest.pop(k) for i, k in enumerate(key) if k in rest}
            held = {i: old for i, old in held.items() if old.shape == layout.shapes[i]}
            if held:
                own = layout.split(np.asarray(leaf))
                leaf = np.asarray(layout.join([np.asarray(held.get(i, part)) for i, part in enumerate(own)]))
            found.append(leaf)
        return found, rest


def kind_of(name: str, owner: int) -> str:
    """Return the name of a state leaf without the position of its weight, the last such number in it.

    Examples
    --------
    >>> kind_of("1/mean", 1), kind_of("0/mu/1", 1)
    ('mean', '0/mu')
    """
    parts = name.split("/")
    del parts[len(parts) - 1 - parts[::-1].index(str(owner))]
    return "/".join(parts)


def states_together(rule: FlatRule, leaves: Sequence[Any], alone: frozenset[int] | None) -> Groups:
    """Return which states of a rule travel as one array.

    An array that crosses the border of a program costs a microsecond or two whatever it holds, and a net of small
    layers has hundreds of states. So the small ones of one kind (all first moments, say) lie end to end in one vector;
    the program cuts it apart and puts it together again, which XLA does in passing.

    Parameters
    ----------
    rule : FlatRule
    leaves : sequence
        Its states, for their shapes and dtypes.
    alone : frozenset of int, optional
        Units whose states are not to be joined, because they are spread over several devices; None for all units.
    """
    found: dict[Any, list[int]] = {}
    for i, (name, owner, leaf) in enumerate(zip(rule.leaf_names, rule.owners, leaves, strict=True)):
        if owner is None or alone is None or owner in alone or np.prod(leaf.shape, dtype=np.int64) > policy.PACKED:
            found[i] = [i]
        else:
            found.setdefault((kind_of(name, owner), np.dtype(leaf.dtype)), []).append(i)
    return Groups.of(found.values(), [leaf.shape for leaf in leaves])


def arranged(
    optimizer: Optimizer, arrays: Units, weights: Sequence[Any], indices: Sequence[Any], alone: frozenset[int]
) -> tuple[Units, FlatRule]:
    """Return the units that an optimizer's formula works on, and its rule for these.

    Parameters
    ----------
    optimizer : Optimizer
    arrays : Units
        The map between pieces and the arrays of the step.
    weights : sequence
        The arrays, or their shapes and dtypes.
    indices : sequence
        The index under which the optimizer knows each piece.
    alone : frozenset of int
        Arrays that are not to be joined with others.
    """
    by_element = optimizer.by_element and optimizer.is_declared() and not optimizer.alters_gradients
    structs = [jax.ShapeDtypeStruct(w.shape, w.dtype) for w in weights]
    if arrays.count == len(arrays.pieces) and not any(arrays.places):
        if by_element and not (optimizer.by_index or optimizer.draws):
            small: dict[Any, list[int]] = {}
            for k, w in enumerate(structs):
                single = k in alone or np.prod(w.shape, dtype=np.int64) > policy.PACKED
                small.setdefault(k if single else np.dtype(w.dtype), []).append(k)
            if len(small) < len(structs):
                units = arrays.joining([tuple(own) for own in small.values()], [w.shape for w in structs])
                rule = _rule(optimizer, optimizer.own_rule(indices), units, structs)
                if None not in rule.owners:
                    return units, rule
        return arrays, _rule(optimizer, optimizer.own_rule(indices), arrays, structs)
    if not by_element:
        units = replace(arrays, cuts=True)
        return units, _rule(optimizer, optimizer.own_rule(indices), units, structs)
    own = [
        indices[numbers[0]]  # type: ignore[index]
        if layout is None
        else tuple(None if k is None else indices[k] for k in numbers)
        for numbers, layout in zip(arrays.pieces, arrays.places, strict=True)
    ]
    return arrays, _rule(optimizer, optimizer.own_rule(own), arrays, structs)


def _rule(optimizer: Optimizer, tx: Any, units: Units, structs: Sequence[Any]) -> FlatRule:
    """Return a rule for the units of arrays of these shapes and dtypes."""
    assert tx is not None, "steps written by hand are taken without a plan"
    with interrupts.held(), keeping_64_bits(any(s.dtype in WIDE for s in structs)):
        return optimizer._fix(tx, jax.eval_shape(units.gather, structs))
