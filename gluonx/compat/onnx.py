"""``gluonx.onnx``: MXNet's functions for ONNX, which write a symbol and its parameters, and `import_model`."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from gluonx.compat import symbol
from gluonx.compat.symbol_block import SymbolBlock, free_labels
from gluonx.export.onnx.emit import supported
from gluonx.export.onnx.export import export_onnx
from gluonx.export.onnx.write import OPSET
from gluonx.export.stablehlo import InputSpec
from gluonx.files import load_arrays
from gluonx.importing.onnx.onnx_block import import_model

__all__ = ["export_model", "get_operator_support", "import_model"]


def get_operator_support(opset_version: int | None = None) -> list[str]:
    """Return the core operators that can be written in ONNX, by gluonx's names (see docs/core_ops.md).

    Parameters
    ----------
    opset_version : int, optional
        Nothing can be written in an opset before 20.

    Examples
    --------
    >>> from gluonx import onnx
    >>> "layer_norm" in onnx.get_operator_support()
    True
    """
    return supported() if opset_version is None or opset_version >= OPSET else []


def export_model(
    sym: Any,
    params: Any,
    in_shapes: Any = None,
    in_types: Any = np.float32,
    onnx_file_path: str = "model.onnx",
    verbose: bool = False,
    dynamic: bool = False,
    dynamic_input_shapes: Any = None,
    run_shape_inference: bool = False,
    input_type: Any = None,
    input_shape: Any = None,
    large_model: bool = False,
) -> str:
    """Write a symbol with its parameters as an ONNX model.

    Parameters
    ----------
    sym : Symbol, or path of a ``-symbol.json`` file
    params : dict, list of dicts, or path of a ``.params`` file
        Arrays by name, with ``arg:`` and ``aux:`` in front or without.
    in_shapes : list of tuple of int
        Of the symbol's inputs: its variables, in order, that `params` has no value for. `input_shape` is an older name.
    in_types : dtype or list of dtype
        Of the inputs. `input_type` is an older name.
    onnx_file_path : str or path
    verbose, run_shape_inference
        Accepted for ported code; types and shapes are always checked.
    dynamic : bool
        Whether the sizes that `dynamic_input_shapes` leaves open are open; without those, the first of each input.
    dynamic_input_shapes : list of tuple, optional
        A name, or None, for an open size. Equal names are equal sizes.
    large_model : bool
        Put the parameters into a file of their own beside the model. Beyond 2 GB that happens anyway.

    Returns
    -------
    str
        `onnx_file_path`.

    Raises
    ------
    GraphError
        If something has no counterpart in ONNX; everything that has none is listed.
    ValueError
        If there are not as many shapes as inputs.

    Examples
    --------
    >>> import tempfile
    >>> from gluonx import np, onnx, symbol as sym
    >>> net = sym.FullyConnected(sym.var("data"), num_hidden=2, no_bias=True, name="fc")
    >>> onnx.export_model(net, {"fc_weight": np.ones((2, 3))}, [(1, 3)], onnx_file_path=f"{tempfile.mkdtemp()}/fc.onnx")
    '...fc.onnx'
    """
    block, names = _bound(sym, params)
    shapes, types = in_shapes or input_shape, in_types if input_type is None else input_type
    specs = _specs(names, shapes, types, dynamic_input_shapes if dynamic else None, dynamic)
    export_onnx(block, onnx_file_path, specs, external=large_model)
    return os.fspath(onnx_file_path)


def _bound(sym: Any, params: Any) -> tuple[SymbolBlock, list[str]]:
    """Return a symbol with its parameters as a block, and the names of its inputs."""
    graph = sym if isinstance(sym, symbol.Symbol) else symbol.load(sym)
    arrays = _arrays(params)
    labels = free_labels(graph, [], arrays)
    names = [name for name in graph.list_inputs() if name not in arrays and name not in labels]
    block = SymbolBlock(graph, [symbol.var(name) for name in names])
    known = block.collect_params()
    block.load_dict({n: a for n, a in arrays.items() if n in known}, cast_dtype=True, dtype_source="saved")
    return block, names


def _arrays(params: Any) -> dict[str, Any]:
    """Arrays by their plain names."""
    if isinstance(params, Mapping):
        parts: Sequence[Mapping[str, Any]] = [params]
    elif isinstance(params, list | tuple):
        parts = params
    else:
        parts = [load_arrays(params, mapped=True)]
    return {name.removeprefix("arg:").removeprefix("aux:"): a for part in parts for name, a in part.items()}


def _specs(names: Sequence[str], shapes: Any, types: Any, opened: Any, dynamic: bool) -> list[InputSpec]:
    shapes = list(shapes or [])
    if len(shapes) != len(names):
        raise ValueError(f"the symbol has {len(names)} inputs ({', '.join(names)}), but {len(shapes)} shapes came")
    kinds = list(types) if isinstance(types, list | tuple) else [types] * len(names)
    if len(kinds) != len(names):
        raise ValueError(f"the symbol has {len(names)} inputs ({', '.join(names)}), but {len(kinds)} types came")
    if opened is None:
        opened = [("b", *shape[1:]) if dynamic and shape else shape for shape in shapes]
    specs = []
    for name, shape, kind in zip(names, opened, kinds, strict=True):
        sizes = [f"{name}_{axis}" if size is None else size for axis, size in enumerate(shape)]
        specs.append(InputSpec(name, tuple(sizes), np.dtype(kind).name))
    return specs


def __dir__() -> list[str]:
    return sorted(__all__)
