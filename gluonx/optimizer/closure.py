"""Steps that need the loss as a function: ``trainer.step(batch_size, closure=...)``.

Some rules (L-BFGS with its line search) evaluate the loss at several points before they move. So the user passes the
forward as a function without arguments, a *closure*, instead of a gradient. It is traced once a step, with the trained
arrays as its inputs; loss, gradient, line search and update are one operator, and one program. Closures with equal
traces are the same operator, so a new lambda at each step compiles nothing.

If parameters are on several devices, a closure returns a loss for each. The rule sees their sum as one function of the
parameters, so everything is computed on the first device, and the others get the new values.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import jax

from gluonx.common import policy
from gluonx.common.recent import recall
from gluonx.deferred.operators.derived import DerivedOp
from gluonx.deferred.record.engine import invoke, random_inputs
from gluonx.deferred.trace.tracing import Traced, trace_function
from gluonx.deferred.values.contracts import StepRequest
from gluonx.deferred.values.core import Handle, current_state, new_handle, set_state, state_with
from gluonx.deferred.values.program_cache import memo
from gluonx.errors import DeviceError, GraphError, TracedValueError
from gluonx.ops import prng
from gluonx.optimizer.rules import Update, total

if TYPE_CHECKING:
    import numpy

    from gluonx.device import DeviceLike
    from gluonx.np.handle import ndarray


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


_SUM_OF_LOSSES = DerivedOp("sum_of_losses", lambda *losses: sum(map(total, losses)))
_SUM_OF_LOSSES.steady = True
_steps: dict[Any, DerivedOp] = memo()


def traced_closure(closure: Callable[[], Any], weights: Sequence[Any]) -> Traced:
    """Return the closure, traced in train mode, as a function of `weights` and of the arrays that it captures.

    Raises
    ------
    GraphError
        If it returns something else than arrays, or uses none of the weights.
    """
    before = current_state()
    if before.trace is not None:
        raise TracedValueError(_IN_TRACE)

    def loss() -> ndarray:
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
    """Raise DeviceError if a closure over several devices writes to anything; `params` are for the message."""
    if not traced.writes:
        return
    names = {id(param._handle): f"parameter '{param._path}'" for param in params}
    first: Any = traced.writes[0]
    raise DeviceError(_WRITES.format(what=names.get(id(first), f"an array of shape {first.shape}")))


def closed_step(
    traced: Traced,
    closure: Callable[[], Any],
    update: Update,
    weights: Sequence[Any],
    state: Sequence[Any],
    numbers: numpy.ndarray,
    device: DeviceLike = None,
) -> tuple[StepRequest, Handle]:
    """Return the request for an update by a closure, and the array that will hold the loss before the update.

    Parameters
    ----------
    traced : Traced
        The result of :func:`traced_closure`.
    closure : callable
        The function that was traced.
    update : Update
    weights, state : sequence of Handle
        The arrays to update.
    numbers : array
        The vector of the step.
    device : Device, optional
        The device to which arrays that the closure captured are copied.
    """
    number = {id(w): i for i, w in enumerate(weights)}
    positions = tuple([number.get(id(h), -1) for h in traced.handles])
    others = [h for h, position in zip(traced.handles, positions, strict=True) if position < 0]
    if device is not None:
        others = [other.to_device(device) for other in others]  # type: ignore[attr-defined]
    step = _Step(update, positions, traced.n_random, len(state), traced.op.fn)
    draws = traced.n_random + update.rule.draws
    head = random_inputs(current_state(), draws) if draws else ()
    loss = new_handle(None)
    targets = [*weights, *state, *traced.writes, loss]
    args = [*weights, *state, numbers, *head, *others]
    return StepRequest(_operator(step, traced, closure), args, targets, range(len(weights) + len(state))), loss


def _operator(step: _Step, traced: Traced, closure: Callable[[], Any]) -> DerivedOp:
    """Return a step as an operator, the same one for closures whose traces have the same text."""
    op = DerivedOp("closed_step", step)
    if traced.text is None:
        return op
    key = (step, traced.text, traced.hidden(closure))
    try:
        return recall(_steps, key, policy.KINDS, lambda: op)
    except TypeError:  # the closure holds something that cannot be a key
        return op


@dataclass(frozen=True)
class _Step:
    """Maps (arrays, states, step vector, random key and index, captured arrays) to (arrays, states, writes, loss)."""

    update: Update
    positions: tuple[int, ...]  # for each input of the forward its number among the arrays; -1 if it was captured
    n_random: int
    n_states: int
    forward: Callable[..., Any] = field(compare=False)  # told apart by the text of its trace

    def __call__(self, *arrays: jax.Array) -> tuple[Any, ...]:
        n, m = len(self.update.fresh), self.n_states
        weights, states, hyper, rest = arrays[:n], arrays[n : n + m], arrays[n + m], arrays[n + m + 1 :]
        draws = self.update.rule.draws
        given: Any = rest[:2] if self.n_random or draws else ()
        head, others = given if self.n_random else (), rest[len(given) :]
        # The forward's draws come first, then the update's.
        extra = {"key": prng.wrap(given[0], given[1] + self.n_random)} if draws else {}

        def loss(moving: Sequence[Any]) -> tuple[Any, Any]:
            given = iter(others)
            inputs = [moving[p].astype(weights[p].dtype) if p >= 0 else next(given) for p in self.positions]
            out, *written = self.forward(*head, *inputs)
            return total(out), written

        (value, written), grads = jax.value_and_grad(loss, has_aux=True)(tuple(weights))
        extra |= {"value": value, "value_fn": lambda moving: loss(moving)[0]}
        new = self.update.apply(weights, grads, states, hyper, **extra)
        return (*new, *written, value)
