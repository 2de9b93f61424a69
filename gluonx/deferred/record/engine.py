"""Running operators: every operator of the library goes through :func:`invoke`.

It decides what becomes of the operator here and now. The operator is recorded in the pending graph if ``record()`` is
active or one of its inputs is pending (not computed yet); otherwise it runs at once. While a hybridized block is
traced, the operator becomes part of the trace. In naive mode (`gluonx.engine.set_mode`) everything runs at once, and
each operator under ``record()`` leaves a segment of the tape (:mod:`gluonx.deferred.operators.segments`) of its own.
"""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Callable, Sequence
from itertools import repeat
from typing import Any

import jax
import numpy as np
from jax.core import eval_context

from gluonx.common import forked
from gluonx.common.host import copied, to_jax
from gluonx.deferred.operators import amp_policy, growth, linalg_checks
from gluonx.deferred.operators.derived import (
    PLAIN,
    WIDENING,
    DerivedOp,
    Integers,
    cuts_tape,
    needs_64_bits,
    prepare,
    run_alone,
)
from gluonx.deferred.operators.segments import OpSegment, attached
from gluonx.deferred.record import integers
from gluonx.deferred.record.graph import (
    Blocked,
    TracerMet,
    current_graph,
    drop_closed,
    leave_graph,
    record,
    settle,
    source_of,
    unblock,
)
from gluonx.deferred.replicas.operators import Joint
from gluonx.deferred.run import flushing, host
from gluonx.deferred.values import index_checks, interrupts
from gluonx.deferred.values.contracts import (
    Args,
    InputRef,
    Operator,
    Ownership,
    Raw,
    Replaced,
    StepRequest,
    leaf_number,
)
from gluonx.deferred.values.core import (
    Aval,
    Handle,
    HostArray,
    Index,
    Pending,
    Placeholder,
    State,
    Tracer,
    array_types,
    at_once,
    aval_of,
    counters,
    current_state,
    new_handle,
    set_state,
)
from gluonx.dtype import as_array
from gluonx.errors import GluonxError, TracedValueError
from gluonx.ops import prng
from gluonx.ops.registry import Moved

__all__ = [
    "STOP",
    "as_handle",
    "commit_step",
    "flush",
    "flush_known",
    "invoke",
    "on_record_entry",
    "on_record_error",
    "require",
    "run_now",
    "stripped",
]


# By operator name: a function that may replace it for certain arguments; it returns None if the operator must run.
instead: dict[str, Callable[[Any], Any]] = {}


def invoke(op: Operator, args: Args) -> Any:  # noqa: C901 - one decision; each of its cases returns
    """Run the bound operator `op` on `args`.

    Parameters
    ----------
    op : BoundOp or DerivedOp
    args : sequence
        Handles, raw arrays, Python or NumPy scalars, None.

    Returns
    -------
    Handle or tuple of Handle
        A tuple if the operator returns a tuple.
    """
    state = current_state()
    if state.trace is not None and not any(map(_is_tracers, args)) and interrupts.on_top(state.trace):
        return _invoke_apart(op, args)
    if op.cache is not PLAIN and (op.cache or prepare(op)) is not PLAIN:
        other = instead.get(op.name)
        if other is not None and (found := other(args)) is not None:
            return found
        op, args = _special(op, args, state)
        if Integers.move and state.recording and (found := integers.recorded(op, args, run_now)) is not None:
            return found
        if op.matrix is not None and not state.deferring and state.trace is None:
            with contextlib.suppress(TracerMet):
                return run_now(op, args, state)  # also if an operand is pending, because the result is checked
    if state.deferring:
        try:
            out = record(op, args, state.recording)
        except TracerMet:
            return _apply(op, args)
        if state.bulk and not state.recording and current_graph().cursor.depth >= state.bulk:
            flush("the size of bulk()")
        return out
    if state.trace is not None:
        return state.trace.invoke(op, args)
    if not state.naive:
        for a in args:
            if isinstance(a, Handle):
                value = a.value
                if type(value) is Pending and value.value is None:
                    try:
                        return record(op, args, False)
                    except TracerMet:
                        return _apply(op, args)
    return run_now(op, args, state)


def _is_tracers(value: object) -> bool:
    return isinstance(value.value if isinstance(value, Handle) else value, Tracer)


def _invoke_apart(op: Operator, args: Args) -> Any:
    """Run an operator of a signal handler or finalizer that interrupts a trace, without making it part of the trace."""
    before = current_state()
    set_state(at_once())
    try:
        with eval_context():
            return invoke(op, args)
    finally:
        set_state(before)


_STEP_IN_TRACE = (
    "a training step cannot be made inside a hybridized forward, nor in a signal handler that interrupts one while it "
    "is traced; make it outside."
)
_RANDOM_UNDER_JIT = (
    "a random operator was met under jax.jit or another transformation of JAX, which would freeze its draws; use "
    "gluonx.functional(net).apply(params, state, key, ...), which takes a key, or hybridize the net instead of "
    "jitting it."
)

index_checks.Switch.settle = staticmethod(settle)


class _Root:
    handle: Handle | None = None
    words: Any = None


def _special(op: Operator, args: Args, state: State) -> tuple[Any, Any]:
    """Fill in what the context decides: train or predict mode, precision, and the random key as (root, index).

    Raise for indices that are out of range, as far as their values are known.
    """
    if op.index is not None:
        index_checks.check(op.index, op, args)
    if op.needs_mode:
        op = op.in_mode(state.training)
    if type(op) is Moved:
        if state.trace is None:
            op, args = op.lifted, _with_numbers(op, args)
        else:
            op = op.fixed()
    if amp_policy.Switch.on:
        op = amp_policy.adapt(op)
    if op.random:
        args = (*random_inputs(state), *args)
    return op, args


def _with_numbers(op: Moved, args: Args) -> tuple[Any, ...]:
    """Return the arguments followed by the operator's numbers; absent array arguments become None."""
    absent = 0 if op.op.variadic else len(op.op.inputs) - len(args)
    return (*args, *(None,) * absent, *op.numbers)


def random_inputs(state: State, count: int = 1) -> tuple[Any, Any]:
    """Return the root key and the index of the next random operation."""
    if state.trace is not None:
        return state.trace.random_inputs(count)
    words = prng.root()
    if _Root.words is not words:
        with jax.ensure_compile_time_eval():
            _Root.handle, _Root.words = new_handle(jax.device_put(words)), words
    return _Root.handle, Index(prng.next_index(count))


def _plain_inputs(op: Operator, args: Args) -> tuple[list[Any], bool]:
    """Return arrays and typed scalars for an operator that runs at once, and whether it needs 64-bit types.

    It makes one pass over the arguments, because every operator that runs at once goes through it.
    """
    values: list[Any] = []
    wide = op.wide
    for a in args:
        if isinstance(a, Handle):
            value = a.value
            if type(value) in array_types:
                dtype = value.aval.dtype  # the same as value.dtype, in half of the time
            else:
                value = _array_of(a, op, args)  # may be a NumPy array: step counts are
                dtype = value.dtype
        elif a is None:
            values.append(None)
            continue
        else:
            value = _operand(a, op, args)
            dtype = value.dtype
        if dtype in WIDENING:
            wide = True
        values.append(value)
    return values, wide and needs_64_bits(op, values)


def _array_of(handle: Handle, op: Operator, args: Args) -> Any:
    """Return the array of a handle that may hold a placeholder or a pending value."""
    if isinstance(handle.value, Placeholder):
        growth.fill(handle, op, args)
    value = handle.value
    if not isinstance(value, jax.Array):
        return settle(handle)
    array_types.add(type(value))
    return value


def _operand(value: Raw, op: Operator, args: Args) -> Any:
    if isinstance(value, jax.Array):
        return value
    return copied(growth.operand(value, args, op)) if isinstance(value, np.ndarray) else growth.typed(value, args, op)


def _wrap(out: Any) -> Any:
    return tuple([new_handle(o) for o in out]) if type(out) in (tuple, list) else new_handle(out)


def _is_traced(value: object) -> bool:
    return isinstance(value[0] if type(value) is tuple and value else value, Tracer)


def run_now(op: Operator, args: Args, state: State) -> Any:
    """Run one operator at once."""
    if host.is_on() and not state.naive:
        done = host.attempt(op, args)
        if done is not host.REFUSED:
            return done
    forked.check(f"operator {op.name} of these inputs")
    values, wide = _plain_inputs(op, args)
    if op.random and any(isinstance(v, Tracer) for v in values):
        raise TracedValueError(_RANDOM_UNDER_JIT)
    counters.dispatches += 1
    try:
        out = run_alone(op, values, wide)
        if _is_traced(out) and not any(map(_is_traced, values)) and interrupts.count():
            with eval_context():  # for a signal handler that runs while JAX traces something else
                out = run_alone(op, values, wide)
    except GluonxError:
        raise
    except growth.BAD_CALLS as error:
        if any(isinstance(v, Tracer) for v in values):
            raise
        avals = tuple([None if v is None else aval_of(as_array(v)) for v in values])
        if "incompatible devices" in str(error):
            growth.check_devices(op, args, avals)
            growth.check_committed(op, args, values)
        raise growth.bad_call(op, avals, error) from error
    if op.cache is not PLAIN and op.matrix is not None:
        linalg_checks.check(op.matrix, op, values, out)
    result = _wrap(out)
    if state.naive:
        jax.block_until_ready(out)
        if state.recording:
            _tape_one(op, args, values, result)
    return result


def _tape_one(op: Operator, args: Args, values: list[Any], result: Any) -> None:
    """Record one operator for naive mode: a segment of its own."""
    if cuts_tape(op):
        return
    sources = [source_of(a) if isinstance(a, Handle) else None for a in args]
    diff = tuple([i for i, s in enumerate(sources) if s is not None and aval_of(values[i]).inexact])
    if not diff:
        return
    outs = result if type(result) is tuple else (result,)
    inputs: list[Any] = []
    for v, s in zip(values, sources, strict=True):
        inputs.append(attached(v, s) if isinstance(v, jax.Array) else None if v is None else np.asarray(v))
    segment = OpSegment(op, inputs, diff, [sources[i] for i in diff], [aval_of(o.value) for o in outs])
    for i, out in enumerate(outs):
        if segment.outs[i].aval.inexact and (op.n_live is None or i < op.n_live):
            out.tape = segment.outs[i]


def _apply(op: Operator, args: Args) -> Any:
    """Run an operator on tracers of a surrounding JAX transformation."""
    if op.random:
        raise TracedValueError(_RANDOM_UNDER_JIT)
    return _wrap(run_alone(op, *_plain_inputs(op, args)))


def as_handle(value: object) -> Handle:
    """Return a handle for anything that is an array: handles as they are, raw arrays wrapped."""
    if isinstance(value, Handle):
        return value
    if isinstance(value, jax.Array):
        return new_handle(value)
    if isinstance(value, np.ndarray):
        value = growth.operand(value, ())
    return new_handle(to_jax(value))


def stripped(handle: Handle) -> Handle:
    """Return the same value in a new handle without a tape."""
    if (type(handle.value) is Pending and handle.value.value is None) or current_state().trace is not None:
        return invoke(STOP, (handle,))
    value = handle.value
    return new_handle(value if type(value) is HostArray else settle(handle), handle.aval)


def require(flag: Handle, message: str) -> None:
    """Raise if `flag` is False, as soon as its value is known: now, or when the pending graph is computed.

    Raises
    ------
    ValueError
        With `message`.
    """
    value = flag.value
    if type(value) is Pending and value.value is None:
        with value.graph.lock:
            if not value.graph.closed and not value.graph.inside:
                value.graph.required.append((value, message))
                return
    if not bool(value.array if type(value) is HostArray else np.asarray(settle(flag))):
        raise ValueError(message)


STOP = DerivedOp("stop_gradient", jax.lax.stop_gradient, any_length=True)


def flush(why: str) -> None:
    """Compute what is pending in this thread."""
    with eval_context():
        flushing.flush(current_graph(), why)
    drop_closed()


def flush_known(why: str) -> None:
    """As :func:`flush`, for a graph that has run before in another way and will come again: it is compiled at once."""
    node = current_graph().cursor
    if node.parent is not None:
        node.visits = max(node.visits, 1)
    flush(why)


def on_record_entry() -> None:
    """Begin the outermost ``record()``: compute a backward that no step has followed, and release leftovers."""
    graph = current_graph()
    if graph.cursor.parent is None:
        return
    if graph.backward_pending or graph.borders:
        flushing.flush(graph, "record() after a backward" if graph.backward_pending else "record() after a Function")
        drop_closed()
    elif not graph.pendings():
        leave_graph()


def on_record_error(scope: object) -> None:
    """Restore the handles that the outermost ``record()``, `scope`, has rebound, after an exception has left it.

    What was recorded can still be computed as long as somebody holds it, but it is not part of the next program.
    """
    graph = current_graph()
    with graph.lock:
        if not graph.inside:
            graph.restore(scope)
    leave_graph()


def commit_step(request: StepRequest) -> None:  # noqa: C901 - one section of the graph, at each step
    """Record what `request` asks for, and run the whole pending graph as one program."""
    state, targets = current_state(), request.targets
    if state.naive:
        return _commit_now(request, state)
    if state.trace is not None and not state.trace.transparent:
        raise TracedValueError(_STEP_IN_TRACE)
    op, args, _, owned, release, together = request
    final: flushing.Commit | None = None
    while final is None:
        graph = current_graph()
        with graph.lock:
            if graph.inside:
                continue
            graph.inside = True
            try:
                if graph.closed:
                    continue
                child = graph.step_to(op, args, False)
                if child.spans and type(op) is not Joint and graph.cursor.parent is not None:
                    graph.rollback()  # the step runs on one device, and pending values lie on several
                    flushing.flush_inside(graph, "a step of one device beside what others do")
                    continue
                if child.donors is None:
                    child.donors = _ownership(op, child.parts, owned, together)
                    child.outs = tuple(map(_resharded_as, targets, child.outs))
                graph.cursor = child
                if release is not None:
                    release()
                final = flushing.Commit(targets, child.donors)
                flushing.flush_inside(graph, "trainer.step", final)
            except Blocked:
                graph.rollback()
            except BaseException:
                graph.rollback()
                raise
            finally:
                graph.inside = False
        if final is None:
            args = unblock(args, graph)
    for target in targets:
        if target.tape is not None:
            any(map(setattr, targets, repeat("tape"), repeat(None)))
            break
    drop_closed()
    if final.broken is not None:
        raise ValueError(final.broken)


def _commit_now(request: StepRequest, state: State) -> None:
    for target in request.targets:
        settle(target)
    before = [target.value for target in request.targets]  # a handle that has another one later was written meanwhile
    outs = run_now(request.op, request.args, state)
    for target, was, out in zip(request.targets, before, outs, strict=True):
        if target.value is was:
            target.value, target.aval, target.tape = out.value, out.aval, None
    if request.release is not None:
        request.release()


def _resharded_as(target: Handle, out: Aval) -> Aval:
    """Return the aval of an output that is written to `target`: on a mesh it keeps the sharding of `target`."""
    now = target.aval
    return now if now is not None and now.spread and now.shape == out.shape and now.dtype == out.dtype else out


def _ownership(op: Operator, parts: Sequence[InputRef], owned: Sequence[int], together: int) -> Ownership:
    """Return what an update of these inputs may do with memory; output k replaces input ``owned[k]``."""
    mine = set(owned)
    leaves = {i: leaf_number(p) for i, p in enumerate(parts) if i in mine and isinstance(p, int) and p < 0}
    if type(op) is Joint:
        return Ownership(tuple(leaves.values()))  # arrays on several devices are not put into one vector
    gradients = [p for i, p in enumerate(parts) if i not in mine and isinstance(p, int) and p >= 0]
    once = Counter(leaves.values())
    replaced = [Replaced(leaf, i) for i, leaf in leaves.items() if i < together and once[leaf] == 1]
    order = sorted([k for k, i in enumerate(owned) if i in leaves], key=lambda k: leaves[owned[k]])
    return Ownership(tuple(leaves.values()), tuple(gradients), tuple(replaced), tuple(order))
