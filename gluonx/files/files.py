"""Parameter files, whatever their container."""

from __future__ import annotations

import contextlib
import io
import json
import mmap
import os
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np

from gluonx.files.atomic import atomic_write
from gluonx.files.mxnet_list import MAGIC, read_items, read_list, write_list
from gluonx.files.npz import NPY, Checks, opened_zip, read_npy, read_npz, write_npy, write_npz
from gluonx.files.places import Place, at_hand, name_of
from gluonx.files.safetensors import read_header, read_safetensors, write_safetensors
from gluonx.files.source import Source
from gluonx.files.sparse import Stored
from gluonx.files.torch import is_torch, read_torch

if TYPE_CHECKING:
    import jax


Readable = Place | bytes | bytearray | memoryview

# Other things that people hand to a loader by mistake: say what it is instead of "bad magic".
_STRANGERS = [
    (
        b"\x80",
        "it is a pickle (torch.save before PyTorch 1.6, or Trainer states: load_trainer_states); gluonx never "
        "unpickles a file. Save PyTorch's weights again with a newer torch.save, which writes a zip archive",
    ),
    (b"version https://", "it is a Git LFS pointer, not the file itself; run 'git lfs pull'"),
    (b"\x89HDF", "it is an HDF5 file"),
    (b"\x1f\x8b", "it is compressed with gzip; decompress it first"),
    (b"{", "it is JSON text; is this the symbol file that belongs to the parameters?"),
]


@contextlib.contextmanager
def opened(source: Readable, budget: int, mapped: bool = False) -> Iterator[Source]:
    """Open a file or bytes as a `Source`; `mapped` lets arrays be views of the file instead of copies."""
    found = at_hand(source)
    if isinstance(found, bytes | bytearray | memoryview):
        name = name_of(source)
        yield Source(io.BytesIO(found), name if name == "<bytes>" else f"'{name}'", budget)
        return
    with open(found, "rb") as file:
        view = None
        if mapped:
            with contextlib.suppress(OSError, ValueError):  # an empty file, or a file system that cannot
                view = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        yield Source(file, f"'{os.fspath(found)}'", budget, view)


def _container(source: Source) -> str:
    """Tell by the first bytes which container this is."""
    head = source.read(16)
    source.seek(0)
    if head == MAGIC:
        return "ndarray"
    if head[:4] in (b"PK\x03\x04", b"PK\x05\x06"):
        start = source.read(512)
        source.seek(0)
        return "torch" if is_torch(start) else "npz"
    if head.startswith(NPY):
        return "npy"
    if head[8:9] == b"{" and int.from_bytes(head[:8], "little") <= source.size:
        return "safetensors"
    if not head:
        raise source.fail("the file is empty")
    for start, meaning in _STRANGERS:
        if head.startswith(start):
            raise source.fail(meaning, 0)
    known = "npz, npy, safetensors, a file of torch.save or an MXNet NDArray list"
    raise source.fail(f"expected {known}, but the file starts with {head[:8].hex(' ')}", 0)


_READERS = {"ndarray": read_list, "npz": read_npz, "safetensors": read_safetensors, "torch": read_torch}


def load_arrays(source: Readable, *, max_expanded_bytes: int = 1 << 30, mapped: bool = False) -> dict[str, np.ndarray]:
    """Read all arrays of a parameter file, whatever its container.

    The container is told by its first bytes: npz, npy, safetensors, what ``torch.save``
    wrote of a state dict, or MXNet's NDArray list (1.x ``.params``; dense,
    and sparse arrays made dense). Damaged and hostile files are safe to open.

    Parameters
    ----------
    source : str, os.PathLike, file object or bytes-like
        The file, or its contents. A text may be an address that fsspec knows, such as ``'s3://bucket/net.params'``.
    max_expanded_bytes : int
        How much memory compressed members and sparse arrays may take together (1 GiB), since a small hostile file can
        ask for any amount. Stored arrays take what the file holds and are not limited.
    mapped : bool
        Whether arrays may be read-only views of the file, mapped into memory: nothing is read before it is used. The
        file must stay as it is while they are (replacing it, as gluonx writes, is fine). Booleans, compressed and
        sparse arrays are copies all the same.

    Returns
    -------
    dict of str to numpy.ndarray
        In the order of the file; fresh, writable, C-contiguous arrays in native byte order (but for `mapped`). Arrays
        without a name are called ``arr_0``, ``arr_1`` and so on.

    Raises
    ------
    FormatError
        If the file is damaged, truncated or of another kind; the message names the file, the byte and the reason.
    OSError
        If the file cannot be opened.

    Examples
    --------
    >>> import tempfile, pathlib, numpy
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "net.params"
    >>> save_arrays(path, {"dense.weight": numpy.ones((2, 3), "float32")})
    >>> {name: (array.shape, str(array.dtype)) for name, array in load_arrays(path).items()}
    {'dense.weight': ((2, 3), 'float32')}
    """
    with opened(source, max_expanded_bytes, mapped) as file:
        return _arrays_of(_container(file), file)


def _arrays_of(kind: str, file: Source) -> dict[str, np.ndarray]:
    if kind != "npy":
        return _READERS[kind](file)
    return {"arr_0": read_npy(file, file.size, lambda reason: file.fail("it " + reason, 0))}


def load_npy(file: BinaryIO) -> np.ndarray | None:
    """Read the .npy at which an open file stands, and leave the file behind it; None, and nothing read, if it is none.

    Raises
    ------
    FormatError
        If the array is damaged or cut off.

    Examples
    --------
    >>> import io, numpy
    >>> file = io.BytesIO()
    >>> numpy.save(file, numpy.ones(2))
    >>> file.seek(0)
    0
    >>> load_npy(file).tolist()
    [1.0, 1.0]
    """
    start = file.tell()
    head = file.read(len(NPY))
    file.seek(start)
    if head != NPY:
        return None
    source = Source(file, f"'{name_of(file)}'", 0)
    source.seek(start)
    array = read_npy(source, source.size - start, lambda reason: source.fail("it " + reason, start), exact=False)
    file.seek(source.tell())
    return array


@contextlib.contextmanager
def arriving(source: Readable, *, max_expanded_bytes: int = 1 << 30) -> Iterator[tuple[dict[str, Any], Checks]]:
    """As ``load_arrays(mapped=True)``, while other threads still compare the arrays with the checksums of the file.

    Who copies the arrays meanwhile has waited for nothing. The copies count for nothing before ``settle()``.

    Parameters
    ----------
    source, max_expanded_bytes
        As for :func:`load_arrays`.

    Yields
    ------
    dict of str to numpy.ndarray
        Perhaps of a damaged file.
    Checks
        Its ``settle()`` waits, and raises FormatError where the file is damaged. Leaving the context does it too.

    Raises
    ------
    FormatError, OSError
        As :func:`load_arrays`.

    Examples
    --------
    >>> import tempfile, numpy
    >>> path = tempfile.mkdtemp() + "/net.params"
    >>> save_arrays(path, {"weight": numpy.ones(2, "float32")})
    >>> with arriving(path) as (arrays, checks):
    ...     copy = arrays["weight"].copy()
    ...     checks.settle()  # the copy is right, or this raises
    >>> copy.tolist()
    [1.0, 1.0]
    """
    checks = Checks()
    with opened(source, max_expanded_bytes, True) as file:
        kind = _container(file)
        arrays = read_npz(file, checks) if kind == "npz" else _arrays_of(kind, file)
    try:
        yield arrays, checks
    except BaseException:
        with contextlib.suppress(Exception):
            checks.settle()
        raise
    checks.settle()


LISTED = {"arrays": "list"}
"""The metadata of a file of arrays that were given as a list, without names."""


def load_ndarrays(source: Readable, *, max_expanded_bytes: int = 1 << 30) -> list[np.ndarray] | dict[str, np.ndarray]:
    """Read a file as MXNet's ``nd.load`` does: a list where the arrays have no names, else a dict.

    The arrays of an npz file have none where its metadata is `LISTED`.

    Parameters
    ----------
    source, max_expanded_bytes
        As for :func:`load_arrays`.

    Returns
    -------
    list or dict of numpy.ndarray
        Sparse arrays are `Stored`.

    Raises
    ------
    FormatError, OSError
        As :func:`load_arrays`.

    Examples
    --------
    >>> import tempfile, numpy
    >>> path = tempfile.mkdtemp() + "/some.nd"
    >>> save_ndarrays(path, [numpy.ones(2, "float32"), numpy.zeros(3, "float32")])
    >>> [array.shape for array in load_ndarrays(path)]
    [(2,), (3,)]
    """
    with opened(source, max_expanded_bytes) as file:
        file.keeps_sparse = True
        kind = _container(file)
        if kind == "ndarray":
            names, arrays = read_items(file)
            return dict(zip(names, arrays, strict=True)) if names else arrays
        found = _arrays_of(kind, file)
    listed = kind == "npy" or (kind == "npz" and load_metadata(source) == LISTED)
    return list(found.values()) if listed else found


def load_metadata(source: Readable) -> dict[str, str]:
    """Read only the metadata that :func:`save_arrays` put into a file.

    Parameters
    ----------
    source : str, os.PathLike or bytes-like
        The file, or its contents.

    Returns
    -------
    dict of str to str
        Empty where there is none.

    Raises
    ------
    FormatError
        If the file is no parameter file.

    Examples
    --------
    >>> import tempfile, numpy
    >>> path = tempfile.mkdtemp() + "/net.safetensors"
    >>> save_arrays(path, {"weight": numpy.ones(2, "float32")}, metadata={"epoch": "3"})
    >>> load_metadata(path)
    {'epoch': '3'}
    """
    with opened(source, 0) as file:
        kind, found = _container(file), None
        if kind == "safetensors":
            found = read_header(file).get("__metadata__")
        elif kind == "npz":
            with opened_zip(file) as members, contextlib.suppress(ValueError, RecursionError, StopIteration):
                found = json.loads(next(iter(members.values()))[0].comment)
        if isinstance(found, dict) and all(isinstance(v, str) for v in found.values()):
            return found
        return {}


def _plain(name: Any, value: jax.Array | np.ndarray) -> np.ndarray:
    if not isinstance(name, str) or not name:
        raise TypeError(f"a parameter's name must be a non-empty string, got {name!r}")
    array = np.asarray(value, order="C")
    if array.dtype.kind not in "biufcV" or array.dtype.hasobject or array.dtype.names:
        raise TypeError(f"array {name!r} has the type {array.dtype}; only booleans and numbers can be saved")
    return array.astype(array.dtype.newbyteorder("<"), copy=False)


def save_arrays(
    path: Place,
    arrays: Mapping[str, Any],
    format: str | None = None,
    metadata: Mapping[str, str] | None = None,
) -> None:
    """Write named arrays to one file, atomically.

    Parameters
    ----------
    path : str, os.PathLike or file object
        The file to create or replace; as for `atomic_write` also an address, or a file that is open.
    arrays : mapping of str to array
        Anything ``numpy.asarray`` takes; booleans and numbers, bfloat16 included.
    format : {None, "npz", "safetensors", "npy", "mxnet"}
        By default safetensors where `path` ends in ``.safetensors`` and npz elsewhere, uncompressed, as MXNet 2.0
        writes and reads ``.params`` (bfloat16 is its ``<b2``, which ``numpy.load`` refuses). ``"mxnet"`` is the
        NDArray list that MXNet 1 reads (2.0 too, outside its NumPy mode). ``"npy"`` takes exactly one array.
    metadata : mapping of str to str, optional
        Short texts kept in the file: the ``__metadata__`` of safetensors, the archive comment of npz.

    Raises
    ------
    FormatError
        If the format cannot hold an array (float8 in npz, say).
    TypeError
        If a name is no string, or an array does not hold numbers.
    OSError
        If the file cannot be written; an existing one is unharmed.

    Notes
    -----
    Formats: https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html and
    https://huggingface.co/docs/safetensors.

    Examples
    --------
    >>> import tempfile, numpy
    >>> path = tempfile.mkdtemp() + "/net.safetensors"
    >>> save_arrays(path, {"weight": numpy.ones((2, 3), "float32")})
    >>> load_arrays(path)["weight"].shape
    (2, 3)
    """
    kind = format or ("safetensors" if name_of(path).endswith(".safetensors") else "npz")
    plain = {name: _plain(name, value) for name, value in arrays.items()}
    texts = dict(metadata or {})
    if not all(isinstance(text, str) for pair in texts.items() for text in pair):
        raise TypeError(f"metadata must map strings to strings, got {texts!r}")
    if kind not in ("npz", "safetensors", "npy", "mxnet"):
        raise ValueError(f"format must be 'npz', 'safetensors', 'npy', 'mxnet' or None, got {kind!r}")
    if kind == "npy" and (len(plain) != 1 or texts):
        raise ValueError(f"a .npy file holds exactly one array and no metadata, got {len(plain)} arrays")
    if kind == "mxnet" and texts:
        raise ValueError("an NDArray list of MXNet holds no metadata; save as npz or safetensors")
    with atomic_write(path) as file:
        if kind == "npy":
            write_npy(file, *plain.values())
        elif kind == "mxnet":
            write_list(file, plain)
        else:
            (write_npz if kind == "npz" else write_safetensors)(file, plain, texts)


def save_ndarrays(path: Place, arrays: Any) -> None:
    """Write what MXNet's ``nd.save`` takes, in its format: one array, a list of arrays, or a dict of them.

    An array may be the parts of a sparse one, `Stored`.

    Parameters
    ----------
    path : str or os.PathLike
    arrays : array, sequence of arrays, or mapping of str to array

    Raises
    ------
    FormatError, TypeError, OSError
        As :func:`save_arrays`.

    Examples
    --------
    >>> import tempfile, numpy
    >>> path = tempfile.mkdtemp() + "/some.nd"
    >>> save_ndarrays(path, {"weight": numpy.ones(2, "float32")})
    >>> load_ndarrays(path)["weight"].tolist()
    [1.0, 1.0]
    """
    named = isinstance(arrays, Mapping)
    if not named:
        listed = list(arrays) if isinstance(arrays, list | tuple) and not isinstance(arrays, Stored) else [arrays]
        arrays = {f"arr_{i}": value for i, value in enumerate(listed)}
    plain = {name: value if isinstance(value, Stored) else _plain(name, value) for name, value in arrays.items()}
    with atomic_write(path) as file:
        write_list(file, plain, named)
