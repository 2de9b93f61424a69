"""Access to a Trainer's states between two steps: for files, checkpoints, copies, optax and updaters.

States lie as the plan of the step has them (`gluonx.trainer.held`); seen from outside they are single arrays under the
names of their parameters. An optimizer whose steps are written by hand keeps them in the updaters of MXNet instead, one
a device, and so does any other from the moment on that somebody takes hold of ``trainer._updaters[k].states``.
"""

from __future__ import annotations

import contextlib
import copy
import functools
from collections.abc import Generator, Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self
from weakref import ref

import jax
import jax.numpy as jnp
import numpy as np

from gluonx import files as serialize
from gluonx.block.parameter import Parameter
from gluonx.common.arguments import Checked
from gluonx.common.frames import door
from gluonx.common.host import to_jax
from gluonx.common.instances import with_own_dict
from gluonx.deferred.values.core import new_handle
from gluonx.errors import (
    ArgumentError,
    FormatError,
    MismatchError,
    ShapeError,
)
from gluonx.optimizer import Optimizer
from gluonx.optimizer.adopting import adopt
from gluonx.optimizer.numbers import StepVector
from gluonx.optimizer.optimizer import OptaxOptimizer
from gluonx.optimizer.statefile import by_name, by_position, described, description, of_names, simple_of
from gluonx.optimizer.updater import Updater
from gluonx.trainer.held import ON_HOST, READ, Held, sharding_of

if TYPE_CHECKING:
    from gluonx.trainer.plan import Plan

_FOUND_AGAIN = frozenset({"_held", "_seen", "_plans", "_vector", "_by_hand", "_beside", "_apart"})


class DeviceUpdater(Updater):
    """The states of one device by parameter numbers, with what updates weights by them: MXNet's ``_updaters``.

    A Trainer steps with it if the optimizer is imperative. Otherwise states are part of the program of a step; when
    somebody reads `states` they become that user's arrays, and the Trainer steps with this updater.
    """

    def __init__(self, trainer: Stateful, optimizer: Optimizer, number: int) -> None:
        self._trainer, self._number = ref(trainer), number
        super().__init__(optimizer)

    def _device_of(self, weight: object) -> int:
        return self._number  # two names of a device count apart

    @property
    def states(self) -> dict[Any, Any]:
        """The states by index."""
        trainer = self._trainer()
        if trainer is not None:
            trainer._keep_apart()
        return self._states

    @states.setter
    def states(self, states: dict[Any, Any]) -> None:
        self._states = states


class Stateful(Checked):
    """The part of a Trainer that reads, writes and copies its states."""

    _names: list[str]
    _params: list[Parameter]
    _optimizer: Optimizer
    _plans: dict[Any, Any]
    _held: Held
    _vector: StepVector
    _seen: list[Any]  # weak references to the weights after the last step on several devices
    _by_hand: bool
    _keep_grads: bool
    _scaler: Any  # gluonx.amp's loss scale
    _apart: list[DeviceUpdater]  # the updater of each device, if a step is not one program
    _store: Any
    _update_on_kvstore: bool | None
    _beside: Any  # the store that stands for MXNet's, once somebody asked for it

    def _begin(self, states: dict[str, Any]) -> None:
        """Begin with these states, by name; the next step makes everything else anew."""
        with_own_dict(self)
        self._plans = {}
        self._held = Held(resting=states)
        self._vector = StepVector()
        self._seen = []
        self._by_hand = self._optimizer._is_imperative()

    def _prepare(self) -> None:
        raise NotImplementedError

    def _whole_plan(self, ignore_waiting: bool) -> Plan | None:
        raise NotImplementedError

    def _replica_devices(self) -> list[Any]:
        """Return the devices of the parameters' replicas; none if they have a single array."""
        return next((p.list_device() for p in self._params if p._replicas is not None), [])

    def _plan_for_states(self, all_there: bool = True) -> bool:
        """Make the plan by which the states are stored; return False if all parameters are frozen.

        With `all_there`, raise if the shape of a parameter is still unknown.
        """
        self._keep_together()
        return self._whole_plan(not all_there) is not None

    def _states(self, lying: bool = False) -> dict[str, Any]:
        """Return the single states by name, as NumPy arrays or as they are; also those of frozen parameters."""
        self._keep_together()
        return self._held.by_name(READ if lying else ON_HOST)

    def _states_to_write(self, lying: bool = False) -> dict[str, Any]:
        """Return `_states` for a file, after subtracting the steps that amp skipped from the optimizer's counts.

        Raises
        ------
        ValueError
            For an optimizer with hand-written steps, whose states are unknown.
        """
        if self._optimizer._is_imperative():
            raise ValueError(
                f"{type(self._optimizer).__name__} keeps states of its own making, which cannot be saved safely"
            )
        self._plan_for_states(all_there=False)
        if self._scaler is not None:
            self._scaler.settle(self._optimizer)
        return self._states(lying)

    # -- updaters --------------------------------------------------------------------------------------------------

    @property
    def _updaters(self) -> list[Any]:
        """The updaters of each device's arrays; see :class:`DeviceUpdater`."""
        number = max(1, len(self._replica_devices()))
        while len(self._apart) < number:
            self._apart.append(DeviceUpdater(self, self._optimizer, len(self._apart)))
        return self._apart[:number]

    @_updaters.setter
    def _updaters(self, updaters: Iterable[Any]) -> None:
        """Ignore the assignment, which a user's `_init_optimizer` makes as MXNet's does."""

    def _keep_apart(self) -> None:
        """Keep the states as arrays of each device and parameter, as in MXNet's updaters, and step with these."""
        if self._by_hand:
            return
        if isinstance(self._optimizer, OptaxOptimizer):
            raise ArgumentError("an optax transformation has no updaters: as_optax() gives its state")
        if self._optimizer.alters_gradients:
            raise ArgumentError(
                "a Trainer with accumulate or clip_norm has no updaters, which step each weight by itself"
            )
        kept = self._states()
        self._begin(kept)
        self._by_hand = True
        for k, updater in enumerate(self._updaters):
            for i, (name, param) in enumerate(zip(self._names, self._params, strict=True)):
                if param._is_ready:
                    sharding = functools.partial(sharding_of, param._every()[k])
                    state = of_names(self._optimizer, name, kept, sharding)
                    if state is not None:
                        updater.states[i] = state

    def _is_by_hand(self) -> bool:
        """Return whether the updaters step: their states are in somebody's hands, or their optimizer must be asked."""
        return self._by_hand or self._optimizer._own_devices

    def _keep_together(self) -> None:
        """Undo `_keep_apart`, for reading the states by name."""
        if self._by_hand and not self._optimizer._is_imperative():
            states = dict(self._held.resting)
            for i, state in self._updaters[0].states.items():
                states |= by_name(self._optimizer, self._names[i], state)
            for updater in self._apart:
                updater.states = {}
            self._begin(states)

    # -- copies ----------------------------------------------------------------------------------------------------

    def _kept(self) -> dict[str, Any]:
        states = self._states()
        kept = {name: value for name, value in self.__dict__.items() if name not in _FOUND_AGAIN}
        return {**kept, "states": states, "by_hand": [updater.states for updater in self._apart if self._by_hand]}

    def _restore(self, kept: dict[str, Any]) -> None:
        states, by_hand = kept.pop("states"), kept.pop("by_hand")
        self.__dict__.update(kept)
        self._optimizer.param_dict = dict(enumerate(self._params))
        self._apart, self._beside = [], None
        self._begin(states)
        for given in by_hand:
            self._apart.append(DeviceUpdater(self, self._optimizer, len(self._apart)))
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

    def __deepcopy__(self, known: dict[int, Any]) -> Self:
        """Return a Trainer of copies of the parameters, as MXNet does; copy a net together with its Trainer."""
        new = known[id(self)] = object.__new__(type(self))
        new._restore(copy.deepcopy(self._kept(), known))
        return new

    def __copy__(self) -> Self:
        """Return a Trainer with the same parameters and optimizer, and its own states."""
        new = object.__new__(type(self))
        new._restore(self._kept())
        return new

    # -- the state of an optax transformation ----------------------------------------------------------------------

    def as_optax(self) -> tuple[Any, tuple[Any, ...]]:
        """Return the state of the update rule, and the parameters, as optax has them; both are copies.

        For functions of optax that look at them, such as ``optax.contrib.schedule_free_eval_params(state, params)``;
        pass the parameters that they return to :meth:`using`.

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
        rule = self._held.rule
        leaves = self._held.leaves(lambda s: jnp.array(s._read(), copy=True))
        state = jax.tree.unflatten(rule.treedef, [_as_key(x, kind) for x, kind in zip(leaves, rule.keys, strict=True)])
        return state, tuple([jnp.array(h._read(), copy=True) for h in self._trained_handles()])

    @contextlib.contextmanager
    def using(self, params: Iterable[Any]) -> Generator[None]:
        """Return a context in which the parameters have other values, such as averages for an evaluation.

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
        """Return the arrays that the rule sees: those of the trained parameters."""
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
        return {name: leaves[numbers[0]].item() for name, numbers in found.items()}

    def set_hyperparams(self, **values: float) -> None:
        """Set numbers that ``optax.inject_hyperparams`` keeps in the state; nothing recompiles.

        If several parts of a transformation have a number of that name, all are set. A number that follows a schedule
        is computed again at the next step.

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
        for name, value in values.items():
            for number in found[name]:
                leaves[number] = np.asarray(value, leaves[number].dtype)
        self._held.put(leaves)

    def _hyperparam_leaves(self) -> tuple[list[Any], dict[str, list[int]]]:
        """Return the leaves of the state on the host, and the positions of hyperparameters among them."""
        self._plan_for_states()
        assert self._held.rule is not None, "made by the plan"
        found: dict[str, list[int]] = {}
        for number, name in enumerate(self._held.rule.leaf_names):
            *_, kind, last = ("", *name.split("/"))
            if kind == "hyperparams":
                found.setdefault(last, []).append(number)
        return list(self._held.leaves(ON_HOST)), found

    # -- files -----------------------------------------------------------------------------------------------------

    @door
    def save_states(self, fname: serialize.Place) -> None:
        """Write the optimizer's states and counts to a file, or to a file object; whole or not at all.

        Raises
        ------
        ValueError
            For a state of an optimizer with hand-written steps, if it holds anything but arrays, numbers, texts, and
            tuples, lists and dicts by text of these.

        Notes
        -----
        A store that updates the weights (``update_on_kvstore=True`` and a store of your own) has the states, so that
        its ``save_optimizer_states`` writes the file, and its ``load_optimizer_states`` reads it.
        """
        self._prepare()
        if self._store is not None and self._update_on_kvstore:
            self._store.save_optimizer_states(fname, dump_optimizer=True)
            return
        arrays = self._own_states() if self._optimizer._is_imperative() else self._states_to_write()
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
        self._prepare()
        if self._store is not None and self._update_on_kvstore:
            self._store.load_optimizer_states(fname)
            self._optimizer = getattr(getattr(self._store, "_updater", None), "optimizer", self._optimizer)
            return
        source = serialize.at_hand(fname)
        fname = serialize.name_of(fname)
        if not serialize.is_pickle(source):
            arrays = serialize.load_arrays(source)
            meta = described(arrays.pop("__meta__", None), fname)
            if all(p._prefixed for p in self._params):
                arrays, meta = by_position(arrays, meta, self._names)
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

    def _own_states(self) -> dict[str, Any]:
        """Return the states of an optimizer with hand-written steps, and the shapes of the weights that they are of."""
        shapes = {f"{n}/shape": np.array(p.shape, np.int64) for n, p in zip(self._names, self._params, strict=True)}
        states = self._updaters[0]._written(with_settings=False, with_attributes=True)
        return {_OWN: np.frombuffer(states, np.uint8), **shapes}

    def _take_own_states(self, fname: object, arrays: dict[str, Any]) -> None:
        """Take what `_own_states` has returned, on each device."""
        states = arrays.pop(_OWN, None)
        wanted = {f"{n}/shape": list(p.shape or ()) for n, p in zip(self._names, self._params, strict=True)}
        if states is None or {name: array.tolist() for name, array in arrays.items()} != wanted:
            raise FormatError(f"{fname}: the states are of parameters of other names or shapes")
        for updater in self._updaters:
            updater.set_states(states.tobytes())

    def _take_states(self, fname: object, arrays: dict[str, Any], meta: dict[str, Any]) -> None:
        """Take all of the states, or none."""
        mine = type(self._optimizer).__name__
        if meta["optimizer"] != mine:
            raise FormatError(f"{fname}: states of optimizer {meta['optimizer']}, but this Trainer uses {mine}")
        if self._optimizer._is_imperative():
            self._take_own_states(fname, arrays)
            return self._take_counts(meta)
        trains = self._plan_for_states()
        if not trains:  # all are frozen: their states wait until one is trained
            self._held = Held(resting=dict(arrays))
            return self._take_counts(meta)
        held = self._held
        rule, units, now = held.rule, held.units, held.leaves(READ)
        assert rule is not None, "made by the plan"
        absent = [np.broadcast_to(np.False_, leaf.shape) for leaf in now]
        shapes = {name: part.shape for name, part in units.by_name(rule, held.keys, absent).items()}
        wrong = [k for k, shape in shapes.items() if k not in arrays or arrays[k].shape != shape]
        leaves, rest = units.from_names(rule, held.keys, arrays, now)
        extra = [k for k in sorted(rest) if not k.startswith(tuple(f"{name}/" for name in self._names))]
        if wrong or extra:
            raise FormatError(
                f"{fname}: the states do not fit this Trainer; missing or of another shape: {wrong[:5]}, "
                f"unexpected: {extra[:5]}"
            )
        held.put([new.astype(old.dtype, copy=False) for new, old in zip(leaves, now, strict=True)])
        self._held = replace(held, resting=rest)
        self._take_counts(meta)

    # -- checkpoints (gluonx.checkpoint) ---------------------------------------------------------------------------

    def _kept_for_checkpoint(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return the states by name, on their devices, and, in types of JSON, what else the next step depends on."""
        states = self._states_to_write(lying=True)
        schedule = self._optimizer.lr_scheduler
        rest = {
            **described(description(self._optimizer, self._names), "a checkpoint"),
            "schedule": None if schedule is None else [type(schedule).__name__, simple_of(schedule)],
            "loss_scale": None if self._scaler is None else self._scaler.state_dict(),
        }
        return states, rest

    def _fits_checkpoint(self, rest: Any, source: str) -> None:
        """Raise MismatchError if a result of :meth:`_kept_for_checkpoint` belongs to another kind of Trainer."""
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
        """Return the parameter to which a state of this name belongs."""
        owner = name.rpartition("/")[0]
        return dict(zip(self._names, self._params, strict=True)).get(owner)

    def _take_checkpoint(self, states: dict[str, Any], rest: dict[str, Any]) -> None:
        """Restore a result of :meth:`_kept_for_checkpoint`."""
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


_OWN = "__own__"


def _as_key(leaf: jax.Array, kind: str | None) -> jax.Array:
    """Return a leaf of a state as optax has it; random keys become keys again."""
    return leaf if kind is None else jax.random.wrap_key_data(leaf, impl=kind)
