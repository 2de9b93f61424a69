"""Sides of a benchmark in processes of their own: orders go in as lines of JSON, answers come back so.

`Worker` is such a process, of whatever Python, which runs `benchmarks.serve.serve`; `RemoteSide` is one of the sides of
`benchmarks.harness`. A process times itself, so what it costs to order it is not counted.
"""

from __future__ import annotations

import contextlib
import json
import os
import pathlib
import subprocess
from collections.abc import Callable, Mapping
from typing import Any

from benchmarks.harness import Side

__all__ = ["ROOT", "Missing", "RemoteSide", "Worker", "cores", "one_thread_a_core"]

ROOT = pathlib.Path(__file__).parent.parent


class Missing(Exception):
    """A side that is not installed."""


def cores() -> int:
    """Return the number of cores that this process and its children may use."""
    return len(os.sched_getaffinity(0))


def one_thread_a_core() -> dict[str, str]:
    """Return the environment variables that make a process use as many threads as cores."""
    return {name: str(cores()) for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")}


class Worker:
    """A process that serves orders.

    Parameters
    ----------
    name : str
    command : list of str
        Of the process. Its working folder is the root of the checkout.
    log : path, optional
        Takes what the process says; without it that is dropped.
    environment : mapping
        Goes over that of this process; what is None in it is taken away.
    """

    def __init__(
        self,
        name: str,
        command: list[str],
        log: pathlib.Path | None = None,
        environment: Mapping[str, str | None] | None = None,
    ) -> None:
        self.name, self.log = name, log
        if not pathlib.Path(command[0]).exists():
            raise Missing(f"{name}: there is no {command[0]}")
        given = {k: v for k, v in {**os.environ, **(environment or {})}.items() if v is not None}
        with open(log or os.devnull, "w") as errors:
            self.process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, text=True, cwd=ROOT, env=given
            )

    def send(self, **order: Any) -> None:
        """Give an order; `answer` waits for it to be done."""
        assert self.process.stdin is not None
        with contextlib.suppress(BrokenPipeError):  # it has ended; `answer` tells why
            self.process.stdin.write(json.dumps(order) + "\n")
            self.process.stdin.flush()

    def answer(self) -> Any:
        """Return the value that the last order gave.

        Raises
        ------
        Missing
            If the side cannot be imported there.
        RuntimeError
            If the order failed, or the process ended.
        """
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError(f"{self.name}: ended with status {self.process.wait()}, see {self.log}")
        answer = json.loads(line)
        if "missing" in answer:
            raise Missing(f"{self.name}: {answer['missing']}")
        if "error" in answer:
            raise RuntimeError(f"{self.name}: {answer['error']} (see {self.log})")
        return answer["value"]

    def order(self, **order: Any) -> Any:
        """Give an order and wait for its value."""
        self.send(**order)
        return self.answer()

    def close(self) -> None:
        """End the process."""
        if self.process.stdin is not None:
            with contextlib.suppress(BrokenPipeError):  # it has ended
                self.process.stdin.close()
        try:
            self.process.wait(timeout=20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        if self.process.stdout is not None:
            self.process.stdout.close()


class RemoteSide(Side):
    """A side whose process times itself: `ask(count)` gives wall and processor seconds of that many calls."""

    def __init__(self, name: str, ask: Callable[[int], tuple[float, float]]) -> None:
        super().__init__(name, lambda count: ask(count) and None)
        self.ask = ask

    def time(self, count: int) -> None:
        """Time one block of `count` calls."""
        wall, cpu = self.ask(count)
        self.wall.append(wall / count)
        self.cpu.append(cpu / count)

    def calls(self, block: float) -> int:
        """Return the number of calls that take about `block` seconds."""
        count, wall = 1, self.ask(1)[0]
        while wall < block / 8 and count < 1 << 14:
            count *= 4
            wall = self.ask(count)[0]
        return max(1, round(count * block / wall))
