"""``mx.monitor``: a look at the outputs and parameters of a net every so many batches."""

from __future__ import annotations

import logging
import math
import re
from collections.abc import Callable
from typing import Any

from gluonx.block import Block

__all__ = ["Monitor"]


def _size(x: Any) -> Any:
    """Return the norm over the root of the number of elements."""
    return (x.astype("float32") ** 2).sum() ** 0.5 / math.sqrt(x.size)


class Monitor:
    """Collects a number about each output within a net, of one batch in so many.

    Parameters
    ----------
    interval : int
        How many batches lie between two looks.
    stat_func : callable, optional
        Of an array; by default its norm over the root of its size.
    pattern : str
        A regular expression: which names are looked at.
    sort : bool
        Whether results are sorted by name.
    monitor_all : bool
        Whether inputs are looked at too.

    Examples
    --------
    >>> import gluonx as mx
    >>> net = mx.nn.Dense(2, in_units=3, weight_initializer="ones")
    >>> net.initialize()
    >>> monitor = Monitor(1, pattern=".*output")
    >>> monitor.install(net)
    >>> monitor.tic()
    >>> _ = net(mx.np.ones((1, 3)))
    >>> [(step, name) for step, name, _ in monitor.toc()]
    [(1, 'node_1_output')]
    """

    def __init__(
        self,
        interval: int,
        stat_func: Callable[[Any], Any] | None = None,
        pattern: str = ".*",
        sort: bool = False,
        monitor_all: bool = False,
    ) -> None:
        if interval < 1:
            raise ValueError(f"Monitor: interval must be positive, got {interval}")
        self.interval, self.sort, self.monitor_all = interval, sort, monitor_all
        self.stat_func = _size if stat_func is None else stat_func
        self.re_prog = re.compile(pattern)
        self.activated = False
        self.queue: list[tuple[int, str, Any]] = []
        self.step = 0
        self.exes: list[Any] = []

    def stat_helper(self, name: str, array: Any) -> None:
        """Look at an array, if this is a batch to look at and the pattern fits."""
        if self.activated and self.re_prog.match(name):
            self.queue.append((self.step, name, self.stat_func(array)))

    def install(self, exe: Any) -> None:
        """Look at an executor, or a block, from now on. A block runs line by line then."""
        if isinstance(exe, Block):
            exe.register_op_hook(lambda name, _, array: self.stat_helper(name, array), self.monitor_all)
        else:
            exe.set_monitor_callback(self.stat_helper, self.monitor_all, lambda: self.activated)
            self.exes.append(exe)

    def tic(self) -> None:
        """Begin a batch: call it before the forward."""
        if self.step % self.interval == 0:
            self.queue, self.activated = [], True
        self.step += 1

    def toc(self) -> list[tuple[int, str, str]]:
        """End a batch, and return what was seen: steps, names and numbers as text."""
        if not self.activated:
            return []
        for exe in self.exes:
            for name, array in (*exe.arg_dict.items(), *exe.aux_dict.items()):
                self.stat_helper(name, array)
        self.activated = False
        found = sorted(self.queue, key=lambda entry: entry[1]) if self.sort else self.queue
        self.queue = []
        return [(step, name, _text(value)) for step, name, value in found]

    def toc_print(self) -> None:
        """End a batch, and log what was seen."""
        for step, name, text in self.toc():
            logging.info("Batch: %7d %30s %s", step, name, text)


def _text(value: Any) -> str:
    """One result, or a list of them, as text."""
    values = value if isinstance(value, (list, tuple)) else [value]
    arrays = [v.asnumpy() if hasattr(v, "asnumpy") else v for v in values]
    return "\t".join(str(a.reshape(-1)[0] if getattr(a, "size", 0) == 1 else a) for a in arrays) + "\t"


def __dir__() -> list[str]:
    return sorted(__all__)
