"""``mx.contrib.tensorboard``: metrics for TensorBoard."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    pass


__all__ = ["LogMetricsCallback"]

_WRITERS = ("mxboard", "tensorboardX", "torch.utils.tensorboard")


class LogMetricsCallback:
    """Writes metrics where TensorBoard finds them; a callback of a batch or an epoch.

    Parameters
    ----------
    logging_dir : str
        The folder.
    prefix : str, optional
        Put before the names: ``prefix-accuracy``.

    Raises
    ------
    ImportError
        If there is none of the packages mxboard, tensorboardX and torch (with tensorboard), which write the files.
    """

    def __init__(self, logging_dir: str, prefix: str | None = None) -> None:
        self.prefix = prefix
        self.step = 0
        self.summary_writer = _writer(logging_dir)

    def __call__(self, param: Any) -> None:
        """Write the metrics of a `BatchEndParam`."""
        self.step += 1
        if param.eval_metric is None:
            return
        for name, value in param.eval_metric.get_name_value():
            self.summary_writer.add_scalar(name if self.prefix is None else f"{self.prefix}-{name}", value, self.step)


def _writer(folder: str) -> Any:
    for name in _WRITERS:
        try:
            return importlib.import_module(name).SummaryWriter(folder)
        except ImportError:
            continue
    raise ImportError(
        f"LogMetricsCallback needs a package that writes TensorBoard's files: one of {', '.join(_WRITERS)}"
    )
