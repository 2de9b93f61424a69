"""Materializing: how a pending graph becomes values.

Two ways. *Interpreted* runs operator by operator; it serves a trace that is new and holds no backward, and the first
runs of a long trace that repeats a few operators (:mod:`gluonx.deferred.repeats`). *A program* is the whole trace; it
serves a trace that comes the second time, or that holds a backward, for a training step is going to come again. On a
CPU NumPy runs a program until it pays to compile it (:mod:`gluonx.deferred.policy`). Where it cannot, a place in user
code that keeps compiling traces which never come again is told so once, and from then on new traces from there are
interpreted until they come a second time.

What is known when something goes wrong: a program is compiled before anything is donated, results are put into their
handles by C code that no signal can interrupt, and a graph that failed puts back every handle that it had rebound.

Donation: only what a :class:`Commit` names (buffers of Parameters and of the Trainer), and a buffer that somebody else
holds as well is copied first. So what users hold never changes which program runs.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Generator
from contextlib import contextmanager, nullcontext
from itertools import chain, repeat, starmap
from operator import attrgetter
from types import FrameType
from typing import TYPE_CHECKING, Any, TypeAlias

import jax
import jax.numpy as jnp
import numpy as np
from jax import debug_infs, debug_nans
from jax.core import eval_context

from gluonx.common import forked
from gluonx.common.process import collects_in_calls, one_blas_thread, pause_collector, resume_collector, uncollected
from gluonx.common.thresholds import threshold
from gluonx.deferred import beside, growth, host, notice, policy, program_cache, repeats, source_location
from gluonx.deferred.aliasing import held_arguments, is_alone
from gluonx.deferred.contracts import Ownership, Packs
from gluonx.deferred.core import (
    Aval,
    Handle,
    Node,
    Packed,
    Pending,
    Placeholder,
    aval_of,
    counters,
    new_handle,
    new_places,
    tracing,
)
from gluonx.deferred.program import Plan, Program, default_place, packable, scalars_of, walk_back
from gluonx.deferred.replicas import program as replicas
from gluonx.deferred.replicas.parting import fall_apart
from gluonx.deferred.segments import Segment, attached
from gluonx.deferred.vectors import Join, Vector, layout_of, resolved
from gluonx.dtype import as_array, keeping_64_bits, on_device
from gluonx.errors import DeviceError, GraphError
from gluonx.sharding import gathered

if TYPE_CHECKING:
    from gluonx.deferred.graph import Graph

__all__ = [
    "LAST",
    "LOST",
    "Commit",
    "Taken",
    "flush",
    "flush_full",
    "flush_inside",
    "limits_of_churn",
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
_UNDER_WAY = threshold("fake_devices.under_way")
limits_of_churn = {"programs": threshold("churn.programs")}
_sites: dict[source_location.Line, _Site] = program_cache.memo()  # programs that were forgotten are not waited for
_slot_of = attrgetter("slot")
_value_of = attrgetter("value")
_is_placed = attrgetter("placed")
watchers: list[Any] = []  # of gluonx.profiler: each is called with a program and its arguments before it runs
agreements: list[Any] = []  # of gluonx.parallel: each is called with what is about to be compiled, and its arguments


class Commit:
    """The writes of a flush besides the places that users hold: the last node's outputs go into `targets`."""

    __slots__ = ("broken", "owned", "targets")

    def __init__(self, targets: list[Handle], owned: Ownership) -> None:
        self.broken: str | None = None  # the message of a constraint that did not hold
        self.targets = targets
        self.owned = owned


# What a step has taken out of its holders (handles and vectors) since their buffers may be reused: the holders, the
# places of the step's graph that they have until they get its results, and what they held. Who reads a holder in
# another thread waits for the step, who copied its value before is seen by its reference count, and a write to it in
# between is kept.
Taken: TypeAlias = "tuple[list[Any], list[Pending], list[Any]]"


def _take(graph: Graph, holders: list[Any], avals: tuple[Aval, ...]) -> list[Pending]:
    """Take what a step replaces out of its holders, all in one operation; return the places for its results."""
    places = new_places(graph, -1, avals)
    graph.taken = (holders, places, list(map(_value_of, holders)))
    any(map(setattr, holders, repeat("value"), places))
    return places


def _give_back(graph: Graph) -> None:
    """Give holders the results that are in their places, or, where there are none, what they had."""
    if graph.taken is not None:
        for holder, place, before in zip(*graph.taken):
            if holder.value is place:  # no other thread runs between this line and the next, where nothing is called
                holder.value = before if place.value is None else place.value
        graph.taken = None


def _copy_before(taken: Taken, place: Pending) -> jax.Array | None:
    """Return a copy of the array that made room for `place`; None if none did."""
    for _, known, before in zip(*taken, strict=True):
        if known is place:
            array = before.make(new_handle(before)) if isinstance(before, Placeholder) else resolved(before)
            # By the host: a program that copies may be what was interrupted while it was compiled.
            return on_device(np.array(array), array.sharding) if array.is_fully_addressable else jnp.copy(array)
    return None


class _Sink:
    """Takes an output that nobody holds any more."""

    __slots__ = ("aval", "value")

    def __init__(self) -> None:
        self.value: Any = None


def flush(graph: Graph, why: str) -> None:
    """Compute what is alive in `graph` and close it; nothing where the caller interrupts work on it."""
    with graph.lock:
        if graph.inside:
            return
        graph.inside = True
        try:
            flush_inside(graph, why)
        finally:
            graph.inside = False


def flush_inside(graph: Graph, why: str, final: Commit | None = None) -> None:
    """Do :func:`flush` for who is inside the graph already."""
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
    places = graph.places()
    if not places and final is None:
        graph.close()
        return
    if graph.borders and tape_slots_of(graph, tuple([p.slot for p in places])):
        places = _places_behind(graph)
    try:
        if graph.nested or tracing.depth:
            with eval_context():  # JAX may be what was interrupted, tracing a program
                _compute(graph, node, places, why, final)
        else:
            _compute(graph, node, places, why, final)
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


def _places_behind(graph: Graph) -> list[Pending]:
    """Return the places to compute of a graph in which gradients go on behind Python code: what they need as well."""
    for border in graph.borders:
        if (segment := border()) is not None:
            segment.hold()
    return graph.places()


def value_apart(graph: Graph, place: Pending) -> jax.Array:
    """Compute one value of a graph by itself and keep nothing; see :meth:`gluonx.deferred.graph.Graph.value_apart`."""
    leaves, floats, ints, taken = graph.leaves, graph.floats, graph.ints, graph.taken
    if place.value is not None or graph.has_packed(place):
        return place.value if place.value is not None else unpacked(graph, place)
    try:
        with eval_context(), keeping_64_bits(graph.cursor.wide):
            if taken is not None and (before := _copy_before(taken, place)) is not None:
                return before  # a copy, since the program is about to be given the buffer itself
            plan = Plan(list(graph.path()), (place.slot,))
            used = plan.leaves()
            inputs = [resolved(leaf) if i in used else None for i, leaf in enumerate(leaves)]
            try:
                values = plan.run(inputs, floats, ints, compiled=False)
            except RecursionError:  # a program of one of its operators is what was interrupted while it was compiled
                values = jax.jit(lambda given: {place.slot: plan.run(given, floats, ints)[place.slot]})(inputs)
            return host.placed(values)[place.slot]
    except RuntimeError as error:
        if place.value is not None:
            return place.value
        if "deleted" not in str(error) and "donated" not in str(error):
            raise
        raise GraphError(_UNDER_WAY_BELOW) from None


def _require(required: list[tuple[Pending, str]], final: Commit | None) -> None:
    """Raise the first message whose boolean is False; a step is finished before it says so."""
    for place, message in required:
        if place.value is not None and not bool(np.asarray(place.value)):
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


def _compute(graph: Graph, node: Node, places: list[Any], why: str, final: Commit | None) -> None:
    if node.spans:
        return _compute_replicas(graph, node, places, why, final)
    alive = tuple(map(_slot_of, places))
    donors = final.owned.donors if final is not None else ()
    key = (alive, donors, final is not None)
    node.visits += 1
    node.used = program_cache.Cache.now
    if debug_nans.value or debug_infs.value:  # a third of the time that jax.config takes, at each step
        return _hunt(graph, node, places, alive, why, final)
    program = node.programs.get(key) or _other_program(graph, node, alive, donors, final)
    if program is None:
        tape_slots = tape_slots_of(graph, alive)
        site = _sites.setdefault(source_location.user_line(), _Site())
        pieces = repeats.runs_in_pieces(graph)
        if pieces or _interpret(node, site, bool(tape_slots) or final is not None):
            _run_interpreted(graph, node, places, alive, tape_slots, final, pieces)
            how = "run by NumPy, operator by operator" if pieces and host.is_on() else "interpreted"
            LAST.update(node=node, why=why, how=how, line=None, new=None, program=None)
            return
        with uncollected():
            program = _build(graph, node, alive, tape_slots, final)
            args, replaced = program.arguments(graph)
            with keeping_64_bits(program.wide), telling_of_devices(graph):
                given = [*args, *_structs(program.recycled)]
                if _begins_on_host(node):
                    program.put_on_host(given)
                if program.by_host is None:
                    program.trace(given)
                del given  # who else holds what is to be donated is counted
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
        whole = _by_host(graph, program, args)
        node.programs.setdefault(key, program)  # another thread may have made one meanwhile
        node.used = program_cache.Cache.now
    try:
        _run_program(graph, program, args, replaced, places, alive, final, whole)
    except Exception:
        if whole is None:
            raise
        whole = program.by_host = None  # XLA's program says what is wrong
        args, replaced = program.arguments(graph)
        _compile(graph, program, args)
        _run_program(graph, program, args, replaced, places, alive, final, None)
    how = "compiled" if whole is None else "run by NumPy"
    LAST["node"] = node
    LAST["why"] = why
    LAST["program"] = program
    LAST["how"] = how


def _hunt(graph: Graph, node: Node, places: list[Any], alive: tuple[int, ...], why: str, final: Commit | None) -> None:
    """Run operator by operator, by XLA, so that what JAX finds (``jax_debug_nans``) is told with the line it is of."""
    with host.switched(False):
        _run_interpreted(graph, node, places, alive, tape_slots_of(graph, alive), final, False)
    LAST.update(node=node, why=why, how="interpreted", line=None, new=None, program=None)


def _begins_on_host(node: Node) -> bool:
    """Return whether NumPy is to run a new program first."""
    runs = policy.limits["runs"]
    if not runs or not host.is_on() or watchers:
        return False
    return node.visits <= runs or beside.is_possible()


def _by_host(graph: Graph, program: Program, args: list[Any]) -> host.Whole | None:
    """Return what has NumPy run a program once more; None where XLA's runs, which is compiled then."""
    whole = program.by_host
    if whole is None or not host.is_on() or watchers:
        _compile(graph, program, args)
    else:
        try:
            if _may_run(graph, program, whole.account, args):
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


def _may_run(graph: Graph, program: Program, account: policy.Account, args: list[Any]) -> bool:
    """Return whether NumPy runs a program once more; have it compiled beside that when it is time."""
    can = account.runs >= account.waits and beside.is_possible() and not program.is_compiled
    if can and program.compilation is None and account.begins <= account.runs < account.takes_over:
        _lower(graph, program, args).begin()
    compilation = program.compilation
    if compilation is not None and (compilation.lowered is None or beside.Switch.when == "ready"):
        return compilation.is_under_way()
    return account.may_run(can)


def _lower(graph: Graph, program: Program, args: list[Any]) -> beside.Compilation:
    """Have JAX trace and lower a program; another thread or a handler that runs it meanwhile has NumPy do it."""
    made = program.compilation = beside.Compilation(program.wide)
    try:
        with uncollected(), keeping_64_bits(program.wide), telling_of_devices(graph):
            lowered = program.lower([*args, *_structs(program.recycled)])
        for agree in agreements:
            agree(lowered, args)
    except BaseException:
        program.compilation = None
        raise
    made.lowered, program.compilation = lowered, made
    return made


@notice.told
def _compile(graph: Graph, program: Program, args: list[Any]) -> None:
    """Have XLA compile a program, or wait until it has."""
    if program.is_compiled:  # by another thread
        return
    compilation = program.compilation
    if compilation is None or compilation.lowered is None:
        compilation = _lower(graph, program, args)
    try:
        with uncollected(), telling_of_devices(graph):
            compilation.finish()
    except Exception:
        program.compilation = None
        raise
    if not program.is_compiled:
        program.is_compiled = True
        counters.programs_compiled += 1
        program_cache.add(program.nbytes, programs=1)  # before it is there to be forgotten
    program.compilation = None


def _compute_replicas(graph: Graph, node: Node, places: list[Any], why: str, final: Commit | None) -> None:
    """Compute what is alive in a graph over several devices (:mod:`gluonx.deferred.replicas`)."""
    alive = tuple([p.slot for p in places])
    tape_slots = tape_slots_of(graph, alive)
    key = ("replicas", alive, final is not None)
    node.visits += 1
    node.used = program_cache.Cache.now
    program = node.programs.get(key)
    if program is None:
        with uncollected():
            finals = range(node.size - len(node.outs), node.size) if final is not None else ()
            donors = final.owned.donors if final is not None else ()
            program = node.programs[key] = replicas.way_of(graph, alive, finals, donors, tape_slots)
    if isinstance(program, replicas.Program):
        _run_replicas(graph, program, places, final)
        LAST.update(node=node, why=why, how="compiled", program=program, line=None, new=None)
    elif program:
        assert final is None, "commit_step has the step of one device begin a graph of its own"
        waiting = fall_apart(graph, program, places)
        try:
            while waiting:
                flush(waiting.pop(0), why)
        except BaseException as error:
            for own in waiting:
                own.close(error)
            raise
    else:
        _run_interpreted(graph, node, places, alive, tape_slots, final, False)
        LAST.update(node=node, why=why, how="interpreted", line=None, new=None, program=None)


def _run_replicas(graph: Graph, program: replicas.Program, places: list[Any], final: Commit | None) -> None:
    node, targets = graph.cursor, [] if final is None else final.targets
    first = node.size - len(node.outs)
    slots = [*range(first, first + len(targets)), *[place.slot for place in places]]
    try:
        results = _take(graph, targets, node.outs if targets else ())
        with _uninterrupted(), keeping_64_bits(program.wide):
            values = program(graph)
            graph.closed = True
            any(map(setattr, [*results, *places], repeat("value"), [values[s] for s in slots]))
    finally:
        _give_back(graph)


def _structs(recycled: list[Any]) -> list[Any]:
    return [jax.ShapeDtypeStruct(aval.shape, aval.dtype, sharding=aval.sharding) for _, aval in recycled]


@contextmanager
def telling_of_devices(graph: Graph) -> Generator[None]:
    """Within, what JAX says of inputs that lie on different devices is said for people."""
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
    """Get a program that computes a little more than is alive: what a notebook or debugger holds must not recompile."""
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
    """Return the alive slots through which a later backward may still go."""
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
    """A line of user code where programs are run: how many of them were compiled there and have not come again yet."""

    __slots__ = ("waiting", "warned")

    def __init__(self) -> None:
        self.waiting = 0
        self.warned = False


def _interpret(node: Node, site: _Site, trains: bool) -> bool:
    """Return whether a new trace runs operator by operator; one that trains, only where too many never came again."""
    if not node.has_backward and not trains:
        return node.visits == 1
    churns = site.waiting >= limits_of_churn["programs"]
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
    gradients = [s for s in final.owned.gradients if s in held]  # in the weights' order, in which the update takes them
    packs = _groups([(s, _aval(graph, s)) for s in gradients])
    joins = _joins(graph, node, final)
    apart = set(chain(*packs))
    together = set(chain(*[join.outs for join in joins]))
    first = node.size - len(node.outs)
    # JAX gives the buffers of donated arguments to outputs of their kind, first come, first served: a weight's has to
    # go to that weight, or XLA saves what another layer still reads.
    finals = [i for i in dict.fromkeys([*final.owned.order, *range(len(node.outs))]) if i not in together]
    outputs = (*[first + i for i in finals], *[s for s in alive if s not in apart])
    recycled = tuple([s for s in gradients if s not in apart and s in graph.recycled])
    return Program(path, outputs, tape_slots, diff, final.owned.donors, packs, recycled, joins, finals, gathers)


def _gathers(graph: Graph) -> dict[int, Any]:
    """By leaf: how a parameter lies where it is used, if not as it is kept."""
    found: dict[int, Any] = {}
    gathered_within = {v for n in graph.path() for v in getattr(n.op, "gathers", ())}
    for i, (leaf, source) in enumerate(zip(graph.leaves, graph.sources, strict=True)):
        if source in gathered_within:
            continue
        aval = aval_of(leaf) if getattr(source, "owner", "") else None
        if aval is not None and aval.spread and (place := gathered(aval.sharding)) is not None:
            found[i] = place
    return found


def _aval(graph: Graph, slot: int) -> Aval:
    node, i = graph.owners[slot]
    return node.outs[i]


def _groups(found: list[tuple[Any, Any]]) -> list[tuple[Any, ...]]:
    """Of pairs of something and its aval: what is small, of one dtype and on the default device."""
    groups: dict[Any, list[Any]] = {}
    for each, aval in found:
        if packable(aval):
            groups.setdefault(aval.dtype, []).append(each)
    return [tuple(g) for g in groups.values() if len(g) > 2]


def _joins(graph: Graph, node: Node, final: Commit) -> list[Join]:
    """Return the leaves and outputs that are vectors."""
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
    """Return whether small parameters take part that this step does not replace: theirs may want ours one by one."""
    return any(
        leaf not in own and getattr(source, "owner", "") and packable(aval_of(graph.leaves[leaf]))
        for leaf, source in enumerate(graph.sources)
    )


def unpacked(graph: Graph, place: Pending) -> jax.Array:
    """Return the value of a place in a closed graph, cut out of the packed vector that holds it."""
    packs = graph.packs
    found = None if packs is None else packs.where.get(place.slot)
    if packs is None or found is None or packs.vectors[found[0]].value is None:
        raise GraphError(LOST) from graph.error
    place.value = packs.vectors[found[0]].array(found[1])
    return place.value


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


def _sinks(program: Program, places: list[Any], alive: tuple[int, ...]) -> list[Any]:
    """Return where each output goes; that which nobody holds, nowhere."""
    chosen = program.chosen.get(alive)
    if chosen is None:
        at = {slot: i for i, slot in enumerate(alive)}
        chosen = program.chosen[alive] = [at.get(slot) for slot in program.alive]
    return [_Sink() if i is None else places[i] for i in chosen]


def _run_program(
    graph: Graph,
    program: Program,
    args: list[Any],
    replaced: list[Vector],
    places: list[Any],
    alive: tuple[int, ...],
    final: Commit | None,
    whole: host.Whole | None,
) -> None:
    """Run a program, by XLA or by NumPy (`whole`), and put its results where they belong."""
    sinks = places if program.alive == alive else _sinks(program, places, alive)
    if program.gradient_layouts:
        vectors = list(map(Vector, program.gradient_layouts))
        graph.packs = Packs(program.packed, vectors)
        sinks = sinks + vectors
    saved: list[Any] = []
    if program.tape_slots:
        graph.segment = _segment(graph, program)
        saved = graph.segment.saved
    if final is None:
        _call(graph, program, args, sinks + saved, [], whole)
        return
    handles, values = ([], []) if all(map(_is_placed, replaced)) else _new_places(program, replaced, final)
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
    """Call a program and put its outputs into `sinks`, and `values` into the last of these."""
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
    # donated buffers, and the places getting the new ones. `any` goes through all, for setattr returns None.
    results = chain.from_iterable(starmap(program.call, (args,)))
    assigned = map(setattr, sinks, repeat("value"), chain(results, values))
    pauses = collects_in_calls()
    if pauses:
        pause_collector()
    try:
        if program.is_fresh:
            program.is_fresh = False
            with _uninterrupted(), keeping_64_bits(program.wide):
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
        _place_again(program, sinks)
    elif program.out_avals is not None:
        _set_avals(program.out_avals, sinks)


def _has_run(program: Program, sinks: list[Any]) -> None:
    """Do what is due after the second run, and after each on several devices of one CPU."""
    if program.runs == 2 and program.site is not None:
        program.site.waiting -= 1
    if program.on_fakes and program.runs % _UNDER_WAY == 0:
        jax.block_until_ready([value for sink in sinks if isinstance(value := sink.value, jax.Array)])


def _new_places(program: Program, replaced: list[Vector], final: Commit) -> tuple[list[Handle], list[Packed]]:
    """Return the handles that get a place in a vector which they are not in yet, and that place."""
    handles: list[Handle] = []
    values: list[Packed] = []
    for join, vector in zip(program.replacing, replaced, strict=True):
        if not vector.placed:
            handles += join.targets(final.targets)
            values += vector.places()
    return handles, values


def _copy(held: list[int], graph: Graph, program: Program, args: list[Any]) -> None:
    """Copy the arguments that are to be donated, but are held by somebody else as well."""
    leaves, singles = graph.leaves, len(program.single)
    for i in held:
        with keeping_64_bits(program.wide):
            args[i] = jnp.copy(args[i])
        if i < singles:
            leaves[program.single[i]] = args[i]
        counters.copies += 1


def _recycled(graph: Graph, program: Program) -> list[Any]:
    """Buffers for the large gradients: those of the ones that they replace, where nobody else holds them."""
    found: list[Any] = []
    for slot, aval in program.recycled:
        old = graph.recycled.pop(slot, None)
        if type(old) is Pending and is_alone(old):
            old = old.value
        if not isinstance(old, jax.Array) or not is_alone(old) or aval_of(old) is not aval:
            old = on_device(np.zeros(aval.shape, aval.dtype), aval.sharding)  # compiles nothing, as jnp.zeros would
        found.append(old)
    return found


def _changed_avals(program: Program, sinks: list[Any]) -> list[Any] | None:
    """Return the outputs' true avals where XLA placed one elsewhere than recorded (several devices); None usually."""
    true = [aval_of(s.value) for s in sinks[: len(program.outputs)]]
    recorded = [program.plan.aval(s) for s in program.outputs]
    return None if all(a is b for a, b in zip(true, recorded, strict=True)) else true


def _set_avals(avals: list[Any], sinks: list[Any]) -> None:
    """Tell handles where XLA has placed their values, where it was not known before."""
    for sink, aval in zip(sinks, avals, strict=False):
        sink.aval = aval


def _place_again(program: Program, sinks: list[Any]) -> None:
    """Put results on the folded devices that they were recorded on, where JAX did not (see `gluonx.device`)."""
    for sink, slot in zip(sinks, program.outputs, strict=False):
        place = program.plan.aval(slot).sharding or default_place()
        if sink.value.sharding != place:
            sink.value = on_device(sink.value, place)


@contextmanager
def _uninterrupted() -> Generator[None]:
    """Keep signals' handlers waiting while Python code stands between a donation and its results: a first run."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    waiting: dict[int, Any] = {}
    before: dict[int, Any] = {}

    def wait(number: int, frame: FrameType | None) -> None:
        waiting[number] = frame

    try:
        for number in signal.valid_signals():
            handler = signal.getsignal(number)
            if callable(handler):
                before[number] = handler
                signal.signal(number, wait)
    except ValueError:  # no main interpreter
        pass
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        for number, frame in waiting.items():
            before[number](number, frame)


def _run_interpreted(
    graph: Graph,
    node: Node,
    places: list[Any],
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
        # Sums of gradients want to know of 64 bits; operators see to themselves.
        quiet = one_blas_thread() if pieces and host.is_on() else nullcontext()
        with keeping_64_bits(node.wide), telling_of_devices(graph), quiet:
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
        any(map(setattr, [*results, *places], repeat("value"), [values[s] for s in slots]))
    finally:
        _give_back(graph)


def _novelty(node: Node) -> Node | None:
    """Return the first node of this path that was new: the place where the trace left what was known."""
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
