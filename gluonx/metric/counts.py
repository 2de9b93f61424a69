"""Metrics made of counts of decisions (F1, Matthews) and of moments (Pearson).

Their value is no sum over samples. ``sum_metric`` is the value times ``num_inst``, so that their quotient is the value
here too.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import jax.numpy as jnp
import numpy as onp

from gluonx.errors import ShapeError
from gluonx.metric.base import alias, register
from gluonx.metric.gathered import Gathered
from gluonx.ops import metrics as ops

if TYPE_CHECKING:
    import jax

    from gluonx.np.handle import ndarray


__all__ = ["F1", "MCC", "PCC", "Fbeta", "PearsonCorrelation"]

_CLASS_TYPES = ("binary", "multiclass", "multilabel")


class _Scored(Gathered):
    """A metric whose value is no sum."""

    @property
    def sum_metric(self) -> Any:
        """The score times the number of labels or batches, so that their quotient is the score."""
        return self.get()[1] * self._num if self._num else 0.0


class _Counts(_Scored):
    """A metric made of true and false positives and negatives."""

    class_type = "binary"
    threshold: Any = 0.5
    _shape_of = ("num_classes",)

    def reset(self) -> None:
        """Forget what was gathered."""
        super().reset()
        self.num_classes: int | None = None

    def _fresh(self) -> jax.Array:
        return jnp.zeros((2, 4 * (self.num_classes or 1) + 1), jnp.float32)

    def _add(self, *args: ndarray | onp.ndarray) -> None:
        label, pred = args
        classes = 1 if self.class_type == "binary" else pred.shape[-1]
        if self.num_classes is None:
            self.num_classes = classes
        elif self.num_classes != classes:
            raise ShapeError(f"{self.name}: predictions of {self.num_classes} classes came before, now of {classes}.")
        super()._add(label, pred, self.threshold)

    def _count(self, label: ndarray | onp.ndarray, pred: ndarray | onp.ndarray) -> int:
        return label.size // (self.num_classes or 1) if self.class_type == "multilabel" else label.size

    def _table(self) -> onp.ndarray:
        """Count true positives, false positives, false negatives and true negatives, a column each class."""
        if self._state is None:
            return onp.zeros((4, 1))
        totals = self._totals()
        if totals[-1]:
            raise ValueError(
                f"{self.name}: {totals[-1]:.0f} labels were above the last class of a {self.class_type} task."
            )
        return totals[:-1].reshape(4, -1)


@register
class F1(_Counts):
    """The F1 score: the harmonic mean of precision and recall.

    Parameters
    ----------
    class_type : {'binary', 'multiclass', 'multilabel'}
        What the predictions are.
    threshold : float or array of one a class
        From which on a prediction is positive.
    average : {'micro', 'macro', None}
        Over all decisions, over the scores of the classes, or an array with the score of each class.

    Examples
    --------
    >>> metric = F1()
    >>> metric.update(onp.array([0, 1, 1, 1]), onp.array([0.6, 0.7, 0.1, 0.9]))
    >>> metric.get()
    ('f1', 0.6666666666666666)
    """

    beta: float = 1

    def __init__(
        self,
        name: str = "f1",
        output_names: list[str] | None = None,
        label_names: list[str] | None = None,
        class_type: str = "binary",
        threshold: Any = 0.5,
        average: str | None = "micro",
    ) -> None:
        if class_type not in _CLASS_TYPES:
            raise ValueError(f"class_type must be one of {_CLASS_TYPES}, got {class_type!r}.")
        config = {"class_type": class_type, "threshold": threshold, "average": average}
        super().__init__(name, output_names=output_names, label_names=label_names, **config)
        self.class_type, self.threshold, self.average = class_type, threshold, average
        self._op = ops.metric_counts.bind(class_type=class_type)

    def get(self) -> tuple[str, Any]:
        """Return the name and the score."""
        if not self._num:
            return self.name, math.nan
        hit, stray, missed, _ = self._table()
        if self.average == "micro":
            return self.name, float(_fscore(hit.sum(), stray.sum(), missed.sum(), self.beta))
        scores = _fscore(hit, stray, missed, self.beta)
        return self.name, float(scores.mean()) if self.average == "macro" else scores


def _fscore(hit: Any, stray: Any, missed: Any, beta: float) -> Any:
    """Return the weighted harmonic mean of precision and recall; 0 where nothing was found."""
    precision = hit / onp.maximum(hit + stray, 1e-12)
    recall = hit / onp.maximum(hit + missed, 1e-12)
    return (1 + beta**2) * precision * recall / onp.maximum(beta**2 * precision + recall, 1e-12)


@register
class Fbeta(F1):
    """The F-beta score: recall counts ``beta`` times as much as precision.

    Examples
    --------
    >>> from gluonx import metric, np
    >>> m = metric.Fbeta(beta=2)
    >>> m.update(np.array([1.0, 0.0]), np.array([[0.2, 0.8], [0.6, 0.4]]))
    >>> m.get()[0], float(m.get()[1])
    ('fbeta', 1.0)
    """

    def __init__(
        self,
        name: str = "fbeta",
        output_names: list[str] | None = None,
        label_names: list[str] | None = None,
        class_type: str = "binary",
        beta: float = 1,
        threshold: Any = 0.5,
        average: str | None = "micro",
    ) -> None:
        super().__init__(name, output_names, label_names, class_type, threshold, average)
        self.beta = beta
        self._kwargs["beta"] = beta


@register
class MCC(_Counts):
    """Matthews' correlation coefficient of binary decisions.

    Examples
    --------
    >>> from gluonx import metric, np
    >>> m = metric.MCC()
    >>> m.update(np.array([1.0, 0.0]), np.array([[0.2, 0.8], [0.6, 0.4]]))
    >>> m.get()[0], round(float(m.get()[1]), 3)
    ('mcc', 1.0)
    """

    def __init__(
        self,
        name: str = "mcc",
        output_names: Any = None,
        label_names: Any = None,
    ) -> None:
        super().__init__(name, output_names=output_names, label_names=label_names)
        self._op = ops.metric_counts.bind(class_type="binary")

    def get(self) -> tuple[str, float]:
        """Return the name and the coefficient."""
        if not self._num:
            return self.name, math.nan
        hit, stray, missed, right = self._table()[:, 0]
        margins = [m for m in (hit + stray, hit + missed, right + stray, right + missed) if m]
        return self.name, float((hit * right - stray * missed) / math.sqrt(math.prod(margins)))


@alias("pearsonr")
@register
class PearsonCorrelation(_Scored):
    """Pearson's correlation of label and prediction over everything gathered.

    Examples
    --------
    >>> metric = PearsonCorrelation()
    >>> metric.update(onp.array([1.0, 2.0, 3.0]), onp.array([2.0, 4.0, 6.5]))
    >>> metric.get()
    ('pearsonr', 0.9979...)
    """

    _never_asked = ("update_variance", "update_cov")

    def __init__(
        self,
        name: str = "pearsonr",
        output_names: Any = None,
        label_names: Any = None,
    ) -> None:
        super().__init__(name, output_names=output_names, label_names=label_names)
        self._op = ops.metric_pearson.bind()

    def _fresh(self) -> jax.Array:
        return jnp.zeros(6, jnp.float32)

    def _count(self, label: ndarray | onp.ndarray, pred: ndarray | onp.ndarray) -> int:
        return 1

    def get(self) -> tuple[str, float]:
        """Return the name and the correlation; NaN where one of the two does not vary."""
        if not self._num:
            return self.name, math.nan
        _, _, _, own, other, both = onp.asarray(self._state).tolist()
        return self.name, both / math.sqrt(own * other) if own > 0 and other > 0 else math.nan


@register
class PCC(_Scored):
    """Matthews' correlation coefficient for any number of classes, of all the counts gathered.

    Predictions are scores along axis 1, or class indices in the shape of the label; indices have to be read to see how
    many classes there are.

    Examples
    --------
    >>> from gluonx import metric, np
    >>> m = metric.PCC()
    >>> m.update(np.array([[1.0, 2.0]]), np.array([[1.0, 4.0]]))
    >>> m.get()[0], round(float(m.get()[1]), 3)
    ('pcc', 0.5)
    """

    _shape_of = ("k",)
    _never_asked = ("_calc_mcc",)

    def __init__(
        self,
        name: str = "pcc",
        output_names: Any = None,
        label_names: Any = None,
    ) -> None:
        super().__init__(name, output_names=output_names, label_names=label_names)

    def reset(self) -> None:
        """Forget what was gathered."""
        super().reset()
        self.k = 2

    def _fresh(self) -> jax.Array:
        return jnp.zeros((2, self.k * self.k), jnp.float32)

    def _add(self, *args: ndarray) -> None:
        label, pred = args
        scores = pred.shape != label.shape
        self._grow(pred.shape[1] if scores else 1 + int(max(pred.max(), label.max())))
        self._op = ops.metric_confusion.bind(classes=self.k)
        super()._add(label, pred)

    def _grow(self, classes: int) -> None:
        if classes <= self.k:
            return
        if self._state is not None:
            old = onp.asarray(self._state).reshape(2, self.k, self.k)
            grown = onp.pad(old, ((0, 0), (0, classes - self.k), (0, classes - self.k)))
            self._state = jnp.asarray(grown.reshape(2, -1))
        self.k = classes

    def _count(self, label: ndarray, pred: ndarray) -> int:
        return 1

    def get(self) -> tuple[str, float]:
        """Return the name and the coefficient; NaN where there is but one class."""
        if not self._num:
            return self.name, math.nan
        table = self._totals().reshape(self.k, self.k)
        n, rows, columns = table.sum(), table.sum(1), table.sum(0)
        spread = (rows * (n - rows)).sum() * (columns * (n - columns)).sum()
        if spread == 0:
            return self.name, math.nan
        return self.name, float((table.diagonal() * n - rows * columns).sum() / math.sqrt(spread))
