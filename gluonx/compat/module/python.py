"""Modules that users write in Python, without a symbol."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from types import ModuleType
from typing import TYPE_CHECKING, Any

from gluonx.compat.module.base import DEFAULT_RATE, BaseModule, batch_of, names_of, shown
from gluonx.compat.nd import NDArray, array

if TYPE_CHECKING:
    from gluonx.metric.base import EvalMetric
    from gluonx.np.handle import ndarray
    from gluonx.optimizer.optimizer import Optimizer


class PythonModule(BaseModule):
    """A module without parameters; a subclass defines what it computes.

    Parameters
    ----------
    data_names, label_names, output_names : list of str
    logger : logging.Logger
    """

    def __init__(
        self,
        data_names: Sequence[str],
        label_names: Sequence[str] | None,
        output_names: Sequence[str],
        logger: ModuleType | logging.Logger = logging,
    ) -> None:
        super().__init__(logger)
        self._data_names, self._output_names = names_of(data_names), names_of(output_names)
        self._label_names = None if label_names is None else names_of(label_names)
        self._data_shapes = self._label_shapes = self._output_shapes = None

    symbol = None
    data_names = shown("_data_names", "The names of the inputs.")
    output_names = shown("_output_names", "The names of the outputs.")
    data_shapes = shown("_data_shapes", "The descriptions of the inputs.")
    label_shapes = shown("_label_shapes", "The descriptions of the labels.")
    output_shapes = shown("_output_shapes", "Names and shapes of the outputs.")

    def bind(  # type: ignore[override]
        self,
        data_shapes: Any,
        label_shapes: Any = None,
        for_training: bool = True,
        inputs_need_grad: bool = False,
        force_rebind: bool = False,
        shared_module: Any = None,
        grad_req: str | Sequence[str] | Mapping[str, str] = "write",
    ) -> None:
        """Take the shapes.

        Raises
        ------
        ValueError
            If their names are not those of the inputs and labels, or for another `grad_req` than ``'write'``.
        """
        if self.binded and not force_rebind:
            self.logger.warning("Already bound, ignoring bind()")
            return
        if grad_req != "write":
            raise ValueError(f"{type(self).__name__}.bind: grad_req must be 'write', got {grad_req!r}")
        for given, names in ((data_shapes, self._data_names), (label_shapes, self._label_names)):
            if given is not None and [desc[0] for desc in given] != (names or []):
                raise ValueError(f"{type(self).__name__}.bind: shapes for {names} were expected, got {given}")
        self.for_training, self.inputs_need_grad, self.binded = for_training, inputs_need_grad, True
        self._data_shapes, self._label_shapes = data_shapes, label_shapes
        self._output_shapes = self._compute_output_shapes()

    def _compute_output_shapes(self) -> Any:
        """Return names and shapes of the outputs; a subclass defines it."""
        raise NotImplementedError(f"{type(self).__name__} must define _compute_output_shapes()")

    def get_params(self) -> tuple[dict[str, Any], dict[str, Any]]:  # type: ignore[override]
        """Return nothing: there are no parameters."""
        return {}, {}

    def init_params(self, *args: object, **kwargs: object) -> None:  # type: ignore[override]
        """Do nothing: there are no parameters."""
        self.params_initialized = True

    def init_optimizer(  # type: ignore[override]
        self,
        kvstore: Any = "local",
        optimizer: str | Optimizer = "sgd",
        optimizer_params: Any = DEFAULT_RATE,
        force_init: Any = 0,
    ) -> None:
        """Do nothing: there are no parameters."""
        self.optimizer_initialized = True

    def update(self) -> None:  # type: ignore[override]
        """Do nothing: there are no parameters."""

    def update_metric(self, eval_metric: EvalMetric, labels: Sequence[ndarray], pre_sliced: bool = False) -> None:  # type: ignore[override]
        """Update a metric by the outputs, if the module has labels."""
        if self._label_shapes is not None:
            eval_metric.update(labels, self.get_outputs())


class PythonLossModule(PythonModule):
    """A loss of the user's at the end of a `SequentialModule`: its outputs are the scores that came in.

    Parameters
    ----------
    name : str
        Begins the name of the output.
    data_names, label_names : list of str
        One name each.
    logger : logging.Logger
    grad_func : callable, optional
        ``grad_func(scores, labels)`` gives the gradient of the scores, an NDArray or a NumPy array. Without it a
        subclass defines ``_backward_impl()``, which puts it into ``_scores_grad``.

    Raises
    ------
    ValueError
        If there is not one input and one label.

    Examples
    --------
    >>> from gluonx import nd
    >>> from gluonx.compat.io import DataBatch
    >>> loss = PythonLossModule(grad_func=lambda scores, labels: scores - labels)
    >>> loss.bind([("data", (2,))], [("softmax_label", (2,))])
    >>> loss.forward(DataBatch([nd.array([3, 5])], [nd.array([1, 1])]))
    >>> loss.backward()
    >>> loss.get_input_grads()[0].asnumpy().tolist()
    [2.0, 4.0]
    """

    def __init__(
        self,
        name: str = "pyloss",
        data_names: Sequence[str] = ("data",),
        label_names: Sequence[str] = ("softmax_label",),
        logger: ModuleType | logging.Logger = logging,
        grad_func: Callable[[Any, Any], Any] | None = None,
    ) -> None:
        super().__init__(data_names, label_names, [f"{name}_output"], logger)
        if len(self._data_names) != 1 or len(self._label_names or ()) != 1:
            raise ValueError(f"{type(self).__name__}: one input and one label were expected")
        self._name, self._grad_func = name, grad_func
        self._scores: Any = None
        self._labels: Any = None
        self._scores_grad: Any = None

    def _compute_output_shapes(self) -> Any:
        return [(f"{self._name}_output", tuple(self._data_shapes[0][1]))]  # type: ignore[index]

    def forward(self, data_batch: Any, is_train: bool | None = None) -> None:  # type: ignore[override]
        """Keep the scores, and in training the labels."""
        batch = batch_of(data_batch)
        self._scores = batch.data[0]
        if self.for_training if is_train is None else is_train:
            self._labels = batch.label[0]

    def get_outputs(self, merge_multi_context: bool = True) -> list[Any]:  # type: ignore[override]
        """Return the scores."""
        return [self._scores]

    def backward(self, out_grads: ndarray | Sequence[ndarray] | None = None) -> None:  # type: ignore[override]
        """Compute the gradient of the scores.

        Raises
        ------
        ValueError
            If gradients are given: a loss has none above it.
        """
        if out_grads is not None:
            raise ValueError(f"{type(self).__name__}.backward: a loss takes no out_grads")
        self._needs("backward", self.for_training, "bind(for_training=True)")
        self._backward_impl()

    def _backward_impl(self) -> None:
        if self._grad_func is None:
            raise NotImplementedError(f"{type(self).__name__} needs a grad_func, or a _backward_impl()")
        grad = self._grad_func(self._scores, self._labels)
        self._scores_grad = grad if isinstance(grad, NDArray) else array(grad)

    def get_input_grads(self, merge_multi_context: bool = True) -> list[Any]:
        """Return the gradient of the scores."""
        return [self._scores_grad]
