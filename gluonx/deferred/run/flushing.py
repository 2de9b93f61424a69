"""Flushing: how a pending graph becomes values.

There are two ways. *Interpreted* runs operator by operator. It serves a new trace without a backward, and the first
runs of a long trace that repeats a few operators (:mod:`gluonx.deferred.run.repeats`). *A program* computes the whole
trace. It serves a trace that comes the second time, and a trace with a backward, since a training step will come again.
On a CPU, NumPy runs a program until compiling it pays (:mod:`gluonx.common.policy`). If NumPy cannot, a line of
user code that keeps compiling traces which never come again gets one warning; from then on new traces from that line
are interpreted until they come a second time.

Errors and interrupts leave a defined state: a program is compiled before any buffer is donated, results are put into
their handles by C code that no signal can interrupt, and a graph that failed restores every handle that it had rebound.

Only the buffers that a :class:`Commit` names (of Parameters and of the Trainer) are donated, and a buffer that somebody
else holds as well is copied first. So what users hold never decides which program runs.
"""

from __future__ import annotations

import functools
from collections.abc import Generator
from contextlib import contextmanager, nullcontext
from itertools import chain, repeat, starmap
from operator import attrgetter
from typing import TYPE_CHECKING, Any, TypeAlias

import jax
import jax.numpy as jnp
import numpy as np
from jax import debug_infs, debug_nans
from jax.core import eval_context

from gluonx.common import forked, policy
from gluonx.common.process import collects_in_calls, one_blas_thread, pause_collector, resume_collector, uncollected
from gluonx.deferred.operators import growth
from gluonx.deferred.operators.segments import Segment, attached
from gluonx.deferred.replicas import program as replicas
from gluonx.deferred.replicas.parting import fall_apart
from gluonx.deferred.run import beside, host, notice, repeats
from gluonx.deferred.run.program import Plan, Program, default_sharding, packable, scalars_of, walk_back
from gluonx.deferred.values import interrupts, program_cache, source_location
from gluonx.deferred.values.aliasing import held_arguments, is_alone
from gluonx.deferred.values.contracts import Ownership, Packs
from gluonx.deferred.values.core import (
    Aval,
    Handle,
    Node,
    Packed,
    Pending,
    Placeholder,
    aval_of,
    counters,
    new_handle,
    new_pendings,
    tracing,
)
from gluonx.deferred.values.vectors import Join, Vector, layout_of, resolved
from gluonx.dtype import as_array, keeping_64_bits, on_device
from gluonx.errors import DeviceError, GraphError
from gluonx.sharding import gathered

if TYPE_CHECKING:
    from gluonx.deferred.record.graph import Graph

__all__ = [
    "LAST",
    "LOST",
    "Commit",
    "Taken",
    "flush",
    "flush_full",
    "flush_inside",
    "tape_slots_of",
    "value_apart",
]

LOST = (
    "this value was to be computed by a program that failed or was interrupted, so it does not exist; "
    "the error above says why. Parameters and optimizer states are as they were before that program."
)
_UNDER_WAY_BELOW = (
    "this value is being replaced by a training step that the code which reads it has interrupted on the same thread, "
    "so it can not be waited for here. Read it in the loop, or from another thread."
)
LAST: dict[str, Any] = {}
_sites: dict[source_location.Line, _Site] = program_cache.memo()  # programs that were evicted are not waited for
_value_of, _slot_of = attrgetter("value"), attrgetter("slot")
_is_placed = attrgetter("placed")
watchers: list[Any] = []  # set by gluonx.profiler: each is called with a program and its arguments before it runs
agreements: list[Any] = []  # set by gluonx.parallel: each is called with what is lowered, and its arguments


class Commit:
    """A step's own part of a flush: the last node's outputs are written to `targets`."""

    __slots__ = ("broken", "owned", "targets")

    def __init__(self, targets: list[Handle], owned: Ownership) -> None:
        self.broken: str | None = None  # the message of a constraint that did not hold
        self.targets = targets
        self.owned = owned


# The values that a step has taken out of their holders (handles and vectors), because their buffers may be reused:
# the holders, the pending values that stand in them until the results are there, and the former values. Another thread
# that reads a holder waits for the step. One that copied the value before shows in the reference count. A write to a
# holder during the step is kept.
Taken: TypeAlias = "tuple[list[Any], list[Pending], list[Any]]"


def _take(graph: Graph, holders: list[Any], avals: tuple[Aval, ...]) -> list[Pending]:
    """Take the values that a step replaces out of their holders, in one C call.

    Return the pending values for its results.
    """
    pendings = new_pendings(graph, -1, avals)
    graph.taken = (holders, pendings, list(map(_value_of, holders)))
    any(map(setattr, holders, repeat("value"), pendings))
    return pendings


def _give_back(graph: Graph) -> None:
    """Give holders the results of their pending values, or where there are none, their former values."""
    if graph.taken is not None:
        for holder, pending, before in zip(*graph.taken):
            if holder.value is pending:  # no other thread runs between this line and the next, where nothing is called
                holder.value = before if pending.value is None else pending.value
        graph.taken = None


def _copy_before(taken: Taken, pending: Pending) -> jax.Array | None:
    """Return a copy of the array that `pending` has replaced; None if it replaced none."""
    for _, known, before in zip(*taken, strict=True):
        if known is pending:
            array = before.make(new_handle(before)) if isinstance(before, Placeholder) else resolved(before)
            # On the host: the interrupted work may be the compilation of the very program that would copy.
            return on_device(np.array(array), array.sharding) if array.is_fully_addressable else jnp.copy(array)
    return None


class _Sink:
    """A receiver for an output that nobody holds any more."""

    __slots__ = ("aval", "value")

    def __init__(self) -> None:
        self.value: Any = None


def flush(graph: Graph, why: str) -> None:
    """Compute the live values of `graph` and close it; do nothing if the caller interrupts work on it."""
    with graph.lock:
        if graph.inside:
            return
        graph.inside = True
        try:
            flush_inside(graph, why)
        finally:
            graph.inside = False


def flush_inside(graph: Graph, why: str, final: Commit | None = None) -> None:
    """As :func:`flush`, for a caller that is inside the graph already."""
    if graph.closed:
        if graph.error is not None:
            raise GraphError(LOST) from graph.error
        return
    node = graph.cursor
    if node.parent is None:
        return
    forked.check("what was recorded")
    counters.flushes[why] = counters.flushes.get(why, 0) + 1
    counters.nodes_flushed += node.depth
    pendings = graph.pendings()
    if not pendings and final is None:
        graph.close()
        return
    if graph.borders and tape_slots_of(graph, tuple([p.slot for p in pendings])):
        pendings = _pendings_behind(graph)
    try:
        if graph.nested or tracing.depth:
            with eval_context():  # the caller may have interrupted JAX while it traced a program
                _compute(graph, node, pendings, why, final)
        else:
            _compute(graph, node, pendings, why, final)
    except BaseException as error:
        graph.close(error)
        raise
    required = graph.required
    if graph.marks and graph.segment is not None:
        for slot in graph.marks.keys() & graph.segment.outs.keys():
            out = graph.segment.outs[slot]
            out.segment.marks[out.slot] = graph.marks[slot]
    graph.close()
    if required:
        _require(required, final)


def _pendings_behind(graph: Graph) -> list[Pending]:
    """Return the values to compute of a graph whose gradients pass Python code, with those that this code needs."""
    for border in graph.borders:
        if (segment := border()) is not None:
            segment.hold()
    return graph.pendings()


def value_apart(graph: Graph, pending: Pending) -> jax.Array:
    """Compute one value of a graph by itself and keep nothing; see :meth:`.Graph.value_apart`."""
    leaves, floats, ints, taken = graph.leaves, graph.floats, graph.ints, graph.taken
    if pending.value is not None or graph.has_packed(pending):
        return pending.value if pending.value is not None else unpacked(graph, pending)
    try:
        with eval_context(), keeping_64_bits(graph.cursor.wide):
            if taken is not None and (before := _copy_before(taken, pending)) is not None:
                return before  # a copy, since the program is about to be given the buffer itself
            plan = Plan(list(graph.path()), (pending.slot,))
            used = plan.leaves()
            inputs = [resolved(leaf) if i in used else None for i, leaf in enumerate(leaves)]
            try:
                values = plan.run(inputs, floats, ints, compiled=False)
            except RecursionError:  # the caller interrupted the compilation of one of the same operators
                values = jax.jit(lambda given: {pending.slot: plan.run(given, floats, ints)[pending.slot]})(inputs)
            return host.placed(values)[pending.slot]
    except RuntimeError as error:
        if pending.value is not None:
            return pending.value
        if "deleted" not in str(error) and "donated" not in str(error):
            raise
        raise GraphError(_UNDER_WAY_BELOW) from None


def _require(required: list[tuple[Pending, str]], final: Commit | None) -> None:
    """Raise the message of the first boolean that is False; a step is completed before."""
    for pending, message in required:
        if pending.value is not None and not bool(np.asarray(pending.value)):
            if final is None:
                raise ValueError(message)
            final.broken = message
            return


def flush_full(graph: Graph) -> None:
    """Flush a graph that has reached the bound on nodes or bytes, with one warning for each line."""
    line = source_location.user_line()
    source_location.warn_once(
        ("full", line),
        f"{graph.cursor.depth} operations are pending at {line}; they are computed now. Read a value, or call "
        "gluonx.waitall(), where a piece of work ends.",
    )
    flush(graph, "the bound on pending nodes")


def _compute(graph: Graph, node: Node, pendings: list[Any], why: str, final: Commit | None) -> None:
    if node.spans:
        return _compute_replicas(graph, node, pendings, why, final)
    alive = tuple(map(_slot_of, pendings))
    donors = final.owned.donors if final is not None else ()
    key = (alive, donors, final is not None)
    node.visits += 1
    node.used = program_cache.Cache.now
    if debug_nans.value or debug_infs.value:  # takes a third of the time of jax.config, in each step
        return _hunt(graph, node, pendings, alive, why, final)
    program = node.programs.get(key) or _other_program(graph, node, alive, donors, final)
    if program is None:
        tape_slots = tape_slots_of(graph, alive)
        site = _sites.setdefault(source_location.user_line(), _Site())
        pieces = repeats.runs_in_pieces(graph)
        if pieces or _interpret(node, site, bool(tape_slots) or final is not None):
            _run_interpreted(graph, node, pendings, alive, tape_slots, final, pieces)
            how = "run by NumPy, operator by operator" if pieces and host.is_on() else "interpreted"
            LAST.update(node=node, why=why, how=how, line=None, new=None, program=None)
            return
        with interrupts.held(), uncollected():
            program = _build(graph, node, alive, tape_slots, final)
            args, replaced = program.arguments(graph)
            with keeping_64_bits(program.wide), telling_of_devices(graph):
                given = [*args, *_structs(program.recycled)]
                if _begins_on_host(node):
                    program.put_on_host(given)
                if program.by_host is None:
                    program.trace(given)
                del given  # references are counted below, to find who else holds a donated buffer
        if program.by_host is None:
            program.site = site
            site.waiting += 1
        else:
            program.by_host.account.come(node.visits - 1)
        LAST.update(new=_novelty(node))
    else:
        args, replaced = program.arguments(graph)
    whole = None
    if not program.is_compiled:
        if program.by_host is not None and (known := node.programs.setdefault(key, program)) is not program:
            program = known  # another thread has made it meanwhile
            args, replaced = program.arguments(graph)
        whole = _by_host(graph, program, args)
        node.programs.setdefault(key, program)  # a program without NumPy is kept once it is compiled
        node.used = program_cache.Cache.now
    try:
        _run_program(graph, program, args, replaced, pendings, alive, final, whole)
    except Exception:
        if whole is None:
            raise
        whole = program.by_host = None  # XLA's program raises the proper error
        args, replaced = program.arguments(graph)
        _compile(graph, program, args)
        _run_program(graph, program, args, replaced, pendings, alive, final, None)
    how = "compiled" if whole is None else "run by NumPy"
    LAST["node"] = node
    LAST["why"] = why
    LAST["program"] = program
    LAST["how"] = how


def _hunt(
    graph: Graph, node: Node, pendings: list[Any], alive: tuple[int, ...], why: str, final: Commit | None
) -> None:
    """Run operator by operator with XLA, so that an error of ``jax_debug_nans`` names the line of its operator."""
    with host.switched(False):
        _run_interpreted(graph, node, pendings, alive, tape_slots_of(graph, alive), final, False)
    LAST.update(node=node, why=why, how="interpreted", line=None, new=None, program=None)


def _begins_on_host(node: Node) -> bool:
    """Return whether NumPy is to run a new program first."""
    runs = policy.limits["runs"]
    if not runs or not host.is_on() or watchers:
        return False
    return node.visits <= runs or beside.is_possible()


def _by_host(graph: Graph, program: Program, args: list[Any]) -> host.Whole | None:
    """Return the NumPy version if it is to run the program once more; else compile XLA's program and return None."""
    whole = program.by_host
    if whole is None or not host.is_on() or watchers:
        _compile(graph, program, args)
    else:
        try:
            if program.may_run(whole.account, functools.partial(_lowered, graph, program, args)):
                return whole
            _compile(graph, program, args)
        except Exception as error:
            whole.account.stay()
            source_location.warn(
                f"XLA cannot compile the program of {source_location.user_line()}, so NumPy goes on running it. "
                f"{type(error).__name__}: {error}"
            )
            return whole
    program.by_host = None
    return None


def _lowered(graph: Graph, program: Program, args: list[Any]) -> Any:
    """Return the lowered program, as JAX traces it for these arguments."""
    with interrupts.held(), uncollected(), keeping_64_bits(program.wide), telling_of_devices(graph):
        lowered = program.lower([*args, *_structs(program.recycled)])
    for agree in agreements:
        agree(lowered, args)
    return lowered


@notice.told
def _compile(graph: Graph, program: Program, args: list[Any]) -> None:
    """Have XLA compile a program, or wait until it has."""
    if program.is_compiled:  # by another thread
        return
    compilation = program.compilation
    if compilation is None or compilation.lowered is None:
        compilation = program.lowered(functools.partial(_lowered, graph, program, args), insist=True)
        assert compilation is not None, "who insists gets one"
    try:
        with uncollected(), telling_of_devices(graph):
            compilation.finish()
    except Exception:
        program.forgo()
        raise
    if not program.is_compiled:
        program.is_compiled = True
        counters.programs_compiled += 1
        program_cache.add(program.nbytes, programs=1)  # count it before it can be evicted
    program.forgo()


def _compute_replicas(graph: Graph, node: Node, pendings: list[Any], why: str, final: Commit | None) -> None:
    """Compute the live values of a graph over several devices (:mod:`gluonx.deferred.replicas`)."""
    alive = tuple(map(_slot_of, pendings))
    tape_slots = tape_slots_of(graph, alive)
    key = ("replicas", alive, final is not None)
    node.visits += 1
    node.used = program_cache.Cache.now
    program = node.programs.get(key)
    if program is None:
        with interrupts.held(), uncollected():
            finals = range(node.size - len(node.outs), node.size) if final is not None else ()
            donors = final.owned.donors if final is not None else ()
            program = node.programs[key] = replicas.way_of(graph, alive, finals, donors, tape_slots)
    if isinstance(program, replicas.Program):
        _run_replicas(graph, program, pendings, final)
        LAST.update(node=node, why=why, how="compiled", program=program, line=None, new=None)
    elif program:
        assert final is None, "commit_step has the step of one device begin a graph of its own"
        waiting = fall_apart(graph, program, pendings)
        try:
            while waiting:
                flush(waiting.pop(0), why)
        except BaseException as error:
            for own in waiting:
                own.close(error)
            raise
    else:
        _run_interpreted(graph, node, pendings, alive, tape_slots, final, False)
        LAST.update(node=node, why=why, how="interpreted", line=None, new=None, program=None)


def _run_replicas(graph: Graph, program: replicas.Program, pendings: list[Any], final: Commit | None) -> None:
    node, targets = graph.cursor, [] if final is None else final.targets
    first = node.size - len(node.outs)
    slots = [*range(first, first + len(targets)), *[pending.slot for pending in pendings]]
    try:
        results = _take(graph, targets, node.outs if targets else ())
        with interrupts.delayed(), keeping_64_bits(program.wide):
            values = program(graph)
            graph.closed = True
            any(map(setattr, [*results, *pendings], repeat("value"), [values[s] for s in slots]))
    finally:
        _give_back(graph)


def _structs(recycled: list[Any]) -> list[Any]:
    return [jax.ShapeDtypeStruct(aval.shape, aval.dtype, sharding=aval.sharding) for _, aval in recycled]


@contextmanager
def telling_of_devices(graph: Graph) -> Generator[None]:
    """Within, translate JAX's errors about inputs on different devices into words for users."""
    try:
        yield
    except ValueError as error:
        if "incompatible devices" not in str(error):
            raise
        at: dict[Any, str] = {}
        for leaf, source in zip(graph.leaves, graph.sources, strict=True):
            value = resolved(leaf)
            if isinstance(value, jax.Array) and value.committed:
                where_it_is = f"{len(value.devices())} devices" if len(value.devices()) > 1 else f"{value.device}"
                owner = getattr(source, "owner", "")
                what = f"parameter '{owner}'" if owner else f"an array of shape {value.shape}"
                at.setdefault(growth.ids_of(value.sharding), f"{what} on {where_it_is}")
        on_mesh = any(len(ids) > 1 for ids in at)
        raise DeviceError(
            f"what is computed together lies on different devices: {', '.join(at.values())}. "
            f"{_TOGETHER if on_mesh else _APART}"
        ) from None


_APART = (
    "Devices of a list work each on arrays of its own; bring what one takes of another there by x.to_device(device)."
)
_TOGETHER = (
    "An array that was put on one device by name does not join a mesh: leave the device out, or call "
    "parallel.split(x) or parallel.replicate(x) to put it on the mesh in use."
)


def _other_program(
    graph: Graph, node: Node, alive: tuple[int, ...], donors: tuple[int, ...], final: Commit | None
) -> Program | None:
    """Return a cached program that also computes values nobody needs now, instead of compiling another one.

    What a notebook or debugger happens to hold must not cause a compilation.
    """
    wanted = set(alive)
    for (slots, given, ends), program in list(node.programs.items()):
        if (
            given == donors
            and ends == (final is not None)
            and wanted.issubset(slots)
            and not program.tape_slots
            and not tape_slots_of(graph, alive)
        ):
            node.programs[alive, donors, ends] = program
            return program
    return None


def tape_slots_of(graph: Graph, alive: tuple[int, ...]) -> tuple[int, ...]:
    """Return the live slots through which a later backward may still pass."""
    path = graph.path()
    spent: set[int] = set()
    for node in path:
        if node.grad is not None and not node.grad.retain:
            spent |= node.grad.region
    kept: list[int] = []
    for slot in alive:
        node, i = graph.owners[slot]
        if node.live[i] and not (spent and any(n.depth in spent for n, _ in walk_back(graph.owners, (slot,)))):
            kept.append(slot)
    return tuple(kept)


class _Site:
    """A line of user code where programs run: how many programs were compiled for it and have not come again yet."""

    __slots__ = ("waiting", "warned")

    def __init__(self) -> None:
        self.waiting = 0
        self.warned = False


def _interpret(node: Node, site: _Site, trains: bool) -> bool:
    """Return whether a new trace runs operator by operator.

    A trace that trains does so only if too many programs of its line never came again.
    """
    if not node.has_backward and not trains:
        return node.visits == 1
    churns = site.waiting >= policy.limits["many"]
    if churns and not site.warned:
        site.warned = True
        source_location.warn(
            f"the line {source_location.user_line()} has compiled {site.waiting} programs that did not come again; new "
            "ones from there now run operator by operator until they come a second time. gluonx.engine.explain() tells "
            "what differs; "
            "docs/recompile.md how to avoid it.",
        )
    return churns and node.visits == 1


def _build(
    graph: Graph, node: Node, alive: tuple[int, ...], tape_slots: tuple[int, ...], final: Commit | None
) -> Program:
    path = list(graph.path())
    diff = tuple([i for i, s in enumerate(graph.sources) if s is not None and aval_of(graph.leaves[i]).inexact])
    diff = diff if tape_slots else ()
    gathers = _gathers(graph)
    if final is None:
        return Program(path, alive, tape_slots, diff, gathers=gathers)
    held = set(alive)
    gradients = [s for s in final.owned.gradients if s in held]  # in the order of the weights, as the update takes them
    packs = _groups([(s, _aval(graph, s)) for s in gradients])
    joins = _joins(graph, node, final)
    apart = set(chain(*packs))
    together = set(chain(*[join.outs for join in joins]))
    first = node.size - len(node.outs)
    # JAX gives the buffers of donated arguments to outputs of their shape and dtype in order. A weight's buffer has to
    # go to that weight, or XLA copies what another layer still reads.
    finals = [i for i in dict.fromkeys([*final.owned.order, *range(len(node.outs))]) if i not in together]
    outputs = (*[first + i for i in finals], *[s for s in alive if s not in apart])
    recycled = tuple([s for s in gradients if s not in apart and s in graph.recycled])
    return Program(path, outputs, tape_slots, diff, final.owned.donors, packs, recycled, joins, finals, gathers)


def _gathers(graph: Graph) -> dict[int, Any]:
    """Return by leaf the sharding in which a parameter is used, if it is stored in another one."""
    found: dict[int, Any] = {}
    gathered_within = {v for n in graph.path() for v in getattr(n.op, "gathers", ())}
    for i, (leaf, source) in enumerate(zip(graph.leaves, graph.sources, strict=True)):
        if source in gathered_within:
            continue
        aval = aval_of(leaf) if getattr(source, "owner", "") else None
        if aval is not None and aval.spread and (sharding := gathered(aval.sharding)) is not None:
            found[i] = sharding
    return found


def _aval(graph: Graph, slot: int) -> Aval:
    node, i = graph.owners[slot]
    return node.outs[i]


def _groups(found: list[tuple[Any, Any]]) -> list[tuple[Any, ...]]:
    """Group small values of one dtype on the default device; `found` holds pairs of a key and its aval."""
    groups: dict[Any, list[Any]] = {}
    for each, aval in found:
        if packable(aval):
            groups.setdefault(aval.dtype, []).append(each)
    return [tuple(g) for g in groups.values() if len(g) > 2]


def _joins(graph: Graph, node: Node, final: Commit) -> list[Join]:
    """Return the leaves and outputs that go through vectors."""
    joins: list[Join] = []
    if not _others_train(graph, {pair.leaf for pair in final.owned.replaced}):
        pairs = [(pair, aval_of(graph.leaves[pair.leaf])) for pair in final.owned.replaced]
        for group in _groups([(pair, aval) for pair, aval in pairs if aval is node.outs[pair.out]]):
            leaves, outs = zip(*group, strict=True)
            joins.append(Join(leaves, outs, layout_of(tuple([node.outs[o] for o in outs]))))
    taken = set(chain(*[join.leaves for join in joins]))
    others: dict[Any, list[int]] = {}
    for i, leaf in enumerate(graph.leaves):
        if type(leaf) is Packed and i not in taken and i not in final.owned.donors:
            others.setdefault(leaf.vector, []).append(i)
    for vector, leaves in others.items():
        if len(leaves) > 2:
            joins.append(Join(leaves, [], vector.layout, [graph.leaves[i].number for i in leaves]))
    return joins


def _others_train(graph: Graph, own: set[int]) -> bool:
    """Return whether small parameters take part that this step does not replace; their step may want single arrays."""
    return any(
        leaf not in own and getattr(source, "owner", "") and packable(aval_of(graph.leaves[leaf]))
        for leaf, source in enumerate(graph.sources)
    )


def unpacked(graph: Graph, pending: Pending) -> jax.Array:
    """Return a value of a closed graph, cut out of the packed vector that holds it."""
    packs = graph.packs
    found = None if packs is None else packs.where.get(pending.slot)
    if packs is None or found is None or packs.vectors[found[0]].value is None:
        raise GraphError(LOST) from graph.error
    pending.value = packs.vectors[found[0]].array(found[1])
    return pending.value


def _segment(graph: Graph, program: Program) -> Segment:
    inputs: list[Any] = []
    for i, (leaf, source) in enumerate(zip(graph.leaves, graph.sources, strict=True)):
        inputs.append(attached(as_array(resolved(leaf)), source) if i in program.held else None)
    inputs.extend([new_handle(as_array(a)) for a in scalars_of(graph)])
    saved = [new_handle(None) for _ in program.residuals]
    return Segment(
        [graph.sources[i] for i in program.diff_leaves],
        program.tape_slots,
        [program.plan.aval(s) for s in program.tape_slots],
        program.pullbacks([aval_of(graph.leaves[i]) for i in program.diff_leaves]),
        saved,
        inputs,
        program.reach,
    )


def _sinks(program: Program, pendings: list[Any], alive: tuple[int, ...]) -> list[Any]:
    """Return the receiver of each output: its pending value, or a sink if nobody holds it."""
    chosen = program.chosen.get(alive)
    if chosen is None:
        at = {slot: i for i, slot in enumerate(alive)}
        chosen = program.chosen[alive] = [at.get(slot) for slot in program.alive]
    return [_Sink() if i is None else pendings[i] for i in chosen]


def _run_program(
    graph: Graph,
    program: Program,
    args: list[Any],
    replaced: list[Vector],
    pendings: list[Any],
    alive: tuple[int, ...],
    final: Commit | None,
    whole: host.Whole | None,
) -> None:
    """Run a program, by XLA or by NumPy (`whole`), and write its results to their pending values and targets."""
    sinks = pendings if program.alive == alive else _sinks(program, pendings, alive)
    if program.gradient_layouts:
        vectors = [Vector(layout) for layout in program.gradient_layouts]
        graph.packs = Packs(program.packed, vectors)
        sinks = sinks + vectors
    saved: list[Any] = []
    if program.tape_slots:
        graph.segment = _segment(graph, program)
        if whole is not None and whole.is_linked:
            graph.segment.replay_only()
        else:
            saved = graph.segment.saved
    if final is None:
        _call(graph, program, args, sinks + saved, [], whole)
        return
    handles, values = ([], []) if all(map(_is_placed, replaced)) else _new_packed(program, replaced, final)
    count = len(program.finals)
    holders = [*program.finals_of(final.targets), *replaced]
    try:
        results = _take(graph, holders, program.final_avals)
        if whole is None:
            held = held_arguments(args, graph.leaves, program.donated, program.single, program.donated_vectors)
            if held:
                _copy(held, graph, program, args)
            if program.recycled:
                args += _recycled(graph, program)
        _call(graph, program, args, [*results[:count], *sinks, *results[count:], *saved, *handles], values, whole)
        if program.out_avals is not None:
            _set_avals(program.out_avals, holders[:count])
    finally:
        _give_back(graph)


def _call(
    graph: Graph,
    program: Program,
    args: list[Any],
    sinks: list[Any],
    values: list[Any],
    whole: host.Whole | None,
) -> None:
    """Call a program and write its outputs to `sinks`, and `values` to the last of these."""
    counters.dispatches += 1
    program.runs += 1
    if whole is not None:
        outs = whole(args)
        graph.closed = True
        any(map(setattr, sinks, repeat("value"), chain(outs, values)))
        return
    for watch in watchers:
        watch(program, args)
    graph.closed = True
    # Call and assignment are one chain of C iterators: no signal handler can run between the program, which consumes
    # donated buffers, and the assignment of the new ones. `any` visits all, because setattr returns None.
    called = starmap(program.call, (args,))
    if program.calls_python:  # nothing is given away, and an error of what it calls is raised here
        called = map(jax.block_until_ready, called)
    results = chain.from_iterable(called)
    assigned = map(setattr, sinks, repeat("value"), chain(results, values))
    pauses = collects_in_calls()
    if pauses:
        pause_collector()
    try:
        if program.is_fresh:
            program.is_fresh = False
            with interrupts.delayed(), keeping_64_bits(program.wide):
                any(assigned)
                program.out_avals = _changed_avals(program, sinks)
        elif program.wide:
            with keeping_64_bits():
                any(assigned)
        else:
            any(assigned)
    finally:
        if pauses:
            resume_collector()
    if program.runs == 2 or program.on_fakes:
        _has_run(program, sinks)
    if program.folded:
        _reshard(program, sinks)
    elif program.out_avals is not None:
        _set_avals(program.out_avals, sinks)


def _has_run(program: Program, sinks: list[Any]) -> None:
    """Note that a program has come again; on fake devices of one CPU, wait before too many runs are under way."""
    if program.runs == 2 and program.site is not None:
        program.site.waiting -= 1
    if program.on_fakes and program.runs % policy.limits["under_way"] == 0:
        jax.block_until_ready([value for sink in sinks if isinstance(value := sink.value, jax.Array)])


def _new_packed(program: Program, replaced: list[Vector], final: Commit) -> tuple[list[Handle], list[Packed]]:
    """Return the handles that move into a vector with this step, and the packed values for them."""
    handles: list[Handle] = []
    values: list[Packed] = []
    for join, vector in zip(program.replacing, replaced, strict=True):
        if not vector.placed:
            handles += join.targets(final.targets)
            values += vector.packed()
    return handles, values


def _copy(held: list[int], graph: Graph, program: Program, args: list[Any]) -> None:
    """Copy those donated arguments that somebody else holds as well."""
    leaves, singles = graph.leaves, len(program.single)
    for i in held:
        with keeping_64_bits(program.wide):
            args[i] = jnp.copy(args[i])
        if i < singles:
            leaves[program.single[i]] = args[i]
        counters.copies += 1


def _recycled(graph: Graph, program: Program) -> list[Any]:
    """Return buffers for the large gradients: those of the gradients that they replace, if nobody else holds them."""
    found: list[Any] = []
    for slot, aval in program.recycled:
        old = graph.recycled.pop(slot, None)
        if type(old) is Pending and is_alone(old):
            old = old.value
        if not isinstance(old, jax.Array) or not is_alone(old) or aval_of(old) is not aval:
            old = on_device(np.zeros(aval.shape, aval.dtype), aval.sharding)  # jnp.zeros would compile a program
        found.append(old)
    return found


def _changed_avals(program: Program, sinks: list[Any]) -> list[Any] | None:
    """Return the true avals of outputs that XLA placed otherwise than recorded; None if there are none.

    There are some only on several devices.
    """
    true = [aval_of(s.value) for s in sinks[: len(program.outputs)]]
    recorded = [program.plan.aval(s) for s in program.outputs]
    return None if all(a is b for a, b in zip(true, recorded, strict=True)) else true


def _set_avals(avals: list[Any], sinks: list[Any]) -> None:
    """Set the avals of handles whose sharding XLA has chosen."""
    for sink, aval in zip(sinks, avals, strict=False):
        sink.aval = aval


def _reshard(program: Program, sinks: list[Any]) -> None:
    """Move results to the folded devices that they were recorded on, if JAX put them elsewhere. See `gluonx.device`."""
    for sink, slot in zip(sinks, program.outputs, strict=False):
        sharding = program.plan.aval(slot).sharding or default_sharding()
        if sink.value.sharding != sharding:
            sink.value = on_device(sink.value, sharding)


def _run_interpreted(
    graph: Graph,
    node: Node,
    pendings: list[Any],
    alive: tuple[int, ...],
    tape_slots: tuple[int, ...],
    final: Commit | None,
    pieces: bool,
) -> None:
    targets: list[Any] = [] if final is None else final.targets
    slots = (*range(node.size - len(targets), node.size), *alive)
    path = list(graph.path())
    chained = repeats.behind(graph, tape_slots) if pieces else []
    plan = Plan(path, (*slots, *repeats.values_of(chained)))
    try:
        results = _take(graph, targets, node.outs if targets else ())
        # Sums of gradients need JAX's x64 switch set here; operators set it themselves.
        quiet = one_blas_thread() if pieces and host.is_on() else nullcontext()
        with interrupts.held(), keeping_64_bits(node.wide), telling_of_devices(graph), quiet:
            values = plan.run(list(map(resolved, graph.leaves)), graph.floats, graph.ints, compiled=False)
        values = host.placed(values)
        counters.dispatches += len(plan.needed)
        if chained:
            graph.segment = repeats.Chain(graph, chained, tape_slots, values)
        elif tape_slots:
            program = node.programs.get(("tape", alive, None)) or _build(graph, node, (), tape_slots, None)
            node.programs.setdefault(("tape", alive, None), program)
            graph.segment = _segment(graph, program)
            graph.segment.replay_only()
        any(map(setattr, [*results, *pendings], repeat("value"), [values[s] for s in slots]))
    finally:
        _give_back(graph)


def _novelty(node: Node) -> Node | None:
    """Return the first node of this path that was new: the point where the trace left the known paths."""
    first = None
    current = node
    while current.parent is not None:
        if current.visits <= 1 and len(current.children) <= 1 and not _visited_below(current, node):
            first = current
        else:
            break
        current = current.parent
    return first


def _visited_below(node: Node, end: Node) -> bool:
    """Return whether a program other than the one at `end` goes through `node`."""
    return node is not end and bool(node.programs)
