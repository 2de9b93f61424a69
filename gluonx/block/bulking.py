"""Calls of a net that is not hybridized, outside of ``record()``.

Such a call runs operator by operator. That costs a dispatch and a pass over memory for each operator, where one program
fuses most of them: a ResNet-50 that predicts takes 1.3 times as long. So a call of the outermost block that has come
some times with inputs of the same kind is *gathered*: its operators are recorded, and run as one program when it
returns. Nothing else changes. What is read in the middle is computed then, and splits the program there.

A program is compiled for that. Before it is, the call must have come `often`, and a block gives it up where it does not
pay: for inputs of more than a few kinds, or where each call is another program, since the forward samples in Python.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import jax

from gluonx.common.thresholds import threshold
from gluonx.deferred.core import Handle, HostArray, State, Tracer, aval_of, counters, set_state, state_with
from gluonx.deferred.engine import flush_known
from gluonx.deferred.graph import current_graph, leave_graph
from gluonx.deferred.growth import LIMIT_NODES

__all__ = ["Calls", "limits"]

limits = {"often": threshold("bulk.often"), "kinds": threshold("bulk.kinds"), "programs": threshold("bulk.programs")}
_AT_MOST = LIMIT_NODES // 2  # operations in one program


class _Local(threading.local):
    inside = False  # whether a call of an outer block counts itself already


_local = _Local()


class Calls:
    """Counts of a block's calls with inputs of each kind, and of the programs compiled for them then."""

    __slots__ = ("kinds",)

    def __init__(self) -> None:
        self.kinds: dict[Any, list[int]] = {}

    def __deepcopy__(self, memo: dict[int, object]) -> Calls:
        return Calls()

    def __reduce__(self) -> tuple[Any, ...]:
        return Calls, ()

    def run(self, forward: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], state: State) -> Any:
        """``forward(*args, **kwargs)``, operator by operator or gathered."""
        if _local.inside:
            return forward(*args, **kwargs)
        kind = _kind_of(args, kwargs, state)
        seen = self.kinds.get(kind)
        if seen is None and kind is not None and len(self.kinds) < limits["kinds"]:
            seen = self.kinds[kind] = [0, 0]
        if seen is not None:
            seen[0] += 1
            if seen[0] > limits["often"] and seen[1] < limits["programs"] and current_graph().cursor.parent is None:
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


def _kind_of(args: tuple[Any, ...], kwargs: dict[str, Any], state: State) -> Any:
    """Return a key shared by calls that are likely to be one program; None if this one cannot be gathered."""
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
        leave_graph()  # what is held of it is computed if it is read
        raise
    finally:
        set_state(state)
    flush_known("the end of a net's call")
    return out
