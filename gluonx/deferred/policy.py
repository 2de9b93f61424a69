"""When a program is compiled: the one rule.

A program can run in two ways. NumPy (:mod:`gluonx.ops.host.jaxprs`) can begin at once; XLA must compile first, and is
faster afterwards. Nobody knows how often the program will run. This is the ski rental problem (Karlin et al.,
"Competitive snoopy caching", 1988), with the usual rule: let NumPy run it until the time spent equals the time of the
compilation, then compile. After ``runs`` runs a program is compiled in any case: it will run a thousand times more, and
these runs should be fast.

Both costs are estimated from the program, its operations and the elements that they touch, and never measured by a
clock. So the same code is compiled at the same step in each run of it. XLA takes 2 to 5 ms for an operation of a
training step, in which NumPy computes 5 to 10 million elements (measured on four nets): ``compiled`` is a part of that.

NumPy never runs a program whose values take more than ``bytes`` at once, one on several devices, or one with an
operation that it does not have.
"""

from __future__ import annotations

from gluonx.common.thresholds import threshold

__all__ = ["Account", "compiling", "limits", "running"]

limits = {
    "allowed": threshold("host.allowed"),
    "overhead": threshold("host.overhead"),
    "call": threshold("host.call"),
    "compiled": threshold("host.compiled"),
    "runs": threshold("host.runs"),
    "bytes": threshold("host.bytes"),
}


def compiling(operations: int) -> int:
    """Return the cost of compiling a program of so many operations, as elements that NumPy computes in that time."""
    return (operations + limits["overhead"]) * limits["allowed"]


def running(elements: float, operations: int) -> float:
    """Return the cost of one run by NumPy that reads or writes so many elements in so many operations."""
    return elements + operations * limits["call"]


class Account:
    """The cost so far of running a program with NumPy.

    Parameters
    ----------
    elements : float
        How many elements a run reads or writes.
    operations : int
        How many operations the program has.
    nbytes : int
        The largest memory that the values of a run take at one time.

    Examples
    --------
    >>> account = Account(elements=1e6, operations=10, nbytes=1 << 20)
    >>> [account.may_run() for _ in range(14)].count(True) == limits["runs"]
    True
    """

    __slots__ = ("_most", "_run", "_spent", "runs")

    def __init__(self, elements: float, operations: int, nbytes: int) -> None:
        self._run, self._most = running(elements, operations), limits["compiled"] * compiling(operations)
        self._spent, self.runs = 0.0, 0
        if nbytes > limits["bytes"]:
            self._most = 0

    def may_run(self) -> bool:
        """Return whether NumPy is to run the program once more, and count that run."""
        if self.runs >= limits["runs"] or not self._spent + self._run <= self._most:
            return False
        self._spent += self._run
        self.runs += 1
        return True
