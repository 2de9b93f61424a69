"""Operators that the engine makes of others, and how any operator is run.

A :class:`DerivedOp` quacks like ``gluonx.ops.BoundOp``: a function on arrays, hashable by identity, with the engine's
caches on it. Traced blocks, pull-backs, optimizer updates and functions from JAX are all of this kind.

:func:`strong` gives the function that programs really call: it removes JAX's weak types, so that a value's dtype is all
that there is to know about it; :func:`run_alone` compiles it and runs it at once; :func:`pullback_of` derives the
operator that maps (inputs, cotangents) to the inputs' cotangents by recomputing the forward.

Both functions see to JAX's x64 switch. It is on for an operator that says so (``wide``) or that has a 64-bit input, and
as the user left it for every other one, also inside of a program that is traced with the switch on.
"""

from __future__ import annotations

import functools
import itertools
import math
import operator
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Sharding
from jax.typing import ArrayLike

from gluonx.common.frames import telling
from gluonx.common.process import uncollected
from gluonx.deferred import program_cache
from gluonx.deferred.contracts import HasDType, Operator, Recorded
from gluonx.deferred.core import Aval, Tracer, intern_aval, tracing
from gluonx.deferred.program_cache import Cache
from gluonx.dtype import WIDE, keeping_64_bits, kept_by_us, without_64_bits
from gluonx.errors import DeviceError
from gluonx.ops import prng
from gluonx.ops.checks import Index, MatrixCheck
from gluonx.ops.cpu.convolution import native_forms, native_only
from gluonx.ops.cpu.rewriting import rewritten
from gluonx.sharding import replicated

__all__ = [
    "PLAIN",
    "SPECIAL",
    "DerivedOp",
    "Joint",
    "Pin",
    "Together",
    "cuts_tape",
    "jaxpr_of",
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
    """The switch for gradients of integers, see :mod:`gluonx.deferred.integers`."""

    move = False


numpy_is_first: list[
    Callable[[], bool]
] = []  # says if NumPy runs first what is recorded; `gluonx.deferred.host` adds it
ADAPTED: set[str] = set()  # names of operators that some policy of gluonx.deferred.amp_policy speaks of


class DerivedOp:
    """An operator made by the engine from a pure function on arrays.

    ``steady`` tells that the function depends on nothing but its arguments, not even on arrays or tracers that it
    closes over; then it is traced once for each kind of input (see `strong`). ``wide`` tells that it needs 64-bit types
    also where no input is of such a type. ``form`` is the same function on NumPy arrays, and ``work`` the number of
    elements that it touches (see :mod:`gluonx.ops.host.forms`); what is not ``interpreted``, such as what several
    devices do together, XLA compiles in any case. What is ``composed`` of many operators is rewritten for a CPU before
    it is compiled alone (:mod:`gluonx.ops.cpu.rewriting`).
    """

    __slots__ = (
        "__weakref__", "attrs", "cache", "composed", "eager", "extra", "fn", "form", "gathers", "host", "interpreted",
        "n_live", "name", "nbytes", "random", "shapes", "steady", "told", "traced", "usage", "vjp", "wide", "work",
    )  # fmt: skip
    needs_mode = exact = False
    index: Index | None = None
    matrix: MatrixCheck | None = None

    def __init__(
        self,
        name: str,
        fn: Callable[..., Any],
        extra: Any = None,
        n_live: int | None = None,
        wide: bool = False,
        form: Callable[..., Any] | None = None,
        work: Callable[..., int] | None = None,
        interpreted: bool = True,
    ) -> None:
        self.name = name
        self.wide = wide
        self.n_live = n_live  # gradients flow through this many outputs, the first ones; None: all
        self.fn = fn
        self.form, self.work, self.interpreted = form, work, interpreted
        self.composed = False
        self.attrs: dict[str, Any] = {}
        self.random = False
        self.extra = extra
        self.cache: str | None = None if Integers.move else PLAIN
        self.steady = False
        self.eager: Any = None
        self.traced: Any = None
        self.vjp: Any = None
        self.shapes: Any = None
        self.told: tuple[list[Any], tuple[Any, ...]] | None = None  # of what is traced: its inputs and outputs
        self.host: Any = None
        self.gathers: frozenset[Any] = frozenset()  # variables of weights that it gathers itself, where it uses them
        self.usage: Any = None  # see gluonx.deferred.program_cache
        self.nbytes = program_cache.PROGRAM  # what a program of it takes

    def in_mode(self, training: bool) -> DerivedOp:
        """Return the same operator: the mode plays no part."""
        return self

    def infer(self, shapes: list[Any]) -> list[Any]:
        """Nothing is known of parameters' shapes here."""
        return list(shapes)

    infer_weights = infer

    def __repr__(self) -> str:
        return self.name


class Pin(DerivedOp):
    """The identity, with its result laid out by `sharding`."""

    __slots__ = ("sharding",)

    def __init__(self, sharding: Sharding) -> None:
        super().__init__("pin", lambda x: jax.lax.with_sharding_constraint(x, sharding))
        self.sharding = sharding
        self.steady = True


pin = program_cache.once(Pin)


class Joint(DerivedOp):
    """An operator on several devices at once: `replicas` times the same inputs, one after the other, then some for all.

    It applies `inner` to the inputs of each replica and to those for all. Without `inner` it is the sum over the
    replicas, and each of them is given the sum: ``total(replicas, axis, *arrays)`` computes it of the arrays of so many
    replicas, one after the other, and of those along an axis of a mesh, where it is given one. The results come replica
    by replica; those of a replica lie where its first input does. The operator's own function works where all replicas
    share a device; :mod:`gluonx.deferred.replicas` runs it on several.
    """

    __slots__ = ("inner", "replicas", "parts", "shared", "total")

    def __init__(
        self, replicas: int, inner: DerivedOp | None = None, shared: int = 0, total: Callable[..., Any] | None = None
    ) -> None:
        super().__init__("sum over devices" if inner is None else inner.name, self._apart, interpreted=False)
        self.replicas, self.inner, self.shared, self.total = replicas, inner, shared, total or _summed
        self.parts: dict[tuple[int, Any], DerivedOp] = {}
        self.wide = inner is not None and inner.wide
        self.steady = inner is None or inner.steady

    def replica(self, number: int, count: int) -> range:
        """Return the places of the inputs of a replica among `count` of all."""
        each = (count - self.shared) // self.replicas
        return range(number * each, (number + 1) * each)

    def places(self, inputs: tuple[Any, ...], count: int) -> list[Any]:
        """Return the sharding of each of the `count` outputs."""
        firsts = [inputs[self.replica(k, len(inputs))[0]].sharding for k in range(self.replicas)]
        return [place for place in firsts for _ in range(count // self.replicas)]

    def _apart(self, *args: jax.Array) -> tuple[Any, ...]:
        return self.part(self.replicas, None).fn(*args)

    def part(self, replicas: int, axis: str | None) -> DerivedOp:
        """Return the operator on so many replicas, which share a device; the others are along `axis` of a mesh."""
        found = self.parts.get((replicas, axis))
        if found is None:
            fn = (
                functools.partial(self.total, replicas, axis)
                if self.inner is None
                else self._replica_by_replica(replicas)
            )
            found = self.parts[replicas, axis] = DerivedOp(self.name, fn, wide=self.wide, interpreted=False)
        return found

    def _replica_by_replica(self, replicas: int) -> Callable[..., Any]:
        assert self.inner is not None, "a sum goes over all replicas at once"
        run, shared = self.inner.fn, self.shared

        def fn(*args: jax.Array) -> tuple[Any, ...]:
            each = (len(args) - shared) // replicas
            common = args[len(args) - shared :]
            return tuple([out for k in range(replicas) for out in run(*args[k * each : (k + 1) * each], *common)])

        return fn


class Pullback(DerivedOp):
    """The way back through a segment whose values lie on devices that share one of JAX's.

    ``homes`` are the shardings of its outputs, those of what each is the gradient of; None where all inputs lie alike.
    """

    __slots__ = ("homes",)

    def __init__(self, name: str, fn: Callable[..., Any], wide: bool, homes: Sequence[Sharding | None] | None) -> None:
        super().__init__(name, fn, wide=wide, interpreted=False)
        self.homes, self.composed = homes, True


class Together(DerivedOp):
    """An operator that each of `count` devices runs on a part of its own, and that looks at the parts of all.

    ``across(axis, *arrays)`` computes it along a named axis of these devices. Only a program of all of them has that
    axis (:mod:`gluonx.deferred.replicas`); whatever else would run the operator raises DeviceError with the text
    ``alone``. ``like`` is an operator that gives the same shapes.
    """

    __slots__ = ("across", "alone", "count", "like", "parts")
    spans = True  # see Node

    def __init__(self, name: str, across: Callable[..., Any], count: int, like: Operator, alone: str) -> None:
        super().__init__(name, self._alone, n_live=like.n_live, interpreted=False)
        self.across, self.count, self.like, self.alone = across, count, like, alone
        self.eager = self._alone
        self.parts: dict[str, DerivedOp] = {}

    def _alone(self, *args: jax.Array) -> NoReturn:
        raise DeviceError(self.alone)

    def part(self, axis: str) -> DerivedOp:
        """Return the operator on one device of a mesh with this axis."""
        found = self.parts.get(axis)
        if found is None:

            def run(*args: jax.Array) -> Any:
                if _length(axis) != self.count:  # some have no part, or do something else
                    raise DeviceError(self.alone)
                return self.across(axis, *args)

            found = self.parts[axis] = DerivedOp(self.name, run, n_live=self.n_live, interpreted=False)
        return found


def _length(axis: str) -> int:
    """Return the number of devices along an axis of the mesh that is being traced for; 0 where there is none."""
    try:
        return int(jax.lax.psum(1, axis))
    except NameError:
        return 0


def _summed(replicas: int, axis: str | None, *args: jax.Array) -> tuple[Any, ...]:
    each = len(args) // replicas
    sums = [functools.reduce(operator.add, args[j::each]) for j in range(each)]
    return (*(sums if axis is None else jax.lax.psum(sums, axis)),) * replicas


def cuts_tape(op: Operator) -> bool:
    """Return whether no gradient flows through `op`."""
    return op.name == "stop_gradient"


def prepare(op: Operator) -> str:
    """Mark an operator as ordinary, or as special: mode, key or casts are to be filled in, or values looked at."""
    adapted = ADAPTED and op.name.partition("(")[0].removeprefix("np.") in ADAPTED
    looked_at = op.index is not None or op.matrix is not None
    op.cache = SPECIAL if op.needs_mode or op.random or adapted or looked_at or Integers.move else PLAIN
    return op.cache


def _check_size(value: ArrayLike) -> None:
    """Raise for results that XLA would not refuse, but die of: negative lengths, more bytes than can be counted."""
    shape = np.shape(value)
    known = [n for n in shape if isinstance(n, int)]  # the others are symbolic
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
    """Return the function of `op` with strong types out; random ones take (root words, index) in place of the key.

    Of operators that mean the same each time (those of the registry, and what is ``steady``) it is one jitted function,
    so a net of fifty equal layers is traced, differentiated and lowered as one layer is. XLA inlines it.
    """
    if not getattr(op, "steady", True):
        return _switching(op, _function(op))
    native = native_only()
    found = op.traced
    if found is None:
        found = op.traced = {}
    run = found.get(native)
    if run is None:
        run = found[native] = _switching(op, _jitted(op, program_cache.TRACE))
    return run


def needs_64_bits(op: Recorded, args: Sequence[HasDType | None]) -> bool:
    """Return whether `op` on these arrays, avals or typed scalars computes in 64-bit types."""
    if op.wide:
        return True
    dtypes = {a.dtype for a in args if a is not None}
    return not dtypes.isdisjoint(WIDE) or (_UINT32 in dtypes and _meets_signed(op, dtypes))


_UINT32 = np.dtype(np.uint32)
WIDENING = WIDE | {_UINT32}
"""The types that may take 64 bits to compute with: beside a signed integer uint32 becomes int64."""


def _meets_signed(op: Recorded, dtypes: set[np.dtype]) -> bool:
    """Return whether `op` brings uint32 and a signed integer among its inputs to one type.

    Operators of the registry do. In a program of ours each sees to that itself, and a random one has the uint32 words
    of a key.
    """
    return getattr(op, "promotes", False) and not op.random and any(d.kind == "i" for d in dtypes)


def _switching(op: Operator, fn: Callable[..., Any]) -> Callable[..., Any]:
    def switched(*args: jax.Array | None) -> Any:
        with keeping_64_bits() if needs_64_bits(op, args) else without_64_bits():
            return fn(*args)

    return switched


def _function(op: Operator, traced: Callable[[], None] = lambda: None) -> Callable[..., Any]:
    """Return the function of `op` with strong types out, which calls `traced` as often as JAX traces it."""
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
    run = _function(op, lambda: program_cache.add(nbytes, op, programs))
    if programs and getattr(op, "composed", False) and jax.default_backend() == "cpu":
        run = _rewriting(run)
    run.__name__ = run.__qualname__ = op.name
    if programs and type(op) is Pullback and op.homes is not None:
        default = jax.sharding.SingleDeviceSharding(jax.local_devices()[0])
        return jax.jit(run, out_shardings=tuple([home or default for home in op.homes]))
    return jax.jit(run)


def _rewriting(fn: Callable[..., Any]) -> Callable[..., Any]:
    """Return `fn` as XLA compiles it sooner for a CPU."""

    def run(*args: jax.Array | None) -> Any:
        from jax.extend.core import jaxpr_as_fun

        closed, outs = jax.make_jaxpr(fn, return_shape=True)(*args)
        compute = rewritten(closed) or jaxpr_as_fun(closed)
        return jax.tree.unflatten(jax.tree.structure(outs), compute(*jax.tree.leaves(args)))

    return run


def jaxpr_of(op: Operator, structs: Sequence[Any]) -> Any:
    """Return what ``jax.jit(...).trace`` gives for `op` on such inputs; JAX keeps nothing of it."""
    program_cache.add(program_cache.TRACE, op)
    return jax.jit(_function(op)).trace(*structs)


def run_alone(op: Operator, inputs: Sequence[Any], wide: bool | None = None) -> Any:
    """Run `op` on these values by a program of its own; JAX caches it by their avals.

    ``wide`` tells whether that takes 64-bit types, as `needs_64_bits` does, which is asked otherwise.
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
    finally:
        tracing.depth -= 1


def out_avals(op: Operator, inputs: tuple[Any, ...]) -> tuple[bool, tuple[Aval, ...]]:
    """Return whether `op` gives one bare output, and the avals of all; `inputs` are Avals, ScalarSlots or None."""
    shapes = op.shapes
    if shapes is None:
        shapes = op.shapes = {}
    found = shapes.get(inputs)
    if found is None:
        structs = [None if a is None else a.struct for a in inputs]
        out: Any = _told(op, structs)
        if out is None:
            # What is traced for its shapes is what NumPy's first runs need.
            numpy_first = any(is_on() for is_on in numpy_is_first)
            with uncollected(), keeping_64_bits(needs_64_bits(op, inputs)), native_forms(numpy_first or native_only()):
                out = jax.eval_shape(strong(op.like if type(op) is Together else op), *structs)
        single = type(out) is not tuple
        found = (out,) if single else out
        if type(op) is Joint:
            places = op.places(inputs, len(found))
        elif type(op) is Pullback and op.homes is not None:
            places = list(op.homes)
        else:
            places = [_placement_of(op, inputs)] * len(found)
        outs = tuple([intern_aval(o.shape, np.dtype(o.dtype), p) for o, p in zip(found, places, strict=True)])
        found = shapes[inputs] = (single, outs)
    return found


def _told(op: Operator, structs: list[Any]) -> tuple[Any, ...] | None:
    """Return the outputs of an operator that was traced for such inputs; None of any other."""
    told = getattr(op, "told", None)
    if told is None or [(s.shape, s.dtype) for s in told[0]] != [
        None if s is None else (s.shape, s.dtype) for s in structs
    ]:
        return None
    return told[1]


def _placement_of(op: Operator, inputs: tuple[Any, ...]) -> Any:
    """Return what is known of the placement of results: the mesh, or the one device that is not the default."""
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
        run = strong(op)

        def pull(*args: jax.Array) -> tuple[Any, ...]:
            inputs, cotangents = list(args[:n_inputs]), tuple(args[n_inputs:])

            def forward(*moving: jax.Array) -> Any:
                for i, m in zip(diff, moving, strict=True):
                    inputs[i] = m
                out = run(*inputs)
                # The others are not differentiated: a zero for one, times a slope that is infinite, would be NaN.
                return tuple(itertools.compress(out if type(out) is tuple else (out,), given))

            return jax.vjp(forward, *[inputs[i] for i in diff])[1](cotangents)

        composed = getattr(op, "composed", False)
        found = cache[key] = DerivedOp(
            f"grad({op.name})", pull, wide=op.wide, interpreted=getattr(op, "interpreted", True)
        )
        found.nbytes = getattr(op, "nbytes", found.nbytes)
        found.composed = composed
    return found
