"""Programs assembled from pieces, each of which was traced and analyzed once.

JAX takes 3 to 20 ms to trace one operator and its gradient, and again for each new length. A `Fragment` is such a
trace, possibly with symbols for lengths. It is analyzed once; `Fragment.bound` makes it for given numbers: most steps
are the same for all of them, and only those that depend on a length (a reshape, a slice, a product) are made again. A
`Linker` puts bound fragments into sequence; without the steps that nobody reads, they are a program.

    jaxpr --Fragment--> steps, some of them open --bound(lengths)--> steps --Linker--> HostProgram
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from gluonx.common import policy
from gluonx.ops.host.jaxprs import (
    ANY_SHAPE,
    Block,
    Flat,
    HostProgram,
    Node,
    Step,
    freeing,
    live,
    reshaping,
    ruled,
    step_of,
    thin_broadcasts,
)
from gluonx.ops.host.lengths import Lengths, has_symbols
from gluonx.ops.host.primitives import Call, Spec

__all__ = ["Bound", "Fragment", "Linker"]

_BOUND = 8  # the number of lengths for which a fragment caches its steps
_REDUCES = ("reduce_", "arg")


class _Open(NamedTuple):
    """A step of a fragment: its function, if it is the same for all lengths, and its cost."""

    node: Node
    fn: Callable[..., Any] | None
    cost: float | None
    thin: tuple[Any, ...] | None  # for a step that only reshapes: the shape
    symbols: bool  # whether its parameters contain lengths
    blocks: dict[int, tuple[Any, Block]]  # by identity, its jaxprs without symbols


class Bound(NamedTuple):
    """A fragment for given lengths."""

    fragment: Fragment
    numbers: tuple[int, ...]
    steps: list[tuple[Callable[..., Any], Node, float]]
    nbytes: list[int]  # of each register


class Fragment:
    """A closed jaxpr that was analyzed.

    Parameters
    ----------
    jaxpr : jax.extend.core.ClosedJaxpr
    names : sequence of str
        The names of the symbols in its lengths.

    Raises
    ------
    Unsupported
        If a primitive is not implemented here.
    """

    __slots__ = ("_bound", "_flat", "_steps", "ins", "known", "names", "outs", "specs")

    def __init__(self, jaxpr: Any, names: Sequence[str] = ()) -> None:
        flat = Flat()
        self.ins, self.outs = flat.closed(jaxpr)
        self.names, self._flat, self._bound = tuple(names), flat, dict[Any, Bound]()
        with np.errstate(all="ignore"):
            self._steps = _opened(flat, self.outs)
        self.specs, self.known = flat.specs, flat.known

    def bound(self, numbers: tuple[int, ...]) -> Bound:
        """Return the fragment for lengths as numbers.

        Parameters
        ----------
        numbers : tuple of int
            One for each symbol.
        """
        found = self._bound.get(numbers)
        if found is None:
            if len(self._bound) >= _BOUND:
                self._bound.clear()
            with np.errstate(all="ignore"):
                found = self._bound[numbers] = self._bind(numbers, Lengths(self.names, numbers))
        return found

    def _bind(self, numbers: tuple[int, ...], lengths: Lengths) -> Bound:
        specs = [spec if spec.is_known else lengths.spec(spec) for spec in self.specs]
        steps: list[tuple[Callable[..., Any], Node, float]] = []
        for step in self._steps:
            fn, node, cost = step.fn, step.node, step.cost
            if step.thin is not None:
                fn, cost = fn or reshaping(lengths.shape(step.thin)), 0.0
            elif fn is None:
                fn, call = self._ruled(step, specs, lengths)
                cost = call.cost
            elif cost is None:
                read = node.name.startswith(_REDUCES)
                cost = float(specs[node.ins[0]].size if read else sum([specs[o].size for o in node.outs]))
            steps.append((fn, node, cost))
        return Bound(self, numbers, steps, [spec.size * spec.dtype.itemsize for spec in specs])

    def _ruled(self, step: _Open, specs: list[Spec], lengths: Lengths) -> tuple[Callable[..., Any], Call]:
        node = step.node
        if step.symbols:
            node = Node(node.name, lengths.params(node.params), node.ins, node.outs)

        def inner(jaxpr: Any) -> Block:
            known = step.blocks.get(id(jaxpr))
            if known is None:
                if has_symbols(jaxpr):
                    return Block(jaxpr, lengths)
                known = step.blocks[id(jaxpr)] = jaxpr, Block(jaxpr)
            return known[1]

        return ruled(self._flat, node, node.ins, specs, inner)


def _opened(flat: Flat, outs: list[int]) -> list[_Open]:
    """Return the steps that compute `outs`; constants that are found are stored in ``flat.known``."""
    nodes, readers = live(flat, outs)
    thin = thin_broadcasts(flat, nodes, readers, set(outs))
    specs, known = flat.specs, flat.known
    found: list[_Open] = []
    moved: dict[int, int] = {}
    for node in nodes:
        ins = [moved.get(i, i) for i in node.ins]
        made = Node(node.name, node.params, ins, node.outs)
        if node.outs[0] in thin:
            shape = thin[node.outs[0]]
            if shape in (specs[ins[0]].shape, ()):
                moved[node.outs[0]] = ins[0]
                continue
            if all(isinstance(n, int) for n in shape) and ins[0] in known:
                known[node.outs[0]] = known[ins[0]].reshape(shape)
                continue
            found.append(_Open(made, None, 0.0, shape, False, {}))
            continue
        symbols = has_symbols(tuple(node.params.values()))
        closed = not symbols and all(specs[i].is_known for i in (*node.ins, *node.outs))
        fn = cost = None
        if closed or (node.name in ANY_SHAPE and not symbols):
            fn, call = ruled(flat, node, ins)
            cost = call.cost if closed else None
            if closed and all(i in known for i in ins) and sum([specs[o].size for o in node.outs]) <= policy.FOLDED:
                values = fn(*[known[i] for i in ins])
                for o, value in zip(node.outs, values if len(node.outs) > 1 else [values], strict=True):
                    known[o] = np.asarray(value)
                    known[o].flags.writeable = False
                continue
        found.append(_Open(made, fn, cost, None, symbols, {}))
    return found


class Linker:
    """A program that is being assembled; values have registers, which are numbers.

    Inputs are added before anything else.

    Examples
    --------
    >>> import jax, jax.numpy as jnp
    >>> from jax import export
    >>> struct = jax.ShapeDtypeStruct(export.symbolic_shape("n,"), np.float32)
    >>> mean = Fragment(jax.make_jaxpr(lambda x: jnp.sum(x) / x.size)(struct), ["n"])
    >>> linker = Linker()
    >>> x = linker.input(16)
    >>> program = linker.program(linker.add(mean.bound((4,)), [x]))
    >>> program(np.array([1, 2, 3, 6], np.float32))
    [array(3., dtype=float32)]
    """

    def __init__(self) -> None:
        self.nbytes: list[Any] = []
        self.known: dict[int, Any] = {}
        self.steps: list[tuple[Callable[..., Any], list[int], list[int], float, int]] = []
        self.takes = 0

    def new_register(self, nbytes: int) -> int:
        """Return a new register."""
        self.nbytes.append(nbytes)
        return len(self.nbytes) - 1

    def input(self, nbytes: int) -> int:
        """Return the register of the next input."""
        assert self.takes == len(self.nbytes), "inputs come first"
        self.takes += 1
        return self.new_register(nbytes)

    def constant(self, array: np.ndarray) -> int:
        """Return the register of a constant."""
        register = self.new_register(array.nbytes)
        self.known[register] = array
        return register

    def step(self, fn: Callable[..., Any], ins: list[int], nbytes: int, size: float) -> int:
        """Return the register of a function's result on these registers; the function touches `size` elements."""
        return self.call(fn, ins, [nbytes], size)[0]

    def call(
        self, fn: Callable[..., Any], ins: list[int], nbytes: Sequence[int], size: float, operations: int = 1
    ) -> list[int]:
        """Return the registers of a function's results, of so many bytes; a compiler has so many operations for it."""
        outs = list(map(self.new_register, nbytes))
        self.steps.append((fn, ins, outs, size, operations))
        return outs

    def add(self, bound: Bound, ins: Sequence[int]) -> list[int]:
        """Append a fragment; return the registers of its results."""
        fragment, nbytes = bound.fragment, self.nbytes
        at: dict[int, int] = dict(zip(fragment.ins, ins, strict=True))

        def read(register: int) -> int:
            found = at.get(register)
            if found is None:  # neither an input nor a step's result: it is a constant
                found = at[register] = self.constant(fragment.known[register])
            return found

        for fn, node, cost in bound.steps:
            read_at = [read(i) for i in node.ins]
            written = []
            for o in node.outs:
                nbytes.append(bound.nbytes[o])
                at[o] = len(nbytes) - 1
                written.append(at[o])
            self.steps.append((fn, read_at, written, cost, 1))
        return [read(o) for o in fragment.outs]

    def program(self, outs: Sequence[int]) -> HostProgram:
        """Return the program that returns the values of these registers."""
        wanted = set(outs)
        kept = []
        for step in reversed(self.steps):
            if not wanted.isdisjoint(step[2]):
                wanted.update(step[1])
                kept.append(step)
        kept.reverse()
        steps: list[tuple[Step, Node]] = []
        for fn, ins, written, *_ in kept:
            steps.append((step_of(fn, ins, written), Node("", {}, ins, written)))
        found, nbytes = freeing(self.nbytes, steps, set(outs))
        rest = [self.known.get(i) for i in range(self.takes, len(self.nbytes))]
        cost = math.fsum([step[3] for step in kept])
        made = HostProgram.of(Block.of(found, list(outs), rest, cost, nbytes), self.takes)
        made.steps += sum([step[4] - 1 for step in kept])
        return made
