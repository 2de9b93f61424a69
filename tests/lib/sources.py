"""Rules that hold for every file of the library: a rule is one test, which lists all that break it."""

import functools
from collections.abc import Callable
from pathlib import Path

from lib import ROOT

__all__ = ["SOURCES", "every_source"]

SOURCES = sorted((ROOT / "gluonx").rglob("*.py"))


def every_source(rule: Callable[[Path], None]) -> Callable[[], None]:
    """Make one test of a rule for one file, which asserts what holds: all files that break it are listed together."""

    def test() -> None:
        broken = []
        for path in SOURCES:
            try:
                rule(path)
            except AssertionError as error:
                broken.append(f"{path.relative_to(ROOT)}: {error}")
        assert not broken, "\n".join(broken)

    functools.update_wrapper(test, rule)
    del test.__wrapped__  # whose parameter pytest would take for a fixture
    return test
