"""Steps that need the loss as a function: ``trainer.step(batch_size, closure=...)``.

Some rules (L-BFGS with its line search) look at the loss at several points before they move. So the user gives the
forward as a function without arguments, a *closure*, and not its gradient. It is traced once a step, with the trained
arrays as its inputs; loss, gradient, line search and update are one operator, and one program. Closures whose traces
read alike are the same operator, so a new lambda at each step compiles nothing.

Where parameters are on several devices, a closure gives a loss for each. The rule sees the sum of them as one function
of the parameters, so all of it is computed on the first device, and the others are given the new values.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import jax
import jax.numpy as jnp

from gluonx.common.thresholds import threshold
from gluonx.deferred.core import Handle, current_state, new_handle, set_state, state_with
from gluonx.deferred.derived import DerivedOp
from gluonx.deferred.engine import invoke, random_inputs
from gluonx.deferred.program_cache import memo
from gluonx.deferred.tracing import Traced, trace_function
from gluonx.errors import DeviceError, GraphError, TracedValueError
from gluonx.ops import prng

_IN_TRACE = "trainer.step(closure=...) was called inside a traced forward; call it from the training loop."
_NO_LOSS = (
    "the closure given to trainer.step must return the loss as one array, or a list of such for several devices, and "
    "call neither backward nor step itself, as in trainer.step(1, closure=lambda: loss_fn(net(x), y).mean()); it "
    "returned {what}"
)
_WRITES = (
    "the closure given to trainer.step writes to {what}, as BatchNorm does to its moving statistics. With parameters "
    "on several devices it is one function of the parts of all, so they would not be each device's own. Lay the net "
    "out on a mesh (docs/parallel.md), or have the statistics fixed (use_global_stats=True)."
)
_NO_WEIGHT = "the closure given to trainer.step uses none of the Trainer's parameters"


def _sum_of_losses(*losses: jax.Array) -> Any:
    return sum(jnp.sum(_inexact(loss)) for loss in losses)


_SUM_OF_LOSSES = DerivedOp("sum_of_losses", _sum_of_losses)
_SUM_OF_LOSSES.steady = True
_steps: dict[Any, DerivedOp] = memo()
_MOST = threshold("closures.known")


def traced_closure(closure: Callable[[], Any], weights: Sequence[Any]) -> Traced:
    """Return the closure as a function of `weights` and of the arrays that it captures; run as in training.

    Raises
    ------
    GraphError
        If it returns something else than arrays, or uses none of the weights.
    """
    before = current_state()
    if before.trace is not None:
        raise TracedValueError(_IN_TRACE)

    def loss() -> Any:
        out = closure()
        losses: list[Any] = list(out) if isinstance(out, (list, tuple)) and out else [out]
        for loss in losses:
            if not isinstance(loss, Handle):
                raise GraphError(_NO_LOSS.format(what=f"a {type(loss).__name__}"))
        return losses[0] if len(losses) == 1 else invoke(_SUM_OF_LOSSES, losses)

    set_state(state_with(recording=True, training=True))
    try:
        traced = trace_function(loss, "closure", [], list(weights))
    finally:
        set_state(before)
    if not any(h is w for h in traced.handles for w in weights):
        raise GraphError(_NO_WEIGHT)
    traced.give_up("the closure")
    return traced


def check_writes(traced: Traced, params: Iterable[Any]) -> None:
    """Raise DeviceError if a closure over several devices writes to anything; `params` are those that it may name."""
    if not traced.writes:
        return
    names = {id(param._handle): f"parameter '{param._path}'" for param in params}
    first: Any = traced.writes[0]
    raise DeviceError(_WRITES.format(what=names.get(id(first), f"an array of shape {first.shape}")))


class ClosedStep:
    """One update by a closure: the operator, its arguments and where its results go.

    Parameters
    ----------
    traced : Traced
        Of :func:`traced_closure`.
    closure : callable
        What was traced.
    update : callable
        ``update(*arrays, *gradients, *states, step_vector, value=, value_fn=)``, which gives arrays and states.
    key : hashable
        Tells updates apart.
    weights, state : sequence of Handle
        What is updated.
    draws : bool
        Whether the update takes a random key, ``key=``.

    Attributes
    ----------
    loss : ndarray
        Holds the loss before the update once the step is made.
    """

    def __init__(
        self,
        traced: Traced,
        closure: Any,
        update: Any,
        key: Any,
        weights: Sequence[Any],
        state: Sequence[Any],
        draws: bool = False,
    ) -> None:
        position = {id(w): i for i, w in enumerate(weights)}
        self.places = [position.get(id(h), -1) for h in traced.handles]
        self.others = [h for h, place in zip(traced.handles, self.places, strict=True) if place < 0]
        self.traced, self.weights, self.state = traced, list(weights), list(state)
        self.draws = draws
        self.loss = new_handle(None)
        self.targets = [*self.weights, *self.state, *traced.writes, self.loss]
        self.owned = range(len(self.weights) + len(self.state))
        self.op = self._operator(update, key, closure)

    def _operator(self, update: Any, key: Any, closure: Any) -> DerivedOp:
        found = self._identity(key, closure)
        op = None if found is None else _steps.get(found)
        if op is None:
            n, m, places = len(self.weights), len(self.state), tuple(self.places)
            step = _Step(update, self.traced.op.fn, self.traced.n_random, self.draws, places, n, m)
            op = DerivedOp("closed_step", step)
            if found is not None:
                if len(_steps) >= _MOST:
                    _steps.pop(next(iter(_steps)))
                _steps[found] = op
        return op

    def _identity(self, key: Any, closure: Any) -> Any:
        text = self.traced.text
        if text is None:
            return None
        found = (key, text, tuple(self.places), self.traced.n_random, self.traced.hidden(closure))
        try:
            hash(found)
        except TypeError:
            return None
        return found

    def arguments(self, hyper: Any, device: Any = None) -> list[Any]:
        """Return the operator's arguments: weights, states, numbers of the step, random words, and others.

        What the closure captured is brought to `device`, where one is given.
        """
        count = self.traced.n_random + self.draws
        head = random_inputs(current_state(), count) if count else ()
        others = self.others if device is None else [other.to_device(device) for other in self.others]  # type: ignore[attr-defined]
        return [*self.weights, *self.state, hyper, *head, *others]


class _Step:
    """(arrays, states, step vector, key and index if random, captured arrays) -> (arrays, states, writes, loss)."""

    def __init__(
        self, update: Any, forward: Any, n_random: int, draws: bool, places: tuple[int, ...], n: int, m: int
    ) -> None:
        self.update, self.forward, self.n_random, self.draws = update, forward, n_random, draws
        self.places, self.n, self.m = places, n, m

    def __call__(self, *arrays: Any) -> tuple[Any, ...]:
        n, m = self.n, self.m
        weights, states, hyper, rest = arrays[:n], arrays[n : n + m], arrays[n + m], arrays[n + m + 1 :]
        given: Any = rest[:2] if self.n_random or self.draws else ()
        head, others = given if self.n_random else (), rest[len(given) :]
        # The forward's draws come first, then the update's.
        extra = {"key": prng.wrap(given[0], given[1] + self.n_random)} if self.draws else {}

        def loss(moving: Sequence[Any]) -> tuple[Any, Any]:
            given = iter(others)
            inputs = [moving[p].astype(weights[p].dtype) if p >= 0 else next(given) for p in self.places]
            out, *written = self.forward(*head, *inputs)
            return jnp.sum(_inexact(out)), written

        (value, written), grads = jax.value_and_grad(loss, has_aux=True)(tuple(weights))
        extra |= {"value": value, "value_fn": lambda moving: loss(moving)[0]}
        new = self.update(*weights, *grads, *states, hyper, **extra)
        return (*new, *written, value)


def _inexact(loss: Any) -> Any:
    return loss.astype(jnp.promote_types(loss.dtype, jnp.float32))
