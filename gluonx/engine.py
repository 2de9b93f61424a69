"""Control of the engine: modes of execution, counters, and the explanation of the last program.

Modes are ``deferred`` (the default), ``naive`` (every operation at once and synchronously, to debug; also by the
environment variable ``GLUONX_ENGINE=naive``), and :func:`bulk`, which defers a stretch outside ``record()``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import jax

from gluonx.common import policy
from gluonx.common.process import compilation_cache as compilation_cache
from gluonx.common.process import tune as tune
from gluonx.deferred.record import engine as _engine
from gluonx.deferred.record import graph
from gluonx.deferred.replicas import program as replicas
from gluonx.deferred.run import beside, flushing
from gluonx.deferred.run import host as _host
from gluonx.deferred.values import index_checks, program_cache
from gluonx.deferred.values.core import Node, counters, current_state, set_state, state_with
from gluonx.ops import cudnn

plain_steps: Counter[str] = Counter()  # steps of a Trainer that are more than one program, by reason

__all__ = [
    "bulk",
    "check",
    "clear",
    "compilation_cache",
    "explain",
    "host",
    "mode",
    "reset_stats",
    "set_bulk_size",
    "set_mode",
    "set_takeover",
    "stats",
    "tune",
    "waitall",
]


@contextmanager
def bulk(size: int) -> Iterator[None]:
    """Defer operations outside ``record()`` too, up to `size` of them at a time.

    Examples
    --------
    >>> from gluonx import engine, np
    >>> with engine.bulk(10):
    ...     x = np.ones((2,)) + 1
    ...     y = x * 3
    >>> y.tolist()
    [6.0, 6.0]
    """
    before = current_state()
    set_state(state_with(bulk=int(size)))
    try:
        yield
    finally:
        set_state(before)
        _engine.flush("the end of bulk()")


def set_bulk_size(size: int) -> int:
    """Set the bulk size for this context and return the one before; 0 switches bulking off.

    Examples
    --------
    >>> from gluonx import engine
    >>> before = engine.set_bulk_size(8)
    >>> engine.set_bulk_size(before)
    8
    """
    before = current_state().bulk
    set_state(state_with(bulk=int(size)))
    if size <= 0 < before:
        _engine.flush("the end of bulk()")
    return before


@contextmanager
def mode(name: str) -> Iterator[None]:
    """Run a stretch of code in mode ``'deferred'`` or ``'naive'``.

    Examples
    --------
    >>> from gluonx import engine, np
    >>> with engine.mode("naive"):
    ...     y = np.ones(2) + 1
    >>> y.tolist()
    [2.0, 2.0]
    """
    before = current_state()
    set_mode(name)
    try:
        yield
    finally:
        set_state(before)


def set_mode(name: str) -> None:
    """Choose the mode of this context: ``'deferred'`` or ``'naive'``.

    Raises
    ------
    ValueError
        For another name.

    Examples
    --------
    >>> from gluonx import engine, np
    >>> engine.set_mode("naive")  # each operator is computed before the next line
    >>> (np.ones(2) + 1).tolist()
    [2.0, 2.0]
    >>> engine.set_mode("deferred")
    """
    if name not in ("deferred", "naive"):
        raise ValueError(f"the engine's modes are 'deferred' and 'naive', got {name!r}")
    _engine.flush("a change of mode")
    set_state(state_with(naive=name == "naive"))


def waitall() -> None:
    """Compute all that is pending in this thread and wait until every array that exists is there.

    Examples
    --------
    >>> from gluonx import engine, np
    >>> x = np.ones(2) + 1
    >>> engine.waitall()
    """
    _engine.flush("waitall")
    jax.block_until_ready(jax.live_arrays())


@contextmanager
def check(on: bool = True) -> Iterator[None]:
    """Look at all indices, also those on the device, for a stretch of code: one out of range raises at its line.

    Without it indices are looked at where that costs nothing worth mentioning, see ``docs/differences.md``. Within,
    values of indices are read (pending ones are computed), and hybridized blocks run un-hybridized. The environment
    variable ``GLUONX_CHECK=1`` switches it on for a process.

    Parameters
    ----------
    on : bool
        False switches it off for a stretch.

    Raises
    ------
    BadIndexError
        At the operator: names it, its block, the index, the size and the line.

    Examples
    --------
    >>> from gluonx import engine, nn, np
    >>> layer = nn.Embedding(3, 2)
    >>> layer.initialize()
    >>> with engine.check():
    ...     layer(np.array([0, 7]))
    Traceback (most recent call last):
    ...
    gluonx.errors.BadIndexError: embedding in Embedding: index 7 is out of bounds for axis 0 with size 3. ...
    """
    before = index_checks.Switch.on
    index_checks.Switch.on = bool(on)
    try:
        yield
    finally:
        index_checks.Switch.on = before


@contextmanager
def host(on: bool = True) -> Iterator[None]:
    """Have NumPy run operators that are not recorded, and first runs of programs, where compiling takes longer, or not.

    It does by default, where the default device is a CPU; the environment variable ``GLUONX_HOST=0`` switches it off
    for a process. The two ways may differ in the last bits of a float (see ``docs/host.md``).

    Parameters
    ----------
    on : bool
        False has XLA compile everything within the stretch.

    Examples
    --------
    >>> from gluonx import engine, np
    >>> with engine.host(False):
    ...     x = np.ones((2,)) + 1
    >>> x.tolist()
    [2.0, 2.0]
    """
    with _host.switched(bool(on)):
        yield


def set_takeover(when: beside.When) -> beside.When:
    """Choose when a program takes over that was compiled beside the work, and return what was chosen before.

    On a CPU of several cores XLA compiles a training step in a thread while NumPy goes on running it
    (see ``docs/deferred.md``). The two may differ in the last bits of a float.

    Parameters
    ----------
    when : {'planned', 'ready'}
        ``'planned'``, the default, is at the same step in each run of the same code; there the compilation is waited
        for. With ``'ready'`` nobody waits, and it is at whichever step the compilation is found to be over.

    Raises
    ------
    ValueError
        For another name.

    Examples
    --------
    >>> from gluonx import engine
    >>> before = engine.set_takeover("ready")
    >>> engine.set_takeover(before)
    'ready'
    """
    if when not in ("planned", "ready"):
        raise ValueError(f"a program takes over when it is 'planned' or 'ready', got {when!r}")
    before, beside.Switch.when = beside.Switch.when, when
    return before


def clear() -> None:
    """Forget every compiled program and all traces of operators, and so free their memory.

    Values are computed first. What comes again is compiled again; nothing else changes. Programs are forgotten by
    themselves, least recently used first, where they take more than ``GLUONX_PROGRAMS_MB``.

    Examples
    --------
    >>> from gluonx import engine, np
    >>> x = np.ones((2,)) + 1
    >>> engine.clear()
    >>> engine.stats()["programs_mb"], x.tolist()
    (0.0, [2.0, 2.0])
    """
    _engine.flush("engine.clear")
    flushing.LAST.clear()
    program_cache.clear()


def stats() -> dict[str, Any]:
    """Counters since the start or the last :func:`reset_stats`.

    Returns
    -------
    dict
        ``programs_compiled``, ``programs_forgotten`` (also single operators'), ``programs_mb`` (an estimate of the
        memory that programs and traces take now), ``dispatches`` (programs run, by XLA or in their first runs by
        NumPy, and single operators run by XLA), ``host`` (single operators that NumPy ran), ``nodes_recorded``,
        ``traces`` (of hybridized blocks), ``copies`` (buffers copied because somebody held what a step donates),
        ``flushes`` (number by reason), ``unhybridized`` (calls of hybridized blocks that ran line by line, number by
        reason: an operator whose result's shape depends on values).

    Examples
    --------
    >>> from gluonx import engine
    >>> engine.reset_stats()
    >>> engine.stats()["traces"]
    0
    """
    pending = graph.current_graph().cursor.depth
    return {
        "programs_compiled": counters.programs_compiled,
        "programs_forgotten": counters.forgotten,
        "programs_mb": program_cache.Cache.nbytes / 1e6,
        "dispatches": counters.dispatches,
        "host": counters.host,
        "nodes_recorded": counters.nodes_flushed + pending,
        "traces": counters.traces,
        "copies": counters.copies,
        "flushes": dict(counters.flushes),
        "unhybridized": dict(counters.unhybridized),
    }


def reset_stats() -> None:
    """Set all counters to zero.

    Examples
    --------
    >>> from gluonx import engine
    >>> engine.reset_stats()
    >>> engine.stats()["copies"]
    0
    """
    counters.reset()
    plain_steps.clear()


def explain(limit: int = 60) -> str:
    """Return the last program: its operations, the user's line behind each, why it ran, and why it was recompiled.

    Also told is, since the last :func:`reset_stats`, which blocks ran un-hybridized and which steps of a Trainer were
    more than one program, and why; and what computes the attention that was traced last.

    Parameters
    ----------
    limit : int
        At most this many operations are listed.

    Examples
    --------
    >>> from gluonx import autograd, engine, np
    >>> x = np.ones(2)
    >>> x.attach_grad()
    >>> with autograd.record():
    ...     y = (x * 2).sum()
    >>> y.item()
    4.0
    >>> print(engine.explain().partition(",")[0])
    2 operations
    """
    last = flushing.LAST
    told = [f"{n} call(s) of a hybridized block ran un-hybridized: {why}" for why, n in counters.unhybridized.items()]
    told += [f"{n} step(s) of a Trainer took the plain way, not one program: {why}" for why, n in plain_steps.items()]
    told += cudnn.choices()
    if not last:
        return "\n".join(["No program has run yet.", *told])
    node: Node | None = last["node"]
    path: list[Node] = []
    while node is not None and node.parent is not None:
        path.append(node)
        node = node.parent
    path.reverse()
    program = last.get("program")
    lines = [f"{len(path)} operations, {last['how']}, because of: {last['why']}"]
    if isinstance(program, replicas.Program):
        lines.append(f"one program on {len(program.replicas)} devices, which do the same; run {program.runs} time(s)")
    elif program is not None:
        lines.append(
            f"run {program.runs} time(s); {len(program.outputs) + len(program.packs)} outputs; "
            f"{len(program.single) + len(program.joins)} input arrays for {path[-1].n_leaves} values, "
            f"{path[-1].n_floats + path[-1].n_ints} scalars"
        )
        if program.by_host is not None:
            lines.append(_when_compiled(program.by_host.account))
    new = last.get("new")
    if new is not None and program is not None and program.runs <= 1:
        lines.append(_why_new(new))
    lines += told
    lines += [f"  {n.depth:4d}  {n!r}   [{n.where or '-'}]  {n.line}" for n in path[:limit]]
    if len(path) > limit:
        lines.append(f"  ... {len(path) - limit} more")
    return "\n".join(lines)


def _when_compiled(account: policy.Account) -> str:
    if not beside.is_possible():
        return f"XLA compiles it at run {account.waits + 1}"
    takes_over = "when it is ready" if beside.Switch.when == "ready" else f"at run {account.takes_over + 1}"
    return f"XLA compiles it beside the work from run {account.begins + 1} on, and takes over {takes_over}"


def _why_new(new: Node) -> str:
    others = [c for c in new.parent.children.values() if c is not new] if new.parent is not None else []
    text = f"compiled anew: from operation {new.depth} on, the trace was not known: {new!r} at {new.line}"
    same = [c for c in others if c.line == new.line]
    if same or others:
        text += f"\n  the trace known so far had here: {(same or others)[-1]!r} at {(same or others)[-1].line}"
    return text


def __dir__() -> list[str]:
    return sorted(__all__)
