"""Operators that the engine makes of others, and functions that run any operator.

A :class:`DerivedOp` has the interface of ``gluonx.ops.BoundOp``: a function on arrays, hashed by identity, with slots
for the engine's caches. Traced blocks, pull-backs, optimizer updates and functions from JAX are DerivedOps.

:func:`strong` returns the function that programs call: it removes JAX's weak types, so that dtypes alone describe
values. :func:`run_alone` compiles an operator and runs it at once. :func:`pullback_of` derives the operator that maps
(inputs, cotangents) to the inputs' cotangents by recomputing the forward.

They set JAX's x64 switch. It is on for an operator that asks for it (``wide``) or has a 64-bit input, and as the user
left it for every other operator, also inside of a program that is traced with the switch on.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, NamedTuple
from weakref import WeakSet

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Sharding
from jax.typing import ArrayLike

from gluonx.common import policy
from gluonx.common.frames import telling
from gluonx.common.process import uncollected
from gluonx.deferred.operators import lengths
from gluonx.deferred.values import interrupts, program_cache
from gluonx.deferred.values.contracts import HasDType, Operator, Recorded
from gluonx.deferred.values.core import Aval, Tracer, intern_aval, tracing
from gluonx.deferred.values.program_cache import Cache
from gluonx.dtype import WIDE, keeping_64_bits, kept_by_us, without_64_bits
from gluonx.ops import prng
from gluonx.ops.checks import Index, MatrixCheck
from gluonx.ops.cpu import compiler
from gluonx.ops.cpu.convolution import for_cpu, lowering_in_force, native_only, native_operations
from gluonx.ops.cpu.rewriting import rewritten
from gluonx.ops.host.kernels import kernel_of, products_of
from gluonx.ops.host.lengths import Lengths
from gluonx.ops.host.pullbacks import pullback_kernel
from gluonx.ops.registry import BoundOp, Lifted
from gluonx.sharding import is_spread, replicated

__all__ = [
    "PLAIN",
    "SPECIAL",
    "any_shapes",
    "DerivedOp",
    "Inner",
    "Pin",
    "cuts_tape",
    "has_any_length",
    "jaxpr_of",
    "lowered_alone",
    "WIDENING",
    "needs_64_bits",
    "out_avals",
    "pin",
    "prepare",
    "program_of",
    "pullback_of",
    "run_alone",
    "strong",
]

PLAIN, SPECIAL = "plain", "special"


class Integers:
    """The switch for gradients of integers, see :mod:`gluonx.deferred.record.integers`."""

    move = False
    plain: ClassVar[WeakSet[Operator]] = WeakSet()  # those that were marked as ordinary, which the switch undoes


# Functions that tell whether NumPy runs recorded work first; `gluonx.deferred.run.host` adds one.
numpy_is_first: list[Callable[[], bool]] = []
ADAPTED: set[str] = set()  # names of the operators in the policies of gluonx.deferred.operators.amp_policy


class Inner(NamedTuple):
    """The trace of a block, from which an operator is made.

    ``kept`` lists the inputs of ``closed`` that the operator takes; the others are zeros that nobody reads.
    """

    closed: Any
    kept: tuple[int, ...]


class DerivedOp:
    """An operator made by the engine from a pure function on arrays.

    ``steady`` tells that the function depends on nothing but its arguments, not even on arrays or tracers that it
    closes over; then it is traced once for each kind of input (see `strong`). ``any_length`` tells the same, and that
    it asks for no length of its arguments (:mod:`gluonx.deferred.operators.lengths`). ``wide`` tells that it needs
    64-bit types also where no input is of such a type. ``numpy_kernel`` is the same function on NumPy arrays, and
    ``work`` the number of elements that it touches (see :mod:`gluonx.ops.host.kernels`); ``pullback`` is its rule as in
    :mod:`gluonx.ops.host.pullbacks`. An operator that is not ``interpreted``, such as one that several devices compute
    together, is always compiled by XLA. An operator that is ``composed`` of many others is rewritten for a CPU before
    it is compiled alone (:mod:`gluonx.ops.cpu.rewriting`). ``within`` holds the trace of a block; see
    :mod:`gluonx.deferred.operators.linking`.
    """

    __slots__ = (
        "__weakref__", "any_length", "attrs", "cache", "composed", "eager", "extra", "families", "fn", "gathers",
        "host", "interpreted", "n_live", "name", "nbytes", "numpy_kernel", "products", "pullback", "random", "shapes",
        "steady", "told", "traced", "usage", "vjp", "wide", "within", "work",
    )  # fmt: skip
    needs_mode = exact = False
    crosses = False  # whether its inputs may lie on several devices
    index: Index | None = None
    matrix: MatrixCheck | None = None

    def __init__(
        self,
        name: str,
        fn: Callable[..., Any],
        extra: Any = None,
        n_live: int | None = None,
        wide: bool = False,
        numpy_kernel: Callable[..., Any] | None = None,
        work: Callable[..., int] | None = None,
        interpreted: bool = True,
        any_length: bool = False,
        pullback: Callable[..., Any] | None = None,
    ) -> None:
        self.name = name
        self.wide = wide
        self.n_live = n_live  # gradients flow through this many outputs, the first ones; None: all
        self.fn = fn
        self.numpy_kernel, self.work, self.interpreted = numpy_kernel, work, interpreted
        self.products = 0  # see gluonx.ops.host.kernels.products_of
        self.pullback = pullback
        self.composed = False
        self.attrs: dict[str, Any] = {}
        self.random = False
        self.extra = extra
        self.cache: str | None = None
        if not Integers.move:
            mark_as_plain(self)
        self.steady, self.any_length = False, any_length
        self.eager: Any = None
        self.traced: Any = None
        self.vjp: Any = None
        self.shapes: Any = None
        self.families: Any = None
        self.within: Inner | None = None
        self.told: tuple[list[Any], tuple[Any, ...]] | None = None  # of what is traced: its inputs and outputs
        self.host: Any = None
        self.gathers: frozenset[Any] = frozenset()  # variables of weights that it gathers itself, where it uses them
        self.usage: Any = None  # see gluonx.deferred.values.program_cache
        self.nbytes = program_cache.PROGRAM  # the estimated size of one program of it

    def in_mode(self, training: bool) -> DerivedOp:
        """Return the same operator: the mode does not matter."""
        return self

    def infer(self, shapes: list[Any]) -> list[Any]:
        """Return the shapes as they are: nothing more is known of parameters here."""
        return list(shapes)

    infer_weights = infer

    def __repr__(self) -> str:
        return self.name


class Pin(DerivedOp):
    """The identity, whose result has the given `sharding`."""

    __slots__ = ("sharding",)

    def __init__(self, sharding: Sharding) -> None:
        super().__init__("pin", lambda x: jax.lax.with_sharding_constraint(x, sharding))
        self.sharding = sharding
        self.steady = True


pin = program_cache.once(Pin)


class Pullback(DerivedOp):
    """The pull-back of a segment whose values lie on devices that share one JAX device.

    ``homes`` are the shardings of its outputs, equal to those of the inputs whose gradients they are; None if all
    inputs have the same one. ``replayed`` is the program whose forward it computes again; None if it takes residuals.
    """

    __slots__ = ("crosses", "homes", "replayed")

    def __init__(
        self,
        name: str,
        fn: Callable[..., Any],
        wide: bool,
        homes: Sequence[Sharding | None] | None,
        replayed: Any = None,
    ) -> None:
        super().__init__(name, fn, wide=wide, interpreted=homes is None)
        self.homes, self.composed, self.crosses, self.replayed = homes, True, homes is not None, replayed

    def output_shardings(self, inputs: tuple[Any, ...], count: int) -> list[Any]:
        """Return the sharding of each output; an empty list if all are those of the inputs."""
        return list(self.homes or ())


def cuts_tape(op: Operator) -> bool:
    """Return whether no gradient flows through `op`."""
    return op.name == "stop_gradient"


def prepare(op: Operator) -> str:
    """Mark an operator as ordinary, or as special: its mode, key or casts must be filled in, or its values checked."""
    adapted = ADAPTED and op.name.partition("(")[0].removeprefix("np.") in ADAPTED
    looked_at = op.index is not None or op.matrix is not None
    if op.needs_mode or op.random or adapted or looked_at or Integers.move:
        op.cache = SPECIAL
        return SPECIAL
    return mark_as_plain(op)


def mark_as_plain(op: Operator) -> str:
    """Mark an operator as ordinary, until :attr:`Integers.move` is set."""
    Integers.plain.add(op)
    op.cache = PLAIN
    return PLAIN


def _check_size(value: ArrayLike) -> None:
    """Raise for results that XLA would not refuse but crash on: negative lengths, more bytes than can be counted."""
    shape = np.shape(value)
    known = [n for n in shape if isinstance(n, int)]  # the other lengths are symbolic
    if any(n < 0 for n in known):
        raise ValueError(f"negative dimensions are not allowed, but the result would have shape {shape}")
    if len(known) == len(shape) and math.prod(known) * getattr(getattr(value, "dtype", None), "itemsize", 1) >= 1 << 63:
        raise ValueError(f"the result of shape {shape} would have more bytes than can be counted")


def _strip(value: Any) -> Any:
    _check_size(value)
    if getattr(value, "weak_type", False):
        return jax.lax.convert_element_type(value, np.dtype(value.dtype))
    return value if isinstance(value, (jax.Array, Tracer)) else jnp.asarray(value)


def strong(op: Operator) -> Callable[..., Any]:
    """Return the function of `op` without weak types in its outputs.

    A random one takes (root words, index) instead of the key.

    For operators that are always the same function (those of the registry, and ``steady`` ones) it is one jitted
    function, so a net of fifty equal layers is traced, differentiated and lowered like one layer. XLA inlines it.
    """
    if not getattr(op, "steady", True):
        return _switching(op, _function(op))
    lowering = lowering_in_force()
    found = op.traced
    if found is None:
        found = op.traced = {}
    run = found.get(lowering)
    if run is None:
        run = found[lowering] = _switching(op, _jitted(op, program_cache.TRACE))
    return run


def needs_64_bits(op: Recorded, args: Sequence[HasDType | None]) -> bool:
    """Return whether `op` on these arrays, avals or typed scalars computes in 64-bit types."""
    if op.wide:
        return True
    dtypes = {a.dtype for a in args if a is not None}
    return not dtypes.isdisjoint(WIDE) or (_UINT32 in dtypes and _meets_signed(op, dtypes))


_UINT32 = np.dtype(np.uint32)
WIDENING = WIDE | {_UINT32}
"""The types of inputs that may need 64-bit arithmetic; uint32 is one, because with signed integers it becomes int64."""


def _meets_signed(op: Recorded, dtypes: set[np.dtype]) -> bool:
    """Return whether `op` promotes uint32 and a signed integer among its inputs to a common type.

    Operators of the registry may. A program of ours has the switch set for each of its operators, and a random operator
    has the uint32 words of a key.
    """
    return getattr(op, "promotes", False) and not op.random and any(d.kind == "i" for d in dtypes)


def _switching(op: Operator, fn: Callable[..., Any]) -> Callable[..., Any]:
    def switched(*args: jax.Array | None) -> Any:
        with keeping_64_bits() if needs_64_bits(op, args) else without_64_bits():
            return fn(*args)

    return switched


def _function(op: Operator, traced: Callable[[], None] = lambda: None) -> Callable[..., Any]:
    """Return the function of `op` without weak types in its outputs; it calls `traced` whenever JAX traces it."""
    fn = op.fn
    if op.random:
        base = fn

        def fn(root: Any, index: Any, *args: jax.Array | None) -> Any:
            return base(prng.wrap(root, index), *args)

    def run(*args: jax.Array | None) -> Any:
        traced()
        with telling():  # JAX converts numbers while it traces
            out = fn(*args)
        if type(out) in (tuple, list):
            return tuple([_strip(o) for o in out])
        return _strip(out)

    return run


def program_of(op: Operator) -> Any:
    """Return the jitted function of `op` alone."""
    compiled = op.eager
    if compiled is None:
        compiled = op.eager = _jitted(op, getattr(op, "nbytes", program_cache.PROGRAM), 1)
    return compiled


def _jitted(op: Operator, nbytes: int, programs: int = 0) -> Any:
    """Return the function of `op` under ``jax.jit``; each of its traces is counted as `nbytes` of memory."""

    def traced() -> None:
        if tracing.depth:
            interrupts.hold_alone()
        program_cache.add(nbytes, op, programs)

    run = _function(op, traced)
    options = None
    if programs and getattr(op, "composed", False) and jax.default_backend() == "cpu":
        run = _rewriting(run)
        within = getattr(op, "within", None)
        options = None if within is None else compiler.options_of(within.closed)
    run.__name__ = run.__qualname__ = op.name
    if programs and type(op) is Pullback and op.homes is not None:
        default = jax.sharding.SingleDeviceSharding(jax.local_devices()[0])
        return jax.jit(run, out_shardings=tuple([home or default for home in op.homes]))
    return jax.jit(run, compiler_options=options)


def _rewriting(fn: Callable[..., Any]) -> Callable[..., Any]:
    """Return `fn` rewritten so that XLA compiles it sooner for a CPU."""

    def run(*args: jax.Array | None) -> Any:
        from jax.extend.core import jaxpr_as_fun

        closed, outs = jax.make_jaxpr(fn, return_shape=True)(*args)
        compute = rewritten(closed) or jaxpr_as_fun(closed)
        return jax.tree.unflatten(jax.tree.structure(outs), compute(*jax.tree.leaves(args)))

    return run


def jaxpr_of(op: Operator, structs: Sequence[Any]) -> Any:
    """Return ``jax.jit(...).trace`` of `op` on such inputs, without leaving anything in JAX's caches."""
    program_cache.add(program_cache.TRACE, op)
    with interrupts.held(), tracing:
        return jax.jit(_function(op)).trace(*structs)


def run_alone(op: Operator, inputs: Sequence[Any], wide: bool | None = None) -> Any:
    """Run `op` on these values by a program of its own; JAX caches it by their avals.

    ``wide`` says whether it needs 64-bit types; without it, `needs_64_bits` is asked.
    """
    compiled = op.eager or program_of(op)
    usage = op.usage
    if usage is not None:
        usage.used = Cache.now
    if wide is None:
        wide = needs_64_bits(op, inputs)
    tracing.depth += 1
    try:
        if wide:
            with keeping_64_bits():
                return compiled(*inputs)
        if kept_by_us():
            with without_64_bits():
                return compiled(*inputs)
        return compiled(*inputs)
    except BaseException as error:
        if interrupts.is_cause(error):
            _renew(op)
        raise
    finally:
        tracing.depth -= 1
        if interrupts.CtrlC.alone:
            interrupts.let_go()


def lowered_alone(op: Operator, inputs: Sequence[Any], wide: bool) -> Any:
    """Return what JAX lowers the program of :func:`run_alone` to, for inputs of such shapes and dtypes.

    Once that is compiled, `run_alone` finds it.
    """
    narrow = not wide and kept_by_us()
    structs = [None if v is None else jax.ShapeDtypeStruct(v.shape, v.dtype) for v in inputs]
    with interrupts.held(), tracing, without_64_bits() if narrow else keeping_64_bits(wide):
        try:
            return program_of(op).lower(*structs)
        except BaseException:
            _renew(op)
            raise


def _renew(op: Operator) -> None:
    """Forget the jitted function of `op`, in which JAX was interrupted.

    JAX keeps no result for what it was lowering at that moment, and would compile it again at each call.
    """
    if op.usage is not None and op.usage.programs:
        op.eager = None


def out_avals(op: Operator, inputs: tuple[Any, ...]) -> tuple[bool, tuple[Aval, ...]]:
    """Return whether `op` returns a single array (not a tuple), and the avals of all outputs.

    `inputs` are Avals, ScalarSlots or None.
    """
    shapes = op.shapes
    if shapes is None:
        shapes = op.shapes = {}
        program_cache.add_known(op)
    found = shapes.get(inputs)
    if found is None:
        structs = [None if a is None else a.struct for a in inputs]
        out: Any = _told(op, structs)
        numpy_first = out is None and any(is_on() for is_on in numpy_is_first)
        if numpy_first:
            out = _shaped(op, structs)
        if out is None:
            out = _shapes_of(op, inputs, structs)
        single = type(out) is not tuple
        found = (out,) if single else out
        of_devices = getattr(op, "output_shardings", None)
        shardings = None if of_devices is None else of_devices(inputs, len(found))
        shardings = shardings or [_placement_of(op, inputs)] * len(found)
        outs = tuple([intern_aval(o.shape, np.dtype(o.dtype), p) for o, p in zip(found, shardings, strict=True)])
        found = shapes[inputs] = (single, outs)
    return found


def _shaped(op: Operator, structs: list[Any]) -> Any:
    """Return the outputs of an operator's NumPy kernel for small arrays of zeros.

    None if it has none, or if that refuses.

    A kernel gives the shapes and types of the operator. Running it takes microseconds, tracing the operator
    milliseconds.
    """
    found = None if op.random or op.wide else kernel_of(op)
    if found is None or sum([math.prod(s.shape) for s in structs if s is not None]) > policy.TRIED:
        return None
    zeros = [None if s is None else np.zeros(s.shape, s.dtype) for s in structs]
    try:
        with np.errstate(all="ignore"), keeping_64_bits(needs_64_bits(op, zeros)):
            out = found[0](*zeros)
    except Exception:  # the trace raises the proper error
        return None
    return None if out is NotImplemented else out


def _shapes_of(op: Operator, inputs: tuple[Any, ...], structs: list[Any]) -> Any:
    """Return the shapes and dtypes of an operator's outputs by a trace."""
    # The trace for the shapes also serves NumPy's first runs.
    numpy_first = any(is_on() for is_on in numpy_is_first)
    wide, sharding = needs_64_bits(op, inputs), _placement_of(op, inputs)
    platform = jax.default_backend() if sharding is None else next(iter(sharding.device_set)).platform
    native, on_cpu = numpy_first or native_only(), not numpy_first and platform == "cpu"
    with (
        interrupts.held(),
        uncollected(),
        keeping_64_bits(wide),
        native_operations(native),
        for_cpu(on_cpu, several=is_spread(sharding)),
    ):
        if numpy_first and not wide and has_any_length(op):
            return any_shapes(op, structs)
        return jax.eval_shape(strong(getattr(op, "like", op)), *structs)


def has_any_length(op: Operator) -> bool:
    """Return whether an operator may be traced with symbolic lengths: it is gluonx's, and not a user's Python."""
    kind = op.__class__
    if kind is BoundOp or kind is Lifted:
        return op.op.fn.__module__.startswith(_OURS)  # type: ignore[attr-defined]
    return kind is DerivedOp and op.any_length  # type: ignore[attr-defined]


_OURS = ("gluonx.", "jax.")


def any_shapes(op: Operator, structs: Sequence[Any]) -> Any:
    """Return the outputs of an operator like `jax.eval_shape`, by one trace for all lengths."""
    made, numbers = lengths.found(op, structs, "shapes", functools.partial(_traced_shapes, op), _same_shapes)
    return made.of(numbers) if numbers else made.outs


class _Shapes(NamedTuple):
    names: tuple[str, ...]
    outs: Any

    def of(self, numbers: lengths.Numbers) -> Any:
        """Return the outputs when the symbols have these values."""
        known = Lengths(self.names, numbers)
        return jax.tree.map(lambda out: jax.ShapeDtypeStruct(known.shape(out.shape), out.dtype), self.outs)


def _traced_shapes(op: Operator, kind: lengths.Kind) -> _Shapes:
    return _Shapes(kind.names, jax.eval_shape(strong(op), *kind.structs))


def _same_shapes(made: _Shapes, kind: lengths.Kind, numbers: lengths.Numbers, exact: _Shapes) -> bool:
    one, two = jax.tree.leaves(made.of(numbers)), jax.tree.leaves(exact.outs)
    return [(o.shape, o.dtype) for o in one] == [(o.shape, o.dtype) for o in two]


def _told(op: Operator, structs: list[Any]) -> tuple[Any, ...] | None:
    """Return the outputs of an operator that was itself traced for such inputs; None for any other."""
    told = getattr(op, "told", None)
    if told is None or [(s.shape, s.dtype) for s in told[0]] != [
        None if s is None else (s.shape, s.dtype) for s in structs
    ]:
        return None
    return told[1]


def _placement_of(op: Operator, inputs: tuple[Any, ...]) -> Any:
    """Return what is known of the placement of results: a mesh, or a single device that is not the default."""
    if isinstance(op, Pin):
        return op.sharding
    placed = [a for a in inputs if isinstance(a, Aval) and a.sharding is not None]
    return next((replicated(a.sharding) for a in placed if a.spread), placed[0].sharding if placed else None)


def zero_cotangent(aval: Aval) -> Any:
    """Zeros of the type that JAX wants as the cotangent of a value of `aval`."""
    return jnp.zeros(aval.shape, aval.dtype) if aval.inexact else np.zeros(aval.shape, jax.dtypes.float0)


def pullback_of(op: Operator, diff: tuple[int, ...], n_inputs: int, given: tuple[bool, ...]) -> DerivedOp:
    """Return the operator (inputs..., given cotangents...) -> cotangents of the inputs numbered `diff`.

    It recomputes `op`, so it is itself differentiable in all its inputs; ``given`` says which outputs have a cotangent.
    """
    cache = op.vjp
    if cache is None:
        cache = op.vjp = {}
    key = (diff, n_inputs, given)
    found = cache.get(key)
    if found is None:

        def pull(*args: jax.Array) -> tuple[Any, ...]:
            run = strong(op)  # of the lowering in force now
            inputs, cotangents = list(args[:n_inputs]), tuple(args[n_inputs:])

            def forward(*moving: jax.Array) -> Any:
                for i, m in zip(diff, moving, strict=True):
                    inputs[i] = m
                out = run(*inputs)
                # The other outputs are not differentiated: a zero cotangent times an infinite slope would be NaN.
                return tuple(itertools.compress(out if type(out) is tuple else (out,), given))

            return jax.vjp(forward, *[inputs[i] for i in diff])[1](cotangents)

        composed = getattr(op, "composed", False)
        found = cache[key] = DerivedOp(
            f"grad({op.name})", pull, wide=op.wide, interpreted=getattr(op, "interpreted", True)
        )
        found.nbytes = getattr(op, "nbytes", found.nbytes)
        found.composed = composed
        found.numpy_kernel, found.work = pullback_kernel(op, diff, n_inputs, given) or (None, None)
        found.products = products_of(op)
    return found
