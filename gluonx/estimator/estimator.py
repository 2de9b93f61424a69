"""The `Estimator`: a training loop whose steps are one program each, and whose rest is handlers."""

from __future__ import annotations

import contextlib
import copy
import logging
import random
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as onp

from gluonx import engine
from gluonx.block import Block
from gluonx.common.frames import warn
from gluonx.data import DataLoader, Prefetched
from gluonx.device import Device, current_device
from gluonx.errors import ArgumentError
from gluonx.estimator.batch import BatchProcessor
from gluonx.estimator.handlers import (
    BatchBegin,
    BatchEnd,
    EpochBegin,
    EpochEnd,
    EventHandler,
    GradientUpdateHandler,
    LoggingHandler,
    MetricHandler,
    StoppingHandler,
    TrainBegin,
    TrainEnd,
    ValidationHandler,
    metric_list,
)
from gluonx.loss import Loss, SoftmaxCrossEntropyLoss
from gluonx.metric import PCC, Accuracy, EvalMetric
from gluonx.metric import Loss as LossMetric
from gluonx.metric.gathered import Gathered
from gluonx.ops import prng
from gluonx.trainer import Trainer

if TYPE_CHECKING:
    from gluonx.device import DeviceLike
    from gluonx.initializer import InitLike


_TRAINING, _VALIDATION = "training", "validation"


@dataclass
class Progress:
    """Progress of a training: epochs and batches done."""

    epoch: int = 0  # complete ones
    batch: int = 0  # in all
    batch_in_epoch: int = 0
    epoch_random: Any = None  # the random state at the beginning of the epoch


def get_random_state() -> dict[str, Any]:
    """Return the state of the random streams of gluonx, NumPy and Python, in types of JSON."""
    numpy_state: Any = onp.random.get_state(legacy=True)
    return {
        "gluonx": prng.get_state(),
        "numpy": [numpy_state[0], numpy_state[1].tolist(), *numpy_state[2:]],
        "python": random.getstate(),
    }


def set_random_state(state: dict[str, Any]) -> None:
    """Go back to what `get_random_state` gave."""
    version, numbers, gauss = state["python"]
    prng.set_state(state["gluonx"])
    onp.random.set_state(tuple(state["numpy"]))
    random.setstate((version, tuple(numbers), gauss))


class Estimator:
    """Trains and evaluates a net.

    Parameters
    ----------
    net : Block
        What is trained. Parameters without a value are initialized.
    loss : gluonx.loss.Loss
        Of predictions and labels.
    train_metrics, val_metrics : EvalMetric or list of EvalMetric, optional
        Their names get the prefixes ``training`` and ``validation``. By default the loss, and for a
        `SoftmaxCrossEntropyLoss` the accuracy; for validation, copies of those for training.
    initializer : Initializer or str, optional
        For parameters without a value.
    trainer : Trainer, optional
        SGD with a learning rate of 0.001 by default, with a warning.
    device : Device or list of Device, optional
        Where data goes; the current device by default. ``context`` is its older name.
    val_net, val_loss : optional
        Those of the validation, by default the same.
    batch_processor : BatchProcessor, optional
        What computes a batch, for nets with other inputs.

    Attributes
    ----------
    logger : logging.Logger
        Where handlers log to; it writes to the standard output.

    Raises
    ------
    ValueError
        If an argument is something else.

    Examples
    --------
    >>> import gluonx as mx
    >>> from gluonx import data, estimator, loss, metric, nn
    >>> x, y = onp.ones((8, 3), "float32"), onp.ones((8, 1), "float32")
    >>> loader = data.DataLoader(data.ArrayDataset(x, y), batch_size=4)
    >>> net = nn.Dense(1, in_units=3, weight_initializer="zeros")
    >>> net.initialize()
    >>> trainer = mx.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.25})
    >>> fitter = Estimator(net, loss.L2Loss(), metric.MAE(), trainer=trainer)
    >>> fitter.logger.handlers.clear()
    >>> fitter.fit(loader, epochs=2)
    >>> fitter.train_metrics[0].get()[0]
    'training mae'
    """

    def __init__(
        self,
        net: Block,
        loss: Any,
        train_metrics: EvalMetric | Sequence[EvalMetric] | None = None,
        val_metrics: EvalMetric | Sequence[EvalMetric] | None = None,
        initializer: InitLike = None,
        trainer: Trainer | None = None,
        device: DeviceLike = None,
        val_net: Block | None = None,
        val_loss: Any = None,
        batch_processor: Any = None,
        *,
        context: Any = None,
    ) -> None:
        for name, value in (("loss", loss), ("val_loss", val_loss)):
            if not isinstance(value, Loss) and (name == "loss" or value is not None):
                raise ValueError(f"{name} must be a gluon.loss.Loss, got {value!r}")
        self.net, self.loss = net, loss
        self.val_net = net if val_net is None else val_net
        self.val_loss = loss if val_loss is None else val_loss
        self._train_metrics = metric_list(train_metrics) or _default_metrics(loss)
        _prefix(self._train_metrics, _TRAINING)
        self._val_metrics = metric_list(val_metrics) or copy.deepcopy(self._train_metrics)
        _prefix(self._val_metrics, _VALIDATION)
        self.logger = logging.Logger("Estimator", logging.INFO)
        self.logger.addHandler(logging.StreamHandler(sys.stdout))
        self.device = _devices(context if device is None else device)
        self._initialize(initializer)
        self.trainer = self._trainer(trainer)
        self.batch_processor = _processor(batch_processor)
        self.max_epoch: int | None = None
        self.max_batch: int | None = None
        self.batch_axis = 0
        self.batches_per_epoch: int | None = None
        self.progress = Progress()
        self.resumed_metrics: list[Any] = []  # their states in an epoch that is resumed
        self.event_handlers: list[Any] = []
        self._later: list[Callable[[], None]] | None = None

    @property
    def context(self) -> list[Any]:
        """The devices, by their older name."""
        return self.device

    @property
    def train_metrics(self) -> list[EvalMetric]:
        """The metrics of the training."""
        return self._train_metrics

    @property
    def val_metrics(self) -> list[EvalMetric]:
        """The metrics of the validation."""
        return self._val_metrics

    def _initialize(self, initializer: InitLike) -> None:
        if not isinstance(self.net, Block):
            return  # it says by itself what it is
        params = self.net.collect_params().values()
        if any(param._handle is None for param in params):
            self.net.initialize(initializer, device=self.device)
        elif initializer is not None:
            warn(
                "The net is initialized already, so that the Estimator's initializer does nothing. Leave it out, or "
                "call net.initialize(initializer, force_reinit=True) before."
            )

    def _trainer(self, trainer: Trainer | None) -> Trainer:
        if trainer is None:
            warn("The Estimator was given no trainer: SGD with a learning rate of 0.001 is used.")
            return Trainer(self.net.collect_params(), "sgd", {"learning_rate": 0.001})
        if not isinstance(trainer, Trainer):
            raise ValueError(f"trainer must be a gluon.Trainer, got {trainer!r}")
        return trainer

    # -- the loops -------------------------------------------------------------------------------------------------

    def evaluate(self, val_data: Iterable[Any], batch_axis: int = 0, event_handlers: Any = None) -> None:
        """Update ``val_metrics`` over all batches, without training.

        Parameters
        ----------
        val_data : DataLoader
            Its batches begin with data and labels.
        batch_axis : int, default 0
            The axis along which a batch is split over devices.
        event_handlers : EventHandler or list of EventHandler, optional
            Beside them run a `MetricHandler` and a `LoggingHandler`, unless there are some.

        Raises
        ------
        ValueError
            If `val_data` is no DataLoader.
        """
        _check_loader(val_data, "val_data")
        for metric in self.val_metrics:
            metric.reset()
        handlers = self._complete(event_handlers, self.val_metrics, self.val_metrics, [])
        ends = _handlers_of(BatchEnd, handlers)
        for handler in _handlers_of(EpochBegin, handlers):
            handler.epoch_begin(self)
        for batch in val_data:
            for handler in _handlers_of(BatchBegin, handlers):
                handler.batch_begin(self, batch=batch)
            with engine.bulk(_A_BATCH):  # prediction, loss and metrics are one program
                _, label, pred, loss = self.batch_processor.evaluate_batch(self, batch, batch_axis)
                for handler in ends:
                    handler.batch_end(self, batch=batch, pred=pred, label=label, loss=loss)
        for handler in _handlers_of(EpochEnd, handlers):
            handler.epoch_end(self)

    def fit(
        self,
        train_data: Any,
        val_data: Any = None,
        epochs: int | None = None,
        event_handlers: Any = None,
        batches: int | None = None,
        batch_axis: int = 0,
    ) -> None:
        """Train for so many epochs or batches.

        Parameters
        ----------
        train_data : DataLoader
            Its batches begin with data and labels.
        val_data : DataLoader, optional
            Evaluated after each epoch.
        epochs, batches : int
            One of the two.
        event_handlers : EventHandler or list of EventHandler, optional
            Beside them run a `StoppingHandler`, and a `GradientUpdateHandler`, `MetricHandler`, `ValidationHandler`
            and `LoggingHandler`, unless there are some.
        batch_axis : int, default 0
            The axis along which a batch is split over devices.

        Raises
        ------
        ValueError
            If an argument is something else, a handler has other metrics than this estimator, or an epoch no batch.
        """
        _check_loader(train_data, "train_data")
        for name, value in (("epochs", epochs), ("batches", batches)):
            if value is not None and (not isinstance(value, int) or value < 0):  # any other would never be reached
                raise ValueError(f"fit(): {name} must be an int above 0, got {value!r}")
        if (not epochs) == (not batches):
            raise ValueError(
                f"fit() takes epochs or batches, and one of the two; got epochs={epochs}, batches={batches}"
            )
        self.max_epoch, self.max_batch, self.batch_axis = epochs, batches, batch_axis
        self.batches_per_epoch = _length(train_data)
        self.progress = Progress()
        self.train_loader = train_data
        self.event_handlers = handlers = self._fit_handlers(val_data, event_handlers)
        self._event(TrainBegin, "train_begin")
        go_on = True
        begins, ends = _handlers_of(BatchBegin, handlers), _batch_ends(handlers)
        while go_on:
            self._event(EpochBegin, "epoch_begin")
            if self._epoch(train_data, begins, ends):
                self.progress.epoch += 1
                self.progress.batch_in_epoch = 0
            go_on = not self._event(EpochEnd, "epoch_end")
        self._event(TrainEnd, "train_end")

    def _epoch(self, train_data: Iterable[Any], begins: list[Any], ends: list[Any]) -> bool:
        """Train on the batches of an epoch; return whether the epoch is complete."""
        progress, empty = self.progress, True
        for batch in self._rest_of_epoch(train_data):
            empty = False
            for handler in begins:
                handler.batch_begin(self, batch=batch)
            _, label, pred, loss = self.batch_processor.fit_batch(self, batch, self.batch_axis)
            progress.batch += 1
            progress.batch_in_epoch += 1
            with self._event_of_handlers():
                stops = [h.batch_end(self, batch=batch, pred=pred, label=label, loss=loss) for h in ends]
            if any(stops):
                return False
        if empty and not progress.batch_in_epoch:
            raise ValueError("train_data has no batch: a training on it would not end")
        return True

    def _rest_of_epoch(self, train_data: Iterable[Any]) -> Iterator[Any]:
        """Return the batches of an epoch one by one, without those that a resumed epoch has trained on already."""
        progress, now = self.progress, None
        if progress.batch_in_epoch:
            now = get_random_state()
            set_random_state(progress.epoch_random)
        else:
            progress.epoch_random = get_random_state()
        batches = iter(train_data)
        for _ in range(progress.batch_in_epoch):
            next(batches, None)
        if now is not None:
            set_random_state(now)
        for metric, kept in zip(self.train_metrics, self.resumed_metrics, strict=False):
            metric.load_state_dict(kept)
        self.resumed_metrics = []
        return batches

    def _event(self, event: type, method: str) -> bool:
        with self._event_of_handlers():
            stops = [getattr(handler, method)(self) for handler in _handlers_of(event, self.event_handlers)]
        return any(stops)

    @contextlib.contextmanager
    def _event_of_handlers(self) -> Iterator[None]:
        self._later = []
        try:
            yield
            for action in self._later:
                action()
        finally:
            self._later = None

    def after_event(self, action: Callable[[], None]) -> None:
        """Call `action` when all handlers of the present event have run; at once where there is no event."""
        if self._later is None:
            action()
        else:
            self._later.append(action)

    # -- handlers --------------------------------------------------------------------------------------------------

    def _fit_handlers(self, val_data: Iterable[Any], given: Any) -> list[Any]:
        added: list[Any] = [StoppingHandler(self.max_epoch, self.max_batch)]
        given = _handler_list(given)
        if not any(isinstance(handler, GradientUpdateHandler) for handler in given):
            added.append(GradientUpdateHandler())
        if val_data is not None and not any(isinstance(handler, ValidationHandler) for handler in given):
            _check_loader(val_data, "val_data")
            added.append(ValidationHandler(val_data, self.evaluate))
        return self._complete(given, self.train_metrics, [*self.train_metrics, *self.val_metrics], added)

    def _complete(self, given: Any, metrics: list[EvalMetric], known: list[EvalMetric], added: list[Any]) -> list[Any]:
        """Return all handlers in their order: those given, those `added`, and the default ones for `metrics`."""
        given = _handler_list(given)
        defaults: dict[Any, type] = {MetricHandler: MetricHandler, LoggingHandler: LoggingHandler}
        added += [
            make(metrics=metrics) for kind, make in defaults.items() if not any(isinstance(h, kind) for h in given)
        ]
        # In this order, since equal priorities keep it.
        added.sort(key=lambda h: _ORDER.index(type(h)))
        if given and added:
            for handler in given:
                _check_metrics_of(handler, known)
        return sorted([*given, *added], key=lambda handler: getattr(handler, "priority", 0))


_ORDER = [StoppingHandler, GradientUpdateHandler, MetricHandler, ValidationHandler, LoggingHandler]
_A_BATCH = 1 << 30  # operators


def _default_metrics(loss: Block) -> list[EvalMetric]:
    first: list[EvalMetric] = [Accuracy()] if isinstance(loss, SoftmaxCrossEntropyLoss) else []
    return [*first, LossMetric(type(loss).__name__)]


def _prefix(metrics: list[EvalMetric], prefix: str) -> None:
    """Begin the names of metrics with a prefix, by which handlers tell training and validation apart."""
    for metric in metrics:
        name = metric.name.removeprefix(f"{_TRAINING} ").removeprefix(f"{_VALIDATION} ")
        metric.name = f"{prefix} {name}"


def _devices(device: DeviceLike) -> list[Any]:
    found = list(device) if isinstance(device, (list, tuple)) else [current_device() if device is None else device]
    if not found or not all(isinstance(d, Device) for d in found):
        raise ArgumentError(f"device must be a Device or a list of them, such as [gpu(0), gpu(1)], got {device!r}")
    return found


def _processor(processor: Any) -> Any:
    if processor is None:
        return BatchProcessor()
    for method in ("fit_batch", "evaluate_batch"):
        if not callable(getattr(processor, method, None)):
            raise ValueError(f"batch_processor must have a method {method}, got {processor!r}")
    return processor


def _check_loader(loader: Any, name: str) -> None:
    if not isinstance(loader, (DataLoader, Prefetched)):
        raise ValueError(
            f"{name} must be a gluon.data.DataLoader, or another loader within gluon.data.Prefetched(...), got "
            f"{type(loader).__name__}"
        )


def _length(loader: DataLoader | Prefetched) -> int | None:
    """Return how many batches an epoch has; None where the loader cannot tell, as some of other libraries cannot."""
    try:
        return len(loader)
    except TypeError:
        return None


def _handler_list(handlers: Any) -> list[Any]:
    """Return handlers as a list; ValueError if something else is among them."""
    if handlers is None:
        return []
    found = list(handlers) if isinstance(handlers, (list, tuple)) else [handlers]
    for handler in found:
        if not isinstance(handler, EventHandler):
            raise ValueError(
                "event_handlers must be an EventHandler, which has a class such as BatchEnd among its bases, or a list "
                f"of them; got {handler!r}"
            )
    return found


def _handlers_of(event: type, handlers: list[Any]) -> list[Any]:
    return [handler for handler in handlers if isinstance(handler, event)]


def _batch_ends(handlers: list[Any]) -> list[Any]:
    """Return the handlers of the end of a batch, with updates of metrics before the step that they directly follow.

    The step runs what is pending. Before it, metrics are a part of its program; behind it, each would be a program of
    its own. Neither sees the other, so that the result is the same. A metric that reads the prediction stays behind:
    it would tear the program apart.
    """
    ends = _handlers_of(BatchEnd, handlers)
    for i in range(len(ends) - 1):
        step, metrics = ends[i : i + 2]
        if type(step) is GradientUpdateHandler and type(metrics) is MetricHandler:
            own = metric_list(metrics.metrics)
            if all(isinstance(metric, Gathered) and not isinstance(metric, PCC) for metric in own):  # none reads
                ends[i : i + 2] = metrics, step
    return ends


def _check_metrics_of(handler: Any, known: list[EvalMetric]) -> None:
    """ValueError if a handler has a metric that nothing here would update."""
    for name, value in vars(handler).items():
        for metric in value if isinstance(value, (list, tuple)) else [value]:
            if "metric" in name and isinstance(metric, EvalMetric) and not any(metric is one for one in known):
                raise ValueError(
                    f"{type(handler).__name__}.{name} holds the metric {metric.name!r}, which is none of this "
                    "estimator's: use those in estimator.train_metrics and estimator.val_metrics, or give the "
                    "estimator the metric when it is made"
                )
