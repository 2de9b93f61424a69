"""``mx.kv``: values by key, which are summed and maybe updated as they are pushed.

A training needs none of this: the program of a `gluonx.Trainer`'s step sums gradients over devices. Stores whose names
begin with ``dist`` sum over the processes of ``jax.distributed`` too. A store of a class of the user's, registered by
`KVStoreBase.register`, takes part in a training: ``Trainer(..., kvstore="mystore")`` gives it all gradients.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Sequence
from os import PathLike
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias

from gluonx import optimizer as opt
from gluonx.compat import processes
from gluonx.errors import GluonxError
from gluonx.files import atomic_write
from gluonx.sparse.functions import retain, rows_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gluonx.np.handle import ndarray
    from gluonx.optimizer.optimizer import Optimizer
    from gluonx.trainer.trainer import Trainer

# One or several of them, as the functions of a store take both.
Keys: TypeAlias = "int | str | list[int | str] | tuple[int | str, ...]"
Arrays: TypeAlias = "ndarray | list[ndarray] | tuple[ndarray, ...]"


__all__ = ["DistributedKVStore", "KVStore", "KVStoreBase", "TestStore", "create"]

_LOCAL = ("local", "device", "nccl", "local_allreduce_cpu", "local_allreduce_device", "local_update_cpu")
_OVER_PROCESSES = ("dist", "dist_sync", "dist_device_sync", "dist_sync_device", "p3", "horovod", "byteps")
_NO_ASYNC = (
    "kvstore {name!r}: workers that train on weights of different ages are not here, since all processes run the same "
    "step. Use 'dist_sync', with a learning rate for the batch of all of them."
)


class KVStoreBase:
    """The interface of stores. A class of your own defines `broadcast` and `pushpull`, and is registered.

    Examples
    --------
    >>> @KVStoreBase.register
    ... class Mean(KVStoreBase):
    ...     def broadcast(self, key, value, out, priority=0):
    ...         for o in out:
    ...             o[:] = value
    ...     def pushpull(self, key, value, out=None, priority=0):
    ...         mean = sum(value) / len(value)
    ...         for o in value if out is None else out:
    ...             o[:] = mean
    >>> create("mean").type
    'mean'
    """

    OPTIMIZER = "optimizer"
    kv_registry: ClassVar[dict[str, type]] = {}

    def broadcast(self, key: Keys, value: Arrays, out: Arrays, priority: int = 0) -> None:
        """Give the value of the first process to all, in the arrays `out`."""
        raise NotImplementedError(f"{type(self).__name__} must define broadcast(key, value, out, priority=0)")

    def pushpull(self, key: Keys, value: Arrays, out: Arrays | None = None, priority: int = 0) -> None:
        """Sum values over all processes into `out`; in place without."""
        raise NotImplementedError(f"{type(self).__name__} must define pushpull(key, value, out=None, priority=0)")

    def is_capable(self, capability: str) -> bool:
        """Return whether the store can do something: ``'optimizer'``, update weights by itself."""
        return False

    def set_optimizer(self, optimizer: Optimizer) -> None:
        """Update weights by an optimizer; for a store that is capable of it."""
        raise GluonxError(f"{type(self).__name__} has no optimizer: it does not define set_optimizer")

    def save_optimizer_states(self, fname: str | PathLike[str], dump_optimizer: bool = False) -> None:
        """Write the states of the optimizer; for a store that has one."""
        raise GluonxError(f"{type(self).__name__} has no optimizer: it does not define save_optimizer_states")

    def load_optimizer_states(self, fname: str | PathLike[str]) -> None:
        """Read the states of the optimizer; for a store that has one."""
        raise GluonxError(f"{type(self).__name__} has no optimizer: it does not define load_optimizer_states")

    @property
    def type(self) -> str:
        """The name by which the store was registered."""
        return type(self).__name__.lower()

    @property
    def rank(self) -> int:
        """The number of this process."""
        return 0

    @property
    def num_workers(self) -> int:
        """The number of processes."""
        return 1

    @staticmethod
    def register(klass: type) -> type:
        """Make a class known to `create` by its name in lower case; for use as a decorator."""
        KVStoreBase.kv_registry[klass.__name__.lower()] = klass
        return klass


def _together(values: Any) -> ndarray:
    """Return the sum of arrays, on the device of the first."""
    values = list(values) if isinstance(values, (list, tuple)) else [values]
    return functools.reduce(operator.add, [v.to_device(values[0].device) for v in values[1:]], values[0].copy())


def _write(value: Any, outs: Arrays) -> None:
    for out in outs if isinstance(outs, (list, tuple)) else [outs]:
        moved = value.to_device(out.device)
        out[:] = moved if out.stype == value.stype else moved.tostype("default")


@KVStoreBase.register
class TestStore(KVStoreBase):
    """A store that keeps nothing: it copies, or sums, what it is given. An example of one, and for tests."""

    __test__ = False  # pytest takes it for a test by its name

    def broadcast(self, key: Keys, value: Arrays, out: Arrays, priority: int = 0) -> None:
        """Copy `value` to `out`."""
        _write(_together(value), out)

    def pushpull(self, key: Keys, value: Arrays, out: Arrays | None = None, priority: int = 0) -> None:
        """Sum the arrays in `value` into `out`; in place without."""
        _write(_together(value), value if out is None else out)


class KVStore(KVStoreBase):
    """Values by key within this process; made by `create`.

    Keys are numbers or texts. Where a method is given a list of keys, values and outputs are lists as long. For one key
    a list of arrays is summed, or written to, as one array for each device.

    Examples
    --------
    >>> from gluonx import np
    >>> kv = create("local")
    >>> kv.init("w", np.ones(2))
    >>> kv.push("w", [np.ones(2), np.ones(2) * 2])
    >>> out = np.zeros(2)
    >>> kv.pull("w", out=out)
    >>> out.tolist()
    [3.0, 3.0]
    """

    def __init__(self, kind: str = "local") -> None:
        self._kind = kind
        self._values: dict[Any, Any] = {}
        self._updater: Callable[[Any, Any, Any], None] | None = None

    def __repr__(self) -> str:
        return f"KVStore({self._kind!r}, {len(self._values)} keys)"

    @property
    def type(self) -> str:
        """The name that `create` was given."""
        return self._kind

    def is_capable(self, capability: str) -> bool:
        """Return whether the store can do something: it can update weights by an ``'optimizer'``."""
        return capability.lower() == KVStoreBase.OPTIMIZER

    def _stored(self, key: int | str) -> ndarray:
        if key not in self._values:
            raise GluonxError(f"key {key!r} has no value yet: call init(key, value) or broadcast first")
        return self._values[key]

    def init(self, key: Keys, value: Arrays) -> None:
        """Give keys their first values, of which copies are kept.

        Raises
        ------
        GluonxError
            If a key has a value.
        """
        for one, values in _pairs(key, value):
            if one in self._values:
                raise GluonxError(f"duplicate init of key {one!r}: it has a value already; push gives it another")
            self._values[one] = (values[0] if isinstance(values, (list, tuple)) else values).copy()

    def push(self, key: Keys, value: Arrays, priority: int = 0) -> None:
        """Sum the values of each key; the sum takes the value's place, or is given to the updater if there is one.

        Raises
        ------
        GluonxError
            If a key has no value yet.
        """
        for one, values in _pairs(key, value):
            stored, total = self._stored(one), self._total(values)
            if total.shape != stored.shape:
                raise ValueError(f"key {one!r} holds an array of shape {stored.shape}, but {total.shape} was pushed")
            if self._updater is None:
                stored[:] = total.to_device(stored.device)
            else:
                self._updater(one, total.to_device(stored.device), stored)

    def pull(self, key: Keys, out: Arrays | None = None, priority: int = 0, ignore_sparse: bool = True) -> None:
        """Write the value of each key to its arrays.

        Raises
        ------
        GluonxError
            If a key has no value yet.
        """
        if out is None:
            raise ValueError("pull needs out=, the arrays to write to")
        for one, outs in _pairs(key, out):
            stored = self._stored(one)
            if stored.stype == "row_sparse" and ignore_sparse:
                continue  # as in MXNet: those are for row_sparse_pull
            _write(stored, outs)

    def pushpull(self, key: Keys, value: Arrays, out: Arrays | None = None, priority: int = 0) -> None:
        """Do `push`, then `pull` to `out`; to `value` itself without."""
        self.push(key, value, priority)
        self.pull(key, value if out is None else out, priority)

    def broadcast(self, key: Keys, value: Arrays, out: Arrays, priority: int = 0) -> None:
        """Do `init`, then `pull`."""
        self.init(key, value)
        self.pull(key, out, priority)

    def row_sparse_pull(self, key: Any, out: Any = None, priority: int = 0, row_ids: Any = None) -> None:
        """Write some rows of the value of each key to row_sparse arrays.

        Parameters
        ----------
        key, priority
            As of `pull`.
        out : RowSparseNDArray, or list of them
            Dense ones get zeros in all other rows.
        row_ids : ndarray, or list of them
            Row numbers for each array, in any order; those of one array serve all outputs.

        Raises
        ------
        GluonxError
            If a key has no value yet.
        """
        if out is None or row_ids is None:
            raise ValueError("row_sparse_pull needs out=, the arrays to write to, and row_ids=, the rows of each")
        if not isinstance(key, (list, tuple)):
            key, out, row_ids = [key], [out], [row_ids]
        elif not isinstance(row_ids, (list, tuple)):
            row_ids = [row_ids] * len(key)
        for one, outs, numbers in zip(key, out, row_ids, strict=True):
            stored = self._stored(one)
            outs = list(outs) if isinstance(outs, (list, tuple)) else [outs]
            each = list(numbers) if isinstance(numbers, (list, tuple)) else [numbers]
            for target, wanted in zip(outs, each * len(outs) if len(each) == 1 else each, strict=True):
                found = retain(stored, wanted) if stored.stype == "row_sparse" else rows_of(stored, wanted)
                target[:] = found.exact() if target.stype == "row_sparse" else found.tostype("default")

    def set_gradient_compression(self, compression_params: Mapping[str, Any]) -> None:
        """Raise GluonxError: within a process nothing is sent, and compression would only lose digits."""
        raise GluonxError("set_gradient_compression: nothing is sent within one process; leave it out")

    def set_optimizer(self, optimizer: Optimizer) -> None:
        """Update values by an optimizer: what is pushed is a gradient then."""
        self._set_updater(opt.get_updater(optimizer))

    def set_updater(self, updater: Callable[[Any, Any, Any], None]) -> None:
        """Call ``updater(key, pushed, stored)`` for each sum that is pushed; it changes `stored` in place."""
        self._updater = updater

    _set_updater = set_updater

    def _states_of(self) -> Any:
        if not hasattr(self._updater, "get_states"):
            raise GluonxError("this store has no optimizer, and so no states: call set_optimizer first")
        return self._updater

    def save_optimizer_states(self, fname: str | PathLike[str], dump_optimizer: bool = False) -> None:
        """Write the states of the optimizer, with `dump_optimizer` its counts too, in gluonx's own format.

        Raises
        ------
        GluonxError
            If there is no optimizer.
        """
        states = self._states_of().get_states(dump_optimizer)
        with atomic_write(fname) as file:
            file.write(states)

    def load_optimizer_states(self, fname: str | PathLike[str]) -> None:
        """Read what `save_optimizer_states` wrote.

        Raises
        ------
        GluonxError
            If there is no optimizer, or the file is damaged.
        """
        updater = self._states_of()
        with open(fname, "rb") as file:
            updater.set_states(file.read())

    def _total(self, values: Sequence[ndarray] | ndarray) -> ndarray:
        return _together(values)

    def _barrier(self) -> None:
        """Wait for all processes, of which there is one."""


class DistributedKVStore(KVStore):
    """Values by key that all processes of ``jax.distributed`` agree on; made by `create`.

    What is pushed is summed over all, and first values are those of process 0.
    """

    @property
    def rank(self) -> int:
        """The number of this process."""
        return processes.rank()

    @property
    def num_workers(self) -> int:
        """The number of processes."""
        return processes.size()

    def init(self, key: Keys, value: Arrays) -> None:
        """Give keys the values of process 0."""
        super().init(key, value)
        for one, _ in _pairs(key, value) if processes.size() > 1 else ():
            self._values[one] = processes.broadcast(self._values[one])

    def _total(self, values: Arrays) -> Any:
        total = _together(values)
        return total if processes.size() == 1 else processes.summed(total)

    def _barrier(self) -> None:
        """Wait for all processes."""
        processes.wait_for_all()


class StoreBeside(KVStore):
    """The store that a program finds in ``trainer._kvstore`` where the Trainer's step needs none.

    Keys are the numbers of the parameters. If such a store updates in MXNet, its values are the weights themselves,
    those of the first device, so that they are never older than the last step, and what is pushed is a gradient for
    the Trainer's optimizer; else each key begins with its weight, as in MXNet, and keeps what is pushed.
    """

    def __init__(self, trainer: Trainer, given: str | KVStore) -> None:
        super().__init__(given if isinstance(given, str) else given.type)
        self._trainer = trainer

    def _stored(self, key: int | str) -> ndarray:
        params = self._trainer._params
        if key not in self._values and isinstance(key, int) and key < len(params) and params[key]._is_ready:
            if self._trainer._update_on_kvstore:
                self._updater = self._update_all
                return params[key].list_data()[0]
            self.init(key, params[key].list_data()[0])
        return super()._stored(key)

    def _update_all(self, key: int, total: ndarray, stored: ndarray) -> None:
        """Update the weight on each device, so that their states stay equal."""
        optimizer, weights = self._trainer.optimizer, self._trainer._params[key].list_data()
        try:
            for updater, weight in zip(self._trainer._updaters, weights, strict=True):
                updater(key, total.to_device(weight.device), weight)
        finally:
            opt.Optimizer._set_current_device(optimizer, 0)  # not a class's own, which is asked before updates alone


class ProcessSum(KVStoreBase):
    """The store of a Trainer that was given the name of one over processes: it sums gradients over all of them."""

    def broadcast(self, key: Keys, value: ndarray, out: Arrays, priority: int = 0) -> None:
        """Give the value of the first process to all."""
        _write(processes.broadcast(_together([value])), out)

    def pushpull(self, key: Keys, value: Arrays, out: Arrays | None = None, priority: int = 0) -> None:
        """Sum values over devices and processes."""
        _write(processes.summed(_together(value)), value if out is None else out)


def _pairs(key: Any, value: Any) -> list[tuple[Any, Any]]:
    """Each key with its value or values; ValueError if there are not as many."""
    if not isinstance(key, (list, tuple)):
        return [(key, value)]
    values = list(value) if isinstance(value, (list, tuple)) else [value]
    if len(values) != len(key):
        raise ValueError(f"{len(key)} keys were given with {len(values)} values")
    return list(zip(key, values, strict=True))


def create(name: str = "local") -> Any:
    """Return a new store.

    Parameters
    ----------
    name : str
        ``'local'``, ``'device'``, ``'nccl'`` or another of MXNet's names for stores within a process, which all do the
        same; ``'dist_sync'``, ``'dist_device_sync'``, ``'horovod'`` or ``'byteps'``, over the processes of
        ``jax.distributed``; or that of a class registered by `KVStoreBase.register`. Case does not matter.

    Raises
    ------
    TypeError
        If `name` is no text.
    GluonxError
        For ``'dist_async'`` and its like.
    ValueError
        For another name.
    """
    if not isinstance(name, str):
        raise TypeError(f"kvstore.create takes a name, got {name!r}")
    key = name.lower()
    if key in KVStoreBase.kv_registry:
        return KVStoreBase.kv_registry[key]()
    if key in _LOCAL:
        return KVStore(key)
    if key in _OVER_PROCESSES:
        return DistributedKVStore(key)
    if key.startswith("dist"):
        raise GluonxError(_NO_ASYNC.format(name=name))
    known = ", ".join([*_LOCAL, *_OVER_PROCESSES, *sorted(KVStoreBase.kv_registry)])
    raise ValueError(f"there is no kvstore {name!r}; known: {known}")


def store_of(kvstore: Any) -> Any:
    """Return the store that a Trainer was given, by name or as an object, where it has something to do.

    MXNet's own have nothing to do within a process; those over processes sum over them.
    """
    if isinstance(kvstore, str):
        made = KVStoreBase.kv_registry.get(kvstore.lower())
        if made is not None:
            return made()
        kvstore = create(kvstore) if kvstore.lower().startswith(("dist", "p3", "horovod", "byteps")) else None
    if isinstance(kvstore, DistributedKVStore) and processes.size() > 1:
        return ProcessSum()
    return None if kvstore is None or type(kvstore) in (KVStore, DistributedKVStore, StoreBeside) else kvstore


def __dir__() -> list[str]:
    return sorted(__all__)
