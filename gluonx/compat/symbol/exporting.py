"""``HybridBlock.export(path, format='mxnet')``: a block as the files that MXNet 2 reads."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import jax
import jax.export
import numpy as np

from gluonx.compat import prefixes as naming
from gluonx.compat.symbol import files, rules_core, rules_loss
from gluonx.compat.symbol.emit import RULES, Emit, Rule
from gluonx.compat.symbol.graph import Entry, aux_nodes, variables, walk
from gluonx.compat.symbol.infer import DTYPE_NUMBERS
from gluonx.compat.symbol.symbol import Symbol
from gluonx.deferred.record.graph import at_one_moment
from gluonx.deferred.values.shapes import Unknown
from gluonx.errors import GraphError, ShapeError, UninitializedError
from gluonx.export.record import Program, Ref, Step, is_open, record_forward, recorded
from gluonx.files import save_arrays
from gluonx.ops.registry import OPS

if TYPE_CHECKING:
    from gluonx.block.block import Block
    from gluonx.np.handle import ndarray


del rules_core, rules_loss  # imported for the rules that they enter

_DERIVED = frozenset(["cast", "gather", "power", "read"])
NESTING = "__nesting__"
"""The attribute of a graph's first input that says how arguments and results are nested."""


def symbol_of(program: Program) -> tuple[list[Entry], dict[str, np.ndarray]]:
    """Return the graph of a program, and the constants it needs.

    Raises
    ------
    GraphError
        If MXNet has no operator for a step; all such operators are named.
    """
    emit = Emit(program)
    needed = program.needed()
    missing = sorted({s.op.name for i, s in enumerate(program.steps) if i in needed and _rule(s) is None})
    if missing:
        raise GraphError(
            f"MXNet has no operator for {', '.join(map(repr, missing))} of gluonx; this cannot be written as a symbol"
        )
    for number, step in enumerate(program.steps):
        if number not in needed:
            continue
        rule = _rule(step)
        assert rule is not None, "missing rules were found before"
        try:
            out = rule(emit, step)
        except GraphError as error:
            raise GraphError(f"operator '{step.op.name}' cannot be written as a symbol of MXNet: {error}") from None
        for index, entry in enumerate(out if isinstance(out, list) else [out]):
            emit.entries[Ref(number, index)] = entry
    return [emit.array(ref) for ref in program.outputs], emit.constants


def _rule(step: Step) -> Rule | None:
    name = step.op.name
    if getattr(step.op, "op", None) is not None:
        rule = RULES.get(name) or (RULES.get(OPS[name].name) if name in OPS else None)
        plain = not step.op.random and not any(isinstance(arg, Ref) for arg in step.args)
        return _constant if rule is None and plain else rule
    # An operator made by the engine, whatever it is called: only those that say what they are can be known.
    kind = step.op.extra[0] if isinstance(step.op.extra, tuple) else None
    if kind in _DERIVED:
        return RULES[f"derived {kind}"]
    return RULES[name] if step.op.extra is None and name in ("copy", "stop_gradient") else None


def _constant(emit: Emit, step: Step) -> Any:
    """Compute an operator without inputs, and keep what it gives as arrays."""
    if any(is_open(out.shape) for out in step.outs):
        raise GraphError("its size is one that an input may have any of")
    with jax.ensure_compile_time_eval():
        out = step.op.fn(*step.args)
    values = [np.asarray(v) for v in (out if isinstance(out, tuple | list) else (out,))]
    entries = []
    for value in values:
        emit.program.leaves.append((None, value))
        entries.append(emit.leaf(len(emit.program.leaves) - 1))
    return entries


def symbol_of_block(block: Block, inputs: dict[str, Any], tree: Any = None) -> tuple[Symbol, dict[str, np.ndarray]]:
    """Return the graph of a block's forward in predict mode, and all arrays that it needs beside the inputs.

    Parameters
    ----------
    block : HybridBlock
        With all parameters initialized and of known shape.
    inputs : dict of str to jax.ShapeDtypeStruct
        What goes in, by the name of the variable.
    tree : jax.tree_util.PyTreeDef, optional
        How the inputs are nested in the arguments of the forward; side by side by default. Where they, or the outputs,
        are nested, an attribute of the first input says so, for :meth:`SymbolBlock.imports`.

    Raises
    ------
    GraphError
        If MXNet has no operator for something that the forward does.
    """
    params = {name: p._handle for name, p in block._array_params().items()}
    unique: dict[str, Any] = {}
    for name, handle in params.items():
        if handle is None:
            raise UninitializedError(f"Parameter '{name}' has not been initialized; call net.initialize() first")
        if isinstance(handle.value, Unknown):
            continue  # no forward has reached it, nor will this one
        if not any(handle is other for other in unique.values()):
            unique[name] = handle

    def forward(*arrays: ndarray) -> Any:
        return block._run_forward(*(arrays if tree is None else jax.tree.unflatten(tree, arrays)))

    entries, constants, out_tree = _of_any_size(forward, unique, inputs)
    nesting = nesting_of(tree, out_tree)
    for node in variables(walk(entries)):
        if nesting is not None and node.name == next(iter(inputs), None):
            node.attrs[NESTING] = nesting
        if node.name in unique:
            handle = unique[node.name]
            node.attrs.update(
                {"__shape__": str(tuple(handle.shape)), "__dtype__": str(DTYPE_NUMBERS.index(handle.dtype.name))}
            )
    used = {node.name for node in variables(walk(entries))}
    moment: list[Any] = at_one_moment(list(unique.values()))  # another thread may be training them
    arrays = {name: handle.asnumpy() for name, handle in zip(unique, moment, strict=True) if name in used}
    return Symbol(entries, modern=True), arrays | constants


def _of_any_size(forward: Callable[..., Any], params: dict[str, Any], inputs: dict[str, Any]) -> tuple[Any, Any, Any]:
    """Return the graph, its constants and the nesting of its outputs, with as few sizes of the inputs in it as can be.

    What is written for one size may be wrong for another: ``x[:, 0]`` with a batch of 1 takes the first row. So the
    axes of the inputs get symbolic sizes, one after the other, and keep them where the forward takes any size.
    """

    def graph(opened: Mapping[tuple[str, int], str]) -> tuple[Any, Any, Any]:
        program, out_tree = record_forward(forward, params, _opened(inputs, opened))
        return (*symbol_of(program), out_tree)

    found, opened = graph({}), {}
    axes = [(name, axis, n) for name, struct in inputs.items() for axis, n in enumerate(struct.shape)]
    alike = [{(name, axis) for name, axis, n in axes if (axis, n) == key} for key in dict.fromkeys(a[1:] for a in axes)]
    sizes = [{(name, axis) for name, axis, n in axes if n == size} for size in dict.fromkeys(a[2] for a in axes)]
    for number, together in enumerate([*alike, *sizes]):  # a length stands beside the batch in one input, or is alone
        if opened.keys() & together:
            continue
        more = {**opened, **dict.fromkeys(together, f"s{number}")}
        with contextlib.suppress(Exception):  # JAX raises whatever it does where a size matters
            found, opened = graph(more), more
    return found


def _opened(inputs: dict[str, Any], opened: Mapping[tuple[str, int], str]) -> dict[str, Any]:
    """Return the inputs with symbolic sizes for some axes."""
    scope = jax.export.SymbolicScope()
    found = {}
    for name, struct in inputs.items():
        texts = [opened.get((name, axis), str(n)) for axis, n in enumerate(struct.shape)]
        shape = jax.export.symbolic_shape(",".join(texts), scope=scope) if texts else ()
        found[name] = jax.ShapeDtypeStruct(shape, struct.dtype)
    return found


def nesting_of(inputs: Any, outputs: Any) -> str | None:
    """Return the nesting of arguments and results as text: lists and dicts of numbers; None where each is flat."""
    both = []
    for tree in (inputs, outputs):
        shape = None if tree is None else jax.tree.unflatten(tree, range(tree.num_leaves))
        row = shape if isinstance(shape, list | tuple) else [shape]
        flat = all(isinstance(item, int) for item in row)
        both.append(None if tree is None or flat else shape)
    try:
        return None if both == [None, None] else json.dumps(both)
    except TypeError:  # nested in objects of another kind
        return None


def export_mxnet(block: Block, path: str | os.PathLike[str], inputs: Sequence[Any], epoch: int = 0) -> tuple[str, str]:
    """Write ``PATH-symbol.json`` and ``PATH-NNNN.params``; see :meth:`gluonx.HybridBlock.export`."""
    leaves, tree = jax.tree.flatten(tuple(inputs), is_leaf=lambda x: hasattr(x, "shape"))
    structs = [_struct(x) for x in leaves]
    names = ["data"] if len(structs) == 1 else [f"data{i}" for i in range(len(structs))]
    symbol, arrays = symbol_of_block(block, dict(zip(names, structs, strict=True)), tree)
    order = walk(symbol._entries)
    aux = {node.name for node in order if id(node) in aux_nodes(order)}
    missing = [name for name in names if name not in {node.name for node in variables(order)}]
    if missing:
        raise ShapeError(f"the outputs do not depend on the input '{missing[0]}', so the symbol would lack it")
    target = os.fspath(path)
    symbol_path, params_path = f"{target}-symbol.json", f"{target}-{epoch:04d}.params"
    arrays = {f"{'aux' if name in aux else 'arg'}:{name}": a for name, a in arrays.items()}
    save_arrays(params_path, arrays, "mxnet" if naming.wants_scope() else "npz")  # MXNet 1 reads its own list only
    files.write(symbol_path, symbol._entries, True)
    return symbol_path, params_path


def _struct(x: jax.ShapeDtypeStruct | ndarray) -> jax.ShapeDtypeStruct:
    if any(not isinstance(n, int) for n in x.shape):
        raise ShapeError(f"a symbol of MXNet is traced for sizes, but an input has the shape {tuple(x.shape)}")
    return jax.ShapeDtypeStruct(tuple(x.shape), np.dtype(x.dtype))


def get_symbol(outputs: Any, names: Sequence[str] | None = None) -> Symbol:
    """See :func:`gluonx.deferred.get_symbol`."""
    listed = list(outputs) if isinstance(outputs, list | tuple) else [outputs]
    program = recorded(listed)
    given = list(names or [])
    program.leaves = [(given[i] if i < len(given) else f"var{i}", leaf) for i, (_, leaf) in enumerate(program.leaves)]
    entries, _ = symbol_of(program)
    return Symbol(entries, modern=True)
