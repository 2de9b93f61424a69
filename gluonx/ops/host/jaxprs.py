"""A jaxpr run by NumPy.

`HostProgram` analyzes a closed jaxpr once: calls are inlined, operations on constants are computed, unused results are
dropped, and each remaining equation becomes a *step*, a closure that reads and writes *registers*, the items of one
list. A call makes that list and runs the steps, without any further look-up.

    jaxpr --flatten--> nodes --drop the unread--> --rules, folding--> steps

Shapes and dtypes always agree with XLA's on a CPU, and so do the values of integers, comparisons and moves. Floats are
as near to the true value as XLA's or nearer: functions of float32 are computed in float64 and rounded, and sums of
float32 are added in float64; float16 and bfloat16 are computed in float32. Subnormal numbers are kept, while XLA on a
CPU treats them as zero.

A broadcast that only elementwise arithmetic reads is left to NumPy, which broadcasts as it computes.

A jaxpr that was traced with symbols for lengths (`jax.export.symbolic_shape`) holds for every length of at least one;
JAX proves that while it traces. So does the program, if each primitive that meets a symbol is in `ANY_SHAPE`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import jax
import numpy as np
from jax import lax
from jax.extend import core

from gluonx.common import policy
from gluonx.dtype import WIDE, keeping_64_bits
from gluonx.ops.cpu.natively import default_branch
from gluonx.ops.host import draws, elementwise, factors, moves, products, reductions, windows
from gluonx.ops.host.lengths import Lengths
from gluonx.ops.host.primitives import RULES, Call, Fn, Spec, Unsupported, rule

__all__ = ["ANY_SHAPE", "Block", "Flat", "HostProgram", "Node", "Step", "Unsupported", "freeing", "live",
           "reshaping", "ruled", "step_of", "thin_broadcasts"]  # fmt: skip

del draws, factors, moves, products, reductions, windows  # imported for the rules that they register

Step = Callable[[list[Any]], None]

ANY_SHAPE = elementwise.BROADCASTING | {
    "argmax", "argmin", "concatenate", "convert_element_type", "reduce_and", "reduce_max", "reduce_min", "reduce_or",
    "reduce_prod", "reduce_sum", "rev", "transpose",
}  # fmt: skip
"""Primitives whose function asks the arrays for their shape, and not the jaxpr."""

_KEYS = ("key<fry>", "key<gfry>")  # JAX's own threefry, and the implementation of gluonx.ops.cpu.threefry


class HostProgram:
    """A closed jaxpr as a function of NumPy arrays.

    Parameters
    ----------
    jaxpr : jax.extend.core.ClosedJaxpr
        The result of ``jax.make_jaxpr(f)(...)`` or ``jax.jit(f).trace(...).jaxpr``.

    Attributes
    ----------
    cost : float
        The work of a call, in elements read or written; infinite if a loop runs until a condition is met, NaN if
        lengths are symbols.
    steps : int
        The number of NumPy operations, counting a loop's body once.
    nbytes : int
        The largest number of bytes of values at one time; NaN if lengths are symbols.
    takes : int
        The number of arrays that a call takes.

    Raises
    ------
    Unsupported
        If the jaxpr has a primitive, or a variant of one, that is not implemented here.

    Examples
    --------
    >>> import jax.numpy as jnp
    >>> program = HostProgram(jax.make_jaxpr(lambda x: jnp.sum(jnp.exp(x), axis=0))(jnp.zeros((2, 3))))
    >>> program(np.zeros((2, 3), np.float32))
    [array([2., 2., 2.], dtype=float32)]
    """

    __slots__ = ("_block", "cost", "nbytes", "steps", "takes")

    def __init__(self, jaxpr: Any) -> None:
        with np.errstate(all="ignore"):
            self._enter(Block(jaxpr), len(jaxpr.jaxpr.invars))

    @classmethod
    def of(cls, block: Block, takes: int) -> HostProgram:
        """Return the program of an existing block that takes so many arrays."""
        made = cls.__new__(cls)
        made._enter(block, takes)
        return made

    def _enter(self, block: Block, takes: int) -> None:
        self._block, self.takes = block, takes
        self.cost, self.steps, self.nbytes = block.cost, len(block.steps), block.nbytes

    def __call__(self, *arrays: Any) -> list[np.ndarray]:
        """Compute the results.

        Parameters
        ----------
        *arrays : numpy.ndarray
            One for each input of the jaxpr, of its shape and dtype; a random key as two words of uint32 on a trailing
            axis. They are not written, but a result may be a view of one.

        Returns
        -------
        list of numpy.ndarray
            Read-only and contiguous.
        """
        if len(arrays) != self.takes:
            raise TypeError(f"this program takes {self.takes} arrays, got {len(arrays)}")
        with np.errstate(all="ignore"):
            outs = self._block(*arrays)
        return [_finished(x) for x in outs]


def _finished(x: np.generic | np.ndarray) -> np.ndarray:
    x = np.array(x, order="C", copy=None)  # a scalar becomes an array
    x = x.view()  # a view, so that the flags of the caller's own object are not changed
    x.flags.writeable = False
    return x


class Block:
    """The steps of a jaxpr, without the checks of a program; loops and branches run blocks too.

    If its lengths are symbols, ``lengths`` has their values.
    """

    __slots__ = ("cost", "nbytes", "outs", "rest", "steps")

    def __init__(self, jaxpr: Any, lengths: Lengths | None = None) -> None:
        flat = Flat(lengths)
        registers, outs = flat.closed(jaxpr)
        self.steps, self.cost, self.nbytes = _lower(flat, outs)
        self.outs = outs
        self.rest = [flat.known.get(i) for i in range(len(registers), len(flat.specs))]

    @classmethod
    def of(cls, steps: list[Step], outs: list[int], rest: list[Any], cost: float, nbytes: float) -> Block:
        """Return a block of these steps; ``rest`` are the values of the registers after those of the inputs."""
        made = cls.__new__(cls)
        made.steps, made.outs, made.rest, made.cost, made.nbytes = steps, outs, rest, cost, nbytes
        return made

    def __call__(self, *arrays: Any) -> list[Any]:
        """Run the steps."""
        env = [*arrays, *self.rest]
        for step in self.steps:
            step(env)
        return [env[i] for i in self.outs]


def _spec(aval: Any) -> Spec:
    if not hasattr(aval, "dtype"):
        raise Unsupported(f"a value of type {aval}")
    if isinstance(aval.dtype, np.dtype):
        return Spec(aval.shape, aval.dtype)
    if str(aval.dtype) not in _KEYS:
        raise Unsupported(f"a value of dtype {aval.dtype}")
    return Spec(aval.shape, np.dtype(np.uint32), key=True)


class Node:
    """One equation: the primitive's name and parameters, and the registers that it reads and writes."""

    __slots__ = ("ins", "name", "outs", "params")

    def __init__(self, name: str, params: dict[str, Any], ins: list[int], outs: list[int]) -> None:
        self.name, self.params, self.ins, self.outs = name, params, ins, outs


# Primitives that only call a jaxpr, with the parameter that holds it.
_CALLS = {
    "jit": "jaxpr",
    "pjit": "jaxpr",
    "closed_call": "call_jaxpr",
    "core_call": "call_jaxpr",
    "call": "call_jaxpr",
    "remat": "jaxpr",
    "remat2": "jaxpr",
    "checkpoint": "jaxpr",
    "custom_jvp_call": "call_jaxpr",
    "custom_vjp_call": "call_jaxpr",
    "custom_vjp_call_jaxpr": "fun_jaxpr",
    "custom_vmap_call": "call",
    "composite": "jaxpr",
}

# Primitives that return their operands, except those that set the sharding of an array.
_SAME = frozenset(
    {"copy", "copy_p", "name", "stop_gradient", "optimization_barrier", "device_put", "pvary", "layout_constraint"}
)


class Flat:
    """The equations of a jaxpr with all calls inlined; values have registers, which are numbers."""

    def __init__(self, lengths: Lengths | None = None) -> None:
        self.lengths = lengths
        self.specs: list[Spec] = []
        self.known: dict[int, Any] = {}
        self.nodes: list[Node] = []

    def closed(self, jaxpr: Any) -> tuple[list[int], list[int]]:
        """Add a closed jaxpr; return the registers of its inputs and of its results."""
        if jaxpr.effects:
            raise Unsupported(f"effects: {jaxpr.effects}")
        registers = [self.new_register(_spec(v.aval)) for v in jaxpr.jaxpr.invars]
        return registers, self.inline(jaxpr.jaxpr, [self.constant(c) for c in jaxpr.consts], registers)

    def new_register(self, spec: Spec, value: Any = None) -> int:
        """Return a new register, with `value` if it is a constant."""
        if self.lengths is not None and not spec.is_known:
            spec = self.lengths.spec(spec)
        self.specs.append(spec)
        if value is not None:
            self.known[len(self.specs) - 1] = value
        return len(self.specs) - 1

    def constant(self, value: Any) -> int:
        """Return the register of a constant of a jaxpr."""
        if not isinstance(getattr(value, "dtype", np.dtype(float)), np.dtype):  # a key
            spec = _spec(jax.typeof(value))
            return self.new_register(spec, np.asarray(jax.random.key_data(value)))
        array = np.asarray(value)
        return self.new_register(Spec(array.shape, array.dtype), array)

    def inline(self, jaxpr: core.Jaxpr, consts: Sequence[int], args: Sequence[int]) -> list[int]:
        """Add the equations of a jaxpr; return the registers of its results."""
        env: dict[Any, int] = dict(zip(jaxpr.constvars, consts, strict=True))
        env.update(zip(jaxpr.invars, args, strict=True))

        def read(atom: Any) -> int:
            if isinstance(atom, core.Literal):
                spec = _spec(atom.aval)
                return self.new_register(spec, np.asarray(atom.val, spec.dtype))
            return env[atom]

        for eqn in jaxpr.eqns:
            ins = [read(atom) for atom in eqn.invars]
            env.update(zip(eqn.outvars, self.equation(eqn, ins), strict=True))
        return [read(atom) for atom in jaxpr.outvars]

    def equation(self, eqn: Any, ins: list[int]) -> list[int]:
        """Add one equation; return the registers of its results."""
        name, params = eqn.primitive.name, eqn.params
        if name in _SAME:
            return ins
        if name in _CALLS:
            inner = params.get(_CALLS[name])
            if inner is None:
                raise Unsupported(f"{name}: no parameter {_CALLS[name]}")
            return self.called(inner, ins)
        if name == "call_hi_primitive":  # from jax 0.12 on: an operation with a method that expands it
            made = params["_prim"]
            types = {a.dtype for a in (*made.in_avals, *[v.aval for v in eqn.outvars])}
            with keeping_64_bits(not types.isdisjoint(WIDE)):  # else its int64 would be int32 here
                inner = jax.make_jaxpr(made.expand)(*made.in_avals)
            return self.called(inner, ins)
        if name == "platform_index":
            chosen = np.asarray(default_branch(params["platforms"]), np.int32)
            return [self.new_register(_spec(eqn.outvars[0].aval), chosen)]
        if name == "cond" and ins[0] in self.known:
            branches = params["branches"]
            chosen = min(max(int(self.known[ins[0]]), 0), len(branches) - 1)
            return self.called(branches[chosen], ins[1:])
        if name in ("linear_solve", "custom_linear_solve"):  # a jaxpr among its parameters computes the solution
            lengths, jaxprs = params["const_lengths"], params["jaxprs"]
            start = lengths.matvec + lengths.vecmat
            given = ins[start : start + lengths.solve]
            return self.called(jaxprs.solve, [*given, *ins[sum(lengths) :]])
        if self.lengths is not None:
            params = self.lengths.params(params)
        outs = [self.new_register(_spec(v.aval)) for v in eqn.outvars]
        if name == "convert_element_type" and self.specs[ins[0]].dtype == self.specs[outs[0]].dtype:
            return ins
        self.nodes.append(Node(name, params, ins, outs))
        return outs

    def called(self, inner: Any, ins: list[int]) -> list[int]:
        """Add a jaxpr that is called."""
        if hasattr(inner, "consts"):
            return self.inline(inner.jaxpr, [self.constant(c) for c in inner.consts], ins)
        return self.inline(inner, [], ins)


def _lower(flat: Flat, outs: list[int]) -> tuple[list[Step], float, Any]:
    """Return the steps that compute `outs`, their cost, and the most bytes at one time.

    Constants that are found are stored in ``flat.known``.
    """
    nodes, readers = live(flat, outs)
    specs, known = flat.specs, flat.known
    thin = thin_broadcasts(flat, nodes, readers, set(outs))
    steps: list[tuple[Step, Node]] = []
    cost = 0.0
    moved: dict[int, int] = {}  # by register: the operand's register, for a broadcast that is left to NumPy
    for node in nodes:
        ins = [moved.get(i, i) for i in node.ins]
        if node.outs[0] in thin:
            if thin[node.outs[0]] in (specs[ins[0]].shape, ()):
                moved[node.outs[0]] = ins[0]
                continue
            if not all(isinstance(n, int) for n in thin[node.outs[0]]):
                raise Unsupported(f"{node.name}: lengths that are symbols")
            fn: Callable[..., Any] = reshaping(thin[node.outs[0]])
            call = None
        else:
            fn, call = ruled(flat, node, ins)
        if (
            all(i in known for i in ins)
            and node.name not in _LOOPS
            and sum(specs[o].size for o in node.outs) <= policy.FOLDED
        ):
            found = fn(*[known[i] for i in ins])
            for o, value in zip(node.outs, found if len(node.outs) > 1 else [found], strict=True):
                known[o] = np.asarray(value)
                known[o].flags.writeable = False
            continue
        cost += call.cost if call is not None else 0.0
        made = Node(node.name, node.params, ins, node.outs)
        steps.append((step_of(fn, ins, node.outs), made))
    found, nbytes = freeing([spec.size * spec.dtype.itemsize for spec in flat.specs], steps, set(outs))
    return found, cost, nbytes


def reshaping(shape: tuple[int, ...]) -> Callable[[Any], Any]:
    """Return a function that gives its operand another shape."""
    return lambda x: x.reshape(shape)


def ruled(
    flat: Flat,
    node: Node,
    ins: list[int],
    known_specs: Sequence[Spec] | None = None,
    inner: Callable[[Any], Block] | None = None,
) -> tuple[Callable[..., Any], Call]:
    """Return the function of a node and its `Call`; ``known_specs`` has the lengths as numbers."""
    # Shapes are those of the jaxpr; only elementwise rules, which do not read them, get smaller arrays.
    all_specs = known_specs or flat.specs
    specs, outs = [all_specs[i] for i in node.ins], [all_specs[o] for o in node.outs]
    if node.name not in ANY_SHAPE and not all(spec.is_known for spec in (*specs, *outs)):
        raise Unsupported(f"{node.name}: lengths that are symbols")
    known = [flat.known.get(i) for i in ins]
    call = Call(node.name, node.params, specs, outs, known, inner or (lambda jaxpr: Block(jaxpr, flat.lengths)))
    if all(spec.is_known and not spec.size and not spec.key for spec in outs):
        empty = [np.empty(spec.shape, spec.dtype) for spec in outs]
        return (lambda *_: empty if len(empty) > 1 else empty[0]), call
    found = RULES.get(node.name)
    if found is None:
        raise Unsupported(node.name)
    try:
        return found(call), call
    except KeyError as error:
        raise Unsupported(f"{node.name}: a variant that is not known here, without {error}") from error


def live(flat: Flat, outs: list[int]) -> tuple[list[Node], dict[int, list[Node]]]:
    """Return the nodes that `outs` need, in order, and the readers of each register."""
    readers: dict[int, list[Node]] = {i: [] for i in outs}
    kept = []
    for node in reversed(flat.nodes):
        if any(o in readers for o in node.outs):
            kept.append(node)
            for i in node.ins:
                readers.setdefault(i, []).append(node)
    return kept[::-1], readers


def thin_broadcasts(
    flat: Flat, nodes: list[Node], readers: dict[int, list[Node]], outs: set[int]
) -> dict[int, tuple[int, ...]]:
    """Return the broadcasts whose readers broadcast by themselves, with the shape before the broadcast."""
    makers = {n.outs[0]: n for n in nodes if n.name == "broadcast_in_dim" and not flat.specs[n.outs[0]].key}
    thin = {}
    for register, node in makers.items():
        if (
            register not in outs
            and len(node.ins) == 1
            and all(_broadcasts(flat, makers, register, n) for n in readers[register])
        ):
            before = flat.specs[node.ins[0]].shape
            shape = [1] * len(flat.specs[register].shape)
            for axis, length in zip(node.params["broadcast_dimensions"], before, strict=True):
                shape[axis] = length
            thin[register] = tuple(shape) if before else ()
    return thin


def _broadcasts(flat: Flat, makers: dict[int, Node], register: int, node: Node) -> bool:
    """Return whether `node` gives the right shape even if `register`, and all other broadcasts, stay small."""
    if node.name not in elementwise.BROADCASTING:
        return False
    full = [flat.specs[i].shape for i in node.ins if i != register and i not in makers]
    return flat.specs[node.outs[0]].shape in full


def step_of(fn: Callable[..., Any], ins: list[int], outs: list[int]) -> Step:
    """Return the closure that runs `fn` on registers."""
    if len(outs) != 1:

        def several(env: list[Any]) -> None:
            for o, value in zip(outs, fn(*[env[i] for i in ins]), strict=True):
                env[o] = value

        return several
    (o,) = outs
    if len(ins) == 1:
        (a,) = ins

        def unary(env: list[Any]) -> None:
            env[o] = fn(env[a])

        return unary
    if len(ins) == 2:
        a, b = ins

        def binary(env: list[Any]) -> None:
            env[o] = fn(env[a], env[b])

        return binary

    def general(env: list[Any]) -> None:
        env[o] = fn(*[env[i] for i in ins])

    return general


def freeing(sizes: Sequence[Any], steps: list[tuple[Step, Node]], outs: set[int]) -> tuple[list[Step], Any]:
    """Return the steps, with others in between that release large values which are not read any more.

    ``sizes`` are the bytes of all registers. Return also the largest number of bytes of values at one time; a view
    counts as a value.
    """
    last: dict[int, int] = {}
    made = set()
    for number, (_, node) in enumerate(steps):
        last.update(dict.fromkeys((*node.ins, *node.outs), number))
        made.update(node.outs)
    dead: dict[int, list[int]] = {}
    for register, number in last.items():
        if register in made and register not in outs and sizes[register] > policy.FREED:
            dead.setdefault(number, []).append(register)
    found: list[Step] = []
    now = most = sum([size for register, size in enumerate(sizes) if register not in made])
    for number, (step, node) in enumerate(steps):
        found.append(step)
        now += sum([sizes[register] for register in node.outs])
        most = max(most, now)
        if number in dead:
            found.append(_letting_go(dead[number]))
            now -= sum([sizes[register] for register in dead[number]])
    return found, most


def _letting_go(registers: list[int]) -> Step:
    def step(env: list[Any]) -> None:
        for i in registers:
            env[i] = None

    return step


# Control flow: primitives whose jaxprs may run more or less often than once.

_LOOPS = frozenset({"while", "scan", "cond"})


@rule("cond")
def _cond(call: Call) -> Callable[..., Any]:
    blocks = [call.inner(branch) for branch in call.params["branches"]]
    call.cost = max(block.cost for block in blocks)
    most, single = len(blocks) - 1, len(call.outs) == 1

    def run(index: np.generic | np.ndarray, *args: Any) -> Any:
        outs = blocks[min(max(int(index), 0), most)](*args)
        return outs[0] if single else outs

    return run


@rule("while")
def _while(call: Call) -> Callable[..., Any]:
    params = call.params
    condition, body = call.inner(params["cond_jaxpr"]), call.inner(params["body_jaxpr"])
    first, second = params["cond_nconsts"], params["cond_nconsts"] + params["body_nconsts"]
    call.cost, single = math.inf, len(call.outs) == 1

    def run(*args: np.ndarray) -> Any:
        tested, given, carry = args[:first], args[first:second], list(args[second:])
        while condition(*tested, *carry)[0]:
            carry = body(*given, *carry)
        return carry[0] if single else carry

    def run_batch(*args: Any) -> Any:
        """Run many loops at once, each until its own condition is False."""
        tested, given, carry = args[:first], args[first:second], list(args[second:])
        while (going := np.asarray(condition(*tested, *carry)[0])).any():
            masks = [going.reshape(going.shape + (1,) * (np.ndim(x) - going.ndim)) for x in carry]
            carry = [np.where(m, new, old) for m, new, old in zip(masks, body(*given, *carry), carry, strict=True)]
        return carry[0] if single else carry

    return run_batch if params["cond_jaxpr"].out_avals[0].shape else run


@rule("scan")
def _scan(call: Call) -> Callable[..., Any]:
    params = call.params
    body, length = call.inner(params["jaxpr"]), params["length"]
    if "ft_in" in params:  # from jax 0.12 on: trees of constants, carry and rows
        given, carried = map(len, params["ft_in"].unpack()[:2])
    else:
        given, carried = params["num_consts"], params["num_carry"]
    order = range(length - 1, -1, -1) if params["reverse"] else range(length)
    stacks = [(out.shape, out.dtype) for out in call.outs[carried:]]
    call.cost, single = length * body.cost, len(call.outs) == 1

    def run(*args: Any) -> Any:
        consts, carry, xs = args[:given], args[given : given + carried], args[given + carried :]
        ys = [np.empty(shape, dtype) for shape, dtype in stacks]
        for i in order:
            found = body(*consts, *carry, *[x[i] for x in xs])
            carry = found[:carried]
            for y, value in zip(ys, found[carried:], strict=True):
                y[i] = value
        return (*carry, *ys)[0] if single else (*carry, *ys)

    return run


@rule("igamma_grad_a")
def _igamma_grad_a(call: Call) -> Fn:
    """Return the derivative by implicit differentiation: dP/da = -dx/da * density, where JAX has a series for dx/da."""

    def series(a: Any, x: Any) -> Any:
        moved: Any = lax.random_gamma_grad(a, x)  # type: ignore[call-arg]  # a wrapper hides its signature
        return -moved * lax.exp((a - 1) * lax.log(x) - x - lax.lgamma(a))

    with jax.enable_x64(True):
        aval = jax.ShapeDtypeStruct(call.shape, np.float64)
        block = Block(jax.make_jaxpr(series)(aval, aval))
    dtype = call.dtype
    call.cost = block.cost

    def run(a: Any, x: Any) -> Any:
        found = block(a.astype(np.float64), x.astype(np.float64))[0]
        return np.where((x == 0) & (a > 0), 0.0, found).astype(dtype)

    return run
