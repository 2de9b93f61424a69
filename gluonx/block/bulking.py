"""Joining the operators of a call outside of ``record()``, for nets that are not hybridized.

Such a call runs operator by operator. That costs a dispatch and a pass over memory for each operator, where one program
fuses most of them: a ResNet-50 that predicts takes 1.3 times as long. So after some calls of the outermost block with
the same kinds of inputs, its calls are *gathered*: the operators are recorded, and run as one program when the call
returns. Nothing else changes. A value that is read in between is computed then, and splits the program there.

This needs a compilation. So the call must have come `often` before, and a block stops gathering if it does not pay: for
inputs of more than a few kinds, or if each call is another program because the forward samples in Python.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import jax

from gluonx.common import policy
from gluonx.deferred.record.engine import flush_known
from gluonx.deferred.record.graph import current_graph, leave_graph
from gluonx.deferred.values.core import Handle, HostArray, State, Tracer, aval_of, counters, set_state, state_with

__all__ = ["Calls"]

_AT_MOST = policy.PENDING // 2  # operations in one program


class _Local(threading.local):
    inside = False  # whether an outer block's call is being counted already


_local = _Local()


class Calls:
    """Counts a block's calls for each kind of inputs, and the programs that were compiled for them."""

    __slots__ = ("kinds",)

    def __init__(self) -> None:
        self.kinds: dict[Any, list[int]] = {}

    def __deepcopy__(self, memo: dict[int, object]) -> Calls:
        return Calls()

    def __reduce__(self) -> tuple[Any, ...]:
        return Calls, ()

    def run(self, forward: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], state: State) -> Any:
        """Run ``forward(*args, **kwargs)``, operator by operator or gathered."""
        if _local.inside:
            return forward(*args, **kwargs)
        kind = _kind_of(args, kwargs, state)
        seen = self.kinds.get(kind)
        if seen is None and kind is not None and len(self.kinds) < policy.KINDS:
            seen = self.kinds[kind] = [0, 0]
        if seen is not None:
            seen[0] += 1
            if seen[0] > policy.CALLS and seen[1] < policy.SAMPLING and current_graph().cursor.parent is None:
                compiled = counters.programs_compiled
                try:
                    return _gathered(forward, args, kwargs, state)
                finally:
                    seen[1] += counters.programs_compiled - compiled
        _local.inside = True
        try:
            return forward(*args, **kwargs)
        finally:
            _local.inside = False


def _kind_of(args: tuple[Any, ...], kwargs: dict[str, Any], state: State) -> tuple[Any, ...] | None:
    """Return a key shared by calls that are likely to be one program; None if this call cannot be gathered."""
    kind: list[Any] = [state.training, *kwargs]
    for a in (*args, *kwargs.values()):
        if isinstance(a, Handle):
            value = a.value
            if not isinstance(value, (jax.Array, HostArray)) or isinstance(value, Tracer):
                return None
            kind.append(a.aval or aval_of(value))
        elif isinstance(a, Tracer):
            return None
        else:
            kind.append(type(a))
    return tuple(kind)


def _gathered(forward: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], state: State) -> Any:
    set_state(state_with(bulk=_AT_MOST))
    try:
        out = forward(*args, **kwargs)
    except BaseException:
        leave_graph()  # values that users hold are computed when they are read
        raise
    finally:
        set_state(state)
    flush_known("the end of a net's call")
    return out
