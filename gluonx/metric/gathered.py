"""Metrics whose totals live on the device and grow by one operator a batch.

The base is `Gathered`; most of its subclasses do no more than to name their operator.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import jax.numpy as jnp
import numpy as onp

from gluonx import autograd
from gluonx.deferred import invoke
from gluonx.device import Replicas
from gluonx.errors import ArgumentError
from gluonx.metric.base import Lasting, alias, as_list, check_label_shapes, register
from gluonx.np.handle import ndarray
from gluonx.ops import metrics as ops
from gluonx.ops.registry import BoundOp

if TYPE_CHECKING:
    import jax


__all__ = [
    "Accuracy",
    "BinaryAccuracy",
    "CrossEntropy",
    "Loss",
    "MAE",
    "MSE",
    "MeanCosineSimilarity",
    "MeanPairwiseDistance",
    "Perplexity",
    "RMSE",
    "TopKAccuracy",
    "Torch",
]


class Gathered(Lasting):
    """A metric whose totals live on the device, in an array that one operator a batch renews.

    The totals are ``_width`` numbers and what compensated summation keeps beside each (see `gluonx.ops.metrics`). A
    subclass has the operator in ``_op`` and says in ``_count`` how many things a batch adds to ``num_inst``.
    """

    _op: BoundOp
    _width = 1
    _shape_of: ClassVar[tuple[str, ...]] = ()  # attributes that the shape of the totals depends on

    def reset(self) -> None:
        """Forget what was gathered."""
        self.__dict__.pop("update", None)
        self._state: Any = None
        self._num = 0

    def __setattr__(self, name: str, value: object) -> None:
        """Bind the operator anew where the attribute of one of its settings is written: ``metric.top_k = 5``."""
        super().__setattr__(name, value)
        if name[0] != "_" and name in getattr(self.__dict__.get("_op"), "attrs", ()):
            settings = {**self._op.attrs, name: value}
            self._op = self._op.op.bind(**{key: setting for key, setting in settings.items() if setting is not None})

    def _fresh(self) -> jax.Array:
        return jnp.zeros((2, self._width), jnp.float32)

    def _add(self, *args: Any) -> None:
        """Renew the state by one operator, which no tape sees."""
        state = self._fresh() if self._state is None else self._state
        if Replicas.on and isinstance(state, ndarray):  # batches of a loop over devices: the totals go along
            places = [a.device for a in args if isinstance(a, ndarray)]
            state = state.to_device(places[0]) if places and places[0] != state.device else state
        if autograd.is_recording():
            with autograd.pause(train_mode=autograd.is_training()):
                self._state = invoke(self._op, (state, *args))
        else:
            self._state = invoke(self._op, (state, *args))

    def _pairs(self, labels: Any, preds: Any) -> list[tuple[Any, Any]]:
        labels, preds = check_label_shapes(labels, preds, wrap=True)
        return [_together(label, pred) for label, pred in zip(labels, preds)]

    def _count(self, label: ndarray | onp.ndarray, pred: ndarray | onp.ndarray) -> int:
        return label.size

    def update(self, labels: Any, preds: Any) -> None:
        """Add a batch, or several.

        Parameters
        ----------
        labels, preds : ndarray or list of ndarray
            As many labels as predictions.

        Raises
        ------
        ShapeError
            If the shapes do not fit each other.
        """
        for label, pred in self._pairs(labels, preds):
            self._add(label, pred)
            self._num += self._count(label, pred)

    def _totals(self) -> onp.ndarray:
        """Return the totals in double precision. This reads, and so flushes what is pending."""
        if self._state is None:
            return onp.zeros(self._width)
        return onp.asarray(self._state).astype(onp.float64).sum(0)

    def state_dict(self) -> dict[str, Any]:
        """Return what was gathered, in types of JSON; this reads."""
        state = None if self._state is None else onp.asarray(self._state).tolist()
        return {"state": state, "num": self._num, **{name: getattr(self, name) for name in self._shape_of}}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Go on, to the bit, from what `state_dict` gave."""
        kept = state["state"]
        self._state = None if kept is None else jnp.asarray(onp.asarray(kept, onp.float32))
        self._num = state["num"]
        for name in self._shape_of:
            setattr(self, name, state[name])

    @property
    def sum_metric(self) -> float:
        """The sum so far; reading it waits for the device."""
        return float(self._totals()[0])

    @sum_metric.setter
    def sum_metric(self, value: float) -> None:
        state = onp.zeros((2, self._width), onp.float32)
        state[0] = self._totals()
        state[:, 0] = value, 0
        self._state = jnp.asarray(state)

    @property
    def num_inst(self) -> int:
        """The number of things summed so far."""
        return self._num

    @num_inst.setter
    def num_inst(self, value: int) -> None:
        self._num = value


class _Ignoring(Gathered):
    """A metric of places, some of which a label may tell to leave out; how many it counted is then a total too."""

    def _leave_out(self, ignore_label: int | None) -> dict[str, int]:
        """Set `ignore_label`, before the totals are made; what the operator is bound with."""
        self.ignore_label = ignore_label
        if ignore_label is None:
            return {}
        self._width = 2
        return {"ignore_label": ignore_label}

    @property
    def num_inst(self) -> int:
        """The number of places counted; where some are left out, reading it waits for the device."""
        return self._num if self._width == 1 else round(self._totals()[1])

    @num_inst.setter
    def num_inst(self, value: int) -> None:
        self._num = value
        if self._width > 1:
            state = onp.zeros((2, self._width), onp.float32)
            state[0] = self._totals()[0], value
            self._state = jnp.asarray(state)


def _together(label: ndarray | onp.ndarray, pred: ndarray | onp.ndarray) -> tuple[Any, Any]:
    """Label and prediction as arrays on one device: the prediction's, which is the larger."""
    label = label if hasattr(label, "shape") else onp.asarray(label)
    pred = pred if hasattr(pred, "shape") else onp.asarray(pred)
    if isinstance(label, ndarray) and isinstance(pred, ndarray):
        # The placement of abstract values is one comparison; asking for a device takes a microsecond.
        near = label.aval and pred.aval and label.aval.sharding is pred.aval.sharding
        if not near and label.device != pred.device:
            label = label.to_device(pred.device)
    return label, pred


@alias("acc")
@register
class Accuracy(_Ignoring):
    """The share of places where the class predicted is the label.

    Parameters
    ----------
    axis : int
        The axis of the classes in a prediction. A prediction in the shape of the label already holds classes.
    ignore_label : int, optional
        Places with this label, such as padding, are left out.

    Examples
    --------
    >>> metric = Accuracy()
    >>> metric.update(onp.array([0, 1, 1]), onp.array([[0.9, 0.1], [0.2, 0.8], [0.7, 0.3]]))
    >>> metric.get()
    ('accuracy', 0.6666666666666666)
    """

    def __init__(
        self,
        axis: int = 1,
        name: str = "accuracy",
        output_names: list[str] | None = None,
        label_names: list[str] | None = None,
        *,
        ignore_label: int | None = None,
    ) -> None:
        left_out = self._leave_out(ignore_label)
        super().__init__(name, output_names=output_names, label_names=label_names, axis=axis, **left_out)
        self.axis = axis
        self._op = ops.metric_accuracy.bind(axis=axis, **left_out)


@alias("top_k_accuracy", "top_k_acc")
@register
class TopKAccuracy(_Ignoring):
    """The share of samples whose label is among the ``top_k`` likeliest classes.

    Parameters
    ----------
    top_k : int
    ignore_label : int, optional
        Samples with this label are left out.

    Raises
    ------
    ValueError
        If ``top_k`` is not above 1.

    Examples
    --------
    >>> from gluonx import metric, np
    >>> m = metric.TopKAccuracy(top_k=2)
    >>> m.update(np.array([1.0, 0.0]), np.array([[0.2, 0.8], [0.6, 0.4]]))
    >>> m.get()[0], round(float(m.get()[1]), 3)
    ('top_k_accuracy_2', 1.0)
    """

    def __init__(
        self,
        top_k: int = 1,
        name: str = "top_k_accuracy",
        output_names: list[str] | None = None,
        label_names: list[str] | None = None,
        *,
        ignore_label: int | None = None,
    ) -> None:
        if top_k <= 1:
            raise ArgumentError(f"top_k must be above 1, got {top_k}; use Accuracy for 1.")
        config = {"top_k": top_k, **self._leave_out(ignore_label)}
        super().__init__(f"{name}_{top_k}", output_names=output_names, label_names=label_names, **config)
        self.top_k = top_k
        self._op = ops.metric_top_k.bind(**config)

    def get_config(self) -> dict[str, Any]:
        """Return the configuration; the name is without the number that the constructor adds."""
        return {**super().get_config(), "name": self.name.removesuffix(f"_{self.top_k}")}


@register
class BinaryAccuracy(Gathered):
    """The share of places where ``pred > threshold`` is the label.

    Examples
    --------
    >>> from gluonx import metric, np
    >>> m = metric.BinaryAccuracy()
    >>> m.update(np.array([1.0, 0.0]), np.array([0.7, 0.6]))
    >>> m.get()
    ('binary_accuracy', 0.5)
    """

    def __init__(
        self,
        name: str = "binary_accuracy",
        output_names: list[str] | None = None,
        label_names: list[str] | None = None,
        threshold: Any = 0.5,
    ) -> None:
        super().__init__(name, output_names=output_names, label_names=label_names, threshold=threshold)
        self.threshold = threshold
        self._op = ops.metric_binary_accuracy.bind()

    def _add(self, *args: onp.ndarray) -> None:
        super()._add(*args, self.threshold)


class _Samples(Gathered):
    """A metric that is a mean over samples, by an operator that differs."""

    def _count(self, label: ndarray | onp.ndarray, pred: ndarray | onp.ndarray) -> int:
        return label.shape[0]


@register
class MAE(_Samples):
    """The mean absolute error.

    Examples
    --------
    >>> metric = MAE()
    >>> metric.update(onp.array([3.0, -0.5]), onp.array([2.5, 0.0]))
    >>> metric.get()
    ('mae', 0.5)
    """

    def __init__(
        self,
        name: str = "mae",
        output_names: Any = None,
        label_names: Any = None,
    ) -> None:
        super().__init__(name, output_names, label_names)
        self._op = ops.metric_error.bind(power=1)


@register
class MSE(_Samples):
    """The mean squared error.

    Examples
    --------
    >>> from gluonx import metric, np
    >>> m = metric.MSE()
    >>> m.update(np.array([[1.0, 2.0]]), np.array([[1.0, 4.0]]))
    >>> m.get()[0], round(float(m.get()[1]), 3)
    ('mse', 2.0)
    """

    def __init__(
        self,
        name: str = "mse",
        output_names: Any = None,
        label_names: Any = None,
    ) -> None:
        super().__init__(name, output_names, label_names)
        self._op = ops.metric_error.bind(power=2)


@register
class RMSE(MSE):
    """The root of the mean squared error.

    Examples
    --------
    >>> from gluonx import metric, np
    >>> m = metric.RMSE()
    >>> m.update(np.array([[1.0, 2.0]]), np.array([[1.0, 4.0]]))
    >>> m.get()[0], round(float(m.get()[1]), 3)
    ('rmse', 1.414)
    """

    def __init__(
        self,
        name: str = "rmse",
        output_names: str | Sequence[str] | None = None,
        label_names: str | Sequence[str] | None = None,
    ) -> None:
        super().__init__(name, output_names, label_names)

    def get(self) -> tuple[str, float]:
        """Return the name and the value."""
        name, value = super().get()
        return name, math.sqrt(value)


@register
class MeanPairwiseDistance(_Samples):
    """The mean distance of label and prediction in the p-norm.

    Examples
    --------
    >>> from gluonx import metric, np
    >>> m = metric.MeanPairwiseDistance()
    >>> m.update(np.array([[1.0, 2.0]]), np.array([[1.0, 4.0]]))
    >>> m.get()[0], round(float(m.get()[1]), 3)
    ('mpd', 2.0)
    """

    def __init__(
        self,
        name: str = "mpd",
        output_names: Any = None,
        label_names: Any = None,
        p: float = 2,
    ) -> None:
        super().__init__(name, output_names, label_names, p=p)
        self.p = p
        self._op = ops.metric_distance.bind(p=p)


@register
class MeanCosineSimilarity(Gathered):
    """The mean cosine between label and prediction along the last axis.

    Examples
    --------
    >>> from gluonx import metric, np
    >>> m = metric.MeanCosineSimilarity()
    >>> m.update(np.array([[1.0, 2.0]]), np.array([[1.0, 4.0]]))
    >>> m.get()[0], round(float(m.get()[1]), 3)
    ('cos_sim', 0.976)
    """

    def __init__(
        self,
        name: str = "cos_sim",
        output_names: Any = None,
        label_names: Any = None,
        eps: float = 1e-8,
    ) -> None:
        super().__init__(name, output_names=output_names, label_names=label_names, eps=eps)
        self.eps = eps
        self._op = ops.metric_cosine.bind(eps=eps)

    def _count(self, label: ndarray, pred: ndarray) -> int:
        return math.prod(label.shape[:-1])


@alias("ce", "cross-entropy")
@register
class CrossEntropy(Gathered):
    """The mean negative log-likelihood of class labels.

    Parameters
    ----------
    eps : float
        A probability below it counts as this much.
    ignore_label : int, optional
        Places with this label are left out.
    axis : int
        The axis of the classes.
    from_logits : bool
        Whether the softmax of the prediction is still to be taken.

    Examples
    --------
    >>> from gluonx import metric, np
    >>> m = metric.CrossEntropy()
    >>> m.update(np.array([1.0, 0.0]), np.array([[0.2, 0.8], [0.6, 0.4]]))
    >>> m.get()[0], round(float(m.get()[1]), 3)
    ('cross-entropy', 0.367)
    """

    _width = 2

    def __init__(
        self,
        eps: float = 1e-12,
        ignore_label: int | None = None,
        axis: int = -1,
        from_logits: bool = False,
        name: str = "cross-entropy",
        output_names: list[str] | None = None,
        label_names: list[str] | None = None,
    ) -> None:
        config = {"eps": eps, "ignore_label": ignore_label, "axis": axis, "from_logits": from_logits}
        super().__init__(name, output_names=output_names, label_names=label_names, **config)
        self.ignore_label, self.axis, self.from_logits, self.eps = ignore_label, axis, from_logits, eps
        self._op = ops.metric_cross_entropy.bind(**config)

    @property
    def num_inst(self) -> int:
        """The number of labels counted; reading it waits for the device."""
        return round(self._totals()[1])


@register
class Perplexity(CrossEntropy):
    """The exponential of the mean negative log-likelihood.

    Examples
    --------
    >>> from gluonx import metric, np
    >>> m = metric.Perplexity()
    >>> m.update(np.array([1.0, 0.0]), np.array([[0.2, 0.8], [0.6, 0.4]]))
    >>> m.get()[0], round(float(m.get()[1]), 3)
    ('perplexity', 1.443)
    """

    def __init__(
        self,
        eps: float = 1e-12,
        ignore_label: int | None = None,
        axis: int = -1,
        from_logits: bool = False,
        name: str = "perplexity",
        output_names: list[str] | None = None,
        label_names: list[str] | None = None,
    ) -> None:
        super().__init__(eps, ignore_label, axis, from_logits, name, output_names, label_names)

    def get(self) -> tuple[str, float]:
        """Return the name and the value; infinite where the exponential is beyond a double."""
        name, value = super().get()
        return name, math.exp(value) if not value > 709 else math.inf


@register
class Loss(Gathered):
    """The mean of all elements of the outputs; labels are not looked at.

    Examples
    --------
    >>> metric = Loss()
    >>> metric.update(None, onp.array([1.0, 2.0, 6.0]))
    >>> metric.get()
    ('loss', 3.0)
    """

    def __init__(
        self,
        name: str = "loss",
        output_names: Any = None,
        label_names: Any = None,
    ) -> None:
        super().__init__(name, output_names=output_names, label_names=label_names)
        self._op = ops.metric_sum.bind()

    def update(self, labels: Any, preds: Any) -> None:
        """Add the elements of one output, or of several."""
        for pred in as_list(preds):
            pred = pred if hasattr(pred, "shape") else onp.asarray(pred, onp.float32)
            self._add(pred)
            self._num += pred.size


@register
class Torch(Loss):
    """`Loss` by its older name.

    Examples
    --------
    >>> metric = Torch()
    >>> metric.update(None, onp.array([1.0, 2.0, 6.0]))
    >>> metric.get()
    ('torch', 3.0)
    """

    def __init__(
        self,
        name: str = "torch",
        output_names: str | Sequence[str] | None = None,
        label_names: str | Sequence[str] | None = None,
    ) -> None:
        super().__init__(name, output_names, label_names)
