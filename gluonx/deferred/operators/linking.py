"""A program for NumPy, assembled from traces of its operators.

The alternative is to let JAX trace the whole program (`Program._trace`), which takes one to ten milliseconds for each
operator, and again for each new length. Here each operator, with its pull-back, is traced by itself, once for all
lengths where JAX can prove that this is right (:mod:`gluonx.deferred.operators.lengths`), and equal layers share the
trace. The program is a sequence of these traces (:mod:`gluonx.ops.host.linking`). Operators in the trace of a block are
linked one by one, too.

Linking does what :meth:`gluonx.deferred.run.program.Plan.run` does, with the same operators and pull-backs in the same
order, so the numbers are the same. A program with something that is not a single operator (several
devices, 64-bit types, raw JAX code in a forward that a gradient passes) is not linked: JAX traces the whole.

A value of the program is stored in a *register*, which has a number.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias, cast

import jax
import numpy as np

from gluonx.common import policy
from gluonx.common.process import one_blas_thread, uncollected
from gluonx.deferred.operators import lengths
from gluonx.deferred.operators.derived import DerivedOp, Inner, Pullback, has_any_length, needs_64_bits, strong
from gluonx.deferred.operators.primitive import is_one
from gluonx.deferred.operators.untraced import Untraced, chosen, untraced
from gluonx.deferred.values import interrupts, program_cache
from gluonx.deferred.values.contracts import BAD_CALLS, Equation, InputRef, Jaxpr, JaxprVar, Operator, Shaped
from gluonx.deferred.values.core import Aval, Node, tracing
from gluonx.deferred.values.vectors import VectorLayout
from gluonx.dtype import without_64_bits
from gluonx.ops.cpu.convolution import native_operations
from gluonx.ops.cpu.natively import closed_over_nothing
from gluonx.ops.host.jaxprs import HostProgram, Unsupported
from gluonx.ops.host.lengths import Lengths
from gluonx.ops.host.linking import Bound, Fragment, Linker
from gluonx.ops.registry import BoundOp, Lifted

if TYPE_CHECKING:
    from gluonx.deferred.run.program import Plan, Program

__all__ = ["linked", "linked_operator"]


class _NotLinked(Exception):
    """Raised where a program cannot be linked."""


class _Pair(NamedTuple):
    """An operator's forward, whose results are followed by residuals, and its pull-back of (residuals, cotangents)."""

    forward: Fragment
    back: Fragment
    results: int  # how many results there are


_Made: TypeAlias = "Fragment | _Pair"


class _Entry:
    """One operator of a program, or a piece of a block's trace that is no operator.

    ``ins`` and ``outs`` are names of values, ``avals`` and ``results`` their shapes and types. ``diff`` lists the
    inputs that a gradient reaches, ``passed`` the results that a cotangent reaches. ``pull`` links the pull-back, once
    the forward is linked.
    """

    __slots__ = ("avals", "diff", "ins", "op", "outs", "passed", "pull", "results")

    def __init__(
        self,
        op: Operator | Fragment,
        ins: list[Any],
        outs: list[Any],
        avals: list[Any],
        diff: tuple[int, ...],
        results: Sequence[Any] = (),
    ) -> None:
        self.op, self.ins, self.outs, self.avals, self.diff, self.results = op, ins, outs, avals, diff, results
        self.passed: tuple[bool, ...] | None = None
        self.pull: Callable[[list[int]], list[int]] | None = None


# -- traces of single operators ----------------------------------------------------------------------------------------


def _alone(op: Operator, kind: lengths.Kind) -> Fragment:
    program_cache.add(program_cache.TRACE, op)
    with interrupts.held(), tracing, native_operations(), uncollected():
        return Fragment(jax.make_jaxpr(strong(op))(*kind.structs), kind.names)


def _pair(op: Operator, diff: tuple[int, ...], passed: tuple[bool, ...], kind: lengths.Kind) -> _Pair:
    """Trace an operator so that a gradient can pass, as `program._apply` does."""
    tree, structs = list[Any](), kind.structs
    with native_operations():
        run = strong(op)

    def forward(*inputs: jax.Array) -> tuple[Any, ...]:
        full = list(inputs)

        def moved(*moving: jax.Array) -> Any:
            for i, m in zip(diff, moving, strict=True):
                full[i] = m
            out = run(*full)
            results = out if type(out) is tuple else (out,)
            return tuple(itertools.compress(results, passed)), results

        _, back, results = jax.vjp(moved, *[inputs[i] for i in diff], has_aux=True)
        flat, treedef = jax.tree.flatten(back)
        tree[:] = [treedef, len(results)]
        return (*results, *flat)

    program_cache.add(program_cache.TRACE, op)
    with interrupts.held(), tracing, native_operations(), uncollected():
        closed = jax.make_jaxpr(forward)(*structs)
        treedef, count = tree
        outs = [jax.ShapeDtypeStruct(a.shape, a.dtype) for a in list[Any](closed.out_avals)]
        residuals = outs[count:]
        given = list(itertools.compress(outs[:count], passed))

        def pull(*args: jax.Array) -> tuple[Any, ...]:
            back = jax.tree.unflatten(treedef, args[: len(residuals)])
            return tuple(back(tuple(args[len(residuals) :])))

        pulled = jax.make_jaxpr(pull)(*residuals, *given)
        return _Pair(Fragment(closed, kind.names), Fragment(pulled, kind.names), count)


def _agree(made: _Made, kind: lengths.Kind, numbers: lengths.Numbers, exact: _Made) -> bool:
    """Return whether a trace with symbolic lengths gives for known lengths what a trace for these lengths gives."""
    structs = [s for s in kind.structs if s is not None]
    fragment = exact if isinstance(exact, Fragment) else exact.forward
    inputs = [_sample(spec.shape, spec.dtype, i) for i, spec in enumerate([fragment.specs[i] for i in fragment.ins])]
    assert len(inputs) == len(structs), "an input that is None is not traced"
    with one_blas_thread():
        found = [_sampled(each, n, inputs) for each, n in ((made, numbers), (exact, ()))]
    return all(_close(one, two) for one, two in zip(*found, strict=True))


def _close(one: np.ndarray, two: np.ndarray) -> bool:
    """Return whether two results are equal up to the order of sums."""
    if one.shape != two.shape or one.dtype != two.dtype:
        return False
    if one.dtype.kind in "iub":
        return np.array_equal(one, two)
    wide = np.complex128 if one.dtype.kind == "c" else np.float64
    error = 1e-5 if one.dtype.itemsize > 2 else 1e-2
    return np.allclose(one.astype(wide), two.astype(wide), error, error, equal_nan=True)


def _sample(shape: tuple[int, ...], dtype: np.dtype, seed: int) -> np.ndarray:
    numbers = np.random.RandomState(seed)
    if dtype.kind in "iub":
        return numbers.randint(0, 2, shape).astype(dtype)
    return numbers.uniform(0.1, 1.0, shape).astype(dtype)


def _sampled(made: _Made, numbers: lengths.Numbers, inputs: list[np.ndarray]) -> list[np.ndarray]:
    """Return the results for some sample inputs, and the gradients of their sum."""
    linker = Linker()
    registers = [linker.input(x.nbytes) for x in inputs]
    if isinstance(made, Fragment):
        return linker.program(linker.add(made.bound(numbers), registers))(*inputs)
    bound, back = made.forward.bound(numbers), made.back.bound(numbers)
    outs = linker.add(bound, registers)
    heads = made.back.ins[len(outs) - made.results :]
    given = [
        _sample(_shape_of(made.back, back, register), made.back.specs[register].dtype, 100 + i)
        for i, register in enumerate(heads)
    ]
    gradients = linker.add(back, [*outs[made.results :], *map(linker.constant, given)])
    return linker.program([*outs[: made.results], *gradients])(*inputs)


def _shape_of(fragment: Fragment, bound: Bound, register: int) -> tuple[int, ...]:
    return Lengths(fragment.names, bound.numbers).shape(fragment.specs[register].shape)


# -- programs ----------------------------------------------------------------------------------------------------------


class _Linking:
    """A program that is being linked.

    Values have names: those of the plan, and further ones for values within the trace of a block.
    """

    def __init__(self, linker: Linker) -> None:
        self.linker = linker
        self.registers: dict[Any, int] = {}  # by name of a value
        self.entries: dict[int, list[_Entry]] = {}  # by the depth of a node
        self.same: dict[Any, Any] = {}  # by a block's result: its name within the block's trace
        self.fresh = itertools.count()

    def constant(self, array: np.ndarray) -> Any:
        """Return the name of a constant."""
        name = ("within", next(self.fresh))
        self.registers[name] = self.linker.constant(array)
        return name

    # First, find the operators, and those among them that a gradient passes.

    def enter(self, node: Node, avals: Sequence[Any], names: list[Any], first: int) -> None:
        """Add a node of the plan, whose results are named from `first` on."""
        op, outs = node.op, list(range(first, first + len(node.outs)))
        inner = op.within if type(op) is DerivedOp else None
        if inner is not None:
            self.entries[node.depth] = self.within(inner, names, outs, node.diff)
        elif _is_replay(op) or (type(op) in (BoundOp, Lifted, DerivedOp) and getattr(op, "interpreted", True)):
            self.entries[node.depth] = [_Entry(op, names, outs, list(avals), node.diff, node.outs)]
        else:
            raise _NotLinked(op.name)

    def within(self, inner: Inner, names: list[Any], outs: list[int], diff: tuple[int, ...]) -> list[_Entry]:
        """Return the operators in a block's trace."""
        closed, kept = inner
        jaxpr = closed.jaxpr
        if jaxpr.effects:
            raise _NotLinked("effects")
        env: dict[Any, Any] = {jaxpr.invars[i]: name for i, name in zip(kept, names, strict=True)}
        env.update({v: self.constant(np.asarray(c)) for v, c in zip(jaxpr.constvars, closed.consts, strict=True)})
        active = {jaxpr.invars[kept[i]] for i in diff}
        entries: list[_Entry] = []
        for eqn in jaxpr.eqns:
            own = [("within", next(self.fresh)) for _ in eqn.outvars]
            entries.append(entry := self.entry(jaxpr, eqn, env, own, active))
            env.update(zip(eqn.outvars, own, strict=True))
            if entry.diff:
                active.update([v for v in eqn.outvars if _moves(v)])
        made = {v for eqn in jaxpr.eqns for v in eqn.outvars}
        given: set[Any] = set()
        for out, var in zip(outs, jaxpr.outvars, strict=True):
            if hasattr(var, "val") or var not in made or (var in given and var in active):
                raise _NotLinked("a result of a block that is its input, or another result")
            given.add(var)
            self.same[out] = env[var]
        return entries

    def entry(self, jaxpr: Jaxpr, eqn: Equation, env: dict[Any, Any], own: list[Any], active: set[Any]) -> _Entry:
        """Return an equation of a block's trace as an operator or another piece."""
        if not is_one(eqn):
            read = list(dict.fromkeys([v for v in eqn.invars if not hasattr(v, "val")]))
            if not active.isdisjoint(read) and any(map(_moves, eqn.outvars)):
                raise _NotLinked(f"{eqn.primitive.name} in a forward")
            part = jaxpr.replace(eqns=[eqn], constvars=[], invars=read, outvars=eqn.outvars)
            return _Entry(Fragment(closed_over_nothing(part)), [env[v] for v in read], own, [], ())
        given, names, avals, diff = iter(eqn.invars), list[Any](), list[Any](), list[int]()
        for i, there in enumerate(eqn.params["present"]):
            atom = next(given) if there else None
            if atom is None:
                names.append(None)
            elif hasattr(atom, "val"):
                names.append(self.constant(np.asarray(atom.val, atom.aval.dtype)))
            else:
                names.append(env[atom])
                if atom in active:
                    diff.append(i)
            avals.append(None if atom is None else jax.ShapeDtypeStruct(atom.aval.shape, atom.aval.dtype))
        return _Entry(eqn.params["op"], names, own, avals, tuple(diff), [v.aval for v in eqn.outvars])

    def mark(self, heads: Iterable[Any], depths: Iterable[int]) -> None:
        """Note the operators and results that a gradient from `heads` reaches."""
        marked = {self.same.get(head, head) for head in heads}
        for depth in sorted(depths, reverse=True):
            for entry in reversed(self.entries[depth]):
                passed = tuple([out in marked for out in entry.outs])
                if not any(passed) or not entry.diff:
                    continue
                if entry.passed is not None and entry.passed != passed:
                    raise _NotLinked("two gradients through other results of an operator")
                entry.passed = passed
                marked.update([entry.ins[i] for i in entry.diff])

    # Then, put them into sequence.

    def run(self, entry: _Entry) -> None:
        """Link one operator."""
        op, registers = entry.op, [self.registers[name] for name in entry.ins if name is not None]
        if isinstance(op, Fragment):
            outs = self.linker.add(op.bound(()), registers)
        elif type(op) is Pullback:
            outs = self.replay(entry)
        elif needs_64_bits(op, entry.avals):
            raise _NotLinked("64-bit types")
        elif (kernels := untraced(op, entry.avals, entry.results, entry.diff, entry.passed)) is not None:
            outs = self.by_kernels(entry, kernels, registers)
        elif entry.passed is None:
            outs = self.linker.add(_bound_alone(op, entry.avals), registers)
        else:
            outs, back, residuals = _add_pair(self.linker, entry, registers)
            entry.pull = lambda given: self.linker.add(back, [*residuals, *given])
        self.registers.update(zip(entry.outs, outs, strict=True))

    def by_kernels(self, entry: _Entry, kernels: Untraced, registers: list[int]) -> list[int]:
        """Link an operator by its NumPy kernels, which read its inputs."""
        present = [aval is not None for aval in entry.avals]
        op, avals, linker, costs = cast(Operator, entry.op), entry.avals, self.linker, kernels.costs
        # Only what the trace needs is kept for it: the linker has all values of this program.
        traced = _Entry(op, [], [], avals, entry.diff)
        traced.passed = entry.passed
        forward = chosen(kernels.forward, present, functools.partial(_traced_forward, traced))
        operations = policy.limits["kernel"]
        outs = linker.call(forward, registers, [_nbytes(a) for a in entry.results], costs[0], operations)
        if kernels.back is not None:
            back = chosen(kernels.back, present, functools.partial(_traced_back, traced))
            nbytes = [_nbytes(avals[i]) for i in entry.diff]
            entry.pull = lambda given: linker.call(back, [*registers, *given], nbytes, costs[1], operations)
        return outs

    def replay(self, entry: _Entry) -> list[int]:
        """Link the gradient of a program that has run before: its forward again, then the pull-backs.

        `Program._replay_pull` does the same with JAX. The inputs are leaves, vectors of numbers, and cotangents.
        """
        op: Any = entry.op
        program: Program = op.replayed
        plan, slots, last = program.replay, program.tape_slots, program.node
        if entry.passed is not None or any(node.grad is not None for node in plan.needed):
            raise _NotLinked("a gradient of a gradient")
        registers = [None if name is None else self.registers[name] for name in entry.ins]
        path = _Path(plan, self.linker, entry.avals[: last.n_leaves])
        path.linking.registers.update({-1 - i: at for i, at in enumerate(registers[: last.n_leaves]) if at is not None})
        numbers = registers[last.n_leaves : -len(slots)]
        path.floats = numbers.pop(0) if last.n_floats else None
        path.ints = numbers.pop(0) if last.n_ints else None
        heads = [(slot, at) for slot, at in zip(slots, registers[-len(slots) :], strict=True) if at is not None]
        region = frozenset[int]().union(*[program.reach[slot].nodes for slot, _ in heads])
        path.link([slot for slot, _ in heads], region)
        return path.gradients(heads, region, [(-1 - i, entry.avals[i]) for i in program.diff_leaves])


def _bound_alone(op: Operator, avals: Sequence[Any]) -> Bound:
    """Return the trace of an operator that no gradient passes."""
    fragment, numbers = _traced(op, avals, "alone", functools.partial(_alone, op))
    return fragment.bound(numbers)


def _add_pair(linker: Linker, entry: _Entry, registers: list[int]) -> tuple[list[int], Bound, list[int]]:
    """Link the trace of an operator that a gradient passes; return its results, its pull-back and what that needs."""
    op: Any = entry.op
    make = functools.partial(_pair, op, entry.diff, entry.passed or ())
    pair, numbers = _traced(op, entry.avals, (entry.diff, entry.passed), make)
    found = linker.add(pair.forward.bound(numbers), registers)
    return found[: pair.results], pair.back.bound(numbers), found[pair.results :]


def _traced_forward(entry: _Entry) -> HostProgram:
    """Return an operator as a program of its trace, for a run whose values its kernel refuses."""
    op: Any = entry.op
    linker = Linker()
    with without_64_bits():
        registers = [linker.input(_nbytes(a)) for a in entry.avals if a is not None]
        return linker.program(linker.add(_bound_alone(op, entry.avals), registers))


def _traced_back(entry: _Entry) -> HostProgram:
    """Return the pull-back of an operator, of its inputs and the cotangent, as a program of its trace."""
    linker = Linker()
    with without_64_bits():
        registers = [linker.input(_nbytes(a)) for a in entry.avals if a is not None]
        given = linker.input(0)
        _, back, residuals = _add_pair(linker, entry, registers)
        return linker.program(linker.add(back, [*residuals, given]))


def _is_replay(op: Operator) -> bool:
    """Return whether an operator is the pull-back of a program that recomputes the program's forward."""
    return type(op) is Pullback and op.replayed is not None and op.interpreted


def _moves(var: JaxprVar) -> bool:
    return jax.numpy.issubdtype(var.aval.dtype, jax.numpy.inexact)


def _traced(
    op: Operator, avals: Sequence[Any], what: Hashable, make: Callable[[lengths.Kind], Any]
) -> tuple[Any, lengths.Numbers]:
    """Return what `make` makes of an operator, and the numbers of its symbols.

    Cached if it is the same for all lengths.
    """
    if has_any_length(op):
        return lengths.found(op, avals, what, make, _agree)
    if type(op) is DerivedOp and not op.steady:
        return make(lengths.Kind([None if a is None else getattr(a, "struct", a) for a in avals])), ()
    return lengths.found(op, avals, what, make, None)


class _Path:
    """A :class:`gluonx.deferred.run.program.Plan` that is linked: what `Plan.run` does, in the same order.

    Attributes
    ----------
    avals : dict
        Of the values and leaves, by input reference.
    floats, ints : int or None
        The registers of the vectors of numbers.
    """

    def __init__(self, plan: Plan, linker: Linker, leaves: Sequence[Any]) -> None:
        self.plan, self.linker = plan, linker
        self.linking = _Linking(linker)
        self.avals: dict[int, Any] = {-1 - i: aval for i, aval in enumerate(leaves)}
        self.floats: int | None = None
        self.ints: int | None = None

    def name(self, part: InputRef) -> Any:
        """Return the name of an input reference's value; a number in a vector gets a name of its own."""
        if part is None:
            return None
        if isinstance(part, int):
            return self.linking.same.get(part, part)
        if part not in self.linking.registers:
            slot, n = part
            vector = self.ints if slot.integral else self.floats
            assert vector is not None, "a path with numbers is given them"
            dtype = slot.dtype
            register = self.linker.step(lambda v: v[n].astype(dtype), [vector], dtype.itemsize, 1)
            self.linking.registers[part] = register
        return part

    def aval(self, part: InputRef) -> Any:
        """Return the aval of an input reference's value."""
        if part is None:
            return None
        if not isinstance(part, int):
            return part[0]
        if part not in self.avals:
            self.avals[part] = self.plan.aval(part)
        return self.avals[part]

    def register_of(self, part: InputRef) -> int:
        """Return the register of an input reference's value."""
        return self.linking.registers[self.name(part)]

    def link(self, heads: Iterable[int] = (), region: Iterable[int] = ()) -> None:
        """Link the plan, so that a gradient may go from `heads` through the nodes at the depths in `region`."""
        plan, linking = self.plan, self.linking
        for node in plan.needed:
            first = plan.starts[node.depth - 1]
            self.avals.update(zip(range(first, first + len(node.outs)), node.outs, strict=True))
            if node.grad is None:
                linking.enter(node, list(map(self.aval, node.parts)), list(map(self.name, node.parts)), first)
        for node in reversed(plan.needed):
            if node.grad is not None:
                linking.mark(node.grad.heads, node.grad.region)
        linking.mark(heads, region)
        for node in plan.needed:
            if node.grad is None:
                for entry in linking.entries[node.depth]:
                    linking.run(entry)
            else:
                self.backward(node)

    def backward(self, node: Node) -> None:
        """Link a backward node, as `Plan._gradients` runs it."""
        info = node.grad
        heads = [(head, self.head(self.aval(head), g)) for head, g in zip(info.heads, info.head_grads, strict=True)]
        first = self.plan.starts[node.depth - 1]
        for i, register in enumerate(self.gradients(heads, info.region, zip(info.targets, node.outs, strict=True))):
            self.linking.registers[first + i] = register

    def gradients(
        self, heads: Iterable[tuple[int, int]], region: Iterable[int], targets: Iterable[tuple[int, Any]]
    ) -> list[int]:
        """Link a gradient from `heads`, pairs of a slot and the register of its cotangent.

        ``targets`` are pairs of an input reference and its aval; the result has the register of each one's gradient.
        """
        linker, linking = self.linker, self.linking
        cotangents: dict[Any, int] = {}

        def add(name: Hashable, register: int, nbytes: int, size: int) -> None:
            known = cotangents.get(name)
            cotangents[name] = register if known is None else linker.step(np.add, [known, register], nbytes, size)

        for head, given in heads:
            add(self.name(head), given, self.aval(head).nbytes, self.aval(head).size)
        for depth in sorted(region, reverse=True):
            for entry in reversed(linking.entries[depth]):
                given = [cotangents[out] for out in entry.outs if out in cotangents]
                if not given or entry.pull is None:
                    continue
                for i, register in zip(entry.diff, entry.pull(given), strict=True):
                    nbytes = linker.nbytes[register]
                    add(entry.ins[i], register, nbytes, nbytes // entry.avals[i].dtype.itemsize)
        found = [(cotangents.get(self.name(target)), aval) for target, aval in targets]
        return [linker.constant(np.zeros(a.shape, a.dtype)) if register is None else register for register, a in found]

    def head(self, aval: Aval, given: InputRef) -> int:
        """Return the register of the cotangent that a gradient begins with."""
        shape, dtype = aval.shape, aval.dtype
        if given is None:
            return self.linker.constant(np.ones(shape, dtype))
        fn = lambda g: np.broadcast_to(g, shape).astype(dtype)  # noqa: E731
        return self.linker.step(fn, [self.register_of(given)], aval.nbytes, aval.size)


def _whole(
    program: Program, leaves: Sequence[Any], floats: Shaped | None, ints: Shaped | None, extra: int
) -> HostProgram:
    """Return the linked program.

    It returns no residuals, so its :class:`gluonx.deferred.operators.segments.Segment` has to recompute the forward.

    Parameters
    ----------
    program : Program
    leaves : sequence of jax.ShapeDtypeStruct
        By number.
    floats, ints : jax.ShapeDtypeStruct or None
        The vectors of numbers.
    extra : int
        How many buffers the compiled program would reuse; they are inputs that NumPy does not read.
    """
    linker = Linker()
    path = _Path(program.plan, linker, leaves)
    registers = path.linking.registers
    for i in program.single:
        registers[-1 - i] = linker.input(_nbytes(leaves[i]))
    vectors = [linker.input(sum([a.nbytes for a in join.layout.avals])) for join in program.joins]
    path.floats = None if floats is None else linker.input(_nbytes(floats))
    path.ints = None if ints is None else linker.input(_nbytes(ints))
    for _ in range(extra):
        linker.input(0)
    for join, vector in zip(program.joins, vectors, strict=True):
        for leaf, number in zip(join.leaves, join.numbers, strict=True):
            registers[-1 - leaf] = _cut(linker, vector, join.layout, number)
    path.link()
    outs = [path.register_of(slot) for slot in program.outputs]
    for slots, layout in program.packs:
        nbytes = sum([a.nbytes for a in layout.avals])
        join = lambda *arrays, layout=layout: layout.join(list(map(np.asarray, arrays)))  # noqa: E731
        outs.append(linker.step(join, list(map(path.register_of, slots)), nbytes, nbytes // 4))
    return linker.program(outs)


def _cut(linker: Linker, vector: int, layout: VectorLayout, number: int) -> int:
    """Return the register of one array of a vector."""
    return linker.step(lambda v: layout.part(v, number), [vector], layout.avals[number].nbytes, 1)


def _nbytes(struct: Shaped) -> int:
    return int(np.prod(struct.shape)) * np.dtype(struct.dtype).itemsize


_GIVEN_UP = (_NotLinked, Unsupported, NotImplementedError, *BAD_CALLS)


def linked(program: Program, args: Sequence[Any]) -> HostProgram | None:
    """Return a linked program for NumPy; None if it has to be traced as a whole.

    Parameters
    ----------
    program : Program
    args : sequence
        Its arguments, or their avals.
    """
    if program.wide or program.plan.gathers:
        return None
    n = len(program.single) + len(program.joins)
    rest = list(args[n:])
    leaves: list[Any] = [None] * program.node.n_leaves
    for i, value in zip(program.single, args, strict=False):
        leaves[i] = jax.ShapeDtypeStruct(value.shape, value.dtype)
    for join in program.joins:
        for leaf, number in zip(join.leaves, join.numbers, strict=True):
            leaves[leaf] = join.layout.avals[number].struct
    floats = rest.pop(0) if program.node.n_floats else None
    ints = rest.pop(0) if program.node.n_ints else None
    try:
        with without_64_bits():
            return _whole(program, leaves, floats, ints, len(rest))
    except _GIVEN_UP:
        return None


def linked_operator(op: Operator, structs: Sequence[Any]) -> HostProgram | None:
    """Return the linked program of an operator that consists of others; None if JAX has to trace it.

    Such operators are the trace of a block, and the pull-back of a program that recomputes the program's forward.

    Parameters
    ----------
    op : Operator
    structs : sequence of jax.ShapeDtypeStruct or None
        Its inputs; None for those that are left out, which the program does not take.
    """
    inner = op.within if type(op) is DerivedOp else None
    if inner is None and not _is_replay(op):
        return None
    linker = Linker()
    linking = _Linking(linker)
    names = [None if struct is None else -1 - i for i, struct in enumerate(structs)]
    try:
        for name, struct in zip(names, structs, strict=True):
            if struct is not None:
                linking.registers[name] = linker.input(_nbytes(struct))
        with without_64_bits():
            if inner is None:
                return linker.program(linking.replay(_Entry(op, names, [], list(structs), ())))
            outs = list(range(len(inner.closed.jaxpr.outvars)))
            for entry in linking.within(inner, names, outs, ()):
                linking.run(entry)
            return linker.program([linking.registers[linking.same[out]] for out in outs])
    except _GIVEN_UP:
        return None
