"""``python -m tools.policy --write``: renew the two tables of the policy's numbers in docs/design/engine.md."""

from __future__ import annotations

import pathlib
import sys

from gluonx.common.policy import EXCEPTIONS, NUMBERS

__all__ = ["renewed", "rows"]

PAGE = pathlib.Path(__file__).parent.parent / "docs/design/engine.md"
_HEAD = ["| name | value | reason | shown by |", "| --- | --- | --- | --- |"]


def rows() -> list[str]:
    """Return the lines of the table: the sixteen numbers, then the exceptions to the rule."""
    lines = [
        f"| `{name}`{' (exception)' * (name in EXCEPTIONS)} | {n.value:,} {n.unit} | {n.reason} "
        f"| `benchmarks.{n.shown_by}` |"
        for name, n in (NUMBERS | EXCEPTIONS).items()
    ]
    return [*_HEAD, *lines]


def renewed(page: str) -> str:
    """Return the page with the table as it is now."""
    before, head, rest = page.partition(_HEAD[0])
    assert head, "the page has a table of the policy's numbers"
    _, end, after = rest.partition("\n\n")
    return before + "\n".join(rows()) + end + after


if __name__ == "__main__":
    old = PAGE.read_text(encoding="utf-8")
    if "--write" in sys.argv[1:]:
        PAGE.write_text(renewed(old), encoding="utf-8")
    elif renewed(old) != old:
        sys.exit(f"{PAGE} is out of date: python -m tools.policy --write")
