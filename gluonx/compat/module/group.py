"""``module._exec_group``, below which ported programs reach: the executors of a module's devices."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gluonx.compat.module.module import Module

__all__ = ["ExecutorGroup"]


class ExecutorGroup:
    """The arrays that a module is bound to now, as MXNet's ``DataParallelExecutorGroup`` shows them.

    Several devices run as one program, so there is one executor, and lists by device have one item.

    Parameters
    ----------
    module : Module
        It must be bound.

    Examples
    --------
    >>> import gluonx as mx
    >>> module = mx.mod.Module(mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=2, name="fc"), label_names=None)
    >>> module.bind([("data", (4, 3))])
    >>> module._exec_group.param_names, module._exec_group.batch_size
    (['fc_weight', 'fc_bias'], 4)
    """

    def __init__(self, module: Module) -> None:
        module._needs("_exec_group", module.binded, "bind()")
        self.execs: list[Any] = [module._executor]
        self.symbol, self.contexts = module._symbol, module._context
        self.arg_names, self.aux_names = module._symbol.list_arguments(), module._aux_names
        self.param_names, self.fixed_param_names = module._param_names, module._fixed_param_names
        self.state_names = module._state_names
        self.batch_size = module._batch_size()

    @property
    def param_arrays(self) -> list[list[Any]]:
        """The parameters, each in a list."""
        return [[self.execs[0].arg_dict[name]] for name in self.param_names]

    @property
    def grad_arrays(self) -> list[list[Any]]:
        """The gradients of the parameters, each in a list; None for those that have none."""
        return [[self.execs[0].grad_dict.get(name)] for name in self.param_names]

    @property
    def aux_arrays(self) -> list[list[Any]]:
        """The auxiliary states, each in a list."""
        return [[self.execs[0].aux_dict[name]] for name in self.aux_names]
