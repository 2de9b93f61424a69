"""Shapes and dtypes of a graph's variables and outputs, from what is known of some of them.

Shapes travel forwards through the graph, node by node: the operator completes the shapes of its inputs (a weight has
its shape from the data and the attributes), and what it gives is found by running it on shapes alone. Where an input of
unknown shape learns it from a node, nodes before are looked at again, until nothing new is learned. What is then known
of a result tells the shapes of inputs of operators that keep shapes, turn axes round or add one.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import jax
import jax.export
import numpy as np

from gluonx.common.recent import recall
from gluonx.compat.operators.shapes import agreed, shapes_from_output
from gluonx.compat.symbol.graph import Entry, Node, walk
from gluonx.compat.symbol.run import run
from gluonx.deferred.trace.tracing import infer
from gluonx.deferred.values.program_cache import memo
from gluonx.errors import DeferredInitializationError, GluonxError, ShapeError
from gluonx.export.record import is_open

if TYPE_CHECKING:
    from gluonx.np.handle import ndarray


Shape = tuple[int, ...]

DTYPE_NUMBERS = (
    "float32 float64 float16 uint8 int32 int8 int64 bool int16 uint16 uint32 uint64 bfloat16".split()  # noqa: SIM905
)
"""The dtypes by the numbers that MXNet keeps in ``__dtype__``."""

_ROUNDS = 4
_KEPT = 16  # answers of a node
_KINDS = 2048  # answers for nodes of the same operator and attributes
_told_of_kinds: dict[tuple[Any, ...], Any] = memo()  # the oldest makes room


def number_dtype(text: str | None) -> np.dtype | None:
    """Return the dtype of a ``__dtype__`` attribute: a number or a name; None where it says nothing."""
    if text is None or text in ("-1", "None"):
        return None
    name = DTYPE_NUMBERS[int(text)] if text.isdecimal() and int(text) < len(DTYPE_NUMBERS) else text
    if name not in DTYPE_NUMBERS:
        raise GluonxError(f"'{text[:40]}' is no dtype of MXNet")
    return jax.numpy.dtype(name)


def complete(shape: Shape | None) -> bool:
    """Return whether all of a shape is known."""
    return shape is not None and all(n > 0 for n in shape)


def _merged(old: Shape | None, new: Shape | None, where: str) -> Shape | None:
    if old is None or new is None:
        return new if old is None else old
    if len(old) != len(new) or any(a != b and a > 0 and b > 0 for a, b in zip(old, new, strict=True)):
        raise ShapeError(f"{where}: its shape is {old}, but {new} is needed")
    return tuple(max(a, b) for a, b in zip(old, new, strict=True))


class _Search:
    def __init__(self, entries: Sequence[Entry], known: Mapping[str, Shape], types: Mapping[int, np.dtype]) -> None:
        self.order = walk(entries)
        self.types = types
        self.found: dict[tuple[int, int], Shape | None] = {}
        self.met: dict[int, list[Any]] = {}  # what was known of a node's inputs and output when it was looked at
        self.news = False
        for node in self.order:
            if node.op is None:
                shape = _declared(node)
                given = known.get(node.name)
                self.found[id(node), 0] = _merged(shape, given, f"variable '{node.name}'")

    def go(self) -> None:
        for _ in range(_ROUNDS):
            self.news = False
            for node in self.order:
                if node.op is not None:
                    self.visit(node)
            for node in reversed(self.order):
                if node.op is not None:
                    self.look_back(node)
            if not self.news:
                return

    def learn(self, entry: Entry, shape: Shape | None, where: str) -> None:
        key = (id(entry[0]), entry[1])
        old = self.found.get(key)
        new = _merged(old, None if shape is None else tuple(max(n, 0) for n in shape), where)
        if new != old:
            self.found[key] = new
            self.news = True

    def visit(self, node: Node) -> None:
        """Learn what a node tells of its inputs and outputs.

        That depends on what is known of them alone, and is kept with the node: a program that asks for shapes while it
        builds a graph asks for those of all nodes each time.
        """
        inputs = self.inputs(node)
        if self.met.get(id(node)) == inputs:
            return
        self.met[id(node)] = inputs
        known = all(complete(self.found.get((id(node), i))) for i in range(node.nout))
        if known and all(map(complete, inputs)):
            return
        key = (*inputs, *[self.types.get(id(source)) for source, _ in node.inputs], known)
        told = node.told.get(key)
        where = f"node '{node.name}' ({node.op.name})"  # type: ignore[union-attr]
        if told is None:
            told = self.answer(node, key, inputs, known, where)
        of_inputs, of_outputs = told
        for entry, shape in zip(node.inputs, of_inputs, strict=False):
            self.learn(entry, shape, f"an input of {where}")
        for index, shape in enumerate(of_outputs):
            self.learn((node, index), shape, where)

    def answer(
        self, node: Node, key: tuple[Any, ...], inputs: list[Shape | None], known: bool, where: str
    ) -> tuple[Any, ...]:
        """Return what `ask` does, kept with the node and for others of its kind: an unrolled graph has many alike."""
        assert node.op is not None
        if node.subgraphs or node.op.name == "Custom":
            return self.ask(node, inputs, known, where)
        alike = (node.op.name, *sorted(node.attrs.items()), key)
        told = recall(_told_of_kinds, alike, _KINDS, lambda: self.ask(node, inputs, known, where))
        if len(node.told) < _KEPT:
            node.told[key] = told
        return told

    def ask(self, node: Node, inputs: list[Shape | None], known: bool, where: str) -> tuple[list[Any], list[Any]]:
        """Return the shapes of a node's inputs and, unless they are `known`, of its outputs, as far as it tells."""
        assert node.op is not None
        if not all(map(complete, inputs)):
            with _named(where):
                try:
                    completed = node.op.infer(inputs, node.parsed)
                except DeferredInitializationError:
                    completed = inputs
                except Exception:
                    if not any(shape and not complete(shape) for shape in inputs):
                        raise
                    completed = inputs  # a size that is open may be what it stumbled upon
            inputs = [
                _merged(old, None if new is None else tuple(max(n, 0) for n in new), f"an input of {where}")
                for old, new in zip(inputs, completed, strict=True)
            ]
        if not all(map(complete, inputs)):
            return self.ask_open(node, inputs)
        with _named(where):
            return inputs, [] if known else self.outputs(node, inputs)

    def ask_open(self, node: Node, inputs: list[Any]) -> tuple[list[Any], list[Any]]:
        """Return what a node tells where some sizes are not known: they are symbolic, one for the same axis."""
        assert node.op is not None
        scope = jax.export.SymbolicScope()

        def opened(shape: Shape | None) -> Any:
            text = ",".join([str(n) if n > 0 else f"u{axis}" for axis, n in enumerate(shape or ())])
            return jax.export.symbolic_shape(text, scope=scope) if text else shape

        given = [opened(shape) for shape in inputs]
        if all(shape is None for shape in given):
            return inputs, []
        found: list[Any] = []
        with contextlib.suppress(Exception):  # JAX raises whatever it does where a size matters
            given = node.op.infer(given, node.parsed)
            if not any(shape is None for shape in given):
                found = self.outputs(node, given)

        def known(shape: Any) -> Shape | None:
            return None if shape is None else tuple([0 if is_open((n,)) else n for n in shape])

        where = f"an input of node '{node.name}' ({node.op.name})"
        return [_merged(old, known(new), where) for old, new in zip(inputs, given, strict=True)], list(
            map(known, found)
        )

    def look_back(self, node: Node) -> None:
        """Learn the shapes of a node's inputs from what is known of its result."""
        inputs = self.inputs(node)
        if all(map(complete, inputs)):
            return
        parts = range(node.nout if node.op.name == "SliceChannel" else 1)  # type: ignore[union-attr]
        out = agreed([shape for i in parts if (shape := self.found.get((id(node), i))) is not None])
        where = f"an input of node '{node.name}' ({node.op.name})"  # type: ignore[union-attr]
        for entry, shape in zip(node.inputs, shapes_from_output(node.op, inputs, out, node.parsed), strict=True):
            self.learn(entry, shape, where)

    def inputs(self, node: Node) -> list[Shape | None]:
        """Return what is known of a node's inputs."""
        return [self.found.get((id(source), index)) for source, index in node.inputs]

    def outputs(self, node: Node, inputs: list[Any]) -> list[Shape]:
        """Return the shapes of what comes out, by running the operator on shapes."""
        found: list[Shape] = []
        structs = [
            jax.ShapeDtypeStruct(shape, self.types.get(id(source), np.dtype(np.float32)))
            for shape, (source, _) in zip(inputs, node.inputs, strict=True)
        ]

        def forward(*handles: ndarray) -> None:
            stand_ins = [Node(f"input{i}") for i in range(len(handles))]
            alone = Node(node.name, node.op, [(s, 0) for s in stand_ins], node.attrs, node.subgraphs)
            known = {id(s): h for s, h in zip(stand_ins, handles, strict=True)}
            outs = run([alone], [(alone, i) for i in range(node.nout)], known)
            found.extend(tuple(out.shape) for out in outs)

        infer(forward, structs)
        return found


@contextlib.contextmanager
def _named(where: str) -> Iterator[None]:
    """Say in which node an error arose; what operators and JAX raise on impossible attributes is a ShapeError."""
    try:
        yield
    except GluonxError as error:
        error.add_note(f"In {where} of a symbol.")
        raise
    except Exception as error:
        raise ShapeError(f"{where}: its shapes cannot be found ({error})") from error


def _declared(node: Node) -> Shape | None:
    """Return the shape that a variable declares, 0 for what is open; None if it declares none."""
    text = node.attrs.get("__shape__")
    if text is None:
        return None
    parts = [part.strip() for part in text.strip().strip("()[]").split(",") if part.strip()]
    with contextlib.suppress(ValueError):
        return tuple(0 if part == "None" else max(int(part.rstrip("L")), 0) for part in parts)
    raise ShapeError(f"variable '{node.name}' declares the shape {text[:60]!r}, which is none")


def shapes(
    entries: Sequence[Entry], known: Mapping[str, Shape], types: Mapping[int, np.dtype] | None = None
) -> dict[tuple[int, int], Shape | None]:
    """Return the shapes of all entries, by node id and output number; None or zeros in them where they stay unknown.

    Raises
    ------
    ShapeError
        If what is known contradicts itself; the message names the node.
    """
    search = _Search(entries, known, types or {})
    search.go()
    return search.found


def dtypes(entries: Sequence[Entry], known: Mapping[str, Any]) -> dict[int, np.dtype | None]:
    """Give the dtypes of all nodes by id, from those of some variables: an operator's inputs share one, as in MXNet."""
    order = walk(entries)
    found: dict[int, np.dtype | None] = {}
    for node in order:
        if node.op is None:
            given = known.get(node.name)
            found[id(node)] = jax.numpy.dtype(given) if given is not None else number_dtype(node.attrs.get("__dtype__"))
    for _ in range(2):
        for node in order:
            if node.op is not None:
                _type_of(node, found)
    return found


def _type_of(node: Node, found: dict[int, np.dtype | None]) -> None:
    assert node.op is not None
    sources = [id(source) for source, _ in node.inputs]
    name, attrs = node.op.name, node.parsed
    if name == "Embedding":  # any numbers may say which rows
        common = found.get(sources[1]) or jax.numpy.dtype(attrs["dtype"] or "float32")
        found.setdefault(sources[0], None)
        found[sources[1]] = common
    else:
        common = next((found[s] for s in sources if found.get(s) is not None), None)
        for s in sources:
            if found.get(s) is None:
                found[s] = common
    given = attrs.get("dtype") or (None if attrs.get("out_type") == "auto" else attrs.get("out_type"))
    if node.op.gives:
        common = jax.numpy.dtype(node.op.gives)
    elif given is not None:
        common = jax.numpy.dtype(given)
    found[id(node)] = common if common is not None or sources else jax.numpy.dtype("float32")
