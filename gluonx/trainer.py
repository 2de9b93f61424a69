"""The Trainer: turns gradients into new weights, as the last node of the step's one program.

``step`` records the optimizer's update of all parameters as a single operator on flat lists (weights, gradients,
states and one small vector of rates) and then runs the whole pending graph: forward, backward and update are one XLA
program, and the buffers of weights and states are donated to it. What changes from step to step (learning rate,
weight decay, counts, ``1 / batch_size``) travels in that vector, so it never compiles anew.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from os import PathLike
from typing import Any

import jax
import numpy as np

from gluonx import serialize
from gluonx.deferred import engine
from gluonx.deferred.core import new_handle
from gluonx.deferred.derived import DerivedOp
from gluonx.deferred.shapes import Gone
from gluonx.errors import FormatError, StaleGradientError, UninitializedError
from gluonx.optimizer import Optimizer, create
from gluonx.optimizer.packed import PackedRule
from gluonx.parameter import Parameter

__all__ = ["Trainer"]

_STALE = (
    "The gradient of parameter '{path}' has not been renewed by backward since the last step. The loss may not "
    "depend on it "
    "(a part of the net that this iteration did not use), or backward was not called. If that is meant, call "
    "step(batch_size, ignore_stale_grad=True), which leaves such parameters as they are."
)
_GONE = "this gradient was given up when the step ended, because the Trainer was made with keep_grads=False"
_FORMAT = "gluonx-trainer-1"


class _Plan:
    """What one step works on, found once: operator, handles, and which parameters take part."""

    __slots__ = (
        "fresh_indices",
        "grads",
        "handles",
        "marks",
        "op",
        "owned",
        "state",
        "targets",
        "tx",
        "variables",
        "weights",
    )

    def __init__(self, tx: Any, rule: PackedRule, params: list[Parameter], active: list[int], state: list[Any]) -> None:
        self.tx = tx
        self.handles = [p._handle for p in params]
        self.marks = [h.variable if h is not None else None for h in self.handles]
        self.fresh_indices = [i for i, f in zip(active, rule.fresh, strict=True) if f]
        self.weights = [self.handles[i] for i in active]
        self.variables = [w.variable for w in self.weights]
        self.grads = [w.variable.grad for w, f in zip(self.weights, rule.fresh, strict=True) if f]
        self.state = state
        self.targets = [*self.weights, *state]
        n, m = len(self.weights), len(self.grads)
        self.owned = (*range(n), *range(n + m, n + m + len(state)))
        self.op = DerivedOp("update", rule)

    def fits(self, tx: Any) -> bool:
        """Whether nothing was exchanged since: the rule, or what a parameter's gradient goes to."""
        return tx is self.tx and [h.variable for h in self.handles] == self.marks


class Trainer:
    """Applies an optimizer to a set of parameters.

    Parameters
    ----------
    params : dict of str to Parameter, or list of Parameter
        Usually ``net.collect_params()``. A dict is taken in the order of its sorted names, as MXNet does.
    optimizer : str, Optimizer or optax.GradientTransformation
        A name such as ``'adam'``, an object, or any transformation of optax.
    optimizer_params : dict, optional
        Settings for an optimizer given by name.
    kvstore, compression_params, update_on_kvstore
        Taken for ported code; one process has nothing to exchange.
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
        settings = dict(optimizer_params or {})
        if isinstance(optimizer, Optimizer) and settings:
            raise ValueError("optimizer_params must be None when an Optimizer object is given, which has its settings")
        self._scale = float(settings.get("rescale_grad", getattr(optimizer, "rescale_grad", 1.0)))
        self._optimizer = create(optimizer, param_dict=dict(enumerate(self._params)), **settings)
        self._keep_grads = keep_grads
        self._plans: dict[Any, _Plan] = {}
        self._state: list[Any] = []
        self._keys: list[str] = []
        self._rule: PackedRule | None = None
        self._active: list[int] = []
        self._by_hand = self._optimizer._is_imperative()
        self._imperative: dict[int, Any] = {}
        self._kvstore = kvstore

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
        """Sets the learning rate; no program compiles anew for it."""
        self._optimizer.set_learning_rate(lr)

    # -- stepping --------------------------------------------------------------------------------------------------

    def step(self, batch_size: float, ignore_stale_grad: bool = False) -> None:
        """Updates all parameters with their gradients over `batch_size`, and runs what is pending.

        Parameters
        ----------
        batch_size : number
            Gradients are multiplied with ``1 / batch_size``. Give 1 if the loss is a mean already.
        ignore_stale_grad : bool
            Whether parameters without a new gradient are left as they are instead of raising.

        Raises
        ------
        StaleGradientError
            If a parameter has no new gradient. Nothing has changed then.
        UninitializedError
            If a parameter has no value yet.
        """
        self._update(batch_size, ignore_stale_grad)

    def update(self, batch_size: float, ignore_stale_grad: bool = False) -> None:
        """The same as :meth:`step` where nothing is exchanged between processes."""
        self._update(batch_size, ignore_stale_grad)

    def allreduce_grads(self) -> None:
        """For code that separates exchange from update; one process has nothing to exchange."""

    def _update(self, batch_size: float, ignore_stale: bool) -> None:
        if not batch_size > 0:
            raise ValueError(f"batch_size must be a positive number, got {batch_size!r}")
        optimizer = self._optimizer
        before = optimizer.rescale_grad, optimizer._index_update_count, optimizer.num_update
        optimizer.rescale_grad = self._scale / batch_size
        try:
            if self._by_hand:
                self._step_imperatively(ignore_stale)
            else:
                self._step_in_one(self._plan(ignore_stale))
        except BaseException:
            optimizer.rescale_grad, optimizer._index_update_count, optimizer.num_update = before
            raise

    def _step_in_one(self, plan: _Plan | None) -> None:
        if plan is None:
            return
        optimizer = self._optimizer
        optimizer._update_count(plan.fresh_indices)
        args = [*plan.weights, *plan.grads, *plan.state, optimizer.hyper(self._active)]
        engine.commit_step(
            plan.op, args, plan.targets, plan.owned, None if self._keep_grads else lambda: _give_up(plan.grads)
        )
        for variable in plan.variables:
            variable.fresh = False

    def _plan(self, ignore_stale: bool) -> _Plan | None:
        plan = self._plans.get(None)
        if plan is None or not plan.fits(self._optimizer.rule(self._active)):
            self._plans.clear()
            plan = self._plans[None] = self._make_plan(None)
        if all([v.fresh for v in plan.variables]):  # noqa: C419 - a list is faster, and this runs each step
            return plan
        fresh = tuple([v.fresh for v in plan.variables])
        if not ignore_stale:
            stale = self._params[self._active[fresh.index(False)]]
            raise StaleGradientError(_STALE.format(path=stale._path))
        if not any(fresh):
            return None
        found = self._plans.get(fresh)
        if found is None:
            found = self._plans[fresh] = self._make_plan(fresh)
        return found

    def _make_plan(self, fresh: tuple[bool, ...] | None) -> _Plan:
        self._active = [i for i, p in enumerate(self._params) if p.grad_req != "null"]
        params = [self._params[i] for i in self._active]
        if not params:
            raise ValueError("this Trainer has no parameter to train: all have grad_req='null'")
        for p in params:
            if not p._is_ready:
                raise UninitializedError(
                    f"Parameter '{p._path}' has no value yet; initialize the net and run it once on real input before "
                    "trainer.step()"
                )
        weights = [p.data() for p in params]
        tx = self._optimizer.rule(self._active)
        rule = self._optimizer.flat_rule(weights, self._active)
        assert rule is not None, "steps written by hand are taken without a plan"
        leaves = self._state_leaves(rule, weights)
        packed = PackedRule(rule, [x.shape for x in leaves], [x.dtype for x in leaves], fresh or (True,) * len(params))
        if self._rule is None or self._rule.rule is not rule:
            place = next(iter(weights[0]._read().devices()))
            self._state = [new_handle(jax.device_put(array, place)) for array in packed.pack(leaves)]
            self._keys = self._leaf_keys(rule)
        self._rule = packed
        return _Plan(tx, packed, self._params, self._active, self._state)

    def _state_leaves(self, rule: Any, weights: list[Any]) -> list[Any]:
        """The states for `rule`: those that there are under the same names, and fresh ones."""
        if self._rule is not None and self._rule.rule is rule:
            return self._rule.unpack([s._read() for s in self._state])
        kept = self._states()
        fresh = rule.init([w._read() for w in weights])
        leaves = []
        for key, leaf in zip(self._leaf_keys(rule), fresh, strict=True):
            old = kept.get(key)
            leaves.append(old if old is not None and old.shape == leaf.shape else leaf)
        return leaves

    def _leaf_keys(self, rule: Any) -> list[str]:
        """Names of the state leaves: the parameter's name in place of its position."""
        return [
            name if owner is None else f"{self._names[self._active[owner]]}/{name.replace(f'{owner}/', '', 1)}"
            for name, owner in zip(rule.leaf_names, rule.owners, strict=True)
        ]

    def _states(self) -> dict[str, Any]:
        """The single states by name, as NumPy arrays."""
        if self._rule is None:
            return {}
        return dict(zip(self._keys, self._rule.unpack([s.asnumpy() for s in self._state]), strict=True))

    def _step_imperatively(self, ignore_stale: bool) -> None:
        """For an optimizer whose ``step`` a user has written on ndarrays."""
        optimizer = self._optimizer
        todo: list[int] = []
        for i, p in enumerate(self._params):
            if p.grad_req == "null":
                continue
            if not p.data().variable.fresh:
                if not ignore_stale:
                    raise StaleGradientError(_STALE.format(path=p._path))
                continue
            todo.append(i)
        optimizer._update_count(todo)
        for i in todo:
            weight = self._params[i].data()
            if i not in self._imperative:
                self._imperative[i] = optimizer.create_state_multi_precision(i, weight)
            optimizer.update_multi_precision([i], [weight], [weight.grad], [self._imperative[i]])
            weight.variable.fresh = False
        engine.flush("trainer.step")

    # -- files -----------------------------------------------------------------------------------------------------

    def save_states(self, fname: str | PathLike[str]) -> None:
        """Writes the optimizer's states and counts to a file; whole or not at all.

        Raises
        ------
        ValueError
            For an optimizer with hand-written steps, whose states are unknown.
        """
        if self._optimizer._is_imperative():
            raise ValueError(
                f"{type(self._optimizer).__name__} keeps states of its own making, which cannot be saved safely"
            )
        self._plan_for_states()
        arrays = self._states()
        counts = {self._names[i]: n for i, n in self._optimizer._index_update_count.items()}
        meta = {
            "format": _FORMAT,
            "optimizer": type(self._optimizer).__name__,
            "num_update": self._optimizer.num_update,
            "counts": counts,
            "learning_rate": self._optimizer.lr,
        }
        arrays["__meta__"] = np.frombuffer(json.dumps(meta).encode(), np.uint8)
        serialize.save_arrays(fname, arrays)

    def load_states(self, fname: str | PathLike[str]) -> None:
        """Reads what :meth:`save_states` wrote: all of it, or nothing where something does not fit.

        Raises
        ------
        FormatError
            If the file is damaged, or was written for another optimizer or other parameters.
        """
        arrays = serialize.load_arrays(fname)
        meta = _meta(arrays.pop("__meta__", None), fname)
        self._plan_for_states()
        mine = type(self._optimizer).__name__
        if meta["optimizer"] != mine:
            raise FormatError(f"{fname}: states of optimizer {meta['optimizer']}, but this Trainer uses {mine}")
        assert self._rule is not None, "made by the plan"
        shapes = dict(zip(self._keys, self._rule.shapes, strict=True))
        wrong = [k for k, shape in shapes.items() if k not in arrays or arrays[k].shape != shape]
        extra = sorted(set(arrays) - set(shapes))
        if wrong or extra:
            raise FormatError(
                f"{fname}: the states do not fit this Trainer; missing or of another shape: {wrong[:5]}, "
                f"unexpected: {extra[:5]}"
            )
        leaves = [arrays[k].astype(d, copy=False) for k, d in zip(self._keys, self._rule.dtypes, strict=True)]
        for handle, array in zip(self._state, self._rule.pack(leaves), strict=True):
            handle._assign_host(array, handle.device)
        numbers = {name: i for i, name in enumerate(self._names)}
        self._optimizer._index_update_count = {numbers[n]: int(c) for n, c in meta["counts"].items() if n in numbers}
        self._optimizer.num_update = int(meta["num_update"])
        if meta.get("learning_rate") is not None:
            self._optimizer.lr = meta["learning_rate"]

    def _plan_for_states(self) -> None:
        plan = self._plans.get(None)
        if plan is None or not plan.fits(self._optimizer.rule(self._active)):
            self._plans.clear()
            self._plans[None] = self._make_plan(None)

    def __repr__(self) -> str:
        return f"Trainer({len(self._params)} parameters, {self._optimizer!r})"


def _listed(params: Any) -> tuple[list[str], list[Parameter]]:
    if isinstance(params, Mapping):
        pairs = [(name, params[name]) for name in sorted(params)]
    elif isinstance(params, (list, tuple)):
        pairs = [(getattr(p, "_path", "") or f"{i}", p) for i, p in enumerate(params)]
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
    return names, unique


def _give_up(grads: list[Any]) -> None:
    for g in grads:
        g.value, g.aval, g.tape = Gone(g.shape, g.dtype, _GONE), None, None


def _meta(raw: Any, fname: Any) -> dict[str, Any]:
    try:
        meta = json.loads(bytes(raw)) if raw is not None else {}
    except ValueError:
        meta = {}
    if meta.get("format") != _FORMAT or not isinstance(meta.get("counts"), dict):
        raise FormatError(f"{fname}: not a file of trainer states written by gluonx")
    return meta
