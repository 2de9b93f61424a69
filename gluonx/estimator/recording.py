"""Handlers that write how a training goes to where one looks afterwards: a CSV file, TensorBoard, Weights & Biases.

Each writes the same numbers: training metrics, after an epoch validation metrics too, the learning rate, samples a
second, and memory. They read metrics, which waits for the device, after each epoch and after every so many batches.
"""

from __future__ import annotations

import csv
import math
import os
import time
from typing import TYPE_CHECKING, Any

from gluonx.errors import ArgumentError, FormatError
from gluonx.estimator.handlers import BatchEnd, EpochEnd, TrainBegin, TrainEnd, metric_list
from gluonx.estimator.shown import memory_in_use, optional, samples_of

if TYPE_CHECKING:
    from gluonx.estimator.estimator import Estimator


class RecordingHandler(TrainBegin, BatchEnd, EpochEnd, TrainEnd):
    """The base: a subclass has ``begin(estimator)``, ``write(step, values)`` and ``end()``.

    Parameters
    ----------
    metrics : EvalMetric or list of EvalMetric, optional
        What is written; the estimator's training and validation metrics by default.
    batch_period : int, optional
        Write after so many batches too.
    priority : number, default 1000
        After most handlers, so that it writes what they have computed.

    Raises
    ------
    ArgumentError
        If `batch_period` is no whole number above 0.

    Examples
    --------
    >>> class Prints(RecordingHandler):
    ...     def write(self, step, values):
    ...         print(step, values)
    >>> Prints(batch_period=10).write(4, {"training loss": 0.25})  # ``fit`` does so after each epoch and ten batches
    4 {'training loss': 0.25}
    """

    def __init__(self, metrics: Any = None, batch_period: int | None = None, priority: float = 1000) -> None:
        if batch_period is not None and (not isinstance(batch_period, int) or batch_period < 1):
            raise ArgumentError(
                f"{type(self).__name__}: batch_period must be a whole number of batches above 0, got {batch_period!r}."
            )
        self.metrics, self.batch_period, self.priority = metric_list(metrics), batch_period, priority
        self._samples, self._since = 0, 0.0

    def begin(self, estimator: Any) -> None:
        """Open what is written to."""

    def write(self, step: int, values: dict[str, float]) -> None:
        """Write numbers by name; `step` is how many batches there were."""
        raise NotImplementedError(f"{type(self).__name__} must define write(step, values).")

    def end(self) -> None:
        """Close what was written to."""

    def train_begin(self, estimator: Estimator, *args: object, **kwargs: object) -> None:
        """Open what is written to, and look at the clock."""
        self.begin(estimator)
        self._samples, self._since = 0, time.perf_counter()

    def batch_end(self, estimator: Estimator, *args: object, **kwargs: object) -> None:
        """Write where a batch completes a period."""
        self._samples += samples_of(kwargs["label"])
        if self.batch_period and estimator.progress.batch % self.batch_period == 0:
            self._write(estimator, self.metrics or estimator.train_metrics)

    def epoch_end(self, estimator: Estimator, *args: object, **kwargs: object) -> None:
        """Write."""
        self._write(estimator, self.metrics or [*estimator.train_metrics, *estimator.val_metrics])

    def train_end(self, estimator: Estimator, *args: object, **kwargs: object) -> None:
        """Close what was written to."""
        self.end()

    def _write(self, estimator: Estimator, metrics: list[Any]) -> None:
        pairs = [pair for metric in metrics for pair in metric.get_name_value()]
        values = {name: float(value) for name, value in pairs if value == value}
        if estimator.trainer.learning_rate is not None:
            values["learning rate"] = float(estimator.trainer.learning_rate)
        if self._samples:
            values["samples per second"] = self._samples / max(time.perf_counter() - self._since, 1e-9)
        values["memory in MB"] = memory_in_use() / 1e6
        self._samples, self._since = 0, time.perf_counter()
        self.write(estimator.progress.batch, {"epoch": float(estimator.progress.epoch), **values})


class CSVHandler(RecordingHandler):
    """Writes a row of a CSV file at each time; a training that goes on adds rows to the file.

    Parameters
    ----------
    path : str or path
        The file; folders above it that are not there are made. Its columns are the metrics that the estimator has
        when the training begins.
    metrics, batch_period, priority
        As of `RecordingHandler`.

    Raises
    ------
    FormatError
        When a training begins, if there is a file with other columns.

    Examples
    --------
    >>> import tempfile
    >>> from gluonx import metric
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     handler = CSVHandler(f"{folder}/training.csv", metric.Loss("training loss"))
    ...     handler.begin(None)  # ``fit`` makes these three calls
    ...     handler.write(4, {"epoch": 1.0, "training loss": 0.25})
    ...     handler.end()
    ...     with open(handler.path) as file:
    ...         print(file.read())
    step,epoch,training loss,learning rate,samples per second,memory in MB
    4,1.0,0.25,,,
    """

    def __init__(self, path: str | os.PathLike[str], *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.path = os.fspath(path)
        self._file: Any = None
        self._columns: list[str] = []

    def begin(self, estimator: Any) -> None:
        """Open the file, with its columns if it is new."""
        known = self.metrics or [*estimator.train_metrics, *estimator.val_metrics]
        names = [name for metric in known for name, _ in metric.get_name_value()]
        self._columns = ["step", "epoch", *names, "learning rate", "samples per second", "memory in MB"]
        there = os.path.exists(self.path) and os.path.getsize(self.path) > 0
        if there:
            with open(self.path, newline="", encoding="utf-8") as file:
                found = next(csv.reader(file), [])
            if found != self._columns:
                raise FormatError(f"'{self.path}' has the columns {found}, but these come: {self._columns}")
        os.makedirs(os.path.dirname(self.path) or ".", exist_ok=True)
        self._file = open(self.path, "a", newline="", encoding="utf-8")  # noqa: SIM115 - closed at the end
        if not there:
            csv.writer(self._file).writerow(self._columns)

    def write(self, step: int, values: dict[str, float]) -> None:
        """Write a row."""
        row = {"step": step, **values}
        csv.writer(self._file).writerow([row.get(name, "") for name in self._columns])
        self._file.flush()

    def end(self) -> None:
        """Close the file."""
        self._file.close()
        self._file = None


class TensorBoardHandler(RecordingHandler):
    """Writes scalars for TensorBoard.

    Parameters
    ----------
    folder : str or path, or a writer
        Where the files go; or a ``SummaryWriter`` of tensorboardX or PyTorch, which stays open.
    metrics, batch_period, priority
        As of `RecordingHandler`.

    Raises
    ------
    ArgumentError
        If `folder` is neither.
    ImportError
        When a training begins, if tensorboardX is not installed.

    Examples
    --------
    >>> class Writer:  # in place of tensorboardX's
    ...     def add_scalar(self, name, value, step):
    ...         print(step, name, value)
    >>> TensorBoardHandler(Writer()).write(4, {"training loss": 0.25})  # ``fit`` does so after each epoch
    4 training loss 0.25
    """

    def __init__(self, folder: Any, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.writer: Any = folder if hasattr(folder, "add_scalar") else None
        if self.writer is None and not isinstance(folder, (str, os.PathLike)):
            raise ArgumentError(
                f"TensorBoardHandler takes a folder, or a SummaryWriter, got a {type(folder).__name__}."
            )
        self.folder = folder

    def begin(self, estimator: Any) -> None:
        """Open a writer."""
        if self.writer is None:
            package = optional("tensorboardX", "tensorboardX", "tensorboard", "TensorBoardHandler")
            self.writer = package.SummaryWriter(os.fspath(self.folder))

    def write(self, step: int, values: dict[str, float]) -> None:
        """Write scalars."""
        for name, value in values.items():
            self.writer.add_scalar(name, value, step)

    def end(self) -> None:
        """Close the writer, if it is ours."""
        if self.writer is self.folder:
            self.writer.flush()
        else:
            self.writer.close()
            self.writer = None


class WandbHandler(RecordingHandler):
    """Logs to Weights & Biases.

    Parameters
    ----------
    run : wandb.Run, optional
        One that the program has begun, which stays open; else one is begun and finished.
    metrics, batch_period, priority
        As of `RecordingHandler`.
    **options
        For ``wandb.init``, such as ``project='digits'`` or ``mode='offline'``.

    Raises
    ------
    ImportError
        When a training begins, if wandb is not installed.

    Examples
    --------
    >>> class Run:  # in place of that of wandb.init()
    ...     def log(self, values, step):
    ...         print(step, values)
    >>> WandbHandler(Run()).write(4, {"training loss": 0.25})  # ``fit`` does so after each epoch
    4 {'training loss': 0.25}
    """

    def __init__(
        self,
        run: Any = None,
        metrics: Any = None,
        batch_period: int | None = None,
        priority: float = 1000,
        **options: Any,
    ) -> None:
        super().__init__(metrics, batch_period, priority)
        self.run: Any = run
        self.options = options
        self._own = run is None

    def begin(self, estimator: Any) -> None:
        """Begin a run."""
        if self._own:
            self.run = optional("wandb", "wandb", "wandb", "WandbHandler").init(**self.options)

    def write(self, step: int, values: dict[str, float]) -> None:
        """Log numbers."""
        self.run.log({name: value for name, value in values.items() if math.isfinite(value)}, step=step)

    def end(self) -> None:
        """Finish the run, if it is ours."""
        if self._own:
            self.run.finish()
            self.run = None
