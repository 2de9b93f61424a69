"""Mixed precision written into a symbol: `amp_cast` nodes where a type must change.

A symbol knows its types without running: variables are float32 unless their ``__dtype__`` says otherwise, and each
operator gives what the policy says, or what comes in. So a cast stands only where it changes something, and one serves
every node that asks for the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from gluonx.amp import lists
from gluonx.amp.state import policy_for
from gluonx.compat.symbol import Symbol
from gluonx.compat.symbol.graph import Entry, Node, entry_name, walk
from gluonx.compat.symbol.infer import DTYPE_NUMBERS
from gluonx.compat.symbol.table import get
from gluonx.deferred.operators.amp_policy import Policy
from gluonx.ops.registry import OPS

if TYPE_CHECKING:
    from gluonx.dtype import DTypeLike


_CASTS = ("Cast", "amp_cast", "cast")
_HALF = ("float16", "bfloat16")


def convert_symbol(
    sym: Symbol,
    target_dtype: DTypeLike = "float16",
    target_dtype_ops: Iterable[str] | None = None,
    fp32_ops: Iterable[str] | None = None,
    conditional_fp32_ops: Iterable[tuple[str, str, Iterable[Any]]] | None = None,
    excluded_sym_names: Iterable[str] | None = None,
    data_names: Iterable[str] | None = None,
    cast_optional_params: bool = False,
) -> Symbol:
    """Return a symbol of float32 as one of mixed precision, whose outputs are float32.

    Parameters
    ----------
    sym : Symbol
    target_dtype, target_dtype_ops, fp32_ops, conditional_fp32_ops
        As for :func:`gluonx.amp.init`.
    excluded_sym_names : list of str, optional
        Nodes that run in float32.
    data_names : list of str, optional
        The inputs that are no parameters; accepted for ported code.
    cast_optional_params : bool
        Of :func:`convert_model`; the symbol is the same.

    Returns
    -------
    Symbol

    Raises
    ------
    TypeError
        If `sym` is no Symbol.
    ValueError
        For an unknown operator, node or input.

    Examples
    --------
    >>> from gluonx import amp, symbol
    >>> net = symbol.softmax(symbol.FullyConnected(symbol.var("data"), num_hidden=2, name="fc"), name="out")
    >>> [n for n in amp.convert_symbol(net).get_internals().list_outputs() if "cast" in n][:2]
    ['data_amp_cast_float16_output', 'fc_weight_amp_cast_float16_output']
    """
    if not isinstance(sym, Symbol):
        raise TypeError(f"amp.convert_symbol: a Symbol was expected, got {type(sym).__name__}")
    policy = policy_for(target_dtype, target_dtype_ops, fp32_ops, conditional_fp32_ops)
    order = walk(sym._entries)
    excluded = set(excluded_sym_names or ())
    unknown = excluded - {node.name for node in order}
    if unknown:
        raise ValueError(f"amp.convert_symbol: the symbol has no node called {min(unknown)!r}")
    absent = set(data_names or ()) - set(sym.list_inputs())
    if absent:
        raise ValueError(f"amp.convert_symbol: the symbol has no input called {min(absent)!r}")
    writer = _Writer(policy, excluded)
    for node in order:
        writer.add(node)
    return Symbol([writer.head(entry) for entry in sym._entries], sym._modern)


class _Writer:
    """Copy the graph, with casts."""

    def __init__(self, policy: Policy, excluded: set[str]) -> None:
        self.policy, self.excluded = policy, excluded
        self.new: dict[int, Node] = {}
        self.kinds: dict[int, str] = {}  # of a new node's outputs, by its id
        self.casts: dict[tuple[int, int, str], Entry] = {}

    def moved(self, entry: Entry) -> Entry:
        return self.new[id(entry[0])], entry[1]

    def head(self, entry: Entry) -> Entry:
        """Return an output of the symbol, which is in float32 unless the symbol itself casts it."""
        made = self.moved(entry)
        is_cast = entry[0].op is None or entry[0].op.name in _CASTS
        return made if is_cast else self.cast(made, self.kinds[id(made[0])], "float32")

    def add(self, node: Node) -> None:
        inputs = [self.moved(entry) for entry in node.inputs]
        kinds = [self.kinds[id(source)] for source, _ in inputs]
        kind = _declared(node) if node.op is None else kinds[0] if kinds else "float32"
        wanted = self.wanted(node, kinds)
        if wanted is not None:
            fixed = set(node.aux_positions)
            inputs = [e if i in fixed else self.cast(e, k, wanted) for i, (e, k) in enumerate(zip(inputs, kinds))]
            kind = wanted
        elif node.op is not None and node.op.name in _CASTS:
            kind = np.dtype(node.parsed.dtype).name
        elif node.op is not None and node.op.name == "Embedding":
            kind = kinds[1]
        made = self.new[id(node)] = Node(node.name, node.op, inputs, node.attrs, node.subgraphs)
        self.kinds[id(made)] = kind

    def wanted(self, node: Node, kinds: list[str]) -> str | None:
        """Return the type that a node's inputs are to have."""
        if node.op is None or node.op.name in _CASTS:
            return None
        if node.name in self.excluded:
            return "float32"
        try:
            name = lists.core_name(node.op.name)
        except ValueError:
            return None
        if name in self.policy.low:
            return self.policy.target.name
        attribute, values = self.policy.conditional.get(name, ("", ()))
        if name in self.policy.single or (values and getattr(node.parsed, attribute) in values):
            return "float32"
        widest = OPS[name].amp == "widest"
        return "float32" if widest and "float32" in kinds and set(kinds) & set(_HALF) else None

    def cast(self, entry: Entry, kind: str, wanted: str) -> Entry:
        """Return the entry in another type; itself where it has it, or is none of the types that are cast."""
        if kind == wanted or kind not in ("float32", *_HALF) or (wanted in _HALF and kind in _HALF):
            return entry
        key = (id(entry[0]), entry[1], wanted)
        if key not in self.casts:
            made = Node(f"{entry_name(entry)}_amp_cast_{wanted}", get("amp_cast"), [entry], {"dtype": wanted})
            self.kinds[id(made)] = wanted
            self.casts[key] = made, 0
        return self.casts[key]


def _declared(node: Node) -> str:
    number = int(node.attrs.get("__dtype__", 0))
    return DTYPE_NUMBERS[number] if 0 <= number < len(DTYPE_NUMBERS) else "float32"


def convert_model(
    sym: Symbol,
    arg_params: Mapping[str, Any],
    aux_params: Mapping[str, Any],
    target_dtype: DTypeLike = "float16",
    target_dtype_ops: Iterable[str] | None = None,
    fp32_ops: Iterable[str] | None = None,
    conditional_fp32_ops: Iterable[tuple[str, str, Iterable[Any]]] | None = None,
    excluded_sym_names: Iterable[str] | None = None,
    cast_optional_params: bool = False,
) -> tuple[Symbol, dict[str, Any], dict[str, Any]]:
    """Return a symbol and its parameters in mixed precision; see :func:`convert_symbol`.

    Parameters
    ----------
    sym : Symbol
    arg_params, aux_params : dict of str to ndarray
    cast_optional_params : bool
        Whether parameters that are only ever cast to `target_dtype` are given in it.

    Returns
    -------
    tuple of Symbol, dict, dict

    Raises
    ------
    TypeError, ValueError
        As :func:`convert_symbol`.

    Examples
    --------
    >>> from gluonx import amp, np, sym
    >>> net = sym.FullyConnected(sym.var("data"), num_hidden=2, name="fc")
    >>> params = {"fc_weight": np.ones((2, 3)), "fc_bias": np.ones(2)}
    >>> _, args, _ = amp.convert_model(net, params, {}, "bfloat16", cast_optional_params=True)
    >>> args["fc_weight"].dtype
    dtype(bfloat16)
    """
    converted = convert_symbol(sym, target_dtype, target_dtype_ops, fp32_ops, conditional_fp32_ops, excluded_sym_names)
    target = lists.target_of(target_dtype).name
    users: dict[str, set[str]] = {}
    for node in walk(converted._entries):
        for source, _ in node.inputs:
            if source.op is None:
                is_cast = node.op is not None and node.op.name == "amp_cast" and node.attrs["dtype"] == target
                users.setdefault(source.name, set()).add("cast" if is_cast else "other")
    low = {name for name, kinds in users.items() if kinds == {"cast"}} if cast_optional_params else set[str]()
    args = {name: value.astype(target) if name in low else value for name, value in arg_params.items()}
    return converted, args, dict(aux_params)
