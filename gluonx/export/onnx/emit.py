"""From what ran to an ONNX graph: the core operators by their names there.

:func:`graph_of` turns a :class:`~gluonx.export.record.Program` into a graph. `RULES` (filled by the modules
``gluonx.onnx.rules_*``) says for each core operator what it becomes: a function ``rule(emit, step)`` that makes nodes
with ``emit.node(...)`` and returns the values of its outputs. That table is the whole of the exporter.

What depends on parameters and constants only is computed here and now, and becomes an initializer. Everything that
cannot be written is named in one error.
"""

from __future__ import annotations

import importlib
import math
from collections import Counter
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import jax
import numpy as np

from gluonx.deferred.operators.derived import strong
from gluonx.deferred.operators.growth import scalar_dtype
from gluonx.dtype import as_array
from gluonx.errors import GraphError
from gluonx.export.onnx.graph import Graph, Value, common_dtype, is_static
from gluonx.export.record import Program, Ref, Step, into, number
from gluonx.ops.registry import OPS

if TYPE_CHECKING:
    from gluonx.dtype import DTypeLike
    from gluonx.ops.registry import BoundOp


Rule = Callable[["Emit", Step], Any]
RULES: dict[str, Rule] = {}
"""The rule of each core operator, by its name. Operators that the engine makes itself are called ``derived ...``."""

rule = into(RULES)
"""Makes the decorated function the rule of these operators."""

_TOPICS = ["elementwise", "activation", "reduce", "product", "shape", "index", "layers", "norm", "pool", "sequence"]
_TOPICS += ["vision", "quantized"]
_DERIVED = frozenset(["cast", "gather", "power", "read", "scatter", "write"])
_FOLDS = 1 << 16  # a computed constant may have so many elements, or as many as what it is computed from


def supported() -> list[str]:
    """Return the names of all core operators that can be written.

    Examples
    --------
    >>> "convolution" in supported()
    True
    """
    _load()
    return sorted(name for name in RULES if not name.startswith("derived "))


def _load() -> None:
    for topic in _TOPICS:
        importlib.import_module(f"gluonx.export.onnx.rules_{topic}")


class Emit(Graph):
    """The graph of one program."""

    def __init__(self, program: Program, inputs: Sequence[str]) -> None:
        super().__init__()
        self.program, self.values, self.steps = program, {}, program.steps
        self.uses: Counter[Any] = Counter()
        for name, value in program.leaves:
            if name is not None and name in inputs:
                self.input(name, value.dtype, value.shape)
        self._inputs = {value.name: value for value in self.inputs}

    def value(self, arg: Any, dtype: Any = None) -> Value:
        """Return the value of an argument, in an element type if one is given; a number becomes a constant."""
        if arg is None:
            raise GraphError("an array is missing")
        if isinstance(arg, Ref):
            found = self.values[arg] if arg.step is not None else self.leaf(arg.index)
        else:
            found = self.constant(arg, dtype if dtype is not None else common_dtype(arg))
        return found if dtype is None else self.cast(found, dtype)

    def args(self, step: Step, dtype: DTypeLike = None) -> list[Value]:
        """Return the values of all arguments that are there."""
        return [self.value(arg, dtype) for arg in step.args if arg is not None]

    def meeting(self, *args: Any) -> list[Value]:
        """Values of arguments in the element type in which they meet; numbers adapt."""
        dtype = common_dtype(*[self.value(a) if isinstance(a, Ref) else a for a in args])
        return [self.value(a, dtype) for a in args]

    def known_array(self, arg: Any, what: str) -> np.ndarray:
        """Return the elements of an argument that must be known.

        Raises
        ------
        GraphError
            If it depends on the inputs; `what` says what it is.
        """
        found = self.value(arg)
        if not found.known:
            raise GraphError(f"{what} must be a constant or made of parameters, but it depends on the inputs")
        return found.array

    def alone(self, arg: Any) -> bool:
        """Return whether a value is used once only, so that it may be kept in another form."""
        return self.uses[arg] <= 1

    def leaf(self, index: int) -> Value:
        """Return the value of a leaf: an input, a parameter or a constant."""
        ref = Ref(None, index)
        if ref not in self.values:
            name, value = self.program.leaves[index]
            if name in self._inputs:
                made = self._inputs[name]
            elif name is None:
                made = self.constant(np.asarray(value))
            else:
                array = getattr(value, "asnumpy", value)
                made = self.known(name, array, value.dtype, value.shape)
            self.values[ref] = made
        return self.values[ref]

    # ------------------------------------------------------------------ steps

    def fold(self, step: Step) -> bool:
        """Compute a step that needs no input, if what comes out is not much larger than what goes in."""
        given = [self.value(arg) if isinstance(arg, Ref) else arg for arg in step.args]
        arrays = [v for v in given if isinstance(v, Value)]
        plain = all(v is None or isinstance(v, Value | np.ndarray) or number(v) for v in given)
        if not plain or step.op.random or not all(v.known for v in arrays):
            return False
        if not all(is_static(out.shape) for out in step.outs):
            return False
        bound = max(_FOLDS, *[2 * math.prod(v.shape) for v in arrays]) if arrays else _FOLDS
        if any(math.prod(out.shape) > bound for out in step.outs):
            return False
        beside = [s for s in step.shapes if s is not None]
        with jax.ensure_compile_time_eval():
            out = strong(step.op)(*[_computable(v, beside, step.op) for v in given])
        name = arrays[0].name if len(arrays) == 1 and arrays[0].name != "constant" else self.path
        for index, (value, struct) in enumerate(zip(out if isinstance(out, tuple) else (out,), step.outs, strict=True)):
            array = np.asarray(value).astype(struct.dtype)
            small = not arrays or (len(arrays) == 1 and arrays[0].name == "constant")
            label = f"{name}.{step.op.name}" if name else step.op.name
            made = self.constant(array) if small else self.known(label, array, array.dtype, array.shape)
            self.values[Ref(self.number, index)] = made
        return True

    number = 0  # of the step that is being written


def graph_of(program: Program, inputs: Sequence[str]) -> Emit:
    """Return the graph of a program; its outputs are those of the program, in order.

    Parameters
    ----------
    program : Program
    inputs : sequence of str
        The names of the leaves that are given at each run. The other named leaves are parameters.

    Raises
    ------
    GraphError
        If something cannot be written in ONNX. All such operators are listed, each with its place in the model.
    """
    _load()
    emit = Emit(program, inputs)
    needed = program.needed()
    for number_ in needed:
        emit.uses.update([arg for arg in program.steps[number_].args if isinstance(arg, Ref)])
    emit.uses.update([ref for ref in program.outputs if isinstance(ref, Ref)])
    problems: dict[str, list[str]] = {}
    for number_, step in enumerate(program.steps):
        if number_ not in needed:
            continue
        emit.number, emit.path = number_, _place(step)
        try:
            _write(emit, step)
        except GraphError as error:
            problems.setdefault(f"'{step.op.name}' ({error})", []).append(emit.path)
            for index, out in enumerate(step.outs):  # stands in, so that the next problem is found too
                emit.values[Ref(number_, index)] = Value("", out.dtype, tuple(out.shape))
    if problems:
        raise GraphError(_refused(problems))
    emit.outputs = [emit.value(ref) for ref in program.outputs]
    return emit


def _computable(value: Any, beside: list[Any], op: BoundOp) -> Any:
    """Return an argument as the operator's function takes it."""
    if isinstance(value, Value):
        return as_array(value.array)
    return scalar_dtype(value, beside, op).type(value) if number(value) else value


def _place(step: Step) -> str:
    """Return the path of a step in the model, without the name of the whole model's class."""
    return step.path.partition(".")[2]


def _refused(problems: dict[str, list[str]]) -> str:
    lines = []
    for what, places in problems.items():
        shown = list(dict.fromkeys(p for p in places if p))
        more = f" and {len(shown) - 3} more places" if len(shown) > 3 else ""
        lines.append(f"\n  operator {what}" + (f", in block {', '.join(shown[:3])}{more}" if shown else ""))
    return "this model cannot be written in ONNX:" + "".join(lines)


def _write(emit: Emit, step: Step) -> None:
    """Make the nodes of one step, or compute it."""
    if emit.fold(step):
        return
    found = _rule(step)
    if found is None:
        raise GraphError("ONNX has no counterpart, or none is known here")
    made = found(emit, step)
    for index, (value, out) in enumerate(zip(made if isinstance(made, list) else [made], step.outs, strict=True)):
        if value.maker is not None:
            value.shape = tuple(out.shape)
        value = emit.cast(value, out.dtype)
        emit.values[Ref(emit.number, index)] = value


def _rule(step: Step) -> Rule | None:
    name = step.op.name
    if getattr(step.op, "op", None) is not None:
        return RULES.get(name) or (RULES.get(OPS[name].name) if name in OPS else None)
    # An operator made by the engine, whatever it is called: only those that say what they are can be known.
    extra = step.op.extra
    kind = extra[0] if isinstance(extra, tuple) else extra
    if isinstance(kind, str) and kind in _DERIVED | {"mask_write"}:
        return RULES.get(f"derived {kind}")
    return RULES[name] if extra is None and name in ("copy", "stop_gradient") else None
