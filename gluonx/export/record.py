"""The list of operators that ran: the raw material of a symbol that is made of gluonx code.

There are two sources. :func:`record_forward` runs a block's forward on shapes and notes every operator on its way;
:func:`recorded` reads what the deferred engine has noted anyway. Both give a :class:`Program`: steps in order, each an
operator on values; a value is an earlier step's output, an input, or a constant.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Sequence
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, TypeVar

import jax
import numpy as np
from jax import export
from jax.extend.core import jaxpr_as_fun

from gluonx.deferred.record.graph import at_one_moment, settle
from gluonx.deferred.trace.tracing import Trace, is_handle
from gluonx.deferred.values.core import Handle, Pending, Tracer, new_handle
from gluonx.deferred.values.source_location import block_path
from gluonx.dtype import WIDE, keeping_64_bits, without_64_bits
from gluonx.errors import GraphError, TracedValueError
from gluonx.ops.registry import get

if TYPE_CHECKING:
    from gluonx.np.handle import ndarray


running_node: ContextVar[str] = ContextVar("gluonx_symbol_node", default="")
"""The name of the node of a symbol that runs; empty outside of graphs."""

Rule = TypeVar("Rule", bound=Callable[..., Any])

_FOREIGN = (
    "{what} cannot be written in this format: it was computed by JAX itself (gluonx.from_jax, or jax.numpy in a "
    "forward), and not by an operator with a name. Write it with gluonx.np and gluonx.npx, or export StableHLO."
)


@dataclasses.dataclass(frozen=True)
class Ref:
    """A value: output `index` of step `step`, or leaf `index` where `step` is None."""

    step: int | None
    index: int


@dataclasses.dataclass
class Step:
    """One operator on values.

    Attributes
    ----------
    op : BoundOp or DerivedOp
    args : list
        `Ref`, Python or NumPy scalars, and None. The key of a random operator is left out.
    shapes : list of jax.ShapeDtypeStruct or None
        Of the arguments that are values.
    outs : list of jax.ShapeDtypeStruct
    path : str
        The block whose forward ran it, such as ``Net.features.0``; where a symbol ran, its node as well.
    """

    op: Any
    args: list[Any]
    shapes: list[Any]
    outs: list[Any]
    path: str = ""


@dataclasses.dataclass
class Program:
    """Steps, the leaves they begin with, and what comes out.

    Attributes
    ----------
    steps : list of Step
    leaves : list of (str or None, array or jax.ShapeDtypeStruct)
        Name and value; no name for a constant.
    outputs : list of Ref
    """

    steps: list[Step]
    leaves: list[tuple[str | None, Any]]
    outputs: list[Ref]

    def needed(self) -> set[int]:
        """Return the numbers of the steps that the outputs depend on."""
        needed: set[int] = set()
        stack = [ref for ref in self.outputs if isinstance(ref, Ref)]
        while stack:
            ref = stack.pop()
            if ref.step is not None and ref.step not in needed:
                needed.add(ref.step)
                stack += [arg for arg in self.steps[ref.step].args if isinstance(arg, Ref)]
        return needed


def number(value: Any) -> bool:
    """Return whether an argument of a step is a Python or NumPy number."""
    return isinstance(value, int | float | np.generic)


def is_open(sizes: Iterable[Any]) -> bool:
    """Return whether one of these is a symbolic size, and so any number."""
    return any(map(export.is_symbolic_dim, sizes))


def into(rules: dict[str, Rule]) -> Callable[..., Callable[[Rule], Rule]]:
    """Return a decorator that puts a function into a table of rules, for each operator that it is given the name of."""

    def rule(*names: str) -> Callable[[Rule], Rule]:
        def decorate(made: Rule) -> Rule:
            for name in names:
                assert name not in rules, f"operator {name} has two rules"
                rules[name] = made
            return made

        return decorate

    return rule


def _struct(value: Any) -> jax.ShapeDtypeStruct:
    return jax.ShapeDtypeStruct(tuple(value.shape), np.dtype(value.dtype))


class _Recorder(Trace):
    """A trace that notes what runs in it."""

    unrolls = True
    runs_hooks = None

    def __init__(self, handles: list[Handle], tracers: Sequence[jax.Array], key: Sequence[jax.Array]) -> None:
        super().__init__(handles, tracers, key)
        self.steps: list[Step] = []
        self.refs: dict[int, Ref] = {}
        self.leaves: list[tuple[str | None, Any]] = []
        self.kept: list[Any] = []  # so that no id is used twice
        self.unknown: list[tuple[Any, str]] = []

    def leaf(self, name: str | None, value: Any, stands_for: Any) -> Ref:
        ref = self.refs[id(value)] = Ref(None, len(self.leaves))
        self.leaves.append((name, stands_for))
        self.kept.append(value)
        return ref

    def invoke(self, op: Any, args: Any) -> Any:
        composed = getattr(getattr(op, "op", None), "composed", None)
        if composed is not None:
            out = composed(self._run, *args, **op.attrs)
            if out is not NotImplemented:  # with other attributes it is an operator of its own
                return out
        out = super().invoke(op, args)
        plain = args[2:] if op.random else args  # without the key
        refs = [self.ref(a, op.name) for a in plain]
        shapes = [_struct(a) if hasattr(a, "shape") and not isinstance(a, np.generic) else None for a in plain]
        values = [handle.value for handle in (out if type(out) is tuple else (out,))]
        path = ".".join(filter(None, (block_path(), running_node.get())))
        step = Step(op, refs, shapes, [_struct(v) for v in values], path)
        for index, value in enumerate(values):
            if id(value) not in self.refs:  # an operator that has nothing to do gives its input
                self.refs[id(value)] = Ref(len(self.steps), index)
                self.kept.append(value)
        self.steps.append(step)
        return out

    def _run(self, name: str, *arrays: Any, **attrs: Any) -> ndarray:
        """Run an operator that another one is composed of."""
        return self.invoke(get(name).bind(**attrs), arrays)

    def ref(self, value: Any, what: str) -> Any:
        if isinstance(value, Handle):
            value = self.value(value)
        elif not isinstance(value, jax.Array | np.ndarray):
            return value
        found = self.refs.get(id(value))
        if found is not None:
            return found
        if isinstance(value, Tracer):
            self.unknown.append((value, what))  # made by JAX itself: a constant, or an error; see _resolve
            return self.leaf(None, value, None)
        return self.leaf(None, value, np.asarray(value))

    def value(self, handle: Handle, op: Any = None, args: Any = ()) -> Any:
        if not isinstance(handle.value, Tracer) and id(handle) not in self.values:
            self.missing[id(handle)] = handle
            return settle(handle)  # an array that the forward captures: a constant
        return super().value(handle, op, args)


def record_forward(
    forward: Callable[..., Any], handles: dict[str, Handle], inputs: dict[str, Any]
) -> tuple[Program, Any]:
    """Run a forward on shapes, in predict mode, and note what runs.

    Parameters
    ----------
    forward : callable
        Takes one handle for each input; gives a pytree of handles.
    handles : dict of str to Handle
        Parameters, by name.
    inputs : dict of str to jax.ShapeDtypeStruct

    Returns
    -------
    program : Program
    tree : jax.tree_util.PyTreeDef
        The nesting of the outputs.

    Raises
    ------
    TracedValueError
        If something was computed by JAX itself.
    """
    box: dict[str, Any] = {}
    owned = list(handles.values())

    def flat(root: Any, base: Any, params: Any, given: Any) -> Any:
        recorder = _Recorder(owned, params, (root, base))
        with without_64_bits(), recorder.running(False, False, pure=True):
            for name, value, handle in zip(handles, params, owned, strict=True):
                recorder.leaf(name, value, handle)
            for name, value in zip(inputs, given, strict=True):
                recorder.leaf(name, value, inputs[name])
            out = forward(*[new_handle(v) for v in given])
            leaves, box["tree"] = jax.tree.flatten(out, is_leaf=is_handle)
            refs = [recorder.ref(leaf, "the result") for leaf in leaves]
            box["program"] = Program(recorder.steps, recorder.leaves, refs)
            box["unknown"] = [(what, recorder.refs[id(v)].index) for v, what in recorder.unknown]
            return [value for value, _ in recorder.unknown]

    root, base = jax.ShapeDtypeStruct((2,), np.uint32), jax.ShapeDtypeStruct((), np.int32)
    structs = [_struct(h) for h in owned]
    with keeping_64_bits(any(s.dtype in WIDE for s in (*structs, *inputs.values()))):
        closed = jax.make_jaxpr(flat)(root, base, structs, list(inputs.values()))
    program = box["program"]
    _resolve(closed, program, box["unknown"])
    moment = dict(zip(map(id, owned), at_one_moment(owned), strict=True))  # another thread may be training them
    program.leaves = [(name, moment.get(id(value), value)) for name, value in program.leaves]
    return program, box["tree"]


def _resolve(closed: Any, program: Program, unknown: list[tuple[str, int]]) -> None:
    """Give the leaves that JAX made their values, if they depend on nothing; else it was JAX that computed."""
    touched, free = set(closed.jaxpr.invars), []
    for eqn in closed.jaxpr.eqns:
        if any(not hasattr(v, "val") and v in touched for v in eqn.invars):
            touched.update(eqn.outvars)
        else:
            free.append(eqn)
    for var, (what, _) in zip(closed.jaxpr.outvars, unknown, strict=True):
        if not hasattr(var, "val") and var in touched:
            raise TracedValueError(_FOREIGN.format(what=f"an input of {what}"))
    if unknown:
        run = jaxpr_as_fun(closed.replace(jaxpr=closed.jaxpr.replace(eqns=free)))
        unused = [np.zeros((), a.dtype) for a in closed.in_avals]
        try:
            values = run(*unused)
        except Exception as error:  # what JAX makes of a symbolic size is a matter of the operation
            raise TracedValueError(_FOREIGN.format(what=f"an input of {unknown[0][0]}")) from error
        for value, (_, index) in zip(values, unknown, strict=True):
            program.leaves[index] = (None, np.asarray(value))


def recorded(outputs: Sequence[Handle]) -> Program:
    """Return what the engine has recorded for these arrays, which are still pending.

    Raises
    ------
    GraphError
        If an array is not pending (nothing was recorded for it, or it has been computed since), or they are pending
        in different graphs.
    """
    places = [handle.value for handle in outputs]
    if not all(isinstance(p, Pending) and p.value is None for p in places):
        raise GraphError(
            "get_symbol: nothing is recorded for an array that has been computed already. Call it inside "
            "autograd.record() or engine.bulk(), before the array's value is asked for."
        )
    graph = places[0].graph
    if any(p.graph is not graph for p in places):
        raise GraphError("get_symbol: the arrays were recorded by different threads")
    path, node = [], graph.cursor
    while node.parent is not None:
        path.append(node)
        node = node.parent
    steps: list[Step] = []
    produced: list[Ref] = []
    avals: list[Any] = []
    for node in reversed(path):
        args, shapes = _places(graph, node, produced, avals)
        steps.append(Step(node.op, args, shapes, [aval.struct for aval in node.outs]))
        produced += [Ref(len(steps) - 1, i) for i in range(len(node.outs))]
        avals += [aval.struct for aval in node.outs]
    leaves: list[tuple[str | None, Any]] = [(None, leaf) for leaf in graph.leaves]
    return Program(steps, leaves, [produced[p.slot] for p in places])


def _places(graph: Any, node: Any, produced: list[Ref], avals: list[Any]) -> tuple[list[Any], list[Any]]:
    args: list[Any] = []
    shapes: list[Any] = []
    parts = node.parts[2:] if node.op.random else node.parts
    for part in parts:
        if part is None:
            args.append(None)
            shapes.append(None)
        elif isinstance(part, tuple):
            slot, number = part
            args.append(graph.ints[number] if slot.integral else graph.floats[number])
            shapes.append(None)
        elif part >= 0:
            args.append(produced[part])
            shapes.append(avals[part])
        else:
            args.append(Ref(None, -1 - part))
            shapes.append(_struct(graph.leaves[-1 - part]))
    return args, shapes
