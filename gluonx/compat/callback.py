"""``mxnet.callback``: what a training loop calls after batches and epochs to tell how it goes.

A callback of a batch is given an object with ``epoch``, ``nbatch`` and ``eval_metric`` (a `BatchEndParam` is one). The
texts go to the log at level INFO, in MXNet's form. Reading a metric waits for the device, so do it every so many
batches only.
"""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    pass


__all__ = [
    "BatchEndParam",
    "LogValidationMetricsCallback",
    "ProgressBar",
    "Speedometer",
    "do_checkpoint",
    "log_train_metric",
    "module_checkpoint",
    "save_checkpoint",
]


class BatchEndParam(NamedTuple):
    """The argument of a callback of a batch."""

    epoch: int
    nbatch: int
    eval_metric: Any = None
    locals: Any = None


def save_checkpoint(
    prefix: str,
    epoch: int,
    symbol: Any,
    arg_params: Any,
    aux_params: Any,
    remove_amp_cast: bool = True,
) -> None:
    """Write the parameters to ``prefix-EPOCH.params``, and `symbol`, if it can ``save``, to ``prefix-symbol.json``.

    Parameters
    ----------
    prefix : str
        The path that both names begin with.
    epoch : int
        Four digits of the first name.
    symbol : object or None
        With a method ``save(path)``.
    arg_params, aux_params : dict of str to ndarray
        Parameters and moving statistics, kept under ``arg:`` and ``aux:`` as MXNet does.
    remove_amp_cast : bool
        Taken for compatibility.

    Examples
    --------
    >>> import tempfile, gluonx as mx
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_checkpoint(f"{folder}/net", 3, None, {"w": mx.np.ones(2)}, {})
    ...     sorted(mx.npx.load(f"{folder}/net-0003.params"))
    ['arg:w']
    """
    import numpy

    from gluonx import files as serialize

    if symbol is not None:
        symbol.save(f"{prefix}-symbol.json")
    named = {f"arg:{name}": value for name, value in arg_params.items()}
    named.update({f"aux:{name}": value for name, value in aux_params.items()})
    arrays = {name: numpy.asarray(value) for name, value in named.items()}
    path = f"{prefix}-{epoch:04d}.params"
    serialize.save_arrays(path, arrays, format="mxnet")
    logging.info('Saved checkpoint to "%s"', path)


def do_checkpoint(prefix: str, period: int = 1) -> Callable[..., None]:
    """Get a callback of an epoch ``(iter_no, symbol, arg, aux)`` that calls `save_checkpoint` every `period` epochs."""
    period = max(1, int(period))

    def checkpoint(iter_no: int, sym: Any, arg: Any, aux: Any) -> None:
        if (iter_no + 1) % period == 0:
            save_checkpoint(prefix, iter_no + 1, sym, arg, aux)

    return checkpoint


def module_checkpoint(
    mod: Any, prefix: str, period: int = 1, save_optimizer_states: bool = False
) -> Callable[..., None]:
    """Get a callback of an epoch that calls ``mod.save_checkpoint`` every `period` epochs."""
    period = max(1, int(period))

    def checkpoint(iter_no: int, sym: Any = None, arg: Any = None, aux: Any = None) -> None:
        if (iter_no + 1) % period == 0:
            mod.save_checkpoint(prefix, iter_no + 1, save_optimizer_states)

    return checkpoint


def _said(metric: Any) -> list[tuple[str, Any]]:
    return [] if metric is None else metric.get_name_value()


def log_train_metric(period: int, auto_reset: bool = False) -> Callable[[Any], None]:
    """Return a callback of a batch that logs the metric every `period` batches, and resets it with `auto_reset`."""

    def log(param: Any) -> None:
        if param.nbatch % period == 0 and param.eval_metric is not None:
            for name, value in _said(param.eval_metric):
                logging.info("Iter[%d] Batch[%d] Train-%s=%f", param.epoch, param.nbatch, name, value)
            if auto_reset:
                param.eval_metric.reset_local()

    return log


class Speedometer:
    """Logs how many samples a second are trained on, and the metric, every `frequent` batches.

    Parameters
    ----------
    batch_size : int
        Samples in a batch.
    frequent : int
        The number of batches between two lines.
    auto_reset : bool
        Whether the metric is reset after each line, which then tells of the batches since the last; what
        ``get_global()`` tells, as `Module.fit` does at the end of an epoch, goes on.
    """

    def __init__(self, batch_size: int, frequent: int = 50, auto_reset: bool = True) -> None:
        self.batch_size, self.frequent, self.auto_reset = batch_size, frequent, auto_reset
        self.init = False
        self.tic = 0.0
        self.last_count = 0

    def __call__(self, param: Any) -> None:
        """Count a batch."""
        count = param.nbatch
        if self.last_count > count:  # another epoch
            self.init = False
        self.last_count = count
        if not self.init:
            self.init, self.tic = True, time.perf_counter()
            return
        if count % self.frequent:
            return
        elapsed = time.perf_counter() - self.tic
        speed = self.frequent * self.batch_size / elapsed if elapsed > 0 else math.inf
        self._log(param, count, speed)
        self.tic = time.perf_counter()

    def _log(self, param: Any, count: int, speed: float) -> None:
        if param.eval_metric is None:
            logging.info("Iter[%d] Batch [%d]\tSpeed: %.2f samples/sec", param.epoch, count, speed)
            return
        found = _said(param.eval_metric)
        first = count - self.frequent if self.auto_reset else 0
        if self.auto_reset:
            param.eval_metric.reset_local()
        text = "Epoch[%d] Batch [%d-%d]\tSpeed: %.2f samples/sec" + "\t%s=%f" * len(found)
        logging.info(text, param.epoch, first, count, speed, *[part for pair in found for part in pair])


class ProgressBar:
    """Logs how far an epoch is, as a bar.

    Parameters
    ----------
    total : int
        Batches in an epoch.
    length : int
        Characters of the bar.

    Examples
    --------
    >>> ProgressBar(4, length=8)(BatchEndParam(0, 1))  # logs [==------] 25%
    """

    def __init__(self, total: int, length: int = 80) -> None:
        self.bar_len, self.total = length, total

    def __call__(self, param: Any) -> None:
        """Log the bar, which ends in a carriage return: one line that changes, where the log's format is that."""
        done = param.nbatch / self.total
        filled = round(self.bar_len * done)
        bar = "=" * filled + "-" * (self.bar_len - filled)
        logging.info("[%s] %d%%\r", bar, math.ceil(100.0 * done))


class LogValidationMetricsCallback:
    """Logs the metric at the end of an epoch of validation."""

    def __call__(self, param: Any) -> None:
        """Log it."""
        for name, value in _said(param.eval_metric):
            logging.info("Epoch[%d] Validation-%s=%f", param.epoch, name, value)


def __dir__() -> list[str]:
    return sorted(__all__)
