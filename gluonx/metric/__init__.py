"""Metrics: what a training or validation run is judged by.

A metric gathers over the batches of an epoch: ``update(labels, preds)`` adds a batch, ``get()`` tells the name and the
value so far, ``reset()`` starts again.

The invariant: ``update`` never waits for a value. What has been gathered lives in one small array beside the
predictions, and a batch is one operator on it, which joins the pending program of a training step like any other. Only
``get()`` (and whatever calls it, such as ``str``) reads. The exceptions are `CustomMetric`, whose function may do what
it likes, and `PCC` on class indices, which must see them to know how many classes there are.

Labels and predictions are ndarrays or NumPy arrays, or lists of them, one for each output of the net.
"""

from gluonx.metric.base import CompositeEvalMetric as CompositeEvalMetric
from gluonx.metric.base import CustomMetric as CustomMetric
from gluonx.metric.base import EvalMetric as EvalMetric
from gluonx.metric.base import alias as alias
from gluonx.metric.base import check_label_shapes as check_label_shapes
from gluonx.metric.base import create as create
from gluonx.metric.base import np as np
from gluonx.metric.base import one_hot as one_hot
from gluonx.metric.base import predict_with_threshold as predict_with_threshold
from gluonx.metric.base import register as register
from gluonx.metric.counts import F1 as F1
from gluonx.metric.counts import MCC as MCC
from gluonx.metric.counts import PCC as PCC
from gluonx.metric.counts import Fbeta as Fbeta
from gluonx.metric.counts import PearsonCorrelation as PearsonCorrelation
from gluonx.metric.gathered import MAE as MAE
from gluonx.metric.gathered import MSE as MSE
from gluonx.metric.gathered import RMSE as RMSE
from gluonx.metric.gathered import Accuracy as Accuracy
from gluonx.metric.gathered import BinaryAccuracy as BinaryAccuracy
from gluonx.metric.gathered import CrossEntropy as CrossEntropy
from gluonx.metric.gathered import Loss as Loss
from gluonx.metric.gathered import MeanCosineSimilarity as MeanCosineSimilarity
from gluonx.metric.gathered import MeanPairwiseDistance as MeanPairwiseDistance
from gluonx.metric.gathered import Perplexity as Perplexity
from gluonx.metric.gathered import TopKAccuracy as TopKAccuracy
from gluonx.metric.gathered import Torch as Torch

__all__ = [
    "Accuracy",
    "BinaryAccuracy",
    "CompositeEvalMetric",
    "CrossEntropy",
    "CustomMetric",
    "EvalMetric",
    "F1",
    "Fbeta",
    "Loss",
    "MAE",
    "MCC",
    "MSE",
    "MeanCosineSimilarity",
    "MeanPairwiseDistance",
    "PCC",
    "PearsonCorrelation",
    "Perplexity",
    "RMSE",
    "TopKAccuracy",
    "Torch",
    "alias",
    "check_label_shapes",
    "create",
    "np",
    "one_hot",
    "predict_with_threshold",
    "register",
]
