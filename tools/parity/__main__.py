"""``python -m tools.parity``: print MXNet's names against gluonx, or with ``--write`` the pages of the documentation
that are made of the live modules.

With names of modules (``mxnet.np``) it prints their rows, one a line.
"""

from __future__ import annotations

import argparse
import pathlib
import sys

from tools.parity.inventory import Row, load, rows
from tools.parity.page import PAGES, page

_ROOT = pathlib.Path(__file__).parents[2]


def _line(row: Row) -> str:
    if not row.present:
        return f"{row.module}.{row.name}: absent, {row.reason or 'for no reason'}"
    return f"{row.module}.{row.name}: {row.differs or 'same signature'}{'' if row.contract else '; in no table'}"


def main(given: list[str] | None = None) -> int:
    """Do what the command line says."""
    parser = argparse.ArgumentParser(prog="python -m tools.parity", description=__doc__)
    parser.add_argument("modules", nargs="*", help="MXNet's modules whose rows to print, such as mxnet.np")
    parser.add_argument("--write", action="store_true", help=f"write {', '.join(PAGES)}")
    options = parser.parse_args(given)
    unknown = [module for module in options.modules if module not in load()]
    if unknown:
        parser.error(f"MXNet has no module {unknown[0]}; there are {', '.join(load())}")
    if options.write:
        for path, text in PAGES.items():
            (_ROOT / path).write_text(text(), encoding="utf-8")
    elif options.modules:
        print("\n".join(_line(row) for module in options.modules for row in rows(module)))
    else:
        print(page(), end="")
    return 0


if __name__ == "__main__":
    sys.exit(main())
