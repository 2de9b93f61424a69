"""Forward, loss and backward of one batch: the part of the loop that a model with other inputs replaces."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from gluonx import autograd
from gluonx.errors import ArgumentError
from gluonx.utils import split_and_load

if TYPE_CHECKING:
    from gluonx.estimator.estimator import Estimator


class BatchProcessor:
    """Computes predictions and losses of a batch; subclasses say how, for nets with several inputs or losses.

    Both methods return ``(data, label, pred, loss)``, each a list with one entry for each device.

    Examples
    --------
    >>> class Twice(BatchProcessor):
    ...     def fit_batch(self, estimator, train_batch, batch_axis=0):
    ...         data, label = train_batch
    ...         with autograd.record():
    ...             pred = estimator.net(estimator.net(data))
    ...             loss = estimator.loss(pred, label)
    ...         loss.backward()
    ...         return [data], [label], [pred], [loss]
    """

    def _get_data_and_label(self, batch: Any, ctx: Any, batch_axis: int = 0) -> tuple[list[Any], list[Any]]:
        """Split the first two entries of the batch over the devices."""
        if not isinstance(batch, (list, tuple)) or len(batch) < 2:
            keys = f" with the keys {', '.join(map(repr, batch))}" if isinstance(batch, Mapping) else ""
            raise ArgumentError(
                f"A batch must begin with data and labels, as (x, y); got a {type(batch).__name__}{keys}. To take them "
                "from another kind of batch, pass a subclass of BatchProcessor that defines _get_data_and_label(self, "
                "batch, device, axis); it returns two lists, as [batch['x']], [batch['y']]."
            )
        return split_and_load(batch[0], ctx, batch_axis), split_and_load(batch[1], ctx, batch_axis)

    def evaluate_batch(self, estimator: Estimator, val_batch: Any, batch_axis: int = 0) -> tuple[Any, Any, Any, Any]:
        """Compute predictions and losses of a validation batch, with ``estimator.val_net`` and ``val_loss``.

        Parameters
        ----------
        estimator : Estimator
        val_batch : sequence
            Data and labels, as the DataLoader gives them.
        batch_axis : int, default 0
            The axis along which a batch is split over devices.

        Returns
        -------
        tuple of lists
            Data, labels, predictions and losses.
        """
        data, label = self._get_data_and_label(val_batch, estimator.device, batch_axis)
        pred = [estimator.val_net(x) for x in data]
        return data, label, pred, [estimator.val_loss(p, y) for p, y in zip(pred, label, strict=True)]

    def fit_batch(self, estimator: Estimator, train_batch: Any, batch_axis: int = 0) -> tuple[Any, Any, Any, Any]:
        """Compute predictions, losses and gradients of a training batch. The weights are updated by a handler.

        Parameters and returns are those of `evaluate_batch`.
        """
        data, label = self._get_data_and_label(train_batch, estimator.device, batch_axis)
        with autograd.record():
            pred = [estimator.net(x) for x in data]
            loss = [estimator.loss(p, y) for p, y in zip(pred, label, strict=True)]
        autograd.backward(loss)
        return data, label, pred, loss
