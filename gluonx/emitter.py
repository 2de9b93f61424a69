"""Which of XLA's code generators for a CPU writes the loops.

XLA writes a loop of one elementwise operation tile by tile. Where an array ends in small axes, as the weights of
convolutions do (..., 3, 3), its tiles are small too and go through the stack: with jax 0.10 and 0.12 the sum of two
arrays of shape (512, 512, 3, 3), which is what an optimizer's update ends with, takes 8 to 10 times as long as from
the other generator. No program can choose, only the process: this module adds the choice to ``XLA_FLAGS`` when gluonx
is imported. It reaches XLA if no program was compiled before, and concerns no other platform than the CPU. A choice
that is there already (``--xla_backend_extra_options``) stays, and ``GLUONX_XLA_TILES=1`` leaves everything to XLA.
"""

from __future__ import annotations

import os
from collections.abc import MutableMapping

__all__ = ["OPTION", "choose"]

OPTION = "--xla_backend_extra_options=xla_cpu_disable_tiled_emitter"


def choose(environment: MutableMapping[str, str]) -> None:
    """Adds `OPTION` to the flags of XLA in `environment`, unless what is there speaks against it.

    Examples
    --------
    >>> flags = {"XLA_FLAGS": "--xla_dump_to=somewhere"}
    >>> choose(flags)
    >>> flags["XLA_FLAGS"]
    '--xla_dump_to=somewhere --xla_backend_extra_options=xla_cpu_disable_tiled_emitter'
    """
    flags = environment.get("XLA_FLAGS", "").strip()
    is_file = bool(flags) and not flags.startswith("-")
    wanted = environment.get("GLUONX_XLA_TILES", "").lower() in ("1", "true", "on", "yes")
    if not (wanted or is_file or "--xla_backend_extra_options" in flags):
        environment["XLA_FLAGS"] = f"{flags} {OPTION}".strip()


choose(os.environ)
