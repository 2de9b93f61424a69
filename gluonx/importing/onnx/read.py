"""From a file to nodes and arrays. The file is not trusted: nothing in it is run, and every size is checked.

Arrays that lie beside the model are read from its own folder only. Functions that the file defines are written out,
up to a bound, since a few hundred bytes can call each other a billion times. Operators that ONNX defines by others,
and that have no rule here, are written out too. What is left without a rule is refused in one message.
"""

from __future__ import annotations

import dataclasses
import importlib
import math
import os
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np

from gluonx.errors import FormatError, GraphError
from gluonx.export.onnx.write import need_onnx
from gluonx.files.places import is_path
from gluonx.importing.onnx.rules import RULES, Node, element_type, supported

OLDEST, NEWEST = 6, 28  # the opsets whose operators the rules know
_MOST_NODES = 1_000_000  # after functions are written out
_MOST_EXPANSIONS = 8  # operators that ONNX defines by operators that it defines by others, and so on
_DOMAINS = ("", "ai.onnx")
_FOREIGN = "this model cannot be read, for what gluonx has no counterpart of:"
_KINDS = {"tensor_type": "", "sequence_type": "a sequence", "optional_type": "an optional", "map_type": "a map"}


class Input(NamedTuple):
    """An input or output of a model: name, dtype, and sizes (None where one is open; None for all if the rank is)."""

    name: str
    dtype: np.dtype
    shape: tuple[int | None, ...] | None


@dataclasses.dataclass(frozen=True)
class Model:
    """The contents of a file. `arrays` are the initializers, `constants` what nodes of constants give."""

    path: str
    opset: int
    nodes: list[Node]
    inputs: list[Input]
    outputs: list[Input]
    arrays: dict[str, np.ndarray]
    constants: dict[str, np.ndarray]


def read_proto(file: Any) -> tuple[Any, str, Path | None]:
    """Return a file as ``ModelProto``, what to call it, and its folder.

    Parameters
    ----------
    file : str, path, file object, bytes or onnx.ModelProto

    Raises
    ------
    FormatError
        If it is no ONNX model, or a damaged one.
    """
    onnx = need_onnx("reading")
    if isinstance(file, onnx.ModelProto):
        return file, "the model", None
    folder: Path | None = None
    if is_path(file):
        name, folder = f"'{os.fspath(file)}'", Path(os.fspath(file)).absolute().parent
        data = Path(os.fspath(file)).read_bytes()
    else:
        name, data = "the model", bytes(file) if isinstance(file, bytes | bytearray | memoryview) else file.read()
    if data[:64].lstrip()[:1] == b"{":
        raise FormatError(f"{name} is JSON, not an ONNX model; SymbolBlock.imports reads MXNet's '-symbol.json' files")
    proto = onnx.ModelProto()
    try:
        proto.ParseFromString(data)
    except Exception as error:  # protobuf's DecodeError, whose module is no dependency of ours
        raise FormatError(f"{name} is no ONNX model, or it is damaged: {error}") from error
    if not all(isinstance(text, str) for text in _texts(proto)):
        raise FormatError(f"{name} is no ONNX model, or it is damaged: it has names that are no text")
    if not proto.opset_import or not proto.graph.output:
        raise FormatError(f"{name} is no ONNX model, or it is damaged: it has no graph, or names no opset")
    return proto, name, folder


def _texts(proto: Any) -> Iterator[Any]:
    """Yield the names in a model; protobuf gives those that are not UTF-8 as bytes."""
    nodes = [*proto.graph.node, *[node for f in proto.functions for node in f.node]]
    yield from (entry.domain for entry in proto.opset_import)
    for function in proto.functions:
        yield from (function.name, function.domain, *function.input, *function.output)
    for node in nodes:
        yield from (node.op_type, node.domain, node.name, *node.input, *node.output)
        yield from (attribute.name for attribute in node.attribute)
    for tensor in proto.graph.initializer:
        yield tensor.name
        yield from (text for entry in tensor.external_data for text in (entry.key, entry.value))
    yield from (value.name for value in (*proto.graph.input, *proto.graph.output))


def read_model(file: Any) -> Model:
    """Read a model.

    Parameters
    ----------
    file : str, path, file object, bytes or onnx.ModelProto
        Arrays beside the model are read where it is a path.

    Raises
    ------
    FormatError
        If it is damaged or no ONNX model, or names arrays outside of its folder.
    GraphError
        If it needs what gluonx has not. All of it is listed.
    """
    supported()
    onnx = need_onnx("reading")
    given, name, folder = read_proto(file)
    proto = onnx.ModelProto()
    proto.CopyFrom(given)
    opset = _opset(proto, name)
    reader = _Arrays(onnx, name, folder)
    arrays = {tensor.name: reader.array(tensor) for tensor in proto.graph.initializer}
    del proto.graph.initializer[:]
    _declare(onnx, proto, arrays)
    proto = _expanded(onnx, _inlined(onnx, proto, name), opset)
    problems = [*_foreign_inputs(proto), *_foreign_nodes(onnx, proto, opset)]
    if problems:
        raise GraphError(f"{name}: {_FOREIGN}" + "".join(f"\n  {problem}" for problem in problems))
    constants: dict[str, np.ndarray] = {}
    nodes: list[Node] = []
    taken: Counter[str] = Counter()
    for found in proto.graph.node:
        attrs = {a.name: reader.attribute(a) for a in found.attribute}
        if found.op_type == "Constant":
            constants[found.output[0]] = _constant(attrs, name, found.output[0])
            continue
        label = found.name or f"{found.op_type}_{taken[found.op_type]}"
        taken[found.op_type] += 1
        nodes.append(Node(found.op_type, label, opset, found.input, found.output, attrs, found.SerializeToString()))
    inputs = [_info(v) for v in proto.graph.input if v.name not in arrays]
    outputs = [_info(v) for v in proto.graph.output]
    _check_names(name, nodes, inputs, outputs, [*arrays, *constants])
    refused = _refused(nodes)
    if refused:
        raise GraphError(f"{name}: {_FOREIGN}" + "".join(f"\n  {problem}" for problem in refused))
    return Model(name, opset, nodes, inputs, outputs, arrays, constants)


def _opset(proto: Any, name: str) -> int:
    found = [entry.version for entry in proto.opset_import if entry.domain in _DOMAINS]
    if not found:
        raise GraphError(f"{name} uses no opset of ONNX itself, but of {[e.domain for e in proto.opset_import]}")
    if not OLDEST <= found[0] <= NEWEST:
        raise GraphError(
            f"{name} is of opset {found[0]}; gluonx reads {OLDEST} to {NEWEST}. onnx.version_converter.convert_version "
            "may bring it there"
        )
    return found[0]


# -- arrays -----------------------------------------------------------------------------------------------------------


class _Arrays:
    """Arrays of a file, and of files beside it."""

    def __init__(self, onnx: ModuleType, name: str, folder: Path | None) -> None:
        self.onnx, self.name, self.folder = onnx, name, folder

    def array(self, tensor: Any) -> np.ndarray:
        """Return the array of a ``TensorProto``."""
        what = f"{self.name}: array '{tensor.name}'"
        if tensor.data_type == self.onnx.TensorProto.STRING:
            raise GraphError(f"{what} is of strings, which gluonx has no arrays of")
        if any(n < 0 for n in tensor.dims):
            raise FormatError(f"{what} has a negative size: {list(tensor.dims)}")
        dtype, shape = self._dtype(tensor, what), tuple(tensor.dims)
        size = math.prod(shape) * dtype.itemsize
        if tensor.data_location == self.onnx.TensorProto.EXTERNAL:
            return self._beside(tensor, what, dtype, size).reshape(shape)
        if tensor.HasField("raw_data"):
            if len(tensor.raw_data) != size:
                raise FormatError(f"{what} is {dtype}{shape}, {size} bytes, but there are {len(tensor.raw_data)}")
            return np.frombuffer(tensor.raw_data, dtype.newbyteorder("<")).astype(dtype).reshape(shape)
        try:
            return np.asarray(self.onnx.numpy_helper.to_array(tensor)).astype(dtype).reshape(shape)
        except Exception as error:  # whatever onnx and NumPy make of data that do not fit
            raise FormatError(f"{what} is damaged: it does not hold {dtype}{shape} ({error})") from error

    def _dtype(self, tensor: Any, what: str) -> np.dtype:
        try:
            return element_type(tensor.data_type)
        except GraphError as error:
            raise GraphError(f"{what}: {error}") from None

    def _beside(self, tensor: Any, what: str, dtype: np.dtype, size: int) -> np.ndarray:
        entries = {entry.key: entry.value for entry in tensor.external_data}
        location = entries.get("location", "")
        if self.folder is None:
            raise FormatError(f"{what} lies in '{location}' beside the model; give the path of the model")
        place = (self.folder / location).resolve()
        if not location or os.path.isabs(location) or not place.is_relative_to(self.folder.resolve()):
            raise FormatError(f"{what} is to be read from '{location}', which is not inside the model's folder")
        try:
            start, length = int(entries.get("offset", 0)), int(entries.get("length", size))
            there = place.stat().st_size
        except (ValueError, OSError) as error:
            raise FormatError(f"{what}: '{location}' beside the model cannot be read ({error})") from error
        if not place.is_file() or length != size or start < 0 or start + size > there:
            raise FormatError(
                f"{what} is {size} bytes, said to be {length} from byte {start} of '{location}', which has {there}"
            )
        count = size // dtype.itemsize
        return np.fromfile(place, dtype.newbyteorder("<"), count, offset=start).astype(dtype)

    def attribute(self, attribute: Any) -> Any:
        """Return the value of an attribute; None for what no rule takes."""
        kinds = self.onnx.AttributeProto
        kind = attribute.type
        if kind == kinds.STRING:
            return attribute.s.decode("utf-8", "replace")
        if kind == kinds.STRINGS:
            return [s.decode("utf-8", "replace") for s in attribute.strings]
        if kind == kinds.TENSOR:
            return self.array(attribute.t)
        fields = {kinds.FLOAT: "f", kinds.INT: "i"}
        lists = {kinds.FLOATS: "floats", kinds.INTS: "ints"}
        if kind in fields:
            return getattr(attribute, fields[kind])
        return list(getattr(attribute, lists[kind])) if kind in lists else None


def _constant(attrs: Mapping[str, Any], name: str, output: str) -> np.ndarray:
    kinds = {"value_float": np.float32, "value_floats": np.float32, "value_int": np.int64, "value_ints": np.int64}
    for key, value in attrs.items():
        if key == "value" and isinstance(value, np.ndarray):
            return value
        if key in kinds:
            return np.asarray(value, kinds[key])
    raise GraphError(f"{name}: constant '{output}' is given by {', '.join(attrs) or 'nothing'}, which is not read")


# -- functions, and operators made of others --------------------------------------------------------------------------


def _declare(onnx: ModuleType, proto: Any, arrays: Mapping[str, np.ndarray]) -> None:
    """Say what types the initializers have, which were taken out of the model: what follows looks at types."""
    declared = {v.name for v in proto.graph.input}
    for name, array in arrays.items():
        if name not in declared:
            code = onnx.helper.np_dtype_to_tensor_dtype(array.dtype)
            proto.graph.input.append(onnx.helper.make_tensor_value_info(name, code, array.shape))


def _inlined(onnx: ModuleType, proto: Any, name: str) -> Any:
    """Write the file's own functions out."""
    if not proto.functions:
        return proto
    bodies = {(f.domain, f.name): f.node for f in proto.functions}
    sizes: dict[Any, int] = {}

    def size(key: Any, above: tuple[Any, ...]) -> int:
        if key in above:
            raise FormatError(f"{name}: function '{key[1]}' calls itself")
        if key not in sizes:
            inner = [(node.domain, node.op_type) for node in bodies[key]]
            sizes[key] = sum(size(k, (*above, key)) if k in bodies else 1 for k in inner)
        return sizes[key]

    calls = [(node.domain, node.op_type) for node in proto.graph.node]
    if sum(size(key, ()) if key in bodies else 1 for key in calls) > _MOST_NODES:
        raise FormatError(f"{name}: with its functions written out it has more than {_MOST_NODES} nodes")
    try:
        return importlib.import_module("onnx.inliner").inline_local_functions(proto, True)
    except Exception as error:  # of onnx's own code, which raises many kinds
        raise FormatError(f"{name}: its functions cannot be written out: {error}") from error


def _expanded(onnx: ModuleType, proto: Any, opset: int) -> Any:
    """Write out what has no rule and is defined by other operators."""
    for _ in range(_MOST_EXPANSIONS):
        wanted = {n.op_type for n in proto.graph.node if n.domain in _DOMAINS and n.op_type not in RULES}
        found = [("", op) for op in sorted(wanted) if _has_body(onnx, op, opset)]
        if not found:
            break
        _complete(onnx, proto, {op for _, op in found}, opset)
        try:
            proto = importlib.import_module("onnx.inliner").inline_selected_functions(
                proto, found, inline_schema_functions=True
            )
        except (
            Exception
        ):  # types that onnx could not find out, or an onnx that cannot: the nodes are refused as they are
            break
    return proto


def _complete(onnx: ModuleType, proto: Any, ops: Collection[str], opset: int) -> None:
    """Give nodes the defaults of attributes that they leave out: onnx leaves holes in what it writes out."""
    for node in proto.graph.node:
        if node.domain in _DOMAINS and node.op_type in ops:
            there = {a.name for a in node.attribute}
            for name, attribute in onnx.defs.get_schema(node.op_type, opset, "").attributes.items():
                if name not in there and attribute.default_value.type:
                    node.attribute.append(attribute.default_value)


def _has_body(onnx: ModuleType, op: str, opset: int) -> bool:
    try:
        schema = onnx.defs.get_schema(op, opset, "")
    except onnx.defs.SchemaError:
        return False
    return schema.has_function or schema.has_context_dependent_function


# -- what is refused --------------------------------------------------------------------------------------------------


def _foreign_inputs(proto: Any) -> Iterator[str]:
    for value in (*proto.graph.input, *proto.graph.output):
        kind = value.type.WhichOneof("value")
        if kind not in (None, "tensor_type"):
            yield f"'{value.name}', an input or output, is {_KINDS.get(kind, 'no array')}"
        elif kind and value.type.tensor_type.elem_type == 8:
            yield f"'{value.name}', an input or output, is of strings"
    for sparse in proto.graph.sparse_initializer:
        yield f"'{sparse.values.name}' is a sparse array"


def _foreign_nodes(onnx: ModuleType, proto: Any, opset: int) -> list[str]:
    """Return a line for each operator without a rule, with the nodes that are of it."""
    found: dict[str, list[str]] = {}
    for index, node in enumerate(proto.graph.node):
        inner = node.domain in _DOMAINS
        if inner and (node.op_type in RULES or node.op_type == "Constant"):
            continue
        kind = "control flow" if any(a.type in (5, 10) for a in node.attribute) else ""
        domain = "" if inner else f" of domain '{node.domain}'"
        told = f"operator {node.op_type}{domain}, opset {_version(proto, node.domain, opset)}"
        known = not inner or _is_known(onnx, node.op_type, opset)
        told += f" ({kind})" if kind else "" if known else " (ONNX has none of that name)"
        found.setdefault(told, []).append(node.name or f"number {index}")
    return [f"{told}: node {', '.join(names[:3])}{_more(names)}" for told, names in found.items()]


def _version(proto: Any, domain: str, opset: int) -> Any:
    own = [entry.version for entry in proto.opset_import if entry.domain == domain]
    return opset if domain in _DOMAINS else own[0] if own else "?"


def _is_known(onnx: ModuleType, op: str, opset: int) -> bool:
    try:
        onnx.defs.get_schema(op, opset, "")
    except onnx.defs.SchemaError:
        return False
    return True


def _more(names: Sequence[str]) -> str:
    return f" and {len(names) - 3} more" if len(names) > 3 else ""


def _refused(nodes: Sequence[Node]) -> list[str]:
    """Return what the rules refuse of the nodes that they are there for."""
    found: dict[str, list[str]] = {}
    for node in nodes:
        check = RULES[node.op].check
        why = check(node) if check is not None else None
        if why:
            found.setdefault(f"operator {node.op}, opset {node.opset}, {why}", []).append(node.name)
    return [f"{told}: node {', '.join(names[:3])}{_more(names)}" for told, names in found.items()]


# -- names ------------------------------------------------------------------------------------------------------------


def _info(value: Any) -> Input:
    tensor = value.type.tensor_type
    sizes = [d.dim_value if d.HasField("dim_value") and d.dim_value >= 0 else None for d in tensor.shape.dim]
    dtype = element_type(tensor.elem_type) if tensor.elem_type else np.dtype(np.float32)
    return Input(value.name, dtype, tuple(sizes) if tensor.HasField("shape") else None)


def _check_names(
    name: str, nodes: Sequence[Node], inputs: Sequence[Input], outputs: Sequence[Input], arrays: Sequence[str]
) -> None:
    """Check that every value is made once, and before it is used."""
    made: set[str] = set()

    def make(value: str) -> None:
        if value in made:
            raise FormatError(f"{name}: '{value}' is made twice")
        made.add(value)

    for value in (*[put.name for put in inputs], *arrays):
        make(value)
    for node in nodes:
        missing = [value for value in node.inputs if value and value not in made]
        if missing:
            raise FormatError(f"{name}: {node} takes '{missing[0]}', which nothing before it makes")
        for value in filter(None, node.outputs):
            make(value)
    lost = [out.name for out in outputs if out.name not in made]
    if lost:
        raise FormatError(f"{name}: its output '{lost[0]}' is made by no node")
