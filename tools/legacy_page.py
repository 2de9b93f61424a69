"""The page ``docs/legacy_operators.md``: MXNet 1's operators, and the core operators that compute them."""

from __future__ import annotations

from gluonx.compat.operators.table import TABLE

__all__ = ["page"]

_HEAD = """# Legacy operators and what they become

<!-- Written by `python -m tools.parity --write`; do not edit. -->

The operators of MXNet 1, `mx.nd` and `mx.sym`, and what computes each: the [core operators](core_ops.md) in the last
column. Names that begin with `_contrib_`, `_linalg_`, `_random_`, `_image_` are `mx.nd.contrib.*`, `mx.nd.linalg.*` and
so on; `help(mx.nd.Convolution)` shows a signature.

"""


def page() -> str:
    """Return the page, its rows in alphabetical order.

    Examples
    --------
    >>> "| `Concat` | `concat` | `concatenate` |" in page()
    True
    """
    lines = ["| legacy operator | also called | core operators, or functions of `np` |", "| --- | --- | --- |"]
    for op in sorted(set(TABLE.values()), key=lambda op: (op.name.strip("_").lower(), op.name)):
        aliases = ", ".join(f"`{name}`" for name in op.aliases if not name.startswith("_"))
        via = ", ".join(f"`{name}`" for name in op.via)
        lines.append(f"| `{op.name}` | {aliases} | {via} |")
    return _HEAD + "\n".join(lines) + "\n"
