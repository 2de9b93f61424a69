"""``HybridBlock.export(path, format='onnx')``: a net as one file that ONNX runtimes serve."""

from __future__ import annotations

import importlib.metadata
import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jax
from jax import export

from gluonx.errors import ShapeError, UninitializedError
from gluonx.export.onnx.emit import graph_of
from gluonx.export.onnx.write import need_onnx, write
from gluonx.export.record import Program, record_forward
from gluonx.export.stablehlo import InputSpec

if TYPE_CHECKING:
    from gluonx.block.block import Block
    from gluonx.np.handle import ndarray


_OPEN = (
    "a symbolic dimension stands for every size at once: the forward cannot branch on it, and where it divides it, "
    "declare a multiple such as '2*h'; dynamic_batch=False, or a fixed size, always works"
)


def program_of(
    block: Block, specs: Sequence[Any], constraints: Sequence[str] = ()
) -> tuple[Program, list[str], list[str]]:
    """Record a block's forward in predict mode, as operators on symbolic shapes.

    Parameters
    ----------
    block : HybridBlock
    specs : sequence of InputSpec, or of lists, tuples and dicts of them
    constraints : sequence of str
        On symbolic dimensions.

    Returns
    -------
    program : Program
    inputs, outputs : list of str
        Names.

    Raises
    ------
    UninitializedError
        If a parameter has no value.
    TracedValueError
        If something was computed by JAX itself.
    """
    params: dict[str, Any] = {}
    for name, param in block._array_params().items():
        handle = param._handle
        if handle is None:
            raise UninitializedError(f"Parameter '{name}' has not been initialized; call net.initialize() first")
        if not any(handle is other for other in params.values()):
            params[name] = handle
    leaves, tree = jax.tree.flatten(list(specs), is_leaf=lambda v: isinstance(v, InputSpec))
    names = _input_names(leaves, params)
    scope = export.SymbolicScope(tuple(constraints))
    structs = {name: _struct(spec, scope) for name, spec in zip(names, leaves, strict=True)}

    def forward(*handles: ndarray) -> Any:
        return block._run_forward(*jax.tree.unflatten(tree, handles))

    try:
        program, out = record_forward(forward, params, structs)
    except Exception as error:
        if any(isinstance(n, str) for spec in leaves for n in spec.shape):
            error.add_note(_OPEN)
        raise
    return program, names, _output_names(out, {*names, *params})


def _struct(spec: InputSpec, scope: export.SymbolicScope) -> jax.ShapeDtypeStruct:
    dtype = jax.numpy.dtype(spec.dtype)  # 64 bits stay, as in a call
    if not spec.shape:
        return jax.ShapeDtypeStruct((), dtype)
    try:
        shape = export.symbolic_shape(", ".join(map(str, spec.shape)) + ",", scope=scope)
    except Exception as error:  # jax raises whatever its parser meets
        raise ShapeError(f"input {spec.name!r}: {spec.shape!r} is not a shape ({error})") from error
    return jax.ShapeDtypeStruct(tuple(shape), dtype)


def _input_names(specs: Sequence[Any], params: Mapping[str, ndarray]) -> list[str]:
    """Return the names of the inputs, each once and none of a parameter."""
    names: list[str] = []
    for spec in specs:
        name, count = spec.name, 0
        while name in names or name in params:
            count += 1
            name = f"{spec.name}_{count}"
        names.append(name)
    return names


def _output_names(tree: Any, taken: set[str]) -> list[str]:
    count = tree.num_leaves
    names = ["output"] if count == 1 else [f"output{i}" for i in range(count)]
    return [name if name not in taken else f"{name}_" for name in names]


def export_onnx(
    block: Block,
    path: str | os.PathLike[str],
    specs: Sequence[Any],
    constraints: Sequence[str] = (),
    external: bool = False,
) -> Path:
    """Write ``PATH.onnx``; see :meth:`gluonx.HybridBlock.export`.

    Parameters
    ----------
    block : HybridBlock
    path : str or path
        ``.onnx`` is put behind it if it is not there.
    specs, constraints
        As for :func:`program_of`.
    external : bool
        Put the parameters into a file beside, also where one file could hold everything.

    Returns
    -------
    pathlib.Path

    Raises
    ------
    GraphError
        If something has no counterpart in ONNX; everything that has none is listed.
    """
    need_onnx()
    program, inputs, outputs = program_of(block, specs, constraints)
    graph = graph_of(program, inputs)
    text = os.fspath(path)
    target = Path(text if text.endswith(".onnx") else f"{text}.onnx")
    metadata = {"block": re.sub(r"\W", "_", type(block).__name__)}
    if constraints:
        metadata["constraints"] = "; ".join(constraints)
    return write(graph, target, outputs, metadata, _version(), external)


def _version() -> str:
    try:
        return importlib.metadata.version("gluonx")
    except importlib.metadata.PackageNotFoundError:
        return "unknown"
