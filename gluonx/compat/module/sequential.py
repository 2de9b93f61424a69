"""Modules in a row: what one puts out is what the next one takes in."""

from __future__ import annotations

import copy
import logging
from collections.abc import Mapping, Sequence
from types import ModuleType
from typing import TYPE_CHECKING, Any

from gluonx import initializer as init
from gluonx.compat.module.base import DEFAULT_RATE, BaseModule, batch_of

if TYPE_CHECKING:
    from gluonx.compat.monitor import Monitor
    from gluonx.metric.base import EvalMetric
    from gluonx.np.handle import ndarray
    from gluonx.optimizer.optimizer import Optimizer


class SequentialModule(BaseModule):
    """A chain of modules that is trained as one.

    Parameters
    ----------
    logger : logging.Logger

    Examples
    --------
    >>> import gluonx as mx
    >>> one = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=4, name="one")
    >>> two = mx.sym.SoftmaxOutput(mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=2, name="two"), name="softmax")
    >>> chain = SequentialModule().add(mx.mod.Module(one, label_names=None))
    >>> chain = chain.add(mx.mod.Module(two), take_labels=True, auto_wiring=True)
    >>> chain.bind([("data", (3, 5))], [("softmax_label", (3,))])
    >>> chain.output_shapes
    [('softmax_output', (3, 2))]
    """

    META_TAKE_LABELS = "take_labels"
    META_AUTO_WIRING = "auto_wiring"

    def __init__(self, logger: ModuleType | logging.Logger = logging) -> None:
        super().__init__(logger)
        self._modules: list[BaseModule] = []
        self._metas: list[dict[str, Any]] = []
        self._label_shapes: Any = None

    def add(self, module: BaseModule, **kwargs: Any) -> SequentialModule:
        """Add a module behind the others; return the chain. What was bound before must be bound again.

        Parameters
        ----------
        module : BaseModule
        take_labels : bool
            Whether it is given the labels.
        auto_wiring : bool
            Whether its inputs go by its own names, whatever the outputs before it are called.

        Raises
        ------
        TypeError
            For another keyword.
        """
        wrong = [key for key in kwargs if key not in (self.META_TAKE_LABELS, self.META_AUTO_WIRING)]
        if wrong:
            raise TypeError(f"SequentialModule.add takes take_labels and auto_wiring, got '{wrong[0]}'")
        self._modules.append(module)
        self._metas.append(kwargs)
        self.binded = self.params_initialized = self.optimizer_initialized = False
        return self

    @property
    def symbol(self) -> Any:  # type: ignore[override]
        """None: a chain has no symbol of its own."""
        return None

    @property
    def data_names(self) -> list[str]:
        """The names of the inputs of the first module."""
        return self._modules[0].data_names if self._modules else []  # type: ignore[attr-defined]

    @property
    def output_names(self) -> list[str]:
        """The names of the outputs of the last module."""
        return self._modules[-1].output_names if self._modules else []  # type: ignore[attr-defined]

    @property
    def data_shapes(self) -> Any:  # type: ignore[override]
        """The descriptions of the inputs."""
        self._needs("data_shapes", self.binded, "bind()")
        return self._modules[0].data_shapes

    @property
    def label_shapes(self) -> Any:  # type: ignore[override]
        """The descriptions of the labels; None where no module takes them."""
        self._needs("label_shapes", self.binded, "bind()")
        return self._label_shapes

    @property
    def output_shapes(self) -> Any:
        """Names and shapes of the outputs."""
        self._needs("output_shapes", self.binded, "bind()")
        return self._modules[-1].output_shapes  # type: ignore[attr-defined]

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
        """Bind all modules, each to the shapes of what the one before it puts out; see `Module.bind`.

        Raises
        ------
        ValueError
            If there is no module, or for a `shared_module`.
        """
        if self.binded and not force_rebind:
            self.logger.warning("Already bound, ignoring bind()")
            return
        if not self._modules or shared_module is not None:
            what = "it has no module" if not self._modules else "it takes no shared_module"
            raise ValueError(f"SequentialModule.bind: {what}")
        self.for_training, self.inputs_need_grad = for_training, inputs_need_grad
        shapes = data_shapes
        for i, (module, meta) in enumerate(zip(self._modules, self._metas, strict=True)):
            if meta.get(self.META_AUTO_WIRING):
                names = module.data_names  # type: ignore[attr-defined]
                shapes = [(name, tuple(desc[1])) for name, desc in zip(names, shapes, strict=True)]
            labels = label_shapes if meta.get(self.META_TAKE_LABELS) else None
            needed = inputs_need_grad or (for_training and i > 0)
            module.bind(shapes, labels, for_training, needed, force_rebind, None, grad_req)
            shapes = module.output_shapes  # type: ignore[attr-defined]
        taken = any(meta.get(self.META_TAKE_LABELS) for meta in self._metas)
        self._label_shapes = label_shapes if taken else None
        self.binded = True

    def init_params(  # type: ignore[override]
        self,
        initializer: Any = None,
        arg_params: Mapping[str, ndarray] | None = None,
        aux_params: Mapping[str, ndarray] | None = None,
        allow_missing: bool = False,
        force_init: bool = False,
        allow_extra: bool = False,
    ) -> None:
        """Give the parameters of all modules their first values; see `Module.init_params`.

        Raises
        ------
        ValueError
            If two modules have a parameter of one name.
        """
        if self.params_initialized and not force_init:
            return
        self._needs("init_params", self.binded, "bind()")
        initializer = init.Uniform(0.01) if initializer is None else initializer
        seen: dict[str, int] = {}
        for i, module in enumerate(self._modules):
            module.init_params(initializer, arg_params, aux_params, allow_missing, force_init, allow_extra)
            for names in module.get_params():
                for name in names:
                    if seen.setdefault(name, i) != i:
                        raise ValueError(f"SequentialModule: modules {seen[name]} and {i} both have a '{name}'")
        self.params_initialized = True

    def get_params(self) -> tuple[dict[str, Any], dict[str, Any]]:  # type: ignore[override]
        """Return the parameters and the auxiliary states of all modules."""
        self._needs("get_params", self.binded and self.params_initialized, "bind() and init_params()")
        found: tuple[dict[str, Any], dict[str, Any]] = {}, {}
        for module in self._modules:
            for whole, part in zip(found, module.get_params(), strict=True):
                whole.update(part)
        return found

    def init_optimizer(  # type: ignore[override]
        self,
        kvstore: Any = "local",
        optimizer: str | Optimizer = "sgd",
        optimizer_params: Any = DEFAULT_RATE,
        force_init: bool = False,
    ) -> None:
        """Give each module its optimizer; see `Module.init_optimizer`."""
        self._needs("init_optimizer", self.binded and self.params_initialized, "bind() and init_params()")
        if self.optimizer_initialized and not force_init:
            self.logger.warning("optimizer already initialized, ignoring.")
            return
        for module in self._modules:
            module.init_optimizer(kvstore, optimizer, optimizer_params, force_init)
        self.optimizer_initialized = True

    def forward(self, data_batch: Any, is_train: bool | None = None) -> None:  # type: ignore[override]
        """Compute the outputs for a batch."""
        self._needs("forward", self.binded and self.params_initialized, "bind() and init_params()")
        batch = copy.copy(batch_of(data_batch))
        for module in self._modules:
            module.forward(batch, is_train=is_train)
            if module is self._modules[-1]:
                return
            batch.data = module.get_outputs()
            if getattr(batch, "provide_data", None) is not None:
                names = [desc[0] for desc in module.output_shapes]  # type: ignore[attr-defined]
                batch.provide_data = [(n, x.shape) for n, x in zip(names, batch.data, strict=True)]

    def backward(self, out_grads: ndarray | Sequence[ndarray] | None = None) -> None:  # type: ignore[override]
        """Compute the gradients, from the last module to the first."""
        self._needs("backward", self.binded and self.params_initialized, "bind() and init_params()")
        for module in reversed(self._modules):
            module.backward(out_grads=out_grads)
            if module is not self._modules[0]:
                out_grads = module.get_input_grads()  # type: ignore[attr-defined]

    def update(self) -> None:  # type: ignore[override]
        """Let each optimizer make a step."""
        self._needs("update", self.optimizer_initialized, "init_optimizer()")
        for module in self._modules:
            module.update()

    def get_outputs(self, merge_multi_context: bool = True) -> list[Any]:  # type: ignore[override]
        """Return the outputs of the last module."""
        return self._modules[-1].get_outputs(merge_multi_context)

    def get_input_grads(self, merge_multi_context: bool = True) -> list[Any]:
        """Return the gradients of the inputs of the first module."""
        self._needs("get_input_grads", self.binded and self.inputs_need_grad, "bind(inputs_need_grad=True)")
        return self._modules[0].get_input_grads(merge_multi_context)  # type: ignore[attr-defined]

    def update_metric(self, eval_metric: EvalMetric, labels: Sequence[ndarray], pre_sliced: bool = False) -> None:  # type: ignore[override]
        """Update a metric by the outputs of the modules that take labels."""
        for module, meta in zip(self._modules, self._metas, strict=True):
            if meta.get(self.META_TAKE_LABELS):
                module.update_metric(eval_metric, labels, pre_sliced)

    def install_monitor(self, mon: Monitor) -> None:
        """Have a monitor look at all modules."""
        for module in self._modules:
            module.install_monitor(mon)
