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
from collections.abc import Iterator
from typing import IO, Any

__all__ = ["PathLike", "Place", "at_hand", "is_path", "name_of", "written_elsewhere"]

PathLike = str | os.PathLike[str]
Place = PathLike | IO[bytes]

_ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.\-]+://")  # of two letters at least: a single one is a drive


def name_of(place: Any) -> str:
    """Name a place for messages; the ending may tell a format."""
    if hasattr(place, "read") or hasattr(place, "write"):
        name = getattr(place, "name", None)
        return name if isinstance(name, str) else "<file object>"
    return "<bytes>" if isinstance(place, bytes | bytearray | memoryview) else os.fspath(place)


def is_path(place: Any) -> bool:
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
