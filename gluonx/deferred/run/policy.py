"""The one rule that says when a program is compiled.

A program can run in two ways. NumPy (:mod:`gluonx.ops.host.jaxprs`) can begin at once; XLA must compile first, and is
faster afterwards. Nobody knows how often the program will run. This is the ski rental problem (Karlin et al.,
"Competitive snoopy caching", 1988), with the usual rule: let NumPy run it until that has cost as much as a compilation.

A program that runs a thousand times must not lose by that, which limits how late it may be compiled:

- If the step has to wait for the compilation, that is after ``runs`` runs at the latest.
- If the compilation can go on beside the work (:mod:`gluonx.deferred.run.beside`), the NumPy runs meanwhile make up for
  a later beginning. It begins when NumPy has spent a ``begun``-th of the cost of a compilation, but not before ``runs``
  runs. XLA takes over when NumPy has spent a ``beside``-th of that cost since. Only the first quarter to third of a
  compilation leaves a core free, so after that the step waits.

Both costs are estimated from the operations of the program and the elements that they touch, and never measured by a
clock. So the same code is compiled at the same step in each run. XLA takes 2 to 5 ms for an operation of a training
step, in which NumPy computes 5 to 10 million elements (measured on four nets); ``compiled`` is a part of that.

NumPy never runs a program whose values take more than ``bytes`` at once, one on several devices, or one with an
operation that it does not have.
"""

from __future__ import annotations

import sys

from gluonx.common.thresholds import threshold

__all__ = ["Account", "compiling", "limits", "running"]

limits = {
    "allowed": threshold("host.allowed"),
    "overhead": threshold("host.overhead"),
    "call": threshold("host.call"),
    "compiled": threshold("host.compiled"),
    "runs": threshold("host.runs"),
    "begun": threshold("host.begun"),
    "beside": threshold("host.beside"),
    "step": threshold("host.step"),
    "bytes": threshold("host.bytes"),
}


def compiling(operations: int) -> int:
    """Return the cost of compiling a program of so many operations, as elements that NumPy computes in that time."""
    return (operations + limits["overhead"]) * limits["allowed"]


def running(elements: float, operations: int) -> float:
    """Return the cost of one run by NumPy that reads or writes so many elements in so many operations."""
    return elements + operations * limits["call"]


class Account:
    """A count of a program's runs by NumPy, and the counts at which it is compiled.

    Parameters
    ----------
    elements : float
        How many elements a run reads or writes.
    operations : int
        How many operations the program has.
    nbytes : int
        The largest memory that the values of a run take at one time.

    Attributes
    ----------
    runs : int
        How often it has run.
    waits : int
        The runs after which it is compiled where that is waited for.
    begins, takes_over : int
        The runs after which its compilation begins beside the work, and after which XLA's program runs.

    Examples
    --------
    >>> account = Account(elements=1e6, operations=10, nbytes=1 << 20)
    >>> account.waits == limits["runs"] <= account.begins <= account.takes_over
    True
    >>> [account.may_run(beside=False) for _ in range(14)].count(True) == limits["runs"]
    True
    """

    __slots__ = ("begins", "runs", "takes_over", "waits")

    def __init__(self, elements: float, operations: int, nbytes: int) -> None:
        run, cost = running(elements, operations), limits["compiled"] * compiling(operations)
        affordable = int(cost // max(run, 1)) if run <= cost and nbytes <= limits["bytes"] else 0
        self.waits = min(limits["runs"], affordable)
        affordable = min(affordable, int(cost // max(elements + operations * limits["step"], 1)))
        self.begins = max(self.waits, affordable // limits["begun"])
        self.takes_over = self.begins + affordable // limits["beside"]
        self.runs = 0

    def come(self, runs: int) -> None:
        """Note that the program has come so often before: if very often, its compilation is to begin."""
        self.runs = min(runs, self.begins)

    def may_run(self, beside: bool) -> bool:
        """Return whether NumPy is to run the program once more, and note that it does.

        `beside` tells whether it may be compiled beside that.
        """
        if self.runs >= (self.takes_over if beside else self.waits):
            return False
        self.runs += 1
        return True

    def stay(self) -> None:
        """Have NumPy run the program for good: XLA cannot."""
        self.waits = self.begins = self.takes_over = sys.maxsize
