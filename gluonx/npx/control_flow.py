"""Loops and branches over values: ``foreach``, ``while_loop`` and ``cond`` on ``jax.lax``.

The Python functions given are traced once; arrays that they capture (parameters too) become inputs, so gradients
reach them. The whole loop is one operator: it can be recorded, deferred, and used inside a hybridized forward.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import NamedSharding, PartitionSpec
from numpy.typing import ArrayLike

from gluonx.common import policy
from gluonx.common.recent import recall
from gluonx.deferred.operators.derived import DerivedOp
from gluonx.deferred.record.engine import as_handle, invoke, random_inputs
from gluonx.deferred.record.interceptor import is_traced_around
from gluonx.deferred.trace.remat import again, checkpointed
from gluonx.deferred.trace.tracing import Traced, aval_or_unknown, is_handle, trace_function
from gluonx.deferred.values import index_checks
from gluonx.deferred.values.core import Handle, Tracer, current_state
from gluonx.deferred.values.program_cache import memo
from gluonx.errors import DynamicShapeError, TracedValueError
from gluonx.ops.registry import get
from gluonx.sharding import gathered, in_use

if TYPE_CHECKING:
    from jax.extend.core import Primitive

    from gluonx.block.block import Block
    from gluonx.np.handle import ndarray

Made = TypeVar("Made")  # what the branches of `cond` return

_WRITES = (
    "{name}: its function writes to an array from outside (a running average?), which a compiled loop cannot do. "
    "Make it a "
    "loop state, or use a Python loop."
)
_interned: dict[Any, DerivedOp] = memo()


def _flatten(tree: object) -> tuple[list[Handle], Any]:
    leaves, treedef = jax.tree.flatten(tree, is_leaf=is_handle)
    return [as_handle(leaf) for leaf in leaves], treedef


def _struct(handle: Handle, drop_axis: bool = False) -> jax.ShapeDtypeStruct:
    if handle.aval is None and isinstance(handle.value, Tracer):
        shape, dtype = handle.value.shape, handle.value.dtype
    else:
        struct = aval_or_unknown(handle)
        shape, dtype = struct.shape, struct.dtype
    return jax.ShapeDtypeStruct(shape[1:] if drop_axis else shape, dtype)


def _trace(fn: Callable[..., Any], name: str, structs: list[Any]) -> Traced:
    traced = trace_function(fn, name, structs, [])
    if traced.writes:
        raise TracedValueError(_WRITES.format(name=name))
    traced.give_up(name)
    return traced


def _parts(traced: Traced, captured: Sequence[Any]) -> Callable[..., Any]:
    """Return the traced function on (root, index, captured...) and its own inputs."""

    def run(root: object, index: object, *inputs: jax.Array) -> list[Any]:
        head = (root, index) if traced.n_random else ()
        return list(traced.op.fn(*head, *captured, *inputs))

    return run


def _identity(name: str, key: object, bodies: list[Traced], functions: tuple[Any, ...]) -> tuple[Any, ...] | None:
    """Return a key that finds the same loop again although its functions are traced again; None where there is none."""
    texts = [text for b in bodies if (text := b.text) is not None]
    if is_traced_around() or len(texts) < len(bodies):
        return None
    hidden = tuple([b.hidden(fn) for b, fn in zip(bodies, functions, strict=True)])
    found = (name, key, tuple(text for text, _ in texts), tuple([len(b.handles) for b in bodies]), hidden)
    try:
        hash(found)
    except TypeError:
        return None
    return found


def _loop(
    name: str,
    key: object,
    fn: Callable[..., Any],
    bodies: list[Traced],
    inputs: list[Any],
    steps: int,
    functions: tuple[Any, ...],
    gathers: frozenset[Any] = frozenset(),
) -> tuple[ndarray, ...]:
    """Invoke `fn(root, index, *captured, *inputs)`; the same code on the same shapes is the same operator."""
    captured = [h for b in bodies for h in b.handles]
    n_random = sum(b.n_random for b in bodies)
    key = _identity(name, key, bodies, functions)

    def make() -> DerivedOp:
        op = DerivedOp(name, fn, wide=any(b.op.wide for b in bodies))
        op.gathers = gathers
        return op

    op = make() if key is None else recall(_interned, key, policy.SHARED, make)
    head = random_inputs(current_state(), n_random * steps) if n_random else (np.zeros((2,), np.uint32), 0)
    return invoke(op, (*head, *captured, *inputs))


def foreach(body: Callable[..., Any], data: ArrayLike, init_states: Any, name: str = "foreach") -> tuple[Any, Any]:
    """Run `body` over the first axis of `data`, carrying states: one ``lax.scan``.

    Parameters
    ----------
    body : callable
        ``body(item, states) -> (outputs, new_states)``, on the nesting of `data` and `init_states`.
    data : ndarray or list of ndarray
        Sliced along axis 0.
    init_states : ndarray or (nested) list of ndarray

    Returns
    -------
    outputs, states
        Outputs stacked along a new axis 0; the last states.

    Examples
    --------
    >>> from gluonx import np, npx
    >>> outs, last = npx.foreach(lambda x, s: (x + s, x + s), np.array([1.0, 2.0, 3.0]), np.array(0.0))
    >>> outs.tolist(), last.item()
    ([1.0, 3.0, 6.0], 6.0)
    """
    items, data_tree = _flatten(data)
    states, state_tree = _flatten(init_states)
    steps = items[0].shape[0]
    if _runs_apart() and steps:
        return _unrolled(body, items, data_tree, init_states, steps)
    n, m = len(items), len(states)
    box: dict[str, Any] = {}

    def flat(*handles: Handle) -> list[Any]:
        outs, new = body(jax.tree.unflatten(data_tree, handles[:n]), jax.tree.unflatten(state_tree, handles[n:]))
        out_leaves, box["tree"] = jax.tree.flatten(outs, is_leaf=is_handle)
        new_leaves, tree = jax.tree.flatten(new, is_leaf=is_handle)
        if len(new_leaves) != m:
            raise ValueError(
                f"foreach: the body must return as many states as it got ({m}), returned {len(new_leaves)}: {tree}"
            )
        casted = [as_handle(s).astype(h.dtype) for s, h in zip(new_leaves, handles[n:], strict=True)]  # type: ignore[attr-defined]
        return [*out_leaves, *casted]

    try:
        traced = _trace(flat, name, [*[_struct(i, True) for i in items], *[_struct(s) for s in states]])
    except DynamicShapeError:
        if is_traced_around() or not steps:
            raise
        return _unrolled(body, items, data_tree, init_states, steps)
    n_caught, stride = len(traced.handles), traced.n_random

    def run(root: jax.Array | np.ndarray, index: Any, *args: object) -> tuple[Any, ...]:
        caught, xs, init = args[:n_caught], args[n_caught : n_caught + n], args[n_caught + n :]
        step = _parts(traced, caught)

        def scan(carry: tuple[Any, Any], slices: Sequence[Any]) -> tuple[Any, Any]:
            i, state = carry
            outs = step(root, i, *slices, *state)
            return (i + stride, tuple(outs[len(outs) - m :])), tuple(outs[: len(outs) - m])

        (_, last), stacked = jax.lax.scan(scan, (jnp.asarray(index, jnp.int32), tuple(init)), tuple(xs))
        return (*stacked, *last)

    outs = _loop(name, (n, m), run, [traced], [*items, *states], steps, (body,))
    k = len(outs) - m
    return jax.tree.unflatten(box["tree"], outs[:k]), jax.tree.unflatten(state_tree, outs[k:])


def _runs_apart() -> bool:
    """Return whether loops and branches run as single operators: a trace wants it, or all indices are looked at."""
    trace = current_state().trace
    return index_checks.Switch.on if trace is None else trace.unrolls


def _unrolled(
    body: Callable[..., Any], items: list[Any], tree: object, states: Sequence[ndarray], steps: int
) -> tuple[Any, Any]:
    """Return the loop as its steps one after the other, for a trace that has no word for loops."""
    rows = []
    for i in range(steps):
        outs, states = body(jax.tree.unflatten(tree, [item[i] for item in items]), states)
        leaves, out_tree = jax.tree.flatten(outs, is_leaf=is_handle)
        rows.append(leaves)
    stacked = [invoke(get("stack").bind(axis=0), column) for column in zip(*rows, strict=True)]
    return jax.tree.unflatten(out_tree, stacked), states


def while_loop(
    cond: Callable[..., Any],
    func: Callable[..., Any],
    loop_vars: object,
    max_iterations: int | None = None,
    name: str = "while_loop",
) -> tuple[Any, Any]:
    """Run `func` while `cond` holds, at most `max_iterations` times; differentiable.

    Parameters
    ----------
    cond : callable
        ``cond(*loop_vars) -> scalar``.
    func : callable
        ``func(*loop_vars) -> (step_output, new_loop_vars)``.
    loop_vars : list of ndarray
    max_iterations : int
        Needed: it is the length of the stacked outputs, whose rest is zeros.

    Returns
    -------
    outputs, loop_vars

    Examples
    --------
    >>> from gluonx import np, npx
    >>> outs, (i, s) = npx.while_loop(
    ...     lambda i, s: i < 3, lambda i, s: (s, [i + 1, s * 2]), [np.array(0.0), np.array(1.0)], max_iterations=4
    ... )
    >>> outs.tolist(), s.item()
    ([1.0, 2.0, 4.0, 0.0], 8.0)
    """
    if max_iterations is None:
        raise ValueError("while_loop needs max_iterations, the length of its stacked outputs")
    states, state_tree = _flatten(loop_vars)
    m = len(states)
    box: dict[str, Any] = {}

    def unpack(handles: Sequence[Handle]) -> Sequence[Any]:
        values = jax.tree.unflatten(state_tree, handles)
        return values if isinstance(values, (list, tuple)) else (values,)

    def flat(*handles: Handle) -> list[Any]:
        outs, new = func(*unpack(handles))
        out_leaves, box["tree"] = jax.tree.flatten(outs, is_leaf=is_handle)
        new_leaves = jax.tree.leaves(new, is_leaf=is_handle)
        if len(new_leaves) != m:
            raise ValueError(f"while_loop: func must return {m} loop variables, returned {len(new_leaves)}")
        return [*out_leaves, *[as_handle(s).astype(h.dtype) for s, h in zip(new_leaves, handles, strict=True)]]  # type: ignore[attr-defined]

    structs = [_struct(s) for s in states]
    test = _trace(lambda *h: cond(*unpack(h)), f"{name}_condition", structs)
    body = _trace(flat, name, structs)
    run = _bounded_loop(test, body, m, max_iterations)
    outs = _loop(name, (m, max_iterations), run, [test, body], states, max_iterations, (cond, func))
    k = len(outs) - m
    return jax.tree.unflatten(box["tree"], outs[:k]), jax.tree.unflatten(state_tree, outs[k:])


def _bounded_loop(test: Traced, body: Traced, m: int, max_iterations: int) -> Callable[..., Any]:
    """Get a scan of fixed length that idles once the condition has failed.

    Unlike ``lax.while_loop`` it has a gradient.
    """
    n_test, n_body, stride = len(test.handles), len(body.handles), body.n_random

    def run(root: object, index: object, *args: object) -> tuple[Any, ...]:
        check, step = _parts(test, args[:n_test]), _parts(body, args[n_test : n_test + n_body])

        def scan(carry: tuple[Any, Any, Any], _: object) -> tuple[Any, Any]:
            i, going, state = carry
            going = going & jnp.asarray(check(root, i, *state)[0]).reshape(()).astype(bool)
            shapes = jax.eval_shape(lambda *s: step(root, i, *s), *state)

            def idle(*state: ndarray) -> list[Any]:
                return [*[jnp.zeros(s.shape, s.dtype) for s in shapes[: len(shapes) - m]], *state]

            outs = jax.lax.cond(going, lambda *s: step(root, i, *s), idle, *state)
            return (i + stride, going, tuple(outs[len(outs) - m :])), tuple(outs[: len(outs) - m])

        first = (jnp.asarray(index, jnp.int32), jnp.asarray(True), tuple(args[n_test + n_body :]))
        (_, _, last), stacked = jax.lax.scan(scan, first, None, length=max_iterations)
        return (*stacked, *last)

    return run


def cond(
    pred: Any,
    then_func: Callable[..., Made],
    else_func: Callable[..., Made],
    inputs: Sequence[Any] = (),
    name: str = "cond",
) -> Made:
    """Run `then_func` or `else_func`, as `pred` tells: one ``lax.cond``.

    Parameters
    ----------
    pred : ndarray or callable
        A scalar, or a function of the inputs that gives one.
    then_func, else_func : callable
        Functions of the inputs that return the same nesting, shapes and dtypes.
    inputs : ndarray or list of ndarray

    Returns
    -------
    structure of ndarray
        What the chosen function returns.

    Examples
    --------
    >>> from gluonx import np, npx
    >>> npx.cond(lambda x: x > 0, lambda x: x * 2, lambda x: -x, [np.array(-3.0)]).item()
    3.0
    """
    handles, tree = _flatten(inputs if isinstance(inputs, (list, tuple)) else [inputs])
    structs = [_struct(h) for h in handles]
    trees: list[Any] = []

    def branch(fn: Callable[..., Any]) -> Callable[..., Any]:
        def flat(*hs: object) -> list[Any]:
            leaves, treedef = jax.tree.flatten(fn(*jax.tree.unflatten(tree, hs)), is_leaf=is_handle)
            trees.append(treedef)
            return leaves

        return flat

    if callable(pred):
        chooser = pred
        pred = chooser(*jax.tree.unflatten(tree, handles))
    if index_checks.Switch.on and not is_traced_around():
        return (then_func if bool(pred) else else_func)(*jax.tree.unflatten(tree, handles))
    try:
        then = _trace(branch(then_func), f"{name}_then", structs)
        other = _trace(branch(else_func), f"{name}_else", structs)
    except DynamicShapeError:
        if is_traced_around():
            raise
        return (then_func if bool(pred) else else_func)(*jax.tree.unflatten(tree, handles))
    if trees[0] != trees[-1]:
        raise ValueError(f"cond: both branches must return the same nesting of arrays, got {trees[0]} and {trees[-1]}")
    n_then, n_else = len(then.handles), len(other.handles)

    def run(root: Any, index: Any, *args: object) -> tuple[Any, ...]:
        first, second = _parts(then, args[:n_then]), _parts(other, args[n_then : n_then + n_else])
        flag, *rest = args[n_then + n_else :]
        shift = then.n_random
        return tuple(
            jax.lax.cond(
                jnp.asarray(flag).reshape(()).astype(bool),
                lambda *x: first(root, index, *x),
                lambda *x: second(root, index + shift, *x),
                *rest,
            )
        )

    outs = _loop(name, len(handles), run, [then, other], [as_handle(pred), *handles], 1, (then_func, else_func))
    return jax.tree.unflatten(trees[0], outs)


def chain(
    layers: Sequence[tuple[Callable[..., Any], list[Handle]]],
    x: Any,
    args: tuple[Any, ...] = (),
    scan: bool = True,
    remat: str | None = None,
) -> Any:
    """Give `x` to the first layer, its output to the next, and so on; neighbours that do the same run as one scan.

    A program then holds such layers once, however many there are. Whether two do the same is not guessed: each is
    traced, and the texts of the traces decide, gradients included (which show what a forward hides). Parameters are
    stacked in the program; random numbers are those that the single layers draw. Only for a hybridized forward.

    Parameters
    ----------
    layers : sequence of (callable, list of Handle)
        ``layer(x, *args) -> ndarray``, and the parameters that it is expected to read.
    x : ndarray
    args : tuple
        Arrays, None or other values that every layer gets.
    scan : bool
        Whether to look for layers that do the same.
    remat : str, optional
        What a backward computes again of each layer, see :func:`gluonx.deferred.trace.remat.policy_of`.

    Returns
    -------
    ndarray
    """
    given = [a for a in args if isinstance(a, Handle)]
    start = 0
    while start < len(layers):
        inputs = [x] if isinstance(x, Handle) else list(x)
        group = _alike(layers[start:], x, args, given) if scan and len(inputs) == 1 else []
        x = _scanned(group, x, given, remat) if len(group) > 1 else _single(layers[start], inputs, args, remat)
        start += max(1, len(group))
    return x


def _single(
    layer: tuple[Callable[..., Any], list[Handle]], inputs: list[Any], args: tuple[Any, ...], remat: str | None
) -> Any:
    """One layer that does what no neighbour does."""
    call, params = layer
    every = [*inputs, *args]
    given = [a for a in every if isinstance(a, Handle)]

    def flat(*handles: Handle) -> Any:
        rest = iter(handles)
        return call(*[next(rest) if isinstance(a, Handle) else a for a in every])

    return again(flat, params, [_struct(h) for h in given], given, remat)


def _alike(layers: Sequence[Any], x: Handle, args: tuple[Any, ...], given: list[Handle]) -> list[Traced]:
    """Return the traces of the first layer and of those after it that do the same."""
    structs = [_struct(h) for h in (x, *given)]
    group: list[Traced] = []
    wanted = None
    for layer, params in layers:

        def flat(x: Handle, *inputs: Handle, layer: Block = layer) -> Any:
            rest = iter(inputs)
            return layer(x, *[next(rest) if isinstance(a, Handle) else a for a in args])

        traced = trace_function(flat, "layer", structs, params)
        text = _meaning(traced, structs[0])
        if text is None or (group and text != wanted):
            break
        wanted = text
        group.append(traced)
    return group


def _meaning(traced: Traced, struct: jax.ShapeDtypeStruct) -> tuple[Any, ...] | None:
    """All that a traced layer does, as text; None if a text cannot tell, or if it cannot be part of a loop."""
    if traced.text is None or traced.writes or traced.lost or traced.out_tree is not None:
        return None
    (out,) = traced.outputs
    if (out.shape, out.dtype) != (struct.shape, struct.dtype) or traced.gradient is None:
        return None
    return traced.text[0], traced.gradient


def _scanned(group: list[Traced], x: Handle, given: list[Handle], remat: str | None) -> Handle:
    """Layers that do the same, as one operator."""
    first, count = group[0], len(group)
    n = len(first.handles)
    places = _gathered_in_the_loop(group)

    def run(root: object, index: object, *values: jax.Array) -> tuple[Any, ...]:
        params, (start, *rest) = values[: n * count], values[n * count :]
        stacked = tuple([_stacked(params[i::n], places.get(i)) for i in range(n)])

        def layer(carry: tuple[Any, Any], own: Sequence[Any]) -> tuple[Any, None]:
            i, value = carry
            own = [_used(piece, places.get(k)) for k, piece in enumerate(own)]
            (out,) = _parts(first, own)(root, i, value, *rest)
            return (i + first.n_random, out), None

        body = layer if remat is None else checkpointed(layer, remat)
        if places and remat is None:  # else the backward would find all layers' gathered weights kept
            body = jax.checkpoint(body, prevent_cse=False, policy=_keep_no_weight)  # pyright: ignore[reportPrivateImportUsage]
        (_, last), _ = jax.lax.scan(body, (jnp.asarray(index, jnp.int32), start), stacked, length=count)
        return (last,)

    gathers = frozenset([t.handles[i].variable for t in group for i in places])
    (out,) = _loop("layers", None, run, group, [x, *given], 1, (), gathers)
    return out


def _gathered_in_the_loop(group: list[Traced]) -> dict[int, Any]:
    """By number: how a weight of the layers lies on a mesh, if it is gathered where it is used.

    Those of one layer at a time then, in the loop; gathered before it, all layers' would be whole on every device.
    """
    trace = current_state().trace
    found: dict[int, Any] = {}
    if in_use() is None or getattr(trace, "gathers", None) is None:
        return found
    for i, handles in enumerate(zip(*[t.handles for t in group], strict=True)):
        avals = {h.aval if isinstance(h.value, (jax.Array, jax.ShapeDtypeStruct)) else None for h in handles}
        aval = avals.pop() if len(avals) == 1 else None
        if aval is None or not aval.spread or not all(getattr(h.variable, "owner", "") for h in handles):
            continue
        if gathered(aval.sharding) is not None:
            found[i] = aval.sharding
    return found


def _stacked(pieces: Sequence[Any], place: NamedSharding | None) -> jax.Array:
    """Stack the weights of layers; on a mesh each stays where it is."""
    whole = jnp.stack(pieces)
    if place is None:
        return whole
    return jax.lax.with_sharding_constraint(whole, NamedSharding(place.mesh, PartitionSpec(None, *place.spec)))


def _used(piece: jax.Array, place: NamedSharding | None) -> jax.Array:
    """Return a weight as a layer uses it; its gradient goes the other way, and is summed into shards."""
    if place is None:
        return piece
    return jax.lax.with_sharding_constraint(jax.lax.with_sharding_constraint(piece, place), gathered(place))


_MOVES = frozenset(["convert_element_type", "reshape", "sharding_constraint", "squeeze", "transpose"])


def _keep_no_weight(primitive: Primitive, *_: object, **__: object) -> bool:
    """Policy of ``jax.checkpoint``: keep all but what a gathered weight and its transpose or cast are."""
    return primitive.name not in _MOVES
