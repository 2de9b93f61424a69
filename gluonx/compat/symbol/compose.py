"""Making symbols: variables, operators on symbols, groups."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import jax.numpy as jnp
import numpy as np

from gluonx.compat import attribute
from gluonx.compat import name as names
from gluonx.compat.operators.row import LegacyOp
from gluonx.compat.symbol import table
from gluonx.compat.symbol.graph import Entry, Node, Outputs, is_hidden
from gluonx.errors import FormatError

if TYPE_CHECKING:
    from gluonx.compat.symbol.symbol import Symbol

_INITS = {"moving_mean": '["zero", {}]', "moving_avg": '["zero", {}]', "moving_var": '["one", {}]'}
_PRELU = '["Constant", {"value": 0.25}]'  # of the gamma of a LeakyReLU, which has none but as a PReLU
_BILINEAR = '["bilinear", {}]'
_MARKS = ("ctx_group", "lr_mult", "wd_mult", "force_mirroring", "mirror_stage")


def as_text(value: Any) -> str:
    """Return an attribute's value as MXNet writes it."""
    if isinstance(value, type | np.dtype):
        return jnp.dtype(value).name
    value = _plain(value)
    return value if isinstance(value, str) else str(value)


def _plain(value: Any) -> Any:
    """Return a value without NumPy's numbers in it, whose text is another one, and with tuples for lists."""
    if isinstance(value, list | tuple):
        return tuple(map(_plain, value))
    return value.item() if isinstance(value, np.generic) else value


def init_text(init: Any) -> str:
    """Return an initializer as ``__init__`` tells it."""
    if isinstance(init, str):
        return init
    if hasattr(init, "dumps"):
        return init.dumps()
    return json.dumps([type(init).__name__.lower(), getattr(init, "_kwargs", {})])


def marks_of(attr: Mapping[str, Any] | None, operator: bool = True) -> dict[str, str]:
    """Return the attributes that a user gave a node, with those of the scope around.

    Those of the scope are called ``__name__`` on an operator, which may have an attribute of that name itself.

    Raises
    ------
    TypeError
        If one is neither text nor, for ``__init__``, an initializer.
    """
    found: dict[str, str] = {}
    for key, value in (attr or {}).items():
        if not isinstance(value, str) and not (key == "__init__" and callable(value)):
            raise TypeError(f"attr: the attribute '{key}' must be a string, got {value!r}")
        found[key] = value if isinstance(value, str) else init_text(value)
    around = attribute.current().get(None)
    hidden = {key for key in around if not key.startswith("__") and (operator or is_hidden(key))}
    return {**{f"__{key}__" if key in hidden else key: value for key, value in around.items()}, **found}


def _single(value: Outputs, op: LegacyOp, what: str) -> Entry:
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
    given: dict[str, Outputs] = {n: v for n, v in kwargs.items() if isinstance(v, Outputs)}
    values = {n: v for n, v in kwargs.items() if not isinstance(v, Outputs) and not (v is None and n in op.inputs)}
    symbols = [s for a in args for s in (a if isinstance(a, list | tuple) and op.variadic else [a])]
    if op.variadic:
        listed = values.pop(op.inputs[0], None)
        symbols += list(listed) if isinstance(listed, list | tuple) else []
    positional = [s for s in symbols if isinstance(s, Outputs)]
    rest = [s for s in symbols if not isinstance(s, Outputs) and s is not None]
    free = [n for n in op.attrs if n not in values]
    if len(rest) > len(free):
        raise TypeError(f"{op.name}: {rest[0]!r} is no symbol")
    values.update(zip(free, rest, strict=False))
    marks = marks_of(attr)
    for key in _MARKS:  # these may be given to any operator
        if key in values and key not in op.attrs:
            marks[f"__{key}__"] = as_text(values.pop(key))
    texts = {n: as_text(v) for n, v in values.items() if v is not None or n in op.attrs}
    name = names.current().get(name, hint)
    if op.variadic:
        entries = [e for s in (*positional, *given.values()) for e in s._entries]
        texts.setdefault("num_args", str(len(entries)))
        if texts.get("sample_type") == "bilinear" and len(entries) == 1:  # UpSampling, whose weight is made
            entries.append((Node(f"{name}_weight", None, (), {**marks, **texts, "__init__": _BILINEAR}), 0))
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
    positional: Sequence[Outputs],
    given: Mapping[str, Outputs],
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
        init = _PRELU if (op.name, key) == ("LeakyReLU", "gamma") else _INITS.get(key) if key in op.aux else None
        if key in found:
            entry = _single(found[key], op, f"the input '{key}'")
            if init == _PRELU and entry[0].op is None:
                entry[0].attrs.setdefault("__init__", init)
        else:  # as MXNet's, it has all that was said
            begin = {} if init is None else {"__init__": init}
            entry = (Node(f"{name}_{key}", None, (), {**marks, **texts, **begin}), 0)
        entries.append(entry)
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
        label, attr = kwargs.pop("name", None), kwargs.pop("attr", None)
        kwargs.pop("out", None)
        return Outputs.kind(create(op, hint or name.lower(), args, kwargs, label, attr))

    make.__name__ = make.__qualname__ = name
    arrays = ", ".join(f"*{n}" if op.variadic else n for n in op.inputs)
    make.__doc__ = (
        f"The operator {op.name} on symbols ({arrays or 'no inputs'}); attributes: {', '.join(op.attrs) or 'none'}.\n\n"
        "Inputs that are not given become variables of their own. ``name`` and ``attr`` name and mark the result."
    )
    return make
