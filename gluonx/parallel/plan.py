"""``python -m gluonx.parallel.plan module:function --mesh v5p:4x4x4``: a plan of what the function gives.

The function takes nothing and gives a dict of arguments of :func:`gluonx.parallel.plan`: ``net``, ``inputs``, ``loss``,
and what else it likes. As a module this file stands for nothing: :mod:`gluonx.parallel.planning` has the work.
"""

from __future__ import annotations

import argparse
import importlib
import os
import sys
from collections.abc import Sequence

from gluonx.errors import GluonxError
from gluonx.parallel.planning import plan


def main(arguments: Sequence[str] | None = None) -> int:
    """Plan and print; the status is 0 where it fits, 1 where it does not, and 2 where nothing can be planned."""
    parser = argparse.ArgumentParser(
        prog="python -m gluonx.parallel.plan",
        description="Compile a training step for TPUs or GPUs that are not there, and say what it needs.",
    )
    parser.add_argument("function", metavar="module:function", help="gives a dict: net, inputs, loss, optimizer, ...")
    parser.add_argument("--mesh", required=True, help="kind of devices and their arrangement, as v5e:16x16 or h100:2x8")
    parser.add_argument("--axes", default="", help="axes of the mesh, as data=-1,model=4; all data by default")
    parser.add_argument("--json", action="store_true", help="for programs in place of a table")
    options = parser.parse_args(arguments)
    module, _, name = options.function.partition(":")
    sys.path.insert(0, os.getcwd())
    try:
        axes = _axes(options.axes)
        given = dict(getattr(importlib.import_module(module), name)())
        made = plan(**{**given, "mesh": options.mesh, **({"axes": axes} if axes else {})})
    except (GluonxError, ImportError, AttributeError, TypeError, ValueError) as error:
        print(f"gluonx.parallel.plan: {type(error).__name__}: {error}", file=sys.stderr)
        return 2
    print(made.json() if options.json else made)
    return 0 if made.fits else 1


def _axes(text: str) -> dict[str, int]:
    """Read ``data=-1,model=4``."""
    found = {}
    for part in filter(None, text.split(",")):
        name, _, size = part.partition("=")
        try:
            found[name.strip()] = int(size)
        except ValueError:
            raise ValueError(f"--axes {text!r} has {part!r}; give names and sizes, as data=-1,model=4") from None
    return found


if __name__ == "__main__":
    sys.exit(main())
sys.modules[__name__] = plan  # type: ignore[assignment] - so that importing this file does not hide the function
