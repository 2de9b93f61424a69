"""The Trainer: turns gradients into new weights, as the last node of the step's one program.

``step`` records the optimizer's update of all parameters as a single operator on flat lists (weights, gradients,
states and one small vector of rates) and then runs the whole pending graph: forward, backward and update are one XLA
program, and the buffers of weights and states are donated to it. What changes from step to step (learning rate,
weight decay, counts, ``1 / batch_size``) travels in that vector, so it never recompiles.
"""

from __future__ import annotations

import contextlib
import copy
import functools
import math
from collections import Counter, deque
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import repeat
from operator import attrgetter, methodcaller
from typing import Any
from weakref import WeakKeyDictionary, ref

import jax
import jax.numpy as jnp
import numpy as np

from gluonx import files as serialize
from gluonx.block.fusion.files import apart, pieces_of
from gluonx.block.parameter import Parameter
from gluonx.block.structure import Text, check_distinct
from gluonx.common.arguments import Checked
from gluonx.common.extensions import NAMES
from gluonx.common.frames import door
from gluonx.common.host import to_jax
from gluonx.common.thresholds import threshold
from gluonx.deferred import engine, rows
from gluonx.deferred.contracts import StepRequest
from gluonx.deferred.core import Attached, Handle, Packed, aval_of, current_state, new_handle
from gluonx.deferred.derived import DerivedOp
from gluonx.deferred.graph import at_one_moment
from gluonx.deferred.program_cache import memo, once
from gluonx.deferred.rows import RowVariable
from gluonx.deferred.shapes import Gone
from gluonx.dtype import on_device
from gluonx.engine import plain_steps
from gluonx.errors import (
    ArgumentError,
    DeferredInitializationError,
    DeviceError,
    FormatError,
    GluonxError,
    MismatchError,
    ShapeError,
    StaleGradientError,
    UninitializedError,
)
from gluonx.optimizer import Optimizer, create
from gluonx.optimizer.adopting import adopt
from gluonx.optimizer.closure import ClosedStep, check_writes, traced_closure
from gluonx.optimizer.fused import CutRule, Units
from gluonx.optimizer.optimizer import OptaxOptimizer, Updater
from gluonx.optimizer.packed import PackedRule
from gluonx.optimizer.rules import Update
from gluonx.optimizer.statefile import by_name, by_place, described, description, of_names, simple_of
from gluonx.optimizer.stepvector import StepVector
from gluonx.sharding import is_spread, replicated

__all__ = ["Trainer"]

_STALE = (
    "The gradient of parameter '{path}' has not been renewed by backward since the last step. The loss may not "
    "depend on it "
    "(a part of the net that this iteration did not use), or backward was not called. If that is meant, call "
    "step(batch_size, ignore_stale_grad=True), which leaves such parameters as they are."
)
_NO_VALUE = (
    "Parameter '{path}' has no value yet; initialize the net and run it once on real input before trainer.step()"
)
_GONE = "this gradient was given up when the step ended, because the Trainer was made with keep_grads=False"


_NO_TELLING = (
    "step(value=...) is for optimizers of optax that look at the loss; this Trainer has steps written by hand, a loss "
    "scale of gluonx.amp, or a store that updates the weights"
)

_FOUND_AGAIN = frozenset(
    {
        "_held",
        "_seen",
        "_plans",
        "_vector",
        "_by_hand",
        "_ops",
        "_apart",
    }
)
_UPDATES: dict[Any, DerivedOp] = memo()
_VALUED: WeakKeyDictionary[DerivedOp, DerivedOp] = WeakKeyDictionary()  # updates that are told the loss
_MOST_UPDATES = threshold("updates.known")
_FRESH = attrgetter("fresh")
_READ, _ON_HOST = methodcaller("_read"), methodcaller("asnumpy")
_OWN_STORES = ("local", "device", "nccl")
_RESCALED = (
    "The batch size is not that of the steps before, and a store over processes that updates the weights goes on with "
    "the optimizer that it was given at the first step."
)
_ON_STORE = (
    "{what}() cannot be called where gradients are summed and weights updated in one: call step(), or make the Trainer "
    "with update_on_kvstore=False"
)


@dataclass(frozen=True, slots=True, eq=False)
class _Held:
    """The optimizer's states as they lie between two steps; another one takes the place of the whole."""

    active: list[int] = field(default_factory=list)  # positions of the parameters that are trained
    units: Units = field(default_factory=lambda: Units([]))  # which arrays the pieces of the rule are in
    rule: PackedRule | None = None
    keys: list[Any] = field(default_factory=list)  # the names of the single states
    arrays: list[Any] = field(default_factory=list)  # of the first device
    copies: list[list[Any]] = field(default_factory=list)  # of further devices, where parameters have several
    resting: dict[str, Any] = field(default_factory=dict)  # of parameters that are frozen now: by name, on the host

    def every(self) -> list[Any]:
        """Return the arrays of all devices."""
        return [*self.arrays, *[s for each in self.copies for s in each]]

    def leaves(self, read: Callable[[Any], Any]) -> list[Any]:
        """Return the single states, of what `read` makes of an array."""
        assert self.rule is not None, "made by the plan"
        return self.rule.unpack([read(s) for s in at_one_moment(self.arrays)])  # between two steps of any thread

    def by_name(self, read: Callable[[Any], Any]) -> dict[str, Any]:
        """Return the single states by name, those of frozen parameters too."""
        if self.rule is None:
            return dict(self.resting)
        return {**self.resting, **self.units.by_name(self.rule.rule, self.keys, self.leaves(read))}

    def lies_as(self, packed: PackedRule) -> bool:
        """Return whether `packed` keeps its states in the arrays that there are."""
        return self.rule is not None and self.rule.rule is packed.rule and self.rule.groups == packed.groups


class _Plan:
    """The work of a step, found once: operator, handles, and which parameters take part."""

    __slots__ = (
        "copies",
        "counts",
        "fresh_indices",
        "grads",
        "held",
        "latest",
        "leaves",
        "marks",
        "op",
        "optimizer",
        "owned",
        "params",
        "settings",
        "settings_then",
        "state",
        "targets",
        "units",
        "update",
        "variables",
        "vector",
        "waiting",
        "weights",
    )

    def __init__(
        self,
        optimizer: Optimizer,
        op: DerivedOp,
        rule: PackedRule | CutRule,
        params: list[Parameter],
        held: _Held,
        state: list[Any],
        vector: StepVector | None,
        waiting: list[Parameter],
        copies: list[list[Any]],
    ) -> None:
        units = held.units
        self.held = held
        self.waiting = waiting  # parameters that have no value, since no forward has reached them
        self.optimizer = optimizer
        own_rule = type(optimizer).rule is not Optimizer.rule  # of a user's class, which knows when it is another
        self.settings = functools.partial(optimizer.rule, held.active) if own_rule else optimizer._settings
        self.settings_then = self.settings()
        self.op, self.update = op, rule
        self.params = list(dict.fromkeys(p._whole for p in params))
        self.latest = Attached.latest  # before the marks: what changes beside them is then looked at again
        self.marks = _marks(self.params)
        self.units = units
        self.fresh_indices = [held.active[k] for k in units.of_fresh(rule.fresh)]
        self.weights = [p._handle for p in units.params]
        self.variables = units.variables()
        # A table whose gradient is kept by rows is a constant of the look-ups, and the same leaf of the program here.
        self.leaves = _leaves(self.weights)
        self.grads = [g for w, f in zip(self.weights, rule.fresh, strict=True) if f for g in _gradients(w.variable)]
        self.state = state
        self.vector = vector
        self.targets = [*self.weights, *state, *([vector.handle] if vector is not None else [])]
        # What further devices have: weights and states.
        self.copies = [([p._every()[k] for p in units.params], states) for k, states in enumerate(copies, 1)]
        self.counts = _row_counts(w for w, f in zip(self.weights, rule.fresh, strict=True) if f)
        if copies:
            self.variables = [_variable_of(p) for p in units.params]
            self.targets = [t for each in [(self.weights, state), *self.copies] for half in each for t in half]
        n, m = len(self.weights), len(self.grads)
        self.owned = (*range(n), *range(n + m, n + m + len(state)))

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
        return [[g for w in weights for g in _new_gradients(w)] for weights in self.fresh_weights()]

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
            if _marks(self.params) != self.marks:
                return False
            self.latest = latest
        return True


def _told_value(op: DerivedOp) -> DerivedOp:
    """Return the update `op` with the loss as one more input, the same one for the same update."""
    found = _VALUED.get(op)
    if found is None:
        found = _VALUED[op] = DerivedOp("update", Update(op.fn.rule, op.fn.advances, op.fn.draws, told=True))
        found.steady = op.steady
    return found


def _gradients(variable: Any) -> tuple[Any, ...]:
    """Return the arrays that a gradient is: row numbers and values where it is kept by rows."""
    return (variable.rows, variable.values) if type(variable) is RowVariable else (variable.grad,)


def _new_gradients(weight: Any) -> tuple[Any, ...]:
    """Return the arrays that the gradient of `weight` is, for a sum over devices: zeros where there is no new one."""
    if not weight.variable.fresh and weight.variable.req != "add":
        weight.zero_grad()
    return _gradients(weight.variable)


def _leaves(weights: list[Any]) -> list[Any]:
    """Return weights as inputs of an update; a table whose gradient is kept by rows is the constant of its look-ups."""
    return [w.variable.bare if type(w.variable) is RowVariable else w for w in weights]


def _row_counts(weights: Iterable[Any]) -> tuple[int | None, ...]:
    """Return the number of rows of each weight whose gradient is kept by rows, and None for the others."""
    return tuple([w.shape[0] if type(w.variable) is RowVariable else None for w in weights])


def _marks(params: list[Parameter]) -> list[Any]:
    """Return the variables that the parameters' gradients go to; of one that has none, whether it is to have one."""
    return [p.grad_req if (h := p._handle) is None or h.variable is None else h.variable for p in params] + [
        h.variable for p in params if p._replicas is not None for h in p._replicas.values()
    ]


class _DeviceUpdater(Updater):
    """The states of one device, by numbers of parameters, and what updates weights by them: MXNet's ``_updaters``.

    A Trainer steps by it where an optimizer was written by hand. Elsewhere states are part of the program of a step;
    from the moment on that somebody asks for `states` they are arrays of his, and the Trainer takes the plain way.
    """

    def __init__(self, trainer: Trainer, optimizer: Optimizer) -> None:
        self._trainer = ref(trainer)
        super().__init__(optimizer)

    @property
    def states(self) -> dict[Any, Any]:
        """States by index."""
        trainer = self._trainer()
        if trainer is not None:
            trainer._keep_apart()
        return self._states

    @states.setter
    def states(self, states: dict[Any, Any]) -> None:
        self._states = states


class Trainer(Checked):
    """Applies an optimizer to a set of parameters.

    Parameters
    ----------
    params : dict of str to Parameter, or list of Parameter
        Usually ``net.collect_params()``. A dict is taken in the order of its sorted names, as MXNet does.
    optimizer : str, Optimizer or optax.GradientTransformation
        A name such as ``'adam'``, an object, or any transformation of optax.
    optimizer_params : dict, optional
        Settings for an optimizer given by name.
    kvstore : str or object
        A store of a class of your own (see `gluonx.compat.kvstore`), which is given all gradients before the update.
        MXNet's own are taken for ported code: whatever the name, gradients of parameters on several devices are summed
        by the program of the step. None sums nothing: each device updates its weights by its own gradients.
    update_on_kvstore : bool, optional
        Whether a store of your own updates the weights too; by default where it is capable of it. For parameters on
        several devices: False makes their gradients the sums, so that they can be clipped between `allreduce_grads` and
        `update`; else each keeps its own, and these two methods are errors.
    compression_params
        Taken for ported code.
    keep_grads : bool
        Whether gradients stay readable after ``step``, as in Gluon. False saves their memory.

    Examples
    --------
    >>> from gluonx import autograd, nn, np, Trainer
    >>> net = nn.Dense(1, in_units=1, use_bias=False, weight_initializer="zeros")
    >>> net.initialize()
    >>> trainer = Trainer(net.collect_params(), "sgd", {"learning_rate": 0.5})
    >>> with autograd.record():
    ...     loss = (net(np.ones((1, 1))) - 1) ** 2
    >>> loss.backward()
    >>> trainer.step(1)
    >>> net.weight.data().item()
    1.0
    """

    _amp_loss_scaler: Any = None  # a loss scale of the user's, whose has_overflow(params) decides whether to update

    @door
    def __init__(
        self,
        params: Any,
        optimizer: Any,
        optimizer_params: Mapping[str, Any] | None = None,
        kvstore: Any = "device",
        compression_params: Any = None,
        update_on_kvstore: bool | None = None,
        *,
        keep_grads: bool = True,
    ) -> None:
        self._names, self._params = _listed(params)
        self._contexts = self._check_contexts()
        self._compression_params = compression_params
        self._init_optimizer(optimizer, dict(optimizer_params or {}))
        self._scale = float(self._optimizer.rescale_grad)
        self._keep_grads = keep_grads
        self._kvstore_params = {"kvstore": kvstore, "update_on_kvstore": update_on_kvstore}
        self._found_store = (kvstore, _store_of(kvstore))  # raises for what is no store
        self._kvstore: Any = None
        self._reset_kvstore()
        self._scaler: Any = None  # gluonx.amp's loss scale
        self._apart: list[_DeviceUpdater] = []  # what updates each device's arrays, where that is not one program
        self._begin({})

    def _begin(self, states: dict[str, Any]) -> None:
        """Set up what is found again at the next step, which takes these states."""
        self._plans: dict[Any, _Plan] = {}
        self._held = _Held(resting=states)
        self._vector = StepVector()
        self._seen: list[Any] = []  # the weights of the last step there
        self._by_hand = self._optimizer._is_imperative()
        self._ops: dict[Any, DerivedOp] = {}

    # -- what MXNet's Trainer calls on itself, and a subclass may override -------------------------------------------

    def _check_contexts(self) -> list[Any]:
        return self._check_devices()

    def _check_devices(self) -> list[Any]:
        """Return the devices of the parameters; none as long as nobody has initialized one."""
        return next((p.list_device() for p in self._params if p._handle is not None), [])

    def _init_optimizer(self, optimizer: Any, optimizer_params: Mapping[str, Any]) -> None:
        """Set the optimizer, for the constructor."""
        if isinstance(optimizer, Optimizer) and optimizer_params:
            raise ArgumentError(
                "optimizer_params must be None when an Optimizer object is given, which has its settings"
            )
        self._optimizer = create(optimizer, param_dict=dict(enumerate(self._params)), **optimizer_params)

    def _reset_kvstore(self) -> None:
        """Forget the store; the next step asks `_init_kvstore` for one, and `_init_params` to tell it the weights."""
        if "dist" in str(getattr(self._kvstore, "type", "")):
            raise GluonxError("a store over processes cannot be exchanged: make a new Trainer")
        self._kvstore, self._kv_initialized = None, False
        self._distributed: bool | None = None
        self._update_on_kvstore: bool | None = None
        self._params_to_init = list(self._params)

    def _init_kvstore(self) -> None:
        """Find the store that gradients go to, before the first step: None where the program of a step sums them."""
        given, wanted = self._kvstore_params["kvstore"], self._kvstore_params["update_on_kvstore"]
        if self._found_store[0] is not given:
            self._found_store = (given, _store_of(given))
        store = self._found_store[1]
        if store is not None:
            if wanted and not store.is_capable("optimizer"):
                raise ArgumentError(f"update_on_kvstore=True, but {type(store).__name__} cannot update weights")
            if self._compression_params and hasattr(store, "set_gradient_compression"):
                store.set_gradient_compression(self._compression_params)
        elif given is not None and len(self._check_contexts()) > 1:
            store = None if self._steps_as_written() else NAMES["gluonx.kvstore.create"](given)
        self._kvstore = store
        self._update_on_kvstore = self._updates_in(store, wanted)
        self._distributed = "dist" in str(getattr(store, "type", ""))
        if store is not None and self._update_on_kvstore:
            store.set_optimizer(self._optimizer)
        self._kv_initialized = True

    def _updates_in(self, store: Any, wanted: bool | None) -> bool:
        """Return whether a store updates the weights; or would, where the program of a step stands for MXNet's own."""
        if wanted and self._optimizer.aggregate_num > 1:
            raise ArgumentError("update_on_kvstore=True is not for an optimizer of aggregate_num > 1")
        if store is None and (self._kvstore_params["kvstore"] is None or len(self._replica_devices()) < 2):
            return False
        if wanted is not None:
            return bool(wanted)
        return self._optimizer.aggregate_num <= 1 and (store is None or bool(store.is_capable("optimizer")))

    def _init_params(self) -> None:
        """Tell the store the weights of `_params_to_init`, and leave in that list those that have no shape yet."""
        waiting = [p for p in self._params_to_init if not p._is_ready]
        if self._kvstore is not None:
            numbers = {id(p): i for i, p in enumerate(self._params)}
            for p in self._params_to_init:
                if p._is_ready:
                    arrays = p.list_data()
                    self._kvstore.broadcast(numbers[id(p)], arrays[0], arrays)
        self._params_to_init = waiting

    def _check_and_rescale_grad(self, scale: float) -> None:
        """Set what the optimizer multiplies gradients with."""
        if self._distributed and self._update_on_kvstore and self._kv_initialized:
            if self._optimizer.rescale_grad != scale:
                raise UserWarning(_RESCALED)
        self._optimizer.rescale_grad = scale

    def _allreduce_grads(self) -> None:
        """Make the gradients the sums over devices, or have the store do with them what it does."""
        if self._kvstore is None:
            self._sum_in_place(True)
        else:
            self._pushed()

    def _update(self, ignore_stale_grad: bool = False) -> None:
        """Update the weights of each device by its gradients, unless the store has done so."""
        if self._kvstore is None or not self._update_on_kvstore:
            return self._make_step(ignore_stale_grad)
        for i in self._renewed(ignore_stale_grad):
            _variable_of(self._params[i]).fresh = False

    def _steps_as_written(self) -> bool:
        """Return whether `step` may be one program: nobody has overridden the two methods that it consists of."""
        cls, own = type(self), self.__dict__
        return (
            cls._update is _UPDATE
            and cls._allreduce_grads is _ALLREDUCE
            and "_update" not in own
            and "_allreduce_grads" not in own
        )

    def _prepare(self) -> None:
        """Do what comes before the first step."""
        if not self._kv_initialized:
            self._init_kvstore()
        if self._params_to_init:
            self._init_params()

    @property
    def _param2idx(self) -> dict[str, int]:
        """The number of each parameter, by the name that no other has."""
        return {p.name if p._prefixed else p._uuid: i for i, p in enumerate(self._params)}

    @property
    def _devices(self) -> list[Any]:
        return self._contexts

    @property
    def _updaters(self) -> list[Any]:
        """What updates the arrays of each device; see :class:`_DeviceUpdater`."""
        number = max(1, len(self._replica_devices()))
        while len(self._apart) < number:
            self._apart.append(_DeviceUpdater(self, self._optimizer))
        return self._apart[:number]

    @_updaters.setter
    def _updaters(self, updaters: Iterable[Any]) -> None:
        """Leave it to the Trainer: an override of `_init_optimizer` sets what MXNet's own sets."""

    # -- copies ----------------------------------------------------------------------------------------------------

    def _kept(self) -> dict[str, Any]:
        states = self._states()
        kept = {name: value for name, value in self.__dict__.items() if name not in _FOUND_AGAIN}
        return {**kept, "states": states, "by_hand": [updater.states for updater in self._apart if self._by_hand]}

    def _restore(self, kept: dict[str, Any]) -> None:
        states, by_hand = kept.pop("states"), kept.pop("by_hand")
        self.__dict__.update(kept)
        self._optimizer.param_dict = dict(enumerate(self._params))
        self._apart = []
        self._begin(states)
        for given in by_hand:
            self._apart.append(_DeviceUpdater(self, self._optimizer))
            self._apart[-1].states = given

    def __getstate__(self) -> dict[str, Any]:
        """Return parameters, optimizer and states, without what is compiled.

        Raises
        ------
        TypeError
            For an optax transformation, whose functions pickle cannot write.
        """
        if hasattr(self._optimizer, "tx"):
            raise TypeError(
                "a Trainer with an optax transformation cannot be pickled, because optax builds it of local functions; "
                "use trainer.save_states(file), make the Trainer anew and call load_states(file)"
            )
        return self._kept()

    def __setstate__(self, state: dict[str, Any]) -> None:
        self._restore(dict(state))

    def __deepcopy__(self, memo: dict[int, Any]) -> Trainer:
        """Return a Trainer of copies of the parameters, as MXNet does; copy a net together with its Trainer."""
        new = memo[id(self)] = object.__new__(type(self))
        new._restore(copy.deepcopy(self._kept(), memo))
        return new

    def __copy__(self) -> Trainer:
        """Return a Trainer of the same parameters and optimizer, with states of its own."""
        new = object.__new__(type(self))
        new._restore(self._kept())
        return new

    # -- settings --------------------------------------------------------------------------------------------------

    @property
    def optimizer(self) -> Optimizer:
        """The optimizer."""
        return self._optimizer

    @property
    def learning_rate(self) -> float:
        """The learning rate of the next update."""
        return self._optimizer.learning_rate

    def set_learning_rate(self, lr: float) -> None:
        """Set the learning rate; no program recompiles for it."""
        self._optimizer.set_learning_rate(lr)

    @property
    def amp_loss_scale(self) -> float:
        """The loss scale of :mod:`gluonx.amp`; AttributeError where there is none."""
        if self._scaler is None:
            raise AttributeError("this Trainer has no loss scale: call amp.init_trainer(trainer) after it was made")
        return self._scaler.loss_scale

    def _replica_devices(self) -> list[Any]:
        """Return the devices that the parameters have replicas on; none where they are one array."""
        return next((p.list_device() for p in self._params if p._replicas is not None), [])

    def _attach_scaler(self, scaler: Any) -> None:
        """Have every update checked and unscaled by `scaler`, a :class:`gluonx.amp.LossScaler`."""
        self._scaler = scaler
        self._plans.clear()

    # -- stepping --------------------------------------------------------------------------------------------------

    @door
    def step(
        self, batch_size: float, ignore_stale_grad: bool = False, closure: Any = None, *, value: Any = None
    ) -> Any:
        """Update all parameters with their gradients over `batch_size`, and run what is pending.

        Parameters
        ----------
        batch_size : number
            Gradients are multiplied with ``1 / batch_size``. Give 1 if the loss is a mean already.
        ignore_stale_grad : bool
            Whether parameters without a new gradient are left as they are instead of raising.
        closure : callable, optional
            ``closure()`` computes the loss, or a list of losses, whose sum over `batch_size` is what is made smaller,
            and nothing else: no ``backward`` is called, before or in it. For optimizers that look at the loss
            themselves, such as ``optax.lbfgs()``; others take its gradient. Where parameters are on several devices,
            the first one computes it. See :mod:`gluonx.optimizer.closure`.
        value : ndarray or number, optional
            The loss that ``backward`` was called on, for an optimizer that looks at its value, such as
            ``optax.contrib.reduce_on_plateau()``: it is told the sum over `batch_size`. Others do not look.

        Returns
        -------
        ndarray or None
            With a closure the sum of the loss before the step.

        Raises
        ------
        StaleGradientError
            If a parameter has no new gradient. Nothing has changed then.
        UninitializedError
            If a parameter was not initialized.
        DeferredInitializationError
            If no forward has reached a parameter, so that its shape is unknown. `ignore_stale_grad` leaves it waiting.
        """
        if closure is not None:
            if value is not None:
                raise ArgumentError("step() takes a closure or a value; the closure gives the value itself")
            return self._close(batch_size, closure)
        before = self._optimizer.rescale_grad
        try:
            self._check_and_rescale_grad(self._scale / _positive(batch_size))
            if self._params_to_init or not self._kv_initialized:
                self._prepare()
            if value is not None and (self._by_hand or self._scaler is not None or self._kvstore is not None):
                raise ArgumentError(_NO_TELLING)
            if not self._steps_as_written():
                self._step_apart(ignore_stale_grad, value)
            elif self._kvstore is None:
                self._make_step(ignore_stale_grad, value, self._kvstore_params["kvstore"] is not None)
            else:
                self._renewed(ignore_stale_grad)  # raises before anything is sent
                self._allreduce_grads()
                self._update(ignore_stale_grad)
        except BaseException:
            self._optimizer.rescale_grad = before
            raise

    def _step_apart(self, ignore_stale: bool, value: Any) -> None:
        """Do a step whose two halves a subclass has written anew: what these compute is all that is known of it."""
        cls, own = type(self), self.__dict__
        names = [name for name, written in _HALVES.items() if name in own or getattr(cls, name) is not written]
        why = f"{cls.__name__} overrides {' and '.join(names)}"
        if value is not None:
            raise ArgumentError(f"step(value=...) is not possible, because {why}")
        plain_steps[why] += 1
        self._allreduce_grads()
        self._update(ignore_stale)

    @door
    def update(self, batch_size: float, ignore_stale_grad: bool = False) -> None:
        """Do :meth:`step` without the exchange of gradients, for code that calls `allreduce_grads` itself.

        Raises
        ------
        ArgumentError
            Where parameters are on several devices, or a store of the user's is capable of updating them, and
            ``update_on_kvstore=False`` was not given: gradients and update are one there.
        """
        before = self._optimizer.rescale_grad
        try:
            self._check_and_rescale_grad(self._scale / _positive(batch_size))
            self._prepare()
            self._refuse_on_store("update")
            self._update(ignore_stale_grad)
        except BaseException:
            self._optimizer.rescale_grad = before
            raise

    @door
    def allreduce_grads(self) -> None:
        """Make the gradients on each device the sum over all; a kvstore of the user's is given them.

        Raises
        ------
        ArgumentError
            As of `update`.
        """
        self._prepare()
        self._refuse_on_store("allreduce_grads")
        self._allreduce_grads()

    def _refuse_on_store(self, what: str) -> None:
        if self._update_on_kvstore and (self._kvstore is not None or self._replica_devices()):
            raise ArgumentError(_ON_STORE.format(what=what))

    def _sum_in_place(self, ignore_stale: bool) -> None:
        """Put the sums of gradients over several devices in their places, if there is a store that sums."""
        if self._kvstore_params["kvstore"] is None or not self._replica_devices():
            return
        if not self._by_hand:
            plan = self._plan(ignore_stale)
            if plan is not None:
                _put_sums(plan.fresh_weights(), plan.counts)
            return
        weights = [self._params[i]._whole._every() for i in self._renewed(ignore_stale)]
        _put_sums([list(replica) for replica in zip(*weights, strict=True)], _row_counts(each[0] for each in weights))

    def _keeps_sums(self) -> bool:
        """Return whether gradients on several devices are their sums after a step, as where no store updates."""
        wanted = self._kvstore_params["update_on_kvstore"]
        return self._optimizer.aggregate_num > 1 if wanted is None else not wanted

    def _renewed(self, ignore_stale: bool) -> list[int]:
        """Return the positions of parameters with a new gradient."""
        return [i for i in self._trained(ignore_stale)[0] if self._is_fresh(i, ignore_stale)]

    def _pushed(self) -> None:
        """Give each new gradient to the store, which writes to the gradients or, if it updates, to the weights."""
        for i in self._renewed(True):
            param = self._params[i]
            for weight in param._whole._every():
                _new_gradients(weight)  # an old gradient of a device that was left out is not pushed again
            grads = param.list_grad()
            self._kvstore.pushpull(i, grads, out=param.list_data() if self._update_on_kvstore else grads, priority=-i)
            _variable_of(param).fresh = True

    def _make_step(self, ignore_stale: bool, value: Any = None, sums: bool = False) -> None:
        """Update, by one program or by hand; where that fails, the counts are as before."""
        if self._amp_loss_scaler is not None and self._amp_loss_scaler.has_overflow(self._params):
            return
        optimizer = self._optimizer
        before = optimizer._index_update_count, optimizer.num_update
        plan = None if self._by_hand else self._plan(ignore_stale)
        last = None if plan is None else ref(_last_value(plan))  # weak: who holds a buffer keeps it from being donated
        try:
            if self._by_hand:
                if sums:
                    self._sum_in_place(ignore_stale)
                self._step_imperatively(ignore_stale)
            elif plan is not None and plan.copies:
                self._step_on_several(plan, value, sums)
            elif plan is not None:
                self._step_in_one(plan, value)
        except BaseException:
            if plan is not None and last is not None and _last_value(plan) is not last():
                # An interrupt that came after the program: the step is made.
                _spend(plan)
            else:
                optimizer._index_update_count, optimizer.num_update = before
            raise

    def _step_in_one(self, plan: _Plan, value: Any = None) -> None:
        optimizer = self._optimizer
        vector = self._vector.renewed(optimizer.counted(plan.fresh_indices, plan.held.active))
        args = [*plan.leaves, *plan.grads, *plan.state, vector]
        if self._scaler is not None:
            args.append(self._scaler.operand())
        if optimizer.draws:
            args += engine.random_inputs(current_state())
        op = plan.op
        if value is not None:
            op = _told_value(op)
            args.append(value)
        release = None if self._keep_grads else lambda: _give_up(plan.grads)
        engine.commit_step(StepRequest(op, args, plan.targets, plan.owned, release, len(plan.weights)))
        if plan.vector is not None:
            self._vector.stepped()
        _spend(plan)

    def _step_on_several(self, plan: _Plan, value: Any, sums: bool) -> None:
        """Step parameters on several devices: gradients are summed over them, and each updates its replicas."""
        optimizer = self._optimizer
        if value is not None:
            raise ArgumentError(
                "step(value=...) is not for parameters on several devices; lay the net out on a mesh (docs/parallel.md)"
            )
        if self._kvstore_params["kvstore"] is not None and self._steps_as_written():
            self._check_replicas(plan)
        if sums and self._keeps_sums():
            _put_sums(plan.fresh_weights(), plan.counts)
            sums = False
        replicas = plan.replica_grads()
        grads = [g for replica in replicas for g in replica]
        if sums:
            grads = _summed(replicas, plan.counts)
        else:
            engine.even_out(plan.every_weight())
        vector = self._vector.renewed(optimizer.counted(plan.fresh_indices, plan.held.active))
        each, args, owned = len(plan.grads), [], []
        for k, (weights, state) in enumerate([(plan.weights, plan.state), *plan.copies]):
            first = len(args)
            args += [*_leaves(weights), *grads[k * each : (k + 1) * each], *state]
            owned += [*range(first, first + len(weights)), *range(len(args) - len(state), len(args))]
        args.append(vector)
        if self._scaler is not None:
            args.append(self._scaler.operand())
        if optimizer.draws:
            args += engine.random_inputs(current_state())
        release = None if self._keep_grads else lambda: _give_up([g for replica in replicas for g in replica])
        del grads
        engine.commit_step(StepRequest(plan.op, args, plan.targets, owned, release))
        _spend(plan)
        self._seen = [ref(w.value) for w in plan.every_weight()]

    def _check_replicas(self, plan: _Plan) -> None:
        """Raise where somebody wrote to one replica alone since the last step, and so made it another net."""
        every = plan.every_weight()
        if len(self._seen) == len(every) and all(w.value is seen() for w, seen in zip(every, self._seen, strict=True)):
            return
        n = len(plan.weights)
        for param, first, *rest in zip(
            plan.units.params, *[every[k : k + n] for k in range(0, len(every), n)], strict=True
        ):
            value = first.asnumpy()
            for device, other in zip(param.list_device()[1:], rest, strict=True):
                if not np.array_equal(value, other.asnumpy(), equal_nan=value.dtype.kind in "fc"):
                    raise GluonxError(
                        f"Parameter '{param._path}' is not the same on {param.list_device()[0]} and {device}, so the "
                        "devices would train different nets: somebody wrote to one of list_data(). Write by "
                        "set_data(), which writes to all."
                    )

    def _close(self, batch_size: float, closure: Any) -> Any:
        """Return a step by a function that gives the loss."""
        size, optimizer = _positive(batch_size), self._optimizer
        if self._by_hand or self._scaler is not None:
            why = "amp.init_trainer was called for it" if self._scaler is not None else "its steps are written by hand"
            raise ValueError(f"this Trainer takes no closure, because {why}")
        if not self._plan_for_states():
            raise ValueError("this Trainer has no parameter to train: all have grad_req='null'")
        plan = self._plans[None]
        if plan.units.by_row():
            raise ValueError(
                "a step with a closure takes gradients in the parameters' shapes: grad_stype must be 'default'"
            )
        traced = traced_closure(closure, plan.weights)
        if plan.copies:
            self._check_replicas(plan)
            check_writes(traced, self._params)
        step = ClosedStep(
            traced,
            closure,
            plan.update,
            plan.op,
            plan.weights,
            plan.state,
            optimizer.draws,
        )
        before = optimizer.rescale_grad, optimizer._index_update_count, optimizer.num_update
        try:
            optimizer.rescale_grad = self._scale / size
            numbers = optimizer.counted(plan.fresh_indices, plan.held.active).vector()
            args = step.arguments(numbers, self._replica_devices()[0] if plan.copies else None)
            engine.commit_step(StepRequest(step.op, args, step.targets, step.owned))
            plan.spread()
        except BaseException:
            optimizer.rescale_grad, optimizer._index_update_count, optimizer.num_update = before
            raise
        if plan.copies:
            self._seen = [ref(w.value) for w in plan.every_weight()]
        return step.loss

    def _plan(self, ignore_stale: bool) -> _Plan | None:
        """Return what this step does; None where there is nothing to do.

        The plan of the last step, as long as nothing was exchanged since; where gradients are missing that need not be
        there, one for the others.
        """
        plan = self._whole_plan(ignore_stale)
        if plan is None:
            return None
        fresh = tuple(map(_FRESH, plan.variables))
        if False not in fresh:
            return plan
        if not ignore_stale:
            stale = plan.units.params[fresh.index(False)]
            raise StaleGradientError(_STALE.format(path=stale._path))
        fresh = tuple([v.fresh if type(v) is not _Replicated else v.any_fresh for v in plan.variables])
        if not any(fresh):
            return None
        found = self._plans.get(fresh)
        if found is None:
            found = self._taken(fresh, self._make_plan(plan.held.active, plan.waiting, None if all(fresh) else fresh))
            found.variables = plan.variables
        return found

    def _whole_plan(self, ignore_waiting: bool) -> _Plan | None:
        """Return the plan of all parameters that are trained, a new one if it fits no more; None if all are frozen."""
        plan = self._plans.get(None)
        if plan is None or not plan.fits(self._optimizer):
            self._plans.clear()
            active, waiting = self._trained(ignore_waiting)
            if not active:
                return None
            plan = self._taken(None, self._make_plan(active, waiting))
        if plan.waiting and not ignore_waiting:
            raise _unreached(plan.waiting[0])
        return plan

    def _taken(self, key: Any, plan: _Plan) -> _Plan:
        """Go by a new plan: its states are those that there are from now on."""
        self._plans[key], self._held = plan, plan.held
        return plan

    def _make_plan(self, active: list[int], waiting: list[Parameter], fresh: tuple[bool, ...] | None = None) -> _Plan:
        """Return what a step does to the parameters at these positions, of which some are `fresh`."""
        optimizer, units = self._optimizer, Units([self._params[i] for i in active])
        weights, replicas = [p._handle for p in units.params], _replicas_of(units)
        rule = units.flat_rule(optimizer, weights, active)
        keys = units.leaf_keys(rule, [self._names[i] for i in active])
        leaves, resting = self._state_leaves(rule, weights, units, keys)
        packed, update = units.packed(optimizer, rule, leaves, fresh or (True,) * len(weights), weights)
        arrays, copies = self._state_arrays(packed, leaves, weights, units, replicas)
        held = _Held(active, units, packed, keys, arrays, copies, resting)
        # Beside weights elsewhere the vector would come out there, and be another kind of input than it was.
        place = _common_place(weights)
        self._vector.move(place)
        advances = self._scaler is None and place is not _MIXED and len(replicas) == 1
        op = self._update_op(packed, update, weights, units.key, advances, len(replicas))
        if self._scaler is not None:
            if len(replicas) > 1:
                self._scaler.replicate(replicas)
                copies = [[*own, *self._scaler.replicas[d]] for own, d in zip(copies, replicas[1:], strict=True)]
            else:
                self._scaler.lay_out(replicated(weights[0]._placed()) if place is _MIXED else place)
            arrays = [*arrays, *self._scaler.arrays]
        return _Plan(
            optimizer, op, update, self._params, held, arrays, self._vector if advances else None, waiting, copies
        )

    def _update_op(
        self, rule: PackedRule, update: Any, weights: list[Any], units: Any, advances: bool, replicas: int
    ) -> DerivedOp:
        """Give the update as an operator, which gives the next step's vector too if it `advances`; on so many devices.

        The same update gives the same operator, also in another Trainer: nothing recompiles.
        """
        optimizer = self._optimizer
        kinds = tuple([(w.shape, w.dtype) for w in weights])
        key: Any = (
            type(optimizer),
            optimizer._settings(),
            kinds,
            rule.fresh,
            rule.by_row,
            rule.groups,
            rule.alone,  # on a mesh nothing is joined, also where no state says so
            units,
            advances,
            replicas,
            None if self._scaler is None else self._scaler.settings,
        )
        if optimizer.by_index or not optimizer.is_declared():
            key = (id(self), *key)  # what a user's class depends on is not known
            home = self._ops
        else:
            home = _UPDATES
        op = home.get(key)
        if op is None:
            if len(home) >= _MOST_UPDATES:
                home.pop(next(iter(home)))
            op = DerivedOp("update", Update(update, advances, optimizer.draws))
            op.steady = home is _UPDATES
            if self._scaler is not None:
                op = self._scaler.around(op, update)
            home[key] = op
            if replicas > 1:
                shared = 1 + (self._scaler is not None) + 2 * optimizer.draws
                op = home[key] = engine.joint(replicas, op, shared)
                op.random = False
        return op

    def _state_leaves(
        self, rule: Any, weights: list[Any], units: Units, keys: list[Any]
    ) -> tuple[list[Any], dict[str, Any]]:
        """Return the states for `rule`, and those that rest: what there is under the same names, and fresh ones."""
        held = self._held
        if held.rule is not None and held.rule.rule is rule:
            return held.leaves(_READ), held.resting
        return units.from_names(rule, keys, self._states(), units.init(rule, [w._read() for w in weights]))

    def _state_arrays(
        self, packed: PackedRule, leaves: list[Any], weights: list[Any], units: Units, replicas: list[Any]
    ) -> tuple[list[Any], list[list[Any]]]:
        """Return the arrays that hold the states `leaves`, and their copies; each lies as its weight does."""
        held, rule = self._held, packed.rule
        homes = [weights[units.home_of(rule, g[0])] for g in packed.groups]
        if held.lies_as(packed):
            arrays, copies = held.arrays, held.copies
            _bring(arrays, homes)
        else:
            arrays, copies = _arrays_of(packed, leaves, homes), []
        if len(copies) != len(replicas) - 1:
            now = [s.asnumpy() for s in arrays]
            copies = [[new_handle(on_device(a, d.place)) for a in now] for d in replicas[1:]]
        for own, device in zip(copies, replicas[1:], strict=True):
            _bring(own, [units.params[0]._replicas[device]] * len(own))
        return arrays, copies

    def _states(self, lying: bool = False) -> dict[str, Any]:
        """Return the single states by name, as NumPy arrays, or as they lie; those of frozen parameters too."""
        self._keep_together()
        return self._held.by_name(_READ if lying else _ON_HOST)

    def _step_imperatively(self, ignore_stale: bool) -> None:
        """Step by the updater of each device: for an optimizer whose steps a user has written on ndarrays."""
        optimizer, updaters = self._optimizer, self._updaters
        todo = self._renewed(ignore_stale)
        if self._scaler is not None and todo:
            factor = self._scaler.passes([self._params[i]._handle.grad for i in todo])
            if factor is None:
                return
            optimizer.rescale_grad *= factor
        known = [dict(u.states) for u in updaters]
        params = [self._params[i]._whole for i in todo]
        touched = [h for p in params for h in p._every()] + list(_handles(known))
        values = [(handle, handle.value, handle.aval, handle.tape) for handle in touched]
        try:
            for k, updater in enumerate(updaters):
                arrays = [(i, self._params[i]._every()[k]) for i in todo]
                fresh = [(i, w) for i, w in arrays if self._params[i]._replicas is None or w.variable.fresh]
                if fresh:
                    optimizer._set_current_device(k)
                    updater([i for i, _ in fresh], [w.grad for _, w in fresh], [w for _, w in fresh])
            engine.flush("trainer.step")
        except BaseException:
            for handle, *value in values:
                handle.value, handle.aval, handle.tape = value
            for updater, states in zip(updaters, known, strict=True):
                updater.states = states
            raise
        finally:
            optimizer._set_current_device(0)
        for i in todo:
            _variable_of(self._params[i]).fresh = False
        plain_steps[self._why_by_hand()] += 1

    def _why_by_hand(self) -> str:
        if self._optimizer._is_imperative():
            return f"{type(self._optimizer).__name__} overrides {' and '.join(self._optimizer._own_updates)}"
        return "states of trainer._updaters are in somebody's hands"

    def _keep_apart(self) -> None:
        """Keep the states as arrays of each device and parameter, as MXNet's updaters have them, and step by these."""
        if self._by_hand:
            return
        if isinstance(self._optimizer, OptaxOptimizer):
            raise ArgumentError("an optax transformation has no updaters: as_optax() gives its state")
        kept = self._states()
        self._begin(kept)
        self._by_hand = True
        for k, updater in enumerate(self._updaters):
            for i, (name, param) in enumerate(zip(self._names, self._params, strict=True)):
                if param._is_ready:
                    place = functools.partial(_place_of, param._every()[k])
                    state = of_names(self._optimizer, name, kept, place)
                    if state is not None:
                        updater.states[i] = state

    def _keep_together(self) -> None:
        """Undo `_keep_apart`, for who looks at the states by name."""
        if self._by_hand and not self._optimizer._is_imperative():
            states = dict(self._held.resting)
            for i, state in self._updaters[0].states.items():
                states |= by_name(self._optimizer, self._names[i], state)
            for updater in self._apart:
                updater.states = {}
            self._begin(states)

    def _trained(self, ignore_stale: bool) -> tuple[list[int], list[Parameter]]:
        """Return the positions of parameters that are not frozen, and those of them that still wait for a shape.

        Raises if there is no parameter at all, one has no value (frozen ones too, where all are), or one waits and is
        not to be ignored.
        """
        found = [i for i, p in enumerate(self._params) if p.grad_req != "null"]
        if not self._params:
            raise ValueError("this Trainer has no parameter to train: it was given none")
        waiting: list[Parameter] = []
        for p in [self._params[i] for i in found or range(len(self._params))]:
            if p._handle is None:
                raise UninitializedError(_NO_VALUE.format(path=p._path))
            if not p._is_ready:
                waiting.append(p)
        ready = [i for i in found if self._params[i]._is_ready]
        if waiting and not (ignore_stale and ready):
            raise _unreached(waiting[0])
        return ready, waiting

    def _is_fresh(self, i: int, ignore_stale: bool) -> bool:
        """Return whether a parameter has a new gradient, on any device where devices may be left out."""
        p = self._params[i]
        variable = _variable_of(p)
        if not variable.fresh and not ignore_stale:
            raise StaleGradientError(_STALE.format(path=p._path))
        return variable.any_fresh if type(variable) is _Replicated else variable.fresh

    # -- the state of an optax transformation ----------------------------------------------------------------------

    def as_optax(self) -> tuple[Any, tuple[Any, ...]]:
        """Return the state of the update rule, and the parameters, as optax has them; both are copies.

        For functions of optax that look at them, such as ``optax.contrib.schedule_free_eval_params(state, params)``;
        what these make of the parameters, :meth:`using` takes.

        Returns
        -------
        state, params : pytree, tuple of jax.Array
            The parameters that are trained, in the Trainer's order: by name, where it was given a dict.

        Examples
        --------
        >>> import optax
        >>> from gluonx import nn, Trainer
        >>> net = nn.Dense(1, in_units=2)
        >>> net.initialize()
        >>> state, params = Trainer(net.collect_params(), optax.trace(0.9)).as_optax()
        >>> [p.shape for p in params], state.trace[1].tolist()
        ([(1,), (1, 2)], [[0.0, 0.0]])
        """
        self._plan_for_states()
        assert self._held.rule is not None, "made by the plan"
        rule = self._held.rule.rule
        leaves = self._held.leaves(lambda s: jnp.array(s._read(), copy=True))
        state = jax.tree.unflatten(rule.treedef, [_as_key(x, kind) for x, kind in zip(leaves, rule.keys, strict=True)])
        return state, tuple([jnp.array(h._read(), copy=True) for h in self._trained_handles()])

    @contextlib.contextmanager
    def using(self, params: Iterable[Any]) -> Generator[None]:
        """Within, the parameters have other values: those of an average, say, for an evaluation.

        Parameters
        ----------
        params : iterable of array
            In the order of :meth:`as_optax`.

        Raises
        ------
        ShapeError
            If a shape does not fit; nothing has changed then.

        Examples
        --------
        >>> from gluonx import nn, Trainer
        >>> net = nn.Dense(1, in_units=2, use_bias=False)
        >>> net.initialize()
        >>> trainer = Trainer(net.collect_params(), "sgd")
        >>> with trainer.using([np.ones((1, 2))]):
        ...     net.weight.data().tolist()
        [[1.0, 1.0]]
        """
        handles, given = self._trained_handles(), [to_jax(p) for p in params]
        if self._held.copies:
            raise ArgumentError("using() is not for parameters on several devices; lay the net out on a mesh")
        shapes = [h.shape for h in handles]
        if [p.shape for p in given] != shapes:
            raise ShapeError(f"using() was given arrays of {[p.shape for p in given]} for parameters of {shapes}")
        before = [new_handle(h._read()) for h in handles]
        try:
            for handle, value in zip(handles, given, strict=True):
                handle._put(new_handle(value.astype(handle.dtype)))
            yield
        finally:
            for handle, value in zip(handles, before, strict=True):
                handle._put(value)

    def _trained_handles(self) -> list[Any]:
        """Return the arrays that the rule sees: of the parameters that are trained."""
        self._plan_for_states()
        return [self._params[i]._handle for i in self._held.active]

    def hyperparams(self) -> dict[str, float]:
        """Return the numbers that ``optax.inject_hyperparams`` keeps in the state, by name.

        Examples
        --------
        >>> import optax
        >>> from gluonx import nn, Trainer
        >>> net = nn.Dense(1, in_units=2)
        >>> net.initialize()
        >>> trainer = Trainer(net.collect_params(), optax.inject_hyperparams(optax.sgd)(learning_rate=0.5))
        >>> trainer.set_hyperparams(learning_rate=0.25)
        >>> trainer.hyperparams()
        {'learning_rate': 0.25}
        """
        leaves, found = self._hyperparam_leaves()
        return {name: leaves[places[0]].item() for name, places in found.items()}

    def set_hyperparams(self, **values: float) -> None:
        """Set numbers that ``optax.inject_hyperparams`` keeps in the state; nothing recompiles.

        Where several parts of a transformation have one of that name, all are set. A number that follows a schedule is
        computed again at the next step.

        Raises
        ------
        ArgumentError
            If there is none of that name; nothing has changed then.
        """
        leaves, found = self._hyperparam_leaves()
        unknown = sorted(set(values) - set(found))
        if unknown:
            raise ArgumentError(
                f"the optimizer has no injected hyperparameters {unknown}, but {sorted(found)}; they are made by "
                "optax.inject_hyperparams(optax.adam)(learning_rate=...)"
            )
        held = self._held
        assert held.rule is not None, "made for the leaves"
        for name, value in values.items():
            for place in found[name]:
                leaves[place] = np.asarray(value, leaves[place].dtype)
        states, packed = held.every(), [*held.rule.pack(leaves)] * (1 + len(held.copies))
        new = [on_device(array, _place_of(h, array.shape)) for h, array in zip(states, packed, strict=True)]
        deque(map(setattr, states, repeat("value"), new), maxlen=0)

    def _hyperparam_leaves(self) -> tuple[list[Any], dict[str, list[int]]]:
        """Return the leaves of the state on the host, and where hyperparameters are among them."""
        self._plan_for_states()
        assert self._held.rule is not None, "made by the plan"
        found: dict[str, list[int]] = {}
        for place, name in enumerate(self._held.rule.rule.leaf_names):
            *_, kind, last = ("", *name.split("/"))
            if kind == "hyperparams":
                found.setdefault(last, []).append(place)
        return list(self._held.leaves(_ON_HOST)), found

    # -- files -----------------------------------------------------------------------------------------------------

    @door
    def save_states(self, fname: serialize.Place) -> None:
        """Write the optimizer's states and counts to a file, or to a file object; whole or not at all.

        Raises
        ------
        ValueError
            For an optimizer with hand-written steps, whose states are unknown.
        """
        if self._optimizer._is_imperative():
            raise ValueError(
                f"{type(self._optimizer).__name__} keeps states of its own making, which cannot be saved safely"
            )
        self._prepare()
        self._plan_for_states(all_there=False)
        if self._scaler is not None:
            self._scaler.settle(self._optimizer)
        arrays = self._states()
        arrays["__meta__"] = description(self._optimizer, self._names)
        serialize.save_arrays(fname, arrays)

    @door
    def load_states(self, fname: serialize.Place) -> None:
        """Read what :meth:`save_states` wrote, here or in MXNet: all of it, or nothing where something does not fit.

        From a file of MXNet come, as there, the optimizer's settings and its learning rate scheduler too.

        Raises
        ------
        FormatError
            If the file is damaged, or was written for another optimizer or other parameters.
        """
        source = serialize.at_hand(fname)
        fname = serialize.name_of(fname)
        self._prepare()
        if not serialize.is_pickle(source):
            arrays = serialize.load_arrays(source)
            meta = described(arrays.pop("__meta__", None), fname)
            if all(p._prefixed for p in self._params):
                arrays, meta = by_place(arrays, meta, self._names)
            return self._take_states(fname, arrays, meta)
        found = serialize.load_trainer_states(source)
        same = found.optimizer == type(self._optimizer).__name__
        undo = adopt(self._optimizer, found.settings, found.scheduler) if same else None
        try:
            self._take_states(fname, *found.by_name(self._names, self._optimizer.multi_precision))
        except BaseException:
            if undo is not None:
                undo()
            raise

    def _take_states(self, fname: Any, arrays: dict[str, Any], meta: dict[str, Any]) -> None:
        """All of the states, or nothing."""
        trains = self._plan_for_states()
        mine = type(self._optimizer).__name__
        if meta["optimizer"] != mine:
            raise FormatError(f"{fname}: states of optimizer {meta['optimizer']}, but this Trainer uses {mine}")
        if not trains:  # all are frozen: their states wait until one is trained
            self._held = _Held(resting=dict(arrays))
            return self._take_counts(meta)
        held = self._held
        assert held.rule is not None, "made by the plan"
        rule, units = held.rule.rule, held.units
        shapes = units.shapes_by_name(held.keys, rule.owners, held.rule.shapes)
        wrong = [k for k, shape in shapes.items() if k not in arrays or arrays[k].shape != shape]
        rest = {k: arrays[k] for k in sorted(set(arrays) - set(shapes))}
        extra = [k for k in rest if not k.startswith(tuple(f"{name}/" for name in self._names))]
        if wrong or extra:
            raise FormatError(
                f"{fname}: the states do not fit this Trainer; missing or of another shape: {wrong[:5]}, "
                f"unexpected: {extra[:5]}"
            )
        leaves, _ = units.from_names(rule, held.keys, arrays, held.leaves(_READ))
        leaves = [leaf.astype(d, copy=False) for leaf, d in zip(leaves, held.rule.dtypes, strict=True)]
        packed = held.rule.pack(leaves)
        values = [on_device(array, _place_of(h, array.shape)) for h, array in zip(held.arrays, packed, strict=True)]
        copies = [[on_device(np.asarray(a), d.place) for a in packed] for d in _replicas_of(units)[1:]]
        states = held.every()
        values += [a for each in copies for a in each]
        deque(map(setattr, states, repeat("value"), values), maxlen=0)  # all or none, whatever interrupts
        self._held = replace(held, resting=rest)
        self._take_counts(meta)

    # -- checkpoints (gluonx.checkpoint) ---------------------------------------------------------------------------

    def _kept_for_checkpoint(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return the states by name, as they lie, and all else that the next step depends on, in types of JSON."""
        if self._by_hand:
            raise ValueError(f"{type(self._optimizer).__name__} keeps states of its own making, which nobody can write")
        self._plan_for_states(all_there=False)
        if self._scaler is not None:
            self._scaler.settle(self._optimizer)
        schedule = self._optimizer.lr_scheduler
        rest = {
            **described(description(self._optimizer, self._names), "a checkpoint"),
            "schedule": None if schedule is None else [type(schedule).__name__, simple_of(schedule)],
            "loss_scale": None if self._scaler is None else self._scaler.state_dict(),
        }
        return self._states(lying=True), rest

    def _fits_checkpoint(self, rest: Any, source: str) -> None:
        """Raise MismatchError if what :meth:`_kept_for_checkpoint` gave is not of a Trainer like this one."""
        mine, schedule = type(self._optimizer).__name__, self._optimizer.lr_scheduler
        if not isinstance(rest, dict):
            raise MismatchError(f"{source} was saved without a Trainer")
        theirs = rest["schedule"] and rest["schedule"][0]
        if rest["optimizer"] != mine or rest["names"] != list(self._names):
            raise MismatchError(
                f"{source} is of the optimizer {rest['optimizer']} for {len(rest['names'])} parameters, but this "
                f"Trainer has {mine} for {len(self._names)}, or they have other names"
            )
        if theirs != (schedule and type(schedule).__name__):
            raise MismatchError(f"{source} has the schedule {theirs}, but this Trainer {schedule!r}")

    def _param_of_state(self, name: str) -> Parameter | None:
        """Return the parameter that a state of this name is of."""
        owner = name.rpartition("/")[0]
        return dict(zip(self._names, self._params, strict=True)).get(owner)

    def _take_checkpoint(self, states: dict[str, Any], rest: dict[str, Any]) -> None:
        """Go on from what :meth:`_kept_for_checkpoint` gave."""
        self._take_states("the checkpoint", states, rest)
        if rest["schedule"] is not None:
            vars(self._optimizer.lr_scheduler).update(rest["schedule"][1])
        if rest["loss_scale"] is not None and self._scaler is not None:
            self._scaler.load_state_dict(rest["loss_scale"])

    def _take_counts(self, meta: dict[str, Any]) -> None:
        numbers = {name: i for i, name in enumerate(self._names)}
        counts = {numbers[n]: c for n, c in meta["counts"].items() if n in numbers}
        self._optimizer._index_update_count, self._optimizer.num_update = counts, meta["num_update"]
        if meta.get("learning_rate") is not None:
            self._optimizer.lr = meta["learning_rate"]

    def _plan_for_states(self, all_there: bool = True) -> bool:
        """Make the plan that states are kept for; False where all parameters are frozen.

        One for `all_there` raises if a parameter still waits for its shape.
        """
        self._keep_together()
        return self._whole_plan(not all_there) is not None

    def __repr__(self) -> str:
        return f"Trainer({len(self._params)} parameters, {self._optimizer!r})"


def _as_key(leaf: Any, kind: Any) -> Any:
    """Return a leaf of a state as optax has it: random keys as such."""
    return leaf if kind is None else jax.random.wrap_key_data(leaf, impl=kind)


def _unreached(param: Parameter) -> DeferredInitializationError:
    """Return the error of a step for a parameter that no forward has given a shape."""
    path = param._path
    return DeferredInitializationError(
        Text.UNREACHED.format(path=path, shape=param.shape, block=path.rpartition(".")[0] or path)
    )


def _store_of(kvstore: Any) -> Any:
    """Return the store of a user's class that is meant; None for MXNet's own."""
    if kvstore is None or (isinstance(kvstore, str) and kvstore.lower() in _OWN_STORES):
        return None
    found = NAMES["gluonx.kvstore"](kvstore)
    if found is not None and not (
        callable(getattr(found, "broadcast", None)) and callable(getattr(found, "pushpull", None))
    ):
        raise ValueError(f"kvstore must be a name, or an object with broadcast and pushpull, got {found!r}")
    return found


def _last_value(plan: _Plan) -> Any:
    """Return a value that is another one after a step: of the last state, or of the last weight where there is none."""
    value = (plan.state or plan.weights)[-1].value
    return value.vector.value if type(value) is Packed else value


class _Replicated:
    """The variables of a parameter on several devices as one."""

    __slots__ = ("variables",)

    def __init__(self, variables: list[Any]) -> None:
        self.variables = variables

    @property
    def fresh(self) -> bool:
        """True if there is a new gradient on each device; setting it sets all."""
        return all(v.fresh for v in self.variables)

    @fresh.setter
    def fresh(self, fresh: bool) -> None:
        for v in self.variables:
            v.fresh = fresh

    @property
    def any_fresh(self) -> bool:
        """True if there is a new gradient on any device."""
        return any(v.fresh for v in self.variables)


def _variable_of(param: Parameter) -> Any:
    if param._repeated is not None:
        check_distinct(param._repeated, param._path)
    handles = param._whole._every()
    return handles[0].variable if len(handles) == 1 else _Replicated([h.variable for h in handles])


def _replicas_of(units: Units) -> list[Any]:
    """Get the devices that all parameters have.

    DeviceError where they have different ones.
    """
    places = {tuple(p.list_device()): p for p in units.params}
    several = [p for devices, p in places.items() if len(devices) > 1]
    for p in several:
        check_distinct(p.list_device(), p._path)
    if len(places) > 1:
        one, two = list(places.values())[:2]
        raise DeviceError(
            f"a Trainer needs all parameters on the same devices, but '{one._path}' is on {one.list_device()} and "
            f"'{two._path}' on {two.list_device()}; "
            + (
                f"net.reset_device({several[0].list_device()}) moves all"
                if several
                else "make a Trainer for the parameters of each device, and let each step"
            )
        )
    return several[0].list_device() if several else [None]


def _put_sums(replicas: list[list[Any]], counts: tuple[int | None, ...]) -> None:
    """Put in the place of each gradient the sum over devices; `replicas` are the weights of each device."""
    grads = [[g for w in replica for g in _new_gradients(w)] for replica in replicas]
    if len(replicas) < 2 or not grads[0]:
        return
    for grad, total in zip([g for replica in grads for g in replica], _summed(grads, counts), strict=True):
        grad._put(total)
    for weight in [w for replica in replicas for w in replica]:
        weight.variable.fresh = True


def _summed(replicas: list[list[Any]], counts: tuple[int | None, ...]) -> list[Any]:
    """Return the sums of gradients over devices, on each of them: one flat list, device by device.

    `counts` are the rows of the tables whose gradients are kept by rows, which are two arrays each.
    """
    replicas = [list(replica) for replica in replicas]
    rows.even(replicas, counts)
    return list(engine.invoke_joint(_sum_op(len(replicas), counts), [g for replica in replicas for g in replica]))


@once
def _sum_op(replicas: int, counts: tuple[int | None, ...]) -> Any:
    """Return the operator that sums gradients over so many devices; where none is by rows, one for all of them."""
    if all(count is None for count in counts):
        return _sum_op(replicas, ()) if counts else engine.joint(replicas)
    return engine.joint(replicas, total=functools.partial(rows.sum_over_devices, counts))


def _positive(batch_size: Any) -> float:
    """Return the batch size as a number; ValueError if it is none that gradients can be divided by."""
    try:
        size = float(batch_size)
    except (TypeError, ValueError):
        size = math.nan
    if not 0 < size < math.inf:
        raise ValueError(f"batch_size must be a positive number, got {batch_size!r}")
    return size


def _spend(plan: _Plan) -> None:
    deque(map(setattr, plan.variables, repeat("fresh"), repeat(False)), maxlen=0)


def _place_of(handle: Any, shape: tuple[int, ...]) -> Any:
    """Return the sharding of a state of this shape: that of `handle`, or None if that array is free to follow others.

    What has another shape than its weight, such as a count, is whole on every device.
    """
    value = handle._read()
    if not value.committed:
        return None
    return value.sharding if value.shape == tuple(shape) else replicated(value.sharding)


def _bring(states: list[Any], weights: list[Any]) -> None:
    """Put states where their weights are, which may have been moved to other devices or laid out anew since."""
    for state, weight in zip(states, weights, strict=True):
        target, array = aval_of(weight._read()), state._read()
        place = _place_of(weight, state.shape) if target.spread else target.sharding
        if aval_of(array).sharding != place:
            state.value, state.aval = on_device(array if target.spread else state.asnumpy(), place), None


def _arrays_of(packed: PackedRule, leaves: list[Any], homes: list[Any]) -> list[Any]:
    """Return new arrays that hold the states `leaves`; each lies as the weight in `homes` does."""
    on_mesh = {i for group, h in zip(packed.groups, homes, strict=True) if _lies_on_mesh(h._read()) for i in group}
    # A state that leaves a mesh goes by way of the host: its weight may be free to follow others.
    leaves = [np.array(a) if i not in on_mesh and _lies_on_mesh(a) else a for i, a in enumerate(leaves)]
    states = packed.pack(leaves)
    return [new_handle(on_device(a, _place_of(h, a.shape))) for a, h in zip(states, homes, strict=True)]


def _lies_on_mesh(array: Any) -> bool:
    return is_spread(getattr(array, "sharding", None))


_MIXED = object()


def _common_place(weights: list[Any]) -> Any:
    """Return where numbers go that all weights need: None for the default device, _MIXED if there is no one place."""
    avals = [w.aval if w.aval is not None else aval_of(w._read()) for w in weights]
    if all(a.sharding is None for a in avals):
        return None
    places = {replicated(a.sharding) for a in avals if a.spread}
    return places.pop() if len(places) == 1 and all(a.spread for a in avals) else _MIXED


def _handles(states: Any) -> Iterator[Any]:
    """Yield the arrays in nested lists, tuples and dicts of states."""
    if isinstance(states, Handle):
        yield states
    elif isinstance(states, (list, tuple, dict)):
        for item in states.values() if isinstance(states, dict) else states:
            yield from _handles(item)


def _listed(params: Any) -> tuple[list[str], list[Parameter]]:
    if isinstance(params, Mapping):
        params = apart(params) if all(isinstance(p, Parameter) for p in params.values()) else params
        pairs = [(name, params[name]) for name in sorted(params)]
    elif isinstance(params, (list, tuple)):
        single = [piece for p in params for piece in pieces_of(p)]
        pairs = [(getattr(p, "_path", "") or f"{i}", p) for i, p in enumerate(single)]
    else:
        raise ValueError(
            f"params must be a dict or list of Parameter, such as net.collect_params(), got {type(params).__name__}"
        )
    names: list[str] = []
    unique: list[Parameter] = []
    seen: set[int] = set()
    for name, p in pairs:
        if not isinstance(p, Parameter):
            raise ValueError(f"params must hold Parameters, but {name!r} is a {type(p).__name__}")
        if id(p) not in seen:
            seen.add(id(p))
            names.append(name)
            unique.append(p)
    often = Counter(names)
    return [f"{name}#{i}" if often[name] > 1 else name for i, name in enumerate(names)], unique


def _give_up(grads: list[Any]) -> None:
    for g in grads:
        g.value, g.aval, g.tape = Gone(g.shape, g.dtype, _GONE), None, None


_UPDATE, _ALLREDUCE = Trainer._update, Trainer._allreduce_grads
_HALVES = {"_allreduce_grads": _ALLREDUCE, "_update": _UPDATE}  # of a step, which are one where nobody overrides them


def __dir__() -> list[str]:
    return sorted(__all__)
