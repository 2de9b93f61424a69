"""``npx`` functions from core operators: every operator can be called as a function on ndarrays by each of its names.

The signature is the operator's (arrays, then statics, in the order of declaration) or, where MXNet has another, what
the record's ``npx`` says (`gluonx.ops.registry.Front`). A function is made when it is first looked up.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from gluonx.common.frames import shorten
from gluonx.np.building import document
from gluonx.np.calling import general
from gluonx.np.table import IGNORED
from gluonx.np.wrapping import Param, declared, ordered
from gluonx.ops.registry import OPS, Op

_Made = TypeVar("_Made")


def parameters_of(op: Op, name: str) -> tuple[Param, ...]:
    """Return the parameters of the function `name` in the order in which callers give them.

    Raises
    ------
    KeyError
        If the record's ``npx`` names a parameter that the operator does not have.
    """
    rows = ordered(op, _order(op, name))
    seen = {p.name for p in rows}.union(op.npx.hidden.split())
    further = [p for p in declared(op).values() if p.name not in seen]
    ignored = [Param(key, "dropped", None) for key in sorted(IGNORED - seen.union(op.inputs, op.attr_names))]
    return (*rows, *further, *ignored)


def _order(op: Op, name: str) -> str:
    """Return the record's order; names in CamelCase are of MXNet 1 and take the operator's own."""
    return op.npx.order if name == op.name else ""


def shown_as(op: Op) -> dict[str, str]:
    """Return MXNet's names of an operator's arrays, where it has other names for them."""
    if op.npx.shown:
        return dict(op.npx.shown)
    return {"x": "data"} if op.inputs[:1] == ("x",) else {}


def make_function(name: str) -> Callable[..., Any]:
    """Return the function for the core operator called `name`.

    Raises
    ------
    AttributeError
        If there is no such operator.

    Examples
    --------
    >>> from gluonx import np
    >>> make_function("relu")(np.array([-1.0, 2.0])).tolist()
    [0.0, 2.0]
    """
    op = OPS.get(name)
    if op is None:
        raise AttributeError(f"gluonx.npx has no function '{name}'")
    params = parameters_of(op, name)
    shown = shown_as(op)
    renamed = {**_renamed(op, params), **{theirs: ours for ours, theirs in shown.items()}}
    front = general(op, f"npx.{name}", params, renamed=renamed, shown=shown, listed=op.nout != 1)
    if op.npx.unset:
        front = _without_none(front, params, frozenset(op.npx.unset.split()))
    ordered = {word.partition("=")[0] for word in _order(op, name).split()}
    told = [p for p in params if p.role != "dropped" or p.name in ordered]
    return document(front, op, name, told, "gluonx.npx", shown)


def _renamed(op: Op, params: tuple[Param, ...]) -> Mapping[str, str]:
    first = params[0].name
    common = {key: first for key in ("data", "x", "a") if key not in {p.name for p in params}}
    return {**common, **op.npx.also}


def _without_none(
    front: Callable[..., _Made], params: tuple[Param, ...], optional: frozenset[str]
) -> Callable[..., _Made]:
    """`front`, for which None in some parameters means that they are not given."""
    names = [p.name for p in params]

    def cleaned(*args: object, **kwargs: object) -> _Made:
        try:
            if None in args[1:] or (kwargs and None in kwargs.values()):
                kwargs = {**dict(zip(names, args, strict=False)), **kwargs}
                return front(**{k: v for k, v in kwargs.items() if v is not None or k not in optional})
            return front(*args, **kwargs)
        except Exception as error:
            shorten(error)
            raise

    return cleaned
