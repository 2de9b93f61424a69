"""Making symbols: variables, operators on symbols, groups."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import jax.numpy as jnp
import numpy as np

from gluonx.compat import attribute
from gluonx.compat import name as names
from gluonx.compat.operators.row import LegacyOp
from gluonx.compat.symbol import table
from gluonx.compat.symbol.graph import Entry, Node
from gluonx.errors import FormatError

if TYPE_CHECKING:
    from gluonx.compat.symbol.symbol import Symbol

_INITS = {"moving_mean": '["zero", {}]', "moving_var": '["one", {}]'}


def as_text(value: Any) -> str:
    """Return an attribute's value as MXNet writes it."""
    if isinstance(value, type | np.dtype):
        return jnp.dtype(value).name
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, list):
        value = tuple(value)
    return value if isinstance(value, str) else str(value)


def marks_of(attr: Mapping[str, Any] | None) -> dict[str, str]:
    """Return the attributes that a user gave a node, with those of the scope around; TypeError unless they are text."""
    for key, value in (attr or {}).items():
        if not isinstance(value, str):
            raise TypeError(f"attr: the attribute '{key}' must be a string, got {value!r}")
    return attribute.current().get(attr)


def _single(value: Symbol, op: LegacyOp, what: str) -> Entry:
    if len(value._entries) != 1:
        raise ValueError(f"{op.name}: {what} must be one output, but a symbol of {len(value._entries)} was given")
    return value._entries[0]


def create(
    op: LegacyOp,
    hint: str,
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
) -> list[Entry]:
    """Return the outputs of an operator on symbols; inputs that nobody gave become variables.

    Raises
    ------
    TypeError
        If an attribute is unknown or missing, or an input is no symbol.
    """
    from gluonx.compat.symbol.symbol import Symbol

    given: dict[str, Symbol] = {n: v for n, v in kwargs.items() if isinstance(v, Symbol)}
    values = {n: v for n, v in kwargs.items() if not isinstance(v, Symbol) and not (v is None and n in op.inputs)}
    symbols = [s for a in args for s in (a if isinstance(a, list | tuple) and op.variadic else [a])]
    if op.variadic:
        listed = values.pop(op.inputs[0], None)
        symbols += list(listed) if isinstance(listed, list | tuple) else []
    positional = [s for s in symbols if isinstance(s, Symbol)]
    rest = [s for s in symbols if not isinstance(s, Symbol) and s is not None]
    free = [n for n in op.attrs if n not in values]
    if len(rest) > len(free):
        raise TypeError(f"{op.name}: {rest[0]!r} is no symbol")
    values.update(zip(free, rest, strict=False))
    texts = {n: as_text(v) for n, v in values.items() if v is not None or n in op.attrs}
    marks = marks_of(attr)
    name = names.current().get(name, hint)
    if op.variadic:
        entries = [e for s in (*positional, *given.values()) for e in s._entries]
        texts.setdefault("num_args", str(len(entries)))
    else:
        entries = _bound_inputs(op, name, positional, given, texts, marks)
    try:
        node = Node(name, op, entries, {**marks, **texts})
    except FormatError as error:
        raise TypeError(str(error)) from None
    return [(node, i) for i in range(node.nout)]


def _bound_inputs(
    op: LegacyOp,
    name: str,
    positional: Sequence[Symbol],
    given: Mapping[str, Symbol],
    texts: Mapping[str, str],
    marks: Mapping[str, str],
) -> list[Entry]:
    wanted = op.input_names(op.parse(texts))
    if len(positional) > len(wanted):
        raise TypeError(f"{op.name} takes {len(wanted)} inputs ({', '.join(wanted)}), got {len(positional)}")
    found = dict(zip(wanted, positional, strict=False))
    for key, value in given.items():
        if key not in wanted:
            raise TypeError(f"{op.name} has no input '{key}' (it has: {', '.join(wanted) or 'none'})")
        if key in found:
            raise TypeError(f"{op.name} got two symbols for the input '{key}'")
        found[key] = value
    entries: list[Entry] = []
    for key in wanted:
        if key in found:
            entries.append(_single(found[key], op, f"the input '{key}'"))
        else:
            init = {"__init__": _INITS[key]} if key in op.aux and key in _INITS else {}
            entries.append((Node(f"{name}_{key}", None, (), {**marks, **init}), 0))
    return entries


def function(name: str, hint: str | None = None) -> Callable[..., Any]:
    """Return the function that makes a symbol of the operator `name`.

    Raises
    ------
    KeyError
        If there is no such operator.
    """
    op = table.get(name)

    def make(*args: Any, **kwargs: Any) -> Symbol:
        from gluonx.compat.symbol.symbol import Symbol

        label, attr = kwargs.pop("name", None), kwargs.pop("attr", None)
        kwargs.pop("out", None)
        return Symbol(create(op, hint or name.lower(), args, kwargs, label, attr))

    make.__name__ = make.__qualname__ = name
    arrays = ", ".join(f"*{n}" if op.variadic else n for n in op.inputs)
    make.__doc__ = (
        f"The operator {op.name} on symbols ({arrays or 'no inputs'}); attributes: {', '.join(op.attrs) or 'none'}.\n\n"
        "Inputs that are not given become variables of their own. ``name`` and ``attr`` name and mark the result."
    )
    return make
