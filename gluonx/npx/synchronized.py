"""Batch normalization of parts of a batch that several devices have, by the statistics of all of them.

The devices' work is one program then (`gluonx.deferred.replicas.operators.Together`). Where it is not, because a part
is of another size, something was read too early, or one device has no part, the operator raises and computes nothing:
the statistics of one part are other numbers.
"""

from __future__ import annotations

import functools
from typing import Any

from numpy.typing import ArrayLike

from gluonx.deferred import DerivedOp
from gluonx.deferred.replicas.operators import Together
from gluonx.deferred.trace import tracing
from gluonx.deferred.values import program_cache
from gluonx.deferred.values.core import current_state
from gluonx.errors import DeviceError
from gluonx.ops.normalization import batch_norm, batch_norm_over
from gluonx.sharding import current_mesh

_ON_A_MESH = (
    "Or lay the net out on a mesh, where nothing of that matters: parallel.use(parallel.mesh(data=-1)), "
    "net.initialize() without devices, and parallel.split(batch) in place of split_and_load."
)
_NOT_TOGETHER = (
    "{who} on {count} devices takes the statistics of the parts of a batch that all of them have, so their "
    "work is one program. Within autograd.record() call the net on all {count} parts, of one size each, and call "
    "backward for all of them, and trainer.step(), before a loss or an output is read. " + _ON_A_MESH
)
_IN_TRACE = (
    "{who} takes the statistics of the parts of a batch that {count} devices have, which a function of one "
    "part cannot know. " + _ON_A_MESH
)


class OnSeveral(tracing.NotTraced, DeviceError):
    """A forward that works on several devices together cannot be traced for one."""

    def __init__(self, message: str, who: str) -> None:
        super().__init__(message)
        self.why = f"{who} on several devices"


def is_one_array(x: ArrayLike) -> bool:
    """Return whether a batch is one array on all devices, as on a mesh, so that its statistics are those of all."""
    aval = getattr(x, "aval", None)
    return current_mesh() is not None or (aval is not None and aval.spread)


def over_devices(who: str, count: int, **settings: object) -> DerivedOp:
    """Return the operator that normalizes one device's part in training; a trace finds its shapes by it.

    Parameters
    ----------
    who : str
        Who asks, for errors.
    count : int
        The number of devices.
    **settings
        Of `batch_norm`: eps, momentum, fix_gamma, axis, and perhaps output_mean_var.

    Raises
    ------
    OnSeveral
        Where a function of one part is traced.
    """
    trace = current_state().trace
    if trace is not None and not getattr(trace, "of_shapes", False):
        raise OnSeveral(_IN_TRACE.format(who=who, count=count), who)
    found = _over(who, count, *settings.items())
    return found if trace is None else found.like


@program_cache.once
def _over(who: str, count: int, *settings: tuple[str, Any]) -> Together:
    one = DerivedOp("batch_norm", functools.partial(batch_norm, **dict(settings), training=True), n_live=1)
    across = functools.partial(batch_norm_over, **dict(settings))
    return Together(f"batch_norm({count} devices)", across, count, one, _NOT_TOGETHER.format(who=who, count=count))
