"""The graph behind symbols: nodes and the edges between them.

A *node* is an operator with its attributes as MXNet writes them, strings, or a variable. An *entry* is one output of a
node. Nodes know their inputs only, so a graph is what can be reached from entries, and cannot have a cycle: the inputs
of a node exist before it does (:mod:`gluonx.compat.symbol.files` sees to it for graphs that come from a file).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, ClassVar

from gluonx.compat.operators.row import LegacyOp
from gluonx.errors import FormatError

_HIDDEN = frozenset(
    ["ctx_group", "force_mirroring", "lr_mult", "mirror_stage", "profiler_scope", "storage_type", "wd_mult"]
)
_MAX_OUTPUTS = 1 << 16
# How MXNet 2 writes some attributes, which it reads under another name.
_RENAMED = {"decimal": "decimals", "is_ascend_s": "is_ascend"}


def is_hidden(key: str) -> bool:
    """Return whether an attribute is one of the user's or of the tools', and none of the operator's."""
    return (key.startswith("__") and key.endswith("__")) or key in _HIDDEN or key.endswith(("_lr_mult", "_wd_mult"))


class Outputs:
    """Base of `Symbol`: what composing symbols has to know of that class, which is made with what composes them."""

    __slots__ = ()
    _entries: list[Entry]
    kind: ClassVar[Callable[[list[Entry]], Any]]
    """The class itself, which makes a symbol of entries."""


class Node:
    """A variable (``op`` is None) or an operator on entries.

    Attributes
    ----------
    name : str
    op : LegacyOp or None
    inputs : list of (Node, int)
    attrs : dict of str to str
        As MXNet writes them, hidden ones (``__lr_mult__``) included.
    parsed : Attrs
        The operator's own attributes as values, defaults filled in.
    nout : int
        How many outputs others can use.
    subgraphs : tuple of Symbol
        Of control-flow operators.
    told : dict
        What it told of shapes, by what was known of them; see `gluonx.compat.symbol.infer`.
    """

    __slots__ = ("__weakref__", "attrs", "inputs", "name", "nout", "op", "parsed", "subgraphs", "told")

    def __init__(
        self,
        name: str,
        op: LegacyOp | None = None,
        inputs: Sequence[Entry] = (),
        attrs: Mapping[str, str] | None = None,
        subgraphs: tuple[Any, ...] = (),
    ) -> None:
        self.name, self.op, self.inputs, self.attrs = name, op, list(inputs), dict(attrs or {})
        self.subgraphs = subgraphs
        self.told: dict[Any, Any] = {}
        self.parsed: Any = None
        self.nout = 1
        if op is not None:
            try:
                # An attribute that gluonx does not know and that nobody set says nothing.
                own = {_RENAMED.get(k, k): v for k, v in self.attrs.items() if not is_hidden(k)}
                own = {k: v for k, v in own.items() if k in op.attrs or v != "None"}
                self.parsed = op.parse(own)
                self.nout = op.num_outputs(self.parsed, len(self.inputs))
            except (TypeError, ValueError) as error:
                raise FormatError(f"node '{name}': {error}") from None
            except OverflowError as error:
                raise FormatError(f"node '{name}' ({op.name}): an attribute is out of range ({error})") from None
            if not 1 <= self.nout <= _MAX_OUTPUTS:
                raise FormatError(f"node '{name}' ({op.name}) would have {self.nout} outputs")

    @property
    def input_names(self) -> tuple[str, ...]:
        """The operator's names of its inputs; ``arg0``, ``arg1`` and so on where it takes any number."""
        if self.op is None:
            return ()
        if self.op.variadic:
            return tuple(f"arg{i}" for i in range(len(self.inputs)))
        return self.op.input_names(self.parsed)

    @property
    def aux_positions(self) -> list[int]:
        """The positions of the inputs that are auxiliary states."""
        aux = self.op.aux_names(self.parsed) if self.op is not None else ()
        return [i for i, name in enumerate(self.input_names) if name in aux] if aux else []

    def __repr__(self) -> str:
        return f"<node {self.name}: {self.op.name if self.op else 'variable'}>"


Entry = tuple[Node, int]


def walk(entries: Iterable[Entry]) -> list[Node]:
    """All nodes below, each after its inputs, in MXNet's order (depth first, inputs from left to right)."""
    order: list[Node] = []
    seen: set[int] = set()
    stack: list[tuple[Node, int]] = [(node, 0) for node, _ in reversed(list(entries))]
    while stack:
        node, at = stack.pop()
        if at == 0:
            if id(node) in seen:
                continue
            seen.add(id(node))
        if at < len(node.inputs):
            stack.append((node, at + 1))
            stack.append((node.inputs[at][0], 0))
        else:
            order.append(node)
    return order


def aux_nodes(order: Iterable[Node]) -> set[int]:
    """Return the ids of the variables that some operator uses as an auxiliary state."""
    found: set[int] = set()
    for node in order:
        found.update([id(node.inputs[i][0]) for i in node.aux_positions if i < len(node.inputs)])
    return found


def variables(order: Iterable[Node]) -> list[Node]:
    """Return the variables among these nodes."""
    return [node for node in order if node.op is None]


def entry_name(entry: Entry) -> str:
    """Return the name of an output: the node's name with ``_output``, or with the operator's word for it."""
    node, index = entry
    if node.op is None:
        return node.name
    words = node.op.output_names(node.parsed)
    if index < len(words):
        return f"{node.name}_{words[index]}"
    return f"{node.name}_output{index}" if node.nout > 1 else f"{node.name}_output"
