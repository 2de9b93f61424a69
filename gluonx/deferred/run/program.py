"""From a path of the trie to one XLA program.

A :class:`Plan` says which nodes of a path must run for the values that are wanted, and runs them, on tracers or
arrays. A backward node needs no re-run of its forward: the nodes of its region run through ``jax.vjp`` one by one
while the plan is traced, their pull-backs stay in the trace, and the backward node walks them. No residual leaves the
program.

A :class:`Program` is a plan under ``jax.jit`` with a fixed order of inputs (leaves, then one vector of all float
scalars and one of all integers) and outputs. Where values through which gradients still flow outlive the program, the
whole plan runs under one ``jax.vjp``, and the residuals of that are outputs as well: the program is then a *segment*
of the tape.

Small gradients leave a program as one packed vector, since each array that crosses the border costs more than it holds;
a gradient that somebody reads is cut out of it then. Small weights that a step replaces go in and out in the same way
(:mod:`gluonx.deferred.values.vectors`). A large gradient is written into the buffer of the gradient that it replaces:
fresh memory costs a page fault for every 4 KiB.
"""

from __future__ import annotations

import functools
import itertools
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import jax
import jax.numpy as jnp
import numpy as np

from gluonx.common import policy
from gluonx.common.frames import telling
from gluonx.deferred.operators import linking
from gluonx.deferred.operators.derived import DerivedOp, Pin, Pullback, pullback_of, run_alone, strong, zero_cotangent
from gluonx.deferred.run import beside, host
from gluonx.deferred.values import program_cache, source_location
from gluonx.deferred.values.contracts import InputRef, Operator, Reach
from gluonx.deferred.values.core import Aval, Node, array_types, intern_aval
from gluonx.deferred.values.vectors import Join, Vector, layout_of, picks, resolved
from gluonx.device import is_folded
from gluonx.errors import NotFiniteError
from gluonx.ops.common import equations
from gluonx.ops.cpu import compiler
from gluonx.ops.cpu.convolution import for_cpu, native_operations
from gluonx.ops.cpu.rewriting import rewritten
from gluonx.sharding import multi_device_options

if TYPE_CHECKING:
    from gluonx.deferred.record.graph import Graph

__all__ = [
    "GradInfo",
    "Plan",
    "Program",
    "default_sharding",
    "packable",
    "pinned",
    "scalars_of",
    "walk_back",
]

Numbers: TypeAlias = "Sequence[float] | jax.Array | None"  # the numbers of one kind on a path


class GradInfo:
    """The work of a backward node: from `heads` (slots) with `head_grads` (input references) to `targets` (likewise).

    ``region`` holds the depths of the nodes that the gradient passes. ``retain`` says that a later backward may pass
    them again. ``of_leaves`` selects the items of the targets that are leaves from a list with one item for each leaf.
    """

    __slots__ = ("head_grads", "heads", "of_leaves", "region", "retain", "targets")

    def __init__(
        self,
        heads: tuple[int, ...],
        head_grads: tuple[Any, ...],
        targets: tuple[int, ...],
        region: frozenset[int],
        retain: bool,
    ) -> None:
        self.heads = heads
        self.head_grads = head_grads
        self.targets = targets
        self.of_leaves = picks([-1 - target for target in targets if target < 0])
        self.region = region
        self.retain = retain


class Plan:
    """The nodes of a path that the wanted slots need, in order."""

    def __init__(self, path: list[Node], wanted: Iterable[int], gathers: Mapping[int, Any] | None = None) -> None:
        self.path = path
        self.gathers = gathers or {}  # by leaf: the sharding in which a weight is used, if it is stored in another one
        self.starts = [n.size - len(n.outs) for n in path]
        self.wanted = frozenset(wanted)
        self.needed, self.moving = self._mark(self.wanted)
        self.passed = self._passed()

    def _passed(self) -> frozenset[int]:
        """Return the values that a gradient reaches; a node with several outputs may differentiate these alone."""
        found: set[int] = set()
        for node in self.needed:
            if node.grad is not None:
                inner = [self.path[depth - 1] for depth in node.grad.region]
                found.update(node.grad.heads, *[[n.parts[i] for i in n.diff] for n in inner])
        return frozenset(found)

    def _mark(self, wanted: Iterable[int]) -> tuple[list[Node], frozenset[int]]:
        owner = [n.depth for n in self.path for _ in n.outs]
        marked = {owner[s] for s in wanted}
        moving: set[int] = set()
        needed: list[Node] = []
        for node in reversed(self.path):
            if node.depth not in marked:
                continue
            needed.append(node)
            parts = node.parts
            if node.grad is not None:
                moving |= node.grad.region
                marked |= node.grad.region
                parts = (*node.grad.heads, *node.grad.head_grads)
            marked.update([owner[p] for p in parts if isinstance(p, int) and p >= 0])
        needed.reverse()
        return needed, frozenset(moving)

    def leaves(self) -> set[int]:
        """Return the numbers of the leaves that the needed nodes take."""
        parts = [p for n in self.needed for p in (n.parts if n.grad is None else (*n.grad.heads, *n.grad.head_grads))]
        return {-1 - p for p in parts if isinstance(p, int) and p < 0}

    def _spent(self) -> dict[int, list[int]]:
        """Return by the depth of a node the values that nobody needs after it has run."""
        last: dict[int, int] = {}
        for node in self.needed:
            start = self.starts[node.depth - 1]
            last.update(dict.fromkeys(range(start, start + len(node.outs)), node.depth))
            last.update({p: node.depth for p in node.parts if isinstance(p, int) and p >= 0})
        spent: dict[int, list[int]] = {}
        for slot, depth in last.items():
            if slot not in self.wanted:
                spent.setdefault(depth, []).append(slot)
        return spent

    def run(
        self,
        leaves: Sequence[Any],
        floats: Numbers,
        ints: Numbers,
        *,
        compiled: bool = True,
        cut: bool = False,
        taps: Mapping[int, jax.Array] | None = None,
    ) -> dict[int, Any]:
        """Return values by slot.

        With ``compiled=False`` operators run one by one: on the host where they can, else as programs of their own.
        With ``cut``, for a plan that is differentiated as a whole, gradients flow only where the tape lets them.
        ``taps`` are added to the values of the slots that they name.
        """
        values: dict[int, Any] = {}
        pulls: dict[int, Any] = {}

        def fetch(part: InputRef) -> Any:
            if part is None:
                return None
            if isinstance(part, int):
                return values[part] if part >= 0 else used[-1 - part]
            slot, n = part
            numbers = ints if slot.integral else floats
            assert numbers is not None, "a path with numbers is given them"
            scalar = numbers[n]
            if compiled:
                return jnp.asarray(scalar).astype(slot.dtype)
            with telling(line=lambda: (node.line.file, node.line.number) if node.line is not None else None):
                return slot.dtype.type(scalar)

        # Operator by operator, values are freed as early as without gluonx; a backward needs them all.
        spent = {} if compiled or self.moving else self._spent()
        used = self._gathered(leaves)
        for node in self.needed:
            start = self.starts[node.depth - 1]
            used = (
                used if node.donors is None else leaves
            )  # an update takes and returns weights in the sharding that they are stored in
            with _AtLine(node, "in"):
                if node.grad is not None:
                    outs = self._gradients(node, fetch, pulls, compiled)
                else:
                    inputs = [fetch(p) for p in node.parts]
                    if cut:
                        inputs = [x if i in node.diff else _constant(x) for i, x in enumerate(inputs)]
                    passed = tuple([slot in self.passed for slot in range(start, start + len(node.outs))])
                    outs, pull = _apply(node, inputs, passed, compiled)
                    if pull is not None:
                        pulls[node.depth] = pull
            for i, out in enumerate(outs):
                values[start + i] = _constant(out) if cut and not (node.live and node.live[i]) else out
                if taps and start + i in taps:
                    values[start + i] = values[start + i] + taps[start + i]
            for slot in spent.get(node.depth, ()):
                del values[slot]
        return values

    def _gathered(self, leaves: Sequence[Any]) -> Any:
        """Return the leaves in the shardings in which they are used."""
        if not self.gathers:
            return leaves
        used = list(leaves)
        for i, sharding in self.gathers.items():
            used[i] = jax.lax.with_sharding_constraint(leaves[i], sharding)
        return used

    def _gradients(
        self, node: Node, fetch: Callable[[InputRef], Any], pulls: dict[int, Any], compiled: bool
    ) -> tuple[Any, ...]:
        info: GradInfo = node.grad
        cotangents: dict[int, Any] = {}

        def add(ref: int, value: jax.Array | np.ndarray) -> None:
            cotangents[ref] = cotangents[ref] + value if ref in cotangents else value

        for head, given in zip(info.heads, info.head_grads, strict=True):
            aval = self.aval(head)
            if given is not None:
                add(head, jnp.broadcast_to(fetch(given), aval.shape).astype(aval.dtype))
            elif not compiled and aval.sharding is None:
                add(head, np.ones(aval.shape, aval.dtype))
            else:
                add(head, jnp.ones(aval.shape, aval.dtype, device=_home(aval, compiled)))
        for depth in sorted(info.region, reverse=True):
            inner = self.path[depth - 1]
            start = self.starts[depth - 1]
            given = [cotangents.get(start + i) for i in range(len(inner.outs))]
            if all(g is None for g in given):
                continue
            with _AtLine(inner, "in the gradient of"):
                passed_on = pulls[depth](given)
            for i, value in zip(inner.diff, passed_on, strict=True):
                add(inner.parts[i], value)
        return tuple(
            [
                _laid_out(
                    cotangents[t] if t in cotangents else jnp.zeros(a.shape, a.dtype, device=_home(a, compiled)),
                    a if t < 0 else None,
                )
                for t, a in zip(info.targets, node.outs, strict=True)
            ]
        )

    def aval(self, slot: int) -> Any:
        """Return the aval of a value."""
        for node, start in zip(reversed(self.path), reversed(self.starts), strict=True):
            if start <= slot:
                return node.outs[slot - start]
        raise AssertionError(f"slot {slot} is on no path")


class _AtLine:
    """A context that adds the line which recorded the operator to an error of ``jax_debug_nans``."""

    __slots__ = ("how", "node")

    def __init__(self, node: Node, how: str) -> None:
        self.node, self.how = node, how

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, traceback: object) -> None:
        if not isinstance(error, FloatingPointError) or isinstance(error, NotFiniteError):
            return
        found, node = str(error).partition("\n")[0], self.node
        if not found.startswith(
            "invalid value"
        ):  # how JAX begins the message for functions that it could not look into
            found = "a value that is not finite"
        operator = node.op.name.partition("(")[0]
        block = f" of block {node.where}" if node.where else ""
        raise NotFiniteError(f"{found}, {self.how} the operator {operator}{block} at {node.line}") from None


def _home(aval: Aval, compiled: bool) -> Any:
    """Return the device for an array that stands for a value of `aval`.

    None where XLA decides, in a program and on a mesh.
    """
    return None if compiled or aval.spread else aval.sharding


def _laid_out(gradient: jax.Array, aval: Aval | None) -> Any:
    """Give a gradient the sharding of its leaf's `aval`; XLA then sums it into shards if the leaf is sharded."""
    if aval is None or not aval.spread:
        return gradient
    return jax.lax.with_sharding_constraint(gradient, aval.sharding)


def pinned(node: Node, i: int) -> Any:
    """Return the sharding that output `i` of a node must have; None if XLA decides.

    A gradient has its leaf's sharding, a value that replaces another has the other's, and a `Pin` gives its own.
    """
    aval = node.outs[i]
    if not aval.spread:
        return None
    if node.grad is not None:
        return aval.sharding if node.grad.targets[i] < 0 else None
    return aval.sharding if node.donors is not None or isinstance(node.op, Pin) else None


def _constant(value: jax.Array | None) -> Any:
    return value if value is None else jax.lax.stop_gradient(value)


def _apply(node: Node, inputs: list[Any], passed: tuple[bool, ...], compiled: bool) -> tuple[tuple[Any, ...], Any]:
    """Run one node; if a gradient will pass it, also return its pull-back (list of cotangents or None -> tuple).

    ``passed`` says for each output whether a cotangent will come. The other outputs are not differentiated: a zero
    cotangent would become NaN where it is multiplied with an infinite slope.
    """
    op, diff = node.op, node.diff
    if not any(passed) or not diff:
        if compiled:
            with jax.named_scope(source_location.scope_name(node.where, op)):
                out = strong(op)(*inputs)
        else:
            out = _alone(op, inputs)
        return (out if type(out) is tuple else (out,)), None
    if not compiled:
        out = _alone(op, inputs)

        def pull_now(given: list[Any]) -> Any:
            mask = tuple([g is not None for g in given])
            pull = pullback_of(op, diff, len(inputs), mask)
            return _alone(pull, [*inputs, *[g for g in given if g is not None]])

        return (out if type(out) is tuple else (out,)), pull_now
    run = strong(op)

    def forward(*moved: jax.Array) -> Any:
        full = list(inputs)
        for i, m in zip(diff, moved, strict=True):
            full[i] = m
        with jax.named_scope(
            source_location.scope_name(node.where, op)
        ):  # inside the context, so that the backward has it too
            out = run(*full)
        results = out if type(out) is tuple else (out,)
        return tuple(itertools.compress(results, passed)), results

    _, back, results = jax.vjp(forward, *[inputs[i] for i in diff], has_aux=True)

    def pull(given: list[Any]) -> Any:
        mask = tuple([g is not None for g in given])
        some = [g for g in given if g is not None]
        # Two backwards may reach one node through different outputs; the one that reaches fewer runs the node again.
        return back(tuple(some)) if mask == passed else strong(pullback_of(op, diff, len(inputs), mask))(*inputs, *some)

    return results, pull


def _alone(op: Operator, inputs: list[Any]) -> Any:
    """Run an operator at once, on the host where that is quicker than to compile it."""
    if host.is_on():
        values = host.on_host(op, inputs)
        if values is not None:
            out = host.run(op, values)
            if out is not host.REFUSED:
                return out
    return run_alone(op, inputs)


def walk_back(owners: Sequence[tuple[Node, int]], slots: Iterable[int]) -> Iterator[tuple[Node, int]]:
    """Yield each node that a gradient from `slots` passes, once, with the output through which it came.

    ``owners`` gives for each slot its node and the number of the node's output.
    """
    stack, seen = list(slots), set[int]()
    while stack:
        node, i = owners[stack.pop()]
        if node.depth not in seen:
            seen.add(node.depth)
            yield node, i
            stack.extend([part for j in node.diff if (part := node.parts[j]) >= 0])


def _reach(plan: Plan, slot: int, outputs: Iterable[int]) -> Reach:
    """Return the reach of a gradient from `slot`, by leaf numbers."""
    owners = [(n, i) for n in plan.path for i in range(len(n.outs))]
    nodes = [node for node, _ in walk_back(owners, (slot,))]
    passed = {node.parts[i] for node in nodes for i in node.diff}
    leaves = frozenset([-1 - part for part in passed if part < 0])
    return Reach(leaves, frozenset([n.depth for n in nodes]), frozenset({slot, *passed}.intersection(outputs)))


def default_sharding() -> Any:
    """Return the sharding of arrays on the default device."""
    return jax.sharding.SingleDeviceSharding(jax.local_devices()[0])


class Pullbacks(NamedTuple):
    """The operators that take cotangents of a segment's outputs back to its inputs.

    ``saved`` works on the residuals. The others recompute the forward from the segment's inputs: ``exact`` can itself
    be differentiated, and ``inner`` gives the gradients of the segment's outputs with respect to each other.
    """

    saved: DerivedOp
    exact: DerivedOp
    inner: DerivedOp


class Program(beside.Candidate):
    """A compiled path. ``outputs`` are slots in the order of the results.

    ``tape_slots`` are those that a segment keeps.
    """

    def __init__(
        self,
        path: list[Node],
        outputs: tuple[int, ...],
        tape_slots: tuple[int, ...],
        diff_leaves: tuple[int, ...],
        donors: tuple[int, ...] = (),
        packs: Sequence[tuple[int, ...]] = (),
        recycled: tuple[int, ...] = (),
        joins: Sequence[Join] = (),
        finals: Sequence[int] = (),
        gathers: Mapping[int, Any] | None = None,
    ) -> None:
        self.node = last = path[-1]
        owners = [(n, i) for n in path for i in range(len(n.outs))]
        self.wide = last.wide  # whether it runs with JAX's x64 switch on
        self.joins = joins
        first = last.size - len(last.outs)
        # The slots in each returned vector: small gradients, then the replacements for leaves of `joins`.
        self.replacing = [join for join in joins if join.outs]
        vectors = [*packs, *[tuple([first + out for out in join.outs]) for join in self.replacing]]
        self.plan = Plan(path, (*outputs, *tape_slots, *itertools.chain(*vectors)), gathers)
        self.packs = [(slots, layout_of(tuple(map(self.plan.aval, slots)))) for slots in vectors]
        self.gradient_layouts = [layout for _, layout in self.packs[: len(packs)]]
        self.packed = {s: (k, i) for k, slots in enumerate(packs) for i, s in enumerate(slots)}
        self.recycled = [(s, self.plan.aval(s)) for s in recycled]
        self.outputs = outputs
        self.finals = finals  # the step's outputs, which come before the values that users hold
        self.finals_of = picks(finals)
        self.alive = outputs[len(finals) :]
        self.tape_slots = tape_slots
        # Leaves that no tape slot depends on (weights of another net in this step) are not kept for a later backward.
        self.replay = Plan(path, tape_slots, gathers)
        self.held = self.replay.leaves()
        reached = {s: _reach(self.plan, s, tape_slots) for s in tape_slots}
        self.diff_leaves = tuple([i for i in diff_leaves if any(i in reach.sources for reach in reached.values())])
        numbers = {leaf: k for k, leaf in enumerate(self.diff_leaves)}
        self.reach = {s: r._replace(sources=frozenset([numbers[i] for i in r.sources])) for s, r in reached.items()}
        self.residuals: tuple[Any, ...] = ()
        self.treedef: Any = None
        self.out_avals: Any = None
        self.runs = 0
        self.is_fresh = True  # whether XLA's program has not run yet
        self.by_host: host.Whole | None = None  # the NumPy version, which runs until it is compiled
        self.traced: Any = None  # the result of JAX's trace, until it is compiled
        self.is_compiled = False
        self.calls_python = False  # whether it calls back to Python; known once it is lowered
        self._is_spoilt = False  # whether JAX was interrupted while it lowered the trace
        self.nbytes = 0  # an estimate, see gluonx.deferred.values.program_cache
        self.site: Any = None  # the line that it was compiled for
        self.chosen: dict[Any, list[int | None]] = {}  # by live slots: at which of them each output belongs
        self._pullbacks: Pullbacks | None = None

        me = weakref.ref(self)  # no reference cycle: a program that is evicted is freed at once

        def gluonx_step(*args: jax.Array) -> Any:
            program = me()
            assert program is not None, "who calls a program holds it"
            return program._trace(args)

        self.name = gluonx_step.__name__ = gluonx_step.__qualname__ = f"gluonx_{path[-1].op.name}_{path[-1].depth}"
        joined = frozenset(itertools.chain(*[join.leaves for join in joins]))
        self.single = [
            i for i in range(last.n_leaves) if i not in joined
        ]  # leaves that are single arguments, not in a vector
        self.donated = [self.single.index(i) for i in donors if i not in joined]
        scalars = len(self.single) + len(joins)
        first = scalars + (last.n_floats > 0) + (last.n_ints > 0)
        self.donated_vectors = [len(self.single) + k for k, join in enumerate(joins) if join.outs]
        # The results of a step: the single ones, then the vectors.
        self.final_avals = tuple([self.plan.aval(s) for s in outputs[: len(finals)]]) + tuple(
            [
                intern_aval((sum(a.size for a in join.layout.avals),), join.layout.avals[0].dtype)
                for join in self.replacing
            ]
        )
        given_away = (*self.donated, *self.donated_vectors, *range(first, first + len(recycled)))
        shardings = [] if tape_slots else [pinned(*owners[s]) for s in outputs]
        self.folded = any(
            is_folded(a.sharding) for n in path for a in n.outs
        )  # whether several devices share one JAX device
        if self.folded and shardings:
            shardings = [self.plan.aval(s).sharding or default_sharding() for s in outputs]
        placed: dict[str, Any] = {"out_shardings": (*shardings, *[None] * len(self.packs))} if any(shardings) else {}
        spread = next((a.sharding for n in path for a in n.outs if a.spread), None)
        options = None if spread is None else multi_device_options(spread.device_set)
        self.on_fakes = options is not None  # whether its devices are threads of one CPU
        if self.on_fakes:
            placed["compiler_options"] = options
        homes = {a.sharding for n in path for a in n.outs}
        self.is_near = homes == {None}  # whether all its values are on the default device
        self.for_cpu = all(_platform(home or default_sharding()) == "cpu" for home in homes)
        self.on_cpu = spread is None and self.for_cpu  # and no array is split over several devices
        self._compile = functools.partial(jax.jit, donate_argnums=given_away, keep_unused=bool(recycled), **placed)
        self.call = self._compile(gluonx_step)

    def trace(self, args: Sequence[Any], compiled: bool = True) -> Any:
        """Let JAX trace the program for these arguments or their avals.

        For NumPy too, unless only `compiled` is wanted.
        """
        with for_cpu(self.for_cpu and compiled, several=not self.on_cpu):
            self.traced = self.call.trace(*args)
        return self.traced

    def lower(self, args: Sequence[Any]) -> Any:
        """Return the lowered program; for a single CPU it is rewritten first, because it then compiles sooner."""
        found = self.traced or self.trace(args)
        if _calls_python(found.jaxpr):
            # What it calls may raise, and the weights are to be what they were then: no buffer is given away.
            self.calls_python, self.donated, self.donated_vectors = True, [], []
            self._compile = functools.partial(self._compile, donate_argnums=())
        run = rewritten(found.jaxpr) if self.on_cpu else None
        options = compiler.options_of(found.jaxpr) if self.on_cpu else None
        if options is not None:
            self._compile = functools.partial(self._compile, compiler_options=options)
        if run is None and (self._is_spoilt or self.calls_python or options is not None):
            from jax.extend.core import jaxpr_as_fun

            run = jaxpr_as_fun(found.jaxpr)
        if run is not None:

            def gluonx_step(*args: jax.Array) -> Any:
                return tuple(run(*args))

            gluonx_step.__name__ = gluonx_step.__qualname__ = self.name
            self.call = self._compile(gluonx_step)
            found = self.call.trace(*args)
        self.nbytes = program_cache.program_size(found.jaxpr)
        try:
            lowered = found.lower()
        except BaseException:
            # JAX keeps no result for a trace whose lowering is interrupted, and would compile it again at each call.
            self._is_spoilt = True
            raise
        self.traced = None  # last: a call that is interrupted earlier can be repeated from this trace
        return lowered

    def put_on_host(self, args: Sequence[Any]) -> None:
        """Let NumPy run the program, if it can, as JAX traces it for these arguments.

        NumPy needs no CPU lowerings of operations, so these are traced only when the program is to be compiled.
        Residuals are identified by the trace, so a program that returns some has one trace for both. A linked program
        returns none: a gradient through its results computes it again.
        """
        named = (node.op.name for node in self.plan.path)
        if not self.is_near or any(name.startswith("quantized_") for name in named):
            return
        made = linking.linked(self, args)
        if made is not None:
            self.by_host = host.Whole(made, is_linked=True)
        elif self.tape_slots:
            self.by_host = host.whole(self.trace(args, compiled=False).jaxpr)
        else:
            with native_operations():
                self.by_host = host.whole(jax.make_jaxpr(lambda *args: self._trace(args))(*args))
        if self.by_host is not None:
            self.nbytes = program_cache.size_of(self.by_host.program.steps) // 8  # it is not compiled
            program_cache.add(self.nbytes, programs=1)

    def arguments(self, graph: Graph) -> tuple[list[Any], list[Vector]]:
        """Return the program's arguments: leaves, vectors of joined leaves, and the scalars as two vectors.

        Return also the vectors that the program replaces.
        """
        leaves, replaced = graph.leaves, list[Vector]()
        if self.joins:
            args = [leaf if type(leaf := leaves[i]) in array_types else resolved(leaf) for i in self.single]
            for join in self.joins:
                vector = join.vector(leaves, self.is_fresh)
                args.append(vector.value)
                if join.outs:
                    replaced.append(vector)
        else:
            args = list(map(resolved, leaves))
        return args + scalars_of(graph), replaced

    def _results(self, values: dict[int, Any]) -> tuple[Any, ...]:
        packed = [layout.join([values[s] for s in slots]) for slots, layout in self.packs]
        return (*[values[s] for s in self.outputs], *packed)

    def _parted(self, args: Sequence[Any]) -> list[Any]:
        """Return the arguments with those of all leaves first, as `_split` takes them."""
        leaves: list[Any] = [None] * self.node.n_leaves
        rest = list(args)
        for i in self.single:
            leaves[i] = rest.pop(0)
        for join in self.joins:
            for i, part in join.parted(rest.pop(0)):
                leaves[i] = part
        return leaves + rest

    def _split(self, args: Sequence[Any]) -> tuple[list[Any], Any, Any]:
        node = self.node
        n = node.n_leaves
        rest = list(args[n:])
        floats = rest.pop(0) if node.n_floats else None
        ints = rest.pop(0) if node.n_ints else None
        return list(args[:n]), floats, ints

    def _trace(self, args: Sequence[Any]) -> Any:
        leaves, floats, ints = self._split(self._parted(args))
        if not self.tape_slots:
            values = self.plan.run(leaves, floats, ints)
            return self._results(values)

        def forward(*moving: jax.Array) -> Any:
            for i, m in zip(self.diff_leaves, moving, strict=True):
                leaves[i] = m
            values = self.plan.run(leaves, floats, ints, cut=True)
            return tuple([values[s] for s in self.tape_slots]), self._results(values)

        _, back, outputs = jax.vjp(forward, *[leaves[i] for i in self.diff_leaves], has_aux=True)
        flat, self.treedef = jax.tree.flatten(back)
        self.residuals = tuple([jax.typeof(r) for r in flat])
        return (*outputs, *flat)

    def pullbacks(self, leaves: Sequence[Aval]) -> Pullbacks:
        """Return this program's pull-backs, as a segment has them.

        `leaves` are the avals of the leaves with gradients.
        """
        if self._pullbacks is None:
            homes = [aval.sharding for aval in leaves] if self.folded else None
            inner = [self.plan.aval(s).sharding for s in self.tape_slots] if self.folded else None
            self._pullbacks = Pullbacks(
                Pullback("segment_backward", self._pull, self.wide, homes),
                Pullback("segment_replay_backward", self._replay_pull, self.wide, homes, self),
                Pullback("segment_inner_backward", self._tap, self.wide, inner),
            )
            for op in self._pullbacks:
                op.nbytes = self.nbytes
        return self._pullbacks

    def _cotangents(self, given: Sequence[jax.Array | None]) -> tuple[Any, ...]:
        avals = [self.plan.aval(s) for s in self.tape_slots]
        return tuple([zero_cotangent(a) if g is None else g for a, g in zip(avals, given, strict=True)])

    def _pull(self, *args: jax.Array) -> tuple[Any, ...]:
        n = len(self.residuals)
        return tuple(jax.tree.unflatten(self.treedef, args[:n])(self._cotangents(args[n:])))

    def _replay_pull(self, *args: jax.Array | None) -> tuple[Any, ...]:
        n = len(self.tape_slots)
        leaves, floats, ints = self._split(args[:-n])
        given = args[-n:]

        def forward(*moving: jax.Array) -> tuple[Any, ...]:
            for i, m in zip(self.diff_leaves, moving, strict=True):
                leaves[i] = m
            values = self.replay.run(leaves, floats, ints, cut=True)
            return tuple([values[s] for s, g in zip(self.tape_slots, given, strict=True) if g is not None])

        back = jax.vjp(forward, *[leaves[i] for i in self.diff_leaves])[1]
        return tuple(back(tuple([g for g in given if g is not None])))

    def _tap(self, *args: jax.Array | None) -> tuple[Any, ...]:
        n = len(self.tape_slots)
        leaves, floats, ints = self._split(args[:-n])
        given = args[-n:]
        avals = [self.plan.aval(s) for s in self.tape_slots]

        def forward(*deltas: jax.Array) -> tuple[Any, ...]:
            taps = dict(zip(self.tape_slots, deltas, strict=True))
            values = self.replay.run(leaves, floats, ints, cut=True, taps=taps)
            return tuple([values[s] for s, g in zip(self.tape_slots, given, strict=True) if g is not None])

        zeros = [jnp.zeros(a.shape, a.dtype) for a in avals]
        return tuple(jax.vjp(forward, *zeros)[1](tuple([g for g in given if g is not None])))


def _platform(sharding: jax.sharding.Sharding) -> str:
    return next(iter(sharding.device_set)).platform


def _calls_python(jaxpr: object) -> bool:
    """Return whether a jaxpr calls back to Python, which may raise while the program runs.

    Examples
    --------
    >>> shape = jax.ShapeDtypeStruct((), "float32")
    >>> _calls_python(jax.make_jaxpr(lambda x: jax.jit(lambda x: jax.pure_callback(abs, shape, x))(x))(1.0))
    True
    >>> _calls_python(jax.make_jaxpr(abs)(1.0))
    False
    """
    return any(eqn.primitive.name in ("pure_callback", "io_callback") for eqn in equations(jaxpr))


def packable(aval: Aval) -> bool:
    """Return whether a gradient leaves the program in a vector with others."""
    return aval.size <= policy.PACKED and aval.sharding is None


_LARGEST = float(np.finfo(np.float32).max)


def scalars_of(graph: Graph) -> list[Any]:
    """Return the scalars of a graph as two vectors, floats and integers."""
    found: list[Any] = []
    if graph.floats or graph.ints:
        wide = graph.cursor.wide or jax.config.jax_enable_x64  # type: ignore[attr-defined]
        if graph.floats:
            if wide or (max(graph.floats) < _LARGEST and min(graph.floats) > -_LARGEST):
                found.append(np.array(graph.floats, np.float64 if wide else np.float32))
            else:
                with telling(line=lambda: _line_of_overflow(graph)):
                    found.append(np.array(graph.floats, np.float32))
        if graph.ints:
            found.append(_pack_ints(graph.ints, wide))
    return found


def _line_of_overflow(graph: Graph) -> tuple[str, int] | None:
    """Return the file and line of the operation whose number is too large for float32."""
    large = (i for i, number in enumerate(graph.floats) if _LARGEST < abs(number) < np.inf)
    first = next(large, len(graph.floats))
    node = graph.cursor
    while node.parent is not None and node.parent.n_floats > first:
        node = node.parent
    line = getattr(node, "line", None)
    return None if line is None else (line.file, line.number)


def _pack_ints(ints: list[int], wide: bool) -> np.ndarray:
    """Return the integers as signed ones.

    Those that only unsigned types hold are wrapped round; the program wraps them back.
    """
    signed, unsigned, bits = (np.int64, np.uint64, 64) if wide else (np.int32, np.uint32, 32)
    try:
        return np.array(ints, signed)
    except OverflowError:
        assert all(-(2 ** (bits - 1)) <= i < 2**bits for i in ints), f"integers of {bits} bits were recorded"
        return np.array([i % 2**bits for i in ints], unsigned).view(signed)
