"""A module that takes the noise of single batches out of the gradients, by gradients over all data."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from types import ModuleType
from typing import TYPE_CHECKING, Any

from gluonx.compat.module.base import DEFAULT_RATE
from gluonx.compat.module.module import Module

if TYPE_CHECKING:
    from gluonx.compat.symbol.symbol import Symbol
    from gluonx.np.handle import ndarray
    from gluonx.optimizer.optimizer import Optimizer


class SVRGModule(Module):
    """A `Module` that is trained with stochastic variance-reduced gradients (Johnson and Zhang, 2013).

    Every `update_freq` epochs the parameters are remembered, with the gradient over all data there. A step takes the
    gradient of its batch, less the one that the remembered parameters have on it, plus the one over all data.

    As in MXNet the gradient over all data begins with the former one where it is made again.

    Parameters
    ----------
    symbol, data_names, label_names, logger, context, work_load_list, fixed_param_names, state_names, group2ctxs
        As for `Module`.
    compression_params
        As for `Module`.
    update_freq : int

    Raises
    ------
    TypeError
        If `update_freq` is no int.
    ValueError
        If it is not positive.
    """

    def __init__(
        self,
        symbol: Symbol,
        data_names: Sequence[str] | str = ("data",),
        label_names: Sequence[str] | str | None = ("softmax_label",),
        logger: ModuleType | logging.Logger = logging,
        context: Any = None,
        work_load_list: object = None,
        fixed_param_names: Sequence[str] | None = None,
        state_names: Sequence[str] | None = None,
        group2ctxs: Any = None,
        compression_params: Any = None,
        update_freq: int | None = None,
    ) -> None:
        given = (context, work_load_list, fixed_param_names, state_names, group2ctxs, compression_params)
        super().__init__(symbol, data_names, label_names, logger, *given)
        if not isinstance(update_freq, int):
            raise TypeError(f"SVRGModule: update_freq must be a number of epochs, got {update_freq!r}")
        if update_freq <= 0:
            raise ValueError(f"SVRGModule: update_freq must be positive, got {update_freq}")
        self.update_freq = update_freq
        self._mod_aux = Module(symbol, data_names, label_names, logger, *given)
        self._param_dict: list[dict[str, Any]] = [{}]

    def bind(self, data_shapes: Any, label_shapes: Any = None, for_training: bool = True, *args: Any, **kwargs: Any):  # type: ignore[override]
        """Bind the module, and for training the one of the remembered parameters; see `Module.bind`."""
        super().bind(data_shapes, label_shapes, for_training, *args, **kwargs)
        if for_training:
            self._mod_aux.bind(data_shapes, label_shapes, for_training, *args, **kwargs)

    def reshape(self, data_shapes: Any, label_shapes: Any = None) -> None:
        """Go over to other shapes."""
        super().reshape(data_shapes, label_shapes)
        self._mod_aux.reshape(data_shapes, label_shapes)

    def init_optimizer(  # type: ignore[override]
        self,
        kvstore: Any = "local",
        optimizer: str | Optimizer = "sgd",
        optimizer_params: Any = DEFAULT_RATE,
        force_init: bool = False,
    ) -> None:
        """Make the optimizer."""
        self._param_dict = [{name: value * 0 for name, value in self.get_params()[0].items()}]
        super().init_optimizer(kvstore, optimizer, optimizer_params, force_init)

    def forward(self, data_batch: Any, is_train: bool | None = None) -> None:  # type: ignore[override]
        """Compute the outputs for a batch; in training those of the remembered parameters too."""
        super().forward(data_batch, is_train)
        if is_train:
            self._mod_aux.forward(data_batch, is_train)

    def backward(self, out_grads: ndarray | Sequence[ndarray] | None = None) -> None:  # type: ignore[override]
        """Compute the gradients, those of the remembered parameters too."""
        super().backward(out_grads)
        if self._mod_aux.binded:
            self._mod_aux.backward(out_grads)

    def update(self) -> None:  # type: ignore[override]
        """Make a step with the gradients less their noise."""
        there = self._mod_aux._executor.grad_dict
        for name, grad in self._executor.grad_dict.items():
            if name in self._param_dict[0]:
                grad[:] = grad - there[name] + self._param_dict[0][name]
        super().update()

    def update_full_grads(self, train_data: Any) -> None:
        """Remember the parameters, and compute the gradient over all data there."""
        other, full = self._mod_aux, self._param_dict[0]
        arg_params, aux_params = self.get_params()
        other.init_params(arg_params=arg_params, aux_params=aux_params, force_init=True)
        train_data.reset()
        count = padding = 0
        for batch in train_data:
            other.forward(batch, is_train=True)
            other.backward()
            count, padding = count + 1, batch.pad or 0
            for name in full:
                grad = other._executor.grad_dict.get(name)
                full[name] = full[name] if grad is None else full[name] + grad
        parts = count - padding / train_data.batch_size
        for name in full:
            full[name] = full[name] / parts

    def _epoch(
        self, epoch: int, data: Iterable[Any], eval_metric: Any, callback: Any, monitor: Any, given: Any
    ) -> None:
        if epoch % self.update_freq == 0:
            self.update_full_grads(data)
        data.reset()  # type: ignore[attr-defined]
        super()._epoch(epoch, data, eval_metric, callback, monitor, given)
