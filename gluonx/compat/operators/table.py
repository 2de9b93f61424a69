"""The table of legacy operators: every operator of MXNet 1 that gluonx knows, as a canonicalization to core operators.

`TABLE` holds the rows by name and alias; `get_legacy` finds one with an error that a person can act on. The rows are
written in the files beside this one, a file a family; `gluonx.compat.operators.row` tells what a row is.
"""

from __future__ import annotations

import difflib

from gluonx.compat.operators import densities as densities
from gluonx.compat.operators import elementwise as elementwise
from gluonx.compat.operators import linalg as linalg
from gluonx.compat.operators import nn as nn
from gluonx.compat.operators import random as random
from gluonx.compat.operators import reduce as reduce
from gluonx.compat.operators import sequence as sequence
from gluonx.compat.operators import shape as shape
from gluonx.compat.operators import updates as updates
from gluonx.compat.operators import vision as vision
from gluonx.compat.operators.row import TABLE as TABLE
from gluonx.compat.operators.row import LegacyOp as LegacyOp

__all__ = ["TABLE", "LegacyOp", "find", "get_legacy"]


def find(name: str) -> LegacyOp | None:
    """Return the legacy operator of this name or alias, or None."""
    return TABLE.get(name)


def get_legacy(name: str) -> LegacyOp:
    """Return the legacy operator of this name or alias.

    Raises
    ------
    KeyError
        If there is none; the message names the nearest spelling.

    Examples
    --------
    >>> get_legacy("concat")
    <legacy operator Concat>
    """
    found = TABLE.get(name)
    if found is None:
        near = difflib.get_close_matches(name, TABLE, 1)
        hint = f"; did you mean '{near[0]}'?" if near else ""
        raise KeyError(f"there is no legacy operator '{name}'{hint}")
    return found
