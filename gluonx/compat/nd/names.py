"""Names of ``mx.nd`` and its parts: the operators that they stand for, and messages for names that have none."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gluonx._absent import instead_of
from gluonx.arguments import did_you_mean
from gluonx.compat.operators.calling import front
from gluonx.compat.operators.table import TABLE

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
    from gluonx.compat.nd import sparse

    if op.name in ("Embedding", "_contrib_SparseEmbedding"):
        return sparse.embedding(front(op, name))
    return sparse.aware(name, front(op, name))


def _absent(name: str, part: str) -> str:
    where = "mx.nd" if part == "nd" else f"mx.nd.{part}"
    told = f"{where} has no function '{name}' in gluonx"
    hint = instead_of(f"mxnet.nd.{name}")
    if hint:
        return f"{told}: {hint}."
    return told + (did_you_mean(name, public_names(part)) or ".")


def module_of(namespace: dict[str, Any], part: str) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return ``__getattr__`` and ``__dir__`` of the module that is a `part` of ``mx.nd``."""

    def found(name: str) -> Any:
        made = namespace[name] = lookup(name, part)
        return made

    return found, lambda: sorted({*namespace, *public_names(part)})


def public_names(part: str) -> list[str]:
    """Return the names of operators in ``mx.nd`` or its `part`."""
    prefix = PREFIXES[part]
    found = [name[len(prefix) :] for name in TABLE if name.startswith(prefix)]
    return sorted(name for name in found if name and not name.startswith("_"))
