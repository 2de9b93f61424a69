"""``mx.executor_manager``: how MXNet 1 cut a batch for its devices, and ran a symbol on them."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from types import ModuleType
from typing import TYPE_CHECKING, Any

from gluonx.compat.module.module import Module

if TYPE_CHECKING:
    from gluonx.compat.symbol.symbol import Symbol
    from gluonx.np.handle import ndarray


__all__ = ["DataParallelExecutorManager"]


def _split_input_slice(batch_size: int, work_load_list: Sequence[float]) -> list[slice]:
    """Cut a batch into a slice for each device, as large as its load; the last one takes what rounding leaves.

    Raises
    ------
    ValueError
        If a slice is empty.

    Examples
    --------
    >>> _split_input_slice(5, [1, 1])
    [slice(0, 2, None), slice(2, 5, None)]
    """
    total = sum(work_load_list)
    counts = [round(load * batch_size / total) for load in work_load_list]
    counts[-1] += max(batch_size - sum(counts), 0)
    ends = [min(sum(counts[: i + 1]), batch_size) for i in range(len(counts))]
    slices = [slice(begin, end) for begin, end in zip([0, *ends], ends, strict=False)]
    if any(s.start >= s.stop for s in slices):
        raise ValueError(f"a batch of {batch_size} does not fill {len(slices)} devices of loads {list(work_load_list)}")
    return slices


class DataParallelExecutorManager:
    """A symbol bound for training, below `FeedForward` and `Module`: who writes the loop over batches uses it.

    Several devices run as one program, so lists by device have one item.

    Parameters
    ----------
    symbol : Symbol
    ctx : Device or list of Device
    train_data : DataIter
        Its ``provide_data`` and ``provide_label`` are what is bound.
    arg_names, param_names, aux_names : list of str
        Of the symbol.
    work_load_list : optional
        Accepted for ported code.
    logger : logging.Logger
    sym_gen : callable, optional
        Gives the symbol of a bucket's key; the iterator has a ``default_bucket_key`` then, and each batch a
        ``bucket_key``.

    Examples
    --------
    >>> import gluonx as mx
    >>> net = mx.sym.SoftmaxOutput(mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=2, name="fc"), name="softmax")
    >>> data = mx.io.NDArrayIter(mx.nd.ones((4, 3)), mx.nd.zeros(4), 2)
    >>> names = net.list_arguments(), ["fc_weight", "fc_bias"], []
    >>> manager = DataParallelExecutorManager(net, mx.cpu(), data, *names)
    >>> manager.set_params({"fc_weight": mx.nd.ones((2, 3)), "fc_bias": mx.nd.zeros(2)}, {})
    >>> manager.load_data_batch(data.next())
    >>> manager.forward(is_train=True)
    >>> manager.backward()
    >>> manager.grad_arrays[1][0].asnumpy().tolist()
    [-1.0, 1.0]
    """

    def __init__(
        self,
        symbol: Symbol,
        ctx: Any,
        train_data: Any,
        arg_names: Any,
        param_names: Any,
        aux_names: Any,
        work_load_list: object = None,
        logger: ModuleType | logging.Logger = logging,
        sym_gen: Any = None,
    ) -> None:
        self.arg_names, self.param_names, self.aux_names = list(arg_names), list(param_names), list(aux_names)
        self.ctx, self.sym_gen, self.symbol, self.logger = ctx, sym_gen, symbol, logger
        self._first = self._now = self._module(symbol, train_data)
        self._by_key = {getattr(train_data, "default_bucket_key", None): self._first}
        self._batch: Any = None

    def _module(self, symbol: Symbol, described: Any, shared: Any = None) -> Module:
        data, labels = described.provide_data, described.provide_label
        module = Module(symbol, [d[0] for d in data], [d[0] for d in labels], self.logger or logging, self.ctx)
        module.bind(data, labels, shared_module=shared)
        module.params_initialized = True
        return module

    def install_monitor(self, monitor: Any) -> None:
        """Have a monitor look at the outputs within the symbol."""
        if self.sym_gen is not None:
            raise NotImplementedError("Monitoring is not implemented for bucketing")
        self._first.install_monitor(monitor)

    def set_params(self, arg_params: Mapping[str, ndarray], aux_params: Mapping[str, ndarray]) -> None:
        """Write the parameters and auxiliary states; what else is in the mappings is left out."""
        self._first.init_params(None, arg_params, aux_params, allow_missing=True, force_init=True)

    def copy_to(self, arg_params: Mapping[str, ndarray], aux_params: Mapping[str, ndarray]) -> None:
        """Write the parameters and auxiliary states into the arrays of two mappings."""
        for ours, theirs in zip(self._first.get_params(), (arg_params, aux_params), strict=True):
            for name, array in ours.items():
                array.astype(theirs[name].dtype).copyto(theirs[name])

    def _arrays(self, kind: str, names: list[str]) -> list[list[Any]]:
        return [[getattr(self._first._executor, kind).get(name)] for name in names]

    @property
    def param_arrays(self) -> list[list[Any]]:
        """The parameters, each in a list."""
        return self._arrays("arg_dict", self.param_names)

    @property
    def grad_arrays(self) -> list[list[Any]]:
        """The gradients of the parameters, each in a list."""
        return self._arrays("grad_dict", self.param_names)

    @property
    def aux_arrays(self) -> list[list[Any]]:
        """The auxiliary states, each in a list."""
        return self._arrays("aux_dict", self.aux_names)

    def load_data_batch(self, data_batch: Any) -> None:
        """Take a batch for the next `forward`."""
        self._batch = data_batch
        if self.sym_gen is None:
            return
        key = data_batch.bucket_key
        if key not in self._by_key:
            made = self.sym_gen(key)
            symbol = made[0] if isinstance(made, tuple) else made
            self._by_key[key] = self._module(symbol, data_batch, self._first)
        self._now = self._by_key[key]

    def forward(self, is_train: bool = False) -> None:
        """Compute the outputs for the batch."""
        self._now.forward(self._batch, is_train)

    def backward(self) -> None:
        """Compute the gradients."""
        self._now.backward()

    def update_metric(self, metric: Any, labels: Any, pre_sliced: bool = False) -> None:
        """Show labels and the last outputs to a metric."""
        self._now.update_metric(metric, labels)
