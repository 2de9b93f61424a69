"""The plan of a step: what is found once, and used by every step until something is exchanged.

A plan names the arrays that a step takes and gives (weights, gradients, states, the vector of numbers) and the operator
that makes the ones of the others. Making one looks at every parameter; a steady step only asks :meth:`Plan.fits`.
"""

from __future__ import annotations

import functools
from collections import deque
from dataclasses import replace
from itertools import repeat
from typing import Any, cast
from weakref import WeakKeyDictionary, ref

from gluonx.block.parameter import Parameter
from gluonx.common.thresholds import threshold
from gluonx.deferred.contracts import StepRequest
from gluonx.deferred.core import Attached, Packed, Pending, new_handle
from gluonx.deferred.derived import DerivedOp
from gluonx.deferred.program_cache import memo
from gluonx.deferred.replicas import joining
from gluonx.deferred.rows import RowVariable
from gluonx.deferred.shapes import Gone
from gluonx.dtype import on_device
from gluonx.optimizer import Optimizer
from gluonx.optimizer.numbers import StepVector
from gluonx.optimizer.rules import FlatRule, Update
from gluonx.optimizer.units import Packing, Units, arranged
from gluonx.sharding import replicated
from gluonx.trainer.held import MIXED, ON_HOST, READ, Held, bring, common_place, states_of
from gluonx.trainer.replicas import devices_of, gradients_of, leaves_of, new_gradients, row_counts, variable_of
from gluonx.trainer.states import Stateful

UPDATES: dict[Any, DerivedOp] = memo()
_GONE = "this gradient was given up when the step ended, because the Trainer was made with keep_grads=False"
_MOST_UPDATES = threshold("updates.known")
_VALUED: WeakKeyDictionary[DerivedOp, DerivedOp] = WeakKeyDictionary()  # updates that are told the loss


class Plan:
    """The work of a step, found once: operator, handles, and which parameters take part."""

    def __init__(
        self,
        optimizer: Optimizer,
        op: DerivedOp,
        update: Update,
        params: list[Parameter],
        held: Held,
        state: list[Any],
        vector: StepVector,
        place: Any,
        waiting: list[Parameter],
        copies: list[list[Any]],
        keeps_grads: bool,
    ) -> None:
        self.held = held
        self.waiting = waiting  # parameters that have no value, since no forward has reached them
        self.optimizer = optimizer
        own_rule = type(optimizer).rule is not Optimizer.rule  # of a user's class, which knows when it is another
        self.settings = functools.partial(optimizer.rule, held.active) if own_rule else optimizer._settings
        self.settings_then = self.settings()
        self.op, self.update = op, update
        self.params = list(dict.fromkeys(p._whole for p in params))
        self.latest = Attached.latest  # before the marks: what changes beside them is then looked at again
        self.marks = marks_of(self.params)
        self.fresh_indices = [held.active[k] for k in held.units.of_fresh(update.fresh)]
        self.weights = [p._handle for p in held.params]
        self.variables = variables_of(held)
        # A table whose gradient is kept by rows is a constant of the look-ups, and the same leaf of the program here.
        self.leaves = leaves_of(self.weights)
        self.grads = [g for w, f in zip(self.weights, update.fresh, strict=True) if f for g in gradients_of(w.variable)]
        self.state = state
        self.vector, self.place = vector if update.advances else None, place
        self.targets = [*self.weights, *state, *([vector.handle] if update.advances else [])]
        # What further devices have: weights and states.
        self.copies = [([p._every()[k] for p in held.params], states) for k, states in enumerate(copies, 1)]
        self.counts = row_counts(w for w, f in zip(self.weights, update.fresh, strict=True) if f)
        if copies:
            self.variables = [variable_of(p) for p in held.params]
            self.targets = [t for each in [(self.weights, state), *self.copies] for half in each for t in half]
        n, m = len(self.weights), len(self.grads)
        self.owned = (*range(n), *range(n + m, n + m + len(state)))
        # The same handles at each step, of a plan without copies.
        args, release = [*self.leaves, *self.grads, *state, vector.handle], functools.partial(give_up, self.grads)
        self.request = StepRequest(op, args, self.targets, self.owned, None if keeps_grads else release, n)

    def every_weight(self) -> list[Any]:
        """Return the weights of all devices, device by device."""
        return [*self.weights, *[w for weights, _ in self.copies for w in weights]]

    def fresh_weights(self) -> list[list[Any]]:
        """Return the weights of each device, of the parameters of which any device has a new gradient."""
        return [
            [w for w, f in zip(weights, self.update.fresh, strict=True) if f]
            for weights in [self.weights, *[weights for weights, _ in self.copies]]
        ]

    def replica_grads(self) -> list[list[Any]]:
        """Return the gradients of these, device by device, zeros where there is no new one."""
        return [[g for w in weights for g in new_gradients(w)] for weights in self.fresh_weights()]

    def spread(self) -> None:
        """Give the weights and states of the first device to the others, by way of the host: no buffer is shared."""
        values = [h.asnumpy() for h in (*self.weights, *self.state)] if self.copies else []
        for weights, states in self.copies:
            for handle, value in zip((*weights, *states), values, strict=True):
                handle.value, handle.aval, handle.tape = on_device(value, handle._read().sharding), None, None

    def fits(self, optimizer: Optimizer) -> bool:
        """Return whether nothing was exchanged since: what the rule is made of, or the variable of a gradient.

        As long as no array of the process got another variable, no parameter is looked at.
        """
        if optimizer is not self.optimizer or self.settings() != self.settings_then:
            return False
        latest = Attached.latest
        if latest is not self.latest:
            if marks_of(self.params) != self.marks:
                return False
            self.latest = latest
        return True

    def last_value(self) -> Any:
        """Return a value that is another one after a step: the last state's, or the last weight's if there is none."""
        value = (self.state or self.weights)[-1].value
        return value.vector.value if type(value) is Packed else value

    def spend(self) -> None:
        """Mark the gradients as used."""
        deque(map(setattr, self.variables, repeat("fresh"), repeat(False)), maxlen=0)


def give_up(grads: list[Any]) -> None:
    """Let go of the values of gradients."""
    for g in grads:
        g.value, g.aval, g.tape = Gone(g.shape, g.dtype, _GONE), None, None


def told_value(op: DerivedOp) -> DerivedOp:
    """Return the update `op` with the loss as one more input, the same one for the same update."""
    found = _VALUED.get(op)
    if found is None:
        found = _VALUED[op] = DerivedOp("update", replace(cast(Update, op.fn), told=True))
        found.steady = op.steady
    return found


def marks_of(params: list[Parameter]) -> list[Any]:
    """Return the variables that the parameters' gradients go to; of one that has none, whether it is to have one."""
    return [p.grad_req if (h := p._handle) is None or h.variable is None else h.variable for p in params] + [
        h.variable for p in params if p._replicas is not None for h in p._replicas.values()
    ]


def arrays_of(pieces: list[Parameter]) -> tuple[list[Parameter], Units]:
    """Return the parameters whose arrays these pieces are in, and where."""
    number = {id(piece): k for k, piece in enumerate(pieces)}
    params = list(dict.fromkeys([piece._whole for piece in pieces]))
    fused = [id(p) not in number for p in params]
    members = [p.pieces if f else (p,) for p, f in zip(params, fused, strict=True)]  # type: ignore[attr-defined]
    numbers = tuple([tuple([number.get(id(own)) for own in each]) for each in members])
    return params, Units(numbers, tuple([p.layout if f else None for p, f in zip(params, fused, strict=True)]))  # type: ignore[attr-defined]


def variables_of(held: Held) -> list[Any]:
    """Return one object for each array, whose settable attribute ``fresh`` tells whether its gradient is new."""
    return [
        Share(param._handle.variable) if _others_train(param, numbers) else param._handle.variable
        for param, numbers in zip(held.params, held.units.pieces, strict=True)
    ]


def _others_train(param: Any, numbers: tuple[int | None, ...]) -> bool:
    """Return whether pieces that are trained belong to another Trainer."""
    return None in numbers and any(
        k is None and p.grad_req != "null" for k, p in zip(numbers, param.pieces, strict=True)
    )


class Share:
    """One Trainer's view of a gradient that several share: ``fresh`` where it is another than the last one it saw."""

    __slots__ = ("seen", "variable")

    def __init__(self, variable: Any) -> None:
        self.variable = variable
        self.seen: tuple[Any, ...] = ()

    @property
    def fresh(self) -> bool:
        """True where there is a new gradient; setting it to False notes the one that there is as used."""
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
        """The gradient."""
        return self.variable.grad


class Planned(Stateful):
    """The part of a Trainer that makes plans."""

    def _make_plan(self, active: list[int], waiting: list[Parameter], fresh: tuple[bool, ...] | None = None) -> Plan:
        """Return what a step does to the parameters at these positions, of which some are `fresh`."""
        optimizer = self._optimizer
        params, arrays = arrays_of([self._params[i] for i in active])
        weights, replicas = [p._handle for p in params], devices_of(params)
        by_row = frozenset(k for k, w in enumerate(weights) if type(w.variable) is RowVariable)
        devices = [w._read().devices() for w in weights]
        spread = {k for k, own in enumerate(devices) if len(own) > 1}
        # XLA makes few kernels of many small updates for a GPU by itself, and fewer than of one that is cut apart.
        on_gpu = any(device.platform not in ("cpu", "tpu") for own in devices for device in own)
        single = frozenset(range(len(weights))) if on_gpu else by_row | spread
        units, rule = arranged(optimizer, arrays, weights, active, single)
        keys = units.leaf_keys(rule, [self._names[i] for i in active])
        leaves, resting = self._state_leaves(rule, weights, units, keys)
        alone = frozenset(k for k in range(rule.count) if units.arrays_of(k)[0] in by_row | spread)
        packing = Packing(rule, leaves, None if units.groups else alone)
        homes = [weights[units.arrays_of(rule.owners[group[0]] or 0)[0]] for group in packing.groups]
        arrays, copies = self._state_arrays(self._held.is_of(rule, units), packing, leaves, homes, replicas, params[0])
        held = Held(active, params, units, rule, packing, keys, arrays, copies, resting)
        # Beside weights elsewhere the vector would come out there, and be another kind of input than it was.
        place = common_place(weights)
        advances = self._scaler is None and place is not MIXED and len(replicas) == 1
        update = Update(rule, units, fresh or (True,) * len(weights), by_row, packing, advances, optimizer.draws)
        op = self._update_op(update, weights, len(replicas))
        if self._scaler is not None:
            if len(replicas) > 1:
                self._scaler.replicate(replicas)
                copies = [[*own, *self._scaler.replicas[d]] for own, d in zip(copies, replicas[1:], strict=True)]
            else:
                self._scaler.lay_out(replicated(weights[0]._placed()) if place is MIXED else place)
            arrays = [*arrays, *self._scaler.arrays]
        return Plan(
            optimizer, op, update, self._params, held, arrays, self._vector, place, waiting, copies, self._keep_grads
        )

    def _update_op(self, update: Update, weights: list[Any], replicas: int) -> DerivedOp:
        """Give the update as an operator, on so many devices.

        The same update gives the same operator, also in another Trainer: nothing recompiles.
        """
        optimizer, scaler = self._optimizer, self._scaler
        key: Any = (
            type(optimizer),
            optimizer._settings(),
            tuple([(w.shape, w.dtype) for w in weights]),
            update.fresh,
            update.by_row,
            update.packing and update.packing.groups,
            update.units,
            update.advances,
            replicas,
            None if scaler is None else scaler.settings,
        )
        if optimizer.by_index or not optimizer.is_declared():
            key = (id(self), *key)  # what a user's class depends on is not known
            home = self._ops
        else:
            home = UPDATES
        op = home.get(key)
        if op is None:
            if len(home) >= _MOST_UPDATES:
                home.pop(next(iter(home)))
            op = DerivedOp("update", update) if scaler is None else DerivedOp("scaled_update", scaler.around(update))
            op.steady = home is UPDATES and scaler is None
            home[key] = op
            if replicas > 1:
                shared = 1 + (scaler is not None) + 2 * optimizer.draws
                op = home[key] = joining.joint(replicas, op, shared)
                op.random = False
        return op

    def _state_leaves(
        self, rule: FlatRule, weights: list[Any], units: Units, keys: list[Any]
    ) -> tuple[list[Any], dict[str, Any]]:
        """Return the states for `rule`, and those that rest: what there is under the same names, and fresh ones."""
        if self._held.is_of(rule, units):
            return self._held.leaves(READ), self._held.resting
        return units.from_names(rule, keys, self._held.by_name(ON_HOST), units.init(rule, [w._read() for w in weights]))

    def _state_arrays(
        self, kept: bool, packing: Packing, leaves: list[Any], homes: list[Any], replicas: list[Any], param: Parameter
    ) -> tuple[list[Any], list[list[Any]]]:
        """Return the arrays that hold the states `leaves`, and their copies; each lies as its weight does.

        The arrays that there are, if the rule is `kept` and they are grouped alike.
        """
        held = self._held
        if kept and held.packing is not None and held.packing.groups == packing.groups:
            arrays, copies = held.arrays, held.copies
            bring(arrays, homes)
        else:
            arrays, copies = states_of(packing, leaves, homes), []
        if len(copies) != len(replicas) - 1:
            now = [s.asnumpy() for s in arrays]
            copies = [[new_handle(on_device(a, d.place)) for a in now] for d in replicas[1:]]
        for own, device in zip(copies, replicas[1:], strict=True):
            bring(own, [cast(Any, param)._replicas[device]] * len(own))
        return arrays, copies
