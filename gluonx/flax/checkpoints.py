"""Checkpoints that Gluon and Flax both read, written by Orbax.

A net's checkpoint is a tree of arrays under its structured names, ``features.0.weight`` as ``features``, ``0``,
``weight``: what ``nnx.to_pure_dict(nnx.state(to_nnx(net)))`` has, too. What Flax writes is read in three forms: that
one, an ``nnx.State`` (each array under ``value``), and the variables of Linen (by collections).
"""

from __future__ import annotations

from collections.abc import Mapping
from os import PathLike, fspath
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from flax import nnx

from gluonx.block.abstract import ready_params
from gluonx.block.block import Block
from gluonx.errors import FormatError
from gluonx.flax.names import flat, nested

_COLLECTIONS = {"params", "batch_stats", "frozen"}


def state_of(net: Block) -> dict[str, Any]:
    """Return the arrays of a net as a tree of dicts, not copied; ``orbax`` and ``jax.tree`` take it as it is.

    Raises
    ------
    UninitializedError, DeferredInitializationError
        If a parameter has no value.

    Examples
    --------
    >>> from gluonx import nn
    >>> net = nn.HybridSequential()
    >>> net.add(nn.Dense(2, in_units=3, use_bias=False))
    >>> net.initialize()
    >>> state_of(net)["0"]["weight"].shape
    (2, 3)
    """
    return nested({name: param.data()._read() for name, param in ready_params(net).items()})


def load_state(target: Block | nnx.Module, tree: Any) -> None:
    """Set all parameters of a net, or all variables of a module, from a tree of either side.

    Parameters
    ----------
    target : Block or nnx.Module
        A net takes copies, in the dtypes that it has. Streams of random numbers of a module stay as they are.
    tree : dict or nnx.State
        As :func:`state_of` gives it, ``nnx.state`` or ``nnx.to_pure_dict``, or variables of Linen.

    Raises
    ------
    FormatError
        If something is missing, unexpected or of another shape. Nothing has changed then.

    Examples
    --------
    >>> from gluonx import nn
    >>> net, other = nn.Dense(2, in_units=3), nn.Dense(2, in_units=3)
    >>> net.initialize()
    >>> other.initialize()
    >>> load_state(other, state_of(net))
    >>> other.weight.data().tolist() == net.weight.data().tolist()
    True
    """
    values = _by_name(nnx.to_pure_dict(tree) if isinstance(tree, nnx.State) else tree)
    if isinstance(target, Block):
        chosen = _chosen(values, target.collect_params(fused=False))
        target.load_dict({name: np.asarray(value) for name, value in chosen.items()})
        return
    variables = {
        ".".join(map(str, path)): leaf
        for path, leaf in nnx.to_flat_state(nnx.state(target))
        if isinstance(leaf, nnx.Variable) and not isinstance(leaf, nnx.RngState)
    }
    chosen = _chosen(values, variables)
    missing = sorted(set(variables) - set(chosen))
    wrong = missing or sorted(set(chosen) - set(variables))
    if wrong:
        told = "are missing in" if missing else "are unexpected in"
        raise FormatError(f"the variables {wrong[:5]} {told} the given tree")
    for name, variable in variables.items():
        shape = tuple(variable.get_raw_value().shape)
        if tuple(chosen[name].shape) != shape:
            raise FormatError(f"variable '{name}' has shape {shape}, the given array {tuple(chosen[name].shape)}")
    for name, variable in variables.items():
        variable.set_value(jnp.asarray(chosen[name], variable.get_raw_value().dtype))


def save_checkpoint(net: Block | nnx.Module, path: str | PathLike[str]) -> None:
    """Write the arrays of a net, or the variables of a module of NNX, as an Orbax checkpoint.

    Parameters
    ----------
    net : Block or nnx.Module
    path : str or path
        A folder that does not exist. It is whole, or not there.

    Raises
    ------
    ValueError
        If it exists.

    Examples
    --------
    >>> import tempfile
    >>> from gluonx import nn
    >>> net = nn.Dense(2, in_units=3)
    >>> net.initialize()
    >>> save_checkpoint(net, tempfile.mkdtemp() + "/net")
    """
    from orbax.checkpoint import StandardCheckpointer

    tree = state_of(net) if isinstance(net, Block) else nnx.to_pure_dict(nnx.state(net, nnx.Not(nnx.RngState)))
    with StandardCheckpointer() as checkpointer:
        checkpointer.save(Path(fspath(path)).absolute(), _with_texts(tree))


def load_checkpoint(target: Block | nnx.Module, path: str | PathLike[str]) -> None:
    """Read what :func:`save_checkpoint` wrote, or Flax: ``nnx.State``, pure dicts, or variables of Linen.

    Parameters
    ----------
    target : Block or nnx.Module
        What is given the values; see :func:`load_state`.
    path : str or path

    Raises
    ------
    FormatError
        If something is missing, unexpected or of another shape. Nothing has changed then.
    FileNotFoundError
        If there is no such checkpoint.

    Examples
    --------
    >>> import tempfile
    >>> from gluonx import nn
    >>> net, other = nn.Dense(2, in_units=3), nn.Dense(2, in_units=3)
    >>> net.initialize()
    >>> path = tempfile.mkdtemp() + "/net"
    >>> save_checkpoint(net, path)
    >>> load_checkpoint(other, path)
    >>> other.weight.data().tolist() == net.weight.data().tolist()
    True
    """
    from orbax.checkpoint import Checkpointer, PyTreeCheckpointHandler, RestoreArgs, args

    folder = Path(fspath(path)).absolute()
    with Checkpointer(PyTreeCheckpointHandler()) as checkpointer:
        if not folder.exists():
            raise FileNotFoundError(f"there is no checkpoint at {folder}")
        found = checkpointer.metadata(folder).item_metadata
        if found is None:
            raise FormatError(f"{folder} is no checkpoint of Orbax that holds one tree of arrays")
        tree = found.tree
        on_host = jax.tree.map(lambda _: RestoreArgs(restore_type=np.ndarray), tree)
        load_state(target, checkpointer.restore(folder, args=args.PyTreeRestore(restore_args=on_host)))


def _by_name(tree: Mapping[Any, Any]) -> dict[str, Any]:
    return {".".join(map(str, path)): value for path, value in flat(tree).items()}


def _chosen(values: dict[str, Any], own: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values under the names that a net has: without a last step ``value``, a collection, or streams."""
    found: dict[str, Any] = {}
    for name, value in values.items():
        plain = name
        if plain not in own:
            plain = plain.removesuffix(".value")
        first, _, rest = plain.partition(".")
        if plain not in own and first in _COLLECTIONS:
            plain = rest
        if plain not in own and _of_stream(plain):
            continue
        if plain in found:
            raise FormatError(f"two arrays of the given tree are for '{plain}'")
        found[plain] = value
    return found


def _of_stream(name: str) -> bool:
    parts = name.split(".")
    return "rngs" in parts and parts[-1] in ("key", "count")


def _with_texts(tree: Any) -> Any:
    """Return the tree with numbers of a sequence's parts as texts, which a net's names are."""
    return {str(k): _with_texts(v) for k, v in tree.items()} if isinstance(tree, Mapping) else tree
