"""XLA's persistent compilation cache: on by default, in the user's cache folder.

Every program that was compiled is found again by the next process, small ones too: reading one takes a millisecond or
two, compiling it twenty. ``GLUONX_CACHE_DIR`` moves the cache and, empty, switches it off; so does
:func:`compilation_cache`. What was chosen through JAX's own settings stays: a folder, and with
``JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS`` which programs are worth keeping.

JAX itself never deletes from the folder. gluonx looks once a day, at the end of a process, and lets go of the programs
that were not used for longest while there is more than `LIMIT` bytes; only in its own folder, not in one that
:func:`compilation_cache` was given.
"""

from __future__ import annotations

import atexit
import os
import time
from pathlib import Path

import jax
from jax.experimental.compilation_cache import compilation_cache as jax_cache

__all__ = ["LIMIT", "compilation_cache", "default_folder", "prune"]

LIMIT = 4 << 30
_DAY = 24 * 3600
_EVERYTHING = "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS"


def default_folder() -> Path | None:
    """Where the cache is unless told otherwise; None where ``GLUONX_CACHE_DIR`` switches it off."""
    chosen = os.environ.get("GLUONX_CACHE_DIR")
    if chosen is not None:
        return Path(chosen) if chosen else None
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "gluonx" / "xla"


def compilation_cache(folder: str | os.PathLike[str] | None) -> None:
    """Moves the compilation cache to `folder`, or switches it off with None."""
    jax.config.update("jax_compilation_cache_dir", None if folder is None else str(folder))
    if folder is not None and _EVERYTHING not in os.environ:
        jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)
    jax_cache.reset_cache()  # JAX looks at the folder when it first compiles, which may be behind it


def prune(folder: Path, limit: int = LIMIT) -> int:
    """Deletes the programs in `folder` that were not used for longest, if they are more than `limit` bytes together.

    A quarter of the limit is free afterwards.

    Returns
    -------
    int
        How many were deleted.
    """
    found: list[tuple[float, int, str]] = []
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.name.endswith("-cache") and entry.is_file():
                known = entry.stat()
                found.append((max(known.st_atime, known.st_mtime), known.st_size, entry.path))
    total, deleted = sum(size for _, size, _ in found), 0
    if total <= limit:
        return 0
    for _, size, path in sorted(found):
        if total <= limit * 3 // 4:
            break
        os.unlink(path)
        total, deleted = total - size, deleted + 1
    return deleted


def _prune_daily(folder: Path) -> None:
    stamp = folder / "looked-after"
    try:
        if not folder.is_dir() or (stamp.exists() and time.time() - stamp.stat().st_mtime < _DAY):
            return
        stamp.touch()
        prune(folder)
    except OSError:
        pass  # another process is at it, or the folder cannot be written: a cache is no reason to fail


def _start() -> None:
    if jax.config.jax_compilation_cache_dir is None:  # type: ignore[attr-defined]
        folder = default_folder()
        compilation_cache(folder)
        if folder is not None:
            atexit.register(_prune_daily, folder)


_start()
