"""Compiled programs are evicted, least recently used first, above a bound of memory.

Each new kind of inputs leaves a program behind, so a process that meets ever new shapes would fill the memory. XLA does
not say how much a program for a CPU takes. Measured by the growth of the process, a program of a single operator takes
1.6 MB, and each operation in it 10 kB (elementwise ones) to 50 kB (products, convolutions); a trace, or a node of the
trie, takes kilobytes. Everything that is compiled or traced is counted here with a size estimated from the constants
below. When the sum is above the bound, the least recently used entries go, until three quarters are left:

- a program of recorded operators, with the trie nodes that only it needed;
- all that is cached for an operator that ran by itself: programs, traces and shapes. JAX keeps these by their function
  and cannot drop a single one, so an operator that takes an eighth of the bound starts again from nothing.

The clock is the number of compilations, which costs calls nothing; only compilations make memory scarce. An evicted
program is compiled again when it comes again. What somebody holds (a value, a tape, a program that is about to run)
stays whole. JAX refers to functions weakly, so a program dies with its function; no evicted program is part of a
reference cycle, which would wait for the garbage collector.

``GLUONX_PROGRAMS_MB`` is the bound; 0 evicts nothing.
"""

from __future__ import annotations

import functools
import os
import threading
import weakref
from collections.abc import Callable
from typing import Any, ClassVar, TypeVar

from gluonx.common import forked, policy
from gluonx.deferred.values.contracts import Operator
from gluonx.deferred.values.core import ROOT, Node, counters

__all__ = ["NODE", "PROGRAM", "TRACE", "Cache", "add", "add_known", "clear", "memo", "once", "program_size", "size_of"]

# Bytes. A program takes as much as 40 operations besides its own, a trace as one, a node of the trie a twentieth.
OPERATION = TRACE = policy.limits["code"]
PROGRAM, NODE = 40 * OPERATION, OPERATION // 20
Made = TypeVar("Made")


class Usage:
    """The programs of one operator: how many there are, their bytes, and when they were last used."""

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
    """The state of the process. ``tables`` are those of traced blocks, whose `forget` drops what was evicted here.

    ``known`` are the operators of which shapes, traces or NumPy's runs are remembered, though nothing may be counted
    for them in ``ops``; only :func:`clear` has all of them forget it.
    ``memos`` are the dicts that :func:`memo` returned, ``makers`` the functions of :func:`once`; their contents live
    until :func:`clear`.

    The default bound holds the steps of a 12-layer transformer for 20 lengths (at 180 MB) or 2,500 single operators.
    """

    lock = threading.RLock()  # reentrant: eviction may run a finalizer that compiles
    limit = _limit()
    now = 0  # the number of compilations so far
    nbytes = 0
    ops: ClassVar[weakref.WeakSet[Any]] = weakref.WeakSet()
    known: ClassVar[weakref.WeakSet[Any]] = weakref.WeakSet()
    tables: ClassVar[weakref.WeakSet[Any]] = weakref.WeakSet()
    memos: ClassVar[list[dict[Any, Any]]] = []
    makers: ClassVar[list[Any]] = []


@forked.at_fork
def _with_a_new_lock() -> None:
    """Take a lock that no thread of the parent may have held when it forked."""
    Cache.lock = threading.RLock()


def program_size(jaxpr: Any) -> int:
    """Estimate the bytes of the program of a jaxpr, by the number of its operations."""
    return size_of(_operations(getattr(jaxpr, "jaxpr", jaxpr)))


def size_of(operations: int) -> int:
    """Estimate the bytes of a program of so many operations."""
    return PROGRAM + OPERATION * operations


def _operations(jaxpr: Any) -> int:
    total = 0
    for eqn in jaxpr.eqns:
        inner = [getattr(p, "jaxpr", p) for p in eqn.params.values() if hasattr(getattr(p, "jaxpr", p), "eqns")]
        total += sum(map(_operations, inner)) if inner else 1
    return total


def add(nbytes: int, op: Operator | None = None, programs: int = 0) -> None:
    """Count what was compiled or traced, for `op` alone if given; other entries may be evicted."""
    with Cache.lock:
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
            if 0 < Cache.limit < 8 * usage.nbytes:
                _forget_op(op)
        if 0 < Cache.limit < Cache.nbytes:
            _forget(0.75 * Cache.limit)


def add_known(op: Operator) -> None:
    """Have `clear` forget what is remembered of `op`, also where nothing was compiled or traced for it alone."""
    with Cache.lock:
        Cache.known.add(op)


def memo() -> dict[Any, Any]:
    """Return a dict for operators and arrays that a module can make again; `clear` empties it.

    It may hold jaxprs, programs and arrays. Interned objects such as avals need no memo.
    """
    made: dict[Any, Any] = {}
    Cache.memos.append(made)
    return made


def once(make: Callable[..., Made]) -> Callable[..., Made]:
    """Make a function return the same operator for the same arguments, until `clear`.

    It is a ``functools.cache`` that `clear` empties.

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
    """Evict everything."""
    with Cache.lock:
        _forget(0)
        ROOT.children.clear()
        for op in list(Cache.known):
            _forget_op(op)
        for made in Cache.memos:
            made.clear()
        for cached in Cache.makers:
            cached.cache_clear()
        Cache.nbytes = 0


def _forget(least: float) -> None:
    """Evict until at most `least` bytes are left; they are counted again, since objects may have died meanwhile."""
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
    """Return all nodes of the trie except the root, with their keys."""
    found: dict[Node, Any] = {}
    waiting = [ROOT]
    while waiting:
        children = [(child, key) for key, child in list(waiting.pop().children.items())]
        found.update(children)
        waiting += [child for child, _ in children]
    return found


def _programs_of(node: Node) -> list[Any]:
    """Return the programs that end at a node.

    Its table also holds findings about several devices, which are left out.
    """
    if not node.programs:
        return []
    return list({id(p): p for p in list(node.programs.values()) if hasattr(p, "nbytes")}.values())


def _forget_node(node: Node, keys: dict[Node, Any], nbytes: int) -> None:
    """Evict the programs that end at a node, of so many bytes, and the nodes that lead nowhere else."""
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
    if usage is not None:
        counters.forgotten += usage.programs
        Cache.nbytes -= usage.nbytes
        if usage.programs:  # the `eager` of a joint operator is not made here
            op.eager = None
    op.traced = op.shapes = op.families = op.usage = (
        None  # gradient operators stay: graphs being recorded identify them by identity
    )
    if op.host is not None:
        op.host.seen.clear()
    Cache.ops.discard(op)
