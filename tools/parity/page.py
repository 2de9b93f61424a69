"""The page ``docs/parity.md``: counts of each module, then what differs, is left out, and has no row in the tests."""

from __future__ import annotations

import importlib
import textwrap
from collections.abc import Callable, Iterable, Sequence

from gluonx.ops import OPS
from tools import core_ops as describe
from tools import legacy_page
from tools.parity.inventory import Row, load, rows
from tools.parity.reasons import TABLES

__all__ = ["PAGES", "operators", "page"]

_HEAD = """# MXNet 2.0's names in gluonx

<!-- Written by `python -m tools.parity --write`; do not edit. -->

Which of MXNet 2.0.0b1's public names are here, which are left out and why, and whose signature differs. *Same
signature* means that a call which MXNet's signature allows means the same here: names, positions, defaults. *In the
tables* counts the names with a row in a contract table of the tests, where the module has one.

"""


def page() -> str:
    """Return the whole page."""
    by_module = {module: rows(module) for module in load()}
    parts = [_HEAD, _summary(by_module.values()), "\n## Left out\n\n", _left_out(by_module.values())]
    parts += ["\n## Other signatures\n\n", _differing(by_module.values())]
    parts += ["\n## Present with the same signature\n", *[_present(m, found) for m, found in by_module.items()]]
    return "".join(parts)


def operators() -> str:
    """Return the page ``docs/core_ops.md``."""
    importlib.import_module("gluonx.npx")  # with gluonx.np, which registers operators too
    return describe.page(OPS.values())


def _table(head: Sequence[str], body: Iterable[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *body]
    return "".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |\n" for line in lines)


def _summary(found: Iterable[Sequence[Row]]) -> str:
    lines, total = [], [0, 0, 0]
    for group in found:
        top = [row for row in group if "." not in row.name]
        here = [row for row in top if row.present]
        same = [row for row in group if row.present and not row.differs]
        present = [row for row in group if row.present]
        tested = f"{sum(row.contract for row in here)} of {len(here)}" if group[0].module in TABLES else ""
        reasoned = sum(not row.present and bool(row.reason) for row in top)
        lines.append([
            f"`{group[0].module}`", str(len(top)), str(len(here)), str(reasoned), str(len(top) - len(here) - reasoned),
            f"{len(same)} of {len(present)}", tested,
        ])  # fmt: skip
        total = [a + b for a, b in zip(total, (len(top), len(here), reasoned), strict=True)]
    lines.append(["all", *map(str, total), str(total[0] - total[1] - total[2]), "", ""])
    head = ["module", "names", "present", "left out", "missing", "same signature (with methods)", "in the tables"]
    return _table(head, lines)


def _left_out(found: Iterable[Sequence[Row]]) -> str:
    lines = []
    for group in found:
        reasons: dict[str, list[str]] = {}
        for row in group:
            if not row.present:
                reasons.setdefault(row.reason or "**missing**", []).append(f"`{row.name}`")
        lines += [[f"`{group[0].module}`", " ".join(names), reason] for reason, names in reasons.items()]
    return _table(["module", "names", "why"], lines)


def _differing(found: Iterable[Sequence[Row]]) -> str:
    lines = [[f"`{r.module}.{r.name}`", r.differs, r.why] for group in found for r in group if r.differs]
    return _table(["name", "what differs", "why"], lines)


def _present(module: str, found: Sequence[Row]) -> str:
    names = [row.name + ("" if row.contract or module not in TABLES or "." in row.name else "*")
             for row in found if row.present and not row.differs]  # fmt: skip
    if not names:
        return ""
    mark = " (`*`: not in a table of the tests)" if any(name.endswith("*") for name in names) else ""
    body = textwrap.fill(" ".join(names), 118, break_long_words=False, break_on_hyphens=False)
    return f"\n### {module}{mark}\n\n```text\n{body}\n```\n"


PAGES: dict[str, Callable[[], str]] = {
    "docs/parity.md": page,
    "docs/core_ops.md": operators,
    "docs/legacy_operators.md": legacy_page.page,
}
"""What is written of the live modules, by the path of the file; none is in git."""
