"""Changes of the process, made only when asked for: this is the one module that does.

``import gluonx`` leaves the process as it is: its environment, JAX's options, Python's collector, the disk. Four
things make a training program faster and are the process's, so they are the user's to choose. :func:`tune` turns them
on, and ``GLUONX_TUNE=1`` calls it when gluonx is imported:

- **XLA's code generator for loops on a CPU.** XLA writes a loop of one elementwise operation tile by tile. Where an
  array ends in small axes, as the weights of convolutions do (..., 3, 3), its tiles are small too and go through the
  stack: with jax 0.10 and 0.12 the sum of two arrays of shape (512, 512, 3, 3) takes 8 to 10 times as long as from the
  other generator. Only a flag of the process chooses, and XLA reads ``XLA_FLAGS`` once. (The updates of gluonx's own
  optimizers avoid such loops, see `gluonx.optimizer.rules`.)
- **Compiled programs are kept on disk** for the next process: reading one takes a millisecond or two, compiling it
  twenty. JAX never deletes from the folder; in its default folder gluonx removes, once a day and at the end of a
  process, the programs that were not used for longest while there are more than `LIMIT` bytes.
- **Memory that was given back is kept** by the C library. XLA takes all temporary arrays of a program as one block at
  each call, and gives it back at the end. glibc maps a block of more than 32 MiB anew each time, and the kernel clears
  each page again when it is touched: two fifths of the processor time of a step of MobileNetV2, a fifth of a U-Net's.
- **Python's collector of cycles pauses** while modules are imported and programs traced. Tracing makes hundreds of
  thousands of objects that stay, and the collector goes through all of them again and again.

What the user says elsewhere wins: a folder or a threshold given to JAX, flags of XLA that already choose. The
environment variables ``GLUONX_CACHE_DIR`` and ``GLUONX_X64`` ask for one thing each; they act without :func:`tune`.
:func:`gluonx.random.deterministic` sets one more flag of XLA, for GPUs. While `gluonx.compat` stands for MXNet, JAX's
loggers are quiet.

What is changed unasked lasts for one call of a program and is put back: the collector in Python 3.11
(`pause_collector`), and the number of BLAS's threads (:func:`one_blas_thread`). After a long compilation glibc is asked
to return free memory (:func:`returning_memory`); that changes no setting.
"""

from __future__ import annotations

import atexit
import ctypes
import gc
import logging
import os
import platform
import sys
import threading
import time
from collections.abc import Callable, Generator, MutableMapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, ClassVar

__all__ = ["DETERMINISTIC", "LIMIT", "OPTION", "choose", "compilation_cache", "cores", "default_folder",
           "deterministic_operations", "hush_jax", "prune", "set_x64", "collects_in_calls", "pause_collector",
           "one_blas_thread", "resume_collector", "returning_memory", "start", "tune", "uncollected"]  # fmt: skip

LIMIT = 4 << 30
OPTION = "--xla_backend_extra_options=xla_cpu_disable_tiled_emitter"
DETERMINISTIC = "--xla_gpu_deterministic_ops=true"
# By the number of glibc's malloc.h: arenas, the size from which a block is mapped, what may be free at the heap's end.
# All are needed: in the arena of a thread no block is larger than 64 MiB, so XLA's would be mapped all the same.
_KEPT = {-8: 1, -3: 1 << 30, -1: (1 << 31) - 1}
_LONG = 1.0  # seconds: what has taken longer may leave much memory free
_DAY = 24 * 3600
_EVERYTHING = "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS"
_TRUE = ("1", "true", "on", "yes")


def hush_jax(on: bool) -> None:
    """Have JAX's loggers tell warnings and worse alone, or as before; where their level was chosen, leave it.

    A program for MXNet that logs at DEBUG means its own records; JAX has some for every program that it compiles.
    """
    logger = logging.getLogger("jax")
    if on and logger.level == logging.NOTSET:
        logger.setLevel(logging.WARNING)
        _Chosen.hushed = True
    elif not on and _Chosen.hushed:
        if logger.level == logging.WARNING:
            logger.setLevel(logging.NOTSET)
        _Chosen.hushed = False


class _Chosen:
    """The changes asked for in this process."""

    hushed = False

    pauses = False
    prunes = False


def start() -> None:
    """Do what the environment asks for, when gluonx is imported: GLUONX_TUNE, GLUONX_CACHE_DIR, GLUONX_X64."""
    if os.environ.get("GLUONX_X64", "").lower() in _TRUE:
        set_x64(True)
    if os.environ.get("GLUONX_TUNE", "").lower() in _TRUE:
        tune()
    elif os.environ.get("GLUONX_CACHE_DIR"):
        _keep_programs()


def tune(*, emitter: bool = True, cache: bool = True, collector: bool = True, memory: bool = True) -> None:
    """Change the process so that training programs start and run faster; ``GLUONX_TUNE=1`` does it at the import.

    Call it once, at the start of a program, before anything is computed. Calling it again changes nothing more.

    Parameters
    ----------
    emitter : bool
        Add `OPTION` to ``XLA_FLAGS``: faster loops over the weights of convolutions on a CPU. Flags that choose
        already stay.
    cache : bool
        Keep compiled programs on disk for the next process, in ``GLUONX_CACHE_DIR`` or else
        ``$XDG_CACHE_HOME/gluonx/xla`` or ``~/.cache/gluonx/xla``. A folder that JAX was given stays; an empty
        ``GLUONX_CACHE_DIR`` keeps none.
    collector : bool
        Pause Python's garbage collector while modules are imported and programs traced.
    memory : bool
        Have glibc keep memory that was given back, in one arena for all threads, instead of returning it to the system.
        The process then stays as large as it has been. Elsewhere, and where the environment chooses (``GLIBC_TUNABLES``
        or ``MALLOC_...``), nothing changes.

    Warns
    -----
    RuntimeWarning
        If it comes too late: XLA has started and has read its flags.

    Examples
    --------
    >>> from gluonx import engine
    >>> engine.tune(emitter=False, cache=False, collector=False, memory=False)  # leaves everything as it is
    """
    if emitter and choose(os.environ) and _backend_is_up():
        from gluonx.common.frames import warn

        warn(
            "tune() comes too late for XLA's code generator: XLA has started and read its flags. Call it before "
            "anything is computed, or set GLUONX_TUNE=1 in the environment.",
            RuntimeWarning,
        )
    if cache:
        _keep_programs()
    if memory:
        _keep_memory()
    _Chosen.pauses = _Chosen.pauses or collector


def deterministic_operations() -> None:
    """Ask XLA for operations on GPUs that give the same bits each time; for :func:`gluonx.random.deterministic`.

    Warns
    -----
    RuntimeWarning
        If it comes too late: XLA has started on a GPU, and has read its flags.
    """
    flags = os.environ.get("XLA_FLAGS", "").strip()
    if DETERMINISTIC.partition("=")[0] in flags or (flags and not flags.startswith("-")):
        return  # the user has chosen, or keeps flags in a file
    os.environ["XLA_FLAGS"] = f"{flags} {DETERMINISTIC}".strip()
    if _backend_is_up():
        import jax

        if jax.default_backend() != "cpu":
            from gluonx.common.frames import warn

            warn(
                "deterministic() comes too late for XLA, which has started and read its flags. Call it before anything "
                f"is computed, or set XLA_FLAGS={DETERMINISTIC} in the environment.",
                RuntimeWarning,
            )


# ----------------------------------------------------------------- the C library's memory


def _keep_memory() -> None:
    """Tell glibc not to return memory, unless the environment tells it something; do nothing with another library."""
    if any(name.startswith("MALLOC_") for name in os.environ) or "malloc" in os.environ.get("GLIBC_TUNABLES", ""):
        return
    if platform.libc_ver()[0] != "glibc":
        return
    mallopt = ctypes.CDLL(None).mallopt
    for option, value in _KEPT.items():
        mallopt(option, value)


@contextmanager
def returning_memory() -> Generator[None]:
    """Have glibc return what is free in its heaps to the system afterwards, if what is done within takes a while.

    XLA's compiler works in many threads, and glibc keeps what each has given back: 0.12 to 0.64 GB after one training
    step of a U-Net, a ResNet-18 or a MobileNetV2, often more than the step itself needs. To return it takes up to a
    quarter of a second, once.

    Examples
    --------
    >>> with returning_memory():
    ...     pass
    """
    began = time.monotonic()
    yield
    if time.monotonic() - began > _LONG:
        _return_memory()


def _return_memory() -> None:
    if platform.libc_ver()[0] == "glibc":
        ctypes.CDLL(None).malloc_trim(0)


# ----------------------------------------------------------------- XLA's code generator


def choose(environment: MutableMapping[str, str]) -> bool:
    """Add `OPTION` to the flags of XLA in `environment`, unless what is there speaks against it.

    Returns
    -------
    bool
        Whether it was added.

    Examples
    --------
    >>> flags = {"XLA_FLAGS": "--xla_dump_to=somewhere"}
    >>> choose(flags)
    True
    >>> flags["XLA_FLAGS"]
    '--xla_dump_to=somewhere --xla_backend_extra_options=xla_cpu_disable_tiled_emitter'
    """
    flags = environment.get("XLA_FLAGS", "").strip()
    is_file = bool(flags) and not flags.startswith("-")
    if is_file or "--xla_backend_extra_options" in flags:
        return False
    environment["XLA_FLAGS"] = f"{flags} {OPTION}".strip()
    return True


def _backend_is_up() -> bool:
    """Return whether XLA has started: JAX then refuses another number of CPU devices, before it changes anything."""
    import jax

    before: int = jax.config.jax_num_cpu_devices  # type: ignore[attr-defined]
    try:
        jax.config.update("jax_num_cpu_devices", before + 1 if before > 0 else 1)
    except RuntimeError:
        return True
    jax.config.update("jax_num_cpu_devices", before)
    return False


# ----------------------------------------------------------------- compiled programs on disk


def default_folder() -> Path | None:
    """Return where `tune` keeps compiled programs; None where ``GLUONX_CACHE_DIR`` is empty."""
    chosen = os.environ.get("GLUONX_CACHE_DIR")
    if chosen is not None:
        return Path(chosen) if chosen else None
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "gluonx" / "xla"


def compilation_cache(folder: str | os.PathLike[str] | None) -> None:
    """Keep compiled programs in `folder` for the next process, small ones too; None keeps none.

    ``JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS`` says which programs are worth keeping, where it is set.

    Examples
    --------
    >>> import tempfile, jax
    >>> from gluonx import engine
    >>> before = jax.config.jax_compilation_cache_dir
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     engine.compilation_cache(folder)
    ...     jax.config.jax_compilation_cache_dir == folder
    True
    >>> engine.compilation_cache(before)
    """
    import jax
    from jax.experimental.compilation_cache import compilation_cache as jax_cache

    jax.config.update("jax_compilation_cache_dir", None if folder is None else str(folder))
    if folder is not None and _EVERYTHING not in os.environ:
        jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)
    jax_cache.reset_cache()  # JAX looks at the folder when it first compiles, which may be behind it


def _keep_programs() -> None:
    """Keep programs in the default folder, unless JAX was given one."""
    import jax

    folder = default_folder()
    if folder is None or jax.config.jax_compilation_cache_dir is not None:  # type: ignore[attr-defined]
        return
    compilation_cache(folder)
    if not _Chosen.prunes:
        _Chosen.prunes = True
        atexit.register(_prune_daily, folder)


def prune(folder: Path, limit: int = LIMIT) -> int:
    """Delete the programs in `folder` that were not used for longest, if they are more than `limit` bytes together.

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


# ----------------------------------------------------------------- number types


def cores() -> int:
    """Return how many cores this process may use.

    Examples
    --------
    >>> cores() >= 1
    True
    """
    affinity = getattr(os, "sched_getaffinity", None)  # Linux has it
    return len(affinity(0)) if affinity else os.cpu_count() or 1


def set_x64(active: bool) -> None:
    """Let 64-bit numbers exist in this process, or not: JAX's switch, as it is."""
    import jax

    jax.config.update("jax_enable_x64", active)


# ----------------------------------------------------------------- Python's collector of cycles

_MANY = 20_000  # new objects; going through them takes some milliseconds


@contextmanager
def uncollected() -> Generator[None]:
    """Pause the collector of cycles, if `tune` was asked to and it is running; a stretch of importing or tracing.

    What a long stretch leaves is put among the old objects, unseen, where it is looked at when they are.
    """
    if not _Chosen.pauses or not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        if gc.get_count()[0] > _MANY and gc.get_freeze_count() == 0:
            gc.freeze()
            gc.unfreeze()  # to the oldest generation
        gc.enable()


# Python 3.11 collects wherever an object is made, also inside a call of C code; later ones do between instructions of
# Python. A finalizer that ran inside the call of a training step would find its buffers given away and its results not
# there yet, so that call is made with the collector paused, as it is in Python 3.12 and later by themselves.
collects_in_calls: Callable[[], bool] = gc.isenabled if sys.version_info < (3, 12) else bool
pause_collector, resume_collector = gc.disable, gc.enable


# ----------------------------------------------------------------- BLAS's threads


_INTEL = "KMP_DUPLICATE_LIB_OK"
"""The variable by which Intel's OpenMP allows two of itself in a process."""


_SCIPY = "scipy.linalg"  # brings a library of its own, when it is imported


class _Blas:
    """The libraries of BLAS in this process that NumPy multiplies by, and who asked for one thread of each."""

    lock = threading.RLock()  # reentrant: a signal handler that comes in while it is held may train
    asked = 0  # those that are inside one_blas_thread() now
    of_scipy = False  # whether that of SciPy is one of the libraries
    libraries: ClassVar[list[Any] | None] = None
    before: ClassVar[list[tuple[Any, int]]] = []  # the threads that each library gets back; empty when all have them

    @classmethod
    def hold(cls) -> None:
        """Look the libraries up where that is due, and give each one thread."""
        if cls.libraries is None or (not cls.of_scipy and _SCIPY in sys.modules):
            chosen = os.environ.get(_INTEL)
            from threadpoolctl import ThreadpoolController  # looks through the process's libraries: milliseconds

            if chosen is None:
                os.environ.pop(_INTEL, None)  # which that import sets
            cls.of_scipy = _SCIPY in sys.modules
            cls.libraries = ThreadpoolController().select(user_api="blas").lib_controllers
        if not cls.before:  # else an exception cut the last giving back short
            cls.before = [(library, library.get_num_threads()) for library in cls.libraries]
        for library, _ in cls.before:
            library.set_num_threads(1)

    @classmethod
    def give_back(cls) -> None:
        for library, threads in cls.before:
            library.set_num_threads(threads)
        cls.before = []


@contextmanager
def one_blas_thread() -> Generator[None]:
    """Have NumPy's matrix products run on the caller's thread alone, as small ones run fastest.

    OpenBLAS gives products of some thousand elements to all its threads, which spend more time on waiting for each
    other than the product takes, the longer the busier the machine is; what they wait counts as processor time. The
    number of threads is the process's, so NumPy in another thread has one as well meanwhile.

    Examples
    --------
    >>> with one_blas_thread():
    ...     pass
    """
    counted = False
    try:
        with _Blas.lock:
            # Counted first, and no longer counted last: what interrupts the two calls below, and asks as well, is not
            # the only one, so it leaves the threads alone.
            _Blas.asked += 1
            counted = True
            if _Blas.asked == 1:
                _Blas.hold()
        yield
    finally:
        if counted:
            with _Blas.lock:
                try:
                    if _Blas.asked == 1:
                        _Blas.give_back()
                finally:
                    _Blas.asked -= 1
