"""The .npy and .npz containers, as numpy and MXNet 2 write them."""

from __future__ import annotations

import contextlib
import functools
import json
import re
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import IO, Any

import numpy as np

from gluonx.common.process import cores
from gluonx.errors import FormatError
from gluonx.files.source import BFLOAT16, Fail, Source, byte_count, fill_array, write_data
from gluonx.files.sparse import densify

NPY = b"\x93NUMPY"
_SMALL = 1 << 16  # bytes of a member for which a thread does not pay
_MOST_DEFLATED = 1032  # bytes that one can stand for
_MAX_HEADER = 64 << 10  # of one .npy; a real one has about a hundred bytes
_SPARSE_PARTS = ("format.npy", "shape.npy", "data.npy", "indices.npy", "indptr.npy")
_NPY_PAIR = re.compile(r"'(descr|fortran_order|shape)'\s*:\s*('[^']*'|True|False|\([\d,\sL]*\)),?")
_NPY_DESCR = re.compile(r"[<>|=]?([biufc])(\d{1,2})")


def _npy_dtype(descr: str, fail: Fail) -> np.dtype:
    if descr == "<b2":  # how MXNet 2 spells bfloat16; numpy has no name for it
        return BFLOAT16
    match = _NPY_DESCR.fullmatch(descr)
    if match:
        with contextlib.suppress(TypeError):
            return np.dtype(descr)
    raise fail(f"holds items of type {descr!r}; only booleans and numbers are parameters")


def _npy_header(text: str, fail: Fail) -> tuple[np.dtype, bool, tuple[int, ...]]:
    text = text.strip()
    body = text[1:-1]
    fields = dict(_NPY_PAIR.findall(body))
    well_formed = text[:1] == "{" and text[-1:] == "}" and len(fields) == 3 and not _NPY_PAIR.sub("", body).strip()
    if not (well_formed and fields["fortran_order"] in ("True", "False") and fields["shape"][0] == "("):
        raise fail(f"has a bad .npy header {text[:80]!r}")
    numbers = re.findall(r"\d+", fields["shape"])
    if any(len(n) > 19 for n in numbers):
        raise fail("has an impossible shape")
    dtype = _npy_dtype(fields["descr"].strip("'"), fail)
    return dtype, fields["fortran_order"] == "True", tuple(int(n) for n in numbers)


def read_npy(stream: Any, total: int, fail: Fail, exact: bool = True) -> np.ndarray:
    """One .npy of `total` bytes, or of as many at most, from a stream that may be compressed."""

    def take(size: int) -> bytes:
        data = stream.read(size)
        if len(data) != size:
            raise fail("ends inside the .npy header")
        return data

    magic = take(8)
    if magic[:6] != NPY or magic[6] not in (1, 2, 3):
        raise fail("is not a .npy array")
    length_size = 2 if magic[6] == 1 else 4
    header_size = int.from_bytes(take(length_size), "little")
    if header_size > min(_MAX_HEADER, total):
        raise fail(f"has a .npy header of {header_size} bytes")
    dtype, fortran, shape = _npy_header(take(header_size).decode("latin-1"), fail)
    nbytes, held = byte_count(dtype, shape, fail), total - 8 - length_size - header_size
    if nbytes > held or (exact and nbytes != held):
        raise fail(f"says {dtype}{shape}, which is {nbytes} bytes, but holds {held}")
    if isinstance(stream, Source):
        array = stream.array(dtype, shape[::-1] if fortran else shape, "its array")
    else:
        array = fill_array(stream, dtype, shape[::-1] if fortran else shape, fail)
    return np.asarray(array.T, order="C") if fortran else array


def _npy_bytes_header(dtype: np.dtype, shape: tuple[int, ...]) -> bytes:
    """Give a version 1.0 header within what MXNet 2.0 reads: it takes the length for a signed byte, so at most 127."""
    descr = "<b2" if dtype == BFLOAT16 else dtype.str
    if dtype != BFLOAT16 and (not _NPY_DESCR.fullmatch(descr)):
        raise FormatError(f"npy and npz cannot hold {dtype} arrays; save as safetensors (format='safetensors')")
    text = f"{{'descr': '{descr}', 'fortran_order': False, 'shape': {tuple(int(n) for n in shape)!r}, }}"
    fitting = [total for total in (128, 137) if 10 + len(text) < total]
    total = fitting[0] if fitting else -(-(11 + len(text)) // 64) * 64
    text = text.ljust(total - 11) + "\n"
    return NPY + b"\x01\x00" + struct.pack("<H", len(text)) + text.encode("latin-1")


def write_npy(file: IO[bytes], array: np.ndarray) -> None:
    """One little-endian C-contiguous array as .npy."""
    file.write(_npy_bytes_header(array.dtype, array.shape))
    write_data(file, array)


def write_npz(file: IO[bytes], arrays: dict[str, np.ndarray], metadata: dict[str, str]) -> None:
    """Each array as a stored member; the metadata becomes the archive's comment, which other readers ignore."""
    comment = json.dumps(metadata).encode() if metadata else b""
    if len(comment) >= 1 << 16:
        raise FormatError(f"npz holds at most 65535 bytes of metadata, got {len(comment)}; save as safetensors")
    with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
        for name, array in arrays.items():
            if "\0" in name:
                raise FormatError(f"the name {name!r} has a NUL character, which npz cannot hold")
            info = zipfile.ZipInfo(name + ".npy")  # dated 1980, so that equal parameters make equal files
            info.file_size = array.nbytes + 512  # tells zipfile in time whether this member needs 64-bit sizes
            with archive.open(info, "w") as member:
                write_npy(member, array)
        archive.comment = comment


_ZIP_ERRORS = (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, ValueError, struct.error)


@contextlib.contextmanager
def opened_zip(source: Source) -> Iterator[dict[str, tuple[zipfile.ZipFile, zipfile.ZipInfo]]]:
    """Open the members of an archive by name; whatever zipfile finds wrong becomes a FormatError."""
    try:
        with zipfile.ZipFile(source) as archive:
            infos = archive.infolist()
            if sum(info.compress_size for info in infos) > source.size:
                raise source.fail("its members overlap")
            if len({info.filename for info in infos}) != len(infos):
                raise source.fail("two of its members have the same name")
            yield {info.filename: (archive, info) for info in infos}
    except FormatError:
        raise
    except _ZIP_ERRORS as error:
        raise source.fail(f"it is a damaged zip archive ({error})") from error


def read_member(source: Source, archive: zipfile.ZipFile, info: zipfile.ZipInfo, raw: bool = False) -> Any:
    """Read one member of an archive: its array, or its bytes where `raw`."""
    fail = _failing(source, info)
    if info.flag_bits & 1 or info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise fail("is encrypted or compressed in a way other than deflate")
    if info.compress_type == zipfile.ZIP_DEFLATED:
        if info.file_size > _MOST_DEFLATED * (info.compress_size + 8):
            raise fail(f"says it holds {info.file_size} bytes, more than {info.compress_size} can be inflated to")
        source.spend(info.file_size, f"member {info.filename!r}")
    elif info.file_size != info.compress_size or info.file_size > source.size:
        raise fail(f"says it holds {info.file_size} bytes, more than there are")
    with archive.open(info) as stream:
        result = stream.read() if raw else read_npy(stream, info.file_size, fail)
        if stream.read(1):  # reaching the end is also what makes zipfile compare the checksum
            raise fail("is longer than it says")
    return result


def _failing(source: Source, info: zipfile.ZipInfo) -> Fail:
    return lambda reason: source.fail(f"member {info.filename!r} {reason}", info.header_offset)


def _place(source: Source, info: zipfile.ZipInfo) -> int:
    """Return the offset of a stored member's bytes, as its local header tells."""
    fail = _failing(source, info)
    source.seek(info.header_offset)
    head = source.take(30, "the header of a member")
    if head[:4] != b"PK\x03\x04":
        raise fail("has no header")
    name, extra = struct.unpack("<HH", head[26:])
    spelling = source.take(name, "the name of a member")
    if spelling.decode("utf-8" if info.flag_bits & 0x800 else "cp437", "replace") != info.orig_filename:
        raise fail(f"has the name {spelling[:80]!r} in its own header")
    begin = source.pos + extra
    if info.file_size != info.compress_size or info.file_size > source.size - begin:
        raise fail(f"says it holds {info.file_size} bytes, more than there are")
    return begin


# -- stored members: read, or mapped, and compared with their checksums by several threads -----------------------------


@functools.cache
def _crc32() -> Callable[[Any, int], int]:
    """CRC-32; zlib-ng's where it is installed (the extra 'fast'), which is several times as fast."""
    try:
        from zlib_ng.zlib_ng import crc32  # pyright: ignore[reportMissingImports]
    except ImportError:
        return zlib.crc32
    return crc32


class _Span:
    """A stored member as a stream that knows its own place, so that several can be read at once."""

    def __init__(self, source: Source, begin: int, size: int) -> None:
        self.source, self.pos, self.left, self.crc = source, begin, size, 0

    def read(self, size: int) -> bytes:
        data = bytearray(min(size, self.left))
        return bytes(memoryview(data)[: self.readinto(data)])

    def readinto(self, buffer: Any) -> int:
        view = memoryview(buffer)[: self.left]
        count = self.source.read_at(self.pos, view)
        self.crc = _crc32()(view[:count], self.crc)
        self.pos, self.left = self.pos + count, self.left - count
        return count


def _read_stored(source: Source, info: zipfile.ZipInfo, begin: int) -> np.ndarray:
    fail = _failing(source, info)
    stream = _Span(source, begin, info.file_size)
    array = read_npy(stream, info.file_size, fail)
    if stream.crc != info.CRC:
        raise fail(_DAMAGED)
    return array


def _map_stored(source: Source, info: zipfile.ZipInfo, begin: int) -> np.ndarray:
    source.seek(begin)
    return read_npy(source, info.file_size, _failing(source, info))


def _check_mapped(source: Source, info: zipfile.ZipInfo, begin: int) -> None:
    with memoryview(source.mapped) as whole, whole[begin : begin + info.file_size] as stored:
        if _crc32()(stored, 0) != info.CRC:
            raise _failing(source, info)(_DAMAGED)


_DAMAGED = "has another checksum than its bytes, so it is damaged"


class Checks:
    """Work that other threads do: reading and comparing checksums, which takes as long as copying the arrays does.

    Threads are there until `settle`, which raises what they found wrong, the first in the order of the file.
    """

    def __init__(self) -> None:
        self._pool: ThreadPoolExecutor | None = None
        self._waiting: list[Future[Any]] = []

    def start(self, work: Callable[..., Any], *args: Any) -> Future[Any]:
        """Have a thread call ``work(*args)``."""
        if self._pool is None:
            self._pool = ThreadPoolExecutor(max(1, min(4, cores())))
        future = self._pool.submit(work, *args)
        self._waiting.append(future)
        return future

    def settle(self) -> None:
        """Wait for all of it.

        Raises
        ------
        FormatError
            If a member is damaged.
        """
        waiting, self._waiting = self._waiting, []
        pool, self._pool = self._pool, None
        if pool is not None:
            pool.shutdown(wait=True)
        for future in waiting:
            future.result()


def read_npz(source: Source, checks: Checks | None = None) -> dict[str, np.ndarray]:
    """All arrays of the archive in its order; sparse ones of MXNet 2 as dense ones.

    With `checks`, mapped members are still being compared with their checksums when this returns.
    """
    own = checks if checks is not None and source.mapped is not None else Checks()
    try:
        result = _read_all(source, own)
    except BaseException:
        with contextlib.suppress(Exception):  # what was found first is told
            own.settle()
        raise
    if own is not checks:
        own.settle()
    return result


def _read_all(source: Source, checks: Checks) -> dict[str, np.ndarray]:
    with opened_zip(source) as members:
        if members and not any(name.endswith(".npy") for name in members):
            raise source.fail("it is a zip archive without arrays (a wheel?)")
        result: dict[str, Any] = {}
        for name, (archive, info) in members.items():
            key, _, part = name.rpartition("/")
            sparse = part in _SPARSE_PARTS and {f"{key}/{p}" for p in _SPARSE_PARTS[:4]} <= members.keys()
            if not name.endswith(".npy"):
                raise source.fail(f"member {name!r} is not an array")
            if not sparse:
                plain = info.compress_type == zipfile.ZIP_STORED and not info.flag_bits & 1
                found = _start_stored(source, info, checks) if plain else read_member(source, archive, info)
                result[name.removesuffix(".npy")] = found
            elif part == "format.npy":
                result[key] = _read_npz_sparse(source, key, members)
        return {name: value.result() if isinstance(value, Future) else value for name, value in result.items()}


def _start_stored(source: Source, info: zipfile.ZipInfo, checks: Checks) -> Any:
    begin = _place(source, info)
    start = checks.start if info.file_size > _SMALL else _at_once
    if source.mapped is None:
        return start(_read_stored, source, info, begin)
    start(_check_mapped, source, info, begin)
    return _map_stored(source, info, begin)


def _at_once(work: Callable[..., Any], *args: Any) -> np.ndarray | None:
    return work(*args)


def _read_npz_sparse(source: Source, key: str, members: dict[str, Any]) -> np.ndarray:
    """MXNet 2 keeps a sparse array as a folder of dense ones, beside a `format` whose .npy header is not even valid."""
    text = read_member(source, *members[f"{key}/format.npy"], raw=True)
    kind = text[10 + int.from_bytes(text[8:10], "little") :].decode("latin-1")
    aux = {"row_sparse": ["indices"], "csr": ["indptr", "indices"]}.get(kind)
    if aux is None or not all(f"{key}/{name}.npy" in members for name in aux):
        raise source.fail(f"array {key!r} has the unknown sparse format {kind[:20]!r}")
    data, shape, *index = [read_member(source, *members[f"{key}/{name}.npy"]) for name in ("data", "shape", *aux)]
    if shape.ndim != 1 or shape.dtype.kind not in "iu":
        raise source.fail(f"sparse array {key!r} has no proper shape")
    return densify(source, f"sparse array {key!r}", data, index, tuple(int(n) for n in shape))
