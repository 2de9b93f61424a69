"""The base class of metrics, their registry, and metrics made of other metrics or of a function."""

from __future__ import annotations

import copy
import json
import math
from collections.abc import Callable, Iterable, Mapping
from typing import Any, ClassVar, TypeVar

import numpy as onp

from gluonx.common.arguments import Checked
from gluonx.errors import ArgumentError, ShapeError
from gluonx.np.handle import ndarray

__all__ = [
    "CompositeEvalMetric",
    "CustomMetric",
    "EvalMetric",
    "alias",
    "check_label_shapes",
    "create",
    "np",
    "one_hot",
    "predict_with_threshold",
    "register",
]

Class = TypeVar("Class", bound="type[EvalMetric]")

_REGISTRY: dict[str, Any] = {}


def as_list(arrays: Any) -> list[Any]:
    """One array, or several, as a list."""
    if isinstance(arrays, (list, tuple)):
        return list(arrays)
    return [arrays]


def check_label_shapes(labels: Any, preds: Any, wrap: bool = False, shape: bool = False) -> tuple[Any, Any]:
    """Check that there are as many labels as predictions, or with ``shape`` that their shapes are equal.

    Parameters
    ----------
    labels, preds : ndarray or list of ndarray
        What to compare.
    wrap : bool
        Whether to put a single array into a list.

    Raises
    ------
    ShapeError
        (a ValueError) If they differ.

    Examples
    --------
    >>> check_label_shapes([1, 2], [0.5, 0.7])
    ([1, 2], [0.5, 0.7])
    >>> check_label_shapes([1, 2], [0.5])
    Traceback (most recent call last):
        ...
    gluonx.errors.ShapeError: The number of the labels, 2, does not match the number of the predictions, 1.
    """
    if wrap:
        labels, preds = as_list(labels), as_list(preds)
    have, want = (labels.shape, preds.shape) if shape else (len(labels), len(preds))
    if have != want:
        what = "shape" if shape else "number"
        raise ShapeError(f"The {what} of the labels, {have}, does not match the {what} of the predictions, {want}.")
    return labels, preds


class EvalMetric(Checked):
    """The base of all metrics: a name, a sum, and the number of things summed.

    A metric of your own adds to ``self.sum_metric`` and ``self.num_inst`` in ``update(labels, preds)``.

    Parameters
    ----------
    name : str
        What ``get()`` calls the value.
    output_names, label_names : list of str, optional
        Which entries ``update_dict`` takes; all of them by default.
    **kwargs
        Kept for ``get_config``. ``has_global_stats=True`` says that `update` adds to ``self.global_sum_metric`` and
        ``self.global_num_inst`` too, which :meth:`reset_local` leaves alone.

    Examples
    --------
    >>> class Largest(EvalMetric):
    ...     def update(self, labels, preds):
    ...         self.sum_metric, self.num_inst = max(self.sum_metric, float(preds.max())), 1
    >>> metric = Largest("largest")
    >>> metric.update(None, onp.array([1.0, 3.0, 2.0]))
    >>> metric.get()
    ('largest', 3.0)
    """

    num_inst: Any
    sum_metric: Any
    _has_global_stats = False
    _never_asked: ClassVar[tuple[str, ...]] = ()  # methods of MXNet's class of that name which this one has no use for

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        ignored = [name for name in cls._never_asked if name in vars(cls)]
        if ignored:
            raise ArgumentError(
                f"{cls.__name__} defines {' and '.join(ignored)}, which {cls.__mro__[1].__name__} would never call, as "
                "it counts in one operator: override update() and get()"
            )

    def __init__(
        self,
        name: str,
        output_names: list[str] | None = None,
        label_names: list[str] | None = None,
        **kwargs: Any,
    ) -> None:
        self.name = str(name)
        self.output_names = output_names
        self.label_names = label_names
        self._has_global_stats = kwargs.pop("has_global_stats", self._has_global_stats)
        self._kwargs = kwargs
        self.reset()

    def __str__(self) -> str:
        return f"EvalMetric: {dict(self.get_name_value())}"

    def get_config(self) -> dict[str, Any]:
        """Return the arguments that make this metric again: ``create(metric.get_config())``."""
        return {
            **self._kwargs,
            "metric": type(self).__name__,
            "name": self.name,
            "output_names": self.output_names,
            "label_names": self.label_names,
        }

    def update_dict(self, label: Mapping[str, Any], pred: Mapping[str, Any]) -> None:
        """Add a batch given by name, taking the entries in ``label_names`` and ``output_names``."""
        labels = [label[name] for name in (label if self.label_names is None else self.label_names)]
        preds = [pred[name] for name in (pred if self.output_names is None else self.output_names)]
        self.update(labels, preds)

    def update(self, labels: Any, preds: Any) -> None:
        """Add a batch."""
        raise NotImplementedError(f"{type(self).__name__} does not define update(labels, preds)")

    def reset(self) -> None:
        """Forget what was gathered."""
        self.num_inst, self.sum_metric = 0, 0.0
        self.global_num_inst, self.global_sum_metric = 0, 0.0

    def reset_local(self) -> None:
        """Forget what :meth:`get` tells; :meth:`get_global` goes on, and tells of all since :meth:`reset`."""
        self.num_inst, self.sum_metric = 0, 0.0

    def state_dict(self) -> dict[str, Any]:
        """Return what was gathered, in types of JSON; this reads."""
        return {"sum_metric": float(self.sum_metric), "num_inst": self.num_inst}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Go on from what `state_dict` gave."""
        self.sum_metric, self.num_inst = state["sum_metric"], state["num_inst"]

    def get(self) -> tuple[Any, Any]:
        """Return the name and the value; NaN while nothing has been gathered."""
        count, total = self.num_inst, self.sum_metric
        if count == 0:
            return self.name, math.nan
        value = total / count
        if isinstance(value, (ndarray, onp.generic, onp.ndarray)) and value.size == 1:
            value = value.item()
        return self.name, value

    def get_global(self) -> tuple[Any, Any]:
        """Return the name and the value since :meth:`reset`; of a metric that keeps none, those of :meth:`get`."""
        if not self._has_global_stats:
            return self.get()
        return self.name, self.global_sum_metric / self.global_num_inst if self.global_num_inst else math.nan

    def get_name_value(self) -> list[tuple[str, Any]]:
        """Return the names and values as a list of pairs."""
        return _pairs(*self.get())

    def get_global_name_value(self) -> list[tuple[str, Any]]:
        """Return those of :meth:`get_global` as a list of pairs."""
        return _pairs(*self.get_global())


def _pairs(name: Any, value: Any) -> list[tuple[str, Any]]:
    names, values = (name if isinstance(name, list) else [name]), (value if isinstance(value, list) else [value])
    return list(zip(names, values))


class _Both:
    """The ``update`` of a metric of which something was forgotten: it updates a copy too, which has all."""

    def __init__(self, metric: EvalMetric, whole: EvalMetric) -> None:
        self.metric, self.whole = metric, whole

    def __call__(self, labels: Any, preds: Any) -> None:
        type(self.metric).update(self.metric, labels, preds)
        self.whole.update(labels, preds)


class Lasting(EvalMetric):
    """Base of the metrics here, whose :meth:`get_global` is right for any formula: a copy of it goes on.

    Examples
    --------
    >>> metric = create("acc")
    >>> metric.update(onp.array([0, 1]), onp.array([0, 0]))
    >>> metric.reset_local()
    >>> metric.update(onp.array([0, 1]), onp.array([0, 1]))
    >>> metric.get(), metric.get_global()
    (('accuracy', 1.0), ('accuracy', 0.75))
    """

    _has_global_stats = True

    @property
    def _whole(self) -> Any:
        both = self.__dict__.get("update")
        return self if both is None else both.whole

    def reset(self) -> None:
        """Forget what was gathered."""
        self.__dict__.pop("update", None)
        self.num_inst, self.sum_metric = 0, 0.0

    def reset_local(self) -> None:
        """Forget what :meth:`get` tells; :meth:`get_global` goes on, and tells of all since :meth:`reset`."""
        whole = copy.copy(self) if self._whole is self else self._whole
        self.reset()
        self.__dict__["update"] = _Both(self, whole)

    def get_global(self) -> tuple[Any, Any]:
        """Return the name and the value since :meth:`reset`."""
        return self.get() if self._whole is self else self._whole.get()

    @property
    def global_num_inst(self) -> Any:
        """``num_inst`` since :meth:`reset`; what is assigned is left aside, since it is counted in any case."""
        return self._whole.num_inst

    @global_num_inst.setter
    def global_num_inst(self, value: Any) -> None:
        del value

    @property
    def global_sum_metric(self) -> Any:
        """``sum_metric`` since :meth:`reset`, likewise."""
        return self._whole.sum_metric

    @global_sum_metric.setter
    def global_sum_metric(self, value: Any) -> None:
        del value


def register(klass: Class, name: str | None = None) -> Class:
    """Make a class known to `create` by its name (or another one); names are not case-sensitive.

    Returns
    -------
    type
        The class itself.

    Examples
    --------
    >>> @register
    ... class MyMetric(EvalMetric):
    ...     pass
    >>> create("mymetric", name="mine").name
    'mine'
    """
    _REGISTRY[(name or klass.__name__).lower()] = klass
    return klass


def alias(*names: str) -> Callable[[Class], Class]:
    """Make a class known to `create` by further names.

    Returns
    -------
    callable
        A decorator, which returns the class itself.

    Examples
    --------
    >>> @alias("half", "one_half")
    ... class Half(EvalMetric):
    ...     pass
    >>> create("one_half", name="mine").name
    'mine'
    """

    def name_it(klass: Class) -> Class:
        for name in names:
            register(klass, name)
        return klass

    return name_it


def create(metric: Any, *args: Any, **kwargs: Any) -> EvalMetric:
    """Make a metric of what names it.

    Parameters
    ----------
    metric : str, callable, list, dict or EvalMetric
        A registered name; a function of label and prediction; a list of such, for a composite; the result of
        ``get_config``, also as JSON; or a metric, which is returned.
    *args, **kwargs
        For the metric's constructor.

    Returns
    -------
    EvalMetric

    Raises
    ------
    ValueError
        If no metric has this name.

    Examples
    --------
    >>> create("acc").name
    'accuracy'
    >>> [m.name for m in create(["mae", "rmse"]).metrics]
    ['mae', 'rmse']
    """
    if isinstance(metric, EvalMetric):
        return metric
    if isinstance(metric, (list, tuple)):
        return CompositeEvalMetric([create(child, *args, **kwargs) for child in metric])
    if isinstance(metric, dict):
        config = {**metric, **kwargs}
        return create(config.pop("metric"), *args, **config)
    if isinstance(metric, type) and issubclass(metric, EvalMetric):
        return metric(*args, **kwargs)
    if callable(metric):
        return _REGISTRY["custommetric"](metric, *args, **kwargs)
    if isinstance(metric, str) and metric[:1] == "{":
        return create(json.loads(metric), *args, **kwargs)
    if isinstance(metric, str) and metric[:1] == "[":
        name, *rest = json.loads(metric)
        return create(name, *args, **(rest[0] if rest else {}), **kwargs)
    try:
        klass = _REGISTRY[str(metric).lower()]
    except KeyError:
        raise ArgumentError(f"There is no metric {metric!r}. Known: {', '.join(sorted(_REGISTRY))}.") from None
    return klass(*args, **kwargs)


@alias("composite")
@register
class CompositeEvalMetric(EvalMetric):
    """Several metrics that are updated together.

    Examples
    --------
    >>> metric = CompositeEvalMetric(["mae", "mse"])
    >>> metric.update(onp.zeros((2, 1)), onp.array([[1.0], [3.0]]))
    >>> metric.get()
    (['mae', 'mse'], [2.0, 5.0])
    """

    def __init__(
        self,
        metrics: Iterable[Any] | None = None,
        name: str = "composite",
        output_names: list[str] | None = None,
        label_names: list[str] | None = None,
    ) -> None:
        self.metrics = [create(metric) for metric in metrics or ()]
        super().__init__(name, output_names=output_names, label_names=label_names)

    def add(self, metric: Any) -> None:
        """Add a metric, or what `create` makes one of."""
        self.metrics.append(create(metric))

    def get_metric(self, index: int) -> EvalMetric:
        """Return the metric at a place. Raises ValueError if there is none."""
        try:
            return self.metrics[index]
        except IndexError:
            raise ValueError(f"Metric index {index} is out of range: there are {len(self.metrics)} metrics.") from None

    def update_dict(self, labels: Mapping[str, Any], preds: Mapping[str, Any]) -> None:
        """Add a batch given by name to each metric, each taking what it names."""
        if self.label_names is not None:
            labels = {name: labels[name] for name in labels if name in self.label_names}
        if self.output_names is not None:
            preds = {name: preds[name] for name in preds if name in self.output_names}
        for metric in self.metrics:
            metric.update_dict(labels, preds)

    def update(self, labels: Any, preds: Any) -> None:
        """Add a batch to each metric."""
        for metric in self.metrics:
            metric.update(labels, preds)

    def reset(self) -> None:
        """Forget what was gathered, in each metric."""
        for metric in self.metrics:
            metric.reset()

    def reset_local(self) -> None:
        """Do :meth:`EvalMetric.reset_local` of each metric."""
        for metric in self.metrics:
            metric.reset_local()

    def state_dict(self) -> dict[str, Any]:
        """Return what was gathered, in types of JSON; this reads."""
        return {"metrics": [metric.state_dict() for metric in self.metrics]}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Go on from what `state_dict` gave."""
        for metric, kept in zip(self.metrics, state["metrics"], strict=True):
            metric.load_state_dict(kept)

    def get(self) -> tuple[list[str], list[Any]]:
        """Return the names and the values of all."""
        pairs = [pair for metric in self.metrics for pair in metric.get_name_value()]
        return [name for name, _ in pairs], [value for _, value in pairs]

    def get_global(self) -> tuple[list[str], list[Any]]:
        """Return the names and the values of all since :meth:`reset`."""
        pairs = [pair for metric in self.metrics for pair in metric.get_global_name_value()]
        return [name for name, _ in pairs], [value for _, value in pairs]

    def get_config(self) -> dict[str, Any]:
        """Return the configuration, with that of each metric."""
        return {**super().get_config(), "metrics": [metric.get_config() for metric in self.metrics]}


@register
class CustomMetric(Lasting):
    """The mean of what a function says about each batch.

    Parameters
    ----------
    feval : callable
        ``feval(label, pred)`` gives a number, or a pair (sum, count).
    name : str, optional
        The function's name by default.
    allow_extra_outputs : bool
        Whether there may be more predictions than labels.

    Examples
    --------
    >>> metric = CustomMetric(lambda label, pred: abs(label - pred).max(), name="worst")
    >>> metric.update(onp.array([1.0, 2.0]), onp.array([1.5, 2.0]))
    >>> metric.get()
    ('worst', 0.5)
    """

    def __init__(
        self,
        feval: Callable[[Any, Any], Any],
        name: str | None = None,
        allow_extra_outputs: bool = False,
        output_names: list[str] | None = None,
        label_names: list[str] | None = None,
    ) -> None:
        if name is None:
            name = feval.__name__
            name = f"custom({name})" if "<" in name else name
        super().__init__(name, output_names=output_names, label_names=label_names)
        self._feval = feval
        self._allow_extra_outputs = allow_extra_outputs

    def update(self, labels: Any, preds: Any) -> None:
        """Add a batch, or several."""
        labels, preds = as_list(labels), as_list(preds)
        if not self._allow_extra_outputs:
            check_label_shapes(labels, preds)
        for label, pred in zip(labels, preds):
            told = self._feval(label, pred)
            total, count = told if isinstance(told, tuple) else (told, 1)
            # Not in place: what the function returned may be somebody's array.
            self.sum_metric = self.sum_metric + total
            self.num_inst = self.num_inst + count

    def get_config(self) -> dict[str, Any]:
        """Raise NotImplementedError: a function cannot be written down."""
        raise NotImplementedError("A CustomMetric holds a function, which cannot be written into a configuration.")


def np(
    numpy_feval: Callable[[Any, Any], Any], name: str | None = None, allow_extra_outputs: bool = False
) -> CustomMetric:
    """Return a `CustomMetric` of a function that is written with NumPy.

    Returns
    -------
    CustomMetric

    Examples
    --------
    >>> def worst(label, pred):
    ...     return onp.abs(label - pred).max()
    >>> np(worst).name
    'worst'
    """

    def feval(label: ndarray, pred: ndarray) -> Any:
        return numpy_feval(label, pred)

    feval.__name__ = numpy_feval.__name__
    return _REGISTRY["custommetric"](feval, name, allow_extra_outputs)


def predict_with_threshold(pred: Any, threshold: Any = 0.5) -> Any:
    """``pred > threshold``, for one threshold or one for each class in the last axis.

    Raises
    ------
    ShapeError
        If the number of thresholds is not that of the classes.

    Examples
    --------
    >>> from gluonx import metric, np
    >>> metric.predict_with_threshold(np.array([0.2, 0.8]), 0.5).tolist()
    [False, True]
    """
    if hasattr(threshold, "shape") and threshold.shape and threshold.shape[-1] != pred.shape[-1]:
        raise ShapeError(f"{threshold.shape} thresholds came for predictions of shape {pred.shape}.")
    return pred > threshold


def one_hot(idx: Any, num: int) -> Any:
    """Return the one-hot rows of class indices, as int32.

    Examples
    --------
    >>> from gluonx import metric, np
    >>> metric.one_hot(np.array([0, 2]), 3).tolist()
    [[1, 0, 0], [0, 0, 1]]
    """
    return (idx.reshape(-1, 1) == onp.arange(num)[None, :]).astype("int32")
