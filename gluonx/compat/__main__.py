"""``python -m gluonx.compat script.py args`` runs a script that was written for MXNet; ``-m module`` runs a module."""

from __future__ import annotations

import os
import runpy
import sys
from collections.abc import Sequence

from gluonx.common.process import hush_jax
from gluonx.compat import modes
from gluonx.compat.alias.hook import install_as_mxnet, uninstall

__all__ = ["main"]

_USAGE = "usage: python -m gluonx.compat [--version 1|2] (script.py | -m module) [arguments of the script]"


def _tell(sentence: str) -> None:
    print(sentence, file=sys.stderr, flush=True)


def main(arguments: Sequence[str]) -> int:
    """Run what the arguments name; return 2 where they name nothing that can be run."""
    if not arguments or arguments[0] in ("-h", "--help"):
        print(_USAGE, file=sys.stderr)
        return 2
    version = None
    if arguments[0] == "--version":
        if len(arguments) < 3 or arguments[1] not in ("1", "2"):
            print(_USAGE, file=sys.stderr)
            return 2
        version, arguments = int(arguments[1]), arguments[2:]
    as_module = arguments[0] == "-m"
    if as_module and len(arguments) < 2:
        print(_USAGE, file=sys.stderr)
        return 2
    name, *rest = arguments[1:] if as_module else arguments
    if not as_module and not os.path.isfile(name):
        print(f"gluonx.compat: there is no file {name!r}.\n{_USAGE}", file=sys.stderr)
        return 2
    before = sys.argv, sys.path[0]
    sys.argv = [name, *rest]
    sys.path[0] = os.getcwd() if as_module else os.path.dirname(os.path.abspath(name))
    install_as_mxnet(version)
    modes.Version.tell = staticmethod(_tell)
    try:
        if as_module:
            runpy.run_module(name, run_name="__main__", alter_sys=True)
        else:
            runpy.run_path(name, run_name="__main__")
    finally:
        if version is None and modes.Version.shown is None and "mxnet" in sys.modules:
            _tell(modes.Version.sentence())
        modes.Version.tell = staticmethod(lambda sentence: None)
        uninstall()
        sys.argv, sys.path[0] = before
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    finally:
        hush_jax(True)  # it has records for the end of a process too
