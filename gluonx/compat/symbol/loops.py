"""Loops and branches made of symbols: ``sym.contrib.foreach``, ``while_loop`` and ``cond``.

A body is called once, with variables in the place of what changes, and what it gives becomes a graph of its own. Nodes
that it made itself, which an attribute tells apart, are in that graph; of everything else that it uses the graph has a
variable, and the loop one more input.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from gluonx.compat import attribute
from gluonx.compat import name as names
from gluonx.compat.symbol.control import CONTROL as CONTROL
from gluonx.compat.symbol.graph import Entry, Node, entry_name, variables, walk
from gluonx.compat.symbol.symbol import Symbol
from gluonx.compat.symbol.table import get

_MARK = "__subgraph_name__"


def _flat(tree: Any, what: str) -> tuple[list[Symbol], Callable[[Sequence[Any]], Any]]:
    """Return the symbols in nested lists, and what puts as many others into their places."""
    if isinstance(tree, Symbol):
        return [tree[i] for i in range(len(tree))], lambda new: new[0] if len(new) == 1 else Symbol(_entries(new))
    if not isinstance(tree, (list, tuple)):
        raise TypeError(f"{what} must be a symbol or a list of them, got {type(tree).__name__}")
    parts = [_flat(part, what) for part in tree]

    def back(new: Sequence[Any]) -> list[Any]:
        rest, found = list(new), []
        for leaves, put in parts:
            found.append(put(rest[: len(leaves)]))
            del rest[: len(leaves)]
        return found

    return [leaf for leaves, _ in parts for leaf in leaves], back


def _entries(symbols: Sequence[Symbol]) -> list[Entry]:
    return [entry for s in symbols for entry in s._entries]


class _Cut:
    """A body's results as a graph of its own over its variables, and what it takes from outside."""

    def __init__(self, outputs: Sequence[Entry], mark: str, own: Sequence[Node]) -> None:
        self.outside: dict[tuple[int, int], tuple[Entry, Node]] = {}
        inner = {id(node) for node in own}
        moved: dict[int, Node] = {}

        def of(entry: Entry) -> Entry:
            node, index = entry
            if id(node) in inner:
                return entry
            if id(node) in moved:
                return moved[id(node)], index
            if (id(node), index) not in self.outside:
                self.outside[id(node), index] = entry, Node(entry_name(entry))
            return self.outside[id(node), index][1], 0

        for node in walk(outputs):
            if node.op is not None and node.attrs.get(_MARK) == mark:
                attrs = {k: v for k, v in node.attrs.items() if k != _MARK}
                moved[id(node)] = Node(node.name, node.op, [of(e) for e in node.inputs], attrs, node.subgraphs)
        copy = get("_copy")  # an output must be one of an operator's
        self.entries = []
        for entry in map(of, outputs):
            plain = entry[0].op is None
            self.entries.append((Node(f"{entry[0].name}_copy", copy, [entry]), 0) if plain else entry)
        order = variables(walk(self.entries))
        self.places = {id(node): i for i, node in enumerate(order)}
        self.variables = order

    def place(self, node: Node, what: str) -> int:
        if id(node) not in self.places:
            raise ValueError(f"{what} '{node.name}' plays no part in what the body gives; leave it out")
        return self.places[id(node)]


def _called(function: Callable[..., Any], mark: str, *args: Any) -> Any:
    with attribute.AttrScope(**{_MARK: mark}):
        return function(*args)


def _variables(count: int, stem: str) -> list[Symbol]:
    return [Symbol([(Node(f"{stem}{i}"), 0)]) for i in range(count)]


def _nodes(symbols: Sequence[Symbol]) -> list[Node]:
    return [s._entries[0][0] for s in symbols]


def _made(op: str, name: str, inputs: Sequence[Entry], attrs: dict[str, Any], graphs: Sequence[Any]) -> list[Symbol]:
    texts = {key: str(value) for key, value in attrs.items()}
    texts["num_args"] = str(len(inputs) + len(graphs))
    node = Node(name, get(op), inputs, {**attribute.current().get(None), **texts}, tuple(graphs))
    return [Symbol([(node, i)]) for i in range(node.nout)]


def foreach(body: Callable[..., Any], data: Any, init_states: Any, name: str = "foreach") -> tuple[Any, Any]:
    """``body(item, states) -> (output, states)`` over the first axis of `data`.

    Parameters
    ----------
    body : callable
        Called once, with variables.
    data, init_states : Symbol, or list of Symbol
    name : str

    Returns
    -------
    outputs, states
        The outputs behind each other along a new first axis, and the last states; in lists as `body` gives them.

    Raises
    ------
    ValueError
        If `body` gives other states than it got, or does not use one of its variables.

    Examples
    --------
    >>> from gluonx import np, sym
    >>> x, begin = sym.var("x"), sym.var("begin")
    >>> outs, last = foreach(lambda item, total: (item + total, item + total), x, begin)
    >>> outs.eval(x=np.array([1.0, 2.0, 3.0]), begin=np.array(0.0))[0].tolist()
    [1.0, 3.0, 6.0]
    """
    name = names.current().get(None, name)
    items, put_items = _flat(data, "foreach: data")
    states, put_states = _flat(init_states, "foreach: init_states")
    inner, kept = _variables(len(items), f"{name}_data"), _variables(len(states), f"{name}_state")
    out, new_states = _called(body, name, put_items(inner), put_states(kept))
    outs, put_outs = _flat(out, "foreach: the output")
    after, put_after = _flat(new_states, "foreach: the states")
    if len(after) != len(states):
        raise ValueError(f"foreach: the body got {len(states)} states, but gave {len(after)}")
    cut = _Cut(_entries([*outs, *after]), name, _nodes([*inner, *kept]))
    attrs = {
        "num_outputs": len(outs) + len(after),
        "num_out_data": len(outs),
        "in_data_locs": tuple([cut.place(n, "foreach: the item") for n in _nodes(inner)]),
        "in_state_locs": tuple([cut.place(n, "foreach: the state") for n in _nodes(kept)]),
        "remain_locs": tuple([cut.place(n, "foreach:") for _, n in cut.outside.values()]),
    }
    inputs = [*_entries([*items, *states]), *[entry for entry, _ in cut.outside.values()]]
    made = _made("_foreach", name, inputs, attrs, [cut.entries])
    return put_outs(made[: len(outs)]), put_after(made[len(outs) :])


def _joined(cuts: Sequence[_Cut], first: Sequence[tuple[Entry, Node]]) -> tuple[list[Entry], list[tuple[int, ...]]]:
    """All inputs, those in `first` first, each once; and which of them each variable of each cut is."""
    inputs = [entry for entry, _ in first]
    known = {id(node): i for i, (_, node) in enumerate(first)}
    places = {}
    for cut in cuts:
        for key, (entry, node) in cut.outside.items():
            if key not in places:
                places[key] = len(inputs)
                inputs.append(entry)
            known[id(node)] = places[key]
    return inputs, [tuple([known[id(node)] for node in cut.variables]) for cut in cuts]


def while_loop(
    cond: Callable[..., Any],
    func: Callable[..., Any],
    loop_vars: Any,
    max_iterations: int | None = None,
    name: str = "while_loop",
) -> tuple[Any, Any]:
    """``func(*loop_vars) -> (output, loop_vars)`` as long as ``cond(*loop_vars)``, at most `max_iterations` times.

    Parameters
    ----------
    cond, func : callable
        Called once, with variables.
    loop_vars : Symbol, or list of Symbol
    max_iterations : int
    name : str

    Returns
    -------
    outputs, loop_vars
        The outputs behind each other along a new first axis of length `max_iterations`, and the last variables.

    Raises
    ------
    ValueError
        If `max_iterations` is missing, or `func` gives other variables than it got.
    """
    if max_iterations is None:
        raise ValueError("while_loop: max_iterations must be given")
    name = names.current().get(None, name)
    begin, put = _flat(loop_vars, "while_loop: loop_vars")
    inner = _variables(len(begin), f"{name}_var")
    packed = put(inner) if isinstance(loop_vars, (list, tuple)) else inner
    test = _Cut(_called(cond, name, *packed)._entries, name, _nodes(inner))
    out, new = _called(func, name, *packed)
    outs, put_outs = _flat(out, "while_loop: the output")
    after, put_after = _flat(new, "while_loop: the variables")
    if len(after) != len(begin):
        raise ValueError(f"while_loop: func got {len(begin)} variables, but gave {len(after)}")
    body = _Cut(_entries([*outs, *after]), name, _nodes(inner))
    first = list(zip(_entries(begin), _nodes(inner), strict=True))
    inputs, (test_locs, body_locs) = _joined([test, body], first)
    attrs = {
        "num_outputs": len(outs) + len(after),
        "num_out_data": len(outs),
        "max_iterations": int(max_iterations),
        "cond_input_locs": test_locs,
        "func_input_locs": body_locs,
        "func_var_locs": tuple([body.place(n, "while_loop: the variable") for n in _nodes(inner)]),
    }
    made = _made("_while_loop", name, inputs, attrs, [test.entries, body.entries])
    return put_outs(made[: len(outs)]), put_after(made[len(outs) :])


def cond(pred: Any, then_func: Callable[[], Any], else_func: Callable[[], Any], name: str = "cond") -> Any:
    """Return what one of two functions without arguments gives, as `pred` decides.

    Parameters
    ----------
    pred : Symbol
        Of one element.
    then_func, else_func : callable
        Both are called once; they give symbols of the same number and shapes.
    name : str

    Raises
    ------
    ValueError
        If the two give different numbers of symbols.
    """
    name = names.current().get(None, name)
    test = _Cut(pred._entries, name, [])
    parts = [_flat(_called(f, name), "cond: the result") for f in (then_func, else_func)]
    if len(parts[0][0]) != len(parts[1][0]):
        raise ValueError(f"cond: then_func gives {len(parts[0][0])} symbols, else_func {len(parts[1][0])}")
    cuts = [test, *[_Cut(_entries(found), name, []) for found, _ in parts]]
    inputs, places = _joined(cuts, [])
    words = ("cond_input_locs", "then_input_locs", "else_input_locs")
    attrs = {"num_outputs": len(parts[0][0]), **dict(zip(words, places, strict=True))}
    return parts[0][1](_made("_cond", name, inputs, attrs, [cut.entries for cut in cuts]))
