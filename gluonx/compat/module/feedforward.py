"""``mx.model.FeedForward``: the oldest way to train a symbol, with ``fit``, ``predict`` and ``score``."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as onp

from gluonx import metric as metrics
from gluonx.compat.callback import save_checkpoint
from gluonx.compat.io import DataBatch, NDArrayIter, ResizeIter
from gluonx.compat.model import load_checkpoint
from gluonx.compat.module.base import called
from gluonx.compat.module.module import Module
from gluonx.compat.symbol.executor import Executor

if TYPE_CHECKING:
    from gluonx.initializer import InitLike


class _Fed(Module):
    """A module whose parameters are initialized as the symbol lists them, and whose log is FeedForward's."""

    def _drawn(self, names: Sequence[str]) -> Sequence[str]:
        return names

    def _tell(self, epoch: int, found: list[tuple[str, Any]]) -> None:
        self.logger.info("Epoch[%d] Resetting Data Iterator", epoch)


class FeedForward:
    """A symbol with its parameters, trained and asked by arrays or iterators; `Module` does more, Gluon most.

    Parameters
    ----------
    symbol : Symbol
    ctx : Context, optional
    num_epoch : int, optional
        For how many epochs `fit` trains.
    epoch_size : int, optional
        Batches in an epoch; by default as many as the iterator has.
    optimizer : str or Optimizer
    initializer : Initializer, optional
        Of parameters that have no value yet; ``Uniform(0.01)`` by default.
    numpy_batch_size : int
        Rows in a batch that is made of arrays.
    arg_params, aux_params : dict of str to array, optional
        What is known already.
    allow_extra_params : bool
        Whether these may have names that the symbol does not have.
    begin_epoch : int
        The number of the first epoch.
    **kwargs
        For the optimizer: ``learning_rate``, ``momentum`` and so on.

    Examples
    --------
    >>> import numpy
    >>> from gluonx import symbol as sym
    >>> net = sym.SoftmaxOutput(sym.FullyConnected(sym.var("data"), num_hidden=2), name="softmax")
    >>> model = FeedForward(net, num_epoch=20, learning_rate=1.0, numpy_batch_size=4)
    >>> X = numpy.array([[0, 1], [1, 0], [0, 2], [2, 0]], "float32")
    >>> model.fit(X, numpy.array([0, 1, 0, 1], "float32"))
    >>> model.predict(X).argmax(1)
    array([0, 1, 0, 1])
    """

    def __init__(
        self,
        symbol: Any,
        ctx: Any = None,
        num_epoch: int | None = None,
        epoch_size: int | None = None,
        optimizer: Any = "sgd",
        initializer: InitLike = None,
        numpy_batch_size: int = 128,
        arg_params: Mapping[str, Any] | None = None,
        aux_params: Mapping[str, Any] | None = None,
        allow_extra_params: bool = False,
        begin_epoch: int = 0,
        **kwargs: Any,
    ) -> None:
        self.symbol, self.ctx, self.num_epoch, self.epoch_size = symbol, ctx, num_epoch, epoch_size
        self.optimizer, self.initializer, self.numpy_batch_size = optimizer, initializer, numpy_batch_size
        self.begin_epoch, self.kwargs = begin_epoch, kwargs
        self.arg_params = self._own(arg_params, symbol.list_arguments(), allow_extra_params)
        self.aux_params = self._own(aux_params, symbol.list_auxiliary_states(), allow_extra_params)

    @staticmethod
    def _own(params: Mapping[str, Any] | None, names: list[str], allow_extra: bool) -> dict[str, Any] | None:
        if params is None:
            return None
        extra = sorted(set(params) - set(names))
        if extra and not allow_extra:
            raise ValueError(f"FeedForward: the symbol has no '{extra[0]}'; allow_extra_params=True skips it")
        return {name: value for name, value in params.items() if name in names}

    def _iterator(self, X: Any, y: Any, training: bool) -> Any:
        if hasattr(X, "provide_data"):
            return X
        if y is None:
            if training:
                raise ValueError("FeedForward: y must be given where X is an array")
            y = onp.zeros(len(X), "float32")
        if len(X) != len(y):
            raise ValueError(f"FeedForward: {len(X)} rows of X and {len(y)} of y were given")
        y = y.reshape(-1) if len(y.shape) == 2 and y.shape[1] == 1 else y
        size = min(len(X), self.numpy_batch_size)
        return NDArrayIter(X, y, size, shuffle=training, last_batch_handle="roll_over" if training else "pad")

    def fit(
        self,
        X: Any,
        y: Any = None,
        eval_data: Any = None,
        eval_metric: Any = "acc",
        epoch_end_callback: Any = None,
        batch_end_callback: Any = None,
        kvstore: Any = "local",
        logger: Any = None,
        work_load_list: Any = None,
        monitor: Any = None,
        eval_end_callback: Any = None,
        eval_batch_end_callback: Any = None,
    ) -> None:
        """Train the parameters, and keep them as ``arg_params`` and ``aux_params``.

        Parameters
        ----------
        X, y : array; or a DataIter and None
            Arrays are shuffled, in batches of ``numpy_batch_size``.
        eval_data : DataIter, or pair of arrays, optional
            What is measured after each epoch.
        batch_end_callback : callable or list of them, optional
            Given a `BatchEndParam`, whose batches count from 1.
        eval_metric, epoch_end_callback, kvstore, monitor, eval_end_callback, eval_batch_end_callback
            As for `Module.fit`.
        """
        data = self._iterator(X, y, True)
        if isinstance(eval_data, (tuple, list)):
            eval_data = self._iterator(*eval_data, training=False)
        names = [[d[0] for d in described] for described in (data.provide_data, data.provide_label)]
        logger = logger or logging
        module = _Fed(self.symbol, *names, logger=logger, context=self.ctx)
        logger.info("Start training with %s", module._context)
        if self.epoch_size is not None:  # an epoch goes on where the one before it ended
            data.reset()
            data = ResizeIter(data, self.epoch_size, reset_internal=False)
        module.fit(
            data,
            eval_data=eval_data,
            eval_metric=eval_metric,
            epoch_end_callback=epoch_end_callback,
            batch_end_callback=lambda p: called(batch_end_callback, p._replace(nbatch=p.nbatch + 1)),
            kvstore=kvstore,
            optimizer=self.optimizer,
            optimizer_params=self.kwargs,
            eval_end_callback=eval_end_callback,
            eval_batch_end_callback=eval_batch_end_callback,
            initializer=self.initializer,
            arg_params=self.arg_params,
            aux_params=self.aux_params,
            allow_missing=True,
            begin_epoch=self.begin_epoch,
            num_epoch=self.num_epoch,
            monitor=monitor,
        )
        self.arg_params, self.aux_params = module.get_params()

    def _outputs(self, data: Any, count: int | None, reset: bool) -> Iterator[tuple[DataBatch, list[Any]]]:
        """Each batch with its outputs."""
        if reset:
            data.reset()
        if self.arg_params is None:
            raise ValueError("FeedForward: there are no parameters; call fit(), or give arg_params")
        names = [d[0] for d in data.provide_data]
        known = {d[0]: tuple(d[1]) for d in data.provide_data}
        executor: Executor = self.symbol.simple_bind(self.ctx, grad_req="null", **known)
        executor.copy_params_from(self.arg_params, self.aux_params, allow_extra_params=True)
        for number, batch in enumerate(data):
            if number == count:
                return
            yield batch, executor.forward(False, **dict(zip(names, batch.data, strict=True)))

    def predict(self, X: Any, num_batch: int | None = None, return_data: bool = False, reset: bool = True) -> Any:
        """Return the outputs for all rows, as NumPy arrays.

        Parameters
        ----------
        X : array or DataIter
        num_batch : int, optional
            How many batches are looked at; all by default.
        return_data : bool
            Whether to give also the data and the labels that were seen.
        reset : bool
            Whether to begin at the first batch.

        Returns
        -------
        numpy.ndarray, or list of them where there are several outputs
        """
        columns: list[list[list[onp.ndarray]]] = [[], [], []]
        for batch, outs in self._outputs(self._iterator(X, None, False), num_batch, reset):
            for column, arrays in zip(columns, (outs, batch.data, batch.label or []), strict=True):
                column.append([a.asnumpy()[: len(a) - (batch.pad or 0)] for a in arrays])
        merged = [[onp.concatenate(parts) for parts in zip(*column, strict=True)] for column in columns]
        found = [column[0] if len(column) == 1 else column for column in merged]
        return tuple(found) if return_data else found[0]

    def score(
        self, X: Any, eval_metric: Any = "acc", num_batch: int | None = None, batch_end_callback: Any = None,
        reset: bool = True,
    ) -> Any:  # fmt: skip
        """Measure the predictions for an iterator's data by a metric."""
        measure = metrics.create(eval_metric)
        measure.reset()
        for batch, outs in self._outputs(self._iterator(X, None, False), num_batch, reset):
            measure.update(batch.label, outs)
            called(batch_end_callback, measure)
        return measure.get()[1]

    def save(self, prefix: str, epoch: int | None = None, remove_amp_cast: bool = True) -> None:
        """Write ``PREFIX-symbol.json`` and ``PREFIX-EPOCH.params``; the epoch is ``num_epoch`` by default."""
        epoch = self.num_epoch if epoch is None else epoch
        if epoch is None:
            raise ValueError("FeedForward.save: which epoch? num_epoch is not known")
        save_checkpoint(prefix, epoch, self.symbol, self.arg_params or {}, self.aux_params or {})

    @staticmethod
    def load(prefix: str, epoch: int, ctx: Any = None, **kwargs: Any) -> FeedForward:
        """Return a model of what `save` wrote; training goes on with the epoch after."""
        symbol, arg_params, aux_params = load_checkpoint(prefix, epoch)
        return FeedForward(symbol, ctx, arg_params=arg_params, aux_params=aux_params, begin_epoch=epoch, **kwargs)

    @staticmethod
    def create(
        symbol: Any,
        X: Any,
        y: Any = None,
        ctx: Any = None,
        num_epoch: int | None = None,
        epoch_size: int | None = None,
        optimizer: Any = "sgd",
        initializer: Any = None,
        eval_data: Any = None,
        eval_metric: Any = "acc",
        epoch_end_callback: Any = None,
        batch_end_callback: Any = None,
        kvstore: Any = "local",
        logger: Any = None,
        work_load_list: Any = None,
        eval_end_callback: Any = None,
        eval_batch_end_callback: Any = None,
        **kwargs: Any,
    ) -> FeedForward:
        """Make a model and `fit` it."""
        model = FeedForward(symbol, ctx, num_epoch, epoch_size, optimizer, initializer, **kwargs)
        model.fit(
            X, y, eval_data, eval_metric, epoch_end_callback, batch_end_callback, kvstore, logger, work_load_list,
            None, eval_end_callback, eval_batch_end_callback,
        )  # fmt: skip
        return model
