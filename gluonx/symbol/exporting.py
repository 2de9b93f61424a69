"""``HybridBlock.export(path, format='mxnet')``: a block as the files that MXNet 2 reads."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import jax
import numpy as np

from gluonx.errors import ShapeError, UninitializedError
from gluonx.serialize import save_arrays
from gluonx.symbol import files
from gluonx.symbol.emit import symbol_of
from gluonx.symbol.graph import aux_nodes, variables, walk
from gluonx.symbol.infer import DTYPE_NUMBERS
from gluonx.symbol.record import record_forward, recorded
from gluonx.symbol.symbol import Symbol

__all__ = ["export_mxnet", "get_symbol", "symbol_of_block"]


def symbol_of_block(block: Any, inputs: dict[str, Any]) -> tuple[Symbol, dict[str, np.ndarray]]:
    """The graph of a block's forward in predict mode, and all arrays that it needs beside the inputs.

    Parameters
    ----------
    block : HybridBlock
        With all parameters initialized and of known shape.
    inputs : dict of str to jax.ShapeDtypeStruct
        What goes in, by the name of the variable.

    Raises
    ------
    GraphError
        If MXNet has no operator for something that the forward does.
    """
    params = {name: p._handle for name, p in block.collect_params().items()}
    unique: dict[str, Any] = {}
    for name, handle in params.items():
        if handle is None:
            raise UninitializedError(f"Parameter '{name}' has not been initialized; call net.initialize() first")
        if not any(handle is other for other in unique.values()):
            unique[name] = handle
    program, _ = record_forward(block._run_forward, unique, inputs)
    entries, constants = symbol_of(program)
    for node in variables(walk(entries)):
        if node.name in unique:
            handle = unique[node.name]
            node.attrs.update(
                {"__shape__": str(tuple(handle.shape)), "__dtype__": str(DTYPE_NUMBERS.index(handle.dtype.name))}
            )
    used = {node.name for node in variables(walk(entries))}
    arrays = {name: handle.asnumpy() for name, handle in unique.items() if name in used}
    return Symbol(entries, modern=True), arrays | constants


def export_mxnet(block: Any, path: str | os.PathLike[str], inputs: Sequence[Any], epoch: int = 0) -> tuple[Path, Path]:
    """Write ``PATH-symbol.json`` and ``PATH-NNNN.params``; see :meth:`gluonx.HybridBlock.export`."""
    structs = [_struct(x) for x in inputs]
    names = ["data"] if len(structs) == 1 else [f"data{i}" for i in range(len(structs))]
    symbol, arrays = symbol_of_block(block, dict(zip(names, structs, strict=True)))
    order = walk(symbol._entries)
    aux = {node.name for node in order if id(node) in aux_nodes(order)}
    missing = [name for name in names if name not in {node.name for node in variables(order)}]
    if missing:
        raise ShapeError(f"the outputs do not depend on the input '{missing[0]}', so the symbol would lack it")
    target = os.fspath(path)
    symbol_path, params_path = Path(f"{target}-symbol.json"), Path(f"{target}-{epoch:04d}.params")
    save_arrays(params_path, {f"{'aux' if name in aux else 'arg'}:{name}": a for name, a in arrays.items()}, "npz")
    files.write(symbol_path, symbol._entries, True)
    return symbol_path, params_path


def _struct(x: Any) -> jax.ShapeDtypeStruct:
    if any(not isinstance(n, int) for n in x.shape):
        raise ShapeError(f"a symbol of MXNet is traced for sizes, but an input has the shape {tuple(x.shape)}")
    return jax.ShapeDtypeStruct(tuple(x.shape), np.dtype(x.dtype))


def get_symbol(outputs: Any, names: Sequence[str] | None = None) -> Symbol:
    """See :func:`gluonx.deferred.get_symbol`."""
    listed = list(outputs) if isinstance(outputs, list | tuple) else [outputs]
    program = recorded(listed)
    given = list(names or [])
    program.leaves = [(given[i] if i < len(given) else f"var{i}", leaf) for i, (_, leaf) in enumerate(program.leaves)]
    entries, _ = symbol_of(program)
    return Symbol(entries, modern=True)
