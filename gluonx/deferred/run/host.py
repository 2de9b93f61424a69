"""Operators that run on the host: NumPy interprets, XLA compiles.

Compiling an operator for new shapes takes XLA 10 to 1,000 ms; for small arrays NumPy computes it in microseconds. So on
a CPU, NumPy runs an operator that is not recorded

- always, if the work is small (``limits["border"]`` elements): calling a compiled program would cost as much;
- else until the time spent on these shapes is about what a compilation would have taken
  (:mod:`gluonx.common.policy`). From then on a compiled program runs it. A still larger operator is compiled at
  once. The time spent is estimated from the number of elements and not measured, so that the same program runs the same
  way each time. For random draws only the size decides. The forward of a block, such as the prediction of a hybridized
  net, is compiled beside NumPy's runs where that is possible (:mod:`gluonx.deferred.run.beside`).

NumPy computes an operator by a NumPy kernel (:mod:`gluonx.ops.host.kernels`), or else by interpreting the operator's
jaxpr (:mod:`gluonx.ops.host.jaxprs`), which is the same function with every dtype explicit. What neither can do is
compiled. A whole program of recorded operators, such as a training step, runs on the host for its first runs too
(:class:`Whole`). Random operators are jaxprs as well, and draw the same bits as under XLA.

The results are :class:`~gluonx.deferred.values.core.HostArray`. Invariants: nobody writes to one; none shares memory
with an array that a user or a ``jax.Array`` has, because a buffer may be donated while a view of it lives; and an
operator that fails on the host runs again in the usual way, which raises the proper error.

``GLUONX_HOST=0``, or :func:`gluonx.engine.host`, switches all of this off. In a forked child of a process that has
computed it is always on, whatever the work, because XLA cannot be used there (:mod:`gluonx.common.forked`).
"""

from __future__ import annotations

import contextlib
import contextvars
import gc
import math
import os
import sys
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import jax
import numpy as np

from gluonx.common import forked, policy
from gluonx.common.process import one_blas_thread
from gluonx.deferred.operators import growth, linalg_checks, linking
from gluonx.deferred.operators.derived import PLAIN, DerivedOp, jaxpr_of, lowered_alone, needs_64_bits, numpy_is_first
from gluonx.deferred.run import beside
from gluonx.deferred.values import interrupts, program_cache, vectors
from gluonx.deferred.values.contracts import Args, Number, Operator
from gluonx.deferred.values.core import (
    Aval,
    Handle,
    HostArray,
    Packed,
    Pending,
    Placeholder,
    Tracer,
    array_types,
    aval_of,
    counters,
    current_state,
    new_handle,
)
from gluonx.device import Replicas
from gluonx.dtype import WIDE, keeping_64_bits, without_64_bits
from gluonx.ops.host import kernels, layers
from gluonx.ops.host.pullbacks import pullback_kernel

if TYPE_CHECKING:
    from gluonx.ops.host.jaxprs import HostProgram

__all__ = [
    "REFUSED",
    "Switch",
    "Whole",
    "attempt",
    "host_array",
    "is_known",
    "is_on",
    "note_known",
    "nbytes",
    "on_host",
    "placed",
    "run",
    "stays_on_host",
    "watchers",
    "whole",
]

del layers  # imported for the NumPy kernels that it registers

REFUSED: Any = object()


class Switch:
    """The switch of the host tier; `near` says whether the default device is a CPU (None: not looked up yet)."""

    on = os.environ.get("GLUONX_HOST", "") != "0"
    near: bool | None = None


def is_on() -> bool:
    """Return whether operators may run on the host: the tier is switched on, and the default device is a CPU."""
    near = Switch.near
    if near is None:
        near = Switch.near = jax.local_devices()[0].platform == "cpu"
    return (Switch.on and near and not Replicas.on) or forked.in_child()


@contextmanager
def switched(on: bool) -> Generator[None]:
    """Within, operators may run on the host, or not."""
    before, Switch.on = Switch.on, on
    try:
        yield
    finally:
        Switch.on = before


numpy_is_first.append(lambda: policy.limits["runs"] > 0 and is_on())


@forked.at_fork
def _without_limits() -> None:
    """Let NumPy do all that it can, since a forked child can compile nothing."""
    policy.limits.update(border=sys.maxsize, compile=sys.maxsize)


class _Known:
    """The knowledge about an operator: its NumPy kernel, and how it has run for each kind of inputs."""

    __slots__ = ("composed", "cost", "draws", "may_share", "numpy_kernel", "seen", "work")

    def __init__(self, op: Operator) -> None:
        found = kernels.kernel_of(op)
        self.numpy_kernel, self.work = (None, None) if found is None else found
        self.cost = kernels.cost_of(op)
        self.seen: dict[Any, Any] = {}
        self.draws = bool(op.random)
        self.may_share = kernels.may_share(op)
        self.composed = getattr(op, "composed", False)

    def reads(self, aval: Aval) -> bool:
        """Return whether NumPy may be given an array at all: reading one waits until it is computed.

        An array that is larger than what one operator may spend is given only to operators that touch a part of it,
        such as a slice, or to the many operators of a net.
        """
        return aval.size <= policy.limits["compile"] or self.work is not None or self.composed


def _known_of(op: Operator) -> _Known:
    known = op.host
    if known is None:
        known = op.host = _Known(op)
        program_cache.add_known(op)
    return known


def is_known(op: Operator, kind: object, diff: tuple[int, ...], count: int) -> bool:
    """Return whether NumPy can run `op`, of `count` inputs, and its pull-back to the inputs `diff` without a trace.

    It has NumPy kernels for both, or :func:`note_known` was called for `op` in a node of this kind. The pull-back of an
    operator on images, whose kernel tells its results and its work, is not for small arrays: alone it may be worth a
    compilation, which the program of the whole trace is not.
    """
    known = _known_of(op)
    if known.numpy_kernel is not None:
        if not diff:
            return True
        on_images = known.work is not None and kernels.results_of(op) is not None
        if not on_images and pullback_kernel(op, diff, count, (True,)) is not None:
            return True
    return ("node", kind) in known.seen


def note_known(op: Operator, kind: object) -> None:
    """Note that `op`, in a node of this kind, has its forward and its pull-back ready for NumPy."""
    _remember(_known_of(op), ("node", kind), True)


# A context in which NumPy does not warn of overflow and the like. A kernel runs in a copy of it, since a context serves
# one run at a time; copying takes a tenth of the time of `np.errstate`.
_quiet = contextvars.Context()
_quiet.run(np.seterr, all="ignore")
watchers: list[Any] = []  # set by gluonx.profiler: called with an operator's name, its begin and its end


def stays_on_host() -> bool:
    """Return whether a new array that was asked for on no device in particular may stay on the host."""
    state = current_state()
    return not state.naive and state.trace is None and is_on()


def host_array(array: np.ndarray) -> HostArray:
    """Return a HostArray of `array`, which nobody else may hold."""
    array.flags.writeable = False
    return HostArray(array)


def nbytes() -> int:
    """Return the bytes of all values on the host; this looks at every object of the process."""
    arrays = [each.array for each in gc.get_objects() if type(each) is HostArray]
    return sum({id(a if a.base is None else a.base): getattr(a.base, "nbytes", a.nbytes) for a in arrays}.values())


def attempt(op: Operator, args: Args) -> Any:
    """Run `op` on `args` on the host.

    Parameters
    ----------
    op : BoundOp or DerivedOp
    args : sequence
        As for ``engine.invoke``.

    Returns
    -------
    Handle, tuple of Handle, or `REFUSED`
    """
    taken = _taken(op, args, op.host or _known_of(op))
    if taken is None:
        return REFUSED
    values, foreign = taken
    out = run(op, values)
    if out is REFUSED:
        return REFUSED
    if op.cache is not PLAIN and op.matrix is not None:
        linalg_checks.check(op.matrix, op, values, out)
    if type(out) is tuple:
        return tuple([_kept(o, values, foreign) for o in out])
    return _kept(out, values, foreign)


def run(op: Operator, values: list[Any]) -> Any:
    """Run `op` on NumPy arrays, typed scalars and None.

    Returns
    -------
    array, tuple of array, or `REFUSED`
        NumPy's, possibly views of `values`.
    """
    begin = time.perf_counter() if watchers else None
    known = op.host or _known_of(op)
    out: Any = REFUSED
    if known.numpy_kernel is not None:
        out = _by_kernel(known, known.numpy_kernel, values)
    if out is REFUSED:
        out = _by_jaxpr(op, known, values)
        if out is REFUSED:
            return REFUSED
    counters.host += 1
    if begin is not None:
        for watch in watchers:
            watch(op.name.partition("(")[0], begin, time.perf_counter())
    return out


def on_host(op: Operator, inputs: list[Any]) -> list[Any] | None:
    """Return arrays, scalars and None as NumPy has them; None if `op` cannot have one of them."""
    known, values = _known_of(op), list[Any]()
    for a in inputs:
        if isinstance(a, jax.Array):
            a = _near(a, known)
            if a is None:
                return None
        values.append(a)
    return values


def _near(array: jax.Array, known: _Known, aval: Aval | None = None) -> np.ndarray | None:
    """Return the memory of a JAX array; None for a tracer, an array on another device, or one too large to wait for."""
    if isinstance(array, Tracer):
        return None
    aval = aval or aval_of(array)
    if aval.sharding is not None or not known.reads(aval):
        return None
    if forked.in_child() and not (Switch.near and forked.is_computed(array)):
        return None  # the child cannot reach its device, or the parent had not computed it before the fork
    return np.asarray(array)


class Whole:
    """A whole program that NumPy runs: it takes arrays of JAX or NumPy and returns arrays of JAX.

    Parameters
    ----------
    program : HostProgram
    is_linked : bool
        Whether it is linked of its operators, and so returns no residuals.
    """

    __slots__ = ("account", "is_linked", "program")

    def __init__(self, program: HostProgram, is_linked: bool = False) -> None:
        self.program, self.is_linked = program, is_linked
        self.account = policy.Account(program.cost, program.steps, program.nbytes)

    def __call__(self, args: list[Any]) -> list[jax.Array]:
        """Run it. No argument is changed, not even those whose buffers XLA's program would reuse."""
        given = [*map(np.asarray, args), *[None] * (self.program.takes - len(args))]  # buffers for reuse are not read
        with one_blas_thread():
            outs = self.program(*given)
        return _put(outs)


def whole(jaxpr: Any) -> Whole | None:
    """Return the NumPy version of a program with this `jaxpr`; None if NumPy lacks one of its operations."""
    from gluonx.ops.host.jaxprs import HostProgram, Unsupported  # needed only if an operator has no NumPy kernel

    try:
        return Whole(HostProgram(jaxpr))
    except Unsupported:
        return None


def _put(arrays: list[np.ndarray]) -> list[jax.Array]:
    """Return copies that JAX owns, so that its programs may be given the buffers."""
    with keeping_64_bits(any(a.dtype in WIDE for a in arrays)):
        return jax.device_put(arrays, may_alias=False)


def placed(values: dict[int, Any]) -> dict[int, Any]:
    """Return the values of a graph, those that the host computed as ``jax.Array``."""
    slots = [slot for slot, value in values.items() if not isinstance(value, (jax.Array, Tracer))]
    if not slots:
        return values
    return {**values, **dict(zip(slots, _put([np.asarray(values[slot]) for slot in slots]), strict=True))}


def _scalar(number: Number, op: Operator, args: Args) -> Any:
    """Return a number in its dtype beside the other operand; a short cut for the usual case."""
    if type(number) in _NUMBERS and -6e4 < number < 6e4 and not op.exact:
        if len(args) == 2:
            others: Args = (args[1] if args[0] is number else args[0],)
        else:
            others = [a for a in args if type(a) not in _NO_ARRAYS]
            if len(others) == 2 and isinstance(others[0], Handle) and (others[0].aval or others[0]).dtype == bool:
                others = others[1:]  # a condition
        if len(others) == 1 and isinstance(others[0], Handle):
            dtype = (others[0].aval or others[0]).dtype
            if dtype in _USUAL:
                return dtype.type(number)
    return growth.typed(number, args, op)


_NUMBERS = frozenset([int, float])
_NO_ARRAYS = frozenset([int, float, type(None)])
_USUAL = frozenset([np.dtype(np.float32), np.dtype(np.float64), np.dtype(np.float16)])


def _taken(op: Operator, args: Args, known: _Known) -> tuple[list[Any], bool] | None:
    """Return the arguments as NumPy has them, and whether others own memory of one; None if one is not available."""
    values: list[Any] = []
    foreign = False
    for a in args:
        if isinstance(a, Handle):
            value = a.value
            if type(value) is HostArray:
                values.append(value.array)
                continue
            value = _of_handle(a, op, args, known)
        elif a is None or not isinstance(a, (np.ndarray, jax.Array)):
            values.append(a if a is None else _scalar(a, op, args))
            continue
        else:
            value = growth.operand(a, args, op) if isinstance(a, np.ndarray) else _near(a, known)
        if value is None:
            return None
        values.append(value)
        foreign = True
    return values, foreign


def _computed(value: object) -> Any:
    """Return the array of a pending value that is computed and not yet in its handle; anything else unchanged."""
    return value.value if type(value) is Pending and value.value is not None else value


def _of_handle(handle: Handle, op: Operator, args: Args, known: _Known) -> np.ndarray | None:
    """Return the memory of a handle's array; None if it is not computed yet, or if `_near` refuses it."""
    value = _computed(handle.value)
    if type(value) not in array_types:
        if isinstance(value, Placeholder):
            growth.fill(handle, op, args)
            value = handle.value
            if type(value) is HostArray:
                return value.array
        elif type(value) is Packed:
            value = vectors.read(handle)
        if not isinstance(value, jax.Array) or isinstance(value, Tracer):
            return None
        array_types.add(type(value))
    if handle.aval is None:
        handle.aval = aval_of(value)
    return _near(value, known, handle.aval)


def _kept(out: object, values: list[Any], foreign: bool) -> Handle:
    """Return a handle on a result in memory of its own that is no small part of a large array; copy it if need be."""
    if not isinstance(out, np.ndarray):
        out = np.asarray(out)
    elif foreign:
        if out.base is not None or any(out is v for v in values):
            out = out.copy()
    elif out.base is not None and out.nbytes * 4 < getattr(out.base, "nbytes", 0):
        out = out.copy()
    out.setflags(write=False)
    return new_handle(HostArray(out))


def _size(values: list[Any]) -> int:
    """Return the number of elements in the result of an elementwise operator of these operands."""
    first: tuple[int, ...] = ()
    for v in values:
        if isinstance(v, np.ndarray) and v.shape != first:
            if first and v.ndim:
                break
            first = first or v.shape
    else:
        return math.prod(first)
    shapes = [v.shape for v in values if isinstance(v, np.ndarray) and v.ndim]
    ndim = max(map(len, shapes))
    return math.prod(max(s[-axis] for s in shapes if len(s) >= axis) for axis in range(1, ndim + 1))


def _by_kernel(known: _Known, numpy_kernel: Callable[..., Any], values: list[Any]) -> Any:
    try:
        if known.work is not None:
            work = known.work(*values)
        else:
            alone = len(values) == 1 and isinstance(values[0], np.ndarray)
            work = values[0].size if alone else _size(values)
        if known.draws:
            if work > policy.limits["compile"]:
                return REFUSED
        elif work > policy.limits["border"] and not _spend(known, _key(values), work * known.cost, 1):
            return REFUSED
        if known.may_share is not None and known.may_share(work, values):
            with one_blas_thread():
                out = _quiet.copy().run(numpy_kernel, *values)
        else:
            out = _quiet.copy().run(numpy_kernel, *values)
    except Exception as error:  # the usual way raises the proper error
        if interrupts.is_cause(error):
            raise
        return REFUSED
    return REFUSED if out is NotImplemented else out


def _key(values: list[Any]) -> tuple[Any, ...]:
    return tuple([None if v is None else (v.shape, v.dtype) for v in values])


def _spend(known: _Known, key: tuple[object, ...], work: float, steps: int) -> bool:
    """Return whether NumPy may still do this work for inputs of this kind, and add it to NumPy's account for them."""
    spent = known.seen.get(key, 0) + policy.running(work, steps)
    if spent > policy.compiling(steps):
        return False
    _remember(known, key, spent)
    return True


def _remember(known: _Known, key: tuple[object, ...], what: object) -> None:
    if key not in known.seen and len(known.seen) >= policy.SHARED:
        known.seen.clear()
    known.seen[key] = what


def _by_jaxpr(op: Operator, known: _Known, values: list[Any]) -> Any:
    key = ("jaxpr", *_key(values))
    entry = known.seen.get(key)
    if entry is None or (entry is _TAKEN_OVER and forked.in_child()):  # XLA's program is of no use in a child
        entry = _interpreted(op, values) if _may_be_interpreted(op) else _COMPILE
        _remember(known, key, entry)
    program, single, forward = entry
    if program is None:
        return REFUSED
    cheap = program.steps <= policy.limits["base"] and program.cost <= policy.limits["border"]
    # A draw always runs the same way for its size, so that a seed repeats it to the last bit.
    if cheap or known.draws:
        may_run = True
    elif forward is not None and beside.is_possible() and not forked.in_child():
        may_run = forward.goes_on(op, values)
    else:
        may_run = _spend(known, key[1:], program.cost, program.steps)
    if not may_run:
        _remember(known, key, _TAKEN_OVER)  # the program is not needed any more
        return REFUSED
    try:
        with _as_it_is if cheap and not known.composed else one_blas_thread():
            outs = program(*[v for v in values if v is not None])
    except Exception as error:  # the usual way raises the proper error
        if interrupts.is_cause(error):
            raise
        return REFUSED
    return outs[0] if single else tuple(outs)


class _Forward(beside.Candidate):
    """The forward of a block, which NumPy runs until XLA has compiled it for these inputs."""

    def __init__(self, program: HostProgram, wide: bool) -> None:
        self.wide = wide
        self.account = policy.Account(program.cost, program.steps, program.nbytes)

    def goes_on(self, op: Operator, values: list[Any]) -> bool:
        """Return whether NumPy runs `op` once more; wait for the compilation where XLA takes over."""
        try:
            if self.may_run(self.account, lambda: lowered_alone(op, values, self.wide)):
                return True
            if (compilation := self.compilation) is not None:
                compilation.finish()
        except Exception as error:  # the usual way compiles again, and raises the proper error
            if interrupts.is_cause(error):
                raise
            return False
        return False


_COMPILE: Any = (None, False, None)
_TAKEN_OVER: Any = (None, False, _COMPILE)  # NumPy could go on
_as_it_is = contextlib.nullcontext()


def _may_be_interpreted(op: Operator) -> bool:
    """Return whether interpreting the jaxpr gives the operator's exact results.

    In quantized operators XLA orders floating-point operations otherwise, and one rounding step changes an integer.
    """
    return getattr(op, "interpreted", True) and not op.name.startswith("quantized_")


def _interpreted(op: Operator, values: list[Any]) -> Any:
    """Return the program that interprets `op` (None: compile it), whether it has a single result, and its `_Forward`.

    The last is None for an operator that is no forward of a block.
    """
    from gluonx.ops.host.jaxprs import HostProgram, Unsupported  # needed only if an operator has no NumPy kernel

    structs = [None if v is None else jax.ShapeDtypeStruct(v.shape, v.dtype) for v in values]
    wide = needs_64_bits(op, values)
    made = linking.linked_operator(op, structs)
    if made is not None:
        return made, False, _forward_of(op, made, wide)
    try:
        with keeping_64_bits() if wide else without_64_bits():
            traced = jaxpr_of(op, structs)
            program = HostProgram(traced.jaxpr)
    except (Unsupported, *growth.BAD_CALLS):  # for a bad call the usual way raises the proper error
        return _COMPILE
    single = type(traced.out_info) not in (tuple, list)
    if op.random:
        outs = [traced.out_info] if single else traced.out_info
        work = policy.DRAWN * sum([math.prod(out.shape) for out in outs]) if program.cost == math.inf else program.cost
        return (program, single, None) if work <= policy.limits["compile"] else _COMPILE
    return program, single, _forward_of(op, program, wide)


def _forward_of(op: Operator, program: HostProgram, wide: bool) -> _Forward | None:
    """Return the state of a block's forward that NumPy runs until it is compiled; None for another operator."""
    return _Forward(program, wide) if type(op) is DerivedOp and op.composed else None
