"""The numbers that decide how something is computed, none of which decides what: in one table.

Each has a name, a value, the reason for it, and what shows it: a benchmark (``python -m benchmarks.NAME``) or a test.
They were found on CPUs with two to sixteen cores; a factor of two in most of them changes no timing beyond its noise.
Modules read theirs when they are imported (:func:`threshold`), so this costs nothing later. The table is shown in
`docs/design/engine.md`, where ``python -m tools.thresholds --write`` renews it.

What stands beside its code are the numbers of XLA's workarounds (`ops/cpu`), each measured with the one function that
it belongs to, and numbers that are no matter of speed: formats, tolerances, constants of formulas.
"""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["THRESHOLDS", "Threshold", "threshold"]


class Threshold(NamedTuple):
    """One number: what it is counted in, why it is as it is, and what shows it."""

    value: int
    unit: str
    reason: str
    shown_by: str


THRESHOLDS = {
    "small.elements": Threshold(
        4096,
        "elements",
        "arrays up to here travel in one vector with others: crossing a program's border costs more than copying them",
        "benchmarks.step",
    ),
    "small.cuts_by_host": Threshold(
        3, "reads", "so often a vector is cut apart by NumPy before a program is compiled for it", "benchmarks.early"
    ),
    "fake_devices.under_way": Threshold(
        8,
        "runs",
        "of a program on several devices of one CPU are waited for; with hundreds under way XLA's collectives lock up",
        "tests/parallel/test_parallel.py",
    ),
    "pending.nodes": Threshold(
        20_000, "operations", "longer traces take XLA minutes; they are computed with a warning", "benchmarks.recording"
    ),
    "pending.bytes": Threshold(
        8 << 30,
        "bytes",
        "of pending values, which an unbounded loop would fill memory with",
        "tests/deferred/test_engine.py",
    ),
    "churn.programs": Threshold(
        16,
        "programs",
        "so many compiled at one line that never came again are a loop that never repeats",
        "benchmarks.shapes",
    ),
    "pieces.nodes": Threshold(
        400,
        "operations",
        "from here on the first runs of a repetitive trace go operator by operator",
        "benchmarks.early",
    ),
    "pieces.kind": Threshold(
        4, "operations", "of a shorter trace for each that NumPy does not know yet, for it to go so", "benchmarks.cold"
    ),
    "pieces.times": Threshold(
        24, "times", "that each kind of operator comes on average in such a trace", "benchmarks.early"
    ),
    "pieces.runs": Threshold(
        2, "runs", "that are interpreted before it is compiled whole, if it is not longer", "benchmarks.early"
    ),
    "pieces.each": Threshold(100, "operations", "of a longer one are a run more", "benchmarks.early"),
    "pieces.whole": Threshold(
        4000, "operations", "from here on it never is: XLA was stopped after five minutes", "benchmarks.early"
    ),
    "tape.segments": Threshold(
        32,
        "segments",
        "a backward through more runs their pull-backs one by one, each kind compiled once",
        "benchmarks.early",
    ),
    "traces.kinds": Threshold(
        64, "kinds", "of input of one block that are remembered; a warning tells of more", "benchmarks.shapes"
    ),
    "chains.operations": Threshold(
        32,
        "operations",
        "that XLA may compute again in each loop of a CPU that reads their result",
        "benchmarks.early",
    ),
    "chains.draws": Threshold(24, "draws", "of one shape that a program for a CPU makes at once", "benchmarks.early"),
    "chains.parts": Threshold(
        16, "parts", "of one array that a program for a CPU takes by loops of their own", "benchmarks.early"
    ),
    "chains.long": Threshold(600, "operations", "of the shortest program where that is done", "benchmarks.early"),
    "program_cache.program": Threshold(1_600_000, "bytes", "that a program of one operator takes", "benchmarks.shapes"),
    "program_cache.operation": Threshold(
        40_000, "bytes", "that each operation in a program adds, 10 to 50 kB", "benchmarks.shapes"
    ),
    "program_cache.trace": Threshold(40_000, "bytes", "that a trace takes", "benchmarks.shapes"),
    "program_cache.traced": Threshold(
        8, "parts", "a program that NumPy runs takes this part of what its compiled one does", "benchmarks.shapes"
    ),
    "program_cache.node": Threshold(2_000, "bytes", "that a node of the trie takes", "benchmarks.shapes"),
    "program_cache.share": Threshold(
        8, "parts", "an operator may have this part of the bound before it begins again", "benchmarks.shapes"
    ),
    "host.small": Threshold(
        4096, "elements", "up to which NumPy is no slower than the call of a program", "benchmarks.first"
    ),
    "host.allowed": Threshold(
        1 << 20, "elements", "that NumPy may compute in place of the compilation of one operation", "benchmarks.first"
    ),
    "host.compiled": Threshold(
        4,
        "times",
        "that XLA takes for an operation of a training step, in place of one alone; it is 5 to 10",
        "benchmarks.cold",
    ),
    "lengths.least": Threshold(
        5, "", "smaller lengths are never symbols: operators ask for 0 to 4", "tests/deferred/test_lengths.py"
    ),
    "lengths.kept": Threshold(
        32, "traces", "for lengths in numbers that are kept of an operator", "tests/deferred/test_lengths.py"
    ),
    "lengths.kinds": Threshold(6, "traces", "of an operator with symbols", "tests/deferred/test_lengths.py"),
    "linking.kernels": Threshold(
        1 << 17,
        "elements",
        "that an operator may be given for its NumPy kernels to take the place of a trace",
        "benchmarks.cold",
    ),
    "linking.operations": Threshold(
        5,
        "operations",
        "that a compiler has for such a kernel: nets are compiled after as many steps as by their traces",
        "benchmarks.cold",
    ),
    "lengths.seen": Threshold(8, "calls", "whose lengths are compared", "tests/deferred/test_lengths.py"),
    "host.call": Threshold(
        1 << 10,
        "elements",
        "that NumPy computes in the time that one of its functions takes to begin",
        "benchmarks.first",
    ),
    "host.light": Threshold(
        8, "times", "that an operator which adds, compares or moves is faster than one such as exp", "benchmarks.first"
    ),
    "host.deep": Threshold(
        128, "products", "of a matrix product that NumPy computes in the time of one exp", "benchmarks.first"
    ),
    "host.kept": Threshold(
        1024, "kinds", "of inputs that are remembered of one operator", "tests/deferred/test_host.py"
    ),
    "host.draws": Threshold(
        256, "elements", "touched for each one that is drawn by trying until it holds", "benchmarks.first"
    ),
    "host.overhead": Threshold(
        4, "operations", "that take as long to compile as a program does besides its operations", "benchmarks.first"
    ),
    "host.runs": Threshold(
        12,
        "runs",
        "of a program by NumPy, after which it is taken for one that comes a thousand times, where it has to be waited "
        "for",
        "benchmarks.early",
    ),
    "host.begun": Threshold(
        6, "th part", "of what a compilation costs is spent by NumPy before one begins beside it", "benchmarks.cold"
    ),
    "host.beside": Threshold(
        4, "th part", "of it is spent by NumPy beside a compilation, before that is waited for", "benchmarks.cold"
    ),
    "host.step": Threshold(
        6 << 10,
        "elements",
        "that NumPy computes in the time that an operation of a program takes to begin",
        "benchmarks.cold",
    ),
    "host.bytes": Threshold(
        1 << 30, "bytes", "that a program's values may take at once for NumPy to run it", "benchmarks.early"
    ),
    "host.folded": Threshold(
        1 << 16, "elements", "larger results of constants are computed at each call, not kept", "benchmarks.first"
    ),
    "host.freed": Threshold(1 << 15, "bytes", "what is smaller is let go with the list of values", "benchmarks.first"),
    "rows.zeros": Threshold(16, "arrays", "of zeros that taps of look-ups share", "benchmarks.sparse"),
    "bulk.often": Threshold(
        8, "calls", "of a net that is not hybridized before its operators run as one program", "benchmarks.models"
    ),
    "bulk.kinds": Threshold(32, "kinds", "of input that such calls are counted by", "tests/block/test_calls.py"),
    "bulk.programs": Threshold(
        4, "programs", "of one kind before it is given up: the forward samples in Python", "tests/block/test_calls.py"
    ),
    "loops.known": Threshold(
        512, "loops", "that are found again by the text of their bodies", "tests/np/test_control_flow.py"
    ),
    "updates.known": Threshold(
        1024, "rules and updates", "of optimizers that equal ones share", "tests/optimizer/test_trainer.py"
    ),
    "closures.known": Threshold(64, "closures", "of steps that are found again", "tests/optimizer/test_trainer.py"),
}


def threshold(name: str) -> int:
    """Return the number of this name.

    Examples
    --------
    >>> threshold("small.elements")
    4096
    """
    return THRESHOLDS[name].value
