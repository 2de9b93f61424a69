"""``python -m tools.thresholds --write``: renew the table of thresholds in docs/design/engine.md."""

from __future__ import annotations

import pathlib
import sys

from gluonx.common.thresholds import THRESHOLDS

__all__ = ["renewed", "rows"]

PAGE = pathlib.Path(__file__).parent.parent / "docs/design/engine.md"
_HEAD = ["| name | value | reason | shown by |", "| --- | --- | --- | --- |"]


def rows() -> list[str]:
    """Return the lines of the table."""
    found = [
        f"| `{name}` | {t.value:,} {t.unit} | {t.reason} | `{t.shown_by}` |" for name, t in sorted(THRESHOLDS.items())
    ]
    return [*_HEAD, *found]


def renewed(page: str) -> str:
    """Return the page with the table as it is now."""
    before, head, rest = page.partition(_HEAD[0])
    assert head, "the page has a table of thresholds"
    _, end, after = rest.partition("\n\n")
    return before + "\n".join(rows()) + end + after


if __name__ == "__main__":
    old = PAGE.read_text(encoding="utf-8")
    if "--write" in sys.argv[1:]:
        PAGE.write_text(renewed(old), encoding="utf-8")
    elif renewed(old) != old:
        sys.exit(f"{PAGE} is out of date: python -m tools.thresholds --write")
