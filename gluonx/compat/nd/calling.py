"""From a row of the table to a function that is called as MXNet's generated ones were.

Arrays come first, then attributes in the order of registration; both may be named. ``out``, behind them or by its name,
takes the result; ``name`` is read by nobody.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from gluonx.common.frames import door
from gluonx.compat.nd.ndarray import as_nd
from gluonx.compat.operators.row import LegacyOp
from gluonx.deferred.values.core import Handle

if TYPE_CHECKING:
    from gluonx.np.handle import ndarray


def write_out(result: Any, out: Any) -> Any:
    """Put `result` into `out` (an array, or a list of them for several results), where that is given."""
    if out is None:
        return result
    if isinstance(out, (list, tuple)):
        for target, value in zip(out, [result] if isinstance(result, Handle) else result, strict=True):
            target[:] = value
    else:
        target = out
        target[:] = result
    return out


def _listed(result: ndarray | Sequence[ndarray]) -> Any:
    return list(result) if type(result) is tuple else result


def _check(op: LegacyOp, inputs: list[Any]) -> None:
    for name, value in zip(op.inputs * (len(inputs) if op.variadic else 1), inputs, strict=False):
        if isinstance(value, (str, list, tuple, dict)):
            raise TypeError(f"operator {op.name}: the input '{name}' must be an array, got {type(value).__name__}.")


def front(op: LegacyOp, name: str) -> Callable[..., Any]:
    """Return the function `name` of ``mx.nd`` for a row of the table.

    Examples
    --------
    >>> from gluonx import np
    >>> from gluonx.compat.operators.table import get_legacy
    >>> front(get_legacy("slice_axis"), "slice_axis")(np.ones((2, 3)), axis=1, begin=0, end=2).shape
    (2, 2)
    """
    call = _variadic(op) if op.variadic else _fixed(op)
    attrs = ", ".join(map(repr, op.attrs.values()))
    arrays = ", ".join(f"*{n}" if op.variadic else n for n in op.inputs)
    call.__name__ = call.__qualname__ = name
    call.__module__ = "gluonx.nd"
    via = f" Core operators: {', '.join(op.via)}." if op.via else ""
    call.__signature__ = op.signature()  # type: ignore[attr-defined]
    call.__doc__ = f"MXNet 1's operator ``{op.name}({arrays}{'; ' if attrs else ''}{attrs})``.{via}"
    return door(call)


def _variadic(op: LegacyOp) -> Callable[..., Any]:
    key = op.inputs[0]

    def call(*args: ndarray, out: Sequence[ndarray] | None = None, name: str | None = None, **kwargs: Any) -> Any:
        if not args and key in kwargs:
            args = tuple(kwargs.pop(key))
        elif len(args) == 1 and isinstance(args[0], (list, tuple)):
            args = tuple(args[0])
        inputs = list(args)
        _check(op, inputs)
        return write_out(as_nd(_listed(op.rule(op.parse(kwargs), *inputs))), out)

    return door(call)


def _fixed(op: LegacyOp) -> Callable[..., Any]:
    count, order = len(op.inputs), list(op.attrs)
    names = frozenset(op.inputs)
    first = op.inputs[0] if count else ""

    def call(*args: Any, out: ndarray | None = None, name: str | None = None, **kwargs: Any) -> Any:
        inputs = list(args[:count])
        beyond = args[count:]
        # An attribute may follow the arrays that were given, where the others are optional: nd.softmax(x, 1).
        while inputs and not isinstance(inputs[-1], Handle) and op.inputs[len(inputs) - 1] in op.optional:
            value = inputs.pop()
            beyond = beyond if value is None else (value, *beyond)
        if beyond:
            if len(beyond) > len(order):
                out = _out(op, beyond[len(order) :], out)
            kwargs = {**dict(zip(order, beyond, strict=False)), **kwargs}
        if kwargs and not names.isdisjoint(kwargs):
            named = {k: kwargs.pop(k) for k in op.inputs if k in kwargs}
            inputs += [named.get(n) for n in op.inputs[len(inputs) :]]
            while inputs and inputs[-1] is None:
                inputs.pop()
        _check(op, inputs)
        missing = [n for n in op.inputs[len(inputs) :] if n not in op.optional]
        if missing:
            raise TypeError(f"operator {op.name} is missing the array '{missing[0]}'{_hint(op, first)}.")
        kwargs = {k: v for k, v in kwargs.items() if v is not None or (k in op.attrs and op.attrs[k].kind[-1] == "?")}
        return write_out(as_nd(_listed(op.rule(op.parse(kwargs), *inputs))), out)

    return door(call)


def _out(op: LegacyOp, rest: Sequence[Any], out: Any) -> Any:
    """Return ``out``, which may stand behind all attributes, and before ``name``."""
    if len(rest) > 2 or (out is not None and rest[0] is not None):
        raise TypeError(
            f"operator {op.name} takes {len(op.inputs)} arrays, {len(op.attrs)} attributes, `out` and `name`, got more."
        )
    return rest[0] if out is None else out


def _hint(op: LegacyOp, first: str) -> str:
    return f" (its arrays: {', '.join(op.inputs)})" if len(op.inputs) > 1 else ""
