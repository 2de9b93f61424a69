"""MXNet's NDArray list, the ``.params`` of 1.x: all four versions of its records, little-endian, unaligned."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from typing import IO

import numpy as np

from gluonx.errors import FormatError
from gluonx.files.source import BFLOAT16, Source, write_data
from gluonx.files.sparse import Stored, densify

MAGIC = struct.pack("<QQ", 0x112, 0)
_DTYPES = [
    np.dtype(d) for d in ("<f4", "<f8", "<f2", "u1", "<i4", "i1", "<i8", "?", "<i2", "<u2", "<u4", "<u8", BFLOAT16)
]
_V1, _V2, _V3 = 0xF993FAC8, 0xF993FAC9, 0xF993FACA
_MAX_RANK = 64


def read_list(source: Source) -> dict[str, np.ndarray]:
    """All arrays of the list, by name, or as ``arr_0``, ``arr_1`` and so on where it has no names."""
    names, arrays = read_items(source)
    names = names or [f"arr_{i}" for i in range(len(arrays))]
    if len(set(names)) != len(names):
        raise source.fail("two of its arrays have the same name")
    return dict(zip(names, arrays, strict=True))


def read_items(source: Source) -> tuple[list[str], list[np.ndarray]]:
    """Return the names, none of them where it is a list and not a dict, and the arrays."""
    source.seek(len(MAGIC))
    (count,) = source.unpack("Q", "the number of arrays")
    if count > (source.size - source.pos) // 4:
        raise source.fail(f"it says it holds {count} arrays, more than fit into its {source.size} bytes", 16)
    arrays = [_read_record(source, f"array {i}") for i in range(count)]
    (named,) = source.unpack("Q", "the number of names")
    if named not in (0, count):
        raise source.fail(f"it has {count} arrays but {named} names", source.pos - 8)
    names = [_read_name(source, i) for i in range(named)]
    if source.pos != source.size:
        raise source.fail(f"{source.size - source.pos} bytes follow after its end", source.pos)
    return names, arrays


def read_one(source: Source) -> np.ndarray:
    """One record without the list around it, as trainer states hold them; it must be all that there is."""
    array = _read_record(source, "the array")
    if source.pos != source.size:
        raise source.fail(f"{source.size - source.pos} bytes follow after its end", source.pos)
    return array


def write_list(file: IO[bytes], arrays: Mapping[str, np.ndarray | Stored], named: bool = True) -> None:
    """Write the list as MXNet 1 and 2 read it: in version 2, or 3 where an array has no element or no axis.

    Version 2 knows no arrays of rank 0 or size 0; version 3 is read by MXNet 2 and, under ``np_shape``, by 1.6 to 1.9.
    """
    codes = {dtype: code for code, dtype in enumerate(_DTYPES)}
    dense = [array for array in arrays.values() if not isinstance(array, Stored)]
    tag = _V3 if any(array.size == 0 or array.ndim == 0 for array in dense) else _V2
    file.write(MAGIC + struct.pack("<Q", len(arrays)))
    for name, array in arrays.items():
        if isinstance(array, Stored):
            _write_sparse(file, name, array, codes)
            continue
        if array.dtype not in codes:
            raise FormatError(f"an NDArray list cannot hold the array {name!r} of type {array.dtype}")
        file.write(struct.pack(f"<Iii{array.ndim}q", tag, 0, array.ndim, *array.shape))
        file.write(struct.pack("<iii", 1, 0, codes[array.dtype]))
        write_data(file, array)
    names = [name.encode("utf-8") for name in arrays] if named else []
    file.write(struct.pack("<Q", len(names)))
    for text in names:
        file.write(struct.pack("<Q", len(text)) + text)


def _write_sparse(file: IO[bytes], name: str, array: Stored, codes: dict[np.dtype, int]) -> None:
    """Write a record of version 2, the only version that has sparse arrays."""
    data, shape = array.data, array.shape
    if data.dtype not in codes:
        raise FormatError(f"an NDArray list cannot hold the array {name!r} of type {data.dtype}")
    file.write(struct.pack(f"<Iii{data.ndim}q", _V2, {"row_sparse": 1, "csr": 2}[array.stype], data.ndim, *data.shape))
    file.write(struct.pack(f"<i{len(shape)}q", len(shape), *shape))
    file.write(struct.pack("<iii", 1, 0, codes[data.dtype]))
    for index in array.index:
        file.write(struct.pack("<iiq", codes[np.dtype("<i8")], 1, len(index)))
    for part in (data, *array.index):
        write_data(file, np.ascontiguousarray(part, part.dtype.newbyteorder("<")))


def _read_name(source: Source, index: int) -> str:
    (length,) = source.unpack("Q", f"the length of name {index}")
    text = source.take(length, f"name {index}")
    try:
        return text.decode("utf-8")
    except UnicodeDecodeError as error:
        raise source.fail(f"name {index} is not UTF-8", source.pos - length) from error


def _read_shape(source: Source, what: str) -> tuple[int, ...]:
    (ndim,) = source.unpack("i", f"the rank of {what}")
    if not 0 <= ndim <= _MAX_RANK:
        raise source.fail(f"{what} has rank {ndim}", source.pos - 4)
    return source.unpack(f"{ndim}q", f"the shape of {what}")


def _read_dtype(source: Source, what: str) -> np.dtype:
    (code,) = source.unpack("i", f"the type of {what}")
    if not 0 <= code < len(_DTYPES):
        raise source.fail(f"{what} has the unknown type number {code}", source.pos - 4)
    return _DTYPES[code]


def _read_record(source: Source, what: str) -> np.ndarray:
    start = source.pos
    (tag,) = source.unpack("I", what)
    storage, storage_shape = 0, ()
    if tag in (_V2, _V3):
        (storage,) = source.unpack("i", f"the storage of {what}")
        if storage not in (0, 1, 2) or (storage and tag == _V3):
            raise source.fail(f"{what} has the unknown storage type {storage}", start + 4)
        storage_shape = _read_shape(source, what) if storage else ()
        shape = _read_shape(source, what)
    else:  # V1 has a tag and 64-bit sizes; V0, the oldest, starts with the rank itself and has 32-bit ones
        ndim = source.unpack("I", f"the rank of {what}")[0] if tag == _V1 else tag
        if ndim > _MAX_RANK:
            raise source.fail(f"{what} starts with the unknown tag {tag:#x}", start)
        shape = source.unpack(f"{ndim}{'q' if tag == _V1 else 'I'}", f"the shape of {what}")
    if -1 in shape or (not shape and tag != _V3):
        raise source.fail(f"{what} was saved before its shape was known and holds no data", start)
    source.unpack("ii", f"the device of {what}")
    dtype = _read_dtype(source, what)
    if not storage:
        return source.array(dtype, shape, what)
    auxiliary = [(_read_dtype(source, what), _read_shape(source, what)) for _ in range(storage)]
    data = source.array(dtype, storage_shape, what)
    return densify(source, what, data, [source.array(d, s, what) for d, s in auxiliary], shape)
