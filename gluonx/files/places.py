"""Places of files: a path, a file object that is open, or an address such as ``s3://bucket/net.params``.

Paths are opened by whoever reads or writes them, and mapped into memory where that pays. File objects and addresses
come and go as one piece of bytes: read to the end before anything is looked at, written when all of it is there.
Addresses go through `fsspec <https://filesystem-spec.readthedocs.io>`_ (the extra ``remote``).
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import tempfile
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any, TypeGuard

from gluonx.errors import FormatError

PathLike = str | os.PathLike[str]
Place = PathLike | IO[bytes]

_ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.\-]+://")  # of two letters at least: a single one is a drive


def name_of(place: Any) -> str:
    """Name a place for messages; the ending may tell a format.

    Examples
    --------
    >>> name_of("net.params"), name_of(io.BytesIO())
    ('net.params', '<file object>')
    """
    if hasattr(place, "read") or hasattr(place, "write"):
        name = getattr(place, "name", None)
        return name if isinstance(name, str) else "<file object>"
    return "<bytes>" if isinstance(place, bytes | bytearray | memoryview) else os.fspath(place)


def is_path(place: Any) -> TypeGuard[PathLike]:
    """Return whether a place is a path of this machine's file system."""
    return isinstance(place, str | os.PathLike) and not _ADDRESS.match(os.fspath(place))


def _file_system(address: str) -> tuple[Any, str]:
    try:
        from fsspec.core import url_to_fs
    except ImportError:
        raise ImportError(f"'{address}' is an address, which fsspec opens: pip install 'gluonx[remote]'") from None
    return url_to_fs(address)


def at_hand(source: Any) -> Any:
    """Read what a file object or an address holds; a path or bytes are given back as they are.

    Raises
    ------
    TypeError
        If a file object gives text, not bytes.
    OSError
        If there is nothing at the address.

    Examples
    --------
    >>> at_hand(io.BytesIO(b"content")), at_hand("net.params")
    (b'content', 'net.params')
    """
    if isinstance(source, bytes | bytearray | memoryview) or is_path(source):
        return source
    if not hasattr(source, "read"):
        files, path = _file_system(os.fspath(source))
        return files.cat_file(path)
    content = source.read()
    if not isinstance(content, bytes | bytearray | memoryview):
        raise TypeError(f"the file object {source!r} gives {type(content).__name__}, not bytes: open it in mode 'rb'")
    return content


@contextlib.contextmanager
def written_elsewhere(place: Any, mode: str) -> Iterator[IO[Any]]:
    """Open a buffer whose content goes to a file object or to an address when it is complete, and only then."""
    binary = "b" in mode
    if isinstance(place, io.TextIOBase) and binary:
        raise TypeError(f"the file object {place!r} takes text, not bytes: open it in mode 'wb'")
    buffer = io.BytesIO()
    file = buffer if binary else io.TextIOWrapper(buffer, encoding="utf-8", write_through=True)
    yield file
    content = buffer.getvalue()
    if isinstance(place, io.TextIOBase):
        place.write(content.decode())
        return
    if hasattr(place, "write"):
        place.write(content)
        return
    files, path = _file_system(os.fspath(place))
    with files.transaction, files.open(path, "wb") as remote:
        remote.write(content)


@contextlib.contextmanager
def folder_written_elsewhere(place: Any, last: str) -> Iterator[Path]:
    """Yield a path for a folder or files of one name, whose content goes to a file object or an address when complete.

    A file object gets one file as it is, and anything else as a zip archive. At an address the files come one by one,
    the one that is called `last` at the end, so that a folder with it is complete.
    """
    with tempfile.TemporaryDirectory() as temporary:
        address = None if hasattr(place, "write") else os.fspath(place).rstrip("/")
        yield Path(temporary) / ("model" if address is None else address.rpartition("/")[2])
        found = sorted((p for p in Path(temporary).rglob("*") if p.is_file()), key=lambda p: (p.name == last, p))
        if address is None:
            with written_elsewhere(place, "wb") as file:
                if len(found) == 1:
                    file.write(found[0].read_bytes())
                else:
                    _write_archive(file, found, Path(temporary))
            return
        files, path = _file_system(address)
        above = path.rpartition("/")[0]
        for each in found:
            target = "/".join([above, *each.relative_to(temporary).parts])
            files.makedirs(target.rpartition("/")[0], exist_ok=True)
            with written_elsewhere(files.unstrip_protocol(target), "wb") as remote:
                remote.write(each.read_bytes())


def _write_archive(file: IO[bytes], found: list[Path], base: Path) -> None:
    with zipfile.ZipFile(file, "w") as archive:
        for each in found:  # of no time, so that the same content gives the same bytes
            archive.writestr(zipfile.ZipInfo(each.relative_to(base).as_posix()), each.read_bytes())


@contextlib.contextmanager
def folder_elsewhere(place: Any) -> Iterator[Path]:
    """Yield a temporary folder with what :func:`folder_written_elsewhere` left in a file object or at an address.

    Raises
    ------
    FormatError
        If a file object holds no archive of one folder.
    """
    with tempfile.TemporaryDirectory() as temporary:
        base = Path(temporary)
        if hasattr(place, "read"):
            yield _unpacked(place, base)
            return
        files, path = _file_system(os.fspath(place).rstrip("/"))
        for each in files.find(path):
            target = base / each[len(path) :].lstrip("/")
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(files.cat_file(each))
        yield base


def _unpacked(place: Any, base: Path) -> Path:
    try:
        with zipfile.ZipFile(io.BytesIO(at_hand(place))) as archive:
            names = archive.namelist()
            tops = {name.split("/")[0] for name in names}
            if len(tops) != 1 or any(len(name.split("/")) < 2 for name in names):
                raise FormatError(f"{name_of(place)}: it holds {', '.join(sorted(tops))}, not one folder with a model")
            archive.extractall(base)  # which keeps what is in it below `base`
    except (zipfile.BadZipFile, EOFError, NotImplementedError) as error:
        raise FormatError(f"{name_of(place)}: it is no zip archive ({error})") from None
    return base / tops.pop()
