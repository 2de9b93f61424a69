"""Loops and branches in graphs: ``_foreach``, ``_while_loop`` and ``_cond``, whose bodies are graphs of their own.

A body's variables are numbered in the order in which they are met; the node's attributes say which of its inputs each
of them is. The loops run as ``npx.foreach``, ``npx.while_loop`` and ``npx.cond``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gluonx import npx
from gluonx.compat.operators.row import LegacyOp
from gluonx.compat.symbol.graph import Entry, Node, variables, walk
from gluonx.compat.symbol.ops2 import TABLE
from gluonx.compat.symbol.run import CONTROL, plan, run
from gluonx.errors import DeferredInitializationError, FormatError


def _alone(attrs: Any, *inputs: Any) -> Any:
    raise DeferredInitializationError("a loop needs all its shapes")


for _signature in (
    "_foreach(*data; num_outputs: int, num_out_data: int, in_state_locs: shape, in_data_locs: shape, "
    "remain_locs: shape, in_state_index: shape?=None)",
    "_while_loop(*data; num_outputs: int, num_out_data: int, max_iterations: int, cond_input_locs: shape, "
    "func_input_locs: shape, func_var_locs: shape)",
    "_cond(*data; num_outputs: int, cond_input_locs: shape, then_input_locs: shape, else_input_locs: shape)",
):
    _op = LegacyOp(_signature, _alone, nout=lambda a: a.num_outputs)
    TABLE[_op.name] = _op


class _Body:
    """A graph as a function of its variables' values."""

    def __init__(self, node: Node, number: int) -> None:
        if number >= len(node.subgraphs):
            raise FormatError(f"node '{node.name}' lacks its subgraph number {number}")
        self.entries: Sequence[Entry] = node.subgraphs[number]
        order = walk(self.entries)
        self.order, self.variables = plan(self.entries), variables(order)

    def __call__(self, values: Sequence[Any]) -> list[Any]:
        known = {id(v): value for v, value in zip(self.variables, values, strict=True)}
        return run(self.order, self.entries, known)


def _checked(node: Node, name: str, limit: int, count: int | None = None) -> tuple[int, ...]:
    """Return an attribute that numbers things, of which there are `limit`."""
    places = node.parsed[name]
    if any(p is None or not 0 <= p < limit for p in places) or (count is not None and len(places) != count):
        raise FormatError(f"node '{node.name}': {name} is {places}, but there are {limit} things to number")
    return places


def _foreach(node: Node, inputs: list[Any]) -> Sequence[Any]:
    body = _Body(node, 0)
    count, outs = len(body.variables), node.parsed.num_out_data
    places = [p for n in ("in_data_locs", "in_state_locs", "remain_locs") for p in _checked(node, n, count)]
    if sorted(places) != list(range(count)) or len(inputs) != count:
        raise FormatError(f"node '{node.name}': its locations do not tell what each of its {count} variables is")
    n_data, n_states = len(node.parsed.in_data_locs), len(node.parsed.in_state_locs)
    rest = inputs[n_data + n_states :]

    def step(items: list[Any], states: list[Any]) -> tuple[list[Any], list[Any]]:
        by_place = dict(zip(places, [*items, *states, *rest], strict=True))
        found = body([by_place[i] for i in range(count)])
        return found[:outs], found[outs:]

    stacked, last = npx.foreach(step, inputs[:n_data], inputs[n_data : n_data + n_states])
    return [*stacked, *last]


def _while_loop(node: Node, inputs: list[Any]) -> Sequence[Any]:
    test, body = _Body(node, 0), _Body(node, 1)
    test_locs = _checked(node, "cond_input_locs", len(inputs), len(test.variables))
    body_locs = _checked(node, "func_input_locs", len(inputs), len(body.variables))
    loop = [body_locs[place] for place in _checked(node, "func_var_locs", len(body.variables))]
    outs = node.parsed.num_out_data

    def now(values: Sequence[Any]) -> list[Any]:
        changing = dict(zip(loop, values, strict=True))
        return [changing.get(i, x) for i, x in enumerate(inputs)]

    def condition(*values: Any) -> Any:
        return test([now(values)[i] for i in test_locs])[0]

    def step(*values: Any) -> tuple[list[Any], list[Any]]:
        found = body([now(values)[i] for i in body_locs])
        return found[:outs], found[outs:]

    stacked, last = npx.while_loop(condition, step, [inputs[i] for i in loop], node.parsed.max_iterations)
    return [*stacked, *last]


def _cond(node: Node, inputs: list[Any]) -> Sequence[Any]:
    parts = [_Body(node, i) for i in range(3)]
    names = ("cond_input_locs", "then_input_locs", "else_input_locs")
    places = [_checked(node, n, len(inputs), len(p.variables)) for n, p in zip(names, parts, strict=True)]
    test, then, other = (
        lambda *values, part=part, locs=locs: part([values[i] for i in locs])
        for part, locs in zip(parts, places, strict=True)
    )
    return npx.cond(test(*inputs)[0], then, other, inputs)


CONTROL.update({"_foreach": _foreach, "_while_loop": _while_loop, "_cond": _cond})
