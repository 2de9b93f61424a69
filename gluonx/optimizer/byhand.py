"""Updates by hand with NumPy, for shapes that were never seen.

``optimizer.update(...)`` and an `Updater` may get a new shape with each array, and JAX takes 5 to 10 ms to trace a rule
for it. :class:`ByHand` is the NumPy kernel of such an update (`gluonx.deferred.run.host`). It traces the rule of one
weight with symbols for its lengths: JAX proves while it traces that the jaxpr holds for every length of at least one,
and `gluonx.ops.host.jaxprs` makes one program of it for all of them. So a formula is written once, and traced once for
each number of axes and dtype, even if each loop makes its own optimizer.

What JAX cannot prove (a mean over rows), empty arrays, and draws take the usual way, which traces each shape.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import jax
import numpy as np

from gluonx.common import policy
from gluonx.common.frames import telling
from gluonx.common.recent import recall
from gluonx.deferred.operators.growth import BAD_CALLS
from gluonx.deferred.values.core import tracing
from gluonx.deferred.values.program_cache import memo
from gluonx.dtype import WIDE, keeping_64_bits, without_64_bits
from gluonx.optimizer.rules import FlatRule

if TYPE_CHECKING:
    from gluonx.ops.host.jaxprs import HostProgram


_programs: dict[Any, Any] = memo()


class ByHand:
    """An update of weights by NumPy, each by itself.

    Parameters
    ----------
    rules : sequence of FlatRule
        The rule of each weight alone; mostly the same one, which equal optimizers share. Its formula must not read the
        length of an array: a symbol is unequal to every number.
    """

    __slots__ = ("rules",)

    def __init__(self, rules: Sequence[FlatRule]) -> None:
        self.rules = list(rules)

    def __call__(self, *values: np.ndarray) -> Any:
        """Map (weights, gradients, states, step vector) to (weights, states), or return ``NotImplemented``."""
        n = len(self.rules)
        vector, states = values[-1], values[2 * n : -1]
        each = len(states) // n
        weights, leaves = [], []
        for i, rule in enumerate(self.rules):
            own = (values[i], values[n + i], *states[i * each : (i + 1) * each])
            numbers = vector if len(vector) in (3, 4) else vector[[0, *range(1 + i, len(vector), n)]]
            program = _program(rule, own, len(numbers))
            if program is None:
                return NotImplemented
            weight, *after = program(*own, numbers)
            weights.append(weight)
            leaves += after
        return (*weights, *leaves)


def _program(rule: FlatRule, arrays: tuple[Any, ...], numbers: int) -> HostProgram | None:
    """Return the program of a rule for arrays with these numbers of axes and dtypes; None if there is none."""
    shape = arrays[0].shape
    if any(a.shape != shape and a.ndim for a in arrays) or arrays[0].size == 0:
        return None
    key = (rule, len(shape), numbers, *[(a.dtype, a.ndim) for a in arrays])
    return recall(_programs, key, policy.SHARED, lambda: _any_shape(rule, arrays, numbers))


def _any_shape(rule: FlatRule, arrays: Sequence[Any], numbers: int) -> HostProgram | None:
    """Return the program of a rule for arrays like these, of one shape or 0-d, for all lengths; None if it fails."""
    from jax import export  # needed for updates by hand only
    from jax.extend.core import InconclusiveDimensionOperation  # jax.errors of 0.10.0 lacks it

    from gluonx.ops.host.jaxprs import HostProgram, Unsupported

    lengths = export.symbolic_shape("".join(f"n{axis}," for axis in range(arrays[0].ndim))) if arrays[0].ndim else ()
    structs = [jax.ShapeDtypeStruct(lengths if a.ndim else (), a.dtype) for a in arrays]
    try:
        with keeping_64_bits() if any(a.dtype in WIDE for a in arrays) else without_64_bits(), telling(), tracing:
            return HostProgram(jax.make_jaxpr(rule)(*structs, jax.ShapeDtypeStruct((numbers,), np.float32)))
    except (Unsupported, InconclusiveDimensionOperation, *BAD_CALLS):
        return None  # for a bad call the usual way raises the proper error
