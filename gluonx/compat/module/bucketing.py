"""A module over several symbols that share their parameters: one for each length of sequences, say."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from types import ModuleType
from typing import TYPE_CHECKING, Any

from gluonx.compat import nd
from gluonx.compat.model import by_kind
from gluonx.compat.module.base import DEFAULT_RATE, BaseModule, batch_of, shown
from gluonx.compat.module.module import Module
from gluonx.compat.symbol import load as load_symbol

if TYPE_CHECKING:
    from collections.abc import Hashable

    from gluonx.compat.monitor import Monitor
    from gluonx.metric.base import EvalMetric
    from gluonx.np.handle import ndarray
    from gluonx.optimizer.optimizer import Optimizer


class BucketingModule(BaseModule):
    """A module for each bucket, made when its first batch comes.

    Parameters
    ----------
    sym_gen : callable
        ``sym_gen(bucket_key) -> (symbol, data_names, label_names)``.
    default_bucket_key : object
        The key of the largest symbol, which has all parameters.
    logger, context, work_load_list, fixed_param_names, state_names, group2ctxs, compression_params
        As for `Module`.
    """

    def __init__(
        self,
        sym_gen: Callable[[Any], tuple[Any, Sequence[str], Sequence[str]]],
        default_bucket_key: Hashable = None,
        logger: ModuleType | logging.Logger = logging,
        context: Any = None,
        work_load_list: object = None,
        fixed_param_names: Sequence[str] | None = None,
        state_names: Sequence[str] | None = None,
        group2ctxs: Any = None,
        compression_params: Any = None,
    ) -> None:
        super().__init__(logger)
        if default_bucket_key is None:
            raise ValueError("BucketingModule: default_bucket_key must be given")
        self._sym_gen, self._default_bucket_key = sym_gen, default_bucket_key
        self._settings = {
            "logger": logger,
            "context": context,
            "fixed_param_names": fixed_param_names,
            "state_names": state_names,
        }
        self._buckets: dict[Any, Module] = {}
        self._curr_bucket_key = default_bucket_key
        self._grad_req: Any = "write"
        self._monitor: Any = None
        self._symbols: dict[Any, Any] = {}
        self._curr_module = self._made(default_bucket_key)

    def _made(self, key: Hashable) -> Module:
        symbol, data_names, label_names = self._sym_gen(key)
        symbol = self._symbols.get(key, symbol)
        fixed = self._settings["fixed_param_names"]
        there = [name for name in fixed or [] if name in symbol.list_arguments()]
        return Module(symbol, data_names, label_names, **{**self._settings, "fixed_param_names": there})

    @property
    def _fixed_param_names(self) -> list[str]:  # read by ported code, as MXNet's attribute
        return list(self._settings["fixed_param_names"] or ())

    symbol = shown("_curr_module.symbol", "The symbol of the present bucket.")
    data_names = shown("_curr_module.data_names", "The inputs of the present bucket.")
    output_names = shown("_curr_module.output_names", "The outputs of the present bucket.")
    data_shapes = shown("_curr_module.data_shapes", "The shapes of the inputs of the present bucket.")
    label_shapes = shown("_curr_module.label_shapes", "The shapes of the labels of the present bucket.")
    output_shapes = shown("_curr_module.output_shapes", "The shapes of the outputs of the present bucket.")

    def bind(  # type: ignore[override]
        self,
        data_shapes: Any,
        label_shapes: Any = None,
        for_training: bool = True,
        inputs_need_grad: bool = False,
        force_rebind: bool = False,
        shared_module: Any = None,
        grad_req: str | Sequence[str] | Mapping[str, str] = "write",
    ) -> None:
        """Bind the module of the default bucket; see `Module.bind`."""
        if self.binded and not force_rebind:
            self.logger.warning("Already bound, ignoring bind()")
            return
        self.for_training, self.inputs_need_grad, self._grad_req = for_training, inputs_need_grad, grad_req
        if self._curr_bucket_key != self._default_bucket_key:
            self._curr_bucket_key = self._default_bucket_key
            self._curr_module = self._made(self._default_bucket_key)
        self._curr_module.bind(data_shapes, label_shapes, for_training, inputs_need_grad, force_rebind, None, grad_req)
        self._buckets = {self._default_bucket_key: self._curr_module}
        self.binded, self.params_initialized = True, self._curr_module.params_initialized

    def switch_bucket(self, bucket_key: Hashable, data_shapes: Any, label_shapes: Any = None) -> None:
        """Go over to a bucket, whose module is made and bound if there is none yet."""
        self._needs("switch_bucket", self.binded, "bind()")
        if bucket_key not in self._buckets:
            module = self._made(bucket_key)
            whole = self._buckets[self._default_bucket_key]
            given = (data_shapes, label_shapes, self.for_training, self.inputs_need_grad, False, whole, self._grad_req)
            module.bind(*given)
            if self.optimizer_initialized:
                module.borrow_optimizer(whole)
            if self._monitor is not None:
                module.install_monitor(self._monitor)
            self._buckets[bucket_key] = module
        self._curr_module, self._curr_bucket_key = self._buckets[bucket_key], bucket_key

    def install_monitor(self, mon: Monitor) -> None:
        """Have a monitor look at all buckets, also those to come."""
        self._needs("install_monitor", self.binded, "bind()")
        self._monitor = mon
        for module in self._buckets.values():
            module.install_monitor(mon)

    def init_params(self, *args: Any, **kwargs: Any) -> None:  # type: ignore[override]
        """See `Module.init_params`."""
        self._buckets.get(self._default_bucket_key, self._curr_module).init_params(*args, **kwargs)
        for module in self._buckets.values():
            module.params_initialized = True
        self.params_initialized = True

    def get_params(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """See `Module.get_params`."""
        self._needs("get_params", self.params_initialized, "bind() and init_params()")
        return self._buckets.get(self._default_bucket_key, self._curr_module).get_params()

    def init_optimizer(  # type: ignore[override]
        self,
        kvstore: Any = "local",
        optimizer: str | Optimizer = "sgd",
        optimizer_params: Any = DEFAULT_RATE,
        force_init: bool = False,
    ) -> None:
        """See `Module.init_optimizer`."""
        self._needs("init_optimizer", self.params_initialized, "bind() and init_params()")
        whole = self._buckets[self._default_bucket_key]
        whole.init_optimizer(kvstore, optimizer, optimizer_params, force_init)
        for module in self._buckets.values():
            if module is not whole:
                module.borrow_optimizer(whole)
        self.optimizer_initialized = True

    def forward(self, data_batch: Any, is_train: bool | None = None) -> None:  # type: ignore[override]
        """See `Module.forward`; the batch's ``bucket_key`` says whose."""
        self._needs("forward", self.params_initialized, "bind() and init_params()")
        batch = batch_of(data_batch)
        key = self._curr_bucket_key if batch.bucket_key is None else batch.bucket_key
        self.switch_bucket(key, batch.provide_data, batch.provide_label)
        self._curr_module.forward(batch, is_train)

    def backward(self, out_grads: ndarray | Sequence[ndarray] | None = None) -> None:  # type: ignore[override]
        """See `Module.backward`."""
        self._curr_module.backward(out_grads)

    def update(self) -> None:  # type: ignore[override]
        """See `Module.update`."""
        self._needs("update", self.optimizer_initialized, "init_optimizer()")
        self._curr_module.update()

    def get_outputs(self, merge_multi_context: bool = True) -> list[Any]:  # type: ignore[override]
        """See `Module.get_outputs`."""
        return self._curr_module.get_outputs(merge_multi_context)

    def get_input_grads(self, merge_multi_context: bool = True) -> list[Any]:
        """See `Module.get_input_grads`."""
        return self._curr_module.get_input_grads(merge_multi_context)

    def get_states(self, merge_multi_context: bool = True) -> list[Any]:
        """See `Module.get_states`."""
        return self._curr_module.get_states(merge_multi_context)

    def set_states(self, states: Any = None, value: Any = None) -> None:
        """See `Module.set_states`."""
        self._curr_module.set_states(states, value)

    def update_metric(self, eval_metric: EvalMetric, labels: Sequence[ndarray], pre_sliced: bool = False) -> None:  # type: ignore[override]
        """See `Module.update_metric`."""
        self._curr_module.update_metric(eval_metric, labels)

    # -- files ---------------------------------------------------------------------------------------------------------

    def save_checkpoint(self, prefix: str, epoch: int, remove_amp_cast: bool = False) -> None:
        """Write the symbols that there are so far, their keys, and the parameters.

        The files are ``PREFIX-KEY-symbol.json``, ``PREFIX.buckets`` and ``PREFIX-EPOCH.params``, as MXNet has them.
        """
        self._needs("save_checkpoint", self.params_initialized, "bind() and init_params()")
        for key, module in self._buckets.items():
            module.symbol.save(f"{prefix}-{key}-symbol.json")
        nd.save(f"{prefix}.buckets", [nd.array(list(self._buckets), dtype="int32")])
        self.save_params(f"{prefix}-{epoch:04d}.params")

    @staticmethod
    def load(
        prefix: str, epoch: int, sym_gen: Any = None, default_bucket_key: Any = None, **kwargs: Any
    ) -> BucketingModule:
        """Return a module of what `save_checkpoint` wrote; it is to be bound.

        Parameters
        ----------
        prefix, epoch
            As they were saved.
        sym_gen, default_bucket_key
            As for `BucketingModule`; `sym_gen` makes the buckets that were not saved, and names the inputs of all.
        **kwargs
            As for `BucketingModule`.
        """
        keys = nd.load(f"{prefix}.buckets")[0].asnumpy().tolist()
        keys = [tuple(key) if isinstance(key, list) else key for key in keys]
        symbols = {key: load_symbol(f"{prefix}-{key}-symbol.json") for key in keys}
        params = by_kind(f"{prefix}-{epoch:04d}.params")
        return BucketingModule.load_dict(symbols, sym_gen, default_bucket_key, *params, **kwargs)

    @staticmethod
    def load_dict(
        sym_dict: Any = None,
        sym_gen: Any = None,
        default_bucket_key: Any = None,
        arg_params: Mapping[str, ndarray] | None = None,
        aux_params: Mapping[str, ndarray] | None = None,
        **kwargs: Any,
    ) -> BucketingModule:
        """Return a module of symbols by key, and of parameters; see `load`.

        Raises
        ------
        ValueError
            If `sym_gen` or `default_bucket_key` is not given.
        """
        if sym_gen is None or default_bucket_key is None:
            raise ValueError("BucketingModule.load: sym_gen and default_bucket_key must be given")
        made = BucketingModule(sym_gen, default_bucket_key, **kwargs)
        made._symbols = dict(sym_dict or {})
        made._curr_module = made._made(default_bucket_key)
        if arg_params is not None or aux_params is not None:
            made._curr_module._preloaded = arg_params or {}, aux_params or {}
            made.params_initialized = made._curr_module.params_initialized = True
        return made
