"""Names of ``mx.nd`` and its parts: the operators that they stand for, and messages for names that have none."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from gluonx.common.absent import instead_of
from gluonx.common.arguments import did_you_mean
from gluonx.common.frames import door
from gluonx.compat.nd.calling import front
from gluonx.compat.nd.ndarray import NDArray, kept_nd
from gluonx.compat.operators.table import METHODS, TABLE
from gluonx.deferred.values.core import Handle
from gluonx.sparse import BaseSparseNDArray, RowSparseNDArray
from gluonx.sparse.functions import looked_up

if TYPE_CHECKING:
    from gluonx.np.handle import ndarray


# Where the operators of a prefix are found.
PREFIXES = {
    "contrib": "_contrib_",
    "image": "_image_",
    "linalg": "_linalg_",
    "random": "_random_",
    "nd": "",
}


def lookup(name: str, part: str) -> Callable[..., Any]:
    """Return the function `name` of ``mx.nd`` (or of its `part`).

    Raises
    ------
    AttributeError
        If there is none, with the way around where one is known.

    Examples
    --------
    >>> lookup("concat", "nd").__name__
    'concat'
    """
    op = TABLE.get(PREFIXES[part] + name)
    if op is None and part == "linalg":
        op = TABLE.get(f"linalg_{name}")
    if op is None or (name.startswith("_") and part != "nd") or name.startswith("__"):
        raise AttributeError(_absent(name, part))
    if part not in ("nd", "contrib"):
        return front(op, name)
    if op.name in ("Embedding", "_contrib_SparseEmbedding"):
        return _embedding(front(op, name))
    return _aware(name, front(op, name))


def _absent(name: str, part: str) -> str:
    where = "mx.nd" if part == "nd" else f"mx.nd.{part}"
    told = f"{where} has no function '{name}' in gluonx"
    hint = instead_of(f"mxnet.nd.{name}")
    if hint:
        return f"{told}: {hint}."
    # What asks for a private name is a tool that looks whether it is there, many times over, and reads no message.
    meant = "" if name.startswith("_") else did_you_mean(name, public_names(part))
    return told + (meant or ".")


def module_of(namespace: dict[str, Any], part: str) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return ``__getattr__`` and ``__dir__`` of the module that is a `part` of ``mx.nd``."""

    def found(name: str) -> Callable[..., Any]:
        made = namespace[name] = lookup(name, part)
        return made

    return found, lambda: sorted({*namespace, *public_names(part)})


def public_names(part: str) -> list[str]:
    """Return the names of operators in ``mx.nd`` or its `part`."""
    prefix = PREFIXES[part]
    found = [name[len(prefix) :] for name in TABLE if name.startswith(prefix)]
    return sorted(name for name in found if name and not name.startswith("_"))


# -- functions that take sparse arrays as they are ---------------------------------------------------------------------

Rule = Callable[..., Any]  # (the operator on dense arrays, its arguments...) -> result, NotImplemented for a dense one

RULES: dict[str, Rule] = {}
"""By name of the operator, what it does with sparse arrays; entered by `gluonx.compat.nd.sparse`."""


def written_nd(result: ndarray, out: ndarray | None) -> ndarray:
    """Return a result with NDArrays in it, in the array `out` if one is given."""
    if out is None:
        return kept_nd(result)
    out[:] = result
    return out


def _aware(name: str, op: Callable[..., Any]) -> Callable[..., Any]:
    """Return the function `name` of ``mx.nd``, which uses its rule where an argument, or the result, is sparse."""
    rule = RULES.get(name)
    if rule is None:
        return op

    @functools.wraps(op)
    def call(*args: Any, **kwargs: Any) -> ndarray:
        makes_one = name == "cast_storage"
        if not makes_one and not any(isinstance(a, BaseSparseNDArray) for a in _flat(args, kwargs)):
            return op(*args, **kwargs)
        given = {key: value for key, value in kwargs.items() if key not in ("out", "name")}
        found = rule(op, *args, **given)
        return op(*args, **kwargs) if found is NotImplemented else written_nd(found, kwargs.get("out"))

    return door(call)


def _flat(args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Any]:
    first = args[0] if args else None
    return [*args, *kwargs.values(), *(first if isinstance(first, (list, tuple)) else ())]


def _embedding(op: Callable[..., Any]) -> Callable[..., Any]:
    """``Embedding``, which takes a row_sparse weight too."""

    @functools.wraps(op)
    def call(*args: Any, **kwargs: Any) -> Any:
        named = dict(zip(("data", "weight"), args, strict=False)) | kwargs
        weight, data = named.get("weight"), named.get("data")
        if isinstance(weight, RowSparseNDArray) and isinstance(data, Handle):
            return kept_nd(looked_up(weight, data))
        return op(*args, **kwargs)

    return door(call)


# -- methods of arrays that are functions ------------------------------------------------------------------------------

# Methods that are the function of the same name with the array in front.
_METHODS = (*METHODS, "batch_dot", "cumsum", "dot", "slice_assign", "slice_assign_scalar")


def method_of(name: str, function: Callable[..., Any] | None = None) -> Callable[..., Any]:
    """Return the function `name` of ``mx.nd``, which is looked up when it is first called, as a method of arrays."""

    def method(self: NDArray, *args: object, **kwargs: object) -> NDArray:
        nonlocal function
        if function is None:
            function = lookup(name, "nd")
        return function(self, *args, **kwargs)

    method.__name__, method.__qualname__ = name, f"NDArray.{name}"
    method.__doc__ = f"``mx.nd.{name}`` of this array."
    if name in TABLE:
        method.__signature__ = TABLE[name].signature(method=True)  # type: ignore[attr-defined]
    return method


for _name in _METHODS:
    setattr(NDArray, _name, method_of(_name))
for _name in (
    "squeeze",
    "expand_dims",
    "SliceChannel",
):  # methods of the class, which call these where they are no view
    setattr(NDArray, f"_{_name}", method_of(_name))
