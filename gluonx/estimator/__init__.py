"""``gluon.contrib.estimator``: the training loop as an object, and handlers that hook into its events.

An `Estimator` holds a net, a loss, a Trainer and metrics. Its ``fit`` calls, in order of priority, the handlers of six
events: the beginning and the end of the training, of each epoch and of each batch. All that a loop does beyond forward
and backward is a handler: the update of the weights, metrics, validation, logs, checkpoints, the end of the training.

The invariant: a batch is one program (forward, backward, metrics and update), as long as no handler reads a value in
between. A training that goes on from a checkpoint ends with the bits of one that was not interrupted.
"""

from gluonx.estimator.batch import BatchProcessor as BatchProcessor
from gluonx.estimator.checkpoint import CheckpointHandler as CheckpointHandler
from gluonx.estimator.estimator import Estimator as Estimator
from gluonx.estimator.handlers import BatchBegin as BatchBegin
from gluonx.estimator.handlers import BatchEnd as BatchEnd
from gluonx.estimator.handlers import EarlyStoppingHandler as EarlyStoppingHandler
from gluonx.estimator.handlers import EpochBegin as EpochBegin
from gluonx.estimator.handlers import EpochEnd as EpochEnd
from gluonx.estimator.handlers import EventHandler as EventHandler
from gluonx.estimator.handlers import GradientUpdateHandler as GradientUpdateHandler
from gluonx.estimator.handlers import LoggingHandler as LoggingHandler
from gluonx.estimator.handlers import MetricHandler as MetricHandler
from gluonx.estimator.handlers import StoppingHandler as StoppingHandler
from gluonx.estimator.handlers import TrainBegin as TrainBegin
from gluonx.estimator.handlers import TrainEnd as TrainEnd
from gluonx.estimator.handlers import ValidationHandler as ValidationHandler
from gluonx.estimator.recording import CSVHandler as CSVHandler
from gluonx.estimator.recording import RecordingHandler as RecordingHandler
from gluonx.estimator.recording import TensorBoardHandler as TensorBoardHandler
from gluonx.estimator.recording import WandbHandler as WandbHandler
from gluonx.estimator.shown import LiveCurves as LiveCurves
from gluonx.estimator.shown import ProgressHandler as ProgressHandler

__all__ = [
    "BatchBegin",
    "BatchEnd",
    "BatchProcessor",
    "CSVHandler",
    "CheckpointHandler",
    "EarlyStoppingHandler",
    "EpochBegin",
    "EpochEnd",
    "Estimator",
    "EventHandler",
    "GradientUpdateHandler",
    "LiveCurves",
    "LoggingHandler",
    "MetricHandler",
    "ProgressHandler",
    "RecordingHandler",
    "StoppingHandler",
    "TensorBoardHandler",
    "TrainBegin",
    "TrainEnd",
    "ValidationHandler",
    "WandbHandler",
]


def __dir__() -> list[str]:
    return sorted(__all__)
