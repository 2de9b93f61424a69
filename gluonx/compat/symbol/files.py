"""Symbols as text: the JSON that MXNet 1 and 2 write and read.

A file comes from a stranger. Its nodes may only use nodes before them, which rules out cycles; operators and
attributes are looked up in the tables and nowhere else; what is unknown is named, with its node, all of it at once.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import Any

from gluonx.compat import prefixes as naming
from gluonx.compat.symbol import table
from gluonx.compat.symbol.graph import Entry, Node, walk
from gluonx.errors import FormatError
from gluonx.files import atomic_write

_MAX_NODES = 1 << 20
_MAX_BYTES = 1 << 28
_OLD_NO_AUX, _OLD_ARGMAX = 900, 905
_ARG_REDUCTIONS = ("argmin", "argmax")


class _Reader:
    def __init__(self, where: str) -> None:
        self.where = where

    def fail(self, reason: str) -> FormatError:
        return FormatError(f"{self.where}: cannot read the symbol: {reason}")

    def graph(self, content: list[Any] | dict[str, Any], depth: int = 0) -> tuple[list[Entry], bool]:
        if not isinstance(content, dict) or not isinstance(content.get("nodes"), list):
            raise self.fail("it has no list of nodes; it is no symbol file")
        if depth > 8:
            raise self.fail("its subgraphs are nested more than 8 deep")
        if len(content["nodes"]) > _MAX_NODES:
            raise self.fail(f"it has {len(content['nodes'])} nodes, more than {_MAX_NODES}")
        version, modern = self.version(content.get("attrs"))
        self.unknown_operators(content["nodes"])
        nodes: list[Node] = []
        names: set[str] = set()
        for number, entry in enumerate(content["nodes"]):
            node = self.node(entry, number, nodes, version, depth)
            if node.op is None and node.name in names:
                raise self.fail(f"two variables are called '{node.name}'")
            if node.op is None:
                names.add(node.name)
            nodes.append(node)
        heads = content.get("heads", [[len(nodes) - 1, 0]] if nodes else [])
        if not isinstance(heads, list) or not heads:
            raise self.fail("it has no heads, so nothing comes out of it")
        return [self.entry(head, nodes, "a head") for head in heads], modern

    def version(self, attrs: Any) -> tuple[int, bool]:
        """Return the version that wrote it (8 where it does not say: MXNet 0.8), and whether it has NumPy's shapes."""

        def number(key: str, default: int) -> int:
            value = attrs.get(key) if isinstance(attrs, dict) else None
            if isinstance(value, list) and len(value) == 2 and type(value[1]) is int:
                return value[1]
            return default

        return number("mxnet_version", 800), number("is_np_shape", 0) == 1

    def unknown_operators(self, nodes: list[Any]) -> None:
        missing: dict[str, str] = {}
        for entry in nodes:
            op = entry.get("op") if isinstance(entry, dict) else None
            if isinstance(op, str) and op != "null" and table.find(op) is None:
                missing.setdefault(op[:60], str(entry.get("name"))[:60])
        if missing:
            told = ", ".join(f"'{op}' (node '{name}')" for op, name in list(missing.items())[:8])
            more = f" and {len(missing) - 8} more" if len(missing) > 8 else ""
            raise self.fail(f"it uses operators that gluonx does not have: {told}{more}")

    def node(self, entry: Mapping[str, Any], number: int, nodes: list[Node], version: int, depth: int) -> Node:
        if not isinstance(entry, dict):
            raise self.fail(f"node {number} is no object")
        name, kind = entry.get("name"), entry.get("op")
        if not isinstance(name, str) or not isinstance(kind, str):
            raise self.fail(f"node {number} has no name or no operator")
        attrs = self.attributes(entry, name)
        inputs = entry.get("inputs", [])
        if not isinstance(inputs, list):
            raise self.fail(f"node '{name}': its inputs are no list")
        if kind == "null":
            if inputs:
                raise self.fail(f"node '{name}' is a variable, but has inputs")
            return Node(name, None, (), attrs)
        op = table.find(kind)
        assert op is not None, "unknown operators were found before"
        used = [self.entry(item, nodes, f"node '{name}'") for item in inputs]
        if version < _OLD_ARGMAX and op.name in _ARG_REDUCTIONS and attrs.get("axis") == "-1":
            del attrs["axis"]
        graphs = entry.get("subgraphs", [])
        if not isinstance(graphs, list) or not all(isinstance(g, dict) for g in graphs):
            raise self.fail(f"node '{name}': its subgraphs are no list of graphs")
        inner = tuple(self.graph(g, depth + 1)[0] for g in graphs)
        try:
            node = Node(name, op, used, attrs, inner)
            if version < _OLD_NO_AUX:
                self.add_states(node)
        except FormatError as error:
            raise self.fail(str(error)) from None
        self.check_count(node)
        return node

    def check_count(self, node: Node) -> None:
        op = node.op
        assert op is not None
        if op.variadic:
            return
        names = node.input_names
        if not op.least_inputs(node.parsed) <= len(node.inputs) <= len(names):
            wanted = ", ".join(names) or "none"
            raise self.fail(f"node '{node.name}' ({op.name}) has {len(node.inputs)} inputs; it takes {wanted}")

    def add_states(self, node: Node) -> None:
        """Before 0.9 the auxiliary states were no inputs: they were variables that the file did not have."""
        names = node.input_names
        if node.op is not None and node.op.aux and len(node.inputs) == len(names) - len(node.aux_positions):
            node.inputs += [(Node(f"{node.name}_{names[i]}"), 0) for i in node.aux_positions]

    def attributes(self, entry: Mapping[str, Any], name: str) -> dict[str, str]:
        merged: dict[str, str] = {}
        for key in ("param", "attr", "attrs"):
            found = entry.get(key, {})
            if not isinstance(found, dict) or not all(isinstance(v, str) for v in found.values()):
                raise self.fail(f"node '{name}': its attributes are no object of strings")
            merged.update(found)
        return merged

    def entry(self, item: Any, nodes: list[Node], where: str) -> Entry:
        good = isinstance(item, list) and len(item) in (2, 3) and all(type(n) is int for n in item)
        if not good or not 0 <= item[0] < len(nodes):
            what = "comes later or is not there (a cycle?)" if good else "is no reference"
            raise self.fail(f"{where} uses {str(item)[:60]}, which {what}")
        node = nodes[item[0]]
        if not 0 <= item[1] < node.nout:
            raise self.fail(f"{where} uses output {item[1]} of node '{node.name}', which has {node.nout}")
        return node, item[1]


def parse(text: str | bytes, where: str = "<text>") -> tuple[list[Entry], bool]:
    """Return the outputs of the graph that JSON describes, and whether it was written in NumPy mode.

    Raises
    ------
    FormatError
        If it is no graph, or one with operators or attributes that gluonx does not know.
    """
    reader = _Reader(where)
    if len(text) > _MAX_BYTES:
        raise reader.fail(f"it has {len(text)} bytes, more than {_MAX_BYTES}")
    try:
        content = json.loads(text if isinstance(text, str) else text.decode("utf-8"))
    except (ValueError, RecursionError) as error:
        raise reader.fail(f"it is not proper JSON ({error})") from None
    return reader.graph(content)


def read(path: str | os.PathLike[str]) -> tuple[list[Entry], bool]:
    """As :func:`parse`, from a file."""
    if os.path.getsize(path) > _MAX_BYTES:
        raise FormatError(f"'{os.fspath(path)}': cannot read the symbol: it has more than {_MAX_BYTES} bytes")
    with open(path, "rb") as file:
        return parse(file.read(), f"'{os.fspath(path)}'")


def dump(entries: list[Entry], modern: bool) -> str:
    """Return the JSON of a graph.

    Parameters
    ----------
    entries : list of (Node, int)
        Its outputs.
    modern : bool
        Whether to write it as in NumPy mode: as MXNet 2 does, or as MXNet 1.9 in a program that runs as MXNet 1.
    """
    second = modern and not naming.wants_scope()
    content = _content(entries, {} if second else table.FORMER)
    content["attrs"] = {"mxnet_version": ["int", 20000 if second else 10901]}
    if modern:
        content["attrs"]["is_np_shape"] = ["int", 1]
    return json.dumps(content, indent=2)


def _content(entries: list[Entry], called: Mapping[str, str]) -> dict[str, Any]:
    order = walk(entries)
    number = {id(node): i for i, node in enumerate(order)}
    nodes, rows = [], [0]
    for node in order:
        described: dict[str, Any] = {"op": "null", "name": node.name}
        if node.op is not None:
            described["op"] = called.get(node.op.name, node.op.name)
        if node.attrs:
            described["attrs"] = dict(sorted(node.attrs.items()))
        described["inputs"] = [[number[id(n)], i, 0] for n, i in node.inputs]
        if node.subgraphs:
            described["subgraphs"] = [_content(inner, called) for inner in node.subgraphs]
        nodes.append(described)
        rows.append(rows[-1] + max(node.nout, 1 if node.op is None else node.op.counted))
    return {
        "nodes": nodes,
        "arg_nodes": [i for i, node in enumerate(order) if node.op is None],
        "node_row_ptr": rows,
        "heads": [[number[id(n)], i, 0] for n, i in entries],
    }


def write(path: str | os.PathLike[str], entries: list[Entry], modern: bool) -> None:
    """As :func:`dump`, to a file, atomically."""
    with atomic_write(path, "w") as file:
        file.write(dump(entries, modern))
