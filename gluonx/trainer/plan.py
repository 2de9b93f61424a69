"""The plan of a step: made once, and used by every step until a parameter, state or setting is replaced.

A plan names the arrays that a step reads and writes (weights, gradients, states, the vector of numbers) and the
operator that computes the new ones. Making one looks at every parameter; a steady step only asks :meth:`Plan.fits`.
"""

from __future__ import annotations

import functools
from dataclasses import replace
from typing import TYPE_CHECKING, Any
from weakref import ref

from gluonx.block.parameter import Parameter
from gluonx.deferred.operators.derived import DerivedOp
from gluonx.deferred.record.rows import RowVariable
from gluonx.deferred.replicas import joining
from gluonx.deferred.values.contracts import StepRequest
from gluonx.deferred.values.core import Attached, Packed, Pending
from gluonx.deferred.values.shapes import Gone
from gluonx.dtype import on_device
from gluonx.optimizer import Optimizer
from gluonx.optimizer.rules import Update
from gluonx.optimizer.units import Units, arranged
from gluonx.sharding import replicated
from gluonx.trainer.held import MIXED, Held, common_sharding
from gluonx.trainer.replicas import devices_of, gradients_of, leaves_of, new_gradients, row_counts, variable_of
from gluonx.trainer.states import Stateful

if TYPE_CHECKING:
    import jax


_GONE = "this gradient was given up when the step ended, because the Trainer was made with keep_grads=False"


class Plan:
    """The work of a step, determined once: operator, handles, and which parameters take part."""

    def __init__(self, trainer: Stateful, held: Held, update: Update, waiting: list[Parameter]) -> None:
        optimizer, scaler, vector = trainer._optimizer, trainer._scaler, trainer._vector.handle
        self.held, self.update = held, update
        self.waiting = waiting  # parameters without a value, because no forward has used them yet
        self.optimizer = optimizer
        own_rule = type(optimizer).rule is not Optimizer.rule  # a user's rule is a new object if it changes
        self.settings = functools.partial(optimizer.rule, held.active) if own_rule else optimizer._settings
        self.settings_then = self.settings()
        self.params = list(dict.fromkeys(p._whole for p in trainer._params))
        self.latest = Attached.latest  # read before the marks: a change that comes in between is then found by `fits`
        self.marks = marks_of(self.params)
        self.fresh_indices = [held.active[k] for k in held.units.of_fresh(update.fresh)]
        self.weights = [p._handle for p in held.params]
        devices = devices_of(held.params)
        self.op = operator_of(optimizer, update, len(devices))
        self.grads = [g for w, f in zip(self.weights, update.fresh, strict=True) if f for g in gradients_of(w.variable)]
        self.state = [*held.arrays, *(() if scaler is None else scaler.arrays)]
        self.takes_more = scaler is not None or update.rule.draws  # inputs beyond those of `request`
        # For each device its weights and states.
        self.replicas = [(self.weights, self.state)] + [
            ([p._every()[k] for p in held.params], [*states, *(() if scaler is None else scaler.replicas[device])])
            for k, (device, states) in enumerate(zip(devices[1:], held.copies, strict=True), 1)
        ]
        self.several = len(self.replicas) > 1
        self.targets = [t for weights, state in self.replicas for t in (*weights, *state)]
        self.targets += [vector] if update.advances else []
        self.counts = row_counts(w for w, f in zip(self.weights, update.fresh, strict=True) if f)
        self.variables = [variable_of(p) for p in held.params] if self.several else variables_of(held)
        self.vector, self.keeps_grads = vector, trainer._keep_grads
        # On one device the handles of a step are the same each time.
        self.request = None if self.several else self.request_for(self.grads, self.grads)

    def request_for(self, grads: list[Any], given: list[Any]) -> StepRequest:
        """Return what a step asks of the engine: its inputs device by device, then the vector.

        Parameters
        ----------
        grads : list of Handle
            What the optimizer gets: the gradients of all devices, or on each their sums.
        given : list of Handle
            The gradients that backward has left.
        """
        args, owned, each = list[Any](), list[int](), len(self.grads)
        for k, (weights, state) in enumerate(self.replicas):
            first = len(args)
            # A table with a gradient by rows is a constant of its look-ups. The update takes that constant, so that it
            # is one leaf of the program.
            args += [*leaves_of(weights), *grads[k * each : (k + 1) * each], *state]
            owned += [*range(first, first + len(weights)), *range(len(args) - len(state), len(args))]
        release = None if self.keeps_grads else functools.partial(give_up, given)
        return StepRequest(self.op, [*args, self.vector], self.targets, owned, release, len(self.weights))

    @functools.cached_property
    def told_op(self) -> DerivedOp:
        """The update for rules that look at the loss, which is its last input."""
        return operator_of(self.optimizer, replace(self.update, told=True), 1)

    def every_weight(self) -> list[Any]:
        """Return the weights of all devices, device by device."""
        return [w for weights, _ in self.replicas for w in weights]

    def seen(self) -> list[ref[Any]]:
        """Return weak references to the values of all weights."""
        return [ref(w.value) for w in self.every_weight()]

    def fresh_weights(self) -> list[list[Any]]:
        """Return for each device the weights of those parameters that have a new gradient on any device."""
        fresh = self.update.fresh
        return [[w for w, f in zip(weights, fresh, strict=True) if f] for weights, _ in self.replicas]

    def replica_grads(self) -> list[list[Any]]:
        """Return the gradients of these weights, device by device; zeros where there is no new one."""
        return [[g for w in weights for g in new_gradients(w)] for weights in self.fresh_weights()]

    def spread(self) -> None:
        """Copy the weights and states of the first device to the others, through the host: no buffer is shared."""
        values = [h.asnumpy() for h in (*self.weights, *self.state)] if self.several else []
        for weights, states in self.replicas[1:]:
            for handle, value in zip((*weights, *states), values, strict=True):
                handle.value, handle.aval, handle.tape = on_device(value, handle._read().sharding), None, None

    def fits(self, optimizer: Optimizer) -> bool:
        """Return whether the optimizer's settings and the variables of the gradients are still those of the plan.

        Parameters are compared only if some array of the process has got another variable since.
        """
        if optimizer is not self.optimizer or self.settings() != self.settings_then:
            return False
        latest = Attached.latest
        if latest is not self.latest:
            if marks_of(self.params) != self.marks:
                return False
            self.latest = latest
        return True

    def last_value(self) -> jax.Array:
        """Return a value that a step replaces: the last state's, or the last weight's if there are no states."""
        value = (self.state or self.weights)[-1].value
        return value.vector.value if type(value) is Packed else value

    def spend(self) -> None:
        """Mark the gradients as used."""
        for variable in self.variables:
            variable.fresh = False


def give_up(grads: list[Any]) -> None:
    """Release the values of gradients."""
    for g in grads:
        g.value, g.aval, g.tape = Gone(g.shape, g.dtype, _GONE), None, None


def marks_of(params: list[Parameter]) -> list[Any]:
    """Return the variables of the parameters' gradients; for a parameter without one, whether it should have one."""
    return [p.grad_req if (h := p._handle) is None or h.variable is None else h.variable for p in params] + [
        h.variable for p in params if p._replicas is not None for h in p._replicas.values()
    ]


def arrays_of(pieces: list[Parameter]) -> tuple[list[Parameter], Units]:
    """Return the parameters whose arrays hold these pieces, and the map between arrays and pieces."""
    number = {id(piece): k for k, piece in enumerate(pieces)}
    params = list(dict.fromkeys([piece._whole for piece in pieces]))
    fused = [id(p) not in number for p in params]
    members = [p.pieces if f else (p,) for p, f in zip(params, fused, strict=True)]  # type: ignore[attr-defined]
    numbers = tuple([tuple([number.get(id(own)) for own in each]) for each in members])
    return params, Units(numbers, tuple([p.layout if f else None for p, f in zip(params, fused, strict=True)]))  # type: ignore[attr-defined]


def variables_of(held: Held) -> list[Any]:
    """Return for each array an object whose attribute ``fresh``, which can be set, says whether its gradient is new."""
    return [
        Share(param._handle.variable) if _others_train(param, numbers) else param._handle.variable
        for param, numbers in zip(held.params, held.units.pieces, strict=True)
    ]


def _others_train(param: Parameter, numbers: tuple[int | None, ...]) -> bool:
    """Return whether some of the trained pieces belong to another Trainer."""
    return None in numbers and any(
        k is None and p.grad_req != "null"
        for k, p in zip(numbers, param.pieces, strict=True)  # type: ignore[attr-defined]
    )


class Share:
    """One Trainer's view of a gradient that several Trainers use: ``fresh`` if this one has not used its value yet."""

    __slots__ = ("seen", "variable")

    def __init__(self, variable: Any) -> None:
        self.variable = variable
        self.seen: tuple[Any, ...] = ()

    @property
    def fresh(self) -> bool:
        """True if there is a new gradient; setting it to False marks the present one as used."""
        value = self.variable.grad.value
        return self.variable.fresh and all(seen() is not value for seen in self.seen)

    @fresh.setter
    def fresh(self, fresh: bool) -> None:
        value = self.variable.grad.value
        # Weak references, because others would keep the gradient in memory. Reading a pending gradient replaces it by
        # its value, so both are noted.
        held = () if fresh else (value, value.value if isinstance(value, Pending) else None)
        self.seen = tuple([ref(v) for v in held if v is not None])

    @property
    def grad(self) -> Any:
        """The gradient."""
        return self.variable.grad


def plan_of(
    trainer: Stateful, active: list[int], waiting: list[Parameter], fresh: tuple[bool, ...] | None = None
) -> Plan:
    """Return a plan for the parameters at the positions `active`; `fresh` says which arrays have a new gradient."""
    optimizer, scaler = trainer._optimizer, trainer._scaler
    params, arrays = arrays_of([trainer._params[i] for i in active])
    weights, devices = [p._handle for p in params], devices_of(params)
    by_row = frozenset(k for k, w in enumerate(weights) if type(w.variable) is RowVariable)
    devices_of_weights = [w._read().devices() for w in weights]
    alone = by_row | {k for k, own in enumerate(devices_of_weights) if len(own) > 1}
    # For a GPU XLA joins many small updates into few kernels; an update of joined arrays, cut apart again, takes more.
    on_gpu = any(device.platform not in ("cpu", "tpu") for own in devices_of_weights for device in own)
    single = frozenset(range(len(weights))) if on_gpu else alone
    units, rule = arranged(optimizer, arrays, weights, active, single)
    held = trainer._held.adapted(active, params, units, rule, [trainer._names[i] for i in active], alone)
    # If the weights lie elsewhere, the program would return the vector there: another kind of input for the next step.
    sharding = common_sharding(weights)
    advances = scaler is None and sharding is not MIXED and len(devices) == 1
    update = Update(rule, units, fresh or (True,) * len(weights), by_row, held.together, advances)
    if scaler is not None:
        update = scaler.around(update)
        if len(devices) > 1:
            scaler.replicate(devices)
        else:
            scaler.lay_out(replicated(weights[0]._placed()) if sharding is MIXED else sharding)
    return Plan(trainer, held, update, waiting)


def operator_of(optimizer: Optimizer, update: Update, devices: int) -> DerivedOp:
    """Return an update as an operator, on so many devices.

    The same update gives the same operator, also in another Trainer: nothing recompiles.
    """

    def make() -> DerivedOp:
        op = DerivedOp(update.name, update)
        op.steady = optimizer.is_declared() and type(update) is Update
        if devices > 1:
            op = joining.joint(devices, op, update.common)
            op.random = False
        return op

    return optimizer._once_made((update, devices), make)
