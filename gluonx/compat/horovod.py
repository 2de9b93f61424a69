"""``horovod.mxnet`` and ``byteps.mxnet`` over the processes of ``jax.distributed``.

For ported programs: where ``import mxnet`` finds gluonx (`gluonx.compat`), ``import horovod.mxnet as hvd`` and
``import byteps.mxnet as bps`` find this module. Each process sees its own devices alone, numbered from 0, so
`local_rank` is 0 and ``mx.gpu(hvd.local_rank())`` is the process's first GPU.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gluonx.block.parameter import Parameter
from gluonx.compat import processes
from gluonx.compat.processes import rank, size
from gluonx.errors import GluonxError
from gluonx.optimizer import Optimizer
from gluonx.trainer import Trainer

__all__ = [
    "DistributedOptimizer",
    "DistributedTrainer",
    "allgather",
    "allreduce",
    "allreduce_",
    "broadcast",
    "broadcast_",
    "broadcast_parameters",
    "byteps_declare_tensor",
    "byteps_push_pull",
    "init",
    "is_initialized",
    "local_rank",
    "local_size",
    "rank",
    "shutdown",
    "size",
]


def init(*_: Any, **__: Any) -> None:
    """Do nothing: call ``jax.distributed.initialize()`` as the first thing of a program of several processes."""


def shutdown() -> None:
    """Do nothing: processes part when they end."""


def is_initialized() -> bool:
    """Return True: one process is always there."""
    return True


def local_rank() -> int:
    """Return 0: a process sees its own devices only."""
    return 0


def local_size() -> int:
    """Return 1, as `local_rank` counts."""
    return 1


def allreduce(tensor: Any, average: bool = True, name: str | None = None, priority: int = 0) -> Any:
    """Return the mean of an array over all processes, or its sum.

    Examples
    --------
    >>> from gluonx import np
    >>> allreduce(np.array([1.0, 2.0])).tolist()
    [1.0, 2.0]
    """
    return processes.summed(tensor, average)


def allreduce_(tensor: Any, average: bool = True, name: str | None = None, priority: int = 0) -> Any:
    """Do `allreduce` in place."""
    if size() > 1:
        tensor[:] = processes.summed(tensor, average)
    return tensor


def allgather(tensor: Any, name: str | None = None, priority: int = 0) -> Any:
    """Return the arrays of all processes one after the other along the first axis."""
    return processes.gathered(tensor)


def broadcast(tensor: Any, root_rank: int, name: str | None = None, priority: int = 0) -> Any:
    """Return the array of process `root_rank`."""
    return processes.broadcast(tensor, root_rank)


def broadcast_(tensor: Any, root_rank: int, name: str | None = None, priority: int = 0) -> Any:
    """Do `broadcast` in place."""
    if size() > 1:
        tensor[:] = processes.broadcast(tensor, root_rank)
    return tensor


def broadcast_parameters(params: Any, root_rank: int = 0, prefix: str | None = None) -> None:
    """Give all processes the parameters of one.

    Parameters
    ----------
    params : dict
        ``net.collect_params()``, or arrays by name as of ``Module.get_params()``.
    root_rank : int
        Whose values count.

    Raises
    ------
    ValueError
        If this is no dict.
    GluonxError
        If the shape of a parameter is not known, so that it has no value yet; run the net once before.
    """
    if not isinstance(params, Mapping):
        raise ValueError(f"broadcast_parameters takes a dict of parameters or arrays, got {type(params).__name__}")
    for name in sorted(params):
        value = params[name]
        if not isinstance(value, Parameter):
            broadcast_(value, root_rank)
        elif not value._is_ready:
            raise GluonxError(f"parameter '{name}' has no value yet: run the net once before broadcast_parameters")
        elif size() > 1:
            value.set_data(processes.broadcast(value.list_data()[0], root_rank))


def DistributedOptimizer(optimizer: Optimizer) -> Optimizer:
    """Return an optimizer that takes the mean of gradients over all processes; for one process, `optimizer` itself."""
    if size() == 1:
        return optimizer
    cls = type(optimizer)

    class Distributed(cls):  # type: ignore[misc, valid-type]
        def update(self, indices: Any, weights: Any, grads: Any, states: Any) -> None:
            super().update(indices, weights, [processes.summed(g, True) for g in grads], states)

    Distributed.__name__ = cls.__name__
    made = object.__new__(Distributed)
    vars(made).update(vars(optimizer))
    return made


class DistributedTrainer(Trainer):
    """A Trainer that takes the mean of gradients over all processes.

    Parameters
    ----------
    params, optimizer, optimizer_params
        As of `Trainer`.
    root_rank : int
        Of BytePS: whose parameters all begin with.
    """

    def __init__(
        self,
        params: Any,
        optimizer: Any,
        optimizer_params: Any = None,
        root_rank: int | None = None,
        **_: object,
    ) -> None:
        if root_rank is not None and isinstance(params, Mapping):
            broadcast_parameters({n: p for n, p in params.items() if p._is_ready}, root_rank)
        super().__init__(params, optimizer, optimizer_params, kvstore="dist_sync", update_on_kvstore=False)
        self._scale /= size()


def byteps_declare_tensor(name: str) -> None:
    """Do nothing: arrays need no announcement."""


def byteps_push_pull(
    tensor: Any, version: int = 0, priority: int = 0, name: str | None = None, is_average: bool = True
) -> None:
    """Make an array its mean over all processes, or its sum."""
    allreduce_(tensor, is_average)
