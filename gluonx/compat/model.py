"""``mx.model``: checkpoints of a symbol and its parameters."""

from __future__ import annotations

from typing import Any

from gluonx.compat import nd, symbol
from gluonx.compat.callback import BatchEndParam as BatchEndParam
from gluonx.compat.callback import save_checkpoint as save_checkpoint
from gluonx.errors import FormatError

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
