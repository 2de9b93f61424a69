"""Costs, bounds and guesses that decide how something is computed, and the one rule that reads them.

None of them decides what is computed. There are sixteen: costs that ``python -m benchmarks.costs`` measures on the
machine where it runs and prints beside those here, bounds of memory, and guesses about a program's future. Whatever
else chooses between two ways makes its number of these, in this module. Costs are counted in *elements*: one is what
NumPy needs for a function of one number, such as its exponential.

**The rule.** A program can run in two ways. NumPy (:mod:`gluonx.ops.host.jaxprs`) can begin at once; XLA must compile
first, and is faster afterwards. Nobody knows how often the program will run. This is the ski rental problem (Karlin et
al., "Competitive snoopy caching", 1988), with the usual rule: let NumPy run it until that has cost as much as a
compilation. :class:`Account` applies it to a program. For one operator, :func:`running` is added up until it reaches
:func:`compiling`.

A program that runs a thousand times must not lose by that, which limits how late it may be compiled:

- If the step has to wait for the compilation, that is after ``runs`` runs at the latest.
- If the compilation can go on beside the work (:mod:`gluonx.deferred.run.beside`), the NumPy runs meanwhile make up for
  a later beginning. It begins when NumPy has spent a ``begun``-th of the cost of a compilation, but not before ``runs``
  runs. XLA takes over when NumPy has spent a ``beside``-th of that cost since. Only the first quarter to third of a
  compilation leaves a core free, so after that the step waits.

Costs are estimated from the operations of the program and the elements that they touch, and never measured by a clock
while it runs. So the same code is compiled at the same step in each run. XLA takes 2 to 5 ms for an operation of a
training step, in which NumPy computes 5 to 10 million elements (measured on four nets); ``training`` is a part of that.

NumPy never runs a program whose values take more than ``values`` bytes at once, one on several devices, or one with an
operation that it does not have.

**Exceptions** to the rule have a table of their own (:data:`EXCEPTIONS`), each with what shows that it is needed. Not
here are the numbers of XLA's workarounds, each of which stands beside its one function in `gluonx.ops.cpu`, and numbers
that are no matter of speed: formats, tolerances, constants of formulas.
"""

from __future__ import annotations

import sys
from typing import NamedTuple

__all__ = [
    "EXCEPTIONS",
    "NUMBERS",
    "Account",
    "Number",
    "compiling",
    "few_kinds",
    "limits",
    "new_kinds",
    "running",
    "runs_in_pieces",
]


class Number(NamedTuple):
    """One number: what it is counted in, why it is as it is, and what measures or shows it."""

    value: int
    unit: str
    reason: str
    shown_by: str


NUMBERS = {
    # Costs
    "light": Number(8, "times", "that adding, comparing or moving is faster than a function such as exp", "costs"),
    "product": Number(128, "products", "of a matrix product that NumPy computes in the time of one element", "costs"),
    "call": Number(1 << 10, "elements", "take as long as one of NumPy's functions takes to begin", "costs"),
    "step": Number(6 << 10, "elements", "take as long as one operation of a program by NumPy takes to begin", "costs"),
    "border": Number(4096, "elements", "take as long by NumPy as the call of a program: an array is small", "costs"),
    "compile": Number(1 << 20, "elements", "take as long as XLA needs to compile one operation", "costs"),
    "base": Number(4, "operations", "take as long to compile as a program does besides its operations", "costs"),
    "training": Number(4, "times", "that XLA needs for an operation of a training step; it is 5 to 10", "cold"),
    "kernel": Number(5, "operations", "that XLA compiles in place of one NumPy kernel of a net", "cold"),
    # Bounds of memory
    "code": Number(40_000, "bytes", "that each operation adds to a compiled program; it is 10 to 50 kB", "shapes"),
    "pending": Number(
        8 << 30, "bytes", "of pending values, with which an endless loop would fill the memory", "recording"
    ),
    "values": Number(1 << 30, "bytes", "that a program's values may take at once for NumPy to run it", "early"),
    # Guesses
    "runs": Number(12, "runs", "by NumPy; a program that is waited for will then come a thousand times", "early"),
    "begun": Number(6, "th part", "of a compilation's cost is spent by NumPy before one begins beside it", "cold"),
    "beside": Number(4, "th part", "of it is spent by NumPy beside a compilation, before that is waited for", "cold"),
    "many": Number(16, "times", "that something was new; from then on it is taken to be new each time", "shapes"),
}

EXCEPTIONS = {
    "long": Number(
        400,
        "operations",
        "from here on XLA's time grows faster than the program: it takes half a minute for 2,400",
        "early",
    ),
    "under_way": Number(
        8,
        "runs",
        "of a program on several devices of one CPU are waited for: hundreds of collectives lock up",
        "parallel",
    ),
    "symbol": Number(5, "", "is the smallest length that may be a symbol: operators ask for 0 to 4", "shapes"),
}

limits = {name: number.value for name, number in (NUMBERS | EXCEPTIONS).items()}

# Made of these when the module is imported. Arrays:
PACKED = limits["border"]  # elements up to which an array travels in one vector with others
FOLDED = 16 * PACKED  # elements of a result of constants that is kept; a larger one is computed at each call
TRIED = 32 * PACKED  # elements that an operator may be given for its NumPy kernels to take the place of a trace
FREED = 8 * PACKED  # bytes; a smaller value is let go with the list of values
DRAWN = limits["call"] // 4  # elements touched for each number that is drawn by trying until it holds

# Something is new each time. The dearer a wrong guess is, the later it is made:
CUTS = limits["many"] // 4  # times that NumPy cuts a vector apart before a program is compiled for it
SAMPLING = limits["many"] // 4  # programs for one kind of a block's calls: its forward samples in Python
CALLS = limits["many"] // 2  # calls of a block that is not hybridized before its operators run as one program
LENGTHS = limits["many"] // 2  # calls whose lengths are compared, and traces with symbols, of one operator
SEGMENTS = 2 * limits["many"]  # segments that one backward passes before their pull-backs run one by one
KINDS = 4 * limits["many"]  # kinds of inputs that are remembered of one block, operator or step
ZEROS = limits["many"]  # arrays of zeros that look-ups share
SHARED = 64 * limits["many"]  # loops, rules and updates that equal ones share

# Long programs:
PENDING = 50 * limits["long"]  # operations that may be pending; XLA would take minutes for more


def compiling(operations: int) -> int:
    """Return the cost in elements of compiling a program of so many operations.

    Examples
    --------
    >>> compiling(1) == (1 + limits["base"]) * limits["compile"]
    True
    """
    return (operations + limits["base"]) * limits["compile"]


def running(elements: float, operations: int) -> float:
    """Return the cost in elements of one run by NumPy that reads or writes so many of them in so many operations.

    Examples
    --------
    >>> running(5000, 2) == 5000 + 2 * limits["call"]
    True
    """
    return elements + operations * limits["call"]


def few_kinds(operations: int) -> int:
    """Return how many kinds of operators cost, compiled one by one, a tenth of compiling the program as a whole.

    Each is compiled with its pull-back. A tenth, since a program of pieces is slower at each run.

    Examples
    --------
    >>> few_kinds(400), few_kinds(2400)
    (16, 96)
    """
    return limits["training"] * compiling(operations) // (10 * 2 * compiling(1))


def new_kinds(operations: int) -> int:
    """Return how many kinds of operators NumPy may not know yet for a program to run operator by operator.

    A kind is traced twice, forward and pull-back, and so is each operator of the program as a whole; half of that is
    to be saved.
    """
    return operations // 4


def runs_in_pieces(operations: int) -> int:
    """Return how often a long program of few kinds is interpreted before it is compiled whole.

    Compiling, and an interpreted run, take a time for each operation; the former takes some hundred times longer. Above
    ten times what is long it is never compiled: XLA was stopped after five minutes.

    Examples
    --------
    >>> runs_in_pieces(400), runs_in_pieces(3900)
    (4, 39)
    >>> runs_in_pieces(4000) == sys.maxsize
    True
    """
    return sys.maxsize if operations >= 10 * limits["long"] else 4 * operations // limits["long"]


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
        run, cost = running(elements, operations), limits["training"] * compiling(operations)
        affordable = int(cost // max(run, 1)) if run <= cost and nbytes <= limits["values"] else 0
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
