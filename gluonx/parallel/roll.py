"""The roll call: whether all processes are about to do the same thing, and which one is not.

XLA assumes that every process runs the same programs on arrays of the same shapes, in the same order. It does not look:
processes that differ wait for each other for ever, and with gloo they may add up numbers that do not belong together.
So at the few moments when something new begins (a program is compiled, an epoch begins, batches change their shape),
each process says what it is about to do, and goes on when all have said the same. In a steady loop nothing is said.

Words go through process 0, by TCP, beside the collectives, which are what may hang. A connection that ends without a
farewell is a process that died: the others are told its name.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import secrets
import selectors
import socket
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from gluonx.errors import DeviceError

_SOON = 5.0  # seconds that a contradiction waits for those who have not spoken
_LONGEST = 1 << 20  # bytes of one message


def digest(text: str) -> str:
    """Return a short mark of a long text: equal where the texts are."""
    return hashlib.sha256(text.encode()).hexdigest()[:24]


@dataclass
class _Call:
    """Statements of the processes at the n-th call, by rank."""

    deadline: float
    said: dict[int, tuple[str, str]] = field(default_factory=dict)


class Server:
    """Process 0's desk: takes what each process says, and answers when all have spoken.

    Parameters
    ----------
    count : int
        How many processes there are.
    timeout : float
        Seconds that those who have spoken wait for the others.
    host : str
        The interface to listen on; all of them by default.
    """

    def __init__(self, count: int, timeout: float, host: str = "") -> None:
        self.count, self.timeout = count, timeout
        self.token = secrets.token_hex(16)
        self._listener = socket.create_server((host, 0), backlog=count)
        self.port: int = self._listener.getsockname()[1]
        self._selector = selectors.DefaultSelector()
        self._selector.register(self._listener, selectors.EVENT_READ)
        self._buffers: dict[socket.socket, bytes] = {}
        self._ranks: dict[socket.socket, int] = {}
        self._names: dict[int, str] = {}
        self._calls: dict[int, _Call] = {}
        threading.Thread(target=self._serve, name="gluonx-roll-call", daemon=True).start()

    def _serve(self) -> None:
        while True:
            for key, _ in self._selector.select(timeout=0.5 if self._calls else None):
                peer: Any = key.fileobj
                if peer is self._listener:
                    peer, _ = self._listener.accept()
                    self._buffers[peer] = b""
                    self._selector.register(peer, selectors.EVENT_READ)
                else:
                    self._read(peer)
            for number in [n for n, call in self._calls.items() if time.monotonic() > call.deadline]:
                self._refuse(number)

    def _read(self, peer: socket.socket) -> None:
        try:
            data = peer.recv(1 << 16)
        except OSError:
            data = b""
        *lines, self._buffers[peer] = (self._buffers[peer] + data).split(b"\n")
        if not data or len(self._buffers[peer]) > _LONGEST:
            return self._lose(peer, "ended without a word: it was killed, or its machine is gone")
        for line in lines:
            try:
                self._hear(peer, json.loads(line))
            except (ValueError, KeyError, TypeError):
                return self._lose(peer, "spoke something else")
        return None

    def _hear(self, peer: socket.socket, words: dict[str, Any]) -> None:
        if peer not in self._ranks:
            if words.get("token") != self.token:
                return self._close(peer)
            self._ranks[peer] = rank = int(words["rank"])
            self._names[rank] = f"process {rank} of {self.count} ({words['name']})"
            return None
        rank = self._ranks[peer]
        if "failed" in words:
            self._lose(peer, words["failed"])
        elif "bye" in words:
            self._close(peer)
        else:
            number = int(words["number"])
            call = self._calls.setdefault(number, _Call(time.monotonic() + self.timeout))
            call.said[rank] = str(words["mark"]), str(words["told"])
            if len({mark for mark, _ in call.said.values()}) > 1:
                call.deadline = min(call.deadline, time.monotonic() + _SOON)
            if len(call.said) == self.count:
                self._refuse(number)
        return None

    def _refuse(self, number: int) -> None:
        """Answer a call: that all is well, or what is wrong."""
        call = self._calls.pop(number)
        answer = {"number": number, "wrong": self._verdict(call)}
        for peer, rank in list(self._ranks.items()):
            if rank in call.said:
                _send(peer, answer)

    def _verdict(self, call: _Call) -> str | None:
        sides: dict[str, list[int]] = {}
        for rank in sorted(call.said):
            sides.setdefault(call.said[rank][0], []).append(rank)
        most = max(sides.values(), key=len)
        absent = [rank for rank in range(self.count) if rank not in call.said]
        if len(sides) == 1 and not absent:
            return None
        lines = [f"the processes do not do the same. {self._called(most)}: {call.said[most[0]][1]}"]
        lines += [f"{self._called(ranks)}: {call.said[ranks[0]][1]}" for ranks in sides.values() if ranks is not most]
        if absent:
            lines.append(f"{self._called(absent)}: nothing; it is behind by {self.timeout:g} s, or does something else")
        return "\n  ".join(lines)

    def _called(self, ranks: list[int]) -> str:
        some = ", ".join(self._names.get(rank, f"process {rank} of {self.count}") for rank in ranks[:4])
        return some + (f" and {len(ranks) - 4} more" if len(ranks) > 4 else "")

    def _lose(self, peer: socket.socket, why: str) -> None:
        rank = self._ranks.get(peer)
        self._close(peer)
        if rank is not None:
            for other in list(self._ranks):
                _send(other, {"gone": f"{self._names[rank]} {why}"})

    def _close(self, peer: socket.socket) -> None:
        self._ranks.pop(peer, None)
        self._buffers.pop(peer, None)
        with contextlib.suppress(KeyError, ValueError):
            self._selector.unregister(peer)
        peer.close()


class Member:
    """A process's own end of the roll call.

    Parameters
    ----------
    hosts : list of str
        Where process 0 may be reached.
    port, token
        Of the server.
    rank : int
    on_loss : callable
        Called in a thread with the name of a process that is gone, and why.
    """

    def __init__(self, hosts: list[str], port: int, token: str, rank: int, on_loss: Callable[[str], None]) -> None:
        self._socket = _reach(hosts, port)
        self._on_loss = on_loss
        self._lock = threading.Lock()  # one call at a time
        self._answered = threading.Condition()
        self._answers: dict[int, str | None] = {}
        self._number = 0
        self._left = False
        _send(self._socket, {"rank": rank, "token": token, "name": f"{socket.gethostname()}, pid {os.getpid()}"})
        threading.Thread(target=self._listen, name="gluonx-roll-answers", daemon=True).start()

    def call(self, mark: str, told: str) -> None:
        """Wait until every process has called with this mark.

        Raises
        ------
        DeviceError
            If one has another, or does not call.
        """
        with self._lock:
            self._number += 1
            _send(self._socket, {"number": self._number, "mark": mark, "told": told})
            with self._answered:
                self._answered.wait_for(lambda: self._number in self._answers)
                wrong = self._answers.pop(self._number)
        if wrong is not None:
            raise DeviceError(wrong)

    def leave(self, why: str | None = None) -> None:
        """Say farewell, or what went wrong here, for the others to hear."""
        self._left = True
        _send(self._socket, {"bye": True} if why is None else {"failed": why})

    def _listen(self) -> None:
        left = b""
        while True:
            try:
                data = self._socket.recv(1 << 16)
            except OSError:
                data = b""
            if not data:
                self._socket.close()
                if not self._left:
                    self._on_loss("process 0 ended without a word: it was killed, or its machine is gone")
                return
            *lines, left = (left + data).split(b"\n")
            for words in map(json.loads, lines):
                if "gone" in words:
                    self._on_loss(words["gone"])
                    continue
                with self._answered:
                    self._answers[words["number"]] = words["wrong"]
                    self._answered.notify_all()


def _reach(hosts: list[str], port: int) -> socket.socket:
    wrong = []
    for host in hosts:
        try:
            found = socket.create_connection((host, port), timeout=10)
        except OSError as error:
            wrong.append(f"{host}: {error}")
            continue
        found.settimeout(None)
        found.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return found
    raise OSError(f"port {port}: {'; '.join(wrong)}")


def _send(peer: socket.socket, words: dict[str, Any]) -> None:
    with contextlib.suppress(OSError):  # the other end is gone, which its reader finds out
        peer.sendall(json.dumps(words).encode() + b"\n")


# ------------------------------------------------------------------------------------------- the one of this process

_mine: list[Member] = []


def join(member: Member) -> None:
    """Make `member` the end of the roll call that :func:`agree` uses."""
    _mine[:] = [member]


def joined() -> bool:
    """Return whether this process takes part in a roll call."""
    return bool(_mine)


def agree(mark: Any, told: str) -> None:
    """Wait until every process has come here with the same mark; a single process does not wait.

    Raises
    ------
    DeviceError
        If one comes with another, or with something else: it names the processes, and what they told.
    """
    for member in _mine:
        member.call(digest(repr(mark)), told)


def leave(why: str | None = None) -> None:
    """End this process's part in the roll call; `why` is told to the others where it went wrong."""
    for member in _mine:
        member.leave(why)
    _mine.clear()


def say(text: str) -> None:
    """Print a line about processes to the standard error, at once."""
    print(f"gluonx.parallel: {text}", file=sys.stderr, flush=True)
