"""Names of ``mx.nd`` and its parts: the operators that they stand for, and messages for names that have none."""

from __future__ import annotations

import difflib
from collections.abc import Callable
from typing import Any

from gluonx.compat.operators.calling import front
from gluonx.compat.operators.table import TABLE

__all__ = ["lookup", "public_names"]

# Where the operators of a prefix are found.
PREFIXES = {
    "contrib": "_contrib_",
    "image": "_image_",
    "linalg": "_linalg_",
    "random": "_random_",
    "nd": "",
}
_ELSEWHERE = {
    "cvimdecode": "use PIL or OpenCV, or gluonx.image",
    "imdecode": "use mx.image.imdecode",
    "load_frombuffer": "use gluonx.files.load_arrays",
    "CachedOp": "hybridize a block",
    "rnn": "use gluonx.rnn",
}
_WHY = {
    "quantize": "quantized operators are not here; XLA runs bfloat16 and float16 (net.cast)",
    "intgemm": "quantized operators are not here; XLA runs bfloat16 and float16 (net.cast)",
    "dgl": "graph sampling on sparse arrays is not here",
    "edge_id": "graph sampling on sparse arrays is not here",
    "RROIAlign": "use contrib.ROIAlign",
    "hawkes": "write it with gluonx.npx.foreach",
    "getnnz": "sparse arrays are not here",
}


def lookup(name: str, part: str) -> Callable[..., Any]:
    """The function `name` of ``mx.nd`` (or of its `part`).

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
    return front(op, name)


def _absent(name: str, part: str) -> str:
    where = "mx.nd" if part == "nd" else f"mx.nd.{part}"
    told = f"{where} has no function '{name}' in gluonx"
    hint = _ELSEWHERE.get(name) or next((why for word, why in _WHY.items() if word in name), None)
    if hint:
        return f"{told}: {hint}."
    near = difflib.get_close_matches(name, public_names(part), 1)
    return f"{told}; did you mean '{near[0]}'?" if near else f"{told}."


def public_names(part: str) -> list[str]:
    """The names of operators in ``mx.nd`` or its `part`."""
    prefix = PREFIXES[part]
    found = [name[len(prefix) :] for name in TABLE if name.startswith(prefix)]
    return sorted(name for name in found if name and not name.startswith("_"))
