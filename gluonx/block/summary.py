"""The table that ``Block.summary`` prints: shapes, parameters, bytes and floating-point operations by layer.

Operations are counted when an operator runs, for the innermost block that runs it. A convolution, its transpose and a
dense layer count two for each multiplication with a weight, one per element for the bias, and padding counts as data,
as is usual; so the numbers do not depend on how an operator is computed. For all other operators XLA's count for their
program is taken.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import jax

from gluonx.autograd import pause
from gluonx.block.display import in_notebook
from gluonx.block.parameter import Parameter
from gluonx.block.tools import watch_operators
from gluonx.common import html
from gluonx.deferred.operators.derived import needs_64_bits, strong
from gluonx.deferred.values.core import Handle
from gluonx.dtype import keeping_64_bits
from gluonx.ops.registry import BoundOp

if TYPE_CHECKING:
    from gluonx.block.block import Block
    from gluonx.deferred.values.contracts import Operator
    from gluonx.np.handle import ndarray


_COLUMNS = "{:<44}{:<26}{:>12}{:>12}{:>12}"
_WIDTH = 106


class _Row(NamedTuple):
    title: str
    shape: str
    params: list[Parameter]
    flops: float


class Summary(str):
    """The table as text; in a notebook a table of HTML."""

    head: ClassVar[tuple[str, ...]] = ("Layer", "Output shape", "Parameters", "Memory", "FLOPs")
    rows: list[tuple[str, ...]]
    totals: list[str]

    def __new__(cls, rows: list[tuple[str, ...]], totals: list[str]) -> Summary:
        """Make the text from rows of five texts each, and from lines below them."""
        lines = [_COLUMNS.format(*cls.head), "=" * _WIDTH]
        lines += [_COLUMNS.format(*row) for row in rows]
        new = super().__new__(cls, "\n".join([*lines, "=" * _WIDTH, *totals]))
        new.rows, new.totals = rows, totals
        return new

    def _repr_html_(self) -> str:
        """Show the table, and the totals under it."""
        totals = "<br>".join(html.text(line.strip()) for line in self.totals)
        style = "font-family:monospace;line-height:1.4;margin-top:0.5em"
        return f'{html.table(self.head, self.rows, right=(2, 3, 4))}<div style="{style}">{totals}</div>'


def show(table: Summary) -> bool:
    """Display the table in a notebook and return True; elsewhere return False."""
    if not in_notebook():
        return False
    from IPython.display import display  # it is running

    display(table)
    return True


def summarize(block: Block, *inputs: object) -> Summary:
    """Return a table of the layers of `block`, in the order in which they finish on these inputs.

    Parameters
    ----------
    block : Block
        An initialized block. A hybridized block is run as if it were not, and stays hybridized. Nothing is trained, and
        moving averages do not change.
    *inputs : ndarray
        The inputs of ``block.forward``.

    Returns
    -------
    Summary
        A str with one line for each call: structured name and class, output shape, number of parameters, their bytes,
        and the floating-point operations of the block's own forward on these inputs, without those of its children.
        Parameters that an earlier line has counted already are marked as shared.

    Examples
    --------
    >>> from gluonx.block import Block
    >>> class Twice(Block):
    ...     def forward(self, x):
    ...         return x + x
    >>> from gluonx import np
    >>> print(summarize(Twice(), np.ones((2, 3))).splitlines()[3].split())
    ['Twice', '(2,', '3)', '0', '0', 'B', '6']
    """
    names: dict[int, str] = {}
    for prefix, child in block._walk():
        names.setdefault(id(child), prefix[:-1])
    rows = [_Row("Input", _shapes(inputs), [], 0)]
    meter = [0.0]  # operations so far in each running block, and outside of all blocks

    def enter(*_: object) -> None:
        meter.append(0.0)

    def note(layer: Block, _: object, outputs: Sequence[Any]) -> None:
        title = f"{names[id(layer)]} ({type(layer).__name__})" if names[id(layer)] else type(layer).__name__
        rows.append(_Row(title, _shapes(outputs), list(layer._reg_params.values()), meter.pop()))

    def count(op: Operator, args: object, outputs: Sequence[Any]) -> None:
        if op is not None:
            meter[-1] += _flops(op, args, outputs)

    blocks = list({id(child): child for _, child in block._walk()}.values())
    active = [child for child in blocks if getattr(child, "_active", False)]
    hooks = []
    try:
        for child in active:
            child.__dict__["_active"] = False
        for child in blocks:
            hooks += [child.register_forward_pre_hook(enter), child.register_forward_hook(note)]
        with pause(), watch_operators((), count):  # pause also sets predict mode
            block(*inputs)
    finally:
        for child in active:
            child.__dict__["_active"] = True
        for hook in hooks:
            hook.detach()
    return _table(rows, block)


def _flops(op: Any, args: Any, outputs: Sequence[ndarray]) -> float:
    """Return the floating-point operations of one call."""
    made = sum(math.prod(out.shape) for out in outputs)
    if isinstance(op, BoundOp) and op.op.flops is not None:
        return op.op.flops(op.attrs, [None if a is None else a.shape for a in args], outputs[0].shape)
    return _by_xla(op, args, made)


def _by_xla(op: BoundOp, args: Sequence[ndarray], made: int) -> float:
    if op.random or not all(a is None or isinstance(a, (Handle, bool, int, float)) for a in args):
        return made
    return _cost(op, *[(tuple(a.shape), a.dtype) if isinstance(a, Handle) else type(a) for a in args])


@functools.lru_cache(maxsize=1024)
def _cost(op: Operator, *inputs: Any) -> float:
    structs = [jax.ShapeDtypeStruct(*i) if isinstance(i, tuple) else None if i is type(None) else i() for i in inputs]
    with keeping_64_bits(needs_64_bits(op, [s for s in structs if hasattr(s, "dtype")])):
        return (jax.jit(strong(op)).lower(*structs).cost_analysis() or {}).get("flops", 0.0)


def _shapes(value: Any) -> str:
    if isinstance(value, (tuple, list)):
        return ", ".join(_shapes(item) for item in value)
    return str(tuple(value.shape)) if hasattr(value, "shape") else type(value).__name__


def _count(params: list[Parameter]) -> int:
    return sum(_size(p) for p in params)


def _size(param: Parameter) -> int:
    size = 1
    for dim in param.shape or ():
        size *= max(dim, 0)  # 0 while the shape is unknown
    return size


def _bytes(params: list[Parameter]) -> str:
    return html.size(sum(_size(p) * p.dtype.itemsize for p in params))


def _short(flops: float) -> str:
    """Return a number of operations in five characters and a unit."""
    for unit in ("", " k", " M", " G"):
        if flops < 1000:
            return f"{flops:.0f}" if not unit else f"{flops:.1f}{unit}"
        flops /= 1000
    return f"{flops:.1f} T"


def _table(rows: list[_Row], block: Block) -> Summary:
    lines: list[tuple[str, ...]] = []
    counted: set[Parameter] = set()
    for title, shape, params, flops in rows:
        mark = " shared" if params and counted.issuperset(params) else ""
        lines.append((title + mark, shape, f"{_count(params):,}", _bytes(params), _short(flops)))
        counted.update(params)
    everything = list(dict.fromkeys(block._params_apart().values()))
    trained = [p for p in everything if p.grad_req != "null"]
    unused = [p for p in everything if p not in counted]
    totals = [
        f"Parameters: {_count(everything):,} ({_bytes(everything)}), each counted once",
        f"  trained: {_count(trained):,}",
        f"  not trained: {_count(everything) - _count(trained):,}",
        f"FLOPs: {sum(row.flops for row in rows):,.0f}",
    ]
    if unused:
        totals.append(f"  in blocks that this forward did not call: {_count(unused):,}")
    return Summary(lines, totals)
