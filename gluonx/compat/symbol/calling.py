"""A block called with symbols: ``net(mx.sym.var('data'))`` gives the symbol of its forward.

The forward is recorded on shapes, as for an export, and the symbols that came stand in the place of its inputs. A
symbol whose shape is not known is tried with several: what comes out counts if it is the same graph for all shapes that
the forward takes, so that no size is left in it. Else the shape has to be given.

A ``hybrid_forward`` runs with ``mx.sym`` for its F and symbols for its parameters, as in MXNet; what does not run that
way, as it looks at shapes or at values, is recorded too.
"""

from __future__ import annotations

import contextlib
import contextvars
import inspect
import itertools
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import jax
import jax.export
import numpy as np

from gluonx.block.abstract import abstract
from gluonx.compat import hybrid_forward, symbol, zoo
from gluonx.compat import name as names
from gluonx.compat import prefixes as naming
from gluonx.compat.mode import Mode
from gluonx.compat.symbol import files
from gluonx.compat.symbol.exporting import symbol_of
from gluonx.compat.symbol.front import var
from gluonx.compat.symbol.graph import Node, variables, walk
from gluonx.compat.symbol.infer import DTYPE_NUMBERS, complete
from gluonx.compat.symbol.infer import shapes as infer_shapes
from gluonx.compat.symbol.symbol import Symbol
from gluonx.deferred.values.source_location import FORWARDS
from gluonx.errors import GluonxError, GraphError, ShapeError, UninitializedError
from gluonx.export.record import record_forward

if TYPE_CHECKING:
    from gluonx.block.block import Block
    from gluonx.block.parameter import Parameter


_UNKNOWN = (
    "{cls} was called with a symbol of unknown shape, and its graph is not the same for every shape{why}. Give the "
    "shape: mx.sym.var('data', shape=(1, 3, 224, 224))."
)
_NOT_READY = "{cls} was called with a symbol, but its parameter '{path}' has no value yet. Call initialize()."
_SIZES = ({"N": 2, "T": 11, "D": 21, "H": 23, "W": 27}, {"N": 3, "T": 13, "D": 25, "H": 29, "W": 31})
_FORMS = {3: "NCW", 4: "NCHW", 5: "NCDHW"}  # what a layer takes whose weight has so many axes
_MOST = 3  # symbols of unknown shape in one call


def call_with_symbols(block: Any, args: tuple[Any, ...]) -> Any:
    """Return the outputs of ``block(*args)`` as symbols, nested as the forward gives them.

    Raises
    ------
    UninitializedError
        If a parameter was not initialized; a net of MXNet 1, whose parameters have names of their own, need not be.
    ShapeError
        If the shape of a symbol matters and is not known.
    GraphError
        If the forward does what MXNet has no operator for.
    """
    _check_caller(block)
    if not naming.is_named(block):  # the names of its parameters are known when they are initialized
        for param in block._array_params().values():
            if param._handle is None:
                raise UninitializedError(_NOT_READY.format(cls=type(block).__name__, path=param._path))
    ready = all(p._handle is not None and p._is_ready for p in block._array_params().values())
    if type(block).forward is hybrid_forward.forward:
        with contextlib.suppress(Exception):
            return _line_by_line(block, args)
    if naming.is_named(block) and (forward := zoo.forward_of(block)) is not None:
        with contextlib.suppress(Exception), _entering(block):
            return forward(block, symbol, *args)
    if block._children and _takes_symbols(block):
        with contextlib.suppress(Exception), _entering(block):  # its blocks, one by one, ask less of the shapes
            return block._run_forward(*args)
    leaves, tree = jax.tree.flatten(args, is_leaf=lambda x: isinstance(x, Symbol) or hasattr(x, "shape"))
    places = [i for i, leaf in enumerate(leaves) if isinstance(leaf, Symbol)]
    shapes = [_shape_of(leaves[i]) for i in places]

    def filled(arrays: Any) -> tuple[Any, ...]:
        full = list(leaves)
        for i, array in zip(places, arrays, strict=True):
            full[i] = array
        return jax.tree.unflatten(tree, full)

    def graph(sizes: Any) -> tuple[Any, ...]:
        structs = [jax.ShapeDtypeStruct(size, np.float32) for size in sizes]
        like = block if ready else abstract(block, *filled(structs))
        inputs = {f"\0{k}": struct for k, struct in enumerate(structs)}
        program, out_tree = record_forward(lambda *arrays: like._run_forward(*filled(arrays)), _handles(like), inputs)
        entries, constants = symbol_of(program)
        if constants:
            raise GraphError(
                f"{type(block).__name__} was called with a symbol, but its forward makes arrays that are no parameters"
            )
        return entries, out_tree

    entries, out_tree = graph(shapes) if all(shapes) else _for_any_shape(block, shapes, graph)
    _name(block, entries)
    new = {f"\0{k}": leaves[i] for k, i in enumerate(places)}
    result = Symbol(entries, modern=not naming.Naming.active)
    found = {node.name for node in variables(walk(entries))}
    result = result(**{name: symbol for name, symbol in new.items() if name in found})
    return jax.tree.unflatten(out_tree, [result[i] for i in range(len(entries))])


def _takes_symbols(block: Block) -> bool:
    """Return whether the forward of a block means the same by symbols as by arrays.

    One of MXNet 1 runs with symbols there too, and gluonx's own are written so. In anyone else's ``self.dense(x)[0]``
    is the first row, where of a symbol it would be the first output, and ``flatten()`` leaves one axis, not two.
    """
    return naming.is_named(block) or type(block).forward.__module__.startswith("gluonx.")


_entered: contextvars.ContextVar[tuple[Any, ...]] = contextvars.ContextVar("gluonx_symbol_blocks", default=())
"""The blocks whose forward runs with symbols because `call_with_symbols` has it do so."""


def _check_caller(block: Block) -> None:
    """Refuse symbols in a forward that came to them by itself.

    The call of the block around then fails, and comes to `call_with_symbols` in its turn, which knows what to do.
    """
    frame = inspect.currentframe()
    while frame is not None:
        owner = frame.f_locals.get("self") if frame.f_code.co_name in FORWARDS else None
        if owner is not None and owner is not block and hasattr(owner, "_children"):
            if not any(owner is entered for entered in _entered.get()):
                raise TypeError(f"the forward of {type(owner).__name__} works on arrays, but a symbol came")
            return
        frame = frame.f_back


@contextlib.contextmanager
def _entering(block: Block) -> Iterator[None]:
    """Run the forward of a block with symbols; a block of MXNet 1 with an empty prefix has no names of its own."""
    token = _entered.set((*_entered.get(), block))
    scope = naming.scope_of(block) if naming.is_named(block) else None
    try:
        with contextlib.nullcontext() if scope is None or scope.empty else names.Prefix(scope.prefix):
            yield
    finally:
        _entered.reset(token)


def _line_by_line(block: Any, args: tuple[Any, ...]) -> Any:
    """Return what the ``hybrid_forward`` of a block makes of symbols; raises whatever it does where it needs arrays."""
    hybrid_forward.count_call(block)
    named = naming.is_named(block)
    params = {
        name: param.var() if param._overrides("var") else _variable_of(param, named)
        for name, param in block._reg_params.items()
    }
    with _entering(block):
        return block.hybrid_forward(symbol, *args, **params)


_of_parameters: WeakKeyDictionary[Any, tuple[str, Symbol]] = WeakKeyDictionary()


def symbol_of_parameter(param: Parameter) -> Symbol | None:
    """Return the variable that stands for `param` in what a block called with symbols gives; None outside of MXNet."""
    if not (Mode.aliased or naming.Naming.active):
        return None
    return _variable_of(param, naming.Naming.active)


def _variable_of(param: Parameter, named: bool) -> Symbol:
    """Return the variable of a parameter, by its own name or else by the attributes that lead to it."""
    name = param.name if named else param._structured_name
    known = _of_parameters.get(param)
    if known is None or known[0] != name:  # a block that takes it in gives it its name
        shape = None if param.shape is None else [max(n, 0) for n in param.shape]
        made = var(name, shape=shape, lr_mult=param.lr_mult, wd_mult=param.wd_mult, dtype=param.dtype)
        known = _of_parameters[param] = (name, made)
    return known[1]


def _shape_of(symbol: Symbol) -> tuple[int, ...] | None:
    if len(symbol._entries) != 1:
        raise TypeError(f"a block takes symbols of one output each, got {symbol!r}")
    node, index = symbol._entries[0]
    if node not in _shapes:
        _shapes[node] = _learned(node)
    shape = _shapes[node][index]
    return shape if shape and complete(shape) else None


_shapes: WeakKeyDictionary[Node, list[tuple[int, ...] | None]] = WeakKeyDictionary()
"""The shapes of the outputs of nodes that came to blocks: a net asks for each layer, and what is below it stays."""


def _learned(node: Node) -> list[tuple[int, ...] | None]:
    """Return the shapes of a node's outputs, found from the nearest nodes below whose shapes were found before."""
    copies: dict[int, Node] = {}
    known: list[tuple[int, ...] | None] = []
    stack = [node]
    while stack:
        at = stack[-1]
        below = [source for source, _ in at.inputs if id(source) not in copies]
        if at is not node and at.nout == 1 and at.op is not None and at in _shapes:
            known.append(_shapes[at][0])
            marks = {} if known[-1] is None else {"__shape__": str(known[-1])}
            copies[id(at)] = Node(f"\0{len(copies)}", None, (), marks)
        elif below:
            stack += below
            continue
        elif id(at) not in copies:
            inputs = [(copies[id(source)], index) for source, index in at.inputs]
            copies[id(at)] = at if at.op is None else Node(at.name, at.op, inputs, at.attrs, at.subgraphs)
        stack.pop()
    if known and not any(known):
        return [None] * node.nout
    entries = [(copies[id(node)], i) for i in range(node.nout)]
    found = infer_shapes(entries, {})
    return [found.get((id(own), index)) for own, index in entries]


def _handles(block: Block) -> dict[str, Any]:
    """Return the arrays of the parameters by the names that their variables get."""
    found: dict[str, Any] = {}
    for name, param in _parameters(block).items():
        if not any(param._handle is other for other in found.values()):
            found[name] = param._handle
    return found


def _parameters(block: Block) -> dict[str, Any]:
    named = naming.is_named(block)
    return {name if named else p._structured_name: p for name, p in block._array_params().items()}


def _for_any_shape(block: Block, known: list[Any], graph: Callable[..., Any]) -> tuple[Any, ...]:
    """Return the graph, if it is the same for all shapes that the forward takes."""
    first, text, why = None, None, ""
    if known.count(None) > _MOST:
        raise ShapeError(_UNKNOWN.format(cls=type(block).__name__, why=""))
    served: set[Any] = set()
    own = type(block).__module__.startswith("gluonx.nn") and not hasattr(block, "_func")
    for forms, pair in _tried(block, known):
        if forms in served:
            continue
        try:
            both = [graph(_symbolic(*pair))] * 2
        except Exception:  # JAX raises whatever it does where a size matters
            both = []
        try:
            both = both or [graph(sizes) for sizes in pair]
        except GraphError:
            raise
        except (GluonxError, TypeError, ValueError, IndexError, ZeroDivisionError, AttributeError) as error:
            why = f" (for {pair[0]}: {str(error).partition(chr(10))[0][:200]})"
            continue
        texts = [files.dump(entries, True) + str(tree) for entries, tree in both]
        if texts[0] != texts[1] or text not in (None, texts[0]):
            raise ShapeError(_UNKNOWN.format(cls=type(block).__name__, why=""))
        first, text = both[0], texts[0]
        if own:  # a layer of gluonx is the same operator for all of them
            break
        served.add(forms)
    if first is None:
        raise ShapeError(_UNKNOWN.format(cls=type(block).__name__, why=why))
    return first


def _symbolic(one: list[Any], two: list[Any]) -> list[Any]:
    """Return the shapes of a pair with a symbolic size for each that differs."""
    scope = jax.export.SymbolicScope()
    rows = [[str(a) if a == b else f"s{a}" for a, b in zip(*pair, strict=True)] for pair in zip(one, two, strict=True)]
    return [jax.export.symbolic_shape(",".join(row), scope=scope) if row else () for row in rows]


def _tried(block: Any, known: list[Any]) -> Iterator[Any]:
    """Pairs of shapes for all symbols, the same but for the sizes that a net is not made for."""
    params = block._unique_params()[:2]
    widths = [n for p in params for n in (p.shape[1:2] + p.shape[:1] + p.shape[-1:])]
    images = len(params[0].shape) if params else 0
    several = known.count(None) > 1
    kinds = (_FORMS[images],) if images > 2 and not several else ("NC", "NCHW", "NTC", "NCW", "N")
    states = [info["shape"][1:] for info in block.state_info()] if hasattr(block, "state_info") else []
    for width in dict.fromkeys([*(n for n in widths if n > 0), 12]):
        if states and len(known) == 1 + len(states):  # a recurrent cell
            yield "cell", [[(s["N"], width), *[(s["N"], *state) for state in states]] for s in _SIZES]
            continue
        for forms in itertools.product(kinds, repeat=known.count(None)):
            pair = []
            for sizes in _SIZES:
                unknown = iter(forms)
                pair.append([shape or tuple({**sizes, "C": width}[n] for n in next(unknown)) for shape in known])
            yield forms, pair


def _name(block: Block, entries: list[Any]) -> None:
    """Names for operators: in MXNet 1's way after the block, else counted; shapes and dtypes for parameters."""
    nodes = [node for node in walk(entries) if node.op is not None]
    params = _parameters(block)
    for node in variables(walk(entries)):
        param = params.get(node.name)
        if param is not None and param.shape is not None:
            node.attrs["__shape__"] = str(tuple(max(n, 0) for n in param.shape))
            node.attrs["__dtype__"] = str(DTYPE_NUMBERS.index(np.dtype(param.dtype).name))
    last = [node for node, _ in entries]
    for number, node in enumerate(nodes):
        hint = type(block).__name__.lower()
        if naming.is_named(block):
            own = f"{block.name}_fwd"
            inner = next(iter(block._children.values()), None) if block._reg_params else None
            if inner is not None and len(nodes) == 2:  # a layer and its activation
                node.name = f"{inner.name}_fwd" if node in last[:1] else own
            else:
                node.name = own if node in last[:1] else f"{own}_{_short(node)}{number}"
        else:
            node.name = names.current().get(None, hint)


def _short(node: Node) -> str:
    assert node.op is not None, "variables have names"
    return node.op.name.strip("_").lower()
