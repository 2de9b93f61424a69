"""Metrics: what a training or validation run is judged by.

A metric gathers over the batches of an epoch: ``update(labels, preds)`` adds a batch, ``get()`` tells the name and the
value so far, ``reset()`` starts again.

The invariant: ``update`` never waits for a value. What has been gathered lives in one small array beside the
predictions, and a batch is one operator on it, which joins the pending program of a training step like any other. Only
``get()`` (and whatever calls it, such as ``str``) reads. The exceptions are `CustomMetric`, whose function may do what
it likes, and `PCC` on class indices, which must see them to know how many classes there are.

Labels and predictions are ndarrays or NumPy arrays, or lists of them, one for each output of the net.

Which names there are is what the modules list in their ``__all__``.
"""

from gluonx.metric import base, counts, gathered
from gluonx.metric.base import *  # noqa: F403
from gluonx.metric.counts import *  # noqa: F403
from gluonx.metric.gathered import *  # noqa: F403

__all__: list[str] = []
__all__ += base.__all__
__all__ += counts.__all__
__all__ += gathered.__all__


def __dir__() -> list[str]:
    return sorted(__all__)
