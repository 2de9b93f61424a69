"""XLA's persistent compilation cache: on by default, in the user's cache folder.

A program that took longer than a second to compile is found again by the next process. ``GLUONX_CACHE_DIR`` moves the
cache and, empty, switches it off; so does :func:`compilation_cache`. A folder that was chosen through JAX's own
settings stays.
"""

from __future__ import annotations

import os
from pathlib import Path

import jax

__all__ = ["compilation_cache", "default_folder"]


def default_folder() -> Path | None:
    """Where the cache is unless told otherwise; None where ``GLUONX_CACHE_DIR`` switches it off."""
    chosen = os.environ.get("GLUONX_CACHE_DIR")
    if chosen is not None:
        return Path(chosen) if chosen else None
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "gluonx" / "xla"


def compilation_cache(folder: str | os.PathLike[str] | None) -> None:
    """Moves the compilation cache to `folder`, or switches it off with None."""
    jax.config.update("jax_compilation_cache_dir", None if folder is None else str(folder))


def _start() -> None:
    if jax.config.jax_compilation_cache_dir is None:  # type: ignore[attr-defined]
        compilation_cache(default_folder())


_start()
