"""``autograd.Function`` in traced code: one operator with the derivative that its ``backward`` computes.

Both methods are traced to jaxprs, which make a ``jax.custom_vjp``. If one of them reads a value, it cannot be traced:
then the program calls back to Python for both (``jax.pure_callback``), each once in a run. The shapes of the results
are those that ``forward`` returns for zeros.

State that ``forward`` leaves in the instance is passed to the gradient: arrays, saved or set as attributes, are further
outputs of the forward operator and inputs of the backward one. If a call back leaves anything else that changes (a
number, an object), ``backward`` first runs ``forward`` again on the same inputs.
"""

from __future__ import annotations

import contextlib
import copy
import functools
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from gluonx.common.host import to_jax
from gluonx.deferred.operators.derived import DerivedOp
from gluonx.deferred.record.engine import as_handle, invoke, random_inputs
from gluonx.deferred.record.graph import settle
from gluonx.deferred.trace.attributes import aval_or_unknown, is_handle
from gluonx.deferred.trace.tracing import Traced, trace_function
from gluonx.deferred.values.contracts import Shaped
from gluonx.deferred.values.core import Handle, State, Tracer, current_state, new_handle, set_state, state_with
from gluonx.dtype import WIDE, keeping_64_bits
from gluonx.errors import ArgumentError, DynamicShapeError, TracedValueError

__all__ = ["on_host", "traced"]


class _Call:
    """One call of a Function, as a function of arrays: first its inputs, then those that its attributes hold."""

    def __init__(self, function: Any, inputs: tuple[Any, ...]) -> None:
        self.function, self.inputs = function, inputs
        self.moving = [i for i, x in enumerate(inputs) if isinstance(x, Handle)]
        leaves, self.tree = jax.tree.flatten(function.__dict__, is_leaf=is_handle)
        self.held = [i for i, x in enumerate(leaves) if isinstance(x, Handle)]
        self.leaves = [None if isinstance(x, Handle) else x for x in leaves]
        self.arrays = [*[inputs[i] for i in self.moving], *[leaves[i] for i in self.held]]
        self.training = current_state().training
        self.single = True

    @property
    def name(self) -> str:
        """Return the name for errors and programs."""
        return type(self.function).__name__

    def forward(self, arrays: Sequence[Any]) -> tuple[Any, list[Any]]:
        """Run a copy of the function's instance on `arrays`; return the copy and its outputs."""
        inputs, leaves, n = list(self.inputs), list(self.leaves), len(self.moving)
        for i, x in zip(self.moving, arrays[:n], strict=True):
            inputs[i] = x
        for i, x in zip(self.held, arrays[n:], strict=True):
            leaves[i] = x
        twin = copy.copy(self.function)
        twin.__dict__ = jax.tree.unflatten(self.tree, leaves)
        with _paused(self.training):
            outs = twin.forward(*inputs)
        self.single = not isinstance(outs, (tuple, list))
        return twin, [as_handle(o) for o in ([outs] if self.single else outs)]

    def backward(self, twin: Any, given: Sequence[Any]) -> list[Any]:
        """Return the gradients of the array inputs, None for an input without one."""
        with _paused(self.training):
            grads = twin.backward(*given)
        grads = list(grads) if isinstance(grads, (tuple, list)) else [grads]
        if len(grads) != len(self.inputs):
            raise ArgumentError(
                f"{self.name}.backward gave {len(grads)} gradients; there are {len(self.inputs)} inputs, and each has "
                "one (or None)."
            )
        return [grads[i] for i in self.moving]


@contextlib.contextmanager
def _paused(training: bool) -> Generator[None]:
    """Within, nothing is recorded."""
    before = current_state()
    set_state(state_with(recording=False, training=training))
    try:
        yield
    finally:
        set_state(before)


class _Kept:
    """The instance after ``forward``, without its arrays."""

    def __init__(self, twin: Any, kinds: tuple[type, ...]) -> None:
        leaves, self.tree = jax.tree.flatten(twin.__dict__, is_leaf=is_handle)
        self.twin = twin
        self.at = [i for i, x in enumerate(leaves) if isinstance(x, kinds)]
        self.arrays = [leaves[i] for i in self.at]
        self.others = [None if isinstance(x, kinds) else x for x in leaves]

    def instance(self, arrays: Sequence[Any]) -> Any:
        """Return the instance with these arrays put back."""
        leaves = list(self.others)
        for i, x in zip(self.at, arrays, strict=True):
            leaves[i] = x
        twin = copy.copy(self.twin)
        twin.__dict__ = jax.tree.unflatten(self.tree, leaves)
        return twin


def traced(function: Any, inputs: tuple[Any, ...]) -> Any:
    """Call an ``autograd.Function`` in a trace."""
    call = _Call(function, inputs)
    structs = [_struct(x) for x in call.arrays]
    try:
        op, handles, n_random, n_out = _of_traces(call, structs)
    except (TracedValueError, DynamicShapeError):
        op, handles, n_random, n_out = _of_callbacks(call, structs)
    head = random_inputs(current_state(), n_random) if n_random else ()
    outs = invoke(op, (*head, *handles, *call.arrays))[:n_out]
    return outs[0] if call.single else tuple(outs)


def _struct(x: Handle) -> jax.ShapeDtypeStruct:
    if x.aval is None and isinstance(x.value, Tracer):
        return jax.ShapeDtypeStruct(x.value.shape, x.value.dtype)
    found = aval_or_unknown(x)
    return jax.ShapeDtypeStruct(found.shape, found.dtype)


def _of_traces(call: _Call, structs: list[Any]) -> tuple[DerivedOp, list[Handle], int, int]:
    """Return the operator that is made of jaxprs.

    The other results are the outer arrays that it takes first, the number of its random draws, and that of its outputs.
    """
    found: dict[str, Any] = {}

    def forward(*arrays: Handle) -> list[Any]:
        twin, outs = call.forward(arrays)
        found["kept"], found["n"] = kept, _ = _Kept(twin, (Handle, jax.Array)), len(outs)
        return [*outs, *kept.arrays]

    def backward(*arrays: Handle) -> list[Any]:
        kept, n = found["kept"], len(found["kept"].arrays)
        grads = call.backward(kept.instance(arrays[:n]), arrays[n:])
        return [
            jnp.zeros(s.shape, s.dtype) if g is None else g for g, s in zip(grads, structs[: len(grads)], strict=True)
        ]

    ahead = _trace(forward, call, structs)
    n_out = found["n"]
    results = [*ahead.outputs[n_out:], *ahead.outputs[:n_out]]
    back = _trace(backward, call, [jax.ShapeDtypeStruct(s.shape, s.dtype) for s in results])
    n_heads = [len(ahead.handles), len(back.handles)]
    n_random = ahead.n_random + back.n_random

    @jax.custom_vjp
    def run(*args: jax.Array) -> tuple[Any, ...]:
        return run_and_keep(*args)[0]

    def run_and_keep(*args: jax.Array) -> Any:
        head, rest = (args[:2], args[2:]) if n_random else ((), args)
        inner = rest[: n_heads[0]]
        outs = ahead.op.fn(*(head if ahead.n_random else ()), *inner, *rest[sum(n_heads) :])
        return tuple(outs[:n_out]), (args, outs[n_out:])

    def pull(residuals: Any, given: Any) -> Any:
        args, kept = residuals
        head: Any
        head, rest = (args[:2], args[2:]) if n_random else ((), args)
        inner = rest[n_heads[0] : sum(n_heads)]
        if back.n_random:
            head = (head[0], head[1] + ahead.n_random)
        given = [jnp.zeros(s.shape, s.dtype) if _is_whole(s) else g for s, g in zip(results[-n_out:], given)]
        grads = back.op.fn(*(head if back.n_random else ()), *inner, *kept, *given)
        grads = [*[None] * (len(args) - len(structs)), *grads, *[None] * len(call.held)]
        return tuple([_cotangent(x, g) for x, g in zip(args, grads, strict=True)])

    run.defvjp(run_and_keep, pull)
    op = DerivedOp(call.name, run, n_live=n_out, wide=ahead.op.wide or back.op.wide)
    return op, [*ahead.handles, *back.handles], n_random, n_out


def _trace(fn: Callable[..., Any], call: _Call, structs: list[Any]) -> Traced:
    with _paused(call.training):
        found = trace_function(fn, call.name, structs, [])
    if found.writes:
        raise ArgumentError(
            f"{call.name} writes to an array from outside, which an autograd.Function in a hybridized block cannot; "
            "return it as one more output."
        )
    return found


def _of_callbacks(call: _Call, structs: list[Any]) -> tuple[DerivedOp, list[Handle], int, int]:
    """Return the operator that calls back to Python."""
    kinds = (Handle, jax.Array, np.ndarray)

    def begin(arrays: list[Any]) -> tuple[_Kept, list[Any]]:
        twin, outs = call.forward(arrays)
        return _Kept(twin, kinds), outs

    def trial(arrays: list[Any]) -> list[Any]:
        tried.append(begin(arrays))
        return []

    tried: list[Any] = []
    on_host(trial, [np.zeros(s.shape, s.dtype) for s in structs])
    (kept, outs), n_out = tried[0], len(tried[0][1])
    again = not _says_the_same(call, kept)
    arrays = [] if again else [np.asarray(_value(x)) for x in kept.arrays]
    numpy_ones = [isinstance(x, np.ndarray) for x in kept.arrays]
    kept.arrays = []  # the arrays were computed from zeros
    shapes = [jax.ShapeDtypeStruct(x.shape, _dtype(x)) for x in [*map(_value, outs), *arrays]]
    if any(0 in s.shape for s in shapes[:n_out]) and not any(0 in s.shape for s in structs):
        raise ArgumentError(f"{call.name}: {_DEPENDS.format(0, shapes[0].shape, 'to be of any size')}")

    def forward(given: list[Any]) -> list[Any]:
        now, results = begin(given)
        if not again and now.tree != kept.tree:
            raise ArgumentError(f"{call.name}.forward kept other arrays than it did of zeros, when it was traced.")
        return [*results, *([] if again else now.arrays)]

    def backward(given: list[Any]) -> list[Any]:
        n = len(given) - n_out
        twin = call.forward(given[:n])[0] if again else kept.instance(as_they_were(given[:n]))
        grads = call.backward(twin, given[n:])
        return [np.zeros(s.shape, s.dtype) if g is None else g for g, s in zip(grads, structs, strict=False)]

    def as_they_were(given: list[Any]) -> list[Any]:
        return [np.asarray(_value(x)) if plain else x for x, plain in zip(given, numpy_ones, strict=True)]

    @jax.custom_vjp
    def run(*args: jax.Array) -> tuple[Any, ...]:
        return tuple(jax.pure_callback(lambda *xs: on_host(forward, xs, shapes), tuple(shapes), *args))

    def run_and_keep(*args: jax.Array) -> Any:
        results = run(*args)
        return results, (args, args if again else results[n_out:])

    def pull(residuals: Any, given: Any) -> Any:
        args, kept_arrays = residuals
        wanted = [jax.ShapeDtypeStruct(s.shape, s.dtype) for s in structs[: len(call.moving)]]
        cotangents = [jnp.zeros(s.shape, s.dtype) if _is_whole(s) else g for s, g in zip(shapes[:n_out], given)]
        grads = jax.pure_callback(lambda *xs: on_host(backward, xs, wanted), tuple(wanted), *kept_arrays, *cotangents)
        return tuple([_cotangent(x, grads[i] if i < len(grads) else None) for i, x in enumerate(args)])

    run.defvjp(run_and_keep, pull)
    wide = any(s.dtype in WIDE for s in (*structs, *shapes))
    return DerivedOp(call.name, run, n_live=n_out, wide=wide), [], 0, n_out


def _says_the_same(call: _Call, kept: _Kept) -> bool:
    """Return whether ``forward`` has left nothing but arrays in the instance."""
    before, after = call.function.__dict__, kept.twin.__dict__
    return all(_is_of_arrays(value) or (key in before and before[key] is value) for key, value in after.items())


def _is_of_arrays(value: object) -> bool:
    leaves = jax.tree.leaves(value, is_leaf=is_handle)
    return all(isinstance(leaf, (Handle, jax.Array, np.ndarray)) for leaf in leaves)


def _value(x: object) -> Any:
    return settle(x) if isinstance(x, Handle) else x


def _dtype(x: Shaped) -> np.dtype:
    return np.dtype(x.dtype)


def _is_whole(x: Shaped) -> bool:
    return not jnp.issubdtype(x.dtype, jnp.inexact)


def _cotangent(x: Shaped, gradient: jax.Array | None) -> Any:
    """Return the cotangent of `x` in the type that JAX requires."""
    if _is_whole(x):
        return np.zeros(x.shape, jax.dtypes.float0)
    if gradient is None:
        return jnp.zeros(x.shape, x.dtype)
    return jnp.broadcast_to(gradient, x.shape).astype(x.dtype)


_DEPENDS = (
    "the shape of array {0} that Python computes for a program was {1} when it was traced with zeros, and is {2}: it "
    "must not depend on values. Do not hybridize the block, or give arrays of one shape and a mask."
)


@functools.cache
def _thread() -> ThreadPoolExecutor:
    """Return the thread for calls from programs: one for the life of the process."""
    return ThreadPoolExecutor(thread_name_prefix="gluonx-custom")


def on_host(fn: Callable[..., list[Any]], arrays: Sequence[Any], shapes: Sequence[Any] | None = None) -> Any:
    """Call ``fn(handles)`` for a program, in a separate thread, where nothing is recorded, traced or being flushed.

    Parameters
    ----------
    fn : callable
        Returns a list of handles or NumPy arrays.
    arrays : sequence
        Arrays of JAX or NumPy.
    shapes : sequence of jax.ShapeDtypeStruct, optional
        The shapes and dtypes that the results must have.

    Returns
    -------
    tuple of numpy.ndarray

    Raises
    ------
    ArgumentError
        If a result has another shape.
    """
    values = [np.asarray(x) for x in arrays]  # in this thread, where the values are ready
    return _thread().submit(_run, fn, values, shapes).result()


def _run(fn: Callable[..., list[Any]], values: list[np.ndarray], shapes: Sequence[Any] | None) -> tuple[Any, ...]:
    before = current_state()
    set_state(State(False, False, None, 0, True))
    try:
        with keeping_64_bits(any(v.dtype in WIDE for v in values)):
            outs = [np.asarray(_value(x)) for x in fn([new_handle(to_jax(v.copy())) for v in values])]
    finally:
        set_state(before)
    if shapes is None:
        return tuple(outs)
    for i, (out, shape) in enumerate(zip(outs, shapes, strict=True)):
        if out.shape != shape.shape:
            raise ArgumentError(_DEPENDS.format(i, shape.shape, out.shape))
    return tuple([out.astype(shape.dtype, copy=False) for out, shape in zip(outs, shapes, strict=True)])
