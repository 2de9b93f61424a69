"""``mx.nd.contrib``: control flow, and the operators whose registered name begins with ``_contrib_``."""

from __future__ import annotations

import math
from typing import Any

from gluonx import np, npx
from gluonx.compat.nd.names import lookup, public_names
from gluonx.compat.nd.ndarray import as_nd, nd_twin

__all__ = ["cond", "foreach", "rand_zipfian", "while_loop"]


def _with_nd(function: Any) -> Any:
    """A body that is given NDArrays."""
    return lambda *args: function(*[nd_twin(a) for a in args])


def foreach(body: Any, data: Any, init_states: Any, name: str = "foreach") -> tuple[Any, Any]:
    """``body(item, states) -> (output, states)`` over the first axis of `data`; see `gluonx.npx.foreach`."""
    outs, states = npx.foreach(_with_nd(body), data, init_states)
    return as_nd(outs), as_nd(states)


def while_loop(cond: Any, func: Any, loop_vars: Any, max_iterations: int | None = None, name: str = "") -> Any:
    """``func(*loop_vars) -> (output, loop_vars)`` as long as ``cond(*loop_vars)``; see `gluonx.npx.while_loop`."""
    outs, states = npx.while_loop(_with_nd(cond), _with_nd(func), loop_vars, max_iterations)
    return as_nd(outs), as_nd(states)


def cond(pred: Any, then_func: Any, else_func: Any, inputs: Any = None, name: str = "cond") -> Any:
    """The result of one of two functions without arguments; see `gluonx.npx.cond`."""
    return as_nd(npx.cond(pred, then_func, else_func))


def rand_zipfian(true_classes: Any, num_sampled: int, range_max: int, ctx: Any = None) -> tuple[Any, Any, Any]:
    """Class numbers, the small ones often, and how often these and `true_classes` are expected among them."""
    log_range = math.log(range_max + 1)
    drawn = np.random.uniform(0, log_range, size=(num_sampled,))
    sampled = np.mod(np.astype(np.exp(drawn), "int32") - 1, range_max)

    def expected(classes: Any) -> Any:
        wide = np.astype(classes, "float32")
        return np.log((wide + 2.0) / (wide + 1.0)) / log_range * num_sampled

    return as_nd(sampled), as_nd(expected(true_classes)), as_nd(expected(sampled))


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)  # asked by tools that look at every module; nothing is loaded for them
    from gluonx.compat.nd.updates import MADE

    found = globals()[name] = MADE.get(name) or lookup(name, "contrib")
    return found


def __dir__() -> list[str]:
    from gluonx.compat.nd.updates import MADE

    return sorted({*globals(), *public_names("contrib"), *MADE})
