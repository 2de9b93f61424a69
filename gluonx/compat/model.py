"""``mx.model``: checkpoints of a symbol and its parameters."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from gluonx.compat import kvstore as kv
from gluonx.compat import nd, symbol
from gluonx.compat.callback import BatchEndParam as BatchEndParam
from gluonx.compat.callback import save_checkpoint as save_checkpoint
from gluonx.errors import FormatError

if TYPE_CHECKING:
    from gluonx.np.handle import ndarray


__all__ = ["BatchEndParam", "load_checkpoint", "load_params", "save_checkpoint"]


def load_params(prefix: str, epoch: int) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the parameters and the moving statistics in ``PREFIX-EPOCH.params``, each by name.

    Raises
    ------
    FormatError
        If the names do not begin with ``arg:`` or ``aux:``, as in a file of ``save_parameters``.
    """
    return by_kind(f"{prefix}-{epoch:04d}.params")


def by_kind(path: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the parameters and the moving statistics in a file; see `load_params`."""
    arrays = nd.load(path)
    found: dict[str, dict[str, Any]] = {"arg": {}, "aux": {}}
    for full, array in arrays.items() if isinstance(arrays, dict) else enumerate(arrays):
        kind, colon, name = str(full).partition(":")
        if not colon or kind not in found:
            raise FormatError(
                f"{path}: the array '{full}' is neither arg: nor aux:; Block.load_parameters reads such files"
            )
        found[kind][name] = array
    return found["arg"], found["aux"]


def load_checkpoint(prefix: str, epoch: int) -> tuple[Any, dict[str, Any], dict[str, Any]]:
    """Return the symbol in ``PREFIX-symbol.json``, and what `load_params` gives.

    Examples
    --------
    >>> import tempfile
    >>> import gluonx as mx
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_checkpoint(f"{folder}/net", 3, mx.sym.var("x") * mx.sym.var("w"), {"w": mx.nd.ones((2,))}, {})
    ...     graph, arg_params, aux_params = load_checkpoint(f"{folder}/net", 3)
    >>> graph.list_arguments(), arg_params["w"].shape, aux_params
    (['x', 'w'], (2,), {})
    """
    graph = symbol.load(f"{prefix}-symbol.json")
    return (graph, *load_params(prefix, epoch))


# What loops over `gluonx.compat.executor_manager.DataParallelExecutorManager` call.


def _create_kvstore(kvstore: Any, num_device: int, arg_params: Mapping[str, ndarray]) -> tuple[Any, bool]:
    """Return a store, or None where one device needs none, and whether it is to update the parameters."""
    if kvstore is None or (isinstance(kvstore, str) and num_device == 1 and "dist" not in kvstore):
        return None, False
    store = kv.create(kvstore) if isinstance(kvstore, str) else kvstore
    local = getattr(store, "type", "") == "local"
    return store, not (local and max([p.size for p in arg_params.values()], default=0) > 16 * 1024 * 1024)


def _initialize_kvstore(
    kvstore: Any, param_arrays: Any, arg_params: Mapping[str, ndarray], param_names: Any, update_on_kvstore: bool
) -> None:
    """Begin a store with the parameters."""
    for name, arrays in zip(param_names, param_arrays, strict=True):
        kvstore.init(name, arg_params[name])
        if update_on_kvstore:
            kvstore.pull(name, arrays)


def _update_params_on_kvstore(param_arrays: Any, grad_arrays: Any, kvstore: Any, param_names: Any) -> None:
    """Push gradients to a store, and pull parameters from it."""
    for name, arrays, gradients in zip(param_names, param_arrays, grad_arrays, strict=True):
        if gradients[0] is not None:
            kvstore.push(name, gradients)
            kvstore.pull(name, arrays)


def _update_params(
    param_arrays: Any, grad_arrays: Any, updater: Any, num_device: int, kvstore: Any = None, param_names: Any = None
) -> None:
    """Update the parameters of each device, by gradients that were summed in a store if there is one."""
    for i, (arrays, gradients) in enumerate(zip(param_arrays, grad_arrays, strict=True)):
        if gradients[0] is None:
            continue
        if kvstore is not None:
            kvstore.push(param_names[i], gradients)
            kvstore.pull(param_names[i], gradients)
        for k, (array, gradient) in enumerate(zip(arrays, gradients, strict=True)):
            updater(i * num_device + k, gradient, array)


def __dir__() -> list[str]:
    return sorted(__all__)
