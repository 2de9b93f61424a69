"""Handlers that show how a training goes: a bar of tqdm, and curves of matplotlib. Both are optional packages."""

from __future__ import annotations

import importlib
import sys
import time
from typing import TYPE_CHECKING, Any

import jax

from gluonx.estimator.handlers import BatchEnd, EpochBegin, EpochEnd, TrainBegin, TrainEnd, metric_list

if TYPE_CHECKING:
    from gluonx.estimator.estimator import Estimator


def optional(module: str, package: str, extra: str, who: str) -> Any:
    """Return a module of an optional package, or say how it is installed."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise ImportError(f"{who} needs {package}: pip install {package}, or gluonx[{extra}]") from error


def memory_in_use() -> int:
    """Return the bytes that the first device holds; of a CPU, which does not tell, the most that the process held."""
    stats = jax.local_devices()[0].memory_stats()
    if stats and "bytes_in_use" in stats:
        return stats["bytes_in_use"]
    resource: Any = importlib.import_module("resource")  # of Unix
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most if sys.platform == "darwin" else most * 1024


def samples_of(label: Any) -> int:
    """Return how many samples labels are of; those of several devices come as a list."""
    return sum(len(part) for part in label) if isinstance(label, (list, tuple)) else len(label)


class ProgressHandler(TrainBegin, EpochBegin, BatchEnd, EpochEnd, TrainEnd):
    """Shows a bar for each epoch, in a terminal or a notebook, with metrics at its end.

    Parameters
    ----------
    metrics : EvalMetric or list of EvalMetric, optional
        What is shown; the estimator's training and validation metrics by default.
    metric_period : int, optional
        Show metrics after so many batches too. This reads them, which waits for the device.
    priority : number, default 1000
        After most handlers, so that it shows what they have computed.
    rates : bool, default False
        Whether to show samples a second and memory, too, wherever metrics are shown.
    **options
        For ``tqdm``, such as ``leave=False`` or ``file=...``.

    Raises
    ------
    ImportError
        When a training begins, if tqdm is not installed.

    Examples
    --------
    >>> import sys
    >>> import gluonx
    >>> from gluonx import estimator, loss, nn
    >>> net = nn.Dense(1, in_units=2)
    >>> net.initialize()
    >>> trainer = gluonx.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.5})
    >>> fitter = estimator.Estimator(net, loss.L2Loss(), trainer=trainer)
    >>> handler = ProgressHandler(file=sys.stdout, leave=False, disable=True)  # without `disable` bars are drawn
    >>> handler.train_begin(fitter)
    >>> handler.epoch_begin(fitter)
    >>> handler.epoch_end(fitter)
    >>> handler.current_epoch
    1
    """

    _kept = ("current_epoch",)

    def __init__(
        self,
        metrics: Any = None,
        metric_period: int | None = None,
        priority: float = 1000,
        rates: bool = False,
        **options: Any,
    ) -> None:
        self.metrics = metric_list(metrics)
        self.metric_period, self.priority, self.options = metric_period, priority, options
        self.rates, self._samples, self._since = rates, 0, 0.0
        self.current_epoch = 0
        self._bar: Any = None

    def train_begin(self, estimator: Estimator, *args: object, **kwargs: object) -> None:
        """Count epochs from 0."""
        self._tqdm = optional("tqdm.auto", "tqdm", "progress", "ProgressHandler").tqdm
        self.current_epoch = 0

    def epoch_begin(self, estimator: Estimator, *args: object, **kwargs: object) -> None:
        """Begin a bar."""
        options = {"total": estimator.batches_per_epoch, "desc": f"Epoch {self.current_epoch}", "unit": "batch"}
        if estimator.progress.batch_in_epoch:
            options["initial"] = estimator.progress.batch_in_epoch
        self._bar = self._tqdm(**{**options, **self.options})
        self._samples, self._since = 0, time.perf_counter()

    def batch_end(self, estimator: Estimator, *args: object, **kwargs: object) -> None:
        """Move the bar."""
        self._bar.update()
        self._samples += samples_of(kwargs["label"])
        if self.metric_period and self._bar.n % self.metric_period == 0:
            self._show(self.metrics or estimator.train_metrics)

    def epoch_end(self, estimator: Estimator, *args: object, **kwargs: object) -> None:
        """Show the metrics and end the bar."""
        self._show(self.metrics or [*estimator.train_metrics, *estimator.val_metrics])
        self._bar.close()
        self.current_epoch += 1

    def train_end(self, estimator: Estimator, *args: object, **kwargs: object) -> None:
        """Let go of the bar."""
        self._bar = None

    def _show(self, metrics: list[Any]) -> None:
        pairs = [pair for metric in metrics for pair in metric.get_name_value()]
        shown = {name: f"{value:.4f}" for name, value in pairs if value == value}
        if self.rates:
            seconds = max(time.perf_counter() - self._since, 1e-9)
            shown |= {"samples/s": f"{self._samples / seconds:.0f}", "MB": f"{memory_in_use() / 1e6:.0f}"}
        self._bar.set_postfix(shown)


class LiveCurves(TrainBegin, BatchEnd, EpochEnd, TrainEnd):
    """Draws metrics over the epochs while a notebook trains, and keeps their values in ``history``.

    Parameters
    ----------
    metrics : EvalMetric or list of EvalMetric, optional
        What is drawn; the estimator's training and validation metrics by default.
    batch_period : int, optional
        Add the training metrics after so many batches too. This reads them, which waits for the device.
    path : str or path, optional
        Where to save the picture when the training ends; its ending says the format.
    priority : number, default 1000
        After most handlers, so that it draws what they have computed.

    Attributes
    ----------
    history : dict of str to list of (float, float)
        By the name of a metric, epochs and values.

    Raises
    ------
    ImportError
        When a training begins, if matplotlib is not installed.

    Examples
    --------
    >>> handler = LiveCurves(batch_period=10, path="curves.png")
    >>> # fitter.fit(loader, epochs=10, event_handlers=[handler])
    >>> handler.history  # points by the name of each metric, as soon as ``fit`` runs
    {}
    """

    _kept = ("history",)

    def __init__(
        self, metrics: Any = None, batch_period: int | None = None, path: Any = None, priority: float = 1000
    ) -> None:
        self.metrics = metric_list(metrics)
        self.batch_period, self.path, self.priority = batch_period, path, priority
        self.history: dict[str, list[Any]] = {}
        self.figure: Any = None
        self._display: Any = None

    def train_begin(self, estimator: Estimator, *args: object, **kwargs: object) -> None:
        """Begin an empty figure."""
        # Figure without pyplot: no window system is chosen, and no figure is left open.
        self.figure = optional("matplotlib.figure", "matplotlib", "notebook", "LiveCurves").Figure(figsize=(7, 4))
        self.history.clear()
        self._display = _notebook_display()

    def batch_end(self, estimator: Estimator, *args: object, **kwargs: object) -> None:
        """Add a point where a batch completes a period."""
        if self.batch_period and estimator.progress.batch % self.batch_period == 0:
            length = estimator.batches_per_epoch or estimator.progress.batch_in_epoch
            self._add(estimator, estimator.train_metrics, estimator.progress.batch_in_epoch / length)
            self._draw()

    def epoch_end(self, estimator: Estimator, *args: object, **kwargs: object) -> None:
        """Add a point."""
        self._add(estimator, [*estimator.train_metrics, *estimator.val_metrics], 0)
        self._draw()

    def train_end(self, estimator: Estimator, *args: object, **kwargs: object) -> None:
        """Save the picture."""
        if self.path is not None:
            self.figure.savefig(self.path)

    def _add(self, estimator: Estimator, metrics: list[Any], part: float) -> None:
        for metric in self.metrics or metrics:
            for name, value in metric.get_name_value():
                if value == value:
                    self.history.setdefault(name, []).append([estimator.progress.epoch + part, float(value)])

    def _draw(self) -> None:
        self.figure.clear()
        axes = self.figure.add_subplot()
        for name, points in self.history.items():
            axes.plot(*zip(*points, strict=True), marker=".", label=name)
        axes.set_xlabel("epoch")
        if self.history:
            axes.legend()
        if self._display is not None:
            self._display.update(self.figure)


def _notebook_display() -> Any:
    """Return a place in the notebook's output that can be drawn over; None outside of a notebook."""
    try:
        ipython = importlib.import_module("IPython")
    except ImportError:
        return None
    shell = ipython.get_ipython()
    if shell is None or not hasattr(shell, "kernel"):
        return None
    return importlib.import_module("IPython.display").display("", display_id=True)
