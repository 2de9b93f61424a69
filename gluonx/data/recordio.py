"""Record files: many small pieces of data, such as encoded images, one after another in one file.

The format is that of MXNet (dmlc RecordIO), byte for byte. A record is a head of 8 bytes and the data, filled up with
zeros to a multiple of 4 bytes; the head is a magic number, and in one little-endian word 3 bits that say which piece
of a record this is, and 29 bits of length. Where data hold the magic number at a multiple of 4 bytes, it is left out
there and the record cut in two pieces: so whoever begins to read anywhere, as each of several readers of one file
does, finds the next record by looking for the magic number.

An index file beside it has a line ``key TAB offset`` a record, by which records are read in any order.

`pack` puts a small header before the data, with a label or several and a number; `pack_img` does so with an image.

A file that is being written is not complete until `close`: records go into the file itself, as in MXNet, and not into
one that takes its place at the end. ``python -m gluonx.data.im2rec`` makes files that appear complete.
"""

from __future__ import annotations

import numbers
import os
import struct
import threading
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple, Self, TextIO

import numpy as np

from gluonx.data._codec import decode, encode
from gluonx.data._host import as_host
from gluonx.errors import ArgumentError, FormatError, GluonxError
from gluonx.files.atomic import PathLike

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

    from typing_extensions import Buffer


__all__ = ["IRHeader", "MXIndexedRecordIO", "MXRecordIO", "pack", "pack_img", "unpack", "unpack_img"]

MAGIC = struct.pack("<I", 0xCED7230A)
LIMIT = 1 << 29  # a record is shorter than this
_WORDS = struct.Struct("<4sI")
_WHOLE, _FIRST, _MIDDLE, _LAST = range(4)


def frame(data: Buffer) -> bytes:
    """Return the bytes that a record file has for a record of `data`."""
    data = bytes(data)
    if len(data) >= LIMIT:
        raise ArgumentError(
            f"a record must be shorter than 2**29 bytes, the limit of the format; got {len(data)} bytes"
        )
    cuts = []
    found = data.find(MAGIC)
    while found >= 0:
        if found % 4 == 0:
            cuts.append(found)
        found = data.find(MAGIC, found + (4 if found % 4 == 0 else 1))
    starts, ends = [0, *(cut + 4 for cut in cuts)], [*cuts, len(data)]
    parts = []
    for place, (start, end) in enumerate(zip(starts, ends, strict=True)):
        flag = _WHOLE if not cuts else _FIRST if place == 0 else _LAST if place == len(cuts) else _MIDDLE
        parts += [_WORDS.pack(MAGIC, flag << 29 | (end - start)), data[start:end]]
    return b"".join(parts) + bytes(-len(data[starts[-1] :]) % 4)


def read_record(file: BinaryIO, name: str) -> bytes | None:
    """Return the record at which `file` stands, and None at its end.

    Raises
    ------
    FormatError
        Naming `name` and the offset: when no record begins there, or the file ends within it.
    """
    pieces: list[bytes] = []
    start = file.tell()
    while True:
        head = file.read(8)
        if not head and not pieces:
            return None
        if len(head) < 8:
            raise FormatError(f"'{name}' ends within the record at offset {start}: {_missing(8 - len(head))}")
        magic, word = _WORDS.unpack(head)
        flag, length = word >> 29, word % LIMIT
        if magic != MAGIC or (flag not in (_MIDDLE, _LAST) if pieces else flag not in (_WHOLE, _FIRST)):
            at = file.tell() - 8
            why = f"found {head.hex()}" if magic != MAGIC else f"found piece {flag} of a record that was cut"
            raise FormatError(f"'{name}' is damaged, or no record file: a record should be at offset {at}, but {why}")
        data = _up_to(length + -length % 4, file)
        if len(data) < length:
            raise FormatError(f"'{name}' ends within the record at offset {start}: {_missing(length - len(data))}")
        pieces.append(data[:length])
        if flag in (_WHOLE, _LAST):
            return MAGIC.join(pieces)


def _up_to(count: int, file: BinaryIO) -> bytes:
    """Return the next bytes, with no memory for those that a damaged file only tells of."""
    if count > 1 << 20:
        here = file.tell()
        count = min(count, max(file.seek(0, os.SEEK_END) - here, 0))
        file.seek(here)
    return file.read(count)


def _missing(count: int) -> str:
    return f"{count} more bytes were expected"


class MXRecordIO:
    """A record file, to be read from its begin to its end, or to be written.

    Reading goes on in another process that is given the object, by fork or by pickling: it opens the file anew, and
    stands at its begin. Writing does not.

    Parameters
    ----------
    uri : str or os.PathLike
        The file.
    flag : {'r', 'w'}
        Whether to read it, or to write it. Writing replaces what was in the file.

    Raises
    ------
    ValueError
        For another `flag`.
    OSError
        If the file cannot be opened.

    Examples
    --------
    >>> import tempfile
    >>> path = tempfile.mkdtemp() + "/some.rec"
    >>> with MXRecordIO(path, "w") as record:
    ...     for text in (b"one", b"two"):
    ...         record.write(text)
    >>> record = MXRecordIO(path, "r")
    >>> record.read(), record.read(), record.read()
    (b'one', b'two', None)
    >>> record.close()
    """

    def __init__(self, uri: PathLike, flag: str) -> None:
        self.uri = os.fspath(uri)
        self.flag = flag
        self.is_open = False
        self.pid: int | None = None
        self.handle: BinaryIO | None = None
        self._turn = threading.Lock()
        self.open()

    def open(self) -> None:
        """Open the file; what was in it is gone if it is to be written."""
        if self.flag not in ("r", "w"):
            raise ValueError(f"Invalid flag {self.flag!r}: 'r' or 'w' was expected")
        self.writable = self.flag == "w"
        self.handle = open(self.uri, self.flag + "b")  # noqa: SIM115 - stays open
        self._turn = threading.Lock()  # not that of a parent process, which may be held for ever
        self.pid = os.getpid()
        self.is_open = True

    def close(self) -> None:
        """Close the file; a file that was written is complete then. Doing it twice does nothing more."""
        if self.is_open:
            self.is_open = False
            self.pid = None
            handle, self.handle = self.handle, None
            if handle is not None:
                handle.close()

    def reset(self) -> None:
        """Go back to the begin. Of a file that is written, that deletes what was written, as in MXNet."""
        self.close()
        self.open()

    def write(self, buf: Buffer) -> None:
        """Append a record.

        Parameters
        ----------
        buf : bytes-like
            Fewer than 2**29 bytes.

        Raises
        ------
        TypeError
            If `buf` is no bytes.
        GluonxError
            If the file is read, is closed, or was opened by another process.
        """
        self._writing().write(frame(_bytes(buf)))

    def read(self) -> bytes | None:
        """Return the next record, or None when there is no other.

        Raises
        ------
        FormatError
            If there is no record at this place, or only a part of one; names the file and the offset.
        GluonxError
            If the file is written.
        """
        file = self._reading()
        with self._turn:
            return read_record(file, self.uri)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def __del__(self) -> None:
        try:  # noqa: SIM105 - at Python's end there is no contextlib any more
            self.close()
        except Exception:  # of an object that was never made, for one
            pass

    def __getstate__(self) -> dict[str, Any]:
        if self.writable and self.is_open:
            raise GluonxError(f"'{self.uri}' is being written: close it before it is sent to another process")
        return {**self.__dict__, "handle": None, "pid": None, "_turn": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._turn = threading.Lock()
        if self.is_open:
            self.is_open = False
            self.open()

    def _writing(self) -> BinaryIO:
        if not self.writable:
            raise GluonxError(f"'{self.uri}' was opened to be read (flag 'r'), not to be written")
        if self.handle is None or self.pid != os.getpid():
            how = "is closed" if self.handle is None else "was opened by another process, which alone may write it"
            raise GluonxError(f"'{self.uri}' {how}")
        return self.handle

    def _reading(self) -> BinaryIO:
        if self.writable:
            raise GluonxError(f"'{self.uri}' was opened to be written (flag 'w'), not to be read")
        if self.pid != os.getpid():
            self.reset()
        assert self.handle is not None
        return self.handle


class MXIndexedRecordIO(MXRecordIO):
    """A record file with an index: its records are read in any order, by their keys.

    `read_idx` may be called by several threads at once.

    Parameters
    ----------
    idx_path : str or os.PathLike
        The index file, of lines ``key TAB offset``.
    uri : str or os.PathLike
        The record file.
    flag : {'r', 'w'}
        Whether to read or to write both.
    key_type : callable
        Makes a key of its text in the index.

    Attributes
    ----------
    keys : list
        The keys in the order of the index.
    idx : dict
        The offset of the record of each key.

    Examples
    --------
    >>> import tempfile
    >>> folder = tempfile.mkdtemp()
    >>> with MXIndexedRecordIO(folder + "/some.idx", folder + "/some.rec", "w") as record:
    ...     for key in range(3):
    ...         record.write_idx(key, b"record %d" % key)
    >>> record = MXIndexedRecordIO(folder + "/some.idx", folder + "/some.rec", "r")
    >>> record.keys, record.read_idx(2)
    ([0, 1, 2], b'record 2')
    >>> record.close()
    """

    def __init__(self, idx_path: PathLike, uri: PathLike, flag: str, key_type: Callable[[Any], Any] = int) -> None:
        self.idx_path = os.fspath(idx_path)
        self.idx: dict[Any, int] = {}
        self.keys: list[Any] = []
        self.key_type = key_type
        self.fidx: TextIO | None = None
        super().__init__(uri, flag)

    def open(self) -> None:
        """Open both files, and read the index if it is to be read."""
        super().open()
        self.idx, self.keys = {}, []
        try:
            if self.writable:
                self.fidx = open(self.idx_path, "w", encoding="utf-8")  # noqa: SIM115 - stays open
            else:
                self._read_index()
        except BaseException:
            self.close()
            raise

    def _read_index(self) -> None:
        for key, offset in read_index(self.idx_path, self.key_type):
            self.idx[key] = offset
            self.keys.append(key)

    def close(self) -> None:
        """Close both files."""
        super().close()
        fidx, self.fidx = self.fidx, None
        if fidx is not None:
            fidx.close()

    def __getstate__(self) -> dict[str, Any]:
        return {**super().__getstate__(), "fidx": None}

    def seek(self, idx: Hashable) -> None:
        """Go to the record of the key `idx`, which `read` reads next.

        Raises
        ------
        KeyError
            If the index has no such key.
        """
        file = self._reading()
        with self._turn:
            file.seek(self._offset(idx))

    def tell(self) -> int:
        """Return the offset at which the next record will be written."""
        return self._writing().tell()

    def read_idx(self, idx: Hashable) -> bytes:
        """Return the record of the key `idx`.

        Raises
        ------
        KeyError
            If the index has no such key.
        FormatError
            If the index does not fit the record file, or the record is damaged; names both files and the offset.
        """
        file = self._reading()
        with self._turn:
            offset = self._offset(idx)
            file.seek(offset)
            try:
                found = read_record(file, self.uri)
            except FormatError as error:
                raise FormatError(f"{error} (the record of key {idx!r} in '{self.idx_path}')") from None
        if found is None:
            where = f"'{self.idx_path}' has key {idx!r} at offset {offset}"
            raise FormatError(f"{where}, but '{self.uri}' has {os.path.getsize(self.uri)} bytes")
        return found

    def write_idx(self, idx: Any, buf: Any) -> None:
        """Append a record, and its key to the index."""
        key, offset, line = self.key_type(idx), self.tell(), str(idx)
        if "\t" in line or "\n" in line:
            raise ArgumentError(
                f"a key must have no tabulator and no line end, which the index file cannot hold: {line!r}"
            )
        self.write(buf)
        assert self.fidx is not None
        self.fidx.write(f"{key}\t{offset}\n")
        self.idx[key] = offset
        self.keys.append(key)

    def _offset(self, key: Hashable) -> int:
        try:
            return self.idx[key]
        except KeyError:
            raise _NoKey(f"'{self.idx_path}' has no key {key!r} (it has {len(self.idx)} keys)") from None


class _NoKey(GluonxError, KeyError):
    __str__ = GluonxError.__str__  # a KeyError would show its repr


def read_index(path: PathLike, key_type: Callable[[Any], Any] = int) -> list[tuple[Any, int]]:
    """Return the pairs of key and offset that an index file holds.

    Raises
    ------
    FormatError
        Naming the file and the line, if a line is no such pair.
    """
    found = []
    for number, line in numbered_lines(path):
        if not line.strip():
            continue
        key, _, offset = line.rstrip("\n").partition("\t")
        try:
            found.append((key_type(key), int(offset)))
        except ValueError as error:
            told = f"'{path}', line {number}: an index has lines of a key, a tabulator and an offset"
            raise FormatError(f"{told}, got {line[:80]!r}") from error
        if not 0 <= found[-1][1] < 1 << 63:
            wrong = "cannot be negative" if found[-1][1] < 0 else "is below 2**63"
            raise FormatError(f"'{path}', line {number}: an offset {wrong}, got {line[:80]!r}")
    return found


def numbered_lines(path: PathLike) -> Iterator[tuple[int, str]]:
    """Yield the lines of a text file with their numbers, from 1.

    Raises
    ------
    FormatError
        Naming the file, if it is no text in UTF-8.
    """
    with open(path, encoding="utf-8") as file:
        try:
            yield from enumerate(file, 1)
        except UnicodeDecodeError as error:
            raise FormatError(f"'{os.fspath(path)}' is no text in UTF-8: {error}") from error


class IRHeader(NamedTuple):
    """The header that `pack` puts before data.

    Parameters
    ----------
    flag : int
        How many labels there are; 0 if `label` is one number. `pack` finds it by itself.
    label : float or array of float
    id : int
        The number of the sample.
    id2 : int
        Another number, usually 0.

    Examples
    --------
    >>> IRHeader(0, 3.0, id=7, id2=0).label
    3.0
    """

    flag: int
    label: Any
    id: int
    id2: int


_HEADER = struct.Struct("<IfQQ")


def pack(header: Sequence[Any], s: Buffer) -> bytes:
    """Put a header before data.

    Parameters
    ----------
    header : IRHeader, or a tuple of its four fields
        Its label is a number or an array of numbers, which become float32; its flag is not looked at.
    s : bytes-like
        The data.

    Returns
    -------
    bytes
        What `unpack` takes apart: 24 bytes, 4 bytes a label if there is an array of them, and the data.

    Examples
    --------
    >>> packed = pack(IRHeader(0, [1.0, 2.5], 7, 0), b"data")
    >>> unpack(packed)
    (IRHeader(flag=2, label=array([1. , 2.5], dtype=float32), id=7, id2=0), b'data')
    """
    _, label, number, number2 = IRHeader(*header)
    labels, flag = b"", 0
    if not isinstance(label, numbers.Number):
        values = np.asarray(as_host(label), dtype=np.float32)
        labels, flag, label = values.tobytes(), values.size, 0
    try:
        return _HEADER.pack(flag, label, number, number2) + labels + _bytes(s)
    except (struct.error, OverflowError) as error:
        told = f"label={label!r}, id={number!r}, id2={number2!r}"
        raise ArgumentError(f"pack: a number as label, and two from 0 to 2**64-1 were expected, got {told}") from error


def unpack(s: Any) -> tuple[IRHeader, bytes]:
    """Take apart what `pack` made.

    Returns
    -------
    (IRHeader, bytes)
        The header, with an array of float32 as label if there are several, and the data.

    Raises
    ------
    FormatError
        If `s` is shorter than its header says.

    Examples
    --------
    >>> header, content = unpack(pack(IRHeader(0, 3.0, 7, 0), b"data"))
    >>> header.label, content
    (3.0, b'data')
    """
    if len(s) < _HEADER.size:
        raise FormatError(f"unpack: a packed record begins with a header of {_HEADER.size} bytes, got {len(s)} bytes")
    header = IRHeader(*_HEADER.unpack_from(s))
    start = _HEADER.size + 4 * header.flag
    if start > len(s):
        told = f"the header tells of {header.flag} labels, but only {len(s) - _HEADER.size} bytes follow it"
        raise FormatError(f"unpack: no packed record: {told}")
    if header.flag:
        header = header._replace(label=np.frombuffer(s, np.float32, header.flag, _HEADER.size))
    return header, s[start:]


def unpack_of(source: str, s: bytes) -> tuple[IRHeader, bytes]:
    """Take apart a record of `source`, which errors name."""
    try:
        return unpack(s)
    except FormatError as error:
        raise FormatError(f"{source}: {error}") from None


def pack_img(header: Sequence[Any], img: object, quality: int = 95, img_fmt: str = ".jpg") -> bytes:
    """Encode an image, and put a header before it.

    Parameters
    ----------
    header : IRHeader, or a tuple of its four fields
    img : numpy.ndarray of uint8
        (height, width) or (height, width, 3), its colours in the order of OpenCV: BGR.
    quality : int
        Of a JPEG, 1 to 100; of a PNG how much it is compressed, 0 to 9.
    img_fmt : str
        The format: ``'.jpg'``, ``'.png'``.

    Returns
    -------
    bytes
        What `unpack_img` takes apart.

    Raises
    ------
    ArgumentError
        If `img` is no image, or the format is unknown.

    Examples
    --------
    >>> packed = pack_img((0, 3.0, 0, 0), np.zeros((8, 6, 3), np.uint8), img_fmt=".png")
    >>> header, image = unpack_img(packed)
    >>> header.label, image.shape
    (3.0, (8, 6, 3))
    """
    return pack(header, encode(as_host(img), quality, img_fmt, to_rgb=False))


def unpack_img(s: Any, iscolor: int = -1) -> tuple[IRHeader, np.ndarray]:
    """Take apart and decode what `pack_img` made.

    Parameters
    ----------
    s : bytes-like
    iscolor : {-1, 0, 1}
        1 gives colours, 0 gray, -1 what the file holds.

    Returns
    -------
    (IRHeader, numpy.ndarray)
        The image as (height, width, 3) in the order BGR, or (height, width) if it is gray.

    Raises
    ------
    FormatError
        If `s` is no packed record, or its image damaged.

    Examples
    --------
    >>> packed = pack_img((0, 3.0, 0, 0), np.zeros((8, 6, 3), np.uint8), img_fmt=".png")
    >>> header, image = unpack_img(packed)
    >>> header.label, image.shape
    (3.0, (8, 6, 3))
    """
    header, data = unpack(s)
    image = decode(data, iscolor, to_rgb=False, source=f"the record with id {header.id}")
    return header, image[:, :, 0] if image.shape[2] == 1 else image


def _bytes(buf: Buffer) -> bytes:
    if isinstance(buf, str):
        raise TypeError("bytes were expected, got str: encode it, for instance by .encode()")
    try:
        return bytes(memoryview(buf))
    except TypeError:
        raise TypeError(f"bytes were expected, got {type(buf).__name__}") from None


def __dir__() -> list[str]:
    return sorted(__all__)
