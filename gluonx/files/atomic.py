"""Files and folders that appear complete or not at all: a hidden name in the same folder, synced, then renamed."""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

from gluonx.files.places import PathLike, Place, is_path, written_elsewhere

__all__ = ["PathLike", "Place", "atomic_directory", "atomic_write"]


def _temporary_beside(path: Path) -> Path:
    return path.with_name(f".{path.name}.{secrets.token_hex(4)}.tmp")


def _fsync_path(path: Path) -> None:
    """Make a file's or folder's entry durable; not every file system lets a folder be synced, so failing is fine."""
    with contextlib.suppress(OSError):
        fd = os.open(path, os.O_RDONLY)
        try:
            os.fsync(fd)
        finally:
            os.close(fd)


def _target(path: PathLike) -> Path:
    target = Path(os.path.realpath(path))  # a link keeps pointing to its file, which is what gets replaced
    if not target.parent.is_dir():
        raise FileNotFoundError(f"cannot write '{path}': the folder '{target.parent}' does not exist")
    return target


@contextlib.contextmanager
def atomic_write(path: Place, mode: str = "wb") -> Iterator[IO[Any]]:
    """Open a file for writing that takes the place of `path` only when it is complete.

    The data goes to a hidden file in the same folder, which is synced to disk and then renamed. Upon any exception,
    ``KeyboardInterrupt`` included, the hidden file is removed and whatever was at `path` stays as it was.

    Parameters
    ----------
    path : str, os.PathLike or file object
        The file to create or replace. Its folder must exist. An existing file keeps its permissions. A file object,
        or an address that fsspec knows (``'s3://...'``), gets the whole content at once when it is complete; whether
        it is atomic there depends on the file system.
    mode : {"wb", "w"}
        Binary, or text in UTF-8.

    Yields
    ------
    file object
        Seekable, opened for writing.

    Raises
    ------
    OSError
        If the folder is missing, or `path` is a folder or a device.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> with atomic_write(folder / "note.txt", "w") as file:
    ...     _ = file.write("complete")
    >>> (folder / "note.txt").read_text()
    'complete'
    """
    if mode not in ("wb", "w"):
        raise ValueError(f"atomic_write: mode must be 'wb' or 'w', got {mode!r}")
    if not is_path(path):
        with written_elsewhere(path, mode) as file:
            yield file
        return
    target = _target(path)  # pyright: ignore[reportArgumentType]  # is_path has seen it
    existing = target.stat().st_mode if target.exists() else None
    if existing is not None and not stat.S_ISREG(existing):
        raise OSError(f"cannot write '{path}': it exists and is not a regular file")
    temporary = _temporary_beside(target)
    try:
        with open(temporary, "x" + mode[1:], encoding=None if "b" in mode else "utf-8") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        if existing is not None:
            os.chmod(temporary, stat.S_IMODE(existing))
        os.replace(temporary, target)
    except BaseException:
        with contextlib.suppress(OSError):
            temporary.unlink()
        raise
    _fsync_path(target.parent)


@contextlib.contextmanager
def atomic_directory(path: PathLike) -> Iterator[Path]:
    """Fill a folder that takes the place of `path`, contents and all, only when it is complete.

    A folder cannot be renamed over another one in a single step, so an old folder is moved aside first and removed
    last; an exception in between moves it back. Only a machine that dies between the two renames leaves the old
    contents under the hidden name ``.NAME.*.tmp``.

    Parameters
    ----------
    path : str or os.PathLike
        The folder to create or replace. **An existing folder is removed with everything in it**: the caller decides
        beforehand whether that may happen.

    Yields
    ------
    pathlib.Path
        An empty folder beside `path` to write the files into.

    Raises
    ------
    OSError
        If the parent folder is missing, or `path` exists and is no folder.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> parent = pathlib.Path(tempfile.mkdtemp())
    >>> with atomic_directory(parent / "model") as folder:
    ...     _ = (folder / "a").write_bytes(b"1")
    >>> sorted(p.name for p in parent.iterdir())
    ['model']
    """
    target = _target(path)
    if target.exists() and not target.is_dir():
        raise NotADirectoryError(f"cannot write the folder '{path}': a file of that name exists")
    temporary, aside = _temporary_beside(target), _temporary_beside(target)
    try:
        temporary.mkdir()
        yield temporary
        for entry in [*temporary.rglob("*"), temporary]:
            _fsync_path(entry)
        if target.exists():
            os.rename(target, aside)
        os.rename(temporary, target)
    except BaseException:
        if aside.exists() and not target.exists():
            os.rename(aside, target)
        shutil.rmtree(temporary, ignore_errors=True)
        raise
    finally:
        if target.exists():
            shutil.rmtree(aside, ignore_errors=True)
    _fsync_path(target.parent)
