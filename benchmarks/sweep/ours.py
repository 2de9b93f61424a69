"""gluonx's operators as they stand in the registry: what the engine puts into a program."""

from __future__ import annotations

from typing import Any

import gluonx
from benchmarks.sweep.cases import Case
from benchmarks.sweep.plain import made
from gluonx.ops import get

__all__ = ["make", "versions"]


def versions() -> dict[str, str]:
    """Of gluonx."""
    return {"gluonx": gluonx.__version__}


def make(case: Case, gradient: bool) -> Any:
    """Return the case as a jitted function of its arrays."""
    bound = get(case.op).bind(**case.attrs).in_mode(True)
    return made(bound.fn, case, gradient, bound.random)
