"""Messages between this process and its own worker processes, over a pair of connected sockets.

A message is any object. Large arrays in it do not go through the socket: they are written once into an anonymous memory
file whose descriptor travels with the message, and the receiver maps it. Nothing has a name, so nothing can be left
behind, and one :class:`Message` can be sent to many workers, who share the memory.

What a worker process is about to send it writes into such a file to begin with: `empty` gives it arrays there.

The objects are pickled by ``multiprocessing``'s own pickler. That is safe here and nowhere else: the sockets have no
address and both ends are this program. Nothing that came from a file or a network is ever unpickled.
"""

from __future__ import annotations

import io
import math
import mmap
import os
import socket
import struct
import tempfile
import weakref
from collections.abc import Callable, Sequence
from multiprocessing.reduction import ForkingPickler
from typing import Any

import numpy as np

_HEAD = struct.Struct("<QQQ")  # bytes of text, number of arrays, number of memory files
_FILE = struct.Struct("<Q")  # bytes of a memory file
_SPAN = struct.Struct("<qQQ")  # which file holds an array (-1 for the last), its offset there and its size
_IN_TEXT = 1 << 16  # arrays below this are part of the text
_OWN_FILE = 1 << 20  # arrays from here on get a file of their own in `empty`
_MOST_FILES = 64  # of a message; descriptors are few
_ALIGN = 64  # so that XLA on the CPU can use an array where it lies

_files: dict[int, tuple[int, int]] = {}
"""Descriptor and size of the memory file at an address, of all arrays of `empty` that live."""


class Worker:
    """Role of this process: a worker sends its batches."""

    sends = False


def send_batches() -> None:
    """From now on `empty` gives memory that can be sent: this is a worker process."""
    Worker.sends = True


def empty(shape: Sequence[int], dtype: np.dtype) -> np.ndarray:
    """Return ``numpy.empty(shape, dtype)``; in a worker process a large one lies in a file, to be sent without a copy.

    Whoever sends it must not write to it again.
    """
    size = math.prod(shape) * dtype.itemsize
    if not Worker.sends or size < _OWN_FILE or len(_files) >= _MOST_FILES:
        return np.empty(shape, dtype)
    fd = _new_file(size)
    try:
        memory = _map(fd, size, shared=True)
    except BaseException:
        os.close(fd)
        raise
    array = np.frombuffer(memory, dtype).reshape(shape)
    address = array.ctypes.data
    _files[address] = fd, size
    weakref.finalize(memory, _forget, address)
    return array


def _forget(address: int) -> None:
    os.close(_files.pop(address)[0])


_LOADS: Callable[..., Any] = vars(ForkingPickler)["loads"]


class Message:
    """An object made ready for sending.

    Parameters
    ----------
    content : object
        What the receiver shall get.
    """

    def __init__(self, content: object) -> None:
        arrays: list[memoryview] = []
        self._fds: list[int] = []
        self._sizes: list[int] = []
        self._spans: list[tuple[int, int, int]] = []
        rest: list[tuple[memoryview, int]] = []  # what has to be written to a file now, and where
        end = 0

        def on_buffer(buffer: Any) -> bool:
            raw = buffer.raw()
            if raw.nbytes < _IN_TEXT:
                return True  # keep it in the text
            arrays.append(raw)
            return False

        file = io.BytesIO()
        ForkingPickler(file, 5, True, on_buffer).dump(content)
        self.text = file.getvalue()
        for raw in arrays:
            fd, size = _files.get(np.frombuffer(raw, np.uint8).ctypes.data, (-1, 0))
            if raw.nbytes == size and len(self._fds) < _MOST_FILES:
                self._spans.append((len(self._fds), 0, size))
                self._fds.append(os.dup(fd))
                self._sizes.append(size)
            else:
                self._spans.append((-1, end, raw.nbytes))
                rest.append((raw, end))
                end += -(-raw.nbytes // _ALIGN) * _ALIGN
        if rest:
            self._fds.append(_written(rest, end))
            self._sizes.append(end)

    def __del__(self) -> None:
        for fd in self.__dict__.get("_fds", ()):
            os.close(fd)

    def send(self, to: socket.socket) -> None:
        """Send it; raise OSError when the receiver is gone."""
        head = _HEAD.pack(len(self.text), len(self._spans), len(self._fds))
        if not self._fds:
            to.sendall(head)
        else:
            socket.send_fds(to, [head], self._fds)
            to.sendall(b"".join([_FILE.pack(size) for size in self._sizes]))
            to.sendall(b"".join([_SPAN.pack(*span) for span in self._spans]))
        to.sendall(self.text)


def send(to: socket.socket, content: object) -> None:
    """Send `content`."""
    Message(content).send(to)


def check(content: object) -> None:
    """Raise what unpickling `content` in the receiver would raise.

    An exception whose ``__init__`` wants more than its ``args`` is pickled without complaint and fails over there.
    """
    _LOADS(ForkingPickler.dumps(content))


def receive(source: socket.socket, shared: bool = True) -> Any:
    """Wait for the next message and return its object.

    Parameters
    ----------
    source : socket.socket
        This end of the pair.
    shared : bool, default True
        Whether the arrays may be written in place where they lie. False gives each receiver its own copy of a page as
        soon as it writes to it.

    Raises
    ------
    EOFError
        When the other end is closed.
    """
    most = _MOST_FILES + 1
    head, fds, _, _ = socket.recv_fds(source, _HEAD.size, most, getattr(socket, "MSG_CMSG_CLOEXEC", 0))
    try:
        if not head:
            raise EOFError
        head += _read(source, _HEAD.size - len(head))
        text_size, count, files = _HEAD.unpack(head)
        sizes = [size for (size,) in _FILE.iter_unpack(_read(source, files * _FILE.size))]
        spans = list(_SPAN.iter_unpack(_read(source, count * _SPAN.size)))
        text = _read(source, text_size)
        memory = [memoryview(_map(fd, size, shared)) for fd, size in zip(fds, sizes, strict=True)]
    finally:
        for fd in fds:
            os.close(fd)
    return _LOADS(text, buffers=[memory[which][start : start + length] for which, start, length in spans])


def _read(source: socket.socket, size: int) -> bytes | bytearray:
    buffer = bytearray(size)
    view = memoryview(buffer)
    while view.nbytes:
        got = source.recv_into(view)
        if not got:
            raise EOFError
        view = view[got:]
    return buffer


def _new_file(size: int) -> int:
    # memfd is bounded by the memory of the machine or container; /dev/shm often by 64 MB.
    if hasattr(os, "memfd_create"):
        fd = os.memfd_create("gluonx-batch", os.MFD_CLOEXEC)
    else:
        with tempfile.TemporaryFile() as file:
            fd = os.dup(file.fileno())
    try:
        os.truncate(fd, size)
    except BaseException:
        os.close(fd)
        raise
    return fd


def _written(arrays: list[tuple[memoryview, int]], size: int) -> int:
    fd = _new_file(size)
    try:
        for raw, offset in arrays:
            while raw.nbytes:
                written = os.pwrite(fd, raw, offset)
                raw, offset = raw[written:], offset + written
    except BaseException:
        os.close(fd)
        raise
    return fd


def _map(fd: int, size: int, shared: bool) -> mmap.mmap:
    if not shared:
        return mmap.mmap(fd, size, access=mmap.ACCESS_COPY)
    # All pages at once: half the time of meeting them one by one.
    return mmap.mmap(fd, size, mmap.MAP_SHARED | getattr(mmap, "MAP_POPULATE", 0), mmap.PROT_READ | mmap.PROT_WRITE)
