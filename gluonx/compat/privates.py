"""Attributes of blocks that are MXNet's own business, and that programs ask for all the same.

Conversion tools and libraries walk over ``net._collect_params_with_prefix()``; what a hybridized block was called with
is in its ``_in_format`` and ``_out_format``, and its graph in ``_cached_graph``; cells of a user's own call
``self._get_activation``.
"""

from __future__ import annotations

import functools
import inspect
import re
from collections.abc import Callable
from typing import Any

import jax

from gluonx import npx
from gluonx.block.block import Block, HybridBlock
from gluonx.compat import symbol
from gluonx.compat.mode import Mode
from gluonx.rnn import RecurrentCell


def attribute(block: Block, name: str) -> Any:
    """Answer to an attribute that a block has not.

    Raises
    ------
    AttributeError
        If blocks of its kind have none in MXNet either.
    """
    kind, give = _ANSWERS[name]
    if not isinstance(block, kind):
        raise AttributeError(f"'{type(block).__name__}' object has no attribute '{name}'")
    return give(block)


def is_called_as_a_reference(block: Block) -> bool:
    """Return whether ``block()`` means the block: ``block._children`` of MXNet 2 has weak references to blocks.

    It does in a program that runs on `gluonx.compat`, where the block's forward cannot be called without arguments.
    """
    if not Mode.aliased:
        return False
    try:
        inspect.signature(block.forward).bind()
    except TypeError:
        return True
    return False


def _collect(block: Block, prefix: str = "", select: str | None = None) -> dict[str, Any]:
    """Return the parameters by structured name, which `prefix` and a point begin; in both versions of MXNet."""
    begin = f"{prefix}." if prefix else ""
    found = {begin + name: param for name, param in block._structured_params(None, fused=False).items()}
    return found if select is None else {name: p for name, p in found.items() if re.match(select, name)}


def _in_format(block: Any) -> Any:
    """Return how the inputs of the last trace were nested, as `gluonx.compat.alias.own` writes it; None without one."""
    given = block._traced.last_inputs if block._traced is not None else None
    return None if given is None else _format(given)


def _out_format(block: Any) -> Any:
    """Return the same of the outputs."""
    traces = [trace for traces in (block._traced.entries.values() if block._traced else ()) for trace in traces]
    if not traces:
        return None
    tree = traces[-1].out_tree
    return 0 if tree is None else _format(jax.tree.unflatten(tree, [object()] * traces[-1].n_out))


def _graph(block: Any) -> tuple[Any, ...]:
    """Return the inputs of a hybridized block as variables, and the symbol that it gives; before its first call ()."""
    nesting = _in_format(block)
    if nesting is None:
        return ()
    count = len(jax.tree.leaves(block._traced.last_inputs))
    inputs = [symbol.var(f"data{number}" if count > 1 else "data") for number in range(count)]
    given = jax.tree.unflatten(jax.tree.structure(block._traced.last_inputs), inputs)
    found = jax.tree.leaves(block(*given))
    return inputs, found[0] if len(found) == 1 else symbol.Group(found)


def _format(value: Any) -> Any:
    if value is None:
        return -1
    return [_format(item) for item in value] if isinstance(value, (list, tuple)) else 0


def _activation(cell: Block, *args: Any, **options: Any) -> Any:
    """``cell._get_activation(F, x, activation)`` of MXNet 1, or without F; a function's name, or a callable."""
    x, activation = args[-2:]
    if isinstance(activation, str):
        return npx.activation(x, act_type=activation)
    return activation(x, **options)


_ANSWERS: dict[str, tuple[type, Callable[[Any], Any]]] = {
    "_collect_params_with_prefix": (Block, lambda block: functools.partial(_collect, block)),
    "_in_format": (HybridBlock, _in_format),
    "_out_format": (HybridBlock, _out_format),
    "_cached_graph": (HybridBlock, _graph),
    "_get_activation": (RecurrentCell, lambda cell: functools.partial(_activation, cell)),
}
