"""Messages between this process and its own worker processes, over a pair of connected sockets.

A message is any object. Large arrays in it do not go through the socket: they are written once into an anonymous memory
file whose descriptor travels with the message, and the receiver maps it. Nothing has a name, so nothing can be left
behind, and one :class:`Message` can be sent to many workers, who share the memory.

The objects are pickled by ``multiprocessing``'s own pickler. That is safe here and nowhere else: the sockets have no
address and both ends are this program. Nothing that came from a file or a network is ever unpickled.
"""

from __future__ import annotations

import io
import mmap
import os
import socket
import struct
import tempfile
from collections.abc import Callable
from multiprocessing.reduction import ForkingPickler
from typing import Any

__all__ = ["Message", "check", "receive", "send"]

_HEAD = struct.Struct("<QQQ")  # bytes of text, number of arrays, bytes in the memory file (0: there is none)
_SPAN = struct.Struct("<QQ")  # offset and size of one array in the memory file
_IN_TEXT = 1 << 16  # arrays below this are part of the text
_ALIGN = 64  # so that XLA on the CPU can use an array where it lies
_LOADS: Callable[..., Any] = vars(ForkingPickler)["loads"]


class Message:
    """An object made ready for sending.

    Parameters
    ----------
    content : object
        What the receiver shall get.
    """

    __slots__ = ("__weakref__", "_fd", "_size", "_spans", "text")

    def __init__(self, content: Any) -> None:
        arrays: list[memoryview] = []

        def on_buffer(buffer: Any) -> bool:
            raw = buffer.raw()
            if raw.nbytes < _IN_TEXT:
                return True  # keep it in the text
            arrays.append(raw)
            return False

        file = io.BytesIO()
        ForkingPickler(file, 5, True, on_buffer).dump(content)
        self.text = file.getvalue()
        self._spans: list[tuple[int, int]] = []
        self._size = 0
        for raw in arrays:
            self._spans.append((self._size, raw.nbytes))
            self._size += -(-raw.nbytes // _ALIGN) * _ALIGN
        self._fd = _memory_file(arrays, self._spans, self._size) if arrays else None

    def __del__(self) -> None:
        fd = getattr(self, "_fd", None)
        if fd is not None:
            os.close(fd)

    def send(self, to: socket.socket) -> None:
        """Send it; raise OSError when the receiver is gone."""
        head = _HEAD.pack(len(self.text), len(self._spans), self._size)
        if self._fd is None:
            to.sendall(head)
        else:
            socket.send_fds(to, [head], [self._fd])
            to.sendall(b"".join(_SPAN.pack(*span) for span in self._spans))
        to.sendall(self.text)


def send(to: socket.socket, content: Any) -> None:
    """Send `content`."""
    Message(content).send(to)


def check(content: Any) -> None:
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
    head, fds, _, _ = socket.recv_fds(source, _HEAD.size, 1, getattr(socket, "MSG_CMSG_CLOEXEC", 0))
    try:
        if not head:
            raise EOFError
        head += _read(source, _HEAD.size - len(head))
        text_size, count, size = _HEAD.unpack(head)
        spans = list(_SPAN.iter_unpack(_read(source, count * _SPAN.size)))
        text = _read(source, text_size)
        memory = memoryview(_map(fds[0], size, shared)) if fds else memoryview(b"")
    finally:
        for fd in fds:
            os.close(fd)
    return _LOADS(text, buffers=[memory[start : start + length] for start, length in spans])


def _read(source: socket.socket, size: int) -> bytes | bytearray:
    buffer = bytearray(size)
    view = memoryview(buffer)
    while view.nbytes:
        got = source.recv_into(view)
        if not got:
            raise EOFError
        view = view[got:]
    return buffer


def _memory_file(arrays: list[memoryview], spans: list[tuple[int, int]], size: int) -> int:
    # memfd is bounded by the memory of the machine or container; /dev/shm often by 64 MB.
    if hasattr(os, "memfd_create"):
        fd = os.memfd_create("gluonx-batch", os.MFD_CLOEXEC)
    else:
        with tempfile.TemporaryFile() as file:
            fd = os.dup(file.fileno())
    try:
        os.truncate(fd, size)
        for raw, (offset, _) in zip(arrays, spans):
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
