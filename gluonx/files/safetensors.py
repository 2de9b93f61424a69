"""The safetensors container, read and written by its specification (https://huggingface.co/docs/safetensors)."""

from __future__ import annotations

import json
import struct
from typing import IO, Any

import ml_dtypes
import numpy as np

from gluonx.errors import FormatError
from gluonx.files.source import BFLOAT16, Source, byte_count, write_data

_MAX_JSON = 100_000_000  # bytes of the header; the limit of the specification
_DTYPES = {
    "BOOL": np.dtype("?"),
    "U8": np.dtype("u1"),
    "I8": np.dtype("i1"),
    "F8_E4M3": np.dtype(ml_dtypes.float8_e4m3fn),
    "F8_E5M2": np.dtype(ml_dtypes.float8_e5m2),
    "U16": np.dtype("<u2"),
    "I16": np.dtype("<i2"),
    "F16": np.dtype("<f2"),
    "BF16": BFLOAT16,
    "U32": np.dtype("<u4"),
    "I32": np.dtype("<i4"),
    "F32": np.dtype("<f4"),
    "U64": np.dtype("<u8"),
    "I64": np.dtype("<i8"),
    "F64": np.dtype("<f8"),
    "C64": np.dtype("<c8"),
}
_CODES = {dtype: code for code, dtype in _DTYPES.items()}


def write_safetensors(file: IO[bytes], arrays: dict[str, np.ndarray], metadata: dict[str, str]) -> None:
    """Write the header in the order of `arrays`, then the data."""
    # Wide items first keeps every array aligned, as the reference implementation does.
    order = sorted(arrays, key=lambda name: -arrays[name].dtype.itemsize)
    offsets, end = {}, 0
    for name in order:
        offsets[name] = [end, end + arrays[name].nbytes]
        end += arrays[name].nbytes
    header: dict[str, Any] = {"__metadata__": metadata} if metadata else {}
    for name, array in arrays.items():
        if array.dtype not in _CODES or name == "__metadata__":
            raise FormatError(f"safetensors cannot hold the array {name!r} of type {array.dtype}")
        header[name] = {
            "dtype": _CODES[array.dtype],
            "shape": [int(n) for n in array.shape],
            "data_offsets": offsets[name],
        }
    text = json.dumps(header, separators=(",", ":"), ensure_ascii=False).encode()
    text = text.ljust(-(-len(text) // 8) * 8)
    file.write(struct.pack("<Q", len(text)) + text)
    for name in order:
        write_data(file, arrays[name])


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) != len(pairs):
        raise ValueError("a name stands twice in the header")
    return result


def read_header(source: Source) -> dict[str, Any]:
    """Return the JSON header, still unchecked but for being an object; leaves the source where the data starts."""
    (length,) = source.unpack("Q", "the length of the header")
    if length > _MAX_JSON:
        raise source.fail(f"the header has {length} bytes, more than {_MAX_JSON}", 0)
    text = source.take(length, "the header")
    try:
        header = json.loads(text.decode("utf-8"), object_pairs_hook=_unique)
    except (ValueError, RecursionError) as error:
        raise source.fail(f"the header is not proper JSON ({error})", 8) from error
    if not isinstance(header, dict):
        raise source.fail("the header is not a JSON object", 8)
    return header


def _entry(source: Source, name: str, entry: Any) -> tuple[int, int, np.dtype, list[int]]:
    def integers(values: Any) -> bool:
        return isinstance(values, list) and all(type(v) is int and 0 <= v < 1 << 63 for v in values)

    good = isinstance(entry, dict) and integers(entry.get("shape")) and integers(entry.get("data_offsets"))
    if not good or len(entry["data_offsets"]) != 2:
        raise source.fail(f"the header describes array {name!r} wrongly: {str(entry)[:120]}", 8)
    dtype = _DTYPES.get(str(entry.get("dtype")))
    if dtype is None:
        raise source.fail(f"array {name!r} has the unknown type {str(entry.get('dtype'))[:20]!r}", 8)
    begin, end = entry["data_offsets"]
    nbytes = byte_count(dtype, entry["shape"], lambda reason: source.fail(f"array {name!r} {reason}", 8))
    if end - begin != nbytes:
        raise source.fail(f"array {name!r} of shape {entry['shape']} needs {nbytes} bytes, has {end - begin}", 8)
    return begin, end, dtype, entry["shape"]


def read_safetensors(source: Source) -> dict[str, np.ndarray]:
    """All arrays in the order of the header."""
    header = read_header(source)
    header.pop("__metadata__", None)
    entries = {name: _entry(source, name, entry) for name, entry in header.items()}
    start = at = source.pos
    for name in sorted(entries, key=lambda n: entries[n][:2]):
        if start + entries[name][0] != at:
            raise source.fail(f"there is a hole or an overlap before array {name!r}", at)
        at = start + entries[name][1]
    if at != source.size:
        raise source.fail(f"the arrays take {at} bytes, the file has {source.size}", min(at, source.size))
    result = {}
    for name, (begin, _, dtype, shape) in entries.items():
        source.seek(start + begin)
        result[name] = source.array(dtype, shape, f"array {name!r}")
    return result
