"""When a program is compiled: the one rule.

A program can run in two ways. By NumPy (:mod:`gluonx.ops.host.jaxprs`) it begins at once; by XLA it begins after a
compilation, and is faster from then on. Nobody knows how often it will come. So it is the problem of skiers who may
rent or buy (Karlin et al., "Competitive snoopy caching", 1988), and the rule is theirs: take the way that is cheap to
begin, until what was spent on it reaches what the other way's beginning costs. A program that came ``runs`` times is
not waited for any longer: it will come a thousand times, and these are to lose nothing.

Both costs are estimated from the program, its operations and the elements that they touch, and never measured by a
clock. So the same code is compiled at the same step in each run of it.

What is not left to NumPy at all: a program whose values take more than ``bytes`` at once, one on several devices, and
one with an operation that has no form there.
"""

from __future__ import annotations

from gluonx.common.thresholds import threshold

__all__ = ["Account", "compiling", "limits", "running"]

limits = {
    "allowed": threshold("host.allowed"),
    "overhead": threshold("host.overhead"),
    "call": threshold("host.call"),
    "runs": threshold("host.runs"),
    "bytes": threshold("host.bytes"),
}


def compiling(operations: int) -> int:
    """Return what XLA takes to compile a program of so many operations, in elements that NumPy computes meanwhile."""
    return (operations + limits["overhead"]) * limits["allowed"]


def running(elements: float, operations: int) -> float:
    """Return what NumPy takes to run a program that touches so many elements in so many operations."""
    return elements + operations * limits["call"]


class Account:
    """What was spent on a program by running it by NumPy.

    Parameters
    ----------
    elements : float
        That a run touches.
    operations : int
        That a run, and a compilation, consists of.
    nbytes : int
        That the values of a run take at once.

    Examples
    --------
    >>> account = Account(elements=1e6, operations=10, nbytes=1 << 20)
    >>> [account.may_run() for _ in range(14)].count(True) == limits["runs"]
    True
    """

    __slots__ = ("_most", "_run", "_spent", "runs")

    def __init__(self, elements: float, operations: int, nbytes: int) -> None:
        self._run, self._most = running(elements, operations), compiling(operations)
        self._spent, self.runs = 0.0, 0
        if nbytes > limits["bytes"]:
            self._most = 0

    def may_run(self) -> bool:
        """Return whether NumPy is to run the program once more, and note that it does."""
        if self.runs >= limits["runs"] or not self._spent + self._run <= self._most:
            return False
        self._spent += self._run
        self.runs += 1
        return True
