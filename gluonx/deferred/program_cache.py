"""Compiled programs are forgotten, least recently used first, above a bound of memory.

Each kind of inputs that was met leaves a program behind, so a process that meets ever new shapes would fill memory. XLA
does not tell how much a program for a CPU takes. Measured by the growth of the process, one of a single operator takes
1.6 MB, and each operation in it 10 kB (elementwise ones) to 50 kB (products, convolutions); a trace, or a node of the
trie, takes kilobytes. What is compiled or traced here is put down with the size that the constants below estimate. As
soon as the sum is above the bound, what was not used for longest goes, until three quarters are left:

- a program of recorded operators, with the nodes of the trie that only it needed;
- all that is kept of an operator that ran by itself: its programs, traces and shapes. JAX keeps these by their function
  and cannot drop one of them, so an operator that takes an eighth of the bound begins again.

The clock is the number of compilations, for nothing else makes room scarce, and it costs a call nothing. What is
forgotten is compiled again when it comes again; what somebody holds (a value, a tape, a program that is about to run)
stays whole. JAX refers to functions weakly, so a program dies with its function; no forgotten program is part of a
circle of references, which would wait for the garbage collector.

``GLUONX_PROGRAMS_MB`` is the bound; 0 forgets nothing.
"""

from __future__ import annotations

import functools
import os
import threading
import weakref
from collections.abc import Callable
from typing import Any, ClassVar, TypeVar

from gluonx.common.thresholds import threshold
from gluonx.deferred.contracts import Operator
from gluonx.deferred.core import ROOT, Node, counters

__all__ = ["NODE", "PROGRAM", "TRACE", "Cache", "add", "clear", "memo", "once", "program_size"]

PROGRAM, OPERATION = threshold("program_cache.program"), threshold("program_cache.operation")  # bytes
TRACE, NODE = threshold("program_cache.trace"), threshold("program_cache.node")
SHARE = threshold("program_cache.share")  # an operator may have the n-th part of the bound
Made = TypeVar("Made")
_lock = threading.RLock()  # again by the same thread, where forgetting runs the end of some object that compiles


class Usage:
    """Programs kept of an operator: how many programs, of how many bytes, last used when."""

    __slots__ = ("nbytes", "programs", "used")

    def __init__(self) -> None:
        self.nbytes = self.programs = 0
        self.used = Cache.now


def _limit() -> float:
    given = os.environ.get("GLUONX_PROGRAMS_MB") or "4096"
    try:
        return float(given) * 1e6
    except ValueError:
        raise ValueError(f"GLUONX_PROGRAMS_MB is a number of megabytes, and not {given!r}") from None


class Cache:
    """State of the process. ``tables`` are those of traced blocks, whose `forget` drops what was forgotten here.

    ``memos`` are what :func:`memo` gave out, ``makers`` what :func:`once` did: both live until :func:`clear`.

    The default bound holds the steps of a 12-layer transformer for 20 lengths (at 180 MB) or 2,500 single operators.
    """

    limit = _limit()
    now = 0  # compilations so far
    nbytes = 0
    ops: ClassVar[weakref.WeakSet[Any]] = weakref.WeakSet()
    tables: ClassVar[weakref.WeakSet[Any]] = weakref.WeakSet()
    memos: ClassVar[list[dict[Any, Any]]] = []
    makers: ClassVar[list[Any]] = []


def program_size(jaxpr: Any) -> int:
    """Estimate the bytes of the program of a jaxpr, by the number of its operations."""
    return PROGRAM + OPERATION * _operations(getattr(jaxpr, "jaxpr", jaxpr))


def _operations(jaxpr: Any) -> int:
    total = 0
    for eqn in jaxpr.eqns:
        inner = [getattr(p, "jaxpr", p) for p in eqn.params.values() if hasattr(getattr(p, "jaxpr", p), "eqns")]
        total += sum(map(_operations, inner)) if inner else 1
    return total


def add(nbytes: int, op: Operator | None = None, programs: int = 0) -> None:
    """Put down what was compiled or traced, for `op` alone if given; other things may be forgotten for it."""
    with _lock:
        Cache.nbytes += nbytes
        Cache.now += programs
        if op is not None:
            usage = op.usage
            if usage is None:
                usage = op.usage = Usage()
                Cache.ops.add(op)
            usage.used = Cache.now
            usage.nbytes += nbytes
            usage.programs += programs
            if 0 < Cache.limit < SHARE * usage.nbytes:
                _forget_op(op)
        if 0 < Cache.limit < Cache.nbytes:
            _forget(0.75 * Cache.limit)


def memo() -> dict[Any, Any]:
    """Return a dict for operators and arrays that a module makes once and can make again; `clear` empties it.

    What is in one may hold jaxprs, programs and arrays. Interned nouns, such as avals, have no need of it.
    """
    made: dict[Any, Any] = {}
    Cache.memos.append(made)
    return made


def once(make: Callable[..., Made]) -> Callable[..., Made]:
    """Have a function make an operator once for the same arguments, until `clear`: ``functools.cache`` with an end.

    Examples
    --------
    >>> zeros = once(lambda count: [0] * count)
    >>> zeros(2) is zeros(2)
    True
    """
    cached = functools.cache(make)
    Cache.makers.append(cached)
    return cached


def clear() -> None:
    """Forget everything."""
    with _lock:
        _forget(0)
        ROOT.children.clear()
        for made in Cache.memos:
            made.clear()
        for cached in Cache.makers:
            cached.cache_clear()
        Cache.nbytes = 0


def _forget(least: float) -> None:
    """Forget until no more than `least` bytes are left, which are counted again: objects may have died meanwhile."""
    keys = _nodes()
    sizes = {node: NODE + sum([program.nbytes for program in _programs_of(node)]) for node in keys}
    ops = list(Cache.ops)
    Cache.nbytes = sum(sizes.values()) + sum([op.usage.nbytes for op in ops])
    ends = [(node.used, i, node) for i, node in enumerate(keys) if node.programs or not node.children]
    for _, _, found in sorted([*ends, *[(op.usage.used, -1 - i, op) for i, op in enumerate(ops)]]):
        if Cache.nbytes <= least:
            break
        if isinstance(found, Node):
            _forget_node(found, keys, sizes[found])
        else:
            _forget_op(found)
    for table in list(Cache.tables):
        table.forget()


def _nodes() -> dict[Node, Any]:
    """All nodes of the trie but the root, with their keys."""
    found: dict[Node, Any] = {}
    waiting = [ROOT]
    while waiting:
        children = [(child, key) for key, child in list(waiting.pop().children.items())]
        found.update(children)
        waiting += [child for child, _ in children]
    return found


def _programs_of(node: Node) -> list[Any]:
    """Return the programs that end at a node; beside them stands what was found out about several devices."""
    if not node.programs:
        return []
    return list({id(p): p for p in list(node.programs.values()) if hasattr(p, "nbytes")}.values())


def _forget_node(node: Node, keys: dict[Node, Any], nbytes: int) -> None:
    """Forget the programs that end at a node of so many bytes, and the nodes that lead nowhere else."""
    counters.forgotten += len(_programs_of(node))
    Cache.nbytes -= nbytes - NODE
    node.programs.clear()
    node.visits = 0
    while node.parent is not None and not node.children and not node.programs:
        parent, key = node.parent, keys[node]
        if parent.children.get(key) is node:
            del parent.children[key]
        Cache.nbytes -= NODE
        node = parent


def _forget_op(op: Operator) -> None:
    usage = op.usage
    counters.forgotten += usage.programs
    Cache.nbytes -= usage.nbytes
    if usage.programs:  # a joint operator has an `eager` that is not made here
        op.eager = None
    op.traced = op.shapes = op.usage = None  # gradients stay: what is being recorded tells them by identity
    if op.host is not None:
        op.host.seen.clear()
    Cache.ops.discard(op)
