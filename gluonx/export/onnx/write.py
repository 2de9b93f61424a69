"""From a graph to a file: the only place where ``onnx`` is imported.

A model of up to two gigabytes is one file. protobuf cannot hold more, so beyond that the parameters lie in a second
file beside it, ``NAME.onnx.data``, which ONNX calls external data. Files are written under hidden names, checked, and
renamed when all is well.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from gluonx.errors import GluonxError, GraphError
from gluonx.export.onnx.graph import Graph, Node, Value, is_static
from gluonx.files import atomic_write

OPSET = 20
_IR_VERSION = 9  # the first that has this opset
_LIMIT = (1 << 31) - (1 << 22)  # what protobuf can hold, less room for the nodes
_ALIGNED = 1 << 12  # so that a runtime can map the arrays
_EXTERNAL = 1 << 10  # smaller arrays stay in the model

_MISSING = "{what} ONNX needs the package onnx: pip install 'gluonx[onnx]'"


def need_onnx(what: str = "writing") -> ModuleType:
    """Return the module ``onnx``; `what` is what it is needed for.

    Raises
    ------
    GluonxError
        If it is not installed; the message says how to get it.
    """
    try:
        import onnx
    except ImportError as error:
        raise GluonxError(_MISSING.format(what=what)) from error
    return onnx


def write(
    graph: Graph, path: Path, outputs: Sequence[str], metadata: Mapping[str, str], version: str, external: bool = False
) -> Path:
    """Write a graph as a model, after ``onnx.checker`` has found nothing wrong with it.

    Parameters
    ----------
    graph : Graph
    path : pathlib.Path
    outputs : sequence of str
        The names of the outputs.
    metadata : mapping of str to str
        Kept in the file.
    version : str
        Of gluonx.
    external : bool
        Put the parameters into a file of their own however small they are.

    Returns
    -------
    pathlib.Path
        `path`.

    Raises
    ------
    GraphError
        If the model is not valid ONNX, which would be a mistake of gluonx.
    """
    onnx = need_onnx()
    known = graph.finish(outputs)
    size = sum(v.array.nbytes for v in known)
    store = _External(path.name + ".data") if external or size > _LIMIT else None
    model = onnx.ModelProto(ir_version=_IR_VERSION, producer_name="gluonx", producer_version=version)
    model.opset_import.append(onnx.OperatorSetIdProto(domain="", version=OPSET))
    model.graph.name = metadata.get("block", "gluonx")
    model.graph.node.extend(_node(onnx, node) for node in graph.nodes)
    model.graph.input.extend(_info(onnx, value) for value in graph.inputs)
    model.graph.output.extend(_info(onnx, value) for value in graph.outputs)
    for key, text in metadata.items():
        model.metadata_props.append(onnx.StringStringEntryProto(key=key, value=text))
    _check(onnx, model, known)
    model.graph.initializer.extend(_tensor(onnx, value, store) for value in known)
    with ExitStack() as stack:
        file = stack.enter_context(atomic_write(path))
        file.write(model.SerializeToString())
        if store is not None:  # renamed first: a model never lies beside data that is not there yet
            data = stack.enter_context(atomic_write(path.with_name(store.name)))
            store.fill(data)
    return path


class _External:
    """Arrays that will lie in a file of their own."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.values: list[tuple[int, Value]] = []
        self.end = 0

    def place(self, value: Value) -> tuple[int, int]:
        """Append a value, and return where it will begin and its number of bytes."""
        start = -(-self.end // _ALIGNED) * _ALIGNED
        self.values.append((start, value))
        self.end = start + value.array.nbytes
        return start, value.array.nbytes

    def fill(self, file: Any) -> None:
        """Write the file."""
        for start, value in self.values:
            file.seek(start)
            file.write(np.ascontiguousarray(value.array).reshape(-1).view(np.uint8).data)


def _element_type(onnx: ModuleType, dtype: np.dtype) -> int:
    name = {"float32": "FLOAT", "float64": "DOUBLE"}.get(dtype.name, dtype.name.upper().replace("_", ""))
    try:
        return onnx.TensorProto.DataType.Value(name)
    except ValueError:
        raise GraphError(f"ONNX has no element type {dtype.name}") from None


def _tensor(onnx: ModuleType, value: Value, store: _External | None) -> Any:
    array = value.array
    tensor = onnx.TensorProto(name=value.name, dims=array.shape, data_type=_element_type(onnx, array.dtype))
    if store is None or array.nbytes < _EXTERNAL:
        tensor.raw_data = np.ascontiguousarray(array).tobytes()
        return tensor
    start, length = store.place(value)
    tensor.data_location = onnx.TensorProto.EXTERNAL
    for key, text in (("location", store.name), ("offset", start), ("length", length)):
        tensor.external_data.append(onnx.StringStringEntryProto(key=key, value=str(text)))
    return tensor


def _node(onnx: ModuleType, node: Node) -> Any:
    made = onnx.NodeProto(op_type=node.kind, name=node.name)
    made.input.extend("" if v is None else v.name for v in node.inputs)
    made.output.extend(v.name for v in node.outputs)
    for key, value in sorted(node.attrs.items()):
        if isinstance(value, np.dtype):
            value = _element_type(onnx, value)
        made.attribute.append(onnx.helper.make_attribute(key, value))
    return made


def _info(onnx: ModuleType, value: Value) -> Any:
    shape = [int(n) if is_static([n]) else str(n) for n in value.shape]
    return onnx.helper.make_tensor_value_info(value.name, _element_type(onnx, value.dtype), shape)


def _check(onnx: ModuleType, model: Any, known: Sequence[Value]) -> None:
    """Have onnx look at the model: each node by its operator's definition, and all types and shapes.

    Large arrays are declared for this and not given, since the check would copy them.
    """
    large = [value for value in known if value.array.nbytes >= _EXTERNAL]
    plain = len(model.graph.input)
    model.graph.input.extend(_info(onnx, value) for value in large)
    model.graph.initializer.extend(_tensor(onnx, v, None) for v in known if v.array.nbytes < _EXTERNAL)
    try:
        onnx.checker.check_model(model, full_check=True)
    except (onnx.checker.ValidationError, onnx.shape_inference.InferenceError) as error:
        if "unsupported type" in str(error):
            raise GraphError(f"ONNX knows no such operator on this element type: {error}") from error
        raise GraphError(f"what was made is not valid ONNX, which is a mistake of gluonx: {error}") from error
    del model.graph.input[plain:]
    del model.graph.initializer[:]
