"""From what ran to a symbol of MXNet 2: the core operators by their names there.

`gluonx.compat.symbol.exporting.symbol_of` turns a :class:`~gluonx.export.record.Program` into nodes. `RULES` (filled by
`gluonx.compat.symbol.rules_core` and `rules_loss`) says for each core operator what it becomes: a function
``rule(emit, step)`` that makes nodes with ``emit.node(...)`` and returns the entries of its outputs. An operator
without a rule is named in the error.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from gluonx.compat.symbol import table
from gluonx.compat.symbol.compose import as_text
from gluonx.compat.symbol.graph import Entry, Node
from gluonx.compat.symbol.infer import DTYPE_NUMBERS
from gluonx.errors import GraphError
from gluonx.export.record import Program, Ref, Step, into, is_open

if TYPE_CHECKING:
    from gluonx.dtype import DTypeLike


Rule = Callable[["Emit", Step], Any]
RULES: dict[str, Rule] = {}
"""The rule of each core operator, by its name."""

rule = into(RULES)
"""Makes the decorated function the rule of these operators."""


class Emit:
    """Makes the nodes of one graph.

    Attributes
    ----------
    constants : dict of str to numpy.ndarray
        Arrays that the graph needs beside parameters and inputs: variables of these names.
    """

    def __init__(self, program: Program) -> None:
        self.program = program
        self.entries: dict[Ref, Entry] = {}
        self.constants: dict[str, np.ndarray] = {}
        self.leaves: dict[int, Entry] = {}
        self.named: set[str] = set()  # names of nodes that are those of layers
        self.count = 0

    def node(self, op: str, *inputs: Any, nout: int | None = None, **attrs: Any) -> Any:
        """Return a node; its entry, or a list of entries where `nout` is given.

        Parameters
        ----------
        op : str
            MXNet's registered name.
        *inputs : (Node, int)
        nout : int, optional
        **attrs
            Those that MXNet is to be told; None is left away.
        """
        row = table.get(op)
        for name, value in attrs.items():
            if is_open(value if isinstance(value, tuple | list) else (value,)):
                raise GraphError(f"'{name}' of MXNet's {op} cannot be {value}, a size that an input may have any of")
        texts = {name: as_text(value) for name, value in attrs.items() if value is not None}
        if row.variadic:
            texts["num_args"] = str(len(inputs))
        node = Node(self._name(inputs), row, inputs, texts)
        self.count += 1
        return (node, 0) if nout is None else [(node, i) for i in range(nout)]

    def _name(self, inputs: Sequence[Entry]) -> str:
        """Return the name of a new node.

        A layer's main operator is called after its weight, such as ``dense0_fwd``, so that a net can be cut there.
        """
        for source, _ in inputs:
            stem = source.name.removesuffix("weight").removesuffix("gamma")
            name = f"{stem[:-1].replace('.', '_')}_fwd"
            if source.op is None and stem != source.name and stem[-1:] in ("_", ".") and name not in self.named:
                self.named.add(name)
                return name
        return f"node_{self.count}"

    def array(self, value: Any) -> Entry:
        """Return the entry of an argument that must be an array; a number becomes a constant."""
        if isinstance(value, Ref):
            return self.entries[value] if value.step is not None else self.leaf(value.index)
        if value is None:
            raise GraphError("an array is missing")
        if is_open((value,)):
            raise GraphError(f"a number cannot be {value}, a size that an input may have any of")
        whole = not isinstance(value, float | np.floating)
        return self.node(
            "_npi_full",
            shape=(),
            dtype="int32" if whole else "float32",
            double_value=float(value),
            int_value=int(value) if whole else 0,
            uint_value=0,
            value_type=0 if whole else 2,
        )

    def leaf(self, index: int) -> Entry:
        """Return the variable of a leaf."""
        found = self.leaves.get(index)
        if found is None:
            name, value = self.program.leaves[index]
            marks: dict[str, str] = {}
            if name is None:
                value = np.asarray(value)
                made = self.made(value)
                if made is not None:
                    self.leaves[index] = made
                    return made
                name = f"constant{len(self.constants)}"
                self.constants[name] = value
                marks = {"__shape__": str(value.shape), "__dtype__": str(DTYPE_NUMBERS.index(value.dtype.name))}
            found = self.leaves[index] = (Node(name, None, (), marks), 0)
        return found

    def grown(self, entry: Entry, shape: Sequence[Any], dtype: DTypeLike) -> Entry:
        """Return an array whose axes have length 1 where `shape` is open, repeated along those."""
        for axis, size in enumerate(shape):
            if is_open((size,)):
                like, other = self.having((size,))
                like = self.node("Cast", like, dtype=np.dtype(dtype).name)
                entry = self.node("broadcast_like", entry, like, lhs_axes=(axis,), rhs_axes=(other,))
        return entry

    def having(self, sizes: Sequence[Any]) -> tuple[Entry, int]:
        """Return an array that has these sizes side by side, and where they begin; an input if there is one."""
        wanted, steps = list(map(str, sizes)), self.program.steps
        leaves = [(Ref(None, i), leaf) for i, (_, leaf) in enumerate(self.program.leaves)]
        made = [(ref, steps[ref.step].outs[ref.index]) for ref in self.entries if ref.step is not None]
        for ref, value in [*leaves, *made]:
            shape = list(map(str, getattr(value, "shape", ())))
            axis = next((a for a in range(len(shape)) if shape[a : a + len(wanted)] == wanted), None)
            if axis is not None:
                return self.array(ref), axis
        raise GraphError(f"no array has axes of the sizes {', '.join(wanted)}")

    def made(self, value: np.ndarray) -> Entry | None:
        """Return an array that is one number throughout, as a node that makes it."""
        if value.size == 0 or value.dtype.kind not in "f" or (value != value.flat[0]).any():
            return None
        if value.flat[0] == 0:
            return self.node("_npi_zeros", shape=value.shape, dtype=value.dtype.name)
        ones = self.node("_npi_ones", shape=value.shape, dtype=value.dtype.name)
        return self.node("_npi_multiply_scalar", ones, scalar=float(value.flat[0]), is_int=False)
