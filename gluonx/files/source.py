"""Reading without trust: every length is compared with what is really there before memory is taken for it."""

from __future__ import annotations

import hashlib
import io
import json
import math
import os
import struct
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import IO, Any, BinaryIO

import ml_dtypes
import numpy as np

from gluonx.errors import FormatError

Fail = Callable[[str], FormatError]  # makes the error that names the file, from the reason

BFLOAT16 = np.dtype(ml_dtypes.bfloat16)
_CHUNK = 1 << 20
_MAX_NDIM = 64  # numpy's own limit


class Source(io.RawIOBase):
    """A file or a block of bytes, whose every read is held against its true size.

    With ``keeps_sparse`` sparse arrays are read as they are stored.

    It is also the file object handed to `zipfile`, which asks for as many bytes as a hostile header tells it to.
    """

    keeps_sparse = False

    def __init__(self, file: BinaryIO, name: str, budget: int, mapped: Any = None) -> None:
        self.file, self.name, self.budget, self.mapped = file, name, budget, mapped
        self.size = file.seek(0, io.SEEK_END)
        self.pos = 0
        self._lock = threading.Lock()
        try:
            self._number = file.fileno() if hasattr(os, "preadv") else None
        except io.UnsupportedOperation:  # bytes
            self._number = None

    def fail(self, reason: str, offset: int | None = None) -> FormatError:
        """Make the error to raise: names the file, the byte where known, and the reason."""
        at = "" if offset is None else f" at byte {offset}"
        return FormatError(f"{self.name}: cannot read the parameters{at}: {reason}")

    def seekable(self) -> bool:  # noqa: D102 - as every file object
        return True

    def tell(self) -> int:  # noqa: D102
        return self.pos

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:  # noqa: D102
        pos = offset + (0, self.pos, self.size)[whence]
        if pos < 0:
            # An OSError, which zipfile expects where a file is shorter than an end record, and a ValueError elsewhere.
            raise io.UnsupportedOperation("an offset points before the start of the file")
        self.pos = pos
        return pos

    def read(self, size: int = -1) -> bytes:
        """At most `size` bytes, and never more memory than the file has bytes left."""
        left = max(self.size - self.pos, 0)
        self.file.seek(self.pos)
        data = self.file.read(left if size < 0 else min(size, left))
        self.pos += len(data)
        return data

    def readinto(self, buffer: Any) -> int:  # noqa: D102
        self.file.seek(self.pos)
        count = self.file.readinto(buffer)  # type: ignore[attr-defined]
        self.pos += count
        return count

    def read_at(self, offset: int, buffer: Any) -> int:
        """Fill a buffer from `offset` on, as far as there are bytes; several threads may at once."""
        if self._number is not None:
            return os.preadv(self._number, [buffer], offset)
        with self._lock:
            self.file.seek(offset)
            return self.file.readinto(buffer)  # type: ignore[attr-defined]

    def take(self, size: int, what: str) -> bytes:
        """Return the next `size` bytes, or a FormatError that says what they should have been."""
        if size > self.size - self.pos:
            raise self.fail(f"{what} needs {size} bytes, {max(self.size - self.pos, 0)} are left", self.pos)
        data = self.read(size)
        if len(data) != size:
            raise self.fail("the file shrank while it was read", self.pos)
        return data

    def unpack(self, layout: str, what: str) -> tuple[int, ...]:
        """Return the next little-endian integers, laid out as for `struct`."""
        layout = "<" + layout
        return struct.unpack(layout, self.take(struct.calcsize(layout), what))

    def array(self, dtype: np.dtype, shape: Sequence[int], what: str) -> np.ndarray:
        """Return the next array in raw C order."""

        def fail(reason: str) -> FormatError:
            return self.fail(f"{what} {reason}", self.pos)

        nbytes, left = byte_count(dtype, shape, fail), max(self.size - self.pos, 0)
        if nbytes > left:
            raise fail(f"of shape {tuple(shape)} needs {nbytes} bytes, {left} are left")
        if self.mapped is None or dtype == np.bool_ or not dtype.isnative:
            return fill_array(self, dtype, shape, fail)
        self.pos += nbytes
        return np.ndarray(tuple(shape), dtype, self.mapped, self.pos - nbytes) if nbytes else np.empty(shape, dtype)

    def spend(self, nbytes: int, what: str) -> None:
        """Account for memory beyond the file's own size: a kilobyte may inflate to a megabyte, a bomb to anything."""
        self.budget -= nbytes
        if self.budget < 0:
            reason = f"{what} would expand to {nbytes} bytes, over max_expanded_bytes; raise it if you trust the file"
            raise self.fail(reason)


def byte_count(dtype: np.dtype, shape: Sequence[int], fail: Fail) -> int:
    """Return the bytes of an array of untrusted shape, refused where numpy could not hold it."""
    if len(shape) > _MAX_NDIM:
        raise fail(f"has {len(shape)} dimensions, more than {_MAX_NDIM}")
    if any(n < 0 for n in shape) or math.prod(max(n, 1) for n in shape) * dtype.itemsize >= 1 << 63:
        raise fail(f"has the impossible shape {tuple(shape)}")
    return math.prod(shape) * dtype.itemsize


def fill_array(stream: Any, dtype: np.dtype, shape: Sequence[int], fail: Fail) -> np.ndarray:
    """Read an array into fresh aligned memory; sizes have been checked by the caller."""
    # A bool byte that is neither 0 nor 1 is undefined behaviour in numpy, so bools pass through uint8.
    array = np.empty(tuple(shape), np.uint8 if dtype == np.bool_ else dtype)
    view = memoryview(array.reshape(-1).view(np.uint8).data)
    done = 0
    while done < len(view):
        count = stream.readinto(view[done : done + _CHUNK])
        if not count:
            raise fail(f"ends after {done} of {len(view)} bytes of data")
        done += count
    return array != 0 if dtype == np.bool_ else _native(array)


def _native(array: np.ndarray) -> np.ndarray:
    return array if array.dtype.isnative else array.astype(array.dtype.newbyteorder("="))


def checksum_of(described: Mapping[str, Any]) -> str:
    """Return the SHA-256 of what a file in JSON says, without its own entry ``checksum``.

    Examples
    --------
    >>> checksum_of({"format": 1}) == checksum_of({"format": 1, "checksum": "..."})
    True
    """
    content = {key: value for key, value in described.items() if key != "checksum"}
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def write_data(file: IO[bytes], array: np.ndarray) -> None:
    """Write the raw bytes of a C-contiguous array in pieces, so that no copy of the whole is made."""
    view = memoryview(array.reshape(-1).view(np.uint8).data)
    for start in range(0, len(view), _CHUNK):
        file.write(view[start : start + _CHUNK])
