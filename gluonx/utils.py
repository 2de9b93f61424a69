"""Helpers of training scripts: splitting a batch over devices, clipping gradients, fetching files.

:func:`clip_global_norm` with ``check_isfinite=False`` is one recorded operator and reads nothing, so the step it
belongs to stays one program. :func:`download` writes to a part file and renames it when it is whole and has the right
hash: under the final name there is either the right file or none. It goes through ``requests`` where that is installed,
whose proxies, certificates and mocks programs rely on, and through the standard library else.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import importlib
import itertools
import math
import os
import ssl
import time
from collections.abc import Callable, Iterator, Sequence
from http.client import HTTPException
from typing import Any
from urllib.error import HTTPError
from urllib.parse import unquote, urlsplit
from urllib.request import Request, urlopen

import jax.numpy as jnp
from jax import Array

from gluonx import np as gnp
from gluonx.block.tools import HookHandle as HookHandle
from gluonx.common.frames import warn
from gluonx.deferred import invoke
from gluonx.deferred.values import program_cache
from gluonx.device import Replicas
from gluonx.errors import FormatError, GluonxError, ShapeError
from gluonx.np.handle import ndarray
from gluonx.ops import BoundOp, Op
from gluonx.sparse import BaseSparseNDArray

__all__ = [
    "HookHandle",
    "check_sha1",
    "clip_global_norm",
    "download",
    "replace_file",
    "shape_is_known",
    "split_and_load",
    "split_data",
]

_CHUNK = 1 << 20
_SMALL_CHUNK = 1 << 16  # of requests, which gives up the chunk in which a connection breaks
_TIMEOUT = 60.0
_LONGEST_PAUSE = 30.0


def split_data(data: Any, num_slice: int, batch_axis: int = 0, even_split: bool = True) -> list[ndarray]:
    """Split an array into `num_slice` consecutive slices.

    Parameters
    ----------
    data : ndarray
        The array to split.
    num_slice : int
        The number of slices.
    batch_axis : int, default 0
        The axis that is split.
    even_split : bool, default True
        Whether all slices must be of one size. If not, the first ones may be longer by one.

    Returns
    -------
    list of ndarray
        With a single slice, `data` itself.

    Raises
    ------
    ShapeError
        When the slices cannot be of one size and `even_split` is set.

    Examples
    --------
    >>> from gluonx import np
    >>> [part.shape for part in split_data(np.zeros((5, 2)), 2, even_split=False)]
    [(3, 2), (2, 2)]
    """
    if num_slice < 1:
        raise ValueError(f"num_slice must be at least 1, got {num_slice}")
    data = data if isinstance(data, ndarray) else gnp.array(data)
    if not -data.ndim <= batch_axis < data.ndim:
        raise ShapeError(f"data of shape {data.shape} has no axis {batch_axis} to split")
    size, longer = divmod(data.shape[batch_axis], num_slice)
    if even_split and longer:
        raise ShapeError(
            f"data of shape {data.shape} cannot be split into {num_slice} even slices along axis {batch_axis}: "
            f"use a batch size that is a multiple of {num_slice}, or even_split=False"
        )
    if num_slice == 1:
        return [data]
    before = (slice(None),) * (batch_axis % data.ndim)
    ends = [index * size + min(index, longer) for index in range(num_slice + 1)]
    return [data[(*before, slice(start, end))] for start, end in itertools.pairwise(ends)]


def split_and_load(data: Any, ctx_list: Sequence[Any], batch_axis: int = 0, even_split: bool = True) -> list[ndarray]:
    """Split a batch into one slice for each device and put it there.

    Parameters
    ----------
    data : ndarray or anything that ``np.array`` takes
        The batch.
    ctx_list : list of Device
        The devices. A block takes each slice by its replica there, if it was initialized with such a list.
    batch_axis, even_split
        As for :func:`split_data`.

    Returns
    -------
    list of ndarray

    Examples
    --------
    >>> import gluonx
    >>> [part.shape for part in split_and_load(gluonx.np.zeros((4, 2)), [gluonx.cpu(0), gluonx.cpu(0)])]
    [(2, 2), (2, 2)]
    """
    if not ctx_list:
        raise ValueError("split_and_load needs at least one device")
    data = data if isinstance(data, ndarray) else gnp.array(data, device=ctx_list[0])
    slices = split_data(data, len(ctx_list), batch_axis, even_split)
    parts = [part.to_device(device) for part, device in zip(slices, ctx_list)]
    if len(set(ctx_list)) > 1:
        Replicas.on = True
    if len(parts) > 1:  # no slices any more: each device is to begin its work with an array, as the others do
        parts = [
            part if type(part) is type(data) and not part.derived else data._belonging(part._read()) for part in parts
        ]
    return parts


def clip_global_norm(arrays: Sequence[ndarray], max_norm: float, check_isfinite: bool = True) -> float | ndarray:
    """Scale arrays, in place, so that the norm of all of them together is at most `max_norm`.

    The norm is computed in float32 whatever the dtypes are.

    Parameters
    ----------
    arrays : list of ndarray
        Often the gradients ``[p.grad() for p in params]``. One that is named twice, as that of a tied weight may be,
        counts twice in the norm and is scaled once, so the list has the norm `max_norm` then. (MXNet scales it twice.)
    max_norm : float
        The bound. A changing one recompiles nothing.
    check_isfinite : bool, default True
        Whether to read the norm, which ends the program here, and to warn when it is not finite.

    Returns
    -------
    float or ndarray
        The norm before scaling: a float if it was read, else an ndarray of shape ``(1,)`` that may still be pending.

    Raises
    ------
    ValueError
        When there is no array.
    TypeError
        When one of them is no ndarray.

    Examples
    --------
    >>> from gluonx import np
    >>> x = np.array([3.0, 4.0])
    >>> clip_global_norm([x], 1.0)
    5.0
    >>> x.tolist()
    [0.6, 0.8]
    """
    arrays = list(arrays)
    if not arrays:
        raise ValueError("clip_global_norm needs at least one array")
    for place, array in enumerate(arrays):
        if not isinstance(array, ndarray):
            raise TypeError(f"clip_global_norm takes ndarrays, got {type(array).__name__} at place {place}")
    arrays = [a._handle if isinstance(a, BaseSparseNDArray) else a for a in arrays]  # what is not stored is zero
    norm, *scaled = invoke(_clip_op(len(arrays)), (float(max_norm), *arrays))
    for array, value in zip(arrays, scaled):
        array._assign(value)
    if not check_isfinite:
        return norm
    total = float(norm.item())
    if not math.isfinite(total):
        warn(f"the global norm is {total}, so the clipped arrays are not usable")
    return total


@program_cache.once
def _clip_op(count: int) -> BoundOp:
    return Op(_clip, "clip_global_norm", nout=count + 1).bind()


def _clip(max_norm: Array, *arrays: Array) -> tuple[Array, ...]:
    squares = [jnp.sum(jnp.square(jnp.abs(x.astype(jnp.promote_types(x.dtype, jnp.float32))))) for x in arrays]
    norm = jnp.sqrt(jnp.sum(jnp.stack([square.astype(jnp.float32) for square in squares])))
    # The small number keeps zeros from becoming NaN; jnp.minimum passes NaN on.
    scale = jnp.minimum(max_norm / (norm + 1e-8), 1.0)
    return (norm.reshape(1), *[(x * scale).astype(x.dtype) for x in arrays])


def shape_is_known(shape: Sequence[int] | None) -> bool:
    """Return whether a shape is complete: not None, and no dimension is -1.

    Returns
    -------
    bool

    Examples
    --------
    >>> shape_is_known((2, 0)), shape_is_known((2, -1)), shape_is_known(None)
    (True, False, False)
    """
    return shape is not None and all(size >= 0 for size in shape)


def check_sha1(filename: str | os.PathLike[str], sha1_hash: str) -> bool:
    """Return whether a file has the SHA-1 hash `sha1_hash` (hexadecimal).

    Returns
    -------
    bool

    Examples
    --------
    >>> import tempfile
    >>> from gluonx import utils
    >>> path = tempfile.mkdtemp() + "/empty"
    >>> open(path, "w").close()
    >>> utils.check_sha1(path, "da39a3ee5e6b4b0d3255bfef95601890afd80709")
    True
    """
    with open(filename, "rb") as file:
        return hashlib.file_digest(file, "sha1").hexdigest() == sha1_hash.lower()


def replace_file(src: str | os.PathLike[str], dst: str | os.PathLike[str]) -> None:
    """Move a file over another one in a single step: nobody ever sees half of it.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from gluonx import utils
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> _ = (folder / "new").write_text("whole")
    >>> utils.replace_file(folder / "new", folder / "old")
    >>> (folder / "old").read_text()
    'whole'
    """
    os.replace(src, dst)


def download(
    url: str,
    path: str | os.PathLike[str] | None = None,
    overwrite: bool = False,
    sha1_hash: str | None = None,
    retries: int = 5,
    verify_ssl: bool = True,
) -> str:
    """Fetch a file, unless it is there already.

    Parameters
    ----------
    url : str
        ``https:``, ``http:`` or ``file:``.
    path : path, optional
        The file to write, or a directory to put it into under its name in `url`; the current directory unless given.
    overwrite : bool, default False
        Whether to fetch it even if the file exists.
    sha1_hash : str, optional
        Its SHA-1. A file that is there with another one is fetched again, and a download that broke off in an earlier
        run is resumed.
    retries : int, default 5
        How often to try again, with growing pauses.
    verify_ssl : bool, default True
        Whether the server must prove who it is. Turning this off is dangerous without `sha1_hash`.

    Returns
    -------
    str
        The file's path.

    Raises
    ------
    GluonxError
        When it cannot be fetched.
    FormatError
        When what came does not have the right hash.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from gluonx import utils
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> _ = (folder / "weights.bin").write_bytes(b"content")
    >>> path = utils.download((folder / "weights.bin").as_uri(), folder / "copy.bin")
    >>> pathlib.Path(path).read_bytes()
    b'content'
    """
    if retries < 0:
        raise ValueError(f"retries must be at least 0, got {retries}")
    target = _target(url, path)
    if os.path.exists(target) and not overwrite and (sha1_hash is None or check_sha1(target, sha1_hash)):
        return target
    os.makedirs(os.path.dirname(os.path.abspath(target)), exist_ok=True)
    if not verify_ssl:
        warn(f"Unverified HTTPS request: the certificate of the server is not checked for {url}")
    with _part_file(target, keep=sha1_hash is not None) as part:
        transfer = _Transfer(url, part, sha1_hash, verify_ssl)
        try:
            _attempt(transfer, retries)
        except (OSError, HTTPException) as error:
            raise GluonxError(f"{url} cannot be fetched: {error}") from error
        replace_file(part, target)
    return target


def _attempt(transfer: _Transfer, retries: int) -> None:
    for attempt in range(retries + 1):
        try:
            return transfer.run()
        except (OSError, HTTPException, FormatError) as error:
            if attempt == retries or transfer.is_final(error):
                raise
        time.sleep(min(0.25 * 2**attempt, _LONGEST_PAUSE))


def repo_file_url(namespace: str, filename: str) -> str:
    """Return the address of a file in the folder `namespace` of the server in ``MXNET_GLUON_REPO``, or of MXNet's."""
    url = os.environ.get("MXNET_GLUON_REPO", "https://apache-mxnet.s3-accelerate.dualstack.amazonaws.com/")
    return f"{url.rstrip('/')}/{namespace}/{filename}"


class _Transfer:
    """One file on its way into a part file, over as many attempts as it takes."""

    def __init__(self, url: str, part: str, sha1_hash: str | None, verify_ssl: bool) -> None:
        self._url = url
        self._part = part
        self._sha1 = sha1_hash
        self._verify_ssl = verify_ssl
        self._tag: str | None = None  # what the server calls this version of the file
        self._encoded = False  # whether what is saved is not what was sent, so that positions in it mean nothing
        self._resumed = False

    def run(self) -> None:
        """One attempt; raises OSError, HTTPException or FormatError."""
        have = self._usable_bytes()
        try:
            with self._open(have) as reply:
                # A server that does not resume answers 200 and sends everything.
                self._resumed = have > 0 and reply.status == 206
                self._tag = reply.headers.get("ETag")
                self._encoded = "Content-Encoding" in reply.headers
                self._save(reply)
        except _StatusError as error:
            if error.code == 416:  # the part is not shorter than the file
                os.unlink(self._part)
            raise
        if self._sha1 is not None and not check_sha1(self._part, self._sha1):
            os.unlink(self._part)
            raise FormatError(f"what came from {self._url} does not have the SHA-1 hash {self._sha1}")

    def is_final(self, error: Exception) -> bool:
        """Return whether a retry is useless."""
        if isinstance(error, FormatError):
            return not self._resumed
        if isinstance(error, _StatusError):
            return 400 <= error.code < 500 and error.code not in (408, 416, 429)
        return isinstance(getattr(error, "reason", None), FileNotFoundError)

    def _usable_bytes(self) -> int:
        if self._encoded:
            return 0
        # Without a hash, only the server's tag can tell that both halves are of one version.
        if self._sha1 is None and (self._tag is None or self._tag.startswith("W/")):
            return 0
        return os.path.getsize(self._part) if os.path.exists(self._part) else 0

    def _open(self, have: int) -> Any:
        headers: dict[str, str] = {}
        if have:
            headers = {"Range": f"bytes={have}-", "Accept-Encoding": "identity"}
            if self._tag is not None and self._sha1 is None:
                headers["If-Range"] = self._tag
        if urlsplit(self._url).scheme in ("http", "https"):
            with contextlib.suppress(ModuleNotFoundError):
                return _by_requests(importlib.import_module("requests"), self._url, headers, self._verify_ssl)
        return _by_urllib(self._url, headers, self._verify_ssl)

    def _save(self, reply: Any) -> None:
        promised = reply.headers.get("Content-Length")
        got = 0
        with open(self._part, "ab" if self._resumed else "wb") as file:
            for chunk in reply.chunks:
                file.write(chunk)
                got += len(chunk)
        if promised is not None and not self._encoded and got != int(promised):
            raise OSError(f"the transfer broke off after {got} of {promised} bytes")


class _StatusError(OSError):
    """The server answered that it will not send the file."""

    def __init__(self, code: int, reason: str) -> None:
        super().__init__(f"HTTP Error {code}: {reason}")
        self.code = code


class _Reply:
    """A server's answer; leaving a ``with`` on it closes the connection."""

    def __init__(self, status: int | None, headers: Any, chunks: Iterator[bytes], close: Callable[[], Any]) -> None:
        self.status, self.headers, self.chunks, self._close = status, headers, chunks, close

    def __enter__(self) -> _Reply:
        return self

    def __exit__(self, *exc: object) -> None:
        self._close()


def _by_requests(requests: Any, url: str, headers: dict[str, str], verify_ssl: bool) -> _Reply:
    # Called as MXNet calls it wherever that is possible, for those who put something in its place.
    options = {"headers": headers} if headers else {}
    reply = requests.get(url, stream=True, verify=verify_ssl, timeout=_TIMEOUT, **options)
    if reply.status_code not in (200, 206):
        reply.close()
        raise _StatusError(reply.status_code, reply.reason or "")
    return _Reply(reply.status_code, reply.headers, reply.iter_content(_SMALL_CHUNK), reply.close)


def _by_urllib(url: str, headers: dict[str, str], verify_ssl: bool) -> _Reply:
    context = ssl.create_default_context()
    if not verify_ssl:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    request = Request(url, headers={"User-Agent": "gluonx", **headers})
    try:
        reply = urlopen(request, timeout=_TIMEOUT, context=context)
    except HTTPError as error:
        error.close()
        raise _StatusError(error.code, str(error.reason)) from error
    chunks = iter(functools.partial(reply.read, _CHUNK), b"")
    return _Reply(getattr(reply, "status", None), reply.headers, chunks, reply.close)


def _target(url: str, path: str | os.PathLike[str] | None) -> str:
    name = os.path.basename(unquote(urlsplit(url).path))
    path = None if path is None else os.path.expanduser(os.fspath(path))
    if path is None or os.path.isdir(path):
        if not name:
            raise ValueError(f"{url} names no file: give download the path of one")
        return name if path is None else os.path.join(path, name)
    return path


@contextlib.contextmanager
def _part_file(target: str, keep: bool) -> Iterator[str]:
    """Open a path to download to, which no other process uses; with `keep` a broken download stays for the next run."""
    part = f"{target}.part"
    with open(part, "ab") as file:
        if not _lock(file):
            part, keep = f"{target}.{os.getpid()}-{time.monotonic_ns()}.part", False
        try:
            yield part
        finally:
            if os.path.exists(part) and (not keep or os.path.getsize(part) == 0):
                os.unlink(part)


def _lock(file: Any) -> bool:
    try:
        import fcntl
    except ImportError:  # on Windows the second of two processes fails to rename instead
        return True
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def __dir__() -> list[str]:
    return sorted(__all__)
