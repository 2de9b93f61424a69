"""Checkpoints of a training, and going on from them with the bits of a training that was not interrupted.

A checkpoint is three files: ``PREFIX-epochEbatchB.params`` and ``.states``, which MXNet writes too, and ``.resume``, in
JSON: how far the training is, the random state now and at the beginning of the epoch, what handlers count, and the
metrics of an epoch that is not complete. They are written when all handlers of the event have run, so that they hold
what the next batch begins with; ``.resume`` comes last and makes the checkpoint complete.
"""

from __future__ import annotations

import copy
import json
import math
import operator
import os
import re
import tempfile
from pathlib import Path
from typing import Any

from gluonx.common.frames import warn
from gluonx.data import DataLoader
from gluonx.errors import FormatError, GluonxError
from gluonx.estimator.estimator import Progress, get_random_state, set_random_state
from gluonx.estimator.handlers import BatchEnd, EpochEnd, TrainBegin, better
from gluonx.files import atomic_write, checksum_of

_FORMAT = 1
_PARTS = (".resume", ".params", ".states")  # in the order in which they are removed


class CheckpointHandler(TrainBegin, BatchEnd, EpochEnd):
    """Saves parameters, trainer states and how far the training is, and can go on from there.

    The graph of a hybridized net is written once, as ``PREFIX-symbol.json``, where it can be expressed in MXNet's
    operators. See `gluonx.estimator.checkpoint` for the other files.

    Parameters
    ----------
    model_dir : str or path
        The folder, which is made if it is missing.
    model_prefix : str, default 'model'
        What all names begin with.
    monitor : EvalMetric, optional
        The metric by which `save_best` decides: one of the estimator's.
    verbose : int, default 0
        Whether to log what is saved.
    save_best : bool, default False
        Whether to keep the best checkpoint too, as ``PREFIX-best.params`` and ``.states``.
    mode : {'auto', 'min', 'max'}, default 'auto'
        Whether smaller or larger is better; by 'auto' the metric's name tells.
    epoch_period, batch_period : int or None
        How many epochs or batches lie between two checkpoints; None for none of this kind.
    max_checkpoints : int, default 5
        How many are kept. The oldest ones are removed, the best one is not counted.
    keep_best : int, default 0
        So many of the best checkpoints by `monitor` are kept besides, however old.
    resume_from_checkpoint : bool, default False
        Whether to go on from the latest checkpoint in the folder, if there is one. ``fit`` is then told the whole
        number of epochs or batches; parameters, states, counts and the random states of gluonx, NumPy and Python
        are those that the interrupted training had.

    Raises
    ------
    ValueError
        If `save_best` has no metric to decide by, or `max_checkpoints` is negative. When a training begins that the
        checkpoint has completed already.
    FormatError
        When a training begins, if a file of the checkpoint is damaged or missing.

    Examples
    --------
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     handler = CheckpointHandler(folder, epoch_period=2, max_checkpoints=3, resume_from_checkpoint=True)
    ...     # fitter.fit(loader, epochs=10, event_handlers=[handler])
    >>> handler.saved_checkpoints  # the last three, as soon as ``fit`` runs
    []
    """

    _kept = ("current_batch", "current_epoch", "best", "values")

    def __init__(
        self,
        model_dir: str | os.PathLike[str],
        model_prefix: str = "model",
        monitor: Any = None,
        verbose: int = 0,
        save_best: bool = False,
        mode: str = "auto",
        epoch_period: int | None = 1,
        batch_period: int | None = None,
        max_checkpoints: int = 5,
        resume_from_checkpoint: bool = False,
        keep_best: int = 0,
    ) -> None:
        if keep_best < 0:
            raise ValueError(f"CheckpointHandler: keep_best must not be negative, got {keep_best}")
        if max_checkpoints < 0:
            raise ValueError(f"CheckpointHandler: max_checkpoints must not be negative, got {max_checkpoints}")
        self.model_dir, self.model_prefix = os.fspath(model_dir), model_prefix
        os.makedirs(self.model_dir, exist_ok=True)
        self.monitor, self.verbose, self.save_best = monitor, verbose, save_best
        who = f"CheckpointHandler({'save_best=True' if save_best else f'keep_best={keep_best}'})"
        self.monitor_op = better(monitor, mode, who) if save_best or keep_best else None
        self.keep_best = keep_best
        self.values: dict[str, float] = {}  # of `monitor`, by checkpoint
        self.epoch_period, self.batch_period = epoch_period, batch_period
        self.max_checkpoints, self.resume_from_checkpoint = max_checkpoints, resume_from_checkpoint
        self.current_batch = self.current_epoch = 0
        self.trained_epoch = self.trained_batch = -1
        self.best = self._worst()
        self.saved_checkpoints: list[str] = []

    def _worst(self) -> float:
        return -math.inf if self.monitor_op is operator.gt else math.inf

    def train_begin(self, estimator: Any, *args: Any, **kwargs: Any) -> None:
        """Count from 0, or go on from the latest checkpoint."""
        self.current_batch = self.current_epoch = 0
        self.best, self.values = self._worst(), {}
        if self.resume_from_checkpoint:
            self._resume(estimator)

    def batch_end(self, estimator: Any, *args: Any, **kwargs: Any) -> None:
        """Save where a batch completes a period; the graph, after the first batch."""
        if self.current_batch == 0:
            estimator.after_event(lambda: self._save_symbol(estimator))
        if self.batch_period and (self.current_batch + 1) % self.batch_period == 0:
            self._save(estimator)
        self.current_batch += 1

    def epoch_end(self, estimator: Any, *args: Any, **kwargs: Any) -> None:
        """Save where an epoch completes a period."""
        if self.epoch_period and (self.current_epoch + 1) % self.epoch_period == 0:
            self._save(estimator)
        self.current_epoch += 1

    # -- writing ---------------------------------------------------------------------------------------------------

    def _save(self, estimator: Any) -> None:
        name = f"{self.model_prefix}-epoch{self.current_epoch}batch{self.current_batch}"
        if self.keep_best:
            self.values[name] = float(self.monitor.get()[1])
        estimator.after_event(lambda: self._write(estimator, name))
        if self.verbose > 0:
            estimator.logger.info(
                "[Epoch %d] CheckpointHandler: trained total %d batches, saving model at %s with prefix: %s",
                self.current_epoch, self.current_batch + 1, self.model_dir, name,
            )  # fmt: skip
        if self.save_best:
            self._save_if_best(estimator)

    def _save_if_best(self, estimator: Any) -> None:
        assert self.monitor_op is not None, "asked before"
        monitor, value = self.monitor.get()
        if math.isnan(value):
            warn(
                f"CheckpointHandler: the best model is not saved, because {monitor} is nan. Either nothing updates it "
                "(monitor must be one of estimator.train_metrics and estimator.val_metrics), or the training has "
                "diverged.",
                RuntimeWarning,
            )
            return
        name = f"{self.model_prefix}-best"
        improved = self.monitor_op(value, self.best)
        if self.verbose > 0 and improved:
            estimator.logger.info(
                "[Epoch %d] CheckpointHandler: %s improved from %0.5f to %0.5f, "
                "updating best model at %s with prefix: %s",
                self.current_epoch, monitor, self.best, value, self.model_dir, name,
            )  # fmt: skip
        elif self.verbose > 0:
            text = "[Epoch %d] CheckpointHandler: %s did not improve from %0.5f, skipping updating best model"
            estimator.logger.info(text, self.current_epoch, monitor, self.best)
        if improved:
            self.best = value
            estimator.after_event(lambda: self._write_model(estimator, name))

    def _path(self, name: str) -> str:
        return os.path.join(self.model_dir, name)

    def _write_model(self, estimator: Any, name: str) -> None:
        estimator.trainer.save_states(self._path(f"{name}.states"))
        estimator.net.save_parameters(self._path(f"{name}.params"))

    def _write(self, estimator: Any, name: str) -> None:
        self._write_model(estimator, name)
        with atomic_write(self._path(f"{name}.resume"), "w") as file:
            described = _description(estimator)
            json.dump({**described, "checksum": checksum_of(json.loads(json.dumps(described)))}, file)
        if name in self.saved_checkpoints:
            self.saved_checkpoints.remove(name)
        self.saved_checkpoints.append(name)
        best = self._best_checkpoints()
        common = [name for name in self.saved_checkpoints if name not in best]
        for oldest in common[: max(0, len(common) - self.max_checkpoints)]:
            self.saved_checkpoints.remove(oldest)
            self.values.pop(oldest, None)
            for part in _PARTS:
                Path(self._path(oldest + part)).unlink(missing_ok=True)

    def _best_checkpoints(self) -> list[str]:
        """Return the names of the checkpoints that are kept for their metric, the best one first."""
        known = [name for name in self.saved_checkpoints if not math.isnan(self.values.get(name, math.nan))]
        largest = self.monitor_op is operator.gt
        return sorted(known, key=lambda name: self.values[name], reverse=largest)[: self.keep_best]

    def _save_symbol(self, estimator: Any) -> None:
        """Write the graph of the net, if it is hybridized and MXNet has operators for all that it does."""
        path = self._path(f"{self.model_prefix}-symbol.json")
        if os.path.exists(path) and self.resume_from_checkpoint:
            return
        why = "use HybridBlock to construct the net, and call net.hybridize() before the training"
        if getattr(estimator.net, "_active", False):
            before = get_random_state()
            try:
                with tempfile.TemporaryDirectory(dir=self.model_dir, prefix=".symbol.") as folder:
                    estimator.net.export(os.path.join(folder, "net"), format="mxnet")
                    os.replace(os.path.join(folder, "net-symbol.json"), path)
                return
            except (GluonxError, ValueError, TypeError, NotImplementedError) as error:
                why = str(error).partition("\n")[0]
            finally:
                set_random_state(before)
        estimator.logger.info("Model architecture (symbol file) is not saved as %s: %s.", path, why)

    # -- going on --------------------------------------------------------------------------------------------------

    def _resume(self, estimator: Any) -> None:
        found = self._checkpoints()
        if not found:
            self.trained_epoch = self.trained_batch = -1
            rest = f"{estimator.max_batch} batches" if estimator.max_batch else f"{estimator.max_epoch} epochs"
            estimator.logger.info("CheckpointHandler: No checkpoint found, training from scratch for %s", rest)
            return
        self.trained_epoch, self.trained_batch, name = found[-1]
        self.saved_checkpoints = [one for _, _, one in found]
        kept = self._read(f"{name}.resume") if os.path.exists(self._path(f"{name}.resume")) else None
        progress = self._of_mxnet() if kept is None else _progress_of(kept, self._path(f"{name}.resume"))
        rest = _rest(estimator, progress, name)
        for part in (".params", ".states"):
            if not os.path.exists(self._path(name + part)):
                raise FormatError(f"the checkpoint {self._path(name)} has no file {name}{part}")
        estimator.net.load_parameters(self._path(f"{name}.params"), device=estimator.device)
        estimator.trainer.load_states(self._path(f"{name}.states"))
        # After the other handlers have begun, which sets their counts to 0.
        estimator.after_event(lambda: self._go_on(estimator, progress, kept, name))
        estimator.logger.warning(
            "CheckpointHandler: Checkpoint resumed from epoch %d batch %d, continue to train for %s",
            self.trained_epoch, self.trained_batch, rest,
        )  # fmt: skip

    def _go_on(self, estimator: Any, progress: Progress, kept: dict[str, Any] | None, name: str) -> None:
        try:
            _go_on(estimator, progress, kept)
        except (AttributeError, LookupError, TypeError, ValueError, OverflowError) as error:
            raise FormatError(f"{self._path(name)}.resume: its states do not fit: {error!r}") from error

    def _checkpoints(self) -> list[tuple[int, int, str]]:
        """Return epochs, batches and names of the complete checkpoints, the latest last.

        Of MXNet's, which have no ``.resume``, there are some only where none is ours.
        """
        named = re.compile(re.escape(self.model_prefix) + r"-epoch(\d+)batch(\d+)(\.params|\.resume)")
        of: dict[str, list[tuple[int, int, str]]] = {".params": [], ".resume": []}
        for file in os.listdir(self.model_dir):
            match = named.fullmatch(file)
            if match:
                of[match[3]].append((int(match[1]), int(match[2]), file.removesuffix(match[3])))
        return sorted(of[".resume"] or of[".params"])

    def _of_mxnet(self) -> Progress:
        """Return the progress of a training of whose checkpoint only the name tells."""
        if self.epoch_period and not self.batch_period:
            return Progress(self.trained_epoch + 1, self.trained_batch)
        if self.batch_period and not self.epoch_period:
            return Progress(self.trained_epoch, self.trained_batch + 1)
        raise ValueError(
            "CheckpointHandler: this checkpoint has no .resume file, as one of MXNet's. To go on from it, give the "
            "kind of period that it was saved with: epoch_period=N, or batch_period=N and epoch_period=None"
        )

    def _read(self, name: str) -> dict[str, Any]:
        path = self._path(name)
        try:
            with open(path, encoding="utf-8") as file:
                kept = json.load(file)
        except (ValueError, RecursionError) as error:
            raise FormatError(f"{path}: not a file of a checkpoint: {error}") from None
        if not isinstance(kept, dict) or kept.get("format") != _FORMAT:
            raise FormatError(f"{path}: not a file of a checkpoint in format {_FORMAT}")
        if kept.get("checksum", checksum_of(kept)) != checksum_of(kept):  # older ones have none
            raise FormatError(f"{path}: it was changed after it was written: its checksum differs")
        return kept


def _description(estimator: Any) -> dict[str, Any]:
    progress = estimator.progress
    return {
        "format": _FORMAT,
        "epoch": progress.epoch,
        "batch": progress.batch,
        "batch_in_epoch": progress.batch_in_epoch,
        "epoch_random": progress.epoch_random if progress.batch_in_epoch else None,
        "random": get_random_state(),
        "loader": _state_of_loader(estimator.train_loader, within_epoch=progress.batch_in_epoch > 0),
        "loss_scale": None if estimator.trainer._scaler is None else estimator.trainer._scaler.state_dict(),
        "handlers": [[type(h).__name__, h.state_dict()] for h in estimator.event_handlers],
        "metrics": [m.state_dict() for m in estimator.train_metrics] if progress.batch_in_epoch else [],
    }


def _state_of_loader(loader: Any, within_epoch: bool) -> dict[str, Any]:
    """Return what a loader of ours keeps for another epoch; of any other nothing is known."""
    return loader.rolled_over(within_epoch) if isinstance(loader, DataLoader) else {}


def _progress_of(kept: dict[str, Any], path: str) -> Progress:
    try:
        numbers = [int(kept[name]) for name in ("epoch", "batch", "batch_in_epoch")]
        if min(numbers) < 0:
            raise ValueError(f"{min(numbers)} epochs or batches")
        return Progress(numbers[0], numbers[1], numbers[2], kept["epoch_random"])
    except (KeyError, TypeError, ValueError) as error:
        raise FormatError(f"{path}: not a file of a checkpoint: {error!r}") from None


def _rest(estimator: Any, progress: Progress, name: str) -> str:
    """Return how much is left to train; ValueError if nothing is."""
    kind = "epochs" if estimator.max_epoch else "batches"
    done, whole = (
        (progress.epoch, estimator.max_epoch) if estimator.max_epoch else (progress.batch, estimator.max_batch)
    )
    if done >= whole:
        raise ValueError(
            f"The checkpoint {name} has {done} {kind} behind it, and fit() was asked for {whole}: ask for more, or "
            "train from scratch with resume_from_checkpoint=False"
        )
    return f"{whole - done} {kind}"


def _go_on(estimator: Any, progress: Progress, kept: dict[str, Any] | None) -> None:
    """Give handlers, metrics and random streams the states that they had."""
    estimator.progress = progress
    if kept is None:
        for handler in estimator.event_handlers:
            handler.load_state_dict({"current_epoch": progress.epoch, "current_batch": progress.batch})
        return
    if kept["loss_scale"] is not None and estimator.trainer._scaler is not None:
        estimator.trainer._scaler.load_state_dict(kept["loss_scale"])
    if isinstance(estimator.train_loader, DataLoader):
        estimator.train_loader.roll_over(kept.get("loader", {}))
    states = [(name, state) for name, state in kept["handlers"]]
    for handler in estimator.event_handlers:
        mine = next((entry for entry in states if entry[0] == type(handler).__name__), None)
        if mine is not None:
            states.remove(mine)
            handler.load_state_dict(mine[1])
    # Both are taken up when the epoch goes on, since its beginning resets metrics; what is damaged is told now.
    for metric, state in zip(estimator.train_metrics, kept["metrics"], strict=False):
        copy.deepcopy(metric).load_state_dict(state)
    estimator.resumed_metrics = kept["metrics"]
    if progress.batch_in_epoch:
        set_random_state(progress.epoch_random)
    set_random_state(kept["random"])
