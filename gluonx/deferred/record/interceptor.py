"""Interpreters that observe operators and pass them on.

They take the position of a trace and see every operator, but change nothing about how it runs: hooks on operators look
at its results, and MXNet 1's `hybrid_forward` turns these into NDArrays.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gluonx.deferred.record.engine import invoke, random_inputs
from gluonx.deferred.record.rows import RowVariable
from gluonx.deferred.values import index_checks
from gluonx.deferred.values.contracts import Args, Operand, Operator, Placement, Shape
from gluonx.deferred.values.core import Handle, State, current_state, set_state

__all__ = ["Interceptor", "is_traced_around"]


class Interceptor:
    """An `Interpreter` (:mod:`gluonx.deferred.values.contracts`) that passes operators on to the state `outer`."""

    transparent = True
    of_shapes = False
    required = taps = None

    def __init__(self, outer: State) -> None:
        self.outer = outer
        self.runs_hooks: bool | None = True if outer.trace is None else outer.trace.runs_hooks
        self.unrolls: bool = index_checks.Switch.on if outer.trace is None else outer.trace.unrolls

    def state(self) -> State:
        """Return the state in which this interceptor stands in front of the outer state."""
        return State(self.outer.recording, self.outer.training, self, self.outer.bulk, self.outer.naive)

    def outside(self, fn: Callable[..., Any], *args: Any) -> Any:
        """Call ``fn(*args)`` in the outer state, but with this state's recording and training flags."""
        inside, outer = current_state(), self.outer
        set_state(State(inside.recording, inside.training, outer.trace, outer.bulk, outer.naive))
        try:
            return fn(*args)
        finally:
            set_state(inside)

    def invoke(self, op: Operator, args: Args) -> Any:
        """Run `op` in the outer state."""
        return self.outside(invoke, op, args)

    def random_inputs(self, count: int) -> tuple[Any, Any]:
        """Return the key and index of the next random operations."""
        return self.outside(lambda: random_inputs(current_state(), count))

    def store(self, block: Any, name: str) -> None:
        """Tell the outer trace, if there is one, that an attribute of a block is about to be written."""
        if self.outer.trace is not None:
            self.outer.trace.store(block, name)

    def rebind(self, handle: Handle, new: Handle) -> bool:
        """Write to an array; the outer trace, if there is one, must know."""
        return self.outer.trace is not None and self.outer.trace.rebind(handle, new)

    def value(self, handle: Handle) -> Any:
        """Return the value for raw JAX code."""
        return self.outside(handle._raw)  # type: ignore[attr-defined]

    def moved(self, handle: Handle, placement: Placement) -> Handle:
        """Copy the handle in the outer state."""
        return self.outside(handle.to_device, placement)  # type: ignore[attr-defined]

    def tap(self, home: RowVariable, index: Operand, shape: Shape) -> Handle:
        """Return None: a look-up is passed on and done in the outer state."""
        raise AssertionError("it gives no taps out")


def is_traced_around() -> bool:
    """Return whether operators become part of a trace here, directly or after interceptors have passed them on."""
    state = current_state()
    while state.trace is not None and state.trace.outer is not None:
        state = state.trace.outer
    return state.trace is not None
