"""The table of `docs/porting.md`: legacy operators and the core operators that they become.

``python -m tools.legacy_page docs/porting.md`` writes it anew between its two marks.
"""

from __future__ import annotations

import pathlib
import sys

from gluonx.compat.operators.table import TABLE

__all__ = ["MARKS", "renewed", "table"]

MARKS = ("<!-- table of operators: made by python -m tools.legacy_page -->", "<!-- end of the table -->")


def table() -> str:
    """Return the rows as Markdown, in alphabetical order.

    Examples
    --------
    >>> "| `Concat` | `concat` | `concatenate` |" in table()
    True
    """
    lines = ["| legacy operator | also called | core operators, or functions of `np` |", "| --- | --- | --- |"]
    for op in sorted(set(TABLE.values()), key=lambda op: (op.name.strip("_").lower(), op.name)):
        aliases = ", ".join(f"`{name}`" for name in op.aliases if not name.startswith("_"))
        via = ", ".join(f"`{name}`" for name in op.via)
        lines.append(f"| `{op.name}` | {aliases} | {via} |")
    return "\n".join(lines)


def renewed(page: str) -> str:
    """Return the page with the table of now between its marks.

    Raises
    ------
    ValueError
        If the page does not have both marks.
    """
    before, first, rest = page.partition(MARKS[0])
    _, second, after = rest.partition(MARKS[1])
    if not first or not second:
        raise ValueError(f"the page needs the marks {MARKS[0]!r} and {MARKS[1]!r}")
    return f"{before}{first}\n\n{table()}\n\n{second}{after}"


if __name__ == "__main__":
    _path = pathlib.Path(sys.argv[1])
    _path.write_text(renewed(_path.read_text(encoding="utf-8")), encoding="utf-8")
