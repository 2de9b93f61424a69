"""``mx.viz``: a symbol as a table of layers, or as a drawing."""

from __future__ import annotations

import ast
import importlib
import json
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as onp

from gluonx.compat.symbol.table import get

if TYPE_CHECKING:
    from gluonx.dtype import DTypeLike


__all__ = ["plot_network", "print_summary"]

_PARAMETERS = ("_weight", "_bias", "_beta", "_gamma", "_moving_var", "_moving_mean", "_running_var", "_running_mean")
_PALETTE = ("#8dd3c7", "#fb8072", "#ffffb3", "#bebada", "#80b1d3", "#fdb462", "#b3de69", "#fccde5")


def _graph(symbol: Any) -> tuple[list[dict[str, Any]], set[int]]:
    """Return the nodes of a symbol as in its JSON, and the numbers of the last ones."""
    if not hasattr(symbol, "tojson"):
        raise TypeError(f"a Symbol was expected, got {type(symbol).__name__}; a block has summary()")
    graph = json.loads(symbol.tojson())
    return graph["nodes"], {head[0] for head in graph["heads"]}


def _shapes(symbol: Any, shape: Mapping[str, Any] | None) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the shapes of all outputs within a symbol, and of its arguments, by name; empty if none are given.

    Raises
    ------
    ValueError
        If `shape` does not tell all shapes.
    """
    if shape is None:
        return {}, {}
    inner = symbol.get_internals()
    arguments, outputs, _ = inner.infer_shape(**shape)
    if outputs is None:
        raise ValueError(f"the shapes {dict(shape)} do not tell those of all layers: give those of more inputs")
    by_output = dict(zip(inner.list_outputs(), outputs, strict=True))
    return by_output, dict(zip(inner.list_arguments(), arguments, strict=True))


def _colour(op: str) -> int:
    """Return the number in `_PALETTE` of the colour in which nodes of an operator are drawn."""
    return 0 if op == "null" else get(op).colour


def _output(node: Mapping[str, Any]) -> str:
    """Return the name of a node's first output, as ``list_outputs`` has it."""
    if node["op"] == "null":
        return node["name"]
    attrs = node.get("attrs", {})
    several = node["op"] in ("SliceChannel", "split", "_split_v2") and attrs.get("num_outputs") != "1"
    return f"{node['name']}_output0" if several else f"{node['name']}_output"


def print_summary(
    symbol: Any,
    shape: Mapping[str, Sequence[int]] | None = None,
    line_length: int = 120,
    positions: Sequence[float] = (0.44, 0.64, 0.74, 1.0),
) -> None:
    """Print a table of the layers of a symbol: output shapes, numbers of parameters, and the layers before.

    Parameters
    ----------
    symbol : Symbol
    shape : dict of str to tuple, optional
        Shapes of inputs. Without them, shapes and numbers are left out.
    line_length : int
    positions : list of float
        Where the columns end, as shares of the line.

    Raises
    ------
    ValueError
        If `shape` does not tell all shapes.

    Examples
    --------
    >>> from gluonx import symbol as sym
    >>> net = sym.FullyConnected(sym.var("data"), num_hidden=3, name="fc")
    >>> print_summary(net, {"data": (2, 5)}, line_length=80)
    ________________________________________________________________________________
    Layer (type)                       Output Shape    Param # Previous Layer
    ================================================================================
    data(null)                         5               0
    ________________________________________________________________________________
    fc(FullyConnected)                 3               18      data
    ================================================================================
    Total params: 18
    ________________________________________________________________________________
    """
    nodes, heads = _graph(symbol)
    outputs, arguments = _shapes(symbol, shape)
    ends = [int(line_length * p) if p <= 1 else int(p) for p in positions]
    given, counted, total = set(shape or ()), set(), 0

    def row(fields: Iterable[Any]) -> None:
        line = ""
        for field, end in zip(fields, ends, strict=True):
            line = f"{line}{field}"[:end].ljust(end)
        print(line.rstrip())

    print("_" * line_length)
    row(("Layer (type)", "Output Shape", "Param #", "Previous Layer"))
    print("=" * line_length)
    shown = [(i, node) for i, node in enumerate(nodes) if node["op"] != "null" or i in heads or node["name"] in given]
    if not given:
        shown = [(i, n) for i, n in enumerate(nodes) if n["op"] != "null" or i in heads or _is_input(n["name"])]
    for place, (_, node) in enumerate(shown):
        before, count = [], 0
        for number, *_ in node["inputs"]:
            source = nodes[number]
            if source["op"] != "null" or source["name"] in given or (not given and _is_input(source["name"])):
                before.append(source["name"])
            elif source["name"] in arguments and not source["name"].endswith("_label") and number not in counted:
                count += int(onp.prod(arguments[source["name"]]))
                counted.add(number)
        total += count
        size = outputs.get(_output(node))
        text = "" if size is None else "x".join(map(str, size[1:]))
        row((f"{node['name']}({node['op']})", text, count if given else "", before[0] if before else ""))
        for name in before[1:]:
            row(("", "", "", name))
        print(("=" if place == len(shown) - 1 else "_") * line_length)
    print(f"Total params: {total if given else 'unknown, since no shape was given'}")
    print("_" * line_length)


def _is_input(name: str) -> bool:
    return not name.endswith((*_PARAMETERS, "_label"))


def _label(node: Mapping[str, Any]) -> str:
    """Return the text in a node: the operator and its main settings, or the name."""
    op, attrs = node["op"], node.get("attrs", {})
    if op in ("Convolution", "Deconvolution"):
        return f"{op}\n{_sizes(attrs, '1')}, {attrs['num_filter']}"
    if op == "Pooling":
        return f"Pooling\n{attrs.get('pool_type', 'max')}, {_sizes(attrs, '1')}"
    if op == "FullyConnected":
        return f"FullyConnected\n{attrs['num_hidden']}"
    if op in ("Activation", "LeakyReLU"):
        return f"{op}\n{attrs.get('act_type', 'leaky')}"
    return node["name"]


def _sizes(attrs: Mapping[str, str], stride: str) -> str:
    def joined(text: str) -> str:
        found = ast.literal_eval(text)
        return "x".join(map(str, found)) if isinstance(found, (tuple, list)) else str(found)

    return f"{joined(attrs.get('kernel', '()'))}/{joined(attrs.get('stride') or stride) or stride}"


def plot_network(
    symbol: Any,
    title: str = "plot",
    save_format: str = "pdf",
    shape: Mapping[str, Sequence[int]] | None = None,
    dtype: DTypeLike = None,
    node_attrs: Mapping[str, str] | None = None,
    hide_weights: bool = True,
) -> Any:
    """Return a drawing of a symbol, which a notebook shows and ``render()`` writes to a file.

    Parameters
    ----------
    symbol : Symbol
    title : str
        The name of the file.
    save_format : str
        Its format: ``'pdf'``, ``'png'``, ``'svg'`` ...
    shape : dict of str to tuple, optional
        Shapes of inputs; with them the edges tell shapes, without that of the batch.
    dtype
        Taken for ported code.
    node_attrs : dict, optional
        Attributes of graphviz for all nodes.
    hide_weights : bool
        Whether parameters are left out.

    Returns
    -------
    graphviz.Digraph

    Raises
    ------
    ImportError
        If the Python package graphviz is not installed.
    ValueError
        If `shape` does not tell all shapes.
    """
    try:
        digraph = importlib.import_module("graphviz").Digraph
    except ImportError as error:
        raise ImportError("plot_network needs graphviz: pip install graphviz, or gluonx[viz]") from error
    nodes, _ = _graph(symbol)
    outputs, _ = _shapes(symbol, shape)
    style = {"shape": "box", "fixedsize": "true", "width": "1.3", "height": "0.8034", "style": "filled"}
    dot, hidden = digraph(name=title, format=save_format), set()
    for node in nodes:
        if node["op"] == "null" and hide_weights and node["name"].endswith(_PARAMETERS):
            hidden.add(node["name"])
            continue
        own = {**style, "fillcolor": _PALETTE[_colour(node["op"])], **(node_attrs or {})}
        if node["op"] == "null":
            own["shape"] = "oval"
        dot.node(name=node["name"], label=_label(node), **own)
    for node in nodes:
        for number, *_ in node["inputs"]:
            source = nodes[number]
            if source["name"] in hidden:
                continue
            size = outputs.get(_output(source))
            label = "" if size is None else "x".join(map(str, size[1:]))
            dot.edge(node["name"], source["name"], label=label, dir="back", arrowtail="open")
    return dot


def __dir__() -> list[str]:
    return sorted(__all__)
