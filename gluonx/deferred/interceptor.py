"""Interpreters through which operators pass on their way to what would have run them anyway.

They stand where a trace would, see every operator, and change nothing about how it runs: hooks on operators look at
what comes out, `hybrid_forward` of MXNet 1 turns it into NDArrays.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gluonx.deferred import index_checks
from gluonx.deferred.contracts import Args, Home, Operand, Operator, Shape
from gluonx.deferred.core import Handle, State, current_state, set_state
from gluonx.deferred.engine import invoke, random_inputs
from gluonx.deferred.rows import RowVariable

__all__ = ["Interceptor", "is_traced_around"]


class Interceptor:
    """An :class:`~gluonx.deferred.contracts.Interpreter` that lets operators pass to the state `outer` around it."""

    transparent = True
    of_shapes = False
    required = taps = None

    def __init__(self, outer: State) -> None:
        self.outer = outer
        self.runs_hooks: bool | None = True if outer.trace is None else outer.trace.runs_hooks
        self.unrolls: bool = index_checks.Switch.on if outer.trace is None else outer.trace.unrolls

    def state(self) -> State:
        """Return the state in which this one stands in front of the outer one."""
        return State(self.outer.recording, self.outer.training, self, self.outer.bulk, self.outer.naive)

    def outside(self, fn: Callable[..., Any], *args: Any) -> Any:
        """``fn(*args)`` as if this one did not stand there; whether it records and trains is as it is here."""
        inside, outer = current_state(), self.outer
        set_state(State(inside.recording, inside.training, outer.trace, outer.bulk, outer.naive))
        try:
            return fn(*args)
        finally:
            set_state(inside)

    def invoke(self, op: Operator, args: Args) -> Any:
        """Run `op` outside."""
        return self.outside(invoke, op, args)

    def random_inputs(self, count: int) -> tuple[Any, Any]:
        """Return the key and index of the next random operations."""
        return self.outside(lambda: random_inputs(current_state(), count))

    def store(self, block: Any, name: str) -> None:
        """Tell the trace outside, if there is one, that an attribute of a block is about to be written."""
        if self.outer.trace is not None:
            self.outer.trace.store(block, name)

    def rebind(self, handle: Handle, new: Handle) -> bool:
        """Write to an array that the trace outside, if there is one, must know of."""
        return self.outer.trace is not None and self.outer.trace.rebind(handle, new)

    def value(self, handle: Handle) -> Any:
        """Return the value for raw JAX code."""
        return self.outside(handle._raw)  # type: ignore[attr-defined]

    def moved(self, handle: Handle, place: Home) -> Handle:
        """Copy it outside."""
        return self.outside(handle.to_device, place)  # type: ignore[attr-defined]

    def tap(self, home: RowVariable, index: Operand, shape: Shape) -> Handle:
        """Not here: a look-up passes, and is done outside."""
        raise AssertionError("it gives no taps out")


def is_traced_around() -> bool:
    """Return whether operators become part of a trace here, be it behind what they pass through."""
    state = current_state()
    while state.trace is not None and state.trace.outer is not None:
        state = state.trace.outer
    return state.trace is not None
