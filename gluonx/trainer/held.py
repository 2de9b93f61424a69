"""The states of an optimizer as they lie between two steps, and where arrays lie."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from itertools import repeat
from operator import methodcaller
from typing import Any

import numpy as np
from jax.sharding import Sharding

from gluonx.block.parameter import Parameter
from gluonx.common.packing import Groups
from gluonx.deferred.record.graph import at_one_moment
from gluonx.deferred.values.core import aval_of, new_handle
from gluonx.dtype import on_device
from gluonx.optimizer.rules import FlatRule
from gluonx.optimizer.units import Units, states_together
from gluonx.sharding import is_spread, replicated
from gluonx.trainer.replicas import devices_of

READ, ON_HOST = methodcaller("_read"), methodcaller("asnumpy")


@dataclass(frozen=True, slots=True, eq=False)
class Held:
    """The optimizer's states between two steps; a change replaces the whole object."""

    active: list[int] = field(default_factory=list)  # positions of the trained parameters
    params: list[Parameter] = field(default_factory=list)  # the same, a fused one in place of its pieces
    units: Units = field(default_factory=lambda: Units.plain(0))  # the units of these arrays that the rule works on
    rule: FlatRule | None = None
    together: Groups | None = None  # which of the single states are stored as one array
    keys: list[Any] = field(default_factory=list)  # the names of the single states
    arrays: list[Any] = field(default_factory=list)  # the stored states, on the first device
    copies: list[list[Any]] = field(default_factory=list)  # the same for each further device
    resting: dict[str, Any] = field(default_factory=dict)  # by name, on the host: states of frozen parameters

    def leaves(self, read: Callable[[Any], Any]) -> list[Any]:
        """Return the single states, after `read` has been applied to each array."""
        assert self.together is not None, "made by the plan"
        return self.together.split([read(s) for s in at_one_moment(self.arrays)])  # between two steps of any thread

    def put(self, leaves: Sequence[Any]) -> None:
        """Replace the single states on all devices: all of them, or none if the call is interrupted."""
        assert self.together is not None, "made by the plan"
        joined = self.together.join(leaves)
        values = [on_device(a, sharding_of(h, a.shape)) for h, a in zip(self.arrays, joined, strict=True)]
        for own in self.copies:  # no buffer is shared
            values += [on_device(np.asarray(a), sharding_of(h, a.shape)) for h, a in zip(own, joined, strict=True)]
        every = [*self.arrays, *[s for each in self.copies for s in each]]
        deque(map(setattr, every, repeat("value"), values), maxlen=0)

    def by_name(self, read: Callable[[Any], Any]) -> dict[str, Any]:
        """Return the single states by name, including those of frozen parameters."""
        if self.rule is None:
            return dict(self.resting)
        return {**self.resting, **self.units.by_name(self.rule, self.keys, self.leaves(read))}

    def adapted(
        self,
        active: list[int],
        params: list[Parameter],
        units: Units,
        rule: FlatRule,
        names: list[str],
        spread: frozenset[int],
    ) -> Held:
        """Return the states for another rule: the present ones where the names agree, else initial ones.

        Parameters
        ----------
        active, params, units, rule
            The new values of the attributes.
        names : list of str
            The names of the pieces.
        spread : frozenset of int
            The numbers of the arrays whose states are stored each by itself.
        """
        weights, devices = [p._handle for p in params], devices_of(params)
        keys, kept = units.leaf_keys(rule, names), self.rule is rule and self.units == units
        leaves, resting = (self.leaves(READ), self.resting) if kept else self._found(units, rule, keys, weights)
        alone = frozenset(k for k in range(rule.count) if units.arrays_of(k)[0] in spread)
        together = states_together(rule, leaves, alone if units.groups is None else None)
        homes = [weights[units.arrays_of(rule.owners[own[0]] or 0)[0]] for own in together.members]
        if kept and self.together == together:
            arrays, copies = self.arrays, self.copies
            bring(arrays, homes)
        else:
            arrays, copies = self._laid(together, leaves, homes), []
        if len(copies) != len(devices) - 1:
            now = [s.asnumpy() for s in arrays]
            copies = [[new_handle(on_device(a, d.place)) for a in now] for d in devices[1:]]
        for own, device in zip(copies, devices[1:], strict=True):
            bring(own, [params[0]._replicas[device]] * len(own))  # type: ignore[index]
        return replace(
            self, active=active, params=params, units=units, rule=rule, together=together, keys=keys, arrays=arrays,
            copies=copies, resting=resting,
        )  # fmt: skip

    def _found(
        self, units: Units, rule: FlatRule, keys: list[Any], weights: list[Any]
    ) -> tuple[list[Any], dict[str, Any]]:
        """Return the single states for another rule, and by name the states of frozen parameters.

        A plan for devices that are not there (`gluonx.parallel.planning`) has states of shapes alone.
        """
        fresh = units.init(rule, [w._read() for w in weights])
        return units.from_names(rule, keys, self.by_name(ON_HOST), fresh)

    def _laid(self, together: Groups, leaves: list[Any], homes: list[Any]) -> list[Any]:
        """Return new arrays that hold the states `leaves`; each lies as the weight in `homes` does."""
        on_mesh = {i for own, h in zip(together.members, homes, strict=True) if lies_on_mesh(h._read()) for i in own}
        # A state that leaves a mesh goes by way of the host: its weight may be free to follow others.
        leaves = [np.array(a) if i not in on_mesh and lies_on_mesh(a) else a for i, a in enumerate(leaves)]
        states = together.join(leaves)
        return [new_handle(on_device(a, sharding_of(h, a.shape))) for a, h in zip(states, homes, strict=True)]


def sharding_of(handle: Any, shape: tuple[int, ...]) -> Sharding | None:
    """Return the sharding of a state of this shape: that of `handle`, or None if that array is free to follow others.

    A state whose shape differs from its weight's, such as a count, is whole on every device.
    """
    value = handle._read()
    if not value.committed:
        return None
    return value.sharding if value.shape == tuple(shape) else replicated(value.sharding)


def bring(states: list[Any], weights: list[Any]) -> None:
    """Move states to their weights, which may have been moved to other devices or sharded anew."""
    for state, weight in zip(states, weights, strict=True):
        target, array = aval_of(weight._read()), state._read()
        sharding = sharding_of(weight, state.shape) if target.spread else target.sharding
        if aval_of(array).sharding != sharding:
            state.value, state.aval = on_device(array if target.spread else state.asnumpy(), sharding), None


def lies_on_mesh(array: object) -> bool:
    """Return whether an array is spread over devices."""
    return is_spread(getattr(array, "sharding", None))


MIXED = object()


def common_sharding(weights: list[Any]) -> Any:
    """Return the sharding for numbers that all weights need: None on the default device, MIXED if weights differ."""
    avals = [w.aval if w.aval is not None else aval_of(w._read()) for w in weights]
    if all(a.sharding is None for a in avals):
        return None
    shardings = {replicated(a.sharding) for a in avals if a.spread}
    return shardings.pop() if len(shardings) == 1 and all(a.spread for a in avals) else MIXED
