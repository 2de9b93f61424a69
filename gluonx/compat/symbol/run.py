"""Running a graph: operator by operator on handles, inside one traced block.

:class:`GraphBlock` is a hybridized block whose forward is a graph, so a symbol is compiled, recorded and
differentiated as any block is: as one function.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from gluonx import np
from gluonx.block.block import HybridBlock
from gluonx.compat.symbol.graph import Entry, Node, walk
from gluonx.deferred import invoke
from gluonx.errors import GluonxError
from gluonx.export.record import running_node
from gluonx.sparse.functions import dot_padded
from gluonx.sparse.storage import scatter_op

if TYPE_CHECKING:
    from gluonx.compat.operators.attrs import Attrs
    from gluonx.np.handle import ndarray


_MADE = ("_zeros", "_ones", "_full", "_npi_zeros", "_npi_ones", "_npi_full")
_STATES = (2, 3)  # which inputs of RNN are begin states


def _unbatched(node: Node) -> Attrs:
    """Return the attributes of an array made from nothing: sizes that MXNet 1 left open (0) are 1, and broadcast."""
    shape = node.parsed["shape"]
    if not node.name or not shape or 0 not in shape:
        return node.parsed
    changed = type(node.parsed)(node.parsed)
    changed["shape"] = tuple([n or 1 for n in shape])
    return changed


def _one_sequence(entry: Entry, value: ndarray, batch: int) -> ndarray:
    """Begin states that are one number throughout, of the batch size they were traced with, for another one."""
    node = entry[0]
    if node.op is None or node.op.name not in _MADE or value.shape[1] == batch:
        return value
    return value[:, :1]


class CsrInput:
    """The value of a variable that is a csr matrix: what :meth:`CSRNDArray.padded` gives, and the shape."""

    def __init__(self, values: Any, rows: Any, columns: Any, *shape: int) -> None:
        self.parts, self.shape, self.dtype = (values, rows, columns), shape, values.dtype

    def dense(self) -> Any:
        """Return the whole matrix."""
        return invoke(scatter_op(self.shape), self.parts)


def plan(entries: Sequence[Entry]) -> list[Node]:
    """Return the operators below, in an order in which they can run."""
    return [node for node in walk(entries) if node.op is not None]


def run(
    order: Sequence[Node],
    outputs: Sequence[Entry],
    values: Mapping[int, Any],
    seen: Callable[[Node, list[Any]], list[Any]] | None = None,
) -> list[Any]:
    """Compute outputs.

    Parameters
    ----------
    order : list of Node
        From :func:`plan`.
    outputs : list of (Node, int)
    values : mapping of int to handle
        The variables' values by the ids of their nodes; None for a label that nobody gave.
    seen : callable, optional
        Given each node and its inputs; returns what the node is given in their place.

    Returns
    -------
    list of handles
    """
    known: dict[tuple[int, int], Any] = {(i, 0): value for i, value in values.items()}
    for node in order:
        inputs = [known[id(source), index] for source, index in node.inputs]
        if seen is not None:
            inputs = seen(node, inputs)
        token = running_node.set(node.name)
        try:
            out = _step(node, inputs)
        except Exception as error:
            error.add_note(f"In node '{node.name}' ({node.op.name if node.op else 'variable'}) of a symbol.")
            raise
        finally:
            running_node.reset(token)
        for index, value in enumerate(out):
            known[id(node), index] = value
    return [known[id(node), index] for node, index in outputs]


def _step(node: Node, inputs: list[Any]) -> Sequence[Any]:
    op, attrs = node.op, node.parsed
    assert op is not None, "variables have values"
    control = CONTROL.get(op.name)
    if control is not None:
        return control(node, inputs)
    if op.name in _MADE:
        attrs = _unbatched(node)
    elif op.name == "RNN":
        batch = inputs[0].shape[1]
        inputs = [
            _one_sequence(node.inputs[i], value, batch) if i in _STATES else value for i, value in enumerate(inputs)
        ]
    if any(isinstance(x, CsrInput) for x in inputs):
        if op.name == "dot" and isinstance(inputs[0], CsrInput) and not (attrs.transpose_a or attrs.transpose_b):
            return (dot_padded(*inputs[0].parts, inputs[0].shape[0], inputs[1]),)
        inputs = [x.dense() if isinstance(x, CsrInput) else x for x in inputs]
    label = op.label
    if label is not None and inputs[label] is None:
        found = _inferred(op, inputs, attrs)[label]
        if found is None or any(n <= 0 for n in found):
            raise GluonxError(f"node '{node.name}': the shape of its label is not known")
        inputs[label] = np.zeros(found)
    out = op.run(inputs, attrs)
    return out if isinstance(out, tuple | list) else (out,)


def _inferred(op: Any, inputs: list[Any], attrs: Any) -> list[Any]:
    """Return the inputs' shapes; for the time of finding them, large numbers stand for symbolic sizes."""
    stands: dict[str, int] = {}
    real: dict[int, Any] = {}

    def plain(size: Any) -> int:
        if isinstance(size, int):
            return size
        number = stands.setdefault(str(size), (1 << 20) + 2 * len(stands) + 1)
        real[number] = size
        return number

    shapes = op.infer([None if x is None else tuple(map(plain, x.shape)) for x in inputs], attrs)
    return [None if shape is None else tuple([real.get(n, n) for n in shape]) for shape in shapes]


CONTROL: dict[str, Callable[[Node, list[Any]], Sequence[Any]]] = {}
"""Operators that run graphs of their own; `gluonx.compat.symbol.control` fills it."""


class GraphBlock(HybridBlock):
    """A graph as a block: takes the values of its variables, gives its outputs.

    Parameters
    ----------
    outputs : sequence of (Node, int)
    inputs : sequence of Node
        The variables, in the order in which their values will come.
    """

    def __init__(self, outputs: Sequence[Entry], inputs: Sequence[Node]) -> None:
        super().__init__()
        own = self.__dict__
        own["_outputs"], own["_inputs"], own["_order"] = list(outputs), list(inputs), plan(outputs)
        self.hybridize()

    def forward(self, *values: Any) -> list[Any]:
        """Run the graph.

        Parameters
        ----------
        *values : gluonx.np.ndarray, or tuple
            One for each variable; of a csr matrix what `CsrInput` takes.

        Returns
        -------
        list of gluonx.np.ndarray
        """
        own = self.__dict__
        taken = [CsrInput(*value) if isinstance(value, tuple) else value for value in values]
        known = {id(node): value for node, value in zip(own["_inputs"], taken, strict=True)}
        return run(own["_order"], own["_outputs"], known)
