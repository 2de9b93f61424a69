"""Event handlers: what a training loop does at the beginning and the end of training, epochs and batches.

A handler derives from the classes of the events that it wants (`TrainBegin` to `TrainEnd`) and has a method named after
each. Handlers run in ascending order of their attribute ``priority``, which is 0 for those without one, and those of
equal priority in the order in which they were given. Where ``batch_end`` or ``epoch_end`` of any handler returns true,
the epoch, or the training, ends.

A handler that counts or remembers may have ``state_dict()``, which gives a dict of JSON's types, and
``load_state_dict(state)``: the `CheckpointHandler` keeps it.
"""

from __future__ import annotations

import math
import operator
import time
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, ClassVar

from gluonx.common.frames import warn
from gluonx.metric import CompositeEvalMetric, EvalMetric, Loss

if TYPE_CHECKING:
    from gluonx.estimator.estimator import Estimator


class EventHandler:
    """The base of all events.

    Examples
    --------
    >>> class Counts(BatchEnd):
    ...     _kept = ("batches",)
    ...     batches = 0
    ...
    ...     def batch_end(self, estimator, *args, **kwargs):
    ...         self.batches += 1
    >>> handler = Counts()
    >>> handler.batch_end(None)
    >>> handler.state_dict()
    {'batches': 1}
    """

    _kept: ClassVar[tuple[str, ...]] = ()  # attributes that a checkpoint keeps

    def state_dict(self) -> dict[str, Any]:
        """Return what a checkpoint has to keep of the handler: counts, for one that counts."""
        return {name: getattr(self, name) for name in self._kept}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Take what `state_dict` gave; entries that are missing stay as they are.

        Raises
        ------
        TypeError
            If something else than a number comes for a number.
        """
        for name in self._kept:
            now, new = getattr(self, name), state.get(name)
            if name in state and type(now) in (int, float):
                if type(new) not in ((int,) if type(now) is int else (int, float)):
                    raise TypeError(f"{type(self).__name__}.{name} is a number, got {new!r}")
            if name in state:
                setattr(self, name, new)


class TrainBegin(EventHandler):
    """The event before the first epoch.

    Examples
    --------
    >>> class Greets(TrainBegin):
    ...     def train_begin(self, estimator, *args, **kwargs):
    ...         print("training begins")
    >>> Greets().train_begin(None)  # ``fit`` calls it
    training begins
    """

    def train_begin(self, estimator: Estimator, *args: object, **kwargs: object) -> None:
        """Run before the first epoch."""


class TrainEnd(EventHandler):
    """The event after the last epoch.

    Examples
    --------
    >>> class Parts(TrainEnd):
    ...     def train_end(self, estimator, *args, **kwargs):
    ...         print("training is over")
    >>> Parts().train_end(None)  # ``fit`` calls it
    training is over
    """

    def train_end(self, estimator: Estimator, *args: object, **kwargs: object) -> None:
        """Run after the last epoch."""


class EpochBegin(EventHandler):
    """The event before the first batch of an epoch.

    Examples
    --------
    >>> class Halves(EpochBegin):
    ...     def epoch_begin(self, estimator, *args, **kwargs):
    ...         estimator.trainer.set_learning_rate(estimator.trainer.learning_rate / 2)
    >>> import gluonx
    >>> from gluonx import estimator, loss, nn
    >>> net = nn.Dense(1, in_units=2)
    >>> net.initialize()
    >>> trainer = gluonx.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.5})
    >>> fitter = estimator.Estimator(net, loss.L2Loss(), trainer=trainer)
    >>> Halves().epoch_begin(fitter)  # ``fit`` calls it
    >>> fitter.trainer.learning_rate
    0.25
    """

    def epoch_begin(self, estimator: Estimator, *args: object, **kwargs: object) -> None:
        """Run before the first batch of an epoch."""


class EpochEnd(EventHandler):
    """The event after the last batch of an epoch.

    Examples
    --------
    >>> class UntilLow(EpochEnd):
    ...     def epoch_end(self, estimator, *args, **kwargs):
    ...         return estimator.train_metrics[0].get()[1] < 0.01
    >>> import gluonx
    >>> from gluonx import estimator, loss, nn, np
    >>> net = nn.Dense(1, in_units=2)
    >>> net.initialize()
    >>> trainer = gluonx.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.5})
    >>> fitter = estimator.Estimator(net, loss.L2Loss(), trainer=trainer)
    >>> fitter.train_metrics[0].update(0, np.array([0.001]))
    >>> bool(UntilLow().epoch_end(fitter))  # true: ``fit`` ends here
    True
    """

    def epoch_end(self, estimator: Estimator, *args: object, **kwargs: object) -> Any:
        """Run after the last batch of an epoch; a true result ends the training."""
        return False


class BatchBegin(EventHandler):
    """The event before a batch.

    Examples
    --------
    >>> class Sizes(BatchBegin):
    ...     def batch_begin(self, estimator, *args, **kwargs):
    ...         print(len(kwargs["batch"][0]), "samples")
    >>> Sizes().batch_begin(None, batch=([1, 2, 3], [0, 1, 0]))  # ``fit`` calls it
    3 samples
    """

    def batch_begin(self, estimator: Estimator, *args: object, **kwargs: object) -> None:
        """Run before a batch, with the keyword ``batch``."""


class BatchEnd(EventHandler):
    """The event after a batch.

    Examples
    --------
    >>> class Largest(BatchEnd):
    ...     def batch_end(self, estimator, *args, **kwargs):
    ...         print(kwargs["loss"].max().item())
    >>> from gluonx import np
    >>> Largest().batch_end(None, loss=np.array([0.5, 2.0]))  # ``fit`` calls it
    2.0
    """

    def batch_end(self, estimator: Estimator, *args: object, **kwargs: object) -> Any:
        """Run after a batch, with the keywords ``batch``, ``pred``, ``label`` and ``loss``; true ends the epoch."""
        return False


def metric_list(metrics: Any) -> list[EvalMetric]:
    """Return metrics as a list; composite ones as their parts.

    Raises
    ------
    ValueError
        If something else is among them.
    """
    if isinstance(metrics, CompositeEvalMetric):
        return [part for metric in metrics.metrics for part in metric_list(metric)]
    if isinstance(metrics, EvalMetric):
        return [metrics]
    metrics = [] if metrics is None else metrics
    wrong = [m for m in metrics if not isinstance(m, EvalMetric)] if isinstance(metrics, Iterable) else [metrics]
    if wrong:
        raise ValueError(f"metrics must be an EvalMetric or a list of them, got {wrong[0]!r}")
    return metrics if isinstance(metrics, list) else list(metrics)


def metric_texts(metrics: Iterable[EvalMetric]) -> str:
    """Return names and values as a line of a log has them. This reads the metrics."""
    return ", ".join(f"{name}: {value:.4f}" for metric in metrics for name, value in metric.get_name_value())


class StoppingHandler(TrainBegin, BatchEnd, EpochEnd):
    """Ends the training after so many epochs or batches.

    Parameters
    ----------
    max_epoch, max_batch : int, optional
        The bounds. ``fit`` puts its own in their place.

    Examples
    --------
    >>> handler = StoppingHandler(max_batch=2)
    >>> handler.batch_end(None), handler.batch_end(None)  # the second ends the training
    (False, True)
    """

    _kept = ("current_batch", "current_epoch")

    def __init__(self, max_epoch: int | None = None, max_batch: int | None = None) -> None:
        self.max_epoch, self.max_batch = max_epoch, max_batch
        self.current_batch = self.current_epoch = 0
        self.stop_training = False

    def train_begin(self, estimator: Estimator, *args: object, **kwargs: object) -> None:
        """Take the bounds of ``fit``, and count from 0."""
        self.max_epoch, self.max_batch = estimator.max_epoch, estimator.max_batch
        self.current_batch = self.current_epoch = 0
        self.stop_training = False

    def batch_end(self, estimator: Estimator, *args: object, **kwargs: object) -> bool:
        """Count a batch."""
        self.current_batch += 1
        self.stop_training |= self.current_batch == self.max_batch
        return self.stop_training

    def epoch_end(self, estimator: Estimator, *args: object, **kwargs: object) -> bool:
        """Count an epoch."""
        self.current_epoch += 1
        self.stop_training |= self.current_epoch == self.max_epoch
        return self.stop_training


class MetricHandler(EpochBegin, BatchEnd):
    """Resets metrics before an epoch and updates them after each batch.

    Parameters
    ----------
    metrics : EvalMetric or list of EvalMetric
        A `gluonx.metric.Loss` is given the losses, all others labels and predictions.
    priority : number, default -1000
        Before most handlers, which may then read.

    Examples
    --------
    >>> from gluonx import metric, np
    >>> accuracy = metric.Accuracy()
    >>> handler = MetricHandler(accuracy)
    >>> handler.epoch_begin(None)
    >>> handler.batch_end(None, label=np.array([0, 1]), pred=np.array([[0.9, 0.1], [0.6, 0.4]]), loss=np.zeros(2))
    >>> accuracy.get()
    ('accuracy', 0.5)
    """

    def __init__(self, metrics: Any, priority: float = -1000) -> None:
        self.metrics = metric_list(metrics)
        self.priority = priority

    def epoch_begin(self, estimator: Estimator, *args: object, **kwargs: object) -> None:
        """Reset the metrics."""
        for metric in self.metrics:
            metric.reset()

    def batch_end(self, estimator: Estimator, *args: object, **kwargs: object) -> None:
        """Add the batch. Nothing is read, unless a metric of the user's does."""
        for metric in self.metrics:
            if isinstance(metric, Loss):
                metric.update(0, kwargs["loss"])
            else:
                metric.update(kwargs["label"], kwargs["pred"])


class ValidationHandler(TrainBegin, BatchEnd, EpochEnd):
    """Evaluates on validation data every so many epochs or batches.

    Parameters
    ----------
    val_data : DataLoader
        The validation data.
    eval_fn : callable
        Called with ``val_data``, ``batch_axis`` and ``event_handlers``; usually ``estimator.evaluate``.
    epoch_period, batch_period : int or None
        How many epochs or batches lie between two evaluations; None for none of this kind.
    priority : number, default -1000
        Before most handlers, which may then read validation metrics.
    event_handlers : EventHandler or list of EventHandler, optional
        Handlers of the evaluation.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> handler = ValidationHandler([1, 2], lambda val_data, **_: print("evaluates on", val_data), epoch_period=2)
    >>> handler.epoch_end(SimpleNamespace(batch_axis=0))
    >>> handler.epoch_end(SimpleNamespace(batch_axis=0))
    evaluates on [1, 2]
    """

    _kept = ("current_batch", "current_epoch")

    def __init__(
        self,
        val_data: Any,
        eval_fn: Callable[..., Any],
        epoch_period: int | None = 1,
        batch_period: int | None = None,
        priority: float = -1000,
        event_handlers: Any = None,
    ) -> None:
        self.val_data, self.eval_fn = val_data, eval_fn
        self.epoch_period, self.batch_period = epoch_period, batch_period
        self.priority, self.event_handlers = priority, event_handlers
        self.current_batch = self.current_epoch = 0

    def train_begin(self, estimator: Estimator, *args: object, **kwargs: object) -> None:
        """Count from 0."""
        self.current_batch = self.current_epoch = 0

    def batch_end(self, estimator: Estimator, *args: object, **kwargs: object) -> None:
        """Evaluate where a batch completes a period."""
        self.current_batch += 1
        self._evaluate(estimator, self.current_batch, self.batch_period)

    def epoch_end(self, estimator: Estimator, *args: object, **kwargs: object) -> None:
        """Evaluate where an epoch completes a period."""
        self.current_epoch += 1
        self._evaluate(estimator, self.current_epoch, self.epoch_period)

    def _evaluate(self, estimator: Estimator, count: int, period: int | None) -> None:
        if period and count % period == 0:
            self.eval_fn(val_data=self.val_data, batch_axis=estimator.batch_axis, event_handlers=self.event_handlers)


class LoggingHandler(TrainBegin, TrainEnd, EpochBegin, EpochEnd, BatchBegin, BatchEnd):
    """Logs settings, times and metrics to ``estimator.logger``.

    Parameters
    ----------
    log_interval : int or 'epoch', default 'epoch'
        Whether to log after epochs only, or after every so many batches too. A log after batches reads the metrics.
    metrics : EvalMetric or list of EvalMetric, optional
        The metrics to log.
    priority : number, default infinite
        After all others.

    Raises
    ------
    ValueError
        If `log_interval` is neither.

    Examples
    --------
    >>> import logging, sys
    >>> import gluonx
    >>> from gluonx import estimator, loss, metric, nn
    >>> net = nn.Dense(1, in_units=2)
    >>> net.initialize()
    >>> trainer = gluonx.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.5})
    >>> fitter = estimator.Estimator(net, loss.L2Loss(), trainer=trainer)
    >>> fitter.logger.handlers[:] = [logging.StreamHandler(sys.stdout)]
    >>> LoggingHandler(metrics=[metric.Loss("training loss")]).epoch_begin(fitter)
    [Epoch 0] Begin, current learning rate: 0.5000
    >>> fitter.logger.handlers.clear()
    """

    _kept = ("current_epoch", "batch_index", "processed_samples")

    def __init__(self, log_interval: int | str = "epoch", metrics: Any = None, priority: float = math.inf) -> None:
        by_batch = isinstance(log_interval, int) and not isinstance(log_interval, bool) and log_interval > 0
        if not by_batch and log_interval != "epoch":
            raise ValueError(f"log_interval must be a positive integer or 'epoch', got {log_interval!r}")
        self.metrics = metric_list(metrics)
        self.log_interval, self.priority = log_interval, priority
        self.batch_index = self.current_epoch = self.processed_samples = 0
        self.log_interval_time = 0.0
        self.train_start = self.epoch_start = self.batch_start = 0.0

    def train_begin(self, estimator: Estimator, *args: object, **kwargs: object) -> None:
        """Log optimizer, learning rate and how long the training is to be."""
        trainer, log = estimator.trainer, estimator.logger.info
        self.train_start = time.time()
        self.batch_index = self.current_epoch = self.processed_samples = 0
        self.log_interval_time = 0.0
        name, rate = type(trainer.optimizer).__name__, trainer.learning_rate
        log("Training begin: using optimizer %s with current learning rate %.4f ", name, rate)
        if estimator.max_epoch:
            log("Train for %d epochs.", estimator.max_epoch)
        else:
            log("Train for %d batches.", estimator.max_batch)

    def train_end(self, estimator: Estimator, *args: object, **kwargs: object) -> None:
        """Log the time and the last values."""
        seconds = time.time() - self.train_start
        text = f"Train finished using total {int(seconds)}s with {self.current_epoch} epochs. "
        estimator.logger.info((text + metric_texts(self.metrics)).rstrip(", "))

    def epoch_begin(self, estimator: Estimator, *args: object, **kwargs: object) -> None:
        """Log the learning rate; of an evaluation, that it begins."""
        self.epoch_start = time.time()
        if any("training" in metric.name for metric in self.metrics):
            rate = estimator.trainer.learning_rate
            estimator.logger.info("[Epoch %d] Begin, current learning rate: %.4f", self.current_epoch, rate)
        else:
            estimator.logger.info("Validation Begin")

    def batch_begin(self, estimator: Estimator, *args: object, **kwargs: object) -> None:
        """Look at the clock."""
        self.batch_start = time.time()

    def batch_end(self, estimator: Estimator, *args: object, **kwargs: Any) -> None:
        """Log time and metrics where the batch is one of each interval's."""
        if isinstance(self.log_interval, int):
            self.log_interval_time += time.time() - self.batch_start
            self.processed_samples += kwargs["batch"][0].shape[0]
            if self.batch_index % self.log_interval == 0:
                place = f"[Epoch {self.current_epoch}][Batch {self.batch_index}][Samples {self.processed_samples}] "
                text = f"{place}time/interval: {self.log_interval_time:.3f}s {metric_texts(self.metrics)}"
                self.log_interval_time = 0.0
                estimator.logger.info(text.rstrip(", "))
        self.batch_index += 1

    def epoch_end(self, estimator: Estimator, *args: object, **kwargs: object) -> None:
        """Log time and metrics."""
        seconds = time.time() - self.epoch_start
        text = f"[Epoch {self.current_epoch}] Finished in {seconds:.3f}s, {metric_texts(self.metrics)}"
        estimator.logger.info(text.rstrip(", "))
        self.current_epoch += 1
        self.batch_index = 0


_LARGER_IS_BETTER = (
    "acc", "f1", "fbeta", "mcc", "pcc", "pearson", "cos", "auc", "precision", "recall", "iou", "dice", "bleu", "rouge",
    "psnr", "ssim", "r2",
)  # fmt: skip
_SMALLER_IS_BETTER = (
    "loss", "error", "mae", "mse", "mpd", "entropy", "nll", "perplexity", "distance", "divergence",
)  # fmt: skip


def better(monitor: Any, mode: str, handler: str) -> Callable[[float, float], bool]:
    """Return the comparison that tells whether one value of `monitor` is better than another.

    Parameters
    ----------
    monitor : EvalMetric
    mode : {'auto', 'min', 'max'}
        By 'auto' larger values are better of metrics whose name says so (accuracy, f1 ...), smaller ones of errors and
        losses. Of a name that tells nothing larger ones are, as in MXNet, with a warning.
    handler : str
        The name in messages.

    Raises
    ------
    ValueError
        If `monitor` is no single metric, or for another `mode`.
    """
    if not isinstance(monitor, EvalMetric):
        raise ValueError(
            f"{handler}: monitor must be a metric of estimator.train_metrics or estimator.val_metrics, got {monitor!r}"
        )
    if isinstance(monitor, CompositeEvalMetric):
        raise ValueError(
            f"{handler}: monitor must be a single metric, got a CompositeEvalMetric: give one of its parts"
        )
    if mode not in ("auto", "min", "max"):
        raise ValueError(f"{handler}: mode must be 'auto', 'min' or 'max', got {mode!r}")
    if mode == "auto":
        mode = _mode_of(monitor, handler)
    return operator.gt if mode == "max" else operator.lt


def _mode_of(monitor: EvalMetric, handler: str) -> str:
    """Return 'min' or 'max', by the class or the name of a metric."""
    name = monitor.name.lower()
    if isinstance(monitor, Loss):
        return "min"
    larger, smaller = (any(p in name for p in parts) for parts in (_LARGER_IS_BETTER, _SMALLER_IS_BETTER))
    if larger == smaller:
        warn(
            f"{handler}: the name {monitor.name!r} does not tell whether smaller or larger values are better; larger "
            "ones are taken for it. Say mode='min' or mode='max'."
        )
    return "min" if smaller and not larger else "max"


class EarlyStoppingHandler(TrainBegin, EpochEnd, TrainEnd):
    """Ends the training when a metric has not improved for some epochs.

    Parameters
    ----------
    monitor : EvalMetric
        One of ``estimator.train_metrics`` or ``estimator.val_metrics``.
    min_delta : float, default 0
        The least change that counts as an improvement.
    patience : int, default 0
        How many epochs without an improvement are waited for.
    mode : {'auto', 'min', 'max'}, default 'auto'
        Whether smaller or larger is better; by 'auto' the metric's name tells.
    baseline : float, optional
        The value that the first epoch has to improve upon.

    Raises
    ------
    ValueError
        If `monitor` is no single metric, or for another `mode`.

    Examples
    --------
    >>> from gluonx import metric, np
    >>> error = metric.Loss()
    >>> handler = EarlyStoppingHandler(error, patience=2)
    >>> for value in (1.0, 0.5, 0.6, 0.7):  # two epochs without an improvement
    ...     error.reset()
    ...     error.update(0, np.array([value]))
    ...     print(handler.epoch_end(None))
    False
    False
    False
    True
    """

    _kept = ("wait", "stopped_epoch", "current_epoch", "best")

    def __init__(
        self,
        monitor: Any,
        min_delta: float = 0,
        patience: int = 0,
        mode: str = "auto",
        baseline: float | None = None,
    ) -> None:
        self.monitor_op = better(monitor, mode, "EarlyStoppingHandler")
        self.monitor, self.baseline, self.patience = monitor, baseline, patience
        self.min_delta = min_delta if self.monitor_op is operator.gt else -min_delta
        self._reset()

    def _reset(self) -> None:
        self.wait = self.stopped_epoch = self.current_epoch = 0
        self.stop_training = False
        worst = -math.inf if self.monitor_op is operator.gt else math.inf
        self.best = worst if self.baseline is None else self.baseline

    def train_begin(self, estimator: Estimator, *args: object, **kwargs: object) -> None:
        """Forget what was best."""
        self._reset()

    def epoch_end(self, estimator: Estimator, *args: object, **kwargs: object) -> bool:
        """Compare the metric with its best value; this reads it."""
        name, value = self.monitor.get()
        if math.isnan(value):
            warn(
                f"EarlyStoppingHandler: {name} is nan. Either nothing updates it (monitor must be one of "
                "estimator.train_metrics and estimator.val_metrics), or the training has diverged.",
                RuntimeWarning,
            )
        elif self.monitor_op(value - self.min_delta, self.best):
            self.best, self.wait = value, 0
        else:
            self.wait += 1
            if self.wait >= self.patience:
                self.stopped_epoch, self.stop_training = self.current_epoch, True
        self.current_epoch += 1
        return self.stop_training

    def train_end(self, estimator: Estimator, *args: object, **kwargs: object) -> None:
        """Log if the training was ended early."""
        if self.stopped_epoch > 0:
            name = self.monitor.get()[0]
            estimator.logger.info(
                "[Epoch %d] EarlyStoppingHandler: early stopping due to %s not improving", self.stopped_epoch, name
            )


class GradientUpdateHandler(BatchEnd):
    """Updates the weights after a batch, by ``estimator.trainer.step`` over the samples of its losses.

    Parameters
    ----------
    priority : number, default -2000
        Before all others.

    Examples
    --------
    >>> import gluonx
    >>> from gluonx import autograd, estimator, loss, nn, np
    >>> net = nn.Dense(1, in_units=2, weight_initializer="ones")
    >>> net.initialize()
    >>> trainer = gluonx.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.5})
    >>> fitter = estimator.Estimator(net, loss.L2Loss(), trainer=trainer)
    >>> with autograd.record():
    ...     lost = fitter.loss(net(np.ones((4, 2))), np.zeros((4, 1)))
    >>> lost.backward()
    >>> GradientUpdateHandler().batch_end(fitter, loss=lost)
    >>> net.weight.data().tolist()
    [[0.0, 0.0]]
    """

    def __init__(self, priority: float = -2000) -> None:
        self.priority = priority

    def batch_end(self, estimator: Any, *args: Any, **kwargs: Any) -> None:
        """Make the step."""
        loss = kwargs["loss"]
        losses = loss if isinstance(loss, list) else [loss]
        # A loss without axes is a mean already.
        estimator.trainer.step(sum(one.shape[0] if one.shape else 1 for one in losses))
