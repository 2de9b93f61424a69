"""Base of modules, which trains, measures and predicts with the few steps that a subclass defines."""

from __future__ import annotations

import logging
import operator
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from types import ModuleType
from typing import TYPE_CHECKING, Any

from gluonx import initializer as init
from gluonx import metric as metrics
from gluonx.compat import nd
from gluonx.compat.callback import BatchEndParam
from gluonx.compat.io import DataBatch, NDArrayIter
from gluonx.compat.model import by_kind
from gluonx.errors import GraphError

if TYPE_CHECKING:
    from gluonx.compat.monitor import Monitor
    from gluonx.metric.base import EvalMetric
    from gluonx.np.handle import ndarray
    from gluonx.optimizer.optimizer import Optimizer


DEFAULT_RATE = (("learning_rate", 0.01),)  # of the "sgd" that is the default optimizer


def shown(path: str, doc: str) -> property:
    """Return a property that is an attribute of a module, or of a part of it: ``'_module.symbol'``."""
    return property(operator.attrgetter(path), doc=doc)


def called(callbacks: Any, *args: object) -> None:
    """Call one function, or each of a list of them."""
    for callback in callbacks if isinstance(callbacks, (list, tuple)) else [callbacks]:
        if callback is not None:
            callback(*args)


class BaseModule:
    """A model that is trained by batches; `Module` and `BucketingModule` are the two there are.

    Parameters
    ----------
    logger : logging.Logger
        Where `fit` tells how it goes.
    """

    symbol: Any
    data_shapes: Any
    label_shapes: Any
    bind: Callable[..., None]
    forward: Callable[..., None]
    backward: Callable[..., None]
    get_outputs: Callable[..., Any]
    get_params: Callable[[], tuple[dict[str, Any], dict[str, Any]]]
    init_params: Callable[..., None]
    init_optimizer: Callable[..., None]
    update: Callable[[], None]
    update_metric: Callable[..., None]

    def __init__(self, logger: ModuleType | logging.Logger = logging) -> None:
        self.logger = logger
        self.binded = self.params_initialized = self.optimizer_initialized = False
        self.for_training = self.inputs_need_grad = False

    def _needs(self, what: str, ready: bool, call: str) -> None:
        if not ready:
            raise GraphError(f"{type(self).__name__}.{what}: call {call} first")

    def prepare(self, data_batch: Any, sparse_row_id_fn: Callable[..., Any] | None = None) -> None:
        """Do nothing, for ported code: there is nothing to prepare for a batch."""

    def forward_backward(self, data_batch: Any) -> None:
        """`forward` in training, and `backward`."""
        self.forward(data_batch, is_train=True)
        self.backward()

    # -- measuring and predicting --------------------------------------------------------------------------------------

    def score(
        self,
        eval_data: Iterable[Any],
        eval_metric: Any,
        num_batch: int | None = None,
        batch_end_callback: Callable[..., Any] | Sequence[Callable[..., Any]] | None = None,
        score_end_callback: Any = None,
        reset: bool = True,
        epoch: int = 0,
        sparse_row_id_fn: Callable[..., Any] | None = None,
    ) -> list[tuple[str, float]]:
        """Measure the predictions for some data by a metric.

        Parameters
        ----------
        eval_data : DataIter
        eval_metric : EvalMetric or str
        num_batch : int, optional
            How many batches are looked at; all by default.
        batch_end_callback, score_end_callback : callable or list of them, optional
            Given a `BatchEndParam`.
        reset : bool
            Whether to begin at the first batch.
        epoch : int
            For the callbacks.

        Returns
        -------
        list of (str, float)
        """
        self._needs("score", self.binded and self.params_initialized, "bind() and init_params()")
        eval_metric = metrics.create(eval_metric)
        eval_metric.reset()
        count = -1
        for count, batch in self._batches(eval_data, num_batch, reset):
            self.forward(batch, is_train=False)
            self.update_metric(eval_metric, batch.label)
            if batch_end_callback is not None:
                nbatch, eval_batch = count, batch  # by these names in `locals()`
                called(batch_end_callback, BatchEndParam(epoch, nbatch, eval_metric, locals()))
        actual_num_batch = count + 1
        called(score_end_callback, BatchEndParam(epoch, actual_num_batch, eval_metric, locals()))
        return eval_metric.get_name_value()

    def _batches(self, data: Any, count: int | None, reset: bool) -> Iterator[tuple[int, Any]]:
        if reset:
            data.reset()
        for number, batch in enumerate(data):
            if number == count:
                return
            yield number, batch

    def iter_predict(
        self,
        eval_data: Any,
        num_batch: int | None = None,
        reset: bool = True,
        sparse_row_id_fn: Callable[..., Any] | None = None,
    ) -> Iterator[tuple[list[Any], int, Any]]:
        """Yield the outputs for each batch, without the rows that only fill it up, with its number and itself."""
        self._needs("iter_predict", self.binded and self.params_initialized, "bind() and init_params()")
        for number, batch in self._batches(eval_data, num_batch, reset):
            self.forward(batch, is_train=False)
            yield [out[: out.shape[0] - (batch.pad or 0)] for out in self.get_outputs()], number, batch

    def predict(
        self,
        eval_data: Any,
        num_batch: int | None = None,
        merge_batches: bool = True,
        reset: bool = True,
        always_output_list: bool = False,
        sparse_row_id_fn: Callable[..., Any] | None = None,
    ) -> Any:
        """Return the outputs for all data.

        Parameters
        ----------
        eval_data : DataIter, or array
        num_batch : int, optional
            How many batches are looked at; all by default.
        merge_batches : bool
            Whether to put the batches behind each other; else a list with the list of outputs of each batch.
        reset : bool
            Whether to begin at the first batch.
        always_output_list : bool
            Whether a single output comes in a list.
        """
        self._needs("predict", self.binded and self.params_initialized, "bind() and init_params()")
        if not hasattr(eval_data, "provide_data") and hasattr(eval_data, "shape"):
            eval_data = NDArrayIter(eval_data, batch_size=len(eval_data))
        found = [[out.copy() for out in outs] for outs, _, _ in self.iter_predict(eval_data, num_batch, reset)]
        if not found or not merge_batches:
            return found
        if len({len(outs) for outs in found}) != 1:
            raise ValueError("predict: the batches have different numbers of outputs; give merge_batches=False")
        merged = [nd.concat(*parts, dim=0) for parts in zip(*found, strict=True)]
        return merged[0] if len(merged) == 1 and not always_output_list else merged

    # -- training ------------------------------------------------------------------------------------------------------

    def fit(
        self,
        train_data: Any,
        eval_data: Any = None,
        eval_metric: Any = "acc",
        epoch_end_callback: Callable[..., Any] | Sequence[Callable[..., Any]] | None = None,
        batch_end_callback: Any = None,
        kvstore: Any = "local",
        optimizer: str | Optimizer = "sgd",
        optimizer_params: Any = DEFAULT_RATE,
        eval_end_callback: Callable[..., Any] | Sequence[Callable[..., Any]] | None = None,
        eval_batch_end_callback: Callable[..., Any] | Sequence[Callable[..., Any]] | None = None,
        initializer: Any = None,
        arg_params: Mapping[str, ndarray] | None = None,
        aux_params: Mapping[str, ndarray] | None = None,
        allow_missing: bool = False,
        force_rebind: bool = False,
        force_init: bool = False,
        begin_epoch: int = 0,
        num_epoch: int | None = None,
        validation_metric: Any = None,
        monitor: Any = None,
        sparse_row_id_fn: Callable[..., Any] | None = None,
    ) -> None:
        """Bind, make the parameters, and train for the epochs from `begin_epoch` to before `num_epoch`.

        Callbacks (one or a list) get a `BatchEndParam`; that of an epoch's end the epoch, symbol, parameters and
        auxiliary states. `eval_data` is measured after each epoch, by `validation_metric` or else `eval_metric`.
        `initializer` is ``Uniform(0.01)`` by default; the rest is as for `bind`, `init_params` and `init_optimizer`.

        Raises
        ------
        ValueError
            If `num_epoch` is not given.
        """
        if num_epoch is None:
            raise ValueError("fit: num_epoch must say for how many epochs to train")
        given = dict(locals())  # callbacks read them
        self.bind(train_data.provide_data, train_data.provide_label, for_training=True, force_rebind=force_rebind)
        initializer = init.Uniform(0.01) if initializer is None else initializer
        if monitor is not None:
            self.install_monitor(monitor)
        self.init_params(initializer, arg_params, aux_params, allow_missing, force_init)
        self.init_optimizer(kvstore=kvstore, optimizer=optimizer, optimizer_params=optimizer_params)
        validation_metric = eval_metric if validation_metric is None else validation_metric
        eval_metric = metrics.create(eval_metric)
        for epoch in range(begin_epoch, num_epoch):
            given.update(eval_metric=eval_metric, validation_metric=validation_metric, epoch=epoch)
            self._epoch(epoch, train_data, eval_metric, batch_end_callback, monitor, given)
            called(epoch_end_callback, epoch, self.symbol, *self.get_params())
            if eval_data is not None:
                callbacks = (eval_batch_end_callback, eval_end_callback)
                for name, value in self.score(eval_data, validation_metric, None, *callbacks, epoch=epoch):
                    self.logger.info("Epoch[%d] Validation-%s=%f", epoch, name, value)
            train_data.reset()

    def _epoch(
        self,
        epoch: int,
        data: Iterable[Any],
        eval_metric: EvalMetric,
        callback: Callable[..., Any] | None,
        monitor: Monitor | None,
        given: Mapping[str, Any],
    ) -> None:
        """Train for an epoch. Callbacks are shown what `fit` was `given`, and a batch's variables by MXNet's names."""
        start = time.time()
        eval_metric.reset()
        found: list[tuple[str, Any]] = []
        batches = iter(data)
        batch, count = next(batches, None), 0
        while batch is not None:
            if monitor is not None:
                monitor.tic()
            self.forward_backward(batch)
            self.update()
            following = next(batches, None)
            self.update_metric(eval_metric, batch.label)
            if monitor is not None:
                monitor.toc_print()
            if following is None:  # now, as the callback may begin the metric anew
                found = eval_metric.get_global_name_value()
            if callback is not None:
                names = {"nbatch": count, "data_batch": batch, "next_data_batch": following, "data_iter": batches}
                names.update(tic=start, end_of_batch=following is None, eval_name_vals=found)
                called(callback, BatchEndParam(epoch, count, eval_metric, {**given, **names}))
            batch, count = following, count + 1
        self._tell(epoch, found)
        self.logger.info("Epoch[%d] Time cost=%.3f", epoch, time.time() - start)

    def _tell(self, epoch: int, found: list[tuple[str, Any]]) -> None:
        """Log what was measured in an epoch."""
        for name, value in found:
            self.logger.info("Epoch[%d] Train-%s=%f", epoch, name, value)

    # -- parameters ----------------------------------------------------------------------------------------------------

    def set_params(
        self,
        arg_params: Mapping[str, ndarray],
        aux_params: Mapping[str, ndarray],
        allow_missing: bool = False,
        force_init: bool = True,
        allow_extra: bool = False,
    ) -> None:
        """Give the parameters and auxiliary states their values; see `init_params`.

        Raises
        ------
        ValueError
            If names may be missing, and one is the symbol's neither, unless `allow_extra` is true.
        """
        if allow_missing and not allow_extra:
            known = set(self.symbol.list_inputs())
            extra = [name for name in (*(arg_params or ()), *(aux_params or ())) if name not in known]
            if extra:
                raise ValueError(f"set_params: the symbol has no parameter '{extra[0]}'; allow_extra=True skips it")
        self.init_params(
            None,
            arg_params=arg_params,
            aux_params=aux_params,
            allow_missing=allow_missing,
            force_init=force_init,
            allow_extra=allow_extra,
        )

    def save_params(self, fname: str) -> None:
        """Write the parameters and auxiliary states to a file that MXNet reads."""
        arg_params, aux_params = self.get_params()
        named = {f"arg:{name}": value for name, value in arg_params.items()}
        nd.save(fname, {**named, **{f"aux:{name}": value for name, value in aux_params.items()}})

    def load_params(self, fname: str) -> None:
        """Read what `save_params` wrote.

        Raises
        ------
        FormatError
            If an array is neither ``arg:`` nor ``aux:``.
        """
        self.set_params(*by_kind(fname))

    def install_monitor(self, mon: Monitor) -> None:
        """Have a `gluonx.compat.monitor.Monitor` look at the outputs within the symbol."""
        raise NotImplementedError(f"{type(self).__name__} has no symbol to monitor")


_OF_BATCHES = ("label", "pad", "index", "bucket_key", "provide_data", "provide_label")


def batch_of(data: Any) -> DataBatch:
    """Return what `forward` was given as a batch: any object with ``data`` and some of a batch's other attributes."""
    if isinstance(data, DataBatch):
        return data
    if hasattr(data, "data") and not hasattr(data, "shape"):
        return DataBatch(data.data, **{name: getattr(data, name, None) for name in _OF_BATCHES})
    return DataBatch(list(data) if isinstance(data, (list, tuple)) else [data])


def names_of(names: Sequence[str] | str | None) -> list[str]:
    """Names as a list."""
    return [names] if isinstance(names, str) else list(names or [])
