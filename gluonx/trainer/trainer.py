"""The Trainer: turns gradients into new weights, as the last node of the step's one program.

``step`` records the optimizer's update of all parameters as a single operator on flat lists (weights, gradients,
states and one small vector of rates) and then runs the whole pending graph: forward, backward and update are one XLA
program, and the buffers of weights and states are donated to it. What changes from step to step (learning rate,
weight decay, counts, ``1 / batch_size``) travels in that vector, so it never recompiles.

The ways of a step; all but the last leave weights, states and counts as they were where they fail::

    step(n)                        sets the scale of gradients, finds the store
      a closure                    _close: forward, gradients and update are computed on the first device
      a plan                       _make_step, _plan: the arrays and the operator of the last step, while they fit
        of one device, or a mesh   _step_by
        of a list of devices       _request_on_several: gradients are summed, each device updates its arrays
      an optimizer by hand         _make_step, _step_imperatively: array by array, by the updater of each device
      a store, or halves that a    _allreduce_grads, then _update
        subclass has overridden
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any
from weakref import ref

from gluonx.block.parameter import Parameter
from gluonx.block.structure import Text
from gluonx.common.extensions import NAMES
from gluonx.common.frames import door
from gluonx.deferred.record import engine
from gluonx.deferred.replicas import joining
from gluonx.deferred.trace.tracing import Traced
from gluonx.deferred.values.contracts import StepRequest
from gluonx.deferred.values.core import Handle, current_state
from gluonx.engine import plain_steps
from gluonx.errors import (
    ArgumentError,
    DeferredInitializationError,
    GluonxError,
    StaleGradientError,
    UninitializedError,
)
from gluonx.optimizer import Optimizer, create
from gluonx.optimizer.closure import check_writes, closed_step, traced_closure
from gluonx.optimizer.gradients import Gradients
from gluonx.optimizer.optimizer import OptaxOptimizer
from gluonx.trainer.arguments import alteration, listed, positive, scheduled, store_of
from gluonx.trainer.held import common_sharding
from gluonx.trainer.plan import Plan, plan_of
from gluonx.trainer.replicas import (
    any_fresh,
    check_same,
    new_gradients,
    put_sums,
    row_counts,
    summed,
    variable_of,
)
from gluonx.trainer.states import DeviceUpdater, Stateful

if TYPE_CHECKING:
    import optax

    from gluonx.np.handle import ndarray

__all__ = ["Trainer"]

_STALE = (
    "The gradient of parameter '{path}' has not been renewed by backward since the last step. The loss may not "
    "depend on it "
    "(a part of the net that this iteration did not use), or backward was not called. If that is meant, call "
    "step(batch_size, ignore_stale_grad=True), which leaves such parameters as they are."
)

_NOT_IN_SUM = (
    "The gradient of parameter '{path}' has not been renewed by backward since the last step, and accumulate sums "
    "those of all parameters. To leave some out, sum by grad_req='add' in place of accumulate, and step after several "
    "backwards."
)
_SHARED = (
    "This Trainer was made with {mine}, but its optimizer has {theirs}: it was exchanged, or another Trainer was "
    "given the same object. Give each an Optimizer of its own."
)
_NO_VALUE = (
    "Parameter '{path}' has no value yet; initialize the net and run it once on real input before trainer.step()"
)

_RESCALED = (
    "The batch size is not that of the steps before, and a store over processes that updates the weights goes on with "
    "the optimizer that it was given at the first step."
)

_ON_STORE = (
    "{what}() cannot be called where gradients are summed and weights updated in one: call step(), or make the Trainer "
    "with update_on_kvstore=False"
)


class Trainer(Stateful):
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
        Accepted for ported code and ignored.
    keep_grads : bool
        Whether gradients stay readable after ``step``, as in Gluon. False saves their memory.
    schedule : {'constant', 'linear', 'cosine', 'one_cycle'}, optional
        How the learning rate changes after a warm-up; see :func:`gluonx.lr_scheduler.create`. The optimizer's rate is
        the highest.
    total_steps, warmup_steps : int, optional
        The number of updates of the whole schedule, and of its warm-up.
    accumulate : int
        The number of steps for one update, which the last of them makes with the mean of their gradients. Schedules
        count updates. Each step needs a new gradient of every parameter.
    clip_norm : float, optional
        The greatest common norm of the gradients: above it, all of them are scaled down by one factor.
    loss_scale : float, optional
        The first loss scale, for gradients in float16: call ``backward`` within `gluonx.amp.scale_loss`. It grows and
        shrinks by itself, and steps whose gradients overflow are left out.

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

    _gradients = Gradients()  # how gradients are averaged and clipped first; the default is for older pickles
    _amp_loss_scaler: Any = None  # a user's loss scale: its has_overflow(params) decides whether to update

    @door
    def __init__(
        self,
        params: Any,
        optimizer: str | Optimizer | optax.GradientTransformation,
        optimizer_params: Mapping[str, Any] | None = None,
        kvstore: Any = "device",
        compression_params: Mapping[str, Any] | None = None,
        update_on_kvstore: bool | None = None,
        *,
        keep_grads: bool = True,
        schedule: str | None = None,
        total_steps: int | None = None,
        warmup_steps: int | None = None,
        accumulate: int = 1,
        clip_norm: float | None = None,
        loss_scale: float | None = None,
    ) -> None:
        self._names, self._params = listed(params)
        for param in self._params:
            param._set_trainer(self)
        self._contexts = self._check_contexts()
        self._compression_params = compression_params
        self._init_optimizer(optimizer, dict(optimizer_params or {}))
        if schedule is not None or total_steps is not None or warmup_steps is not None:
            self._optimizer.lr_scheduler = scheduled(self._optimizer, schedule, total_steps, warmup_steps)
        self._gradients = self._optimizer._gradients = alteration(self._optimizer, accumulate, clip_norm)
        self._scale = float(self._optimizer.rescale_grad)
        self._keep_grads = keep_grads
        self._kvstore_params = {"kvstore": kvstore, "update_on_kvstore": update_on_kvstore}
        self._found_store = (kvstore, store_of(kvstore))  # raises if it is no store
        self._store: Any = None
        self._reset_kvstore()
        if isinstance(loss_scale, str):
            raise ArgumentError(
                f"loss_scale is what the scale begins with, 2.0**16 say; it adapts. Got {loss_scale!r}."
            )
        # gluonx.amp's loss scale
        self._scaler: Any = None if loss_scale is None else NAMES["gluonx.amp.LossScaler"](loss_scale)
        self._apart: list[DeviceUpdater] = []  # the updater of each device, if a step is not one program
        self._begin({})

    # -- a step ------------------------------------------------------------------------------------------------------

    @door
    def step(
        self,
        batch_size: float,
        ignore_stale_grad: bool = False,
        closure: Any = None,
        *,
        value: Any = None,
    ) -> Any:
        """Update all parameters with their gradients over `batch_size`, and run what is pending.

        Parameters
        ----------
        batch_size : number
            Gradients are multiplied with ``1 / batch_size``. Pass 1 if the loss is a mean already.
        ignore_stale_grad : bool
            Whether parameters without a new gradient are left as they are instead of raising.
        closure : callable, optional
            ``closure()`` computes the loss, or a list of losses, whose sum over `batch_size` is what is made smaller,
            and nothing else: no ``backward`` is called, before or in it. For optimizers that look at the loss
            themselves, such as ``optax.lbfgs()``; others take its gradient. Where parameters are on several devices,
            the first one computes it. See :mod:`gluonx.optimizer.closure`.
        value : ndarray or number, optional
            The loss that ``backward`` was called on, for an optimizer that looks at its value, such as
            ``optax.contrib.reduce_on_plateau()``: it gets the sum divided by `batch_size`. Other optimizers ignore it.

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
        self._check_and_rescale_grad(self._scale / positive(batch_size))
        if self._params_to_init or not self._kv_initialized:
            self._prepare()
        if value is not None:
            self._check_telling("value")
        if self._replaced_halves():
            plain_steps[self._why_apart()] += 1
        elif self._store is None:
            return self._make_step(ignore_stale_grad, value, self._kvstore_params["kvstore"] is not None)
        else:
            self._renewed(ignore_stale_grad)  # raises before anything is sent
        self._allreduce_grads()
        self._update(ignore_stale_grad)

    def _make_step(self, ignore_stale: bool, value: Any = None, sums: bool = False) -> None:
        """Update, in one program or by hand; if that fails, restore the counts."""
        if self._amp_loss_scaler is not None and self._amp_loss_scaler.has_overflow(self._params):
            return
        if self._by_hand or self._optimizer._own_devices:  # `_is_by_hand`, without a call at each step
            if sums:
                self._sum_in_place(ignore_stale)
            return self._step_imperatively(ignore_stale)
        plan = self._plan(ignore_stale)
        if plan is None:
            return
        self._counted(self._step_by, plan, value, sums)

    def _counted(self, do: Callable[..., Any], plan: Plan, *args: Any) -> Any:
        """Run ``do(plan, *args)``, a step that the optimizer counts; if it fails, restore the counts."""
        optimizer = self._optimizer
        before = optimizer._index_update_count, optimizer.num_update
        last = ref(plan.last_value())  # weak: another reference would keep the buffer from being donated
        try:
            return do(plan, *args)
        except BaseException:
            if plan.last_value() is last():
                optimizer._index_update_count, optimizer.num_update = before
            else:  # interrupted after the program has run, so the step is complete
                plan.spend()
            raise

    def _step_by(self, plan: Plan, value: Any, sums: bool) -> None:
        """Record the update after everything that is pending, and run all of it as one program."""
        numbers = self._optimizer.counted(plan.fresh_indices, plan.held.active)
        if self._optimizer.is_refused():
            return plan.spend()
        request = plan.request or self._request_on_several(plan, sums)
        self._vector.renewed(numbers)
        if plan.takes_more:  # behind the vector
            scale = [] if self._scaler is None else [self._scaler.operand()]
            draw = engine.random_inputs(current_state()) if plan.update.rule.draws else ()
            request = request._replace(args=[*request.args, *scale, *draw])
        if value is not None:
            request = request._replace(op=plan.told_op, args=[*request.args, value])
        engine.commit_step(request)
        if plan.update.advances:
            self._vector.stepped()
        plan.spend()
        if plan.several:
            self._seen = plan.seen()

    # -- its plan ----------------------------------------------------------------------------------------------------

    def _plan(self, ignore_stale: bool) -> Plan | None:
        """Return the plan of this step; None if there is nothing to do.

        It is the last step's plan as long as that fits. With `ignore_stale`, parameters without a new gradient are left
        out.
        """
        plan = self._whole_plan(ignore_stale)
        if plan is None:
            return None
        for variable in plan.variables:
            if not variable.fresh:
                break
        else:
            return plan
        if not ignore_stale:
            stale = plan.held.params[plan.variables.index(variable)]
            raise StaleGradientError(_STALE.format(path=stale._path))
        fresh = tuple(map(any_fresh, plan.variables))
        if not any(fresh):
            return None
        if self._gradients.accumulate > 1 and not all(fresh):
            raise StaleGradientError(_NOT_IN_SUM.format(path=plan.held.params[fresh.index(False)]._path))
        found = self._plans.get(fresh)
        if found is None:
            found = self._taken(fresh, plan_of(self, plan.held.active, plan.waiting, fresh))
            found.variables = plan.variables
        return found

    def _whole_plan(self, ignore_waiting: bool) -> Plan | None:
        """Return the plan for all trained parameters, a new one if the last no longer fits; None if all are frozen."""
        plan = self._plans.get(None)
        if plan is None or not plan.fits(self._optimizer):
            self._plans.clear()
            if self._optimizer._gradients != self._gradients:
                raise ArgumentError(_SHARED.format(mine=self._gradients, theirs=self._optimizer._gradients))
            active, waiting = self._trained(ignore_waiting)
            if not active:
                return None
            plan = self._taken(None, plan_of(self, active, waiting))
        if plan.waiting and not ignore_waiting:
            raise _unreached(plan.waiting[0])
        return plan

    def _taken(self, key: tuple[bool, ...] | None, plan: Plan) -> Plan:
        """Use a new plan from now on, with its states."""
        self._vector.move(common_sharding(plan.weights))
        self._plans[key], self._held = plan, plan.held
        return plan

    def _trained(self, ignore_stale: bool) -> tuple[list[int], list[Parameter]]:
        """Return the positions of trained parameters that have a value, and the parameters that still wait for a shape.

        Raise if there is no parameter, if one is not initialized (frozen ones count only if all are frozen), or if one
        waits for its shape without `ignore_stale`.
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

    def _renewed(self, ignore_stale: bool) -> list[int]:
        """Return the positions of parameters with a new gradient; on several devices one on any of them counts."""
        variables = {i: variable_of(self._params[i]) for i in self._trained(ignore_stale)[0]}
        stale = [i for i, variable in variables.items() if not variable.fresh]
        if stale and not ignore_stale:
            raise StaleGradientError(_STALE.format(path=self._params[stale[0]]._path))
        return [i for i, variable in variables.items() if any_fresh(variable)]

    # -- a step on several devices -----------------------------------------------------------------------------------

    def _request_on_several(self, plan: Plan, sums: bool) -> StepRequest:
        """Return the request of a step in which gradients are summed over devices, and each updates its replicas."""
        if self._kvstore_params["kvstore"] is not None and not self._replaced_halves():
            self._check_replicas(plan)
        if sums and not self._updates_in(None, self._kvstore_params["update_on_kvstore"]):
            put_sums(plan.fresh_weights(), plan.counts)
            sums = False
        replicas = plan.replica_grads()
        given = [g for replica in replicas for g in replica]
        if not sums:
            joining.even_out(plan.every_weight())
        return plan.request_for(summed(replicas, plan.counts) if sums else given, given)

    def _check_replicas(self, plan: Plan) -> None:
        """Raise if somebody wrote to one replica alone since the last step."""
        every = plan.every_weight()
        if len(self._seen) != len(every) or any(w.value is not s() for w, s in zip(every, self._seen, strict=True)):
            check_same(plan.held.params, every)

    def _sum_in_place(self, ignore_stale: bool) -> None:
        """Replace gradients by their sums over devices, if there is a store that sums."""
        if self._kvstore_params["kvstore"] is None or not self._replica_devices():
            return
        if not self._is_by_hand():
            plan = self._plan(ignore_stale)
            if plan is not None:
                put_sums(plan.fresh_weights(), plan.counts)
            return
        weights = [self._params[i]._whole._every() for i in self._renewed(ignore_stale)]
        put_sums([list(replica) for replica in zip(*weights, strict=True)], row_counts(each[0] for each in weights))

    # -- steps by other ways: a closure, code of the user's, the two halves apart ------------------------------------

    def _close(self, batch_size: float, closure: Callable[[], Any]) -> Handle:
        """Make a step with a function that returns the loss."""
        size, optimizer = positive(batch_size), self._optimizer
        self._prepare()
        self._check_telling("closure")
        if not self._plan_for_states():
            raise ValueError("this Trainer has no parameter to train: all have grad_req='null'")
        plan = self._plans[None]
        if plan.update.by_row:
            raise ValueError(
                "a step with a closure takes gradients in the parameters' shapes: grad_stype must be 'default'"
            )
        traced = traced_closure(closure, plan.weights)
        if plan.several:
            self._check_replicas(plan)
            check_writes(traced, self._params)
        optimizer.rescale_grad = self._scale / size
        return self._counted(self._step_closed, plan, traced, closure)

    def _step_closed(self, plan: Plan, traced: Traced, closure: Callable[[], Any]) -> Handle:
        """Make a step with the traced closure, on the first device; the others get copies."""
        numbers = self._optimizer.counted(plan.fresh_indices, plan.held.active).vector()
        device = self._replica_devices()[0] if plan.several else None
        request, loss = closed_step(traced, closure, plan.update, plan.weights, plan.state, numbers, device)
        engine.commit_step(request)
        plan.spread()
        if plan.several:
            self._seen = plan.seen()
        return loss

    def _check_telling(self, what: str) -> None:
        """Raise if this Trainer's step cannot be told the loss: its ``value``, or the ``closure`` that computes it."""
        closes = what == "closure"
        if self._is_by_hand():
            why = f"steps are written by hand: {self._why_by_hand()}"
        elif self._scaler is not None or (closes and self._amp_loss_scaler is not None):
            why = "a loss scale is for gradients that a backward gives"
        elif self._store is not None:
            why = "gradients go to a store of your own"
        elif self._replaced_halves():
            why = self._why_apart()
        elif len(self._replica_devices()) > 1 and not closes:
            why = "parameters are on several devices; lay the net out on a mesh (docs/parallel.md)"
        elif self._gradients.accumulate > 1 and isinstance(self._optimizer, OptaxOptimizer):
            why = "an optimizer of optax is told one loss, which is not that of several steps (accumulate)"
        else:
            return
        raise ArgumentError(f"step({what}=...) is not possible, because {why}. Call step(batch_size) after a backward.")

    def _step_imperatively(self, ignore_stale: bool) -> None:
        """Step with the updater of each device, for an optimizer whose steps a user has written on ndarrays."""
        self._keep_apart()
        optimizer, updaters = self._optimizer, self._updaters
        todo = self._renewed(ignore_stale)
        if self._scaler is not None and todo:
            factor = self._scaler.passes([self._params[i]._handle.grad for i in todo])
            if factor is None:
                return
            optimizer.rescale_grad *= factor
        known = [dict(u.states) for u in updaters]
        params = [self._params[i]._whole for i in todo]
        touched = [h for p in params for h in p._every()] + list(handles_in(known))
        values = [(handle, handle.value, handle.aval, handle.tape) for handle in touched]
        every = dict(optimizer._all_index_update_counts)
        counts = optimizer._index_update_count, optimizer.num_update
        try:
            for k, updater in enumerate(updaters):
                arrays = [(i, self._params[i]._every()[k]) for i in todo]
                fresh = [(i, w) for i, w in arrays if self._params[i]._replicas is None or w.variable.fresh]
                if fresh:
                    updater([i for i, _ in fresh], [w.grad for _, w in fresh], [w for _, w in fresh])
            engine.flush("trainer.step")
        except BaseException:
            for handle, *value in values:
                handle.value, handle.aval, handle.tape = value
            for updater, states in zip(updaters, known, strict=True):
                updater.states = states
            Optimizer._set_current_device(optimizer, 0)  # not a class's own, which is asked before updates alone
            optimizer._index_update_count, optimizer.num_update = counts
            optimizer._all_index_update_counts = every
            raise
        finally:
            Optimizer._set_current_device(optimizer, 0)
        for i in todo:
            variable_of(self._params[i]).fresh = False
        plain_steps[self._why_by_hand()] += 1

    def _why_by_hand(self) -> str:
        if self._optimizer._is_imperative():
            return f"{type(self._optimizer).__name__} overrides {' and '.join(self._optimizer._own_updates)}"
        if self._optimizer._own_devices:
            return f"{type(self._optimizer).__name__} overrides _set_current_device"
        return "states of trainer._updaters are in somebody's hands"

    def _why_apart(self) -> str:
        return f"{type(self).__name__} overrides {' and '.join(self._replaced_halves())}"

    @door
    def update(self, batch_size: float, ignore_stale_grad: bool = False) -> None:
        """Do :meth:`step` without the exchange of gradients, for code that calls `allreduce_grads` itself.

        Raises
        ------
        ArgumentError
            Where parameters are on several devices, or a store of the user's is capable of updating them, and
            ``update_on_kvstore=False`` was not given: gradients and update are one there.
        """
        self._check_and_rescale_grad(self._scale / positive(batch_size))
        self._prepare()
        self._refuse_on_store("update")
        self._update(ignore_stale_grad)

    @door
    def allreduce_grads(self) -> None:
        """Make the gradients on each device the sum over all; a kvstore of the user's is given them.

        Raises
        ------
        ArgumentError
            As for `update`.
        """
        self._prepare()
        self._refuse_on_store("allreduce_grads")
        self._allreduce_grads()

    def _refuse_on_store(self, what: str) -> None:
        if self._update_on_kvstore and (self._store is not None or self._replica_devices()):
            raise ArgumentError(_ON_STORE.format(what=what))

    # -- what MXNet's Trainer calls on itself, and a subclass may override -------------------------------------------

    def _check_contexts(self) -> list[Any]:
        return self._check_devices()

    def _check_devices(self) -> list[Any]:
        """Return the devices of the parameters; none as long as no parameter is initialized."""
        return next((p.list_device() for p in self._params if p._handle is not None), [])

    def _init_optimizer(
        self, optimizer: str | Optimizer | optax.GradientTransformation, optimizer_params: Mapping[str, Any]
    ) -> None:
        """Set the optimizer, for the constructor."""
        if isinstance(optimizer, Optimizer) and optimizer_params:
            raise ArgumentError(
                "optimizer_params must be None when an Optimizer object is given, which has its settings"
            )
        self._optimizer = create(optimizer, param_dict=dict(enumerate(self._params)), **optimizer_params)

    def _reset_kvstore(self) -> None:
        """Drop the store; the next step gets one from `_init_kvstore`, and `_init_params` passes it the weights."""
        if "dist" in str(getattr(self._store, "type", "")):
            raise GluonxError("a store over processes cannot be exchanged: make a new Trainer")
        self._store, self._beside, self._kv_initialized = None, None, False
        self._distributed: bool | None = None
        self._update_on_kvstore: bool | None = None
        self._params_to_init = list(self._params)

    def _init_kvstore(self) -> None:
        """Find the store for the gradients, before the first step; None if the program of a step sums them."""
        given, wanted = self._kvstore_params["kvstore"], self._kvstore_params["update_on_kvstore"]
        if self._found_store[0] is not given:
            self._found_store = (given, store_of(given))
        store = self._found_store[1]
        if store is not None:
            if wanted and not store.is_capable("optimizer"):
                raise ArgumentError(f"update_on_kvstore=True, but {type(store).__name__} cannot update weights")
            if self._compression_params and hasattr(store, "set_gradient_compression"):
                store.set_gradient_compression(self._compression_params)
        elif given is not None and len(self._check_contexts()) > 1:
            store = NAMES["gluonx.kvstore.create"](given) if self._replaced_halves() else None
        self._store = store
        self._update_on_kvstore = self._updates_in(store, wanted)
        self._distributed = "dist" in str(getattr(store, "type", ""))
        if store is not None and self._update_on_kvstore:
            if self._gradients != Gradients():
                raise ArgumentError(
                    "accumulate and clip_norm are part of the Trainer's own step, but here the store updates the "
                    "weights, each by itself: give update_on_kvstore=False"
                )
            store.set_optimizer(self._optimizer)
        self._kv_initialized = True

    def _updates_in(self, store: Any, wanted: bool | None) -> bool | None:
        """Return whether a store updates the weights; or would, where the program of a step stands for MXNet's own.

        None where MXNet has no store either.
        """
        if wanted and self._optimizer.aggregate_num > 1:
            raise ArgumentError("update_on_kvstore=True is not for an optimizer of aggregate_num > 1")
        if store is None and (self._kvstore_params["kvstore"] is None or len(self._replica_devices()) < 2):
            return None
        if wanted is not None:
            return bool(wanted)
        return self._optimizer.aggregate_num <= 1 and (store is None or bool(store.is_capable("optimizer")))

    @property
    def _kvstore(self) -> object:
        """The store; where the program of a step does the work of MXNet's own over several devices, one to push to."""
        given = self._kvstore_params["kvstore"]
        if self._store is None and self._kv_initialized and given is not None and len(self._check_contexts()) > 1:
            if self._beside is None:
                self._beside = NAMES["gluonx.kvstore.beside"](self, given)
            return self._beside
        return self._store

    @_kvstore.setter
    def _kvstore(self, store: object) -> None:
        """Take the store that a subclass's `_init_kvstore` found."""
        self._store = store

    def _init_params(self) -> None:
        """Pass the store the weights of `_params_to_init`, and keep in that list those without a shape."""
        waiting = [p for p in self._params_to_init if not p._is_ready]
        if self._store is not None:
            numbers = {id(p): i for i, p in enumerate(self._params)}
            for p in self._params_to_init:
                if p._is_ready:
                    arrays = p.list_data()
                    self._store.broadcast(numbers[id(p)], arrays[0], arrays)
        self._params_to_init = waiting

    def _row_sparse_pull(self, parameter: Parameter, out: ndarray, row_id: ndarray, full_idx: bool = False) -> None:
        """Write rows of a parameter to a row_sparse array; asked if a class overrides it, by `row_sparse_data`."""
        parameter._rows(row_id).copyto(out)

    def _check_and_rescale_grad(self, scale: float) -> None:
        """Set the factor with which the optimizer multiplies gradients."""
        if self._distributed and self._update_on_kvstore and self._kv_initialized:
            if self._optimizer.rescale_grad != scale:
                raise UserWarning(_RESCALED)
        self._optimizer.rescale_grad = scale

    def _allreduce_grads(self) -> None:
        """Replace gradients by their sums over devices, or pass them to the user's store."""
        if self._store is None:
            self._sum_in_place(True)
        else:
            self._pushed()

    def _pushed(self) -> None:
        """Pass each new gradient to the store, which writes to the gradients or, if it updates, to the weights."""
        for i in self._renewed(True):
            param = self._params[i]
            for weight in param._whole._every():
                new_gradients(weight)  # an old gradient of a device that was left out is not pushed again
            grads = param.list_grad()
            self._store.pushpull(i, grads, out=param.list_data() if self._update_on_kvstore else grads, priority=-i)
            variable_of(param).fresh = True

    def _update(self, ignore_stale_grad: bool = False) -> None:
        """Update the weights of each device with its gradients, unless the store has done so."""
        if self._store is None or not self._update_on_kvstore:
            return self._make_step(ignore_stale_grad)
        for i in self._renewed(ignore_stale_grad):
            variable_of(self._params[i]).fresh = False

    def _begin(self, states: dict[str, Any]) -> None:
        super()._begin(states)
        if type(self)._row_sparse_pull is not Trainer._row_sparse_pull:
            for param in self._params:
                param._pulling = ref(self)

    def _replaced_halves(self) -> list[str]:
        """Return which halves of a step a subclass, or this object, has of its own; without any, it is one program."""
        cls, own = type(self), self.__dict__  # each step asks: comparisons take a fourth of what a loop over names does
        found = ["_allreduce_grads"] if cls._allreduce_grads is not _SUM or "_allreduce_grads" in own else []
        return [*found, "_update"] if cls._update is not _UPDATE or "_update" in own else found

    def _prepare(self) -> None:
        """Find the store and pass it the weights, before the first step."""
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

    # -- settings ----------------------------------------------------------------------------------------------------

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
        """The loss scale of :mod:`gluonx.amp`; raises AttributeError if there is none."""
        if self._scaler is None:
            raise AttributeError("this Trainer has no loss scale: call amp.init_trainer(trainer) after it was made")
        return self._scaler.loss_scale

    def _attach_scaler(self, scaler: Any) -> None:
        """Let `scaler`, a :class:`gluonx.amp.LossScaler`, check and unscale every update."""
        self._scaler = scaler
        self._plans.clear()

    def __repr__(self) -> str:
        return f"Trainer({len(self._params)} parameters, {self._optimizer!r})"


def _unreached(param: Parameter) -> DeferredInitializationError:
    """Return the error of a step for a parameter that no forward has given a shape."""
    path = param._path
    return DeferredInitializationError(
        Text.UNREACHED.format(path=path, shape=param.shape, block=path.rpartition(".")[0] or path)
    )


def handles_in(states: object) -> Iterator[Handle]:
    """Yield the arrays in nested lists, tuples and dicts of states."""
    if isinstance(states, Handle):
        yield states
    elif isinstance(states, (list, tuple, dict)):
        for item in states.values() if isinstance(states, dict) else states:
            yield from handles_in(item)


_SUM, _UPDATE = Trainer._allreduce_grads, Trainer._update  # the halves of a step; one program if none is replaced
